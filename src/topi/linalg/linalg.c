/* SPDX-License-Identifier: Apache-2.0 */
/* Linear algebra on the last two dimensions. */
#include "topi/accumulate.h"
#include "topi/families.h"
#include "topi/parallel.h"
#include "op/rows.h"

static void infer_det(gpuc_op_call *call)
{
    const gpuc_tensor_type *t = &call->in[0];
    if (t->ndim < 2) gpuc_topi_fail(call, "takes matrices, not %d dimensions", t->ndim);
    gpuc_expr rows = t->dims[t->ndim - 2], columns = t->dims[t->ndim - 1];
    if (rows && columns && rows != columns)
        gpuc_topi_require(call, gpuc_eq(call->ctx, rows, columns),
                          "a matrix of %s rows and %s columns is not square", gpuc_expr_text(call->ctx, rows),
                          gpuc_expr_text(call->ctx, columns));
    gpuc_topi_set_out(call, 0, t->dtype, t->ndim - 2, t->dims);
}

/* One invocation's matrix, in a workspace. */
typedef struct matrix {
    gpuc_ctx *ctx;
    const gpuc_tir_buffer *at;
    gpuc_expr first, n;
} matrix;

static gpuc_expr place(const matrix *m, gpuc_expr i, gpuc_expr j)
{
    gpuc_ctx *ctx = m->ctx;
    return gpuc_add(ctx, m->first, gpuc_add(ctx, gpuc_mul(ctx, i, m->n), j));
}

static gpuc_expr get(const matrix *m, gpuc_expr i, gpuc_expr j)
{
    return gpuc_tir_load1(m->ctx, m->at, place(m, i, j));
}

static gpuc_stmt set(const matrix *m, gpuc_expr i, gpuc_expr j, gpuc_expr value)
{
    return gpuc_tir_store1(m->ctx, m->at, place(m, i, j), value);
}

static gpuc_expr index_var(gpuc_ctx *ctx, const char *name)
{
    return gpuc_var(ctx, name, GPUC_INDEX);
}

/* for (var in [from, n)) */
static gpuc_stmt loop_from(const matrix *m, gpuc_expr var, gpuc_expr from, gpuc_stmt body)
{
    return gpuc_tir_for_(m->ctx, var, from, gpuc_sub(m->ctx, m->n, from), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE,
                         body);
}

/* Row `pivot` becomes that of the largest element of column k on or below the diagonal. */
static gpuc_stmt find_pivot(const matrix *m, gpuc_expr k, const gpuc_tir_buffer *pivot)
{
    gpuc_ctx *ctx = m->ctx;
    gpuc_expr i = index_var(ctx, "i"), best = gpuc_topi_par_get(ctx, pivot);
    gpuc_expr larger =
        gpuc_gt(ctx, gpuc_call1(ctx, "abs", get(m, i, k)), gpuc_call1(ctx, "abs", get(m, best, k)));
    gpuc_stmt search = loop_from(m, i, k, gpuc_tir_if_(ctx, larger, gpuc_topi_par_set(ctx, pivot, i), NULL));
    return gpuc_tir_seq2(ctx, gpuc_topi_par_set(ctx, pivot, k), search);
}

static gpuc_stmt swap_rows(const matrix *m, gpuc_expr k, const gpuc_tir_buffer *pivot,
                           const gpuc_tir_buffer *det)
{
    gpuc_ctx *ctx = m->ctx;
    gpuc_expr j = index_var(ctx, "j"), p = gpuc_topi_par_get(ctx, pivot), d = gpuc_topi_par_get(ctx, det);
    gpuc_expr kept = gpuc_var(ctx, "kept", gpuc_expr_dtype(d));
    gpuc_stmt swap = gpuc_tir_seq2(ctx, set(m, k, j, get(m, p, j)), set(m, p, j, kept));
    gpuc_stmt rows = loop_from(m, j, k, gpuc_tir_let(ctx, kept, get(m, k, j), swap));
    gpuc_stmt sign = gpuc_topi_par_set(ctx, det, gpuc_sub(ctx, gpuc_imm(ctx, gpuc_expr_dtype(d), 0), d));
    return gpuc_tir_if_(ctx, gpuc_ne(ctx, p, k), gpuc_tir_seq2(ctx, rows, sign), NULL);
}

/* Subtracts multiples of row k from those below. */
static gpuc_stmt eliminate(const matrix *m, gpuc_expr k)
{
    gpuc_ctx *ctx = m->ctx;
    gpuc_expr i = index_var(ctx, "i"), j = index_var(ctx, "j"), next = gpuc_add(ctx, k, gpuc_int(ctx, 1));
    gpuc_expr diagonal = get(m, k, k), factor = gpuc_var(ctx, "factor", gpuc_expr_dtype(diagonal));
    gpuc_expr less = gpuc_sub(ctx, get(m, i, j), gpuc_mul(ctx, factor, get(m, k, j)));
    gpuc_stmt row = loop_from(m, j, next, set(m, i, j, less));
    row = gpuc_tir_let(ctx, factor, gpuc_div(ctx, get(m, i, k), diagonal), row);
    gpuc_expr zero = gpuc_imm(ctx, gpuc_expr_dtype(diagonal), 0);
    return gpuc_tir_if_(ctx, gpuc_ne(ctx, diagonal, zero), loop_from(m, i, next, row), NULL);
}

/* Gauss' elimination with partial pivoting, a matrix to an invocation. */
static void det_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *t = &call->in[0];
    int batch = t->ndim - 2;
    gpuc_dtype work = gpuc_topi_accumulator(t->dtype);
    gpuc_te_op *op = gpuc_topi_par_extern(call, "det", 1, ins, 1, call->out);
    gpuc_expr number = index_var(ctx, "matrix"), rest = number, count = gpuc_int(ctx, 1),
              zero = gpuc_int(ctx, 0);
    gpuc_expr at[GPUC_TOPI_MAX_DIMS], i = index_var(ctx, "i"), j = index_var(ctx, "j"),
                                      k = index_var(ctx, "k");
    for (int d = batch - 1; d >= 0; d--) {
        at[d] = d ? gpuc_floormod_(ctx, rest, t->dims[d]) : rest;
        rest = gpuc_floordiv_(ctx, rest, t->dims[d]);
        count = gpuc_mul(ctx, count, t->dims[d]);
    }
    matrix m = {.ctx = ctx, .n = t->dims[batch]};
    gpuc_expr size = gpuc_mul(ctx, m.n, m.n);
    gpuc_tir_buffer *space = gpuc_topi_par_workspace(ctx, "rows", work, gpuc_mul(ctx, count, size));
    m.at = space;
    m.first = gpuc_mul(ctx, number, size);
    gpuc_tir_buffer *pivot = gpuc_topi_par_cell(ctx, "pivot", GPUC_INDEX),
                    *det = gpuc_topi_par_cell(ctx, "det", work);
    at[batch] = i;
    at[batch + 1] = j;
    gpuc_expr value = gpuc_cast(ctx, work, gpuc_tir_load(ctx, op->input_buffers[0], t->ndim, at));
    gpuc_expr product = gpuc_mul(ctx, gpuc_topi_par_get(ctx, det), get(&m, k, k));
    gpuc_stmt step[] = {find_pivot(&m, k, pivot), swap_rows(&m, k, pivot, det),
                        gpuc_topi_par_set(ctx, det, product), eliminate(&m, k)};
    gpuc_expr result = gpuc_cast(ctx, t->dtype, gpuc_topi_par_get(ctx, det));
    gpuc_stmt all[] = {
        loop_from(&m, i, zero, loop_from(&m, j, zero, set(&m, i, j, value))),
        gpuc_topi_par_set(ctx, det, gpuc_imm(ctx, work, 1)),
        loop_from(&m, k, zero, gpuc_tir_seq(ctx, 4, step)),
        gpuc_tir_store(ctx, op->output_buffers[0], batch, at, result),
    };
    gpuc_stmt body = gpuc_tir_alloc(ctx, pivot, gpuc_tir_alloc(ctx, det, gpuc_tir_seq(ctx, 4, all)));
    op->extern_body = gpuc_tir_alloc(ctx, space, gpuc_topi_par_loop(ctx, number, count, body));
    outs[0] = op->outputs[0];
}

const gpuc_op gpuc_topi_ops_linalg[] = {
    {.name = "det",
     .min_in = 1,
     .max_in = 1,
     .types = {GPUC_T_FLOATS},
     .infer = infer_det,
     .compute = det_compute,
     .pattern = GPUC_FUSE_OPAQUE,
     .topi = "det",
     .nnvm = "",
     .onnx = "Det"},
};
const size_t gpuc_topi_ops_linalg_count = sizeof gpuc_topi_ops_linalg / sizeof gpuc_topi_ops_linalg[0];
