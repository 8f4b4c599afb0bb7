// SPDX-License-Identifier: Apache-2.0

package gpuexec

import (
	"context"
	"errors"
	"math/big"
	"math/bits"
	"slices"
	"strings"
	"testing"
)

var background = context.Background()

func TestDevices(t *testing.T) {
	devices, err := open(t, nil).Devices()
	check(t, err)
	i := slices.IndexFunc(devices, func(d DeviceInfo) bool { return d.Name == "cpu" })
	if i < 0 || devices[i].Kind != DeviceCPU || !devices[i].Usable || devices[i].Threads < 1 || devices[i].Description == "" {
		t.Fatalf("devices are %+v", devices)
	}
	if Version() == "" {
		t.Fatal("no version")
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{BLS12381Fr.String(), "bls12-381-fr"}, {MulAdd.String(), "mul-add"}, {BN254G2.String(), "bn254-g2"},
		{Field(99).String(), "unknown"}, {Op(9999).String(), "unknown"}, {Curve(99).String(), "unknown"},
		{ErrOverlap.String(), "GX_ERR_OVERLAP"}, {Compressed.String(), "compressed"},
		{ModePipelined.String(), "pipelined"}, {PathDirect.String(), "direct"}, {PolicyGPU.String(), "gpu"},
		{ReasonAsked.String(), "asked"}, {DeviceVulkan.String(), "vulkan"}, {LogInfo.String(), "info"},
		{CheckNone.String(), "none"}, {ScalarMont.String(), "mont"},
	} {
		if c.got != c.want {
			t.Errorf("%q, not %q", c.got, c.want)
		}
	}
	for f, want := range map[Field]int{0: 0, BLS12381Fq: 48, BLS12381Fr: 32, BN254Fq: 32, BN254Fr: 32, U32: 4, F32: 4, 99: 0} {
		if f.Bytes() != want {
			t.Errorf("%v has %d bytes, not %d", f, f.Bytes(), want)
		}
	}
}

// A job with every operation that has elements only, in both scalar fields, beside math/big.
func TestArithmetic(t *testing.T) {
	type formula func(z, a, b, c, p *big.Int) *big.Int
	formulas := map[Op]formula{
		Add:    func(z, a, b, _, _ *big.Int) *big.Int { return z.Add(a, b) },
		Sub:    func(z, a, b, _, _ *big.Int) *big.Int { return z.Sub(a, b) },
		Mul:    func(z, a, b, _, _ *big.Int) *big.Int { return z.Mul(a, b) },
		Neg:    func(z, a, _, _, _ *big.Int) *big.Int { return z.Neg(a) },
		Sqr:    func(z, a, _, _, _ *big.Int) *big.Int { return z.Mul(a, a) },
		Inv:    func(z, a, _, _, p *big.Int) *big.Int { return z.ModInverse(a, p) },
		Div:    func(z, a, b, _, p *big.Int) *big.Int { return z.Mul(a, new(big.Int).ModInverse(b, p)) },
		MulAdd: func(z, a, b, c, _ *big.Int) *big.Int { return z.Add(z.Mul(a, b), c) },
	}
	onDevices(t, func(t *testing.T, x *Context, device string) {
		for field, p := range moduli {
			const n = 37
			a, b, c := random(n, p), random(n, p), random(n, p)
			for op, formula := range formulas {
				out := make([]fr, n)
				job := Job{Op: op, Field: field, A: Host(a), Out: Host(out)}
				if op != Neg && op != Sqr && op != Inv {
					job.B = Host(b)
				}
				if op == MulAdd {
					job.C = Host(c)
				}
				_, err := x.RunWith(background, Options{Device: device}, job)
				check(t, err)
				for i := range out {
					z := formula(new(big.Int), value(a[i], p), value(b[i], p), value(c[i], p), p)
					if want := form(z.Mod(z, p), p); out[i] != want {
						t.Fatalf("%v of %v: element %d is %v, not %v", op, field, i, out[i], want)
					}
				}
			}
		}
	})
}

func TestWords(t *testing.T) {
	x := open(t, nil)
	a, sum := []uint32{1, 2, 1 << 31}, make([]uint32, 3)
	check(t, x.Run(background, Job{Op: Add, Field: U32, A: Host(a), B: Host(a), Out: Host(sum)}))
	if !slices.Equal(sum, []uint32{2, 4, 0}) {
		t.Error(sum)
	}
	f, three := []float32{1, 2.5}, float32(3)
	check(t, x.Run(background, Job{Op: Mul, Field: F32, A: Host(f), B: HostBroadcast(&three), Out: Host(f)}))
	if !slices.Equal(f, []float32{3, 7.5}) {
		t.Error(f)
	}
}

func TestPolynomials(t *testing.T) {
	p := moduli[BN254Fr]
	onDevices(t, func(t *testing.T, x *Context, device string) {
		const n = 16
		a, z, out, value1 := random(n, p), random(1, p), make([]fr, n), make([]fr, 1)
		indices := []uint32{3, 0, 15, 7}
		picked, powers := make([]fr, len(indices)), make([]fr, n)
		_, err := x.RunWith(background, Options{Device: device},
			Job{Op: Rotate, Field: BN254Fr, A: Host(a), Out: Host(out), Poly: &PolyParams{Count: 3}},
			Job{Op: Evaluate, Field: BN254Fr, A: Host(a), B: Host(z), Out: Host(value1)},
			Job{Op: Gather, Field: BN254Fr, A: Host(a), B: Host(indices), Out: Host(picked), Poly: &PolyParams{Count: n}},
			Job{Op: Powers, Field: BN254Fr, A: Host(z), Out: Host(powers)})
		check(t, err)
		at, power := new(big.Int), big.NewInt(1)
		for i := range a {
			if out[i] != a[(i+3)%n] {
				t.Fatal("rotate", i)
			}
			if powers[i] != form(power, p) {
				t.Fatal("powers", i)
			}
			at.Add(at, new(big.Int).Mul(power, value(a[i], p)))
			power.Mul(power, value(z[0], p)).Mod(power, p)
		}
		for i, k := range indices {
			if picked[i] != a[k] {
				t.Fatal("gather", i)
			}
		}
		if value1[0] != form(at.Mod(at, p), p) {
			t.Fatal("evaluate")
		}
	})
}

// A transform by its definition, in all orders, and batches of them.
func TestNTT(t *testing.T) {
	const log2, n, batch = 4, 16, 3
	p := moduli[BLS12381Fr]
	onDevices(t, func(t *testing.T, x *Context, device string) {
		domain, err := x.NewDomain(DomainConfig{Field: BLS12381Fr, Log2Size: 6})
		check(t, err)
		defer domain.Close()
		root := make([]fr, 1)
		check(t, domain.RootInto(log2, Host(root)))
		w := value(root[0], p)
		if one := new(big.Int).Exp(w, big.NewInt(n), p); one.Cmp(big.NewInt(1)) != 0 {
			t.Fatal("the root does not have its order")
		}
		a := random(batch*n, p)
		want := make([]fr, batch*n)
		for k := range want {
			sum, at := new(big.Int), new(big.Int).Exp(w, big.NewInt(int64(k%n)), p)
			for i := n - 1; i >= 0; i-- { // Horner
				sum.Mul(sum, at).Add(sum, value(a[k/n*n+i], p)).Mod(sum, p)
			}
			want[k] = form(sum, p)
		}
		reversed := func(v []fr) []fr {
			r := make([]fr, len(v))
			for i := range v {
				r[i] = v[i/n*n+int(bits.Reverse64(uint64(i%n))>>(64-log2))]
			}
			return r
		}
		for order := range 4 {
			in, expected := a, want
			params := &NTTParams{Domain: domain, Log2N: log2, ReversedIn: order&1 != 0, ReversedOut: order&2 != 0}
			if params.ReversedIn {
				in = reversed(in)
			}
			if params.ReversedOut {
				expected = reversed(expected)
			}
			out, back := make([]fr, batch*n), make([]fr, batch*n)
			inverse := *params
			inverse.Inverse, inverse.ReversedIn, inverse.ReversedOut = true, params.ReversedOut, params.ReversedIn
			_, err := x.RunWith(background, Options{Device: device},
				Job{Op: NTT, Field: BLS12381Fr, A: Host(in), Out: Host(out), NTT: params},
				Job{Op: NTT, Field: BLS12381Fr, A: Host(out), Out: Host(back), NTT: &inverse})
			check(t, err)
			if !slices.Equal(out, expected) || !slices.Equal(back, in) {
				t.Fatalf("order %d is wrong", order)
			}
		}
	})
}

func TestBuffers(t *testing.T) {
	p := moduli[BLS12381Fr]
	onDevices(t, func(t *testing.T, x *Context, device string) {
		const n, bytes = 100, 100 * 32
		a, out, sum := random(n, p), make([]fr, n), make([]fr, 1)
		b, err := x.NewBuffer(device, 2*bytes)
		check(t, err)
		defer b.Close()
		if b.Len() != 2*bytes || b.Device() != device {
			t.Fatalf("a buffer of %d bytes on %s", b.Len(), b.Device())
		}
		check(t, b.Write(0, Host(a)))
		check(t, x.Run(background,
			Job{Op: Sqr, Field: BLS12381Fr, N: n, A: Dev(b, 0), Out: Dev(b, bytes)},
			Job{Op: Sum, Field: BLS12381Fr, N: n, A: Dev(b, bytes), Out: Host(sum)},
			Job{Op: Add, Field: BLS12381Fr, N: n, A: Dev(b, bytes), B: DevBroadcast(b, 0), Out: Dev(b, bytes)}))
		check(t, b.Read(bytes, Host(out)))
		total := new(big.Int)
		for i := range a {
			v := value(a[i], p)
			v.Mul(v, v)
			total.Add(total, v)
			if v.Add(v, value(a[0], p)); out[i] != form(v.Mod(v, p), p) {
				t.Fatal("element", i)
			}
		}
		if sum[0] != form(total.Mod(total, p), p) {
			t.Fatal("sum")
		}
	})
}

func TestTickets(t *testing.T) {
	p := moduli[BN254Fr]
	onDevices(t, func(t *testing.T, x *Context, device string) {
		const n, tickets = 50, 20
		a := random(n, p)
		outs, pending := make([][]fr, tickets), make([]*Ticket, tickets)
		for i := range pending {
			var err error
			outs[i] = make([]fr, n)
			pending[i], err = x.SubmitWith(background, Options{Device: device},
				Job{Op: Mul, Field: BN254Fr, A: Host(a), B: HostBroadcast(&a[i]), Out: Host(outs[i])})
			check(t, err)
		}
		for i, ticket := range pending {
			<-ticket.Done()
			check(t, ticket.Wait())
			if r := ticket.Reports(); len(r) != 1 || r[0].Status != nil || r[0].Device != device {
				t.Fatalf("reports %+v", r)
			}
			ticket.Cancel() // too late, and harmless
			for k := range a {
				v := value(a[k], p)
				v.Mul(v, value(a[i], p))
				if outs[i][k] != form(v.Mod(v, p), p) {
					t.Fatal("ticket", i, "element", k)
				}
			}
		}
	})
}

// What one ticket writes the next one reads, without a wait in between.
func TestTicketsInOrder(t *testing.T) {
	onDevices(t, func(t *testing.T, x *Context, device string) {
		one, v := uint32(1), make([]uint32, 5000)
		const rounds = 100
		var last *Ticket
		for range rounds {
			var err error
			last, err = x.SubmitWith(background, Options{Device: device},
				Job{Op: Add, Field: U32, A: Host(v), B: HostBroadcast(&one), Out: Host(v)})
			check(t, err)
		}
		check(t, last.Wait())
		for i := range v {
			if v[i] != rounds {
				t.Fatalf("element %d is %d", i, v[i])
			}
		}
	})
}

func TestReports(t *testing.T) {
	x := open(t, &Config{Device: "cpu"})
	a := random(1000, moduli[BLS12381Fr])
	out := make([]fr, len(a))
	job := Job{Op: Inv, Field: BLS12381Fr, A: Host(a), Out: Host(out)}
	reports, err := x.RunWith(background, Options{Candidates: true}, job, job)
	check(t, err)
	for _, r := range reports {
		if r.Device != "cpu" || r.Reason != ReasonAsked || r.Total <= 0 || r.Threads < 1 || r.BadIndex != -1 {
			t.Errorf("%+v", r)
		}
	}
	x = open(t, nil)
	reports, err = x.RunWith(background, Options{Candidates: true}, job)
	check(t, err)
	if len(reports) != 1 || len(reports[0].Candidates) == 0 || reports[0].Candidates[0].Device == "" {
		t.Errorf("%+v", reports)
	}
	text, err := x.Metrics()
	check(t, err)
	if !strings.Contains(text, "gpuexec_") || strings.Contains(text, "\x00") {
		t.Error(text)
	}
}

func TestNoElements(t *testing.T) {
	x := open(t, nil)
	check(t, x.Run(background))
	check(t, x.Run(background, Job{Op: Add, Field: BLS12381Fr, A: Host([]fr{}), B: Host([]fr(nil)), Out: Host([]fr{})}))
	check(t, x.Run(background, Job{Op: Add, Field: BLS12381Fr, A: Host([]fr{}), B: HostBroadcast(&fr{}), Out: Host([]fr{})}))
	sum := []fr{{1}}
	check(t, x.Run(background, Job{Op: Sum, Field: BLS12381Fr, A: Host([]fr{}), Out: Host(sum)}))
	if sum[0] != (fr{}) {
		t.Error(sum)
	}
	ticket, err := x.Submit(background)
	check(t, err)
	check(t, ticket.Wait())
	b, err := x.NewBuffer("cpu", 0)
	check(t, err)
	check(t, b.Write(0, Host([]fr{})))
	check(t, b.Close())
}

func TestErrors(t *testing.T) {
	x := open(t, nil)
	p := moduli[BN254Fr]
	a, b, out := random(10, p), random(10, p), make([]fr, 10)
	b[7] = limbs(p)
	good := Job{Op: Sqr, Field: BN254Fr, A: Host(a), Out: Host(out)}
	bad := Job{Op: Mul, Field: BN254Fr, A: Host(a), B: Host(b), Out: Host(out)}
	notCanonical := func(err error) {
		t.Helper()
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrNotCanonical) || errors.Is(err, ErrInvalid) {
			t.Fatalf("%v", err)
		}
		if e.Job != 1 || e.Operand != 'b' || e.Index != 7 || e.Message == "" || !strings.HasPrefix(e.Error(), "gpuexec: job 1: ") {
			t.Fatalf("%+v", e)
		}
	}
	reports, err := x.RunWith(background, Options{}, good, bad, good)
	notCanonical(err)
	if reports[0].Status != nil || reports[1].BadIndex != 7 || reports[1].BadOperand != 'b' || reports[2].Status != ErrNotRun {
		t.Errorf("%+v", reports)
	}
	ticket, err := x.Submit(background, good, bad, good)
	check(t, err)
	notCanonical(ticket.Wait())

	for name, c := range map[string]struct {
		want Status
		job  Job
		opts Options
	}{
		"device":  {ErrNoDevice, good, Options{Device: "nosuch"}},
		"overlap": {ErrOverlap, Job{Op: Sqr, Field: BN254Fr, A: Host(a[:9]), Out: Host(a[1:])}, Options{}},
		"op":      {ErrInvalid, Job{Op: 999, Field: BN254Fr, A: Host(a), Out: Host(out)}, Options{}},
		"field":   {ErrInvalid, Job{Op: Sqr, Field: 99, A: Host(a), Out: Host(out)}, Options{}},
		"missing": {ErrUnsupported, Job{Op: Inv, Field: U32, A: Host(a), Out: Host(out)}, Options{}},
		"path":    {ErrInvalid, good, Options{Path: 77}},
	} {
		_, err := x.RunWith(background, c.opts, c.job)
		_, err2 := x.SubmitWith(background, c.opts, c.job)
		if e := (*Error)(nil); !errors.Is(err, c.want) || !errors.Is(err2, c.want) || !errors.As(err, &e) || e.Message == "" {
			t.Errorf("%s: %v; %v", name, err, err2)
		}
	}
	for _, config := range []Config{{Policy: 99}, {Threads: -1}} {
		if _, err := Open(&config); !errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
	}
	for _, names := range []string{"nosuch", "cpu,nosuch"} {
		_, err := Open(&Config{Device: names})
		if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), "'nosuch' here, only cpu, ref") {
			t.Error(err)
		}
	}
	if _, err := x.NewDomain(DomainConfig{Field: BN254Fr, Log2Size: 29}); !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrUnsupported) {
		t.Error(err)
	}
}

func TestPointErrors(t *testing.T) {
	x := open(t, nil)
	g := make([][12]uint64, 3) // infinity
	g[1] = [12]uint64{1}       // not on the curve
	_, err := x.NewPoints(PointsConfig{Curve: BLS12381G1, Form: XYMont, Points: Host(g)})
	if e := (*Error)(nil); !errors.As(err, &e) || !errors.Is(err, ErrInvalid) || e.Index != 1 {
		t.Fatalf("%v", err)
	}
	for _, config := range []PointsConfig{
		{Curve: BLS12381G1, Form: 0, Points: Host(g)},
		{Curve: BN254G1, Form: Compressed, Points: Host(g)},
		{Curve: BLS12381G1, Form: XYMont, Points: Host(g), Count: 2},
		{Curve: BLS12381G2, Form: XYMont, Points: Host(g)},
		{Curve: BLS12381G1, Form: XYMont, Points: Host(g), Stride: -1},
	} {
		if _, err := x.NewPoints(config); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", config, err)
		}
	}
	points, err := x.NewPoints(PointsConfig{Curve: BLS12381G1, Form: XYMont, Points: Host(g[2:])})
	check(t, err)
	compressed := make([][48]byte, 1)
	check(t, points.Read(0, Compressed, Host(compressed)))
	if compressed[0] != [48]byte{0xc0} || points.Len() != 1 || points.Curve() != BLS12381G1 {
		t.Error(compressed)
	}
	for _, err := range []error{
		points.Read(1, Compressed, Host(compressed)),
		points.Read(-1, Compressed, Host(compressed)),
		points.Read(0, Compressed, Host(compressed[0][:47])),
		points.Read(0, 0, Host(compressed)),
	} {
		if !errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
	}
}
