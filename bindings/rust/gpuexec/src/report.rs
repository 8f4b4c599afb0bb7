// SPDX-License-Identifier: Apache-2.0

use std::ffi::CStr;
use std::fmt;
use std::mem::size_of;
use std::time::Duration;

use gpuexec_sys as sys;

use crate::error::{text_in, Detail, Error, Result};

/// Where a job ran and how long each step took.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Report(sys::gx_report);

// SAFETY: its one pointer, to candidates, is NULL.
unsafe impl Send for Report {}
unsafe impl Sync for Report {}

macro_rules! durations {
    ($($(#[$doc:meta])* $name:ident: $member:ident;)*) => {
        $($(#[$doc])*
        pub fn $name(&self) -> Duration {
            Duration::from_nanos(self.0.$member)
        })*
    };
}

impl Report {
    pub(crate) fn blank() -> Report {
        Report(sys::gx_report { struct_size: size_of::<sys::gx_report>(), ..Default::default() })
    }

    /// The device it ran on; empty if it did not run.
    pub fn device(&self) -> &str {
        text_in(&self.0.device)
    }

    /// Why there: `"asked"`, `"small"`, `"fastest"`.
    pub fn reason(&self) -> &'static str {
        // SAFETY: a static string for any value.
        unsafe { CStr::from_ptr(sys::gx_reason_name(self.0.reason)) }.to_str().unwrap_or("")
    }

    /// How operands reached the device: `"direct"`, `"host-visible"`, `"device-local"`.
    pub fn path(&self) -> &'static str {
        // SAFETY: a static string for any value.
        unsafe { CStr::from_ptr(sys::gx_path_name(self.0.path)) }.to_str().unwrap_or("")
    }

    /// Threads of the host.
    pub fn threads(&self) -> u32 {
        self.0.threads
    }

    /// Kernel launches.
    pub fn dispatches(&self) -> u32 {
        self.0.dispatches
    }

    /// Elements recomputed and compared.
    pub fn sampled(&self) -> u32 {
        self.0.sampled
    }

    /// What went wrong; on success empty, or what went wrong before a fallback succeeded.
    pub fn message(&self) -> &str {
        text_in(&self.0.message)
    }

    durations! {
        /// Inside the library.
        total: total_ns;
        /// In the queue, if it was submitted.
        queued: queued_ns;
        /// Copying operands to staging memory.
        host_in: host_in_ns;
        /// Recording, submitting and waiting for the device.
        device_time: device_ns;
        /// Copying the result from staging memory.
        host_out: host_out_ns;
        /// By the device's own clock; 0 if it has none.
        upload: upload_ns;
        compute: compute_ns;
        download: download_ns;
    }

    /// Whether the job was done.
    pub fn result(&self) -> Result<()> {
        match self.0.status {
            sys::GX_OK => Ok(()),
            status => Err(Error::new(status, self.detail(None))),
        }
    }

    /// The struct of the C library.
    pub fn as_raw(&self) -> &sys::gx_report {
        &self.0
    }

    fn detail(&self, job: Option<usize>) -> Detail {
        let operand = u8::try_from(self.0.bad_operand).ok().filter(|&c| c != 0).map(char::from);
        // Only rejected elements have an index; the library names their operand, unless a later job
        // has overwritten it.
        let has_index = self.0.status == sys::GX_ERR_NOT_CANONICAL || operand.is_some();
        Detail {
            message: self.message().into(),
            job,
            operand,
            index: has_index.then_some(self.0.bad_index),
        }
    }
}

/// The result of a call that returned `status` and filled the reports.
pub(crate) fn outcome(status: sys::gx_status, reports: &[Report]) -> Result<()> {
    if status == sys::GX_OK {
        return Ok(());
    }
    Err(match reports.iter().position(|r| r.0.status == status) {
        Some(job) => Error::new(status, reports[job].detail(Some(job))),
        None => Error::last(status),
    })
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report")
            .field("result", &self.result())
            .field("device", &self.device())
            .field("reason", &self.reason())
            .field("threads", &self.threads())
            .field("total", &self.total())
            .finish_non_exhaustive()
    }
}
