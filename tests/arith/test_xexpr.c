/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

static void expect(fixture *f, gpuc_expr e, int64_t n, int64_t m, int64_t expected)
{
    const gpuc_expr symbols[] = {f->n, f->m};
    int64_t values[] = {n, m}, got;
    gpuc_xexpr x = gpuc_arith_to_xexpr(f->ctx, e, 2, symbols);
    assert_null(gpuc_abi_xexpr_verify(x, 2));
    assert_null(gpuc_abi_xexpr_eval(x, values, 2, &got));
    assert_int_equal(got, expected);
}

static void arithmetic(fixture *f)
{
    gpuc_ctx *c = f->ctx;
    expect(f, divi(f, addi(f, f->n, 63), 64), 100, 0, 2);
    expect(f, addi(f, f->n, -5), 3, 0, -2);
    expect(f, gpuc_select(c, gpuc_ne(c, f->n, f->m), f->n, mul(f, f->n, f->m)), 4, 4, 16);
    expect(f, gpuc_div(c, f->n, I(f, 4)), -7, 0, -1);
    expect(f, gpuc_mod(c, f->n, I(f, 4)), -7, 0, -3);
    expect(f, gpuc_div(c, f->n, I(f, 4)), 7, 0, 1);
    expect(f, gpuc_tir_make(c, GPUC_TIR_SHR, f->n, I(f, 2), NULL), -7, 0, -2);
    expect(f, gpuc_tir_make(c, GPUC_TIR_BITAND, f->n, I(f, 7), NULL), -7, 0, 1);
    expect(f, gpuc_call1(c, "abs", f->n), -7, 0, 7);
    expect(f, gpuc_max(c, gpuc_min(c, f->n, f->m), I(f, 2)), 9, 5, 5);
    expect(f, gpuc_cast(c, GPUC_INDEX, gpuc_cast(c, GPUC_INT32, f->n)), 9, 5, 9);
}

static void raise_for(gpuc_ctx *ctx, void *arg)
{
    gpuc_arith_to_xexpr(ctx, arg, 0, NULL);
}

static void refusals(fixture *f)
{
    gpuc_status s = gpuc_ctx_protect(f->ctx, raise_for, (void *)f->n);
    assert_int_equal(gpuc_status_code(s), GPUC_UNSUPPORTED);
    gpuc_status_release(s);
    s = gpuc_ctx_protect(f->ctx, raise_for, (void *)gpuc_imm(f->ctx, GPUC_FLOAT32, 1.5));
    assert_int_equal(gpuc_status_code(s), GPUC_UNSUPPORTED);
    gpuc_status_release(s);
}

const test_case xexpr_cases[] = {{"arithmetic", arithmetic}, {"refusals", refusals}, {NULL, NULL}};
