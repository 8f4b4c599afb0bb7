// SPDX-License-Identifier: Apache-2.0

//! Declarations of the C library gpuexec, made from `gpuexec.h` by bindgen.
//!
//! The header documents them. The crate `gpuexec` is the safe interface.
//!
//! The library is found in `$GPUEXEC_PREFIX` or by pkg-config; if it is not installed, it is built
//! with CMake from the tree that this crate is in. Feature `static` links the installed static
//! library, feature `source` always builds.

#![no_std]
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]

#[rustfmt::skip] // as bindgen writes it
mod bindings;
pub use bindings::*;
