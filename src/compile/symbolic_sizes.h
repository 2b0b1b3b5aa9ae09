/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes over the symbols of a program: extents of its inputs, and numbers that it computes while it runs. */
#ifndef GPUC_COMPILE_SYMBOLIC_SIZES_H
#define GPUC_COMPILE_SYMBOLIC_SIZES_H

#include "abi/exec.h"
#include "arith/arith.h"
#include "relay/relay.h"

typedef struct gpuc_symbol {
    gpuc_expr var;
    uint32_t input, dim; /* whose extent it is; or ... */
    uint32_t value;      /* ... the value that holds it; GPUC_NO_INDEX: an extent */
    gpuc_expr upper;     /* bound of a value, over the extents; NULL: none is known */
} gpuc_symbol;

typedef struct gpuc_sizes {
    gpuc_ctx *ctx;
    gpuc_analyzer *analyzer;
    gpuc_ptrs symbols, vars; /* gpuc_symbol, and its var */
    gpuc_map data;           /* symbols that are values -> gpuc_interval */
} gpuc_sizes;

void gpuc_compile_sizes_init(gpuc_ctx *ctx, gpuc_sizes *s);
/* Dimension `number` of an input: a number, a known symbol, or a new one. */
void gpuc_compile_sizes_add_input(gpuc_sizes *s, gpuc_expr dim, uint32_t input, uint32_t number);
/* Adds a number that the program computes; max: its upper bound, or NULL. */
void gpuc_compile_sizes_add_value(gpuc_sizes *s, gpuc_expr var, uint32_t value, gpuc_expr max);
bool gpuc_compile_sizes_has(const gpuc_sizes *s, gpuc_expr var);
gpuc_expr gpuc_compile_sizes_named(const gpuc_sizes *s, const char *name);

gpuc_expr gpuc_compile_sizes_bytes(gpuc_sizes *s, const gpuc_tensor_type *t);
gpuc_expr gpuc_compile_sizes_padded(gpuc_sizes *s, gpuc_expr bytes); /* to GPUC_SLOT_ROUND */
/* The largest that a size can be, whatever the values are: over extents of inputs, and values that have no
 * bound. */
gpuc_expr gpuc_compile_sizes_upper(gpuc_sizes *s, gpuc_expr size);
/* 0 if a size is over extents only; else it is known when that many symbols are. */
uint32_t gpuc_compile_sizes_known_after(const gpuc_sizes *s, gpuc_expr size);
/* A number to compare sizes by: their value where every symbol is the same small number. */
int64_t gpuc_compile_sizes_nominal(gpuc_sizes *s, gpuc_expr size);
gpuc_xexpr gpuc_compile_sizes_xexpr(const gpuc_sizes *s, gpuc_expr size);

#endif
