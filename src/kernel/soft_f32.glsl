/* SPDX-License-Identifier: Apache-2.0
 *
 * IEEE 754 binary32 in integer arithmetic: round to nearest even, denormals preserved, every NaN
 * 7fc00000. For devices whose own arithmetic may flush denormals.
 */
#define F32_NAN 0x7fc00000u
#define F32_INF 0x7f800000u
#define F32_SIGN 0x80000000u

/* x / 2^by, with the lowest bit set if bits were lost. */
uint shift_sticky(uint x, int by)
{
    uint kept = by < 32 ? x >> by : 0;
    uint lost = by == 0 ? 0 : by < 32 ? x << (32 - by) : x;
    return kept | (lost != 0 ? 1 : 0);
}

/* m / 2^spare * 2^(exponent - 150), rounded to 24 bits. m is normal, bit 23 + spare set, or
 * the exponent is 1, the least. Both give (exponent - 1) << 23 plus the 24 bits: the top
 * one of them, or a carry out of rounding, counts the exponent up. */
uint round_pack(uint sign, int exponent, uint m, int spare)
{
    if (exponent >= 255)
        return sign | F32_INF;
    uint rest = m & (1u << spare) - 1, half_way = 1u << (spare - 1);
    m >>= spare;
    m += rest > half_way || (rest == half_way && (m & 1) != 0) ? 1 : 0;
    return sign | min((uint(exponent - 1) << 23) + m, F32_INF);
}

/* The effective exponent, with the implied bit in the significand. */
int unpack(uint magnitude, out uint significand)
{
    int exponent = int(magnitude >> 23);
    significand = magnitude & 0x7fffffu;
    if (exponent == 0)
        return 1;
    significand |= 0x800000u;
    return exponent;
}

uint soft_add(uint a, uint b)
{
    if ((b & ~F32_SIGN) > (a & ~F32_SIGN)) {
        uint swap = a;
        a = b;
        b = swap;
    }
    uint big = a & ~F32_SIGN, small = b & ~F32_SIGN, sign = a & F32_SIGN;
    bool differ = ((a ^ b) & F32_SIGN) != 0;
    if (big > F32_INF || (differ && small == F32_INF))
        return F32_NAN;
    if (big == F32_INF)
        return a;

    /* Three more bits: guard, round and sticky. */
    uint m, n;
    int exponent = unpack(big, m), other = unpack(small, n);
    m <<= 3;
    n = shift_sticky(n << 3, exponent - other);
    m = differ ? m - n : m + n;
    if (m == 0)
        return differ ? 0 : sign; /* x - x is +0; -0 + -0 is -0 */
    if (m >= 1u << 27) {
        m = shift_sticky(m, 1);
        exponent++;
    } else {
        int up = min(26 - findMSB(m), exponent - 1);
        m <<= up;
        exponent -= up;
    }
    return round_pack(sign, exponent, m, 3);
}

uint soft_mul(uint a, uint b)
{
    uint sign = (a ^ b) & F32_SIGN, x = a & ~F32_SIGN, y = b & ~F32_SIGN;
    if (max(x, y) > F32_INF || (max(x, y) == F32_INF && min(x, y) == 0))
        return F32_NAN;
    if (max(x, y) == F32_INF)
        return sign | F32_INF;
    if (min(x, y) == 0)
        return sign;

    /* Both significands with their top bit at 31: the product's is at 31 or 30 of high. */
    uint m, n, high, low;
    int exponent = unpack(x, m) + unpack(y, n) - 126;
    int up_m = 31 - findMSB(m), up_n = 31 - findMSB(n);
    exponent -= up_m + up_n - 16;
    umulExtended(m << up_m, n << up_n, high, low);
    high |= low != 0 ? 1 : 0;
    if (high < 1u << 31) {
        high <<= 1;
        exponent--;
    }
    if (exponent < 1) {
        high = shift_sticky(high, 1 - exponent);
        exponent = 1;
    }
    return round_pack(sign, exponent, high, 8);
}
