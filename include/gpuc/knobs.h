/* SPDX-License-Identifier: Apache-2.0 */
/* Knobs: decisions of a schedule that a tuner may change. A schedule asks for the value at the place where it
 * decides, so that all candidates are legal there, and may depend on earlier values. */
#ifndef GPUC_KNOBS_H
#define GPUC_KNOBS_H

#include <gpuc/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuc_knobs gpuc_knobs; /* of the function that is being scheduled */

/* The value of a knob: that of the current configuration, else own. The name is short, of letters, digits and
 * '_'; the second knob of that name in a schedule is "name.2". Candidates start with the simplest, and own
 * need not be one of them. With knobs NULL the value is own. Raises if the configuration has a value that is
 * not a candidate. */
GPUC_API int64_t gpuc_knob(gpuc_knobs *knobs, const char *name, int64_t own, int num_candidates,
                           const int64_t *candidates);

/* The value of one knob. */
typedef struct gpuc_knob_value {
    const char *name; /* as gpuc_knob describes it: "rows", "rows.2" */
    int64_t value;    /* that gpuc_knob returns; it must be one of the knob's candidates */
} gpuc_knob_value;

/* A configuration: the values of the knobs that a schedule asks for. What it does not name is left to the schedule. */
typedef struct gpuc_config {
    int n;                     /* of at */
    const gpuc_knob_value *at; /* in the order in which they are asked for */
} gpuc_config;

#ifdef __cplusplus
}
#endif
#endif
