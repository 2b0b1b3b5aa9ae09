/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <string.h>

int failures;

typedef struct job {
    const test_case *test;
    fixture f;
} job;

static void body(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    fixture *f = &j->f;
    f->ctx = ctx;
    f->a = gpuc_arith_analyzer_create(ctx);
    f->x = gpuc_var(ctx, "x", GPUC_INDEX);
    f->y = gpuc_var(ctx, "y", GPUC_INDEX);
    f->z = gpuc_var(ctx, "z", GPUC_INDEX);
    f->n = gpuc_var(ctx, "n", GPUC_INDEX);
    f->m = gpuc_var(ctx, "m", GPUC_INDEX);
    f->i = gpuc_var(ctx, "i", GPUC_INDEX);
    f->j = gpuc_var(ctx, "j", GPUC_INDEX);
    f->k = gpuc_var(ctx, "k", GPUC_INDEX);
    gpuc_arith_analyzer_bind(f->a, f->i, gpuc_int(ctx, 0), gpuc_int(ctx, 16));
    gpuc_arith_analyzer_bind(f->a, f->j, gpuc_int(ctx, 0), gpuc_int(ctx, 4));
    gpuc_arith_analyzer_bind(f->a, f->k, gpuc_int(ctx, 0), gpuc_int(ctx, 64));
    j->test->body(f);
}

void run_case(const test_case *t)
{
    gpuc_ctx *ctx;
    job j = {.test = t};
    assert_null(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, body, &j);
    if (status) print_error("%s: %s\n", t->name, gpuc_status_message(status));
    assert_null(status);
    gpuc_ctx_destroy(ctx);
}

/* Spaces do not matter. */
bool same_text(const char *p, const char *q)
{
    for (;; p++, q++) {
        p += strspn(p, " ");
        q += strspn(q, " ");
        if (*p != *q) return false;
        if (!*p) return true;
    }
}

void check_text(fixture *f, gpuc_expr e, const char *text, int line)
{
    gpuc_expr s = gpuc_arith_simplify(f->a, e);
    const char *got = gpuc_expr_text(f->ctx, s);
    if (!same_text(got, text))
        failures++, print_error("line %d: %s gives %s, not %s\n", line, gpuc_expr_text(f->ctx, e), got, text);
    if (gpuc_arith_simplify(f->a, s) != s)
        failures++, print_error("line %d: %s is simplified again to %s\n", line, got,
                                gpuc_expr_text(f->ctx, gpuc_arith_simplify(f->a, s)));
}

void check_same(fixture *f, gpuc_expr e, gpuc_expr expected, int line)
{
    gpuc_expr s = gpuc_arith_simplify(f->a, e);
    if (s != expected)
        failures++, print_error("line %d: %s gives %s, not %s\n", line, gpuc_expr_text(f->ctx, e),
                                gpuc_expr_text(f->ctx, s), gpuc_expr_text(f->ctx, expected));
}

static void run_all(const test_case *t)
{
    failures = 0;
    for (; t->name; t++) run_case(t);
    assert_int_equal(failures, 0);
}
static void test_simplify(void **state)
{
    (void)state;
    run_all(simplify_cases);
}
static void test_analysis(void **state)
{
    (void)state;
    run_all(analysis_cases);
}
static void test_interval(void **state)
{
    (void)state;
    run_all(interval_cases);
}
static void test_xexpr(void **state)
{
    (void)state;
    run_all(xexpr_cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simplify),
        cmocka_unit_test(test_analysis),
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_xexpr),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
