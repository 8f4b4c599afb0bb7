/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as parts of a request to gpuexec serve: a Host header, a token, and percent-encoded text. A
 * host is accepted exactly if a regular expression accepts it, a token if it is equal, and decoded
 * text contains no zero byte and encodes to the original.
 */
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/check.h"

enum { SIZE_MAX_HERE = 512 };

#define BYTE "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
#define HOST                                                                                       \
    "^([Ll][Oo][Cc][Aa][Ll][Hh][Oo][Ss][Tt]|\\[::1]|127\\." BYTE "\\." BYTE "\\." BYTE             \
    ")(:[0-9]{1,5})?$"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
    if (!truth)
        abort();
}

static void check_host(const char *text, size_t size)
{
    static regex_t host;
    static int compiled;
    if (!compiled)
        require(!regcomp(&host, HOST, REG_EXTENDED | REG_NOSUB));
    compiled = 1;
    int wanted = strlen(text) == size && !regexec(&host, text, 0, NULL, 0);
    require(http_host_is_local(text, size) == wanted);
}

/* The first half of the bytes as the secret, the second as the guess. */
static void check_secret(const uint8_t *data, size_t size)
{
    char secret[SIZE_MAX_HERE + 1] = "";
    memcpy(secret, data, size / 2);
    const char *guess = (const char *)data + size / 2;
    size_t guessed = size - size / 2, length = strlen(secret);
    int wanted = length && guessed == length && !memcmp(guess, secret, length);
    require(http_is_secret(guess, guessed, secret) == wanted);
    require(http_is_secret(secret, length, secret) == (length > 0));
}

/* Compares each byte of the result with the text, which is unchanged if it is ambiguous. */
static void check_unescape(const char *text)
{
    char *result = strdup(text), pair[3] = "";
    require(result != NULL);
    size_t length = http_unescape(result), at = 0;
    require(strlen(result) == length);
    if (!strcmp(result, text)) {
        free(result);
        return;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[at++];
        if (byte == '%') {
            memcpy(pair, text + at, 2);
            require(strspn(pair, "0123456789abcdefABCDEF") == 2);
            byte = (unsigned char)strtoul(pair, NULL, 16);
            at += 2;
        }
        require(byte && (unsigned char)result[i] == byte);
    }
    require(!text[at]);
    free(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > SIZE_MAX_HERE)
        return 0;
    char *text = malloc(size + 1);
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = 0;
    check_host(text, size);
    check_unescape(text);
    check_secret(data, size);
    free(text);
    return 0;
}
