/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the search. */
#ifndef GPUC_TUNE_SEARCH_H
#define GPUC_TUNE_SEARCH_H

#include "tune/model.h"
#include "tune/space.h"

typedef struct gpuc_tune_rng {
    uint64_t state;
} gpuc_tune_rng;
uint64_t gpuc_tune_random(gpuc_tune_rng *r, uint64_t below);
double gpuc_tune_uniform(gpuc_tune_rng *r); /* [0, 1) */

typedef struct gpuc_tune_trial {
    const gpuc_tune_point *point;
    double seconds; /* infinite: it failed */
} gpuc_tune_trial;

/* One task's part of the search. */
typedef struct gpuc_tune_state {
    gpuc_ctx *ctx;
    gpuc_tune_space *space;
    gpuc_ptrs trials;  /* gpuc_tune_trial, in order */
    gpuc_strmap tried; /* key -> gpuc_tune_trial */
    const gpuc_tune_trial *best;
    int since_best; /* trials without a better one */
    bool exhausted;
    double temperature; /* of the annealing on measurements */
    gpuc_ptrs chains;   /* gpuc_tune_trial: where it stands */
} gpuc_tune_state;

void gpuc_tune_state_init(gpuc_tune_state *s, gpuc_ctx *ctx, gpuc_tune_space *space);
bool gpuc_tune_tried(const gpuc_tune_state *s, const gpuc_tune_point *p);
void gpuc_tune_note(gpuc_tune_state *s, const gpuc_tune_point *p, double seconds);

/* Points of the space; NULL where no schedule comes of it. */
const gpuc_tune_point *gpuc_tune_sample(gpuc_tune_state *s, gpuc_tune_rng *rng);
/* One or two knobs otherwise; what depends on them as near as it can be. */
const gpuc_tune_point *gpuc_tune_mutate(gpuc_tune_state *s, gpuc_tune_rng *rng, const gpuc_tune_point *from);

/* What the cost model knows of configurations: a column per knob's name and a few of the workload. */
typedef struct gpuc_tune_features {
    gpuc_ctx *ctx;
    gpuc_strmap columns; /* knob -> column number + 1 */
    int num_columns;
} gpuc_tune_features;
enum { GPUC_TUNE_MAX_FEATURES = 64, GPUC_TUNE_WORKLOAD_FEATURES = 8 };
void gpuc_tune_features_init(gpuc_tune_features *f, gpuc_ctx *ctx);
/* GPUC_TUNE_WORKLOAD_FEATURES numbers. */
void gpuc_tune_describe(const gpuc_tune_task *task, float *out);
/* GPUC_TUNE_MAX_FEATURES numbers. */
void gpuc_tune_featurize(gpuc_tune_features *f, const float *workload, const gpuc_config *c, float *out);

/* At most n points that were not tried, the most promising first; returns how many. */
int gpuc_tune_propose_random(gpuc_tune_state *s, gpuc_tune_rng *rng, int n, const gpuc_tune_point **out);
int gpuc_tune_propose_sa(gpuc_tune_state *s, gpuc_tune_rng *rng, int n, const gpuc_tune_point **out);
/* The model must be trained. */
int gpuc_tune_propose_model(gpuc_tune_state *s, gpuc_tune_rng *rng, gpuc_tune_model *model,
                            gpuc_tune_features *features, const float *workload, int n,
                            const gpuc_tune_point **out);

#endif
