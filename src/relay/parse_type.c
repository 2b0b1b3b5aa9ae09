/* SPDX-License-Identifier: Apache-2.0 */
/* Parses types, extents among them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "relay/parse.h"
#include "tir/parse.h"

/* ---- Extents ---- */

/* The symbol of a name, one in the global function. What the type of a node names first is what its `?` is. */
static gpuc_expr symbol_of(gpuc_relay_parser *p, const char *name, const gpuc_tir_token *at)
{
    gpuc_expr symbol = gpuc_strmap_get(&p->symbols, name);
    if (!symbol) {
        symbol =
            p->names == GPUC_RELAY_NODE ? gpuc_relay_any_dim(p->ctx) : gpuc_var(p->ctx, name, GPUC_INDEX);
        gpuc_strmap_set(&p->symbols, name, (void *)symbol);
        gpuc_ptrs_push(p->ctx, &p->named, (void *)(uintptr_t)name);
    }
    if (p->names == GPUC_RELAY_SAYS || p->names == GPUC_RELAY_NODE) gpuc_strmap_set(&p->said, name, p);
    if (p->names != GPUC_RELAY_USES) return symbol;
    gpuc_relay_named *used = gpuc_new(p->ctx, gpuc_relay_named);
    *used = (gpuc_relay_named){name, p->token};
    used->at.line += (uint32_t)at->line - 1;
    used->at.column = (uint32_t)at->column + (at->line == 1 ? p->token.column - 1 : 0);
    gpuc_ptrs_push(p->ctx, &p->sizes, used);
    return symbol;
}

void gpuc_relay_parse_end_sizes(gpuc_relay_parser *p, size_t named, size_t used)
{
    size_t left = used;
    for (size_t i = used; i < p->sizes.count; i++) {
        const gpuc_relay_named *n = p->sizes.at[i];
        if (!gpuc_strmap_get(&p->said, n->name)) p->sizes.at[left++] = p->sizes.at[i];
    }
    p->sizes.count = left;
    for (; p->named.count > named; p->named.count--) {
        const char *name = p->named.at[p->named.count - 1];
        gpuc_strmap_set(&p->symbols, name, NULL);
        gpuc_strmap_set(&p->said, name, NULL);
    }
}

/* Names of the expression are symbols. */
static void define_symbols(gpuc_relay_parser *p, gpuc_tir_parser *e)
{
    gpuc_tir_lexer lexer;
    gpuc_tir_lexer_init(&lexer, p->token.at);
    int depth = 0;
    for (;;) {
        gpuc_tir_token t = gpuc_tir_lexer_next(&lexer);
        if (t.kind == GPUC_TOKEN_END || t.kind == GPUC_TOKEN_BAD) return;
        if (gpuc_tir_token_is(&t, "(")) depth++;
        if (gpuc_tir_token_is(&t, ")") && depth-- == 0) return;
        if ((gpuc_tir_token_is(&t, ",") && depth == 0) || gpuc_tir_token_is(&t, "]")) return;
        if (t.kind != GPUC_TOKEN_NAME ||
            gpuc_tir_is_reserved(gpuc_ctx_printf(p->ctx, "%.*s", (int)t.length, t.at)))
            continue;
        char *name = gpuc_ctx_printf(p->ctx, "%.*s", (int)t.length, t.at);
        gpuc_tir_symbol *entry = gpuc_new(p->ctx, gpuc_tir_symbol);
        entry->var = symbol_of(p, name, &t);
        gpuc_strmap_set(&e->symbols, name, entry);
    }
}

typedef struct extent {
    gpuc_tir_parser parser;
    gpuc_expr value;
} extent;

static void parse_extent(gpuc_ctx *ctx, void *arg)
{
    extent *x = arg;
    (void)ctx;
    gpuc_tir_parse_advance(&x->parser);
    x->value = gpuc_tir_parse_expr(&x->parser);
}

/* Raises what the other parser says, in the form of this one. */
static GPUC_NORETURN void fail_extent(gpuc_relay_parser *p, const gpuc_relay_token *begin,
                                      const gpuc_tir_parser *e, gpuc_status status)
{
    gpuc_relay_token at = *begin;
    const char *message = gpuc_status_message(status), *prefix = "";
    if (gpuc_status_code(status) == GPUC_OUT_OF_MEMORY) gpuc_ctx_raise_status(p->ctx, status);
    if (e->located) {
        at.line = (uint32_t)e->wrong.line;
        at.column = (uint32_t)e->wrong.column;
        prefix = gpuc_ctx_printf(p->ctx, "%s:%d:%d: ", e->origin, e->wrong.line, e->wrong.column);
    }
    message = gpuc_ctx_strdup(p->ctx, message + strlen(prefix));
    gpuc_status_release(status);
    gpuc_relay_parse_fail(p, &at, "%s", message);
}

gpuc_expr gpuc_relay_parse_dim(gpuc_relay_parser *p)
{
    gpuc_relay_token at = p->token;
    char *end;
    if (gpuc_relay_parse_at(p, "?") && p->names == GPUC_RELAY_USES)
        gpuc_relay_parse_fail(p, &at,
                              "'?' is no size to compute with: name it where the type of a variable says it, "
                              "as in %%x: Tensor[(n), float32]");
    if (gpuc_relay_parse_accept(p, "?")) return gpuc_relay_any_dim(p->ctx);
    if (at.kind == GPUC_RELAY_TOKEN_NUMBER) {
        errno = 0;
        long long v = strtoll(at.at, &end, 10);
        gpuc_relay_token after = gpuc_relay_parse_peek(p);
        bool alone = after.kind == GPUC_RELAY_TOKEN_PUNCT && strchr(",)]", *after.at);
        if (errno) gpuc_relay_parse_fail(p, &at, "the integer does not fit in 64 bits");
        if (alone && (end == at.at + at.length || !strncmp(end, "i64", at.length - (size_t)(end - at.at)))) {
            gpuc_relay_parse_advance(p);
            return gpuc_int(p->ctx, v);
        }
    }
    extent x = {.parser = {.ctx = p->ctx, .origin = p->text->name, .brackets = 1}};
    gpuc_tir_parser *e = &x.parser;
    gpuc_strmap_init(&e->symbols, p->ctx);
    define_symbols(p, e);
    gpuc_tir_lexer_init(&e->lexer, at.at);
    e->lexer.line = (int)at.line;
    e->lexer.line_start = at.at - (at.column - 1);
    gpuc_status status = gpuc_ctx_protect(p->ctx, parse_extent, &x);
    if (status) fail_extent(p, &at, e, status);
    if (!gpuc_dtype_equal(x.value->dtype, GPUC_INDEX)) gpuc_relay_parse_fail(p, &at, "a size is an integer");
    p->lexer.at = e->token.at; /* not token by token: // divides here */
    p->lexer.line = (uint32_t)e->token.line;
    p->lexer.line_start = e->token.at - (e->token.column - 1);
    gpuc_relay_parse_advance(p);
    return x.value;
}

static const gpuc_rtype *parse_tensor(gpuc_relay_parser *p)
{
    gpuc_ptrs dims = {0};
    gpuc_dtype t;
    gpuc_relay_parse_expect(p, "[");
    gpuc_relay_parse_expect(p, "(");
    while (!gpuc_relay_parse_accept(p, ")")) {
        gpuc_relay_token at = p->token;
        gpuc_expr dim = gpuc_relay_parse_dim(p);
        int64_t v;
        if (gpuc_expr_is_int(dim, &v) && v < 0) gpuc_relay_parse_fail(p, &at, "an extent is not negative");
        gpuc_ptrs_push(p->ctx, &dims, dim);
        if (!gpuc_relay_parse_at(p, ")")) gpuc_relay_parse_expect(p, ",");
        if (dims.count > GPUC_OP_MAX_DIMS)
            gpuc_relay_parse_fail(p, &at, "a tensor has at most %d dimensions", GPUC_OP_MAX_DIMS);
    }
    gpuc_relay_parse_expect(p, ",");
    gpuc_relay_token at = p->token;
    char *word = gpuc_relay_parse_word(p, "an element type");
    if (!gpuc_dtype_parse(word, &t) || !gpuc_dtypes_have(GPUC_T_ANY, t))
        gpuc_relay_parse_fail(p, &at, "'%s' is not an element type", word);
    gpuc_relay_parse_expect(p, "]");
    return gpuc_relay_rtype_tensor(p->ctx, t, (int)dims.count, (const gpuc_expr *)dims.at);
}

/* ---- Others ---- */

static void parse_list(gpuc_relay_parser *p, const char *open, const char *close, gpuc_ptrs *out)
{
    gpuc_relay_parse_expect(p, open);
    while (!gpuc_relay_parse_accept(p, close)) {
        gpuc_ptrs_push(p->ctx, out, gpuc_relay_parse_type(p));
        if (!gpuc_relay_parse_at(p, close)) gpuc_relay_parse_expect(p, ",");
    }
}

void gpuc_relay_parse_type_params(gpuc_relay_parser *p, gpuc_ptrs *out)
{
    if (!gpuc_relay_parse_accept(p, "[")) return;
    while (!gpuc_relay_parse_accept(p, "]")) {
        size_t all = gpuc_relay_parse_mark(p);
        gpuc_relay_token at = p->token;
        char *name = gpuc_relay_parse_word(p, "a type parameter");
        gpuc_relay_parse_check_name(p, name, &at);
        gpuc_relay_parse_check_once(p, all - out->count, name, &at);
        gpuc_ptrs_push(p->ctx, out, gpuc_relay_parse_bind_type(p, name));
        if (!gpuc_relay_parse_at(p, "]")) gpuc_relay_parse_expect(p, ",");
    }
}

static const gpuc_rtype *parse_function_type(gpuc_relay_parser *p)
{
    size_t mark = gpuc_relay_parse_mark(p);
    gpuc_ptrs params = {0}, args = {0};
    const gpuc_relay_names names = p->names;
    if (names == GPUC_RELAY_SAYS) p->names = GPUC_RELAY_MENTIONS;
    gpuc_relay_parse_type_params(p, &params);
    parse_list(p, "(", ")", &args);
    gpuc_relay_parse_expect(p, "->");
    const gpuc_rtype *ret = gpuc_relay_parse_type(p);
    gpuc_relay_parse_leave(p, mark);
    p->names = names;
    return gpuc_relay_rtype_scheme(p->ctx, (int)params.count, (const gpuc_rtype *const *)params.at,
                                   (int)args.count, (const gpuc_rtype *const *)args.at, ret);
}

/* A type may be used before its definition, which must follow. */
static const gpuc_rtype *parse_named(gpuc_relay_parser *p, const gpuc_relay_token *at, const char *name)
{
    gpuc_adt *adt = gpuc_strmap_get(&p->module->adts, name);
    gpuc_ptrs args = {0};
    if (!adt) {
        adt = gpuc_new(p->ctx, gpuc_adt);
        adt->name = name;
        adt->span = gpuc_relay_parse_span(p, at);
        adt->num_params = -1;
        gpuc_strmap_set(&p->module->adts, name, adt);
        gpuc_ptrs_push(p->ctx, &p->named_types, adt);
    }
    if (gpuc_relay_parse_at(p, "[")) parse_list(p, "[", "]", &args);
    if (adt->num_params < 0) adt->num_params = (int)args.count; /* checked against the definition */
    if ((int)args.count != adt->num_params)
        gpuc_relay_parse_fail(p, at, "'%s' has %d type parameters, not %zu", name, adt->num_params,
                              args.count);
    return gpuc_relay_rtype_adt(p->ctx, adt, (int)args.count, (const gpuc_rtype *const *)args.at);
}

static const gpuc_rtype *parse_word_type(gpuc_relay_parser *p)
{
    gpuc_relay_token at = p->token;
    gpuc_dtype t;
    if (at.kind != GPUC_RELAY_TOKEN_NAME)
        gpuc_relay_parse_fail(p, &at, "a type is expected, not '%.*s'", at.length > 40 ? 40 : (int)at.length,
                              at.at);
    char *name = gpuc_relay_parse_word(p, "a type");
    if (!strcmp(name, "_")) return gpuc_relay_rtype_hole(p->ctx);
    if (!strcmp(name, "Tensor") && gpuc_relay_parse_at(p, "[")) return parse_tensor(p);
    const gpuc_relay_binding *b = gpuc_strmap_get(&p->types, name);
    if (b && gpuc_relay_parse_at(p, "["))
        gpuc_relay_parse_fail(p, &p->token, "the type parameter '%s' has no parameters", name);
    if (b) return b->type;
    if (gpuc_dtype_parse(name, &t) && gpuc_dtypes_have(GPUC_T_ANY, t))
        return gpuc_relay_rtype_tensor(p->ctx, t, 0, NULL);
    return parse_named(p, &at, name);
}

const gpuc_rtype *gpuc_relay_parse_type(gpuc_relay_parser *p)
{
    const gpuc_rtype *t;
    gpuc_ptrs fields = {0};
    if (++p->type_depth > GPUC_RELAY_TYPE_DEPTH + 1)
        gpuc_relay_parse_fail(p, &p->token, "types nested more than %d deep", GPUC_RELAY_TYPE_DEPTH);
    if (gpuc_relay_parse_at(p, "(")) {
        parse_list(p, "(", ")", &fields);
        t = gpuc_relay_rtype_tuple(p->ctx, (int)fields.count, (const gpuc_rtype *const *)fields.at);
    } else {
        t = gpuc_relay_parse_accept(p, "fn") ? parse_function_type(p) : parse_word_type(p);
    }
    p->type_depth--;
    return t;
}
