/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions around loops, inside of loops with barriers. PoCL 3.1 puts barriers of its own into loops that
 * it sees all threads run, and a barrier under a condition in a loop is what it runs wrongly, or without end.
 * With a comparison that holds for each thread the condition is one that threads decide, which gets no
 * barriers. The comparison has a name, which is defined as such where the OpenCL device says that it runs on
 * PoCL (GPUC_POCL, an option of the build), and as true elsewhere. */
#include "codegen_opencl/private.h"

typedef struct guarder {
    gpuc_tir_mapper m;
    gpuc_expr holds; /* "threadIdx.x < extent" */
    bool used;
    bool inside; /* of a loop with barriers */
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
    g->used = true;
    return gpuc_tir_if_(m->ctx, gpuc_and(m->ctx, n->cond, g->holds), n->then_body, n->else_body);
}

gpuc_expr gpuc_opencl_guard_loops(gpuc_ctx *ctx, gpuc_tir_func *f)
{
    if (!f->body || !contents_of(ctx, f->body).barrier) return NULL;
    guarder g = {.holds = gpuc_var(ctx, "holds", GPUC_BOOL)};
    gpuc_tir_mapper_init(&g.m, ctx, NULL, guard);
    f->body = gpuc_tir_map_stmt(&g.m, f->body);
    return g.used ? g.holds : NULL;
}

void gpuc_opencl_define_guard(gpuc_clike *p, gpuc_expr holds, uint32_t threads)
{
    const char *name = gpuc_clike_var(p, holds);
    gpuc_put(p, "#ifdef GPUC_POCL\n#define %s (get_local_id(0) < %u)\n#else\n#define %s true\n#endif\n", name,
             threads, name);
}
