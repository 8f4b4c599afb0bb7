// SPDX-License-Identifier: Apache-2.0

//go:build !race

package gpuexec

import "unsafe"

const raceEnabled = false

func raceRead(unsafe.Pointer, int)  {}
func raceWrite(unsafe.Pointer, int) {}
