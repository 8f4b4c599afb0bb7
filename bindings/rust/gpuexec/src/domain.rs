// SPDX-License-Identifier: Apache-2.0

use std::fmt;
use std::mem::size_of;
use std::ptr;
use std::sync::Arc;

use gpuexec_sys as sys;

use crate::callback::{self, Owned};
use crate::context::{Context, Inner};
use crate::element::{Element, Field};
use crate::error::{check, Error, Result};
use crate::jobs::Jobs;

/// What transforms are over: a root of unity of order 2^`log2_size`, and the shift of a coset.
///
/// One domain serves all transforms up to its size, on all devices, from any thread.
pub struct Domain {
    raw: *mut sys::gx_domain,
    field: Field,
    log2_size: u32,
    ctx: Arc<Inner>,
}

// SAFETY: any thread may use a domain; it never changes.
unsafe impl Send for Domain {}
unsafe impl Sync for Domain {}

impl Domain {
    /// With the root and the shift that arkworks, gnark-crypto and sppark use.
    pub fn new<T: Element>(ctx: &Context, log2_size: u32) -> Result<Domain> {
        Domain::with::<T>(ctx, log2_size, None, None)
    }

    /// With another generator, of order 2^`log2_size`, or another shift of cosets, not 0; both in
    /// Montgomery form.
    pub fn with<T: Element>(
        ctx: &Context,
        log2_size: u32,
        root: Option<&T>,
        shift: Option<&T>,
    ) -> Result<Domain> {
        let desc = sys::gx_domain_params {
            struct_size: size_of::<sys::gx_domain_params>(),
            field: T::FIELD as u32,
            log2_size,
            root: root.map_or(ptr::null(), |e| ptr::from_ref(e).cast()),
            shift: shift.map_or(ptr::null(), |e| ptr::from_ref(e).cast()),
        };
        let mut raw = ptr::null_mut();
        // SAFETY: elements of the domain's field, for the duration of the call.
        check(unsafe { sys::gx_domain_create(ctx.inner.raw()?, &desc, &mut raw) })?;
        Ok(Domain { raw, field: T::FIELD, log2_size, ctx: ctx.inner.clone() })
    }

    pub fn context(&self) -> Context {
        Context { inner: self.ctx.clone() }
    }

    pub fn field(&self) -> Field {
        self.field
    }

    pub fn log2_size(&self) -> u32 {
        self.log2_size
    }

    /// The root of unity of order 2^`log2_n`.
    pub fn root<T: Element + Default>(&self, log2_n: u32) -> Result<T> {
        self.ctx.raw()?;
        if T::FIELD != self.field {
            return Err(Error::invalid(format!("the domain is of {}", self.field.name())));
        }
        let mut root = T::default();
        // SAFETY: room for one element of the field.
        check(unsafe { sys::gx_domain_root(self.raw, log2_n, ptr::from_mut(&mut root).cast()) })?;
        Ok(root)
    }

    /// Transforms the elements in place. Transforms in other places, in buffers, of other devices
    /// or asynchronous ones are jobs: [`Jobs::ntt`].
    pub fn transform<T: Element>(&self, ntt: Ntt, elements: &mut [T]) -> Result<()> {
        let ctx = self.context();
        let mut jobs = Jobs::new();
        let elements = jobs.var_mut(elements);
        ctx.run(jobs.ntt(self, ntt, elements, elements))
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        let (raw, ctx) = (Owned(self.raw), self.ctx.clone());
        callback::free(move || {
            // SAFETY: the last use, before the context is closed.
            unsafe { sys::gx_domain_destroy(&mut raw.get()) };
            drop(ctx);
        });
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Domain of 2^{} elements of {}", self.log2_size, self.field.name())
    }
}

/// A kind of transform: forward, in natural order, as large as the domain, unless it is changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Ntt {
    flags: u32,
    log2_n: Option<u32>,
    pub(crate) log2_pad: u32,
}

impl Ntt {
    /// Coefficients to values.
    pub fn forward() -> Ntt {
        Ntt::default()
    }

    /// Values to coefficients; 1/n is included.
    pub fn inverse() -> Ntt {
        Ntt::default().flag(sys::GX_NTT_INVERSE)
    }

    fn flag(mut self, flag: u32) -> Ntt {
        self.flags |= flag;
        self
    }

    /// Over the coset of the domain's shift.
    pub fn coset(self) -> Ntt {
        self.flag(sys::GX_NTT_COSET)
    }

    /// The input is in bit-reversed order.
    pub fn reversed_in(self) -> Ntt {
        self.flag(sys::GX_NTT_REVERSED_IN)
    }

    /// The output is in bit-reversed order.
    pub fn reversed_out(self) -> Ntt {
        self.flag(sys::GX_NTT_REVERSED_OUT)
    }

    /// The transforms are the columns of a matrix, not its rows.
    pub fn columns(self) -> Ntt {
        self.flag(sys::GX_NTT_COLUMNS)
    }

    /// 2^`log2_n` elements per transform, fewer than the domain has.
    pub fn log2_n(mut self, log2_n: u32) -> Ntt {
        self.log2_n = Some(log2_n);
        self
    }

    /// The input has only the first 2^(`log2_n` - `log2_pad`) elements of each transform; the
    /// others are 0.
    pub fn log2_pad(mut self, log2_pad: u32) -> Ntt {
        self.log2_pad = log2_pad;
        self
    }

    pub(crate) fn params(self, domain: &Domain) -> sys::gx_ntt_params {
        sys::gx_ntt_params {
            struct_size: size_of::<sys::gx_ntt_params>(),
            domain: domain.raw,
            log2_n: self.log2_n.unwrap_or(domain.log2_size),
            log2_pad: self.log2_pad,
            flags: self.flags,
            reserved: 0,
        }
    }
}
