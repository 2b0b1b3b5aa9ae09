/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over Relay modules, in pipeline order (the table is in pipeline.c). */
#ifndef GPUC_RELAY_PASS_PASSES_H
#define GPUC_RELAY_PASS_PASSES_H

#include "relay/evaluate.h"
#include "target/target.h"
#include "tir/rules.h"

typedef struct gpuc_relay_pass_ctx {
    gpuc_ctx *ctx;
    gpuc_rmodule *module;
    const gpuc_target *target; /* NULL in the part that all targets share */
    int opt_level;
    const char *const *disabled;
    int num_disabled;
    int64_t fold_limit;       /* bytes that constants computed by folding may take */
    gpuc_relay_budget budget; /* what is left of it, since the first folding */
    bool keep_constants;      /* another target still needs them: folding frees none */
} gpuc_relay_pass_ctx;

typedef struct gpuc_relay_pass {
    const char *name;
    void (*run)(gpuc_relay_pass_ctx *p);
    int level; /* runs from this -O level on */
} gpuc_relay_pass;

/* Runs n passes in order, and checks the program after each where programs are checked (gpuc_ctx_validates). */
void gpuc_relay_pass_run(gpuc_relay_pass_ctx *p, const gpuc_relay_pass *passes, size_t n);
/* The part that no target changes: run once per model. */
void gpuc_relay_pass_optimize(gpuc_relay_pass_ctx *p);
/* The part that asks the target; after it main calls primitive functions only. */
void gpuc_relay_pass_optimize_for_target(gpuc_relay_pass_ctx *p);
bool gpuc_relay_pass_exists(const char *name);
const char *gpuc_relay_pass_nearest(const char *name);

/* Conditions on sizes that only a run can check are noted in the module. */
void gpuc_relay_pass_collect_conditions(gpuc_relay_pass_ctx *p);
/* Replaces batch_norm, dropout and similar operators by arithmetic. */
void gpuc_relay_pass_simplify_inference(gpuc_relay_pass_ctx *p);
/* Computes operators whose operands are constants, by the evaluator, and frees constants that nothing uses
 * any more. It is an error if folded constants take more than fold_limit bytes beyond those of the model.
 * What would take the evaluator minutes stays an operator. */
void gpuc_relay_pass_fold_constant(gpuc_relay_pass_ctx *p);
/* A multiplication or addition of constants per channel after a convolution or dense moves into its weights
 * and bias. */
void gpuc_relay_pass_fold_scale_axis(gpuc_relay_pass_ctx *p);
/* Drops operators that change nothing or undo each other: reshape of reshape, transpose of transpose, cast to
 * the same type, empty pad. */
void gpuc_relay_pass_simplify_expr(gpuc_relay_pass_ctx *p);
const gpuc_rule_table *const *gpuc_relay_pass_simplify_rules(void); /* for gpuc_tir_rule_name */
/* Transposed convolutions with constant weights become convolutions whose channels are neighbouring outputs.
 */
void gpuc_relay_pass_transposed_conv(gpuc_relay_pass_ctx *p);
/* Fourier transforms become products with constant matrices (the transformed axis must have a known extent). */
void gpuc_relay_pass_fourier(gpuc_relay_pass_ctx *p);
/* einsum and tensordot become transpositions, sums and products of matrices, unless only a run knows whether a dimension
 * broadcasts. */
void gpuc_relay_pass_einsum(gpuc_relay_pass_ctx *p);
/* Convolutions with a kernel of one element are computed over [N, C, row]; elementwise followers too. */
void gpuc_relay_pass_flatten_pointwise(gpuc_relay_pass_ctx *p);
/* dense with a constant weight becomes matmul with the weight transposed. */
void gpuc_relay_pass_transpose_dense(gpuc_relay_pass_ctx *p);
/* Merges equal calls. */
void gpuc_relay_pass_eliminate_common_subexpr(gpuc_relay_pass_ctx *p);
/* Drops unused lets and functions, and reads of sizes whose value is never used. (A DAG has no unused
 * expressions.) */
void gpuc_relay_pass_dead_code(gpuc_relay_pass_ctx *p);
/* Computes float16 and bfloat16 in float32 on processors without arithmetic for them. */
void gpuc_relay_pass_widen_floats(gpuc_relay_pass_ctx *p);
/* Calls with more tensors than the target binds to one kernel are cut (concatenate of many inputs). */
void gpuc_relay_pass_limit_arguments(gpuc_relay_pass_ctx *p);
/* softmax(Q K^T) V becomes one operator where one kernel costs less. */
void gpuc_relay_pass_fuse_attention(gpuc_relay_pass_ctx *p);
/* Convolutions with small windows become Winograd's where that takes less time. */
void gpuc_relay_pass_winograd(gpuc_relay_pass_ctx *p);
/* Convolutions, and what is behind them, are computed with channels last where vectors run along them. */
void gpuc_relay_pass_alter_op_layout(gpuc_relay_pass_ctx *p);
/* Constant convolution weights are stored in the layout that the target's schedules load best. */
void gpuc_relay_pass_alter_kernel_layout(gpuc_relay_pass_ctx *p);
/* Outputs that are inputs or constants are copied by a kernel: they get memory of their own. */
void gpuc_relay_pass_copy_outputs(gpuc_relay_pass_ctx *p);
/* Tensors of a call that share a binding lie in one buffer. */
void gpuc_relay_pass_share_bindings(gpuc_relay_pass_ctx *p);
/* Groups operators into primitive functions by dominator tree (Roesch et al. 2019, section 4.4). */
void gpuc_relay_pass_fuse_ops(gpuc_relay_pass_ctx *p);
/* Concatenations of what products and convolutions compute for nothing else move no bytes: those calls get a
 * place, which tells them where in the whole to store. */
void gpuc_relay_pass_concat_in_place(gpuc_relay_pass_ctx *p);

#endif
