/* SPDX-License-Identifier: Apache-2.0 */
#include "protect.h"

#include <string.h>

#include "te/te.h"

static void run_error(test_body *body, const char *words)
{
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, call_body, &body);
    assert_non_null(status);
    assert_int_equal(gpuc_status_code(status), GPUC_INVALID_ARGUMENT);
    if (!strstr(gpuc_status_message(status), words))
        fail_msg("'%s' is not in: %s", words, gpuc_status_message(status));
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
}

static bool same_text(const char *p, const char *q)
{
    for (;; p++, q++) {
        p += strspn(p, " \n");
        q += strspn(q, " \n");
        if (*p != *q) return false;
        if (!*p) return true;
    }
}

static void expect_text(const char *got, const char *want)
{
    if (!same_text(got, want)) fail_msg("got\n%s\nwant\n%s", got, want);
}

static gpuc_tensor *vec(gpuc_ctx *ctx, const char *name, int64_t n)
{
    gpuc_expr dim = gpuc_int(ctx, n);
    return gpuc_te_placeholder(ctx, name, 1, &dim, GPUC_FLOAT32);
}

static gpuc_tensor *mat(gpuc_ctx *ctx, const char *name, gpuc_expr n, gpuc_expr m)
{
    gpuc_expr dims[] = {n, m};
    return gpuc_te_placeholder(ctx, name, 2, dims, GPUC_FLOAT32);
}

static gpuc_expr read1(gpuc_ctx *ctx, gpuc_tensor *t, gpuc_expr i)
{
    return gpuc_te_read(ctx, t, 1, &i);
}

/* ---- Definitions --------------------------------------------------------------------------------- */

static void compute_body(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 10), *b = vec(ctx, "B", 10);
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 10), "i");
    gpuc_expr x = read1(ctx, b, gpuc_iter_var(i)), y = read1(ctx, a, gpuc_iter_var(i));
    gpuc_tensor *c = gpuc_te_compute(ctx, "C", 1, &i, gpuc_add(ctx, gpuc_add(ctx, x, y), x));
    assert_string_equal(gpuc_te_name(c), "C");
    assert_int_equal(gpuc_te_ndim(c), 1);
    assert_true(gpuc_te_shape(c)[0] == gpuc_int(ctx, 10));
    assert_true(gpuc_dtype_equal(gpuc_te_dtype(c), GPUC_FLOAT32));
    assert_int_equal(c->op->num_inputs, 2);
    assert_ptr_equal(c->op->inputs[0]->op == b->op ? a : b, c->op->inputs[1]);
    assert_ptr_equal(c->op->axes[0], i);
}

static void attr_body(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 3);
    assert_null(gpuc_te_get_attr(a, "tag"));
    gpuc_te_set_attr(ctx, a, "tag", "injective");
    gpuc_te_set_attr(ctx, a, "other", "x");
    gpuc_te_set_attr(ctx, a, "tag", "broadcast");
    assert_string_equal(gpuc_te_get_attr(a, "tag"), "broadcast");
    assert_string_equal(gpuc_te_get_attr(a, "other"), "x");
}

static void index_cast_body(gpuc_ctx *ctx)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INT32);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, GPUC_FLOAT32);
    assert_true(gpuc_dtype_equal(gpuc_te_shape(a)[0]->dtype, GPUC_INDEX));
    gpuc_expr e = read1(ctx, a, gpuc_imm_int(ctx, GPUC_UINT8, 3));
    assert_true(gpuc_dtype_equal(gpuc_as_read(e)->index[0]->dtype, GPUC_INDEX));
}

/* An axis that is used a second time is copied: operations never share iterators. */
static void shared_axis_body(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 10);
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 10), "i");
    gpuc_expr e = read1(ctx, a, gpuc_iter_var(i));
    gpuc_tensor *b = gpuc_te_compute(ctx, "B", 1, &i, e), *c = gpuc_te_compute(ctx, "C", 1, &i, e);
    assert_ptr_equal(b->op->axes[0], i);
    assert_ptr_not_equal(c->op->axes[0], i);
    assert_ptr_equal(gpuc_as_read(c->op->bodies[0])->index[0], gpuc_iter_var(c->op->axes[0]));

    gpuc_tensor *m = mat(ctx, "M", gpuc_int(ctx, 4), gpuc_int(ctx, 5));
    gpuc_iter *x = gpuc_te_axis(ctx, gpuc_int(ctx, 4), "x"),
              *k = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, 5), "k");
    gpuc_expr at[] = {gpuc_iter_var(x), gpuc_iter_var(k)};
    gpuc_expr sum = gpuc_te_reduce(ctx, "sum", gpuc_te_read(ctx, m, 2, at), 1, &k);
    gpuc_tensor *s = gpuc_te_compute(ctx, "S", 1, &x, sum), *t = gpuc_te_compute(ctx, "T", 1, &x, sum);
    assert_ptr_equal(s->op->reduce[0], k);
    assert_ptr_not_equal(t->op->reduce[0], k);
    assert_ptr_equal(gpuc_as_reduce(t->op->bodies[0])->axes[0], t->op->reduce[0]);
}

static void order_body(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 8), *t = a, *mid = NULL;
    for (int k = 0; k < 3; k++) {
        gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 8), "i");
        t = gpuc_te_compute(ctx, "T", 1, &i,
                            gpuc_add(ctx, read1(ctx, t, gpuc_iter_var(i)), read1(ctx, a, gpuc_iter_var(i))));
        if (k == 1) mid = t;
    }
    gpuc_tensor *outputs[] = {mid, t};
    gpuc_ptrs ops = {0};
    gpuc_te_post_order(ctx, 2, outputs, &ops);
    assert_int_equal(ops.count, 4);
    assert_ptr_equal(ops.at[0], a->op);
    assert_ptr_equal(ops.at[2], mid->op);
    assert_ptr_equal(ops.at[3], t->op);
}

/* A chain that is longer than a stack would bear. */
static void deep_body(gpuc_ctx *ctx)
{
    gpuc_tensor *t = vec(ctx, "A", 2);
    for (int k = 0; k < 20000; k++) {
        gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 2), "i");
        t = gpuc_te_compute(ctx, "T", 1, &i, read1(ctx, t, gpuc_iter_var(i)));
    }
    gpuc_ptrs ops = {0};
    gpuc_te_post_order(ctx, 1, &t, &ops);
    assert_int_equal(ops.count, 20001);
}

static void replace_body(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 8), *b = vec(ctx, "B", 8), *c = vec(ctx, "C", 8);
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 8), "i");
    gpuc_expr at = gpuc_iter_var(i);
    gpuc_tensor *t = gpuc_te_compute(ctx, "T", 1, &i, gpuc_add(ctx, read1(ctx, a, at), read1(ctx, b, at)));
    assert_ptr_equal(gpuc_te_replace_inputs(ctx, t->op, 1, &c, &a), t->op);
    gpuc_te_op *op = gpuc_te_replace_inputs(ctx, t->op, 1, &b, &c);
    assert_ptr_not_equal(op, t->op);
    assert_ptr_equal(op->axes[0], i);
    assert_int_equal(op->num_inputs, 2);
    assert_true(op->inputs[0] == c || op->inputs[1] == c);
    assert_true(t->op->inputs[0] == b || t->op->inputs[1] == b);
}

/* ---- Plain lowering ---------------------------------------------------------------------------- */

static void plain_body(gpuc_ctx *ctx)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INT64), m = gpuc_var(ctx, "m", GPUC_INT32);
    gpuc_tensor *a = mat(ctx, "A", gpuc_cast(ctx, GPUC_INDEX, m), n);
    gpuc_iter *i = gpuc_te_axis(ctx, m, "i"), *k = gpuc_te_reduce_axis(ctx, n, "k");
    gpuc_expr at[] = {gpuc_iter_var(i), gpuc_iter_var(k)};
    gpuc_tensor *s =
        gpuc_te_compute(ctx, "S", 1, &i, gpuc_te_reduce(ctx, "max", gpuc_te_read(ctx, a, 2, at), 1, &k));
    gpuc_iter *j = gpuc_te_axis(ctx, m, "j");
    gpuc_expr scale = gpuc_var(ctx, "scale", GPUC_FLOAT32);
    gpuc_tensor *c = gpuc_te_compute(ctx, "C", 1, &j, gpuc_mul(ctx, read1(ctx, s, gpuc_iter_var(j)), scale));
    gpuc_tensor *args[] = {a, c};
    gpuc_tir_func *f = gpuc_te_lower_plain(ctx, "rows", 2, args);
    gpuc_tir_validate(ctx, f, "te");
    assert_int_equal(f->num_scalars, 3);
    expect_text(gpuc_tir_text(ctx, f),
                "func rows(A: float32[int64(m), n] global, C: float32[int64(m)] global, m: int32, n: int64,"
                "          scale: float32) label \"rows\" {"
                "  alloc S: float32[int64(m)] global"
                "  for i in 0..int64(m) {"
                "    S[i] = -inf"
                "    for k in 0..n {"
                "      S[i] = max(S[i], A[i, k])"
                "    }"
                "  }"
                "  for j in 0..int64(m) {"
                "    C[j] = S[j]*scale"
                "  }"
                "}");
}

static void scalar_body(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 5);
    gpuc_iter *k = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, 5), "k");
    gpuc_expr sum = gpuc_te_reduce(ctx, "sum", read1(ctx, a, gpuc_iter_var(k)), 1, &k);
    gpuc_tensor *args[] = {a, gpuc_te_compute(ctx, "S", 0, NULL, sum)};
    expect_text(gpuc_tir_text(ctx, gpuc_te_lower_plain(ctx, "total", 2, args)),
                "func total(A: float32[5] global, S: float32[] global) label \"total\" {"
                "  S[] = 0.0"
                "  for k in 0..5 { S[] = S[] + A[k] }"
                "}");
}

static void extern_body(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 6);
    gpuc_expr six = gpuc_int(ctx, 6), n = gpuc_var(ctx, "x", GPUC_INDEX);
    const gpuc_expr *shape = &six;
    gpuc_dtype dtype = GPUC_FLOAT32;
    int ndim = 1;
    gpuc_te_op *op = gpuc_te_extern_make(ctx, "copy", 1, &a, 1, &ndim, &shape, &dtype);
    gpuc_stmt store =
        gpuc_tir_store1(ctx, op->output_buffers[0], n, gpuc_tir_load1(ctx, op->input_buffers[0], n));
    op->extern_body = gpuc_tir_for_(ctx, n, gpuc_int(ctx, 0), six, GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, store);
    gpuc_tensor *args[] = {a, op->outputs[0]};
    expect_text(gpuc_tir_text(ctx, gpuc_te_lower_plain(ctx, "f", 2, args)),
                "func f(A: float32[6] global, copy: float32[6] global) label \"f\" {"
                "  for x in 0..6 { copy[x] = A[x] }"
                "}");
}

/* ---- Errors ------------------------------------------------------------------------------------- */

static void wrong_index_count(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 4);
    gpuc_te_read(ctx, a, 0, NULL);
}

static void float_index(gpuc_ctx *ctx)
{
    read1(ctx, vec(ctx, "A", 4), gpuc_imm(ctx, GPUC_FLOAT32, 1));
}

static void negative_extent(gpuc_ctx *ctx)
{
    vec(ctx, "A", -4);
}

static void float_extent(gpuc_ctx *ctx)
{
    gpuc_te_axis(ctx, gpuc_imm(ctx, GPUC_FLOAT32, 3), "i");
}

static void reduce_inside(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 4);
    gpuc_iter *k = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, 4), "k"),
              *i = gpuc_te_axis(ctx, gpuc_int(ctx, 2), "i");
    gpuc_expr sum = gpuc_te_reduce(ctx, "sum", read1(ctx, a, gpuc_iter_var(k)), 1, &k);
    gpuc_te_compute(ctx, "C", 1, &i, gpuc_add(ctx, sum, sum));
}

static void reduce_data_axis(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 4);
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 4), "i");
    gpuc_te_reduce(ctx, "sum", read1(ctx, a, gpuc_iter_var(i)), 1, &i);
}

static void data_axis_reduces(gpuc_ctx *ctx)
{
    gpuc_iter *k = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, 4), "k");
    gpuc_te_compute(ctx, "C", 1, &k, gpuc_imm(ctx, GPUC_FLOAT32, 0));
}

static void axis_twice(gpuc_ctx *ctx)
{
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 4), "i"), *axes[] = {i, i};
    gpuc_te_compute(ctx, "C", 2, axes, gpuc_imm(ctx, GPUC_FLOAT32, 0));
}

static void foreign_axis(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 4);
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 4), "i"), *j = gpuc_te_axis(ctx, gpuc_int(ctx, 4), "j");
    gpuc_te_compute(ctx, "C", 1, &i, read1(ctx, a, gpuc_iter_var(j)));
}

static void unknown_reducer(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 4);
    gpuc_iter *k = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, 4), "k");
    gpuc_te_reduce(ctx, "median", read1(ctx, a, gpuc_iter_var(k)), 1, &k);
}

static void mixed_bodies(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 4), *outs[2];
    gpuc_iter *k = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, 4), "k"),
              *i = gpuc_te_axis(ctx, gpuc_int(ctx, 2), "i");
    gpuc_expr sum = gpuc_te_reduce(ctx, "sum", read1(ctx, a, gpuc_iter_var(k)), 1, &k);
    gpuc_expr bodies[] = {gpuc_imm(ctx, GPUC_FLOAT32, 0), sum};
    gpuc_te_compute_n(ctx, "C", 1, &i, 2, bodies, outs);
}

static void missing_argument(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 4);
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 4), "i");
    gpuc_tensor *c = gpuc_te_compute(ctx, "C", 1, &i, read1(ctx, a, gpuc_iter_var(i)));
    gpuc_te_lower_plain(ctx, "f", 1, &c);
}

static void argument_twice(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 4), *args[] = {a, a};
    gpuc_te_lower_plain(ctx, "f", 2, args);
}

static void bad_function_name(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 4);
    gpuc_te_lower_plain(ctx, "2-x", 1, &a);
}

static void strange_symbol(gpuc_ctx *ctx)
{
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 4), "i");
    gpuc_tensor *c = gpuc_te_compute(ctx, "C", 1, &i, gpuc_var(ctx, "half", GPUC_FLOAT16));
    gpuc_te_lower_plain(ctx, "f", 1, &c);
}

/* ---- What is missing, or of another context ------------------------------------------------------ */

static void null_shape(gpuc_ctx *ctx)
{
    gpuc_te_placeholder(ctx, "A", 2, NULL, GPUC_FLOAT32);
}

static void null_extent(gpuc_ctx *ctx)
{
    gpuc_te_axis(ctx, NULL, "i");
}

static void null_tensor(gpuc_ctx *ctx)
{
    read1(ctx, NULL, gpuc_int(ctx, 0));
}

static void null_indices(gpuc_ctx *ctx)
{
    gpuc_te_read(ctx, vec(ctx, "A", 4), 1, NULL);
}

static void null_index(gpuc_ctx *ctx)
{
    read1(ctx, vec(ctx, "A", 4), NULL);
}

static void null_body(gpuc_ctx *ctx)
{
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 4), "i");
    gpuc_te_compute(ctx, "C", 1, &i, NULL);
}

static void null_axis(gpuc_ctx *ctx)
{
    gpuc_iter *i = NULL;
    gpuc_te_compute(ctx, "C", 1, &i, gpuc_imm(ctx, GPUC_FLOAT32, 0));
}

static void null_reducer(gpuc_ctx *ctx)
{
    gpuc_iter *k = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, 4), "k");
    gpuc_te_reduce(ctx, NULL, gpuc_imm(ctx, GPUC_FLOAT32, 0), 1, &k);
}

static void null_reduced(gpuc_ctx *ctx)
{
    gpuc_iter *k = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, 4), "k");
    gpuc_te_reduce(ctx, "sum", NULL, 1, &k);
}

static void null_operator(gpuc_ctx *ctx)
{
    gpuc_call1(ctx, NULL, gpuc_int(ctx, 1));
}

static void null_attr(gpuc_ctx *ctx)
{
    gpuc_te_set_attr(ctx, vec(ctx, "A", 4), "tag", NULL);
}

static void null_printed(gpuc_ctx *ctx)
{
    gpuc_expr_text(ctx, NULL);
}

/* What is asked without a context answers with nothing. */
static void asked_of_nothing(gpuc_ctx *ctx)
{
    gpuc_tensor *a = vec(ctx, "A", 4);
    assert_null(gpuc_iter_var(NULL));
    assert_null(gpuc_iter_extent(NULL));
    assert_null(gpuc_te_name(NULL));
    assert_null(gpuc_te_shape(NULL));
    assert_int_equal(gpuc_te_ndim(NULL), 0);
    assert_int_equal(gpuc_te_dtype(NULL).bits, 0);
    assert_null(gpuc_te_get_attr(NULL, "tag"));
    assert_null(gpuc_te_get_attr(a, NULL));
    assert_false(gpuc_expr_is_int(NULL, NULL));
    assert_int_equal(gpuc_expr_dtype(NULL).bits, 0);
}

static gpuc_ctx *other;
static gpuc_tensor *foreign_tensor;
static gpuc_expr foreign_expr;

static void make_foreign(gpuc_ctx *ctx)
{
    foreign_tensor = vec(ctx, "F", 4);
    foreign_expr = gpuc_var(ctx, "f", GPUC_INDEX);
}

static void foreign_operand(gpuc_ctx *ctx)
{
    gpuc_add(ctx, gpuc_int(ctx, 1), foreign_expr);
}

static void foreign_read(gpuc_ctx *ctx)
{
    read1(ctx, foreign_tensor, gpuc_int(ctx, 1));
}

static void foreign_index(gpuc_ctx *ctx)
{
    read1(ctx, vec(ctx, "A", 4), foreign_expr);
}

static void foreign_extent(gpuc_ctx *ctx)
{
    gpuc_te_axis(ctx, foreign_expr, "i");
}

/* ---- Sizes and bounds ---------------------------------------------------------------------------- */

static void axis_in_extent(gpuc_ctx *ctx)
{
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 4), "i");
    gpuc_te_reduce_axis(ctx, gpuc_add(ctx, gpuc_iter_var(i), gpuc_int(ctx, 1)), "k");
}

static void memory_in_extent(gpuc_ctx *ctx)
{
    gpuc_expr one = gpuc_int(ctx, 1);
    gpuc_tensor *lengths = gpuc_te_placeholder(ctx, "L", 1, &one, GPUC_INT32);
    gpuc_te_axis(ctx, read1(ctx, lengths, gpuc_int(ctx, 0)), "i");
}

static void few_dimensions(gpuc_ctx *ctx)
{
    gpuc_te_compute(ctx, "C", -1, NULL, gpuc_imm(ctx, GPUC_FLOAT32, 0));
}

static void unknown_type(gpuc_ctx *ctx)
{
    gpuc_expr n = gpuc_int(ctx, 4);
    gpuc_te_placeholder(ctx, "A", 1, &n, (gpuc_dtype){.code = GPUC_DTYPE_FLOAT, .bits = 13, .lanes = 1});
}

static void too_large(gpuc_ctx *ctx)
{
    mat(ctx, "A", gpuc_int(ctx, INT64_C(1) << 40), gpuc_int(ctx, INT64_C(1) << 40));
}

static void read_beyond(gpuc_ctx *ctx)
{
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 8), "i");
    gpuc_expr at = gpuc_add(ctx, gpuc_iter_var(i), gpuc_int(ctx, 1000));
    gpuc_te_compute(ctx, "C", 1, &i, read1(ctx, vec(ctx, "A", 8), at));
}

static void read_last_beyond(gpuc_ctx *ctx)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i");
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, GPUC_FLOAT32);
    gpuc_te_compute(ctx, "C", 1, &i, read1(ctx, a, gpuc_add(ctx, gpuc_iter_var(i), gpuc_int(ctx, 1))));
}

static void read_before(gpuc_ctx *ctx)
{
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 8), "i"),
              *k = gpuc_te_reduce_axis(ctx, gpuc_int(ctx, 3), "k");
    gpuc_expr at = gpuc_sub(ctx, gpuc_iter_var(i), gpuc_iter_var(k));
    gpuc_te_compute(ctx, "C", 1, &i, gpuc_te_reduce(ctx, "sum", read1(ctx, vec(ctx, "A", 8), at), 1, &k));
}

/* Guarded reads, reads that may be in bounds, and those of no iteration stay. */
static void bounded_reads(gpuc_ctx *ctx)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX), m = gpuc_var(ctx, "m", GPUC_INDEX);
    gpuc_tensor *a = vec(ctx, "A", 8), *b = gpuc_te_placeholder(ctx, "B", 1, &m, GPUC_FLOAT32);
    gpuc_iter *i = gpuc_te_axis(ctx, gpuc_int(ctx, 8), "i"), *j = gpuc_te_axis(ctx, n, "j"),
              *none = gpuc_te_axis(ctx, gpuc_int(ctx, 0), "none");
    gpuc_expr next = gpuc_add(ctx, gpuc_iter_var(i), gpuc_int(ctx, 1)), seven = gpuc_int(ctx, 7);
    gpuc_expr guarded = gpuc_if_then_else(ctx, gpuc_lt(ctx, next, gpuc_int(ctx, 8)), read1(ctx, a, next),
                                          gpuc_imm(ctx, GPUC_FLOAT32, 0));
    gpuc_te_compute(ctx, "C", 1, &i, guarded);
    gpuc_te_compute(ctx, "C", 1, &i, read1(ctx, a, gpuc_min(ctx, next, seven)));
    gpuc_te_compute(ctx, "C", 1, &i, read1(ctx, a, gpuc_sub(ctx, seven, gpuc_iter_var(i))));
    gpuc_te_compute(ctx, "C", 1, &j, read1(ctx, b, gpuc_add(ctx, gpuc_iter_var(j), gpuc_int(ctx, 1))));
    gpuc_te_compute(ctx, "C", 1, &none, read1(ctx, a, gpuc_int(ctx, 99)));
}

static void test_definitions(void **state)
{
    (void)state;
    test_body *const bodies[] = {compute_body, attr_body, index_cast_body,  shared_axis_body, order_body,
                                 replace_body, deep_body, asked_of_nothing, bounded_reads};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) run_ok(bodies[i]);
}

static void test_plain(void **state)
{
    (void)state;
    run_ok(plain_body);
    run_ok(scalar_body);
    run_ok(extern_body);
}

static void test_errors(void **state)
{
    (void)state;
    test_body *foreign = make_foreign;
    assert_null(gpuc_ctx_create(NULL, &other));
    assert_null(gpuc_ctx_protect(other, call_body, &foreign));
    static const struct {
        test_body *body;
        const char *words;
    } cases[] = {
        {wrong_index_count, "'A' has 1 dimensions and is read with 0 indices"},
        {float_index, "index 0 is of type float32"},
        {negative_extent, "extent 0 is -4"},
        {float_extent, "wanted is an integer"},
        {reduce_inside, "must be the whole body"},
        {reduce_data_axis, "'i', which is not a reduce axis"},
        {data_axis_reduces, "'k' is a reduce axis"},
        {axis_twice, "names the axis 'i' twice"},
        {foreign_axis, "uses the axis 'j'"},
        {unknown_reducer, "median"},
        {mixed_bodies, "compute 'C'"},
        {missing_argument, "placeholder 'A' is read but is not among the arguments"},
        {argument_twice, "'A' is twice"},
        {bad_function_name, "'2-x' cannot name a function"},
        {strange_symbol, "'half' is of type float16"},
        {null_shape, "placeholder 'A': the shape is NULL"},
        {null_extent, "'i': extent 0 is NULL"},
        {null_tensor, "gpuc_te_read: the tensor is NULL"},
        {null_indices, "tensor 'A': the list of indices is NULL"},
        {null_index, "tensor 'A': the index 0 is NULL"},
        {null_body, "compute 'C': the body is NULL"},
        {null_axis, "compute 'C': the axis 0 is NULL"},
        {null_reducer, "the reducer's name is NULL"},
        {null_reduced, "reduction 'sum': the value is NULL"},
        {null_operator, "the name of an operator is NULL"},
        {null_attr, "gpuc_te_set_attr: the value is NULL"},
        {null_printed, "(NULL)"},
        {foreign_operand, "an operand of '+' was made in another context"},
        {foreign_read, "the tensor 'F' was made in another context"},
        {foreign_index, "tensor 'A': the index 0 was made in another context"},
        {foreign_extent, "'i': extent 0 was made in another context"},
        {axis_in_extent, "'k': extent 0 is i + 1, which depends on the axis 'i'"},
        {memory_in_extent, "which is read from memory"},
        {few_dimensions, "compute 'C' has -1 dimensions"},
        {unknown_type, "placeholder 'A' has the type float13, which does not exist"},
        {too_large, "tensor 'A' would have more than 2^63 bytes"},
        {read_beyond, "compute 'C' reads 'A' out of bounds: index 0 is i + 1000, which goes to 1007"},
        {read_last_beyond, "index 0 is i + 1, which goes to n, and the extent is n"},
        {read_before, "index 0 is i - k, which begins at -2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) run_error(cases[i].body, cases[i].words);
    gpuc_ctx_destroy(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
