// SPDX-License-Identifier: Apache-2.0

// Package gnark runs jobs of gpuexec on the types of gnark-crypto, in place: slices of fr.Element,
// fp.Element and of points in affine coordinates of BLS12-381 and BN254. It is a module of its own,
// so that gpuexec does not depend on gnark-crypto.
package gnark

import (
	"context"
	"fmt"
	"math/bits"
	"unsafe"

	"gpuexec"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	blsfp "github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	blsfr "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	bnfp "github.com/consensys/gnark-crypto/ecc/bn254/fp"
	bnfr "github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

// Element is an element of a field that gpuexec has.
type Element interface {
	blsfr.Element | blsfp.Element | bnfr.Element | bnfp.Element
}

// Scalar is an element of a scalar field.
type Scalar interface{ blsfr.Element | bnfr.Element }

// Point is a point in affine coordinates.
type Point interface {
	bls12381.G1Affine | bls12381.G2Affine | bn254.G1Affine | bn254.G2Affine
}

// The library takes x and y, for G2 c0 and c1 of each, without anything between them. The names are
// those of the fields of the structs: should gnark-crypto change these, this does not compile.
const (
	_ = -(unsafe.Sizeof(blsfr.Element{}) ^ 32)
	_ = -(unsafe.Sizeof(bnfr.Element{}) ^ 32)
	_ = -(unsafe.Sizeof(blsfp.Element{}) ^ 48)
	_ = -(unsafe.Sizeof(bnfp.Element{}) ^ 32)

	_ = -(unsafe.Sizeof(bls12381.G1Affine{}) ^ 96)
	_ = -(unsafe.Offsetof(bls12381.G1Affine{}.Y) ^ 48)
	_ = -(unsafe.Sizeof(bls12381.G2Affine{}) ^ 192)
	_ = -(unsafe.Offsetof(bls12381.G2Affine{}.Y) ^ 96)
	_ = -(unsafe.Offsetof(bls12381.G2Affine{}.X.A1) ^ 48)

	_ = -(unsafe.Sizeof(bn254.G1Affine{}) ^ 64)
	_ = -(unsafe.Offsetof(bn254.G1Affine{}.Y) ^ 32)
	_ = -(unsafe.Sizeof(bn254.G2Affine{}) ^ 128)
	_ = -(unsafe.Offsetof(bn254.G2Affine{}.Y) ^ 64)
	_ = -(unsafe.Offsetof(bn254.G2Affine{}.X.A1) ^ 32)
)

// FieldOf returns the field of the elements.
func FieldOf[E Element]() gpuexec.Field {
	switch any(*new(E)).(type) {
	case blsfr.Element:
		return gpuexec.BLS12381Fr
	case blsfp.Element:
		return gpuexec.BLS12381Fq
	case bnfr.Element:
		return gpuexec.BN254Fr
	default:
		return gpuexec.BN254Fq
	}
}

// CurveOf returns the curve of the points.
func CurveOf[P Point]() gpuexec.Curve {
	switch any(*new(P)).(type) {
	case bls12381.G1Affine:
		return gpuexec.BLS12381G1
	case bls12381.G2Affine:
		return gpuexec.BLS12381G2
	case bn254.G1Affine:
		return gpuexec.BN254G1
	default:
		return gpuexec.BN254G2
	}
}

// Host is the memory of elements or points as an operand. Nothing is copied.
func Host[T Element | Point](values []T) gpuexec.Operand {
	limbs := len(values) * int(unsafe.Sizeof(*new(T))) / 8
	return gpuexec.Host(unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(values))), limbs))
}

// Add is the job out[i] = a[i] + b[i]. Run it, alone or with others, by Context.Run or Submit.
func Add[E Element](out, a, b []E) gpuexec.Job { return binary(gpuexec.Add, out, a, b) }

// Sub is the job out[i] = a[i] - b[i].
func Sub[E Element](out, a, b []E) gpuexec.Job { return binary(gpuexec.Sub, out, a, b) }

// Mul is the job out[i] = a[i] * b[i].
func Mul[E Element](out, a, b []E) gpuexec.Job { return binary(gpuexec.Mul, out, a, b) }

// Div is the job out[i] = a[i] / b[i], or 0 if b[i] is 0.
func Div[E Element](out, a, b []E) gpuexec.Job { return binary(gpuexec.Div, out, a, b) }

// Inv is the job out[i] = 1 / a[i], or 0 if a[i] is 0: BatchInvert.
func Inv[E Element](out, a []E) gpuexec.Job {
	return gpuexec.Job{Op: gpuexec.Inv, Field: FieldOf[E](), A: Host(a), Out: Host(out)}
}

// ScalarMul is the job out[i] = a[i] * *b.
func ScalarMul[E Element](out, a []E, b *E) gpuexec.Job {
	job := binary(gpuexec.Mul, out, a, nil)
	job.B = broadcast(b)
	return job
}

// Sum is the job *out = a[0] + a[1] + ...
func Sum[E Element](out *E, a []E) gpuexec.Job {
	return gpuexec.Job{Op: gpuexec.Sum, Field: FieldOf[E](), A: Host(a), Out: Host(one(out))}
}

// InnerProduct is the job *out = a[0] * b[0] + a[1] * b[1] + ...
func InnerProduct[E Element](out *E, a, b []E) gpuexec.Job {
	return gpuexec.Job{Op: gpuexec.Dot, Field: FieldOf[E](), A: Host(a), B: Host(b), Out: Host(one(out))}
}

func binary[E Element](op gpuexec.Op, out, a, b []E) gpuexec.Job {
	return gpuexec.Job{Op: op, Field: FieldOf[E](), A: Host(a), B: Host(b), Out: Host(out)}
}

func one[T any](value *T) []T { return unsafe.Slice(value, 1) }

func broadcast[E Element](e *E) gpuexec.Operand {
	if unsafe.Sizeof(*e) == 48 {
		return gpuexec.HostBroadcast((*[6]uint64)(unsafe.Pointer(e)))
	}
	return gpuexec.HostBroadcast((*[4]uint64)(unsafe.Pointer(e)))
}

// Decimation is the order of transforms, as in gnark-crypto.
type Decimation uint8

const (
	DIT Decimation = iota // input in bit-reversed order, output in natural order
	DIF                   // input in natural order, output in bit-reversed order
)

// Option of a transform.
type Option uint8

// OnCoset does a transform over the coset of the domain.
const OnCoset Option = 1

// Domain does transforms as fft.Domain of gnark-crypto does, with the same roots and shift.
type Domain[E Scalar] struct {
	ctx    *gpuexec.Context
	domain *gpuexec.Domain
	log2   int
}

// NewDomain makes a domain of the smallest power of two that is at least m.
func NewDomain[E Scalar](ctx *gpuexec.Context, m uint64) (*Domain[E], error) {
	return newDomain[E](ctx, m, gpuexec.Operand{})
}

// NewDomainWithShift is NewDomain with another shift of the coset.
func NewDomainWithShift[E Scalar](ctx *gpuexec.Context, m uint64, shift E) (*Domain[E], error) {
	return newDomain[E](ctx, m, Host(one(&shift)))
}

func newDomain[E Scalar](ctx *gpuexec.Context, m uint64, shift gpuexec.Operand) (*Domain[E], error) {
	log2 := 0
	if m > 1 {
		log2 = bits.Len64(m - 1)
	}
	domain, err := ctx.NewDomain(gpuexec.DomainConfig{Field: FieldOf[E](), Log2Size: log2, Shift: shift})
	if err != nil {
		return nil, err
	}
	return &Domain[E]{ctx: ctx, domain: domain, log2: log2}, nil
}

// Close destroys the domain, once the jobs that use it are done.
func (d *Domain[E]) Close() error { return d.domain.Close() }

// Cardinality returns the size of the domain.
func (d *Domain[E]) Cardinality() uint64 { return 1 << d.log2 }

// FFT computes the values of a polynomial from its coefficients, in place.
func (d *Domain[E]) FFT(ctx context.Context, a []E, decimation Decimation, options ...Option) error {
	return d.ctx.Run(ctx, d.Job(a, false, decimation, options...))
}

// FFTInverse computes the coefficients from the values, in place.
func (d *Domain[E]) FFTInverse(ctx context.Context, a []E, decimation Decimation, options ...Option) error {
	return d.ctx.Run(ctx, d.Job(a, true, decimation, options...))
}

// Job is the transform of a, in place, as a job.
func (d *Domain[E]) Job(a []E, inverse bool, decimation Decimation, options ...Option) gpuexec.Job {
	params := gpuexec.NTTParams{
		Domain:      d.domain,
		Log2N:       d.log2,
		Inverse:     inverse,
		ReversedIn:  decimation == DIT,
		ReversedOut: decimation != DIT,
	}
	for _, o := range options {
		params.Coset = params.Coset || o == OnCoset
	}
	// N is the size of the domain, so that another length is refused, not done as a batch.
	memory := Host(a)
	return gpuexec.Job{Op: gpuexec.NTT, Field: FieldOf[E](), N: 1 << d.log2, A: memory, Out: memory, NTT: &params}
}

// Points are points that sums are computed with repeatedly. The library keeps a copy of them.
type Points[P Point] struct {
	ctx    *gpuexec.Context
	points *gpuexec.Points
}

// NewPoints checks that the points are on the curve, and copies them.
func NewPoints[P Point](ctx *gpuexec.Context, points []P) (*Points[P], error) {
	return NewPointsWith(ctx, points, gpuexec.PointsConfig{})
}

// NewPointsWith is NewPoints with other checks, or with memory for tables: Check and TableBytes of
// the config.
func NewPointsWith[P Point](ctx *gpuexec.Context, points []P, config gpuexec.PointsConfig) (*Points[P], error) {
	config.Curve, config.Form, config.Points = CurveOf[P](), gpuexec.XYMont, Host(points)
	p, err := ctx.NewPoints(config)
	if err != nil {
		return nil, err
	}
	return &Points[P]{ctx: ctx, points: p}, nil
}

// Close destroys the points, once the jobs that use them are done.
func (p *Points[P]) Close() error { return p.points.Close() }

// Len returns how many points there are.
func (p *Points[P]) Len() int { return p.points.Len() }

// MultiExp computes scalars[0] * points[0] + scalars[1] * points[1] + ... There may be fewer scalars
// than points. The scalars are a slice of fr.Element of the curve.
func MultiExp[P Point, E Scalar](ctx context.Context, points *Points[P], scalars []E) (P, error) {
	var sum P
	job, err := MultiExpJob(&sum, points, scalars)
	if err == nil {
		err = points.ctx.Run(ctx, job)
	}
	return sum, err
}

// MultiExpJob is MultiExp as a job.
func MultiExpJob[P Point, E Scalar](sum *P, points *Points[P], scalars []E) (gpuexec.Job, error) {
	if want := CurveOf[P]().ScalarField(); want != FieldOf[E]() {
		return gpuexec.Job{}, fmt.Errorf("gnark: scalars of %v, and points of %v", FieldOf[E](), CurveOf[P]())
	}
	if len(scalars) > points.Len() {
		return gpuexec.Job{}, fmt.Errorf("gnark: %d scalars, and %d points", len(scalars), points.Len())
	}
	return gpuexec.Job{
		Op: gpuexec.MSM, Field: FieldOf[E](), A: Host(scalars), Out: Host(one(sum)),
		MSM: &gpuexec.MSMParams{
			Points: points.points, Count: len(scalars),
			ScalarForm: gpuexec.ScalarMont, ResultForm: gpuexec.XYMont,
		},
	}, nil
}
