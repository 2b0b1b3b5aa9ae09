/* SPDX-License-Identifier: Apache-2.0 */
/* Builders, traversal, text form, validator and evaluator of the loop IR. All functions raise. */
#ifndef GPUC_TIR_TIR_H
#define GPUC_TIR_TIR_H

#include "base/element.h"
#include "tir/node.h"

/* ---- Builders (intern expressions, fold as they build) ---- */
/* An operator on 1 to 3 operands; those that it does not have are NULL. */
gpuc_expr gpuc_tir_make(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr a, gpuc_expr b, gpuc_expr c);
gpuc_expr gpuc_tir_load1(gpuc_ctx *ctx, const gpuc_tir_buffer *b, gpuc_expr index);
gpuc_expr gpuc_tir_call(gpuc_ctx *ctx, gpuc_dtype dtype, gpuc_tir_intrin fn, const char *name,
                        const gpuc_tir_buffer *buffer, int n, const gpuc_expr *args);
/* The distance of neighbours along a dimension, in elements: int64. */
gpuc_expr gpuc_tir_stride(gpuc_ctx *ctx, const gpuc_tir_buffer *b, int dim);
gpuc_expr gpuc_tir_read(gpuc_ctx *ctx, gpuc_dtype dtype, struct gpuc_te_tensor *t, int n,
                        const gpuc_expr *index);
gpuc_expr gpuc_tir_reduce(gpuc_ctx *ctx, const gpuc_tir_reducer *r, const gpuc_expr *source, int num_axes,
                          gpuc_iter *const *axes, gpuc_expr condition, int value_index);
/* "sum", "prod", "min", "max" of a type, "all", "any" of bool; raises for other names. Interned. */
const gpuc_tir_reducer *gpuc_tir_reducer_get(gpuc_ctx *ctx, const char *name, gpuc_dtype dtype);
/* The smallest and largest value of a type (floats: infinities). */
gpuc_expr gpuc_tir_min_value(gpuc_ctx *ctx, gpuc_dtype t);
gpuc_expr gpuc_tir_max_value(gpuc_ctx *ctx, gpuc_dtype t);
bool gpuc_tir_is_const(gpuc_expr e, int64_t value); /* an INT of that value (or broadcast of it) */

gpuc_iter *gpuc_tir_iter(gpuc_ctx *ctx, const char *name, gpuc_expr min, gpuc_expr extent,
                         gpuc_iter_kind kind, gpuc_thread_tag tag);

gpuc_stmt gpuc_tir_store1(gpuc_ctx *ctx, const gpuc_tir_buffer *b, gpuc_expr index, gpuc_expr value);
gpuc_stmt gpuc_tir_seq2(gpuc_ctx *ctx, gpuc_stmt a, gpuc_stmt b);

/* gpuc_tir_func_make without validation, of arrays that stay. */
gpuc_tir_func *gpuc_tir_func_new(gpuc_ctx *ctx, const char *name, int num_buffers,
                                 gpuc_tir_buffer *const *buffers, int num_scalars, const gpuc_expr *scalars,
                                 gpuc_stmt body);

/* ---- Checked casts: gpuc_as_for(s)->extent. They check the kind (GPUC_CHECK). ---- */
#define GPUC_TIR_AS(name, type, base_t, K)                                                                   \
    static inline const type *gpuc_as_##name(const base_t *n)                                                \
    {                                                                                                        \
        GPUC_CHECK(n->kind == K);                                                                            \
        return (const type *)n;                                                                              \
    }
GPUC_TIR_AS(var, gpuc_tir_var_node, gpuc_tir_expr, GPUC_EXPR_VAR)
GPUC_TIR_AS(int, gpuc_tir_int_node, gpuc_tir_expr, GPUC_EXPR_INT)
GPUC_TIR_AS(float, gpuc_tir_float_node, gpuc_tir_expr, GPUC_EXPR_FLOAT)
GPUC_TIR_AS(cast, gpuc_tir_cast_node, gpuc_tir_expr, GPUC_EXPR_CAST)
GPUC_TIR_AS(op, gpuc_tir_opexpr_node, gpuc_tir_expr, GPUC_EXPR_OP)
GPUC_TIR_AS(load, gpuc_tir_load_node, gpuc_tir_expr, GPUC_EXPR_LOAD)
GPUC_TIR_AS(ramp, gpuc_tir_ramp_node, gpuc_tir_expr, GPUC_EXPR_RAMP)
GPUC_TIR_AS(broadcast, gpuc_tir_broadcast_node, gpuc_tir_expr, GPUC_EXPR_BROADCAST)
GPUC_TIR_AS(lane, gpuc_tir_lane_node, gpuc_tir_expr, GPUC_EXPR_LANE)
GPUC_TIR_AS(vector, gpuc_tir_vector_node, gpuc_tir_expr, GPUC_EXPR_VECTOR)
GPUC_TIR_AS(call, gpuc_tir_call_node, gpuc_tir_expr, GPUC_EXPR_CALL)
GPUC_TIR_AS(read, gpuc_tir_read_node, gpuc_tir_expr, GPUC_EXPR_READ)
GPUC_TIR_AS(reduce, gpuc_tir_reduce_node, gpuc_tir_expr, GPUC_EXPR_REDUCE)
GPUC_TIR_AS(for, gpuc_tir_for_node, gpuc_tir_stmt, GPUC_STMT_FOR)
GPUC_TIR_AS(store, gpuc_tir_store_node, gpuc_tir_stmt, GPUC_STMT_STORE)
GPUC_TIR_AS(if, gpuc_tir_if_node, gpuc_tir_stmt, GPUC_STMT_IF)
GPUC_TIR_AS(seq, gpuc_tir_seq_node, gpuc_tir_stmt, GPUC_STMT_SEQ)
GPUC_TIR_AS(alloc, gpuc_tir_alloc_node, gpuc_tir_stmt, GPUC_STMT_ALLOC)
GPUC_TIR_AS(let, gpuc_tir_let_node, gpuc_tir_stmt, GPUC_STMT_LET)
GPUC_TIR_AS(eval, gpuc_tir_eval_node, gpuc_tir_stmt, GPUC_STMT_EVAL)
GPUC_TIR_AS(attr, gpuc_tir_attr_node, gpuc_tir_stmt, GPUC_STMT_ATTR)

/* ---- Traversal ---- */
/* Rebuilds a node with its children mapped; returns the node itself if none changed. Rebuilding goes through
 * the builders, so what became constant folds, and operands of types that do not fit raise. A
 * pass's fn handles the kinds it knows and calls this for the rest. */
typedef struct gpuc_tir_mapper gpuc_tir_mapper;
struct gpuc_tir_mapper {
    gpuc_ctx *ctx;
    gpuc_expr (*expr)(gpuc_tir_mapper *m, gpuc_expr e); /* NULL: children only */
    gpuc_stmt (*stmt)(gpuc_tir_mapper *m, gpuc_stmt s);
    gpuc_map memo; /* expr -> expr; set by gpuc_tir_mapper_init */
};
void gpuc_tir_mapper_init(gpuc_tir_mapper *m, gpuc_ctx *ctx, gpuc_expr (*expr)(gpuc_tir_mapper *, gpuc_expr),
                          gpuc_stmt (*stmt)(gpuc_tir_mapper *, gpuc_stmt));
gpuc_expr gpuc_tir_map(gpuc_tir_mapper *m, gpuc_expr e);      /* memoised call of m->expr */
gpuc_stmt gpuc_tir_map_stmt(gpuc_tir_mapper *m, gpuc_stmt s); /* call of m->stmt; NULL stays NULL */
gpuc_expr gpuc_tir_map_children(gpuc_tir_mapper *m, gpuc_expr e);
gpuc_stmt gpuc_tir_map_stmt_children(gpuc_tir_mapper *m, gpuc_stmt s); /* may return NULL: empty */
void gpuc_tir_mapper_forget(gpuc_tir_mapper *m); /* clears memo: the meaning of variables changed */

bool gpuc_tir_uses_var(gpuc_ctx *ctx, gpuc_expr e, gpuc_expr var);
bool gpuc_tir_stmt_uses_var(gpuc_ctx *ctx, gpuc_stmt s, gpuc_expr var);

/* Why a tensor can be no image (scope texture); NULL if it can. */
const char *gpuc_tir_not_image(gpuc_dtype dtype, int ndim, const gpuc_expr *shape);
/* Channels of a flat texture; 0 of other buffers. */
int gpuc_tir_image_channels(const gpuc_tir_buffer *b);
bool gpuc_tir_is_texture_call(gpuc_expr e);
/* The place of a texture2d call's elements in the image as plain memory. */
gpuc_expr gpuc_tir_texture_index(gpuc_ctx *ctx, gpuc_expr e);

/* A new buffer with the sizes and strides that m makes of b's; NULL if they are b's own. */
gpuc_tir_buffer *gpuc_tir_map_buffer(gpuc_tir_mapper *m, const gpuc_tir_buffer *b);
/* The load or call e with the buffer that the map has for its own; e if there is none. */
gpuc_expr gpuc_tir_with_buffers(gpuc_ctx *ctx, gpuc_expr e, const gpuc_map *buffers);

/* Replaces variables. vars[i] becomes with[i] (of the same dtype), in the sizes of what a statement allocates
 * too: these are other buffers then. */
gpuc_expr gpuc_tir_substitute(gpuc_ctx *ctx, gpuc_expr e, int n, const gpuc_expr *vars,
                              const gpuc_expr *with);
gpuc_stmt gpuc_tir_substitute_stmt(gpuc_ctx *ctx, gpuc_stmt s, int n, const gpuc_expr *vars,
                                   const gpuc_expr *with);
/* Replaces the variables of an expression that are keys of the map by their values. */
gpuc_expr gpuc_tir_substitute_map(gpuc_ctx *ctx, gpuc_expr e, const gpuc_map *by);

/* ---- Words of small integers (dot.c) ---- */
typedef struct gpuc_tir_dot {
    int bits; /* of the integers in a word */
    bool signed_a, signed_b;
} gpuc_tir_dot;
const gpuc_tir_dot *gpuc_tir_dot_of(gpuc_tir_intrin fn); /* NULL: no dot product */
/* Whether the result depends on the arguments only, and is the same in all threads. */
bool gpuc_tir_is_value(gpuc_tir_intrin fn);
/* Whether REINTERPRET may read several lanes of `from` as one of `to`; whether e does. */
bool gpuc_tir_makes_words(gpuc_dtype to, gpuc_dtype from);
bool gpuc_tir_is_words(gpuc_expr e);
/* The words that REINTERPRET makes, by arithmetic. a has the lanes of `from`; its type may be wider than
 * from's and hold the same values. */
gpuc_expr gpuc_tir_words(gpuc_ctx *ctx, gpuc_dtype to, gpuc_dtype from, gpuc_expr a);
/* Replaces a dot product, words, the demand for an exact result or a stride by plain arithmetic, which the evaluator
 * computes exactly; returns e if it is none of these. */
gpuc_expr gpuc_tir_expand(gpuc_ctx *ctx, gpuc_expr e);

/* ---- Cooperative matrices (coopmat.c) ----
 * The body of an ATTR "coopmat": loops from 0 over constant extents, rows outside of columns, around one
 * store of an element of a matrix. M is of scope coopmat, memory is not.
 * - FILL: M[..] = value, which has no loads
 * - LOAD: M[..] = memory[..]
 * - STORE: memory[..] = M[..]
 * - MULTIPLY: M[..] = M[..] + A[..] * B[..], with one more loop for the steps of the sum inside; the factors
 *   are cast to M's type, and of scope coopmat. The order of sums is free. */
typedef enum gpuc_tir_coopmat_kind {
    GPUC_COOPMAT_FILL,
    GPUC_COOPMAT_LOAD,
    GPUC_COOPMAT_STORE,
    GPUC_COOPMAT_MULTIPLY
} gpuc_tir_coopmat_kind;
typedef struct gpuc_tir_coopmat {
    gpuc_tir_coopmat_kind kind;
    int num_loops;
    const gpuc_tir_for_node *loop[3]; /* rows, columns, steps */
    int64_t extent[3];
    const gpuc_tir_store_node *store;
    const gpuc_tir_load_node *load;      /* of LOAD and STORE */
    const gpuc_tir_load_node *factor[2]; /* of MULTIPLY: which has the rows, which the columns */
} gpuc_tir_coopmat;
bool gpuc_tir_is_coopmat(gpuc_stmt s);
/* NULL, or what is wrong with it ("has ..."). */
const char *gpuc_tir_coopmat_of(gpuc_ctx *ctx, const gpuc_tir_attr_node *n, gpuc_tir_coopmat *out);

/* ---- Text form: print and parse are inverse ---- */
void gpuc_tir_print(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_tir_func *f);
void gpuc_tir_print_stmt(gpuc_ctx *ctx, gpuc_buf *out, gpuc_stmt s);
void gpuc_tir_print_expr(gpuc_ctx *ctx, gpuc_buf *out, gpuc_expr e);
/* How READ nodes name their tensor (te sets it; without it, "tensor"). */
void gpuc_tir_set_tensor_name(gpuc_ctx *ctx, const char *(*name)(const struct gpuc_te_tensor *t));
/* The same text with variables and buffers numbered in order of appearance: a cache key. */
void gpuc_tir_print_canonical(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_tir_func *f);

/* ---- Validator: collects all complaints, raises once with the annotated listing ---- */
void gpuc_tir_validate(gpuc_ctx *ctx, const gpuc_tir_func *f, const char *after_pass);

/* ---- Evaluator ---- */
typedef struct gpuc_tir_arg {
    void *data;  /* of each buffer parameter */
    size_t size; /* bytes */
} gpuc_tir_arg;
/* Runs a function of any stage on the host. Scalars are int64 or the bits of a double. Checks
 * every index against the buffer, reads of uninitialised storage, barriers in divergent flow, races
 * between iterations of a parallel loop and between threads of a group; what is wrong comes as a status
 * that names statement and index values. Before thread_sync barriers are missing rightly: races of
 * threads are looked for at stage TARGET, and at stage KERNEL if there is a barrier. Threads may write
 * the same value to the same place.
 * check false: trusted code, index checks only, as fast as it goes (constant folding). */
GPUC_NODISCARD gpuc_status gpuc_ev_run(gpuc_ctx *ctx, const gpuc_tir_func *f, const gpuc_tir_arg *buffers,
                                       const int64_t *scalars, bool check);

#endif
