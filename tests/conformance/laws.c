/* SPDX-License-Identifier: Apache-2.0
 *
 * Algebraic laws over random batches, through the public API alone. They need no
 * oracle, so they would also find what the oracle and the library got wrong alike.
 * Every law runs on every device, in every prime field; u32 has those of a ring.
 *
 * usage: laws [webgpu]    the WebGPU devices alone, else all others
 */
#include "support/harness.h"
#include "support/oracle.h"

enum { DEVICES_MAX = 16 };

static gx_ctx *ctx;
static gx_device_info devices[DEVICES_MAX] = {{.struct_size = sizeof *devices}};
static size_t device_count;
static int webgpu_alone, cuda_alone;

/* Where the current law is tested, and the batches it is tested with. */
static const char *device;
static gx_field field;
static size_t n, bytes;
static unsigned char *a, *b, *c, *zero, *one; /* one: in Montgomery form */
static struct oracle_rng rng = {1729};

/* ---- batches ---- */

static unsigned char *batch(void)
{
    return gxt_alloc(bytes);
}

/* A new batch that is op of up to three others, which stay. */
static unsigned char *op(gx_op which, const void *x, const void *y, const void *z)
{
    unsigned char *out = batch();
    gx_job job = gxt_job(which, field, n, x, y, z, out);
    assert_int_equal(gxt_run(ctx, &job, device, NULL), GX_OK);
    return out;
}

/* The same, and the first operand is freed. */
static unsigned char *then(unsigned char *x, gx_op which, const void *y, const void *z)
{
    unsigned char *out = op(which, x, y, z);
    free(x);
    return out;
}

/* Both sides of a law, which are freed. */
static void same(unsigned char *left, unsigned char *right, const char *law)
{
    if (memcmp(left, right, bytes) != 0) {
        print_error("%s, %s: not %s\n", device, gx_field_get_info(field)->name, law);
        fail();
    }
    free(left);
    free(right);
}

static unsigned char *copy(const unsigned char *of)
{
    return memcpy(batch(), of, bytes);
}

/* ---- laws of a ring: add, sub, mul ---- */

static void ring_laws(void)
{
    same(op(GX_ADD, a, b, NULL), op(GX_ADD, b, a, NULL), "a + b = b + a");
    same(op(GX_MUL, a, b, NULL), op(GX_MUL, b, a, NULL), "a b = b a");
    unsigned char *bc = op(GX_ADD, b, c, NULL);
    same(then(op(GX_ADD, a, b, NULL), GX_ADD, c, NULL), op(GX_ADD, a, bc, NULL),
         "(a + b) + c = a + (b + c)");
    unsigned char *ab = op(GX_MUL, a, b, NULL), *ac = op(GX_MUL, a, c, NULL);
    same(op(GX_MUL, a, bc, NULL), op(GX_ADD, ab, ac, NULL), "a (b + c) = a b + a c");
    free(bc);
    bc = op(GX_MUL, b, c, NULL);
    same(op(GX_MUL, ab, c, NULL), op(GX_MUL, a, bc, NULL), "(a b) c = a (b c)");
    free(bc);
    bc = op(GX_SUB, b, c, NULL);
    same(op(GX_MUL, a, bc, NULL), op(GX_SUB, ab, ac, NULL), "a (b - c) = a b - a c");
    same(then(op(GX_SUB, a, b, NULL), GX_ADD, b, NULL), copy(a), "(a - b) + b = a");
    same(op(GX_SUB, a, a, NULL), copy(zero), "a - a = 0");
    same(op(GX_ADD, a, zero, NULL), copy(a), "a + 0 = a");
    same(op(GX_MUL, a, zero, NULL), copy(zero), "a 0 = 0");
    same(op(GX_MUL, a, one, NULL), copy(a), "a 1 = a");
    free(ab);
    free(ac);
    free(bc);
}

/* ---- laws of the other operations ---- */

static void negation_and_products(void)
{
    unsigned char *minus_b = op(GX_NEG, b, NULL, NULL), *ab = op(GX_MUL, a, b, NULL);
    same(op(GX_ADD, a, minus_b, NULL), op(GX_SUB, a, b, NULL), "a + (-b) = a - b");
    same(op(GX_NEG, minus_b, NULL, NULL), copy(b), "-(-b) = b");
    same(op(GX_NEG, b, NULL, NULL), op(GX_SUB, zero, b, NULL), "-b = 0 - b");
    same(op(GX_MUL, a, minus_b, NULL), op(GX_NEG, ab, NULL, NULL), "a (-b) = -(a b)");
    same(op(GX_SQR, a, NULL, NULL), op(GX_MUL, a, a, NULL), "a^2 = a a");
    same(op(GX_MUL_ADD, a, b, c), op(GX_ADD, ab, c, NULL), "mul-add = mul, then add");
    same(op(GX_MUL_ADD, a, b, zero), copy(ab), "a b + 0 = a b");
    same(op(GX_MUL_ADD, a, one, c), op(GX_ADD, a, c, NULL), "a 1 + c = a + c");
    free(minus_b);
    free(ab);
}

/* 1 if x is not 0, otherwise 0. */
static unsigned char *one_or_zero(const unsigned char *x)
{
    size_t element = gxt_element(field);
    unsigned char *out = copy(one);
    for (size_t i = 0; i < n; i++)
        if (!memcmp(x + i * element, zero, element))
            memset(out + i * element, 0, element);
    return out;
}

static void inverses(void)
{
    unsigned char *inv_a = op(GX_INV, a, NULL, NULL), *inv_b = op(GX_INV, b, NULL, NULL);
    same(op(GX_MUL, a, inv_a, NULL), one_or_zero(a), "a (1 / a) = 1, or 0");
    same(op(GX_INV, inv_a, NULL, NULL), copy(a), "1 / (1 / a) = a");
    same(op(GX_DIV, a, b, NULL), op(GX_MUL, a, inv_b, NULL), "a / b = a (1 / b)");
    same(op(GX_DIV, a, a, NULL), one_or_zero(a), "a / a = 1, or 0");
    same(op(GX_DIV, one, a, NULL), copy(inv_a), "1 / a");
    same(op(GX_DIV, a, one, NULL), copy(a), "a / 1 = a");
    same(op(GX_DIV, a, zero, NULL), copy(zero), "a / 0 = 0");
    unsigned char *ab = op(GX_MUL, a, b, NULL);
    same(op(GX_INV, ab, NULL, NULL), op(GX_MUL, inv_a, inv_b, NULL), "1 / (a b) = (1 / a) (1 / b)");
    unsigned char *q = op(GX_DIV, a, b, NULL), *where = one_or_zero(b);
    same(op(GX_MUL, q, b, NULL), op(GX_MUL, a, where, NULL), "(a / b) b = a, or 0");
    free(inv_a);
    free(inv_b);
    free(ab);
    free(q);
    free(where);
}

static void conversions(void)
{
    same(then(op(GX_TO_MONT, a, NULL, NULL), GX_FROM_MONT, NULL, NULL), copy(a), "out of and into");
    same(then(op(GX_FROM_MONT, a, NULL, NULL), GX_TO_MONT, NULL, NULL), copy(a), "into and out of");
    unsigned char *plain_one = copy(zero);
    for (size_t i = 0; i < n; i++)
        plain_one[i * gxt_element(field)] = 1;
    same(op(GX_TO_MONT, plain_one, NULL, NULL), copy(one), "to-mont(1) = Montgomery's one");
    same(op(GX_FROM_MONT, one, NULL, NULL), copy(plain_one), "from-mont(R) = 1");
    same(op(GX_MUL, a, plain_one, NULL), op(GX_FROM_MONT, a, NULL, NULL), "a 1 / R = from-mont(a)");
    unsigned char *ma = op(GX_TO_MONT, a, NULL, NULL), *mb = op(GX_TO_MONT, b, NULL, NULL);
    unsigned char *sum = op(GX_ADD, a, b, NULL);
    same(op(GX_TO_MONT, sum, NULL, NULL), op(GX_ADD, ma, mb, NULL), "to-mont is additive");
    free(plain_one);
    free(ma);
    free(mb);
    free(sum);
}

/* ---- sums ---- */

/* One element, as often as a batch has elements: sums compare as batches do. */
static unsigned char *sum(gx_op which, const void *x, const void *y)
{
    unsigned char *out = batch();
    gx_job job = gxt_job(which, field, n, x, y, NULL, out);
    assert_int_equal(gxt_run(ctx, &job, device, NULL), GX_OK);
    for (size_t i = 1; i < n; i++)
        memcpy(out + i * gxt_element(field), out, gxt_element(field));
    return out;
}

static unsigned char *both(unsigned char *x, gx_op which, unsigned char *y)
{
    unsigned char *out = op(which, x, y, NULL);
    free(x);
    free(y);
    return out;
}

static void sums_and_dots(void)
{
    unsigned char *apb = op(GX_ADD, a, b, NULL), *amb = op(GX_SUB, a, b, NULL);
    unsigned char *ab = op(GX_MUL, a, b, NULL), *minus_a = op(GX_NEG, a, NULL, NULL);
    unsigned char *s = sum(GX_SUM, b, NULL), *as = op(GX_MUL, a, s, NULL);
    same(sum(GX_SUM, apb, NULL), both(sum(GX_SUM, a, NULL), GX_ADD, sum(GX_SUM, b, NULL)),
         "sum(a + b) = sum(a) + sum(b)");
    same(sum(GX_SUM, amb, NULL), both(sum(GX_SUM, a, NULL), GX_SUB, sum(GX_SUM, b, NULL)),
         "sum(a - b) = sum(a) - sum(b)");
    same(sum(GX_SUM, minus_a, NULL), then(sum(GX_SUM, a, NULL), GX_NEG, NULL, NULL),
         "sum(-a) = -sum(a)");
    same(sum(GX_SUM, as, NULL), then(sum(GX_SUM, a, NULL), GX_MUL, s, NULL), "sum(a s) = sum(a) s");
    same(sum(GX_SUM, zero, NULL), copy(zero), "sum(0) = 0");
    same(sum(GX_DOT, a, b), sum(GX_SUM, ab, NULL), "a . b = sum(a b)");
    same(sum(GX_DOT, a, b), sum(GX_DOT, b, a), "a . b = b . a");
    same(sum(GX_DOT, a, one), sum(GX_SUM, a, NULL), "a . 1 = sum(a)");
    same(sum(GX_DOT, a, zero), copy(zero), "a . 0 = 0");
    same(sum(GX_DOT, apb, c), both(sum(GX_DOT, a, c), GX_ADD, sum(GX_DOT, b, c)),
         "(a + b) . c = a . c + b . c");
    same(sum(GX_DOT, as, c), then(sum(GX_DOT, a, c), GX_MUL, s, NULL), "(a s) . c = (a . c) s");
    same(sum(GX_DOT, apb, amb), both(sum(GX_DOT, a, a), GX_SUB, sum(GX_DOT, b, b)),
         "(a + b) . (a - b) = a . a - b . b");
    free(apb);
    free(amb);
    free(ab);
    free(minus_a);
    free(s);
    free(as);
}

/* x^(p - 1) by squaring and multiplying, highest bit first. */
static unsigned char *fermat(const unsigned char *x)
{
    const gx_field_info *info = gx_field_get_info(field);
    unsigned char *power = copy(one);
    for (size_t bit = 64 * (size_t)info->limbs; bit-- > 0;) {
        uint64_t limb = info->modulus[bit / 64] - (bit < 64); /* p is odd */
        power = then(power, GX_SQR, NULL, NULL);
        if (limb >> bit % 64 & 1)
            power = then(power, GX_MUL, x, NULL);
    }
    return power;
}

static void fermats_little_theorem(void)
{
    same(fermat(a), one_or_zero(a), "a^(p - 1) = 1, or 0");
}

/* ---- every device, every field ---- */

/* Montgomery's one from the modulus alone: 2^(64 limbs) mod p, on GMP. */
static void put_one(void)
{
    const gx_field_info *info = gx_field_get_info(field);
    memset(one, 0, bytes);
    if (!info->limbs) {
        for (size_t i = 0; i < n; i++)
            one[i * 4] = 1;
        return;
    }
    mpz_t p, r;
    mpz_inits(p, r, NULL);
    oracle_modulus(p, field);
    mpz_setbit(r, 64 * (mp_bitcnt_t)info->limbs);
    mpz_mod(r, r, p);
    for (size_t i = 0; i < n; i++)
        oracle_export(one + i * info->element_bytes, info->limbs, r);
    mpz_clears(p, r, NULL);
}

static void start_law(const gx_device_info *on, gx_field in)
{
    device = on->name;
    field = in;
    n = on->kind == GX_DEVICE_REFERENCE ? 37 : gxt_small() ? 100 : 5000;
    bytes = n * gxt_element(field);
    unsigned char **all[] = {&a, &b, &c, &zero, &one};
    for (size_t i = 0; i < GXT_COUNT(all); i++)
        *all[i] = batch();
    oracle_fill(field, &rng, a, n);
    oracle_fill(field, &rng, b, n);
    oracle_fill(field, &rng, c, n);
    memset(zero, 0, bytes);
    put_one();
}

static void end_law(void)
{
    free(a);
    free(b);
    free(c);
    free(zero);
    free(one);
}

struct law {
    void (*holds)(void);
    int words; /* for u32 too */
};

static void everywhere(void **state)
{
    const struct law *law = *state;
    for (size_t d = 0; d < device_count; d++) {
        for (size_t f = 0; f < GXT_COUNT(gxt_fields); f++) {
            if (gxt_fields[f] == GX_F32 || (gxt_fields[f] == GX_U32 && !law->words))
                continue;
            start_law(&devices[d], gxt_fields[f]);
            law->holds();
            end_law();
        }
    }
}

#define EVERYWHERE(test, with_words)                                                               \
    {                                                                                              \
        .name = #test, .test_func = everywhere, .initial_state = &(struct law)                     \
        {                                                                                          \
            test, with_words                                                                       \
        }                                                                                          \
    }

static int open_context(void **state)
{
    (void)state;
    gxt_clear_environment();
    const char *names[GXT_WEBGPU];
    if (webgpu_alone)
        gxt_webgpu(names);
    else if (cuda_alone)
        assert_non_null(gxt_cuda());
    else
        gxt_vulkan();
    gx_config config = {0};
    gxt_watch(&config);
    ctx = gxt_open(&config);
    size_t listed = DEVICES_MAX;
    assert_int_equal(gx_devices(ctx, devices, &listed), GX_OK);
    assert_true(listed <= DEVICES_MAX);
    for (size_t i = 0; i < listed; i++)
        if (devices[i].usable && (devices[i].kind == GX_DEVICE_WEBGPU) == webgpu_alone &&
            (!cuda_alone || !strcmp(devices[i].name, "cuda:0")))
            devices[device_count++] = devices[i];
    return 0;
}

static int close_context(void **state)
{
    (void)state;
    gx_close(&ctx);
    return gxt_complaints() ? -1 : 0;
}

int main(int argc, char **argv)
{
    webgpu_alone = argc > 1 && !strcmp(argv[1], "webgpu");
    cuda_alone = argc > 1 && !strcmp(argv[1], "cuda");
    const struct CMUnitTest tests[] = {
        EVERYWHERE(ring_laws, 1),     EVERYWHERE(negation_and_products, 0),
        EVERYWHERE(inverses, 0),      EVERYWHERE(conversions, 0),
        EVERYWHERE(sums_and_dots, 0), EVERYWHERE(fermats_little_theorem, 0),
    };
    return cmocka_run_group_tests_name("laws", tests, open_context, close_context);
}
