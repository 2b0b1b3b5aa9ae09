/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator and cast on every type, against the reference for single values. */
#include "eval_test.h"

#include <math.h>

#include "reference.h"

enum { N = 700 };

static const gpuc_dtype all_types[] = {
    GPUC_INT8,   GPUC_INT16,   GPUC_INT32,    GPUC_INT64,   GPUC_UINT8,   GPUC_UINT16, GPUC_UINT32,
    GPUC_UINT64, GPUC_FLOAT16, GPUC_BFLOAT16, GPUC_FLOAT32, GPUC_FLOAT64, GPUC_BOOL,
};
enum { NUM_TYPES = sizeof all_types / sizeof all_types[0] };

static uint64_t hash(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* All magnitudes, often special values. */
static void fill(gpuc_dtype t, void *data, uint64_t seed)
{
    static const double special[] = {0.0,    -0.0,    1,      -1,     0.5,     -2.5,     1.5,
                                     3.5,    65504,   65520,  1e-8,   6e-5,    1e30,     -1e30,
                                     0x1p63, -0x1p63, 0x1p64, 0x1p31, 1e300,   INFINITY, -INFINITY,
                                     NAN,    127.6,   255.5,  2048.5, 0x1p-149};
    for (int i = 0; i < N; i++) {
        uint64_t h = hash(seed * 1000003 + (uint64_t)i);
        gpuc_tir_value v = {0};
        if (gpuc_is_float(t)) {
            int exponent = (int)(h % 41) - 20;
            v.f = ldexp((double)(int64_t)(hash(h) >> 11) - 0x1p52, exponent - 50);
            if (h % 4 == 0) v.f = special[h / 4 % (sizeof special / sizeof special[0])];
            v.f = gpuc_tir_round(t, v.f);
        } else {
            v.i = (int64_t)(hash(h) >> (h % 64));
            if (h % 5 == 0) v.i = (int64_t)(h / 5 % 9) - 4;
            if (h % 5 == 1) v.i = (int64_t)((UINT64_C(1) << (t.bits - 1)) - 2 + h / 5 % 4);
            v.i = gpuc_tir_wrap(t, v.i);
        }
        ref_write(t, data, i, v);
    }
}

static bool same(gpuc_dtype t, gpuc_tir_value a, gpuc_tir_value b)
{
    if (!gpuc_is_float(t)) return a.i == b.i;
    if (isnan(a.f) || isnan(b.f)) return isnan(a.f) && isnan(b.f);
    return a.f == b.f && signbit(a.f) == signbit(b.f);
}

static bool takes(gpuc_tir_op op, gpuc_dtype t)
{
    int flags = gpuc_tir_ops[op].flags;
    return gpuc_is_float(t)  ? flags & GPUC_TIR_FLT
           : gpuc_is_bool(t) ? flags & GPUC_TIR_LOGIC
                             : flags & GPUC_TIR_INT;
}

/* which: 0 both operands vary, 1 the first is a constant, 2 the second is */
static void check_op(gpuc_ctx *c, gpuc_tir_op op, gpuc_dtype t, int which)
{
    static uint64_t a[N], b[N], out[N], cond[N];
    const gpuc_tir_op_info *info = &gpuc_tir_ops[op];
    gpuc_dtype result = info->result == GPUC_TIR_BOOL ? GPUC_BOOL : t;
    fill(t, a, (uint64_t)op * 7 + 1);
    fill(t, b, (uint64_t)op * 7 + 2);
    fill(GPUC_BOOL, cond, 3);
    gpuc_tir_buffer *buffers[] = {buffer1(c, "A", t, N, 0), buffer1(c, "B", t, N, 0),
                                  buffer1(c, "C", GPUC_BOOL, N, 0), buffer1(c, "O", result, N, 0)};
    gpuc_expr i = gpuc_var(c, "i", GPUC_INDEX), seven = I(c, 7);
    gpuc_expr x = gpuc_tir_load1(c, buffers[0], which == 1 ? seven : i);
    gpuc_expr y = gpuc_tir_load1(c, buffers[1], which == 2 ? seven : i);
    gpuc_expr e = info->result == GPUC_TIR_ARM ? gpuc_tir_make(c, op, gpuc_tir_load1(c, buffers[2], i), x, y)
                                               : gpuc_tir_make(c, op, x, info->arity > 1 ? y : NULL, NULL);
    gpuc_stmt body = loop(c, i, N, gpuc_tir_store1(c, buffers[3], i, e));
    gpuc_tir_func f = {0};
    gpuc_status s = run_with(c, &f, body, 4, buffers, (void *[]){a, b, cond, out}, which == 0);
    if (s) print_error("%s\n", gpuc_status_message(s));
    assert_null(s);
    for (int k = 0; k < N; k++) {
        gpuc_tir_value v[3], got = ref_read(result, out, k);
        int first = info->result == GPUC_TIR_ARM;
        if (first) v[0] = ref_read(GPUC_BOOL, cond, k);
        v[first] = ref_read(t, a, which == 1 ? 7 : k);
        v[first + 1] = ref_read(t, b, which == 2 ? 7 : k);
        gpuc_tir_value expected = gpuc_tir_apply(op, t, v);
        char name[24];
        if (!same(result, got, expected))
            fail_msg("%s of %s at %d: (%g %lld, %g %lld) gives %g %lld, not %g %lld", info->text,
                     gpuc_dtype_name(t, name), k, v[first].f, (long long)v[first].i, v[first + 1].f,
                     (long long)v[first + 1].i, got.f, (long long)got.i, expected.f, (long long)expected.i);
    }
}

static void ops_body(gpuc_ctx *c, void *arg)
{
    (void)arg;
    for (int op = 0; op < GPUC_TIR_OP_COUNT; op++)
        for (int t = 0; t < NUM_TYPES; t++)
            for (int which = 0; which < 3; which++)
                if (takes((gpuc_tir_op)op, all_types[t])) check_op(c, (gpuc_tir_op)op, all_types[t], which);
}

static void casts_body(gpuc_ctx *c, void *arg)
{
    static uint64_t a[N], out[N];
    (void)arg;
    for (int from = 0; from < NUM_TYPES; from++)
        for (int to = 0; to < NUM_TYPES; to++) {
            gpuc_dtype s = all_types[from], t = all_types[to];
            fill(s, a, (uint64_t)(from * 20 + to));
            gpuc_tir_buffer *buffers[] = {buffer1(c, "A", s, N, 0), buffer1(c, "O", t, N, 0)};
            gpuc_expr i = gpuc_var(c, "i", GPUC_INDEX);
            gpuc_stmt body =
                loop(c, i, N,
                     gpuc_tir_store1(c, buffers[1], i, gpuc_cast(c, t, gpuc_tir_load1(c, buffers[0], i))));
            gpuc_tir_func f = {0};
            assert_null(run_with(c, &f, body, 2, buffers, (void *[]){a, out}, false));
            for (int k = 0; k < N; k++) {
                gpuc_tir_value v = ref_read(s, a, k), got = ref_read(t, out, k),
                               expected = gpuc_tir_convert(t, s, v);
                char n1[24], n2[24];
                if (!same(t, got, expected))
                    fail_msg("%s to %s: %g %lld gives %g %lld, not %g %lld", gpuc_dtype_name(s, n1),
                             gpuc_dtype_name(t, n2), v.f, (long long)v.i, got.f, (long long)got.i, expected.f,
                             (long long)expected.i);
            }
        }
}

/* Every float16 to float32 and back. */
static void halves_body(gpuc_ctx *c, void *arg)
{
    static uint16_t bits[65536], back[65536];
    static float wide[65536];
    (void)arg;
    for (int t = 0; t < 2; t++) {
        gpuc_dtype half = t ? GPUC_BFLOAT16 : GPUC_FLOAT16;
        for (int k = 0; k < 65536; k++) bits[k] = (uint16_t)k;
        gpuc_tir_buffer *buffers[] = {buffer1(c, "A", half, 65536, 0),
                                      buffer1(c, "W", GPUC_FLOAT32, 65536, 0),
                                      buffer1(c, "B", half, 65536, 0)};
        gpuc_expr i = gpuc_var(c, "i", GPUC_INDEX);
        gpuc_expr w = gpuc_cast(c, GPUC_FLOAT32, gpuc_tir_load1(c, buffers[0], i));
        gpuc_stmt body = loop(c, i, 65536,
                              gpuc_tir_seq2(c, gpuc_tir_store1(c, buffers[1], i, w),
                                            gpuc_tir_store1(c, buffers[2], i, gpuc_cast(c, half, w))));
        gpuc_tir_func f = {0};
        assert_null(run_with(c, &f, body, 3, buffers, (void *[]){bits, wide, back}, false));
        for (int k = 0; k < 65536; k++) {
            double expected = ref_read(half, bits, k).f;
            if (isnan(expected)) {
                assert_true(isnan(wide[k]));
            } else {
                assert_true((double)wide[k] == expected);
                assert_int_equal(back[k], bits[k]);
            }
        }
    }
}

/* Bits from one type to another of the same width. */
static void reinterpret_body(gpuc_ctx *c, void *arg)
{
    static uint64_t a[N], out[N];
    (void)arg;
    for (int from = 0; from < NUM_TYPES; from++)
        for (int to = 0; to < NUM_TYPES; to++) {
            gpuc_dtype s = all_types[from], t = all_types[to];
            if (s.bits != t.bits || gpuc_is_bool(s) || gpuc_is_bool(t)) continue;
            fill(s, a, 5);
            gpuc_tir_buffer *buffers[] = {buffer1(c, "A", s, N, 0), buffer1(c, "O", t, N, 0)};
            gpuc_expr i = gpuc_var(c, "i", GPUC_INDEX), x = gpuc_tir_load1(c, buffers[0], i);
            gpuc_expr e = gpuc_tir_call(c, t, GPUC_TIR_CALL_REINTERPRET, NULL, NULL, 1, &x);
            gpuc_tir_func f = {0};
            assert_null(run_with(c, &f, loop(c, i, N, gpuc_tir_store1(c, buffers[1], i, e)), 2, buffers,
                                 (void *[]){a, out}, true));
            for (int k = 0; k < N; k++)
                assert_true(same(t, ref_read(t, out, k), gpuc_tir_reinterpret(t, s, ref_read(s, a, k))));
        }
}

/* Vector expressions against scalars, lane by lane. */
static void vectors_body(gpuc_ctx *c, void *arg)
{
    static int32_t a[400], b[400], out[400];
    (void)arg;
    for (int k = 0; k < 400; k++) {
        a[k] = k * 7 % 31;
        b[k] = k * 5 % 17 + 1;
    }
    gpuc_tir_buffer *buffers[] = {buffer1(c, "A", GPUC_INT32, 400, 0), buffer1(c, "B", GPUC_INT32, 400, 0),
                                  buffer1(c, "O", GPUC_INT32, 400, 0)};
    gpuc_expr i = gpuc_var(c, "i", GPUC_INDEX), one = I(c, 1), three = I(c, 3);
    gpuc_expr at = gpuc_tir_ramp(c, gpuc_mul(c, i, I(c, 4)), one, 4);
    gpuc_expr back = gpuc_tir_ramp(c, gpuc_add(c, gpuc_mul(c, i, I(c, 4)), three), I(c, -1), 4);
    gpuc_expr x = gpuc_tir_load1(c, buffers[0], at), y = gpuc_tir_load1(c, buffers[1], back);
    gpuc_expr s = gpuc_tir_broadcast(c, gpuc_tir_load1(c, buffers[1], i), 4);
    gpuc_expr parts[4];
    for (int k = 0; k < 4; k++)
        parts[k] = gpuc_add(c, gpuc_tir_lane(c, x, 3 - k), gpuc_imm_int(c, GPUC_INT32, k));
    gpuc_expr v = gpuc_tir_vector(c, 4, parts);
    gpuc_expr e = gpuc_select(c, gpuc_lt(c, x, y), gpuc_mul(c, v, s), gpuc_sub(c, y, v));
    for (int check = 0; check < 2; check++) {
        gpuc_tir_func f = {0};
        memset(out, 0, sizeof out);
        assert_null(run_with(c, &f, loop(c, i, 100, gpuc_tir_store1(c, buffers[2], at, e)), 3, buffers,
                             (void *[]){a, b, out}, check));
        for (int k = 0; k < 400; k++) {
            int n = k / 4, l = k % 4, vx = a[k], vy = b[n * 4 + 3 - l], vv = a[n * 4 + 3 - l] + l;
            assert_int_equal(out[k], vx < vy ? vv * b[n] : vy - vv);
        }
    }
}

/* The arm that is not taken would be out of range. */
static void lazy_vectors_body(gpuc_ctx *c, void *arg)
{
    static int32_t a[40], out[64];
    (void)arg;
    for (int k = 0; k < 40; k++) a[k] = k * 3;
    gpuc_tir_buffer *buffers[] = {buffer1(c, "A", GPUC_INT32, 40, 0), buffer1(c, "O", GPUC_INT32, 64, 0)};
    gpuc_expr i = gpuc_var(c, "i", GPUC_INDEX), at = gpuc_tir_ramp(c, gpuc_mul(c, i, I(c, 4)), I(c, 1), 4);
    gpuc_expr cond = gpuc_tir_broadcast(c, gpuc_lt(c, i, I(c, 10)), 4);
    gpuc_expr none = gpuc_tir_broadcast(c, gpuc_imm_int(c, GPUC_INT32, -1), 4);
    gpuc_expr e = gpuc_if_then_else(c, cond, gpuc_tir_load1(c, buffers[0], at), none);
    for (int check = 0; check < 2; check++) {
        gpuc_tir_func f = {0};
        assert_null(run_with(c, &f, loop(c, i, 16, gpuc_tir_store1(c, buffers[1], at, e)), 2, buffers,
                             (void *[]){a, out}, check));
        for (int k = 0; k < 64; k++) assert_int_equal(out[k], k < 40 ? a[k] : -1);
    }
}

/* Vectors that leave a dimension, though not the buffer: at its end, and at its beginning. */
static void wide_vectors_body(gpuc_ctx *c, void *arg)
{
    static float out[36];
    (void)arg;
    gpuc_expr shape[] = {I(c, 3), I(c, 12)};
    gpuc_tir_buffer *b = gpuc_tir_buffer_make(c, "O", GPUC_FLOAT32, 2, shape, 0);
    gpuc_expr value = gpuc_tir_broadcast(c, gpuc_imm(c, GPUC_FLOAT32, 1), 4),
              row = gpuc_tir_broadcast(c, I(c, 1), 4);
    static const int start[] = {0, 3, 9, 2}, step[] = {1, -1, 1, -1};
    for (int k = 0; k < 4; k++) {
        gpuc_tir_func f = {0};
        gpuc_expr index[] = {row, gpuc_tir_ramp(c, I(c, start[k]), I(c, step[k]), 4)};
        gpuc_status status = run_with(c, &f, gpuc_tir_store(c, b, 2, index, value), 1,
                                      (gpuc_tir_buffer *[]){b}, (void *[]){out}, true);
        if (k < 2)
            assert_null(status);
        else
            expect_failure(status, "'O'", k == 2 ? "12" : "-1");
    }
}

static void test_ops(void **state)
{
    (void)state;
    with_context(ops_body, NULL);
}
static void test_casts(void **state)
{
    (void)state;
    with_context(casts_body, NULL);
}
static void test_halves(void **state)
{
    (void)state;
    with_context(halves_body, NULL);
}
static void test_reinterpret(void **state)
{
    (void)state;
    with_context(reinterpret_body, NULL);
}
static void test_wide_vectors(void **state)
{
    (void)state;
    with_context(wide_vectors_body, NULL);
}
static void test_lazy_vectors(void **state)
{
    (void)state;
    with_context(lazy_vectors_body, NULL);
}
static void test_vectors(void **state)
{
    (void)state;
    with_context(vectors_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ops),          cmocka_unit_test(test_casts),
        cmocka_unit_test(test_halves),       cmocka_unit_test(test_reinterpret),
        cmocka_unit_test(test_vectors),      cmocka_unit_test(test_lazy_vectors),
        cmocka_unit_test(test_wide_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
