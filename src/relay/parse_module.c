/* SPDX-License-Identifier: Apache-2.0 */
/* Parses modules: definitions of types and functions, and the section of constants. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "op/op.h"
#include "relay/infer.h"
#include "relay/parse.h"

/* ---- Tokens ---- */

gpuc_relay_span gpuc_relay_parse_span(const gpuc_relay_parser *p, const gpuc_relay_token *at)
{
    return (gpuc_relay_span){p->text, at->line, at->column};
}

void gpuc_relay_parse_fail(gpuc_relay_parser *p, const gpuc_relay_token *at, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    p->located = true;
    gpuc_raise(p->ctx, GPUC_INVALID_DATA, "%s",
               gpuc_relay_located(p->ctx, gpuc_relay_parse_span(p, at), text));
}

const char *gpuc_relay_parse_hint(gpuc_relay_parser *p, const char *name, const gpuc_strmap *among)
{
    gpuc_ptrs names = {0};
    for (uint32_t i = 0; i < among->map.count; i++)
        if (among->map.entries[i].value) gpuc_ptrs_push(p->ctx, &names, among->map.entries[i].key);
    const char *near = gpuc_suggest(name, (const char *const *)names.at, names.count);
    return near ? gpuc_ctx_printf(p->ctx, "; did you mean '%s'?", near) : "";
}

void gpuc_relay_parse_advance(gpuc_relay_parser *p)
{
    p->token = gpuc_relay_lexer_next(&p->lexer);
    if (p->token.kind == GPUC_RELAY_TOKEN_BAD) gpuc_relay_parse_fail(p, &p->token, "%s", p->token.wrong);
}

gpuc_relay_token gpuc_relay_parse_peek(const gpuc_relay_parser *p)
{
    gpuc_relay_lexer lexer = p->lexer;
    return gpuc_relay_lexer_next(&lexer);
}

bool gpuc_relay_parse_at(const gpuc_relay_parser *p, const char *text)
{
    return gpuc_relay_token_is(&p->token, text);
}

bool gpuc_relay_parse_accept(gpuc_relay_parser *p, const char *text)
{
    if (!gpuc_relay_parse_at(p, text)) return false;
    gpuc_relay_parse_advance(p);
    return true;
}

void gpuc_relay_parse_expect(gpuc_relay_parser *p, const char *text)
{
    const gpuc_relay_token *t = &p->token;
    if (gpuc_relay_parse_accept(p, text)) return;
    if (t->kind == GPUC_RELAY_TOKEN_END)
        gpuc_relay_parse_fail(p, t, "'%s' is expected, but the text ends", text);
    gpuc_relay_parse_fail(p, t, "'%s' is expected, not '%.*s'", text, t->length > 40 ? 40 : (int)t->length,
                          t->at);
}

char *gpuc_relay_parse_copy(gpuc_relay_parser *p, const gpuc_relay_token *t, size_t skip)
{
    char *text = gpuc_ctx_alloc(p->ctx, t->length - skip + 1);
    memcpy(text, t->at + skip, t->length - skip);
    return text;
}

char *gpuc_relay_parse_word(gpuc_relay_parser *p, const char *what)
{
    gpuc_relay_token t = p->token;
    if (t.kind != GPUC_RELAY_TOKEN_NAME)
        gpuc_relay_parse_fail(p, &t, "%s is expected, not '%.*s'", what, t.length > 40 ? 40 : (int)t.length,
                              t.at);
    gpuc_relay_parse_advance(p);
    return gpuc_relay_parse_copy(p, &t, 0);
}

char *gpuc_relay_parse_string(gpuc_relay_parser *p)
{
    gpuc_relay_token t = p->token;
    if (t.kind != GPUC_RELAY_TOKEN_STRING)
        gpuc_relay_parse_fail(p, &t, "a string in double quotes is expected");
    char *text = gpuc_relay_parse_copy(p, &t, 1), *out = text;
    for (const char *in = text; in < text + t.length - 2; in++) {
        bool escaped = *in == '\\';
        if (escaped) in++;
        *out++ = escaped && *in == 'n' ? '\n' : *in;
    }
    *out = 0;
    gpuc_relay_parse_advance(p);
    return text;
}

void gpuc_relay_parse_deeper(gpuc_relay_parser *p, int *depth, int max)
{
    if (++*depth > max)
        gpuc_relay_parse_fail(p, &p->token, "nested more than %d deep: name the inner part, as %%0 = ...;",
                              GPUC_RELAY_TEXT_DEPTH);
}

/* ---- Scopes ---- */

size_t gpuc_relay_parse_mark(const gpuc_relay_parser *p)
{
    return p->scope.count;
}

static void bind(gpuc_relay_parser *p, const char *name, gpuc_rexpr *var, const gpuc_rtype *type)
{
    gpuc_strmap *map = type ? &p->types : &p->vars;
    gpuc_relay_binding *b = gpuc_new(p->ctx, gpuc_relay_binding);
    *b = (gpuc_relay_binding){
        .name = name, .var = var, .type = type, .since = p->scope.count, .outer = gpuc_strmap_get(map, name)};
    gpuc_strmap_set(map, name, b);
    gpuc_ptrs_push(p->ctx, &p->scope, b);
}

void gpuc_relay_parse_leave(gpuc_relay_parser *p, size_t mark)
{
    while (p->scope.count > mark) {
        const gpuc_relay_binding *b = p->scope.at[--p->scope.count];
        if (b->number)
            gpuc_map_set(&p->graph, (const void *)b->number, b->outer);
        else
            gpuc_strmap_set(b->type ? &p->types : &p->vars, b->name, b->outer);
    }
}

gpuc_rexpr *gpuc_relay_parse_bind(gpuc_relay_parser *p, const char *name, const gpuc_rtype *annotation,
                                  const gpuc_relay_token *at)
{
    gpuc_rexpr *var = gpuc_relay_var(p->ctx, name, annotation);
    var->span = gpuc_relay_parse_span(p, at);
    bind(p, gpuc_as_rvar(var)->name, var, NULL);
    return var;
}

void gpuc_relay_parse_rebind(gpuc_relay_parser *p, gpuc_rexpr *var)
{
    bind(p, gpuc_as_rvar(var)->name, var, NULL);
}

void gpuc_relay_parse_bind_graph(gpuc_relay_parser *p, uintptr_t number, gpuc_rexpr *e)
{
    gpuc_relay_binding *b = gpuc_new(p->ctx, gpuc_relay_binding);
    *b = (gpuc_relay_binding){
        .var = e, .number = number, .outer = gpuc_map_get(&p->graph, (const void *)number)};
    gpuc_map_set(&p->graph, (const void *)number, b);
    gpuc_ptrs_push(p->ctx, &p->scope, b);
}

void gpuc_relay_parse_check_once(gpuc_relay_parser *p, size_t mark, const char *name,
                                 const gpuc_relay_token *at)
{
    bool type = at->kind == GPUC_RELAY_TOKEN_NAME;
    const gpuc_relay_binding *b = gpuc_strmap_get(type ? &p->types : &p->vars, name);
    if (b && b->since >= mark) gpuc_relay_parse_fail(p, at, "'%s%s' is bound twice", type ? "" : "%", name);
}

void gpuc_relay_parse_check_name(gpuc_relay_parser *p, const char *name, const gpuc_relay_token *at)
{
    const char *reserved = gpuc_relay_reserved(name);
    if (reserved) gpuc_relay_parse_fail(p, at, "'%s' is %s", name, reserved);
}

const gpuc_rtype *gpuc_relay_parse_bind_type(gpuc_relay_parser *p, const char *name)
{
    const gpuc_rtype *t = gpuc_relay_rtype_var(p->ctx, name);
    bind(p, t->name, NULL, t);
    return t;
}

/* ---- Definitions ---- */

static void check_new(gpuc_relay_parser *p, const gpuc_relay_token *at, const char *what, const char *name,
                      const gpuc_strmap *among)
{
    if (gpuc_strmap_get(among, name)) gpuc_relay_parse_fail(p, at, "%s '%s' is defined already", what, name);
}

static void parse_constructors(gpuc_relay_parser *p, gpuc_adt *adt)
{
    gpuc_ptrs list = {0};
    gpuc_strmap names;
    gpuc_strmap_init(&names, p->ctx);
    while (!gpuc_relay_parse_accept(p, "}")) {
        gpuc_constructor *c = gpuc_new(p->ctx, gpuc_constructor);
        gpuc_ptrs fields = {0};
        gpuc_relay_token at = p->token;
        c->name = gpuc_relay_parse_word(p, "a constructor");
        gpuc_relay_parse_check_name(p, c->name, &at);
        gpuc_op_name op = gpuc_op_lookup_name(p->ctx, c->name);
        if (op.op || op.alias) gpuc_relay_parse_fail(p, &at, "'%s' is an operator", c->name);
        check_new(p, &at, "constructor", c->name, &p->module->constructors);
        check_new(p, &at, "constructor", c->name, &names);
        gpuc_strmap_set(&names, c->name, c);
        if (gpuc_relay_parse_accept(p, "("))
            while (!gpuc_relay_parse_accept(p, ")")) {
                gpuc_relay_token begin = p->token;
                const gpuc_rtype *t = gpuc_relay_parse_type(p);
                if (t->open) gpuc_relay_parse_fail(p, &begin, "the type of a field is written, without '_'");
                gpuc_ptrs_push(p->ctx, &fields, t);
                if (!gpuc_relay_parse_at(p, ")")) gpuc_relay_parse_expect(p, ",");
            }
        c->tag = (int)list.count;
        c->n = (int)fields.count;
        c->fields = (const gpuc_rtype *const *)fields.at;
        c->adt = adt;
        gpuc_ptrs_push(p->ctx, &list, c);
        if (!gpuc_relay_parse_at(p, "}")) gpuc_relay_parse_expect(p, ",");
    }
    gpuc_constructor *all = gpuc_new_array(p->ctx, gpuc_constructor, list.count + 1);
    for (size_t i = 0; i < list.count; i++) all[i] = *(gpuc_constructor *)list.at[i];
    adt->n = (int)list.count;
    adt->constructors = all;
}

static void parse_adt(gpuc_relay_parser *p, bool is_extern)
{
    size_t mark = gpuc_relay_parse_mark(p);
    gpuc_ptrs params = {0};
    gpuc_relay_token at = p->token;
    char *name = gpuc_relay_parse_word(p, "a type's name");
    gpuc_adt *adt = gpuc_strmap_get(&p->module->adts, name);
    gpuc_relay_parse_check_name(p, name, &at);
    if (adt && adt->is_defined) gpuc_relay_parse_fail(p, &at, "type '%s' is defined already", name);
    if (!adt) {
        adt = gpuc_new(p->ctx, gpuc_adt);
        adt->num_params = -1;
    }
    gpuc_relay_parse_type_params(p, &params);
    if (adt->num_params >= 0 && adt->num_params != (int)params.count)
        gpuc_relay_parse_fail(p, &at, "type '%s' is used with %d type parameters before, not %zu", name,
                              adt->num_params, params.count);
    adt->name = name;
    adt->span = gpuc_relay_parse_span(p, &at);
    adt->num_params = (int)params.count;
    adt->params = (const gpuc_rtype *const *)params.at;
    adt->is_extern = is_extern;
    gpuc_strmap_set(&p->module->adts, name, adt);
    if (gpuc_relay_parse_at(p, "{")) {
        if (is_extern) gpuc_relay_parse_fail(p, &p->token, "an extern type has no constructors");
        gpuc_relay_parse_advance(p);
        parse_constructors(p, adt);
    }
    gpuc_rmodule_add_adt(p->module, adt);
    gpuc_relay_parse_leave(p, mark);
}

/* Sizes in attributes are those that a value has when the program runs. */
static void check_sizes(gpuc_relay_parser *p)
{
    const gpuc_relay_named *n = p->sizes.count ? p->sizes.at[0] : NULL;
    if (n)
        gpuc_relay_parse_fail(
            p, &n->at,
            "nothing says what the size %s is: name it where the type of a variable says it, "
            "as in %%x: Tensor[(%s), float32]",
            n->name, n->name);
}

static void parse_def(gpuc_relay_parser *p)
{
    gpuc_relay_token at = p->token;
    if (at.kind != GPUC_RELAY_TOKEN_GLOBAL)
        gpuc_relay_parse_fail(p, &at, "a function's name is expected, as @main");
    char *name = gpuc_relay_parse_copy(p, &at, 1);
    check_new(p, &at, "function", name, &p->module->functions);
    gpuc_relay_parse_advance(p);
    gpuc_map_init(&p->graph, p->ctx);
    gpuc_strmap_init(&p->symbols, p->ctx);
    gpuc_strmap_init(&p->said, p->ctx);
    p->named.count = p->sizes.count = 0;
    gpuc_rexpr *f = gpuc_relay_parse_function(p);
    check_sizes(p);
    f->span = gpuc_relay_parse_span(p, &at);
    gpuc_strmap_set(&p->module->functions, name, f);
}

/* ---- Modules ---- */

/* False at the end: of the text, or where the section of constants begins. */
static bool parse_definition(gpuc_relay_parser *p)
{
    gpuc_relay_token at = p->token;
    if (at.kind == GPUC_RELAY_TOKEN_END) return false;
    if (gpuc_relay_parse_accept(p, "def")) {
        parse_def(p);
    } else if (gpuc_relay_parse_accept(p, "type")) {
        parse_adt(p, false);
    } else if (gpuc_relay_parse_accept(p, "extern")) {
        gpuc_relay_parse_expect(p, "type");
        parse_adt(p, true);
    } else if (gpuc_relay_parse_accept(p, "import")) {
        gpuc_relay_parse_import(p);
    } else if (gpuc_relay_parse_accept(p, "#")) {
        gpuc_relay_parse_expect(p, "[");
        if (gpuc_relay_parse_accept(p, "constants")) {
            gpuc_relay_parse_expect(p, "]");
            gpuc_relay_parse_constants(p);
            return false;
        }
        if (gpuc_relay_parse_accept(p, "metadata")) {
            gpuc_relay_parse_expect(p, "]");
            gpuc_relay_parse_metadata(p);
            return false;
        }
        gpuc_relay_token word = p->token;
        if (!gpuc_relay_parse_accept(p, "version"))
            gpuc_relay_parse_fail(p, &word, "only #[version], #[constants] and #[metadata] are known");
        gpuc_relay_parse_expect(p, "=");
        gpuc_relay_token version = p->token;
        if (strcmp(gpuc_relay_parse_string(p), "0.0.5"))
            gpuc_relay_parse_fail(p, &version, "the version of the text must be \"0.0.5\"");
        gpuc_relay_parse_expect(p, "]");
    } else {
        gpuc_relay_parse_fail(p, &at, "'def' or 'type' is expected, not '%.*s'",
                              at.length > 40 ? 40 : (int)at.length, at.at);
    }
    return true;
}

/* Types that are used before their definition have one. */
static void check_named_types(gpuc_relay_parser *p)
{
    const gpuc_map *all = &p->module->adts.map;
    for (size_t i = 0; i < p->named_types.count; i++) {
        const gpuc_adt *adt = p->named_types.at[i];
        gpuc_relay_token at = {.line = adt->span.line, .column = adt->span.column};
        if (adt->is_defined) continue;
        gpuc_strmap known;
        gpuc_strmap_init(&known, p->ctx);
        gpuc_strmap_set(&known, "Tensor", p);
        for (uint32_t k = 0; k < all->count; k++)
            if (((gpuc_adt *)all->entries[k].value)->is_defined)
                gpuc_strmap_set(&known, all->entries[k].key, p);
        gpuc_relay_parse_fail(p, &at, "unknown type '%s'%s", adt->name,
                              gpuc_relay_parse_hint(p, adt->name, &known));
    }
}

static void parse_all(gpuc_ctx *ctx, void *arg)
{
    gpuc_relay_parser *p = arg;
    (void)ctx;
    gpuc_relay_parse_advance(p);
    while (parse_definition(p)) continue;
    gpuc_relay_parse_keep_promises(p);
    check_named_types(p);
}

void gpuc_relay_parse_text(gpuc_ctx *ctx, gpuc_rmodule *m, const char *text, const char *origin,
                           gpuc_ptrs *constants)
{
    gpuc_relay_origin *t = gpuc_new(ctx, gpuc_relay_origin);
    gpuc_ptrs own = {0};
    *t = (gpuc_relay_origin){gpuc_ctx_strdup(ctx, origin), gpuc_ctx_strdup(ctx, text)};
    gpuc_relay_parser p = {.ctx = ctx, .module = m, .text = t, .constants = constants ? constants : &own};
    p.lexer = (gpuc_relay_lexer){t->text, t->text, 1};
    p.num_given = p.constants->count;
    gpuc_strmap_init(&p.vars, ctx);
    gpuc_strmap_init(&p.types, ctx);
    gpuc_strmap_init(&p.symbols, ctx);
    gpuc_strmap_init(&p.said, ctx);
    gpuc_map_init(&p.graph, ctx);
    gpuc_map_init(&p.promised, ctx);
    gpuc_status status = gpuc_ctx_protect(ctx, parse_all, &p);
    if (!status) return;
    if (p.located || gpuc_status_code(status) == GPUC_OUT_OF_MEMORY) gpuc_ctx_raise_status(ctx, status);
    /* What types and extents say does not know where it is. */
    const char *message =
        gpuc_relay_located(ctx, gpuc_relay_parse_span(&p, &p.token), gpuc_status_message(status));
    gpuc_status_release(status);
    gpuc_raise(ctx, GPUC_INVALID_DATA, "%s", message);
}
