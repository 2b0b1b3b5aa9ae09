/* SPDX-License-Identifier: Apache-2.0 */
/* Foo's machine and its code, which generator, modules and device share.
 *
 * A kernel has a file of cells of 4 bytes. A value is a run of cells: a lane of int32, uint32, float32 or bool (0 or 1)
 * takes one, a lane of a 64-bit type two, from an even cell on. An instruction works on 1 to `lanes` lanes, which lie
 * side by side. Memory are numbered stores: the kernel's tensors, then local arrays of one launch, all reached by an
 * element index that is checked each time. */
#ifndef FOO_H
#define FOO_H

#include <stdlib.h>

#include <gpuc/plugin.h>

/* ---- Instructions ---- */

typedef enum foo_type { FOO_I32, FOO_U32, FOO_I64, FOO_U64, FOO_F32, FOO_F64, FOO_NUM_TYPES } foo_type;

typedef enum foo_op {
    FOO_END,
    FOO_CONST, /* dst = the bits of a, b (low and high half of the upper word) and imm (the lower one); one lane */
    FOO_MOVE,   /* dst = a */
    FOO_SPLAT,  /* dst = a, which is one lane */
    FOO_RAMP,   /* dst = a, a + b, a + 2 b, ...: a and b are one lane */
    FOO_CAST,   /* dst = a, which is of the type in flags; floats to integers saturate, NaN gives 0 */
    FOO_NARROW, /* dst = a wrapped to the format in flags; int32 and uint32 */
    FOO_CLAMP,  /* dst = a, but no more and no less than the format in flags holds; int32 */
    FOO_FMA,    /* dst = c + a * b; floats */
    FOO_FMAS,   /* the same, a being one lane */
    FOO_SELECT, /* dst = a ? b : c; a is bool */
    FOO_LOAD,   /* dst = store b, at elements a + imm (see foo_mode) */
    FOO_STORE,  /* store b, at elements a + imm, = dst */
    FOO_JUMP,   /* goes to instruction imm, which is behind this one */
    FOO_UNLESS, /* the same if a, which is bool, is 0 */
    FOO_ENTER,  /* the same if dst >= a: before a loop of variable dst; int32, int64 */
    FOO_LOOP,   /* dst += 1, and goes back to instruction imm if dst < a */
#define FOO_OP(id, ...) FOO_##id,
#include "ops.def"
#undef FOO_OP
    FOO_NUM_OPS
} foo_op;

/* Elements in memory. What is smaller than a cell is widened as it is loaded, and cut as it is stored. */
typedef enum foo_format { FOO_S8, FOO_U8, FOO_S16, FOO_U16, FOO_B32, FOO_B64, FOO_NUM_FORMATS } foo_format;

/* The indices of LOAD and STORE: the lower bits of flags. */
typedef enum foo_mode {
    FOO_SIDE_BY_SIDE, /* a + imm, and those behind it; a is one lane */
    FOO_STRIDED,      /* a + imm, a + c + imm, ...; a and c are one lane */
    FOO_GATHERED,     /* lane by lane; a is a vector */
    FOO_NUM_MODES,
    FOO_INDEX64 = 4 /* a bit: a and c are int64, else int32 */
} foo_mode;

typedef struct foo_instr {
    uint8_t op, type, lanes, flags;
    uint16_t dst, a, b, c;
    int32_t imm;
} foo_instr;

/* FOO_MAX_LOCAL: elements of all local arrays of a kernel. */
enum { FOO_MAX_LANES = 64, FOO_MAX_CELLS = 1 << 16, FOO_MAX_STORES = 1 << 12, FOO_MAX_LOCAL = 1 << 24 };

static inline uint32_t foo_type_cells(foo_type t)
{
    return t == FOO_I64 || t == FOO_U64 || t == FOO_F64 ? 2 : 1;
}
static inline bool foo_type_is_float(foo_type t)
{
    return t == FOO_F32 || t == FOO_F64;
}
static inline uint32_t foo_format_bytes(foo_format f)
{
    return f <= FOO_U8 ? 1 : f <= FOO_U16 ? 2 : f == FOO_B32 ? 4 : 8;
}

/* ---- Programs ---- */

typedef struct foo_store {
    uint32_t format; /* foo_format */
    uint32_t count;  /* elements of a local array; 0 of a tensor */
} foo_store;

typedef struct foo_scalar {
    uint32_t type; /* int32, int64 or float32 */
    uint32_t cell; /* where the kernel expects it */
} foo_scalar;

typedef struct foo_kernel {
    char name[128];
    uint32_t num_tensors, num_stores; /* tensors are the first of the stores */
    uint32_t num_scalars, num_cells, num_code;
    foo_store *stores;
    foo_scalar *scalars;
    foo_instr *code;
} foo_kernel;

/* Kernels that were verified: running them reads and writes nothing but their cells and stores. */
typedef struct foo_program {
    gpuc_allocator allocator;
    uint32_t lanes, num_kernels;
    foo_kernel *kernels;
} foo_program;

/* Reads what foo_kernel_write wrote. INVALID_DATA says what is wrong with the bytes. */
GPUC_NODISCARD gpuc_status foo_program_read(gpuc_allocator a, const void *bytes, size_t size,
                                            foo_program *out);
void foo_program_free(foo_program *p);
/* Everything that an interpreter relies on. */
GPUC_NODISCARD gpuc_status foo_kernel_verify(const foo_kernel *k, uint32_t lanes);

/* ---- Running ---- */

/* Memory of a tensor in one launch. */
typedef struct foo_span {
    uint8_t *at;
    uint64_t bytes;
} foo_span;

/* Runs a kernel; scratch is foo_kernel_scratch bytes. INVALID_DATA if it leaves a store, or goes back to the start of a
 * loop more often than budget says. */
GPUC_NODISCARD gpuc_status foo_kernel_run(const foo_kernel *k, const foo_span *tensors,
                                          const int64_t *scalars, void *scratch, int64_t budget);
size_t foo_kernel_scratch(const foo_kernel *k);

/* ---- Memory for what is not the device's ---- */

/* size 0 frees; p may be NULL. On failure NULL, and p stays. */
static inline void *foo_resize(gpuc_allocator a, void *p, size_t old_size, size_t size)
{
    if (!p && !size) return NULL;
    if (!p) old_size = 0;
    if (a.resize) return a.resize(a.user, p, old_size, size);
    if (size) return realloc(p, size);
    free(p);
    return NULL;
}

/* Bytes that grow. failed: there was no memory for some of them. */
typedef struct foo_bytes {
    gpuc_allocator allocator;
    uint8_t *data;
    size_t size, capacity;
    bool failed;
} foo_bytes;
void foo_bytes_add(foo_bytes *b, const void *data, size_t size);
void foo_bytes_text(foo_bytes *b, const char *fmt, ...) GPUC_PRINTF(2, 3);
void foo_bytes_free(foo_bytes *b);

/* Appends the head of a module with so many kernels, then each of them. */
void foo_head_write(foo_bytes *out, uint32_t lanes, uint32_t num_kernels);
void foo_kernel_write(foo_bytes *out, const foo_kernel *k);
/* A listing to read. */
void foo_kernel_list(foo_bytes *out, const foo_kernel *k);

/* ---- What the plug-in registers ---- */

GPUC_NODISCARD gpuc_status foo_kind_register(gpuc_runtime *rt);
/* The driver of two devices; foo.counter(name) and foo.limit(iterations), which look into it. */
GPUC_NODISCARD gpuc_status foo_driver_register(gpuc_runtime *rt);
/* runtime.module.loadbinary_foo_code and loadfile_foo. */
GPUC_NODISCARD gpuc_status foo_module_register(gpuc_runtime *rt);
GPUC_NODISCARD gpuc_status foo_module_create(gpuc_runtime *rt, const void *bytes, size_t size,
                                             gpuc_module **out);
/* target.build.foo. */
GPUC_NODISCARD gpuc_status foo_codegen_register(gpuc_runtime *rt);

#define FOO_MODULE_TYPE "foo_code"

#endif
