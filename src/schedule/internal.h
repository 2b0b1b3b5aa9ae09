/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of schedules. */
#ifndef GPUC_SCHEDULE_INTERNAL_H
#define GPUC_SCHEDULE_INTERNAL_H

#include <gpuc/schedule.h>

#include "arith/arith.h"
#include "te/te.h"
#include "tir/intern.h"

typedef struct gpuc_pragma {
    const char *key;
    int64_t value;
    struct gpuc_pragma *next;
} gpuc_pragma;

/* What is asked for in the body of a loop, so many iterations before it is read. */
typedef struct gpuc_prefetch {
    gpuc_tensor *tensor;
    int64_t offset;
    struct gpuc_prefetch *next;
} gpuc_prefetch;

/* How a leaf runs; a leaf without one is serial. */
typedef struct gpuc_loop_note {
    gpuc_loop_kind kind;
    gpuc_thread_tag tag;
    gpuc_pragma *pragmas;
    gpuc_prefetch *prefetches;
    const gpuc_tensor_intrin *intrin; /* in the place of this loop and those inside of it, or NULL */
} gpuc_loop_note;

typedef struct gpuc_align {
    int64_t factor, offset; /* factor 0: none */
} gpuc_align;

struct gpuc_stage {
    gpuc_schedule *schedule;
    const char *name;
    gpuc_te_op *op;
    bool is_output;
    gpuc_ptrs relations; /* gpuc_relation, in order of making */
    gpuc_iter **leaves;  /* outermost first */
    int num_leaves;
    gpuc_map notes; /* leaf -> gpuc_loop_note */
    gpuc_attach attach;
    gpuc_stage *attach_stage;
    gpuc_iter *attach_iter;
    bool has_scope;
    gpuc_scope scope;
    bool double_buffer, round_up, non_temporal, require_scope, rolling;
    int num_env; /* threads around all loops; their tags are in notes */
    gpuc_iter **env;
    gpuc_expr predicate; /* of stores, in the variables of loops, or NULL */
    gpuc_stage_group *group;
    gpuc_align *align;            /* per dimension, or NULL */
    const gpuc_te_layout *layout; /* of the storage, or NULL */
    int64_t *parts;               /* per dimension: extents of parts are multiples of it (0: any), or NULL */
};

struct gpuc_stage_group {
    gpuc_schedule *schedule;
    const char *name; /* of the first output */
    gpuc_ptrs stages;
    gpuc_attach attach; /* ROOT or AT */
    gpuc_stage *attach_stage;
    gpuc_iter *attach_iter;
};

struct gpuc_schedule {
    gpuc_ctx *ctx;
    gpuc_ptrs groups; /* gpuc_stage_group */
    gpuc_ptrs stages; /* producers first */
    gpuc_map of_op;   /* every operation that a stage has had -> stage */
};

GPUC_NORETURN void gpuc_stage_fail(const gpuc_stage *st, const char *fmt, ...) GPUC_PRINTF(2, 3);
/* Fails if a factor or a number of parts is beyond what indices are computed with: sizes are less than 2^31. */
void gpuc_stage_need_factor(const gpuc_stage *st, int64_t factor, const char *primitive);
const char *gpuc_schedule_iter_name(const gpuc_iter *iter);
/* Fails if what a primitive was given is NULL. what: "thread axis". */
void gpuc_stage_need(const gpuc_stage *st, const void *given, const char *primitive, const char *what);

gpuc_stage *gpuc_stage_make(gpuc_schedule *s, gpuc_te_op *op);
gpuc_stage *gpuc_schedule_find(const gpuc_schedule *s, const gpuc_te_op *op); /* NULL: none */
/* The tensor as the schedule computes it now. */
gpuc_tensor *gpuc_schedule_current(gpuc_schedule *s, gpuc_tensor *t);

int gpuc_stage_find_leaf(const gpuc_stage *st, const gpuc_iter *iter); /* -1: not a leaf */
int gpuc_stage_need_leaf(const gpuc_stage *st, const gpuc_iter *iter, const char *primitive);
gpuc_loop_note gpuc_stage_note(const gpuc_stage *st, const gpuc_iter *iter);
gpuc_loop_note *gpuc_stage_note_make(gpuc_stage *st, gpuc_iter *iter);
/* Puts a stage that a primitive has made into a group (NULL: none), and to its place. */
void gpuc_stage_group_join(gpuc_stage_group *g, gpuc_stage *st);
/* Raises where st cannot be computed in that loop of parent. */
void gpuc_stage_need_place(const gpuc_stage *st, const gpuc_stage *parent, const gpuc_iter *iter);
bool gpuc_schedule_op_reads(const gpuc_te_op *op, const gpuc_te_op *producer);
bool gpuc_schedule_op_is_reduction(const gpuc_te_op *op);

/* ---- Relations ---- */

typedef struct gpuc_range {
    gpuc_expr min, extent;
} gpuc_range;

/* Maps are iter -> gpuc_range. Knows the root axes; adds what the relations derive. */
void gpuc_schedule_pass_down_domain(gpuc_analyzer *a, gpuc_ctx *ctx, const gpuc_stage *st, gpuc_map *dom);
/* iter -> gpuc_expr. Knows the leaves; adds the iterators that they were made from. Roots have their minimum
 * added. */
void gpuc_schedule_pass_up_value(gpuc_ctx *ctx, const gpuc_stage *st, const gpuc_map *dom, gpuc_map *value);

typedef struct gpuc_span {
    gpuc_expr min, max; /* both ends included */
    bool full;          /* all of the iterator's domain */
} gpuc_span;
/* iter -> gpuc_span. Knows the leaves; adds the iterators that they were made from. */
void gpuc_schedule_pass_up_span(gpuc_ctx *ctx, gpuc_analyzer *a, const gpuc_stage *st, const gpuc_map *dom,
                                gpuc_map *span);

/* Conditions under which the values of the leaves stand for an element of the region of the stage, each
 * element once: a split whose factor does not divide the extent runs past the end. Iterators without a value
 * are left out. */
void gpuc_schedule_pass_up_guards(gpuc_ctx *ctx, gpuc_analyzer *a, const gpuc_stage *st, const gpuc_map *dom,
                                  const gpuc_map *value, gpuc_ptrs *guards);
/* Marks the iterators made from marked ones, and the other way round. marks: iter -> anything. */
void gpuc_schedule_pass_down_mark(const gpuc_stage *st, gpuc_map *marks);
void gpuc_schedule_pass_up_mark(const gpuc_stage *st, gpuc_map *marks);

/* ---- Tensorize ---- */

enum { GPUC_TENSOR_AXES = 8 };

/* A read of an input of the pattern: index [d] is sum(scale[d][x] * axis x) + offset[d]. */
typedef struct gpuc_tensor_intrin_read {
    gpuc_expr read;
    int64_t scale[GPUC_TENSOR_AXES][GPUC_TENSOR_AXES], offset[GPUC_TENSOR_AXES];
} gpuc_tensor_intrin_read;

/* How the distance of elements along a dimension of a tensor follows from those along an axis of the pattern, once the
 * steps before are known. */
typedef struct gpuc_tensor_step {
    int dim, axis;
    const gpuc_tensor_intrin_read *read;
} gpuc_tensor_step;

/* A tensor of the pattern: an input, or an output, whose one read is at its axes. */
typedef struct gpuc_tensor_operand {
    gpuc_tensor *tensor;
    gpuc_ptrs reads; /* gpuc_tensor_intrin_read */
    int num_steps;
    gpuc_tensor_step steps[GPUC_TENSOR_AXES];
} gpuc_tensor_operand;

struct gpuc_tensor_intrin {
    const char *name;
    const gpuc_te_op *pattern;
    int num_inputs;
    gpuc_tensor_operand *inputs, output; /* outputs are alike */
    gpuc_tensor_parts parts;
};

static inline int gpuc_tensor_intrin_rank(const gpuc_tensor_intrin *t)
{
    return t->pattern->num_axes + t->pattern->num_reduce;
}
static inline const gpuc_iter *gpuc_tensor_intrin_axis(const gpuc_tensor_intrin *t, int i)
{
    const gpuc_te_op *p = t->pattern;
    return i < p->num_axes ? p->axes[i] : p->reduce[i - p->num_axes];
}

/* A computation that is the pattern's: what stands for each of its reads. */
typedef struct gpuc_tensor_match {
    gpuc_ctx *ctx;
    const gpuc_tensor_intrin *intrin;
    unsigned swaps; /* bit i: the operands of commutative operator i are taken the other way round */
    int operators, steps;
    gpuc_ptrs pattern, found; /* READs */
    const char *differs;      /* the first difference */
} gpuc_tensor_match;
/* Matches op over all orders of the operands of commutative operators. `fits` (or NULL) may refuse a match: it returns why,
 * NULL if it does not. Returns NULL, or the difference of what comes nearest. */
const char *gpuc_tensor_intrin_find_match(gpuc_ctx *ctx, const gpuc_tensor_intrin *t, const gpuc_te_op *op,
                                          const char *(*fits)(const gpuc_tensor_match *m, void *arg),
                                          void *arg, gpuc_tensor_match *m);

/* Where the pattern's tensors lie for the loops that an intrinsic stands for. */
typedef struct gpuc_tensor_binding {
    gpuc_ctx *ctx;
    gpuc_analyzer *analyzer;
    const gpuc_stage *stage;
    const gpuc_tensor_intrin *intrin;
    const gpuc_te_emit *emit;
    int rank;                             /* of the axes that have loops: those of the output come first */
    gpuc_expr var[GPUC_TENSOR_AXES];      /* loop variable of each axis */
    const gpuc_tensor_region **in, **out; /* in: NULL without the reduce axes */
} gpuc_tensor_binding;
/* The region of a tensor whose read number r stands for an element at index[r], of one index per dimension of the buffer;
 * NULL, and why, where the elements do not lie as the pattern reads them. name: of what lies there. */
const gpuc_tensor_region *gpuc_tensor_intrin_region(const gpuc_tensor_binding *b,
                                                    const gpuc_tensor_operand *t, const char *name,
                                                    const gpuc_tir_buffer *buffer,
                                                    const gpuc_expr *const *index, const char **why);
const gpuc_tir_buffer *gpuc_tensor_region_buffer(const gpuc_tensor_region *r);

/* Binds the loops with their variables, for the element that e describes. whole: the loops are those of all axes; binds the
 * inputs too, and raises unless the computation is the pattern's. Else they are those of the output's axes. */
void gpuc_tensor_intrin_bind(gpuc_tensor_binding *b, gpuc_analyzer *a, const gpuc_stage *st,
                             const gpuc_tensor_intrin *intrin, const gpuc_te_emit *e, bool whole, int n,
                             const gpuc_iter *const *loops, const gpuc_expr *vars);
/* Whether a tensor lies in that scope. */
bool gpuc_tensor_intrin_touches(const gpuc_tensor_binding *b, gpuc_scope scope);
/* The statement of a part, which is not NULL; what: its name in messages. */
gpuc_stmt gpuc_tensor_intrin_emit(const gpuc_tensor_binding *b, gpuc_tensor_part part, const char *what);

/* intrins_coopmat.c: those on cooperative matrices. NULL: none has that name. */
gpuc_tensor_intrin *gpuc_tensor_intrin_coopmat(gpuc_ctx *ctx, const char *name);

/* ---- Dataflow ---- */

/* Changes of operations, collected first and made together. */
typedef struct gpuc_dataflow {
    gpuc_schedule *schedule;
    gpuc_ptrs from, to;    /* tensors that are replaced in every later stage */
    gpuc_ptrs stages, ops; /* stage number i gets operation number i */
    gpuc_stage *added;     /* a new stage, to be put before or after another */
    const gpuc_stage *beside;
    bool after;
} gpuc_dataflow;

/* Stage st computes op from now on: the stages after it read op's outputs. */
void gpuc_schedule_dataflow_replace(gpuc_dataflow *d, gpuc_stage *st, gpuc_te_op *op);
/* Carries replacements through all stages. In those of readers, t becomes cache (num_readers 0: none). */
void gpuc_schedule_dataflow_carry(gpuc_dataflow *d, gpuc_tensor *t, gpuc_tensor *cache, int num_readers,
                                  gpuc_stage *const *readers);
/* Makes the changes; if there is no memory for that, none is made. */
void gpuc_schedule_dataflow_commit(gpuc_dataflow *d);

#endif
