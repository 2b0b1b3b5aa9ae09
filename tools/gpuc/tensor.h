/* SPDX-License-Identifier: Apache-2.0 */
/* What the tools do with tensors in host memory. */
#ifndef GPUC_CLI_TENSOR_H
#define GPUC_CLI_TENSOR_H

#include <gpuc/runtime.h>
#include <gpuc/tensor_files.h>

/* Whether the tensor was never filled, as for an input that keeps its default. */
static inline bool cli_tensor_is_absent(const gpuc_host_tensor *t)
{
    return t->dtype.bits == 0;
}
/* Element i as a double (bool 0 or 1). Integers beyond 2^53 are rounded. */
double cli_tensor_get(const gpuc_host_tensor *t, size_t i);
/* "float32[1,3]". The caller frees it. */
char *cli_tensor_type_text(const gpuc_host_tensor *t);
/* Fills with the numbers of a seed: splitmix64, advanced once per element. Floats are uniform in
 * [-1, 1), of 24 random bits; integers uniform in 0..7; bools 0 or 1. */
void cli_tensor_randomize(gpuc_host_tensor *t, uint64_t seed);
/* "min .. max .., mean .., first .." */
char *cli_tensor_summary(const gpuc_host_tensor *t);

/* An .npy or a .pb. */
GPUC_NODISCARD gpuc_status cli_tensor_load(const char *path, gpuc_host_tensor *out);

/* ---- Between tensors and a session ---- */

GPUC_NODISCARD gpuc_status cli_session_set(gpuc_runtime *rt, gpuc_session *s, int input,
                                           const gpuc_host_tensor *t);
/* Waits for the run. */
GPUC_NODISCARD gpuc_status cli_session_get(gpuc_session *s, int output, gpuc_host_tensor *out);

#endif
