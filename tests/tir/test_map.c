/* SPDX-License-Identifier: Apache-2.0 */
#include "random_ir.h"

#define I(n) gpuc_int(ctx, (n))

static gpuc_expr parse_value(gpuc_ctx *ctx, const char *text, gpuc_tir_func **f)
{
    *f = gpuc_tir_parse(
        ctx, gpuc_ctx_printf(ctx, "func f(A: float32[n] global, n: int64, k: int64) {\n A[0] = %s\n}", text),
        "value");
    return gpuc_as_store((*f)->body)->value;
}

/* ---- Visiting ------------------------------------------------------------------------------------------ */

typedef struct order {
    gpuc_expr at[64];
    int n, stop_at;
} order;

static bool note(gpuc_expr e, void *arg)
{
    order *o = arg;
    o->at[o->n++] = e;
    return o->n != o->stop_at;
}

static void visiting(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_tir_func *f;
    gpuc_expr e = parse_value(ctx, "exp(A[n*2]) + exp(A[n*2])*A[n]", &f);
    order o = {.n = 0};
    assert_true(gpuc_tir_visit(ctx, e, note, &o));
    assert_int_equal(o.n, 8);
    for (int i = 0; i < o.n; i++)
        for (int j = 0; j < i; j++) assert_ptr_not_equal(o.at[i], o.at[j]);
    assert_ptr_equal(o.at[o.n - 1], e);
    assert_ptr_equal(o.at[0], f->scalars[0]);
    o = (order){.stop_at = 3};
    assert_false(gpuc_tir_visit(ctx, e, note, &o));
    assert_int_equal(o.n, 3);
    assert_true(gpuc_tir_uses_var(ctx, e, f->scalars[0]));
    assert_false(gpuc_tir_uses_var(ctx, e, f->scalars[1]));
    assert_true(gpuc_tir_stmt_uses_var(ctx, f->body, f->scalars[0]));
    assert_false(gpuc_tir_stmt_uses_var(ctx, f->body, f->scalars[1]));
    gpuc_expr sum = f->scalars[1];
    for (int i = 0; i < 900; i++) sum = gpuc_add(ctx, gpuc_mul(ctx, sum, f->scalars[0]), sum);
    assert_true(gpuc_tir_uses_var(ctx, sum, f->scalars[1]));
    assert_false(gpuc_tir_uses_var(ctx, sum, gpuc_var(ctx, "z", GPUC_INT64)));
}

typedef struct kinds {
    int stmts[GPUC_STMT_KIND_COUNT], exprs;
    gpuc_stmt first;
} kinds;

static void count_stmt(gpuc_stmt s, void *arg)
{
    kinds *k = arg;
    if (!k->first) k->first = s;
    k->stmts[s->kind]++;
}

static bool count_expr(gpuc_expr e, void *arg)
{
    (void)e;
    ((kinds *)arg)->exprs++;
    return true;
}

static void visiting_stmts(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const gpuc_tir_func *f = gpuc_tir_parse(ctx,
                                            "func f(A: float32[n] global, n: int64) {\n"
                                            "  alloc B: float32[n + 7] local\n"
                                            "  for i in 0..n { let x = A[i]\n if (x < 2.0) { B[i] = x } }\n"
                                            "  attr pragma \"p\" = 3 { A[0] = B[n + 7] }\n"
                                            "  barrier()\n"
                                            "}\n",
                                            "visit");
    kinds k = {.first = NULL};
    gpuc_tir_visit_stmt(ctx, f->body, count_stmt, count_expr, &k);
    for (int i = 0; i < GPUC_STMT_KIND_COUNT; i++) assert_int_equal(k.stmts[i], i == GPUC_STMT_STORE ? 2 : 1);
    assert_ptr_equal(k.first, f->body);
    /* n, 7, n+7, 0, i, A[i], x, 2.0, <, 3, B[n+7], barrier() */
    assert_int_equal(k.exprs, 12);
    gpuc_tir_visit_stmt(ctx, NULL, count_stmt, count_expr, &k);
    assert_int_equal(k.exprs, 12);
}

/* ---- Mapping ------------------------------------------------------------------------------------------- */

typedef struct counting_mapper {
    gpuc_tir_mapper base;
    int calls;
} counting_mapper;

static gpuc_expr count_and_keep(gpuc_tir_mapper *m, gpuc_expr e)
{
    ((counting_mapper *)m)->calls++;
    return gpuc_tir_map_children(m, e);
}

static void mapping(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr x = gpuc_var(ctx, "x", GPUC_INT64), e = x;
    for (int i = 0; i < 300; i++) e = gpuc_add(ctx, gpuc_mul(ctx, e, e), e);
    counting_mapper m = {.calls = 0};
    gpuc_tir_mapper_init(&m.base, ctx, count_and_keep, NULL);
    assert_ptr_equal(gpuc_tir_map(&m.base, e), e);
    assert_int_equal(m.calls, 601);
    gpuc_tir_map(&m.base, e);
    assert_int_equal(m.calls, 601);
    gpuc_tir_mapper_forget(&m.base);
    gpuc_tir_map(&m.base, e);
    assert_int_equal(m.calls, 1202);
    gpuc_expr zero = I(0);
    assert_ptr_equal(gpuc_tir_substitute(ctx, e, 1, &x, &zero), zero);
}

static void substituting(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const gpuc_tir_func *f =
        gpuc_tir_parse(ctx,
                       "func f(A: float32[64] global, n: int64, k: int64) {\n"
                       "  for i in 0..n {\n"
                       "    if (n < 3) { A[i*n + k] = 1.0 } else { A[k] = select(k < i, A[n], 2.0) }\n"
                       "  }\n"
                       "  for i in k..+n - 8 { A[ramp(i, n, 4)] = broadcast(float32(k), 4) }\n"
                       "}\n",
                       "subst");
    gpuc_expr with[2] = {I(8), I(5)};
    gpuc_tir_func g = *f;
    g.body = gpuc_tir_substitute_stmt(ctx, f->body, 2, f->scalars, with);
    assert_string_equal(gpuc_tir_text(ctx, &g), "func f(A: float32[64] global, n: int64, k: int64) {\n"
                                                "  for i in 0..8 {\n"
                                                "    A[5] = select(i > 5, A[8], 2.0)\n"
                                                "  }\n"
                                                "}\n");
    gpuc_expr swap[2] = {f->scalars[1], f->scalars[0]};
    gpuc_expr e = gpuc_sub(ctx, gpuc_mul(ctx, f->scalars[0], I(2)), f->scalars[1]);
    assert_text(ctx, gpuc_tir_substitute(ctx, e, 2, f->scalars, swap), "k*2 - n");
    assert_ptr_equal(gpuc_tir_substitute_stmt(ctx, f->body, 0, NULL, NULL), f->body);
    gpuc_expr other = gpuc_var(ctx, "other", GPUC_INT64);
    assert_ptr_equal(gpuc_tir_substitute_stmt(ctx, f->body, 1, &other, with), f->body);
}

static void substitute_wrong(gpuc_ctx *ctx, void *arg)
{
    gpuc_expr x = arg, f = gpuc_imm(ctx, GPUC_FLOAT32, 1);
    gpuc_tir_substitute(ctx, gpuc_add(ctx, x, I(1)), 1, &x, &f);
}

static void reductions(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INT64), i = gpuc_var(ctx, "i", GPUC_INT64), eight = I(8);
    gpuc_iter *k = gpuc_tir_iter(ctx, "k", I(0), n, GPUC_ITER_REDUCE, GPUC_THREAD_NONE);
    gpuc_expr index[2] = {i, k->var};
    gpuc_expr read = gpuc_tir_read(ctx, GPUC_FLOAT32, NULL, 2, index);
    const gpuc_tir_reducer *sum = gpuc_tir_reducer_get(ctx, "sum", GPUC_FLOAT32);
    gpuc_expr e = gpuc_tir_reduce(ctx, sum, &read, 1, &k, gpuc_lt(ctx, k->var, i), 0);
    assert_true(e->flags & GPUC_TIR_HAS_TE);
    assert_text(ctx, e, "reduce sum(tensor(i, k); k in 0..n; where k < i)");
    gpuc_expr r = gpuc_tir_substitute(ctx, e, 1, &n, &eight);
    assert_text(ctx, r, "reduce sum(tensor(i, k); k in 0..8; where k < i)");
    assert_ptr_equal(gpuc_as_reduce(r)->axes[0]->var, k->var);
    assert_text(ctx, e, "reduce sum(tensor(i, k); k in 0..n; where k < i)");
    assert_true(gpuc_tir_uses_var(ctx, e, n));
    assert_ptr_equal(e, gpuc_tir_reduce(ctx, sum, &read, 1, &k, gpuc_lt(ctx, k->var, i), 0));
    assert_null(gpuc_as_reduce(gpuc_tir_reduce(ctx, sum, &read, 1, &k, gpuc_imm_int(ctx, GPUC_BOOL, 1), 0))
                    ->condition);
    expect_raise(ctx, substitute_wrong, (void *)i, GPUC_INVALID_ARGUMENT,
                 "'i' of type int64 cannot be replaced");
}

/* Renaming all variables gives the same function, up to names. */
static gpuc_stmt rename_binders(gpuc_tir_mapper *m, gpuc_stmt s)
{
    gpuc_expr var = s->kind == GPUC_STMT_FOR   ? gpuc_as_for(s)->var
                    : s->kind == GPUC_STMT_LET ? gpuc_as_let(s)->var
                                               : NULL;
    if (!var) return gpuc_tir_map_stmt_children(m, s);
    if (s->kind == GPUC_STMT_FOR) {
        const gpuc_tir_for_node *n = gpuc_as_for(s);
        gpuc_expr min = gpuc_tir_map(m, n->min), extent = gpuc_tir_map(m, n->extent), fresh;
        fresh = gpuc_var(m->ctx, "other", var->dtype);
        gpuc_map_set(&m->memo, var, (void *)fresh);
        return gpuc_tir_for_(m->ctx, fresh, min, extent, n->loop, n->tag, gpuc_tir_map_stmt(m, n->body));
    }
    gpuc_expr value = gpuc_tir_map(m, gpuc_as_let(s)->value), fresh = gpuc_var(m->ctx, "let", var->dtype);
    gpuc_map_set(&m->memo, var, (void *)fresh);
    return gpuc_tir_let(m->ctx, fresh, value, gpuc_tir_map_stmt(m, gpuc_as_let(s)->body));
}

static const char *canonical(gpuc_ctx *ctx, const gpuc_tir_func *f)
{
    gpuc_buf buf;
    gpuc_buf_init(&buf, ctx->allocator);
    gpuc_tir_print_canonical(ctx, &buf, f);
    const char *text = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&buf));
    gpuc_buf_deinit(&buf);
    return text;
}

static void renaming(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        const gpuc_tir_func *f = random_func(ctx, seed);
        gpuc_tir_func g = *f;
        gpuc_tir_mapper m;
        gpuc_tir_mapper_init(&m, ctx, NULL, rename_binders);
        g.body = gpuc_tir_map_stmt(&m, f->body);
        g.name = "another";
        /* An alloc's shape keeps the old variables: it is not mapped. */
        if (strstr(gpuc_tir_text(ctx, f), "alloc ")) continue;
        assert_string_equal(canonical(ctx, f), canonical(ctx, &g));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ctx_test(visiting),     ctx_test(visiting_stmts), ctx_test(mapping),
        ctx_test(substituting), ctx_test(reductions),     ctx_test(renaming),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
