/* SPDX-License-Identifier: Apache-2.0
 *
 * os.h for Linux and macOS.
 */
#include "base/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <glob.h>
#include <link.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#else
#include <sys/sysctl.h>
#endif

/* ---- libraries ---- */

void *gx__os_library(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

void *gx__os_library_loaded(const char *name)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    if (library)
        dlclose(library); /* it stays, because someone else has it */
    return library;
}

void *gx__os_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

#if defined(__linux__)
static int has_loader(struct dl_phdr_info *program, size_t size, void *found)
{
    (void)size;
    for (size_t i = 0; i < program->dlpi_phnum; i++)
        if (program->dlpi_phdr[i].p_type == PT_INTERP)
            *(bool *)found = true;
    return 1; /* only the first, which is the program itself */
}
#endif

bool gx__can_load_drivers(void)
{
#if defined(__linux__)
    bool found = false;
    dl_iterate_phdr(has_loader, &found);
    return found;
#else
    return true;
#endif
}

void gx__os_stay_loaded(void)
{
    static const char here;
    Dl_info ours;
    if (dladdr(&here, &ours))
        dlopen(ours.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* ---- threads ---- */

#if defined(__linux__)

void gx__os_wait(_Atomic uint32_t *word, uint32_t seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

void gx__os_wake(_Atomic uint32_t *word, uint32_t count)
{
    atomic_fetch_add(word, 1);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

#else

/* All sleepers share one condition, and those that are not meant sleep again. */
static pthread_mutex_t words_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t words_changed = PTHREAD_COND_INITIALIZER;

void gx__os_wait(_Atomic uint32_t *word, uint32_t seen)
{
    pthread_mutex_lock(&words_lock);
    while (atomic_load(word) == seen)
        pthread_cond_wait(&words_changed, &words_lock);
    pthread_mutex_unlock(&words_lock);
}

void gx__os_wake(_Atomic uint32_t *word, uint32_t count)
{
    (void)count;
    pthread_mutex_lock(&words_lock);
    atomic_fetch_add(word, 1);
    pthread_cond_broadcast(&words_changed);
    pthread_mutex_unlock(&words_lock);
}

#endif

bool gx__thread_start(pthread_t *thread, void *(*run)(void *), void *user)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = !pthread_create(thread, NULL, run, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void gx__os_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
#if defined(__linux__)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
}

bool gx__os_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
    if (until_ns == UINT64_MAX)
        return !pthread_cond_wait(cond, lock);
#if defined(__linux__)
    struct timespec until = timespec_of(until_ns);
    return !pthread_cond_timedwait(cond, lock, &until);
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    struct timespec left = timespec_of(until_ns > now ? until_ns - now : 0);
    return !pthread_cond_timedwait_relative_np(cond, lock, &left);
#endif
}

uint64_t gx__os_ticks_ns(uint64_t ticks)
{
    return ticks;
}

/* ---- the machine ---- */

uint32_t gx__cores(void)
{
#if defined(__linux__)
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set))
        return (uint32_t)CPU_COUNT(&set);
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN); /* more than such a set can hold */
    return online > 1 ? (uint32_t)online : 1;
}

uint64_t gx__os_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes : 0;
}

/* A number from the line of a file that begins with `name`; UINT64_MAX if there is none. */
static uint64_t read_number(const char *path, const char *name)
{
    FILE *file = fopen(path, "r");
    char line[128];
    uint64_t value = UINT64_MAX;
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name)) &&
            sscanf(line + strlen(name), "%" SCNu64, &value) == 1)
            break;
    if (file)
        fclose(file);
    return value;
}

uint64_t gx__os_memory_free(void)
{
    uint64_t kib = read_number("/proc/meminfo", "MemAvailable:");
    uint64_t most = read_number("/sys/fs/cgroup/memory.max", "");
    uint64_t used = read_number("/sys/fs/cgroup/memory.current", "");
    uint64_t free = kib < UINT64_MAX / 1024 ? kib * 1024 : 0;
    if (most != UINT64_MAX && used != UINT64_MAX) {
        uint64_t left = most > used ? most - used : 0;
        free = !free || left < free ? left : free;
    }
    return free;
}

size_t gx__os_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

size_t gx__os_l3(void)
{
#ifdef _SC_LEVEL3_CACHE_SIZE
    long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return l3 > 0 ? (size_t)l3 : 0;
#else
    return 0;
#endif
}

void gx__os_cpu(char *name, size_t size)
{
    snprintf(name, size, "CPU");
#if defined(__APPLE__)
    sysctlbyname("machdep.cpu.brand_string", name, &size, NULL, 0);
#else
    FILE *f = fopen("/proc/cpuinfo", "r");
    if (!f)
        return;
    char line[256];
    while (fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');
        if (!strncmp(line, "model name", 10) && value && value[1] == ' ') {
            value[strcspn(value, "\n")] = 0;
            snprintf(name, size, "%s", value + 2);
            break;
        }
    }
    fclose(f);
#endif
}

void gx__os_system(char *text, size_t size)
{
    struct utsname u;
    if (uname(&u))
        snprintf(text, size, "unknown");
    else
        snprintf(text, size, "%.40s %.60s %.20s", u.sysname, u.release, u.machine);
}

bool gx__os_may_have_gpu(void)
{
#if defined(__linux__)
    /* Without its render node a GPU of /dev/dri only shows pictures. dxg: WSL; kgsl: Adreno. */
    static const char *const files[] = {"/dev/dri/renderD*", "/dev/nvidia*", "/dev/nvhost*",
                                        "/dev/dxg",          "/dev/mali*",   "/dev/kgsl*"};
    bool found = false;
    for (size_t i = 0; i < sizeof files / sizeof *files && !found; i++) {
        glob_t paths = {0};
        found = glob(files[i], GLOB_NOSORT, NULL, &paths) != GLOB_NOMATCH;
        globfree(&paths);
    }
    return found;
#else
    return true;
#endif
}

void *gx__os_alloc(size_t bytes)
{
    size_t huge = (size_t)2 << 20, align = bytes >= huge ? huge : 64;
    if (bytes > SIZE_MAX - huge)
        return NULL;
    size_t whole = (bytes + align - 1) / align * align;
    void *memory = aligned_alloc(align, whole ? whole : align);
#ifdef MADV_HUGEPAGE
    if (memory && align == huge)
        madvise(memory, whole, MADV_HUGEPAGE);
#endif
    return memory;
}

void gx__os_free(void *memory)
{
    free(memory);
}

/* ---- the environment ---- */

const char *gx__os_env(const char *name)
{
    return getenv(name);
}

const char *gx__os_env_secure(const char *name)
{
#if defined(__GLIBC__)
    return secure_getenv(name);
#else /* the same, except for capabilities */
    return getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
#endif
}

const struct gx_os_place gx__os_cache_places[] = {
    {"XDG_CACHE_HOME", "/gpuexec"},
    {"HOME", GX_OS_NAME("/.cache/gpuexec", "/Library/Caches/gpuexec", NULL)},
    {NULL, NULL}};

/* ---- files ---- */

int gx__os_open(const char *path, int flags, int mode)
{
    return open(path, flags | O_CLOEXEC, mode);
}

FILE *gx__os_fopen(const char *path)
{
    return fopen(path, "rb");
}

static enum gx_os_kind kind_of(mode_t mode)
{
    return S_ISREG(mode)    ? GX_OS_FILE
           : S_ISDIR(mode)  ? GX_OS_FOLDER
           : S_ISFIFO(mode) ? GX_OS_PIPE
           : S_ISCHR(mode)  ? GX_OS_TERMINAL
           : S_ISSOCK(mode) ? GX_OS_SOCKET
                            : GX_OS_OTHER;
}

static bool fill(bool ok, const struct stat *st, struct gx_os_stat *out)
{
    if (ok)
        *out = (struct gx_os_stat){.kind = kind_of(st->st_mode),
                                   .link = S_ISLNK(st->st_mode),
                                   .mine = st->st_uid == geteuid(),
                                   .size = st->st_size > 0 ? (uint64_t)st->st_size : 0,
                                   .links = (uint64_t)st->st_nlink,
                                   .volume = (uint64_t)st->st_dev,
                                   .file = (uint64_t)st->st_ino};
    return ok;
}

bool gx__os_stat_fd(int fd, struct gx_os_stat *out)
{
    struct stat st;
    return fill(!fstat(fd, &st), &st, out);
}

bool gx__os_stat(const char *path, bool follow, struct gx_os_stat *out)
{
    struct stat st;
    return fill(!(follow ? stat(path, &st) : lstat(path, &st)), &st, out);
}

bool gx__os_rename(const char *from, const char *to)
{
    return !rename(from, to);
}

bool gx__os_unlink(const char *path)
{
    return !unlink(path);
}

bool gx__os_make_folders(const char *file)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s", file) >= sizeof path)
        return false;
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdir(path, 0700) && errno != EEXIST)
            return false;
        *slash = '/';
    }
    return true;
}

bool gx__os_lock(int fd)
{
    return !flock(fd, LOCK_EX | LOCK_NB);
}

bool gx__os_is_absolute(const char *path)
{
    return path[0] == '/';
}

bool gx__os_text_open(struct gx_os_text *text)
{
    *text = (struct gx_os_text){0};
    text->file = open_memstream(&text->text, &text->size);
    return text->file != NULL;
}

bool gx__os_text_close(struct gx_os_text *text)
{
    return !fclose(text->file);
}
