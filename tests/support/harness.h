/* SPDX-License-Identifier: Apache-2.0
 *
 * Included by every test program: cmocka and its prerequisites, the public header, fast random
 * elements, and opening a context or failing. Expected values come from oracle.h; nothing here
 * computes any.
 */
#ifndef GX_TESTS_SUPPORT_HARNESS_H
#define GX_TESTS_SUPPORT_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "field/field.h"
#include "gpuexec.h"
#include "op/op.h"

#define GXT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* All of them, in the order of their numbers; operations without those that take parameters. */
extern const gx_field gxt_fields[GX_FIELD_END - 1];
#define GXT_ONE_PLAIN(symbol, value, name, operands, words, shape, ...)                            \
    +(GX_SHAPE_##shape == GX_SHAPE_ELEMENTWISE || GX_SHAPE_##shape == GX_SHAPE_REDUCTION)
enum { GXT_OPS = GX__OP_LIST(GXT_ONE_PLAIN) };
extern const gx_op gxt_ops[GXT_OPS];

/* Those among the operations that give one result. */
#define GXT_ONE_REDUCTION(symbol, value, name, operands, words, shape, ...)                        \
    +(GX_SHAPE_##shape == GX_SHAPE_REDUCTION)
enum { GXT_REDUCTIONS = GX__OP_LIST(GXT_ONE_REDUCTION) };
extern const gx_op gxt_reductions[GXT_REDUCTIONS];

/* GX_TEST_EFFORT=small: for sanitizers and emulators. */
int gxt_small(void);

/* The Vulkan device under test: lavapipe, Mesa's software driver, or the one whose description
 * contains GX_TEST_VULKAN. Fails the test if there is none, unless GX_TEST_NO_VULKAN says that
 * there cannot be one: a run without it tests too little to pass. */
const char *gxt_vulkan(void);

/* "cuda:0". GX_TEST_CUDA says whose: the path of a library is a substitute for the driver, which
 * runs kernels as C; anything else is the real one. If it is set and there is no such device, the
 * test fails; if it is not, NULL where there is none. */
const char *gxt_cuda(void);
/* Whether it is a substitute's: every element costs much. */
int gxt_cuda_emulated(void);

/* The WebGPU devices under test: one over Vulkan, one over OpenGL. Fails the test if one of them is
 * missing; 0 only if GX_TEST_NO_WEBGPU says that there can be none. */
#define GXT_WEBGPU 2
size_t gxt_webgpu(const char *names[GXT_WEBGPU]);

/* The GPU given to the test program as an argument, otherwise that of gxt_vulkan. */
void gxt_choose_gpu(int argc, char **argv);
const char *gxt_gpu(void);
/* Adds the GPUs under test to the names: that of the argument, otherwise all. Returns how many. */
#define GXT_GPUS (2 + GXT_WEBGPU)
size_t gxt_gpus(const char *names[GXT_GPUS]);
/* Whether there was an argument: it is enough to test that device. */
int gxt_one_gpu(void);

/* Whether a GPU has memory shared by kernels and host, and can import host memory. WebGPU has
 * neither, and copies everything, whatever path is requested. */
int gxt_shares_memory(const char *device);

/* Of the system (system_posix.c, system_windows.c): the file of this program, how many threads it
 * has, and whether the one with this number, from gettid, waits for something. */
void gxt_own_path(char *path, size_t size);
size_t gxt_threads(void);
int gxt_is_asleep(int id);

/* Makes the files of tests/machines available in the working directory, so that "sim:desktop" is a
 * device. */
void gxt_enter_machines(void);

/* Part of a config: enables validation, and prints and counts its messages. */
void gxt_watch(gx_config *config);
/* Number of messages so far, in this process. */
unsigned gxt_complaints(void);

/* A small random generator; never returns the same state twice. */
uint64_t gxt_next(uint64_t *state);
void gxt_bytes(uint64_t *state, void *out, size_t bytes);

size_t gxt_element(gx_field field);
/* The operation exists for the field, and out has a result for each element. */
int gxt_elementwise(gx_op op, gx_field field);
/* Elements of the output of a job over n. */
size_t gxt_results(gx_op op, size_t n);
/* Random elements below the modulus (f32: random small whole numbers, exact sums). */
void gxt_fill(uint64_t *state, gx_field field, void *out, size_t n);
/* A random point of the whole curve, not only of its subgroup: x, y in Montgomery form. */
void gxt_any_point(uint64_t *state, gx_curve curve, uint64_t *xy);
/* The modulus itself, the least element that is not canonical. */
void gxt_put_modulus(gx_field field, void *element);

/* Allocates memory, or fails the test. */
void *gxt_alloc(size_t bytes);

/* Opens a context, or fails the test. NULL: no settings. */
gx_ctx *gxt_open(const gx_config *config);
/* Removes device settings from the environment that would change the meaning of a test. */
void gxt_clear_environment(void);

/* A report with room for candidates, valid until the thread has requested 64 more. */
gx_report gxt_report(void);
void gxt_reports(gx_report *reports, size_t count);
/* The same with everything that the library is to write filled with a byte. */
void gxt_spoil(gx_report *reports, size_t count, int byte);

/* A job over n elements; operands that the operation does not have are omitted. */
gx_job gxt_job(gx_op op, gx_field field, size_t n, const void *a, const void *b, const void *c,
               void *out);
/* Runs one job on the named device (NULL: the context's). */
gx_status gxt_run(gx_ctx *ctx, const gx_job *job, const char *device, gx_report *report);
/* Multiples of one point, or of the generator (NULL), on "cpu", as GX_POINT_XY_MONT: a job of
 * GX_MSM with sums of one point. The scalars are plain. */
gx_status gxt_multiply(gx_ctx *ctx, gx_curve curve, const void *base, const void *scalars, size_t n,
                       void *out);

#endif
