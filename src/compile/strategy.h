/* SPDX-License-Identifier: Apache-2.0 */
/* How the operators of a function are computed: by what their rows say, or by an implementation that a program added. */
#ifndef GPUC_COMPILE_STRATEGY_H
#define GPUC_COMPILE_STRATEGY_H

#include "autoschedule/knobs.h"
#include "relay/relay.h"

typedef struct gpuc_strategy {
    const gpuc_target *target;
    gpuc_knobs *knobs;                  /* NULL: priorities decide */
    const gpuc_op_implementation *last; /* out: that of the last call; NULL: all are the rows' own */
    const char *names;                  /* out: those that are not the rows' own, with commas; NULL: none */
} gpuc_strategy;

/* Lives as long as s. */
gpuc_relay_chooser gpuc_compile_chooser(gpuc_strategy *s);

#endif
