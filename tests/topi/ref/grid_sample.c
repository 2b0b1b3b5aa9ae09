/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX GridSample-20. */
#include <math.h>
#include <string.h>

#include "ref.h"

typedef struct sampler {
    const ref_call *c;
    bool aligned;
    char method[16], padding[16];
} sampler;

static double reflected(double x, double min, double max)
{
    double range = max - min, over = x < min ? min - x : x - max;
    if (x >= min && x <= max) return x;
    if (range <= 0) return 0;
    double rest = fmod(over, range);
    bool turned = (int64_t)(over / range) % 2;
    return (x < min) != turned ? min + rest : max - rest;
}

static double bordered(const sampler *s, double x, double length)
{
    double edge = s->aligned ? 0 : -0.5, last = length - 1 - edge;
    if (!strcmp(s->padding, "border")) return fmax(0, fmin(x, length - 1));
    return strcmp(s->padding, "reflection") ? x : reflected(x, edge, last);
}

static double cubic(double d)
{
    d = fabs(d);
    if (d <= 1) return (1.25 * d - 2.25) * d * d + 1;
    return d < 2 ? ((-0.75 * d + 3.75) * d - 6) * d + 3 : 0;
}

static double sample(const sampler *s, int axis, const double *pos, int64_t *from)
{
    const ref_tensor *x = &s->c->in[0];
    if (axis == x->ndim) return x->v[ref_at(x, from)];
    double length = (double)x->dims[axis], p = pos[axis - 2], sum = 0;
    bool nearest = !strcmp(s->method, "nearest"), keys = !strcmp(s->method, "cubic");
    p = bordered(s, nearest ? nearbyint(p) : p, length);
    int reach = nearest ? 0 : 2;
    for (int k = -reach; k <= reach; k++) {
        double tap = (nearest ? p : floor(p)) + k, d = p - tap;
        double w = nearest ? 1 : keys ? cubic(d) : fmax(0, 1 - fabs(d));
        if (!strcmp(s->padding, "zeros") && (tap < 0 || tap >= length)) continue;
        tap = trunc(bordered(s, tap, length));
        from[axis] = (int64_t)fmax(0, fmin(tap, length - 1));
        sum += w * sample(s, axis + 1, pos, from);
    }
    return sum;
}

static void grid_sample(ref_call *c)
{
    sampler s = {.c = c, .aligned = ref_int(c, "align_corners", 1)};
    strcpy(s.method, ref_string(c, "method", "linear"));
    strcpy(s.padding, ref_string(c, "padding_mode", "zeros"));
    const ref_tensor *x = &c->in[0], *grid = &c->in[1];
    int ndim = x->ndim, rank = ndim - 2;
    int64_t dims[REF_DIMS] = {x->dims[0], x->dims[1]}, at[REF_DIMS], place[REF_DIMS], from[REF_DIMS];
    memcpy(dims + 2, grid->dims + 1, sizeof *dims * (size_t)rank);
    ref_tensor *y = ref_make(c, 0, x->dtype, ndim, dims);
    for (int64_t p = 0; p < y->count; p++) {
        double pos[REF_DIMS];
        ref_index(y, p, at);
        place[0] = from[0] = at[0];
        from[1] = at[1];
        memcpy(place + 1, at + 2, sizeof *place * (size_t)rank);
        for (int i = 0; i < rank; i++) {
            place[ndim - 1] = rank - 1 - i;
            double v = grid->v[ref_at(grid, place)], n = (double)x->dims[2 + i];
            pos[i] = !ref_int(c, "normalized", 1) ? v
                     : s.aligned                  ? (v + 1) / 2 * (n - 1)
                                                  : ((v + 1) * n - 1) / 2;
        }
        y->v[p] = sample(&s, 2, pos, from);
    }
}

const ref_row ref_rows_grid_sample[] = {{"image.grid_sample", grid_sample}, {NULL, NULL}};
