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
        round_trip(ctx,
                   "#[version = \"0.0.5\"]\n"
                   "/* outer /* inner */ */ def @main(%a: float32) { // a comment\n"
                   "  %0 = %a + %a * %a - -2.5f / %a;\n"
                   "  (True == %0 <= 1f != True, 1, -2147483648, 3000000000, 7i64, 3i16, 1e-5f, 2f64, inff,\n"
                   "   (), (1,), ((1, 2), 3).0.1)\n"
                   "}"),
        "def @main(%a: float32) {\n"
        "  %0 = multiply(%a, %a);\n"
        "  %1 = add(%a, %0);\n"
        "  %2 = divide(-2.5f, %a);\n"
        "  %3 = subtract(%1, %2);\n"
        "  %4 = less_equal(%3, 1f);\n"
        "  %5 = equal(True, %4);\n"
        "  %6 = not_equal(%5, True);\n"
        "  %7 = ();\n"
        "  %8 = (1,);\n"
        "  (%6, 1, -2147483648, 3000000000i64, 7i64, 3i16, 1e-05f, 2f64, inff, %7, %8, 2)\n"
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

/* Each node is printed once, in the innermost block that has all its uses. */
/* A `?` that an attribute uses has a name where the text says it first, so that the text runs. */
static void names_of_unknown_extents(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_string_equal(
        round_trip(
            ctx,
            "def @main(%x: Tensor[(?, ?, ?), float32], %y: Tensor[(d1, 3), int8], %s: Tensor[(2), int32]) {\n"
            "  %0 = dyn.tile(%y, %s);\n"
            "  let %v = { let %u = dyn.tile(%y, %s); let %w = reshape(%u, newshape=[-3]); exp(cast(%u, "
            "dtype=\"float32\")) };\n"
            "  let %f = fn (%z: Tensor[(?, k), int8]) { reshape(%z, newshape=[-3]) };\n"
            "  let %g = fn (%z: Tensor[(k, 2), int8]) { reshape(%z, newshape=[-3]) };\n"
            "  (reshape(%x, newshape=[0, -3]), split(nn.relu(%0), indices_or_sections=1),\n"
            "   reshape(if (True) { %y } else { %0 }, newshape=[-3]), reshape(%v, newshape=[-3])) }"),
        "def @main(%x: Tensor[(d0, d2, d3), float32], %y: Tensor[(d1, 3), int8], %s: Tensor[(2), int32]) {\n"
        "  let %v: Tensor[(d4, d5), float32] = {\n"
        "    let %u: Tensor[(d6, d7), int8] = dyn.tile(%y, %s);\n"
        "    let %w = reshape(%u, newshape=[d6*d7]);\n"
        "    %0 = cast(%u, dtype=\"float32\");\n"
        "    exp(%0)\n"
        "  };\n"
        "  let %f = fn (%z: Tensor[(d8, k), int8]) {\n"
        "    reshape(%z, newshape=[d8*k])\n"
        "  };\n"
        "  let %g = fn (%z1: Tensor[(k_1, 2), int8]) {\n"
        "    reshape(%z1, newshape=[k_1*2])\n"
        "  };\n"
        "  %1 = reshape(%x, newshape=[d0, d2*d3]);\n"
        "  %2: Tensor[(d9, ?), int8] = dyn.tile(%y, %s);\n"
        "  %3 = nn.relu(%2);\n"
        "  %4 = split(%3, sizes=[d9]);\n"
        "  %5: Tensor[(d10, d11), int8] = if (True) {\n"
        "    %y\n"
        "  } else {\n"
        "    %2\n"
        "  };\n"
        "  %6 = reshape(%5, newshape=[d10*d11]);\n"
        "  %7 = reshape(%v, newshape=[d4*d5]);\n"
        "  (%1, %4, %6, %7)\n"
        "}\n");
    /* What a function inside names, it names for itself; so does the first pattern. */
    assert_string_equal(
        round_trip(
            ctx, "type P { P(Tensor[(?, 2), int8]), N, }\n"
                 "def @main(%p: P, %s: Tensor[(2), int32]) {\n"
                 "  let %f = fn (%x) { reshape(dyn.tile(%x, %s), newshape=[-3]) };\n"
                 "  match (%p) { P(%x) => (reshape(%x, newshape=[-3]), %f(%x)), N => (%f(ones(shape=[2, 2], "
                 "dtype=\"int8\")), ones(shape=[2], dtype=\"int8\")) } }"),
        "type P {\n"
        "  P(Tensor[(?, 2), int8]),\n"
        "  N,\n"
        "}\n"
        "\n"
        "def @main(%p: P, %s: Tensor[(2), int32]) {\n"
        "  let %f = fn (%x: Tensor[(d0, 2), int8]) {\n"
        "    %0: Tensor[(d1, d2), int8] = dyn.tile(%x, %s);\n"
        "    reshape(%0, newshape=[d1*d2])\n"
        "  };\n"
        "  match (%p) {\n"
        "    P(%x1: Tensor[(d3, 2), int8]) => {\n"
        "      %1 = reshape(%x1, newshape=[d3*2]);\n"
        "      %2 = %f(%x1);\n"
        "      (%1, %2)\n"
        "    },\n"
        "    N => {\n"
        "      %3 = ones(shape=[2, 2], dtype=\"int8\");\n"
        "      %4 = %f(%3);\n"
        "      %5 = ones(shape=[2], dtype=\"int8\");\n"
        "      (%4, %5)\n"
        "    },\n"
        "  }\n"
        "}\n");
}

static void nodes_that_branches_share(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_string_equal(round_trip(ctx,
                                   "def @main(%c: bool, %x: int32) {\n"
                                   "  %0 = %x + 1; %1 = %x * 2;\n"
                                   "  let %f = fn (%y: int32) { %y + %1 };\n"
                                   "  if (%c) { let %z = %f(%0); %z } else { %f({ let %w = %0; %w + %w }) }\n"
                                   "}\n"),
                        "def @main(%c: bool, %x: int32) {\n"
                        "  let %f = fn (%y: int32) {\n"
                        "    %0 = multiply(%x, 2);\n"
                        "    add(%y, %0)\n"
                        "  };\n"
                        "  %1 = add(%x, 1);\n"
                        "  if (%c) {\n"
                        "    let %z = %f(%1);\n"
                        "    %z\n"
                        "  } else {\n"
                        "    %2 = {\n"
                        "      let %w = %1;\n"
                        "      add(%w, %w)\n"
                        "    };\n"
                        "    %f(%2)\n"
                        "  }\n"
                        "}\n");
}

/* The section is read where it stands; strings and numbers come back as they were. */
static void constants_and_values(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_string_equal(
        round_trip(ctx, "/*\n#[constants]\n*/ def @main() { (meta[relay.Constant][1], 1E3, inff16, "
                        "-inff64, nn.pad(meta[relay.Constant][0], pad_width=[[1, 1]], pad_value=nanf))"
                        " }\n  # [ constants ]\nTensor[(1), float32] \"AACAPw==\" int8 \"AQ==\""),
        "def @main() {\n"
        "  %0 = nn.pad(meta[relay.Constant][0], pad_before=[1], pad_after=[1], value=nanf);\n"
        "  (meta[relay.Constant][1], 1000f, inff16, -inff64, %0)\n"
        "}\n");
    gpuc_rmodule *m = program(ctx, "def @main() { fn (%x: int32, compiler=\"a\\\\n\\n\\\"\") { %x } }");
    assert_non_null(strstr(gpuc_relay_text(ctx, m, 0), "compiler=\"a\\\\n\\n\\\"\""));
}

/* A list of two: bools that were saved as the second array, and floats. */
static void constants_of_tvm(gpuc_ctx *ctx, void *arg)
{
    static const char text[] =
        "def @main() { (meta[relay.Constant][0], meta[relay.Constant][1]) }\n"
        "#[metadata]\n"
        "{\"root\": 1, \"nodes\": [{\"type_key\": \"\"}, {\"type_key\": \"Map\", \"keys\": [\"Other\", "
        "\"relay.Constant\"], \"data\": [2, 3]}, {\"type_key\": \"Array\"}, {\"type_key\": \"Array\", \""
        "data\": [4, 5]}, {\"type_key\": \"relay.Constant\", \"attrs\": {\"data\": \"1\", \"span\": \"0"
        "\"}}, {\"type_key\": \"relay.Constant\", \"attrs\": {\"data\": \"0\"}}], \"b64ndarrays\": [\"P6"
        "G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAAEA=\", \"P6G0lvBAXt0AAAA"
        "AAAAAAAEAAAAAAAAAAgAAAAEBAQABAAAAAAAAAAMAAAAAAAAAAwAAAAAAAAABAAE=\"], \"attrs\": {\"tvm_version"
        "\": \"0.13.0\"}}";
    (void)arg;
    round_trip(ctx, text);
    assert_string_equal(
        gpuc_relay_text(ctx, program(ctx, text), GPUC_RELAY_PRINT_CONSTANTS),
        "def @main() {\n  (meta[relay.Constant][0], meta[relay.Constant][1])\n}\n\n#[constants]\n"
        "Tensor[(1, 3), bool] \"AQAB\"\nTensor[(2), float32] \"AACAPwAAAEA=\"\n");
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

/* Without constructors, extern, with two parameters, and patterns of them. */
static void types_of_all_sorts(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const char *text = "type Void {\n}\n\n"
                       "extern type Handle\n\n"
                       "type Either[A, B] {\n  Left(A),\n  Right(B),\n}\n\n"
                       "def @main(%v: Void, %h: Handle, %e: Either[int32, ()]) {\n"
                       "  match (%e) {\n"
                       "    Left(%n) => {\n      %n\n    },\n"
                       "    Right(()) => {\n      0\n    },\n"
                       "  }\n"
                       "}\n";
    assert_string_equal(round_trip(ctx, text), text);
    assert_string_equal(gpuc_rmodule_function_type(ctx, program(ctx, text), "main"),
                        "fn (Void, Handle, Either[int32, ()]) -> int32");
}

/* Operators tell the types of their inputs, which more calls and lets hand on. */
static void types_of_inputs(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    expect_type(ctx, "def @main(%x: Tensor[(3, 8), float32]) { fn (%w) { nn.dense(%x, %w, units=5) } }",
                "fn (Tensor[(3, 8), float32]) -> fn (Tensor[(5, 8), float32]) -> Tensor[(3, 5), float32]");
    expect_type(ctx,
                "def @main(%x: Tensor[(3, 8), float32]) {\n"
                "  fn (%w, %v) { nn.dense(nn.dense(%x, %w, units=5), %v, units=2) } }",
                "fn (Tensor[(3, 8), float32]) -> fn (Tensor[(5, 8), float32], Tensor[(2, 5), float32]) -> "
                "Tensor[(3, 2), float32]");
    expect_type(ctx,
                "def @main(%x: Tensor[(3, 8), float32]) {\n"
                "  fn (%w) { let %u = %w; let %f = fn (%a) { nn.dense(%a, %u, units=5) }; %f(%x) } }",
                "fn (Tensor[(3, 8), float32]) -> fn (Tensor[(5, 8), float32]) -> Tensor[(3, 5), float32]");
}

/* Names of type parameters do not matter, and constructors are functions. */
static void functions_as_values(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    expect_type(ctx,
                "def @main(%c: bool) { let %f = if (%c) { fn [A, B](%a: A, %b: B) { %a } } else {\n"
                "  fn [B, A](%a: B, %b: A) { %a } }; (%f(1, 2f), %f(2f, 1)) }",
                "fn (bool) -> (int32, float32)");
    expect_type(ctx,
                "type Box[A] { Box(A), }\n"
                "def @main(%xs: List[int32]) { @map(Box, %xs) }",
                "fn (List[int32]) -> List[Box[int32]]");
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

static void matches_as_they_are_printed(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const char *text = "type L {\n  C(L),\n  N,\n}\n\n"
                       "def @main(%x: (L, L), %y: ((L,),)) {\n"
                       "  %0 = match (%x) {\n"
                       "    (C(_), N) => {\n      0\n    },\n"
                       "    (_, C(%l)) => {\n      1\n    },\n"
                       "    (N, N) => {\n      2\n    },\n"
                       "  };\n"
                       "  %1 = match? (%y) {\n"
                       "    ((N,),) => {\n      3\n    },\n"
                       "  };\n"
                       "  (%0, %1)\n"
                       "}\n";
    assert_string_equal(round_trip(ctx, text), text);
}

static void type_parameters(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    /* of a local function that calls itself */
    expect_type(
        ctx,
        "def @main() { let %f = fn [A](%x: A, %n: int32) -> A { if (%n < 1) { %x } else { %f(%x, %n - 1) } };"
        " (%f(1, 2), %f(1f, 2)) }",
        "fn () -> (int32, float32)");
    /* another type at each level */
    expect_type(
        ctx, "def @main[A](%x: A, %n: int32) -> int32 { if (%n < 1) { 0 } else { @main((%x, %x), %n - 1) } }",
        "fn [A](A, int32) -> int32");
    /* a parameter that is a function with type parameters, of what is as general or more */
    expect_type(ctx,
                "def @both(%g: fn [A](List[A]) -> List[A]) { (%g(Cons(1, Nil)), %g(Cons(1f, Nil))) }\n"
                "def @id[A](%x: A) -> A { %x }\n"
                "def @main() { (@both(fn [B](%x: List[B]) { %x }), @both(@id)) }",
                "fn () -> ((List[int32], List[float32]), (List[int32], List[float32]))");
    expect_type(ctx,
                "def @use(%k: fn (fn [A](A) -> A) -> int32) -> int32 { %k(fn [A](%x: A) { %x }) }\n"
                "def @main() { @use(fn (%g: fn (int32) -> int32) { %g(1) }) }",
                "fn () -> int32");
    /* results of functions, branches and fields keep theirs */
    expect_type(ctx,
                "def @make() { fn [A](%x: A) { %x } }\n"
                "def @main(%c: bool) { let %f = if (%c) { @make() } else { fn [B](%y: B) { %y } };"
                " let %t = (%f, 1); (%f(1), %f(True), %t.0(1f)) }",
                "fn (bool) -> (int32, bool, float32)");
}

/* A branch that gives a function with type parameters, anywhere inside, and one that gives a function without: in both
 * orders it is the latter, and only of the branches' result. */
static void branches_of_functions(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        const char *one, *other, *type;
    } rows[] = {
        {"@id", "fn (%x: int32) { %x }", "fn (int32) -> int32"},
        {"(@id, 1)", "(fn (%x: int32) { %x }, 1)", "(fn (int32) -> int32, int32)"},
        {"((@id, @id), 1)", "((fn (%x: int32) { %x }, @id), 1)",
         "((fn (int32) -> int32, fn [A](A) -> A), int32)"},
        {"(@id, fn (%x: int32) { %x })", "(fn (%x: int32) { %x }, @id)",
         "(fn (int32) -> int32, fn (int32) -> int32)"},
        {"fn () { (@id, 1) }", "fn () { (fn (%x: int32) { %x }, 1) }",
         "fn () -> (fn (int32) -> int32, int32)"},
        {"fn (%g: fn [A](A) -> A) { %g(1) }", "fn (%g: fn (int32) -> int32) { %g(1) }",
         "fn (fn [A](A) -> A) -> int32"},
        {"fn [A](%x: A, %y: A) { %x }", "fn [A, B](%x: A, %y: B) { %x }", "fn [A](A, A) -> A"},
        {"fn (%g: fn [A](A, A) -> A) { %g(1, 1) }", "fn (%g: fn [A, B](A, B) -> A) { %g(1, 1f) }",
         "fn (fn [A, B](A, B) -> A) -> int32"},
        {"(%g, %n)", "(fn (%x: int32) { %x }, 1)", "(fn (int32) -> int32, int32)"},
    };
    (void)arg;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const char *one = i % 2 ? rows[i / 2].one : rows[i / 2].other,
                   *other = i % 2 ? rows[i / 2].other : rows[i / 2].one;
        const char *const forms[] = {"if (%%c) { %s } else { %s }",
                                     "match (%%l) { Nil => { %s }, Cons(_, _) => { %s } }"};
        const char *joined = gpuc_ctx_printf(ctx, "(%s, float32)", rows[i / 2].type);
        for (int k = 0; k < 2; k++) {
            const char *text =
                gpuc_ctx_printf(ctx,
                                "def @id[A](%%x: A) -> A { %%x }\n"
                                "def @main(%%c: bool, %%l: List[int32], %%p: (fn [A](A) -> A, int32)) {\n"
                                "  match (%%p) { (%%g, %%n) => { (%s, %%g(1f)) } } }",
                                gpuc_ctx_printf(ctx, forms[k], one, other));
            const char *type =
                gpuc_ctx_printf(ctx, "fn (bool, List[int32], (fn [A](A) -> A, int32)) -> %s", joined);
            expect_type(ctx, text, type);
            /* and from the types of parts, as after a pass */
            gpuc_rmodule *m = program(ctx, gpuc_ctx_printf(ctx, "%s%s", list_text, text));
            gpuc_relay_infer_type(ctx, m, gpuc_rmodule_get(m, "main"));
            assert_string_equal(gpuc_rmodule_function_type(ctx, m, "main"), type);
        }
    }
}

/* Arguments of one type parameter, in both orders. What an argument wants stays wanted: ill_typed.txt. */
static void arguments_of_functions(gpuc_ctx *ctx, void *arg)
{
    static const char *const rows[][3] = {
        {"Cons((@id, 1), Cons((fn (%x: int32) { %x }, 1), Nil))",
         "Cons((fn (%x: int32) { %x }, 1), Cons((@id, 1), Nil))", "List[(fn (int32) -> int32, int32)]"},
        {"Cons((@id, 1), Cons((@id, 2), Nil))", "Cons((fn [A](%x: A) { %x }, 1), Cons((@id, 2), Nil))",
         "List[(fn [A](A) -> A, int32)]"},
        {"@foldl(fn (%a: (fn (int32) -> int32, int32), %b: int32) { %a }, (@id, 1), Cons(1, Nil))",
         "@foldl(fn (%a, %b) { (fn (%x: int32) { %x }, %b) }, (@id, 1), Cons(1, Nil))",
         "(fn (int32) -> int32, int32)"},
    };
    (void)arg;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++)
        expect_type(
            ctx,
            gpuc_ctx_printf(ctx, "def @id[A](%%x: A) -> A { %%x }\ndef @main() { %s }", rows[i / 2][i % 2]),
            gpuc_ctx_printf(ctx, "fn () -> %s", rows[i / 2][2]));
}

typedef struct parse_job {
    const char *text;
    const gpuc_rmodule *with;
} parse_job;

static void parse_with(gpuc_ctx *ctx, void *arg)
{
    const parse_job *job = arg;
    gpuc_relay_parse(ctx, job->text, "more", job->with);
}

/* What a module begins with may be of another context, which is not touched. */
static void modules_of_other_contexts(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_ctx *other;
    gpuc_rmodule *lists = program(ctx, list_text);
    const char *before = gpuc_relay_text(ctx, lists, GPUC_RELAY_PRINT_TYPES);
    assert_null(gpuc_ctx_create(NULL, &other));
    parse_job job = {"def @main() { @map(fn (%x) { %x + 1 }, Cons(1, Nil)) }", lists};
    assert_null(gpuc_ctx_protect(other, parse_with, &job));
    gpuc_ctx_destroy(other);
    assert_string_equal(gpuc_relay_text(ctx, lists, GPUC_RELAY_PRINT_TYPES), before);
}

static void parse_null(gpuc_ctx *ctx, void *arg)
{
    gpuc_relay_parse(ctx, arg, arg ? NULL : "", NULL);
}

static void print_null(gpuc_ctx *ctx, void *arg)
{
    if (arg)
        gpuc_rmodule_function_type(ctx, arg, NULL);
    else
        gpuc_relay_text(ctx, NULL, 0);
}

static void ask_for_nothing(gpuc_ctx *ctx, void *arg)
{
    gpuc_rmodule_function_type(ctx, arg, "nothing");
}

static void wrong_calls(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = program(ctx, "");
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "text is NULL", parse_null, NULL);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "origin is NULL", parse_null, "def");
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "module is NULL", print_null, NULL);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "name of a function is NULL", print_null, m);
    fx_expect(ctx, GPUC_NOT_FOUND, "no function 'nothing'", ask_for_nothing, m);
    assert_int_equal(gpuc_rmodule_num_functions(NULL), 0);
    assert_null(gpuc_rmodule_function_name(m, -1));
    assert_string_equal(gpuc_relay_text(ctx, m, 0), "");
}

/* What a variable's use was found with holds for all that it gets; elements of a list may know less. */
static void extents_of_variables(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    expect_type(ctx,
                "def @main(%a: Tensor[(3), float32], %b: Tensor[(?), float32]) {\n"
                "  let %f = fn (%x) { exp(%x) }; (%f(%a), %f) }",
                "fn (Tensor[(3), float32], Tensor[(?), float32]) -> (Tensor[(3), float32],"
                " fn (Tensor[(3), float32]) -> Tensor[(3), float32])");
    expect_type(ctx,
                "def @main(%a: Tensor[(3), float32], %b: Tensor[(?), float32]) {\n"
                "  let %f = fn (%x) { exp(%x) }; let %y = %f(%a); (%f(%b), %f) }",
                "fn (Tensor[(3), float32], Tensor[(?), float32]) -> (Tensor[(3), float32],"
                " fn (Tensor[(3), float32]) -> Tensor[(3), float32])");
    expect_type(ctx,
                "def @main(%a: Tensor[(3), float32], %b: Tensor[(?), float32]) { Cons(%a, Cons(%b, Nil)) }",
                "fn (Tensor[(3), float32], Tensor[(?), float32]) -> List[Tensor[(?), float32]]");
}

/* A call has the sizes of its own arguments. */
static void extents_of_calls(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const char *twice = "def @twice(%x: Tensor[(n, 2), float32]) { concatenate((%x, %x), axis=0) }\n";
    expect_type(ctx,
                gpuc_ctx_printf(ctx,
                                "%sdef @main(%%x: Tensor[(3, 2), float32], %%y: Tensor[(n + 1, 2), float32], "
                                "%%z: Tensor[(?, 2), float32]) { (@twice(%%x), @twice(%%y), @twice(%%z)) }",
                                twice),
                "fn (Tensor[(3, 2), float32], Tensor[(n + 1, 2), float32], Tensor[(?, 2), float32]) -> "
                "(Tensor[(6, 2), float32], Tensor[((n + 1)*2, 2), float32], Tensor[(?, 2), float32])");
    /* What a `?` of a parameter is comes out again; one of the result's own is new. */
    expect_type(ctx,
                "def @same(%x: Tensor[(?), int32]) { (%x, dyn.tile(%x, reshape(max(%x), newshape=[1]))) }\n"
                "def @main(%x: Tensor[(k), int32]) { @same(%x) }",
                "fn (Tensor[(k), int32]) -> (Tensor[(k), int32], Tensor[(?), int32])");
    /* Names that both functions have are exchanged at once; parameters of data types say sizes, too. */
    expect_type(ctx,
                "def @turn(%x: Tensor[(n, m), int32], %l: List[Tensor[(k), int32]]) { (transpose(%x), %l) }\n"
                "def @main(%x: Tensor[(m, n), int32]) { @turn(%x, Cons(reshape(%x, newshape=[-1]), Nil)) }",
                "fn (Tensor[(m, n), int32]) -> (Tensor[(n, m), int32], List[Tensor[(m*n), int32]])");
    expect_type(
        ctx,
        "def @grow(%i: int32, %x: Tensor[(n), int32]) -> Tensor[(?), int32] {\n"
        "  if (%i == 0) { %x } else { @grow(%i - 1, concatenate((%x, %x), axis=0)) } }\n"
        "def @main(%x: Tensor[(3), int32]) { (@grow(2, %x), (fn (%y: Tensor[(l), int32]) { %y })(%x)) }",
        "fn (Tensor[(3), int32]) -> (Tensor[(?), int32], Tensor[(3), int32])");
}

/* A local function has its own sizes in each call, and one size for each name of those around it. */
static void extents_of_local_calls(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    /* A type that is written of what nothing uses. */
    expect_type(ctx, "def @main(%x: Tensor[(n), float32]) { %1: Tensor[(n), float32] = exp(%x); tanh(%x) }",
                "fn (Tensor[(n), float32]) -> Tensor[(n), float32]");
    expect_type(
        ctx,
        "def @main(%a: Tensor[(n), int32], %b: Tensor[(m), int32]) {\n"
        "  let %g = fn (%x: Tensor[(n), int32], %y: Tensor[(k), int32]) { concatenate((%x, %a, %y)) };\n"
        "  (%g(%a, %b), %g(%b, %a), %g(ones(shape=[4], dtype=\"int32\"), %a)) }",
        "fn (Tensor[(n), int32], Tensor[(m), int32]) -> "
        "(Tensor[(n*2 + m), int32], Tensor[(?), int32], Tensor[(?), int32])");
    /* Types that are found, and those of functions that others give. */
    expect_type(ctx,
                "def @two(%a: Tensor[(n), int32]) { fn (%x: Tensor[(n), int32]) { concatenate((%x, %a)) } }\n"
                "def @main(%a: Tensor[(n), int32], %b: Tensor[(m), int32]) {\n"
                "  let %d = fn (%v) { concatenate((%v, %a)) };\n  let %g = @two(%b);\n"
                "  (%d(%a), %d(%b), %g(%b), %g(%a)) }",
                "fn (Tensor[(n), int32], Tensor[(m), int32]) -> "
                "(Tensor[(n*2), int32], Tensor[(?), int32], Tensor[(m*2), int32], Tensor[(?), int32])");
    /* What calls itself is inside of its own sizes. */
    expect_type(
        ctx,
        "def @main(%b: bool, %a: Tensor[(n), int32]) {\n"
        "  let %f = fn (%x: Tensor[(k), int32]) -> Tensor[(k + 1), int32] {\n"
        "    let %y = if (%b) { %f(concatenate((%x, %x))) } else { %f(%x) };\n"
        "    concatenate((%x, 1 + zeros(shape=[1], dtype=\"int32\"))) };\n  %f(concatenate((%a, %a))) }",
        "fn (bool, Tensor[(n), int32]) -> Tensor[(n*2 + 1), int32]");
    expect_type(
        ctx,
        "def @main(%a: Tensor[(n), int32]) {\n"
        "  let %f = fn (%x: Tensor[(k), int32]) { fn (%y: Tensor[(k), int32], %z: Tensor[(n), int32]) { "
        "(%y, %z) } };\n  let %g = %f(%a);\n  %g(%a, ones(shape=[3], dtype=\"int32\")) }",
        "fn (Tensor[(n), int32]) -> (Tensor[(n), int32], Tensor[(n), int32])");
}

/* What may be of either of two sizes is of none that is known. */
static void extents_of_either(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    expect_type(ctx,
                "def @main(%c: bool, %x: Tensor[(n, m), int32], %y: Tensor[(3, m), int32]) {\n"
                "  (if (%c) { %x } else { concatenate((%x, %x)) }, if (%c) { %x } else { %y },\n"
                "   if (%c) { (%x, %c) } else { (%x, %c) }) }",
                "fn (bool, Tensor[(n, m), int32], Tensor[(3, m), int32]) -> (Tensor[(?, m), int32], "
                "Tensor[(?, m), int32], (Tensor[(n, m), int32], bool))");
    expect_type(ctx,
                "def @last[A](%x: A, %y: A) -> A { %y }\n"
                "def @main(%x: Tensor[(n), int32], %y: Tensor[(m), int32]) {\n"
                "  (@last(%x, %y), @last(%x, %x), Cons(%x, Cons(%y, Nil)),\n"
                "   match (Cons(%x, Nil)) { Cons(%v, _) => %v, Nil => %y }) }",
                "fn (Tensor[(n), int32], Tensor[(m), int32]) -> (Tensor[(?), int32], Tensor[(n), int32], "
                "List[Tensor[(?), int32]], Tensor[(?), int32])");
    /* Other names of a function are its own in each call. */
    expect_type(ctx,
                "def @tile(%x: Tensor[(n), int32], %s: Tensor[(1), int32]) {\n"
                "  let %y: Tensor[(m), int32] = dyn.tile(%x, %s);\n  (%x, concatenate((%x, %y))) }\n"
                "def @main(%x: Tensor[(m), int32], %s: Tensor[(1), int32]) { @tile(%x, %s) }",
                "fn (Tensor[(m), int32], Tensor[(1), int32]) -> (Tensor[(m), int32], Tensor[(?), int32])");
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
        {"def @main(%x: ", "(", "nested more than 400 deep"},
        {"def @main() { nn.pad(1, pad_width=", "[", "nested more than"},
        {"type L { N } def @main(%x: L) { match (%x) {", "(", "nested more than"},
        {"def @main() { %0 = 1;", "%0 = (%0,);", "a type has more than"},
        {"def @main() { ", "match ", "nested more than"},
        {"def @main(%x: ", "fn () -> ", "nested more than"},
        {"def @main(%x: Tensor[(", "(", "nested more than"},
        {"def @main() { %0 = (1, 1);", "%0 = (%0, %0);", "a type has more than"},
        {"def @main(%a: int32) { let %b = %a", ".0", "';' is expected"},
        {"", "/*", "the comment does not end"},
    };
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        fx_expect(ctx, GPUC_INVALID_DATA, rows[i][2], infer_text,
                  (void *)repeat(ctx, rows[i][0], rows[i][1], N, ""));
}

/* Blocks that are nested as deep as text may have them print, and so does what is only nested when each node stands in the
 * innermost block of its uses. */
static void deep_blocks(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        const char *before, *part, *middle, *end, *after;
        int n;
    } rows[] = {
        {"def @main(%c: bool) {", "if (%c) {", "1", "} else { 2 }", "}", 895},
        {"def @main(%c: bool) {", "if (%c) { let %a = ", "1", "; %a } else { 2 }", "}", 895},
        {"def @main(%x: int32) {", "{ let %x = %x + 1;", "%x * 2", "} - 1", "}", 895},
        {"def @main() {", "fn () {", "1", "}", "}", 390},
        {"def @main(%x: int32) {", "fn (%x: int32) { %x + ", "1", "}(%x)", "}", 895},
        {"type L { C(int32), N, } def @main(%l: L) {", "match (%l) { C(%x) => ", "1", ", N => 2 }", "}", 440},
        {"type L { C(int32), N, } def @main(%l: L) {", "match (%l) { C(%x) => { %x + ", "1", "}, N => 2 }",
         "}", 440},
        {"def @main(%c: bool, %x: int32) {",
         "if (%c) { fn [A](%a: A, %b: int32) -> A { let %d: A = %a; %d }(", "%x", ", 1) } else { 2 }", "}",
         290},
    };
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *inner = repeat(ctx, repeat(ctx, rows[i].before, rows[i].part, rows[i].n, rows[i].middle),
                                   rows[i].end, rows[i].n, rows[i].after);
        round_trip(ctx, inner);
    }
    /* chains: each node is used in a branch of the next only */
    round_trip(ctx,
               repeat(ctx, "def @main(%c: bool) { %0 = 1;", "%0 = if (%c) { %0 } else { 2 };", 5000, "%0 }"));
    round_trip(ctx, repeat(ctx, "def @main(%c: bool) { %0 = 1;",
                           "%0 = if (%c) { let %a = %0 + 3; %a * %a } else { 2 };", 5000, "%0 }"));
    round_trip(ctx,
               repeat(ctx, "def @main(%x: int32) { %0 = 1;", "%0 = { let %x = %0; %x + 1 };", 5000, "%0 }"));
    round_trip(ctx, repeat(ctx, "def @main(%x: int32) { %0 = 1;", "%0 = fn (%y: int32) { %y - %0 }(%x);",
                           5000, "%0 }"));
    round_trip(
        ctx, repeat(ctx,
                    "type L[A] { C(A, L[A]), N, }\n"
                    "def @main[A](%l: L[A], %f: fn(A) -> int32) { match? (%l) { C(%x, %r) => { %0 = %f(%x);",
                    "%0 = match (%r) { C(%y, _) => %f(%y) - %0, N => 3 };", 2000, "%0 } } }"));
    round_trip(ctx,
               repeat(ctx, "def @main(%c: bool) { fn [B](%b: B) -> int32 { %0 = 1;",
                      "%0 = if (%c) { let %g = fn (%z: B) -> B { %z }; %0 } else { 2 };", 2000, "%0 } }"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(a_graph_as_tvm_prints_it),
        fx_test(literals_and_operators),
        fx_test(attributes_and_extents),
        fx_test(names_of_unknown_extents),
        fx_test(nodes_that_branches_share),
        fx_test(constants_and_values),
        fx_test(constants_of_tvm),
        fx_test(names_are_made_unique),
        fx_test(types_of_programs),
        fx_test(unknown_extents),
        fx_test(matches_as_they_are_printed),
        fx_test(type_parameters),
        fx_test(branches_of_functions),
        fx_test(arguments_of_functions),
        fx_test(extents_of_variables),
        fx_test(extents_of_calls),
        fx_test(extents_of_local_calls),
        fx_test(extents_of_either),
        fx_test(types_of_all_sorts),
        fx_test(types_of_inputs),
        fx_test(functions_as_values),
        fx_test(trees_of_tensors),
        fx_test(modules),
        fx_test(modules_of_other_contexts),
        fx_test(wrong_calls),
        cmocka_unit_test(texts_of_tvm),
        fx_test(long_programs),
        fx_test(deep_text),
        fx_test(deep_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
