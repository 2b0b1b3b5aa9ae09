/* SPDX-License-Identifier: Apache-2.0 */
/* From lowered kernels to code: what a generator of code gets, and how it is called.
 *
 * target.build.<kind>, a packed function of a runtime's registry, generates the code of a kind of target:
 *   (context handle, gpuc_ir_module handle) -> module
 * The result and the modules that it imports are stored as the code of what is built: their type keys and bytes
 * (gpuc_module_save_binary), which the target's device loads. They list a function for each kernel
 * (gpuc_module_function_name); a module that lists none has all. The function may raise in the context.
 *
 * gpuc_compiler_register registers those of gpuc's own kinds. All code goes through the functions of the context's
 * runtime (gpuc_ctx_set_runtime): packages, libraries, functions, eager operators; without a runtime, and for
 * kinds that it has no function for, through gpuc's own. No device is needed. */
#ifndef GPUC_CODEGEN_H
#define GPUC_CODEGEN_H

#include <gpuc/runtime.h>
#include <gpuc/target.h>
#include <gpuc/tir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kernels of one target. It lives in its context. */
typedef struct gpuc_ir_module gpuc_ir_module;

/* A module without kernels. */
GPUC_API gpuc_ir_module *gpuc_ir_module_create(gpuc_ctx *ctx, const gpuc_target *target);
/* Adds a kernel as the last pass of lowering leaves it (gpuc_lower_passes with "lower"). It is borrowed. */
GPUC_API void gpuc_ir_module_add(gpuc_ir_module *m, const gpuc_tir_func *kernel);
/* The target that the kernels were lowered for. */
GPUC_API const gpuc_target *gpuc_ir_module_target(const gpuc_ir_module *m);
/* The number of kernels. Their names are unique. */
GPUC_API int gpuc_ir_module_count(const gpuc_ir_module *m);
/* Kernel i; it lives in the module's context. Raises INVALID_ARGUMENT where there is none. */
GPUC_API const gpuc_tir_func *gpuc_ir_module_func(gpuc_ir_module *m, int i);
/* States what a device must have to run the code: at least so much of a limit or a feature, by the name of a target
 * attribute, or 1 for "cpu.<instruction set>". Loading checks it. */
GPUC_API void gpuc_ir_module_require(gpuc_ir_module *m, const char *name, int64_t at_least);
/* Generates the code by the functions above, of the context's runtime or, without one, of rt. The caller owns the
 * result. Raises. */
GPUC_API gpuc_module *gpuc_ir_module_build(gpuc_ir_module *m, gpuc_runtime *rt);

#ifdef __cplusplus
}
#endif
#endif
