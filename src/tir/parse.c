/* SPDX-License-Identifier: Apache-2.0 */
/* Parses loop IR: functions, buffers and statements. */
#include "tir/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Tokens -------------------------------------------------------------------------------------------- */

void gpuc_tir_parse_fail(gpuc_tir_parser *p, const gpuc_tir_token *at, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    p->located = true;
    p->wrong = *at;
    gpuc_raise(p->ctx, GPUC_INVALID_DATA, "%s:%d:%d: %s", p->origin, at->line, at->column, text);
}

void gpuc_tir_parse_advance(gpuc_tir_parser *p)
{
    p->token = gpuc_tir_lexer_next(&p->lexer);
    if (p->token.kind == GPUC_TOKEN_BAD) gpuc_tir_parse_fail(p, &p->token, "%s", p->token.wrong);
}

bool gpuc_tir_parse_accept(gpuc_tir_parser *p, const char *text)
{
    if (!gpuc_tir_token_is(&p->token, text)) return false;
    gpuc_tir_parse_advance(p);
    return true;
}

void gpuc_tir_parse_expect(gpuc_tir_parser *p, const char *text)
{
    const gpuc_tir_token *t = &p->token;
    if (gpuc_tir_parse_accept(p, text)) return;
    if (t->kind == GPUC_TOKEN_END) gpuc_tir_parse_fail(p, t, "'%s' is expected, but the text ends", text);
    gpuc_tir_parse_fail(p, t, "'%s' is expected, not '%.*s'", text, t->length > 40 ? 40 : (int)t->length,
                        t->at);
}

static char *copy_text(gpuc_tir_parser *p, const char *at, size_t length)
{
    char *text = gpuc_ctx_alloc(p->ctx, length + 1);
    memcpy(text, at, length);
    return text;
}

char *gpuc_tir_parse_word(gpuc_tir_parser *p, const char *what)
{
    gpuc_tir_token t = p->token;
    if (t.kind != GPUC_TOKEN_NAME)
        gpuc_tir_parse_fail(p, &t, "%s is expected, not '%.*s'", what, t.length > 40 ? 40 : (int)t.length,
                            t.at);
    gpuc_tir_parse_advance(p);
    return copy_text(p, t.at, t.length);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

char *gpuc_tir_parse_string(gpuc_tir_parser *p)
{
    gpuc_tir_token t = p->token;
    if (t.kind != GPUC_TOKEN_STRING) gpuc_tir_parse_fail(p, &t, "a string in double quotes is expected");
    char *text = copy_text(p, t.at + 1, t.length - 2), *out = text;
    for (const char *in = text; *in; in++) {
        if (*in != '\\') {
            *out++ = *in;
        } else if (*++in == 'n') {
            *out++ = '\n';
        } else if (*in == 'x') {
            int high = hex_digit(in[1]), low = high < 0 ? -1 : hex_digit(in[2]);
            if (low < 0 || high + low == 0)
                gpuc_tir_parse_fail(p, &t, "\\x needs two hexadecimal digits, not 00");
            *out++ = (char)(high * 16 + low);
            in += 2;
        } else {
            *out++ = *in;
        }
    }
    *out = 0;
    gpuc_tir_parse_advance(p);
    return text;
}

gpuc_dtype gpuc_tir_parse_type(gpuc_tir_parser *p)
{
    gpuc_tir_token at = p->token;
    gpuc_dtype t;
    const char *word = gpuc_tir_parse_word(p, "a type");
    if (!gpuc_dtype_parse(word, &t)) gpuc_tir_parse_fail(p, &at, "'%s' is not a type", word);
    return t;
}

int gpuc_tir_parse_count(gpuc_tir_parser *p, const char *what, int limit)
{
    gpuc_tir_token t = p->token;
    if (t.kind != GPUC_TOKEN_INT || t.value > (uint64_t)limit)
        gpuc_tir_parse_fail(p, &t, "%s: a number up to %d is expected", what, limit);
    gpuc_tir_parse_advance(p);
    return (int)t.value;
}

void gpuc_tir_parse_deeper(gpuc_tir_parser *p, int *depth)
{
    if (++*depth > GPUC_TIR_PARSE_DEPTH)
        gpuc_tir_parse_fail(p, &p->token, "nested more than %d deep", GPUC_TIR_PARSE_DEPTH);
}

/* ---- Scopes -------------------------------------------------------------------------------------------- */

gpuc_tir_symbol *gpuc_tir_parse_find(gpuc_tir_parser *p, const char *name)
{
    return gpuc_strmap_get(&p->symbols, name);
}

static void define(gpuc_tir_parser *p, const gpuc_tir_token *at, const char *name, gpuc_expr var,
                   const gpuc_tir_buffer *buffer)
{
    if (gpuc_tir_is_reserved(name))
        gpuc_tir_parse_fail(p, at, "'%s' is a word of the language, not a name", name);
    if (gpuc_tir_parse_find(p, name)) gpuc_tir_parse_fail(p, at, "'%s' is defined already", name);
    gpuc_tir_symbol *symbol = gpuc_new(p->ctx, gpuc_tir_symbol);
    *symbol = (gpuc_tir_symbol){.var = var, .buffer = buffer};
    gpuc_strmap_set(&p->symbols, name, symbol);
}

static gpuc_expr define_var(gpuc_tir_parser *p, const gpuc_tir_token *at, const char *name, gpuc_dtype t)
{
    gpuc_expr var = gpuc_var(p->ctx, name, t);
    define(p, at, name, var, NULL);
    return var;
}

static void undefine(gpuc_tir_parser *p, const char *name)
{
    gpuc_strmap_set(&p->symbols, name, NULL);
}

static const gpuc_expr *take_list(gpuc_tir_parser *p, const gpuc_ptrs *list)
{
    return gpuc_ctx_memdup(p->ctx, list->at, list->count * sizeof *list->at);
}

/* ---- Buffers ------------------------------------------------------------------------------------------- */

/* Parses "word(a, b, ...)" of n numbers; NULL if the word is not there. */
static const gpuc_expr *parse_numbers(gpuc_tir_parser *p, const char *word, const char *name, int n)
{
    gpuc_tir_token at = p->token;
    gpuc_ptrs numbers = {0};
    if (!gpuc_tir_parse_accept(p, word)) return NULL;
    p->brackets++;
    gpuc_tir_parse_expect(p, "(");
    gpuc_tir_parse_exprs(p, ")", &numbers);
    if ((int)numbers.count != n)
        gpuc_tir_parse_fail(p, &at, "'%s' has %d dimensions and %zu %s", name, n, numbers.count, word);
    return take_list(p, &numbers);
}

/* Parses what follows the name of a buffer: ": float32[n, 4] shared strides(5, 1) double_buffer non_temporal
 * require_scope". */
static gpuc_tir_buffer *parse_buffer_type(gpuc_tir_parser *p, const char *name)
{
    gpuc_ptrs shape = {0};
    gpuc_scope scope;
    gpuc_tir_parse_expect(p, ":");
    gpuc_dtype t = gpuc_tir_parse_type(p);
    p->brackets++;
    gpuc_tir_parse_expect(p, "[");
    gpuc_tir_parse_exprs(p, "]", &shape);
    gpuc_tir_token at = p->token;
    const char *word = gpuc_tir_parse_word(p, "a storage scope");
    if (!gpuc_scope_parse(word, &scope)) gpuc_tir_parse_fail(p, &at, "'%s' is not a storage scope", word);
    gpuc_tir_buffer *b =
        gpuc_tir_buffer_make(p->ctx, name, t, (int)shape.count, (const gpuc_expr *)shape.at, scope);
    b->strides = parse_numbers(p, "strides", name, b->ndim);
    b->image = parse_numbers(p, "image", name, 3);
    b->double_buffer = gpuc_tir_parse_accept(p, "double_buffer");
    b->non_temporal = gpuc_tir_parse_accept(p, "non_temporal");
    b->require_scope = gpuc_tir_parse_accept(p, "require_scope");
    return b;
}

/* ---- Statements ---------------------------------------------------------------------------------------- */

static gpuc_stmt parse_block(gpuc_tir_parser *p);

static void parse_loop_kind(gpuc_tir_parser *p, gpuc_loop_kind *kind, gpuc_thread_tag *tag)
{
    *kind = GPUC_LOOP_SERIAL;
    *tag = GPUC_THREAD_NONE;
    for (int k = 0; k < GPUC_LOOP_KIND_COUNT; k++)
        if (gpuc_tir_parse_accept(p, gpuc_tir_loop_names[k])) *kind = (gpuc_loop_kind)k;
    if (*kind != GPUC_LOOP_THREAD) return;
    gpuc_tir_token at = p->token;
    const char *word = gpuc_tir_parse_word(p, "a thread axis");
    if (!gpuc_thread_tag_parse(word, tag) || *tag == GPUC_THREAD_NONE)
        gpuc_tir_parse_fail(p, &at, "'%s' is not a thread axis", word);
}

static gpuc_stmt parse_for(gpuc_tir_parser *p)
{
    gpuc_tir_token at = p->token;
    const char *name = gpuc_tir_parse_word(p, "a loop variable");
    gpuc_dtype t = gpuc_tir_parse_accept(p, ":") ? gpuc_tir_parse_type(p) : GPUC_INDEX;
    gpuc_tir_parse_expect(p, "in");
    gpuc_expr min = gpuc_tir_parse_expr(p);
    gpuc_tir_parse_expect(p, "..");
    bool relative = gpuc_tir_parse_accept(p, "+");
    gpuc_expr extent = gpuc_tir_parse_expr(p);
    if (!relative && !gpuc_tir_is_const(min, 0)) extent = gpuc_sub(p->ctx, extent, min);
    gpuc_loop_kind kind;
    gpuc_thread_tag tag;
    parse_loop_kind(p, &kind, &tag);
    gpuc_expr var = define_var(p, &at, name, t);
    gpuc_stmt body = parse_block(p);
    undefine(p, name);
    return gpuc_tir_for_(p->ctx, var, min, extent, kind, tag, body);
}

static gpuc_stmt parse_if(gpuc_tir_parser *p)
{
    gpuc_tir_parse_deeper(p, &p->blocks);
    gpuc_expr cond = gpuc_tir_parse_expr(p);
    gpuc_stmt then_body = parse_block(p), else_body = NULL;
    if (gpuc_tir_parse_accept(p, "else"))
        else_body = gpuc_tir_parse_accept(p, "if") ? parse_if(p) : parse_block(p);
    p->blocks--;
    return gpuc_tir_if_(p->ctx, cond, then_body, else_body);
}

static int parse_reducer_vars(gpuc_tir_parser *p, gpuc_ptrs *vars, gpuc_ptrs *names)
{
    do {
        gpuc_tir_token at = p->token;
        char *name = gpuc_tir_parse_word(p, "a variable");
        gpuc_tir_parse_expect(p, ":");
        gpuc_ptrs_push(p->ctx, vars, define_var(p, &at, name, gpuc_tir_parse_type(p)));
        gpuc_ptrs_push(p->ctx, names, name);
    } while (gpuc_tir_parse_accept(p, ","));
    gpuc_tir_parse_expect(p, ";");
    return (int)vars->count;
}

static const gpuc_tir_reducer *parse_reducer(gpuc_tir_parser *p)
{
    gpuc_tir_token at = p->token;
    const char *name = gpuc_tir_parse_word(p, "a reducer");
    if (!gpuc_tir_token_is(&p->token, "(")) return gpuc_tir_reducer_get(p->ctx, name, gpuc_tir_parse_type(p));
    p->brackets++;
    gpuc_tir_parse_expect(p, "(");
    gpuc_ptrs lhs = {0}, rhs = {0}, result = {0}, identity = {0}, names = {0};
    int count = parse_reducer_vars(p, &lhs, &names);
    bool fits = parse_reducer_vars(p, &rhs, &names) == count;
    do gpuc_ptrs_push(p->ctx, &result, gpuc_tir_parse_expr(p));
    while (gpuc_tir_parse_accept(p, ","));
    gpuc_tir_parse_expect(p, ";");
    gpuc_tir_parse_exprs(p, ")", &identity);
    if (!fits || (int)result.count != count || (int)identity.count != count)
        gpuc_tir_parse_fail(p, &at, "the four parts of the reducer '%s' differ in number", name);
    for (size_t i = 0; i < names.count; i++) undefine(p, names.at[i]);
    gpuc_tir_reducer *r = gpuc_new(p->ctx, gpuc_tir_reducer);
    *r = (gpuc_tir_reducer){.name = name,
                            .count = count,
                            .lhs = take_list(p, &lhs),
                            .rhs = take_list(p, &rhs),
                            .result = take_list(p, &result),
                            .identity = take_list(p, &identity)};
    return r;
}

static gpuc_stmt parse_attr(gpuc_tir_parser *p)
{
    const char *key = gpuc_tir_parse_word(p, "a key");
    const char *text = p->token.kind == GPUC_TOKEN_STRING ? gpuc_tir_parse_string(p) : NULL;
    gpuc_expr value = gpuc_tir_parse_accept(p, "=") ? gpuc_tir_parse_expr(p) : NULL;
    const gpuc_tir_reducer *reducer = gpuc_tir_parse_accept(p, "with") ? parse_reducer(p) : NULL;
    return gpuc_tir_attr(p->ctx, key, text, value, reducer, parse_block(p));
}

static gpuc_stmt parse_store_or_eval(gpuc_tir_parser *p)
{
    gpuc_tir_token at = p->token;
    gpuc_expr e = gpuc_tir_parse_expr(p);
    if (!gpuc_tir_token_is(&p->token, "=") || p->token.first) return gpuc_tir_eval(p->ctx, e);
    if (e->kind != GPUC_EXPR_LOAD)
        gpuc_tir_parse_fail(p, &at, "only an element of a buffer can be stored to");
    gpuc_tir_parse_expect(p, "=");
    const gpuc_tir_load_node *n = gpuc_as_load(e);
    return gpuc_tir_store(p->ctx, n->buffer, n->n, n->index, gpuc_tir_parse_expr(p));
}

static void parse_alias(gpuc_tir_parser *p)
{
    gpuc_tir_token at = p->token;
    size_t number = (size_t)gpuc_tir_parse_count(p, "the number of an abbreviation", INT32_MAX);
    if (number < 1 || number > p->aliases.count + 1)
        gpuc_tir_parse_fail(p, &at, "abbreviations are numbered in order; the next is %%%zu",
                            p->aliases.count + 1);
    gpuc_tir_parse_expect(p, "=");
    gpuc_expr e = gpuc_tir_parse_expr(p);
    if (number > p->aliases.count)
        gpuc_ptrs_push(p->ctx, &p->aliases, e);
    else
        p->aliases.at[number - 1] = (void *)e;
}

/* A let or an alloc, whose body is the rest of the block: statements from number start on. */
typedef struct scope_opener {
    const char *name;
    gpuc_expr var, value;
    const gpuc_tir_buffer *buffer;
    size_t start;
} scope_opener;

static scope_opener *parse_let(gpuc_tir_parser *p)
{
    scope_opener *o = gpuc_new(p->ctx, scope_opener);
    gpuc_tir_token at = p->token;
    o->name = gpuc_tir_parse_word(p, "a variable");
    gpuc_dtype t = {0};
    if (gpuc_tir_parse_accept(p, ":")) t = gpuc_tir_parse_type(p);
    gpuc_tir_parse_expect(p, "=");
    o->value = gpuc_tir_parse_expr(p);
    o->var = define_var(p, &at, o->name, t.lanes ? t : o->value->dtype);
    return o;
}

static scope_opener *parse_alloc(gpuc_tir_parser *p)
{
    scope_opener *o = gpuc_new(p->ctx, scope_opener);
    gpuc_tir_token at = p->token;
    o->name = gpuc_tir_parse_word(p, "a buffer");
    o->buffer = parse_buffer_type(p, o->name);
    define(p, &at, o->name, NULL, o->buffer);
    return o;
}

static gpuc_stmt close_scopes(gpuc_tir_parser *p, gpuc_ptrs *stmts, gpuc_ptrs *openers)
{
    while (openers->count) {
        const scope_opener *o = openers->at[--openers->count];
        gpuc_stmt body = gpuc_tir_seq(p->ctx, (int)(stmts->count - o->start),
                                      stmts->count ? (const gpuc_stmt *)stmts->at + o->start : NULL);
        stmts->count = o->start;
        gpuc_ptrs_push(p->ctx, stmts,
                       o->buffer ? gpuc_tir_alloc(p->ctx, o->buffer, body)
                                 : gpuc_tir_let(p->ctx, o->var, o->value, body));
        undefine(p, o->name);
    }
    return gpuc_tir_seq(p->ctx, (int)stmts->count, (const gpuc_stmt *)stmts->at);
}

static gpuc_stmt parse_stmt(gpuc_tir_parser *p)
{
    if (gpuc_tir_parse_accept(p, "for")) return parse_for(p);
    if (gpuc_tir_parse_accept(p, "if")) return parse_if(p);
    if (gpuc_tir_parse_accept(p, "attr")) return parse_attr(p);
    if (gpuc_tir_token_is(&p->token, "{")) return parse_block(p);
    return parse_store_or_eval(p);
}

static gpuc_stmt parse_block(gpuc_tir_parser *p)
{
    gpuc_ptrs stmts = {0}, openers = {0};
    gpuc_tir_parse_deeper(p, &p->blocks);
    gpuc_tir_parse_expect(p, "{");
    while (!gpuc_tir_parse_accept(p, "}")) {
        gpuc_tir_token at = p->token;
        scope_opener *opener = NULL;
        if (gpuc_tir_parse_accept(p, ";")) continue;
        if (gpuc_tir_parse_accept(p, "%"))
            parse_alias(p);
        else if (gpuc_tir_parse_accept(p, "let"))
            opener = parse_let(p);
        else if (gpuc_tir_parse_accept(p, "alloc"))
            opener = parse_alloc(p);
        else
            gpuc_ptrs_push(p->ctx, &stmts, parse_stmt(p));
        if (opener) {
            opener->start = stmts.count;
            gpuc_ptrs_push(p->ctx, &openers, opener);
        }
        const gpuc_tir_token *next = &p->token;
        if (!next->first && !gpuc_tir_token_is(next, "}") && !gpuc_tir_token_is(next, ";") &&
            next->kind != GPUC_TOKEN_END)
            gpuc_tir_parse_fail(
                p, next, "a new line is expected after the statement that starts at column %d", at.column);
    }
    p->blocks--;
    return close_scopes(p, &stmts, &openers);
}

/* ---- Functions ----------------------------------------------------------------------------------------- */

/* Scalars first, since shapes of the buffers before them are written with them. */
static void parse_scalars(gpuc_tir_parser *p, gpuc_ptrs *scalars)
{
    gpuc_tir_lexer lexer = p->lexer;
    gpuc_tir_token token = p->token;
    int depth = 1;
    while (depth > 0) {
        gpuc_tir_token at = p->token;
        if (at.kind == GPUC_TOKEN_END) gpuc_tir_parse_fail(p, &at, "the list of parameters does not end");
        if (gpuc_tir_token_is(&at, "(") || gpuc_tir_token_is(&at, "[")) depth++;
        if (gpuc_tir_token_is(&at, ")") || gpuc_tir_token_is(&at, "]")) depth--;
        gpuc_tir_parse_advance(p);
        if (depth != 1 || at.kind != GPUC_TOKEN_NAME || !gpuc_tir_parse_accept(p, ":")) continue;
        gpuc_dtype t = gpuc_tir_parse_type(p);
        if (gpuc_tir_token_is(&p->token, "[")) continue;
        gpuc_ptrs_push(p->ctx, scalars, define_var(p, &at, copy_text(p, at.at, at.length), t));
    }
    p->lexer = lexer;
    p->token = token;
}

static void parse_params(gpuc_tir_parser *p, gpuc_tir_func *f)
{
    gpuc_ptrs buffers = {0}, scalars = {0};
    p->brackets++;
    gpuc_tir_parse_expect(p, "(");
    parse_scalars(p, &scalars);
    while (!gpuc_tir_token_is(&p->token, ")")) {
        gpuc_tir_token at = p->token;
        const char *name = gpuc_tir_parse_word(p, "a parameter");
        const gpuc_tir_symbol *symbol = gpuc_tir_parse_find(p, name);
        if (symbol && symbol->var) {
            gpuc_tir_parse_expect(p, ":");
            gpuc_tir_parse_type(p);
            if (gpuc_tir_token_is(&p->token, "["))
                gpuc_tir_parse_fail(p, &at, "'%s' is defined already", name);
        } else {
            gpuc_tir_buffer *b = parse_buffer_type(p, name);
            define(p, &at, name, NULL, b);
            gpuc_ptrs_push(p->ctx, &buffers, b);
        }
        if (!gpuc_tir_parse_accept(p, ",")) break;
    }
    p->brackets--;
    gpuc_tir_parse_expect(p, ")");
    f->num_buffers = (int)buffers.count;
    f->buffers = (gpuc_tir_buffer *const *)buffers.at;
    f->num_scalars = (int)scalars.count;
    f->scalars = (const gpuc_expr *)scalars.at;
}

static void parse_threads(gpuc_tir_parser *p, gpuc_tir_func *f)
{
    gpuc_tir_thread *threads = NULL;
    size_t count = 0, capacity = 0;
    p->brackets++;
    gpuc_tir_parse_expect(p, "(");
    do {
        gpuc_tir_token at = p->token;
        gpuc_tir_thread t = {0};
        const char *name = gpuc_tir_parse_word(p, "a thread variable");
        gpuc_dtype type = gpuc_tir_parse_accept(p, ":") ? gpuc_tir_parse_type(p) : GPUC_INDEX;
        t.var = define_var(p, &at, name, type);
        gpuc_tir_parse_expect(p, "=");
        at = p->token;
        const char *tag = gpuc_tir_parse_word(p, "a thread axis");
        if (!gpuc_thread_tag_parse(tag, &t.tag) || t.tag == GPUC_THREAD_NONE)
            gpuc_tir_parse_fail(p, &at, "'%s' is not a thread axis", tag);
        gpuc_tir_parse_expect(p, "of");
        t.extent = gpuc_tir_parse_expr(p);
        threads = gpuc_ctx_grow(p->ctx, threads, count, &capacity, sizeof *threads);
        threads[count++] = t;
    } while (gpuc_tir_parse_accept(p, ","));
    p->brackets--;
    gpuc_tir_parse_expect(p, ")");
    f->threads = threads;
    f->num_threads = (int)count;
}

static void parse_stage(gpuc_tir_parser *p, gpuc_tir_func *f)
{
    gpuc_tir_token at = p->token;
    const char *word = gpuc_tir_parse_word(p, "a stage");
    for (int i = 0; i < 4; i++)
        if (strcmp(word, gpuc_tir_stage_names[i]) == 0) {
            f->stage = (gpuc_tir_stage)i;
            return;
        }
    gpuc_tir_parse_fail(p, &at, "'%s' is not a stage; there are nested, flat, kernel, target", word);
}

static gpuc_tir_func *parse_func(gpuc_tir_parser *p)
{
    gpuc_tir_func *f = gpuc_new(p->ctx, gpuc_tir_func);
    gpuc_tir_parse_expect(p, "func");
    f->name = gpuc_tir_parse_word(p, "the name of the function");
    parse_params(p, f);
    while (!gpuc_tir_token_is(&p->token, "{")) {
        if (gpuc_tir_parse_accept(p, "label"))
            f->label = gpuc_tir_parse_string(p);
        else if (gpuc_tir_parse_accept(p, "stage"))
            parse_stage(p, f);
        else if (gpuc_tir_parse_accept(p, "aliased"))
            f->aliased = true;
        else if (gpuc_tir_parse_accept(p, "subgroup"))
            f->subgroup_size = (uint32_t)gpuc_tir_parse_count(p, "the size of a subgroup", 1024);
        else if (gpuc_tir_parse_accept(p, "launch"))
            parse_threads(p, f);
        else
            gpuc_tir_parse_expect(p, "{");
    }
    f->body = parse_block(p);
    return f;
}

typedef struct parse_job {
    gpuc_tir_parser parser;
    gpuc_tir_func *func;
} parse_job;

static void run_parse(gpuc_ctx *ctx, void *arg)
{
    parse_job *job = arg;
    gpuc_tir_parser *p = &job->parser;
    (void)ctx;
    gpuc_tir_parse_advance(p);
    job->func = parse_func(p);
    if (p->token.kind != GPUC_TOKEN_END)
        gpuc_tir_parse_fail(p, &p->token, "the text goes on after the function");
}

/* Builders know nothing of places: their errors get the place that the parser has come to. */
gpuc_tir_func *gpuc_tir_parse(gpuc_ctx *ctx, const char *text, const char *origin)
{
    if (!text || !origin)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "parsing a function: the %s is NULL",
                   text ? "origin" : "text");
    parse_job *job = gpuc_new(ctx, parse_job);
    job->parser = (gpuc_tir_parser){.ctx = ctx, .origin = origin};
    gpuc_strmap_init(&job->parser.symbols, ctx);
    gpuc_tir_lexer_init(&job->parser.lexer, text);
    gpuc_status status = gpuc_ctx_protect(ctx, run_parse, job);
    if (status && !job->parser.located)
        status =
            gpuc_error_prefix(status, "%s:%d:%d", origin, job->parser.token.line, job->parser.token.column);
    if (status) gpuc_ctx_raise_status(ctx, status);
    return job->func;
}
