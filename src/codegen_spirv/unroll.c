/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the driver may unroll a loop. What is worth it has been unrolled in lowering; drivers unroll small
 * counts by themselves, and nests of them grow until compiling takes minutes. So a loop whose unrolled body
 * would access memory often or wait at barriers, where the loop itself costs little, is to stay, unless it
 * indexes private arrays, which become registers only if it goes. */
#include "codegen_spirv/emit.h"

enum { MAX_ROUNDS = 32 /* drivers unroll longer loops in part only */, MAX_ACCESSES = 32 };

typedef struct count {
    gpuc_ctx *ctx;
    int64_t loads;
    gpuc_expr var; /* of the loop in question */
    bool indexes_private;
} count;

static bool is_private(const gpuc_tir_buffer *b)
{
    return b->scope == GPUC_SCOPE_LOCAL;
}

static void note_index(count *c, gpuc_expr index)
{
    if (gpuc_tir_uses_var(c->ctx, index, c->var)) c->indexes_private = true;
}

static bool count_load(gpuc_expr e, void *arg)
{
    count *c = arg;
    if (e->kind == GPUC_EXPR_CALL && gpuc_as_call(e)->fn == GPUC_TIR_CALL_BARRIER) c->loads += MAX_ACCESSES;
    if (e->kind != GPUC_EXPR_LOAD) return true;
    const gpuc_tir_load_node *n = gpuc_as_load(e);
    if (is_private(n->buffer))
        note_index(c, n->index[0]);
    else
        c->loads++;
    return true;
}

static int64_t loads_in(count *c, gpuc_expr e)
{
    c->loads = 0;
    if (e->flags & (GPUC_TIR_HAS_LOAD | GPUC_TIR_HAS_EFFECT)) gpuc_tir_visit(c->ctx, e, count_load, c);
    return c->loads;
}

static bool is_short(const gpuc_tir_for_node *n, int64_t *iterations)
{
    return gpuc_expr_is_int(n->extent, iterations) && *iterations <= MAX_ROUNDS;
}

/* Accesses to memory of s when its short loops are unrolled. */
static int64_t accesses(count *c, gpuc_stmt s)
{
    int64_t n = 0, iterations;
    if (!s) return 0;
    switch (s->kind) {
    case GPUC_STMT_FOR:
        n = accesses(c, gpuc_as_for(s)->body);
        if (is_short(gpuc_as_for(s), &iterations)) n *= iterations;
        break;
    case GPUC_STMT_STORE: {
        const gpuc_tir_store_node *store = gpuc_as_store(s);
        n = loads_in(c, store->value) + loads_in(c, store->index[0]);
        if (!is_private(store->buffer)) return n + 1;
        note_index(c, store->index[0]);
        return n;
    }
    case GPUC_STMT_EVAL: return loads_in(c, gpuc_as_eval(s)->value);
    case GPUC_STMT_IF:
        n = loads_in(c, gpuc_as_if(s)->cond) + accesses(c, gpuc_as_if(s)->then_body);
        return n + accesses(c, gpuc_as_if(s)->else_body);
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) n += accesses(c, gpuc_as_seq(s)->at[i]);
        break;
    case GPUC_STMT_ALLOC: return accesses(c, gpuc_as_alloc(s)->body);
    case GPUC_STMT_LET: return loads_in(c, gpuc_as_let(s)->value) + accesses(c, gpuc_as_let(s)->body);
    case GPUC_STMT_ATTR: return accesses(c, gpuc_as_attr(s)->body);
    case GPUC_STMT_KIND_COUNT: break;
    }
    return n > INT32_MAX ? INT32_MAX : n;
}

SpvLoopControlMask gpuc_spv_loop_control(gpuc_ctx *ctx, const gpuc_tir_for_node *n)
{
    int64_t iterations;
    if (n->loop == GPUC_LOOP_UNROLLED) return SpvLoopControlUnrollMask;
    if (!is_short(n, &iterations)) return SpvLoopControlMaskNone;
    count c = {.ctx = ctx, .var = n->var};
    int64_t all = accesses(&c, (gpuc_stmt)&n->base);
    return all > MAX_ACCESSES && !c.indexes_private ? SpvLoopControlDontUnrollMask : SpvLoopControlMaskNone;
}
