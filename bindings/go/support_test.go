// SPDX-License-Identifier: Apache-2.0

package gpuexec

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// The oracle is math/big, with moduli as in the definitions of the curves.

type fr [4]uint64

var moduli = map[Field]*big.Int{
	BLS12381Fr: hexadecimal("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"),
	BN254Fr:    hexadecimal("30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001"),
}

func hexadecimal(s string) *big.Int {
	x, ok := new(big.Int).SetString(s, 16)
	if !ok {
		panic(s)
	}
	return x
}

func (x fr) plain() *big.Int {
	v := new(big.Int)
	for i := 3; i >= 0; i-- {
		v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(x[i]))
	}
	return v
}

func limbs(v *big.Int) (x fr) {
	for i := range x {
		x[i] = new(big.Int).Rsh(v, uint(64*i)).Uint64()
	}
	return x
}

// value is the element that x is the Montgomery form of, and form the inverse of that.
func value(x fr, p *big.Int) *big.Int {
	r := new(big.Int).Lsh(big.NewInt(1), 256)
	v := x.plain()
	return v.Mul(v, r.ModInverse(r, p)).Mod(v, p)
}

func form(v *big.Int, p *big.Int) fr {
	x := new(big.Int).Lsh(v, 256)
	return limbs(x.Mod(x, p))
}

func random(n int, p *big.Int) []fr {
	x := make([]fr, n)
	for i := range x {
		v := fr{rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64()}.plain()
		x[i] = limbs(v.Mod(v, p))
	}
	return x
}

func open(t testing.TB, config *Config) *Context {
	t.Helper()
	if config == nil {
		config = &Config{}
	}
	if config.CacheDir == "" {
		config.CacheDir = "none"
	}
	x, err := Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// onDevices runs a test on the CPU, and on the first Vulkan device if there is one.
func onDevices(t *testing.T, test func(t *testing.T, x *Context, device string)) {
	x := open(t, nil)
	devices, err := x.Devices()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, d := range devices {
		if d.Usable && (d.Name == "cpu" || d.Name == "vulkan:0") {
			found++
			t.Run(strings.ReplaceAll(d.Name, ":", "-"), func(t *testing.T) { test(t, x, d.Name) })
		}
	}
	if found == 0 {
		t.Fatal("there is no device")
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
