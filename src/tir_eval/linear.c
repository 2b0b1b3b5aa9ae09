/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of index expressions before the run: constants, linear forms, the loop they belong to. */
#include "tir_eval/eval.h"

#include <limits.h>

#include "base/size.h"

enum { MAX_STEPS = 400 };

static const int64_t unknown;

static bool fold(ev_compiler *c, gpuc_expr e, int64_t *out)
{
    if (e->kind == GPUC_EXPR_INT) {
        *out = gpuc_as_int(e)->value;
        return true;
    }
    if (e->kind == GPUC_EXPR_VAR) {
        const ev_var *v = gpuc_ev_map_get(&c->vars, e);
        if (v && v->constant) *out = v->value;
        return v && v->constant;
    }
    gpuc_tir_value v[3], r;
    if (e->kind == GPUC_EXPR_CAST) {
        gpuc_expr a = gpuc_as_cast(e)->a;
        if (gpuc_is_float(e->dtype) || gpuc_is_float(a->dtype) || !gpuc_ev_constant(c, a, &v[0].i))
            return false;
        *out = gpuc_tir_convert(e->dtype, a->dtype, v[0]).i;
        return true;
    }
    if (e->kind != GPUC_EXPR_OP) return false;
    const gpuc_tir_opexpr_node *o = gpuc_as_op(e);
    int arity = gpuc_tir_ops[o->op].arity;
    gpuc_dtype t = o->a[arity - 1]->dtype;
    if (gpuc_is_float(t) || gpuc_is_float(e->dtype)) return false;
    for (int i = 0; i < arity; i++)
        if (!gpuc_ev_constant(c, o->a[i], &v[i].i)) return false;
    r = gpuc_tir_apply(o->op, t, v);
    *out = r.i;
    return true;
}

bool gpuc_ev_constant(ev_compiler *c, gpuc_expr e, int64_t *out)
{
    if (e->kind == GPUC_EXPR_INT || e->kind == GPUC_EXPR_VAR) return fold(c, e, out);
    if (e->dtype.lanes != 1 || (e->flags & (GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT))) return false;
    const int64_t *known = gpuc_ev_map_get(&c->folded, e);
    if (!known) {
        int64_t v;
        known = &unknown;
        if (fold(c, e, &v)) {
            int64_t *kept = ev_new(c->m, int64_t);
            *kept = v;
            known = kept;
        }
        gpuc_ev_map_set(c->m, &c->folded, e, (void *)known);
    }
    if (known != &unknown) *out = *known;
    return known != &unknown;
}

/* ---- Ranges --------------------------------------------------------------------------------------- */

typedef struct range {
    int64_t min, max;
} range;

static bool range_op(gpuc_tir_op op, range x, range y, range *out)
{
    int64_t v[4];
    if (op == GPUC_TIR_ADD)
        return gpuc_i64_add(x.min, y.min, &out->min) && gpuc_i64_add(x.max, y.max, &out->max);
    if (op == GPUC_TIR_SUB)
        return gpuc_i64_sub(x.min, y.max, &out->min) && gpuc_i64_sub(x.max, y.min, &out->max);
    if (op == GPUC_TIR_MUL) {
        if (!gpuc_i64_mul(x.min, y.min, &v[0]) || !gpuc_i64_mul(x.min, y.max, &v[1]) ||
            !gpuc_i64_mul(x.max, y.min, &v[2]) || !gpuc_i64_mul(x.max, y.max, &v[3]))
            return false;
        *out = (range){v[0], v[0]};
        for (int i = 1; i < 4; i++) {
            if (v[i] < out->min) out->min = v[i];
            if (v[i] > out->max) out->max = v[i];
        }
        return true;
    }
    if (op == GPUC_TIR_MIN)
        *out = (range){x.min < y.min ? x.min : y.min, x.max < y.max ? x.max : y.max};
    else if (op == GPUC_TIR_MAX)
        *out = (range){x.min > y.min ? x.min : y.min, x.max > y.max ? x.max : y.max};
    else if (op == GPUC_TIR_FLOORDIV && y.min == y.max && y.min > 0)
        *out = (range){gpuc_floordiv(x.min, y.min), gpuc_floordiv(x.max, y.min)};
    else if (op == GPUC_TIR_DIV && y.min == y.max && y.min > 0)
        *out = (range){x.min / y.min, x.max / y.min};
    else if (op == GPUC_TIR_FLOORMOD && y.min > 0)
        *out = (range){0, y.max - 1};
    else
        return false;
    return true;
}

bool gpuc_ev_range(ev_compiler *c, gpuc_expr e, int64_t *min, int64_t *max)
{
    range x, y, r = {0, 0};
    if (gpuc_ev_constant(c, e, min)) {
        *max = *min;
        return true;
    }
    if (c->range_steps++ > MAX_STEPS || e->dtype.lanes != 1 || e->dtype.code != GPUC_DTYPE_INT) return false;
    bool ok = false;
    if (e->kind == GPUC_EXPR_VAR) {
        const ev_var *v = gpuc_ev_map_get(&c->vars, e);
        gpuc_expr let = gpuc_ev_map_get(&c->lets, e);
        if (let) return gpuc_ev_range(c, let, min, max);
        ok = v && v->ranged;
        if (ok) r = (range){v->min, v->max};
    } else if (e->kind == GPUC_EXPR_CAST) {
        return e->dtype.bits >= gpuc_as_cast(e)->a->dtype.bits &&
               gpuc_ev_range(c, gpuc_as_cast(e)->a, min, max);
    } else if (e->kind == GPUC_EXPR_OP) {
        const gpuc_tir_opexpr_node *o = gpuc_as_op(e);
        int first = gpuc_tir_ops[o->op].result == GPUC_TIR_ARM;
        if (gpuc_tir_ops[o->op].arity < 2 || !gpuc_ev_range(c, o->a[first], &x.min, &x.max) ||
            !gpuc_ev_range(c, o->a[first + 1], &y.min, &y.max))
            return false;
        if (first) {
            r = (range){x.min < y.min ? x.min : y.min, x.max > y.max ? x.max : y.max};
            ok = true;
        } else {
            ok = range_op(o->op, x, y, &r);
        }
    }
    int64_t limit = e->dtype.bits >= 64 ? INT64_MAX : (INT64_C(1) << (e->dtype.bits - 1)) - 1;
    if (!ok || r.min < -limit - 1 || r.max > limit) return false; /* it may wrap */
    *min = r.min;
    *max = r.max;
    return true;
}

/* ---- Linear forms ------------------------------------------------------------------------------- */

bool gpuc_ev_linear_add(ev_linear *x, const ev_linear *y, int64_t scale)
{
    int64_t v;
    if (!x->ok || !y->ok || !gpuc_i64_mul(y->constant, scale, &v) ||
        !gpuc_i64_add(x->constant, v, &x->constant))
        return x->ok = false;
    for (int i = 0; i < y->n; i++) {
        int j = 0;
        while (j < x->n && x->at[j].e != y->at[i].e) j++;
        if (j == EV_MAX_TERMS) return x->ok = false;
        if (j == x->n) {
            x->at[x->n].e = y->at[i].e;
            x->at[x->n++].coeff = 0;
        }
        if (!gpuc_i64_mul(y->at[i].coeff, scale, &v) || !gpuc_i64_add(x->at[j].coeff, v, &x->at[j].coeff))
            return x->ok = false;
        if (x->at[j].coeff == 0) x->at[j] = x->at[--x->n];
    }
    return true;
}

static void term(gpuc_expr e, ev_linear *out)
{
    *out = (ev_linear){.ok = true, .n = 1};
    out->at[0].e = e;
    out->at[0].coeff = 1;
}

/* Arithmetic that may wrap is opened by the contract of index expressions only, and never when the run
 * is to find mistakes: a sum in 32 bits is a term then. */
static bool opens(const ev_compiler *c, gpuc_expr e)
{
    if (e->dtype.code != GPUC_DTYPE_INT) return false;
    if (e->dtype.bits == 64) return true;
    return e->dtype.bits == 32 && !c->m->check && (e->flags & GPUC_TIR_IS_INDEX);
}

static void linear_op(ev_compiler *c, gpuc_expr e, ev_linear *out)
{
    const gpuc_tir_opexpr_node *o = gpuc_as_op(e);
    ev_linear x, y;
    if (o->op == GPUC_TIR_ADD || o->op == GPUC_TIR_SUB) {
        gpuc_ev_linear(c, o->a[0], &x);
        gpuc_ev_linear(c, o->a[1], &y);
        if (gpuc_ev_linear_add(&x, &y, o->op == GPUC_TIR_ADD ? 1 : -1)) {
            *out = x;
            return;
        }
    } else if (o->op == GPUC_TIR_MUL) {
        gpuc_ev_linear(c, o->a[0], &x);
        gpuc_ev_linear(c, o->a[1], &y);
        if (x.ok && x.n == 0) {
            ev_linear swap = x;
            x = y;
            y = swap;
        }
        *out = (ev_linear){.ok = true};
        if (y.ok && y.n == 0 && gpuc_ev_linear_add(out, &x, y.constant)) return;
    }
    term(e, out);
}

void gpuc_ev_linear(ev_compiler *c, gpuc_expr e, ev_linear *out)
{
    int64_t v;
    bool outermost = c->linear_steps == 0;
    if (e->dtype.lanes != 1 || !gpuc_is_integer(e->dtype)) {
        *out = (ev_linear){.ok = false};
        return;
    }
    c->linear_steps++;
    const ev_var *var = e->kind == GPUC_EXPR_VAR ? gpuc_ev_map_get(&c->vars, e) : NULL;
    gpuc_expr let = e->kind == GPUC_EXPR_VAR ? gpuc_ev_map_get(&c->lets, e) : NULL;
    if (gpuc_ev_constant(c, e, &v))
        *out = (ev_linear){.ok = e->dtype.code == GPUC_DTYPE_INT || v >= 0, .constant = v};
    else if (c->linear_steps > MAX_STEPS)
        term(e, out);
    else if (let && !(var && var->constant) && opens(c, e) && !(let->flags & GPUC_TIR_HAS_LOAD))
        gpuc_ev_linear(c, let, out);
    else if (e->kind == GPUC_EXPR_CAST && e->dtype.code == GPUC_DTYPE_INT && e->dtype.bits == 64 &&
             gpuc_as_cast(e)->a->dtype.code == GPUC_DTYPE_INT)
        gpuc_ev_linear(c, gpuc_as_cast(e)->a, out);
    else if (e->kind == GPUC_EXPR_OP && opens(c, e))
        linear_op(c, e, out);
    else
        term(e, out);
    if (outermost) c->linear_steps = 0;
}

void gpuc_ev_flat(ev_compiler *c, const ev_buffer *b, int n, const gpuc_expr *index, ev_linear *out)
{
    *out = (ev_linear){.ok = b->size >= 0};
    for (int i = 0; i < n && out->ok; i++) {
        ev_linear x;
        gpuc_ev_linear(c, index[i], &x);
        gpuc_ev_linear_add(out, &x, b->stride[i]);
    }
}

/* ---- Levels -------------------------------------------------------------------------------------- */

int gpuc_ev_level(ev_compiler *c, gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_INT || e->kind == GPUC_EXPR_FLOAT) return 0;
    if (e->kind == GPUC_EXPR_VAR) {
        const ev_var *v = gpuc_ev_map_get(&c->vars, e);
        return v ? v->level : 0;
    }
    if (e->flags & (GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT)) return INT_MAX;
    size_t known = (size_t)(uintptr_t)gpuc_ev_map_get(&c->levels, e);
    if (known) return (int)known - 1;
    int level = 0;
    if (e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->fn == GPUC_TIR_CALL_SUBGROUP_LANE)
        for (const ev_scope *s = c->scope; s; s = s->outer)
            if (s->level > level) level = s->level; /* that of the region would do */
    gpuc_tir_operands operands;
    gpuc_tir_operands_get(c->m->ctx, e, &operands);
    for (int i = 0; i < operands.n; i++) {
        int of = gpuc_ev_level(c, operands.at[i]);
        if (of > level) level = of;
    }
    gpuc_ev_map_set(c->m, &c->levels, e, (void *)(uintptr_t)(level + 1));
    return level;
}
