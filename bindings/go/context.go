// SPDX-License-Identifier: Apache-2.0

// Package gpuexec runs batches of finite-field arithmetic, number-theoretic transforms and
// multi-scalar multiplications on the vector units of the CPU and on GPUs, through the C library
// of the same name. Slices of Go are used in place: nothing is copied or converted on the way.
//
// Everything may be used by any number of goroutines at once. Calls that would write memory that
// another call is using wait for it, in the order in which they were made. Objects have a Close
// method, which may be called at any time: what is in use is destroyed when it no longer is, and
// later use is [ErrClosed].
//
// The package gpuexec/gnark takes the types of gnark-crypto.
package gpuexec

// #cgo pkg-config: gpuexec
// #include <stdlib.h>
// #include <gpuexec.h>
//
// void gxgoLog(uintptr_t user, uint32_t level, char *message);
//
// static void gxgo_log(void *user, gx_log_level level, const char *message)
// {
//     gxgoLog((uintptr_t)user, level, (char *)message);
// }
//
// static void gxgo_set_log(gx_config *config, uintptr_t handle)
// {
//     config->log = gxgo_log;
//     config->log_user = (void *)handle;
// }
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/cgo"
	"sync"
	"unsafe"
)

// Config holds the settings of a context. Those left zero take their value from their environment
// variable, or their default; the C header says what they mean.
type Config struct {
	Device            string // for jobs that name none: one, or a comma-separated list
	Policy            Policy
	SampleEvery       uint64
	CPUMask           string
	Threads           int // most host threads of a job; 0: all cores
	Validate          bool
	DispatchElems     uint64
	Path              Path
	Mode              Mode
	StreamChunkElems  uint64
	DeviceMemory      uint64
	QueueJobs         uint64
	Trace             string
	WebGPUBackends    string
	WGPULibrary       string
	CUDALibrary       string
	CacheDir          string // "none": no cache files
	IgnoreEnvironment bool

	// Log gets the messages of the library, one at a time. It must not use the context. If it
	// panics, the message is dropped, and Close returns an error that says so.
	Log func(level LogLevel, message string)
}

// Context is an open library: devices, memory and threads, kept between calls. One per process is
// enough.
type Context struct{ *state }

// state is what calls in progress keep alive.
type state struct {
	mu     sync.Mutex
	idle   sync.Cond // calls is 0
	ptr    *C.gx_ctx
	calls  int
	closed bool
	gone   chan struct{} // closed at the end of Close
	owned  map[*child]struct{}

	log      func(LogLevel, string)
	logMu    sync.Mutex
	logPanic any
	logUser  cgo.Handle
}

// Version returns the version of the library, such as "0.1.0".
func Version() string { return C.GoString(C.gx_version()) }

// Open opens a context; config may be nil. No device is opened yet.
func Open(config *Config) (*Context, error) {
	if config == nil {
		config = &Config{}
	}
	if config.Threads < 0 {
		return nil, invalid("Threads is %d", config.Threads)
	}
	// In C memory, as is all it points to.
	c := (*C.gx_config)(C.calloc(1, C.sizeof_gx_config))
	if c == nil {
		return nil, &Error{Status: ErrOutOfMemory, Job: -1, Index: -1}
	}
	defer C.free(unsafe.Pointer(c))
	c.struct_size = C.sizeof_gx_config
	for _, text := range []struct {
		to   **C.char
		from string
	}{
		{&c.device, config.Device}, {&c.cpumask, config.CPUMask}, {&c.trace, config.Trace},
		{&c.webgpu_backends, config.WebGPUBackends}, {&c.wgpu_library, config.WGPULibrary},
		{&c.cuda_library, config.CUDALibrary}, {&c.cache_dir, config.CacheDir},
	} {
		if text.from != "" {
			*text.to = C.CString(text.from)
			defer C.free(unsafe.Pointer(*text.to))
		}
	}
	c.policy = C.gx_policy(config.Policy)
	c.path = C.gx_path(config.Path)
	c.mode = C.gx_mode(config.Mode)
	c.sample_every = C.uint64_t(config.SampleEvery)
	c.threads = C.uint32_t(config.Threads)
	c.dispatch_elems = C.uint64_t(config.DispatchElems)
	c.stream_chunk_elems = C.uint64_t(config.StreamChunkElems)
	c.device_memory = C.uint64_t(config.DeviceMemory)
	c.queue_jobs = C.uint64_t(config.QueueJobs)
	if config.Validate {
		c.validate = 1
	}
	if config.IgnoreEnvironment {
		c.ignore_environment = 1
	}

	s := &state{gone: make(chan struct{}), owned: map[*child]struct{}{}, log: config.Log}
	s.idle.L = &s.mu
	if s.log != nil {
		s.logUser = cgo.NewHandle(s)
		C.gxgo_set_log(c, C.uintptr_t(s.logUser))
	}
	if err := attempt(func() C.gx_status { return C.gx_open(c, &s.ptr) }); err != nil {
		if s.log != nil {
			s.logUser.Delete()
		}
		return nil, err
	}
	x := &Context{s}
	runtime.AddCleanup(x, func(s *state) { go s.close() }, s)
	return x, nil
}

// Close waits for the calls and tickets in progress, then closes whatever belongs to the context,
// and the context. To shorten the wait, cancel them first. It may be called repeatedly.
func (x *Context) Close() error {
	x.close()
	x.logMu.Lock()
	defer x.logMu.Unlock()
	if x.logPanic != nil {
		return fmt.Errorf("gpuexec: the log function panicked: %v", x.logPanic)
	}
	return nil
}

func (s *state) close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		<-s.gone
		return
	}
	s.closed = true
	s.mu.Unlock()
	s.watch()
	s.mu.Lock()
	for s.calls > 0 {
		s.idle.Wait()
	}
	s.mu.Unlock()
	// Nothing else changes the state any more.
	for c := range s.owned {
		c.destroy()
	}
	clear(s.owned)
	C.gx_close(&s.ptr)
	if s.log != nil {
		s.logUser.Delete()
	}
	close(s.gone)
}

// enter keeps the context open until leave. Not before then may x be collected, which closes it.
func (x *Context) enter() error {
	defer runtime.KeepAlive(x)
	return x.state.enter()
}

func (s *state) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.calls++
	return nil
}

// closing reports whether Close has begun, so that new tickets are not found by it.
func (s *state) closing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *state) leave() {
	s.mu.Lock()
	if s.calls--; s.calls == 0 {
		s.idle.Broadcast()
	}
	s.mu.Unlock()
}

// child is a C object that belongs to a context. It is destroyed once it is closed and no call uses
// it.
type child struct {
	*state
	users   int
	closed  bool
	destroy func()
}

// adopt makes a child; the caller is inside enter.
func (s *state) adopt(destroy func()) *child {
	c := &child{state: s, destroy: destroy}
	s.mu.Lock()
	s.owned[c] = struct{}{}
	s.mu.Unlock()
	return c
}

func (c *child) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.state.closed {
		return ErrClosed
	}
	c.users++
	c.calls++
	return nil
}

func (c *child) leave() {
	c.mu.Lock()
	c.users--
	last := c.closed && c.users == 0
	if last {
		delete(c.owned, c)
	}
	c.mu.Unlock()
	if last {
		c.destroy()
	}
	c.state.leave()
}

func (c *child) close() {
	if c.enter() == nil {
		c.mu.Lock()
		c.closed = true
		inUse := c.users > 1
		c.mu.Unlock()
		c.leave()
		if inUse {
			c.state.watch()
		}
	}
}

// DeviceInfo describes a device.
type DeviceInfo struct {
	Name        string // as in Options.Device: "cpu"
	Description string
	Kind        DeviceKind
	Threads     int    // most host threads it uses
	MemoryBytes uint64 // 0: unknown
	Automatic   bool   // may be chosen for jobs that name no device
	Usable      bool   // false: Description says why, and what to do
}

// Devices lists the devices.
func (x *Context) Devices() ([]DeviceInfo, error) {
	if err := x.enter(); err != nil {
		return nil, err
	}
	defer x.leave()
	for room := C.size_t(16); ; room *= 2 {
		infos := make([]C.gx_device_info, room)
		infos[0].struct_size = C.sizeof_gx_device_info
		count := room
		err := attempt(func() C.gx_status { return C.gx_devices(x.ptr, &infos[0], &count) })
		if err != nil {
			return nil, err
		}
		if count > room {
			continue
		}
		devices := make([]DeviceInfo, count)
		for i := range devices {
			d := &infos[i]
			devices[i] = DeviceInfo{
				Name:        C.GoString(&d.name[0]),
				Description: C.GoString(&d.description[0]),
				Kind:        DeviceKind(d.kind),
				Threads:     int(d.threads),
				MemoryBytes: uint64(d.memory_bytes),
				Automatic:   d.automatic != 0,
				Usable:      d.usable != 0,
			}
		}
		return devices, nil
	}
}

// Metrics returns the metrics of the context in the text format of Prometheus.
func (x *Context) Metrics() (string, error) {
	if err := x.enter(); err != nil {
		return "", err
	}
	defer x.leave()
	for room := C.size_t(1 << 14); ; room *= 2 {
		text := make([]C.char, room)
		size := room
		err := attempt(func() C.gx_status {
			return C.gx_metrics_prometheus(x.ptr, &text[0], &size)
		})
		if size <= room || (err != nil && !errors.Is(err, ErrInvalid)) {
			return C.GoString(&text[0]), err
		}
	}
}
