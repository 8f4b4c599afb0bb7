// SPDX-License-Identifier: Apache-2.0

use std::ffi::{c_char, CStr};
use std::fmt;

use gpuexec_sys as sys;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Detail {
    /// One line: what went wrong and what to do about it.
    pub message: String,
    /// The job that failed, by its position in [`Jobs`](crate::Jobs).
    pub job: Option<usize>,
    /// Its operand: `'a'`, `'b'` or `'c'`.
    pub operand: Option<char>,
    /// The first bad element of the operand, or the first bad point.
    pub index: Option<u64>,
}

macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident = $status:ident,)*) => {
        /// Why a call failed.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Error {
            $($(#[$doc])* $name(Detail),)*
            /// A status that a newer library has.
            Other(i32, Detail),
        }

        impl Error {
            pub(crate) fn new(status: sys::gx_status, detail: Detail) -> Error {
                match status {
                    $(sys::$status => Error::$name(detail),)*
                    _ => Error::Other(status, detail),
                }
            }

            /// Message and place.
            pub fn detail(&self) -> &Detail {
                match self {
                    $(Error::$name(detail) => detail,)*
                    Error::Other(_, detail) => detail,
                }
            }

            pub(crate) fn status(&self) -> sys::gx_status {
                match self {
                    $(Error::$name(_) => sys::$status,)*
                    Error::Other(status, _) => *status,
                }
            }
        }
    };
}

errors! {
    /// An invalid argument, such as a slice of the wrong length.
    Invalid = GX_ERR_INVALID,
    /// The output partly overlaps an operand.
    Overlap = GX_ERR_OVERLAP,
    /// An element is not below the modulus.
    NotCanonical = GX_ERR_NOT_CANONICAL,
    /// The operation is not supported for this field or device.
    Unsupported = GX_ERR_UNSUPPORTED,
    /// No such device.
    NoDevice = GX_ERR_NO_DEVICE,
    OutOfMemory = GX_ERR_OUT_OF_MEMORY,
    OutOfDeviceMemory = GX_ERR_OUT_OF_DEVICE_MEMORY,
    /// The device was lost; its buffers must be created again.
    DeviceLost = GX_ERR_DEVICE_LOST,
    /// A device call failed.
    Device = GX_ERR_DEVICE,
    /// Not run, because another job of the same call failed.
    NotRun = GX_ERR_NOT_RUN,
    /// The device did not finish in time.
    Timeout = GX_ERR_TIMEOUT,
    /// Cancelled before it ran.
    Cancelled = GX_ERR_CANCELLED,
    /// A file cannot be written.
    File = GX_ERR_FILE,
}

impl Error {
    pub(crate) fn invalid(message: impl Into<String>) -> Error {
        Error::Invalid(Detail { message: message.into(), ..Detail::default() })
    }

    /// The failure of the last call on this thread.
    pub(crate) fn last(status: sys::gx_status) -> Error {
        // SAFETY: never NULL, and valid until the next call on this thread.
        let message = unsafe { text(sys::gx_last_message()) };
        Error::new(status, Detail { message, ..Detail::default() })
    }

    /// [`Detail::message`].
    pub fn message(&self) -> &str {
        &self.detail().message
    }

    /// [`Detail::index`].
    pub fn index(&self) -> Option<u64> {
        self.detail().index
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message().is_empty() {
            // SAFETY: a static string, never NULL.
            f.write_str(&unsafe { text(sys::gx_status_message(self.status())) })
        } else {
            f.write_str(self.message())
        }
    }
}

impl std::error::Error for Error {}

pub(crate) fn check(status: sys::gx_status) -> Result<()> {
    if status == sys::GX_OK {
        Ok(())
    } else {
        Err(Error::last(status))
    }
}

/// # Safety
/// `s` is a string that ends in NUL.
pub(crate) unsafe fn text(s: *const c_char) -> String {
    CStr::from_ptr(s).to_string_lossy().into_owned()
}

/// The text in an array that the library has filled.
pub(crate) fn text_in(s: &[c_char]) -> &str {
    // SAFETY: c_char is a byte.
    let bytes = unsafe { std::slice::from_raw_parts(s.as_ptr().cast::<u8>(), s.len()) };
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    let bytes = &bytes[..end];
    match std::str::from_utf8(bytes) {
        Ok(s) => s,
        // A message that was cut within a character.
        Err(e) => std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or(""),
    }
}
