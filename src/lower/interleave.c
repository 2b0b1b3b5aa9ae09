/* SPDX-License-Identifier: Apache-2.0 */
/* Runs iterations of a loop side by side, where one computes names in a row that take long and wait for
 * each other: a processor looks a few hundred instructions ahead, which such a row exceeds, and would wait.
 * Only where the machine's own vectors are printed: other compilers have threads that do the same. */
#include "lower/common/util.h"

enum {
    MIN_FUNCTIONS = 6, /* fewer fit into what a processor looks ahead */
    SIDE_BY_SIDE = 4   /* iterations, whose rows fill the time in which one waits */
};

typedef struct contents {
    const gpuc_tir_buffer *written;
    int functions;
    bool reads_written;
} contents;

static bool look(gpuc_expr e, void *arg)
{
    contents *c = arg;
    if (e->kind == GPUC_EXPR_LOAD && gpuc_as_load(e)->buffer == c->written) c->reads_written = true;
    if (e->kind == GPUC_EXPR_OP && e->dtype.lanes > 1) {
        c->functions += (gpuc_tir_ops[gpuc_as_op(e)->op].flags & GPUC_TIR_FUNC) != 0;
    }
    return true;
}

/* The store at the end of a row of names that may run beside that of another iteration; NULL: none. */
static const gpuc_tir_store_node *store_of(gpuc_ctx *ctx, gpuc_stmt body, int *names)
{
    gpuc_stmt s = body;
    for (*names = 0; s->kind == GPUC_STMT_LET; (*names)++) {
        if (gpuc_as_let(s)->value->flags & GPUC_TIR_HAS_EFFECT) return NULL;
        s = gpuc_as_let(s)->body;
    }
    if (s->kind != GPUC_STMT_STORE || *names < 2) return NULL;
    const gpuc_tir_store_node *n = gpuc_as_store(s);
    contents c = {.written = n->buffer};
    gpuc_tir_visit_stmt(ctx, body, NULL, look, &c);
    bool effect = (n->value->flags | n->index[0]->flags) & GPUC_TIR_HAS_EFFECT;
    return c.reads_written || effect || n->n != 1 || c.functions < MIN_FUNCTIONS ? NULL : n;
}

/* One iteration, its number replaced, and its names by new ones. */
typedef struct iteration {
    int count;
    gpuc_expr *from, *to; /* the loop's variable and the names; what stands for them */
} iteration;

static iteration start(gpuc_ctx *ctx, int names, gpuc_expr var, gpuc_expr number)
{
    iteration it = {.count = 1,
                    .from = gpuc_new_array(ctx, gpuc_expr, names + 1),
                    .to = gpuc_new_array(ctx, gpuc_expr, names + 1)};
    it.from[0] = var;
    it.to[0] = number;
    return it;
}

static gpuc_expr mapped(gpuc_ctx *ctx, const iteration *it, gpuc_expr e)
{
    return gpuc_tir_substitute(ctx, e, it->count, it->from, it->to);
}

/* The names of all iterations in turns, then their stores in the order of the loop. */
static gpuc_stmt merged(gpuc_ctx *ctx, gpuc_stmt s, int n, iteration *its)
{
    gpuc_stmt done[SIDE_BY_SIDE];
    if (s->kind == GPUC_STMT_STORE) {
        const gpuc_tir_store_node *store = gpuc_as_store(s);
        for (int i = 0; i < n; i++)
            done[i] = gpuc_tir_store1(ctx, store->buffer, mapped(ctx, &its[i], store->index[0]),
                                      mapped(ctx, &its[i], store->value));
        return gpuc_tir_seq(ctx, n, done);
    }
    const gpuc_tir_let_node *let = gpuc_as_let(s);
    gpuc_expr values[SIDE_BY_SIDE], names[SIDE_BY_SIDE];
    for (int i = 0; i < n; i++) {
        values[i] = mapped(ctx, &its[i], let->value);
        names[i] = gpuc_lower_var_like(ctx, let->var);
        its[i].from[its[i].count] = let->var;
        its[i].to[its[i].count++] = names[i];
    }
    s = merged(ctx, let->body, n, its);
    for (int i = n - 1; i >= 0; i--) s = gpuc_tir_let(ctx, names[i], values[i], s);
    return s;
}

/* The iterations first, first + 1, ... of a loop over a row of names. */
static gpuc_stmt beside(gpuc_ctx *ctx, const gpuc_tir_for_node *loop, int names, int n, gpuc_expr first)
{
    iteration its[SIDE_BY_SIDE];
    for (int i = 0; i < n; i++)
        its[i] = start(ctx, names, loop->var, gpuc_add(ctx, first, gpuc_imm_int(ctx, first->dtype, i)));
    return merged(ctx, loop->body, n, its);
}

static gpuc_stmt interleave(gpuc_tir_mapper *m, gpuc_stmt s)
{
    gpuc_ctx *ctx = m->ctx;
    s = gpuc_tir_map_stmt_children(m, s);
    if (!s || s->kind != GPUC_STMT_FOR) return s;
    const gpuc_tir_for_node *n = gpuc_as_for(s);
    int64_t extent;
    int names;
    if (n->loop != GPUC_LOOP_SERIAL || !gpuc_expr_is_int(n->extent, &extent) || extent < 2) return s;
    const gpuc_tir_store_node *store = store_of(ctx, n->body, &names);
    if (!store || store->value->dtype.lanes == 1) return s;
    gpuc_dtype t = n->var->dtype;
    int64_t rounds = extent / SIDE_BY_SIDE, rest = extent % SIDE_BY_SIDE;
    gpuc_stmt parts[2];
    int count = 0;
    if (rounds) {
        gpuc_expr var = gpuc_lower_var_like(ctx, n->var),
                  first = gpuc_add(ctx, n->min, gpuc_mul(ctx, var, gpuc_imm_int(ctx, t, SIDE_BY_SIDE)));
        parts[count++] = gpuc_tir_for_(ctx, var, gpuc_imm_int(ctx, t, 0), gpuc_imm_int(ctx, t, rounds),
                                       n->loop, n->tag, beside(ctx, n, names, SIDE_BY_SIDE, first));
    }
    if (rest) {
        gpuc_expr first = gpuc_add(ctx, n->min, gpuc_imm_int(ctx, t, rounds * SIDE_BY_SIDE));
        parts[count++] = beside(ctx, n, names, (int)rest, first);
    }
    return gpuc_tir_seq(ctx, count, parts);
}

gpuc_tir_func *gpuc_lower_interleave(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    if (!p->target->language->machine_vectors || f->aliased) return f;
    gpuc_tir_mapper m;
    gpuc_tir_mapper_init(&m, p->ctx, NULL, interleave);
    return gpuc_lower_with_body(p->ctx, f, gpuc_tir_map_stmt(&m, f->body), f->stage);
}
