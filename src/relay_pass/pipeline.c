/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which builds run passes over a Relay module. */
#include <string.h>

#include "relay_pass/passes.h"

/* clang-format off */
#define PASS(name) GPUC_RELAY_PASS_ID_##name
static const gpuc_relay_pass_id shared_passes[] = {
    PASS(read_extents),             /* gives dyn operators definitions */
    PASS(collect_conditions),       /* of the model as it is */
    PASS(fold_constant),            /* folds weights that the graph computes, and shapes */
    PASS(simplify_inference),       /* later passes know arithmetic only */
    PASS(simplify_expr),
    PASS(flatten_atrous_conv),      /* after: quantised convolutions are known by now */
    PASS(fold_scale_axis),          /* wants folded operands beside the products */
    PASS(fold_constant),            /* scaled weights, which are constants for what follows */
    PASS(fourier),
    PASS(einsum),                   /* before what looks for products */
    PASS(channels_first),           /* after: factors meet convolutions without transpositions between them */
    PASS(transposed_conv),          /* after: scale folding knows convolutions by name */
    PASS(flatten_pointwise),        /* after: and by rank */
    PASS(transpose_dense),
    PASS(simplify_expr),            /* the reshapes that now meet */
    PASS(fold_constant),            /* transposed weights */
    PASS(eliminate_common_subexpr),
    PASS(dead_code),
};

static const gpuc_relay_pass_id target_passes[] = {
    PASS(widen_floats),             /* first: the others choose by type */
    PASS(limit_arguments),          /* needed for correctness: what one kernel can bind */
    PASS(fuse_attention),           /* before products get layouts of their own */
    PASS(winograd),                 /* the same */
    PASS(alter_op_layout),          /* after: weights are packed */
    PASS(alter_kernel_layout),      /* after: weights are cut along output channels */
    PASS(fold_constant),            /* weights that were cut */
    PASS(copy_outputs),             /* after folding, which would undo it */
    PASS(share_bindings),           /* the same */
    PASS(fuse_ops),                 /* at level 0 every operator is a group of its own */
    PASS(concat_in_place),          /* after: what is fused stores */
};
/* clang-format on */

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static bool disabled(const gpuc_relay_pass_ctx *p, const char *name)
{
    for (int i = 0; i < p->num_disabled; i++)
        if (!strcmp(p->disabled[i], name)) return true;
    return false;
}

static void run_all(gpuc_relay_pass_ctx *p, const gpuc_relay_pass_id *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const gpuc_relay_pass *pass = &gpuc_relay_pass_table[ids[i]];
        if (p->opt_level >= pass->level && !disabled(p, pass->name)) gpuc_relay_pass_run(p, pass, NULL);
    }
    gpuc_tir_rule_print(p->ctx, "main");
}

void gpuc_relay_pass_optimize(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_name_sizes(p->module);
    run_all(p, shared_passes, COUNT(shared_passes));
}

void gpuc_relay_pass_optimize_for_target(gpuc_relay_pass_ctx *p)
{
    run_all(p, target_passes, COUNT(target_passes));
}
