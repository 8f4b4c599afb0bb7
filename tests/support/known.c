/* SPDX-License-Identifier: Apache-2.0
 *
 * See known.h.
 */
#include "support/known.h"

#include "support/harness.h"

void known_open(struct known *k, gx_curve curve, size_t count)
{
    *k = (struct known){.curve = curve, .count = count, .bytes = oracle_affine_bytes(curve)};
    k->t = gxt_alloc(count * KNOWN_SCALAR);
    k->points = gxt_alloc(count * k->bytes);
    memset(k->t, 0, count * KNOWN_SCALAR);
    memset(k->points, 0, count * k->bytes);
}

void known_close(struct known *k)
{
    free(k->t);
    free(k->points);
}

void known_order(gx_curve curve, unsigned char *scalar, int add)
{
    mpz_t z;
    mpz_init(z);
    oracle_modulus(z, oracle_scalar_field(curve));
    if (add < 0)
        mpz_sub_ui(z, z, (unsigned long)-add);
    else
        mpz_add_ui(z, z, (unsigned long)add);
    oracle_export(scalar, KNOWN_SCALAR / 8, z);
    mpz_clear(z);
}

void known_power(unsigned char *scalar, uint32_t power, int add)
{
    mpz_t z;
    mpz_init(z);
    mpz_setbit(z, power);
    if (add < 0)
        mpz_sub_ui(z, z, (unsigned long)-add);
    else
        mpz_add_ui(z, z, (unsigned long)add);
    mpz_fdiv_r_2exp(z, z, (mp_bitcnt_t)8 * KNOWN_SCALAR);
    oracle_export(scalar, KNOWN_SCALAR / 8, z);
    mpz_clear(z);
}

void known_random(struct oracle_rng *rng, void *scalars, size_t count)
{
    for (size_t i = 0; i < count * KNOWN_SCALAR; i += sizeof(uint64_t)) {
        uint64_t word = oracle_random(rng);
        memcpy((unsigned char *)scalars + i, &word, sizeof word);
    }
}

void known_set(struct known *k, size_t i, int64_t value)
{
    unsigned char *t = k->t + i * KNOWN_SCALAR;
    if (value < 0) {
        known_order(k->curve, t, (int)value);
        return;
    }
    memset(t, 0, KNOWN_SCALAR);
    memcpy(t, &value, sizeof value);
}

void known_set_random(struct known *k, size_t i, struct oracle_rng *rng)
{
    known_random(rng, k->t + i * KNOWN_SCALAR, 1);
}

void known_make(struct known *k, gx_ctx *ctx)
{
    if (gxt_multiply(ctx, k->curve, NULL, k->t, k->count, k->points) != GX_OK)
        fail_msg("%s", gx_last_message());
    for (size_t i = 0; i < k->count; i = 5 * i + 3) {
        unsigned char want[ORACLE_POINT_BYTES];
        mpz_t t;
        mpz_init(t);
        oracle_import(t, k->t + i * KNOWN_SCALAR, KNOWN_SCALAR / 8);
        oracle_point_mul(k->curve, want, gx_curve_get_info(k->curve)->generator, t);
        assert_memory_equal(k->points + i * k->bytes, want, k->bytes);
        mpz_clear(t);
    }
}

gx_points *known_points(const struct known *k, gx_ctx *ctx)
{
    gx_points_params desc = {.struct_size = sizeof desc,
                             .curve = k->curve,
                             .form = GX_POINT_XY_MONT,
                             .points = k->points,
                             .count = k->count};
    gx_points *made = NULL;
    uint64_t bad = 0;
    if (gx_points_create(ctx, &desc, &made, &bad) != GX_OK)
        fail_msg("point %llu: %s", (unsigned long long)bad, gx_last_message());
    return made;
}

void known_sum(const struct known *k, size_t first, size_t count, const void *scalars,
               uint32_t bits, void *xy)
{
    mpz_t sum, s, t;
    mpz_inits(sum, s, t, NULL);
    for (size_t i = 0; i < count; i++) {
        oracle_import(s, (const unsigned char *)scalars + i * KNOWN_SCALAR, KNOWN_SCALAR / 8);
        mpz_fdiv_r_2exp(s, s, bits);
        oracle_import(t, k->t + (first + i) * KNOWN_SCALAR, KNOWN_SCALAR / 8);
        mpz_addmul(sum, s, t);
    }
    oracle_modulus(t, oracle_scalar_field(k->curve));
    mpz_mod(sum, sum, t);
    oracle_point_mul(k->curve, xy, gx_curve_get_info(k->curve)->generator, sum);
    mpz_clears(sum, s, t, NULL);
}

gx_job known_job(gx_curve curve, const gx_msm_params *p, size_t batch, const void *scalars,
                 void *out)
{
    gx_job job =
        gxt_job(GX_MSM, oracle_scalar_field(curve), batch * p->count, scalars, NULL, NULL, out);
    job.params = p;
    return job;
}
