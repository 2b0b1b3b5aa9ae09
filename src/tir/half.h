/* SPDX-License-Identifier: Apache-2.0 */
/* float16 and bfloat16 on the host: rounding (to nearest even) and the bits in memory. */
#ifndef GPUC_TIR_HALF_H
#define GPUC_TIR_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Rounds to `precision` bits of significand, no finer than 2^min_exponent, past `largest` to infinity. */
static inline double gpuc_round_significand(double x, int precision, int min_exponent, double largest)
{
    if (!isfinite(x) || x == 0) return x;
    int exponent;
    frexp(x, &exponent);
    exponent -= precision;
    if (exponent < min_exponent) exponent = min_exponent;
    double r = ldexp(rint(ldexp(x, -exponent)), exponent);
    if (fabs(r) > largest) return copysign(INFINITY, x);
    return r == 0 ? copysign(0.0, x) : r;
}

static inline double gpuc_round_float16(double x)
{
    return gpuc_round_significand(x, 11, -24, 65504.0);
}

static inline double gpuc_round_bfloat16(double x)
{
    return gpuc_round_significand(x, 8, -133, 0x1.fep127);
}

static inline uint16_t gpuc_float16_bits(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    x = fabs(gpuc_round_float16(x));
    if (isnan(x)) return 0x7e00;
    if (isinf(x)) return sign | 0x7c00;
    if (x < 0x1p-14) return (uint16_t)(sign | (uint16_t)ldexp(x, 24));
    int exponent;
    double m = frexp(x, &exponent); /* in [0.5, 1) */
    return (uint16_t)(sign | (uint16_t)((exponent + 14) << 10) | ((uint16_t)ldexp(m, 11) & 0x3ff));
}

static inline double gpuc_float16_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    double x;
    if (exponent == 31)
        x = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        x = ldexp(fraction, -24);
    else
        x = ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -x : x;
}

static inline uint16_t gpuc_bfloat16_bits(double x)
{
    if (isnan(x)) return 0x7fc0;
    float f = (float)gpuc_round_bfloat16(x);
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static inline double gpuc_bfloat16_value(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float f;
    memcpy(&f, &wide, sizeof f);
    return f;
}

#endif
