/* SPDX-License-Identifier: Apache-2.0 */
/* Folds constants and trivial identities while expressions are built. */
#include "tir/fold.h"

#include <math.h>

#include "tir/tir.h"

bool gpuc_tir_const_get(gpuc_expr e, gpuc_tir_value *out)
{
    if (e->kind == GPUC_EXPR_BROADCAST) e = gpuc_as_broadcast(e)->a;
    if (e->kind == GPUC_EXPR_INT) {
        out->i = gpuc_as_int(e)->value;
        return true;
    }
    if (e->kind == GPUC_EXPR_FLOAT) {
        out->f = gpuc_as_float(e)->value;
        return true;
    }
    return false;
}

static bool is_const(gpuc_expr e)
{
    gpuc_tir_value v;
    return gpuc_tir_const_get(e, &v);
}

static bool const_int(gpuc_expr e, int64_t *out)
{
    gpuc_tir_value v;
    if (gpuc_is_float(e->dtype) || !gpuc_tir_const_get(e, &v)) return false;
    *out = v.i;
    return true;
}

static gpuc_expr int_of(gpuc_ctx *ctx, gpuc_dtype t, int64_t value)
{
    return gpuc_imm_int(ctx, t, value);
}

static gpuc_expr make(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, op, a, b, NULL);
}

static bool droppable(gpuc_expr e)
{
    return !(e->flags & GPUC_TIR_HAS_EFFECT);
}

static const gpuc_tir_opexpr_node *as_binary(gpuc_expr e, gpuc_tir_op op)
{
    return e->kind == GPUC_EXPR_OP && gpuc_as_op(e)->op == op ? gpuc_as_op(e) : NULL;
}

static int64_t wrapped_sum(gpuc_dtype t, int64_t a, int64_t b)
{
    return gpuc_tir_wrap(t, (int64_t)((uint64_t)a + (uint64_t)b));
}

static int64_t wrapped_difference(gpuc_dtype t, int64_t a, int64_t b)
{
    return gpuc_tir_wrap(t, (int64_t)((uint64_t)a - (uint64_t)b));
}

static int64_t smallest(gpuc_dtype t)
{
    if (t.code != GPUC_DTYPE_INT) return 0;
    return (int64_t)(UINT64_MAX << (t.bits - 1));
}

static int64_t largest(gpuc_dtype t)
{
    if (gpuc_is_bool(t)) return 1;
    return t.code == GPUC_DTYPE_INT ? ~smallest(t) : gpuc_tir_wrap(t, -1);
}

/* ---- Sums ------------------------------------------------------------------------------------- */

static gpuc_expr fold_add_const(gpuc_ctx *ctx, gpuc_expr x, int64_t c)
{
    gpuc_dtype t = x->dtype;
    const gpuc_tir_opexpr_node *n;
    int64_t c1;
    if (c == 0) return x;
    if ((n = as_binary(x, GPUC_TIR_ADD)) && const_int(n->a[1], &c1))
        return make(ctx, GPUC_TIR_ADD, n->a[0], int_of(ctx, t, wrapped_sum(t, c1, c)));
    if ((n = as_binary(x, GPUC_TIR_SUB)) && const_int(n->a[0], &c1))
        return make(ctx, GPUC_TIR_SUB, int_of(ctx, t, wrapped_sum(t, c1, c)), n->a[1]);
    return NULL;
}

/* 0 - y, as y. */
static gpuc_expr negated(gpuc_expr e)
{
    int64_t zero;
    const gpuc_tir_opexpr_node *n = as_binary(e, GPUC_TIR_SUB);
    return n && const_int(n->a[0], &zero) && zero == 0 ? n->a[1] : NULL;
}

static gpuc_expr fold_int_add(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr y)
{
    int64_t c;
    if (const_int(y, &c)) return fold_add_const(ctx, x, c);
    if (negated(y)) return make(ctx, GPUC_TIR_SUB, x, negated(y));
    return NULL;
}

static gpuc_expr fold_int_sub(gpuc_ctx *ctx, gpuc_expr x, gpuc_expr y)
{
    gpuc_dtype t = x->dtype;
    const gpuc_tir_opexpr_node *n;
    int64_t c, c1;
    if (const_int(y, &c)) return make(ctx, GPUC_TIR_ADD, x, int_of(ctx, t, wrapped_difference(t, 0, c)));
    if (x == y && droppable(x)) return int_of(ctx, t, 0);
    if (const_int(x, &c)) {
        if ((n = as_binary(y, GPUC_TIR_ADD)) && const_int(n->a[1], &c1))
            return make(ctx, GPUC_TIR_SUB, int_of(ctx, t, wrapped_difference(t, c, c1)), n->a[0]);
        if ((n = as_binary(y, GPUC_TIR_SUB)) && const_int(n->a[0], &c1))
            return make(ctx, GPUC_TIR_ADD, n->a[1], int_of(ctx, t, wrapped_difference(t, c, c1)));
    }
    if (negated(y)) return make(ctx, GPUC_TIR_ADD, x, negated(y));
    return NULL;
}

/* ---- Other integer operators -------------------------------------------------------------------- */

/* op(op(x, c1), c2) is op(x, op(c1, c2)) where op associates. */
static gpuc_expr fold_chain(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, gpuc_expr c)
{
    const gpuc_tir_opexpr_node *n = as_binary(x, op);
    if (!n || !is_const(n->a[1])) return NULL;
    return make(ctx, op, n->a[0], make(ctx, op, n->a[1], c));
}

static gpuc_expr fold_int_const_right(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, int64_t c, gpuc_expr y)
{
    gpuc_dtype t = x->dtype;
    bool drop = droppable(x), minus_one = c == gpuc_tir_wrap(t, -1) && t.code == GPUC_DTYPE_INT;
    if (op == GPUC_TIR_MUL) {
        if (c == 1) return x;
        if (c == 0 && drop) return y;
    } else if (op == GPUC_TIR_DIV || op == GPUC_TIR_FLOORDIV) {
        if (c == 1) return x;
        if (c == 0 && drop) return y;
    } else if (op == GPUC_TIR_MOD || op == GPUC_TIR_FLOORMOD) {
        if ((c == 0 || c == 1 || minus_one) && drop) return int_of(ctx, t, 0);
    } else if (op == GPUC_TIR_MIN) {
        if (c == largest(t)) return x;
        if (c == smallest(t) && drop) return y;
    } else if (op == GPUC_TIR_MAX) {
        if (c == smallest(t)) return x;
        if (c == largest(t) && drop) return y;
    } else if (op == GPUC_TIR_BITAND) {
        if (c == gpuc_tir_wrap(t, -1)) return x;
        if (c == 0 && drop) return y;
    } else if (op == GPUC_TIR_BITOR) {
        if (c == 0) return x;
        if (c == gpuc_tir_wrap(t, -1) && drop) return y;
    } else if (op == GPUC_TIR_BITXOR || op == GPUC_TIR_SHL || op == GPUC_TIR_SHR) {
        if (c == 0) return x;
        if (op == GPUC_TIR_SHL && (c < 0 || c >= t.bits) && drop) return int_of(ctx, t, 0);
    }
    return NULL;
}

static gpuc_expr fold_int_const_left(gpuc_ctx *ctx, gpuc_tir_op op, int64_t c, gpuc_expr x, gpuc_expr y)
{
    (void)ctx;
    bool zero_stays = op == GPUC_TIR_DIV || op == GPUC_TIR_FLOORDIV || op == GPUC_TIR_MOD ||
                      op == GPUC_TIR_FLOORMOD || op == GPUC_TIR_SHL || op == GPUC_TIR_SHR;
    return c == 0 && zero_stays && droppable(y) ? x : NULL;
}

static gpuc_expr fold_int_same(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x)
{
    if (!droppable(x)) return NULL;
    if (op == GPUC_TIR_MIN || op == GPUC_TIR_MAX || op == GPUC_TIR_BITAND || op == GPUC_TIR_BITOR ||
        op == GPUC_TIR_AND || op == GPUC_TIR_OR)
        return x;
    if (op == GPUC_TIR_BITXOR || op == GPUC_TIR_MOD || op == GPUC_TIR_FLOORMOD)
        return int_of(ctx, x->dtype, 0);
    return NULL;
}

static gpuc_expr fold_int(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    int64_t c;
    gpuc_expr r = NULL;
    if (op == GPUC_TIR_ADD) return fold_int_add(ctx, x, y);
    if (op == GPUC_TIR_SUB) return fold_int_sub(ctx, x, y);
    if (const_int(y, &c)) {
        r = fold_int_const_right(ctx, op, x, c, y);
        if (!r && gpuc_tir_ops[op].flags & GPUC_TIR_ASSOC) r = fold_chain(ctx, op, x, y);
    } else if (const_int(x, &c)) {
        r = fold_int_const_left(ctx, op, c, x, y);
    }
    return !r && x == y ? fold_int_same(ctx, op, x) : r;
}

/* ---- Floats -------------------------------------------------------------------------------------- */

static gpuc_expr fold_float(gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    gpuc_tir_value c;
    if (x == y && droppable(x) && (op == GPUC_TIR_MIN || op == GPUC_TIR_MAX)) return x;
    if (!gpuc_tir_const_get(y, &c)) return NULL;
    if (op == GPUC_TIR_ADD && c.f == 0 && signbit(c.f)) return x;
    if (op == GPUC_TIR_SUB && c.f == 0 && !signbit(c.f)) return x;
    if ((op == GPUC_TIR_MUL || op == GPUC_TIR_DIV) && c.f == 1) return x;
    if (op == GPUC_TIR_MIN && isinf(c.f) && c.f > 0) return x;
    if (op == GPUC_TIR_MAX && isinf(c.f) && c.f < 0) return x;
    return NULL;
}

/* ---- Logic --------------------------------------------------------------------------------------- */

static gpuc_expr fold_compare(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    gpuc_dtype t = x->dtype, result = gpuc_dtype_with_lanes(GPUC_BOOL, t.lanes);
    const gpuc_tir_opexpr_node *n;
    int64_t c, c1;
    if (gpuc_is_float(t)) return NULL;
    bool equality = op == GPUC_TIR_EQ || op == GPUC_TIR_NE;
    if (x == y && droppable(x)) return int_of(ctx, result, op == GPUC_TIR_EQ || op == GPUC_TIR_LE);
    if (equality && const_int(y, &c)) {
        if (gpuc_is_bool(t)) return (op == GPUC_TIR_EQ) == (c != 0) ? x : gpuc_not(ctx, x);
        if ((n = as_binary(x, GPUC_TIR_ADD)) && const_int(n->a[1], &c1))
            return make(ctx, op, n->a[0], int_of(ctx, t, wrapped_difference(t, c, c1)));
        return NULL;
    }
    if (equality) return NULL;
    if (const_int(y, &c) && droppable(x)) {
        if (op == GPUC_TIR_LT && c == smallest(t)) return int_of(ctx, result, 0);
        if (op == GPUC_TIR_LE && c == largest(t)) return int_of(ctx, result, 1);
    }
    if (const_int(x, &c) && droppable(y)) {
        if (op == GPUC_TIR_LT && c == largest(t)) return int_of(ctx, result, 0);
        if (op == GPUC_TIR_LE && c == smallest(t)) return int_of(ctx, result, 1);
    }
    return NULL;
}

static gpuc_expr fold_logic(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    int64_t c;
    if (const_int(y, &c)) {
        if ((c != 0) == (op == GPUC_TIR_AND)) return x;
        if (droppable(x)) return y;
    }
    return x == y ? fold_int_same(ctx, op, x) : NULL;
}

static gpuc_expr fold_not(gpuc_ctx *ctx, gpuc_expr x)
{
    if (x->kind != GPUC_EXPR_OP) return NULL;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(x);
    bool ints = n->a[0] && !gpuc_is_float(n->a[0]->dtype);
    if (n->op == GPUC_TIR_NOT) return n->a[0];
    if (n->op == GPUC_TIR_EQ) return make(ctx, GPUC_TIR_NE, n->a[0], n->a[1]);
    if (n->op == GPUC_TIR_NE) return make(ctx, GPUC_TIR_EQ, n->a[0], n->a[1]);
    if (n->op == GPUC_TIR_LT && ints) return make(ctx, GPUC_TIR_LE, n->a[1], n->a[0]);
    if (n->op == GPUC_TIR_LE && ints) return make(ctx, GPUC_TIR_LT, n->a[1], n->a[0]);
    return NULL;
}

static gpuc_expr fold_select(gpuc_ctx *ctx, gpuc_tir_op op, const gpuc_expr *a)
{
    int64_t c, x, y;
    bool lazy = gpuc_tir_ops[op].flags & GPUC_TIR_LAZY;
    if (const_int(a[0], &c) && (lazy || droppable(a[c ? 2 : 1]))) return c ? a[1] : a[2];
    if (a[1] == a[2] && droppable(a[0])) return a[1];
    const gpuc_tir_opexpr_node *n = as_binary(a[0], GPUC_TIR_NOT);
    if (n) return gpuc_tir_make(ctx, op, n->a[0], a[2], a[1]);
    if (gpuc_is_bool(a[1]->dtype) && const_int(a[1], &x) && const_int(a[2], &y))
        return x ? a[0] : gpuc_not(ctx, a[0]);
    return NULL;
}

/* ---- Vectors ------------------------------------------------------------------------------------- */

static gpuc_expr lift_broadcast(gpuc_ctx *ctx, gpuc_tir_op op, const gpuc_expr *a)
{
    gpuc_expr inner[3] = {NULL};
    for (int i = 0; i < gpuc_tir_ops[op].arity; i++) {
        if (a[i]->kind != GPUC_EXPR_BROADCAST) return NULL;
        inner[i] = gpuc_as_broadcast(a[i])->a;
    }
    return gpuc_tir_broadcast(ctx, gpuc_tir_make(ctx, op, inner[0], inner[1], inner[2]), a[0]->dtype.lanes);
}

static gpuc_expr fold_ramp_sum(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    bool x_ramp = x->kind == GPUC_EXPR_RAMP, y_ramp = y->kind == GPUC_EXPR_RAMP;
    if (!x_ramp && x->kind != GPUC_EXPR_BROADCAST) return NULL;
    if (!y_ramp && y->kind != GPUC_EXPR_BROADCAST) return NULL;
    gpuc_expr x0 = x_ramp ? gpuc_as_ramp(x)->start : gpuc_as_broadcast(x)->a;
    gpuc_expr y0 = y_ramp ? gpuc_as_ramp(y)->start : gpuc_as_broadcast(y)->a;
    gpuc_expr zero = int_of(ctx, x0->dtype, 0);
    gpuc_expr xs = x_ramp ? gpuc_as_ramp(x)->stride : zero, ys = y_ramp ? gpuc_as_ramp(y)->stride : zero;
    return gpuc_tir_ramp(ctx, make(ctx, op, x0, y0), make(ctx, op, xs, ys), x->dtype.lanes);
}

static gpuc_expr fold_ramps(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr x, gpuc_expr y)
{
    if (x->dtype.lanes == 1) return NULL;
    if (op == GPUC_TIR_ADD || op == GPUC_TIR_SUB) return fold_ramp_sum(ctx, op, x, y);
    if (op != GPUC_TIR_MUL || x->kind != GPUC_EXPR_RAMP || !is_const(y)) return NULL;
    gpuc_expr c = gpuc_as_broadcast(y)->a;
    return gpuc_tir_ramp(ctx, gpuc_mul(ctx, gpuc_as_ramp(x)->start, c),
                         gpuc_mul(ctx, gpuc_as_ramp(x)->stride, c), x->dtype.lanes);
}

/* ---- All ------------------------------------------------------------------------------------------ */

static gpuc_expr fold_constants(gpuc_ctx *ctx, gpuc_tir_op op, const gpuc_expr *a)
{
    const gpuc_tir_op_info *info = &gpuc_tir_ops[op];
    gpuc_tir_value v[3];
    for (int i = 0; i < info->arity; i++)
        if (a[i]->dtype.lanes != 1 || !gpuc_tir_const_get(a[i], &v[i])) return NULL;
    gpuc_dtype t = a[info->arity - 1]->dtype;
    gpuc_dtype result = info->result == GPUC_TIR_BOOL ? GPUC_BOOL : t;
    return gpuc_tir_const(ctx, result, gpuc_tir_apply(op, t, v));
}

gpuc_expr gpuc_tir_fold_op(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr *a)
{
    const gpuc_tir_op_info *info = &gpuc_tir_ops[op];
    gpuc_expr r = fold_constants(ctx, op, a);
    if (!r && a[0]->dtype.lanes > 1) r = lift_broadcast(ctx, op, a);
    if (r) return r;
    if (info->result == GPUC_TIR_ARM) return fold_select(ctx, op, a);
    if (op == GPUC_TIR_NOT) return fold_not(ctx, a[0]);
    if (info->arity != 2) return NULL;
    if (info->flags & GPUC_TIR_COMM && is_const(a[0]) && !is_const(a[1])) {
        gpuc_expr swap = a[0];
        a[0] = a[1];
        a[1] = swap;
    }
    if (info->result == GPUC_TIR_BOOL) return fold_compare(ctx, op, a[0], a[1]);
    if (op == GPUC_TIR_AND || op == GPUC_TIR_OR) {
        r = fold_logic(ctx, op, a[0], a[1]);
        return r || !is_const(a[1]) ? r : fold_chain(ctx, op, a[0], a[1]);
    }
    if (gpuc_is_float(a[0]->dtype)) return fold_float(op, a[0], a[1]);
    r = fold_int(ctx, op, a[0], a[1]);
    return r ? r : fold_ramps(ctx, op, a[0], a[1]);
}

/* The inner cast of cast(to, cast(middle, x)) can go when it changes no value, or when only low bits of
 * integers survive anyway. */
static bool inner_cast_goes(gpuc_dtype to, gpuc_dtype middle, gpuc_dtype from)
{
    if (gpuc_tir_holds_all(middle, from))
        return !(gpuc_is_float(middle) && !gpuc_is_float(from) && !gpuc_is_float(to)) || gpuc_is_bool(to) ||
               gpuc_tir_holds_all(to, from);
    return gpuc_is_integer(to) && gpuc_is_integer(middle) && gpuc_is_integer(from) && to.bits <= middle.bits;
}

gpuc_expr gpuc_tir_fold_cast(gpuc_ctx *ctx, gpuc_dtype to, gpuc_expr a)
{
    gpuc_tir_value v;
    if (gpuc_dtype_equal(to, a->dtype)) return a;
    if (a->kind == GPUC_EXPR_BROADCAST)
        return gpuc_tir_broadcast(ctx, gpuc_cast(ctx, gpuc_dtype_with_lanes(to, 1), gpuc_as_broadcast(a)->a),
                                  to.lanes);
    if (gpuc_tir_const_get(a, &v)) return gpuc_tir_const(ctx, to, gpuc_tir_convert(to, a->dtype, v));
    if (a->kind == GPUC_EXPR_CAST && inner_cast_goes(to, a->dtype, gpuc_as_cast(a)->a->dtype))
        return gpuc_cast(ctx, to, gpuc_as_cast(a)->a);
    if (a->kind == GPUC_EXPR_RAMP && gpuc_is_integer(to) && to.bits <= a->dtype.bits) {
        gpuc_dtype t = gpuc_dtype_with_lanes(to, 1);
        const gpuc_tir_ramp_node *n = gpuc_as_ramp(a);
        return gpuc_tir_ramp(ctx, gpuc_cast(ctx, t, n->start), gpuc_cast(ctx, t, n->stride), to.lanes);
    }
    return NULL;
}
