/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning logs: a record a line, JSON. */
#ifndef GPUC_TUNE_LOG_H
#define GPUC_TUNE_LOG_H

#include <gpuc/tune.h>

#include "autoschedule/knobs.h"

#define GPUC_TUNE_LOG_VERSION 1
#define GPUC_TUNE_OK "ok" /* the status of a configuration that was measured */
enum { GPUC_TUNE_MOST_COSTS = 64 };

typedef struct gpuc_tune_record {
    const char *workload; /* 16 hexadecimal digits */
    const char *task;     /* for readers */
    const char *target;   /* as gpuc_target_text prints it */
    const gpuc_config *config;
    int num_costs;
    const double *costs; /* seconds */
    const char *status;  /* GPUC_TUNE_OK, or what went wrong */
    const char *device, *driver, *version;
    int64_t time; /* seconds since 1970 */
} gpuc_tune_record;

typedef struct gpuc_tune_warnings {
    void (*fn)(void *user, const char *text); /* may be NULL */
    void *user;
} gpuc_tune_warnings;
void gpuc_tune_warn(const gpuc_tune_warnings *w, gpuc_ctx *ctx, const char *fmt, ...) GPUC_PRINTF(3, 4);

/* The median of the costs; infinite unless the status is GPUC_TUNE_OK. */
double gpuc_tune_seconds(const gpuc_tune_record *r);
/* One line, with its end. Raises when out of memory. */
void gpuc_tune_record_print(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_tune_record *r);
/* NULL, and why in *problem, if the line is no record. */
gpuc_tune_record *gpuc_tune_record_parse(gpuc_ctx *ctx, const char *line, size_t size, const char **problem);

/* Adds the records (gpuc_tune_record) of a file. Lines that are none get a warning; so does a last line that
 * was cut off. Raises if the file cannot be read. */
void gpuc_tune_log_read(gpuc_ctx *ctx, const char *path, const gpuc_tune_warnings *w, gpuc_ptrs *records);

/* Opens a log to append to; what a line that was cut off left there becomes a line. */
GPUC_NODISCARD gpuc_status gpuc_tune_log_open(const char *path, int *fd);
/* In one write. */
GPUC_NODISCARD gpuc_status gpuc_tune_log_append(int fd, const char *path, const gpuc_buf *line);

#endif
