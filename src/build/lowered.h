/* SPDX-License-Identifier: Apache-2.0 */
/* One fused function, lowered: kernels and what they are bound to. Made by a task in a context of its
 * own, then copied into the context of the build. */
#ifndef GPUC_BUILD_LOWERED_H
#define GPUC_BUILD_LOWERED_H

#include "codegen/codegen.h"
#include "relay/relay.h"

typedef struct gpuc_lowered_kernel {
    gpuc_kernel_code code;
    uint32_t *tensors;    /* per tensor of the kernel: parameter, then output, then workspace number */
    const char **scalars; /* per scalar: the name of the symbol that it is */
} gpuc_lowered_kernel;

typedef struct gpuc_lowered {
    int num_params, num_outputs, num_kernels, num_workspaces;
    gpuc_lowered_kernel *kernels; /* in the order that they run in; each before its variants */
    int num_symbols;
    const char **symbols;        /* names of the function's scalars */
    gpuc_xexpr *workspace_bytes; /* over them */
} gpuc_lowered;

/* The function's name must be a C identifier, unique in the program. Raises. */
gpuc_lowered *gpuc_lower_function(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_rfunction *f,
                                  const char *name, const char *label);
/* The same in another context; text and arrays are copied. */
gpuc_lowered *gpuc_lowered_copy(gpuc_ctx *ctx, const gpuc_lowered *l);
/* A primitive function in another context: types, values, calls. */
gpuc_rfunction *gpuc_relay_clone_function(gpuc_ctx *ctx, const gpuc_rfunction *f);

/* Lowers n functions on several threads (0: one per processor); results in order. Raises the error of the
 * first that failed. targets, names and labels have n. */
void gpuc_lower_functions(gpuc_ctx *ctx, const gpuc_target *const *targets, int n,
                          const gpuc_rfunction *const *functions, const char *const *names,
                          const char *const *labels, int num_threads,
                          void (*progress)(void *user, const char *what, int done, int total), void *user,
                          gpuc_lowered **out);

#endif
