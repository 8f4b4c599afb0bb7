/* SPDX-License-Identifier: Apache-2.0
 *
 * See ntt_targets.h.
 */
#include "conformance/ntt_targets.h"

#include <stdio.h>

enum { MARGIN = 64, GUARD = 0x5c };
enum {
    TIER_MOST = 1 << 17,
    SLOW_MOST = 1 << NTT_SLOW_LOG2,
    REF_MOST = 1 << 9,
    EMULATED_MOST = 1 << 12
};

const gx_field ntt_fields[2] = {GX_BLS12_381_FR, GX_BN254_FR};

unsigned char *ntt_data;
static unsigned char *room, *place; /* where operand and result of a job lie */
static gx_domain *domains[TARGETS_MAX][2][NTT_DOMAINS];
static unsigned char own_root[2][NTT_ELEMENT], own_shift[2][NTT_ELEMENT];

static int field_index(gx_field field)
{
    return field == ntt_fields[1];
}

/* ---- targets ---- */

static void add_slow(const char *device, const char *path, uint64_t elems, size_t most)
{
    add_target(device, NULL, path, elems, most)->slow = 1;
}

static void add_cpu(size_t most)
{
    for (uint32_t i = 0; gx_tier_name(i); i++)
        add_target("cpu", gx_tier_name(i), NULL, 0, most < TIER_MOST ? most : TIER_MOST);
    add_target("cpu", NULL, NULL, 0, most);
    add_target("cpu", NULL, NULL, 100, 5000);
    add_slow("ref", NULL, 0, REF_MOST);
}

static void add_cuda(size_t most)
{
    if (!gxt_cuda())
        return;
    if (gxt_cuda_emulated()) {
        add_slow(gxt_cuda(), "device-local", 0, EMULATED_MOST);
        return;
    }
    add_slow(gxt_cuda(), "host-visible", 0, SLOW_MOST);
    add_slow(gxt_cuda(), "device-local", 0, most);
    add_slow(gxt_cuda(), "device-local", 1000, 1 << 13);
}

static void add_gpus(size_t most)
{
    add_cuda(most);
    if (gxt_vulkan()) {
        add_slow(gxt_vulkan(), "host-visible", 0, SLOW_MOST);
        add_slow(gxt_vulkan(), "device-local", 0, most);
        add_slow(gxt_vulkan(), "device-local", 1000, 1 << 13);
    }
    add_slow("sim:desktop", "device-local", 0, SLOW_MOST);
}

static void add_webgpu(void)
{
    const char *names[GXT_WEBGPU];
    size_t count = gxt_webgpu(names);
    for (size_t i = 0; i < count; i++)
        add_slow(names[i], NULL, 0, SLOW_MOST);
}

static void add_domains(size_t target, int f)
{
    gx_field field = ntt_fields[f];
    gx_domain_params descs[NTT_DOMAINS] = {
        [WIDE_DOMAIN] = {.log2_size = oracle_two_adicity(field)},
        [TEN_DOMAIN] = {.log2_size = TEN_LOG2},
        [OWN_DOMAIN] = {.log2_size = OWN_LOG2, .root = own_root[f], .shift = own_shift[f]},
    };
    for (int d = 0; d < NTT_DOMAINS; d++) {
        descs[d].struct_size = sizeof descs[d];
        descs[d].field = field;
        gx_status s = gx_domain_create(targets[target].ctx, &descs[d], &domains[target][f][d]);
        if (s != GX_OK)
            fail_msg("domain %d: %s", d, gx_last_message());
    }
}

void ntt_open_targets(size_t most)
{
    struct oracle_rng rng = {2025};
    if (webgpu_alone) {
        add_webgpu();
    } else if (cuda_alone) {
        assert_non_null(gxt_cuda());
        add_cuda(most);
    } else {
        add_cpu(most);
        add_gpus(most);
    }
    for (int f = 0; f < 2; f++) {
        unsigned char root[NTT_ELEMENT];
        oracle_root(ntt_fields[f], OWN_LOG2, root);
        oracle_power(ntt_fields[f], root, 12345, own_root[f]);
        oracle_fill_random(ntt_fields[f], &rng, own_shift[f], 1);
        for (size_t i = 0; i < target_count; i++)
            add_domains(i, f);
    }
    ntt_data = gxt_alloc(most * NTT_ELEMENT);
    room = gxt_alloc(most * NTT_ELEMENT + 4 * MARGIN);
    place = gxt_alloc(most * NTT_ELEMENT + 4 * MARGIN);
}

void ntt_close_targets(void **state)
{
    for (size_t i = 0; i < target_count; i++)
        for (int f = 0; f < 2; f++)
            for (int d = 0; d < NTT_DOMAINS; d++) {
                gx_domain_destroy(&domains[i][f][d]);
                assert_null(domains[i][f][d]);
            }
    no_driver_complained(state);
    free(ntt_data);
    free(room);
    free(place);
}

/* ---- shapes ---- */

const gx_domain *ntt_domain(const struct target *t, const struct ntt_shape *s)
{
    return domains[t - targets][field_index(s->field)][s->domain];
}

struct oracle_ntt ntt_oracle(const struct ntt_shape *s)
{
    int own = s->domain == OWN_DOMAIN;
    return (struct oracle_ntt){.field = s->field,
                               .log2_n = s->log2_n,
                               .log2_pad = s->log2_pad,
                               .flags = s->flags,
                               .batch = s->batch,
                               .root = own ? own_root[field_index(s->field)] : NULL,
                               .log2_root = OWN_LOG2,
                               .shift = own ? own_shift[field_index(s->field)] : NULL};
}

int ntt_too_large(const struct target *t, const struct ntt_shape *s)
{
    return s->batch << s->log2_n > t->most;
}

void ntt_tell(const struct target *t, const struct ntt_shape *s, const char *what)
{
    tell_target(t, what);
    print_error("%s, 2^%u padded by 2^%u, batch %zu, flags %u, domain %d%s%s\n",
                gx_field_get_info(s->field)->name, s->log2_n, s->log2_pad, s->batch, s->flags,
                (int)s->domain, s->in_place ? ", in place" : "",
                s->job_flags & GX_JOB_UNCHECKED ? ", trusted" : "");
}

static void check_margins(const struct target *t, const struct ntt_shape *s,
                          const unsigned char *out, size_t bytes)
{
    for (size_t i = 1; i <= MARGIN; i++) {
        if (out[-(ptrdiff_t)i] == GUARD && out[bytes + i - 1] == GUARD)
            continue;
        ntt_tell(t, s, "a byte beside the result was written");
        fail();
    }
}

const unsigned char *ntt_run(const struct target *t, const struct ntt_shape *s)
{
    struct oracle_ntt o = ntt_oracle(s);
    size_t in = oracle_ntt_in(&o) * NTT_ELEMENT, bytes = oracle_ntt_out(&o) * NTT_ELEMENT;
    unsigned char *out = place + MARGIN + (s->log2_n * 5 + s->flags) % 23;
    unsigned char *a = s->in_place ? out : room + MARGIN + s->flags % 17;
    memset(out - MARGIN, GUARD, bytes + 2 * (size_t)MARGIN);
    memcpy(a, ntt_data, in);
    gx_ntt_params params = {.struct_size = sizeof params,
                            .domain = ntt_domain(t, s),
                            .log2_n = s->log2_n,
                            .log2_pad = s->log2_pad,
                            .flags = s->flags};
    gx_job job = gxt_job(GX_NTT, s->field, oracle_ntt_out(&o), a, NULL, NULL, out);
    job.params = &params;
    job.flags = s->job_flags;
    gx_report r = gxt_report();
    gx_status status = gxt_run(t->ctx, &job, t->device, &r);
    if (status != GX_OK) {
        ntt_tell(t, s, r.message);
        assert_int_equal(status, GX_OK);
    }
    assert_string_equal(r.device, t->device);
    check_margins(t, s, out, bytes);
    if (!s->in_place && memcmp(a, ntt_data, in) != 0) {
        ntt_tell(t, s, "the input was written");
        fail();
    }
    return out;
}

void ntt_expect_element(const struct target *t, const struct ntt_shape *s, size_t i,
                        const unsigned char *got, const unsigned char *want)
{
    char what[64];
    if (!memcmp(got, want, NTT_ELEMENT))
        return;
    snprintf(what, sizeof what, "element %zu is wrong", i);
    ntt_tell(t, s, what);
    print_element("got ", got, NTT_ELEMENT);
    print_element("want", want, NTT_ELEMENT);
    fail();
}

void ntt_expect(const struct target *t, const struct ntt_shape *s, const unsigned char *got,
                const unsigned char *want)
{
    struct oracle_ntt o = ntt_oracle(s);
    size_t n = oracle_ntt_out(&o);
    if (!memcmp(got, want, n * NTT_ELEMENT))
        return;
    for (size_t i = 0; i < n; i++)
        ntt_expect_element(t, s, i, got + i * NTT_ELEMENT, want + i * NTT_ELEMENT);
}
