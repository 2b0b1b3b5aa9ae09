/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products over named dimensions: Einstein's notation, and tensordot as a case of it. */
#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/contraction.h"
#include "op/rows.h"

static void infer_contraction(gpuc_op_call *call)
{
    char a[24], b[24];
    gpuc_dtype t = call->in[0].dtype;
    for (int i = 1; i < call->num_in; i++)
        if (!gpuc_dtype_equal(call->in[i].dtype, t))
            gpuc_topi_fail(call, "operand 0 is %s, operand %d %s; cast one of them", gpuc_dtype_name(t, a), i,
                           gpuc_dtype_name(call->in[i].dtype, b));
    const gpuc_op_contraction *c = gpuc_op_contraction_of(call);
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    for (int k = 0; k < c->out.n; k++) dims[k] = c->extent[c->out.label[k]];
    gpuc_topi_set_out(call, 0, t, c->out.n, dims);
}

/* A dimension of one element is broadcast along its label. */
static gpuc_expr operand(const gpuc_op_call *call, const gpuc_op_contraction *c, int i, gpuc_tensor *t,
                         const gpuc_expr *var)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr index[GPUC_TOPI_MAX_DIMS], one = gpuc_int(ctx, 1), zero = gpuc_int(ctx, 0);
    for (int k = 0; k < c->in[i].n; k++) {
        gpuc_expr d = call->in[i].dims[k], at = var[c->in[i].label[k]];
        index[k] = d == c->extent[c->in[i].label[k]] ? at : gpuc_select(ctx, gpuc_eq(ctx, d, one), zero, at);
    }
    return gpuc_topi_factor(call, gpuc_te_read(ctx, t, c->in[i].n, index));
}

/* Two operands whose last dimensions are that of the sum, or one of the last two of the result. */
static bool is_matrix_product(const gpuc_op_contraction *c, gpuc_tensor *const *ins, int summed,
                              int num_summed)
{
    if (c->operands != 2 || num_summed != 1 || c->out.n < 2 || ins[0] == ins[1]) return false;
    for (int i = 0; i < 2; i++) {
        const gpuc_op_term *in = &c->in[i];
        bool has_sum = false;
        if (in->n == 0) return false;
        int last = in->label[in->n - 1];
        if (last != summed && last != c->out.label[c->out.n - 1] && last != c->out.label[c->out.n - 2])
            return false;
        for (int k = 0; k < in->n; k++) {
            has_sum |= in->label[k] == summed;
            for (int j = 0; j < k; j++)
                if (in->label[j] == in->label[k]) return false;
        }
        if (!has_sum) return false;
    }
    return true;
}

static void contraction_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_op_contraction *c = gpuc_op_contraction_of(call);
    gpuc_expr var[GPUC_OP_LABELS] = {NULL}, own[GPUC_TOPI_MAX_DIMS], body = NULL;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], own), *over[GPUC_OP_LABELS];
    int num_over = 0, summed = -1;
    for (int k = 0; k < c->out.n; k++) var[c->out.label[k]] = own[k];
    for (int i = 0; i < GPUC_OP_LABELS; i++) {
        if (!c->extent[i] || var[i]) continue;
        over[num_over] = gpuc_te_reduce_axis(ctx, c->extent[i], "k");
        var[i] = gpuc_iter_var(over[num_over++]);
        summed = i;
    }
    for (int i = 0; i < c->operands; i++) {
        gpuc_expr factor = operand(call, c, i, ins[i], var);
        body = body ? gpuc_mul(ctx, body, factor) : factor;
    }
    if (num_over) body = gpuc_te_reduce(ctx, "sum", body, num_over, over);
    const char *tag = is_matrix_product(c, ins, summed, num_over) ? "matmul" : "";
    outs[0] = gpuc_topi_rounded(call, gpuc_topi_compute(ctx, "einsum", tag, c->out.n, axes, body));
}

ATTRS(einsum_attrs, {.name = "equation", .kind = GPUC_ATTR_STRING, .required = true})
ATTRS(tensordot_attrs, INTS("a_axes"), INTS("b_axes"), INT("axes", 2))

const gpuc_op gpuc_topi_ops_einsum[] = {
    {.name = "einsum",
     .min_in = 1,
     .max_in = GPUC_OP_MAX_FACTORS,
     .types = {GPUC_T_NUMBERS, GPUC_T_LIKE},
     .attrs = einsum_attrs,
     .infer = infer_contraction,
     .compute = contraction_compute,
     .pattern = GPUC_FUSE_OUT_FUSABLE,
     .topi = "einsum",
     .nnvm = "",
     .onnx = "Einsum"},
    {.name = "tensordot",
     .min_in = 2,
     .max_in = 2,
     .types = {GPUC_T_NUMBERS, GPUC_T_LIKE},
     .attrs = tensordot_attrs,
     .infer = infer_contraction,
     .compute = contraction_compute,
     .pattern = GPUC_FUSE_OUT_FUSABLE,
     .topi = "tensordot",
     .nnvm = "",
     .onnx = ""},
};
const size_t gpuc_topi_ops_einsum_count = sizeof gpuc_topi_ops_einsum / sizeof gpuc_topi_ops_einsum[0];
