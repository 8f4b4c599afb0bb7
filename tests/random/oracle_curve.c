/* SPDX-License-Identifier: Apache-2.0
 *
 * Points and sums of them (oracle.h): affine arithmetic as in a textbook. A sum costs one
 * multiplication, because the points are known multiples of the generator, or of a few points
 * outside its subgroup.
 */
#include <stdlib.h>
#include <string.h>

#include "random/oracle.h"

enum { BITS = 256 };

struct curve {
    const struct rnd_prime *f;
    unsigned degree;
    uint64_t scalar_field;
    struct rnd_fq2 b;
    struct rnd_point doubled[BITS]; /* 2^i * G */
    struct rnd_point outside[RND_OUTSIDE];
    int noutside;
};

static struct curve curves[GX_BN254_G2 + 1];

const struct rnd_prime *rnd_base_field(uint64_t curve)
{
    return curves[curve].f;
}

unsigned rnd_degree(uint64_t curve)
{
    return curves[curve].degree;
}

uint64_t rnd_scalar_field(uint64_t curve)
{
    return curves[curve].scalar_field;
}

/* ---- c0 + c1 * u ---- */

static void fq2_init(struct rnd_fq2 *x)
{
    mpz_inits(x->c0, x->c1, NULL);
}

static void fq2_clear(struct rnd_fq2 *x)
{
    mpz_clears(x->c0, x->c1, NULL);
}

static void fq2_set(struct rnd_fq2 *x, const struct rnd_fq2 *a)
{
    mpz_set(x->c0, a->c0);
    mpz_set(x->c1, a->c1);
}

static void fq2_add(struct rnd_fq2 *x, const struct rnd_fq2 *a, const struct rnd_fq2 *b,
                    const mpz_t p)
{
    mpz_add(x->c0, a->c0, b->c0);
    mpz_add(x->c1, a->c1, b->c1);
    mpz_mod(x->c0, x->c0, p);
    mpz_mod(x->c1, x->c1, p);
}

static void fq2_sub(struct rnd_fq2 *x, const struct rnd_fq2 *a, const struct rnd_fq2 *b,
                    const mpz_t p)
{
    mpz_sub(x->c0, a->c0, b->c0);
    mpz_sub(x->c1, a->c1, b->c1);
    mpz_mod(x->c0, x->c0, p);
    mpz_mod(x->c1, x->c1, p);
}

static void fq2_mul(struct rnd_fq2 *x, const struct rnd_fq2 *a, const struct rnd_fq2 *b,
                    const mpz_t p)
{
    mpz_t c0, c1;
    mpz_inits(c0, c1, NULL);
    mpz_mul(c0, a->c0, b->c0);
    mpz_submul(c0, a->c1, b->c1);
    mpz_mul(c1, a->c0, b->c1);
    mpz_addmul(c1, a->c1, b->c0);
    mpz_mod(x->c0, c0, p);
    mpz_mod(x->c1, c1, p);
    mpz_clears(c0, c1, NULL);
}

/* The conjugate over the norm. */
static void fq2_invert(struct rnd_fq2 *x, const struct rnd_fq2 *a, const mpz_t p)
{
    mpz_t norm;
    mpz_init(norm);
    mpz_mul(norm, a->c0, a->c0);
    mpz_addmul(norm, a->c1, a->c1);
    if (!mpz_invert(norm, norm, p))
        abort();
    mpz_mul(x->c0, a->c0, norm);
    mpz_mul(x->c1, a->c1, norm);
    mpz_neg(x->c1, x->c1);
    mpz_mod(x->c0, x->c0, p);
    mpz_mod(x->c1, x->c1, p);
    mpz_clear(norm);
}

static int fq2_is_zero(const struct rnd_fq2 *a)
{
    return mpz_sgn(a->c0) == 0 && mpz_sgn(a->c1) == 0;
}

static int fq2_equal(const struct rnd_fq2 *a, const struct rnd_fq2 *b)
{
    return mpz_cmp(a->c0, b->c0) == 0 && mpz_cmp(a->c1, b->c1) == 0;
}

/* p is 3 modulo 4. */
static int fq_sqrt(mpz_t x, const mpz_t a, const mpz_t p)
{
    mpz_t e, y;
    mpz_inits(e, y, NULL);
    mpz_add_ui(e, p, 1);
    mpz_fdiv_q_2exp(e, e, 2);
    mpz_powm(e, a, e, p);
    mpz_mul(y, e, e);
    mpz_sub(y, y, a);
    int is_square = mpz_divisible_p(y, p) != 0;
    if (is_square)
        mpz_set(x, e);
    mpz_clears(e, y, NULL);
    return is_square;
}

/* With c1 of a not 0: c0^2 is half of c0 of a plus or minus the root of its norm. */
static int fq2_sqrt(struct rnd_fq2 *x, const struct rnd_fq2 *a, const mpz_t p)
{
    mpz_t norm, half, t;
    int found = 0;
    mpz_inits(norm, half, t, NULL);
    mpz_mul(norm, a->c0, a->c0);
    mpz_addmul(norm, a->c1, a->c1);
    mpz_mod(norm, norm, p);
    mpz_add_ui(half, p, 1);
    mpz_fdiv_q_2exp(half, half, 1);
    if (fq_sqrt(norm, norm, p)) {
        for (int sign = 0; sign < 2 && !found; sign++) {
            if (sign)
                mpz_sub(t, a->c0, norm);
            else
                mpz_add(t, a->c0, norm);
            mpz_mul(t, t, half);
            mpz_mod(t, t, p);
            found = mpz_sgn(t) && fq_sqrt(x->c0, t, p);
        }
    }
    if (found) {
        mpz_mul_ui(t, x->c0, 2);
        mpz_invert(t, t, p);
        mpz_mul(x->c1, a->c1, t);
        mpz_mod(x->c1, x->c1, p);
    }
    mpz_clears(norm, half, t, NULL);
    return found;
}

/* ---- points ---- */

static void point_init(struct rnd_point *point)
{
    point->infinity = 1;
    fq2_init(&point->x);
    fq2_init(&point->y);
}

static void point_clear(struct rnd_point *point)
{
    fq2_clear(&point->x);
    fq2_clear(&point->y);
}

static void point_set(struct rnd_point *to, const struct rnd_point *from)
{
    to->infinity = from->infinity;
    fq2_set(&to->x, &from->x);
    fq2_set(&to->y, &from->y);
}

static void point_negate(struct rnd_point *point, const struct rnd_prime *f)
{
    struct rnd_fq2 zero;
    fq2_init(&zero);
    fq2_sub(&point->y, &zero, &point->y, f->p);
    fq2_clear(&zero);
}

/* The slope of the tangent or of the chord; 0 if it is vertical. */
static int slope(struct rnd_fq2 *m, const struct rnd_point *a, const struct rnd_point *b,
                 const mpz_t p)
{
    struct rnd_fq2 d;
    int finite;
    fq2_init(&d);
    if (fq2_equal(&a->x, &b->x)) {
        fq2_add(&d, &a->y, &b->y, p); /* 0: opposite points */
        finite = !fq2_is_zero(&d);
        fq2_mul(m, &a->x, &a->x, p);
        mpz_mul_ui(m->c0, m->c0, 3);
        mpz_mul_ui(m->c1, m->c1, 3);
    } else {
        finite = 1;
        fq2_sub(&d, &b->x, &a->x, p);
        fq2_sub(m, &b->y, &a->y, p);
    }
    if (finite) {
        fq2_invert(&d, &d, p);
        fq2_mul(m, m, &d, p);
    }
    fq2_clear(&d);
    return finite;
}

/* to may be a or b. */
static void point_add(struct rnd_point *to, const struct rnd_point *a, const struct rnd_point *b,
                      const struct rnd_prime *f)
{
    struct rnd_fq2 m, x, y;
    if (a->infinity || b->infinity) {
        point_set(to, a->infinity ? b : a);
        return;
    }
    fq2_init(&m);
    fq2_init(&x);
    fq2_init(&y);
    if (!slope(&m, a, b, f->p)) {
        to->infinity = 1;
    } else {
        fq2_mul(&x, &m, &m, f->p);
        fq2_sub(&x, &x, &a->x, f->p);
        fq2_sub(&x, &x, &b->x, f->p);
        fq2_sub(&y, &a->x, &x, f->p);
        fq2_mul(&y, &y, &m, f->p);
        fq2_sub(&y, &y, &a->y, f->p);
        to->infinity = 0;
        fq2_set(&to->x, &x);
        fq2_set(&to->y, &y);
    }
    fq2_clear(&m);
    fq2_clear(&x);
    fq2_clear(&y);
}

/* scalar times a point, for any integer from 0 on */
static void point_multiply(struct rnd_point *to, const struct rnd_point *point, const mpz_t scalar,
                           const struct rnd_prime *f)
{
    struct rnd_point sum;
    point_init(&sum);
    for (size_t bit = mpz_sizeinbase(scalar, 2); bit-- > 0;) {
        point_add(&sum, &sum, &sum, f);
        if (mpz_tstbit(scalar, bit))
            point_add(&sum, &sum, point, f);
    }
    point_set(to, &sum);
    point_clear(&sum);
}

static void generator_multiply(struct rnd_point *to, const struct curve *c, const mpz_t scalar)
{
    mpz_t reduced;
    mpz_init(reduced);
    mpz_mod(reduced, scalar, rnd_prime(c->scalar_field)->p);
    to->infinity = 1;
    for (size_t bit = 0; bit < BITS; bit++)
        if (mpz_tstbit(reduced, bit))
            point_add(to, to, &c->doubled[bit], c->f);
    mpz_clear(reduced);
}

/* ---- curves ---- */

static void right_side(struct rnd_fq2 *y2, const struct curve *c, const struct rnd_fq2 *x)
{
    struct rnd_fq2 square;
    fq2_init(&square);
    fq2_mul(&square, x, x, c->f->p);
    fq2_mul(&square, &square, x, c->f->p);
    fq2_add(y2, &square, &c->b, c->f->p);
    fq2_clear(&square);
}

static int in_subgroup(const struct curve *c, const struct rnd_point *point)
{
    struct rnd_point multiple;
    point_init(&multiple);
    point_multiply(&multiple, point, rnd_prime(c->scalar_field)->p, c->f);
    int inside = multiple.infinity;
    point_clear(&multiple);
    return inside;
}

/* The points with the least x, 0 included, that are on the curve and not in the subgroup. */
static void find_outside(struct curve *c)
{
    for (unsigned x = 0; x < 64 && c->noutside < RND_OUTSIDE; x++) {
        struct rnd_point *point = &c->outside[c->noutside];
        struct rnd_fq2 y2;
        int found;
        point_init(point);
        fq2_init(&y2);
        point->infinity = 0;
        mpz_set_ui(point->x.c0, x);
        mpz_set_ui(point->x.c1, c->degree == 2);
        right_side(&y2, c, &point->x);
        if (c->degree == 1)
            found = fq_sqrt(point->y.c0, y2.c0, c->f->p);
        else
            found = fq2_sqrt(&point->y, &y2, c->f->p);
        fq2_clear(&y2);
        if (found && !in_subgroup(c, point))
            c->noutside++;
        else
            point_clear(point);
    }
}

/* The generator is the library's; that it is one follows from the equation and from its order. */
static void read_generator(struct curve *c, gx_curve curve)
{
    const unsigned char *at = gx_curve_get_info(curve)->generator;
    struct rnd_point *g = &c->doubled[0];
    struct rnd_fq2 left, right;
    fq2_init(&left);
    fq2_init(&right);
    g->infinity = 0;
    mpz_t *parts[] = {&g->x.c0, &g->x.c1, &g->y.c0, &g->y.c1};
    for (unsigned i = 0; i < 4; i++)
        if (c->degree == 2 || i % 2 == 0) {
            rnd_get_mont(*parts[i], c->f, at);
            at += c->f->bytes;
        }
    fq2_mul(&left, &g->y, &g->y, c->f->p);
    right_side(&right, c, &g->x);
    if (!fq2_equal(&left, &right) || !in_subgroup(c, g))
        abort();
    fq2_clear(&left);
    fq2_clear(&right);
}

static void make_curve(gx_curve curve, gx_field base, gx_field scalar, unsigned degree, unsigned b0,
                       unsigned b1)
{
    struct curve *c = &curves[curve];
    c->f = rnd_prime(base);
    c->degree = degree;
    c->scalar_field = scalar;
    fq2_init(&c->b);
    mpz_set_ui(c->b.c0, b0);
    mpz_set_ui(c->b.c1, b1);
    if (curve == GX_BN254_G2) { /* 3 / (9 + u) */
        fq2_invert(&c->b, &c->b, c->f->p);
        mpz_mul_ui(c->b.c0, c->b.c0, 3);
        mpz_mul_ui(c->b.c1, c->b.c1, 3);
        mpz_mod(c->b.c0, c->b.c0, c->f->p);
        mpz_mod(c->b.c1, c->b.c1, c->f->p);
    }
    for (unsigned i = 0; i < BITS; i++)
        point_init(&c->doubled[i]);
    read_generator(c, curve);
    for (unsigned i = 1; i < BITS; i++)
        point_add(&c->doubled[i], &c->doubled[i - 1], &c->doubled[i - 1], c->f);
    if (curve != GX_BN254_G1) /* whose order is prime */
        find_outside(c);
}

void rnd_oracle_init_fields(void);

void rnd_oracle_init(void)
{
    rnd_oracle_init_fields();
    make_curve(GX_BLS12_381_G1, GX_BLS12_381_FQ, GX_BLS12_381_FR, 1, 4, 0);
    make_curve(GX_BLS12_381_G2, GX_BLS12_381_FQ, GX_BLS12_381_FR, 2, 4, 4);
    make_curve(GX_BN254_G1, GX_BN254_FQ, GX_BN254_FR, 1, 3, 0);
    make_curve(GX_BN254_G2, GX_BN254_FQ, GX_BN254_FR, 2, 9, 1);
}

/* ---- points whose sums are known ---- */

static void set_outside(struct rnd_points *points, size_t i, int which)
{
    const struct curve *c = &curves[points->curve];
    point_set(&points->point[i], &c->outside[abs(which) - 1]);
    if (which < 0)
        point_negate(&points->point[i], c->f);
    points->outside[i] = which;
    mpz_set_ui(points->times[i], 0);
}

/* A few different multiples, so that equal and opposite ones, and infinity, meet everywhere. */
static void set_edge(struct rnd_points *points, size_t i, uint64_t *state)
{
    const struct curve *c = &curves[points->curve];
    static const long multiples[] = {0, 1, -1, 1, -1, 2, -2, 3, 5};
    mpz_set_si(points->times[i], multiples[rnd_below(state, sizeof multiples / sizeof *multiples)]);
    generator_multiply(&points->point[i], c, points->times[i]);
}

/* An arithmetic progression: one addition each. */
static void set_progression(struct rnd_points *points, uint64_t start, uint64_t step)
{
    const struct curve *c = &curves[points->curve];
    struct rnd_point distance, at;
    mpz_t times;
    mpz_init(times);
    point_init(&distance);
    point_init(&at);
    mpz_set_ui(times, step);
    generator_multiply(&distance, c, times);
    mpz_set_ui(times, start);
    generator_multiply(&at, c, times);
    for (size_t i = 0; i < points->count; i++) {
        point_set(&points->point[i], &at);
        mpz_set(points->times[i], times);
        point_add(&at, &at, &distance, c->f);
        mpz_add_ui(times, times, step);
    }
    point_clear(&distance);
    point_clear(&at);
    mpz_clear(times);
}

void rnd_points_make(const struct rnd_points_spec *spec, struct rnd_points *points)
{
    const struct curve *c = &curves[spec->curve];
    uint64_t state = spec->seed;
    points->curve = spec->curve;
    points->count = spec->count;
    points->point = calloc(spec->count + 1, sizeof *points->point);
    points->outside = calloc(spec->count + 1, sizeof *points->outside);
    points->times = rnd_integers(spec->count);
    if (!points->point || !points->outside)
        abort();
    for (size_t i = 0; i < spec->count; i++)
        point_init(&points->point[i]);
    if (spec->values == VAL_RANDOM)
        set_progression(points, rnd_next(&state), rnd_next(&state));
    else if (spec->values == VAL_SMALL)
        set_progression(points, 1, 1);
    else if (spec->values == VAL_ONE)
        set_progression(points, 1, 0);
    for (size_t i = 0; i < spec->count; i++) {
        uint64_t choice = rnd_below(&state, 4 * RND_OUTSIDE);
        if (spec->values == VAL_EDGES || (spec->values == VAL_SPARSE && choice > 3))
            set_edge(points, i, &state);
        if (spec->outside && choice < 2 * (uint64_t)c->noutside)
            set_outside(points, i, (choice % 2 ? -1 : 1) * (int)(choice / 2 + 1));
    }
}

void rnd_points_free(struct rnd_points *points)
{
    for (size_t i = 0; i < points->count; i++)
        point_clear(&points->point[i]);
    free(points->point);
    free(points->outside);
    rnd_integers_free(points->times, points->count);
}

/* ---- sums ---- */

static void get_scalar(mpz_t s, const struct rnd_job *job, const unsigned char *memory)
{
    if (job->scalar_form == GX_SCALAR_MONT) {
        rnd_get_mont(s, rnd_prime(job->field), memory);
        return;
    }
    rnd_get(s, memory, 32);
    if (job->scalar_bits)
        mpz_fdiv_r_2exp(s, s, job->scalar_bits);
}

static void sum(const struct rnd_job *job, const struct rnd_points *points,
                const unsigned char *scalars, struct rnd_point *result)
{
    const struct curve *c = &curves[points->curve];
    struct rnd_point part;
    mpz_t s, inside, outside[RND_OUTSIDE];
    mpz_inits(s, inside, NULL);
    for (int k = 0; k < RND_OUTSIDE; k++)
        mpz_init(outside[k]);
    point_init(&part);
    for (size_t i = 0; i < job->count; i++) {
        size_t at = job->first + i;
        int which = points->outside[at];
        get_scalar(s, job, scalars + 32 * i);
        if (which == 0)
            mpz_addmul(inside, s, points->times[at]);
        else if (which > 0)
            mpz_add(outside[which - 1], outside[which - 1], s);
        else
            mpz_sub(outside[-which - 1], outside[-which - 1], s);
    }
    generator_multiply(result, c, inside);
    for (int k = 0; k < c->noutside; k++) {
        point_set(&part, &c->outside[k]);
        if (mpz_sgn(outside[k]) < 0)
            point_negate(&part, c->f);
        mpz_abs(outside[k], outside[k]);
        point_multiply(&part, &part, outside[k], c->f);
        point_add(result, result, &part, c->f);
    }
    point_clear(&part);
    mpz_clears(s, inside, NULL);
    for (int k = 0; k < RND_OUTSIDE; k++)
        mpz_clear(outside[k]);
}

void rnd_oracle_msm(const struct rnd_job *job, const struct rnd_points *points,
                    const unsigned char *scalars, unsigned char *out)
{
    size_t bytes = rnd_point_bytes(points->curve, job->result_form);
    struct rnd_point result;
    point_init(&result);
    for (size_t i = 0; i < rnd_batch(job); i++) {
        sum(job, points, scalars + 32 * job->count * i, &result);
        rnd_encode(points->curve, job->result_form, &result, 0, out + bytes * i);
    }
    point_clear(&result);
}
