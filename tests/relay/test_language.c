/* SPDX-License-Identifier: Apache-2.0 */
/* Relay as a language: text, types, and what is wrong with both. */
#include "fixture.h"

static gpuc_rmodule *program(gpuc_ctx *ctx, const char *text)
{
    return gpuc_relay_parse(ctx, text, "text", NULL);
}

/* What is printed of it parses, has the same types, and prints the same. Returns the printed text. */
static const char *round_trip(gpuc_ctx *ctx, const char *text)
{
    enum { ALL = GPUC_RELAY_PRINT_VERSION | GPUC_RELAY_PRINT_CONSTANTS | GPUC_RELAY_PRINT_TYPES };
    const char *first = gpuc_relay_text(ctx, program(ctx, text), ALL);
    assert_string_equal(gpuc_relay_text(ctx, program(ctx, first), ALL), first);
    return gpuc_relay_text(ctx, program(ctx, text), 0);
}

static void infer_text(gpuc_ctx *ctx, void *arg)
{
    program(ctx, arg);
}

/* ---- Text ---- */

static void a_graph_as_tvm_prints_it(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    int64_t dims[] = {1, 1, 3, 3};
    int8_t bytes[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", fx_type(ctx, GPUC_INT8, FX_DIMS(1, 1, 8, 8))),
               *w = gpuc_relay_const_bytes(ctx, GPUC_INT8, 4, dims, bytes);
    gpuc_rexpr *conv = fx_op2(ctx, "nn.conv2d", x, w), *fields[] = {conv, fx_op1(ctx, "nn.relu", NULL, conv)};
    gpuc_rmodule *m = fx_module(ctx, gpuc_relay_tuple(ctx, 2, fields), 1, &x);
    const char *graph = "def @main(%x: Tensor[(1, 1, 8, 8), int8]) {\n"
                        "  %0 = nn.conv2d(%x, meta[relay.Constant][0], padding=[0, 0, 0, 0]);\n"
                        "  %1 = nn.relu(%0);\n"
                        "  (%0, %1)\n"
                        "}\n";
    assert_string_equal(gpuc_relay_text(ctx, m, 0), graph);
    const char *whole = gpuc_relay_text(ctx, m, GPUC_RELAY_PRINT_CONSTANTS);
    assert_string_equal(
        whole,
        gpuc_ctx_printf(ctx, "%s\n#[constants]\nTensor[(1, 1, 3, 3), int8] \"AQIDBAUGBwgJ\"\n", graph));
    assert_string_equal(round_trip(ctx, whole), graph);
}

static void literals_and_operators(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_string_equal(
        round_trip(ctx, "#[version = \"0.0.5\"]\n"
                        "/* outer /* inner */ */ def @main(%a: float32) { // a comment\n"
                        "  %0 = %a + %a * %a - -2.5f / %a;\n"
                        "  (%0 <= 1f != True, 1, -2147483648, 3000000000, 7i64, 3i16, 1e-5f, 2f64, inff,\n"
                        "   (), (1,), ((1, 2), 3).0.1)\n"
                        "}"),
        "def @main(%a: float32) {\n"
        "  %0 = multiply(%a, %a);\n"
        "  %1 = add(%a, %0);\n"
        "  %2 = divide(-2.5f, %a);\n"
        "  %3 = subtract(%1, %2);\n"
        "  %4 = less_equal(%3, 1f);\n"
        "  %5 = not_equal(%4, True);\n"
        "  %6 = ();\n"
        "  %7 = (1,);\n"
        "  (%5, 1, -2147483648, 3000000000i64, 7i64, 3i16, 1e-05f, 2f64, inff, %6, %7, 2)\n"
        "}\n");
}

static void attributes_and_extents(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_string_equal(
        round_trip(ctx,
                   "def @main(%x: Tensor[(n, ?, 8), float32], %y: Tensor[((n + 3) // 2, 4), float32]) {\n"
                   "  let %s = split(%x, indices_or_sections=2, axis=-1);\n"
                   "  (cast(%s.1, dtype=\"float16\"), concatenate(%s, axis=2), "
                   "concatenate((%y, %y), axis=1), nn.pad(%y, pad_width=[[0, 0], [1, 2]]))\n"
                   "}"),
        "def @main(%x: Tensor[(n, ?, 8), float32], %y: Tensor[((n + 3) // 2, 4), float32]) {\n"
        "  let %s = split(%x, sizes=[4, 4], axis=-1);\n"
        "  %0 = %s.1;\n"
        "  %1 = cast(%0, dtype=\"float16\");\n"
        "  %2 = concatenate(%s, axis=2);\n"
        "  %3 = concatenate((%y, %y), axis=1);\n"
        "  %4 = nn.pad(%y, pad_before=[0, 1], pad_after=[0, 2]);\n"
        "  (%1, %2, %3, %4)\n"
        "}\n");
}

static void names_are_made_unique(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_string_equal(
        round_trip(ctx,
                   "def @main(%x: int32) { let %x = %x + 1; let %x1 = %x; (%x1, fn (%x: int32) { %x }) }"),
        "def @main(%x: int32) {\n"
        "  let %x1 = add(%x, 1);\n"
        "  let %x11 = %x1;\n"
        "  %0 = fn (%x2: int32) {\n"
        "    %x2\n"
        "  };\n"
        "  (%x11, %0)\n"
        "}\n");
}

/* ---- Types ---- */

static const char list_text[] =
    "type List[A] { Cons(A, List[A]), Nil, }\n"
    "def @map[A, B](%f: fn(A) -> B, %xs: List[A]) -> List[B] {\n"
    "  match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil }\n"
    "}\n"
    "def @foldl[A, B](%f: fn(A, B) -> A, %acc: A, %xs: List[B]) -> A {\n"
    "  match (%xs) { Cons(%x, %rest) => @foldl(%f, %f(%acc, %x), %rest), Nil => %acc }\n"
    "}\n"
    "def @compose[A, B, C](%f: fn(B) -> C, %g: fn(A) -> B) { fn (%x: A) -> C { %f(%g(%x)) } }\n";

static void expect_type(gpuc_ctx *ctx, const char *body, const char *type)
{
    gpuc_rmodule *m = program(ctx, gpuc_ctx_printf(ctx, "%s%s", list_text, body));
    assert_string_equal(gpuc_rmodule_function_type(ctx, m, "main"), type);
    round_trip(ctx, gpuc_ctx_printf(ctx, "%s%s", list_text, body));
}

static void types_of_programs(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    expect_type(ctx, "def @main(%xs: List[float32]) { @map(fn (%x) { %x > 0f }, %xs) }",
                "fn (List[float32]) -> List[bool]");
    expect_type(ctx, "def @main() { @foldl(fn (%a, %b) { %a + %b }, 0, Cons(1, Nil)) }", "fn () -> int32");
    expect_type(
        ctx, "def @main() { @compose(fn (%x) { %x + 1f }, fn (%i: int32) { cast(%i, dtype=\"float32\") }) }",
        "fn () -> fn (int32) -> float32");
    /* mutual recursion: neither return type is written, then one is */
    expect_type(ctx,
                "def @main(%n: int32) { if (%n == 0) { True } else { @odd(%n - 1) } }\n"
                "def @odd(%n: int32) { if (%n == 0) { False } else { @main(%n - 1) } }",
                "fn (int32) -> bool");
    expect_type(ctx,
                "def @main() { let %f = fn (%n: int32) -> int32 { if (%n < 1) { 1 } else { %n * %f(%n - 1) } "
                "}; %f(5) }",
                "fn () -> int32");
    expect_type(ctx,
                "def @main(%p: (int32, List[(bool, int32)])) {\n"
                "  match (%p) { (_, Cons((_, %n), _)) => %n, (%n, Nil) => %n } }",
                "fn ((int32, List[(bool, int32)])) -> int32");
    expect_type(ctx, "def @main(%x: Tensor[(3, 8), float32]) { fn (%w) { nn.dense(%x, %w, units=5) } }",
                "fn (Tensor[(3, 8), float32]) -> fn (Tensor[(5, 8), float32]) -> Tensor[(3, 5), float32]");
    expect_type(ctx,
                "def @main(%c: bool, %x: Tensor[(3, 8), float32], %y: Tensor[(?, 8), float32]) {\n"
                "  exp(if (%c) { %x } else { %y }) }",
                "fn (bool, Tensor[(3, 8), float32], Tensor[(?, 8), float32]) -> Tensor[(?, 8), float32]");
}

static void unknown_extents(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    expect_type(ctx, "def @main(%x: Tensor[(?, 4), float32]) { (%x + %x, concatenate((%x, %x), axis=0)) }",
                "fn (Tensor[(?, 4), float32]) -> (Tensor[(?, 4), float32], Tensor[(?, 4), float32])");
    expect_type(ctx,
                "def @main(%n: int32, %x: Tensor[(?, 4), float32]) -> Tensor[(?, 4), float32] {\n"
                "  if (%n < 1) { %x } else { @main(%n - 1, concatenate((%x, %x), axis=0)) } }",
                "fn (int32, Tensor[(?, 4), float32]) -> Tensor[(?, 4), float32]");
    expect_type(ctx, "def @main(%x: Tensor[(n, 4), float32]) { concatenate((%x, %x), axis=0) }",
                "fn (Tensor[(n, 4), float32]) -> Tensor[(n*2, 4), float32]");
}

static void trees_of_tensors(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    round_trip(ctx, "type Tree[A] {\n  Leaf(A),\n  Node(Tree[A], Tree[A]),\n}\n"
                    "def @encode(%t: Tree[Tensor[(?, 16), float32]], %w: Tensor[(16, 32), float32])"
                    " -> Tensor[(?, 16), float32] {\n"
                    "  match (%t) {\n    Leaf(%x) => %x,\n    Node(%l, %r) => {\n"
                    "      let %both = (@encode(%l, %w), @encode(%r, %w));\n"
                    "      tanh(nn.dense(concatenate(%both, axis=1), %w))\n    },\n  }\n}\n");
}

static void modules(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *lists = program(ctx, list_text);
    gpuc_rmodule *m =
        gpuc_relay_parse(ctx, "def @main(%xs: List[int32]) { @map(fn (%x) { (%x,) }, %xs) }", "more", lists);
    assert_int_equal(gpuc_rmodule_num_functions(lists), 3);
    assert_int_equal(gpuc_rmodule_num_functions(m), 4);
    assert_string_equal(gpuc_rmodule_function_name(m, 3), "main");
    assert_null(gpuc_rmodule_function_name(m, 4));
    assert_string_equal(gpuc_rmodule_function_type(ctx, m, "main"), "fn (List[int32]) -> List[(int32,)]");
    assert_string_equal(gpuc_rmodule_function_type(ctx, m, "map"),
                        "fn [A, B](fn (A) -> B, List[A]) -> List[B]");
}

/* TVM's own texts, in the folder that GPUC_TVM_SOURCE names: a copy of TVM 0.13. */
static void texts_of_tvm(void **state)
{
    static const char *const names[] = {"core", "prelude", "nat"};
    const char *root = getenv("GPUC_TVM_SOURCE");
    gpuc_ctx *ctx;
    gpuc_rmodule *before = NULL;
    (void)state;
    if (!root) {
        printf("skipped: GPUC_TVM_SOURCE names no copy of TVM\n");
        return;
    }
    assert_null(gpuc_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[1000], *text = calloc(1, 1 << 20);
        snprintf(path, sizeof path, "%s/python/tvm/relay/std/%s.rly", root, names[i]);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        size_t n = fread(text, 1, (1 << 20) - 1, f);
        fclose(f);
        before = gpuc_relay_parse(ctx, text, path, before); /* nat.rly needs prelude.rly */
        printf("%s: %zu bytes, %d functions so far\n", names[i], n, gpuc_rmodule_num_functions(before));
        free(text);
    }
    const char *whole = gpuc_relay_text(ctx, before, GPUC_RELAY_PRINT_VERSION);
    assert_string_equal(gpuc_relay_text(ctx, program(ctx, whole), GPUC_RELAY_PRINT_VERSION), whole);
    gpuc_ctx_destroy(ctx);
}

/* ---- Bad programs: the place, and what is said ---- */

typedef struct bad_row {
    const char *text, *said;
} bad_row;

#define LIST "type L[A] { C(A, L[A]), N }\n"
static const bad_row bad_rows[] = {
    {"def @main() { %y }", "text:1:15: unknown variable '%y'\ndef @main() { %y }\n              ^"},
    {"def @main(%abc: int32) { %abd }", "text:1:26: unknown variable '%abd'; did you mean 'abc'?"},
    {"def @main(%x: int32) { nn.rellu(%x) }",
     "1:24: unknown operator or constructor 'nn.rellu'; did you mean 'nn.relu'?"},
    {"def @main(%x: int32) { add }", "1:24: an operator is called"},
    {"def @main() { @mian() }", "the module has no function '@mian'; did you mean '@main'?"},
    {"def @main(%x: Lisst[int32]) { %x }\ntype List[A] { N }",
     "1:15: unknown type 'Lisst'; did you mean 'List'?"},
    {"def @main(%x: Tensor[(2), floot32]) { %x }", "1:27: 'floot32' is not an element type"},
    {"def @main(%x: Tensor[(2), float32) { %x }", "']' is expected, not ')'"},
    {"def @main(%x: Tensor[(-2), float32]) { %x }", "an extent is not negative"},
    {"def @main(%x: int32) { (%x, \n 1 + }", "2:6: an expression is expected, not '}'"},
    {"def @main(%x: int32) {", "an expression is expected, but the text ends"},
    {"/* no end", "1:1: the comment does not end"},
    {"def @main() { nn.pad(1, mode=\"edge) }", "1:30: the string does not end in its line"},
    {"def @main() { 1x }", "'1x' is not a number"},
    {"def @main() { 12345678901234567890 }", "the integer does not fit in 64 bits"},
    {"def @main() { 40000i16 }", "the integer does not fit in 16 bits"},
    {"def @main() { %1 }", "%1 is not defined before"},
    {"def @main() { meta[relay.Constant][3] }", "there are 0 constants"},
    {"def @main() { meta[Map][0] }", "only meta[relay.Constant] can be read"},
    {"def @main() { $ }", "the character belongs to no token"},
    {"def main() { 1 }", "a function's name is expected"},
    {"#[version = \"0.0.4\"]", "the version of the text must be \"0.0.5\""},
    {"#[metadata]", "only #[version] and #[constants] are known"},
    {"\n#[constants]\nTensor[(2), int8] \"AQ==\"", "the constant has 1 bytes, its type has 2"},
    {"\n#[constants]\nTensor[(n), int8] \"AQ==\"", "a constant is a tensor whose extents are numbers"},
    {"\n#[constants]\nTensor[(3), int8] \"A!ID\"", "a character is not of base64"},
    {"def @f() { 1 } def @f() { 2 }", "function 'f' is defined already"},
    {"type T { A, A }", "constructor 'A' is defined already"},
    {"type T { A } type T { B }", "type 'T' is defined already"},
    {LIST "def @main(%x: L[int32, int32]) { %x }", "'L' has 1 type parameters, not 2"},
    {"extern type T { A }", "an extern type has no constructors"},
    {LIST "def @main(%x: L[int32]) { match (%x) { C(_) => 1 } }", "C has 2 fields, not 1"},
    {LIST "def @main(%x: L[int32]) { match (%x) { D(_) => 1 } }", "unknown constructor 'D'"},
    {LIST "def @main(%x: L[int32]) {\n  match (%x) { C(_, N) => 1, N => 0 }\n}",
     "3:3: no clause fits C(_, C(_, _))"},
    {LIST "def @main(%x: (L[int32], L[int32])) { match (%x) { (N, _) => 1, (_, N) => 0 } }",
     "no clause fits (C(_, _), C(_, _))"},
    {LIST "def @main(%x: L[int32]) { match (%x) { } }", "no clause fits _"},
    {LIST "def @main(%x: int32) { match (%x) { N => 1, _ => 2 } }",
     "2:37: the pattern fits L[_], the value is int32"},
    {LIST "def @main(%x: L[int32]) { match (%x) { C(%y, _) => %y, N => 1f } }",
     "the clauses have different types: float32, and before it int32"},
    {LIST "def @main(%x: L[int32]) { match (%x) { (_, _) => 1 } }",
     "the pattern fits a tuple of 2 fields, the value is L[int32]"},
    {LIST "def @main() { C(1, C(1f, N)) }", "argument 1 of C is L[float32], it must be L[int32]"},
    {"def @main(%x: int32) -> float32 {\n  %x + 1\n}", "2:6: the function gives int32, it must give float32"},
    {"def @f(%x: int32) { %x }\ndef @main() {\n  @f(1f)\n}",
     "3:6: argument 0 of @f is float32, it must be int32"},
    {"def @f(%x: int32) { %x }\ndef @main() { @f(1, 2) }", "@f takes 1 arguments, not 2"},
    {"def @main(%x: int32) { %x(1) }", "%x is int32, no function that could be called"},
    {"def @main(%x) { %x }", "1:11: the type is not known, only _"},
    {"def @f(%x: int32) { @f(%x) }", "the type is not known"},
    {"def @main() { fn (%x, %y) { %x + %y } }", "1:19: the type is not known, only _"},
    {"def @main() { fn (%x) { %x(%x) } }", "the type would contain itself"},
    {"def @main(%x: int32) { if (%x) { 1 } else { 2 } }", "the condition is int32, it must be bool"},
    {"def @main() { if (True) { 1 } else { (1,) } }",
     "the branches have different types: int32 and (int32,)"},
    {"def @main(%x: (int32, float32)) { %x.2 }", "1:37: there is no field 2 in (int32, float32)"},
    {"def @main(%x: int32) { %x.0 }", "there is no field 0 in int32"},
    {"def @main() { let %x: float32 = 1; %x }", "1:33: %x is float32, its value int32"},
    {"def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(4, 5), float32]) {\n  nn.dense(%x, %y)\n}",
     "2:3: nn.dense: inner dimensions 3 and 5 differ"},
    {"def @main(%x: int32) { nn.softmax(%x, axs=2) }",
     "nn.softmax: has no attribute 'axs'; did you mean 'axis'?"},
    {"def @main(%x: int32) { nn.softmax(%x, axis=0, axis=1) }", "attribute 'axis' is given twice"},
    {"def @f(%x: int32) { %x } def @main() { @f(1, a=2) }", "only calls of operators have attributes"},
    {"def @f[A](%x: A) -> A { 1 }", "the function gives int32, it must give A"},
    {"def @f[A, B](%x: A) -> B { %x }", "the function gives A, it must give B"},
};

static void bad_programs(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof bad_rows / sizeof *bad_rows; i++) {
        gpuc_status status = gpuc_ctx_protect(ctx, infer_text, (void *)bad_rows[i].text);
        const char *message = gpuc_status_message(status);
        if (!strstr(message, bad_rows[i].said))
            fail_msg("of\n%s\nis said: %s\nexpected: %s", bad_rows[i].text, message, bad_rows[i].said);
        gpuc_status_release(status);
    }
}

/* ---- Large and deep ---- */

static const char *repeat(gpuc_ctx *ctx, const char *before, const char *part, int n, const char *after)
{
    gpuc_buf out;
    gpuc_buf_init(&out, ctx->allocator);
    gpuc_buf_str(&out, before);
    for (int i = 0; i < n; i++) gpuc_buf_str(&out, part);
    gpuc_buf_str(&out, after);
    const char *text = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&out));
    gpuc_buf_deinit(&out);
    return text;
}

static void long_programs(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    enum { N = 20000 };
    program(ctx, repeat(ctx, "def @main(%x: int32) { %x", " + %x", N, "}"));
    program(ctx, repeat(ctx, "def @main(%x: int32) {", "let %x = %x + 1;", N, "%x}"));
    program(ctx, repeat(ctx, "def @main(%x: int32) { %0 = %x;", "%0 = (%0 + 1);", N, "%0}"));
}

static void deep_text(gpuc_ctx *ctx, void *arg)
{
    enum { N = 100000 };
    static const char *const rows[][3] = {
        {"def @main() {", "(", "nested more than"},
        {"def @main() {", "if (True) {", "nested more than"},
        {"def @main() {", "fn () {", "nested more than"},
        {"def @main(%x: ", "(", "nested more than"},
        {"def @main() { nn.pad(1, pad_width=", "[", "nested more than"},
        {"type L { N } def @main(%x: L) { match (%x) {", "(", "nested more than"},
        {"def @main() { %0 = 1;", "%0 = (%0,);", "a type has more than"},
        {"", "/*", "the comment does not end"},
    };
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        fx_expect(ctx, GPUC_INVALID_DATA, rows[i][2], infer_text,
                  (void *)repeat(ctx, rows[i][0], rows[i][1], N, ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(a_graph_as_tvm_prints_it),
        fx_test(literals_and_operators),
        fx_test(attributes_and_extents),
        fx_test(names_are_made_unique),
        fx_test(types_of_programs),
        fx_test(unknown_extents),
        fx_test(trees_of_tensors),
        fx_test(modules),
        cmocka_unit_test(texts_of_tvm),
        fx_test(bad_programs),
        fx_test(long_programs),
        fx_test(deep_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
