/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over programs that are no graphs: they keep types and meaning, or say that they take graphs only. */
#include <gpuc/relay_pass.h>

#include "pass_test.h"

enum { TYPES = GPUC_RELAY_PRINT_CONSTANTS | GPUC_RELAY_PRINT_TYPES };

static const char list_text[] = "type List[A] { Cons(A, List[A]), Nil, }\n"
                                "def @id[A](%x: A) -> A { %x }\n";

static gpuc_rmodule *program(gpuc_ctx *ctx, const char *text)
{
    return gpuc_relay_parse(ctx, gpuc_ctx_printf(ctx, "%s%s", list_text, text), "text", NULL);
}

/* After the pass, nodes have the types that inference finds, and functions those that they had. */
static void expect_types(gpuc_ctx *ctx, const char *text, void (*pass)(gpuc_relay_pass_ctx *p))
{
    gpuc_rmodule *m = program(ctx, text), *after = run_pass(ctx, m, pass, "c");
    const char *printed = gpuc_relay_text(ctx, after, TYPES);
    assert_string_equal(gpuc_relay_text(ctx, gpuc_relay_parse(ctx, printed, "printed", NULL), TYPES),
                        printed);
    for (int i = 0; i < gpuc_rmodule_num_functions(after); i++) {
        const char *name = gpuc_rmodule_function_name(after, i);
        assert_string_equal(gpuc_rmodule_function_type(ctx, after, name),
                            gpuc_rmodule_function_type(ctx, m, name));
    }
}

/* Merging equal constants rebuilds all that uses them. */
static void what_is_rebuilt(gpuc_ctx *ctx, void *arg)
{
    static const char *const texts[] = {
        "def @main(%x: int32) { @id(%x + 1) + @id(1) }",
        "def @main() { (Cons(1, Nil), Cons(1, Cons(1, Nil)), Cons(Cons(1, Nil), Nil)) }",
        "def @pair[A, B](%a: A, %b: B) -> (A, B, int32) { (%a, %b, 1 + 1) } def @main() { @pair(1, 1f).0 + 1 "
        "}",
        "def @main(%c: bool) { if (%c) { Cons(1, Nil) } else { Cons(1 + 1, Cons(1, Nil)) } }",
        "def @main(%xs: List[int32]) { match (%xs) { Cons(%x, _) => Cons((%x + 1, 1), Nil), Nil => Nil } }",
        "def @main() { let %f = fn [A](%x: A) -> (A, int32) { (%x, 1) }; (%f(1), %f(1f), 1 + 1) }",
        "def @main(%c: bool) { (if (%c) { @id } else { fn (%x: int32) { %x + 1 } }, 1 + 1,\n"
        "  match (1 + 1) { _ => @id, %y => fn (%x: int32) { %x + %y } }, if (%c) { @id } else { @id }) }",
        "def @main(%c: bool, %a: Tensor[(3), int32], %b: Tensor[(?), int32]) {\n"
        "  if (%c) { %a + 1 } else { %b + 1 } }",
        "def @main(%c: bool, %a: Tensor[(3), int32], %b: Tensor[(?), int32]) {\n"
        "  if (%c) { Cons(%a + 1, Nil) } else { Cons(%b + 1, Nil) } }",
    };
    (void)arg;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        expect_types(ctx, texts[i], gpuc_relay_pass_eliminate_common_subexpr);
        expect_types(ctx, texts[i], gpuc_relay_pass_fold_constant);
    }
}

static const char *after(gpuc_ctx *ctx, const char *text, void (*pass)(gpuc_relay_pass_ctx *p))
{
    gpuc_rmodule *m = program(ctx, text);
    gpuc_relay_pass_ctx p = pass_ctx(ctx, m);
    p.keep_constants = false;
    pass(&p);
    gpuc_relay_pass_dead_code(&p);
    return gpuc_relay_text(ctx, m, GPUC_RELAY_PRINT_CONSTANTS);
}

/* A node that a function inside holds, too, stays one: with its constants, and its variables. */
static void nodes_that_closures_share(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const char *text = after(ctx,
                             "def @main() { %0 = max(meta[relay.Constant][0], axis=[0]);\n"
                             "  (fn (%x: int32) { %x + %0 }, %0 + 1) }\n"
                             "#[constants] Tensor[(2), int32] \"AQAAAAIAAAA=\"",
                             gpuc_relay_pass_fold_constant);
    assert_non_null(strstr(text, "    add(%x, 2)\n  };\n  (%0, 3)\n}\n"));
    text =
        after(ctx,
              "def @main(%y: int32) { %0 = { let %f = fn (%x: int32) { %x + %y }; let %unused = 1; %f(2) };\n"
              "  (fn (%z: int32) { %z + %0 }, %0) }",
              gpuc_relay_pass_dead_code);
    assert_non_null(strstr(text, "def @main(%y: int32) {\n"
                                 "  %0 = {\n"
                                 "    let %f = fn (%x: int32) {\n"
                                 "      add(%x, %y)\n"
                                 "    };\n"
                                 "    %f(2)\n"
                                 "  };\n"
                                 "  %1 = fn (%z: int32) {\n"
                                 "    add(%z, %0)\n"
                                 "  };\n"
                                 "  (%1, %0)\n"
                                 "}\n"));
}

/* What is no tensor is no output to copy. */
static void outputs(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    expect_types(
        ctx, "def @main[A](%x: List[int32], %y: int32, %z: A) -> (List[int32], int32, A) { (%x, %y, %z) }",
        gpuc_relay_pass_copy_outputs);
}

/* Blocks of parallel branches behind each other, as of a large network: nothing is dead in them, but in the lets around. */
static void a_large_graph(gpuc_ctx *ctx, void *arg)
{
    enum { BLOCKS = 3000 };
    gpuc_buf text, lets;
    (void)arg;
    gpuc_buf_init(&text, ctx->allocator);
    gpuc_buf_init(&lets, ctx->allocator);
    gpuc_buf_printf(&text, "def @main(%%x: Tensor[(1, 4), float32]) {\n  %%0 = exp(%%x);\n");
    for (int i = 0, n = 0; i < BLOCKS; i++, n += 3)
        gpuc_buf_printf(&text,
                        "  %%%d = tanh(%%%d);\n  %%%d = multiply(%%%d, %%%d);\n  %%%d = add(%%%d, %%%d);\n",
                        n + 1, n, n + 2, n, n + 1, n + 3, n + 1, n + 2);
    gpuc_buf_printf(&text, "  abs(%%%d)\n}\n", 3 * BLOCKS);
    gpuc_rmodule *m = gpuc_relay_parse(ctx, text.data, "text", NULL);
    assert_string_equal(gpuc_relay_text(ctx, run_pass(ctx, m, gpuc_relay_pass_dead_code, NULL), 0),
                        text.data);
    gpuc_buf_printf(&lets, "def @main(%%x: int32) { let %%v0 = %%x;\n");
    for (int i = 0; i < 3 * BLOCKS; i++)
        gpuc_buf_printf(&lets, "let %%v%d = %%v%d + %%v%d;\n", i + 1, i, i / 2);
    gpuc_buf_printf(&lets, "%%x }");
    m = gpuc_relay_parse(ctx, lets.data, "text", NULL);
    assert_string_equal(gpuc_relay_text(ctx, run_pass(ctx, m, gpuc_relay_pass_dead_code, NULL), 0),
                        "def @main(%x: int32) {\n  %x\n}\n");
    gpuc_buf_deinit(&text);
    gpuc_buf_deinit(&lets);
}

typedef struct job {
    gpuc_rmodule *m;
    const char *passes;
} job;

static void run(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    gpuc_relay_run_passes(ctx, j->m, gpuc_target_parse(ctx, "c", NULL), j->passes);
}

static void graphs_only(gpuc_ctx *ctx, void *arg)
{
    static const char *const rows[][2] = {
        {"def @main(%x: int32) { let %y = %x + 1; %y }", "a let|text:3:24"},
        {"def @main(%x: bool) { if (%x) { 1 } else { 2 } }", "an if|text:3:23"},
        {"def @main(%x: int32) { @id(%x) }", "a call of a function|text:3:"},
        {"def @main(%x: int32) { fn (%y: int32) { %y }(%x) }", "a call of a function"},
        {"def @main(%x: int32) { (%x, @id) }", "a function as a value"},
        {"def @main(%x: int32) { (%x, fn (%y: int32) { %y }) }", "a function as a value"},
        {"def @main(%x: int32) { (%x, Cons(%x, Nil)) }", "a call of a function"},
        {"def @main(%x: List[int32]) { match (%x) { _ => 1 } }", "a match"},
        {"def @main(%x: List[int32], %y: int32) { (%y, %x) }", "a parameter that is no tensor"},
    };
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        job j = {program(ctx, rows[i][0]), "fuse_ops"};
        const char *words = gpuc_ctx_printf(ctx, "graphs only can be built, but @main has|%s", rows[i][1]);
        fx_expect(ctx, GPUC_UNSUPPORTED, words, run, &j);
        j.passes = "concat_in_place";
        fx_expect(ctx, GPUC_UNSUPPORTED, words, run, &j);
        j.passes = "optimize_for_target";
        fx_expect(ctx, GPUC_UNSUPPORTED, words, run, &j);
    }
    run_pass(ctx, program(ctx, "def @main(%x: int32, %y: (int32, int32)) { (%x + %y.0, %y) }"),
             gpuc_relay_pass_fuse_ops, "c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(what_is_rebuilt), fx_test(nodes_that_closures_share),
        fx_test(outputs),         fx_test(a_large_graph),
        fx_test(graphs_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
