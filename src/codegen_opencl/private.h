/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder. */
#ifndef GPUC_CODEGEN_OPENCL_PRIVATE_H
#define GPUC_CODEGEN_OPENCL_PRIVATE_H

#include "codegen/clike.h"
#include "codegen/codegen.h"
#include "codegen/helpers.h"

/* gpuc_kernel_code.prelude: extensions that a kernel's calls need. Types are found in the text. */
enum {
    GPUC_OPENCL_INT64_BASE_ATOMICS = 1,
    GPUC_OPENCL_INT64_EXTENDED_ATOMICS = 2,
    GPUC_OPENCL_SUBGROUPS = 4,
    GPUC_OPENCL_SUBGROUP_SHUFFLE = 8,
    GPUC_OPENCL_SUBGROUP_ARITHMETIC = 16
};

extern const gpuc_clike_lang gpuc_opencl_lang;
extern const gpuc_helper_lang gpuc_opencl_helpers;
void gpuc_opencl_type(gpuc_buf *out, gpuc_dtype t);
void gpuc_opencl_memory_type(gpuc_clike *p, gpuc_dtype t);

/* ---- emit.c ---- */
const char *gpuc_opencl_decision(gpuc_clike *p); /* what thread_decides is printed as */
/* Text in memory of the context; take ends the buffer that was made last. */
gpuc_buf *gpuc_opencl_buf(gpuc_ctx *ctx);
void *gpuc_opencl_take(gpuc_ctx *ctx, gpuc_buf *b, size_t *size);

/* ---- share.c ---- */

/* A kernel as a function of a program. */
typedef struct gpuc_opencl_entry {
    const char *name; /* of the function */
    const char *text; /* NULL: it is that of an earlier kernel */
    int num_values;   /* int arguments behind those of the kernel */
    const int32_t *values;
} gpuc_opencl_entry;

/* entries come with each kernel's own name and text, and no values. */
void gpuc_opencl_share(gpuc_ctx *ctx, int n, const gpuc_kernel_code *kernels, gpuc_opencl_entry *entries);

/* ---- outline.c: entries as share.c leaves them ---- */
void gpuc_opencl_outline(gpuc_ctx *ctx, int n, const gpuc_kernel_code *kernels, gpuc_opencl_entry *entries);

/* ---- lang.c ---- */
gpuc_dtype gpuc_opencl_held(const gpuc_clike *p, gpuc_dtype t);
void gpuc_opencl_element(gpuc_clike *p, gpuc_dtype t); /* the type of an element in memory */
void gpuc_opencl_cast(gpuc_clike *p, gpuc_expr e, int prec);

/* ---- memory.c ---- */
void gpuc_opencl_pointer(gpuc_clike *p, const gpuc_tir_buffer *b, gpuc_expr start); /* "A + start" */
void gpuc_opencl_load(gpuc_clike *p, gpuc_expr e, int prec);
void gpuc_opencl_store(gpuc_clike *p, gpuc_stmt s);
/* The texture2d calls. */
void gpuc_opencl_read_texel(gpuc_clike *p, gpuc_expr e);
void gpuc_opencl_write_texel(gpuc_clike *p, gpuc_expr e);

#endif
