/* SPDX-License-Identifier: Apache-2.0 */
/* In a run of stores, expressions with loads that several of them evaluate, and that none of them writes
 * to, are given names before the first. Then, at each statement from the top down, an expression
 * without loads that occurs in two of its parts, or a slow one in a loop, is named around it; inside one
 * store, or in names that follow each other, whatever occurs twice. */
#include <stdlib.h>
#include <string.h>

#include "lower/common/util.h"
#include "tir/intern.h"

typedef struct info {
    int parts, first_part,
        last_part; /* number of parts that it occurs in; the first and the last of them, counted from 1 */
    int edges;     /* uses as an operand or a root */
    int refs;      /* times that it is printed once the chosen expressions have names */
    bool sure;     /* evaluated whenever its part is */
} info;

typedef struct hoister {
    gpuc_ctx *ctx;
    bool aliased;
    gpuc_map nonzero; /* names of what is never 0 */
} hoister;

/* What is found in the parts of one statement. */
typedef struct survey {
    gpuc_ctx *ctx;
    gpuc_map *nonzero;
    gpuc_map infos;   /* expr -> info */
    gpuc_map bound;   /* variables bound inside: no expression over them can leave */
    gpuc_map written; /* buffers that the run writes */
    bool loads;       /* expressions with loads may be named */
    bool any_written_param, aliased;
    bool by_edges;   /* the parts are the uses inside of one statement */
    bool only_loads; /* expressions without loads are named elsewhere */
    bool repeats;    /* the second part is the body of a loop */
    bool worth;      /* may_share found something */
    int part;
} survey;

static info *info_of(survey *v, gpuc_expr e)
{
    info *i = gpuc_map_get(&v->infos, e);
    if (i) return i;
    i = gpuc_new(v->ctx, info);
    gpuc_map_set(&v->infos, e, i);
    return i;
}

/* ---- What may have a name -------------------------------------------------------------------------------- */

static int weight(gpuc_expr e)
{
    switch (e->kind) {
    case GPUC_EXPR_VAR:
    case GPUC_EXPR_INT:
    case GPUC_EXPR_FLOAT:
    case GPUC_EXPR_BROADCAST:
    case GPUC_EXPR_RAMP:
    case GPUC_EXPR_LANE: return 0;
    case GPUC_EXPR_CAST: return 1;
    case GPUC_EXPR_LOAD: return gpuc_as_load(e)->buffer->scope == GPUC_SCOPE_LOCAL ? 0 : 4;
    case GPUC_EXPR_OP: {
        gpuc_tir_op op = gpuc_as_op(e)->op;
        bool cheap = gpuc_tir_ops[op].arity == 2 && !(gpuc_tir_ops[op].flags & GPUC_TIR_FUNC);
        return cheap || op == GPUC_TIR_NOT || op == GPUC_TIR_SELECT ? 1 : 4;
    }
    case GPUC_EXPR_VECTOR:
    case GPUC_EXPR_CALL: return 2;
    case GPUC_EXPR_READ:
    case GPUC_EXPR_REDUCE:
    case GPUC_EXPR_KIND_COUNT: break;
    }
    return 0;
}

static bool is_worth(gpuc_ctx *ctx, gpuc_expr e)
{
    int own = weight(e);
    if (own == 0) return false;
    if (own >= 4) return true;
    gpuc_tir_operands operands;
    gpuc_tir_operands_get(ctx, e, &operands);
    for (int i = 0; i < operands.n; i++) own += weight(operands.at[i]);
    return own >= 2;
}

static gpuc_expr divisor_of(gpuc_expr e)
{
    if (e->kind != GPUC_EXPR_OP || gpuc_is_float(e->dtype)) return NULL;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    bool divides = n->op == GPUC_TIR_DIV || n->op == GPUC_TIR_MOD || n->op == GPUC_TIR_FLOORDIV ||
                   n->op == GPUC_TIR_FLOORMOD;
    if (!divides) return NULL;
    return n->a[1]->kind == GPUC_EXPR_BROADCAST ? gpuc_as_broadcast(n->a[1])->a : n->a[1];
}

static bool is_nonzero(const survey *v, gpuc_expr e)
{
    int64_t c;
    if (gpuc_map_has(v->nonzero, e)) return true;
    if (gpuc_expr_is_int(e, &c)) return c != 0;
    if (e->kind != GPUC_EXPR_OP || gpuc_as_op(e)->op != GPUC_TIR_MAX) return false;
    return gpuc_expr_is_int(gpuc_as_op(e)->a[1], &c) && c > 0;
}

/* Whether e is a division by a number known only at run time: it takes as long as the rest of a small loop,
 * and drivers do not hoist it. */
static bool is_slow(gpuc_expr e)
{
    gpuc_expr by = divisor_of(e);
    return by && by->kind != GPUC_EXPR_INT;
}

typedef struct legality {
    survey *v;
    bool ok;
} legality;

static bool check_legal(gpuc_expr e, void *arg)
{
    legality *l = arg;
    survey *v = l->v;
    if (e->kind == GPUC_EXPR_VAR && gpuc_map_has(&v->bound, e)) l->ok = false;
    if (e->kind == GPUC_EXPR_LOAD) {
        const gpuc_tir_buffer *b = gpuc_as_load(e)->buffer;
        bool param = gpuc_scope_is_global(b->scope);
        if (!v->loads || gpuc_map_has(&v->written, b) || (param && v->aliased && v->any_written_param))
            l->ok = false;
    }
    gpuc_expr by = v->loads ? NULL : divisor_of(e);
    if (by && !is_nonzero(v, by)) l->ok = false;
    return l->ok;
}

static bool is_legal(survey *v, gpuc_expr e)
{
    legality l = {.v = v,
                  .ok = !(e->flags & GPUC_TIR_HAS_EFFECT) && (v->loads || !(e->flags & GPUC_TIR_HAS_LOAD))};
    return l.ok && gpuc_tir_visit(v->ctx, e, check_legal, &l);
}

/* ---- Counting -------------------------------------------------------------------------------------------- */

static void count(survey *v, gpuc_expr e, bool sure)
{
    if (e->kind == GPUC_EXPR_VAR || e->kind == GPUC_EXPR_INT || e->kind == GPUC_EXPR_FLOAT) return;
    info *i = info_of(v, e);
    bool seen = i->last_part == v->part;
    if (seen && (i->sure || !sure)) return;
    if (!seen) {
        i->parts++;
        i->last_part = v->part;
        if (i->first_part == 0) i->first_part = v->part;
    }
    i->sure = i->sure || sure;
    gpuc_tir_operands operands;
    gpuc_tir_operands_get(v->ctx, e, &operands);
    bool lazy = e->kind == GPUC_EXPR_OP && gpuc_tir_ops[gpuc_as_op(e)->op].flags & GPUC_TIR_LAZY;
    for (int k = 0; k < operands.n; k++) count(v, operands.at[k], sure && !(lazy && k > 0));
}

static bool count_root(gpuc_expr e, void *arg)
{
    count(arg, e, true);
    return true;
}

/* Calls fn on every expression that stands directly in the statement or below it. */
static void for_roots(survey *v, gpuc_stmt s, bool (*fn)(gpuc_expr e, void *arg))
{
    if (!s) return;
    switch (s->kind) {
    case GPUC_STMT_FOR:
        fn(gpuc_as_for(s)->min, v);
        fn(gpuc_as_for(s)->extent, v);
        for_roots(v, gpuc_as_for(s)->body, fn);
        return;
    case GPUC_STMT_STORE:
        for (int i = 0; i < gpuc_as_store(s)->n; i++) fn(gpuc_as_store(s)->index[i], v);
        fn(gpuc_as_store(s)->value, v);
        return;
    case GPUC_STMT_IF:
        fn(gpuc_as_if(s)->cond, v);
        for_roots(v, gpuc_as_if(s)->then_body, fn);
        for_roots(v, gpuc_as_if(s)->else_body, fn);
        return;
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) for_roots(v, gpuc_as_seq(s)->at[i], fn);
        return;
    case GPUC_STMT_ALLOC: for_roots(v, gpuc_as_alloc(s)->body, fn); return;
    case GPUC_STMT_LET:
        fn(gpuc_as_let(s)->value, v);
        for_roots(v, gpuc_as_let(s)->body, fn);
        return;
    case GPUC_STMT_EVAL: fn(gpuc_as_eval(s)->value, v); return;
    case GPUC_STMT_ATTR: for_roots(v, gpuc_as_attr(s)->body, fn); return;
    case GPUC_STMT_KIND_COUNT: return;
    }
}

static void note_bound(gpuc_stmt s, void *arg)
{
    survey *v = arg;
    gpuc_expr var = s->kind == GPUC_STMT_FOR   ? gpuc_as_for(s)->var
                    : s->kind == GPUC_STMT_LET ? gpuc_as_let(s)->var
                                               : NULL;
    if (var) gpuc_map_set(&v->bound, var, (void *)var);
}

static void start(survey *v, hoister *h)
{
    *v = (survey){.ctx = h->ctx, .nonzero = &h->nonzero, .aliased = h->aliased};
    gpuc_map_init(&v->infos, h->ctx);
    gpuc_map_init(&v->bound, h->ctx);
    gpuc_map_init(&v->written, h->ctx);
}

/* ---- Naming ---------------------------------------------------------------------------------------------- */

/* Sorts by depth; expressions of one depth stay in the order of the text. */
static void shallow_first(gpuc_ctx *ctx, gpuc_ptrs *list)
{
    gpuc_ptrs sorted = {0};
    for (uint32_t depth = 0; sorted.count < list->count; depth++)
        for (size_t i = 0; i < list->count; i++)
            if (((gpuc_expr)list->at[i])->depth == depth) gpuc_ptrs_push(ctx, &sorted, list->at[i]);
    *list = sorted;
}

static bool is_candidate(survey *v, gpuc_expr e, const info *i)
{
    if ((v->by_edges ? i->edges : i->parts) < 2 && !(v->repeats && is_slow(e))) return false;
    if (e->flags & GPUC_TIR_HAS_LOAD ? !i->sure : v->only_loads) return false;
    return is_worth(v->ctx, e) && is_legal(v, e);
}

static int deep_first(const void *pa, const void *pb)
{
    gpuc_expr a = *(const gpuc_expr *)pa, b = *(const gpuc_expr *)pb;
    return a->depth == b->depth ? 0 : a->depth > b->depth ? -1 : 1;
}

/* Counts how often each expression would be printed if the chosen ones have names, from the counts of the
 * expressions that use it. */
static void count_refs(survey *v, const gpuc_map *chosen)
{
    enum { MANY = 1000 };
    uint32_t n = v->infos.count;
    gpuc_expr *all = gpuc_new_array(v->ctx, gpuc_expr, n);
    for (uint32_t k = 0; k < n; k++) all[k] = v->infos.entries[k].key;
    qsort(all, n, sizeof *all, deep_first);
    for (uint32_t k = 0; k < n; k++) {
        gpuc_tir_operands operands;
        gpuc_tir_operands_get(v->ctx, all[k], &operands);
        int times = gpuc_map_has(chosen, all[k]) ? 1 : info_of(v, all[k])->refs;
        for (int o = 0; o < operands.n; o++) {
            info *i = gpuc_map_get(&v->infos, operands.at[o]);
            if (i && i->refs < MANY) i->refs += times;
        }
    }
}

static bool ref_root(gpuc_expr e, void *arg)
{
    survey *v = arg;
    info *i = gpuc_map_get(&v->infos, e);
    if (i) {
        i->refs++;
        i->edges++;
    }
    return true;
}

static void count_edges(survey *v)
{
    for (uint32_t k = 0; k < v->infos.count; k++) {
        gpuc_tir_operands operands;
        gpuc_tir_operands_get(v->ctx, v->infos.entries[k].key, &operands);
        for (int o = 0; o < operands.n; o++) {
            info *i = gpuc_map_get(&v->infos, operands.at[o]);
            if (i) i->edges++;
        }
    }
}

static const char *name_for(gpuc_expr e)
{
    if (e->flags & GPUC_TIR_HAS_LOAD) return "v";
    if (gpuc_is_bool(e->dtype)) return "c";
    return gpuc_is_integer(e->dtype) && e->flags & GPUC_TIR_IS_INDEX ? "i" : "t";
}

typedef void (*roots_fn)(survey *v, gpuc_stmt s, bool (*fn)(gpuc_expr e, void *arg));

/* The candidates worth a name, those that others use first. */
static void choose(survey *v, gpuc_stmt s, roots_fn roots, gpuc_ptrs *out)
{
    gpuc_map chosen;
    gpuc_map_init(&chosen, v->ctx);
    roots(v, s, ref_root);
    if (v->by_edges) count_edges(v);
    for (uint32_t k = 0; k < v->infos.count; k++) {
        gpuc_expr e = v->infos.entries[k].key;
        if (is_candidate(v, e, v->infos.entries[k].value)) gpuc_map_set(&chosen, e, (void *)e);
    }
    if (chosen.count == 0) return;
    count_refs(v, &chosen);
    for (uint32_t k = 0; k < chosen.count; k++) {
        info *i = gpuc_map_get(&v->infos, chosen.entries[k].key);
        if (i->refs >= 2 || (v->repeats && is_slow(chosen.entries[k].key)))
            gpuc_ptrs_push(v->ctx, out, chosen.entries[k].key);
    }
    shallow_first(v->ctx, out);
}

typedef struct binding {
    gpuc_expr var, value;
    int part;
} binding;

/* Names the chosen ones; fills m's memo so that mapping a statement uses the names. */
static binding *bind(survey *v, const gpuc_ptrs *list, gpuc_tir_mapper *m)
{
    binding *out = gpuc_new_array(v->ctx, binding, list->count + 1);
    gpuc_tir_mapper_init(m, v->ctx, NULL, NULL);
    for (size_t k = 0; k < list->count; k++) {
        gpuc_expr e = list->at[k];
        out[k].value = gpuc_tir_map(m, e);
        out[k].var = gpuc_var(v->ctx, name_for(e), e->dtype);
        out[k].part = info_of(v, e)->first_part;
        if (is_nonzero(v, e)) gpuc_map_set(v->nonzero, out[k].var, (void *)out[k].var);
        gpuc_map_set(&m->memo, e, (void *)out[k].var);
    }
    return out;
}

static gpuc_stmt wrap(gpuc_ctx *ctx, const binding *b, size_t n, gpuc_stmt s)
{
    while (n-- > 0) s = gpuc_tir_let(ctx, b[n].var, b[n].value, s);
    return s;
}

/* ---- Runs of stores -------------------------------------------------------------------------------------- */

typedef struct run_walk {
    gpuc_tir_mapper m;
    hoister *h;
} run_walk;

static bool is_plain_store(gpuc_stmt s)
{
    if (s->kind != GPUC_STMT_STORE) return false;
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    return !((n->value->flags | n->index[0]->flags) & GPUC_TIR_HAS_EFFECT);
}

/* A run of stores at[0..n): loads that several share come before the first of them. */
static gpuc_stmt hoist_run(hoister *h, gpuc_stmt *at, int n)
{
    gpuc_ctx *ctx = h->ctx;
    survey v;
    gpuc_tir_mapper m;
    gpuc_ptrs list = {0};
    start(&v, h);
    v.loads = v.only_loads = true;
    for (int i = 0; i < n; i++) {
        const gpuc_tir_buffer *b = gpuc_as_store(at[i])->buffer;
        gpuc_map_set(&v.written, b, (void *)b);
        v.any_written_param |= b->scope == GPUC_SCOPE_GLOBAL;
    }
    for (int i = 0; i < n; i++) {
        v.part = i + 1;
        for_roots(&v, at[i], count_root);
    }
    gpuc_stmt all = gpuc_tir_seq(ctx, n, at);
    choose(&v, all, for_roots, &list);
    binding *b = bind(&v, &list, &m);
    gpuc_stmt out = NULL;
    for (int i = n; i-- > 0;) {
        out = gpuc_tir_seq2(ctx, list.count ? gpuc_tir_map_stmt(&m, at[i]) : at[i], out);
        for (size_t k = list.count; k-- > 0;)
            if (b[k].part == i + 1) out = gpuc_tir_let(ctx, b[k].var, b[k].value, out);
    }
    return out;
}

/* Handles runs of stores first, since naming a load may leave its index with one use. */
static gpuc_stmt hoist_runs(gpuc_tir_mapper *m, gpuc_stmt s)
{
    hoister *h = ((run_walk *)m)->h;
    if (s->kind != GPUC_STMT_SEQ) return gpuc_tir_map_stmt_children(m, s);
    const gpuc_tir_seq_node *n = gpuc_as_seq(s);
    gpuc_stmt *at = gpuc_ctx_memdup(m->ctx, n->at, (size_t)n->n * sizeof *at);
    gpuc_stmt *out = gpuc_new_array(m->ctx, gpuc_stmt, n->n);
    int filled = 0;
    for (int i = 0; i < n->n;) {
        int end = i;
        while (end < n->n && is_plain_store(at[end])) end++;
        if (end - i >= 2) {
            out[filled++] = hoist_run(h, at + i, end - i);
            i = end;
        } else {
            out[filled++] = gpuc_tir_map_stmt(m, at[i++]);
        }
    }
    return gpuc_tir_seq(m->ctx, filled, out);
}

/* ---- Statements ------------------------------------------------------------------------------------------ */

static gpuc_stmt hoist(hoister *h, gpuc_stmt s);
static gpuc_stmt hoist_rest(hoister *h, gpuc_stmt s, bool uses);

static bool is_left(gpuc_expr e, void *arg)
{
    survey *v = arg;
    return !is_worth(v->ctx, e) || !is_legal(v, e);
}

static bool note_worth(gpuc_expr e, void *arg)
{
    survey *v = arg;
    v->worth |= !gpuc_tir_visit(v->ctx, e, is_left, v);
    return true;
}

/* What occurs in two parts of a name, or of a row of statements, is not in the last part alone. That part may be long, as
 * where names and stores that are written out follow each other, and is not seen where the others have nothing. */
static bool may_share(survey *v, gpuc_stmt s)
{
    if (s->kind == GPUC_STMT_LET) note_worth(gpuc_as_let(s)->value, v);
    for (int i = 0; s->kind == GPUC_STMT_SEQ && i + 1 < gpuc_as_seq(s)->n && !v->worth; i++)
        for_roots(v, gpuc_as_seq(s)->at[i], note_worth);
    return v->worth || (s->kind != GPUC_STMT_LET && s->kind != GPUC_STMT_SEQ);
}

/* Names around s what occurs in two of its parts. */
static gpuc_stmt hoist_parts(hoister *h, gpuc_stmt s, binding **bindings, size_t *num)
{
    survey v;
    gpuc_tir_mapper m;
    gpuc_ptrs list = {0};
    start(&v, h);
    if (!may_share(&v, s)) return s;
    gpuc_tir_visit_stmt(h->ctx, s, note_bound, NULL, &v);
    v.part = 1;
    switch (s->kind) {
    case GPUC_STMT_FOR:
        count(&v, gpuc_as_for(s)->min, true);
        count(&v, gpuc_as_for(s)->extent, true);
        v.part++;
        v.repeats = true;
        for_roots(&v, gpuc_as_for(s)->body, count_root);
        break;
    case GPUC_STMT_IF:
        count(&v, gpuc_as_if(s)->cond, true);
        v.part++;
        for_roots(&v, gpuc_as_if(s)->then_body, count_root);
        v.part++;
        for_roots(&v, gpuc_as_if(s)->else_body, count_root);
        break;
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++, v.part++)
            for_roots(&v, gpuc_as_seq(s)->at[i], count_root);
        break;
    case GPUC_STMT_LET:
        count(&v, gpuc_as_let(s)->value, true);
        v.part++;
        for_roots(&v, gpuc_as_let(s)->body, count_root);
        break;
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL:
    case GPUC_STMT_ALLOC:
    case GPUC_STMT_ATTR:
    case GPUC_STMT_KIND_COUNT: return s;
    }
    choose(&v, s, for_roots, &list);
    if (list.count == 0) return s;
    *bindings = bind(&v, &list, &m);
    *num = list.count;
    return gpuc_tir_map_stmt(&m, s);
}

static gpuc_stmt hoist_below(hoister *h, gpuc_stmt s)
{
    gpuc_ctx *ctx = h->ctx;
    switch (s->kind) {
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        gpuc_stmt body = hoist(h, n->body);
        return body == n->body ? s : gpuc_tir_for_(ctx, n->var, n->min, n->extent, n->loop, n->tag, body);
    }
    case GPUC_STMT_IF: {
        const gpuc_tir_if_node *n = gpuc_as_if(s);
        gpuc_stmt then_body = hoist(h, n->then_body),
                  else_body = n->else_body ? hoist(h, n->else_body) : NULL;
        return then_body == n->then_body && else_body == n->else_body
                   ? s
                   : gpuc_tir_if_(ctx, n->cond, then_body, else_body);
    }
    case GPUC_STMT_SEQ: {
        const gpuc_tir_seq_node *n = gpuc_as_seq(s);
        gpuc_stmt *at = gpuc_new_array(ctx, gpuc_stmt, n->n);
        for (int i = 0; i < n->n; i++) at[i] = hoist(h, n->at[i]);
        return gpuc_tir_seq(ctx, n->n, at);
    }
    case GPUC_STMT_ALLOC: {
        gpuc_stmt body = hoist(h, gpuc_as_alloc(s)->body);
        return body == gpuc_as_alloc(s)->body ? s : gpuc_tir_alloc(ctx, gpuc_as_alloc(s)->buffer, body);
    }
    case GPUC_STMT_LET: {
        const gpuc_tir_let_node *n = gpuc_as_let(s);
        gpuc_stmt body = hoist_rest(h, n->body, n->body->kind != GPUC_STMT_LET);
        return body == n->body ? s : gpuc_tir_let(ctx, n->var, n->value, body);
    }
    case GPUC_STMT_ATTR: {
        const gpuc_tir_attr_node *n = gpuc_as_attr(s);
        if (gpuc_tir_is_coopmat(s)) break;
        gpuc_stmt body = hoist(h, n->body);
        return body == n->body ? s : gpuc_tir_attr(ctx, n->key, n->text, n->value, n->reducer, body);
    }
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return s;
}

/* The statement's own expressions, not those of statements inside. Of names in a row it is one statement: nothing
 * is written between them. */
static void own_roots(survey *v, gpuc_stmt s, bool (*fn)(gpuc_expr e, void *arg))
{
    for (; s->kind == GPUC_STMT_LET; s = gpuc_as_let(s)->body) {
        fn(gpuc_as_let(s)->value, v);
        if (gpuc_as_let(s)->body->kind != GPUC_STMT_LET) return;
    }
    if (s->kind == GPUC_STMT_IF)
        fn(gpuc_as_if(s)->cond, v);
    else if (s->kind == GPUC_STMT_STORE || s->kind == GPUC_STMT_EVAL)
        for_roots(v, s, fn);
}

static gpuc_stmt map_own(gpuc_tir_mapper *m, gpuc_stmt s)
{
    if (s->kind == GPUC_STMT_LET) {
        const gpuc_tir_let_node *n = gpuc_as_let(s);
        gpuc_stmt body = n->body->kind == GPUC_STMT_LET ? map_own(m, n->body) : n->body;
        gpuc_expr value = gpuc_tir_map(m, n->value);
        if (value->kind != GPUC_EXPR_VAR) return gpuc_tir_let(m->ctx, n->var, value, body);
        return gpuc_tir_substitute_stmt(m->ctx, body, 1, &n->var, &value); /* what had a name has another */
    }
    if (s->kind == GPUC_STMT_IF)
        return gpuc_tir_if_(m->ctx, gpuc_tir_map(m, gpuc_as_if(s)->cond), gpuc_as_if(s)->then_body,
                            gpuc_as_if(s)->else_body);
    return gpuc_tir_map_stmt(m, s);
}

/* Names in front of s what its own expressions use twice. */
static gpuc_stmt hoist_uses(hoister *h, gpuc_stmt s, binding **bindings, size_t *num)
{
    survey v;
    gpuc_tir_mapper m;
    gpuc_ptrs list = {0};
    start(&v, h);
    v.by_edges = true;
    v.loads = true;
    v.part = 1;
    for (gpuc_stmt in = s; in->kind == GPUC_STMT_LET; in = gpuc_as_let(in)->body) note_bound(in, &v);
    own_roots(&v, s, count_root);
    if (v.infos.count == 0) return s;
    choose(&v, s, own_roots, &list);
    if (list.count == 0) return s;
    *bindings = bind(&v, &list, &m);
    *num = list.count;
    return map_own(&m, s);
}

/* uses: not those of a name that follows another, which were seen with it. */
static gpuc_stmt hoist_rest(hoister *h, gpuc_stmt s, bool uses)
{
    binding *around = NULL, *own = NULL;
    size_t num_around = 0, num_own = 0;
    s = hoist_parts(h, s, &around, &num_around);
    gpuc_stmt rest = uses ? hoist_uses(h, s, &own, &num_own) : s;
    s = rest->kind == s->kind ? hoist_below(h, rest) : hoist(h, rest); /* all names of a row had others */
    return wrap(h->ctx, around, num_around, wrap(h->ctx, own, num_own, s));
}

static gpuc_stmt hoist(hoister *h, gpuc_stmt s)
{
    return hoist_rest(h, s, true);
}

gpuc_tir_func *gpuc_lower_hoist_common(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    hoister h = {.ctx = p->ctx, .aliased = f->aliased};
    gpuc_map_init(&h.nonzero, p->ctx);
    run_walk w = {.h = &h};
    gpuc_tir_mapper_init(&w.m, p->ctx, NULL, hoist_runs);
    return gpuc_lower_with_body(p->ctx, f, hoist(&h, gpuc_tir_map_stmt(&w.m, f->body)), f->stage);
}
