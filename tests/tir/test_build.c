/* SPDX-License-Identifier: Apache-2.0 */
#include "tir_test.h"

#include <math.h>

#define I(n) gpuc_int(ctx, (n))

static void interning(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr x = gpuc_var(ctx, "x", GPUC_INT64), y = gpuc_var(ctx, "x", GPUC_INT64);
    assert_ptr_not_equal(x, y);
    assert_ptr_equal(gpuc_add(ctx, x, y), gpuc_add(ctx, x, y));
    assert_ptr_not_equal(gpuc_add(ctx, x, y), gpuc_add(ctx, y, x));
    assert_ptr_equal(I(7), gpuc_add(ctx, I(3), I(4)));
    assert_ptr_not_equal(gpuc_imm(ctx, GPUC_FLOAT32, 0.0), gpuc_imm(ctx, GPUC_FLOAT32, -0.0));
    assert_ptr_equal(gpuc_imm(ctx, GPUC_FLOAT32, NAN), gpuc_imm(ctx, GPUC_FLOAT32, -NAN));
    assert_ptr_not_equal(gpuc_imm(ctx, GPUC_FLOAT32, 1.0), gpuc_imm(ctx, GPUC_FLOAT64, 1.0));
    gpuc_tir_buffer *b = gpuc_tir_buffer_make(ctx, "b", GPUC_FLOAT32, 1, &x, GPUC_SCOPE_GLOBAL);
    gpuc_tir_buffer *c = gpuc_tir_buffer_make(ctx, "b", GPUC_FLOAT32, 1, &x, GPUC_SCOPE_GLOBAL);
    assert_ptr_equal(gpuc_tir_load1(ctx, b, y), gpuc_tir_load1(ctx, b, y));
    assert_ptr_not_equal(gpuc_tir_load1(ctx, b, y), gpuc_tir_load1(ctx, c, y));
    char name[] = "f";
    gpuc_expr call = gpuc_tir_call(ctx, GPUC_INT32, GPUC_TIR_CALL_EXTERN, name, NULL, 1, &x);
    name[0] = 'g';
    assert_ptr_equal(call, gpuc_tir_call(ctx, GPUC_INT32, GPUC_TIR_CALL_EXTERN, "f", NULL, 1, &x));
    assert_ptr_not_equal(call, gpuc_tir_call(ctx, GPUC_INT32, GPUC_TIR_CALL_EXTERN, name, NULL, 1, &x));
    assert_ptr_equal(gpuc_tir_reducer_get(ctx, "sum", GPUC_INT8),
                     gpuc_tir_reducer_get(ctx, "sum", GPUC_INT8));
}

static void sums(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr x = gpuc_var(ctx, "x", GPUC_INT64), y = gpuc_var(ctx, "y", GPUC_INT64);
    assert_text(ctx, gpuc_add(ctx, gpuc_add(ctx, x, I(1)), I(2)), "x + 3");
    assert_text(ctx, gpuc_sub(ctx, gpuc_add(ctx, x, I(1)), I(4)), "x - 3");
    assert_text(ctx, gpuc_add(ctx, I(5), x), "x + 5");
    assert_ptr_equal(gpuc_sub(ctx, gpuc_add(ctx, x, I(1)), I(1)), x);
    assert_text(ctx, gpuc_add(ctx, gpuc_sub(ctx, I(5), x), I(2)), "7 - x");
    assert_text(ctx, gpuc_sub(ctx, I(5), gpuc_add(ctx, x, I(7))), "-2 - x");
    assert_text(ctx, gpuc_sub(ctx, I(5), gpuc_sub(ctx, I(7), x)), "x - 2");
    assert_ptr_equal(gpuc_sub(ctx, x, x), I(0));
    assert_text(ctx, gpuc_sub(ctx, x, gpuc_sub(ctx, I(0), y)), "x + y");
    assert_text(ctx, gpuc_add(ctx, x, gpuc_sub(ctx, I(0), y)), "x - y");
    assert_text(ctx, gpuc_mul(ctx, gpuc_mul(ctx, I(3), x), I(4)), "x*12");
    assert_text(ctx, gpuc_min(ctx, gpuc_min(ctx, x, I(9)), I(4)), "min(x, 4)");
    assert_text(ctx, gpuc_eq(ctx, gpuc_add(ctx, x, I(3)), I(10)), "x == 7");
    assert_ptr_equal(gpuc_mul(ctx, x, I(0)), I(0));
    assert_ptr_equal(gpuc_mul(ctx, x, I(1)), x);
    assert_ptr_equal(gpuc_floormod_(ctx, x, I(1)), I(0));
    assert_ptr_equal(gpuc_floordiv_(ctx, x, I(1)), x);
    assert_ptr_equal(gpuc_div(ctx, x, I(0)), I(0));
}

static void floats(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr x = gpuc_var(ctx, "x", GPUC_FLOAT32);
    gpuc_expr zero = gpuc_imm(ctx, GPUC_FLOAT32, 0), minus_zero = gpuc_imm(ctx, GPUC_FLOAT32, -0.0);
    assert_text(ctx, gpuc_add(ctx, x, zero), "x + 0.0");
    assert_ptr_equal(gpuc_add(ctx, x, minus_zero), x);
    assert_ptr_equal(gpuc_add(ctx, minus_zero, x), x);
    assert_ptr_equal(gpuc_sub(ctx, x, zero), x);
    assert_text(ctx, gpuc_mul(ctx, x, zero), "x*0.0");
    assert_ptr_equal(gpuc_mul(ctx, I(1), x), x);
    assert_ptr_equal(gpuc_div(ctx, x, I(1)), x);
    assert_text(ctx, gpuc_sub(ctx, x, x), "x - x");
    assert_text(ctx, gpuc_eq(ctx, x, x), "x == x");
    assert_ptr_equal(gpuc_max(ctx, x, x), x);
    assert_text(ctx, gpuc_add(ctx, gpuc_add(ctx, x, I(1)), I(2)), "x + 1.0 + 2.0");
    assert_text(ctx, gpuc_not(ctx, gpuc_lt(ctx, x, zero)), "!(x < 0.0)");
    assert_text(ctx, gpuc_gt(ctx, x, zero), "x > 0.0");
    assert_text(ctx, gpuc_imm(ctx, GPUC_FLOAT32, 0.1), "0.1");
    assert_text(ctx, gpuc_imm(ctx, GPUC_FLOAT16, 0.1), "float16(0.1)");
    assert_true(gpuc_as_float(gpuc_imm(ctx, GPUC_FLOAT32, 0.1))->value == (double)0.1f);
    assert_true(isinf(gpuc_as_float(gpuc_imm(ctx, GPUC_FLOAT16, 70000))->value));
}

static void logic(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr x = gpuc_var(ctx, "x", GPUC_INT32), y = gpuc_var(ctx, "y", GPUC_INT32);
    gpuc_expr p = gpuc_lt(ctx, x, y), yes = gpuc_imm_int(ctx, GPUC_BOOL, 1),
              no = gpuc_imm_int(ctx, GPUC_BOOL, 0);
    assert_text(ctx, gpuc_not(ctx, p), "y <= x");
    assert_ptr_equal(gpuc_not(ctx, gpuc_not(ctx, p)), p);
    assert_ptr_equal(gpuc_and(ctx, p, yes), p);
    assert_ptr_equal(gpuc_and(ctx, no, p), no);
    assert_ptr_equal(gpuc_or(ctx, p, p), p);
    assert_ptr_equal(gpuc_eq(ctx, p, no), gpuc_not(ctx, p));
    assert_ptr_equal(gpuc_select(ctx, p, x, x), x);
    assert_ptr_equal(gpuc_select(ctx, yes, x, y), x);
    assert_ptr_equal(gpuc_if_then_else(ctx, no, x, y), y);
    assert_ptr_equal(gpuc_select(ctx, p, yes, no), p);
    assert_ptr_equal(gpuc_select(ctx, p, no, yes), gpuc_not(ctx, p));
    gpuc_expr q = gpuc_var(ctx, "q", GPUC_BOOL);
    assert_text(ctx, gpuc_select(ctx, gpuc_not(ctx, q), x, y), "select(q, y, x)");
    assert_ptr_equal(gpuc_le(ctx, x, x), yes);
    gpuc_expr u = gpuc_var(ctx, "u", GPUC_UINT8);
    assert_ptr_equal(gpuc_lt(ctx, u, I(0)), no);
    assert_ptr_equal(gpuc_le(ctx, u, I(255)), yes);
    assert_text(ctx, gpuc_lt(ctx, u, I(255)), "u < 255");
}

static void casts(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr x = gpuc_var(ctx, "x", GPUC_INT32), f = gpuc_var(ctx, "f", GPUC_FLOAT32);
    assert_ptr_equal(gpuc_cast(ctx, GPUC_INT32, x), x);
    assert_ptr_equal(gpuc_cast(ctx, GPUC_INT32, gpuc_cast(ctx, GPUC_INT64, x)), x);
    assert_text(ctx, gpuc_cast(ctx, GPUC_INT64, gpuc_cast(ctx, GPUC_INT8, x)), "int64(int8(x))");
    assert_text(ctx, gpuc_cast(ctx, GPUC_INT8, gpuc_cast(ctx, GPUC_INT16, x)), "int8(x)");
    assert_text(ctx, gpuc_cast(ctx, GPUC_FLOAT32, gpuc_cast(ctx, GPUC_FLOAT16, f)), "float32(float16(f))");
    assert_ptr_equal(gpuc_cast(ctx, GPUC_FLOAT32, gpuc_cast(ctx, GPUC_FLOAT64, f)), f);
    assert_ptr_equal(gpuc_cast(ctx, GPUC_INT8, gpuc_imm(ctx, GPUC_FLOAT32, 1000)),
                     gpuc_imm_int(ctx, GPUC_INT8, 127));
    assert_ptr_equal(gpuc_cast(ctx, GPUC_UINT8, gpuc_imm(ctx, GPUC_FLOAT32, -3)),
                     gpuc_imm_int(ctx, GPUC_UINT8, 0));
    assert_ptr_equal(gpuc_cast(ctx, GPUC_INT32, gpuc_imm(ctx, GPUC_FLOAT64, NAN)),
                     gpuc_imm_int(ctx, GPUC_INT32, 0));
    assert_ptr_equal(gpuc_cast(ctx, GPUC_INT8, I(300)), gpuc_imm_int(ctx, GPUC_INT8, 44));
    assert_text(ctx, gpuc_cast(ctx, GPUC_FLOAT32, gpuc_tir_broadcast(ctx, x, 4)), "broadcast(float32(x), 4)");
    assert_text(ctx, gpuc_cast(ctx, GPUC_INT8, gpuc_tir_ramp(ctx, x, I(1), 4)), "ramp(int8(x), 1, 4)");
    gpuc_expr bits = gpuc_imm_int(ctx, GPUC_UINT32, 0x3f800000);
    assert_ptr_equal(gpuc_tir_call(ctx, GPUC_FLOAT32, GPUC_TIR_CALL_REINTERPRET, NULL, NULL, 1, &bits),
                     gpuc_imm(ctx, GPUC_FLOAT32, 1));
}

static void vectors(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr x = gpuc_var(ctx, "x", GPUC_INT64), y = gpuc_var(ctx, "y", GPUC_INT64);
    gpuc_expr r = gpuc_tir_ramp(ctx, x, I(1), 4), b = gpuc_tir_broadcast(ctx, y, 4);
    gpuc_expr four = gpuc_tir_broadcast(ctx, I(4), 4);
    assert_text(ctx, gpuc_add(ctx, b, b), "broadcast(y + y, 4)");
    assert_text(ctx, gpuc_add(ctx, r, b), "ramp(x + y, 1, 4)");
    assert_text(ctx, gpuc_add(ctx, b, r), "ramp(y + x, 1, 4)");
    assert_text(ctx, gpuc_mul(ctx, r, four), "ramp(x*4, 4, 4)");
    assert_text(ctx, gpuc_mul(ctx, four, r), "ramp(x*4, 4, 4)");
    assert_text(ctx, gpuc_mul(ctx, r, b), "ramp(x, 1, 4)*broadcast(y, 4)");
    assert_text(ctx, gpuc_sub(ctx, b, r), "ramp(y - x, -1, 4)");
    assert_text(ctx, gpuc_sub(ctx, r, r), "broadcast(0, 4)");
    assert_text(ctx, gpuc_lt(ctx, r, b), "ramp(x, 1, 4) < broadcast(y, 4)");
    assert_text(ctx, gpuc_tir_lane(ctx, r, 3), "x + 3");
    assert_ptr_equal(gpuc_tir_lane(ctx, b, 2), y);
    assert_ptr_equal(gpuc_tir_ramp(ctx, x, I(0), 4), gpuc_tir_broadcast(ctx, x, 4));
    assert_ptr_equal(gpuc_tir_ramp(ctx, x, I(5), 1), x);
    gpuc_expr v = gpuc_var(ctx, "v", gpuc_dtype_with_lanes(GPUC_INT64, 2)), lanes[2], same[2] = {x, x};
    for (int i = 0; i < 2; i++) lanes[i] = gpuc_tir_lane(ctx, v, i);
    assert_ptr_equal(gpuc_tir_vector(ctx, 2, lanes), v);
    assert_ptr_equal(gpuc_tir_vector(ctx, 2, same), gpuc_tir_broadcast(ctx, x, 2));
    assert_ptr_equal(gpuc_tir_vector(ctx, 1, same), x);
    assert_true(gpuc_tir_is_const(four, 4));
    assert_true(gpuc_dtype_equal(gpuc_expr_dtype(gpuc_lt(ctx, r, b)), gpuc_dtype_with_lanes(GPUC_BOOL, 4)));
}

static void immediates(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr f = gpuc_var(ctx, "f", GPUC_FLOAT16), u = gpuc_var(ctx, "u", GPUC_UINT64);
    assert_text(ctx, gpuc_mul(ctx, f, I(2)), "f*float16(2.0)");
    assert_text(ctx, gpuc_add(ctx, u, I(2)), "u + 2");
    assert_text(ctx, gpuc_sub(ctx, u, I(2)), "u + uint64(18446744073709551614)");
    assert_text(ctx, gpuc_tir_max_value(ctx, GPUC_UINT64), "uint64(18446744073709551615)");
    assert_text(ctx, gpuc_tir_min_value(ctx, GPUC_INT64), "-9223372036854775808");
    assert_text(ctx, gpuc_tir_max_value(ctx, GPUC_BOOL), "true");
    assert_text(ctx, gpuc_tir_min_value(ctx, GPUC_BFLOAT16), "bfloat16(-inf)");
    int64_t v;
    assert_true(gpuc_expr_is_int(I(-3), &v));
    assert_int_equal(v, -3);
    assert_false(gpuc_expr_is_int(f, &v));
    assert_text(ctx, gpuc_call2(ctx, "pow", f, I(2)), "pow(f, float16(2.0))");
    assert_text(ctx, gpuc_call1(ctx, "bitnot", u), "bitnot(u)");
}

/* An effect is never dropped or merged away. */
static void effects(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr n = I(8), zero = I(0), one = gpuc_imm_int(ctx, GPUC_INT32, 1);
    gpuc_tir_buffer *b = gpuc_tir_buffer_make(ctx, "b", GPUC_INT32, 1, &n, GPUC_SCOPE_GLOBAL);
    gpuc_expr args[2] = {zero, one};
    gpuc_expr old = gpuc_tir_call(ctx, GPUC_INT32, GPUC_TIR_CALL_ATOMIC_ADD, NULL, b, 2, args);
    assert_true(old->flags & GPUC_TIR_HAS_EFFECT);
    assert_text(ctx, gpuc_mul(ctx, old, zero), "atomic_add(&b, 0, int32(1))*0");
    assert_text(ctx, gpuc_sub(ctx, old, old), "atomic_add(&b, 0, int32(1)) - atomic_add(&b, 0, int32(1))");
    assert_non_null(gpuc_tir_eval(ctx, old));
    assert_null(gpuc_tir_eval(ctx, one));
    assert_true(gpuc_add(ctx, zero, gpuc_var(ctx, "i", GPUC_INT64))->flags & GPUC_TIR_IS_INDEX);
    assert_false(gpuc_add(ctx, old, gpuc_var(ctx, "i", GPUC_INT32))->flags & GPUC_TIR_IS_INDEX);
    assert_true(gpuc_tir_load1(ctx, b, zero)->flags & GPUC_TIR_HAS_LOAD);
}

static void statements(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr n = I(8), i = gpuc_var(ctx, "i", GPUC_INT32);
    gpuc_tir_buffer *b = gpuc_tir_buffer_make(ctx, "b", GPUC_FLOAT32, 1, &n, GPUC_SCOPE_GLOBAL);
    gpuc_stmt s = gpuc_tir_store1(ctx, b, i, I(3)), t = gpuc_tir_store1(ctx, b, i, I(4));
    assert_text(ctx, gpuc_as_store(s)->value, "3.0");
    gpuc_stmt loop = gpuc_tir_for_(ctx, i, I(0), I(8), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, s);
    assert_true(gpuc_dtype_equal(gpuc_as_for(loop)->extent->dtype, GPUC_INT32));
    assert_null(gpuc_tir_for_(ctx, i, I(0), I(0), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, s));
    assert_null(gpuc_tir_for_(ctx, i, I(0), I(8), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, NULL));
    gpuc_expr cond = gpuc_lt(ctx, i, I(3));
    assert_ptr_equal(gpuc_tir_if_(ctx, gpuc_imm_int(ctx, GPUC_BOOL, 1), s, t), s);
    assert_ptr_equal(gpuc_tir_if_(ctx, gpuc_imm_int(ctx, GPUC_BOOL, 0), s, t), t);
    assert_null(gpuc_tir_if_(ctx, cond, NULL, NULL));
    assert_ptr_equal(gpuc_as_if(gpuc_tir_if_(ctx, cond, NULL, t))->cond, gpuc_not(ctx, cond));
    assert_null(gpuc_tir_seq(ctx, 0, NULL));
    gpuc_stmt three[3] = {gpuc_tir_seq2(ctx, s, t), NULL, loop};
    gpuc_stmt seq = gpuc_tir_seq(ctx, 3, three);
    assert_int_equal(gpuc_as_seq(seq)->n, 3);
    assert_ptr_equal(gpuc_as_seq(seq)->at[2], loop);
    assert_ptr_equal(gpuc_tir_seq2(ctx, seq, NULL), seq);
    assert_ptr_equal(gpuc_tir_seq2(ctx, NULL, loop), loop);
    assert_int_equal(seq->depth, 3);
}

/* ---- Errors -------------------------------------------------------------------------------------------- */

typedef struct bad_build {
    gpuc_expr a, b;
    const char *op;
} bad_build;

static void build_bad(gpuc_ctx *ctx, void *arg)
{
    const bad_build *c = arg;
    if (c->b)
        gpuc_call2(ctx, c->op, c->a, c->b);
    else
        gpuc_call1(ctx, c->op, c->a);
}

static void build_deep(gpuc_ctx *ctx, void *arg)
{
    gpuc_expr x = arg, e = x;
    for (int i = 0; i < 100000; i++) e = gpuc_mul(ctx, gpuc_add(ctx, e, x), e);
}

static void build_deep_stmt(gpuc_ctx *ctx, void *arg)
{
    gpuc_stmt s = arg;
    for (int i = 0; i < 100000; i++)
        s = gpuc_tir_for_(ctx, gpuc_var(ctx, "i", GPUC_INT64), I(0), I(2), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE,
                          s);
}

static void load_bad(gpuc_ctx *ctx, void *arg)
{
    gpuc_expr index[2] = {I(0), I(1)};
    gpuc_tir_load(ctx, arg, 2, index);
}

static void store_bad(gpuc_ctx *ctx, void *arg)
{
    gpuc_tir_store1(ctx, arg, I(0), gpuc_var(ctx, "d", GPUC_FLOAT64));
}

static void parse_nothing(gpuc_ctx *ctx, void *arg)
{
    gpuc_tir_parse(ctx, arg, "nothing");
}

static void errors(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr x = gpuc_var(ctx, "x", GPUC_INT32), f = gpuc_var(ctx, "f", GPUC_FLOAT32), n = I(8);
    gpuc_expr u = gpuc_var(ctx, "u", GPUC_UINT8), p = gpuc_var(ctx, "p", GPUC_BOOL);
    gpuc_expr v = gpuc_tir_broadcast(ctx, x, 4);
    const struct {
        bad_build build;
        const char *message;
    } cases[] = {
        {{x, f, "+"}, "operands of '+' have types int32 (x) and float32 (f): cast one of them"},
        {{x, v, "*"},
         "operands of '*' have types int32 (x) and int32x4 (broadcast(x, 4)): broadcast one of them"},
        {{u, I(256), "min"}, "the operand 256 of 'min' does not fit in uint8"},
        {{u, I(-1), "+"}, "the operand -1 of '+' does not fit in uint8"},
        {{p, I(1), "=="}, "operands of '==' have types bool (p) and int64 (1)"},
        {{f, f, "//"}, "'//' does not take an operand of type float32 (f)"},
        {{x, NULL, "exp"}, "'exp' does not take an operand of type int32 (x)"},
        {{x, NULL, "!"}, "'!' does not take an operand of type int32 (x)"},
        {{p, p, "+"}, "'+' does not take an operand of type bool (p)"},
        {{x, x, "nosuch"}, "there is no operator 'nosuch'"},
        {{x, x, "abs"}, "the operator 'abs' takes 1 operands, not 2"},
        {{NULL, NULL, "abs"}, "an operand of 'abs' is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_raise(ctx, build_bad, (void *)&cases[i].build, GPUC_INVALID_ARGUMENT, cases[i].message);
    expect_raise(ctx, build_deep, (void *)f, GPUC_UNSUPPORTED, "nested more than 2000 deep");
    gpuc_tir_buffer *b = gpuc_tir_buffer_make(ctx, "b", GPUC_FLOAT32, 1, &n, GPUC_SCOPE_GLOBAL);
    expect_raise(ctx, build_deep_stmt, (void *)gpuc_tir_store1(ctx, b, x, f), GPUC_UNSUPPORTED, "4000 deep");
    expect_raise(ctx, load_bad, b, GPUC_INVALID_ARGUMENT,
                 "'b' has 1 dimensions and is accessed with 2 indices");
    expect_raise(ctx, store_bad, b, GPUC_INVALID_ARGUMENT, "the value stored to 'b' has type float64 (d)");
    expect_raise(ctx, parse_nothing, NULL, GPUC_INVALID_ARGUMENT, "the text is NULL");
}

/* The same element of many tensors: a table of expressions that took these for one would be slow. */
static void hashes_of_reads(gpuc_ctx *ctx, void *arg)
{
    enum { TENSORS = 100 };
    (void)arg;
    static char tensors[TENSORS];
    gpuc_expr zero = I(0), reads[TENSORS];
    int same = 0;
    for (int i = 0; i < TENSORS; i++) {
        reads[i] = gpuc_tir_read(ctx, GPUC_FLOAT32, (struct gpuc_te_tensor *)&tensors[i], 1, &zero);
        for (int k = 0; k < i; k++) {
            assert_ptr_not_equal(reads[i], reads[k]);
            same += reads[i]->hash == reads[k]->hash;
        }
    }
    assert_true(same < 3);
    assert_ptr_equal(reads[7], gpuc_tir_read(ctx, GPUC_FLOAT32, gpuc_as_read(reads[7])->tensor, 1, &zero));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ctx_test(hashes_of_reads), ctx_test(interning),  ctx_test(sums),    ctx_test(floats),
        ctx_test(logic),           ctx_test(casts),      ctx_test(vectors), ctx_test(immediates),
        ctx_test(effects),         ctx_test(statements), ctx_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
