/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder. */
#ifndef GPUC_CODEGEN_C_PRIVATE_H
#define GPUC_CODEGEN_C_PRIVATE_H

#include "codegen/clike.h"
#include "codegen/codegen.h"
#include "codegen/helpers.h"

typedef struct gpuc_c_emit {
    gpuc_ptrs functions; /* texts of outlined bodies, in order */
    bool in_parallel;
    bool streams;      /* the function at hand has stores that are not ordered with those of other threads */
    gpuc_map captured; /* in an outlined body: buffers that come as pointers */
} gpuc_c_emit;

extern const gpuc_clike_lang gpuc_c_lang;
extern const gpuc_helper_lang gpuc_c_helpers;
void gpuc_c_type(gpuc_buf *out, gpuc_dtype t);
void gpuc_c_element(gpuc_clike *p, gpuc_dtype t);
/* "const float *restrict A" without its value. */
void gpuc_c_pointer(gpuc_clike *p, const gpuc_tir_buffer *b, bool with_restrict);

/* Prints, at the end of a function, what makes its stores past the caches visible before later stores. */
void gpuc_c_end_streams(gpuc_clike *p);

/* parallel.c: prints the outermost parallel loop as a body function and a call. */
bool gpuc_c_loop(gpuc_clike *p, gpuc_stmt s);

/* isa.c: a text in generated code that names the instruction sets that it is compiled for, and what it said. */
void gpuc_c_write_isa(gpuc_buf *out);
void gpuc_c_read_isa(gpuc_ctx *ctx, const void *code, size_t size, gpuc_linked *out);

/* One source file of the kernels: includes, types, helpers, kernels. */
void gpuc_c_write_file(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_kernel_code *kernels,
                       gpuc_buf *out);

typedef struct gpuc_c_source {
    const char *text;
    size_t size;
} gpuc_c_source;
/* Runs target.cc on the sources, several at a time, and links them: bytes of a shared object. */
void gpuc_c_compile(gpuc_ctx *ctx, const gpuc_target *t, int n, const gpuc_c_source *sources,
                    const void **out, size_t *out_size);

#endif
