/* SPDX-License-Identifier: Apache-2.0 */
/* Splits Relay's text into tokens. */
#include "relay/lexer.h"

#include <ctype.h>
#include <string.h>

static bool is_letter(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static void new_line(gpuc_relay_lexer *l)
{
    l->line++;
    l->line_start = l->at + 1;
}

/* Skips a comment, with those inside of it; false: it does not end. */
static bool skip_comment(gpuc_relay_lexer *l)
{
    int depth = 0;
    do {
        if (!*l->at) return false;
        if (l->at[0] == '/' && l->at[1] == '*') {
            depth++;
            l->at++;
        } else if (l->at[0] == '*' && l->at[1] == '/') {
            depth--;
            l->at++;
        } else if (*l->at == '\n') {
            new_line(l);
        }
        l->at++;
    } while (depth);
    return true;
}

/* Returns false at a comment that does not end; l is at its beginning. */
static bool skip_space(gpuc_relay_lexer *l)
{
    for (;;) {
        if (*l->at == '\n')
            new_line(l);
        else if (l->at[0] == '/' && l->at[1] == '/') {
            l->at += strcspn(l->at, "\n");
            continue;
        } else if (l->at[0] == '/' && l->at[1] == '*') {
            gpuc_relay_lexer begin = *l;
            if (skip_comment(l)) continue;
            *l = begin;
            return false;
        } else if (*l->at != ' ' && *l->at != '\t' && *l->at != '\r')
            return true;
        l->at++;
    }
}

static const char *skip_word(const char *at)
{
    while (is_word(*at)) at++;
    return at;
}

static const char *skip_digits(const char *at)
{
    while (isdigit((unsigned char)*at)) at++;
    return at;
}

/* Skips digits, a fraction, an exponent, then the suffix: f, f64, i64. */
static const char *skip_number(const char *at)
{
    at = skip_digits(at);
    if (at[0] == '.' && !is_letter(at[1])) at = skip_digits(at + 1);
    if ((*at == 'e' || *at == 'E') && isdigit((unsigned char)(at[1] == '+' || at[1] == '-' ? at[2] : at[1])))
        at = skip_digits(at + 2);
    return skip_word(at);
}

static void scan_string(gpuc_relay_token *t, const char **end)
{
    const char *at = t->at + 1;
    while (*at && *at != '"' && *at != '\n') at += at[0] == '\\' && at[1] && at[1] != '\n' ? 2 : 1;
    t->kind = GPUC_RELAY_TOKEN_STRING;
    if (*at != '"') {
        t->kind = GPUC_RELAY_TOKEN_BAD;
        t->wrong = "the string does not end in its line";
    }
    *end = at + (*at == '"');
}

static size_t punct_length(const char *at)
{
    static const char *const pairs[] = {"->", "=>", "==", "!=", "<=", ">="};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (!strncmp(at, pairs[i], 2)) return 2;
    return 1;
}

/* A word with a mark before it; both: a number does as well. */
static const char *scan_marked(gpuc_relay_token *t)
{
    const char *at = t->at + 1;
    t->kind = *t->at == '@' ? GPUC_RELAY_TOKEN_GLOBAL : GPUC_RELAY_TOKEN_LOCAL;
    if (*t->at == '%' && isdigit((unsigned char)*at)) {
        t->kind = GPUC_RELAY_TOKEN_GRAPH;
        return skip_digits(at);
    }
    if (!is_letter(*at)) {
        t->kind = GPUC_RELAY_TOKEN_BAD;
        t->wrong = "a name must follow here";
    }
    return skip_word(at);
}

gpuc_relay_token gpuc_relay_lexer_next(gpuc_relay_lexer *l)
{
    bool ends = skip_space(l);
    const char *end = l->at + 1;
    gpuc_relay_token t = {.at = l->at, .line = l->line, .column = (uint32_t)(l->at - l->line_start) + 1};
    if (!ends) {
        t.kind = GPUC_RELAY_TOKEN_BAD;
        t.wrong = "the comment does not end";
    } else if (!*l->at) {
        return t;
    } else if (is_letter(*l->at)) {
        t.kind = GPUC_RELAY_TOKEN_NAME;
        end = skip_word(l->at);
        while (*end == '.' && is_letter(end[1])) end = skip_word(end + 1);
    } else if (*l->at == '%' || *l->at == '@') {
        end = scan_marked(&t);
    } else if (isdigit((unsigned char)*l->at)) {
        t.kind = GPUC_RELAY_TOKEN_NUMBER;
        end = skip_number(l->at);
    } else if (*l->at == '"') {
        scan_string(&t, &end);
    } else if (strchr("()[]{}<>=+-*/!?,;:.#", *l->at)) {
        t.kind = GPUC_RELAY_TOKEN_PUNCT;
        end = l->at + punct_length(l->at);
    } else {
        t.kind = GPUC_RELAY_TOKEN_BAD;
        t.wrong = "the character belongs to no token";
    }
    t.length = (size_t)(end - t.at);
    l->at = end;
    return t;
}

bool gpuc_relay_token_is(const gpuc_relay_token *t, const char *text)
{
    if (t->kind != GPUC_RELAY_TOKEN_NAME && t->kind != GPUC_RELAY_TOKEN_PUNCT) return false;
    return !strncmp(t->at, text, t->length) && !text[t->length];
}

const char *gpuc_relay_reserved(const char *name)
{
    static const char *const words[] = {"_",    "Tensor", "fn",   "if",     "let",    "match", "meta",
                                        "True", "False",  "inff", "inff16", "inff64", "nanf",  "else"};
    gpuc_dtype t;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(name, words[i])) return "a word of the language";
    return gpuc_dtype_parse(name, &t) ? "an element type" : NULL;
}
