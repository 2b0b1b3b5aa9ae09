/* SPDX-License-Identifier: Apache-2.0 */
/* One target's program of a package. */
#ifndef GPUC_COMPILE_PROGRAM_H
#define GPUC_COMPILE_PROGRAM_H

#include <gpuc/build.h>

#include "compile/graph.h"
#include "relay_pass/passes.h"

typedef struct gpuc_built_program {
    gpuc_program program;
    gpuc_linked linked;
    gpuc_graph *graph;
} gpuc_built_program;

/* A module is first optimised by gpuc_relay_pass_optimize, then for each target by
 * gpuc_relay_pass_optimize_for_target. */
gpuc_relay_pass_ctx gpuc_build_passes(gpuc_ctx *ctx, gpuc_rmodule *module, const gpuc_build_options *options);
/* The target of the fallback device: the first C target of the build that computes in float64, in the plainest of its
 * levels, else plain C. */
const gpuc_target *gpuc_build_fallback(gpuc_ctx *ctx, int n, const gpuc_target *const *targets);
/* Lowers and links the graph of an optimised module. fallback is the target of the fallback device. The
 * program's weights are the bytes of the module's constants. */
void gpuc_build_program(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_target *target,
                        const gpuc_target *fallback, const gpuc_build_options *options,
                        gpuc_built_program *out);
/* What the program's device must offer for its kernels on the values of its executable; names are target
 * attributes. Warns of tensors that the target does not promise a binding for. */
void gpuc_compile_program_requirements(gpuc_graph *g, const gpuc_linked *linked,
                                       const gpuc_build_options *options, gpuc_program *p);
/* The same for the kernels of a library, whose arrays are checked when they are bound. */
void gpuc_compile_library_requirements(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_linked *linked,
                                       gpuc_program *p);
/* A package with one program, in memory. */
void gpuc_build_package_bytes(gpuc_ctx *ctx, gpuc_rmodule *module, const gpuc_target *target, gpuc_buf *out);
/* The same of one fused function, which stays as it is: inputs are its parameters. */
void gpuc_build_function_bytes(gpuc_ctx *ctx, const gpuc_rfunction *f, const gpuc_target *target,
                               const gpuc_build_options *options, gpuc_buf *out, gpuc_build_report *report);
/* graph.json, params, and the generated files of a program, into dir. */
void gpuc_compile_emit_program(gpuc_ctx *ctx, const gpuc_built_program *p, const char *dir);

#endif
