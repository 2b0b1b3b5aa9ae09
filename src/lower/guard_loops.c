/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions around loops in kernels with barriers. PoCL 3.1 puts barriers of its own into loops that it sees all threads
 * run, and a barrier under a condition is what it runs wrongly, or in a loop without end. With thread_decides the
 * condition is one that threads decide, which gets no barriers. */
#include "lower/common/util.h"

typedef struct contents {
    bool barrier, loop;
} contents;

static void look(gpuc_stmt s, void *arg)
{
    contents *c = arg;
    gpuc_expr e = s->kind == GPUC_STMT_EVAL ? gpuc_as_eval(s)->value : NULL;
    c->loop |= s->kind == GPUC_STMT_FOR;
    c->barrier |= e && e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->fn == GPUC_TIR_CALL_BARRIER;
}

static contents contents_of(gpuc_ctx *ctx, gpuc_stmt s)
{
    contents c = {0};
    if (s) gpuc_tir_visit_stmt(ctx, s, look, NULL, &c);
    return c;
}

static gpuc_stmt guard(gpuc_tir_mapper *m, gpuc_stmt s)
{
    s = gpuc_tir_map_stmt_children(m, s);
    if (!s || s->kind != GPUC_STMT_IF) return s;
    const gpuc_tir_if_node *n = gpuc_as_if(s);
    contents c = contents_of(m->ctx, s);
    if (c.barrier || !c.loop) return s;
    gpuc_expr decides = gpuc_tir_call(m->ctx, GPUC_BOOL, GPUC_TIR_CALL_THREAD_DECIDES, NULL, NULL, 0, NULL);
    return gpuc_tir_if_(m->ctx, gpuc_and(m->ctx, n->cond, decides), n->then_body, n->else_body);
}

gpuc_tir_func *gpuc_lower_guard_loops(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    if (p->target->language->guarded_barriers || !contents_of(p->ctx, f->body).barrier) return f;
    gpuc_tir_mapper m;
    gpuc_tir_mapper_init(&m, p->ctx, NULL, guard);
    return gpuc_lower_with_body(p->ctx, f, gpuc_tir_map_stmt(&m, f->body), f->stage);
}
