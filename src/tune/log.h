/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning logs: a record a line, JSON. */
#ifndef GPUC_TUNE_LOG_H
#define GPUC_TUNE_LOG_H

#include <gpuc/tune.h>

#include "autoschedule/knobs.h"

#define GPUC_TUNE_LOG_VERSION 1

void gpuc_tune_warn(const gpuc_tune_warnings *w, gpuc_ctx *ctx, const char *fmt, ...) GPUC_PRINTF(3, 4);

/* NULL, and why in *problem, if the line is no record. */
gpuc_tune_record *gpuc_tune_record_parse(gpuc_ctx *ctx, const char *line, size_t size, const char **problem);

#endif
