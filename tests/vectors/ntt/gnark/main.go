// SPDX-License-Identifier: Apache-2.0
//
// Prints gnark.txt: ../README.md.

package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	blsfft "github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	bn "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	bnfft "github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"
)

const (
	whole = 4  // up to here, all elements
	last  = 18 // up to here, all kinds
)

var sizes = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 22}

type splitMix64 uint64

func (s *splitMix64) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// The words are the Montgomery form as it is.
func input[E ~[4]uint64](log2 int) []E {
	rng := splitMix64(log2)
	a := make([]E, 1<<log2)
	for i := range a {
		a[i] = E{rng.next(), rng.next(), rng.next(), rng.next() >> 3}
	}
	return a
}

func show[E ~[4]uint64](log2 int, a []E) string {
	var bytes []byte
	for _, e := range a {
		for _, word := range [4]uint64(e) {
			bytes = binary.LittleEndian.AppendUint64(bytes, word)
		}
	}
	if log2 <= whole {
		return "=" + hex.EncodeToString(bytes)
	}
	sum := sha256.Sum256(bytes)
	return hex.EncodeToString(sum[:])
}

// transform(inverse, coset, dit, a): in place.
func field[E ~[4]uint64](name string, domain func(log2 int) func(bool, bool, bool, []E)) {
	for _, log2 := range sizes {
		transform := domain(log2)
		for _, inverse := range []bool{false, true} {
			for _, coset := range []bool{false, true} {
				for _, dit := range []bool{false, true} {
					if log2 > last && (inverse != coset || inverse != dit) {
						continue
					}
					a := input[E](log2)
					transform(inverse, coset, dit, a)
					what, where, order := "forward", "-", "nr"
					if inverse {
						what = "inverse"
					}
					if coset {
						where = "coset"
					}
					if dit {
						order = "rn"
					}
					fmt.Println(name, what, where, order, log2, 0, show(log2, a))
				}
			}
		}
	}
}

func main() {
	field("bls12-381-fr", func(log2 int) func(bool, bool, bool, []bls.Element) {
		d := blsfft.NewDomain(1 << log2)
		return func(inverse, coset, dit bool, a []bls.Element) {
			run, decimation, options := d.FFT, blsfft.DIF, []blsfft.Option{}
			if inverse {
				run = d.FFTInverse
			}
			if dit {
				decimation = blsfft.DIT
			}
			if coset {
				options = append(options, blsfft.OnCoset())
			}
			run(a, decimation, options...)
		}
	})
	field("bn254-fr", func(log2 int) func(bool, bool, bool, []bn.Element) {
		d := bnfft.NewDomain(1 << log2)
		return func(inverse, coset, dit bool, a []bn.Element) {
			run, decimation, options := d.FFT, bnfft.DIF, []bnfft.Option{}
			if inverse {
				run = d.FFTInverse
			}
			if dit {
				decimation = bnfft.DIT
			}
			if coset {
				options = append(options, bnfft.OnCoset())
			}
			run(a, decimation, options...)
		}
	})
}
