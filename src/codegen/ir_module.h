/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a module of kernels, which code is generated from. */
#ifndef GPUC_CODEGEN_IR_MODULE_H
#define GPUC_CODEGEN_IR_MODULE_H

#include <gpuc/codegen.h>

#include "codegen/codegen.h"

struct gpuc_ir_module {
    gpuc_ctx *ctx;
    const gpuc_target *target;
    gpuc_ptrs kernels;      /* gpuc_ir_kernel */
    gpuc_ptrs requirements; /* gpuc_requirement */
    int num_files;          /* for people: what gpuc's own generators made of the kernels */
    const char *const *file_names;
    const gpuc_module_blob *files;
};

typedef struct gpuc_ir_kernel {
    const gpuc_tir_func *func;    /* NULL: its text is in code */
    const gpuc_kernel_code *code; /* NULL: of a kernel that was added by itself */
} gpuc_ir_kernel;

/* Adds what gpuc_codegen_defer made. */
void gpuc_ir_module_add_deferred(gpuc_ir_module *m, const gpuc_kernel_code *code);
/* Generates the code of all kernels by the target's own generator. */
void gpuc_ir_module_link(gpuc_ir_module *m, gpuc_linked *out);

#endif
