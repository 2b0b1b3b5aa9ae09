/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "ref.h"

/* Darknet's reorg, its loops and linear positions. */
static void reorg(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t s = ref_int(c, "stride", 1), n = x->dims[0], ch = x->dims[1], h = x->dims[2], w = x->dims[3];
    int64_t dims[] = {n, ch * s * s, h / s, w / s}, parts = ch / (s * s);
    ref_tensor *y = ref_make(c, 0, x->dtype, 4, dims);
    for (int64_t b = 0; b < n; b++)
        for (int64_t k = 0; k < ch; k++)
            for (int64_t j = 0; j < h; j++)
                for (int64_t i = 0; i < w; i++) {
                    int64_t w2 = i * s + k / parts % s, h2 = j * s + k / parts / s;
                    y->v[i + w * (j + h * (k + ch * b))] =
                        x->v[w2 + w * s * (h2 + h * s * (k % parts + parts * b))];
                }
}

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static void region(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t classes = ref_int(c, "num_classes", 1), coords = ref_int(c, "coords", 4), index[REF_DIMS];
    int64_t background = ref_int(c, "background", 0), each = coords + 1 + classes;
    bool soft = ref_int(c, "softmax", 1);
    ref_tensor *y = ref_make(c, 0, x->dtype, 4, x->dims);
    for (int64_t p = 0; p < x->count; p++) {
        ref_index(x, p, index);
        int64_t k = index[1] % each, box = index[1] - k, first = coords + !background;
        double sum = 0;
        if (k < 2)
            y->v[p] = logistic(x->v[p]);
        else if (k < coords || (k == coords && background && !soft))
            y->v[p] = x->v[p];
        else if (k < first || !soft)
            y->v[p] = logistic(x->v[p]);
        else {
            for (int64_t i = first; i < each; i++) {
                index[1] = box + i;
                sum += exp(x->v[ref_at(x, index)]);
            }
            y->v[p] = exp(x->v[p]) / sum;
        }
    }
}

static void prior(ref_call *c)
{
    double sizes[64], ratios[64], steps[2] = {0, 0}, offsets[2] = {0.5, 0.5};
    int num_sizes = ref_floats(c, "sizes", sizes), num_ratios = ref_floats(c, "ratios", ratios);
    int64_t h = c->in[0].dims[2], w = c->in[0].dims[3], boxes = num_sizes + num_ratios - 1;
    int64_t dims[] = {1, h * w * boxes, 4};
    ref_floats(c, "steps", steps);
    ref_floats(c, "offsets", offsets);
    if (steps[0] <= 0) steps[0] = 1 / (double)h;
    if (steps[1] <= 0) steps[1] = 1 / (double)w;
    ref_tensor *y = ref_make(c, 0, c->in[0].dtype, 3, dims);
    double *out = y->v;
    for (int64_t i = 0; i < h; i++)
        for (int64_t j = 0; j < w; j++)
            for (int64_t k = 0; k < boxes; k++, out += 4) {
                double cy = ((double)i + offsets[0]) * steps[0], cx = ((double)j + offsets[1]) * steps[1];
                double size = k < num_sizes ? sizes[k] : sizes[0],
                       r = k < num_sizes ? 1 : sqrt(ratios[k - num_sizes + 1]);
                double half_w = size * (double)h / (double)w * r / 2, half_h = size / r / 2;
                out[0] = cx - half_w;
                out[1] = cy - half_h;
                out[2] = cx + half_w;
                out[3] = cy + half_h;
                for (int m = 0; m < 4 && ref_int(c, "clip", 0); m++) out[m] = fmax(0, fmin(1, out[m]));
            }
}

const ref_row ref_rows_detect[] = {{"vision.yolo_reorg", reorg},
                                   {"vision.yolo_region", region},
                                   {"vision.multibox_prior", prior},
                                   {NULL, NULL}};
