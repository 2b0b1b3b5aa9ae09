/* SPDX-License-Identifier: Apache-2.0 */
/* The prelude and the tensor arrays, in the interpreter; values as JSON. */
#include "../relay/fixture.h"

static const char *run_text(gpuc_ctx *ctx, const char *text)
{
    gpuc_rmodule *m = gpuc_relay_parse(ctx, text, "text", NULL);
    gpuc_relay_value *v = gpuc_relay_interpret(gpuc_relay_interpreter_create(ctx, m, NULL), "main", 0, NULL);
    const char *json = gpuc_relay_value_json(ctx, v, NULL, NULL);
    gpuc_relay_value_release(v);
    return json;
}

typedef struct row {
    const char *expr, *json;
} row;

#define LIST "Cons(1, Cons(2, Cons(3, Nil)))"
#define ADD "fn (%a: int32, %b: int32) { %a * 2 + %b }"

static const row lists[] = {
    {"@id(5)", "5"},
    {"@compose(fn (%x: int32) { %x + 1 }, fn (%x: int32) { %x * 10 })(2)", "21"},
    {"@flip(fn (%a: int32, %b: int32) { %a - %b })(1, 10)", "9"},
    {"@iterate(fn (%x: int32) { %x * 3 }, 4)(1)", "81"},
    {"@iterate(fn (%x: int32) { %x * 3 }, 0)(7)", "7"},
    {"@iterate(fn (%x: int32) { %x * 3 }, -2)(7)", "7"},
    {"@hd(" LIST ")", "1"},
    {"@tl(" LIST ")", "{\"List\": [2, 3]}"},
    {"@nth(" LIST ", 2)", "3"},
    {"@update(" LIST ", 1, 9)", "{\"List\": [1, 9, 3]}"},
    {"@foldl(" ADD ", 0, " LIST ")", "11"},
    {"@foldr(" ADD ", 0, " LIST ")", "12"},
    {"@foldr1(" ADD ", " LIST ")", "9"},
    {"@length(" LIST ")", "3"},
    {"@sum(" LIST ")", "6"},
    {"@rev(" LIST ")", "{\"List\": [3, 2, 1]}"},
    {"@map(fn (%x: int32) { (%x, %x > 1) }, " LIST ")", "{\"List\": [[1, false], [2, true], [3, true]]}"},
    {"@filter(fn (%x: int32) { %x != 2 }, " LIST ")", "{\"List\": [1, 3]}"},
    {"@concat(" LIST ", Cons(7, Nil))", "{\"List\": [1, 2, 3, 7]}"},
    {"@zip(" LIST ", Cons(True, Cons(False, Nil)))", "{\"List\": [[1, true], [2, false]]}"},
    {"@map_accumr(fn (%s: int32, %x: int32) { (%s + %x, %s) }, 0, " LIST ")", "[6, {\"List\": [5, 3, 0]}]"},
    {"@map_accuml(fn (%s: int32, %x: int32) { (%s + %x, %s) }, 0, " LIST ")", "[6, {\"List\": [3, 1, 0]}]"},
    {"@unfoldr(fn (%n: int32) { if (%n < 3) { Some((%n + 1, %n * %n)) } else { None } }, 0)",
     "{\"List\": [0, 1, 4]}"},
    {"@unfoldl(fn (%n: int32) { if (%n < 3) { Some((%n + 1, %n * %n)) } else { None } }, 0)",
     "{\"List\": [4, 1, 0]}"},
    {"@tmap(fn (%x: int32) { cast(%x, dtype=\"float32\") / 4f }, Rose(1, Cons(Rose(2, Nil), Nil)))",
     "{\"Rose\": [0.25, {\"List\": [{\"Rose\": [0.5, {\"List\": []}]}]}]}"},
    {"@size(Rose(1, Cons(Rose(2, Nil), Cons(Rose(2, Nil), Nil))))", "3"},
};

static void the_prelude(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const char *text = gpuc_ctx_printf(ctx, "import \"prelude.rly\"\ndef @main() { %s }", lists[i].expr);
        assert_string_equal(run_text(ctx, text), lists[i].json);
    }
    assert_string_equal(run_text(ctx, "import \"prelude.rly\"\nimport \"prelude.rly\"\n"
                                      "def @main() { (Some(-1), fn (%x: int32) { @id(%x) }, 2) }"),
                        "[{\"Some\": [-1]}, {\"fn\": \"fn\"}, 2]");
    /* no list: the tail has other parameters */
    assert_string_equal(run_text(ctx, "type Alt[A, B] { More(A, Alt[B, A]), End }\n"
                                      "def @main() { More(1, More(True, End)) }"),
                        "{\"More\": [1, {\"More\": [true, {\"End\": []}]}]}");
}

#define TENSOR2 "meta[relay.Constant][0]"
#define SECTION                                                                                              \
    "\n#[constants]\nTensor[(3, 2), float32] \"AAAAAAAAgD8AAABAAABAQAAAgEAAAKBA\"\nTensor[(2), int32] "      \
    "\"AgAAAAAAAAA=\"\n"                                                                                     \
    "Tensor[(2), int32] \"AQAAAAIAAAA=\"\n"

static const row dynamic[] = {
    {"@tensor_array_float32(2)", "{\"List\": [{\"tensor_nil_float32\": []}, {\"tensor_nil_float32\": []}]}"},
    {"@tensor_array_float32(-1)", "{\"List\": []}"},
    {"@tensor_array_read_float32(@tensor_array_write_float32(@tensor_array_float32(2), 1, "
     "tensor0_float32(3f)), 1)",
     "{\"tensor0_float32\": [3]}"},
    {"@tensor_array_unstack_tensor2_float32(" TENSOR2 ")",
     "{\"List\": [{\"tensor1_float32\": [[0, 1]]}, {\"tensor1_float32\": [[2, 3]]}, {\"tensor1_float32\": "
     "[[4, 5]]}]}"},
    {"@tensor_array_stack_float32(@tensor_array_unstack_tensor2_float32(" TENSOR2 "))",
     "{\"tensor2_float32\": [[[0, 1], [2, 3], [4, 5]]]}"},
    {"@tensor_array_concat_float32(@tensor_array_unstack_tensor2_float32(" TENSOR2 "))",
     "{\"tensor1_float32\": [[0, 1, 2, 3, 4, 5]]}"},
    {"@tensor_array_gather_float32(@tensor_array_unstack_tensor2_float32(" TENSOR2
     "), meta[relay.Constant][1])",
     "{\"tensor2_float32\": [[[4, 5], [0, 1]]]}"},
    {"@tensor_array_scatter_float32(@tensor_array_float32(3), meta[relay.Constant][1], "
     "Cons(tensor0_float32(1f), "
     "Cons(tensor0_float32(2f), Nil)))",
     "{\"List\": [{\"tensor0_float32\": [2]}, {\"tensor_nil_float32\": []}, {\"tensor0_float32\": [1]}]}"},
    {"@tensor_array_split_float32(@tensor_array_float32(2), tensor2_float32(" TENSOR2
     "), meta[relay.Constant][2])",
     "{\"List\": [{\"tensor2_float32\": [[[0, 1]]]}, {\"tensor2_float32\": [[[2, 3], [4, 5]]]}]}"},
    {"@tensor_take_float32(tensor2_float32(" TENSOR2 "), 1, 1)", "{\"tensor2_float32\": [[]]}"},
};

#define UNSTACK "@tensor_array_unstack_float32_2(" TENSOR2 ")"
static const row fixed[] = {
    {"@tensor_array_float32_2(1)", "{\"List\": [{\"tensor_nil_float32_2\": []}]}"},
    {"@tensor_array_stack_float32_2(" UNSTACK ")",
     "{\"tensor_constructor_float32_any_2\": [[[0, 1], [2, 3], [4, 5]]]}"},
    {"@tensor_array_concat_float32_2(" UNSTACK ")",
     "{\"tensor_constructor_float32_any\": [[0, 1, 2, 3, 4, 5]]}"},
    {"@tensor_get_data_float32_2(@tensor_array_read_float32_2(" UNSTACK ", 1))", "[2, 3]"},
    {"@tensor_array_gather_float32_2(" UNSTACK ", meta[relay.Constant][1])",
     "{\"tensor_constructor_float32_any_2\": [[[4, 5], [0, 1]]]}"},
    {"@tensor_array_scatter_float32_2(@tensor_array_float32_2(2), meta[relay.Constant][2], Nil)",
     "{\"List\": [{\"tensor_nil_float32_2\": []}, {\"tensor_nil_float32_2\": []}]}"},
    {"@tensor_array_write_float32_2(" UNSTACK ", 0, tensor_nil_float32_2)",
     "{\"List\": [{\"tensor_nil_float32_2\": []}, {\"tensor_constructor_float32_2\": [[2, 3]]}, "
     "{\"tensor_constructor_float32_2\": [[4, 5]]}]}"},
    {"@tensor_array_split_float32_any_2(@tensor_array_float32_any_2(2), " TENSOR2
     ", meta[relay.Constant][2])",
     "{\"List\": [{\"tensor_constructor_float32_any_2\": [[[0, 1]]]}, {\"tensor_constructor_float32_any_2\": "
     "[[[2, 3], "
     "[4, 5]]]}]}"},
    {"@tensor_array_float32_scalar(0)", "{\"List\": []}"},
    {"@tensor_array_float32_scalar(-2)", "{\"List\": []}"},
};

static void tensor_arrays(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < sizeof dynamic / sizeof *dynamic; i++)
        assert_string_equal(
            run_text(ctx, gpuc_ctx_printf(ctx, "import \"tensor_array[float32]\"\ndef @main() { %s }" SECTION,
                                          dynamic[i].expr)),
            dynamic[i].json);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        assert_string_equal(
            run_text(ctx,
                     gpuc_ctx_printf(ctx,
                                     "import \"static_tensor_array[Tensor[(2), float32]]\"\n"
                                     "import \"static_tensor_array[Tensor[(?, 2), float32]]\"\n"
                                     "import \"static_tensor_array[float32]\"\ndef @main() { %s }" SECTION,
                                     fixed[i].expr)),
            fixed[i].json);
}

/* Every element type and every rank have functions that type. */
static void all_types(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char *const types[] = {"bool", "int8", "int64", "uint8", "float16", "bfloat16", "float64"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char *text =
            gpuc_ctx_printf(ctx,
                            "import \"tensor_array[%s]\"\nimport \"static_tensor_array[Tensor[(4, ?, "
                            "1), %s]]\"\ndef @main() { 1 }",
                            types[i], types[i]);
        assert_string_equal(run_text(ctx, text), "1");
    }
}

/* Each import does without the others, in any order, and the same type written otherwise is the same. */
static void imports_alone_and_again(gpuc_ctx *ctx, void *arg)
{
    static const char *const types[] = {"Tensor[(?, 3), float32]",    "Tensor[(?), int8]",
                                        "Tensor[(?, ?, ?), bool]",    "Tensor[(2, ?), float64]",
                                        "Tensor[(2), int32]",         "uint8",
                                        "Tensor[( ?,3 ) , float32 ]", "Tensor[(0), int8]"};
    enum { N = sizeof types / sizeof *types };
    (void)arg;
    for (int first = 0; first < N; first++) {
        const char *text = "";
        for (int k = 0; k < N; k++) {
            text =
                gpuc_ctx_printf(ctx, "%simport \"static_tensor_array[%s]\"\n", text, types[(first + k) % N]);
            assert_string_equal(run_text(ctx, gpuc_ctx_printf(ctx, "%sdef @main() { 1 }", text)), "1");
        }
    }
    assert_string_equal(run_text(ctx, "import \"tensor_array[int8]\"\nimport \"tensor_array[ int8 ]\"\n"
                                      "def @main() { @length(@tensor_array_int8(2)) }"),
                        "2");
    /* used before it is imported */
    assert_string_equal(run_text(ctx, "def @f(%t: static_tensor_int8_2_t) { 1 }\n"
                                      "import \"static_tensor_array[Tensor[(2), int8]]\"\n"
                                      "def @main() { @f(tensor_nil_int8_2) }"),
                        "1");
    assert_string_equal(
        run_text(ctx, "import \"static_tensor_array[Tensor[(?, 1), int8]]\"\n"
                      "def @main() { @tensor_array_concat_int8_any_1(Cons(\n"
                      "  tensor_constructor_int8_any_1(zeros(shape=[2, 1], dtype=\"int8\")), Nil)) }"),
        "{\"tensor_constructor_int8_any_1\": [[[0], [0]]]}");
}

static void parse(gpuc_ctx *ctx, void *arg)
{
    gpuc_relay_parse(ctx, arg, "text", NULL);
}

static void imports_that_are_wrong(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    fx_expect(ctx, GPUC_INVALID_DATA, "text:1:8: 'lists.rly' cannot be imported|prelude.rly", parse,
              "import \"lists.rly\"");
    fx_expect(ctx, GPUC_INVALID_DATA, "text:1:8: |needs an element type", parse,
              "import \"tensor_array[Tensor[(2), int8]]\"");
    fx_expect(ctx, GPUC_INVALID_DATA, "text:1:8: |without names", parse,
              "import \"static_tensor_array[Tensor[(n), int8]]\"");
    fx_expect(ctx, GPUC_INVALID_DATA, "text:2:6: type 'List' is defined already|", parse,
              "import \"prelude.rly\"\ntype List { L, }");
    fx_expect(
        ctx, GPUC_INVALID_DATA,
        "text:2:8: \"prelude.rly\" cannot be imported here: prelude.rly:|type 'List' is defined already\n"
        "import \"prelude.rly\"\n       ^",
        parse, "type List { L, }\nimport \"prelude.rly\"");
    fx_expect(ctx, GPUC_INVALID_DATA, "text:1:37: an extent is not negative\nimport|", parse,
              "import \"static_tensor_array[Tensor[(-2), int8]]\"");
    fx_expect(ctx, GPUC_INVALID_DATA, "text:1:8: |the type of a tensor", parse,
              "import \"static_tensor_array[Tensor[(2), int8]], 1]\"");
}

/* ---- JSON ---- */

static gpuc_status load(void *user, const char *path, gpuc_host_tensor *out)
{
    int64_t dims[] = {2, 2};
    (void)user;
    if (strcmp(path, "w.npy")) return gpuc_fail(GPUC_NOT_FOUND, "no such file: %s", path);
    GPUC_TRY(gpuc_host_tensor_init(GPUC_FLOAT32, 2, dims, path, out));
    for (int i = 0; i < 4; i++) ((float *)out->data)[i] = (float)i;
    return NULL;
}

static const char json_program[] =
    "import \"prelude.rly\"\ntype T { L(Tensor[(?, 2), float32]), N(T, T), }\n"
    "type P[A] { Q(A, P[(A, A)]), E, }\n"
    "def @main(%l: List[(int8, bool)], %t: T, %o: Option[float64], %u: uint64, %e: Tensor[(?, 3), int16],\n"
    "    %p: P[bool], %z: Tensor[(?, ?, 0), float16], %i: Tensor[(2), int64]) {\n"
    "  (%l, %t, %o, %u, %e, %p, %z) }";

typedef struct json_case {
    int param;
    const char *text, *out; /* out NULL: the same; else for errors */
} json_case;

static const json_case values[] = {
    {0, "{\"List\": [[-128, true], [127, false]]}", NULL},
    {0, "{\"Cons\": [[1, true], {\"Nil\": []}]}", "{\"List\": [[1, true]]}"},
    {1, "{\"N\": [{\"L\": [\"w.npy\"]}, {\"L\": [[[1.5, -2]]]}]}",
     "{\"N\": [{\"L\": [[[0, 1], [2, 3]]]}, {\"L\": [[[1.5, -2]]]}]}"},
    {2, " {\"Some\":\n[1e300]}\n", "{\"Some\": [1.0000000000000001e+300]}"},
    {2, "{\"Some\": [\"-inf\"]}", NULL},
    {2, "{\"Some\": [\"nan\"]}", NULL},
    {2, "{\"None\": []}", NULL},
    {3, "18446744073709551615", NULL},
    {4, "[[1, 2, 3], [4, 5, -32768]]", NULL},
    {4, "[]", NULL},
    {5, "{\"Q\": [true, {\"Q\": [[true, false], {\"E\": []}]}]}",
     NULL}, /* no list: its elements have other types */
    {6, "[[[], []]]", NULL},
    {6, "[[], []]", NULL},
    {6, "[]", NULL},
    {7, "[-9223372036854775808, -0]", "[-9223372036854775808, 0]"},
};

static void json_both_ways(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = gpuc_relay_parse(ctx, json_program, "text", NULL);
    gpuc_relay_interpreter *i = gpuc_relay_interpreter_create(ctx, m, NULL);
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        const json_case *c = &values[k];
        gpuc_relay_value *v = gpuc_relay_read_json(i, "main", c->param, c->text, "in.json", load, NULL);
        assert_string_equal(gpuc_relay_value_json(ctx, v, NULL, NULL), c->out ? c->out : c->text);
        gpuc_relay_value_release(v);
    }
    assert_int_equal(gpuc_rmodule_num_params(m, "main"), 8);
    assert_string_equal(gpuc_rmodule_param_name(m, "main", 2), "o");
}

static const json_case wrong_values[] = {
    {0, "{\"List\": [[128, true]]}", "in.json:1:12: the number does not fit int8"},
    {0, "{\"List\": [[1]]}", "in.json:1:13: ',' is expected, not ']'"},
    {0, "{\"Lst\": []}", "in.json:1:2: the type List has no constructor 'Lst'"},
    {0, "{\"List\": [[1, true]]", "'}' is expected, but the text ends"},
    {1, "{\"L\": [[[1, 2], [3]]]}", "1 elements along dimension 1, before it 2"},
    {1, "{\"L\": [\"v.npy\"]}", "in.json:1:8: no such file: v.npy"},
    {1, "{\"N\": [{\"L\": [\"w.npy\"]},\n  {\"L\": [[[1, 2, 3]]]}]}",
     "in.json:2:10: the value is Tensor[(1, 3), float32], it must be Tensor[(?, 2), float32]"},
    {4, "\"w.npy\"", "in.json:1:1: the value is Tensor[(2, 2), float32], it must be Tensor[(?, 3), int16]"},
    {2, "{\"Some\": [true]}", "a number is expected"},
    {2, "{\"Some\": [0x10]}", "in.json:1:12: Some has 1 fields"},
    {2, "{\"Some\": [-inf]}", "in.json:1:11: a number is expected; infinite is \"inf\""},
    {2, "{\"Some\": [NaN]}",
     "in.json:1:11: a number is expected; infinite is \"inf\" or \"-inf\", no number \"nan\""},
    {2, "{\"Some\": [1e999]}", "in.json:1:11: the number does not fit float64"},
    {1, "{\"L\": [[[1, -1e39]]]}", "in.json:1:13: the number does not fit float32"},
    {1, "{\"L\": [[[1, \"-nan\"]]]}", "in.json:1:13: \"-nan\" is no number"},
    {7, "[1, -]", "in.json:1:5: an integer is expected"},
    {7, "[1, - 5]", "in.json:1:5: an integer is expected"},
    {7, "[1, --9223372036854775808]", "in.json:1:5: an integer is expected"},
    {7, "[1, -9223372036854775809]", "in.json:1:5: the number does not fit int64"},
    {7, "[1]", "in.json:1:1: the value is Tensor[(1), int64], it must be Tensor[(2), int64]"},
    {3, "-1", "does not fit uint64"},
    {3, "1.5", "an integer is expected"},
    {3, "1 2", "in.json:1:3: the text goes on after the value"},
};

typedef struct reading {
    gpuc_relay_interpreter *i;
    const json_case *c;
} reading;

static void read_wrong(gpuc_ctx *ctx, void *arg)
{
    const reading *r = arg;
    (void)ctx;
    gpuc_relay_value_release(
        gpuc_relay_read_json(r->i, "main", r->c->param, r->c->text, "in.json", load, NULL));
}

static void json_that_is_wrong(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rmodule *m = gpuc_relay_parse(ctx, json_program, "text", NULL);
    reading r = {gpuc_relay_interpreter_create(ctx, m, NULL), NULL};
    for (size_t k = 0; k < sizeof wrong_values / sizeof *wrong_values; k++) {
        r.c = &wrong_values[k];
        fx_expect(ctx, strstr(r.c->out, "no such") ? GPUC_NOT_FOUND : GPUC_INVALID_DATA, r.c->out, read_wrong,
                  &r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {fx_test(the_prelude),
                                       fx_test(tensor_arrays),
                                       fx_test(all_types),
                                       fx_test(imports_alone_and_again),
                                       fx_test(imports_that_are_wrong),
                                       fx_test(json_both_ways),
                                       fx_test(json_that_is_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
