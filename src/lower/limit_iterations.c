/* SPDX-License-Identifier: Apache-2.0 */
/* Limits the loop iterations of an invocation. A device that ends loops after a number of iterations gives
 * wrong results without an error (Mesa's llvmpipe: 65535 iterations per invocation,
 * LP_MAX_TGSI_LOOP_ITERATIONS). Where an invocation may exceed the limit, the innermost loops are unrolled by
 * a factor; loops of unknown extent get a loop for the tail. The function states the number of its iterations
 * as an expression over its scalars, which the runtime evaluates before a launch. */
#include "lower/common/ranges.h"
#include "lower/common/util.h"

enum {
    MAX_SIZE = 16384,     /* nodes that a kernel may grow to */
    MAX_OPEN_SIZE = 640,  /* the same where the extent is unknown and there are more than two copies */
    MAX_OPEN_COPIES = 16, /* allows a million iterations on llvmpipe */
};

/* ---- Counting: the iteration in which a loop finds that it is over is one, too ---- */

typedef struct counter {
    gpuc_ranges r;
    bool unbounded; /* some loop has an extent without an upper bound, such as one read from memory */
} counter;

static gpuc_expr iterations_of(counter *c, gpuc_stmt s);

static gpuc_expr iterations_of_loop(counter *c, const gpuc_tir_for_node *loop)
{
    gpuc_ctx *ctx = c->r.m.ctx;
    gpuc_expr extent = gpuc_lower_ranges_eval(&c->r, loop->extent).max;
    c->unbounded |= !extent;
    if (!extent) return gpuc_int(ctx, 0);
    gpuc_lower_ranges_set_loop(&c->r, loop->var, loop->min, loop->extent);
    extent = gpuc_max(ctx, gpuc_cast(ctx, GPUC_INDEX, extent), gpuc_int(ctx, 0));
    gpuc_expr one = gpuc_int(ctx, 1);
    return gpuc_add(ctx, gpuc_mul(ctx, extent, gpuc_add(ctx, iterations_of(c, loop->body), one)), one);
}

static gpuc_expr iterations_of(counter *c, gpuc_stmt s)
{
    gpuc_ctx *ctx = c->r.m.ctx;
    gpuc_expr n = gpuc_int(ctx, 0);
    if (!s) return n;
    switch (s->kind) {
    case GPUC_STMT_FOR: return iterations_of_loop(c, gpuc_as_for(s));
    case GPUC_STMT_IF:
        n = iterations_of(c, gpuc_as_if(s)->then_body);
        return gpuc_max(ctx, n, iterations_of(c, gpuc_as_if(s)->else_body));
    case GPUC_STMT_SEQ:
        for (int i = 0; i < gpuc_as_seq(s)->n; i++)
            n = gpuc_add(ctx, n, iterations_of(c, gpuc_as_seq(s)->at[i]));
        return n;
    case GPUC_STMT_ALLOC: return iterations_of(c, gpuc_as_alloc(s)->body);
    case GPUC_STMT_LET:
        gpuc_lower_ranges_set_let(&c->r, gpuc_as_let(s));
        return iterations_of(c, gpuc_as_let(s)->body);
    case GPUC_STMT_ATTR: return gpuc_tir_is_coopmat(s) ? n : iterations_of(c, gpuc_as_attr(s)->body);
    case GPUC_STMT_STORE:
    case GPUC_STMT_EVAL:
    case GPUC_STMT_KIND_COUNT: break;
    }
    return n;
}

static gpuc_expr count_iterations(gpuc_ctx *ctx, const gpuc_tir_func *f, gpuc_stmt body)
{
    counter c = {.unbounded = false};
    gpuc_lower_ranges_init(&c.r, ctx, gpuc_lower_analyzer(ctx, f));
    for (int i = 0; i < f->num_threads; i++)
        gpuc_lower_ranges_set_loop(&c.r, f->threads[i].var, gpuc_imm_int(ctx, f->threads[i].var->dtype, 0),
                                   f->threads[i].extent);
    gpuc_expr n = iterations_of(&c, body);
    return c.unbounded ? gpuc_int(ctx, INT64_MAX) : gpuc_arith_simplify(c.r.a, n);
}

/* ---- Unrolling ---- */

typedef struct limiter {
    gpuc_tir_mapper m;
    int64_t copies; /* max copies of an innermost body */
    int64_t inside; /* copies in the statement that was mapped last; 0: it has loops */
} limiter;

static gpuc_stmt limit_for(limiter *t, const gpuc_tir_for_node *n)
{
    gpuc_ctx *ctx = t->m.ctx;
    gpuc_dtype type = n->var->dtype;
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
    if (!body || factor < 2) return gpuc_tir_for_(ctx, n->var, n->min, n->extent, n->loop, n->tag, body);
    gpuc_expr zero = gpuc_imm_int(ctx, type, 0), step = gpuc_imm_int(ctx, type, factor),
              all = known ? n->extent : gpuc_max(ctx, n->extent, zero),
              var = gpuc_lower_var_like(ctx, n->var), first = gpuc_add(ctx, n->min, gpuc_mul(ctx, var, step)),
              left = gpuc_floormod_(ctx, all, step), rest = gpuc_add(ctx, n->min, gpuc_sub(ctx, all, left));
    gpuc_stmt loop = gpuc_tir_for_(ctx, var, zero, gpuc_floordiv_(ctx, all, step), n->loop, n->tag,
                                   gpuc_lower_copies(ctx, n->var, first, factor, body));
    if (known && extent % factor == 0) return loop;
    gpuc_stmt tail = gpuc_lower_clone(ctx, body, 0, NULL, NULL);
    tail = known ? gpuc_lower_copies(ctx, n->var, rest, extent % factor, tail)
                 : gpuc_tir_for_(ctx, n->var, rest, left, n->loop, n->tag, tail);
    return gpuc_tir_seq2(ctx, loop, tail);
}

static gpuc_stmt limit_stmt(gpuc_tir_mapper *m, gpuc_stmt s)
{
    if (gpuc_tir_is_coopmat(s)) return s; /* an instruction */
    return s->kind == GPUC_STMT_FOR ? limit_for((limiter *)m, gpuc_as_for(s))
                                    : gpuc_tir_map_stmt_children(m, s);
}

/* The body with innermost loops unrolled until it is below the limit, or as far as the size of the code
 * allows. */
static gpuc_stmt limited(gpuc_ctx *ctx, const gpuc_tir_func *f, int64_t max, gpuc_expr *iterations)
{
    gpuc_stmt body = f->body;
    int64_t known = INT64_MAX;
    for (int64_t copies = 2; known > max; copies *= 2) {
        bool open = !gpuc_expr_is_int(*iterations, &known);
        limiter t = {.copies = copies};
        gpuc_tir_mapper_init(&t.m, ctx, NULL, limit_stmt);
        gpuc_stmt next = gpuc_tir_map_stmt(&t.m, f->body);
        if ((open && copies > MAX_OPEN_COPIES) ||
            gpuc_lower_size(ctx, next) > (open && copies > 2 ? MAX_OPEN_SIZE : MAX_SIZE))
            return body;
        body = next;
        *iterations = count_iterations(ctx, f, body);
        if (!gpuc_expr_is_int(*iterations, &known)) known = INT64_MAX;
    }
    return body;
}

gpuc_tir_func *gpuc_lower_limit_iterations(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    int64_t max = p->target->max_iterations, known;
    if (max == 0 && !p->target->language->states_iterations) return f;
    gpuc_tir_func *out = gpuc_ctx_memdup(p->ctx, f, sizeof *f);
    out->iterations = count_iterations(p->ctx, f, f->body);
    if (max == 0) return out;
    if (gpuc_expr_is_int(out->iterations, &known) && known <= max) return out;
    gpuc_expr scheduled = out->iterations;
    out->body = limited(p->ctx, f, max, &out->iterations);
    if (out->body != f->body) out->iterations_as_scheduled = scheduled;
    return out;
}
