/* SPDX-License-Identifier: Apache-2.0 */
/* The best known configuration of each function, by workload and target. */
#ifndef GPUC_COMPILE_TUNING_H
#define GPUC_COMPILE_TUNING_H

#include <gpuc/build.h>

#include "base/map.h"
#include "autoschedule/knobs.h"

typedef struct gpuc_tuned {
    const gpuc_config *config;
    double seconds;
    const char *source; /* the name of the log */
} gpuc_tuned;

struct gpuc_tuning {
    gpuc_strmap best;    /* "<workload> <target>" -> gpuc_tuned */
    gpuc_strmap targets; /* that it has something for */
};

gpuc_tuning *gpuc_compile_tuning_create(gpuc_ctx *ctx);
/* Enters what is faster than what is there. */
void gpuc_compile_tuning_add(gpuc_ctx *ctx, gpuc_tuning *t, const char *workload, const char *target,
                             const gpuc_tuned *tuned);
const gpuc_tuned *gpuc_compile_tuning_find(gpuc_ctx *ctx, const gpuc_tuning *t, const char *workload,
                                           const char *target); /* NULL */

#endif
