/* SPDX-License-Identifier: Apache-2.0 */
/* Launches whose tensors are larger than one binding: they are cut into several, each of a box of work-groups
 * that touch no more of any binding than it holds. */
#ifndef GPUC_ABI_WINDOW_H
#define GPUC_ABI_WINDOW_H

#include "abi/kernel.h"

/* The number of symbols of a window's expressions that follow the scalars: the first group in x, y, z, then
 * the last one. */
#define GPUC_WINDOW_SYMBOLS 6
/* Bytes that a storage binding of every Vulkan device holds. Tensors known to be no larger have no windows. */
#define GPUC_MIN_BINDING (INT64_C(1) << 27)

typedef struct gpuc_groups {
    uint32_t first[3], count[3];
} gpuc_groups;

/* A tensor of the launch; bytes in its slot. */
typedef struct gpuc_window_tensor {
    uint32_t slot;
    uint64_t offset, size;
} gpuc_window_tensor;

typedef struct gpuc_window_limits {
    uint64_t range;  /* bytes of a storage binding; 0: no limit */
    uint64_t texels; /* of a view; 0: no limit */
} gpuc_window_limits;

typedef struct gpuc_launch_shape {
    const gpuc_kernel *kernel;
    const gpuc_window_tensor *tensors;
    const int64_t *scalars;
    uint32_t groups[3];
} gpuc_launch_shape;

/* What the groups touch of tensor t: bytes in its slot, all of it if that is not known; first and end are
 * equal where it is nothing. */
typedef struct gpuc_window {
    uint64_t begin, end;
} gpuc_window;
GPUC_NODISCARD gpuc_status gpuc_abi_window_of(const gpuc_launch_shape *l, const gpuc_groups *g, uint32_t t,
                                              gpuc_arena *arena, gpuc_window *out);

/* Calls add for each part of the launch, in order; once with all groups where nothing must be cut. Fails,
 * naming the tensor, where one group touches too much, or as much as is not known. Memory of the arena is
 * left in use. */
GPUC_NODISCARD gpuc_status gpuc_abi_launch_cut(const gpuc_launch_shape *l, gpuc_window_limits limits,
                                               gpuc_arena *arena,
                                               gpuc_status (*add)(void *user, const gpuc_groups *g),
                                               void *user);

#endif
