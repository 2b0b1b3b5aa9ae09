/* SPDX-License-Identifier: Apache-2.0 */
/* What a run takes: time (printed), memory, failures of the allocator. */
#include "eval_test.h"

#include <time.h>

#include "base/ctx.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *buffer_of(size_t bytes)
{
    void *p = malloc(bytes);
    assert_non_null(p);
    memset(p, 1, bytes);
    return p;
}

/* The best of three, in ns per element. */
static void measure(gpuc_ctx *c, const char *name, gpuc_stmt body, int n, gpuc_tir_buffer *const *buffers,
                    void *const *data, int64_t elements)
{
    double best[2] = {1e9, 1e9};
    for (int round = 0; round < 6; round++) {
        gpuc_tir_func f = {0};
        double start = now();
        assert_null(run_with(c, &f, body, n, buffers, data, round % 2));
        double t = now() - start;
        if (t < best[round % 2]) best[round % 2] = t;
    }
    print_message("%-28s %7.2f ns an element, checked %7.2f\n", name, best[0] / (double)elements * 1e9,
                  best[1] / (double)elements * 1e9);
}

/* The weight generator of the model zoo, and what folding does with it. */
static void speed(gpuc_ctx *c, void *arg)
{
    (void)arg;
    enum { N = 1 << 20, ROWS = 512, COLS = N / ROWS };
    gpuc_tir_buffer *u = buffer1(c, "U", GPUC_INT64, N, 0), *v = buffer1(c, "V", GPUC_INT64, N, 0),
                    *w = buffer1(c, "W", GPUC_FLOAT32, N, 0);
    void *data[] = {buffer_of(N * 8), buffer_of(N * 8), buffer_of(N * 4)};
    gpuc_tir_buffer *buffers[] = {u, v, w};
    gpuc_expr i = gpuc_var(c, "i", GPUC_INDEX), x = gpuc_tir_load1(c, u, i), y = gpuc_tir_load1(c, v, i);
    gpuc_expr hash =
        gpuc_mod(c, gpuc_add(c, gpuc_mul(c, i, I(c, 1103515245)), I(c, 12345)), I(c, 2147483647));
    measure(c, "(i * a + s) % m", loop(c, i, N, gpuc_tir_store1(c, u, i, hash)), 3, buffers, data, N);
    measure(c, "u * u % p",
            loop(c, i, N, gpuc_tir_store1(c, v, i, gpuc_mod(c, gpuc_mul(c, x, x), I(c, 16777213)))), 3,
            buffers, data, N);
    gpuc_expr scaled = gpuc_mul(c, gpuc_cast(c, GPUC_FLOAT32, gpuc_sub(c, y, I(c, 8388606))),
                                gpuc_imm(c, GPUC_FLOAT32, 1e-7));
    measure(c, "float(v - c) * s", loop(c, i, N, gpuc_tir_store1(c, w, i, scaled)), 3, buffers, data, N);
    for (int64_t k = 0; k < N; k += 997) {
        int64_t a = (k * 1103515245 + 12345) % 2147483647, b = a * a % 16777213;
        assert_int_equal(((int64_t *)data[0])[k], a);
        assert_int_equal(((int64_t *)data[1])[k], b);
        assert_true(((float *)data[2])[k] == (float)(b - 8388606) * 1e-7f);
    }
    for (int form = 0; form < 3; form++) {
        int64_t rows = form == 0 ? ROWS : form == 1 ? 1 : N / 16, cols = N / rows;
        gpuc_expr shape[] = {I(c, rows), I(c, cols)}, r = gpuc_var(c, "r", GPUC_INDEX), at[] = {i, r};
        gpuc_tir_buffer *m = gpuc_tir_buffer_make(c, "M", GPUC_INT64, 2, shape, 0),
                        *s = buffer1(c, "S", GPUC_INT64, rows, 0);
        gpuc_stmt sum =
            gpuc_tir_store1(c, s, i, gpuc_add(c, gpuc_tir_load1(c, s, i), gpuc_tir_load(c, m, 2, at)));
        gpuc_stmt body =
            loop(c, i, rows, gpuc_tir_seq2(c, gpuc_tir_store1(c, s, i, I(c, 0)), loop(c, r, cols, sum)));
        measure(c,
                form == 0   ? "sum of rows"
                : form == 1 ? "sum of one row"
                            : "sum of short rows",
                body, 2, (gpuc_tir_buffer *[]){m, s}, (void *[]){data[0], data[1]}, N);
        int64_t expected = 0;
        for (int64_t k = 0; k < cols; k++) expected += ((int64_t *)data[0])[k];
        assert_int_equal(((int64_t *)data[1])[0], expected);
    }
    gpuc_expr shape[] = {I(c, 64), I(c, N / 64 / 16), I(c, 4), I(c, 4)}, index[4];
    for (int d = 0; d < 4; d++) index[d] = gpuc_var(c, "d", GPUC_INDEX);
    gpuc_tir_buffer *k4 = gpuc_tir_buffer_make(c, "K", GPUC_FLOAT32, 4, shape, 0),
                    *s = buffer1(c, "S", GPUC_FLOAT32, 64, 0);
    gpuc_stmt scale = gpuc_tir_store(
        c, k4, 4, index, gpuc_mul(c, gpuc_tir_load(c, k4, 4, index), gpuc_tir_load1(c, s, index[0])));
    for (int d = 3; d >= 0; d--)
        scale = gpuc_tir_for_(c, index[d], I(c, 0), shape[d], GPUC_LOOP_SERIAL, 0, scale);
    float ones[64];
    for (int d = 0; d < 64; d++) ones[d] = 1;
    measure(c, "kernel[o,i,y,x] * s[o]", scale, 2, (gpuc_tir_buffer *[]){k4, s}, (void *[]){data[2], ones},
            N);
    for (int d = 0; d < 3; d++) free(data[d]);
}

/* Each difference is of the two before it, so that the 60th has 10^12 terms when all are opened: they are not. Six make
 * a period. */
static void shared_differences(gpuc_ctx *c, void *arg)
{
    (void)arg;
    int64_t a[16] = {0};
    gpuc_tir_buffer *b = buffer1(c, "A", GPUC_INT64, 16, 0);
    gpuc_expr i = gpuc_var(c, "i", GPUC_INT64), j = gpuc_var(c, "j", GPUC_INT64), x = i, y = j;
    for (int k = 0; k < 60; k++) {
        gpuc_expr difference = gpuc_sub(c, x, y);
        y = x;
        x = difference;
    }
    gpuc_expr zero = gpuc_imm_int(c, GPUC_INT64, 0);
    gpuc_stmt body = gpuc_tir_store1(c, b, x, gpuc_add(c, gpuc_tir_load1(c, b, x), i));
    body =
        gpuc_tir_for_(c, i, zero, gpuc_imm_int(c, GPUC_INT64, 16), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, body);
    body =
        gpuc_tir_for_(c, j, zero, gpuc_imm_int(c, GPUC_INT64, 3), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, body);
    for (int check = 0; check < 2; check++) {
        gpuc_tir_func f = {0};
        assert_null(run_with(c, &f, body, 1, &b, (void *[]){a}, check));
    }
    for (int k = 0; k < 16; k++) assert_int_equal(a[k], 6 * k);
}

/* Thousands of small runs leave little in the context. */
static void memory(gpuc_ctx *c, void *arg)
{
    (void)arg;
    float a[16] = {0};
    gpuc_tir_buffer *b = buffer1(c, "A", GPUC_FLOAT32, 16, 0);
    gpuc_expr i = gpuc_var(c, "i", GPUC_INDEX);
    gpuc_stmt body =
        loop(c, i, 16,
             gpuc_tir_store1(c, b, i, gpuc_add(c, gpuc_tir_load1(c, b, i), gpuc_imm(c, GPUC_FLOAT32, 1))));
    gpuc_tir_func f = {0};
    assert_null(run_with(c, &f, body, 1, &b, (void *[]){a}, true));
    size_t before = c->arena.total;
    double start = now();
    for (int k = 0; k < 2000; k++) assert_null(run_with(c, &f, body, 1, &b, (void *[]){a}, true));
    print_message("a small run: %.1f us, arena grew by %zu bytes in 2000\n", (now() - start) / 2000 * 1e6,
                  c->arena.total - before);
    assert_true(c->arena.total - before < 200000);
    assert_true(a[3] == 2001);
}

typedef struct faulty {
    int left;
    long balance;
} faulty;

static void *faulty_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    faulty *f = user;
    if (new_size > old_size && f->left-- <= 0) return NULL;
    f->balance += (long)new_size - (long)old_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

static void small_program(gpuc_ctx *c, void *arg)
{
    (void)arg;
    int32_t a[40];
    gpuc_tir_buffer *b = buffer1(c, "B", GPUC_INT32, 40, 0),
                    *t = buffer1(c, "T", GPUC_INT32, 4000, GPUC_SCOPE_GLOBAL);
    gpuc_expr i = gpuc_var(c, "i", GPUC_INDEX), j = gpuc_var(c, "j", GPUC_INDEX);
    gpuc_stmt body = gpuc_tir_alloc(
        c, t,
        gpuc_tir_seq2(c, loop(c, i, 4000, gpuc_tir_store1(c, t, i, gpuc_imm_int(c, GPUC_INT32, 3))),
                      loop(c, j, 40, gpuc_tir_store1(c, b, j, gpuc_tir_load1(c, t, j)))));
    gpuc_tir_func f = {0};
    gpuc_status s = run_with(c, &f, body, 1, &b, (void *[]){a}, true);
    if (s) gpuc_ctx_raise_status(c, s);
    assert_int_equal(a[39], 3);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    for (int n = 0;; n++) {
        faulty f = {.left = n};
        gpuc_allocator a = {.resize = faulty_resize, .user = &f};
        gpuc_ctx *ctx;
        gpuc_status s = gpuc_ctx_create(&a, &ctx);
        if (!s) {
            s = gpuc_ctx_protect(ctx, small_program, NULL);
            gpuc_ctx_destroy(ctx);
        }
        assert_int_equal(f.balance, 0);
        if (!s) break;
        assert_int_equal(gpuc_status_code(s), GPUC_OUT_OF_MEMORY);
        gpuc_status_release(s);
        assert_true(n < 1000);
    }
}

static void bad_arguments(gpuc_ctx *c, void *arg)
{
    (void)arg;
    float a[16] = {0};
    gpuc_tir_buffer *b = buffer1(c, "A", GPUC_FLOAT32, 16, 0);
    gpuc_tir_func f = {.name = "f", .num_buffers = 1, .buffers = &b};
    gpuc_status s = gpuc_ev_run(c, &f, &(gpuc_tir_arg){a, 60}, NULL, false);
    assert_non_null(s);
    assert_non_null(strstr(gpuc_status_message(s), "the buffer 'A' needs 64 bytes and was given 60"));
    gpuc_status_release(s);
    /* symbolic sizes come from the scalars */
    gpuc_expr n = gpuc_var(c, "n", GPUC_INT32), wide = gpuc_cast(c, GPUC_INDEX, n),
              i = gpuc_var(c, "i", GPUC_INDEX);
    b = gpuc_tir_buffer_make(c, "A", GPUC_FLOAT32, 1, &wide, 0);
    gpuc_expr scale = gpuc_var(c, "scale", GPUC_FLOAT32), scalars[] = {n, scale};
    f = (gpuc_tir_func){.name = "f", .num_buffers = 1, .buffers = &b, .num_scalars = 2, .scalars = scalars};
    f.body = gpuc_tir_for_(c, i, I(c, 0), wide, GPUC_LOOP_SERIAL, 0, gpuc_tir_store1(c, b, i, scale));
    double value = 2.5;
    int64_t given[2] = {16};
    memcpy(&given[1], &value, 8);
    assert_null(gpuc_ev_run(c, &f, &(gpuc_tir_arg){a, 64}, given, true));
    assert_true(a[15] == 2.5f);
    given[0] = 17;
    s = gpuc_ev_run(c, &f, &(gpuc_tir_arg){a, 64}, given, true);
    assert_non_null(s);
    gpuc_status_release(s);
}

static void test_speed(void **state)
{
    (void)state;
    with_context(speed, NULL);
}
static void test_shared_differences(void **state)
{
    (void)state;
    with_context(shared_differences, NULL);
}

static void test_memory(void **state)
{
    (void)state;
    with_context(memory, NULL);
}
static void test_bad_arguments(void **state)
{
    (void)state;
    with_context(bad_arguments, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_speed), cmocka_unit_test(test_shared_differences),
        cmocka_unit_test(test_memory), cmocka_unit_test(test_allocation_failures),
        cmocka_unit_test(test_bad_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
