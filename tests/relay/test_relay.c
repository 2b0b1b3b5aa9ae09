/* SPDX-License-Identifier: Apache-2.0 */
/* Types, expressions, traversal, rewriting, inference of whole expressions, text. */
#include "fixture.h"

#include "relay/infer.h"

/* ---- Types ---- */

static const char *type_text(gpuc_ctx *ctx, const gpuc_rtype *t)
{
    gpuc_buf text;
    gpuc_buf_init(&text, ctx->allocator);
    gpuc_relay_rtype_print(ctx, &text, t);
    const char *out = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
    return out;
}

static void bytes_of_symbolic(gpuc_ctx *ctx, void *arg)
{
    gpuc_relay_tensor_type_bytes(ctx, &((const gpuc_rtype *)arg)->tensor);
}

static void types(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr n = gpuc_var(ctx, "N", GPUC_INDEX), dims[] = {n, NULL, gpuc_int(ctx, 3)};
    const gpuc_rtype *symbolic = gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT16, 3, dims);
    const gpuc_rtype *plain = fx_type(ctx, GPUC_FLOAT32, FX_DIMS(2, 3)),
                     *scalar = fx_type(ctx, GPUC_BOOL, FX_SCALAR);
    const gpuc_rtype *pair[] = {plain, scalar}, *tuple = gpuc_relay_rtype_tuple(ctx, 2, pair),
                     *one = gpuc_relay_rtype_tuple(ctx, 1, pair);
    assert_string_equal(type_text(ctx, symbolic), "Tensor[(N, ?, 3), float16]");
    assert_string_equal(type_text(ctx, scalar), "bool");
    assert_string_equal(type_text(ctx, tuple), "(Tensor[(2, 3), float32], bool)");
    assert_string_equal(type_text(ctx, one), "(Tensor[(2, 3), float32],)");
    assert_string_equal(type_text(ctx, gpuc_relay_rtype_func(ctx, 1, pair, tuple)),
                        "fn (Tensor[(2, 3), float32]) -> (Tensor[(2, 3), float32], bool)");
    assert_true(gpuc_relay_rtype_equal(plain, fx_type(ctx, GPUC_FLOAT32, FX_DIMS(2, 3))));
    assert_false(gpuc_relay_rtype_equal(plain, fx_type(ctx, GPUC_FLOAT32, FX_DIMS(3, 2))));
    assert_false(gpuc_relay_rtype_equal(plain, fx_type(ctx, GPUC_INT32, FX_DIMS(2, 3))));
    assert_false(gpuc_relay_rtype_equal(plain, tuple));
    assert_false(gpuc_relay_rtype_equal(one, tuple));
    assert_false(gpuc_relay_rtype_equal(NULL, tuple));
    int64_t out[3];
    assert_true(gpuc_relay_tensor_type_static(&plain->tensor, out));
    assert_int_equal(out[1], 3);
    assert_false(gpuc_relay_tensor_type_static(&symbolic->tensor, out));
    assert_int_equal(gpuc_relay_tensor_type_bytes(ctx, &plain->tensor), 24);
    assert_int_equal(gpuc_relay_tensor_type_bytes(ctx, &scalar->tensor), 1);
    fx_expect(ctx, GPUC_UNSUPPORTED, "dimension 0", bytes_of_symbolic, (void *)symbolic);
    const gpuc_rtype *huge = fx_type(ctx, GPUC_FLOAT32, FX_DIMS(INT64_MAX / 2, 2));
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "63 bits", bytes_of_symbolic, (void *)huge);
}

/* ---- Constants ---- */

static void constants(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    assert_true(fx_element(ctx, gpuc_relay_const_scalar(ctx, GPUC_FLOAT16, 1.5), 0) == 1.5);
    assert_true(fx_element(ctx, gpuc_relay_const_scalar(ctx, GPUC_BFLOAT16, -2), 0) == -2);
    assert_true(fx_element(ctx, gpuc_relay_const_scalar(ctx, GPUC_FLOAT64, 0.1), 0) == 0.1);
    assert_true(fx_element(ctx, gpuc_relay_const_scalar(ctx, GPUC_INT8, -128), 0) == -128);
    assert_true(fx_element(ctx, gpuc_relay_const_scalar(ctx, GPUC_UINT16, 65535), 0) == 65535);
    assert_true(fx_element(ctx, gpuc_relay_const_scalar(ctx, GPUC_BOOL, 1), 0) == 1);
    int64_t v[] = {INT64_MIN, -1, INT64_MAX};
    gpuc_rexpr *c = fx_ints(ctx, 3, v);
    assert_string_equal(fx_text(ctx, c),
                        "const([-9223372036854775808, -1, 9223372036854775807], Tensor[(3), int64])\n");
    assert_string_equal(fx_text(ctx, gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 0.5)),
                        "const(0.5, Tensor[(), float32])\n");
    gpuc_rexpr *empty = fx_floats(ctx, FX_DIMS(0, 3), NULL);
    assert_int_equal(gpuc_as_rconstant(empty)->data->size, 0);
    assert_int_equal((uintptr_t)gpuc_as_rconstant(c)->data->bytes % 64, 0);
}

/* ---- Sources ---- */

static void sources(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2));
    gpuc_relay_with_source(ctx, x, "conv10");
    gpuc_relay_with_source(ctx, x, "conv1"); /* is not the one that is there */
    gpuc_relay_with_source(ctx, x, "conv1");
    gpuc_relay_with_source(ctx, x, "");
    gpuc_relay_with_source(ctx, x, NULL);
    assert_string_equal(x->source, "conv10,conv1");
    uint32_t first = ctx->next_id;
    gpuc_rexpr *a = fx_op1(ctx, "exp", NULL, x), *b = fx_op2(ctx, "add", a, a),
               *c = fx_op1(ctx, "abs", NULL, b);
    gpuc_relay_with_source(ctx, a, "mine");
    gpuc_relay_mark_source(ctx, c, first, "node");
    assert_string_equal(c->source, "node");
    assert_string_equal(b->source, "node");
    assert_string_equal(a->source, "mine");
    assert_string_equal(x->source, "conv10,conv1");
}

/* ---- Traversal ---- */

static void post_order(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2)), *y = fx_var(ctx, "y", FX_DIMS(2));
    gpuc_rexpr *shared = fx_op2(ctx, "add", x, y), *top = fx_op2(ctx, "multiply", shared, shared);
    gpuc_rexpr *fields[] = {top, shared}, *tuple = gpuc_relay_tuple(ctx, 2, fields);
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, tuple, true, &order);
    assert_int_equal(order.count, 7); /* two operators, two variables, two calls, the tuple */
    gpuc_map at;
    gpuc_map_init(&at, ctx);
    for (size_t i = 0; i < order.count; i++) gpuc_map_set(&at, order.at[i], (void *)(i + 1));
    assert_int_equal(at.count, order.count);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *child;
        for (int k = 0; (child = gpuc_relay_child(order.at[i], k)); k++)
            assert_true((size_t)gpuc_map_get(&at, child) <= i);
    }
    assert_ptr_equal(order.at[order.count - 1], tuple);
}

static void functions_are_entered_on_demand(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2)), *p = fx_var(ctx, "p", FX_DIMS(2));
    gpuc_rexpr *inner = gpuc_relay_function(ctx, 1, &p, fx_op1(ctx, "exp", NULL, p), NULL);
    gpuc_rexpr *call = gpuc_relay_call(ctx, inner, NULL, 1, &x);
    gpuc_ptrs out = {0}, in = {0}, root = {0};
    gpuc_relay_post_order(ctx, call, false, &out);
    assert_int_equal(out.count, 3); /* the function, x, the call */
    gpuc_relay_post_order(ctx, call, true, &in);
    assert_int_equal(in.count, 6);
    gpuc_relay_post_order(ctx, inner, false, &root); /* a root is entered */
    assert_int_equal(root.count, 4);
}

static gpuc_rexpr *exp_to_log(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    ++*(int *)arg;
    return gpuc_relay_is_op(e, "exp") ? fx_op1(ctx, "log", NULL, gpuc_as_rcall(e)->args[0]) : e;
}

static void rewriting(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2)), *e = fx_op1(ctx, "exp", NULL, x),
               *a = fx_op1(ctx, "abs", NULL, x);
    gpuc_relay_with_source(ctx, e, "exp_node");
    gpuc_rexpr *sum = fx_op2(ctx, "add", e, a), *twice = fx_op2(ctx, "add", sum, sum);
    gpuc_relay_with_source(ctx, twice, "sum_node");
    int visits = 0;
    gpuc_rexpr *out = gpuc_relay_rewrite(ctx, twice, exp_to_log, &visits);
    assert_int_equal(visits, 1 + 4 + 4); /* x, callees of exp, abs, add, add; their calls */
    const gpuc_rcall *c = gpuc_as_rcall(out);
    assert_ptr_equal(c->args[0], c->args[1]);
    assert_string_equal(out->source, "sum_node");
    const gpuc_rcall *inner = gpuc_as_rcall(c->args[0]);
    assert_true(gpuc_relay_is_op(inner->args[0], "log"));
    assert_string_equal(inner->args[0]->source, "exp_node"); /* what is made takes the old node's name */
    assert_ptr_equal(inner->args[1], a);                     /* what did not change is the same */
    assert_ptr_equal(gpuc_relay_rewrite(ctx, out, exp_to_log, &visits), out);
    assert_non_null(out->type);
}

static gpuc_rexpr *keep(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)ctx;
    (void)old;
    (void)arg;
    return e;
}

static gpuc_rexpr *new_input(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)ctx;
    (void)old;
    return e->kind == GPUC_REXPR_VAR ? arg : e;
}

static void a_long_chain(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    enum { LENGTH = 100000 };
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2)), *y = fx_var(ctx, "y", FX_DIMS(2)), *e = x;
    for (int i = 0; i < LENGTH; i++) e = fx_op1(ctx, i % 2 ? "negative" : "abs", NULL, e);
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, e, true, &order);
    assert_int_equal(order.count, 2 * LENGTH + 1);
    assert_ptr_equal(gpuc_relay_rewrite(ctx, e, keep, NULL), e);
    gpuc_rexpr *other = gpuc_relay_rewrite(ctx, e, new_input, y);
    assert_ptr_not_equal(other, e);
    gpuc_rmodule *m = fx_module(ctx, other, 1, &y);
    gpuc_relay_infer_type(ctx, m, gpuc_rmodule_get(m, "main"));
    uint32_t first = ctx->next_id;
    gpuc_relay_mark_source(ctx, other, 0, "");
    gpuc_relay_mark_source(ctx, fx_op1(ctx, "exp", NULL, other), first, "end");
    assert_true(strlen(fx_module_text(ctx, m)) > LENGTH * 20);
}

/* ---- Tuples, functions, control flow ---- */

static void get_out_of_range(gpuc_ctx *ctx, void *arg)
{
    gpuc_rexpr *g = gpuc_relay_get(ctx, arg, 0);
    ((gpuc_rget *)g)->index = 5;
    gpuc_relay_infer_node(ctx, NULL, g);
}

static void tuples(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(4, 3)), *y = fx_var(ctx, "y", FX_DIMS(2));
    gpuc_rexpr *fields[] = {x, y}, *t = gpuc_relay_tuple(ctx, 2, fields);
    assert_ptr_equal(gpuc_relay_get(ctx, t, 1), y);
    gpuc_rexpr *split = fx_op1(ctx, "split", "sizes=[1, 3] axis=0", x), *part = gpuc_relay_get(ctx, split, 1);
    assert_string_equal(type_text(ctx, part->type), "Tensor[(3, 3), float32]");
    assert_string_equal(fx_text(ctx, part),
                        "%0 = split(%x, axis=0, sizes=[1, 3]); /* (Tensor[(1, 3), float32], "
                        "Tensor[(3, 3), float32]) */\n%0.1\n");
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "field 5", get_out_of_range, split);
}

static void infer_all(gpuc_ctx *ctx, void *arg)
{
    gpuc_rmodule *m = arg;
    gpuc_relay_infer_type(ctx, m, gpuc_rmodule_get(m, "main"));
}

static gpuc_rexpr *untyped(gpuc_ctx *ctx, const char *name)
{
    return gpuc_relay_var(ctx, name, NULL);
}

static void control_flow(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *c = gpuc_relay_var(ctx, "c", fx_type(ctx, GPUC_BOOL, FX_SCALAR)),
               *x = fx_var(ctx, "x", FX_DIMS(4));
    gpuc_rexpr *v = untyped(ctx, "v"),
               *half = fx_op1(ctx, "strided_slice", "begin=[0] sizes=[2] strides=[1]", x);
    gpuc_rexpr *branches = gpuc_relay_if(ctx, c, fx_op1(ctx, "exp", NULL, x), half);
    gpuc_rexpr *body = gpuc_relay_let(ctx, v, branches, v), *params[] = {c, x};
    gpuc_rmodule *m = fx_module(ctx, body, 2, params);
    gpuc_relay_infer_type(ctx, m, gpuc_rmodule_get(m, "main"));
    assert_string_equal(type_text(ctx, branches->type), "Tensor[(?), float32]"); /* 4 or 2 */
    assert_string_equal(type_text(ctx, gpuc_rmodule_get(m, "main")->type),
                        "fn (bool, Tensor[(4), float32]) -> Tensor[(?), float32]");
    fx_expect_text(
        fx_module_text(ctx, m),
        "def @main(%c: bool, %x: Tensor[(4), float32]) {"
        "  let %v = if (%c) { exp(%x) } else { strided_slice(%x, begin=[0], sizes=[2], strides=[1]) };"
        "  %v"
        "}");
    gpuc_rexpr *bad = gpuc_relay_if(ctx, c, x, c);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "branches", infer_all, fx_module(ctx, bad, 2, params));
}

/* What branches share is printed where it is used, and before them only if it is used there too. */
static void shared_by_branches(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *c = gpuc_relay_var(ctx, "c", fx_type(ctx, GPUC_BOOL, FX_SCALAR)),
               *x = fx_var(ctx, "x", FX_DIMS(4));
    gpuc_rexpr *e = fx_op1(ctx, "exp", NULL, x), *a = fx_op1(ctx, "abs", NULL, x);
    gpuc_rexpr *i = gpuc_relay_if(ctx, c, fx_op2(ctx, "add", e, a), fx_op2(ctx, "subtract", e, a));
    gpuc_relay_infer_node(ctx, NULL, i);
    fx_expect_text(fx_text(ctx, fx_op2(ctx, "multiply", a, i)),
                   "%0 = abs(%x); %1 = exp(%x);"
                   "%2 = if (%c) { add(%1, %0) } else { subtract(%1, %0) };"
                   "multiply(%0, %2)");
}

static void a_long_chain_of_lets(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    enum { LENGTH = 100000 };
    const gpuc_rtype *type = fx_type(ctx, GPUC_FLOAT32, FX_DIMS(2));
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", type), *last = gpuc_relay_var(ctx, "v", type), *body = last;
    for (int i = 0; i < LENGTH; i++) {
        gpuc_rexpr *v = i + 1 < LENGTH ? gpuc_relay_var(ctx, "v", type) : x;
        body = gpuc_relay_let(ctx, last, fx_op1(ctx, "abs", NULL, v), body);
        last = v;
    }
    assert_true(strlen(fx_text(ctx, body)) > LENGTH * 15);
}

static void calls_of_functions(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *p = fx_var(ctx, "p", FX_DIMS(4)), *x = fx_var(ctx, "x", FX_DIMS(4));
    gpuc_rexpr *fn = gpuc_relay_function(ctx, 1, &p, fx_op1(ctx, "sum", NULL, p), NULL),
               *g = gpuc_relay_global(ctx, "f");
    gpuc_rexpr *call = gpuc_relay_call(ctx, g, NULL, 1, &x);
    gpuc_rmodule *m = fx_module(ctx, call, 1, &x);
    gpuc_strmap_set(&m->functions, "f", fn);
    gpuc_relay_infer_type(ctx, m, gpuc_rmodule_get(m, "main"));
    assert_string_equal(type_text(ctx, call->type), "float32");
    gpuc_rexpr *two[] = {x, x}, *wrong = gpuc_relay_call(ctx, g, NULL, 2, two);
    gpuc_rmodule *bad = fx_module(ctx, wrong, 1, &x);
    gpuc_strmap_set(&bad->functions, "f", fn);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "1 parameters is called with 2", infer_all, bad);
    gpuc_rmodule *missing =
        fx_module(ctx, gpuc_relay_call(ctx, gpuc_relay_global(ctx, "nobody"), NULL, 1, &x), 1, &x);
    fx_expect(ctx, GPUC_NOT_FOUND, "nobody", infer_all, missing);
}

static void matches(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_adt list = {.name = "List", .n = 2};
    const gpuc_rtype *item = fx_type(ctx, GPUC_FLOAT32, FX_DIMS(4)), *adt_fields[2];
    gpuc_rtype list_type = {.kind = GPUC_RTYPE_ADT, .adt = &list};
    adt_fields[0] = item;
    adt_fields[1] = &list_type;
    gpuc_constructor constructors[] = {
        {.name = "Nil", .adt = &list},
        {.name = "Cons", .tag = 1, .n = 2, .fields = adt_fields, .adt = &list}};
    list.constructors = constructors;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(4)),
               *nil = gpuc_relay_call(ctx, gpuc_relay_constructor(ctx, &constructors[0]), NULL, 0, NULL);
    gpuc_rexpr *cells[] = {x, nil},
               *cons = gpuc_relay_call(ctx, gpuc_relay_constructor(ctx, &constructors[1]), NULL, 2, cells);
    gpuc_rexpr *head = gpuc_relay_var(ctx, "head", item);
    gpuc_rpattern inside[] = {{.var = head}, {0}};
    gpuc_rclause clauses[] = {{{.constructor = &constructors[1], .n = 2, .at = inside}, head}, {{0}, x}};
    gpuc_rexpr *match = gpuc_relay_match(ctx, cons, 2, clauses, true);
    gpuc_rmodule *m = fx_module(ctx, match, 1, &x);
    gpuc_relay_infer_type(ctx, m, gpuc_rmodule_get(m, "main"));
    assert_string_equal(type_text(ctx, cons->type), "List");
    assert_string_equal(type_text(ctx, match->type), "Tensor[(4), float32]");
    fx_expect_text(fx_module_text(ctx, m), "def @main(%x: Tensor[(4), float32]) {"
                                           "  %0 = Nil; %1 = Cons(%x, %0);"
                                           "  match? (%1) {"
                                           "    Cons(%head: Tensor[(4), float32], _) => { %head },"
                                           "    _ => { %x }, }"
                                           "}");
}

static void text_of_a_graph(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 3, 8)), *w = fx_var(ctx, "w", FX_DIMS(3, 1)),
               *params[] = {x, w};
    gpuc_rexpr *c = fx_op1(ctx, "nn.lrn", "size=3 beta=0.5", x),
               *big = fx_floats(ctx, FX_DIMS(8), (float[8]){0});
    gpuc_rexpr *y =
        fx_op1(ctx, "nn.relu", NULL, fx_op2(ctx, "add", c, gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1)));
    gpuc_rexpr *fields[] = {fx_op2(ctx, "multiply", y, big), w};
    fx_expect_text(fx_module_text(ctx, fx_module(ctx, gpuc_relay_tuple(ctx, 2, fields), 2, params)),
                   "def @main(%x: Tensor[(2, 3, 8), float32], %w: Tensor[(3, 1), float32]) {\n"
                   "  %0 = nn.lrn(%x, size=3, beta=0.5f);\n"
                   "  %1 = add(%0, 1f);\n"
                   "  %2 = nn.relu(%1);\n"
                   "  %3 = multiply(%2, meta[relay.Constant][0]);\n"
                   "  (%3, %w)\n"
                   "}\n");
}

static void unknown_operator(gpuc_ctx *ctx, void *arg)
{
    fx_op1(ctx, "nn.rellu", NULL, arg);
}

static void tensors_of(gpuc_ctx *ctx, void *arg)
{
    int n;
    gpuc_relay_tensors(ctx, gpuc_as_rfunction(gpuc_rmodule_get(arg, "main")), NULL, &n);
}

static void errors(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2));
    gpuc_rexpr *shape = gpuc_relay_with_source(ctx, fx_op1(ctx, "shape_of", NULL, x), "the_shape");
    fx_expect(ctx, GPUC_UNSUPPORTED, "shape_of of the_shape cannot run on a device", tensors_of,
              fx_module(ctx, shape, 1, &x));
    fx_expect(ctx, GPUC_UNSUPPORTED, "unknown operator 'nn.rellu'|did you mean 'nn.relu'", unknown_operator,
              x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(types),
        fx_test(constants),
        fx_test(sources),
        fx_test(post_order),
        fx_test(functions_are_entered_on_demand),
        fx_test(rewriting),
        fx_test(a_long_chain),
        fx_test(tuples),
        fx_test(control_flow),
        fx_test(shared_by_branches),
        fx_test(a_long_chain_of_lets),
        fx_test(calls_of_functions),
        fx_test(matches),
        fx_test(text_of_a_graph),
        fx_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
