/* SPDX-License-Identifier: Apache-2.0 */
/* Without a guard: ops.c includes it once per type, to make a function over arrays of each operator that the
 * type has, and the table ev_ops_<S> of them. S is the type's name, VALUE picks the column of tir/ops.def,
 * KIND is the flag of the operators that are allowed; T and the rest are those of tir/op_values.h. */
#define OPS_JOIN(what, e, s) what##_##e##_##s
#define OPS_NAME(what, e, s) OPS_JOIN(what, e, s)

#define RESULT_SAME T
#define RESULT_BOOL uint8_t
#define RESULT_ARM T

#define DEFINE_1(e, R, value) UNARY(OPS_NAME(ev, e, S), T, R, value)
#define DEFINE_2(e, R, value)                                                                                \
    BINARY(OPS_NAME(ev, e, S), T, R, value)                                                                  \
    FOLDING(OPS_NAME(ev_fold, e, S), T, value)
#define DEFINE_3(e, R, value)
#define GPUC_TIR_OP(e, text, arity, result, prec, flags, ints, floats, ...)                                  \
    DEFINE_##arity(e, RESULT_##result, VALUE(ints, floats))
#include "tir/ops.def"
#undef GPUC_TIR_OP

#define ROW_1(e, flags) [GPUC_TIR_##e] = {.unary = (flags)&KIND ? OPS_NAME(ev, e, S) : NULL},
#define ROW_2(e, flags)                                                                                      \
    [GPUC_TIR_##e] = {.binary = (flags)&KIND ? OPS_NAME(ev, e, S) : NULL,                                    \
                      .fold = (flags)&KIND && (flags)&GPUC_TIR_ASSOC ? OPS_NAME(ev_fold, e, S) : NULL},
#define ROW_3(e, flags)
#define GPUC_TIR_OP(e, text, arity, result, prec, flags, ...) ROW_##arity(e, flags)
static const ev_op_row OPS_NAME(ev, ops, S)[GPUC_TIR_OP_COUNT] = {
#include "tir/ops.def"
};
#undef GPUC_TIR_OP

#undef OPS_JOIN
#undef OPS_NAME
#undef RESULT_SAME
#undef RESULT_BOOL
#undef RESULT_ARM
#undef DEFINE_1
#undef DEFINE_2
#undef DEFINE_3
#undef ROW_1
#undef ROW_2
#undef ROW_3
#undef S
#undef T
