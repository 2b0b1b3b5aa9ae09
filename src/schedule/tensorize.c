/* SPDX-License-Identifier: Apache-2.0 */
/* Intrinsics in the place of loops. The computation of the loops must be the pattern's: the same expression,
 * in which each placeholder of the pattern stands for one tensor, read along the same loops. */
#include <string.h>

#include "schedule/internal.h"

enum { MAX_AXES = 8 };

struct gpuc_tensor_region {
    const gpuc_tensor_intrin *intrin;
    const gpuc_tir_buffer *buffer;
    int ndim;                        /* of the pattern's tensor */
    const gpuc_expr *base;           /* index of its first element, per dimension of the buffer */
    const gpuc_expr *step[MAX_AXES]; /* [dimension of the pattern's tensor][dimension of the buffer] */
};

static const gpuc_iter *pattern_axis(const gpuc_te_op *p, int i)
{
    return i < p->num_axes ? p->axes[i] : p->reduce[i - p->num_axes];
}

static int pattern_rank(const gpuc_te_op *p)
{
    return p->num_axes + p->num_reduce;
}

/* ---- Declaring -------------------------------------------------------------------------------------- */

typedef struct declare {
    gpuc_ctx *ctx;
    const gpuc_tensor_intrin *intrin;
} declare;

static int axis_of(const gpuc_te_op *p, gpuc_expr var)
{
    for (int i = 0; i < pattern_rank(p); i++)
        if (pattern_axis(p, i)->var == var) return i;
    return -1;
}

static bool check_read(gpuc_expr e, void *arg)
{
    declare *d = arg;
    if (e->kind != GPUC_EXPR_READ) return true;
    const gpuc_tir_read_node *r = gpuc_as_read(e);
    bool known = false;
    for (int i = 0; i < d->intrin->num_inputs; i++) known |= d->intrin->inputs[i] == r->tensor;
    if (!known)
        gpuc_raise(d->ctx, GPUC_INVALID_ARGUMENT, "intrinsic '%s' reads '%s', which is none of its inputs",
                   d->intrin->name, r->tensor->name);
    for (int i = 0; i < r->n; i++) {
        bool plain = axis_of(d->intrin->pattern, r->index[i]) >= 0;
        for (int k = 0; k < i; k++) plain &= r->index[k] != r->index[i];
        if (!plain)
            gpuc_raise(d->ctx, GPUC_INVALID_ARGUMENT,
                       "intrinsic '%s': dimension %d of '%s' must be read at an axis of its own",
                       d->intrin->name, i, r->tensor->name);
    }
    return true;
}

gpuc_tensor_intrin *gpuc_tensor_intrin_declare(gpuc_ctx *ctx, const char *name, gpuc_tensor *pattern,
                                               int num_inputs, gpuc_tensor *const *inputs,
                                               gpuc_tensor_emit emit, void *arg)
{
    if (!name || !emit || (num_inputs > 0 && !inputs))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "declaring an intrinsic: its %s is NULL",
                   !name   ? "name"
                   : !emit ? "emit"
                           : "list of inputs");
    if (num_inputs < 0) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "intrinsic '%s': %d inputs", name, num_inputs);
    gpuc_te_need_tensor(ctx, pattern, gpuc_ctx_printf(ctx, "the pattern of intrinsic '%s'", name));
    for (int i = 0; i < num_inputs; i++)
        gpuc_te_need_tensor(ctx, inputs[i], gpuc_ctx_printf(ctx, "input %d of intrinsic '%s'", i, name));
    gpuc_tensor_intrin *t = gpuc_new(ctx, gpuc_tensor_intrin);
    const gpuc_te_op *p = pattern->op;
    int64_t extent;
    *t = (gpuc_tensor_intrin){.name = gpuc_ctx_strdup(ctx, name),
                              .pattern = p,
                              .num_inputs = num_inputs,
                              .inputs = gpuc_ctx_memdup(ctx, inputs, sizeof *inputs * (size_t)num_inputs),
                              .emit = emit,
                              .arg = arg};
    if (p->kind != GPUC_TE_COMPUTE || p->num_outputs != 1 || pattern_rank(p) < 1 ||
        pattern_rank(p) > MAX_AXES)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "intrinsic '%s': its pattern must be a compute of one output and 1 to %d axes", name,
                   MAX_AXES);
    for (int i = 0; i < pattern_rank(p); i++)
        if (!gpuc_expr_is_int(pattern_axis(p, i)->extent, &extent))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "intrinsic '%s': the extent of axis '%s' is not constant",
                       name, gpuc_schedule_iter_name(pattern_axis(p, i)));
    for (int i = 0; i < num_inputs; i++)
        if (inputs[i]->op->kind != GPUC_TE_PLACEHOLDER || inputs[i]->ndim > MAX_AXES)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "intrinsic '%s': input %d is no placeholder", name, i);
    declare d = {.ctx = ctx, .intrin = t};
    gpuc_tir_visit(ctx, p->bodies[0], check_read, &d);
    return t;
}

/* ---- Matching --------------------------------------------------------------------------------------- */

enum { MAX_SWAPS = 4 }; /* operators whose operands are tried both ways */

/* Reads of the pattern and what stands in their place; an input that is read twice must be the same twice. */
typedef struct match {
    gpuc_ctx *ctx;
    unsigned swaps; /* bit i: the operands of commutative operator i are taken the other way round */
    int operators;
    int n;
    gpuc_expr pattern[MAX_AXES], found[MAX_AXES];
} match;

static bool same(match *m, gpuc_expr p, gpuc_expr e);

static bool same_operands(match *m, int n, const gpuc_expr *p, const gpuc_expr *e)
{
    for (int i = 0; i < n; i++)
        if (!same(m, p[i], e[i])) return false;
    return true;
}

static bool same_op(match *m, const gpuc_tir_opexpr_node *p, const gpuc_tir_opexpr_node *e)
{
    const gpuc_tir_op_info *info = &gpuc_tir_ops[p->op];
    if (p->op != e->op) return false;
    const gpuc_expr swapped[2] = {e->a[1], e->a[0]};
    bool swap = info->flags & GPUC_TIR_COMM && m->operators < MAX_SWAPS && m->swaps >> m->operators++ & 1;
    return same_operands(m, info->arity, p->a, swap ? swapped : e->a);
}

static bool same_read(match *m, gpuc_expr p, gpuc_expr e)
{
    for (int i = 0; i < m->n; i++)
        if (m->pattern[i] == p) return m->found[i] == e;
    if (m->n == MAX_AXES) return false;
    m->pattern[m->n] = p;
    m->found[m->n++] = e;
    return true;
}

static bool same(match *m, gpuc_expr p, gpuc_expr e)
{
    if (p == e) return true;
    if (p->kind != e->kind || !gpuc_dtype_equal(p->dtype, e->dtype)) return false;
    if (p->kind == GPUC_EXPR_READ) return same_read(m, p, e);
    if (p->kind == GPUC_EXPR_CAST) return same(m, gpuc_as_cast(p)->a, gpuc_as_cast(e)->a);
    if (p->kind == GPUC_EXPR_OP) return same_op(m, gpuc_as_op(p), gpuc_as_op(e));
    if (p->kind != GPUC_EXPR_CALL) return false;
    const gpuc_tir_call_node *a = gpuc_as_call(p), *b = gpuc_as_call(e);
    return a->fn == b->fn && a->n == b->n && gpuc_tir_is_value(a->fn) &&
           same_operands(m, a->n, a->args, b->args);
}

static bool same_body(match *m, gpuc_expr p, gpuc_expr e)
{
    if (p->kind != GPUC_EXPR_REDUCE || e->kind != GPUC_EXPR_REDUCE)
        return p->kind != GPUC_EXPR_REDUCE && e->kind != GPUC_EXPR_REDUCE && same(m, p, e);
    const gpuc_tir_reduce_node *a = gpuc_as_reduce(p), *b = gpuc_as_reduce(e);
    if (a->reducer->count != 1 || b->reducer->count != 1 || strcmp(a->reducer->name, b->reducer->name) != 0)
        return false;
    return !a->condition && !b->condition && same(m, a->source[0], b->source[0]);
}

/* Matches op with the pattern, over all orders of the operands of commutative operators. `fits` may refuse a
 * match. */
static bool find_match(gpuc_ctx *ctx, const gpuc_tensor_intrin *t, const gpuc_te_op *op,
                       bool (*fits)(const match *m, void *arg), void *arg, match *m)
{
    if (op->kind != GPUC_TE_COMPUTE || op->num_outputs != 1) return false;
    for (unsigned swaps = 0; swaps < 1u << MAX_SWAPS; swaps++) {
        *m = (match){.ctx = ctx, .swaps = swaps};
        if (same_body(m, t->pattern->bodies[0], op->bodies[0]) && (!fits || fits(m, arg))) return true;
        if (swaps + 1 >= 1u << m->operators) break;
    }
    return false;
}

static void need_match(gpuc_ctx *ctx, const gpuc_stage *st, const gpuc_tensor_intrin *t, const gpuc_te_op *op,
                       match *m)
{
    if (!find_match(ctx, t, op, NULL, NULL, m))
        gpuc_stage_fail(st, "tensorize: the stage does not compute what %s does, %s", t->name,
                        gpuc_expr_text(ctx, t->pattern->bodies[0]));
}

/* Which axis of the pattern each loop is. */
static void need_axes(const gpuc_stage *st, const gpuc_tensor_intrin *t, int n, const gpuc_iter *const *loops,
                      int *axes)
{
    const gpuc_te_op *p = t->pattern;
    int next[2] = {0, p->num_axes}, end[2] = {p->num_axes, pattern_rank(p)};
    if (n != pattern_rank(p))
        gpuc_stage_fail(st, "tensorize: %d loops from '%s' inwards, %s has %d axes", n,
                        gpuc_schedule_iter_name(loops[0]), t->name, pattern_rank(p));
    for (int i = 0; i < n; i++) {
        int kind = loops[i]->kind == GPUC_ITER_REDUCE, k = next[kind]++;
        int64_t have = -1, want = -2;
        if (k < end[kind]) gpuc_expr_is_int(pattern_axis(p, k)->extent, &want);
        gpuc_expr_is_int(loops[i]->extent, &have);
        if (have != want)
            gpuc_stage_fail(st, "tensorize: '%s' of extent %s fits no axis of %s",
                            gpuc_schedule_iter_name(loops[i]),
                            gpuc_expr_text(st->schedule->ctx, loops[i]->extent), t->name);
        axes[i] = k;
    }
}

void gpuc_stage_tensorize(gpuc_stage *st, gpuc_iter *iter, const gpuc_tensor_intrin *intrin)
{
    int at = gpuc_stage_need_leaf(st, iter, "tensorize"), axes[MAX_AXES];
    match m;
    gpuc_stage_need(st, intrin, "tensorize", "intrinsic");
    need_match(st->schedule->ctx, st, intrin, st->op, &m);
    need_axes(st, intrin, st->num_leaves - at, (const gpuc_iter *const *)st->leaves + at, axes);
    for (int i = at; i < st->num_leaves; i++)
        if (gpuc_stage_note(st, st->leaves[i]).kind == GPUC_LOOP_THREAD)
            gpuc_stage_fail(st, "tensorize: '%s' is bound to a thread",
                            gpuc_schedule_iter_name(st->leaves[i]));
    gpuc_stage_note_make(st, iter)->intrin = intrin;
}

/* ---- Regions ---------------------------------------------------------------------------------------- */

typedef struct runner {
    gpuc_ctx *ctx;
    gpuc_analyzer *a;
    const gpuc_stage *st;
    const gpuc_tensor_intrin *intrin;
    const gpuc_te_emit *e;
    int rank;
    gpuc_expr var[MAX_AXES]; /* loop variable of each axis of the pattern */
} runner;

/* The region of an access at loop variables. axes: of the pattern, one per dimension of its tensor. */
static const gpuc_tensor_region *region(runner *r, const char *name, const gpuc_tir_buffer *b,
                                        const gpuc_expr *index, int ndim, const int *axes)
{
    gpuc_tensor_region *g = gpuc_new(r->ctx, gpuc_tensor_region);
    gpuc_expr *base = gpuc_new_array(r->ctx, gpuc_expr, b->ndim);
    gpuc_expr *step[MAX_AXES];
    bool used[MAX_AXES] = {false};
    for (int d = 0; d < ndim; d++) {
        g->step[d] = step[d] = gpuc_new_array(r->ctx, gpuc_expr, b->ndim);
        used[axes[d]] = true;
    }
    for (int i = 0; i < b->ndim; i++) {
        gpuc_expr coeff[MAX_AXES], at = gpuc_arith_simplify(r->a, index[i]);
        if (!gpuc_arith_linear(r->a, at, r->rank, r->var, coeff, &base[i]))
            gpuc_stage_fail(r->st, "tensorize: %s needs elements of '%s' at equal distances; index %d is %s",
                            r->intrin->name, name, i, gpuc_expr_text(r->ctx, at));
        for (int x = 0; x < r->rank; x++)
            if (!used[x] && !gpuc_tir_is_const(coeff[x], 0))
                gpuc_stage_fail(r->st, "tensorize: '%s' depends on axis '%s' of %s, whose pattern's does not",
                                name, gpuc_schedule_iter_name(pattern_axis(r->intrin->pattern, x)),
                                r->intrin->name);
        for (int d = 0; d < ndim; d++) step[d][i] = coeff[axes[d]];
    }
    g->intrin = r->intrin;
    g->buffer = b;
    g->ndim = ndim;
    g->base = base;
    return g;
}

/* Whether the tensor that stands for each read of the pattern is indexed by the loops of that read only. */
static bool reads_fit(const match *m, void *arg)
{
    const runner *r = arg;
    for (int i = 0; i < m->n; i++) {
        const gpuc_tir_read_node *p = gpuc_as_read(m->pattern[i]);
        const gpuc_tir_load_node *load = gpuc_as_load(gpuc_te_emit_expr(r->ctx, r->e, m->found[i]));
        for (int x = 0; x < r->rank; x++) {
            bool may = false, does = false;
            for (int d = 0; d < p->n; d++) may |= axis_of(r->intrin->pattern, p->index[d]) == x;
            for (int d = 0; d < load->n; d++)
                does |= gpuc_tir_uses_var(r->ctx, gpuc_arith_simplify(r->a, load->index[d]), r->var[x]);
            if (does && !may) return false;
        }
    }
    return true;
}

static const gpuc_tensor_region *input_region(runner *r, const gpuc_te_emit *e, const match *m, int k)
{
    const gpuc_tensor *t = r->intrin->inputs[k];
    for (int i = 0; i < m->n; i++) {
        const gpuc_tir_read_node *p = gpuc_as_read(m->pattern[i]);
        int axes[MAX_AXES];
        if (p->tensor != t) continue;
        for (int d = 0; d < p->n; d++) axes[d] = axis_of(r->intrin->pattern, p->index[d]);
        const gpuc_tir_load_node *load = gpuc_as_load(gpuc_te_emit_expr(r->ctx, e, m->found[i]));
        return region(r, gpuc_as_read(m->found[i])->tensor->name, load->buffer, load->index, p->n, axes);
    }
    return NULL;
}

gpuc_stmt gpuc_tensor_intrin_run(gpuc_analyzer *a, const gpuc_stage *st, const gpuc_tensor_intrin *intrin,
                                 const gpuc_te_emit *e, int n, const gpuc_iter *const *loops,
                                 const gpuc_expr *vars)
{
    gpuc_ctx *ctx = st->schedule->ctx;
    const gpuc_te_op *p = intrin->pattern;
    runner r = {.ctx = ctx, .a = a, .st = st, .intrin = intrin, .e = e, .rank = pattern_rank(p)};
    match m;
    int axes[MAX_AXES];
    need_axes(st, intrin, n, loops, axes);
    for (int i = 0; i < n; i++) r.var[axes[i]] = vars[i];
    if (!find_match(ctx, intrin, e->op, reads_fit, &r, &m)) need_match(ctx, st, intrin, e->op, &m);
    const gpuc_tensor_region **in = gpuc_new_array(ctx, const gpuc_tensor_region *, intrin->num_inputs);
    for (int i = 0; i < intrin->num_inputs; i++) in[i] = input_region(&r, e, &m, i);
    for (int i = 0; i < p->num_axes; i++) axes[i] = i;
    gpuc_stmt any = gpuc_te_emit_store(ctx, e, 0, gpuc_imm_int(ctx, e->op->outputs[0]->dtype, 0));
    const gpuc_tir_store_node *store = gpuc_as_store(any);
    const gpuc_tensor_region *out =
        region(&r, e->op->outputs[0]->name, store->buffer, store->index, p->num_axes, axes);
    return intrin->emit(ctx, in, out, intrin->arg);
}

static void need_region(gpuc_ctx *ctx, const gpuc_tensor_region *r, const void *index)
{
    if (!r) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the region of an intrinsic is NULL");
    if (!index && r->ndim > 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "intrinsic '%s': the index into a region of %d dimensions is NULL", r->intrin->name,
                   r->ndim);
}

static const gpuc_expr *element_at(gpuc_ctx *ctx, const gpuc_tensor_region *r, const gpuc_expr *index)
{
    gpuc_expr *at = gpuc_new_array(ctx, gpuc_expr, r->buffer->ndim);
    for (int i = 0; i < r->buffer->ndim; i++) {
        at[i] = r->base[i];
        for (int d = 0; d < r->ndim; d++) {
            gpuc_expr step = r->step[d][i];
            at[i] = gpuc_add(ctx, at[i], gpuc_mul(ctx, step, gpuc_cast(ctx, step->dtype, index[d])));
        }
    }
    return at;
}

static const gpuc_expr *element(gpuc_ctx *ctx, const gpuc_tensor_region *r, const int64_t *index)
{
    gpuc_expr at[MAX_AXES];
    need_region(ctx, r, index);
    for (int d = 0; d < r->ndim; d++) at[d] = gpuc_int(ctx, index[d]);
    return element_at(ctx, r, at);
}

gpuc_expr gpuc_tensor_region_load_at(gpuc_ctx *ctx, const gpuc_tensor_region *r, const gpuc_expr *index)
{
    need_region(ctx, r, index);
    return gpuc_tir_load(ctx, r->buffer, r->buffer->ndim, element_at(ctx, r, index));
}

gpuc_stmt gpuc_tensor_region_store_at(gpuc_ctx *ctx, const gpuc_tensor_region *r, const gpuc_expr *index,
                                      gpuc_expr value)
{
    need_region(ctx, r, index);
    return gpuc_tir_store(ctx, r->buffer, r->buffer->ndim, element_at(ctx, r, index), value);
}

const char *gpuc_tensor_region_scope(const gpuc_tensor_region *r)
{
    return r ? gpuc_scope_name(r->buffer->scope) : NULL;
}

gpuc_expr gpuc_tensor_region_load(gpuc_ctx *ctx, const gpuc_tensor_region *r, const int64_t *index, int lanes)
{
    const gpuc_expr *at = element(ctx, r, index);
    int n = r->buffer->ndim, last = r->ndim - 1, along = 0;
    if (lanes > 1 && last < 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "intrinsic '%s': a vector of %d elements of a region without dimensions", r->intrin->name,
                   lanes);
    if (lanes == 1) return gpuc_tir_load(ctx, r->buffer, n, at);
    for (int i = 0; i < n; i++) along += !gpuc_tir_is_const(r->step[last][i], 0);
    if (along == 1 && gpuc_tir_is_const(r->step[last][n - 1], 1)) {
        gpuc_expr *vector = gpuc_ctx_memdup(ctx, at, sizeof *at * (size_t)n);
        vector[n - 1] = gpuc_tir_ramp(ctx, at[n - 1], r->step[last][n - 1], lanes);
        return gpuc_tir_load(ctx, r->buffer, n, vector);
    }
    gpuc_expr *parts = gpuc_new_array(ctx, gpuc_expr, lanes);
    int64_t next[MAX_AXES];
    memcpy(next, index, sizeof *index * (size_t)r->ndim);
    for (int i = 0; i < lanes; i++, next[last]++) parts[i] = gpuc_tensor_region_load(ctx, r, next, 1);
    return gpuc_tir_vector(ctx, lanes, parts);
}

gpuc_stmt gpuc_tensor_region_store(gpuc_ctx *ctx, const gpuc_tensor_region *r, const int64_t *index,
                                   gpuc_expr value)
{
    const gpuc_expr *at = element(ctx, r, index);
    return gpuc_tir_store(ctx, r->buffer, r->buffer->ndim, at, value);
}
