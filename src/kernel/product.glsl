/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements, and the product that the module is built with.
 */
#include "prime.glsl"
#ifdef __CUDA__
#include "mul_ptx.cuh"
#elif INT64
#include "mul64.glsl"
#else
#include "mul32.glsl"
#endif
