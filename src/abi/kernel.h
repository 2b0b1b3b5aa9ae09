/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel metadata: what the three generators and the three runtimes agree on.
 *
 * Arguments are numbered tensors first, then scalars. Each tensor has a binding and, at run time,
 * an element offset from the start of what is bound.
 *   Vulkan  descriptor set 0. Tensor t's storage buffer is at its `binding` (0..n-1, tensors may
 *           share one); texel views come after, at `texel_binding`. Then the parameter block.
 *   OpenCL  kernel arguments in order: for each tensor `__global T *`, `int offset`
 *           (elements); then the scalars.
 *   C       int f(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars):
 *           tensors[t] points at the first element (offset applied); a float scalar is the bits of
 *           a double in its int64. Returns 0. `launch` is 1,1,1.
 * Parameter block (Vulkan): the element offset of each tensor as int32, then the scalars in order,
 * each at a multiple of its size (int32 and float 4 bytes, int64 8). It is push constants if it fits
 * the target's limit (params_in_buffer false), else a uniform buffer at the binding after
 * all of them, private to each launch. num_bindings counts the storage buffers only.
 * An element offset is negative where what is bound is a window that starts behind the tensor's first
 * element; then the launch starts at the first of the groups that the window is for. Strides are compact.
 * Tensors that share a binding are never decorated Restrict or NonWritable. */
#ifndef GPUC_ABI_KERNEL_H
#define GPUC_ABI_KERNEL_H

#include <gpuc/device.h>

#include "abi/expr.h"

typedef enum gpuc_access {
    GPUC_ACCESS_READ = 1,
    GPUC_ACCESS_WRITE = 2,
    GPUC_ACCESS_READ_WRITE = 3
} gpuc_access;

typedef struct gpuc_kernel_tensor {
    gpuc_dtype dtype;   /* of an element in memory; lanes 1 */
    uint8_t access;     /* gpuc_access */
    bool texel;         /* read through an RGBA texel view of the same memory */
    uint32_t alignment; /* bytes: the start must be a multiple of it */
    uint32_t binding;
    uint32_t texel_binding; /* if texel */
    bool windowed;          /* groups first to last touch no bytes but [begin, end) of it (abi/window.h) */
    gpuc_xexpr begin, end;  /* over the scalars, then the first group in x, y, z, and the last one */
} gpuc_kernel_tensor;

typedef struct gpuc_kernel {
    const char *name;  /* entry point; a C identifier, unique in the program */
    const char *label; /* what it computes, for people: "conv2d+add+relu" */
    uint32_t num_tensors, num_scalars, num_bindings;
    const gpuc_kernel_tensor *tensors;
    const gpuc_dtype *scalars; /* int32, int64 or float32 */
    uint32_t local_size[3];
    gpuc_xexpr launch[3];   /* work-groups; symbol i is the i-th scalar */
    uint32_t features;      /* gpuc_feature bits */
    uint32_t subgroup_size; /* 0: any */
    uint32_t shared_bytes;
    bool params_in_buffer;
    bool variant; /* computes the same as the last kernel before it that is no variant, from the same
                     arguments, on devices that have its features and can require its subgroup size */
    bool
        limited; /* a variant for devices that limit loop iterations (GPUC_ATTR_MAX_ITERATIONS), for sizes with
                     which other kernels exceed the limit */
    gpuc_xexpr iterations; /* max loop iterations of one invocation, over the scalars; no code: not counted */
    int64_t cost_bytes, cost_ops; /* estimate of one launch; -1 unknown */
    uint32_t module;              /* which of the program's modules has the code */
} gpuc_kernel;

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
