/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions around loops, inside of loops with barriers. PoCL 3.1 puts barriers of its own into loops that
 * it sees all threads run, and a barrier under a condition in a loop is what it runs wrongly, or without end.
 * With a comparison that holds for each thread the condition is one that threads decide, which gets no
 * barriers. Compilers that know the number of threads (reqd_work_group_size) drop it. */
#include "codegen_opencl/private.h"

typedef struct guarder {
    gpuc_tir_mapper m;
    gpuc_expr thread; /* "threadIdx.x < extent" */
    bool inside;      /* of a loop with barriers */
} guarder;

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
    guarder *g = (guarder *)m;
    bool outside = !g->inside;
    if (outside && s->kind == GPUC_STMT_FOR) g->inside = contents_of(m->ctx, gpuc_as_for(s)->body).barrier;
    s = gpuc_tir_map_stmt_children(m, s);
    if (outside) g->inside = false;
    if (!g->inside || !s || s->kind != GPUC_STMT_IF) return s;
    const gpuc_tir_if_node *n = gpuc_as_if(s);
    contents c = contents_of(m->ctx, s);
    if (c.barrier || !c.loop) return s;
    return gpuc_tir_if_(m->ctx, gpuc_and(m->ctx, n->cond, g->thread), n->then_body, n->else_body);
}

void gpuc_opencl_guard_loops(gpuc_ctx *ctx, gpuc_tir_func *f)
{
    guarder g = {.thread = NULL};
    for (int i = 0; i < f->num_threads; i++) {
        const gpuc_tir_thread *t = &f->threads[i];
        if (t->tag == GPUC_THREAD_X) g.thread = gpuc_lt(ctx, t->var, t->extent);
    }
    if (!f->body || !g.thread || !contents_of(ctx, f->body).barrier) return;
    gpuc_tir_mapper_init(&g.m, ctx, NULL, guard);
    f->body = gpuc_tir_map_stmt(&g.m, f->body);
}
