/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in the interpreter: what they give, and what is wrong with them. */
#include <pthread.h>
#include <time.h>

#include "../base/limited.h"
#include "../relay/fixture.h"
#include "relay_eval/eval.h"

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
    return t.bits == 8    ? *(const int8_t *)at
           : t.bits == 64 ? (double)*(const int64_t *)at
                          : *(const int32_t *)at;
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
    assert_true(
        number(ctx,
               "def @main() { let %k = 3; let %f = fn (%n: int32) -> int32 {\n"
               "  if (%n < 1) { %k } else { let %g = fn (%m: int32) { %f(%n - 1) + %m * %k }; %g(%n) } };\n"
               "  %f(4) }") == 33);
    assert_true(number(ctx, "def @even(%n: int32) { if (%n == 0) { True } else { @odd(%n - 1) } }\n"
                            "def @odd(%n: int32) { if (%n == 0) { False } else { @even(%n - 1) } }\n"
                            "def @main() { if (@even(1001)) { 1 } else { 2 } }") == 2);
    assert_true(with_lists(ctx, "def @main() { @compose(fn (%x) { %x * 2f }, fn (%i: int32) { cast(%i, "
                                "dtype=\"float32\") + 1f })(4) }") == 10);
    /* a variable of the same name around it */
    assert_true(number(ctx, "def @main() { let %y = 5; let %y = fn (%a: int32) { %a * 2 }(%y) + %y; %y }") ==
                15);
    /* functions and constructors as values */
    assert_true(with_lists(ctx,
                           "type Box[A] { Box(A), }\n"
                           "def @open[A](%b: Box[A]) -> A { match (%b) { Box(%a) => %a } }\n"
                           "def @add(%a: int32, %b: int32) { %a + %b }\n"
                           "def @main() { @foldl(@add, 0, @map(@open, @map(Box, @iota(10, Nil)))) }") == 55);
}

static void patterns(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const char *text = "def @f(%p: (int32, List[(bool, int32)])) -> int32 {\n"
                       "  match (%p) { (_, Cons((_, %n), Cons((_, %m), _))) => %n * %m, (%k, Cons((_, %n), "
                       "Nil)) => %n - %k,\n"
                       "    (%n, %rest) => %n } }\n";
    const char *const args[] = {"(1, Nil)", "(2, Cons((True, 7), Nil))",
                                "(2, Cons((True, 7), Cons((False, 8), Nil)))"};
    static const double want[] = {1, 5, 56};
    for (int i = 0; i < 3; i++)
        assert_true(with_lists(ctx, gpuc_ctx_printf(ctx, "%sdef @main() { @f(%s) }", text, args[i])) ==
                    want[i]);
}

/* Numbers as a type of their own. */
static void numerals(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_true(
        number(ctx,
               "type Nat { Z, S(Nat), }\n"
               "def @count(%n: Nat) -> int32 { match (%n) { S(%m) => 1 + @count(%m), Z => 0 } }\n"
               "def @double(%n: Nat) -> Nat { match (%n) { S(%m) => S(S(@double(%m))), Z => Z } }\n"
               "def @plus(%a: Nat, %b: Nat) -> Nat { match (%a) { S(%m) => S(@plus(%m, %b)), Z => %b } }\n"
               "def @main() { @count(@plus(@double(S(S(S(Z)))), S(Z))) * 100 + @count(Z) }") == 700);
}

/* The first clause that fits counts, and a variable or _ fits all. */
static void options(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const char *text = "type Option[A] { Some(A), None, }\n"
                       "def @or(%o: Option[int32], %d: int32) -> int32 {\n"
                       "  match (%o) { Some(%x) => %x, None => %d } }\n"
                       "def @any(%o: Option[int32]) { match (%o) { _ => 7, Some(%x) => %x } }\n"
                       "def @last(%o: Option[int32]) { match (%o) { Some(_) => 8, _ => 9 } }\n";
    assert_true(number(ctx, gpuc_ctx_printf(ctx, "%sdef @main() { @or(Some(5), 1) * 10 + @or(None, 2) }",
                                            text)) == 52);
    assert_true(
        number(ctx, gpuc_ctx_printf(ctx, "%sdef @main() { @any(Some(5)) * 10 + @any(None) }", text)) == 77);
    assert_true(
        number(ctx, gpuc_ctx_printf(ctx, "%sdef @main() { @last(Some(5)) * 10 + @last(None) }", text)) == 89);
}

/* A node that is used twice is computed once, and only where it is needed. */
static void shared_nodes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_true(
        number(ctx, "def @main() { %0 = 1 + 2; if (%0 < 4) { %1 = %0 * %0; %1 + %1 } else { %0 } }") == 18);
    assert_true(number(ctx,
                       "def @loop(%n: int32) -> int32 { @loop(%n) }\n"
                       "def @main() { %0 = @loop(1); %1 = 5; if (%1 == 5) { %1 } else { %0 + %0 } }") == 5);
    /* 2^60 paths lead to the first node */
    gpuc_buf text;
    gpuc_buf_init(&text, ctx->allocator);
    gpuc_buf_str(&text, "def @main() { %0 = 1i64 + 0i64;");
    for (int i = 1; i < 61; i++)
        gpuc_buf_printf(&text, "%%%d = if (%%%d < 5i64) { %%%d + %%%d } else { %%%d - %%%d };", i, i - 1,
                        i - 1, i - 1, i - 1, i - 1);
    gpuc_buf_str(&text, "%60 + 1i64 }");
    double v = number(ctx, gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&text)));
    gpuc_buf_deinit(&text);
    assert_true(v >= 1);
}

/* ---- Deep and long ---- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others use the machine, too */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#ifdef GPUC_SANITIZED
enum { STACK = 2 << 20, CALLS = 100000, LENGTH = 20000 };
#else
enum { STACK = 256 << 10, CALLS = 1000000, LENGTH = 100000 };
#endif

static void long_graphs(gpuc_ctx *ctx)
{
    enum { N = LENGTH };
    gpuc_buf text;
    gpuc_buf_init(&text, ctx->allocator);
    gpuc_buf_str(&text, "def @main() { %0 = 1 + 0; let %x0 = 0;");
    for (int i = 1; i <= N; i++) gpuc_buf_printf(&text, "%%%d = %%%d + 1;", i, i - 1);
    for (int i = 1; i <= N; i++) gpuc_buf_printf(&text, "let %%x%d = %%x%d + 1;", i, i - 1);
    gpuc_buf_printf(&text, "%%%d + %%x%d }", N, N);
    double got = number(ctx, gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&text)));
    gpuc_buf_deinit(&text);
    assert_true(got == 2 * N + 1);
    /* nodes that two others use, each */
    gpuc_buf_init(&text, ctx->allocator);
    gpuc_buf_str(&text, "def @main() { %0 = 1 + 0;");
    for (int i = 1; i <= N; i++) gpuc_buf_printf(&text, "%%%d = %%%d - %%%d / 2;", i, i - 1, i - 1);
    gpuc_buf_printf(&text, "%%%d }", N);
    got = number(ctx, gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&text)));
    gpuc_buf_deinit(&text);
    assert_true(got == 1);
}

/* On a small stack: neither calls nor lists nor graphs are recursion of C. */
static void deep_and_long(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_true(with_lists(ctx, gpuc_ctx_printf(ctx,
                                                "def @main() { @foldl(fn (%%a, %%b) { %%a + %%b - %%a }, 0, "
                                                "@map(fn (%%x) { %%x }, @iota(%d, Nil))) }",
                                                CALLS)) == CALLS);
    /* not at the end of the function: frames lie on each other */
    assert_true(
        number(ctx, gpuc_ctx_printf(
                        ctx,
                        "def @f(%%n: int32) -> int32 { if (%%n == 0) { 0 } else { 1 + @f(%%n - 1) } }\n"
                        "def @main() { @f(%d) }",
                        CALLS)) == CALLS);
    long_graphs(ctx);
}

static void *run_thread(void *arg)
{
    gpuc_ctx *ctx;
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, deep_and_long, NULL);
    gpuc_ctx_destroy(ctx);
    *(gpuc_status *)arg = status;
    return NULL;
}

static void a_small_stack(gpuc_ctx *ctx, void *arg)
{
    pthread_attr_t attr;
    pthread_t thread;
    gpuc_status status = NULL;
    (void)arg;
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, run_thread, &status), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    GPUC_RAISE_IF(ctx, status);
}

static void speed(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m =
        gpuc_relay_parse(ctx,
                         gpuc_ctx_printf(ctx,
                                         "%sdef @main(%%xs: List[int32]) { @end(%%xs) }\n"
                                         "def @make() { @iota(%d, Nil) }\n"
                                         "def @loop(%%n: int32) -> int32 { if (%%n < 1) { 7 } else { "
                                         "@loop(%%n - 1) } }\ndef @two() { @loop(%d) }",
                                         list_text, CALLS, CALLS),
                         "text", NULL);
    gpuc_relay_interpreter *i = gpuc_relay_interpreter_create(ctx, m, NULL);
    gpuc_relay_value *xs = gpuc_relay_interpret(i, "make", 0, NULL);
    double begin = seconds();
    gpuc_relay_value *v = gpuc_relay_interpret(i, "main", 1, &xs);
    double match = seconds() - begin;
    assert_true(element(v, 0) == 1);
    gpuc_relay_value_release(v);
    gpuc_relay_value_release(xs);
    begin = seconds();
    v = gpuc_relay_interpret(i, "two", 0, NULL);
    double two = seconds() - begin;
    assert_true(element(v, 0) == 7);
    gpuc_relay_value_release(v);
    printf("%d calls: with a match %.2f s, with two scalar operators %.2f s\n", CALLS, match, two);
#ifndef GPUC_SANITIZED
    assert_true(match < 4 && two < 12); /* twice what is aimed at */
#endif
}

/* ---- Operators ---- */

static void operators(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char section[] =
        "\n#[constants]\nTensor[(3, 2), float32] \"AAAAAAAAgD8AAABAAABAQAAAgEAAAKBA\"\n"
        "Tensor[(2), float32] \"AACAPwAAAEA=\"\n";
#define X "meta[relay.Constant][0]"
#define B "meta[relay.Constant][1]"
#define HALVES "cast(" X ", dtype=\"int32\") - 3"
#define X3 "(take(" X ", 1i64, axis=1) * 0.5f)"
#define QDENSE                                                                                               \
    "qnn.dense(cast(" X ", dtype=\"int8\"), cast(strided_slice(" X ", begin=[0, 0], end=[2, 2]), "           \
    "dtype=\"int8\"), 1, 0, 1f, 1f)"
    static const struct {
        const char *expr, *json;
    } rows[] = {
        {"nn.bias_add(" X ", " B ")", "[[1, 3], [3, 5], [5, 7]]"}, /* has no definition of its own */
        {"nn.layer_norm(" X ", " B ", " B ", epsilon=0f)", "[[0, 4], [0, 4], [0, 4]]"},
        {"nn.dropout(" X ")", "[[0, 1], [2, 3], [4, 5]]"}, /* is its input */
        {"split(" X ", indices_or_sections=2, axis=1).1", "[[1], [3], [5]]"},
        {"concatenate((" X ", " X "), axis=1)", "[[0, 1, 0, 1], [2, 3, 2, 3], [4, 5, 4, 5]]"},
        {"nn.dense(" X ", " X ")", "[[1, 3, 5], [3, 13, 23], [5, 23, 41]]"}, /* one tensor twice */
        {"sum(trilu(" X "), axis=[0])", "[0, 4]"},
        {QDENSE, "[[0, -2], [2, 8], [4, 18]]"},
        {"nn.bias_add(" QDENSE ", cast(" B ", dtype=\"int32\"))", "[[1, 0], [3, 10], [5, 20]]"},
        {"qnn.requantize(" QDENSE ", 0.5f, 3i8)", "[[3, 2], [4, 7], [5, 12]]"},
        {"qnn.requantize(qnn.batch_matmul(cast(reshape(" X ", newshape=[1, 3, 2]), dtype=\"int8\"), "
         "cast(reshape(" X ", newshape=[1, 2, 3]), dtype=\"int8\"), 1, 0, 1f, 1f), 0.5f, 3i8)",
         "[[[3, 3, 2], [6, 7, 9], [9, 13, 16]]]"},
        {"qnn.concatenate((nn.relu(cast(" B ", dtype=\"int8\")), cast(" B
         ", dtype=\"int8\")), 1f, 1f, 0, 0, 1f, 0)",
         "[1, 2, 1, 2]"},
        {"shape_of(" X ", dtype=\"int64\")", "[3, 2]"},
        {"reshape(" X ", newshape=[2, -1])", "[[0, 1, 2], [3, 4, 5]]"},
        {"max(" X ")", "5"},
        {"nn.softmax(zeros_like(" B "))", "[0.5, 0.5]"},
        {"cast(-1, dtype=\"uint8\")", "255"},
        {"7 / 2", "3"},
        {"cast(1f / 3f, dtype=\"float16\")", "0.333251953"},
        {"left_shift(1, 31)", "-2147483648"},
        {"maximum(1f, sqrt(-1f))", "\"nan\""},
        {"where(1 < 2, 3i64, 4i64)", "3"},
        {"clip(5f, a_min=0f, a_max=2f)", "2"},
        {"full(3f, shape=[2])", "[3, 3]"},
        {"qnn.requantize(-57, 1f, 0i8)", "-57"},
        {"qnn.requantize(cast(" X ", dtype=\"int32\") * 20000 - 50000, 1f, cast(0, dtype=\"int16\"))",
         "[[-32768, -30000], [-10000, 10000], [30000, 32767]]"},
        /* broadcasts behind quantized convolutions with channels last and first */
        {"qnn.conv2d(cast(reshape(" X
         ", newshape=[1, 3, 1, 2]), dtype=\"int8\"), cast(reshape(strided_slice(" X
         ", begin=[0, 0], end=[2, 2]), newshape=[2, 2, 1, 1]), dtype=\"int8\"), 0, 0, 1f, 1f, channels=2, "
         "kernel_size=[1, 1], data_layout=\"NHWC\") + cast(" B ", dtype=\"int32\")",
         "[[[[2, 5]], [[4, 15]], [[6, 25]]]]"},
        {"qnn.conv2d_transpose(cast(reshape(transpose(" X "), newshape=[1, 2, 3, 1]), dtype=\"int8\"), "
         "cast(reshape(strided_slice(" X
         ", begin=[0, 0], end=[2, 2]), newshape=[2, 2, 1, 1]), dtype=\"int8\"), 0, "
         "0, 1f, 1f, channels=2, kernel_size=[1, 1]) + cast(reshape(" B
         ", newshape=[2, 1, 1]), dtype=\"int32\")",
         "[[[[3], [7], [11]], [[5], [13], [21]]]]"},
        /* scales and zero points of one element */
        {"qnn.conv2d_transpose(cast(reshape(transpose(" X "), newshape=[1, 2, 3, 1]), dtype=\"int8\"), "
         "cast(reshape(strided_slice(" X
         ", begin=[0, 0], end=[2, 2]), newshape=[2, 2, 1, 1]), dtype=\"int8\"), "
         "full(1, shape=[1]), full(0, shape=[1]), full(1f, shape=[1]), full(1f, shape=[1]), channels=2, "
         "kernel_size=[1, 1])",
         "[[[[0], [4], [8]], [[-1], [7], [15]]]]"},
        /* halves */
        {"(qnn.requantize(" HALVES
         ", 0.5f, 0i8, rounding=\"TOEVEN\", compute_dtype=\"float32\"), qnn.requantize(" HALVES
         ", 0.5f, 0i8, rounding=\"TOEVEN\", compute_dtype=\"float64\"), qnn.requantize(" HALVES
         ", 0.5f, 0i8, rounding=\"TOEVEN\", compute_dtype=\"int64\"))",
         "[[[-2, -1], [0, 0], [0, 1]], [[-2, -1], [0, 0], [0, 1]], [[-2, -1], [0, 0], [0, 1]]]"},
        {"(qnn.requantize(" HALVES
         ", 0.5f, 0i8, rounding=\"UPWARD\", compute_dtype=\"float32\"), qnn.requantize(" HALVES
         ", 0.5f, 0i8, rounding=\"UPWARD\", compute_dtype=\"float64\"), qnn.requantize(" HALVES
         ", 0.5f, 0i8, rounding=\"UPWARD\", compute_dtype=\"int64\"))",
         "[[[-1, -1], [0, 0], [1, 1]], [[-1, -1], [0, 0], [1, 1]], [[-1, -1], [0, 0], [1, 1]]]"},
        {"(qnn.requantize(" HALVES
         ", 0.5f, 0i8, rounding=\"TONEAREST\", compute_dtype=\"float32\"), qnn.requantize(" HALVES
         ", 0.5f, 0i8, rounding=\"TONEAREST\", compute_dtype=\"float64\"), qnn.requantize(" HALVES
         ", 0.5f, 0i8, rounding=\"TONEAREST\", compute_dtype=\"int64\"))",
         "[[[-2, -1], [-1, 0], [1, 1]], [[-2, -1], [-1, 0], [1, 1]], [[-2, -1], [-1, 0], [1, 1]]]"},
        {"(qnn.requantize(" HALVES ", 0.5f, 0i8), qnn.requantize(" HALVES
         ", 1f, 0, 2f, 0, out_dtype=\"int8\"), qnn.requantize(" HALVES
         ", 1f, 1, 4f, 10, rounding=\"UPWARD\", out_dtype=\"int16\"))",
         "[[[-2, -1], [0, 0], [0, 1]], [[-1, -1], [0, 0], [1, 1]], [[9, 9], [10, 10], [10, 10]]]"},
        /* a scale and a zero point for each row */
        {"qnn.requantize(" HALVES ", " X3 ", cast(" X3
         ", dtype=\"int32\"), 0.5f, 1, axis=0, out_dtype=\"int8\")",
         "[[-2, -1], [-5, -2], [-4, 1]]"},
        /* one scale, or one for each channel, and types that a run chooses */
        {"{ let %f = fn (%s: Tensor[(?), float32], %z: Tensor[(?), int32], %t: int32) { "
         "qnn.simulated_quantize(" X
         ", %t, %s, %z, axis=1) }; (%f(full(0.5f, shape=[1]), full(127, shape=[1]), 2), "
         "%f(" B ", cast(" B ", dtype=\"int32\"), 2)) }",
         "[[[127, 129], [131, 133], [135, 137]], [[1, 2], [3, 4], [5, 4]]]"},
        {"{ let %f = fn (%t: int32) { qnn.simulated_quantize(" X " * -100f, %t, 0.5f, 3) }; "
         "(%f(0), %f(1), %f(2), %f(3)) }",
         "[[[-0, -100], [-200, -300], [-400, -500]], [[3, -128], [-128, -128], [-128, -128]], [[3, 0], [0, "
         "0], [0, 0]], [[3, -197], [-397, -597], [-797, -997]]]"},
        {"{ let %f = fn (%s: Tensor[(?), float32], %z: Tensor[(?), int32], %t: int32) { "
         "qnn.simulated_dequantize(" X
         ", %t, %s, %z, axis=1) }; (%f(full(0.5f, shape=[1]), full(3, shape=[1]), 2), "
         "%f(" B ", cast(" B ", dtype=\"int32\"), 1)) }",
         "[[[-1.5, -1], [-0.5, 0], [0.5, 1]], [[-1, -2], [1, 2], [3, 6]]]"},
        {"{ let %f = fn (%t: int32) { qnn.simulated_dequantize(" X ", %t, 0.5f, 3) }; "
         "(%f(0), %f(1), %f(2), %f(3)) }",
         "[[[0, 1], [2, 3], [4, 5]], [[-1.5, -1], [-0.5, 0], [0.5, 1]], [[-1.5, -1], [-0.5, 0], [0.5, 1]], "
         "[[-1.5, -1], [-0.5, 0], [0.5, 1]]]"},
        /* rows of one number each are added */
        {"segment_sum(" X ", cast(" X3 ", dtype=\"int32\"), num_segments=4)",
         "[[0, 1], [2, 3], [4, 5], [0, 0]]"},
        {"segment_sum(" X ", cast(" X3 " * 0.4f, dtype=\"int64\"), num_segments=2)", "[[2, 4], [4, 5]]"},
        {"segment_sum(" X ", shape_of(zeros(shape=[0, 0, 1]), dtype=\"int64\"))", "[[2, 4], [4, 5]]"},
        {"segment_sum(" X ", shape_of(zeros(shape=[2, 0]), dtype=\"int64\"))", "[[2, 3], [0, 0], [0, 1]]"},
        {"fn (%d: Tensor[(?, ?), float32], %i: Tensor[(?, ?), int64], %u: Tensor[(?, ?), float32]) { "
         "scatter_elements(%d, %i, %u, axis=0) }(" X ", cast(reshape(" B
         ", newshape=[1, 2]), dtype=\"int64\"), "
         "reshape(" B ", newshape=[1, 2]) * 10f)",
         "[[0, 1], [10, 3], [4, 20]]"},
        {"{ let %y = scatter_nd(zeros(shape=[3000, 1000]), cast(" X ", dtype=\"int64\") * 190i64, sum(" X
         ", axis=[1])); (sum(%y), take(take(%y, 760i64, axis=0), 950i64)) }",
         "[15, 9]"},
        {"{ let %y = broadcast_to(reshape(" X ", newshape=[1, 1, 3, 2]), shape=[2, 1, 3, 2]); "
         "%y - nn.max_pool2d(%y, pool_size=[3, 3], padding=[1, 1]) }",
         "[[[[-3, -2], [-3, -2], [-1, 0]]], [[[-3, -2], [-3, -2], [-1, 0]]]]"},
        /* numbers drawn one after the other differ */
        {"{ let %a = random.threefry_generate(zeros(shape=[10], dtype=\"uint64\"), out_shape=[4]); let %b = "
         "random.threefry_generate(%a.0, out_shape=[4]); all(not_equal(%a.1, %b.1)) }",
         "true"},
        {"{ let %a = random.threefry_generate(zeros(shape=[10], dtype=\"uint64\"), out_shape=[7]); let %b = "
         "random.threefry_generate(%a.0, out_shape=[7]); all(not_equal(strided_slice(%a.1, begin=[4], "
         "end=[7]), "
         "strided_slice(%b.1, begin=[4], end=[7]))) }",
         "true"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gpuc_relay_value *v =
            run_with(ctx, gpuc_ctx_printf(ctx, "def @main() { %s }%s", rows[i].expr, section), NULL);
        assert_string_equal(gpuc_relay_value_json(ctx, v, NULL, NULL), rows[i].json);
        gpuc_relay_value_release(v);
    }
}

typedef struct values {
    int n;
    size_t pad;
    gpuc_relay_value *at[4];
} values;

static void release_values(void *arg)
{
    values *v = arg;
    for (int k = 0; k < v->n; k++) gpuc_relay_value_release(v->at[k]);
}

static const char *call_json(gpuc_ctx *ctx, const char *text, int n, const char *const *args)
{
    gpuc_rmodule *m = gpuc_relay_parse(ctx, text, "text", NULL);
    gpuc_relay_interpreter_desc d = GPUC_RELAY_INTERPRETER_DESC_INIT;
    d.max_calls = 100000;
    gpuc_relay_interpreter *i = gpuc_relay_interpreter_create(ctx, m, &d);
    values *v = gpuc_new(ctx, values);
    gpuc_ctx_push_cleanup(ctx, release_values, v);
    for (; v->n < n; v->n++)
        v->at[v->n] = gpuc_relay_read_json(i, "main", v->n, args[v->n], "args", NULL, NULL);
    gpuc_relay_value *result = gpuc_relay_interpret(i, "main", n, v->at);
    const char *json = gpuc_relay_value_json(ctx, result, NULL, NULL);
    gpuc_relay_value_release(result);
    gpuc_ctx_pop_cleanup(ctx, true);
    return json;
}

/* Sizes that are names, in attributes: known from arguments, inside of closures, too. */
static void symbols(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char *const rows[] = {"[[1, 2, 3], [4, 5, 6]]", "[7, 8]"};
    assert_string_equal(
        call_json(ctx,
                  "def @main(%x: Tensor[(n, m), int32], %y: Tensor[(n), int32]) {\n"
                  "  let %f = fn (%k: int32) { broadcast_to(%k, shape=[m - n, n]) };\n"
                  "  (broadcast_to(1, shape=[n + 1]), %f(5), split(%x, indices_or_sections=2, axis=0).1) }",
                  2, rows),
        "[[1, 1, 1], [[5, 5]], [[4, 5, 6]]]");
    /* a closure that is made before another branch has its variables */
    assert_string_equal(
        call_json(ctx,
                  "type P { P(Tensor[(k), int32]), N, }\n"
                  "def @main(%x: Tensor[(n, m), int32], %y: Tensor[(n), int32]) {\n"
                  "  let %p = N;\n"
                  "  match (%p) { P(%z) => fn (%k: int32) { broadcast_to(%k, shape=[n]) },\n"
                  "    N => fn (%k: int32) { fn (%j: int32) { broadcast_to(%k + %j, shape=[m]) }(1) } }(2) }",
                  2, rows),
        "[3, 3, 3]");
    /* one call, several sizes */
    assert_string_equal(
        call_json(ctx,
                  "def @f(%x: Tensor[(?), int32], %n: int32) -> Tensor[(?), int32] {\n"
                  "  if (%n == 0) { %x } else { @f(concatenate((%x, %x), axis=0), %n - 1) } }\n"
                  "def @main(%x: Tensor[(?), int32]) { @f(%x, 3) }",
                  1, (const char *const[]){"[1]"}),
        "[1, 1, 1, 1, 1, 1, 1, 1]");
}

/* Sizes that nobody names, and their program as it is printed. */
static void symbols_without_names(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char *const rows[] = {"[[1, 2, 3], [4, 5, 6]]", "[2, 1]"};
    static const char text[] =
        "type L { C(Tensor[(?, ?), int32], L), N, }\n"
        "def @turn(%x: Tensor[(?, ?), int32]) { transpose(%x) }\n"
        "def @main(%x: Tensor[(?, ?), int32], %s: Tensor[(2), int32]) {\n"
        "  %0 = dyn.tile(%x, %s);\n  %1 = @turn(%0);\n"
        "  let %f = fn (%v) { reshape(reshape(%v, newshape=[-3]), newshape=[-1, 1]) };\n"
        "  let %b = { let %u = dyn.tile(%x, %s); let %w = reshape(%u, newshape=[-3]); (%u, %w).0 };\n"
        "  let %c = { let %t = split(dyn.tile(%x, %s), indices_or_sections=1); concatenate((%t, %t)) };\n"
        "  (reshape(%x, newshape=[-3]), strided_slice(%x, begin=[1], end=[2147483647], axes=[1]),\n"
        "   split(%1, indices_or_sections=1, axis=1), reshape(%f(%x), newshape=[-3]), %f(reshape(%1, "
        "newshape=[-1, 1])),\n"
        "   reshape(concatenate((%b, %c)), newshape=[-3]), reshape(if (True) { %x } else { %0 }, "
        "newshape=[-3]),\n"
        "   match (C(%x, N)) { C(%v, _) => reshape(%v, newshape=[-3]), N => reshape(%0, newshape=[-3]) }) }";
    const char *again = gpuc_relay_text(ctx, gpuc_relay_parse(ctx, text, "text", NULL), 0);
    const char *out = call_json(ctx, text, 2, rows);
    assert_string_equal(out,
                        "[[1, 2, 3, 4, 5, 6], [[2, 3], [5, 6]], [[1, 4, 1, 4], [2, 5, 2, 5], [3, 6, 3, 6]], "
                        "[1, 2, 3, 4, 5, 6], [[1], [4], [1], [4], [2], [5], [2], [5], [3], [6], [3], [6]], "
                        "[1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, "
                        "4, 5, 6, 1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]]");
    assert_string_equal(call_json(ctx, again, 2, rows), out);
}

/* More sizes than kernels are kept. */
static void many_sizes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_true(number(ctx, "def @f(%x: Tensor[(?), int32], %n: int32) -> Tensor[(?), int32] {\n"
                            "  if (%n == 0) { %x } else { @f(concatenate((%x, reshape(%n, newshape=[1])), "
                            "axis=0), %n - 1) } }\n"
                            "def @main() { sum(@f(reshape(5, newshape=[1]), 1200) + 0) }") == 720605);
}

static void run_text(gpuc_ctx *ctx, void *arg)
{
    number(ctx, arg);
}

/* One call, several extents: they are elements, integers and real numbers, of inputs of the same types. */
static void extents(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char *const rows[] = {"[2, 1]", "[1, 2]"};
    assert_string_equal(
        call_json(ctx,
                  "def @f(%s: Tensor[(2), int64], %by: float32) {\n"
                  "  let %x = dyn.full(3, %s);\n"
                  "  let %y = dyn.nn.upsampling(reshape(1f, newshape=[1, 1, 1, 1]), %by, 1.5f);\n"
                  "  (strided_slice(%x, begin=[0, 0], end=[1, 9]), shape_of(%x), shape_of(%y)) }\n"
                  "def @main(%s: Tensor[(2), int64], %t: Tensor[(2), int64]) {\n"
                  "  (@f(%s, 2f), @f(%t, 2f), @f(%s, 2.75f)) }",
                  2, rows),
        "[[[[3]], [2, 1], [1, 1, 2, 2]], [[[3, 3]], [1, 2], [1, 1, 2, 2]], [[[3]], [2, 1], [1, 1, 3, 2]]]");
    fx_expect(
        ctx, GPUC_INVALID_ARGUMENT, "text:1:|dyn.reshape: 3 elements do not fit a shape of 5", run_text,
        "def @f(%n: Tensor[(1), int64]) { sum(dyn.reshape(dyn.full(1, shape_of(reshape(0, newshape=[1])) + "
        "2i64), %n)) } def @main() { @f(reshape(5i64, newshape=[1])) }");
}

static void run_small(gpuc_ctx *ctx, void *arg)
{
    gpuc_relay_interpreter_desc d = GPUC_RELAY_INTERPRETER_DESC_INIT;
    d.max_bytes = 1 << 20;
    d.max_calls = 50000;
    run_with(ctx, arg, &d);
}

static void limits(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    fx_expect(ctx, GPUC_OUT_OF_MEMORY, "text:2:|50000 calls|does the recursion end?|  @f(%n) }\n", run_small,
              "def @f(%n: int32) -> int32 {\n  @f(%n) }\ndef @main() { @f(1) }");
    fx_expect(ctx, GPUC_OUT_OF_MEMORY, "text:3:|out of memory|at most 1048576|is a list without end?",
              run_small,
              "type L { C(int32, L), E, }\n"
              "def @f(%l: L) -> L {\n  @f(C(1, %l)) }\ndef @main() { @f(E) }");
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "text:2:|no clause fits the value, made by Nil", run_text,
              "type List { Cons(int32, List), Nil, }\n"
              "def @hd(%l: List) -> int32 { match? (%l) { Cons(%x, _) => %x } }\ndef @main() { @hd(Nil) }");
    /* in an imported text: where it was called, through tail calls, too */
    fx_expect(
        ctx, GPUC_INVALID_ARGUMENT,
        "prelude.rly:|no clause fits the value, made by Nil; called at text:3:16\n", run_text,
        "import \"prelude.rly\"\ndef @f(%xs: List[int32]) -> int32 {\n  let %a = @nth(%xs, 3);\n  %a }\n"
        "def @main() { @f(Cons(1, Nil)) }");
    fx_expect(ctx, GPUC_INVALID_ARGUMENT,
              "prelude.rly:|no clause fits the value, made by Nil; called at text:2:", run_text,
              "import \"prelude.rly\"\ndef @main() { @hd(@tl(Cons(1, Nil))) }");
    fx_expect(ctx, GPUC_OUT_OF_MEMORY, "text:1:|4000096 more are needed, at most 1048576 are allowed\n",
              run_small, "def @main() { zeros(shape=[1000000]) }");
}

typedef struct one_call {
    gpuc_relay_interpreter *i;
    gpuc_relay_value *arg;
} one_call;

static void call_again(gpuc_ctx *ctx, void *arg)
{
    one_call *c = arg;
    (void)ctx;
    gpuc_relay_value_release(gpuc_relay_interpret(c->i, "main", 1, &c->arg));
}

/* A function whose constants do not fit is compiled again at each call, and checks its parameters once. */
static void constants_without_memory(gpuc_ctx *ctx, void *arg)
{
    enum { BYTES = 3000 };
    int64_t dims[] = {BYTES}, two[] = {2};
    gpuc_relay_interpreter_desc d = GPUC_RELAY_INTERPRETER_DESC_INIT;
    (void)arg;
    gpuc_rexpr *large = gpuc_relay_const_bytes(ctx, GPUC_INT8, 1, dims, gpuc_new_array(ctx, int8_t, BYTES));
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2)), *fields[] = {x, large};
    gpuc_rmodule *m = fx_module(ctx, gpuc_relay_tuple(ctx, 2, fields), 1, &x);
    d.max_bytes = BYTES / 2;
    one_call c = {gpuc_relay_interpreter_create(ctx, m, &d), NULL};
    c.arg = gpuc_relay_make_tensor(c.i, GPUC_FLOAT32, 1, two, NULL);
    for (int i = 0; i < 20; i++) fx_expect(ctx, GPUC_OUT_OF_MEMORY, "out of memory", call_again, &c);
    assert_int_equal(gpuc_relay_eval_global(c.i, "main")->num_checked, 1);
    gpuc_relay_value_release(c.arg);
}

static void call_with(gpuc_ctx *ctx, void *arg)
{
    const char *const *texts = arg;
    call_json(ctx, texts[0], 1, &texts[1]);
}

static void wrong_values(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const char *extents[] = {
        "def @f(%x: Tensor[(3), int32]) { %x }\ndef @main(%x: Tensor[(?), int32]) {\n  @f(%x) }", "[1, 2]"};
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "text:3:|argument 0 of @f: dimension 0 is 2, it must be 3",
              call_with, extents);
    const char *names[] = {"def @f(%x: Tensor[(n), int32], %y: Tensor[(n), int32]) { 1 }\n"
                           "def @main(%x: Tensor[(?), int32]) {\n  @f(%x, reshape(1, newshape=[1])) }",
                           "[1, 2]"};
    fx_expect(ctx, GPUC_INVALID_ARGUMENT,
              "text:3:|argument 1 of @f: dimension 0 is 1, it must be 2, as before for n", call_with, names);
    /* A function inside names sizes of those around it, whatever it holds. */
    const char *around[] = {
        "def @main(%a: Tensor[(n), int32]) {\n"
        "  let %two = fn (%b: Tensor[(m), int32]) { fn (%x: Tensor[(n + m), int32]) { %x } };\n"
        "  let %f = %two(%a);\n"
        "  (%f(concatenate((%a, %a))), %f(concatenate((%a, %a, %a)))) }",
        "[1, 2]"};
    fx_expect(ctx, GPUC_INVALID_ARGUMENT,
              "text:4:|argument 0 of fn: dimension 0 is 6, it must be 4, which is n + m of a function around",
              call_with, around);
    const char *held[] = {"def @main(%a: Tensor[(n), int32]) {\n"
                          "  let %f = fn (%x: Tensor[(n), int32]) { concatenate((%x, %a)) };\n"
                          "  (%f(%a), %f(ones(shape=[4], dtype=\"int32\"))) }",
                          "[1, 2, 3]"};
    fx_expect(ctx, GPUC_INVALID_ARGUMENT,
              "text:3:|argument 0 of fn: dimension 0 is 4, it must be 3, which is n of a function around",
              call_with, held);
    const char *expressions[] = {
        "def @f(%x: Tensor[(2 * n + 1, n), int32], %y: Tensor[(m - 1), int32]) { 1 }\n"
        "def @main(%x: Tensor[(?, ?), int32]) {\n"
        "  (@f(%x, zeros(shape=[4], dtype=\"int32\")),\n"
        "   @f(transpose(%x), zeros(shape=[4], dtype=\"int32\"))) }",
        "[[1, 2], [1, 2], [1, 2], [1, 2], [1, 2]]"};
    fx_expect(ctx, GPUC_INVALID_ARGUMENT,
              "text:4:|argument 0 of @f: dimension 0 is 2, it must be 11, which is ", call_with, expressions);
    const char *sum[] = {"def @main(%x: Tensor[(?), int32]) {\n  %x + reshape(%x + 1, newshape=[1, -1]) +\n"
                         "    concatenate((%x, %x), axis=0) }",
                         "[1, 2, 3]"};
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "text:2:|add:", call_with, sum);
    const char *infinite[] = {
        "def @main(%x: int32) -> int32 {\n  let %f = fn (%n: int32) -> int32 { 1 + %f(%n) };\n  %f(%x) }",
        "1"};
    fx_expect(ctx, GPUC_OUT_OF_MEMORY, "text:2:", call_with, infinite);
}

/* After an error the interpreter goes on, and nothing is left. */
static void run_bad(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    gpuc_relay_interpret(arg, "bad", 0, NULL);
}

static void run_make(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    gpuc_relay_make_data(arg, "Cons", 1, NULL);
}

static void the_api(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m =
        gpuc_relay_parse(ctx,
                         gpuc_ctx_printf(ctx,
                                         "%sdef @bad() { @deep(Cons(1, Nil)) }\n"
                                         "def @deep(%%xs: List[int32]) -> int32 { match? (%%xs) {\n"
                                         "  Cons(_, Cons(%%x, _)) => %%x } + @deep(%%xs) }\n"
                                         "def @main(%%p: (int32, List[bool])) { %%p.1 }",
                                         list_text),
                         "text", NULL);
    gpuc_relay_interpreter *i = gpuc_relay_interpreter_create(ctx, m, NULL);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "no clause fits the value, made by Cons", run_bad, i);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "Cons has 2 fields, not 1", run_make, i);
    int32_t seven = 7;
    bool yes = true;
    gpuc_relay_value *nil = gpuc_relay_make_data(i, "Nil", 0, NULL),
                     *number_seven = gpuc_relay_make_tensor(i, GPUC_INT32, 0, NULL, &seven),
                     *truth = gpuc_relay_make_tensor(i, GPUC_BOOL, 0, NULL, &yes);
    gpuc_relay_value *cell[] = {truth, nil}, *list = gpuc_relay_make_data(i, "Cons", 2, cell);
    gpuc_relay_value *pair[] = {number_seven, list}, *p = gpuc_relay_make_tuple(i, 2, pair);
    gpuc_relay_value *v = gpuc_relay_interpret(i, "main", 1, &p);
    assert_string_equal(gpuc_relay_value_constructor(v), "Cons");
    assert_int_equal(gpuc_relay_value_num_fields(v), 2);
    assert_true(element(gpuc_relay_value_field(v, 0), 0) == 1);
    assert_null(gpuc_relay_value_field(v, 2));
    assert_null(gpuc_relay_value_data(v));
    assert_int_equal(gpuc_relay_value_bytes(number_seven), 4);
    gpuc_relay_value *all[] = {nil, number_seven, truth, list, p, v};
    for (int k = 0; k < 6; k++) gpuc_relay_value_release(all[k]);
}

/* A byte of a bool that is neither 0 nor 1 is true, wherever it comes from. */
static void bools_of_callers(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const uint8_t bytes[] = {2, 0, 255};
    const int64_t dims[] = {3};
    gpuc_rmodule *m = gpuc_relay_parse(ctx,
                                       "def @main(%x: Tensor[(3), bool]) {\n"
                                       "  (cast(%x, dtype=\"int32\"), equal(%x, meta[relay.Constant][0])) }\n"
                                       "#[constants]\nTensor[(3), bool] \"AwAB\"\n",
                                       "text", NULL);
    gpuc_relay_interpreter *i = gpuc_relay_interpreter_create(ctx, m, NULL);
    gpuc_relay_value *x = gpuc_relay_make_tensor(i, GPUC_BOOL, 1, dims, bytes);
    gpuc_relay_value *v = gpuc_relay_interpret(i, "main", 1, &x);
    assert_string_equal(gpuc_relay_value_json(ctx, v, NULL, NULL), "[[1, 0, 1], [true, true, true]]");
    gpuc_relay_value_release(x);
    gpuc_relay_value_release(v);
}

static void print_shared(gpuc_ctx *ctx, void *arg)
{
    gpuc_relay_value_json(ctx, arg, NULL, NULL);
}

/* 2^60 paths lead to the leaf of a tree. */
static void values_with_shared_parts(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m =
        gpuc_relay_parse(ctx,
                         "type T { B(T, T), L(int32), }\n"
                         "def @f(%t: T, %n: int32) -> T {\n"
                         "  if (%n == 0) { %t } else { @f(B(%t, %t), %n - 1) } }\n"
                         "def @left(%t: T) -> int32 { match (%t) { B(%a, _) => @left(%a), L(%x) => %x } }\n"
                         "def @main() { @f(L(7), 60) }",
                         "text", NULL);
    gpuc_relay_interpreter_desc d = GPUC_RELAY_INTERPRETER_DESC_INIT;
    d.max_bytes = 1 << 20;
    gpuc_relay_interpreter *i = gpuc_relay_interpreter_create(ctx, m, &d);
    gpuc_relay_value *t = gpuc_relay_interpret(i, "main", 0, NULL);
    gpuc_relay_value *v = gpuc_relay_interpret(i, "left", 1, &t);
    assert_true(element(v, 0) == 7);
    gpuc_relay_value_release(v);
    fx_expect(ctx, GPUC_OUT_OF_MEMORY, "as JSON takes more than the 1048576 bytes", print_shared, t);
    gpuc_relay_value_release(t);
}

/* ---- Without memory ---- */

typedef struct failing {
    size_t live, calls, fails_at;
} failing;

static void *failing_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    failing *f = user;
    if (new_size > old_size && ++f->calls == f->fails_at) return NULL;
    f->live += new_size - old_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

static gpuc_status load_two(void *user, const char *path, gpuc_host_tensor *out)
{
    (void)user;
    return gpuc_host_tensor_init(GPUC_INT32, 1, (const int64_t[]){2}, path, out);
}

static void run_all(gpuc_ctx *ctx, void *arg)
{
    values *v = arg;
    gpuc_rmodule *m = gpuc_relay_parse(
        ctx,
        "import \"prelude.rly\"\n"
        "def @main(%xs: List[(Tensor[(?), int32], float32)], %o: Option[bool]) {\n"
        "  let %k = fn (%p: (Tensor[(?), int32], float32)) { (sum(%p.0), concatenate((%p.0, %p.0)), "
        "Some(%p.1)) };\n"
        "  (@rev(@map(%k, %xs)), %o, @map(Some, Cons(1, Nil)), %k, @sum, split(zeros(shape=[4, 2]), "
        "indices_or_sections=2)) }",
        "text", NULL);
    gpuc_relay_interpreter *i = gpuc_relay_interpreter_create(ctx, m, NULL);
    v->at[v->n++] = gpuc_relay_read_json(i, "main", 0, "{\"List\": [[[1, 2, 3], 0.5], [\"two.npy\", 1]]}",
                                         "in", load_two, NULL);
    v->at[v->n++] = gpuc_relay_read_json(i, "main", 1, "{\"Some\": [true]}", "in", NULL, NULL);
    v->at[v->n++] = gpuc_relay_interpret(i, "main", 2, v->at);
    gpuc_relay_value_json(ctx, v->at[2], NULL, NULL);
}

static void run_behind(gpuc_ctx *ctx, void *arg)
{
    values *v = arg;
    if (v->pad) gpuc_ctx_alloc(ctx, v->pad); /* moves what the arena's blocks end at */
    run_all(ctx, arg);
}

static size_t fail_everywhere(size_t pad)
{
    size_t n = 0;
    for (bool done = false; !done;) {
        failing f = {.fails_at = ++n};
        gpuc_allocator a = {.resize = failing_resize, .user = &f};
        gpuc_ctx *other = NULL;
        values v = {.pad = pad};
        gpuc_status status = gpuc_ctx_create(&a, &other);
        if (!status) status = gpuc_ctx_protect(other, run_behind, &v);
        done = f.calls < n;
        if (done)
            assert_null(status);
        else if (gpuc_status_code(status) != GPUC_OUT_OF_MEMORY)
            fail_msg("pad %zu, allocation %zu: %s", pad, n,
                     status ? gpuc_status_message(status) : "no error");
        gpuc_status_release(status);
        release_values(&v);
        gpuc_ctx_destroy(other);
        if (f.live) fail_msg("pad %zu, allocation %zu: %zu bytes are left", pad, n, f.live);
    }
    return n;
}

/* Wherever memory ends, an error says so, and nothing is left. */
static void no_memory_anywhere(gpuc_ctx *ctx, void *arg)
{
    enum { STEP = 16 * 31 };
    size_t runs = 0;
    (void)ctx;
    (void)arg;
    for (size_t pad = 0; pad < 4096; pad += STEP) runs += fail_everywhere(pad);
    printf("%zu runs\n", runs);
}

/* An operator of many inputs takes no memory for each call. */
static void loops_need_no_memory(gpuc_ctx *ctx, void *arg)
{
    size_t live[2];
    (void)arg;
    for (int k = 0; k < 2; k++) {
        limited heap = {.max = SIZE_MAX / 2};
        gpuc_allocator a = {.resize = limited_resize, .user = &heap};
        gpuc_ctx *other;
        GPUC_RAISE_IF(ctx, gpuc_ctx_create(&a, &other));
        gpuc_relay_value_release(run_with(
            other,
            gpuc_ctx_printf(ctx,
                            "def @f(%%x: Tensor[(1), int8], %%n: int32) -> Tensor[(1), int8] { if (%%n == 0) "
                            "{ %%x } else {\n"
                            "  %%0 = concatenate((%%x, %%x, %%x, %%x, %%x, %%x, %%x, %%x, %%x, %%x));\n"
                            "  @f(strided_slice(%%0, begin=[9], end=[10]), %%n - 1) } }\n"
                            "def @main() { @f(zeros(shape=[1], dtype=\"int8\"), %d) }",
                            1000 + 5000 * k),
            NULL));
        live[k] = heap.live;
        gpuc_ctx_destroy(other);
        assert_int_equal(heap.live, 0);
    }
    assert_true(live[1] < live[0] + 65536);
}

/* Values may be kept longer than the program. */
static void values_that_stay(gpuc_ctx *ctx, void *arg)
{
    gpuc_ctx *other;
    (void)arg;
    GPUC_RAISE_IF(ctx, gpuc_ctx_create(NULL, &other));
    gpuc_relay_value *v = run_with(other, "def @main() { (1, 2f) }", NULL);
    gpuc_ctx_destroy(other);
    assert_true(element(gpuc_relay_value_field(v, 1), 0) == 2);
    gpuc_relay_value *again = gpuc_relay_value_retain(v);
    gpuc_relay_value_release(v);
    gpuc_relay_value_release(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {fx_test(scalars),
                                       fx_test(functions),
                                       fx_test(numerals),
                                       fx_test(options),
                                       fx_test(patterns),
                                       fx_test(shared_nodes),
                                       fx_test(a_small_stack),
                                       fx_test(speed),
                                       fx_test(operators),
                                       fx_test(symbols),
                                       fx_test(symbols_without_names),
                                       fx_test(extents),
                                       fx_test(many_sizes),
                                       fx_test(limits),
                                       fx_test(wrong_values),
                                       fx_test(the_api),
                                       fx_test(values_that_stay),
                                       fx_test(bools_of_callers),
                                       fx_test(values_with_shared_parts),
                                       fx_test(loops_need_no_memory),
                                       fx_test(no_memory_anywhere),
                                       fx_test(constants_without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
