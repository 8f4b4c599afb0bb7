// SPDX-License-Identifier: Apache-2.0

package gpuexec

import (
	"context"
	"sync"
	"unsafe"
)

// The library does not notice two calls that write the same memory at once. So each call enters
// here what it reads and writes, and waits for the calls before it that it is in conflict with.

// span is a range of bytes of a buffer, or of host memory.
type span struct {
	in       *child // the buffer; nil: host memory, by address
	from, to uintptr
	writes   bool
	host     unsafe.Pointer // from, of host memory: for the race detector
}

func hostSpan(o *Operand, writes bool) span {
	from := uintptr(o.host)
	return span{from: from, to: from + uintptr(o.bytes), writes: writes, host: o.host}
}

func (a span) conflicts(b span) bool {
	return (a.writes || b.writes) && a.in == b.in && a.from < b.to && b.from < a.to
}

// access is what one call uses. It waits only for those in front of it in the list, so there is
// always one that waits for none.
type access struct {
	spans      []span
	done       chan struct{} // made by the first that waits for it
	ticket     *ticket       // that was submitted, and has to be watched by those that wait
	prev, next *access
}

var accesses struct {
	sync.Mutex
	last *access
}

func (a *access) conflicts(b *access) bool {
	for _, x := range a.spans {
		for _, y := range b.spans {
			if x.conflicts(y) {
				return true
			}
		}
	}
	return false
}

// begin returns when no call before it is in conflict with it, or with the error of ctx. If it does
// not return nil, there is nothing to end.
func (a *access) begin(ctx context.Context) error {
	var waits []chan struct{}
	var tickets []*ticket
	accesses.Lock()
	for b := accesses.last; b != nil; b = b.prev {
		if a.conflicts(b) {
			if b.done == nil {
				b.done = make(chan struct{})
			}
			waits = append(waits, b.done)
			if b.ticket != nil {
				tickets = append(tickets, b.ticket)
			}
		}
	}
	a.prev, a.next, a.done, a.ticket = accesses.last, nil, nil, nil
	if a.prev != nil {
		a.prev.next = a
	}
	accesses.last = a
	accesses.Unlock()
	begun := false
	defer func() { // also if ctx panics
		if !begun {
			a.end()
		}
	}()
	for _, t := range tickets {
		t.watch()
	}
	for _, done := range waits {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	begun = true
	a.race()
	return nil
}

// race tells the race detector what is read and written.
func (a *access) race() {
	if !raceEnabled {
		return
	}
	for _, s := range a.spans {
		switch bytes := int(s.to - s.from); {
		case s.host == nil:
		case s.writes:
			raceWrite(s.host, bytes)
		default:
			raceRead(s.host, bytes)
		}
	}
}

func (a *access) end() {
	accesses.Lock()
	if a.prev != nil {
		a.prev.next = a.next
	}
	if a.next != nil {
		a.next.prev = a.prev
	} else {
		accesses.last = a.prev
	}
	a.prev, a.next, a.ticket = nil, nil, nil
	accesses.Unlock()
	if a.done != nil {
		close(a.done)
	}
}

// submitted says whose access it is, and reports whether a call waits for it already.
func (a *access) submitted(t *ticket) bool {
	accesses.Lock()
	defer accesses.Unlock()
	a.ticket = t
	return a.done != nil
}

// watch watches all tickets of the context, so that what they use is let go when they are done.
func (s *state) watch() {
	var tickets []*ticket
	accesses.Lock()
	for b := accesses.last; b != nil; b = b.prev {
		if b.ticket != nil && b.ticket.state == s {
			tickets = append(tickets, b.ticket)
		}
	}
	accesses.Unlock()
	for _, t := range tickets {
		t.watch()
	}
}
