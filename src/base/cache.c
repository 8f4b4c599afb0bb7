/* SPDX-License-Identifier: Apache-2.0
 *
 * A cache file is a header followed by the data. The checksum covers both, so that truncated or
 * corrupted files are detected.
 */
#include "base/cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/os.h"

#define FILE_BYTES_MAX ((size_t)256 << 20)

struct header {
    char magic[8];
    uint32_t header_bytes; /* also identifies the byte order */
    uint32_t reserved;
    uint64_t data_bytes;
    uint64_t checksum; /* of the header with 0 here, then of the data */
    uint8_t key[GX_CACHE_KEY_BYTES];
};

static const char magic[8] = {'g', 'p', 'u', 'e', 'x', 'e', 'c', '1'};

/* FNV-1a over 64-bit words, the last one zero-padded; `data_bytes` distinguishes lengths. Protects
 * against accidents, not attackers: the directory belongs to the user. */
static uint64_t checksum(uint64_t sum, const void *data, size_t size)
{
    const char *bytes = data;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, size - i < 8 ? size - i : 8);
        sum = (sum ^ word) * 0x100000001b3u;
        sum ^= sum >> 32; /* otherwise high bits would never influence low ones */
    }
    return sum;
}

static uint64_t file_checksum(const struct header *header, const void *data)
{
    struct header h = *header;
    h.checksum = 0;
    return checksum(checksum(0xcbf29ce484222325u, &h, sizeof h), data, (size_t)h.data_bytes);
}

/* ---- where ---- */

static bool enabled(const struct gx_instance *instance)
{
    const char *asked = instance->config.cache_dir;
    return asked ? strcmp(asked, "none") != 0 : !instance->config.ignore_environment;
}

bool gx__cache_folder(const struct gx_instance *instance, char *path, size_t size)
{
    const char *asked = instance->config.cache_dir;
    int n = 0;
    if (!enabled(instance))
        return false;
    if (asked)
        n = snprintf(path, size, "%s", asked);
    for (const struct gx_os_place *p = gx__os_cache_places; !asked && !n && p->variable; p++) {
        const char *folder = gx__env(&instance->config, p->variable);
        if (folder && gx__os_is_absolute(folder)) /* as the XDG specification says */
            n = snprintf(path, size, "%s%s", folder, p->below);
    }
    return n > 0 && (size_t)n < size;
}

static bool file_path(const struct gx_instance *instance, const char *name, char *path, size_t size)
{
    if (!gx__cache_folder(instance, path, size))
        return false;
    size_t used = strlen(path);
    int n = snprintf(path + used, size - used, "/%s", name);
    return n > 0 && (size_t)n < size - used;
}

/* ---- bytes ---- */

static bool read_all(int fd, void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = read(fd, (char *)data + done, size - done);
        if (n <= 0 && !(n < 0 && errno == EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool write_all(int fd, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, (const char *)data + done, size - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* ---- reading ---- */

/* Whether it is a regular file of this user, with the size that its header states. */
static bool plausible(int fd, const struct header *h, const uint8_t *key)
{
    struct gx_os_stat st;
    return gx__os_stat_fd(fd, &st) && st.kind == GX_OS_FILE && st.mine &&
           !memcmp(h->magic, magic, sizeof magic) && h->header_bytes == sizeof *h &&
           !memcmp(h->key, key, GX_CACHE_KEY_BYTES) && h->data_bytes <= FILE_BYTES_MAX &&
           st.size == sizeof *h + h->data_bytes;
}

static bool read_file(const struct gx_instance *instance, int fd, const uint8_t *key, void **data,
                      size_t *size)
{
    struct header h;
    if (!read_all(fd, &h, sizeof h) || !plausible(fd, &h, key))
        return false;
    void *bytes = gx__alloc(&instance->config.allocator, (size_t)h.data_bytes);
    if (!bytes)
        return false;
    if (!read_all(fd, bytes, (size_t)h.data_bytes) || file_checksum(&h, bytes) != h.checksum) {
        gx__free(&instance->config.allocator, bytes);
        return false;
    }
    *data = bytes;
    *size = (size_t)h.data_bytes;
    return true;
}

bool gx__cache_read(const struct gx_instance *instance, const char *name,
                    const uint8_t key[GX_CACHE_KEY_BYTES], void **data, size_t *size)
{
    char path[GX_CACHE_PATH_BYTES];
    if (!file_path(instance, name, path, sizeof path))
        return false;
    int fd = gx__os_open(path, O_RDONLY | O_NONBLOCK, 0); /* do not block if it is a pipe */
    if (fd < 0)
        return false;
    bool ok = read_file(instance, fd, key, data, size);
    close(fd);
    return ok;
}

/* ---- writing ---- */

static bool write_file(const char *temporary, const struct header *h, const void *data)
{
    int fd = gx__os_open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return false;
    bool ok = write_all(fd, h, sizeof *h) && write_all(fd, data, (size_t)h->data_bytes);
    return close(fd) == 0 && ok;
}

/* Whether it is a regular file of this user. A link, a pipe or another user's file was not put
 * there by this code and is left alone. */
static bool may_replace(const char *path)
{
    struct gx_os_stat st;
    if (!gx__os_stat(path, false, &st))
        return errno == ENOENT;
    return st.kind == GX_OS_FILE && !st.link && st.mine;
}

bool gx__cache_write(const struct gx_instance *instance, const char *name,
                     const uint8_t key[GX_CACHE_KEY_BYTES], const void *data, size_t size)
{
    static _Atomic unsigned serial; /* makes temporary names unique within the process */
    char path[GX_CACHE_PATH_BYTES], temporary[GX_CACHE_PATH_BYTES + 48];
    if (!enabled(instance))
        return true;
    if (size > FILE_BYTES_MAX || !file_path(instance, name, path, sizeof path) ||
        !gx__os_make_folders(path) || !may_replace(path))
        return false;
    struct header h = {.header_bytes = sizeof h, .data_bytes = size};
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.key, key, sizeof h.key);
    h.checksum = file_checksum(&h, data);
    snprintf(temporary, sizeof temporary, "%s.%ld.%u", path, (long)getpid(),
             atomic_fetch_add(&serial, 1));
    bool ok = write_file(temporary, &h, data) && gx__os_rename(temporary, path);
    if (!ok)
        gx__os_unlink(temporary);
    return ok;
}
