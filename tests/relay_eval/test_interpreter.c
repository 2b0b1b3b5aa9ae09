/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in the interpreter: what they give, and what is wrong with them. */
#include <time.h>

#include "../relay/fixture.h"

static gpuc_relay_value *run_with(gpuc_ctx *ctx, const char *text, const gpuc_relay_interpreter_desc *desc)
{
    gpuc_rmodule *m = gpuc_relay_parse(ctx, text, "text", NULL);
    return gpuc_relay_interpret(gpuc_relay_interpreter_create(ctx, m, desc), "main", 0, NULL);
}

static double element(const gpuc_relay_value *v, int i)
{
    assert_int_equal(gpuc_relay_value_get_kind(v), GPUC_RELAY_TENSOR);
    gpuc_dtype t = gpuc_relay_value_dtype(v);
    const char *at = (const char *)gpuc_relay_value_data(v) + (size_t)i * gpuc_dtype_bytes(t);
    if (t.code == GPUC_DTYPE_FLOAT) return gpuc_float_load(t, at);
    return t.bits == 8 ? *(const int8_t *)at : t.bits == 64 ? (double)*(const int64_t *)at : *(const int32_t *)at;
}

/* The number that @main gives. */
static double number(gpuc_ctx *ctx, const char *text)
{
    gpuc_relay_value *v = run_with(ctx, text, NULL);
    double out = element(v, 0);
    gpuc_relay_value_release(v);
    return out;
}

static const char list_text[] =
    "type List[A] { Cons(A, List[A]), Nil, }\n"
    "def @iota(%n: int32, %tail: List[int32]) -> List[int32] {\n"
    "  if (%n == 0) { %tail } else { @iota(%n - 1, Cons(%n, %tail)) } }\n"
    "def @map[A, B](%f: fn(A) -> B, %xs: List[A]) -> List[B] {\n"
    "  match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil } }\n"
    "def @foldl[A, B](%f: fn(A, B) -> A, %acc: A, %xs: List[B]) -> A {\n"
    "  match (%xs) { Cons(%x, %rest) => @foldl(%f, %f(%acc, %x), %rest), Nil => %acc } }\n"
    "def @compose[A, B, C](%f: fn(B) -> C, %g: fn(A) -> B) { fn (%x: A) -> C { %f(%g(%x)) } }\n"
    "def @end[A](%xs: List[A]) -> bool { match (%xs) { Cons(_, %r) => @end(%r), Nil => True } }\n";

static double with_lists(gpuc_ctx *ctx, const char *body)
{
    return number(ctx, gpuc_ctx_printf(ctx, "%s%s", list_text, body));
}

static void scalars(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_true(number(ctx, "def @main() { 1 + 2 * 3 }") == 7);
    assert_true(number(ctx, "def @main() { if (1f < 2f) { 3f } else { 4f } }") == 3);
    assert_true(number(ctx, "def @f(%n: int32) -> int32 { if (%n < 1) { 1 } else { %n * @f(%n - 1) } }\n"
                            "def @main() { @f(10) }") == 3628800);
    assert_true(number(ctx, "def @main() { ((1, 2f), (3, 4)).1.0 }") == 3);
}

static void functions(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    /* a closure that calls itself, and holds what is around it */
    assert_true(number(ctx, "def @main() { let %k = 3; let %f = fn (%n: int32) -> int32 {\n"
                            "  if (%n < 1) { %k } else { let %g = fn (%m: int32) { %f(%n - 1) + %m * %k }; %g(%n) } };\n"
                            "  %f(4) }") == 33);
    assert_true(number(ctx, "def @even(%n: int32) { if (%n == 0) { True } else { @odd(%n - 1) } }\n"
                            "def @odd(%n: int32) { if (%n == 0) { False } else { @even(%n - 1) } }\n"
                            "def @main() { if (@even(1001)) { 1 } else { 2 } }") == 2);
    assert_true(with_lists(ctx, "def @main() { @compose(fn (%x) { %x * 2f }, fn (%i: int32) { cast(%i, "
                                "dtype=\"float32\") + 1f })(4) }") == 10);
    /* functions and constructors as values */
    assert_true(with_lists(ctx, "type Box[A] { Box(A), }\n"
                                "def @open[A](%b: Box[A]) -> A { match (%b) { Box(%a) => %a } }\n"
                                "def @add(%a: int32, %b: int32) { %a + %b }\n"
                                "def @main() { @foldl(@add, 0, @map(@open, @map(Box, @iota(10, Nil)))) }") == 55);
}

static void patterns(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const char *text = "def @f(%p: (int32, List[(bool, int32)])) -> int32 {\n"
                       "  match (%p) { (_, Cons((_, %n), Cons((_, %m), _))) => %n * %m, (%k, Cons((_, %n), Nil)) => %n - %k,\n"
                       "    (%n, %rest) => %n } }\n";
    const char *const args[] = {"(1, Nil)", "(2, Cons((True, 7), Nil))", "(2, Cons((True, 7), Cons((False, 8), Nil)))"};
    static const double want[] = {1, 5, 56};
    for (int i = 0; i < 3; i++)
        assert_true(with_lists(ctx, gpuc_ctx_printf(ctx, "%sdef @main() { @f(%s) }", text, args[i])) == want[i]);
}

/* A node that is used twice is computed once, and only where it is needed. */
static void shared_nodes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_true(number(ctx, "def @main() { %0 = 1 + 2; if (%0 < 4) { %1 = %0 * %0; %1 + %1 } else { %0 } }") == 18);
    assert_true(number(ctx, "def @loop(%n: int32) -> int32 { @loop(%n) }\n"
                            "def @main() { %0 = @loop(1); %1 = 5; if (%1 == 5) { %1 } else { %0 + %0 } }") == 5);
    /* 2^60 paths lead to the first node */
    gpuc_buf text;
    gpuc_buf_init(&text, ctx->allocator);
    gpuc_buf_str(&text, "def @main() { %0 = 1i64 + 0i64;");
    for (int i = 1; i < 61; i++)
        gpuc_buf_printf(&text, "%%%d = if (%%%d < 5i64) { %%%d + %%%d } else { %%%d - %%%d };", i, i - 1, i - 1, i - 1,
                        i - 1, i - 1);
    gpuc_buf_str(&text, "%60 + 1i64 }");
    double v = number(ctx, gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&text)));
    gpuc_buf_deinit(&text);
    assert_true(v >= 1);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void a_million_calls(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    double begin = seconds();
    assert_true(with_lists(ctx, "def @main() { @foldl(fn (%a, %b) { %a + %b - %a }, 0, @iota(1000000, Nil)) }") ==
                1000000);
    printf("iota and foldl of 10^6: %.2f s\n", seconds() - begin);
    begin = seconds();
    /* not at the end of the function: frames lie on each other */
    assert_true(number(ctx, "def @f(%n: int32) -> int32 { if (%n == 0) { 0 } else { 1 + @f(%n - 1) } }\n"
                            "def @main() { @f(1000000) }") == 1000000);
    printf("10^6 deep: %.2f s\n", seconds() - begin);
    gpuc_rmodule *m = gpuc_relay_parse(
        ctx, gpuc_ctx_printf(ctx, "%sdef @main(%%xs: List[int32]) { @end(%%xs) }\ndef @make() { @iota(1000000, Nil) }", list_text), "text", NULL);
    gpuc_relay_interpreter *i = gpuc_relay_interpreter_create(ctx, m, NULL);
    gpuc_relay_value *xs = gpuc_relay_interpret(i, "make", 0, NULL);
    begin = seconds();
    gpuc_relay_value *v = gpuc_relay_interpret(i, "main", 1, &xs);
    printf("10^6 calls with a match: %.2f s\n", seconds() - begin);
    assert_true(element(v, 0) == 1);
    gpuc_relay_value_release(v);
    gpuc_relay_value_release(xs);
}

static void run_text(gpuc_ctx *ctx, void *arg)
{
    number(ctx, arg);
}

static void run_small(gpuc_ctx *ctx, void *arg)
{
    gpuc_relay_interpreter_desc d = GPUC_RELAY_INTERPRETER_DESC_INIT;
    d.max_bytes = 1 << 20;
    d.max_calls = 1000000;
    run_with(ctx, arg, &d);
}

static void limits(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    fx_expect(ctx, GPUC_OUT_OF_MEMORY, "text:2:|calls|does the recursion end?|  @f(%n) }\n", run_text,
              "def @f(%n: int32) -> int32 {\n  @f(%n) }\ndef @main() { @f(1) }");
    fx_expect(ctx, GPUC_OUT_OF_MEMORY, "text:3:|out of memory|at most 1048576|is a list without end?", run_small,
              "type L { C(int32, L), E, }\n"
              "def @f(%l: L) -> L {\n  @f(C(1, %l)) }\ndef @main() { @f(E) }");
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "text:2:|no clause fits the value, made by Nil", run_text,
              "type List { Cons(int32, List), Nil, }\n"
              "def @hd(%l: List) -> int32 { match? (%l) { Cons(%x, _) => %x } }\ndef @main() { @hd(Nil) }");
}

int main(void)
{
    const struct CMUnitTest tests[] = {fx_test(scalars),      fx_test(functions),       fx_test(patterns),
                                       fx_test(shared_nodes), fx_test(a_million_calls), fx_test(limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
