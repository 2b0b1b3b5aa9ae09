/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that need more than a device has at once: buffers of a kernel, bytes of parameters, work-groups,
 * bytes of a binding. With "large" behind the target also a tensor of more than 2^31 bytes, where memory
 * allows. */
#include "run.h"

#include "executor/model.h"

static void ok(gpuc_status status)
{
    if (status) fail_msg("%s", gpuc_status_message(status));
}

static gpuc_rexpr *input(gpuc_ctx *ctx, const char *name, gpuc_dtype t, int ndim, const gpuc_expr *dims)
{
    return gpuc_relay_var(ctx, name, gpuc_relay_rtype_tensor(ctx, t, ndim, dims));
}

static void build(gpuc_ctx *ctx, gpuc_rexpr *body, int n, gpuc_rexpr *const *params)
{
    ok(run_build(ctx, fx_module(ctx, body, n, params)));
}

/* ---- Buffers ---- */

enum { MANY = 40, WIDTH = 5 };

static int64_t rows_of(int i)
{
    return 1 + i % 4;
}

static float element(int i, int64_t at)
{
    return (float)(i * 100 + at);
}

/* Each its own input: concatenated, and the first row of each added up. */
static void many_inputs(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x[MANY], *sum = NULL, *outs[2];
    run_array in[MANY];
    float data[MANY][4 * WIDTH];
    int64_t total = 0;
    for (int i = 0; i < MANY; i++) {
        gpuc_expr dims[] = {gpuc_int(ctx, rows_of(i)), gpuc_int(ctx, WIDTH)};
        x[i] = input(ctx, gpuc_ctx_printf(ctx, "x%d", i), GPUC_FLOAT32, 2, dims);
        gpuc_rexpr *first = fx_op1(ctx, "strided_slice", "begin=[0, 0] sizes=[1, 5] strides=[1, 1]", x[i]);
        sum = sum ? fx_op2(ctx, "add", sum, first) : first;
        in[i] = (run_array){GPUC_FLOAT32, 2, {rows_of(i), WIDTH}, data[i]};
        for (int64_t k = 0; k < rows_of(i) * WIDTH; k++) data[i][k] = element(i, k);
        total += rows_of(i);
    }
    outs[0] = fx_op(ctx, "concatenate", "axis=0", MANY, x);
    outs[1] = sum;
    build(ctx, gpuc_relay_tuple(ctx, 2, outs), MANY, x);
    ok(run_session(MANY, in));
    int ndim;
    const int64_t *dims;
    const float *y = run_output(0, &ndim, &dims);
    assert_true(ndim == 2 && dims[0] == total && dims[1] == WIDTH);
    for (int i = 0; i < MANY; i++)
        for (int64_t k = 0; k < rows_of(i) * WIDTH; k++) assert_true(*y++ == element(i, k));
    y = run_output(1, &ndim, &dims);
    for (int64_t k = 0; k < WIDTH; k++) {
        float want = 0;
        for (int i = 0; i < MANY; i++) want += element(i, k);
        assert_true(y[k] == want);
    }
}

/* ---- Parameters ---- */

enum { RANK = 8, TERMS = 4, FRAMES = 6 };

/* Extents of a term: those of the sum, or 1, where it broadcasts. */
static void extents(int frame, int term, int64_t *dims)
{
    for (int k = 0; k < RANK; k++) {
        dims[k] = 1 + (frame + k) % 3;
        if (term >= 0 && (k + term) % TERMS == 0) dims[k] = 1;
    }
}

static int64_t count_of(const int64_t *dims)
{
    int64_t n = 1;
    for (int k = 0; k < RANK; k++) n *= dims[k];
    return n;
}

static float value(int frame, int term, int64_t at)
{
    return (float)((frame + 1) * (term + 3) + at);
}

static float sum_at(int frame, int64_t at)
{
    int64_t all[RANK], own[RANK], index[RANK];
    float sum = 0;
    extents(frame, -1, all);
    for (int k = RANK - 1; k >= 0; at /= all[k--]) index[k] = at % all[k];
    for (int t = 0; t < TERMS; t++) {
        int64_t from = 0;
        extents(frame, t, own);
        for (int k = 0; k < RANK; k++) from = from * own[k] + (own[k] == 1 ? 0 : index[k]);
        sum += value(frame, t, from);
    }
    return sum;
}

static void set_frame(gpuc_session *s, int frame)
{
    for (int t = 0; t < TERMS; t++) {
        run_array a = {GPUC_FLOAT32, RANK, {0}, NULL};
        extents(frame, t, a.dims);
        int64_t n = count_of(a.dims);
        float *data = calloc((size_t)n, sizeof *data);
        for (int64_t i = 0; i < n; i++) data[i] = value(frame, t, i);
        a.bytes = data;
        ok(run_set_input(s, t, &a));
        free(data);
    }
}

static void check_frame(gpuc_session *s, int frame)
{
    int64_t dims[RANK];
    gpuc_ndarray *a;
    extents(frame, -1, dims);
    ok(gpuc_session_get_output(s, 0, &a));
    assert_int_equal(gpuc_ndarray_ndim(a), RANK);
    for (int k = 0; k < RANK; k++) assert_int_equal(gpuc_ndarray_dims(a)[k], dims[k]);
    int64_t n = count_of(dims);
    float *data = calloc((size_t)n, sizeof *data);
    ok(gpuc_ndarray_read(a, data, (size_t)n * sizeof *data));
    for (int64_t i = 0; i < n; i++)
        if (data[i] != sum_at(frame, i))
            fail_msg("frame %d, element %lld: %g, should be %g", frame, (long long)i, (double)data[i],
                     (double)sum_at(frame, i));
    free(data);
}

/* The max bytes of parameters that a kernel of the model takes. */
static uint32_t parameter_bytes(const gpuc_model *m)
{
    uint32_t max = 0;
    for (uint32_t k = 0; k < m->program->num_kernels; k++) {
        const gpuc_kernel *kernel = &m->program->kernels[k];
        uint32_t *offsets = calloc(kernel->num_scalars + 1, sizeof *offsets);
        uint32_t bytes = gpuc_abi_kernel_param_layout(kernel, offsets);
        free(offsets);
        max = bytes > max ? bytes : max;
    }
    return max;
}

/* 32 extents that the build does not know: more parameters than push constants hold. Sessions of other
 * extents are in flight together, and none sees another's. */
static void many_parameters(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x[TERMS], *sum = NULL;
    for (int t = 0; t < TERMS; t++) {
        gpuc_expr dims[RANK];
        for (int k = 0; k < RANK; k++)
            dims[k] = gpuc_var(ctx, gpuc_ctx_printf(ctx, "n%d_%d", t, k), GPUC_INDEX);
        x[t] = input(ctx, gpuc_ctx_printf(ctx, "x%d", t), GPUC_FLOAT32, RANK, dims);
        sum = sum ? fx_op2(ctx, "add", sum, x[t]) : x[t];
    }
    build(ctx, sum, TERMS, x);
    assert_true(parameter_bytes(run_model()) > 128);
    gpuc_session *s[FRAMES];
    for (int i = 0; i < FRAMES; i++) {
        ok(gpuc_session_create(run_model(), &s[i]));
        set_frame(s[i], i);
    }
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < FRAMES; i++) ok(gpuc_session_run(s[i]));
    for (int i = 0; i < FRAMES; i++) {
        ok(gpuc_session_sync(s[i]));
        check_frame(s[i], i);
    }
    for (int i = 0; i < FRAMES; i++) set_frame(s[i], (i + 1) % FRAMES); /* others' extents */
    for (int i = FRAMES - 1; i >= 0; i--) ok(gpuc_session_run(s[i]));
    for (int i = 0; i < FRAMES; i++) {
        ok(gpuc_session_sync(s[i]));
        check_frame(s[i], (i + 1) % FRAMES);
        gpuc_session_release(s[i]);
    }
}

/* ---- Work-groups and bindings ---- */

static float ramp_at(int64_t i)
{
    return (float)(i % 251) - 100;
}

/* y = -x read backwards, row by row: an index that is no copy of the output's. */
static void reverse_rows(gpuc_ctx *ctx, const char *attributes, int64_t rows, int64_t columns)
{
    int64_t n = rows * columns;
    gpuc_expr dims[] = {gpuc_int(ctx, rows), gpuc_int(ctx, columns)};
    gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 2, dims);
    gpuc_rexpr *y = fx_op1(ctx, "negative", NULL, fx_op1(ctx, "reverse", "axis=1", x));
    float *data = calloc((size_t)n, sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; i < n; i++) data[i] = ramp_at(i);
    const run_array in = {GPUC_FLOAT32, 2, {rows, columns}, data};
    run_target_attributes(attributes);
    build(ctx, y, 1, &x);
    run_target_attributes(NULL);
    ok(run_session(1, &in));
    int ndim;
    const int64_t *have;
    const float *got = run_output(0, &ndim, &have);
    assert_true(ndim == 2 && have[0] == rows && have[1] == columns);
    for (int64_t i = 0; i < n; i++) {
        float want = -data[i / columns * columns + columns - 1 - i % columns];
        if (got[i] != want)
            fail_msg("element %lld of %lld: %g, should be %g", (long long)i, (long long)n, (double)got[i],
                     (double)want);
    }
    free(data);
}

static void few_groups(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    reverse_rows(ctx, "-max_grid_x=7", 37, 1009);
    reverse_rows(ctx, "-max_grid_x=13 -max_grid_y=17 -max_grid_z=1024", 101, 1009);
    reverse_rows(ctx, "-max_grid_x=3 -max_grid_y=2 -max_grid_z=4096", 101, 1009);
}

/* Above 65535 groups of 128 threads that make an element each. */
static void many_groups(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    reverse_rows(ctx, NULL, 8191, 1301);
}

static int64_t required(const char *name)
{
    const gpuc_program *p = run_model()->program;
    for (uint32_t i = 0; i < p->num_requirements; i++)
        if (!strcmp(p->requirements[i].name, name)) return p->requirements[i].at_least;
    return 0;
}

/* Programs with many loop iterations, or many groups, state it for devices that end loops, or have fewer
 * groups (lavapipe has 65535 along an axis). */
static void says_what_it_needs(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    if (!strcmp(run_target(), "c")) return;
    gpuc_expr dims[] = {gpuc_int(ctx, 3), gpuc_int(ctx, 70000)}, back[] = {dims[1], gpuc_int(ctx, 2)};
    gpuc_rexpr *x[] = {input(ctx, "x", GPUC_FLOAT32, 2, dims), input(ctx, "y", GPUC_FLOAT32, 2, back)};
    build(ctx, fx_op2(ctx, "nn.matmul", x[0], x[1]), 2, x);
    const gpuc_program *p = run_model()->program;
    for (uint32_t k = 0; k < p->num_kernels; k++) assert_true(p->kernels[k].iterations.count > 0);
    gpuc_expr many[] = {gpuc_int(ctx, 90000), gpuc_int(ctx, 3)};
    gpuc_rexpr *z = input(ctx, "z", GPUC_FLOAT32, 2, many);
    run_target_attributes("-max_grid_x=100000 -max_num_threads=1");
    gpuc_status status = run_build(ctx, fx_module(ctx, fx_op1(ctx, "negative", NULL, z), 1, &z));
    run_target_attributes(NULL);
    if (status)
        fx_check_status(status, GPUC_DEVICE_UNAVAILABLE, "it needs max_grid_x of at least");
    else
        assert_true(strcmp(run_target(), "vulkan") || required("max_grid_x") > 65535);
}

/* What no binding of the target holds is cut into windows, or asked of the device. */
static void long_tensors(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[] = {gpuc_int(ctx, 64), gpuc_int(ctx, 1024)};
    gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 2, dims);
    run_target_attributes("-max_buffer_range=65536");
    build(ctx, fx_op1(ctx, "negative", NULL, x), 1, &x);
    run_target_attributes(NULL);
    int64_t want = !strcmp(run_target(), "c") ? 0 : strncmp(run_target(), "vulkan", 6) ? 262144 : 65536;
    assert_int_equal(required("max_buffer_range"), want);
}

/* Threads that reduce together have room for what they combine, down to none. */
static void little_shared_memory(gpuc_ctx *ctx, void *arg)
{
    enum { ROWS = 3, COLUMNS = 5000 };
    static float data[ROWS * COLUMNS];
    (void)arg;
    gpuc_expr dims[] = {gpuc_int(ctx, ROWS), gpuc_int(ctx, COLUMNS)};
    for (int bytes = 0; bytes <= 1024; bytes = bytes ? 4 * bytes : 4) {
        gpuc_rexpr *x = input(ctx, "x", GPUC_FLOAT32, 2, dims);
        gpuc_rexpr *outs[] = {fx_op1(ctx, "sum", "axis=[1]", x), fx_op1(ctx, "argmax", "axis=[1]", x)};
        run_target_attributes(gpuc_ctx_printf(ctx, "-max_shared_memory=%d", bytes));
        build(ctx, gpuc_relay_tuple(ctx, 2, outs), 1, &x);
        run_target_attributes(NULL);
        assert_true(required("max_shared_memory") <= bytes);
        for (int i = 0; i < ROWS * COLUMNS; i++)
            data[i] = (float)(i % 13 - 6 + 20 * (i % COLUMNS == 999 + i / COLUMNS));
        const run_array in = {GPUC_FLOAT32, 2, {ROWS, COLUMNS}, data};
        ok(run_session(1, &in));
        int ndim;
        const int64_t *have;
        const float *sums = run_output(0, &ndim, &have);
        for (int r = 0; r < ROWS; r++) {
            float want = 0;
            for (int i = 0; i < COLUMNS; i++) want += data[r * COLUMNS + i];
            assert_float_equal(sums[r], want, 0);
        }
        const int32_t *at = run_output(1, &ndim, &have);
        for (int r = 0; r < ROWS; r++) assert_int_equal(at[r], 999 + r);
    }
}

/* ---- More than 2^31 bytes ---- */

static long long available_bytes(void)
{
    long long kb = 0;
    char line[128];
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "MemAvailable: %lld", &kb) != 1) continue;
    if (f) fclose(f);
    return kb * 1024;
}

static void large_tensor(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    const int64_t rows = 2203, columns = 1000003, n = rows * columns;
    if (available_bytes() < 4 * n) {
        print_message("skipped: %lld bytes of memory are available, %lld are needed\n", available_bytes(),
                      (long long)(4 * n));
        skip();
    }
    gpuc_expr dims[] = {gpuc_int(ctx, rows), gpuc_var(ctx, "columns", GPUC_INDEX)};
    gpuc_rexpr *x = input(ctx, "x", GPUC_INT8, 2, dims);
    build(ctx, fx_op1(ctx, "negative", NULL, fx_op1(ctx, "reverse", "axis=0", x)), 1, &x);
    int8_t *data = malloc((size_t)n);
    assert_non_null(data);
    for (int64_t i = 0; i < n; i++) data[i] = (int8_t)(i % 127 - (i >> 31));
    const run_array in = {GPUC_INT8, 2, {rows, columns}, data};
    ok(run_session(1, &in));
    free(data);
    int ndim;
    const int64_t *have;
    const int8_t *got = run_output(0, &ndim, &have);
    assert_true(ndim == 2 && have[0] == rows && have[1] == columns);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++) {
            int64_t from = (rows - 1 - r) * columns + c;
            if (got[r * columns + c] != (int8_t)(-(from % 127 - (from >> 31))))
                fail_msg("element [%lld, %lld] is %d", (long long)r, (long long)c, got[r * columns + c]);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        fx_test(many_inputs),          fx_test(many_parameters), fx_test(few_groups),
        fx_test(many_groups),          fx_test(long_tensors),    fx_test(says_what_it_needs),
        fx_test(little_shared_memory),
    };
    const struct CMUnitTest large[] = {fx_test(large_tensor)};
    if (!run_available(argc, argv)) return 77;
    bool is_large = argc > 2 && !strcmp(argv[2], "large");
    int failed =
        is_large ? cmocka_run_group_tests(large, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failed;
}
