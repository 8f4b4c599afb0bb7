// SPDX-License-Identifier: Apache-2.0

package gpuexec

import (
	"context"
	"testing"
	"time"
	"unsafe"
)

// A call that panics has let go of everything: Close returns, and others get the memory.

// returns fails if something does not return, long after it should have.
func returns(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal(what + " does not return")
	}
}

// panics reports whether f does.
func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// openOnly opens a context that the end of the test does not close, and so does not wait for.
func openOnly(t *testing.T) *Context {
	x, err := Open(&Config{Device: "cpu", CacheDir: "none"})
	check(t, err)
	return x
}

// usable fails if something still has the memory or the context, which it closes.
func usable(t *testing.T, x *Context, memory []fr) {
	t.Helper()
	other := openOnly(t)
	returns(t, "a call on the same memory", func() {
		if err := other.Run(background, Job{Op: Neg, Field: BN254Fr, A: Host(memory), Out: Host(memory)}); err != nil {
			t.Error(err)
		}
		other.Close()
	})
	returns(t, "Close", func() { x.Close() })
}

// Objects that the package has not made.
func TestPanic(t *testing.T) {
	v := make([]fr, 4)
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	jobs := map[string]Job{
		"buffer": {Op: Neg, Field: BN254Fr, N: 4, A: Dev(&Buffer{}, 0), Out: Host(v)},
		"domain": {Op: NTT, Field: BN254Fr, A: Host(v), Out: Host(v), NTT: &NTTParams{Domain: &Domain{}, Log2N: 2}},
		"points": {Op: MSM, Field: BN254Fr, A: Host(v), Out: Host(make([]uint64, 8)), MSM: &MSMParams{Points: &Points{}}},
	}
	for name, job := range jobs {
		// When it panics, the first one has been prepared.
		good := Job{Op: Neg, Field: BN254Fr, A: Host(v), Out: Host(v)}
		for call, f := range map[string]func(x *Context){
			"Run":             func(x *Context) { x.Run(background, good, job) },
			"Run, cancelable": func(x *Context) { x.Run(ctx, good, job) },
			"RunWith":         func(x *Context) { x.RunWith(background, Options{}, good, job) },
			"Submit":          func(x *Context) { x.Submit(background, good, job) },
			"SubmitWith":      func(x *Context) { x.SubmitWith(ctx, Options{}, good, job) },
		} {
			t.Run(name+" "+call, func(t *testing.T) {
				x := openOnly(t)
				if !panics(func() { f(x) }) {
					t.Error("it does not panic")
				}
				usable(t, x, v)
			})
		}
	}
	t.Run("points in a buffer", func(t *testing.T) {
		x := openOnly(t)
		config := PointsConfig{Curve: BN254G1, Form: XYMont, Points: Dev(&Buffer{}, 0), Count: 1}
		if !panics(func() { x.NewPoints(config) }) {
			t.Error("it does not panic")
		}
		usable(t, x, v)
	})
}

// trap is a context that may panic when it is used, by the goroutine that makes the call.
type trap struct {
	context.Context
	use  func()
	last func() // when it is no longer needed: by Run in that goroutine, by others in another one
}

func (c *trap) Done() <-chan struct{} {
	c.use()
	return c.Context.Done()
}

func (c *trap) Err() error {
	c.use()
	return c.Context.Err()
}

func (c *trap) Value(any) any {
	c.use()
	return nil
}

// AfterFunc is what context.AfterFunc then calls.
func (c *trap) AfterFunc(f func()) (stop func() bool) {
	c.use()
	inner := context.AfterFunc(c.Context, f)
	return func() bool {
		c.last()
		return inner()
	}
}

// The context panics at its first use, its second, and so on.
func TestPanicInContext(t *testing.T) {
	for _, name := range []string{"Run", "Submit"} {
		t.Run(name, func(t *testing.T) {
			panicked := 0
			for more := true; more; {
				x := openOnly(t)
				v := make([]fr, 4)
				job := Job{Op: Neg, Field: BN254Fr, A: Host(v), Out: Host(v)}
				inner, cancel := context.WithCancel(background)
				left := panicked
				use := func() {
					if left--; left == -1 {
						panic("no context")
					}
				}
				more = panics(func() {
					if name == "Run" {
						x.Run(&trap{inner, use, use}, job)
					} else {
						x.Submit(&trap{inner, use, func() {}}, job)
					}
				})
				if more {
					panicked++
				}
				usable(t, x, v)
				cancel()
			}
			if panicked < 4 { // before it begins, while it is submitted, and after that
				t.Errorf("it panicked %d times", panicked)
			}
		})
	}
}

// The context panics while a call waits for memory.
func TestPanicWhileWaiting(t *testing.T) {
	x := openOnly(t)
	v := make([]fr, 4)
	at := uintptr(unsafe.Pointer(&v[0]))
	user := access{spans: []span{{from: at, to: at + 128, writes: true}}}
	check(t, user.begin(background))
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	awaited := func() bool {
		accesses.Lock()
		defer accesses.Unlock()
		return user.done != nil
	}
	if !panics(func() {
		x.Run(&trap{ctx, func() {
			if awaited() {
				panic("no context")
			}
		}, func() {}}, Job{Op: Neg, Field: BN254Fr, A: Host(v), Out: Host(v)})
	}) {
		t.Error("it does not panic")
	}
	user.end()
	usable(t, x, v)
}
