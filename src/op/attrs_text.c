/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of a call from text, in the spelling of gpuc or of other systems. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "op/op.h"
#include "op/table.h"

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

/* Length of a list with the lists in it, "((0, 0), (1, 1))"; 0: it is none, or not closed. */
static size_t list_length(const char *text)
{
    int depth = 0;
    for (const char *p = text; *p; p++) {
        depth += (*p == '[' || *p == '(') - (*p == ']' || *p == ')');
        if (depth == 0) return *text == '[' || *text == '(' ? (size_t)(p - text) + 1 : 0;
    }
    return 0;
}

/* "[1, 2]" or "(1, 2)", with lists in it as their entries; or one number. Returns how many; -1: it is no such list. */
static int read_list(gpuc_ctx *ctx, const char *text, int64_t **ints, double **floats)
{
    size_t max = 1, length = list_length(text);
    const char *p = text, *stop = text + (length ? length : strlen(text));
    bool value = false; /* just before: a number or a list */
    int n = 0;
    for (const char *c = text; *c; c++) max += *c == ',';
    *ints = gpuc_new_array(ctx, int64_t, max);
    *floats = gpuc_new_array(ctx, double, max);
    while (p < stop) {
        char c = *p, *end, *other;
        if (length && (c == ',' || c == ']' || c == ')')) {
            if (c == ',' && !value) return -1;
            value = c != ',';
            p++;
        } else if (c == ' ' || (length && (c == '[' || c == '('))) {
            p++;
        } else {
            (*floats)[n] = strtod(p, &end);
            if (value || end == p) return -1;
            if (!read_int(p, &other, &(*ints)[n]) || other != end) (*ints)[n] = INT64_MIN; /* no integer */
            n++;
            value = true;
            p = end;
        }
    }
    return *text && !stop[strspn(stop, " ")] ? n : -1;
}

static bool read_bool(const char *text, int64_t *out)
{
    *out = !strcmp(text, "True") || !strcmp(text, "true");
    return *out || !strcmp(text, "False") || !strcmp(text, "false");
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
        if (!read_bool(value, &i) && (!read_int(value, &end, &i) || *end))
            bad_value(ctx, op, spec->name, value, "an integer");
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
        if (n > 1 && *value == '"' && value[n - 1] == '"')
            value = gpuc_ctx_printf(ctx, "%.*s", (int)(n - 2), value + 1);
        if (!*value || !strcmp(value, "none"))
            t = (gpuc_dtype){0};
        else if (!gpuc_dtype_parse(value, &t))
            bad_value(ctx, op, spec->name, value, "an element type");
        return gpuc_attrs_dtype(ctx, attrs, spec->name, t);
    case GPUC_ATTR_INTS:
        count = read_list(ctx, value, &ints, &floats);
        for (int k = 0; k < count; k++)
            if (ints[k] == INT64_MIN) count = -1;
        if (count < 0) bad_value(ctx, op, spec->name, value, "integers, as in [1, 2]");
        if (spec->take && count == 1 && list_length(value) == 0)
            return gpuc_attrs_int(ctx, attrs, spec->name, ints[0]);
        return gpuc_attrs_ints(ctx, attrs, spec->name, count, ints);
    case GPUC_ATTR_FLOATS:
        count = read_list(ctx, value, &ints, &floats);
        if (count < 0) bad_value(ctx, op, spec->name, value, "numbers, as in [0.5, 2]");
        return gpuc_attrs_floats(ctx, attrs, spec->name, count, floats);
    case GPUC_ATTR_KIND_COUNT: break;
    }
    return attrs;
}

/* Length of a value: a list, a quoted string, or a word. */
static size_t value_length(const char *p)
{
    if (*p == '[' || *p == '(') return list_length(p) ? list_length(p) : strlen(p);
    if (*p == '"') {
        const char *end = strchr(p + 1, '"');
        return end ? (size_t)(end - p) + 1 : strlen(p);
    }
    return strcspn(p, ", ");
}

/* One of them, "name=value"; what follows it, or NULL. */
static const char *next_attr(gpuc_ctx *ctx, const char *op, const char *p, const char **name,
                             const char **value)
{
    if (!*(p += strspn(p, ", "))) return NULL;
    size_t n = strcspn(p, "=, ");
    if (p[n] != '=')
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: '%s' is no attribute: write name=value", op, p);
    *name = gpuc_ctx_printf(ctx, "%.*s", (int)n, p);
    p += n + 1;
    n = value_length(p);
    *value = gpuc_ctx_printf(ctx, "%.*s", (int)n, p);
    return p + n;
}

const gpuc_attrs *gpuc_op_parse_row_attrs(gpuc_ctx *ctx, const gpuc_op *op, const char *text)
{
    return gpuc_op_parse_attrs(ctx, &(gpuc_op_name){.op = op}, text);
}

/* The row whose attributes calls by an alias have, for any row that it chooses. */
static const gpuc_op *row_for(gpuc_ctx *ctx, const gpuc_op_alias *a, const char *text)
{
    const gpuc_op choice = {.name = a->names};
    const char *name, *value, *given = NULL;
    while ((text = next_attr(ctx, a->names, text, &name, &value)))
        if (!strcmp(name, a->by)) given = value;
    gpuc_attr_spec by = {.name = a->by, .kind = GPUC_ATTR_STRING};
    const gpuc_attrs *attrs = given ? gpuc_op_parse_attr(ctx, &choice, NULL, &by, given) : NULL;
    return gpuc_op_choose(ctx, a, gpuc_attrs_find(attrs, a->by), 2);
}

const gpuc_attrs *gpuc_op_parse_attrs(gpuc_ctx *ctx, const gpuc_op_name *what, const char *text)
{
    const gpuc_op *op = what->op ? what->op : row_for(ctx, what->alias, text);
    const char *by = what->alias ? what->alias->by : NULL, *name, *value;
    const gpuc_attr_spec choice = {.name = by, .kind = GPUC_ATTR_STRING};
    const gpuc_attrs *attrs = NULL;
    while ((text = next_attr(ctx, op->name, text, &name, &value))) {
        const gpuc_attr_spec *spec = by && !strcmp(by, name) ? &choice : gpuc_op_need_spec(ctx, op, name);
        if (gpuc_attrs_find(attrs, name))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: attribute '%s' is given twice", op->name, name);
        if (strcmp(value, "None")) attrs = gpuc_op_parse_attr(ctx, op, attrs, spec, value);
    }
    return attrs;
}
