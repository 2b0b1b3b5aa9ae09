/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions with channels last, [N, space, C], where vectors or the lanes of a subgroup run along
 * channels: rows of any width fill them, and weights lie packed in the order of the sums (weights of small
 * integers with several input channels side by side, as dot products take them). Each becomes a
 * transposition, the convolution, and a transposition back, which sinks below the operators behind it: where
 * it meets the next one, both go. */
#include <string.h>

#include "relay_pass/common/fold_width.h"
#include "relay_pass/common/layout.h"
#include "relay_pass/common/pack.h"
#include "relay_pass/common/util.h"
#include "autoschedule/rules.h"

enum { MAX_RANK = GPUC_RELAY_PASS_IMAGE_RANK };

static gpuc_rexpr *channels_first(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return gpuc_relay_pass_outside(ctx, true, e);
}

static gpuc_rexpr *channels_last(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    return gpuc_relay_pass_into(ctx, true, e);
}

static gpuc_rexpr *inside(gpuc_rexpr *e)
{
    return gpuc_relay_pass_inside(true, e);
}

/* ---- Convolutions ---- */

typedef struct layouts {
    const gpuc_target *target;
    bool by_lanes;   /* the lanes of a subgroup run along channels, and each loads vectors */
    gpuc_map wanted; /* what a convolution after it would have to transpose */
} layouts;

static bool is_winograd(const gpuc_rexpr *e)
{
    return gpuc_relay_is_op(e, "nn.conv_winograd");
}

/* Channels of a block of packed weights. */
static int64_t lanes_of(const layouts *l)
{
    return gpuc_target_block_bits(l->target) / 32 * (l->by_lanes ? l->target->thread_warp_size : 1);
}

/* The number of output channels to compute for so many that are asked for: a multiple of the vectors that
 * lanes write. */
static int64_t whole_channels(const layouts *l, int64_t channels)
{
    int64_t each = l->by_lanes ? l->target->vector_bits / 32 : 1;
    return (channels + each - 1) / each * each;
}

static gpuc_rexpr *first_channels(gpuc_ctx *ctx, gpuc_rexpr *e, int64_t channels)
{
    return gpuc_relay_pass_first(ctx, e, gpuc_relay_tensor_type(e)->ndim - 1, channels);
}

static bool is_small(gpuc_dtype t)
{
    return gpuc_is_integer(t) && (t.bits == 8 || (t.bits == 16 && t.code == GPUC_DTYPE_INT));
}

/* The number of products of a convolution of small integers that the target sums at a time; 0: one by one. */
static int64_t side_of(const gpuc_rcall *c, const gpuc_target *t)
{
    gpuc_dtype x = gpuc_relay_tensor_type(c->args[0])->dtype, w = gpuc_relay_tensor_type(c->args[1])->dtype,
               out = gpuc_attrs_find(c->attrs, "out_dtype")->dtype;
    if (!is_small(x) || !is_small(w) || !gpuc_dtype_equal(out, GPUC_INT32)) return 0;
    if (gpuc_attrs_get_int(c->attrs, "groups", 1) > 1) return 0;
    int bits = x.bits > w.bits ? x.bits : w.bits;
    return gpuc_target_has_dot(t, bits) ? 32 / bits : 0;
}

/* Everything but the batch. */
static bool is_static(const gpuc_tensor_type *t)
{
    int64_t size;
    for (int i = 1; i < t->ndim; i++)
        if (!gpuc_expr_is_int(t->dims[i], &size)) return false;
    return true;
}

/* Whether channels fill vectors, and the gain outweighs the transpositions that may be needed. */
static bool gains(const gpuc_rcall *c, const layouts *l, bool is_wanted)
{
    int64_t lanes = lanes_of(l), each = l->target->vector_bits / 32;
    if (c->args[1]->kind != GPUC_REXPR_CONSTANT) return false;
    if (strcmp(gpuc_attrs_get_string(c->attrs, "kernel_layout", ""), "OIHW")) return false;
    if (strcmp(gpuc_attrs_get_string(c->attrs, "data_layout", ""), "NCHW")) return false;
    const gpuc_tensor_type *w = gpuc_relay_tensor_type(c->args[1]), *x = gpuc_relay_tensor_type(c->args[0]);
    int64_t dims[MAX_RANK], steps = 1, groups = gpuc_attrs_get_int(c->attrs, "groups", 1);
    if (w->ndim < 3 || w->ndim > MAX_RANK - 1 || !gpuc_relay_tensor_type_static(w, dims)) return false;
    if (l->by_lanes && (!gpuc_dtype_equal(x->dtype, GPUC_FLOAT32) || !is_static(x))) return false;
    if (dims[0] < (l->by_lanes ? lanes / 2 : lanes)) return false;
    is_wanted |= inside(c->args[0]) != NULL;
    if (!gpuc_is_float(x->dtype) && !side_of(c, l->target)) return false;
    if (groups > 1) return groups == dims[0] && dims[1] == 1 && is_wanted && !(l->by_lanes && groups % each);
    for (int i = 1; i < w->ndim; i++) steps *= dims[i];
    if (l->by_lanes) /* of each element that would be transposed */
        return steps * dims[0] >= l->target->constants->layout_steps * (dims[0] + dims[1]) || is_wanted;
    return steps >= l->target->constants->layout_steps || is_wanted;
}

/* Winograd's was chosen since it pays. */
static bool gains_winograd(const gpuc_rcall *c, const layouts *l)
{
    const gpuc_tensor_type *u = gpuc_relay_tensor_type(c->args[1]);
    int64_t outs, lanes = lanes_of(l);
    if (strcmp(gpuc_attrs_get_string(c->attrs, "kernel_layout", ""), "HWIO")) return false;
    if (strcmp(gpuc_attrs_get_string(c->attrs, "data_layout", ""), "NCHW")) return false;
    if (!gpuc_expr_is_int(u->dims[u->ndim - 1], &outs) || u->ndim > MAX_RANK - 1) return false;
    return outs >= (l->by_lanes ? lanes / 2 : lanes);
}

static gpuc_rexpr *winograd(gpuc_ctx *ctx, const layouts *l, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    if (!is_winograd(e) || !gains_winograd(c, l)) return NULL;
    gpuc_rexpr *args[] = {channels_last(ctx, c->args[0]), c->args[1]};
    int n = gpuc_relay_tensor_type(args[1])->ndim;
    int64_t outs, each = l->target->vector_bits / 32;
    gpuc_expr_is_int(gpuc_relay_tensor_type(args[1])->dims[n - 1], &outs);
    int64_t made = whole_channels(l, outs);
    if (l->by_lanes) {
        args[0] = gpuc_relay_pass_filled_up(ctx, args[0], gpuc_relay_tensor_type(args[0])->ndim - 1, each);
        args[1] = gpuc_relay_pass_filled_up(ctx, args[1], n - 2, each);
    }
    args[1] = gpuc_relay_pass_pack_points(ctx, args[1], lanes_of(l));
    const gpuc_attrs *a = gpuc_attrs_string(ctx, c->attrs, "data_layout", "NHWC");
    a = gpuc_attrs_int(ctx, gpuc_attrs_string(ctx, a, "kernel_layout", "HWOIo"), "channels", made);
    gpuc_rexpr *y = gpuc_relay_op(ctx, "nn.conv_winograd", a, 2, args);
    return channels_first(ctx, first_channels(ctx, y, outs));
}

static gpuc_rexpr *as_int16(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    if (gpuc_dtype_equal(gpuc_relay_tensor_type(e)->dtype, GPUC_INT16)) return e;
    return gpuc_relay_op1(ctx, "cast", gpuc_attrs_dtype(ctx, NULL, "dtype", GPUC_INT16), e);
}

static gpuc_rexpr *convolution(gpuc_ctx *ctx, const layouts *l, const gpuc_rexpr *old, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_op *op = gpuc_relay_call_op(e);
    int64_t lanes = lanes_of(l), each = l->target->vector_bits / 32;
    if (!gpuc_relay_pass_is_conv(e) || !gains(c, l, gpuc_map_get(&l->wanted, old) != NULL)) return NULL;
    int64_t channels;
    gpuc_expr_is_int(gpuc_relay_tensor_type(c->args[1])->dims[0], &channels);
    const gpuc_attrs *a = gpuc_attrs_string(ctx, c->attrs, "data_layout", "NHWC");
    int64_t side = side_of(c, l->target);
    bool depthwise = gpuc_attrs_get_int(c->attrs, "groups", 1) > 1, rows = depthwise && l->by_lanes;
    a = gpuc_attrs_string(ctx, a, "kernel_layout", side ? "OHWIoi" : rows ? "IHWO" : "OHWIo");
    a = gpuc_attrs_int(ctx, a, "channels", whole_channels(l, channels));
    gpuc_rexpr *args[] = {channels_last(ctx, c->args[0]), c->args[1]};
    for (int i = 0; side == 2 && i < 2; i++) args[i] = as_int16(ctx, args[i]);
    if (side)
        args[0] = gpuc_relay_pass_filled_up(ctx, args[0], gpuc_relay_tensor_type(args[0])->ndim - 1, side);
    if (l->by_lanes && !depthwise) a = gpuc_relay_pass_fold_width(ctx, a, args, each);
    if (l->by_lanes && !depthwise) /* whole vectors of input channels */
        for (int i = 0; i < 2; i++)
            args[i] = gpuc_relay_pass_filled_up(ctx, args[i],
                                                i ? 1 : gpuc_relay_tensor_type(args[i])->ndim - 1, each);
    args[1] = side   ? gpuc_relay_pass_pack_sides(ctx, args[1], lanes, side)
              : rows ? gpuc_relay_pass_turn_weights(ctx, args[1])
                     : gpuc_relay_pass_pack_weights(ctx, args[1], lanes);
    gpuc_rexpr *y = gpuc_relay_op(ctx, op->name, a, 2, args);
    return channels_first(ctx, first_channels(ctx, y, channels));
}

/* A product of small integers with a constant matrix is a convolution of rows with a window of one. */
static gpuc_rexpr *product(gpuc_ctx *ctx, const layouts *l, gpuc_rexpr *e)
{
    static const int64_t one[] = {1}, none[] = {0, 0}, swapped[] = {1, 0};
    if (!gpuc_relay_is_op(e, "nn.matmul")) return NULL;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_tensor_type *x = gpuc_relay_tensor_type(c->args[0]), *w = gpuc_relay_tensor_type(c->args[1]),
                           *y = gpuc_relay_tensor_type(e);
    int64_t dims[2], lanes = lanes_of(l), side = side_of(c, l->target);
    if (!side || c->args[1]->kind != GPUC_REXPR_CONSTANT || w->ndim != 2 || x->ndim < 2) return NULL;
    if (gpuc_attrs_get_int(c->attrs, "transpose_a", 0) || !gpuc_relay_tensor_type_static(w, dims))
        return NULL;
    gpuc_rexpr *weights = c->args[1];
    if (gpuc_attrs_get_int(c->attrs, "transpose_b", 0)) {
        int64_t columns = dims[0];
        dims[0] = dims[1];
        dims[1] = columns;
    } else {
        weights = gpuc_relay_pass_transpose(ctx, weights, swapped);
    }
    if (dims[0] < side || dims[1] < lanes) return NULL;
    gpuc_expr rows = gpuc_int(ctx, 1);
    for (int i = 0; i < x->ndim - 1; i++) rows = gpuc_mul(ctx, rows, x->dims[i]);
    const gpuc_expr flat[] = {gpuc_int(ctx, 1), rows, gpuc_int(ctx, dims[0])};
    gpuc_rexpr *args[] = {gpuc_relay_pass_reshape(ctx, c->args[0], 3, flat),
                          gpuc_relay_pass_reshape_static(ctx, weights, 3, (int64_t[]){dims[1], dims[0], 1})};
    for (int i = 0; side == 2 && i < 2; i++) args[i] = as_int16(ctx, args[i]);
    args[0] = gpuc_relay_pass_filled_up(ctx, args[0], 2, side);
    args[1] = gpuc_relay_pass_pack_sides(ctx, args[1], lanes, side);
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "strides", 1, one);
    a = gpuc_attrs_ints(ctx, gpuc_attrs_ints(ctx, a, "padding", 2, none), "dilation", 1, one);
    a = gpuc_attrs_string(ctx, gpuc_attrs_string(ctx, a, "data_layout", "NHWC"), "kernel_layout", "OHWIoi");
    a = gpuc_attrs_dtype(ctx, gpuc_attrs_int(ctx, a, "channels", dims[1]), "out_dtype", GPUC_INT32);
    return gpuc_relay_pass_reshape(ctx, gpuc_relay_op(ctx, "nn.conv1d", a, 2, args), y->ndim, y->dims);
}

/* A product of floats with a constant matrix reads it block after block of columns: each block lies together, and its
 * vectors need no guards. Doubles take two vectors to a block, and gain nothing. */
static gpuc_rexpr *blocked_product(gpuc_ctx *ctx, const layouts *l, gpuc_rexpr *e)
{
    if (l->by_lanes || !gpuc_relay_is_op(e, "nn.matmul")) return NULL;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_tensor_type *x = gpuc_relay_tensor_type(c->args[0]), *w = gpuc_relay_tensor_type(c->args[1]);
    int64_t dims[MAX_RANK], axes[MAX_RANK], lanes = lanes_of(l);
    int n = w->ndim;
    if (c->args[1]->kind != GPUC_REXPR_CONSTANT || !gpuc_is_float(w->dtype) ||
        w->dtype.bits > GPUC_FLOAT32.bits)
        return NULL;
    if (x->ndim < 2 || n < 2 || n > MAX_RANK - 1 || !gpuc_relay_tensor_type_static(w, dims)) return NULL;
    if (strcmp(gpuc_attrs_get_string(c->attrs, "b_layout", ""), "KN")) return NULL;
    gpuc_rexpr *args[] = {c->args[0], c->args[1]};
    const gpuc_attrs *a = c->attrs;
    if (gpuc_attrs_get_int(a, "transpose_b", 0)) {
        for (int i = 0; i < n; i++) axes[i] = i < n - 2 ? i : 2 * n - 3 - i;
        args[1] = gpuc_relay_pass_transpose(ctx, args[1], axes);
        a = gpuc_attrs_int(ctx, a, "transpose_b", 0);
        gpuc_relay_tensor_type_static(gpuc_relay_tensor_type(args[1]), dims);
    }
    if (dims[n - 1] < lanes || dims[n - 2] < 1) return NULL;
    args[1] = gpuc_relay_pass_pack_points(ctx, args[1], lanes);
    a = gpuc_attrs_int(ctx, gpuc_attrs_string(ctx, a, "b_layout", "NKn"), "columns", dims[n - 1]);
    return gpuc_relay_op(ctx, "nn.matmul", a, 2, args);
}

/* ---- The pass ---- */

/* Whether a transposition above it can be moved below it. */
static bool passes_on(const gpuc_rexpr *e)
{
    const gpuc_op *op = gpuc_relay_call_op(e);
    return op->pattern <= GPUC_FUSE_BROADCAST || gpuc_attrs_find(gpuc_as_rcall(e)->attrs, "data_layout") ||
           gpuc_relay_is_op(e, "concatenate") || gpuc_relay_is_op(e, "nn.pad") ||
           gpuc_relay_is_op(e, "reshape");
}

static void find_wanted(gpuc_ctx *ctx, layouts *l, gpuc_rexpr *root)
{
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, root, true, &order);
    for (size_t i = order.count; i-- > 0;) {
        gpuc_rexpr *e = order.at[i];
        if (!gpuc_relay_call_op(e)) continue;
        const gpuc_rcall *c = gpuc_as_rcall(e);
        bool is_wanted = gpuc_map_get(&l->wanted, e) != NULL,
             conv = gpuc_relay_pass_is_conv(e) || is_winograd(e);
        if (is_winograd(e) ? gains_winograd(c, l) : conv && gains(c, l, is_wanted))
            gpuc_map_set(&l->wanted, c->args[0], e);
        if (conv || !is_wanted || !passes_on(e)) continue;
        for (int k = 0; k < c->n; k++) gpuc_map_set(&l->wanted, c->args[k], e);
    }
}

static gpuc_rexpr *alter(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    if (!gpuc_relay_call_op(e) || gpuc_as_rcall(e)->n == 0 || e->type->kind != GPUC_RTYPE_TENSOR) return e;
    gpuc_rexpr *out = convolution(ctx, arg, old, e);
    if (!out) out = winograd(ctx, arg, e);
    if (!out) out = product(ctx, arg, e);
    if (!out) out = blocked_product(ctx, arg, e);
    if (!out) out = gpuc_relay_pass_sink(ctx, true, e);
    if (!out) return e;
    gpuc_rexpr *made = inside(out) ? inside(out) : out;
    gpuc_relay_with_source(ctx, made, e->source);
    return out;
}

void gpuc_relay_pass_alter_op_layout(gpuc_relay_pass_ctx *p)
{
    const gpuc_target *t = p->target;
    bool by_lanes = gpuc_target_keeps_channels_last(t);
    if (!(gpuc_target_is_cpu(t) || by_lanes) || t->vector_bits < 128) return;
    layouts l = {.target = t, .by_lanes = by_lanes};
    gpuc_map_init(&l.wanted, p->ctx);
    const gpuc_map *functions = &p->module->functions.map;
    for (uint32_t i = 0; i < functions->count; i++) find_wanted(p->ctx, &l, functions->entries[i].value);
    gpuc_relay_pass_rewrite_module(p, alter, &l);
    gpuc_relay_pass_tidy_transposes(p);
}
