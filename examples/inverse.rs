// SPDX-License-Identifier: Apache-2.0
//
// Inverts a batch of scalars of BLS12-381, and checks that each x * 1/x is one. The
// interface is declared by hand: gx_job is a plain C struct that never changes.
//
//   rustc -O $(pkg-config --libs-only-L gpuexec) -l gpuexec inverse.rs
//   LD_LIBRARY_PATH=$(pkg-config --variable=libdir gpuexec) ./inverse

use std::ffi::CStr;
use std::os::raw::{c_char, c_void};
use std::ptr;

#[repr(C)]
#[derive(Clone, Copy)]
struct Operand {
    host: *mut c_void,
    buf: *mut c_void,
    offset: usize,
    broadcast: u32,
    reserved: u32,
}

#[repr(C)]
struct Job {
    op: u32,
    field: u32,
    n: usize,
    a: Operand,
    b: Operand,
    c: Operand,
    out: Operand,
    flags: u32,
    reserved: u32,
    params: *const c_void,
}

extern "C" {
    fn gx_open(config: *const c_void, ctx: *mut *mut c_void) -> i32;
    fn gx_close(ctx: *mut *mut c_void);
    fn gx_run(ctx: *mut c_void, jobs: *const Job, n: usize, opts: *const c_void, reports: *mut c_void) -> i32;
    fn gx_last_message() -> *const c_char;
}

const GX_BLS12_381_FR: u32 = 2;
const GX_MUL: u32 = 3;
const GX_INV: u32 = 6;
const GX_FROM_MONT: u32 = 10;

type Element = [u64; 4];

const NONE: Operand = Operand { host: ptr::null_mut(), buf: ptr::null_mut(), offset: 0, broadcast: 0, reserved: 0 };

// The library reads operands and writes `out`.
fn operand(elements: &[Element]) -> Operand {
    Operand { host: elements.as_ptr() as *mut c_void, ..NONE }
}

fn job(op: u32, a: &[Element], b: Option<&[Element]>, out: &mut [Element]) -> Job {
    assert!(a.len() == out.len() && b.map_or(true, |b| b.len() == out.len()));
    let out_operand = Operand { host: out.as_mut_ptr() as *mut c_void, ..NONE };
    Job {
        op,
        field: GX_BLS12_381_FR,
        n: out.len(),
        a: operand(a),
        b: b.map_or(NONE, operand),
        c: NONE,
        out: out_operand,
        flags: 0,
        reserved: 0,
        params: ptr::null(),
    }
}

fn check(status: i32) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    let message = unsafe { CStr::from_ptr(gx_last_message()) };
    Err(message.to_string_lossy().into_owned())
}

fn invert(ctx: *mut c_void) -> Result<(), String> {
    // Any value below the modulus is some element in Montgomery form.
    let x: Vec<Element> = (1..=10_000).map(|i| [i, i * i, 0, i]).collect();
    let mut inverse = vec![[0u64; 4]; x.len()];
    let mut product = vec![[0u64; 4]; x.len()];
    let mut plain = vec![[0u64; 4]; x.len()];

    let jobs = [
        job(GX_INV, &x, None, &mut inverse),
        job(GX_MUL, &x, Some(&inverse), &mut product),
        job(GX_FROM_MONT, &product, None, &mut plain),
    ];
    check(unsafe { gx_run(ctx, jobs.as_ptr(), jobs.len(), ptr::null(), ptr::null_mut()) })?;

    match plain.iter().position(|one| *one != [1, 0, 0, 0]) {
        Some(i) => Err(format!("x * 1/x is not 1 at {}", i)),
        None => {
            println!("{} inverses, each x * 1/x is 1", x.len());
            Ok(())
        }
    }
}

fn main() {
    let mut ctx: *mut c_void = ptr::null_mut();
    let result = check(unsafe { gx_open(ptr::null(), &mut ctx) }).and_then(|()| invert(ctx));
    unsafe { gx_close(&mut ctx) };
    if let Err(message) = result {
        eprintln!("inverse: {}", message);
        std::process::exit(1);
    }
}
