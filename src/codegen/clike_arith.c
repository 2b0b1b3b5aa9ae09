/* SPDX-License-Identifier: Apache-2.0 */
/* Integer arithmetic that wraps, and division, in languages where neither is defined for all operands. */
#include <inttypes.h>

#include "codegen/clike_parts.h"

/* ---- Wrapping integers ----------------------------------------------------------------------------- */

typedef struct uses_data {
    gpuc_clike *p;
    bool found;
} uses_data;

static bool find_data(gpuc_expr e, void *arg)
{
    uses_data *u = arg;
    if (e->kind == GPUC_EXPR_VAR && gpuc_map_has(&u->p->data_vars, e)) u->found = true;
    return !u->found;
}

bool gpuc_clike_is_index(gpuc_clike *p, gpuc_expr e)
{
    if (!(e->flags & GPUC_TIR_IS_INDEX)) return false;
    if (p->data_vars.count == 0) return true;
    uses_data u = {.p = p};
    gpuc_tir_visit(p->ctx, e, find_data, &u);
    return !u.found;
}

static bool may_wrap(gpuc_tir_op op)
{
    return op == GPUC_TIR_ADD || op == GPUC_TIR_SUB || op == GPUC_TIR_MUL;
}

/* e as an unsigned value of the same bits: sums and products of it need one conversion back only. */
void gpuc_clike_as_unsigned(gpuc_clike *p, gpuc_expr e, int prec)
{
    gpuc_dtype t = e->dtype;
    int64_t v;
    if (e->kind == GPUC_EXPR_BROADCAST && p->lang->splats(p, e->dtype)) {
        gpuc_clike_as_unsigned(p, gpuc_as_broadcast(e)->a, prec);
    } else if (e->kind == GPUC_EXPR_OP && may_wrap(gpuc_as_op(e)->op) && !gpuc_clike_is_index(p, e)) {
        gpuc_clike_infix(p, gpuc_as_op(e)->op, gpuc_as_op(e)->a[0], gpuc_as_op(e)->a[1], prec,
                         gpuc_clike_as_unsigned);
    } else if (gpuc_expr_is_int(e, &v) && v >= 0 && v <= INT32_MAX && t.bits >= 32) {
        gpuc_put(p, "%" PRId64 "%s", v, t.bits == 32 ? "u" : "");
    } else if (t.lanes > 1) {
        p->lang->bitcast(p, gpuc_clike_unsigned_of(t), e, prec, gpuc_clike_expr);
    } else {
        gpuc_clike_open(p, prec, GPUC_PREC_UNARY);
        gpuc_put(p, "(");
        p->lang->type(p, gpuc_clike_unsigned_of(t));
        gpuc_put(p, ")");
        gpuc_clike_expr(p, e, GPUC_PREC_UNARY);
        gpuc_clike_close(p, prec, GPUC_PREC_UNARY);
    }
}

/* int8 and int16 are computed in int, where uint16 * uint16 could overflow. */
static void print_small(gpuc_clike *p, gpuc_tir_op op, const gpuc_expr *a, gpuc_dtype t, int prec)
{
    gpuc_clike_open(p, prec, GPUC_PREC_UNARY);
    gpuc_put(p, "(");
    p->lang->type(p, t);
    gpuc_put(p, ")(");
    if (op == GPUC_TIR_MUL && t.bits == 16 && t.code == GPUC_DTYPE_UINT) {
        gpuc_put(p, "1u * ");
        gpuc_clike_plain(p, a[0], GPUC_PREC_MUL + 1);
        gpuc_put(p, " * ");
        gpuc_clike_plain(p, a[1], GPUC_PREC_MUL + 1);
    } else {
        gpuc_clike_infix(p, op, a[0], a[1], GPUC_PREC_COMMA, gpuc_clike_plain);
    }
    gpuc_put(p, ")");
    gpuc_clike_close(p, prec, GPUC_PREC_UNARY);
}

static void unsigned_root(gpuc_clike *p, gpuc_expr e, int prec)
{
    gpuc_clike_infix(p, gpuc_as_op(e)->op, gpuc_as_op(e)->a[0], gpuc_as_op(e)->a[1], prec,
                     gpuc_clike_as_unsigned);
}

void gpuc_clike_arithmetic(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    gpuc_dtype t = e->dtype;
    if (gpuc_is_integer(t) && t.lanes == 1 && t.bits < 32) {
        print_small(p, n->op, n->a, t, prec);
    } else if (t.code == GPUC_DTYPE_INT && !gpuc_clike_is_index(p, e)) {
        if (t.lanes > 1) {
            p->lang->bitcast(p, t, e, prec, unsigned_root);
            return;
        }
        gpuc_clike_open(p, prec, GPUC_PREC_UNARY);
        gpuc_put(p, "(");
        p->lang->type(p, t);
        gpuc_put(p, ")");
        unsigned_root(p, e, GPUC_PREC_UNARY);
        gpuc_clike_close(p, prec, GPUC_PREC_UNARY);
    } else {
        gpuc_clike_infix(p, n->op, n->a[0], n->a[1], prec, gpuc_clike_operand);
    }
}

/* ---- Division ------------------------------------------------------------------------------------- */

/* The language's / and % do what is asked: no zero, no MIN / -1, and for floor no negative operand. */
static bool divides_plainly(gpuc_clike *p, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    if (a->dtype.lanes > 1) return false;
    int64_t v;
    bool is_const = gpuc_expr_is_int(b, &v);
    if (is_const && v == 0) return false;
    if (a->dtype.code == GPUC_DTYPE_UINT) return is_const;
    gpuc_bounds y = gpuc_arith_analyzer_bounds(p->analyzer, b);
    bool positive = y.min > 0;
    if (op == GPUC_TIR_DIV || op == GPUC_TIR_MOD) return positive || (is_const && v != -1);
    return positive && gpuc_arith_analyzer_bounds(p->analyzer, a).min >= 0;
}

void gpuc_clike_division(gpuc_clike *p, gpuc_expr e, int prec)
{
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    static const char *const rows[] = {[GPUC_TIR_DIV] = "div",
                                       [GPUC_TIR_MOD] = "mod",
                                       [GPUC_TIR_FLOORDIV] = "floordiv",
                                       [GPUC_TIR_FLOORMOD] = "floormod"};
    gpuc_tir_op op = n->op;
    if (divides_plainly(p, op, n->a[0], n->a[1])) {
        gpuc_tir_op plain = op == GPUC_TIR_FLOORDIV   ? GPUC_TIR_DIV
                            : op == GPUC_TIR_FLOORMOD ? GPUC_TIR_MOD
                                                      : op;
        gpuc_clike_infix(p, plain, n->a[0], n->a[1], prec, gpuc_clike_plain);
        return;
    }
    if (e->dtype.code == GPUC_DTYPE_UINT)
        op = op == GPUC_TIR_FLOORDIV ? GPUC_TIR_DIV : op == GPUC_TIR_FLOORMOD ? GPUC_TIR_MOD : op;
    gpuc_clike_call(p, rows[op], e->dtype, 2, n->a);
}
