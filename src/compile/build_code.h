/* SPDX-License-Identifier: Apache-2.0 */
/* From kernels to code through target.build.<kind> of the context's runtime. */
#ifndef GPUC_COMPILE_BUILD_CODE_H
#define GPUC_COMPILE_BUILD_CODE_H

#include "codegen/ir_module.h"

/* The code of one kernel, or its metadata and text where a function that is not gpuc's own is to make it. */
void gpuc_compile_emit(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *kernel,
                       gpuc_kernel_code *out);
/* Joins the code of kernels that were emitted for the same target and with the same runtime. */
void gpuc_compile_link(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                       gpuc_linked *out);
/* The code of the same kernels to read. Raises UNSUPPORTED if a function that is not gpuc's own made a module which
 * has no source. */
const char *gpuc_compile_text(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels);
/* Registers target.build.<kind> of gpuc's own kinds. */
GPUC_NODISCARD gpuc_status gpuc_compile_builders_register(gpuc_runtime *rt);

#endif
