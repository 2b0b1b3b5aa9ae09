/* SPDX-License-Identifier: Apache-2.0 */
/* Unrolls loops that ask for it, and those whose local arrays must become registers. */
#include <string.h>

#include "lower/common/util.h"

enum {
    MAX_COPIES_SIZE = 60000, /* nodes that one loop may grow to; beyond it stays a loop */
    /* Loops over local arrays with up to this many stores become straight code. Drivers for CPUs compile
     * while the program waits, and take far longer than the code grows. */
    LOCAL_STEPS = 256,
    LOCAL_STEPS_WAITED_FOR = 64,
    REGISTER_BYTES = 2048 /* no target has more registers: larger arrays spill to memory anyway */
};

typedef struct unroller {
    gpuc_tir_mapper m;
    bool ahead;         /* compiled when building */
    bool registers;     /* local arrays are meant to be registers: the target has vectors to fill */
    int64_t auto_steps; /* of the innermost pragma around; -1: none */
    int64_t local_steps, register_bytes;
} unroller;

typedef struct local_search {
    gpuc_ctx *ctx;
    gpuc_expr var;
    int64_t max; /* bytes of an array */
    bool found;
} local_search;

static bool fits(const gpuc_tir_buffer *b, int64_t max)
{
    int64_t bytes = (int64_t)gpuc_dtype_bytes(b->dtype), d;
    for (int i = 0; i < b->ndim; i++)
        if (gpuc_expr_is_int(b->shape[i], &d) && (__builtin_mul_overflow(bytes, d, &bytes) || bytes > max))
            return false;
    return true;
}

static void indexes_local(const gpuc_lower_access *access, void *arg)
{
    local_search *l = arg;
    if (access->buffer->scope == GPUC_SCOPE_LOCAL && access->index && fits(access->buffer, l->max) &&
        gpuc_tir_uses_var(l->ctx, access->index, l->var))
        l->found = true;
}

static void note_loop(gpuc_stmt s, void *arg)
{
    if (s->kind == GPUC_STMT_FOR && gpuc_as_for(s)->loop != GPUC_LOOP_THREAD) *(bool *)arg = true;
}

static bool has_loop_in(gpuc_ctx *ctx, gpuc_stmt s)
{
    bool found = false;
    gpuc_tir_visit_stmt(ctx, s, note_loop, NULL, &found);
    return found;
}

/* A vector under a guard, else lane by lane: the else branch runs only at the tail. */
static void note_else(gpuc_stmt s, void *arg)
{
    if (s->kind == GPUC_STMT_IF && gpuc_as_if(s)->else_body) *(bool *)arg = true;
}

/* Registers have no addresses: a local array that is indexed by a loop variable would spill to memory. */
static bool wants_copies(unroller *t, const gpuc_tir_for_node *n, gpuc_stmt body, int64_t extent)
{
    gpuc_ctx *ctx = t->m.ctx;
    if (n->loop == GPUC_LOOP_UNROLLED) return extent <= MAX_COPIES_SIZE;
    if (n->loop != GPUC_LOOP_SERIAL || t->auto_steps == 0) return false;
    if (extent > MAX_COPIES_SIZE) return false;
    int64_t steps = gpuc_lower_steps(body, INT32_MAX) * extent;
    if (t->auto_steps > 0 && steps <= t->auto_steps && !has_loop_in(ctx, body)) return true;
    if (!t->registers || steps > t->local_steps || extent > 32) return false;
    bool lanes = false;
    if (t->ahead) gpuc_tir_visit_stmt(ctx, body, note_else, NULL, &lanes);
    if (lanes) return false;
    local_search l = {.ctx = ctx, .var = n->var, .max = t->register_bytes};
    gpuc_lower_accesses(ctx, body, indexes_local, &l);
    return l.found;
}

static gpuc_stmt unroll_for(unroller *t, const gpuc_tir_for_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_stmt body = gpuc_tir_map_stmt(&t->m, n->body);
    if (!body) return NULL;
    int64_t extent;
    if (gpuc_expr_is_int(n->extent, &extent) && extent > 0 && wants_copies(t, n, body, extent) &&
        gpuc_lower_size(ctx, body) <= MAX_COPIES_SIZE / extent)
        return gpuc_lower_copies(ctx, n->var, n->min, extent, body);
    gpuc_loop_kind kind = n->loop == GPUC_LOOP_UNROLLED ? GPUC_LOOP_SERIAL : n->loop;
    if (body == n->body && kind == n->loop) return &n->base;
    return gpuc_tir_for_(ctx, n->var, n->min, n->extent, kind, n->tag, body);
}

static gpuc_stmt unroll_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    unroller *t = (unroller *)m;
    if (s->kind == GPUC_STMT_FOR) return unroll_for(t, gpuc_as_for(s));
    if (s->kind != GPUC_STMT_ATTR) return gpuc_tir_map_stmt_children(m, s);
    const gpuc_tir_attr_node *n = gpuc_as_attr(s);
    int64_t steps;
    if (strcmp(n->key, "pragma") != 0 || !n->text || strcmp(n->text, "auto_unroll_max_step") != 0)
        return gpuc_tir_map_stmt_children(m, s);
    int64_t outer = t->auto_steps;
    t->auto_steps = n->value && gpuc_expr_is_int(n->value, &steps) ? steps : outer;
    gpuc_stmt body = gpuc_tir_map_stmt(m, n->body);
    t->auto_steps = outer;
    return body;
}

gpuc_tir_func *gpuc_lower_unroll(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    const gpuc_target *target = p->target;
    unroller t = {
        .auto_steps = -1,
        .registers = target->vector_bits > 0,
        .ahead = target->language->ahead,
        .local_steps = LOCAL_STEPS,
        .register_bytes = REGISTER_BYTES,
    };
    if (gpuc_target_is_cpu(target) && !t.ahead) {
        t.local_steps = LOCAL_STEPS_WAITED_FOR;
        t.register_bytes = target->vector_registers * target->vector_bits / 8;
    }
    gpuc_tir_mapper_init(&t.m, p->ctx, NULL, unroll_stmt);
    return gpuc_lower_with_body(p->ctx, f, gpuc_tir_map_stmt(&t.m, f->body), f->stage);
}
