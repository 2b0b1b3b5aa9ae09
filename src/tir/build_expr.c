/* SPDX-License-Identifier: Apache-2.0 */
/* Builds expressions: checks operand types, then folds and interns. */
#include <math.h>
#include <string.h>

#include "tir/fold.h"
#include "tir/intern.h"
#include "tir/ops.h"

#define MAX_LANES 4096

/* ---- Leaves --------------------------------------------------------------------------------------- */

static void check_type(gpuc_ctx *ctx, gpuc_dtype t)
{
    char name[24];
    if (!gpuc_dtype_exists(t) || t.code == GPUC_DTYPE_HANDLE || t.lanes > MAX_LANES)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "no expression can have the type %s",
                   gpuc_dtype_name(t, name));
}

gpuc_expr gpuc_var(gpuc_ctx *ctx, const char *name, gpuc_dtype dtype)
{
    check_type(ctx, dtype);
    gpuc_tir_var_node *n = gpuc_new(ctx, gpuc_tir_var_node);
    n->base = (gpuc_tir_expr){
        .kind = GPUC_EXPR_VAR, .dtype = dtype, .id = ctx->next_id++, .depth = 1, .size = 1, .ctx = ctx};
    n->base.hash = gpuc_hash_mix(GPUC_EXPR_VAR + 1, n->base.id);
    n->base.flags = GPUC_TIR_HAS_VAR;
    if (dtype.code == GPUC_DTYPE_INT && dtype.bits >= 32 && dtype.lanes == 1)
        n->base.flags |= GPUC_TIR_IS_INDEX;
    n->name = gpuc_ctx_strdup(ctx, name && *name ? name : "v");
    return &n->base;
}

gpuc_expr gpuc_tir_const(gpuc_ctx *ctx, gpuc_dtype t, gpuc_tir_value v)
{
    gpuc_dtype scalar = gpuc_dtype_with_lanes(t, 1);
    gpuc_expr e;
    if (gpuc_is_float(t)) {
        gpuc_tir_float_node n = {.base = {.kind = GPUC_EXPR_FLOAT, .dtype = scalar}};
        n.value = gpuc_tir_round(t, v.f);
        e = gpuc_tir_intern(ctx, &n.base, sizeof n);
    } else {
        gpuc_tir_int_node n = {.base = {.kind = GPUC_EXPR_INT, .dtype = scalar}};
        n.value = gpuc_tir_wrap(t, v.i);
        e = gpuc_tir_intern(ctx, &n.base, sizeof n);
    }
    return gpuc_tir_broadcast(ctx, e, t.lanes);
}

gpuc_expr gpuc_int(gpuc_ctx *ctx, int64_t value)
{
    return gpuc_tir_const(ctx, GPUC_INDEX, (gpuc_tir_value){.i = value});
}

gpuc_expr gpuc_imm(gpuc_ctx *ctx, gpuc_dtype dtype, double value)
{
    check_type(ctx, dtype);
    return gpuc_tir_const(ctx, dtype, gpuc_tir_convert(dtype, GPUC_FLOAT64, (gpuc_tir_value){.f = value}));
}

gpuc_expr gpuc_imm_int(gpuc_ctx *ctx, gpuc_dtype dtype, int64_t value)
{
    check_type(ctx, dtype);
    return gpuc_tir_const(ctx, dtype, gpuc_tir_convert(dtype, GPUC_INT64, (gpuc_tir_value){.i = value}));
}

gpuc_dtype gpuc_expr_dtype(gpuc_expr e)
{
    return e ? e->dtype : (gpuc_dtype){0};
}

bool gpuc_expr_is_int(gpuc_expr e, int64_t *out)
{
    if (!e || e->kind != GPUC_EXPR_INT) return false;
    if (out) *out = gpuc_as_int(e)->value;
    return true;
}

bool gpuc_tir_is_const(gpuc_expr e, int64_t value)
{
    gpuc_tir_value v;
    return !gpuc_is_float(e->dtype) && gpuc_tir_const_get(e, &v) && v.i == value;
}

gpuc_expr gpuc_tir_min_value(gpuc_ctx *ctx, gpuc_dtype t)
{
    if (gpuc_is_float(t)) return gpuc_imm(ctx, t, -(double)INFINITY);
    return gpuc_imm_int(ctx, t, t.code == GPUC_DTYPE_INT ? (int64_t)(UINT64_MAX << (t.bits - 1)) : 0);
}

gpuc_expr gpuc_tir_max_value(gpuc_ctx *ctx, gpuc_dtype t)
{
    if (gpuc_is_float(t)) return gpuc_imm(ctx, t, (double)INFINITY);
    if (t.code == GPUC_DTYPE_INT) return gpuc_imm_int(ctx, t, (int64_t)((UINT64_C(1) << (t.bits - 1)) - 1));
    return gpuc_imm_int(ctx, t, -1);
}

/* ---- Operators ------------------------------------------------------------------------------------ */

gpuc_expr gpuc_tir_need(gpuc_ctx *ctx, gpuc_expr e, const char *what)
{
    if (!e) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "an operand of '%s' is missing (NULL)", what);
    if (e->ctx != ctx)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "an operand of '%s' was made in another context; make it in the one that uses it", what);
    return e;
}

/* An integer constant of the index type takes on the type of what it meets. */
static gpuc_expr adapt(gpuc_ctx *ctx, gpuc_expr e, gpuc_dtype t, const char *what)
{
    gpuc_tir_value v;
    if (!gpuc_same_element(e->dtype, GPUC_INDEX) || e->dtype.lanes != t.lanes || !gpuc_tir_const_get(e, &v) ||
        gpuc_is_bool(t))
        return NULL;
    if (gpuc_is_integer(t) && (gpuc_tir_wrap(t, v.i) != v.i || (t.code == GPUC_DTYPE_UINT && v.i < 0)))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the operand %lld of '%s' does not fit in %s", (long long)v.i,
                   what, gpuc_tir_type_text(ctx, t));
    return gpuc_imm_int(ctx, t, v.i);
}

static void harmonise(gpuc_ctx *ctx, gpuc_expr *x, gpuc_expr *y, const char *what)
{
    if (gpuc_dtype_equal((*x)->dtype, (*y)->dtype)) return;
    gpuc_expr r = adapt(ctx, *y, (*x)->dtype, what);
    if (r) {
        *y = r;
        return;
    }
    r = adapt(ctx, *x, (*y)->dtype, what);
    if (r) {
        *x = r;
        return;
    }
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "operands of '%s' have types %s (%s) and %s (%s): %s one of them",
               what, gpuc_tir_type_text(ctx, (*x)->dtype), gpuc_tir_short_text(ctx, *x),
               gpuc_tir_type_text(ctx, (*y)->dtype), gpuc_tir_short_text(ctx, *y),
               gpuc_same_element((*x)->dtype, (*y)->dtype) ? "broadcast" : "cast");
}

static void check_operand(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr e)
{
    int flags = gpuc_tir_ops[op].flags;
    gpuc_dtype t = e->dtype;
    if (gpuc_is_integer(t) ? flags & GPUC_TIR_INT
        : gpuc_is_float(t) ? flags & GPUC_TIR_FLT
                           : flags & GPUC_TIR_LOGIC)
        return;
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s' does not take an operand of type %s (%s)",
               gpuc_tir_ops[op].text, gpuc_tir_type_text(ctx, t), gpuc_tir_short_text(ctx, e));
}

gpuc_expr gpuc_tir_make(gpuc_ctx *ctx, gpuc_tir_op op, gpuc_expr a, gpuc_expr b, gpuc_expr c)
{
    const gpuc_tir_op_info *info = &gpuc_tir_ops[op];
    gpuc_expr args[3] = {a, b, c};
    for (int i = 0; i < info->arity; i++) gpuc_tir_need(ctx, args[i], info->text);
    if (info->result == GPUC_TIR_ARM) {
        harmonise(ctx, &args[1], &args[2], info->text);
        if (!gpuc_is_bool(a->dtype))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the condition of '%s' has type %s (%s), not bool",
                       info->text, gpuc_tir_type_text(ctx, a->dtype), gpuc_tir_short_text(ctx, a));
        if (a->dtype.lanes != args[1]->dtype.lanes)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the condition of '%s' has %d lanes and its arms have %d",
                       info->text, a->dtype.lanes, args[1]->dtype.lanes);
        check_operand(ctx, op, args[1]);
    } else {
        if (info->arity == 2) harmonise(ctx, &args[0], &args[1], info->text);
        check_operand(ctx, op, args[0]);
    }
    gpuc_expr folded = gpuc_tir_fold_op(ctx, op, args);
    if (folded) return folded;
    gpuc_dtype t = args[info->arity - 1]->dtype;
    if (info->result == GPUC_TIR_BOOL) t = gpuc_dtype_with_lanes(GPUC_BOOL, t.lanes);
    gpuc_tir_opexpr_node n = {.base = {.kind = GPUC_EXPR_OP, .dtype = t}, .op = op};
    for (int i = 0; i < info->arity; i++) n.a[i] = args[i];
    return gpuc_tir_intern(ctx, &n.base, sizeof n);
}

gpuc_expr gpuc_cast(gpuc_ctx *ctx, gpuc_dtype dtype, gpuc_expr a)
{
    gpuc_tir_need(ctx, a, "cast");
    if (dtype.lanes == 1) dtype.lanes = a->dtype.lanes;
    check_type(ctx, dtype);
    if (dtype.lanes != a->dtype.lanes)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a cast cannot make %s of %s (%s): the lanes differ",
                   gpuc_tir_type_text(ctx, dtype), gpuc_tir_type_text(ctx, a->dtype),
                   gpuc_tir_short_text(ctx, a));
    gpuc_expr folded = gpuc_tir_fold_cast(ctx, dtype, a);
    if (folded) return folded;
    gpuc_tir_cast_node n = {.base = {.kind = GPUC_EXPR_CAST, .dtype = dtype}, .a = a};
    return gpuc_tir_intern(ctx, &n.base, sizeof n);
}

gpuc_expr gpuc_add(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_ADD, a, b, NULL);
}

gpuc_expr gpuc_sub(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_SUB, a, b, NULL);
}

gpuc_expr gpuc_mul(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_MUL, a, b, NULL);
}

gpuc_expr gpuc_div(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_DIV, a, b, NULL);
}

gpuc_expr gpuc_mod(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_MOD, a, b, NULL);
}

gpuc_expr gpuc_floordiv_(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_FLOORDIV, a, b, NULL);
}

gpuc_expr gpuc_floormod_(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_FLOORMOD, a, b, NULL);
}

gpuc_expr gpuc_min(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_MIN, a, b, NULL);
}

gpuc_expr gpuc_max(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_MAX, a, b, NULL);
}

gpuc_expr gpuc_eq(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_EQ, a, b, NULL);
}

gpuc_expr gpuc_ne(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_NE, a, b, NULL);
}

gpuc_expr gpuc_lt(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_LT, a, b, NULL);
}

gpuc_expr gpuc_le(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_LE, a, b, NULL);
}

gpuc_expr gpuc_gt(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_LT, b, a, NULL);
}

gpuc_expr gpuc_ge(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_LE, b, a, NULL);
}

gpuc_expr gpuc_and(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_AND, a, b, NULL);
}

gpuc_expr gpuc_or(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_OR, a, b, NULL);
}

gpuc_expr gpuc_not(gpuc_ctx *ctx, gpuc_expr a)
{
    return gpuc_tir_make(ctx, GPUC_TIR_NOT, a, NULL, NULL);
}

gpuc_expr gpuc_select(gpuc_ctx *ctx, gpuc_expr cond, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_SELECT, cond, a, b);
}

gpuc_expr gpuc_if_then_else(gpuc_ctx *ctx, gpuc_expr cond, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, GPUC_TIR_IF_THEN_ELSE, cond, a, b);
}

static gpuc_tir_op op_named(gpuc_ctx *ctx, const char *text, int arity)
{
    gpuc_tir_op op;
    if (!text) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the name of an operator is NULL");
    if (!gpuc_tir_op_find(text, &op))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "there is no operator '%s'", text);
    if (gpuc_tir_ops[op].arity != arity)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the operator '%s' takes %d operands, not %d", text,
                   gpuc_tir_ops[op].arity, arity);
    return op;
}

gpuc_expr gpuc_call1(gpuc_ctx *ctx, const char *op, gpuc_expr a)
{
    return gpuc_tir_make(ctx, op_named(ctx, op, 1), a, NULL, NULL);
}

gpuc_expr gpuc_call2(gpuc_ctx *ctx, const char *op, gpuc_expr a, gpuc_expr b)
{
    return gpuc_tir_make(ctx, op_named(ctx, op, 2), a, b, NULL);
}

/* ---- Vectors -------------------------------------------------------------------------------------- */

static void check_lanes(gpuc_ctx *ctx, int lanes, const char *what)
{
    if (lanes < 1 || lanes > MAX_LANES)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a %s of %d lanes: there can be 1 to %d", what, lanes,
                   MAX_LANES);
}

static void check_scalar(gpuc_ctx *ctx, gpuc_expr e, const char *what)
{
    if (gpuc_tir_need(ctx, e, what)->dtype.lanes != 1)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s' takes scalars, not %s (%s)", what,
                   gpuc_tir_type_text(ctx, e->dtype), gpuc_tir_short_text(ctx, e));
}

gpuc_expr gpuc_tir_ramp(gpuc_ctx *ctx, gpuc_expr start, gpuc_expr stride, int lanes)
{
    check_scalar(ctx, start, "ramp");
    check_scalar(ctx, stride, "ramp");
    check_lanes(ctx, lanes, "ramp");
    harmonise(ctx, &start, &stride, "ramp");
    if (!gpuc_is_integer(start->dtype))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a ramp is of integers, not %s",
                   gpuc_tir_type_text(ctx, start->dtype));
    if (lanes == 1) return start;
    if (gpuc_tir_is_const(stride, 0)) return gpuc_tir_broadcast(ctx, start, lanes);
    gpuc_tir_ramp_node n = {
        .base = {.kind = GPUC_EXPR_RAMP, .dtype = gpuc_dtype_with_lanes(start->dtype, lanes)},
        .start = start,
        .stride = stride,
    };
    return gpuc_tir_intern(ctx, &n.base, sizeof n);
}

gpuc_expr gpuc_tir_broadcast(gpuc_ctx *ctx, gpuc_expr a, int lanes)
{
    check_lanes(ctx, lanes, "broadcast");
    if (lanes == 1) return gpuc_tir_need(ctx, a, "broadcast");
    check_scalar(ctx, a, "broadcast");
    gpuc_tir_broadcast_node n = {
        .base = {.kind = GPUC_EXPR_BROADCAST, .dtype = gpuc_dtype_with_lanes(a->dtype, lanes)},
        .a = a,
    };
    return gpuc_tir_intern(ctx, &n.base, sizeof n);
}

gpuc_expr gpuc_tir_lane(gpuc_ctx *ctx, gpuc_expr a, int lane)
{
    gpuc_tir_need(ctx, a, "lane");
    if (lane < 0 || lane >= a->dtype.lanes)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "lane %d of %s (%s) does not exist", lane,
                   gpuc_tir_type_text(ctx, a->dtype), gpuc_tir_short_text(ctx, a));
    if (a->dtype.lanes == 1) return a;
    if (a->kind == GPUC_EXPR_BROADCAST) return gpuc_as_broadcast(a)->a;
    if (a->kind == GPUC_EXPR_VECTOR && !(a->flags & GPUC_TIR_HAS_EFFECT)) return gpuc_as_vector(a)->a[lane];
    if (a->kind == GPUC_EXPR_RAMP) {
        const gpuc_tir_ramp_node *n = gpuc_as_ramp(a);
        return gpuc_add(ctx, n->start, gpuc_mul(ctx, n->stride, gpuc_imm_int(ctx, n->stride->dtype, lane)));
    }
    gpuc_tir_lane_node n = {
        .base = {.kind = GPUC_EXPR_LANE, .dtype = gpuc_dtype_with_lanes(a->dtype, 1)},
        .a = a,
        .lane = lane,
    };
    return gpuc_tir_intern(ctx, &n.base, sizeof n);
}

/* All lanes of one vector in order: that vector. */
static gpuc_expr whole_vector(int n, const gpuc_expr *a)
{
    gpuc_expr of = a[0]->kind == GPUC_EXPR_LANE ? gpuc_as_lane(a[0])->a : NULL;
    if (!of || of->dtype.lanes != n) return NULL;
    for (int i = 0; i < n; i++)
        if (a[i]->kind != GPUC_EXPR_LANE || gpuc_as_lane(a[i])->a != of || gpuc_as_lane(a[i])->lane != i)
            return NULL;
    return of;
}

gpuc_expr gpuc_tir_vector(gpuc_ctx *ctx, int n, const gpuc_expr *a)
{
    check_lanes(ctx, n, "vector");
    gpuc_tir_check_list(ctx, n, a, "the lanes of a vector");
    bool all_same = true;
    for (int i = 0; i < n; i++) {
        check_scalar(ctx, a[i], "vec");
        if (!gpuc_dtype_equal(a[i]->dtype, a[0]->dtype))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "a vector cannot hold both %s (%s) and %s (%s)",
                       gpuc_tir_type_text(ctx, a[0]->dtype), gpuc_tir_short_text(ctx, a[0]),
                       gpuc_tir_type_text(ctx, a[i]->dtype), gpuc_tir_short_text(ctx, a[i]));
        all_same = all_same && a[i] == a[0];
    }
    if (n == 1) return a[0];
    if (all_same && !(a[0]->flags & GPUC_TIR_HAS_EFFECT)) return gpuc_tir_broadcast(ctx, a[0], n);
    gpuc_expr whole = whole_vector(n, a);
    if (whole) return whole;
    gpuc_tir_vector_node node = {
        .base = {.kind = GPUC_EXPR_VECTOR, .dtype = gpuc_dtype_with_lanes(a[0]->dtype, n)},
        .a = a,
    };
    return gpuc_tir_intern(ctx, &node.base, sizeof node);
}

/* ---- Memory, calls, te ------------------------------------------------------------------------------ */

/* Lanes of an access: those of its vector indices, which must agree. */
static int index_lanes(gpuc_ctx *ctx, const char *name, int n, const gpuc_expr *index)
{
    int lanes = 1;
    for (int i = 0; i < n; i++) {
        gpuc_tir_need(ctx, index[i], name);
        if (!gpuc_is_integer(index[i]->dtype))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "index %d of '%s' has type %s (%s), not an integer type",
                       i, name, gpuc_tir_type_text(ctx, index[i]->dtype), gpuc_tir_short_text(ctx, index[i]));
        int of = index[i]->dtype.lanes;
        if (of > 1 && lanes > 1 && of != lanes)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "indices of '%s' have %d and %d lanes", name, lanes, of);
        if (of > 1) lanes = of;
    }
    return lanes;
}

void gpuc_tir_check_list(gpuc_ctx *ctx, int n, const gpuc_expr *list, const char *what)
{
    if (n < 0) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s are %d", what, n);
    for (int i = 0; i < n; i++)
        if (!list || !list[i]) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: number %d is NULL", what, i);
}

int gpuc_tir_index_lanes(gpuc_ctx *ctx, const gpuc_tir_buffer *b, int n, const gpuc_expr *index)
{
    if (!b) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "an access to a buffer that is NULL");
    if (n > 0) gpuc_tir_check_list(ctx, n, index, "the indices");
    if (n != b->ndim)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%s' has %d dimensions and is accessed with %d indices",
                   b->name, b->ndim, n);
    return index_lanes(ctx, b->name, n, index);
}

gpuc_expr gpuc_tir_load(gpuc_ctx *ctx, const gpuc_tir_buffer *b, int n, const gpuc_expr *index)
{
    int lanes = gpuc_tir_index_lanes(ctx, b, n, index);
    gpuc_tir_load_node node = {
        .base = {.kind = GPUC_EXPR_LOAD, .dtype = gpuc_dtype_with_lanes(b->dtype, lanes)},
        .buffer = b,
        .n = n,
        .index = index,
    };
    return gpuc_tir_intern(ctx, &node.base, sizeof node);
}

gpuc_expr gpuc_tir_load1(gpuc_ctx *ctx, const gpuc_tir_buffer *b, gpuc_expr index)
{
    return gpuc_tir_load(ctx, b, 1, &index);
}

static gpuc_expr fold_reinterpret(gpuc_ctx *ctx, gpuc_dtype to, gpuc_expr a)
{
    gpuc_tir_value v;
    if (gpuc_tir_makes_words(to, a->dtype)) return NULL;
    if (a->dtype.bits != to.bits || a->dtype.lanes != to.lanes)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s (%s) cannot be read as %s: the sizes differ",
                   gpuc_tir_type_text(ctx, a->dtype), gpuc_tir_short_text(ctx, a),
                   gpuc_tir_type_text(ctx, to));
    if (gpuc_dtype_equal(a->dtype, to)) return a;
    if (!gpuc_tir_const_get(a, &v)) return NULL;
    gpuc_tir_value r = gpuc_tir_reinterpret(to, a->dtype, v);
    bool nan = (gpuc_is_float(to) && isnan(r.f)) || (gpuc_is_float(a->dtype) && isnan(v.f));
    return nan ? NULL : gpuc_tir_const(ctx, to, r);
}

gpuc_expr gpuc_tir_call(gpuc_ctx *ctx, gpuc_dtype dtype, gpuc_tir_intrin fn, const char *name,
                        const gpuc_tir_buffer *buffer, int n, const gpuc_expr *args)
{
    check_type(ctx, dtype);
    for (int i = 0; i < n; i++) gpuc_tir_need(ctx, args[i], gpuc_tir_intrins[fn].text);
    if (fn == GPUC_TIR_CALL_REINTERPRET && n == 1) {
        gpuc_expr folded = fold_reinterpret(ctx, dtype, args[0]);
        if (folded) return folded;
    }
    /* A pass has put what was global where it needs no fetching. */
    bool near = fn == GPUC_TIR_CALL_PREFETCH && buffer && buffer->scope != GPUC_SCOPE_GLOBAL;
    if (near) return gpuc_imm_int(ctx, dtype, 0);
    gpuc_tir_call_node node = {
        .base = {.kind = GPUC_EXPR_CALL, .dtype = dtype},
        .fn = fn,
        .name = name,
        .buffer = buffer,
        .n = n,
        .args = args,
    };
    return gpuc_tir_intern(ctx, &node.base, sizeof node);
}

gpuc_expr gpuc_tir_stride(gpuc_ctx *ctx, const gpuc_tir_buffer *b, int dim)
{
    if (b->strides) return gpuc_cast(ctx, GPUC_INT64, b->strides[dim]);
    gpuc_expr n = gpuc_imm_int(ctx, GPUC_INT64, 1);
    for (int i = dim + 1; i < b->ndim; i++) n = gpuc_mul(ctx, n, gpuc_cast(ctx, GPUC_INT64, b->shape[i]));
    return n;
}

gpuc_expr gpuc_tir_read(gpuc_ctx *ctx, gpuc_dtype dtype, struct gpuc_te_tensor *t, int n,
                        const gpuc_expr *index)
{
    check_type(ctx, dtype);
    int lanes = index_lanes(ctx, "a tensor", n, index);
    gpuc_tir_read_node node = {
        .base = {.kind = GPUC_EXPR_READ, .dtype = gpuc_dtype_with_lanes(dtype, lanes)},
        .tensor = t,
        .n = n,
        .index = index,
    };
    return gpuc_tir_intern(ctx, &node.base, sizeof node);
}

gpuc_expr gpuc_tir_reduce(gpuc_ctx *ctx, const gpuc_tir_reducer *r, const gpuc_expr *source, int num_axes,
                          gpuc_iter *const *axes, gpuc_expr condition, int value_index)
{
    if (value_index < 0 || value_index >= r->count)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the reducer '%s' has %d values, there is no number %d",
                   r->name, r->count, value_index);
    for (int i = 0; i < r->count; i++)
        if (!gpuc_dtype_equal(gpuc_tir_need(ctx, source[i], r->name)->dtype, r->lhs[i]->dtype))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the reducer '%s' is of %s and gets %s (%s)", r->name,
                       gpuc_tir_type_text(ctx, r->lhs[i]->dtype), gpuc_tir_type_text(ctx, source[i]->dtype),
                       gpuc_tir_short_text(ctx, source[i]));
    if (condition && !gpuc_dtype_equal(condition->dtype, GPUC_BOOL))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the condition of a reduction has type %s (%s), not bool",
                   gpuc_tir_type_text(ctx, condition->dtype), gpuc_tir_short_text(ctx, condition));
    if (condition && gpuc_tir_is_const(condition, 1)) condition = NULL;
    gpuc_tir_reduce_node node = {
        .base = {.kind = GPUC_EXPR_REDUCE, .dtype = source[value_index]->dtype},
        .reducer = r,
        .source = source,
        .num_axes = num_axes,
        .axes = axes,
        .condition = condition,
        .value_index = value_index,
    };
    return gpuc_tir_intern(ctx, &node.base, sizeof node);
}

gpuc_expr gpuc_tir_intrinsic(gpuc_ctx *ctx, gpuc_dtype dtype, const char *name, const char *function,
                             const gpuc_tir_buffer *buffer, int n, const gpuc_expr *args)
{
    gpuc_tir_intrin fn;
    if (!name || !gpuc_tir_intrin_find(name, &fn))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "there is no intrinsic '%.64s'", name ? name : "NULL");
    if (n > 0) gpuc_tir_check_list(ctx, n, args, "the arguments of an intrinsic");
    return gpuc_tir_call(ctx, dtype, fn, function, buffer, n, args);
}
