/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are added to a context, and to a runtime for all of its contexts. */
#include <gpuc/runtime.h>

#include "../relay/fixture.h"

static void infer(gpuc_op_call *call)
{
    call->out[0] = call->in[0];
}

static void compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    (void)call;
    outs[0] = ins[0];
}

#define ROW(...)                                                                                             \
    {                                                                                                        \
        .min_in = 1, .max_in = 1, .infer = infer, .compute = compute, .topi = "", .nnvm = "", __VA_ARGS__    \
    }
static const gpuc_op mine = ROW(.name = "mine", .onnx = "com.example:Mine,com.example:Other");
static const gpuc_op yours = ROW(.name = "yours", .onnx = "com.example:Yours");
static const gpuc_op builtin = ROW(.name = "nn.relu", .onnx = "");
static const gpuc_op nameless = ROW(.name = NULL, .onnx = "");
static const gpuc_op endless =
    ROW(.name = "an.operator.with.a.name.that.is.longer.than.any.name.of.an.operator.may.be");
static const gpuc_op idle = {.name = "idle", .infer = infer};

static gpuc_status give_int(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args;
    (void)num_args;
    (void)self;
    *ret = gpuc_arg_int(1);
    return NULL;
}

static gpuc_runtime *runtime_with(const gpuc_op *op)
{
    gpuc_runtime *rt;
    assert_null(gpuc_runtime_create(NULL, &rt));
    assert_null(gpuc_op_register_in(rt, op));
    return rt;
}

static void contexts_of_the_runtime_find_it(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_runtime *rt = runtime_with(&mine);
    assert_null(gpuc_op_lookup(ctx, "mine"));
    assert_int_equal(gpuc_op_added_count(ctx), 0);
    gpuc_op_register(ctx, &yours);
    gpuc_ctx_set_runtime(ctx, rt);
    assert_ptr_equal(gpuc_op_lookup(ctx, "mine"), &mine);
    assert_ptr_equal(gpuc_op_lookup(ctx, "yours"), &yours);
    assert_ptr_equal(gpuc_op_find_onnx(ctx, "com.example", "Other"), &mine);
    assert_ptr_equal(gpuc_op_find_onnx(ctx, "com.example", "Yours"), &yours);
    assert_null(gpuc_op_find_onnx(ctx, "com.example", "Min"));
    assert_null(gpuc_op_find_onnx(ctx, "", "Mine"));
    assert_string_equal(gpuc_op_nearest(ctx, "mines"), "mine");
    assert_int_equal(gpuc_op_added_count(ctx), 2);
    assert_ptr_equal(gpuc_op_added_at(ctx, 0), &yours);
    assert_ptr_equal(gpuc_op_added_at(ctx, 1), &mine);
    assert_null(gpuc_op_added_at(ctx, 2));
    gpuc_ctx_set_runtime(ctx, NULL);
    gpuc_runtime_release(rt);
}

static void register_again(gpuc_ctx *ctx, void *arg)
{
    gpuc_op_register(ctx, arg);
}

static void names_are_taken_once(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        const gpuc_op *op;
        const char *words;
    } refused[] = {
        {&mine, "there is an operator 'mine' already"},
        {&builtin, "there is an operator 'nn.relu' already"},
        {&nameless, "lacks a name"},
        {&idle, "'idle' lacks compute"},
        {&endless, "at most 63 bytes"},
        {NULL, "'op' is NULL"},
    };
    (void)arg;
    gpuc_runtime *rt = runtime_with(&mine);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        fx_check_status(gpuc_op_register_in(rt, refused[i].op), GPUC_INVALID_ARGUMENT, refused[i].words);
    fx_check_status(gpuc_op_register_in(NULL, &yours), GPUC_INVALID_ARGUMENT, "'rt' is NULL");
    gpuc_ctx_set_runtime(ctx, rt);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "there is an operator 'mine' already", register_again,
              (void *)&mine);
    assert_int_equal(gpuc_op_added_count(ctx), 1);
    gpuc_ctx_set_runtime(ctx, NULL);
    gpuc_runtime_release(rt);
}

/* A program may use the names for something else. */
static void functions_of_others_are_none(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_runtime *rt = runtime_with(&mine);
    assert_null(gpuc_registry_set_fn(rt, "op.int", give_int, NULL, NULL, false));
    assert_null(gpuc_registry_set_fn(rt, "oper", give_int, NULL, NULL, false));
    gpuc_ctx_set_runtime(ctx, rt);
    assert_int_equal(gpuc_op_added_count(ctx), 1);
    assert_null(gpuc_op_lookup(ctx, "int"));
    gpuc_ctx_set_runtime(ctx, NULL);
    gpuc_runtime_release(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(contexts_of_the_runtime_find_it),
        fx_test(names_are_taken_once),
        fx_test(functions_of_others_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
