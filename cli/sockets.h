/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets of all systems; in host_posix.c and host_windows.c.
 */
#ifndef SOCKETS_H
#define SOCKETS_H

#include <stdbool.h>
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

/* A socket that does not block; -1. Errors of sockets are in host_socket_error afterwards. */
int host_socket(int family, int type);
void host_socket_close(int fd);
int host_socket_error(void); /* EAGAIN: not yet */
/* The result of a connection that took time: 0, or an errno. */
int host_socket_result(int fd);
/* The number of ready sockets, 0 or 1; -1: an error. */
int host_socket_wait(int fd, bool to_write, int timeout_ms);

#endif
