/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of a row from text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "op/op.h"

static void bad_value(gpuc_ctx *ctx, const gpuc_op *op, const char *name, const char *value, const char *what)
{
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: attribute '%s' is %s, must be %s", op->name, name, value,
               what);
}

static bool read_int(const char *text, char **end, int64_t *out)
{
    errno = 0;
    *out = strtoll(text, end, 10);
    return *end != text && errno == 0;
}

/* "[1, 2]", or one number. Returns how many; -1: it is no such list. */
static int read_list(gpuc_ctx *ctx, const char *text, int64_t **ints, double **floats)
{
    size_t max = 1;
    int n = 0;
    for (const char *p = text; *p; p++) max += *p == ',';
    *ints = gpuc_new_array(ctx, int64_t, max);
    *floats = gpuc_new_array(ctx, double, max);
    bool list = *text == '[';
    const char *p = text + list;
    while (*(p += strspn(p, " "))) {
        char *end, *other;
        if (list && *p == ']' && n == 0) break;
        (*floats)[n] = strtod(p, &end);
        if (end == p) return -1;
        bool whole = read_int(p, &other, &(*ints)[n]) && other == end;
        if (!whole) (*ints)[n] = INT64_MIN; /* no integer */
        n++;
        p = end + strspn(end, " ");
        if (*p != ',' || !list) break;
        p++;
    }
    if (list && *p++ != ']') return -1;
    return p[strspn(p, " ")] ? -1 : n;
}

const gpuc_attrs *gpuc_op_parse_attr(gpuc_ctx *ctx, const gpuc_op *op, const gpuc_attrs *attrs,
                                     const gpuc_attr_spec *spec, const char *value)
{
    int64_t *ints, i;
    double *floats, f;
    char *end;
    gpuc_dtype t;
    size_t n = strlen(value);
    int count;
    switch (spec->kind) {
    case GPUC_ATTR_INT:
        if (!read_int(value, &end, &i) || *end) bad_value(ctx, op, spec->name, value, "an integer");
        return gpuc_attrs_int(ctx, attrs, spec->name, i);
    case GPUC_ATTR_FLOAT:
        f = strtod(value, &end);
        if (end == value || *end) bad_value(ctx, op, spec->name, value, "a number");
        return gpuc_attrs_float(ctx, attrs, spec->name, f);
    case GPUC_ATTR_STRING:
        if (n > 1 && *value == '"' && value[n - 1] == '"')
            value = gpuc_ctx_printf(ctx, "%.*s", (int)(n - 2), value + 1);
        return gpuc_attrs_string(ctx, attrs, spec->name, value);
    case GPUC_ATTR_DTYPE:
        if (!gpuc_dtype_parse(value, &t)) bad_value(ctx, op, spec->name, value, "an element type");
        return gpuc_attrs_dtype(ctx, attrs, spec->name, t);
    case GPUC_ATTR_INTS:
        count = read_list(ctx, value, &ints, &floats);
        for (int k = 0; k < count; k++)
            if (ints[k] == INT64_MIN) count = -1;
        if (count < 0) bad_value(ctx, op, spec->name, value, "integers, as in [1, 2]");
        return gpuc_attrs_ints(ctx, attrs, spec->name, count, ints);
    case GPUC_ATTR_FLOATS:
        count = read_list(ctx, value, &ints, &floats);
        if (count < 0) bad_value(ctx, op, spec->name, value, "numbers, as in [0.5, 2]");
        return gpuc_attrs_floats(ctx, attrs, spec->name, count, floats);
    case GPUC_ATTR_KIND_COUNT: break;
    }
    return attrs;
}

static const gpuc_attr_spec *find_spec(gpuc_ctx *ctx, const gpuc_op *op, const char *name)
{
    const char *names[64];
    size_t n = 0;
    for (const gpuc_attr_spec *s = op->attrs; s && s->name; s++) {
        if (!strcmp(s->name, name)) return s;
        if (n < 64) names[n++] = s->name;
    }
    const char *near = gpuc_suggest(name, names, n);
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: has no attribute '%s'%s%s%s", op->name, name,
               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Length of a value: a list, a quoted string, or a word. */
static size_t value_length(const char *p)
{
    if (*p == '[' || *p == '"') {
        const char *end = strchr(p + 1, *p == '[' ? ']' : '"');
        return end ? (size_t)(end - p) + 1 : strlen(p);
    }
    return strcspn(p, ", ");
}

const gpuc_attrs *gpuc_op_parse_attrs(gpuc_ctx *ctx, const gpuc_op *op, const char *text)
{
    const gpuc_attrs *attrs = NULL;
    for (const char *p = text; *(p += strspn(p, ", "));) {
        size_t n = strcspn(p, "=, ");
        if (p[n] != '=')
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: '%s' is no attribute: write name=value", op->name, p);
        const char *name = gpuc_ctx_printf(ctx, "%.*s", (int)n, p);
        const gpuc_attr_spec *spec = find_spec(ctx, op, name);
        if (gpuc_attrs_find(attrs, name))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: attribute '%s' is given twice", op->name, name);
        p += n + 1;
        n = value_length(p);
        attrs = gpuc_op_parse_attr(ctx, op, attrs, spec, gpuc_ctx_printf(ctx, "%.*s", (int)n, p));
        p += n;
    }
    return attrs;
}
