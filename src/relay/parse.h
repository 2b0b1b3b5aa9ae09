/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the parser: recursive descent, operators by precedence. */
#ifndef GPUC_RELAY_PARSE_H
#define GPUC_RELAY_PARSE_H

#include "relay/lexer.h"

/* What a name stands for where the parser is; outer is what it stood for before the scope. */
typedef struct gpuc_relay_binding {
    const char *name;       /* NULL: of %number */
    gpuc_rexpr *var;        /* one of the two */
    const gpuc_rtype *type; /* a type parameter */
    uintptr_t number;       /* of %number: it and 1 */
    bool used;              /* a variable that was read */
    size_t since;           /* the mark before it */
    struct gpuc_relay_binding *outer;
} gpuc_relay_binding;

/* What an extent does with names of sizes: the type of what has a value says them, an attribute uses them. */
typedef enum gpuc_relay_names {
    GPUC_RELAY_SAYS,     /* of a variable */
    GPUC_RELAY_NODE,     /* of %1 */
    GPUC_RELAY_MENTIONS, /* a type that has no value, as that of a result */
    GPUC_RELAY_USES
} gpuc_relay_names;

typedef struct gpuc_relay_parser {
    gpuc_ctx *ctx;
    gpuc_rmodule *module;
    const gpuc_relay_origin *text;
    gpuc_relay_lexer lexer;  /* after token */
    gpuc_relay_token token;  /* the next one */
    gpuc_strmap vars, types; /* name -> gpuc_relay_binding in scope; NULL when it has ended */
    gpuc_ptrs scope;         /* bindings in the order in which they end */
    gpuc_map graph;          /* number + 1 -> gpuc_relay_binding; NULL when its scope has ended */
    gpuc_strmap symbols;     /* name -> gpuc_expr, of named dims */
    gpuc_strmap said;        /* names among them that stand in the type of what has a value */
    gpuc_ptrs named;         /* all names of sizes that are in scope, as they came */
    gpuc_ptrs sizes;         /* gpuc_relay_named: names in attributes */
    gpuc_relay_names names;  /* what the extents at hand do with them */
    gpuc_ptrs named_types;   /* gpuc_adt that are used before they are defined */
    gpuc_ptrs *constants;    /* of meta[relay.Constant] */
    size_t num_given;        /* constants that were there before the text's own */
    gpuc_map promised;       /* index + 1 -> constant that the section must have, of the text's own */
    gpuc_ptrs promises;      /* the same in order of their uses: gpuc_relay_promise */
    const gpuc_attrs *attrs; /* out: of a text that is attributes only */
    int depth;               /* levels of expressions; */
    int inner_depth;         /* of patterns, and of lists in attributes; */
    int type_depth;          /* of types */
    bool located;            /* the error that is raised names its place */
} gpuc_relay_parser;

/* A constant that stands in the text before the section that defines it. */
typedef struct gpuc_relay_promise {
    size_t index;
    gpuc_rexpr *constant;
    gpuc_relay_token at;
} gpuc_relay_promise;

/* A name of a size in an attribute. */
typedef struct gpuc_relay_named {
    const char *name;
    gpuc_relay_token at;
} gpuc_relay_named;

/* Raises "origin:line:column: text", the line, and a caret. */
GPUC_NORETURN void gpuc_relay_parse_fail(gpuc_relay_parser *p, const gpuc_relay_token *at, const char *fmt,
                                         ...) GPUC_PRINTF(3, 4);
/* "; did you mean 'x'?", or nothing. names holds count names of the map that are not NULL. */
const char *gpuc_relay_parse_hint(gpuc_relay_parser *p, const char *name, const gpuc_strmap *among);
gpuc_relay_span gpuc_relay_parse_span(const gpuc_relay_parser *p, const gpuc_relay_token *at);
void gpuc_relay_parse_advance(gpuc_relay_parser *p);
bool gpuc_relay_parse_at(const gpuc_relay_parser *p, const char *text); /* is the next token that? */
bool gpuc_relay_parse_accept(gpuc_relay_parser *p, const char *text);
void gpuc_relay_parse_expect(gpuc_relay_parser *p, const char *text);
gpuc_relay_token gpuc_relay_parse_peek(const gpuc_relay_parser *p); /* the token after the next */
char *gpuc_relay_parse_copy(gpuc_relay_parser *p, const gpuc_relay_token *t, size_t skip);
char *gpuc_relay_parse_word(gpuc_relay_parser *p, const char *what); /* a NAME */
char *gpuc_relay_parse_string(gpuc_relay_parser *p);
/* Counts one level more; raises beyond max. The caller counts down again. */
void gpuc_relay_parse_deeper(gpuc_relay_parser *p, int *depth, int max);

/* Sizes that a local function names first are its own: ends those named and used since it began. */
void gpuc_relay_parse_end_sizes(gpuc_relay_parser *p, size_t named, size_t used);

/* Scopes: what is bound after a mark ends when the scope is left. */
size_t gpuc_relay_parse_mark(const gpuc_relay_parser *p);
void gpuc_relay_parse_leave(gpuc_relay_parser *p, size_t mark);
gpuc_rexpr *gpuc_relay_parse_bind(gpuc_relay_parser *p, const char *name, const gpuc_rtype *annotation,
                                  const gpuc_relay_token *at);
void gpuc_relay_parse_rebind(gpuc_relay_parser *p, gpuc_rexpr *var); /* the same variable again */
void gpuc_relay_parse_bind_graph(gpuc_relay_parser *p, uintptr_t number, gpuc_rexpr *e);
/* Raises where a variable or a type parameter of that name was bound since the mark. */
void gpuc_relay_parse_check_once(gpuc_relay_parser *p, size_t mark, const char *name,
                                 const gpuc_relay_token *at);
/* Raises for a word of the language, which cannot be the name of a type, of its parameters, or of a constructor. */
void gpuc_relay_parse_check_name(gpuc_relay_parser *p, const char *name, const gpuc_relay_token *at);
const gpuc_rtype *gpuc_relay_parse_bind_type(gpuc_relay_parser *p, const char *name);

const gpuc_rtype *gpuc_relay_parse_type(gpuc_relay_parser *p);
/* "[A, B]" as type parameters that are in scope from here on; nothing: none. */
void gpuc_relay_parse_type_params(gpuc_relay_parser *p, gpuc_ptrs *out);
/* An extent or an entry of a list of sizes: a number, a name, or an expression of them. */
gpuc_expr gpuc_relay_parse_dim(gpuc_relay_parser *p);
gpuc_rexpr *gpuc_relay_parse_number(gpuc_relay_parser *p, bool negative);
bool gpuc_relay_parse_at_number(const gpuc_relay_parser *p); /* digits, or a word as inff */
/* From the parameters on: "(%x: T) -> T { body }". */
gpuc_rexpr *gpuc_relay_parse_function(gpuc_relay_parser *p);
/* "name=value, ..." up to the closing parenthesis. */
const gpuc_attrs *gpuc_relay_parse_attrs(gpuc_relay_parser *p);
gpuc_rexpr *gpuc_relay_parse_meta(gpuc_relay_parser *p);
/* After "#[constants]": the list, to the end of the text. */
void gpuc_relay_parse_constants(gpuc_relay_parser *p);
/* The same after "#[metadata]", in TVM's form. */
void gpuc_relay_parse_metadata(gpuc_relay_parser *p);
/* The bytes of base64, of which out gets those that it has room for; size is that of all. False: it is none. */
bool gpuc_relay_parse_base64(const char *text, size_t length, void *out, size_t room, size_t *size);
/* Gives those that the text refers to what its section says. */
void gpuc_relay_parse_keep_promises(gpuc_relay_parser *p);
/* What follows "import". */
void gpuc_relay_parse_import(gpuc_relay_parser *p);

#endif
