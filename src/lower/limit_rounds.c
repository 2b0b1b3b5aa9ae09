/* SPDX-License-Identifier: Apache-2.0 */
/* A device that ends loops after so many rounds in all gives wrong results without a word (Mesa's llvmpipe:
 * 65535 rounds per invocation, LP_MAX_TGSI_LOOP_ITERATIONS). The innermost loops do several rounds in one,
 * until the limit holds. Where extents are not known, the kernel requires that they keep it. */
#include "arith/arith.h"
#include "lower/util.h"

enum { MOST_SIZE = 16384 }; /* nodes that a kernel may grow to */

typedef struct limiter {
    gpuc_tir_mapper m;
    int64_t copies; /* of an innermost body, at most */
    int64_t inside; /* copies that what was mapped last holds; 0: it has loops */
} limiter;

/* Loops of unknown extent count as one round here. */
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
    case GPUC_STMT_ATTR: return gpuc_tir_is_coopmat(s) ? 0 : rounds(gpuc_as_attr(s)->body);
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
    if (gpuc_tir_is_coopmat(s)) return s; /* an instruction */
    return s->kind == GPUC_STMT_FOR ? limit_for((limiter *)m, gpuc_as_for(s))
                                    : gpuc_tir_map_stmt_children(m, s);
}

/* ---- What the scalars must satisfy ---- */

typedef struct counter {
    gpuc_ctx *ctx;
    gpuc_analyzer *a;
    gpuc_map ranges; /* variable -> gpuc_interval *, over scalars */
} counter;

static gpuc_interval interval_of(counter *c, gpuc_expr e)
{
    return gpuc_eval_interval(c->a, e, &c->ranges);
}

static void set_range(counter *c, gpuc_expr var, gpuc_expr min, gpuc_expr extent)
{
    gpuc_interval *range = gpuc_new(c->ctx, gpuc_interval), from = interval_of(c, min),
                  end = interval_of(c, gpuc_add(c->ctx, min, extent));
    range->min = from.min;
    range->max = end.max ? gpuc_sub(c->ctx, end.max, gpuc_imm_int(c->ctx, end.max->dtype, 1)) : NULL;
    gpuc_map_set(&c->ranges, var, range);
}

/* As rounds, over scalars. A loop whose extent is data counts as one round. */
static gpuc_expr symbolic_rounds(counter *c, gpuc_stmt s)
{
    gpuc_ctx *ctx = c->ctx;
    gpuc_expr n = gpuc_int(ctx, 0);
    if (!s) return n;
    switch (s->kind) {
    case GPUC_STMT_FOR: {
        const gpuc_tir_for_node *loop = gpuc_as_for(s);
        gpuc_expr extent = interval_of(c, loop->extent).max;
        set_range(c, loop->var, loop->min, loop->extent);
        n = gpuc_add(ctx, symbolic_rounds(c, loop->body), gpuc_int(ctx, 1));
        return extent ? gpuc_mul(ctx, gpuc_max(ctx, gpuc_cast(ctx, GPUC_INDEX, extent), gpuc_int(ctx, 0)), n)
                      : n;
    }
    case GPUC_STMT_IF:
        n = symbolic_rounds(c, gpuc_as_if(s)->then_body);
        return gpuc_max(ctx, n, symbolic_rounds(c, gpuc_as_if(s)->else_body));
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++)
            n = gpuc_add(ctx, n, symbolic_rounds(c, gpuc_as_seq(s)->at[i]));
        return n;
    case GPUC_STMT_ALLOC: return symbolic_rounds(c, gpuc_as_alloc(s)->body);
    case GPUC_STMT_LET: {
        gpuc_interval *value = gpuc_new(ctx, gpuc_interval);
        *value = interval_of(c, gpuc_as_let(s)->value);
        gpuc_map_set(&c->ranges, gpuc_as_let(s)->var, value);
        return symbolic_rounds(c, gpuc_as_let(s)->body);
    }
    case GPUC_STMT_ATTR: return gpuc_tir_is_coopmat(s) ? n : symbolic_rounds(c, gpuc_as_attr(s)->body);
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return n;
}

static gpuc_expr within_limit(gpuc_ctx *ctx, const gpuc_tir_func *f, gpuc_stmt body, int64_t most)
{
    counter c = {.ctx = ctx, .a = gpuc_analyzer_create(ctx)};
    int64_t known;
    gpuc_map_init(&c.ranges, ctx);
    for (int i = 0; i < f->num_threads; i++)
        set_range(&c, f->threads[i].var, gpuc_imm_int(ctx, f->threads[i].var->dtype, 0),
                  f->threads[i].extent);
    gpuc_expr n = gpuc_simplify(c.a, symbolic_rounds(&c, body));
    if (gpuc_expr_is_int(n, &known)) return NULL;
    return gpuc_le(ctx, n, gpuc_int(ctx, most));
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
    gpuc_expr requires = most > 0 ? within_limit(p->ctx, f, body, most) : NULL;
    if (!requires) return gpuc_lower_with_body(p->ctx, f, body, f->stage);
    gpuc_tir_func *out = gpuc_ctx_memdup(p->ctx, f, sizeof *f);
    out->body = body;
    out->requires = requires;
    return out;
}
