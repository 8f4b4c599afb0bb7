// SPDX-License-Identifier: Apache-2.0

package gpuexec

// #include <stdint.h>
import "C"

import "runtime/cgo"

// Called by threads of the library, or by the thread of a call.

// The function of the user runs on a goroutine of its own, so that neither a panic nor
// runtime.Goexit, which t.Fatal is, unwinds the C frames below.
//
//export gxgoLog
func gxgoLog(user C.uintptr_t, level C.uint32_t, message *C.char) {
	s := cgo.Handle(user).Value().(*state)
	text := C.GoString(message)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.logMu.Lock()
		defer s.logMu.Unlock()
		defer func() {
			if what := recover(); what != nil && s.logPanic == nil {
				s.logPanic = what
			}
		}()
		s.log(LogLevel(level), text)
	}()
	<-done
}

// It must not block, and the ticket cannot be freed here: another goroutine does the rest.
//
//export gxgoDone
func gxgoDone(user C.uintptr_t) {
	handle := cgo.Handle(user)
	t := handle.Value().(*ticket)
	handle.Delete()
	go t.finish()
}
