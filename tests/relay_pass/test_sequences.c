/* SPDX-License-Identifier: Apache-2.0 */
/* Running passes: what is known of them, sequences, a program's own rewriting between them, and what developer switches
 * print of them. */
#include <stdio.h>
#include <unistd.h>

#include <gpuc/relay_pass.h>

#include "../relay/fixture.h"

enum { PRINT = GPUC_RELAY_PRINT_CONSTANTS };

static const char two_functions[] =
    "def @less(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) { %x - %y * (1f + 1f) }\n"
    "def @main(%x: Tensor[(4), float32]) { let %unused = exp(%x); log(%x) + @less(%x, %x) }\n";

static gpuc_rmodule *parse(gpuc_ctx *ctx, const char *text)
{
    return gpuc_relay_parse(ctx, text, "text", NULL);
}

static const char *text_after(gpuc_ctx *ctx, const gpuc_rmodule *m, const char *passes)
{
    return gpuc_relay_text(ctx, gpuc_relay_run_passes(ctx, m, NULL, passes), PRINT);
}

/* ---- What is known of passes ---- */

static bool find(const char *name, gpuc_relay_pass_info *out)
{
    for (int i = 0; gpuc_relay_pass_at(i, out); i++)
        if (!strcmp(out->name, name)) return true;
    return false;
}

static void information(gpuc_ctx *ctx, void *arg)
{
    gpuc_relay_pass_info info, last = {.name = ""};
    int count = 0;
    (void)ctx;
    (void)arg;
    for (; gpuc_relay_pass_at(count, &info); count++) {
        assert_true(strcmp(last.name, info.name) < 0); /* sorted, none twice */
        assert_in_range(info.level, 0, 4);
        assert_true(strlen(info.about) > 20);
        last = info;
    }
    assert_true(count > 30);
    assert_false(gpuc_relay_pass_at(-1, &info) || gpuc_relay_pass_at(count, &info));
    assert_true(find("fuse_ops", &info) && info.needs_graph && info.needs_target && info.level == 0);
    assert_true(find("dead_code", &info) && !info.needs_graph && !info.needs_target && info.level == 1);
}

/* Each option is a name with the default value, of the type that is taken. */
static void options(gpuc_ctx *ctx, void *arg)
{
    gpuc_relay_pass_info info;
    int with = 0;
    (void)arg;
    for (int i = 0; gpuc_relay_pass_at(i, &info); i++) {
        const gpuc_attrs *all = gpuc_relay_attrs(ctx, info.options);
        with += all && all->count > 0;
        if (!all || !all->count || info.needs_target) continue;
        const char *given = gpuc_ctx_printf(ctx, "%s(%s)", info.name, info.options);
        gpuc_rmodule *m = parse(ctx, "def @main(%x: int32) { %x }");
        assert_string_equal(text_after(ctx, m, given), text_after(ctx, m, info.name));
    }
    assert_in_range(with, 5, 100);
    assert_true(find("inline", &info));
    assert_string_equal(info.options, "all=False");
}

/* ---- Sequences ---- */

static void no_pass(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = parse(ctx, two_functions);
    const char *before = gpuc_relay_text(ctx, m, PRINT);
    assert_string_equal(text_after(ctx, m, ""), before);
    assert_string_equal(text_after(ctx, m, " , "), before);
    assert_string_equal(text_after(ctx, m, "infer_type"), before);
}

/* Passes run over all functions, one after the other, and the module that was given stays. */
static void several_passes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = parse(ctx, two_functions);
    const char *before = gpuc_relay_text(ctx, m, PRINT),
               *both = text_after(ctx, m, "fold_constant,dead_code");
    assert_string_equal(both, "def @less(%x: Tensor[(4), float32], %y: Tensor[(4), float32]) {\n"
                              "  %0 = multiply(%y, 2f);\n"
                              "  subtract(%x, %0)\n"
                              "}\n\n"
                              "def @main(%x: Tensor[(4), float32]) {\n"
                              "  %0 = log(%x);\n"
                              "  %1 = @less(%x, %x);\n"
                              "  add(%0, %1)\n"
                              "}\n");
    const gpuc_rmodule *first = gpuc_relay_run_passes(ctx, m, NULL, "fold_constant");
    assert_string_equal(text_after(ctx, first, "dead_code"), both);
    assert_string_equal(gpuc_relay_text(ctx, m, PRINT), before);
}

/* What is in main once @less is in its place, which fusing needs, depends on the order. */
static void parts_of_a_build(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = parse(ctx, two_functions);
    const char *text = text_after(ctx, m, "inline(all=True),to_graph_normal_form,optimize");
    assert_string_equal(text_after(ctx, m, "inline(all=True),to_graph_normal_form,optimize,optimize"), text);
    assert_null(strstr(text, "@less"));
    const gpuc_target *target = gpuc_target_parse(ctx, "c", NULL);
    gpuc_rmodule *fused = gpuc_relay_run_passes(
        ctx, m, target, "inline(all=True),to_graph_normal_form,optimize,optimize_for_target");
    assert_non_null(strstr(gpuc_relay_text(ctx, fused, PRINT), "primitive=1"));
}

/* ---- A program's own rewriting ---- */

/* The result of an operator, twice. */
static gpuc_rexpr *doubled(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *rebuilt, void *arg)
{
    (void)old;
    if (!gpuc_relay_is_op(rebuilt, arg)) return rebuilt;
    gpuc_rexpr *args[] = {rebuilt, rebuilt};
    return gpuc_relay_apply(ctx, "add", NULL, 2, args);
}

/* Over a whole module, with a function that is new. */
static void rewriting_a_module(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = gpuc_rmodule_mutate(parse(ctx, two_functions), doubled, "log");
    gpuc_rexpr *v =
        gpuc_relay_var(ctx, "v", gpuc_relay_rtype_tensor_static(ctx, GPUC_FLOAT32, 1, (int64_t[]){3}));
    gpuc_rmodule_add_function(
        m, "positive", gpuc_relay_function(ctx, 1, &v, gpuc_relay_apply(ctx, "abs", NULL, 1, &v), NULL));
    gpuc_relay_infer_module(ctx, m);
    const char *text = text_after(ctx, m, "fold_constant,to_graph_normal_form");
    assert_non_null(strstr(text, "def @positive(%v: Tensor[(3), float32]) {\n  abs(%v)\n}\n"));
    assert_non_null(strstr(text, "  %0 = log(%x);\n  %1 = add(%0, %0);\n"));
    assert_non_null(strstr(text, "multiply(%y, 2f)"));
}

/* Of one function, whose callers are typed again. */
static void replacing_a_function(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = parse(ctx, two_functions);
    gpuc_rexpr *v = gpuc_relay_var(ctx, "v",
                                   gpuc_relay_rtype_tensor_static(ctx, GPUC_FLOAT32, 1, (int64_t[]){4})),
               *w = gpuc_relay_var(ctx, "w",
                                   gpuc_relay_rtype_tensor_static(ctx, GPUC_FLOAT32, 1, (int64_t[]){4})),
               *params[] = {v, w};
    gpuc_rmodule_replace_function(m, "less", gpuc_relay_function(ctx, 2, params, w, NULL));
    gpuc_relay_infer_module(ctx, m);
    assert_non_null(strstr(text_after(ctx, m, "inline(all=True),to_graph_normal_form"),
                           "  %0 = log(%x);\n  add(%0, %x)\n"));
}

/* ---- What is printed ---- */

typedef struct captured {
    gpuc_rmodule *m;
    const char *passes;
    char *text; /* of stderr; free */
} captured;

static void run(gpuc_ctx *ctx, void *arg)
{
    captured *c = arg;
    gpuc_relay_run_passes(ctx, c->m, NULL, c->passes);
}

static gpuc_status capture(gpuc_ctx *ctx, captured *c)
{
    FILE *f = tmpfile();
    assert_non_null(f);
    fflush(stderr);
    int old = dup(fileno(stderr));
    dup2(fileno(f), fileno(stderr));
    gpuc_status s = gpuc_ctx_protect(ctx, run, c);
    fflush(stderr);
    dup2(old, fileno(stderr));
    close(old);
    long n = ftell(f);
    c->text = calloc(1, (size_t)n + 1);
    rewind(f);
    assert_int_equal(fread(c->text, 1, (size_t)n, f), n);
    fclose(f);
    return s;
}

static int times(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) n++;
    return n;
}

static void programs_are_printed(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    captured c = {parse(ctx, two_functions), "fold_constant,infer_type,dead_code,simplify_expr", NULL};
    assert_null(gpuc_ctx_set_debug(ctx, "relay"));
    assert_null(capture(ctx, &c));
    /* after each pass that changed something */
    assert_int_equal(times(c.text, "# relay after "), 2);
    assert_non_null(strstr(c.text, "# relay after fold_constant\ndef @less("));
    assert_non_null(strstr(c.text, "# relay after dead_code\n"));
    assert_non_null(strstr(c.text, "multiply(%y, 2f)"));
    free(c.text);
}

static void passes_are_timed(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    captured c = {parse(ctx, two_functions), "fold_constant,infer_type,dead_code", NULL};
    assert_null(capture(ctx, &c));
    assert_string_equal(c.text, "");
    free(c.text);
    assert_null(gpuc_ctx_set_debug(ctx, "time"));
    assert_null(capture(ctx, &c));
    assert_int_equal(times(c.text, " ms  "), 3);
    assert_non_null(strstr(c.text, " ms  fold_constant "));
    assert_non_null(strstr(c.text, " ms  infer_type "));
    assert_non_null(strstr(c.text, " ms  dead_code "));
    free(c.text);
    c.passes = "optimize"; /* each pass of a build */
    assert_null(capture(ctx, &c));
    assert_in_range(times(c.text, " ms  "), 10, 30);
    assert_int_equal(times(c.text, "\n"), times(c.text, " ms  "));
    free(c.text);
}

/* The passes before it ran; the program that was given is as it was, and more can be run on it. */
static void a_pass_that_fails(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    captured c = {parse(ctx, two_functions), "dead_code,fuse_ops,fold_constant", NULL};
    const char *before = gpuc_relay_text(ctx, c.m, PRINT);
    assert_null(gpuc_ctx_set_debug(ctx, "time"));
    fx_check_status(capture(ctx, &c), GPUC_INVALID_ARGUMENT, "the pass fuse_ops needs a target");
    assert_int_equal(times(c.text, " ms  "), 1);
    assert_non_null(strstr(c.text, " ms  dead_code "));
    free(c.text);
    assert_string_equal(gpuc_relay_text(ctx, c.m, PRINT), before);
    c.passes = "dead_code,dead_cod";
    fx_check_status(capture(ctx, &c), GPUC_INVALID_ARGUMENT,
                    "there is no pass 'dead_cod'; did you mean 'dead_code'?");
    free(c.text);
    c.passes = "dead_code";
    assert_null(capture(ctx, &c));
    free(c.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(information),
        fx_test(options),
        fx_test(no_pass),
        fx_test(several_passes),
        fx_test(parts_of_a_build),
        fx_test(rewriting_a_module),
        fx_test(replacing_a_function),
        fx_test(programs_are_printed),
        fx_test(passes_are_timed),
        fx_test(a_pass_that_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
