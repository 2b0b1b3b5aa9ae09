/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

static void expect(fixture *f, gpuc_expr e, const gpuc_map *relax, const char *min, const char *max)
{
    gpuc_interval i = gpuc_arith_eval_interval(f->a, e, relax);
    const char *lo = i.min ? gpuc_expr_text(f->ctx, i.min) : "-",
               *hi = i.max ? gpuc_expr_text(f->ctx, i.max) : "-";
    if (!same_text(lo, min) || !same_text(hi, max))
        failures++,
            print_error("%s is in [%s, %s], not [%s, %s]\n", gpuc_expr_text(f->ctx, e), lo, hi, min, max);
}

static void relax_loops(fixture *f)
{
    gpuc_map relax;
    gpuc_map_init(&relax, f->ctx);
    gpuc_interval x = {I(f, 0), I(f, 7)}, y = {I(f, 0), addi(f, f->n, -1)}, open = {NULL, I(f, 3)};
    gpuc_map_set(&relax, f->x, &x);
    expect(f, add(f, muli(f, f->z, 8), f->x), &relax, "z * 8", "z * 8 + 7");
    expect(f, sub(f, f->z, f->x), &relax, "z - 7", "z");
    expect(f, divi(f, add(f, muli(f, f->z, 8), f->x), 8), &relax, "z", "z");
    expect(f, divi(f, f->x, 2), &relax, "0", "3");
    expect(f, modi(f, f->x, 3), &relax, "0", "2");
    expect(f, gpuc_min(f->ctx, f->x, f->z), &relax, "min(z, 0)", "min(z, 7)");
    expect(f, gpuc_select(f->ctx, gpuc_lt(f->ctx, f->x, I(f, 3)), f->x, addi(f, f->x, 10)), &relax, "0",
           "17");
    gpuc_interval here = {f->z, f->z};
    gpuc_map_set(&relax, f->y, &here);
    expect(f, gpuc_select(f->ctx, gpuc_eq(f->ctx, f->n, I(f, 1)), I(f, 0), f->y), &relax,
           "select(n == 1, 0, z)", "select(n == 1, 0, z)");
    expect(f, gpuc_select(f->ctx, gpuc_lt(f->ctx, f->y, f->n), f->y, sub(f, f->n, f->y)), &relax,
           "select(z < n, z, n - z)", "select(z < n, z, n - z)"); /* reflected */
    gpuc_map_set(&relax, f->y, &y);
    size_t mark = gpuc_arith_analyzer_assume(f->a, gpuc_le(f->ctx, I(f, 1), f->n));
    expect(f, add(f, mul(f, f->x, f->n), f->y), &relax, "0", "n * 8 - 1");
    gpuc_arith_analyzer_rewind(f->a, mark);
    gpuc_map_set(&relax, f->y, &open);
    expect(f, add(f, f->x, f->y), &relax, "-", "10");
    expect(f, f->z, &relax, "z", "z");
}

static void unions(fixture *f)
{
    gpuc_interval a = {f->x, addi(f, f->x, 3)}, b = {addi(f, f->x, 1), addi(f, f->x, 8)};
    gpuc_interval u = gpuc_arith_interval_union(f->a, a, b);
    assert_ptr_equal(u.min, f->x);
    assert_ptr_equal(u.max, addi(f, f->x, 8));
    u = gpuc_arith_interval_union(f->a, a, (gpuc_interval){NULL, f->x});
    assert_null(u.min);
}

const test_case interval_cases[] = {{"relax loops", relax_loops}, {"unions", unions}, {NULL, NULL}};
