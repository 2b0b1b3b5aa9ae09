/* SPDX-License-Identifier: Apache-2.0 */
/* Entries: what a program offers by name. An entry takes arrays and numbers, and launches kernels of its
 * program one after the other; what lives between them gets memory for the time of a call. */
#ifndef GPUC_ABI_ENTRY_H
#define GPUC_ABI_ENTRY_H

#include "abi/kernel.h"

typedef struct gpuc_entry_dim {
    gpuc_xexpr size;  /* over the entry's scalars */
    const char *text; /* "n + 1", for messages; "" of a constant */
} gpuc_entry_dim;

typedef struct gpuc_entry_array {
    const char *name;
    gpuc_dtype dtype;
    uint32_t ndim;
    const gpuc_entry_dim *dims;
} gpuc_entry_array;

typedef struct gpuc_entry_scalar {
    const char *name;
    gpuc_dtype dtype; /* int32, int64 or float32 */
} gpuc_entry_scalar;

typedef struct gpuc_entry_step {
    uint32_t kernel;         /* into the program's kernels; no variant */
    const uint32_t *slots;   /* of each tensor: array, then workspace */
    const uint32_t *scalars; /* of each scalar of the kernel: number among the entry's */
} gpuc_entry_step;

typedef struct gpuc_entry {
    const char *name;
    uint32_t num_arrays, num_scalars, num_workspaces, num_steps;
    const gpuc_entry_array *arrays;
    const gpuc_entry_scalar *scalars;
    const gpuc_xexpr *workspaces; /* bytes of each, over the scalars */
    const gpuc_entry_step *steps;
} gpuc_entry;

/* Steps refer to the kernels, whose numbers of arguments are theirs. */
void gpuc_abi_entry_write(gpuc_buf *buf, const gpuc_entry *e, const gpuc_kernel *kernels);
/* Reads and verifies one: indices are in range, scalars have types that the kernels can take, and
 * expressions are sound. Strings and arrays are copied to the arena. */
GPUC_NODISCARD gpuc_status gpuc_abi_entry_read(gpuc_reader *r, gpuc_arena *arena, const gpuc_kernel *kernels,
                                               uint32_t num_kernels, gpuc_entry *out);

#endif
