/* SPDX-License-Identifier: Apache-2.0 */
/* nn.sparse_dense, nn.sparse_conv2d, nn.sparse_add, nn.sparse_transpose: matrices of few elements, row by row: data, the column of each (indices), and where
 * each row begins in these (indptr, one entry more than there are rows). Elements of data are numbers (CSR) or blocks of
 * rows and columns, of which indices and indptr say which (BSR). Columns and positions beyond what is there count as the
 * nearest. */
#include <string.h>

#include "op/rows.h"
#include "topi/accumulate.h"
#include "topi/families.h"
#include "topi/parallel.h"

typedef struct sparse sparse;
struct sparse {
    gpuc_ctx *ctx;
    const gpuc_tir_buffer *data, *indices, *indptr;
    gpuc_expr rows, columns; /* of blocks, in a matrix of blocks; columns of the whole matrix */
    gpuc_expr block[2];      /* rows and columns of a block; NULL: CSR */
    /* What is multiplied with a column, for the element of the result at `at`. */
    gpuc_expr (*other)(const sparse *s, gpuc_expr column);
    const gpuc_tir_buffer *x;
    const gpuc_expr *at;
    const gpuc_op_call *call;
};

static gpuc_expr one_less(gpuc_ctx *ctx, gpuc_expr n)
{
    return gpuc_sub(ctx, n, gpuc_int(ctx, 1));
}

/* Entry i of positions, between these, as int32: there is less of all than that counts. */
static gpuc_expr position(gpuc_ctx *ctx, const gpuc_tir_buffer *positions, gpuc_expr i, gpuc_expr lo,
                          gpuc_expr hi)
{
    gpuc_dtype t = positions->dtype;
    gpuc_expr at = gpuc_tir_load1(ctx, positions, gpuc_topi_par_index(ctx, i));
    return gpuc_topi_par_to_i32(ctx,
                                gpuc_topi_par_clamp(ctx, at, gpuc_cast(ctx, t, lo), gpuc_cast(ctx, t, hi)));
}

/* Where block row `row` begins among the elements. */
static gpuc_expr begin_of(const sparse *s, gpuc_expr row)
{
    return position(s->ctx, s->indptr, row, gpuc_int(s->ctx, 0), s->data->shape[0]);
}

/* The elements of a row in order, at j, an int32. */
static gpuc_stmt each_of_row(const sparse *s, gpuc_expr row, gpuc_expr j, gpuc_stmt body)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr from = gpuc_var(ctx, "from", GPUC_INT32), none = gpuc_topi_par_i32(ctx, 0);
    gpuc_expr to = begin_of(s, gpuc_add(ctx, row, gpuc_int(ctx, 1))), all = s->data->shape[0];
    if (s->columns) /* without columns there is nothing for them to be multiplied with */
        all = gpuc_select(ctx, gpuc_lt(ctx, gpuc_int(ctx, 0), s->columns), all, gpuc_int(ctx, 0));
    all = gpuc_topi_par_to_i32(ctx, all);
    gpuc_expr count =
        gpuc_topi_par_clamp(ctx, gpuc_sub(ctx, to, from), none, all); /* says that it has a bound */
    gpuc_stmt loop = gpuc_tir_for_(ctx, j, from, count, GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, body);
    return gpuc_tir_let(ctx, from, begin_of(s, row), loop);
}

/* ---- nn.sparse_dense ---- */

static bool is_left(const gpuc_op_call *call)
{
    return gpuc_attrs_get_int(call->attrs, "sparse_lhs", 0) != 0;
}

/* Checks inputs 1 to 3, and returns the number of rows. */
static gpuc_expr infer_matrix(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *data = &call->in[1], *indices = &call->in[2], *indptr = &call->in[3];
    if (data->ndim != 1 && data->ndim != 3)
        gpuc_topi_fail(call, "input 1, the data, has %d dimensions, must have 1 (CSR) or 3 (BSR)",
                       data->ndim);
    if (indices->ndim != 1 || indptr->ndim != 1)
        gpuc_topi_fail(call, "input %d, %s, has %d dimensions, must have 1", indices->ndim != 1 ? 2 : 3,
                       indices->ndim != 1 ? "the columns" : "where rows begin",
                       indices->ndim != 1 ? indices->ndim : indptr->ndim);
    gpuc_topi_require(call, gpuc_eq(ctx, data->dims[0], indices->dims[0]),
                      "data has %s elements, and indices %s", gpuc_expr_text(ctx, data->dims[0]),
                      gpuc_expr_text(ctx, indices->dims[0]));
    gpuc_topi_require(call, gpuc_ge(ctx, indptr->dims[0], gpuc_int(ctx, 1)), "indptr is empty");
    gpuc_topi_par_countable(call, data->dims[0]);
    gpuc_expr rows = one_less(ctx, indptr->dims[0]);
    return data->ndim == 3 ? gpuc_mul(ctx, rows, data->dims[1]) : rows;
}

static void need_matrix(const gpuc_op_call *call)
{
    if (call->in[0].ndim != 2)
        gpuc_topi_fail(call, "input 0, the dense matrix, has %d dimensions, must have 2", call->in[0].ndim);
}

static void infer_sparse_dense(gpuc_op_call *call)
{
    gpuc_expr dims[2];
    need_matrix(call);
    dims[is_left(call)] = call->in[0].dims[0];
    dims[!is_left(call)] = infer_matrix(call);
    gpuc_topi_set_out(call, 0, call->in[0].dtype, 2, dims);
    gpuc_topi_par_count(call, &call->out[0], 2);
}

/* What element j of the sparse matrix adds; r: the row in a block. */
static gpuc_stmt add_element(const sparse *s, gpuc_expr r, gpuc_expr j, const gpuc_tir_buffer *sum)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr c = gpuc_var(ctx, "c", GPUC_INDEX), at[] = {gpuc_topi_par_index(ctx, j), r, c};
    gpuc_expr column = gpuc_topi_par_index(ctx, position(ctx, s->indices, j, gpuc_int(ctx, -1), s->columns));
    if (s->block[1]) column = gpuc_add(ctx, gpuc_mul(ctx, column, s->block[1]), c);
    column = gpuc_topi_par_clamp(ctx, column, gpuc_int(ctx, 0), one_less(ctx, s->columns));
    gpuc_dtype t = sum->dtype;
    gpuc_expr product = gpuc_mul(ctx, gpuc_cast(ctx, t, gpuc_tir_load(ctx, s->data, s->block[0] ? 3 : 1, at)),
                                 gpuc_cast(ctx, t, s->other(s, column)));
    gpuc_stmt add = gpuc_topi_par_set(ctx, sum, gpuc_add(ctx, gpuc_topi_par_get(ctx, sum), product));
    return s->block[1] ? gpuc_topi_par_serial(ctx, c, s->block[1], add) : add;
}

/* Each element of the result is a sum over a row of the matrix, that which its index along `axis` says. */
static void sums_of_rows(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs, int axis,
                         sparse s)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *out = &call->out[0], *data = &call->in[1];
    gpuc_te_op *op = gpuc_topi_par_extern(call, "sparse", 4, ins, 1, out);
    gpuc_tir_buffer *const *in = op->input_buffers;
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), j = gpuc_var(ctx, "j", GPUC_INT32), at[4], r = NULL;
    gpuc_topi_par_unravel(ctx, out->ndim, out->dims, i, at);
    s.ctx = ctx;
    s.call = call;
    s.x = in[0];
    s.data = in[1];
    s.indices = in[2];
    s.indptr = in[3];
    s.at = at;
    for (int k = 0; k < 2 && data->ndim == 3; k++) s.block[k] = data->dims[1 + k];
    gpuc_expr row = at[axis];
    if (s.block[0]) {
        r = gpuc_floormod_(ctx, row, s.block[0]);
        row = gpuc_floordiv_(ctx, row, s.block[0]);
    }
    gpuc_dtype wide = gpuc_topi_accumulator(out->dtype);
    gpuc_tir_buffer *sum = gpuc_topi_par_cell(ctx, "sum", wide);
    gpuc_expr empty = gpuc_imm(ctx, wide, 0);
    gpuc_stmt steps[] = {
        gpuc_topi_par_set(ctx, sum, empty),
        each_of_row(&s, row, j, add_element(&s, r, j, sum)),
        gpuc_tir_store(ctx, op->output_buffers[0], out->ndim, at,
                       gpuc_cast(ctx, out->dtype, gpuc_topi_par_get(ctx, sum))),
    };
    gpuc_stmt body = gpuc_tir_alloc(ctx, sum, gpuc_tir_seq(ctx, 3, steps));
    op->extern_body = gpuc_topi_par_loop(ctx, i, gpuc_topi_par_count(call, out, out->ndim), body);
    outs[0] = op->outputs[0];
}

static gpuc_expr dense_element(const sparse *s, gpuc_expr column)
{
    gpuc_expr place[] = {s->at[is_left(s->call)], column};
    return gpuc_tir_load(s->ctx, s->x, 2, place);
}

static void sparse_dense_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    sums_of_rows(call, ins, outs, !is_left(call),
                 (sparse){.columns = call->in[0].dims[1], .other = dense_element});
}

/* ---- nn.sparse_conv2d: a row of the matrix has the weights of an output channel, tap by tap, each of all input channels;
 * the image is padded so that the result is as large ---- */

typedef struct image {
    int channels, rows;  /* dimensions */
    const int64_t *taps; /* of rows and columns */
} image;

static image image_of(const gpuc_op_call *call)
{
    bool last = !strcmp(gpuc_attrs_get_string(call->attrs, "layout", "NHWC"), "NHWC");
    return (image){last ? 3 : 1, last ? 1 : 2, gpuc_topi_ints(call, "kernel_size", 2)};
}

static void infer_sparse_conv(gpuc_op_call *call)
{
    const gpuc_tensor_type *x = &call->in[0];
    const char *layout = gpuc_attrs_get_string(call->attrs, "layout", "NHWC");
    if (strcmp(layout, "NHWC") && strcmp(layout, "NCHW"))
        gpuc_topi_fail(call, "layout is '%s', must be NHWC or NCHW", layout);
    if (x->ndim != 4) gpuc_topi_fail(call, "input 0, the image, has %d dimensions, must have 4", x->ndim);
    image m = image_of(call);
    for (int i = 0; i < 2; i++)
        if (m.taps[i] < 1 || m.taps[i] % 2 == 0 || m.taps[i] > INT16_MAX)
            gpuc_topi_fail(call, "kernel_size has %lld, must be odd and above 0", (long long)m.taps[i]);
    gpuc_expr dims[4];
    for (int i = 0; i < 4; i++) dims[i] = x->dims[i];
    dims[m.channels] = infer_matrix(call);
    gpuc_topi_set_out(call, 0, x->dtype, 4, dims);
    gpuc_topi_par_count(call, &call->out[0], 4);
}

static gpuc_expr image_element(const sparse *s, gpuc_expr column)
{
    gpuc_ctx *ctx = s->ctx;
    image m = image_of(s->call);
    gpuc_expr channels = gpuc_max(ctx, gpuc_int(ctx, 1), s->call->in[0].dims[m.channels]),
              tap = gpuc_floordiv_(ctx, column, channels), place[4], inside = gpuc_imm(ctx, GPUC_BOOL, 1),
              zero = gpuc_int(ctx, 0), width = gpuc_int(ctx, m.taps[1]);
    place[0] = s->at[0];
    place[m.channels] = gpuc_floormod_(ctx, column, channels);
    for (int i = 0; i < 2; i++) {
        gpuc_expr t = i ? gpuc_floormod_(ctx, tap, width) : gpuc_floordiv_(ctx, tap, width);
        gpuc_expr at = gpuc_add(ctx, s->at[m.rows + i], gpuc_sub(ctx, t, gpuc_int(ctx, m.taps[i] / 2))),
                  n = s->call->in[0].dims[m.rows + i];
        inside = gpuc_and(ctx, inside, gpuc_and(ctx, gpuc_ge(ctx, at, zero), gpuc_lt(ctx, at, n)));
        place[m.rows + i] = gpuc_topi_par_clamp(ctx, at, zero, one_less(ctx, n));
    }
    return gpuc_select(ctx, inside, gpuc_tir_load(ctx, s->x, 4, place), gpuc_imm(ctx, s->x->dtype, 0));
}

static void sparse_conv_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    image m = image_of(call);
    gpuc_expr columns = gpuc_mul(ctx, call->in[0].dims[m.channels], gpuc_int(ctx, m.taps[0] * m.taps[1]));
    sums_of_rows(call, ins, outs, m.channels, (sparse){.columns = columns, .other = image_element});
}

/* ---- nn.sparse_add: the dense matrix, and then what each row adds to it ---- */

static void infer_sparse_add(gpuc_op_call *call)
{
    need_matrix(call);
    if (call->in[1].ndim != 1)
        gpuc_topi_fail(call, "input 1, the data, has %d dimensions, must have 1 (CSR)", call->in[1].ndim);
    gpuc_topi_same_dim(call, infer_matrix(call), call->in[0].dims[0], "rows of both matrices");
    gpuc_topi_infer_same(call);
    gpuc_topi_par_count(call, &call->out[0], 2);
}

static void sparse_add_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *out = &call->out[0];
    gpuc_te_op *op = gpuc_topi_par_extern(call, "sparse_add", 4, ins, 1, out);
    gpuc_tir_buffer *const *in = op->input_buffers, *y = op->output_buffers[0];
    sparse s = {.ctx = ctx, .data = in[1], .indices = in[2], .indptr = in[3], .columns = out->dims[1]};
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), row = gpuc_var(ctx, "row", GPUC_INDEX),
              j = gpuc_var(ctx, "j", GPUC_INT32), column = gpuc_var(ctx, "column", GPUC_INT32), at[2];
    gpuc_topi_par_unravel(ctx, 2, out->dims, i, at);
    gpuc_stmt copy = gpuc_tir_store(ctx, y, 2, at, gpuc_tir_load(ctx, in[0], 2, at));
    gpuc_expr place[] = {row, gpuc_topi_par_index(ctx, column)};
    gpuc_expr more = gpuc_tir_load1(ctx, s.data, gpuc_topi_par_index(ctx, j));
    gpuc_stmt add = gpuc_tir_store(ctx, y, 2, place, gpuc_add(ctx, gpuc_tir_load(ctx, y, 2, place), more));
    add = gpuc_tir_let(ctx, column, position(ctx, s.indices, j, gpuc_int(ctx, 0), one_less(ctx, s.columns)),
                       add);
    op->extern_body = gpuc_tir_seq2(ctx, gpuc_topi_par_loop(ctx, i, gpuc_topi_par_count(call, out, 2), copy),
                                    gpuc_topi_par_loop(ctx, row, out->dims[0], each_of_row(&s, row, j, add)));
    outs[0] = op->outputs[0];
}

/* ---- nn.sparse_transpose ---- */

static void infer_sparse_transpose(gpuc_op_call *call)
{
    static const char *const names[] = {"the data", "the columns", "where rows begin"};
    gpuc_ctx *ctx = call->ctx;
    for (int i = 0; i < 3; i++)
        if (call->in[i].ndim != 1)
            gpuc_topi_fail(call, "input %d, %s, has %d dimensions, must have 1", i, names[i],
                           call->in[i].ndim);
    gpuc_topi_require(call, gpuc_eq(ctx, call->in[0].dims[0], call->in[1].dims[0]),
                      "data has %s elements, and indices %s", gpuc_expr_text(ctx, call->in[0].dims[0]),
                      gpuc_expr_text(ctx, call->in[1].dims[0]));
    gpuc_topi_require(call, gpuc_ge(ctx, call->in[2].dims[0], gpuc_int(ctx, 1)), "indptr is empty");
    gpuc_topi_par_countable(call, call->in[0].dims[0]);
    gpuc_topi_par_countable(call, call->in[2].dims[0]);
    for (int i = 0; i < 3; i++) gpuc_topi_set_out(call, i, call->in[i].dtype, 1, call->in[i].dims);
    call->num_out = 3;
}

/* The column of element j, which is a row of the result. */
static gpuc_expr column_of(const sparse *s, gpuc_expr j)
{
    return position(s->ctx, s->indices, j, gpuc_int(s->ctx, 0), one_less(s->ctx, s->rows));
}

/* Rows may overlap, and have more elements than there are: sums of more count as that many, so that none leaves its type. */
static gpuc_stmt add_to(const sparse *s, const gpuc_tir_buffer *b, gpuc_expr at, gpuc_expr more)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr all = gpuc_cast(ctx, b->dtype, s->data->shape[0]), part = gpuc_cast(ctx, b->dtype, more);
    gpuc_expr before = gpuc_min(ctx, gpuc_tir_load1(ctx, b, at), gpuc_sub(ctx, all, part));
    return gpuc_tir_store1(ctx, b, at, gpuc_add(ctx, before, part));
}

/* Counts the elements of each column, adds these up, then puts each element behind those before it. The matrix has as many
 * columns as rows. One task: its time is that of reading the elements. */
static gpuc_stmt transpose_body(const sparse *s, gpuc_tir_buffer *const *out, const gpuc_tir_buffer *next)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr row = gpuc_var(ctx, "row", GPUC_INDEX), k = gpuc_var(ctx, "k", GPUC_INDEX),
              j = gpuc_var(ctx, "j", GPUC_INT32), column = gpuc_var(ctx, "column", GPUC_INT32),
              at = gpuc_var(ctx, "at", GPUC_INT32);
    gpuc_expr one = gpuc_int(ctx, 1), all = s->data->shape[0], after = gpuc_add(ctx, row, one),
              to = gpuc_topi_par_index(ctx, at), from = gpuc_topi_par_index(ctx, j),
              of = gpuc_topi_par_index(ctx, column);
    gpuc_stmt clear = gpuc_tir_store1(ctx, out[2], row, gpuc_imm_int(ctx, out[2]->dtype, 0));
    gpuc_stmt unset[] = {gpuc_tir_store1(ctx, out[0], k, gpuc_imm(ctx, out[0]->dtype, 0)),
                         gpuc_tir_store1(ctx, out[1], k, gpuc_imm_int(ctx, out[1]->dtype, 0))};
    gpuc_expr counted = gpuc_add(ctx, gpuc_topi_par_index(ctx, column_of(s, j)), one);
    gpuc_stmt sum[] = {
        add_to(s, out[2], after, gpuc_tir_load1(ctx, out[2], row)),
        gpuc_tir_store1(ctx, next, row, gpuc_topi_par_to_i32(ctx, gpuc_tir_load1(ctx, out[2], row)))};
    gpuc_stmt put[] = {gpuc_tir_store1(ctx, out[0], to, gpuc_tir_load1(ctx, s->data, from)),
                       gpuc_tir_store1(ctx, out[1], to, gpuc_cast(ctx, out[1]->dtype, row))};
    gpuc_stmt store = gpuc_tir_if_(ctx, gpuc_lt(ctx, to, all), gpuc_tir_seq(ctx, 2, put), NULL);
    gpuc_stmt move[] = {gpuc_tir_let(ctx, at, gpuc_tir_load1(ctx, next, of), store),
                        add_to(s, next, of, one)};
    gpuc_stmt moved = gpuc_tir_let(ctx, column, column_of(s, j), gpuc_tir_seq(ctx, 2, move));
    gpuc_stmt steps[] = {
        gpuc_topi_par_serial(ctx, row, gpuc_add(ctx, s->rows, one), clear),
        gpuc_topi_par_serial(ctx, k, all, gpuc_tir_seq(ctx, 2, unset)),
        gpuc_topi_par_serial(ctx, row, s->rows, each_of_row(s, row, j, add_to(s, out[2], counted, one))),
        gpuc_topi_par_serial(ctx, row, s->rows, gpuc_tir_seq(ctx, 2, sum)),
        gpuc_topi_par_serial(ctx, row, s->rows, each_of_row(s, row, j, moved)),
    };
    gpuc_stmt body = gpuc_tir_seq(ctx, sizeof steps / sizeof *steps, steps);
    return gpuc_topi_par_loop(ctx, gpuc_var(ctx, "once", GPUC_INDEX), one, body);
}

static void sparse_transpose_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_te_op *op = gpuc_topi_par_extern(call, "sparse_transpose", 3, ins, 3, call->out);
    gpuc_tir_buffer *const *in = op->input_buffers;
    sparse s = {
        .ctx = ctx, .data = in[0], .indices = in[1], .indptr = in[2], .rows = one_less(ctx, in[2]->shape[0])};
    gpuc_tir_buffer *next = gpuc_topi_par_workspace(ctx, "next", GPUC_INT32, in[2]->shape[0]);
    op->extern_body = gpuc_tir_alloc(ctx, next, transpose_body(&s, op->output_buffers, next));
    for (int i = 0; i < 3; i++) outs[i] = op->outputs[i];
}

#define POSITIONS (GPUC_T_INT32 | GPUC_T_INT64)
ATTRS(sparse_dense_attrs, INT("sparse_lhs", 0))
ATTRS(sparse_conv_attrs, STRING("layout", "NHWC"), SPACE_INTS("kernel_size", 1))

const gpuc_op gpuc_topi_ops_sparse[] = {
    ALONE("nn.sparse_dense", 4, 4, sparse_dense_attrs, infer_sparse_dense, sparse_dense_compute,
          "sparse_dense", "", "", GPUC_T_FLOATS, GPUC_T_LIKE, POSITIONS, POSITIONS),
    ALONE("nn.sparse_conv2d", 4, 4, sparse_conv_attrs, infer_sparse_conv, sparse_conv_compute,
          "sparse_conv2d", "", "", GPUC_T_FLOATS, GPUC_T_LIKE, POSITIONS, POSITIONS),
    ALONE("nn.sparse_add", 4, 4, NULL, infer_sparse_add, sparse_add_compute, "sparse_add", "", "",
          GPUC_T_FLOATS, GPUC_T_LIKE, POSITIONS, POSITIONS),
    ALONE("nn.sparse_transpose", 3, 3, NULL, infer_sparse_transpose, sparse_transpose_compute,
          "sparse_transpose", "", "", GPUC_T_FLOATS, POSITIONS, POSITIONS),
};
const size_t gpuc_topi_ops_sparse_count = sizeof gpuc_topi_ops_sparse / sizeof gpuc_topi_ops_sparse[0];
