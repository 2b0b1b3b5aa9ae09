/* SPDX-License-Identifier: Apache-2.0 */
/* Makes operations whose body is loop IR. */
#include "te/internal.h"

gpuc_te_op *gpuc_te_extern(gpuc_ctx *ctx, const char *name, int num_inputs, gpuc_tensor *const *inputs,
                           int num_outputs, const int *ndims, const gpuc_expr *const *shapes,
                           const gpuc_dtype *dtypes)
{
    if (num_outputs < 1)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "extern '%s' has no outputs", name ? name : "");
    gpuc_te_op *op = gpuc_te_op_make(ctx, GPUC_TE_EXTERN, name, num_outputs);
    op->num_inputs = num_inputs;
    op->inputs = gpuc_ctx_memdup(ctx, inputs, (size_t)num_inputs * sizeof(*inputs));
    op->input_buffers = gpuc_new_array(ctx, gpuc_tir_buffer *, num_inputs);
    op->output_buffers = gpuc_new_array(ctx, gpuc_tir_buffer *, num_outputs);
    for (int i = 0; i < num_inputs; i++)
        op->input_buffers[i] = gpuc_tir_buffer_make(ctx, inputs[i]->name, inputs[i]->dtype, inputs[i]->ndim,
                                                    inputs[i]->shape, GPUC_SCOPE_GLOBAL);
    for (int i = 0; i < num_outputs; i++) {
        gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, ndims[i]);
        for (int k = 0; k < ndims[i]; k++) dims[k] = gpuc_te_check_dim(ctx, shapes[i][k], op->name, k);
        gpuc_tensor *t = gpuc_te_output_make(ctx, op, i, ndims[i], dims, dtypes[i]);
        op->output_buffers[i] =
            gpuc_tir_buffer_make(ctx, t->name, t->dtype, t->ndim, t->shape, GPUC_SCOPE_GLOBAL);
    }
    return op;
}
