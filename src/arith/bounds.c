/* SPDX-License-Identifier: Apache-2.0 */
/* Constant bounds. INT64_MIN and INT64_MAX stand for no bound and absorb in arithmetic. */
#include "arith/private.h"

static const gpuc_bounds everything = {INT64_MIN, INT64_MAX};

gpuc_bounds gpuc_arith_type_bounds(gpuc_dtype t)
{
    if (t.code == GPUC_DTYPE_BOOL) return (gpuc_bounds){0, 1};
    if (t.code == GPUC_DTYPE_UINT)
        return (gpuc_bounds){0, t.bits >= 63 ? INT64_MAX : (INT64_C(1) << t.bits) - 1};
    if (t.code == GPUC_DTYPE_INT && t.bits < 64)
        return (gpuc_bounds){-(INT64_C(1) << (t.bits - 1)), (INT64_C(1) << (t.bits - 1)) - 1};
    return everything;
}

static int64_t clamp(__int128 v)
{
    return v <= INT64_MIN ? INT64_MIN : v >= INT64_MAX ? INT64_MAX : (int64_t)v;
}

gpuc_bounds gpuc_arith_bounds_add(gpuc_bounds x, gpuc_bounds y)
{
    gpuc_bounds r;
    r.min = x.min == INT64_MIN || y.min == INT64_MIN ? INT64_MIN : clamp((__int128)x.min + y.min);
    r.max = x.max == INT64_MAX || y.max == INT64_MAX ? INT64_MAX : clamp((__int128)x.max + y.max);
    return r;
}

static __int128 widen(int64_t end)
{
    const __int128 huge = (__int128)1 << 63;
    return end == INT64_MIN ? -huge : end == INT64_MAX ? huge : end;
}

gpuc_bounds gpuc_arith_bounds_mul(gpuc_bounds x, gpuc_bounds y)
{
    int64_t ends[2][2] = {{x.min, x.max}, {y.min, y.max}};
    __int128 lo = 0, hi = 0;
    for (int i = 0; i < 4; i++) {
        int64_t p = ends[0][i & 1], q = ends[1][i >> 1];
        __int128 v = p == 0 || q == 0 ? 0 : widen(p) * widen(q);
        if (i == 0 || v < lo) lo = v;
        if (i == 0 || v > hi) hi = v;
    }
    return (gpuc_bounds){clamp(lo), clamp(hi)};
}

static gpuc_bounds join(gpuc_bounds x, gpuc_bounds y)
{
    return (gpuc_bounds){x.min < y.min ? x.min : y.min, x.max > y.max ? x.max : y.max};
}

static gpuc_bounds smaller(gpuc_bounds x, gpuc_bounds y)
{
    return (gpuc_bounds){x.min < y.min ? x.min : y.min, x.max < y.max ? x.max : y.max};
}

static gpuc_bounds larger(gpuc_bounds x, gpuc_bounds y)
{
    return (gpuc_bounds){x.min > y.min ? x.min : y.min, x.max > y.max ? x.max : y.max};
}

static gpuc_bounds meet(gpuc_bounds x, gpuc_bounds y)
{
    gpuc_bounds r = {x.min > y.min ? x.min : y.min, x.max < y.max ? x.max : y.max};
    return r.min <= r.max ? r : x;
}

static gpuc_bounds term_bounds(gpuc_analyzer *a, const arith_term *t)
{
    gpuc_bounds b = {t->coeff, t->coeff};
    for (int i = 0; i < t->n; i++) {
        gpuc_bounds atom = gpuc_arith_bounds(a, t->atom[i]);
        if (i + 1 < t->n && t->atom[i] == t->atom[i + 1]) { /* a square */
            atom = gpuc_arith_bounds_mul(atom, atom);
            if (atom.min < 0) atom.min = 0;
            i++;
        }
        b = gpuc_arith_bounds_mul(b, atom);
    }
    return b;
}

gpuc_bounds gpuc_arith_poly_bounds(gpuc_analyzer *a, const arith_poly *p)
{
    gpuc_bounds b = {p->c, p->c};
    for (int i = 0; i < p->n; i++) b = gpuc_arith_bounds_add(b, term_bounds(a, &p->at[i]));
    return b;
}

bool gpuc_arith_writable(gpuc_analyzer *a, const arith_poly *p)
{
    if (p->index && p->n > 0) return true;
    gpuc_bounds b = gpuc_arith_poly_bounds(a, p);
    return arith_finite(b) && arith_within(b, gpuc_arith_type_bounds(p->dtype));
}

bool gpuc_arith_exact(gpuc_analyzer *a, const arith_poly *p)
{
    return p->value || gpuc_arith_writable(a, p);
}

static int64_t divide_min(int64_t x, int64_t c)
{
    return x == INT64_MIN ? x : gpuc_floordiv(x, c);
}

static int64_t divide_max(int64_t x, int64_t c)
{
    return x == INT64_MAX ? x : gpuc_floordiv(x, c);
}

static gpuc_bounds division_bounds(gpuc_bounds x, gpuc_bounds y, gpuc_tir_op op)
{
    if (y.min == 0) { /* quotient and remainder by 0 are 0 */
        gpuc_bounds zero = {0, 0};
        y.min = 1;
        return y.max > 0 ? join(division_bounds(x, y, op), zero) : zero;
    }
    if (op == GPUC_TIR_FLOORMOD && y.min > 0) {
        if (x.min >= 0 && x.max < y.min) return x;
        gpuc_bounds r = {0, y.max == INT64_MAX ? INT64_MAX : y.max - 1};
        if (x.min >= 0 && x.max < r.max) r.max = x.max;
        return r;
    }
    if (op == GPUC_TIR_MOD && y.min > 0) {
        int64_t max = y.max == INT64_MAX ? INT64_MAX : y.max - 1;
        gpuc_bounds r = {x.min >= 0 ? 0 : max == INT64_MAX ? INT64_MIN : -max, x.max <= 0 ? 0 : max};
        if (x.max > 0 && x.max < r.max) r.max = x.max;
        if (x.min < 0 && x.min > r.min) r.min = x.min;
        return r;
    }
    if ((op != GPUC_TIR_FLOORDIV && op != GPUC_TIR_DIV) || y.min <= 0) return everything;
    gpuc_bounds r = {
        x.min >= 0 ? (y.max == INT64_MAX ? 0 : divide_min(x.min, y.max)) : divide_min(x.min, y.min),
        x.max >= 0 ? divide_max(x.max, y.min) : (y.max == INT64_MAX ? -1 : divide_max(x.max, y.max))};
    if (op == GPUC_TIR_DIV) { /* towards zero */
        if (x.min < 0 && r.min != INT64_MIN) r.min = x.min / y.min;
        if (x.max < 0) r.max = 0;
    }
    return r;
}

/* ---- The rules that tir/ops.def names: bounds of an operator from those of its operands ---- */

typedef gpuc_bounds (*bounds_rule)(gpuc_analyzer *a, gpuc_expr e, const gpuc_bounds *b);
#define RULE(name, value)                                                                                    \
    static gpuc_bounds bounds_##name(gpuc_analyzer *a, gpuc_expr e, const gpuc_bounds *b)                    \
    {                                                                                                        \
        (void)a, (void)e, (void)b;                                                                           \
        return value;                                                                                        \
    }
RULE(unknown, everything)
RULE(add, gpuc_arith_bounds_add(b[0], b[1]))
RULE(sub, gpuc_arith_bounds_add(b[0], gpuc_arith_bounds_mul(b[1], (gpuc_bounds){-1, -1})))
RULE(mul, gpuc_arith_bounds_mul(b[0], b[1]))
RULE(divide, division_bounds(b[0], b[1], arith_op_of(e)))
RULE(min, smaller(b[0], b[1]))
RULE(max, larger(b[0], b[1]))
RULE(arms, join(b[1], b[2]))
#undef RULE

static gpuc_bounds bounds_bits(gpuc_analyzer *a, gpuc_expr e, const gpuc_bounds *b)
{
    (void)a;
    gpuc_tir_op op = arith_op_of(e);
    gpuc_bounds x = b[0], y = b[1];
    if (op == GPUC_TIR_BITAND && (x.min >= 0 || y.min >= 0)) {
        gpuc_bounds r = {0, INT64_MAX};
        if (x.min >= 0) r.max = x.max;
        if (y.min >= 0 && y.max < r.max) r.max = y.max;
        return r;
    }
    if ((op == GPUC_TIR_BITOR || op == GPUC_TIR_BITXOR) && x.min >= 0 && y.min >= 0) {
        uint64_t max = (uint64_t)(x.max > y.max ? x.max : y.max);
        for (int s = 1; s < 64; s *= 2) max |= max >> s;
        return (gpuc_bounds){0, (int64_t)max};
    }
    if (op == GPUC_TIR_SHR && y.min >= 0 && x.min >= 0)
        return (gpuc_bounds){y.max > 62 ? 0 : x.min >> y.max, x.max == INT64_MAX ? INT64_MAX
                                                              : y.min > 62       ? 0
                                                                                 : x.max >> y.min};
    if (op == GPUC_TIR_SHR && y.min >= 0) return (gpuc_bounds){x.min, x.max >= 0 ? x.max : -1};
    return everything;
}

static gpuc_bounds bounds_bitnot(gpuc_analyzer *a, gpuc_expr e, const gpuc_bounds *b)
{
    (void)a;
    if (e->dtype.code == GPUC_DTYPE_UINT) return everything;
    return (gpuc_bounds){b->max == INT64_MAX ? INT64_MIN : -1 - b->max,
                         b->min == INT64_MIN ? INT64_MAX : -1 - b->min};
}

static gpuc_bounds bounds_abs(gpuc_analyzer *a, gpuc_expr e, const gpuc_bounds *b)
{
    if (b->min >= 0) return *b;
    if (b->min == INT64_MIN && !gpuc_arith_contract(a, e)) return everything;
    return (gpuc_bounds){b->max < 0 && b->max != INT64_MIN ? -b->max : 0, b->min == INT64_MIN ? INT64_MAX
                                                                          : -b->min > b->max  ? -b->min
                                                                                              : b->max};
}

static gpuc_bounds operator_bounds(gpuc_analyzer *a, gpuc_expr e)
{
#define POLY(rule, cost) bounds_##rule
#define INDEX(rule, cost) bounds_##rule
#define DATA(rule, cost) bounds_##rule
#define GPUC_TIR_OP(e, text, arity, result, prec, flags, ints, floats, arith, ...) [GPUC_TIR_##e] = arith,
    static const bounds_rule rules[GPUC_TIR_OP_COUNT] = {
#include "tir/ops.def"
    };
#undef GPUC_TIR_OP
#undef POLY
#undef INDEX
#undef DATA
    gpuc_tir_op op = arith_op_of(e);
    gpuc_bounds b[3];
    for (int i = 0; i < gpuc_tir_ops[op].arity; i++) b[i] = gpuc_arith_bounds(a, arith_arg(e, i));
    return arith_is_int_type(e->dtype) ? rules[op](a, e, b) : everything;
}

static gpuc_bounds cast_bounds(gpuc_analyzer *a, gpuc_expr e)
{
    gpuc_expr x = ((const gpuc_tir_cast_node *)e)->a;
    if (x->dtype.code == GPUC_DTYPE_BOOL) return (gpuc_bounds){0, 1};
    if (!arith_is_int_type(x->dtype)) return everything;
    gpuc_bounds b = gpuc_arith_bounds(a, x);
    /* The end INT64_MAX of a uint64 may stand for more than the type has. */
    bool fits = arith_within(b, gpuc_arith_type_bounds(e->dtype)) &&
                (x->dtype.code == GPUC_DTYPE_INT || x->dtype.bits < 64 || arith_finite(b));
    return fits ? b : everything;
}

static gpuc_bounds vector_bounds(gpuc_analyzer *a, gpuc_expr e)
{
    const gpuc_tir_vector_node *v = (const gpuc_tir_vector_node *)e;
    gpuc_bounds b = gpuc_arith_bounds(a, v->a[0]);
    for (int i = 1; i < e->dtype.lanes; i++) b = join(b, gpuc_arith_bounds(a, v->a[i]));
    return b;
}

static gpuc_bounds structural_bounds(gpuc_analyzer *a, gpuc_expr e)
{
    switch (e->kind) {
    case GPUC_EXPR_INT: {
        int64_t v = ((const gpuc_tir_int_node *)e)->value;
        if (e->dtype.code == GPUC_DTYPE_UINT && v < 0) v = INT64_MAX;
        return (gpuc_bounds){v, v};
    }
    case GPUC_EXPR_CAST: return cast_bounds(a, e);
    case GPUC_EXPR_OP: return operator_bounds(a, e);
    case GPUC_EXPR_RAMP: {
        const gpuc_tir_ramp_node *r = (const gpuc_tir_ramp_node *)e;
        gpuc_bounds steps = {0, e->dtype.lanes - 1};
        return gpuc_arith_bounds_add(gpuc_arith_bounds(a, r->start),
                                     gpuc_arith_bounds_mul(gpuc_arith_bounds(a, r->stride), steps));
    }
    case GPUC_EXPR_BROADCAST: return gpuc_arith_bounds(a, ((const gpuc_tir_broadcast_node *)e)->a);
    case GPUC_EXPR_LANE: return gpuc_arith_bounds(a, ((const gpuc_tir_lane_node *)e)->a);
    case GPUC_EXPR_VECTOR: return vector_bounds(a, e);
    case GPUC_EXPR_CALL:
        if (((const gpuc_tir_call_node *)e)->fn == GPUC_TIR_CALL_SUBGROUP_LANE) return (gpuc_bounds){0, 1023};
        return everything;
    case GPUC_EXPR_VAR:
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_LOAD:
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: return everything;
    }
    return everything;
}

static gpuc_bounds compute_bounds(gpuc_analyzer *a, gpuc_expr e)
{
    if (!arith_is_int_type(e->dtype) && e->dtype.code != GPUC_DTYPE_BOOL) return everything;
    gpuc_bounds type = gpuc_arith_type_bounds(e->dtype);
    gpuc_bounds b = structural_bounds(a, e);
    /* What does not fit the type wraps, unless the contract excludes it. */
    if (!arith_within(b, type)) b = gpuc_arith_contract(a, e) ? meet(b, type) : type;
    if (!arith_finite(b) && e->dtype.code == GPUC_DTYPE_INT && e->dtype.bits == 64 &&
        e->kind == GPUC_EXPR_OP && !gpuc_arith_contract(a, e)) {
        gpuc_tir_op op = arith_op_of(e); /* one end known means nothing when the other may wrap round */
        if (op == GPUC_TIR_ADD || op == GPUC_TIR_SUB || op == GPUC_TIR_MUL) b = type;
    }
    if (e->dtype.code == GPUC_DTYPE_UINT && e->dtype.bits == 64 && !arith_finite(b) &&
        e->kind == GPUC_EXPR_OP) {
        gpuc_tir_op op = arith_op_of(e);
        if (op == GPUC_TIR_ADD || op == GPUC_TIR_SUB || op == GPUC_TIR_MUL || op == GPUC_TIR_SHL) b = type;
    }
    const arith_known *k = gpuc_arith_known_get(a, e);
    return k ? meet(b, k->bounds) : b;
}

gpuc_bounds gpuc_arith_bounds(gpuc_analyzer *a, gpuc_expr e)
{
    const arith_memo_entry *m = gpuc_arith_memo_get(&a->bounds, e, a->gen);
    if (m) return (gpuc_bounds){m->v[0], m->v[1]};
    if (a->depth > ARITH_MAX_DEPTH) return gpuc_arith_type_bounds(e->dtype);
    a->depth++;
    gpuc_bounds b = compute_bounds(a, e);
    a->depth--;
    gpuc_arith_memo_set(a, &a->bounds, e, a->gen, b.min, b.max);
    return b;
}

gpuc_bounds gpuc_arith_analyzer_bounds(gpuc_analyzer *a, gpuc_expr e)
{
    gpuc_arith_begin(a);
    gpuc_bounds b = gpuc_arith_bounds(a, e);
    gpuc_expr s = gpuc_arith_simplify_nested(a, e);
    if (s != e) b = meet(b, gpuc_arith_bounds(a, s));
    if (arith_is_scalar_int(e)) {
        const arith_poly *p = gpuc_arith_to_poly(a, e);
        if (gpuc_arith_exact(a, p)) b = meet(b, gpuc_arith_poly_bounds(a, p));
    }
    return b;
}
