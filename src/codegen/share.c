/* SPDX-License-Identifier: Apache-2.0 */
/* Groups kernels whose code differs in numbers only, so that each group is compiled once. */
#include "codegen/share.h"

#include <string.h>

#include "base/map.h"

static const gpuc_kernel_form *form_at(const gpuc_kernel_group *g, size_t i)
{
    return g->forms.at[i];
}

static bool same_values(const gpuc_kernel_group *g, int a, int b)
{
    for (size_t i = 0; i < g->forms.count; i++)
        if (form_at(g, i)->values[a] != form_at(g, i)->values[b]) return false;
    return true;
}

static bool is_constant(const gpuc_kernel_group *g, int hole)
{
    for (size_t i = 1; i < g->forms.count; i++)
        if (form_at(g, i)->values[hole] != form_at(g, 0)->values[hole]) return false;
    return true;
}

/* False: there are more than max. */
static bool number_arguments(gpuc_ctx *ctx, gpuc_kernel_group *g, int max)
{
    int n = form_at(g, 0)->num_holes;
    g->argument = gpuc_new_array(ctx, int, n);
    g->hole = gpuc_new_array(ctx, int, max);
    g->num_arguments = 0;
    for (int h = 0; h < n; h++) {
        int a = is_constant(g, h) ? -1 : 0;
        while (a >= 0 && a < g->num_arguments && !same_values(g, g->hole[a], h)) a++;
        g->argument[h] = a;
        if (a < g->num_arguments) continue;
        if (a == max) return false;
        g->hole[g->num_arguments++] = h;
    }
    return true;
}

static bool equal(const gpuc_kernel_form *a, const gpuc_kernel_form *b)
{
    return a->size == b->size && a->num_holes == b->num_holes && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static bool join(gpuc_ctx *ctx, gpuc_kernel_group *g, gpuc_kernel_form *f, int max)
{
    if (!equal(form_at(g, 0), f)) return false;
    gpuc_ptrs_push(ctx, &g->forms, f);
    if (number_arguments(ctx, g, max)) return true;
    g->forms.count--;
    GPUC_CHECK(number_arguments(ctx, g, max));
    return false;
}

gpuc_ptrs gpuc_codegen_group(gpuc_ctx *ctx, const gpuc_ptrs *forms, const int *max)
{
    gpuc_ptrs groups = {0}, out = {0};
    for (size_t i = 0; i < forms->count; i++) {
        gpuc_kernel_form *f = forms->at[i];
        size_t k = 0;
        while (k < groups.count && !join(ctx, groups.at[k], f, max[f->kernel])) k++;
        if (k < groups.count) continue;
        gpuc_kernel_group *g = gpuc_new(ctx, gpuc_kernel_group);
        gpuc_ptrs_push(ctx, &g->forms, f);
        gpuc_ptrs_push(ctx, &groups, g);
    }
    for (size_t i = 0; i < groups.count; i++)
        if (((gpuc_kernel_group *)groups.at[i])->forms.count > 1) gpuc_ptrs_push(ctx, &out, groups.at[i]);
    return out;
}

const int32_t *gpuc_codegen_group_values(gpuc_ctx *ctx, const gpuc_kernel_group *g, const gpuc_kernel_form *f)
{
    int32_t *values = gpuc_new_array(ctx, int32_t, g->num_arguments);
    for (int a = 0; a < g->num_arguments; a++) values[a] = f->values[g->hole[a]];
    return values;
}
