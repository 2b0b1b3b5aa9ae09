/* SPDX-License-Identifier: Apache-2.0 */
/* nn.sparse_dense, nn.sparse_conv2d, nn.sparse_add, nn.sparse_transpose: matrices of few elements, row by row: data, the column of each (indices), and where
 * each row begins in these (indptr, one entry more than there are rows). Columns and positions beyond what is there count as
 * the nearest. */
#include <string.h>

#include "op/rows.h"
#include "target/target.h"
#include "topi/accumulate.h"
#include "topi/families.h"
#include "topi/linalg/sparse.h"

typedef gpuc_sparse sparse;

static gpuc_expr one_less(gpuc_ctx *ctx, gpuc_expr n)
{
    return gpuc_sub(ctx, n, gpuc_int(ctx, 1));
}

gpuc_expr gpuc_topi_sparse_position(gpuc_ctx *ctx, const gpuc_tir_buffer *positions, gpuc_expr i,
                                    gpuc_expr lo, gpuc_expr hi)
{
    gpuc_dtype t = positions->dtype;
    gpuc_expr at = gpuc_tir_load1(ctx, positions, gpuc_topi_par_index(ctx, i));
    return gpuc_topi_par_to_i32(ctx,
                                gpuc_topi_par_clamp(ctx, at, gpuc_cast(ctx, t, lo), gpuc_cast(ctx, t, hi)));
}

gpuc_expr gpuc_topi_sparse_begin(const sparse *s, gpuc_expr row)
{
    return gpuc_topi_sparse_position(s->ctx, s->indptr, row, gpuc_int(s->ctx, 0), s->data->shape[0]);
}

gpuc_expr gpuc_topi_sparse_count(const sparse *s, gpuc_expr row, gpuc_expr from)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr to = gpuc_topi_sparse_begin(s, gpuc_add(ctx, row, gpuc_int(ctx, 1))), all = s->data->shape[0];
    if (s->columns) /* without columns there is nothing for them to be multiplied with */
        all = gpuc_select(ctx, gpuc_lt(ctx, gpuc_int(ctx, 0), s->columns), all, gpuc_int(ctx, 0));
    /* says that it has a bound */
    return gpuc_topi_par_clamp(ctx, gpuc_sub(ctx, to, from), gpuc_topi_par_i32(ctx, 0),
                               gpuc_topi_par_to_i32(ctx, all));
}

gpuc_expr gpuc_topi_sparse_column(const sparse *s, gpuc_expr j, gpuc_expr c)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr zero = gpuc_int(ctx, 0), last = one_less(ctx, s->columns);
    if (!s->block[1])
        return gpuc_topi_par_index(ctx, gpuc_topi_sparse_position(ctx, s->indices, j, zero, last));
    gpuc_expr block = gpuc_topi_sparse_position(ctx, s->indices, j, gpuc_int(ctx, -1), s->columns);
    gpuc_expr column = gpuc_add(ctx, gpuc_mul(ctx, gpuc_topi_par_index(ctx, block), s->block[1]), c);
    return gpuc_topi_par_clamp(ctx, column, zero, last);
}

gpuc_expr gpuc_topi_sparse_element(const sparse *s, gpuc_expr j, gpuc_expr r, gpuc_expr c)
{
    gpuc_expr at[] = {gpuc_topi_par_index(s->ctx, j), r, c};
    return gpuc_tir_load(s->ctx, s->data, s->block[0] ? 3 : 1, at);
}

/* The elements of a row in order, at j, an int32. */
static gpuc_stmt each_of_row(const sparse *s, gpuc_expr row, gpuc_expr j, gpuc_stmt body)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr from = gpuc_var(ctx, "from", GPUC_INT32), count = gpuc_topi_sparse_count(s, row, from);
    gpuc_stmt loop = gpuc_tir_for_(ctx, j, from, count, GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, body);
    return gpuc_tir_let(ctx, from, gpuc_topi_sparse_begin(s, row), loop);
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

/* What is multiplied with a column, for the element of the result at `at`. */
typedef gpuc_expr (*other_fn)(const gpuc_sparse_product *p, const gpuc_expr *at, gpuc_expr column);

/* A product, and what each element of its result takes. */
typedef struct sums {
    gpuc_sparse_product p;
    other_fn other;
    int axis; /* of the result, along which its rows are */
} sums;

/* Each element of the result is a sum over a row of the matrix. */
static gpuc_stmt sum_of_row(const sums *m, const gpuc_expr *at)
{
    const sparse *s = &m->p.s;
    gpuc_ctx *ctx = s->ctx;
    const gpuc_tir_buffer *out = m->p.op->output_buffers[0];
    gpuc_expr j = gpuc_var(ctx, "j", GPUC_INT32), c = gpuc_var(ctx, "c", GPUC_INDEX), row = at[m->axis],
              r = NULL;
    gpuc_tir_buffer *sum = gpuc_topi_par_cell(ctx, "sum", m->p.wide);
    if (s->block[0]) {
        r = gpuc_floormod_(ctx, row, s->block[0]);
        row = gpuc_floordiv_(ctx, row, s->block[0]);
    }
    gpuc_expr other = gpuc_cast(ctx, m->p.wide, m->other(&m->p, at, gpuc_topi_sparse_column(s, j, c)));
    gpuc_expr product = gpuc_mul(ctx, gpuc_cast(ctx, m->p.wide, gpuc_topi_sparse_element(s, j, r, c)), other);
    gpuc_stmt add = gpuc_topi_par_set(ctx, sum, gpuc_add(ctx, gpuc_topi_par_get(ctx, sum), product));
    if (s->block[1]) add = gpuc_topi_par_serial(ctx, c, s->block[1], add);
    gpuc_stmt steps[] = {
        gpuc_topi_par_set(ctx, sum, gpuc_imm(ctx, m->p.wide, 0)),
        each_of_row(s, row, j, add),
        gpuc_tir_store(ctx, out, out->ndim, at, gpuc_cast(ctx, out->dtype, gpuc_topi_par_get(ctx, sum))),
    };
    return gpuc_tir_alloc(ctx, sum, gpuc_tir_seq(ctx, 3, steps));
}

static gpuc_stmt product_body(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg, const gpuc_target *target,
                              gpuc_knobs *knobs)
{
    const sums *m = arg;
    const gpuc_tensor_type *out = &m->p.call->out[0];
    gpuc_stmt tiled = gpuc_topi_sparse_product_body(&m->p, target, knobs);
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), at[4];
    (void)op;
    if (tiled) return tiled;
    gpuc_topi_par_unravel(ctx, out->ndim, out->dims, i, at);
    return gpuc_topi_par_loop(ctx, i, gpuc_topi_par_count(m->p.call, out, out->ndim), sum_of_row(m, at));
}

/* columns: of the whole matrix */
static void product_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs, int axis,
                            gpuc_expr columns, other_fn other)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *data = &call->in[1];
    gpuc_te_op *op = gpuc_topi_par_extern(call, "sparse", 4, ins, 1, call->out);
    gpuc_tir_buffer *const *in = op->input_buffers;
    sums *m = gpuc_new(ctx, sums);
    bool is_image = call->out[0].ndim == 4;
    *m = (sums){.p = {.s = {.ctx = ctx, .data = in[1], .indices = in[2], .indptr = in[3], .columns = columns},
                      .call = gpuc_topi_par_keep_call(call),
                      .op = op,
                      .wide = gpuc_topi_accumulator(call->out[0].dtype),
                      .rows = call->out[0].dims[axis],
                      .batches = is_image ? call->in[0].dims[0] : gpuc_int(ctx, 1),
                      .is_image = is_image},
                .other = other,
                .axis = axis};
    for (int k = 0; k < 2 && data->ndim == 3; k++) m->p.s.block[k] = data->dims[1 + k];
    gpuc_topi_par_set_body(ctx, op, product_body, m);
    outs[0] = op->outputs[0];
}

static gpuc_expr dense_element(const gpuc_sparse_product *p, const gpuc_expr *at, gpuc_expr column)
{
    gpuc_expr place[] = {at[is_left(p->call)], column};
    return gpuc_tir_load(p->s.ctx, p->op->input_buffers[0], 2, place);
}

static void sparse_dense_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    product_compute(call, ins, outs, !is_left(call), call->in[0].dims[1], dense_element);
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

static gpuc_expr image_element(const gpuc_sparse_product *p, const gpuc_expr *at, gpuc_expr column)
{
    gpuc_ctx *ctx = p->s.ctx;
    const gpuc_tir_buffer *x = p->op->input_buffers[0];
    image m = image_of(p->call);
    gpuc_expr channels = gpuc_max(ctx, gpuc_int(ctx, 1), p->call->in[0].dims[m.channels]),
              tap = gpuc_floordiv_(ctx, column, channels), place[4], inside = gpuc_imm(ctx, GPUC_BOOL, 1),
              zero = gpuc_int(ctx, 0), width = gpuc_int(ctx, m.taps[1]);
    place[0] = at[0];
    place[m.channels] = gpuc_floormod_(ctx, column, channels);
    for (int i = 0; i < 2; i++) {
        gpuc_expr t = i ? gpuc_floormod_(ctx, tap, width) : gpuc_floordiv_(ctx, tap, width);
        gpuc_expr of = gpuc_add(ctx, at[m.rows + i], gpuc_sub(ctx, t, gpuc_int(ctx, m.taps[i] / 2))),
                  n = p->call->in[0].dims[m.rows + i];
        inside = gpuc_and(ctx, inside, gpuc_and(ctx, gpuc_ge(ctx, of, zero), gpuc_lt(ctx, of, n)));
        place[m.rows + i] = gpuc_topi_par_clamp(ctx, of, zero, one_less(ctx, n));
    }
    return gpuc_select(ctx, inside, gpuc_tir_load(ctx, x, 4, place), gpuc_imm(ctx, x->dtype, 0));
}

static void sparse_conv_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    image m = image_of(call);
    gpuc_expr columns = gpuc_mul(ctx, call->in[0].dims[m.channels], gpuc_int(ctx, m.taps[0] * m.taps[1]));
    product_compute(call, ins, outs, m.channels, columns, image_element);
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

/* In vectors where lanes are threads. */
static gpuc_stmt copy_dense(gpuc_ctx *ctx, const gpuc_te_op *op, const gpuc_target *target)
{
    const gpuc_tir_buffer *x = op->input_buffers[0], *y = op->output_buffers[0];
    const gpuc_target *on_lanes = gpuc_topi_par_on_lanes(target);
    int64_t lanes = on_lanes ? gpuc_target_lanes(on_lanes, y->dtype) : 1, width;
    if (!gpuc_expr_is_int(y->shape[1], &width) || width % lanes) lanes = 1;
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), v = gpuc_var(ctx, "v", GPUC_INDEX),
              by = gpuc_int(ctx, lanes);
    const gpuc_expr dims[] = {y->shape[0], gpuc_floordiv_(ctx, y->shape[1], by)};
    gpuc_expr at[2], count = gpuc_mul(ctx, dims[0], dims[1]);
    gpuc_topi_par_unravel(ctx, 2, dims, i, at);
    if (lanes > 1) at[1] = gpuc_add(ctx, gpuc_mul(ctx, at[1], by), v);
    gpuc_stmt copy = gpuc_tir_store(ctx, y, 2, at, gpuc_tir_load(ctx, x, 2, at));
    if (lanes == 1) return gpuc_topi_par_loop(ctx, i, count, copy);
    copy = gpuc_tir_for_(ctx, v, gpuc_int(ctx, 0), by, GPUC_LOOP_VECTORIZED, GPUC_THREAD_NONE, copy);
    return gpuc_topi_par_many_lanes(ctx, on_lanes, i, count, copy);
}

static gpuc_stmt sparse_add_body(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg,
                                 const gpuc_target *target, gpuc_knobs *knobs)
{
    gpuc_tir_buffer *const *in = op->input_buffers, *y = op->output_buffers[0];
    sparse s = {.ctx = ctx, .data = in[1], .indices = in[2], .indptr = in[3], .columns = y->shape[1]};
    gpuc_expr row = gpuc_var(ctx, "row", GPUC_INDEX), j = gpuc_var(ctx, "j", GPUC_INT32),
              column = gpuc_var(ctx, "column", GPUC_INT32);
    gpuc_expr place[] = {row, gpuc_topi_par_index(ctx, column)};
    gpuc_expr more = gpuc_tir_load1(ctx, s.data, gpuc_topi_par_index(ctx, j));
    gpuc_stmt add = gpuc_tir_store(ctx, y, 2, place, gpuc_add(ctx, gpuc_tir_load(ctx, y, 2, place), more));
    (void)arg, (void)knobs;
    add = gpuc_tir_let(
        ctx, column, gpuc_topi_sparse_position(ctx, s.indices, j, gpuc_int(ctx, 0), one_less(ctx, s.columns)),
        add);
    return gpuc_tir_seq2(ctx, copy_dense(ctx, op, target),
                         gpuc_topi_par_loop(ctx, row, y->shape[0], each_of_row(&s, row, j, add)));
}

static void sparse_add_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_te_op *op = gpuc_topi_par_extern(call, "sparse_add", 4, ins, 1, call->out);
    gpuc_topi_par_set_body(call->ctx, op, sparse_add_body, NULL);
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
    return gpuc_topi_sparse_position(s->ctx, s->indices, j, gpuc_int(s->ctx, 0), one_less(s->ctx, s->rows));
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
    ALONE_BY(gpuc_topi_par_schedule, "nn.sparse_dense", 4, 4, sparse_dense_attrs, infer_sparse_dense,
             sparse_dense_compute, "sparse_dense", "", "", GPUC_T_FLOATS, GPUC_T_LIKE, POSITIONS, POSITIONS),
    ALONE_BY(gpuc_topi_par_schedule, "nn.sparse_conv2d", 4, 4, sparse_conv_attrs, infer_sparse_conv,
             sparse_conv_compute, "sparse_conv2d", "", "", GPUC_T_FLOATS, GPUC_T_LIKE, POSITIONS, POSITIONS),
    ALONE_BY(gpuc_topi_par_schedule, "nn.sparse_add", 4, 4, NULL, infer_sparse_add, sparse_add_compute,
             "sparse_add", "", "", GPUC_T_FLOATS, GPUC_T_LIKE, POSITIONS, POSITIONS),
    ALONE("nn.sparse_transpose", 3, 3, NULL, infer_sparse_transpose, sparse_transpose_compute,
          "sparse_transpose", "", "", GPUC_T_FLOATS, POSITIONS, POSITIONS),
};
const size_t gpuc_topi_ops_sparse_count = sizeof gpuc_topi_ops_sparse / sizeof gpuc_topi_ops_sparse[0];
