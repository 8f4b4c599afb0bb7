/* SPDX-License-Identifier: Apache-2.0
 *
 * Small files in the user's cache folder, that save work the next time: what drivers
 * compiled, what was measured. A file is only ever a hint: one that is missing, damaged,
 * of another machine or of another user counts as none.
 */
#ifndef GX_BASE_CACHE_H
#define GX_BASE_CACHE_H

#include <stdbool.h>

#include "base/instance.h"

#define GX_CACHE_KEY_BYTES  64
#define GX_CACHE_PATH_BYTES 4096 /* of any file, what its name needs included */

/* The folder of the files, which need not be there; false where there is none. Any thread. */
bool gx__cache_folder(const struct gx_instance *instance, char *path, size_t size);

/* Reads file `name` if it was written under the same key. On success *data is the
 * caller's, to be given to gx__free. Any thread. */
bool gx__cache_read(const struct gx_instance *instance, const char *name,
                    const uint8_t key[GX_CACHE_KEY_BYTES], void **data, size_t *size);

/* Replaces file `name` as a whole: who reads at the same time sees the old or the new.
 * False where it cannot be written, which harms nothing; true where no files are wanted. Any
 * thread, any process. */
bool gx__cache_write(const struct gx_instance *instance, const char *name,
                     const uint8_t key[GX_CACHE_KEY_BYTES], const void *data, size_t size);

#endif
