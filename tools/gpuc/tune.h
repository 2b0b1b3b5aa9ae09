/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc tune. The search runs in a process that opens no device. Each configuration is built, run, checked and
 * measured in a child, so that one that hangs or crashes the driver costs one trial. */
#ifndef GPUC_CLI_TUNE_H
#define GPUC_CLI_TUNE_H

#include "cli.h"
#include "compile.h"
#include "tune/tuner.h"

/* For tests: what goes wrong in a trial, by its number from 1 on. */
typedef struct tune_planted {
    int endless, wrong, crash; /* 0: none */
} tune_planted;

typedef struct tune_setup {
    const char *target; /* as given; once the device was seen, as gpuc_target_text prints it */
    const char *device; /* NULL: the first of the target's kind, or that of -from_device */
    double timeout;     /* seconds of one trial */
    bool no_wait;       /* measure however busy the machine is */
    bool verbose;
    tune_planted planted;
    gpuc_tune_tasks tasks;
} tune_setup;

enum { TUNE_MOST_KNOBS = 128, TUNE_NAME = 64 };

/* Between parent and child, in memory that they share. */
typedef struct tune_shared {
    char target[2048], device[256], driver[256], problem[1024]; /* what the child found when it began */
    int trial, task;
    double cutoff;
    int num_knobs;
    struct {
        char name[TUNE_NAME];
        int64_t value;
    } knobs[TUNE_MOST_KNOBS];
    char stage[64]; /* what the child is doing */
    gpuc_tune_result result;
} tune_shared;

/* ---- In the child (tune_measure.c) ---- */

typedef struct tune_bench tune_bench;
/* Opens the device, and fills the texts of `shared`. */
GPUC_NODISCARD gpuc_status tune_bench_create(const tune_setup *setup, tune_shared *shared, tune_bench **out);
void tune_bench_destroy(tune_bench *b);
/* The trial that `shared` asks for. */
void tune_bench_measure(tune_bench *b);

/* ---- In the parent (tune_worker.c) ---- */

typedef struct tune_worker tune_worker;
/* The setup is borrowed, and may change until the first trial. Exits where there is no memory. */
tune_worker *tune_worker_create(const tune_setup *setup);
void tune_worker_destroy(tune_worker *w);
/* Starts a child that only looks at the device. */
GPUC_NODISCARD gpuc_status tune_worker_probe(tune_worker *w);
/* Fails where no child can be started; what goes wrong with the configuration is in the result. */
GPUC_NODISCARD gpuc_status tune_worker_measure(tune_worker *w, int task, const gpuc_config *config,
                                               double cutoff, gpuc_tune_result *out);
const tune_shared *tune_worker_texts(const tune_worker *w);

/* ---- Logs (tune_pick.c) ---- */

/* Writes the best record of each function and target to a file. */
GPUC_NODISCARD gpuc_status tune_pick_best(const cli_strings *logs, const char *out);

#endif
