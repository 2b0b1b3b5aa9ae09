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
static const gpuc_attr_spec twice[] = {{.name = "n", .kind = GPUC_ATTR_INT},
                                       {.name = "n", .kind = GPUC_ATTR_FLOAT},
                                       {0}},
                            no_kind[] = {{.name = "n", .kind = (gpuc_attr_kind)99}, {0}};
static const gpuc_op words = ROW(.name = "two words", .onnx = "");
static const gpuc_op empty = ROW(.name = "", .onnx = "");
static const gpuc_op doubled = ROW(.name = "doubled", .onnx = "", .attrs = twice);
static const gpuc_op unkind = ROW(.name = "unkind", .onnx = "", .attrs = no_kind);
static const gpuc_op unfused = ROW(.name = "unfused", .onnx = "", .pattern = (gpuc_fuse_pattern)77);
static const gpuc_op backwards = {
    .name = "backwards", .min_in = 3, .max_in = 2, .infer = infer, .compute = compute};
static const gpuc_op idle = {.name = "idle", .infer = infer};

static gpuc_status give_int(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args;
    (void)num_args;
    (void)self;
    *ret = gpuc_arg_int(1);
    return NULL;
}

static gpuc_status give_handle(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args;
    (void)num_args;
    *ret = (gpuc_value){.kind = GPUC_VALUE_HANDLE, .as.handle = self};
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
        {&words, "'two words' is no name for an operator: it has letters"},
        {&empty, "'' is no name for an operator"},
        {&doubled, "operator 'doubled': attribute 'n' is there twice"},
        {&unkind, "operator 'unkind': attribute 'n' has no such kind"},
        {&unfused, "operator 'unfused': there is no pattern 77"},
        {&backwards, "operator 'backwards' takes 3 to 2 inputs"},
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
    assert_null(gpuc_registry_set_fn(rt, "op.handle", give_handle, rt, NULL, false));
    gpuc_ctx_set_runtime(ctx, rt);
    assert_int_equal(gpuc_op_added_count(ctx), 1);
    assert_null(gpuc_op_lookup(ctx, "int"));
    assert_null(gpuc_op_lookup(ctx, "handle"));
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
