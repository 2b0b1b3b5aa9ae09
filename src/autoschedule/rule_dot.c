/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of small integers: some of them at a time, where the target has an instruction for that. */
#include "arith/arith.h"
#include "autoschedule/rules.h"

typedef struct find_operands {
    const gpuc_rules *r;
    gpuc_analyzer *a;
    gpuc_expr along; /* the axis that is summed */
    bool apart;      /* some operand is computed here, or its elements do not lie in a row along the axis */
    int n;
    gpuc_dtype type[2];
} find_operands;

/* Of the elements that go together. */
static bool is_in_row(const find_operands *f, const gpuc_tir_read_node *read)
{
    gpuc_ctx *ctx = f->r->ctx;
    int side = 32 / read->tensor->dtype.bits;
    if (side < 2 || read->n == 0 || !gpuc_tir_uses_var(ctx, read->index[read->n - 1], f->along)) return false;
    gpuc_expr first = gpuc_var(ctx, "first", GPUC_INDEX), one = gpuc_var(ctx, "one", GPUC_INDEX), step, rest;
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, first, gpuc_int(ctx, side)), one);
    gpuc_arith_analyzer_bind(f->a, one, gpuc_int(ctx, 0), gpuc_int(ctx, side));
    for (int i = 0; i < read->n; i++) {
        gpuc_expr index =
            gpuc_arith_simplify(f->a, gpuc_tir_substitute(ctx, read->index[i], 1, &f->along, &at));
        if (!gpuc_arith_linear(f->a, index, 1, &one, &step, &rest)) return false;
    }
    return true;
}

/* What is inlined is in the place of the read. */
static bool note_operand(gpuc_expr e, void *arg)
{
    find_operands *f = arg;
    if (e->kind != GPUC_EXPR_READ) return true;
    const gpuc_tir_read_node *read = gpuc_as_read(e);
    gpuc_stage *from = gpuc_schedule_stage(f->r->s, (gpuc_tensor *)read->tensor);
    if (gpuc_stage_get(from).attach == GPUC_ATTACH_INLINE) {
        e = gpuc_te_inlined(f->r->ctx, read->tensor->op, read);
        if (e->kind == GPUC_EXPR_READ) return note_operand(e, arg);
        f->apart = true;
        return false;
    }
    if (f->n < 2) f->type[f->n] = read->tensor->dtype;
    f->n++;
    if (!is_in_row(f, read)) f->apart = true;
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
    find_operands f = {
        .r = r, .a = gpuc_arith_analyzer_create(r->ctx), .along = op->reduce[op->num_reduce - 1]->var};
    gpuc_tir_visit(r->ctx, op->bodies[0], note_operand, &f);
    if (f.n != 2 || f.apart || !gpuc_dtype_equal(gpuc_te_dtype(op->outputs[0]), GPUC_INT32)) return NULL;
    const char *name = intrinsic_for(f.type);
    if (!name || !gpuc_target_has_dot(r->target, f.type[0].bits)) return NULL;
    int64_t each = 32 / f.type[0].bits, extent = gpuc_rules_extent(*last);
    if (extent == 0 || extent % each) return NULL;
    gpuc_stage_split(sum, *last, each, last, inside);
    return gpuc_tensor_intrin_find(r->ctx, name);
}
