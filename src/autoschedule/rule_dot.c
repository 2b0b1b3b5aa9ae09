/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of small integers: some of them at a time, where the target has an instruction for that. */
#include "autoschedule/rules.h"

typedef struct find_operands {
    gpuc_ctx *ctx;
    gpuc_expr along; /* the axis that is summed */
    bool apart;      /* some operand's elements do not lie side by side along it */
    int n;
    gpuc_dtype type[2];
} find_operands;

static bool note_operand(gpuc_expr e, void *arg)
{
    find_operands *f = arg;
    if (e->kind != GPUC_EXPR_READ) return true;
    const gpuc_tir_read_node *r = gpuc_as_read(e);
    if (f->n < 2) f->type[f->n] = r->tensor->dtype;
    f->n++;
    if (r->n == 0 || !gpuc_tir_uses_var(f->ctx, r->index[r->n - 1], f->along)) f->apart = true;
    return true;
}

/* By the types of both factors, in any order. */
static const char *intrinsic_for(const gpuc_dtype *type)
{
    static const struct {
        const char *name;
        gpuc_dtype a, b;
    } rows[] = {
        {"dot_i8", GPUC_INT8, GPUC_INT8},
        {"dot_u8i8", GPUC_UINT8, GPUC_INT8},
        {"dot_u8", GPUC_UINT8, GPUC_UINT8},
        {"dot_i16", GPUC_INT16, GPUC_INT16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int k = 0; k < 2; k++)
            if (gpuc_dtype_equal(rows[i].a, type[k]) && gpuc_dtype_equal(rows[i].b, type[1 - k]))
                return rows[i].name;
    return NULL;
}

const gpuc_tensor_intrin *gpuc_rules_dot(const gpuc_rules *r, gpuc_stage *sum, gpuc_iter **last,
                                         gpuc_iter **inside)
{
    const gpuc_te_op *op = gpuc_stage_tensor(sum, 0)->op;
    find_operands f = {.ctx = r->ctx, .along = op->reduce[op->num_reduce - 1]->var};
    gpuc_tir_visit(r->ctx, op->bodies[0], note_operand, &f);
    if (f.n != 2 || f.apart || !gpuc_dtype_equal(gpuc_te_dtype(op->outputs[0]), GPUC_INT32)) return NULL;
    const char *name = intrinsic_for(f.type);
    if (!name || !gpuc_target_has_dot(r->target, f.type[0].bits)) return NULL;
    int64_t each = 32 / f.type[0].bits, extent = gpuc_rules_extent(*last);
    if (extent == 0 || extent % each) return NULL;
    gpuc_stage_split(sum, *last, each, last, inside);
    return gpuc_tensor_intrin_find(r->ctx, name);
}
