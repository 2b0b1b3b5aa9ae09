/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of a function: bodies of functions, branches, clauses. What a block has is computed when it is entered, or later,
 * or never; scopes of lets are parts of the block that they stand in. */
#ifndef GPUC_RELAY_PASS_COMMON_BLOCKS_H
#define GPUC_RELAY_PASS_COMMON_BLOCKS_H

#include "relay/scope_tree.h"
#include "relay_pass/common/util.h"

typedef struct gpuc_relay_blocks {
    gpuc_ptrs order;               /* the nodes, parts before what has them; primitive functions are whole */
    gpuc_relay_scopes scopes;      /* functions that are values of lets stand around the lets */
    const gpuc_relay_scope **from; /* of each scope the block that it is in: the scope that begins it */
    gpuc_rexpr **owner;            /* of each scope the node that opens it; NULL: the root's */
} gpuc_relay_blocks;

void gpuc_relay_pass_find_blocks(gpuc_ctx *ctx, gpuc_rexpr *function, gpuc_relay_blocks *out);
/* What e uses: a call its callee and arguments, a let value and body, a function its body unless it is primitive, an if
 * condition and branches, a match value and clauses. NULL after the last. */
gpuc_rexpr *gpuc_relay_pass_part(const gpuc_rexpr *e, int i);
/* Whether part i begins a block. */
bool gpuc_relay_pass_begins(const gpuc_rexpr *e, int i);
/* The scope in which e uses part i. */
const gpuc_relay_scope *gpuc_relay_pass_where(const gpuc_relay_blocks *b, const gpuc_rexpr *e, int i);
/* The scope, and the block, that a node belongs to. */
const gpuc_relay_scope *gpuc_relay_pass_scope_of(const gpuc_relay_blocks *b, const gpuc_rexpr *e);
const gpuc_relay_scope *gpuc_relay_pass_block_of(const gpuc_relay_blocks *b, const gpuc_rexpr *e);
/* e with other parts of the same types: e itself where they are what it has. */
gpuc_rexpr *gpuc_relay_pass_with_parts(gpuc_ctx *ctx, gpuc_rexpr *e, gpuc_rexpr *const *parts);
int gpuc_relay_pass_num_parts(const gpuc_rexpr *e);

/* Variables with their values, which lets are to bind in this order. */
typedef struct gpuc_relay_bindings {
    gpuc_ptrs vars, values;
} gpuc_relay_bindings;
void gpuc_relay_pass_add_binding(gpuc_ctx *ctx, gpuc_relay_bindings *list, gpuc_rexpr *var,
                                 gpuc_rexpr *value);
/* A let for each of them around body. */
gpuc_rexpr *gpuc_relay_pass_bind(gpuc_ctx *ctx, const gpuc_relay_bindings *list, gpuc_rexpr *body);
/* A variable for e, with what is known of e. */
gpuc_rexpr *gpuc_relay_pass_var_for(gpuc_ctx *ctx, const char *name, const gpuc_rexpr *e);

/* What several blocks use, and none of them surely, may be what must not be computed in vain: a call that does not end, a
 * match? that nothing fits. Such nodes become functions without parameters, which are called where they are needed. */
gpuc_rexpr *gpuc_relay_pass_delay_shared(gpuc_ctx *ctx, gpuc_rexpr *function);
/* all: every value gets a let. Else those do that are used in other blocks than their own. */
void gpuc_relay_pass_bind_values(gpuc_relay_pass_ctx *p, bool all);

#endif
