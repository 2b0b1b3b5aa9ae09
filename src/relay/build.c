/* SPDX-License-Identifier: Apache-2.0 */
/* Builds what expressions are put together from: patterns, data types, functions of modules, attributes in text. */
#include <string.h>

#include "relay/infer.h"
#include "relay/lexer.h"
#include "relay/parse.h"

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
