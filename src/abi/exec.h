/* SPDX-License-Identifier: Apache-2.0 */
/* The graph executable of a program, as compile/ makes it and executor/ runs it.
 *
 * Values are tensors; each lives in a slot at an offset. Slots are what gets memory: inputs and
 * outputs are bound by the caller (or owned by the session), weights belong to the model, arena
 * slots to the session. All expressions are over the program's symbols, which the shapes of the inputs give,
 * and values that the program computes. Steps run in order; dependences follow from their reads and
 * writes. */
#ifndef GPUC_ABI_EXEC_H
#define GPUC_ABI_EXEC_H

#include "abi/kernel.h"

#define GPUC_NO_INDEX UINT32_MAX

typedef enum gpuc_slot_kind {
    GPUC_SLOT_INPUT,
    GPUC_SLOT_OUTPUT,
    GPUC_SLOT_WEIGHT,
    GPUC_SLOT_ARENA,
    GPUC_SLOT_KIND_COUNT
} gpuc_slot_kind;

typedef struct gpuc_exec_slot {
    gpuc_slot_kind kind;
    uint32_t device; /* index into gpuc_exec.devices */
    uint32_t index;  /* input, output or weight number; GPUC_NO_INDEX for arena slots */
    gpuc_xexpr size; /* bytes, rounded up to GPUC_SLOT_ROUND */
} gpuc_exec_slot;

typedef struct gpuc_exec_value {
    const char *name; /* "" if it has none */
    gpuc_dtype dtype;
    uint32_t ndim;
    const gpuc_xexpr *dims;
    uint32_t slot;
    gpuc_xexpr offset; /* bytes in the slot */
} gpuc_exec_value;

typedef struct gpuc_exec_tensor_ref {
    uint32_t value;
    uint8_t access;    /* gpuc_access */
    gpuc_xexpr offset; /* of a window into the value, bytes; constant 0 for all of it */
    gpuc_xexpr size;   /* of the window, bytes; constant 0 for all of it */
} gpuc_exec_tensor_ref;

typedef enum gpuc_step_kind {
    GPUC_STEP_LAUNCH,
    GPUC_STEP_COPY, /* tensors[0] to tensors[1]; devices may differ */
    GPUC_STEP_READ, /* the host reads tensors[0], the value of a symbol; steps before it know its bound only */
    GPUC_STEP_KIND_COUNT
} gpuc_step_kind;

typedef struct gpuc_exec_step {
    gpuc_step_kind kind;
    uint32_t device;
    uint32_t kernel; /* into the program's kernels; GPUC_NO_INDEX: no launch */
    uint32_t symbol; /* that a READ gives its value */
    uint32_t num_tensors, num_scalars;
    const gpuc_exec_tensor_ref *tensors;
    const gpuc_xexpr *scalars; /* an int; or the float bits of a constant */
} gpuc_exec_step;

/* One operator of the fused graph: what inspect, bench and compare show. */
typedef struct gpuc_exec_node {
    const char *name;   /* "conv2d_add_relu_3" */
    const char *source; /* the model's node names that it came from, comma-separated */
    uint32_t device;
    uint32_t first_step, num_steps;
    uint32_t num_inputs, num_outputs; /* values: inputs, then outputs */
    const uint32_t *values;
} gpuc_exec_node;

/* Symbol i is the extent of dimension `dim` of input `input`, which further dimensions of inputs are checked
 * against; or the one int64 of a value that the program computes, from 0 to an upper bound over the extents.
 * A bound of GPUC_MAX_EXTENT says that none is known. A slot whose size is over extents only holds for any
 * values; another gets its memory when the last symbol of its size has been read, and is not used before. */
#define GPUC_MAX_EXTENT (INT64_C(1) << 31)
typedef struct gpuc_exec_symbol {
    const char *name;
    uint32_t input, dim;
    uint32_t value; /* GPUC_NO_INDEX: an extent */
    gpuc_xexpr upper;
} gpuc_exec_symbol;

typedef struct gpuc_exec_assert {
    gpuc_xexpr cond;     /* must not be 0 */
    const char *message; /* names the tensor and the mend */
} gpuc_exec_assert;

typedef struct gpuc_exec_weight {
    const char *name;
    uint64_t offset, size; /* in the weights section; size in bytes, unpadded */
    uint32_t value;
} gpuc_exec_weight;

typedef struct gpuc_exec {
    uint32_t num_devices;    /* device 0 is the program's; another is the fallback device (CPU) */
    const uint32_t *devices; /* gpuc_device_type */
    uint32_t num_symbols, num_slots, num_values, num_steps, num_nodes, num_asserts;
    uint32_t num_weights, num_inputs, num_outputs;
    const gpuc_exec_symbol *symbols;
    const gpuc_exec_slot *slots;
    const gpuc_exec_value *values;
    const gpuc_exec_step *steps;
    const gpuc_exec_node *nodes;
    const gpuc_exec_assert *asserts;
    const gpuc_exec_weight *weights;
    const uint32_t *inputs, *outputs; /* values, in the model's order */
} gpuc_exec;

/* 0 if an expression is over extents and values that have a bound; else how many symbols must be known. */
uint32_t gpuc_abi_exec_known_after(const gpuc_exec *e, gpuc_xexpr x);
void gpuc_abi_exec_write(gpuc_buf *buf, const gpuc_exec *exec);
/* Reads and verifies: every index is in range, every slot has its kind's owner, expressions are
 * sound, tensor refs fit the kernels' argument counts and access. Inputs and weights have a slot each
 * and start where it does; they are never written. Symbols that are values come after the extents, and one
 * step each reads them, before what has them among its extents. An output may lie in any slot: its own, or
 * that of an input, a weight or another output that it equals. Whatever has constant extents fits its slot;
 * what depends on symbols is for the executor to check. Strings are copied to the arena. */
GPUC_NODISCARD gpuc_status gpuc_abi_exec_read(gpuc_reader *r, gpuc_arena *arena, const gpuc_kernel *kernels,
                                              uint32_t num_kernels, uint64_t weights_size, gpuc_exec *out);

#endif
