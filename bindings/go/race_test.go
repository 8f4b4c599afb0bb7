// SPDX-License-Identifier: Apache-2.0

//go:build race

package gpuexec

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The race detector finds a program that uses the memory of a ticket too early: this one, run again.
func TestRaceIsFound(t *testing.T) {
	const again = "GPUEXEC_TEST_RACE"
	if what := os.Getenv(again); what != "" {
		x := open(t, &Config{Device: "cpu"})
		a, out := make([]fr, 1<<12), make([]fr, 1<<12)
		ticket, err := x.Submit(background, Job{Op: Inv, Field: BN254Fr, A: Host(a), Out: Host(out)})
		check(t, err)
		switch what {
		case "read":
			a[0] = out[0]
		case "write":
			a[1000] = fr{1}
		case "none":
			_ = a[0] // others may read what it reads
		}
		check(t, ticket.Wait())
		out[0] = a[0]
		return
	}
	for what, want := range map[string]bool{"read": true, "write": true, "none": false} {
		command := exec.Command(os.Args[0], "-test.run=^TestRaceIsFound$")
		command.Env = append(os.Environ(), again+"="+what)
		output, err := command.CombinedOutput()
		if found := strings.Contains(string(output), "DATA RACE"); found != want || (err != nil) != want {
			t.Errorf("%s: %v\n%s", what, err, output)
		}
	}
}
