/* SPDX-License-Identifier: Apache-2.0 */
/* The search: which configuration of which function is measured next. It measures nothing itself. */
#ifndef GPUC_TUNE_TUNER_H
#define GPUC_TUNE_TUNER_H

#include "tune/log.h"
#include "tune/task.h"

typedef enum gpuc_tune_search {
    GPUC_TUNE_XGB, /* batches that simulated annealing finds on a cost model */
    GPUC_TUNE_SA,  /* simulated annealing on what is measured */
    GPUC_TUNE_RANDOM
} gpuc_tune_search;

typedef struct gpuc_tune_ask {
    int task;
    const gpuc_config *config;
    double best; /* of the task so far: seconds, or infinite */
} gpuc_tune_ask;

/* What came of one trial. */
typedef struct gpuc_tune_result {
    char status[16]; /* GPUC_TUNE_OK, or "wrong", "timeout", "crash", "error" */
    int num_costs;
    double costs[GPUC_TUNE_MOST_COSTS];
    char message[512]; /* of a failure */
} gpuc_tune_result;

typedef struct gpuc_tune_progress {
    int trials, failures;    /* of this run */
    int task;                /* the one at hand */
    double best;             /* its best, in seconds; infinite: none yet */
    double total, total_own; /* seconds of all operators: with the best, as found at first */
} gpuc_tune_progress;

typedef struct gpuc_tune_options {
    gpuc_tune_search search;
    int trials;          /* at most; 0: any number */
    double seconds;      /* the same; 0: any time */
    bool ignore_default; /* begin with the simplest schedule, not with the default */
    bool confirm;        /* instead of searching: the first and the best of each task once more */
    uint64_t seed;
    int together; /* trials that are asked for at a time, at most; 0: 1 */
    /* Measures and records n trials. */
    void (*measure)(void *user, int n, const gpuc_tune_ask *asks, gpuc_tune_result *results);
    void (*progress)(void *user, const gpuc_tune_progress *p); /* may be NULL */
    bool (*stop)(void *user);                                  /* may be NULL */
    void *user;
    gpuc_tune_warnings warnings;
} gpuc_tune_options;

/* Configurations that records have for the target are not measured again. Raises. */
void gpuc_tune_run(gpuc_ctx *ctx, const gpuc_tune_tasks *tasks, const gpuc_ptrs *records,
                   const gpuc_tune_options *options, gpuc_tune_progress *out);

#endif
