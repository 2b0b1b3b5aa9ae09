/* SPDX-License-Identifier: Apache-2.0 */
/* fold_constant: what becomes a constant, what memory is given back, what is too much. */
#include "pass_test.h"

static void folds(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(3)), *a = fx_floats(ctx, FX_DIMS(3), (float[]){1, 2, 3});
    gpuc_rexpr *k = fx_op2(ctx, "multiply", fx_op2(ctx, "add", a, a), a);
    fx_expect_text(after_pass(ctx, fx_op2(ctx, "add", x, k), 1, &x, gpuc_relay_pass_fold_constant, NULL),
                   "add(%x, const(Tensor[(3), float32]))");
    gpuc_rexpr *split = fx_op1(ctx, "split", "sizes=[1, 2]", k);
    gpuc_rexpr *both = fx_op2(ctx, "multiply", gpuc_relay_get(ctx, split, 0), gpuc_relay_get(ctx, split, 1));
    fx_expect_text(
        after_pass(ctx, fx_op1(ctx, "exp", NULL, both), 1, &x, gpuc_relay_pass_fold_constant, NULL),
        "const(Tensor[(2), float32])");
}

static void folds_known_shapes_without_their_tensors(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(4, 5)), *one = gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1);
    gpuc_rexpr *shape = fx_op1(ctx, "shape_of", NULL, fx_op1(ctx, "exp", NULL, x));
    fx_expect_text(after_pass(ctx, shape, 1, &x, gpuc_relay_pass_fold_constant, NULL),
                   "const([4, 5], Tensor[(2), int64])");
    gpuc_rexpr *huge = fx_op1(ctx, "broadcast_to", "shape=[1000000, 1000000]", one); /* never made */
    gpuc_rmodule *m = fx_module(ctx, fx_op1(ctx, "shape_of", NULL, huge), 1, &x);
    gpuc_relay_pass_ctx p = pass_ctx(ctx, m);
    gpuc_relay_pass_fold_constant(&p);
    fx_expect_text(fx_text(ctx, body_of(m)), "const([1000000, 1000000], Tensor[(2), int64])");
}

/* ---- Memory ---- */

typedef struct heap {
    size_t live, max;
} heap;

static void *counting(void *user, void *ptr, size_t old_size, size_t new_size)
{
    heap *h = user;
    if (new_size == 0) {
        free(ptr);
        h->live -= old_size;
        return NULL;
    }
    void *p = realloc(ptr, new_size);
    if (p) h->live = h->live + new_size - old_size;
    if (h->live > h->max) h->max = h->live;
    return p;
}

/* A weight made by a chain, as the zoo's are: Range, arithmetic, Split, Reshape. */
static gpuc_rexpr *made_weight(gpuc_ctx *ctx, int64_t n)
{
    gpuc_rexpr *range[3];
    for (int i = 0; i < 3; i++)
        range[i] = gpuc_relay_const_scalar(ctx, GPUC_INT64, i == 0 ? 0 : i == 1 ? (double)n : 1);
    gpuc_rexpr *e = fx_op(ctx, "arange", NULL, 3, range);
    for (int i = 0; i < 6; i++) {
        gpuc_rexpr *k = gpuc_relay_const_scalar(ctx, GPUC_INT64, 1103515245 + i);
        e = fx_op2(ctx, i % 2 ? "floor_mod" : "multiply", e, k);
    }
    e = fx_op1(ctx, "cast", "dtype=float32", e);
    char sizes[64];
    snprintf(sizes, sizeof sizes, "sizes=[%lld, %lld]", (long long)n / 4, (long long)(n - n / 4));
    gpuc_rexpr *parts = fx_op1(ctx, "split", sizes, e), *a = gpuc_relay_get(ctx, parts, 0),
               *b = gpuc_relay_get(ctx, parts, 1);
    gpuc_rexpr *again = gpuc_relay_get(ctx, parts, 1); /* the same field twice */
    gpuc_rexpr *fields[] = {fx_op1(ctx, "sum", NULL, a), b, fx_op1(ctx, "sum", NULL, b), again,
                            fx_op1(ctx, "expand_dims", "axis=[0]", again)};
    return gpuc_relay_tuple(ctx, 5, fields);
}

static void fold_made_weight(gpuc_ctx *ctx, void *arg)
{
    int64_t n = *(const int64_t *)arg;
    gpuc_rmodule *m = fx_module(ctx, made_weight(ctx, n), 0, NULL);
    gpuc_relay_pass_ctx p = pass_ctx(ctx, m);
    p.keep_constants = false;
    p.fold_limit = 1 << 30;
    gpuc_relay_pass_fold_constant(&p);
    const gpuc_rtuple *t = gpuc_as_rtuple(body_of(m));
    double sum = 0, other = fx_element(ctx, t->fields[2], 0);
    for (int64_t i = 0; i < fx_count(t->fields[1]); i++) {
        double v = (double)((const float *)gpuc_as_rconstant(t->fields[1])->data->bytes)[i];
        sum += v;
        assert_true(v == (double)((const float *)gpuc_as_rconstant(t->fields[3])->data->bytes)[i]);
        assert_true(v == (double)((const float *)gpuc_as_rconstant(t->fields[4])->data->bytes)[i]);
    }
    assert_true(other > sum * 0.95 && other < sum * 1.05);
}

static void gives_memory_back(void **state)
{
    (void)state;
    heap h = {0};
    int64_t n = 1 << 20;
    gpuc_allocator a = {.resize = counting, .user = &h};
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(&a, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, fold_made_weight, &n);
    if (status) fail_msg("%s", gpuc_status_message(status));
    /* two int64 tensors at a time, then the float and its parts */
    assert_true(h.max < 20 * (size_t)n);
    gpuc_ctx_destroy(ctx);
    assert_int_equal(h.live, 0);
}

static void keeps_what_others_need(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *a = fx_floats(ctx, FX_DIMS(3), (float[]){1, 2, 3}), *x = fx_var(ctx, "x", FX_DIMS(3));
    gpuc_rexpr *folded = fx_op2(ctx, "add", a, a), *kept = fx_op2(ctx, "multiply", x, a);
    gpuc_rexpr *alias = fx_op1(ctx, "reshape", "newshape=[3, 1]", a),
               *more = fx_op1(ctx, "exp", NULL, folded);
    gpuc_rexpr *fields[] = {folded, kept, alias, more};
    gpuc_rmodule *m = fx_module(ctx, gpuc_relay_tuple(ctx, 4, fields), 1, &x);
    gpuc_relay_pass_ctx p = pass_ctx(ctx, m);
    p.keep_constants = false;
    for (int i = 0; i < 3; i++) gpuc_relay_pass_fold_constant(&p);
    const gpuc_rtuple *t = gpuc_as_rtuple(body_of(m));
    assert_true(fx_element(ctx, t->fields[0], 2) == 6);
    assert_true(fx_element(ctx, gpuc_as_rcall(t->fields[1])->args[1], 2) == 3);
    assert_true(fx_element(ctx, t->fields[2], 1) == 2);
}

/* ---- Limits ---- */

static void run_fold(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    gpuc_relay_pass_fold_constant(arg);
}

static void stops_at_the_limit(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *one = gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1), *x = fx_var(ctx, "x", FX_DIMS(1));
    gpuc_rexpr *big = fx_op1(ctx, "broadcast_to", "shape=[300000]", one);
    gpuc_relay_with_source(ctx, big, "Expand_7");
    gpuc_rexpr *sum = fx_op1(ctx, "sum", NULL, big);
    gpuc_relay_pass_ctx p = pass_ctx(ctx, fx_module(ctx, sum, 1, &x));
    fx_expect(ctx, GPUC_UNSUPPORTED, "broadcast_to of Expand_7|1200000 bytes|--fold-limit", run_fold, &p);
    p = pass_ctx(ctx, fx_module(ctx, sum, 1, &x));
    p.fold_limit = 1200004;
    gpuc_relay_pass_fold_constant(&p);
    assert_true(fx_element(ctx, body_of(p.module), 0) == 300000);
    /* all that is there at one time counts, not each alone */
    gpuc_rexpr *many[8];
    for (int i = 0; i < 8; i++) {
        gpuc_rexpr *k = gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, i);
        many[i] = fx_op1(ctx, "broadcast_to", "shape=[50000]", k);
    }
    p = pass_ctx(ctx, fx_module(ctx, gpuc_relay_tuple(ctx, 8, many), 1, &x));
    fx_expect(ctx, GPUC_UNSUPPORTED, "200000 bytes|--fold-limit", run_fold, &p);
    /* what the model stores counts for it */
    gpuc_rexpr *w = random_floats(ctx, 3, FX_DIMS(300000));
    p = pass_ctx(ctx, fx_module(ctx, fx_op1(ctx, "negative", NULL, w), 1, &x));
    gpuc_relay_pass_fold_constant(&p);
    assert_true(body_of(p.module)->kind == GPUC_REXPR_CONSTANT);
}

static void leaves_what_takes_too_long(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *one = gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1), *x = fx_var(ctx, "x", FX_DIMS(1));
    gpuc_rexpr *a = fx_op1(ctx, "broadcast_to", "shape=[4096, 4096]", one);
    gpuc_relay_pass_ctx p = pass_ctx(ctx, fx_module(ctx, fx_op2(ctx, "nn.dense", a, a), 1, &x));
    p.fold_limit = 1 << 30;
    gpuc_relay_pass_fold_constant(&p);
    assert_true(gpuc_relay_is_op(body_of(p.module), "nn.dense"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(folds),
        fx_test(folds_known_shapes_without_their_tensors),
        cmocka_unit_test(gives_memory_back),
        fx_test(keeps_what_others_need),
        fx_test(stops_at_the_limit),
        fx_test(leaves_what_takes_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
