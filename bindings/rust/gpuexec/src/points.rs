// SPDX-License-Identifier: Apache-2.0

use std::fmt;
use std::mem::size_of;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use gpuexec_sys as sys;

use crate::callback::{self, Owned};
use crate::context::{Context, Inner};
use crate::element::{Affine, Curve, PointForm, Scalar};
use crate::error::{check, Detail, Error, Result};
use crate::jobs::{Jobs, Msm};

/// What is checked when points are read, besides that they are well-formed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Check {
    /// They are on the curve.
    #[default]
    Curve = sys::GX_CHECK_CURVE,
    /// And in the subgroup of the generator.
    Subgroup = sys::GX_CHECK_SUBGROUP,
    None = sys::GX_CHECK_NONE,
}

/// How points are read and kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct PointsOptions {
    pub check: Check,
    /// Most memory on each device for multiples of the points, which make jobs faster; 0: none.
    pub table_bytes: u64,
}

/// Points of one curve that jobs use repeatedly: [`Jobs::msm`].
///
/// The library keeps a copy of them. Any thread may use them.
pub struct Points {
    raw: *mut sys::gx_points,
    curve: Curve,
    ctx: Arc<Inner>,
}

// SAFETY: any thread may use points; they never change.
unsafe impl Send for Points {}
unsafe impl Sync for Points {}

impl Points {
    /// Checks that the points are on the curve, and copies them.
    pub fn new<P: Affine>(ctx: &Context, points: &[P]) -> Result<Points> {
        Points::with(ctx, points, PointsOptions::default())
    }

    pub fn with<P: Affine>(ctx: &Context, points: &[P], options: PointsOptions) -> Result<Points> {
        // SAFETY: the points of a slice.
        unsafe {
            let (from, count) = (points.as_ptr().cast(), points.len());
            Points::create(ctx, P::CURVE, PointForm::XyMont, from, count, options)
        }
    }

    /// Points in any form that the curve has, one after the other.
    pub fn from_bytes(
        ctx: &Context,
        curve: Curve,
        form: PointForm,
        bytes: &[u8],
        options: PointsOptions,
    ) -> Result<Points> {
        let size = curve.point_bytes(form);
        if size == 0 || bytes.len() % size != 0 {
            return Err(Error::invalid(format!(
                "{} bytes are no points of {size} bytes each",
                bytes.len()
            )));
        }
        // SAFETY: so many points are in the slice.
        unsafe { Points::create(ctx, curve, form, bytes.as_ptr(), bytes.len() / size, options) }
    }

    /// # Safety
    /// There are `count` points of that form.
    pub(crate) unsafe fn create(
        ctx: &Context,
        curve: Curve,
        form: PointForm,
        points: *const u8,
        count: usize,
        options: PointsOptions,
    ) -> Result<Points> {
        let desc = sys::gx_points_params {
            struct_size: size_of::<sys::gx_points_params>(),
            curve: curve as u32,
            form: form as u32,
            points: points.cast(),
            count,
            check: options.check as u32,
            table_bytes: options.table_bytes,
            ..Default::default()
        };
        let (mut raw, mut bad) = (ptr::null_mut(), u64::MAX);
        match sys::gx_points_create(ctx.inner.raw()?, &desc, &mut raw, &mut bad) {
            sys::GX_OK => Ok(Points { raw, curve, ctx: ctx.inner.clone() }),
            status => {
                let message = Error::last(status).message().into();
                let index = (bad != u64::MAX).then_some(bad);
                Err(Error::new(status, Detail { message, index, ..Detail::default() }))
            }
        }
    }

    pub fn curve(&self) -> Curve {
        self.curve
    }

    pub fn len(&self) -> usize {
        // SAFETY: the points are ours.
        unsafe { sys::gx_points_count(self.raw) }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Some of the points, in any form that the curve has.
    pub fn read(&self, range: Range<usize>, form: PointForm) -> Result<Vec<u8>> {
        self.ctx.raw()?;
        if range.start > range.end || range.end > self.len() {
            return Err(Error::invalid(format!("points {range:?} of {}", self.len())));
        }
        let mut out = vec![0; range.len() * self.curve.point_bytes(form)];
        // SAFETY: room for so many points.
        check(unsafe {
            let (first, count, to) = (range.start, range.len(), out.as_mut_ptr().cast());
            sys::gx_points_read(self.raw, first, count, form as u32, to)
        })?;
        Ok(out)
    }

    /// The sum of scalar i times point i. Batches, buffers and asynchronous sums are jobs:
    /// [`Jobs::msm`].
    pub fn msm<S: Scalar, P: Affine>(&self, scalars: &[S]) -> Result<P> {
        if P::CURVE != self.curve {
            return Err(Error::invalid(format!("the points are of {}", self.curve.name())));
        }
        let ctx = self.context();
        let mut sum = [P::default()];
        ctx.run(Jobs::new().msm(self, &Msm::default(), scalars, &mut sum))?;
        Ok(sum[0])
    }

    pub fn context(&self) -> Context {
        Context { inner: self.ctx.clone() }
    }

    pub(crate) fn raw(&self) -> *const sys::gx_points {
        self.raw
    }
}

/// Each scalar times the base, or times the generator: [`Jobs::msm`] with one point, on the CPU,
/// which computes them together.
pub fn multiples<S: Scalar, P: Affine>(
    ctx: &Context,
    base: Option<&P>,
    scalars: &[S],
) -> Result<Vec<P>> {
    let mut out = vec![P::default(); scalars.len()];
    // SAFETY: one point, of the caller or of the library's own table.
    let point = unsafe {
        let generator = (*sys::gx_curve_get_info(P::CURVE as u32)).generator;
        let from = base.map_or(generator.cast(), |p| ptr::from_ref(p).cast());
        Points::create(ctx, P::CURVE, PointForm::XyMont, from, 1, PointsOptions::default())?
    };
    ctx.run(Jobs::new().device("cpu").msm(&point, &Msm::default(), scalars, &mut out))?;
    Ok(out)
}

impl Drop for Points {
    fn drop(&mut self) {
        let (raw, ctx) = (Owned(self.raw), self.ctx.clone());
        callback::free(move || {
            // SAFETY: the last use, before the context is closed.
            unsafe { sys::gx_points_destroy(&mut raw.get()) };
            drop(ctx);
        });
    }
}

impl fmt::Debug for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Points of {}", self.len(), self.curve.name())
    }
}
