/* SPDX-License-Identifier: Apache-2.0 */
/* Has what lowering passes share: copies with new names, sizes, accesses, conditions, cross-thread
 * reductions. */
#include "lower/common/util.h"

#include <string.h>

#include "base/size.h"

gpuc_tir_func *gpuc_lower_with_body(gpuc_ctx *ctx, gpuc_tir_func *f, gpuc_stmt body, gpuc_tir_stage stage)
{
    if (body == f->body && stage == f->stage) return f;
    gpuc_tir_func *out = gpuc_ctx_memdup(ctx, f, sizeof *f);
    out->body = body;
    out->stage = stage;
    return out;
}

gpuc_analyzer *gpuc_lower_analyzer(gpuc_ctx *ctx, const gpuc_tir_func *f)
{
    gpuc_analyzer *a = gpuc_arith_analyzer_create(ctx);
    for (int i = 0; i < f->num_buffers; i++)
        for (int d = 0; d < f->buffers[i]->ndim; d++)
            gpuc_lower_bind_symbols(ctx, a, f->buffers[i]->shape[d]);
    for (int i = 0; i < f->num_threads; i++) {
        const gpuc_tir_thread *t = &f->threads[i];
        gpuc_arith_analyzer_bind(a, t->var, gpuc_imm_int(ctx, t->var->dtype, 0), t->extent);
    }
    return a;
}

/* A symbol of a shape is a dimension: its size is checked at run time. */
static bool bind_symbol(gpuc_expr e, void *arg)
{
    gpuc_analyzer *a = ((void **)arg)[0];
    gpuc_ctx *ctx = ((void **)arg)[1];
    if (e->kind != GPUC_EXPR_VAR || !gpuc_is_integer(e->dtype)) return true;
    if (gpuc_arith_analyzer_bounds(a, e).min >= 0) return true;
    gpuc_arith_analyzer_bind(a, e, gpuc_imm_int(ctx, e->dtype, 0), gpuc_imm_int(ctx, e->dtype, INT32_MAX));
    return true;
}

void gpuc_lower_bind_symbols(gpuc_ctx *ctx, gpuc_analyzer *a, gpuc_expr dim)
{
    void *arg[2] = {a, ctx};
    if (dim->flags & GPUC_TIR_HAS_VAR) gpuc_tir_visit(ctx, dim, bind_symbol, arg);
}

void gpuc_lower_bind(gpuc_analyzer *a, gpuc_stmt s)
{
    if (s->kind == GPUC_STMT_FOR) {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        gpuc_arith_analyzer_bind(a, n->var, n->min, n->extent);
    } else if (s->kind == GPUC_STMT_LET) {
        const gpuc_tir_let_node *n = gpuc_as_let(s);
        if (gpuc_is_integer(n->var->dtype) && n->var->dtype.lanes == 1 &&
            !(n->value->flags & GPUC_TIR_HAS_LOAD))
            gpuc_arith_analyzer_bind_value(a, n->var, n->value);
    }
}

gpuc_expr gpuc_lower_var_like(gpuc_ctx *ctx, gpuc_expr var)
{
    return gpuc_var(ctx, gpuc_as_var(var)->name, var->dtype);
}

gpuc_expr gpuc_lower_call_index(gpuc_ctx *ctx, gpuc_expr call)
{
    const gpuc_tir_call_node *n = gpuc_as_call(call);
    return n->fn == GPUC_TIR_CALL_EXTERN ? gpuc_int(ctx, 0) : n->args[0];
}

gpuc_expr gpuc_lower_call_on(gpuc_ctx *ctx, gpuc_expr call, const gpuc_tir_buffer *b, gpuc_expr index)
{
    const gpuc_tir_call_node *n = gpuc_as_call(call);
    gpuc_expr *args = gpuc_ctx_memdup(ctx, n->args, sizeof *n->args * (size_t)n->n);
    if (n->fn != GPUC_TIR_CALL_EXTERN) args[0] = index;
    return gpuc_tir_call(ctx, call->dtype, n->fn, n->name, b, n->n, args);
}

gpuc_tir_buffer *gpuc_lower_buffer_like(gpuc_ctx *ctx, const gpuc_tir_buffer *b, gpuc_dtype dtype,
                                        gpuc_expr size, gpuc_scope scope)
{
    gpuc_tir_buffer *out = gpuc_tir_buffer_make(ctx, b->name, dtype, 1, &size, scope);
    out->double_buffer = b->double_buffer;
    out->require_scope = b->require_scope && scope == b->scope;
    out->non_temporal = b->non_temporal && scope == GPUC_SCOPE_GLOBAL;
    out->image = scope == GPUC_SCOPE_TEXTURE ? b->image : NULL;
    return out;
}

/* ---- Copies with new names ------------------------------------------------------------------------ */

typedef struct cloner {
    gpuc_tir_mapper m;
    gpuc_map vars, buffers;
} cloner;

static const gpuc_tir_buffer *renamed(cloner *c, const gpuc_tir_buffer *b)
{
    const gpuc_tir_buffer *r = b ? gpuc_map_get(&c->buffers, b) : NULL;
    return r ? r : b;
}

static gpuc_expr clone_expr(gpuc_tir_mapper *m, gpuc_expr e)
{
    cloner *c = (cloner *)m;
    if (e->kind == GPUC_EXPR_VAR) {
        gpuc_expr r = gpuc_map_get(&c->vars, e);
        return r ? r : e;
    }
    if (!(e->flags & (GPUC_TIR_HAS_VAR | GPUC_TIR_HAS_LOAD))) return e;
    return gpuc_tir_with_buffers(m->ctx, gpuc_tir_map_children(m, e), &c->buffers);
}

static void rename_to(cloner *c, gpuc_map *map, const void *from, const void *to)
{
    if (gpuc_map_has(map, from)) gpuc_tir_mapper_forget(&c->m); /* bound a second time */
    gpuc_map_set(map, from, (void *)to);
}

static gpuc_stmt clone_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    cloner *c = (cloner *)m;
    if (s->kind == GPUC_STMT_FOR) {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        gpuc_expr min = gpuc_tir_map(m, n->min), extent = gpuc_tir_map(m, n->extent);
        gpuc_expr var = gpuc_lower_var_like(m->ctx, n->var);
        rename_to(c, &c->vars, n->var, var);
        return gpuc_tir_for_(m->ctx, var, min, extent, n->loop, n->tag, gpuc_tir_map_stmt(m, n->body));
    }
    if (s->kind == GPUC_STMT_LET) {
        const gpuc_tir_let_node *n = gpuc_as_let(s);
        gpuc_expr value = gpuc_tir_map(m, n->value), var = gpuc_lower_var_like(m->ctx, n->var);
        rename_to(c, &c->vars, n->var, var);
        return gpuc_tir_let(m->ctx, var, value, gpuc_tir_map_stmt(m, n->body));
    }
    if (s->kind == GPUC_STMT_ALLOC) {
        const gpuc_tir_alloc_node *n = gpuc_as_alloc(s);
        gpuc_tir_buffer *b = gpuc_tir_map_buffer(m, n->buffer);
        if (!b) {
            b = gpuc_ctx_memdup(m->ctx, n->buffer, sizeof *n->buffer);
            b->id = m->ctx->next_id++;
        }
        rename_to(c, &c->buffers, n->buffer, b);
        return gpuc_tir_alloc(m->ctx, b, gpuc_tir_map_stmt(m, n->body));
    }
    if (s->kind == GPUC_STMT_STORE) {
        const gpuc_tir_store_node *n = gpuc_as_store(s);
        gpuc_expr few[GPUC_LOWER_FEW], *index = gpuc_lower_indices(m->ctx, n->n, few);
        for (int i = 0; i < n->n; i++) index[i] = gpuc_tir_map(m, n->index[i]);
        return gpuc_tir_store(m->ctx, renamed(c, n->buffer), n->n, index, gpuc_tir_map(m, n->value));
    }
    return gpuc_tir_map_stmt_children(m, s);
}

gpuc_stmt gpuc_lower_clone(gpuc_ctx *ctx, gpuc_stmt s, int n, const gpuc_expr *vars, const gpuc_expr *with)
{
    cloner c;
    gpuc_tir_mapper_init(&c.m, ctx, clone_expr, clone_stmt);
    gpuc_map_init(&c.vars, ctx);
    gpuc_map_init(&c.buffers, ctx);
    for (int i = 0; i < n; i++) gpuc_map_set(&c.vars, vars[i], (void *)with[i]);
    return gpuc_tir_map_stmt(&c.m, s);
}

gpuc_stmt gpuc_lower_copies(gpuc_ctx *ctx, gpuc_expr var, gpuc_expr first, int64_t count, gpuc_stmt s)
{
    gpuc_stmt *at = gpuc_new_array(ctx, gpuc_stmt, count);
    for (int64_t i = 0; i < count; i++) {
        gpuc_expr value = gpuc_add(ctx, first, gpuc_imm_int(ctx, var->dtype, i));
        at[i] = i == 0 ? gpuc_tir_substitute_stmt(ctx, s, 1, &var, &value)
                       : gpuc_lower_clone(ctx, s, 1, &var, &value);
    }
    return gpuc_tir_seq(ctx, (int)count, at);
}

/* ---- Sizes ------------------------------------------------------------------------------------------ */

int64_t gpuc_lower_steps(gpuc_stmt s, int64_t limit)
{
    if (!s || limit <= 0) return 0;
    int64_t n = 0, extent;
    switch (s->kind) {
    case GPUC_STMT_FOR:
        n = gpuc_lower_steps(gpuc_as_for(s)->body, limit);
        if (!gpuc_expr_is_int(gpuc_as_for(s)->extent, &extent)) return n;
        if (extent <= 0) return 0;
        return n > limit / extent ? limit : n * extent;
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL: return 1;
    case GPUC_STMT_IF:
        n = gpuc_lower_steps(gpuc_as_if(s)->then_body, limit);
        return n + gpuc_lower_steps(gpuc_as_if(s)->else_body, limit - n);
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n && n < limit; i++)
            n += gpuc_lower_steps(gpuc_as_seq(s)->at[i], limit - n);
        return n;
    case GPUC_STMT_ALLOC: return gpuc_lower_steps(gpuc_as_alloc(s)->body, limit);
    case GPUC_STMT_LET: return gpuc_lower_steps(gpuc_as_let(s)->body, limit);
    case GPUC_STMT_ATTR: return gpuc_lower_steps(gpuc_as_attr(s)->body, limit);
    case GPUC_STMT_KIND_COUNT: break;
    }
    return n;
}

typedef struct counter {
    int64_t n;
} counter;

static void count_stmt(gpuc_stmt s, void *arg)
{
    (void)s;
    ((counter *)arg)->n++;
}

static bool count_expr(gpuc_expr e, void *arg)
{
    ((counter *)arg)->n += e->kind != GPUC_EXPR_VAR && e->kind != GPUC_EXPR_INT && e->kind != GPUC_EXPR_FLOAT;
    return true;
}

int64_t gpuc_lower_size(gpuc_ctx *ctx, gpuc_stmt s)
{
    counter c = {0};
    gpuc_tir_visit_stmt(ctx, s, count_stmt, count_expr, &c);
    return c.n;
}

static bool is_signed_scalar(gpuc_expr e, void *arg)
{
    (void)arg;
    return e->dtype.code != GPUC_DTYPE_UINT && e->dtype.lanes == 1;
}

bool gpuc_lower_is_size(gpuc_ctx *ctx, gpuc_expr e)
{
    return !(e->flags & (GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT)) &&
           gpuc_tir_visit(ctx, e, is_signed_scalar, NULL);
}

bool gpuc_lower_const_size(const gpuc_tir_buffer *b, int64_t *out)
{
    int64_t n = 1, d;
    for (int i = 0; i < b->ndim; i++)
        if (!gpuc_expr_is_int(b->shape[i], &d) || !gpuc_i64_mul(n, d, &n)) return false;
    *out = n;
    return true;
}

/* ---- Accesses -------------------------------------------------------------------------------------- */

bool gpuc_lower_is_shared(const gpuc_tir_buffer *b)
{
    return b->scope == GPUC_SCOPE_SHARED;
}

static void find_team(gpuc_stmt s, void *arg)
{
    const gpuc_tir_buffer *b = s->kind == GPUC_STMT_ALLOC ? gpuc_as_alloc(s)->buffer : NULL;
    bool together =
        b && (gpuc_lower_is_shared(b) || b->scope == GPUC_SCOPE_WARP || b->scope == GPUC_SCOPE_COOPMAT);
    if (together || gpuc_lower_is_allreduce(s)) *(bool *)arg = true;
}

bool gpuc_lower_is_teamwork(gpuc_ctx *ctx, gpuc_stmt s)
{
    bool found = false;
    gpuc_tir_visit_stmt(ctx, s, find_team, NULL, &found);
    return found;
}

typedef struct access_visit {
    void (*fn)(const gpuc_lower_access *access, void *arg);
    void *arg;
} access_visit;

static void access_stmt(gpuc_stmt s, void *arg)
{
    access_visit *v = arg;
    if (s->kind != GPUC_STMT_STORE) return;
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    gpuc_lower_access access = {.buffer = n->buffer, .index = n->n == 1 ? n->index[0] : NULL, .write = true};
    v->fn(&access, v->arg);
}

static bool access_expr(gpuc_expr e, void *arg)
{
    access_visit *v = arg;
    if (e->kind == GPUC_EXPR_LOAD) {
        const gpuc_tir_load_node *n = gpuc_as_load(e);
        gpuc_lower_access access = {
            .buffer = n->buffer, .index = n->n == 1 ? n->index[0] : NULL, .read = true};
        v->fn(&access, v->arg);
    } else if (e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->buffer) {
        const gpuc_tir_call_node *n = gpuc_as_call(e);
        bool address = n->fn == GPUC_TIR_CALL_ADDRESS || n->fn == GPUC_TIR_CALL_CONST_ADDRESS;
        bool texture = gpuc_tir_is_texture_call(e);
        bool element = !texture && !address && n->fn != GPUC_TIR_CALL_EXTERN;
        gpuc_lower_access access = {
            .buffer = n->buffer,
            .index = element && n->n > 0 ? n->args[0] : NULL,
            .write = n->fn != GPUC_TIR_CALL_TEXTURE2D_LOAD && n->fn != GPUC_TIR_CALL_PREFETCH &&
                     n->fn != GPUC_TIR_CALL_CONST_ADDRESS,
            .read = n->fn != GPUC_TIR_CALL_TEXTURE2D_STORE,
            .atomic = element,
        };
        v->fn(&access, v->arg);
    }
    return true;
}

void gpuc_lower_accesses(gpuc_ctx *ctx, gpuc_stmt s, void (*fn)(const gpuc_lower_access *access, void *arg),
                         void *arg)
{
    access_visit v = {fn, arg};
    gpuc_tir_visit_stmt(ctx, s, access_stmt, access_expr, &v);
}

void gpuc_lower_expr_accesses(gpuc_ctx *ctx, gpuc_expr e,
                              void (*fn)(const gpuc_lower_access *access, void *arg), void *arg)
{
    access_visit v = {fn, arg};
    if (e->flags & (GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT)) gpuc_tir_visit(ctx, e, access_expr, &v);
}

typedef struct touch_search {
    const gpuc_tir_buffer *buffer;
    bool read, written;
} touch_search;

static void touch(const gpuc_lower_access *access, void *arg)
{
    touch_search *t = arg;
    if (access->buffer != t->buffer) return;
    t->read |= access->read;
    t->written |= access->write;
}

bool gpuc_lower_touches(gpuc_ctx *ctx, gpuc_stmt s, const gpuc_tir_buffer *b)
{
    touch_search t = {.buffer = b};
    gpuc_lower_accesses(ctx, s, touch, &t);
    return t.read || t.written;
}

bool gpuc_lower_writes(gpuc_ctx *ctx, gpuc_stmt s, const gpuc_tir_buffer *b)
{
    touch_search t = {.buffer = b};
    gpuc_lower_accesses(ctx, s, touch, &t);
    return t.written;
}

/* ---- Conditions ------------------------------------------------------------------------------------- */

void gpuc_lower_conjuncts(gpuc_ctx *ctx, gpuc_expr cond, gpuc_ptrs *out)
{
    if (cond->kind == GPUC_EXPR_OP && gpuc_as_op(cond)->op == GPUC_TIR_AND) {
        gpuc_lower_conjuncts(ctx, gpuc_as_op(cond)->a[0], out);
        gpuc_lower_conjuncts(ctx, gpuc_as_op(cond)->a[1], out);
        return;
    }
    gpuc_ptrs_push(ctx, out, cond);
}

/* Makes the value load only where the guard holds; elsewhere the result is not used. */
static gpuc_expr guarded_value(gpuc_ctx *ctx, gpuc_expr cond, gpuc_expr value)
{
    if (!(value->flags & GPUC_TIR_HAS_LOAD)) return value;
    cond = gpuc_tir_broadcast(ctx, cond, value->dtype.lanes);
    return gpuc_if_then_else(ctx, cond, value, gpuc_imm_int(ctx, value->dtype, 0));
}

bool gpuc_lower_names_tag(const char *text, gpuc_thread_tag tag)
{
    const char *name = gpuc_thread_tag_name(tag), *at = text ? strstr(text, name) : NULL;
    return at && (at[strlen(name)] == 0 || at[strlen(name)] == ',');
}

bool gpuc_lower_is_allreduce(gpuc_stmt s)
{
    return s->kind == GPUC_STMT_ATTR && strcmp(gpuc_as_attr(s)->key, "allreduce") == 0;
}

gpuc_lower_allreduce gpuc_lower_allreduce_of(const gpuc_tir_attr_node *n)
{
    gpuc_lower_allreduce a = {.attr = n};
    gpuc_stmt s = n->body;
    if (s->kind == GPUC_STMT_IF) {
        a.cond = gpuc_as_if(s)->cond;
        s = gpuc_as_if(s)->then_body;
    }
    a.stores = s->kind == GPUC_STMT_SEQ ? gpuc_as_seq(s)->at : NULL;
    a.only = s;
    return a;
}

const gpuc_tir_store_node *gpuc_lower_allreduce_store(const gpuc_lower_allreduce *a, int i)
{
    return gpuc_as_store(a->stores ? a->stores[i] : a->only);
}

gpuc_stmt gpuc_lower_allreduce_make(gpuc_ctx *ctx, const gpuc_lower_allreduce *a, gpuc_expr cond,
                                    gpuc_expr const *values)
{
    const gpuc_tir_attr_node *n = a->attr;
    int count = n->reducer->count;
    gpuc_stmt *stores = gpuc_new_array(ctx, gpuc_stmt, count);
    for (int i = 0; i < count; i++) {
        const gpuc_tir_store_node *st = gpuc_lower_allreduce_store(a, i);
        stores[i] = gpuc_tir_store(ctx, st->buffer, st->n, st->index, values ? values[i] : st->value);
    }
    gpuc_stmt body = gpuc_tir_seq(ctx, count, stores);
    if (cond) body = gpuc_tir_if_(ctx, cond, body, NULL);
    return gpuc_tir_attr(ctx, n->key, n->text, n->value, n->reducer, body);
}

/* Moves a guard into a cross-thread reduction: all threads take part, and those for which the guard is false
 * contribute the identity and store nothing. */
static gpuc_stmt guard_allreduce(gpuc_ctx *ctx, gpuc_expr cond, const gpuc_tir_attr_node *n)
{
    gpuc_lower_allreduce a = gpuc_lower_allreduce_of(n);
    int count = n->reducer->count;
    gpuc_expr *values = gpuc_new_array(ctx, gpuc_expr, count);
    for (int i = 0; i < count; i++)
        values[i] =
            gpuc_if_then_else(ctx, cond, gpuc_lower_allreduce_store(&a, i)->value, n->reducer->identity[i]);
    return gpuc_lower_allreduce_make(ctx, &a, a.cond ? gpuc_and(ctx, cond, a.cond) : cond, values);
}

typedef struct sinker {
    gpuc_ctx *ctx;
    gpuc_lower_guard_fn choose;
    void *arg;
} sinker;

/* Guards the statements of s by cond. known, which cond implies, is what choose decides by: it is written
 * without the names that the guards get. */
static gpuc_stmt sink(const sinker *k, gpuc_expr cond, gpuc_expr known, gpuc_stmt s);

static gpuc_stmt sink_if(const sinker *k, gpuc_expr cond, gpuc_expr known, gpuc_stmt s)
{
    gpuc_ctx *ctx = k->ctx;
    const gpuc_tir_if_node *n = gpuc_as_if(s);
    bool loads = n->cond->flags & GPUC_TIR_HAS_LOAD;
    gpuc_expr p = gpuc_var(ctx, "active", GPUC_BOOL), inner = n->cond;
    gpuc_expr then_known = gpuc_and(ctx, known, loads ? p : inner);
    gpuc_expr else_known = gpuc_and(ctx, known, gpuc_not(ctx, loads ? p : inner));
    if (loads)
        inner = gpuc_if_then_else(ctx, cond, inner, gpuc_imm_int(ctx, GPUC_BOOL, 0));
    else
        inner = gpuc_and(ctx, cond, inner);
    gpuc_stmt then_body = sink(k, p, then_known, n->then_body), else_body = NULL;
    if (n->else_body) else_body = sink(k, gpuc_and(ctx, cond, gpuc_not(ctx, p)), else_known, n->else_body);
    return gpuc_tir_let(ctx, p, inner, gpuc_tir_seq2(ctx, then_body, else_body));
}

static gpuc_stmt sink(const sinker *k, gpuc_expr cond, gpuc_expr known, gpuc_stmt s)
{
    gpuc_ctx *ctx = k->ctx;
    gpuc_lower_guard where = k->choose(known, s, k->arg);
    if (where == GPUC_LOWER_GUARD_NOT) return s;
    if (where == GPUC_LOWER_GUARD_HERE) return gpuc_tir_if_(ctx, cond, s, NULL);
    switch (s->kind) {
    case GPUC_STMT_SEQ: {
        const gpuc_tir_seq_node *n = gpuc_as_seq(s);
        gpuc_stmt *at = gpuc_new_array(ctx, gpuc_stmt, n->n);
        for (int i = 0; i < n->n; i++) at[i] = sink(k, cond, known, n->at[i]);
        return gpuc_tir_seq(ctx, n->n, at);
    }
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        return gpuc_tir_for_(ctx, n->var, n->min, n->extent, n->loop, n->tag, sink(k, cond, known, n->body));
    }
    case GPUC_STMT_ALLOC:
        return gpuc_tir_alloc(ctx, gpuc_as_alloc(s)->buffer, sink(k, cond, known, gpuc_as_alloc(s)->body));
    case GPUC_STMT_LET: {
        const gpuc_tir_let_node *n = gpuc_as_let(s);
        return gpuc_tir_let(ctx, n->var, guarded_value(ctx, cond, n->value), sink(k, cond, known, n->body));
    }
    case GPUC_STMT_ATTR: {
        const gpuc_tir_attr_node *n = gpuc_as_attr(s);
        if (gpuc_lower_is_allreduce(s)) return guard_allreduce(ctx, cond, n);
        if (gpuc_tir_is_coopmat(s)) return gpuc_tir_if_(ctx, cond, s, NULL);
        return gpuc_tir_attr(ctx, n->key, n->text, n->value, n->reducer, sink(k, cond, known, n->body));
    }
    case GPUC_STMT_IF: return sink_if(k, cond, known, s);
    case GPUC_STMT_STORE: {
        const gpuc_tir_store_node *n = gpuc_as_store(s);
        gpuc_expr v = gpuc_var(ctx, "v", n->value->dtype);
        gpuc_stmt store = gpuc_tir_if_(ctx, cond, gpuc_tir_store(ctx, n->buffer, n->n, n->index, v), NULL);
        return gpuc_tir_let(ctx, v, guarded_value(ctx, cond, n->value), store);
    }
    case GPUC_STMT_EVAL: return gpuc_tir_if_(ctx, cond, s, NULL);
    case GPUC_STMT_KIND_COUNT: break;
    }
    return s;
}

gpuc_stmt gpuc_lower_sink_guard(gpuc_ctx *ctx, gpuc_expr cond, gpuc_stmt s, gpuc_lower_guard_fn choose,
                                void *arg)
{
    sinker k = {.ctx = ctx, .choose = choose, .arg = arg};
    if (!(cond->flags & GPUC_TIR_HAS_LOAD) || choose(cond, s, arg) != GPUC_LOWER_GUARD_BELOW)
        return sink(&k, cond, cond, s);
    gpuc_expr p = gpuc_var(ctx, "active", GPUC_BOOL);
    return gpuc_tir_let(ctx, p, cond, sink(&k, p, p, s));
}
