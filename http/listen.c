/* SPDX-License-Identifier: Apache-2.0
 *
 * See listen.h.
 */
#include "http/listen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
}

bool http_listen_parse(const char *text, http_endpoint *e)
{
    char host[256];
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0, digits = colon ? strlen(colon + 1) : 0;
    if (!length || length >= sizeof host || !digits || digits > 5 ||
        strspn(colon + 1, "0123456789") != digits || atoi(colon + 1) > UINT16_MAX)
        return false;
    bool brackets = text[0] == '[' && colon[-1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(brackets ? length - 2 : length), text + brackets);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    if (getaddrinfo(host, colon + 1, &hints, &found))
        return false;
    memcpy(&e->address, found->ai_addr, found->ai_addrlen);
    e->loopback = is_loopback(found->ai_addr);
    getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST);
    snprintf(e->host, sizeof e->host, found->ai_family == AF_INET6 ? "[%.45s]" : "%.45s", host);
    freeaddrinfo(found);
    return true;
}
