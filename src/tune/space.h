/* SPDX-License-Identifier: Apache-2.0 */
/* The configurations that a function may have. A schedule's knobs form a tree, since what one offers depends
 * on the answers before it; it is found out by running the schedule, and kept. */
#ifndef GPUC_TUNE_SPACE_H
#define GPUC_TUNE_SPACE_H

#include <gpuc/tune.h>

#include "compile/program.h"

typedef struct gpuc_tune_space gpuc_tune_space;

/* One of the knob's candidates. */
typedef int64_t (*gpuc_tune_choose_fn)(void *user, const gpuc_asked *knob);

typedef struct gpuc_tune_point {
    const char *key; /* the same for equal configurations */
    const gpuc_config *config;
} gpuc_tune_point;

gpuc_tune_space *gpuc_tune_space_create(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_rfunction *f);
/* The configuration of these choices; NULL if there is no schedule for it. */
const gpuc_tune_point *gpuc_tune_space_walk(gpuc_tune_space *s, gpuc_tune_choose_fn choose, void *user);
/* The schedule's own. */
const gpuc_tune_point *gpuc_tune_space_own(gpuc_tune_space *s);
/* The first candidate of each knob: the simplest. */
const gpuc_tune_point *gpuc_tune_space_first(gpuc_tune_space *s);
/* That configuration; NULL, and why in *problem, if it is not in the space. */
const gpuc_tune_point *gpuc_tune_space_find(gpuc_tune_space *s, const gpuc_config *c, const char **problem);

#endif
