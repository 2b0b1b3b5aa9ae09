/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of stride 1 by Winograd's minimal filtering (Lavin and Gray 2015): the image in overlapping
 * tiles, each transformed; a product of matrices for each point of a tile, over the channels; and the
 * transformation back. The weights are transformed by an operator of their own, which folds. */
#include "topi/nn/winograd.h"

#include <math.h>
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"

enum { MAX_RANK = 3 };

/* ---- The transformations ---- */

/* The coefficients of the product of x - points[i] over all i but `without`, the constant one first. */
static void polynomial(int n, const double *points, int without, double *out)
{
    int degree = 0;
    memset(out, 0, sizeof *out * GPUC_WINOGRAD_MAX);
    out[0] = 1;
    for (int i = 0; i < n; i++) {
        if (i == without) continue;
        degree++;
        for (int k = degree; k >= 0; k--) out[k] = (k ? out[k - 1] : 0) - points[i] * out[k];
    }
}

/* Toom and Cook's interpolation at small points and at infinity, transposed. */
gpuc_winograd gpuc_topi_winograd_of(int tile, int window)
{
    static const double points[] = {0, 1, -1, 0.5, -0.5, 2, -2}; /* pairs have sums in common */
    gpuc_winograd w = {.tile = tile, .window = window, .points = tile + window - 1};
    int n = w.points - 1;
    if (tile == 1 || window == 1) { /* window or tile of one: nothing to gain */
        for (int i = 0; i < w.points; i++) {
            w.bt[i][i] = w.g[i][window == 1 ? 0 : i] = w.at[tile == 1 ? 0 : i][i] = 1;
        }
        return w;
    }
    for (int i = 0; i < n; i++) {
        double scale = 1;
        for (int k = 0; k < n; k++)
            if (k != i) scale *= points[i] - points[k];
        for (int k = 0; k < window; k++) w.g[i][k] = pow(points[i], k) / scale;
        for (int k = 0; k < tile; k++) w.at[k][i] = pow(points[i], k);
        polynomial(n, points, i, w.bt[i]);
    }
    w.g[n][window - 1] = w.at[tile - 1][n] = 1;
    polynomial(n, points, -1, w.bt[n]);
    return w;
}

/* value + factor * x; value may be NULL. */
static gpuc_expr plus(gpuc_ctx *ctx, gpuc_expr value, double factor, gpuc_expr x)
{
    double size = value ? fabs(factor) : factor;
    if (size != 1) x = gpuc_mul(ctx, gpuc_imm(ctx, gpuc_expr_dtype(x), size), x);
    if (!value) return x;
    return factor < 0 ? gpuc_sub(ctx, value, x) : gpuc_add(ctx, value, x);
}

/* The sum of the terms of one parity, from the last on, divided by its sign. */
static gpuc_expr half_sum(gpuc_ctx *ctx, int n, const double *c, gpuc_expr const *x, int parity, double *sign)
{
    gpuc_expr sum = NULL;
    *sign = 0;
    for (int i = n - 1; i >= 0; i--) {
        if (i % 2 != parity || c[i] == 0) continue;
        if (!sum) *sign = c[i] < 0 ? -1 : 1;
        sum = plus(ctx, sum, c[i] * *sign, x[i]);
    }
    return sum;
}

/* c[0] * x[0] + c[1] * x[1] + ... The polynomials of two opposite points are alike but for the sign of every
 * second coefficient: what they have in common is one expression. */
static gpuc_expr sum_by_parity(gpuc_ctx *ctx, int n, const double *c, gpuc_expr const *x)
{
    double signs[2];
    gpuc_expr even = half_sum(ctx, n, c, x, 0, &signs[0]), odd = half_sum(ctx, n, c, x, 1, &signs[1]);
    if (!even && !odd) return gpuc_imm(ctx, gpuc_expr_dtype(x[0]), 0);
    if (!even) return plus(ctx, NULL, signs[1], odd);
    if (signs[0] > 0) return odd ? plus(ctx, even, signs[1], odd) : even;
    return plus(ctx, odd ? plus(ctx, NULL, signs[1], odd) : NULL, -1, even);
}

/* The same where neighbours are values at opposite points: all rows have their sums and differences. */
static gpuc_expr sum_by_pairs(gpuc_ctx *ctx, int n, const double *c, gpuc_expr const *x)
{
    gpuc_expr sum = NULL;
    for (int i = 0; i < n; i++) {
        bool pair = i % 2 && i + 1 < n && fabs(c[i]) == fabs(c[i + 1]);
        if (c[i] == 0) continue;
        sum = plus(ctx, sum, c[i], pair ? plus(ctx, x[i], c[i + 1] / c[i], x[i + 1]) : x[i]);
        i += pair;
    }
    return sum ? sum : gpuc_imm(ctx, gpuc_expr_dtype(x[0]), 0);
}

/* values[at] */
static gpuc_expr choose(gpuc_ctx *ctx, gpuc_expr at, int n, gpuc_expr const *values)
{
    gpuc_expr out = values[n - 1];
    for (int i = n - 2; i >= 0; i--)
        out = gpuc_select(ctx, gpuc_eq(ctx, at, gpuc_int(ctx, i)), values[i], out);
    return out;
}

typedef double matrix[GPUC_WINOGRAD_MAX][GPUC_WINOGRAD_MAX];
typedef gpuc_expr (*summing)(gpuc_ctx *ctx, int n, const double *c, gpuc_expr const *x);

/* Element `at` of the product of a matrix of that many rows and the values that t has along one dimension. */
static gpuc_expr transformed(gpuc_ctx *ctx, const matrix m, int rows, int columns, summing sum, gpuc_expr at,
                             gpuc_tensor *t, gpuc_expr *index, int dimension, gpuc_dtype type)
{
    gpuc_expr x[GPUC_WINOGRAD_MAX], y[GPUC_WINOGRAD_MAX] = {0}, first = index[dimension];
    for (int i = 0; i < columns; i++) {
        index[dimension] = gpuc_add(ctx, first, gpuc_int(ctx, i));
        x[i] = gpuc_cast(ctx, type, gpuc_te_read(ctx, t, gpuc_te_ndim(t), index));
    }
    index[dimension] = first;
    for (int i = 0; i < rows; i++) y[i] = sum(ctx, columns, m[i], x);
    return choose(ctx, at, rows, y);
}

/* ---- nn.winograd_weight: [O, I, window] to [points, I, O] ---- */

static gpuc_winograd winograd_of(const gpuc_op_call *call, int64_t tile, int64_t window)
{
    if (tile < 1 || window < 1 || tile > GPUC_WINOGRAD_MAX || tile + window - 1 > GPUC_WINOGRAD_MAX)
        gpuc_topi_fail(call, "tiles of %lld and a window of %lld need %lld points; from 1 to %d are possible",
                       (long long)tile, (long long)window, (long long)(tile + window - 1), GPUC_WINOGRAD_MAX);
    return gpuc_topi_winograd_of((int)tile, (int)window);
}

static int rank_of(const gpuc_op_call *call)
{
    int rank = call->in[0].ndim - 2;
    if (rank < 1 || rank > MAX_RANK)
        gpuc_topi_fail(call, "takes 1 to %d dimensions of space, not %d", MAX_RANK, rank);
    return rank;
}

static void infer_weight(gpuc_op_call *call)
{
    gpuc_expr dims[MAX_RANK + 2];
    int rank = rank_of(call);
    const int64_t *tile = gpuc_topi_ints(call, "tile", rank);
    for (int i = 0; i < rank; i++)
        dims[i] =
            gpuc_int(call->ctx, winograd_of(call, tile[i], gpuc_topi_static_dim(call, 0, 2 + i)).points);
    dims[rank] = call->in[0].dims[1];
    dims[rank + 1] = call->in[0].dims[0];
    gpuc_topi_set_out(call, 0, call->in[0].dtype, rank + 2, dims);
}

static void weight_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    int rank = rank_of(call), n = rank + 2;
    const int64_t *tile = gpuc_topi_ints(call, "tile", rank);
    gpuc_dtype type = gpuc_topi_accumulator(call->in[0].dtype);
    gpuc_expr dims[MAX_RANK + 2], vars[MAX_RANK + 2], index[MAX_RANK + 2];
    gpuc_tensor *t = ins[0];
    memcpy(dims, call->in[0].dims, sizeof *dims * (size_t)n);
    for (int i = 0; i < rank; i++) { /* [O, I, window] with one axis after the other transformed */
        gpuc_winograd w = winograd_of(call, tile[i], gpuc_topi_static_dim(call, 0, 2 + i));
        bool last = i == rank - 1;
        dims[2 + i] = call->out[0].dims[i];
        gpuc_tensor_type shape = {.dtype = type, .ndim = n, .dims = last ? call->out[0].dims : dims};
        gpuc_iter **axes = gpuc_topi_axes(ctx, &shape, vars);
        memcpy(index, vars, sizeof *index * (size_t)n);
        for (int k = 0; last && k < n; k++) index[k] = k < 2 ? vars[n - 1 - k] : vars[k - 2];
        gpuc_expr at = index[2 + i];
        index[2 + i] = gpuc_int(ctx, 0);
        gpuc_expr value = transformed(ctx, w.g, w.points, w.window, sum_by_parity, at, t, index, 2 + i, type);
        if (last) value = gpuc_cast(ctx, call->out[0].dtype, value);
        t = gpuc_topi_compute(ctx, "U", "injective", n, axes, value);
    }
    outs[0] = t;
}

/* ---- nn.conv_winograd ---- */

typedef struct conv {
    int rank; /* of space */
    gpuc_topi_layout at;
    bool channels_last;
    int in, out, block; /* dimensions of the weight; block 0: none */
    int64_t ins, outs;  /* channels */
    gpuc_expr padding[2 * MAX_RANK], tiles[MAX_RANK];
    gpuc_winograd w[MAX_RANK];
} conv;

static conv conv_of(const gpuc_op_call *call)
{
    conv c = {.rank = rank_of(call), .at = gpuc_topi_layout_of(call, call->in[0].ndim)};
    const char *layout = gpuc_attrs_get_string(call->attrs, "kernel_layout", "");
    const int64_t *tile = gpuc_topi_ints(call, "tile", c.rank);
    bool blocked = !strcmp(layout, "HWOIo");
    if (!blocked && strcmp(layout, "HWIO"))
        gpuc_topi_fail(call, "kernel_layout is '%s'; known are HWIO and HWOIo", layout);
    if (call->in[1].ndim != c.rank + 2 + blocked)
        gpuc_topi_fail(call, "data of %d dimensions, weight of %d", call->in[0].ndim, call->in[1].ndim);
    c.channels_last = c.at.space == 1;
    c.in = blocked ? c.rank + 1 : c.rank;
    c.out = blocked ? c.rank : c.rank + 1;
    c.block = blocked ? c.rank + 2 : 0;
    c.ins = gpuc_topi_static_dim(call, 1, c.in);
    int64_t have = gpuc_topi_static_dim(call, 1, c.out);
    if (blocked) have *= gpuc_topi_static_dim(call, 1, c.block);
    c.outs = gpuc_attrs_get_int(call->attrs, "channels", 0);
    if (c.outs < 0 || c.outs > have)
        gpuc_topi_fail(call, "channels=%lld, the weight has %lld", (long long)c.outs, (long long)have);
    if (c.outs == 0) c.outs = have;
    int64_t given = gpuc_topi_static_dim(call, 0, c.at.channel);
    if (given != c.ins)
        gpuc_topi_fail(call, "%lld input channels, the weight has %lld", (long long)given, (long long)c.ins);
    gpuc_topi_sizes(call, "padding", 2 * c.rank, c.padding);
    for (int i = 0; i < c.rank; i++)
        c.w[i] = winograd_of(call, tile[i], gpuc_topi_static_dim(call, 1, i) - tile[i] + 1);
    return c;
}

static void infer_conv(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    conv c = conv_of(call);
    gpuc_expr dims[MAX_RANK + 2];
    dims[0] = call->in[0].dims[0];
    dims[c.at.channel] = gpuc_int(ctx, c.outs);
    for (int i = 0; i < c.rank; i++) {
        int d = c.at.space + i;
        gpuc_expr more = gpuc_sub(ctx, gpuc_add(ctx, c.padding[i], c.padding[c.rank + i]),
                                  gpuc_int(ctx, c.w[i].window - 1));
        dims[d] = gpuc_topi_canonical(ctx, gpuc_add(ctx, call->in[0].dims[d], more));
        gpuc_topi_require(call, gpuc_ge(ctx, dims[d], gpuc_int(ctx, 1)),
                          "the kernel (%d) is larger than the padded input in dimension %d", c.w[i].window,
                          d);
    }
    gpuc_topi_set_out(call, 0, gpuc_topi_product_type(call), c.rank + 2, dims);
}

static gpuc_tensor *padded(const gpuc_op_call *call, conv *c, gpuc_tensor *data)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_topi_window window = {.rank = c->rank, .space = c->at.space, .phase = 1};
    for (int i = 0; i < c->rank; i++) {
        int64_t m = c->w[i].tile;
        gpuc_expr whole = gpuc_topi_round_up(ctx, call->out[0].dims[c->at.space + i], m);
        c->tiles[i] = gpuc_topi_canonical(ctx, gpuc_floordiv_(ctx, whole, gpuc_int(ctx, m)));
        window.lo[i] = c->padding[i];
        window.step[i] = 1;
        window.size[i] = gpuc_add(ctx, whole, gpuc_int(ctx, c->w[i].window - 1));
    }
    return gpuc_topi_pad_spatial(ctx, data, &window);
}

/* The axis of tiles in products: [points, tiles, channels] with channels last, else [points, channels,
 * tiles]. */
static int tile_axis(const conv *c)
{
    return c->channels_last ? c->rank : c->rank + 1;
}

static int channel_axis(const conv *c)
{
    return c->channels_last ? c->rank + 1 : c->rank;
}

/* axes of [points, tiles, channels] in that order, as [tiles, points, channels] */
static void by_tiles(const conv *c, const gpuc_expr *product, gpuc_expr *out)
{
    out[0] = product[tile_axis(c)];
    memcpy(out + 1, product, sizeof *out * (size_t)c->rank);
    out[c->rank + 1] = product[channel_axis(c)];
}

/* All tiles of all images, with one axis after the other transformed: [tiles, points, channels], and at last
 * as the products take them. */
static gpuc_tensor *transform_data(const gpuc_op_call *call, const conv *c, gpuc_tensor *t, gpuc_expr tiles,
                                   gpuc_dtype type)
{
    gpuc_ctx *ctx = call->ctx;
    int n = c->rank + 2;
    gpuc_expr dims[MAX_RANK + 2], vars[MAX_RANK + 2], part[MAX_RANK + 2], image[MAX_RANK + 2];
    for (int i = 0; i < c->rank; i++) {
        bool last = i == c->rank - 1;
        const gpuc_winograd *w = &c->w[i];
        for (int k = 0; k < c->rank; k++) dims[k + !last] = gpuc_int(ctx, c->w[k].points);
        dims[last ? tile_axis(c) : 0] = tiles;
        dims[last ? channel_axis(c) : n - 1] = gpuc_int(ctx, c->ins);
        gpuc_tensor_type shape = {.dtype = type, .ndim = n, .dims = dims};
        gpuc_iter **axes = gpuc_topi_axes(ctx, &shape, vars);
        if (last)
            by_tiles(c, vars, part);
        else
            memcpy(part, vars, sizeof *part * (size_t)n);
        gpuc_expr point = part[1 + i], rest = part[0], *at = part;
        part[1 + i] = gpuc_int(ctx, 0);
        for (int k = c->rank - 1; k >= 0 && i == 0; k--) {
            gpuc_expr tile = gpuc_floormod_(ctx, rest, c->tiles[k]), step = gpuc_int(ctx, c->w[k].tile);
            image[c->at.space + k] = gpuc_add(ctx, gpuc_mul(ctx, tile, step), part[1 + k]);
            rest = gpuc_floordiv_(ctx, rest, c->tiles[k]);
            at = image;
        }
        image[0] = rest;
        image[c->at.channel] = part[n - 1];
        gpuc_expr value = transformed(ctx, w->bt, w->points, w->points, sum_by_parity, point, t, at,
                                      i == 0 ? c->at.space : 1 + i, type);
        const char *tag = !last ? "winograd_part" : c->channels_last ? "winograd_data_nsc" : "winograd_data";
        t = gpuc_topi_compute(ctx, "V", tag, n, axes, value);
    }
    return t;
}

/* A product for each point: tiles by output channels, or output channels by tiles. */
static gpuc_tensor *multiply(const gpuc_op_call *call, const conv *c, gpuc_tensor *data, gpuc_tensor *weight,
                             gpuc_expr tiles, gpuc_dtype type)
{
    gpuc_ctx *ctx = call->ctx;
    int n = c->rank + 2;
    gpuc_expr dims[MAX_RANK + 2], vars[MAX_RANK + 2], v[MAX_RANK + 2], u[MAX_RANK + 3];
    for (int i = 0; i < c->rank; i++) dims[i] = gpuc_int(ctx, c->w[i].points);
    dims[tile_axis(c)] = tiles;
    dims[channel_axis(c)] = gpuc_int(ctx, c->outs);
    if (c->block) { /* half a block more than are asked for, at most */
        int64_t half = (gpuc_topi_static_dim(call, 1, c->block) + 1) / 2;
        dims[channel_axis(c)] = gpuc_int(ctx, (c->outs + half - 1) / half * half);
    }
    gpuc_tensor_type shape = {.dtype = type, .ndim = n, .dims = dims};
    gpuc_iter **axes = gpuc_topi_axes(ctx, &shape, vars), *k;
    k = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, c->ins), "ic");
    memcpy(v, vars, sizeof *v * (size_t)n);
    memcpy(u, vars, sizeof *u * (size_t)c->rank);
    v[channel_axis(c)] = u[c->in] = gpuc_iter_var(k);
    u[c->out] = vars[channel_axis(c)];
    if (c->block) {
        gpuc_expr block = call->in[1].dims[c->block];
        u[c->block] = gpuc_floormod_(ctx, u[c->out], block);
        u[c->out] = gpuc_floordiv_(ctx, u[c->out], block);
    }
    gpuc_expr x = gpuc_te_read(ctx, data, n, v),
              w = gpuc_cast(ctx, type, gpuc_te_read(ctx, weight, gpuc_te_ndim(weight), u));
    gpuc_expr sum =
        gpuc_te_reduce(ctx, "sum", c->channels_last ? gpuc_mul(ctx, x, w) : gpuc_mul(ctx, w, x), 1, &k);
    return gpuc_topi_compute(ctx, "M", c->channels_last ? "matmul_nsc" : "matmul", n, axes, sum);
}

/* The products as the image: [tiles, places in a tile, channels] with one axis after the other transformed,
 * then all in their places. */
static gpuc_tensor *transform_back(const gpuc_op_call *call, const conv *c, gpuc_tensor *t, gpuc_dtype type)
{
    gpuc_ctx *ctx = call->ctx;
    int n = c->rank + 2;
    gpuc_expr dims[MAX_RANK + 2], part[MAX_RANK + 2], index[MAX_RANK + 2], vars[MAX_RANK + 2];
    by_tiles(c, gpuc_te_shape(t), dims);
    for (int i = 0; i < c->rank; i++) {
        const gpuc_winograd *w = &c->w[i];
        dims[1 + i] = gpuc_int(ctx, w->tile);
        gpuc_tensor_type shape = {.dtype = type, .ndim = n, .dims = dims};
        gpuc_iter **axes = gpuc_topi_axes(ctx, &shape, part);
        gpuc_expr place = part[1 + i];
        part[1 + i] = gpuc_int(ctx, 0);
        memcpy(index, part, sizeof *index * (size_t)n);
        if (i == 0) { /* reads the products */
            memcpy(index, part + 1, sizeof *index * (size_t)c->rank);
            index[tile_axis(c)] = part[0];
            index[channel_axis(c)] = part[n - 1];
        }
        gpuc_expr value = transformed(ctx, w->at, w->tile, w->points, sum_by_pairs, place, t, index,
                                      i == 0 ? 0 : 1 + i, type);
        t = gpuc_topi_compute(ctx, "S", "winograd_part", n, axes, value);
    }
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    part[0] = vars[0];
    for (int i = 0; i < c->rank; i++) {
        gpuc_expr place = vars[c->at.space + i], m = gpuc_int(ctx, c->w[i].tile);
        part[0] = gpuc_add(ctx, gpuc_mul(ctx, part[0], c->tiles[i]), gpuc_floordiv_(ctx, place, m));
        part[1 + i] = gpuc_floormod_(ctx, place, m);
    }
    part[n - 1] = vars[c->at.channel];
    gpuc_expr value = gpuc_cast(ctx, call->out[0].dtype, gpuc_te_read(ctx, t, n, part));
    return gpuc_topi_compute(ctx, "Y", c->channels_last ? "winograd_nsc" : "winograd", n, axes, value);
}

static void conv_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    conv c = conv_of(call);
    gpuc_tensor *t = padded(call, &c, ins[0]);
    gpuc_expr tiles = call->in[0].dims[0];
    gpuc_dtype type = gpuc_topi_accumulator(call->in[0].dtype);
    for (int i = 0; i < c.rank; i++) tiles = gpuc_mul(ctx, tiles, c.tiles[i]);
    t = transform_data(call, &c, t, tiles, type);
    t = multiply(call, &c, t, ins[1], tiles, type);
    outs[0] = transform_back(call, &c, t, type);
}

ATTRS(weight_specs, WINDOW_INTS("tile"))
ATTRS(conv_specs, WINDOW_INTS("tile"), WINDOW_SIZES("padding"), GPUC_TOPI_OUT_DTYPE, GPUC_TOPI_DATA_LAYOUT,
      STRING("kernel_layout", "HWIO"), INT("channels", 0))

const gpuc_op gpuc_topi_ops_winograd[] = {
    INJECTIVE("nn.winograd_weight", 1, 1, weight_specs, infer_weight, weight_compute, "", "", "",
              GPUC_T_FLOATS),
    ANCHOR("nn.conv_winograd", 2, 2, conv_specs, infer_conv, conv_compute, "", "", "", GPUC_T_FLOATS,
           GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_winograd_count = sizeof gpuc_topi_ops_winograd / sizeof gpuc_topi_ops_winograd[0];
