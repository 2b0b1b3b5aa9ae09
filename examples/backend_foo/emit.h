/* SPDX-License-Identifier: Apache-2.0 */
/* What codegen.c and emit.c share: a kernel while its code is made. */
#ifndef FOO_EMIT_H
#define FOO_EMIT_H

#include <gpuc/codegen.h>
#include <gpuc/ir.h>

#include "foo.h"

/* A value, or the part of a wide vector that one instruction works on. */
typedef struct foo_value {
    uint16_t cell;
    uint8_t lanes;
    foo_type type;
    bool stays; /* the cell holds it to the end of the block, since nothing that it is made of changes */
} foo_value;

/* A buffer of the kernel. */
typedef struct foo_place {
    const gpuc_tir_buffer *buffer;
    foo_type type;
    bool in_cells;    /* all its indices are constants: its elements are cells */
    uint32_t at;      /* the first cell, or the number of the store */
    uint64_t version; /* counts what is stored there */
} foo_place;

/* A value that was computed before. */
typedef struct foo_known {
    gpuc_expr expr;
    uint32_t part;
    foo_value value;
    uint64_t epoch, statement, version; /* while it holds; 0 where that does not matter */
    size_t next;                        /* of the same hash, plus 1 */
} foo_known;

enum { FOO_HASHES = 4096, FOO_TEMPORARY = 0x8000 };

typedef struct foo_emitter {
    gpuc_ctx *ctx;
    uint32_t lanes; /* of the target */
    bool aliased;
    foo_kernel kernel;
    size_t code_capacity, store_capacity;
    foo_place *places;
    size_t num_places, place_capacity;
    foo_known *known;
    size_t num_known, known_capacity, hashes[FOO_HASHES];
    uint32_t cells, max_cells; /* of values that stay, block in block */
    uint32_t temporaries,
        max_temporaries; /* of others; their numbers begin with FOO_TEMPORARY until the end */
    uint64_t epoch;      /* temporaries are forgotten where control flow joins or parts */
    uint64_t statement;
} foo_emitter;

/* Raises UNSUPPORTED: "foo: kernel 'k': ...". */
GPUC_NORETURN void foo_refuse(foo_emitter *g, const char *what, const char *name);
/* The type of a value in cells. Raises for types that foo does not have. */
foo_type foo_type_of(foo_emitter *g, gpuc_dtype t);
foo_format foo_format_of(foo_emitter *g, gpuc_dtype t);
foo_place *foo_place_of(foo_emitter *g, const gpuc_tir_buffer *b);

size_t foo_emit(foo_emitter *g, foo_instr i); /* returns its number */
/* A cell for a value. */
foo_value foo_new_value(foo_emitter *g, foo_type type, uint32_t lanes, bool stays);
void foo_forget_temporaries(foo_emitter *g);
void foo_know(foo_emitter *g, gpuc_expr e, uint32_t part, foo_value v);
/* Drops what is known beyond the first n. */
void foo_forget(foo_emitter *g, size_t n);

/* Part `part` of a vector is its lanes from part * lanes of the target on. */
uint32_t foo_num_parts(const foo_emitter *g, gpuc_dtype t);
foo_value foo_expr(foo_emitter *g, gpuc_expr e, uint32_t part);
/* The same, into given cells. */
void foo_expr_into(foo_emitter *g, gpuc_expr e, uint32_t part, foo_value to);
/* Computes what an expression is made of, where that stays: for expressions of a loop, before it begins. */
void foo_hoist(foo_emitter *g, gpuc_expr e);
/* Stores parts of a value; the index is that of the whole. */
void foo_store_part(foo_emitter *g, const gpuc_tir_buffer *b, gpuc_expr index, uint32_t part, foo_value v);
/* Whether an index is a constant, or side by side from a constant on. */
bool foo_constant_index(gpuc_expr index, int64_t *out_first);

#endif
