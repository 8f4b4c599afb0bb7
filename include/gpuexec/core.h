/* SPDX-License-Identifier: Apache-2.0
 *
 * What every program uses: status, fields and operations, the context and its settings, devices,
 * buffers, jobs and running them. The conventions of all headers are in gpuexec.h.
 */
#ifndef GPUEXEC_CORE_H
#define GPUEXEC_CORE_H

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

/* ---- context ------------------------------------------------------------ */

/* The library, opened: devices, memory, threads and measurements. One per process is enough. */
typedef struct gx_ctx gx_ctx;

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
    GX_POLICY_THROUGHPUT = 3 /* keep all devices busy: split if there is any gain */
};

/* What a message is about. */
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
 * (secure_getenv). What has few values is an enum; names of devices, tiers, backends and files are
 * text, lists of them comma-separated. gx_open copies the text. */
typedef struct gx_config {
    size_t struct_size;          /* sizeof(gx_config) */
    const char *device;          /* device for jobs that name none, or a list for gx_policy to
                                    choose from, with names of at most 255 characters; NULL: "cpu"
                                    and every device with gx_device_info.automatic */
    gx_policy policy;            /* of jobs that set none */
    gx_path path;                /* likewise */
    gx_mode mode;                /* likewise */
    uint32_t threads;            /* maximum host threads per job; 0: all cores */
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
    const char *cpumask;         /* CPU tiers allowed (gx_tier_name), a list; NULL: all */
    uint32_t validate;           /* 1: load the drivers' validation layer */
    uint32_t ignore_environment; /* 1: read no environment variables; without cache_dir there are
                                    then no cache files. Drivers still read their own */
    uint64_t dispatch_elems;     /* maximum elements per dispatch; 0: the device's limit */
    uint64_t stream_chunk_elems; /* elements per piece of a large job; 0: 524288 */
    uint64_t device_memory;      /* maximum bytes this context may hold on a device, including
                                    buffers; larger work is split up; 0: the device's memory */
    uint64_t queue_jobs;         /* maximum unfinished jobs in tickets; at the limit gx_submit
                                    blocks; 0: 4096 */
    const char *trace;           /* gx_open starts a trace in this file, unless another context
                                    is already writing to it; NULL or "": no trace */
    const char *webgpu_backends; /* backends WebGPU may use, a list: vulkan, gl, dx12, metal, where
                                    the platform has them; NULL: all */
    const char *wgpu_library;    /* path of the wgpu-native library; NULL: the system's search
                                    path */
    const char *cuda_library;    /* path of the CUDA driver's library; NULL: libcuda.so.1 on the
                                    system's search path */
    const char *cache_dir;       /* directory for cache files; "none": no files; NULL:
                                    $XDG_CACHE_HOME/gpuexec or ~/.cache/gpuexec */
    gx_log_fn log;               /* NULL: no messages */
    void *log_user;
    gx_allocator allocator; /* {0}: malloc and free */
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
 * gx_close; on failure *ctx is NULL. Looks for the devices that config->device names, and fails
 * with GX_ERR_NO_DEVICE if one is not there: gx_last_message() lists those that are. Without a name
 * it looks for none; no device is opened yet. Any thread; may block in the drivers of named
 * devices. A context does not survive fork(); the child may open its own. If the parent had a
 * context open that had listed or used WebGPU devices, the child has no "webgpu:gl" devices; if it
 * ever had one that had listed or used CUDA devices, the child has none of these. */
GX_API gx_status gx_open(const gx_config *config, gx_ctx **ctx);

/* Closes the context and clears the caller's pointer; NULL and a pointer to NULL are allowed. No
 * other call on the context may be in progress or follow; calls on its tickets may. Blocks until
 * all submitted work is done; call gx_cancel_all first to shorten the wait. */
GX_API void gx_close(gx_ctx **ctx);

/* ---- devices ------------------------------------------------------------ */

/* What a device is reached through. */
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
    char name[48];         /* as in gx_run_params.device: "cpu" */
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
 *   "gpu"                  the first GPU that is eligible for jobs that name no device
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

/* Memory of one device, for operands that stay there between jobs. */
typedef struct gx_buf gx_buf;

/* Host-mappable memory; slower to access on most devices. */
#define GX_BUF_MAPPABLE 1u

/* Creates a buffer on the named device (NULL: chosen as for a job) with unspecified contents. On
 * success the caller owns *buf and must call gx_buf_destroy before gx_close; on failure *buf is
 * NULL. Any thread; may block while the device is opened. */
GX_API gx_status gx_buf_create(gx_ctx *ctx, const char *device, size_t bytes, uint32_t flags,
                               gx_buf **buf);

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
#define GX_JOB_UNCHECKED 1u

/* out[i] = op(a[i], b[i], c[i]) for i < n. Operands that the operation does not use must be {0}.
 * out may be identical to an operand (in place) but must not partly overlap one; a broadcast
 * element must not lie inside out unless n is 1. GX_SUM and GX_DOT write one element, which must
 * not overlap an operand at all. Frozen: operations with further parameters take them through
 * params, which points to a struct that begins with struct_size; gx_ntt, gx_poly, gx_msm and
 * gx_call make such jobs of typed parameters. */
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

/* ---- running jobs ---------------------------------------------------------- */

/* Input. */
typedef struct gx_run_params {
    size_t struct_size; /* sizeof(gx_run_params) */
    const char *device; /* one device; NULL: chosen by gx_policy, within what buffers allow */
    gx_path path;       /* GX_PATH_AUTO: as in gx_config */
    gx_mode mode;       /* GX_MODE_AUTO: as in gx_config */
    gx_policy policy;   /* GX_POLICY_AUTO: as in gx_config */
    uint32_t reserved;
} gx_run_params;

/* Why a job ran where it did. */
typedef uint32_t gx_reason;
enum {
    GX_REASON_NONE = 0,     /* it did not run */
    GX_REASON_ASKED = 1,    /* the caller or the configuration named the device */
    GX_REASON_ONLY = 2,     /* no other device was present, allowed and working */
    GX_REASON_RESIDENT = 3, /* the job's buffers are there, and moving them would not pay off */
    GX_REASON_SMALL = 4,    /* so small that the CPU is certain to beat any GPU, or that it is done
                               before devices would be found: a context looks for them when its
                               calls take more than 100 ms */
    GX_REASON_FASTEST = 5,  /* fastest according to the model of this machine (gx_model_json) */
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
 * params may be NULL. reports may be NULL, or has one element per job, each {0} except for
 * struct_size and the candidate array. Any thread; blocks; does not allocate once warm. */
GX_API gx_status gx_run(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_params *params,
                        gx_report *reports);

/* ---- registered memory ---------------------------------------------------- */

/* Registers a range of host memory that will hold operands repeatedly. Devices that support it
 * copy directly from and to registered memory, without staging; for others nothing changes.
 * Ranges must not overlap. The memory is borrowed, and must stay allocated, until
 * gx_host_unregister or gx_close. Any thread; drivers see the range when the first job uses
 * it. */
GX_API gx_status gx_host_register(gx_ctx *ctx, void *memory, size_t bytes);

/* memory: start of a registered range. No job or copy that uses it may be in progress. */
GX_API gx_status gx_host_unregister(gx_ctx *ctx, void *memory);

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

#ifdef __cplusplus
}
#endif

#endif
