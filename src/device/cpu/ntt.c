/* SPDX-License-Identifier: Apache-2.0
 *
 * See ntt.h. The phases of field/ntt.h, each spread over the threads.
 */
#include "device/cpu/kernels.h"

#include <string.h>

#include "field/reference_ntt.h"
#include "op/domain.h"

/* What a butterfly costs at least. */
#define BUTTERFLY_NS 5u

void gx__cpu_ntt_open(struct gx_cpu_ntt *ntt, unsigned tiers, const struct gx_host_table *reference,
                      uint32_t threads)
{
    *ntt = (struct gx_cpu_ntt){.threads = threads};
    if (reference)
        memcpy(ntt->reference, reference->fn, sizeof ntt->reference);
    else
        ntt->host = gx__ntt_host(tiers);
}

static const struct gx_domain *domain_of(const struct gx_kernel *kernel)
{
    return (const struct gx_domain *)(uintptr_t)gx__param64(kernel->key.param + GX_PARAM_DOMAIN);
}

/* The table serves transforms of the size of its first user and smaller ones. */
size_t gx__cpu_ntt_table(const struct gx_cpu_ntt *ntt, const struct gx_kernel *kernel, void *table)
{
    uint32_t log2 = kernel->key.param[GX_PARAM_LOG2_TABLE];
    const struct gx_domain *domain = domain_of(kernel);
    uint64_t root[GX_LIMBS_MAX];
    if (!ntt->host)
        return 1;
    if (table) {
        gx__domain_root(domain, log2, root);
        gx__ntt_table_fill(ntt->host, domain->prime, log2, root, domain->shift, table);
    }
    return gx__ntt_table_bytes(ntt->host, log2);
}

static uint32_t workers_for(const struct gx_cpu_ntt *ntt, uint64_t n, uint32_t log2_n)
{
    uint64_t useful = n / 2 * log2_n * BUTTERFLY_NS / GX_WORKER_MIN_NS;
    return useful < 1 ? 1 : useful < ntt->threads ? (uint32_t)useful : ntt->threads;
}

static struct gx_ntt_call call_of(const struct gx_cpu_ntt *ntt, const struct gx_kernel *kernel,
                                  uint64_t n)
{
    const uint32_t *param = kernel->key.param;
    return (struct gx_ntt_call){.prime = gx__prime(kernel->key.field),
                                .log2_n = param[GX_PARAM_LOG2_N],
                                .log2_pad = param[GX_PARAM_LOG2_PAD],
                                .flags = param[GX_PARAM_NTT_FLAGS],
                                .batch = (size_t)(n >> param[GX_PARAM_LOG2_N]),
                                .stride_in = (size_t)gx__param64(param + GX_PARAM_STRIDE_A),
                                .stride_out = (size_t)gx__param64(param + GX_PARAM_STRIDE_OUT),
                                .workers = workers_for(ntt, n, param[GX_PARAM_LOG2_N])};
}

size_t gx__cpu_ntt_scratch(const struct gx_cpu_ntt *ntt, const struct gx_kernel *kernel, uint64_t n)
{
    const struct gx_ntt_call call = call_of(ntt, kernel, n);
    return ntt->host ? gx__ntt_scratch(ntt->host, &call)
                     : gx__reference_ntt_scratch(call.log2_n, call.batch);
}

struct phase {
    const struct gx_ntt_host *host;
    const struct gx_ntt_call *call;
    size_t phase;
};

static void run_chunk(void *user, size_t chunk, uint32_t worker)
{
    const struct phase *p = user;
    gx__ntt_chunk(p->host, p->call, p->phase, chunk, worker);
}

static void run_reference(const struct gx_cpu_ntt *ntt, const struct gx_ntt_call *call,
                          const struct gx_domain *domain)
{
    uint64_t root[GX_LIMBS_MAX] = {0};
    gx__domain_root(domain, call->log2_n, root);
    gx__reference_ntt(domain->prime, ntt->reference[domain->prime->field],
                      &(struct gx_reference_ntt){.log2_n = call->log2_n,
                                                 .log2_pad = call->log2_pad,
                                                 .flags = call->flags,
                                                 .batch = call->batch,
                                                 .stride_in = call->stride_in,
                                                 .stride_out = call->stride_out,
                                                 .root = root,
                                                 .shift = domain->shift,
                                                 .in = call->in,
                                                 .out = call->out,
                                                 .scratch = call->scratch});
}

void gx__cpu_ntt_run(const struct gx_cpu_ntt *ntt, struct gx_instance *instance,
                     struct gx_host_call *host_call)
{
    struct gx_ntt_call call = call_of(ntt, &host_call->kernel, host_call->n);
    struct phase phase = {ntt->host, &call, 0};
    call.table = host_call->table;
    call.in = host_call->operand[GX_A];
    call.out = host_call->operand[GX_OUT];
    call.scratch = host_call->scratch;
    host_call->threads = ntt->host ? call.workers : 1;
    if (!ntt->host) {
        run_reference(ntt, &call, domain_of(&host_call->kernel));
        return;
    }
    for (size_t phases = gx__ntt_phases(ntt->host, &call); phase.phase < phases; phase.phase++)
        gx__threads_run(instance, GX_THREADS_COMPUTE, call.workers,
                        gx__ntt_chunks(ntt->host, &call, phase.phase), run_chunk, &phase);
}
