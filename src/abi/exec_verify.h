/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_ABI_EXEC_VERIFY_H
#define GPUC_ABI_EXEC_VERIFY_H

#include "abi/exec.h"

/* What gpuc_abi_exec_read promises, for an executable whose size expressions are sound. The writer's
 * side can use it to find its own mistakes. Takes scratch memory from the arena. */
GPUC_NODISCARD gpuc_status gpuc_abi_exec_verify(const gpuc_exec *e, gpuc_arena *arena,
                                                const gpuc_kernel *kernels, uint32_t num_kernels,
                                                uint64_t weights_size);

#endif
