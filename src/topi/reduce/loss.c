/* SPDX-License-Identifier: Apache-2.0 */
/* Negative log likelihood: predictions [N, C, space], targets [N, space] of classes, weights [C]; cross entropy of
 * predictions and targets [N, C], which are probabilities. */
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"

static void infer_nll(gpuc_op_call *call)
{
    const gpuc_tensor_type *x = &call->in[0], *target = &call->in[1];
    const char *reduction = gpuc_attrs_get_string(call->attrs, "reduction", "mean");
    if (strcmp(reduction, "none") && strcmp(reduction, "sum") && strcmp(reduction, "mean"))
        gpuc_topi_fail(call, "reduction '%s' is not none, sum or mean", reduction);
    if (x->ndim < 2 || target->ndim != x->ndim - 1)
        gpuc_topi_fail(call, "predictions of %d dimensions, targets of %d", x->ndim, target->ndim);
    int64_t classes = gpuc_topi_static_dim(call, 0, 1);
    if (classes < 1) gpuc_topi_fail(call, "there are no classes");
    for (int i = 0; i < target->ndim; i++) {
        gpuc_expr have = target->dims[i], want = x->dims[i ? i + 1 : 0];
        if (have && want && have != want)
            gpuc_topi_require(call, gpuc_eq(call->ctx, have, want),
                              "dimension %d of the targets is %s, of the predictions %s", i,
                              gpuc_expr_text(call->ctx, have), gpuc_expr_text(call->ctx, want));
    }
    if (call->num_in > 2 && (call->in[2].ndim != 1 || gpuc_topi_static_dim(call, 2, 0) != classes))
        gpuc_topi_fail(call, "the weights must be a list of %lld", (long long)classes);
    bool none = !strcmp(reduction, "none");
    gpuc_topi_set_out(call, 0, x->dtype, none ? target->ndim : 0, target->dims);
}

/* Weight of the target at `index`, and minus the weighted prediction; 0 where the target is ignored. A class
 * that does not exist counts as the nearest. */
typedef struct term {
    gpuc_expr weight, loss;
} term;

static term term_at(const gpuc_op_call *call, gpuc_tensor *const *ins, const gpuc_expr *index)
{
    gpuc_ctx *ctx = call->ctx;
    int n = call->in[1].ndim;
    gpuc_expr x[GPUC_TOPI_MAX_DIMS], target = gpuc_te_read(ctx, ins[1], n, index);
    gpuc_expr ignored = gpuc_imm_int(ctx, GPUC_INT64, gpuc_attrs_get_int(call->attrs, "ignore_index", -100));
    gpuc_expr wide = gpuc_cast(ctx, GPUC_INDEX, target);
    gpuc_expr max = gpuc_int(ctx, gpuc_topi_static_dim(call, 0, 1) - 1);
    gpuc_expr class = gpuc_max(ctx, gpuc_int(ctx, 0), gpuc_min(ctx, wide, max));
    x[0] = index[0];
    x[1] = class;
    for (int i = 1; i < n; i++) x[1 + i] = index[i];
    gpuc_expr value = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], n + 1, x));
    gpuc_dtype t = gpuc_expr_dtype(value);
    gpuc_expr zero = gpuc_imm(ctx, t, 0), skip = gpuc_eq(ctx, gpuc_cast(ctx, GPUC_INT64, target), ignored);
    gpuc_expr weight =
        call->num_in > 2 ? gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[2], 1, &class)) : gpuc_imm(ctx, t, 1);
    gpuc_expr loss = gpuc_sub(ctx, zero, gpuc_mul(ctx, value, weight));
    return (term){gpuc_if_then_else(ctx, skip, zero, weight), gpuc_if_then_else(ctx, skip, zero, loss)};
}

static void nll_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const char *reduction = gpuc_attrs_get_string(call->attrs, "reduction", "mean");
    const gpuc_tensor_type *target = &call->in[1];
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_dtype t = call->out[0].dtype;
    if (!strcmp(reduction, "none")) {
        gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
        gpuc_expr loss = gpuc_cast(ctx, t, term_at(call, ins, vars).loss);
        outs[0] = gpuc_topi_compute(ctx, "loss", "injective", target->ndim, axes, loss);
        return;
    }
    bool mean = !strcmp(reduction, "mean");
    gpuc_tensor *sums[2];
    for (int part = 0; part < 1 + mean; part++) {
        gpuc_iter *over[GPUC_TOPI_MAX_DIMS];
        for (int i = 0; i < target->ndim; i++) {
            over[i] = gpuc_te_reduce_axis(ctx, target->dims[i], "k");
            vars[i] = gpuc_iter_var(over[i]);
        }
        term one = term_at(call, ins, vars);
        gpuc_expr sum = gpuc_te_reduce(ctx, "sum", part ? one.weight : one.loss, target->ndim, over);
        sums[part] = gpuc_topi_compute(ctx, part ? "weights" : "losses", "reduce", 0, NULL, sum);
    }
    gpuc_expr value = gpuc_te_read(ctx, sums[0], 0, NULL);
    if (mean) value = gpuc_div(ctx, value, gpuc_te_read(ctx, sums[1], 0, NULL));
    outs[0] = gpuc_topi_compute(ctx, "loss", "elemwise", 0, NULL, gpuc_cast(ctx, t, value));
}

static void infer_cross_entropy(gpuc_op_call *call)
{
    const gpuc_tensor_type *x = &call->in[0], *y = &call->in[1];
    if (x->ndim != 2 || y->ndim != 2)
        gpuc_topi_fail(call, "takes predictions and targets of 2 dimensions, not %d and %d", x->ndim,
                       y->ndim);
    for (int i = 0; i < 2; i++) gpuc_topi_same_dim(call, x->dims[i], y->dims[i], "predictions and targets");
    gpuc_topi_set_out(call, 0, x->dtype, 0, NULL);
}

/* - sum(y log x) / N; with_logits: x is the logarithm. */
static void cross_entropy_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    bool logits = strstr(call->op->name, "with_logits") != NULL;
    gpuc_iter *over[2];
    gpuc_expr vars[2];
    for (int i = 0; i < 2; i++) {
        over[i] = gpuc_te_reduce_axis(ctx, call->in[0].dims[i], "k");
        vars[i] = gpuc_iter_var(over[i]);
    }
    gpuc_expr x = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[0], 2, vars)),
              y = gpuc_topi_widen(ctx, gpuc_te_read(ctx, ins[1], 2, vars));
    gpuc_expr term = gpuc_mul(ctx, logits ? x : gpuc_call1(ctx, "log", x), y);
    gpuc_tensor *sum =
        gpuc_topi_compute(ctx, "sum", "reduce", 0, NULL, gpuc_te_reduce(ctx, "sum", term, 2, over));
    gpuc_expr total = gpuc_te_read(ctx, sum, 0, NULL);
    gpuc_dtype t = gpuc_expr_dtype(total);
    gpuc_expr mean =
        gpuc_div(ctx, gpuc_sub(ctx, gpuc_imm(ctx, t, 0), total), gpuc_cast(ctx, t, call->in[0].dims[0]));
    outs[0] = gpuc_topi_compute(ctx, "loss", "elemwise", 0, NULL, gpuc_cast(ctx, call->out[0].dtype, mean));
}

ATTRS(nll, STRING("reduction", "mean"), INT("ignore_index", -100))

const gpuc_op gpuc_topi_ops_loss[] = {
    ALONE("nn.nll_loss", 2, 3, nll, infer_nll, nll_compute, "nll_loss", "",
          "NegativeLogLikelihoodLoss,SoftmaxCrossEntropyLoss", GPUC_T_FLOATS, GPUC_T_INT32 | GPUC_T_INT64,
          GPUC_T_LIKE),
    ALONE("nn.cross_entropy", 2, 2, NULL, infer_cross_entropy, cross_entropy_compute, "cross_entropy", "", "",
          GPUC_T_FLOATS, GPUC_T_LIKE),
    ALONE("nn.cross_entropy_with_logits", 2, 2, NULL, infer_cross_entropy, cross_entropy_compute,
          "cross_entropy_with_logits", "", "", GPUC_T_FLOATS, GPUC_T_LIKE),
};
const size_t gpuc_topi_ops_loss_count = sizeof gpuc_topi_ops_loss / sizeof gpuc_topi_ops_loss[0];
