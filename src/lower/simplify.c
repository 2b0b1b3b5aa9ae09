/* SPDX-License-Identifier: Apache-2.0 */
/* Simplifies expressions and statements; drops empty loops, decided branches and lets of trivial values. */
#include "lower/common/util.h"

typedef struct simplifier {
    gpuc_tir_mapper m;
    gpuc_analyzer *a;
    bool together; /* a reduction over threads: its condition says which threads store */
} simplifier;

static gpuc_expr simple(simplifier *t, gpuc_expr e)
{
    return gpuc_arith_simplify(t->a, e);
}

/* The simplified expressions of a statement's head: min and extent, a condition, a value. */
typedef struct head {
    gpuc_expr x, extent;
} head;

static bool drop_loop(simplifier *t, gpuc_stmt s, const head *h, gpuc_stmt *out)
{
    (void)t;
    (void)s;
    int64_t count;
    *out = NULL;
    return gpuc_expr_is_int(h->extent, &count) && count <= 0;
}

static bool open_loop(simplifier *t, gpuc_stmt s, const head *h, gpuc_stmt *out)
{
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    if (!gpuc_tir_is_const(h->extent, 1) || n->loop == GPUC_LOOP_THREAD) return false;
    *out = gpuc_tir_map_stmt(&t->m, gpuc_tir_substitute_stmt(t->m.ctx, n->body, 1, &n->var, &h->x));
    return true;
}

static bool decide_if(simplifier *t, gpuc_stmt s, const head *h, gpuc_stmt *out)
{
    bool holds = gpuc_tir_is_const(h->x, 1);
    if (!holds && !gpuc_tir_is_const(h->x, 0)) return false;
    *out = gpuc_tir_map_stmt(&t->m, holds ? gpuc_as_if(s)->then_body : gpuc_as_if(s)->else_body);
    return true;
}

/* if (c) x; if (c) y; is if (c) { x; y } when c reads no memory. */
static bool join_ifs(simplifier *t, gpuc_stmt s, const head *h, gpuc_stmt *out)
{
    (void)h;
    gpuc_ctx *ctx = t->m.ctx;
    const gpuc_tir_seq_node *n = gpuc_as_seq(s);
    gpuc_stmt *at = gpuc_new_array(ctx, gpuc_stmt, n->n);
    int filled = 0;
    for (int i = 0; i < n->n; i++) {
        gpuc_stmt last = filled ? at[filled - 1] : NULL, next = n->at[i];
        bool both = last && last->kind == GPUC_STMT_IF && next->kind == GPUC_STMT_IF;
        if (both && gpuc_as_if(last)->cond == gpuc_as_if(next)->cond &&
            !(gpuc_as_if(last)->cond->flags & GPUC_TIR_HAS_LOAD)) {
            const gpuc_tir_if_node *x = gpuc_as_if(last), *y = gpuc_as_if(next);
            at[filled - 1] = gpuc_tir_if_(ctx, x->cond, gpuc_tir_seq2(ctx, x->then_body, y->then_body),
                                          gpuc_tir_seq2(ctx, x->else_body, y->else_body));
        } else {
            at[filled++] = next;
        }
    }
    if (filled < n->n) *out = gpuc_tir_seq(ctx, filled, at);
    return filled < n->n;
}

static bool replace_name(simplifier *t, gpuc_stmt s, const head *h, gpuc_stmt *out)
{
    const gpuc_tir_let_node *n = gpuc_as_let(s);
    gpuc_expr value = h->x;
    if (value->kind != GPUC_EXPR_VAR && value->kind != GPUC_EXPR_INT && value->kind != GPUC_EXPR_FLOAT)
        return false;
    *out = gpuc_tir_map_stmt(&t->m, gpuc_tir_substitute_stmt(t->m.ctx, n->body, 1, &n->var, &value));
    return true;
}

static bool drop_name(simplifier *t, gpuc_stmt s, const head *h, gpuc_stmt *out)
{
    gpuc_ctx *ctx = t->m.ctx;
    const gpuc_tir_let_node *n = gpuc_as_let(s);
    if (gpuc_tir_stmt_uses_var(ctx, n->body, n->var)) return false;
    *out = gpuc_tir_seq2(ctx, gpuc_tir_eval(ctx, h->x), gpuc_tir_map_stmt(&t->m, n->body));
    return true;
}

static const struct {
    const char *name;
    gpuc_tir_stmt_kind kind;
    bool (*apply)(simplifier *t, gpuc_stmt s, const head *h, gpuc_stmt *out); /* false: it does not fit */
} rules[] = {
    {"loop_never", GPUC_STMT_FOR, drop_loop},     {"loop_once", GPUC_STMT_FOR, open_loop},
    {"if_decided", GPUC_STMT_IF, decide_if},      {"ifs_joined", GPUC_STMT_SEQ, join_ifs},
    {"let_trivial", GPUC_STMT_LET, replace_name}, {"let_unused", GPUC_STMT_LET, drop_name},
};

const gpuc_rule_table *const *gpuc_lower_simplify_rules(void)
{
    static const gpuc_rule_table table = GPUC_RULE_TABLE(rules);
    static const gpuc_rule_table *const tables[] = {&table, NULL};
    return tables;
}

static bool apply_rules(simplifier *t, gpuc_stmt s, const head *h, gpuc_stmt *out)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].kind != s->kind || !rules[i].apply(t, s, h, out)) continue;
        gpuc_rule_fired(t->m.ctx, rules[i].name);
        return true;
    }
    return false;
}

static gpuc_stmt simplify_for(simplifier *t, const gpuc_tir_for_node *n)
{
    head h = {simple(t, n->min), simple(t, n->extent)};
    gpuc_stmt out;
    if (apply_rules(t, &n->base, &h, &out)) return out;
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    gpuc_arith_analyzer_bind(t->a, n->var, h.x, h.extent);
    gpuc_stmt body = gpuc_tir_map_stmt(&t->m, n->body);
    gpuc_arith_analyzer_rewind(t->a, mark);
    if (h.x == n->min && h.extent == n->extent && body == n->body) return &n->base;
    return gpuc_tir_for_(t->m.ctx, n->var, h.x, h.extent, n->loop, n->tag, body);
}

static gpuc_stmt simplify_if(simplifier *t, const gpuc_tir_if_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_expr cond = simple(t, n->cond);
    gpuc_stmt out;
    if (apply_rules(t, &n->base, &(head){.x = cond}, &out)) return out;
    bool fact = !(cond->flags & GPUC_TIR_HAS_LOAD) && !t->together;
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    if (fact) gpuc_arith_analyzer_assume(t->a, cond);
    gpuc_stmt then_body = gpuc_tir_map_stmt(&t->m, n->then_body);
    gpuc_arith_analyzer_rewind(t->a, mark);
    if (fact && n->else_body) gpuc_arith_analyzer_assume(t->a, gpuc_not(ctx, cond));
    gpuc_stmt else_body = gpuc_tir_map_stmt(&t->m, n->else_body);
    gpuc_arith_analyzer_rewind(t->a, mark);
    if (cond == n->cond && then_body == n->then_body && else_body == n->else_body) return &n->base;
    return gpuc_tir_if_(ctx, cond, then_body, else_body);
}

static gpuc_stmt simplify_let(simplifier *t, const gpuc_tir_let_node *n)
{
    gpuc_expr value = simple(t, n->value);
    gpuc_stmt out;
    if (apply_rules(t, &n->base, &(head){.x = value}, &out)) return out;
    size_t mark = gpuc_arith_analyzer_mark(t->a);
    gpuc_lower_bind(t->a, &n->base);
    gpuc_stmt body = gpuc_tir_map_stmt(&t->m, n->body);
    gpuc_arith_analyzer_rewind(t->a, mark);
    return value == n->value && body == n->body ? &n->base : gpuc_tir_let(t->m.ctx, n->var, value, body);
}

static gpuc_stmt simplify_seq(simplifier *t, gpuc_stmt s)
{
    gpuc_stmt out = gpuc_tir_map_stmt_children(&t->m, s);
    if (out && out->kind == GPUC_STMT_SEQ) apply_rules(t, out, &(head){0}, &out);
    return out;
}

static gpuc_stmt simplify_store(simplifier *t, const gpuc_tir_store_node *n)
{
    gpuc_expr few[GPUC_LOWER_FEW], *index = gpuc_lower_indices(t->m.ctx, n->n, few);
    gpuc_expr value = simple(t, n->value);
    bool same = value == n->value;
    for (int i = 0; i < n->n; i++) {
        index[i] = simple(t, n->index[i]);
        same = same && index[i] == n->index[i];
    }
    return same ? &n->base : gpuc_tir_store(t->m.ctx, n->buffer, n->n, index, value);
}

static gpuc_stmt simplify_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    simplifier *t = (simplifier *)m;
    switch (s->kind) {
    case GPUC_STMT_FOR: return simplify_for(t, gpuc_as_for(s));
    case GPUC_STMT_STORE: return simplify_store(t, gpuc_as_store(s));
    case GPUC_STMT_IF: return simplify_if(t, gpuc_as_if(s));
    case GPUC_STMT_LET: return simplify_let(t, gpuc_as_let(s));
    case GPUC_STMT_EVAL: {
        gpuc_expr value = simple(t, gpuc_as_eval(s)->value);
        return value == gpuc_as_eval(s)->value ? s : gpuc_tir_eval(m->ctx, value);
    }
    case GPUC_STMT_SEQ: return simplify_seq(t, s);
    case GPUC_STMT_ALLOC: return gpuc_tir_map_stmt_children(m, s);
    case GPUC_STMT_ATTR:
        t->together = gpuc_lower_is_allreduce(s);
        s = gpuc_tir_map_stmt_children(m, s);
        t->together = false;
        return s;
    case GPUC_STMT_KIND_COUNT: break;
    }
    return s;
}

gpuc_tir_func *gpuc_lower_simplify(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    simplifier t = {.a = gpuc_lower_analyzer(p->ctx, f)};
    gpuc_tir_mapper_init(&t.m, p->ctx, NULL, simplify_stmt);
    return gpuc_lower_with_body(p->ctx, f, gpuc_tir_map_stmt(&t.m, f->body), f->stage);
}
