/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel metadata: what code generators and devices agree on. It is for who writes one of them.
 *
 * Arguments are numbered tensors first, then scalars. Each tensor has a binding and, at run time,
 * an element offset from the start of what is bound.
 *   Vulkan  descriptor set 0. Tensor t's storage buffer is at its `binding` (0..n-1, tensors may
 *           share one); texel views come after, at `texel_binding`, and images, at `binding`: sampled images
 *           if they are read, storage images if they are written. Then the parameter block.
 *   OpenCL  kernel arguments in order: for each tensor `__global T *`, or image2d_t, and `int offset`
 *           (elements); then the scalars. A launch may be a part of one, at a global offset, where
 *           the source names get_global_offset: it numbers work-groups from there on.
 *   C       int f(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars):
 *           tensors[t] points at the first element (offset applied); a float scalar is the bits of
 *           a double in its int64. Returns 0. `launch` is N,1,1: N above 1 says that the function only calls
 *           env->parallel_for, once, for N iterations; any of them may run at any time.
 * Parameter block (Vulkan): the element offset of each tensor as int32, then the scalars in order,
 * each at a multiple of its size (int32 and float 4 bytes, int64 8). It is push constants if it fits
 * the target's limit (params_in_buffer false), else a uniform buffer at the binding after
 * all of them, private to each launch. num_bindings counts the storage buffers only.
 * An element offset is negative where what is bound is a window that starts behind the tensor's first
 * element; then the launch starts at the first of the groups that the window is for. Strides are compact.
 * Tensors that share a binding are never decorated Restrict or NonWritable. */
#ifndef GPUC_KERNEL_H
#define GPUC_KERNEL_H

#include <gpuc/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Size expressions: postfix over int64, checked for overflow. One form serves shapes, launch sizes and
 * requirements. Division by zero and overflow are errors, except in the operand that a select does not take, or
 * right of an && or || that its left side decides. */
typedef enum gpuc_xop {
    GPUC_XOP_CONST, /* push value */
    GPUC_XOP_DIM,   /* push symbol number value */
    GPUC_XOP_ADD,   /* the others take their operands from the stack and push the result */
    GPUC_XOP_SUB,
    GPUC_XOP_MUL,
    GPUC_XOP_FLOORDIV, /* rounds down, as FLOORMOD does */
    GPUC_XOP_FLOORMOD,
    GPUC_XOP_MIN,
    GPUC_XOP_MAX,
    GPUC_XOP_EQ, /* 1 or 0 */
    GPUC_XOP_LT,
    GPUC_XOP_LE,
    GPUC_XOP_AND,
    GPUC_XOP_OR,
    GPUC_XOP_NOT,
    GPUC_XOP_SELECT, /* cond a b: a if cond != 0 else b */
    GPUC_XOP_COUNT
} gpuc_xop;

/* An instruction. */
typedef struct gpuc_xinstr {
    gpuc_xop op;   /* what it does */
    int64_t value; /* of CONST and DIM */
} gpuc_xinstr;

/* An expression. */
typedef struct gpuc_xexpr {
    const gpuc_xinstr *code; /* NULL and count 0: the constant 0 */
    uint32_t count;          /* of instructions */
} gpuc_xexpr;

/* What a kernel does with a tensor. */
typedef enum gpuc_access {
    GPUC_ACCESS_READ = 1,
    GPUC_ACCESS_WRITE = 2,
    GPUC_ACCESS_READ_WRITE = 3
} gpuc_access;

/* A tensor among the arguments of a kernel. */
typedef struct gpuc_kernel_tensor {
    gpuc_dtype dtype;   /* of an element in memory; lanes 1 */
    uint8_t access;     /* gpuc_access */
    bool texel;         /* read through an RGBA texel view of the same memory */
    uint8_t image;      /* of an image [height, width, channels], its channels: 1 or 4; else 0. It is read or
                               written whole, its offset is 0; texels of uint8 are 0 to 1 for 0 to 255 */
    uint32_t alignment; /* bytes: the start must be a multiple of it */
    uint32_t binding;   /* of its storage buffer, or image */
    uint32_t texel_binding; /* if texel */
    bool windowed;          /* groups first to last touch no bytes of it but [begin, end) */
    gpuc_xexpr begin, end;  /* over the scalars, then the first group in x, y, z, and the last one */
} gpuc_kernel_tensor;

/* A kernel: its arguments, what it needs of a device, and how it is launched. Strings and arrays live as long as
 * the program that it is of. */
typedef struct gpuc_kernel {
    const char *name;                  /* entry point; a C identifier, unique in the program */
    const char *label;                 /* what it computes, for people: "conv2d+add+relu" */
    uint32_t num_tensors, num_scalars; /* arguments */
    uint32_t num_bindings;             /* storage buffers */
    const gpuc_kernel_tensor *tensors; /* num_tensors of them */
    const gpuc_dtype *scalars;         /* int32, int64 or float32 */
    uint32_t local_size[3];            /* threads of a work-group */
    gpuc_xexpr launch[3];              /* work-groups; symbol i is the i-th scalar */
    uint32_t features;                 /* gpuc_feature bits */
    uint32_t subgroup_size;            /* 0: any */
    uint32_t shared_bytes;             /* of shared memory for each work-group */
    bool params_in_buffer;             /* Vulkan: see above */
    bool variant; /* computes the same as the last kernel before it that is no variant, from the same
                     arguments, on devices that have its features and can require its subgroup size */
    bool
        limited; /* a variant for devices that limit loop iterations (GPUC_ATTR_MAX_ITERATIONS), for sizes with
                     which other kernels exceed the limit */
    gpuc_xexpr iterations; /* max loop iterations of one invocation, over the scalars; no code: not counted */
    int64_t cost_bytes, cost_ops; /* estimate of one launch; -1 unknown */
    uint32_t module;              /* which of the program's modules has the code */
} gpuc_kernel;

#ifdef __cplusplus
}
#endif
#endif
