/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces dense convolutions of stride 1 with windows of three by Winograd's minimal filtering
 * (nn.conv_winograd) where it takes less time, by an estimate of the multiplications, of the transformations
 * and of the weights that are loaded. The weights are transformed by nn.winograd_weight, which folds. The
 * target's attribute winograd limits the tile; 1 turns the pass off: then sums are rounded as the definition
 * has them, and an infinity stays in its window instead of its tile. */
#include <string.h>

#include "relay_pass/common/util.h"
#include "autoschedule/rules.h"

enum { MAX_RANK = 3, WINDOW = 3 };

typedef struct shape {
    int rank;
    int64_t images, ins, outs, window[MAX_RANK], out[MAX_RANK];
} shape;

static bool all_are(const gpuc_attr *a, int64_t value)
{
    for (int i = 0; i < a->n; i++)
        if (a->ints[i] != value) return false;
    return true;
}

/* A dense convolution of float32 by constant weights, with stride 1, whose sizes are known. */
static bool shape_of(const gpuc_rexpr *e, shape *s)
{
    if (!gpuc_relay_is_op(e, "nn.conv1d") && !gpuc_relay_is_op(e, "nn.conv2d") &&
        !gpuc_relay_is_op(e, "nn.conv3d"))
        return false;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_tensor_type *x = gpuc_relay_tensor_type(c->args[0]), *w = gpuc_relay_tensor_type(c->args[1]),
                           *y = gpuc_relay_tensor_type(e);
    int64_t dims[MAX_RANK + 2];
    s->rank = x->ndim - 2;
    if (c->args[1]->kind != GPUC_REXPR_CONSTANT || s->rank > MAX_RANK || w->ndim != x->ndim) return false;
    if (!gpuc_dtype_equal(x->dtype, GPUC_FLOAT32) || !gpuc_dtype_equal(w->dtype, GPUC_FLOAT32)) return false;
    if (!all_are(gpuc_attrs_find(c->attrs, "strides"), 1) ||
        !all_are(gpuc_attrs_find(c->attrs, "dilation"), 1) || gpuc_attrs_get_int(c->attrs, "groups", 1) != 1)
        return false;
    if (strcmp(gpuc_attrs_get_string(c->attrs, "kernel_layout", ""), "OIHW") ||
        strcmp(gpuc_attrs_get_string(c->attrs, "data_layout", ""), "NCHW"))
        return false;
    if (!gpuc_relay_tensor_type_static(w, dims)) return false;
    s->outs = dims[0];
    s->ins = dims[1];
    for (int i = 0; i < s->rank; i++) s->window[i] = dims[2 + i];
    if (!gpuc_relay_tensor_type_static(y, dims)) return false;
    s->images = dims[0];
    for (int i = 0; i < s->rank; i++) s->out[i] = dims[2 + i];
    return true;
}

/* ---- What it costs ---- */

static double volume(int rank, const int64_t *extents)
{
    double n = 1;
    for (int i = 0; i < rank; i++) n *= (double)extents[i];
    return n;
}

static double direct_cost(const gpuc_constants *c, const shape *s)
{
    double weights = (double)s->ins * (double)s->outs * volume(s->rank, s->window);
    return weights * (double)s->images * volume(s->rank, s->out) + weights * c->winograd_weight;
}

static double points_of(const shape *s, const int64_t *tile)
{
    double points = 1;
    for (int i = 0; i < s->rank; i++) points *= (double)(tile[i] + s->window[i] - 1);
    return points;
}

static double winograd_weights(const shape *s, const int64_t *tile)
{
    return (double)s->ins * (double)s->outs * points_of(s, tile);
}

static double winograd_cost(const gpuc_constants *c, const shape *s, const int64_t *tile)
{
    double weights = winograd_weights(s, tile), tiles = (double)s->images, points = points_of(s, tile);
    for (int i = 0; i < s->rank; i++) tiles *= (double)((s->out[i] + tile[i] - 1) / tile[i]);
    return weights * (c->winograd_product * tiles + c->winograd_weight) +
           points * tiles * (double)(s->ins + s->outs) * c->winograd_element + 2 * c->winograd_launch;
}

/* Chooses the tiles; false: the direct convolution is as fast. Small convolutions change only for a large
 * gain. */
static bool choose(const gpuc_target *t, const shape *s, int64_t *best)
{
    static const int64_t tiles[] = {2, 4};
    double min = direct_cost(t->constants, s);
    bool found = false, windows = false;
    for (int k = 0; k < s->rank; k++) {
        if (s->window[k] != 1 && s->window[k] != WINDOW) return false;
        windows |= s->window[k] == WINDOW;
    }
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles && windows && tiles[i] <= t->winograd; i++) {
        int64_t tile[MAX_RANK];
        for (int k = 0; k < s->rank; k++) tile[k] = s->window[k] == 1 ? 1 : tiles[i];
        double cost = winograd_cost(t->constants, s, tile);
        if (points_of(s, tile) > (double)t->constants->winograd_points) continue;
        if (cost > t->constants->winograd_gain * min) continue;
        memcpy(best, tile, sizeof tile);
        min = cost;
        found = true;
    }
    return found;
}

/* ---- The pass ---- */

/* Whether the transformed weights fit the budget of constant folding. */
static bool may_fold(const gpuc_relay_budget *left, const shape *s, const int64_t *tile)
{
    const double max = 0.5,
                 work = 64; /* max: part of the budget, so that others have the rest; work: of one element */
    double weights = winograd_weights(s, tile);
    return left->work == 0 /* nothing folds, or nothing has */ ||
           (weights * (double)sizeof(float) < max * (double)left->bytes &&
            weights * work < max * (double)left->work);
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    const gpuc_relay_pass_ctx *p = arg;
    shape s;
    int64_t tile[MAX_RANK];
    gpuc_expr padding[2 * MAX_RANK];
    (void)old;
    if (!shape_of(e, &s) || !choose(p->target, &s, tile) || !may_fold(&p->budget, &s, tile)) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "tile", s.rank, tile);
    gpuc_rexpr *args[] = {c->args[0], gpuc_relay_op1(ctx, "nn.winograd_weight", a, c->args[1])};
    for (int i = 0; i < 2 * s.rank; i++)
        padding[i] = gpuc_attr_size(ctx, gpuc_attrs_find(c->attrs, "padding"), i);
    a = gpuc_attrs_sizes(ctx, a, "padding", 2 * s.rank, padding);
    return gpuc_relay_with_source(ctx, gpuc_relay_op(ctx, "nn.conv_winograd", a, 2, args), e->source);
}

void gpuc_relay_pass_winograd(gpuc_relay_pass_ctx *p)
{
    if (p->target->winograd > 1) gpuc_relay_pass_rewrite_module(p, rewrite, p);
}
