/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to tune in a program: its fused functions. */
#ifndef GPUC_TUNE_TASK_H
#define GPUC_TUNE_TASK_H

#include "compile/program.h"

typedef struct gpuc_tune_task {
    const gpuc_rfunction *f;
    const char *workload; /* the function's name in logs */
    const char *text;     /* "conv2d_add_relu(float32[1,64,56,56], ...)", for readers */
    int uses;             /* operators that the program computes with it */
} gpuc_tune_task;

typedef struct gpuc_tune_tasks {
    const gpuc_target *target;
    const char *target_text;
    int num_open; /* functions left out, since sizes in them are known at run time only */
    int n;
    const gpuc_tune_task *at; /* in the order in which the program needs them */
} gpuc_tune_tasks;

/* Optimises the module for the target, which uses it up, and lists the functions that have knobs and fixed
 * sizes. */
void gpuc_tune_extract(gpuc_ctx *ctx, gpuc_rmodule *module, const gpuc_target *target,
                       const gpuc_build_options *options, gpuc_tune_tasks *out);

#endif
