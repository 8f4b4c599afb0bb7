/* SPDX-License-Identifier: Apache-2.0
 *
 * What the suites of transforms share: their devices, domains on each of them, and one job with
 * all that must hold for it beside its result.
 */
#ifndef GX_TESTS_CONFORMANCE_NTT_TARGETS_H
#define GX_TESTS_CONFORMANCE_NTT_TARGETS_H

#include "conformance/targets.h"
#include "support/oracle_ntt.h"

enum { NTT_ELEMENT = 32, NTT_SLOW_LOG2 = 16 };

extern const gx_field ntt_fields[2];

/* Default root and shift, as large as the field allows; the same for up to 2^10 elements; a root
 * and a shift that are no library's. */
enum ntt_domain { WIDE_DOMAIN, TEN_DOMAIN, OWN_DOMAIN, NTT_DOMAINS };
enum { TEN_LOG2 = 10, OWN_LOG2 = 17 };

struct ntt_shape {
    gx_field field;
    uint32_t log2_n, log2_pad, flags; /* GX_NTT_* */
    size_t batch;
    enum ntt_domain domain;
    int in_place;
    uint32_t job_flags;
};

/* Every tier of the CPU and every GPU there is, or the WebGPU devices alone; `most` elements. */
void ntt_open_targets(size_t most);
/* The last test. */
void ntt_close_targets(void **state);

struct oracle_ntt ntt_oracle(const struct ntt_shape *s);
const gx_domain *ntt_domain(const struct target *t, const struct ntt_shape *s);

/* The shape is too much for the target. */
int ntt_too_large(const struct target *t, const struct ntt_shape *s);

/* The inputs of all jobs: `most` elements, for the test to fill. */
extern unsigned char *ntt_data;

/* Runs the transform of ntt_data. Fails the test unless it succeeds and writes the output and
 * nothing else. The result stays until the next call. */
const unsigned char *ntt_run(const struct target *t, const struct ntt_shape *s);

/* What went wrong where. */
void ntt_tell(const struct target *t, const struct ntt_shape *s, const char *what);
/* Element i of the result is this one. */
void ntt_expect_element(const struct target *t, const struct ntt_shape *s, size_t i,
                        const unsigned char *got, const unsigned char *want);
/* The result is these elements. */
void ntt_expect(const struct target *t, const struct ntt_shape *s, const unsigned char *got,
                const unsigned char *want);

#endif
