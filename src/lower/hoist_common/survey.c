/* SPDX-License-Identifier: Apache-2.0 */
/* Which expressions in parts of a statement are worth a name: counts where they occur, and how often they are printed. */
#include <stdlib.h>

#include "lower/hoist_common/hoist.h"

typedef struct info {
    int parts, first_part,
        last_part; /* number of parts that it occurs in; the first and the last of them, counted from 1 */
    int edges;     /* uses as an operand or a root */
    int refs;      /* times that it is printed once the chosen expressions have names */
    bool sure;     /* evaluated whenever its part is */
    enum { UNKNOWN, LEGAL, ILLEGAL } legal;
} info;

static info *info_of(gpuc_hoist_survey *v, gpuc_expr e)
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

bool gpuc_lower_hoist_is_worth(gpuc_ctx *ctx, gpuc_expr e, const gpuc_map *named)
{
    int own = weight(e);
    if (own == 0) return false;
    if (own >= 4) return true;
    gpuc_tir_operands operands;
    gpuc_tir_operands_get(ctx, e, &operands);
    for (int i = 0; i < operands.n; i++)
        if (!named || !gpuc_map_has(named, operands.at[i])) own += weight(operands.at[i]);
    return own >= 2;
}

gpuc_expr gpuc_lower_hoist_divisor(gpuc_expr e)
{
    if (e->kind != GPUC_EXPR_OP || gpuc_is_float(e->dtype)) return NULL;
    const gpuc_tir_opexpr_node *n = gpuc_as_op(e);
    bool divides = n->op == GPUC_TIR_DIV || n->op == GPUC_TIR_MOD || n->op == GPUC_TIR_FLOORDIV ||
                   n->op == GPUC_TIR_FLOORMOD;
    if (!divides) return NULL;
    return n->a[1]->kind == GPUC_EXPR_BROADCAST ? gpuc_as_broadcast(n->a[1])->a : n->a[1];
}

static bool is_nonzero(const gpuc_map *nonzero, gpuc_expr e)
{
    int64_t c;
    if (gpuc_map_has(nonzero, e)) return true;
    if (gpuc_expr_is_int(e, &c)) return c != 0;
    if (e->kind != GPUC_EXPR_OP || gpuc_as_op(e)->op != GPUC_TIR_MAX) return false;
    return gpuc_expr_is_int(gpuc_as_op(e)->a[1], &c) && c > 0;
}

bool gpuc_lower_hoist_is_nonzero(const gpuc_hoister *h, gpuc_expr e)
{
    return is_nonzero(&h->nonzero, e);
}

/* Whether e is a division by a number known only at run time: it takes as long as the rest of a small loop,
 * and drivers do not hoist it. */
static bool is_slow(gpuc_expr e)
{
    gpuc_expr by = gpuc_lower_hoist_divisor(e);
    return by && by->kind != GPUC_EXPR_INT;
}

/* Whether e, apart from its operands, may be evaluated earlier. */
static bool is_legal_itself(const gpuc_hoist_survey *v, gpuc_expr e)
{
    if (e->kind == GPUC_EXPR_VAR) return !gpuc_map_has(&v->bound, e);
    if (e->kind == GPUC_EXPR_LOAD) {
        const gpuc_tir_buffer *b = gpuc_as_load(e)->buffer;
        bool param = gpuc_scope_is_global(b->scope);
        return v->loads && !gpuc_map_has(&v->written, b) && !(param && v->aliased && v->any_written_param);
    }
    gpuc_expr by = v->loads ? NULL : gpuc_lower_hoist_divisor(e);
    return !by || is_nonzero(v->nonzero, by);
}

/* e is one of the counted expressions, or a leaf. */
static bool is_legal(gpuc_hoist_survey *v, gpuc_expr e)
{
    if (e->flags & GPUC_TIR_HAS_EFFECT || (!v->loads && e->flags & GPUC_TIR_HAS_LOAD)) return false;
    info *i = gpuc_map_get(&v->infos, e);
    if (!i) return is_legal_itself(v, e);
    if (i->legal != UNKNOWN) return i->legal == LEGAL;
    gpuc_tir_operands operands;
    gpuc_tir_operands_get(v->ctx, e, &operands);
    bool ok = is_legal_itself(v, e);
    for (int k = 0; k < operands.n && ok; k++) ok = is_legal(v, operands.at[k]);
    i->legal = ok ? LEGAL : ILLEGAL;
    return ok;
}

/* ---- Counting -------------------------------------------------------------------------------------------- */

static void count(gpuc_hoist_survey *v, gpuc_expr e, bool sure)
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

bool gpuc_lower_hoist_count(gpuc_expr e, void *arg)
{
    count(arg, e, true);
    return true;
}

void gpuc_lower_hoist_roots(void *arg, gpuc_stmt s, gpuc_hoist_expr_fn fn)
{
    if (!s) return;
    switch (s->kind) {
    case GPUC_STMT_FOR:
        fn(gpuc_as_for(s)->min, arg);
        fn(gpuc_as_for(s)->extent, arg);
        gpuc_lower_hoist_roots(arg, gpuc_as_for(s)->body, fn);
        return;
    case GPUC_STMT_STORE:
        for (int i = 0; i < gpuc_as_store(s)->n; i++) fn(gpuc_as_store(s)->index[i], arg);
        fn(gpuc_as_store(s)->value, arg);
        return;
    case GPUC_STMT_IF:
        fn(gpuc_as_if(s)->cond, arg);
        gpuc_lower_hoist_roots(arg, gpuc_as_if(s)->then_body, fn);
        gpuc_lower_hoist_roots(arg, gpuc_as_if(s)->else_body, fn);
        return;
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) gpuc_lower_hoist_roots(arg, gpuc_as_seq(s)->at[i], fn);
        return;
    case GPUC_STMT_ALLOC: gpuc_lower_hoist_roots(arg, gpuc_as_alloc(s)->body, fn); return;
    case GPUC_STMT_LET:
        fn(gpuc_as_let(s)->value, arg);
        gpuc_lower_hoist_roots(arg, gpuc_as_let(s)->body, fn);
        return;
    case GPUC_STMT_EVAL: fn(gpuc_as_eval(s)->value, arg); return;
    case GPUC_STMT_ATTR: gpuc_lower_hoist_roots(arg, gpuc_as_attr(s)->body, fn); return;
    case GPUC_STMT_KIND_COUNT: return;
    }
}

gpuc_expr gpuc_lower_hoist_variable(gpuc_stmt s)
{
    if (s->kind == GPUC_STMT_LET) return gpuc_as_let(s)->var;
    return s->kind == GPUC_STMT_FOR ? gpuc_as_for(s)->var : NULL;
}

void gpuc_lower_hoist_bound(gpuc_stmt s, void *survey)
{
    gpuc_expr var = gpuc_lower_hoist_variable(s);
    if (var) gpuc_map_set(&((gpuc_hoist_survey *)survey)->bound, var, (void *)var);
}

void gpuc_lower_hoist_start(gpuc_hoist_survey *v, gpuc_hoister *h)
{
    *v = (gpuc_hoist_survey){.ctx = h->ctx, .nonzero = &h->nonzero, .aliased = h->aliased};
    gpuc_map_init(&v->infos, h->ctx);
    gpuc_map_init(&v->bound, h->ctx);
    gpuc_map_init(&v->written, h->ctx);
}

/* ---- Naming ---------------------------------------------------------------------------------------------- */

int gpuc_lower_hoist_by_depth(const void *pa, const void *pb)
{
    const gpuc_hoist_placed *a = pa, *b = pb;
    if (a->e->depth != b->e->depth) return a->e->depth < b->e->depth ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Sorts by depth. */
static void shallow_first(gpuc_ctx *ctx, gpuc_ptrs *list)
{
    gpuc_hoist_placed *sorted = gpuc_new_array(ctx, gpuc_hoist_placed, list->count + 1);
    for (size_t i = 0; i < list->count; i++) sorted[i] = (gpuc_hoist_placed){list->at[i], i};
    qsort(sorted, list->count, sizeof *sorted, gpuc_lower_hoist_by_depth);
    for (size_t i = 0; i < list->count; i++) list->at[i] = (void *)sorted[i].e;
}

void gpuc_lower_hoist_limit(const gpuc_hoister *h, size_t *num)
{
    enum { SPARE = 100 }; /* for what later passes put around statements */
    uint32_t used = h->nesting + SPARE;
    size_t room = used < GPUC_TIR_MAX_NESTING ? GPUC_TIR_MAX_NESTING - used : 0;
    if (*num > room) *num = room;
}

static bool is_candidate(gpuc_hoist_survey *v, gpuc_expr e, const info *i)
{
    if ((v->by_edges ? i->edges : i->parts) < 2 && !(v->repeats && is_slow(e))) return false;
    if (e->flags & GPUC_TIR_HAS_LOAD ? !i->sure : v->only_loads) return false;
    return gpuc_lower_hoist_is_worth(v->ctx, e, NULL) && is_legal(v, e);
}

static int deep_first(const void *pa, const void *pb)
{
    gpuc_expr a = *(const gpuc_expr *)pa, b = *(const gpuc_expr *)pb;
    return a->depth == b->depth ? 0 : a->depth > b->depth ? -1 : 1;
}

/* Counts how often each expression would be printed if the chosen ones have names, from the counts of the
 * expressions that use it. */
static void count_refs(gpuc_hoist_survey *v, const gpuc_map *chosen)
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
    gpuc_hoist_survey *v = arg;
    info *i = gpuc_map_get(&v->infos, e);
    if (i) {
        i->refs++;
        i->edges++;
    }
    return true;
}

static void count_edges(gpuc_hoist_survey *v)
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

static gpuc_hoist_name name_of(gpuc_ctx *ctx, gpuc_map *nonzero, gpuc_expr e, gpuc_expr value)
{
    gpuc_hoist_name n = {.var = gpuc_var(ctx, name_for(e), e->dtype), .value = value};
    if (is_nonzero(nonzero, e)) gpuc_map_set(nonzero, n.var, (void *)n.var);
    return n;
}

gpuc_hoist_name gpuc_lower_hoist_name(gpuc_hoister *h, gpuc_expr e, gpuc_expr value)
{
    return name_of(h->ctx, &h->nonzero, e, value);
}

void gpuc_lower_hoist_choose(gpuc_hoist_survey *v, gpuc_stmt s, gpuc_hoist_roots_fn roots, gpuc_ptrs *out)
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

gpuc_hoist_names gpuc_lower_hoist_bind(gpuc_hoist_survey *v, const gpuc_ptrs *list, gpuc_tir_mapper *m)
{
    gpuc_hoist_names out = {gpuc_new_array(v->ctx, gpuc_hoist_name, list->count + 1), list->count};
    gpuc_tir_mapper_init(m, v->ctx, NULL, NULL);
    for (size_t k = 0; k < list->count; k++) {
        gpuc_expr e = list->at[k];
        out.at[k] = name_of(v->ctx, v->nonzero, e, gpuc_tir_map(m, e));
        out.at[k].part = info_of(v, e)->first_part;
        gpuc_map_set(&m->memo, e, (void *)out.at[k].var);
    }
    return out;
}

gpuc_stmt gpuc_lower_hoist_wrap(gpuc_ctx *ctx, const gpuc_hoist_names *names, gpuc_stmt s)
{
    for (size_t k = names->num; k-- > 0;) s = gpuc_tir_let(ctx, names->at[k].var, names->at[k].value, s);
    return s;
}
