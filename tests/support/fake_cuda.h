/* SPDX-License-Identifier: Apache-2.0
 *
 * What a test can set and read in the substitute for the CUDA driver (fake_cuda.c).
 */
#ifndef GXT_SUPPORT_FAKE_CUDA_H
#define GXT_SUPPORT_FAKE_CUDA_H

#include <stdbool.h>

#include "device/cuda/driver.h"

enum fake_kind {
    FAKE_DEVICE_MEMORY,
    FAKE_HOST_MEMORY,
    FAKE_REGISTERED,
    FAKE_STREAM,
    FAKE_EVENT,
    FAKE_MODULE,
    FAKE_LINK,
    FAKE_KINDS
};

struct fake_cuda {
    /* settings */
    int version, devices, capability;
    CUresult init, retain,
        load;           /* what cuInit, cuDevicePrimaryCtxRetain, cuModuleLoadData return */
    bool no_counters;   /* the device cannot write values in streams */
    unsigned fail_at;   /* the number of a call that can fail, from 1; 0: none */
    CUresult fail_with; /* if it means a lost device, all calls fail from then on */
    bool hold;          /* streams stand still until it is cleared */
    bool whole;         /* copies copy everything; otherwise no more than the test looks at */
    /* counters */
    unsigned calls;                  /* that can fail */
    unsigned every;                  /* calls, those that cannot fail included */
    unsigned links, launches, early; /* the latter: of those, before others end */
    int contexts, current;           /* retained, and pushed */
    int live[FAKE_KINDS];            /* objects */
    CUstream watched;                /* set by the test: a stream of its own, and ... */
    int watching;                    /* ... calls that made others wait for it */
    int endless;                     /* calls that would wait for a stream that stands still */
    int left; /* that were alive when a context that was not lost was released */
};

#define FAKE_CUDA_SYMBOL "fake_cuda_state"

#endif
