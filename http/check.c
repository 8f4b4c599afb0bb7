/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of requests (check.h).
 */
#include "http/check.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "http/sockets.h"

enum { PORT_DIGITS = 5, ADDRESS_SIZE = sizeof "255.255.255.255" };

/* ---- the name of this machine ---- */

/* The end of the name: the colon before the port, or the end of the text. */
static size_t name_length(const char *host, size_t length)
{
    const char *bracket = host[0] == '[' ? memchr(host, ']', length) : NULL;
    if (bracket)
        return (size_t)(bracket - host) + 1;
    const char *colon = memchr(host, ':', length);
    return colon ? (size_t)(colon - host) : length;
}

static bool is_port(const char *text, size_t length)
{
    if (length < 2 || length > 1 + PORT_DIGITS || text[0] != ':')
        return false;
    for (size_t i = 1; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return true;
}

static bool is_loopback(const char *text, size_t length)
{
    char address[ADDRESS_SIZE];
    struct in_addr parsed;
    if (length >= sizeof address)
        return false;
    memcpy(address, text, length);
    address[length] = 0;
    return strlen(address) == length && inet_pton(AF_INET, address, &parsed) == 1 &&
           ntohl(parsed.s_addr) >> 24 == 127;
}

bool http_host_is_local(const char *host, size_t length)
{
    static const char *const names[] = {"localhost", "[::1]"};
    if (!length)
        return false;
    size_t name = name_length(host, length);
    if (name != length && !is_port(host + name, length - name))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (name == strlen(names[i]) && !strncasecmp(host, names[i], name))
            return true;
    return is_loopback(host, name);
}

/* ---- the secret ---- */

bool http_is_secret(const char *guess, size_t guessed, const char *secret)
{
    size_t length = strlen(secret);
    volatile unsigned char differs = !length || guessed != length;
    for (size_t i = 0; i < guessed && length; i++)
        differs |= (unsigned char)(guess[i] ^ secret[i % length]);
    return !differs;
}

/* ---- %XX ---- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The byte that "%XX" encodes; 0 if it is malformed or NUL. */
static char escaped(const char *p)
{
    int high = hex_digit(p[1]), low = high < 0 ? -1 : hex_digit(p[2]);
    return low < 0 ? 0 : (char)(high * 16 + low);
}

size_t http_unescape(char *text)
{
    for (const char *p = text; (p = strchr(p, '%')); p++)
        if (!escaped(p))
            return strlen(text);
    char *to = text;
    for (const char *from = text; *from;) {
        bool is_escaped = *from == '%';
        *to++ = is_escaped ? escaped(from) : *from;
        from += is_escaped ? 3 : 1;
    }
    *to = 0;
    return (size_t)(to - text);
}
