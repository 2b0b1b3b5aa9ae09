/* SPDX-License-Identifier: Apache-2.0 */
/* Parses modules: definitions of types and functions, and the section of constants. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void gpuc_relay_parse_deeper(gpuc_relay_parser *p)
{
    enum { MAX = 2 * GPUC_RELAY_TEXT_DEPTH + 100 };
    if (++p->depth > MAX) gpuc_relay_parse_fail(p, &p->token, "nested more than %d deep", MAX);
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
    *b = (gpuc_relay_binding){name, var, type, gpuc_strmap_get(map, name)};
    gpuc_strmap_set(map, name, b);
    gpuc_ptrs_push(p->ctx, &p->scope, b);
}

void gpuc_relay_parse_leave(gpuc_relay_parser *p, size_t mark)
{
    while (p->scope.count > mark) {
        const gpuc_relay_binding *b = p->scope.at[--p->scope.count];
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
        check_new(p, &at, "constructor", c->name, &p->module->constructors);
        check_new(p, &at, "constructor", c->name, &names);
        gpuc_strmap_set(&names, c->name, c);
        if (gpuc_relay_parse_accept(p, "("))
            while (!gpuc_relay_parse_accept(p, ")")) {
                gpuc_ptrs_push(p->ctx, &fields, gpuc_relay_parse_type(p));
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
    gpuc_rexpr *f = gpuc_relay_parse_function(p);
    f->span = gpuc_relay_parse_span(p, &at);
    gpuc_strmap_set(&p->module->functions, name, f);
}

/* ---- The section of constants ---- */

static int digit_value(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static void read_bytes(gpuc_relay_parser *p, const gpuc_relay_token *t, gpuc_const_data *data)
{
    const char *at = t->at + 1, *end = t->at + t->length - 1;
    size_t n = 0;
    uint32_t bits = 0;
    int have = 0;
    for (; at < end && *at != '='; at++) {
        int v = digit_value(*at);
        if (v < 0) gpuc_relay_parse_fail(p, t, "a character is not of base64");
        bits = bits << 6 | (uint32_t)v;
        have += 6;
        if (have < 8) continue;
        have -= 8;
        if (n < data->size) ((uint8_t *)data->bytes)[n] = (uint8_t)(bits >> have);
        n++;
    }
    if (n != data->size)
        gpuc_relay_parse_fail(p, t, "the constant has %zu bytes, its type has %zu", n, data->size);
}

static void parse_constant(gpuc_relay_parser *p)
{
    gpuc_relay_token at = p->token;
    const gpuc_rtype *t = gpuc_relay_parse_type(p);
    int64_t dims[GPUC_OP_MAX_DIMS], bytes = 1;
    if (t->kind != GPUC_RTYPE_TENSOR || !gpuc_relay_tensor_type_static(&t->tensor, dims))
        gpuc_relay_parse_fail(p, &at, "a constant is a tensor whose extents are numbers");
    gpuc_relay_token text = p->token;
    if (text.kind != GPUC_RELAY_TOKEN_STRING) gpuc_relay_parse_fail(p, &text, "the bytes follow, in base64");
    for (int i = 0; i < t->tensor.ndim; i++)
        if (__builtin_mul_overflow(bytes, dims[i], &bytes)) bytes = INT64_MAX / 64;
    if ((uint64_t)bytes > text.length)
        gpuc_relay_parse_fail(p, &text, "the constant has fewer bytes than its type");
    gpuc_const_data *data =
        gpuc_relay_const_data_create(p->ctx, (size_t)gpuc_relay_tensor_type_bytes(p->ctx, &t->tensor));
    read_bytes(p, &text, data);
    gpuc_relay_parse_advance(p);
    gpuc_ptrs_push(p->ctx, p->constants, gpuc_relay_constant(p->ctx, t, data));
}

/* The section stands last, but what refers to it is made before: it is read first. */
static void read_constants(gpuc_relay_parser *p)
{
    const char *section = strstr(p->text->text, "\n#[constants]");
    if (!section) return;
    gpuc_relay_lexer begin = p->lexer;
    for (const char *c = p->lexer.at; c <= section; c++)
        if (*c == '\n') {
            p->lexer.line++;
            p->lexer.line_start = c + 1;
        }
    p->lexer.at = section + strlen("\n#[constants]");
    gpuc_relay_parse_advance(p);
    while (p->token.kind != GPUC_RELAY_TOKEN_END) parse_constant(p);
    p->lexer = begin;
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
        if (gpuc_relay_parse_at(p, "constants")) return false;
        gpuc_relay_token word = p->token;
        if (!gpuc_relay_parse_accept(p, "version"))
            gpuc_relay_parse_fail(p, &word, "only #[version] and #[constants] are known");
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

void gpuc_relay_parse_text(gpuc_ctx *ctx, gpuc_rmodule *m, const char *text, const char *origin,
                           gpuc_ptrs *constants)
{
    gpuc_relay_origin *t = gpuc_new(ctx, gpuc_relay_origin);
    gpuc_ptrs own = {0};
    *t = (gpuc_relay_origin){gpuc_ctx_strdup(ctx, origin), gpuc_ctx_strdup(ctx, text)};
    gpuc_relay_parser p = {.ctx = ctx, .module = m, .text = t, .constants = constants ? constants : &own};
    p.lexer = (gpuc_relay_lexer){t->text, t->text, 1};
    gpuc_strmap_init(&p.vars, ctx);
    gpuc_strmap_init(&p.types, ctx);
    gpuc_strmap_init(&p.symbols, ctx);
    gpuc_map_init(&p.graph, ctx);
    read_constants(&p);
    gpuc_relay_parse_advance(&p);
    while (parse_definition(&p)) continue;
    for (size_t i = 0; i < p.named_types.count; i++) {
        const gpuc_adt *adt = p.named_types.at[i];
        gpuc_relay_token at = {.line = adt->span.line, .column = adt->span.column};
        if (!adt->is_defined) {
            gpuc_strmap known;
            gpuc_strmap_init(&known, ctx);
            gpuc_strmap_set(&known, "Tensor", t);
            for (uint32_t k = 0; k < m->adts.map.count; k++)
                if (((gpuc_adt *)m->adts.map.entries[k].value)->is_defined)
                    gpuc_strmap_set(&known, m->adts.map.entries[k].key, t);
            gpuc_relay_parse_fail(&p, &at, "unknown type '%s'%s", adt->name,
                                  gpuc_relay_parse_hint(&p, adt->name, &known));
        }
    }
}
