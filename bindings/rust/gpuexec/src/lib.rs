// SPDX-License-Identifier: Apache-2.0

//! Batches of finite-field arithmetic, number-theoretic transforms and multi-scalar multiplication
//! on the fastest device of this machine: the CPU's vector units, Vulkan, CUDA and WebGPU.
//!
//! ```rust
//! use gpuexec::{bls12_381::Fr, Context, Domain, Jobs, Ntt};
//!
//! fn main() -> gpuexec::Result<()> {
//!     let ctx = Context::new()?;
//!     // 1 + 2 X + 3 X^2 + 4 X^3: integers, and elements in Montgomery form.
//!     let integers = [1, 2, 3, 4].map(|i| Fr([i, 0, 0, 0]));
//!     let mut x = [Fr::default(); 4];
//!     ctx.run(Jobs::new().to_mont(&integers, &mut x))?;
//!
//!     // Its values at the roots of unity, in place.
//!     Domain::new::<Fr>(&ctx, 2)?.transform(Ntt::forward(), &mut x)?;
//!
//!     let mut values = [Fr::default(); 4];
//!     let mut jobs = Jobs::new();
//!     ctx.run(jobs.from_mont(&x, &mut values))?;
//!     println!("on {} in {:?}", jobs.reports()[0].device(), jobs.reports()[0].total());
//!     assert_eq!(values[0].0, [10, 0, 0, 0]); // at 1
//!     Ok(())
//! }
//! ```
//!
//! A [`Context`] is the library, opened. [`Jobs`] are what it is to do, with the slices and
//! [`Buffer`]s they borrow. [`Context::run`] runs them; [`Context::submit`] and [`Context::scope`]
//! run them while the caller does something else.
//!
//! Elements are in the layout of arkworks, blst and gnark-crypto: limbs of the Montgomery form. The
//! types of [`bls12_381`] and [`bn254`] are just these limbs. With the feature `arkworks`, slices of
//! arkworks' own types are used as they are: see [`ark`].
//!
//! # Memory and lifetimes
//!
//! Jobs borrow their operands until they have run, so the compiler refuses memory that is freed,
//! read or written too early. Where two jobs use the same memory and one writes it, a [`Var`] says in
//! which order. Contexts, buffers, domains and points may be dropped in any order: each keeps its
//! context open. A slice of the wrong length, a log function that panics or calls the library, or a
//! job with objects of another context is an error, at run time.

#[cfg(feature = "arkworks")]
pub mod ark;
mod buffer;
mod callback;
mod context;
mod domain;
mod element;
mod error;
mod jobs;
mod points;
mod report;
mod ticket;

pub use gpuexec_sys as sys;

pub use buffer::{Buffer, BufferSlice, BufferSliceMut, Mapped, Registered};
pub use context::{counters, version, Builder, Context, Device, DeviceKind, Estimate, LogLevel};
pub use domain::{Domain, Ntt};
pub use element::{bls12_381, bn254, Affine, Curve, Element, Field, Pod, PointForm, Scalar};
pub use error::{Detail, Error, Result};
pub use jobs::{one, Input, Jobs, Msm, One, Output, Policy, Var};
pub use points::{multiples, Check, Points, PointsOptions};
pub use report::Report;
pub use ticket::{Scope, ScopedTicket, Ticket};

/// Tests the examples of the README.
#[cfg(all(doctest, feature = "arkworks"))]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// What the compiler refuses.
///
/// Memory that is freed while a ticket uses it:
///
/// ```compile_fail,E0505
/// # let ctx = gpuexec::Context::new().unwrap();
/// let a = vec![1u32; 4];
/// let mut out = vec![0; 4];
/// ctx.scope(|scope| {
///     let mut jobs = gpuexec::Jobs::new();
///     jobs.add(&a, &a, &mut out);
///     let ticket = scope.submit(jobs);
///     drop(a);
/// });
/// ```
///
/// Memory that does not live as long as the scope:
///
/// ```compile_fail,E0597
/// # let ctx = gpuexec::Context::new().unwrap();
/// let mut out = vec![0; 4];
/// ctx.scope(|scope| {
///     let a = vec![1u32; 4];
///     let mut jobs = gpuexec::Jobs::new();
///     jobs.add(&a, &a, &mut out);
///     let _ = scope.submit(jobs);
/// });
/// ```
///
/// A result that is read before it is there:
///
/// ```compile_fail,E0502
/// # let ctx = gpuexec::Context::new().unwrap();
/// let a = vec![1u32; 4];
/// let mut out = vec![0; 4];
/// ctx.scope(|scope| {
///     let mut jobs = gpuexec::Jobs::new();
///     jobs.add(&a, &a, &mut out);
///     let ticket = scope.submit(jobs);
///     println!("{out:?}");
/// });
/// ```
///
/// Data that a ticket owns:
///
/// ```compile_fail,E0382
/// # let ctx = gpuexec::Context::new().unwrap();
/// let data = (vec![1u32; 4], vec![0; 4]);
/// let ticket = ctx.submit(data, |(a, out), jobs| {
///     jobs.add(&*a, &*a, out);
/// });
/// println!("{:?}", data.1);
/// ```
///
/// Memory from elsewhere in such a ticket:
///
/// ```compile_fail,E0597
/// # let ctx = gpuexec::Context::new().unwrap();
/// let a = vec![1u32; 4];
/// let ticket = ctx.submit(vec![0; 4], |out, jobs| {
///     jobs.add(&a, &a, out);
/// });
/// ```
///
/// Two threads that write one buffer:
///
/// ```compile_fail,E0499
/// # let ctx = gpuexec::Context::new().unwrap();
/// let mut buffer = gpuexec::Buffer::<u32>::new(&ctx, "cpu", 4).unwrap();
/// std::thread::scope(|s| {
///     s.spawn(|| buffer.write(0, &[1; 4]));
///     s.spawn(|| buffer.write(0, &[2; 4]));
/// });
/// ```
///
/// A buffer that is used after it was freed, or freed while jobs may use it:
///
/// ```compile_fail,E0505
/// # let ctx = gpuexec::Context::new().unwrap();
/// let buffer = gpuexec::Buffer::<u32>::new(&ctx, "cpu", 4).unwrap();
/// let mut out = [0; 4];
/// let mut jobs = gpuexec::Jobs::new();
/// jobs.add(&buffer, &buffer, &mut out);
/// drop(buffer);
/// ctx.run(&mut jobs).unwrap();
/// ```
///
/// One memory that is written by two jobs without a [`Var`], which says in which order:
///
/// ```compile_fail,E0499
/// # let ctx = gpuexec::Context::new().unwrap();
/// let a = [1u32; 4];
/// let mut out = [0; 4];
/// ctx.run(gpuexec::Jobs::new().add(&a, &a, &mut out).mul(&a, &a, &mut out)).unwrap();
/// ```
#[cfg(doctest)]
pub struct Refused;
