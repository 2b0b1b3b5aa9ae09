/* SPDX-License-Identifier: Apache-2.0 */
/* Splits the text of loop IR into tokens. */
#include "tir/lexer.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_char(char c)
{
    return is_name_start(c) || is_digit(c);
}

void gpuc_tir_lexer_init(gpuc_tir_lexer *l, const char *text)
{
    *l = (gpuc_tir_lexer){.at = text, .line_start = text, .line = 1};
}

/* True if a line ended. */
static bool skip_space(gpuc_tir_lexer *l)
{
    bool ended = false;
    for (;; l->at++) {
        if (*l->at == '#') l->at += strcspn(l->at, "\n");
        if (*l->at == '\n') {
            ended = true;
            l->line++;
            l->line_start = l->at + 1;
        } else if (*l->at != ' ' && *l->at != '\t' && *l->at != '\r') {
            return ended;
        }
    }
}

static void lex_name(gpuc_tir_token *t)
{
    const char *p = t->at;
    while (is_name_char(*p) || (*p == '.' && is_name_char(p[1]))) p++;
    t->kind = GPUC_TOKEN_NAME;
    t->length = (size_t)(p - t->at);
}

static const char *skip_digits(const char *p)
{
    while (is_digit(*p)) p++;
    return p;
}

static void lex_number(gpuc_tir_token *t)
{
    const char *p = skip_digits(t->at);
    t->kind = GPUC_TOKEN_INT;
    if (*p == '.' && is_digit(p[1])) {
        t->kind = GPUC_TOKEN_FLOAT;
        p = skip_digits(p + 1);
    }
    if (*p == 'e' || *p == 'E') {
        const char *digits = p + 1 + (p[1] == '-' || p[1] == '+');
        if (is_digit(*digits)) {
            t->kind = GPUC_TOKEN_FLOAT;
            p = skip_digits(digits);
        }
    }
    t->length = (size_t)(p - t->at);
    if (is_name_start(*p)) {
        t->kind = GPUC_TOKEN_BAD;
        t->wrong = "a number runs into a name";
    }
    if (t->kind != GPUC_TOKEN_INT) return;
    for (p = t->at; p < t->at + t->length; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (t->value > (UINT64_MAX - digit) / 10) {
            t->kind = GPUC_TOKEN_BAD;
            t->wrong = "the integer does not fit in 64 bits";
            return;
        }
        t->value = t->value * 10 + digit;
    }
}

static void lex_string(gpuc_tir_token *t)
{
    const char *p = t->at + 1;
    while (*p && *p != '"' && *p != '\n') p += *p == '\\' && p[1] && p[1] != '\n' ? 2 : 1;
    t->kind = *p == '"' ? GPUC_TOKEN_STRING : GPUC_TOKEN_BAD;
    t->wrong = *p == '"' ? NULL : "the string does not end on its line";
    t->length = (size_t)(p - t->at) + (*p == '"');
}

static void lex_punct(gpuc_tir_token *t)
{
    static const char *const pairs[] = {"//", "%%", "==", "!=", "<=", ">=", "&&", "||", ".."};
    t->kind = GPUC_TOKEN_PUNCT;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (strncmp(t->at, pairs[i], 2) == 0) {
            t->length = 2;
            return;
        }
    t->length = 1;
    if (!strchr("+-*/%<>!()[]{},:;=&", *t->at)) {
        t->kind = GPUC_TOKEN_BAD;
        t->wrong = "this character has no meaning here";
    }
}

gpuc_tir_token gpuc_tir_lexer_next(gpuc_tir_lexer *l)
{
    bool first = skip_space(l);
    gpuc_tir_token t = {
        .at = l->at, .line = l->line, .column = (int)(l->at - l->line_start) + 1, .first = first};
    if (*t.at == 0)
        t.kind = GPUC_TOKEN_END;
    else if (is_name_start(*t.at))
        lex_name(&t);
    else if (is_digit(*t.at))
        lex_number(&t);
    else if (*t.at == '"')
        lex_string(&t);
    else
        lex_punct(&t);
    l->at += t.length;
    return t;
}

bool gpuc_tir_token_is(const gpuc_tir_token *t, const char *text)
{
    return (t->kind == GPUC_TOKEN_NAME || t->kind == GPUC_TOKEN_PUNCT) && strlen(text) == t->length &&
           memcmp(t->at, text, t->length) == 0;
}
