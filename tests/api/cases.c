/* SPDX-License-Identifier: Apache-2.0
 *
 * See cases.h.
 */
#include "api/cases.h"

#include "support/oracle.h"

struct job_case cases[CASES];

static void make_case(struct job_case *c, size_t i, struct oracle_rng *rng, size_t large,
                      size_t every)
{
    static const size_t sizes[] = {1, 7, 64, 0, 300, 33};
    c->field = gxt_fields[i % GXT_COUNT(gxt_fields)];
    c->op = gxt_ops[i * 5 % GXT_COUNT(gxt_ops)];
    if (!gx_op_exists(c->op, c->field))
        c->op = i & 1 ? GX_ADD : GX_MUL;
    c->n = i % 8 == 5 ? large : sizes[i % GXT_COUNT(sizes)];
    size_t element = gxt_element(c->field);
    for (int w = 0; w < 3; w++) {
        c->in[w] = gxt_alloc(c->n * element);
        oracle_fill(c->field, rng, c->in[w], c->n);
    }
    c->want = gxt_alloc(gxt_results(c->op, c->n) * element);
    oracle_run(c->op, c->field, c->n, c->want, c->in[0], c->in[1], c->in[2], 0);
    c->bad = i % every == 2 && gx_field_get_info(c->field)->limbs && c->n;
    if (c->bad)
        gxt_put_modulus(c->field, c->in[0] + c->n / 2 * element);
}

int make_cases(uint64_t seed, size_t large, size_t every)
{
    struct oracle_rng rng = {seed};
    int bad = 0;
    for (size_t i = 0; i < CASES; i++) {
        make_case(&cases[i], i, &rng, large, every);
        bad += cases[i].bad;
    }
    return bad ? 0 : -1;
}

int free_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < CASES; i++) {
        for (int w = 0; w < 3; w++)
            free(cases[i].in[w]);
        free(cases[i].want);
    }
    return 0;
}
