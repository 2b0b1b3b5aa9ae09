/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of element types: what an operator's row says of its inputs. */
#ifndef GPUC_DTYPES_H
#define GPUC_DTYPES_H

#include <gpuc/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t gpuc_dtypes; /* or of GPUC_T_ bits */

/* A bit for each element type, and sets of them. */
enum {
    GPUC_T_INT8 = 1 << 0,
    GPUC_T_INT16 = 1 << 1,
    GPUC_T_INT32 = 1 << 2,
    GPUC_T_INT64 = 1 << 3,
    GPUC_T_UINT8 = 1 << 4,
    GPUC_T_UINT16 = 1 << 5,
    GPUC_T_UINT32 = 1 << 6,
    GPUC_T_UINT64 = 1 << 7,
    GPUC_T_FLOAT16 = 1 << 8,
    GPUC_T_FLOAT32 = 1 << 9,
    GPUC_T_FLOAT64 = 1 << 10,
    GPUC_T_BFLOAT16 = 1 << 11,
    GPUC_T_BOOL = 1 << 12,
    GPUC_T_SINTS = 0x000f,
    GPUC_T_UINTS = 0x00f0,
    GPUC_T_INTS = 0x00ff,
    GPUC_T_FLOATS = 0x0f00,
    GPUC_T_NUMBERS = GPUC_T_INTS | GPUC_T_FLOATS,
    GPUC_T_ANY = GPUC_T_NUMBERS | GPUC_T_BOOL,
    /* For an input: it has the type of input 0, or of input 1. */
    GPUC_T_LIKE = 1 << 16,
    GPUC_T_LIKE_1 = 1 << 17
};

/* The element types that tensors may have. */
enum { GPUC_DTYPE_COUNT = 13 };
extern GPUC_API const gpuc_dtype gpuc_dtype_list[GPUC_DTYPE_COUNT]; /* in the order of the bits */

/* Whether t is one of the types of the set. */
GPUC_API bool gpuc_dtypes_have(gpuc_dtypes set, gpuc_dtype t);
GPUC_API const char *gpuc_dtypes_text(gpuc_ctx *ctx, gpuc_dtypes set); /* "integers, float32 or bools" */

#ifdef __cplusplus
}
#endif
#endif
