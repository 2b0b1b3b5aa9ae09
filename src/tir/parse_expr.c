/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the expressions of loop IR. */
#include <math.h>
#include <string.h>

#include "tir/fold.h"
#include "tir/ops.h"
#include "tir/parse.h"

static gpuc_expr parse_unary(gpuc_tir_parser *p);

/* ---- Literals ----------------------------------------------------------------------------------------- */

static bool is_number(const gpuc_tir_token *t)
{
    return t->kind == GPUC_TOKEN_INT || t->kind == GPUC_TOKEN_FLOAT || gpuc_tir_token_is(t, "inf") ||
           gpuc_tir_token_is(t, "nan");
}

static double number_value(gpuc_tir_parser *p, const gpuc_tir_token *t)
{
    if (gpuc_tir_token_is(t, "inf")) return (double)INFINITY;
    if (gpuc_tir_token_is(t, "nan")) return (double)NAN;
    return gpuc_tir_parse_float(p->ctx, t->at, t->length);
}

/* type NULL: int64 or float32 by the look of it. */
static gpuc_expr make_number(gpuc_tir_parser *p, const gpuc_tir_token *t, bool negative,
                             const gpuc_dtype *type)
{
    if (t->kind == GPUC_TOKEN_INT && !(type && gpuc_is_float(*type))) {
        if (!type && t->value > (uint64_t)INT64_MAX + negative)
            gpuc_tir_parse_fail(p, t, "the integer does not fit in int64; write uint64(%.*s)", (int)t->length,
                                t->at);
        return gpuc_imm_int(p->ctx, type ? *type : GPUC_INDEX, (int64_t)(negative ? 0 - t->value : t->value));
    }
    double v = number_value(p, t);
    return gpuc_imm(p->ctx, type ? *type : GPUC_FLOAT32, negative ? -v : v);
}

/* "float16(-0.5)" is exact, not a cast of a float32. Leaves everything as it was if it is not that. */
static gpuc_expr parse_typed_number(gpuc_tir_parser *p, gpuc_dtype type)
{
    gpuc_tir_lexer lexer = p->lexer;
    gpuc_tir_token token = p->token;
    bool negative = gpuc_tir_parse_accept(p, "-");
    gpuc_tir_token number = p->token;
    if (is_number(&number)) {
        gpuc_tir_parse_advance(p);
        if (gpuc_tir_token_is(&p->token, ")")) return make_number(p, &number, negative, &type);
    }
    p->lexer = lexer;
    p->token = token;
    return NULL;
}

/* ---- Primaries ---------------------------------------------------------------------------------------- */

void gpuc_tir_parse_exprs(gpuc_tir_parser *p, const char *closing, gpuc_ptrs *out)
{
    if (!gpuc_tir_token_is(&p->token, closing)) {
        do gpuc_ptrs_push(p->ctx, out, gpuc_tir_parse_expr(p));
        while (gpuc_tir_parse_accept(p, ","));
    }
    p->brackets--;
    gpuc_tir_parse_expect(p, closing);
}

static void open(gpuc_tir_parser *p, const char *bracket)
{
    p->brackets++;
    gpuc_tir_parse_expect(p, bracket);
}

static void close_paren(gpuc_tir_parser *p)
{
    p->brackets--;
    gpuc_tir_parse_expect(p, ")");
}

static gpuc_expr parse_cast(gpuc_tir_parser *p, gpuc_dtype type)
{
    open(p, "(");
    gpuc_expr e = parse_typed_number(p, type);
    if (!e) e = gpuc_cast(p->ctx, type, gpuc_tir_parse_expr(p));
    close_paren(p);
    return e;
}

static gpuc_expr parse_op_call(gpuc_tir_parser *p, gpuc_tir_op op)
{
    gpuc_tir_token at = p->token;
    gpuc_ptrs args = {0};
    open(p, "(");
    gpuc_tir_parse_exprs(p, ")", &args);
    int arity = gpuc_tir_ops[op].arity;
    if ((int)args.count != arity)
        gpuc_tir_parse_fail(p, &at, "'%s' takes %d operands, not %zu", gpuc_tir_ops[op].text, arity,
                            args.count);
    return gpuc_tir_make(p->ctx, op, args.at[0], arity > 1 ? args.at[1] : NULL,
                         arity > 2 ? args.at[2] : NULL);
}

static gpuc_expr parse_intrin(gpuc_tir_parser *p, gpuc_tir_intrin fn)
{
    gpuc_dtype type = {0};
    const char *name = NULL;
    const gpuc_tir_buffer *buffer = NULL;
    gpuc_ptrs args = {0};
    bool typed = gpuc_tir_parse_accept(p, "<");
    if (typed) {
        type = gpuc_tir_parse_type(p);
        gpuc_tir_parse_expect(p, ">");
    }
    open(p, "(");
    if (p->token.kind == GPUC_TOKEN_STRING) {
        name = gpuc_tir_parse_string(p);
        if (!gpuc_tir_token_is(&p->token, ")")) gpuc_tir_parse_expect(p, ",");
    }
    if (gpuc_tir_parse_accept(p, "&")) {
        gpuc_tir_token at = p->token;
        const char *word = gpuc_tir_parse_word(p, "a buffer");
        const gpuc_tir_symbol *symbol = gpuc_tir_parse_find(p, word);
        if (!symbol || !symbol->buffer) gpuc_tir_parse_fail(p, &at, "there is no buffer '%s' here", word);
        buffer = symbol->buffer;
        if (!gpuc_tir_token_is(&p->token, ")")) gpuc_tir_parse_expect(p, ",");
    }
    gpuc_tir_parse_exprs(p, ")", &args);
    const gpuc_expr *list = (const gpuc_expr *)args.at;
    if (!typed) type = gpuc_tir_call_default_type(fn, buffer, (int)args.count, list);
    return gpuc_tir_call(p->ctx, type, fn, name, buffer, (int)args.count, list);
}

static gpuc_expr parse_vector_word(gpuc_tir_parser *p, const char *word)
{
    gpuc_expr e;
    open(p, "(");
    if (strcmp(word, "vector") == 0) {
        gpuc_tir_token at = p->token;
        gpuc_ptrs items = {0};
        gpuc_tir_parse_exprs(p, ")", &items);
        if (items.count == 0 || items.count > UINT16_MAX)
            gpuc_tir_parse_fail(p, &at, "a vector of %zu lanes", items.count);
        return gpuc_tir_vector(p->ctx, (int)items.count, (const gpuc_expr *)items.at);
    }
    e = gpuc_tir_parse_expr(p);
    gpuc_tir_parse_expect(p, ",");
    if (strcmp(word, "broadcast") == 0) {
        e = gpuc_tir_broadcast(p->ctx, e, gpuc_tir_parse_count(p, "lanes", UINT16_MAX));
    } else if (strcmp(word, "lane") == 0) {
        e = gpuc_tir_lane(p->ctx, e, gpuc_tir_parse_count(p, "a lane", UINT16_MAX));
    } else {
        gpuc_expr stride = gpuc_tir_parse_expr(p);
        gpuc_tir_parse_expect(p, ",");
        e = gpuc_tir_ramp(p->ctx, e, stride, gpuc_tir_parse_count(p, "lanes", UINT16_MAX));
    }
    close_paren(p);
    return e;
}

static gpuc_expr parse_symbol(gpuc_tir_parser *p, const gpuc_tir_token *at, const char *word)
{
    const gpuc_tir_symbol *symbol = gpuc_tir_parse_find(p, word);
    if (!symbol) gpuc_tir_parse_fail(p, at, "'%s' is not defined here", word);
    if (symbol->var) return symbol->var;
    gpuc_ptrs index = {0};
    open(p, "[");
    gpuc_tir_parse_exprs(p, "]", &index);
    return gpuc_tir_load(p->ctx, symbol->buffer, (int)index.count, (const gpuc_expr *)index.at);
}

static gpuc_expr parse_word_expr(gpuc_tir_parser *p)
{
    gpuc_tir_token at = p->token;
    gpuc_dtype type;
    gpuc_tir_op op;
    gpuc_tir_intrin fn;
    const char *word = gpuc_tir_parse_word(p, "an expression");
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
        return gpuc_imm_int(p->ctx, GPUC_BOOL, word[0] == 't');
    if (gpuc_dtype_parse(word, &type)) return parse_cast(p, type);
    if (strcmp(word, "ramp") == 0 || strcmp(word, "broadcast") == 0 || strcmp(word, "lane") == 0 ||
        strcmp(word, "vector") == 0)
        return parse_vector_word(p, word);
    if (gpuc_tir_op_find(word, &op)) return parse_op_call(p, op);
    if (gpuc_tir_intrin_find(word, &fn)) return parse_intrin(p, fn);
    return parse_symbol(p, &at, word);
}

static gpuc_expr parse_primary(gpuc_tir_parser *p)
{
    gpuc_tir_token at = p->token;
    if (is_number(&at)) {
        gpuc_tir_parse_advance(p);
        return make_number(p, &at, false, NULL);
    }
    if (at.kind == GPUC_TOKEN_NAME) return parse_word_expr(p);
    if (gpuc_tir_token_is(&at, "(")) {
        open(p, "(");
        gpuc_expr e = gpuc_tir_parse_expr(p);
        close_paren(p);
        return e;
    }
    if (gpuc_tir_parse_accept(p, "%")) {
        int number = gpuc_tir_parse_count(p, "the number of an abbreviation", INT32_MAX);
        if (number < 1 || (size_t)number > p->aliases.count)
            gpuc_tir_parse_fail(p, &at, "%%%d is not defined", number);
        return p->aliases.at[number - 1];
    }
    gpuc_tir_parse_fail(p, &at, "an expression is expected, not '%.*s'", (int)at.length, at.at);
}

/* ---- Operators ---------------------------------------------------------------------------------------- */

static gpuc_expr negate(gpuc_ctx *ctx, gpuc_expr e)
{
    gpuc_expr zero = gpuc_is_float(e->dtype) ? gpuc_imm(ctx, e->dtype, -0.0) : gpuc_imm_int(ctx, e->dtype, 0);
    return gpuc_sub(ctx, zero, e);
}

static gpuc_expr parse_unary(gpuc_tir_parser *p)
{
    gpuc_expr e;
    gpuc_tir_parse_deeper(p, &p->depth);
    if (gpuc_tir_parse_accept(p, "!")) {
        e = gpuc_not(p->ctx, parse_unary(p));
    } else if (gpuc_tir_parse_accept(p, "-")) {
        gpuc_tir_token at = p->token;
        if (is_number(&at)) {
            gpuc_tir_parse_advance(p);
            e = make_number(p, &at, true, NULL);
        } else {
            e = negate(p->ctx, parse_unary(p));
        }
    } else {
        e = parse_primary(p);
    }
    p->depth--;
    return e;
}

/* The infix operator that the next token is, if it belongs to this expression. > and >= are < and <= with
 * their operands swapped. */
static bool next_operator(const gpuc_tir_parser *p, gpuc_tir_op *op, bool *swap)
{
    const gpuc_tir_token *t = &p->token;
    char text[3] = {0};
    if (t->kind != GPUC_TOKEN_PUNCT || (t->first && p->brackets == 0)) return false;
    memcpy(text, t->at, t->length);
    *swap = text[0] == '>';
    if (*swap) text[0] = '<';
    return gpuc_tir_op_find(text, op) && gpuc_tir_op_precedence(*op) > 0;
}

static gpuc_expr parse_infix(gpuc_tir_parser *p, int min_prec)
{
    gpuc_expr x = parse_unary(p);
    gpuc_tir_op op;
    bool swap;
    while (next_operator(p, &op, &swap) && (int)gpuc_tir_op_precedence(op) >= min_prec) {
        gpuc_tir_parse_advance(p);
        gpuc_expr y = parse_infix(p, (int)gpuc_tir_op_precedence(op) + 1);
        x = gpuc_tir_make(p->ctx, op, swap ? y : x, swap ? x : y, NULL);
    }
    return x;
}

gpuc_expr gpuc_tir_parse_expr(gpuc_tir_parser *p)
{
    return parse_infix(p, 1);
}
