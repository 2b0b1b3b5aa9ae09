/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a Relay program node by node: a list and the sum of what it holds, by recursion. Prints it, counts its nodes in a
 * walk, runs it in the interpreter, makes a product of the sum in a copy, and runs that. */
#include <stdio.h>
#include <string.h>

#include <gpuc/relay_ir.h>

static const gpuc_rtype *scalar(gpuc_ctx *ctx)
{
    return gpuc_relay_rtype_tensor_static(ctx, GPUC_FLOAT32, 0, NULL);
}

/* type List[A] { Cons(A, List[A]), Nil } */
static const gpuc_adt *define_list(gpuc_ctx *ctx, gpuc_rmodule *m)
{
    const gpuc_rtype *a = gpuc_relay_rtype_var(ctx, "A");
    gpuc_adt *list = gpuc_relay_adt(ctx, "List", 1, &a);
    const gpuc_rtype *cell[] = {a, gpuc_relay_rtype_adt(ctx, list, 1, &a)};
    const gpuc_relay_constructor_desc constructors[] = {{"Cons", 2, cell}, {"Nil", 0, NULL}};
    gpuc_rmodule_define_adt(m, list, 2, constructors);
    return list;
}

/* def @fold(%start: float32, %xs: List[float32]) -> float32 {
 *   match (%xs) { Cons(%x, %rest) => add(%x, @fold(%start, %rest)), Nil => %start } } */
static void define_fold(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_adt *list)
{
    const gpuc_rtype *number = scalar(ctx), *numbers = gpuc_relay_rtype_adt(ctx, list, 1, &number);
    gpuc_rexpr *start = gpuc_relay_var(ctx, "start", number), *xs = gpuc_relay_var(ctx, "xs", numbers),
               *x = gpuc_relay_var(ctx, "x", NULL), *rest = gpuc_relay_var(ctx, "rest", NULL);
    const gpuc_rpattern *fields[] = {gpuc_relay_pattern_var(ctx, x), gpuc_relay_pattern_var(ctx, rest)};
    const gpuc_constructor *cons = gpuc_rmodule_get_constructor(m, "Cons"),
                           *nil = gpuc_rmodule_get_constructor(m, "Nil");
    gpuc_rexpr *again[] = {start, rest},
               *both[] = {x, gpuc_relay_call(ctx, gpuc_relay_global(ctx, "fold"), NULL, 2, again)};
    const gpuc_rclause clauses[] = {
        {gpuc_relay_pattern_constructor(ctx, cons, 2, fields), gpuc_relay_apply(ctx, "add", NULL, 2, both)},
        {gpuc_relay_pattern_constructor(ctx, nil, 0, NULL), start},
    };
    gpuc_rexpr *params[] = {start, xs}, *body = gpuc_relay_match(ctx, xs, 2, clauses, false);
    gpuc_rmodule_add_function(m, "fold",
                              gpuc_relay_generic_function(ctx, 0, NULL, 2, params, number, body, NULL));
}

/* def @main(%n: float32) { let %xs = Cons(%n, Cons(3f, Cons(4f, Nil))); @fold(1f, %xs) } */
static void define_main(gpuc_ctx *ctx, gpuc_rmodule *m)
{
    gpuc_rexpr *cons = gpuc_relay_constructor(ctx, gpuc_rmodule_get_constructor(m, "Cons")),
               *nil = gpuc_relay_constructor(ctx, gpuc_rmodule_get_constructor(m, "Nil")),
               *n = gpuc_relay_var(ctx, "n", scalar(ctx)), *xs = gpuc_relay_var(ctx, "xs", NULL),
               *cells = gpuc_relay_call(ctx, nil, NULL, 0, NULL);
    for (int i = 4; i > 1; i--) {
        gpuc_rexpr *cell[] = {i > 2 ? gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, i) : n, cells};
        cells = gpuc_relay_call(ctx, cons, NULL, 2, cell);
    }
    gpuc_rexpr *args[] = {gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1), xs},
               *call = gpuc_relay_call(ctx, gpuc_relay_global(ctx, "fold"), NULL, 2, args);
    gpuc_rexpr *body = gpuc_relay_let(ctx, xs, cells, call);
    gpuc_rmodule_add_function(m, "main", gpuc_relay_function(ctx, 1, &n, body, NULL));
}

static void count_calls(gpuc_rexpr *e, void *arg)
{
    *(int *)arg += gpuc_relay_get_kind(e) == GPUC_REXPR_CALL;
}

/* multiply in the place of add */
static gpuc_rexpr *to_product(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *rebuilt, void *arg)
{
    (void)arg;
    const char *name = gpuc_relay_get_name(old);
    if (gpuc_relay_get_kind(old) != GPUC_REXPR_CALL || !name || strcmp(name, "add") != 0) return rebuilt;
    gpuc_rexpr *args[] = {gpuc_relay_operand(rebuilt, 1), gpuc_relay_operand(rebuilt, 2)};
    return gpuc_relay_apply(ctx, "multiply", NULL, 2, args);
}

static void run(gpuc_ctx *ctx, const gpuc_rmodule *m, float n)
{
    gpuc_relay_interpreter *i = gpuc_relay_interpreter_create(ctx, m, NULL);
    gpuc_relay_value *arg = gpuc_relay_make_tensor(i, GPUC_FLOAT32, 0, NULL, &n);
    gpuc_relay_value *result = gpuc_relay_interpret(i, "main", 1, &arg);
    printf("main(%g) = %g\n", n, *(const float *)gpuc_relay_value_data(result));
    gpuc_relay_value_release(result);
    gpuc_relay_value_release(arg);
}

static void body(gpuc_ctx *ctx, void *arg)
{
    int calls = 0;
    (void)arg;
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    define_fold(ctx, m, define_list(ctx, m));
    define_main(ctx, m);
    gpuc_relay_infer_module(ctx, m);
    fputs(gpuc_relay_text(ctx, m, 0), stdout);
    gpuc_rmodule_visit(m, count_calls, &calls);
    printf("\n%d calls in %d functions, @fold is %s\n", calls, gpuc_rmodule_num_functions(m),
           gpuc_rmodule_function_type(ctx, m, "fold"));
    run(ctx, m, 2);
    run(ctx, gpuc_rmodule_mutate(m, to_product, NULL), 2);
}

int main(void)
{
    gpuc_ctx *ctx;
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) {
        status = gpuc_ctx_protect(ctx, body, NULL);
        gpuc_ctx_destroy(ctx);
    }
    if (status) fprintf(stderr, "error: %s\n", gpuc_status_message(status));
    int code = status ? 1 : 0;
    gpuc_status_release(status);
    return code;
}
