/* SPDX-License-Identifier: Apache-2.0 */
/* From lowered kernels to code. Two steps, so that kernels can be made on several threads: emit one
 * kernel in its own context, then link the bytes of many into modules. */
#ifndef GPUC_CODEGEN_CODEGEN_H
#define GPUC_CODEGEN_CODEGEN_H

#include "base/buf.h"
#include "lower/lower.h"

typedef struct gpuc_kernel_code {
    gpuc_kernel meta;  /* module and name are final after link; memory of the context */
    const void *bytes; /* source text (0-terminated, without prelude), or SPIR-V words */
    size_t size;
    uint32_t prelude; /* generator's own bits: which helper functions the text needs */
    bool deferred;    /* bytes are the kernel as text of tir: its code is made of that when it is linked */
} gpuc_kernel_code;

typedef struct gpuc_linked {
    int num_modules;
    const gpuc_module_blob *modules;
    const uint32_t *kernel_module; /* per kernel, in the order given */
    int num_requirements;
    const gpuc_requirement *requirements; /* of the code, beyond what its metadata says: "cpu.avx2" */
    int num_files;                        /* for --emit: name and text or bytes of each generated file */
    const char *const *file_names;
    const gpuc_module_blob *files; /* type_key unused */
} gpuc_linked;

typedef struct gpuc_codegen {
    void (*emit)(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *kernel, gpuc_kernel_code *out);
    /* Names must be unique. Deterministic. For c this runs the C compiler and raises its message. */
    void (*link)(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                 gpuc_linked *out);
    /* For people: what is compiled of the kernels as text, SPIR-V as a listing. Runs no compiler. */
    void (*print)(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels, gpuc_buf *out);
    /* (optional) One of the SPIR-V modules that it makes as assembly, appended. */
    gpuc_status (*assembly)(const uint32_t *words, size_t count, gpuc_buf *out);
} gpuc_codegen;

#define GPUC_TARGET_KIND(id, name, generator, ...) extern const gpuc_codegen gpuc_codegen_##generator;
#include "target/kinds.def"
#undef GPUC_TARGET_KIND
/* Of its kind. Raises UNSUPPORTED for a kind of a program. */
const gpuc_codegen *gpuc_codegen_get(gpuc_ctx *ctx, const gpuc_target *t);
/* emit; GPUC_DEBUG_RULES prints what fired meanwhile. */
void gpuc_codegen_emit(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *kernel,
                       gpuc_kernel_code *out);
/* Metadata, and the kernel as text: for target.build functions that are not gpuc's own. */
void gpuc_codegen_defer(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *kernel,
                        gpuc_kernel_code *out);
/* SPIR-V as assembly, appended. UNSUPPORTED in a build without SPIRV-Tools. */
GPUC_NODISCARD gpuc_status gpuc_codegen_assembly(const uint32_t *words, size_t count, gpuc_buf *out);
/* print, in memory of the context. */
const char *gpuc_codegen_text(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels);
/* link; GPUC_DEBUG_SOURCE prints first. */
void gpuc_codegen_link(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                       gpuc_linked *out);

/* Shared: metadata of a kernel from its parameters and body (access sets, features, cost, shared
 * bytes, launch expressions over its scalars). */
void gpuc_codegen_metadata(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *kernel,
                           gpuc_kernel *out);

/* The end of the module that begins at kernel first. A module has at most `max` kernels, and at most `bytes`
 * bytes unless it has a single kernel. The end depends on the kernels only, so that packages do not depend on
 * the machine. */
int gpuc_codegen_module_end(int first, int n, const gpuc_kernel_code *kernels, int max, size_t bytes);
/* Raises if two kernels have one name. */
void gpuc_codegen_check_names(gpuc_ctx *ctx, int n, const gpuc_kernel_code *kernels);

#endif
