/* SPDX-License-Identifier: Apache-2.0 */
/* Detection: boxes from anchors, and the suppression of boxes that say the same. */
#include <math.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"
#include "topi/vision/non_max_suppression.h"

static void need_rank(const gpuc_op_call *call, int i, int ndim)
{
    if (call->in[i].ndim != ndim)
        gpuc_topi_fail(call, "input %d has %d dimensions, needs %d", i, call->in[i].ndim, ndim);
}

static void need_dim(const gpuc_op_call *call, int i, int k, gpuc_expr want)
{
    gpuc_expr have = call->in[i].dims[k];
    if (have && want)
        gpuc_topi_require(call, gpuc_eq(call->ctx, have, want), "dimension %d of input %d is %s, needs %s", k,
                          i, gpuc_expr_text(call->ctx, have), gpuc_expr_text(call->ctx, want));
}

/* ---- The corners of boxes in order: [rows * n * 4] ---- */

typedef struct boxes {
    gpuc_ctx *ctx;
    gpuc_expr rows, n;
    const gpuc_tir_buffer *in, *order;
    int first;           /* of the four numbers in the last dimension */
    gpuc_expr per_batch; /* rows that share boxes */
    bool centered;       /* center and size instead of two corners */
    bool whole_pixels;   /* the upper corner is a pixel of the box */
} boxes;

/* Corner k of a box of a row: the lower two, then the upper two. */
static gpuc_expr corner_of(const boxes *b, gpuc_expr row, gpuc_expr box, int k)
{
    gpuc_ctx *ctx = b->ctx;
    gpuc_expr batch = gpuc_floordiv_(ctx, row, b->per_batch), v[2];
    for (int i = 0; i < 2; i++) {
        gpuc_expr index[] = {batch, gpuc_topi_par_index(ctx, box), gpuc_int(ctx, b->first + (k & 1) + 2 * i)};
        v[i] = gpuc_cast(ctx, GPUC_FLOAT32, gpuc_tir_load(ctx, b->in, 3, index));
    }
    if (b->whole_pixels) return k < 2 ? v[0] : gpuc_add(ctx, v[1], gpuc_imm(ctx, GPUC_FLOAT32, 1));
    if (!b->centered) return k < 2 ? gpuc_min(ctx, v[0], v[1]) : gpuc_max(ctx, v[0], v[1]);
    gpuc_expr reach = gpuc_mul(ctx, v[1], gpuc_imm(ctx, GPUC_FLOAT32, 0.5));
    return k < 2 ? gpuc_sub(ctx, v[0], reach) : gpuc_add(ctx, v[0], reach);
}

static gpuc_stmt sort_corners(const boxes *b, const gpuc_tir_buffer *corners)
{
    gpuc_ctx *ctx = b->ctx;
    gpuc_expr e = gpuc_var(ctx, "e", GPUC_INDEX), box = gpuc_var(ctx, "box", GPUC_INT32);
    gpuc_expr row = gpuc_floordiv_(ctx, e, b->n), first = gpuc_mul(ctx, e, gpuc_int(ctx, 4));
    gpuc_stmt all[4];
    for (int k = 0; k < 4; k++)
        all[k] =
            gpuc_tir_store1(ctx, corners, gpuc_add(ctx, first, gpuc_int(ctx, k)), corner_of(b, row, box, k));
    gpuc_stmt body = gpuc_tir_let(ctx, box, gpuc_tir_load1(ctx, b->order, e), gpuc_tir_seq(ctx, 4, all));
    return gpuc_topi_par_loop(ctx, e, gpuc_mul(ctx, b->rows, b->n), body);
}

static gpuc_tir_buffer *space(gpuc_ctx *ctx, const char *name, gpuc_dtype t, gpuc_expr rows, gpuc_expr n)
{
    return gpuc_topi_par_workspace(ctx, name, t, gpuc_mul(ctx, rows, n));
}

static gpuc_expr is_left(const gpuc_compact *c, gpuc_expr row, gpuc_expr i)
{
    gpuc_expr at = gpuc_add(c->ctx, gpuc_mul(c->ctx, row, c->n), i);
    return gpuc_ne(c->ctx, gpuc_tir_load1(c->ctx, c->arg, at), gpuc_topi_par_i32(c->ctx, 0));
}

/* ---- all_class_non_max_suppression(boxes, scores, max boxes per class, overlap threshold, score threshold):
 * the indices (batch, class, box) of what is left, and their number ---- */

static void infer_all_class(gpuc_op_call *call)
{
    const gpuc_tensor_type *scores = &call->in[1];
    need_rank(call, 0, 3);
    need_rank(call, 1, 3);
    for (int i = 2; i < 5; i++) need_rank(call, i, 0);
    need_dim(call, 0, 2, gpuc_topi_num(call, 4));
    need_dim(call, 1, 0, call->in[0].dims[0]);
    need_dim(call, 1, 2, call->in[0].dims[1]);
    int64_t given = gpuc_attrs_get_int(call->attrs, "max_output_size", -1);
    gpuc_expr n = scores->dims[2], max = given < 0 ? n : gpuc_min(call->ctx, gpuc_topi_num(call, given), n);
    gpuc_expr rows = gpuc_mul(call->ctx, scores->dims[0], scores->dims[1]);
    gpuc_expr dims[] = {gpuc_mul(call->ctx, rows, max), gpuc_topi_num(call, 3)};
    gpuc_topi_set_out(call, 0, GPUC_INT64, 2, dims);
    gpuc_topi_set_out(call, 1, GPUC_INT64, 0, NULL);
    call->num_out = 2;
}

typedef struct score_rows {
    gpuc_rows rows;
    const gpuc_tir_buffer *in;
} score_rows;

static gpuc_expr score_of(gpuc_ctx *ctx, const score_rows *s, gpuc_expr row, gpuc_expr i)
{
    gpuc_expr index[3];
    gpuc_topi_rows_index(ctx, &s->rows, row, i, index);
    return gpuc_tir_load(ctx, s->in, 3, index);
}

static gpuc_stmt higher_score(const gpuc_order *o, gpuc_expr row, gpuc_expr a, gpuc_expr b,
                              const gpuc_tir_buffer *less)
{
    gpuc_expr before =
        gpuc_topi_order_below(o->ctx, score_of(o->ctx, o->arg, row, b), score_of(o->ctx, o->arg, row, a));
    return gpuc_topi_par_set(o->ctx, less, gpuc_cast(o->ctx, GPUC_INT32, before));
}

typedef struct all_class {
    gpuc_expr rows, n, all; /* of boxes: in a row, in all */
    score_rows scores;
    boxes boxes;
    gpuc_expr enough, threshold, max;
    const gpuc_tir_buffer *order, *at, *number; /* outputs */
    const gpuc_tir_buffer *counts;              /* of rows, on a CPU */
} all_class;

static all_class all_class_of(const gpuc_op_call *call, const gpuc_te_op *op)
{
    gpuc_ctx *ctx = call->ctx;
    all_class x = {.scores = {.rows = gpuc_topi_rows_of(call, &call->in[1], 2), .in = op->input_buffers[1]},
                   .all = gpuc_topi_par_count(call, &call->in[1], 3),
                   .enough = gpuc_tir_load(ctx, op->input_buffers[4], 0, NULL),
                   .threshold = gpuc_tir_load(ctx, op->input_buffers[3], 0, NULL),
                   .order = op->output_buffers[0],
                   .at = op->output_buffers[1],
                   .number = op->output_buffers[2]};
    x.rows = x.scores.rows.count;
    x.n = x.scores.rows.n;
    gpuc_expr max = gpuc_tir_load(ctx, op->input_buffers[2], 0, NULL);
    max = gpuc_topi_par_clamp(ctx, max, gpuc_imm_int(ctx, gpuc_expr_dtype(max), 0),
                              gpuc_cast(ctx, gpuc_expr_dtype(max), x.n));
    x.max = gpuc_topi_par_to_i32(ctx, max);
    x.boxes = (boxes){.ctx = ctx,
                      .rows = x.rows,
                      .n = x.n,
                      .in = op->input_buffers[0],
                      .order = x.order,
                      .per_batch = call->in[1].dims[1],
                      .centered = gpuc_attrs_get_int(call->attrs, "center_point_box", 0)};
    return x;
}

static gpuc_stmt all_class_together(gpuc_ctx *ctx, all_class *x)
{
    gpuc_expr n = x->n, one = gpuc_int(ctx, 1);
    gpuc_order o = {.ctx = ctx, .rows = x->rows, .n = n, .keep = n, .less = higher_score, .arg = &x->scores};
    gpuc_tir_buffer *corners =
                        space(ctx, "corners", GPUC_FLOAT32, x->rows, gpuc_mul(ctx, n, gpuc_int(ctx, 4))),
                    *there = space(ctx, "there", GPUC_INT32, x->rows, n);
    gpuc_expr e = gpuc_var(ctx, "e", GPUC_INDEX),
              box = gpuc_topi_par_index(ctx, gpuc_tir_load1(ctx, x->order, e));
    gpuc_expr score = score_of(ctx, &x->scores, gpuc_floordiv_(ctx, e, n), box);
    gpuc_stmt begin =
        gpuc_tir_store1(ctx, there, e, gpuc_cast(ctx, GPUC_INT32, gpuc_lt(ctx, x->enough, score)));
    gpuc_suppress s = {.ctx = ctx,
                       .rows = x->rows,
                       .n = n,
                       .corners = corners,
                       .there = there,
                       .threshold = x->threshold,
                       .max = x->max};
    gpuc_compact c = {.ctx = ctx, .rows = one, .n = x->all, .flag = is_left, .arg = there};
    gpuc_stmt steps[] = {
        gpuc_topi_order_emit(&o, x->order),
        sort_corners(&x->boxes, corners),
        gpuc_topi_par_loop(ctx, e, x->all, begin),
        gpuc_topi_suppress_emit(&s),
        gpuc_topi_compact_emit(&c, x->at, x->number, NULL),
    };
    return gpuc_tir_alloc(ctx, corners, gpuc_tir_alloc(ctx, there, gpuc_tir_seq(ctx, 5, steps)));
}

/* ---- The same on CPUs: a task, or a subgroup, goes through the boxes of a row that score enough in order ---- */

static const all_class *all_class_in(const gpuc_order *o)
{
    return ((const gpuc_suppress_row *)o->arg)->arg;
}

static gpuc_expr score_key(const gpuc_order *o, gpuc_expr row, gpuc_expr i)
{
    return gpuc_topi_order_key(o->ctx, score_of(o->ctx, &all_class_in(o)->scores, row, i), true);
}

static gpuc_expr scores_enough(const gpuc_order *o, gpuc_expr row, gpuc_expr i)
{
    const all_class *x = all_class_in(o);
    return gpuc_lt(o->ctx, x->enough, score_of(o->ctx, &x->scores, row, i));
}

static gpuc_stmt suppress_row(const gpuc_order *o, gpuc_expr row, const gpuc_order_list *list)
{
    return o->lanes ? gpuc_topi_suppress_on_lanes(o->arg, row, list)
                    : gpuc_topi_suppress_in_order(o->arg, row, list);
}

static gpuc_expr all_class_corner(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr box, int k)
{
    return corner_of(&((const all_class *)s->arg)->boxes, row, box, k);
}

static gpuc_stmt all_class_keep(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr q, gpuc_expr k,
                                gpuc_expr box)
{
    const all_class *x = s->arg;
    gpuc_ctx *ctx = s->s.ctx;
    (void)q;
    return gpuc_tir_store1(ctx, x->order, gpuc_add(ctx, gpuc_mul(ctx, row, x->n), k),
                           gpuc_topi_par_to_i32(ctx, box));
}

static gpuc_stmt all_class_end(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr count)
{
    return gpuc_tir_store1(s->s.ctx, ((const all_class *)s->arg)->counts, row, count);
}

/* at: where the boxes that are left are in order, row by row; their number. */
static gpuc_stmt join_rows(gpuc_ctx *ctx, const all_class *x, const gpuc_target *target)
{
    gpuc_expr one = gpuc_int(ctx, 1), task = gpuc_var(ctx, "task", GPUC_INDEX),
              row = gpuc_var(ctx, "row", GPUC_INDEX), k = gpuc_var(ctx, "k", GPUC_INDEX);
    gpuc_tir_buffer *sum = gpuc_topi_par_cell(ctx, "sum", GPUC_INT32);
    gpuc_expr so_far = gpuc_topi_par_get(ctx, sum), count = gpuc_tir_load1(ctx, x->counts, row);
    gpuc_stmt put = gpuc_tir_store1(ctx, x->at, gpuc_add(ctx, gpuc_topi_par_index(ctx, so_far), k),
                                    gpuc_topi_par_to_i32(ctx, gpuc_add(ctx, gpuc_mul(ctx, row, x->n), k)));
    put = gpuc_tir_seq2(ctx, gpuc_topi_par_serial(ctx, k, gpuc_topi_par_index(ctx, count), put),
                        gpuc_topi_par_set(ctx, sum, gpuc_add(ctx, so_far, count)));
    gpuc_stmt all[] = {gpuc_topi_par_set(ctx, sum, gpuc_topi_par_i32(ctx, 0)),
                       gpuc_topi_par_serial(ctx, row, x->rows, put),
                       gpuc_tir_store1(ctx, x->number, gpuc_int(ctx, 0), so_far)};
    return gpuc_topi_par_tasks(ctx, target, task, one, gpuc_tir_alloc(ctx, sum, gpuc_tir_seq(ctx, 3, all)));
}

/* The same: each row has a lane, and one more adds up all. */
static gpuc_stmt join_rows_on_lanes(gpuc_ctx *ctx, const all_class *x, const gpuc_target *lanes)
{
    gpuc_expr row = gpuc_var(ctx, "row", GPUC_INDEX), r = gpuc_var(ctx, "r", GPUC_INDEX),
              k = gpuc_var(ctx, "k", GPUC_INDEX), one = gpuc_int(ctx, 1);
    gpuc_tir_buffer *sum = gpuc_topi_par_cell(ctx, "sum", GPUC_INT32);
    gpuc_expr so_far = gpuc_topi_par_get(ctx, sum);
    gpuc_expr count = gpuc_min(ctx, x->n, gpuc_topi_par_index(ctx, gpuc_tir_load1(ctx, x->counts, row)));
    gpuc_stmt add = gpuc_topi_par_set(ctx, sum, gpuc_add(ctx, so_far, gpuc_tir_load1(ctx, x->counts, r)));
    gpuc_stmt put = gpuc_tir_store1(ctx, x->at, gpuc_add(ctx, gpuc_topi_par_index(ctx, so_far), k),
                                    gpuc_topi_par_to_i32(ctx, gpuc_add(ctx, gpuc_mul(ctx, row, x->n), k)));
    gpuc_stmt all[] = {gpuc_topi_par_set(ctx, sum, gpuc_topi_par_i32(ctx, 0)),
                       gpuc_topi_par_serial(ctx, r, row, add),
                       gpuc_tir_if_(ctx, gpuc_lt(ctx, row, x->rows), gpuc_topi_par_serial(ctx, k, count, put),
                                    gpuc_tir_store1(ctx, x->number, gpuc_int(ctx, 0), so_far))};
    return gpuc_topi_par_lanes(ctx, lanes, row, gpuc_add(ctx, x->rows, one),
                               gpuc_tir_alloc(ctx, sum, gpuc_tir_seq(ctx, 3, all)));
}

/* NULL: there are too many boxes. */
static gpuc_stmt all_class_in_order(gpuc_ctx *ctx, all_class *x, int64_t most, const gpuc_target *target)
{
    gpuc_tir_buffer *counts = gpuc_topi_par_workspace(ctx, "counts", GPUC_INT32, x->rows),
                    *left = gpuc_topi_suppress_space(ctx, target, x->rows, x->n);
    const gpuc_target *lanes = gpuc_topi_par_on_lanes(target);
    x->counts = counts;
    const gpuc_suppress_row s = {
        .s = {.ctx = ctx, .rows = x->rows, .n = x->n, .threshold = x->threshold, .max = x->max},
        .target = target,
        .most = most,
        .left = left,
        .arg = x,
        .corner = all_class_corner,
        .keep = all_class_keep,
        .end = all_class_end};
    if (lanes && !gpuc_topi_suppress_fits_lanes(&s)) return NULL;
    gpuc_order o = {.ctx = ctx,
                    .rows = x->rows,
                    .n = x->n,
                    .arg = (void *)&s,
                    .key = score_key,
                    .value = GPUC_FLOAT32,
                    .target = gpuc_topi_par_cpu(target),
                    .lanes = lanes,
                    .takes = scores_enough,
                    .use = suppress_row};
    gpuc_stmt join = lanes ? join_rows_on_lanes(ctx, x, lanes) : join_rows(ctx, x, target);
    gpuc_stmt body = gpuc_tir_seq2(ctx, gpuc_topi_order_sort_rows(&o), join);
    return gpuc_tir_alloc(ctx, counts, gpuc_tir_alloc(ctx, left, body));
}

static gpuc_stmt all_class_body(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg,
                                const gpuc_target *target, gpuc_knobs *knobs)
{
    all_class x = all_class_of(arg, op);
    bool software = gpuc_topi_par_cpu(target) || gpuc_topi_par_on_lanes(target);
    int64_t most = gpuc_attrs_get_int(((const gpuc_op_call *)arg)->attrs, "max_output_size", 0);
    gpuc_stmt in_order = software ? all_class_in_order(ctx, &x, most, target) : NULL;
    (void)knobs;
    return in_order ? in_order : all_class_together(ctx, &x);
}

static void all_class_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr all = gpuc_topi_par_count(call, &call->in[1], 3), one = gpuc_int(ctx, 1),
              n = call->in[1].dims[2];
    gpuc_tensor_type list = gpuc_topi_par_type(ctx, GPUC_INT32, 1, &all),
                     number = gpuc_topi_par_type(ctx, GPUC_INT32, 1, &one);
    gpuc_te_op *op = gpuc_topi_par_extern(call, "kept", 5, ins, 3, (gpuc_tensor_type[]){list, list, number});
    gpuc_topi_par_set_body(ctx, op, all_class_body, gpuc_topi_par_keep_call(call));

    gpuc_expr vars[2], zero = gpuc_int(ctx, 0), count = gpuc_te_read(ctx, op->outputs[2], 1, &zero);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr classes = call->in[1].dims[1], place = gpuc_te_read(ctx, op->outputs[1], 1, vars);
    place = gpuc_topi_par_clamp(ctx, gpuc_topi_par_index(ctx, place), zero, gpuc_sub(ctx, all, one));
    gpuc_expr row = gpuc_floordiv_(ctx, place, n);
    gpuc_expr value = gpuc_topi_par_index(ctx, gpuc_te_read(ctx, op->outputs[0], 1, &place));
    value = gpuc_select(ctx, gpuc_eq(ctx, vars[1], one), gpuc_floormod_(ctx, row, classes), value);
    value = gpuc_select(ctx, gpuc_eq(ctx, vars[1], zero), gpuc_floordiv_(ctx, row, classes), value);
    value = gpuc_if_then_else(ctx, gpuc_lt(ctx, gpuc_topi_par_to_i32(ctx, vars[0]), count), value, zero);
    outs[0] = gpuc_topi_injective(call, 0, axes, value);
    outs[1] = gpuc_topi_par_number(call, 1, op->outputs[2]);
}

/* ---- nms(data, valid): rows {class, score, box} in the order of their scores; those that are suppressed
 * have class -1, those behind the valid ones are -1 altogether ---- */

static void infer_nms(gpuc_op_call *call)
{
    need_rank(call, 0, 3);
    need_rank(call, 1, 1);
    need_dim(call, 0, 2, gpuc_topi_num(call, 6));
    need_dim(call, 1, 0, call->in[0].dims[0]);
    gpuc_topi_infer_same(call);
}

typedef struct detections {
    const gpuc_tir_buffer *data, *valid;
    int score;         /* where it is in a box */
    gpuc_expr enabled; /* else boxes stay in their order; NULL: true */
} detections;

static gpuc_expr detection(gpuc_ctx *ctx, const detections *d, gpuc_expr row, gpuc_expr i, int k)
{
    gpuc_expr index[] = {row, gpuc_topi_par_index(ctx, i), gpuc_int(ctx, k)};
    return gpuc_tir_load(ctx, d->data, 3, index);
}

/* How many boxes of a row there are. */
static gpuc_expr valid_of(gpuc_ctx *ctx, const detections *d, gpuc_expr row)
{
    return d->valid ? gpuc_topi_par_index(ctx, gpuc_tir_load1(ctx, d->valid, row)) : d->data->shape[1];
}

static gpuc_stmt higher_detection(const gpuc_order *o, gpuc_expr row, gpuc_expr a, gpuc_expr b,
                                  const gpuc_tir_buffer *less)
{
    gpuc_ctx *ctx = o->ctx;
    const detections *d = o->arg;
    gpuc_expr valid = valid_of(ctx, d, row);
    gpuc_expr x = gpuc_lt(ctx, a, valid), y = gpuc_lt(ctx, b, valid);
    gpuc_expr higher =
        gpuc_topi_order_below(ctx, detection(ctx, d, row, b, d->score), detection(ctx, d, row, a, d->score));
    if (d->enabled) higher = gpuc_and(ctx, d->enabled, higher);
    higher = gpuc_or(ctx, gpuc_and(ctx, x, gpuc_not(ctx, y)), gpuc_and(ctx, gpuc_and(ctx, x, y), higher));
    return gpuc_topi_par_set(ctx, less, gpuc_cast(ctx, GPUC_INT32, higher));
}

/* Whether number e in the order of a row takes part. */
static gpuc_expr is_taken(gpuc_ctx *ctx, const detections *d, gpuc_expr e, gpuc_expr n, gpuc_expr top)
{
    gpuc_expr i = gpuc_floormod_(ctx, e, n), row = gpuc_floordiv_(ctx, e, n);
    gpuc_expr valid = valid_of(ctx, d, row);
    return gpuc_and(ctx, gpuc_lt(ctx, i, valid), gpuc_lt(ctx, i, top));
}

typedef struct row_nms {
    const gpuc_op_call *call;
    gpuc_expr rows, n, top;
    detections d;
    boxes boxes;
    gpuc_expr threshold, max; /* max NULL: any number */
    int class;                /* where it is in a box; below 0: boxes have none */
    bool on, any_class;
    bool above;                 /* only what is above the threshold is too much */
    bool scored;                /* boxes that score 0 or less only need a place */
    const gpuc_tir_buffer *out; /* of those taken: the position + 1, negative if suppressed; else 0 */
} row_nms;

static row_nms row_nms_of(const gpuc_op_call *call, const gpuc_te_op *op)
{
    gpuc_ctx *ctx = call->ctx;
    bool general = call->num_in == 5, proposed = call->num_in == 3;
    int64_t given = gpuc_attrs_get_int(call->attrs, general ? "top_k" : "nms_topk", -1);
    double threshold = gpuc_attrs_get_float(call->attrs, "nms_threshold", 0.5);
    row_nms x = {.call = call,
                 .rows = op->input_buffers[0]->shape[0],
                 .n = op->input_buffers[0]->shape[1],
                 .d = {op->input_buffers[0], proposed ? NULL : op->input_buffers[1],
                       (int)gpuc_attrs_get_int(call->attrs, "score_index", 1), NULL},
                 .class = (int)gpuc_attrs_get_int(call->attrs, "id_index", 0),
                 .any_class = gpuc_attrs_get_int(call->attrs, "force_suppress", 0),
                 .scored = general,
                 .out = op->output_buffers[0]};
    x.top = given < (general ? 1 : 0) ? x.n : gpuc_int(ctx, given);
    x.on = general || (threshold > 0 && threshold <= 1);
    x.threshold = gpuc_imm(ctx, GPUC_FLOAT32, threshold);
    x.boxes = (boxes){.ctx = ctx, .rows = x.rows, .n = x.n, .in = x.d.data};
    x.boxes.first = (int)gpuc_attrs_get_int(call->attrs, "coord_start", 2);
    x.boxes.per_batch = gpuc_int(ctx, 1);
    if (proposed) {
        given = gpuc_attrs_get_int(call->attrs, "rpn_pre_nms_top_n", 6000);
        x.top = given > 0 ? gpuc_int(ctx, given) : x.n;
        x.threshold = gpuc_imm(ctx, GPUC_FLOAT32, gpuc_attrs_get_float(call->attrs, "threshold", 0.7));
        x.on = x.above = x.boxes.whole_pixels = true;
        x.class = -1;
        x.boxes.first = 0;
        x.d.score = 4;
    }
    if (!general) return x;
    /* A threshold of 0 or less: boxes stay as they are. */
    gpuc_expr max = gpuc_tir_load(ctx, op->input_buffers[3], 0, NULL), all = gpuc_topi_par_to_i32(ctx, x.n);
    gpuc_expr given_threshold = gpuc_tir_load(ctx, op->input_buffers[4], 0, NULL);
    x.d.enabled = gpuc_lt(ctx, gpuc_imm(ctx, GPUC_FLOAT32, 0), given_threshold);
    x.threshold = gpuc_select(ctx, x.d.enabled, given_threshold, gpuc_imm(ctx, GPUC_FLOAT32, INFINITY));
    x.top = gpuc_select(ctx, x.d.enabled, x.top, x.n);
    gpuc_expr limited = gpuc_and(ctx, x.d.enabled, gpuc_ge(ctx, max, gpuc_topi_par_i32(ctx, 0)));
    x.max = gpuc_select(ctx, limited, gpuc_min(ctx, max, all), all);
    return x;
}

/* Whether a box only needs a place. */
static gpuc_expr is_idle(gpuc_ctx *ctx, const row_nms *x, gpuc_expr row, gpuc_expr box)
{
    gpuc_expr score = detection(ctx, &x->d, row, box, x->d.score);
    return gpuc_not(ctx, gpuc_lt(ctx, gpuc_imm(ctx, gpuc_expr_dtype(score), 0), score));
}

static gpuc_expr class_of(gpuc_ctx *ctx, const row_nms *x, gpuc_expr row, gpuc_expr box)
{
    return gpuc_cast(ctx, GPUC_FLOAT32, detection(ctx, &x->d, row, box, x->class));
}

static gpuc_stmt nms_together(gpuc_ctx *ctx, row_nms *x)
{
    gpuc_expr n = x->n, size = gpuc_mul(ctx, x->rows, n);
    gpuc_tir_buffer *order = space(ctx, "order", GPUC_INT32, x->rows, n),
                    *there = space(ctx, "there", GPUC_INT32, x->rows, n);
    gpuc_order o = {.ctx = ctx, .rows = x->rows, .n = n, .keep = n, .less = higher_detection, .arg = &x->d};
    gpuc_tir_buffer *corners =
                        space(ctx, "corners", GPUC_FLOAT32, x->rows, gpuc_mul(ctx, n, gpuc_int(ctx, 4))),
                    *classes = space(ctx, "classes", GPUC_FLOAT32, x->rows, n);
    x->boxes.order = order;

    gpuc_expr e = gpuc_var(ctx, "e", GPUC_INDEX), f = gpuc_var(ctx, "f", GPUC_INDEX);
    gpuc_expr g = gpuc_var(ctx, "g", GPUC_INDEX), one = gpuc_topi_par_i32(ctx, 1);
    gpuc_expr taken = is_taken(ctx, &x->d, e, n, x->top), box = gpuc_tir_load1(ctx, order, f);
    bool classes_of = x->class >= 0;
    gpuc_expr class = classes_of ? class_of(ctx, x, gpuc_floordiv_(ctx, f, n), box) : NULL;
    gpuc_expr state = gpuc_cast(ctx, GPUC_INT32, taken);
    if (x->scored) {
        gpuc_expr idle = is_idle(ctx, x, gpuc_floordiv_(ctx, e, n), gpuc_tir_load1(ctx, order, e));
        state = gpuc_mul(ctx, state, gpuc_select(ctx, idle, gpuc_topi_par_i32(ctx, 2), one));
    }
    gpuc_expr from = gpuc_add(ctx, gpuc_tir_load1(ctx, order, g), one);
    gpuc_expr stays = gpuc_ne(ctx, gpuc_tir_load1(ctx, there, g), gpuc_topi_par_i32(ctx, 0));
    from = gpuc_select(ctx, stays, from, gpuc_sub(ctx, gpuc_topi_par_i32(ctx, 0), from));
    from = gpuc_select(ctx, is_taken(ctx, &x->d, g, n, x->top), from, gpuc_topi_par_i32(ctx, 0));
    gpuc_suppress s = {.ctx = ctx,
                       .rows = x->rows,
                       .n = n,
                       .corners = corners,
                       .there = there,
                       .classes = classes_of ? classes : NULL,
                       .any_class = x->any_class,
                       .threshold = x->threshold,
                       .at_threshold = !x->above,
                       .max = x->max};
    bool on = x->on;
    gpuc_stmt steps[] = {
        gpuc_topi_order_emit(&o, order),
        gpuc_topi_par_loop(ctx, e, size, gpuc_tir_store1(ctx, there, e, state)),
        on ? sort_corners(&x->boxes, corners) : NULL,
        on && class ? gpuc_topi_par_loop(ctx, f, size, gpuc_tir_store1(ctx, classes, f, class)) : NULL,
        on ? gpuc_topi_suppress_emit(&s) : NULL,
        gpuc_topi_par_loop(ctx, g, size, gpuc_tir_store1(ctx, x->out, g, from)),
    };
    gpuc_stmt body = gpuc_tir_alloc(ctx, order, gpuc_tir_alloc(ctx, there, gpuc_tir_seq(ctx, 6, steps)));
    if (on && class) body = gpuc_tir_alloc(ctx, classes, body);
    return on ? gpuc_tir_alloc(ctx, corners, body) : body;
}

/* ---- The same on CPUs ---- */

static const row_nms *row_nms_in(const gpuc_order *o)
{
    return ((const gpuc_suppress_row *)o->arg)->arg;
}

static gpuc_expr detection_key(const gpuc_order *o, gpuc_expr row, gpuc_expr i)
{
    const detections *d = &row_nms_in(o)->d;
    gpuc_expr key = gpuc_topi_order_key(o->ctx, detection(o->ctx, d, row, i, d->score), true);
    return d->enabled ? gpuc_select(o->ctx, d->enabled, key, gpuc_imm_int(o->ctx, gpuc_expr_dtype(key), 0))
                      : key;
}

static gpuc_expr is_valid(const gpuc_order *o, gpuc_expr row, gpuc_expr i)
{
    return gpuc_lt(o->ctx, i, valid_of(o->ctx, &row_nms_in(o)->d, row));
}

static gpuc_stmt put_detection(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr q, gpuc_expr number)
{
    const row_nms *x = s->arg;
    gpuc_expr at = gpuc_add(s->s.ctx, gpuc_mul(s->s.ctx, row, x->n), q);
    return gpuc_tir_store1(s->s.ctx, x->out, at, gpuc_topi_par_to_i32(s->s.ctx, number));
}

static gpuc_stmt nms_keep(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr q, gpuc_expr k, gpuc_expr box)
{
    (void)k;
    return put_detection(s, row, q, gpuc_add(s->s.ctx, box, gpuc_int(s->s.ctx, 1)));
}

static gpuc_stmt nms_drop(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr q, gpuc_expr box)
{
    return put_detection(s, row, q, gpuc_sub(s->s.ctx, gpuc_int(s->s.ctx, -1), box));
}

static gpuc_expr nms_corner(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr box, int k)
{
    return corner_of(&((const row_nms *)s->arg)->boxes, row, box, k);
}

static gpuc_expr nms_class(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr box)
{
    return class_of(s->s.ctx, s->arg, row, box);
}

static gpuc_expr nms_idle(const gpuc_suppress_row *s, gpuc_expr row, gpuc_expr box)
{
    return is_idle(s->s.ctx, s->arg, row, box);
}

/* The first of those in order are taken; places behind them are 0. */
static gpuc_stmt suppress_first(const gpuc_order *o, gpuc_expr row, const gpuc_order_list *list)
{
    gpuc_ctx *ctx = o->ctx;
    const gpuc_suppress_row *s = o->arg;
    const row_nms *x = s->arg;
    gpuc_expr q = gpuc_var(ctx, "q", GPUC_INDEX), k = gpuc_var(ctx, "k", GPUC_INDEX);
    gpuc_order_list first = *list;
    first.count = gpuc_min(ctx, list->count, x->top);
    gpuc_stmt keep = gpuc_topi_par_serial(
        ctx, k, first.count,
        nms_keep(
            s, row, k, k,
            gpuc_topi_par_index(ctx, gpuc_tir_load1(ctx, list->positions, gpuc_add(ctx, list->from, k)))));
    return gpuc_tir_seq2(ctx, gpuc_topi_par_serial(ctx, q, x->n, put_detection(s, row, q, gpuc_int(ctx, 0))),
                         x->on ? gpuc_topi_suppress_in_order(s, row, &first) : keep);
}

static gpuc_stmt suppress_first_on_lanes(const gpuc_order *o, gpuc_expr row, const gpuc_order_list *list)
{
    const gpuc_suppress_row *s = o->arg;
    gpuc_order_list first = *list;
    first.count = gpuc_min(o->ctx, list->count, ((const row_nms *)s->arg)->top);
    return gpuc_topi_suppress_on_lanes(s, row, &first);
}

/* NULL: there are too many boxes, or they are only sorted. */
static gpuc_stmt nms_in_order(gpuc_ctx *ctx, const row_nms *x, const gpuc_target *target)
{
    gpuc_tir_buffer *left = gpuc_topi_suppress_space(ctx, target, x->rows, x->n);
    const gpuc_target *lanes = gpuc_topi_par_on_lanes(target);
    const gpuc_suppress_row s = {.s = {.ctx = ctx,
                                       .rows = x->rows,
                                       .n = x->n,
                                       .threshold = x->threshold,
                                       .any_class = x->any_class,
                                       .at_threshold = !x->above,
                                       .max = x->max},
                                 .target = target,
                                 .left = left,
                                 .arg = x,
                                 .corner = nms_corner,
                                 .class_of = x->class < 0 ? NULL : nms_class,
                                 .idle = x->scored ? nms_idle : NULL,
                                 .keep = nms_keep,
                                 .drop = nms_drop};
    if (lanes && (!x->on || !gpuc_topi_suppress_fits_lanes(&s))) return NULL;
    gpuc_order o = {.ctx = ctx,
                    .rows = x->rows,
                    .n = x->n,
                    .arg = (void *)&s,
                    .key = detection_key,
                    .value = x->d.data->dtype,
                    .target = gpuc_topi_par_cpu(target),
                    .lanes = lanes,
                    .takes = is_valid,
                    .use = lanes ? suppress_first_on_lanes : suppress_first};
    gpuc_stmt body = gpuc_topi_order_sort_rows(&o);
    if (lanes) {
        gpuc_expr e = gpuc_var(ctx, "e", GPUC_INDEX);
        body = gpuc_tir_seq2(ctx,
                             gpuc_topi_par_loop(ctx, e, gpuc_mul(ctx, x->rows, x->n),
                                                gpuc_tir_store1(ctx, x->out, e, gpuc_topi_par_i32(ctx, 0))),
                             body);
    }
    return x->on ? gpuc_tir_alloc(ctx, left, body) : body;
}

static gpuc_stmt nms_body(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg, const gpuc_target *target,
                          gpuc_knobs *knobs)
{
    row_nms x = row_nms_of(arg, op);
    bool software = gpuc_topi_par_cpu(target) || gpuc_topi_par_on_lanes(target);
    gpuc_stmt in_order = software ? nms_in_order(ctx, &x, target) : NULL;
    (void)knobs;
    return in_order ? in_order : nms_together(ctx, &x);
}

gpuc_tensor *gpuc_topi_suppress_left(const gpuc_op_call *call, int num_in, gpuc_tensor *const *ins,
                                     gpuc_expr rows, gpuc_expr n)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr size = gpuc_mul(ctx, rows, n);
    gpuc_tensor_type list = gpuc_topi_par_type(ctx, GPUC_INT32, 1, &size);
    gpuc_te_op *op = gpuc_topi_par_extern(call, "left", num_in, ins, 1, &list);
    gpuc_topi_par_set_body(ctx, op, nms_body, gpuc_topi_par_keep_call(call));
    return op->outputs[0];
}

static gpuc_tensor *left_of(const gpuc_op_call *call, gpuc_tensor *const *ins)
{
    return gpuc_topi_suppress_left(call, call->num_in, ins, call->in[0].dims[0], call->in[0].dims[1]);
}

/* The box that an entry of left_of stands for. */
static gpuc_expr box_of(const gpuc_op_call *call, gpuc_expr left)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr position = gpuc_sub(ctx, gpuc_call1(ctx, "abs", left), gpuc_topi_par_i32(ctx, 1));
    return gpuc_topi_par_clamp(ctx, gpuc_topi_par_index(ctx, position), gpuc_int(ctx, 0),
                               gpuc_sub(ctx, call->in[0].dims[1], gpuc_int(ctx, 1)));
}

static void nms_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0];
    gpuc_tensor *places = left_of(call, ins);
    gpuc_expr vars[3], none = gpuc_imm(ctx, in->dtype, -1), zero = gpuc_topi_par_i32(ctx, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, in, vars);
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, vars[0], in->dims[1]), vars[1]);
    gpuc_expr left = gpuc_te_read(ctx, places, 1, &at), index[] = {vars[0], box_of(call, left), vars[2]};
    gpuc_expr gone = gpuc_and(ctx, gpuc_lt(ctx, left, zero), gpuc_eq(ctx, vars[2], gpuc_int(ctx, 0)));
    gpuc_expr value = gpuc_select(ctx, gone, none, gpuc_te_read(ctx, ins[0], 3, index));
    outs[0] =
        gpuc_topi_injective(call, 0, axes, gpuc_if_then_else(ctx, gpuc_ne(ctx, left, zero), value, none));
}

/* ---- non_max_suppression(data, valid, indices, max boxes, threshold): rows of boxes in the order of their scores, of which
 * those that are suppressed are -1 altogether; or, of those that are left, the entries of indices, and how many they are ---- */

static bool gives_indices(const gpuc_op_call *call)
{
    return gpuc_attrs_get_int(call->attrs, "return_indices", 1) != 0;
}

static void need_place(const gpuc_op_call *call, const char *attr, int64_t otherwise, int64_t lo,
                       int64_t numbers)
{
    int64_t at = gpuc_attrs_get_int(call->attrs, attr, otherwise), n = gpuc_topi_static_dim(call, 0, 2);
    if (at < lo || at > n - numbers)
        gpuc_topi_fail(call, "%s=%lld is outside of the %lld numbers of a box", attr, (long long)at,
                       (long long)n);
}

static void infer_suppression(gpuc_op_call *call)
{
    const gpuc_tensor_type *data = &call->in[0];
    need_rank(call, 0, 3);
    need_rank(call, 1, 1);
    need_rank(call, 2, 2);
    for (int i = 3; i < 5; i++) need_rank(call, i, 0);
    need_dim(call, 1, 0, data->dims[0]);
    for (int k = 0; k < 2; k++) need_dim(call, 2, k, data->dims[k]);
    need_place(call, "coord_start", 2, 0, 4);
    need_place(call, "score_index", 1, 0, 1);
    need_place(call, "id_index", 0, INT32_MIN, 1);
    gpuc_topi_par_count(call, data, 2);
    if (!gives_indices(call)) {
        gpuc_topi_infer_same(call);
        return;
    }
    gpuc_expr dims[] = {data->dims[0], gpuc_topi_num(call, 1)};
    gpuc_topi_set_out(call, 0, GPUC_INT32, 2, data->dims);
    gpuc_topi_set_out(call, 1, GPUC_INT32, 2, dims);
    call->num_out = 2;
}

typedef struct lasting {
    const gpuc_op_call *call;
    const gpuc_te_op *op; /* of left_of, and the data or the indices */
} lasting;

/* Whether an entry of left_of stays: it is left, and what it stands for is not below 0. */
static gpuc_expr lasts(const gpuc_compact *c, gpuc_expr row, gpuc_expr i)
{
    const lasting *l = c->arg;
    gpuc_ctx *ctx = c->ctx;
    const gpuc_tir_buffer *of = l->op->input_buffers[1];
    gpuc_expr left = gpuc_tir_load1(ctx, l->op->input_buffers[0], gpuc_add(ctx, gpuc_mul(ctx, row, c->n), i));
    gpuc_expr index[] = {row, box_of(l->call, left), gpuc_int(ctx, 0)};
    gpuc_expr value = gpuc_tir_load(ctx, of, gives_indices(l->call) ? 2 : 3, index);
    return gpuc_and(ctx, gpuc_lt(ctx, gpuc_topi_par_i32(ctx, 0), left),
                    gpuc_ge(ctx, value, gpuc_imm(ctx, of->dtype, 0)));
}

static void suppression_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0];
    bool indices = gives_indices(call),
         compact = indices || gpuc_attrs_get_int(call->attrs, "invalid_to_bottom", 0);
    gpuc_tensor *places = left_of(call, ins), *from = ins[indices ? 2 : 0];
    gpuc_expr vars[3], n = in->dims[1], rows = in->dims[0], size = gpuc_mul(ctx, rows, n),
                       zero = gpuc_int(ctx, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr first = gpuc_mul(ctx, vars[0], n), at = gpuc_add(ctx, first, vars[1]), there = NULL;
    gpuc_te_op *op = NULL;
    if (compact) {
        gpuc_tensor_type types[] = {gpuc_topi_par_type(ctx, GPUC_INT32, 1, &size),
                                    gpuc_topi_par_type(ctx, GPUC_INT32, 1, &rows)};
        op = gpuc_topi_par_extern(call, "lasting", 2, (gpuc_tensor *[]){places, from}, 2, types);
        lasting l = {call, op};
        gpuc_compact c = {.ctx = ctx, .rows = rows, .n = n, .flag = lasts, .arg = &l};
        op->extern_body = gpuc_topi_compact_emit(&c, op->output_buffers[0], op->output_buffers[1], NULL);
        there = gpuc_lt(ctx, gpuc_topi_par_to_i32(ctx, vars[1]), gpuc_te_read(ctx, op->outputs[1], 1, vars));
        gpuc_expr k = gpuc_topi_par_index(ctx, gpuc_te_read(ctx, op->outputs[0], 1, &at));
        at = gpuc_add(ctx, first, gpuc_topi_par_clamp(ctx, k, zero, gpuc_sub(ctx, n, gpuc_int(ctx, 1))));
    }
    gpuc_expr left = gpuc_te_read(ctx, places, 1, &at), index[] = {vars[0], box_of(call, left), vars[2]};
    if (!there) there = gpuc_lt(ctx, gpuc_topi_par_i32(ctx, 0), left);
    gpuc_expr value = gpuc_te_read(ctx, from, indices ? 2 : 3, index);
    value = gpuc_if_then_else(ctx, there, value, gpuc_imm(ctx, call->out[0].dtype, -1));
    outs[0] = gpuc_topi_injective(call, 0, axes, value);
    if (!indices) return;
    axes = gpuc_topi_axes(ctx, &call->out[1], vars);
    outs[1] = gpuc_topi_injective(call, 1, axes, gpuc_te_read(ctx, op->outputs[1], 1, vars));
}

/* ---- multibox_transform_loc(class probabilities, locations, anchors): rows {class, score, box} of the
 * anchors that are not background, in their order, -1 behind them; and how many there are ---- */

static void infer_multibox(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *prob = &call->in[0];
    const gpuc_attr *variances = gpuc_attrs_find(call->attrs, "variances");
    gpuc_expr four = gpuc_topi_num(call, 4);
    need_rank(call, 0, 3);
    need_rank(call, 1, 2);
    need_rank(call, 2, 3);
    gpuc_expr n = prob->dims[2];
    need_dim(call, 1, 0, prob->dims[0]);
    need_dim(call, 1, 1, n ? gpuc_mul(ctx, n, four) : NULL);
    need_dim(call, 2, 0, gpuc_topi_num(call, 1));
    need_dim(call, 2, 1, n);
    need_dim(call, 2, 2, four);
    if (variances->n != 0 && variances->n != 4)
        gpuc_topi_fail(call, "variances has %d numbers, needs 4", variances->n);
    gpuc_expr dims[] = {prob->dims[0], n, gpuc_topi_num(call, 6)};
    gpuc_topi_set_out(call, 0, prob->dtype, 3, dims);
    gpuc_topi_set_out(call, 1, GPUC_INT32, 1, dims);
    call->num_out = 2;
}

/* rows[anchor]: {class but background, score} of the most probable one; best: that class, or 0 where its
 * score is below the threshold. */
static gpuc_stmt find_classes(const gpuc_op_call *call, const gpuc_tir_buffer *prob,
                              const gpuc_tir_buffer *rows, const gpuc_tir_buffer *best)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *t = &call->in[0];
    gpuc_dtype wide = rows->dtype;
    gpuc_expr e = gpuc_var(ctx, "e", GPUC_INDEX), c = gpuc_var(ctx, "c", GPUC_INDEX), n = t->dims[2];
    gpuc_tir_buffer *class = gpuc_topi_par_cell(ctx, "class", GPUC_INT32),
                    *score = gpuc_topi_par_cell(ctx, "score", wide);
    gpuc_expr index[] = {gpuc_floordiv_(ctx, e, n), gpuc_add(ctx, c, gpuc_int(ctx, 1)),
                         gpuc_floormod_(ctx, e, n)};
    gpuc_expr p = gpuc_cast(ctx, wide, gpuc_tir_load(ctx, prob, 3, index)), zero = gpuc_topi_par_i32(ctx, 0);
    gpuc_stmt take = gpuc_tir_seq2(ctx, gpuc_topi_par_set(ctx, class, gpuc_topi_par_to_i32(ctx, index[1])),
                                   gpuc_topi_par_set(ctx, score, p));
    take = gpuc_tir_if_(ctx, gpuc_lt(ctx, gpuc_topi_par_get(ctx, score), p), take, NULL);
    gpuc_expr enough = gpuc_imm(ctx, wide, gpuc_attrs_get_float(call->attrs, "threshold", 0.01));
    gpuc_expr number = gpuc_topi_par_get(ctx, class), at = gpuc_mul(ctx, e, gpuc_int(ctx, 6));
    gpuc_expr result = gpuc_select(ctx, gpuc_lt(ctx, gpuc_topi_par_get(ctx, score), enough), zero, number);
    gpuc_stmt all[] = {
        gpuc_topi_par_set(ctx, class, zero),
        gpuc_topi_par_set(ctx, score, gpuc_imm(ctx, wide, -1)),
        gpuc_topi_par_serial(ctx, c, gpuc_sub(ctx, t->dims[1], gpuc_int(ctx, 1)), take),
        gpuc_tir_store1(ctx, best, e, result),
        gpuc_tir_store1(ctx, rows, at,
                        gpuc_cast(ctx, wide, gpuc_sub(ctx, number, gpuc_topi_par_i32(ctx, 1)))),
        gpuc_tir_store1(ctx, rows, gpuc_add(ctx, at, gpuc_int(ctx, 1)), gpuc_topi_par_get(ctx, score)),
    };
    gpuc_stmt body = gpuc_tir_alloc(ctx, class, gpuc_tir_alloc(ctx, score, gpuc_tir_seq(ctx, 6, all)));
    return gpuc_topi_par_loop(ctx, e, gpuc_mul(ctx, t->dims[0], n), body);
}

/* rows[anchor]: behind the first two the box, which is the anchor moved by its predicted location. */
static gpuc_stmt find_boxes(const gpuc_op_call *call, const gpuc_tir_buffer *loc,
                            const gpuc_tir_buffer *anchors, const gpuc_tir_buffer *rows)
{
    static const double usual[] = {0.1, 0.1, 0.2, 0.2};
    gpuc_ctx *ctx = call->ctx;
    const gpuc_attr *given = gpuc_attrs_find(call->attrs, "variances");
    const double *variances = given->n ? given->floats : usual;
    bool clips = gpuc_attrs_get_int(call->attrs, "clip", 1);
    gpuc_dtype t = rows->dtype;
    gpuc_expr e = gpuc_var(ctx, "e", GPUC_INDEX), n = call->in[0].dims[2], half = gpuc_imm(ctx, t, 0.5);
    gpuc_expr i = gpuc_floormod_(ctx, e, n), batch = gpuc_floordiv_(ctx, e, n);
    gpuc_stmt all[4];
    for (int k = 0; k < 4; k++) {
        int side = k & 1;
        gpuc_expr edge[2], shift[2];
        for (int m = 0; m < 2; m++) {
            gpuc_expr number = gpuc_int(ctx, side + 2 * m), corner[] = {gpuc_int(ctx, 0), i, number};
            gpuc_expr place[] = {batch, gpuc_add(ctx, gpuc_mul(ctx, i, gpuc_int(ctx, 4)), number)};
            edge[m] = gpuc_cast(ctx, t, gpuc_tir_load(ctx, anchors, 3, corner));
            shift[m] = gpuc_cast(ctx, t, gpuc_tir_load(ctx, loc, 2, place));
            shift[m] = gpuc_mul(ctx, shift[m], gpuc_imm(ctx, t, variances[side + 2 * m]));
        }
        gpuc_expr size = gpuc_sub(ctx, edge[1], edge[0]);
        gpuc_expr center = gpuc_mul(ctx, gpuc_add(ctx, edge[0], edge[1]), half);
        center = gpuc_add(ctx, gpuc_mul(ctx, shift[0], size), center);
        gpuc_expr reach = gpuc_mul(ctx, gpuc_mul(ctx, gpuc_call1(ctx, "exp", shift[1]), size), half);
        gpuc_expr v = k < 2 ? gpuc_sub(ctx, center, reach) : gpuc_add(ctx, center, reach);
        if (clips) v = gpuc_topi_par_clamp(ctx, v, gpuc_imm(ctx, t, 0), gpuc_imm(ctx, t, 1));
        gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, e, gpuc_int(ctx, 6)), gpuc_int(ctx, 2 + k));
        all[k] = gpuc_tir_store1(ctx, rows, at, v);
    }
    return gpuc_topi_par_loop(ctx, e, gpuc_mul(ctx, call->in[0].dims[0], n), gpuc_tir_seq(ctx, 4, all));
}

static void multibox_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr n = call->in[0].dims[2], batch = call->in[0].dims[0], size = gpuc_mul(ctx, batch, n),
              six = gpuc_int(ctx, 6);
    gpuc_expr all = gpuc_mul(ctx, size, six);
    gpuc_tensor_type list = gpuc_topi_par_type(ctx, GPUC_INT32, 1, &size),
                     number = gpuc_topi_par_type(ctx, GPUC_INT32, 1, &batch),
                     rows = gpuc_topi_par_type(ctx, gpuc_topi_accumulator(call->in[0].dtype), 1, &all);
    gpuc_te_op *op =
        gpuc_topi_par_extern(call, "objects", 3, ins, 3, (gpuc_tensor_type[]){rows, list, number});
    gpuc_tir_buffer *best = space(ctx, "best", GPUC_INT32, batch, n), *const *to = op->output_buffers;
    gpuc_compact c = {.ctx = ctx, .rows = batch, .n = n, .flag = is_left, .arg = best};
    gpuc_stmt steps[] = {find_classes(call, op->input_buffers[0], to[0], best),
                         find_boxes(call, op->input_buffers[1], op->input_buffers[2], to[0]),
                         gpuc_topi_compact_emit(&c, to[1], to[2], NULL)};
    op->extern_body = gpuc_tir_alloc(ctx, best, gpuc_tir_seq(ctx, 3, steps));

    gpuc_expr vars[3], one, zero = gpuc_int(ctx, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars),
              **own = gpuc_topi_axes(ctx, &call->out[1], &one);
    gpuc_expr first = gpuc_mul(ctx, vars[0], n), at = gpuc_add(ctx, first, vars[1]);
    gpuc_expr i = gpuc_topi_par_index(ctx, gpuc_te_read(ctx, op->outputs[1], 1, &at));
    i = gpuc_add(ctx, first, gpuc_topi_par_clamp(ctx, i, zero, gpuc_sub(ctx, n, gpuc_int(ctx, 1))));
    gpuc_expr from = gpuc_add(ctx, gpuc_mul(ctx, i, six), vars[2]);
    gpuc_expr value = gpuc_cast(ctx, call->out[0].dtype, gpuc_te_read(ctx, op->outputs[0], 1, &from));
    gpuc_expr found =
        gpuc_lt(ctx, gpuc_topi_par_to_i32(ctx, vars[1]), gpuc_te_read(ctx, op->outputs[2], 1, vars));
    value = gpuc_if_then_else(ctx, found, value, gpuc_imm(ctx, call->out[0].dtype, -1));
    outs[0] = gpuc_topi_injective(call, 0, axes, value);
    outs[1] = gpuc_topi_injective(call, 1, own, gpuc_te_read(ctx, op->outputs[2], 1, &one));
}

ATTRS(all_class_attrs, INT("center_point_box", 0), INT("max_output_size", -1),
      ONLY("output_format", STRING, "onnx"))
ATTRS(nms_attrs, FLOAT("nms_threshold", 0.5), INT("force_suppress", 0), INT("nms_topk", -1))
ATTRS(suppression_attrs, INT_UP_TO("coord_start", 2, GPUC_OP_MAX_WINDOW),
      INT_UP_TO("score_index", 1, GPUC_OP_MAX_WINDOW), INT_UP_TO("id_index", 0, GPUC_OP_MAX_WINDOW),
      INT("force_suppress", 0), INT("top_k", -1), INT("return_indices", 1), INT("invalid_to_bottom", 0))
ATTRS(multibox_attrs, INT("clip", 1), FLOAT("threshold", 0.01),
      {.name = "variances", .kind = GPUC_ATTR_FLOATS})

const gpuc_op gpuc_topi_ops_vision[] = {
    ALONE_BY(gpuc_topi_par_schedule, "vision.all_class_non_max_suppression", 5, 5, all_class_attrs,
             infer_all_class, all_class_compute, "all_class_non_max_suppression", "", "NonMaxSuppression",
             GPUC_T_FLOAT32, GPUC_T_FLOAT32, GPUC_T_INT64, GPUC_T_FLOAT32, GPUC_T_FLOAT32),
    ALONE_BY(gpuc_topi_par_schedule, "vision.nms", 2, 2, nms_attrs, infer_nms, nms_compute, "nms", "nms", "",
             GPUC_T_FLOATS, GPUC_T_INT32 | GPUC_T_INT64),
    ALONE_BY(gpuc_topi_par_schedule, "vision.non_max_suppression", 5, 5, suppression_attrs, infer_suppression,
             suppression_compute, "non_max_suppression", "", "", GPUC_T_FLOATS, GPUC_T_INT32 | GPUC_T_INT64,
             GPUC_T_INT32, GPUC_T_INT32, GPUC_T_FLOAT32),
    ALONE("vision.multibox_transform_loc", 3, 3, multibox_attrs, infer_multibox, multibox_compute,
          "multibox_transform_loc", "multibox_transform_loc", "", GPUC_T_FLOATS, GPUC_T_LIKE, GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_vision_count = sizeof gpuc_topi_ops_vision / sizeof gpuc_topi_ops_vision[0];
