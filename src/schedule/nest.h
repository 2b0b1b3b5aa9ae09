/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering of a schedule: each stage that is computed becomes a nest of loops. */
#ifndef GPUC_SCHEDULE_NEST_H
#define GPUC_SCHEDULE_NEST_H

#include "schedule/internal.h"

typedef struct gpuc_nest gpuc_nest;

typedef struct gpuc_nest_loop {
    gpuc_iter *iter;
    gpuc_loop_note note;
    gpuc_expr extent;
    gpuc_expr launch; /* extent that the loop is given: a thread loop may have more threads than it needs */
    gpuc_expr var;    /* runs from 0; of the enclosing loop if that has the same thread tag */
    gpuc_expr value;  /* var, or 0 if there is one iteration */
    const struct gpuc_nest_loop *opened; /* that enclosing loop, or NULL: the loop opens itself */
    gpuc_ptrs inside;                    /* gpuc_nest computed in its body, producers first */
    gpuc_stmt ahead;                     /* prefetches at the begin of the body, or NULL */
} gpuc_nest_loop;

/* How a stage treats elements of its part beyond the end of the tensor. */
typedef enum gpuc_past_end {
    GPUC_PAST_END_GUARDED,  /* they are left out */
    GPUC_PAST_END_COMPUTED, /* from what the stage reads at their place */
    GPUC_PAST_END_CLAMPED   /* from what the stage reads at the end */
} gpuc_past_end;

struct gpuc_nest {
    gpuc_stage *stage;
    const gpuc_te_op *op; /* inlined stages are in its bodies; the outputs are those of stage->op */
    gpuc_nest *parent;    /* computed in the body of a loop of it; NULL: at root */
    int parent_loop;
    gpuc_scope scope;
    bool is_parameter; /* an output lies in an argument of the function */
    gpuc_map dom;      /* iter -> gpuc_range: what has to be computed */
    gpuc_past_end past_end;
    bool rolls; /* storage lives through the parent loop's iterations */
    int rolling_axis;
    gpuc_expr held; /* so many of its part were computed before */
    int num_loops;
    gpuc_nest_loop *loops; /* outermost first, in the order that they are emitted in: first the stage's env */
};

typedef struct gpuc_lowering {
    gpuc_ctx *ctx;
    gpuc_schedule *schedule;
    gpuc_analyzer *analyzer;  /* knows the ranges of loop variables and symbols, and that loops run */
    gpuc_analyzer *sizes;     /* knows the ranges of symbols alone */
    gpuc_ptrs nests;          /* producers first */
    gpuc_map of_op;           /* stage->op -> gpuc_nest */
    gpuc_map places;          /* tensor -> gpuc_te_place */
    gpuc_map allocs;          /* tensor -> gpuc_tir_buffer to allocate */
    const gpuc_ptrs *scalars; /* parameters of the function */
} gpuc_lowering;

/* The enclosing loops of a nest, innermost first. */
typedef struct gpuc_path {
    const gpuc_nest *nest;
    int loop;
} gpuc_path;
static inline gpuc_path gpuc_path_start(const gpuc_nest *n)
{
    return (gpuc_path){n->parent, n->parent_loop};
}
static inline gpuc_nest_loop *gpuc_path_next(gpuc_path *p) /* NULL at the end */
{
    if (!p->nest) return NULL;
    gpuc_nest_loop *loop = &p->nest->loops[p->loop];
    *p = p->loop > 0 ? (gpuc_path){p->nest, p->loop - 1} : (gpuc_path){p->nest->parent, p->nest->parent_loop};
    return loop;
}

/* Whether each thread of this tag has storage of its own in that scope. If so, the storage holds what this
 * thread needs; else it holds what all threads of the tag need together. */
bool gpuc_schedule_scope_is_per_thread(gpuc_scope scope, gpuc_thread_tag tag);

/* Makes the nests of stages that are computed, inlined stages put into their readers' bodies. */
void gpuc_schedule_lowering_make_nests(gpuc_lowering *l);
/* Attachments, scopes, domains and loops of all nests. */
void gpuc_schedule_lowering_infer(gpuc_lowering *l);
/* Reader m's iterations while n's result is in use (n NULL: all iterations): axis variable -> gpuc_interval,
 * in terms of the loops that are open there. Ends are NULL where nothing is known. */
void gpuc_schedule_lowering_reader_spans(gpuc_lowering *l, const gpuc_nest *n, const gpuc_nest *m,
                                         gpuc_map *spans);
/* The part of a tensor that the body of loop number `level` of m reads, in terms of the loops up to that one: region has
 * one interval per dimension. false: not known. */
bool gpuc_schedule_lowering_read_part(gpuc_lowering *l, const gpuc_nest *m, int level, const gpuc_tensor *t,
                                      gpuc_interval *region);
/* Sets rolls of a nest whose loops around are known; raises where its part does not roll. */
void gpuc_schedule_lowering_roll(gpuc_lowering *l, gpuc_nest *n);
/* Sets `ahead` of the loops of a nest. */
void gpuc_schedule_lowering_prefetch(gpuc_lowering *l, gpuc_nest *n);
/* Adds guards of the first loops that are launched with more threads than they have iterations, or that run in the
 * threads of a longer enclosing loop, and of the enclosing ones. */
void gpuc_schedule_lowering_guard_threads(gpuc_lowering *l, const gpuc_nest *n, const gpuc_nest_loop *loops,
                                          int num_loops, gpuc_ptrs *list);
/* Adds the condition under which the nest's stage stores, in the values of its iterators. */
void gpuc_schedule_lowering_predicate(gpuc_lowering *l, const gpuc_nest *n, const gpuc_map *value,
                                      gpuc_ptrs *guards);
/* Sets past_end of a nest whose domain is known. Its producers' is set. */
void gpuc_schedule_lowering_round_up(gpuc_lowering *l, gpuc_nest *n);
/* The value of axis k that an element is computed from, if elements beyond the end are those at the end. */
gpuc_expr gpuc_schedule_lowering_clamp(gpuc_lowering *l, const gpuc_nest *n, int k, gpuc_expr index);
/* The statement of a nest and of all that is computed in its loops. NULL: nothing to do. */
gpuc_stmt gpuc_schedule_lowering_emit(gpuc_lowering *l, const gpuc_nest *n);
/* body preceded by the nests (producers first), with their storage around. */
gpuc_stmt gpuc_schedule_lowering_produce(gpuc_lowering *l, const gpuc_ptrs *nests, gpuc_stmt body);

#endif
