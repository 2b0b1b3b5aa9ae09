/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of operators and casts on single values: what builders fold with, and the reference that the
 * evaluator and the generators are held to. Nothing here raises. */
#ifndef GPUC_TIR_VALUE_H
#define GPUC_TIR_VALUE_H

#include "tir/node.h"

/* Integers and bool are sign- or zero-extended from their type (uint64: the bits); floats are doubles that
 * their type can hold. */
typedef union gpuc_tir_value {
    int64_t i;
    double f;
} gpuc_tir_value;

/* Wraps v to the type's range, in two's complement; bool: v != 0. */
int64_t gpuc_tir_wrap(gpuc_dtype t, int64_t v);
/* Rounds v to the nearest value of a float type, halves to even. NaN becomes the one quiet NaN. */
double gpuc_tir_round(gpuc_dtype t, double v);
/* CAST: float to integer truncates and saturates, NaN gives 0; to bool: v != 0. */
gpuc_tir_value gpuc_tir_convert(gpuc_dtype to, gpuc_dtype from, gpuc_tir_value v);
/* Applies op to operands of type t (of SELECT and IF_THEN_ELSE: t is that of the arms, a[0] is bool). */
gpuc_tir_value gpuc_tir_apply(gpuc_tir_op op, gpuc_dtype t, const gpuc_tir_value *a);
/* The same bits read as another type of the same width. */
gpuc_tir_value gpuc_tir_reinterpret(gpuc_dtype to, gpuc_dtype from, gpuc_tir_value v);
/* Whether every value of `from` exists in `to`, so that a cast there and back changes nothing. */
bool gpuc_tir_holds_all(gpuc_dtype to, gpuc_dtype from);

#endif
