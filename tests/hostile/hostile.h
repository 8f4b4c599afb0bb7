/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that nobody should register, for a device named on the command line (hostile.c).
 */
#ifndef GX_TESTS_HOSTILE_H
#define GX_TESTS_HOSTILE_H

#include "api/registered_kernels.h"

/* What gpuexec.h and doc/kernels.md promise. In every case: a status, a message with each failure,
 * and a context that goes on. */
enum promise {
    REFUSED,  /* gx_op_register returns GX_ERR_INVALID */
    SURVIVES, /* the code is valid, or its compiler must say that it is not: the process lives */
    NO_LIMIT  /* invalid code, or one that leaves its memory: a driver may end the process */
};

struct hostile {
    char name[64];
    gx_kernel_params desc;
    enum registered_kernel job; /* whose operands it is run with */
    enum promise promise;
};

typedef void (*hostile_fn)(void *user, const struct hostile *h);

/* Each case in turn; `mutants` of each valid module. */
void hostile_spirv(hostile_fn visit, void *user, unsigned mutants);
void hostile_ptx(hostile_fn visit, void *user);

#endif
