/* SPDX-License-Identifier: Apache-2.0 */
/* test_relay_validate FILE [NEW]: programs, the mistake that a pass makes in each (its name stands in the first line), and
 * what is said of it after the pass: FILE holds them, "====", the program, "----", the message. NEW: the file as it would be
 * now is written there. */
#include "pass_test.h"

static const char *golden, *made;

/* ---- Passes with a mistake each, planted in main ---- */

typedef gpuc_rexpr *mistake_fn(gpuc_relay_pass_ctx *p, gpuc_rexpr *e);

typedef struct plan {
    gpuc_relay_pass_ctx *p;
    mistake_fn *fn;
} plan;

static gpuc_rexpr *plant(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *rebuilt, void *arg)
{
    plan *q = arg;
    (void)ctx;
    gpuc_rexpr *e = q->fn(q->p, rebuilt);
    if (e != old && !e->type) e->type = old->type;
    return e;
}

static void in_main(gpuc_relay_pass_ctx *p, mistake_fn *fn)
{
    plan q = {p, fn};
    gpuc_rexpr *f = gpuc_rmodule_get(p->module, "main");
    gpuc_rmodule_replace_function(p->module, "main", gpuc_relay_mutate(p->ctx, f, plant, &q));
}

static gpuc_rexpr *without_let(gpuc_relay_pass_ctx *p, gpuc_rexpr *e)
{
    (void)p;
    return e->kind == GPUC_REXPR_LET ? gpuc_as_rlet(e)->body : e;
}

static gpuc_rexpr *let_twice(gpuc_relay_pass_ctx *p, gpuc_rexpr *e)
{
    if (e->kind != GPUC_REXPR_LET) return e;
    return gpuc_relay_let(p->ctx, gpuc_as_rlet(e)->var, gpuc_as_rlet(e)->value, e);
}

/* What a let gives, next to the whole let. */
static gpuc_rexpr *body_beside_let(gpuc_relay_pass_ctx *p, gpuc_rexpr *e)
{
    if (e->kind != GPUC_REXPR_LET) return e;
    gpuc_rexpr *fields[] = {e, gpuc_as_rlet(e)->body};
    gpuc_rexpr *pair = gpuc_relay_tuple(p->ctx, 2, fields);
    return gpuc_relay_let(p->ctx, gpuc_relay_var(p->ctx, "pair", NULL), pair, e);
}

static gpuc_rexpr *variable_of_clause_beside(gpuc_relay_pass_ctx *p, gpuc_rexpr *e)
{
    if (e->kind != GPUC_REXPR_MATCH) return e;
    return gpuc_relay_op2(p->ctx, "add", NULL, e, gpuc_as_rmatch(e)->vars[0]);
}

static gpuc_rexpr *unknown_function(gpuc_relay_pass_ctx *p, gpuc_rexpr *e)
{
    return e->kind == GPUC_REXPR_GLOBAL ? gpuc_relay_global(p->ctx, "nothere") : e;
}

static gpuc_rexpr *half_as_wide(gpuc_relay_pass_ctx *p, gpuc_rexpr *e)
{
    (void)p;
    if (gpuc_relay_is_op(e, "nn.relu"))
        e->type = gpuc_relay_rtype_tensor(p->ctx, GPUC_FLOAT16, e->type->tensor.ndim, e->type->tensor.dims);
    return e;
}

static gpuc_rexpr *another_argument(gpuc_relay_pass_ctx *p, gpuc_rexpr *e)
{
    if (e->kind != GPUC_REXPR_CALL || gpuc_as_rcall(e)->callee->kind == GPUC_REXPR_OP) return e;
    gpuc_rexpr *bad = gpuc_relay_const_scalar(p->ctx, GPUC_INT8, 1);
    return gpuc_relay_call(p->ctx, gpuc_as_rcall(e)->callee, NULL, 1, &bad);
}

static gpuc_rexpr *branches_differ(gpuc_relay_pass_ctx *p, gpuc_rexpr *e)
{
    if (e->kind != GPUC_REXPR_IF) return e;
    return gpuc_relay_if(p->ctx, gpuc_as_rif(e)->cond, gpuc_as_rif(e)->then_branch,
                         gpuc_relay_const_scalar(p->ctx, GPUC_BOOL, 1));
}

static gpuc_rexpr *constructor_of_another(gpuc_relay_pass_ctx *p, gpuc_rexpr *e)
{
    if (e->kind != GPUC_REXPR_CONSTRUCTOR || gpuc_as_rconstructor(e)->constructor->n) return e;
    const gpuc_rmodule *other = gpuc_relay_parse(p->ctx, "type L { C(int32, L), N }", "other", NULL);
    return gpuc_relay_constructor(p->ctx, gpuc_rmodule_get_constructor(other, "N"));
}

#define PASS(name)                                                                                           \
    static void run_##name(gpuc_relay_pass_ctx *p)                                                           \
    {                                                                                                        \
        in_main(p, name);                                                                                    \
    }
PASS(without_let)
PASS(let_twice)
PASS(body_beside_let)
PASS(variable_of_clause_beside)
PASS(unknown_function)
PASS(half_as_wide)
PASS(another_argument)
PASS(branches_differ)
PASS(constructor_of_another)

/* What a pass forgets: types. */
static void run_without_types(gpuc_relay_pass_ctx *p)
{
    gpuc_rexpr *body = body_of(p->module), *two[] = {body, body};
    gpuc_rexpr *sum = gpuc_relay_apply(p->ctx, "add", NULL, 2, two);
    gpuc_rmodule_replace_function(p->module, "main", gpuc_relay_function(p->ctx, 0, NULL, sum, NULL));
}

#define ROW(what)                                                                                            \
    {                                                                                                        \
        .name = #what, .run = run_##what, .options = "", .about = ""                                         \
    }
static const gpuc_relay_pass passes[] = {
    ROW(without_let),
    ROW(let_twice),
    ROW(body_beside_let),
    ROW(variable_of_clause_beside),
    ROW(unknown_function),
    ROW(half_as_wide),
    ROW(another_argument),
    ROW(branches_differ),
    ROW(constructor_of_another),
    ROW(without_types),
};

/* ---- The file ---- */

static const gpuc_relay_pass *pass_named(const char *name)
{
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        if (!strcmp(passes[i].name, name)) return &passes[i];
    fail_msg("no pass is '%s'", name);
    return NULL;
}

static void run(gpuc_ctx *ctx, void *arg)
{
    const char *text = arg;
    gpuc_relay_pass_ctx p = pass_ctx(ctx, gpuc_relay_parse(ctx, text, "text", NULL));
    /* What is right is right after a pass that changes nothing. */
    gpuc_relay_validate(ctx, p.module, "parsing");
    gpuc_relay_pass_run(&p, pass_named(gpuc_ctx_printf(ctx, "%.*s", (int)strcspn(text + 3, "\n"), text + 3)),
                        NULL);
}

static void what_is_said(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    int count = 0;
    char *want = fx_read_file(golden);
    gpuc_buf out;
    gpuc_buf_init(&out, ctx->allocator);
    assert_null(gpuc_ctx_set_debug(ctx, "validate"));
    for (const char *at = want; (at = strstr(at, "====\n")); count++) {
        at += strlen("====\n");
        const char *end = strstr(at, "\n----\n");
        assert_non_null(end);
        char *text = gpuc_ctx_printf(ctx, "%.*s", (int)(end - at), at);
        gpuc_status status = gpuc_ctx_protect(ctx, run, text);
        if (!status) fail_msg("nothing is said after the pass of\n%s", text);
        gpuc_buf_printf(&out, "====\n%s\n----\n%s: %s\n", text, gpuc_code_name(gpuc_status_code(status)),
                        gpuc_status_message(status));
        gpuc_status_release(status);
    }
    assert_int_equal(count, sizeof passes / sizeof *passes);
    fx_check_file(golden, want, gpuc_buf_cstr(&out), made);
    printf("cases: %d (programs)\n", count);
    gpuc_buf_deinit(&out);
    free(want);
}

int main(int argc, char **argv)
{
    golden = argc > 1 ? argv[1] : "";
    made = argc > 2 ? argv[2] : NULL;
    const struct CMUnitTest tests[] = {fx_test(what_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
