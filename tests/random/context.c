/* SPDX-License-Identifier: Apache-2.0
 *
 * Contexts, and the domains and points that their jobs share.
 */
#include <stdlib.h>
#include <string.h>

#include "api/counters.h"
#include "random/run.h"

/* A domain or points, as described; kept until the context is closed. */
struct rnd_handle {
    struct rnd_handle *next;
    struct rnd_job key; /* with the members that describe it */
    gx_domain *domain;
    gx_points *points;
    struct rnd_points known;
};

/* ---- opening and closing ---- */

static void *allocate(void *user, size_t bytes)
{
    struct rnd_open *open = user;
    if (open->spec->fail_alloc && atomic_fetch_sub(&open->until_failure, 1) == 1)
        return NULL;
    void *memory = malloc(bytes ? bytes : 1);
    if (memory)
        atomic_fetch_add(&open->allocated, 1);
    return memory;
}

static void release(void *user, void *memory)
{
    struct rnd_open *open = user;
    if (memory)
        atomic_fetch_sub(&open->allocated, 1);
    free(memory);
}

int rnd_verbose;

static void print_message(void *user, gx_log_level level, const char *message)
{
    (void)user;
    fprintf(stderr, "%s: %s\n", gx_log_level_name(level), message);
}

/* RND_REGISTERED, without a product. Words may lie anywhere. */
static void registered(void *user, const gx_kernel_call *call)
{
    (void)user;
    for (size_t i = 0; i < call->n; i++) {
        uint32_t a, b;
        memcpy(&a, (const char *)call->a + i * call->a_step, sizeof a);
        memcpy(&b, (const char *)call->b + i * call->b_step, sizeof b);
        b = (b ^ a >> 7) + (a << 2) + a;
        memcpy((char *)call->out + i * sizeof b, &b, sizeof b);
    }
}

static void register_op(struct rnd_open *open)
{
    const gx_kernel_params params = {.struct_size = sizeof params,
                                     .name = "registered",
                                     .operands = 2,
                                     .a_bytes = 4,
                                     .b_bytes = 4,
                                     .out_bytes = 4,
                                     .group_elems = 64,
                                     .fn = registered};
    gx_status status = gx_op_register(open->ctx, &params, &open->registered);
    if (status != GX_OK)
        rnd_fail(FAIL_STATUS, "gx_op_register: %s: %s", gx_status_name(status), gx_last_message());
}

void rnd_open(struct rnd_open *open, const struct rnd_context *spec, struct rnd_board *board)
{
    gx_config config = {.struct_size = sizeof config,
                        .device = spec->device[0] ? spec->device : NULL,
                        .cpumask = spec->cpumask[0] ? spec->cpumask : NULL,
                        .policy = (gx_policy)spec->policy,
                        .path = (gx_path)spec->path,
                        .mode = (gx_mode)spec->mode,
                        .sample_every = spec->sample_every,
                        .threads = (uint32_t)spec->threads,
                        .dispatch_elems = spec->dispatch_elems,
                        .stream_chunk_elems = spec->chunk_elems,
                        .device_memory = spec->device_memory,
                        .queue_jobs = spec->queue_jobs,
                        .log = rnd_verbose ? print_message : NULL,
                        .cache_dir = "none"};
    *open = (struct rnd_open){.spec = spec, .board = board};
    pthread_mutex_init(&open->lock, NULL);
    atomic_init(&open->until_failure, (long)(1u << 30));
    if (spec->counted)
        config.allocator = (gx_allocator){allocate, release, open};
    open->ndevices = rnd_split(spec->device, open->device);
    gx_status status = gx_open(&config, &open->ctx);
    if (status != GX_OK)
        rnd_fail(FAIL_STATUS, "gx_open: %s: %s", gx_status_name(status), gx_last_message());
    register_op(open);
    atomic_store(&open->until_failure, (long)spec->fail_alloc);
}

void rnd_close(struct rnd_open *open)
{
    struct gx_statistics statistics = {0};
    gx__stats(open->ctx, &statistics);
    if (statistics.tickets_done != statistics.tickets_submitted || statistics.jobs_waiting)
        rnd_fail(FAIL_LEAK, "%llu tickets submitted, %llu done, %llu jobs waiting",
                 (unsigned long long)statistics.tickets_submitted,
                 (unsigned long long)statistics.tickets_done,
                 (unsigned long long)statistics.jobs_waiting);
    while (open->handles) {
        struct rnd_handle *handle = open->handles;
        open->handles = handle->next;
        gx_domain_destroy(&handle->domain);
        gx_points_destroy(&handle->points);
        if (handle->key.op == GX_MSM)
            rnd_points_free(&handle->known);
        free(handle);
    }
    gx_close(&open->ctx);
    if (atomic_load(&open->allocated))
        rnd_fail(FAIL_LEAK, "%ld allocations are left", atomic_load(&open->allocated));
    pthread_mutex_destroy(&open->lock);
}

/* ---- domains and points ---- */

static struct rnd_job key_of(const struct rnd_job *job)
{
    struct rnd_job key = {.op = job->op, .points = job->points};
    if (job->op == GX_NTT) {
        key.field = job->field;
        key.log2_n = job->log2_n;
        key.domain = job->domain;
        key.root = job->root;
        key.shift = job->shift;
        key.domain_seed = job->domain_seed;
    }
    return key;
}

/* It, or a new one. Locked. */
static struct rnd_handle *find(struct rnd_open *open, const struct rnd_job *job)
{
    struct rnd_job key = key_of(job);
    struct rnd_handle *handle;
    for (handle = open->handles; handle; handle = handle->next)
        if (memcmp(&handle->key, &key, sizeof key) == 0)
            return handle;
    handle = calloc(1, sizeof *handle);
    if (!handle)
        abort();
    handle->key = key;
    if (key.op == GX_MSM)
        rnd_points_make(&key.points, &handle->known);
    handle->next = open->handles;
    open->handles = handle;
    return handle;
}

static gx_domain *make_domain(struct rnd_open *open, const struct rnd_job *job)
{
    const struct rnd_prime *f = rnd_prime(job->field);
    unsigned char root[32], shift[32];
    gx_domain_params desc = {.struct_size = sizeof desc,
                             .field = (gx_field)job->field,
                             .log2_size = (uint32_t)(job->log2_n + job->domain)};
    gx_domain *domain;
    mpz_t r, s;
    mpz_inits(r, s, NULL);
    rnd_oracle_domain(job, r, s);
    rnd_put_mont(root, f, r);
    rnd_put_mont(shift, f, s);
    mpz_clears(r, s, NULL);
    if (job->root != DOM_DEFAULT)
        desc.root = root;
    if (job->shift != DOM_DEFAULT)
        desc.shift = shift;
    gx_status status = gx_domain_create(open->ctx, &desc, &domain);
    if (status == GX_OK)
        return domain;
    if (status != GX_ERR_OUT_OF_MEMORY || !open->spec->fail_alloc)
        rnd_fail(FAIL_STATUS, "gx_domain_create: %s", gx_last_message());
    return NULL;
}

gx_domain *rnd_domain(struct rnd_open *open, const struct rnd_job *job)
{
    pthread_mutex_lock(&open->lock);
    struct rnd_handle *handle = find(open, job);
    if (!handle->domain)
        handle->domain = make_domain(open, job);
    pthread_mutex_unlock(&open->lock);
    return handle->domain;
}

/* They are read back in another form. */
static void compare_points(const struct rnd_points_spec *spec, const struct rnd_points *known,
                           const gx_points *points)
{
    size_t bytes = rnd_point_bytes(spec->curve, spec->read);
    unsigned char *got = malloc(bytes * spec->count + 1), want[288];
    if (gx_points_count(points) != spec->count)
        rnd_fail(FAIL_STATUS, "gx_points_count");
    gx_status status = gx_points_read(points, 0, spec->count, (gx_point_form)spec->read, got);
    if (status != GX_OK && status != GX_ERR_OUT_OF_MEMORY)
        rnd_fail(FAIL_STATUS, "gx_points_read: %s", gx_last_message());
    for (size_t i = 0; status == GX_OK && i < spec->count; i++) {
        rnd_encode(spec->curve, spec->read, &known->point[i], 0, want);
        if (memcmp(got + bytes * i, want, bytes) != 0)
            rnd_fail(FAIL_BYTES, "gx_points_read: point %zu", i);
    }
    free(got);
}

/* The points in a buffer: what could not be made, or copied, may be a device's fault. */
static gx_status put_into_buffer(struct rnd_open *open, const struct rnd_call *call,
                                 const struct rnd_points_spec *spec, gx_points_params *desc,
                                 const void *bytes, size_t size)
{
    size_t offset = spec->offset;
    const char *device = call->device[0] ? call->device : NULL;
    gx_status status = gx_buf_create(open->ctx, device, offset + size + 16, 0, &desc->buf);
    if (status == GX_OK && size)
        status = gx_buf_write(desc->buf, offset, bytes, size);
    desc->offset = offset;
    desc->points = NULL;
    return status;
}

static gx_status create_points(struct rnd_open *open, const struct rnd_call *call,
                               struct rnd_handle *handle, uint64_t *bad)
{
    const struct rnd_points_spec *spec = &handle->key.points;
    size_t stride, flag_offset;
    unsigned char *bytes = rnd_encode_all(spec, &handle->known, &stride, &flag_offset);
    gx_points_params desc = {.struct_size = sizeof desc,
                             .curve = (gx_curve)spec->curve,
                             .form = (gx_point_form)spec->form,
                             .points = bytes,
                             .count = spec->count,
                             .stride = stride,
                             .flag_offset = flag_offset,
                             .check = (gx_point_check)spec->check,
                             .table_bytes = spec->table_bytes};
    gx_status status = GX_OK;
    if (spec->buffer)
        status = put_into_buffer(open, call, spec, &desc, bytes, stride * spec->count);
    *bad = UINT64_MAX;
    if (status == GX_OK)
        status = gx_points_create(open->ctx, &desc, &handle->points, bad);
    gx_buf_destroy(&desc.buf);
    free(bytes);
    return status;
}

gx_points *rnd_points(struct rnd_open *open, const struct rnd_call *call, const struct rnd_job *job,
                      const struct rnd_points **known)
{
    uint64_t bad = UINT64_MAX;
    pthread_mutex_lock(&open->lock);
    struct rnd_handle *handle = find(open, job);
    *known = &handle->known;
    if (!handle->points) {
        struct rnd_rejection wanted = rnd_points_reject(&job->points, &handle->known);
        gx_status status = create_points(open, call, handle, &bad);
        if (status != wanted.status && !rnd_may_return(open, call, status))
            rnd_fail(FAIL_STATUS, "gx_points_create: %s, expected %s: %s", gx_status_name(status),
                     gx_status_name(wanted.status), gx_last_message());
        if (status == wanted.status && bad != wanted.index)
            rnd_fail(FAIL_INDEX, "gx_points_create: point %llu, expected %llu",
                     (unsigned long long)bad, (unsigned long long)wanted.index);
        if (status == GX_OK && job->points.read)
            compare_points(&job->points, &handle->known, handle->points);
    }
    pthread_mutex_unlock(&open->lock);
    return handle->points;
}
