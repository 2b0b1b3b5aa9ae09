/* SPDX-License-Identifier: Apache-2.0 */
/* alter_op_layout: channels go last where that pays, transpositions meet and go, values stay.
 * alter_kernel_layout: recurrent weights are packed where a core, or a subgroup on one, reads them in each step. */
#include "pass_test.h"
#include "relay_pass/common/layout.h"
#include "relay_pass/common/util.h"

#define TARGET "c -vector_bits=256"
#define LANES "vulkan/llvmpipe"

static gpuc_rexpr *conv2(gpuc_ctx *ctx, gpuc_rexpr *x, int64_t out, int64_t in, int64_t kernel,
                         int64_t groups)
{
    gpuc_rexpr *args[] = {
        x, random_floats(ctx, (uint64_t)(out + in + kernel), FX_DIMS(out, in, kernel, kernel))};
    int64_t pad = kernel / 2;
    return fx_op(ctx, "nn.conv2d",
                 gpuc_ctx_printf(ctx, "strides=[1, 1] padding=[%d, %d, %d, %d] dilation=[1, 1] groups=%d",
                                 (int)pad, (int)pad, (int)pad, (int)pad, (int)groups),
                 2, args);
}

static gpuc_rexpr *altered(gpuc_ctx *ctx, gpuc_rexpr *body, gpuc_rexpr *x, const char *target)
{
    gpuc_rmodule *before = fx_module(ctx, body, 1, &x),
                 *after = run_pass(ctx, before, gpuc_relay_pass_alter_op_layout, target);
    interp_expect_equal(ctx, before, after, 77, 1e-4);
    return body_of(after);
}

/* How many activations are transposed: packing a weight is a transposition, too. */
static int turns(gpuc_ctx *ctx, gpuc_rexpr *root)
{
    gpuc_ptrs order = {0};
    int n = 0;
    gpuc_relay_post_order(ctx, root, true, &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i];
        if (!gpuc_relay_is_op(e, "transpose")) continue;
        while (gpuc_relay_call_op(e)) e = gpuc_as_rcall(e)->args[0];
        n += e->kind == GPUC_REXPR_VAR;
    }
    return n;
}

static gpuc_rexpr *typed_var(gpuc_ctx *ctx, const char *name, gpuc_dtype t, int ndim, const int64_t *dims)
{
    return gpuc_relay_var(ctx, name, gpuc_relay_rtype_tensor_static(ctx, t, ndim, dims));
}

static gpuc_rexpr *random_integers(gpuc_ctx *ctx, gpuc_dtype t, int ndim, const int64_t *dims)
{
    int64_t count = 1;
    for (int i = 0; i < ndim; i++) count *= dims[i];
    gpuc_const_data *data = gpuc_relay_const_data_create(ctx, (size_t)count * gpuc_dtype_bytes(t));
    for (size_t i = 0; i < data->size; i++) ((uint8_t *)data->bytes)[i] = (uint8_t)(i * 167 + i / 7);
    return gpuc_relay_constant(ctx, gpuc_relay_rtype_tensor_static(ctx, t, ndim, dims), data);
}

/* How the weights of the first convolution lie. */
static const char *layout_in(gpuc_ctx *ctx, gpuc_rexpr *root)
{
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, root, true, &order);
    for (size_t i = 0; i < order.count; i++) {
        const gpuc_op *op = gpuc_relay_call_op(order.at[i]);
        const gpuc_attrs *a = op ? gpuc_as_rcall(order.at[i])->attrs : NULL;
        if (a && gpuc_attrs_find(a, "kernel_layout")) return gpuc_attrs_get_string(a, "kernel_layout", "");
    }
    return "none";
}

/* Elements of a row of the first convolution, which has channels last. */
static int64_t row_in(gpuc_ctx *ctx, gpuc_rexpr *root)
{
    gpuc_ptrs order = {0};
    int64_t n = 0;
    gpuc_relay_post_order(ctx, root, true, &order);
    for (size_t i = order.count; i-- > 0;) {
        gpuc_rexpr *e = order.at[i];
        if (!gpuc_relay_call_op(e) || !gpuc_relay_pass_is_conv(e)) continue;
        const gpuc_tensor_type *t = gpuc_relay_tensor_type(gpuc_as_rcall(e)->args[0]);
        gpuc_expr_is_int(t->dims[t->ndim - 2], &n);
    }
    return n;
}

static void a_network_turns_once(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 8, 6, 5));
    gpuc_rexpr *bias = random_floats(ctx, 3, FX_DIMS(12, 1, 1));
    gpuc_rexpr *a = fx_op1(ctx, "nn.relu", NULL, fx_op2(ctx, "add", conv2(ctx, x, 12, 8, 3, 1), bias));
    gpuc_rexpr *p = fx_op1(ctx, "nn.max_pool2d",
                           "pool_size=[3, 3] strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1]", a);
    gpuc_rexpr *d = conv2(ctx, p, 12, 1, 3, 12);
    gpuc_rexpr *wide =
        fx_op1(ctx, "nn.pad", "pad_before=[0, 1, 0, 2] pad_after=[0, 3, 1, 0]", fx_op2(ctx, "add", d, a));
    gpuc_rexpr *parts[] = {wide, wide};
    gpuc_rexpr *both = fx_op(ctx, "concatenate", "axis=1", 2, parts);
    gpuc_rexpr *last = conv2(ctx, both, 9, 32, 1, 1);
    gpuc_rexpr *mean = fx_op1(ctx, "mean", "axis=[2, 3]", last);
    gpuc_rexpr *after = altered(ctx, mean, x, TARGET);
    assert_int_equal(turns(ctx, after), 1);
    assert_true(gpuc_relay_is_op(after, "mean"));
    assert_int_equal(turns(ctx, altered(ctx, last, x, TARGET)), 2);
}

/* A gate, [1, C, 1, 1], broadcasts without a transposition of its own. */
static void gates_broadcast(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 8, 6, 5)), *y = conv2(ctx, x, 16, 8, 3, 1);
    gpuc_rexpr *gate = fx_op1(ctx, "sigmoid", NULL, fx_op1(ctx, "mean", "axis=[2, 3] keepdims=1", y));
    assert_int_equal(turns(ctx, altered(ctx, fx_op2(ctx, "multiply", gate, y), x, TARGET)), 2);
}

/* [N, C, row] behind a reshape that keeps the channels. */
static void reshapes_of_space(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 8, 6, 5)), *y = conv2(ctx, x, 9, 8, 3, 1);
    gpuc_rexpr *row = gpuc_relay_pass_reshape_static(ctx, y, 3, (int64_t[]){2, 9, 30});
    assert_int_equal(turns(ctx, altered(ctx, fx_op1(ctx, "exp", NULL, row), x, TARGET)), 2);
    gpuc_rexpr *mixed = gpuc_relay_pass_reshape_static(ctx, y, 3, (int64_t[]){2, 30, 9});
    assert_int_equal(turns(ctx, altered(ctx, fx_op1(ctx, "exp", NULL, mixed), x, TARGET)), 2);
}

static void what_does_not_gain_stays(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 8, 6, 5)), *w = fx_var(ctx, "w", FX_DIMS(16, 8, 3, 3));
    gpuc_rexpr *few = conv2(ctx, x, 4, 8, 3, 1), *groups = conv2(ctx, x, 16, 4, 3, 2),
               *quick = conv2(ctx, x, 16, 8, 1, 1), *args[] = {x, w};
    assert_int_equal(turns(ctx, altered(ctx, few, x, TARGET)), 0); /* channels do not fill a vector */
    assert_int_equal(turns(ctx, altered(ctx, groups, x, TARGET)), 0);
    assert_int_equal(turns(ctx, altered(ctx, quick, x, TARGET)), 0); /* quicker than the transpositions */
    assert_int_equal(turns(ctx, altered(ctx, conv2(ctx, x, 16, 8, 3, 1), x, "c")), 0); /* no vectors */
    gpuc_rexpr *given =
        fx_op(ctx, "nn.conv2d", "strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]", 2, args);
    gpuc_rmodule *m = fx_module(ctx, given, 2, args);
    assert_ptr_equal(body_of(run_pass(ctx, m, gpuc_relay_pass_alter_op_layout, TARGET)), given);
}

/* Where lanes are threads: channels fill vectors, of what is read and of what is written; a window per
 * channel has no block of weights and too few output channels stay. */
static void lanes(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, 3, 6, 5));
    gpuc_rexpr *y = conv2(ctx, x, 24, 3, 5, 1);
    assert_string_equal(layout_in(ctx, altered(ctx, y, x, LANES)), "OHWIo");
    gpuc_rexpr *d = fx_op1(ctx, "nn.relu", NULL, conv2(ctx, y, 24, 1, 3, 24));
    gpuc_rexpr *after = altered(ctx, conv2(ctx, d, 16, 24, 3, 1), x, LANES);
    assert_int_equal(turns(ctx, after), 2);
    gpuc_rexpr *wide = fx_var(ctx, "x", FX_DIMS(1, 8, 6, 5));
    assert_int_equal(turns(ctx, altered(ctx, conv2(ctx, wide, 12, 8, 3, 1), wide, LANES)), 0);
    gpuc_rexpr *odd = conv2(ctx, conv2(ctx, wide, 21, 8, 3, 1), 18, 21, 3, 1);
    assert_int_equal(turns(ctx, altered(ctx, odd, wide, LANES)), 2);
}

/* Where lanes are threads, neighbours of a row become channels if stride and window allow, and channels fill no vectors
 * without. */
static void folded_rows(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        const char *name, *dilation, *strides, *padding; /* of the other axes */
    } ranks[] = {{"nn.conv1d", "1", "", ""},
                 {"nn.conv2d", "1, 1", "2, ", "1, "},
                 {"nn.conv3d", "1, 1, 1", "3, 2, ", "0, 1, "}};
    static const struct {
        int rank;
        int64_t channels, row, window, stride, before, after, neighbours;
    } cases[] = {
        {1, 1, 140, 80, 12, 0, 0, 4}, {1, 1, 141, 80, 4, 0, 0, 4}, /* an element that no window has */
        {1, 1, 143, 80, 4, 3, 2, 4},  {1, 1, 124, 78, 2, 0, 1, 2}, /* half of a vector stays empty */
        {1, 3, 75, 32, 8, 0, 0, 4},   {1, 2, 73, 40, 4, 5, 0, 2},  /* two are enough */
        {2, 3, 21, 12, 4, 0, 0, 4},   {3, 1, 17, 8, 4, 2, 2, 4},
        {2, 3, 12, 10, 2, 1, 1, 1}, /* 6 of 8 are as 3 of 4 */
        {1, 4, 140, 80, 4, 0, 0, 1},  {1, 1, 140, 77, 3, 0, 0, 1},
        {1, 1, 3, 80, 4, 79, 0, 4}, /* one element is left */
        {1, 1, 3, 80, 4, 80, 0, 1}, /* none is */
        {1, 1, 1, 80, 4, 82, 0, 1},
    };
    (void)arg;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int r = cases[i].rank;
        int64_t x_dims[5] = {2, cases[i].channels, 4, 5, 0}, w_dims[5] = {20, cases[i].channels, 3, 3, 0};
        x_dims[1 + r] = cases[i].row;
        w_dims[1 + r] = cases[i].window;
        gpuc_rexpr *x = fx_var(ctx, "x", 2 + r, x_dims);
        gpuc_rexpr *args[] = {x, random_floats(ctx, 5 + i, 2 + r, w_dims)};
        const char *options = gpuc_ctx_printf(
            ctx, "groups=1 dilation=[%s] strides=[%s%d] padding=[%s%d, %s%d]", ranks[r - 1].dilation,
            ranks[r - 1].strides, (int)cases[i].stride, ranks[r - 1].padding, (int)cases[i].before,
            ranks[r - 1].padding, (int)cases[i].after);
        gpuc_rexpr *after = altered(ctx, fx_op(ctx, ranks[r - 1].name, options, 2, args), x, LANES);
        int64_t padded = cases[i].row + cases[i].before + cases[i].after, g = cases[i].neighbours;
        assert_int_equal(row_in(ctx, after), g > 1 ? padded / g : cases[i].row);
    }
}

/* What the target sums by dot products, of any types of small integers and any number of channels. */
static void integers(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        gpuc_dtype x, w;
        int64_t channels;
        const char *layout;
    } rows[] = {{GPUC_UINT8, GPUC_INT8, 8, "OHWIoi"},
                {GPUC_INT8, GPUC_UINT8, 9, "OHWIoi"},
                {GPUC_INT16, GPUC_UINT8, 9, "OHWIoi"},
                {GPUC_UINT16, GPUC_INT8, 8, "OIHW"}};
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t n = rows[i].channels;
        gpuc_rexpr *x = typed_var(ctx, "x", rows[i].x, FX_DIMS(1, n, 6, 5)),
                   *args[] = {x, random_integers(ctx, rows[i].w, FX_DIMS(19, n, 3, 3))};
        gpuc_rexpr *conv = fx_op(
            ctx, "nn.conv2d", "strides=[1, 2] padding=[1, 0, 1, 1] dilation=[1, 1] out_dtype=int32", 2, args);
        assert_string_equal(layout_in(ctx, altered(ctx, conv, x, TARGET)), rows[i].layout);
    }
    gpuc_rexpr *m = typed_var(ctx, "m", GPUC_INT8, FX_DIMS(2, 3, 13)),
               *sides[] = {m, random_integers(ctx, GPUC_INT8, FX_DIMS(13, 21))};
    gpuc_rexpr *product = fx_op(ctx, "nn.matmul", "out_dtype=int32", 2, sides);
    assert_string_equal(layout_in(ctx, altered(ctx, product, m, TARGET)), "OHWIoi");
    sides[1] = random_integers(ctx, GPUC_INT8, FX_DIMS(21, 13));
    product = fx_op(ctx, "nn.matmul", "transpose_b=1 out_dtype=int32", 2, sides);
    assert_string_equal(layout_in(ctx, altered(ctx, product, m, TARGET)), "OHWIoi");
}

/* Products of floats with constants read blocks of columns, the last filled up with zeros. */
static void products(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        int64_t x[3], w[3];
        int rank; /* of w */
        bool transposed;
        const char *target, *layout;
    } rows[] = {{{2, 3, 13}, {13, 21}, 2, false, TARGET, "NKn"},
                {{2, 3, 13}, {21, 13}, 2, true, TARGET, "NKn"},
                {{2, 3, 13}, {2, 13, 24}, 3, false, TARGET, "NKn"},
                {{2, 3, 13}, {13, 7}, 2, false, TARGET, "KN"},
                {{2, 3, 13}, {13, 21}, 2, false, LANES, "KN"},
                {{2, 3, 13}, {13, 21}, 2, false, "opencl/pocl", "NKn"},
                {{2, 3, 13}, {13, 21}, 2, false, "vulkan", "KN"}};
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gpuc_rexpr *x = fx_var(ctx, "x", 3, rows[i].x),
                   *args[] = {x, random_floats(ctx, 5, rows[i].rank, rows[i].w)};
        gpuc_rexpr *e = fx_op(ctx, "nn.matmul", rows[i].transposed ? "transpose_b=1" : NULL, 2, args);
        gpuc_rexpr *now = altered(ctx, e, x, rows[i].target);
        assert_true(gpuc_relay_is_op(now, "nn.matmul"));
        assert_string_equal(gpuc_attrs_get_string(gpuc_as_rcall(now)->attrs, "b_layout", ""), rows[i].layout);
    }
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(2, 3, 13)), *w = fx_var(ctx, "w", FX_DIMS(13, 21)),
               *args[] = {x, w};
    gpuc_rexpr *e = fx_op(ctx, "nn.matmul", NULL, 2, args);
    gpuc_rmodule *after = run_pass(ctx, fx_module(ctx, e, 2, args), gpuc_relay_pass_alter_op_layout, TARGET);
    assert_string_equal(gpuc_attrs_get_string(gpuc_as_rcall(body_of(after))->attrs, "b_layout", ""), "KN");
}

/* The rank of the recurrent weights behind the pass: 5 where they are packed. */
static int recurrent_rank(gpuc_ctx *ctx, const char *cell, int64_t directions, int64_t units, bool constant,
                          const char *target)
{
    static const struct {
        const char *op, *attrs;
        int64_t gates;
        int inputs;
    } cells[] = {
        {"nn.rnn", "tanh", 1, 3}, {"nn.gru", "sigmoid,tanh", 3, 4}, {"nn.lstm", "sigmoid,tanh,tanh", 4, 5}};
    size_t i = 0;
    while (strcmp(cells[i].op, cell)) i++;
    int64_t gates = cells[i].gates;
    const char *names = cells[i].attrs, *zeros = gates == 1   ? "0.0"
                                                 : gates == 3 ? "0.0, 0.0"
                                                              : "0.0, 0.0, 0.0";
    if (directions == 2) names = gpuc_ctx_printf(ctx, "%s,%s", names, names);
    if (directions == 2) zeros = gpuc_ctx_printf(ctx, "%s, %s", zeros, zeros);
    gpuc_rexpr *params[] = {fx_var(ctx, "x", FX_DIMS(3, 2, directions * gates * units)),
                            fx_var(ctx, "r", FX_DIMS(directions, units, gates * units))};
    gpuc_rexpr *state = random_floats(ctx, 1, FX_DIMS(directions, 2, units));
    gpuc_rexpr *extra = random_floats(ctx, 2, FX_DIMS(directions, units));
    gpuc_rexpr *peepholes = random_floats(ctx, 3, FX_DIMS(directions, 3 * units));
    gpuc_rexpr *weights = random_floats(ctx, 4, FX_DIMS(directions, units, gates * units));
    gpuc_rexpr *args[] = {params[0], constant ? weights : params[1], state, gates == 3 ? extra : state,
                          peepholes};
    gpuc_rexpr *layer =
        fx_op(ctx, cell, gpuc_ctx_printf(ctx, "activations=\"%s\" alpha=[%s] beta=[%s]", names, zeros, zeros),
              cells[i].inputs, args);
    gpuc_rexpr *body = gpuc_relay_get(ctx, layer, 0);
    gpuc_rmodule *before = fx_module(ctx, body, constant ? 1 : 2, params),
                 *after = run_pass(ctx, before, gpuc_relay_pass_alter_kernel_layout, target);
    interp_expect_equal(ctx, before, after, 77, 1e-4);
    const gpuc_rexpr *tuple = gpuc_as_rget(body_of(after))->tuple;
    return gpuc_relay_tensor_type(gpuc_as_rcall(tuple)->args[1])->ndim;
}

static void recurrent_weights(gpuc_ctx *ctx, void *arg)
{
    static const char *const cells[] = {"nn.rnn", "nn.gru", "nn.lstm"};
    (void)arg;
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        assert_int_equal(recurrent_rank(ctx, cells[i], 1, 8, true, TARGET), 5);
        assert_int_equal(recurrent_rank(ctx, cells[i], 2, 19, true, TARGET), 5);
        assert_int_equal(recurrent_rank(ctx, cells[i], 2, 7, true, TARGET), 3); /* less than a vector */
        assert_int_equal(recurrent_rank(ctx, cells[i], 1, 8, false, TARGET), 3);
        assert_int_equal(recurrent_rank(ctx, cells[i], 2, 19, true, "opencl/pocl -vector_bits=256"), 5);
        assert_int_equal(recurrent_rank(ctx, cells[i], 2, 19, true, LANES), 5);
        assert_int_equal(recurrent_rank(ctx, cells[i], 1, 15, true, LANES),
                         3); /* less than half of a panel */
        assert_int_equal(recurrent_rank(ctx, cells[i], 1, 8, true, "vulkan"), 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(a_network_turns_once),     fx_test(gates_broadcast), fx_test(reshapes_of_space),
        fx_test(what_does_not_gain_stays), fx_test(integers),        fx_test(lanes),
        fx_test(recurrent_weights),        fx_test(products),        fx_test(folded_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
