// SPDX-License-Identifier: Apache-2.0

use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use gpuexec_sys as sys;

use crate::callback::{self, Owned};
use crate::context::{string, Context, Inner};
use crate::element::Pod;
use crate::error::{check, Error, Result};

/// Memory of a device: `len` elements.
///
/// Jobs read a `&Buffer` and write a `&mut Buffer`, so no two threads or tickets write one at the
/// same time.
pub struct Buffer<T: Pod> {
    raw: *mut sys::gx_buf,
    len: usize,
    ctx: Arc<Inner>,
    elements: PhantomData<T>,
}

// SAFETY: any thread may use a buffer; writing needs `&mut`.
unsafe impl<T: Pod> Send for Buffer<T> {}
unsafe impl<T: Pod> Sync for Buffer<T> {}

impl<T: Pod> Buffer<T> {
    /// A buffer on the named device, or on one that the library chooses. Its contents are
    /// unspecified.
    pub fn new<'d>(
        ctx: &Context,
        device: impl Into<Option<&'d str>>,
        len: usize,
    ) -> Result<Buffer<T>> {
        Buffer::create(ctx, device.into(), len, 0)
    }

    /// The same, in memory that [`Buffer::map`] maps. Most devices are slower with it.
    pub fn mappable<'d>(
        ctx: &Context,
        device: impl Into<Option<&'d str>>,
        len: usize,
    ) -> Result<Buffer<T>> {
        Buffer::create(ctx, device.into(), len, sys::GX_BUF_MAPPABLE)
    }

    /// A buffer with a copy of the elements.
    pub fn from_slice<'d>(
        ctx: &Context,
        device: impl Into<Option<&'d str>>,
        elements: &[T],
    ) -> Result<Buffer<T>> {
        let mut buffer = Buffer::new(ctx, device, elements.len())?;
        buffer.write(0, elements)?;
        Ok(buffer)
    }

    fn create(ctx: &Context, device: Option<&str>, len: usize, flags: u32) -> Result<Buffer<T>> {
        let device = device.map(string).transpose()?;
        let device = device.as_ref().map_or(ptr::null(), |d| d.as_ptr());
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or_else(|| Error::invalid(format!("{len} elements are too many")))?;
        let mut raw = ptr::null_mut();
        // SAFETY: NULL or a string.
        check(unsafe { sys::gx_buf_create(ctx.inner.raw()?, device, bytes, flags, &mut raw) })?;
        Ok(Buffer { raw, len, ctx: ctx.inner.clone(), elements: PhantomData })
    }

    /// A buffer of memory that the caller has allocated on a CUDA device.
    ///
    /// # Safety
    /// As `gx_buf_from_cuda` says: the memory outlives the buffer, and nothing else is in progress
    /// on it while the library uses it.
    pub unsafe fn from_cuda<'d>(
        ctx: &Context,
        device: impl Into<Option<&'d str>>,
        address: u64,
        len: usize,
    ) -> Result<Buffer<T>> {
        let device = device.into().map(string).transpose()?;
        let device = device.as_ref().map_or(ptr::null(), |d| d.as_ptr());
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or_else(|| Error::invalid(format!("{len} elements are too many")))?;
        let mut raw = ptr::null_mut();
        check(sys::gx_buf_from_cuda(ctx.inner.raw()?, device, address, bytes, &mut raw))?;
        Ok(Buffer { raw, len, ctx: ctx.inner.clone(), elements: PhantomData })
    }

    /// Device pointer of a buffer on a CUDA device.
    pub fn cuda_address(&self) -> Option<u64> {
        // SAFETY: the buffer is ours.
        let address = unsafe { sys::gx_buf_cuda_address(self.raw) };
        (address != 0).then_some(address)
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn device(&self) -> &str {
        // SAFETY: a string that lives as long as the buffer.
        unsafe { CStr::from_ptr(sys::gx_buf_device(self.raw)) }.to_str().unwrap_or("")
    }

    /// Copies elements into the buffer, from place `at` on.
    pub fn write(&mut self, at: usize, from: &[T]) -> Result<()> {
        self.ctx.raw()?;
        let offset = self.offset(at, from.len())?;
        // SAFETY: reads the slice, and writes inside the buffer, which is ours alone.
        check(unsafe {
            sys::gx_buf_write(self.raw, offset, from.as_ptr().cast(), size_of_val(from))
        })
    }

    /// Copies elements out of the buffer, from place `at` on.
    pub fn read(&self, at: usize, to: &mut [T]) -> Result<()> {
        self.ctx.raw()?;
        let offset = self.offset(at, to.len())?;
        // SAFETY: reads inside the buffer, and writes the slice; any bits are elements.
        check(unsafe {
            sys::gx_buf_read(self.raw, offset, to.as_mut_ptr().cast(), size_of_val(to))
        })
    }

    /// A copy of all elements.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        self.ctx.raw()?;
        let mut elements: Vec<T> = Vec::with_capacity(self.len);
        // SAFETY: there is room for `len` elements, and all are written before they count.
        unsafe {
            let bytes = self.len * size_of::<T>();
            check(sys::gx_buf_read(self.raw, 0, elements.as_mut_ptr().cast(), bytes))?;
            elements.set_len(self.len);
        }
        Ok(elements)
    }

    fn offset(&self, at: usize, len: usize) -> Result<usize> {
        if at > self.len || len > self.len - at {
            return Err(Error::invalid(format!(
                "elements {at} to {} of a buffer of {}",
                at.saturating_add(len),
                self.len
            )));
        }
        Ok(at * size_of::<T>())
    }

    /// Maps a [mappable](Buffer::mappable) buffer into host memory, until the guard is dropped. If
    /// the guard is leaked the buffer stays mapped, and other calls on it are refused.
    pub fn map(&mut self) -> Result<Mapped<'_, T>> {
        self.ctx.raw()?;
        let mut memory = ptr::null_mut();
        // SAFETY: no other call on the buffer is in progress: it is ours alone.
        check(unsafe { sys::gx_buf_map(self.raw, &mut memory) })?;
        let Some(memory) = NonNull::new(memory.cast::<T>()) else {
            return Err(Error::invalid("the buffer is empty"));
        };
        Ok(Mapped { buffer: self, memory })
    }

    /// Part of the buffer, for jobs to read.
    ///
    /// # Panics
    /// If the range is not inside the buffer.
    pub fn slice(&self, range: Range<usize>) -> BufferSlice<'_, T> {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of {}", self.len);
        BufferSlice { buffer: self, range }
    }

    /// Part of the buffer, for jobs to write.
    ///
    /// # Panics
    /// If the range is not inside the buffer.
    pub fn slice_mut(&mut self, range: Range<usize>) -> BufferSliceMut<'_, T> {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of {}", self.len);
        BufferSliceMut { buffer: self, range }
    }

    /// Two parts that jobs may write independently.
    ///
    /// # Panics
    /// If `mid` is past the end.
    pub fn split_at_mut(&mut self, mid: usize) -> (BufferSliceMut<'_, T>, BufferSliceMut<'_, T>) {
        assert!(mid <= self.len, "{mid} of {}", self.len);
        let buffer = &*self;
        (BufferSliceMut { buffer, range: 0..mid }, BufferSliceMut { buffer, range: mid..self.len })
    }

    pub(crate) fn operand(&self, range: &Range<usize>) -> sys::gx_operand {
        sys::gx_operand {
            buf: self.raw,
            offset: range.start * size_of::<T>(),
            ..Default::default()
        }
    }
}

impl<T: Pod> Drop for Buffer<T> {
    fn drop(&mut self) {
        let (raw, ctx) = (Owned(self.raw), self.ctx.clone());
        callback::free(move || {
            // SAFETY: the last use, before the context is closed.
            unsafe { sys::gx_buf_destroy(&mut raw.get()) };
            drop(ctx);
        });
    }
}

impl<T: Pod> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer of {} elements on {}", self.len, self.device())
    }
}

/// Part of a buffer that jobs read.
#[derive(Clone)]
pub struct BufferSlice<'a, T: Pod> {
    pub(crate) buffer: &'a Buffer<T>,
    pub(crate) range: Range<usize>,
}

/// Part of a buffer that jobs write. No other reference to that part exists.
pub struct BufferSliceMut<'a, T: Pod> {
    pub(crate) buffer: &'a Buffer<T>,
    pub(crate) range: Range<usize>,
}

/// The memory of a mapped buffer.
pub struct Mapped<'a, T: Pod> {
    buffer: &'a mut Buffer<T>,
    memory: NonNull<T>,
}

// SAFETY: like a `&mut [T]`.
unsafe impl<T: Pod> Send for Mapped<'_, T> {}
unsafe impl<T: Pod> Sync for Mapped<'_, T> {}

impl<T: Pod> Deref for Mapped<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: mapped until the guard is dropped; any bits are elements.
        unsafe { slice::from_raw_parts(self.memory.as_ptr(), self.buffer.len) }
    }
}

impl<T: Pod> DerefMut for Mapped<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: likewise.
        unsafe { slice::from_raw_parts_mut(self.memory.as_ptr(), self.buffer.len) }
    }
}

impl<T: Pod> Drop for Mapped<'_, T> {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`.
        unsafe { sys::gx_buf_unmap(self.buffer.raw) }
    }
}

/// Elements in host memory that devices copy from and to directly, without staging.
///
/// It owns them: memory must stay where it is while it is registered, even if this is leaked.
pub struct Registered<T: Pod> {
    memory: NonNull<[T]>,
    ctx: Arc<Inner>,
}

// SAFETY: like a `Box<[T]>`.
unsafe impl<T: Pod> Send for Registered<T> {}
unsafe impl<T: Pod> Sync for Registered<T> {}

impl<T: Pod> Registered<T> {
    pub fn new(ctx: &Context, elements: Vec<T>) -> Result<Registered<T>> {
        let raw = ctx.inner.raw()?;
        let memory = NonNull::from(Box::leak(elements.into_boxed_slice()));
        let registered = Registered { memory, ctx: ctx.inner.clone() };
        let bytes = size_of_val(&registered[..]);
        // SAFETY: the memory is ours until it is unregistered.
        match unsafe { sys::gx_host_register(raw, memory.as_ptr().cast(), bytes) } {
            sys::GX_OK => Ok(registered),
            status => {
                let error = Error::last(status);
                registered.release();
                Err(error)
            }
        }
    }

    /// The elements, which are no longer registered.
    pub fn into_vec(self) -> Vec<T> {
        // SAFETY: registered by `new`; nothing borrows the memory.
        unsafe { sys::gx_host_unregister(self.ctx.ptr, self.memory.as_ptr().cast()) };
        self.release()
    }

    fn release(self) -> Vec<T> {
        let this = std::mem::ManuallyDrop::new(self);
        // SAFETY: each member is taken once, and not dropped. The memory is from a box.
        unsafe {
            drop(ptr::read(&this.ctx));
            Box::from_raw(this.memory.as_ptr()).into_vec()
        }
    }
}

impl<T: Pod> Deref for Registered<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: our own memory.
        unsafe { self.memory.as_ref() }
    }
}

impl<T: Pod> DerefMut for Registered<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: likewise.
        unsafe { self.memory.as_mut() }
    }
}

impl<T: Pod> Drop for Registered<T> {
    fn drop(&mut self) {
        let (memory, ctx) = (Owned(self.memory.as_ptr()), self.ctx.clone());
        callback::free(move || {
            // SAFETY: registered by `new`, from a box; nothing borrows it.
            unsafe {
                sys::gx_host_unregister(ctx.ptr, memory.get().cast());
                drop(Box::from_raw(memory.get()));
            }
        });
    }
}
