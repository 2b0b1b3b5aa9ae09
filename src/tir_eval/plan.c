/* SPDX-License-Identifier: Apache-2.0 */
/* Which loops become lanes. Iterations may be lanes if no two of them touch an element that one of
 * them writes: the numbers of all elements of a written buffer are c * i + rest with |c| larger than
 * what the rest spans. Where a store only accumulates into a buffer that nothing else touches, the lanes
 * take turns at it, in order. Among what is allowed, an estimate of the time decides. */
#include "tir_eval/eval.h"

enum { MAX_ACCESSES = 256, MAX_INNER = 32, GUESS = 16, MAX_PRIVATE = 32 << 20 };

typedef struct touch {
    const gpuc_tir_buffer *buffer;
    const gpuc_tir_store_node *update; /* the accumulation that it belongs to */
    bool store;
    uint32_t around; /* a bit for each inner loop that it is in */
    ev_linear at;
} touch;

typedef struct survey {
    ev_compiler *c;
    bool ok;
    bool unchecked; /* told to be independent */
    int num_touches, num_inner;
    int width; /* lanes at most */
    touch *touches;
    const gpuc_tir_for_node *inner[MAX_INNER];
    uint32_t around; /* while it visits */
    int num_axes;
    const gpuc_expr *axes;
    ev_map inside; /* variables and buffers that the region defines */
} survey;

bool gpuc_ev_is_update(const gpuc_tir_store_node *s, gpuc_tir_op *op, gpuc_expr *x)
{
    if (s->value->kind != GPUC_EXPR_OP || s->value->dtype.lanes != 1) return false;
    const gpuc_tir_opexpr_node *o = gpuc_as_op(s->value);
    if (o->op != GPUC_TIR_ADD && o->op != GPUC_TIR_MUL && o->op != GPUC_TIR_MIN && o->op != GPUC_TIR_MAX &&
        o->op != GPUC_TIR_AND && o->op != GPUC_TIR_OR)
        return false;
    for (int i = 0; i < 2; i++) {
        if (o->a[i]->kind != GPUC_EXPR_LOAD) continue;
        const gpuc_tir_load_node *l = gpuc_as_load(o->a[i]);
        if (l->buffer != s->buffer || l->n != s->n) continue;
        int k = 0;
        while (k < l->n && l->index[k] == s->index[k]) k++;
        if (k < l->n) continue;
        *op = o->op;
        *x = o->a[1 - i];
        return true;
    }
    return false;
}

/* ---- What a region touches --------------------------------------------------------------------------- */

static void touch_buffer(survey *s, const gpuc_tir_buffer *b, int n, const gpuc_expr *index, bool store,
                         const gpuc_tir_store_node *update)
{
    if (gpuc_ev_map_get(&s->inside, b)) return;
    const ev_buffer *eb = gpuc_ev_map_get(&s->c->m->buffers, b);
    if (s->num_touches == MAX_ACCESSES || !eb) {
        s->ok = false;
        return;
    }
    touch *t = &s->touches[s->num_touches++];
    *t = (touch){.buffer = b, .store = store, .update = update, .around = s->around};
    gpuc_ev_flat(s->c, eb, n, index, &t->at);
}

static bool visit_expr(gpuc_expr e, void *arg)
{
    survey *s = arg;
    if (e->kind == GPUC_EXPR_LOAD) {
        const gpuc_tir_load_node *l = gpuc_as_load(e);
        touch_buffer(s, l->buffer, l->n, l->index, false, NULL);
    }
    if (e->kind == GPUC_EXPR_CALL && !gpuc_tir_is_value(gpuc_as_call(e)->fn)) s->ok = false;
    return s->ok;
}

static void visit_all(survey *s, gpuc_expr e)
{
    if (e && e->flags & (GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT))
        gpuc_tir_visit(s->c->m->ctx, e, visit_expr, s);
}

static void visit_store(survey *s, const gpuc_tir_store_node *n)
{
    gpuc_tir_op op;
    gpuc_expr x;
    for (int i = 0; i < n->n; i++) visit_all(s, n->index[i]);
    bool update = gpuc_ev_is_update(n, &op, &x);
    visit_all(s, update ? x : n->value);
    touch_buffer(s, n->buffer, n->n, n->index, true, update ? n : NULL);
}

static void visit_stmt(survey *s, gpuc_stmt st)
{
    if (!st || !s->ok) return;
    static char defined;
    switch (st->kind) {
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(st);
        if ((n->loop == GPUC_LOOP_THREAD && n->tag != GPUC_VTHREAD) || s->num_inner == MAX_INNER) {
            s->ok = false;
            return;
        }
        uint32_t around = s->around;
        s->around |= UINT32_C(1) << s->num_inner;
        s->inner[s->num_inner++] = n;
        gpuc_ev_map_set(s->c->m, &s->inside, n->var, &defined);
        visit_all(s, n->min);
        visit_all(s, n->extent);
        visit_stmt(s, n->body);
        s->around = around;
        return;
    }
    case GPUC_STMT_STORE: visit_store(s, gpuc_as_store(st)); return;
    case GPUC_STMT_IF:
        visit_all(s, gpuc_as_if(st)->cond);
        visit_stmt(s, gpuc_as_if(st)->then_body);
        visit_stmt(s, gpuc_as_if(st)->else_body);
        return;
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(st)->n; i++) visit_stmt(s, gpuc_as_seq(st)->at[i]);
        return;
    case GPUC_STMT_ALLOC: {
        const gpuc_tir_buffer *b = gpuc_as_alloc(st)->buffer;
        double bytes = (double)s->width * (double)gpuc_dtype_bytes(b->dtype); /* each lane has one */
        for (int i = 0; i < b->ndim; i++) {
            int64_t size;
            bytes *= gpuc_ev_constant(s->c, b->shape[i], &size) ? (double)size : MAX_PRIVATE;
        }
        if (bytes > MAX_PRIVATE) s->ok = false;
        gpuc_ev_map_set(s->c->m, &s->inside, b, &defined);
        visit_stmt(s, gpuc_as_alloc(st)->body);
        return;
    }
    case GPUC_STMT_LET: {
        const gpuc_tir_let_node *n = gpuc_as_let(st);
        visit_all(s, n->value);
        gpuc_ev_map_set(s->c->m, &s->inside, n->var, &defined);
        if (gpuc_is_integer(n->var->dtype)) gpuc_ev_map_set(s->c->m, &s->c->lets, n->var, (void *)n->value);
        visit_stmt(s, n->body);
        return;
    }
    case GPUC_STMT_EVAL: visit_all(s, gpuc_as_eval(st)->value); return;
    case GPUC_STMT_ATTR:
        if (strcmp(gpuc_as_attr(st)->key, "allreduce") == 0) s->ok = false;
        visit_stmt(s, gpuc_as_attr(st)->body);
        return;
    case GPUC_STMT_KIND_COUNT: return;
    }
}

/* ---- Independence -------------------------------------------------------------------------------------- */

static bool uses_inside(gpuc_expr e, void *arg)
{
    return !gpuc_ev_map_get(&((survey *)arg)->inside, e);
}

/* What an access is besides its lane axes: the span of the inner loops, and terms from outside. */
typedef struct rest {
    int64_t coeff[EV_MAX_AXES], min, max;
    ev_linear outside;
} rest;

static bool split_rest(survey *s, const ev_linear *l, int n, const gpuc_expr *axes, rest *out)
{
    *out = (rest){.outside = {.ok = true}, .min = l->constant, .max = l->constant};
    for (int i = 0; i < l->n; i++) {
        gpuc_expr e = l->at[i].e;
        int64_t k = l->at[i].coeff, min, extent, span, base;
        int a = 0;
        while (a < n && axes[a] != e) a++;
        if (a < n) {
            out->coeff[a] = k;
            continue;
        }
        int v = 0;
        while (v < s->num_inner && s->inner[v]->var != e) v++;
        if (v < s->num_inner) {
            if (!gpuc_ev_constant(s->c, s->inner[v]->min, &min) ||
                !gpuc_ev_constant(s->c, s->inner[v]->extent, &extent))
                return false;
            if (extent < 1) extent = 1;
            if (__builtin_mul_overflow(k, extent - 1, &span) || __builtin_mul_overflow(k, min, &base) ||
                __builtin_add_overflow(out->min, base + (span < 0 ? span : 0), &out->min) ||
                __builtin_add_overflow(out->max, base + (span > 0 ? span : 0), &out->max))
                return false;
            continue;
        }
        if (!gpuc_tir_visit(s->c->m->ctx, e, uses_inside, s) || (e->flags & GPUC_TIR_HAS_LOAD)) return false;
        out->outside.at[out->outside.n++] = l->at[i];
    }
    return true;
}

static bool same_terms(const ev_linear *x, const ev_linear *y)
{
    if (x->n != y->n) return false;
    for (int i = 0; i < x->n; i++) {
        int j = 0;
        while (j < y->n && (y->at[j].e != x->at[i].e || y->at[j].coeff != x->at[i].coeff)) j++;
        if (j == y->n) return false;
    }
    return true;
}

static int64_t magnitude(int64_t v)
{
    return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v;
}

/* Different lanes, different elements: coefficients in order of size each exceed all below them. */
static bool apart(const rest *r, int n, const int64_t *extent)
{
    int64_t span;
    bool done[EV_MAX_AXES] = {false};
    if (__builtin_sub_overflow(r->max, r->min, &span)) return false;
    for (int iteration = 0; iteration < n; iteration++) {
        int next = -1;
        for (int a = 0; a < n; a++)
            if (!done[a] && (next < 0 || magnitude(r->coeff[a]) < magnitude(r->coeff[next]))) next = a;
        done[next] = true;
        if (extent[next] == 1) continue;
        int64_t k = magnitude(r->coeff[next]), add;
        if (k <= span) return false;
        if (extent[next] < 0) { /* unknown: nothing may be larger */
            for (int a = 0; a < n; a++)
                if (!done[a] && extent[a] != 1) return false;
            return true;
        }
        if (__builtin_mul_overflow(k, extent[next] - 1, &add) || __builtin_add_overflow(span, add, &span))
            return false;
    }
    return true;
}

static bool buffer_apart(survey *s, const gpuc_tir_buffer *b, int n, const gpuc_expr *axes,
                         const int64_t *extent)
{
    rest first = {0}, r;
    bool any = false;
    for (int i = 0; i < s->num_touches; i++) {
        if (s->touches[i].buffer != b) continue;
        if (!s->touches[i].at.ok || !split_rest(s, &s->touches[i].at, n, axes, &r)) return false;
        if (!any) {
            first = r;
            any = true;
            continue;
        }
        if (memcmp(first.coeff, r.coeff, sizeof r.coeff) != 0 || !same_terms(&first.outside, &r.outside))
            return false;
        if (r.min < first.min) first.min = r.min;
        if (r.max > first.max) first.max = r.max;
    }
    return apart(&first, n, extent);
}

/* The only one to touch its buffer. */
static bool is_alone(const survey *s, const touch *t)
{
    for (int i = 0; i < s->num_touches; i++)
        if (s->touches[i].buffer == t->buffer && &s->touches[i] != t) return false;
    return true;
}

/* Taking turns, lanes go first and the loops inside of the region last: does every element still get its
 * updates in the order that was written, or does the order not matter? */
static bool keeps_order(survey *s, const touch *t)
{
    gpuc_tir_op op;
    gpuc_expr x;
    gpuc_dtype type = t->buffer->dtype;
    gpuc_ev_is_update(t->update, &op, &x);
    if (t->around == 0 || !gpuc_is_float(type) || op == GPUC_TIR_MIN || op == GPUC_TIR_MAX) return true;
    rest r = {.outside = {.ok = true}};
    int64_t extent[EV_MAX_AXES], min;
    int n = 0;
    for (int v = 0; v < s->num_inner; v++) {
        if (!(t->around >> v & 1)) continue;
        if (n == EV_MAX_AXES || !gpuc_ev_constant(s->c, s->inner[v]->extent, &extent[n]) ||
            !gpuc_ev_constant(s->c, s->inner[v]->min, &min))
            return false;
        for (int i = 0; i < t->at.n; i++)
            if (t->at.at[i].e == s->inner[v]->var) r.coeff[n] = t->at.at[i].coeff;
        n++;
    }
    if (!t->at.ok) return false;
    for (int i = 0; i < t->at.n; i++) { /* nothing else may differ inside of the region */
        gpuc_expr e = t->at.at[i].e;
        bool own = false;
        for (int v = 0; v < s->num_inner; v++) own = own || (t->around >> v & 1 && s->inner[v]->var == e);
        if (!own && !gpuc_tir_visit(s->c->m->ctx, e, uses_inside, s)) return false;
        if (!own)
            for (int a = 0; a < s->num_axes; a++)
                if (gpuc_tir_uses_var(s->c->m->ctx, e, s->axes[a])) return false;
    }
    return apart(&r, n, extent);
}

/* Sets turns[i] for the stores whose lanes take turns. */
static bool independent(survey *s, int n, const gpuc_expr *axes, const int64_t *extent, bool *turns)
{
    memset(turns, 0, sizeof *turns * (size_t)s->num_touches);
    if (!s->ok) return false;
    for (int i = 0; i < s->num_touches; i++) {
        const touch *t = &s->touches[i];
        if (!t->store || s->unchecked || buffer_apart(s, t->buffer, n, axes, extent)) continue;
        if (!t->update || !is_alone(s, t)) return false;
        s->num_axes = n;
        s->axes = axes;
        if (!keeps_order(s, t)) return false;
        turns[i] = true;
    }
    return true;
}

/* ---- Estimates: nanoseconds ------------------------------------------------------------------------------ */

static double trip(ev_compiler *c, const gpuc_tir_for_node *n)
{
    int64_t extent;
    if (gpuc_ev_constant(c, n->extent, &extent)) return extent > 0 ? (double)extent : 0;
    return GUESS;
}

typedef struct counter {
    ev_compiler *c;
    int n;
    const gpuc_expr *axes;
    const int64_t *extent;
    double each, fixed; /* per lane; per instruction */
} counter;

static double access_cost(counter *k, const gpuc_tir_buffer *b, int n, const gpuc_expr *index)
{
    ev_linear l = {.ok = false};
    const ev_buffer *eb = gpuc_ev_map_get(&k->c->m->buffers, b);
    if (!eb) return 0.5;
    gpuc_ev_flat(k->c, eb, n, index, &l);
    if (!l.ok) return 4;
    int64_t coeff[EV_MAX_AXES] = {0}, stride = 0, radix = 1;
    for (int i = 0; i < l.n; i++)
        for (int a = 0; a < k->n; a++)
            if (l.at[i].e == k->axes[a]) coeff[a] = l.at[i].coeff;
    bool even = true, seen = false;
    for (int a = k->n - 1; a >= 0; a--) {
        if (k->extent[a] == 1) continue;
        if (!seen) stride = coeff[a];
        seen = true;
        even = even && coeff[a] == stride * radix;
        radix *= k->extent[a] < 0 ? 1 : k->extent[a];
    }
    if (!even) return 3;
    stride = magnitude(stride);
    return stride == 0 ? 0 : stride == 1 ? 0.3 : stride < 8 ? 0.8 : 2;
}

static bool count_expr(gpuc_expr e, void *arg)
{
    counter *k = arg;
    k->fixed += 10;
    if (e->kind == GPUC_EXPR_LOAD) {
        const gpuc_tir_load_node *l = gpuc_as_load(e);
        k->each += access_cost(k, l->buffer, l->n, l->index);
    } else if (e->kind == GPUC_EXPR_OP) {
        gpuc_tir_op op = gpuc_as_op(e)->op;
        bool division =
            op == GPUC_TIR_DIV || op == GPUC_TIR_MOD || op == GPUC_TIR_FLOORDIV || op == GPUC_TIR_FLOORMOD;
        k->each += gpuc_tir_ops[op].flags & GPUC_TIR_FUNC ? 15 : division ? 3 : 0.5;
    } else if (e->kind == GPUC_EXPR_CAST) {
        k->each += 0.4;
    }
    return true;
}

static void count_stmt(counter *k, gpuc_stmt s, double times)
{
    if (!s) return;
    double each = k->each, fixed = k->fixed;
    switch (s->kind) {
    case GPUC_STMT_FOR: {
        k->each = k->fixed = 0;
        count_stmt(k, gpuc_as_for(s)->body, 1);
        double n = trip(k->c, gpuc_as_for(s));
        k->each = each + k->each * n * times;
        k->fixed = fixed + (k->fixed + 20) * n * times;
        return;
    }
    case GPUC_STMT_STORE: {
        const gpuc_tir_store_node *n = gpuc_as_store(s);
        gpuc_tir_visit(k->c->m->ctx, n->value, count_expr, k);
        k->each += access_cost(k, n->buffer, n->n, n->index);
        k->fixed += 15;
        return;
    }
    case GPUC_STMT_IF:
        gpuc_tir_visit(k->c->m->ctx, gpuc_as_if(s)->cond, count_expr, k);
        count_stmt(k, gpuc_as_if(s)->then_body, times);
        count_stmt(k, gpuc_as_if(s)->else_body, times);
        return;
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) count_stmt(k, gpuc_as_seq(s)->at[i], times);
        return;
    case GPUC_STMT_ALLOC: count_stmt(k, gpuc_as_alloc(s)->body, times); return;
    case GPUC_STMT_LET:
        gpuc_tir_visit(k->c->m->ctx, gpuc_as_let(s)->value, count_expr, k);
        count_stmt(k, gpuc_as_let(s)->body, times);
        return;
    case GPUC_STMT_EVAL: gpuc_tir_visit(k->c->m->ctx, gpuc_as_eval(s)->value, count_expr, k); return;
    case GPUC_STMT_ATTR: count_stmt(k, gpuc_as_attr(s)->body, times); return;
    case GPUC_STMT_KIND_COUNT: return;
    }
}

/* Outside of any region, with the best plans for the loops inside. */
static double serial_cost(ev_compiler *c, gpuc_stmt s)
{
    if (!s) return 0;
    switch (s->kind) {
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        if (n->loop == GPUC_LOOP_THREAD && n->tag != GPUC_VTHREAD) return 1e6;
        return gpuc_ev_plan(c, n)->cost;
    }
    case GPUC_STMT_SEQ: {
        double sum = 0;
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) sum += serial_cost(c, gpuc_as_seq(s)->at[i]);
        return sum;
    }
    case GPUC_STMT_IF:
        return 20 + serial_cost(c, gpuc_as_if(s)->then_body) + serial_cost(c, gpuc_as_if(s)->else_body);
    case GPUC_STMT_ALLOC: return 20 + serial_cost(c, gpuc_as_alloc(s)->body);
    case GPUC_STMT_LET: return 20 + serial_cost(c, gpuc_as_let(s)->body);
    case GPUC_STMT_ATTR: return serial_cost(c, gpuc_as_attr(s)->body);
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL: {
        counter k = {.c = c};
        count_stmt(&k, s, 1);
        return k.fixed + k.each;
    }
    case GPUC_STMT_KIND_COUNT: break;
    }
    return 0;
}

/* ---- Choice ---------------------------------------------------------------------------------------------- */

static const gpuc_tir_for_node *plain_loop(gpuc_stmt s)
{
    if (!s || s->kind != GPUC_STMT_FOR) return NULL;
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    return n->loop == GPUC_LOOP_THREAD && n->tag != GPUC_VTHREAD ? NULL : n;
}

static survey start(ev_compiler *c, int width)
{
    if (!c->touches) c->touches = ev_new_array(c->m, touch, MAX_ACCESSES);
    return (survey){.c = c, .ok = !c->m->func->aliased, .width = width, .touches = c->touches};
}

static void consider(ev_compiler *c, const gpuc_tir_for_node *const *loops, ev_plan *best, int first,
                     int last)
{
    int n = last - first + 1;
    gpuc_expr axes[EV_MAX_AXES];
    int64_t extent[EV_MAX_AXES];
    double total = 1, outer = 1, fixed = 0;
    bool parallel = true, any_parallel = false;
    for (int i = 0; i < n; i++) {
        const gpuc_tir_for_node *l = loops[first + i];
        axes[i] = l->var;
        extent[i] = -1;
        if (!gpuc_ev_constant(c, l->extent, &extent[i]) && i > 0) return; /* depends on those around */
        for (int k = first; k < first + i; k++)
            if (gpuc_tir_uses_var(c->m->ctx, l->extent, loops[k]->var) ||
                gpuc_tir_uses_var(c->m->ctx, l->min, loops[k]->var))
                return;
        if ((l->extent->flags | l->min->flags) & GPUC_TIR_HAS_LOAD) return;
        total *= trip(c, l);
        parallel = parallel && l->loop == GPUC_LOOP_PARALLEL;
        any_parallel = any_parallel || l->loop == GPUC_LOOP_PARALLEL;
    }
    survey s = start(c, total > EV_STRIP ? EV_STRIP : (int)total);
    s.unchecked = parallel && !c->m->check;
    visit_stmt(&s, loops[last]->body);
    bool turns[MAX_ACCESSES];
    if (!independent(&s, n, axes, extent, turns)) return;
    for (int i = 0; i < s.num_touches; i++)
        if (turns[i] && any_parallel && c->m->check) return; /* that is a race to be found */
    for (int i = first - 1; i >= 0; i--) {
        outer *= trip(c, loops[i]);
        fixed = fixed * trip(c, loops[i]) + 20;
    }
    counter k = {.c = c, .n = n, .axes = axes, .extent = extent};
    count_stmt(&k, loops[last]->body, 1);
    for (int i = 0; i < s.num_touches; i++) k.each += turns[i] ? 1.5 : 0;
    double strips = total > EV_STRIP ? total / EV_STRIP : 1;
    double cost = outer * (60 + k.each * total + (k.fixed + 30) * strips);
    if (best->first >= 0 && cost >= best->cost) return;
    if (best->first < 0 && cost >= best->cost) return;
    best->cost = cost;
    best->first = first;
    best->last = last;
}

bool gpuc_ev_independent(ev_compiler *c, const gpuc_tir_for_node *n)
{
    survey s = start(c, 1);
    bool turns[MAX_ACCESSES];
    int64_t extent = -1;
    gpuc_ev_constant(c, n->extent, &extent);
    visit_stmt(&s, n->body);
    if (!independent(&s, 1, &n->var, &extent, turns)) return false;
    for (int i = 0; i < s.num_touches; i++)
        if (turns[i]) return false;
    return true;
}

/* Notes which stores of the chosen region take turns. */
static void settle(ev_compiler *c, const gpuc_tir_for_node *const *loops, const ev_plan *plan)
{
    int n = plan->last - plan->first + 1;
    gpuc_expr axes[EV_MAX_AXES];
    int64_t extent[EV_MAX_AXES];
    for (int i = 0; i < n; i++) {
        axes[i] = loops[plan->first + i]->var;
        extent[i] = -1;
        gpuc_ev_constant(c, loops[plan->first + i]->extent, &extent[i]);
    }
    survey s = start(c, 1);
    visit_stmt(&s, loops[plan->last]->body);
    bool turns[MAX_ACCESSES];
    independent(&s, n, axes, extent, turns);
    for (int i = 0; i < s.num_touches; i++)
        if (turns[i]) gpuc_ev_map_set(c->m, &c->accumulate, s.touches[i].update, (void *)loops[plan->first]);
}

const ev_plan *gpuc_ev_plan(ev_compiler *c, const gpuc_tir_for_node *n)
{
    ev_plan *plan = gpuc_ev_map_get(&c->plans, n);
    if (plan) return plan;
    plan = ev_new(c->m, ev_plan);
    gpuc_ev_map_set(c->m, &c->plans, n, plan);
    const gpuc_tir_for_node *loops[EV_MAX_AXES];
    double trips = 1, overhead = 0;
    for (const gpuc_tir_for_node *l = n; l && plan->depth < EV_MAX_AXES; l = plain_loop(l->body)) {
        loops[plan->depth++] = l;
        overhead += trips * 20;
        trips *= trip(c, l);
    }
    plan->first = plan->last = -1;
    plan->cost = overhead + trips * serial_cost(c, loops[plan->depth - 1]->body);
    for (int first = 0; first < plan->depth; first++)
        for (int last = first; last < plan->depth; last++) consider(c, loops, plan, first, last);
    if (plan->first >= 0) settle(c, loops, plan);
    return plan;
}
