/* SPDX-License-Identifier: Apache-2.0 */
/* A module as a target's kernels compute it, in the evaluator. */
#ifndef GPUC_TESTS_GRAPHS_EVALUATE_H
#define GPUC_TESTS_GRAPHS_EVALUATE_H

#include "../relay/fixture.h"
#include "target/target.h"

/* Optimizes m for the target, schedules and lowers its functions, and runs their kernels with the checks of
 * the evaluator. args are constants; results (constants) are pushed to outs. Raises. */
void evaluate_module(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_target *target, gpuc_rexpr *const *args,
                     gpuc_ptrs *outs);

#endif
