/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "ref.h"

/* The element of image n, channel ch, at a place of the padded image. */
static double pixel(const ref_tensor *t, int64_t n, int64_t ch, const int64_t *at, const int64_t *padding)
{
    int64_t index[] = {n, ch, at[0] - padding[0], at[1] - padding[1]};
    bool inside = index[2] >= 0 && index[2] < t->dims[2] && index[3] >= 0 && index[3] < t->dims[3];
    return inside ? t->v[ref_at(t, index)] : 0;
}

static void correlation(ref_call *c)
{
    const ref_tensor *a = &c->in[0], *b = &c->in[1];
    int64_t kernel = ref_int(c, "kernel_size", 1), reach = ref_int(c, "max_displacement", 1),
            s1 = ref_int(c, "stride1", 1), s2 = ref_int(c, "stride2", 1), padding[REF_DIMS] = {0},
            i[REF_DIMS];
    int64_t radius = reach / s2, size = 2 * radius + 1, dims[4] = {a->dims[0], size * size};
    bool multiply = ref_int(c, "is_multiply", 1);
    ref_ints(c, "padding", padding);
    for (int k = 0; k < 2; k++) {
        int64_t span = a->dims[2 + k] + padding[k] + padding[2 + k] - 2 * (reach + kernel / 2);
        dims[2 + k] = (span + s1 - 1) / s1;
    }
    ref_tensor *y = ref_make(c, 0, a->dtype, 4, dims);
    for (int64_t p = 0; p < y->count; p++) {
        double sum = 0;
        ref_index(y, p, i);
        for (int64_t q = 0; q < a->dims[1] * kernel * kernel; q++) {
            int64_t ch = q / kernel / kernel, x1[2], x2[2];
            x1[0] = i[2] * s1 + reach + q / kernel % kernel;
            x1[1] = i[3] * s1 + reach + q % kernel;
            x2[0] = x1[0] + (i[1] / size - radius) * s2;
            x2[1] = x1[1] + (i[1] % size - radius) * s2;
            double u = pixel(a, i[0], ch, x1, padding), v = pixel(b, i[0], ch, x2, padding);
            sum += multiply ? u * v : fabs(u - v);
        }
        y->v[p] = sum / (double)(kernel * kernel * a->dims[1]);
    }
}

const ref_row ref_rows_correlation[] = {{"nn.correlation", correlation}, {NULL, NULL}};
