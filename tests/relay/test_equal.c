/* SPDX-License-Identifier: Apache-2.0 */
/* What is the same but for names: of pairs of programs, and of nodes that are built. And how many multiply-adds programs
 * have. */
#include <gpuc/relay_ir.h>

#include "fixture.h"

static const char types[] = "type List[A] { Cons(A, List[A]), Nil, }\ntype Option[A] { Some(A), None, }\n"
                            "def @id[A](%a: A) -> A { %a }\ndef @other[A](%a: A) -> A { %a }\n";

static gpuc_rexpr *main_of(gpuc_ctx *ctx, const char *text)
{
    return gpuc_rmodule_get(gpuc_relay_parse(ctx, gpuc_ctx_printf(ctx, "%s%s", types, text), "text", NULL),
                            "main");
}

/* Both ways round, and hashes agree. */
static bool equal(gpuc_ctx *ctx, const gpuc_rexpr *a, const gpuc_rexpr *b)
{
    bool same = gpuc_relay_equal(ctx, a, b);
    assert_true(gpuc_relay_equal(ctx, a, a) && gpuc_relay_equal(ctx, b, b));
    assert_int_equal(gpuc_relay_equal(ctx, b, a), same);
    assert_int_equal(gpuc_relay_hash(ctx, a) == gpuc_relay_hash(ctx, b), same);
    return same;
}

static void pairs(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        const char *what, *a, *b;
        bool same;
    } rows[] = {
        {"a constant", "def @main() { 1 }", "def @main() { 1 }", true},
        {"another constant", "def @main() { 1 }", "def @main() { 2 }", false},
        {"a constant of another type", "def @main() { 1 }", "def @main() { 1f }", false},
        {"a constant as zero with another sign", "def @main() { 0f }", "def @main() { -0f }", false},
        {"a parameter and a constant", "def @main(%x: int32) { %x }", "def @main(%x: int32) { 1 }", false},
        {"names of variables", "def @main(%x: int32) { let %a = 1; %a }",
         "def @main(%y: int32) { let %x = 1; %x }", true},
        {"another variable", "def @main(%x: int32) { let %a = 1; %a }",
         "def @main(%x: int32) { let %a = 1; %x }", false},
        {"a written type", "def @main() { let %a: int32 = 1; %a }", "def @main() { let %b: int32 = 1; %b }",
         true},
        {"no written type", "def @main() { let %a: int32 = 1; %a }", "def @main() { let %a = 1; %a }", false},
        {"a global", "def @main() { @id(1) }", "def @main() { @id(1) }", true},
        {"another global", "def @main() { @id(1) }", "def @main() { @other(1) }", false},
        {"a tuple", "def @main(%x: int32) { (%x, 2, (4,)) }", "def @main(%y: int32) { (%y, 2, (4,)) }", true},
        {"the unit", "def @main() { () }", "def @main() { () }", true},
        {"a tuple with another end", "def @main(%x: int32) { (%x, 2, (4,)) }",
         "def @main(%x: int32) { (%x, 2, (5,)) }", false},
        {"a tuple with more", "def @main(%x: int32) { (%x, 2) }", "def @main(%x: int32) { (%x, 2, %x) }",
         false},
        {"a tuple with more inside", "def @main(%x: int32) { (%x, (4,)) }",
         "def @main(%x: int32) { (%x, (4, 5)) }", false},
        {"a field", "def @main(%x: (int32, int32)) { %x.1 }", "def @main(%y: (int32, int32)) { %y.1 }", true},
        {"another field", "def @main(%x: (int32, int32)) { %x.1 }", "def @main(%x: (int32, int32)) { %x.0 }",
         false},
        {"attributes of a function", "def @main(%x: int32, name=\"a\") { %x }",
         "def @main(%x: int32, name=\"a\") { %x }", true},
        {"other attributes of a function", "def @main(%x: int32, name=\"a\") { %x }",
         "def @main(%x: int32, name=\"b\") { %x }", false},
        {"no attributes of a function", "def @main(%x: int32) { %x + %x }",
         "def @main(%x: int32, test=1) { %x + %x }", false},
        {"parameters of functions", "def @main(%x: int32, %y: int8) -> int32 { %x }",
         "def @main(%y: int32, %x: int8) -> int32 { %y }", true},
        {"fewer parameters", "def @main(%x: int32, %y: int8) { %x }", "def @main(%x: int32) { %x }", false},
        {"parameters in another order", "def @main(%x: int32, %y: int8) { %x }",
         "def @main(%y: int8, %x: int32) { %x }", false},
        {"parameters of another type", "def @main(%x: int32) { 1 }", "def @main(%x: (int32, int32)) { 1 }",
         false},
        {"no written result", "def @main(%x: int32) -> int32 { %x }", "def @main(%x: int32) { %x }", false},
        {"names of type parameters", "def @main[A, B](%x: A, %y: B) -> A { %x }",
         "def @main[B, A](%x: B, %y: A) -> B { %x }", true},
        {"type parameters in another order", "def @main[A, B](%x: A, %y: B) -> A { %x }",
         "def @main[A, B](%x: B, %y: A) -> B { %x }", false},
        {"more type parameters", "def @main[A](%x: A) -> A { %x }", "def @main[A, B](%x: A) -> A { %x }",
         false},
        {"extents of parameters", "def @main(%x: Tensor[(10, 10), int8]) { %x + %x }",
         "def @main(%y: Tensor[(10, 10), int8]) { %y + %y }", true},
        {"other extents", "def @main(%x: Tensor[(10, 10), int8]) { %x + %x }",
         "def @main(%x: Tensor[(20, 10), int8]) { %x + %x }", false},
        {"a call", "def @main(%f: fn (int32, int32) -> int8, %x: int32) { %f(%x, 1) }",
         "def @main(%g: fn (int32, int32) -> int8, %y: int32) { %g(%y, 1) }", true},
        {"arguments in another order", "def @main(%f: fn (int32, int32) -> int8, %x: int32) { %f(%x, 1) }",
         "def @main(%f: fn (int32, int32) -> int8, %x: int32) { %f(1, %x) }", false},
        {"another callee", "def @main(%f: fn () -> int8, %g: fn () -> int8) { %f() }",
         "def @main(%f: fn () -> int8, %g: fn () -> int8) { %g() }", false},
        {"attributes of a call", "def @main(%x: Tensor[(2, 2), int8]) { sum(%x, axis=[0, 1]) }",
         "def @main(%x: Tensor[(2, 2), int8]) { sum(%x, axis=[0, 1]) }", true},
        {"other attributes of a call", "def @main(%x: Tensor[(2, 2), int8]) { sum(%x, axis=[0, 1]) }",
         "def @main(%x: Tensor[(2, 2), int8]) { sum(%x, axis=[1, 0]) }", false},
        {"other types of a call", "def @main() { @id((1, 1)) }", "def @main() { @id((1f, 1f)) }", false},
        {"a let", "def @main(%x: int32) { let %a = %x + 1; let %b = %a; %b }",
         "def @main(%x: int32) { let %b = %x + 1; let %a = %b; %a }", true},
        {"a let with another value", "def @main() { let %a = 2; %a }", "def @main() { let %a = 3; %a }",
         false},
        {"lets in another order",
         "def @main(%x: int32, %y: int32) { let %a = %x + 1; let %b = %y + 1; %a + %b }",
         "def @main(%x: int32, %y: int32) { let %b = %y + 1; let %a = %x + 1; %a + %b }", false},
        {"lets that changed names",
         "def @main(%x: int32, %y: int32) { let %a = %x + 1; let %b = %y + 1; %a + %b }",
         "def @main(%x: int32, %y: int32) { let %b = %x + 1; let %a = %y + 1; %b + %a }", true},
        {"an if", "def @main(%c: bool) { if (%c) { (1, 2) } else { (3, 4) } }",
         "def @main(%d: bool) { if (%d) { (1, 2) } else { (3, 4) } }", true},
        {"an if with another condition", "def @main(%c: bool, %d: bool) { if (%c) { 1 } else { 2 } }",
         "def @main(%c: bool, %d: bool) { if (%d) { 1 } else { 2 } }", false},
        {"an if with another branch", "def @main(%c: bool) { if (%c) { 1 } else { 2 } }",
         "def @main(%c: bool) { if (%c) { 1 } else { 3 } }", false},
        {"an if with branches exchanged", "def @main(%c: bool) { if (%c) { 1 } else { 2 } }",
         "def @main(%c: bool) { if (%c) { 2 } else { 1 } }", false},
        {"a constructor", "def @main() { Cons(1, Nil) }", "def @main() { Cons(1, Nil) }", true},
        {"another constructor", "def @main() { (Cons(1, Nil), Some(1)) }",
         "def @main() { (Cons(1, Nil), Cons(1, Nil)) }", false},
        {"a match", "def @main(%l: List[int32]) { match (%l) { Nil => 0, Cons(%x, _) => %x } }",
         "def @main(%k: List[int32]) { match (%k) { Nil => 0, Cons(%y, _) => %y } }", true},
        {"clauses in another order",
         "def @main(%l: List[int32]) { match (%l) { Nil => 0, Cons(%x, _) => %x } }",
         "def @main(%l: List[int32]) { match (%l) { Cons(%x, _) => %x, Nil => 0 } }", false},
        {"fewer clauses", "def @main(%l: List[int32]) { match? (%l) { Nil => 0, Cons(%x, _) => %x } }",
         "def @main(%l: List[int32]) { match? (%l) { Nil => 0 } }", false},
        {"a variable for anything", "def @main(%l: List[int32]) { match (%l) { Nil => 0, Cons(_, _) => 1 } }",
         "def @main(%l: List[int32]) { match (%l) { Nil => 0, Cons(_, %x) => 1 } }", false},
        {"constructors of another type",
         "def @main(%l: List[int32]) { match (%l) { Nil => 0, Cons(_, _) => 1 } }",
         "def @main(%l: Option[int32]) { match (%l) { None => 0, Some(_) => 1 } }", false},
        {"a match that may fail", "def @main(%l: List[int32]) { match (%l) { Nil => 0, Cons(_, _) => 1 } }",
         "def @main(%l: List[int32]) { match? (%l) { Nil => 0, Cons(_, _) => 1 } }", false},
        {"a pattern of a tuple", "def @main() { match ((1, 2)) { (%a, %b) => %a + %b } }",
         "def @main() { match ((1, 2)) { (%x, %y) => %x + %y } }", true},
        {"variables of a pattern exchanged", "def @main() { match ((1, 2)) { (%a, %b) => %a - %b } }",
         "def @main() { match ((1, 2)) { (%b, %a) => %a - %b } }", false},
        {"an operator", "def @main(%x: float32) { exp(%x) }", "def @main(%x: float32) { exp(%x) }", true},
        {"another operator", "def @main(%x: float32) { exp(%x) }", "def @main(%x: float32) { tanh(%x) }",
         false},
        {"a node that is shared", "def @main(%x: float32) { %0 = %x + %x; %0 + %0 }",
         "def @main(%y: float32) { %1 = %y + %y; %1 + %1 }", true},
        {"nodes that are not shared", "def @main(%x: float32) { %0 = %x + %x; %0 + %0 }",
         "def @main(%x: float32) { (%x + %x) + (%x + %x) }", false},
    };
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (equal(ctx, main_of(ctx, rows[i].a), main_of(ctx, rows[i].b)) != rows[i].same)
            fail_msg("%s: these are %sthe same:\n%s\n%s", rows[i].what, rows[i].same ? "not " : "", rows[i].a,
                     rows[i].b);
}

/* Variables that nothing binds are what they are, and so are nodes of other kinds. */
static void free_variables(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *v = gpuc_relay_var(ctx, "v", NULL), *w = gpuc_relay_var(ctx, "v", NULL),
               *one = gpuc_relay_const_scalar(ctx, GPUC_INT32, 1);
    assert_true(equal(ctx, v, v));
    assert_false(equal(ctx, v, w));
    assert_false(equal(ctx, v, one));
    assert_false(equal(ctx, gpuc_relay_global(ctx, "f"), gpuc_relay_global(ctx, "g")));
    assert_true(equal(ctx, gpuc_relay_let(ctx, v, one, v), gpuc_relay_let(ctx, w, one, w)));
    assert_false(equal(ctx, gpuc_relay_let(ctx, v, one, v), gpuc_relay_let(ctx, v, one, w)));
    assert_true(equal(ctx, gpuc_relay_get(ctx, v, 1), gpuc_relay_get(ctx, v, 1)));
    assert_false(equal(ctx, gpuc_relay_get(ctx, v, 1), gpuc_relay_get(ctx, w, 1)));
    /* a chain that no recursion could follow */
    gpuc_rexpr *a = v, *b = v;
    for (int i = 0; i < 100000; i++) {
        a = gpuc_relay_apply(ctx, "exp", NULL, 1, &a);
        b = gpuc_relay_apply(ctx, "exp", NULL, 1, &b);
    }
    assert_true(equal(ctx, a, b));
    assert_false(equal(ctx, a, gpuc_relay_apply(ctx, "exp", NULL, 1, &b)));
}

static void multiply_adds(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        const char *what, *text;
        int64_t n;
    } rows[] = {
        {"a matrix product",
         "def @main(%x: Tensor[(5, 7), float32], %w: Tensor[(3, 7), float32]) { (nn.dense(%x, %w),) }",
         5 * 7 * 3},
        {"a transposed one",
         "def @main(%x: Tensor[(7, 5), float32], %w: Tensor[(7, 3), float32]) { nn.matmul(%x, %w, "
         "transpose_a=True) }",
         5 * 7 * 3},
        {"a batch of them",
         "def @main(%x: Tensor[(2, 5, 7), int8], %w: Tensor[(2, 7, 3), int8]) { nn.batch_matmul(%x, %w, "
         "out_dtype=\"int32\") }",
         2 * 5 * 7 * 3},
        {"a convolution",
         "def @main(%x: Tensor[(2, 3, 8, 9), float32], %w: Tensor[(4, 3, 3, 5), float32]) { nn.conv2d(%x, "
         "%w, padding=[1, 0]) }",
         2 * 4 * 8 * 5 * 3 * 3 * 5},
        {"two convolutions and a product",
         "def @main(%x: Tensor[(1, 3, 8, 9), float32], %w: Tensor[(4, 3, 3, 3), float32], %v: Tensor[(5, 4), "
         "float32]) {\n"
         "  %0 = nn.relu(nn.conv2d(%x, %w)) + nn.conv2d(%x, %w); "
         "nn.dense(nn.batch_flatten(nn.global_avg_pool2d(%0)), %v) }",
         2 * 4 * 6 * 7 * 27 + 20},
        {"one window per channel",
         "def @main(%x: Tensor[(1, 4, 8, 9), float32], %w: Tensor[(8, 1, 3, 3), float32]) { nn.conv2d(%x, "
         "%w, groups=4, channels=8, kernel_size=[3, 3]) }",
         8 * 6 * 7 * 9},
        {"a transposed convolution",
         "def @main(%x: Tensor[(1, 4, 5, 6), float32], %w: Tensor[(4, 3, 2, 2), float32]) { "
         "nn.conv2d_transpose(%x, %w, strides=[2, 2], channels=3, kernel_size=[2, 2]) }",
         4 * 5 * 6 * 3 * 4},
        {"a quantized product",
         "def @main(%x: Tensor[(5, 7), int8], %w: Tensor[(3, 7), int8]) { qnn.dense(%x, %w, 0, 0, 1f, 1f, "
         "units=3) }",
         5 * 7 * 3},
        {"a shared node",
         "def @main(%x: Tensor[(5, 7), float32], %w: Tensor[(3, 7), float32]) { %0 = nn.dense(%x, %w); %0 + "
         "%0 }",
         5 * 7 * 3},
        {"no product", "def @main(%x: Tensor[(5, 7), float32]) { exp(%x) * 2f }", 0},
        {"an extent that is not known",
         "def @main(%x: Tensor[(n, 7), float32], %w: Tensor[(3, 7), float32]) { nn.dense(%x, %w) }", -1},
    };
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t n = gpuc_relay_multiply_adds(ctx, main_of(ctx, rows[i].text));
        if (n != rows[i].n) fail_msg("%s: %lld, not %lld", rows[i].what, (long long)n, (long long)rows[i].n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {fx_test(pairs), fx_test(free_variables), fx_test(multiply_adds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
