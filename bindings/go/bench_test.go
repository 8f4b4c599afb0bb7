// SPDX-License-Identifier: Apache-2.0

package gpuexec

import "testing"

// The smallest call. gnark/bench has it beside the same in C.
func BenchmarkRun(b *testing.B) {
	x := open(b, &Config{Device: "cpu", Threads: 1})
	u, v, out := make([]fr, 1), make([]fr, 1), make([]fr, 1)
	b.ReportAllocs()
	for b.Loop() {
		check(b, x.Run(background, Job{Op: Add, Field: BLS12381Fr, A: Host(u), B: Host(v), Out: Host(out)}))
	}
}
