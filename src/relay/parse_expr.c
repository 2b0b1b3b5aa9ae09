/* SPDX-License-Identifier: Apache-2.0 */
/* Parses expressions. */
#include <stdlib.h>
#include <string.h>

#include "relay/parse.h"

/* Blocks and clauses may be GPUC_RELAY_TEXT_DEPTH deep; the innermost has room for the parentheses of a call, and of a tuple in
 * it, which printing adds. */
enum { IN_PARENS = GPUC_RELAY_TEXT_DEPTH + 2 };

static gpuc_rexpr *parse_binary(gpuc_relay_parser *p);
static gpuc_rexpr *parse_level(gpuc_relay_parser *p, int max);

/* The place of a node that has none: what %1 stands for keeps its own. */
static gpuc_rexpr *at_place(const gpuc_relay_parser *p, const gpuc_relay_token *at, gpuc_rexpr *e)
{
    if (!e->span.text) e->span = gpuc_relay_parse_span(p, at);
    return e;
}

/* ---- Names ---- */

static gpuc_rexpr *parse_local(gpuc_relay_parser *p)
{
    gpuc_relay_token at = p->token;
    char *name = gpuc_relay_parse_copy(p, &at, 1);
    const gpuc_relay_binding *b = gpuc_strmap_get(&p->vars, name);
    if (!b)
        gpuc_relay_parse_fail(p, &at, "unknown variable '%%%s'%s", name,
                              gpuc_relay_parse_hint(p, name, &p->vars));
    gpuc_relay_parse_advance(p);
    ((gpuc_relay_binding *)b)->used = true;
    return b->var;
}

static uintptr_t graph_number(gpuc_relay_parser *p, const gpuc_relay_token *at)
{
    unsigned long long n = strtoull(at->at + 1, NULL, 10);
    if (at->length > 10) gpuc_relay_parse_fail(p, at, "the number has more than 9 digits");
    return (uintptr_t)n + 1;
}

static gpuc_rexpr *parse_graph(gpuc_relay_parser *p)
{
    gpuc_relay_token at = p->token;
    uintptr_t number = graph_number(p, &at);
    const gpuc_relay_binding *b = gpuc_map_get(&p->graph, (const void *)number);
    if (!b && gpuc_map_has(&p->graph, (const void *)number))
        gpuc_relay_parse_fail(p, &at, "%.*s is defined in a block that has ended", (int)at.length, at.at);
    if (!b) gpuc_relay_parse_fail(p, &at, "%.*s is not defined before", (int)at.length, at.at);
    gpuc_relay_parse_advance(p);
    return b->var;
}

/* A constructor, or an operator that is not called yet (p->token is what follows). */
static gpuc_rexpr *parse_name(gpuc_relay_parser *p, const char **op)
{
    gpuc_relay_token at = p->token;
    char *name = gpuc_relay_parse_word(p, "an expression");
    const gpuc_constructor *c = gpuc_strmap_get(&p->module->constructors, name);
    if (c) return gpuc_relay_constructor(p->ctx, c);
    gpuc_op_name what = gpuc_op_lookup_name(p->ctx, name);
    if (!what.op && !what.alias) {
        const char *near = gpuc_op_nearest(p->ctx, name), *hint = "";
        if (near) hint = gpuc_ctx_printf(p->ctx, "; did you mean '%s'?", near);
        if (!near) hint = gpuc_relay_parse_hint(p, name, &p->module->constructors);
        gpuc_relay_parse_fail(p, &at, "unknown operator or constructor '%s'%s", name, hint);
    }
    if (!gpuc_relay_parse_at(p, "("))
        gpuc_relay_parse_fail(p, &at, "an operator is called: write fn (%%a) { %s(%%a) } for a value", name);
    *op = name;
    return NULL;
}

/* ---- Parts ---- */

static gpuc_rexpr *parse_block(gpuc_relay_parser *p)
{
    size_t mark = gpuc_relay_parse_mark(p);
    gpuc_relay_parse_expect(p, "{");
    gpuc_rexpr *e = parse_level(p, GPUC_RELAY_TEXT_DEPTH);
    gpuc_relay_parse_expect(p, "}");
    gpuc_relay_parse_leave(p, mark);
    return e;
}

static gpuc_rexpr *parse_if(gpuc_relay_parser *p)
{
    gpuc_relay_parse_expect(p, "(");
    gpuc_rexpr *cond = parse_level(p, IN_PARENS);
    gpuc_relay_parse_expect(p, ")");
    gpuc_rexpr *then_branch = parse_block(p);
    gpuc_relay_parse_expect(p, "else");
    return gpuc_relay_if(p->ctx, cond, then_branch, parse_block(p));
}

static gpuc_rexpr *parse_parens(gpuc_relay_parser *p)
{
    gpuc_ptrs fields = {0};
    bool comma = false;
    gpuc_relay_parse_expect(p, "(");
    while (!gpuc_relay_parse_accept(p, ")")) {
        gpuc_ptrs_push(p->ctx, &fields, parse_level(p, IN_PARENS));
        if (gpuc_relay_parse_at(p, ")")) continue;
        gpuc_relay_parse_expect(p, ",");
        comma = true;
    }
    if (fields.count == 1 && !comma) return fields.at[0];
    return gpuc_relay_tuple(p->ctx, (int)fields.count, (gpuc_rexpr *const *)fields.at);
}

static void parse_pattern(gpuc_relay_parser *p, size_t mark, gpuc_rpattern *out);

static void parse_patterns(gpuc_relay_parser *p, size_t mark, gpuc_rpattern *out)
{
    gpuc_ptrs list = {0};
    gpuc_relay_parse_expect(p, "(");
    while (!gpuc_relay_parse_accept(p, ")")) {
        gpuc_rpattern *one = gpuc_new(p->ctx, gpuc_rpattern);
        parse_pattern(p, mark, one);
        gpuc_ptrs_push(p->ctx, &list, one);
        if (!gpuc_relay_parse_at(p, ")")) gpuc_relay_parse_expect(p, ",");
    }
    out->n = (int)list.count;
    gpuc_rpattern *at = gpuc_new_array(p->ctx, gpuc_rpattern, list.count + 1);
    for (size_t i = 0; i < list.count; i++) at[i] = *(gpuc_rpattern *)list.at[i];
    out->at = at;
}

/* mark: where the clause begins, whose names differ. */
static void parse_pattern(gpuc_relay_parser *p, size_t mark, gpuc_rpattern *out)
{
    gpuc_relay_token at = p->token;
    *out = (gpuc_rpattern){.span = gpuc_relay_parse_span(p, &at)};
    gpuc_relay_parse_deeper(p, &p->inner_depth, GPUC_RELAY_TEXT_DEPTH);
    if (at.kind == GPUC_RELAY_TOKEN_LOCAL) {
        gpuc_relay_parse_advance(p);
        const gpuc_rtype *t = gpuc_relay_parse_accept(p, ":") ? gpuc_relay_parse_type(p) : NULL;
        char *name = gpuc_relay_parse_copy(p, &at, 1);
        gpuc_relay_parse_check_once(p, mark, name, &at);
        out->var = gpuc_relay_parse_bind(p, name, t, &at);
    } else if (gpuc_relay_parse_at(p, "(")) {
        out->tuple = true;
        parse_patterns(p, mark, out);
    } else if (!gpuc_relay_parse_accept(p, "_")) {
        char *name = gpuc_relay_parse_word(p, "a pattern");
        out->constructor = gpuc_strmap_get(&p->module->constructors, name);
        if (!out->constructor)
            gpuc_relay_parse_fail(p, &at, "unknown constructor '%s'%s", name,
                                  gpuc_relay_parse_hint(p, name, &p->module->constructors));
        if (gpuc_relay_parse_at(p, "(")) parse_patterns(p, mark, out);
        if (out->n != out->constructor->n)
            gpuc_relay_parse_fail(p, &at, "%s has %d fields, not %d", name, out->constructor->n, out->n);
    }
    p->inner_depth--;
}

/* A clause is as deep with braces as without: it is printed with them. */
static gpuc_rexpr *parse_clause_body(gpuc_relay_parser *p)
{
    bool braces = gpuc_relay_parse_at(p, "{");
    p->depth -= braces;
    gpuc_rexpr *e = parse_level(p, GPUC_RELAY_TEXT_DEPTH);
    p->depth += braces;
    return e;
}

static gpuc_rexpr *parse_match(gpuc_relay_parser *p)
{
    bool partial = gpuc_relay_parse_accept(p, "?");
    gpuc_ptrs list = {0};
    gpuc_relay_parse_deeper(p, &p->depth, IN_PARENS);
    gpuc_rexpr *value = parse_binary(p);
    gpuc_relay_parse_expect(p, "{");
    while (!gpuc_relay_parse_accept(p, "}")) {
        gpuc_rclause *c = gpuc_new(p->ctx, gpuc_rclause);
        size_t mark = gpuc_relay_parse_mark(p);
        gpuc_rpattern *pattern = gpuc_new(p->ctx, gpuc_rpattern);
        parse_pattern(p, mark, pattern);
        c->pattern = pattern;
        gpuc_relay_parse_expect(p, "=>");
        c->body = parse_clause_body(p);
        gpuc_relay_parse_leave(p, mark);
        gpuc_ptrs_push(p->ctx, &list, c);
        if (!gpuc_relay_parse_at(p, "}")) gpuc_relay_parse_expect(p, ",");
    }
    gpuc_rclause *clauses = gpuc_new_array(p->ctx, gpuc_rclause, list.count + 1);
    for (size_t i = 0; i < list.count; i++) clauses[i] = *(gpuc_rclause *)list.at[i];
    p->depth--;
    return gpuc_relay_match(p->ctx, value, (int)list.count, clauses, partial);
}

gpuc_rexpr *gpuc_relay_parse_function(gpuc_relay_parser *p)
{
    size_t mark = gpuc_relay_parse_mark(p), named = p->named.count, used = p->sizes.count;
    gpuc_ptrs type_params = {0}, params = {0};
    const gpuc_attrs *attrs = NULL;
    gpuc_relay_parse_type_params(p, &type_params);
    gpuc_relay_parse_expect(p, "(");
    while (!gpuc_relay_parse_at(p, ")")) {
        gpuc_relay_token at = p->token;
        if (at.kind == GPUC_RELAY_TOKEN_NAME) {
            attrs = gpuc_relay_parse_attrs(p);
            break;
        }
        if (at.kind != GPUC_RELAY_TOKEN_LOCAL)
            gpuc_relay_parse_fail(p, &at, "a parameter is expected, as %%x: T");
        gpuc_relay_parse_advance(p);
        const gpuc_rtype *t = gpuc_relay_parse_accept(p, ":") ? gpuc_relay_parse_type(p) : NULL;
        char *name = gpuc_relay_parse_copy(p, &at, 1);
        gpuc_relay_parse_check_once(p, mark, name, &at);
        gpuc_ptrs_push(p->ctx, &params, gpuc_relay_parse_bind(p, name, t, &at));
        if (!gpuc_relay_parse_at(p, ")")) gpuc_relay_parse_expect(p, ",");
    }
    gpuc_relay_parse_expect(p, ")");
    p->names = GPUC_RELAY_MENTIONS;
    const gpuc_rtype *ret = gpuc_relay_parse_accept(p, "->") ? gpuc_relay_parse_type(p) : NULL;
    p->names = GPUC_RELAY_SAYS;
    gpuc_rexpr *body = parse_block(p);
    gpuc_relay_parse_leave(p, mark);
    gpuc_relay_parse_end_sizes(p, named, used);
    return gpuc_relay_generic_function(p->ctx, (int)type_params.count,
                                       (const gpuc_rtype *const *)type_params.at, (int)params.count,
                                       (gpuc_rexpr *const *)params.at, ret, body, attrs);
}

/* ---- Calls ---- */

/* The arguments of a call of the callee, or of an operator. */
static gpuc_rexpr *parse_call(gpuc_relay_parser *p, gpuc_rexpr *callee, const char *op)
{
    gpuc_relay_token at = p->token;
    gpuc_ptrs args = {0};
    const gpuc_attrs *attrs = NULL;
    gpuc_relay_parse_expect(p, "(");
    while (!gpuc_relay_parse_at(p, ")")) {
        gpuc_relay_token name = p->token, next = gpuc_relay_parse_peek(p);
        if (name.kind == GPUC_RELAY_TOKEN_NAME && gpuc_relay_token_is(&next, "=")) {
            if (!op) gpuc_relay_parse_fail(p, &name, "only calls of operators have attributes");
            attrs = gpuc_relay_parse_attrs(p);
            break;
        }
        gpuc_ptrs_push(p->ctx, &args, parse_level(p, IN_PARENS));
        if (!gpuc_relay_parse_at(p, ")")) gpuc_relay_parse_expect(p, ",");
    }
    gpuc_relay_parse_expect(p, ")");
    gpuc_rexpr *const *list = (gpuc_rexpr *const *)args.at;
    if (op) return gpuc_relay_apply(p->ctx, op, attrs, (int)args.count, list);
    return at_place(p, &at, gpuc_relay_call(p->ctx, callee, NULL, (int)args.count, list));
}

static gpuc_rexpr *parse_atom(gpuc_relay_parser *p, const char **op)
{
    gpuc_relay_token at = p->token;
    switch (at.kind) {
    case GPUC_RELAY_TOKEN_LOCAL: return parse_local(p);
    case GPUC_RELAY_TOKEN_GRAPH: return parse_graph(p);
    case GPUC_RELAY_TOKEN_NUMBER: return gpuc_relay_parse_number(p, false);
    case GPUC_RELAY_TOKEN_GLOBAL:
        gpuc_relay_parse_advance(p);
        return gpuc_relay_global(p->ctx, gpuc_relay_parse_copy(p, &at, 1));
    case GPUC_RELAY_TOKEN_NAME:
        if (gpuc_relay_parse_accept(p, "fn")) return gpuc_relay_parse_function(p);
        if (gpuc_relay_parse_accept(p, "if")) return parse_if(p);
        if (gpuc_relay_parse_accept(p, "match")) return parse_match(p);
        if (gpuc_relay_parse_accept(p, "True")) return gpuc_relay_const_scalar(p->ctx, GPUC_BOOL, 1);
        if (gpuc_relay_parse_accept(p, "False")) return gpuc_relay_const_scalar(p->ctx, GPUC_BOOL, 0);
        if (gpuc_relay_parse_at_number(p)) return gpuc_relay_parse_number(p, false);
        if (gpuc_relay_parse_at(p, "meta")) return gpuc_relay_parse_meta(p);
        return parse_name(p, op);
    case GPUC_RELAY_TOKEN_PUNCT:
        if (gpuc_relay_parse_at(p, "(")) return parse_parens(p);
        if (gpuc_relay_parse_at(p, "{")) return parse_block(p);
        if (gpuc_relay_parse_accept(p, "-")) return gpuc_relay_parse_number(p, true);
        break;
    case GPUC_RELAY_TOKEN_END: gpuc_relay_parse_fail(p, &at, "an expression is expected, but the text ends");
    case GPUC_RELAY_TOKEN_STRING:
    case GPUC_RELAY_TOKEN_BAD: break;
    }
    gpuc_relay_parse_fail(p, &at, "an expression is expected, not '%.*s'",
                          at.length > 40 ? 40 : (int)at.length, at.at);
}

static gpuc_rexpr *parse_get(gpuc_relay_parser *p, gpuc_rexpr *tuple)
{
    /* ".0.1" has no number "0.1" in it: the digits are read here. */
    gpuc_relay_token at = p->token;
    char *end;
    if (at.at[1] < '0' || at.at[1] > '9')
        gpuc_relay_parse_fail(p, &at, "the number of a field follows the point");
    long index = strtol(at.at + 1, &end, 10);
    if (end - at.at > 6) gpuc_relay_parse_fail(p, &at, "a tuple has no such field");
    p->lexer.at = end;
    gpuc_relay_parse_advance(p);
    if (tuple->kind == GPUC_REXPR_TUPLE && index >= gpuc_as_rtuple(tuple)->n)
        gpuc_relay_parse_fail(p, &at, "the tuple has %d fields", gpuc_as_rtuple(tuple)->n);
    if (tuple->kind == GPUC_REXPR_TUPLE) return gpuc_relay_get(p->ctx, tuple, (int)index);
    const gpuc_rtype *t = tuple->type;
    tuple->type = NULL; /* inference checks it */
    gpuc_rexpr *e = gpuc_relay_get(p->ctx, tuple, (int)index);
    tuple->type = t;
    return e;
}

/* What follows an atom that was parsed: a value, or the name of an operator. */
static gpuc_rexpr *parse_postfix_of(gpuc_relay_parser *p, gpuc_relay_token at, gpuc_rexpr *e, const char *op)
{
    if (e) at_place(p, &at, e);
    for (;;) {
        gpuc_relay_token here = p->token;
        if (gpuc_relay_parse_at(p, "("))
            e = at_place(p, &at, parse_call(p, e, op));
        else if (gpuc_relay_parse_at(p, "."))
            e = at_place(p, &here, parse_get(p, e));
        else
            break;
        op = NULL;
    }
    if (e->kind != GPUC_REXPR_CONSTRUCTOR || gpuc_as_rconstructor(e)->constructor->n) return e;
    return at_place(p, &at, gpuc_relay_call(p->ctx, e, NULL, 0, NULL));
}

static gpuc_rexpr *parse_postfix(gpuc_relay_parser *p)
{
    gpuc_relay_token at = p->token;
    const char *op = NULL;
    gpuc_rexpr *e = parse_atom(p, &op);
    return parse_postfix_of(p, at, e, op);
}

/* ---- Operators ---- */

typedef struct operator_row {
    const char *text, *op;
    int precedence;
} operator_row;

static const operator_row operators[] = {
    {"*", "multiply", 12}, {"/", "divide", 12},     {"+", "add", 10},    {"-", "subtract", 10},
    {"<", "less", 8},      {"<=", "less_equal", 8}, {">", "greater", 8}, {">=", "greater_equal", 8},
    {"==", "equal", 7},    {"!=", "not_equal", 7},
};

static const operator_row *next_operator(const gpuc_relay_parser *p)
{
    if (p->token.kind != GPUC_RELAY_TOKEN_PUNCT) return NULL;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (gpuc_relay_parse_at(p, operators[i].text)) return &operators[i];
    return NULL;
}

typedef struct pending {
    const operator_row *row;
    gpuc_relay_token at;
    gpuc_rexpr *left;
} pending;

/* All operators bind to the left; a long chain needs no deep stack. e: the first operand. */
static gpuc_rexpr *parse_binary_of(gpuc_relay_parser *p, gpuc_rexpr *e)
{
    pending stack[8]; /* precedences rise: there are four of them */
    int n = 0;
    for (;; e = parse_postfix(p)) {
        const operator_row *row = next_operator(p);
        while (n && (!row || row->precedence <= stack[n - 1].row->precedence)) {
            pending *top = &stack[--n];
            gpuc_rexpr *args[] = {top->left, e};
            e = at_place(p, &top->at, gpuc_relay_apply(p->ctx, top->row->op, NULL, 2, args));
        }
        if (!row) return e;
        stack[n++] = (pending){row, p->token, e};
        gpuc_relay_parse_advance(p);
    }
}

static gpuc_rexpr *parse_binary(gpuc_relay_parser *p)
{
    return parse_binary_of(p, parse_postfix(p));
}

/* ---- Bindings ---- */

/* Only a name replaces what inference finds. */
static gpuc_expr named_size(gpuc_ctx *ctx, gpuc_expr size, void *arg)
{
    const gpuc_map *symbols = &((gpuc_relay_parser *)arg)->symbols.map;
    bool named = size->kind != GPUC_EXPR_VAR;
    for (uint32_t i = 0; i < symbols->count && !named; i++) named = symbols->entries[i].value == size;
    return named ? size : gpuc_int(ctx, 0);
}

/* "%1: T = e;": names in T are those of the sizes that nobody knows before e is computed. */
static void parse_written(gpuc_relay_parser *p, uintptr_t number)
{
    gpuc_relay_token at = p->token;
    p->names = GPUC_RELAY_NODE;
    const gpuc_rtype *t = gpuc_relay_parse_type(p);
    p->names = GPUC_RELAY_SAYS;
    gpuc_relay_parse_expect(p, "=");
    gpuc_rexpr *e = parse_binary(p), *result = gpuc_relay_result_of(e);
    if (!result) gpuc_relay_parse_fail(p, &at, "a type is written of a call, an if or a match");
    if (result->type_before) gpuc_relay_parse_fail(p, &at, "the type is written before");
    result->type_before = gpuc_relay_rtype_map_sizes(p->ctx, t, named_size, p);
    gpuc_relay_written *w = gpuc_new(p->ctx, gpuc_relay_written);
    *w = (gpuc_relay_written){result, t, gpuc_relay_parse_span(p, &at)};
    gpuc_ptrs_push(p->ctx, &p->module->written, w);
    gpuc_relay_parse_bind_graph(p, number, e);
}

/* One "%1 = e;", "%1: T = e;", "let %x = e;" or "e;" of a block; false: it was the last expression. A let that is open waits in
 * lets. */
static bool parse_binding(gpuc_relay_parser *p, gpuc_ptrs *lets, gpuc_rexpr **last)
{
    gpuc_relay_token at = p->token, next = gpuc_relay_parse_peek(p);
    bool typed = gpuc_relay_token_is(&next, ":");
    if (at.kind == GPUC_RELAY_TOKEN_GRAPH && (typed || gpuc_relay_token_is(&next, "="))) {
        uintptr_t number = graph_number(p, &at);
        gpuc_relay_parse_advance(p);
        gpuc_relay_parse_advance(p);
        if (typed)
            parse_written(p, number);
        else
            gpuc_relay_parse_bind_graph(p, number, parse_binary(p));
        gpuc_relay_parse_expect(p, ";");
        return true;
    }
    gpuc_rexpr *var;
    if (gpuc_relay_parse_accept(p, "let")) {
        gpuc_relay_token name = p->token;
        if (name.kind != GPUC_RELAY_TOKEN_LOCAL)
            gpuc_relay_parse_fail(p, &name, "a variable is expected, as %%x");
        gpuc_relay_parse_advance(p);
        const gpuc_rtype *t = gpuc_relay_parse_accept(p, ":") ? gpuc_relay_parse_type(p) : NULL;
        gpuc_relay_parse_expect(p, "=");
        size_t mark = gpuc_relay_parse_mark(p);
        var = gpuc_relay_parse_bind(p, gpuc_relay_parse_copy(p, &name, 1), t, &name);
        const gpuc_relay_binding *own = p->scope.at[mark];
        gpuc_relay_token begin = p->token;
        gpuc_rexpr *value = NULL;
        if (gpuc_relay_parse_accept(p, "fn")) value = gpuc_relay_parse_function(p); /* it may call itself */
        gpuc_relay_parse_leave(p, mark); /* what follows it does not see the variable yet */
        value = value ? parse_binary_of(p, parse_postfix_of(p, begin, value, NULL)) : parse_binary(p);
        if (own->used && value->kind != GPUC_REXPR_FUNCTION)
            gpuc_relay_parse_fail(p, &name, "the value of '%%%s' refers to it: only a function may",
                                  own->name);
        gpuc_relay_parse_rebind(p, var);
        gpuc_relay_parse_expect(p, ";");
        gpuc_ptrs_push(p->ctx, lets, at_place(p, &at, gpuc_relay_let(p->ctx, var, value, value)));
        return true;
    }
    gpuc_rexpr *e = parse_binary(p);
    if (!gpuc_relay_parse_accept(p, ";")) {
        *last = e;
        return false;
    }
    var = gpuc_relay_var(p->ctx, "_", NULL);
    gpuc_ptrs_push(p->ctx, lets, at_place(p, &at, gpuc_relay_let(p->ctx, var, e, e)));
    return true;
}

static gpuc_rexpr *parse_level(gpuc_relay_parser *p, int max)
{
    gpuc_ptrs lets = {0};
    gpuc_rexpr *e = NULL;
    size_t mark = gpuc_relay_parse_mark(p);
    gpuc_relay_parse_deeper(p, &p->depth, max);
    while (parse_binding(p, &lets, &e)) continue;
    for (size_t i = lets.count; i > 0; i--) {
        gpuc_rlet *l = lets.at[i - 1];
        l->body = e;
        l->base.type = NULL;
        e = &l->base;
    }
    gpuc_relay_parse_leave(p, mark);
    p->depth--;
    return e;
}
