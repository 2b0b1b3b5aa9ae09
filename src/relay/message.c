/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with the place in the text: file, line, column, then the line with a caret below. And what is said of
 * calls of the headers. */
#include <string.h>

#include "relay/infer.h"
#include "relay/lexer.h"

enum { LONGEST = 160 };

char *gpuc_relay_located(gpuc_ctx *ctx, gpuc_relay_span span, const char *message)
{
    if (!span.text) return gpuc_ctx_strdup(ctx, message);
    const char *at = span.text->text;
    for (uint32_t line = 1; line < span.line; line++) {
        const char *end = strchr(at, '\n');
        if (!end) break;
        at = end + 1;
    }
    size_t length = strcspn(at, "\r\n"), column = span.column - 1, skip = 0;
    if (column > LONGEST / 2) skip = column - LONGEST / 2; /* a part of a long line */
    if (skip > length) skip = length;
    if (length - skip > LONGEST) length = skip + LONGEST;
    char *pad = gpuc_ctx_alloc(ctx, column - skip + 1);
    for (size_t i = skip; i < column; i++) pad[i - skip] = i < length && at[i] == '\t' ? '\t' : ' ';
    return gpuc_ctx_printf(ctx, "%s:%u:%u: %s\n%.*s\n%s^", span.text->name, span.line, span.column, message,
                           (int)(length - skip), at + skip, pad);
}

void gpuc_relay_need(gpuc_ctx *ctx, const char *doing, const char *what, const void *given)
{
    if (!given) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: the %s is NULL", doing, what);
}

void gpuc_relay_need_list(gpuc_ctx *ctx, const char *doing, const char *what, int n, const void *list)
{
    const void *const *at = list;
    if (n < 0) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: %d %ss", doing, n, what);
    if (n && !list) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: the list of %d %ss is NULL", doing, n, what);
    for (int i = 0; i < n; i++)
        if (!at[i]) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: %s %d is NULL", doing, what, i);
}

void gpuc_relay_need_var(gpuc_ctx *ctx, const char *doing, const gpuc_rexpr *var)
{
    gpuc_relay_need(ctx, doing, "variable", var);
    if (var->kind != GPUC_REXPR_VAR)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: a variable is expected, not %s", doing,
                   gpuc_relay_describe(ctx, var));
}

void gpuc_relay_need_word(gpuc_ctx *ctx, const char *doing, const char *name)
{
    gpuc_relay_need(ctx, doing, "name", name);
    gpuc_relay_lexer lexer = {name, name, 1};
    gpuc_relay_token t = gpuc_relay_lexer_next(&lexer);
    if (t.kind != GPUC_RELAY_TOKEN_NAME || t.length != strlen(name))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "%s: '%.100s' is no name: write letters, digits and _, no digit first", doing, name);
}

void gpuc_relay_need_name(gpuc_ctx *ctx, const char *doing, const char *name)
{
    gpuc_relay_need_word(ctx, doing, name);
    if (strchr(name, '.'))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "%s: '%.100s' is no name: write letters, digits and _, no digit first", doing, name);
}

const char *gpuc_relay_describe(gpuc_ctx *ctx, const gpuc_rexpr *e)
{
    static const char *const kinds[GPUC_REXPR_KIND_COUNT] = {[GPUC_REXPR_CONSTANT] = "a constant",
                                                             [GPUC_REXPR_TUPLE] = "a tuple",
                                                             [GPUC_REXPR_GET] = "a field of a tuple",
                                                             [GPUC_REXPR_FUNCTION] = "a function",
                                                             [GPUC_REXPR_IF] = "an if",
                                                             [GPUC_REXPR_MATCH] = "a match",
                                                             [GPUC_REXPR_CALL] = "a call of a function"};
    const char *name = gpuc_relay_get_name(e), *from = *e->source ? ", from " : "";
    switch (e->kind) {
    case GPUC_REXPR_VAR: return gpuc_ctx_printf(ctx, "%%%s", name);
    case GPUC_REXPR_GLOBAL: return gpuc_ctx_printf(ctx, "@%s", name);
    case GPUC_REXPR_OP:
    case GPUC_REXPR_CONSTRUCTOR: return gpuc_ctx_strdup(ctx, name);
    case GPUC_REXPR_LET: return gpuc_ctx_printf(ctx, "let %%%s", gpuc_relay_get_name(gpuc_as_rlet(e)->var));
    case GPUC_REXPR_CALL: {
        const gpuc_rexpr *callee = gpuc_as_rcall(e)->callee;
        if (callee->kind == GPUC_REXPR_FUNCTION || callee->kind == GPUC_REXPR_CALL) break;
        return gpuc_ctx_printf(ctx, "the call of %s%s%s", gpuc_relay_describe(ctx, callee), from, e->source);
    }
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_TUPLE:
    case GPUC_REXPR_GET:
    case GPUC_REXPR_FUNCTION:
    case GPUC_REXPR_IF:
    case GPUC_REXPR_MATCH:
    case GPUC_REXPR_KIND_COUNT: break;
    }
    return gpuc_ctx_printf(ctx, "%s%s%s", kinds[e->kind], from, e->source);
}

void gpuc_relay_need_type_params(gpuc_ctx *ctx, const char *doing, int n, const gpuc_rtype *const *at)
{
    gpuc_strmap names;
    gpuc_strmap_init(&names, ctx);
    gpuc_relay_need_list(ctx, doing, "type parameter", n, at);
    for (int i = 0; i < n; i++) {
        if (at[i]->kind != GPUC_RTYPE_VAR)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                       "%s: %s is no type parameter: make it with gpuc_relay_rtype_var", doing,
                       gpuc_relay_rtype_text(ctx, at[i]));
        if (gpuc_strmap_has(&names, at[i]->name))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: two type parameters are named '%s'", doing,
                       at[i]->name);
        gpuc_strmap_set(&names, at[i]->name, (void *)at[i]);
    }
}

void gpuc_relay_need_free_name(gpuc_ctx *ctx, const char *what, const char *name)
{
    const char *reserved = gpuc_relay_reserved(name);
    if (reserved) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s '%s': the name is %s", what, name, reserved);
}
