/* SPDX-License-Identifier: Apache-2.0 */
/* Passes that a program adds, and what is called as passes run. */
#include <gpuc/relay_pass.h>

#include "base/buf.h"
#include "../relay/fixture.h"
#include "compile/program.h"
#include "runtime/services.h"

static const char text[] = "def @main(%x: Tensor[(2), float32]) { let %y = exp(%x); let %z = %x; %y + %y }";

/* ---- Passes of others ---- */

static gpuc_rexpr *scale(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    if (!gpuc_relay_is_op(e, "exp")) return e;
    gpuc_rexpr *two[] = {e, gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, *(const double *)arg)};
    return gpuc_relay_apply(ctx, "multiply", NULL, 2, two);
}

static gpuc_rmodule *scale_all(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_target *target,
                               const gpuc_attrs *options, void *user)
{
    double by = gpuc_attrs_get_float(options, "by", 0);
    (void)ctx;
    *(int *)user += 1 + 10 * (target != NULL);
    return gpuc_rmodule_mutate(m, scale, &by);
}

static gpuc_rmodule *nothing(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_target *target,
                             const gpuc_attrs *options, void *user)
{
    (void)ctx;
    (void)m;
    (void)target;
    (void)options;
    (void)user;
    return NULL;
}

/* Changes the program in its place: main becomes the function that it is given. */
static gpuc_rmodule *replace(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_target *target,
                             const gpuc_attrs *options, void *user)
{
    gpuc_rexpr *other = gpuc_relay_var(ctx, "other", NULL),
               *x = gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 0, NULL));
    (void)target;
    (void)user;
    gpuc_rexpr *body =
        gpuc_attrs_get_int(options, "right", 1) ? gpuc_relay_apply(ctx, "tanh", NULL, 1, &x) : other;
    gpuc_rmodule_replace_function(m, "main", gpuc_relay_function(ctx, 1, &x, body, NULL));
    return m;
}

static int runs;
static const gpuc_relay_pass_desc scale_pass = {
    .name = "scale", .options = "by=2.0", .about = "scales", .user = &runs, .run = scale_all};
static const gpuc_relay_pass_desc aimed = {
    .name = "aimed", .about = "scales", .needs_target = true, .user = &runs, .run = scale_all};
static const gpuc_relay_pass_desc of_graphs = {
    .name = "of_graphs", .about = "scales", .needs_graph = true, .user = &runs, .run = scale_all};
static const gpuc_relay_pass_desc gives_none = {.name = "gives_none", .about = "gives none", .run = nothing};
static const gpuc_relay_pass_desc replaces = {
    .name = "replaces", .options = "right=True", .about = "replaces main", .run = replace};

static void release(void *rt)
{
    gpuc_runtime_release(rt);
}

static gpuc_rmodule *begin(gpuc_ctx *ctx)
{
    static const gpuc_relay_pass_desc *const all[] = {&scale_pass, &aimed, &of_graphs, &gives_none,
                                                      &replaces};
    gpuc_runtime *rt;
    GPUC_RAISE_IF(ctx, gpuc_runtime_create(NULL, &rt));
    gpuc_ctx_push_cleanup(ctx, release, rt);
    for (int i = 0; i < 5; i++) GPUC_RAISE_IF(ctx, gpuc_relay_pass_register(rt, all[i]));
    gpuc_ctx_set_runtime(ctx, rt);
    runs = 0;
    return gpuc_relay_parse(ctx, text, "text", NULL);
}

static void added(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = begin(ctx);
    const char *before = gpuc_relay_text(ctx, m, 0);
    fx_expect_text(
        gpuc_relay_text(
            ctx, gpuc_relay_run_passes(ctx, m, NULL, "dead_code,scale,to_graph_normal_form,scale(by=3)"), 0),
        "def @main(%x: Tensor[(2), float32]) { %0 = exp(%x); %1 = multiply(%0, 3f); %2 = multiply(%1, 2f); "
        "add(%2, %2) }");
    assert_int_equal(runs, 2);
    fx_expect_text(gpuc_relay_text(ctx, m, 0), before);
    const gpuc_target *target = gpuc_target_parse(ctx, "c", NULL);
    gpuc_relay_run_passes(ctx, m, target, "aimed");
    assert_int_equal(runs, 13);
    fx_expect_text(
        gpuc_relay_text(ctx, gpuc_relay_run_passes(ctx, m, NULL, "replaces"), GPUC_RELAY_PRINT_TYPES),
        "def @main(%x: float32) { tanh(%x) /* ty=float32 */ }");
    gpuc_relay_pass_info info;
    size_t at = 0;
    int n = 0;
    for (; gpuc_relay_pass_next(ctx->runtime, &at, &info); n++)
        if (!strcmp(info.name, "scale")) assert_string_equal(info.options, "by=2.0");
    assert_int_equal(n, 5);
}

static void run_one(gpuc_ctx *ctx, void *passes)
{
    gpuc_relay_run_passes(ctx, gpuc_relay_parse(ctx, text, "text", NULL), NULL, passes);
}

static void added_and_wrong(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    begin(ctx);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "the pass scale has no option 'bye'", run_one, "scale(bye=1)");
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "no pass 'scales'; did you mean 'scale'", run_one, "scales");
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "the pass aimed needs a target", run_one, "aimed");
    fx_expect(ctx, GPUC_UNSUPPORTED, "@main has a let", run_one, "of_graphs");
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "the pass gives_none gives no program", run_one, "gives_none");
    fx_expect(ctx, GPUC_INVALID_ARGUMENT,
              "the program that the pass replaces gives: in @main: %other is not bound", run_one,
              "replaces(right=False)");
    gpuc_relay_pass_desc d = scale_pass;
    fx_check_status(gpuc_relay_pass_register(ctx->runtime, &d), GPUC_INVALID_ARGUMENT,
                    "a pass 'scale' already");
    d.name = "dead_code";
    fx_check_status(gpuc_relay_pass_register(ctx->runtime, &d), GPUC_INVALID_ARGUMENT,
                    "a pass 'dead_code' of its own");
    d.name = "optimize";
    fx_check_status(gpuc_relay_pass_register(ctx->runtime, &d), GPUC_INVALID_ARGUMENT,
                    "a pass 'optimize' of its own");
    d.name = "a,b";
    fx_check_status(gpuc_relay_pass_register(ctx->runtime, &d), GPUC_INVALID_ARGUMENT, "'a,b' is no name");
    d.name = "other";
    d.options = "by=";
    fx_check_status(gpuc_relay_pass_register(ctx->runtime, &d), GPUC_INVALID_ARGUMENT,
                    "the options of the pass other, 'by='");
    d.run = NULL;
    fx_check_status(gpuc_relay_pass_register(ctx->runtime, &d), GPUC_INVALID_ARGUMENT, "run is NULL");
}

/* ---- Looking on ---- */

typedef struct looker {
    const char *name, *skips, *raises;
    gpuc_buf *said;
    double spent;
    int began, ended;
} looker;

static void say(const looker *l, const char *what, const gpuc_relay_pass_info *pass)
{
    if (l->said) gpuc_buf_printf(l->said, "%s %s %s\n", l->name, what, pass->name);
}

static bool should_run(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_relay_pass_info *pass, void *user)
{
    const looker *l = user;
    (void)ctx;
    (void)m;
    say(l, "asks", pass);
    return !l->skips || !strstr(l->skips, pass->name);
}

static void before(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_relay_pass_info *pass, void *user)
{
    looker *l = user;
    say(l, "before", pass);
    l->began++;
    if (!strcmp(pass->name, "to_graph_normal_form"))
        assert_non_null(strstr(gpuc_relay_text(ctx, m, 0), "let %y"));
    if (l->raises && strstr(l->raises, "before"))
        gpuc_raise(ctx, GPUC_CANCELLED, "%s has seen enough", l->name);
}

static void after(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_relay_pass_info *pass, double milliseconds,
                  void *user)
{
    looker *l = user;
    say(l, "after", pass);
    l->spent += milliseconds;
    l->ended++;
    if (!strcmp(pass->name, "to_graph_normal_form")) assert_null(strstr(gpuc_relay_text(ctx, m, 0), "let"));
    if (l->raises && strstr(l->raises, "after"))
        gpuc_raise(ctx, GPUC_CANCELLED, "%s has seen enough", l->name);
}

static void step(gpuc_ctx *ctx, const looker *l, const char *what)
{
    if (l->said) gpuc_buf_printf(l->said, "%s %ss\n", l->name, what);
    if (l->raises && strstr(l->raises, what))
        gpuc_raise(ctx, GPUC_CANCELLED, "%s will not %s", l->name, what);
}

static void enter(gpuc_ctx *ctx, void *user)
{
    step(ctx, user, "enter");
}

static void leave(gpuc_ctx *ctx, void *user)
{
    step(ctx, user, "leave");
}

static void free_buf(void *buf)
{
    gpuc_buf_deinit(buf);
}

/* It lasts as long as the context, which destroys it. */
static gpuc_buf *new_buf(gpuc_ctx *ctx)
{
    gpuc_buf *buf = gpuc_new(ctx, gpuc_buf);
    gpuc_buf_init(buf, ctx->allocator);
    gpuc_ctx_push_cleanup(ctx, free_buf, buf);
    return buf;
}

static void set(gpuc_ctx *ctx, looker *a, looker *b, gpuc_buf *said)
{
    gpuc_relay_pass_instrument one = {.should_run = should_run, .before = before, .after = after};
    gpuc_relay_pass_instrument list[2] = {one, one};
    list[0].user = a;
    list[1].user = b;
    a->said = b->said = said;
    gpuc_relay_pass_set_instruments(ctx, 2, list);
}

static void order(gpuc_ctx *ctx, void *arg)
{
    looker a = {.name = "a"}, b = {.name = "b"};
    gpuc_buf *said = new_buf(ctx);
    (void)arg;
    begin(ctx);
    set(ctx, &a, &b, said);
    run_one(ctx, "scale,to_graph_normal_form");
    fx_expect_text(gpuc_buf_cstr(said),
                   "a asks scale b asks scale a before scale b before scale a after scale b after scale "
                   "a asks to_graph_normal_form b asks to_graph_normal_form a before to_graph_normal_form "
                   "b before to_graph_normal_form a after to_graph_normal_form b after to_graph_normal_form");
    assert_true(a.spent > 0 && a.spent == b.spent);
    gpuc_relay_pass_set_instruments(ctx, 0, NULL);
    run_one(ctx, "dead_code");
    assert_int_equal(a.began, 2);
}

static void left_out(gpuc_ctx *ctx, void *arg)
{
    looker a = {.name = "a", .skips = "scale"}, b = {.name = "b", .skips = "dead_code"};
    gpuc_buf *said = new_buf(ctx);
    (void)arg;
    gpuc_rmodule *m = begin(ctx);
    set(ctx, &a, &b, said);
    fx_expect_text(gpuc_relay_text(ctx, gpuc_relay_run_passes(ctx, m, NULL, "scale,dead_code"), 0),
                   gpuc_relay_text(ctx, m, 0));
    fx_expect_text(gpuc_buf_cstr(said), "a asks scale a asks dead_code b asks dead_code");
}

static void errors(gpuc_ctx *ctx, void *arg)
{
    looker a = {.name = "a"}, b = {.name = "b", .raises = "before"};
    gpuc_buf *said = new_buf(ctx);
    (void)arg;
    begin(ctx);
    set(ctx, &a, &b, said);
    fx_expect(ctx, GPUC_CANCELLED, "b has seen enough", run_one, "scale,dead_code");
    fx_expect_text(gpuc_buf_cstr(said), "a asks scale b asks scale a before scale b before scale");
    assert_int_equal(runs, 0);
    b.raises = NULL;
    a.raises = "after";
    a.ended = b.ended = 0;
    fx_expect(ctx, GPUC_CANCELLED, "a has seen enough", run_one, "scale,dead_code");
    assert_int_equal(runs, 1);
    assert_int_equal(a.ended * 10 + b.ended, 10);
    a.raises = NULL;
    a.ended = b.ended = 0;
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "gives no program", run_one, "gives_none"); /* the pass raises */
    assert_int_equal(a.ended + b.ended, 0);
}

/* ---- Whole runs ---- */

static void set_three(gpuc_ctx *ctx, looker *all, gpuc_buf *said)
{
    gpuc_relay_pass_instrument list[3];
    gpuc_buf_clear(said);
    for (int i = 0; i < 3; i++) {
        list[i] = (gpuc_relay_pass_instrument){.user = &all[i], .enter = enter, .leave = leave};
        all[i].said = said;
    }
    gpuc_relay_pass_set_instruments(ctx, 3, list);
}

static void stop(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_relay_pass_info *pass, void *user)
{
    (void)m;
    (void)user;
    (void)pass;
    gpuc_relay_pass_set_instruments(ctx, 0, NULL);
}

static gpuc_rmodule *run_more(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_target *target,
                              const gpuc_attrs *options, void *user)
{
    (void)options;
    (void)user;
    return gpuc_relay_run_passes(ctx, m, target, "dead_code");
}

static void entered(gpuc_ctx *ctx, void *arg)
{
    static const gpuc_relay_pass_desc nested = {.name = "nested", .about = "runs passes", .run = run_more};
    looker all[3] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
    gpuc_relay_pass_instrument stops = {.before = stop};
    gpuc_buf *said = new_buf(ctx);
    (void)arg;
    begin(ctx);
    GPUC_RAISE_IF(ctx, gpuc_relay_pass_register(ctx->runtime, &nested));
    set_three(ctx, all, said);
    run_one(ctx, "scale,nested");
    fx_expect_text(gpuc_buf_cstr(said), "a enters b enters c enters a leaves b leaves c leaves");
    set_three(ctx, all, said);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "gives no program", run_one, "gives_none");
    fx_expect_text(gpuc_buf_cstr(said), "a enters b enters c enters a leaves b leaves c leaves");
    gpuc_relay_pass_set_instruments(ctx, 1, &stops);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "setting instruments while passes run", run_one, "scale");
    gpuc_relay_pass_set_instruments(ctx, 0, NULL);
}

/* After an error in either nobody looks on. */
static void errors_around(gpuc_ctx *ctx, void *arg)
{
    looker all[3] = {{.name = "a"}, {.name = "b", .raises = "enter"}, {.name = "c"}};
    gpuc_buf *said = new_buf(ctx);
    (void)arg;
    begin(ctx);
    set_three(ctx, all, said);
    fx_expect(ctx, GPUC_CANCELLED, "b will not enter", run_one, "scale");
    fx_expect_text(gpuc_buf_cstr(said), "a enters b enters a leaves");
    assert_int_equal(runs, 0);
    gpuc_buf_clear(said);
    run_one(ctx, "scale");
    fx_expect_text(gpuc_buf_cstr(said), "");
    all[1].raises = "leave";
    set_three(ctx, all, said);
    fx_expect(ctx, GPUC_CANCELLED, "b will not leave", run_one, "scale");
    fx_expect_text(gpuc_buf_cstr(said), "a enters b enters c enters a leaves b leaves");
    assert_int_equal(runs, 2);
    gpuc_buf_clear(said);
    run_one(ctx, "scale");
    fx_expect_text(gpuc_buf_cstr(said), "");
    set_three(ctx, all, said);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "gives no program", run_one,
              "gives_none"); /* the first of two errors */
    fx_expect_text(gpuc_buf_cstr(said), "a enters b enters c enters a leaves b leaves");
}

static void build(gpuc_ctx *ctx, void *module)
{
    const gpuc_target *target = gpuc_target_parse(ctx, "c", NULL);
    gpuc_buf bytes;
    gpuc_buf_init(&bytes, ctx->allocator);
    gpuc_ctx_push_cleanup(ctx, free_buf, &bytes);
    gpuc_build_package_bytes(ctx, module, target, &bytes);
    gpuc_ctx_pop_cleanup(ctx, true);
}

/* A build is one run. */
static void errors_around_builds(gpuc_ctx *ctx, void *arg)
{
    looker all[3] = {{.name = "a"}, {.name = "b", .raises = "enter"}, {.name = "c"}};
    gpuc_buf *said = new_buf(ctx);
    (void)arg;
    for (int i = 0; i < 2; i++) {
        gpuc_rmodule *m =
            gpuc_relay_parse(ctx, "def @main(%x: Tensor[(2), float32]) { exp(%x) + %x }", "text", NULL);
        all[1].raises = i ? "leave" : "enter";
        set_three(ctx, all, said);
        fx_expect(ctx, GPUC_CANCELLED, i ? "b will not leave" : "b will not enter", build, m);
        fx_expect_text(gpuc_buf_cstr(said),
                       i ? "a enters b enters c enters a leaves b leaves" : "a enters b enters a leaves");
        gpuc_buf_clear(said);
        build(ctx, gpuc_relay_parse(ctx, "def @main(%x: Tensor[(2), float32]) { exp(%x) }", "text", NULL));
        fx_expect_text(gpuc_buf_cstr(said), "");
    }
}

/* The parts of a build tell each of their passes. */
static void builds(gpuc_ctx *ctx, void *arg)
{
    looker a = {.name = "a"}, b = {.name = "b"};
    (void)arg;
    const gpuc_rmodule *m =
        gpuc_relay_parse(ctx, "def @main(%x: Tensor[(2), float32]) { exp(%x) + %x }", "text", NULL);
    set(ctx, &a, &b, NULL);
    gpuc_relay_run_passes(ctx, m, gpuc_target_parse(ctx, "c", NULL), "optimize,optimize_for_target");
    assert_true(a.began > 20);
    assert_int_equal(a.began, a.ended);
    assert_int_equal(b.began, a.began);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(added),    fx_test(added_and_wrong), fx_test(order),
        fx_test(left_out), fx_test(errors),          fx_test(builds),
        fx_test(entered),  fx_test(errors_around),   fx_test(errors_around_builds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
