/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts loops so that their middle has no conditions. For a loop over v and a condition a * v + r >= 0 in its
 * body, where r may have variables of inner loops, the iterations in which the condition holds for all inner
 * iterations are an interval. The loop is cut at the ends of the intersection of these intervals, and the
 * conditions are dropped in the middle. Launch dimensions and loops at root (each of which is a kernel) are
 * not cut: their body branches instead, also on conditions that divide v (loops that were fused). They do not
 * branch where threads work together: drivers miscompile (PoCL) or slowly compile (lavapipe) barriers in
 * branches, and code that is unrolled around shuffles is long. If there is only one condition, and it holds
 * exactly in the middle, it is false at the ends. Only the middle is partitioned again, and a body that is a
 * single loop, so that code grows linearly with the number of loops. Where a driver compiles while the program
 * waits, a long body is not copied for both ends: such a loop branches, too. */
#include "lower/common/util.h"

enum {
    MAX_BODY = 400,   /* nodes that may be copied */
    MAX_AT_ENDS = 96, /* steps of straight code there: a window of 3 x 3 for eight sums */
    MAX_AT_RARE_ENDS = 12,
    MAX_AT_BOTH = 24, /* max size of a body that is copied for both ends; a loop around more branches */
    RARE = 16,        /* min iterations of a loop whose ends count as rare */
    FEW = 5,          /* max iterations of a loop that is mostly ends: guards cost less there than copies */
    MAX_OF_FEW = 3    /* steps of straight code that are copied nevertheless */
};

typedef struct partitioner {
    gpuc_tir_mapper m;
    gpuc_analyzer *a;
    bool vectors; /* vectorize makes one test of the guards of a vector */
    bool ahead; /* compiled when building; drivers would take minutes for the code that more branches make */
    bool parts; /* what vectorize makes of a vector with a guard is little code */
    bool rolls; /* a driver for CPUs, for which long code at the ends of a loop costs too much time */
    bool shuffles;     /* the target has them: storage of scope warp needs no barriers */
    int loops;         /* around */
    int64_t copies;    /* that vthread makes of what is inside */
    gpuc_ptrs threads; /* loops over threads around: gpuc_tir_for_node */
} partitioner;

/* One loop and the conditions in its body that can be decided by its variable. */
typedef struct cut {
    gpuc_ctx *ctx;
    gpuc_analyzer *a;
    const gpuc_tir_for_node *loop;
    gpuc_map inner;    /* variable of an inner loop, or of a thread: all threads cut alike -> gpuc_interval */
    gpuc_ptrs removed; /* conditions that hold in the middle */
    gpuc_expr lo, hi;  /* the middle; NULL: the loop's own end */
    gpuc_expr also;    /* what must hold in the middle, too; NULL: nothing */
    bool vectors, shuffles; /* as the partitioner's */
    bool divides;           /* conditions in which the variable is divided are taken, too */
    bool divides_lanes;     /* of these, guards of the lanes of a vector are */
    bool branch;            /* not cut: one loop that branches, for launch dimensions and loops at the root */
    bool repeated;          /* the current condition is evaluated in a loop inside */
    bool bad;               /* the body holds something that must not be copied */
    gpuc_ptrs lanes;        /* variables of vectorised loops inside */
} cut;

/* ---- Conditions ------------------------------------------------------------------------------------------ */

static bool uses_inner(gpuc_expr e, void *arg)
{
    return e->kind != GPUC_EXPR_VAR || !gpuc_map_has(&((cut *)arg)->inner, e);
}

static gpuc_expr tighter(cut *c, gpuc_expr old, gpuc_expr now, bool low)
{
    if (!old) return now;
    return gpuc_arith_simplify(c->a, low ? gpuc_max(c->ctx, old, now) : gpuc_min(c->ctx, old, now));
}

/* Takes e >= 0, which must hold for all inner iterations, for an e that divides the variable. */
static void take_min(cut *c, gpuc_expr cond, gpuc_expr e)
{
    gpuc_ctx *ctx = c->ctx;
    gpuc_expr min = gpuc_arith_eval_interval(c->a, e, &c->inner).min;
    if (!min || !gpuc_tir_visit(ctx, min, uses_inner, c)) return;
    gpuc_expr holds = gpuc_le(ctx, gpuc_imm_int(ctx, min->dtype, 0), min);
    c->also = c->also ? gpuc_and(ctx, c->also, holds) : holds;
    gpuc_ptrs_push(ctx, &c->removed, cond);
}

/* Takes x <= y (or x < y), which must hold for all inner iterations: v >= or <= a bound. */
static void take_comparison(cut *c, gpuc_expr cond, gpuc_expr x, gpuc_expr y, bool strict, bool divides)
{
    gpuc_ctx *ctx = c->ctx;
    gpuc_expr coeff, rest, var = c->loop->var;
    int64_t a;
    if (x->dtype.code != GPUC_DTYPE_INT || !gpuc_lower_is_size(ctx, x) || !gpuc_lower_is_size(ctx, y)) return;
    gpuc_expr e = gpuc_sub(ctx, y, x);
    if (strict) e = gpuc_sub(ctx, e, gpuc_imm_int(ctx, e->dtype, 1));
    e = gpuc_arith_simplify(c->a, e);
    if (!gpuc_tir_uses_var(ctx, e, var)) return;
    bool linear = gpuc_arith_linear(c->a, e, 1, &var, &coeff, &rest) && gpuc_expr_is_int(coeff, &a) &&
                  a != 0 && a != INT64_MIN;
    if (!linear) {
        if (c->branch && divides) take_min(c, cond, e);
        return;
    }
    gpuc_expr min = gpuc_arith_eval_interval(c->a, rest, &c->inner).min;
    if (!min || !gpuc_tir_visit(ctx, min, uses_inner, c) || gpuc_tir_uses_var(ctx, min, var)) return;
    gpuc_expr step = gpuc_imm_int(ctx, e->dtype, a > 0 ? a : -a), zero = gpuc_imm_int(ctx, e->dtype, 0);
    gpuc_expr quotient = gpuc_floordiv_(ctx, min, step);
    if (a > 0) /* v >= ceil(-min / a) */
        c->lo = tighter(c, c->lo, gpuc_arith_simplify(c->a, gpuc_sub(ctx, zero, quotient)), true);
    else /* v < floor(min / -a) + 1 */
        c->hi = tighter(c, c->hi,
                        gpuc_arith_simplify(c->a, gpuc_add(ctx, quotient, gpuc_imm_int(ctx, e->dtype, 1))),
                        false);
    gpuc_ptrs_push(ctx, &c->removed, cond);
}

static void take_condition(cut *c, gpuc_expr cond, bool divides)
{
    gpuc_ptrs parts = {0};
    gpuc_lower_conjuncts(c->ctx, cond, &parts);
    for (size_t i = 0; i < parts.count; i++) {
        gpuc_expr e = parts.at[i];
        if (e->kind != GPUC_EXPR_OP) continue;
        const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
        if (n->op == GPUC_TIR_LT || n->op == GPUC_TIR_LE)
            take_comparison(c, e, n->a[0], n->a[1], n->op == GPUC_TIR_LT, divides);
    }
}

static bool find_selects(gpuc_expr e, void *arg)
{
    cut *c = arg;
    if (e->kind != GPUC_EXPR_OP) return true;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    if (n->op == GPUC_TIR_IF_THEN_ELSE || n->op == GPUC_TIR_SELECT) take_condition(c, n->a[0], c->divides);
    return true;
}

static void search_expr(cut *c, gpuc_expr e)
{
    if (c->repeated || !c->branch) gpuc_tir_visit(c->ctx, e, find_selects, c);
}

static bool uses_lane(const cut *c, gpuc_expr e)
{
    for (size_t i = 0; i < c->lanes.count; i++)
        if (gpuc_tir_uses_var(c->ctx, e, c->lanes.at[i])) return true;
    return false;
}

static void add_inner(cut *c, const gpuc_tir_for_node *n)
{
    if (n->loop == GPUC_LOOP_VECTORIZED) gpuc_ptrs_push(c->ctx, &c->lanes, n->var);
    gpuc_interval *r = gpuc_new(c->ctx, gpuc_interval);
    gpuc_expr one = gpuc_imm_int(c->ctx, n->var->dtype, 1);
    *r = (gpuc_interval){n->min, gpuc_sub(c->ctx, gpuc_add(c->ctx, n->min, n->extent), one)};
    gpuc_map_set(&c->inner, n->var, r);
}

static void search(cut *c, gpuc_stmt s)
{
    if (!s) return;
    switch (s->kind) {
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        add_inner(c, n);
        bool outer = c->repeated;
        c->repeated =
            outer || !(n->loop == GPUC_LOOP_THREAD || (c->vectors && n->loop == GPUC_LOOP_VECTORIZED));
        search(c, n->body);
        c->repeated = outer;
        return;
    }
    case GPUC_STMT_IF:
        if (c->repeated || !c->branch)
            take_condition(c, gpuc_as_if(s)->cond,
                           c->divides || (c->divides_lanes && uses_lane(c, gpuc_as_if(s)->cond)));
        search(c, gpuc_as_if(s)->then_body);
        search(c, gpuc_as_if(s)->else_body);
        return;
    case GPUC_STMT_STORE:
        /* Conditions of loads into warp storage cost little beside the code that uses it, which would be
         * copied. */
        if (c->shuffles && gpuc_as_store(s)->buffer->scope == GPUC_SCOPE_WARP) return;
        for (int i = 0; i < gpuc_as_store(s)->n; i++) search_expr(c, gpuc_as_store(s)->index[i]);
        search_expr(c, gpuc_as_store(s)->value);
        return;
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) search(c, gpuc_as_seq(s)->at[i]);
        return;
    case GPUC_STMT_ALLOC: search(c, gpuc_as_alloc(s)->body); return;
    case GPUC_STMT_LET: c->bad = true; return;
    case GPUC_STMT_EVAL: c->bad = true; return;
    case GPUC_STMT_ATTR:
        if (gpuc_lower_is_allreduce(s) || gpuc_tir_is_coopmat(s)) c->bad = true;
        search(c, gpuc_as_attr(s)->body);
        return;
    case GPUC_STMT_KIND_COUNT: return;
    }
}

/* ---- Cutting --------------------------------------------------------------------------------------------- */

typedef struct remover {
    gpuc_tir_mapper m;
    gpuc_map gone;
    bool holds; /* what the conditions are */
} remover;

static gpuc_expr remove_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    if (gpuc_map_has(&((remover *)m)->gone, e)) return gpuc_imm_int(m->ctx, GPUC_BOOL, ((remover *)m)->holds);
    return gpuc_tir_map_children(m, e);
}

static gpuc_stmt without_conditions(cut *c, gpuc_stmt s, bool hold)
{
    remover r = {.holds = hold};
    gpuc_tir_mapper_init(&r.m, c->ctx, remove_expr, NULL);
    gpuc_map_init(&r.gone, c->ctx);
    for (size_t i = 0; i < c->removed.count; i++) gpuc_map_set(&r.gone, c->removed.at[i], c->removed.at[i]);
    return gpuc_tir_map_stmt(&r.m, s);
}

/* Whether there is one condition, which holds in the middle and nowhere else. */
static bool splits(cut *c)
{
    return c->removed.count == 1 && !c->lo != !c->hi &&
           gpuc_tir_visit(c->ctx, c->removed.at[0], uses_inner, c);
}

static gpuc_stmt loop_from(cut *c, gpuc_expr from, gpuc_expr to, gpuc_stmt body, bool copy)
{
    gpuc_ctx *ctx = c->ctx;
    const gpuc_tir_for_node *n = c->loop;
    gpuc_expr extent = gpuc_arith_simplify(c->a, gpuc_sub(ctx, to, from)), var = n->var;
    if (gpuc_arith_analyzer_bounds(c->a, extent).max <= 0) return NULL;
    if (copy) {
        var = gpuc_lower_var_like(ctx, n->var);
        body = gpuc_lower_clone(ctx, body, 1, &n->var, &var);
    }
    return gpuc_tir_for_(ctx, var, from, extent, n->loop, n->tag, body);
}

static bool is_needed(cut *c, gpuc_expr end)
{
    return end && gpuc_dtype_equal(end->dtype, c->loop->var->dtype);
}

static gpuc_stmt below(partitioner *t, gpuc_stmt body)
{
    t->loops++;
    body = gpuc_tir_map_stmt(&t->m, body);
    t->loops--;
    return body;
}

static gpuc_stmt roll_loop(gpuc_tir_mapper *m, gpuc_stmt s)
{
    s = gpuc_tir_map_stmt_children(m, s);
    if (!s || s->kind != GPUC_STMT_FOR || gpuc_as_for(s)->loop != GPUC_LOOP_UNROLLED) return s;
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    return gpuc_tir_for_(m->ctx, n->var, n->min, n->extent, GPUC_LOOP_SERIAL, n->tag, n->body);
}

static gpuc_stmt roll(gpuc_ctx *ctx, gpuc_stmt s)
{
    gpuc_tir_mapper m;
    gpuc_tir_mapper_init(&m, ctx, NULL, roll_loop);
    return gpuc_tir_map_stmt(&m, s);
}

/* The number of stores and calls after unrolling, counting other loops once. */
static int64_t straight_steps(gpuc_stmt s)
{
    int64_t n = 0, extent;
    if (!s) return 0;
    switch (s->kind) {
    case GPUC_STMT_FOR:
        n = straight_steps(gpuc_as_for(s)->body);
        if (gpuc_as_for(s)->loop != GPUC_LOOP_UNROLLED || !gpuc_expr_is_int(gpuc_as_for(s)->extent, &extent))
            return n;
        return extent > 0 && n > INT32_MAX / extent ? INT32_MAX : n * extent;
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL: return 1;
    case GPUC_STMT_IF:
        return straight_steps(gpuc_as_if(s)->then_body) + straight_steps(gpuc_as_if(s)->else_body);
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) n += straight_steps(gpuc_as_seq(s)->at[i]);
        return n;
    case GPUC_STMT_ALLOC: return straight_steps(gpuc_as_alloc(s)->body);
    case GPUC_STMT_LET: return straight_steps(gpuc_as_let(s)->body);
    case GPUC_STMT_ATTR: return straight_steps(gpuc_as_attr(s)->body);
    case GPUC_STMT_KIND_COUNT: break;
    }
    return n;
}

static bool is_long(const partitioner *t, gpuc_stmt body, int64_t max)
{
    return t->rolls && straight_steps(body) > max / t->copies;
}

/* The body for the iterations before and after the middle. */
static gpuc_stmt at_ends(const partitioner *t, gpuc_stmt body, bool rare)
{
    if (!is_long(t, body, rare ? MAX_AT_RARE_ENDS : MAX_AT_ENDS)) return body;
    return roll(t->m.ctx, body);
}

/* The body for the tail. Loops are not unrolled where a vector is computed lane by lane and the ends are
 * known only at run time, since that would make many copies. */
static gpuc_stmt remainder_of(const partitioner *t, cut *c)
{
    gpuc_ctx *ctx = c->ctx;
    gpuc_stmt rest = at_ends(t, gpuc_lower_clone(ctx, c->loop->body, 0, NULL, NULL), false);
    bool lanes = false;
    for (size_t k = 0; c->also && k < c->removed.count; k++) lanes = lanes || uses_lane(c, c->removed.at[k]);
    return lanes ? roll(ctx, rest) : rest;
}

/* Whether the statement is one loop over a store, as of an operation without reductions: copying it costs
 * little code. */
static bool is_one_loop(gpuc_stmt s)
{
    while (s->kind == GPUC_STMT_IF && !gpuc_as_if(s)->else_body) s = gpuc_as_if(s)->then_body;
    if (s->kind != GPUC_STMT_FOR) return false;
    s = gpuc_as_for(s)->body;
    while (s->kind == GPUC_STMT_IF && !gpuc_as_if(s)->else_body) s = gpuc_as_if(s)->then_body;
    return s->kind == GPUC_STMT_STORE;
}

static gpuc_stmt partition(partitioner *t, const gpuc_tir_for_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    cut c = {.ctx = ctx, .a = t->a, .loop = n, .vectors = t->vectors, .shuffles = t->shuffles};
    int64_t count;
    bool known = gpuc_expr_is_int(n->extent, &count);
    bool block = gpuc_is_block_tag(n->tag);
    c.branch = block || t->loops == 0;
    c.divides = t->ahead;
    c.divides_lanes = t->parts;
    if ((n->loop == GPUC_LOOP_THREAD && !block) || n->loop == GPUC_LOOP_UNROLLED || (known && count < 2))
        return NULL;
    if (known && count <= FEW && is_long(t, n->body, MAX_OF_FEW)) return NULL;
    if (gpuc_lower_size(ctx, n->body) > MAX_BODY || (c.branch && gpuc_lower_is_teamwork(ctx, n->body)))
        return NULL;
    gpuc_map_init(&c.inner, ctx);
    for (size_t i = 0; i < t->threads.count && n->loop != GPUC_LOOP_VECTORIZED; i++)
        add_inner(&c, t->threads.at[i]);
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    search(&c, n->body);
    gpuc_arith_analyzer_rewind(t->a, mark);
    if (c.bad || c.removed.count == 0) return NULL;
    if ((c.lo && !is_needed(&c, c.lo)) || (c.hi && !is_needed(&c, c.hi))) return NULL;
    gpuc_expr end = gpuc_arith_simplify(t->a, gpuc_add(ctx, n->min, n->extent)), lo = n->min, hi = end;
    if (c.lo) lo = gpuc_arith_simplify(t->a, gpuc_min(ctx, gpuc_max(ctx, c.lo, n->min), end));
    if (c.hi) hi = gpuc_arith_simplify(t->a, gpuc_max(ctx, gpuc_min(ctx, c.hi, end), lo));
    gpuc_expr middle = gpuc_arith_simplify(t->a, gpuc_sub(ctx, hi, lo));
    bool constant = lo->kind == GPUC_EXPR_INT && hi->kind == GPUC_EXPR_INT;
    if (gpuc_arith_analyzer_bounds(t->a, middle).max <= 0) return NULL;
    if (n->loop == GPUC_LOOP_VECTORIZED && (!constant || c.branch)) return NULL;
    gpuc_stmt clean = without_conditions(&c, n->body, true);
    if (c.branch) {
        gpuc_expr inside = gpuc_and(ctx, gpuc_le(ctx, lo, n->var), gpuc_lt(ctx, n->var, hi));
        if (c.also) inside = gpuc_and(ctx, inside, c.also);
        mark = gpuc_arith_analyzer_mark(t->a);
        gpuc_arith_analyzer_bind(t->a, n->var, n->min, n->extent);
        inside = gpuc_arith_simplify(t->a, inside);
        gpuc_stmt rest = remainder_of(t, &c);
        if (t->ahead && is_one_loop(n->body)) rest = below(t, rest);
        clean = below(t, clean);
        gpuc_arith_analyzer_rewind(t->a, mark);
        return gpuc_tir_for_(ctx, n->var, n->min, n->extent, n->loop, n->tag,
                             gpuc_tir_if_(ctx, inside, clean, rest));
    }
    mark = gpuc_arith_analyzer_mark(t->a);
    gpuc_arith_analyzer_bind(t->a, n->var, lo, middle);
    clean = below(t, clean);
    gpuc_arith_analyzer_rewind(t->a, mark);
    gpuc_stmt ends = splits(&c) ? without_conditions(&c, n->body, false) : n->body;
    ends = at_ends(t, ends, !known || count >= RARE);
    gpuc_stmt first = loop_from(&c, n->min, lo, ends, true), last = loop_from(&c, hi, end, ends, true);
    if (first && last && n->loop == GPUC_LOOP_SERIAL && is_long(t, ends, MAX_AT_BOTH)) {
        gpuc_expr inside = gpuc_and(ctx, gpuc_le(ctx, lo, n->var), gpuc_lt(ctx, n->var, hi));
        gpuc_stmt rest = gpuc_lower_clone(ctx, ends, 0, NULL, NULL);
        return gpuc_tir_for_(ctx, n->var, n->min, n->extent, n->loop, n->tag,
                             gpuc_tir_if_(ctx, inside, clean, rest));
    }
    gpuc_stmt parts[3] = {first, loop_from(&c, lo, hi, clean, false), last};
    return gpuc_tir_seq(ctx, 3, parts);
}

static gpuc_stmt partition_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    partitioner *t = (partitioner *)m;
    gpuc_stmt cut = s->kind == GPUC_STMT_FOR ? partition(t, gpuc_as_for(s)) : NULL;
    if (cut) return cut;
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    bool loop = s->kind == GPUC_STMT_FOR, thread = loop && gpuc_is_thread_tag(gpuc_as_for(s)->tag);
    int64_t copies = t->copies, threads;
    if (loop && gpuc_as_for(s)->tag == GPUC_VTHREAD && gpuc_expr_is_int(gpuc_as_for(s)->extent, &threads) &&
        threads > 1)
        t->copies = threads > INT32_MAX / copies ? INT32_MAX : copies * threads;
    t->loops += loop;
    if (thread) gpuc_ptrs_push(m->ctx, &t->threads, s);
    gpuc_lower_bind(t->a, s);
    s = gpuc_tir_map_stmt_children(m, s);
    gpuc_arith_analyzer_rewind(t->a, mark);
    t->loops -= loop;
    t->copies = copies;
    t->threads.count -= thread;
    return s;
}

gpuc_tir_func *gpuc_lower_loop_partition(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    partitioner t = {.a = gpuc_lower_analyzer(p->ctx, f),
                     .vectors = p->target->vector_bits > 0,
                     .ahead = p->target->language->ahead,
                     .parts = p->target->language->vector_parts,
                     .rolls = p->target->simd_lanes > 0 && !p->target->language->ahead,
                     .shuffles = p->target->subgroup_shuffle,
                     .copies = 1};
    gpuc_tir_mapper_init(&t.m, p->ctx, NULL, partition_stmt);
    return gpuc_lower_with_body(p->ctx, f, gpuc_tir_map_stmt(&t.m, f->body), f->stage);
}
