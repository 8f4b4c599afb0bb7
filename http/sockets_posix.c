/* SPDX-License-Identifier: Apache-2.0
 *
 * sockets.h for Linux and macOS.
 */
#include "http/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

unsigned http_files_allowed(unsigned wanted)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return wanted / 4;
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        if (setrlimit(RLIMIT_NOFILE, &limit))
            getrlimit(RLIMIT_NOFILE, &limit);
    }
    return limit.rlim_cur < wanted ? (unsigned)limit.rlim_cur : wanted;
}

int http_socket(int family, int type)
{
    int fd = socket(family, type, 0);
    if (fd >= 0 && (fcntl(fd, F_SETFL, O_NONBLOCK) || fcntl(fd, F_SETFD, FD_CLOEXEC))) {
        close(fd);
        return -1;
    }
    return fd;
}

void http_socket_close(int fd)
{
    int error = errno;
    close(fd);
    errno = error;
}

int http_socket_error(void)
{
    return errno == EINPROGRESS || errno == EINTR || errno == EWOULDBLOCK ? EAGAIN : errno;
}

int http_socket_result(int fd)
{
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

int http_socket_wait(int fd, bool to_write, int timeout_ms)
{
    struct pollfd one = {.fd = fd, .events = to_write ? POLLOUT : POLLIN};
    return poll(&one, 1, timeout_ms);
}
