/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "topi/nn/products.h"

static void infer_dense(gpuc_op_call *call)
{
    const gpuc_tensor_type *x = &call->in[0], *w = &call->in[1];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    if (x->ndim < 1 || w->ndim != 2)
        gpuc_topi_fail(call,
                       "takes data of at least one dimension and a weight of two, not %d and %d dimensions",
                       x->ndim, w->ndim);
    gpuc_dtype out = gpuc_topi_product_type(call);
    gpuc_topi_same_dim(call, x->dims[x->ndim - 1], w->dims[1], "inner dimensions");
    memcpy(dims, x->dims, sizeof *dims * (size_t)x->ndim);
    dims[x->ndim - 1] = w->dims[0];
    gpuc_topi_set_out(call, 0, out, x->ndim, dims);
}

static void dense_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr x[GPUC_TOPI_MAX_DIMS];
    int n = call->out[0].ndim;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], x),
              *k = gpuc_te_reduce_axis(ctx, call->in[1].dims[1], "k");
    gpuc_expr w[] = {x[n - 1], gpuc_iter_var(k)};
    x[n - 1] = gpuc_iter_var(k);
    gpuc_expr a = gpuc_topi_factor(call, gpuc_te_read(ctx, ins[0], n, x));
    gpuc_expr product = gpuc_mul(ctx, a, gpuc_topi_factor(call, gpuc_te_read(ctx, ins[1], 2, w)));
    gpuc_expr sum = gpuc_te_reduce(ctx, "sum", product, 1, &k);
    outs[0] = gpuc_topi_rounded(call, gpuc_topi_compute(ctx, "dense", "matmul", n, axes, sum));
}

/* Whether b is [..., N/b, K, b]: blocks of columns, the last filled up. */
static bool is_blocked(const gpuc_op_call *call)
{
    const char *layout = gpuc_attrs_get_string(call->attrs, "b_layout", "KN");
    if (!strcmp(layout, "KN")) return false;
    if (strcmp(layout, "NKn")) gpuc_topi_fail(call, "b_layout is '%s'; known are KN and NKn", layout);
    return true;
}

/* The dimensions of an operand's rows and columns, by numpy.matmul's rules for ranks 1 and up. */
typedef struct operand {
    int ndim, batch; /* leading dimensions */
    int row, col;    /* dimension numbers; -1: it has none (a vector) */
    int block;       /* columns are in blocks, whose elements this dimension has; 0: they are not */
} operand;

/* The number of columns of a b in blocks: those that are asked for, or all. */
static gpuc_expr columns_of(const gpuc_op_call *call, const operand *b)
{
    if (!b->block) return call->in[1].dims[b->col];
    int64_t have = gpuc_topi_static_dim(call, 1, b->col) * gpuc_topi_static_dim(call, 1, b->block),
            some = gpuc_attrs_get_int(call->attrs, "columns", 0);
    if (some < 0 || some > have)
        gpuc_topi_fail(call, "columns=%lld, b has %lld", (long long)some, (long long)have);
    return gpuc_int(call->ctx, some ? some : have);
}

static operand describe(const gpuc_op_call *call, int i, const char *transpose)
{
    int n = call->in[i].ndim;
    bool t = gpuc_attrs_get_int(call->attrs, transpose, 0);
    if (n == 0) gpuc_topi_fail(call, "input %d is a scalar", i);
    operand o = {.ndim = n, .batch = n > 2 ? n - 2 : 0, .row = n - 2, .col = n - 1};
    if (i == 1 && is_blocked(call)) {
        if (n < 3 || t) gpuc_topi_fail(call, "blocks of columns need three dimensions, and no transpose_b");
        return (operand){.ndim = n, .batch = n - 3, .col = n - 3, .row = n - 2, .block = n - 1};
    }
    if (n == 1) {
        o.row = i == 0 ? -1 : 0;
        o.col = i == 0 ? 0 : -1;
    } else if (t) {
        o.row = n - 1;
        o.col = n - 2;
    }
    return o;
}

static void infer_matmul(gpuc_op_call *call)
{
    operand a = describe(call, 0, "transpose_a"), b = describe(call, 1, "transpose_b");
    gpuc_dtype out = gpuc_topi_product_type(call);
    gpuc_topi_same_dim(call, call->in[0].dims[a.col], call->in[1].dims[b.row], "inner dimensions");
    int batch = a.batch > b.batch ? a.batch : b.batch, n = batch;
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    for (int i = 0; i < batch; i++) {
        int ia = i - (batch - a.batch), ib = i - (batch - b.batch);
        gpuc_expr one = gpuc_int(call->ctx, 1);
        dims[i] = gpuc_topi_broadcast_dim(call, ia >= 0 ? call->in[0].dims[ia] : one,
                                          ib >= 0 ? call->in[1].dims[ib] : one);
    }
    if (a.row >= 0) dims[n++] = call->in[0].dims[a.row];
    if (b.col >= 0) dims[n++] = columns_of(call, &b);
    gpuc_topi_set_out(call, 0, out, n, dims);
}

static void batch_index(const gpuc_op_call *call, int i, const operand *o, int batch, const gpuc_expr *vars,
                        gpuc_expr *index)
{
    for (int k = 0; k < o->batch; k++) {
        gpuc_expr dim = call->in[i].dims[k], zero = gpuc_int(call->ctx, 0), one = gpuc_int(call->ctx, 1);
        int at = k + batch - o->batch;
        index[k] = dim == call->out[0].dims[at] || dim->kind == GPUC_EXPR_INT
                       ? vars[at]
                       : gpuc_select(call->ctx, gpuc_eq(call->ctx, dim, one), zero, vars[at]);
        if (gpuc_tir_is_const(dim, 1)) index[k] = zero;
    }
}

static void matmul_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    operand a = describe(call, 0, "transpose_a"), b = describe(call, 1, "transpose_b");
    int batch = a.batch > b.batch ? a.batch : b.batch, n = batch;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], x[GPUC_TOPI_MAX_DIMS], y[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_iter *k = gpuc_te_reduce_axis(ctx, call->in[0].dims[a.col], "k");
    batch_index(call, 0, &a, batch, vars, x);
    batch_index(call, 1, &b, batch, vars, y);
    if (a.row >= 0) x[a.row] = vars[n++];
    if (b.block) {
        gpuc_expr block = call->in[1].dims[b.block];
        y[b.col] = gpuc_floordiv_(ctx, vars[n], block);
        y[b.block] = gpuc_floormod_(ctx, vars[n++], block);
    } else if (b.col >= 0) {
        y[b.col] = vars[n++];
    }
    x[a.col] = y[b.row] = gpuc_iter_var(k);
    gpuc_expr left = gpuc_topi_factor(call, gpuc_te_read(ctx, ins[0], a.ndim, x));
    gpuc_expr product = gpuc_mul(ctx, left, gpuc_topi_factor(call, gpuc_te_read(ctx, ins[1], b.ndim, y)));
    gpuc_expr sum = gpuc_te_reduce(ctx, "sum", product, 1, &k);
    outs[0] = gpuc_topi_rounded(call, gpuc_topi_compute(ctx, "matmul", b.block ? "matmul_nsc" : "matmul",
                                                        call->out[0].ndim, axes, sum));
}

/* The number of columns of the result. */
static void take_units(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    if (!w->in || w->num_written < 2 || w->in[1].ndim < 2) return;
    int last = w->in[1].ndim - 1;
    bool rows = strstr(w->op->name, ".dense") || gpuc_attrs_get_int(w->attrs, "transpose_b", 0);
    gpuc_op_must_be(w, spec->name, value->i, 1, rows ? last - 1 : last);
}

#define UNITS SPELLED("units", INT, take_units, NULL, "must be the columns of the result")

const gpuc_attr_spec gpuc_topi_dense_attrs[] = {GPUC_TOPI_OUT_DTYPE, UNITS, USE_BIAS_ALWAYS, {0}};
const gpuc_attr_spec gpuc_topi_matmul_attrs[] = {INT("transpose_a", 0),
                                                 INT("transpose_b", 0),
                                                 STRING("b_layout", "KN"),
                                                 INT("columns", 0),
                                                 GPUC_TOPI_OUT_DTYPE,
                                                 UNITS,
                                                 {0}};

const gpuc_op gpuc_topi_ops_matmul[] = {
    {.name = "nn.dense",
     .min_in = 2,
     .max_in = 2,
     .types = {GPUC_T_NUMBERS},
     .attrs = gpuc_topi_dense_attrs,
     .infer = infer_dense,
     .compute = dense_compute,
     .pattern = GPUC_FUSE_OUT_FUSABLE,
     .topi = "dense",
     .nnvm = "dense",
     .onnx = "Gemm"},
    {.name = "nn.matmul",
     .min_in = 2,
     .max_in = 2,
     .types = {GPUC_T_NUMBERS},
     .attrs = gpuc_topi_matmul_attrs,
     .infer = infer_matmul,
     .compute = matmul_compute,
     .pattern = GPUC_FUSE_OUT_FUSABLE,
     .topi = "matmul,nn.batch_matmul,batch_matmul",
     .nnvm = "matmul",
     .onnx = "MatMul"},
};
const size_t gpuc_topi_ops_matmul_count = sizeof gpuc_topi_ops_matmul / sizeof gpuc_topi_ops_matmul[0];
