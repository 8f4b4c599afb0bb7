/* SPDX-License-Identifier: Apache-2.0
 *
 * host.h and signals.h for Linux and macOS. Signals as events: a handler writes their number
 * to a pipe, so that none is lost between checking and waiting.
 */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <libgen.h>
#include <limits.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/xattr.h>
#endif

#include "signals.h"

/* A closed standard descriptor must not be reused by a file opened later. The substitute fails in
 * the same way, because it is opened for the wrong direction. */
static void fill_standard_files(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
            return;
}

char **host_begin(int *argc, char **argv)
{
    (void)argc;
    fill_standard_files();
    signal(SIGPIPE, SIG_IGN);
    setlocale(LC_CTYPE, "");
    return argv;
}

double host_cpu_mhz(void)
{
    char line[256];
    double most = 0, mhz, khz = 0;
    FILE *in = fopen("/proc/cpuinfo", "r");
    while (in && fgets(line, sizeof line, in))
        if (!strncmp(line, "cpu MHz", 7) && strchr(line, ':')) {
            mhz = strtod(strchr(line, ':') + 1, NULL);
            most = mhz > most ? mhz : most;
        }
    if (in)
        fclose(in);
    if (most > 0)
        return most;
    in = fopen("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "r");
    if (in && fgets(line, sizeof line, in))
        khz = strtod(line, NULL);
    if (in)
        fclose(in);
    return khz / 1000;
}

/* ---- the terminal ---- */

bool host_is_terminal(int fd)
{
    return isatty(fd);
}

bool host_is_screen(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

bool host_is_utf8(void)
{
    return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

bool host_terminal_size(int fd, int *columns, int *lines)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
        return false;
    *columns = size.ws_col;
    *lines = size.ws_row;
    return true;
}

static struct termios cooked; /* original settings */

bool host_has_keys(void)
{
    return isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &cooked);
}

bool host_keys(bool on)
{
    struct termios raw = cooked;
    if (on)
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    return !tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

int host_key(void)
{
    unsigned char key;
    return read(STDIN_FILENO, &key, 1) == 1 ? key : -1;
}

/* ---- files ---- */

int host_dup(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

int host_write_error(int fd, int error)
{
    (void)fd;
    return error;
}

bool host_sync(int fd)
{
    return !fsync(fd);
}

bool host_may_write(const char *path)
{
    struct stat st;
    return !faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) &&
           (stat(path, &st) || !S_ISDIR(st.st_mode) || !access(path, X_OK));
}

char *host_real_path(const char *path)
{
    return realpath(path, NULL);
}

bool host_make_folder(const char *path)
{
    return !mkdir(path, 0777);
}

/* File to be removed by a signal handler; changed only while the signals are blocked. */
static char unfinished[PATH_MAX];

static const int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP};

enum { FATAL_SIGNALS = sizeof fatal_signals / sizeof *fatal_signals };

/* With SA_RESETHAND, raising the signal again ends the process as if there were no handler. */
static void remove_unfinished(int signal_number)
{
    if (unfinished[0])
        unlink(unfinished);
    raise(signal_number);
}

static void block_signals(sigset_t *old)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < FATAL_SIGNALS; i++)
        sigaddset(&set, fatal_signals[i]);
    pthread_sigmask(SIG_BLOCK, &set, old);
}

static void remove_on_signals(void)
{
    for (size_t i = 0; i < FATAL_SIGNALS; i++) {
        struct sigaction old,
            action = {.sa_handler = remove_unfinished, .sa_flags = (int)SA_RESETHAND};
        sigemptyset(&action.sa_mask);
        if (!sigaction(fatal_signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(fatal_signals[i], &action, NULL);
    }
}

int host_temporary(char *name)
{
    sigset_t old;
    if (strlen(name) >= sizeof unfinished) {
        errno = ENAMETOOLONG;
        return -1;
    }
    remove_on_signals();
    block_signals(&old);
    int fd = mkstemp(name), error = errno;
    if (fd >= 0) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        snprintf(unfinished, sizeof unfinished, "%s", name);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = error;
    return fd;
}

bool host_temporary_end(const char *name, const char *final)
{
    sigset_t old;
    block_signals(&old);
    bool ok = final ? !rename(name, final) : !unlink(name);
    int error = errno;
    if (ok || !final)
        unfinished[0] = 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = error;
    return ok;
}

/* The mode that open would give a new file. Failures are ignored: some filesystems have no modes.
 */
void host_like_new(int fd)
{
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(fd, 0666 & ~mask))
        return;
}

/* Copies the access control list of the replaced file; its mode alone is not enough. */
static bool copy_access_list(int fd, const char *path)
{
#if defined(__linux__)
    static const char list[] = "system.posix_acl_access";
    char value[4096];
    ssize_t size = getxattr(path, list, value, sizeof value);
    if (size < 0 && errno != ERANGE)
        return true; /* none, or not supported here */
    return size >= 0 && !fsetxattr(fd, list, value, (size_t)size, 0);
#else
    (void)fd;
    (void)path;
    return true;
#endif
}

/* The owner and mode of the old one, except for setuid, setgid and sticky: its contents have
 * changed. */
bool host_like(int fd, const char *path, const char **why)
{
    struct stat mine, old;
    *why = NULL;
    if (fstat(fd, &mine) || stat(path, &old))
        return false;
    if ((mine.st_uid != old.st_uid || mine.st_gid != old.st_gid) &&
        fchown(fd, old.st_uid, old.st_gid)) {
        *why =
            "it belongs to another user or group, and replacing it would change that; remove it, "
            "or choose another file";
        return false;
    }
    if (fchmod(fd, old.st_mode & 0777) && (mine.st_mode ^ old.st_mode) & 0777)
        return false;
    if (!copy_access_list(fd, path)) {
        *why = "its access control list cannot be kept; choose another file";
        return false;
    }
    return true;
}

bool host_is_planted(const char *path)
{
    struct stat it, folder;
    char *copy = lstat(path, &it) || it.st_uid == geteuid() ? NULL : strdup(path);
    bool known = copy && !stat(dirname(copy), &folder);
    free(copy);
    return known && folder.st_mode & S_ISVTX && folder.st_mode & S_IWOTH &&
           it.st_uid != folder.st_uid;
}

/* ---- signals as events ---- */

static int events[2] = {-1, -1};

static const int held[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH};

static void on_event(int signal)
{
    int error = errno;
    unsigned char number = (unsigned char)signal;
    if (write(events[1], &number, 1) < 0)
        errno = error; /* full of events already */
    errno = error;
}

static void handle(int signal, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, NULL);
}

void signals_hold(void)
{
    if (pipe(events)) /* then they keep their default action */
        return;
    for (int i = 0; i < 2; i++) {
        fcntl(events[i], F_SETFL, O_NONBLOCK);
        fcntl(events[i], F_SETFD, FD_CLOEXEC);
    }
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        handle(held[i], on_event);
}

static signal_event next_signal(void)
{
    unsigned char number;
    if (read(events[0], &number, 1) != 1)
        return SIGNAL_NONE;
    switch (number) {
    case SIGTSTP:
        return SIGNAL_STOP;
    case SIGCONT:
        return SIGNAL_CONTINUE;
    case SIGWINCH:
        return SIGNAL_RESIZE;
    default:
        return SIGNAL_END;
    }
}

signal_event signals_wait(uint64_t timeout_ns, bool input)
{
    struct pollfd fds[] = {{.fd = events[0], .events = POLLIN},
                           {.fd = input ? STDIN_FILENO : -1, .events = POLLIN}};
    uint64_t ms = timeout_ns / 1000000u + (timeout_ns % 1000000u != 0);
    int n = poll(fds, 2, ms < INT_MAX ? (int)ms : INT_MAX);
    if (n < 0 && errno == EINTR) /* by a signal, which is in the pipe now */
        return next_signal();
    if (n <= 0)
        return SIGNAL_NONE;
    return fds[0].revents ? next_signal() : SIGNAL_INPUT;
}

void signals_stop(void)
{
    handle(SIGTSTP, SIG_DFL);
    raise(SIGTSTP);
    handle(SIGTSTP, on_event);
}

/* ---- signals between steps ---- */

volatile sig_atomic_t signals_caught;

static struct sigaction before[2]; /* of SIGINT and SIGTERM */

static void on_signal(int signal)
{
    (void)signal;
    signals_caught = 1;
}

void signals_catch(void)
{
    struct sigaction catch = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    signals_caught = 0;
    sigaction(SIGINT, &catch, &before[0]);
    sigaction(SIGTERM, &catch, &before[1]);
}

void signals_release(void)
{
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGTERM, &before[1], NULL);
}
