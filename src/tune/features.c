/* SPDX-License-Identifier: Apache-2.0 */
/* What the cost model knows of a configuration: the values of its knobs and products of neighbouring ones, in
 * columns that tasks share, so that what is learned of one helps with the others; and the size of the work. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tune/search.h"

void gpuc_tune_features_init(gpuc_tune_features *f, gpuc_ctx *ctx)
{
    *f = (gpuc_tune_features){.ctx = ctx, .num_columns = GPUC_TUNE_WORKLOAD_FEATURES};
    gpuc_strmap_init(&f->columns, ctx);
}

static double elements(const gpuc_tensor_type *t, double *last)
{
    double n = 1;
    *last = 1;
    for (int i = 0; i < t->ndim; i++) {
        int64_t d = 64;
        gpuc_expr_is_int(t->dims[i], &d);
        n *= (double)d;
        *last = (double)d;
    }
    return n;
}

static float scale(double n)
{
    return (float)log2(n + 1);
}

void gpuc_tune_describe(const gpuc_tune_task *task, float *out)
{
    const gpuc_rtype *t = task->f->body->type;
    const gpuc_tensor_type *result = t->kind == GPUC_RTYPE_TUPLE ? &t->at[0]->tensor : &t->tensor;
    double last, bytes = 0;
    int64_t channels = 1;
    for (int i = 0; i < GPUC_TUNE_WORKLOAD_FEATURES; i++) out[i] = 0;
    if (result->ndim > 1) gpuc_expr_is_int(result->dims[1], &channels);
    out[0] = scale(elements(result, &last));
    out[1] = scale(last);
    out[2] = scale((double)channels);
    for (int i = 0; i < task->f->n; i++) {
        const gpuc_tensor_type *p = gpuc_relay_tensor_type(task->f->params[i]);
        double in_last, n = elements(p, &in_last);
        bytes += n * (double)gpuc_dtype_bytes(p->dtype);
        if (i < 2) out[3 + i] = scale(n);
        if (i < 2) out[5 + i] = scale(in_last);
    }
    out[7] = scale(bytes);
}

/* -1: there are too many. */
static int column_of(gpuc_tune_features *f, const char *name)
{
    uintptr_t known = (uintptr_t)gpuc_strmap_get(&f->columns, name);
    if (known) return (int)known - 1;
    if (f->num_columns == GPUC_TUNE_MAX_FEATURES) return -1;
    gpuc_strmap_set(&f->columns, name, (void *)(uintptr_t)(f->num_columns + 1));
    return f->num_columns++;
}

static void put(gpuc_tune_features *f, const char *name, double value, float *out)
{
    int column = column_of(f, name);
    if (column >= 0) out[column] = (float)value;
}

void gpuc_tune_featurize(gpuc_tune_features *f, const float *workload, const gpuc_config *c, float *out)
{
    double product = 1;
    memcpy(out, workload, sizeof *out * GPUC_TUNE_WORKLOAD_FEATURES);
    for (int i = GPUC_TUNE_WORKLOAD_FEATURES; i < GPUC_TUNE_MAX_FEATURES; i++) out[i] = NAN;
    for (int i = 0; i < c->n; i++) {
        const gpuc_knob_value *v = &c->at[i];
        char name[64];
        put(f, v->name, (double)v->value, out);
        if (v->value < 1 || i > 7) continue;
        product *= (double)v->value;
        snprintf(name, sizeof name, "to %s", v->name);
        put(f, name, log2(product), out);
    }
}
