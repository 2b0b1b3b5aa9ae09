/* SPDX-License-Identifier: Apache-2.0 */
/* What tasks of networks and of templates share. */
#ifndef GPUC_TUNE_TASK_H
#define GPUC_TUNE_TASK_H

#include <gpuc/tune.h>

#include "compile/program.h"

/* The number of knobs that the schedule of f asks for by itself, and what it raises. */
GPUC_NODISCARD gpuc_status gpuc_tune_count_knobs(gpuc_ctx *ctx, const gpuc_target *target,
                                                 const gpuc_rfunction *f, int *out);
bool gpuc_tune_has_fixed_sizes(const gpuc_rfunction *f);
/* "conv2d_add_relu(float32[1,64,56,56], ...)" */
const char *gpuc_tune_task_text(gpuc_ctx *ctx, const char *label, const gpuc_rfunction *f);

#endif
