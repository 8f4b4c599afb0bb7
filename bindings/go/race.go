// SPDX-License-Identifier: Apache-2.0

//go:build race

package gpuexec

import (
	"runtime"
	"unsafe"
)

// The race detector does not see what C reads and writes: tell it.

const raceEnabled = true

func raceRead(p unsafe.Pointer, bytes int)  { runtime.RaceReadRange(p, bytes) }
func raceWrite(p unsafe.Pointer, bytes int) { runtime.RaceWriteRange(p, bytes) }
