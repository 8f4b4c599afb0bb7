/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the tests of the CUDA device on a substitute for the driver (support/fake_cuda.c): the
 * device, a table of few kernels, and a run that uses everything once.
 */
#ifndef GX_TESTS_DEVICE_CUDA_RUN_H
#define GX_TESTS_DEVICE_CUDA_RUN_H

#include "support/harness.h"

#include "device/cuda/cuda.h"
#include "support/fake_cuda.h"

#define WORDS 1000u

extern struct gx_instance instance;
extern struct gx_device device;
extern struct fake_cuda *fake;
extern struct cu_fn fn; /* the driver as a caller knows it */
extern struct gx_error error;
extern struct cu_kernels all_kernels; /* those of the library */

/* Loads the driver; the setup of the group of tests. */
int prepare(void **state);

/* Each test begins with it. */
void set_up(void);
void open_it(void);
void close_it(void);
void expect_nothing_left(void);

/* Opens the device, runs, and closes it. */
gx_status run_all(void);

#endif
