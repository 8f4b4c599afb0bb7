/* SPDX-License-Identifier: Apache-2.0
 *
 * gpuexec: batches of finite-field and vector arithmetic on whatever is fastest on this
 * machine. This is the whole public interface, for C11, C++17 and binding generators.
 *
 * Conventions, for every declaration below:
 *   - zero means default: a struct set to {0} is valid wherever one is taken;
 *   - nothing here prints, exits or aborts; messages go to gx_config.log and gx_last_message (two
 *     drivers' own messages cannot be prevented: "Printing" in doc/design.md);
 *   - a pointer passed in is borrowed for the call unless its comment says otherwise;
 *   - "any thread" means any number of threads at once, on the same context.
 *
 * Structs grow at the end, and struct_size says how much of one the caller knows: set it to
 * sizeof. 0 stands for the size in the first release, 0.1, for good. A program and a library
 * of different versions get along, whichever is the newer one:
 *   - of an input, members that an older program does not have take their defaults; what a
 *     newer program sets in members that the library does not know is GX_ERR_INVALID;
 *   - of an output, the library writes what the program has room for, and zeros where the
 *     program expects more than it knows;
 *   - in an array, struct_size of the first element holds for all of them. It must not be 0
 *     where there is room for more than one: compiled anew, the same program would have
 *     elements of another size.
 * Structs whose comment says frozen never change. Members named reserved must be 0.
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

#if defined(_WIN32)
#define GX_API
#else
#define GX_API __attribute__((visibility("default")))
#endif

/* ---- status ------------------------------------------------------------ */

/* What a call returns: 0 for success, below 0 for an error. */
typedef int32_t gx_status;
enum {
    GX_OK = 0,
    GX_PENDING = 1,                   /* still under way */
    GX_ERR_INVALID = -1,              /* invalid argument */
    GX_ERR_OVERLAP = -2,              /* the output partly overlaps an operand */
    GX_ERR_NOT_CANONICAL = -3,        /* an element is not below the modulus */
    GX_ERR_UNSUPPORTED = -4,          /* the operation does not exist for this field or device */
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

/* "0.1.0" of the library in use, which may be newer than this header. Any thread. */
GX_API const char *gx_version(void);

/* Why the last call that failed on this thread did: what is wrong, where, and what to do, in one
 * line. Empty where none has failed so far. Valid until the next call on this thread. Calls
 * that succeed leave it as it is. No blocking; allocates nothing. */
GX_API const char *gx_last_message(void);

/* ---- fields and operations --------------------------------------------- */

/* How elements are laid out in memory: doc/encoding.md. Numbered without gaps, from 1. */
typedef uint32_t gx_field;
enum {
    GX_BLS12_381_FQ = 1,
    GX_BLS12_381_FR = 2,
    GX_BN254_FQ = 3,
    GX_BN254_FR = 4,
    GX_U32 = 5,
    GX_F32 = 6
};

/* Numbered without gaps, from 1. Only add, sub and mul exist for u32 and f32 (gx_op_exists). */
typedef uint32_t gx_op;
enum {
    GX_ADD = 1,        /* a + b */
    GX_SUB = 2,        /* a - b */
    GX_MUL = 3,        /* a * b */
    GX_NEG = 4,        /* -a */
    GX_SQR = 5,        /* a * a */
    GX_INV = 6,        /* 1 / a, and 0 where a is 0 */
    GX_DIV = 7,        /* a / b, and 0 where b is 0 */
    GX_MUL_ADD = 8,    /* a * b + c */
    GX_TO_MONT = 9,    /* a * R: a plain integer into Montgomery form */
    GX_FROM_MONT = 10, /* a / R: Montgomery form into a plain integer */
    GX_SUM = 11,       /* a[0] + a[1] + ...: one element; 0 where n is 0 */
    GX_DOT = 12        /* a[0] * b[0] + a[1] * b[1] + ...: one element */
};

/* Static data of the library; both may grow at the end. */
typedef struct gx_field_info {
    const char *name;        /* "bls12-381-fq" */
    uint32_t element_bytes;  /* 48, 32 or 4 */
    uint32_t limbs;          /* 64-bit limbs; 0 for u32 and f32 */
    const uint64_t *modulus; /* `limbs` limbs, lowest first; NULL for u32 and f32 */
} gx_field_info;

typedef struct gx_op_info {
    const char *name;   /* "mul-add" */
    const char *result; /* "a * b + c" */
    uint32_t operands;  /* 1: a; 2: a, b; 3: a, b, c */
    uint32_t reduces;   /* 1: out is one element, made of all n */
} gx_op_info;

/* Static data, or NULL where the value is no field or operation: both can be listed by asking
 * for 1, 2, 3 and so on until NULL. Any thread. */
GX_API const gx_field_info *gx_field_get_info(gx_field field);
GX_API const gx_op_info *gx_op_get_info(gx_op op);

/* By name; 0 where there is none of that name. Any thread. */
GX_API gx_field gx_field_by_name(const char *name);
GX_API gx_op gx_op_by_name(const char *name);

/* 1 where the operation exists for the field, else 0. Any thread. */
GX_API int gx_op_exists(gx_op op, gx_field field);

/* ---- context ------------------------------------------------------------ */

typedef struct gx_ctx gx_ctx;

typedef uint32_t gx_log_level;
enum { GX_LOG_ERROR = 1, GX_LOG_WARNING = 2, GX_LOG_INFO = 3 };

/* Called from any thread that is inside the library. `message` has no newline and is borrowed
 * for the call. Must not call back into the same context. */
typedef void (*gx_log_fn)(void *user, gx_log_level level, const char *message);

/* Both or neither. alloc returns memory aligned to 16 bytes, or NULL, which the library
 * survives. Called from any thread that is inside the library. Frozen. */
typedef struct gx_allocator {
    void *(*alloc)(void *user, size_t bytes);
    void (*free)(void *user, void *memory);
    void *user;
} gx_allocator;

/* Input. A member left 0 is taken from its environment variable (gx_option_get), and where that
 * is unset, or the program has more rights than who started it (secure_getenv), from the
 * default. gx_open copies the strings. */
typedef struct gx_config {
    size_t struct_size;          /* sizeof(gx_config) */
    const char *device;          /* device for jobs that name none, or several, comma-separated,
                                    for gx_policy to choose from; NULL: "cpu" and all with
                                    gx_device_info.automatic */
    const char *policy;          /* "auto", "cpu", "gpu", "latency" or "throughput" (gx_policy),
                                    for calls that ask for none; NULL: auto */
    uint64_t sample_every;       /* one element in this many that a device other than "cpu"
                                    computed is recomputed by the host and compared; inverses and
                                    quotients are multiplied. 1: every element of every result,
                                    on any device, and in buffers, which are read for that. More:
                                    likewise, but results in buffers are not looked at; the device
                                    is probed instead. 0: 1000 where the device is chosen, fewer
                                    where checking a trusted one would cost more than 1 % of its
                                    time, and none where it is named */
    const char *cpumask;         /* CPU tiers allowed (gx_tier_name), comma-separated; NULL: all */
    uint32_t threads;            /* most host threads for one job; 0: all */
    uint32_t validate;           /* 1: load the drivers' validation layer */
    uint64_t dispatch_elems;     /* most elements in one dispatch; 0: the device's limit */
    const char *path;            /* "auto", "host-visible" or "device-local" (gx_path), for jobs
                                    that ask for none; NULL: auto */
    const char *mode;            /* "auto", "sequential", "single-submit" or "pipelined" (gx_mode),
                                    for calls that ask for none; NULL: auto */
    uint64_t stream_chunk_elems; /* elements in one piece of a large job; 0: 524288 */
    uint64_t device_memory;      /* most bytes a device may hold for this context, buffers
                                    included; larger work is cut; 0: what the device has */
    uint64_t queue_jobs;         /* most jobs in tickets that are not done: gx_submit waits
                                    while there are more; 0: 4096 */
    const char *trace;           /* file in which gx_open starts a trace, unless another context
                                    already writes to it; NULL or "": none */
    const char *webgpu_backends; /* backends WebGPU may use, comma-separated, of vulkan, gl, dx12
                                    and metal, as far as the platform has them; NULL: all */
    const char *wgpu_library;    /* file of wgpu-native; NULL: the one the system finds */
    const char *cache_dir;       /* folder of the cache files, "none": no files; NULL:
                                    $XDG_CACHE_HOME/gpuexec or ~/.cache/gpuexec */
    gx_log_fn log;               /* NULL: no messages */
    void *log_user;
    gx_allocator allocator;      /* {0}: malloc and free */
    uint32_t ignore_environment; /* 1: no environment variable is looked at; without a cache_dir
                                    there are no cache files then. Drivers have their own */
    uint32_t reserved;
} gx_config;

/* Static data of the library; may grow at the end. */
typedef struct gx_option {
    const char *name; /* "dispatch-elems": --dispatch-elems on the command line */
    const char *env;  /* "GPUEXEC_DISPATCH_ELEMS" */
    const char *arg;  /* "N", for help texts */
    const char *help;
} gx_option;

/* The settings that also have an environment variable and a command-line option, by number from
 * 0 on; NULL past the last. Any thread. */
GX_API const gx_option *gx_option_get(uint32_t index);

/* The kinds of host code that the CPU device chooses from, the plainest first: "portable",
 * "adx", "avx512"; NULL past the last. Any thread. */
GX_API const char *gx_tier_name(uint32_t index);

/* Sets the member of *config that belongs to an option from text. A string value is borrowed
 * until gx_open returns. GX_ERR_INVALID for an unknown name, a bad value, or a member beyond
 * config->struct_size; err (NULL: not wanted) says which, and always ends in 0. Any thread. */
GX_API gx_status gx_config_set(gx_config *config, const char *name, const char *value, char *err,
                               size_t err_size);

/* Opens a context; config may be NULL. On success *ctx is the caller's, to be given
 * to gx_close; on failure *ctx is NULL and nothing is kept. Opens no device yet.
 * Any thread; does not block. A context does not survive fork(). The child may open one of its
 * own; where the parent had one open that has listed or used WebGPU devices, "webgpu:gl" devices
 * do not exist in the child. */
GX_API gx_status gx_open(const gx_config *config, gx_ctx **ctx);

/* Closes it and clears the caller's pointer; NULL and a NULL context are fine. No
 * other call on the context may be under way or follow, but calls on tickets may. Blocks
 * until all submitted work is done; gx_cancel_all before it makes that short. */
GX_API void gx_close(gx_ctx **ctx);

/* ---- devices ------------------------------------------------------------ */

typedef uint32_t gx_device_kind;
enum {
    GX_DEVICE_CPU = 1,
    GX_DEVICE_REFERENCE = 2,
    GX_DEVICE_VULKAN = 3,
    GX_DEVICE_SIM = 4, /* real results, modelled time */
    GX_DEVICE_WEBGPU = 5
};

/* Output. */
typedef struct gx_device_info {
    size_t struct_size;    /* sizeof(gx_device_info) */
    char name[48];         /* what gx_run_opts.device takes: "cpu" */
    char description[128]; /* "AMD EPYC, portable adx avx512" */
    gx_device_kind kind;
    uint32_t threads;      /* most host threads it uses */
    uint64_t memory_bytes; /* memory it can use; 0: unknown */
    uint32_t automatic;    /* 1: it may be chosen for jobs that name no device */
    uint32_t usable;       /* 0: it cannot be opened; description says why and what to do */
} gx_device_info;

/* Lists the devices. *count is the room in infos on entry and the number of devices on return;
 * no more than the room is written. infos may be NULL to ask for the number. Any thread; may
 * block while a driver is asked. */
GX_API gx_status gx_devices(gx_ctx *ctx, gx_device_info *infos, size_t *count);

/* Device names: "cpu"; "ref", the slow reference every other device is checked
 * against; "vulkan:0", "vulkan:1", which may also be named by a part of what the
 * driver calls them ("vulkan:H200"), by the beginning of their UUID
 * ("vulkan:uuid=6d65"), or as "vulkan" for the first; "webgpu:vulkan:0", "webgpu:gl:0"
 * (dx12 and metal where the platform has them), or "webgpu:gl" and "webgpu" for the
 * first; and for tests "fault:WHAT@N:DEVICE", which wraps DEVICE and breaks at its Nth
 * call (doc/design.md): WHAT is fail, oom, lose, hang or corrupt; and "sim:FILE", whose
 * results are real and whose times are those of the machine that FILE describes.
 *
 * A device that is lost stays in the list, and the next job or buffer that names it opens
 * it anew. Buffers on it are lost with it: they answer GX_ERR_DEVICE_LOST, and so do jobs
 * over them, until they are destroyed and created anew. The same holds after
 * GX_ERR_TIMEOUT: a submit that takes a minute and 50 us per element has hung. */

/* ---- buffers that stay on a device --------------------------------------- */

typedef struct gx_buf gx_buf;

/* Memory that the host can map; slower for the device on most. */
#define GX_BUF_MAPPABLE 1u

/* Creates a buffer on the named device (NULL: as for a job), contents unspecified. On
 * success *buf is the caller's, to be given to gx_buf_destroy before gx_close; on failure
 * *buf is NULL. Any thread; may block while the device is opened. */
GX_API gx_status gx_buf_create(gx_ctx *ctx, const char *device, size_t bytes, uint32_t flags,
                               gx_buf **buf);

/* Destroys it and clears the caller's pointer; NULL and a NULL buffer are fine. No other call
 * and no job on it may be under way. The device may have been lost. */
GX_API void gx_buf_destroy(gx_buf **buf);

/* Its size in bytes, 0 for NULL; and the name of its device, "" for NULL, valid as long as the
 * buffer. Any thread; no blocking. */
GX_API size_t gx_buf_size(const gx_buf *buf);
GX_API const char *gx_buf_device(const gx_buf *buf);

/* Copies bytes into or out of the buffer, from byte `offset` on. Any thread, also for the same
 * buffer; two copies under way, or a copy and a job, must not touch the same bytes unless both
 * only read them. Blocks until the copy is done. */
GX_API gx_status gx_buf_write(gx_buf *buf, size_t offset, const void *from, size_t bytes);
GX_API gx_status gx_buf_read(gx_buf *buf, size_t offset, void *to, size_t bytes);

/* The memory of a GX_BUF_MAPPABLE buffer, for the host alone until gx_buf_unmap: until then
 * copies and jobs on the buffer are GX_ERR_INVALID. Any thread, one at a time for a buffer,
 * and not while a copy or job on it is under way. */
GX_API gx_status gx_buf_map(gx_buf *buf, void **memory);
GX_API void gx_buf_unmap(gx_buf *buf);

/* ---- jobs ---------------------------------------------------------------- */

/* Frozen. */
typedef struct gx_operand {
    void *host;         /* `n` elements, or one where broadcast; any alignment; or: */
    gx_buf *buf;        /* they lie in a buffer, */
    size_t offset;      /* from this byte on, a multiple of 16 (u32, f32: of 4) */
    uint32_t broadcast; /* 1: one element that stands for all n */
    uint32_t reserved;
} gx_operand;

/* Operands in host memory, or in a buffer from byte `offset` on: all elements, or one that
 * stands for all of them. Any thread. */
GX_API gx_operand gx_host(const void *elements);
GX_API gx_operand gx_host_broadcast(const void *element);
GX_API gx_operand gx_dev(gx_buf *buf, size_t offset);
GX_API gx_operand gx_dev_broadcast(gx_buf *buf, size_t offset);

/* Inputs are known to be below the modulus: skip the check. One that is not makes every
 * result of the job unspecified (no memory is touched that would not be). */
#define GX_JOB_TRUSTED 1u

/* out[i] = op(a[i], b[i], c[i]) for i < n. Operands the operation does not have must be {0}.
 * out may be exactly an operand (in place) but not partly overlap one; a broadcast element may
 * not lie inside out, except where n is 1. GX_SUM and GX_DOT write one element, which must not
 * share a byte with an operand. Frozen: operations that need more take it through params, a
 * struct that begins with its struct_size. */
typedef struct gx_job {
    gx_op op;
    gx_field field;
    size_t n;
    gx_operand a, b, c, out;
    uint32_t flags; /* GX_JOB_* */
    uint32_t reserved;
    const void *params; /* for operations that take more; none yet: NULL */
} gx_job;

/* Bytes of an operand of the job: 'a', 'b', 'c', or 'o' for out. 0 where the job has no such
 * operand, is NULL, or its op or field is none. Any thread. */
GX_API size_t gx_operand_bytes(const gx_job *job, char operand);

/* How host operands reach a device that cannot use host memory as it is. */
typedef uint32_t gx_path;
enum {
    GX_PATH_AUTO = 0,         /* whichever is faster, from the speeds measured on the device */
    GX_PATH_HOST_VISIBLE = 1, /* kernels work on mapped memory: one submit, no copies */
    GX_PATH_DEVICE_LOCAL = 2, /* copied to device memory and back */
    GX_PATH_DIRECT = 3        /* reported only: all operands were usable where they were */
};

/* How the jobs of one call that run on the same device follow each other. */
typedef uint32_t gx_mode;
enum {
    GX_MODE_AUTO = 0,          /* whichever the plan expects to be fastest */
    GX_MODE_SEQUENTIAL = 1,    /* one after the other */
    GX_MODE_SINGLE_SUBMIT = 2, /* as many as fit in one submit */
    GX_MODE_PIPELINED = 3      /* copies of one job while another is computed */
};

/* Which device runs jobs that name none. */
typedef uint32_t gx_policy;
enum {
    GX_POLICY_AUTO = 0, /* the device predicted to finish first, or several of them where a
                           split is predicted to pay */
    GX_POLICY_CPU = 1,  /* "cpu" alone */
    GX_POLICY_GPU = 2,  /* any device but "cpu"; only another GPU takes over from one that fails */
    GX_POLICY_LATENCY = 3,   /* one device, judged by its slower calls; no exploration */
    GX_POLICY_THROUGHPUT = 4 /* keep every device busy: split work as soon as that gains anything */
};

/* Input. */
typedef struct gx_run_opts {
    size_t struct_size; /* sizeof(gx_run_opts) */
    const char *device; /* one device; NULL: gx_policy decides, as far as buffers allow */
    gx_path path;       /* GX_PATH_AUTO: the context's */
    gx_mode mode;       /* GX_MODE_AUTO: the context's */
    gx_policy policy;   /* GX_POLICY_AUTO: the context's */
    uint32_t reserved;
} gx_run_opts;

/* Why the job ran where it did. */
typedef uint32_t gx_reason;
enum {
    GX_REASON_NONE = 0,     /* it did not run */
    GX_REASON_ASKED = 1,    /* the caller or the configuration named the device */
    GX_REASON_ONLY = 2,     /* there was no other: none is present, allowed and working */
    GX_REASON_RESIDENT = 3, /* the job's buffers are there, and moving them does not pay */
    GX_REASON_SMALL = 4,    /* so small that the CPU certainly beats any GPU */
    GX_REASON_FASTEST = 5,  /* fastest by the model of this machine (gx_model) */
    GX_REASON_SPLIT = 6,    /* likewise, split over several devices */
    GX_REASON_DEFAULT = 7,  /* nothing measured yet: by size (GX_DEFAULT_GPU_ELEMS) */
    GX_REASON_EXPLORED = 8, /* to measure that device */
    GX_REASON_FALLBACK = 9  /* the device chosen for it, or for a part of it, failed */
};

/* Where nothing has been measured, jobs of at least this many elements go to a GPU. */
#define GX_DEFAULT_GPU_ELEMS 100000u

/* Output: a device that was considered for a job, and what came of it. */
typedef struct gx_candidate {
    size_t struct_size; /* sizeof(gx_candidate) */
    char device[48];
    uint64_t predicted_ns; /* for the whole job on this device alone; 0: not known */
    uint64_t share_ns;     /* predicted for its share; 0: it had none, or not known */
    uint64_t actual_ns;    /* what its share took; 0: it had none */
    uint64_t elements;     /* of its share, that it finished */
    gx_status status;      /* GX_OK, or why its share was finished elsewhere */
    uint32_t reserved;
} gx_candidate;

/* No job has more candidates in this version. */
#define GX_CANDIDATES_MAX 8

/* Output, but for the array that a caller may supply for candidates. */
typedef struct gx_report {
    size_t struct_size;      /* sizeof(gx_report) */
    gx_candidate *candidate; /* where to write the candidates; NULL: not wanted */
    uint32_t candidate_room; /* elements of candidate, */
    uint32_t candidates;     /* and how many there were, which may be more; 0 where the device
                                was named */
    gx_status status;
    gx_reason reason;
    char device[48];
    uint32_t threads;      /* host threads it was spread over */
    uint32_t dispatches;   /* kernel launches */
    uint32_t groups;       /* batches of work it was part of, shared with other jobs or not */
    uint32_t submits;      /* of the groups that begin with this job */
    uint32_t command_hits; /* of these, commands that were recorded before */
    uint32_t sampled;      /* elements that were recomputed and compared, UINT32_MAX at most */
    gx_path path;
    gx_mode mode;         /* of the call */
    uint64_t bad_index;   /* GX_ERR_NOT_CANONICAL: the first such element ... */
    uint32_t bad_operand; /* ... in 'a', 'b' or 'c'; 0: a later job has replaced it since */
    uint32_t reserved;
    uint64_t queued_ns;   /* waiting for its turn, where it was submitted and not run */
    uint64_t total_ns;    /* inside the library, from its first group to its last; where groups
                             are shared, this job's part of: */
    uint64_t host_in_ns;  /* copying operands into staging memory */
    uint64_t device_ns;   /* from submitting to the end of waiting */
    uint64_t host_out_ns; /* copying the result out of staging memory */
    uint64_t upload_ns;   /* by the device's own clock, 0 where it has none: */
    uint64_t compute_ns;  /* (on a host device: as device_ns) */
    uint64_t download_ns;
    char message[160]; /* what went wrong and what to do; empty on success, or what went wrong
                          on the way to it */
} gx_report;

/* Runs jobs in order, as if one after the other, and returns when all are done. Every job is
 * validated before any runs. The first failure stops the call and is returned; jobs not run get
 * GX_ERR_NOT_RUN. Inputs are never written, and a job refused for what is in them leaves them
 * as they were, even in place. What a failure leaves behind is in the table of
 * doc/threading.md. opts and reports (one per job, all set to {0} but for struct_size and the
 * candidates) may be NULL. Any thread; blocks; allocates nothing once warm, except in the rare
 * call in which GX_MODE_AUTO tries another mode. */
GX_API gx_status gx_run(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_opts *opts,
                        gx_report *reports);

/* ---- asynchronous work --------------------------------------------------- */

/* Submitted jobs: what gx_run does, done later by threads of the library. */
typedef struct gx_ticket gx_ticket;

/* Checks the jobs as gx_run does, finds their devices, and returns once they are queued. On
 * success *ticket is the caller's, to be given to gx_ticket_free, before or after gx_close; on
 * failure *ticket is NULL, nothing is kept and nothing runs. Jobs and opts are copied; the memory
 * and buffers of the operands are lent until the ticket is done. Jobs of one ticket run as if one
 * after the other. Tickets overlap and finish in any order: where a job of one uses what a job
 * of another writes, wait for the first before submitting the second. Submitting threads take
 * turns, ticket by ticket. Any thread; blocks while a device is opened and while the queue is full
 * (gx_config.queue_jobs; a call with more jobs than that waits until the queue is empty), first
 * come, first served; allocates nothing once warm. */
GX_API gx_status gx_submit(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_opts *opts,
                           gx_ticket **ticket);

/* GX_PENDING, or what gx_run would have returned. Any thread; no blocking. */
GX_API gx_status gx_poll(gx_ticket *ticket);

/* Waits until the ticket is done or the time is over (0: does not wait; UINT64_MAX: waits
 * forever) and returns what gx_poll does. Once the ticket is done, reports (one per job, as for
 * gx_run, or NULL) are filled. May be called again, and by several threads at once. */
GX_API gx_status gx_wait(gx_ticket *ticket, uint64_t timeout_ns, gx_report *reports);

/* Waits likewise for the first of several tickets that is done, and returns what gx_poll does of
 * it; *index says which one it is. Where the time is over: GX_PENDING, and *index is `count`.
 * NULL tickets are skipped, but one must be left, and all must be of one context. Any thread,
 * several for one ticket; allocates nothing. */
GX_API gx_status gx_wait_any(gx_ticket *const *tickets, size_t count, uint64_t timeout_ns,
                             size_t *index);

/* Called when a ticket is done, once. It may call gx_poll, gx_wait with a timeout of 0, gx_submit
 * to a context whose queue is not full, and write to a descriptor or post a semaphore. It must
 * not block, and must not free its ticket or close the context. */
typedef void (*gx_done_fn)(void *user, gx_ticket *ticket);

/* For event loops: has `done` called when the ticket is done, from a thread of the library or
 * the one that cancels it; or from this thread, before gx_notify returns, where the ticket is
 * done already. Once per ticket. gx_ticket_free waits for it. To wake poll() or epoll, let it
 * write to an eventfd, and call gx_wait with 0 in the loop: examples/events.c. Any thread; no
 * blocking, but for what `done` does. */
GX_API gx_status gx_notify(gx_ticket *ticket, gx_done_fn done, void *user);

/* Cancels: jobs that have not started get GX_ERR_CANCELLED and are not run, those under way
 * are finished, and then the ticket is done. NULL and a ticket that is done are fine. Any
 * thread; no blocking. */
GX_API void gx_cancel(gx_ticket *ticket);

/* gx_cancel for all tickets of the context that are pending now. Any thread; no blocking. */
GX_API void gx_cancel_all(gx_ctx *ctx);

/* Frees it and clears the caller's pointer; NULL and a NULL ticket are fine. Waits until it is
 * done and nobody is inside gx_wait; no other call on it may follow. */
GX_API void gx_ticket_free(gx_ticket **ticket);

/* ---- registered memory and plans ------------------------------------------ */

/* Declares that a range of host memory will hold operands again and again: devices that can
 * copy it directly do so, without staging; for others nothing changes. Ranges must not overlap.
 * Borrowed until gx_host_unregister or gx_close, and must stay allocated until then. Any thread;
 * the device's part is done at the first job. */
GX_API gx_status gx_host_register(gx_ctx *ctx, void *memory, size_t bytes);

/* memory: the beginning of a registered range. No job or copy that uses it may be under way. */
GX_API gx_status gx_host_unregister(gx_ctx *ctx, void *memory);

/* Output, but for the array of candidates: what gx_run would do with the jobs. */
typedef struct gx_estimate_info {
    size_t struct_size;      /* sizeof(gx_estimate_info) */
    gx_candidate *candidate; /* as in gx_report, with what is predicted; */
    uint32_t candidate_room;
    uint32_t candidates; /* of the first job, as are device, reason, path, mode, sets and
                            chunk_elems */
    char device[48];
    gx_reason reason;
    gx_path path;
    gx_mode mode;
    uint32_t sets;        /* groups in flight at once */
    uint64_t chunk_elems; /* elements of one piece at most */
    uint64_t groups, submits, dispatches;
    uint64_t bytes_up, bytes_down; /* copied by the device */
    uint64_t bytes_staged;         /* copied by the host, in and out */
    uint64_t memory_bytes;         /* most device memory held at once */
    uint64_t predicted_ns;         /* for all of it, as planned; 0: nothing is known */
    uint64_t mode_ns[8];           /* by gx_mode; 0 for GX_MODE_AUTO and what is no mode */
} gx_estimate_info;

/* Plans without running: opens devices, but computes, copies and allocates nothing for the jobs.
 * The same rules as for gx_run. Any thread. */
GX_API gx_status gx_estimate(gx_ctx *ctx, const gx_job *jobs, size_t njobs, const gx_run_opts *opts,
                             gx_estimate_info *info);

/* ---- the model ------------------------------------------------------------ */

/* Where the operands of a job are. */
typedef uint32_t gx_residency;
enum {
    GX_HOST_MEMORY = 1,       /* some in host memory as it is */
    GX_REGISTERED_MEMORY = 2, /* in host memory, all of it registered */
    GX_DEVICE_MEMORY = 3      /* all in buffers of the device */
};

/* Output. One point of what the router knows: a job of n elements takes ns there. */
typedef struct gx_model_row {
    size_t struct_size; /* sizeof(gx_model_row) */
    char device[48];
    gx_op op;
    gx_field field;
    gx_residency residency;
    gx_path path; /* as asked for */
    uint64_t n, ns;
    uint64_t slow_ns; /* what the slower calls take */
    uint32_t samples; /* it rests on */
    uint32_t age_s;   /* of the youngest of them */
} gx_model_row;

/* Everything the context has measured or read from the cache folder. *count as for gx_devices.
 * Any thread. */
GX_API gx_status gx_model(gx_ctx *ctx, gx_model_row *rows, size_t *count);

/* Input. */
typedef struct gx_calibration {
    size_t struct_size; /* sizeof(gx_calibration) */
    const gx_op *ops;   /* which, `op_count` of them; 0: add, mul and inv */
    size_t op_count;    /* (other operations are predicted from the nearest of these) */
    const gx_field *fields;
    size_t field_count; /* 0: all prime fields */
    uint64_t max_elems; /* largest size measured; 0: 16M */
    uint64_t limit_ns;  /* of all of it, on the clock; 0: 20 s */
    /* Called after each step; nonzero ends the calibration. May be NULL. */
    int (*progress)(void *user, double done, const char *device, const char *what);
    void *user;
} gx_calibration;

/* Measures what jobs take on every device that may be chosen, replaces what was known about
 * them, and saves it in the cache folder. settings may be NULL. Best on an idle machine. Any
 * thread; blocks. GX_ERR_CANCELLED where `progress` ended it; what was measured so far is kept.
 * GX_ERR_FILE where the result cannot be saved: this context has it, others will not. */
GX_API gx_status gx_calibrate(gx_ctx *ctx, const gx_calibration *settings);

/* ---- statistics ---------------------------------------------------------- */

/* Pooled memory by size: bucket i counts pieces of 4096 << i bytes, the last all above. */
#define GX_BUCKETS 20

/* Output. Since the context was opened. Failed jobs count in jobs_failed alone. */
typedef struct gx_statistics {
    size_t struct_size; /* sizeof(gx_statistics) */
    uint64_t jobs_done;
    uint64_t jobs_failed; /* includes those not run, and cancelled */
    uint64_t elements;
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t compute_ns;
    uint64_t dispatches;
    uint64_t pool_hits;           /* staging and scratch memory found ready ... */
    uint64_t pool_misses;         /* ... and allocated */
    uint64_t buckets[GX_BUCKETS]; /* both, by size */
    uint64_t pool_bytes;          /* that the pools hold now, idle or in use */
    uint64_t device_bytes;        /* that devices hold now: pools and buffers */
    uint64_t device_bytes_peak;   /* the most a single device ever held */
    uint64_t command_hits;        /* commands that were ready from before ... */
    uint64_t command_misses;      /* ... and recorded */
    uint64_t tickets_submitted;
    uint64_t tickets_done;        /* of these, whatever came out */
    uint64_t tickets_cancelled;   /* of these, with a job that was cancelled */
    uint64_t jobs_waiting;        /* of tickets that are not done, now */
    uint64_t validation_messages; /* where gx_config.validate is set; should stay 0 */
    uint64_t decisions;           /* calls, or parts of one, that the router placed ... */
    uint64_t decisions_default;   /* ... of these, with GX_REASON_DEFAULT */
    uint64_t decisions_split;     /* ... over several devices */
    uint64_t decisions_explored;  /* ... with GX_REASON_EXPLORED */
    /* Of decisions between several devices that went well and of which one had a predicted
     * time, small calls (GX_REASON_SMALL) not among them: what they took, and the least that
     * was predicted. routed_ns / routed_best_ns - 1 is an estimate of the regret: what the
     * other devices would have taken is not measured, so that wrong predictions are in it. */
    uint64_t routed_ns;
    uint64_t routed_best_ns;
    uint64_t sampled;             /* elements computed again and compared ... */
    uint64_t mismatches;          /* ... jobs where one differed */
    uint64_t fallbacks;           /* shares finished by another device than planned */
    uint64_t decisions_predicted; /* those that routed_ns and routed_best_ns are of */
} gx_statistics;

/* A copy. Each number is exact, but they are read one after the other. Any thread; no blocking. */
GX_API gx_status gx_stats(gx_ctx *ctx, gx_statistics *out);

typedef uint32_t gx_health;
enum {
    GX_HEALTH_UNUSED = 0, /* not opened yet */
    GX_HEALTH_GOOD = 1,
    GX_HEALTH_RESTING = 2,    /* it failed: tried again later */
    GX_HEALTH_QUARANTINED = 3 /* it gave a wrong result: tried again much later */
};

/* Output. Of one device of this context. */
typedef struct gx_device_statistics {
    size_t struct_size; /* sizeof(gx_device_statistics) */
    char device[48];
    gx_health health;
    uint32_t reserved;
    uint64_t retry_ns; /* until it may take its self-test to be used again; 0: none is due */
    uint64_t jobs;     /* or shares of jobs, done */
    uint64_t elements;
    uint64_t busy_ns;    /* what they took, added up */
    uint64_t waiting_ns; /* predicted, of what is under way */
    uint64_t failures, mismatches, readmissions;
} gx_device_statistics;

/* For all devices that were opened or may be chosen. *count as for gx_devices. Any thread. */
GX_API gx_status gx_device_stats(gx_ctx *ctx, gx_device_statistics *stats, size_t *count);

/* All these numbers in the text format of Prometheus, with the names of doc/metrics.md, for a
 * program that answers scrapes itself. *size is the room in text on entry, what is needed on
 * return, its end included; where the room is less, text is made empty, as half of the numbers
 * would be wrong ones. text may be NULL to ask for the size, which may grow until the next
 * call. Any thread; blocks and allocates as gx_device_stats does. */
GX_API gx_status gx_metrics_prometheus(gx_ctx *ctx, char *text, size_t *size);

/* ---- names of values ------------------------------------------------------ */

/* "host-visible", "pipelined", "quarantined" and so on: what the settings, the program and the
 * metrics call them. Static strings; "unknown" for a value that this version does not know,
 * never NULL. Any thread. */
GX_API const char *gx_log_level_name(gx_log_level level);
GX_API const char *gx_device_kind_name(gx_device_kind kind);
GX_API const char *gx_path_name(gx_path path);
GX_API const char *gx_mode_name(gx_mode mode);
GX_API const char *gx_policy_name(gx_policy policy);
GX_API const char *gx_reason_name(gx_reason reason);
GX_API const char *gx_residency_name(gx_residency residency);
GX_API const char *gx_health_name(gx_health health);

/* ---- trace --------------------------------------------------------------- */

/* Writes every stage of every job from now on to a file in the Chrome trace format, which
 * https://ui.perfetto.dev and chrome://tracing open: a process per device, a lane per
 * stage, host and device on one axis. The file is a new one, or a trace of before, which is
 * replaced. GX_ERR_INVALID where the context is writing a trace already, or another context is
 * writing to that file; GX_ERR_FILE where it cannot be created, or where anything but a trace
 * is there already, which is left as it is. Any thread. */
GX_API gx_status gx_trace_start(gx_ctx *ctx, const char *path);

/* Ends it; GX_ERR_FILE where the file is not whole. Fine without a trace. gx_close does it
 * too. A process that ends otherwise leaves a file that viewers still open. Any thread. */
GX_API gx_status gx_trace_stop(gx_ctx *ctx);

#ifdef __cplusplus
}
#endif

#endif
