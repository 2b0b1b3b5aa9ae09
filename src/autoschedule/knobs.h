/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations: the values of the knobs that a schedule asks for. */
#ifndef GPUC_AUTOSCHEDULE_KNOBS_H
#define GPUC_AUTOSCHEDULE_KNOBS_H

#include <gpuc/knobs.h>

#include "base/buf.h"
#include "base/ctx.h"

/* What a schedule asked, and what it was given. */
typedef struct gpuc_asked {
    const char *name;
    int64_t own, value;
    int n;
    const int64_t *candidates; /* own is among them */
} gpuc_asked;

struct gpuc_knobs {
    gpuc_ctx *ctx;
    const gpuc_config *config; /* what it does not name is left to the schedule; NULL: all is */
    /* Instead of a configuration: one of the candidates. */
    int64_t (*choose)(void *user, const gpuc_asked *knob);
    void *user;
    gpuc_ptrs asked; /* gpuc_asked, in order */
};

/* The search keeps a list of the candidates for each place where a knob is asked for. */
#define GPUC_KNOB_MAX_CANDIDATES 65536
/* Raises if a knob cannot have so many. */
void gpuc_knobs_check_count(gpuc_ctx *ctx, const char *name, int n);
/* Raises if the configuration has a knob that was not asked for. */
void gpuc_knobs_check(const gpuc_knobs *k);
bool gpuc_config_get(const gpuc_config *c, const char *name, int64_t *out);
/* {"rows":4,"lanes":8} */
void gpuc_config_print(gpuc_buf *out, const gpuc_config *c);
gpuc_config *gpuc_config_copy(gpuc_ctx *ctx, const gpuc_config *c);
/* The values that were given. */
gpuc_config *gpuc_knobs_config(gpuc_ctx *ctx, const gpuc_knobs *k);

#endif
