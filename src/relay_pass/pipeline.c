/* SPDX-License-Identifier: Apache-2.0 */
/* The order of passes over a Relay module. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "relay_pass/passes.h"

static const gpuc_relay_pass shared_passes[] = {
    {"collect_conditions", gpuc_relay_pass_collect_conditions, 0}, /* of the model as it is */
    {"fold_constant", gpuc_relay_pass_fold_constant,
     0}, /* folds weights that the graph computes, and shapes */
    {"simplify_inference", gpuc_relay_pass_simplify_inference, 0}, /* later passes know arithmetic only */
    {"simplify_expr", gpuc_relay_pass_simplify_expr, 1},
    {"fold_scale_axis", gpuc_relay_pass_fold_scale_axis, 2}, /* wants folded operands beside the products */
    {"fold_constant", gpuc_relay_pass_fold_constant,
     0}, /* scaled weights, which are constants for what follows */
    {"fourier", gpuc_relay_pass_fourier, 2},
    {"einsum", gpuc_relay_pass_einsum, 1}, /* before what looks for products */
    {"transposed_conv", gpuc_relay_pass_transposed_conv,
     2}, /* after: scale folding knows convolutions by name */
    {"flatten_pointwise", gpuc_relay_pass_flatten_pointwise, 2}, /* after: and by rank */
    {"transpose_dense", gpuc_relay_pass_transpose_dense, 1},
    {"simplify_expr", gpuc_relay_pass_simplify_expr, 1}, /* the reshapes that now meet */
    {"fold_constant", gpuc_relay_pass_fold_constant, 0}, /* transposed weights */
    {"eliminate_common_subexpr", gpuc_relay_pass_eliminate_common_subexpr, 2},
    {"dead_code", gpuc_relay_pass_dead_code, 1},
};

static const gpuc_relay_pass target_passes[] = {
    {"widen_floats", gpuc_relay_pass_widen_floats, 1}, /* first: the others choose by type */
    {"limit_arguments", gpuc_relay_pass_limit_arguments,
     0}, /* needed for correctness: what one kernel can bind */
    {"fuse_attention", gpuc_relay_pass_fuse_attention, 1},   /* before products get layouts of their own */
    {"winograd", gpuc_relay_pass_winograd, 2},               /* the same */
    {"alter_op_layout", gpuc_relay_pass_alter_op_layout, 2}, /* after: weights are packed */
    {"alter_kernel_layout", gpuc_relay_pass_alter_kernel_layout,
     2},                                                   /* after: weights are cut along output channels */
    {"fold_constant", gpuc_relay_pass_fold_constant, 0},   /* weights that were cut */
    {"copy_outputs", gpuc_relay_pass_copy_outputs, 0},     /* after folding, which would undo it */
    {"share_bindings", gpuc_relay_pass_share_bindings, 0}, /* the same */
    {"fuse_ops", gpuc_relay_pass_fuse_ops, 0}, /* at level 0 every operator is a group of its own */
    {"concat_in_place", gpuc_relay_pass_concat_in_place, 2}, /* after: what is fused stores */
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static bool disabled(const gpuc_relay_pass_ctx *p, const char *name)
{
    for (int i = 0; i < p->num_disabled; i++)
        if (!strcmp(p->disabled[i], name)) return true;
    return false;
}

static void dump(gpuc_relay_pass_ctx *p, const char *after)
{
    gpuc_buf text;
    gpuc_buf_init(&text, p->ctx->allocator);
    gpuc_relay_print(p->ctx, &text, p->module, GPUC_RELAY_PRINT_TYPES, NULL);
    fprintf(stderr, "# relay after %s\n%s", after, gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
}

void gpuc_relay_pass_run(gpuc_relay_pass_ctx *p, const gpuc_relay_pass *passes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p->opt_level < passes[i].level || disabled(p, passes[i].name)) continue;
        gpuc_rexpr *before = gpuc_strmap_get(&p->module->functions, "main");
        passes[i].run(p);
        bool changed = before != gpuc_strmap_get(&p->module->functions, "main");
        if (changed && p->ctx->debug & GPUC_DEBUG_RELAY) dump(p, passes[i].name);
        if (gpuc_ctx_validates(p->ctx)) gpuc_relay_validate(p->ctx, p->module, passes[i].name);
    }
}

void gpuc_relay_pass_optimize(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_run(p, shared_passes, COUNT(shared_passes));
    gpuc_tir_rule_print(p->ctx, "main");
}

void gpuc_relay_pass_optimize_for_target(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_run(p, target_passes, COUNT(target_passes));
    gpuc_tir_rule_print(p->ctx, "main");
}

bool gpuc_relay_pass_exists(const char *name)
{
    for (size_t i = 0; i < COUNT(shared_passes); i++)
        if (!strcmp(shared_passes[i].name, name)) return true;
    for (size_t i = 0; i < COUNT(target_passes); i++)
        if (!strcmp(target_passes[i].name, name)) return true;
    return false;
}

const char *gpuc_relay_pass_nearest(const char *name)
{
    const char *names[COUNT(shared_passes) + COUNT(target_passes)];
    size_t n = 0;
    for (size_t i = 0; i < COUNT(shared_passes); i++) names[n++] = shared_passes[i].name;
    for (size_t i = 0; i < COUNT(target_passes); i++) names[n++] = target_passes[i].name;
    return gpuc_suggest(name, names, n);
}
