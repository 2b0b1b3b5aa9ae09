/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

/* The part of their union that two boxes {low, low, high, high} share. */
static double overlap(const double *a, const double *b)
{
    double shared = 1, u = 1, v = 1;
    for (int k = 0; k < 2; k++) {
        double side = fmin(a[2 + k], b[2 + k]) - fmax(a[k], b[k]);
        shared *= side > 0 ? side : 0;
        u *= a[2 + k] - a[k];
        v *= b[2 + k] - b[k];
    }
    double all = u + v - shared;
    return shared > 0 && all > 0 ? (double)((float)shared / (float)all) : 0;
}

static void corners(const double *from, bool centered, double *out)
{
    for (int k = 0; k < 2; k++) {
        double a = from[k], b = from[2 + k];
        out[k] = centered ? a - b / 2 : fmin(a, b);
        out[2 + k] = centered ? a + b / 2 : fmax(a, b);
    }
}

static void all_class(ref_call *c)
{
    const ref_tensor *boxes = &c->in[0], *scores = &c->in[1];
    int64_t batches = scores->dims[0], classes = scores->dims[1], n = scores->dims[2], total = 0;
    int64_t bound = ref_int(c, "max_output_size", -1);
    if (bound < 0 || bound > n) bound = n;
    double max = c->in[2].v[0], threshold = c->in[3].v[0], min = c->in[4].v[0];
    int64_t dims[] = {batches * classes * bound, 3};
    bool centered = ref_int(c, "center_point_box", 0), *used = calloc((size_t)n + 1, sizeof *used);
    double *kept = calloc((size_t)n * 4 + 1, sizeof *kept);
    ref_tensor *y = ref_make(c, 0, GPUC_INT64, 2, dims), *count = ref_make(c, 1, GPUC_INT64, 0, NULL);
    c->num_out = 2;
    for (int64_t row = 0; row < batches * classes; row++) {
        int64_t num = 0;
        memset(used, 0, (size_t)n * sizeof *used);
        for (int64_t iteration = 0; iteration < n; iteration++) { /* the best that is not used yet */
            int64_t best = -1;
            for (int64_t i = 0; i < n; i++)
                if (!used[i] && (best < 0 || scores->v[row * n + i] > scores->v[row * n + best])) best = i;
            used[best] = true;
            double box[4];
            corners(boxes->v + (row / classes * n + best) * 4, centered, box);
            bool ok = scores->v[row * n + best] > min && (double)num < max;
            for (int64_t k = 0; k < num && ok; k++) ok = !(overlap(kept + 4 * k, box) > threshold);
            if (!ok) continue;
            memcpy(kept + 4 * num++, box, sizeof box);
            double result[] = {(double)(row / classes), (double)(row % classes), (double)best};
            memcpy(y->v + 3 * total++, result, sizeof result);
        }
    }
    count->v[0] = (double)total;
    free(used);
    free(kept);
}

static void nms(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t n = x->dims[1], top = ref_int(c, "nms_topk", -1);
    double threshold = ref_float(c, "nms_threshold", 0.5);
    bool force = ref_int(c, "force_suppress", 0), *used = calloc((size_t)n + 1, sizeof *used);
    ref_tensor *y = ref_make(c, 0, x->dtype, 3, x->dims);
    for (int64_t p = 0; p < y->count; p++) y->v[p] = -1;
    for (int64_t b = 0; b < x->dims[0]; b++) {
        const double *from = x->v + b * n * 6;
        double *to = y->v + b * n * 6, valid = c->in[1].v[b];
        memset(used, 0, (size_t)n * sizeof *used);
        for (int64_t k = 0; k < n && (double)k < valid && (top < 0 || k < top); k++) {
            int64_t best = -1;
            for (int64_t i = 0; i < n && (double)i < valid; i++)
                if (!used[i] && (best < 0 || from[6 * i + 1] > from[6 * best + 1])) best = i;
            used[best] = true;
            memcpy(to + 6 * k, from + 6 * best, 6 * sizeof *to);
            double box[4], other[4];
            corners(to + 6 * k + 2, false, box);
            for (int64_t i = 0; i < k && threshold > 0 && threshold <= 1; i++) {
                corners(to + 6 * i + 2, false, other);
                if (to[6 * i] < 0 || (!force && to[6 * i] != from[6 * best])) continue;
                if (overlap(other, box) >= threshold) to[6 * k] = -1;
            }
        }
    }
    free(used);
}

static double number(const ref_tensor *t, int64_t box, int64_t k)
{
    return t->v[box * t->dims[2] + k];
}

/* One row: which box is where, or -1. */
static void suppress_row(ref_call *c, int64_t b, int64_t *at)
{
    const ref_tensor *x = &c->in[0];
    int64_t n = x->dims[1], first = b * n, valid = 0, kept = 0, score = ref_int(c, "score_index", 1);
    int64_t id = ref_int(c, "id_index", 0), coord = ref_int(c, "coord_start", 2),
            top = ref_int(c, "top_k", -1);
    double max = c->in[3].v[0], threshold = c->in[4].v[0];
    while (valid < n && (double)valid < c->in[1].v[b]) valid++;
    for (int64_t i = 0; i < n; i++) at[i] = i < valid ? i : -1;
    if (!(threshold > 0)) return;
    for (int64_t i = 1; i < valid; i++) /* insertion: equal ones stay in their order */
        for (int64_t k = i; k > 0 && number(x, first + at[k], score) > number(x, first + at[k - 1], score);
             k--) {
            int64_t other = at[k];
            at[k] = at[k - 1];
            at[k - 1] = other;
        }
    for (int64_t j = 0; j < valid; j++) {
        int64_t own = at[j];
        double box[4], other[4];
        if (top > 0 && j >= top) at[j] = -1;
        if ((double)kept == max) at[j] = -1;
        if (at[j] < 0 || !(number(x, first + own, score) > 0)) continue;
        corners(x->v + (first + own) * x->dims[2] + coord, false, box);
        for (int64_t k = 0; k < j && at[j] >= 0; k++) {
            if (at[k] < 0) continue;
            double class = id < 0 ? 0 : number(x, first + at[k], id);
            bool same = id < 0 || ref_int(c, "force_suppress", 0) || class == number(x, first + own, id);
            corners(x->v + (first + at[k]) * x->dims[2] + coord, false, other);
            if (class >= 0 && same && overlap(other, box) >= threshold) at[j] = -1;
        }
        kept += at[j] >= 0;
    }
}

static void suppression(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t n = x->dims[1], m = x->dims[2], counts[] = {x->dims[0], 1},
            *at = calloc((size_t)n + 1, sizeof *at);
    bool indices = ref_int(c, "return_indices", 1), bottom = ref_int(c, "invalid_to_bottom", 0);
    ref_tensor *y = ref_make(c, 0, indices ? GPUC_INT32 : x->dtype, indices ? 2 : 3, x->dims);
    ref_tensor *count = indices ? ref_make(c, 1, GPUC_INT32, 2, counts) : NULL;
    c->num_out = 1 + indices;
    for (int64_t i = 0; i < y->count; i++) y->v[i] = -1;
    for (int64_t b = 0; b < x->dims[0]; b++) {
        int64_t to = 0;
        suppress_row(c, b, at);
        for (int64_t i = 0; i < n; i++) {
            if (indices && at[i] >= 0 && c->in[2].v[b * n + at[i]] >= 0)
                y->v[b * n + to++] = c->in[2].v[b * n + at[i]];
            if (indices || at[i] < 0 || (bottom && number(x, b * n + at[i], 0) < 0)) continue;
            memcpy(y->v + (b * n + (bottom ? to++ : i)) * m, x->v + (b * n + at[i]) * m,
                   (size_t)m * sizeof *y->v);
        }
        if (indices) count->v[b] = (double)to;
    }
    free(at);
}

static void multibox(ref_call *c)
{
    const ref_tensor *prob = &c->in[0], *loc = &c->in[1], *anchors = &c->in[2];
    int64_t classes = prob->dims[1], n = prob->dims[2], dims[] = {prob->dims[0], n, 6};
    double variances[4] = {0.1, 0.1, 0.2, 0.2}, threshold = ref_float(c, "threshold", 0.01);
    ref_floats(c, "variances", variances);
    ref_tensor *y = ref_make(c, 0, prob->dtype, 3, dims), *valid = ref_make(c, 1, GPUC_INT32, 1, dims);
    c->num_out = 2;
    for (int64_t p = 0; p < y->count; p++) y->v[p] = -1;
    for (int64_t b = 0; b < dims[0]; b++)
        for (int64_t i = 0; i < n; i++) {
            double score = -1, *to = y->v + (b * n + (int64_t)valid->v[b]) * 6;
            int64_t class = 0;
            for (int64_t k = 1; k < classes; k++) {
                double p = prob->v[(b * classes + k) * n + i];
                if (p > score) score = p, class = k;
            }
            if (class == 0 || score < threshold) continue;
            valid->v[b]++;
            to[0] = (double)class - 1;
            to[1] = score;
            for (int k = 0; k < 2; k++) {
                double low = anchors->v[4 * i + k], high = anchors->v[4 * i + 2 + k], size = high - low;
                const double *at = loc->v + b * n * 4 + 4 * i;
                double center = at[k] * variances[k] * size + (low + high) / 2;
                double reach = exp(at[2 + k] * variances[2 + k]) * size / 2;
                to[2 + k] = center - reach;
                to[4 + k] = center + reach;
            }
            for (int k = 2; k < 6 && ref_int(c, "clip", 1); k++) to[k] = fmax(0, fmin(to[k], 1));
        }
}

const ref_row ref_rows_vision[] = {
    {"vision.all_class_non_max_suppression", all_class},
    {"vision.nms", nms},
    {"vision.non_max_suppression", suppression},
    {"vision.multibox_transform_loc", multibox},
    {NULL, NULL},
};
