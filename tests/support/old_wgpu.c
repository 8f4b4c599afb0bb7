/* SPDX-License-Identifier: Apache-2.0
 *
 * wgpu-native in another version: all the functions that the WebGPU device looks for; it may call
 * only the one that returns the version.
 */
#include "device/webgpu/webgpu.h"

#define OLD_VERSION 0x18000300u /* 24.0.3.0 */

#define X(name)                                                                                    \
    uint32_t old_##name(void) __asm__("wgpu" #name);                                               \
    uint32_t old_##name(void)                                                                      \
    {                                                                                              \
        return OLD_VERSION;                                                                        \
    }
WG_FUNCTIONS(X)
#undef X
