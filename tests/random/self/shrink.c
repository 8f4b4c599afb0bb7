/* SPDX-License-Identifier: Apache-2.0
 *
 * Shrinking, with a failure that is known: no program runs. What remains is what the failure needs.
 */
#include <string.h>

#include "random/watch.h"
#include "support/harness.h"

static const char large[] =
    "context device=cpu,sim:desktop,ref cpumask=portable policy=throughput threads=3 counted=1\n"
    "  call how=ticket device=ref wait=poll\n"
    "    job op=mul field=bls12-381-fr n=90\n"
    "      a values=random seed=7\n"
    "context device=ref,fault:oom@12:sim:desktop dispatch-elems=700 device-memory=65536\n"
    "  call device=ref estimate=1\n"
    "    job op=sum field=bn254-fq n=17\n"
    "  call how=ticket device=fault:oom@12:sim:desktop path=device-local wait=any cancel=all\n"
    "    job op=msm field=bn254-fr n=40 count=40 result-form=xy-plain\n"
    "      a values=edges seed=3\n"
    "      points curve=bn254-g1 count=49 form=xy-plain values=random seed=9 read=xy-mont\n"
    "    job op=ntt field=bls12-381-fr n=688 log2-n=4 ntt-flags=14 shift=one domain-seed=4\n"
    "      a memory=buffer offset=32 tight=1 values=random seed=706930 device=2\n"
    "      out memory=registered offset=5 values=small seed=95\n"
    "    job op=add field=bls12-381-fr n=688\n"
    "      a memory=same job=1 of=out\n"
    "      b values=one\n";

/* The device still holds a simulation, the transform five of 16, and its operand is in a buffer. */
static const char smallest[] = "context device=sim:desktop\n"
                               "  call\n"
                               "    job op=ntt field=bls12-381-fr n=80 log2-n=4\n"
                               "      a memory=buffer\n";

static unsigned runs;

static int is_culprit(const struct rnd_job *job)
{
    return job->op == GX_NTT && job->log2_n >= 4 && job->n >= 80 &&
           job->operand[0].memory == MEM_BUFFER;
}

static int has_culprit(const struct rnd_context *context)
{
    for (uint64_t i = 0; i < context->ncalls && strstr(context->device, "sim:"); i++)
        for (uint64_t j = 0; j < context->call[i].njobs; j++)
            if (is_culprit(&context->call[i].job[j]))
                return 1;
    return 0;
}

/* In place of watch.c. Programs without the culprit fail too, in another way. */
enum rnd_failure rnd_try(const struct rnd_program *program, struct rnd_board *board, int quiet)
{
    (void)quiet;
    runs++;
    for (uint64_t i = 0; i < program->ncontexts; i++)
        if (has_culprit(&program->context[i])) {
            snprintf(board->message, sizeof board->message, "job %u is refused", runs);
            return FAIL_STATUS;
        }
    snprintf(board->message, sizeof board->message, "nothing is wrong with call %u", runs);
    return program->ncontexts > 1 ? FAIL_NOTHING : FAIL_STATUS;
}

static struct rnd_program program;
static struct rnd_board board;

static void read_large(void)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fputs(large, file);
    rewind(file);
    assert_int_equal(rnd_parse(file, &program), 0);
    fclose(file);
    rnd_legalise(&program);
    assert_int_equal(rnd_try(&program, &board, 1), FAIL_STATUS);
    runs = 0;
}

static void only_what_fails_remains(void **state)
{
    char text[2000];
    FILE *file = tmpfile();
    (void)state;
    assert_non_null(file);
    read_large();
    unsigned tried = rnd_shrink(&program, FAIL_STATUS, &board, 3000);
    assert_int_equal(tried, runs);
    rnd_print(file, &program);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_string_equal(text, smallest);
}

/* It ends in time, with a program that still fails. */
static void tries_are_limited(void **state)
{
    (void)state;
    for (unsigned tries = 0; tries < 60; tries += 7) {
        read_large();
        assert_int_equal(rnd_shrink(&program, FAIL_STATUS, &board, tries), tries);
        assert_int_equal(runs, tries);
        rnd_try(&program, &board, 1);
        assert_non_null(strstr(board.message, "is refused"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_what_fails_remains),
                                       cmocka_unit_test(tries_are_limited)};
    return cmocka_run_group_tests_name("random shrink", tests, NULL, NULL);
}
