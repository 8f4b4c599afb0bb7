// SPDX-License-Identifier: Apache-2.0
//
// bench/peers: gnark-crypto, by its vectors (AVX-512 where it has that for the field), its batch
// inverse, which allocates its result, its transforms, which are in place: repeated, they go on
// with their results, and its sums of points, of scalars in Montgomery form. The protocol is in ../adaptor.h.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc"
	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	blsfp "github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	blsfr "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	bnfr "github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

// vector is what the vectors of all fields can do.
type vector[E any, V ~[]E] interface {
	*V
	Add(a, b V)
	Mul(a, b V)
}

// part computes some elements, and says where they are.
type part[E any] func(out, a, b []E) []E

// whole transforms all elements, with so many threads.
type whole[E any] func(out []E, threads int)

// loaded holds operands, whichever kind they are of.
type loaded interface {
	choose(op string, threads int) bool
	repeat(times int)
	write(path string) error
	release()
}

type arrays[E any] struct {
	a, b, out []E
	results   [][]E
	ops       map[string]part[E]
	chosen    part[E]
	wholes    map[string]whole[E]
	whole     whole[E]
	threads   int
}

func operations[E any, V ~[]E, P vector[E, V]](invert func([]E) []E) map[string]part[E] {
	return map[string]part[E]{
		"add": func(out, a, b []E) []E { v := V(out); P(&v).Add(V(a), V(b)); return out },
		"mul": func(out, a, b []E) []E { v := V(out); P(&v).Mul(V(a), V(b)); return out },
		"inv": func(_, a, _ []E) []E { return invert(a) },
	}
}

// transforms are gnark's own from natural to bit-reversed order, with a permutation after it or not.
func transforms(n int) map[string]whole[blsfr.Element] {
	domain := fft.NewDomain(uint64(n))
	reversed := func(out []blsfr.Element, threads int) {
		domain.FFT(out, fft.DIF, fft.WithNbTasks(threads))
	}
	return map[string]whole[blsfr.Element]{
		"ntt-nr": reversed,
		"ntt-nn": func(out []blsfr.Element, threads int) {
			reversed(out, threads)
			fft.BitReverse(out)
		},
	}
}

func (x *arrays[E]) choose(op string, threads int) bool {
	x.chosen, x.whole, x.threads = x.ops[op], x.wholes[op], threads
	x.results = make([][]E, threads)
	if x.whole != nil {
		copy(x.out, x.a)
		x.results = [][]E{x.out}
	}
	return x.chosen != nil || x.whole != nil
}

func (x *arrays[E]) once(k int) {
	from, to := len(x.a)*k/len(x.results), len(x.a)*(k+1)/len(x.results)
	x.results[k] = x.chosen(x.out[from:to], x.a[from:to], x.b[from:to])
}

func (x *arrays[E]) repeat(times int) {
	for ; times > 0; times-- {
		if x.whole != nil {
			x.whole(x.out, x.threads)
			continue
		}
		if len(x.results) == 1 {
			x.once(0)
			continue
		}
		var group sync.WaitGroup
		for k := range x.results {
			group.Add(1)
			go func() { x.once(k); group.Done() }()
		}
		group.Wait()
	}
}

func (x *arrays[E]) write(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	for _, r := range x.results {
		if _, err = file.Write(asBytes(r)); err != nil {
			break
		}
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

func (x *arrays[E]) release() {
	for _, array := range [][]E{x.a, x.b, x.out} {
		syscall.Munmap(asBytes(array))
	}
}

func asBytes[E any](x []E) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}

// newArray has huge pages asked for, as in every adaptor.
func newArray[E any](n int) ([]E, error) {
	var e E
	memory, err := syscall.Mmap(-1, 0, n*int(unsafe.Sizeof(e)), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	syscall.Madvise(memory, 14) // MADV_HUGEPAGE; without it, it is only slower
	return unsafe.Slice((*E)(unsafe.Pointer(&memory[0])), n), nil
}

func readArray[E any](n int, path string) ([]E, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	array, err := newArray[E](n)
	if err != nil {
		return nil, err
	}
	for to := asBytes(array); len(to) > 0; {
		to = to[copy(to, file):]
	}
	return array, nil
}

func load[E any](n int, a, b string, ops map[string]part[E]) (loaded, error) {
	x := &arrays[E]{ops: ops}
	var err error
	if x.a, err = readArray[E](n, a); err != nil {
		return nil, err
	}
	if x.b, err = readArray[E](n, b); err != nil {
		return nil, err
	}
	x.out, err = newArray[E](n)
	clear(x.out) // touched, as in every adaptor
	return x, err
}

// loadFr is load with transforms, of sizes that are powers of two.
func loadFr(n int, a, b string) (loaded, error) {
	x, err := load(n, a, b, operations[blsfr.Element, blsfr.Vector](blsfr.BatchInvert))
	if err == nil && n&(n-1) == 0 {
		x.(*arrays[blsfr.Element]).wholes = transforms(n)
	}
	return x, err
}

// points holds the operands of sums, and their result.
type points struct {
	scalars []blsfr.Element
	points  []bls.G1Affine
	sum     []bls.G1Affine
	threads int
}

func (x *points) choose(op string, threads int) bool {
	x.threads = threads
	return op == "msm"
}

func (x *points) repeat(times int) {
	for ; times > 0; times-- {
		x.sum[0].MultiExp(x.points, x.scalars, ecc.MultiExpConfig{NbTasks: x.threads})
	}
}

func (x *points) write(path string) error {
	return os.WriteFile(path, asBytes(x.sum), 0o666)
}

func (x *points) release() {
	syscall.Munmap(asBytes(x.scalars))
	syscall.Munmap(asBytes(x.points))
}

// loadPoints reads plain scalars and points in Montgomery form.
func loadPoints(n int, a, b string) (loaded, error) {
	x := &points{sum: make([]bls.G1Affine, 1)}
	var err error
	if x.scalars, err = readArray[blsfr.Element](n, a); err != nil {
		return nil, err
	}
	for i := range x.scalars {
		plain := [blsfr.Bytes]byte(asBytes(x.scalars[i : i+1]))
		if x.scalars[i], err = blsfr.LittleEndian.Element(&plain); err != nil {
			return nil, err
		}
	}
	x.points, err = readArray[bls.G1Affine](n, b)
	return x, err
}

func loadKind(kind string, n int, a, b string) (loaded, error) {
	switch kind {
	case "bls12-381-fq":
		return load(n, a, b, operations[blsfp.Element, blsfp.Vector](blsfp.BatchInvert))
	case "bls12-381-fr":
		return loadFr(n, a, b)
	case "bls12-381-g1":
		return loadPoints(n, a, b)
	case "bn254-fr":
		return load(n, a, b, operations[bnfr.Element, bnfr.Vector](bnfr.BatchInvert))
	}
	return nil, nil
}

type adaptor struct {
	loaded loaded
	times  int
}

func (d *adaptor) load(kind string, n int, a, b string) string {
	if d.loaded != nil {
		d.loaded.release()
	}
	var err error
	if d.loaded, err = loadKind(kind, n, a, b); err != nil {
		return "failed " + err.Error()
	}
	if d.loaded == nil {
		return "no the adaptor of gnark-crypto lacks this kind"
	}
	return "ok"
}

func (d *adaptor) op(op string, threads int, path string) string {
	if !d.loaded.choose(op, threads) {
		return "no gnark-crypto does not have it"
	}
	runtime.GOMAXPROCS(threads)
	d.times = 1
	d.loaded.repeat(1)
	if err := d.loaded.write(path); err != nil {
		return "failed " + err.Error()
	}
	return "ok"
}

func (d *adaptor) time(ms float64) string {
	for ; ; d.times *= 2 {
		start := time.Now()
		d.loaded.repeat(d.times)
		if ns := time.Since(start).Nanoseconds(); float64(ns) >= ms*1e6 {
			return fmt.Sprintf("ok %d %d", d.times, ns)
		}
	}
}

func (d *adaptor) answer(line string) string {
	var x, a, b string
	var n, ignored int
	var ms float64
	const load = "load %s %d %d %d %d %s %s"
	if k, _ := fmt.Sscanf(line, load, &x, &n, &ignored, &ignored, &ignored, &a, &b); k == 7 {
		return d.load(x, n, a, b)
	}
	if d.loaded == nil {
		return "failed nothing loaded"
	}
	if k, _ := fmt.Sscanf(line, "op %s %d %s", &x, &n, &a); k == 3 {
		return d.op(x, n, a)
	}
	if k, _ := fmt.Sscanf(line, "time %f", &ms); k == 1 {
		return d.time(ms)
	}
	return "failed no such command"
}

func main() {
	var d adaptor
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(d.answer(lines.Text()))
	}
}
