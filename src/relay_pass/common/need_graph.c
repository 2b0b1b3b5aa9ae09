/* SPDX-License-Identifier: Apache-2.0 */
/* Says what a program has that no graph has: main and its primitive functions are operators over tensors, and no more. */
#include "relay_pass/common/util.h"
#include "relay/infer.h"

static _Noreturn void no_graph(gpuc_ctx *ctx, const gpuc_rexpr *e, const char *where, const char *what)
{
    const char *text = gpuc_ctx_printf(ctx, "graphs only can be built, but %s has %s", where, what);
    gpuc_raise(ctx, GPUC_UNSUPPORTED, "%s", gpuc_relay_located(ctx, e->span, text));
}

static bool has_tensors_only(const gpuc_rtype *t)
{
    for (int i = 0; t->kind == GPUC_RTYPE_TUPLE && i < t->n; i++)
        if (!has_tensors_only(t->at[i])) return false;
    return t->kind == GPUC_RTYPE_TENSOR || t->kind == GPUC_RTYPE_TUPLE;
}

bool gpuc_relay_pass_is_kernel(const gpuc_rexpr *e)
{
    const gpuc_attrs *attrs = e->kind == GPUC_REXPR_FUNCTION ? gpuc_as_rfunction(e)->attrs : NULL;
    return gpuc_attrs_find(attrs, "primitive") || gpuc_attrs_find(attrs, "compiler");
}

/* What e has that no graph has; NULL: nothing. */
static const char *beyond_graphs(const gpuc_rexpr *e)
{
    switch (e->kind) {
    case GPUC_REXPR_CALL: {
        const gpuc_rexpr *callee = gpuc_as_rcall(e)->callee;
        return callee->kind == GPUC_REXPR_OP || gpuc_relay_pass_is_kernel(callee) ? NULL : "a call of a function";
    }
    case GPUC_REXPR_LET: return "a let";
    case GPUC_REXPR_IF: return "an if";
    case GPUC_REXPR_MATCH: return "a match";
    case GPUC_REXPR_GLOBAL: return "a function as a value";
    case GPUC_REXPR_CONSTRUCTOR: return "a constructor";
    case GPUC_REXPR_VAR: return has_tensors_only(e->type) ? NULL : "a parameter that is no tensor";
    case GPUC_REXPR_CONSTANT:
    case GPUC_REXPR_OP:
    case GPUC_REXPR_TUPLE:
    case GPUC_REXPR_GET:
    case GPUC_REXPR_FUNCTION: /* what a call calls comes below */
    case GPUC_REXPR_KIND_COUNT: break;
    }
    return NULL;
}

void gpuc_relay_pass_need_tensors(gpuc_ctx *ctx, const gpuc_rfunction *f, const char *where)
{
    for (int i = 0; i < f->n; i++)
        if (!f->params[i]->type || f->params[i]->type->kind != GPUC_RTYPE_TENSOR)
            no_graph(ctx, f->params[i], where, "a parameter that is no tensor");
    const gpuc_rtype *t = f->body->type;
    for (int i = 0; t && t->kind == GPUC_RTYPE_TUPLE && i < t->n; i++)
        if (t->at[i]->kind == GPUC_RTYPE_TUPLE)
            no_graph(ctx, f->body, where,
                     "a tuple in the tuple that is its result: let it have all fields itself");
}

/* A kernel is made of operators on parameters; passes take it whole. */
static void check_primitive(gpuc_relay_pass_ctx *p, const gpuc_rfunction *f)
{
    static const char where[] = "a primitive function";
    gpuc_ptrs order = {0};
    gpuc_map own;
    gpuc_map_init(&own, p->ctx);
    for (int i = 0; i < f->n; i++) gpuc_map_set(&own, f->params[i], p);
    gpuc_relay_pass_need_tensors(p->ctx, f, where);
    gpuc_relay_post_order(p->ctx, f->body, false, &order);
    for (size_t i = order.count; i-- > 0;) {
        const gpuc_rexpr *e = order.at[i];
        const char *what = beyond_graphs(e);
        if (e->kind == GPUC_REXPR_VAR && !gpuc_map_has(&own, e)) what = "a variable of what is around it";
        if (e->kind == GPUC_REXPR_FUNCTION) what = "a function";
        if (e->kind == GPUC_REXPR_TUPLE) what = "a tuple: call one for each field";
        if (what) no_graph(p->ctx, e, where, what);
    }
}

void gpuc_relay_pass_need_graph(gpuc_relay_pass_ctx *p)
{
    gpuc_ptrs order = {0};
    gpuc_map called;
    gpuc_map_init(&called, p->ctx);
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(p->module, "main"));
    gpuc_relay_post_order(p->ctx, f->body, false, &order);
    for (size_t i = order.count; i-- > 0;) { /* what uses comes before what is used */
        const gpuc_rexpr *e = order.at[i];
        if (e->kind == GPUC_REXPR_CALL) gpuc_map_set(&called, gpuc_as_rcall(e)->callee, p);
        const char *what = beyond_graphs(e);
        if (e->kind == GPUC_REXPR_FUNCTION && !gpuc_map_has(&called, e)) what = "a function as a value";
        if (what) no_graph(p->ctx, e, "@main", what);
        if (e->kind == GPUC_REXPR_FUNCTION) check_primitive(p, gpuc_as_rfunction(e));
    }
}
