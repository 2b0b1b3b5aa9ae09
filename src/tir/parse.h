/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the parser: recursive descent, operators by precedence. */
#ifndef GPUC_TIR_PARSE_H
#define GPUC_TIR_PARSE_H

#include "tir/lexer.h"
#include "tir/print.h"

typedef struct gpuc_tir_symbol {
    gpuc_expr var; /* one of the two */
    const gpuc_tir_buffer *buffer;
} gpuc_tir_symbol;

typedef struct gpuc_tir_parser {
    gpuc_ctx *ctx;
    const char *origin;
    gpuc_tir_lexer lexer;
    gpuc_tir_token token; /* the next one */
    gpuc_strmap symbols;  /* name -> gpuc_tir_symbol in scope, NULL when it has ended */
    gpuc_ptrs aliases;    /* %1 is at 0 */
    int depth, blocks;    /* expressions and blocks being parsed */
    int brackets;         /* open () and []: inside, lines do not end anything */
    bool located;         /* the error on its way has its place already, */
    gpuc_tir_token wrong; /* which is this */
} gpuc_tir_parser;

/* Bounds recursion: of expressions, and of blocks (lets and allocs open none). */
#define GPUC_TIR_PARSE_DEPTH (GPUC_TIR_MAX_DEPTH + 100)

GPUC_NORETURN void gpuc_tir_parse_fail(gpuc_tir_parser *p, const gpuc_tir_token *at, const char *fmt, ...)
    GPUC_PRINTF(3, 4);
void gpuc_tir_parse_advance(gpuc_tir_parser *p);
bool gpuc_tir_parse_accept(gpuc_tir_parser *p, const char *text);
void gpuc_tir_parse_expect(gpuc_tir_parser *p, const char *text);
char *gpuc_tir_parse_word(gpuc_tir_parser *p, const char *what); /* a NAME, copied */
char *gpuc_tir_parse_string(gpuc_tir_parser *p);
gpuc_dtype gpuc_tir_parse_type(gpuc_tir_parser *p);
int gpuc_tir_parse_count(gpuc_tir_parser *p, const char *what, int limit); /* an INT from 0 to limit */
gpuc_tir_symbol *gpuc_tir_parse_find(gpuc_tir_parser *p, const char *name);
void gpuc_tir_parse_deeper(gpuc_tir_parser *p, int *depth); /* raises at the bound */

gpuc_expr gpuc_tir_parse_expr(gpuc_tir_parser *p);
/* Comma-separated, up to and with the closing text. */
void gpuc_tir_parse_exprs(gpuc_tir_parser *p, const char *closing, gpuc_ptrs *out);

#endif
