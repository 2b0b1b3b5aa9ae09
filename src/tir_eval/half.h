/* SPDX-License-Identifier: Apache-2.0 */
/* Quick rounding to float16 and bfloat16 of values that registers hold as floats. base/element.h is the reference. */
#ifndef GPUC_TIR_EVAL_HALF_H
#define GPUC_TIR_EVAL_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t ev_float_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float ev_bits_float(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* To float, but an inexact result gets an odd last bit: rounding it again to half the bits is right. */
static inline float ev_round_odd(double v)
{
    float f = (float)v;
    if ((double)f == v || v != v || fabs(v) > 0x1.fffffep127) return f;
    uint32_t u = ev_float_bits(f);
    if (fabs((double)f) > fabs(v)) u--;
    return ev_bits_float(u | 1);
}

static inline float ev_round_f16(float x)
{
    uint32_t u = ev_float_bits(x), sign = u & 0x80000000u, magnitude = u & 0x7fffffffu;
    float m = ev_bits_float(magnitude);
    float small = (m + 0.5f) - 0.5f; /* multiples of 2^-24 */
    uint32_t rounded = (magnitude + 0xfffu + ((magnitude >> 13) & 1)) & ~0x1fffu;
    float normal = ev_bits_float(rounded);
    if (magnitude >= 0x477ff000u) normal = (float)INFINITY; /* 65520 and above */
    if (magnitude > 0x7f800000u) normal = (float)NAN;
    float r = m < 0x1p-14f ? small : normal;
    return ev_bits_float(ev_float_bits(r) | sign);
}

static inline float ev_round_bf16(float x)
{
    uint32_t u = ev_float_bits(x);
    uint32_t r = (u + 0x7fffu + ((u >> 16) & 1)) & 0xffff0000u;
    return (u & 0x7fffffffu) > 0x7f800000u ? (float)NAN : ev_bits_float(r);
}

static inline float ev_f16_value(uint16_t h)
{
    uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13;
    float f = ev_bits_float(magnitude) * 0x1p112f;
    if ((h & 0x7c00) == 0x7c00) f = ev_bits_float(magnitude | 0x7f800000u);
    return ev_bits_float(ev_float_bits(f) | (uint32_t)(h & 0x8000) << 16);
}

/* Of a float that float16 can hold. */
static inline uint16_t ev_f16_bits(float x)
{
    uint32_t u = ev_float_bits(x), magnitude = u & 0x7fffffffu;
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    if (magnitude > 0x7f800000u) return 0x7e00;
    if (magnitude == 0x7f800000u) return sign | 0x7c00;
    if (magnitude < 0x38800000u) return (uint16_t)(sign | (uint16_t)(ev_bits_float(magnitude) * 0x1p24f));
    return (uint16_t)(sign | (uint16_t)((magnitude >> 13) - (112u << 10)));
}

static inline float ev_bf16_value(uint16_t h)
{
    return ev_bits_float((uint32_t)h << 16);
}

static inline uint16_t ev_bf16_bits(float x)
{
    return (uint16_t)(ev_float_bits(x) >> 16);
}

/* The floats that registers hold as float32: type, rounding of a float, that of its bits in memory, value of
 * bits, bits of a value that is rounded. */
#define EV_HALVES(X, ...)                                                                                    \
    X(FLOAT16, ev_round_f16, uint16_t, ev_f16_value, ev_f16_bits, ##__VA_ARGS__)                                       \
    X(BFLOAT16, ev_round_bf16, uint16_t, ev_bf16_value, ev_bf16_bits, ##__VA_ARGS__)

#endif

/* Again, without the guard: a template once for each of them. */
#ifdef EV_TEMPLATE
#define S FLOAT16
#define T float
#define NARROW(v) ev_round_f16((float)(v))
#define WIDE(v) gpuc_ev_round_half(EV_FLOAT16, (v))
#include EV_TEMPLATE
#undef NARROW
#undef WIDE
#define S BFLOAT16
#define T float
#define NARROW(v) ev_round_bf16((float)(v))
#define WIDE(v) gpuc_ev_round_half(EV_BFLOAT16, (v))
#include EV_TEMPLATE
#undef NARROW
#undef WIDE
#endif
