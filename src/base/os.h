/* SPDX-License-Identifier: Apache-2.0
 *
 * What differs between operating systems: os_posix.c has Linux and macOS, os_windows.c Windows. The
 * library and the program use it; each has its own copy. Paths and other text are UTF-8 everywhere.
 * Functions that fail set errno unless they say otherwise.
 */
#ifndef GX_BASE_OS_H
#define GX_BASE_OS_H

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* For functions that take a format of printf, and its arguments from `first` on. */
#if defined(_WIN32) && !defined(__clang__)
#define GX_PRINTF(format_at, first) __attribute__((format(gnu_printf, format_at, first)))
#else
#define GX_PRINTF(format_at, first) __attribute__((format(printf, format_at, first)))
#endif

/* The one that is this system's. */
#if defined(_WIN32)
#define GX_OS_NAME(linux_name, macos_name, windows_name) windows_name
#elif defined(__APPLE__)
#define GX_OS_NAME(linux_name, macos_name, windows_name) macos_name
#else
#define GX_OS_NAME(linux_name, macos_name, windows_name) linux_name
#endif

/* ---- libraries ---- */

/* Once opened they stay: they have threads and thread-local data. A name without a folder is looked
 * for where the system keeps libraries, and on Windows first next to this one. NULL: not there, or
 * not a library; errno is not set. */
void *gx__os_library(const char *name);
/* The same if this process has it already. */
void *gx__os_library_loaded(const char *name);
/* NULL if there is none. */
void *gx__os_symbol(void *library, const char *name);
/* False in a program linked with -static. It can open a shared library, but the C library that
 * comes with that is a second one, in which drivers crash. */
bool gx__can_load_drivers(void);
/* Keeps the library that contains this function, for others that hold pointers to it. */
void gx__os_stay_loaded(void);

/* ---- threads ---- */

/* Sleeps unless *word differs from `seen`; may return early. */
void gx__os_wait(_Atomic uint32_t *word, uint32_t seen);
/* Changes *word and wakes up to `count` threads. */
void gx__os_wake(_Atomic uint32_t *word, uint32_t count);

/* Starts a thread with all signals blocked. */
bool gx__thread_start(pthread_t *thread, void *(*run)(void *), void *user);

/* For gx__os_cond_wait. */
void gx__os_cond_init(pthread_cond_t *cond);
/* Waits until this time of gx__now_ns (UINT64_MAX: forever). False: that time has come. */
bool gx__os_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns);

/* The time of gx__now_ns, from what drivers read of the same clock. */
uint64_t gx__os_ticks_ns(uint64_t ticks);

/* ---- the machine ---- */

uint32_t gx__cores(void);                    /* that this process may use */
uint64_t gx__os_memory(void);                /* bytes of the machine; 0: unknown */
uint64_t gx__os_memory_free(void);           /* bytes that may be allocated now; 0: unknown */
size_t gx__os_page(void);                    /* bytes */
size_t gx__os_l3(void);                      /* bytes of the last cache; 0: unknown */
void gx__os_cpu(char *name, size_t size);    /* "CPU" if unknown */
void gx__os_system(char *text, size_t size); /* name, version and machine */
bool gx__os_may_have_gpu(void);              /* false: no driver of a GPU has made a file */

/* Aligned memory for large arrays, or NULL; freed by gx__os_free only. */
void *gx__os_alloc(size_t bytes);
void gx__os_free(void *memory);

/* ---- the environment ---- */

/* NULL if it is unset. The value stays valid. */
const char *gx__os_env(const char *name);
/* NULL too if the process is privileged, and another user may have set the variable. */
const char *gx__os_env_secure(const char *name);

/* Where the user's cache is: below the folder that the first of these variables names. The last one
 * is {NULL, NULL}. */
struct gx_os_place {
    const char *variable, *below;
};
extern const struct gx_os_place gx__os_cache_places[];

/* ---- files ---- */

#if defined(_WIN32)
#define O_NONBLOCK 0
#define O_NOFOLLOW 0
#define O_NOCTTY   0
#endif

enum gx_os_kind { GX_OS_FILE, GX_OS_FOLDER, GX_OS_PIPE, GX_OS_TERMINAL, GX_OS_SOCKET, GX_OS_OTHER };

struct gx_os_stat {
    enum gx_os_kind kind; /* GX_OS_TERMINAL: any character device */
    bool link;            /* a symbolic link, which was not followed */
    bool mine;            /* belongs to this user */
    uint64_t size, links;
    uint64_t volume, file; /* equal for the same file; 0: unknown */
};

static inline bool gx__os_same(const struct gx_os_stat *a, const struct gx_os_stat *b)
{
    return a->file && a->file == b->file && (a->volume == b->volume || !a->volume || !b->volume);
}

/* As open, always binary and not inherited. */
int gx__os_open(const char *path, int flags, int mode);
/* As fopen, binary, for reading. */
FILE *gx__os_fopen(const char *path);
bool gx__os_stat_fd(int fd, struct gx_os_stat *stat);
bool gx__os_stat(const char *path, bool follow, struct gx_os_stat *stat);
/* Replaces `to`; others see the old or the new file. */
bool gx__os_rename(const char *from, const char *to);
bool gx__os_unlink(const char *path);
/* Makes the folders above a file, accessible to the user only. True if they exist then. */
bool gx__os_make_folders(const char *file);
/* Locks the file until it is closed; false, with EWOULDBLOCK, if another has done so. Contents can
 * be read meanwhile. */
bool gx__os_lock(int fd);
bool gx__os_is_absolute(const char *path);
#if defined(_WIN32)
/* The path as the functions of Windows take it, of any length; NULL: errno says why. To be freed.
 */
wchar_t *gx__os_wide_path(const char *path);
#endif

/* Text that is written with stdio and kept in memory. */
struct gx_os_text {
    FILE *file;
    char *text; /* after gx__os_text_close, even if that failed: to be freed by the caller */
    size_t size;
};
bool gx__os_text_open(struct gx_os_text *text);
/* False if not all of it could be kept. */
bool gx__os_text_close(struct gx_os_text *text);

#endif
