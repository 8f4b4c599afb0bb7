/* SPDX-License-Identifier: Apache-2.0
 *
 * What the suites of multi-scalar multiplication share: their devices, and one job with all that
 * must hold for it beside its result.
 */
#ifndef GX_TESTS_CONFORMANCE_MSM_TARGETS_H
#define GX_TESTS_CONFORMANCE_MSM_TARGETS_H

#include "conformance/targets.h"
#include "support/known.h"

enum { MSM_CURVES = 4 };

#define MSM_CURVE(curve) (1u << (curve))
/* Of devices whose kernels take long to compile, or to run: WebGPU's over Vulkan and over OpenGL,
 * whose source is the same, and CUDA's where it is emulated. */
struct msm_curves {
    uint32_t over_vulkan, over_gl, emulated;
};
/* Both tiers of the CPU and every GPU there is, or the WebGPU devices alone, or the CUDA device. */
void msm_open_targets(const struct msm_curves *curves);
/* The last test. */
void msm_close_targets(void **state);

/* Whether the target has the curve: BLS12-381 G1 it must have. A context to make points in. */
int msm_has(const struct target *t, gx_curve curve);
gx_ctx *msm_any(void);

/* Runs `batch` of the job on the target; want: the results, GX_POINT_XY_MONT. Fails the test unless
 * they are right, in p->result_form, and nothing else was written. */
void msm_check(const struct target *t, gx_curve curve, const gx_msm_params *p, size_t batch,
               const void *scalars, const void *want, const char *what);

/* The results as GX_POINT_XY_MONT, for the caller to free. */
unsigned char *msm_want(const struct known *k, const gx_msm_params *p, size_t batch,
                        const void *scalars);
/* msm_check with a handle of all of k. */
void msm_check_known(const struct target *t, const struct known *k, const gx_msm_params *p,
                     size_t batch, const void *scalars, const void *want, const char *what);

#endif
