/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that print expressions of C-like languages share. */
#ifndef GPUC_CODEGEN_CLIKE_PARTS_H
#define GPUC_CODEGEN_CLIKE_PARTS_H

#include "codegen/clike.h"

/* ---- clike_expr.c ---- */
/* An operand that the language does not widen: a broadcast is a vector. */
void gpuc_clike_plain(gpuc_clike *p, gpuc_expr e, int prec);
/* "a op b", its operands by that function. */
void gpuc_clike_infix(gpuc_clike *p, gpuc_tir_op op, gpuc_expr a, gpuc_expr b, int prec,
                      void (*operand)(gpuc_clike *, gpuc_expr, int));
/* A call of a helper's row for the type. */
void gpuc_clike_call(gpuc_clike *p, const char *row, gpuc_dtype t, int n, const gpuc_expr *args);
/* "cond ? a : b" of scalars, or the language's select. */
void gpuc_clike_choice(gpuc_clike *p, gpuc_expr e, int prec);
gpuc_dtype gpuc_clike_unsigned_of(gpuc_dtype t);
/* Whether t is float16 or bfloat16 and held in another type. */
bool gpuc_clike_is_half(gpuc_clike *p, gpuc_dtype t);

/* ---- clike_arith.c ---- */
/* The value as an unsigned one of the same bits. */
void gpuc_clike_as_unsigned(gpuc_clike *p, gpuc_expr e, int prec);
/* +, - and * of integers, which wrap, and of floats. */
void gpuc_clike_arithmetic(gpuc_clike *p, gpuc_expr e, int prec);
void gpuc_clike_division(gpuc_clike *p, gpuc_expr e, int prec);

#endif
