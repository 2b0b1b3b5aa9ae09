/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_TIR_LEXER_H
#define GPUC_TIR_LEXER_H

#include "base/ctx.h"

typedef enum gpuc_tir_token_kind {
    GPUC_TOKEN_END,
    GPUC_TOKEN_NAME, /* letters, digits, '_', single dots inside */
    GPUC_TOKEN_INT,
    GPUC_TOKEN_FLOAT,
    GPUC_TOKEN_STRING, /* with its quotes */
    GPUC_TOKEN_PUNCT,
    GPUC_TOKEN_BAD /* text says what is wrong with it */
} gpuc_tir_token_kind;

typedef struct gpuc_tir_token {
    gpuc_tir_token_kind kind;
    const char *at;
    size_t length;
    int line, column;
    bool first;        /* of its line */
    uint64_t value;    /* of INT */
    const char *wrong; /* of BAD */
} gpuc_tir_token;

/* A position in the text; copy it to come back. */
typedef struct gpuc_tir_lexer {
    const char *at, *line_start;
    int line;
} gpuc_tir_lexer;

void gpuc_tir_lexer_init(gpuc_tir_lexer *l, const char *text);
gpuc_tir_token gpuc_tir_lexer_next(gpuc_tir_lexer *l);
bool gpuc_tir_token_is(const gpuc_tir_token *t, const char *text); /* a NAME or PUNCT spelt so */

#endif
