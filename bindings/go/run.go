// SPDX-License-Identifier: Apache-2.0

package gpuexec

// #include "image.h"
//
// static gx_status gxgo_run(gx_ctx *ctx, const gxgo_job *jobs, size_t njobs, const gx_run_params *opts,
//                           gx_report *reports)
// {
//     return gx_run(ctx, gxgo_jobs(jobs), njobs, opts, reports);
// }
//
// static gx_status gxgo_submit(gx_ctx *ctx, const gxgo_job *jobs, size_t njobs,
//                              const gx_run_params *opts, gx_ticket **ticket)
// {
//     return gx_submit(ctx, gxgo_jobs(jobs), njobs, opts, ticket);
// }
//
// void gxgoDone(uintptr_t user);
//
// static void gxgo_done(void *user, gx_ticket *ticket)
// {
//     (void)ticket;
//     gxgoDone((uintptr_t)user);
// }
//
// static gx_status gxgo_notify(gx_ticket *ticket, uintptr_t handle)
// {
//     return gx_notify(ticket, gxgo_done, (void *)handle);
// }
import "C"

import (
	"context"
	"math"
	"runtime"
	"runtime/cgo"
	"sync"
	"sync/atomic"
	"time"
)

var calls = sync.Pool{New: func() any { return new(call) }}

// Run runs the jobs as if one after the other, and returns when all are done. If ctx is cancelled,
// jobs that have not begun are dropped; one that has begun is completed first, because the library
// is using its memory. Then, unless all jobs were done, Run returns the error of ctx. With a ctx
// that cannot be cancelled, such as context.Background(), the calling thread does the work.
func (x *Context) Run(ctx context.Context, jobs ...Job) error {
	_, err := x.run(ctx, Options{}, false, jobs)
	return err
}

// RunWith is Run with options. There is a report for each job, also after an error, unless the jobs
// were refused before they reached the library.
func (x *Context) RunWith(ctx context.Context, opts Options, jobs ...Job) ([]Report, error) {
	return x.run(ctx, opts, true, jobs)
}

func (x *Context) run(ctx context.Context, opts Options, report bool, jobs []Job) ([]Report, error) {
	if ctx.Done() != nil {
		t, err := x.submit(ctx, opts, jobs, true)
		if err != nil {
			return nil, err
		}
		if t.finish(); report {
			return t.call.goReports(), t.err
		}
		return nil, t.err
	}
	c := calls.Get().(*call)
	defer calls.Put(c)
	if err := c.begin(ctx, x, &opts, jobs); err != nil {
		return nil, err
	}
	defer c.end()
	var err error
	if len(jobs) > 0 {
		s := C.gxgo_run(c.state.ptr, &c.jobs[0], C.size_t(len(jobs)), &c.opts, &c.reports[0])
		err = c.failure(s)
	}
	if report {
		return c.goReports(), err
	}
	return nil, err
}

// failure makes the error of a call from its reports.
func (c *call) failure(s C.gx_status) error {
	if s == C.GX_OK {
		return nil
	}
	for i := range c.reports {
		r := &c.reports[i]
		if r.status != s {
			continue
		}
		err := &Error{Status: Status(s), Message: C.GoString(&r.message[0]), Job: i, Index: -1}
		if r.bad_operand != 0 {
			err.Operand, err.Index = byte(r.bad_operand), int64(r.bad_index)
		}
		return err
	}
	return &Error{Status: Status(s), Job: -1, Index: -1}
}

// Ticket stands for jobs that were submitted. Their memory is kept, and not moved, until they are
// done and somebody has noticed: Wait, Done, a call that needs the memory, Close, or, if the ticket is
// dropped, the garbage collector.
type Ticket struct{ *ticket }

// ticket is finished once, by whoever has set taken: a goroutine that waits in C, or one that the
// library starts, which takes microseconds longer.
type ticket struct {
	ctx   context.Context
	stop  func() bool // does not cancel any more; nil: nothing does
	done  chan struct{}
	state *state
	call  *call
	taken atomic.Bool

	mu  sync.Mutex // ptr is not freed
	ptr *C.gx_ticket
	err error
}

// Goroutines that wait in C, each with a thread of its own, and most of them.
var waiting atomic.Int32

const mostWaiting = 16

// Submit hands the jobs to threads of the library. They run as if one after the other, but those
// of different tickets in any order, except that a ticket that would write memory that another one
// uses, or read what it writes, waits for it: then, and while the queue is full, Submit blocks.
// When ctx is cancelled, so is the ticket.
func (x *Context) Submit(ctx context.Context, jobs ...Job) (*Ticket, error) {
	return x.SubmitWith(ctx, Options{}, jobs...)
}

// SubmitWith is Submit with options.
func (x *Context) SubmitWith(ctx context.Context, opts Options, jobs ...Job) (*Ticket, error) {
	t, err := x.submit(ctx, opts, jobs, false)
	if err != nil {
		return nil, err
	}
	handle := &Ticket{t}
	runtime.AddCleanup(handle, (*ticket).watch, t)
	return handle, nil
}

// submit makes a ticket, which the caller finishes if it has taken it.
func (x *Context) submit(ctx context.Context, opts Options, jobs []Job, taken bool) (*ticket, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := new(call)
	if err := c.begin(ctx, x, &opts, jobs); err != nil {
		return nil, err
	}
	t := &ticket{ctx: ctx, done: make(chan struct{}), state: c.state, call: c}
	letGo := c.end // after an error, and if ctx panics
	defer func() {
		if letGo != nil {
			letGo()
		}
	}()
	err := attempt(func() C.gx_status {
		var first *C.gxgo_job
		if len(c.jobs) > 0 {
			first = &c.jobs[0]
		}
		return C.gxgo_submit(t.state.ptr, first, C.size_t(len(c.jobs)), &c.opts, &t.ptr)
	})
	if err != nil {
		return nil, err
	}
	letGo = t.watch // not before the jobs are done
	if ctx.Done() != nil {
		t.stop = context.AfterFunc(ctx, t.cancel)
	}
	letGo = nil
	t.taken.Store(taken)
	// From here on others find it; those that have looked before are waiting for it. The race
	// detector has to see the jobs on a goroutine that did not begin after the caller's next steps.
	if c.access.submitted(t) || t.state.closing() || raceEnabled {
		t.watch()
	}
	return t, nil
}

// watch has the library start a goroutine that finishes the ticket, unless somebody does already. It
// does not wait.
func (t *ticket) watch() {
	if !t.taken.CompareAndSwap(false, true) {
		return
	}
	handle := cgo.NewHandle(t)
	if C.gxgo_notify(t.ptr, C.uintptr_t(handle)) != C.GX_OK {
		handle.Delete()
		go t.finish()
	}
}

// finish waits until the ticket is done, frees it, and lets go of the memory.
func (t *ticket) finish() {
	c := t.call
	var first *C.gx_report
	if len(c.reports) > 0 {
		first = &c.reports[0]
	}
	s := C.gx_wait(t.ptr, math.MaxUint64, first)
	defer close(t.done)
	defer c.end()
	if t.stop != nil {
		t.stop()
	}
	t.mu.Lock()
	C.gx_ticket_destroy(&t.ptr)
	t.mu.Unlock()
	t.err = c.failure(s)
	if s == C.GX_ERR_CANCELLED && t.ctx.Err() != nil {
		t.err = t.ctx.Err()
	}
	c.access.race()
}

// Done is closed when the jobs are done and the library no longer uses their memory.
func (t *Ticket) Done() <-chan struct{} {
	t.watch()
	return t.done
}

// Wait waits for that, and returns what Run would have returned. It may be called repeatedly, and by
// several goroutines at once.
func (t *Ticket) Wait() error {
	t.wait()
	return t.err
}

func (t *ticket) wait() {
	t.finishHere()
	t.watch()
	<-t.done
}

// finishHere finishes the ticket, unless somebody does already or too many wait.
func (t *ticket) finishHere() {
	defer waiting.Add(-1)
	if waiting.Add(1) <= mostWaiting && t.taken.CompareAndSwap(false, true) {
		t.finish()
	}
}

// Cancel drops the jobs that have not begun: unless there were none, Wait then returns
// ErrCancelled. It does not wait.
func (t *Ticket) Cancel() { t.cancel() }

func (t *ticket) cancel() {
	t.mu.Lock()
	defer t.mu.Unlock()
	C.gx_cancel(t.ptr)
}

// Reports waits until the jobs are done, and returns a report for each.
func (t *Ticket) Reports() []Report {
	t.wait()
	return t.call.goReports()
}

// Report says where and how a job ran. The C header says more.
type Report struct {
	Status      error // nil, or a Status
	Message     string
	Device      string
	Reason      Reason
	Path        Path
	Mode        Mode
	Threads     int
	Dispatches  int
	Groups      int
	Submits     int
	CommandHits int
	Sampled     uint32
	BadOperand  byte  // 'a', 'b' or 'c'; 0: BadIndex is not valid
	BadIndex    int64 // -1: not about an element
	Queued      time.Duration
	Total       time.Duration
	HostIn      time.Duration
	OnDevice    time.Duration
	HostOut     time.Duration
	Upload      time.Duration
	Compute     time.Duration
	Download    time.Duration
	Record      time.Duration
	SubmitCalls time.Duration
	Candidates  []Candidate // with Options.Candidates
}

// Candidate is a device that was considered for a job, and the outcome.
type Candidate struct {
	Device    string
	Predicted time.Duration // for the whole job; 0: unknown
	Share     time.Duration // predicted for its share; 0: no share, or unknown
	Actual    time.Duration // of its share; 0: no share
	Elements  uint64
	Status    error // nil, or why another device completed its share
}

func statusError(s C.gx_status) error {
	if s == C.GX_OK {
		return nil
	}
	return Status(s)
}

func (c *call) goReports() []Report {
	reports := make([]Report, len(c.reports))
	for i := range reports {
		r := &c.reports[i]
		reports[i] = Report{
			Status:      statusError(r.status),
			Message:     C.GoString(&r.message[0]),
			Device:      C.GoString(&r.device[0]),
			Reason:      Reason(r.reason),
			Path:        Path(r.path),
			Mode:        Mode(r.mode),
			Threads:     int(r.threads),
			Dispatches:  int(r.dispatches),
			Groups:      int(r.groups),
			Submits:     int(r.submits),
			CommandHits: int(r.command_hits),
			Sampled:     uint32(r.sampled),
			BadIndex:    -1,
			Queued:      time.Duration(r.queued_ns),
			Total:       time.Duration(r.total_ns),
			HostIn:      time.Duration(r.host_in_ns),
			OnDevice:    time.Duration(r.device_ns),
			HostOut:     time.Duration(r.host_out_ns),
			Upload:      time.Duration(r.upload_ns),
			Compute:     time.Duration(r.compute_ns),
			Download:    time.Duration(r.download_ns),
			Record:      time.Duration(r.record_ns),
			SubmitCalls: time.Duration(r.submit_ns),
		}
		if r.bad_operand != 0 {
			reports[i].BadOperand, reports[i].BadIndex = byte(r.bad_operand), int64(r.bad_index)
		}
		if len(c.candidates) > 0 {
			given := min(int(r.candidates), C.GX_CANDIDATES_MAX)
			for _, d := range c.candidates[i*C.GX_CANDIDATES_MAX:][:given] {
				reports[i].Candidates = append(reports[i].Candidates, Candidate{
					Device:    C.GoString(&d.device[0]),
					Predicted: time.Duration(d.predicted_ns),
					Share:     time.Duration(d.share_ns),
					Actual:    time.Duration(d.actual_ns),
					Elements:  uint64(d.elements),
					Status:    statusError(d.status),
				})
			}
		}
	}
	runtime.KeepAlive(c)
	return reports
}
