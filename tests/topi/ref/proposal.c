/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

typedef struct found {
    double box[4], score;
    bool gone;
} found;

/* Of anchor k at a place: what the network makes of it, before it is cut. */
static void move(const ref_call *c, double ratio, double scale, const double *at, const double *d,
                 double *box)
{
    double stride = (double)ref_int(c, "feature_stride", 16),
           wide = floor(sqrt(floor(stride * stride / ratio)) + 0.5);
    double size[] = {wide * scale, floor(wide * ratio + 0.5) * scale};
    for (int i = 0; i < 2; i++) {
        double middle = 0.5 * (stride - 1) + at[i] * stride, from = middle - 0.5 * (size[i] - 1),
               to = middle + 0.5 * (size[i] - 1);
        if (ref_int(c, "iou_loss", 0)) {
            box[i] = from + d[i];
            box[2 + i] = to + d[2 + i];
            continue;
        }
        double whole = to - from + 1, center = d[i] * whole + from + 0.5 * (whole - 1),
               now = exp(d[2 + i]) * whole;
        box[i] = center - 0.5 * (now - 1);
        box[2 + i] = center + 0.5 * (now - 1);
    }
}

static found find(const ref_call *c, int64_t b, int64_t k, int64_t y, int64_t x, double ratio, double scale,
                  int64_t anchors)
{
    const ref_tensor *chances = &c->in[0], *moves = &c->in[1];
    double at[] = {(double)x, (double)y}, d[4], stride = (double)ref_int(c, "feature_stride", 16);
    const double *image = c->in[2].v + 3 * b;
    for (int i = 0; i < 4; i++) d[i] = moves->v[ref_at(moves, (int64_t[]){b, 4 * k + i, y, x})];
    found f = {.score = chances->v[ref_at(chances, (int64_t[]){b, anchors + k, y, x})]};
    double smallest = image[2] * (double)ref_int(c, "rpn_min_size", 16);
    move(c, ratio, scale, at, d, f.box);
    for (int i = 0; i < 4; i++) f.box[i] = fmax(fmin(f.box[i], image[1 - i % 2] - 1), 0);
    if ((double)y >= trunc(image[0] / stride) || (double)x >= trunc(image[1] / stride)) f.score = -1;
    if (f.box[2] - f.box[0] + 1 < smallest || f.box[3] - f.box[1] + 1 < smallest) {
        for (int i = 0; i < 4; i++) f.box[i] += (i < 2 ? -1 : 1) * smallest / 2;
        f.score = -1;
    }
    return f;
}

static double overlap(const double *a, const double *b)
{
    double shared = 1, area[2] = {1, 1};
    for (int i = 0; i < 2; i++) {
        shared *= fmax(0, fmin(a[2 + i], b[2 + i]) - fmax(a[i], b[i]) + 1);
        area[0] *= a[2 + i] - a[i] + 1;
        area[1] *= b[2 + i] - b[i] + 1;
    }
    return shared > 0 ? shared / (area[0] + area[1] - shared) : 0;
}

static void put(ref_call *c, int64_t b, found *all, int64_t n, int64_t keep)
{
    double *to = c->out[0].v + b * keep * 5;
    int64_t top = ref_int(c, "rpn_pre_nms_top_n", 6000), left = 0;
    for (int64_t i = 1; i < n; i++)
        for (int64_t k = i; k > 0 && all[k].score > all[k - 1].score; k--) {
            found other = all[k];
            all[k] = all[k - 1];
            all[k - 1] = other;
        }
    if (top > 0 && top < n) n = top;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < i; k++)
            if (!all[k].gone && overlap(all[i].box, all[k].box) > ref_float(c, "threshold", 0.7))
                all[i].gone = true;
    for (int64_t i = 0; i < n; i++)
        if (!all[i].gone) all[left++] = all[i];
    for (int64_t i = 0; i < keep; i++) {
        to[5 * i] = (double)b;
        for (int k = 0; k < 4 && left > 0; k++) to[5 * i + 1 + k] = all[i % left].box[k];
    }
}

static void proposal(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    double scales[16] = {4, 8, 16, 32}, ratios[16] = {0.5, 1, 2};
    int ns = ref_floats(c, "scales", scales), nr = ref_floats(c, "ratios", ratios);
    if (!ns) ns = 4;
    if (!nr) nr = 3;
    int64_t keep = ref_int(c, "rpn_post_nms_top_n", 300), dims[] = {x->dims[0] * keep, 5},
            a = (int64_t)ns * nr;
    int64_t n = x->dims[2] * x->dims[3] * a;
    ref_make(c, 0, x->dtype, 2, dims);
    found *all = calloc((size_t)n + 1, sizeof *all);
    for (int64_t b = 0; b < x->dims[0]; b++) {
        for (int64_t i = 0; i < n; i++) {
            int64_t k = i % a, place = i / a;
            all[i] = find(c, b, k, place / x->dims[3], place % x->dims[3], ratios[k / ns], scales[k % ns], a);
        }
        put(c, b, all, n, keep);
    }
    free(all);
}

const ref_row ref_rows_proposal[] = {{"vision.proposal", proposal}, {NULL, NULL}};
