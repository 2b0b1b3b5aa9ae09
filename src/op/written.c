/* SPDX-License-Identifier: Apache-2.0 */
/* A call as it is written becomes a call of a row: its name may be an alias, and its attributes may be spelled as other
 * systems do. What a row does not compute is refused here, by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "op/op.h"
#include "op/table.h"

static const char *const kind_names[GPUC_ATTR_KIND_COUNT] = {
    [GPUC_ATTR_INT] = "an integer", [GPUC_ATTR_FLOAT] = "a float", [GPUC_ATTR_STRING] = "a string",
    [GPUC_ATTR_INTS] = "integers",  [GPUC_ATTR_FLOATS] = "floats", [GPUC_ATTR_DTYPE] = "an element type",
};

static const gpuc_attr_spec none[] = {{0}};

static const gpuc_attr_spec *specs_of(const gpuc_op *op)
{
    return op->attrs ? op->attrs : none;
}

static const gpuc_attr_spec *own_spec(const gpuc_op *op, const char *name)
{
    const gpuc_attr_spec *spec = specs_of(op);
    while (spec->name && (spec->take || strcmp(spec->name, name))) spec++;
    return spec->name ? spec : NULL;
}

/* A spelling comes before the attribute of the same name. */
const gpuc_attr_spec *gpuc_op_find_spec(const gpuc_op *op, const char *name)
{
    const gpuc_attr_spec *found = NULL;
    for (const gpuc_attr_spec *spec = specs_of(op); spec->name; spec++) {
        if (strcmp(spec->name, name)) continue;
        if (spec->take) return spec;
        found = spec;
    }
    return found;
}

static void unknown_attribute(gpuc_ctx *ctx, const gpuc_op *op, const char *name)
{
    const char *names[64];
    size_t n = 0;
    for (const gpuc_attr_spec *s = specs_of(op); s->name && n < 64; s++) names[n++] = s->name;
    const char *near = gpuc_suggest(name, names, n);
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: has no attribute '%s'%s%s%s", op->name, name,
               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

const gpuc_attr_spec *gpuc_op_need_spec(gpuc_ctx *ctx, const gpuc_op *op, const char *name)
{
    const gpuc_attr_spec *spec = gpuc_op_find_spec(op, name);
    if (!spec) unknown_attribute(ctx, op, name);
    return spec;
}

/* ---- Values of the row's attributes ---- */

static const gpuc_attrs *add_default(gpuc_ctx *ctx, const gpuc_op *op, const gpuc_attrs *attrs,
                                     const gpuc_attr_spec *spec)
{
    switch (spec->kind) {
    case GPUC_ATTR_INT: return gpuc_attrs_int(ctx, attrs, spec->name, spec->i);
    case GPUC_ATTR_FLOAT: return gpuc_attrs_float(ctx, attrs, spec->name, spec->f);
    case GPUC_ATTR_STRING: return gpuc_attrs_string(ctx, attrs, spec->name, spec->s ? spec->s : "");
    case GPUC_ATTR_INTS: return gpuc_attrs_ints(ctx, attrs, spec->name, 0, NULL);
    case GPUC_ATTR_FLOATS: return gpuc_op_parse_attr(ctx, op, attrs, spec, spec->s ? spec->s : "[]");
    case GPUC_ATTR_DTYPE: return gpuc_attrs_dtype(ctx, attrs, spec->name, spec->dtype);
    case GPUC_ATTR_KIND_COUNT: break;
    }
    return attrs;
}

static void check_size(gpuc_ctx *ctx, const gpuc_op *op, const gpuc_attr_spec *spec, int64_t v)
{
    if (spec->max && (v > spec->max || v < -spec->max))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: %s has %lld, beyond %lld", op->name, spec->name,
                   (long long)v, (long long)spec->max);
}

static void check_dtype(gpuc_ctx *ctx, const gpuc_op *op, const gpuc_attr_spec *spec, gpuc_dtype t)
{
    char name[24];
    if (!t.bits && !spec->required) return;
    if (!gpuc_dtype_exists(t) || t.lanes != 1 || t.code == GPUC_DTYPE_HANDLE)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: attribute '%s' is %s, must be an element type", op->name,
                   spec->name, t.bits ? gpuc_dtype_name(t, name) : "no type");
}

static void wrong_kind(gpuc_ctx *ctx, const char *op, const gpuc_attr_spec *spec, const gpuc_attr *a)
{
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: attribute '%s' must be %s, not %s", op, a->name,
               kind_names[spec->kind], kind_names[a->kind]);
}

/* attrs with the value under the name of spec, in its kind: a number does for a list of one and an integer for a
 * float. */
static const gpuc_attrs *set_own(gpuc_ctx *ctx, const gpuc_op *op, const gpuc_attrs *attrs,
                                 const gpuc_attr_spec *spec, const gpuc_attr *a)
{
    bool is_int = a->kind == GPUC_ATTR_INT, there = gpuc_attrs_find(attrs, spec->name) == a;
    if (spec->kind == GPUC_ATTR_INTS && is_int) {
        attrs = gpuc_attrs_ints(ctx, attrs, spec->name, 1, &a->i);
    } else if (spec->kind == GPUC_ATTR_FLOAT && is_int) {
        attrs = gpuc_attrs_float(ctx, attrs, spec->name, (double)a->i);
    } else if (spec->kind == GPUC_ATTR_FLOATS && (is_int || a->kind == GPUC_ATTR_FLOAT)) {
        double f = is_int ? (double)a->i : a->f;
        attrs = gpuc_attrs_floats(ctx, attrs, spec->name, 1, &f);
    } else if (spec->kind == GPUC_ATTR_FLOATS && a->kind == GPUC_ATTR_INTS && !a->sizes) {
        double *floats = gpuc_new_array(ctx, double, a->n + 1);
        for (int i = 0; i < a->n; i++) floats[i] = (double)a->ints[i];
        attrs = gpuc_attrs_floats(ctx, attrs, spec->name, a->n, floats);
    } else if (spec->kind != a->kind) {
        wrong_kind(ctx, op->name, spec, a);
    } else if (a->sizes && !spec->symbolic) {
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s: %s must be known when building; fix the shapes of the inputs",
                   op->name, a->name);
    } else if (spec->kind == GPUC_ATTR_STRING && gpuc_names_now(spec->name, a->s) != a->s) {
        attrs = gpuc_attrs_string(ctx, attrs, spec->name, gpuc_names_now(spec->name, a->s));
    } else if (!there) {
        attrs = gpuc_op_attrs_put(ctx, attrs, spec->name, a);
    }
    const gpuc_attr *now = gpuc_attrs_find(attrs, spec->name);
    if (spec->kind == GPUC_ATTR_INT) check_size(ctx, op, spec, now->i);
    if (spec->kind == GPUC_ATTR_DTYPE) check_dtype(ctx, op, spec, now->dtype);
    for (int k = 0; k < now->n && spec->kind == GPUC_ATTR_INTS; k++)
        if (!now->sizes || now->ints[k] != GPUC_ATTR_UNKNOWN) check_size(ctx, op, spec, now->ints[k]);
    return attrs;
}

void gpuc_op_set_attr(gpuc_op_written *w, const char *name, const gpuc_attr *value)
{
    const gpuc_attr_spec *spec = own_spec(w->op, name);
    if (!spec) unknown_attribute(w->ctx, w->op, name);
    w->attrs = set_own(w->ctx, w->op, w->attrs, spec, value);
}

/* ---- Lists that have an entry for each dimension ---- */

static const gpuc_attrs *fill_each(const gpuc_op_written *w, const gpuc_attrs *attrs,
                                   const gpuc_attr_spec *spec)
{
    if (!w->in || w->num_in < 1 || w->inputs[0].from != 0) return attrs;
    const gpuc_attr *have = gpuc_attrs_find(attrs, spec->name);
    int n = have ? have->n : 0, ndim = w->in[0].ndim, rank = spec->each == GPUC_EACH_AXIS ? ndim : ndim - 2;
    bool sides = spec->each == GPUC_EACH_SIDE;
    int want = sides ? 2 * rank : rank;
    if (rank < 0 || n == want || !(n <= 1 || (sides && n == rank)))
        return attrs; /* the row says what is wrong */
    gpuc_expr *entries = gpuc_new_array(w->ctx, gpuc_expr, want + 1);
    for (int i = 0; i < want; i++)
        entries[i] = n == 0   ? gpuc_int(w->ctx, spec->i)
                     : n == 1 ? gpuc_attr_size(w->ctx, have, 0)
                              : gpuc_attr_size(w->ctx, have, i % rank);
    return gpuc_attrs_sizes(w->ctx, attrs, spec->name, want, entries);
}

/* ---- Take functions that all rows share ---- */

/* One attribute of the row in two spellings is one too many. */
static void check_once(gpuc_op_written *w, const gpuc_attr_spec *spec, const char *own)
{
    if (strcmp(spec->name, own) && gpuc_attrs_find(w->given, own))
        gpuc_op_written_fail(w, "has both '%s' and '%s', which are the same", spec->name, own);
}

void gpuc_op_take_same(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    check_once(w, spec, spec->to);
    gpuc_op_set_attr(w, spec->to, value);
}

static const char *text_of(gpuc_ctx *ctx, const gpuc_attr *a)
{
    if (a->kind == GPUC_ATTR_STRING) return a->s;
    if (a->kind == GPUC_ATTR_INT) return gpuc_topi_printf(ctx, "%lld", (long long)a->i);
    gpuc_buf out;
    gpuc_buf_init(&out, ctx->allocator);
    gpuc_op_attrs_print(ctx, &out, &(gpuc_attrs){1, a}, false);
    const char *text = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&out) + strlen(a->name) + 1);
    gpuc_buf_deinit(&out);
    return text;
}

/* A value from text, in the kind of an attribute of the row. */
static void set_text(gpuc_op_written *w, const char *name, const char *text)
{
    const gpuc_attr_spec *spec = own_spec(w->op, name);
    GPUC_CHECK(spec);
    w->attrs = gpuc_op_parse_attr(w->ctx, w->op, w->attrs, spec, text);
}

void gpuc_op_take_value(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    char attr[GPUC_OP_NAME], pair[GPUC_OP_NAME];
    const char *list = strchr(spec->to, '|'), *have = text_of(w->ctx, value), *known = "";
    snprintf(attr, sizeof attr, "%.*s", (int)(list - spec->to), spec->to);
    check_once(w, spec, attr);
    for (list++; (list = gpuc_op_next_name(list, pair));) {
        char *now = strchr(pair, '=');
        *now++ = 0;
        if (!strcmp(pair, have)) {
            set_text(w, attr, now);
            return;
        }
        known = gpuc_ctx_printf(w->ctx, "%s%s%s", known, *known ? ", " : "", *pair ? pair : "\"\"");
    }
    if (strcmp(spec->name, attr))
        gpuc_op_written_fail(w, "%s is '%s'; known are %s", spec->name, have, known);
    gpuc_op_set_attr(w, attr, value);
}

void gpuc_op_take_only(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    char one[GPUC_OP_NAME];
    const char *have = text_of(w->ctx, value);
    if (!*have) return; /* whatever the row computes */
    for (const char *list = spec->to; (list = gpuc_op_next_name(list, one));)
        if (!strcmp(one, have)) return;
    gpuc_op_written_fail(w, "%s is '%s'; what is computed is %s", spec->name, have, spec->to);
}

/* ---- The call ---- */

const gpuc_op *gpuc_op_choose(gpuc_ctx *ctx, const gpuc_op_alias *a, const gpuc_attr *by, int rank)
{
    char row[2 * GPUC_OP_NAME], one[GPUC_OP_NAME], name[GPUC_OP_NAME];
    bool known = !a->by;
    gpuc_op_next_name(a->names, name);
    if (a->by && !by)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: attribute '%s' is missing; it is one of %s", name, a->by,
                   a->values);
    for (const char *list = a->values; by && (list = gpuc_op_next_name(list, one));)
        known |= by->kind == GPUC_ATTR_STRING && !strcmp(one, by->s);
    if (!known)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: %s is '%s', must be one of %s", name, a->by,
                   text_of(ctx, by), a->values);
    if (strstr(a->row, "%d") && (rank < 1 || rank > 3))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: takes data of 3 to 5 dimensions, not %d", name, rank + 2);
    gpuc_op_row_name(a, by ? by->s : "", rank, row);
    const gpuc_op *op = gpuc_op_find(row);
    GPUC_CHECK(op);
    return op;
}

static void permute_inputs(gpuc_op_written *w, const char *inputs)
{
    int n = (int)strlen(inputs);
    if (w->num_in < n) return; /* the row says how many it takes */
    for (int i = 0; i < n; i++) w->inputs[i].from = inputs[i] - '0';
    w->changed = true;
}

/* Whether the call has the attribute, or the row's that it is another spelling of. */
static bool is_given(const gpuc_op_written *w, const char *name)
{
    char own[GPUC_OP_NAME] = "";
    const gpuc_attr_spec *spec = gpuc_op_find_spec(w->op, name);
    if (spec && spec->take && spec->to)
        snprintf(own, sizeof own, "%.*s", (int)strcspn(spec->to, "|"), spec->to);
    return gpuc_attrs_find(w->given, name) || (*own && gpuc_attrs_find(w->given, own));
}

/* Attributes that the alias has and the call does not. */
static const gpuc_attrs *with_defaults(gpuc_op_written *w, const gpuc_op_alias *a)
{
    const gpuc_attrs *given = w->given,
                     *defaults = a->defaults ? gpuc_op_parse_row_attrs(w->ctx, w->op, a->defaults) : NULL;
    for (int i = 0; defaults && i < defaults->count; i++)
        if (!is_given(w, defaults->at[i].name))
            given = gpuc_op_attrs_put(w->ctx, given, defaults->at[i].name, &defaults->at[i]);
    return given;
}

static void unknown_operator(gpuc_ctx *ctx, const char *name)
{
    const char *near = gpuc_op_nearest(ctx, name);
    gpuc_raise(ctx, GPUC_UNSUPPORTED, "unknown operator '%s'%s%s%s", name, near ? "; did you mean '" : "",
               near ? near : "", near ? "'?" : "");
}

const gpuc_op *gpuc_op_get(gpuc_ctx *ctx, const char *name)
{
    gpuc_op_name what = gpuc_op_lookup_name(ctx, name);
    char first[GPUC_OP_NAME];
    if (what.op) return what.op;
    if (!what.alias) unknown_operator(ctx, name);
    gpuc_op_next_name(what.alias->values, first);
    return gpuc_op_choose(ctx, what.alias, &(gpuc_attr){.kind = GPUC_ATTR_STRING, .s = first}, 2);
}

static void find_row(gpuc_op_written *w)
{
    gpuc_op_name what = w->op ? (gpuc_op_name){.op = w->op} : gpuc_op_lookup_name(w->ctx, w->name);
    w->op = what.op;
    if (what.alias) {
        const gpuc_attr *by = what.alias->by ? gpuc_attrs_find(w->given, what.alias->by) : NULL;
        int rank = w->in && w->num_in ? w->in[0].ndim - 2 : 2;
        if (!w->op) w->op = gpuc_op_choose(w->ctx, what.alias, by, rank);
        w->given = with_defaults(w, what.alias);
        if (what.alias->inputs) permute_inputs(w, what.alias->inputs);
    }
    if (!w->op) unknown_operator(w->ctx, w->name);
}

static bool is_choice(const gpuc_op_written *w, const char *attr)
{
    const gpuc_op_name *what = gpuc_op_named(w->ctx, w->name);
    return what && what->alias && what->alias->by && !strcmp(what->alias->by, attr);
}

/* Whether a value may stand for one of the kind: as for the row's own attributes. */
static bool may_be(gpuc_attr_kind kind, gpuc_attr_kind given)
{
    bool is_number = given == GPUC_ATTR_INT || given == GPUC_ATTR_FLOAT;
    if (kind == GPUC_ATTR_FLOATS) return is_number || given == GPUC_ATTR_INTS || given == kind;
    return given == kind || (given == GPUC_ATTR_INT && (kind == GPUC_ATTR_FLOAT || kind == GPUC_ATTR_INTS));
}

/* The row's attributes as they are given, then other spellings, which may look at those. */
static void take_given(gpuc_op_written *w)
{
    const gpuc_op *op = w->op;
    const gpuc_attrs *given = w->given;
    bool all_own = true;
    for (int i = 0; given && i < given->count; i++) {
        const gpuc_attr_spec *spec = gpuc_op_find_spec(op, given->at[i].name);
        if (!spec && !is_choice(w, given->at[i].name)) unknown_attribute(w->ctx, op, given->at[i].name);
        all_own &= spec && !spec->take;
    }
    w->attrs = all_own ? given : NULL;
    for (int i = 0; given && i < given->count; i++) {
        const gpuc_attr_spec *spec = gpuc_op_find_spec(op, given->at[i].name);
        if (spec && !spec->take) w->attrs = set_own(w->ctx, op, w->attrs, spec, &given->at[i]);
    }
    for (const gpuc_attr_spec *spec = specs_of(op); spec->name && op == w->op; spec++) {
        const gpuc_attr *a = spec->take ? gpuc_attrs_find(given, spec->name) : NULL;
        if (a && !may_be(spec->kind, a->kind)) wrong_kind(w->ctx, w->name, spec, a);
        if (spec->take && (a || spec->always)) spec->take(w, spec, a);
    }
}

void gpuc_op_complete(gpuc_op_written *w)
{
    w->attrs = NULL;
    w->bias = -1;
    w->num_written = w->num_in;
    for (int i = 0; i < GPUC_OP_WRITTEN_IN; i++) w->inputs[i] = (gpuc_op_input){.from = i};
    find_row(w);
    take_given(w);
    for (const gpuc_attr_spec *spec = specs_of(w->op); spec->name; spec++) {
        if (spec->take) continue;
        if (spec->each) w->attrs = fill_each(w, w->attrs, spec);
        if (gpuc_attrs_find(w->attrs, spec->name)) continue;
        if (spec->required)
            gpuc_raise(w->ctx, GPUC_INVALID_ARGUMENT, "%s: attribute '%s' is missing", w->name, spec->name);
        w->attrs = add_default(w->ctx, w->op, w->attrs, spec);
    }
}

const gpuc_attrs *gpuc_op_complete_attrs(gpuc_ctx *ctx, const gpuc_op *op, const gpuc_attrs *attrs)
{
    gpuc_op_written w = {.ctx = ctx, .op = op, .name = op->name, .given = attrs};
    gpuc_op_complete(&w);
    return w.attrs;
}
