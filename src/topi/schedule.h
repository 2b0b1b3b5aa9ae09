/* SPDX-License-Identifier: Apache-2.0 */
/* Default schedules: rules that read the target's attributes and the shape of the computation. */
#ifndef GPUC_TOPI_SCHEDULE_H
#define GPUC_TOPI_SCHEDULE_H

#include <gpuc/schedule.h>

#include "target/target.h"

/* Schedules a fused function: outputs computed from placeholders through any number of computes.
 * Injective producers are inlined; the anchor (a reduction with reuse) gets the tiling of its class. */
gpuc_schedule *gpuc_topi_schedule(gpuc_ctx *ctx, const gpuc_target *target, int num_outputs,
                                  gpuc_tensor *const *outputs);

#endif
