/* SPDX-License-Identifier: Apache-2.0 */
/* One target's program of a package. */
#ifndef GPUC_BUILD_PROGRAM_H
#define GPUC_BUILD_PROGRAM_H

#include <gpuc/build.h>

#include "build/graph.h"

typedef struct gpuc_built_program {
    gpuc_program program;
    gpuc_linked linked;
    gpuc_graph *graph;
} gpuc_built_program;

/* Lowers and links the graph of an optimised module. helper is the target of what the program's own cannot
 * compute. The program's weights are the bytes of the module's constants. */
void gpuc_build_program(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_target *target,
                        const gpuc_target *helper, const gpuc_build_options *options,
                        gpuc_built_program *out);
/* What the program's device must offer for its kernels on the graph's values; names are target attributes. */
uint32_t gpuc_program_requirements(gpuc_graph *g, const gpuc_kernel *kernels, const gpuc_requirement **out);
/* A package with one program, in memory. */
void gpuc_build_package_bytes(gpuc_ctx *ctx, gpuc_rmodule *module, const gpuc_target *target, gpuc_buf *out);
/* graph.json, params, and the generated files of a program, into dir. */
void gpuc_emit_program(gpuc_ctx *ctx, const gpuc_built_program *p, const char *dir);

#endif
