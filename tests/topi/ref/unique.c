/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "ref.h"

typedef struct slices {
    const ref_tensor *x;
    int axis;
} slices;

static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int compare(const slices *s, int64_t a, int64_t b)
{
    int64_t index[REF_DIMS];
    for (int64_t p = 0; p < s->x->count; p++) {
        ref_index(s->x, p, index);
        if (index[s->axis] != 0) continue;
        index[s->axis] = a;
        double u = s->x->v[ref_at(s->x, index)];
        index[s->axis] = b;
        int order = compare_numbers(u, s->x->v[ref_at(s->x, index)]);
        if (order) return order;
    }
    return 0;
}

static void unique(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    slices s = {x, ref_axis(c, 0)};
    int64_t n = x->dims[s.axis], groups = 0, index[REF_DIMS];
    ref_tensor *y = ref_make(c, 0, x->dtype, x->ndim, x->dims), *first = ref_make(c, 1, GPUC_INT64, 1, &n);
    ref_tensor *inverse = ref_make(c, 2, GPUC_INT64, 1, &n), *counts = ref_make(c, 3, GPUC_INT64, 1, &n);
    ref_tensor *count = ref_make(c, 4, GPUC_INT64, 0, NULL);
    c->num_out = 5;
    int64_t *leader = malloc(sizeof *leader * (size_t)(n + 1)); /* first slice of each group, in order */
    for (int64_t i = 0; i < n; i++) {
        int64_t g = 0;
        while (g < groups && compare(&s, leader[g], i) != 0) g++;
        if (g < groups) continue;
        for (g = groups; g > 0 && ref_int(c, "sorted", 1) && compare(&s, i, leader[g - 1]) < 0; g--)
            leader[g] = leader[g - 1];
        leader[g] = i;
        groups++;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t g = 0;
        while (compare(&s, leader[g], i) != 0) g++;
        inverse->v[i] = (double)g;
        counts->v[g]++;
    }
    for (int64_t g = 0; g < groups; g++) first->v[g] = (double)leader[g];
    for (int64_t p = 0; p < x->count; p++) {
        ref_index(x, p, index);
        int64_t g = index[s.axis];
        if (g >= groups) continue;
        index[s.axis] = leader[g];
        y->v[p] = x->v[ref_at(x, index)];
    }
    count->v[0] = (double)groups;
    free(leader);
}

const ref_row ref_rows_unique[] = {{"unique", unique}, {NULL, NULL}};
