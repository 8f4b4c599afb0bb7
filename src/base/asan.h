/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells AddressSanitizer about bytes that are allocated and must not be used; nothing in other
 * builds.
 */
#ifndef GX_BASE_ASAN_H
#define GX_BASE_ASAN_H

#if defined(__SANITIZE_ADDRESS__)
#define GX_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GX_ASAN 1
#endif
#endif

#ifdef GX_ASAN
#include <sanitizer/asan_interface.h>
#define gx__forbid(at, bytes) ASAN_POISON_MEMORY_REGION(at, bytes)
#define gx__permit(at, bytes) ASAN_UNPOISON_MEMORY_REGION(at, bytes)
#else
#define gx__forbid(at, bytes) ((void)(at), (void)(bytes))
#define gx__permit(at, bytes) ((void)(at), (void)(bytes))
#endif

#endif
