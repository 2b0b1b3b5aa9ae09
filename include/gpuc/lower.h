/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering by hand: loop passes by name, for those who write or debug one. Builds do all of this. */
#ifndef GPUC_LOWER_H
#define GPUC_LOWER_H

#include <gpuc/target.h>
#include <gpuc/tir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names of all passes in pipeline order; NULL after the last. */
GPUC_API const char *gpuc_lower_pass_name(int i);
/* Runs passes ("unroll,simplify,split_kernels"; "lower": the whole pipeline; "": none) on a function, and
 * validates after each. Returns how many functions result, and these in *out: split_kernels makes kernels of
 * a function. They live in the context. Raises for a name that is no pass. */
GPUC_API int gpuc_lower_passes(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_tir_func *func,
                               const char *passes, const gpuc_tir_func *const **out);

#ifdef __cplusplus
}
#endif
#endif
