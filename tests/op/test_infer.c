/* SPDX-License-Identifier: Apache-2.0 */
/* Types of calls: symbolic and unknown dims, values of small integer tensors, and what does not fit. */
#include <math.h>

#include "../relay/fixture.h"

typedef struct call_arg {
    const char *op, *attrs;
    int n;
    gpuc_rexpr *args[8];
} call_arg;

static void make_call(gpuc_ctx *ctx, void *arg)
{
    call_arg *c = arg;
    fx_op(ctx, c->op, c->attrs, c->n, c->args);
}

static gpuc_rexpr *v(gpuc_ctx *ctx, gpuc_dtype t, int ndim, const int64_t *dims)
{
    return gpuc_relay_var(ctx, "x", fx_type(ctx, t, ndim, dims));
}
#define F32(...) v(ctx, GPUC_FLOAT32, FX_DIMS(__VA_ARGS__))
#define I64(...) v(ctx, GPUC_INT64, FX_DIMS(__VA_ARGS__))
#define BAD(words, op, attrs, n, ...)                                                                        \
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, words, make_call, &(call_arg){op, attrs, n, {__VA_ARGS__}})
#define CANNOT(words, op, attrs, n, ...)                                                                     \
    fx_expect(ctx, GPUC_UNSUPPORTED, words, make_call, &(call_arg){op, attrs, n, {__VA_ARGS__}})

static void elementwise_kinds(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    BAD("exp|takes floats, not int64", "exp", NULL, 1, I64(2));
    BAD("bitwise_and|takes integers or bools, not float32", "bitwise_and", NULL, 2, F32(2), F32(2));
    BAD("logical_or|takes bools, not float32", "logical_or", NULL, 2, F32(2), F32(2));
    BAD("power|int64|float32|cast", "power", NULL, 2, I64(2), F32(2));
    BAD("where|takes bools", "where", NULL, 3, F32(2), F32(2), F32(2));
    BAD("where|cast one", "where", NULL, 3, v(ctx, GPUC_BOOL, FX_DIMS(2)), F32(2), I64(2));
    BAD("nn.prelu|slope", "nn.prelu", NULL, 2, F32(3), F32(2, 3));
    BAD("argmax|no element", "argmax", "axis=[1]", 1, F32(2, 0));
    BAD("argmin|integer type", "argmin", "dtype=float32", 1, F32(2));
    BAD("reinterpret|bits of float32 are none of int64", "reinterpret", "dtype=int64", 1, F32(2));
    BAD("collapse_sum_like|more dimensions", "collapse_sum_like", NULL, 2, F32(3), F32(2, 3));
    BAD("collapse_sum_like|dimension 1", "collapse_sum_like", NULL, 2, F32(2, 1), F32(2, 3));
    BAD("prod|not bool", "prod", NULL, 1, v(ctx, GPUC_BOOL, FX_DIMS(2)));
    BAD("add|dimensions 3 and 4 do not broadcast", "add", NULL, 2, F32(2, 3), F32(4));
    BAD("add|float32|int64|cast", "add", NULL, 2, F32(2), I64(2));
    BAD("where: has 2 inputs, takes 3", "where", NULL, 2, F32(2), F32(2));
}

static void too_many_dimensions(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    v(ctx, GPUC_FLOAT32, 65, (int64_t[65]){[0 ... 64] = 1});
}

static void shapes_that_do_not_fit(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    BAD("reshape|6 elements do not fit a shape of 8", "reshape", "newshape=[2, 4]", 1, F32(2, 3));
    BAD("reshape|6 elements do not divide", "reshape", "newshape=[-1, 4]", 1, F32(2, 3));
    BAD("reshape|two dimensions", "reshape", "newshape=[-1, -1]", 1, F32(2, 3));
    BAD("reshape|-5", "reshape", "newshape=[-5]", 1, F32(2, 3));
    BAD("reshape|63 bits", "reshape", "newshape=[4294967296, 4294967296]", 1, F32(0));
    BAD("squeeze|dimension 1 is not 1", "squeeze", "axis=[1]", 1, F32(1, 3));
    BAD("squeeze|axis has 2, outside of the 2", "squeeze", "axis=[2]", 1, F32(1, 3));
    BAD("squeeze|dimension 0 twice", "squeeze", "axis=[0, -2]", 1, F32(1, 3));
    BAD("transpose|permutation", "transpose", "axes=[0, 0]", 1, F32(2, 3));
    BAD("transpose|axes has 1 entries for 2", "transpose", "axes=[0]", 1, F32(2, 3));
    BAD("broadcast_to|fewer dimensions", "broadcast_to", "shape=[3]", 1, F32(2, 3));
    BAD("broadcast_to|dimension 3 of the input does not broadcast to 4", "broadcast_to", "shape=[4]", 1,
        F32(3));
    BAD("concatenate|dimension 0 of input 1 is 3", "concatenate", "axis=1", 2, F32(2, 3), F32(3, 3));
    BAD("concatenate|another rank", "concatenate", "axis=0", 2, F32(2, 3), F32(3));
    BAD("concatenate|axis=2", "concatenate", "axis=2", 2, F32(2, 3), F32(2, 3));
    BAD("strided_slice|leaves its extent 5", "strided_slice", "begin=[3] sizes=[3] strides=[1]", 1, F32(5));
    BAD("strided_slice|leaves", "strided_slice", "begin=[1] sizes=[3] strides=[-1]", 1, F32(5));
    BAD("strided_slice|stride 0", "strided_slice", "begin=[1] sizes=[3] strides=[0]", 1, F32(5));
    BAD("strided_slice|leaves", "strided_slice",
        "begin=[1] sizes=[9223372036854775807] strides=[9223372036854775807]", 1, F32(5));
    BAD("split|add up to 4, dimension 0 has 5", "split", "sizes=[2, 2]", 1, F32(5));
    BAD("split|does not fit", "split", "sizes=[2, 9223372036854775807]", 1, F32(5));
    BAD("nn.pad|dimension 0 would be -1", "nn.pad", "pad_before=[-2] pad_after=[-2]", 1, F32(3));
    BAD("nn.pad|'sideways'", "nn.pad", "pad_before=[0] pad_after=[0] mode=\"sideways\"", 1, F32(3));
    BAD("nn.pad|nothing to take", "nn.pad", "pad_before=[1] pad_after=[0] mode=\"edge\"", 1, F32(0));
    BAD("take|takes integers", "take", NULL, 2, F32(3), F32(2));
    BAD("take|no elements", "take", NULL, 2, F32(0, 3), I64(2));
    BAD("tile|63 bits", "tile", "reps=[9223372036854775807]", 1, F32(3));
    BAD("tile|negative", "tile", "reps=[-1]", 1, F32(3));
    BAD("tile|the size of the result", "tile", "reps=[1152921504606846976, 4]", 1, F32(1, 1));
    BAD("arange|scalars of one type", "arange", NULL, 3, I64(1), I64(1), I64(1));
    BAD("dyn.strided_slice|3 bounds for 2", "dyn.strided_slice", NULL, 3, F32(2, 3), I64(3), I64(3));
    BAD("dyn.strided_slice|sizes has 2 entries, needs 1", "dyn.strided_slice", "sizes=[1, 1]", 3, F32(2, 3),
        I64(1), I64(1));
    BAD("dyn.strided_slice|dimension 0 has no elements to take", "dyn.strided_slice", "sizes=[1]", 3,
        F32(0, 3), I64(1), I64(1));
    fx_expect(ctx, GPUC_INVALID_ARGUMENT, "the type of a tensor|65 dimensions", too_many_dimensions, NULL);
}

static void positions_that_do_not_fit(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    BAD("take|'nearest' is not", "take", "mode=\"nearest\"", 2, F32(3), I64(2));
    BAD("gather|3 dimensions, the indices have 2", "gather", NULL, 2, F32(2, 3, 4), I64(2, 3));
    BAD("gather|dimension 1 of the indices is 4", "gather", "axis=0", 2, F32(2, 3), I64(2, 4));
    BAD("gather_nd|3 positions", "gather_nd", NULL, 2, F32(2, 3), I64(2, 3));
    BAD("gather_nd|batch_dims is 2", "gather_nd", "batch_dims=2", 2, F32(2, 3), I64(2, 1));
    BAD("adv_index|2 index tensors for 1", "adv_index", NULL, 3, F32(2), I64(2), I64(2));
    BAD("one_hot|depth is -1", "one_hot", "depth=-1", 3, I64(2), v(ctx, GPUC_FLOAT32, FX_SCALAR),
        v(ctx, GPUC_FLOAT32, FX_SCALAR));
    BAD("topk|k is 4, dimension 1 has 3", "topk", "k=4 dtype=int64", 1, F32(2, 3));
    BAD("argsort|float32 cannot hold indices", "argsort", "dtype=float32", 1, F32(2));
    BAD("cumsum|no dimensions", "cumsum", "axis=0", 1, v(ctx, GPUC_FLOAT32, FX_SCALAR));
    BAD("cumsum|axis=1", "cumsum", "axis=1", 1, F32(2));
    BAD("compress|condition has 2", "compress", NULL, 2, F32(3), v(ctx, GPUC_BOOL, FX_DIMS(3, 1)));
    BAD("unique|no dimensions", "unique", NULL, 1, v(ctx, GPUC_FLOAT32, FX_SCALAR));
    BAD("scatter_elements|'sub' is not", "scatter_elements", "reduction=\"sub\"", 3, F32(3), I64(2), F32(2));
    BAD("scatter_elements|takes numbers, not bool", "scatter_elements", "reduction=\"add\"", 3,
        v(ctx, GPUC_BOOL, FX_DIMS(3)), I64(2), v(ctx, GPUC_BOOL, FX_DIMS(2)));
    BAD("scatter_elements|dimension 0 of input 2 is 3, should be 2", "scatter_elements", NULL, 3, F32(3),
        I64(2), F32(3));
    BAD("scatter_elements|dimension 1 of the indices is 4", "scatter_elements", NULL, 3, F32(2, 3), I64(2, 4),
        F32(2, 4));
    BAD("scatter_nd|2 positions, the data 1", "scatter_nd", NULL, 3, F32(3), I64(1, 2), F32(1));
    BAD("scatter_nd|updates have 1 dimensions, need 2", "scatter_nd", NULL, 3, F32(3, 4), I64(1, 1), F32(1));
    BAD("scatter_nd|dimension 1 of input 2 is 3, should be 4", "scatter_nd", NULL, 3, F32(3, 4), I64(1, 1),
        F32(1, 3));
    BAD("sparse_to_dense|'output_shape' is missing", "sparse_to_dense", NULL, 3, I64(2), F32(2),
        v(ctx, GPUC_FLOAT32, FX_SCALAR));
    BAD("tensor_scatter|axis 0 is the batch", "tensor_scatter", "axis=0", 2, F32(2, 3), F32(2, 1));
    BAD("tensor_scatter|'round' is not", "tensor_scatter", "axis=1 mode=\"round\"", 2, F32(2, 3), F32(2, 1));
    BAD("all_class_non_max_suppression|dimension 2 of input 0 is 3, needs 4",
        "vision.all_class_non_max_suppression", NULL, 5, F32(1, 2, 3), F32(1, 1, 2),
        v(ctx, GPUC_INT64, FX_SCALAR), v(ctx, GPUC_FLOAT32, FX_SCALAR), v(ctx, GPUC_FLOAT32, FX_SCALAR));
    BAD("vision.nms|input 1 has 2 dimensions", "vision.nms", NULL, 2, F32(1, 2, 6), I64(1, 1));
}

static void products_that_do_not_fit(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char conv[] = "strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]";
    static const char pool[] = "pool_size=[3, 3] strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]";
    BAD("nn.conv2d|3 input channels", "nn.conv2d", conv, 2, F32(1, 3, 8, 8), F32(4, 2, 3, 3));
    BAD("nn.conv2d|larger than the padded input in dimension 3", "nn.conv2d", conv, 2, F32(1, 3, 8, 2),
        F32(4, 3, 3, 3));
    BAD("nn.conv2d|4 dimensions, weight of 3", "nn.conv2d", conv, 2, F32(1, 3, 8, 8), F32(4, 3, 3));
    BAD("nn.conv2d|strides has 3 entries, needs 2", "nn.conv2d",
        "strides=[1, 1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]", 2, F32(1, 3, 8, 8), F32(4, 3, 3, 3));
    BAD("nn.conv2d|below 1", "nn.conv2d", "strides=[0, 1] padding=[0, 0, 0, 0] dilation=[1, 1]", 2,
        F32(1, 3, 8, 8), F32(4, 3, 3, 3));
    BAD("nn.max_pool2d|window is larger", "nn.max_pool2d", pool, 1, F32(1, 1, 2, 5));
    BAD("nn.max_pool2d|data of 2 dimensions", "nn.max_pool2d", pool, 1, F32(2, 5));
    BAD("nn.dense|inner dimensions 3 and 4 differ", "nn.dense", NULL, 2, F32(2, 3), F32(5, 4));
    BAD("nn.dense|takes data of at least one dimension and a weight of two", "nn.dense", NULL, 2, F32(2, 3),
        F32(3));
    BAD("nn.matmul|inner dimensions 3 and 4 differ", "nn.matmul", NULL, 2, F32(2, 3), F32(4, 5));
    BAD("nn.matmul|input 1 is a scalar", "nn.matmul", NULL, 2, F32(2, 3), v(ctx, GPUC_FLOAT32, FX_SCALAR));
    BAD("nn.matmul|float32 and int64", "nn.matmul", NULL, 2, F32(2, 3), I64(3, 2));
    BAD("nn.bias_add|vector of 3", "nn.bias_add", NULL, 2, F32(1, 3, 2), F32(4));
    BAD("nn.batch_norm: has 2 inputs, takes 5", "nn.batch_norm", NULL, 2, F32(1, 3, 2), F32(4));
}

static void more_that_does_not_fit(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    BAD("nn.instance_norm|no space", "nn.instance_norm", NULL, 3, F32(1, 3), F32(3), F32(3));
    BAD("nn.layer_norm|broadcast", "nn.layer_norm", NULL, 2, F32(2, 3), F32(4));
    BAD("nn.softmax|axis=2", "nn.softmax", "axis=2", 1, F32(2, 3));
    BAD("nn.softmax|floats", "nn.softmax", NULL, 1, I64(2, 3));
    BAD("nn.lrn|size is below 1", "nn.lrn", "size=0", 1, F32(1, 2, 3));
    BAD("image.resize|nothing to take", "image.resize", "sizes=[3] scales=[1.5]", 1, F32(0));
    BAD("image.resize|scales has 1 entries", "image.resize", "sizes=[3, 2] scales=[1.5]", 1, F32(2, 2));
    BAD("mean|axis has 3", "mean", "axis=[3]", 1, F32(2, 2));
    CANNOT("nn.conv1d|dimension 2 of input 0", "nn.conv1d", "strides=[1] padding=[0, 0] dilation=[1]", 2,
           F32(0, 1, 3000000000), F32(1, 1, 1));
}

/* ---- Symbolic dims ---- */

static const char *type_text(gpuc_ctx *ctx, const gpuc_rexpr *e)
{
    gpuc_buf text;
    gpuc_buf_init(&text, ctx->allocator);
    gpuc_relay_rtype_print(ctx, &text, e->type);
    const char *out = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&text));
    gpuc_buf_deinit(&text);
    return out;
}

static void symbolic_dims(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr n = gpuc_var(ctx, "N", GPUC_INDEX), m = gpuc_var(ctx, "M", GPUC_INDEX);
    gpuc_expr dims[] = {n, gpuc_int(ctx, 3)}, other[] = {m, gpuc_int(ctx, 3)},
              unknown[] = {NULL, gpuc_int(ctx, 3)};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 2, dims));
    gpuc_rexpr *y = gpuc_relay_var(ctx, "y", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 2, other));
    gpuc_rexpr *z = gpuc_relay_var(ctx, "z", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 2, unknown));
    assert_string_equal(type_text(ctx, fx_op2(ctx, "add", x, F32(3))), "Tensor[(N, 3), float32]");
    assert_string_equal(type_text(ctx, fx_op2(ctx, "add", x, F32(1, 1))), "Tensor[(N, 3), float32]");
    assert_string_equal(type_text(ctx, fx_op2(ctx, "add", x, x)), "Tensor[(N, 3), float32]");
    assert_string_equal(type_text(ctx, fx_op2(ctx, "add", x, y)),
                        "Tensor[(select(N == 1, M, N), 3), float32]");
    assert_string_equal(type_text(ctx, fx_op2(ctx, "add", x, F32(7, 3))), "Tensor[(7, 3), float32]");
    assert_string_equal(type_text(ctx, fx_op2(ctx, "add", z, F32(7, 3))), "Tensor[(7, 3), float32]");
    assert_string_equal(type_text(ctx, fx_op1(ctx, "nn.relu", NULL, z)), "Tensor[(?, 3), float32]");
    assert_string_equal(type_text(ctx, fx_op1(ctx, "transpose", NULL, x)), "Tensor[(3, N), float32]");
    assert_string_equal(type_text(ctx, fx_op1(ctx, "sum", "axis=[1]", x)), "Tensor[(N), float32]");
    assert_string_equal(type_text(ctx, fx_op1(ctx, "reshape", "newshape=[-1]", x)), "Tensor[(N*3), float32]");
    gpuc_rexpr *both[] = {x, y};
    assert_string_equal(type_text(ctx, fx_op(ctx, "concatenate", "axis=0", 2, both)),
                        "Tensor[(N + M, 3), float32]");
    assert_string_equal(type_text(ctx, fx_op2(ctx, "nn.dense", x, F32(4, 3))), "Tensor[(N, 4), float32]");
    CANNOT("reshape|dimension 0 of the input is unknown", "reshape", "newshape=[-1]", 1, z);
}

/* ---- Ranges ---- */

/* The type of arange of these numbers. */
static const char *range_type(gpuc_ctx *ctx, gpuc_dtype t, double start, double stop, double step)
{
    gpuc_rexpr *args[] = {gpuc_relay_const_scalar(ctx, t, start), gpuc_relay_const_scalar(ctx, t, stop),
                          gpuc_relay_const_scalar(ctx, t, step)};
    return type_text(ctx, fx_op(ctx, "arange", NULL, 3, args));
}
#define RANGE(t, start, stop, step, want) assert_string_equal(range_type(ctx, t, start, stop, step), want)
#define SCALAR(t, value) gpuc_relay_const_scalar(ctx, t, value)

static void lengths_of_ranges(gpuc_ctx *ctx, void *arg)
{
    const gpuc_dtype half = {GPUC_DTYPE_FLOAT, 16, 1}, wide = {GPUC_DTYPE_UINT, 64, 1};
    (void)arg;
    RANGE(GPUC_FLOAT32, 0, 15, 1, "Tensor[(15), float32]");
    RANGE(GPUC_FLOAT32, 1.5, -1, -0.75, "Tensor[(4), float32]");
    RANGE(GPUC_FLOAT32, 1, 0, 1, "Tensor[(0), float32]");
    RANGE(GPUC_FLOAT32, 0.7, 16777216, 4194303.825, "Tensor[(4), float32]"); /* their difference is rounded */
    RANGE(GPUC_FLOAT64, 0.7, 16777216, 4194303.75, "Tensor[(5), float64]");
    RANGE(half, 0.5, 2048, 0.5, "Tensor[(4096), float16]");
    RANGE(GPUC_INT64, -0x1p63, 0x1p62, 0x1p62, "Tensor[(3), int64]");
    RANGE(GPUC_INT64, 0x1p62, -0x1p63, -0x1p62, "Tensor[(3), int64]");
    RANGE(wide, 0, 0x1p63 + 0x1p62, 0x1p62, "Tensor[(3), uint64]");
    RANGE(GPUC_INT32, 5, 5, -1, "Tensor[(0), int32]");
    gpuc_rexpr *n = v(ctx, GPUC_FLOAT32, FX_SCALAR), *zero = SCALAR(GPUC_FLOAT32, 0),
               *args[] = {zero, n, SCALAR(GPUC_FLOAT32, 1)};
    assert_string_equal(type_text(ctx, fx_op(ctx, "arange", NULL, 3, args)), "Tensor[(?), float32]");
    assert_string_equal(type_text(ctx, fx_op(ctx, "arange", "length=[4]", 3, args)), "Tensor[(4), float32]");
    BAD("arange|the step is 0", "arange", NULL, 3, zero, zero, zero);
    BAD("arange|the step is 0", "arange", NULL, 3, SCALAR(GPUC_INT64, 1), SCALAR(GPUC_INT64, 2),
        SCALAR(GPUC_INT64, 0));
    BAD("arange|the step nan does not lead from 0 to 0", "arange", NULL, 3, zero, zero,
        SCALAR(GPUC_FLOAT32, NAN));
    BAD("arange|the step 1e-30 does not lead from 0 to 1", "arange", NULL, 3, zero, SCALAR(GPUC_FLOAT32, 1),
        SCALAR(GPUC_FLOAT32, 1e-30));
    BAD("arange|63 bits", "arange", NULL, 3, SCALAR(GPUC_INT64, -0x1p63), SCALAR(GPUC_INT64, 0x1p62),
        SCALAR(GPUC_INT64, 1));
}

/* ---- Values ---- */

static const char *values_text(gpuc_ctx *ctx, const gpuc_rexpr *e)
{
    if (!e->values) return "none";
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    int64_t n = 1;
    if (t->ndim) gpuc_expr_is_int(t->dims[0], &n);
    const char *out = "";
    for (int64_t i = 0; i < n; i++)
        out = gpuc_ctx_printf(ctx, "%s%s%s", out, i ? " " : "", gpuc_expr_text(ctx, e->values[i]));
    return out;
}
#define VALUES(e, text) assert_string_equal(values_text(ctx, e), text)
#define INTS(...) fx_ints(ctx, FX_DIMS(__VA_ARGS__))

/* The way in which exporters write Reshape(x, [shape(x)[0], -1, 2 * shape(x)[2]]). */
static void values_of_shapes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[] = {gpuc_var(ctx, "N", GPUC_INDEX), gpuc_int(ctx, 3), gpuc_var(ctx, "W", GPUC_INDEX)};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, GPUC_FLOAT32, 3, dims));
    gpuc_rexpr *shape = fx_op1(ctx, "shape_of", NULL, x);
    VALUES(shape, "N 3 W");
    gpuc_rexpr *first = fx_op2(ctx, "take", shape, gpuc_relay_const_scalar(ctx, GPUC_INT64, 0));
    VALUES(first, "N");
    gpuc_rexpr *n = fx_op1(ctx, "expand_dims", "axis=[0]", first);
    VALUES(n, "N");
    gpuc_rexpr *last = fx_op1(ctx, "strided_slice", "begin=[2] sizes=[1] strides=[1]", shape);
    VALUES(last, "W");
    gpuc_rexpr *twice = fx_op2(ctx, "multiply", last, INTS(2));
    VALUES(twice, "W*2");
    gpuc_rexpr *parts[] = {n, INTS(-1), twice};
    VALUES(fx_op(ctx, "concatenate", "axis=0", 3, parts), "N -1 W*2");
    VALUES(fx_op1(ctx, "prod", NULL, shape), "N*3*W");
    VALUES(fx_op1(ctx, "squeeze", "axis=[0]", n), "N");
    VALUES(fx_op1(ctx, "strided_slice", "begin=[2] sizes=[3] strides=[-1]", shape), "W 3 N");
    VALUES(fx_op1(ctx, "cast", "dtype=int32", shape), "none"); /* N may not fit */
    VALUES(fx_op1(ctx, "cast", "dtype=float32", shape), "none");
    gpuc_rexpr *ends[] = {shape, INTS(-1, 0)};
    VALUES(fx_op(ctx, "take", "mode=\"negative\"", 2, ends), "W N");
    VALUES(fx_op(ctx, "take", "mode=\"clip\"", 2, ends), "N N");
    VALUES(fx_op(ctx, "take", "mode=\"wrap\"", 2, ends), "W N");
    BAD("take|index 3 is outside of 3", "take", "mode=\"negative\"", 2, shape, INTS(3));
    VALUES(fx_op1(ctx, "broadcast_to", "shape=[3]", first), "N N N");
    VALUES(fx_op1(ctx, "reshape", "newshape=[1]", first), "N");
}

static void values_of_numbers(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *a = INTS(7, -7, 8), *b = INTS(2);
    VALUES(fx_op2(ctx, "add", a, b), "9 -5 10");
    VALUES(fx_op2(ctx, "divide", a, b), "3 -3 4");
    VALUES(fx_op2(ctx, "floor_divide", a, b), "3 -4 4");
    VALUES(fx_op2(ctx, "mod", a, b), "1 -1 0");
    VALUES(fx_op2(ctx, "floor_mod", a, b), "1 1 0");
    VALUES(fx_op2(ctx, "maximum", a, b), "7 2 8");
    VALUES(fx_op2(ctx, "minimum", b, a), "2 -7 2");
    VALUES(fx_op2(ctx, "less", a, INTS(8)), "1 1 0");
    gpuc_rexpr *args[] = {fx_op2(ctx, "equal", a, INTS(-7)), INTS(1, 1, 1), a};
    VALUES(args[0], "0 1 0");
    VALUES(fx_op(ctx, "where", NULL, 3, args), "7 1 8"); /* Expand of -1 */
    VALUES(fx_op1(ctx, "sum", NULL, a), "8");
    VALUES(fx_op1(ctx, "cast", "dtype=int32", a), "7 -7 8");
    VALUES(fx_op1(ctx, "cast", "dtype=uint8", a), "none");
    VALUES(fx_op1(ctx, "cast", "dtype=int8", INTS(127, -128)), "127 -128");
    VALUES(fx_op1(ctx, "cast", "dtype=int8", INTS(128)), "none");
    VALUES(fx_op1(ctx, "cast", "dtype=int64", gpuc_relay_const_scalar(ctx, GPUC_BOOL, 1)), "1");
    VALUES(fx_op1(ctx, "negative", NULL, a), "none");
    gpuc_rexpr *narrow = gpuc_relay_const_scalar(ctx, GPUC_INT32, 2147483647);
    VALUES(fx_op2(ctx, "add", narrow, narrow), "none"); /* wraps */
    int64_t many[65] = {0};
    assert_null(fx_ints(ctx, 65, many)->values);
    assert_non_null(fx_ints(ctx, 64, many)->values);
    gpuc_rexpr *two[] = {fx_ints(ctx, 64, many), INTS(1)};
    VALUES(fx_op(ctx, "concatenate", NULL, 2, two), "none");
    VALUES(fx_ints(ctx, 0, NULL), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(elementwise_kinds),         fx_test(shapes_that_do_not_fit),
        fx_test(positions_that_do_not_fit), fx_test(products_that_do_not_fit),
        fx_test(more_that_does_not_fit),    fx_test(symbolic_dims),
        fx_test(values_of_shapes),          fx_test(values_of_numbers),
        fx_test(lengths_of_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
