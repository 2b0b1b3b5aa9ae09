/* SPDX-License-Identifier: Apache-2.0 */
/* What several passes do to a module. */
#ifndef GPUC_RELAY_PASS_COMMON_UTIL_H
#define GPUC_RELAY_PASS_COMMON_UTIL_H

#include "relay_pass/passes.h"

/* Rewrites the body of every function of the module. */
void gpuc_relay_pass_rewrite_module(gpuc_relay_pass_ctx *p, gpuc_relay_rewrite_fn fn, void *arg);
/* Whether a type has arguments or parameters inside: in text it follows from nodes around it, unless it is written. */
bool gpuc_relay_pass_is_generic(const gpuc_rtype *t);
/* A call of an operator with other sizes in its attributes, symbol -> gpuc_expr; others stay as they are. */
gpuc_rexpr *gpuc_relay_pass_put_sizes(gpuc_ctx *ctx, gpuc_rexpr *e, const gpuc_map *sizes);
/* Whether e is a function that was made of a group of operators, or for another compiler: passes leave it whole. */
bool gpuc_relay_pass_is_kernel(const gpuc_rexpr *e);
/* Drops functions that nothing reaches from these names. */
void gpuc_relay_pass_keep_reachable(gpuc_relay_pass_ctx *p, const gpuc_ptrs *entries);
/* Raises, with the place, where main is no graph: it has a let, if, match or function of its own, or calls something else
 * than operators and primitive functions; or where one of these is more than operators on its parameters. */
void gpuc_relay_pass_need_graph(gpuc_relay_pass_ctx *p);
/* Raises, with the place, unless parameters are tensors, and the result is one or a tuple of them, as what is built has
 * them; where is "@main". */
void gpuc_relay_pass_need_tensors(gpuc_ctx *ctx, const gpuc_rfunction *f, const char *where);
/* Number of uses of each expression below root, functions in it included: gpuc_map of expr -> (void
 * *)(uintptr_t)count. add_uses adds to a map that has been initialised. */
void gpuc_relay_pass_count_uses(gpuc_ctx *ctx, gpuc_rexpr *root, gpuc_map *uses);
void gpuc_relay_pass_add_uses(gpuc_ctx *ctx, gpuc_rexpr *root, gpuc_map *uses);
static inline uintptr_t gpuc_relay_uses(const gpuc_map *uses, const gpuc_rexpr *e)
{
    return (uintptr_t)gpuc_map_get(uses, e);
}
/* Whether the target does not run an operator, or cannot compute in the type of an operand or of a result: then it
 * runs on the fallback device. */
bool gpuc_relay_pass_needs_fallback(const gpuc_target *target, const gpuc_rexpr *call);
/* The same of any operator in a primitive function. */
bool gpuc_relay_pass_function_needs_fallback(gpuc_ctx *ctx, const gpuc_target *target,
                                             const gpuc_rfunction *f);
/* Whether e is an input or a constant, perhaps of another shape. */
bool gpuc_relay_pass_is_stored(const gpuc_rexpr *e);
/* Where a call of a primitive function stores its result in a larger tensor: from which element on along an
 * axis, and the extent of that axis. */
typedef struct gpuc_relay_place {
    int axis;
    int64_t begin, extent;
} gpuc_relay_place;
bool gpuc_relay_pass_place_of(const gpuc_rcall *c, gpuc_relay_place *out); /* false: where it likes */
/* Whether the call is a concatenation whose arguments are stored in their places. */
bool gpuc_relay_pass_is_joined(const gpuc_rcall *c);
/* A kernel's copy of it. */
gpuc_rexpr *gpuc_relay_pass_copied(gpuc_ctx *ctx, gpuc_rexpr *e);
/* Replaces each output of main by what rewrite returns for it. */
void gpuc_relay_pass_rewrite_outputs(gpuc_relay_pass_ctx *p,
                                     gpuc_rexpr *(*rewrite)(gpuc_relay_pass_ctx *p, gpuc_rexpr *output));
/* e with elements of another type, or e itself if it has them. */
gpuc_rexpr *gpuc_relay_pass_cast(gpuc_ctx *ctx, gpuc_rexpr *e, gpuc_dtype t);
/* Axis i of the result is axis axes[i] of e. */
gpuc_rexpr *gpuc_relay_pass_transpose(gpuc_ctx *ctx, gpuc_rexpr *e, const int64_t *axes);
/* reshape to these dims, or e itself if it has them. */
gpuc_rexpr *gpuc_relay_pass_reshape(gpuc_ctx *ctx, gpuc_rexpr *e, int ndim, const gpuc_expr *dims);
gpuc_rexpr *gpuc_relay_pass_reshape_static(gpuc_ctx *ctx, gpuc_rexpr *e, int ndim, const int64_t *dims);

#endif
