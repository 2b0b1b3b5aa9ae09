/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "ref.h"

/* Where position p of a dimension of extent n comes from; -1: from nowhere. */
static int64_t pad_source(const char *mode, int64_t p, int64_t n)
{
    if (p >= 0 && p < n) return p;
    if (!strcmp(mode, "edge")) return p < 0 ? 0 : n - 1;
    if (!strcmp(mode, "wrap")) return (p % n + n) % n;
    if (strcmp(mode, "reflect")) return -1;
    while (n > 1 && (p < 0 || p >= n)) p = p < 0 ? -p : 2 * (n - 1) - p;
    return n > 1 ? p : 0;
}

static void pad(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    int64_t before[REF_DIMS], after[REF_DIMS], dims[REF_DIMS], index[REF_DIMS];
    char mode[16];
    strcpy(mode, ref_string(c, "mode", "constant"));
    ref_ints(c, "pad_before", before);
    ref_ints(c, "pad_after", after);
    for (int i = 0; i < x->ndim; i++) dims[i] = x->dims[i] + before[i] + after[i];
    double fill = c->num_in > 1 ? c->in[1].v[0] : ref_float(c, "value", 0);
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, dims);
    for (int64_t p = 0; p < y->count; p++) {
        bool inside = true;
        ref_index(y, p, index);
        for (int i = 0; i < x->ndim; i++) {
            index[i] = pad_source(mode, index[i] - before[i], x->dims[i]);
            inside &= index[i] >= 0;
        }
        y->v[p] = inside ? x->v[ref_at(x, index)] : fill;
    }
}

const ref_row ref_rows_pad[] = {
    {"nn.pad", pad},
    {NULL, NULL},
};
