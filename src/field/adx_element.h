/* SPDX-License-Identifier: Apache-2.0
 *
 * Elements in the adx tier: mulx and the two carry chains of adcx and adox, which compilers do not
 * generate from C, as inline assembly. No block uses more than 13 registers, because only 14 are
 * available with a frame pointer (-O0, sanitizers).
 */
#ifndef GX_FIELD_ADX_ELEMENT_H
#define GX_FIELD_ADX_ELEMENT_H

#include <stddef.h>

#include "field/element.h"

/* Where p and -1/p mod 2^64 are, from %[prime] on. */
#define PRIME_OFFSETS                                                                              \
    [p] "i"(offsetof(struct gx_prime, p)), [ninv] "i"(offsetof(struct gx_prime, ninv64))

#define A(j) "8*" #j "(%[a])"
#define B(j) "8*" #j "(%[b])"
#define P(j) "%c[p]+8*" #j "(%[prime])"
#define T(j) "%[t" #j "]"
#define S(j) "%[s" #j "]"

#define LIMBS_4(array)                                                                             \
    [t0] "=&r"(array[0]), [t1] "=&r"(array[1]), [t2] "=&r"(array[2]), [t3] "=&r"(array[3])
#define LIMBS_6(array) LIMBS_4(array), [t4] "=&r"(array[4]), [t5] "=&r"(array[5])
#define INOUT_4(array)                                                                             \
    [t0] "+&r"(array[0]), [t1] "+&r"(array[1]), [t2] "+&r"(array[2]), [t3] "+&r"(array[3])
#define INOUT_6(array) INOUT_4(array), [t4] "+&r"(array[4]), [t5] "+&r"(array[5])
#define OTHER_4(array)                                                                             \
    [s0] "=&r"(array[0]), [s1] "=&r"(array[1]), [s2] "=&r"(array[2]), [s3] "=&r"(array[3])
#define OTHER_6(array) OTHER_4(array), [s4] "=&r"(array[4]), [s5] "=&r"(array[5])

/* ---- one subtraction of the modulus ------------------------------------------------- */

#define M(j)            "8*" #j "(%[m])"
#define COPY_SUB(op, j) "mov " T(j) ", " S(j) "\n\t" #op " " M(j) ", " S(j) "\n\t"
#define TAKE(j)         "cmovnc " S(j) ", " T(j) "\n\t"

#define SUBTRACT_4 COPY_SUB(sub, 0) COPY_SUB(sbb, 1) COPY_SUB(sbb, 2) COPY_SUB(sbb, 3)
#define SUBTRACT_6 SUBTRACT_4 COPY_SUB(sbb, 4) COPY_SUB(sbb, 5)
#define TAKE_4     TAKE(0) TAKE(1) TAKE(2) TAKE(3)
#define TAKE_6     TAKE_4 TAKE(4) TAKE(5)

/* t -= m if t >= m. mov leaves the carry flag alone. */
#define DEFINE_SUBTRACT_ONCE(N)                                                                    \
    TEMPLATE void subtract_once_##N(uint64_t *t, const uint64_t *m)                                \
    {                                                                                              \
        uint64_t s[N];                                                                             \
        __asm__(SUBTRACT_##N TAKE_##N : INOUT_##N(t), OTHER_##N(s) : [m] "r"(m) : "cc", "memory"); \
    }
DEFINE_SUBTRACT_ONCE(4)
DEFINE_SUBTRACT_ONCE(6)

TEMPLATE void fe_reduce(unsigned limbs, uint64_t *r, const void *a, const uint64_t *m)
{
    uint64_t t[GX_LIMBS_MAX];
    load_limbs(limbs, t, a);
    if (limbs == 6)
        subtract_once_6(t, m);
    else
        subtract_once_4(t, m);
    store_limbs(limbs, r, t);
}

/* ---- addition and subtraction -------------------------------------------------------- */

#define WITH_B(op, j) #op " " B(j) ", " T(j) "\n\t"

#define ADD_B_4 WITH_B(add, 0) WITH_B(adc, 1) WITH_B(adc, 2) WITH_B(adc, 3)
#define ADD_B_6 ADD_B_4 WITH_B(adc, 4) WITH_B(adc, 5)
#define SUB_B_4 WITH_B(sub, 0) WITH_B(sbb, 1) WITH_B(sbb, 2) WITH_B(sbb, 3)
#define SUB_B_6 SUB_B_4 WITH_B(sbb, 4) WITH_B(sbb, 5)

/* t += p if CF is set. CF is preserved throughout while OF carries: sbb of a register with itself
 * clears OF and keeps CF, and neither mov, cmov nor adox touches CF. */
#define ADD_P(j)                                                                                   \
    "mov %[zero], %[addend]\n\t"                                                                   \
    "cmovc " P(j) ", %[addend]\n\t"                                                                \
                  "adox %[addend], " T(j) "\n\t"
#define ADD_P_4 "sbb %[zero], %[zero]\n\tmov $0, %k[zero]\n\t" ADD_P(0) ADD_P(1) ADD_P(2) ADD_P(3)
#define ADD_P_6 ADD_P_4 ADD_P(4) ADD_P(5)

#define DEFINE_ADD_SUB(N)                                                                          \
    TEMPLATE void add_##N(uint64_t *t, const void *b)                                              \
    {                                                                                              \
        __asm__(ADD_B_##N : INOUT_##N(t) : [b] "r"(b) : "cc", "memory");                           \
    }                                                                                              \
    TEMPLATE void sub_##N(uint64_t *t, const void *b)                                              \
    {                                                                                              \
        __asm__(SUB_B_##N : INOUT_##N(t) : [b] "r"(b) : "cc", "memory");                           \
    }                                                                                              \
    TEMPLATE void sub_modulo_##N(uint64_t *t, const void *b, const struct gx_prime *prime)         \
    {                                                                                              \
        uint64_t zero, addend;                                                                     \
        __asm__(SUB_B_##N ADD_P_##N                                                                \
                : INOUT_##N(t), [zero] "=&r"(zero), [addend] "=&r"(addend)                         \
                : [b] "r"(b), [prime] "r"(prime), PRIME_OFFSETS                                    \
                : "cc", "memory");                                                                 \
    }
DEFINE_ADD_SUB(4)
DEFINE_ADD_SUB(6)

TEMPLATE void fe_add_raw(unsigned limbs, uint64_t *r, const void *a, const void *b)
{
    uint64_t t[GX_LIMBS_MAX];
    load_limbs(limbs, t, a);
    if (limbs == 6)
        add_6(t, b);
    else
        add_4(t, b);
    store_limbs(limbs, r, t);
}

TEMPLATE void fe_sub_raw(unsigned limbs, uint64_t *r, const void *a, const void *b)
{
    uint64_t t[GX_LIMBS_MAX];
    load_limbs(limbs, t, a);
    if (limbs == 6)
        sub_6(t, b);
    else
        sub_4(t, b);
    store_limbs(limbs, r, t);
}

/* a - b, plus p if that borrowed; a, b < p, out < p. */
TEMPLATE void fe_sub(unsigned limbs, uint64_t *r, const void *a, const void *b,
                     const struct gx_prime *prime)
{
    uint64_t t[GX_LIMBS_MAX];
    load_limbs(limbs, t, a);
    if (limbs == 6)
        sub_modulo_6(t, b, prime);
    else
        sub_modulo_4(t, b, prime);
    store_limbs(limbs, r, t);
}

/* ---- multiplication -------------------------------------------------------------------- */

/* Same rounds and bounds as in portable_element.h: t is `limbs` limbs between rounds; within a
 * round `top` is one more. First round: (top, t) = a * b[0], with one carry chain. */
#define FIRST(op, j, next) "mulx " A(j) ", %[lo], " T(next) "\n\t" #op " %[lo], " T(j) "\n\t"
#define FIRST_BEGIN        "mulx " A(0) ", " T(0) ", " T(1) "\n\t"
#define FIRST_END(j)                                                                               \
    "mulx " A(j) ", %[lo], %[top]\n\t"                                                             \
                 "adc %[lo], " T(j) "\n\t"                                                         \
                                    "adc $0, %[top]\n\t"
#define FIRST_4 FIRST_BEGIN FIRST(add, 1, 2) FIRST(adc, 2, 3) FIRST_END(3)
#define FIRST_6                                                                                    \
    FIRST_BEGIN FIRST(add, 1, 2) FIRST(adc, 2, 3) FIRST(adc, 3, 4) FIRST(adc, 4, 5) FIRST_END(5)

/* Later rounds: (top, t) = t + a * b[i]. The low halves of the products carry through
 * CF, the high ones through OF; xor clears both. */
#define PRODUCT(j, next)                                                                           \
    "mulx " A(j) ", %[lo], %[hi]\n\t"                                                              \
                 "adox %[hi], " T(next) "\n\t"                                                     \
                                        "adcx %[lo], " T(j) "\n\t"
#define PRODUCT_LAST(j)                                                                            \
    "mulx " A(j) ", %[lo], %[top]\n\t"                                                             \
                 "adcx %[lo], " T(j) "\n\t"                                                        \
                                     "mov $0, %[lo]\n\t"                                           \
                                     "adcx %[lo], %[top]\n\t"                                      \
                                     "adox %[lo], %[top]\n\t"
#define PRODUCT_4 "xor %k[lo], %k[lo]\n\t" PRODUCT(0, 1) PRODUCT(1, 2) PRODUCT(2, 3) PRODUCT_LAST(3)
#define PRODUCT_6                                                                                  \
    "xor %k[lo], %k[lo]\n\t" PRODUCT(0, 1) PRODUCT(1, 2) PRODUCT(2, 3) PRODUCT(3, 4) PRODUCT(4, 5) \
        PRODUCT_LAST(5)

/* t = ((top, t) + m * p) / 2^64, with the m that makes the lowest limb 0. Limb j + 1
 * moves to j as it is read. */
#define REDUCE(j, next)                                                                            \
    "adcx " T(next) ", " T(j) "\n\t"                                                               \
                              "mulx " P(next) ", %[lo], " T(next) "\n\t"                           \
                                                                  "adox %[lo], " T(j) "\n\t"
#define REDUCE_FIRST                                                                               \
    "mov %c[ninv](%[prime]), %%rdx\n\t"                                                            \
    "imul " T(0) ", %%rdx\n\t"                                                                     \
                 "xor %k[lo], %k[lo]\n\t"                                                          \
                 "mulx " P(0) ", %[lo], %[hi]\n\t"                                                 \
                              "adcx " T(0) ", %[lo]\n\t"                                           \
                                           "mov %[hi], " T(0) "\n\t"
#define REDUCE_LAST(j)                                                                             \
    "mov $0, %[lo]\n\t"                                                                            \
    "adcx %[lo], " T(j) "\n\t"                                                                     \
                        "adox %[top], " T(j) "\n\t"
#define REDUCE_4 REDUCE_FIRST REDUCE(0, 1) REDUCE(1, 2) REDUCE(2, 3) REDUCE_LAST(3)
#define REDUCE_6                                                                                   \
    REDUCE_FIRST REDUCE(0, 1) REDUCE(1, 2) REDUCE(2, 3) REDUCE(3, 4) REDUCE(4, 5) REDUCE_LAST(5)

#define ROUND(N, i) "mov " B(i) ", %%rdx\n\t" PRODUCT_##N REDUCE_##N
#define MULTIPLY_4  "mov " B(0) ", %%rdx\n\t" FIRST_4 REDUCE_4 ROUND(4, 1) ROUND(4, 2) ROUND(4, 3)
#define MULTIPLY_6                                                                                 \
    "mov " B(0) ", %%rdx\n\t" FIRST_6 REDUCE_6 ROUND(6, 1) ROUND(6, 2) ROUND(6, 3) ROUND(6, 4)     \
        ROUND(6, 5)

/* A second product beside it: (top, t) += a1 * b1[i], with a1 and b1 after a and b. */
#define A1(N, j) "8*(" #N "+" #j ")(%[a])"
#define B1(N, j) "8*(" #N "+" #j ")(%[b])"
#define SECOND(N, j, next)                                                                         \
    "mulx " A1(N, j) ", %[lo], %[hi]\n\t"                                                          \
                     "adcx %[lo], " T(j) "\n\t"                                                    \
                                         "adox %[hi], " T(next) "\n\t"
#define SECOND_LAST(N, j)                                                                          \
    "mulx " A1(N, j) ", %[lo], %[hi]\n\t"                                                          \
                     "adcx %[lo], " T(j) "\n\t"                                                    \
                                         "adox %[hi], %[top]\n\t"                                  \
                                         "mov $0, %[lo]\n\t"                                       \
                                         "adcx %[lo], %[top]\n\t"
#define SECOND_4                                                                                   \
    "xor %k[lo], %k[lo]\n\t" SECOND(4, 0, 1) SECOND(4, 1, 2) SECOND(4, 2, 3) SECOND_LAST(4, 3)
#define SECOND_6                                                                                   \
    "xor %k[lo], %k[lo]\n\t" SECOND(6, 0, 1) SECOND(6, 1, 2) SECOND(6, 2, 3) SECOND(6, 3, 4)       \
        SECOND(6, 4, 5) SECOND_LAST(6, 5)

#define BOTH_BEGIN(N)                                                                              \
    "mov " B(0) ", %%rdx\n\t" FIRST_##N "mov " B1(N, 0) ", %%rdx\n\t" SECOND_##N REDUCE_##N
#define BOTH(N, i)                                                                                 \
    "mov " B(i) ", %%rdx\n\t" PRODUCT_##N "mov " B1(N, i) ", %%rdx\n\t" SECOND_##N REDUCE_##N
#define BOTH_4 BOTH_BEGIN(4) BOTH(4, 1) BOTH(4, 2) BOTH(4, 3)
#define BOTH_6 BOTH_BEGIN(6) BOTH(6, 1) BOTH(6, 2) BOTH(6, 3) BOTH(6, 4) BOTH(6, 5)

#define DEFINE_MULTIPLY(name, code, N)                                                             \
    TEMPLATE void name##_##N(uint64_t *t, const void *a, const void *b,                            \
                             const struct gx_prime *prime)                                         \
    {                                                                                              \
        uint64_t lo, hi, top;                                                                      \
        __asm__(code##_##N                                                                         \
                : LIMBS_##N(t), [lo] "=&r"(lo), [hi] "=&r"(hi), [top] "=&r"(top)                   \
                : [a] "r"(a), [b] "r"(b), [prime] "r"(prime), PRIME_OFFSETS                        \
                : "rdx", "cc", "memory");                                                          \
    }
DEFINE_MULTIPLY(multiply, MULTIPLY, 4)
DEFINE_MULTIPLY(multiply, MULTIPLY, 6)
DEFINE_MULTIPLY(multiply_both, BOTH, 4)
DEFINE_MULTIPLY(multiply_both, BOTH, 6)

TEMPLATE void fe_mul_raw(unsigned limbs, uint64_t *r, const void *a, const void *b,
                         const struct gx_prime *prime)
{
    uint64_t t[GX_LIMBS_MAX];
    if (limbs == 6)
        multiply_6(t, a, b, prime);
    else
        multiply_4(t, a, b, prime);
    store_limbs(limbs, r, t);
}

TEMPLATE void fe_mul_two_raw(unsigned limbs, uint64_t *r, const void *a, const void *b,
                             const struct gx_prime *prime)
{
    uint64_t t[GX_LIMBS_MAX];
    if (limbs == 6)
        multiply_both_6(t, a, b, prime);
    else
        multiply_both_4(t, a, b, prime);
    store_limbs(limbs, r, t);
}

#endif
