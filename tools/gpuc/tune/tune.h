/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc tune. The search runs in a process that opens no device. Each configuration is built, run, checked and
 * measured in a child, so that one that hangs or crashes the driver costs one trial. Several children prepare
 * trials side by side, since drivers compile on one thread; while one of them measures, the others rest. */
#ifndef GPUC_CLI_TUNE_H
#define GPUC_CLI_TUNE_H

#include <gpuc/tune.h>

#include "cli.h"
#include "compile.h"

/* For tests: what goes wrong in a trial, by its number from 1 on. */
typedef struct tune_planted {
    int endless, wrong, crash; /* 0: none */
} tune_planted;

typedef struct tune_setup {
    const char *target; /* as given; once the device was seen, as gpuc_target_text prints it */
    const char *device; /* NULL: the first of the target's kind, or that of -from_device */
    double timeout;     /* seconds of one trial */
    bool no_wait;       /* measure however busy the machine is */
    int processes;      /* children, 1 to TUNE_MAX_PROCESSES */
    int rounds;         /* how often each of the trials that are ready is measured, in turn */
    bool verbose;
    tune_planted planted;
    gpuc_tune_tasks tasks;
} tune_setup;

enum { TUNE_MAX_KNOBS = 128, TUNE_NAME = 64, TUNE_MAX_PROCESSES = 8 };

/* The stages of a trial. */
typedef enum tune_stage {
    TUNE_BUILDING,
    TUNE_LOADING,
    TUNE_REFERENCE,
    TUNE_RUNNING,
    TUNE_COMPARING,
    TUNE_WAITING,
    TUNE_MEASURING,
    TUNE_STAGES
} tune_stage;
const char *tune_stage_text(tune_stage s); /* "computing the reference" */

/* Between parent and child, in memory that they share. */
typedef struct tune_shared {
    char target[2048], device[256], driver[256], problem[1024]; /* what the child found when it began */
    int trial, task;
    double best; /* the time of the best so far */
    int num_knobs;
    struct {
        char name[TUNE_NAME];
        int64_t value;
    } knobs[TUNE_MAX_KNOBS];
    tune_stage stage;          /* what the child is doing */
    double spent[TUNE_STAGES]; /* seconds, also of children before it */
    gpuc_tune_result result;
} tune_shared;

/* ---- In the child (measure.c) ---- */

typedef struct tune_bench tune_bench;
/* Opens the device, and fills the texts of `shared`. */
GPUC_NODISCARD gpuc_status tune_bench_create(const tune_setup *setup, tune_shared *shared, tune_bench **out);
void tune_bench_destroy(tune_bench *b);
/* Prepares the trial that `shared` asks for: builds it, runs it and compares its result. If the result is
 * right, its status is GPUC_TUNE_OK and the trial may be measured. */
void tune_bench_prepare(tune_bench *b);
void tune_bench_measure(tune_bench *b);

/* ---- In the parent (worker.c): one child ---- */

typedef struct tune_worker tune_worker;
/* The setup is borrowed, and may change until the first trial. Exits where there is no memory. */
tune_worker *tune_worker_create(const tune_setup *setup);
void tune_worker_destroy(tune_worker *w);
/* Starts a child that only looks at the device. */
GPUC_NODISCARD gpuc_status tune_worker_probe(tune_worker *w);
/* Starts a child if there is none. */
GPUC_NODISCARD gpuc_status tune_worker_start(tune_worker *w);
/* Begins the trial of that number. */
void tune_worker_prepare(tune_worker *w, int trial, const gpuc_tune_ask *ask);
void tune_worker_measure(tune_worker *w);
/* Waits for what was begun last. What goes wrong with the configuration is in the result. Fails if it was
 * interrupted. */
GPUC_NODISCARD gpuc_status tune_worker_finish(tune_worker *w, gpuc_tune_result *out);
const tune_shared *tune_worker_texts(const tune_worker *w);

/* ---- Several of them (pool.c) ---- */

typedef struct tune_pool {
    tune_worker *at[TUNE_MAX_PROCESSES];
    int n, trials, rounds;
} tune_pool;
void tune_pool_init(tune_pool *p, const tune_setup *setup);
void tune_pool_deinit(tune_pool *p);
/* Measures at most as many trials as there are children. */
GPUC_NODISCARD gpuc_status tune_pool_measure(tune_pool *p, int n, const gpuc_tune_ask *asks,
                                             gpuc_tune_result *results);

/* ---- Logs (pick.c) ---- */

/* {"rows":4,"lanes":8}. From cli_alloc. */
char *tune_config_text(const gpuc_config *c);

/* Writes the best record of each function and target to a file, if it takes at least so many percent less
 * time than the first one. Of what was measured several times the last record counts, and only such are
 * chosen from where the best of a function was confirmed. */
GPUC_NODISCARD gpuc_status tune_pick_best(cli_runtime *r, const cli_strings *logs, const char *out, int gain);

#endif
