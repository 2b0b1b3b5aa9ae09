/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc compare: operators of two programs that compute the same value, and the code of an operator. */
#ifndef GPUC_CLI_COMPARE_NODES_H
#define GPUC_CLI_COMPARE_NODES_H

#include <gpuc/runtime.h>

/* True if the operator launches kernels for a node of the model, and its output is whole after it: nothing
 * that only gives another shape, no copy between devices. */
bool compare_is_operator(const gpuc_model *m, int node);
/* The next after a number (-1: the first) of the operators that launch what computes this one's output:
 * itself, or those that each store a part. -1: no more. */
int compare_next_part(const gpuc_model *m, int node, int after);
/* For each operator of a: the operator of b whose outputs are the same values of the model, or -1. From cli_alloc.
 *
 * Fusion may cut the two programs differently. Operators that do the same to the same sources agree, if both
 * programs have as many of them. Else the last source of an operator gives its output: two that end with the
 * same source agree if later operators of both programs do the same work for it, usually none. */
int *compare_match(const gpuc_model *a, const gpuc_model *b);
/* Its kernels, comma-separated; "copy" for copies. From cli_alloc. */
char *compare_kernels_text(const gpuc_model *m, int node);
/* Writes the code that the operator runs into the folder: *.spv, *.cl or the shared object. */
GPUC_NODISCARD gpuc_status compare_save_kernels(const gpuc_model *m, int node, const char *folder);

#endif
