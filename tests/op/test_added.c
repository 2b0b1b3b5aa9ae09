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

/* ---- In programs ---- */

static void infer_sum(gpuc_op_call *call)
{
    gpuc_topi_broadcast_types(call, 0, 2, &call->out[0]);
}

/* Rows of as many columns as an attribute says. */
static void infer_rows(gpuc_op_call *call)
{
    int64_t columns = gpuc_attrs_find(call->attrs, "columns")->i;
    const gpuc_expr dims[] = {call->in[0].dims[0], gpuc_int(call->ctx, columns)};
    gpuc_topi_set_out(call, 0, GPUC_FLOAT16, 2, dims);
}

static void infer_never(gpuc_op_call *call)
{
    gpuc_raise(call->ctx, GPUC_INVALID_ARGUMENT, "takes two inputs, not %d", call->num_in);
}

static const gpuc_attr_spec rows_attrs[] = {{.name = "columns", .kind = GPUC_ATTR_INT, .i = 3}, {0}};
static const gpuc_op own_sum = {.name = "own.sum",
                                .min_in = 2,
                                .max_in = 2,
                                .infer = infer_sum,
                                .compute = compute,
                                .topi = "",
                                .nnvm = ""};
static const gpuc_op own_rows = {.name = "own.rows",
                                 .min_in = 1,
                                 .max_in = 1,
                                 .attrs = rows_attrs,
                                 .infer = infer_rows,
                                 .compute = compute,
                                 .topi = "",
                                 .nnvm = ""};
static const gpuc_op own_never = {.name = "own.never",
                                  .min_in = 1,
                                  .max_in = 1,
                                  .infer = infer_never,
                                  .compute = compute,
                                  .topi = "",
                                  .nnvm = ""};

static const char *type_of_main(gpuc_ctx *ctx, const char *text)
{
    gpuc_rmodule *m = gpuc_relay_parse(ctx, text, "text", NULL);
    gpuc_relay_validate_given(ctx, m);
    const char *printed = gpuc_relay_text(ctx, m, 0);
    assert_string_equal(gpuc_relay_text(ctx, gpuc_relay_parse(ctx, printed, "printed", NULL), 0), printed);
    return gpuc_rmodule_function_type(ctx, m, "main");
}

static void its_result_has_the_type_of_its_input(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_op_register(ctx, &mine);
    assert_string_equal(
        type_of_main(ctx, "def @main(%x: Tensor[(7, n), float32]) { let %y = mine(%x); %y * %x }"),
        "fn (Tensor[(7, n), float32]) -> Tensor[(7, n), float32]");
}

static void it_broadcasts(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_op_register(ctx, &own_sum);
    assert_string_equal(
        type_of_main(ctx,
                     "def @main(%x: Tensor[(7, 2), int8], %y: Tensor[(3, 7, 1), int8]) { own.sum(%x, %y) }"),
        "fn (Tensor[(7, 2), int8], Tensor[(3, 7, 1), int8]) -> Tensor[(3, 7, 2), int8]");
}

static void its_type_follows_from_an_attribute(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_op_register(ctx, &own_rows);
    assert_string_equal(
        type_of_main(ctx,
                     "def @main(%x: Tensor[(5, 2), float32]) { (own.rows(%x), own.rows(%x, columns=9)) }"),
        "fn (Tensor[(5, 2), float32]) -> (Tensor[(5, 3), float16], Tensor[(5, 9), float16])");
}

static void parse(gpuc_ctx *ctx, void *text)
{
    gpuc_relay_parse(ctx, text, "text", NULL);
}

static void what_its_inference_refuses(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_op_register(ctx, &own_never);
    gpuc_op_register(ctx, &own_sum);
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "text:1:33: takes two inputs, not 1", parse,
              "def @main(%x: int32) { let %y = own.never(%x); %y + %x }");
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "own.sum", parse, "def @main(%x: int32) { own.sum(%x) }");
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "own.sum", parse,
              "def @main(%x: Tensor[(2), int8], %y: Tensor[(3), int8]) { own.sum(%x, %y) }");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(contexts_of_the_runtime_find_it),
        fx_test(names_are_taken_once),
        fx_test(functions_of_others_are_none),
        fx_test(its_result_has_the_type_of_its_input),
        fx_test(it_broadcasts),
        fx_test(its_type_follows_from_an_attribute),
        fx_test(what_its_inference_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
