/* SPDX-License-Identifier: Apache-2.0
 *
 * host.h and signals.h for Windows. What ends the program, Ctrl-C, a closed window, a shutdown,
 * arrives on a thread that Windows starts for it.
 */
#include <winsock2.h> /* before windows.h */

#include <windows.h>

#include <errno.h>
#include <io.h>
#include <shellapi.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host.h"
#include "signals.h"

/* ---- the beginning ---- */

enum { CONSOLE_BYTES = 16384 };

static UINT code_page; /* of the console, before */

static void restore_console(void)
{
    SetConsoleOutputCP(code_page);
}

static HANDLE handle_of(int fd)
{
    return (HANDLE)_get_osfhandle(fd);
}

/* Consoles show colours and move their cursor only if asked to. */
static void set_console_up(void)
{
    DWORD mode;
    code_page = GetConsoleOutputCP();
    if (code_page && SetConsoleOutputCP(CP_UTF8))
        atexit(restore_console);
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (GetConsoleMode(handle_of(fd), &mode)) {
            SetConsoleMode(handle_of(fd), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
            /* else bytes arrive one by one, and a console shows parts of characters as such */
            setvbuf(fd == STDOUT_FILENO ? stdout : stderr, NULL, _IOFBF, CONSOLE_BYTES);
        }
}

static char *utf8_of(const WCHAR *wide)
{
    int size = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *text = size > 0 ? malloc((size_t)size) : NULL;
    if (text)
        WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, size, NULL, NULL);
    return text;
}

/* A closed standard descriptor must not be reused by a file opened later. */
static void fill_standard_files(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd < 3; fd++)
        if (_get_osfhandle(fd) < 0 && open("NUL", modes[fd]) != fd)
            return;
}

char **host_begin(int *argc, char **argv)
{
    WSADATA sockets;
    WSAStartup(MAKEWORD(2, 2), &sockets);
    fill_standard_files();
    setmode(STDIN_FILENO, O_BINARY);
    setmode(STDOUT_FILENO, O_BINARY);
    setmode(STDERR_FILENO, O_BINARY);
    set_console_up();
    int count = 0;
    WCHAR **wide = CommandLineToArgvW(GetCommandLineW(), &count);
    char **words = wide ? calloc((size_t)count + 1, sizeof *words) : NULL;
    for (int i = 0; words && i < count; i++)
        if (!(words[i] = utf8_of(wide[i])))
            return argv;
    LocalFree(wide);
    if (!words)
        return argv;
    *argc = count;
    return words;
}

double host_cpu_mhz(void)
{
    return 0;
}

/* ---- the terminal ---- */

bool host_is_terminal(int fd)
{
    DWORD mode;
    return GetConsoleMode(handle_of(fd), &mode);
}

bool host_is_screen(int fd)
{
    DWORD mode;
    return GetConsoleMode(handle_of(fd), &mode) && mode & ENABLE_VIRTUAL_TERMINAL_PROCESSING;
}

bool host_is_utf8(void)
{
    return true; /* host_begin has seen to it */
}

bool host_terminal_size(int fd, int *columns, int *lines)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    if (!GetConsoleScreenBufferInfo(handle_of(fd), &info))
        return false;
    *columns = info.srWindow.Right - info.srWindow.Left + 1;
    *lines = info.srWindow.Bottom - info.srWindow.Top + 1;
    return true;
}

static DWORD cooked; /* original settings */
static bool resized; /* since signals_wait looked */

bool host_has_keys(void)
{
    return GetConsoleMode(handle_of(STDIN_FILENO), &cooked);
}

bool host_keys(bool on)
{
    DWORD raw = (cooked & ~(DWORD)(ENABLE_LINE_INPUT | ENABLE_ECHO_INPUT)) | ENABLE_WINDOW_INPUT;
    return SetConsoleMode(handle_of(STDIN_FILENO), on ? raw : cooked);
}

int host_key(void)
{
    INPUT_RECORD record;
    DWORD count;
    if (!ReadConsoleInputW(handle_of(STDIN_FILENO), &record, 1, &count) || !count)
        return -1;
    resized |= record.EventType == WINDOW_BUFFER_SIZE_EVENT;
    bool key = record.EventType == KEY_EVENT && record.Event.KeyEvent.bKeyDown;
    WCHAR unit = key ? record.Event.KeyEvent.uChar.UnicodeChar : 0;
    return unit < 128 ? unit : 0;
}

/* ---- files ---- */

int host_dup(int fd)
{
    HANDLE copy;
    if (!DuplicateHandle(GetCurrentProcess(), handle_of(fd), GetCurrentProcess(), &copy, 0, FALSE,
                         DUPLICATE_SAME_ACCESS)) {
        errno = EBADF;
        return -1;
    }
    return _open_osfhandle((intptr_t)copy, O_BINARY | O_NOINHERIT);
}

int host_write_error(int fd, int error)
{
    return error == EINVAL && GetFileType(handle_of(fd)) == FILE_TYPE_PIPE ? EPIPE : error;
}

bool host_sync(int fd)
{
    return !_commit(fd);
}

bool host_may_write(const char *path)
{
    WCHAR *wide = gx__os_wide_path(path);
    bool ok = wide && !_waccess(wide, W_OK);
    free(wide);
    return ok;
}

char *host_real_path(const char *path)
{
    enum { UNITS = 4096 };
    WCHAR *wide = gx__os_wide_path(path), whole[UNITS];
    HANDLE handle = wide ? CreateFileW(wide, FILE_READ_ATTRIBUTES,
                                       FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                       OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL)
                         : INVALID_HANDLE_VALUE;
    DWORD length = 0;
    struct gx_os_stat is;
    if (handle != INVALID_HANDLE_VALUE) {
        length = GetFinalPathNameByHandleW(handle, whole, UNITS, FILE_NAME_NORMALIZED);
        CloseHandle(handle);
        /* Wine does not know long ones; if it is no link, its own name will do */
        if (!length && gx__os_stat(path, false, &is) && !is.link)
            length = GetFullPathNameW(wide, UNITS, whole, NULL);
    }
    free(wide);
    errno = ENOENT;
    if (!length || length >= UNITS)
        return NULL;
    if (!wcsncmp(whole, L"\\\\?\\UNC\\", 8)) {
        whole[6] = L'\\'; /* then the name of the server */
        return utf8_of(whole + 6);
    }
    return utf8_of(wcsncmp(whole, L"\\\\?\\", 4) ? whole : whole + 4);
}

bool host_make_folder(const char *path)
{
    WCHAR *wide = gx__os_wide_path(path);
    bool ok = wide && CreateDirectoryW(wide, NULL);
    errno = GetLastError() == ERROR_ALREADY_EXISTS ? EEXIST : ENOENT;
    free(wide);
    return ok;
}

/* Replaces the six X at the end by what was not used yet. */
static void new_ending(char *name)
{
    static _Atomic unsigned serial;
    snprintf(name + strlen(name) - 6, 7, "%06x",
             (unsigned)(GetCurrentProcessId() * 64 + atomic_fetch_add(&serial, 1)) & 0xffffff);
}

/* ---- what ends the program ---- */

static CRITICAL_SECTION ending; /* held while a file is created or gets its name */
static char *unfinished;        /* to be removed */
static int unfinished_fd = -1;
static HANDLE ended; /* signals_hold */
static _Atomic bool catching;

volatile sig_atomic_t signals_caught;

static BOOL WINAPI on_end(DWORD event)
{
    bool first = !signals_caught;
    signals_caught = 1;
    if (ended) {
        SetEvent(ended);
        if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT)
            Sleep(INFINITE); /* Windows ends the process when this returns */
        return TRUE;
    }
    if (atomic_load(&catching) && first)
        return TRUE;
    EnterCriticalSection(&ending);
    if (unfinished) {
        close(unfinished_fd);
        gx__os_unlink(unfinished);
    }
    ExitProcess(STATUS_CONTROL_C_EXIT); /* nothing else may be written to the file */
}

static void watch_for_end(void)
{
    static bool listens;
    if (!listens) {
        InitializeCriticalSection(&ending);
        SetConsoleCtrlHandler(on_end, TRUE);
    }
    listens = true;
}

int host_temporary(char *name)
{
    watch_for_end();
    EnterCriticalSection(&ending);
    int fd = -1;
    for (int i = 0; fd < 0 && (!i || errno == EEXIST) && i < 100; i++) {
        new_ending(name);
        fd = gx__os_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    }
    if (fd >= 0) {
        free(unfinished);
        unfinished = strdup(name);
        unfinished_fd = fd;
    }
    LeaveCriticalSection(&ending);
    return fd;
}

bool host_temporary_end(const char *name, const char *final)
{
    EnterCriticalSection(&ending);
    bool ok = final ? gx__os_rename(name, final) : gx__os_unlink(name);
    if (ok || !final) {
        free(unfinished);
        unfinished = NULL;
    }
    LeaveCriticalSection(&ending);
    return ok;
}

/* New files have the access list of their folder. */
void host_like_new(int fd)
{
    (void)fd;
}

/* The new file gets the access list of its folder too (doc/platforms.md). */
bool host_like(int fd, const char *path, const char **why)
{
    (void)fd;
    (void)path;
    *why = NULL;
    return true;
}

bool host_is_planted(const char *path)
{
    (void)path;
    return false;
}

void signals_hold(void)
{
    ended = CreateEventW(NULL, FALSE, FALSE, NULL);
    watch_for_end();
}

signal_event signals_wait(uint64_t timeout_ns, bool input)
{
    HANDLE handles[] = {ended, handle_of(STDIN_FILENO)};
    uint64_t ms = timeout_ns / 1000000u + (timeout_ns % 1000000u != 0);
    if (resized) {
        resized = false;
        return SIGNAL_RESIZE;
    }
    switch (WaitForMultipleObjects(input ? 2 : 1, handles, FALSE,
                                   ms < INFINITE ? (DWORD)ms : INFINITE - 1)) {
    case WAIT_OBJECT_0:
        return SIGNAL_END;
    case WAIT_OBJECT_0 + 1:
        return SIGNAL_INPUT;
    default:
        return SIGNAL_NONE;
    }
}

void signals_stop(void)
{
}

void signals_catch(void)
{
    signals_caught = 0;
    atomic_store(&catching, true);
    watch_for_end();
}

void signals_release(void)
{
    atomic_store(&catching, false);
}
