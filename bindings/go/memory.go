// SPDX-License-Identifier: Apache-2.0

package gpuexec

// #include <stdlib.h>
// #include <gpuexec.h>
//
// // With numbers for pointers to memory of Go, as in image.h.
// static gx_status gxgo_buf_write(gx_buf *buf, size_t offset, uintptr_t from, size_t bytes)
// {
//     return gx_buf_write(buf, offset, (const void *)from, bytes);
// }
//
// static gx_status gxgo_buf_read(gx_buf *buf, size_t offset, uintptr_t to, size_t bytes)
// {
//     return gx_buf_read(buf, offset, (void *)to, bytes);
// }
//
// static gx_status gxgo_domain_root(const gx_domain *domain, uint32_t log2_n, uintptr_t to)
// {
//     return gx_domain_root(domain, log2_n, (void *)to);
// }
//
// static gx_status gxgo_points_read(const gx_points *points, size_t first, size_t count,
//                                   gx_point_form form, uintptr_t to)
// {
//     return gx_points_read(points, first, count, form, (void *)to);
// }
import "C"

import (
	"context"
	"runtime"
	"unsafe"
)

// Buffer is memory on a device.
type Buffer struct {
	child  *child
	ctx    *Context // not closed before the buffer is
	ptr    *C.gx_buf
	bytes  int
	device string
}

// NewBuffer makes a buffer on the named device ("": chosen as for a job) with unspecified contents.
func (x *Context) NewBuffer(device string, bytes int) (*Buffer, error) {
	if bytes < 0 {
		return nil, invalid("a buffer of %d bytes", bytes)
	}
	if err := x.enter(); err != nil {
		return nil, err
	}
	defer x.leave()
	var name *C.char
	if device != "" {
		name = C.CString(device)
		defer C.free(unsafe.Pointer(name))
	}
	var ptr *C.gx_buf
	err := attempt(func() C.gx_status {
		return C.gx_buf_create(x.ptr, name, C.size_t(bytes), 0, &ptr)
	})
	if err != nil {
		return nil, err
	}
	b := &Buffer{ctx: x, ptr: ptr, bytes: bytes, device: C.GoString(C.gx_buf_device(ptr))}
	b.child = x.adopt(func() { C.gx_buf_destroy(&ptr) })
	runtime.AddCleanup(b, (*child).close, b.child)
	return b, nil
}

// Close destroys the buffer, once the jobs that use it are done. It may be called repeatedly.
func (b *Buffer) Close() error {
	b.child.close()
	return nil
}

// Len returns the size in bytes.
func (b *Buffer) Len() int { return b.bytes }

// Device returns the name of the device.
func (b *Buffer) Device() string { return b.device }

// Write copies host memory into the buffer, from byte offset on.
func (b *Buffer) Write(offset int, from Operand) error { return b.copy(offset, from, true) }

// Read copies the buffer, from byte offset on, into host memory.
func (b *Buffer) Read(offset int, to Operand) error { return b.copy(offset, to, false) }

func (b *Buffer) copy(offset int, host Operand, write bool) error {
	if host.buf != nil {
		return invalid("copies of a buffer are from and to host memory")
	}
	if offset < 0 || offset > b.bytes || host.bytes > b.bytes-offset {
		return invalid("%d bytes at offset %d of a buffer of %d", host.bytes, offset, b.bytes)
	}
	err := b.child.enter()
	runtime.KeepAlive(b)
	if err != nil {
		return err
	}
	defer b.child.leave()
	if host.bytes == 0 {
		return nil
	}
	at := uintptr(offset)
	onBuffer := span{in: b.child, from: at, to: at + uintptr(host.bytes), writes: write}
	return withHost(&host, !write, []span{onBuffer}, func(address C.uintptr_t) C.gx_status {
		if write {
			return C.gxgo_buf_write(b.ptr, C.size_t(offset), address, C.size_t(host.bytes))
		}
		return C.gxgo_buf_read(b.ptr, C.size_t(offset), address, C.size_t(host.bytes))
	})
}

// withHost makes a call that takes the address of host memory, once nothing else is in conflict with
// what it uses: that memory and the other spans.
func withHost(host *Operand, writes bool, others []span, call func(address C.uintptr_t) C.gx_status) error {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(host.host)
	use := access{spans: append(others, hostSpan(host, writes))}
	if err := use.begin(context.Background()); err != nil {
		return err
	}
	defer use.end()
	return attempt(func() C.gx_status { return call(address(host.host)) })
}

// Domain is what transforms are over: a root of unity, and the shift of a coset.
type Domain struct {
	child *child
	ctx   *Context
	ptr   *C.gx_domain
	field Field
}

// DomainConfig describes a domain. Root and Shift are single elements in host memory, in Montgomery
// form. Without them the domain has the root of gnark-crypto and its shift, the generator of the
// multiplicative group.
type DomainConfig struct {
	Field    Field
	Log2Size int // of the largest transform
	Root     Operand
	Shift    Operand
}

// NewDomain makes a domain.
func (x *Context) NewDomain(config DomainConfig) (*Domain, error) {
	if config.Log2Size < 0 || config.Log2Size > 63 {
		return nil, invalid("Log2Size is %d", config.Log2Size)
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	desc := &C.gx_domain_params{
		struct_size: C.sizeof_gx_domain_params,
		field:       C.gx_field(config.Field),
		log2_size:   C.uint32_t(config.Log2Size),
	}
	for _, o := range []struct {
		to   *unsafe.Pointer
		from Operand
	}{{&desc.root, config.Root}, {&desc.shift, config.Shift}} {
		if o.from == (Operand{}) {
			continue
		}
		if o.from.buf != nil || o.from.bytes != config.Field.Bytes() {
			return nil, invalid("Root and Shift are one element in host memory")
		}
		pinner.Pin(o.from.host)
		*o.to = o.from.host
	}
	if err := x.enter(); err != nil {
		return nil, err
	}
	defer x.leave()
	var ptr *C.gx_domain
	err := attempt(func() C.gx_status { return C.gx_domain_create(x.ptr, desc, &ptr) })
	if err != nil {
		return nil, err
	}
	d := &Domain{ctx: x, ptr: ptr, field: config.Field}
	d.child = x.adopt(func() { C.gx_domain_destroy(&ptr) })
	runtime.AddCleanup(d, (*child).close, d.child)
	return d, nil
}

// Close destroys the domain, once the jobs that use it are done. It may be called repeatedly.
func (d *Domain) Close() error {
	d.child.close()
	return nil
}

// RootInto writes the root of unity of order 2^log2N to one element of host memory.
func (d *Domain) RootInto(log2N int, to Operand) error {
	if log2N < 0 || log2N > 63 || to.buf != nil || to.bytes != d.field.Bytes() {
		return invalid("a root is one element in host memory, of order 2^%d", log2N)
	}
	err := d.child.enter()
	runtime.KeepAlive(d)
	if err != nil {
		return err
	}
	defer d.child.leave()
	return withHost(&to, true, nil, func(address C.uintptr_t) C.gx_status {
		return C.gxgo_domain_root(d.ptr, C.uint32_t(log2N), address)
	})
}

// Points are points of a curve that jobs use repeatedly. The library has its own copy of them.
type Points struct {
	child *child
	ctx   *Context
	ptr   *C.gx_points
	curve Curve
	count int
}

// PointsConfig describes points.
type PointsConfig struct {
	Curve      Curve
	Form       PointForm
	Points     Operand // in host memory or a buffer
	Count      int     // of a buffer; host memory: 0, or as many as it has
	Stride     int     // bytes from one point to the next; 0: there is nothing between them
	FlagOffset int     // byte of each point that is not 0 for infinity; 0: there is none
	Check      PointCheck
	TableBytes uint64 // most memory of a device for multiples of the points, which make jobs faster
}

// NewPoints reads, checks and copies the points. Index of its error is that of the first bad one.
func (x *Context) NewPoints(config PointsConfig) (*Points, error) {
	stride := config.Stride
	if stride == 0 {
		stride = config.Form.Bytes(config.Curve)
	}
	if stride <= 0 {
		return nil, invalid("%v has no points of form %v and stride %d", config.Curve, config.Form, config.Stride)
	}
	count, o := config.Count, config.Points
	if o.buf == nil {
		count = o.bytes / stride
		if o.bytes%stride != 0 || (config.Count != 0 && config.Count != count) {
			return nil, invalid("Points has %d bytes, which are not Count %d of stride %d", o.bytes, config.Count, stride)
		}
	}
	if count < 0 || o.offset < 0 || config.FlagOffset < 0 {
		return nil, invalid("Count is %d, the offset %d, FlagOffset %d", count, o.offset, config.FlagOffset)
	}
	var pinner runtime.Pinner
	defer pinner.Unpin()
	desc := &C.gx_points_params{
		struct_size: C.sizeof_gx_points_params,
		curve:       C.gx_curve(config.Curve),
		form:        C.gx_point_form(config.Form),
		count:       C.size_t(count),
		stride:      C.size_t(config.Stride),
		flag_offset: C.size_t(config.FlagOffset),
		check:       C.gx_point_check(config.Check),
		table_bytes: C.uint64_t(config.TableBytes),
	}
	if err := x.enter(); err != nil {
		return nil, err
	}
	defer x.leave()
	use := access{spans: []span{hostSpan(&o, false)}}
	if o.buf != nil {
		err := o.buf.child.enter()
		runtime.KeepAlive(o.buf)
		if err != nil {
			return nil, err
		}
		defer o.buf.child.leave()
		desc.buf, desc.offset = o.buf.ptr, C.size_t(o.offset)
		use.spans[0] = span{in: o.buf.child, to: uintptr(o.buf.bytes)}
	} else if o.bytes > 0 {
		pinner.Pin(o.host)
		desc.points = o.host
	}
	if err := use.begin(context.Background()); err != nil {
		return nil, err
	}
	defer use.end()
	var ptr *C.gx_points
	bad := C.uint64_t(C.UINT64_MAX)
	err := attempt(func() C.gx_status { return C.gx_points_create(x.ptr, desc, &ptr, &bad) })
	if err != nil {
		if bad != C.UINT64_MAX {
			err.(*Error).Index = int64(bad)
		}
		return nil, err
	}
	p := &Points{ctx: x, ptr: ptr, curve: config.Curve, count: count}
	p.child = x.adopt(func() { C.gx_points_destroy(&ptr) })
	runtime.AddCleanup(p, (*child).close, p.child)
	return p, nil
}

// Close destroys the points, once the jobs that use them are done. It may be called repeatedly.
func (p *Points) Close() error {
	p.child.close()
	return nil
}

// Len returns how many points there are.
func (p *Points) Len() int { return p.count }

// Curve returns the curve of the points.
func (p *Points) Curve() Curve { return p.curve }

// Read writes the points from first on, in any form that the curve has, to host memory: as many as
// there is room for.
func (p *Points) Read(first int, form PointForm, to Operand) error {
	bytes := form.Bytes(p.curve)
	if bytes == 0 {
		return invalid("%v has no points of form %v", p.curve, form)
	}
	if to.buf != nil || to.bytes%bytes != 0 {
		return invalid("points of %d bytes are read to host memory for several of them", bytes)
	}
	count := to.bytes / bytes
	if first < 0 || first > p.count || count > p.count-first {
		return invalid("points %d to %d of %d", first, first+count, p.count)
	}
	err := p.child.enter()
	runtime.KeepAlive(p)
	if err != nil || count == 0 {
		if err == nil {
			p.child.leave()
		}
		return err
	}
	defer p.child.leave()
	return withHost(&to, true, nil, func(address C.uintptr_t) C.gx_status {
		return C.gxgo_points_read(p.ptr, C.size_t(first), C.size_t(count), C.gx_point_form(form), address)
	})
}
