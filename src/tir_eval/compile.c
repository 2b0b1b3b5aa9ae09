/* SPDX-License-Identifier: Apache-2.0 */
/* Statements to instructions. */
#include "tir_eval/eval.h"

#include "abi/scope.h"
#include "base/size.h"

static ev_var *define(ev_compiler *c, gpuc_expr var)
{
    ev_var *v = ev_new(c->m, ev_var);
    v->level = c->scope->level;
    if (gpuc_ev_map_get(&c->vars, var)) c->levels = c->folded = (ev_map){0}; /* of a reducer, once more */
    gpuc_ev_map_set(c->m, &c->vars, var, v);
    return v;
}

/* ---- Buffers ----------------------------------------------------------------------------------------- */

static void measure(ev_compiler *c, ev_buffer *b)
{
    const gpuc_tir_buffer *t = b->b;
    int64_t total = 1;
    if (t->ndim > EV_MAX_DIMS)
        gpuc_ev_fail(c->m, c->stmt, "'%s' has more than %d dimensions", t->name, EV_MAX_DIMS);
    for (int i = t->ndim - 1; i >= 0; i--) {
        int64_t low, stride;
        c->range_steps = 0;
        if (!gpuc_ev_range(c, t->shape[i], &low, &b->shape[i]))
            gpuc_raise(c->m->ctx, GPUC_UNSUPPORTED, "%s: the size %s of '%s' is not known before the run",
                       c->m->func->name, gpuc_expr_text(c->m->ctx, t->shape[i]), t->name);
        if (b->shape[i] < 0) b->shape[i] = 0;
        b->stride[i] = total;
        if (t->strides && gpuc_ev_constant(c, t->strides[i], &stride)) b->stride[i] = stride;
        if (!gpuc_i64_mul(b->shape[i], b->stride[i], &total))
            gpuc_ev_fail(c->m, c->stmt, "the size of '%s' is beyond 64 bits", t->name);
    }
    b->size = total;
}

static ev_buffer *new_buffer(ev_compiler *c, const gpuc_tir_buffer *t)
{
    ev_buffer *b = ev_new(c->m, ev_buffer);
    b->b = t;
    b->type = gpuc_ev_type(t->dtype);
    b->copies = 1;
    measure(c, b);
    gpuc_ev_map_set(c->m, &c->m->buffers, t, b);
    return b;
}

ev_buffer *gpuc_ev_buffer(ev_compiler *c, const gpuc_tir_buffer *t)
{
    ev_buffer *b = gpuc_ev_map_get(&c->m->buffers, t);
    if (!b) gpuc_ev_fail(c->m, c->stmt, "the buffer '%s' does not exist here", t->name);
    return b;
}

static void compile_alloc(ev_compiler *c, const gpuc_tir_alloc_node *n)
{
    ev_buffer *b = new_buffer(c, n->buffer);
    const ev_lanes *l = c->lanes;
    gpuc_scope scope = n->buffer->scope;
    if (l && l->group && (scope == GPUC_SCOPE_WARP || scope == GPUC_SCOPE_COOPMAT)) {
        b->row = (int)l->axes[2].extent;
        b->copies = l->width / b->row;
    } else if (l && (!l->group || scope == GPUC_SCOPE_LOCAL)) {
        b->private_ = true;
        b->copies = l->width;
    } else if (c->m->races) {
        b->wide_shadow = scope == GPUC_SCOPE_GLOBAL;
    }
    gpuc_ev_emit(c, c->scope, EV_ALLOC)->buffer = b;
    gpuc_ev_stmt(c, n->body);
}

/* ---- Loops -------------------------------------------------------------------------------------------- */

static void set_range(ev_compiler *c, ev_var *v, gpuc_expr min, gpuc_expr extent)
{
    int64_t lo, hi, few, many;
    c->range_steps = 0;
    if (!gpuc_ev_range(c, min, &lo, &hi) || !gpuc_ev_range(c, extent, &few, &many)) return;
    v->ranged = gpuc_i64_add(hi, many > 0 ? many - 1 : 0, &v->max);
    v->min = lo;
}

static void compile_body(ev_compiler *c, ev_block *code, gpuc_stmt body)
{
    ev_scope s;
    gpuc_ev_open(c, &s, code, false);
    gpuc_ev_stmt(c, body);
    gpuc_ev_close(c);
}

/* One iteration after the other; in a region the number of them may differ between lanes. */
static void compile_serial(ev_compiler *c, const gpuc_tir_for_node *n, void (*body)(ev_compiler *, void *),
                           void *arg)
{
    ev_scope outer, inner;
    ev_block code = {0};
    gpuc_ev_open(c, &outer, c->scope->code, false);
    ev_reg *min = gpuc_ev_expr(c, n->min), *extent = gpuc_ev_expr(c, n->extent);
    bool uniform = min->uniform && extent->uniform;
    outer.memo = (ev_map){0}; /* loads among them are old when the body runs */
    gpuc_ev_open(c, &inner, &code, true);
    ev_var *v = define(c, n->var);
    set_range(c, v, n->min, n->extent);
    v->reg = gpuc_ev_reg(c, &outer, gpuc_ev_type(n->var->dtype), 1, uniform);
    c->mask_depth += 2;
    if (c->mask_depth > c->m->max_masks) c->m->max_masks = c->mask_depth;
    if (body)
        body(c, arg);
    else
        gpuc_ev_stmt(c, n->body);
    c->mask_depth -= 2;
    gpuc_ev_close(c);
    ev_ins *ins = gpuc_ev_emit(c, &outer, EV_FOR);
    ins->a = min;
    ins->b = extent;
    ins->d = v->reg;
    ins->body = code;
    ins->blocks = n->loop == GPUC_LOOP_THREAD && gpuc_is_block_tag(n->tag);
    ins->watch = c->m->check && n->loop == GPUC_LOOP_PARALLEL && !c->lanes && !gpuc_ev_independent(c, n);
    c->m->watches = c->m->watches || ins->watch;
    gpuc_ev_close(c);
}

/* Neighbouring loops of a nest as lanes. */
static void compile_strips(ev_compiler *c, const gpuc_tir_for_node *const *loops, int n, gpuc_stmt body)
{
    ev_scope outer, inner;
    ev_block code = {0};
    gpuc_ev_open(c, &outer, c->scope->code, false);
    ev_lanes *l = ev_new(c->m, ev_lanes);
    l->loop = loops[0];
    l->num_axes = n;
    l->width = EV_STRIP;
    l->subgroup = 1;
    ev_reg *extent = NULL;
    int64_t radix = 1;
    for (int i = n - 1; i >= 0; i--) {
        ev_axis *x = &l->axes[i];
        *x = (ev_axis){.var = loops[i]->var, .radix = radix, .extent = -1};
        if (gpuc_ev_constant(c, loops[i]->extent, &x->extent)) {
            if (x->extent < 0) x->extent = 0;
            radix *= x->extent;
        } else {
            GPUC_CHECK(i == 0);
            extent = gpuc_ev_index_reg(c, loops[i]->extent);
        }
        l->mins[i] = gpuc_ev_index_reg(c, loops[i]->min);
        x->first = gpuc_ev_reg(c, &outer, EV_INT64, 1, true);
    }
    if (radix > 0 && radix < EV_STRIP && l->axes[0].extent >= 0) l->width = (int)radix;
    outer.memo = (ev_map){0};
    c->lanes = l;
    gpuc_ev_open(c, &inner, &code, true);
    for (int i = 0; i < n; i++) {
        ev_var *v = define(c, loops[i]->var);
        v->axis = &l->axes[i];
        set_range(c, v, loops[i]->min, loops[i]->extent);
    }
    gpuc_ev_stmt(c, body);
    gpuc_ev_close(c);
    c->lanes = NULL;
    ev_ins *ins = gpuc_ev_emit(c, &outer, EV_STRIPS);
    ins->lanes = l;
    ins->a = extent;
    ins->body = code;
    gpuc_ev_close(c);
}

typedef struct planned {
    const gpuc_tir_for_node *loops[EV_MAX_AXES];
    const ev_plan *plan;
    int at;
} planned;

static void compile_planned(ev_compiler *c, void *arg)
{
    planned *p = arg;
    const ev_plan *plan = p->plan;
    if (p->at == plan->first) {
        compile_strips(c, p->loops + plan->first, plan->last - plan->first + 1, p->loops[plan->last]->body);
        return;
    }
    if (p->at == plan->depth) { /* nothing of this nest, perhaps what is inside of it */
        gpuc_ev_stmt(c, p->loops[plan->depth - 1]->body);
        return;
    }
    const gpuc_tir_for_node *loop = p->loops[p->at++];
    compile_serial(c, loop, compile_planned, p);
}

/* ---- Groups of threads -------------------------------------------------------------------------------- */

typedef struct launch {
    ev_compiler *c;
    int64_t extent[GPUC_THREAD_TAG_COUNT];
} launch;

static void find_threads(gpuc_stmt s, void *arg)
{
    launch *l = arg;
    if (s->kind != GPUC_STMT_FOR) return;
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    if (n->loop != GPUC_LOOP_THREAD || !gpuc_is_thread_tag(n->tag)) return;
    int64_t low, extent;
    l->c->range_steps = 0;
    if (!gpuc_ev_range(l->c, n->extent, &low, &extent))
        gpuc_raise(l->c->m->ctx, GPUC_UNSUPPORTED, "%s: the number of threads %s is not known before the run",
                   l->c->m->func->name, gpuc_expr_text(l->c->m->ctx, n->extent));
    if (extent > l->extent[n->tag]) l->extent[n->tag] = extent;
}

static ev_lanes *make_group(ev_compiler *c, const int64_t *extent)
{
    ev_lanes *l = ev_new(c->m, ev_lanes);
    l->group = true;
    l->subgroup = c->m->func->subgroup_size ? (int)c->m->func->subgroup_size : 8;
    int64_t threads = 1;
    static const gpuc_thread_tag order[] = {GPUC_THREAD_Z, GPUC_THREAD_Y, GPUC_THREAD_X};
    for (int i = 2; i >= 0; i--) {
        int64_t n = extent[order[i]] > 0 ? extent[order[i]] : 1;
        l->axes[i] = (ev_axis){.tag = order[i], .extent = n, .radix = threads};
        threads *= n;
        if (threads > EV_MAX_GROUP)
            gpuc_raise(c->m->ctx, GPUC_UNSUPPORTED, "%s: a work-group of more than %d threads",
                       c->m->func->name, EV_MAX_GROUP);
    }
    l->num_axes = 3;
    l->width = (int)threads;
    return l;
}

static void compile_group(ev_compiler *c, const int64_t *extent, void (*body)(ev_compiler *, void *),
                          void *arg)
{
    ev_scope outer, inner;
    ev_block code = {0};
    gpuc_ev_open(c, &outer, c->scope->code, false);
    c->lanes = make_group(c, extent);
    gpuc_ev_open(c, &inner, &code, true);
    body(c, arg);
    gpuc_ev_close(c);
    ev_ins *ins = gpuc_ev_emit(c, &outer, EV_GROUP);
    ins->lanes = c->lanes;
    ins->body = code;
    c->lanes = NULL;
    gpuc_ev_close(c);
}

/* A loop over threads inside of a group: those beyond its extent rest. */
static void compile_threads(ev_compiler *c, const gpuc_tir_for_node *n)
{
    ev_scope outer, inner;
    ev_block code = {0};
    ev_axis *x = NULL;
    for (int i = 0; i < c->lanes->num_axes; i++)
        if (c->lanes->axes[i].tag == n->tag) x = &c->lanes->axes[i];
    gpuc_ev_open(c, &outer, c->scope->code, false);
    ev_reg *min = gpuc_ev_expr(c, n->min), *extent = gpuc_ev_expr(c, n->extent);
    outer.memo = (ev_map){0};
    gpuc_ev_open(c, &inner, &code, true);
    ev_var *v = define(c, n->var);
    set_range(c, v, n->min, n->extent);
    bool plain = min->constant && min->value == 0;
    ev_var number = {.axis = x, .level = inner.level};
    if (plain) {
        v->axis = x;
    } else {
        gpuc_expr coordinate = gpuc_var(c->m->ctx, "thread", n->var->dtype);
        gpuc_ev_map_set(c->m, &c->vars, coordinate, &number);
        v->reg = gpuc_ev_expr(c, gpuc_add(c->m->ctx, coordinate, n->min));
    }
    c->mask_depth += 2;
    if (c->mask_depth > c->m->max_masks) c->m->max_masks = c->mask_depth;
    gpuc_ev_stmt(c, n->body);
    c->mask_depth -= 2;
    gpuc_ev_close(c);
    bool full = extent->constant && extent->value == x->extent;
    ev_reg *coordinate = NULL;
    if (!full) { /* asked for: the mask needs it */
        gpuc_expr any = gpuc_var(c->m->ctx, "thread", GPUC_INT64);
        gpuc_ev_map_set(c->m, &c->vars, any, &number);
        coordinate = gpuc_ev_expr(c, any);
    }
    ev_ins *ins = gpuc_ev_emit(c, &outer, EV_THREADS);
    ins->a = coordinate;
    ins->b = full ? NULL : extent;
    ins->body = code;
    gpuc_ev_close(c);
}

static void compile_for(ev_compiler *c, const gpuc_tir_for_node *n);

static void compile_for_again(ev_compiler *c, void *arg)
{
    compile_for(c, arg);
}

static void compile_for(ev_compiler *c, const gpuc_tir_for_node *n)
{
    if (n->loop == GPUC_LOOP_THREAD && n->tag != GPUC_VTHREAD) {
        if (!c->lanes) {
            launch l = {.c = c};
            gpuc_tir_visit_stmt(c->m->ctx, &n->base, find_threads, NULL, &l);
            compile_group(c, l.extent, compile_for_again, (void *)n);
        } else if (!c->lanes->group) {
            gpuc_ev_fail(c->m, &n->base, "a thread loop inside of a strip");
        } else if (gpuc_is_thread_tag(n->tag)) {
            compile_threads(c, n);
        } else {
            compile_serial(c, n, NULL, NULL);
        }
        return;
    }
    if (c->lanes) {
        compile_serial(c, n, NULL, NULL);
        return;
    }
    planned p = {.plan = gpuc_ev_plan(c, n)};
    gpuc_stmt s = &n->base;
    for (int i = 0; i < p.plan->depth; i++) {
        p.loops[i] = gpuc_as_for(s);
        s = p.loops[i]->body;
    }
    compile_planned(c, &p);
}

/* ---- Others ------------------------------------------------------------------------------------------ */

static void compile_if(ev_compiler *c, const gpuc_tir_if_node *n)
{
    ev_scope s;
    ev_block then_code = {0}, else_code = {0};
    gpuc_ev_open(c, &s, c->scope->code, false);
    ev_reg *cond = gpuc_ev_expr(c, n->cond);
    s.memo = (ev_map){0};
    c->mask_depth += 2;
    if (c->mask_depth > c->m->max_masks) c->m->max_masks = c->mask_depth;
    if (n->then_body) compile_body(c, &then_code, n->then_body);
    if (n->else_body) compile_body(c, &else_code, n->else_body);
    c->mask_depth -= 2;
    ev_ins *ins = gpuc_ev_emit(c, &s, EV_IF);
    ins->c = cond;
    ins->body = then_code;
    ins->other = else_code;
    gpuc_ev_close(c);
}

static void compile_store(ev_compiler *c, const gpuc_tir_store_node *n)
{
    ev_scope s;
    gpuc_tir_op op;
    gpuc_expr x;
    gpuc_ev_open(c, &s, c->scope->code, false);
    if (c->lanes && c->lanes->loop && gpuc_ev_map_get(&c->accumulate, n) == c->lanes->loop &&
        gpuc_ev_is_update(n, &op, &x)) {
        ev_reg *v = gpuc_ev_expr(c, x);
        ev_access *a = gpuc_ev_access(c, n->buffer, n->n, n->index);
        ev_ins *ins = gpuc_ev_emit(c, &s, EV_ACCUMULATE);
        a->buffer->stored = true;
        ins->op = op;
        ins->a = v;
        ins->access = a;
        ins->fn.binary = gpuc_ev_binary(op, v->type);
        ins->d = gpuc_ev_reg(c, &s, v->type, 1, true);
    } else {
        ev_reg *v = gpuc_ev_expr(c, n->value);
        ev_access *a = gpuc_ev_access(c, n->buffer, n->n, n->index);
        a->buffer->stored = true;
        ev_ins *ins = gpuc_ev_emit(c, &s, EV_STORE);
        ins->a = v;
        ins->access = a;
    }
    gpuc_ev_close(c);
}

static void compile_let(ev_compiler *c, const gpuc_tir_let_node *n)
{
    ev_scope s, body;
    gpuc_ev_open(c, &s, c->scope->code, false);
    ev_reg *r = gpuc_ev_expr(c, n->value);
    s.memo = (ev_map){0};
    gpuc_ev_open(c, &body, c->scope->code, true);
    ev_var *v = define(c, n->var);
    v->reg = r;
    if (gpuc_is_integer(n->var->dtype)) {
        v->constant = gpuc_ev_constant(c, n->value, &v->value);
        gpuc_ev_map_set(c->m, &c->lets, n->var, (void *)n->value);
    }
    gpuc_ev_stmt(c, n->body);
    gpuc_ev_close(c);
    gpuc_ev_close(c);
}

static void compile_eval(ev_compiler *c, const gpuc_tir_eval_node *n)
{
    ev_scope s;
    if (gpuc_tir_is_texture_call(n->value) && gpuc_as_call(n->value)->n == 3) {
        const gpuc_tir_call_node *call = gpuc_as_call(n->value);
        gpuc_expr index = gpuc_tir_texture_index(c->m->ctx, n->value);
        gpuc_dtype type = gpuc_dtype_with_lanes(call->buffer->dtype, index->dtype.lanes);
        gpuc_expr value = gpuc_cast(c->m->ctx, type, call->args[2]);
        compile_store(c, gpuc_as_store(gpuc_tir_store1(c->m->ctx, call->buffer, index, value)));
        return;
    }
    gpuc_ev_open(c, &s, c->scope->code, false);
    gpuc_ev_expr(c, n->value);
    gpuc_ev_close(c);
}

/* The stores of a cross-thread reduction, and the condition around them. */
static int reduced_stores(gpuc_stmt s, gpuc_expr *cond, const gpuc_tir_store_node **out, int max)
{
    *cond = NULL;
    if (s->kind == GPUC_STMT_IF) {
        *cond = gpuc_as_if(s)->cond;
        s = gpuc_as_if(s)->then_body;
    }
    if (s->kind == GPUC_STMT_STORE) {
        out[0] = gpuc_as_store(s);
        return 1;
    }
    if (s->kind != GPUC_STMT_SEQ || gpuc_as_seq(s)->n > max) return 0;
    for (int i = 0; i < gpuc_as_seq(s)->n; i++) {
        if (gpuc_as_seq(s)->at[i]->kind != GPUC_STMT_STORE) return 0;
        out[i] = gpuc_as_store(gpuc_as_seq(s)->at[i]);
    }
    return gpuc_as_seq(s)->n;
}

static void compile_allreduce(ev_compiler *c, const gpuc_tir_attr_node *n)
{
    const gpuc_tir_store_node *stores[16];
    gpuc_expr cond;
    const gpuc_tir_reducer *r = n->reducer;
    int count = reduced_stores(n->body, &cond, stores, 16);
    if (!c->lanes || !c->lanes->group || !r || count != r->count)
        gpuc_ev_fail(c->m, &n->base, "a cross-thread reduction of a form that is not known");
    ev_scope s, combine, store;
    gpuc_ev_open(c, &s, c->scope->code, false);
    if (c->mask_depth + 1 > c->m->max_masks) c->m->max_masks = c->mask_depth + 1;
    ev_allreduce *a = ev_new(c->m, ev_allreduce);
    a->count = count;
    ev_reg ***lists[] = {&a->value, &a->lhs, &a->rhs, &a->result, &a->total};
    for (int i = 0; i < 5; i++) *lists[i] = ev_new_array(c->m, ev_reg *, count);
    for (int i = 0; i < count; i++) {
        a->value[i] = gpuc_ev_expr(c, stores[i]->value);
        a->lhs[i] = gpuc_ev_reg(c, &s, a->value[i]->type, 1, false);
        a->rhs[i] = gpuc_ev_reg(c, &s, a->value[i]->type, 1, false);
        a->total[i] = gpuc_ev_reg(c, &s, a->value[i]->type, 1, false);
    }
    if (cond) a->cond = gpuc_ev_expr(c, cond);
    gpuc_ev_open(c, &combine, &a->combine, true);
    for (int i = 0; i < count; i++) {
        define(c, r->lhs[i])->reg = a->lhs[i];
        define(c, r->rhs[i])->reg = a->rhs[i];
    }
    for (int i = 0; i < count; i++) a->result[i] = gpuc_ev_expr(c, r->result[i]);
    gpuc_ev_close_keeping(c);
    gpuc_ev_open(c, &store, &a->store, true);
    a->all_threads = stores[0]->buffer->scope == GPUC_SCOPE_LOCAL;
    for (int i = 0; i < count; i++) {
        ev_access *at = gpuc_ev_access(c, stores[i]->buffer, stores[i]->n, stores[i]->index);
        at->buffer->stored = true;
        ev_ins *ins = gpuc_ev_emit(c, &store, EV_STORE);
        ins->a = a->lhs[i];
        ins->access = at;
    }
    gpuc_ev_close(c);
    for (const char *t = n->text; t && *t;) {
        size_t length = strcspn(t, ",");
        char name[32] = {0};
        gpuc_thread_tag tag;
        if (length < sizeof name) memcpy(name, t, length);
        if (!gpuc_thread_tag_parse(name, &tag)) gpuc_ev_fail(c->m, &n->base, "'%s' is no thread axis", name);
        a->over[tag] = true;
        t += length + (t[length] == ',');
    }
    gpuc_ev_emit(c, &s, EV_ALLREDUCE)->reduce = a;
    gpuc_ev_close(c);
}

/* The threads along x do it together: the first of them, in storage that they share. */
static void compile_coopmat(ev_compiler *c, const gpuc_tir_attr_node *n)
{
    ev_lanes *l = c->lanes;
    if (!l || !l->group || l->axes[2].extent == 1) {
        gpuc_ev_stmt(c, n->body);
        return;
    }
    gpuc_expr lane = gpuc_var(c->m->ctx, "lane", GPUC_INDEX);
    define(c, lane)->axis = &l->axes[2];
    gpuc_expr first = gpuc_eq(c->m->ctx, lane, gpuc_int(c->m->ctx, 0));
    compile_if(c, gpuc_as_if(gpuc_tir_if_(c->m->ctx, first, n->body, NULL)));
}

void gpuc_ev_stmt(ev_compiler *c, gpuc_stmt s)
{
    if (!s) return;
    gpuc_stmt around = c->stmt;
    c->stmt = s;
    switch (s->kind) {
    case GPUC_STMT_FOR: compile_for(c, gpuc_as_for(s)); break;
    case GPUC_STMT_STORE: compile_store(c, gpuc_as_store(s)); break;
    case GPUC_STMT_IF: compile_if(c, gpuc_as_if(s)); break;
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) gpuc_ev_stmt(c, gpuc_as_seq(s)->at[i]);
        break;
    case GPUC_STMT_ALLOC: compile_alloc(c, gpuc_as_alloc(s)); break;
    case GPUC_STMT_LET: compile_let(c, gpuc_as_let(s)); break;
    case GPUC_STMT_EVAL: compile_eval(c, gpuc_as_eval(s)); break;
    case GPUC_STMT_ATTR:
        if (strcmp(gpuc_as_attr(s)->key, "allreduce") == 0)
            compile_allreduce(c, gpuc_as_attr(s));
        else if (gpuc_tir_is_coopmat(s))
            compile_coopmat(c, gpuc_as_attr(s));
        else
            gpuc_ev_stmt(c, gpuc_as_attr(s)->body);
        break;
    case GPUC_STMT_KIND_COUNT: break;
    }
    c->stmt = around;
}

/* ---- A function --------------------------------------------------------------------------------------- */

/* The loops over the blocks of a kernel, then its body. */
typedef struct kernel {
    int next;
} kernel;

static void compile_blocks(ev_compiler *c, void *arg)
{
    kernel *k = arg;
    const gpuc_tir_func *f = c->m->func;
    while (k->next < f->num_threads && !gpuc_is_block_tag(f->threads[k->next].tag)) k->next++;
    if (k->next == f->num_threads) {
        gpuc_ev_stmt(c, f->body);
        return;
    }
    const gpuc_tir_thread *t = &f->threads[k->next++];
    gpuc_tir_for_node loop = {.base.kind = GPUC_STMT_FOR,
                              .var = t->var,
                              .extent = t->extent,
                              .loop = GPUC_LOOP_THREAD,
                              .tag = t->tag};
    loop.min = gpuc_imm_int(c->m->ctx, t->var->dtype, 0);
    compile_serial(c, &loop, compile_blocks, k);
}

static void compile_kernel(ev_compiler *c, void *arg)
{
    const gpuc_tir_func *f = c->m->func;
    for (int i = 0; i < f->num_threads; i++)
        for (int k = 0; k < c->lanes->num_axes; k++)
            if (c->lanes->axes[k].tag == f->threads[i].tag) {
                ev_var *v = define(c, f->threads[i].var);
                v->axis = &c->lanes->axes[k];
                v->ranged = true;
                v->max = c->lanes->axes[k].extent - 1;
            }
    compile_blocks(c, arg);
}

void gpuc_ev_compile(ev_compiler *c, ev_block *out)
{
    ev_scope s;
    const gpuc_tir_func *f = c->m->func;
    gpuc_ev_open(c, &s, out, false);
    for (int i = 0; i < f->num_buffers; i++) new_buffer(c, f->buffers[i]);
    if (f->stage < GPUC_TIR_STAGE_KERNEL) {
        gpuc_ev_stmt(c, f->body);
    } else {
        int64_t extent[GPUC_THREAD_TAG_COUNT] = {0};
        for (int i = 0; i < f->num_threads; i++) {
            int64_t n;
            if (!gpuc_is_thread_tag(f->threads[i].tag)) continue;
            if (!gpuc_ev_constant(c, f->threads[i].extent, &n))
                gpuc_ev_fail(c->m, NULL, "the number of threads %s is not known before the run",
                             gpuc_expr_text(c->m->ctx, f->threads[i].extent));
            extent[f->threads[i].tag] = n;
        }
        kernel k = {0};
        compile_group(c, extent, compile_kernel, &k);
    }
    gpuc_ev_close(c);
}
