/* SPDX-License-Identifier: Apache-2.0 */
/* Knobs: decisions of a schedule that a tuner may change. A schedule asks for the value at the place where it
 * decides, so that all candidates are legal there, and may depend on earlier values. */
#ifndef GPUC_KNOBS_H
#define GPUC_KNOBS_H

#include <gpuc/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuc_knobs gpuc_knobs; /* of the function that is being scheduled */

/* The value of a knob: that of the current configuration, else own. The name is short, of letters, digits and
 * '_'; the second knob of that name in a schedule is "name.2". Candidates start with the simplest, and own
 * need not be one of them. With knobs NULL the value is own. Raises if the name is none, if there are more than 65536
 * candidates, and if the configuration has a value that is not one of them. */
GPUC_API int64_t gpuc_knob(gpuc_knobs *knobs, const char *name, int64_t own, int num_candidates,
                           const int64_t *candidates);

/* The value of one knob. */
typedef struct gpuc_knob_value {
    const char *name; /* as gpuc_knob describes it: "rows", "rows.2" */
    int64_t value;    /* that gpuc_knob returns; it must be one of the knob's candidates */
} gpuc_knob_value;

/* A configuration: the values of the knobs that a schedule asks for. What it does not name is left to the schedule. */
typedef struct gpuc_config {
    int n;                     /* of at */
    const gpuc_knob_value *at; /* in the order in which they are asked for */
} gpuc_config;

/* ---- Knobs of loops, as AutoTVM's config space has them ---- */
/* They ask, then change the stage. A knob with several decisions asks for one after the other, as "name", "name.2", ...;
 * a decision with one candidate is not asked for. All raise INVALID_ARGUMENT where nothing is left to choose from: the
 * message names the knob and the loop. */

/* Which extents the loops of a split may have. */
typedef enum gpuc_split_policy {
    GPUC_SPLIT_FACTORS,   /* divisors of the extent: no tail */
    GPUC_SPLIT_POWER2,    /* powers of two: the last part may be a tail */
    GPUC_SPLIT_VERBOSE,   /* both */
    GPUC_SPLIT_CANDIDATES /* those that are listed */
} gpuc_split_policy;

/* How gpuc_knob_split chooses. All may be zero. */
typedef struct gpuc_split_options {
    gpuc_split_policy policy; /* FACTORS if it is left out */
    bool no_tail;             /* only what divides the extent, whatever the policy is */
    int64_t max_factor; /* of an inner loop; 0: any. Needed where the extent is known at run time only */
    int num_candidates; /* of GPUC_SPLIT_CANDIDATES */
    const int64_t *candidates; /* the n - 1 inner extents of each, the outermost first */
    const int64_t *own; /* n - 1 inner extents, the outermost first: of each the largest candidate up to it;
                                  NULL: the smallest ones */
    /* Whether the n - 1 inner extents may be, the outermost first; NULL: all may. */
    bool (*filter)(void *user, int n, const int64_t *extents);
    void *user; /* passed to filter */
} gpuc_split_options;

/* Splits a loop into n, the outermost first: the extents of all but the outermost one, whose product is at most the
 * extent, are knobs, the innermost first. options may be NULL; out gets the loops. */
GPUC_API void gpuc_knob_split(gpuc_knobs *knobs, const char *name, gpuc_stage *st, gpuc_iter *iter,
                              const gpuc_split_options *options, int n, gpuc_iter **out);

/* Which orders gpuc_knob_reorder chooses from. All may be zero: then it is any order. */
typedef struct gpuc_reorder_options {
    int begin, end; /* only these of the loops change their places; 0, 0: all may */
    const int *
        chains; /* n numbers: loops of equal ones stay in the order given (interleave); NULL: each is alone */
    int num_candidates;    /* instead: orders that are listed */
    const int *candidates; /* n numbers of loops each; the first is the own one */
} gpuc_reorder_options;

/* Puts n loops of the stage into an order, of which the one given is the own one. A decision is the number of the loop
 * that comes next, or that of a candidate. options may be NULL; out (may be NULL) gets the loops in their order. */
GPUC_API void gpuc_knob_reorder(gpuc_knobs *knobs, const char *name, gpuc_stage *st, int n,
                                gpuc_iter *const *iters, const gpuc_reorder_options *options,
                                gpuc_iter **out);

/* How a loop may run, and the values of its knob. */
typedef enum gpuc_annotation {
    GPUC_ANNOTATE_NONE = 1,      /* as it is */
    GPUC_ANNOTATE_UNROLL = 2,    /* gpuc_stage_unroll */
    GPUC_ANNOTATE_VECTORIZE = 4, /* gpuc_stage_vectorize */
    GPUC_ANNOTATE_PARALLEL = 8   /* gpuc_stage_parallel */
} gpuc_annotation;

/* Chooses for each of n loops one of the annotations in the set `from`, a sum of gpuc_annotation, as far as they are
 * possible: loops that are unrolled or vectorized have a constant extent of 2 to max (0: 64), vectorized and parallel
 * ones are not reduced over, and only the innermost loop of the stage is vectorized. The own one is the first that is
 * possible. */
GPUC_API void gpuc_knob_annotate(gpuc_knobs *knobs, const char *name, gpuc_stage *st, int n,
                                 gpuc_iter *const *iters, unsigned from, int64_t max);

/* One of n ways, 0 to n - 1: whether to stage an input, at which loop to compute a stage. */
GPUC_API int gpuc_knob_choice(gpuc_knobs *knobs, const char *name, int own, int n);

#ifdef __cplusplus
}
#endif
#endif
