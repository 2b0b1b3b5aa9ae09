/* SPDX-License-Identifier: Apache-2.0 */
/* Type inference of programs: unification, and what the walk over a program shares. */
#ifndef GPUC_RELAY_SOLVE_H
#define GPUC_RELAY_SOLVE_H

#include "relay/infer.h"

typedef struct gpuc_relay_solver {
    gpuc_ctx *ctx;
    gpuc_rmodule *module;
    bool check;            /* everything has a type, and they must fit */
    uint32_t first;        /* the functions before have their types */
    const gpuc_rexpr *at;  /* what is being inferred, for messages */
    gpuc_relay_span place; /* the same where it is no expression */
    gpuc_ptrs ready;       /* expressions that waited for holes that are known now */
    gpuc_map waiting;      /* expression -> itself, while it waits */
    gpuc_map done;         /* expression -> itself, once it was visited */
    gpuc_map inside;       /* type parameters of the functions that the walk is inside of */
    gpuc_map around;       /* size -> how often variables that are in scope there say it */
    gpuc_ptrs said;        /* those sizes, in the order in which variables came into scope */
    gpuc_map selves;   /* variable -> the function that a let binds to it, while the walk is inside of that */
    gpuc_map sizes;    /* of nodes that were rebuilt: symbol that nobody knew -> what it is by now */
    int64_t work;      /* parts of types that were looked at for this expression */
    gpuc_ptrs visited; /* in order */
} gpuc_relay_solver;

/* What a type is known to be: a hole that is not known gives itself. */
const gpuc_rtype *gpuc_relay_find(const gpuc_rtype *t);
/* The type without holes that are known. */
const gpuc_rtype *gpuc_relay_resolve(gpuc_relay_solver *s, const gpuc_rtype *t);
/* Makes both the same, and returns that; NULL: they differ. Where one has an unknown extent, so has the result. Of
 * functions with type parameters, b may be more general than a, what is wanted. */
const gpuc_rtype *gpuc_relay_unify(gpuc_relay_solver *s, const gpuc_rtype *a, const gpuc_rtype *b);
/* The type of what is one of two, as branches are: where one function has type parameters, it is used as the other. NULL:
 * there is none. */
const gpuc_rtype *gpuc_relay_join(gpuc_relay_solver *s, const gpuc_rtype *a, const gpuc_rtype *b);
/* A function type with new holes for its type parameters, which are listed in args (NULL: not wanted). Inside of a
 * function whose type has holes they stand for themselves. */
const gpuc_rtype *gpuc_relay_instantiate(gpuc_relay_solver *s, const gpuc_rtype *t, gpuc_ptrs *args);
/* What an argument says of the sizes that the type of its parameter names: symbol -> extent. The first to say it counts. */
void gpuc_relay_note_named_sizes(gpuc_map *sizes, const gpuc_rtype *param, const gpuc_rtype *arg);
/* The type with these sizes; an extent that has another `?` is a new symbol. all: also one that has another name. */
const gpuc_rtype *gpuc_relay_with_named_sizes(gpuc_ctx *ctx, const gpuc_rtype *t, gpuc_map *sizes, bool all);
/* The expression is visited again when the hole is known. */
void gpuc_relay_wait(gpuc_relay_solver *s, const gpuc_rtype *hole, gpuc_rexpr *e);
const char *gpuc_relay_type_text(gpuc_relay_solver *s, const gpuc_rtype *t);
GPUC_NORETURN void gpuc_relay_type_fail(gpuc_relay_solver *s, const char *fmt, ...) GPUC_PRINTF(2, 3);
/* Types of the variables of all clauses, from that of the value; checks that some clause fits every value. */
void gpuc_relay_infer_patterns(gpuc_relay_solver *s, const gpuc_rmatch *m);
void gpuc_relay_check_exhaustive(gpuc_relay_solver *s, const gpuc_rmatch *m);
/* Type parameters stand inside of the functions that have them. */
void gpuc_relay_check_type_params(gpuc_relay_solver *s, gpuc_rexpr *function);

#endif
