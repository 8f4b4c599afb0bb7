// SPDX-License-Identifier: Apache-2.0

//! Asynchronous jobs.
//!
//! The library uses the memory of a job until its ticket is done, and a ticket may be leaked
//! (`std::mem::forget`). So it is not enough that a ticket waits when it is dropped. Either it owns
//! the memory, which then leaks with it ([`Context::submit`]), or the function that made the scope
//! waits for it, whatever became of it ([`Context::scope`]).

use std::collections::HashMap;
use std::ffi::c_void;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use gpuexec_sys as sys;

use crate::callback::{self, Inside, Owned};
use crate::context::{Context, Inner};
use crate::error::{Error, Result};
use crate::jobs::Jobs;
use crate::report::{outcome, Report};

/// Who is to be told that the ticket is done.
type Slot = Mutex<Option<Waker>>;

/// A ticket of the library.
struct Raw {
    ticket: *mut sys::gx_ticket,
    jobs: usize,
    slot: Arc<Slot>,
    /// The library will call `done`, or has.
    notified: AtomicBool,
    /// Outlives the ticket.
    ctx: Arc<Inner>,
}

// SAFETY: any number of threads may use a ticket; it is freed when the last user is gone.
unsafe impl Send for Raw {}
unsafe impl Sync for Raw {}

extern "C" fn done(user: *mut c_void, _: *mut sys::gx_ticket) {
    // SAFETY: from `into_raw` in `Raw::poll`; called once.
    let slot = unsafe { Arc::from_raw(user.cast::<Slot>()) };
    callback::call(Inside::Done, move || {
        let waker = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    });
}

impl Raw {
    /// # Safety
    /// What the jobs borrow must stay borrowed until the ticket is done.
    unsafe fn submit(ctx: &Arc<Inner>, jobs: &mut Jobs<'_>) -> Result<Raw> {
        let raw = ctx.raw()?;
        let (list, opts, _) = jobs.prepare()?;
        let mut ticket = ptr::null_mut();
        let status = sys::gx_submit(raw, list.as_ptr(), list.len(), &opts, &mut ticket);
        if status != sys::GX_OK {
            return Err(Error::last(status));
        }
        Ok(Raw {
            ticket,
            jobs: list.len(),
            slot: Arc::default(),
            notified: AtomicBool::new(false),
            ctx: ctx.clone(),
        })
    }

    fn is_done(&self) -> bool {
        // SAFETY: the ticket is ours.
        unsafe { sys::gx_poll(self.ticket) != sys::GX_PENDING }
    }

    fn cancel(&self) {
        // SAFETY: the ticket is ours.
        unsafe { sys::gx_cancel(self.ticket) }
    }

    fn wait_for(&self, ns: u64) -> bool {
        // SAFETY: the ticket is ours.
        unsafe { sys::gx_wait(self.ticket, ns, ptr::null_mut()) != sys::GX_PENDING }
    }

    /// Waits, and returns what `Context::run` would have.
    fn finish(&self) -> Result<Vec<Report>> {
        let mut reports = vec![Report::blank(); self.jobs];
        // SAFETY: a report for each job.
        let status = unsafe { sys::gx_wait(self.ticket, u64::MAX, reports.as_mut_ptr().cast()) };
        outcome(status, &reports).map(|()| reports)
    }

    fn poll(&self, waker: &Waker) -> Poll<()> {
        if self.is_done() {
            return Poll::Ready(());
        }
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        let old = match &*slot {
            Some(waiting) if waiting.will_wake(waker) => None,
            _ => slot.replace(waker.clone()),
        };
        drop(slot); // before `done`, which may be called here, and before other code is
        drop(old);
        if !self.notified.swap(true, Ordering::AcqRel) {
            let user = Arc::into_raw(self.slot.clone()).cast_mut().cast();
            // SAFETY: the first call for this ticket, which cannot fail then; `done` takes the slot.
            unsafe { sys::gx_notify(self.ticket, Some(done), user) };
        }
        // It may have become done, and woken the waker before, while there was no new one.
        if self.is_done() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let (ticket, ctx) = (Owned(self.ticket), self.ctx.clone());
        callback::free(move || {
            // SAFETY: the last use. Waits until the ticket is done and its callback has returned.
            unsafe { sys::gx_ticket_destroy(&mut ticket.get()) };
            drop(ctx);
        });
    }
}

/// Memory that stays where it is, and is accessed through no reference while jobs use it.
struct Pinned<D>(*mut D);

// SAFETY: like a `Box<D>` that is only moved and dropped.
unsafe impl<D: Send> Send for Pinned<D> {}
unsafe impl<D: Send> Sync for Pinned<D> {}

impl<D> Pinned<D> {
    fn new(data: D) -> Pinned<D> {
        Pinned(Box::into_raw(Box::new(data)))
    }

    fn into_inner(self) -> D {
        // SAFETY: from a box, which is taken once.
        *unsafe { Box::from_raw(ManuallyDrop::new(self).0) }
    }
}

impl<D> Drop for Pinned<D> {
    fn drop(&mut self) {
        // SAFETY: from a box.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// Jobs that were submitted, with all that they use: [`Context::submit`].
///
/// It is a future of the result and the data. Dropping it cancels jobs that have not started, and
/// waits for the one that has.
#[must_use = "dropping a ticket cancels its jobs"]
pub struct Ticket<D: Send + 'static> {
    /// Ok: submitted. In this order: a ticket is done when it has been dropped.
    state: Option<(Result<Raw>, Pinned<D>)>,
}

impl<D: Send + 'static> Ticket<D> {
    fn raw(&self) -> Option<&Raw> {
        self.state.as_ref().and_then(|(raw, _)| raw.as_ref().ok())
    }

    /// Whether [`Ticket::wait`] would return at once.
    pub fn is_done(&self) -> bool {
        self.raw().is_none_or(Raw::is_done)
    }

    /// Jobs that have not started are not run; the one that has is completed.
    pub fn cancel(&self) {
        if let Some(raw) = self.raw() {
            raw.cancel();
        }
    }

    /// Waits until the ticket is done, or for so long; returns whether it is.
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        let ns = timeout.as_nanos().try_into().unwrap_or(u64::MAX);
        self.raw().is_none_or(|raw| raw.wait_for(ns))
    }

    /// Waits, and returns the reports of the jobs, and the data.
    pub fn wait(mut self) -> (Result<Vec<Report>>, D) {
        self.take()
    }

    fn take(&mut self) -> (Result<Vec<Report>>, D) {
        let (raw, data) = self.state.take().expect("the ticket has given its result");
        let result = raw.and_then(|raw| {
            let result = raw.finish();
            drop(raw);
            result
        });
        (result, data.into_inner())
    }
}

impl<D: Send + 'static> Future for Ticket<D> {
    type Output = (Result<Vec<Report>>, D);

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        match self.raw() {
            Some(raw) if raw.poll(cx.waker()).is_pending() => Poll::Pending,
            _ => Poll::Ready(self.take()),
        }
    }
}

impl<D: Send + 'static> Unpin for Ticket<D> {}

impl<D: Send + 'static> Drop for Ticket<D> {
    fn drop(&mut self) {
        let Some((raw, data)) = self.state.take() else { return };
        if let Ok(raw) = raw {
            raw.cancel();
            callback::free(move || {
                // The jobs use the data until the ticket is freed, which waits for them.
                drop(raw);
                drop(data);
            });
        }
    }
}

impl<D: Send + 'static> fmt::Debug for Ticket<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("done", &self.is_done()).finish_non_exhaustive()
    }
}

impl Context {
    /// Submits jobs on data that the ticket owns until they are done. Any error, also one of the
    /// jobs themselves, is the result of the ticket. Blocks while a device is opened and while the
    /// queue is full.
    ///
    /// ```
    /// # use gpuexec::{Context, Jobs};
    /// # fn main() -> gpuexec::Result<()> {
    /// # let ctx = Context::new()?;
    /// let (a, b) = (vec![1u32, 2, 3], vec![10u32, 20, 30]);
    /// let ticket = ctx.submit((a, b, vec![0; 3]), |(a, b, out), jobs| {
    ///     jobs.add(&*a, &*b, out);
    /// });
    /// let (result, (_, _, out)) = ticket.wait(); // or .await
    /// result?;
    /// assert_eq!(out, [11, 22, 33]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn submit<D, F>(&self, data: D, build: F) -> Ticket<D>
    where
        D: Send + 'static,
        F: for<'a> FnOnce(&'a mut D, &mut Jobs<'a>),
    {
        let data = Pinned::new(data);
        let mut jobs = Jobs::new();
        // SAFETY: the data is ours alone, and lives until the ticket is done.
        build(unsafe { &mut *data.0 }, &mut jobs);
        // SAFETY: the jobs borrow from the data, or what lives forever: `build` takes any lifetime.
        // The ticket keeps the data until it is done, and leaks it if it is leaked itself.
        let raw = unsafe { Raw::submit(&self.inner, &mut jobs) };
        Ticket { state: Some((raw, data)) }
    }

    /// A scope for tickets that borrow: all of them are done when it returns, like the threads of
    /// [`std::thread::scope`].
    ///
    /// ```
    /// # use gpuexec::{Context, Jobs};
    /// # fn main() -> gpuexec::Result<()> {
    /// # let ctx = Context::new()?;
    /// let a = [1u32, 2, 3];
    /// let (mut twice, mut squares) = ([0; 3], [0; 3]);
    /// ctx.scope(|scope| {
    ///     let mut jobs = Jobs::new();
    ///     jobs.add(&a, &a, &mut twice);
    ///     let ticket = scope.submit(jobs)?;
    ///     let mut jobs = Jobs::new();
    ///     jobs.mul(&a, &a, &mut squares);
    ///     scope.submit(jobs)?.wait()?;
    ///     ticket.wait()
    /// })?;
    /// assert_eq!((twice, squares), ([2, 4, 6], [1, 4, 9]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn scope<'env, F, R>(&self, f: F) -> R
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    {
        let open = WaitForAll(Arc::default());
        let scope = Scope {
            ctx: self.inner.clone(),
            open: open.0.clone(),
            scope: PhantomData,
            env: PhantomData,
        };
        let result = f(&scope);
        drop(open); // also if `f` panics
        result
    }
}

/// Tickets that nobody has waited for, by their address.
type Open = Mutex<HashMap<usize, Arc<Raw>>>;

struct WaitForAll(Arc<Open>);

impl Drop for WaitForAll {
    fn drop(&mut self) {
        let open = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for raw in open.values() {
            raw.wait_for(u64::MAX);
        }
    }
}

/// [`Context::scope`].
pub struct Scope<'scope, 'env: 'scope> {
    ctx: Arc<Inner>,
    open: Arc<Open>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope> Scope<'scope, '_> {
    /// Submits jobs that borrow for as long as the scope.
    pub fn submit(&'scope self, mut jobs: Jobs<'scope>) -> Result<ScopedTicket<'scope>> {
        // SAFETY: what the jobs borrow outlives the scope, and the scope waits for the ticket.
        let raw = Arc::new(unsafe { Raw::submit(&self.ctx, &mut jobs) }?);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.insert(raw.ticket as usize, raw.clone());
        Ok(ScopedTicket { raw, open: self.open.clone(), scope: PhantomData })
    }
}

/// Jobs that were submitted in a [`Scope`]: a future of their reports.
///
/// If it is dropped or leaked, the jobs still run, and the scope waits for them.
pub struct ScopedTicket<'scope> {
    raw: Arc<Raw>,
    open: Arc<Open>,
    scope: PhantomData<&'scope ()>,
}

impl ScopedTicket<'_> {
    /// Whether [`ScopedTicket::wait`] would return at once.
    pub fn is_done(&self) -> bool {
        self.raw.is_done()
    }

    /// Jobs that have not started are not run; the one that has is completed.
    pub fn cancel(&self) {
        self.raw.cancel();
    }

    /// Waits until the ticket is done, or for so long; returns whether it is.
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.raw.wait_for(timeout.as_nanos().try_into().unwrap_or(u64::MAX))
    }

    /// Waits, and returns the reports of the jobs.
    pub fn wait(self) -> Result<Vec<Report>> {
        self.raw.finish()
    }
}

impl Future for ScopedTicket<'_> {
    type Output = Result<Vec<Report>>;

    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        self.raw.poll(cx.waker()).map(|()| self.raw.finish())
    }
}

impl Drop for ScopedTicket<'_> {
    fn drop(&mut self) {
        if self.raw.is_done() {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            let raw = open.remove(&(self.raw.ticket as usize));
            drop(open);
            drop(raw);
        }
    }
}

impl fmt::Debug for ScopedTicket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedTicket").field("done", &self.is_done()).finish_non_exhaustive()
    }
}
