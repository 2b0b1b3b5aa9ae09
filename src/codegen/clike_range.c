/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds floats by the comparisons that chose them: a conversion of a bounded float need not saturate. */
#include <math.h>

#include "codegen/clike.h"

typedef struct range {
    double min, max;
    bool nan; /* it may be that */
} range;

enum { MAX_SELECTS = 4 /* max nested selects that are looked at; a clamp has three */ };

static range range_of(gpuc_clike *p, gpuc_expr e, int selects);

static bool is_op(gpuc_expr e, gpuc_tir_op op)
{
    return e->kind == GPUC_EXPR_OP && gpuc_as_op(e)->op == op;
}

/* A comparison that holds says that neither side is NaN. */
static range range_of_select(gpuc_clike *p, const gpuc_tir_opexpr_node *n, int selects)
{
    gpuc_expr cond = n->a[0];
    range yes = range_of(p, n->a[1], selects), no = range_of(p, n->a[2], selects);
    if (is_op(cond, GPUC_TIR_LT)) {
        gpuc_expr a = gpuc_as_op(cond)->a[0], b = gpuc_as_op(cond)->a[1];
        if (n->a[1] == a) yes = (range){yes.min, fmin(yes.max, range_of(p, b, selects).max), false};
        if (n->a[1] == b) yes = (range){fmax(yes.min, range_of(p, a, selects).min), yes.max, false};
        /* It does not hold of a NaN, either. */
        range of_a = range_of(p, a, selects), of_b = range_of(p, b, selects);
        if (n->a[2] == a && !of_b.nan) no.min = fmax(no.min, of_b.min);
        if (n->a[2] == b && !of_a.nan) no.max = fmin(no.max, of_a.max);
    }
    bool is_nan = is_op(cond, GPUC_TIR_ISNAN) ||
                  (is_op(cond, GPUC_TIR_NE) && gpuc_as_op(cond)->a[0] == gpuc_as_op(cond)->a[1]);
    if (is_nan && n->a[2] == gpuc_as_op(cond)->a[0]) no.nan = false;
    return (range){fmin(yes.min, no.min), fmax(yes.max, no.max), yes.nan || no.nan};
}

static range range_of(gpuc_clike *p, gpuc_expr e, int selects)
{
    const range any = {-INFINITY, INFINITY, true};
    if (e->kind == GPUC_EXPR_BROADCAST) return range_of(p, gpuc_as_broadcast(e)->a, selects);
    if (e->kind == GPUC_EXPR_VAR) {
        gpuc_expr value = gpuc_map_get(&p->data_vars, e);
        return value ? range_of(p, value, selects) : any;
    }
    if (e->kind == GPUC_EXPR_FLOAT && !isnan(gpuc_as_float(e)->value))
        return (range){gpuc_as_float(e)->value, gpuc_as_float(e)->value, false};
    if (is_op(e, GPUC_TIR_FLOOR) || is_op(e, GPUC_TIR_CEIL) || is_op(e, GPUC_TIR_ROUND) ||
        is_op(e, GPUC_TIR_TRUNC)) {
        range r = range_of(p, gpuc_as_op(e)->a[0], selects);
        return (range){floor(r.min), ceil(r.max), r.nan};
    }
    if (!is_op(e, GPUC_TIR_SELECT) || selects == MAX_SELECTS) return any;
    return range_of_select(p, gpuc_as_op(e), selects + 1);
}

bool gpuc_clike_fits(gpuc_clike *p, gpuc_dtype to, gpuc_expr a)
{
    if (to.bits > 32) return false; /* a double does not tell its last number from the next */
    bool is_signed = to.code == GPUC_DTYPE_INT;
    double end = ldexp(1, to.bits - is_signed);
    range r = range_of(p, a, 0);
    return !r.nan && r.min >= (is_signed ? -end : 0) && r.max <= end - 1;
}
