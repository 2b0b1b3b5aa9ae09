/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of gpuc-fit share: functions under other constants and configurations, timed in turn. */
#ifndef GPUC_BENCH_FIT_H
#define GPUC_BENCH_FIT_H

#include "bench.h"
#include "compile/program.h"

enum { FIT_BATCHES = 3, FIT_TRIALS = 48 };
#define FIT_NOISE 1.03 /* times as long: what is nearer is the same */

typedef struct fit {
    gpuc_runtime *rt;
    gpuc_device *device;
    const char *text; /* of the target */
    bool lanes;       /* are threads: of a vector of a CPU */
    gpuc_constants old, new;
    const char *only; /* names have it in them */
    bool verbose;     /* each trial too */
} fit;

/* One function under one configuration, ready to run. The seconds of the processor that a run takes at least,
 * in each batch and in all. */
typedef struct fit_trial {
    gpuc_model *model;
    gpuc_session *session;
    int count; /* runs of a sample */
    double seconds[FIT_BATCHES + 1];
} fit_trial;

typedef struct fit_trials {
    int n;
    fit_trial at[FIT_TRIALS];
} fit_trials;

/* The target with these constants. Raises. */
const gpuc_target *fit_target(gpuc_ctx *ctx, const fit *f, const gpuc_constants *constants);
/* The module as fused functions. Uses it up; raises. */
gpuc_graph *fit_graph(gpuc_ctx *ctx, gpuc_rmodule *module, const gpuc_target *target);
/* Adds the function, with a configuration (NULL: the default schedule). Raises. */
void fit_add(gpuc_ctx *ctx, const fit *f, fit_trials *trials, const gpuc_graph_function *function,
             const gpuc_target *target, const gpuc_config *config);
/* Times all in turn, to and fro; again, if it was called before. Raises. */
void fit_measure(gpuc_ctx *ctx, fit_trials *trials);
/* Before the memory of the context goes. */
void fit_close(fit_trials *trials);

/* fit_tiles.c: the cost of tiles. fit_sweep.c: sizes, of which the quickest counts. Print a line for each constant, and
 * set it in f->new. */
void fit_tiles(fit *f);
void fit_sweeps(fit *f);
bool fit_wants(const fit *f, gpuc_constant_id id);
void fit_print(fit *f, gpuc_constant_id id, double value, const char *spread);

/* fit_models.c: how many kernels of the models get another schedule under the new constants, and how long these take. */
gpuc_status fit_compare(const fit *f, int num_models, char *const *models);

#endif
