/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of code modules, which code generators write, devices load, and others look into.
 *   spirv     u32 count, then per code: the name of its entry point (gpuc_buf_lstr), u32 number of words, the
 *             words: a SPIR-V module with one kernel. u32 count, then per kernel that runs the code of another
 *             name, or with further parameters: its name, the code's, u32 number of 32-bit numbers that stand
 *             behind its parameters, these.
 *   opencl_c  u32 count, then per program: its options, its source, u32 number of kernels, then per kernel: its
 *             name, the function that it is, u32 number of 32-bit numbers that are its last arguments, these.
 *   cpu_so    a shared object of the machine, with a function per kernel (kernel.h says of which type).
 * What is read points into the bytes, which must stay; the rest lies in the arena. */
#ifndef GPUC_ABI_CODE_H
#define GPUC_ABI_CODE_H

#include "base/arena.h"
#include "base/buf.h"

typedef struct gpuc_spirv_code {
    const char *name; /* of its entry point */
    const uint32_t *words;
    uint32_t num_words;
} gpuc_spirv_code;

/* A kernel whose code it is not alone to run. */
typedef struct gpuc_spirv_shared {
    const char *kernel, *code; /* names */
    uint32_t num_values;
    const uint32_t *values; /* behind its parameters */
} gpuc_spirv_shared;

typedef struct gpuc_spirv_module {
    uint32_t num_codes, num_shared;
    gpuc_spirv_code *codes;
    gpuc_spirv_shared *shared;
} gpuc_spirv_module;

/* What a kernel runs: the code, and how it is shared (NULL: it is its own). */
typedef struct gpuc_spirv_kernel {
    const gpuc_spirv_code *code; /* NULL: there is none */
    const gpuc_spirv_shared *shared;
} gpuc_spirv_kernel;

typedef struct gpuc_opencl_function {
    const char *kernel, *name; /* the kernel that it is, and its name in the source */
    uint32_t num_values;
    const uint32_t *values; /* its last arguments */
} gpuc_opencl_function;

typedef struct gpuc_opencl_source {
    const char *options, *text;
    uint32_t num_functions;
    gpuc_opencl_function *functions;
} gpuc_opencl_source;

typedef struct gpuc_opencl_module {
    uint32_t num_programs;
    gpuc_opencl_source *programs;
} gpuc_opencl_module;

void gpuc_abi_spirv_write(gpuc_buf *buf, const gpuc_spirv_module *m);
GPUC_NODISCARD gpuc_status gpuc_abi_spirv_read(const void *bytes, size_t size, gpuc_arena *arena,
                                               gpuc_spirv_module *out);
gpuc_spirv_kernel gpuc_abi_spirv_find(const gpuc_spirv_module *m, const char *kernel);

void gpuc_abi_opencl_write(gpuc_buf *buf, const gpuc_opencl_module *m);
GPUC_NODISCARD gpuc_status gpuc_abi_opencl_read(const void *bytes, size_t size, gpuc_arena *arena,
                                                gpuc_opencl_module *out);
/* The program that a kernel is in, and its function there; NULL if there is none. */
const gpuc_opencl_source *gpuc_abi_opencl_find(const gpuc_opencl_module *m, const char *kernel,
                                               const gpuc_opencl_function **out_function);

/* The names of the functions that a shared object gives to others; in memory of the arena. The object may be of
 * another machine with the same order of bytes. */
GPUC_NODISCARD gpuc_status gpuc_abi_object_functions(const void *bytes, size_t size, gpuc_arena *arena,
                                                     uint32_t *out_count, const char *const **out_names);

#endif
