/* SPDX-License-Identifier: Apache-2.0 */
/* A device that ends loops after so many rounds in all gives wrong results without a word (Mesa's llvmpipe:
 * 65535 rounds per invocation, LP_MAX_TGSI_LOOP_ITERATIONS). The innermost loops do several rounds in one,
 * until the limit holds. */
#include "lower/util.h"

enum { MOST_SIZE = 16384 }; /* nodes that a kernel may grow to */

typedef struct limiter {
    gpuc_tir_mapper m;
    int64_t copies; /* of an innermost body, at most */
    int64_t inside; /* copies that what was mapped last holds; 0: it has loops */
} limiter;

/* Loops of unknown extent count as one round. */
static int64_t rounds(gpuc_stmt s)
{
    if (!s) return 0;
    int64_t n = 0, other, extent;
    switch (s->kind) {
    case GPUC_STMT_FOR:
        n = rounds(gpuc_as_for(s)->body) + 1;
        if (!gpuc_expr_is_int(gpuc_as_for(s)->extent, &extent)) return n;
        return extent > 0 && n > INT32_MAX / extent ? INT32_MAX : n * extent;
    case GPUC_STMT_IF:
        n = rounds(gpuc_as_if(s)->then_body);
        other = rounds(gpuc_as_if(s)->else_body);
        return n > other ? n : other;
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) n += rounds(gpuc_as_seq(s)->at[i]);
        return n > INT32_MAX ? INT32_MAX : n;
    case GPUC_STMT_ALLOC: return rounds(gpuc_as_alloc(s)->body);
    case GPUC_STMT_LET: return rounds(gpuc_as_let(s)->body);
    case GPUC_STMT_ATTR: return rounds(gpuc_as_attr(s)->body);
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return 0;
}

static gpuc_stmt limit_for(limiter *t, const gpuc_tir_for_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    int64_t outer = t->inside, extent;
    t->inside = 1;
    gpuc_stmt body = gpuc_tir_map_stmt(&t->m, n->body);
    int64_t inner = t->inside, factor = inner ? t->copies / inner : 1;
    bool known = gpuc_expr_is_int(n->extent, &extent);
    if (body && known && inner && extent <= factor) {
        t->inside = outer && outer < inner * extent ? inner * extent : outer;
        return gpuc_lower_copies(ctx, n->var, n->min, extent, body);
    }
    t->inside = 0;
    if (!body || !known || factor < 2)
        return gpuc_tir_for_(ctx, n->var, n->min, n->extent, n->loop, n->tag, body);
    gpuc_expr step = gpuc_imm_int(ctx, n->var->dtype, factor), var = gpuc_lower_var_like(ctx, n->var);
    gpuc_expr first = gpuc_add(ctx, n->min, gpuc_mul(ctx, var, step));
    gpuc_expr whole = gpuc_imm_int(ctx, n->var->dtype, extent / factor);
    gpuc_expr rest = gpuc_add(ctx, n->min, gpuc_imm_int(ctx, n->var->dtype, extent - extent % factor));
    gpuc_stmt loop = gpuc_tir_for_(ctx, var, gpuc_imm_int(ctx, n->var->dtype, 0), whole, n->loop, n->tag,
                                   gpuc_lower_copies(ctx, n->var, first, factor, body));
    if (extent % factor == 0) return loop;
    gpuc_stmt tail = gpuc_lower_clone(ctx, body, 0, NULL, NULL);
    return gpuc_tir_seq2(ctx, loop, gpuc_lower_copies(ctx, n->var, rest, extent % factor, tail));
}

static gpuc_stmt limit_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    return s->kind == GPUC_STMT_FOR ? limit_for((limiter *)m, gpuc_as_for(s))
                                    : gpuc_tir_map_stmt_children(m, s);
}

gpuc_tir_func *gpuc_lower_limit_rounds(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    int64_t most = p->target->max_rounds;
    gpuc_stmt body = f->body;
    for (int64_t copies = 2; most > 0 && rounds(body) > most; copies *= 2) {
        limiter t = {.copies = copies};
        gpuc_tir_mapper_init(&t.m, p->ctx, NULL, limit_stmt);
        body = gpuc_tir_map_stmt(&t.m, f->body);
        if (gpuc_lower_size(p->ctx, body) > MOST_SIZE)
            gpuc_raise(p->ctx, GPUC_UNSUPPORTED,
                       "kernel '%s': one invocation loops over %lld rounds, but the target allows %lld "
                       "(max_rounds); "
                       "bind a loop to blockIdx or threadIdx",
                       f->name, (long long)rounds(f->body), (long long)most);
    }
    return gpuc_lower_with_body(p->ctx, f, body, f->stage);
}
