/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd convolutions of up to three spatial axes, written as if there were three. Along each axis the
 * polynomials of a tile and of the window are multiplied at the points below and at infinity, transposed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

enum { MAX = 8 };

static const double points[] = {0, 1, -1, 0.5, -0.5, 2, -2};

typedef struct filter {
    int tile, window, n;
    double data[MAX][MAX], weight[MAX][MAX], back[MAX][MAX];
} filter;

/* The product of x - points[i] over all i < n but `without`. */
static void product(int n, int without, double *c)
{
    for (int k = 0; k < MAX; k++) c[k] = k == 0;
    for (int i = 0; i < n; i++) {
        double shifted[MAX] = {0};
        if (i == without) continue;
        for (int k = 0; k + 1 < MAX; k++) shifted[k + 1] = c[k];
        for (int k = 0; k < MAX; k++) c[k] = shifted[k] - points[i] * c[k];
    }
}

static filter filter_of(int64_t tile, int64_t window)
{
    filter f = {.tile = (int)tile, .window = (int)window, .n = (int)(tile + window - 1)};
    for (int i = 0; i < f.n; i++) {
        if (tile == 1 || window == 1) { /* one output, or one weight: no points */
            f.data[i][i] = f.weight[i][window == 1 ? 0 : i] = f.back[tile == 1 ? 0 : i][i] = 1;
            continue;
        }
        bool infinity = i == f.n - 1;
        double at = infinity ? 0 : points[i], scale = 0;
        product(f.n - 1, infinity ? -1 : i, f.data[i]);
        for (int k = 0; k < MAX; k++) scale += f.data[i][k] * pow(at, k); /* the product's value there */
        for (int k = 0; k < window; k++) f.weight[i][k] = infinity ? k == window - 1 : pow(at, k) / scale;
        for (int k = 0; k < tile; k++) f.back[k][i] = infinity ? k == tile - 1 : pow(at, k);
    }
    return f;
}

static int64_t linear(const int64_t *index, const int64_t *dims)
{
    return (index[0] * dims[1] + index[1]) * dims[2] + index[2];
}

static void unravel(int64_t p, const int64_t *dims, int64_t *index)
{
    index[2] = p % dims[2];
    index[1] = p / dims[2] % dims[1];
    index[0] = p / dims[2] / dims[1];
}

static int64_t volume(const int64_t *dims)
{
    return dims[0] * dims[1] * dims[2];
}

static void weight(ref_call *c)
{
    const ref_tensor *w = &c->in[0];
    int rank = w->ndim - 2;
    int64_t tile[3], dims[REF_DIMS], window[3] = {1, 1, 1}, made[3] = {1, 1, 1}, s[3], k[3];
    filter f[3];
    ref_ints(c, "tile", tile);
    for (int i = 0; i < 3; i++) {
        int d = i - (3 - rank);
        f[i] = d < 0 ? filter_of(1, 1) : filter_of(tile[d], w->dims[2 + d]);
        window[i] = f[i].window;
        made[i] = f[i].n;
        if (d >= 0) dims[d] = made[i];
    }
    dims[rank] = w->dims[1];
    dims[rank + 1] = w->dims[0];
    ref_tensor *u = ref_make(c, 0, w->dtype, rank + 2, dims);
    for (int64_t p = 0; p < u->count; p++) {
        int64_t o = p % w->dims[0], in = p / w->dims[0] % w->dims[1];
        unravel(p / (w->dims[0] * w->dims[1]), made, s);
        for (int64_t q = 0; q < volume(window); q++) {
            unravel(q, window, k);
            double factor = f[0].weight[s[0]][k[0]] * f[1].weight[s[1]][k[1]] * f[2].weight[s[2]][k[2]];
            u->v[p] += factor * w->v[(o * w->dims[1] + in) * volume(window) + q];
        }
    }
}

/* out[p] = the sum over q of values at q, times an element of each axis's matrix. */
static void transform(const filter *f, bool back, const double *values, double *out)
{
    int64_t from[3], to[3], a[3], b[3];
    for (int i = 0; i < 3; i++) {
        from[i] = f[i].n;
        to[i] = back ? f[i].tile : f[i].n;
    }
    for (int64_t p = 0; p < volume(to); p++) {
        out[p] = 0;
        unravel(p, to, a);
        for (int64_t q = 0; q < volume(from); q++) {
            double factor = 1;
            unravel(q, from, b);
            for (int i = 0; i < 3; i++) factor *= (back ? f[i].back : f[i].data)[a[i]][b[i]];
            out[p] += factor * values[q];
        }
    }
}

/* Data [N, C, space], weight [points, I, O]. */
static void conv(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *u = &c->in[1];
    int rank = x->ndim - 2;
    int64_t tile[3], padding[6], in[3], n[3], m[3], before[3], out[3], tiles[3], t[3], s[3], at[3];
    int64_t ins = x->dims[1], outs = u->dims[rank + 1], channels = ref_int(c, "channels", 0);
    filter f[3];
    if (channels == 0) channels = outs;
    ref_ints(c, "tile", tile);
    ref_ints(c, "padding", padding);
    for (int i = 0; i < 3; i++) {
        int d = i - (3 - rank);
        f[i] = d < 0 ? filter_of(1, 1) : filter_of(tile[d], u->dims[d] - tile[d] + 1);
        n[i] = f[i].n;
        m[i] = f[i].tile;
        in[i] = d < 0 ? 1 : x->dims[2 + d];
        before[i] = d < 0 ? 0 : padding[d];
        out[i] = in[i] + before[i] + (d < 0 ? 0 : padding[rank + d]) - f[i].window + 1;
        tiles[i] = (out[i] + m[i] - 1) / m[i];
    }
    int64_t dims[REF_DIMS] = {x->dims[0], channels};
    for (int i = 0; i < rank; i++) dims[2 + i] = out[3 - rank + i];
    ref_tensor *y = ref_make(c, 0, x->dtype, rank + 2, dims);
    int64_t points_of_tile = volume(n);
    double *data = calloc((size_t)points_of_tile * (size_t)(2 * ins + 2), sizeof *data);
    double *made = data + points_of_tile * ins, *sums = made + points_of_tile * ins,
           *result = sums + points_of_tile;
    for (int64_t p = 0; p < x->dims[0] * volume(tiles); p++) {
        unravel(p % volume(tiles), tiles, t);
        int64_t image = p / volume(tiles);
        for (int64_t i = 0; i < ins; i++) {
            for (int64_t q = 0; q < points_of_tile; q++) {
                bool inside = true;
                unravel(q, n, s);
                for (int d = 0; d < 3; d++) {
                    at[d] = t[d] * m[d] + s[d] - before[d];
                    inside &= at[d] >= 0 && at[d] < in[d];
                }
                data[i * points_of_tile + q] =
                    inside ? x->v[(image * ins + i) * volume(in) + linear(at, in)] : 0;
            }
            transform(f, false, data + i * points_of_tile, made + i * points_of_tile);
        }
        for (int64_t o = 0; o < channels; o++) {
            for (int64_t q = 0; q < points_of_tile; q++) {
                sums[q] = 0;
                for (int64_t i = 0; i < ins; i++)
                    sums[q] += made[i * points_of_tile + q] * u->v[(q * ins + i) * outs + o];
            }
            transform(f, true, sums, result);
            for (int64_t q = 0; q < volume(m); q++) {
                bool inside = true;
                unravel(q, m, s);
                for (int d = 0; d < 3; d++) {
                    at[d] = t[d] * m[d] + s[d];
                    inside &= at[d] < out[d];
                }
                if (inside) y->v[(image * channels + o) * volume(out) + linear(at, out)] = result[q];
            }
        }
    }
    free(data);
}

/* Weights [points, O/b, I, b], too. */
static void any_conv(ref_call *c)
{
    ref_tensor given = c->in[1];
    int64_t perm[REF_DIMS], n = given.ndim;
    bool blocked = !strcmp(ref_string(c, "kernel_layout", "HWIO"), "HWOIo");
    if (blocked) {
        for (int64_t i = 0; i < n; i++) perm[i] = i;
        perm[n - 3] = n - 2;
        perm[n - 2] = n - 3;
        c->in[1] = ref_transpose(&given, perm);
        c->in[1].dims[n - 2] *= c->in[1].dims[n - 1];
        c->in[1].ndim--;
    }
    ref_with_layout(c, conv);
    if (blocked) free(c->in[1].v);
    c->in[1] = given;
}

const ref_row ref_rows_winograd[] = {
    {"nn.winograd_weight", weight}, {"nn.conv_winograd", any_conv}, {NULL, NULL}};
