// SPDX-License-Identifier: Apache-2.0

package gpuexec

// #include <gpuexec.h>
import "C"

import (
	"errors"
	"fmt"
	"runtime"
)

// ErrClosed is returned for a context, buffer, domain or points that were closed.
var ErrClosed = errors.New("gpuexec: used after Close")

// Status is what kind of failure an [Error] is: errors.Is(err, gpuexec.ErrNotCanonical).
type Status int32

const (
	ErrInvalid           Status = C.GX_ERR_INVALID
	ErrOverlap           Status = C.GX_ERR_OVERLAP
	ErrNotCanonical      Status = C.GX_ERR_NOT_CANONICAL
	ErrUnsupported       Status = C.GX_ERR_UNSUPPORTED
	ErrNoDevice          Status = C.GX_ERR_NO_DEVICE
	ErrOutOfMemory       Status = C.GX_ERR_OUT_OF_MEMORY
	ErrOutOfDeviceMemory Status = C.GX_ERR_OUT_OF_DEVICE_MEMORY
	ErrDeviceLost        Status = C.GX_ERR_DEVICE_LOST
	ErrDevice            Status = C.GX_ERR_DEVICE
	ErrNotRun            Status = C.GX_ERR_NOT_RUN
	ErrTimeout           Status = C.GX_ERR_TIMEOUT
	ErrCancelled         Status = C.GX_ERR_CANCELLED
	ErrFile              Status = C.GX_ERR_FILE
)

func (s Status) Error() string { return C.GoString(C.gx_status_message(C.gx_status(s))) }

// String returns the name of the status in C, such as GX_ERR_INVALID.
func (s Status) String() string { return C.GoString(C.gx_status_name(C.gx_status(s))) }

// Error is a failure that the library, or the check of a call before it, has reported.
type Error struct {
	Status  Status
	Message string // what went wrong, where, and what to do about it
	Job     int    // number of the job in its call; -1: not about one job
	Operand byte   // 'a', 'b' or 'c' if Index is about an operand, else 0
	Index   int64  // of the first bad element or point; -1: not about one
}

func (e *Error) Error() string {
	text := e.Message
	if text == "" {
		text = e.Status.Error()
	}
	if e.Job >= 0 {
		return fmt.Sprintf("gpuexec: job %d: %s", e.Job, text)
	}
	return "gpuexec: " + text
}

// Is makes errors.Is compare the status.
func (e *Error) Is(target error) bool {
	s, ok := target.(Status)
	return ok && s == e.Status
}

func invalid(format string, args ...any) *Error {
	return &Error{Status: ErrInvalid, Message: fmt.Sprintf(format, args...), Job: -1, Index: -1}
}

// attempt makes a call, and gets its message from the thread that it was made on.
func attempt(call func() C.gx_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if s := call(); s != C.GX_OK {
		return &Error{Status: Status(s), Message: C.GoString(C.gx_last_message()), Job: -1, Index: -1}
	}
	return nil
}
