/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks on requests to gpuexec serve: the host name, the token, and percent-encoded text. Pure
 * functions, separate from the server so that they can be fuzzed.
 */
#ifndef HTTP_CHECK_H
#define HTTP_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a Host header names this machine's loopback interface: "localhost", an address in
 * 127.0.0.0/8, or "[::1]", with or without a port. */
bool http_host_is_local(const char *host, size_t length);

/* Compares a guess with the secret in time that does not depend on where they differ. */
bool http_is_secret(const char *guess, size_t guessed, const char *secret);

/* Decodes %XX in place; returns the new length. Text that contains "%" without two hexadecimal
 * digits, or "%00", is ambiguous and left unchanged. */
size_t http_unescape(char *text);

#endif
