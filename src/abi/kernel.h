/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel metadata (gpuc/kernel.h) as bytes, and what is derived from it. */
#ifndef GPUC_ABI_KERNEL_H
#define GPUC_ABI_KERNEL_H

#include <gpuc/device.h>
#include <gpuc/kernel.h>

#include "abi/expr.h"

/* The error beyond a device's limit of loop iterations: kernel, iterations, device name, limit. */
#define GPUC_TOO_MANY_ITERATIONS                                                                             \
    "%s: one invocation runs %lld iterations of its loops with these sizes, and '%s' ends loops after %lld " \
    "(max_iterations); use smaller ones, or another device"

/* Offsets of the scalars in the parameter block; returns its size (a multiple of 4). */
uint32_t gpuc_abi_kernel_param_layout(const gpuc_kernel *k, uint32_t *scalar_offsets);

void gpuc_abi_kernel_write(gpuc_buf *buf, const gpuc_kernel *k);
/* Reads and verifies one; strings and arrays are copied to the arena. */
GPUC_NODISCARD gpuc_status gpuc_abi_kernel_read(gpuc_reader *r, gpuc_arena *arena, gpuc_kernel *out);

#endif
