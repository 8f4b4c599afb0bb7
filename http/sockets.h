/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets of all systems, and a clock.
 */
#ifndef HTTP_SOCKETS_H
#define HTTP_SOCKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(_WIN32)
#include <winsock2.h>
#include <ws2tcpip.h>
#define SHUT_RDWR SD_BOTH
#else
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#endif

/* A socket that does not block; -1. Errors of sockets are in http_socket_error afterwards. */
int http_socket(int family, int type);
void http_socket_close(int fd);
int http_socket_error(void); /* EAGAIN: not yet */
/* The result of a connection that took time: 0, or an errno. */
int http_socket_result(int fd);
/* The number of ready sockets, 0 or 1; -1: an error. */
int http_socket_wait(int fd, bool to_write, int timeout_ms);

/* Files that may be open, of `wanted`. */
unsigned http_files_allowed(unsigned wanted);

/* Monotonic, in nanoseconds. */
static inline uint64_t http_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
