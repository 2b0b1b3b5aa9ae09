/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "ref.h"

static int64_t image_of(const ref_call *c, int64_t roi)
{
    double i = c->in[2].v[roi], last = (double)(c->in[0].dims[0] - 1);
    return (int64_t)fmax(0, fmin(i, last));
}

/* The bilinear sample, as the four products that a maximum is taken of; false: off the data. */
static bool sample(const ref_tensor *x, int64_t n, int64_t ch, double py, double px, double *product)
{
    double h = (double)x->dims[2], w = (double)x->dims[3];
    if (py < -1 || py > h || px < -1 || px > w) return false;
    py = fmin(fmax(py, 0), h - 1);
    px = fmin(fmax(px, 0), w - 1);
    double y0 = fmin(floor(py), h - 1), x0 = fmin(floor(px), w - 1);
    for (int k = 0; k < 4; k++) {
        double wy = k / 2 ? py - y0 : 1 - (py - y0), wx = k % 2 ? px - x0 : 1 - (px - x0);
        int64_t at[] = {n, ch, (int64_t)fmin(y0 + k / 2, h - 1), (int64_t)fmin(x0 + k % 2, w - 1)};
        product[k] = wy * wx * x->v[ref_at(x, at)];
    }
    return true;
}

static void align_first(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t size[2], index[REF_DIMS], ratio = ref_int(c, "sampling_ratio", 0);
    double scale = ref_float(c, "spatial_scale", 1);
    bool aligned = ref_int(c, "aligned", 1), maximum = !strcmp(ref_string(c, "mode", "avg"), "max");
    ref_ints(c, "pooled_size", size);
    int64_t dims[] = {c->in[1].dims[0], x->dims[1], size[0], size[1]};
    ref_tensor *y = ref_make(c, 0, x->dtype, 4, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        const double *roi = c->in[1].v + index[0] * 4;
        double from[2], bin[2], number[2], sum = 0, product[4];
        bool any = false;
        for (int i = 0; i < 2; i++) { /* y, x */
            from[i] = roi[1 - i] * scale - (aligned ? 0.5 : 0);
            double length = roi[3 - i] * scale - (aligned ? 0.5 : 0) - from[i];
            if (!aligned) length = fmax(length, 1);
            bin[i] = length / (double)size[i];
            number[i] = ratio > 0 ? (double)ratio : ceil(bin[i]);
        }
        for (int64_t iy = 0; iy < number[0]; iy++)
            for (int64_t ix = 0; ix < number[1]; ix++) {
                double py = from[0] + (double)index[2] * bin[0] + ((double)iy + 0.5) * bin[0] / number[0];
                double px = from[1] + (double)index[3] * bin[1] + ((double)ix + 0.5) * bin[1] / number[1];
                if (!sample(x, image_of(c, index[0]), index[1], py, px, product)) continue;
                for (int k = 0; k < 4; k++)
                    sum = !maximum                  ? sum + product[k]
                          : any && sum > product[k] ? sum
                                                    : (any = true, product[k]);
            }
        y->v[p] = maximum ? sum : sum / fmax(number[0] * number[1], 1);
    }
}

static void pool_first(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t size[2], index[REF_DIMS];
    double scale = ref_float(c, "spatial_scale", 1);
    ref_ints(c, "pooled_size", size);
    int64_t dims[] = {c->in[1].dims[0], x->dims[1], size[0], size[1]};
    ref_tensor *y = ref_make(c, 0, x->dtype, 4, dims);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        const double *roi = c->in[1].v + index[0] * 4;
        double from[2], to[2], max = 0;
        bool any = false;
        for (int i = 0; i < 2; i++) {
            double start = round(roi[1 - i] * scale), end = round(roi[3 - i] * scale),
                   b = (double)index[2 + i];
            double bin = fmax(end - start + 1, 1) / (double)size[i], extent = (double)x->dims[2 + i];
            from[i] = fmin(fmax(floor(b * bin) + start, 0), extent);
            to[i] = fmin(fmax(ceil((b + 1) * bin) + start, 0), extent);
        }
        for (int64_t h = (int64_t)from[0]; h < to[0]; h++)
            for (int64_t w = (int64_t)from[1]; w < to[1]; w++) {
                int64_t at[] = {image_of(c, index[0]), index[1], h, w};
                double v = x->v[ref_at(x, at)];
                max = any && max > v ? max : v;
                any = true;
            }
        y->v[p] = max;
    }
}

static void align(ref_call *c)
{
    ref_with_layout(c, align_first);
}

static void pool(ref_call *c)
{
    ref_with_layout(c, pool_first);
}

const ref_row ref_rows_roi[] = {{"vision.roi_align", align}, {"vision.roi_pool", pool}, {NULL, NULL}};
