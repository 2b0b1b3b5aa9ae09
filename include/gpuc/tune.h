/* SPDX-License-Identifier: Apache-2.0 */
/* What `gpuc tune` found, for builds: docs/tuning.md. */
#ifndef GPUC_TUNE_H
#define GPUC_TUNE_H

#include <gpuc/build.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The best configurations of the logs, for gpuc_build_options.tuning; it lives in the context. A line that is
 * no record is left out with a warning that names file and line. Raises if a file cannot be read. */
GPUC_API gpuc_tuning *gpuc_tuning_load(gpuc_ctx *ctx, int num_logs, const char *const *paths,
                                       void (*warning)(void *user, const char *text), void *warning_user);

#ifdef __cplusplus
}
#endif
#endif
