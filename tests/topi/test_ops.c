/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the operator table: inference and definition (through the evaluator, with its checks) against
 * the references in ref/. */
#include <math.h>

#include "cases.h"

/* The definition, whatever inference knows of values. */
static gpuc_rexpr **run(gpuc_ctx *ctx, gpuc_rexpr *e, int num_out)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_op_call call = {
        .ctx = ctx, .op = gpuc_relay_call_op(e), .attrs = c->attrs, .num_in = c->n, .num_out = num_out};
    gpuc_tensor_type *in = gpuc_new_array(ctx, gpuc_tensor_type, c->n);
    gpuc_tensor **ins = gpuc_new_array(ctx, gpuc_tensor *, c->n),
                **outs = gpuc_new_array(ctx, gpuc_tensor *, num_out);
    gpuc_tensor **args = gpuc_new_array(ctx, gpuc_tensor *, c->n + num_out);
    gpuc_tir_arg *buffers = gpuc_new_array(ctx, gpuc_tir_arg, c->n + num_out);
    gpuc_rexpr **results = gpuc_new_array(ctx, gpuc_rexpr *, num_out);
    for (int i = 0; i < c->n; i++) {
        in[i] = c->args[i]->type->tensor;
        args[i] = ins[i] = gpuc_te_placeholder(ctx, "x", in[i].ndim, in[i].dims, in[i].dtype);
        const gpuc_const_data *data = gpuc_as_rconstant(c->args[i])->data;
        buffers[i] = (gpuc_tir_arg){data->bytes, data->size};
    }
    call.in = in;
    call.in_values = gpuc_new_array(ctx, const gpuc_expr *, c->n);
    call.out = gpuc_new_array(ctx, gpuc_tensor_type, num_out);
    call.out_values = gpuc_new_array(ctx, const gpuc_expr *, num_out);
    for (int i = 0; i < num_out; i++) {
        const gpuc_rtype *t = e->type->kind == GPUC_RTYPE_TUPLE ? e->type->at[i] : e->type;
        call.out[i] = t->tensor;
        gpuc_const_data *data = gpuc_const_data_create(ctx, (size_t)gpuc_tensor_type_bytes(ctx, &t->tensor));
        buffers[c->n + i] = (gpuc_tir_arg){data->bytes, data->size};
        results[i] = gpuc_relay_constant(ctx, t, data);
    }
    call.op->compute(&call, ins, outs);
    for (int i = 0; i < num_out; i++) args[c->n + i] = outs[i];
    const gpuc_tir_func *f = gpuc_te_lower_plain(ctx, "f", c->n + num_out, args);
    GPUC_RAISE_IF(ctx, gpuc_tir_run(ctx, f, buffers, NULL, true));
    return results;
}

static void check_args(gpuc_ctx *ctx, const op_case *c, int n, gpuc_rexpr *const *args)
{
    ref_call ref = {.op = c->op, .attrs = c->attrs ? c->attrs : "", .num_in = n, .num_out = 1};
    for (int i = 0; i < n; i++) ref.in[i] = op_case_ref(ctx, args[i]);
    ref_fn *fn = ref_find(c->op);
    if (!fn) fail_msg("there is no reference for %s", c->op);
    fn(&ref);
    gpuc_rexpr *call = fx_op(ctx, c->op, c->attrs, n, args), **results = run(ctx, call, ref.num_out);
    for (int i = 0; i < ref.num_out; i++) op_case_compare(ctx, c, results[i], &ref.out[i]);
    if (call->values) { /* what inference knows is what the definition gives */
        gpuc_relay_budget none = {0};
        gpuc_rexpr *known = gpuc_relay_evaluate_call(ctx, call, &none);
        if (!known) fail_msg("%s(%s): known values are not known", c->op, c->in);
        op_case_compare(ctx, c, known, &ref.out[0]);
    }
    for (int i = 0; i < n; i++) free(ref.in[i].v);
    for (int i = 0; i < ref.num_out; i++) free(ref.out[i].v);
}

static void check(gpuc_ctx *ctx, const op_case *c)
{
    gpuc_rexpr *args[8];
    fx_rng r = {(uint64_t)strlen(c->in) * 977 + strlen(c->op)};
    check_args(ctx, c, op_case_inputs(ctx, c, &r, args), args);
}

static bool covered[256];

static void check_all(const op_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        gpuc_ctx *ctx;
        assert_null(gpuc_ctx_create(NULL, &ctx));
        gpuc_status status = gpuc_ctx_protect(ctx, (fx_body *)(void (*)(void))check, (void *)&cases[i]);
        if (status)
            fail_msg("%s(%s, %s): %s", cases[i].op, cases[i].in, cases[i].attrs ? cases[i].attrs : "",
                     gpuc_status_message(status));
        gpuc_ctx_destroy(ctx);
        for (size_t k = 0; k < gpuc_op_count(); k++) covered[k] |= !strcmp(gpuc_op_at(k)->name, cases[i].op);
    }
}
#define CHECK_ALL(cases) check_all(cases, sizeof(cases) / sizeof(cases)[0])

/* ---- Elementwise ---- */

static void unary_rows(void **state)
{
    (void)state;
    static const struct {
        const char *op, *attrs;
        double lo, hi;
        const char *types; /* f: floats, i: integers, b: bool */
    } rows[] = {
        {"negative", NULL, 0, 0, "fi"},
        {"abs", NULL, 0, 0, "fi"},
        {"exp", NULL, 0, 0, "f"},
        {"log", NULL, 0.1, 9, "f"},
        {"sqrt", NULL, 0, 9, "f"},
        {"sin", NULL, -20, 20, "f"},
        {"cos", NULL, -20, 20, "f"},
        {"tan", NULL, -1.2, 1.2, "f"},
        {"asin", NULL, -1, 1, "f"},
        {"acos", NULL, -1, 1, "f"},
        {"atan", NULL, -9, 9, "f"},
        {"sinh", NULL, -3, 3, "f"},
        {"cosh", NULL, -3, 3, "f"},
        {"tanh", NULL, -9, 9, "f"},
        {"asinh", NULL, -9, 9, "f"},
        {"acosh", NULL, 1.1, 9, "f"},
        {"atanh", NULL, -0.9, 0.9, "f"},
        {"erf", NULL, -3, 3, "f"},
        {"floor", NULL, -9, 9, "f"},
        {"ceil", NULL, -9, 9, "f"},
        {"round", NULL, -9, 9, "f"},
        {"trunc", NULL, -9, 9, "f"},
        {"isnan", NULL, 0, 0, "f"},
        {"isinf", NULL, 0, 0, "f"},
        {"rsqrt", NULL, 0.1, 9, "f"},
        {"reciprocal", NULL, 0.1, 9, "f"},
        {"sigmoid", NULL, -9, 9, "f"},
        {"sign", NULL, 0, 0, "fi"},
        {"logical_not", NULL, 0, 0, "b"},
        {"bitwise_not", NULL, 0, 0, "i"},
        {"identity", NULL, 0, 0, "fib"},
        {"nn.dropout", NULL, 0, 0, "f"},
        {"nn.relu", NULL, 0, 0, "fi"},
        {"nn.leaky_relu", "alpha=0.3", 0, 0, "f"},
        {"nn.leaky_relu", NULL, 0, 0, "f"},
        {"nn.elu", "alpha=0.7", 0, 0, "f"},
        {"nn.selu", NULL, 0, 0, "f"},
        {"nn.softplus", NULL, -30, 30, "f"},
        {"nn.softsign", NULL, 0, 0, "f"},
        {"nn.hard_sigmoid", "alpha=0.3 beta=0.4", -5, 5, "f"},
        {"nn.gelu", NULL, -4, 4, "f"},
        {"nn.gelu", "approximate=1", -4, 4, "f"},
        {"clip", "a_min=-0.5 a_max=0.75", 0, 0, "f"},
        {"clip", "a_min=-3.0 a_max=4.0", 0, 0, "i"},
        {"clip", "a_max=1.0", 0, 0, "f"},
    };
    static const char *const floats[] = {"float32[3, 5]", "float16[2, 3, 7]", "float64[]",
                                         "float32[1, 1]", "bfloat16[4]",      "float32[0, 3]"};
    static const char *const ints[] = {"int32[3, 5]", "int8[7]", "int64[2, 1, 3]",
                                       "uint8[9]",    "int16[]", "uint32[2, 2]"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int k = 0; k < 6; k++) {
            bool negates = !strcmp(rows[i].op, "negative"); /* wraps on unsigned types */
            op_case c = {rows[i].op, rows[i].attrs, floats[k], rows[i].lo, rows[i].hi};
            if (strchr(rows[i].types, 'f')) check_all(&c, 1);
            c.in = ints[k];
            if (strchr(rows[i].types, 'i') && !(negates && ints[k][0] == 'u')) check_all(&c, 1);
            c.in = k ? "bool[3, 2]" : "bool[]";
            if (strchr(rows[i].types, 'b')) check_all(&c, 1);
        }
}

static void special_values(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char *const ops[] = {"negative", "abs",           "sign",  "nn.relu", "isnan",
                                      "isinf",    "floor",         "round", "sqrt",    "nn.softplus",
                                      "sigmoid",  "nn.leaky_relu", "exp",   "tanh"};
    float v[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 0.5f, 1.5f, 2.5f, -0.5f, -2.5f, 3e38f};
    gpuc_rexpr *x = fx_floats(ctx, FX_DIMS(11), v);
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        op_case c = {ops[i], NULL, "special values", 0, 0};
        check_args(ctx, &c, 1, &x);
    }
    gpuc_rexpr *pair[] = {x, fx_floats(ctx, FX_DIMS(11, 1), v)};
    static const char *const two[] = {"maximum", "minimum", "add",       "multiply",
                                      "less",    "equal",   "not_equal", "greater_equal"};
    for (size_t i = 0; i < sizeof two / sizeof two[0]; i++) {
        op_case c = {two[i], NULL, "special values", 0, 0};
        check_args(ctx, &c, 2, pair);
    }
    op_case clip = {"clip", "a_min=-1.0 a_max=1.0", "special values", 0, 0};
    check_args(ctx, &clip, 1, &x);
}

static void binary_rows(void **state)
{
    (void)state;
    static const struct {
        const char *op, *types;
        double lo, hi; /* of integers: no wrapping in the references */
    } rows[] = {
        {"add", "fi", 0, 0},           {"subtract", "f", 0, 0},    {"multiply", "fi", 0, 0},
        {"divide", "f", 0.3, 2},       {"mod", "f", 0.3, 2},       {"floor_divide", "f", 0.3, 2},
        {"floor_mod", "f", -2, 2},     {"power", "f", 0.2, 3},     {"maximum", "fi", 0, 0},
        {"minimum", "fi", 0, 0},       {"equal", "fib", 0, 2},     {"not_equal", "fib", 0, 2},
        {"less", "fi", 0, 0},          {"less_equal", "fi", 0, 3}, {"greater", "fi", 0, 0},
        {"greater_equal", "fi", 0, 3}, {"logical_and", "b", 0, 0}, {"logical_or", "b", 0, 0},
        {"logical_xor", "b", 0, 0},    {"bitwise_and", "i", 0, 0}, {"bitwise_or", "i", 0, 0},
        {"bitwise_xor", "i", 0, 0},    {"left_shift", "i", 0, 3},  {"right_shift", "i", 0, 3},
        {"nn.prelu", "f", 0, 0},       {"divide", "s", -9, 9},     {"mod", "s", -9, 9},
        {"floor_divide", "s", -9, 9},  {"floor_mod", "s", -9, 9},  {"subtract", "s", 0, 0},
    };
    static const char *const shapes[][2] = {
        {"[3, 5]", "[3, 5]"},       {"[3, 5]", "[5]"}, {"[2, 3, 4]", "[3, 1]"}, {"[]", "[]"},
        {"[2, 3, 4]", "[1, 1, 1]"}, {"[7]", "[]"},     {"[2, 0]", "[1, 0]"},    {"[1, 5]", "[4, 1]"}};
    static const char types[][3][8] = {{"float32", "float64", "float16"},
                                       {"int32", "uint8", "int64"},
                                       {"bool", "bool", "bool"},
                                       {"int32", "int8", "int64"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++)
            for (const char *t = rows[i].types; *t; t++) {
                char in[96];
                bool slope = !strcmp(rows[i].op, "nn.prelu");
                if (slope && k == 7) continue;
                const char *type = types[*t == 'f' ? 0 : *t == 'i' ? 1 : *t == 'b' ? 2 : 3][(i + k) % 3];
                snprintf(in, sizeof in, "%s%s %s%s", type, shapes[k][0], type, shapes[k][1]);
                op_case c = {rows[i].op, NULL, in, rows[i].lo, rows[i].hi};
                check_all(&c, 1);
            }
    static const op_case others[] = {
        {"where", NULL, "bool[3, 1] float32[2, 1, 4] float32[3, 4]", 0, 0},
        {"where", NULL, "bool[] int64[5] int64[]", 0, 0},
        {"where", NULL, "bool[4] bool[4] bool[1]", 0, 0},
        {"cast", "dtype=int32", "float32[3, 5]", -20, 20},
        {"cast", "dtype=float16", "float32[7]", -20, 20},
        {"cast", "dtype=bool", "float32[7]", -1, 1},
        {"cast", "dtype=float32", "int8[2, 3]", 0, 0},
        {"cast", "dtype=int64", "bool[5]", 0, 0},
        {"cast", "dtype=uint8", "int64[3, 3]", 0, 200},
        {"cast", "dtype=float64", "float16[]", 0, 0},
    };
    CHECK_ALL(others);
}

/* ---- Elements that move ---- */

static void shape_rows(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"reshape", "newshape=[4, 6]", "float32[2, 3, 4]", 0, 0},
        {"reshape", "newshape=[-1, 2]", "float32[2, 3, 4]", 0, 0},
        {"reshape", "newshape=[]", "int64[1, 1]", 0, 0},
        {"reshape", "newshape=[0, 5]", "float32[5, 0]", 0, 0},
        {"reshape", "newshape=[3, 5, 7]", "uint8[105]", 0, 0},
        {"squeeze", "axis=[0, -2]", "float32[1, 3, 1, 4]", 0, 0},
        {"squeeze", NULL, "float32[1, 3, 1]", 0, 0},
        {"squeeze", "axis=[0]", "int64[1]", 0, 0},
        {"expand_dims", "axis=[0, -1]", "float32[3, 4]", 0, 0},
        {"expand_dims", "axis=[0]", "int64[]", 0, 0},
        {"transpose", NULL, "float32[2, 3, 4]", 0, 0},
        {"transpose", "axes=[1, 2, 0]", "float32[2, 3, 5]", 0, 0},
        {"transpose", "axes=[0, 2, 1]", "int8[1, 5, 7]", 0, 0},
        {"transpose", NULL, "float32[]", 0, 0},
        {"broadcast_to", "shape=[2, 3, 4]", "float32[3, 1]", 0, 0},
        {"broadcast_to", "shape=[4]", "int64[]", 0, 0},
        {"broadcast_to", "shape=[5]", "int64[1]", 0, 0},
        {"broadcast_to", "shape=[2, 0]", "float32[1, 1]", 0, 0},
        {"concatenate", "axis=1", "float32[2, 3] float32[2, 1] float32[2, 5]", 0, 0},
        {"concatenate", "axis=-1", "int64[3] int64[0] int64[2]", 0, 0},
        {"concatenate", "axis=0", "float16[2, 3]", 0, 0},
        {"strided_slice", "begin=[1, 4] sizes=[2, 3] strides=[2, -2]", "float32[5, 6]", 0, 0},
        {"strided_slice", "begin=[0, 0] sizes=[0, 6] strides=[1, 1]", "float32[5, 6]", 0, 0},
        {"strided_slice", "begin=[4] sizes=[5] strides=[-1]", "int64[5]", 0, 0},
        {"split", "sizes=[1, 0, 4] axis=1", "float32[2, 5]", 0, 0},
        {"split", "sizes=[2, 2] axis=-2", "int32[4, 3]", 0, 0},
        {"split", "sizes=[3] axis=0", "int32[3]", 0, 0},
        {"nn.pad", "pad_before=[0, 1, 2] pad_after=[0, 3, 0] value=1.5", "float32[2, 3, 4]", 0, 0},
        {"nn.pad", "pad_before=[-1, 2] pad_after=[1, -3]", "float32[3, 5]", 0, 0},
        {"nn.pad", "pad_before=[-4, 0] pad_after=[6, 0]", "float32[3, 5]", 0, 0},
        {"nn.pad", "pad_before=[2, 7] pad_after=[1, 9] mode=\"reflect\"", "float32[3, 4]", 0, 0},
        {"nn.pad", "pad_before=[2] pad_after=[3] mode=\"reflect\"", "float32[1]", 0, 0},
        {"nn.pad", "pad_before=[2, 0] pad_after=[1, 3] mode=\"edge\"", "int32[3, 4]", 0, 0},
        {"nn.pad", "pad_before=[2, 5] pad_after=[4, 3] mode=\"wrap\"", "float32[3, 4]", 0, 0},
        {"nn.pad", "pad_before=[-1] pad_after=[2] mode=\"edge\"", "float32[4]", 0, 0},
        {"take", "axis=1", "float32[3, 5, 2] int64[2, 3]", -7, 7},
        {"take", "axis=0", "float32[4] int32[]", -4, 3},
        {"take", "axis=-1", "int64[6] int64[4]", -6, 5},
        {"take", "axis=0", "float32[4, 2] int64[0]", 0, 0},
        {"tile", "reps=[2, 1, 3]", "float32[2, 3, 1]", 0, 0},
        {"tile", "reps=[0]", "float32[3]", 0, 0},
    };
    CHECK_ALL(cases);
}

static void arange_rows(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t v[][3] = {{0, 10, 1}, {3, 20, 4}, {5, -6, -3}, {2, 2, 1}, {7, 0, 1}};
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        gpuc_rexpr *args[3];
        for (int k = 0; k < 3; k++)
            args[k] = gpuc_relay_const_scalar(ctx, i % 2 ? GPUC_INT64 : GPUC_INT32, (double)v[i][k]);
        op_case c = {"arange", NULL, "three numbers", 0, 0};
        check_args(ctx, &c, 3, args);
    }
    gpuc_rexpr *f[] = {gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1),
                       gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 3),
                       gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 0.25)};
    op_case c = {"arange", "length=8", "three floats", 0, 0};
    check_args(ctx, &c, 3, f);
    for (size_t k = 0; k < gpuc_op_count(); k++) covered[k] |= !strcmp(gpuc_op_at(k)->name, "arange");
}

/* ---- The rest ---- */

static void reduce_rows(void **state)
{
    (void)state;
    static const char *const ops[] = {"sum", "mean", "max", "min", "prod"};
    static const struct {
        const char *in, *attrs;
    } cases[] = {
        {"float32[3, 5, 2]", "axis=[1]"},
        {"float32[3, 5, 2]", "axis=[0, -1] keepdims=1"},
        {"float32[3, 5]", NULL},
        {"float64[]", NULL},
        {"float16[33, 3]", "axis=[0]"},
        {"int32[4, 3]", "axis=[1] keepdims=1"},
        {"float32[1, 7, 1]", "axis=[0, 2]"},
        {"float32[2, 0, 3]", "axis=[1]"},
        {"uint8[3]", NULL},
        {"int64[4]", "axis=[0]"},
        {"bfloat16[5, 2]", "axis=[0]"},
    };
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
            op_case c = {ops[i], cases[k].attrs, cases[k].in, 0, 0};
            if (!strcmp(ops[i], "prod") && cases[k].in[0] != 'f') c.lo = 1, c.hi = 3;
            if (!strcmp(ops[i], "mean") && strchr(cases[k].in, '0') && k == 7) continue; /* 0/0 */
            check_all(&c, 1);
        }
    static const op_case bools[] = {{"all", "axis=[1]", "bool[4, 3]", 0, 0},
                                    {"any", NULL, "bool[4, 3]", 0, 0},
                                    {"all", NULL, "bool[0]", 0, 0},
                                    {"any", "axis=[0] keepdims=1", "bool[3, 2]", 0, 0}};
    CHECK_ALL(bools);
}

static void conv_rows(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"nn.conv1d", "strides=[1] padding=[2, 1] dilation=[2]", "float32[2, 3, 11] float32[4, 3, 3]", 0, 0},
        {"nn.conv1d", "strides=[3] padding=[0, 0] dilation=[1]", "float32[1, 1, 7] float32[1, 1, 1]", 0, 0},
        {"nn.conv2d", "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1]",
         "float32[1, 3, 7, 9] float32[5, 3, 3, 3]", 0, 0},
        {"nn.conv2d", "strides=[2, 3] padding=[0, 1, 2, 0] dilation=[2, 1]",
         "float32[2, 4, 9, 10] float32[6, 4, 3, 2]", 0, 0},
        {"nn.conv2d", "strides=[2, 2] padding=[3, 3, 3, 3] dilation=[1, 1]",
         "float32[1, 3, 13, 13] float32[2, 3, 7, 7]", 0, 0},
        {"nn.conv2d", "strides=[1, 2] padding=[1, 1, 1, 1] dilation=[1, 1] groups=2",
         "float32[1, 4, 6, 7] float32[6, 2, 3, 3]", 0, 0},
        {"nn.conv2d", "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1] groups=4",
         "float32[1, 4, 5, 6] float32[4, 1, 3, 3]", 0, 0},
        {"nn.conv2d", "strides=[2, 2] padding=[1, 1, 1, 1] dilation=[1, 1] groups=3",
         "float32[2, 3, 8, 8] float32[6, 1, 3, 3]", 0, 0},
        {"nn.conv2d", "strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]",
         "float32[1, 8, 5, 5] float32[3, 8, 1, 1]", 0, 0},
        {"nn.conv2d", "strides=[2, 2] padding=[0, 0, 0, 0] dilation=[1, 1]",
         "float32[1, 4, 6, 6] float32[3, 4, 1, 1]", 0, 0},
        {"nn.conv2d", "strides=[1, 1] padding=[-1, 0, 0, -1] dilation=[1, 1]",
         "float32[1, 2, 6, 6] float32[2, 2, 2, 2]", 0, 0},
        {"nn.conv2d", "strides=[5, 5] padding=[0, 0, 0, 0] dilation=[1, 1]",
         "float32[1, 2, 9, 9] float32[2, 2, 2, 2]", 0, 0},
        {"nn.conv2d", "strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]",
         "int32[1, 2, 4, 4] int32[2, 2, 2, 2]", 0, 0},
        {"nn.conv3d", "strides=[1, 2, 1] padding=[1, 0, 1, 0, 1, 1] dilation=[1, 1, 2]",
         "float32[1, 2, 4, 5, 6] float32[3, 2, 2, 3, 2]", 0, 0},
        {"nn.conv1d_transpose", "strides=[3] padding=[1, 2] dilation=[1] output_padding=[1]",
         "float32[2, 3, 5] float32[3, 2, 4]", 0, 0},
        {"nn.conv2d_transpose", "strides=[2, 2] padding=[1, 1, 1, 1] dilation=[1, 1] output_padding=[0, 0]",
         "float32[1, 3, 4, 5] float32[3, 2, 4, 4]", 0, 0},
        {"nn.conv2d_transpose",
         "strides=[1, 3] padding=[0, 1, 2, 0] dilation=[2, 1] output_padding=[0, 2] groups=2",
         "float32[1, 4, 4, 3] float32[4, 3, 3, 2]", 0, 0},
        {"nn.conv2d_transpose", "strides=[3, 3] padding=[0, 0, 0, 0] dilation=[1, 1] output_padding=[2, 1]",
         "float32[1, 2, 2, 2] float32[2, 1, 2, 2]", 0, 0},
        {"nn.conv3d_transpose",
         "strides=[2, 1, 2] padding=[0, 1, 0, 1, 0, 0] dilation=[1, 1, 1] output_padding=[0, 0, 1]",
         "float32[1, 2, 2, 3, 3] float32[2, 2, 2, 2, 3]", 0, 0},
    };
    CHECK_ALL(cases);
}

static void pool_rows(void **state)
{
    (void)state;
    static const char *const shapes[3][2] = {
        {"float32[2, 3, 11]", "1"}, {"float32[1, 2, 7, 10]", "2"}, {"float32[1, 1, 5, 6, 7]", "3"}};
    static const char *const attrs[3][5] = {
        {"pool_size=[3] strides=[2] padding=[1, 1] dilation=[1]",
         "pool_size=[3] strides=[3] padding=[0, 1] dilation=[2] ceil_mode=1",
         "pool_size=[2] strides=[2] padding=[0, 0] dilation=[1] count_include_pad=1",
         "pool_size=[4] strides=[3] padding=[3, 3] dilation=[1] ceil_mode=1 count_include_pad=1",
         "pool_size=[11] strides=[1] padding=[0, 0] dilation=[1]"},
        {"pool_size=[3, 2] strides=[2, 2] padding=[1, 0, 1, 1] dilation=[1, 1]",
         "pool_size=[3, 3] strides=[2, 3] padding=[0, 1, 0, 1] dilation=[1, 2] ceil_mode=1",
         "pool_size=[2, 2] strides=[2, 2] padding=[1, 1, 0, 0] dilation=[1, 1] count_include_pad=1",
         "pool_size=[3, 3] strides=[2, 2] padding=[1, 1, 1, 1] dilation=[1, 1] ceil_mode=1 "
         "count_include_pad=1",
         "pool_size=[7, 10] strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]"},
        {"pool_size=[2, 3, 2] strides=[1, 2, 3] padding=[1, 0, 0, 0, 1, 1] dilation=[1, 1, 1]",
         "pool_size=[2, 2, 2] strides=[2, 2, 2] padding=[0, 0, 0, 0, 0, 0] dilation=[1, 1, 1] ceil_mode=1",
         "pool_size=[3, 3, 3] strides=[2, 2, 2] padding=[1, 1, 1, 1, 1, 1] dilation=[1, 1, 1] "
         "count_include_pad=1",
         "pool_size=[2, 2, 2] strides=[3, 3, 3] padding=[1, 1, 1, 0, 0, 0] dilation=[2, 2, 1]",
         "pool_size=[1, 1, 1] strides=[1, 1, 1] padding=[0, 0, 0, 0, 0, 0] dilation=[1, 1, 1]"}};
    for (int rank = 1; rank <= 3; rank++)
        for (int i = 0; i < 5; i++)
            for (int k = 0; k < 2; k++) {
                char op[32];
                snprintf(op, sizeof op, "nn.%s_pool%dd", k ? "avg" : "max", rank);
                op_case c = {op, attrs[rank - 1][i], shapes[rank - 1][0], 0, 0};
                check_all(&c, 1);
            }
    static const op_case others[] = {
        {"nn.max_pool2d", "pool_size=[2, 2] strides=[2, 2] padding=[1, 1, 1, 1] dilation=[1, 1]",
         "int8[1, 1, 4, 4]", -100, -50},
        {"nn.avg_pool2d", "pool_size=[5, 5] strides=[1, 1] padding=[2, 2, 2, 2] dilation=[1, 1]",
         "float16[1, 1, 6, 6]", 0, 0},
    };
    CHECK_ALL(others);
}

static void product_rows(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"nn.dense", NULL, "float32[3, 5] float32[4, 5]", 0, 0},
        {"nn.dense", NULL, "float32[1, 1] float32[1, 1]", 0, 0},
        {"nn.dense", NULL, "float16[7, 33] float16[5, 33]", 0, 0},
        {"nn.dense", NULL, "int32[3, 5] int32[2, 5]", 0, 0},
        {"nn.dense", NULL, "float32[2, 0] float32[3, 0]", 0, 0},
        {"nn.matmul", NULL, "float32[3, 5] float32[5, 4]", 0, 0},
        {"nn.matmul", "transpose_a=1", "float32[5, 3] float32[5, 4]", 0, 0},
        {"nn.matmul", "transpose_b=1", "float32[3, 5] float32[4, 5]", 0, 0},
        {"nn.matmul", "transpose_a=1 transpose_b=1", "float32[2, 5, 3] float32[4, 5]", 0, 0},
        {"nn.matmul", NULL, "float32[2, 1, 3, 4] float32[5, 4, 2]", 0, 0},
        {"nn.matmul", NULL, "float32[5] float32[5]", 0, 0},
        {"nn.matmul", NULL, "float32[5] float32[2, 5, 3]", 0, 0},
        {"nn.matmul", NULL, "float32[2, 3, 5] float32[5]", 0, 0},
        {"nn.matmul", NULL, "float16[3, 40] float16[40, 2]", 0, 0},
    };
    CHECK_ALL(cases);
}

static void normalize_rows(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"nn.softmax", NULL, "float32[3, 7]", -9, 9},
        {"nn.softmax", "axis=1", "float32[2, 5, 3]", 0, 0},
        {"nn.softmax", "axis=0", "float16[4, 2]", 0, 0},
        {"nn.softmax", NULL, "float32[1]", 0, 0},
        {"nn.log_softmax", "axis=-1", "float32[3, 7]", -9, 9},
        {"nn.log_softmax", "axis=1", "float64[2, 5, 3]", 0, 0},
        {"nn.lrn", "size=5 alpha=0.1 beta=0.6 bias=1.5", "float32[2, 7, 3, 2]", 0, 0},
        {"nn.lrn", "size=4 axis=2 alpha=0.5", "float32[2, 3, 6]", 0, 0},
        {"nn.lrn", "size=1", "float16[1, 3, 2]", 0, 0},
        {"nn.lrn", "size=9 alpha=1.0", "float32[1, 3, 2]", 0, 0},
    };
    CHECK_ALL(cases);
}

static void resize_rows(void **state)
{
    (void)state;
    static const char *const coordinates[] = {"half_pixel",           "asymmetric",
                                              "align_corners",        "pytorch_half_pixel",
                                              "tf_half_pixel_for_nn", "half_pixel_symmetric"};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil",
                                            "outward"};
    static const struct {
        const char *in, *sizes;
    } shapes[] = {{"float32[1, 2, 5, 7]", "sizes=[1, 2, 8, 4] scales=[1.0, 1.0, 1.609375, 0.59375]"},
                  {"float32[3, 4]", "sizes=[6, 12] scales=[2.0, 3.0]"},
                  {"float32[6]", "sizes=[1] scales=[0.25]"},
                  {"float32[1]", "sizes=[5] scales=[5.0]"}};
    static const char *const methods[] = {"linear", "cubic"};
    for (size_t c = 0; c < 6; c++)
        for (size_t s = 0; s < 4; s++) {
            char attrs[256];
            for (size_t k = 0; k < 5; k++) {
                snprintf(attrs, sizeof attrs, "%s method=\"nearest\" coordinate=\"%s\" rounding=\"%s\"",
                         shapes[s].sizes, coordinates[c], roundings[k]);
                op_case one = {"image.resize", attrs, shapes[s].in, 0, 0};
                check_all(&one, 1);
            }
            for (size_t m = 0; m < 2; m++)
                for (int x = 0; x < 2; x++) {
                    snprintf(attrs, sizeof attrs,
                             "%s method=\"%s\" coordinate=\"%s\" cubic_a=-0.5 exclude_outside=%d",
                             shapes[s].sizes, methods[m], coordinates[c], x);
                    op_case one = {"image.resize", attrs, shapes[s].in, 0, 0};
                    check_all(&one, 1);
                }
        }
    static const op_case others[] = {
        {"image.resize", "sizes=[4, 6] scales=[2.0, 2.0] method=\"nearest\"", "uint8[2, 3]", 0, 0},
        {"image.resize", "sizes=[5, 6] scales=[2.5, 2.0] method=\"linear\"", "float64[2, 3]", 0, 0},
    };
    CHECK_ALL(others);
}

static void sorting_rows(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"sort", NULL, "float32[3, 7]", 0, 0},
        {"sort", "axis=0 is_ascend=0", "int16[9, 2]", -3, 3},
        {"sort", NULL, "bfloat16[300]", 0, 0},
        {"sort", NULL, "float32[]", 0, 0},
        {"sort", NULL, "bool[5]", 0, 0},
        {"argsort", "dtype=int32 axis=1", "uint64[2, 131, 2]", 0, 5},
        {"argsort", "dtype=int64", "int32[0]", 0, 0},
        {"topk", "dtype=int64 k=3", "float32[2, 5]", 0, 0},
        {"topk", "dtype=int32 k=4 axis=0 largest=0", "int8[270, 2]", -4, 4},
        {"topk", "dtype=int64 k=1", "float64[1]", 0, 0},
        {"cumsum", "axis=1", "float32[2, 5]", 0, 0},
        {"cumsum", "axis=0 exclusive=1 reverse=1", "int64[130, 2]", 0, 0},
        {"cumsum", NULL, "bfloat16[7]", 0, 0},
        {"cumprod", "reverse=1", "float32[9]", 0, 0},
        {"cumprod", "axis=-1 exclusive=1", "uint32[2, 4]", 1, 3},
    };
    CHECK_ALL(cases);
}

static void quantize_rows(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"qnn.quantize", NULL, "float32[3, 5] float32[] uint8[]", 0.1, 20},
        {"qnn.quantize", "axis=1", "float32[2, 3, 4] float32[3] int8[3]", 1, 9},
        {"qnn.quantize", "axis=-1 out_dtype=int16", "float16[7, 5] float32[5]", 0.1, 3},
        {"qnn.quantize", "axis=0 block_size=3", "float32[7, 2] float32[3, 2] uint16[3, 2]", 1, 9},
        {"qnn.quantize", "axis=0", "int32[4] float32[1]", 1, 300},
        {"qnn.quantize", NULL, "float32[0, 3] float32[] uint8[]", 1, 2},
        {"qnn.quantize", "out_dtype=int8", "float32[] float32[]", 0.01, 2},
        {"qnn.dequantize", NULL, "uint8[3, 5] float32[] uint8[]", 1, 9},
        {"qnn.dequantize", "axis=1", "int8[2, 3, 4] float32[3] int8[3]", -9, 9},
        {"qnn.dequantize", "axis=-2 block_size=2", "int16[5, 3] float16[3, 3]", -9, 9},
        {"qnn.dequantize", "axis=0 out_dtype=float16", "int32[5] float32[]", -9, 9},
        {"qnn.dequantize", NULL, "uint8[] float32[] uint8[]", 1, 9},
        {"qnn.requantize", NULL, "int32[2, 3, 4] float32[3, 1] int8[]", 1, 90},
        {"qnn.requantize", "out_dtype=int16", "int32[5] float32[]", -9, 9},
        {"nn.conv2d", "strides=[1, 1] padding=[1, 0, 0, 1] dilation=[1, 1] out_dtype=int32",
         "uint8[1, 2, 4, 5] int8[3, 2, 2, 2]", 0, 100},
        {"nn.dense", "out_dtype=int32", "int8[3, 40] int16[4, 40]", -100, 100},
        {"nn.matmul", "out_dtype=int32", "uint8[2, 3, 50] int8[50, 4]", 0, 100},
        {"nn.matmul", "out_dtype=float32", "float16[3, 50] float16[50, 4]", 0, 0},
        {"nn.conv1d", "strides=[1] padding=[1, 1] dilation=[1]", "float16[1, 40, 9] float16[2, 40, 3]", 0, 0},
    };
    CHECK_ALL(cases);
}

/* Rows that only passes know, and those that are never computed, have no reference. */
static void every_row_is_covered(void **state)
{
    (void)state;
    for (size_t i = 0; i < gpuc_op_count(); i++)
        if (gpuc_op_at(i)->compute && !covered[i]) fail_msg("no test of %s", gpuc_op_at(i)->name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_rows),
        cmocka_unit_test(binary_rows),
        fx_test(special_values),
        cmocka_unit_test(shape_rows),
        fx_test(arange_rows),
        cmocka_unit_test(reduce_rows),
        cmocka_unit_test(conv_rows),
        cmocka_unit_test(pool_rows),
        cmocka_unit_test(product_rows),
        cmocka_unit_test(normalize_rows),
        cmocka_unit_test(resize_rows),
        cmocka_unit_test(sorting_rows),
        cmocka_unit_test(quantize_rows),
        cmocka_unit_test(every_row_is_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
