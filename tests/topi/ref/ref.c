/* SPDX-License-Identifier: Apache-2.0 */
#include "ref.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ref_fn *ref_find(const char *op)
{
    static const ref_row *const tables[] = {
#define REF_FAMILY(name) ref_rows_##name,
#include "families.def"
#undef REF_FAMILY
    };
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const ref_row *r = tables[t]; r->op; r++)
            if (!strcmp(r->op, op)) return r->fn;
    return NULL;
}

ref_tensor *ref_make(ref_call *c, int i, gpuc_dtype dtype, int ndim, const int64_t *dims)
{
    ref_tensor *t = &c->out[i];
    *t = (ref_tensor){.dtype = dtype, .ndim = ndim, .count = 1};
    for (int k = 0; k < ndim; k++) {
        t->dims[k] = dims[k];
        t->count *= dims[k];
    }
    t->v = calloc((size_t)t->count + 1, sizeof *t->v);
    return t;
}

/* The value's text, or NULL. */
static const char *find(const ref_call *c, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = c->attrs; p && (p = strstr(p, name)); p++)
        if ((p == c->attrs || p[-1] == ' ') && p[n] == '=') return p + n + 1;
    return NULL;
}

int64_t ref_int(const ref_call *c, const char *name, int64_t otherwise)
{
    const char *p = find(c, name);
    return p ? strtoll(p, NULL, 10) : otherwise;
}

int ref_axis(const ref_call *c, int64_t otherwise)
{
    int64_t axis = ref_int(c, "axis", otherwise);
    return (int)(axis < 0 ? axis + c->in[0].ndim : axis);
}

double ref_float(const ref_call *c, const char *name, double otherwise)
{
    const char *p = find(c, name);
    return p ? strtod(p, NULL) : otherwise;
}

const char *ref_string(const ref_call *c, const char *name, const char *otherwise)
{
    static char text[64];
    const char *p = find(c, name);
    if (!p) return otherwise;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(p + 1, "\""), p + 1);
    return text;
}

gpuc_dtype ref_dtype(const ref_call *c, const char *name, gpuc_dtype otherwise)
{
    char text[24];
    gpuc_dtype t;
    const char *p = find(c, name);
    if (!p) return otherwise;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(p, " "), p);
    return gpuc_dtype_parse(text, &t) ? t : otherwise;
}

int ref_floats(const ref_call *c, const char *name, double *out)
{
    int n = 0;
    const char *p = find(c, name);
    if (!p) return 0;
    for (p++; *p != ']'; p += strspn(p, ", ")) {
        out[n++] = strtod(p, NULL);
        p += strcspn(p, ",]");
    }
    return n;
}

int ref_ints(const ref_call *c, const char *name, int64_t *out)
{
    double v[64];
    int n = ref_floats(c, name, v);
    for (int i = 0; i < n; i++) out[i] = (int64_t)v[i];
    return n;
}

int64_t ref_at(const ref_tensor *t, const int64_t *index)
{
    int64_t at = 0;
    for (int k = 0; k < t->ndim; k++) at = at * t->dims[k] + index[k];
    return at;
}

void ref_index(const ref_tensor *t, int64_t position, int64_t *index)
{
    for (int k = t->ndim - 1; k >= 0; k--) {
        index[k] = position % t->dims[k];
        position /= t->dims[k];
    }
}

double ref_broadcast(const ref_tensor *t, int ndim, const int64_t *index)
{
    int64_t own[REF_DIMS];
    for (int k = 0; k < t->ndim; k++) own[k] = t->dims[k] == 1 ? 0 : index[k + ndim - t->ndim];
    return t->v[ref_at(t, own)];
}

bool ref_is_float(gpuc_dtype t)
{
    return gpuc_dtype_is_float(t);
}

double ref_saturated(gpuc_dtype t, double v)
{
    bool is_unsigned = t.code == GPUC_DTYPE_UINT;
    double min = is_unsigned ? 0 : -ldexp(1, t.bits - 1), max = ldexp(1, t.bits - !is_unsigned) - 1;
    return v < min ? min : v > max ? max : v;
}

ref_tensor ref_transpose(const ref_tensor *t, const int64_t *perm)
{
    ref_tensor out = *t;
    int64_t to[REF_DIMS], from[REF_DIMS];
    for (int i = 0; i < t->ndim; i++) out.dims[i] = t->dims[perm[i]];
    out.v = malloc(sizeof *out.v * (size_t)(t->count + 1));
    for (int64_t p = 0; p < t->count; p++) {
        ref_index(&out, p, to);
        for (int i = 0; i < t->ndim; i++) from[perm[i]] = to[i];
        out.v[p] = t->v[ref_at(t, from)];
    }
    return out;
}

void ref_with_layout(ref_call *c, ref_fn *fn)
{
    ref_tensor given = c->in[0];
    int64_t first[REF_DIMS] = {0}, last[REF_DIMS] = {0}, n = given.ndim;
    bool changes = !strcmp(ref_string(c, "data_layout", "NCHW"), "NHWC");
    for (int64_t i = 1; i < n; i++) {
        first[i] = i == 1 ? n - 1 : i - 1;
        last[i] = i == n - 1 ? 1 : i + 1;
    }
    if (changes) c->in[0] = ref_transpose(&given, first);
    fn(c);
    if (!changes) return;
    free(c->in[0].v);
    c->in[0] = given;
    ref_tensor out = ref_transpose(&c->out[0], last);
    free(c->out[0].v);
    c->out[0] = out;
}
