/* SPDX-License-Identifier: Apache-2.0 */
/* What users give te: reducers, axes that begin elsewhere, strides, extern bodies, scans. Errors name what is wrong; the
 * definition gives the values of a plain loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <gpuc/ctx.h>

#include "te/te.h"

typedef void body_of_test(gpuc_ctx *ctx, void *arg);

static void protected_ok(body_of_test *body, void *arg)
{
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, body, arg);
    if (status) fail_msg("%s", gpuc_status_message(status));
    gpuc_ctx_destroy(ctx);
}

static void protected_error(const char *words, body_of_test *body, void *arg)
{
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, body, arg);
    if (!status) fail_msg("no error: %s", words);
    if (!strstr(gpuc_status_message(status), words))
        fail_msg("'%s' is not in: %s", words, gpuc_status_message(status));
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
}

static gpuc_expr num(gpuc_ctx *ctx, int64_t v)
{
    return gpuc_int(ctx, v);
}

static gpuc_expr real(gpuc_ctx *ctx, double v)
{
    return gpuc_imm(ctx, GPUC_FLOAT32, v);
}

/* Runs the definition of a function of float32 arrays. */
static void run(gpuc_ctx *ctx, int n, gpuc_tensor *const *args, gpuc_tir_arg *data)
{
    gpuc_tir_func *f = gpuc_te_lower_plain(ctx, "f", n, args);
    gpuc_tir_validate(ctx, f, "te");
    GPUC_RAISE_IF(ctx, gpuc_ev_run(ctx, f, data, NULL, true));
}

/* ---- Values ------------------------------------------------------------------------------------------- */

/* C[i - 2] = sum of A[i + k] for i of 2 to 4, k of -2 to 0. */
static void starts(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr n = num(ctx, 5), m = num(ctx, 3);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, GPUC_FLOAT32), *args[2] = {a};
    gpuc_iter *i = gpuc_te_axis_from(ctx, num(ctx, 2), m, "i"),
              *k = gpuc_te_reduce_axis_from(ctx, num(ctx, -2), m, "k");
    assert_true(gpuc_tir_is_const(gpuc_iter_min(i), 2));
    assert_true(gpuc_tir_is_const(gpuc_iter_min(k), -2));
    gpuc_expr at = gpuc_add(ctx, gpuc_iter_var(i), gpuc_iter_var(k));
    args[1] =
        gpuc_te_compute(ctx, "C", 1, &i, gpuc_te_reduce(ctx, "sum", gpuc_te_read(ctx, a, 1, &at), 1, &k));
    float in[5] = {1, 2, 4, 8, 16}, out[3], want[3] = {7, 14, 28};
    run(ctx, 2, args, (gpuc_tir_arg[]){{in, sizeof in}, {out, sizeof out}});
    assert_memory_equal(out, want, sizeof want);
}

static void beyond_start(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr n = num(ctx, 5);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, GPUC_FLOAT32);
    gpuc_iter *i = gpuc_te_axis_from(ctx, num(ctx, 1), n, "i");
    gpuc_expr at = gpuc_iter_var(i);
    gpuc_te_compute(ctx, "C", 1, &i, gpuc_te_read(ctx, a, 1, &at));
}

static void strides(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr shape[] = {num(ctx, 2), num(ctx, 3)}, by[] = {num(ctx, -1), num(ctx, 2)}, at[2];
    gpuc_tensor *a =
        gpuc_te_placeholder_strided(ctx, "A", 2, shape, GPUC_FLOAT32, num(ctx, 7), by, num(ctx, 2));
    gpuc_tensor *args[2] = {a};
    gpuc_iter *axes[] = {gpuc_te_axis(ctx, shape[0], "i"), gpuc_te_axis(ctx, shape[1], "j")};
    for (int i = 0; i < 2; i++) at[i] = gpuc_iter_var(axes[i]);
    args[1] = gpuc_te_compute(ctx, "C", 2, axes, gpuc_te_read(ctx, a, 2, at));
    float in[7] = {0, 1, 2, 3, 4, 5, 6}, out[6], want[6] = {2, 4, 6, 1, 3, 5};
    run(ctx, 2, args, (gpuc_tir_arg[]){{in, sizeof in}, {out, sizeof out}});
    assert_memory_equal(out, want, sizeof want);
}

static void strides_beyond(gpuc_ctx *ctx, void *arg)
{
    gpuc_expr n = num(ctx, 3), by = num(ctx, *(const int *)arg);
    gpuc_te_placeholder_strided(ctx, "A", 1, &n, GPUC_FLOAT32, num(ctx, 7), &by, num(ctx, 3));
}

/* An inclusive and an exclusive sum, a state each. */
static void sums(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr n = num(ctx, 5), one = num(ctx, 1);
    gpuc_tensor *x = gpuc_te_placeholder(ctx, "X", 1, &n, GPUC_FLOAT32), *args[3] = {x}, *init[2], *state[2],
                *update[2];
    for (int k = 0; k < 2; k++) {
        gpuc_iter *o = gpuc_te_axis(ctx, one, "o"), *t = gpuc_te_axis_from(ctx, one, num(ctx, 4), "t");
        gpuc_expr first = gpuc_iter_var(o), at = gpuc_iter_var(t), before = gpuc_sub(ctx, at, one);
        init[k] = gpuc_te_compute(ctx, "first", 1, &o, k ? real(ctx, 0) : gpuc_te_read(ctx, x, 1, &first));
        state[k] = gpuc_te_placeholder(ctx, "S", 1, &n, GPUC_FLOAT32);
        gpuc_expr more = gpuc_te_read(ctx, x, 1, k ? &before : &at);
        update[k] =
            gpuc_te_compute(ctx, "next", 1, &t, gpuc_add(ctx, gpuc_te_read(ctx, state[k], 1, &before), more));
    }
    gpuc_te_scan(ctx, "S", 2, init, update, state, &args[1]);
    float in[5] = {1, 2, 3, 4, 5}, out[2][5], want[2][5] = {{1, 3, 6, 10, 15}, {0, 1, 3, 6, 10}};
    run(ctx, 3, args, (gpuc_tir_arg[]){{in, sizeof in}, {out[0], sizeof out[0]}, {out[1], sizeof out[1]}});
    assert_memory_equal(out, want, sizeof want);
}

/* arg: which mistake */
static void wrong_scan(gpuc_ctx *ctx, void *arg)
{
    int wrong = *(const int *)arg;
    gpuc_expr n = num(ctx, 5), one = num(ctx, 1);
    gpuc_tensor *init = gpuc_te_placeholder(ctx, "I", 1, &one, wrong == 0 ? GPUC_INT32 : GPUC_FLOAT32), *out;
    gpuc_tensor *state = gpuc_te_placeholder(ctx, "S", 1, &n, GPUC_FLOAT32);
    gpuc_iter *t = gpuc_te_axis_from(ctx, one, num(ctx, wrong == 1 ? 3 : 4), "t");
    gpuc_expr at = gpuc_sub(ctx, gpuc_iter_var(t), num(ctx, wrong == 2 ? 0 : 1));
    gpuc_tensor *update = gpuc_te_compute(ctx, "next", 1, &t, gpuc_te_read(ctx, state, 1, &at));
    gpuc_te_scan(ctx, "S", wrong == 3 ? 0 : 1, &init, &update, wrong == 4 ? &update : &state, &out);
}

/* Two states. arg: which mistake */
static void wrong_states(gpuc_ctx *ctx, void *arg)
{
    int wrong = *(const int *)arg;
    gpuc_expr n = num(ctx, 5), one = num(ctx, 1), zero = num(ctx, 0);
    gpuc_iter *t = gpuc_te_axis_from(ctx, one, num(ctx, 4), "t"), *o = gpuc_te_axis(ctx, one, "o");
    gpuc_tensor *init[2], *state[2], *update[2], *out[2];
    for (int k = 0; k < 2; k++) {
        gpuc_expr at = gpuc_sub(ctx, gpuc_iter_var(t), one);
        state[k] = gpuc_te_placeholder(ctx, "S", 1, &n, GPUC_FLOAT32);
        init[k] = gpuc_te_compute(ctx, "first", 1, &o,
                                  wrong == 1 ? gpuc_te_read(ctx, state[0], 1, &zero) : real(ctx, 0));
        update[k] = gpuc_te_compute(ctx, "next", 1, &t, gpuc_te_read(ctx, state[k], 1, &at));
    }
    if (wrong == 0) update[1] = update[0];
    if (wrong == 2) update[1] = NULL;
    if (wrong == 3) state[1] = NULL;
    gpuc_te_scan(ctx, "S", 2, init, update, state, out);
}

static void endless(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_te_axis_from(ctx, num(ctx, INT64_MAX), num(ctx, 5), "i");
}

/* ---- Reducers ----------------------------------------------------------------------------------------- */

typedef struct law {
    int which;
    const char *words;
} law;

/* The reducer number `which`, of one float32 or two. */
static void reducer(gpuc_ctx *ctx, void *arg)
{
    const law *w = arg;
    gpuc_expr l[2], r[2], zero = real(ctx, 0), lowest = gpuc_tir_min_value(ctx, GPUC_FLOAT32);
    for (int i = 0; i < 2; i++) {
        l[i] = gpuc_var(ctx, "l", GPUC_FLOAT32);
        r[i] = gpuc_var(ctx, "r", GPUC_FLOAT32);
    }
    gpuc_expr sum = gpuc_add(ctx, l[0], r[0]), top = gpuc_max(ctx, l[0], r[0]), more;
    more = gpuc_add(ctx, gpuc_mul(ctx, l[1], gpuc_call1(ctx, "exp", gpuc_sub(ctx, l[0], top))),
                    gpuc_mul(ctx, r[1], gpuc_call1(ctx, "exp", gpuc_sub(ctx, r[0], top))));
    const gpuc_expr one[] = {gpuc_sub(ctx, l[0], r[0]), gpuc_mul(ctx, sum, real(ctx, 0.5)), sum,
                             gpuc_add(ctx, sum, gpuc_var(ctx, "n", GPUC_FLOAT32)),
                             gpuc_cast(ctx, GPUC_INT32, sum)};
    if (w->which < 5) {
        gpuc_expr identity = w->which == 2 ? real(ctx, 1) : zero;
        gpuc_te_comm_reducer(ctx, "mine", 1, l, r, &one[w->which], &identity);
    } else if (w->which == 5) {
        gpuc_te_comm_reducer(ctx, "mine", 2, l, r, (gpuc_expr[]){top, more}, (gpuc_expr[]){lowest, zero});
    } else {
        gpuc_te_comm_reducer(ctx, "mine", 1, l, l, &sum, &zero);
    }
}

static const law laws[] = {
    {0, "reducer 'mine': it is not commutative: value 0"},
    {1, "reducer 'mine': it is not associative"},
    {2, "reducer 'mine': the identity changes what it is joined with"},
    {3, "reducer 'mine': a result uses the variable 'n'"},
    {4, "reducer 'mine': result 0 is of type int32"},
    {5, "reducer 'mine': the identity joined with itself is another: value 1"},
    {6, "reducer 'mine': a variable is given twice"},
};

/* ---- Extern bodies ------------------------------------------------------------------------------------ */

static gpuc_stmt stores_input(gpuc_ctx *ctx, const gpuc_tir_buffer *const *in,
                              const gpuc_tir_buffer *const *out, void *arg)
{
    gpuc_expr zero = gpuc_int(ctx, 0);
    (void)arg;
    return gpuc_tir_store(ctx, in[0], 1, &zero, gpuc_tir_load(ctx, out[0], 1, &zero));
}

static gpuc_stmt uses_another(gpuc_ctx *ctx, const gpuc_tir_buffer *const *in,
                              const gpuc_tir_buffer *const *out, void *arg)
{
    gpuc_expr zero = gpuc_int(ctx, 0), n = gpuc_int(ctx, 1);
    const gpuc_tir_buffer *b = gpuc_tir_buffer_make(ctx, "other", GPUC_FLOAT32, 1, &n, GPUC_SCOPE_GLOBAL);
    (void)in;
    (void)arg;
    return gpuc_tir_store(ctx, out[0], 1, &zero, gpuc_tir_load(ctx, b, 1, &zero));
}

static gpuc_stmt goes_beyond(gpuc_ctx *ctx, const gpuc_tir_buffer *const *in,
                             const gpuc_tir_buffer *const *out, void *arg)
{
    gpuc_expr zero = gpuc_int(ctx, 0), at = gpuc_int(ctx, 9);
    (void)arg;
    return gpuc_tir_store(ctx, out[0], 1, &at, gpuc_tir_load(ctx, in[0], 1, &zero));
}

static gpuc_stmt loops_twice(gpuc_ctx *ctx, const gpuc_tir_buffer *const *in,
                             const gpuc_tir_buffer *const *out, void *arg)
{
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), zero = gpuc_int(ctx, 0), n = gpuc_var(ctx, "n", GPUC_INDEX);
    gpuc_stmt s = gpuc_tir_store(ctx, out[0], 1, &i, gpuc_tir_load(ctx, in[0], 1, &i));
    s = gpuc_tir_for_(ctx, i, zero, n, GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, s);
    if (*(const bool *)arg) s = gpuc_tir_for_(ctx, i, zero, n, GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, s);
    return s;
}

/* A body of one loop over a symbol; again: there is another around it, with the same variable. */
static void with_loops(gpuc_ctx *ctx, void *again)
{
    gpuc_expr n = num(ctx, 4);
    const gpuc_expr *shape = &n;
    gpuc_dtype t = GPUC_FLOAT32;
    int ndim = 1;
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, t), *out;
    gpuc_te_extern(ctx, "an E", 1, &a, 1, &ndim, &shape, &t, loops_twice, again, &out);
}

static gpuc_stmt allocates_output(gpuc_ctx *ctx, const gpuc_tir_buffer *const *in,
                                  const gpuc_tir_buffer *const *out, void *arg)
{
    gpuc_expr zero = gpuc_int(ctx, 0);
    (void)arg;
    return gpuc_tir_alloc(ctx, out[0],
                          gpuc_tir_store(ctx, out[0], 1, &zero, gpuc_tir_load(ctx, in[0], 1, &zero)));
}

static void with_body(gpuc_ctx *ctx, void *arg)
{
    gpuc_expr n = num(ctx, 4);
    const gpuc_expr *shape = &n;
    gpuc_dtype t = GPUC_FLOAT32;
    int ndim = 1;
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, t), *args[2] = {a};
    gpuc_te_extern(ctx, "E", 1, &a, 1, &ndim, &shape, &t, *(gpuc_te_extern_body *)arg, NULL, &args[1]);
    float in[4] = {0}, out[4];
    run(ctx, 2, args, (gpuc_tir_arg[]){{in, sizeof in}, {out, sizeof out}});
}

/* Arguments of a wrong type. arg: which mistake */
static void wrong_types(gpuc_ctx *ctx, void *arg)
{
    int wrong = *(const int *)arg;
    gpuc_expr lhs[2], rhs[2], sum[2], zero[2] = {real(ctx, 0), real(ctx, 0)}, parts[2], n = num(ctx, 4);
    for (int i = 0; i < 2; i++) {
        lhs[i] = gpuc_var(ctx, "a", GPUC_FLOAT32);
        rhs[i] = gpuc_var(ctx, "b", GPUC_FLOAT32);
        sum[i] = gpuc_add(ctx, lhs[i], rhs[i]);
    }
    const gpuc_tir_reducer *two = gpuc_te_comm_reducer(ctx, "two", 2, lhs, rhs, sum, zero);
    gpuc_iter *k = gpuc_te_reduce_axis(ctx, n, "k");
    gpuc_expr values[] = {real(ctx, 1), wrong == 0 ? num(ctx, 1) : wrong == 1 ? NULL : real(ctx, 1)};
    if (wrong < 3) gpuc_te_reduce_n(ctx, two, values, 1, &k, wrong == 2 ? n : NULL, parts);
    const gpuc_expr *shape = &n, *shapes[] = {shape, wrong == 3 ? NULL : shape};
    const gpuc_dtype vector = {GPUC_DTYPE_FLOAT, 32, 4},
                     types[] = {GPUC_FLOAT32, wrong == 4 ? vector : GPUC_FLOAT32};
    gpuc_tensor *in = NULL, *out[2];
    if (wrong < 6)
        gpuc_te_extern(ctx, "E", wrong == 5, &in, 2, (int[]){1, 1}, shapes, types, uses_another, NULL, out);
    gpuc_te_const(ctx, vector, 1);
}

/* ---- Tests -------------------------------------------------------------------------------------------- */

static void test_starts(void **state)
{
    (void)state;
    protected_ok(starts, NULL);
    protected_error("reads 'A' out of bounds: index 0 is i + 1, which goes to 5", beyond_start, NULL);
    protected_error("'i': it runs from 9223372036854775807 on, and its 5 iterations pass 2^63", endless,
                    NULL);
}

static void test_strides(void **state)
{
    (void)state;
    protected_ok(strides, NULL);
    protected_error("placeholder 'A': its elements are numbers 3 to 7 of an array of 7", strides_beyond,
                    &(int){2});
    protected_error("placeholder 'A': its elements are numbers -1 to 3 of an array of 7", strides_beyond,
                    &(int){-2});
}

static void test_scans(void **state)
{
    (void)state;
    static const char *const words[] = {"scan 'S': init 0 is of type int32, the state of float32",
                                        "scan 'S': update 0 has the extent 3 in dimension 0; wanted is 4",
                                        "scan 'S': 'next' reads 'S' at row t + 1", "scan 'S' has no states",
                                        "scan 'S': "};
    protected_ok(sums, NULL);
    for (int i = 0; i < 5; i++) protected_error(words[i], wrong_scan, &i);
    static const char *const of_states[] = {
        "scan 'S': 'next' is update 0 and 1", "scan 'S': init 0, 'first', is computed from the state 'S'",
        "scan 'S': update 1: the tensor is NULL", "scan 'S': state 1: the tensor is NULL"};
    for (int i = 0; i < 4; i++) protected_error(of_states[i], wrong_states, &i);
}

static void test_reducers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof laws / sizeof laws[0]; i++)
        protected_error(laws[i].words, reducer, (void *)(uintptr_t)&laws[i]);
    static const char *const words[] = {"reduction 'two': the value 1 is of type int64; wanted is float32",
                                        "reduction 'two': the value 1 is NULL",
                                        "reduction 'two': the condition is of type int64; wanted is bool",
                                        "extern 'E': output 1: the shape is NULL",
                                        "extern 'E': output 1 is of type float32x4",
                                        "extern 'E': input 0: the tensor is NULL",
                                        "a constant is of type float32x4"};
    for (int i = 0; i < 7; i++) protected_error(words[i], wrong_types, &i);
}

static void test_bodies(void **state)
{
    (void)state;
    protected_error("extern 'E': its body stores to the input 'A'", with_body,
                    &(gpuc_te_extern_body){stores_input});
    protected_error("extern 'E': its body uses the buffer 'other'", with_body,
                    &(gpuc_te_extern_body){uses_another});
    protected_error("extern 'E': the body is NULL", with_body, &(gpuc_te_extern_body){NULL});
    protected_error("extern 'E': its body allocates 'E'", with_body,
                    &(gpuc_te_extern_body){allocates_output});
    protected_ok(with_loops, &(bool){false});
    protected_error("the loop IR of 'an E' is not valid (1 complaint", with_loops, &(bool){true});
    protected_error("index 0 of 'E' is 9", with_body, &(gpuc_te_extern_body){goes_beyond});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts),   cmocka_unit_test(test_strides), cmocka_unit_test(test_scans),
        cmocka_unit_test(test_reducers), cmocka_unit_test(test_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
