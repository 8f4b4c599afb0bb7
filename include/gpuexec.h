/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec: batch finite-field and vector arithmetic on the fastest device of this machine.
 * This header is the whole public API, for C11, C++17 and binding generators.
 *
 * Conventions that apply to every declaration below:
 *   - zero means default: a struct initialised to {0} is always a valid argument;
 *   - the library never prints, exits or aborts; messages go to gx_config.log and
 *     gx_last_message (two drivers print on their own: see "Printing" in doc/design.md);
 *   - pointer arguments are borrowed for the duration of the call unless stated otherwise;
 *   - "any thread" means any number of threads concurrently, on the same context.
 *
 * Structs grow at the end. struct_size tells the library how much of a struct the caller was
 * compiled with: set it to sizeof. 0 always means the size in the first release, 0.1. A program
 * and a library of different versions work together, whichever is newer:
 *   - inputs: members that an older program lacks take their defaults; a newer program that sets
 *     a member the library does not know gets GX_ERR_INVALID;
 *   - outputs: the library writes no more than the program has room for, and zeroes any
 *     members it does not know;
 *   - arrays: struct_size of the first element applies to all of them. It must not be 0 if there
 *     is room for more than one element, because recompiling the same program against a newer
 *     header would change the element size.
 * Structs marked "frozen" never change. Members named reserved must be 0.
 */
#ifndef GPUEXEC_H
#define GPUEXEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The build reads its version from these three lines. */
#define GX_VERSION_MAJOR 0
#define GX_VERSION_MINOR 1
#define GX_VERSION_PATCH 0

#if defined(_WIN32) && defined(GX_BUILDING)
#define GX_API __declspec(dllexport)
#elif defined(_WIN32) && defined(GX_STATIC) /* for the static library */
#define GX_API
#elif defined(_WIN32)
#define GX_API __declspec(dllimport)
#else
#define GX_API __attribute__((visibility("default")))
#endif

/* ---- status ------------------------------------------------------------ */

/* Status of a call: 0 on success, negative on error. */
typedef int32_t gx_status;
enum {
    GX_OK = 0,
    GX_PENDING = 1,                   /* not finished yet */
    GX_ERR_INVALID = -1,              /* invalid argument */
    GX_ERR_OVERLAP = -2,              /* the output partly overlaps an operand */
    GX_ERR_NOT_CANONICAL = -3,        /* an element is not below the modulus */
    GX_ERR_UNSUPPORTED = -4,          /* the operation is not supported for this field or device */
    GX_ERR_NO_DEVICE = -5,            /* no such device */
    GX_ERR_OUT_OF_MEMORY = -6,        /* out of host memory */
    GX_ERR_OUT_OF_DEVICE_MEMORY = -7, /* out of device memory */
    GX_ERR_DEVICE_LOST = -8,          /* the device was lost */
    GX_ERR_DEVICE = -9,               /* a device call failed */
    GX_ERR_NOT_RUN = -10,             /* not run, because another job of the same call failed */
    GX_ERR_TIMEOUT = -11,             /* the device did not finish in time */
    GX_ERR_CANCELLED = -12,           /* cancelled before it ran */
    GX_ERR_FILE = -13                 /* a file cannot be written */
};

/* "GX_ERR_INVALID" and "invalid argument"; static strings, never NULL. Any thread. */
GX_API const char *gx_status_name(gx_status s);
GX_API const char *gx_status_message(gx_status s);

/* Version of the library at run time, such as "0.1.0"; it may be newer than this header. Any
 * thread. */
GX_API const char *gx_version(void);

/* One line on the most recent failure on this thread: what went wrong, where, and what to do
 * about it. Empty if no call has failed. Valid until the next call on this thread. Successful
 * calls leave it unchanged. Does not block or allocate. */
GX_API const char *gx_last_message(void);

/* ---- fields and operations --------------------------------------------- */

/* Memory layout of the elements: doc/encoding.md. Values are consecutive from 1. */
typedef uint32_t gx_field;
enum {
    GX_BLS12_381_FQ = 1,
    GX_BLS12_381_FR = 2,
    GX_BN254_FQ = 3,
    GX_BN254_FR = 4,
    GX_U32 = 5,
    GX_F32 = 6
};

/* Values are consecutive from 1. u32 and f32 support only add, sub and mul (gx_op_exists). Callers
 * may add their own operations: gx_op_register. */
typedef uint32_t gx_op;
enum {
    GX_ADD = 1,        /* a + b */
    GX_SUB = 2,        /* a - b */
    GX_MUL = 3,        /* a * b */
    GX_NEG = 4,        /* -a */
    GX_SQR = 5,        /* a * a */
    GX_INV = 6,        /* 1 / a; 0 if a is 0 */
    GX_DIV = 7,        /* a / b; 0 if b is 0 */
    GX_MUL_ADD = 8,    /* a * b + c */
    GX_TO_MONT = 9,    /* a * R: plain integer to Montgomery form */
    GX_FROM_MONT = 10, /* a / R: Montgomery form to plain integer */
    GX_SUM = 11,       /* a[0] + a[1] + ...: one element; 0 if n is 0 */
    GX_DOT = 12,       /* a[0] * b[0] + a[1] * b[1] + ...: one element */
    GX_NTT = 13,       /* number-theoretic transforms of a: gx_ntt_params */
    /* The following take gx_poly_params where they mention `count` or flags; out must not overlap
     * an operand. */
    GX_PREFIX_SUM = 14,     /* out[i] = a[0] + ... + a[i] */
    GX_PREFIX_PRODUCT = 15, /* out[i] = a[0] * ... * a[i] */
    GX_POWERS = 16,         /* out[i] = a^i; a is one element */
    GX_COSETS = 17,         /* out[c * count + i] = a^i * b^c, i < count; a and b are one element */
    GX_EVALUATE = 18,       /* a[0] + a[1] * b + a[2] * b^2 + ...: one element; b is one element;
                               n is at least 1; GX_POLY_REVERSED: a is in bit-reversed order */
    GX_DIVIDE_LINEAR = 19,  /* the quotient of a[0] + a[1] * X + ... by X - b, b one element:
                               out[i] = a[i + 1] + a[i + 2] * b + ...; out[n - 1] = 0 */
    GX_BIT_REVERSE = 20,    /* out[i] = a[i with its bits reversed]; n is a power of two */
    GX_GATHER = 21,         /* out[i] = a[b[i]]; b has n indices (uint32_t), a `count` elements */
    GX_ROTATE = 22,         /* out[i] = a[(i + count) mod n] */
    GX_INTERLEAVE = 23,     /* `count` parts, one after the other, to out[i * count + part] */
    GX_DEINTERLEAVE = 24,   /* its inverse: element i * count + part of a to its part */
    GX_MSM = 25             /* multi-scalar multiplications, a[0] * P[0] + a[1] * P[1] + ..., with
                               the points P of a curve: gx_msm_params */
};

/* Static data owned by the library. Both structs may grow at the end. */
typedef struct gx_field_info {
    const char *name;        /* "bls12-381-fq" */
    uint32_t element_bytes;  /* 48, 32 or 4 */
    uint32_t limbs;          /* 64-bit limbs; 0 for u32 and f32 */
    const uint64_t *modulus; /* `limbs` limbs, least significant first; NULL for u32 and f32 */
    uint32_t two_adicity;    /* transforms of up to 2^this elements; 0: none */
    uint32_t reserved;
} gx_field_info;

typedef struct gx_op_info {
    const char *name;   /* "mul-add" */
    const char *result; /* "a * b + c" */
    uint32_t operands;  /* 1: a; 2: a, b; 3: a, b, c */
    uint32_t reduces;   /* 1: reduces n elements to one */
    uint32_t params;    /* gx_job.params is: 0: NULL; 1: gx_ntt_params; 2: gx_poly_params; 3:
                           gx_op_params; 4: gx_msm_params */
    uint32_t reserved;
} gx_op_info;

/* Static data, or NULL for an unknown value; a registered operation has it until it is
 * unregistered. To enumerate, ask for 1, 2, 3, ... until NULL. Any thread. */
GX_API const gx_field_info *gx_field_get_info(gx_field field);
GX_API const gx_op_info *gx_op_get_info(gx_op op);

/* Look up by name; 0 if there is no such name. Registered operations are not found. Any thread. */
GX_API gx_field gx_field_by_name(const char *name);
GX_API gx_op gx_op_by_name(const char *name);

/* 1 if the operation is defined for the field, else 0. Any thread. */
GX_API int gx_op_exists(gx_op op, gx_field field);

/* ---- curves ------------------------------------------------------------- */

/* y^2 = x^3 + b. Values are consecutive from 1. */
typedef uint32_t gx_curve;
enum { GX_BLS12_381_G1 = 1, GX_BLS12_381_G2 = 2, GX_BN254_G1 = 3, GX_BN254_G2 = 4 };

/* Static data owned by the library; may grow at the end. */
typedef struct gx_curve_info {
    const char *name;      /* "bls12-381-g1" */
    gx_field base_field;   /* of the coordinates */
    gx_field scalar_field; /* its modulus is the order of the subgroup */
    uint32_t degree; /* 1: coordinates are in base_field; 2: c0, c1 for c0 + c1 * u, u^2 = -1 */
    uint32_t affine_bytes; /* x, y: 96, 192, 64 or 128 */
    const void *generator; /* of the subgroup: GX_POINT_XY_MONT */
} gx_curve_info;

/* As for fields: NULL or 0 if there is none. Any thread. */
GX_API const gx_curve_info *gx_curve_get_info(gx_curve curve);
GX_API gx_curve gx_curve_by_name(const char *name);

/* How points are written. Always named: 0 is no form. */
typedef uint32_t gx_point_form;
enum {
    GX_POINT_XY_MONT = 1,      /* x, y in Montgomery form, lowest limb first; infinity: (0, 0).
                                  blst, gnark-crypto, arkworks from 0.6 */
    GX_POINT_XY_PLAIN = 2,     /* the same as plain integers: ICICLE */
    GX_POINT_COMPRESSED = 3,   /* zcash: big-endian x with flags in its first byte, 48 bytes (G2:
                                  96, c1 before c0); BLS12-381 only */
    GX_POINT_UNCOMPRESSED = 4, /* zcash: big-endian x, y with flags, 96 bytes (G2: 192, c1 before
                                  c0); BLS12-381 only */
    GX_POINT_EIP2537 = 5,      /* big-endian x, y, 64 bytes for each element, 128 bytes (G2: 256, c0
                                  before c1); BLS12-381 only */
    GX_POINT_JACOBIAN_MONT = 6 /* X, Y, Z in Montgomery form for (X / Z^2, Y / Z^3); infinity: Z is
                                  0, written as (1, 1, 0) */
};

/* What is checked when points are read, besides that their encoding is valid and that coordinates
 * are below the modulus. */
typedef uint32_t gx_point_check;
enum {
    GX_CHECK_CURVE = 0,    /* they are on the curve */
    GX_CHECK_SUBGROUP = 1, /* and in the subgroup of the generator */
    GX_CHECK_NONE = 2
};

/* Bytes of one point; 0 if the curve has no such form. Any thread. */
GX_API size_t gx_point_bytes(gx_curve curve, gx_point_form form);

/* "xy-mont", "xy-plain", "compressed", "uncompressed", "eip2537", "jacobian-mont"; "curve",
 * "subgroup", "none"; "unknown". Any thread. */
GX_API const char *gx_point_form_name(gx_point_form form);
GX_API const char *gx_point_check_name(gx_point_check check);

/* ---- context ------------------------------------------------------------ */

typedef struct gx_ctx gx_ctx;

typedef uint32_t gx_log_level;
enum { GX_LOG_ERROR = 1, GX_LOG_WARNING = 2, GX_LOG_INFO = 3 };

/* Called from any thread that is executing library code. `message` has no newline and is valid
 * only during the call. The callback must not call into the same context. */
typedef void (*gx_log_fn)(void *user, gx_log_level level, const char *message);

/* Set both functions or neither. alloc returns memory aligned to 16 bytes, or NULL, which the
 * library handles. Called from any thread that is executing library code. Frozen. */
typedef struct gx_allocator {
    void *(*alloc)(void *user, size_t bytes);
    void (*free)(void *user, void *memory);
    void *user;
} gx_allocator;

/* Input. A member left 0 takes its value from its environment variable (gx_option_get), or its
 * default if the variable is unset or the process is privileged, for example setuid
 * (secure_getenv). gx_open copies the strings. */
typedef struct gx_config {
    size_t struct_size;          /* sizeof(gx_config) */
    const char *device;          /* device for jobs that name none, or a comma-separated list for
                                    gx_policy to choose from; NULL: "cpu" and every device with
                                    gx_device_info.automatic */
    const char *policy;          /* default gx_policy: "auto", "cpu", "gpu", "latency" or
                                    "throughput"; NULL: auto */
    uint64_t sample_every;       /* the host recomputes and compares one in this many of the
                                    elements that devices other than "cpu" compute (inverses and
                                    quotients are multiplied back; of transforms, one in this many
                                    is compared with its inputs at a random point, which misses
                                    what is wrong with a chance below 2^-220).
                                    1: every element of every result, including results in
                                    buffers, which are read back for the purpose.
                                    Above 1: results in buffers are not compared; the device is
                                    probed instead.
                                    0: 1000 if the library chose the device, fewer for a trusted
                                    device if checking would cost more than 1 % of its time; no
                                    checks if the caller named the device */
    const char *cpumask;         /* CPU tiers allowed (gx_tier_name), comma-separated; NULL: all */
    uint32_t threads;            /* maximum host threads per job; 0: all cores */
    uint32_t validate;           /* 1: load the drivers' validation layer */
    uint64_t dispatch_elems;     /* maximum elements per dispatch; 0: the device's limit */
    const char *path;            /* default gx_path: "auto", "host-visible" or "device-local";
                                    NULL: auto */
    const char *mode;            /* default gx_mode: "auto", "sequential", "single-submit" or
                                    "pipelined"; NULL: auto */
    uint64_t stream_chunk_elems; /* elements per piece of a large job; 0: 524288 */
    uint64_t device_memory;      /* maximum bytes this context may hold on a device, including
                                    buffers; larger work is split up; 0: the device's memory */
    uint64_t queue_jobs;         /* maximum unfinished jobs in tickets; at the limit gx_submit
                                    blocks; 0: 4096 */
    const char *trace;           /* gx_open starts a trace in this file, unless another context
                                    is already writing to it; NULL or "": no trace */
    const char *webgpu_backends; /* backends WebGPU may use, comma-separated: vulkan, gl, dx12,
                                    metal, where the platform has them; NULL: all */
    const char *wgpu_library;    /* path of the wgpu-native library; NULL: the system's search
                                    path */
    const char *cache_dir;       /* directory for cache files; "none": no files; NULL:
                                    $XDG_CACHE_HOME/gpuexec or ~/.cache/gpuexec */
    gx_log_fn log;               /* NULL: no messages */
    void *log_user;
    gx_allocator allocator;      /* {0}: malloc and free */
    uint32_t ignore_environment; /* 1: read no environment variables; without cache_dir there are
                                    then no cache files. Drivers still read their own */
    uint32_t reserved;
    const char *cuda_library; /* path of the CUDA driver's library; NULL: libcuda.so.1 on the
                                 system's search path */
} gx_config;

/* Static data owned by the library; may grow at the end. */
typedef struct gx_option {
    const char *name; /* "dispatch-elems": --dispatch-elems on the command line */
    const char *env;  /* "GPUEXEC_DISPATCH_ELEMS" */
    const char *arg;  /* "N", for help texts */
    const char *help;
} gx_option;

/* Settings that also have an environment variable and a command-line option, by index from 0;
 * NULL past the last. Any thread. */
GX_API const gx_option *gx_option_get(uint32_t index);

/* Instruction-set tiers of the CPU device, most portable first: "portable", "adx", "avx512"; NULL
 * past the last. Any thread. */
GX_API const char *gx_tier_name(uint32_t index);

/* Parses `value` and stores it in the member of *config that belongs to option `name`. A string
 * value is borrowed until gx_open returns. Returns GX_ERR_INVALID for an unknown name, a bad
 * value, or a member beyond config->struct_size; err (may be NULL) receives the reason and is
 * always NUL-terminated. Any thread. */
GX_API gx_status gx_config_set(gx_config *config, const char *name, const char *value, char *err,
                               size_t err_size);

/* Opens a context; config may be NULL. On success the caller owns *ctx and releases it with
 * gx_close; on failure *ctx is NULL. Opens no device yet. Any thread; does not block. A context
 * does not survive fork(); the child may open its own. If the parent had a context open that had
 * listed or used WebGPU devices, the child has no "webgpu:gl" devices; if it ever had one that had
 * listed or used CUDA devices, the child has none of these. */
GX_API gx_status gx_open(const gx_config *config, gx_ctx **ctx);

/* Closes the context and clears the caller's pointer; NULL and a pointer to NULL are allowed. No
 * other call on the context may be in progress or follow; calls on its tickets may. Blocks until
 * all submitted work is done; call gx_cancel_all first to shorten the wait. */
GX_API void gx_close(gx_ctx **ctx);

/* ---- devices ------------------------------------------------------------ */

typedef uint32_t gx_device_kind;
enum {
    GX_DEVICE_CPU = 1,
    GX_DEVICE_REFERENCE = 2,
    GX_DEVICE_VULKAN = 3,
    GX_DEVICE_SIM = 4, /* real results, simulated time */
    GX_DEVICE_WEBGPU = 5,
    GX_DEVICE_CUDA = 6
};

/* Output. */
typedef struct gx_device_info {
    size_t struct_size;    /* sizeof(gx_device_info) */
    char name[48];         /* as in gx_run_opts.device: "cpu" */
    char description[128]; /* "AMD EPYC, portable adx avx512" */
    gx_device_kind kind;
    uint32_t threads;      /* maximum host threads it uses */
    uint64_t memory_bytes; /* available memory; 0: unknown */
    uint32_t automatic;    /* 1: eligible for jobs that name no device */
    uint32_t usable;       /* 0: cannot be opened; description says why and what to do */
} gx_device_info;

/* Lists the devices. *count is the capacity of infos on entry and the number of devices on
 * return; at most the capacity is written. infos may be NULL to query the number. Any thread; may
 * block in drivers. */
GX_API gx_status gx_devices(gx_ctx *ctx, gx_device_info *infos, size_t *count);

/* Device names:
 *   "cpu"
 *   "ref"                  the slow reference that all other devices are checked against
 *   "vulkan:0"             also by part of the driver's name ("vulkan:H200"), by UUID prefix
 *                          ("vulkan:uuid=6d65"), or "vulkan" for the first one
 *   "webgpu:vulkan:0"      also gl, dx12 and metal where the platform has them; "webgpu:gl" or
 *                          "webgpu" for the first one
 *   "cuda:0"               also by part of the name, by UUID prefix, or "cuda", as for vulkan
 *   "sim:FILE"             for tests: real results, timing as on the machine described in FILE
 *   "fault:WHAT@N:DEVICE"  for tests: wraps DEVICE and injects a fault at its Nth call; WHAT is
 *                          fail, oom, lose, hang or corrupt (doc/design.md)
 * The last two exist only in libraries built with GPUEXEC_TEST_DEVICES.
 *
 * A lost device stays in the list; the next job or buffer that names it reopens it. Its
 * buffers are lost: they, and jobs that use them, return GX_ERR_DEVICE_LOST until they are
 * destroyed and created again. The same applies after GX_ERR_TIMEOUT: a submission that takes
 * longer than one minute plus 50 us per element is considered hung. A CUDA device is not reopened
 * while that submission still runs; until then its name returns GX_ERR_TIMEOUT. */

/* ---- device buffers ------------------------------------------------------- */

typedef struct gx_buf gx_buf;

/* Host-mappable memory; slower to access on most devices. */
#define GX_BUF_MAPPABLE 1u

/* Creates a buffer on the named device (NULL: chosen as for a job) with unspecified contents. On
 * success the caller owns *buf and must call gx_buf_destroy before gx_close; on failure *buf is
 * NULL. Any thread; may block while the device is opened. */
GX_API gx_status gx_buf_create(gx_ctx *ctx, const char *device, size_t bytes, uint32_t flags,
                               gx_buf **buf);

/* Makes a buffer of memory that the caller has allocated on a CUDA device, for jobs to use in
 * place: `bytes` bytes, more than 0, from this device pointer on, a multiple of 16, inside one
 * allocation of the device's primary context, which is that of the CUDA runtime (cudaMalloc,
 * cuMemAlloc). The memory stays the caller's: it must outlive the buffer, which does not free it,
 * and counts neither for gx_config.device_memory nor in gx_stats. The library works on streams of
 * its own. So what the caller has begun on the memory must be done (cudaStreamSynchronize) before
 * a call that uses the buffer; calls that wait for a job or copy return when its work on the memory
 * is done. device as for gx_buf_create, but NULL only if gx_config.device is one device. Returns
 * GX_ERR_UNSUPPORTED if it is no CUDA device, and GX_ERR_INVALID for other addresses; the message
 * says why. Any thread; may block while the device is opened. */
GX_API gx_status gx_buf_from_cuda(gx_ctx *ctx, const char *device, uint64_t address, size_t bytes,
                                  gx_buf **buf);

/* Device pointer of a buffer on a CUDA device, in its primary context, for the caller's own kernels
 * and copies; 0 on other devices and for NULL. Valid until the buffer is destroyed or the device is
 * lost. The same order applies: no job or copy may use the buffer at the same time. Any thread;
 * does not block. */
GX_API uint64_t gx_buf_cuda_address(const gx_buf *buf);

/* Destroys the buffer and clears the caller's pointer; NULL and a pointer to NULL are allowed. No
 * other call or job on the buffer may be in progress. Works on a lost device too. */
GX_API void gx_buf_destroy(gx_buf **buf);

/* Size in bytes (0 for NULL), and name of the device ("" for NULL), which is valid for the
 * lifetime of the buffer. Any thread; does not block. */
GX_API size_t gx_buf_size(const gx_buf *buf);
GX_API const char *gx_buf_device(const gx_buf *buf);

/* Copies bytes into or out of the buffer, starting at byte `offset`. Any thread, also on the same
 * buffer, but concurrent copies and jobs must not access the same bytes unless all of them only
 * read. Blocks until the copy is done. */
GX_API gx_status gx_buf_write(gx_buf *buf, size_t offset, const void *from, size_t bytes);
GX_API gx_status gx_buf_read(gx_buf *buf, size_t offset, void *to, size_t bytes);

/* Maps a GX_BUF_MAPPABLE buffer into host memory. Until gx_buf_unmap, copies and jobs on the
 * buffer return GX_ERR_INVALID. Any thread, but one at a time per buffer, and not while a copy or
 * job on it is in progress. */
GX_API gx_status gx_buf_map(gx_buf *buf, void **memory);
GX_API void gx_buf_unmap(gx_buf *buf);

/* ---- jobs ---------------------------------------------------------------- */

/* Frozen. */
typedef struct gx_operand {
    void *host;         /* `n` elements (one if broadcast) in host memory, any alignment; or: */
    gx_buf *buf;        /* buffer that holds them, */
    size_t offset;      /* starting at this byte, a multiple of 16 (u32, f32, registered: of 4) */
    uint32_t broadcast; /* 1: a single element, used for all n */
    uint32_t reserved;
} gx_operand;

/* Make an operand from host memory, or from a buffer starting at byte `offset`. The _broadcast
 * forms use a single element for all n. Any thread. */
GX_API gx_operand gx_host(const void *elements);
GX_API gx_operand gx_host_broadcast(const void *element);
GX_API gx_operand gx_dev(gx_buf *buf, size_t offset);
GX_API gx_operand gx_dev_broadcast(gx_buf *buf, size_t offset);

/* Skips the check that inputs are below the modulus, and the indices of GX_GATHER in range. If one
 * is not, every result of the job is unspecified; memory safety is not affected. */
#define GX_JOB_TRUSTED 1u

/* out[i] = op(a[i], b[i], c[i]) for i < n. Operands that the operation does not use must be {0}.
 * out may be identical to an operand (in place) but must not partly overlap one; a broadcast
 * element must not lie inside out unless n is 1. GX_SUM and GX_DOT write one element, which must
 * not overlap an operand at all. Frozen: operations with further parameters take them through
 * params, which points to a struct that begins with struct_size. */
typedef struct gx_job {
    gx_op op;
    gx_field field; /* 0 for a registered operation */
    size_t n;
    gx_operand a, b, c, out;
    uint32_t flags; /* GX_JOB_* */
    uint32_t reserved;
    const void *params; /* GX_NTT: gx_ntt_params; operations on polynomials: gx_poly_params; GX_MSM:
                           gx_msm_params;
                           registered operations: gx_op_params, or NULL. Others: NULL */
} gx_job;

/* Size in bytes of operand 'a', 'b', 'c', or 'o' for out. 0 if the job is NULL, has no such
 * operand, or has an unknown op or field. Any thread. */
GX_API size_t gx_operand_bytes(const gx_job *job, char operand);

/* ---- transforms and polynomials --------------------------------------------- */

/* A multiplicative subgroup of 2^log2_size elements, and a coset of it: what transforms are over.
 * doc/ntt.md. Devices make their tables when they first need them, and keep them while there is
 * memory. */
typedef struct gx_domain gx_domain;

/* Input. */
typedef struct gx_domain_desc {
    size_t struct_size; /* sizeof(gx_domain_desc) */
    gx_field field;     /* GX_BLS12_381_FR or GX_BN254_FR */
    uint32_t log2_size; /* of the largest transform: 0 .. gx_field_info.two_adicity */
    const void *root;   /* generator, of order 2^log2_size, in Montgomery form; NULL: the root
                           that arkworks, gnark-crypto and sppark use (doc/encoding.md) */
    const void *shift;  /* of cosets, not 0, in Montgomery form; NULL: 7 for GX_BLS12_381_FR, 5
                           for GX_BN254_FR */
} gx_domain_desc;

/* On success the caller owns *domain and destroys it before gx_close; on failure it is NULL. Any
 * thread; does not block. */
GX_API gx_status gx_domain_create(gx_ctx *ctx, const gx_domain_desc *desc, gx_domain **domain);

/* Destroys the domain and clears the caller's pointer; NULL and a pointer to NULL are allowed. No
 * job that uses it may be in progress. Any thread. */
GX_API void gx_domain_destroy(gx_domain **domain);

/* Writes the root of unity of order 2^log2_n of the domain (one element in Montgomery form).
 * Any thread. */
GX_API gx_status gx_domain_root(const gx_domain *domain, uint32_t log2_n, void *element);

#define GX_NTT_INVERSE 1u /* values to coefficients, 1/n included */
#define GX_NTT_COSET                                                                               \
    2u                         /* over the coset: coefficient i times shift^i before a forward     \
                                  transform, shift^-i after an inverse one */
#define GX_NTT_REVERSED_IN  4u /* each transform of a is in bit-reversed order */
#define GX_NTT_REVERSED_OUT 8u /* each transform of out is */
#define GX_NTT_COLUMNS                                                                             \
    16u /* the transforms are the columns of a matrix, not its rows: element                       \
           i of transform t is i * batch + t */

/* gx_job.params of GX_NTT. job.n is the number of elements of out: batch << log2_n. Output k of
 * a forward transform is the sum of a[i] * (shift^i) * root^(i * k). out is a, or does not overlap
 * it. Input. */
typedef struct gx_ntt_params {
    size_t struct_size;      /* sizeof(gx_ntt_params) */
    const gx_domain *domain; /* of the job's field and context; log2_n is at most its log2_size */
    uint32_t log2_n;         /* 2^log2_n elements per transform */
    uint32_t log2_pad;       /* each transform of a has 2^(log2_n - log2_pad) elements; the others
                                are 0 (not in place) */
    uint32_t flags;          /* GX_NTT_* */
    uint32_t reserved;
} gx_ntt_params;

#define GX_POLY_REVERSED 1u /* GX_EVALUATE: n is a power of two, a is in bit-reversed order */

/* gx_job.params of GX_EVALUATE and GX_ROTATE (NULL: all 0), GX_COSETS, GX_GATHER, GX_INTERLEAVE
 * and GX_DEINTERLEAVE. Input. */
typedef struct gx_poly_params {
    size_t struct_size; /* sizeof(gx_poly_params) */
    uint64_t count;     /* as the operation says; where it divides n into parts, a divisor of n */
    uint32_t flags;     /* GX_POLY_* */
    uint32_t reserved;
} gx_poly_params;

/* ---- points and multi-scalar multiplication ---------------------------------- */

/* Points of one curve that jobs use repeatedly. Devices copy them when they first need them, and
 * keep them while there is memory. */
typedef struct gx_points gx_points;

/* Input. */
typedef struct gx_points_desc {
    size_t struct_size; /* sizeof(gx_points_desc) */
    gx_curve curve;
    gx_point_form form;
    const void *points; /* in host memory, any alignment; or: */
    gx_buf *buf;        /* buffer that holds them, */
    size_t offset;      /* starting at this byte */
    size_t count;       /* 0 is allowed */
    size_t stride;      /* bytes from one point to the next; 0: gx_point_bytes */
    size_t flag_offset; /* XY forms: the byte at this offset from the start of each point, beyond
                           its coordinates, is not 0 if it is infinity, and zeros are not infinity
                           then (arkworks up to 0.5); 0: there is none */
    gx_point_check check;
    uint32_t reserved;
    uint64_t table_bytes; /* most memory on each device for the points and multiples of them, which
                             make jobs faster; a GPU takes at most half of its memory; 0: none */
} gx_points_desc;

/* Reads, checks and copies the points. On success the caller owns *points and destroys them before
 * gx_close; on failure it is NULL, and *bad_index (may be NULL) is the index of the first bad point
 * or UINT64_MAX: GX_ERR_NOT_CANONICAL if a coordinate is not below the modulus; GX_ERR_INVALID if
 * the encoding is malformed, or the point is not on the curve or not in the subgroup. Any thread;
 * blocks. */
GX_API gx_status gx_points_create(gx_ctx *ctx, const gx_points_desc *desc, gx_points **points,
                                  uint64_t *bad_index);

/* Destroys the points and clears the caller's pointer; NULL and a pointer to NULL are allowed. No
 * job that uses them may be in progress. Any thread. */
GX_API void gx_points_destroy(gx_points **points);

/* How many there are; 0 for NULL. Any thread. */
GX_API size_t gx_points_count(const gx_points *points);

/* Writes points first .. first + count in any form that the curve has, one after the other. Any
 * thread; blocks. */
GX_API gx_status gx_points_read(const gx_points *points, size_t first, size_t count,
                                gx_point_form form, void *out);

/* How the 32 bytes of a scalar are to be understood. */
typedef uint32_t gx_scalar_form;
enum {
    GX_SCALAR_PLAIN = 0, /* integers below 2^256, lowest byte first, also above the order */
    GX_SCALAR_MONT = 1   /* elements of the scalar field, in Montgomery form */
};

/* "plain", "mont"; "unknown". Any thread. */
GX_API const char *gx_scalar_form_name(gx_scalar_form form);

/* gx_job.params of GX_MSM. job.field is the scalar field of the curve, a has job.n = batch * count
 * scalars, and result i of `batch` is that of scalars i * count .. (i + 1) * count with the same
 * points. If count is 0 there is one result, infinity. out must not overlap a. The bytes of a
 * result depend on nothing but the point: coordinates are canonical, Z is 1. Input. */
typedef struct gx_msm_params {
    size_t struct_size;      /* sizeof(gx_msm_params) */
    const gx_points *points; /* of the job's context */
    size_t first, count;     /* those used */
    gx_scalar_form scalar_form;
    uint32_t scalar_bits; /* GX_SCALAR_PLAIN: bits from this one on are ignored; fewer are faster;
                             0: 256 */
    gx_point_form result_form; /* 0 is refused */
    uint32_t reserved;
} gx_msm_params;

/* Input. */
typedef struct gx_multiply_desc {
    size_t struct_size; /* sizeof(gx_multiply_desc) */
    gx_curve curve;
    gx_point_form base_form; /* of base; not used without one */
    const void *base;        /* one point of the curve; NULL: the generator */
    const void *scalars;     /* `count` scalars of 32 bytes */
    gx_scalar_form scalar_form;
    gx_point_form form; /* of the results */
    size_t count;
    void *out; /* `count` points, one after the other; must not overlap the scalars */
} gx_multiply_desc;

/* Multiplies one point by many scalars, on the CPU, with all threads: out[i] = scalars[i] * base.
 * GX_ERR_NOT_CANONICAL and GX_ERR_INVALID as above, for the base and for scalars. Any thread;
 * blocks. */
GX_API gx_status gx_points_multiply(gx_ctx *ctx, const gx_multiply_desc *desc);

/* ---- kernels of the caller ------------------------------------------------ */

/* An operation that the caller defines, with a kernel for each kind of device that should run it:
 * doc/kernels.md says what a kernel is given and has to do. Jobs with it work like any others. */

/* What the C function of an operation is to compute. The library fills it in; it may grow at the
 * end. Pointers are aligned as the memory of the job is, or to 16 bytes. */
typedef struct gx_kernel_call {
    size_t n;      /* elements */
    const void *a; /* the first element of each; NULL if the operation has no such operand */
    const void *b;
    const void *c;
    size_t a_step; /* bytes from one element to the next; 0: a single element for all n */
    size_t b_step;
    size_t c_step;
    void *out;          /* identical to an operand if the job is in place */
    const void *params; /* gx_op_desc.params_bytes bytes; NULL: none */
} gx_kernel_call;

/* May be called by several threads at once. It must write all of out, and must not call into the
 * context. */
typedef void (*gx_kernel_fn)(void *user, const gx_kernel_call *call);

/* The kernel chooses its own grid: it runs once for all n elements. Such a job is never cut
 * or split, and out must not overlap an operand. */
#define GX_OP_WHOLE 1u
/* With GX_OP_WHOLE: out is one element, whatever n is. */
#define GX_OP_ONE_RESULT 2u

/* Largest element of a registered operation, and most parameters, in bytes. */
#define GX_OP_ELEMENT_BYTES 4096u
#define GX_OP_PARAMS_BYTES  64u

/* Input. At least one of fn, spirv and wgsl must be set. */
typedef struct gx_op_desc {
    size_t struct_size; /* sizeof(gx_op_desc) */
    const char *name;   /* for reports, traces and metrics: up to 47 letters, digits and -_. */
    uint32_t operands;  /* 1: a; 2: a, b; 3: a, b, c */
    uint32_t flags;     /* GX_OP_* */
    uint32_t a_bytes;   /* of one element: multiples of 4; 0 if there is no such operand */
    uint32_t b_bytes;
    uint32_t c_bytes;
    uint32_t out_bytes;
    uint32_t params_bytes; /* of gx_op_params.data: a multiple of 4 */
    uint32_t group_elems;  /* elements of one workgroup of the shaders; 0 with GX_OP_WHOLE */
    gx_kernel_fn fn;       /* for "cpu", and to compare the results of other devices with */
    void *user;            /* for fn */
    const uint32_t *spirv; /* for Vulkan devices */
    size_t spirv_bytes;
    const char *spirv_entry; /* NULL: "main" */
    const char *wgsl;        /* for WebGPU devices */
    const char *wgsl_entry;  /* NULL: "main" */
    const char *ptx;         /* for CUDA devices */
    const char *ptx_entry;   /* NULL: "kernel" */
    uint32_t ptx_block[3];   /* threads of a block in x, y and z; 0: 1 */
    uint32_t reserved;
} gx_op_desc;

/* gx_job.params of a registered operation. Input. */
typedef struct gx_op_params {
    size_t struct_size; /* sizeof(gx_op_params) */
    const void *data;   /* gx_op_desc.params_bytes bytes */
    uint32_t groups[3]; /* GX_OP_WHOLE: workgroups in x, y and z; 0: 1 */
    uint32_t reserved;
} gx_op_params;

/* Registers an operation. On success *op is a value for gx_job.op, in this context only; no other
 * operation of the process ever has it. On failure it is 0. The description is copied. SPIR-V is
 * checked here as far as doc/kernels.md says; a device compiles a kernel when it is first needed,
 * and one that cannot returns GX_ERR_UNSUPPORTED, or is not chosen. Returns GX_ERR_OUT_OF_MEMORY
 * too if the process has 64 operations registered. Any thread. */
GX_API gx_status gx_op_register(gx_ctx *ctx, const gx_op_desc *desc, gx_op *op);

/* From now on jobs with the operation are invalid; waits until those in progress are done. gx_close
 * unregisters all. Any thread, but neither from fn nor from gx_done_fn. */
GX_API gx_status gx_op_unregister(gx_ctx *ctx, gx_op op);

/* ---- running jobs ---------------------------------------------------------- */

/* How host operands reach a device that cannot access them in place. */
typedef uint32_t gx_path;
enum {
    GX_PATH_AUTO = 0,         /* the faster one, by speeds measured on the device */
    GX_PATH_HOST_VISIBLE = 1, /* kernels access mapped host memory: one submit, no copies */
    GX_PATH_DEVICE_LOCAL = 2, /* copied to device memory and back */
    GX_PATH_DIRECT = 3        /* reported only: all operands were used in place */
};

/* How the jobs of one call are scheduled on the same device. */
typedef uint32_t gx_mode;
enum {
    GX_MODE_AUTO = 0,          /* the one predicted to be fastest */
    GX_MODE_SEQUENTIAL = 1,    /* one job at a time */
    GX_MODE_SINGLE_SUBMIT = 2, /* as many jobs per submit as fit */
    GX_MODE_PIPELINED = 3      /* copies overlap the computation of other jobs */
};

/* How a device is chosen for jobs that name none. */
typedef uint32_t gx_policy;
enum {
    GX_POLICY_AUTO = 0,      /* the device predicted to finish first, or a split over several
                                if that is predicted to be faster */
    GX_POLICY_CPU = 1,       /* "cpu" only */
    GX_POLICY_GPU = 2,       /* any device but "cpu"; never falls back to "cpu" */
    GX_POLICY_LATENCY = 3,   /* a single device, judged by its slower calls; no exploration */
    GX_POLICY_THROUGHPUT = 4 /* keep all devices busy: split if there is any gain */
};

/* Input. */
typedef struct gx_run_opts {
    size_t struct_size; /* sizeof(gx_run_opts) */
    const char *device; /* one device; NULL: chosen by gx_policy, within what buffers allow */
    gx_path path;       /* GX_PATH_AUTO: as in gx_config */
    gx_mode mode;       /* GX_MODE_AUTO: as in gx_config */
    gx_policy policy;   /* GX_POLICY_AUTO: as in gx_config */
    uint32_t reserved;
} gx_run_opts;

/* Why a job ran where it did. */
typedef uint32_t gx_reason;
enum {
    GX_REASON_NONE = 0,     /* it did not run */
    GX_REASON_ASKED = 1,    /* the caller or the configuration named the device */
    GX_REASON_ONLY = 2,     /* no other device was present, allowed and working */
    GX_REASON_RESIDENT = 3, /* the job's buffers are there, and moving them would not pay off */
    GX_REASON_SMALL = 4,    /* so small that the CPU is certain to beat any GPU */
    GX_REASON_FASTEST = 5,  /* fastest according to the model of this machine (gx_model) */
    GX_REASON_SPLIT = 6,    /* likewise, split over several devices */
    GX_REASON_DEFAULT = 7,  /* nothing measured yet: decided by size (GX_DEFAULT_GPU_ELEMS) */
    GX_REASON_EXPLORED = 8, /* in order to measure that device */
    GX_REASON_FALLBACK = 9  /* the device chosen for all or part of it failed */
};

/* Until something has been measured, jobs of at least this many elements run on a GPU; fewer of
 * operations that take many products for each element: a quarter of it for inv, 2^15 for ntt, about
 * 3000 points for msm. */
#define GX_DEFAULT_GPU_ELEMS 100000u

/* Output: a device that was considered for a job, and the outcome. */
typedef struct gx_candidate {
    size_t struct_size; /* sizeof(gx_candidate) */
    char device[48];
    uint64_t predicted_ns; /* for the whole job on this device alone; 0: unknown */
    uint64_t share_ns;     /* predicted for its share; 0: no share, or unknown */
    uint64_t actual_ns;    /* measured for its share; 0: no share */
    uint64_t elements;     /* of its share that it completed */
    gx_status status;      /* GX_OK, or why its share was completed elsewhere */
    uint32_t reserved;
} gx_candidate;

/* Maximum number of candidates per job in this version. */
#define GX_CANDIDATES_MAX 8

/* Output, except for the candidate array, which the caller may supply. */
typedef struct gx_report {
    size_t struct_size;      /* sizeof(gx_report) */
    gx_candidate *candidate; /* array that receives the candidates; NULL: not wanted */
    uint32_t candidate_room; /* capacity of that array */
    uint32_t candidates;     /* number of candidates, which may exceed the capacity; 0 if the
                                device was named */
    gx_status status;
    gx_reason reason;
    char device[48];
    uint32_t threads;      /* host threads used */
    uint32_t dispatches;   /* kernel launches */
    uint32_t groups;       /* groups of work it was part of, including shared ones */
    uint32_t submits;      /* of the groups that begin with this job */
    uint32_t command_hits; /* submits that reused recorded commands */
    uint32_t sampled;      /* elements recomputed and compared, UINT32_MAX at most */
    gx_path path;
    gx_mode mode;         /* of the call */
    uint64_t bad_index;   /* GX_ERR_NOT_CANONICAL: index of the first offending element (also of
                             GX_GATHER, GX_ERR_INVALID: an index that is not below count) ... */
    uint32_t bad_operand; /* ... in 'a', 'b' or 'c'; 0: a later job has overwritten it */
    uint32_t reserved;
    uint64_t queued_ns;   /* time in the queue, for submitted jobs */
    uint64_t total_ns;    /* inside the library, from its first group to its last. For shared
                             groups, this and the times below are this job's part: */
    uint64_t host_in_ns;  /* copying operands to staging memory */
    uint64_t device_ns;   /* recording, submitting and waiting for the device */
    uint64_t host_out_ns; /* copying the result from staging memory */
    uint64_t upload_ns;   /* these three by the device's own clock, 0 if it has none */
    uint64_t compute_ns;  /* (host devices: same as device_ns) */
    uint64_t download_ns;
    char message[160];  /* what went wrong and what to do; on success empty, or what went wrong
                           before a fallback succeeded */
    uint64_t record_ns; /* part of device_ns: recording commands, or finding recorded ones */
    uint64_t submit_ns; /* part of device_ns: in submit calls. Both are 0 on host devices */
} gx_report;

/* Runs the jobs as if one after the other and returns when all are done. All jobs are validated
 * before any runs. The first failure stops the call and is returned; jobs that were not run get
 * GX_ERR_NOT_RUN. Inputs are never written, and a job whose inputs are rejected leaves them
 * intact, even in place. The table in doc/threading.md says what is written after a failure.
 * opts may be NULL. reports may be NULL, or has one element per job, each {0} except for
 * struct_size and the candidate array. Any thread; blocks; does not allocate once warm. */
GX_API gx_status gx_run(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_opts *opts,
                        gx_report *reports);

/* ---- asynchronous work --------------------------------------------------- */

/* A set of submitted jobs: as gx_run, but executed by threads of the library. */
typedef struct gx_ticket gx_ticket;

/* Validates the jobs as gx_run does, finds their devices, queues them and returns. On success the
 * caller owns *ticket and releases it with gx_ticket_free, before or after gx_close; on failure
 * *ticket is NULL and nothing runs. Jobs, their params and opts are copied; operand memory,
 * buffers and domains are borrowed until the ticket is done. The jobs of one ticket run as if one
 * after the other. Different tickets overlap and finish in any order: if a job uses the output of a
 * job in another ticket, wait for that ticket before submitting. Submitting threads are served
 * round-robin, one ticket at a time. Any thread; blocks while a device is opened and while the
 * queue is full (gx_config.queue_jobs; a ticket with more jobs than that waits until the queue is
 * empty), in first-come, first-served order; does not allocate once warm. */
GX_API gx_status gx_submit(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_opts *opts,
                           gx_ticket **ticket);

/* GX_PENDING, or what gx_run would have returned. Any thread; does not block. */
GX_API gx_status gx_poll(gx_ticket *ticket);

/* Waits until the ticket is done or the timeout expires (0: do not wait; UINT64_MAX: wait
 * forever), then returns the same as gx_poll. If the ticket is done, fills reports (one per job,
 * as for gx_run, or NULL). May be called repeatedly and by several threads at once. */
GX_API gx_status gx_wait(gx_ticket *ticket, uint64_t timeout_ns, gx_report *reports);

/* Waits for the first of several tickets to finish, returns the same as gx_poll for that ticket
 * and stores its position in *index. On timeout returns GX_PENDING and sets *index to `count`.
 * NULL tickets are skipped, but at least one must not be NULL, and all must belong to one
 * context. Any thread, several per ticket; does not allocate. */
GX_API gx_status gx_wait_any(gx_ticket *const *tickets, size_t count, uint64_t timeout_ns,
                             size_t *index);

/* Called once, when a ticket is done. It may call gx_poll, gx_wait with timeout 0, gx_submit on a
 * context whose queue is not full, write to a descriptor or post a semaphore. It must not block,
 * free its ticket or close the context. */
typedef void (*gx_done_fn)(void *user, gx_ticket *ticket);

/* For event loops: arranges for `done` to be called when the ticket is done, from a library
 * thread or from the thread that cancels the ticket. If the ticket is already done, `done` is
 * called before gx_notify returns. Once per ticket. gx_ticket_free waits for the callback. To
 * wake poll() or epoll, have it write to an eventfd, and call gx_wait with timeout 0 in the loop:
 * examples/events.c. Any thread; does not block, unless `done` does. */
GX_API gx_status gx_notify(gx_ticket *ticket, gx_done_fn done, void *user);

/* Cancels the ticket: jobs that have not started get GX_ERR_CANCELLED, running jobs are completed,
 * and then the ticket is done. Does nothing for NULL and for a ticket that is done. Any thread;
 * does not block. */
GX_API void gx_cancel(gx_ticket *ticket);

/* gx_cancel for all tickets of the context that are pending now. Any thread; does not block. */
GX_API void gx_cancel_all(gx_ctx *ctx);

/* Frees the ticket and clears the caller's pointer; NULL and a pointer to NULL are allowed. Waits
 * until the ticket is done and no thread is inside gx_wait. No other call on it may follow. */
GX_API void gx_ticket_free(gx_ticket **ticket);

/* ---- registered memory and plans ------------------------------------------ */

/* Registers a range of host memory that will hold operands repeatedly. Devices that support it
 * copy directly from and to registered memory, without staging; for others nothing changes.
 * Ranges must not overlap. The memory is borrowed, and must stay allocated, until
 * gx_host_unregister or gx_close. Any thread; drivers see the range when the first job uses
 * it. */
GX_API gx_status gx_host_register(gx_ctx *ctx, void *memory, size_t bytes);

/* memory: start of a registered range. No job or copy that uses it may be in progress. */
GX_API gx_status gx_host_unregister(gx_ctx *ctx, void *memory);

/* Output, except for the candidate array: what gx_run would do with the jobs. */
typedef struct gx_estimate_info {
    size_t struct_size;      /* sizeof(gx_estimate_info) */
    gx_candidate *candidate; /* as in gx_report, with predictions only */
    uint32_t candidate_room;
    uint32_t candidates; /* this and device, reason, path, mode, sets and chunk_elems are those of
                            the first job */
    char device[48];
    gx_reason reason;
    gx_path path;
    gx_mode mode;
    uint32_t sets;        /* groups in flight concurrently */
    uint64_t chunk_elems; /* maximum elements per piece */
    uint64_t groups, submits, dispatches;
    uint64_t bytes_up, bytes_down; /* copied by the device */
    uint64_t bytes_staged;         /* copied by the host, in and out */
    uint64_t memory_bytes;         /* peak device memory */
    uint64_t predicted_ns;         /* for the whole call, as planned; 0: unknown */
    uint64_t mode_ns[8];           /* predicted, by gx_mode; 0 for auto and unused entries */
} gx_estimate_info;

/* Plans the jobs without running them: opens devices, but computes, copies and allocates nothing
 * for the jobs. Same rules as for gx_run. Any thread. */
GX_API gx_status gx_estimate(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_opts *opts,
                             gx_estimate_info *info);

/* ---- performance model ---------------------------------------------------- */

/* Where the operands of a job reside. */
typedef uint32_t gx_residency;
enum {
    GX_HOST_MEMORY = 1,       /* some in unregistered host memory */
    GX_REGISTERED_MEMORY = 2, /* host memory, all of it registered */
    GX_DEVICE_MEMORY = 3      /* all in buffers on the device */
};

/* Output. One point of the router's model: a job of n elements takes ns. */
typedef struct gx_model_row {
    size_t struct_size; /* sizeof(gx_model_row) */
    char device[48];
    gx_op op;
    gx_field field;
    gx_residency residency;
    gx_path path; /* as requested */
    uint64_t n, ns;
    uint64_t slow_ns;     /* for slower calls */
    uint32_t samples;     /* number of measurements behind it */
    uint32_t age_s;       /* of the most recent one */
    uint32_t log2_n;      /* GX_NTT: 2^log2_n elements per transform; GX_MSM: several
                             results of up to 2^log2_n points, 0 for one result; 0
                             for other operations */
    uint32_t permutes;    /* GX_NTT: 1 if both a and out, or neither, are in bit-reversed order */
    gx_curve curve;       /* GX_MSM */
    uint32_t scalar_bits; /* GX_MSM: up to so many: 64, 128 or 256 */
} gx_model_row;

/* Everything the context has measured or loaded from the cache directory. *count as for
 * gx_devices. Any thread. */
GX_API gx_status gx_model(gx_ctx *ctx, gx_model_row *rows, size_t *count);

/* Input. */
typedef struct gx_calibration {
    size_t struct_size; /* sizeof(gx_calibration) */
    const gx_op *ops;   /* operations to measure: those without parameters, GX_NTT and GX_MSM */
    size_t op_count;    /* 0: add, mul, inv, ntt and msm; others are predicted from the nearest of
                           these */
    const gx_field *fields;
    size_t field_count; /* 0: all prime fields */
    uint64_t max_elems; /* largest size measured; 0: 16M */
    uint64_t limit_ns;  /* wall-clock limit for the whole calibration; 0: 20 s */
    /* Called after each step; a nonzero return stops the calibration. May be NULL. */
    int (*progress)(void *user, double done, const char *device, const char *what);
    void *user;
} gx_calibration;

/* Measures all devices that may be chosen, replaces their part of the model, and saves it in
 * the cache directory. settings may be NULL. Run it on an idle machine. Any thread; blocks.
 * Returns GX_ERR_CANCELLED if `progress` stopped it; measurements made so far are kept. Returns
 * GX_ERR_FILE if the result cannot be saved; it still applies to this context. */
GX_API gx_status gx_calibrate(gx_ctx *ctx, const gx_calibration *settings);

/* ---- statistics ---------------------------------------------------------- */

/* Size histogram of pooled memory: bucket i counts blocks of 4096 << i bytes; the last one counts
 * all larger blocks. */
#define GX_BUCKETS 20

/* Output. Counted since the context was opened. Failed jobs count only in jobs_failed. */
typedef struct gx_statistics {
    size_t struct_size; /* sizeof(gx_statistics) */
    uint64_t jobs_done;
    uint64_t jobs_failed; /* includes jobs not run, and cancelled */
    uint64_t elements;
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t compute_ns;
    uint64_t dispatches;
    uint64_t pool_hits;           /* staging and scratch blocks reused ... */
    uint64_t pool_misses;         /* ... and newly allocated */
    uint64_t buckets[GX_BUCKETS]; /* both, by size */
    uint64_t pool_bytes;          /* held by the pools now, idle or in use */
    uint64_t device_bytes;        /* held on devices now: pools and buffers */
    uint64_t device_bytes_peak;   /* maximum ever held on a single device */
    uint64_t command_hits;        /* submits that reused recorded commands ... */
    uint64_t command_misses;      /* ... and that recorded new ones */
    uint64_t tickets_submitted;
    uint64_t tickets_done;        /* of these, with whatever status */
    uint64_t tickets_cancelled;   /* of these, with at least one cancelled job */
    uint64_t jobs_waiting;        /* in unfinished tickets now */
    uint64_t validation_messages; /* if gx_config.validate is set; should stay 0 */
    uint64_t decisions;           /* calls, or parts of calls, placed by the router ... */
    uint64_t decisions_default;   /* ... of these, with GX_REASON_DEFAULT */
    uint64_t decisions_split;     /* ... over several devices */
    uint64_t decisions_explored;  /* ... with GX_REASON_EXPLORED */
    /* Successful decisions between several devices for which at least one prediction existed,
     * excluding small calls (GX_REASON_SMALL): total actual time, and total of the lowest
     * predictions. routed_ns / routed_best_ns - 1 estimates the regret. It includes prediction
     * errors, because the time on the other devices is not measured. */
    uint64_t routed_ns;
    uint64_t routed_best_ns;
    uint64_t sampled;             /* elements recomputed and compared ... */
    uint64_t mismatches;          /* ... jobs in which one differed */
    uint64_t fallbacks;           /* shares completed by a device other than planned */
    uint64_t decisions_predicted; /* decisions counted in routed_ns and routed_best_ns */
    uint64_t record_ns;           /* recording commands, or finding recorded ones ... */
    uint64_t submit_ns;           /* ... and submitting them */
} gx_statistics;

/* Copies the counters. Each value is exact, but they are not read as one atomic snapshot. Any
 * thread; does not block. */
GX_API gx_status gx_stats(gx_ctx *ctx, gx_statistics *out);

typedef uint32_t gx_health;
enum {
    GX_HEALTH_UNUSED = 0, /* not opened yet */
    GX_HEALTH_GOOD = 1,
    GX_HEALTH_RESTING = 2,    /* failed; will be retried later */
    GX_HEALTH_QUARANTINED = 3 /* gave a wrong result; retried much later */
};

/* Output. One device of this context. */
typedef struct gx_device_statistics {
    size_t struct_size; /* sizeof(gx_device_statistics) */
    char device[48];
    gx_health health;
    uint32_t reserved;
    uint64_t retry_ns; /* time until the self-test that may readmit it; 0: none is due */
    uint64_t jobs;     /* jobs or shares of jobs done */
    uint64_t elements;
    uint64_t busy_ns;    /* total time of those jobs */
    uint64_t waiting_ns; /* predicted time of the work in progress */
    uint64_t failures, mismatches, readmissions;
} gx_device_statistics;

/* Covers all devices that were opened or may be chosen. *count as for gx_devices. Any thread. */
GX_API gx_status gx_device_stats(gx_ctx *ctx, gx_device_statistics *stats, size_t *count);

/* All of these metrics in the Prometheus text format, with the names listed in doc/metrics.md,
 * for programs that serve scrapes themselves. *size is the capacity of text on entry and the size
 * needed, including the NUL, on return. If the capacity is too small, text is set to an empty
 * string rather than truncated. text may be NULL to query the size, which may grow before the
 * next call. Any thread; blocks and allocates as gx_device_stats does. */
GX_API gx_status gx_metrics_prometheus(gx_ctx *ctx, char *text, size_t *size);

/* ---- names of values ------------------------------------------------------ */

/* Names as used in settings, on the command line and in metrics: "host-visible", "pipelined",
 * "quarantined". Static strings, never NULL; "unknown" for a value that this version does not
 * know. Any thread. */
GX_API const char *gx_log_level_name(gx_log_level level);
GX_API const char *gx_device_kind_name(gx_device_kind kind);
GX_API const char *gx_path_name(gx_path path);
GX_API const char *gx_mode_name(gx_mode mode);
GX_API const char *gx_policy_name(gx_policy policy);
GX_API const char *gx_reason_name(gx_reason reason);
GX_API const char *gx_residency_name(gx_residency residency);
GX_API const char *gx_health_name(gx_health health);

/* ---- trace --------------------------------------------------------------- */

/* Starts writing every stage of every job to a file in the Chrome trace format, which
 * https://ui.perfetto.dev and chrome://tracing can open: one process per device, one track per
 * stage, host and device on a common time axis. An existing trace file is replaced. Returns
 * GX_ERR_INVALID if the context is already writing a trace or another context is writing to that
 * file; GX_ERR_FILE if the file cannot be created, or exists and is not a trace, in which case it
 * is left alone. Any thread. */
GX_API gx_status gx_trace_start(gx_ctx *ctx, const char *path);

/* Stops the trace. Returns GX_ERR_FILE if the file is incomplete. Does nothing without a trace.
 * gx_close stops it too. If the process exits without either, viewers can still open the file.
 * Any thread. */
GX_API gx_status gx_trace_stop(gx_ctx *ctx);

#ifdef __cplusplus
}
#endif

#endif
