/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the printer of programs. */
#ifndef GPUC_RELAY_PRINT_H
#define GPUC_RELAY_PRINT_H

#include "relay/relay.h"

typedef struct gpuc_relay_block {
    struct gpuc_relay_block *parent;
    const gpuc_rexpr *owner; /* whose block it is, and which of them; NULL: the outermost */
    size_t number;
    int depth;       /* as the parser counts: a clause is two */
    gpuc_ptrs lines; /* nodes with a line of their own, operands first */
    size_t printed;  /* how many of them are */
} gpuc_relay_block;

/* Where a node is printed. */
typedef struct gpuc_relay_place {
    gpuc_relay_block *block;
    size_t index;     /* in an order in which operands come first */
    bool alone;       /* its only use is as the value of a let, or as what a block gives: it has no line */
    bool continues;   /* a let that belongs to the block */
    gpuc_ptrs blocks; /* gpuc_relay_block of a let, a function's body, branches, clauses */
    const struct gpuc_relay_need *needs; /* blocks that bind what the node uses */
} gpuc_relay_place;

typedef struct gpuc_relay_printer {
    gpuc_ctx *ctx;
    gpuc_buf *out;
    gpuc_map places;         /* node of the function -> gpuc_relay_place */
    gpuc_map names;          /* node -> its text */
    gpuc_strmap used;        /* names of variables -> itself */
    const gpuc_strmap *adts; /* of the module; NULL: none */
    gpuc_strmap size_names;  /* names of sizes in the function */
    gpuc_map sizes;          /* symbol -> the one that stands for it, itself unless another has its name */
    bool renamed;            /* some symbol is not itself there */
    gpuc_map unnamed;      /* `?` that attributes use and the type of some variable or node says -> itself */
    gpuc_map said;         /* those that the text says by now -> itself; NULL: no longer here */
    gpuc_ptrs says;        /* the same in the order in which it said them */
    gpuc_strmap taken;     /* names of sizes anywhere in the function, where there are such `?` */
    gpuc_ptrs type_params; /* of the functions around, and of types around in the type at hand */
    gpuc_ptrs type_names;  /* what they are in text, where their names differ */
    bool in_comment;       /* the type at hand is */
    int next, indent;      /* number of the next line with a name; depth of blocks */
    int deepest;           /* depth of the innermost block */
    int flags;             /* gpuc_relay_print_flag */
    gpuc_ptrs *constants;  /* those of the section */
    gpuc_map numbers;      /* constant -> its number there + 1 */
} gpuc_relay_printer;

/* Fills places for what is below root, which the block gives. */
gpuc_relay_block *gpuc_relay_print_place(gpuc_relay_printer *p, gpuc_rexpr *root);
/* TVM's operators of many tensors take one tuple: that of which all fields are arguments of the call; NULL. */
gpuc_rexpr *gpuc_relay_print_whole_tuple(const gpuc_rexpr *call);
/* The size as the text has it: a name is one symbol there, so that a second symbol of that name gets another. */
gpuc_expr gpuc_relay_print_size(gpuc_relay_printer *p, gpuc_expr size);
/* Looks which `?` of root attributes use. */
void gpuc_relay_print_find_sizes(gpuc_relay_printer *p, gpuc_rexpr *root);
/* Whether the type says some of them that the text has not said: it says them then. */
bool gpuc_relay_print_says(gpuc_relay_printer *p, const gpuc_rtype *t);
/* A function ends: what it said since the first of these has its name no longer. */
void gpuc_relay_print_end_said(gpuc_relay_printer *p, size_t first);
/* What was said since the first of these is not said where the text goes on, and has another name there if it is renamed;
 * gives the names. Later those up to the last of them are said again. */
void **gpuc_relay_print_hide_said(gpuc_relay_printer *p, size_t first, bool rename);
void gpuc_relay_print_show_said(gpuc_relay_printer *p, size_t first, size_t last, void *const *names);
/* The number as a literal of the language; false: there is none for it. */
bool gpuc_relay_print_scalar(gpuc_buf *out, gpuc_dtype t, const void *value);
/* A double with as few digits as give it back. */
void gpuc_relay_print_number(gpuc_buf *out, double v, bool single);
/* ", name=value" for each attribute that a call needs to say. op NULL: all. */
void gpuc_relay_print_attrs(gpuc_relay_printer *p, const gpuc_op *op, const gpuc_attrs *attrs, bool comma);
/* The section of constants. */
void gpuc_relay_print_constants(gpuc_relay_printer *p);

#endif
