/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of bool: masks of as many bits as the lanes of what they choose. */
#include "codegen/clike_parts.h"

int gpuc_clike_mask_bits(gpuc_clike *p, gpuc_expr e)
{
    switch (e->kind) {
    case GPUC_EXPR_OP: {
        const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
        if (gpuc_tir_ops[n->op].result == GPUC_TIR_ARM) return gpuc_clike_mask_bits(p, n->a[1]);
        if (gpuc_is_bool(n->a[0]->dtype)) return gpuc_clike_mask_bits(p, n->a[0]);
        return gpuc_clike_is_half(p, n->a[0]->dtype) ? 32 : n->a[0]->dtype.bits;
    }
    case GPUC_EXPR_VAR: {
        void *bits = gpuc_map_get(&p->mask_bits, e);
        return bits ? (int)(intptr_t)bits : 32;
    }
    case GPUC_EXPR_CAST: {
        gpuc_dtype from = gpuc_as_cast(e)->a->dtype;
        return gpuc_is_bool(from)            ? gpuc_clike_mask_bits(p, gpuc_as_cast(e)->a)
               : gpuc_clike_is_half(p, from) ? 32
                                             : from.bits;
    }
    case GPUC_EXPR_LOAD: return 8;
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_RAMP:
    case GPUC_EXPR_BROADCAST:
    case GPUC_EXPR_LANE:
    case GPUC_EXPR_VECTOR:
    case GPUC_EXPR_CALL:
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    return 32;
}

static gpuc_dtype mask_type(int bits, int lanes)
{
    return (gpuc_dtype){.code = GPUC_DTYPE_INT, .bits = (uint8_t)bits, .lanes = (uint16_t)lanes};
}

/* A vector from scalars of bool: 0 and -1 of the mask's type. */
static void mask_of_scalars(gpuc_clike *p, gpuc_expr e, int bits, int prec)
{
    gpuc_dtype t = mask_type(bits, 1);
    int lanes = e->dtype.lanes;
    gpuc_expr yes = gpuc_imm_int(p->ctx, t, -1), no = gpuc_imm_int(p->ctx, t, 0);
    if (e->kind == GPUC_EXPR_BROADCAST) {
        gpuc_expr one = gpuc_select(p->ctx, gpuc_as_broadcast(e)->a, yes, no);
        p->lang->broadcast(p, gpuc_tir_broadcast(p->ctx, one, lanes), prec);
        return;
    }
    gpuc_expr *a = gpuc_new_array(p->ctx, gpuc_expr, lanes);
    for (int i = 0; i < lanes; i++) a[i] = gpuc_select(p->ctx, gpuc_as_vector(e)->a[i], yes, no);
    p->lang->vector(p, gpuc_dtype_with_lanes(t, lanes), a);
}

static void mask_op(gpuc_clike *p, gpuc_expr e, int bits, int prec)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    if (n->op == GPUC_TIR_AND || n->op == GPUC_TIR_OR || gpuc_is_bool(n->a[0]->dtype)) {
        bool negate = n->op == GPUC_TIR_NOT || n->op == GPUC_TIR_EQ;
        int own = negate                  ? GPUC_PREC_UNARY
                  : n->op == GPUC_TIR_AND ? GPUC_PREC_AND
                  : n->op == GPUC_TIR_OR  ? GPUC_PREC_OR
                                          : GPUC_PREC_XOR;
        gpuc_clike_open(p, prec, own);
        if (negate) gpuc_put(p, "~");
        if (n->op == GPUC_TIR_NOT) {
            gpuc_clike_mask(p, n->a[0], bits, own);
        } else {
            if (negate) gpuc_put(p, "(");
            gpuc_clike_mask(p, n->a[0], bits, GPUC_PREC_UNARY);
            gpuc_put(p, n->op == GPUC_TIR_AND ? " & " : n->op == GPUC_TIR_OR ? " | " : " ^ ");
            gpuc_clike_mask(p, n->a[1], bits, GPUC_PREC_UNARY);
            if (negate) gpuc_put(p, ")");
        }
        gpuc_clike_close(p, prec, own);
        return;
    }
    if (n->op == GPUC_TIR_ISNAN || n->op == GPUC_TIR_ISINF)
        p->lang->vector_op(p, e, prec);
    else
        gpuc_clike_infix(p, n->op, n->a[0], n->a[1], prec, gpuc_clike_operand);
}

void gpuc_clike_mask(gpuc_clike *p, gpuc_expr e, int bits, int prec)
{
    gpuc_expr promoted = gpuc_clike_promoted(p, e);
    if (promoted != e) {
        gpuc_clike_mask(p, promoted, bits, prec);
        return;
    }
    if (e->kind == GPUC_EXPR_BROADCAST || e->kind == GPUC_EXPR_VECTOR) {
        mask_of_scalars(p, e, bits, prec);
        return;
    }
    bool logic = e->kind == GPUC_EXPR_OP && gpuc_is_bool(gpuc_as_op(e)->a[0]->dtype) &&
                 gpuc_tir_ops[gpuc_as_op(e)->op].result != GPUC_TIR_ARM;
    if (!logic && gpuc_clike_mask_bits(p, e) != bits) {
        p->lang->widen_mask(p, e, bits, prec);
        return;
    }
    if (e->kind == GPUC_EXPR_OP && gpuc_tir_ops[gpuc_as_op(e)->op].result != GPUC_TIR_ARM) {
        mask_op(p, e, bits, prec);
        return;
    }
    switch (e->kind) {
    case GPUC_EXPR_OP: gpuc_clike_choice(p, e, prec); return;
    case GPUC_EXPR_LOAD: p->lang->load(p, e, prec); return;
    case GPUC_EXPR_CAST: p->lang->cast(p, e, prec); return;
    case GPUC_EXPR_VAR: gpuc_put(p, "%s", gpuc_clike_var(p, e)); return;
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_RAMP:
    case GPUC_EXPR_BROADCAST:
    case GPUC_EXPR_LANE:
    case GPUC_EXPR_VECTOR:
    case GPUC_EXPR_CALL:
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    gpuc_raise(p->ctx, GPUC_INTERNAL, "kernel '%s': no mask for %s", p->func->name,
               gpuc_expr_text(p->ctx, e));
}
