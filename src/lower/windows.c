/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements of a tensor a range of work-groups touches, so that a launch can be cut where a tensor is
 * larger than one binding. */
#include "abi/window.h"
#include "lower/common/ranges.h"
#include "lower/common/util.h"

typedef struct reach {
    const gpuc_tir_buffer *buffer;
    gpuc_interval elements;
    bool touched, wanted;
} reach;

typedef struct finder {
    gpuc_ctx *ctx;
    gpuc_ranges r;
    const gpuc_tir_func *f;
    reach *reaches;    /* of each buffer of the kernel */
    gpuc_map seen;     /* indices of the statement at hand */
    gpuc_map groups;   /* the numbers of the first and the last group */
    gpuc_expr reached; /* whether some group reaches the statement at hand; NULL: yes, or not known */
    gpuc_expr holds;   /* condition under which all that is found is right */
} finder;

/* The interval of the index over all lanes. */
static gpuc_interval indices(finder *w, gpuc_expr index)
{
    gpuc_ctx *ctx = w->ctx;
    if (index->kind == GPUC_EXPR_BROADCAST) return indices(w, gpuc_as_broadcast(index)->a);
    if (index->kind == GPUC_EXPR_RAMP) {
        const gpuc_tir_ramp_node *n = gpuc_as_ramp(index);
        gpuc_expr more = gpuc_imm_int(ctx, n->stride->dtype, index->dtype.lanes - 1);
        gpuc_expr last = gpuc_add(ctx, n->start, gpuc_mul(ctx, n->stride, more));
        return gpuc_arith_interval_union(w->r.a, indices(w, n->start), indices(w, last));
    }
    if (index->kind == GPUC_EXPR_VECTOR) {
        gpuc_interval all = indices(w, gpuc_as_vector(index)->a[0]);
        for (int i = 1; i < index->dtype.lanes; i++)
            all = gpuc_arith_interval_union(w->r.a, all, indices(w, gpuc_as_vector(index)->a[i]));
        return all;
    }
    return gpuc_lower_ranges_eval(&w->r, index);
}

static bool is_no_group(gpuc_expr e, void *arg)
{
    return !gpuc_map_has(arg, e);
}

static bool has_groups(finder *w, gpuc_expr e)
{
    return e && !gpuc_tir_visit(w->ctx, e, is_no_group, &w->groups);
}

/* Restricts the interval to the work-groups that reach the statement, so that an element which only the last
 * one reads does not widen all windows. */
static gpuc_interval where_reached(finder *w, gpuc_interval x)
{
    gpuc_ctx *ctx = w->ctx;
    if (!w->reached || has_groups(w, x.min) || has_groups(w, x.max)) return x;
    if (x.min) x.min = gpuc_select(ctx, w->reached, x.min, gpuc_imm_int(ctx, x.min->dtype, INT32_MAX));
    if (x.max) x.max = gpuc_select(ctx, w->reached, x.max, gpuc_imm_int(ctx, x.max->dtype, -1));
    return x;
}

/* The condition on the groups under which the comparison may hold; NULL: it may hold for any groups. */
static gpuc_expr may_hold(finder *w, gpuc_expr cond)
{
    const gpuc_tir_opexpr_node *n = cond->kind == GPUC_EXPR_OP ? gpuc_as_op(cond) : NULL;
    if (!n || (n->op != GPUC_TIR_LT && n->op != GPUC_TIR_LE && n->op != GPUC_TIR_EQ)) return NULL;
    if (!gpuc_is_integer(n->a[0]->dtype) || cond->dtype.lanes != 1) return NULL;
    gpuc_interval x = gpuc_lower_ranges_eval(&w->r, n->a[0]), y = gpuc_lower_ranges_eval(&w->r, n->a[1]);
    gpuc_expr below = NULL, above = NULL;
    if (x.min && y.max)
        below = gpuc_tir_make(w->ctx, n->op == GPUC_TIR_LT ? GPUC_TIR_LT : GPUC_TIR_LE, x.min, y.max, NULL);
    if (n->op == GPUC_TIR_EQ && y.min && x.max) above = gpuc_le(w->ctx, y.min, x.max);
    if (!has_groups(w, below)) below = NULL;
    if (!has_groups(w, above)) above = NULL;
    return below && above ? gpuc_and(w->ctx, below, above) : below ? below : above;
}

static gpuc_expr reached_if(finder *w, gpuc_expr cond)
{
    gpuc_ptrs parts = {0};
    gpuc_expr all = w->reached;
    gpuc_lower_conjuncts(w->ctx, cond, &parts);
    for (size_t i = 0; i < parts.count; i++) {
        gpuc_expr may = may_hold(w, parts.at[i]);
        if (may) all = all ? gpuc_and(w->ctx, all, may) : may;
    }
    return all;
}

static void note(const gpuc_lower_access *access, void *arg)
{
    finder *w = arg;
    for (int i = 0; i < w->f->num_buffers; i++) {
        reach *x = &w->reaches[i];
        if (x->buffer != access->buffer || !x->wanted) continue;
        if (access->index && x->touched && gpuc_map_get(&w->seen, access->index) == x) return;
        gpuc_interval now = {NULL, NULL};
        if (access->index) {
            gpuc_map_set(&w->seen, access->index, x);
            now = where_reached(w, indices(w, access->index));
        }
        x->elements = x->touched ? gpuc_arith_interval_union(w->r.a, x->elements, now) : now;
        x->touched = true;
        x->wanted = x->elements.min || x->elements.max;
    }
}

static void use(finder *w, gpuc_expr e)
{
    if (e) gpuc_lower_expr_accesses(w->ctx, e, note, w);
}

static void walk(finder *w, gpuc_stmt s)
{
    if (!s) return;
    gpuc_map_init(&w->seen, w->ctx);
    switch (s->kind) {
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        use(w, n->min);
        use(w, n->extent);
        gpuc_lower_ranges_set_loop(&w->r, n->var, n->min, n->extent);
        walk(w, n->body);
        return;
    }
    case GPUC_STMT_LET:
        use(w, gpuc_as_let(s)->value);
        gpuc_lower_ranges_set_let(&w->r, gpuc_as_let(s));
        walk(w, gpuc_as_let(s)->body);
        return;
    case GPUC_STMT_IF: {
        gpuc_expr outside = w->reached, cond = gpuc_as_if(s)->cond;
        use(w, cond);
        w->reached = reached_if(w, cond);
        walk(w, gpuc_as_if(s)->then_body);
        w->reached = outside;
        if (gpuc_as_if(s)->else_body) w->reached = reached_if(w, gpuc_not(w->ctx, cond));
        walk(w, gpuc_as_if(s)->else_body);
        w->reached = outside;
        return;
    }
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) walk(w, gpuc_as_seq(s)->at[i]);
        return;
    case GPUC_STMT_ALLOC: walk(w, gpuc_as_alloc(s)->body); return;
    case GPUC_STMT_ATTR: walk(w, gpuc_as_attr(s)->body); return;
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL: gpuc_lower_accesses(w->ctx, s, note, w); return;
    case GPUC_STMT_KIND_COUNT: return;
    }
}

/* ---- Over the first and the last group ---- */

/* Sizes are above 0 where anything is computed, which divisions by them need. */
static bool bind_size(gpuc_expr e, void *arg)
{
    finder *w = arg;
    gpuc_ctx *ctx = w->ctx;
    if (e->kind != GPUC_EXPR_VAR || !gpuc_is_integer(e->dtype)) return true;
    gpuc_expr one = gpuc_imm_int(ctx, e->dtype, 1);
    gpuc_arith_analyzer_bind(w->r.a, e, one, gpuc_imm_int(ctx, e->dtype, INT32_MAX - 1));
    gpuc_expr holds = gpuc_le(ctx, one, e);
    w->holds = w->holds ? gpuc_and(ctx, w->holds, holds) : holds;
    return true;
}

static void bind_sizes(finder *w)
{
    gpuc_expr all = gpuc_int(w->ctx, 0);
    for (int i = 0; i < w->f->num_buffers; i++) all = gpuc_add(w->ctx, all, w->f->buffers[i]->shape[0]);
    gpuc_tir_visit(w->ctx, all, bind_size, w);
}

/* Gives each block dimension the interval from the number of the first group to that of the last one. */
static const gpuc_expr *set_threads(finder *w)
{
    static const char *const names[GPUC_WINDOW_SYMBOLS] = {"first_x", "first_y", "first_z",
                                                           "last_x",  "last_y",  "last_z"};
    gpuc_ctx *ctx = w->ctx;
    const gpuc_tir_func *f = w->f;
    gpuc_expr *groups = gpuc_new_array(ctx, gpuc_expr, GPUC_WINDOW_SYMBOLS);
    for (int i = 0; i < GPUC_WINDOW_SYMBOLS; i++) groups[i] = gpuc_var(ctx, names[i], GPUC_INDEX);
    for (int i = 0; i < f->num_threads; i++) {
        const gpuc_tir_thread *t = &f->threads[i];
        gpuc_expr zero = gpuc_imm_int(ctx, t->var->dtype, 0);
        gpuc_arith_analyzer_bind(w->r.a, t->var, zero, t->extent);
        if (!gpuc_is_block_tag(t->tag)) {
            gpuc_lower_ranges_set_loop(&w->r, t->var, zero, t->extent);
            continue;
        }
        gpuc_expr *ends = groups + (t->tag - GPUC_BLOCK_X);
        for (int last = 0; last <= 3; last += 3) {
            if (!gpuc_dtype_equal(ends[last]->dtype, t->var->dtype))
                ends[last] = gpuc_var(ctx, gpuc_as_var(ends[last])->name, t->var->dtype);
            gpuc_arith_analyzer_bind(w->r.a, ends[last], zero, t->extent);
        }
        gpuc_lower_ranges_set(&w->r, t->var, (gpuc_interval){ends[0], ends[3]});
    }
    gpuc_map_init(&w->groups, ctx);
    for (int i = 0; i < GPUC_WINDOW_SYMBOLS; i++) gpuc_map_set(&w->groups, groups[i], (void *)groups[i]);
    return groups;
}

/* Whether the tensor may exceed a binding of some device; else it needs no window. */
static bool may_be_large(const gpuc_target *t, const gpuc_tir_buffer *b)
{
    int64_t count, min = t->max_buffer_range < GPUC_MIN_BINDING ? t->max_buffer_range : GPUC_MIN_BINDING;
    if (b->scope == GPUC_SCOPE_TEXTURE) return false;
    return !gpuc_lower_const_size(b, &count) || count > min / (int64_t)gpuc_dtype_bytes(b->dtype);
}

static gpuc_expr in_bytes(const finder *w, const reach *x, gpuc_expr element, int64_t more, int64_t otherwise)
{
    gpuc_ctx *ctx = w->ctx;
    gpuc_expr e = gpuc_add(ctx, gpuc_cast(ctx, GPUC_INDEX, element), gpuc_int(ctx, more));
    e = gpuc_mul(ctx, e, gpuc_int(ctx, (int64_t)gpuc_dtype_bytes(x->buffer->dtype)));
    e = gpuc_arith_simplify(w->r.a, e);
    return w->holds ? gpuc_select(ctx, w->holds, e, gpuc_int(ctx, otherwise)) : e;
}

static gpuc_tir_window window_of(const finder *w, const reach *x)
{
    gpuc_ctx *ctx = w->ctx;
    gpuc_expr min = x->elements.min, max = x->elements.max, zero = gpuc_int(ctx, 0);
    if (!x->wanted) return (gpuc_tir_window){NULL, NULL};
    if (!x->touched) return (gpuc_tir_window){zero, zero};
    return (gpuc_tir_window){min ? in_bytes(w, x, min, 0, 0) : zero,
                             max ? in_bytes(w, x, max, 1, INT64_MAX) : gpuc_int(ctx, INT64_MAX)};
}

gpuc_tir_func *gpuc_lower_windows(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    gpuc_ctx *ctx = p->ctx;
    const gpuc_target *t = p->target;
    if (!t->language->descriptors || !t->max_buffer_range || !f->body) return f;
    finder w = {.ctx = ctx, .f = f, .reaches = gpuc_new_array(ctx, reach, f->num_buffers)};
    bool any = false;
    for (int i = 0; i < f->num_buffers; i++) {
        bool large = may_be_large(t, f->buffers[i]);
        w.reaches[i] = (reach){.buffer = f->buffers[i], .wanted = large};
        any |= large;
    }
    if (!any) return f;
    gpuc_lower_ranges_init(&w.r, ctx, gpuc_arith_analyzer_create(ctx));
    bind_sizes(&w);
    gpuc_tir_func *out = gpuc_ctx_memdup(ctx, f, sizeof *f);
    gpuc_tir_window *windows = gpuc_new_array(ctx, gpuc_tir_window, f->num_buffers);
    out->groups = set_threads(&w);
    walk(&w, f->body);
    for (int i = 0; i < f->num_buffers; i++) windows[i] = window_of(&w, &w.reaches[i]);
    out->windows = windows;
    return out;
}
