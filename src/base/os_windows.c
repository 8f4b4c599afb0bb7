/* SPDX-License-Identifier: Apache-2.0
 *
 * os.h for Windows, from version 8 on. Paths are converted here, so that neither the code page nor
 * the length limit of the older functions applies.
 */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "base/os.h"

#include <errno.h>
#include <io.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <winternl.h>

enum {
    PATH_UNITS = 4096 + 8,  /* of a path in UTF-16, with its prefix */
    SHORT_UNITS = 240,      /* longer ones need the prefix; folders have a lower limit than files */
    REPLACE_TRIES_MS = 100, /* as long as someone else has the file open */
};

/* ---- text ---- */

static bool widen(const char *text, WCHAR *out, int units)
{
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out, units))
        return true;
    errno = GetLastError() == ERROR_INSUFFICIENT_BUFFER ? ENAMETOOLONG : EILSEQ;
    return false;
}

static bool narrow(const WCHAR *text, char *out, size_t size)
{
    return WideCharToMultiByte(CP_UTF8, 0, text, -1, out, (int)size, NULL, NULL) != 0;
}

/* A path as the wide functions take it: a long one becomes absolute, with the prefix that lifts the
 * limit. */
static bool wide_path(const char *path, WCHAR out[PATH_UNITS])
{
    static const WCHAR plain[] = L"\\\\?\\", network[] = L"\\\\?\\UNC\\";
    WCHAR whole[PATH_UNITS];
    if (!widen(path, out, PATH_UNITS))
        return false;
    if (wcslen(out) < SHORT_UNITS || !wcsncmp(out, plain, 4))
        return true;
    DWORD length = GetFullPathNameW(out, PATH_UNITS - 8, whole, NULL);
    if (!length || length >= PATH_UNITS - 8) {
        errno = ENAMETOOLONG;
        return false;
    }
    bool share = whole[0] == L'\\' && whole[1] == L'\\';
    wcscpy(out, share ? network : plain);
    wcscat(out, share ? whole + 2 : whole);
    return true;
}

wchar_t *gx__os_wide_path(const char *path)
{
    WCHAR wide[PATH_UNITS];
    return wide_path(path, wide) ? _wcsdup(wide) : NULL;
}

static int error_number(DWORD error)
{
    static const struct {
        DWORD windows;
        int number;
    } known[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},
        {ERROR_PATH_NOT_FOUND, ENOENT},
        {ERROR_INVALID_NAME, ENOENT},
        {ERROR_BAD_PATHNAME, ENOENT},
        {ERROR_INVALID_DRIVE, ENOENT},
        {ERROR_BAD_NETPATH, ENOENT},
        {ERROR_ACCESS_DENIED, EACCES},
        {ERROR_SHARING_VIOLATION, EACCES},
        {ERROR_LOCK_VIOLATION, EWOULDBLOCK},
        {ERROR_IO_PENDING, EWOULDBLOCK},
        {ERROR_FILE_EXISTS, EEXIST},
        {ERROR_ALREADY_EXISTS, EEXIST},
        {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
        {ERROR_DISK_FULL, ENOSPC},
        {ERROR_HANDLE_DISK_FULL, ENOSPC},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
        {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
        {ERROR_WRITE_PROTECT, EROFS},
        {ERROR_CANT_RESOLVE_FILENAME, ELOOP},
        {ERROR_DIRECTORY, ENOTDIR},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].windows == error)
            return known[i].number;
    return EIO;
}

static bool failed(void)
{
    errno = error_number(GetLastError());
    return false;
}

/* ---- libraries ---- */

static HMODULE this_module(DWORD flags)
{
    static const char here;
    HMODULE module = NULL;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | flags,
                       (const WCHAR *)(const void *)&here, &module);
    return module;
}

/* The name in this library's folder. */
static bool beside(const WCHAR *name, WCHAR out[PATH_UNITS])
{
    DWORD length = GetModuleFileNameW(this_module(GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT),
                                      out, PATH_UNITS);
    WCHAR *slash = length && length < PATH_UNITS ? wcsrchr(out, L'\\') : NULL;
    if (!slash || (size_t)(slash + 1 - out) + wcslen(name) >= PATH_UNITS)
        return false;
    wcscpy(slash + 1, name);
    return true;
}

void *gx__os_library(const char *name)
{
    WCHAR wide[PATH_UNITS], whole[PATH_UNITS];
    HMODULE library = NULL;
    if (!widen(name, wide, PATH_UNITS))
        return NULL;
    if (strpbrk(name, "/\\:")) {
        DWORD length = GetFullPathNameW(wide, PATH_UNITS, whole, NULL);
        return length && length < PATH_UNITS
                   ? (void *)LoadLibraryExW(whole, NULL, LOAD_WITH_ALTERED_SEARCH_PATH)
                   : NULL;
    }
    if (beside(wide, whole))
        library = LoadLibraryExW(whole, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
    /* not the working folder, where anyone may have put something */
    return library ? (void *)library
                   : (void *)LoadLibraryExW(wide, NULL, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
}

void *gx__os_library_loaded(const char *name)
{
    WCHAR wide[PATH_UNITS];
    return widen(name, wide, PATH_UNITS) ? (void *)GetModuleHandleW(wide) : NULL;
}

void *gx__os_symbol(void *library, const char *name)
{
    FARPROC found = GetProcAddress(library, name);
    void *symbol;
    memcpy(&symbol, &found, sizeof symbol);
    return symbol;
}

bool gx__can_load_drivers(void)
{
    return true;
}

void gx__os_stay_loaded(void)
{
    this_module(GET_MODULE_HANDLE_EX_FLAG_PIN);
}

/* A library that is unloaded would leave its threads without code. The linker of other systems is
 * told so. */
__attribute__((constructor)) static void on_load(void)
{
    gx__os_stay_loaded();
}

/* ---- threads ---- */

void gx__os_wait(_Atomic uint32_t *word, uint32_t seen)
{
    WaitOnAddress((volatile void *)word, &seen, sizeof seen, INFINITE);
}

void gx__os_wake(_Atomic uint32_t *word, uint32_t count)
{
    atomic_fetch_add(word, 1);
    if (count == 1)
        WakeByAddressSingle((void *)word);
    else
        WakeByAddressAll((void *)word);
}

bool gx__thread_start(pthread_t *thread, void *(*run)(void *), void *user)
{
    return !pthread_create(thread, NULL, run, user);
}

void gx__os_cond_init(pthread_cond_t *cond)
{
    pthread_cond_init(cond, NULL);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* winpthreads has no condition variables on the monotonic clock, but takes times from now on. It
 * counts them in milliseconds, and may be early. */
bool gx__os_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns)
{
    if (until_ns == UINT64_MAX)
        return !pthread_cond_wait(cond, lock);
    for (uint64_t now; (now = now_ns()) < until_ns;) {
        uint64_t left = until_ns - now + 999999;
        struct timespec t = {.tv_sec = (time_t)(left / 1000000000u),
                             .tv_nsec = (long)(left % 1000000000u)};
        if (!pthread_cond_timedwait_relative_np(cond, lock, &t))
            return true;
    }
    return false;
}

/* The performance counter. */
uint64_t gx__os_ticks_ns(uint64_t ticks)
{
    LARGE_INTEGER per_second;
    QueryPerformanceFrequency(&per_second);
    uint64_t hz = (uint64_t)per_second.QuadPart;
    return ticks / hz * 1000000000u + ticks % hz * 1000000000u / hz;
}

/* ---- the machine ---- */

uint32_t gx__cores(void)
{
    DWORD_PTR process, system;
    if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system) && process)
        return (uint32_t)__builtin_popcountll(process);
    return GetActiveProcessorCount(ALL_PROCESSOR_GROUPS); /* threads in several groups */
}

uint64_t gx__os_memory(void)
{
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    return GlobalMemoryStatusEx(&memory) ? memory.ullTotalPhys : 0;
}

uint64_t gx__os_memory_free(void)
{
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    return GlobalMemoryStatusEx(&memory) ? memory.ullAvailPhys : 0;
}

size_t gx__os_page(void)
{
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

size_t gx__os_l3(void)
{
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION part[256];
    DWORD bytes = sizeof part;
    if (!GetLogicalProcessorInformation(part, &bytes))
        return 0;
    for (size_t i = 0; i < bytes / sizeof *part; i++)
        if (part[i].Relationship == RelationCache && part[i].Cache.Level == 3)
            return part[i].Cache.Size;
    return 0;
}

void gx__os_cpu(char *name, size_t size)
{
    WCHAR wide[128];
    DWORD bytes = sizeof wide;
    if (RegGetValueW(HKEY_LOCAL_MACHINE, L"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                     L"ProcessorNameString", RRF_RT_REG_SZ, NULL, wide, &bytes) ||
        !narrow(wide, name, size))
        snprintf(name, size, "CPU");
    for (size_t end = strlen(name); end && name[end - 1] == ' '; end--)
        name[end - 1] = 0;
}

void gx__os_system(char *text, size_t size)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    LONG(WINAPI * version)(OSVERSIONINFOW *) = NULL;
    const char *(*wine)(void) = NULL;
    OSVERSIONINFOW is = {.dwOSVersionInfoSize = sizeof is};
    void *found = gx__os_symbol(ntdll, "RtlGetVersion");
    memcpy(&version, &found, sizeof version);
    found = gx__os_symbol(ntdll, "wine_get_version"); /* figures from there are no one's Windows */
    memcpy(&wine, &found, sizeof wine);
    if (version)
        version(&is);
    snprintf(text, size, "Windows %lu.%lu.%lu%s%.20s %s", is.dwMajorVersion, is.dwMinorVersion,
             is.dwBuildNumber, wine ? " under Wine " : "", wine ? wine() : "",
#if defined(__aarch64__)
             "aarch64"
#else
             "x86_64"
#endif
    );
}

bool gx__os_may_have_gpu(void)
{
    return true;
}

void *gx__os_alloc(size_t bytes)
{
    return _aligned_malloc(bytes ? bytes : 1, bytes >= 65536 ? 65536 : 64);
}

void gx__os_free(void *memory)
{
    _aligned_free(memory);
}

/* ---- the environment ---- */

/* The C library's copy is in the code page of the system, so values are converted, and kept: a
 * caller may hold them. There are as many as there are different ones. */
const char *gx__os_env(const char *name)
{
    static struct value {
        struct value *next;
        char text[];
    } * values;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    WCHAR wide_name[256], *wide;
    DWORD units = 0;
    if (!widen(name, wide_name, 256) || !(units = GetEnvironmentVariableW(wide_name, NULL, 0)))
        return NULL;
    size_t size = 3 * (size_t)units + 1;
    struct value *value = malloc(sizeof *value + size);
    wide = malloc(units * sizeof *wide);
    bool ok = value && wide && GetEnvironmentVariableW(wide_name, wide, units) < units &&
              narrow(wide, value->text, size);
    free(wide);
    if (!ok) {
        free(value);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    struct value *known = values;
    while (known && strcmp(known->text, value->text) != 0)
        known = known->next;
    if (known) {
        free(value);
    } else {
        value->next = values;
        values = known = value;
    }
    pthread_mutex_unlock(&lock);
    return known->text;
}

const char *gx__os_env_secure(const char *name)
{
    return gx__os_env(
        name); /* a program with more rights is started in an environment of its own */
}

const struct gx_os_place gx__os_cache_places[] = {
    {"XDG_CACHE_HOME", "/gpuexec"}, {"LOCALAPPDATA", "/gpuexec/cache"}, {NULL, NULL}};

/* ---- files ---- */

enum { SHARE = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };

int gx__os_open(const char *path, int flags, int mode)
{
    int way = flags & (O_RDONLY | O_WRONLY | O_RDWR);
    DWORD access = way == O_RDONLY   ? GENERIC_READ
                   : way == O_WRONLY ? GENERIC_WRITE
                                     : GENERIC_READ | GENERIC_WRITE;
    DWORD how = flags & O_CREAT && flags & O_EXCL    ? CREATE_NEW
                : flags & O_CREAT && flags & O_TRUNC ? CREATE_ALWAYS
                : flags & O_CREAT                    ? OPEN_ALWAYS
                : flags & O_TRUNC                    ? TRUNCATE_EXISTING
                                                     : OPEN_EXISTING;
    WCHAR wide[PATH_UNITS];
    if (!wide_path(path, wide))
        return -1;
    /* others may replace or remove the file meanwhile, as on other systems */
    HANDLE handle = CreateFileW(
        wide, access, SHARE, NULL, how,
        flags & O_CREAT && !(mode & 0200) ? FILE_ATTRIBUTE_READONLY : FILE_ATTRIBUTE_NORMAL, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        failed();
        return -1;
    }
    int fd =
        _open_osfhandle((intptr_t)handle, (flags & (O_APPEND | O_RDONLY)) | O_BINARY | O_NOINHERIT);
    if (fd < 0)
        CloseHandle(handle);
    return fd;
}

FILE *gx__os_fopen(const char *path)
{
    int fd = gx__os_open(path, O_RDONLY, 0);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "rb");
    if (!file && fd >= 0)
        close(fd);
    return file;
}

/* Folders of users are closed to others by Windows itself, so every file counts as this user's. */
static bool stat_handle(HANDLE handle, struct gx_os_stat *out)
{
    FILE_STANDARD_INFO is;
    FILE_ATTRIBUTE_TAG_INFO tags;
    FILE_ID_INFO id;
    BY_HANDLE_FILE_INFORMATION old;
    *out = (struct gx_os_stat){.kind = GX_OS_OTHER, .mine = true, .links = 1};
    switch (GetFileType(handle)) {
    case FILE_TYPE_PIPE:
        out->kind = GX_OS_PIPE;
        return true;
    case FILE_TYPE_CHAR:
        out->kind = GX_OS_TERMINAL;
        return true;
    case FILE_TYPE_DISK:
        break;
    default:
        return true;
    }
    if (!GetFileInformationByHandleEx(handle, FileStandardInfo, &is, sizeof is))
        return true; /* something else than a file, which can be read or written all the same */
    out->kind = is.Directory ? GX_OS_FOLDER : GX_OS_FILE;
    out->size = (uint64_t)is.EndOfFile.QuadPart;
    out->links = is.NumberOfLinks;
    out->link = GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tags, sizeof tags) &&
                tags.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT;
    if (GetFileInformationByHandleEx(handle, FileIdInfo, &id, sizeof id)) {
        uint64_t half[2];
        memcpy(half, &id.FileId, sizeof half);
        out->volume = id.VolumeSerialNumber;
        out->file = half[0] ^ half[1];
    } else if (GetFileInformationByHandle(handle, &old)) { /* FAT has no such numbers */
        out->volume = old.dwVolumeSerialNumber;
        out->file = (uint64_t)old.nFileIndexHigh << 32 | old.nFileIndexLow;
    }
    return true;
}

bool gx__os_stat_fd(int fd, struct gx_os_stat *out)
{
    intptr_t handle = _get_osfhandle(fd);
    if (handle == -1) {
        errno = EBADF;
        return false;
    }
    return stat_handle((HANDLE)handle, out);
}

bool gx__os_stat(const char *path, bool follow, struct gx_os_stat *out)
{
    WCHAR wide[PATH_UNITS];
    if (!wide_path(path, wide))
        return false;
    HANDLE handle =
        CreateFileW(wide, FILE_READ_ATTRIBUTES, SHARE, NULL, OPEN_EXISTING,
                    FILE_FLAG_BACKUP_SEMANTICS | (follow ? 0 : FILE_FLAG_OPEN_REPARSE_POINT), NULL);
    if (handle == INVALID_HANDLE_VALUE)
        return failed();
    bool ok = stat_handle(handle, out);
    CloseHandle(handle);
    return ok;
}

/* A file that is open cannot be replaced, but it can be moved out of the way. */
static bool replace_open(const WCHAR *from, const WCHAR *to)
{
    WCHAR aside[PATH_UNITS + 16];
    if (_snwprintf(aside, PATH_UNITS + 16, L"%ls.%lx.old", to, GetCurrentProcessId()) < 0 ||
        !MoveFileExW(to, aside, MOVEFILE_REPLACE_EXISTING))
        return false;
    if (!MoveFileExW(from, to, 0)) {
        MoveFileExW(aside, to, 0);
        return false;
    }
    DeleteFileW(aside);
    return true;
}

/* Virus scanners and indexers keep a new file open for a moment. */
bool gx__os_rename(const char *from, const char *to)
{
    WCHAR wide_from[PATH_UNITS], wide_to[PATH_UNITS];
    if (!wide_path(from, wide_from) || !wide_path(to, wide_to))
        return false;
    for (int i = 0; i < REPLACE_TRIES_MS; i++) {
        if (MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
            return true;
        DWORD error = GetLastError();
        if (error != ERROR_ACCESS_DENIED && error != ERROR_SHARING_VIOLATION)
            break;
        if (replace_open(wide_from, wide_to))
            return true;
        Sleep(1);
        SetLastError(error);
    }
    return failed();
}

bool gx__os_unlink(const char *path)
{
    WCHAR wide[PATH_UNITS];
    return wide_path(path, wide) && (DeleteFileW(wide) || failed());
}

bool gx__os_make_folders(const char *file)
{
    char path[PATH_UNITS];
    WCHAR wide[PATH_UNITS];
    if ((size_t)snprintf(path, sizeof path, "%s", file) >= sizeof path)
        return false;
    for (char *slash = strpbrk(path + 1, "/\\"); slash; slash = strpbrk(slash + 1, "/\\")) {
        char kept = *slash;
        *slash = 0;
        bool drive = slash[-1] == ':';
        if (!drive && (!wide_path(path, wide) ||
                       (!CreateDirectoryW(wide, NULL) && GetLastError() != ERROR_ALREADY_EXISTS &&
                        GetFileAttributesW(wide) == INVALID_FILE_ATTRIBUTES)))
            return false;
        *slash = kept;
    }
    return true;
}

/* Windows' locks keep others from the bytes, so it is one that no file has. */
bool gx__os_lock(int fd)
{
    OVERLAPPED at = {.OffsetHigh = 0x40000000};
    return LockFileEx((HANDLE)_get_osfhandle(fd),
                      LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at) ||
           failed();
}

bool gx__os_is_absolute(const char *path)
{
    bool drive = ((path[0] | 32) >= 'a' && (path[0] | 32) <= 'z') && path[1] == ':';
    return drive ? path[2] == '/' || path[2] == '\\'
                 : (path[0] == '/' || path[0] == '\\') && (path[1] == '/' || path[1] == '\\');
}

/* The C library has no files in memory: one that is written to disk only if memory is short, and
 * that is gone when it is closed. */
bool gx__os_text_open(struct gx_os_text *text)
{
    WCHAR folder[MAX_PATH + 1], name[MAX_PATH + 1];
    *text = (struct gx_os_text){0};
    if (!GetTempPathW(MAX_PATH, folder) || !GetTempFileNameW(folder, L"gpu", 0, name))
        return failed();
    HANDLE handle = CreateFileW(name, GENERIC_READ | GENERIC_WRITE, SHARE, NULL, CREATE_ALWAYS,
                                FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    int fd = handle == INVALID_HANDLE_VALUE
                 ? -1
                 : _open_osfhandle((intptr_t)handle, O_RDWR | O_BINARY | O_NOINHERIT);
    text->file = fd < 0 ? NULL : fdopen(fd, "w+b");
    return text->file || failed();
}

bool gx__os_text_close(struct gx_os_text *text)
{
    long size = fflush(text->file) || ferror(text->file) ? -1 : ftell(text->file);
    text->text = size < 0 ? NULL : malloc((size_t)size + 1);
    bool ok = text->text && !fseek(text->file, 0, SEEK_SET) &&
              fread(text->text, 1, (size_t)size, text->file) == (size_t)size;
    if (text->text)
        text->text[ok ? size : 0] = 0;
    text->size = ok ? (size_t)size : 0;
    return !fclose(text->file) && ok;
}
