// SPDX-License-Identifier: Apache-2.0

// Command bench measures gpuexec on the CPU beside gnark-crypto, in turns, on the same slices and
// with the same number of threads, and the time of the smallest call beside that of the same call
// in C.
package main

// #cgo pkg-config: gpuexec
// #include <time.h>
// #include <gpuexec.h>
//
// // ns of a call with one job of one element on "cpu", with a report.
// static double overhead(gx_ctx *ctx, int calls)
// {
//     uint64_t a[4] = {1}, b[4] = {2}, out[4];
//     struct timespec from, to;
//     gx_run_params opts = {.struct_size = sizeof opts, .device = "cpu"};
//     clock_gettime(CLOCK_MONOTONIC, &from);
//     for (int i = 0; i < calls; i++) {
//         gx_report report = {.struct_size = sizeof report};
//         gx_job job = {.op = GX_ADD, .field = GX_BLS12_381_FR, .n = 1,
//                       .a = gx_host(a), .b = gx_host(b), .out = gx_host(out)};
//         if (gx_run(ctx, &job, 1, &opts, &report) != GX_OK)
//             return -1;
//     }
//     clock_gettime(CLOCK_MONOTONIC, &to);
//     return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / calls;
// }
//
// // The same for a ticket: submitted, waited for, freed.
// static double ticket_overhead(gx_ctx *ctx, int calls)
// {
//     uint64_t a[4] = {1}, b[4] = {2}, out[4];
//     struct timespec from, to;
//     gx_run_params opts = {.struct_size = sizeof opts, .device = "cpu"};
//     clock_gettime(CLOCK_MONOTONIC, &from);
//     for (int i = 0; i < calls; i++) {
//         gx_report report = {.struct_size = sizeof report};
//         gx_job job = {.op = GX_ADD, .field = GX_BLS12_381_FR, .n = 1,
//                       .a = gx_host(a), .b = gx_host(b), .out = gx_host(out)};
//         gx_ticket *ticket;
//         if (gx_submit(ctx, &job, 1, &opts, &ticket) != GX_OK ||
//             gx_wait(ticket, UINT64_MAX, &report) != GX_OK)
//             return -1;
//         gx_ticket_destroy(&ticket);
//     }
//     clock_gettime(CLOCK_MONOTONIC, &to);
//     return ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) / calls;
// }
import "C"

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"gpuexec"
	"gpuexec/gnark"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
)

var background = context.Background()

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// times are those of the turns of one program.
type times []float64

func (t times) median() float64 {
	slices.Sort(t)
	return (t[(len(t)-1)/2] + t[len(t)/2]) / 2
}

func (t times) String() string {
	return fmt.Sprintf("%8.2f (%.2f to %.2f)", t.median(), slices.Min(t), slices.Max(t))
}

// turns measures two functions by turns, and prints a row of the table, in ms.
func turns(name string, count int, ours, theirs func()) {
	var a, b times
	ours()
	theirs()
	for range count {
		for _, one := range []struct {
			f func()
			t *times
		}{{ours, &a}, {theirs, &b}} {
			runtime.GC()
			start := time.Now()
			one.f()
			*one.t = append(*one.t, float64(time.Since(start).Nanoseconds())/1e6)
		}
	}
	fmt.Printf("%-38s %-30s %-30s %5.2f\n", name, a, b, b.median()/a.median())
}

func cpu() string {
	file, err := os.Open("/proc/cpuinfo")
	if err == nil {
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return runtime.GOARCH
}

func dependency(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == path {
				return d.Version
			}
		}
	}
	return "of unknown version"
}

// overhead prints the time of the smallest call from Go and in C, in ns.
func overhead(gx *gpuexec.Context, rounds int) {
	const calls = 1000 // in a row: short, so that other programs disturb few rounds
	var ctx *C.gx_ctx
	config := C.gx_config{struct_size: C.sizeof_gx_config, threads: 1}
	if C.gx_open(&config, &ctx) != C.GX_OK {
		log.Fatal("gx_open failed")
	}
	defer C.gx_close(&ctx)
	a, b, out := make(fr.Vector, 1), make(fr.Vector, 1), make(fr.Vector, 1)
	options := gpuexec.Options{Device: "cpu"}
	measure := func(f func()) float64 {
		start := time.Now()
		for range calls {
			f()
		}
		return float64(time.Since(start).Nanoseconds()) / calls
	}
	run := func() {
		_, err := gx.RunWith(background, options, gnark.Add(out, a, b))
		must(err)
	}
	named, err := gpuexec.Open(&gpuexec.Config{Device: "cpu", Threads: 1})
	must(err)
	defer named.Close()
	plain := func() { must(named.Run(background, gnark.Add(out, a, b))) }
	ticket := func() {
		t, err := gx.SubmitWith(background, options, gnark.Add(out, a, b))
		must(err)
		must(t.Wait())
	}
	cancellable, cancel := context.WithCancel(background)
	defer cancel()
	runTicket := func() { must(named.Run(cancellable, gnark.Add(out, a, b))) }
	var inC, inGo, withReports, ticketC, ticketRun, ticketGo times
	for range rounds {
		inC = append(inC, float64(C.overhead(ctx, calls)))
		inGo = append(inGo, measure(plain))
		withReports = append(withReports, measure(run))
		ticketC = append(ticketC, float64(C.ticket_overhead(ctx, calls)))
		ticketRun = append(ticketRun, measure(runTicket))
		ticketGo = append(ticketGo, measure(ticket))
	}
	fmt.Printf("\nOne element, ns per call (median of %d, range):\n", rounds)
	fmt.Printf("%-38s %v\n", "gx_run, C", inC)
	fmt.Printf("%-38s %v, over C: %.0f\n", "Context.Run", inGo, inGo.median()-inC.median())
	fmt.Printf("%-38s %v, over C: %.0f\n", "Context.RunWith, with the report", withReports, withReports.median()-inC.median())
	fmt.Printf("%-38s %v\n", "gx_submit and gx_wait, C", ticketC)
	fmt.Printf("%-38s %v, over C: %.0f\n", "Run, with a context to cancel it", ticketRun, ticketRun.median()-ticketC.median())
	fmt.Printf("%-38s %v, over C: %.0f\n", "Submit and Wait", ticketGo, ticketGo.median()-ticketC.median())
}

func main() {
	threads := flag.Int("threads", 1, "of each program")
	count := flag.Int("turns", 7, "of each program")
	flag.Parse()
	runtime.GOMAXPROCS(*threads)
	gx, err := gpuexec.Open(&gpuexec.Config{Device: "cpu", Threads: *threads})
	must(err)
	defer gx.Close()

	fmt.Printf("CPU: %s; threads: %d\n", cpu(), *threads)
	fmt.Printf("gpuexec %s, gnark-crypto %s, %s\n\n", gpuexec.Version(), dependency("github.com/consensys/gnark-crypto"), runtime.Version())
	fmt.Printf("BLS12-381, ms: median of %d turns (lowest to highest)\n", *count)
	fmt.Printf("%-38s %-30s %-30s %s\n", "", "gpuexec", "gnark-crypto", "ratio")

	const n = 1 << 16
	_, _, g, _ := bls12381.Generators()
	scalars := make(fr.Vector, n)
	scalars.MustSetRandom()
	srs := bls12381.BatchScalarMultiplicationG1(&g, scalars)
	scalars.MustSetRandom()
	points, err := gnark.NewPoints(gx, srs)
	must(err)
	var sum, want bls12381.G1Affine
	theirs := func() {
		_, err := want.MultiExp(srs, scalars, ecc.MultiExpConfig{NbTasks: *threads})
		must(err)
	}
	turns("MSM of 2^16 in G1", *count, func() {
		sum, err = gnark.MultiExp(background, points, scalars)
		must(err)
	}, theirs)
	if !sum.Equal(&want) {
		log.Fatal("the sums differ")
	}
	turns("  and points checked, copied each time", *count, func() {
		p, err := gnark.NewPoints(gx, srs)
		must(err)
		sum, err = gnark.MultiExp(background, p, scalars)
		must(err)
		must(p.Close())
	}, theirs)

	const m = 1 << 20
	a := make(fr.Vector, m)
	a.MustSetRandom()
	b := slices.Clone(a)
	domain, err := gnark.NewDomain[fr.Element](gx, m)
	must(err)
	peer := fft.NewDomain(m)
	turns("NTT of 2^20, DIF", *count,
		func() { must(domain.FFT(background, a, gnark.DIF)) },
		func() { peer.FFT(b, fft.DIF, fft.WithNbTasks(*threads)) })
	turns("  inverse, DIT", *count,
		func() { must(domain.FFTInverse(background, a, gnark.DIT)) },
		func() { peer.FFTInverse(b, fft.DIT, fft.WithNbTasks(*threads)) })
	if !slices.Equal(a, b) {
		log.Fatal("the transforms differ")
	}
	runtime.GOMAXPROCS(runtime.NumCPU())
	overhead(gx, 10**count)
}
