/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "ref.h"

/* Where output i of n reads the side of `in` elements. */
static double place(double from, double to, int64_t i, int64_t n, int64_t in)
{
    double last = (double)(in - 1);
    return n > 1 ? from * last + (double)i * (to - from) * last / (double)(n - 1) : 0.5 * (from + to) * last;
}

static int64_t clamp(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

static void crop_nchw(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *boxes = &c->in[1];
    int64_t size[REF_DIMS], i[REF_DIMS];
    ref_ints(c, "crop_size", size);
    bool nearest = !strcmp(ref_string(c, "method", "linear"), "nearest");
    int64_t dims[] = {boxes->dims[0], x->dims[1], size[0], size[1]};
    ref_tensor *y = ref_make(c, 0, x->dtype, 4, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, i);
        const double *box = boxes->v + 4 * i[0];
        double v = place(box[0], box[2], i[2], size[0], x->dims[2]),
               h = place(box[1], box[3], i[3], size[1], x->dims[3]);
        y->v[p] = ref_float(c, "extrapolation_value", 0);
        if (v < 0 || h < 0 || v > (double)(x->dims[2] - 1) || h > (double)(x->dims[3] - 1)) continue;
        int64_t image = clamp((int64_t)c->in[2].v[i[0]], x->dims[0]);
        double sum = 0;
        for (int k = 0; k < 4; k++) {
            double top = nearest ? floor(v + 0.5) : floor(v), left = nearest ? floor(h + 0.5) : floor(h);
            double wy = k & 2 ? v - top : 1 - (v - top), wx = k & 1 ? h - left : 1 - (h - left);
            int64_t at[] = {image, i[1], clamp((int64_t)top + (k >> 1), x->dims[2]),
                            clamp((int64_t)left + (k & 1), x->dims[3])};
            if (nearest) wy = wx = k == 0;
            sum += wy * wx * x->v[ref_at(x, at)];
        }
        y->v[p] = ref_is_float(x->dtype) ? sum : trunc(sum);
    }
}

static void crop(ref_call *c)
{
    ref_with_layout(c, crop_nchw);
}

static void dilation(ref_call *c)
{
    const ref_tensor *x = &c->in[0], *w = &c->in[1];
    int64_t strides[REF_DIMS] = {1, 1}, padding[REF_DIMS] = {0}, dilations[REF_DIMS] = {1, 1}, i[REF_DIMS];
    bool last = !strcmp(ref_string(c, "data_layout", "NCHW"), "NHWC");
    int ch = last ? 3 : 1, sp = last ? 1 : 2, wc = last ? 2 : 0, ws = last ? 0 : 1;
    ref_ints(c, "strides", strides);
    ref_ints(c, "padding", padding);
    ref_ints(c, "dilations", dilations);
    int64_t dims[4] = {x->dims[0]};
    dims[ch] = x->dims[ch];
    for (int k = 0; k < 2; k++)
        dims[sp + k] =
            (x->dims[sp + k] + padding[k] + padding[2 + k] - (w->dims[ws + k] - 1) * dilations[k] - 1) /
                strides[k] +
            1;
    ref_tensor *y = ref_make(c, 0, x->dtype, 4, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, i);
        y->v[p] = -INFINITY;
        for (int64_t q = 0; q < w->dims[ws] * w->dims[ws + 1]; q++) {
            int64_t k[] = {q / w->dims[ws + 1], q % w->dims[ws + 1]}, at[4] = {i[0]}, of[3];
            bool inside = true;
            at[ch] = of[wc] = i[ch];
            for (int s = 0; s < 2; s++) {
                at[sp + s] = i[sp + s] * strides[s] + k[s] * dilations[s] - padding[s];
                of[ws + s] = k[s];
                inside &= at[sp + s] >= 0 && at[sp + s] < x->dims[sp + s];
            }
            y->v[p] = fmax(y->v[p], (inside ? x->v[ref_at(x, at)] : 0) + w->v[ref_at(w, of)]);
        }
    }
}

const ref_row ref_rows_crop[] = {
    {"image.crop_and_resize", crop}, {"image.dilation2d", dilation}, {NULL, NULL}};
