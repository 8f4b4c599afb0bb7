/* SPDX-License-Identifier: Apache-2.0
 *
 * A small HTTP client (get.h). Uses HTTP/1.0, so that the reply ends with the connection.
 */
#include "http/get.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/sockets.h"

#define DEFAULT_PORT "9464"

/* ---- the address ---- */

/* Copies the text before any of `stop`; false if it is empty or too long. */
static bool take(const char **p, const char *stop, char *out, size_t size)
{
    size_t length = strcspn(*p, stop);
    if (!length || length >= size)
        return false;
    memcpy(out, *p, length);
    out[length] = 0;
    *p += length;
    return true;
}

static bool take_host(const char **p, http_place *place)
{
    if (**p != '[')
        return take(p, ":/?", place->host, sizeof place->host);
    ++*p;
    bool ok = take(p, "]", place->host, sizeof place->host) && **p == ']';
    *p += ok;
    return ok;
}

bool http_place_parse(const char *url, http_place *place, char *err, size_t err_size)
{
    static const char http[] = "http://", query[] = "?token=";
    *place = (http_place){.port = DEFAULT_PORT};
    const char *p = strncmp(url, http, sizeof http - 1) ? url : url + sizeof http - 1;
    bool ok = !strstr(p, "://") && take_host(&p, place);
    if (ok && *p == ':') {
        p++;
        ok = take(&p, "/?", place->port, sizeof place->port) &&
             strspn(place->port, "0123456789") == strlen(place->port);
    }
    const char *token = strstr(p, query);
    if (ok && token) {
        token += sizeof query - 1;
        ok =
            take(&token, "&#", place->token, sizeof place->token) && !strpbrk(place->token, "\r\n");
    }
    if (!ok)
        snprintf(err, err_size,
                 "'%.200s' is not an address like http://127.0.0.1:" DEFAULT_PORT "/", url);
    return ok;
}

/* ---- the connection ---- */

/* Waits for the socket; false, with errno, on timeout. */
static bool ready(int fd, bool to_write, uint64_t deadline)
{
    for (;;) {
        uint64_t now = http_now_ns();
        int ms = now < deadline ? (int)((deadline - now) / 1000000u) + 1 : 0;
        int n = ms ? http_socket_wait(fd, to_write, ms) : 0;
        if (n > 0)
            return true;
        if (n < 0 && http_socket_error() == EAGAIN)
            continue;
        errno = n < 0 ? http_socket_error() : ETIMEDOUT;
        return false;
    }
}

/* After a call that failed; false, with errno, if it was not for lack of data or room. */
static bool try_again(int fd, bool to_write, uint64_t deadline)
{
    errno = http_socket_error();
    return errno == EAGAIN && ready(fd, to_write, deadline);
}

static bool connected(int fd, const struct addrinfo *to, uint64_t deadline)
{
    if (!connect(fd, to->ai_addr, to->ai_addrlen))
        return true;
    if (http_socket_error() != EAGAIN) {
        errno = http_socket_error();
        return false;
    }
    if (!ready(fd, true, deadline))
        return false;
    errno = http_socket_result(fd);
    return !errno;
}

static int connect_to(const http_place *place, uint64_t deadline, char *err, size_t err_size)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int failed = getaddrinfo(place->host, place->port, &hints, &found);
    if (failed) {
        snprintf(err, err_size, "%s: %s", place->host, gai_strerror(failed));
        return -1;
    }
    int fd = -1;
    for (const struct addrinfo *to = found; to && fd < 0; to = to->ai_next) {
        fd = http_socket(to->ai_family, to->ai_socktype);
        if (fd < 0 || connected(fd, to, deadline))
            continue;
        http_socket_close(fd);
        fd = -1;
    }
    if (fd < 0)
        snprintf(err, err_size, "%s:%s: %s; is 'gpuexec serve' running there?", place->host,
                 place->port, strerror(errno));
    freeaddrinfo(found);
    return fd;
}

static bool send_all(int fd, const char *text, size_t bytes, uint64_t deadline)
{
    while (bytes) {
        ssize_t n = send(fd, text, bytes, 0);
        if (n < 0 && !try_again(fd, true, deadline))
            return false;
        if (n > 0) {
            text += n;
            bytes -= (size_t)n;
        }
    }
    return true;
}

/* Reads until the peer closes; -1, with errno, on error or timeout. */
static ssize_t receive_all(int fd, char *buffer, size_t room, uint64_t deadline)
{
    size_t used = 0;
    while (used < room) {
        ssize_t n = recv(fd, buffer + used, room - used, 0);
        if (!n)
            return (ssize_t)used;
        if (n > 0)
            used += (size_t)n;
        else if (!try_again(fd, false, deadline))
            return -1;
    }
    errno = EMSGSIZE;
    return -1;
}

static bool exchange(int fd, const http_place *place, const char *path, char *buffer,
                     uint64_t deadline)
{
    char request[1024];
    bool v6 = strchr(place->host, ':') != NULL;
    int length =
        snprintf(request, sizeof request, "GET %s HTTP/1.0\r\nHost: %s%s%s:%s\r\n%s%s%s\r\n", path,
                 v6 ? "[" : "", place->host, v6 ? "]" : "", place->port,
                 place->token[0] ? "Authorization: Bearer " : "", place->token,
                 place->token[0] ? "\r\n" : "");
    if (length < 0 || (size_t)length >= sizeof request) {
        errno = EMSGSIZE;
        return false;
    }
    if (!send_all(fd, request, (size_t)length, deadline))
        return false;
    ssize_t got = receive_all(fd, buffer, HTTP_GET_MAX - 1, deadline);
    if (got < 0)
        return false;
    buffer[got] = 0;
    return true;
}

/* Moves the body of a successful reply to the front. */
static bool strip_head(char *answer, char *err, size_t err_size)
{
    int status;
    char *body = strstr(answer, "\r\n\r\n");
    if (sscanf(answer, "HTTP/%*d.%*d %d", &status) != 1 || !body) {
        snprintf(err, err_size, "the reply is not HTTP");
        return false;
    }
    if (status != 200) {
        snprintf(err, err_size,
                 status == 401 ? "a token is required: URL?token=T (status %d)" : "status %d",
                 status);
        return false;
    }
    memmove(answer, body + 4, strlen(body + 4) + 1);
    return true;
}

char *http_get(const http_place *place, const char *path, uint64_t timeout_ns, char *err,
               size_t err_size)
{
    uint64_t deadline = http_now_ns() + timeout_ns;
    char *buffer = malloc(HTTP_GET_MAX);
    if (!buffer) {
        snprintf(err, err_size, "out of memory");
        return NULL;
    }
    int fd = connect_to(place, deadline, err, err_size);
    bool ok = fd >= 0;
    if (ok && !exchange(fd, place, path, buffer, deadline)) {
        snprintf(err, err_size, "%s:%s: %s", place->host, place->port, strerror(errno));
        ok = false;
    }
    if (fd >= 0)
        http_socket_close(fd);
    if (ok && strip_head(buffer, err, err_size))
        return buffer;
    free(buffer);
    return NULL;
}
