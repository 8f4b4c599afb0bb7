// SPDX-License-Identifier: Apache-2.0

package gpuexec

import (
	"context"
	"math/big"
	"slices"
	"sync"
	"testing"
)

// Operands may be in any memory of Go: also in objects that have pointers, as the domains and proofs
// of gnark do. cgo looks at the whole object that a pointer points into, and does not let it pass.

// holder has operands among pointers to memory that nobody has pinned.
type holder struct {
	before   *int
	a, b     [4]fr
	one      fr
	anything any
	order    [4]uint32
	points   [2][8]uint64
	rows     [][]fr
	out      [4][4]fr
	sum      [8]uint64
	next     *holder
}

func newHolder() *holder {
	return &holder{before: new(int), anything: new(int), rows: [][]fr{make([]fr, 4), make([]fr, 4)}, next: new(holder)}
}

var (
	globalHolder = *newHolder()
	holders      = sync.Pool{New: func() any { return newHolder() }}
)

// generator is that of BN254 G1, (1, 2).
var generator = func() (point [8]uint64) {
	q := hexadecimal("30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47")
	for i := range 2 {
		x := form(big.NewInt(int64(i+1)), q)
		copy(point[4*i:], x[:])
	}
	return point
}()

// set gives the inputs the values of a seed.
func (h *holder) set(seed uint64) {
	for i := range uint64(4) {
		h.a[i], h.b[i], h.rows[0][i] = fr{seed + i}, fr{seed * i}, fr{seed ^ i}
		h.order[i] = uint32(i+seed) % 4
	}
	h.one, h.points = fr{seed}, [2][8]uint64{generator, generator}
	h.out, h.sum = [4][4]fr{}, [8]uint64{}
	clear(h.rows[1])
}

// jobs use every kind of operand and of parameters.
func (h *holder) jobs(d *Domain, p *Points) []Job {
	return []Job{
		{Op: MulAdd, Field: BN254Fr, A: Host(h.a[:]), B: HostBroadcast(&h.one), C: Host(h.b[:]), Out: Host(h.out[0][:])},
		{Op: Sum, Field: BN254Fr, A: Host(h.rows[0]), Out: Host(h.out[1][:1])},
		{Op: Gather, Field: BN254Fr, A: Host(h.a[:]), B: Host(h.order[:]), Out: Host(h.out[2][:]), Poly: &PolyParams{Count: 4}},
		{Op: NTT, Field: BN254Fr, A: Host(h.a[:]), Out: Host(h.out[3][:]), NTT: &NTTParams{Domain: d, Log2N: 2}},
		{Op: Sub, Field: BN254Fr, A: Host(h.a[:]), B: Host(h.rows[0]), Out: Host(h.rows[1])},
		{Op: MSM, Field: BN254Fr, A: Host(h.a[:2]), Out: Host(h.sum[:]), MSM: &MSMParams{Points: p, Count: 2, ResultForm: XYMont}},
	}
}

// flat is a holder whose jobs have slices of their own for operands: they are copied in and out.
func flat(t *testing.T, x *Context, seed uint64, d *Domain, p *Points) *holder {
	h := newHolder()
	h.set(seed)
	own := func(v []fr) []fr { return slices.Clone(v) }
	a, row, out := own(h.a[:]), own(h.rows[0]), make([][]fr, 5)
	for i := range out {
		out[i] = make([]fr, 4)
	}
	sum, one := make([]uint64, 8), new(fr)
	*one = h.one
	jobs := h.jobs(d, p)
	jobs[0].A, jobs[0].B, jobs[0].C, jobs[0].Out = Host(a), HostBroadcast(one), Host(own(h.b[:])), Host(out[0])
	jobs[1].A, jobs[1].Out = Host(row), Host(out[1][:1])
	jobs[2].A, jobs[2].B, jobs[2].Out = Host(a), Host(slices.Clone(h.order[:])), Host(out[2])
	jobs[3].A, jobs[3].Out = Host(a), Host(out[3])
	jobs[4].A, jobs[4].B, jobs[4].Out = Host(a), Host(row), Host(out[4])
	jobs[5].A, jobs[5].Out = Host(a[:2]), Host(sum)
	check(t, x.Run(background, jobs...))
	for i := range h.out {
		copy(h.out[i][:], out[i])
	}
	copy(h.rows[1], out[4])
	copy(h.sum[:], sum)
	return h
}

func TestOperandsAmongPointers(t *testing.T) {
	x := open(t, &Config{Device: "cpu"})
	pooled, many, boxed := holders.Get().(*holder), []holder{*newHolder(), *newHolder()}, any(newHolder())
	defer holders.Put(pooled)
	cycle := newHolder()
	cycle.next.next, cycle.anything = cycle, cycle.next
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	opts := Options{Device: "cpu", Candidates: true}
	wait := func(ticket *Ticket, err error) error {
		if err == nil {
			err = ticket.Wait()
		}
		return err
	}
	calls := map[string]func(jobs []Job) error{
		"Run":             func(jobs []Job) error { return x.Run(background, jobs...) },
		"Run, cancelable": func(jobs []Job) error { return x.Run(ctx, jobs...) },
		"RunWith":         func(jobs []Job) error { _, err := x.RunWith(background, opts, jobs...); return err },
		"Submit":          func(jobs []Job) error { return wait(x.Submit(background, jobs...)) },
		"SubmitWith":      func(jobs []Job) error { return wait(x.SubmitWith(ctx, opts, jobs...)) },
	}
	seed := uint64(0)
	for place, h := range map[string]*holder{
		"object": newHolder(), "global": &globalHolder, "pool": pooled, "slice": &many[1],
		"interface": boxed.(*holder), "cycle": cycle,
	} {
		t.Run(place, func(t *testing.T) {
			seed++
			h.set(seed)
			d, err := x.NewDomain(DomainConfig{Field: BN254Fr, Log2Size: 2, Shift: HostBroadcast(&h.a[1])})
			check(t, err)
			p, err := x.NewPoints(PointsConfig{Curve: BN254G1, Form: XYMont, Points: Host(h.points[:])})
			check(t, err)
			for name, call := range calls {
				seed++
				want := flat(t, x, seed, d, p)
				h.set(seed)
				check(t, call(h.jobs(d, p)))
				if h.out != want.out || h.sum != want.sum || !slices.Equal(h.rows[1], want.rows[1]) {
					t.Errorf("%s: other results", name)
				}
			}

			b, err := x.NewBuffer("cpu", 128)
			check(t, err)
			check(t, b.Write(0, Host(h.a[:])))
			check(t, b.Read(0, Host(h.out[0][:])))
			if h.out[0] != h.a {
				t.Error("other contents of a buffer")
			}
			root := make([]fr, 1)
			check(t, d.RootInto(2, Host(root)))
			check(t, d.RootInto(2, HostBroadcast(&h.one)))
			if h.one != root[0] {
				t.Error("another root")
			}
			check(t, p.Read(1, XYMont, Host(h.sum[:])))
			if h.sum != generator {
				t.Error("another point")
			}
		})
	}
}
