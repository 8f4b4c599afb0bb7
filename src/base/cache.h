/* SPDX-License-Identifier: Apache-2.0
 *
 * Small files in the user's cache directory that save work next time: code compiled by drivers, and
 * measurements. A file is only a hint: one that is missing, damaged, or from another machine or
 * user is ignored.
 */
#ifndef GX_BASE_CACHE_H
#define GX_BASE_CACHE_H

#include <stdbool.h>

#include "base/instance.h"

#define GX_CACHE_KEY_BYTES  64
#define GX_CACHE_PATH_BYTES 4096 /* of any path, including the file name */

/* The cache directory, which need not exist; false if there is none. Any thread. */
bool gx__cache_folder(const struct gx_instance *instance, char *path, size_t size);

/* Reads file `name` if it was written under the same key. On success the caller owns *data and
 * frees it with gx__free. Any thread. */
bool gx__cache_read(const struct gx_instance *instance, const char *name,
                    const uint8_t key[GX_CACHE_KEY_BYTES], void **data, size_t *size);

/* Replaces file `name` atomically: concurrent readers see the old or the new one. False if it
 * cannot be written, which does no harm; true if files are disabled. Any thread, any process. */
bool gx__cache_write(const struct gx_instance *instance, const char *name,
                     const uint8_t key[GX_CACHE_KEY_BYTES], const void *data, size_t size);

#endif
