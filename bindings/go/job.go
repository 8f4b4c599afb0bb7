// SPDX-License-Identifier: Apache-2.0

package gpuexec

// #include "image.h"
//
// // The sizes that the operands of each job have to have: out, a, b, c.
// static void gxgo_sizes(const gxgo_job *jobs, size_t njobs, size_t *sizes)
// {
//     for (size_t i = 0; i < njobs; i++)
//         for (size_t k = 0; k < 4; k++)
//             *sizes++ = gx_operand_bytes(&gxgo_jobs(jobs)[i], "oabc"[k]);
// }
import "C"

import (
	"context"
	"runtime"
	"unsafe"
)

// Element is what host memory may consist of: limbs of elements, such as fr.Element of gnark-crypto,
// or encoded points. None of these has pointers, which the library would overwrite.
type Element interface {
	~[4]uint64 | ~[6]uint64 | ~[8]uint64 | ~[12]uint64 | ~[24]uint64 |
		~[32]byte | ~[48]byte | ~[96]byte | ~byte | ~uint32 | ~uint64 | ~float32
}

// Operand is the memory of an operand of a job: of a slice or of a buffer. The zero value is for
// operands that the operation does not use.
type Operand struct {
	host      unsafe.Pointer
	bytes     int // of host memory
	buf       *Buffer
	offset    int
	broadcast bool
}

// Host is the memory of a slice, which is neither copied nor converted. The slice must have exactly
// the size that the job needs. Leave it alone until the job is done.
func Host[T Element](elements []T) Operand {
	return Operand{
		host:  unsafe.Pointer(unsafe.SliceData(elements)),
		bytes: len(elements) * int(unsafe.Sizeof(*new(T))),
	}
}

// HostBroadcast is a single element that is used for all.
func HostBroadcast[T Element](element *T) Operand {
	return Operand{host: unsafe.Pointer(element), bytes: int(unsafe.Sizeof(*element)), broadcast: true}
}

// Dev is memory of a buffer from byte offset on. The size of such a job is Job.N.
func Dev(buf *Buffer, offset int) Operand { return Operand{buf: buf, offset: offset} }

// DevBroadcast is a single element in a buffer that is used for all.
func DevBroadcast(buf *Buffer, offset int) Operand {
	return Operand{buf: buf, offset: offset, broadcast: true}
}

// Job is one operation on vectors: Out[i] = Op(A[i], B[i], C[i]) for most.
type Job struct {
	Op    Op
	Field Field
	// Number of elements: of A for Sum, Dot, Evaluate and MSM, of Out for others. 0: as many as
	// that operand has, which then is host memory.
	N            int
	A, B, C, Out Operand
	// Inputs are below the modulus, and indices in range: they are not checked.
	Unchecked bool

	NTT  *NTTParams  // of NTT
	MSM  *MSMParams  // of MSM
	Poly *PolyParams // of Evaluate, Rotate, Cosets, Gather, Interleave and Deinterleave
}

// NTTParams says which transforms a job does.
type NTTParams struct {
	Domain      *Domain
	Log2N       int // 2^Log2N elements per transform
	Log2Pad     int // A has 2^(Log2N - Log2Pad) of each; the others are 0
	Inverse     bool
	Coset       bool
	ReversedIn  bool // A is in bit-reversed order
	ReversedOut bool // Out is
	Columns     bool // the transforms are the columns of a matrix
}

// MSMParams says which sums a job computes: one for each Count scalars of A.
type MSMParams struct {
	Points       *Points
	First, Count int // of the points; the sum of none is infinity
	ScalarForm   ScalarForm
	ScalarBits   int       // ScalarPlain: bits from this one on are ignored; 0: 256
	ResultForm   PointForm // of Out
}

// PolyParams has the parameters of the operations on polynomials.
type PolyParams struct {
	Count    uint64
	Reversed bool // Evaluate: A is in bit-reversed order
}

// Options say where and how jobs run. The zero value leaves it to the library.
type Options struct {
	Device     string // "": chosen by the policy
	Path       Path
	Mode       Mode
	Policy     Policy
	Candidates bool // reports have the devices that were considered
}

type params struct {
	ntt  C.gx_ntt_params
	msm  C.gx_msm_params
	poly C.gx_poly_params
}

// call is what a call passes to the library: structs of C in Go memory, with addresses of Go memory
// that is pinned until end.
type call struct {
	state      *state
	jobs       []C.gxgo_job
	params     []params
	sizes      []C.size_t
	reports    []C.gx_report
	candidates []C.gx_candidate
	opts       C.gx_run_params
	device     []byte
	pinner     runtime.Pinner
	children   []*child
	access     access
	accessing  bool
}

// resize returns a slice of n zeros, in the memory of s if there is enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// begin checks the jobs, and returns when the library may have them. If it fails or panics, as on a
// Domain that NewDomain has not made, it has called end.
func (c *call) begin(ctx context.Context, x *Context, opts *Options, jobs []Job) error {
	if err := x.enter(); err != nil {
		return err
	}
	c.state = x.state
	defer func() {
		if !c.accessing {
			c.end()
		}
	}()
	err := c.prepare(opts, jobs)
	runtime.KeepAlive(jobs) // and with them buffers, until they were entered
	if err == nil {
		err = c.access.begin(ctx)
		c.accessing = err == nil
	}
	return err
}

// end releases everything.
func (c *call) end() {
	if c.accessing {
		c.access.end()
		c.accessing = false
	}
	// What stays pointed to memory that is no longer pinned, and may be passed to C again.
	for i := range c.reports {
		c.reports[i].candidate = nil
	}
	c.opts = C.gx_run_params{}
	clear(c.access.spans)
	c.access.spans = c.access.spans[:0]
	c.pinner.Unpin()
	for _, child := range c.children {
		child.leave()
	}
	clear(c.children)
	c.children = c.children[:0]
	c.state.leave()
	c.state = nil
}

func (c *call) prepare(opts *Options, jobs []Job) error {
	c.jobs = resize(c.jobs, len(jobs))
	c.params = resize(c.params, len(jobs))
	c.sizes = resize(c.sizes, 4*len(jobs))
	c.prepareOptions(opts)
	c.prepareReports(opts.Candidates)
	for i := range jobs {
		if err := c.prepareJob(i, &jobs[i]); err != nil {
			return err
		}
	}
	if len(jobs) > 0 {
		C.gxgo_sizes(&c.jobs[0], C.size_t(len(jobs)), &c.sizes[0])
	}
	for i := range jobs {
		if err := c.prepareMemory(i, &jobs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) prepareOptions(opts *Options) {
	c.opts = C.gx_run_params{
		struct_size: C.sizeof_gx_run_params,
		path:        C.gx_path(opts.Path),
		mode:        C.gx_mode(opts.Mode),
		policy:      C.gx_policy(opts.Policy),
	}
	if opts.Device != "" {
		c.device = append(append(c.device[:0], opts.Device...), 0)
		c.pinner.Pin(&c.device[0])
		c.opts.device = (*C.char)(unsafe.Pointer(&c.device[0]))
	}
}

func (c *call) prepareReports(candidates bool) {
	c.reports = resize(c.reports, len(c.jobs))
	for i := range c.reports {
		c.reports[i].struct_size = C.sizeof_gx_report
	}
	c.candidates = c.candidates[:0]
	if candidates && len(c.jobs) > 0 {
		c.candidates = resize(c.candidates, len(c.jobs)*C.GX_CANDIDATES_MAX)
		c.pinner.Pin(&c.candidates[0])
		for i := range c.reports {
			first := &c.candidates[i*C.GX_CANDIDATES_MAX]
			first.struct_size = C.sizeof_gx_candidate
			c.reports[i].candidate = first
			c.reports[i].candidate_room = C.GX_CANDIDATES_MAX
		}
	}
}

func failed(job int, format string, args ...any) error {
	err := invalid(format, args...)
	err.Job = job
	return err
}

// use keeps an object open until end.
func (c *call) use(child *child) error {
	if err := child.enter(); err != nil {
		return err
	}
	c.children = append(c.children, child)
	return nil
}

// prepareJob fills in all but the sizes.
func (c *call) prepareJob(i int, job *Job) error {
	to := &c.jobs[i]
	to.op, to.field = C.gx_op(job.Op), C.gx_field(job.Field)
	if job.Unchecked {
		to.flags = C.GX_JOB_UNCHECKED
	}
	for _, o := range [4]struct {
		to   *C.gxgo_operand
		from *Operand
	}{{&to.out, &job.Out}, {&to.a, &job.A}, {&to.b, &job.B}, {&to.c, &job.C}} {
		if err := c.prepareOperand(i, o.to, o.from); err != nil {
			return err
		}
	}
	n := job.N
	if n == 0 {
		var err error
		if n, err = job.count(i); err != nil {
			return err
		}
	}
	if n < 0 {
		return failed(i, "N is %d", n)
	}
	to.n = C.size_t(n)
	return c.prepareParams(i, job)
}

// count returns how many elements the operand has that is the size of the job.
func (job *Job) count(i int) (int, error) {
	o, name := &job.Out, "Out"
	if job.Op.countsInput() {
		o, name = &job.A, "A"
	}
	if o.buf != nil {
		return 0, failed(i, "N is 0, and %s is a buffer: set N", name)
	}
	bytes := job.Field.Bytes()
	if bytes == 0 {
		return 0, nil // for the library to refuse
	}
	if o.bytes%bytes != 0 {
		return 0, failed(i, "%s has %d bytes, no multiple of %d, the size of an element", name, o.bytes, bytes)
	}
	return o.bytes / bytes, nil
}

func (c *call) prepareOperand(i int, to *C.gxgo_operand, from *Operand) error {
	if from.broadcast {
		to.broadcast = 1
	}
	if from.buf != nil {
		if from.offset < 0 {
			return failed(i, "offset is %d", from.offset)
		}
		to.buf, to.offset = address(unsafe.Pointer(from.buf.ptr)), C.size_t(from.offset)
		return c.use(from.buf.child)
	}
	if from.host != nil {
		c.pinner.Pin(from.host)
		to.host = address(from.host)
	}
	return nil
}

// address hides a pointer from cgo. What it points to is pinned, or memory of C.
func address(p unsafe.Pointer) C.uintptr_t { return C.uintptr_t(uintptr(p)) }

func flag(set bool, bit C.uint32_t) C.uint32_t {
	if set {
		return bit
	}
	return 0
}

func (c *call) prepareParams(i int, job *Job) error {
	p := &c.params[i]
	var to unsafe.Pointer
	switch {
	case (job.NTT != nil) != (job.Op == NTT), (job.MSM != nil) != (job.Op == MSM):
		return failed(i, "NTT and MSM take the parameters of their name, and nothing else does")
	case job.NTT != nil:
		q := job.NTT
		if q.Domain == nil {
			return failed(i, "NTT.Domain is nil")
		}
		if err := c.use(q.Domain.child); err != nil {
			return err
		}
		if q.Log2N < 0 || q.Log2N > 63 || q.Log2Pad < 0 || q.Log2Pad > 63 {
			return failed(i, "Log2N is %d and Log2Pad is %d", q.Log2N, q.Log2Pad)
		}
		p.ntt = C.gx_ntt_params{
			struct_size: C.sizeof_gx_ntt_params,
			domain:      q.Domain.ptr,
			log2_n:      C.uint32_t(q.Log2N),
			log2_pad:    C.uint32_t(q.Log2Pad),
			flags: flag(q.Inverse, C.GX_NTT_INVERSE) | flag(q.Coset, C.GX_NTT_COSET) |
				flag(q.ReversedIn, C.GX_NTT_REVERSED_IN) |
				flag(q.ReversedOut, C.GX_NTT_REVERSED_OUT) | flag(q.Columns, C.GX_NTT_COLUMNS),
		}
		to = unsafe.Pointer(&p.ntt)
	case job.MSM != nil:
		q := job.MSM
		if q.Points == nil {
			return failed(i, "MSM.Points is nil")
		}
		if err := c.use(q.Points.child); err != nil {
			return err
		}
		if q.First < 0 || q.Count < 0 || q.First > q.Points.count || q.Count > q.Points.count-q.First {
			return failed(i, "First is %d and Count is %d of %d points", q.First, q.Count, q.Points.count)
		}
		if q.ScalarBits < 0 || q.ScalarBits > 256 {
			return failed(i, "ScalarBits is %d", q.ScalarBits)
		}
		p.msm = C.gx_msm_params{
			struct_size: C.sizeof_gx_msm_params,
			points:      q.Points.ptr,
			first:       C.size_t(q.First),
			count:       C.size_t(q.Count),
			scalar_form: C.gx_scalar_form(q.ScalarForm),
			scalar_bits: C.uint32_t(q.ScalarBits),
			result_form: C.gx_point_form(q.ResultForm),
		}
		to = unsafe.Pointer(&p.msm)
	case job.Poly != nil:
		p.poly = C.gx_poly_params{
			struct_size: C.sizeof_gx_poly_params,
			count:       C.uint64_t(job.Poly.Count),
			flags:       flag(job.Poly.Reversed, C.GX_POLY_REVERSED),
		}
		to = unsafe.Pointer(&p.poly)
	default:
		return nil
	}
	c.pinner.Pin(to)
	c.jobs[i].params = address(to)
	return nil
}

// prepareMemory compares the slices with what the job needs, and notes what it reads and writes.
func (c *call) prepareMemory(i int, job *Job) error {
	for k, o := range [4]*Operand{&job.Out, &job.A, &job.B, &job.C} {
		needs := uintptr(c.sizes[4*i+k])
		if o.buf != nil {
			from := uintptr(o.offset)
			c.access.spans = append(c.access.spans, span{in: o.buf.child, from: from, to: from + needs, writes: k == 0})
			continue
		}
		if o.broadcast && c.jobs[i].n == 0 {
			continue // it is there, and not used
		}
		if uintptr(o.bytes) != needs {
			if C.gx_op_exists(C.gx_op(job.Op), C.gx_field(job.Field)) == 0 {
				return nil // for the library to refuse
			}
			return failed(i, "%s has %d bytes, and %s of %d elements takes %d",
				[4]string{"Out", "A", "B", "C"}[k], o.bytes, job.Op, c.jobs[i].n, needs)
		}
		if needs > 0 {
			c.access.spans = append(c.access.spans, hostSpan(o, k == 0))
		}
	}
	return nil
}
