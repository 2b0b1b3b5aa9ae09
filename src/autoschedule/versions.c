/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which functions get two schedules. A product with one row is best as a product of a matrix and a
 * vector, one with many rows with tiles and panels; where the number of rows, columns or terms is known only
 * at run time, the function has both. */
#include <string.h>

#include "autoschedule/rules.h"

/* Adds the symbols of a product of them; false: it is none. */
static bool add_factors(gpuc_ctx *ctx, gpuc_expr e, gpuc_version *v)
{
    if (e->kind == GPUC_EXPR_VAR) {
        for (int i = 0; i < v->n; i++)
            if (v->symbols[i] == e) return true;
        if (v->n == GPUC_TOPI_VERSION_SYMBOLS) return false;
        v->symbols[v->n++] = e;
        return true;
    }
    if (e->kind != GPUC_EXPR_OP || gpuc_as_op(e)->op != GPUC_TIR_MUL) return false;
    return add_factors(ctx, gpuc_as_op(e)->a[0], v) && add_factors(ctx, gpuc_as_op(e)->a[1], v);
}

static bool is_same(const gpuc_version *a, const gpuc_version *b)
{
    return a->n == b->n && !memcmp(a->symbols, b->symbols, sizeof *a->symbols * (size_t)a->n);
}

static int add(gpuc_ctx *ctx, const gpuc_iter *axis, int n, gpuc_version *out)
{
    gpuc_version v = {.n = 0};
    if (n == GPUC_TOPI_VERSIONS || !add_factors(ctx, axis->extent, &v)) return n;
    for (int i = 0; i < n; i++)
        if (is_same(&out[i], &v)) return n;
    out[n] = v;
    return n + 1;
}

int gpuc_rules_versions(gpuc_ctx *ctx, int num_outputs, gpuc_tensor *const *outputs, gpuc_version *out)
{
    gpuc_ptrs ops = {0};
    int n = 0;
    gpuc_te_post_order(ctx, num_outputs, outputs, &ops);
    for (size_t i = 0; i < ops.count; i++) {
        const gpuc_te_op *op = ops.at[i];
        if (op->kind != GPUC_TE_COMPUTE || !gpuc_rules_is_matmul(op->outputs[0])) continue;
        if (op->num_axes > 1) n = add(ctx, op->axes[op->num_axes - 2], n, out);
        if (op->num_axes > 0) n = add(ctx, op->axes[op->num_axes - 1], n, out);
        if (op->num_reduce == 1) n = add(ctx, op->reduce[0], n, out);
    }
    return n;
}
