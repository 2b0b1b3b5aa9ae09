/* SPDX-License-Identifier: Apache-2.0 */
/* Elements between depth and space, and between the layouts of a tensor. */
#include <ctype.h>
#include <string.h>

#include "topi/families.h"
#include "op/rows.h"
#include "topi/util.h"

/* ---- Depth and space ---- */

typedef struct blocks {
    int64_t size;
    int channels, height, width; /* dimensions */
} blocks;

static blocks blocks_of(const gpuc_op_call *call)
{
    blocks b = {
        .size = gpuc_attrs_get_int(call->attrs, "block_size", 1), .channels = 1, .height = 2, .width = 3};
    const char *layout = gpuc_attrs_get_string(call->attrs, "layout", "NCHW");
    if (!strcmp(layout, "NHWC"))
        b = (blocks){.size = b.size, .channels = 3, .height = 1, .width = 2};
    else if (strcmp(layout, "NCHW"))
        gpuc_topi_fail(call, "layout '%s' is neither NCHW nor NHWC", layout);
    if (call->in[0].ndim != 4) gpuc_topi_fail(call, "the input has %d dimensions, needs 4", call->in[0].ndim);
    if (b.size < 1) gpuc_topi_fail(call, "block_size=%lld, needs 1 or more", (long long)b.size);
    return b;
}

static gpuc_expr times(const gpuc_op_call *call, gpuc_expr e, int64_t factor)
{
    return e ? gpuc_mul(call->ctx, e, gpuc_topi_num(call, factor)) : NULL;
}

static gpuc_expr divided(const gpuc_op_call *call, int k, int64_t by)
{
    gpuc_expr e = call->in[0].dims[k];
    if (e)
        gpuc_topi_require(
            call,
            gpuc_eq(call->ctx, gpuc_floormod_(call->ctx, e, gpuc_topi_num(call, by)), gpuc_topi_num(call, 0)),
            "dimension %d of %s does not divide by %lld", k, gpuc_expr_text(call->ctx, e), (long long)by);
    return e ? gpuc_floordiv_(call->ctx, e, gpuc_topi_num(call, by)) : NULL;
}

static void infer_space_to_depth(gpuc_op_call *call)
{
    blocks b = blocks_of(call);
    gpuc_expr dims[4];
    memcpy(dims, call->in[0].dims, sizeof dims);
    dims[b.channels] = times(call, dims[b.channels], b.size * b.size);
    dims[b.height] = divided(call, b.height, b.size);
    dims[b.width] = divided(call, b.width, b.size);
    gpuc_topi_set_out(call, 0, call->in[0].dtype, 4, dims);
}

static void space_to_depth_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    blocks b = blocks_of(call);
    gpuc_expr i[4], size = gpuc_topi_num(call, b.size), channels = call->in[0].dims[b.channels];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], i);
    gpuc_expr in_block = gpuc_floordiv_(ctx, i[b.channels], channels);
    i[b.channels] = gpuc_floormod_(ctx, i[b.channels], channels);
    i[b.height] = gpuc_add(ctx, gpuc_mul(ctx, i[b.height], size), gpuc_floordiv_(ctx, in_block, size));
    i[b.width] = gpuc_add(ctx, gpuc_mul(ctx, i[b.width], size), gpuc_floormod_(ctx, in_block, size));
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, ins[0], 4, i));
}

/* DCR: the depth counts positions in the block first, then channels; CRD: the other way round. */
static bool channels_first(const gpuc_op_call *call)
{
    const char *mode = gpuc_attrs_get_string(call->attrs, "mode", "DCR");
    if (!strcmp(mode, "CRD")) return true;
    if (strcmp(mode, "DCR")) gpuc_topi_fail(call, "mode '%s' is neither DCR nor CRD", mode);
    return false;
}

static void infer_depth_to_space(gpuc_op_call *call)
{
    blocks b = blocks_of(call);
    gpuc_expr dims[4];
    channels_first(call);
    memcpy(dims, call->in[0].dims, sizeof dims);
    dims[b.channels] = divided(call, b.channels, b.size * b.size);
    dims[b.height] = times(call, dims[b.height], b.size);
    dims[b.width] = times(call, dims[b.width], b.size);
    gpuc_topi_set_out(call, 0, call->in[0].dtype, 4, dims);
}

static void depth_to_space_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    blocks b = blocks_of(call);
    gpuc_expr i[4], size = gpuc_topi_num(call, b.size), area = gpuc_topi_num(call, b.size * b.size);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], i);
    gpuc_expr in_block = gpuc_add(ctx, gpuc_mul(ctx, gpuc_floormod_(ctx, i[b.height], size), size),
                                  gpuc_floormod_(ctx, i[b.width], size));
    if (channels_first(call))
        i[b.channels] = gpuc_add(ctx, gpuc_mul(ctx, i[b.channels], area), in_block);
    else
        i[b.channels] = gpuc_add(ctx, gpuc_mul(ctx, in_block, call->out[0].dims[b.channels]), i[b.channels]);
    i[b.height] = gpuc_floordiv_(ctx, i[b.height], size);
    i[b.width] = gpuc_floordiv_(ctx, i[b.width], size);
    outs[0] = gpuc_topi_injective(call, 0, axes, gpuc_te_read(ctx, ins[0], 4, i));
}

/* ---- Layouts: "NCHW4c" has C cut into outer parts and an inner dimension c of 4 ---- */

typedef struct layout {
    int ndim;
    char axis[GPUC_TOPI_MAX_DIMS];      /* of each dimension, in capitals */
    int64_t factor[GPUC_TOPI_MAX_DIMS]; /* of an inner dimension; 0: an outer one, or a whole axis */
    int64_t inner[26];                  /* per axis: the factor of its inner dimension, or 1 */
    bool present[26];
} layout;

static layout parse_layout(const gpuc_op_call *call, const char *attr)
{
    layout l = {0};
    const char *text = gpuc_attrs_get_string(call->attrs, attr, "");
    for (int i = 0; i < 26; i++) l.inner[i] = 1;
    for (const char *p = text; *p; p++, l.ndim++) {
        int64_t factor = 0;
        for (; isdigit((unsigned char)*p) && factor <= INT32_MAX; p++) factor = 10 * factor + (*p - '0');
        if (!isalpha((unsigned char)*p) || l.ndim == GPUC_TOPI_MAX_DIMS || factor > INT32_MAX)
            gpuc_topi_fail(call, "%s '%s' is no layout, such as NCHW or NCHW4c", attr, text);
        int axis = toupper((unsigned char)*p) - 'A';
        bool small = islower((unsigned char)*p);
        if (small != (factor > 0) || (small ? l.inner[axis] > 1 || !l.present[axis] : l.present[axis]))
            gpuc_topi_fail(call,
                           "%s '%s': a capital letter is an axis, a factor with its small letter after it "
                           "the inner part, each once",
                           attr, text);
        l.axis[l.ndim] = (char)axis;
        l.factor[l.ndim] = factor;
        if (small) l.inner[axis] = factor;
        l.present[axis] = true;
    }
    return l;
}

/* Elements of each axis of the input. */
static void axis_extents(const gpuc_op_call *call, const layout *from, gpuc_expr *extents)
{
    for (int i = 0; i < from->ndim; i++)
        if (!from->factor[i])
            extents[(int)from->axis[i]] = times(call, call->in[0].dims[i], from->inner[(int)from->axis[i]]);
}

static void infer_layout_transform(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    layout from = parse_layout(call, "src_layout"), to = parse_layout(call, "dst_layout");
    gpuc_expr extents[26] = {0}, dims[GPUC_TOPI_MAX_DIMS];
    if (from.ndim != call->in[0].ndim)
        gpuc_topi_fail(call, "src_layout has %d dimensions, the input %d", from.ndim, call->in[0].ndim);
    if (memcmp(from.present, to.present, sizeof from.present))
        gpuc_topi_fail(call, "src_layout and dst_layout have different axes");
    for (int i = 0; i < from.ndim; i++) {
        gpuc_expr have = call->in[0].dims[i];
        if (from.factor[i] && have)
            gpuc_topi_require(call, gpuc_eq(ctx, have, gpuc_topi_num(call, from.factor[i])),
                              "dimension %d is %s, src_layout says %lld", i, gpuc_expr_text(ctx, have),
                              (long long)from.factor[i]);
    }
    axis_extents(call, &from, extents);
    for (int i = 0; i < to.ndim; i++) {
        int axis = to.axis[i];
        gpuc_expr n = gpuc_topi_num(call, to.inner[axis]);
        dims[i] = extents[axis];
        if (to.factor[i])
            dims[i] = gpuc_topi_num(call, to.factor[i]);
        else if (dims[i] && to.inner[axis] > 1) /* the last part is filled up with zeros */
            dims[i] =
                gpuc_floordiv_(ctx, gpuc_add(ctx, dims[i], gpuc_sub(ctx, n, gpuc_topi_num(call, 1))), n);
    }
    gpuc_topi_set_out(call, 0, call->in[0].dtype, to.ndim, dims);
}

static void layout_transform_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    layout from = parse_layout(call, "src_layout"), to = parse_layout(call, "dst_layout");
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[GPUC_TOPI_MAX_DIMS], extents[26] = {0}, at[26], inside = NULL;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    axis_extents(call, &from, extents);
    for (int i = 0; i < 26; i++) at[i] = gpuc_topi_num(call, 0);
    for (int i = 0; i < to.ndim; i++) {
        int axis = to.axis[i];
        gpuc_expr part = to.factor[i] ? vars[i] : times(call, vars[i], to.inner[axis]);
        at[axis] = gpuc_add(ctx, at[axis], part);
    }
    for (int axis = 0; axis < 26; axis++) {
        int64_t n;
        if (to.inner[axis] == 1 || (gpuc_expr_is_int(extents[axis], &n) && n % to.inner[axis] == 0)) continue;
        gpuc_expr ok = gpuc_lt(ctx, at[axis], extents[axis]);
        inside = inside ? gpuc_and(ctx, inside, ok) : ok;
    }
    for (int i = 0; i < from.ndim; i++) {
        int axis = from.axis[i];
        gpuc_expr n = gpuc_topi_num(call, from.inner[axis]);
        index[i] = from.factor[i] ? gpuc_floormod_(ctx, at[axis], n) : gpuc_floordiv_(ctx, at[axis], n);
    }
    gpuc_expr x = gpuc_te_read(ctx, ins[0], from.ndim, index);
    if (inside) x = gpuc_if_then_else(ctx, inside, x, gpuc_imm(ctx, call->out[0].dtype, 0));
    outs[0] = gpuc_topi_injective(call, 0, axes, x);
}

#define BLOCK INT_UP_TO("block_size", 1, 1 << 15)
ATTRS(space_attrs, BLOCK, STRING("layout", "NCHW"))
ATTRS(depth_attrs, BLOCK, STRING("layout", "NCHW"), STRING("mode", "DCR"))
ATTRS(layout_attrs, STRING("src_layout", ""), STRING("dst_layout", ""))

const gpuc_op gpuc_topi_ops_space[] = {
    MOVES("nn.space_to_depth", 1, 1, space_attrs, infer_space_to_depth, space_to_depth_compute,
          "space_to_depth", "", "SpaceToDepth"),
    MOVES("nn.depth_to_space", 1, 1, depth_attrs, infer_depth_to_space, depth_to_space_compute,
          "depth_to_space", "", "DepthToSpace"),
    MOVES("layout_transform", 1, 1, layout_attrs, infer_layout_transform, layout_transform_compute,
          "layout_transform", "__layout_transform__", ""),
};
const size_t gpuc_topi_ops_space_count = sizeof gpuc_topi_ops_space / sizeof gpuc_topi_ops_space[0];
