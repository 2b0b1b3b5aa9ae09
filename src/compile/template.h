/* SPDX-License-Identifier: Apache-2.0 */
/* Templates (gpuc/tune.h) as functions of the graph IR: a call of a row that stands for the template, so that what
 * lowers, names and runs functions of networks does it for templates. */
#ifndef GPUC_COMPILE_TEMPLATE_H
#define GPUC_COMPILE_TEMPLATE_H

#include <gpuc/tune.h>

#include "relay/relay.h"

/* The row of a template, in the place of the operator's. */
typedef struct gpuc_template_row {
    gpuc_op op; /* first */
    const gpuc_tune_template *of;
    bool plain; /* its schedule is not asked for: plain loops */
} gpuc_template_row;

/* The row in the context, as operators have it for the parameters. */
gpuc_template_row *gpuc_compile_template_row(gpuc_ctx *ctx, const gpuc_tune_template *t, bool plain);
/* A function that computes the template with these parameters; they are completed. It is run once, for its types. */
gpuc_rfunction *gpuc_compile_template_function(gpuc_ctx *ctx, const gpuc_tune_template *t,
                                               const gpuc_attrs *params, const gpuc_target *target,
                                               bool plain);
/* The row of the template that f is a function of; NULL: it is another function. */
const gpuc_template_row *gpuc_compile_template_of(const gpuc_rfunction *f);
/* Runs the template of f, and checks what it sets; with the schedule that is to be used. */
void gpuc_compile_template_run(gpuc_ctx *ctx, const gpuc_rfunction *f, const gpuc_target *target,
                               gpuc_knobs *knobs, gpuc_tune_call *out);

#endif
