/* SPDX-License-Identifier: Apache-2.0
 *
 * What gpuexec serve believes of a request: the name it was asked by, the secret it brings, and
 * text with % in it. Plain functions of bytes, apart from the server so that they can be fuzzed.
 */
#ifndef HTTP_CHECK_H
#define HTTP_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a Host header names this machine's loopback interface and nothing else: "localhost",
 * an address in 127.0.0.0/8, or "[::1]", each with or without a port. */
bool http_host_is_local(const char *host, size_t length);

/* Compares a guess with the secret, in a time that does not depend on where they differ. */
bool http_is_secret(const char *guess, size_t guessed, const char *secret);

/* Decodes %XX in place; returns the new length. Text with a "%" that is not followed by two
 * hexadecimal digits, or with "%00", is left as it is: what it means is not certain. */
size_t http_unescape(char *text);

#endif
