/* SPDX-License-Identifier: Apache-2.0 */
/* How the files of elementwise operators write their computes: the body as an expression of the operands. */
#ifndef GPUC_TOPI_ELEMWISE_ELEMWISE_H
#define GPUC_TOPI_ELEMWISE_ELEMWISE_H

#include "op/rows.h"
#include "topi/util.h"

typedef gpuc_expr (*gpuc_topi_unary_fn)(const gpuc_op_call *call, gpuc_expr x);
typedef gpuc_expr (*gpuc_topi_binary_fn)(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b);

/* wide: a 16-bit float is computed in float32 and rounded once. */
void gpuc_topi_unary(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs,
                     gpuc_topi_unary_fn fn, bool wide);
void gpuc_topi_infer_broadcast(gpuc_op_call *call); /* of all inputs; the type of input 0 */

/* A number of the type that another expression has. */
static inline gpuc_expr gpuc_topi_imm(gpuc_ctx *ctx, gpuc_expr like, double v)
{
    return gpuc_imm(ctx, gpuc_expr_dtype(like), v);
}

/* x to the power of n, wrapping: of integers. A negative power of anything but 1 and -1 is 0. */
gpuc_expr gpuc_topi_power_of(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr n);
gpuc_expr gpuc_topi_sigmoid_of(gpuc_ctx *ctx, gpuc_expr x);

/* <name>_compute: expr is of call, ctx and x. */
#define UNARY_AS(name, wide, expr)                                                                           \
    static gpuc_expr name##_of(const gpuc_op_call *call, gpuc_expr x)                                        \
    {                                                                                                        \
        gpuc_ctx *ctx = call->ctx;                                                                           \
        (void)ctx;                                                                                           \
        return expr;                                                                                         \
    }                                                                                                        \
    static void name##_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)        \
    {                                                                                                        \
        gpuc_topi_unary(call, ins, outs, name##_of, wide);                                                   \
    }
#define UNARY(name, expr) UNARY_AS(name, false, expr)
#define UNARY_WIDE(name, expr) UNARY_AS(name, true, expr)

#define ROW1(nm, fn, inf, set, at, tp, nn, on)                                                               \
    {                                                                                                        \
        .name = nm, .min_in = 1, .max_in = 1, .types = {set}, .attrs = at, .infer = inf,                     \
        .compute = fn##_compute, .pattern = GPUC_FUSE_ELEMWISE, .topi = tp, .nnvm = nn, .onnx = on           \
    }
#define ROW2(nm, fn, inf, set, tp, nn, on)                                                                   \
    {                                                                                                        \
        .name = nm, .min_in = 2, .max_in = 2, .types = {set, GPUC_T_LIKE}, .infer = inf,                     \
        .compute = fn##_compute, .pattern = GPUC_FUSE_BROADCAST, .topi = tp, .nnvm = nn, .onnx = on          \
    }

#endif
