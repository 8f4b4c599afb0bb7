// SPDX-License-Identifier: Apache-2.0

use std::ffi::{c_char, c_void, CString};
use std::fmt;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use gpuexec_sys as sys;

use crate::buffer::{Buffer, BufferSlice, BufferSliceMut};
use crate::context::string;
use crate::domain::{Domain, Ntt};
use crate::element::{Element, Pod, PointForm, Scalar};
use crate::error::{Detail, Error, Result};
use crate::points::Points;
use crate::report::{outcome, Report};

/// Memory that a job uses: elements in host memory or a buffer, or a [`Var`].
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Arg {
    operand: sys::gx_operand,
    len: usize,
    bytes: usize,
    /// Of a [`Var`]: the list it belongs to, and its place there.
    var: Option<(u64, usize)>,
}

impl Arg {
    fn host<T>(elements: *const T, len: usize) -> Arg {
        let operand = sys::gx_operand { host: elements as *mut c_void, ..Default::default() };
        Arg { operand, len, bytes: len * size_of::<T>(), var: None }
    }

    fn buffer<T: Pod>(buffer: &Buffer<T>, range: Range<usize>) -> Arg {
        let len = range.len();
        Arg { operand: buffer.operand(&range), len, bytes: len * size_of::<T>(), var: None }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// What a job reads for as long as `'a`: `&[T]`, `&Vec<T>`, `&[T; N]`, `&Buffer<T>`, part of a
/// buffer, a [`Var`], or [`one`] of these.
pub trait Input<'a>: sealed::Sealed {
    type Item: Pod;
    #[doc(hidden)]
    fn arg(self) -> Arg;
}

/// What a job writes: `&mut [T]`, `&mut Vec<T>`, `&mut [T; N]`, `&mut Buffer<T>`, part of a buffer,
/// or a [`Var`] that may be written.
pub trait Output<'a>: sealed::Sealed {
    type Item: Pod;
    #[doc(hidden)]
    fn arg(self) -> Arg;
}

macro_rules! memory {
    ($trait:ident, [$($generics:tt)*] $type:ty, $self:ident => $arg:expr) => {
        impl<$($generics)*> sealed::Sealed for $type {}
        impl<$($generics)*> $trait<'a> for $type {
            type Item = T;
            fn arg($self) -> Arg {
                $arg
            }
        }
    };
}

memory!(Input, ['a, T: Pod] &'a [T], self => Arg::host(self.as_ptr(), self.len()));
memory!(Input, ['a, T: Pod] &'a Vec<T>, self => Arg::host(self.as_ptr(), self.len()));
memory!(Input, ['a, T: Pod, const N: usize] &'a [T; N], self => Arg::host(self.as_ptr(), N));
memory!(Input, ['a, T: Pod] &'a Buffer<T>, self => Arg::buffer(self, 0..self.len()));
memory!(Input, ['a, T: Pod] BufferSlice<'a, T>, self => Arg::buffer(self.buffer, self.range));
memory!(Output, ['a, T: Pod] &'a mut [T], self => Arg::host(self.as_mut_ptr(), self.len()));
memory!(Output, ['a, T: Pod] &'a mut Vec<T>, self => Arg::host(self.as_mut_ptr(), self.len()));
memory!(Output, ['a, T: Pod, const N: usize] &'a mut [T; N], self => {
    Arg::host(self.as_mut_ptr(), N)
});
memory!(Output, ['a, T: Pod] &'a mut Buffer<T>, self => Arg::buffer(self, 0..self.len()));
memory!(Output, ['a, T: Pod] BufferSliceMut<'a, T>, self => Arg::buffer(self.buffer, self.range));

/// Memory that several jobs of one [`Jobs`] use, one after the other: [`Jobs::var`].
pub struct Var<T> {
    list: u64,
    index: usize,
    elements: PhantomData<fn() -> T>,
}

impl<T> Clone for Var<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Var<T> {}

impl<T> Var<T> {
    fn arg(self) -> Arg {
        let operand = sys::gx_operand::default();
        Arg { operand, len: 0, bytes: 0, var: Some((self.list, self.index)) }
    }
}

impl<T> sealed::Sealed for Var<T> {}

impl<T: Pod> Input<'_> for Var<T> {
    type Item = T;
    fn arg(self) -> Arg {
        Var::arg(self)
    }
}

impl<T: Pod> Output<'_> for Var<T> {
    type Item = T;
    fn arg(self) -> Arg {
        Var::arg(self)
    }
}

/// A single element that is used for all: `jobs.mul(&a, one(&x), &mut out)`.
pub fn one<T: Pod>(element: &T) -> One<&[T]> {
    One(std::slice::from_ref(element))
}

/// A single element that is used for all, for example of a buffer: `One(&buffer)`.
#[derive(Clone, Copy)]
pub struct One<I>(pub I);

impl<I> sealed::Sealed for One<I> {}

impl<'a, I: Input<'a>> Input<'a> for One<I> {
    type Item = I::Item;
    fn arg(self) -> Arg {
        let mut arg = self.0.arg();
        arg.operand.broadcast = 1;
        arg
    }
}

/// Which points and scalars a multi-scalar multiplication uses, and how it writes its results.
#[derive(Clone, Debug)]
pub struct Msm {
    /// The points; `None`: all.
    pub points: Option<Range<usize>>,
    /// Plain scalars have so many bits; others are ignored. 0: 256.
    pub scalar_bits: u32,
    pub form: PointForm,
}

impl Default for Msm {
    fn default() -> Msm {
        Msm { points: None, scalar_bits: 0, form: PointForm::XyMont }
    }
}

#[derive(Clone, Copy)]
enum Params {
    Ntt(sys::gx_ntt_params),
    Poly(sys::gx_poly_params),
    Msm(sys::gx_msm_params),
}

impl Params {
    fn poly(count: usize) -> Option<Params> {
        Params::poly_with(count, 0)
    }

    fn poly_with(count: usize, flags: u32) -> Option<Params> {
        Some(Params::Poly(sys::gx_poly_params {
            struct_size: size_of::<sys::gx_poly_params>(),
            count: count as u64,
            flags,
            reserved: 0,
        }))
    }

    fn as_ptr(&self) -> *const c_void {
        match self {
            Params::Ntt(p) => ptr::from_ref(p).cast(),
            Params::Poly(p) => ptr::from_ref(p).cast(),
            Params::Msm(p) => ptr::from_ref(p).cast(),
        }
    }
}

/// How a device is chosen for jobs that name none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Policy {
    /// As the context is set.
    #[default]
    Auto = sys::GX_POLICY_AUTO,
    Cpu = sys::GX_POLICY_CPU,
    /// Any device but the CPU.
    Gpu = sys::GX_POLICY_GPU,
    Throughput = sys::GX_POLICY_THROUGHPUT,
}

/// Jobs to run, one after the other, and the memory they borrow.
///
/// Each method adds a job. A length that does not fit, or any other mistake, is the error of the
/// call that runs them; nothing runs then.
///
/// ```no_run
/// # use gpuexec::{bn254::Fr, Context, Jobs};
/// # fn main() -> gpuexec::Result<()> {
/// # let (a, b, mut c) = (vec![Fr::default(); 4], vec![Fr::default(); 4], vec![Fr::default(); 4]);
/// let ctx = Context::new()?;
/// ctx.run(Jobs::new().mul(&a, &b, &mut c))?;
/// # Ok(())
/// # }
/// ```
///
/// A job may use what another one wrote. Both then name it by a [`Var`]:
///
/// ```no_run
/// # use gpuexec::{bn254::Fr, Context, Jobs};
/// # fn main() -> gpuexec::Result<()> {
/// # let ctx = Context::new()?;
/// # let (x, mut y) = (vec![Fr::default(); 4], vec![Fr::default(); 4]);
/// let mut jobs = Jobs::new();
/// let y = jobs.var_mut(&mut y);
/// jobs.inv(&x, y).mul(&x, y, y); // the second one in place
/// ctx.run(&mut jobs)?;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Jobs<'a> {
    jobs: Vec<sys::gx_job>,
    /// With the index of their job.
    params: Vec<(usize, Params)>,
    vars: Vec<(Arg, bool)>,
    /// Which vars are ours; 0: there are none yet.
    id: u64,
    device: Option<CString>,
    policy: Policy,
    reports: Vec<Report>,
    error: Option<Error>,
    memory: PhantomData<&'a mut ()>,
}

// SAFETY: pointers to memory that is borrowed for 'a, exclusively if it is written; running the
// jobs takes `&mut`.
unsafe impl Send for Jobs<'_> {}
unsafe impl Sync for Jobs<'_> {}

impl<'a> Jobs<'a> {
    pub fn new() -> Jobs<'a> {
        Jobs::default()
    }

    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// The device to run on: `"cpu"`, `"vulkan:0"`.
    pub fn device(&mut self, name: &str) -> &mut Self {
        match string(name) {
            Ok(name) => self.device = Some(name),
            Err(e) => self.fail(e),
        }
        self
    }

    pub fn policy(&mut self, policy: Policy) -> &mut Self {
        self.policy = policy;
        self
    }

    /// Skips the check of the inputs of the job added last: that elements are below the modulus, and
    /// indices in range. If one is not, all results of the job are unspecified.
    pub fn unchecked(&mut self) -> &mut Self {
        if let Some(job) = self.jobs.last_mut() {
            job.flags |= sys::GX_JOB_UNCHECKED;
        }
        self
    }

    /// The report of each job, after [`Context::run`](crate::Context::run), even if it failed.
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// Memory that several of the jobs read.
    pub fn var<I: Input<'a>>(&mut self, memory: I) -> Var<I::Item> {
        let arg = memory.arg();
        self.add_var(arg, false)
    }

    /// Memory that some of the jobs write, and others read.
    pub fn var_mut<O: Output<'a>>(&mut self, memory: O) -> Var<O::Item> {
        let arg = memory.arg();
        self.add_var(arg, true)
    }

    fn add_var<T>(&mut self, arg: Arg, writable: bool) -> Var<T> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        if self.id == 0 {
            self.id = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(var) = arg.var {
            // Of a var: the same one.
            return Var { list: var.0, index: var.1, elements: PhantomData };
        }
        self.vars.push((arg, writable));
        Var { list: self.id, index: self.vars.len() - 1, elements: PhantomData }
    }

    fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    // ---- adding a job ----

    fn push(
        &mut self,
        op: sys::gx_op,
        field: sys::gx_field,
        n: Length,
        inputs: [(Option<Arg>, Length); 3],
        out: (Arg, Length),
        params: Option<Params>,
    ) -> &mut Self {
        if let Err(mut error) = self.try_push(op, field, n, inputs, out, params) {
            if let Error::Invalid(detail) = &mut error {
                detail.job = Some(self.jobs.len());
                detail.message = format!("job {}: {}", self.jobs.len(), detail.message);
            }
            self.fail(error);
            // A job that stands for it, so that those that follow have their numbers.
            self.jobs.push(sys::gx_job::default());
        }
        self
    }

    fn try_push(
        &mut self,
        op: sys::gx_op,
        field: sys::gx_field,
        n: Length,
        mut inputs: [(Option<Arg>, Length); 3],
        out: (Arg, Length),
        params: Option<Params>,
    ) -> Result<()> {
        let out_arg = self.resolve(out.0, true)?;
        for arg in inputs.iter_mut().filter_map(|(arg, _)| arg.as_mut()) {
            *arg = self.resolve(*arg, false)?;
        }
        let n = match n {
            Length::OfOut => out_arg.len,
            Length::Is(n) => n,
            Length::OfInputs => {
                let given = |arg: &&Arg| arg.operand.broadcast == 0;
                let mut lens = inputs.iter().filter_map(|(arg, _)| arg.as_ref());
                lens.find(given).map_or(1, |arg| arg.len)
            }
        };
        let length = |length: Length| if let Length::Is(len) = length { len } else { n };
        let mut job = sys::gx_job {
            op,
            field,
            n,
            params: params.as_ref().map_or(ptr::null(), Params::as_ptr),
            ..Default::default()
        };
        let to = [(&mut job.a, "operand a"), (&mut job.b, "operand b"), (&mut job.c, "operand c")];
        for ((arg, want), (to, name)) in inputs.iter().zip(to) {
            let Some(arg) = arg else { continue };
            let want = if arg.operand.broadcast != 0 { 1 } else { length(*want) };
            expect(arg.len, want, name)?;
            *to = arg.operand;
        }
        expect(out_arg.len, length(out.1), "out")?;
        job.out = out_arg.operand;

        // What the library will touch, by its own account, must be what was borrowed.
        let given = [inputs[0].0, inputs[1].0, inputs[2].0, Some(out_arg)];
        for (arg, name) in given.iter().zip(*b"abco") {
            // SAFETY: a job whose params are still here.
            let bytes = unsafe { sys::gx_operand_bytes(&job, name as c_char) };
            let have = arg.map_or(0, |arg| arg.bytes);
            if bytes > have {
                let name = char::from(name);
                return Err(Error::invalid(format!("operand {name}: {have} bytes of {bytes}")));
            }
        }
        if let Some(params) = params {
            self.params.push((self.jobs.len(), params));
        }
        job.params = ptr::null(); // set when it runs: the list of them may move until then
        self.jobs.push(job);
        Ok(())
    }

    /// The memory of a var.
    fn resolve(&self, arg: Arg, write: bool) -> Result<Arg> {
        let Some((list, index)) = arg.var else { return Ok(arg) };
        if list != self.id {
            return Err(Error::invalid("a Var of other Jobs"));
        }
        let (mut memory, writable) = self.vars[index];
        if write && !writable {
            return Err(Error::invalid("out is a Var that may only be read: use var_mut"));
        }
        memory.operand.broadcast |= arg.operand.broadcast;
        Ok(memory)
    }

    fn elementwise<T: Element, const N: usize>(
        &mut self,
        op: sys::gx_op,
        inputs: [Arg; N],
        out: Arg,
    ) -> &mut Self {
        let mut args = [(None, Length::OfOut); 3];
        for (to, arg) in args.iter_mut().zip(inputs) {
            to.0 = Some(arg);
        }
        let out = (out, Length::OfOut);
        self.push(op, T::FIELD as u32, Length::OfOut, args, out, None)
    }

    // ---- arithmetic ----

    /// out = a + b
    pub fn add<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        b: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.elementwise::<T, 2>(sys::GX_ADD, [a.arg(), b.arg()], out.arg())
    }

    /// out = a - b
    pub fn sub<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        b: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.elementwise::<T, 2>(sys::GX_SUB, [a.arg(), b.arg()], out.arg())
    }

    /// out = a * b
    pub fn mul<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        b: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.elementwise::<T, 2>(sys::GX_MUL, [a.arg(), b.arg()], out.arg())
    }

    /// out = a / b; 0 if b is 0
    pub fn div<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        b: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.elementwise::<T, 2>(sys::GX_DIV, [a.arg(), b.arg()], out.arg())
    }

    /// out = a * b + c
    pub fn mul_add<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        b: impl Input<'a, Item = T>,
        c: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.elementwise::<T, 3>(sys::GX_MUL_ADD, [a.arg(), b.arg(), c.arg()], out.arg())
    }

    /// out = -a
    pub fn neg<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.elementwise::<T, 1>(sys::GX_NEG, [a.arg()], out.arg())
    }

    /// out = a * a
    pub fn sqr<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.elementwise::<T, 1>(sys::GX_SQR, [a.arg()], out.arg())
    }

    /// out = 1 / a; 0 if a is 0
    pub fn inv<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.elementwise::<T, 1>(sys::GX_INV, [a.arg()], out.arg())
    }

    /// Plain integers below the modulus, in the same limbs, to Montgomery form.
    pub fn to_mont<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.elementwise::<T, 1>(sys::GX_TO_MONT, [a.arg()], out.arg())
    }

    /// Montgomery form to plain integers.
    pub fn from_mont<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.elementwise::<T, 1>(sys::GX_FROM_MONT, [a.arg()], out.arg())
    }

    /// out, one element, = a\[0\] + a\[1\] + ...
    pub fn sum<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        let inputs = [(Some(a.arg()), Length::OfInputs), NONE, NONE];
        let (field, out) = (T::FIELD as u32, (out.arg(), Length::Is(1)));
        self.push(sys::GX_SUM, field, Length::OfInputs, inputs, out, None)
    }

    /// out, one element, = a\[0\] * b\[0\] + a\[1\] * b\[1\] + ...
    pub fn dot<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        b: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        let n = Length::OfInputs;
        let inputs = [(Some(a.arg()), n), (Some(b.arg()), n), NONE];
        self.push(sys::GX_DOT, T::FIELD as u32, n, inputs, (out.arg(), Length::Is(1)), None)
    }

    // ---- transforms and polynomials ----

    /// Transforms over the domain: out is a, or does not overlap it. out has as many elements as
    /// there are in all transforms together.
    pub fn ntt<T: Element>(
        &mut self,
        domain: &'a Domain,
        ntt: Ntt,
        a: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        let (a, out) = (a.arg(), out.arg());
        let params = ntt.params(domain);
        let len = match self.resolve(out, true) {
            Ok(out) => out.len,
            Err(e) => {
                self.fail(e);
                return self;
            }
        };
        let inputs =
            [(Some(a), Length::Is(len.checked_shr(ntt.log2_pad).unwrap_or(0))), NONE, NONE];
        let (n, out) = (Length::OfOut, (out, Length::OfOut));
        self.push(sys::GX_NTT, T::FIELD as u32, n, inputs, out, Some(Params::Ntt(params)))
    }

    /// out\[i\] = a\[0\] + ... + a\[i\]
    pub fn prefix_sum<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.elementwise::<T, 1>(sys::GX_PREFIX_SUM, [a.arg()], out.arg())
    }

    /// out\[i\] = a\[0\] * ... * a\[i\]
    pub fn prefix_product<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.elementwise::<T, 1>(sys::GX_PREFIX_PRODUCT, [a.arg()], out.arg())
    }

    /// out\[i\] = x^i
    pub fn powers<T: Element>(
        &mut self,
        x: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        let inputs = [(Some(x.arg()), Length::Is(1)), NONE, NONE];
        let (n, out) = (Length::OfOut, (out.arg(), Length::OfOut));
        self.push(sys::GX_POWERS, T::FIELD as u32, n, inputs, out, None)
    }

    /// out\[c * count + i\] = x^i * y^c, for i < count
    pub fn cosets<T: Element>(
        &mut self,
        x: impl Input<'a, Item = T>,
        y: impl Input<'a, Item = T>,
        count: usize,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        let inputs = [(Some(x.arg()), Length::Is(1)), (Some(y.arg()), Length::Is(1)), NONE];
        let (n, out) = (Length::OfOut, (out.arg(), Length::OfOut));
        self.push(sys::GX_COSETS, T::FIELD as u32, n, inputs, out, Params::poly(count))
    }

    /// out, one element, = a\[0\] + a\[1\] * x + a\[2\] * x^2 + ...
    pub fn evaluate<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        x: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.evaluate_with::<T>(a.arg(), x.arg(), out.arg(), 0)
    }

    /// The same with coefficients in bit-reversed order.
    pub fn evaluate_reversed<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        x: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.evaluate_with::<T>(a.arg(), x.arg(), out.arg(), sys::GX_POLY_REVERSED)
    }

    fn evaluate_with<T: Element>(&mut self, a: Arg, x: Arg, out: Arg, flags: u32) -> &mut Self {
        let n = Length::OfInputs;
        let inputs = [(Some(a), n), (Some(x), Length::Is(1)), NONE];
        let (out, params) = ((out, Length::Is(1)), Params::poly_with(0, flags));
        self.push(sys::GX_EVALUATE, T::FIELD as u32, n, inputs, out, params)
    }

    /// The quotient of the polynomial a by X - x; the last element of out is 0.
    pub fn divide_linear<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        x: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        let inputs = [(Some(a.arg()), Length::OfOut), (Some(x.arg()), Length::Is(1)), NONE];
        let (n, out) = (Length::OfOut, (out.arg(), Length::OfOut));
        self.push(sys::GX_DIVIDE_LINEAR, T::FIELD as u32, n, inputs, out, None)
    }

    /// out\[i\] = a\[i with its bits reversed\]
    pub fn bit_reverse<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.elementwise::<T, 1>(sys::GX_BIT_REVERSE, [a.arg()], out.arg())
    }

    /// out\[i\] = a\[indices\[i\]\]
    pub fn gather<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        indices: impl Input<'a, Item = u32>,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        let (a, indices, out) = (a.arg(), indices.arg(), out.arg());
        let len = match self.resolve(a, false) {
            Ok(a) => a.len,
            Err(e) => {
                self.fail(e);
                return self;
            }
        };
        let inputs = [(Some(a), Length::Is(len)), (Some(indices), Length::OfOut), NONE];
        let (n, out) = (Length::OfOut, (out, Length::OfOut));
        self.push(sys::GX_GATHER, T::FIELD as u32, n, inputs, out, Params::poly(len))
    }

    /// out\[i\] = a\[(i + by) mod n\]
    pub fn rotate<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        by: usize,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.parts::<T>(sys::GX_ROTATE, a.arg(), by, out.arg())
    }

    /// `parts` parts of a, one after the other, to out\[i * parts + part\]
    pub fn interleave<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        parts: usize,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.parts::<T>(sys::GX_INTERLEAVE, a.arg(), parts, out.arg())
    }

    /// The inverse of [`Jobs::interleave`].
    pub fn deinterleave<T: Element>(
        &mut self,
        a: impl Input<'a, Item = T>,
        parts: usize,
        out: impl Output<'a, Item = T>,
    ) -> &mut Self {
        self.parts::<T>(sys::GX_DEINTERLEAVE, a.arg(), parts, out.arg())
    }

    fn parts<T: Element>(&mut self, op: sys::gx_op, a: Arg, count: usize, out: Arg) -> &mut Self {
        let inputs = [(Some(a), Length::OfOut), NONE, NONE];
        let (n, out) = (Length::OfOut, (out, Length::OfOut));
        self.push(op, T::FIELD as u32, n, inputs, out, Params::poly(count))
    }

    // ---- points ----

    /// Sums of scalars times points: one result for each `count` scalars, `count` being the number
    /// of points used. out has the bytes of the results in [`Msm::form`], in whatever type.
    pub fn msm<S: Scalar, P: Pod>(
        &mut self,
        points: &'a Points,
        msm: &Msm,
        scalars: impl Input<'a, Item = S>,
        out: impl Output<'a, Item = P>,
    ) -> &mut Self {
        let (scalars, out) = (scalars.arg(), out.arg());
        match self.msm_params::<S, P>(points, msm, scalars, out) {
            Ok((n, params)) => {
                let inputs = [(Some(scalars), Length::Is(n)), NONE, NONE];
                let field = points.curve().scalar_field();
                let out_len = self.resolve(out, true).map_or(0, |out| out.len);
                let (n, out) = (Length::Is(n), (out, Length::Is(out_len)));
                self.push(sys::GX_MSM, field, n, inputs, out, Some(Params::Msm(params)))
            }
            Err(e) => {
                self.fail(e);
                self
            }
        }
    }

    fn msm_params<S: Scalar, P: Pod>(
        &self,
        points: &Points,
        msm: &Msm,
        scalars: Arg,
        out: Arg,
    ) -> Result<(usize, sys::gx_msm_params)> {
        let job = self.jobs.len();
        let (scalars, out) = (self.resolve(scalars, false)?, self.resolve(out, true)?);
        if let Some(field) = S::FIELD {
            if field as u32 != points.curve().scalar_field() {
                return Err(Error::invalid(format!(
                    "job {job}: scalars are of {}, points of {}",
                    field.name(),
                    points.curve().name()
                )));
            }
        }
        let range = msm.points.clone().unwrap_or(0..points.len());
        let (n, count) = (scalars.len, range.len());
        if range.start > range.end || (count == 0 && n > 0) || (count > 0 && n % count != 0) {
            return Err(Error::invalid(format!("job {job}: {n} scalars for {count} points")));
        }
        let results = n.checked_div(count).unwrap_or(1);
        let bytes = points.curve().point_bytes(msm.form);
        expect(out.len * size_of::<P>(), results * bytes, "bytes of out")?;
        Ok((
            n,
            sys::gx_msm_params {
                struct_size: size_of::<sys::gx_msm_params>(),
                points: points.raw(),
                first: range.start,
                count,
                scalar_form: match S::FIELD {
                    Some(_) => sys::GX_SCALAR_MONT,
                    None => sys::GX_SCALAR_PLAIN,
                },
                scalar_bits: msm.scalar_bits,
                result_form: msm.form as u32,
                reserved: 0,
            },
        ))
    }

    // ---- running ----

    /// The jobs, with pointers to their params, and blank reports.
    pub(crate) fn prepare(
        &mut self,
    ) -> Result<(&[sys::gx_job], sys::gx_run_params, &mut [Report])> {
        self.reports.clear();
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        for (job, params) in &self.params {
            self.jobs[*job].params = params.as_ptr();
        }
        self.reports.resize(self.jobs.len(), Report::blank());
        let opts = sys::gx_run_params {
            struct_size: size_of::<sys::gx_run_params>(),
            device: self.device.as_ref().map_or(ptr::null(), |d| d.as_ptr()),
            policy: self.policy as u32,
            ..Default::default()
        };
        Ok((&self.jobs, opts, &mut self.reports))
    }

    pub(crate) fn outcome(&self, status: sys::gx_status) -> Result<()> {
        outcome(status, &self.reports)
    }
}

impl fmt::Debug for Jobs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs")
            .field("len", &self.len())
            .field("device", &self.device)
            .field("error", &self.error)
            .finish_non_exhaustive()
    }
}

/// How many elements there must be.
#[derive(Clone, Copy)]
enum Length {
    /// As many as out has.
    OfOut,
    /// As many as the first operand that is not one for all.
    OfInputs,
    Is(usize),
}

const NONE: (Option<Arg>, Length) = (None, Length::Is(0));

fn expect(len: usize, want: usize, what: &str) -> Result<()> {
    if len == want {
        return Ok(());
    }
    let message = format!("{what}: {len} instead of {want}");
    Err(Error::Invalid(Detail { message, ..Detail::default() }))
}
