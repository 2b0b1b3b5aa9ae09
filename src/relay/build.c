/* SPDX-License-Identifier: Apache-2.0 */
/* Builds what expressions are put together from: patterns, data types, functions of modules, attributes in text; and
 * binds parameters to constants. */
#include <string.h>

#include "relay/infer.h"
#include "relay/lexer.h"
#include "relay/parse.h"
#include "tir/intern.h"

/* ---- Patterns ---- */

static gpuc_rpattern *make_pattern(gpuc_ctx *ctx, const char *doing, int n, const gpuc_rpattern *const *at)
{
    gpuc_relay_need_list(ctx, doing, "pattern", n, at);
    gpuc_rpattern *p = gpuc_new(ctx, gpuc_rpattern),
                  *inside = n ? gpuc_new_array(ctx, gpuc_rpattern, n) : NULL;
    p->size = 1;
    for (int i = 0; i < n; i++) {
        inside[i] = *at[i];
        if (at[i]->depth >= p->depth) p->depth = at[i]->depth + 1;
        p->size += at[i]->size; /* one that is used twice counts twice, as it is walked */
        if (p->size > GPUC_RELAY_TYPE_SIZE)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: it has more than %d parts", doing,
                       GPUC_RELAY_TYPE_SIZE);
    }
    if (p->depth > GPUC_RELAY_TEXT_DEPTH)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: it has more than %d levels", doing,
                   GPUC_RELAY_TEXT_DEPTH);
    p->n = n;
    p->at = inside;
    return p;
}

const gpuc_rpattern *gpuc_relay_pattern_any(gpuc_ctx *ctx)
{
    return make_pattern(ctx, "a pattern", 0, NULL);
}

const gpuc_rpattern *gpuc_relay_pattern_var(gpuc_ctx *ctx, gpuc_rexpr *var)
{
    gpuc_relay_need_var(ctx, "a pattern", var);
    gpuc_rpattern *p = make_pattern(ctx, "a pattern", 0, NULL);
    p->var = var;
    return p;
}

const gpuc_rpattern *gpuc_relay_pattern_constructor(gpuc_ctx *ctx, const gpuc_constructor *c, int n,
                                                    const gpuc_rpattern *const *fields)
{
    gpuc_relay_need(ctx, "a pattern", "constructor", c);
    if (n != c->n)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a pattern: %s has %d fields, not %d", c->name, c->n, n);
    gpuc_rpattern *p = make_pattern(ctx, gpuc_ctx_printf(ctx, "a pattern of %s", c->name), n, fields);
    p->constructor = c;
    return p;
}

const gpuc_rpattern *gpuc_relay_pattern_tuple(gpuc_ctx *ctx, int n, const gpuc_rpattern *const *fields)
{
    gpuc_rpattern *p = make_pattern(ctx, "a pattern of a tuple", n, fields);
    p->tuple = true;
    return p;
}

/* ---- Data types ---- */

gpuc_adt *gpuc_relay_adt(gpuc_ctx *ctx, const char *name, int num_params, const gpuc_rtype *const *params)
{
    gpuc_relay_need_name(ctx, "a data type", name);
    gpuc_relay_need_type_params(ctx, name, num_params, params);
    gpuc_adt *adt = gpuc_new(ctx, gpuc_adt);
    adt->name = gpuc_ctx_strdup(ctx, name);
    adt->num_params = num_params;
    adt->params = num_params ? gpuc_ctx_memdup(ctx, params, sizeof *params * (size_t)num_params) : NULL;
    return adt;
}

/* A type parameter inside of a field that is not one of the data type's. */
static const gpuc_rtype *foreign_param(const gpuc_adt *adt, const gpuc_rtype *t)
{
    const gpuc_rtype *foreign = NULL;
    if (!t || !t->varies || t->num_params) return NULL;
    for (int i = 0; t->kind == GPUC_RTYPE_VAR && i < adt->num_params; i++)
        if (adt->params[i] == t) return NULL;
    if (t->kind == GPUC_RTYPE_VAR) return t;
    for (int i = 0; i < t->n && !foreign; i++) foreign = foreign_param(adt, t->at[i]);
    return foreign ? foreign : foreign_param(adt, t->ret);
}

static void check_constructor(gpuc_rmodule *m, const gpuc_adt *adt, const gpuc_relay_constructor_desc *d)
{
    gpuc_ctx *ctx = m->ctx;
    gpuc_relay_need_name(ctx, gpuc_ctx_printf(ctx, "a constructor of %s", adt->name), d->name);
    gpuc_relay_need_free_name(ctx, "the constructor", d->name);
    gpuc_op_name op = gpuc_op_lookup_name(ctx, d->name);
    if (op.op || op.alias)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the constructor '%s': the name is an operator's", d->name);
    gpuc_relay_need_list(ctx, d->name, "field type", d->n, d->fields);
    for (int k = 0; k < d->n; k++) {
        const gpuc_rtype *foreign = foreign_param(adt, d->fields[k]);
        if (d->fields[k]->open)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "field %d of %s: the type is not known, only %s", k,
                       d->name, gpuc_relay_rtype_text(ctx, d->fields[k]));
        if (foreign)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "field %d of %s: %s is no type parameter of %s", k,
                       d->name, foreign->name, adt->name);
    }
}

void gpuc_rmodule_define_adt(gpuc_rmodule *m, gpuc_adt *adt, int n,
                             const gpuc_relay_constructor_desc *constructors)
{
    gpuc_ctx *ctx = m->ctx;
    gpuc_strmap names;
    gpuc_strmap_init(&names, ctx);
    gpuc_relay_need(ctx, "defining a data type", "type", adt);
    gpuc_relay_need_free_name(ctx, "the data type", adt->name);
    if (adt->is_defined)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the data type '%s' is defined already", adt->name);
    if (n < 0 || (n && !constructors))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the data type '%s': %d constructors%s", adt->name, n,
                   n < 0 ? "" : " in a list that is NULL");
    gpuc_constructor *all = gpuc_new_array(ctx, gpuc_constructor, n + 1);
    for (int i = 0; i < n; i++) {
        const gpuc_relay_constructor_desc *d = &constructors[i];
        check_constructor(m, adt, d);
        if (gpuc_strmap_has(&names, d->name))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s has two constructors '%s'", adt->name, d->name);
        gpuc_strmap_set(&names, d->name, adt);
        all[i] = (gpuc_constructor){.name = gpuc_ctx_strdup(ctx, d->name), .tag = i, .n = d->n, .adt = adt};
        if (d->n) all[i].fields = gpuc_ctx_memdup(ctx, d->fields, sizeof *d->fields * (size_t)d->n);
    }
    adt->constructors = all;
    adt->n = n;
    gpuc_rmodule_add_adt(m, adt);
}

/* Raises NOT_FOUND with the nearest name. */
static GPUC_NORETURN void unknown(const gpuc_rmodule *m, const char *what, const char *name,
                                  const gpuc_strmap *among)
{
    const gpuc_map *all = &among->map;
    const char **names = gpuc_new_array(m->ctx, const char *, all->count + 1);
    for (uint32_t i = 0; i < all->count; i++) names[i] = all->entries[i].key;
    const char *near = gpuc_suggest(name, names, all->count);
    gpuc_raise(m->ctx, GPUC_NOT_FOUND, "the module has no %s '%s'%s%s%s", what, name,
               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

const gpuc_adt *gpuc_rmodule_get_adt(const gpuc_rmodule *m, const char *name)
{
    gpuc_relay_need(m->ctx, "a data type of a module", "name", name);
    const gpuc_adt *adt = gpuc_strmap_get(&m->adts, name);
    if (!adt) unknown(m, "data type", name, &m->adts);
    return adt;
}

const gpuc_constructor *gpuc_rmodule_get_constructor(const gpuc_rmodule *m, const char *name)
{
    gpuc_relay_need(m->ctx, "a constructor of a module", "name", name);
    const gpuc_constructor *c = gpuc_strmap_get(&m->constructors, name);
    if (!c) unknown(m, "constructor", name, &m->constructors);
    return c;
}

/* ---- Functions of modules ---- */

static void check_function(gpuc_ctx *ctx, const char *name, const gpuc_rexpr *function)
{
    gpuc_relay_need_name(ctx, "a function of a module", name);
    gpuc_relay_need(ctx, gpuc_ctx_printf(ctx, "@%s", name), "function", function);
    if (function->kind != GPUC_REXPR_FUNCTION)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "@%s: a function is expected, not %s", name,
                   gpuc_relay_describe(ctx, function));
}

void gpuc_rmodule_add_function(gpuc_rmodule *m, const char *name, gpuc_rexpr *function)
{
    check_function(m->ctx, name, function);
    if (gpuc_strmap_has(&m->functions, name))
        gpuc_raise(m->ctx, GPUC_INVALID_ARGUMENT, "the module has a function '@%s' already", name);
    gpuc_strmap_set(&m->functions, name, function);
}

void gpuc_rmodule_replace_function(gpuc_rmodule *m, const char *name, gpuc_rexpr *function)
{
    check_function(m->ctx, name, function);
    gpuc_rmodule_get(m, name);
    gpuc_strmap_set(&m->functions, name, function);
}

/* ---- Attributes ---- */

static void parse_attrs(gpuc_ctx *ctx, void *arg)
{
    gpuc_relay_parser *p = arg;
    (void)ctx;
    gpuc_relay_parse_advance(p);
    const gpuc_attrs *attrs = gpuc_relay_parse_attrs(p);
    gpuc_relay_token end = p->token;
    gpuc_relay_parse_expect(p, ")");
    if (p->token.kind != GPUC_RELAY_TOKEN_END || *gpuc_relay_parse_copy(p, &end, 1))
        gpuc_relay_parse_fail(p, &end, "a name is expected, not ')'");
    if (p->symbols.map.count)
        gpuc_relay_parse_fail(p, &end, "'%s' is a name: sizes with names are given by gpuc_attrs_sizes",
                              (const char *)p->symbols.map.entries[0].key);
    p->attrs = attrs;
}

const gpuc_attrs *gpuc_relay_attrs(gpuc_ctx *ctx, const char *text)
{
    gpuc_relay_need(ctx, "attributes", "text", text);
    gpuc_relay_origin *t = gpuc_new(ctx, gpuc_relay_origin);
    *t = (gpuc_relay_origin){"attributes", gpuc_ctx_printf(ctx, "%s)", text)};
    gpuc_relay_parser p = {.ctx = ctx, .text = t, .lexer = {t->text, t->text, 1}};
    gpuc_strmap_init(&p.symbols, ctx);
    gpuc_status status = gpuc_ctx_protect(ctx, parse_attrs, &p);
    if (!status) return p.attrs;
    if (p.located && gpuc_status_code(status) == GPUC_INVALID_DATA) {
        const char *message = gpuc_ctx_strdup(ctx, gpuc_status_message(status));
        gpuc_status_release(status);
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s", message);
    }
    gpuc_ctx_raise_status(ctx, status);
}

/* ---- Parameters ---- */

typedef struct binding {
    gpuc_map by;    /* parameter -> constant */
    gpuc_map sizes; /* symbol of a type -> the constant's extent in its place */
} binding;

/* A size with the numbers that are known. */
static gpuc_expr bound_size(gpuc_ctx *ctx, gpuc_expr size, void *sizes)
{
    return size ? gpuc_tir_substitute_map(ctx, size, sizes) : NULL;
}

static const gpuc_rtype *bound_type(gpuc_ctx *ctx, binding *b, const gpuc_rtype *t)
{
    return t ? gpuc_relay_rtype_map_sizes(ctx, t, bound_size, &b->sizes) : NULL;
}

static gpuc_rexpr *bound_var(gpuc_ctx *ctx, binding *b, gpuc_rexpr *e)
{
    const gpuc_rvar *v = gpuc_as_rvar(e);
    const gpuc_rtype *t = bound_type(ctx, b, v->annotation);
    return t == v->annotation ? e : gpuc_relay_var(ctx, v->name, t);
}

static gpuc_rexpr *function_of(gpuc_ctx *ctx, binding *b, const gpuc_rfunction *f, int n,
                               gpuc_rexpr *const *params, gpuc_rexpr *body)
{
    if (!f->num_type_params && !f->ret) return gpuc_relay_function(ctx, n, params, body, f->attrs);
    return gpuc_relay_generic_function(ctx, f->num_type_params, f->type_params, n, params,
                                       bound_type(ctx, b, f->ret), body, f->attrs);
}

static gpuc_rexpr *bind(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    binding *b = arg;
    gpuc_rexpr *by = gpuc_map_get(&b->by, old);
    if (by) return by;
    if (e->kind == GPUC_REXPR_VAR) return bound_var(ctx, b, e);
    if (e->kind == GPUC_REXPR_FUNCTION && gpuc_as_rfunction(e)->ret) {
        const gpuc_rfunction *f = gpuc_as_rfunction(e);
        if (bound_type(ctx, b, f->ret) != f->ret) return function_of(ctx, b, f, f->n, f->params, f->body);
    }
    if (e->kind != GPUC_REXPR_CALL) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const gpuc_attrs *attrs = gpuc_op_attrs_substitute(ctx, c->attrs, &b->sizes);
    return attrs == c->attrs ? e : gpuc_relay_call(ctx, c->callee, attrs, c->n, c->args);
}

static gpuc_rexpr *find_param(gpuc_ctx *ctx, const gpuc_rfunction *f, const char *name)
{
    gpuc_rexpr *found = NULL;
    const char **names = gpuc_new_array(ctx, const char *, f->n + 1);
    for (int i = 0; i < f->n; i++) {
        names[i] = gpuc_as_rvar(f->params[i])->name;
        if (strcmp(names[i], name)) continue;
        if (found) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "two parameters of the function are '%s'", name);
        found = f->params[i];
    }
    const char *near = found ? NULL : gpuc_suggest(name, names, (size_t)f->n);
    if (!found)
        gpuc_raise(ctx, GPUC_NOT_FOUND, "the function has no parameter '%s'%s%s%s", name,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return found;
}

static void check_constant(gpuc_ctx *ctx, const char *name, const gpuc_rtype *t, const gpuc_rexpr *c)
{
    if (c->kind != GPUC_REXPR_CONSTANT)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "parameter '%s': a constant is expected, not %s", name,
                   gpuc_relay_describe(ctx, c));
    if (!t || gpuc_relay_fits(ctx, t, c->type)) return;
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "parameter '%s' is %s, the constant %s", name,
               gpuc_relay_rtype_text(ctx, t), gpuc_relay_rtype_text(ctx, c->type));
}

/* A size with a name is one number in all constants that are bound. */
static void bind_sizes(gpuc_ctx *ctx, binding *b, const char *name, const gpuc_rexpr *param,
                       const gpuc_rexpr *c)
{
    if (!param->type || param->type->kind != GPUC_RTYPE_TENSOR) return;
    for (int i = 0; i < param->type->tensor.ndim; i++) {
        gpuc_expr size = param->type->tensor.dims[i], extent = c->type->tensor.dims[i];
        if (!size || size->kind != GPUC_EXPR_VAR || gpuc_relay_is_any_dim(size)) continue;
        gpuc_expr before = gpuc_map_get(&b->sizes, size);
        if (before && before != extent)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                       "parameter '%s': '%s' is %s in its constant, and %s in that of what stands before it",
                       name, gpuc_as_var(size)->name, gpuc_tir_short_text(ctx, extent),
                       gpuc_tir_short_text(ctx, before));
        gpuc_map_set(&b->sizes, size, (void *)extent);
    }
}

gpuc_rexpr *gpuc_relay_bind_params(gpuc_ctx *ctx, gpuc_rexpr *function, int n, const char *const *names,
                                   gpuc_rexpr *const *constants)
{
    binding b;
    gpuc_ptrs left = {0};
    gpuc_map_init(&b.by, ctx);
    gpuc_map_init(&b.sizes, ctx);
    gpuc_relay_need(ctx, "binding parameters", "function", function);
    if (function->kind != GPUC_REXPR_FUNCTION)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "binding parameters: a function is expected, not %s",
                   gpuc_relay_describe(ctx, function));
    gpuc_relay_need_list(ctx, "binding parameters", "name", n, names);
    gpuc_relay_need_list(ctx, "binding parameters", "constant", n, constants);
    const gpuc_rfunction *f = gpuc_as_rfunction(function);
    for (int i = 0; i < n; i++) {
        gpuc_rexpr *param = find_param(ctx, f, names[i]);
        check_constant(ctx, names[i], param->type, constants[i]);
        if (gpuc_map_has(&b.by, param))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "parameter '%s' is bound twice", names[i]);
        bind_sizes(ctx, &b, names[i], param, constants[i]);
        gpuc_map_set(&b.by, param, constants[i]);
    }
    for (int i = 0; i < n; i++) /* extents that are computed of named sizes */
        check_constant(ctx, names[i], bound_type(ctx, &b, find_param(ctx, f, names[i])->type), constants[i]);
    for (int i = 0; i < f->n; i++) {
        if (gpuc_map_has(&b.by, f->params[i])) continue;
        gpuc_rexpr *param = bound_var(ctx, &b, f->params[i]);
        gpuc_map_set(&b.by, f->params[i], param);
        gpuc_ptrs_push(ctx, &left, param);
    }
    gpuc_rexpr *body = gpuc_relay_mutate(ctx, f->body, bind, &b);
    return function_of(ctx, &b, f, (int)left.count, (gpuc_rexpr *const *)left.at, body);
}
