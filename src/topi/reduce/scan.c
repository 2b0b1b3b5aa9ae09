/* SPDX-License-Identifier: Apache-2.0 */
/* Computes running sums and products along an axis. Rows are cut into chunks; the sums of the chunks are
 * scanned the same way, then each chunk continues from the sum of the chunks before it: two passes over the
 * data. The number of levels is fixed when building (levels that a row does not need launch nothing); where
 * the extent is known only at run time, chunks grow with it. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "topi/parallel.h"
#include "op/rows.h"
#include "target/constants.h"

enum { CHUNK = GPUC_COMMON_scan_chunk, LAST = GPUC_COMMON_scan_last };

static gpuc_expr joined(const gpuc_scan *s, gpuc_expr a, gpuc_expr b)
{
    return s->product ? gpuc_mul(s->ctx, a, b) : gpuc_add(s->ctx, a, b);
}

static gpuc_expr neutral(const gpuc_scan *s)
{
    return gpuc_imm(s->ctx, s->dtype, s->product);
}

/* The chunks that a row is cut into. */
typedef struct cut {
    gpuc_expr width, pieces; /* elements of a chunk, chunks */
    int64_t max;             /* pieces at most */
} cut;

/* max: max elements of a row. */
static cut cut_row(const gpuc_scan *s, int64_t max)
{
    gpuc_ctx *ctx = s->ctx;
    cut c = {.width = gpuc_int(ctx, CHUNK)};
    if (gpuc_expr_is_int(s->n, &max)) {
        c.max = (max + CHUNK - 1) / CHUNK;
        if (max < CHUNK) c.width = s->n;
    } else if (max <= LAST) {
        c.width = s->n;
        c.max = 1;
    } else {
        c.max = max <= CHUNK * LAST ? (max + CHUNK - 1) / CHUNK : CHUNK * LAST;
        if (max > CHUNK * LAST)
            c.width = gpuc_max(ctx, c.width, gpuc_topi_par_ceildiv(ctx, s->n, gpuc_int(ctx, CHUNK * LAST)));
    }
    c.pieces = c.max == 1 ? gpuc_int(ctx, 1) : gpuc_topi_par_ceildiv(ctx, s->n, c.width);
    return c;
}

/* Scans each chunk of each row, beginning with the value that `start` gives. Stores the running value of each
 * element to out, or the last one of each chunk to sums. */
static gpuc_stmt chunks(const gpuc_scan *s, const cut *c, const gpuc_tir_buffer *before,
                        const gpuc_tir_buffer *out, const gpuc_tir_buffer *sums)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr at = gpuc_var(ctx, "c", GPUC_INDEX), k = gpuc_var(ctx, "k", GPUC_INDEX);
    gpuc_expr row = gpuc_floordiv_(ctx, at, c->pieces);
    gpuc_expr i = gpuc_add(ctx, gpuc_mul(ctx, gpuc_floormod_(ctx, at, c->pieces), c->width), k);
    gpuc_tir_buffer *sum = gpuc_topi_par_cell(ctx, "sum", s->dtype);
    gpuc_stmt add =
        gpuc_topi_par_set(ctx, sum, joined(s, gpuc_topi_par_get(ctx, sum), s->element(s, row, i)));
    if (out) {
        gpuc_expr place = gpuc_add(ctx, gpuc_mul(ctx, row, s->n), i);
        gpuc_stmt put = gpuc_tir_store1(ctx, out, place, gpuc_topi_par_get(ctx, sum));
        add = s->exclusive ? gpuc_tir_seq2(ctx, put, add) : gpuc_tir_seq2(ctx, add, put);
    }
    if (!gpuc_topi_proves(ctx, gpuc_eq(ctx, gpuc_mul(ctx, c->pieces, c->width), s->n)))
        add = gpuc_tir_if_(ctx, gpuc_lt(ctx, i, s->n), add, NULL);
    gpuc_stmt all[] = {
        gpuc_topi_par_set(ctx, sum, before ? gpuc_tir_load1(ctx, before, at) : neutral(s)),
        gpuc_topi_par_serial(ctx, k, c->width, add),
        sums ? gpuc_tir_store1(ctx, sums, at, gpuc_topi_par_get(ctx, sum)) : NULL,
    };
    gpuc_stmt body = gpuc_tir_alloc(ctx, sum, gpuc_tir_seq(ctx, sums ? 3 : 2, all));
    return gpuc_topi_par_loop(ctx, at, gpuc_mul(ctx, s->rows, c->pieces), body);
}

static gpuc_expr chunk_sum(const gpuc_scan *s, gpuc_expr row, gpuc_expr i)
{
    return gpuc_tir_load1(s->ctx, s->arg, gpuc_add(s->ctx, gpuc_mul(s->ctx, row, s->n), i));
}

static gpuc_stmt scan_rows(const gpuc_scan *s, int64_t max, const gpuc_tir_buffer *out)
{
    gpuc_ctx *ctx = s->ctx;
    cut c = cut_row(s, max);
    if (c.max == 0) return NULL;
    if (c.max == 1) return chunks(s, &c, NULL, out, NULL);
    gpuc_expr size = gpuc_mul(ctx, s->rows, c.pieces);
    gpuc_tir_buffer *sums = gpuc_topi_par_workspace(ctx, "sums", s->dtype, size),
                    *before = gpuc_topi_par_workspace(ctx, "before", s->dtype, size);
    gpuc_scan above = *s;
    above.n = c.pieces;
    above.exclusive = true;
    above.element = chunk_sum;
    above.arg = sums;
    gpuc_stmt all[] = {chunks(s, &c, NULL, NULL, sums), scan_rows(&above, c.max, before),
                       chunks(s, &c, before, out, NULL)};
    return gpuc_tir_alloc(ctx, sums, gpuc_tir_alloc(ctx, before, gpuc_tir_seq(ctx, 3, all)));
}

gpuc_stmt gpuc_topi_scan_emit(const gpuc_scan *s, const gpuc_tir_buffer *out)
{
    return scan_rows(s, gpuc_op_max_size(s->ctx, s->n), out);
}

/* ---- Flags ---- */

static gpuc_expr flag_number(const gpuc_scan *s, gpuc_expr row, gpuc_expr i)
{
    const gpuc_compact *c = s->arg;
    return gpuc_cast(s->ctx, GPUC_INT32, c->flag(c, row, i));
}

gpuc_stmt gpuc_topi_compact_emit(const gpuc_compact *c, const gpuc_tir_buffer *at,
                                 const gpuc_tir_buffer *count, const gpuc_tir_buffer *place)
{
    gpuc_ctx *ctx = c->ctx;
    gpuc_expr e = gpuc_var(ctx, "e", GPUC_INDEX), n = c->n, size = gpuc_mul(ctx, c->rows, n);
    /* rows without an element */
    gpuc_expr none = gpuc_var(ctx, "r", GPUC_INDEX), zero = gpuc_int(ctx, 0);
    gpuc_expr empty = gpuc_select(ctx, gpuc_eq(ctx, n, zero), c->rows, zero);
    gpuc_stmt no_flags =
        gpuc_topi_par_loop(ctx, none, empty, gpuc_tir_store1(ctx, count, none, gpuc_topi_par_i32(ctx, 0)));
    if (n == zero) return no_flags;
    gpuc_tir_buffer *own = place ? NULL : gpuc_topi_par_workspace(ctx, "place", GPUC_INT32, size);
    if (!place) place = own;
    gpuc_scan s = {
        .ctx = ctx, .rows = c->rows, .n = c->n, .dtype = GPUC_INT32, .element = flag_number, .arg = c};
    gpuc_expr row = gpuc_floordiv_(ctx, e, n), i = gpuc_floormod_(ctx, e, n);
    gpuc_expr number = gpuc_tir_load1(ctx, place, e), first = gpuc_mul(ctx, row, n);
    gpuc_expr to =
        gpuc_add(ctx, first, gpuc_topi_par_index(ctx, gpuc_sub(ctx, number, gpuc_topi_par_i32(ctx, 1))));
    gpuc_stmt put = gpuc_tir_if_(ctx, c->flag(c, row, i),
                                 gpuc_tir_store1(ctx, at, to, gpuc_topi_par_to_i32(ctx, i)), NULL);
    gpuc_expr end = gpuc_eq(ctx, i, gpuc_sub(ctx, n, gpuc_int(ctx, 1)));
    put = gpuc_tir_seq2(ctx, put, gpuc_tir_if_(ctx, end, gpuc_tir_store1(ctx, count, row, number), NULL));
    gpuc_stmt all[] = {gpuc_topi_scan_emit(&s, place), gpuc_topi_par_loop(ctx, e, size, put), no_flags};
    gpuc_stmt body = gpuc_tir_seq(ctx, 3, all);
    return own ? gpuc_tir_alloc(ctx, own, body) : body;
}

/* ---- cumsum, cumprod ---- */

static void infer_scan(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    if (in->ndim == 0) gpuc_topi_fail(call, "the input has no dimensions to run along");
    gpuc_topi_rows_of(call, in, gpuc_topi_axis(call, "axis", in->ndim));
    gpuc_topi_infer_same(call);
}

typedef struct scan_input {
    gpuc_rows rows;
    const gpuc_tir_buffer *in;
    bool reverse;
} scan_input;

static gpuc_expr input_element(const gpuc_scan *s, gpuc_expr row, gpuc_expr i)
{
    const scan_input *x = s->arg;
    gpuc_expr index[GPUC_TOPI_MAX_DIMS];
    if (x->reverse) i = gpuc_sub(s->ctx, gpuc_sub(s->ctx, s->n, gpuc_int(s->ctx, 1)), i);
    gpuc_topi_rows_index(s->ctx, &x->rows, row, i, index);
    return gpuc_topi_widen(s->ctx, gpuc_tir_load(s->ctx, x->in, x->rows.ndim, index));
}

static void scan_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0];
    scan_input x = {.reverse = gpuc_attrs_get_int(call->attrs, "reverse", 0)};
    x.rows = gpuc_topi_rows_of(call, in, gpuc_topi_axis(call, "axis", in->ndim));
    gpuc_expr size = gpuc_mul(ctx, x.rows.count, x.rows.n);
    gpuc_tensor_type wide = gpuc_topi_par_type(ctx, gpuc_topi_accumulator(in->dtype), 1, &size);
    gpuc_te_op *op = gpuc_topi_par_extern(call, call->op->name, 1, ins, 1, &wide);
    x.in = op->input_buffers[0];
    gpuc_scan s = {.ctx = ctx,
                   .rows = x.rows.count,
                   .n = x.rows.n,
                   .dtype = wide.dtype,
                   .exclusive = gpuc_attrs_get_int(call->attrs, "exclusive", 0),
                   .product = !strcmp(call->op->name, "cumprod"),
                   .element = input_element,
                   .arg = &x};
    op->extern_body = gpuc_topi_scan_emit(&s, op->output_buffers[0]);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(ctx, in, vars);
    gpuc_expr i = vars[x.rows.axis], n = x.rows.n;
    if (x.reverse) i = gpuc_sub(ctx, gpuc_sub(ctx, n, gpuc_int(ctx, 1)), i);
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, gpuc_topi_rows_number(ctx, &x.rows, vars), n), i);
    gpuc_expr value = gpuc_cast(ctx, in->dtype, gpuc_te_read(ctx, op->outputs[0], 1, &at));
    outs[0] = gpuc_topi_compute(ctx, "T_scan", "injective", in->ndim, axes, value);
}

ATTRS(scan_attrs, INT("axis", 0), FLAT_WITHOUT("axis"),
      SPELLED("dtype", DTYPE, gpuc_op_take_in_type, NULL, "the input is cast to it before"),
      INT("exclusive", 0), INT("reverse", 0))

const gpuc_op gpuc_topi_ops_scan[] = {
    ALONE("cumsum", 1, 1, scan_attrs, infer_scan, scan_compute, "cumsum", "", "CumSum", GPUC_T_NUMBERS),
    ALONE("cumprod", 1, 1, scan_attrs, infer_scan, scan_compute, "cumprod", "", "CumProd", GPUC_T_NUMBERS),
};
const size_t gpuc_topi_ops_scan_count = sizeof gpuc_topi_ops_scan / sizeof gpuc_topi_ops_scan[0];
