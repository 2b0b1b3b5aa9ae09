/* SPDX-License-Identifier: Apache-2.0 */
/* Building one SPIR-V module: sections, ids, types and constants each once. Knows nothing of kernels. */
#ifndef GPUC_CODEGEN_SPIRV_MODULE_H
#define GPUC_CODEGEN_SPIRV_MODULE_H

#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.h>

#include "base/map.h"

typedef struct gpuc_spv_words {
    uint32_t *at;
    size_t count, capacity;
} gpuc_spv_words;

typedef struct gpuc_spv {
    gpuc_ctx *ctx;
    uint32_t next_id;
    /* In the order of the specification. */
    gpuc_spv_words capabilities, extensions, imports, model, entry, modes, names, decorations, globals;
    gpuc_spv_words variables; /* of the function: go to the start of its first block */
    gpuc_spv_words code;      /* of the function, after the first label */
    struct gpuc_spv_unique *unique;
    uint32_t glsl;        /* id of GLSL.std.450; 0: not imported yet */
    uint32_t first_label; /* of the function */
    uint32_t block;       /* label of the block that code is appended to */
    gpuc_map interface;   /* Input variables */
} gpuc_spv;

void gpuc_spv_push(gpuc_ctx *ctx, gpuc_spv_words *to, uint32_t word);
void gpuc_spv_init(gpuc_spv *m, gpuc_ctx *ctx);
uint32_t gpuc_spv_id(gpuc_spv *m);
void gpuc_spv_op(gpuc_spv *m, gpuc_spv_words *to, SpvOp op, int n, const uint32_t *operands);
/* Operands listed: gpuc_spv_emit(m, &m->code, SpvOpStore, ptr, value). */
#define gpuc_spv_emit(m, to, op, ...)                                                                        \
    gpuc_spv_op(m, to, op, (int)(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)),                      \
                (uint32_t[]){__VA_ARGS__})
/* An instruction of the code with a result: type, new id, operands. */
uint32_t gpuc_spv_value(gpuc_spv *m, SpvOp op, uint32_t type, int n, const uint32_t *operands);
#define gpuc_spv_calc(m, op, type, ...)                                                                      \
    gpuc_spv_value(m, op, type, (int)(sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)),                 \
                   (uint32_t[]){__VA_ARGS__})
uint32_t gpuc_spv_glsl(gpuc_spv *m, enum GLSLstd450 fn, uint32_t type, int n, const uint32_t *operands);
/* Appends an instruction that ends with a string. */
void gpuc_spv_op_string(gpuc_spv *m, gpuc_spv_words *to, SpvOp op, int n, const uint32_t *operands,
                        const char *text);

void gpuc_spv_capability(gpuc_spv *m, SpvCapability capability);
void gpuc_spv_extension(gpuc_spv *m, const char *name);
void gpuc_spv_name(gpuc_spv *m, uint32_t id, const char *name);
void gpuc_spv_decorate(gpuc_spv *m, uint32_t id, SpvDecoration d, int n, const uint32_t *operands);

/* A type, constant or decorated thing that exists once: equal operands give the same id. Constants have a
 * result type (type not 0). tag tells apart what is equal in words but not in decorations. */
uint32_t gpuc_spv_global(gpuc_spv *m, SpvOp op, uint32_t type, int n, const uint32_t *operands, uint32_t tag,
                         bool *is_new);
uint32_t gpuc_spv_type_void(gpuc_spv *m);
uint32_t gpuc_spv_type_bool(gpuc_spv *m);
uint32_t gpuc_spv_type_int(gpuc_spv *m, int bits, bool is_signed);
uint32_t gpuc_spv_type_float(gpuc_spv *m, int bits);
uint32_t gpuc_spv_type_vector(gpuc_spv *m, uint32_t element, int lanes); /* 1: the element */
uint32_t gpuc_spv_type_pointer(gpuc_spv *m, SpvStorageClass storage, uint32_t to);
uint32_t gpuc_spv_type_array(gpuc_spv *m, uint32_t element, uint32_t count);
uint32_t gpuc_spv_const(gpuc_spv *m, uint32_t type, int bits, uint64_t value); /* its low bits */
uint32_t gpuc_spv_const_u32(gpuc_spv *m, uint32_t value);
uint32_t gpuc_spv_const_bool(gpuc_spv *m, bool value);
uint32_t gpuc_spv_const_splat(gpuc_spv *m, uint32_t vector_type, uint32_t scalar, int lanes);
uint32_t gpuc_spv_variable(gpuc_spv *m, SpvStorageClass storage,
                           uint32_t type); /* module scope, or of the function */

/* Starts a block. */
void gpuc_spv_label(gpuc_spv *m, uint32_t label);
/* All sections as one module with the one function main_id of type void(). */
const uint32_t *gpuc_spv_finish(gpuc_spv *m, uint32_t main_id, size_t *num_words);

#endif
