/* SPDX-License-Identifier: Apache-2.0 */
/* One fused function, lowered: kernels and what they are bound to. Made by a task in a context of its
 * own, then copied into the context of the build. */
#ifndef GPUC_COMPILE_LOWERED_H
#define GPUC_COMPILE_LOWERED_H

#include <gpuc/build.h>

#include "codegen/codegen.h"
#include "relay/relay.h"
#include "relay_pass/common/util.h"
#include "autoschedule/knobs.h"

typedef struct gpuc_lowered_kernel {
    gpuc_kernel_code code;
    uint32_t *tensors;    /* per tensor of the kernel: parameter, then output, then workspace number */
    const char **scalars; /* per scalar: the name of the symbol that it is */
} gpuc_lowered_kernel;

typedef struct gpuc_lowered {
    int num_knobs; /* that its schedule asked for */
    int num_params, num_outputs, num_kernels, num_workspaces;
    gpuc_lowered_kernel *kernels; /* in the order that they run in; each before its variants */
    int num_symbols;
    const char **symbols;        /* names of the function's scalars */
    gpuc_xexpr *workspace_bytes; /* over them */
} gpuc_lowered;

enum { GPUC_IMAGE_OUTPUT = 63 };

/* One function, with what its schedule is to do. */
typedef struct gpuc_lower_task {
    const gpuc_target *target;
    const gpuc_rfunction *f;
    const char *name; /* a C identifier, unique in the program */
    const char *label;
    bool placed; /* it stores its output at place, else where it is alone */
    gpuc_relay_place place;
    uint64_t images; /* bits of the parameters that are images, bit GPUC_IMAGE_OUTPUT: the output is one */
    const gpuc_config *config; /* NULL: what the schedule does by itself */
    gpuc_lowered *lowered;     /* out */
    const char *misfit;        /* out: why it was lowered without the configuration; NULL: it was not */
} gpuc_lower_task;

/* The max number of loop iterations of kernel i, over its scalars; NULL gives no code. */
gpuc_xexpr gpuc_compile_kernel_iterations(gpuc_ctx *ctx, const gpuc_tir_program *p, int i,
                                          gpuc_expr iterations);
/* Fills in which parts of its tensors the groups of kernel i touch, for the metadata of its code. */
void gpuc_compile_kernel_windows(gpuc_ctx *ctx, const gpuc_tir_program *p, int i, gpuc_kernel *k);

/* The size of a workspace that is used where `when` holds (NULL: always), over the scalars of the flat
 * function. */
gpuc_xexpr gpuc_compile_workspace_bytes(gpuc_ctx *ctx, const gpuc_tir_func *f, const gpuc_tir_buffer *b,
                                        gpuc_expr when);

gpuc_lowered *gpuc_compile_lower_function(gpuc_ctx *ctx, const gpuc_lower_task *task);
/* The function with its output, buffer number output, in a larger tensor. */
gpuc_tir_func *gpuc_compile_place_output(gpuc_ctx *ctx, const gpuc_tir_func *f, int output,
                                         const gpuc_relay_place *place);
/* Whether an operator that has, or may have, a schedule of its own is all of the function. */
bool gpuc_compile_has_own_schedule(gpuc_ctx *ctx, const gpuc_rfunction *f);
/* Only what the schedule asks of knobs. The function belongs to this context. */
void gpuc_compile_schedule_function(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_rfunction *f,
                                    gpuc_knobs *knobs);
/* The same in another context; text and arrays are copied. */
gpuc_lowered *gpuc_compile_lowered_copy(gpuc_ctx *ctx, const gpuc_lowered *l);
/* A primitive function in another context: types, values, calls. */
gpuc_rfunction *gpuc_compile_clone_function(gpuc_ctx *ctx, const gpuc_rfunction *f);

/* A copy in the same context, in which n symbols are 1. */
gpuc_rfunction *gpuc_compile_pin_to_one(gpuc_ctx *ctx, const gpuc_rfunction *f, int n,
                                        const gpuc_expr *symbols);

/* Lowers n functions on as many threads as the options say; results in order. A configuration that does not
 * fit is left out. Raises the error of the first that failed. */
void gpuc_compile_lower_functions(gpuc_ctx *ctx, int n, gpuc_lower_task *tasks,
                                  const gpuc_build_options *options);

#endif
