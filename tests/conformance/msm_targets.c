/* SPDX-License-Identifier: Apache-2.0
 *
 * See msm_targets.h.
 */
#include "conformance/msm_targets.h"

enum { MARGIN = 64, GUARD = 0x5c };
enum {
    CPU_MOST = 1 << 16,
    TIER_MOST = 1 << 12,
    SLOW_MOST = 1 << 12,
    REF_MOST = 200,
    EMULATED_MOST = 200
};

static signed char has[TARGETS_MAX][MSM_CURVES + 1]; /* 0: not asked yet */

static void add_slow(const char *device, size_t most)
{
    add_target(device, NULL, NULL, 0, most)->slow = 1;
}

/* The last target takes these curves: kernels run in the driver, and those of each take long to
 * compile. */
static void take_only(uint32_t curves)
{
    for (gx_curve c = 1; c <= MSM_CURVES; c++)
        if (!(curves & MSM_CURVE(c)))
            has[target_count - 1][c] = -1;
}

void msm_open_targets(const struct msm_curves *curves)
{
    const char *names[GXT_WEBGPU];
    gxt_clear_environment();
    gxt_enter_machines();
    if (webgpu_alone) {
        size_t count = gxt_webgpu(names);
        for (size_t i = 0; i < count; i++) {
            add_slow(names[i], SLOW_MOST);
            take_only(strstr(names[i], ":gl:") ? curves->over_gl : curves->over_vulkan);
        }
        return;
    }
    if (cuda_alone) {
        assert_non_null(gxt_cuda());
        add_slow(gxt_cuda(), gxt_cuda_emulated() ? EMULATED_MOST : SLOW_MOST);
        if (gxt_cuda_emulated())
            take_only(curves->emulated);
        return;
    }
    add_target("cpu", NULL, NULL, 0, CPU_MOST); /* with the best of two tiers */
    add_target("cpu", gx_tier_name(0), NULL, 0, TIER_MOST);
    add_slow("ref", REF_MOST);
    add_slow("sim:desktop", REF_MOST);
    if (gxt_cuda())
        add_slow(gxt_cuda(), SLOW_MOST);
    if (!gxt_vulkan())
        return;
    add_slow(gxt_vulkan(), SLOW_MOST);
    if (gxt_small())
        take_only(MSM_CURVE(GX_BLS12_381_G1));
}

void msm_close_targets(void **state)
{
    no_driver_complained(state);
}

gx_ctx *msm_any(void)
{
    return targets[0].ctx;
}

static void tell(const struct target *t, gx_curve curve, const gx_msm_params *p, size_t batch,
                 const char *what, const char *why)
{
    tell_target(t, what);
    print_error("%s, points %zu + %zu, batch %zu, %s scalars of %u bits, result %s: %s\n",
                gx_curve_get_info(curve)->name, p->first, p->count, batch,
                p->scalar_form == GX_SCALAR_MONT ? "Montgomery" : "plain", p->scalar_bits,
                gx_point_form_name(p->result_form), why);
}

int msm_has(const struct target *t, gx_curve curve)
{
    signed char *known = &has[t - targets][curve];
    if (*known)
        return *known > 0;
    unsigned char out[ORACLE_FORM_BYTES];
    static const unsigned char one[KNOWN_SCALAR] = {1};
    gx_points *points = NULL;
    gx_points_params desc = {.struct_size = sizeof desc,
                             .curve = curve,
                             .form = GX_POINT_XY_MONT,
                             .points = gx_curve_get_info(curve)->generator,
                             .count = 1};
    assert_int_equal(gx_points_create(t->ctx, &desc, &points, NULL), GX_OK);
    gx_msm_params p = {
        .struct_size = sizeof p, .points = points, .count = 1, .result_form = GX_POINT_XY_MONT};
    gx_job job = known_job(curve, &p, 1, one, out);
    gx_status s = gxt_run(t->ctx, &job, t->device, NULL);
    if (s != GX_OK && s != GX_ERR_UNSUPPORTED)
        fail_msg("%s: %s: %s", t->device, gx_status_name(s), gx_last_message());
    if (s == GX_ERR_UNSUPPORTED) {
        print_message("%s does not have %s\n", t->device, gx_curve_get_info(curve)->name);
        assert_int_not_equal(curve, GX_BLS12_381_G1);
    }
    gx_points_destroy(&points);
    *known = s == GX_OK ? 1 : -1;
    return s == GX_OK;
}

static void check_margins(const unsigned char *out, size_t bytes)
{
    for (size_t i = 1; i <= MARGIN; i++) {
        assert_int_equal(out[-(ptrdiff_t)i], GUARD);
        assert_int_equal(out[bytes + i - 1], GUARD);
    }
}

void msm_check(const struct target *t, gx_curve curve, const gx_msm_params *p, size_t batch,
               const void *scalars, const void *want, const char *what)
{
    size_t each = gx_point_bytes(curve, p->result_form), in = batch * p->count * KNOWN_SCALAR;
    unsigned char *place = gxt_alloc(batch * each + 4 * (size_t)MARGIN), *copy = gxt_alloc(in + 8);
    unsigned char *out = place + MARGIN + p->count % 17, *a = copy + p->count % 8;
    memset(place, GUARD, batch * each + 4 * (size_t)MARGIN);
    memcpy(a, scalars, in);
    gx_job job = known_job(curve, p, batch, a, out);
    gx_report r = gxt_report();
    gx_status s = gxt_run(t->ctx, &job, t->device, &r);
    if (s != GX_OK) {
        tell(t, curve, p, batch, what, r.message);
        assert_int_equal(s, GX_OK);
    }
    assert_string_equal(r.device, t->device);
    for (size_t i = 0; i < batch; i++) {
        unsigned char bytes[ORACLE_FORM_BYTES];
        oracle_point_encode(curve, p->result_form, bytes,
                            (const unsigned char *)want + i * oracle_affine_bytes(curve));
        if (!memcmp(out + i * each, bytes, each))
            continue;
        tell(t, curve, p, batch, what, "a result is wrong");
        print_error("result %zu\n", i);
        print_element("got ", out + i * each, each);
        print_element("want", bytes, each);
        fail();
    }
    check_margins(out, batch * each);
    assert_memory_equal(a, scalars, in);
    free(place);
    free(copy);
}

unsigned char *msm_want(const struct known *k, const gx_msm_params *p, size_t batch,
                        const void *scalars)
{
    unsigned char *want = gxt_alloc(batch * k->bytes);
    for (size_t i = 0; i < batch; i++)
        known_sum(k, p->first, p->count,
                  (const unsigned char *)scalars + i * p->count * KNOWN_SCALAR,
                  p->scalar_bits ? p->scalar_bits : 256, want + i * k->bytes);
    return want;
}

void msm_check_known(const struct target *t, const struct known *k, const gx_msm_params *p,
                     size_t batch, const void *scalars, const void *want, const char *what)
{
    gx_msm_params with = *p;
    gx_points *points = known_points(k, t->ctx);
    with.points = points;
    msm_check(t, k->curve, &with, batch, scalars, want, what);
    gx_points_destroy(&points);
}
