/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_TESTS_ARITH_TEST_H
#define GPUC_TESTS_ARITH_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "arith/arith.h"

/* One context and analyzer per test, with a few variables. */
typedef struct fixture {
    gpuc_ctx *ctx;
    gpuc_analyzer *a;
    gpuc_expr x, y, z, n, m; /* int64, without a range */
    gpuc_expr i, j, k;       /* [0, 16), [0, 4), [0, 64) */
} fixture;

typedef struct test_case {
    const char *name;
    void (*body)(fixture *f);
} test_case;

extern int failures; /* that were reported so far */
void run_case(const test_case *t);
bool same_text(const char *p, const char *q);

static inline gpuc_expr I(fixture *f, int64_t v)
{
    return gpuc_int(f->ctx, v);
}
static inline gpuc_expr add(fixture *f, gpuc_expr a, gpuc_expr b)
{
    return gpuc_add(f->ctx, a, b);
}
static inline gpuc_expr sub(fixture *f, gpuc_expr a, gpuc_expr b)
{
    return gpuc_sub(f->ctx, a, b);
}
static inline gpuc_expr mul(fixture *f, gpuc_expr a, gpuc_expr b)
{
    return gpuc_mul(f->ctx, a, b);
}
static inline gpuc_expr fdiv(fixture *f, gpuc_expr a, gpuc_expr b)
{
    return gpuc_floordiv_(f->ctx, a, b);
}
static inline gpuc_expr fmod_(fixture *f, gpuc_expr a, gpuc_expr b)
{
    return gpuc_floormod_(f->ctx, a, b);
}
static inline gpuc_expr muli(fixture *f, gpuc_expr a, int64_t b)
{
    return mul(f, a, I(f, b));
}
static inline gpuc_expr addi(fixture *f, gpuc_expr a, int64_t b)
{
    return add(f, a, I(f, b));
}
static inline gpuc_expr divi(fixture *f, gpuc_expr a, int64_t b)
{
    return fdiv(f, a, I(f, b));
}
static inline gpuc_expr modi(fixture *f, gpuc_expr a, int64_t b)
{
    return fmod_(f, a, I(f, b));
}

/* simplify(e) prints as text. */
void check_text(fixture *f, gpuc_expr e, const char *text, int line);
/* simplify(e) is that expression itself. */
void check_same(fixture *f, gpuc_expr e, gpuc_expr expected, int line);
#define check(e, text) check_text(f, (e), (text), __LINE__)
#define check_expr(e, expected) check_same(f, (e), (expected), __LINE__)

extern const test_case simplify_cases[], analysis_cases[], interval_cases[], xexpr_cases[];

#endif
