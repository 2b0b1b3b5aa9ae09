/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of split_kernels. */
#ifndef GPUC_LOWER_SPLIT_KERNELS_SPLIT_H
#define GPUC_LOWER_SPLIT_KERNELS_SPLIT_H

#include "lower/common/util.h"

/* Fills body and threads of kernel k from a root statement of f; device memory that the statement
 * allocates is placed, or entered in workspaces. */
void gpuc_lower_split_threads(gpuc_pass_ctx *p, const gpuc_tir_func *f, gpuc_tir_func *k, gpuc_stmt root,
                              gpuc_ptrs *workspaces);
/* storage.c: device memory allocated inside of a kernel becomes local, shared, or a workspace. */
gpuc_stmt gpuc_lower_split_storage(gpuc_pass_ctx *p, const gpuc_tir_func *f, const char *kernel,
                                   gpuc_stmt root, gpuc_ptrs *workspaces);

#endif
