/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of element types: elements.def as a table, and the values of floats on the host. */
#ifndef GPUC_BASE_ELEMENT_H
#define GPUC_BASE_ELEMENT_H

#include <gpuc/base.h>

typedef enum gpuc_element_kind {
    GPUC_ELEMENT_SIGNED,
    GPUC_ELEMENT_UNSIGNED,
    GPUC_ELEMENT_FLOAT,
    GPUC_ELEMENT_CODED,
    GPUC_ELEMENT_BOOL
} gpuc_element_kind;

typedef struct gpuc_element {
    const char *name;
    gpuc_dtype dtype;
    gpuc_element_kind kind;
    int significand;
    const char *suffix;
    int onnx;
    const char *numpy;
} gpuc_element;

enum {
#define GPUC_ELEMENT(name, code, bits, ...) GPUC_ELEMENT_NUMBER_##code##bits,
#include "base/elements.def"
#undef GPUC_ELEMENT
    GPUC_NUM_ELEMENTS
};
extern const gpuc_element gpuc_elements[GPUC_NUM_ELEMENTS];

/* Whatever its lanes; NULL: it is none (a handle). */
const gpuc_element *gpuc_element_of(gpuc_dtype t);

/* ---- Kinds of types (of any number of lanes) ---- */

/* One bit per code. */
enum {
#define GPUC_ELEMENT(name, code, bits, kind, ...)                                                            \
    | (GPUC_ELEMENT_##kind == GPUC_ELEMENT_CODED) << GPUC_DTYPE_##code
    GPUC_CODED_CODES = 0
#include "base/elements.def"
#undef GPUC_ELEMENT
    ,
    GPUC_FLOAT_CODES = GPUC_CODED_CODES | 1 << GPUC_DTYPE_FLOAT
};

static inline bool gpuc_is_coded(gpuc_dtype t)
{
    return (int)GPUC_CODED_CODES >> t.code & 1;
}
static inline bool gpuc_is_float(gpuc_dtype t)
{
    return (int)GPUC_FLOAT_CODES >> t.code & 1;
}
static inline bool gpuc_is_integer(gpuc_dtype t) /* not bool */
{
    return t.code == GPUC_DTYPE_INT || t.code == GPUC_DTYPE_UINT;
}
static inline bool gpuc_is_bool(gpuc_dtype t)
{
    return t.code == GPUC_DTYPE_BOOL;
}
static inline bool gpuc_same_element(gpuc_dtype a, gpuc_dtype b) /* equal but for lanes */
{
    return a.code == b.code && a.bits == b.bits;
}

/* ---- Values of float types ---- */
/* To the nearest value of the type, halves to even. */
double gpuc_float_round(gpuc_dtype t, double v);
/* The bits of an element that is v rounded, and what they mean. NaN has one form. */
uint64_t gpuc_float_bits(gpuc_dtype t, double v);
double gpuc_float_value(gpuc_dtype t, uint64_t bits);
double gpuc_float_largest(gpuc_dtype t);

/* Floats narrower than float32: a number is fraction * 2^(exponent - bias - fraction_bits). */
typedef struct gpuc_float_format {
    int fraction_bits, exponent_mask, bias;
    int min;                      /* 2^least is the smallest number */
    uint64_t sign, infinity, nan; /* bits */
} gpuc_float_format;
gpuc_float_format gpuc_float_format_of(gpuc_dtype t);

#endif
