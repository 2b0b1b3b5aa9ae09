/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX nodes whose shapes depend on the values of inputs: right ones, and all kinds of wrong ones, after each
 * of which the session goes on with right ones. */
#include "../onnx/load.h"
#include "run.h"

#include <math.h>

enum { MAX_DIMS = 4 };

static void ok(gpuc_status status)
{
    if (status) fail_msg("%s", gpuc_status_message(status));
}

static gpuc_rmodule *load(gpuc_ctx *ctx, wr_model *m)
{
    gpuc_buf file;
    wr_end(m, &file);
    return wr_load_open(ctx, &file);
}

static void build(gpuc_ctx *ctx, wr_model *m)
{
    ok(run_build(ctx, load(ctx, m)));
}

static run_array list(int64_t n, const int64_t *v)
{
    return (run_array){GPUC_INT64, 1, {n}, v};
}

static run_array ramp(int ndim, const int64_t *dims)
{
    static float v[1000];
    run_array a = {GPUC_FLOAT32, ndim, {0}, v};
    for (int i = 0; i < 1000; i++) v[i] = (float)i;
    for (int d = 0; d < ndim; d++) a.dims[d] = dims[d];
    return a;
}

/* The extents of output i and its elements, which are positions in the input. */
static const void *output(int i, int ndim, const int64_t *want)
{
    int have;
    const int64_t *dims;
    const float *v = run_output(i, &have, &dims);
    assert_int_equal(have, ndim);
    for (int d = 0; d < ndim; d++)
        if (dims[d] != want[d])
            fail_msg("output %d, dimension %d is %lld, should be %lld", i, d, (long long)dims[d],
                     (long long)want[d]);
    return v;
}

typedef struct wrong {
    int64_t list[MAX_DIMS];
    gpuc_code code;
    const char *words;
} wrong;

/* ---- Reshape ---- */

typedef struct reshaped {
    int64_t list[3], dims[3];
} reshaped;

static void check_reshape(const run_array *x, const reshaped *r)
{
    const run_array in[] = {*x, list(3, r->list)};
    ok(run_session(2, in));
    const float *v = output(0, 3, r->dims);
    for (int64_t i = 0; i < r->dims[0] * r->dims[1] * r->dims[2]; i++) assert_true((int64_t)v[i] == i);
}

static void reshape(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const reshaped right[] = {
        {{4, 6, 1}, {4, 6, 1}},  {{-1, 6, 1}, {4, 6, 1}}, {{2, -1, 4}, {2, 3, 4}},  {{0, 0, -1}, {4, 6, 1}},
        {{0, -1, 3}, {4, 2, 3}}, {{1, 0, 4}, {1, 6, 4}},  {{24, 1, 1}, {24, 1, 1}}, {{1, 1, -1}, {1, 1, 24}}};
    static const wrong bad[] = {
        {{5, -1, 1}, GPUC_INVALID_ARGUMENT, "n_Reshape|reshape"},
        {{4, 5, 1}, GPUC_INVALID_ARGUMENT, "n_Reshape|reshape"},
        {{-1, -1, 1}, GPUC_INVALID_ARGUMENT, "n_Reshape|reshape"},
        {{4, 6, 0}, GPUC_INVALID_ARGUMENT, "n_Reshape|reshape"},
        {{-2, -12, 1}, GPUC_INVALID_DATA, "n_Reshape|computed as -2"},
        {{-2, -1, 1}, GPUC_INVALID_DATA, "n_Reshape|computed as -2"},
        {{INT64_MIN, 1, 1}, GPUC_INVALID_DATA, "n_Reshape|computed as -9223372036854775808"},
        {{INT64_MAX, 2, 2}, GPUC_INVALID_DATA, "n_Reshape|beyond 0 to"},
        {{INT64_C(1) << 31, INT64_C(1) << 31, INT64_C(1) << 31}, GPUC_INVALID_ARGUMENT, "n_Reshape"},
        {{1 << 30, 1 << 30, -1}, GPUC_INVALID_ARGUMENT, "n_Reshape"},
    };
    wr_model m;
    wr_begin(&m, 14);
    wr_input(&m, "x", 1, "4,6");
    wr_input(&m, "s", 7, "3");
    wr_output(&m, "y");
    wr_node(&m, "Reshape", "x,s", "y", NULL);
    build(ctx, &m);
    const run_array x = ramp(2, (const int64_t[]){4, 6});
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) check_reshape(&x, &right[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const run_array in[] = {x, list(3, bad[i].list)};
        fx_check_status(run_session(2, in), bad[i].code, bad[i].words);
        check_reshape(&x, &right[i % (sizeof right / sizeof right[0])]);
    }
}

/* 0 is 0; the input may have no elements. */
static void reshape_to_nothing(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const reshaped right[] = {{{0, 5, 7}, {0, 5, 7}}, {{3, 0, 1}, {3, 0, 1}}, {{-1, 4, 1}, {0, 4, 1}}};
    wr_model m;
    wr_begin(&m, 14);
    wr_input(&m, "x", 1, "N,6");
    wr_input(&m, "s", 7, "3");
    wr_output(&m, "y");
    wr_node(&m, "Reshape", "x,s", "y", "allowzero=1");
    build(ctx, &m);
    const run_array none = ramp(2, (const int64_t[]){0, 6}), some = ramp(2, (const int64_t[]){2, 6});
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) check_reshape(&none, &right[i]);
    const run_array in[] = {some, list(3, right[0].list)};
    fx_check_status(run_session(2, in), GPUC_INVALID_ARGUMENT, "n_Reshape|reshape");
    check_reshape(&some, &(const reshaped){{2, -1, 2}, {2, 3, 2}});
}

/* ---- Slice ---- */

static int64_t limited(int64_t v, int64_t lo, int64_t hi)
{
    return v > hi ? (hi < lo ? lo : hi) : v < lo ? lo : v;
}

static void check_slice(int64_t extent, int64_t start, int64_t end, int64_t step)
{
    int64_t from = start < 0 ? start + extent : start, to = end < 0 ? end + extent : end, dims[] = {0, 3};
    from = step > 0 ? limited(from, 0, extent) : limited(from, 0, extent - 1);
    to = step > 0 ? limited(to, 0, extent) : limited(to, -1, extent - 1);
    for (int64_t i = from; i < extent && (step > 0 ? i < to : i > to); i += step) dims[0]++;
    const run_array in[] = {ramp(2, (const int64_t[]){extent, 3}), list(1, &start), list(1, &end)};
    ok(run_session(3, in));
    const float *v = output(0, 2, dims);
    for (int64_t i = 0; i < dims[0] * 3; i++) assert_true((int64_t)v[i] == (from + i / 3 * step) * 3 + i % 3);
}

/* Every start and end is right. */
static void slice(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t steps[] = {1, 3, -1, -2}, extents[] = {7, 1, 0},
                         ends[] = {0, 1, 3, 6, 7, 8, -1, -4, -8, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN};
    enum { ENDS = sizeof ends / sizeof ends[0] };
    const int64_t axis = 0;
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        wr_model m;
        wr_begin(&m, 14);
        wr_input(&m, "x", 1, "N,3");
        wr_input(&m, "from", 7, "1");
        wr_input(&m, "to", 7, "1");
        wr_ints(&m, "axis", "1", &axis);
        wr_ints(&m, "step", "1", &steps[k]);
        wr_output(&m, "y");
        wr_node(&m, "Slice", "x,from,to,axis,step", "y", NULL);
        build(ctx, &m);
        for (size_t e = 0; e < sizeof extents / sizeof extents[0]; e++)
            for (size_t i = 0; i < ENDS; i++) {
                check_slice(extents[e], ends[i], ends[(3 * i + 4) % ENDS], steps[k]);
                check_slice(extents[e], ends[i], ends[(5 * i + 10) % ENDS], steps[k]);
            }
    }
}

/* Known ends, of an extent that is not: also of nothing, backwards. */
static void slice_backwards(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const int64_t axis = 0, from = -1, to = INT64_MIN, step = -1;
    wr_model m;
    wr_begin(&m, 14);
    wr_input(&m, "x", 1, "N");
    wr_ints(&m, "from", "1", &from);
    wr_ints(&m, "to", "1", &to);
    wr_ints(&m, "axis", "1", &axis);
    wr_ints(&m, "step", "1", &step);
    wr_output(&m, "y");
    wr_node(&m, "Slice", "x,from,to,axis,step", "y", NULL);
    build(ctx, &m);
    for (int64_t n = 0; n < 4; n++) {
        const run_array x = ramp(1, &n);
        ok(run_session(1, &x));
        const float *v = output(0, 1, &n);
        for (int64_t i = 0; i < n; i++) assert_true((int64_t)v[i] == n - 1 - i);
    }
}

/* ---- Expand and Tile ---- */

static void check_expand(const int64_t *want)
{
    int64_t dims[] = {want[0], want[1], 3};
    const run_array in[] = {ramp(2, (const int64_t[]){1, 3}), list(3, want)};
    ok(run_session(2, in));
    const float *v = output(0, 3, dims);
    for (int64_t i = 0; i < dims[0] * dims[1] * 3; i++) assert_true((int64_t)v[i] == i % 3);
}

static void expand(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t right[][3] = {{2, 5, 3}, {1, 1, 1}, {0, 4, 3}, {4, 0, 1}, {7, 11, 1}};
    static const wrong bad[] = {
        {{-1, 5, 3}, GPUC_INVALID_DATA, "n_Expand|computed as -1"},
        {{2, INT64_MIN, 3}, GPUC_INVALID_DATA, "n_Expand|beyond 0 to"},
        {{2, INT64_MAX, 3}, GPUC_INVALID_DATA, "n_Expand|beyond 0 to"},
        {{INT64_C(1) << 31, INT64_C(1) << 31, 3}, GPUC_INVALID_ARGUMENT, "'y'|64 bits"},
        {{2, 5, 4}, GPUC_INVALID_ARGUMENT, "n_Expand|broadcast"},
    };
    wr_model m;
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "1,3");
    wr_input(&m, "s", 7, "3");
    wr_output(&m, "y");
    wr_node(&m, "Expand", "x,s", "y", NULL);
    build(ctx, &m);
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) check_expand(right[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const run_array in[] = {ramp(2, (const int64_t[]){1, 3}), list(3, bad[i].list)};
        fx_check_status(run_session(2, in), bad[i].code, bad[i].words);
        check_expand(right[i]);
    }
}

/* A weight of 4 elements along an open dimension: a run has 4 there, or is refused. */
static void weights_of_open_rows(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const float two[] = {2, 2, 2, 2};
    const int64_t right[] = {3, 4}, bad[] = {3, 5};
    const run_array in = ramp(2, right), wrong = ramp(2, bad);
    wr_model m;
    wr_begin(&m, 17);
    wr_input(&m, "x", 1, "n,m");
    wr_output(&m, "y");
    wr_output(&m, "z");
    wr_floats(&m, "two", "4", two);
    wr_node(&m, "PRelu", "x,two", "y", NULL);
    wr_node(&m, "LayerNormalization", "x,two", "z", NULL);
    build(ctx, &m);
    ok(run_session(1, &in));
    const float *y = output(0, 2, right);
    for (int i = 0; i < 12; i++) assert_true(y[i] == (float)i);
    const float *z = output(1, 2, right);
    for (int i = 0; i < 12; i++) assert_float_equal(z[i], 2 * (i % 4 - 1.5) / sqrt(1.25), 1e-4);
    fx_check_status(run_session(1, &wrong), GPUC_INVALID_ARGUMENT, "does not broadcast to m");
}

/* The sizes of the result are the input's, but what is asked must fit all the same. */
static void expand_to_what_is_there(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t right[][3] = {{3, 4}, {1, 1}, {3, 1}, {1, 4}}, bad[][3] = {{2, 4}, {3, 5}, {0, 4}};
    const int64_t dims[] = {3, 4};
    wr_model m;
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "3,4");
    wr_input(&m, "s", 7, "2");
    wr_output(&m, "y");
    wr_node(&m, "Expand", "x,s", "y", NULL);
    build(ctx, &m);
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        const run_array in[] = {ramp(2, dims), list(2, right[i])};
        ok(run_session(2, in));
        output(0, 2, dims);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const run_array in[] = {ramp(2, dims), list(2, bad[i])};
        fx_check_status(run_session(2, in), GPUC_INVALID_ARGUMENT, "node 'n_Expand'|do not broadcast");
    }
}

static void check_tile(const int64_t *reps)
{
    int64_t dims[] = {2 * reps[0], 3 * reps[1]};
    const run_array in[] = {ramp(2, (const int64_t[]){2, 3}), list(2, reps)};
    ok(run_session(2, in));
    const float *v = output(0, 2, dims);
    for (int64_t i = 0; i < dims[0] * dims[1]; i++)
        assert_true((int64_t)v[i] == i / dims[1] % 2 * 3 + i % dims[1] % 3);
}

static void tile(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t right[][2] = {{1, 1}, {3, 2}, {0, 2}, {2, 0}, {1, 17}};
    static const wrong bad[] = {
        {{-1, 1}, GPUC_INVALID_DATA, "n_Tile|computed as -1"},
        {{1, INT64_MIN}, GPUC_INVALID_DATA, "n_Tile|beyond 0 to"},
        {{INT64_MAX, 1}, GPUC_INVALID_DATA, "n_Tile|beyond 0 to"},
        {{INT64_C(1) << 31, INT64_C(1) << 31}, GPUC_INVALID_ARGUMENT, "'y'|64 bits"},
    };
    wr_model m;
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "2,3");
    wr_input(&m, "s", 7, "2");
    wr_output(&m, "y");
    wr_node(&m, "Tile", "x,s", "y", NULL);
    build(ctx, &m);
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) check_tile(right[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const run_array in[] = {ramp(2, (const int64_t[]){2, 3}), list(2, bad[i].list)};
        fx_check_status(run_session(2, in), bad[i].code, bad[i].words);
        check_tile(right[i]);
    }
}

/* ---- Split ---- */

static void check_split(const int64_t *sizes)
{
    const run_array in[] = {ramp(2, (const int64_t[]){2, 10}), list(2, sizes)};
    ok(run_session(2, in));
    for (int k = 0; k < 2; k++) {
        int64_t dims[] = {2, sizes[k]}, first = k ? sizes[0] : 0;
        const float *v = output(k, 2, dims);
        for (int64_t i = 0; i < 2 * sizes[k]; i++)
            assert_true((int64_t)v[i] == i / sizes[k] * 10 + first + i % sizes[k]);
    }
}

static void split(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t right[][2] = {{4, 6}, {10, 0}, {0, 10}, {9, 1}};
    static const wrong bad[] = {
        {{4, 5}, GPUC_INVALID_ARGUMENT, "n_Split|split"},
        {{10, 10}, GPUC_INVALID_ARGUMENT, "n_Split|split"},
        {{-1, 11}, GPUC_INVALID_DATA, "n_Split|computed as -1"},
        {{INT64_MAX, INT64_MIN}, GPUC_INVALID_DATA, "n_Split|beyond 0 to"},
    };
    wr_model m;
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "2,10");
    wr_input(&m, "s", 7, "2");
    wr_output(&m, "a");
    wr_output(&m, "b");
    wr_node(&m, "Split", "x,s", "a,b", "axis=1");
    build(ctx, &m);
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) check_split(right[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const run_array in[] = {ramp(2, (const int64_t[]){2, 10}), list(2, bad[i].list)};
        fx_check_status(run_session(2, in), bad[i].code, bad[i].words);
        check_split(right[i]);
    }
}

/* ---- Range ---- */

/* What ONNX Runtime gives: floats are counted in double precision. -1: refused. */
static const struct {
    float v[3];
    int64_t count;
} float_ranges[] = {
    {{0, 0.3f, 0.1f}, 4},    {{0, 0.9f, 0.3f}, 3},  {{0, 0.1f, 0.01f}, 11}, {{-0.3f, 70001, 1}, 70002},
    {{0, 1e-40f, 1e30f}, 1}, {{5, 1, 1}, 0},        {{1, 1, 1}, 0},         {{0, 1, -0.25f}, 0},
    {{1, 0, -0.25f}, 4},     {{0, 3, INFINITY}, 0}, {{0, 1, 0}, -1},        {{1, 1, 0}, -1},
    {{1, 0, -0.0f}, -1},     {{0, 1, NAN}, -1},     {{NAN, 1, 1}, -1},      {{0, INFINITY, 1}, -1},
    {{0, -INFINITY, 1}, -1}, {{0, 1, 1}, 1},
};
static const struct {
    int64_t v[3];
    int64_t count;
} integer_ranges[] = {
    {{0, 10, 3}, 4},
    {{10, 0, -3}, 4},
    {{10, 0, 3}, 0},
    {{3, 3, 1}, 0},
    {{-7, 7, 5}, 3},
    {{INT64_MIN, INT64_MAX, INT64_C(1) << 62}, 4},
    {{INT64_MAX, INT64_MIN, INT64_MIN}, 2},
    {{0, 5, INT64_MAX}, 1},
    {{0, 5, 0}, -1},
    {{0, 0, 0}, -1},
    {{5, 5, 1}, 0},
};

/* known: the three numbers, one after another, as initializers; else they are inputs. */
static void range_model(wr_model *m, int type, size_t item, const void *known)
{
    static const char *const names[] = {"start", "limit", "step"};
    wr_begin(m, 13);
    for (size_t k = 0; k < 3; k++) {
        gpuc_buf t;
        if (!known) wr_input(m, names[k], type, "");
        if (!known) continue;
        gpuc_buf_init(&t, (gpuc_allocator){0});
        wr_tensor(&t, names[k], type, "", (const char *)known + k * item, item);
        wr_msg(&m->graph, 5, &t);
    }
    wr_output(m, "y");
    wr_node(m, "Range", "start,limit,step", "y", NULL);
}

typedef struct known_range {
    int type;
    size_t item;
    const void *v;
    int64_t count;
} known_range;

static void load_known(gpuc_ctx *ctx, void *arg)
{
    const known_range *r = arg;
    wr_model m;
    range_model(&m, r->type, r->item, r->v);
    const gpuc_rexpr *y = gpuc_as_rfunction(gpuc_rmodule_get(load(ctx, &m), "main"))->body;
    assert_true(gpuc_tir_is_const(gpuc_relay_tensor_type(y)->dims[0], r->count));
}

/* The same count, or an error, whether the numbers are known when building or not. */
static void check_range(gpuc_ctx *ctx, const known_range *r)
{
    run_array in[3];
    for (size_t k = 0; k < 3; k++)
        in[k] =
            (run_array){r->type == 1 ? GPUC_FLOAT32 : GPUC_INT64, 0, {0}, (const char *)r->v + k * r->item};
    if (r->count < 0) {
        fx_expect(ctx, GPUC_INVALID_ARGUMENT, "n_Range|step", load_known, (void *)(uintptr_t)r);
        fx_check_status(run_session(3, in), GPUC_INVALID_DATA, "n_Range|computed as -1");
        return;
    }
    load_known(ctx, (void *)(uintptr_t)r);
    ok(run_session(3, in));
    const void *v = output(0, 1, &r->count);
    for (int64_t i = 0; i < r->count; i++)
        if (r->type == 1) {
            const float *f = r->v, want = f[0] + (float)i * f[2];
            assert_true(fabsf(((const float *)v)[i] - want) <= 1e-6f * (fabsf(f[0]) + fabsf(want)));
        } else {
            const uint64_t *u = r->v;
            assert_true(((const uint64_t *)v)[i] == u[0] + (uint64_t)i * u[2]);
        }
}

static void range(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    wr_model m;
    range_model(&m, 1, 4, NULL);
    build(ctx, &m);
    for (size_t i = 0; i < sizeof float_ranges / sizeof float_ranges[0]; i++)
        check_range(ctx, &(known_range){1, 4, float_ranges[i].v, float_ranges[i].count});
    range_model(&m, 7, 8, NULL);
    build(ctx, &m);
    for (size_t i = 0; i < sizeof integer_ranges / sizeof integer_ranges[0]; i++)
        check_range(ctx, &(known_range){7, 8, integer_ranges[i].v, integer_ranges[i].count});
    static const int64_t far[] = {0, INT64_C(1) << 62, 1};
    const run_array in[] = {
        {GPUC_INT64, 0, {0}, &far[0]}, {GPUC_INT64, 0, {0}, &far[1]}, {GPUC_INT64, 0, {0}, &far[2]}};
    fx_check_status(run_session(3, in), GPUC_INVALID_DATA, "n_Range|beyond 0 to");
}

/* ---- OneHot, TopK ---- */

static void check_one_hot(int64_t depth)
{
    static const int64_t at[] = {0, 2, -1, 40, 1};
    static const float off_on[] = {-1, 3};
    const run_array in[] = {list(5, at), list(1, &depth), {GPUC_FLOAT32, 1, {2}, off_on}};
    ok(run_session(3, in));
    const float *v = output(0, 2, (const int64_t[]){5, depth});
    for (int64_t i = 0; i < 5 * depth; i++) {
        int64_t hot = at[i / depth] < 0 ? at[i / depth] + depth : at[i / depth];
        assert_true((double)v[i] == (hot == i % depth ? 3 : -1));
    }
}

static void one_hot(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t right[] = {3, 0, 1, 47};
    static const int64_t bad[] = {-1, INT64_MIN, INT64_MAX};
    wr_model m;
    wr_begin(&m, 13);
    wr_input(&m, "at", 7, "n");
    wr_input(&m, "d", 7, "1");
    wr_input(&m, "v", 1, "2");
    wr_output(&m, "y");
    wr_node(&m, "OneHot", "at,d,v", "y", NULL);
    build(ctx, &m);
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) check_one_hot(right[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const run_array in[] = {list(4, right), list(1, &bad[i]), ramp(1, (const int64_t[]){2})};
        fx_check_status(run_session(3, in), GPUC_INVALID_DATA, "n_OneHot|beyond 0 to");
        check_one_hot(right[i]);
    }
}

static void check_top(int64_t n, int64_t k)
{
    const run_array in[] = {ramp(1, &n), list(1, &k)};
    ok(run_session(2, in));
    const float *v = output(0, 1, &k);
    for (int64_t i = 0; i < k; i++) assert_true((int64_t)v[i] == n - 1 - i);
}

static void top(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t right[][2] = {{7, 3}, {100, 100}, {5, 0}, {0, 0}, {1, 1}, {37, 36}};
    static const int64_t bad[][2] = {{7, 8}, {7, -1}, {0, 1}, {5, INT64_MAX}};
    wr_model m;
    wr_begin(&m, 13);
    wr_input(&m, "x", 1, "n");
    wr_input(&m, "k", 7, "1");
    wr_output(&m, "y");
    wr_node(&m, "TopK", "x,k", "y,i", NULL);
    build(ctx, &m);
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) check_top(right[i][0], right[i][1]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const run_array in[] = {ramp(1, &bad[i][0]), list(1, &bad[i][1])};
        fx_check_status(run_session(2, in), GPUC_INVALID_DATA, "n_TopK|beyond 0 to");
        check_top(right[i][0], right[i][1]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        fx_test(reshape), fx_test(reshape_to_nothing),
        fx_test(slice),   fx_test(slice_backwards),
        fx_test(expand),  fx_test(expand_to_what_is_there),
        fx_test(tile),    fx_test(split),
        fx_test(range),   fx_test(one_hot),
        fx_test(top),     fx_test(weights_of_open_rows),
    };
    if (!run_available(argc, argv)) return 77;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failed;
}
