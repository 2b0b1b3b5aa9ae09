/* SPDX-License-Identifier: Apache-2.0 */
/* One window after the other, looking for its first maximum, or giving its gradient back. */
#include <math.h>
#include <string.h>

#include "ref.h"

typedef struct windows {
    int rank;
    int64_t size[6], stride[6], pad[6], dilation[6], out[REF_DIMS], volume;
} windows;

static windows read_windows(const ref_call *c, const ref_tensor *x)
{
    windows w = {.rank = x->ndim - 2, .out = {x->dims[0], x->dims[1]}, .volume = 1};
    bool ceil_mode = ref_int(c, "ceil_mode", 0);
    ref_ints(c, "pool_size", w.size);
    ref_ints(c, "strides", w.stride);
    ref_ints(c, "padding", w.pad);
    ref_ints(c, "dilation", w.dilation);
    for (int i = 0; i < w.rank; i++) {
        double span =
            (double)(x->dims[2 + i] + w.pad[i] + w.pad[w.rank + i] - (w.size[i] - 1) * w.dilation[i] - 1) /
            (double)w.stride[i];
        w.out[2 + i] = (int64_t)(ceil_mode ? ceil(span) : floor(span)) + 1;
        if (ceil_mode && (w.out[2 + i] - 1) * w.stride[i] >= x->dims[2 + i] + w.pad[i]) w.out[2 + i]--;
        w.volume *= w.size[i];
    }
    return w;
}

/* Element q of the window at index; false: it is outside. */
static bool element(const windows *w, const ref_tensor *x, const int64_t *index, int64_t q, int64_t *at,
                    bool *padded)
{
    bool inside = true;
    at[0] = index[0];
    at[1] = index[1];
    *padded = true;
    for (int i = w->rank - 1; i >= 0; i--) {
        at[2 + i] = index[2 + i] * w->stride[i] + q % w->size[i] * w->dilation[i] - w->pad[i];
        q /= w->size[i];
        inside &= at[2 + i] >= 0 && at[2 + i] < x->dims[2 + i];
        *padded &= at[2 + i] < x->dims[2 + i] + w->pad[w->rank + i];
    }
    return inside;
}

/* Where the first maximum of a window is. */
static void find(const windows *w, const ref_tensor *x, const int64_t *index, int64_t *best)
{
    bool found = false, padded;
    double max = 0;
    int64_t at[REF_DIMS];
    for (int64_t q = 0; q < w->volume; q++) {
        if (!element(w, x, index, q, at, &padded)) continue;
        double v = x->v[ref_at(x, at)];
        if (found && !(v > max)) continue;
        found = true;
        max = v;
        memcpy(best, at, sizeof at);
    }
}

static void with_argmax(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    windows w = read_windows(c, x);
    int64_t index[REF_DIMS], best[REF_DIMS], image = 1;
    c->num_out = 2;
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, w.out),
               *where = ref_make(c, 1, GPUC_INT64, x->ndim, w.out);
    for (int i = 0; i < w.rank; i++) image *= x->dims[2 + i];
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, index);
        find(&w, x, index, best);
        y->v[p] = x->v[ref_at(x, best)];
        int64_t at = 0, stride = 1;
        for (int i = 0; i < w.rank; i++) { /* the first axis varies fastest */
            at += best[2 + i] * stride;
            stride *= x->dims[2 + i];
        }
        where->v[p] = ref_int(c, "storage_order", 0) ? (double)((best[0] * x->dims[1] + best[1]) * image + at)
                                                     : (double)ref_at(x, best);
    }
}

static void grad(ref_call *c)
{
    const ref_tensor *g = &c->in[0], *x = &c->in[1];
    windows w = read_windows(c, x);
    bool maximum = strstr(c->op, "max") != NULL, include = ref_int(c, "count_include_pad", 0), padded;
    int64_t index[REF_DIMS], at[REF_DIMS];
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims);
    for (int64_t p = 0; p < g->count; p++) {
        int number = 0;
        ref_index(g, p, index);
        if (maximum) {
            find(&w, x, index, at);
            y->v[ref_at(x, at)] += g->v[p];
            continue;
        }
        for (int64_t q = 0; q < w.volume; q++) {
            bool inside = element(&w, x, index, q, at, &padded);
            number += include ? padded : inside;
        }
        for (int64_t q = 0; q < w.volume; q++)
            if (element(&w, x, index, q, at, &padded)) y->v[ref_at(x, at)] += g->v[p] / number;
    }
}

const ref_row ref_rows_pool_index[] = {
    {"nn.max_pool_with_argmax", with_argmax},
    {"nn.max_pool_grad", grad},
    {"nn.avg_pool_grad", grad},
    {NULL, NULL},
};
