// SPDX-License-Identifier: Apache-2.0

use std::ffi::{c_char, c_void, CStr, CString};
use std::fmt;
use std::mem::size_of;
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use gpuexec_sys as sys;

use crate::callback::{self, Inside, Owned};
use crate::error::{check, text_in, Error, Result};
use crate::jobs::Jobs;

/// Importance of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Error,
    Warning,
    Info,
}

type LogFn = dyn Fn(LogLevel, &str) + Send + Sync;

/// The library with its devices, memory and threads. One per process is enough.
///
/// A context may be used by any number of threads at once. Clones are the same context; it is
/// closed when the last of them, and the last buffer, domain, points and ticket made with it, is
/// dropped.
#[derive(Clone)]
pub struct Context {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub ptr: *mut sys::gx_ctx,
    /// What the library's `log_user` points to: it must outlive `ptr`.
    log: *mut Box<LogFn>,
}

// SAFETY: a context may be used by any thread, and closed by any.
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

impl Inner {
    /// The context, for a call; an error inside a log function.
    pub fn raw(&self) -> Result<*mut sys::gx_ctx> {
        callback::check()?;
        Ok(self.ptr)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let (raw, log) = (Owned(self.ptr), Owned(self.log));
        callback::free(move || {
            // SAFETY: nothing is left that could call into the context. Once it is closed, nothing
            // logs.
            unsafe {
                sys::gx_close(&mut raw.get());
                if !log.get().is_null() {
                    drop(Box::from_raw(log.get()));
                }
            }
        });
    }
}

extern "C" fn log(user: *mut c_void, level: sys::gx_log_level, message: *const c_char) {
    // SAFETY: `user` is the function of a context that is not closed yet; the message is a string.
    let (function, message) = unsafe { (&*user.cast::<Box<LogFn>>(), CStr::from_ptr(message)) };
    let level = match level {
        sys::GX_LOG_ERROR => LogLevel::Error,
        sys::GX_LOG_WARNING => LogLevel::Warning,
        _ => LogLevel::Info,
    };
    callback::call(Inside::Log, || function(level, &message.to_string_lossy()));
}

/// Settings of a new context.
#[derive(Default)]
#[must_use]
pub struct Builder {
    settings: Vec<(String, String)>,
    log: Option<Box<LogFn>>,
    ignore_environment: bool,
}

impl Builder {
    /// Any setting by its name on the command line, without the dashes: `"sample-every"`, `"1"`.
    /// What is not set is taken from its environment variable, or has its default.
    pub fn set(mut self, name: &str, value: impl ToString) -> Self {
        self.settings.push((name.into(), value.to_string()));
        self
    }

    /// The device for jobs that name none, or a comma-separated list to choose from.
    pub fn device(self, names: &str) -> Self {
        self.set("device", names)
    }

    /// Most threads of the host for one job; 0: all cores.
    pub fn threads(self, threads: u32) -> Self {
        self.set("threads", threads)
    }

    /// Is called with each message, from any thread that works for the library. It must not call
    /// into the library; what tries gets an error. If it panics, the panic ends there: the panic
    /// hook of the program reports it, and the library goes on.
    pub fn log(mut self, function: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        self.log = Some(Box::new(function));
        self
    }

    /// Reads no environment variables. Without the setting `cache-dir` there are then no cache
    /// files.
    pub fn ignore_environment(mut self) -> Self {
        self.ignore_environment = true;
        self
    }

    pub fn open(self) -> Result<Context> {
        callback::check()?;
        let mut config = sys::gx_config {
            struct_size: size_of::<sys::gx_config>(),
            ignore_environment: self.ignore_environment.into(),
            ..Default::default()
        };
        let mut strings = Vec::new(); // which the config borrows
        for (name, value) in &self.settings {
            let (name, value) = (string(name)?, string(value)?);
            let mut why = [0 as c_char; 256];
            // SAFETY: strings, and room of the given size for the reason.
            let status = unsafe {
                let (name, value) = (name.as_ptr(), value.as_ptr());
                sys::gx_config_set(&mut config, name, value, why.as_mut_ptr(), why.len())
            };
            if status != sys::GX_OK {
                return Err(Error::invalid(text_in(&why)));
            }
            strings.push(value);
        }
        let log = self.log.map_or(ptr::null_mut(), |f| Box::into_raw(Box::new(f)));
        if !log.is_null() {
            config.log = Some(crate::context::log);
            config.log_user = log.cast();
        }
        let mut raw = ptr::null_mut();
        // SAFETY: the strings of the config live until the call returns, the log function until the
        // context is closed.
        match check(unsafe { sys::gx_open(&config, &mut raw) }) {
            Ok(()) => Ok(Context { inner: Arc::new(Inner { ptr: raw, log }) }),
            Err(e) => {
                if !log.is_null() {
                    // SAFETY: from into_raw above; there is no context that could use it.
                    drop(unsafe { Box::from_raw(log) });
                }
                Err(e)
            }
        }
    }
}

pub(crate) fn string(s: &str) -> Result<CString> {
    CString::new(s).map_err(|_| Error::invalid(format!("{s:?} contains a NUL")))
}

/// What kind of device it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceKind {
    Cpu,
    Reference,
    Vulkan,
    WebGpu,
    Cuda,
    /// For tests, or of a newer library.
    Other,
}

/// A device of this machine.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Device {
    /// As [`Jobs::device`] takes it: `"cpu"`, `"vulkan:0"`.
    pub name: String,
    pub description: String,
    pub kind: DeviceKind,
    /// Most threads of the host that it uses.
    pub threads: u32,
    /// 0: unknown.
    pub memory_bytes: u64,
    /// It may be chosen for jobs that name no device.
    pub automatic: bool,
    /// If not, the description says why.
    pub usable: bool,
}

/// What [`Context::run`] would do: [`Context::estimate`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Estimate {
    /// Of the first job.
    pub device: String,
    pub dispatches: u64,
    pub bytes_up: u64,
    pub bytes_down: u64,
    /// Peak of device memory.
    pub memory_bytes: u64,
    /// For the whole call; `None`: unknown.
    pub predicted: Option<Duration>,
}

impl Context {
    /// A context with default settings, and those of the environment.
    pub fn new() -> Result<Context> {
        Context::builder().open()
    }

    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The handle of the C library, for calls through `gpuexec-sys`. It is the context's: do not
    /// close it.
    pub fn as_raw(&self) -> *mut sys::gx_ctx {
        self.inner.ptr
    }

    pub fn devices(&self) -> Result<Vec<Device>> {
        let raw = self.inner.raw()?;
        let mut infos: Vec<sys::gx_device_info> = Vec::new();
        loop {
            let blank = sys::gx_device_info {
                struct_size: size_of::<sys::gx_device_info>(),
                ..Default::default()
            };
            infos.resize(infos.len() + 16, blank);
            let mut count = infos.len();
            // SAFETY: there is room for `count`.
            check(unsafe { sys::gx_devices(raw, infos.as_mut_ptr(), &mut count) })?;
            if count <= infos.len() {
                infos.truncate(count);
                break;
            }
        }
        Ok(infos.iter().map(Device::new).collect())
    }

    /// Runs the jobs as if one after the other, and returns when they are done. The first failure
    /// is the error. [`Jobs::reports`] then has the report of each.
    pub fn run(&self, jobs: &mut Jobs<'_>) -> Result<()> {
        let raw = self.inner.raw()?;
        let (list, opts, reports) = jobs.prepare()?;
        // SAFETY: `Jobs` has checked all lengths, and borrows all memory and handles for longer
        // than this call; exclusively if they are written. There is a report for each job.
        let status = unsafe {
            sys::gx_run(raw, list.as_ptr(), list.len(), &opts, reports.as_mut_ptr().cast())
        };
        jobs.outcome(status)
    }

    /// Plans the jobs without running them.
    pub fn estimate(&self, jobs: &mut Jobs<'_>) -> Result<Estimate> {
        let raw = self.inner.raw()?;
        let (list, opts, _) = jobs.prepare()?;
        let mut info = sys::gx_estimate_info {
            struct_size: size_of::<sys::gx_estimate_info>(),
            ..Default::default()
        };
        // SAFETY: as for `run`.
        check(unsafe { sys::gx_estimate(raw, list.as_ptr(), list.len(), &opts, &mut info) })?;
        Ok(Estimate {
            device: text_in(&info.device).into(),
            dispatches: info.dispatches,
            bytes_up: info.bytes_up,
            bytes_down: info.bytes_down,
            memory_bytes: info.memory_bytes,
            predicted: (info.predicted_ns > 0).then(|| Duration::from_nanos(info.predicted_ns)),
        })
    }

    /// Cancels all tickets of the context that are pending now.
    pub fn cancel_all(&self) {
        // SAFETY: the context is open. Does not block.
        unsafe { sys::gx_cancel_all(self.inner.ptr) }
    }

    /// The counter of this name, such as "jobs_done"; [`counters`] has them all.
    pub fn counter(&self, name: &str) -> Result<u64> {
        let name = string(name)?;
        let mut value = 0;
        // SAFETY: a string, and an output.
        check(unsafe { sys::gx_counter(self.inner.raw()?, name.as_ptr(), &mut value) })?;
        Ok(value)
    }

    /// All metrics in the text format of Prometheus.
    pub fn prometheus(&self) -> Result<String> {
        let raw = self.inner.raw()?;
        let mut text = vec![0u8; 16384];
        loop {
            let mut size = text.len();
            // SAFETY: there is room for `size` bytes.
            check(unsafe { sys::gx_metrics_prometheus(raw, text.as_mut_ptr().cast(), &mut size) })?;
            if size <= text.len() {
                text.truncate(size.saturating_sub(1));
                return Ok(String::from_utf8_lossy(&text).into_owned());
            }
            text.resize(size * 2, 0);
        }
    }

    /// Starts writing every stage of every job to a file in the Chrome trace format.
    pub fn trace_start(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let path = string(path.to_str().ok_or_else(|| Error::invalid("the path is not UTF-8"))?)?;
        // SAFETY: a string.
        check(unsafe { sys::gx_trace_start(self.inner.raw()?, path.as_ptr()) })
    }

    pub fn trace_stop(&self) -> Result<()> {
        // SAFETY: the context is open.
        check(unsafe { sys::gx_trace_stop(self.inner.raw()?) })
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Context").field(&self.inner.ptr).finish()
    }
}

/// What [`Context::counter`] knows: names, and what they count.
pub fn counters() -> impl Iterator<Item = (&'static str, &'static str)> {
    // SAFETY: static data, strings included; null past the last.
    let info = |i| unsafe { sys::gx_counter_get_info(i).as_ref() };
    let text = |s| unsafe { CStr::from_ptr(s) }.to_str().unwrap_or("");
    (0..).map_while(info).map(move |c| (text(c.name), text(c.help)))
}

impl Device {
    fn new(info: &sys::gx_device_info) -> Device {
        Device {
            name: text_in(&info.name).into(),
            description: text_in(&info.description).into(),
            kind: match info.kind {
                sys::GX_DEVICE_CPU => DeviceKind::Cpu,
                sys::GX_DEVICE_REFERENCE => DeviceKind::Reference,
                sys::GX_DEVICE_VULKAN => DeviceKind::Vulkan,
                sys::GX_DEVICE_WEBGPU => DeviceKind::WebGpu,
                sys::GX_DEVICE_CUDA => DeviceKind::Cuda,
                _ => DeviceKind::Other,
            },
            threads: info.threads,
            memory_bytes: info.memory_bytes,
            automatic: info.automatic != 0,
            usable: info.usable != 0,
        }
    }
}

/// Version of the library, such as `"0.1.0"`.
pub fn version() -> &'static str {
    // SAFETY: a static string.
    unsafe { CStr::from_ptr(sys::gx_version()) }.to_str().unwrap_or("")
}
