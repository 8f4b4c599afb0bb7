// SPDX-License-Identifier: Apache-2.0

package gnark

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gpuexec"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	blsfp "github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	blsfr "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	blsfft "github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	bnfp "github.com/consensys/gnark-crypto/ecc/bn254/fp"
	bnfr "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	bnfft "github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"
)

// gnark-crypto is the oracle.

var background = context.Background()

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// onDevices runs a test on the CPU, and on the first Vulkan device if there is one.
func onDevices(t *testing.T, test func(t *testing.T, gx *gpuexec.Context, device string)) {
	gx, err := gpuexec.Open(&gpuexec.Config{CacheDir: "none"})
	check(t, err)
	defer gx.Close()
	devices, err := gx.Devices()
	check(t, err)
	for _, d := range devices {
		if !d.Usable || d.Name != "cpu" && d.Name != "vulkan:0" {
			continue
		}
		t.Run(strings.ReplaceAll(d.Name, ":", "-"), func(t *testing.T) {
			gx, err := gpuexec.Open(&gpuexec.Config{CacheDir: "none", Device: d.Name})
			check(t, err)
			defer gx.Close()
			test(t, gx, d.Name)
		})
	}
}

// arithmetic is what the elements of gnark-crypto can do.
type arithmetic[E any] interface {
	*E
	SetRandom() (*E, error)
	SetZero() *E
	Add(a, b *E) *E
	Sub(a, b *E) *E
	Mul(a, b *E) *E
	Div(a, b *E) *E
	Inverse(a *E) *E
}

func random[E any, P arithmetic[E]](t testing.TB, n int) []E {
	v := make([]E, n)
	for i := range v {
		_, err := P(&v[i]).SetRandom()
		check(t, err)
	}
	return v
}

func TestArithmetic(t *testing.T) {
	onDevices(t, func(t *testing.T, gx *gpuexec.Context, _ string) {
		testArithmetic[blsfr.Element](t, gx)
		testArithmetic[blsfp.Element](t, gx)
		testArithmetic[bnfr.Element](t, gx)
		testArithmetic[bnfp.Element](t, gx)
	})
}

func testArithmetic[E interface {
	Element
	comparable
}, P interface {
	arithmetic[E]
}](t *testing.T, gx *gpuexec.Context) {
	for _, n := range []int{0, 1, 3, 1000} {
		a, b := random[E, P](t, n), random[E, P](t, n)
		if n > 1 {
			P(&b[1]).SetZero()
		}
		var outs [6][]E
		for i := range outs {
			outs[i] = make([]E, n)
		}
		var sum, dot E
		scalar := random[E, P](t, 1)[0]
		check(t, gx.Run(background,
			Add(outs[0], a, b), Sub(outs[1], a, b), Mul(outs[2], a, b), Div(outs[3], a, b),
			Inv(outs[4], b), ScalarMul(outs[5], a, &scalar), Sum(&sum, a), InnerProduct(&dot, a, b)))
		var wantSum, wantDot E
		for i := range a {
			var want [6]E
			P(&want[0]).Add(&a[i], &b[i])
			P(&want[1]).Sub(&a[i], &b[i])
			P(&want[2]).Mul(&a[i], &b[i])
			P(&want[3]).Div(&a[i], &b[i])
			P(&want[4]).Inverse(&b[i])
			P(&want[5]).Mul(&a[i], &scalar)
			for k := range want {
				if outs[k][i] != want[k] {
					t.Fatalf("%v: result %d of %d, operation %d", FieldOf[E](), i, n, k)
				}
			}
			P(&wantSum).Add(&wantSum, &a[i])
			P(&wantDot).Add(&wantDot, &want[2])
		}
		if sum != wantSum || dot != wantDot {
			t.Fatalf("%v: sum or inner product of %d", FieldOf[E](), n)
		}
	}
}

func TestFFT(t *testing.T) {
	onDevices(t, func(t *testing.T, gx *gpuexec.Context, device string) {
		for log2 := range 13 {
			if log2%4 != 0 && (log2 > 6 || device != "cpu") {
				continue
			}
			bls, bn := blsfft.NewDomain(1<<log2), bnfft.NewDomain(1<<log2)
			testFFT[blsfr.Element](t, gx, 1<<log2,
				func(a []blsfr.Element, inverse bool, d Decimation, coset bool) {
					var options []blsfft.Option
					if coset {
						options = append(options, blsfft.OnCoset())
					}
					if inverse {
						bls.FFTInverse(a, blsfft.Decimation(d), options...)
					} else {
						bls.FFT(a, blsfft.Decimation(d), options...)
					}
				})
			testFFT[bnfr.Element](t, gx, 1<<log2,
				func(a []bnfr.Element, inverse bool, d Decimation, coset bool) {
					var options []bnfft.Option
					if coset {
						options = append(options, bnfft.OnCoset())
					}
					if inverse {
						bn.FFTInverse(a, bnfft.Decimation(d), options...)
					} else {
						bn.FFT(a, bnfft.Decimation(d), options...)
					}
				})
		}
	})
	if int(blsfft.DIT) != int(DIT) || int(blsfft.DIF) != int(DIF) || int(bnfft.DIT) != int(DIT) || int(bnfft.DIF) != int(DIF) {
		t.Error("decimations have other values")
	}
}

func testFFT[E interface {
	Scalar
	comparable
}, P arithmetic[E]](t *testing.T, gx *gpuexec.Context, n int, oracle func(a []E, inverse bool, d Decimation, coset bool)) {
	domain, err := NewDomain[E](gx, uint64(n))
	check(t, err)
	defer domain.Close()
	if domain.Cardinality() != uint64(n) {
		t.Fatal(domain.Cardinality())
	}
	for _, d := range []Decimation{DIT, DIF} {
		for _, coset := range []bool{false, true} {
			for _, inverse := range []bool{false, true} {
				var options []Option
				if coset {
					options = append(options, OnCoset)
				}
				a := random[E, P](t, n)
				want := slices.Clone(a)
				oracle(want, inverse, d, coset)
				if inverse {
					err = domain.FFTInverse(background, a, d, options...)
				} else {
					err = domain.FFT(background, a, d, options...)
				}
				check(t, err)
				if !slices.Equal(a, want) {
					t.Fatalf("%v: %d elements, decimation %d, coset %v, inverse %v", FieldOf[E](), n, d, coset, inverse)
				}
			}
		}
	}
}

func TestShift(t *testing.T) {
	gx, err := gpuexec.Open(nil)
	check(t, err)
	defer gx.Close()
	shift := blsfr.NewElement(12345)
	domain, err := NewDomainWithShift(gx, 100, shift) // rounded up, as by gnark-crypto
	check(t, err)
	oracle := blsfft.NewDomain(100, blsfft.WithShift(shift))
	a := random[blsfr.Element](t, int(oracle.Cardinality))
	want := slices.Clone(a)
	oracle.FFT(want, blsfft.DIF, blsfft.OnCoset())
	check(t, domain.FFT(background, a, DIF, OnCoset))
	if !slices.Equal(a, want) {
		t.Error("another result")
	}
	if err := domain.FFT(background, a[1:], DIF); !errors.Is(err, gpuexec.ErrInvalid) {
		t.Error(err)
	}
	if err := domain.FFT(background, append(a, a...), DIF); !errors.Is(err, gpuexec.ErrInvalid) {
		t.Error(err)
	}
}

// affine is what the points of gnark-crypto can do.
type affine[P, E any] interface {
	*P
	MultiExp(points []P, scalars []E, config ecc.MultiExpConfig) (*P, error)
	Neg(*P) *P
	SetInfinity() *P
}

func TestMultiExp(t *testing.T) {
	_, _, bls1, bls2 := bls12381.Generators()
	_, _, bn1, bn2 := bn254.Generators()
	onDevices(t, func(t *testing.T, gx *gpuexec.Context, device string) {
		testMultiExp(t, gx, func(s []blsfr.Element) []bls12381.G1Affine {
			return bls12381.BatchScalarMultiplicationG1(&bls1, s)
		})
		if device != "cpu" { // software devices take long
			return
		}
		testMultiExp(t, gx, func(s []blsfr.Element) []bls12381.G2Affine {
			return bls12381.BatchScalarMultiplicationG2(&bls2, s)
		})
		testMultiExp(t, gx, func(s []bnfr.Element) []bn254.G1Affine {
			return bn254.BatchScalarMultiplicationG1(&bn1, s)
		})
		testMultiExp(t, gx, func(s []bnfr.Element) []bn254.G2Affine {
			return bn254.BatchScalarMultiplicationG2(&bn2, s)
		})
	})
}

func testMultiExp[P interface {
	Point
	comparable
}, E Scalar, PP affine[P, E], PE arithmetic[E]](t *testing.T, gx *gpuexec.Context, multiples func([]E) []P) {
	const n = 300
	points, scalars := multiples(random[E, PE](t, n)), random[E, PE](t, n)
	PP(&points[3]).SetInfinity() // and equal, opposite points, and zeros
	points[5], scalars[5] = points[4], scalars[4]
	PP(&points[7]).Neg(&points[6])
	scalars[7] = scalars[6]
	PE(&scalars[8]).SetZero()
	p, err := NewPoints(gx, points)
	check(t, err)
	defer p.Close()
	for _, k := range []int{0, 1, 2, 8, 100, n} {
		var want P
		_, err := PP(&want).MultiExp(points[:k], scalars[:k], ecc.MultiExpConfig{})
		check(t, err)
		sum, err := MultiExp(background, p, scalars[:k])
		check(t, err)
		if sum != want {
			t.Fatalf("%v: the sum of %d is %v, not %v", CurveOf[P](), k, sum, want)
		}
	}
	if _, err := MultiExp(background, p, append(scalars, scalars...)); err == nil {
		t.Error("more scalars than points")
	}
	// Through a ticket, and cancelled.
	var sum, want P
	job, err := MultiExpJob(&sum, p, scalars)
	check(t, err)
	ticket, err := gx.Submit(background, job)
	check(t, err)
	check(t, ticket.Wait())
	if PP(&want).MultiExp(points, scalars, ecc.MultiExpConfig{}); sum != want {
		t.Error("another sum by a ticket")
	}
	ctx, cancel := context.WithCancel(background)
	cancel()
	if _, err := MultiExp(ctx, p, scalars); err != context.Canceled {
		t.Error(err)
	}
}

func TestMisuse(t *testing.T) {
	gx, err := gpuexec.Open(nil)
	check(t, err)
	defer gx.Close()
	_, _, g, _ := bls12381.Generators()
	points := []bls12381.G1Affine{g, g, g}
	points[1].X.SetOne() // not on the curve
	_, err = NewPoints(gx, points)
	if e := (*gpuexec.Error)(nil); !errors.As(err, &e) || e.Index != 1 {
		t.Error(err)
	}
	p, err := NewPoints(gx, points[:1])
	check(t, err)
	if _, err := MultiExp(background, p, make([]bnfr.Element, 1)); err == nil {
		t.Error("scalars of another curve")
	}
	a, b := random[blsfr.Element](t, 3), random[blsfr.Element](t, 2)
	if err := gx.Run(background, Mul(a, a, b)); !errors.Is(err, gpuexec.ErrInvalid) {
		t.Error(err)
	}
	check(t, p.Close())
	if _, err := MultiExp(background, p, a[:1]); !errors.Is(err, gpuexec.ErrClosed) {
		t.Error(err)
	}
}

// Operands are the memory of the slices themselves, of all types and also of parts of slices.
func TestNoCopy(t *testing.T) {
	gx, err := gpuexec.Open(&gpuexec.Config{Device: "cpu"})
	check(t, err)
	defer gx.Close()
	v := random[blsfr.Element](t, 5)
	before := slices.Clone(v)
	check(t, gx.Run(background, Add(v[1:3], v[1:3], v[1:3])))
	for i := range v {
		want := before[i]
		if i == 1 || i == 2 {
			want.Double(&want)
		}
		if v[i] != want {
			t.Error("element", i)
		}
	}
	x := make(blsfr.Vector, 1<<16) // 2 MiB; named slices, too
	add := Add(x, x, x)
	check(t, gx.Run(background, add))
	var earlier, later runtime.MemStats
	runtime.ReadMemStats(&earlier)
	check(t, gx.Run(background, add))
	runtime.ReadMemStats(&later)
	if bytes := later.TotalAlloc - earlier.TotalAlloc; bytes > 1<<16 {
		t.Errorf("%d bytes allocated", bytes)
	}
}
