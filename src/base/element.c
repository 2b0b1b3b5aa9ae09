/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up element types, and converts between floats of any type and the bits that stand for them in memory. */
#include "base/element.h"

#include <math.h>
#include <string.h>

const gpuc_element gpuc_elements[GPUC_NUM_ELEMENTS] = {
#define GPUC_ELEMENT(text, class, width, of, precision, letters, number, string)                             \
    {.name = text,                                                                                           \
     .dtype = {.code = GPUC_DTYPE_##class, .bits = width, .lanes = 1},                                       \
     .kind = GPUC_ELEMENT_##of,                                                                              \
     .significand = precision,                                                                               \
     .suffix = letters,                                                                                      \
     .onnx = number,                                                                                         \
     .numpy = string},
#include "base/elements.def"
#undef GPUC_ELEMENT
};

enum { CODES = 16 }; /* those of DLPack */
#define SIZE_CLASS(bits) ((bits) == 8 ? 0 : (bits) == 16 ? 1 : (bits) == 32 ? 2 : 3)

const gpuc_element *gpuc_element_of(gpuc_dtype t)
{
    static const uint8_t numbers[CODES][4] = {
#define GPUC_ELEMENT(name, code, bits, ...)                                                                  \
    [GPUC_DTYPE_##code][SIZE_CLASS(bits)] = GPUC_ELEMENT_NUMBER_##code##bits + 1,
#include "base/elements.def"
#undef GPUC_ELEMENT
    };
    int number = t.code < CODES ? numbers[t.code][SIZE_CLASS(t.bits)] : 0;
    return number && gpuc_elements[number - 1].dtype.bits == t.bits ? &gpuc_elements[number - 1] : NULL;
}

/* ---- Floats narrower than float32 ---- */

gpuc_float_format gpuc_float_format_of(gpuc_dtype t)
{
    gpuc_float_format f = {.fraction_bits = gpuc_element_of(t)->significand - 1};
    f.exponent_mask = (1 << (t.bits - 1 - f.fraction_bits)) - 1;
    f.bias = f.exponent_mask >> 1;
    f.min = 1 - f.bias - f.fraction_bits;
    f.sign = UINT64_C(1) << (t.bits - 1);
    f.infinity = (uint64_t)f.exponent_mask << f.fraction_bits;
    f.nan = f.infinity | UINT64_C(1) << (f.fraction_bits - 1);
    return f;
}

static double largest(const gpuc_float_format *f)
{
    return ldexp(2 - ldexp(1, -f->fraction_bits), f->bias);
}

double gpuc_float_largest(gpuc_dtype t)
{
    gpuc_float_format f = gpuc_float_format_of(t);
    return largest(&f);
}

static double round_narrow(const gpuc_float_format *f, double x)
{
    if (!isfinite(x) || x == 0) return x;
    int exponent;
    frexp(x, &exponent);
    exponent -= f->fraction_bits + 1;
    if (exponent < f->min) exponent = f->min;
    double r = ldexp(rint(ldexp(x, -exponent)), exponent);
    if (fabs(r) > largest(f)) return copysign(INFINITY, x);
    return r == 0 ? copysign(0.0, x) : r;
}

static uint64_t narrow_bits(const gpuc_float_format *f, double x)
{
    uint64_t sign = signbit(x) ? f->sign : 0;
    x = fabs(round_narrow(f, x));
    if (isnan(x)) return f->nan;
    if (isinf(x)) return sign | f->infinity;
    if (x < ldexp(1, 1 - f->bias)) return sign | (uint64_t)ldexp(x, -f->min);
    int exponent;
    double m = frexp(x, &exponent); /* in [0.5, 1) */
    uint64_t fraction = (uint64_t)ldexp(m, f->fraction_bits + 1) & ((UINT64_C(1) << f->fraction_bits) - 1);
    return sign | (uint64_t)(exponent + f->bias - 1) << f->fraction_bits | fraction;
}

static double narrow_value(const gpuc_float_format *f, uint64_t bits)
{
    int exponent = (int)(bits >> f->fraction_bits) & f->exponent_mask;
    uint64_t fraction = bits & ((UINT64_C(1) << f->fraction_bits) - 1);
    double x;
    if (exponent == f->exponent_mask) {
        x = fraction ? (double)NAN : (double)INFINITY;
    } else if (exponent == 0) {
        x = ldexp((double)fraction, f->min);
    } else { /* the same number as a float64 */
        uint64_t wide = (uint64_t)(exponent - f->bias + 1023) << 52 | fraction << (52 - f->fraction_bits);
        memcpy(&x, &wide, sizeof x);
    }
    return bits & f->sign ? -x : x;
}

/* ---- All floats ---- */

bool gpuc_dtype_is_float(gpuc_dtype t)
{
    return gpuc_is_float(t);
}

double gpuc_float_round(gpuc_dtype t, double v)
{
    if (t.bits >= 32) return t.bits == 32 ? (double)(float)v : v;
    gpuc_float_format f = gpuc_float_format_of(t);
    return round_narrow(&f, v);
}

uint64_t gpuc_float_bits(gpuc_dtype t, double v)
{
    uint64_t bits = 0;
    if (t.bits < 32) {
        gpuc_float_format f = gpuc_float_format_of(t);
        return narrow_bits(&f, v);
    }
    float single = (float)v;
    if (t.bits == 32)
        memcpy(&bits, &single, sizeof single);
    else
        memcpy(&bits, &v, sizeof v);
    return bits;
}

double gpuc_float_value(gpuc_dtype t, uint64_t bits)
{
    double v;
    float single;
    if (t.bits < 32) {
        gpuc_float_format f = gpuc_float_format_of(t);
        return narrow_value(&f, bits);
    }
    memcpy(&v, &bits, sizeof v);
    memcpy(&single, &bits, sizeof single);
    return t.bits == 32 ? (double)single : v;
}

void gpuc_float_store(gpuc_dtype t, void *at, double v)
{
    uint64_t bits = gpuc_float_bits(t, v);
    memcpy(at, &bits, t.bits / 8);
}

double gpuc_float_load(gpuc_dtype t, const void *at)
{
    uint64_t bits = 0;
    memcpy(&bits, at, t.bits / 8);
    return gpuc_float_value(t, bits);
}
