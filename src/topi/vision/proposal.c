/* SPDX-License-Identifier: Apache-2.0 */
/* proposal (Ren et al., "Faster R-CNN", 2015): anchors at each place of a feature map, moved by what a network predicts and cut
 * to the image; of the best ones, those that do not overlap too much. Boxes hold the pixels at both ends. */
#include <math.h>

#include "op/rows.h"
#include "topi/families.h"
#include "topi/vision/non_max_suppression.h"

typedef struct proposal {
    const gpuc_attr *scales, *ratios;
    int64_t anchors, stride, kept;
} proposal;

static proposal proposal_of(const gpuc_op_call *call)
{
    proposal p = {.scales = gpuc_attrs_find(call->attrs, "scales"),
                  .ratios = gpuc_attrs_find(call->attrs, "ratios"),
                  .stride = gpuc_attrs_get_int(call->attrs, "feature_stride", 16),
                  .kept = gpuc_attrs_get_int(call->attrs, "rpn_post_nms_top_n", 300)};
    p.anchors = (int64_t)p.scales->n * p.ratios->n;
    if (p.anchors < 1 || p.anchors > INT16_MAX)
        gpuc_topi_fail(call, "%lld scales and ratios", (long long)p.anchors);
    for (int i = 0; i < p.ratios->n; i++)
        if (!(p.ratios->floats[i] > 0)) gpuc_topi_fail(call, "ratio %g is not above 0", p.ratios->floats[i]);
    if (p.stride < 1 || p.kept < 0)
        gpuc_topi_fail(call, "feature_stride=%lld, rpn_post_nms_top_n=%lld", (long long)p.stride,
                       (long long)p.kept);
    return p;
}

/* Boxes of an image. */
static gpuc_expr boxes_of(const gpuc_op_call *call, const proposal *p)
{
    const gpuc_tensor_type *in = &call->in[0];
    return gpuc_mul(call->ctx, gpuc_mul(call->ctx, in->dims[2], in->dims[3]),
                    gpuc_int(call->ctx, p->anchors));
}

static void infer_proposal(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    static const int ranks[] = {4, 4, 2};
    for (int i = 0; i < 3; i++)
        if (call->in[i].ndim != ranks[i])
            gpuc_topi_fail(call, "input %d has %d dimensions, needs %d", i, call->in[i].ndim, ranks[i]);
    proposal p = proposal_of(call);
    const gpuc_tensor_type *chances = &call->in[0];
    for (int i = 1; i < 3; i++) gpuc_topi_same_dim(call, call->in[i].dims[0], chances->dims[0], "images");
    for (int k = 2; k < 4; k++) gpuc_topi_same_dim(call, call->in[1].dims[k], chances->dims[k], "places");
    gpuc_topi_same_dim(call, chances->dims[1], gpuc_int(ctx, 2 * p.anchors),
                       "channels of input 0 and two chances per anchor");
    gpuc_topi_same_dim(call, call->in[1].dims[1], gpuc_int(ctx, 4 * p.anchors),
                       "channels of input 1 and four moves per anchor");
    gpuc_topi_same_dim(call, call->in[2].dims[1], gpuc_int(ctx, 3), "numbers of an image");
    gpuc_topi_par_countable(call, gpuc_mul(ctx, chances->dims[0], boxes_of(call, &p)));
    gpuc_expr dims[] = {gpuc_mul(ctx, chances->dims[0], gpuc_int(ctx, p.kept)), gpuc_int(ctx, 5)};
    gpuc_topi_set_out(call, 0, chances->dtype, 2, dims);
}

static gpuc_expr number(gpuc_ctx *ctx, double v)
{
    return gpuc_imm(ctx, GPUC_FLOAT32, v);
}

/* Width (0) or height (1) of anchor k. */
static gpuc_expr anchor_size(gpuc_ctx *ctx, const proposal *p, gpuc_expr k, int side)
{
    gpuc_expr size = NULL;
    for (int64_t i = p->anchors - 1; i >= 0; i--) {
        double ratio = p->ratios->floats[i / p->scales->n], scale = p->scales->floats[i % p->scales->n];
        double width = floor(sqrt(floor((double)(p->stride * p->stride) / ratio)) + 0.5);
        gpuc_expr one = number(ctx, scale * (side ? floor(width * ratio + 0.5) : width));
        size = size ? gpuc_select(ctx, gpuc_eq(ctx, k, gpuc_int(ctx, i)), one, size) : one;
    }
    return size;
}

/* Both ends of side `side`, where `at` is the place along it: of the anchor, moved. */
static void side_of(const gpuc_op_call *call, const proposal *p, gpuc_expr k, gpuc_expr at,
                    const gpuc_expr *moves, int side, gpuc_expr *ends)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr half = number(ctx, 0.5), one = number(ctx, 1), size = anchor_size(ctx, p, k, side);
    gpuc_expr middle = gpuc_add(ctx, number(ctx, 0.5 * (double)(p->stride - 1)),
                                gpuc_cast(ctx, GPUC_FLOAT32, gpuc_mul(ctx, at, gpuc_int(ctx, p->stride))));
    bool plain = gpuc_attrs_get_int(call->attrs, "iou_loss", 0);
    if (!plain) {
        middle = gpuc_add(ctx, middle, gpuc_mul(ctx, moves[side], size));
        size = gpuc_mul(ctx, gpuc_call1(ctx, "exp", moves[2 + side]), size);
    }
    gpuc_expr reach = gpuc_mul(ctx, half, gpuc_sub(ctx, size, one));
    ends[0] = gpuc_sub(ctx, middle, reach);
    ends[1] = gpuc_add(ctx, middle, reach);
    for (int i = 0; i < 2 && plain; i++) ends[i] = gpuc_add(ctx, ends[i], moves[2 * i + side]);
}

/* [images, boxes, 5]: x and y of both ends, and the chance of an object, -1 outside of the image and for small boxes. */
static gpuc_tensor *all_boxes(const gpuc_op_call *call, const proposal *p, gpuc_tensor *const *ins)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr dims[] = {call->in[0].dims[0], boxes_of(call, p), gpuc_int(ctx, 5)}, vars[3], moves[4],
              image[3], box[4];
    gpuc_tensor_type t = {.dtype = GPUC_FLOAT32, .ndim = 3, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &t, vars);
    gpuc_expr anchors = gpuc_int(ctx, p->anchors), k = gpuc_floormod_(ctx, vars[1], anchors),
              place = gpuc_floordiv_(ctx, vars[1], anchors),
              columns = gpuc_max(ctx, gpuc_int(ctx, 1), call->in[0].dims[3]);
    gpuc_expr at[] = {gpuc_floormod_(ctx, place, columns), gpuc_floordiv_(ctx, place, columns)};
    for (int i = 0; i < 4; i++) {
        gpuc_expr channel = gpuc_add(ctx, gpuc_mul(ctx, k, gpuc_int(ctx, 4)), gpuc_int(ctx, i));
        gpuc_expr index[] = {vars[0], channel, at[1], at[0]};
        moves[i] = gpuc_cast(ctx, GPUC_FLOAT32, gpuc_te_read(ctx, ins[1], 4, index));
    }
    for (int i = 0; i < 3; i++) {
        gpuc_expr index[] = {vars[0], gpuc_int(ctx, i)};
        image[i] = gpuc_cast(ctx, GPUC_FLOAT32, gpuc_te_read(ctx, ins[2], 2, index));
    }
    gpuc_expr index[] = {vars[0], gpuc_add(ctx, anchors, k), at[1], at[0]}, one = number(ctx, 1),
              zero = number(ctx, 0);
    gpuc_expr score = gpuc_cast(ctx, GPUC_FLOAT32, gpuc_te_read(ctx, ins[0], 4, index));
    gpuc_expr smallest =
        gpuc_mul(ctx, image[2], number(ctx, (double)gpuc_attrs_get_int(call->attrs, "rpn_min_size", 16)));
    gpuc_expr small = gpuc_imm(ctx, GPUC_BOOL, 0), outside = small;
    for (int side = 0; side < 2; side++) {
        gpuc_expr ends[2], extent = image[1 - side];
        side_of(call, p, k, at[side], moves, side, ends);
        for (int i = 0; i < 2; i++)
            box[2 * i + side] = gpuc_max(ctx, gpuc_min(ctx, ends[i], gpuc_sub(ctx, extent, one)), zero);
        gpuc_expr size = gpuc_add(ctx, gpuc_sub(ctx, box[2 + side], box[side]), one);
        small = gpuc_or(ctx, small, gpuc_lt(ctx, size, smallest));
        gpuc_expr places = gpuc_call1(ctx, "trunc", gpuc_div(ctx, extent, number(ctx, (double)p->stride)));
        outside = gpuc_or(ctx, outside, gpuc_ge(ctx, gpuc_cast(ctx, GPUC_FLOAT32, at[side]), places));
    }
    gpuc_expr grown = gpuc_mul(ctx, smallest, number(ctx, 0.5));
    gpuc_expr value = gpuc_select(ctx, gpuc_or(ctx, small, outside), number(ctx, -1), score);
    for (int i = 3; i >= 0; i--) {
        gpuc_expr larger = i < 2 ? gpuc_sub(ctx, box[i], grown) : gpuc_add(ctx, box[i], grown);
        value = gpuc_select(ctx, gpuc_eq(ctx, vars[2], gpuc_int(ctx, i)),
                            gpuc_select(ctx, small, larger, box[i]), value);
    }
    return gpuc_topi_compute(ctx, "boxes", "injective", 3, axes, value);
}

static gpuc_expr is_left(const gpuc_compact *c, gpuc_expr row, gpuc_expr i)
{
    gpuc_expr at = gpuc_add(c->ctx, gpuc_mul(c->ctx, row, c->n), i);
    return gpuc_lt(c->ctx, gpuc_topi_par_i32(c->ctx, 0), gpuc_tir_load1(c->ctx, c->arg, at));
}

/* Those that are left come again until there are enough. */
static void proposal_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    proposal p = proposal_of(call);
    gpuc_expr rows = call->in[0].dims[0], n = boxes_of(call, &p), size = gpuc_mul(ctx, rows, n), vars[2],
              zero = gpuc_int(ctx, 0), one = gpuc_int(ctx, 1);
    gpuc_tensor *boxes = all_boxes(call, &p, ins),
                *places = gpuc_topi_suppress_left(call, 1, &boxes, rows, n);
    gpuc_tensor_type types[] = {gpuc_topi_par_type(ctx, GPUC_INT32, 1, &size),
                                gpuc_topi_par_type(ctx, GPUC_INT32, 1, &rows)};
    gpuc_te_op *op = gpuc_topi_par_extern(call, "lasting", 1, &places, 2, types);
    gpuc_compact c = {.ctx = ctx, .rows = rows, .n = n, .flag = is_left, .arg = op->input_buffers[0]};
    op->extern_body = gpuc_topi_compact_emit(&c, op->output_buffers[0], op->output_buffers[1], NULL);

    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr kept = gpuc_int(ctx, p.kept > 0 ? p.kept : 1), row = gpuc_floordiv_(ctx, vars[0], kept);
    gpuc_expr count = gpuc_topi_par_index(ctx, gpuc_te_read(ctx, op->outputs[1], 1, &row));
    gpuc_expr k = gpuc_floormod_(ctx, gpuc_floormod_(ctx, vars[0], kept), gpuc_max(ctx, count, one)),
              last = gpuc_sub(ctx, n, one), first = gpuc_mul(ctx, row, n);
    gpuc_expr at = gpuc_add(ctx, first, gpuc_topi_par_clamp(ctx, k, zero, last));
    at = gpuc_add(ctx, first,
                  gpuc_topi_par_clamp(
                      ctx, gpuc_topi_par_index(ctx, gpuc_te_read(ctx, op->outputs[0], 1, &at)), zero, last));
    gpuc_expr box = gpuc_sub(ctx, gpuc_topi_par_index(ctx, gpuc_te_read(ctx, places, 1, &at)), one);
    gpuc_expr index[] = {row, gpuc_topi_par_clamp(ctx, box, zero, last),
                         gpuc_max(ctx, zero, gpuc_sub(ctx, vars[1], one))};
    gpuc_expr value = gpuc_te_read(ctx, boxes, 3, index);
    value = gpuc_if_then_else(ctx, gpuc_lt(ctx, zero, count), value, number(ctx, 0));
    value = gpuc_select(ctx, gpuc_eq(ctx, vars[1], zero), gpuc_cast(ctx, GPUC_FLOAT32, row), value);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_cast(ctx, call->out[0].dtype, value));
}

#define NUMBERS(nm, def)                                                                                     \
    {                                                                                                        \
        .name = nm, .kind = GPUC_ATTR_FLOATS, .s = def                                                       \
    }
ATTRS(proposal_attrs, NUMBERS("scales", "[4, 8, 16, 32]"), NUMBERS("ratios", "[0.5, 1, 2]"),
      INT_UP_TO("feature_stride", 16, GPUC_OP_MAX_WINDOW), FLOAT("threshold", 0.7),
      INT("rpn_pre_nms_top_n", 6000), INT_UP_TO("rpn_post_nms_top_n", 300, GPUC_OP_MAX_WINDOW),
      INT("rpn_min_size", 16), INT("iou_loss", 0))

const gpuc_op gpuc_topi_ops_proposal[] = {
    ALONE_BY(gpuc_topi_par_schedule, "vision.proposal", 3, 3, proposal_attrs, infer_proposal,
             proposal_compute, "proposal", "", "", GPUC_T_FLOAT32, GPUC_T_FLOAT32, GPUC_T_FLOAT32),
};
const size_t gpuc_topi_ops_proposal_count = sizeof gpuc_topi_ops_proposal / sizeof gpuc_topi_ops_proposal[0];
