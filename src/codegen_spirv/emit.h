/* SPDX-License-Identifier: Apache-2.0 */
/* From a kernel to a module. Values are ids of SSA results; a vector has 2 or 4 lanes (wider ones were cut).
 *
 * Registers hold a value of dtype t as held(t): bool as OpTypeBool, integers as OpTypeInt without sign,
 * bfloat16 as its bits in 32; 8- and 16-bit types as 32-bit ones where the target has no arithmetic for them
 * (sign or zero extended, so operators have to wrap). Memory of parameters has the elements of DLPack; that
 * of local and shared buffers what registers hold, bool in words. */
#ifndef GPUC_CODEGEN_SPIRV_EMIT_H
#define GPUC_CODEGEN_SPIRV_EMIT_H

#include "codegen/codegen.h"
#include "codegen/lanes.h"
#include "codegen_spirv/module.h"
#include "lower/coopmat/coopmat.h"

/* A variable over one binding: several with different elements may look at the same memory. */
typedef struct gpuc_spv_view {
    const gpuc_tir_buffer *buffer;
    uint32_t element_type;
    uint32_t variable;
    int lanes;
} gpuc_spv_view;

typedef struct gpuc_spv_param {
    uint32_t offset[3]; /* id of the element offset / 1, 2, 4; 0: not loaded yet */
    uint32_t image, image_type, texel_type;
} gpuc_spv_param;

typedef struct gpuc_spv_local {
    uint32_t variable, element_type; /* of the element, a vector if vec > 1 */
    SpvStorageClass storage;
    int vec;
    bool bits;   /* floats kept as integers for atomics */
    bool single; /* not an array */
} gpuc_spv_local;

typedef struct gpuc_spv_kernel {
    gpuc_spv m;
    gpuc_ctx *ctx;
    const gpuc_target *target;
    const gpuc_tir_func *func;
    gpuc_kernel *meta;
    const gpuc_uses *uses;
    const gpuc_coopmats *coopmats; /* NULL: it has none; else the module is of the Vulkan memory model */
    gpuc_analyzer *analyzer;
    gpuc_map values;       /* expression -> id, where it is known */
    gpuc_ptrs scope;       /* expressions of the open scopes, to forget at their ends */
    gpuc_ptrs memory;      /* those that depend on memory, to forget at a write */
    gpuc_map reads_memory; /* expression -> 1 no, 2 yes */
    gpuc_spv_view *views;
    size_t num_views, views_capacity;
    gpuc_spv_param *params;
    gpuc_map locals;        /* buffer -> gpuc_spv_local *, or what coopmat.c keeps */
    gpuc_map exact;         /* ids that are decorated NoContraction */
    gpuc_map float_bits;    /* buffers of floats with atomics that only integers have */
    uint32_t block_var;     /* the parameter block */
    uint32_t builtins[4];   /* loaded WorkgroupId, LocalInvocationId, SubgroupId, SubgroupLocalInvocationId */
    uint32_t *hidden_lanes; /* by lane; NULL: not wanted */
    int clamped; /* > 0: texels are read where the result may not be used, from anywhere in their buffer then */
} gpuc_spv_kernel;

/* types.c */
gpuc_dtype gpuc_spv_held(const gpuc_spv_kernel *k, gpuc_dtype t);
uint32_t gpuc_spv_type(gpuc_spv_kernel *k, gpuc_dtype held); /* of a held type, with its lanes */
uint32_t gpuc_spv_int_const(gpuc_spv_kernel *k, gpuc_dtype held, int64_t v); /* splat to the lanes */
uint32_t gpuc_spv_float_const(gpuc_spv_kernel *k, gpuc_dtype held, double v);
uint32_t gpuc_spv_splat(gpuc_spv_kernel *k, gpuc_dtype held, uint32_t scalar);
/* Wraps a result to the bits of t, where t is held in a wider type. */
uint32_t gpuc_spv_wrap(gpuc_spv_kernel *k, gpuc_dtype t, uint32_t id);
/* Element type in a storage buffer. */
uint32_t gpuc_spv_memory_type(gpuc_spv_kernel *k, gpuc_dtype t, int lanes);
uint32_t gpuc_spv_from_memory(gpuc_spv_kernel *k, gpuc_dtype t, uint32_t id); /* t with lanes */
uint32_t gpuc_spv_to_memory(gpuc_spv_kernel *k, gpuc_dtype t, uint32_t id);
/* Conversions between held values; to and from may be any types of equal lanes. */
uint32_t gpuc_spv_cast(gpuc_spv_kernel *k, gpuc_dtype to, gpuc_dtype from, uint32_t id);
uint32_t gpuc_spv_reinterpret(gpuc_spv_kernel *k, gpuc_dtype to, gpuc_dtype from, uint32_t id);

/* memory.c: whether it reads texels of a buffer of known size, which can be clamped to it */
bool gpuc_spv_can_clamp(gpuc_spv_kernel *k, const gpuc_tir_buffer *b);

/* expr.c */
uint32_t gpuc_spv_expr(gpuc_spv_kernel *k, gpuc_expr e);
void gpuc_spv_set_value(gpuc_spv_kernel *k, gpuc_expr e, uint32_t id);
size_t gpuc_spv_scope_begin(gpuc_spv_kernel *k);
void gpuc_spv_scope_end(gpuc_spv_kernel *k, size_t mark);
void gpuc_spv_memory_changed(gpuc_spv_kernel *k);
uint32_t gpuc_spv_select(gpuc_spv_kernel *k, gpuc_dtype held, uint32_t cond, uint32_t a, uint32_t b);

/* ops.c */
uint32_t gpuc_spv_operator(gpuc_spv_kernel *k, gpuc_expr e);

/* memory.c */
uint32_t gpuc_spv_load(gpuc_spv_kernel *k, gpuc_expr e);
void gpuc_spv_store(gpuc_spv_kernel *k, const gpuc_tir_store_node *n);
void gpuc_spv_alloc(gpuc_spv_kernel *k, const gpuc_tir_buffer *b);
/* Pointer to one element for an atomic operation; *out_held is the integer or float type behind it. */
uint32_t gpuc_spv_atomic_pointer(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr index,
                                 gpuc_dtype as);
void gpuc_spv_finish_views(gpuc_spv_kernel *k);
/* Pointer to the element at index of shared memory or a parameter, or to the vector of *per that begins
 * there. */
uint32_t gpuc_spv_element_pointer(gpuc_spv_kernel *k, const gpuc_tir_buffer *b, gpuc_expr index, int *per);
/* The memory operands of an access to shared memory that other invocations are to see; returns how many. */
int gpuc_spv_shared_access(gpuc_spv_kernel *k, bool write, uint32_t *operands);

/* texture.c: a texture2d call */
uint32_t gpuc_spv_texture(gpuc_spv_kernel *k, gpuc_expr e);

/* coopmat.c */
void gpuc_spv_coopmat_alloc(gpuc_spv_kernel *k, const gpuc_tir_buffer *b);
void gpuc_spv_coopmat(gpuc_spv_kernel *k, const gpuc_tir_attr_node *n);

/* call.c */
uint32_t gpuc_spv_call(gpuc_spv_kernel *k, gpuc_expr e);

/* params.c */
void gpuc_spv_load_params(gpuc_spv_kernel *k);
void gpuc_spv_load_threads(gpuc_spv_kernel *k);
uint32_t gpuc_spv_builtin(gpuc_spv_kernel *k, SpvBuiltIn which);
uint32_t gpuc_spv_param_offset(gpuc_spv_kernel *k, int tensor, int lanes);

/* stmt.c */
void gpuc_spv_stmt(gpuc_spv_kernel *k, gpuc_stmt s);

/* unroll.c */
SpvLoopControlMask gpuc_spv_loop_control(gpuc_ctx *ctx, const gpuc_tir_for_node *n);

static inline int gpuc_spv_tensor_of(const gpuc_spv_kernel *k,
                                     const gpuc_tir_buffer *b) /* -1: no parameter */
{
    for (int i = 0; i < k->func->num_buffers; i++)
        if (k->func->buffers[i] == b) return i;
    return -1;
}

/* listing.c: assembly of a module, appended. UNSUPPORTED in a build without SPIRV-Tools. */
GPUC_NODISCARD gpuc_status gpuc_spv_assembly(const uint32_t *words, size_t count, gpuc_buf *out);
/* The same, or else the words in hexadecimal. */
void gpuc_spv_print(gpuc_ctx *ctx, const uint32_t *words, size_t count, gpuc_buf *out);
/* operands.c: what follows an opcode, "r" result type and result, "R" result only, or neither; then "i" ids, "l"
 * literals, "s" a string, the last for all that is left. NULL: no module of ours has it. */
const char *gpuc_spv_operand_kinds(uint32_t op);

/* share.c */

/* A kernel, and the module that it runs. */
typedef struct gpuc_spv_entry {
    int code;              /* the kernel whose module it is */
    const uint32_t *words; /* of its own module; NULL: it has none */
    size_t num_words;
    int num_values; /* 32-bit numbers behind the parameters of the kernel */
    const int32_t *values;
} gpuc_spv_entry;

/* entries come with each kernel's own module, and no values. */
void gpuc_spv_share(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                    gpuc_spv_entry *entries);

#endif
