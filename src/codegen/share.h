/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that differ in whole numbers only: one of them runs for all, with these numbers as arguments. */
#ifndef GPUC_CODEGEN_SHARE_H
#define GPUC_CODEGEN_SHARE_H

#include "base/ctx.h"

/* A kernel's form: what is equal in all kernels that may be shared, and its own numbers in the form's holes. */
typedef struct gpuc_kernel_form {
    int kernel;
    const void *bytes;
    size_t size;
    int num_holes;
    const int32_t *values;
} gpuc_kernel_form;

/* Kernels that become one, and which of their numbers are arguments. */
typedef struct gpuc_kernel_group {
    gpuc_ptrs forms; /* gpuc_kernel_form */
    int *argument;   /* per hole: the number of its argument; -1: all have the same number there */
    int num_arguments;
    int *hole; /* per argument: one of its holes */
} gpuc_kernel_group;

/* Groups forms of equal bytes that together need at most max[kernel] arguments; groups of one are left out.
 * Returns gpuc_kernel_group in the order of their first kernels. */
gpuc_ptrs gpuc_codegen_group(gpuc_ctx *ctx, const gpuc_ptrs *forms, const int *max);
/* The arguments of one of the group's forms. */
const int32_t *gpuc_codegen_group_values(gpuc_ctx *ctx, const gpuc_kernel_group *g,
                                         const gpuc_kernel_form *f);

#endif
