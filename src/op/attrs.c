/* SPDX-License-Identifier: Apache-2.0 */
/* Implements attribute lists: immutable, sorted by name. */
#include "op/op.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/names.h"

static const gpuc_attrs *with(gpuc_ctx *ctx, const gpuc_attrs *a, gpuc_attr item)
{
    int count = a ? a->count : 0, at = 0;
    gpuc_attr *list = gpuc_new_array(ctx, gpuc_attr, count + 1);
    while (at < count && strcmp(a->at[at].name, item.name) < 0) at++;
    bool replace = at < count && !strcmp(a->at[at].name, item.name);
    if (at) memcpy(list, a->at, sizeof *list * (size_t)at);
    item.name = gpuc_ctx_strdup(ctx, item.name);
    list[at] = item;
    int rest = count - at - replace;
    if (rest) memcpy(list + at + 1, a->at + at + replace, sizeof *list * (size_t)rest);
    gpuc_attrs *out = gpuc_new(ctx, gpuc_attrs);
    out->count = count + !replace;
    out->at = list;
    return out;
}

const gpuc_attrs *gpuc_op_attrs_put(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name,
                                    const gpuc_attr *value)
{
    gpuc_attr item = *value;
    item.name = name;
    return with(ctx, a, item);
}

const gpuc_attrs *gpuc_attrs_int(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, int64_t v)
{
    return with(ctx, a, (gpuc_attr){.name = name, .kind = GPUC_ATTR_INT, .i = v});
}

const gpuc_attrs *gpuc_attrs_float(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, double v)
{
    return with(ctx, a, (gpuc_attr){.name = name, .kind = GPUC_ATTR_FLOAT, .f = v});
}

const gpuc_attrs *gpuc_attrs_string(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, const char *v)
{
    return with(ctx, a, (gpuc_attr){.name = name, .kind = GPUC_ATTR_STRING, .s = gpuc_ctx_strdup(ctx, v)});
}

const gpuc_attrs *gpuc_attrs_ints(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, int n,
                                  const int64_t *v)
{
    const int64_t *copy = gpuc_ctx_memdup(ctx, v, sizeof *v * (size_t)n);
    return with(ctx, a, (gpuc_attr){.name = name, .kind = GPUC_ATTR_INTS, .n = n, .ints = copy});
}

const gpuc_attrs *gpuc_attrs_sizes(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, int n,
                                   const gpuc_expr *v)
{
    int64_t *ints = gpuc_new_array(ctx, int64_t, n);
    bool known = true;
    for (int i = 0; i < n; i++) {
        if (gpuc_expr_is_int(v[i], &ints[i])) continue;
        ints[i] = GPUC_ATTR_UNKNOWN;
        known = false;
    }
    const gpuc_expr *sizes = known ? NULL : gpuc_ctx_memdup(ctx, v, sizeof *v * (size_t)n);
    return with(ctx, a,
                (gpuc_attr){.name = name, .kind = GPUC_ATTR_INTS, .n = n, .ints = ints, .sizes = sizes});
}

const gpuc_attrs *gpuc_attrs_floats(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, int n,
                                    const double *v)
{
    const double *copy = gpuc_ctx_memdup(ctx, v, sizeof *v * (size_t)n);
    return with(ctx, a, (gpuc_attr){.name = name, .kind = GPUC_ATTR_FLOATS, .n = n, .floats = copy});
}

const gpuc_attrs *gpuc_attrs_dtype(gpuc_ctx *ctx, const gpuc_attrs *a, const char *name, gpuc_dtype v)
{
    return with(ctx, a, (gpuc_attr){.name = name, .kind = GPUC_ATTR_DTYPE, .dtype = v});
}

const gpuc_attr *gpuc_attrs_find(const gpuc_attrs *a, const char *name)
{
    for (int i = 0; a && i < a->count; i++)
        if (!strcmp(a->at[i].name, name)) return &a->at[i];
    return NULL;
}

int64_t gpuc_attrs_get_int(const gpuc_attrs *a, const char *name, int64_t otherwise)
{
    const gpuc_attr *at = gpuc_attrs_find(a, name);
    return at ? at->i : otherwise;
}

double gpuc_attrs_get_float(const gpuc_attrs *a, const char *name, double otherwise)
{
    const gpuc_attr *at = gpuc_attrs_find(a, name);
    return at ? at->f : otherwise;
}

const char *gpuc_attrs_get_string(const gpuc_attrs *a, const char *name, const char *otherwise)
{
    const gpuc_attr *at = gpuc_attrs_find(a, name);
    return at ? at->s : otherwise;
}

gpuc_expr gpuc_attr_size(gpuc_ctx *ctx, const gpuc_attr *a, int i)
{
    return a->sizes ? a->sizes[i] : gpuc_int(ctx, a->ints[i]);
}

bool gpuc_attrs_symbolic(const gpuc_attrs *a)
{
    for (int i = 0; a && i < a->count; i++)
        if (a->at[i].sizes) return true;
    return false;
}

const gpuc_attrs *gpuc_op_attrs_substitute(gpuc_ctx *ctx, const gpuc_attrs *attrs, const gpuc_map *by)
{
    const gpuc_attrs *out = attrs;
    for (int i = 0; attrs && by->count && i < attrs->count; i++) {
        const gpuc_attr *a = &attrs->at[i];
        gpuc_expr *sizes = gpuc_new_array(ctx, gpuc_expr, a->n + 1);
        bool changed = false;
        for (int k = 0; a->sizes && k < a->n; k++)
            changed |= (sizes[k] = gpuc_tir_substitute_map(ctx, a->sizes[k], by)) != a->sizes[k];
        if (changed) out = gpuc_attrs_sizes(ctx, out, a->name, a->n, sizes);
    }
    return out;
}

static bool same_sizes(const gpuc_attr *x, const gpuc_attr *y)
{
    if (!x->sizes || !y->sizes) return x->sizes == y->sizes;
    return !memcmp(x->sizes, y->sizes, sizeof *x->sizes * (size_t)x->n);
}

static bool attr_equal(const gpuc_attr *x, const gpuc_attr *y)
{
    if (strcmp(x->name, y->name) || x->kind != y->kind) return false;
    switch (x->kind) {
    case GPUC_ATTR_INT: return x->i == y->i;
    case GPUC_ATTR_FLOAT: return !memcmp(&x->f, &y->f, sizeof x->f);
    case GPUC_ATTR_STRING: return !strcmp(x->s, y->s);
    case GPUC_ATTR_INTS:
        return x->n == y->n && (!x->n || !memcmp(x->ints, y->ints, sizeof *x->ints * (size_t)x->n)) &&
               same_sizes(x, y);
    case GPUC_ATTR_FLOATS:
        return x->n == y->n && (!x->n || !memcmp(x->floats, y->floats, sizeof *x->floats * (size_t)x->n));
    case GPUC_ATTR_DTYPE: return gpuc_dtype_equal(x->dtype, y->dtype);
    case GPUC_ATTR_KIND_COUNT: break;
    }
    return false;
}

bool gpuc_attrs_equal(const gpuc_attrs *a, const gpuc_attrs *b)
{
    int na = a ? a->count : 0, nb = b ? b->count : 0;
    if (na != nb) return false;
    for (int i = 0; i < na; i++)
        if (!attr_equal(&a->at[i], &b->at[i])) return false;
    return true;
}

uint32_t gpuc_attrs_hash(const gpuc_attrs *a)
{
    uint32_t h = 17;
    for (int i = 0; a && i < a->count; i++) {
        const gpuc_attr *at = &a->at[i];
        h = gpuc_hash_mix(h, gpuc_hash_bytes(at->name, strlen(at->name), 0));
        uint64_t v = 0;
        switch (at->kind) {
        case GPUC_ATTR_INT: v = (uint64_t)at->i; break;
        case GPUC_ATTR_FLOAT: v = gpuc_hash_bytes(&at->f, sizeof at->f, 0); break;
        case GPUC_ATTR_STRING: v = gpuc_hash_bytes(at->s, strlen(at->s), 0); break;
        case GPUC_ATTR_INTS: v = gpuc_hash_bytes(at->ints, sizeof *at->ints * (size_t)at->n, 0); break;
        case GPUC_ATTR_FLOATS: v = gpuc_hash_bytes(at->floats, sizeof *at->floats * (size_t)at->n, 0); break;
        case GPUC_ATTR_DTYPE: v = gpuc_hash_bytes(&at->dtype, sizeof at->dtype, 0); break;
        case GPUC_ATTR_KIND_COUNT: break;
        }
        h = gpuc_hash_mix(h, v);
    }
    return h;
}

static bool is_new(const gpuc_attr *a)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)a->i);
    return (a->kind == GPUC_ATTR_INT && gpuc_names_is_new(a->name, text)) ||
           (a->kind == GPUC_ATTR_STRING && gpuc_names_is_new(a->name, a->s));
}

void gpuc_op_attrs_print(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_attrs *a, bool first_names)
{
    char name[24];
    const char *between = "";
    for (int i = 0; a && i < a->count; i++) {
        const gpuc_attr *at = &a->at[i];
        if (first_names && is_new(at)) continue;
        gpuc_buf_printf(out, "%s%s=", between, at->name);
        between = ", ";
        switch (at->kind) {
        case GPUC_ATTR_INT: gpuc_buf_printf(out, "%lld", (long long)at->i); break;
        case GPUC_ATTR_FLOAT: gpuc_buf_printf(out, "%.17g", at->f); break;
        case GPUC_ATTR_STRING:
            gpuc_buf_printf(out, "\"%s\"", first_names ? gpuc_names_first(at->name, at->s) : at->s);
            break;
        case GPUC_ATTR_DTYPE:
            gpuc_buf_str(out, at->dtype.bits ? gpuc_dtype_name(at->dtype, name) : "none");
            break;
        case GPUC_ATTR_INTS:
        case GPUC_ATTR_FLOATS:
            gpuc_buf_str(out, "[");
            for (int k = 0; k < at->n; k++) {
                if (k) gpuc_buf_str(out, ", ");
                if (at->sizes)
                    gpuc_buf_str(out, gpuc_expr_text(ctx, at->sizes[k]));
                else if (at->kind == GPUC_ATTR_INTS)
                    gpuc_buf_printf(out, "%lld", (long long)at->ints[k]);
                else
                    gpuc_buf_printf(out, "%.17g", at->floats[k]);
            }
            gpuc_buf_str(out, "]");
            break;
        case GPUC_ATTR_KIND_COUNT: break;
        }
    }
}
