/* SPDX-License-Identifier: Apache-2.0 */
#include "../base/test_heap.h"

#include "abi/expr.h"
#include "abi/scope.h"
#include "base/size.h"

#define C(v)                                                                                                 \
    {                                                                                                        \
        GPUC_XOP_CONST, (v)                                                                                  \
    }
#define D(n)                                                                                                 \
    {                                                                                                        \
        GPUC_XOP_DIM, (n)                                                                                    \
    }
#define O(op)                                                                                                \
    {                                                                                                        \
        GPUC_XOP_##op, 0                                                                                     \
    }
#define EXPR(...)                                                                                            \
    ((gpuc_xexpr){.code = (const gpuc_xinstr[]){__VA_ARGS__},                                                \
                  .count = sizeof((gpuc_xinstr[]){__VA_ARGS__}) / sizeof(gpuc_xinstr)})

static const int64_t symbols[] = {10, 0, -7, INT64_MAX, INT64_MIN};
#define NUM_SYMBOLS 5

static void evals_to(gpuc_xexpr e, int64_t want)
{
    int64_t v;
    expect_success(gpuc_abi_xexpr_verify(e, NUM_SYMBOLS));
    expect_success(gpuc_abi_xexpr_eval(e, symbols, NUM_SYMBOLS, &v));
    assert_true(v == want);
}

static void eval_fails(gpuc_xexpr e, const char *part)
{
    int64_t v = 5;
    expect_success(gpuc_abi_xexpr_verify(e, NUM_SYMBOLS));
    expect_failure(gpuc_abi_xexpr_eval(e, symbols, NUM_SYMBOLS, &v), GPUC_INVALID_ARGUMENT, part);
    assert_true(v == 0);
}

static void operations(void **state)
{
    (void)state;
    evals_to((gpuc_xexpr){0}, 0);
    evals_to(EXPR(C(-3)), -3);
    evals_to(EXPR(D(0), C(63), O(ADD), C(64), O(FLOORDIV)), 1);
    evals_to(EXPR(D(2), C(2), O(FLOORDIV)), -4);
    evals_to(EXPR(D(2), C(2), O(FLOORMOD)), 1);
    evals_to(EXPR(D(2), C(-2), O(FLOORDIV)), 3);
    evals_to(EXPR(D(2), C(-2), O(FLOORMOD)), -1);
    evals_to(EXPR(D(4), C(-1), O(FLOORMOD)), 0);
    evals_to(EXPR(D(0), D(2), O(SUB)), 17);
    evals_to(EXPR(D(0), D(2), O(MUL)), -70);
    evals_to(EXPR(D(0), D(2), O(MIN)), -7);
    evals_to(EXPR(D(0), D(2), O(MAX)), 10);
    evals_to(EXPR(D(0), C(10), O(EQ)), 1);
    evals_to(EXPR(D(0), C(10), O(LT)), 0);
    evals_to(EXPR(D(0), C(10), O(LE)), 1);
    evals_to(EXPR(C(5), C(0), O(AND)), 0);
    evals_to(EXPR(C(5), C(6), O(AND)), 1);
    evals_to(EXPR(C(0), C(6), O(OR)), 1);
    evals_to(EXPR(C(0), O(NOT)), 1);
    evals_to(EXPR(C(9), O(NOT)), 0);
    evals_to(EXPR(D(0), C(1), C(2), O(SELECT)), 1);
    evals_to(EXPR(D(1), C(1), C(2), O(SELECT)), 2);
}

static void overflow_and_division_are_errors(void **state)
{
    (void)state;
    eval_fails(EXPR(D(3), C(1), O(ADD)), "s3 + 1 has a result that exceeds 64 bits");
    eval_fails(EXPR(D(4), C(1), O(SUB)), "64 bits");
    eval_fails(EXPR(D(3), C(2), O(MUL)), "64 bits");
    eval_fails(EXPR(D(4), C(-1), O(FLOORDIV)), "64 bits");
    eval_fails(EXPR(C(1), D(1), O(FLOORDIV)), "1 // s1 has a division by zero");
    eval_fails(EXPR(C(1), D(1), O(FLOORMOD)), "remainder by zero");
    eval_fails(EXPR(C(1), D(1), O(FLOORDIV), C(5), O(ADD)), "division by zero");
    eval_fails(EXPR(C(1), D(1), O(FLOORDIV), O(NOT)), "division by zero");
    eval_fails(EXPR(C(1), D(1), O(FLOORDIV), C(1), C(2), O(SELECT)), "division by zero");
}

static void what_is_not_taken_does_not_fail(void **state)
{
    (void)state;
    evals_to(EXPR(D(1), C(0), O(EQ), C(7), C(1), D(1), O(FLOORDIV), O(SELECT)), 7);
    evals_to(EXPR(D(1), C(1), D(1), O(FLOORDIV), O(AND)), 0);
    evals_to(EXPR(D(0), C(1), D(1), O(FLOORDIV), O(OR)), 1);
    eval_fails(EXPR(D(1), C(1), O(EQ), C(7), C(1), D(1), O(FLOORDIV), O(SELECT)), "division by zero");
}

static void unsound_code_is_refused(void **state)
{
    (void)state;
    const struct {
        gpuc_xexpr e;
        const char *part;
    } cases[] = {
        {EXPR(O(ADD)), "lacks an operand"},
        {EXPR(C(1), O(ADD)), "lacks an operand"},
        {EXPR(C(1), C(2), O(SELECT)), "lacks an operand"},
        {EXPR(C(1), C(2)), "leaves 2 results"},
        {EXPR(D(5)), "symbol 5 of 5"},
        {EXPR(D(-1)), "symbol -1"},
        {EXPR({(gpuc_xop)99, 0}), "unknown operation 99"},
    };
    int64_t v;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_failure(gpuc_abi_xexpr_verify(cases[i].e, NUM_SYMBOLS), GPUC_INVALID_DATA, cases[i].part);
        expect_failure(gpuc_abi_xexpr_eval(cases[i].e, symbols, NUM_SYMBOLS, &v), GPUC_INVALID_DATA,
                       cases[i].part);
        assert_false(cases[i].e.code[0].op != GPUC_XOP_DIM && gpuc_abi_xexpr_is_const(cases[i].e, &v));
    }
    gpuc_xinstr deep[GPUC_XEXPR_MAX_STACK + 1];
    for (int i = 0; i <= GPUC_XEXPR_MAX_STACK; i++) deep[i] = (gpuc_xinstr)C(1);
    gpuc_xexpr e = {.code = deep, .count = GPUC_XEXPR_MAX_STACK + 1};
    expect_failure(gpuc_abi_xexpr_verify(e, 0), GPUC_INVALID_DATA, "open at once");
    expect_failure(gpuc_abi_xexpr_eval(e, NULL, 0, &v), GPUC_INVALID_DATA, "open at once");
}

static void constants_are_found(void **state)
{
    (void)state;
    int64_t v;
    assert_true(gpuc_abi_xexpr_is_const((gpuc_xexpr){0}, &v) && v == 0);
    assert_true(gpuc_abi_xexpr_is_const(EXPR(C(2), C(3), O(MUL)), &v) && v == 6);
    assert_false(gpuc_abi_xexpr_is_const(EXPR(D(0)), &v));
    assert_false(gpuc_abi_xexpr_is_const(EXPR(C(1), C(0), O(FLOORDIV)), &v));
}

static void expect_text(gpuc_xexpr e, const char *const *names, const char *want)
{
    gpuc_buf b;
    gpuc_buf_init(&b, (gpuc_allocator){0});
    gpuc_buf_str(&b, "> ");
    gpuc_abi_xexpr_print(&b, e, names);
    assert_string_equal(gpuc_buf_cstr(&b) + 2, want);
    gpuc_buf_deinit(&b);
}

static void printing(void **state)
{
    (void)state;
    static const char *const names[] = {"n", "m", "k", "p", "q"};
    expect_text((gpuc_xexpr){0}, names, "0");
    expect_text(EXPR(D(0), C(63), O(ADD), C(64), O(FLOORDIV)), names, "(n + 63) // 64");
    expect_text(EXPR(D(0), C(63), C(64), O(FLOORDIV), O(ADD)), NULL, "s0 + 63 // 64");
    expect_text(EXPR(D(0), D(1), O(SUB), D(2), O(SUB)), names, "n - m - k");
    expect_text(EXPR(D(0), D(1), D(2), O(SUB), O(SUB)), names, "n - (m - k)");
    expect_text(EXPR(D(0), C(-1), O(MUL)), names, "n * -1");
    expect_text(EXPR(D(0), D(1), O(EQ), C(0), D(2), D(1), O(MIN), O(SELECT)), names,
                "select(n == m, 0, min(k, m))");
    expect_text(EXPR(D(0), D(1), O(LT), D(1), D(2), O(LE), O(AND), O(NOT)), names, "!(n < m && m <= k)");
    expect_text(EXPR(D(0), D(1), O(OR), D(2), O(AND)), names, "(n || m) && k");
    expect_text(EXPR(D(0), D(1), O(EQ), D(2), O(EQ)), names, "(n == m) == k");
    expect_text(EXPR(D(0), D(1), O(ADD), D(2), D(3), O(MAX), O(FLOORMOD)), names, "(n + m) % max(k, p)");
    expect_text(EXPR(O(ADD)), names, "<unsound expression of 1 instructions>");
}

static gpuc_status read_back(gpuc_xexpr e, uint32_t num_symbols, gpuc_arena *arena, gpuc_xexpr *out)
{
    gpuc_buf b;
    gpuc_buf_init(&b, (gpuc_allocator){0});
    gpuc_abi_xexpr_write(&b, e);
    gpuc_reader r = {.data = (const uint8_t *)b.data, .size = b.size};
    gpuc_status status = gpuc_abi_xexpr_read(&r, arena, num_symbols, out);
    assert_true(status || r.pos == r.size);
    for (size_t n = 0; n < b.size; n++) {
        gpuc_reader cut = {.data = (const uint8_t *)b.data, .size = n};
        gpuc_xexpr part;
        gpuc_status s = gpuc_abi_xexpr_read(&cut, arena, num_symbols, &part);
        assert_non_null(s);
        gpuc_status_release(s);
    }
    gpuc_buf_deinit(&b);
    return status;
}

static void writing_and_reading(void **state)
{
    (void)state;
    gpuc_arena arena;
    gpuc_arena_init(&arena, (gpuc_allocator){0});
    gpuc_xexpr e = EXPR(D(0), C(INT64_MIN), O(MAX), D(4), C(-1), O(SELECT)), back;
    expect_success(read_back(e, NUM_SYMBOLS, &arena, &back));
    assert_int_equal(back.count, e.count);
    for (uint32_t i = 0; i < e.count; i++)
        assert_true(back.code[i].op == e.code[i].op && back.code[i].value == e.code[i].value);
    expect_failure(read_back(e, 4, &arena, &back), GPUC_INVALID_DATA, "symbol 4 of 4");
    expect_success(read_back((gpuc_xexpr){0}, 0, &arena, &back));
    assert_int_equal(back.count, 0);
    gpuc_arena_deinit(&arena);
}

/* Random sound expressions against a direct evaluation in 128 bits. */
static uint64_t seed = 1;
static uint32_t rnd(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % n;
}

static void random_arithmetic(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        gpuc_xinstr code[64];
        __int128 stack[64];
        uint32_t n = 0, depth = 0;
        bool overflow = false;
        while (n < 60 || depth > 1) {
            if (depth < 2 || (n < 40 && rnd(2))) {
                int64_t v = rnd(4) ? (int64_t)rnd(1000) - 500 : (int64_t)(UINT64_C(1) << (32 + rnd(31)));
                stack[depth++] = v;
                code[n++] = (gpuc_xinstr)C(v);
                continue;
            }
            gpuc_xop op = (gpuc_xop)(GPUC_XOP_ADD + rnd(3));
            __int128 b = stack[--depth], a = stack[depth - 1];
            __int128 r = op == GPUC_XOP_ADD ? a + b : op == GPUC_XOP_SUB ? a - b : a * b;
            if (r > INT64_MAX || r < INT64_MIN) {
                overflow = true;
                r = 0;
            }
            stack[depth - 1] = r;
            code[n++] = (gpuc_xinstr){op, 0};
        }
        int64_t v;
        gpuc_status status = gpuc_abi_xexpr_eval((gpuc_xexpr){.code = code, .count = n}, NULL, 0, &v);
        assert_int_equal(status != NULL, overflow);
        if (!status) assert_true(v == (int64_t)stack[0]);
        gpuc_status_release(status);
    }
}

static void scopes_and_tags_have_names(void **state)
{
    (void)state;
    for (int i = 0; i < GPUC_SCOPE_COUNT; i++) {
        gpuc_scope s;
        assert_true(gpuc_scope_parse(gpuc_scope_name((gpuc_scope)i), &s) && (int)s == i);
    }
    for (int i = 1; i < GPUC_THREAD_TAG_COUNT; i++) {
        gpuc_thread_tag t;
        assert_true(gpuc_thread_tag_parse(gpuc_thread_tag_name((gpuc_thread_tag)i), &t) && (int)t == i);
    }
    gpuc_scope s;
    gpuc_thread_tag t;
    assert_false(gpuc_scope_parse("globa", &s));
    assert_false(gpuc_thread_tag_parse("", &t));
    assert_string_equal(gpuc_scope_name(GPUC_SCOPE_TEXEL), "global.texel");
    assert_string_equal(gpuc_thread_tag_name(GPUC_THREAD_Y), "threadIdx.y");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations),
        cmocka_unit_test(overflow_and_division_are_errors),
        cmocka_unit_test(what_is_not_taken_does_not_fail),
        cmocka_unit_test(unsound_code_is_refused),
        cmocka_unit_test(constants_are_found),
        cmocka_unit_test(printing),
        cmocka_unit_test(writing_and_reading),
        cmocka_unit_test(random_arithmetic),
        cmocka_unit_test(scopes_and_tags_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
