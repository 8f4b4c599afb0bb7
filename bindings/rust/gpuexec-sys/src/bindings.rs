// SPDX-License-Identifier: Apache-2.0
//
// Made by bindgen from the headers: bindings/rust/test.sh says how.

pub const GX_VERSION_MAJOR: u32 = 0;
pub const GX_VERSION_MINOR: u32 = 1;
pub const GX_VERSION_PATCH: u32 = 0;
pub const GX_BUF_MAPPABLE: u32 = 1;
pub const GX_JOB_UNCHECKED: u32 = 1;
pub const GX_DEFAULT_GPU_ELEMS: u32 = 100000;
pub const GX_CANDIDATES_MAX: u32 = 8;
pub const GX_NTT_INVERSE: u32 = 1;
pub const GX_NTT_COSET: u32 = 2;
pub const GX_NTT_REVERSED_IN: u32 = 4;
pub const GX_NTT_REVERSED_OUT: u32 = 8;
pub const GX_NTT_COLUMNS: u32 = 16;
pub const GX_POLY_REVERSED: u32 = 1;
pub const GX_OP_WHOLE: u32 = 1;
pub const GX_OP_ONE_RESULT: u32 = 2;
pub const GX_OP_ELEMENT_BYTES: u32 = 4096;
pub const GX_OP_PARAMS_BYTES: u32 = 64;
pub type gx_status = i32;
pub const GX_OK: _bindgen_ty_1 = 0;
pub const GX_PENDING: _bindgen_ty_1 = 1;
pub const GX_ERR_INVALID: _bindgen_ty_1 = -1;
pub const GX_ERR_OVERLAP: _bindgen_ty_1 = -2;
pub const GX_ERR_NOT_CANONICAL: _bindgen_ty_1 = -3;
pub const GX_ERR_UNSUPPORTED: _bindgen_ty_1 = -4;
pub const GX_ERR_NO_DEVICE: _bindgen_ty_1 = -5;
pub const GX_ERR_OUT_OF_MEMORY: _bindgen_ty_1 = -6;
pub const GX_ERR_OUT_OF_DEVICE_MEMORY: _bindgen_ty_1 = -7;
pub const GX_ERR_DEVICE_LOST: _bindgen_ty_1 = -8;
pub const GX_ERR_DEVICE: _bindgen_ty_1 = -9;
pub const GX_ERR_NOT_RUN: _bindgen_ty_1 = -10;
pub const GX_ERR_TIMEOUT: _bindgen_ty_1 = -11;
pub const GX_ERR_CANCELLED: _bindgen_ty_1 = -12;
pub const GX_ERR_FILE: _bindgen_ty_1 = -13;
pub type _bindgen_ty_1 = ::core::ffi::c_int;
unsafe extern "C" {
    pub fn gx_status_name(s: gx_status) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn gx_status_message(s: gx_status) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn gx_version() -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn gx_last_message() -> *const ::core::ffi::c_char;
}
pub type gx_field = u32;
pub const GX_BLS12_381_FQ: _bindgen_ty_2 = 1;
pub const GX_BLS12_381_FR: _bindgen_ty_2 = 2;
pub const GX_BN254_FQ: _bindgen_ty_2 = 3;
pub const GX_BN254_FR: _bindgen_ty_2 = 4;
pub const GX_U32: _bindgen_ty_2 = 5;
pub const GX_F32: _bindgen_ty_2 = 6;
pub type _bindgen_ty_2 = ::core::ffi::c_uint;
pub type gx_op = u32;
pub const GX_ADD: _bindgen_ty_3 = 1;
pub const GX_SUB: _bindgen_ty_3 = 2;
pub const GX_MUL: _bindgen_ty_3 = 3;
pub const GX_NEG: _bindgen_ty_3 = 4;
pub const GX_SQR: _bindgen_ty_3 = 5;
pub const GX_INV: _bindgen_ty_3 = 6;
pub const GX_DIV: _bindgen_ty_3 = 7;
pub const GX_MUL_ADD: _bindgen_ty_3 = 8;
pub const GX_TO_MONT: _bindgen_ty_3 = 9;
pub const GX_FROM_MONT: _bindgen_ty_3 = 10;
pub const GX_SUM: _bindgen_ty_3 = 11;
pub const GX_DOT: _bindgen_ty_3 = 12;
pub const GX_NTT: _bindgen_ty_3 = 13;
pub const GX_PREFIX_SUM: _bindgen_ty_3 = 14;
pub const GX_PREFIX_PRODUCT: _bindgen_ty_3 = 15;
pub const GX_POWERS: _bindgen_ty_3 = 16;
pub const GX_COSETS: _bindgen_ty_3 = 17;
pub const GX_EVALUATE: _bindgen_ty_3 = 18;
pub const GX_DIVIDE_LINEAR: _bindgen_ty_3 = 19;
pub const GX_BIT_REVERSE: _bindgen_ty_3 = 20;
pub const GX_GATHER: _bindgen_ty_3 = 21;
pub const GX_ROTATE: _bindgen_ty_3 = 22;
pub const GX_INTERLEAVE: _bindgen_ty_3 = 23;
pub const GX_DEINTERLEAVE: _bindgen_ty_3 = 24;
pub const GX_MSM: _bindgen_ty_3 = 25;
pub type _bindgen_ty_3 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_field_info {
    pub name: *const ::core::ffi::c_char,
    pub element_bytes: u32,
    pub limbs: u32,
    pub modulus: *const u64,
    pub two_adicity: u32,
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_field_info"][::core::mem::size_of::<gx_field_info>() - 32usize];
    ["Alignment of gx_field_info"][::core::mem::align_of::<gx_field_info>() - 8usize];
    [
        "Offset of field: gx_field_info::name",
    ][::core::mem::offset_of!(gx_field_info, name) - 0usize];
    [
        "Offset of field: gx_field_info::element_bytes",
    ][::core::mem::offset_of!(gx_field_info, element_bytes) - 8usize];
    [
        "Offset of field: gx_field_info::limbs",
    ][::core::mem::offset_of!(gx_field_info, limbs) - 12usize];
    [
        "Offset of field: gx_field_info::modulus",
    ][::core::mem::offset_of!(gx_field_info, modulus) - 16usize];
    [
        "Offset of field: gx_field_info::two_adicity",
    ][::core::mem::offset_of!(gx_field_info, two_adicity) - 24usize];
    [
        "Offset of field: gx_field_info::reserved",
    ][::core::mem::offset_of!(gx_field_info, reserved) - 28usize];
};
impl Default for gx_field_info {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_op_info {
    pub name: *const ::core::ffi::c_char,
    pub result: *const ::core::ffi::c_char,
    pub operands: u32,
    pub reduces: u32,
    pub params: u32,
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_op_info"][::core::mem::size_of::<gx_op_info>() - 32usize];
    ["Alignment of gx_op_info"][::core::mem::align_of::<gx_op_info>() - 8usize];
    [
        "Offset of field: gx_op_info::name",
    ][::core::mem::offset_of!(gx_op_info, name) - 0usize];
    [
        "Offset of field: gx_op_info::result",
    ][::core::mem::offset_of!(gx_op_info, result) - 8usize];
    [
        "Offset of field: gx_op_info::operands",
    ][::core::mem::offset_of!(gx_op_info, operands) - 16usize];
    [
        "Offset of field: gx_op_info::reduces",
    ][::core::mem::offset_of!(gx_op_info, reduces) - 20usize];
    [
        "Offset of field: gx_op_info::params",
    ][::core::mem::offset_of!(gx_op_info, params) - 24usize];
    [
        "Offset of field: gx_op_info::reserved",
    ][::core::mem::offset_of!(gx_op_info, reserved) - 28usize];
};
impl Default for gx_op_info {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_field_get_info(field: gx_field) -> *const gx_field_info;
}
unsafe extern "C" {
    pub fn gx_op_get_info(op: gx_op) -> *const gx_op_info;
}
unsafe extern "C" {
    pub fn gx_field_by_name(name: *const ::core::ffi::c_char) -> gx_field;
}
unsafe extern "C" {
    pub fn gx_op_by_name(name: *const ::core::ffi::c_char) -> gx_op;
}
unsafe extern "C" {
    pub fn gx_op_exists(op: gx_op, field: gx_field) -> ::core::ffi::c_int;
}
#[repr(C)]
#[derive(Debug)]
pub struct gx_ctx {
    _unused: [u8; 0],
}
pub type gx_path = u32;
pub const GX_PATH_AUTO: _bindgen_ty_4 = 0;
pub const GX_PATH_HOST_VISIBLE: _bindgen_ty_4 = 1;
pub const GX_PATH_DEVICE_LOCAL: _bindgen_ty_4 = 2;
pub const GX_PATH_DIRECT: _bindgen_ty_4 = 3;
pub type _bindgen_ty_4 = ::core::ffi::c_uint;
pub type gx_mode = u32;
pub const GX_MODE_AUTO: _bindgen_ty_5 = 0;
pub const GX_MODE_SEQUENTIAL: _bindgen_ty_5 = 1;
pub const GX_MODE_SINGLE_SUBMIT: _bindgen_ty_5 = 2;
pub const GX_MODE_PIPELINED: _bindgen_ty_5 = 3;
pub type _bindgen_ty_5 = ::core::ffi::c_uint;
pub type gx_policy = u32;
pub const GX_POLICY_AUTO: _bindgen_ty_6 = 0;
pub const GX_POLICY_CPU: _bindgen_ty_6 = 1;
pub const GX_POLICY_GPU: _bindgen_ty_6 = 2;
pub const GX_POLICY_THROUGHPUT: _bindgen_ty_6 = 3;
pub type _bindgen_ty_6 = ::core::ffi::c_uint;
pub type gx_log_level = u32;
pub const GX_LOG_ERROR: _bindgen_ty_7 = 1;
pub const GX_LOG_WARNING: _bindgen_ty_7 = 2;
pub const GX_LOG_INFO: _bindgen_ty_7 = 3;
pub type _bindgen_ty_7 = ::core::ffi::c_uint;
pub type gx_log_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut ::core::ffi::c_void,
        level: gx_log_level,
        message: *const ::core::ffi::c_char,
    ),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_allocator {
    pub alloc: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            bytes: usize,
        ) -> *mut ::core::ffi::c_void,
    >,
    pub free: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            memory: *mut ::core::ffi::c_void,
        ),
    >,
    pub user: *mut ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_allocator"][::core::mem::size_of::<gx_allocator>() - 24usize];
    ["Alignment of gx_allocator"][::core::mem::align_of::<gx_allocator>() - 8usize];
    [
        "Offset of field: gx_allocator::alloc",
    ][::core::mem::offset_of!(gx_allocator, alloc) - 0usize];
    [
        "Offset of field: gx_allocator::free",
    ][::core::mem::offset_of!(gx_allocator, free) - 8usize];
    [
        "Offset of field: gx_allocator::user",
    ][::core::mem::offset_of!(gx_allocator, user) - 16usize];
};
impl Default for gx_allocator {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_config {
    pub struct_size: usize,
    pub device: *const ::core::ffi::c_char,
    pub policy: gx_policy,
    pub path: gx_path,
    pub mode: gx_mode,
    pub threads: u32,
    pub sample_every: u64,
    pub cpumask: *const ::core::ffi::c_char,
    pub validate: u32,
    pub ignore_environment: u32,
    pub dispatch_elems: u64,
    pub stream_chunk_elems: u64,
    pub device_memory: u64,
    pub queue_jobs: u64,
    pub trace: *const ::core::ffi::c_char,
    pub webgpu_backends: *const ::core::ffi::c_char,
    pub wgpu_library: *const ::core::ffi::c_char,
    pub cuda_library: *const ::core::ffi::c_char,
    pub cache_dir: *const ::core::ffi::c_char,
    pub log: gx_log_fn,
    pub log_user: *mut ::core::ffi::c_void,
    pub allocator: gx_allocator,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_config"][::core::mem::size_of::<gx_config>() - 168usize];
    ["Alignment of gx_config"][::core::mem::align_of::<gx_config>() - 8usize];
    [
        "Offset of field: gx_config::struct_size",
    ][::core::mem::offset_of!(gx_config, struct_size) - 0usize];
    [
        "Offset of field: gx_config::device",
    ][::core::mem::offset_of!(gx_config, device) - 8usize];
    [
        "Offset of field: gx_config::policy",
    ][::core::mem::offset_of!(gx_config, policy) - 16usize];
    [
        "Offset of field: gx_config::path",
    ][::core::mem::offset_of!(gx_config, path) - 20usize];
    [
        "Offset of field: gx_config::mode",
    ][::core::mem::offset_of!(gx_config, mode) - 24usize];
    [
        "Offset of field: gx_config::threads",
    ][::core::mem::offset_of!(gx_config, threads) - 28usize];
    [
        "Offset of field: gx_config::sample_every",
    ][::core::mem::offset_of!(gx_config, sample_every) - 32usize];
    [
        "Offset of field: gx_config::cpumask",
    ][::core::mem::offset_of!(gx_config, cpumask) - 40usize];
    [
        "Offset of field: gx_config::validate",
    ][::core::mem::offset_of!(gx_config, validate) - 48usize];
    [
        "Offset of field: gx_config::ignore_environment",
    ][::core::mem::offset_of!(gx_config, ignore_environment) - 52usize];
    [
        "Offset of field: gx_config::dispatch_elems",
    ][::core::mem::offset_of!(gx_config, dispatch_elems) - 56usize];
    [
        "Offset of field: gx_config::stream_chunk_elems",
    ][::core::mem::offset_of!(gx_config, stream_chunk_elems) - 64usize];
    [
        "Offset of field: gx_config::device_memory",
    ][::core::mem::offset_of!(gx_config, device_memory) - 72usize];
    [
        "Offset of field: gx_config::queue_jobs",
    ][::core::mem::offset_of!(gx_config, queue_jobs) - 80usize];
    [
        "Offset of field: gx_config::trace",
    ][::core::mem::offset_of!(gx_config, trace) - 88usize];
    [
        "Offset of field: gx_config::webgpu_backends",
    ][::core::mem::offset_of!(gx_config, webgpu_backends) - 96usize];
    [
        "Offset of field: gx_config::wgpu_library",
    ][::core::mem::offset_of!(gx_config, wgpu_library) - 104usize];
    [
        "Offset of field: gx_config::cuda_library",
    ][::core::mem::offset_of!(gx_config, cuda_library) - 112usize];
    [
        "Offset of field: gx_config::cache_dir",
    ][::core::mem::offset_of!(gx_config, cache_dir) - 120usize];
    [
        "Offset of field: gx_config::log",
    ][::core::mem::offset_of!(gx_config, log) - 128usize];
    [
        "Offset of field: gx_config::log_user",
    ][::core::mem::offset_of!(gx_config, log_user) - 136usize];
    [
        "Offset of field: gx_config::allocator",
    ][::core::mem::offset_of!(gx_config, allocator) - 144usize];
};
impl Default for gx_config {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_option {
    pub name: *const ::core::ffi::c_char,
    pub env: *const ::core::ffi::c_char,
    pub arg: *const ::core::ffi::c_char,
    pub help: *const ::core::ffi::c_char,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_option"][::core::mem::size_of::<gx_option>() - 32usize];
    ["Alignment of gx_option"][::core::mem::align_of::<gx_option>() - 8usize];
    [
        "Offset of field: gx_option::name",
    ][::core::mem::offset_of!(gx_option, name) - 0usize];
    [
        "Offset of field: gx_option::env",
    ][::core::mem::offset_of!(gx_option, env) - 8usize];
    [
        "Offset of field: gx_option::arg",
    ][::core::mem::offset_of!(gx_option, arg) - 16usize];
    [
        "Offset of field: gx_option::help",
    ][::core::mem::offset_of!(gx_option, help) - 24usize];
};
impl Default for gx_option {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_option_get(index: u32) -> *const gx_option;
}
unsafe extern "C" {
    pub fn gx_tier_name(index: u32) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn gx_config_set(
        config: *mut gx_config,
        name: *const ::core::ffi::c_char,
        value: *const ::core::ffi::c_char,
        err: *mut ::core::ffi::c_char,
        err_size: usize,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_open(config: *const gx_config, ctx: *mut *mut gx_ctx) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_close(ctx: *mut *mut gx_ctx);
}
pub type gx_device_kind = u32;
pub const GX_DEVICE_CPU: _bindgen_ty_8 = 1;
pub const GX_DEVICE_REFERENCE: _bindgen_ty_8 = 2;
pub const GX_DEVICE_VULKAN: _bindgen_ty_8 = 3;
pub const GX_DEVICE_SIM: _bindgen_ty_8 = 4;
pub const GX_DEVICE_WEBGPU: _bindgen_ty_8 = 5;
pub const GX_DEVICE_CUDA: _bindgen_ty_8 = 6;
pub type _bindgen_ty_8 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_device_info {
    pub struct_size: usize,
    pub name: [::core::ffi::c_char; 48usize],
    pub description: [::core::ffi::c_char; 128usize],
    pub kind: gx_device_kind,
    pub threads: u32,
    pub memory_bytes: u64,
    pub automatic: u32,
    pub usable: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_device_info"][::core::mem::size_of::<gx_device_info>() - 208usize];
    ["Alignment of gx_device_info"][::core::mem::align_of::<gx_device_info>() - 8usize];
    [
        "Offset of field: gx_device_info::struct_size",
    ][::core::mem::offset_of!(gx_device_info, struct_size) - 0usize];
    [
        "Offset of field: gx_device_info::name",
    ][::core::mem::offset_of!(gx_device_info, name) - 8usize];
    [
        "Offset of field: gx_device_info::description",
    ][::core::mem::offset_of!(gx_device_info, description) - 56usize];
    [
        "Offset of field: gx_device_info::kind",
    ][::core::mem::offset_of!(gx_device_info, kind) - 184usize];
    [
        "Offset of field: gx_device_info::threads",
    ][::core::mem::offset_of!(gx_device_info, threads) - 188usize];
    [
        "Offset of field: gx_device_info::memory_bytes",
    ][::core::mem::offset_of!(gx_device_info, memory_bytes) - 192usize];
    [
        "Offset of field: gx_device_info::automatic",
    ][::core::mem::offset_of!(gx_device_info, automatic) - 200usize];
    [
        "Offset of field: gx_device_info::usable",
    ][::core::mem::offset_of!(gx_device_info, usable) - 204usize];
};
impl Default for gx_device_info {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_devices(
        ctx: *mut gx_ctx,
        infos: *mut gx_device_info,
        count: *mut usize,
    ) -> gx_status;
}
#[repr(C)]
#[derive(Debug)]
pub struct gx_buf {
    _unused: [u8; 0],
}
unsafe extern "C" {
    pub fn gx_buf_create(
        ctx: *mut gx_ctx,
        device: *const ::core::ffi::c_char,
        bytes: usize,
        flags: u32,
        buf: *mut *mut gx_buf,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_buf_destroy(buf: *mut *mut gx_buf);
}
unsafe extern "C" {
    pub fn gx_buf_size(buf: *const gx_buf) -> usize;
}
unsafe extern "C" {
    pub fn gx_buf_device(buf: *const gx_buf) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn gx_buf_write(
        buf: *mut gx_buf,
        offset: usize,
        from: *const ::core::ffi::c_void,
        bytes: usize,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_buf_read(
        buf: *mut gx_buf,
        offset: usize,
        to: *mut ::core::ffi::c_void,
        bytes: usize,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_buf_map(
        buf: *mut gx_buf,
        memory: *mut *mut ::core::ffi::c_void,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_buf_unmap(buf: *mut gx_buf);
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_operand {
    pub host: *mut ::core::ffi::c_void,
    pub buf: *mut gx_buf,
    pub offset: usize,
    pub broadcast: u32,
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_operand"][::core::mem::size_of::<gx_operand>() - 32usize];
    ["Alignment of gx_operand"][::core::mem::align_of::<gx_operand>() - 8usize];
    [
        "Offset of field: gx_operand::host",
    ][::core::mem::offset_of!(gx_operand, host) - 0usize];
    [
        "Offset of field: gx_operand::buf",
    ][::core::mem::offset_of!(gx_operand, buf) - 8usize];
    [
        "Offset of field: gx_operand::offset",
    ][::core::mem::offset_of!(gx_operand, offset) - 16usize];
    [
        "Offset of field: gx_operand::broadcast",
    ][::core::mem::offset_of!(gx_operand, broadcast) - 24usize];
    [
        "Offset of field: gx_operand::reserved",
    ][::core::mem::offset_of!(gx_operand, reserved) - 28usize];
};
impl Default for gx_operand {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_host(elements: *const ::core::ffi::c_void) -> gx_operand;
}
unsafe extern "C" {
    pub fn gx_host_broadcast(element: *const ::core::ffi::c_void) -> gx_operand;
}
unsafe extern "C" {
    pub fn gx_dev(buf: *mut gx_buf, offset: usize) -> gx_operand;
}
unsafe extern "C" {
    pub fn gx_dev_broadcast(buf: *mut gx_buf, offset: usize) -> gx_operand;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_job {
    pub op: gx_op,
    pub field: gx_field,
    pub n: usize,
    pub a: gx_operand,
    pub b: gx_operand,
    pub c: gx_operand,
    pub out: gx_operand,
    pub flags: u32,
    pub reserved: u32,
    pub params: *const ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_job"][::core::mem::size_of::<gx_job>() - 160usize];
    ["Alignment of gx_job"][::core::mem::align_of::<gx_job>() - 8usize];
    ["Offset of field: gx_job::op"][::core::mem::offset_of!(gx_job, op) - 0usize];
    ["Offset of field: gx_job::field"][::core::mem::offset_of!(gx_job, field) - 4usize];
    ["Offset of field: gx_job::n"][::core::mem::offset_of!(gx_job, n) - 8usize];
    ["Offset of field: gx_job::a"][::core::mem::offset_of!(gx_job, a) - 16usize];
    ["Offset of field: gx_job::b"][::core::mem::offset_of!(gx_job, b) - 48usize];
    ["Offset of field: gx_job::c"][::core::mem::offset_of!(gx_job, c) - 80usize];
    ["Offset of field: gx_job::out"][::core::mem::offset_of!(gx_job, out) - 112usize];
    [
        "Offset of field: gx_job::flags",
    ][::core::mem::offset_of!(gx_job, flags) - 144usize];
    [
        "Offset of field: gx_job::reserved",
    ][::core::mem::offset_of!(gx_job, reserved) - 148usize];
    [
        "Offset of field: gx_job::params",
    ][::core::mem::offset_of!(gx_job, params) - 152usize];
};
impl Default for gx_job {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_operand_bytes(job: *const gx_job, operand: ::core::ffi::c_char) -> usize;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_run_params {
    pub struct_size: usize,
    pub device: *const ::core::ffi::c_char,
    pub path: gx_path,
    pub mode: gx_mode,
    pub policy: gx_policy,
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_run_params"][::core::mem::size_of::<gx_run_params>() - 32usize];
    ["Alignment of gx_run_params"][::core::mem::align_of::<gx_run_params>() - 8usize];
    [
        "Offset of field: gx_run_params::struct_size",
    ][::core::mem::offset_of!(gx_run_params, struct_size) - 0usize];
    [
        "Offset of field: gx_run_params::device",
    ][::core::mem::offset_of!(gx_run_params, device) - 8usize];
    [
        "Offset of field: gx_run_params::path",
    ][::core::mem::offset_of!(gx_run_params, path) - 16usize];
    [
        "Offset of field: gx_run_params::mode",
    ][::core::mem::offset_of!(gx_run_params, mode) - 20usize];
    [
        "Offset of field: gx_run_params::policy",
    ][::core::mem::offset_of!(gx_run_params, policy) - 24usize];
    [
        "Offset of field: gx_run_params::reserved",
    ][::core::mem::offset_of!(gx_run_params, reserved) - 28usize];
};
impl Default for gx_run_params {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub type gx_reason = u32;
pub const GX_REASON_NONE: _bindgen_ty_9 = 0;
pub const GX_REASON_ASKED: _bindgen_ty_9 = 1;
pub const GX_REASON_ONLY: _bindgen_ty_9 = 2;
pub const GX_REASON_RESIDENT: _bindgen_ty_9 = 3;
pub const GX_REASON_SMALL: _bindgen_ty_9 = 4;
pub const GX_REASON_FASTEST: _bindgen_ty_9 = 5;
pub const GX_REASON_SPLIT: _bindgen_ty_9 = 6;
pub const GX_REASON_DEFAULT: _bindgen_ty_9 = 7;
pub const GX_REASON_EXPLORED: _bindgen_ty_9 = 8;
pub const GX_REASON_FALLBACK: _bindgen_ty_9 = 9;
pub type _bindgen_ty_9 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_candidate {
    pub struct_size: usize,
    pub device: [::core::ffi::c_char; 48usize],
    pub predicted_ns: u64,
    pub share_ns: u64,
    pub actual_ns: u64,
    pub elements: u64,
    pub status: gx_status,
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_candidate"][::core::mem::size_of::<gx_candidate>() - 96usize];
    ["Alignment of gx_candidate"][::core::mem::align_of::<gx_candidate>() - 8usize];
    [
        "Offset of field: gx_candidate::struct_size",
    ][::core::mem::offset_of!(gx_candidate, struct_size) - 0usize];
    [
        "Offset of field: gx_candidate::device",
    ][::core::mem::offset_of!(gx_candidate, device) - 8usize];
    [
        "Offset of field: gx_candidate::predicted_ns",
    ][::core::mem::offset_of!(gx_candidate, predicted_ns) - 56usize];
    [
        "Offset of field: gx_candidate::share_ns",
    ][::core::mem::offset_of!(gx_candidate, share_ns) - 64usize];
    [
        "Offset of field: gx_candidate::actual_ns",
    ][::core::mem::offset_of!(gx_candidate, actual_ns) - 72usize];
    [
        "Offset of field: gx_candidate::elements",
    ][::core::mem::offset_of!(gx_candidate, elements) - 80usize];
    [
        "Offset of field: gx_candidate::status",
    ][::core::mem::offset_of!(gx_candidate, status) - 88usize];
    [
        "Offset of field: gx_candidate::reserved",
    ][::core::mem::offset_of!(gx_candidate, reserved) - 92usize];
};
impl Default for gx_candidate {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_report {
    pub struct_size: usize,
    pub candidate: *mut gx_candidate,
    pub candidate_room: u32,
    pub candidates: u32,
    pub status: gx_status,
    pub reason: gx_reason,
    pub device: [::core::ffi::c_char; 48usize],
    pub threads: u32,
    pub dispatches: u32,
    pub groups: u32,
    pub submits: u32,
    pub command_hits: u32,
    pub sampled: u32,
    pub path: gx_path,
    pub mode: gx_mode,
    pub bad_index: u64,
    pub bad_operand: u32,
    pub reserved: u32,
    pub queued_ns: u64,
    pub total_ns: u64,
    pub host_in_ns: u64,
    pub device_ns: u64,
    pub host_out_ns: u64,
    pub upload_ns: u64,
    pub compute_ns: u64,
    pub download_ns: u64,
    pub message: [::core::ffi::c_char; 160usize],
    pub record_ns: u64,
    pub submit_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_report"][::core::mem::size_of::<gx_report>() - 368usize];
    ["Alignment of gx_report"][::core::mem::align_of::<gx_report>() - 8usize];
    [
        "Offset of field: gx_report::struct_size",
    ][::core::mem::offset_of!(gx_report, struct_size) - 0usize];
    [
        "Offset of field: gx_report::candidate",
    ][::core::mem::offset_of!(gx_report, candidate) - 8usize];
    [
        "Offset of field: gx_report::candidate_room",
    ][::core::mem::offset_of!(gx_report, candidate_room) - 16usize];
    [
        "Offset of field: gx_report::candidates",
    ][::core::mem::offset_of!(gx_report, candidates) - 20usize];
    [
        "Offset of field: gx_report::status",
    ][::core::mem::offset_of!(gx_report, status) - 24usize];
    [
        "Offset of field: gx_report::reason",
    ][::core::mem::offset_of!(gx_report, reason) - 28usize];
    [
        "Offset of field: gx_report::device",
    ][::core::mem::offset_of!(gx_report, device) - 32usize];
    [
        "Offset of field: gx_report::threads",
    ][::core::mem::offset_of!(gx_report, threads) - 80usize];
    [
        "Offset of field: gx_report::dispatches",
    ][::core::mem::offset_of!(gx_report, dispatches) - 84usize];
    [
        "Offset of field: gx_report::groups",
    ][::core::mem::offset_of!(gx_report, groups) - 88usize];
    [
        "Offset of field: gx_report::submits",
    ][::core::mem::offset_of!(gx_report, submits) - 92usize];
    [
        "Offset of field: gx_report::command_hits",
    ][::core::mem::offset_of!(gx_report, command_hits) - 96usize];
    [
        "Offset of field: gx_report::sampled",
    ][::core::mem::offset_of!(gx_report, sampled) - 100usize];
    [
        "Offset of field: gx_report::path",
    ][::core::mem::offset_of!(gx_report, path) - 104usize];
    [
        "Offset of field: gx_report::mode",
    ][::core::mem::offset_of!(gx_report, mode) - 108usize];
    [
        "Offset of field: gx_report::bad_index",
    ][::core::mem::offset_of!(gx_report, bad_index) - 112usize];
    [
        "Offset of field: gx_report::bad_operand",
    ][::core::mem::offset_of!(gx_report, bad_operand) - 120usize];
    [
        "Offset of field: gx_report::reserved",
    ][::core::mem::offset_of!(gx_report, reserved) - 124usize];
    [
        "Offset of field: gx_report::queued_ns",
    ][::core::mem::offset_of!(gx_report, queued_ns) - 128usize];
    [
        "Offset of field: gx_report::total_ns",
    ][::core::mem::offset_of!(gx_report, total_ns) - 136usize];
    [
        "Offset of field: gx_report::host_in_ns",
    ][::core::mem::offset_of!(gx_report, host_in_ns) - 144usize];
    [
        "Offset of field: gx_report::device_ns",
    ][::core::mem::offset_of!(gx_report, device_ns) - 152usize];
    [
        "Offset of field: gx_report::host_out_ns",
    ][::core::mem::offset_of!(gx_report, host_out_ns) - 160usize];
    [
        "Offset of field: gx_report::upload_ns",
    ][::core::mem::offset_of!(gx_report, upload_ns) - 168usize];
    [
        "Offset of field: gx_report::compute_ns",
    ][::core::mem::offset_of!(gx_report, compute_ns) - 176usize];
    [
        "Offset of field: gx_report::download_ns",
    ][::core::mem::offset_of!(gx_report, download_ns) - 184usize];
    [
        "Offset of field: gx_report::message",
    ][::core::mem::offset_of!(gx_report, message) - 192usize];
    [
        "Offset of field: gx_report::record_ns",
    ][::core::mem::offset_of!(gx_report, record_ns) - 352usize];
    [
        "Offset of field: gx_report::submit_ns",
    ][::core::mem::offset_of!(gx_report, submit_ns) - 360usize];
};
impl Default for gx_report {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_run(
        ctx: *mut gx_ctx,
        jobs: *const gx_job,
        njobs: usize,
        params: *const gx_run_params,
        reports: *mut gx_report,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_host_register(
        ctx: *mut gx_ctx,
        memory: *mut ::core::ffi::c_void,
        bytes: usize,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_host_unregister(
        ctx: *mut gx_ctx,
        memory: *mut ::core::ffi::c_void,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_log_level_name(level: gx_log_level) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn gx_device_kind_name(kind: gx_device_kind) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn gx_path_name(path: gx_path) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn gx_mode_name(mode: gx_mode) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn gx_policy_name(policy: gx_policy) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn gx_reason_name(reason: gx_reason) -> *const ::core::ffi::c_char;
}
#[repr(C)]
#[derive(Debug)]
pub struct gx_ticket {
    _unused: [u8; 0],
}
unsafe extern "C" {
    pub fn gx_submit(
        ctx: *mut gx_ctx,
        jobs: *const gx_job,
        njobs: usize,
        params: *const gx_run_params,
        ticket: *mut *mut gx_ticket,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_poll(ticket: *mut gx_ticket) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_wait(
        ticket: *mut gx_ticket,
        timeout_ns: u64,
        reports: *mut gx_report,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_wait_any(
        tickets: *const *mut gx_ticket,
        count: usize,
        timeout_ns: u64,
        index: *mut usize,
    ) -> gx_status;
}
pub type gx_done_fn = ::core::option::Option<
    unsafe extern "C" fn(user: *mut ::core::ffi::c_void, ticket: *mut gx_ticket),
>;
unsafe extern "C" {
    pub fn gx_notify(
        ticket: *mut gx_ticket,
        done: gx_done_fn,
        user: *mut ::core::ffi::c_void,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_cancel(ticket: *mut gx_ticket);
}
unsafe extern "C" {
    pub fn gx_cancel_all(ctx: *mut gx_ctx);
}
unsafe extern "C" {
    pub fn gx_ticket_destroy(ticket: *mut *mut gx_ticket);
}
#[repr(C)]
#[derive(Debug)]
pub struct gx_domain {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_domain_params {
    pub struct_size: usize,
    pub field: gx_field,
    pub log2_size: u32,
    pub root: *const ::core::ffi::c_void,
    pub shift: *const ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_domain_params"][::core::mem::size_of::<gx_domain_params>() - 32usize];
    [
        "Alignment of gx_domain_params",
    ][::core::mem::align_of::<gx_domain_params>() - 8usize];
    [
        "Offset of field: gx_domain_params::struct_size",
    ][::core::mem::offset_of!(gx_domain_params, struct_size) - 0usize];
    [
        "Offset of field: gx_domain_params::field",
    ][::core::mem::offset_of!(gx_domain_params, field) - 8usize];
    [
        "Offset of field: gx_domain_params::log2_size",
    ][::core::mem::offset_of!(gx_domain_params, log2_size) - 12usize];
    [
        "Offset of field: gx_domain_params::root",
    ][::core::mem::offset_of!(gx_domain_params, root) - 16usize];
    [
        "Offset of field: gx_domain_params::shift",
    ][::core::mem::offset_of!(gx_domain_params, shift) - 24usize];
};
impl Default for gx_domain_params {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_domain_create(
        ctx: *mut gx_ctx,
        params: *const gx_domain_params,
        domain: *mut *mut gx_domain,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_domain_destroy(domain: *mut *mut gx_domain);
}
unsafe extern "C" {
    pub fn gx_domain_root(
        domain: *const gx_domain,
        log2_n: u32,
        element: *mut ::core::ffi::c_void,
    ) -> gx_status;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_ntt_params {
    pub struct_size: usize,
    pub domain: *const gx_domain,
    pub log2_n: u32,
    pub log2_pad: u32,
    pub flags: u32,
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_ntt_params"][::core::mem::size_of::<gx_ntt_params>() - 32usize];
    ["Alignment of gx_ntt_params"][::core::mem::align_of::<gx_ntt_params>() - 8usize];
    [
        "Offset of field: gx_ntt_params::struct_size",
    ][::core::mem::offset_of!(gx_ntt_params, struct_size) - 0usize];
    [
        "Offset of field: gx_ntt_params::domain",
    ][::core::mem::offset_of!(gx_ntt_params, domain) - 8usize];
    [
        "Offset of field: gx_ntt_params::log2_n",
    ][::core::mem::offset_of!(gx_ntt_params, log2_n) - 16usize];
    [
        "Offset of field: gx_ntt_params::log2_pad",
    ][::core::mem::offset_of!(gx_ntt_params, log2_pad) - 20usize];
    [
        "Offset of field: gx_ntt_params::flags",
    ][::core::mem::offset_of!(gx_ntt_params, flags) - 24usize];
    [
        "Offset of field: gx_ntt_params::reserved",
    ][::core::mem::offset_of!(gx_ntt_params, reserved) - 28usize];
};
impl Default for gx_ntt_params {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_ntt(
        params: *const gx_ntt_params,
        batch: usize,
        a: gx_operand,
        out: gx_operand,
    ) -> gx_job;
}
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct gx_poly_params {
    pub struct_size: usize,
    pub count: u64,
    pub flags: u32,
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_poly_params"][::core::mem::size_of::<gx_poly_params>() - 24usize];
    ["Alignment of gx_poly_params"][::core::mem::align_of::<gx_poly_params>() - 8usize];
    [
        "Offset of field: gx_poly_params::struct_size",
    ][::core::mem::offset_of!(gx_poly_params, struct_size) - 0usize];
    [
        "Offset of field: gx_poly_params::count",
    ][::core::mem::offset_of!(gx_poly_params, count) - 8usize];
    [
        "Offset of field: gx_poly_params::flags",
    ][::core::mem::offset_of!(gx_poly_params, flags) - 16usize];
    [
        "Offset of field: gx_poly_params::reserved",
    ][::core::mem::offset_of!(gx_poly_params, reserved) - 20usize];
};
unsafe extern "C" {
    pub fn gx_poly(
        op: gx_op,
        field: gx_field,
        n: usize,
        params: *const gx_poly_params,
        a: gx_operand,
        b: gx_operand,
        out: gx_operand,
    ) -> gx_job;
}
pub type gx_curve = u32;
pub const GX_BLS12_381_G1: _bindgen_ty_10 = 1;
pub const GX_BLS12_381_G2: _bindgen_ty_10 = 2;
pub const GX_BN254_G1: _bindgen_ty_10 = 3;
pub const GX_BN254_G2: _bindgen_ty_10 = 4;
pub type _bindgen_ty_10 = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_curve_info {
    pub name: *const ::core::ffi::c_char,
    pub base_field: gx_field,
    pub scalar_field: gx_field,
    pub degree: u32,
    pub affine_bytes: u32,
    pub generator: *const ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_curve_info"][::core::mem::size_of::<gx_curve_info>() - 32usize];
    ["Alignment of gx_curve_info"][::core::mem::align_of::<gx_curve_info>() - 8usize];
    [
        "Offset of field: gx_curve_info::name",
    ][::core::mem::offset_of!(gx_curve_info, name) - 0usize];
    [
        "Offset of field: gx_curve_info::base_field",
    ][::core::mem::offset_of!(gx_curve_info, base_field) - 8usize];
    [
        "Offset of field: gx_curve_info::scalar_field",
    ][::core::mem::offset_of!(gx_curve_info, scalar_field) - 12usize];
    [
        "Offset of field: gx_curve_info::degree",
    ][::core::mem::offset_of!(gx_curve_info, degree) - 16usize];
    [
        "Offset of field: gx_curve_info::affine_bytes",
    ][::core::mem::offset_of!(gx_curve_info, affine_bytes) - 20usize];
    [
        "Offset of field: gx_curve_info::generator",
    ][::core::mem::offset_of!(gx_curve_info, generator) - 24usize];
};
impl Default for gx_curve_info {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_curve_get_info(curve: gx_curve) -> *const gx_curve_info;
}
unsafe extern "C" {
    pub fn gx_curve_by_name(name: *const ::core::ffi::c_char) -> gx_curve;
}
pub type gx_point_form = u32;
pub const GX_POINT_XY_MONT: _bindgen_ty_11 = 1;
pub const GX_POINT_XY_PLAIN: _bindgen_ty_11 = 2;
pub const GX_POINT_COMPRESSED: _bindgen_ty_11 = 3;
pub const GX_POINT_UNCOMPRESSED: _bindgen_ty_11 = 4;
pub const GX_POINT_EIP2537: _bindgen_ty_11 = 5;
pub const GX_POINT_JACOBIAN_MONT: _bindgen_ty_11 = 6;
pub type _bindgen_ty_11 = ::core::ffi::c_uint;
pub type gx_point_check = u32;
pub const GX_CHECK_CURVE: _bindgen_ty_12 = 0;
pub const GX_CHECK_SUBGROUP: _bindgen_ty_12 = 1;
pub const GX_CHECK_NONE: _bindgen_ty_12 = 2;
pub type _bindgen_ty_12 = ::core::ffi::c_uint;
unsafe extern "C" {
    pub fn gx_point_bytes(curve: gx_curve, form: gx_point_form) -> usize;
}
unsafe extern "C" {
    pub fn gx_point_form_name(form: gx_point_form) -> *const ::core::ffi::c_char;
}
unsafe extern "C" {
    pub fn gx_point_check_name(check: gx_point_check) -> *const ::core::ffi::c_char;
}
#[repr(C)]
#[derive(Debug)]
pub struct gx_points {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_points_params {
    pub struct_size: usize,
    pub curve: gx_curve,
    pub form: gx_point_form,
    pub points: *const ::core::ffi::c_void,
    pub buf: *mut gx_buf,
    pub offset: usize,
    pub count: usize,
    pub stride: usize,
    pub flag_offset: usize,
    pub check: gx_point_check,
    pub reserved: u32,
    pub table_bytes: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_points_params"][::core::mem::size_of::<gx_points_params>() - 80usize];
    [
        "Alignment of gx_points_params",
    ][::core::mem::align_of::<gx_points_params>() - 8usize];
    [
        "Offset of field: gx_points_params::struct_size",
    ][::core::mem::offset_of!(gx_points_params, struct_size) - 0usize];
    [
        "Offset of field: gx_points_params::curve",
    ][::core::mem::offset_of!(gx_points_params, curve) - 8usize];
    [
        "Offset of field: gx_points_params::form",
    ][::core::mem::offset_of!(gx_points_params, form) - 12usize];
    [
        "Offset of field: gx_points_params::points",
    ][::core::mem::offset_of!(gx_points_params, points) - 16usize];
    [
        "Offset of field: gx_points_params::buf",
    ][::core::mem::offset_of!(gx_points_params, buf) - 24usize];
    [
        "Offset of field: gx_points_params::offset",
    ][::core::mem::offset_of!(gx_points_params, offset) - 32usize];
    [
        "Offset of field: gx_points_params::count",
    ][::core::mem::offset_of!(gx_points_params, count) - 40usize];
    [
        "Offset of field: gx_points_params::stride",
    ][::core::mem::offset_of!(gx_points_params, stride) - 48usize];
    [
        "Offset of field: gx_points_params::flag_offset",
    ][::core::mem::offset_of!(gx_points_params, flag_offset) - 56usize];
    [
        "Offset of field: gx_points_params::check",
    ][::core::mem::offset_of!(gx_points_params, check) - 64usize];
    [
        "Offset of field: gx_points_params::reserved",
    ][::core::mem::offset_of!(gx_points_params, reserved) - 68usize];
    [
        "Offset of field: gx_points_params::table_bytes",
    ][::core::mem::offset_of!(gx_points_params, table_bytes) - 72usize];
};
impl Default for gx_points_params {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_points_create(
        ctx: *mut gx_ctx,
        params: *const gx_points_params,
        points: *mut *mut gx_points,
        bad_index: *mut u64,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_points_destroy(points: *mut *mut gx_points);
}
unsafe extern "C" {
    pub fn gx_points_count(points: *const gx_points) -> usize;
}
unsafe extern "C" {
    pub fn gx_points_read(
        points: *const gx_points,
        first: usize,
        count: usize,
        form: gx_point_form,
        out: *mut ::core::ffi::c_void,
    ) -> gx_status;
}
pub type gx_scalar_form = u32;
pub const GX_SCALAR_PLAIN: _bindgen_ty_13 = 0;
pub const GX_SCALAR_MONT: _bindgen_ty_13 = 1;
pub type _bindgen_ty_13 = ::core::ffi::c_uint;
unsafe extern "C" {
    pub fn gx_scalar_form_name(form: gx_scalar_form) -> *const ::core::ffi::c_char;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_msm_params {
    pub struct_size: usize,
    pub points: *const gx_points,
    pub first: usize,
    pub count: usize,
    pub scalar_form: gx_scalar_form,
    pub scalar_bits: u32,
    pub result_form: gx_point_form,
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_msm_params"][::core::mem::size_of::<gx_msm_params>() - 48usize];
    ["Alignment of gx_msm_params"][::core::mem::align_of::<gx_msm_params>() - 8usize];
    [
        "Offset of field: gx_msm_params::struct_size",
    ][::core::mem::offset_of!(gx_msm_params, struct_size) - 0usize];
    [
        "Offset of field: gx_msm_params::points",
    ][::core::mem::offset_of!(gx_msm_params, points) - 8usize];
    [
        "Offset of field: gx_msm_params::first",
    ][::core::mem::offset_of!(gx_msm_params, first) - 16usize];
    [
        "Offset of field: gx_msm_params::count",
    ][::core::mem::offset_of!(gx_msm_params, count) - 24usize];
    [
        "Offset of field: gx_msm_params::scalar_form",
    ][::core::mem::offset_of!(gx_msm_params, scalar_form) - 32usize];
    [
        "Offset of field: gx_msm_params::scalar_bits",
    ][::core::mem::offset_of!(gx_msm_params, scalar_bits) - 36usize];
    [
        "Offset of field: gx_msm_params::result_form",
    ][::core::mem::offset_of!(gx_msm_params, result_form) - 40usize];
    [
        "Offset of field: gx_msm_params::reserved",
    ][::core::mem::offset_of!(gx_msm_params, reserved) - 44usize];
};
impl Default for gx_msm_params {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_msm(
        params: *const gx_msm_params,
        batch: usize,
        scalars: gx_operand,
        out: gx_operand,
    ) -> gx_job;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_kernel_call {
    pub n: usize,
    pub a: *const ::core::ffi::c_void,
    pub b: *const ::core::ffi::c_void,
    pub c: *const ::core::ffi::c_void,
    pub a_step: usize,
    pub b_step: usize,
    pub c_step: usize,
    pub out: *mut ::core::ffi::c_void,
    pub params: *const ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_kernel_call"][::core::mem::size_of::<gx_kernel_call>() - 72usize];
    ["Alignment of gx_kernel_call"][::core::mem::align_of::<gx_kernel_call>() - 8usize];
    [
        "Offset of field: gx_kernel_call::n",
    ][::core::mem::offset_of!(gx_kernel_call, n) - 0usize];
    [
        "Offset of field: gx_kernel_call::a",
    ][::core::mem::offset_of!(gx_kernel_call, a) - 8usize];
    [
        "Offset of field: gx_kernel_call::b",
    ][::core::mem::offset_of!(gx_kernel_call, b) - 16usize];
    [
        "Offset of field: gx_kernel_call::c",
    ][::core::mem::offset_of!(gx_kernel_call, c) - 24usize];
    [
        "Offset of field: gx_kernel_call::a_step",
    ][::core::mem::offset_of!(gx_kernel_call, a_step) - 32usize];
    [
        "Offset of field: gx_kernel_call::b_step",
    ][::core::mem::offset_of!(gx_kernel_call, b_step) - 40usize];
    [
        "Offset of field: gx_kernel_call::c_step",
    ][::core::mem::offset_of!(gx_kernel_call, c_step) - 48usize];
    [
        "Offset of field: gx_kernel_call::out",
    ][::core::mem::offset_of!(gx_kernel_call, out) - 56usize];
    [
        "Offset of field: gx_kernel_call::params",
    ][::core::mem::offset_of!(gx_kernel_call, params) - 64usize];
};
impl Default for gx_kernel_call {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub type gx_kernel_fn = ::core::option::Option<
    unsafe extern "C" fn(user: *mut ::core::ffi::c_void, call: *const gx_kernel_call),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_kernel_params {
    pub struct_size: usize,
    pub name: *const ::core::ffi::c_char,
    pub operands: u32,
    pub flags: u32,
    pub a_bytes: u32,
    pub b_bytes: u32,
    pub c_bytes: u32,
    pub out_bytes: u32,
    pub params_bytes: u32,
    pub group_elems: u32,
    pub fn_: gx_kernel_fn,
    pub user: *mut ::core::ffi::c_void,
    pub spirv: *const u32,
    pub spirv_bytes: usize,
    pub spirv_entry: *const ::core::ffi::c_char,
    pub wgsl: *const ::core::ffi::c_char,
    pub wgsl_entry: *const ::core::ffi::c_char,
    pub ptx: *const ::core::ffi::c_char,
    pub ptx_entry: *const ::core::ffi::c_char,
    pub ptx_block: [u32; 3usize],
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_kernel_params"][::core::mem::size_of::<gx_kernel_params>() - 136usize];
    [
        "Alignment of gx_kernel_params",
    ][::core::mem::align_of::<gx_kernel_params>() - 8usize];
    [
        "Offset of field: gx_kernel_params::struct_size",
    ][::core::mem::offset_of!(gx_kernel_params, struct_size) - 0usize];
    [
        "Offset of field: gx_kernel_params::name",
    ][::core::mem::offset_of!(gx_kernel_params, name) - 8usize];
    [
        "Offset of field: gx_kernel_params::operands",
    ][::core::mem::offset_of!(gx_kernel_params, operands) - 16usize];
    [
        "Offset of field: gx_kernel_params::flags",
    ][::core::mem::offset_of!(gx_kernel_params, flags) - 20usize];
    [
        "Offset of field: gx_kernel_params::a_bytes",
    ][::core::mem::offset_of!(gx_kernel_params, a_bytes) - 24usize];
    [
        "Offset of field: gx_kernel_params::b_bytes",
    ][::core::mem::offset_of!(gx_kernel_params, b_bytes) - 28usize];
    [
        "Offset of field: gx_kernel_params::c_bytes",
    ][::core::mem::offset_of!(gx_kernel_params, c_bytes) - 32usize];
    [
        "Offset of field: gx_kernel_params::out_bytes",
    ][::core::mem::offset_of!(gx_kernel_params, out_bytes) - 36usize];
    [
        "Offset of field: gx_kernel_params::params_bytes",
    ][::core::mem::offset_of!(gx_kernel_params, params_bytes) - 40usize];
    [
        "Offset of field: gx_kernel_params::group_elems",
    ][::core::mem::offset_of!(gx_kernel_params, group_elems) - 44usize];
    [
        "Offset of field: gx_kernel_params::fn_",
    ][::core::mem::offset_of!(gx_kernel_params, fn_) - 48usize];
    [
        "Offset of field: gx_kernel_params::user",
    ][::core::mem::offset_of!(gx_kernel_params, user) - 56usize];
    [
        "Offset of field: gx_kernel_params::spirv",
    ][::core::mem::offset_of!(gx_kernel_params, spirv) - 64usize];
    [
        "Offset of field: gx_kernel_params::spirv_bytes",
    ][::core::mem::offset_of!(gx_kernel_params, spirv_bytes) - 72usize];
    [
        "Offset of field: gx_kernel_params::spirv_entry",
    ][::core::mem::offset_of!(gx_kernel_params, spirv_entry) - 80usize];
    [
        "Offset of field: gx_kernel_params::wgsl",
    ][::core::mem::offset_of!(gx_kernel_params, wgsl) - 88usize];
    [
        "Offset of field: gx_kernel_params::wgsl_entry",
    ][::core::mem::offset_of!(gx_kernel_params, wgsl_entry) - 96usize];
    [
        "Offset of field: gx_kernel_params::ptx",
    ][::core::mem::offset_of!(gx_kernel_params, ptx) - 104usize];
    [
        "Offset of field: gx_kernel_params::ptx_entry",
    ][::core::mem::offset_of!(gx_kernel_params, ptx_entry) - 112usize];
    [
        "Offset of field: gx_kernel_params::ptx_block",
    ][::core::mem::offset_of!(gx_kernel_params, ptx_block) - 120usize];
    [
        "Offset of field: gx_kernel_params::reserved",
    ][::core::mem::offset_of!(gx_kernel_params, reserved) - 132usize];
};
impl Default for gx_kernel_params {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_op_params {
    pub struct_size: usize,
    pub data: *const ::core::ffi::c_void,
    pub groups: [u32; 3usize],
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_op_params"][::core::mem::size_of::<gx_op_params>() - 32usize];
    ["Alignment of gx_op_params"][::core::mem::align_of::<gx_op_params>() - 8usize];
    [
        "Offset of field: gx_op_params::struct_size",
    ][::core::mem::offset_of!(gx_op_params, struct_size) - 0usize];
    [
        "Offset of field: gx_op_params::data",
    ][::core::mem::offset_of!(gx_op_params, data) - 8usize];
    [
        "Offset of field: gx_op_params::groups",
    ][::core::mem::offset_of!(gx_op_params, groups) - 16usize];
    [
        "Offset of field: gx_op_params::reserved",
    ][::core::mem::offset_of!(gx_op_params, reserved) - 28usize];
};
impl Default for gx_op_params {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_op_register(
        ctx: *mut gx_ctx,
        params: *const gx_kernel_params,
        op: *mut gx_op,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_op_unregister(ctx: *mut gx_ctx, op: gx_op) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_call(
        op: gx_op,
        n: usize,
        params: *const gx_op_params,
        a: gx_operand,
        b: gx_operand,
        c: gx_operand,
        out: gx_operand,
    ) -> gx_job;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_estimate_info {
    pub struct_size: usize,
    pub candidate: *mut gx_candidate,
    pub candidate_room: u32,
    pub candidates: u32,
    pub device: [::core::ffi::c_char; 48usize],
    pub reason: gx_reason,
    pub path: gx_path,
    pub mode: gx_mode,
    pub sets: u32,
    pub chunk_elems: u64,
    pub groups: u64,
    pub submits: u64,
    pub dispatches: u64,
    pub bytes_up: u64,
    pub bytes_down: u64,
    pub bytes_staged: u64,
    pub memory_bytes: u64,
    pub predicted_ns: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_estimate_info"][::core::mem::size_of::<gx_estimate_info>() - 160usize];
    [
        "Alignment of gx_estimate_info",
    ][::core::mem::align_of::<gx_estimate_info>() - 8usize];
    [
        "Offset of field: gx_estimate_info::struct_size",
    ][::core::mem::offset_of!(gx_estimate_info, struct_size) - 0usize];
    [
        "Offset of field: gx_estimate_info::candidate",
    ][::core::mem::offset_of!(gx_estimate_info, candidate) - 8usize];
    [
        "Offset of field: gx_estimate_info::candidate_room",
    ][::core::mem::offset_of!(gx_estimate_info, candidate_room) - 16usize];
    [
        "Offset of field: gx_estimate_info::candidates",
    ][::core::mem::offset_of!(gx_estimate_info, candidates) - 20usize];
    [
        "Offset of field: gx_estimate_info::device",
    ][::core::mem::offset_of!(gx_estimate_info, device) - 24usize];
    [
        "Offset of field: gx_estimate_info::reason",
    ][::core::mem::offset_of!(gx_estimate_info, reason) - 72usize];
    [
        "Offset of field: gx_estimate_info::path",
    ][::core::mem::offset_of!(gx_estimate_info, path) - 76usize];
    [
        "Offset of field: gx_estimate_info::mode",
    ][::core::mem::offset_of!(gx_estimate_info, mode) - 80usize];
    [
        "Offset of field: gx_estimate_info::sets",
    ][::core::mem::offset_of!(gx_estimate_info, sets) - 84usize];
    [
        "Offset of field: gx_estimate_info::chunk_elems",
    ][::core::mem::offset_of!(gx_estimate_info, chunk_elems) - 88usize];
    [
        "Offset of field: gx_estimate_info::groups",
    ][::core::mem::offset_of!(gx_estimate_info, groups) - 96usize];
    [
        "Offset of field: gx_estimate_info::submits",
    ][::core::mem::offset_of!(gx_estimate_info, submits) - 104usize];
    [
        "Offset of field: gx_estimate_info::dispatches",
    ][::core::mem::offset_of!(gx_estimate_info, dispatches) - 112usize];
    [
        "Offset of field: gx_estimate_info::bytes_up",
    ][::core::mem::offset_of!(gx_estimate_info, bytes_up) - 120usize];
    [
        "Offset of field: gx_estimate_info::bytes_down",
    ][::core::mem::offset_of!(gx_estimate_info, bytes_down) - 128usize];
    [
        "Offset of field: gx_estimate_info::bytes_staged",
    ][::core::mem::offset_of!(gx_estimate_info, bytes_staged) - 136usize];
    [
        "Offset of field: gx_estimate_info::memory_bytes",
    ][::core::mem::offset_of!(gx_estimate_info, memory_bytes) - 144usize];
    [
        "Offset of field: gx_estimate_info::predicted_ns",
    ][::core::mem::offset_of!(gx_estimate_info, predicted_ns) - 152usize];
};
impl Default for gx_estimate_info {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_estimate(
        ctx: *mut gx_ctx,
        jobs: *const gx_job,
        njobs: usize,
        params: *const gx_run_params,
        info: *mut gx_estimate_info,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_model_json(
        ctx: *mut gx_ctx,
        text: *mut ::core::ffi::c_char,
        size: *mut usize,
    ) -> gx_status;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_calibrate_params {
    pub struct_size: usize,
    pub ops: *const gx_op,
    pub op_count: usize,
    pub fields: *const gx_field,
    pub field_count: usize,
    pub max_elems: u64,
    pub limit_ns: u64,
    pub progress: ::core::option::Option<
        unsafe extern "C" fn(
            user: *mut ::core::ffi::c_void,
            done: f64,
            device: *const ::core::ffi::c_char,
            what: *const ::core::ffi::c_char,
        ) -> ::core::ffi::c_int,
    >,
    pub user: *mut ::core::ffi::c_void,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gx_calibrate_params",
    ][::core::mem::size_of::<gx_calibrate_params>() - 72usize];
    [
        "Alignment of gx_calibrate_params",
    ][::core::mem::align_of::<gx_calibrate_params>() - 8usize];
    [
        "Offset of field: gx_calibrate_params::struct_size",
    ][::core::mem::offset_of!(gx_calibrate_params, struct_size) - 0usize];
    [
        "Offset of field: gx_calibrate_params::ops",
    ][::core::mem::offset_of!(gx_calibrate_params, ops) - 8usize];
    [
        "Offset of field: gx_calibrate_params::op_count",
    ][::core::mem::offset_of!(gx_calibrate_params, op_count) - 16usize];
    [
        "Offset of field: gx_calibrate_params::fields",
    ][::core::mem::offset_of!(gx_calibrate_params, fields) - 24usize];
    [
        "Offset of field: gx_calibrate_params::field_count",
    ][::core::mem::offset_of!(gx_calibrate_params, field_count) - 32usize];
    [
        "Offset of field: gx_calibrate_params::max_elems",
    ][::core::mem::offset_of!(gx_calibrate_params, max_elems) - 40usize];
    [
        "Offset of field: gx_calibrate_params::limit_ns",
    ][::core::mem::offset_of!(gx_calibrate_params, limit_ns) - 48usize];
    [
        "Offset of field: gx_calibrate_params::progress",
    ][::core::mem::offset_of!(gx_calibrate_params, progress) - 56usize];
    [
        "Offset of field: gx_calibrate_params::user",
    ][::core::mem::offset_of!(gx_calibrate_params, user) - 64usize];
};
impl Default for gx_calibrate_params {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_calibrate(
        ctx: *mut gx_ctx,
        params: *const gx_calibrate_params,
    ) -> gx_status;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_counter_info {
    pub name: *const ::core::ffi::c_char,
    pub help: *const ::core::ffi::c_char,
    pub gauge: u32,
    pub reserved: u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of gx_counter_info"][::core::mem::size_of::<gx_counter_info>() - 24usize];
    [
        "Alignment of gx_counter_info",
    ][::core::mem::align_of::<gx_counter_info>() - 8usize];
    [
        "Offset of field: gx_counter_info::name",
    ][::core::mem::offset_of!(gx_counter_info, name) - 0usize];
    [
        "Offset of field: gx_counter_info::help",
    ][::core::mem::offset_of!(gx_counter_info, help) - 8usize];
    [
        "Offset of field: gx_counter_info::gauge",
    ][::core::mem::offset_of!(gx_counter_info, gauge) - 16usize];
    [
        "Offset of field: gx_counter_info::reserved",
    ][::core::mem::offset_of!(gx_counter_info, reserved) - 20usize];
};
impl Default for gx_counter_info {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_counter_get_info(index: u32) -> *const gx_counter_info;
}
unsafe extern "C" {
    pub fn gx_counter(
        ctx: *mut gx_ctx,
        name: *const ::core::ffi::c_char,
        value: *mut u64,
    ) -> gx_status;
}
pub type gx_health = u32;
pub const GX_HEALTH_UNUSED: _bindgen_ty_14 = 0;
pub const GX_HEALTH_GOOD: _bindgen_ty_14 = 1;
pub const GX_HEALTH_RESTING: _bindgen_ty_14 = 2;
pub const GX_HEALTH_QUARANTINED: _bindgen_ty_14 = 3;
pub type _bindgen_ty_14 = ::core::ffi::c_uint;
unsafe extern "C" {
    pub fn gx_health_name(health: gx_health) -> *const ::core::ffi::c_char;
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct gx_device_statistics {
    pub struct_size: usize,
    pub device: [::core::ffi::c_char; 48usize],
    pub health: gx_health,
    pub reserved: u32,
    pub retry_ns: u64,
    pub jobs: u64,
    pub elements: u64,
    pub busy_ns: u64,
    pub waiting_ns: u64,
    pub failures: u64,
    pub mismatches: u64,
    pub readmissions: u64,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    [
        "Size of gx_device_statistics",
    ][::core::mem::size_of::<gx_device_statistics>() - 128usize];
    [
        "Alignment of gx_device_statistics",
    ][::core::mem::align_of::<gx_device_statistics>() - 8usize];
    [
        "Offset of field: gx_device_statistics::struct_size",
    ][::core::mem::offset_of!(gx_device_statistics, struct_size) - 0usize];
    [
        "Offset of field: gx_device_statistics::device",
    ][::core::mem::offset_of!(gx_device_statistics, device) - 8usize];
    [
        "Offset of field: gx_device_statistics::health",
    ][::core::mem::offset_of!(gx_device_statistics, health) - 56usize];
    [
        "Offset of field: gx_device_statistics::reserved",
    ][::core::mem::offset_of!(gx_device_statistics, reserved) - 60usize];
    [
        "Offset of field: gx_device_statistics::retry_ns",
    ][::core::mem::offset_of!(gx_device_statistics, retry_ns) - 64usize];
    [
        "Offset of field: gx_device_statistics::jobs",
    ][::core::mem::offset_of!(gx_device_statistics, jobs) - 72usize];
    [
        "Offset of field: gx_device_statistics::elements",
    ][::core::mem::offset_of!(gx_device_statistics, elements) - 80usize];
    [
        "Offset of field: gx_device_statistics::busy_ns",
    ][::core::mem::offset_of!(gx_device_statistics, busy_ns) - 88usize];
    [
        "Offset of field: gx_device_statistics::waiting_ns",
    ][::core::mem::offset_of!(gx_device_statistics, waiting_ns) - 96usize];
    [
        "Offset of field: gx_device_statistics::failures",
    ][::core::mem::offset_of!(gx_device_statistics, failures) - 104usize];
    [
        "Offset of field: gx_device_statistics::mismatches",
    ][::core::mem::offset_of!(gx_device_statistics, mismatches) - 112usize];
    [
        "Offset of field: gx_device_statistics::readmissions",
    ][::core::mem::offset_of!(gx_device_statistics, readmissions) - 120usize];
};
impl Default for gx_device_statistics {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
unsafe extern "C" {
    pub fn gx_device_stats(
        ctx: *mut gx_ctx,
        stats: *mut gx_device_statistics,
        count: *mut usize,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_metrics_prometheus(
        ctx: *mut gx_ctx,
        text: *mut ::core::ffi::c_char,
        size: *mut usize,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_trace_start(
        ctx: *mut gx_ctx,
        path: *const ::core::ffi::c_char,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_trace_stop(ctx: *mut gx_ctx) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_buf_from_cuda(
        ctx: *mut gx_ctx,
        device: *const ::core::ffi::c_char,
        address: u64,
        bytes: usize,
        buf: *mut *mut gx_buf,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_buf_cuda_address(buf: *const gx_buf) -> u64;
}
unsafe extern "C" {
    pub fn gx_buf_cuda_wait(
        buf: *mut gx_buf,
        stream: *mut ::core::ffi::c_void,
    ) -> gx_status;
}
unsafe extern "C" {
    pub fn gx_buf_cuda_wait_event(
        buf: *mut gx_buf,
        event: *mut ::core::ffi::c_void,
    ) -> gx_status;
}
