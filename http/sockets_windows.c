/* SPDX-License-Identifier: Apache-2.0
 *
 * sockets.h for Windows.
 */
#include "http/sockets.h"

#include <errno.h>

unsigned http_files_allowed(unsigned wanted)
{
    return wanted; /* sockets are not files here */
}

int http_socket(int family, int type)
{
    u_long on = 1;
    SOCKET fd =
        WSASocketW(family, type, 0, NULL, 0, WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    if (fd != INVALID_SOCKET && ioctlsocket(fd, FIONBIO, &on)) {
        closesocket(fd);
        return -1;
    }
    return (int)fd;
}

void http_socket_close(int fd)
{
    int error = errno;
    closesocket((SOCKET)fd);
    errno = error;
}

static int error_number(int error)
{
    switch (error) {
    case WSAEWOULDBLOCK:
    case WSAEINPROGRESS:
    case WSAEINTR:
        return EAGAIN;
    case WSAECONNREFUSED:
        return ECONNREFUSED;
    case WSAECONNRESET:
        return ECONNRESET;
    case WSAETIMEDOUT:
        return ETIMEDOUT;
    case WSAEADDRINUSE:
        return EADDRINUSE;
    case WSAEADDRNOTAVAIL:
        return EADDRNOTAVAIL;
    case WSAENETUNREACH:
        return ENETUNREACH;
    case WSAEHOSTUNREACH:
        return EHOSTUNREACH;
    case WSAEACCES:
        return EACCES;
    default:
        return EIO;
    }
}

int http_socket_error(void)
{
    return error_number(WSAGetLastError());
}

int http_socket_result(int fd)
{
    int error = 0, size = sizeof error;
    getsockopt((SOCKET)fd, SOL_SOCKET, SO_ERROR, (char *)&error, &size);
    return error ? error_number(error) : 0;
}

int http_socket_wait(int fd, bool to_write, int timeout_ms)
{
    /* not WSAPoll, which before Windows 10 2004 never reports a refused connection */
    fd_set ready, failed;
    struct timeval timeout = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    FD_ZERO(&ready);
    FD_ZERO(&failed);
    FD_SET((SOCKET)fd, &ready);
    FD_SET((SOCKET)fd, &failed);
    int n = select(0, to_write ? NULL : &ready, to_write ? &ready : NULL, &failed, &timeout);
    return n > 0 ? 1 : n;
}
