// SPDX-License-Identifier: Apache-2.0

package gnark_test

import (
	"context"
	"fmt"
	"log"

	"gpuexec"
	"gpuexec/gnark"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
)

// Products, a transform and a commitment, with the types of gnark-crypto.
func Example() {
	gx, err := gpuexec.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gx.Close()

	a, b := make(fr.Vector, 1024), make(fr.Vector, 1024)
	a.MustSetRandom()
	b.MustSetRandom()
	product := make(fr.Vector, len(a))
	if err = gx.Run(context.Background(), gnark.Mul(product, a, b)); err != nil {
		log.Fatal(err)
	}
	want := make(fr.Vector, len(a))
	want.Mul(a, b)
	fmt.Println("products are those of gnark-crypto:", product.Equal(want))
	// Output: products are those of gnark-crypto: true
}

func ExampleDomain_FFT() {
	gx, err := gpuexec.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gx.Close()

	domain, err := gnark.NewDomain[fr.Element](gx, 1<<12) // fft.NewDomain(1 << 12)
	if err != nil {
		log.Fatal(err)
	}
	defer domain.Close()
	a := make(fr.Vector, 1<<12)
	a.MustSetRandom()
	want := append(fr.Vector{}, a...)
	if err = domain.FFT(context.Background(), a, gnark.DIF); err != nil { // domain.FFT(a, fft.DIF)
		log.Fatal(err)
	}
	fft.NewDomain(1<<12).FFT(want, fft.DIF)
	fmt.Println("values are those of gnark-crypto:", a.Equal(want))
	// Output: values are those of gnark-crypto: true
}

func ExampleMultiExp() {
	gx, err := gpuexec.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer gx.Close()

	scalars := make(fr.Vector, 500)
	scalars.MustSetRandom()
	_, _, g, _ := bls12381.Generators()
	srs := bls12381.BatchScalarMultiplicationG1(&g, scalars) // points of a setup

	points, err := gnark.NewPoints(gx, srs) // once: checked and copied to where they are used
	if err != nil {
		log.Fatal(err)
	}
	defer points.Close()
	sum, err := gnark.MultiExp(context.Background(), points, scalars)
	if err != nil {
		log.Fatal(err)
	}
	var want bls12381.G1Affine
	if _, err = want.MultiExp(srs, scalars, ecc.MultiExpConfig{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("the sum is that of gnark-crypto:", sum.Equal(&want))
	// Output: the sum is that of gnark-crypto: true
}
