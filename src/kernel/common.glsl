/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by all kernels: the words of the language they are compiled as, GLSL or CUDA, and the
 * index of this invocation. interface.h explains the rest.
 */
#include "interface.h"
#ifdef __CUDA__
#include "prelude.cuh"
#else
#include "prelude.glsl"
#endif

/* Of this workgroup, and of this invocation, over the two dimensions of a dispatch. */
FUNCTION u32 first_index() { return (GROUP_Y * GROUPS_X + GROUP_X) * GROUP_SIZE; }
FUNCTION u32 own_index() { return first_index() + LOCAL_INDEX; }
