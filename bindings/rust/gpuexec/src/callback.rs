// SPDX-License-Identifier: Apache-2.0

//! What may be done inside a callback of the library.
//!
//! A log function must not call into the library, and nothing that a callback drops may free a
//! ticket or close a context there: that would wait for the callback itself. Wakers drop whatever
//! they like, so what has to be freed in a callback is freed by a thread of its own.

use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::thread;

use crate::error::{Error, Result};

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Inside {
    Nothing,
    Log,
    Done,
}

thread_local! {
    static INSIDE: Cell<Inside> = const { Cell::new(Inside::Nothing) };
}

/// Runs a function of the user in a callback. Panics stop here: they must not unwind into C.
pub(crate) fn call(which: Inside, function: impl FnOnce()) {
    let before = INSIDE.replace(which);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(function)) {
        // What was thrown may panic when it is dropped.
        std::mem::forget(panic);
    }
    INSIDE.set(before);
}

/// An error inside a log function.
pub(crate) fn check() -> Result<()> {
    if INSIDE.get() == Inside::Log {
        return Err(Error::invalid("a log function must not call into the library"));
    }
    Ok(())
}

/// Calls `free`: now, or on another thread if this one is inside a callback.
pub(crate) fn free(free: impl FnOnce() + Send + 'static) {
    if INSIDE.get() == Inside::Nothing {
        free();
    } else {
        // Without another thread it leaks.
        let _ = thread::Builder::new().name("gpuexec-free".into()).spawn(free);
    }
}

/// A handle or memory that another thread may free.
pub(crate) struct Owned<T: ?Sized>(pub *mut T);

// SAFETY: the library's handles may be used and freed by any thread; so may memory of `Send` types.
unsafe impl<T: ?Sized> Send for Owned<T> {}

impl<T: ?Sized> Owned<T> {
    /// A method, because a closure that names the member would capture that alone.
    pub fn get(&self) -> *mut T {
        self.0
    }
}
