// SPDX-License-Identifier: Apache-2.0

package gpuexec

import (
	"context"
	"errors"
	"math/big"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// What C allows, and this package does not.

func TestUseAfterClose(t *testing.T) {
	x := open(t, nil)
	v := make([]fr, 4)
	job := Job{Op: Sqr, Field: BN254Fr, N: 4, A: Host(v), Out: Host(v)}
	closed := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}

	b, err := x.NewBuffer("cpu", 128)
	check(t, err)
	d, err := x.NewDomain(DomainConfig{Field: BN254Fr, Log2Size: 2})
	check(t, err)
	p, err := x.NewPoints(PointsConfig{Curve: BN254G1, Form: XYMont, Points: Host(make([][8]uint64, 4))})
	check(t, err)
	objects := func() {
		onBuffer, withDomain, withPoints := job, job, job
		onBuffer.A = Dev(b, 0)
		withDomain.Op, withDomain.NTT = NTT, &NTTParams{Domain: d, Log2N: 2}
		sum := make([][8]uint64, 1)
		withPoints.Op, withPoints.Out = MSM, Host(sum)
		withPoints.MSM = &MSMParams{Points: p, Count: 4, ResultForm: XYMont}
		closed("a job on a buffer", x.Run(background, onBuffer))
		closed("writing a buffer", b.Write(0, Host(v)))
		closed("reading a buffer", b.Read(0, Host(v)))
		closed("a job with a domain", x.Run(background, withDomain))
		closed("a root", d.RootInto(1, Host(v[:1])))
		closed("a job with points", x.Run(background, withPoints))
		closed("reading points", p.Read(0, XYMont, Host(sum)))
		_, err := x.NewPoints(PointsConfig{Curve: BN254G1, Form: XYMont, Points: Dev(b, 0), Count: 1})
		closed("points in a buffer", err)
	}
	for range 2 {
		check(t, b.Close())
		check(t, d.Close())
		check(t, p.Close())
	}
	objects()

	b, err = x.NewBuffer("cpu", 128)
	check(t, err)
	d, err = x.NewDomain(DomainConfig{Field: BN254Fr, Log2Size: 2})
	check(t, err)
	p, err = x.NewPoints(PointsConfig{Curve: BN254G1, Form: XYMont, Points: Host(make([][8]uint64, 4))})
	check(t, err)
	ticket, err := x.Submit(background, job)
	check(t, err)
	check(t, x.Close())
	check(t, x.Close())
	objects()
	check(t, b.Close())
	check(t, d.Close())
	check(t, p.Close())
	check(t, ticket.Wait())
	ticket.Cancel()
	if len(ticket.Reports()) != 1 {
		t.Error("no report")
	}

	closed("a job", x.Run(background, job))
	_, err = x.Submit(background, job)
	closed("a ticket", err)
	_, err = x.Devices()
	closed("devices", err)
	_, err = x.Metrics()
	closed("metrics", err)
	_, err = x.NewBuffer("cpu", 16)
	closed("a buffer", err)
	_, err = x.NewDomain(DomainConfig{Field: BN254Fr, Log2Size: 2})
	closed("a domain", err)
	_, err = x.NewPoints(PointsConfig{Curve: BN254G1, Form: XYMont, Points: Host(make([][8]uint64, 1))})
	closed("points", err)
}

// Whatever is closed while others use it, they either succeed or are told.
func TestCloseWhileUsed(t *testing.T) {
	for range 20 {
		x := open(t, nil)
		b, err := x.NewBuffer("cpu", 32*1000)
		check(t, err)
		check(t, b.Write(0, Host(make([]fr, 1000))))
		var group sync.WaitGroup
		var started sync.WaitGroup
		started.Add(4)
		for i := range 4 {
			group.Go(func() {
				started.Done()
				for {
					job := Job{Op: Sqr, Field: BN254Fr, N: 1000, A: Dev(b, 0), Out: Dev(b, 0)}
					err := x.Run(background, job)
					if i%2 == 0 && err == nil {
						_, err = x.Submit(background, job)
					}
					if err != nil {
						if !errors.Is(err, ErrClosed) {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		started.Wait()
		group.Go(func() { b.Close() })
		group.Go(func() { x.Close() })
		group.Go(func() { x.Close() })
		group.Wait()
	}
}

// What a job uses is destroyed when the job is done, not when it is closed, and once.
func TestCloseWaitsForUsers(t *testing.T) {
	x := open(t, nil)
	destroyed := 0
	c := x.adopt(func() { destroyed++ })
	check(t, c.enter())
	check(t, c.enter())
	c.close()
	c.leave()
	if destroyed != 0 || c.enter() != ErrClosed {
		t.Fatal("destroyed while in use")
	}
	c.leave()
	c.close()
	x.adopt(func() { destroyed++ })
	check(t, x.Close())
	if destroyed != 2 {
		t.Fatalf("destroyed %d of 2", destroyed)
	}
}

// Goroutines that add to the same memory, by calls and by tickets: no addition is lost.
func TestTwoWriters(t *testing.T) {
	const n, writers, rounds = 20000, 4, 50
	one := uint32(1)
	count := func(t *testing.T, x *Context, job Job) {
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for range rounds {
					var err error
					if w%2 == 0 {
						err = x.Run(background, job)
					} else {
						_, err = x.Submit(background, job)
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
	}
	same := func(t *testing.T, v []uint32) {
		for i := range v {
			if v[i] != writers*rounds {
				t.Fatalf("element %d was added to %d times, not %d", i, v[i], writers*rounds)
			}
		}
	}
	t.Run("buffer", func(t *testing.T) {
		x := open(t, &Config{Device: "cpu"})
		b, err := x.NewBuffer("cpu", 4*n)
		check(t, err)
		v := make([]uint32, n)
		check(t, b.Write(0, Host(v)))
		count(t, x, Job{Op: Add, Field: U32, N: n, A: Dev(b, 0), B: HostBroadcast(&one), Out: Dev(b, 0)})
		check(t, b.Read(0, Host(v))) // after the tickets before it
		same(t, v)
	})
	t.Run("slice", func(t *testing.T) {
		x := open(t, &Config{Device: "cpu"})
		v := make([]uint32, n)
		count(t, x, Job{Op: Add, Field: U32, A: Host(v), B: HostBroadcast(&one), Out: Host(v)})
		check(t, x.Close())
		same(t, v)
	})
}

// The slices of a ticket live until it is done, also if nobody has them or the ticket.
func TestCollectedSlices(t *testing.T) {
	const n, jobs = 1 << 13, 200
	x := open(t, &Config{Device: "cpu"})
	p := moduli[BLS12381Fr]
	var collected atomic.Int32
	out := make([]fr, n)
	var want []fr
	submit := func() *Ticket {
		a, scratch := new([n]fr), new([n]fr)
		copy(a[:], random(n, p))
		want = slices.Clone(a[:])
		runtime.SetFinalizer(a, func(*[n]fr) { collected.Add(1) })
		runtime.SetFinalizer(scratch, func(*[n]fr) { collected.Add(1) })
		work := make([]Job, jobs)
		for i := range work {
			work[i] = Job{Op: Inv, Field: BLS12381Fr, A: Host(a[:]), Out: Host(scratch[:])}
		}
		work[jobs-1] = Job{Op: Neg, Field: BLS12381Fr, A: Host(a[:]), Out: Host(out)}
		ticket, err := x.Submit(background, work...)
		check(t, err)
		return ticket
	}
	done := submit().Done() // the ticket itself is dropped
	rounds, early := 0, int32(0)
	for running := true; running; rounds++ {
		runtime.GC()
		_ = make([]fr, n) // what was freed is used for something else
		now := collected.Load()
		select {
		case <-done:
			running = false
		default:
			early = now
		}
	}
	if early != 0 {
		t.Fatal("a slice was collected while the library used it")
	}
	if rounds < 2 {
		t.Log("the ticket was done before a collection")
	}
	for i := range out {
		if want[i] = limbs(new(big.Int).Mod(new(big.Int).Neg(want[i].plain()), p)); out[i] != want[i] {
			t.Fatal("element", i)
		}
	}
	eventually(t, "the slices are still pinned", func() bool { return collected.Load() == 2 })
}

// More goroutines wait than there may be threads for it. Nothing is done before all of them do.
func TestManyWaiters(t *testing.T) {
	const tickets = 10 * mostWaiting
	var armed atomic.Bool
	reached, gate := make(chan struct{}), make(chan struct{})
	x := open(t, &Config{Device: "ref", Log: func(LogLevel, string) {
		if armed.CompareAndSwap(true, false) {
			close(reached)
			<-gate
		}
	}})
	bad, out, one := fr{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1}, make([]uint32, tickets), uint32(1)
	check(t, x.Run(background, Job{Op: Add, Field: U32, A: Host(out), B: Host(out), Out: Host(out)}))
	armed.Store(true)
	failing, err := x.Submit(background, Job{Op: Neg, Field: BN254Fr, A: Host([]fr{bad}), Out: Host(make([]fr, 1))})
	check(t, err)
	<-reached // what is submitted now waits for the gate

	threads := pprof.Lookup("threadcreate")
	before := threads.Count()
	var group sync.WaitGroup
	pending := make([]*Ticket, tickets)
	for i := range pending {
		pending[i], err = x.Submit(background, Job{Op: Add, Field: U32, A: Host(out[i : i+1]), B: HostBroadcast(&one), Out: Host(out[i : i+1])})
		check(t, err)
		for range 2 {
			group.Go(func() { check(t, pending[i].Wait()) })
		}
	}
	for _, ticket := range pending {
		for !ticket.taken.Load() {
			time.Sleep(time.Millisecond)
		}
	}
	if more := threads.Count() - before; more > 3*mostWaiting {
		t.Errorf("%d threads wait", more)
	}
	close(gate)
	group.Wait()
	if err := failing.Wait(); !errors.Is(err, ErrNotCanonical) {
		t.Error(err)
	}
	for i := range out {
		if out[i] != 1 {
			t.Fatalf("element %d is %d", i, out[i])
		}
	}
	if waiting.Load() != 0 {
		t.Error("some still wait")
	}
}

// eventually collects garbage until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 200 {
		if runtime.GC(); is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error(what)
}

// What tickets use is let go though nobody waits for them: if they are dropped, and if it is closed.
func TestNobodyWaits(t *testing.T) {
	x := open(t, &Config{Device: "cpu"})
	var collected atomic.Int32
	for range 10 {
		v := new([1000]uint32)
		runtime.SetFinalizer(v, func(*[1000]uint32) { collected.Add(1) })
		_, err := x.Submit(background, Job{Op: Add, Field: U32, A: Host(v[:]), B: Host(v[:]), Out: Host(v[:])})
		check(t, err)
	}
	eventually(t, "slices of tickets that were dropped are still pinned", func() bool { return collected.Load() == 10 })

	b, err := x.NewBuffer("cpu", 4000)
	check(t, err)
	ticket, err := x.Submit(background, Job{Op: Add, Field: U32, N: 1000, A: Dev(b, 0), B: Dev(b, 0), Out: Dev(b, 0)})
	check(t, err)
	check(t, b.Close())
	eventually(t, "the buffer is still there", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return len(x.owned) == 0
	})
	check(t, ticket.Wait())
}

// Buffers that nobody has are destroyed, but not while a job uses them.
func TestCollectedBuffers(t *testing.T) {
	x := open(t, &Config{Device: "cpu"})
	owned := func() int {
		x.mu.Lock()
		defer x.mu.Unlock()
		return len(x.owned)
	}
	v := make([]uint32, 1000)
	for range 100 {
		b, err := x.NewBuffer("cpu", 4000)
		check(t, err)
		check(t, b.Write(0, Host(v)))
		_, err = x.Submit(background, Job{Op: Add, Field: U32, N: 1000, A: Dev(b, 0), B: Dev(b, 0), Out: Dev(b, 0)})
		check(t, err)
		runtime.GC()
	}
	eventually(t, "buffers of nobody are left", func() bool { return owned() < 10 })
}

func TestWrongLength(t *testing.T) {
	x := open(t, nil)
	d, err := x.NewDomain(DomainConfig{Field: BN254Fr, Log2Size: 3})
	check(t, err)
	p, err := x.NewPoints(PointsConfig{Curve: BN254G1, Form: XYMont, Points: Host(make([][8]uint64, 8))})
	check(t, err)
	b, err := x.NewBuffer("cpu", 8*32)
	check(t, err)
	v, w, short, long := make([]fr, 8), make([]fr, 8), make([]fr, 7), make([]fr, 9)
	point := make([][8]uint64, 1)
	ntt, msm := &NTTParams{Domain: d, Log2N: 3}, &MSMParams{Points: p, Count: 8, ResultForm: XYMont}
	good := []Job{
		{Op: Mul, Field: BN254Fr, A: Host(v), B: Host(v), Out: Host(w)},
		{Op: Mul, Field: BN254Fr, A: Host(v), B: HostBroadcast(&w[0]), Out: Host(v)},
		{Op: Dot, Field: BN254Fr, A: Host(v), B: Host(v), Out: Host(w[:1])},
		{Op: NTT, Field: BN254Fr, A: Host(v), Out: Host(w), NTT: ntt},
		{Op: NTT, Field: BN254Fr, A: Host(v[:4]), Out: Host(w), NTT: &NTTParams{Domain: d, Log2N: 3, Log2Pad: 1}},
		{Op: MSM, Field: BN254Fr, A: Host(v), Out: Host(point), MSM: msm},
		{Op: Sqr, Field: BN254Fr, N: 8, A: Dev(b, 0), Out: Host(w)},
	}
	check(t, b.Write(0, Host(v)))
	check(t, x.Run(background, good...))
	for name, job := range map[string]Job{
		"short a":       {Op: Mul, Field: BN254Fr, A: Host(short), B: Host(v), Out: Host(w)},
		"long a":        {Op: Mul, Field: BN254Fr, A: Host(long), B: Host(v), Out: Host(w)},
		"short b":       {Op: Mul, Field: BN254Fr, A: Host(v), B: Host(short), Out: Host(w)},
		"no b":          {Op: Mul, Field: BN254Fr, A: Host(v), Out: Host(w)},
		"short c":       {Op: MulAdd, Field: BN254Fr, A: Host(v), B: Host(v), C: Host(short), Out: Host(w)},
		"short out":     {Op: Mul, Field: BN254Fr, N: 8, A: Host(v), B: Host(v), Out: Host(short)},
		"no out":        {Op: Mul, Field: BN254Fr, A: Host(v), B: Host(v)},
		"unused c":      {Op: Mul, Field: BN254Fr, A: Host(v), B: Host(v), C: Host(v), Out: Host(w)},
		"half element":  {Op: Sqr, Field: BN254Fr, A: Host(v[0][:2]), Out: Host(w[0][:2])},
		"narrow field":  {Op: Add, Field: U32, A: Host(v), B: Host(v), Out: Host(make([]uint32, 8))},
		"wide field":    {Op: Sqr, Field: BLS12381Fq, A: Host(v), Out: Host(w)},
		"broadcast":     {Op: Mul, Field: BN254Fr, A: Host(v), B: HostBroadcast(new(uint32)), Out: Host(w)},
		"no elements":   {Op: Sqr, Field: BN254Fr, A: Host(v), Out: Host(w[:0])},
		"dot":           {Op: Dot, Field: BN254Fr, A: Host(v), B: Host(short), Out: Host(w[:1])},
		"two results":   {Op: Sum, Field: BN254Fr, A: Host(v), Out: Host(w[:2])},
		"huge":          {Op: Sqr, Field: BN254Fr, N: 1 << 59, A: Host(v), Out: Host(w)},
		"huger":         {Op: Sqr, Field: BN254Fr, N: 1<<59 + 8, A: Host(v), Out: Host(w)},
		"negative":      {Op: Sqr, Field: BN254Fr, N: -8, A: Host(v), Out: Host(w)},
		"no size":       {Op: Sqr, Field: BN254Fr, A: Dev(b, 0), Out: Dev(b, 0)},
		"buffer":        {Op: Sqr, Field: BN254Fr, N: 8, A: Dev(b, 32), Out: Host(w)},
		"before buffer": {Op: Sqr, Field: BN254Fr, N: 8, A: Dev(b, -32), Out: Host(w)},
		"ntt":           {Op: NTT, Field: BN254Fr, A: Host(short), Out: Host(short), NTT: ntt},
		"padded ntt":    {Op: NTT, Field: BN254Fr, A: Host(v), Out: Host(w), NTT: &NTTParams{Domain: d, Log2N: 3, Log2Pad: 1}},
		"large ntt":     {Op: NTT, Field: BN254Fr, A: Host(v), Out: Host(w), NTT: &NTTParams{Domain: d, Log2N: 4}},
		"no domain":     {Op: NTT, Field: BN254Fr, A: Host(v), Out: Host(w), NTT: &NTTParams{Log2N: 3}},
		"no params":     {Op: NTT, Field: BN254Fr, A: Host(v), Out: Host(w)},
		"msm":           {Op: MSM, Field: BN254Fr, A: Host(short), Out: Host(point), MSM: msm},
		"point":         {Op: MSM, Field: BN254Fr, A: Host(v), Out: Host(point[0][:7]), MSM: msm},
		"points":        {Op: MSM, Field: BN254Fr, A: Host(long), Out: Host(point), MSM: &MSMParams{Points: p, Count: 9, ResultForm: XYMont}},
		"no points":     {Op: MSM, Field: BN254Fr, A: Host(v), Out: Host(point), MSM: &MSMParams{Count: 8, ResultForm: XYMont}},
		"gather":        {Op: Gather, Field: BN254Fr, A: Host(v), B: Host([]uint32{1}), Out: Host(w), Poly: &PolyParams{Count: 8}},
		"huge gather":   {Op: Gather, Field: BN254Fr, A: Host(v[:0]), B: Host([]uint32{1}), Out: Host(w[:1]), Poly: &PolyParams{Count: 1 << 59}},
		"huger gather":  {Op: Gather, Field: BN254Fr, A: Host(v[:1]), B: Host([]uint32{1}), Out: Host(w[:1]), Poly: &PolyParams{Count: 1<<59 + 1}},
		"no parts":      {Op: Interleave, Field: BN254Fr, A: Host(v), Out: Host(w), Poly: &PolyParams{}},
		"three parts":   {Op: Deinterleave, Field: BN254Fr, A: Host(v), Out: Host(w), Poly: &PolyParams{Count: 3}},
		"huge ntt":      {Op: NTT, Field: BN254Fr, A: Host(v), Out: Host(w), NTT: &NTTParams{Domain: d, Log2N: 63, Log2Pad: 63}},
		"other field":   {Op: NTT, Field: BLS12381Fr, A: Host(v), Out: Host(w), NTT: ntt},
		"other curve":   {Op: MSM, Field: BLS12381Fr, A: Host(v), Out: Host(point), MSM: msm},
		"form":          {Op: MSM, Field: BN254Fr, A: Host(v), Out: Host(point), MSM: &MSMParams{Points: p, Count: 8}},
		"other params":  {Op: Mul, Field: BN254Fr, A: Host(v), B: Host(v), Out: Host(w), Poly: &PolyParams{Count: 8}},
	} {
		err := x.Run(background, good[0], job)
		if e := (*Error)(nil); !errors.Is(err, ErrInvalid) || !errors.As(err, &e) || e.Job != 1 {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := x.Submit(background, good[0], job); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s, submitted: %v", name, err)
		}
	}
	for _, err := range []error{
		b.Write(0, Host(long)), b.Write(32, Host(v)), b.Write(-32, Host(v)), b.Write(1<<62, Host(v)),
		b.Read(0, Host(long)), b.Read(32, Host(v)), b.Read(0, Dev(b, 0)),
	} {
		if !errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
	}
}

func TestPanicInLog(t *testing.T) {
	v := []fr{{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}}
	job := Job{Op: Sqr, Field: BN254Fr, A: Host(v), Out: Host(v)}
	for name, log := range map[string]func(){
		"panic":  func() { panic("what a message") },
		"goexit": runtime.Goexit,
		"nil":    func() { var m map[int]int; m[0] = 1 },
	} {
		called := 0
		x := open(t, &Config{Log: func(level LogLevel, message string) {
			if level == LogError && strings.Contains(message, "modulus") {
				called++
			}
			log()
		}})
		for range 3 {
			if err := x.Run(background, job); !errors.Is(err, ErrNotCanonical) {
				t.Fatalf("%s: %v", name, err)
			}
			ticket, err := x.Submit(background, job)
			check(t, err)
			if err := ticket.Wait(); !errors.Is(err, ErrNotCanonical) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		err := x.Close()
		if called < 3 || (err != nil) != (name != "goexit") {
			t.Errorf("%s: called %d times, Close returns %v", name, called, err)
		}
		if name == "panic" && !strings.Contains(err.Error(), "what a message") {
			t.Error(err)
		}
	}
}

// work is a thousand jobs, some of which have not begun when the first one has.
func work() (jobs []Job, out []fr) {
	a, out := random(1<<12, moduli[BN254Fr]), make([]fr, 1<<12)
	for range 1000 {
		jobs = append(jobs, Job{Op: Inv, Field: BN254Fr, A: Host(a), Out: Host(out)})
	}
	return jobs, out
}

// interrupted runs a test with more and more work until it is interrupted, which depends on the
// speed of the machine.
func interrupted(t *testing.T, want error, test func(jobs []Job) error) {
	t.Helper()
	jobs, _ := work()
	for range 8 {
		if err := test(jobs); errors.Is(err, want) {
			return
		} else if err != nil {
			t.Fatalf("%v, not %v", err, want)
		}
		jobs = append(jobs, jobs...)
	}
	t.Fatalf("it is always done before: %v", want)
}

func TestCancel(t *testing.T) {
	x := open(t, &Config{Device: "cpu", Threads: 1})
	v := make([]fr, 10)
	small := Job{Op: Sqr, Field: BN254Fr, A: Host(v), Out: Host(v)}

	ctx, cancel := context.WithCancel(background)
	check(t, x.Run(ctx, small)) // done in time
	cancel()
	if err := x.Run(ctx, small); err != context.Canceled {
		t.Errorf("cancelled before: %v", err)
	}

	// While it runs: what has begun is done, the last one does not begin.
	after := 5 * time.Millisecond
	interrupted(t, context.Canceled, func(jobs []Job) error {
		last := make([]fr, 1<<12)
		jobs[len(jobs)-1].Out = Host(last)
		ctx, cancel := context.WithCancel(background)
		time.AfterFunc(after, cancel)
		reports, err := x.RunWith(ctx, Options{}, jobs...)
		if err == context.Canceled && reports == nil { // before it was submitted
			after *= 2
			return nil
		}
		if err != nil && (len(reports) != len(jobs) || reports[len(jobs)-1].Status != ErrCancelled || last[0] != (fr{})) {
			t.Error("the last one was done")
		}
		return err
	})

	// By hand.
	interrupted(t, ErrCancelled, func(jobs []Job) error {
		ticket, err := x.Submit(background, jobs...)
		check(t, err)
		ticket.Cancel()
		return ticket.Wait()
	})

	// A ticket that waits behind another.
	interrupted(t, context.DeadlineExceeded, func(jobs []Job) error {
		ctx, cancel := context.WithTimeout(background, 5*time.Millisecond)
		defer cancel()
		first, err := x.Submit(background, jobs...)
		check(t, err)
		second, err := x.Submit(ctx, small)
		if err == nil {
			err = second.Wait()
		}
		first.Cancel()
		if err := first.Wait(); err != nil && !errors.Is(err, ErrCancelled) {
			t.Error(err)
		}
		return err
	})

	// A call that waits for memory that a ticket writes.
	interrupted(t, context.DeadlineExceeded, func(jobs []Job) error {
		first, err := x.Submit(background, jobs...)
		check(t, err)
		ctx, cancel := context.WithTimeout(background, 5*time.Millisecond)
		defer cancel()
		err = x.Run(ctx, jobs[0])
		first.Cancel()
		return err
	})
}

// After the error of a context the memory is the caller's again: it is not written any more.
func TestCancelledMemory(t *testing.T) {
	x := open(t, &Config{Device: "cpu"})
	jobs, out := work()
	for i := range 10 {
		ctx, cancel := context.WithTimeout(background, time.Duration(i)*time.Millisecond)
		if err := x.Run(ctx, jobs...); err != nil && err != context.DeadlineExceeded {
			t.Fatal(err)
		}
		cancel()
		clear(out)
		time.Sleep(5 * time.Millisecond)
		for _, e := range out {
			if e != (fr{}) {
				t.Fatal("written after the call")
			}
		}
	}
}

func TestAccess(t *testing.T) {
	buffer := &child{}
	for _, c := range []struct {
		a, b span
		want bool
	}{
		{span{from: 0, to: 10, writes: true}, span{from: 9, to: 20, writes: false}, true},
		{span{from: 0, to: 10, writes: false}, span{from: 9, to: 20, writes: true}, true},
		{span{from: 0, to: 10, writes: false}, span{from: 9, to: 20, writes: false}, false},
		{span{from: 0, to: 10, writes: true}, span{from: 10, to: 20, writes: true}, false},
		{span{from: 0, to: 10, writes: true}, span{in: buffer, from: 0, to: 10, writes: true}, false},
		{span{in: buffer, from: 0, to: 10, writes: true}, span{in: buffer, from: 5, to: 6, writes: true}, true},
	} {
		if c.a.conflicts(c.b) != c.want || c.b.conflicts(c.a) != c.want {
			t.Errorf("%v and %v", c.a, c.b)
		}
	}
	// What is not a job waits, too.
	x := open(t, &Config{Device: "cpu"})
	d, err := x.NewDomain(DomainConfig{Field: BN254Fr, Log2Size: 2})
	check(t, err)
	root := make([]fr, 1)
	at := uintptr(unsafe.Pointer(&root[0]))
	user := access{spans: []span{{from: at, to: at + 32}}}
	check(t, user.begin(background))
	time.AfterFunc(20*time.Millisecond, func() {
		if root[0] != (fr{}) {
			t.Error("written while it was read")
		}
		user.end()
	})
	check(t, d.RootInto(2, Host(root)))

	// Memory that no call uses: one writer at a time, in order.
	var active atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				a := access{spans: []span{{from: 1, to: 2, writes: true}}}
				check(t, a.begin(background))
				if active.Add(1) != 1 {
					t.Error("two at once")
				}
				active.Add(-1)
				a.end()
			}
		})
	}
	group.Wait()
	if accesses.last != nil {
		t.Error("some are left")
	}
}
