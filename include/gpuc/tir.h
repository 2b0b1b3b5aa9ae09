/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar and vector expressions: the language of compute bodies, shapes and indices.
 *
 * Expressions are immutable and interned in their context: equal expressions are the same pointer
 * (variables are unique by identity). Builders fold constants and canonicalise, insert nothing the
 * caller did not ask for, and raise on operands of different types, except that an operand made by
 * gpuc_int may be of another integer type or float and is then converted. Everything here raises. */
#ifndef GPUC_TIR_H
#define GPUC_TIR_H

#include <gpuc/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef const struct gpuc_tir_expr *gpuc_expr;
typedef const struct gpuc_tir_stmt *gpuc_stmt; /* immutable, too */
typedef struct gpuc_tir_func gpuc_tir_func;    /* loop IR with parameters: what gpuc_schedule_lower makes */

/* The type of indices and extents as written; a lowering pass narrows it. */
#define GPUC_INDEX GPUC_INT64

/* A new variable; two of one name are different. The name is copied. */
GPUC_API gpuc_expr gpuc_var(gpuc_ctx *ctx, const char *name, gpuc_dtype dtype);
GPUC_API gpuc_expr gpuc_int(gpuc_ctx *ctx, int64_t value);                  /* of type GPUC_INDEX */
GPUC_API gpuc_expr gpuc_imm(gpuc_ctx *ctx, gpuc_dtype dtype, double value); /* any type, converted */
GPUC_API gpuc_expr gpuc_imm_int(gpuc_ctx *ctx, gpuc_dtype dtype,
                                int64_t value); /* exact, wraps to the type */
GPUC_API gpuc_expr gpuc_cast(gpuc_ctx *ctx, gpuc_dtype dtype,
                             gpuc_expr a);                 /* C rules; float to int saturates, NaN to 0 */
GPUC_API gpuc_dtype gpuc_expr_dtype(gpuc_expr e);          /* the type of its value */
GPUC_API bool gpuc_expr_is_int(gpuc_expr e, int64_t *out); /* an integer constant? */

GPUC_API gpuc_expr gpuc_add(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b); /* a + b */
GPUC_API gpuc_expr gpuc_sub(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b); /* a - b */
GPUC_API gpuc_expr gpuc_mul(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b); /* a * b */
GPUC_API gpuc_expr gpuc_div(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b); /* integers: towards zero; x/0 is 0 */
GPUC_API gpuc_expr gpuc_mod(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b); /* sign of a (fmod for floats) */
GPUC_API gpuc_expr gpuc_floordiv_(gpuc_ctx *ctx, gpuc_expr a,
                                  gpuc_expr b); /* integers: rounds down; x/0 is 0 */
GPUC_API gpuc_expr gpuc_floormod_(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b); /* sign of b */
GPUC_API gpuc_expr gpuc_min(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b);       /* NaN if either is NaN */
GPUC_API gpuc_expr gpuc_max(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b);       /* NaN if either is NaN */
GPUC_API gpuc_expr gpuc_eq(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b);        /* comparisons give bool */
GPUC_API gpuc_expr gpuc_ne(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b);        /* a != b */
GPUC_API gpuc_expr gpuc_lt(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b);        /* a < b */
GPUC_API gpuc_expr gpuc_le(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b);        /* a <= b */
GPUC_API gpuc_expr gpuc_gt(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b);  /* stored as lt with operands swapped */
GPUC_API gpuc_expr gpuc_ge(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b);  /* a >= b */
GPUC_API gpuc_expr gpuc_and(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b); /* on bool */
GPUC_API gpuc_expr gpuc_or(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b);  /* on bool */
GPUC_API gpuc_expr gpuc_not(gpuc_ctx *ctx, gpuc_expr a);              /* on bool */
/* Both arms are evaluated and must be safe to evaluate. */
GPUC_API gpuc_expr gpuc_select(gpuc_ctx *ctx, gpuc_expr cond, gpuc_expr a, gpuc_expr b);
/* Only the chosen arm is evaluated: guards loads that would be out of range. */
GPUC_API gpuc_expr gpuc_if_then_else(gpuc_ctx *ctx, gpuc_expr cond, gpuc_expr a, gpuc_expr b);
/* Any row of src/tir/ops.def by its text: "exp", "pow", "floor", "bitand", "isnan", ... */
GPUC_API gpuc_expr gpuc_call1(gpuc_ctx *ctx, const char *op, gpuc_expr a);
/* The same with two operands. */
GPUC_API gpuc_expr gpuc_call2(gpuc_ctx *ctx, const char *op, gpuc_expr a, gpuc_expr b);

/* An expression as text, in the context. */
GPUC_API const char *gpuc_expr_text(gpuc_ctx *ctx, gpuc_expr e);
/* A function as text that the parser reads back, in the context. */
GPUC_API const char *gpuc_tir_text(gpuc_ctx *ctx, const gpuc_tir_func *f);
/* Reads what gpuc_tir_text prints (the grammar: src/tir/print.h). Raises INVALID_DATA "origin:line:col: ...". */
GPUC_API gpuc_tir_func *gpuc_tir_parse(gpuc_ctx *ctx, const char *text, const char *origin);

#ifdef __cplusplus
}
#endif
#endif
