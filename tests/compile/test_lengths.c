/* SPDX-License-Identifier: Apache-2.0 */
/* Scans, sorts and what is made of them: one package for rows of every length. */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Around the tiles, chunks and levels that rows are cut into. */
static const int64_t lengths[] = {7, 0, 1, 16, 17, 64, 127, 128, 129, 1031, 20011, 2, 131101, 5};
enum { LENGTHS = sizeof lengths / sizeof lengths[0], MAX = 131101 };

static void ok(gpuc_status status)
{
    if (status) fail_msg("%s", gpuc_status_message(status));
}

static gpuc_rexpr *input(gpuc_ctx *ctx, const char *name, gpuc_dtype t, int ndim, const gpuc_expr *dims)
{
    return gpuc_relay_var(ctx, name, gpuc_relay_rtype_tensor(ctx, t, ndim, dims));
}

static gpuc_expr size(gpuc_ctx *ctx, const char *name)
{
    return gpuc_var(ctx, name, GPUC_INDEX);
}

/* Small integers, many of them equal. */
static float *numbers(int64_t n)
{
    float *v = calloc((size_t)n + 1, sizeof *v);
    uint32_t state = 7;
    for (int64_t i = 0; i < n; i++) v[i] = (float)((state = state * 1664525 + 1013904223) >> 27) - 12;
    return v;
}

static const void *output(int number, int ndim, const int64_t *dims)
{
    int have_ndim;
    const int64_t *have;
    const void *bytes = run_output(number, &have_ndim, &have);
    assert_int_equal(have_ndim, ndim);
    for (int d = 0; d < ndim; d++) assert_int_equal(have[d], dims[d]);
    return bytes;
}

static void build(gpuc_ctx *ctx, int num_outputs, gpuc_rexpr *const *outputs, int n,
                  gpuc_rexpr *const *params, const gpuc_ptrs *reads)
{
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    gpuc_rmodule_set_main(m, n, params, num_outputs, outputs, reads);
    ok(run_build(ctx, m));
}

/* ---- Running sums ---- */

/* Along the last axis, and from the end, without the element itself, along the first. */
static void running_sums(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[] = {size(ctx, "n"), size(ctx, "m")};
    gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 2, dims);
    gpuc_rexpr *outs[] = {fx_op1(ctx, "cumsum", "axis=1", x),
                          fx_op1(ctx, "cumsum", "axis=0 exclusive=1 reverse=1", x)};
    build(ctx, 2, outs, 1, &x, NULL);
    float *v = numbers(3 * MAX);
    for (int i = 0; i < 2 * LENGTHS; i++) {
        int64_t shape[] = {3, 3};
        shape[i & 1] = lengths[i / 2];
        int64_t n = shape[0], m = shape[1];
        const run_array in = {GPUC_FLOAT32, 2, {n, m}, v};
        ok(run_session(1, &in));
        const float *y = output(0, 2, shape);
        for (int64_t r = 0; r < n; r++) {
            double sum = 0;
            for (int64_t c = 0; c < m; c++) {
                sum += (double)v[r * m + c];
                if ((double)y[r * m + c] != sum)
                    fail_msg("[%lld, %lld]: element %lld, %lld is %g, not %g", (long long)n, (long long)m,
                             (long long)r, (long long)c, (double)y[r * m + c], sum);
            }
        }
        y = output(1, 2, shape);
        for (int64_t c = 0; c < m; c++) {
            double sum = 0;
            for (int64_t r = n - 1; r >= 0; r--) {
                assert_true((double)y[r * m + c] == sum);
                sum += (double)v[r * m + c];
            }
        }
    }
    free(v);
}

/* ---- Attention ---- */

/* One row of softmax(q k^T / 2 + bias) v; 4 columns of queries and keys, 3 of values. */
static void attend_row(const float *q, int64_t keys, const float *k, const float *v, const float *bias,
                       double *out)
{
    double total = 0, max = -INFINITY;
    for (int64_t pass = 0; pass < 2; pass++) {
        if (pass) out[0] = out[1] = out[2] = 0;
        for (int64_t j = 0; j < keys; j++) {
            double score = (double)bias[j];
            for (int d = 0; d < 4; d++) score += (double)q[d] * (double)k[4 * j + d] / 2;
            if (!pass) {
                if (score > max) max = score;
                continue;
            }
            double weight = exp(score - max);
            total += weight;
            for (int d = 0; d < 3; d++) out[d] += weight * (double)v[3 * j + d];
        }
    }
    for (int d = 0; d < 3 && keys; d++) out[d] /= total;
}

/* As models spell it: one kernel or several, for all numbers of queries and keys. */
static void attention(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    enum { LONGEST = 1031 };
    gpuc_expr n = size(ctx, "n"), m = size(ctx, "m"), q[] = {n, gpuc_int(ctx, 4)},
              k[] = {m, gpuc_int(ctx, 4)}, v[] = {m, gpuc_int(ctx, 3)};
    gpuc_rexpr *in[] = {input(ctx, "q", GPUC_FLOAT32, 2, q), input(ctx, "k", GPUC_FLOAT32, 2, k),
                        input(ctx, "v", GPUC_FLOAT32, 2, v), input(ctx, "bias", GPUC_FLOAT32, 1, &m)};
    gpuc_rexpr *scores = fx_op(ctx, "nn.matmul", "transpose_b=1", 2, in);
    scores = fx_op2(ctx, "divide", scores, gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 2));
    scores = fx_op2(ctx, "add", scores, in[3]);
    gpuc_rexpr *out = fx_op2(ctx, "nn.matmul", fx_op1(ctx, "nn.softmax", "axis=-1", scores), in[2]);
    build(ctx, 1, &out, 4, in, NULL);
    float *x = numbers(4 * LONGEST);
    for (int i = 0; i < 2 * LENGTHS; i++) {
        int64_t queries = i & 1 ? lengths[i / 2] : 19, keys = i & 1 ? 19 : lengths[i / 2];
        if (queries > LONGEST || keys > LONGEST) continue;
        const run_array a[] = {{GPUC_FLOAT32, 2, {queries, 4}, x},
                               {GPUC_FLOAT32, 2, {keys, 4}, x},
                               {GPUC_FLOAT32, 2, {keys, 3}, x},
                               {GPUC_FLOAT32, 1, {keys}, x}};
        ok(run_session(4, a));
        const float *y = output(0, 2, (int64_t[]){queries, 3});
        for (int64_t r = 0; r < queries; r++) {
            double want[3];
            attend_row(x + 4 * r, keys, x, x, x, want);
            for (int d = 0; d < 3; d++)
                if (!(fabs((double)y[3 * r + d] - want[d]) <= 1e-3))
                    fail_msg("%lld queries, %lld keys: %lld, %d is %g, not %g", (long long)queries,
                             (long long)keys, (long long)r, d, (double)y[3 * r + d], want[d]);
        }
    }
    free(x);
}

/* ---- What a condition holds for ---- */

/* Indices of what is not zero, cut to their number. */
static void indices_of_non_zero(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[] = {size(ctx, "n"), gpuc_int(ctx, 3)}, max = gpuc_mul(ctx, dims[0], dims[1]);
    gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 2, dims), *found = fx_op1(ctx, "argwhere", NULL, x);
    gpuc_ptrs reads = {0};
    gpuc_expr count = gpuc_relay_read_size(ctx, &reads, "found", gpuc_relay_get(ctx, found, 1), max);
    gpuc_rexpr *out = gpuc_relay_truncate(ctx, gpuc_relay_get(ctx, found, 0), 0, count);
    build(ctx, 1, &out, 1, &x, &reads);
    float *v = numbers(3 * MAX);
    for (int i = 0; i < LENGTHS; i++) {
        const run_array in = {GPUC_FLOAT32, 2, {lengths[i], 3}, v};
        int64_t want[] = {0, 2}, at = 0;
        for (int64_t k = 0; k < 3 * lengths[i]; k++) want[0] += v[k] != 0;
        ok(run_session(1, &in));
        const int64_t *y = output(0, 2, want);
        for (int64_t k = 0; k < 3 * lengths[i]; k++) {
            if (v[k] == 0) continue;
            assert_true(y[2 * at] == k / 3 && y[2 * at + 1] == k % 3);
            at++;
        }
    }
    free(v);
}

/* Columns, as many at most as there are conditions. */
static void columns_by_condition(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[] = {gpuc_int(ctx, 2), size(ctx, "n")}, given = size(ctx, "c");
    gpuc_rexpr *in[] = {input(ctx, "x", GPUC_FLOAT32, 2, dims), input(ctx, "c", GPUC_BOOL, 1, &given)};
    gpuc_rexpr *found = fx_op(ctx, "compress", "axis=1", 2, in);
    gpuc_ptrs reads = {0};
    gpuc_rexpr *all = gpuc_relay_get(ctx, found, 0);
    gpuc_expr count = gpuc_relay_read_size(ctx, &reads, "found", gpuc_relay_get(ctx, found, 1),
                                           gpuc_relay_tensor_type(all)->dims[1]);
    gpuc_rexpr *out = gpuc_relay_truncate(ctx, all, 1, count);
    build(ctx, 1, &out, 2, in, &reads);
    float *v = numbers(2 * MAX);
    uint8_t *c = calloc(MAX + 3, 1);
    for (int64_t k = 0; k < MAX + 3; k++) c[k] = v[k] > 2;
    for (int i = 0; i < LENGTHS; i++)
        for (int64_t less = -2; less <= 2; less += 2) {
            int64_t n = lengths[i], conditions = n - less < 0 ? 0 : n - less,
                    max = n < conditions ? n : conditions;
            const run_array a[] = {{GPUC_FLOAT32, 2, {2, n}, v}, {GPUC_BOOL, 1, {conditions}, c}};
            int64_t want[] = {2, 0}, at = 0;
            for (int64_t k = 0; k < max; k++) want[1] += c[k];
            ok(run_session(2, a));
            const float *y = output(0, 2, want);
            for (int64_t k = 0; k < max; k++) {
                if (!c[k]) continue;
                assert_true(y[at] == v[k] && y[want[1] + at] == v[n + k]);
                at++;
            }
        }
    free(c);
    free(v);
}

/* ---- Orders ---- */

static const float *compared;

static int by_value(const void *a, const void *b)
{
    int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    if (compared[i] != compared[k]) return compared[i] < compared[k] ? -1 : 1;
    return i < k ? -1 : i > k;
}

static int by_value_descending(const void *a, const void *b)
{
    int64_t i = *(const int64_t *)a, k = *(const int64_t *)b;
    if (compared[i] != compared[k]) return compared[i] > compared[k] ? -1 : 1;
    return i < k ? -1 : i > k;
}

/* Positions of the n values at v in their order; to be freed. */
static int64_t *sorted(const float *v, int64_t n, int (*order)(const void *, const void *))
{
    int64_t *at = calloc((size_t)n + 1, sizeof *at);
    for (int64_t i = 0; i < n; i++) at[i] = i;
    compared = v;
    qsort(at, (size_t)n, sizeof *at, order);
    return at;
}

static void orders(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[] = {size(ctx, "rows"), size(ctx, "n")};
    gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 2, dims);
    gpuc_rexpr *outs[] = {fx_op1(ctx, "sort", "axis=1", x),
                          fx_op1(ctx, "argsort", "axis=1 is_ascend=0 dtype=int32", x)};
    build(ctx, 2, outs, 1, &x, NULL);
    float *v = numbers(2 * MAX);
    for (int i = 0; i < LENGTHS; i++) {
        int64_t rows = lengths[i] > 1000 ? 1 : 2, n = lengths[i], shape[] = {rows, n};
        const run_array in = {GPUC_FLOAT32, 2, {rows, n}, v};
        ok(run_session(1, &in));
        const float *y = output(0, 2, shape);
        for (int64_t r = 0; r < rows; r++) {
            int64_t *at = sorted(v + r * n, n, by_value);
            for (int64_t k = 0; k < n; k++) assert_true(y[r * n + k] == v[r * n + at[k]]);
            free(at);
        }
        const int32_t *positions = output(1, 2, shape);
        for (int64_t r = 0; r < rows; r++) {
            int64_t *at = sorted(v + r * n, n, by_value_descending);
            for (int64_t k = 0; k < n; k++) assert_true(positions[r * n + k] == at[k]);
            free(at);
        }
    }
    free(v);
}

/* The largest, as many as an input says, which are no more than there are. */
static void first_in_order(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr n = size(ctx, "n"), dims[] = {gpuc_int(ctx, 2), n};
    gpuc_rexpr *in[] = {input(ctx, "x", GPUC_FLOAT32, 2, dims), input(ctx, "k", GPUC_INT64, 0, NULL)};
    gpuc_ptrs reads = {0};
    gpuc_expr k = gpuc_relay_read_size(ctx, &reads, "k", in[1], n);
    const gpuc_attrs *a = gpuc_attrs_sizes(ctx, NULL, "k", 1, &k);
    gpuc_rexpr *both = gpuc_relay_op1(ctx, "topk", gpuc_attrs_dtype(ctx, a, "dtype", GPUC_INT64), in[0]);
    gpuc_rexpr *outs[] = {gpuc_relay_get(ctx, both, 0), gpuc_relay_get(ctx, both, 1)};
    build(ctx, 2, outs, 2, in, &reads);
    float *v = numbers(2 * MAX);
    for (int i = 0; i < LENGTHS; i++) {
        int64_t max = lengths[i];
        const int64_t wanted[] = {0, max < 5 ? max : 5, max / 2, max};
        for (int j = 0; j < 4; j++) {
            const run_array arrays[] = {{GPUC_FLOAT32, 2, {2, max}, v}, {GPUC_INT64, 0, {0}, &wanted[j]}};
            int64_t shape[] = {2, wanted[j]};
            ok(run_session(2, arrays));
            const float *y = output(0, 2, shape);
            for (int64_t r = 0; r < 2; r++) {
                int64_t *at = sorted(v + r * max, max, by_value_descending);
                for (int64_t e = 0; e < wanted[j]; e++)
                    assert_true(y[r * wanted[j] + e] == v[r * max + at[e]]);
                free(at);
            }
            const int64_t *positions = output(1, 2, shape);
            int64_t *at = sorted(v, max, by_value_descending);
            for (int64_t e = 0; e < wanted[j]; e++) assert_true(positions[e] == at[e]);
            free(at);
        }
    }
    const int64_t many = 6;
    const run_array wrong[] = {{GPUC_FLOAT32, 2, {2, 5}, v}, {GPUC_INT64, 0, {0}, &many}};
    fx_check_status(run_session(2, wrong), GPUC_INVALID_DATA, "k|beyond 0 to 5");
    free(v);
}

/* The different numbers, in the order in which they come. */
static void different_numbers(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    enum { VALUES, FIRST, GROUP, COUNTS, COUNT };
    gpuc_expr n = size(ctx, "n");
    gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 1, &n), *found = fx_op1(ctx, "unique", "sorted=0", x);
    gpuc_ptrs reads = {0};
    gpuc_expr count = gpuc_relay_read_size(ctx, &reads, "found", gpuc_relay_get(ctx, found, COUNT), n);
    gpuc_rexpr *outs[COUNT];
    for (int i = 0; i < COUNT; i++) {
        outs[i] = gpuc_relay_get(ctx, found, i);
        if (i != GROUP) outs[i] = gpuc_relay_truncate(ctx, outs[i], 0, count);
    }
    build(ctx, COUNT, outs, 1, &x, &reads);
    float *v = numbers(MAX);
    for (int i = 0; i < LENGTHS; i++) {
        const run_array in = {GPUC_FLOAT32, 1, {lengths[i]}, v};
        int64_t groups = 0, of[32], first[32], counts[32] = {0};
        memset(of, -1, sizeof of);
        for (int64_t k = 0; k < lengths[i]; k++) {
            int value = (int)v[k] + 12;
            if (of[value] < 0) first[of[value] = groups++] = k;
            counts[of[value]]++;
        }
        ok(run_session(1, &in));
        const float *values = output(VALUES, 1, &groups);
        for (int64_t g = 0; g < groups; g++) assert_true(values[g] == v[first[g]]);
        const int64_t *firsts = output(FIRST, 1, &groups);
        for (int64_t g = 0; g < groups; g++) assert_true(firsts[g] == first[g]);
        const int64_t *group = output(GROUP, 1, &lengths[i]);
        for (int64_t k = 0; k < lengths[i]; k++) assert_true(group[k] == of[(int)v[k] + 12]);
        const int64_t *sizes = output(COUNTS, 1, &groups);
        for (int64_t g = 0; g < groups; g++) assert_true(sizes[g] == counts[g]);
    }
    free(v);
}

/* ---- Updates, as many as are found ---- */

static gpuc_rexpr *scatter(gpuc_ctx *ctx, const char *op, const char *attrs, gpuc_rexpr *x, gpuc_rexpr *at,
                           gpuc_rexpr *updates)
{
    gpuc_rexpr *args[] = {x, at, updates};
    return fx_op(ctx, op, attrs, 3, args);
}

/* y[where x > 2] = 100 and x + 2 * (x there), by the indices of NonZero; the elements there. */
static void updates_where_found(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[] = {size(ctx, "n"), gpuc_int(ctx, 3)}, max = gpuc_mul(ctx, dims[0], dims[1]);
    gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 2, dims);
    gpuc_rexpr *big = fx_op2(ctx, "greater", x, gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 2));
    gpuc_rexpr *found = fx_op1(ctx, "argwhere", NULL, big);
    gpuc_ptrs reads = {0};
    gpuc_expr count = gpuc_relay_read_size(ctx, &reads, "found", gpuc_relay_get(ctx, found, 1), max);
    gpuc_rexpr *at = gpuc_relay_truncate(ctx, gpuc_relay_get(ctx, found, 0), 0, count);
    gpuc_rexpr *gather[] = {x, at}, *there = fx_op(ctx, "gather_nd", NULL, 2, gather);
    gpuc_rexpr *hundred = gpuc_relay_op1(ctx, "broadcast_to", gpuc_attrs_sizes(ctx, NULL, "shape", 1, &count),
                                         gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 100));
    gpuc_rexpr *twice = fx_op2(ctx, "add", there, there);
    gpuc_rexpr *outs[] = {there, scatter(ctx, "scatter_nd", NULL, x, at, hundred),
                          scatter(ctx, "scatter_nd", "reduction=\"add\"", x, at, twice)};
    build(ctx, 3, outs, 1, &x, &reads);
    float *v = numbers(3 * MAX);
    for (int i = 0; i < LENGTHS; i++) {
        int64_t n = 3 * lengths[i], want = 0, shape[] = {lengths[i], 3}, e = 0;
        for (int64_t k = 0; k < n; k++) want += v[k] > 2;
        const run_array in = {GPUC_FLOAT32, 2, {lengths[i], 3}, v};
        ok(run_session(1, &in));
        const float *y = output(0, 1, &want);
        for (int64_t k = 0; k < n; k++)
            if (v[k] > 2) assert_true(y[e++] == v[k]);
        y = output(1, 2, shape);
        for (int64_t k = 0; k < n; k++) assert_true(y[k] == (v[k] > 2 ? 100 : v[k]));
        y = output(2, 2, shape);
        for (int64_t k = 0; k < n; k++) assert_true(y[k] == (v[k] > 2 ? 3 * v[k] : v[k]));
    }
    free(v);
}

/* Any number of updates to any number of places, many to one. */
static void sums_by_place(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr n = size(ctx, "n"), m = size(ctx, "m");
    gpuc_rexpr *in[] = {input(ctx, "x", GPUC_FLOAT32, 1, &n), input(ctx, "at", GPUC_INT64, 1, &m),
                        input(ctx, "u", GPUC_FLOAT32, 1, &m)};
    gpuc_rexpr *outs[] = {scatter(ctx, "scatter_elements", "reduction=\"add\"", in[0], in[1], in[2]),
                          scatter(ctx, "scatter_elements", NULL, in[0], in[1], in[2])};
    build(ctx, 2, outs, 3, in, NULL);
    float *v = numbers(2 * MAX), *sums = calloc(MAX, sizeof *sums), *last = calloc(MAX, sizeof *last);
    int64_t *at = calloc(MAX, sizeof *at);
    for (int i = 0; i < LENGTHS; i++) {
        int64_t updates = lengths[i], places = lengths[(i * 5 + 3) % LENGTHS];
        for (int64_t k = 0; k < updates; k++) at[k] = places ? (k * 7919) % places - k % 2 * places : 3;
        if (updates > 100 && places > 1)
            for (int64_t k = 0; k < updates - 7; k++) at[k] = 1;
        if (updates) at[updates - 1] = places; /* beyond them */
        memcpy(sums, v, (size_t)places * sizeof *v);
        memcpy(last, v, (size_t)places * sizeof *v);
        for (int64_t k = 0; k + 1 < updates && places; k++) {
            int64_t p = at[k] < 0 ? at[k] + places : at[k];
            sums[p] += v[MAX + k];
            last[p] = v[MAX + k];
        }
        const run_array arrays[] = {{GPUC_FLOAT32, 1, {places}, v},
                                    {GPUC_INT64, 1, {updates}, at},
                                    {GPUC_FLOAT32, 1, {updates}, v + MAX}};
        ok(run_session(3, arrays));
        const float *y = output(0, 1, &places);
        for (int64_t k = 0; k < places; k++) assert_true(y[k] == sums[k]);
        y = output(1, 1, &places);
        for (int64_t k = 0; k < places; k++) assert_true(y[k] == last[k]);
    }
    free(at);
    free(last);
    free(sums);
    free(v);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        fx_test(running_sums),
        fx_test(attention),
        fx_test(indices_of_non_zero),
        fx_test(columns_by_condition),
        fx_test(orders),
        fx_test(first_in_order),
        fx_test(different_numbers),
        fx_test(updates_where_found),
        fx_test(sums_by_place),
    };
    if (!run_available(argc, argv)) return 77;
    if (argc > 2) cmocka_set_test_filter(argv[2]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failed;
}
