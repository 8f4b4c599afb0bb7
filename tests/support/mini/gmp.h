/* SPDX-License-Identifier: Apache-2.0
 *
 * GMP's own mini-gmp as gmp.h, for systems where building GMP takes too long: slower, with the same
 * results. Its long has 64 bits, as the tests expect, where the system's has 32.
 */
#ifndef GXT_MINI_GMP_H
#define GXT_MINI_GMP_H

#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#define long long long
#include "mini-gmp.h"
#undef long

static inline void mpz_inits(mpz_t x, ...)
{
    va_list rest;
    va_start(rest, x);
    for (mpz_ptr z = x; z; z = va_arg(rest, mpz_ptr))
        mpz_init(z);
    va_end(rest);
}

static inline void mpz_clears(mpz_t x, ...)
{
    va_list rest;
    va_start(rest, x);
    for (mpz_ptr z = x; z; z = va_arg(rest, mpz_ptr))
        mpz_clear(z);
    va_end(rest);
}

static inline unsigned long long mpz_remove(mpz_t out, const mpz_t x, const mpz_t factor)
{
    unsigned long long count = 0;
    mpz_set(out, x);
    for (; mpz_divisible_p(out, factor); count++)
        mpz_tdiv_q(out, out, factor);
    return count;
}

static inline int mpz_legendre(const mpz_t x, const mpz_t p)
{
    mpz_t z;
    mpz_init(z);
    mpz_sub_ui(z, p, 1);
    mpz_tdiv_q_2exp(z, z, 1);
    mpz_powm(z, x, z, p);
    int sign = mpz_cmp_ui(z, 1) > 0 ? -1 : mpz_sgn(z);
    mpz_clear(z);
    return sign;
}

#endif
