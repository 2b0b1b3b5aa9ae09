/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes of a function: the body of each function in it, the branches of an if, the clauses of a match, what follows a let.
 * A node may stand in several; it belongs to the innermost scope that holds all of its uses, and is computed at most once
 * each time that scope is entered. */
#ifndef GPUC_RELAY_SCOPE_TREE_H
#define GPUC_RELAY_SCOPE_TREE_H

#include "relay/relay.h"

typedef struct gpuc_relay_scope {
    struct gpuc_relay_scope *parent; /* NULL: the scope of the root */
    struct gpuc_relay_scope *jump;   /* a scope around it, farther away */
    int depth;
    uint32_t number; /* in the order of gpuc_relay_scopes.all */
} gpuc_relay_scope;

typedef struct gpuc_relay_scopes {
    gpuc_ptrs order; /* the nodes, parts before what has them */
    gpuc_ptrs all;   /* the scopes, each behind those around it; the root's is the first */
    gpuc_map of;     /* node -> its gpuc_relay_scope; of a variable that nothing uses NULL */
    gpuc_map
        inside; /* node that has scopes -> an array of them, then NULL: of a let and a function one, of an if two, of a
                 * match one for each clause */
} gpuc_relay_scopes;

/* A value of a let that is a function, which may use the variable, is inside of the let; values_outside: it is around the
 * let as other values are, so that what it shares with the body is, too. */
void gpuc_relay_find_scopes(gpuc_ctx *ctx, gpuc_rexpr *root, bool values_outside, gpuc_relay_scopes *out);
/* Whether inner is outer, or inside of it. */
bool gpuc_relay_scope_is_in(const gpuc_relay_scope *inner, const gpuc_relay_scope *outer);

#endif
