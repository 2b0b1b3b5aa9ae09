/* SPDX-License-Identifier: Apache-2.0 */
/* What several passes share. */
#ifndef GPUC_LOWER_COMMON_UTIL_H
#define GPUC_LOWER_COMMON_UTIL_H

#include "lower/lower.h"

/* Storage for the n indices of an access: the array few, or memory of the context if it is too small. */
enum { GPUC_LOWER_FEW = 8 };
static inline gpuc_expr *gpuc_lower_indices(gpuc_ctx *ctx, int n, gpuc_expr few[GPUC_LOWER_FEW])
{
    return n <= GPUC_LOWER_FEW ? few : gpuc_new_array(ctx, gpuc_expr, n);
}

/* A copy of f with that body and stage; f itself if both are its own. */
gpuc_tir_func *gpuc_lower_with_body(gpuc_ctx *ctx, gpuc_tir_func *f, gpuc_stmt body, gpuc_tir_stage stage);

/* An analyzer that knows f's launch dimensions, and that symbols of shapes are in [0, 2^31). */
gpuc_analyzer *gpuc_lower_analyzer(gpuc_ctx *ctx, const gpuc_tir_func *f);
void gpuc_lower_bind_symbols(gpuc_ctx *ctx, gpuc_analyzer *a, gpuc_expr dim);
/* Tells the analyzer what holds in the body of a loop or a let. Rewind to a mark that was taken before. */
void gpuc_lower_bind(gpuc_analyzer *a, gpuc_stmt s);

/* A copy in which vars are replaced, and everything that the statement binds (loop and let
 * variables, buffers) is new, so that it may stand beside the original. */
gpuc_stmt gpuc_lower_clone(gpuc_ctx *ctx, gpuc_stmt s, int n, const gpuc_expr *vars, const gpuc_expr *with);
/* The statement once for each value first, first + 1, ... of the variable. */
gpuc_stmt gpuc_lower_copies(gpuc_ctx *ctx, gpuc_expr var, gpuc_expr first, int64_t count, gpuc_stmt s);
/* A new variable with the name and type of another; a new flat buffer with the name of another. */
gpuc_expr gpuc_lower_var_like(gpuc_ctx *ctx, gpuc_expr var);
/* The index of a call on a buffer, its first argument; 0 for an extern, whose arguments are its own. */
gpuc_expr gpuc_lower_call_index(gpuc_ctx *ctx, gpuc_expr call);
/* The call on another buffer at another index. */
gpuc_expr gpuc_lower_call_on(gpuc_ctx *ctx, gpuc_expr call, const gpuc_tir_buffer *b, gpuc_expr index);
gpuc_tir_buffer *gpuc_lower_buffer_like(gpuc_ctx *ctx, const gpuc_tir_buffer *b, gpuc_dtype dtype,
                                        gpuc_expr size, gpuc_scope scope);

/* Stores and evaluations that run, loops of unknown extent counted once; stops at limit. */
int64_t gpuc_lower_steps(gpuc_stmt s, int64_t limit);
/* The number of statements and distinct operations, as a measure of the code that s becomes. */
int64_t gpuc_lower_size(gpuc_ctx *ctx, gpuc_stmt s);
/* Whether e can be computed before a launch: it loads nothing, has no effects, and no unsigned numbers, which
 * size expressions lack. Counts of loop iterations are made of such expressions. */
bool gpuc_lower_is_size(gpuc_ctx *ctx, gpuc_expr e);
/* Number of elements, if constant. */
bool gpuc_lower_const_size(const gpuc_tir_buffer *b, int64_t *out);

typedef struct gpuc_lower_access {
    const gpuc_tir_buffer *buffer;
    gpuc_expr index; /* NULL: anything */
    bool write, read, atomic;
} gpuc_lower_access;
/* Calls fn for each access of the statement or expression. */
void gpuc_lower_accesses(gpuc_ctx *ctx, gpuc_stmt s, void (*fn)(const gpuc_lower_access *access, void *arg),
                         void *arg);
void gpuc_lower_expr_accesses(gpuc_ctx *ctx, gpuc_expr e,
                              void (*fn)(const gpuc_lower_access *access, void *arg), void *arg);
bool gpuc_lower_touches(gpuc_ctx *ctx, gpuc_stmt s, const gpuc_tir_buffer *b);
bool gpuc_lower_writes(gpuc_ctx *ctx, gpuc_stmt s, const gpuc_tir_buffer *b);
bool gpuc_lower_is_shared(const gpuc_tir_buffer *b);
bool gpuc_lower_is_teamwork(gpuc_ctx *ctx, gpuc_stmt s); /* whether it will have barriers or shuffles */
/* group_lanes.c: may the threads that run s, a stretch between barriers, be the lanes of vectors? */
bool gpuc_lower_fits_lanes(gpuc_ctx *ctx, gpuc_analyzer *a, gpuc_stmt s, gpuc_expr thread);

/* A cross-thread reduction (see tir/node.h), taken apart. */
bool gpuc_lower_is_allreduce(gpuc_stmt s);
typedef struct gpuc_lower_allreduce {
    const gpuc_tir_attr_node *attr;
    gpuc_expr cond;          /* NULL: always stored */
    const gpuc_stmt *stores; /* NULL: only one */
    gpuc_stmt only;
} gpuc_lower_allreduce;
gpuc_lower_allreduce gpuc_lower_allreduce_of(const gpuc_tir_attr_node *n);
const gpuc_tir_store_node *gpuc_lower_allreduce_store(const gpuc_lower_allreduce *a, int i);
/* The same with another condition (NULL: none) and, unless NULL, other values. */
gpuc_stmt gpuc_lower_allreduce_make(gpuc_ctx *ctx, const gpuc_lower_allreduce *a, gpuc_expr cond,
                                    gpuc_expr const *values);
bool gpuc_lower_names_tag(const char *text, gpuc_thread_tag tag); /* in a list of tags */

/* The parts of a condition that && joins. */
void gpuc_lower_conjuncts(gpuc_ctx *ctx, gpuc_expr cond, gpuc_ptrs *out);

/* Guards s by cond. choose tells for each statement below whether the guard goes around it or further down,
 * so that barriers between the guarded parts stay in uniform control flow. */
typedef enum gpuc_lower_guard {
    GPUC_LOWER_GUARD_HERE,  /* around this statement */
    GPUC_LOWER_GUARD_BELOW, /* around its parts; a store's value is computed before the guard */
    GPUC_LOWER_GUARD_NOT    /* it runs in any case */
} gpuc_lower_guard;
/* Decides where the guard of s goes. cond holds for the threads that run s; conditions with loads are
 * variables in it. */
typedef gpuc_lower_guard (*gpuc_lower_guard_fn)(gpuc_expr cond, gpuc_stmt s, void *arg);
gpuc_stmt gpuc_lower_sink_guard(gpuc_ctx *ctx, gpuc_expr cond, gpuc_stmt s, gpuc_lower_guard_fn choose,
                                void *arg);

#endif
