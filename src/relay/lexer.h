/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of Relay's text. */
#ifndef GPUC_RELAY_LEXER_H
#define GPUC_RELAY_LEXER_H

#include "relay/relay.h"

typedef enum gpuc_relay_token_kind {
    GPUC_RELAY_TOKEN_END,
    GPUC_RELAY_TOKEN_NAME,   /* letters, digits, '_', single dots inside */
    GPUC_RELAY_TOKEN_LOCAL,  /* %name */
    GPUC_RELAY_TOKEN_GRAPH,  /* %12 */
    GPUC_RELAY_TOKEN_GLOBAL, /* @name */
    GPUC_RELAY_TOKEN_NUMBER, /* with its suffix */
    GPUC_RELAY_TOKEN_STRING, /* with its quotes */
    GPUC_RELAY_TOKEN_PUNCT,
    GPUC_RELAY_TOKEN_BAD /* wrong says why */
} gpuc_relay_token_kind;

typedef struct gpuc_relay_token {
    gpuc_relay_token_kind kind;
    const char *at;
    size_t length;
    uint32_t line, column;
    const char *wrong;
} gpuc_relay_token;

/* A position in the text; copy it to come back. */
typedef struct gpuc_relay_lexer {
    const char *at, *line_start;
    uint32_t line;
} gpuc_relay_lexer;

gpuc_relay_token gpuc_relay_lexer_next(gpuc_relay_lexer *l);
/* "a word of the language", "an element type": what a name is that types and constructors cannot have; NULL: it is
 * free. */
const char *gpuc_relay_reserved(const char *name);
bool gpuc_relay_token_is(const gpuc_relay_token *t, const char *text); /* a NAME or PUNCT spelt so */

#endif
