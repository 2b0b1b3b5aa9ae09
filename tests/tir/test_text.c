/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "random_ir.h"
#include "tir/print.h"
#include "tir/value.h"

static const char *canonical(gpuc_ctx *ctx, const gpuc_tir_func *f)
{
    gpuc_buf buf;
    gpuc_buf_init(&buf, ctx->allocator);
    gpuc_tir_print_canonical(ctx, &buf, f);
    char *text = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&buf));
    gpuc_buf_deinit(&buf);
    return text;
}

/* ---- Numbers ----------------------------------------------------------------------------------------- */

static const char *float_text(gpuc_ctx *ctx, gpuc_dtype t, double v)
{
    gpuc_buf buf;
    gpuc_buf_init(&buf, ctx->allocator);
    gpuc_tir_print_float(&buf, t, v);
    char *text = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&buf));
    gpuc_buf_deinit(&buf);
    return text;
}

static void numbers(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0, "0.0"},          {-0.0, "-0.0"},       {1, "1.0"},
                {0.1, "0.1"},        {100, "100.0"},       {1e15, "1000000000000000.0"},
                {1e16, "1.0e16"},    {1.5e-7, "1.5e-7"},   {0.00001, "0.00001"},
                {-2.5, "-2.5"},      {123.456, "123.456"}, {INFINITY, "inf"},
                {-INFINITY, "-inf"}, {NAN, "nan"},         {1e300, "1.0e300"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(float_text(ctx, GPUC_FLOAT64, rows[i].value), rows[i].text);
    assert_string_equal(float_text(ctx, GPUC_FLOAT32, 0.1f), "0.1");
    assert_string_equal(float_text(ctx, GPUC_FLOAT32, 0x1p-149), "1.0e-45");
    assert_string_equal(float_text(ctx, GPUC_FLOAT16, gpuc_tir_round(GPUC_FLOAT16, 0.1)), "0.1");
    rng r = {11};
    for (int k = 0; k < 20000; k++) {
        gpuc_dtype t = k % 4 == 0   ? GPUC_FLOAT32
                       : k % 4 == 1 ? GPUC_FLOAT64
                       : k % 4 == 2 ? GPUC_FLOAT16
                                    : GPUC_BFLOAT16;
        uint64_t bits = rng_next(&r);
        double v;
        memcpy(&v, &bits, sizeof v);
        if (k % 4) v = ldexp(v, 0);
        if (k % 8 > 3) v = ldexp((double)(int64_t)bits, rng_below(&r, 40) - 80);
        v = gpuc_tir_round(t, v);
        if (!isfinite(v)) continue;
        const char *text = float_text(ctx, t, fabs(v));
        assert_true(gpuc_tir_round(t, gpuc_tir_parse_float(ctx, text, strlen(text))) == fabs(v));
    }
}

/* ---- Round trips --------------------------------------------------------------------------------------- */

static void check_round_trip(gpuc_ctx *ctx, const gpuc_tir_func *f)
{
    const char *text = gpuc_tir_text(ctx, f);
    const gpuc_tir_func *g = gpuc_tir_parse(ctx, text, "text");
    assert_string_equal(gpuc_tir_text(ctx, g), text);
    assert_string_equal(canonical(ctx, g), canonical(ctx, f));
    gpuc_tir_validate(ctx, g, NULL);
}

static void one_random(gpuc_ctx *ctx, void *arg)
{
    gpuc_tir_func *f = random_func(ctx, *(const uint64_t *)arg);
    gpuc_tir_validate(ctx, f, "random");
    check_round_trip(ctx, f);
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        gpuc_ctx *ctx;
        assert_null(gpuc_ctx_create(NULL, &ctx));
        gpuc_status status = gpuc_ctx_protect(ctx, one_random, &seed);
        if (status) fail_msg("seed %d: %s", (int)seed, gpuc_status_message(status));
        gpuc_ctx_destroy(ctx);
    }
}

static const char everything[] =
    "func test(A: float32[n, m] global, B: float16[n*m + 1] global.texel strides(4), I: int32[n] global "
    "non_temporal, "
    "n: int64, "
    "m: int64, k: int32, s: float32) label \"say \\\"hi\\\"\" aliased subgroup 32 {\n"
    "  alloc S: float32[64, 8] shared strides(9, 1) double_buffer\n"
    "  for bx in 0..(n + 63) // 64 bind blockIdx.x {\n"
    "    for tx in 0..64 bind threadIdx.x {\n"
    "      if (bx*64 + tx < n) {\n"
    "        A[bx*64 + tx, 0] = S[tx, 0] + 1.0\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "  for i in 0..n parallel {\n"
    "    let x = A[i, 0]*2.0 - -1.5e-20\n"
    "    for j in 3..+m vectorized {\n"
    "      A[i, j] = x + float32(j)\n"
    "      I[i] = 5\n"
    "    }\n"
    "    for j: int32 in k..+4 unrolled {\n"
    "      I[j] = I[j - 1] + 3\n"
    "      if (k <= j && x >= 1.0 || isnan(x)) {\n"
    "        A[i, 1] = -x\n"
    "      } else if (k == 3) {\n"
    "        A[i, 2] = nan\n"
    "      } else {\n"
    "        A[i, 3] = -inf\n"
    "      }\n"
    "    }\n"
    "    barrier()\n"
    "  }\n"
    "  {\n"
    "    let y = n + 3\n"
    "    A[y, 2] = float32(B[y] + float16(0.1))\n"
    "  }\n"
    "  attr pragma \"unroll\" = 16 {\n"
    "    I[ramp(0, 2, 4)] = I[ramp(k, 1, 4)]*broadcast(3, 4) + vector(k, k, int32(0), k)\n"
    "  }\n"
    "  attr allreduce \"threadIdx.x\" with sum float32 {\n"
    "    A[0, 0] = A[1, 1]\n"
    "  }\n"
    "  attr allreduce \"threadIdx.y\" with argmax(a: float32, b: int32; c: float32, d: int32; max(a, c), "
    "select(c < a, b, "
    "d); -inf, "
    "int32(-1)) {\n"
    "    A[0, 0] = lane(A[1, ramp(k, 1, 4)], 2)\n"
    "    I[0] = int32(n)\n"
    "  }\n"
    "  I[k] = atomic_add(&I, 3, k) + reinterpret<int32>(s) + subgroup_shuffle(k, k - 1)\n"
    "  extern<float32>(\"foo\", A[0, 0])\n"
    "  extern(\"bar\", address(&A, 1, n), stride(&A, 0), const_address(&I, 2))\n"
    "  A[0, 0] = if_then_else(n != 0 && !(s < 2.0), A[n, 1], float32(n) / 3.0)\n"
    "}\n";

static void fixed_text(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const gpuc_tir_func *f = gpuc_tir_parse(ctx, everything, "everything");
    gpuc_tir_validate(ctx, f, NULL);
    assert_string_equal(gpuc_tir_text(ctx, f), everything);
    check_round_trip(ctx, f);
    static const char kernel[] = "func k(A: float32[n] global, n: int64) stage kernel launch (bx = "
                                 "blockIdx.x of (n + 63) // 64, tx: int32 = "
                                 "threadIdx.x of int32(64)) {\n"
                                 "  A[bx*64 + int64(tx)] = 0.0\n"
                                 "}\n";
    const gpuc_tir_func *g = gpuc_tir_parse(ctx, kernel, "kernel");
    gpuc_tir_validate(ctx, g, NULL);
    assert_string_equal(gpuc_tir_text(ctx, g), kernel);
    assert_string_equal(gpuc_tir_text(ctx, gpuc_tir_parse(ctx, "func empty() {}", "e")),
                        "func empty() {\n}\n");
}

/* What people write is read as the same thing. */
static void loose_text(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const char *loose = "# a comment\nfunc f(n: int64, A: float32[n] global,) {\n"
                        "  for i in 2..n { A[i] = 1 ; A[i - 2] = 2 } # more\n"
                        "  A[0] = (1.0 +\n 2.0 * s_(0))\n}\n";
    char *text = gpuc_ctx_strdup(ctx, loose);
    memcpy(strstr(text, "s_(0)"), "A[n]  ", 4);
    memcpy(strstr(text, "A[n])") + 4, " ", 1);
    const gpuc_tir_func *f = gpuc_tir_parse(ctx, text, "loose");
    assert_string_equal(gpuc_tir_text(ctx, f), "func f(A: float32[n] global, n: int64) {\n"
                                               "  for i in 2..+n - 2 {\n"
                                               "    A[i] = 1.0\n"
                                               "    A[i - 2] = 2.0\n"
                                               "  }\n"
                                               "  A[0] = A[n]*2.0 + 1.0\n"
                                               "}\n");
}

/* Terms that share much would be exponentially long if written out. */
static void shared_terms(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_tir_func *f =
        (gpuc_tir_func *)gpuc_tir_parse(ctx, "func f(A: float32[8] global, s: float32) {}", "shared");
    gpuc_expr x = f->scalars[0];
    for (int i = 0; i < 200; i++) x = gpuc_mul(ctx, gpuc_add(ctx, x, f->scalars[0]), x);
    gpuc_stmt one = gpuc_tir_store1(ctx, f->buffers[0], gpuc_int(ctx, 0), x);
    gpuc_expr cond = gpuc_lt(ctx, x, f->scalars[0]);
    gpuc_stmt other = gpuc_tir_if_(ctx, gpuc_not(ctx, cond), one, NULL);
    f->body = gpuc_tir_seq2(ctx, one, gpuc_tir_if_(ctx, cond, one, other));
    assert_true(strlen(gpuc_tir_text(ctx, f)) < 40000);
    check_round_trip(ctx, f);
    assert_true(strlen(gpuc_expr_text(ctx, x)) < 10000);
}

static void names(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr x[4] = {gpuc_var(ctx, "x", GPUC_INT64), gpuc_var(ctx, "x", GPUC_INT64),
                      gpuc_var(ctx, "exp", GPUC_INT64), gpuc_var(ctx, "blockIdx.x", GPUC_INT64)};
    assert_text(ctx, gpuc_sub(ctx, gpuc_sub(ctx, gpuc_sub(ctx, x[0], x[1]), x[2]), x[3]),
                "x - x_1 - exp_1 - blockIdx.x");
    assert_string_equal(gpuc_tir_identifier(ctx, "3 x..y."), "v3_x_.y_");
    assert_string_equal(gpuc_tir_identifier(ctx, ""), "v");
    assert_text(ctx, gpuc_sub(ctx, x[0], gpuc_sub(ctx, x[1], x[2])), "x - (x_1 - exp_1)");
    assert_text(ctx, gpuc_mul(ctx, gpuc_sub(ctx, x[0], x[1]), x[3]), "(x - x_1)*blockIdx.x");
    assert_text(ctx, gpuc_sub(ctx, gpuc_int(ctx, 0), gpuc_sub(ctx, x[0], x[1])), "-(x - x_1)");
}

/* ---- Errors -------------------------------------------------------------------------------------------- */

static void parse_text(gpuc_ctx *ctx, void *arg)
{
    gpuc_tir_parse(ctx, arg, "in.tir");
}

static void parse_errors(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
#define F "func f(A: float32[n] global, n: int64) {\n"
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "in.tir:1:1: 'func' is expected, but the text ends"},
        {"func", "in.tir:1:5: the name of the function is expected"},
        {"func f(", "in.tir:1:8: the list of parameters does not end"},
        {"func f() {", "in.tir:1:11: an expression is expected"},
        {"func f() {} x", "in.tir:1:13: the text goes on after the function"},
        {"func f() stage done {}", "in.tir:1:16: 'done' is not a stage"},
        {"func f(n: int63) {}", "in.tir:1:11: 'int63' is not a type"},
        {"func f(n: int64, n: int64) {}", "in.tir:1:18: 'n' is defined already"},
        {"func f(A: int8[3] heap) {}", "in.tir:1:19: 'heap' is not a storage scope"},
        {"func f(A: int8[3, 4] shared strides(3)) {}", "'A' has 2 dimensions and 1 strides"},
        {"func f(A: int8x4[3] shared) {}", "the buffer 'A' has elements of type int8x4"},
        {F "  A[i] = 1.0\n}", "in.tir:2:5: 'i' is not defined here"},
        {F "  A[0, 1] = 1.0\n}", "'A' has 1 dimensions and is accessed with 2 indices"},
        {F "  A[1.5] = 1.0\n}", "in.tir:2:10: index 0 of 'A' has type float32"},
        {F "  A[0] = n\n}", "the value stored to 'A' has type int64 (n), but float32 is wanted"},
        {F "  A[0] = 1.0 A[1] = 2.0\n}", "in.tir:2:14: a new line is expected"},
        {F "  A[0] = exp(1.0, 2.0)\n}", "in.tir:2:13: 'exp' takes 1 operands, not 2"},
        {F "  A[0] = 1.0 + n\n}", "operands of '+' have types float32 (1.0) and int64 (n)"},
        {F "  n = 3\n}", "in.tir:2:3: only an element of a buffer can be stored to"},
        {F "  A[0] = A\n}", "'[' is expected"},
        {F "  for for in 0..3 {}\n}", "'for' is a word of the language, not a name"},
        {F "  for n in 0..3 {}\n}", "in.tir:2:7: 'n' is defined already"},
        {F "  for i in 0..3 bind warpIdx.x {}\n}", "'warpIdx.x' is not a thread axis"},
        {F "  for i in 0..3 { A[i] = 0.0 }\n  A[i] = 0.0\n}", "in.tir:3:5: 'i' is not defined here"},
        {F "  let x = 99999999999999999999\n}", "the integer does not fit in 64 bits"},
        {F "  let x = 9999999999999999999\n}", "the integer does not fit in int64"},
        {F "  let x = 3n\n}", "a number runs into a name"},
        {F "  A[0] = \"x\n}", "the string does not end on its line"},
        {F "  A[0] = \"x\ny\"\n}", "in.tir:2:10: the string does not end on its line"},
        {F "  A[0] = 3 $ 4\n}", "in.tir:2:12: this character has no meaning here"},
        {F "  A[0] = %1\n}", "%1 is not defined"},
        {F "  %2 = n\n}", "abbreviations are numbered in order; the next is %1"},
        {F "  A[0] = lane(ramp(n, 1, 4), 4)\n}", "lane 4 of int64x4"},
        {F "  A[0] = subgroup_add(&B, n)\n}", "there is no buffer 'B' here"},
        {F "  attr allreduce with total float32 { A[0] = 1.0 }\n}", "there is no reducer 'total' of float32"},
        {F "  attr allreduce with m(a: int8; b: int8; a, b; int8(0)) { A[0] = 1.0 }\n}", "differ in number"},
        {F "  if n { A[0] = 1.0 }\n}", "the condition of an if has type int64 (n)"},
        {F "  A[0] = 1.0 }\n}", "in.tir:3:1: the text goes on after the function"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gpuc_code code = strstr(cases[i].message, "in.tir") ? GPUC_INVALID_DATA : GPUC_OK;
        gpuc_status status = gpuc_ctx_protect(ctx, parse_text, (void *)cases[i].text);
        const char *message = gpuc_status_message(status);
        if (!status || !strstr(message, cases[i].message) || strncmp(message, "in.tir:", 7) != 0)
            fail_msg("expected '%s', got '%s'", cases[i].message, message);
        if (code && gpuc_status_code(status) != code && gpuc_status_code(status) != GPUC_INVALID_ARGUMENT)
            fail_msg("'%s' has the code %s", message, gpuc_code_name(gpuc_status_code(status)));
        gpuc_status_release(status);
    }
}

static void deep_text(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    enum { DEEP = 100000 };
    static const struct {
        const char *open, *message;
    } cases[] = {{"(", "deep"},    {"-", "deep"},  {"!", "deep"},
                 {"exp(", "deep"}, {"A[", "deep"}, {"1.0*(", "deep"}};
    char *text = gpuc_ctx_alloc(ctx, DEEP * 8 + 200);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        strcpy(text, F "  A[0] = ");
        char *p = text + strlen(text);
        for (int k = 0; k < DEEP; k++) p = stpcpy(p, cases[i].open);
        expect_raise(ctx, parse_text, text, GPUC_INVALID_DATA, cases[i].message);
    }
    static const char *const openers[] = {"{", "if (n < 3) {", "for i in 0..3 {", "attr pragma {"};
    for (size_t i = 0; i < sizeof openers / sizeof openers[0]; i++) {
        char *big = gpuc_ctx_alloc(ctx, DEEP * 24 + 200), *p = stpcpy(big, F);
        for (int k = 0; k < DEEP; k++)
            p = i == 2 ? p + sprintf(p, "for i%d in 0..3 {", k) : stpcpy(p, openers[i]);
        expect_raise(ctx, parse_text, big, GPUC_INVALID_DATA, "deep");
    }
    char *chain = gpuc_ctx_alloc(ctx, DEEP * 40 + 200), *q = stpcpy(chain, F);
    for (int k = 0; k < DEEP; k++) q = stpcpy(q, "if (n < 3) { A[0] = 0.0 } else ");
    stpcpy(q, "{ A[0] = 0.0 } }");
    expect_raise(ctx, parse_text, chain, GPUC_INVALID_DATA, "deep");
}

/* Depth that builders allow prints and parses. */
static void deepest_text(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_tir_func *f =
        (gpuc_tir_func *)gpuc_tir_parse(ctx, "func f(A: float32[8] global, s: float32) {}", "deep");
    gpuc_expr x = f->scalars[0];
    while (x->depth < GPUC_TIR_MAX_DEPTH - 1) x = gpuc_sub(ctx, f->scalars[0], x);
    gpuc_stmt s = gpuc_tir_store1(ctx, f->buffers[0], gpuc_int(ctx, 0), x);
    while (s->depth < GPUC_TIR_MAX_NESTING)
        s = s->depth % 2 ? gpuc_tir_let(ctx, gpuc_var(ctx, "t", GPUC_FLOAT32), f->scalars[0], s)
                         : gpuc_tir_attr(ctx, "pragma", "x", NULL, NULL, s);
    f->body = s;
    check_round_trip(ctx, f);
    gpuc_expr y = gpuc_var(ctx, "y", GPUC_FLOAT32);
    assert_ptr_not_equal(gpuc_tir_substitute_stmt(ctx, s, 1, f->scalars, &y), s);
}

/* Any damage gives an error or a function, never worse. */
static void mangled_text(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    rng r = {21};
    char text[sizeof everything];
    for (int k = 0; k < 3000; k++) {
        memcpy(text, everything, sizeof text);
        for (int n = 1 + rng_below(&r, 3); n > 0; n--) {
            int at = rng_below(&r, (int)sizeof text - 1), from = rng_below(&r, (int)sizeof text - 1);
            int length = 1 + rng_below(&r, 6);
            if (at + length < (int)sizeof text && from + length < (int)sizeof text)
                memmove(text + at, everything + from, (size_t)length);
        }
        gpuc_status status = gpuc_ctx_protect(ctx, parse_text, text);
        if (status) assert_int_equal(strncmp(gpuc_status_message(status), "in.tir:", 7), 0);
        gpuc_status_release(status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ctx_test(numbers),      ctx_test(fixed_text),          ctx_test(loose_text), ctx_test(shared_terms),
        ctx_test(names),        ctx_test(parse_errors),        ctx_test(deep_text),  ctx_test(deepest_text),
        ctx_test(mangled_text), cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
