/* SPDX-License-Identifier: Apache-2.0 */
/* Knobs: the decisions of a schedule that a tuner may take otherwise. A schedule asks for each where it takes
 * it, so that what is offered is what is legal at that place, and may depend on the answers before. */
#ifndef GPUC_KNOBS_H
#define GPUC_KNOBS_H

#include <gpuc/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuc_knobs gpuc_knobs; /* of the function that is being scheduled */

/* The value to use for a decision: that of the configuration at hand, else own. The name is short, of
 * letters, digits and '_'; where a schedule asks for it again, the second is "name.2". Candidates stand in
 * the order from the simplest on, and own need not be among them. knobs may be NULL. Raises where the
 * configuration has a value that is not offered. */
GPUC_API int64_t gpuc_knob(gpuc_knobs *knobs, const char *name, int64_t own, int num_candidates,
                           const int64_t *candidates);

/* A configuration: the values of the knobs that a schedule asks for. */
typedef struct gpuc_knob_value {
    const char *name;
    int64_t value;
} gpuc_knob_value;

typedef struct gpuc_config {
    int n;
    const gpuc_knob_value *at; /* in the order in which they are asked for */
} gpuc_config;

#ifdef __cplusplus
}
#endif
#endif
