/* SPDX-License-Identifier: Apache-2.0 */
/* Chains in which each link reads the one before, mostly at several places: packages, and the time to make
 * them, grow with the links. What doubles with each would not end. */
#include <sys/stat.h>
#include <unistd.h>

#include "../relay/fixture.h"

#include <gpuc/build.h>
#include <gpuc/schedule.h>

enum { ROWS = 4, COLUMNS = 8, LINK_BYTES = 12 << 10 };

static gpuc_rexpr *square(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    return fx_op2(ctx, "multiply", x, fx_op1(ctx, "sigmoid", NULL, x));
}

static gpuc_rexpr *powers(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    return fx_op2(ctx, "mod", fx_op2(ctx, "add", fx_op2(ctx, "power", x, x), x), fx_op1(ctx, "exp", NULL, x));
}

static gpuc_rexpr *twice(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    return fx_op2(ctx, "add", fx_op1(ctx, "sin", NULL, x), fx_op1(ctx, "cos", NULL, x));
}

static gpuc_rexpr *chosen(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    gpuc_rexpr *args[] = {fx_op2(ctx, "less", x, fx_op1(ctx, "abs", NULL, x)), x,
                          fx_op1(ctx, "exp", NULL, x)};
    return fx_op(ctx, "where", NULL, 3, args);
}

static gpuc_rexpr *part(gpuc_ctx *ctx, gpuc_rexpr *x, const char *begin)
{
    return fx_op1(ctx, "strided_slice",
                  gpuc_ctx_printf(ctx, "begin=%s sizes=[%d, %d] strides=[1, 1]", begin, ROWS, COLUMNS), x);
}

static gpuc_rexpr *padded(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    gpuc_rexpr *wide = fx_op1(ctx, "nn.pad", "pad_before=[0, 1] pad_after=[0, 0]", x);
    return fx_op2(ctx, "add", x, part(ctx, wide, "[0, 0]"));
}

static gpuc_rexpr *joined(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    gpuc_rexpr *args[] = {x, fx_op1(ctx, "exp", NULL, x)};
    return part(ctx, fx_op(ctx, "concatenate", "axis=1", 2, args), "[0, 3]");
}

static gpuc_rexpr *turned(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    gpuc_rexpr *t = fx_op1(ctx, "transpose", "axes=[1, 0]", x);
    return fx_op2(ctx, "add", x, fx_op1(ctx, "reshape", "newshape=[4, 8]", t));
}

static gpuc_rexpr *spread(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    gpuc_rexpr *row = fx_op1(ctx, "strided_slice", "begin=[1, 0] sizes=[1, 8] strides=[1, 1]", x),
               *column = fx_op1(ctx, "strided_slice", "begin=[0, 1] sizes=[4, 1] strides=[1, 1]", x);
    return fx_op2(ctx, "multiply", row, column);
}

static gpuc_rexpr *softmax(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    return fx_op2(ctx, "add", x, fx_op1(ctx, "nn.softmax", "axis=-1", x));
}

static gpuc_rexpr *normalized(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    const char *over = "axis=[1] keepdims=1";
    gpuc_rexpr *c = fx_op2(ctx, "subtract", x, fx_op1(ctx, "mean", over, x));
    return fx_op2(ctx, "divide", c, fx_op1(ctx, "mean", over, fx_op2(ctx, "multiply", c, c)));
}

static gpuc_rexpr *reduced(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    gpuc_rexpr *c = fx_op2(ctx, "subtract", x, fx_op1(ctx, "max", "axis=[1] keepdims=1", x));
    return fx_op2(ctx, "divide", c, fx_op1(ctx, "sum", "axis=[0] keepdims=1", x));
}

static gpuc_rexpr *product(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    return fx_op2(ctx, "nn.matmul", fx_op2(ctx, "nn.matmul", x, fx_op1(ctx, "transpose", "axes=[1, 0]", x)),
                  x);
}

static const struct {
    const char *name;
    gpuc_rexpr *(*add)(gpuc_ctx *ctx, gpuc_rexpr *x);
} families[] = {
    {"square", square},   {"powers", powers},   {"twice", twice},           {"chosen", chosen},
    {"padded", padded},   {"joined", joined},   {"turned", turned},         {"spread", spread},
    {"softmax", softmax}, {"reduced", reduced}, {"normalized", normalized}, {"product", product},
};

typedef struct chain {
    int family, length;
    const char *target;
    int64_t bytes;
} chain;

static int64_t package_bytes(gpuc_ctx *ctx, const char *target_text, gpuc_rmodule *m)
{
    char path[] = "/tmp/gpuc-growth-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    const gpuc_target *target = gpuc_target_parse(ctx, target_text, NULL);
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_build_package(ctx, m, 1, &target, &options, path, NULL);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    remove(path);
    return st.st_size;
}

static void build(gpuc_ctx *ctx, void *arg)
{
    chain *c = arg;
    gpuc_rexpr *input = fx_var(ctx, "x", FX_DIMS(ROWS, COLUMNS)), *x = input;
    for (int i = 0; i < c->length; i++) x = families[c->family].add(ctx, x);
    c->bytes = package_bytes(ctx, c->target, fx_module(ctx, x, 1, &input));
}

static int64_t bytes_of(gpuc_ctx *parent, int family, const char *target, int length)
{
    gpuc_ctx *ctx;
    chain c = {.family = family, .length = length, .target = target};
    gpuc_status status = gpuc_ctx_create(&parent->allocator, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, build, &c);
    if (status)
        fail_msg("%d times %s for %s: %s", length, families[family].name, target,
                 gpuc_status_message(status));
    gpuc_ctx_destroy(ctx);
    return c.bytes;
}

static void packages_grow_with_the_chain(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char *const targets[] = {"vulkan", "opencl", "opencl/pocl", "vulkan/llvmpipe"};
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
        for (int f = 0; f < (int)(sizeof families / sizeof *families); f++) {
            int64_t last = 0;
            for (int length = 8; length <= 32; length *= 2) {
                int64_t bytes = bytes_of(ctx, f, targets[t], length);
                if (bytes > 3 * last + LINK_BYTES && last)
                    fail_msg("%s for %s: %lld bytes for %d links, %lld for half of them", families[f].name,
                             targets[t], (long long)bytes, length, (long long)last);
                if (bytes > (int64_t)length * LINK_BYTES)
                    fail_msg("%s for %s: %lld bytes for %d links", families[f].name, targets[t],
                             (long long)bytes, length);
                last = bytes;
            }
        }
    }
}

/* Extents that no tile divides. Each once gave code of 100 KiB and more, that drivers compiled for seconds:
 * parts at the ends written out, for each iteration of a short loop anew. */
static const struct {
    const char *op, *attrs;
    int64_t dims[2][4];
    int ndim[2];
} awkward[] = {
    {"transpose", "axes=[0, 3, 1, 2]", {{1, 54, 54, 96}}, {4}},
    {"transpose", "axes=[2, 0, 1]", {{19, 37, 101}}, {3}},
    {"nn.matmul", "", {{1, 18432}, {18432, 1366}}, {2, 2}},
    {"nn.matmul", "", {{67, 131}, {131, 29}}, {2, 2}},
    {"nn.lrn", "size=5", {{1, 64, 109, 109}}, {4}},
    {"nn.max_pool2d",
     "pool_size=[3, 3] strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1]",
     {{1, 528, 13, 13}},
     {4}},
    {"nn.avg_pool2d",
     "pool_size=[5, 5] strides=[3, 3] padding=[2, 2, 2, 2] dilation=[1, 1]",
     {{1, 67, 31, 33}},
     {4}},
    {"nn.softmax", "axis=1", {{3, 1009, 7}}, {3}},
    {"sum", "axis=[1]", {{5, 4099, 3}}, {3}},
    {"argmax", "axis=[1]", {{2, 300}}, {2}},
    {"cumsum", "axis=1", {{7, 1021}}, {2}},
};
static void packages_of_awkward_extents_are_small(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    /* llvmpipe's products are tiles by lanes, with and without shuffles. On pocl, the end of a row that fills no
     * vector is written out by lanes, of which 512 bits have 16. */
    static const struct {
        const char *name;
        int64_t max; /* bytes */
    } targets[] = {{"vulkan", 24 << 10},
                   {"opencl", 24 << 10},
                   {"opencl/pocl -vector_bits=256", 24 << 10},
                   {"opencl/pocl -vector_bits=512", 32 << 10},
                   {"vulkan/llvmpipe", 128 << 10}};
    for (size_t i = 0; i < sizeof awkward / sizeof *awkward; i++)
        for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
            gpuc_rexpr *x[2] = {0};
            int n = awkward[i].ndim[1] ? 2 : 1;
            for (int k = 0; k < n; k++)
                x[k] = fx_var(ctx, k ? "w" : "x", awkward[i].ndim[k], awkward[i].dims[k]);
            gpuc_rexpr *y = fx_op(ctx, awkward[i].op, awkward[i].attrs, n, x);
            int64_t bytes = package_bytes(ctx, targets[t].name, fx_module(ctx, y, n, x));
            if (bytes > targets[t].max)
                fail_msg("row %zu, %s for %s: %lld bytes", i, awkward[i].op, targets[t].name,
                         (long long)bytes);
        }
}

/* Operators of open sizes that divide 64-bit integers, for a target without them. Over bits, each division took
 * 25 KiB, of which a driver on CPUs compiled two in seconds and four in a minute. */
static const struct {
    const char *op, *attrs;
    bool has_sizes; /* as the input, turned */
    gpuc_dtype dtype;
    int ndim, num_args;
    int64_t max; /* bytes */
} divided[] = {
    {"floor_divide", "", false, {GPUC_DTYPE_INT, 64, 1}, 2, 2, 24 << 10},
    {"image.resize",
     "scales=[0.0, 0.0, 0.0] coordinate=\"align_corners\" method=\"linear\"",
     true,
     {GPUC_DTYPE_FLOAT, 32, 1},
     3,
     1,
     36 << 10},
    {"topk", "dtype=int64 k=5", false, {GPUC_DTYPE_FLOAT, 16, 1}, 2, 1, 320 << 10},
};

static void divisions_of_words_are_short(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_expr dims[4];
    for (int k = 0; k < 3; k++) dims[k] = gpuc_var(ctx, gpuc_ctx_printf(ctx, "n%d", k), GPUC_INDEX);
    dims[3] = dims[0];
    for (size_t i = 0; i < sizeof divided / sizeof *divided; i++) {
        int n = divided[i].num_args, ndim = divided[i].ndim;
        const gpuc_rtype *type = gpuc_relay_rtype_tensor(ctx, divided[i].dtype, ndim, dims);
        gpuc_rexpr *x[] = {gpuc_relay_var(ctx, "x", type), gpuc_relay_var(ctx, "y", type)};
        const gpuc_attrs *attrs = fx_attrs(ctx, divided[i].attrs);
        if (divided[i].has_sizes) attrs = gpuc_attrs_sizes(ctx, attrs, "sizes", ndim, dims + 1);
        gpuc_rexpr *y = gpuc_relay_op(ctx, divided[i].op, attrs, n, x);
        if (!strcmp(divided[i].op, "topk")) y = gpuc_relay_get(ctx, y, 0);
        int64_t bytes = package_bytes(ctx, "vulkan", fx_module(ctx, y, n, x));
        if (bytes > divided[i].max)
            fail_msg("%s: %lld bytes, at most %lld", divided[i].op, (long long)bytes,
                     (long long)divided[i].max);
    }
}

/* ---- Bodies that are written out ---- */

static void *count_bytes(void *user, void *ptr, size_t old_size, size_t new_size)
{
    (void)old_size;
    *(int64_t *)user += (int64_t)new_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

/* What the statements of a body share: the elements that they read. */
typedef struct body {
    const char *name;
    gpuc_stmt (*make)(gpuc_ctx *ctx, int n, gpuc_expr r, const gpuc_tir_buffer *in,
                      const gpuc_tir_buffer *out);
} body;

static gpuc_expr element(gpuc_ctx *ctx, const gpuc_tir_buffer *b, int row, gpuc_expr r)
{
    const gpuc_expr at[] = {gpuc_int(ctx, row), r};
    return gpuc_tir_load(ctx, b, 2, at);
}

static gpuc_stmt set(gpuc_ctx *ctx, const gpuc_tir_buffer *b, int row, gpuc_expr r, gpuc_expr x)
{
    const gpuc_expr at[] = {gpuc_int(ctx, row), r};
    return gpuc_tir_store(ctx, b, 2, at, x);
}

/* Another place in each row, the same in two of them. */
static gpuc_expr place(gpuc_ctx *ctx, int i, gpuc_expr r)
{
    gpuc_expr scaled = gpuc_add(ctx, gpuc_mul(ctx, r, gpuc_int(ctx, i / 2 + 3)), gpuc_int(ctx, i / 2));
    return gpuc_floormod_(ctx, scaled, gpuc_int(ctx, ROWS));
}

/* C[i, r] = A[i, r] * A[i + 1, r], a store each: every element is read twice. */
static gpuc_stmt stores(gpuc_ctx *ctx, int n, gpuc_expr r, const gpuc_tir_buffer *in,
                        const gpuc_tir_buffer *out)
{
    gpuc_stmt *list = gpuc_new_array(ctx, gpuc_stmt, n);
    for (int i = 0; i < n; i++)
        list[i] = set(ctx, out, i, r, gpuc_mul(ctx, element(ctx, in, i, r), element(ctx, in, i + 1, r)));
    return gpuc_tir_seq(ctx, n, list);
}

/* Every store is of its own. */
static gpuc_stmt own_stores(gpuc_ctx *ctx, int n, gpuc_expr r, const gpuc_tir_buffer *in,
                            const gpuc_tir_buffer *out)
{
    gpuc_stmt *list = gpuc_new_array(ctx, gpuc_stmt, n);
    for (int i = 0; i < n; i++) list[i] = set(ctx, out, i, r, element(ctx, in, i, r));
    return gpuc_tir_seq(ctx, n, list);
}

/* A name for each value, one around the other; with others: a store of each, or a condition. */
static gpuc_stmt nested(gpuc_ctx *ctx, int n, gpuc_expr r, const gpuc_tir_buffer *in,
                        const gpuc_tir_buffer *out, bool store, bool condition)
{
    gpuc_expr *vars = gpuc_new_array(ctx, gpuc_expr, n), *values = gpuc_new_array(ctx, gpuc_expr, n);
    for (int i = 0; i < n; i++) {
        gpuc_expr x = element(ctx, in, i, place(ctx, i, r));
        vars[i] = gpuc_var(ctx, "v", GPUC_FLOAT32);
        values[i] = i ? gpuc_mul(ctx, gpuc_add(ctx, vars[i - 1], x), vars[i - 1]) : x;
    }
    gpuc_stmt s = set(ctx, out, n, r, vars[n - 1]);
    for (int i = n; i-- > 0;) {
        gpuc_stmt both[] = {set(ctx, out, i, place(ctx, i, r), vars[i]), s};
        if (store) s = gpuc_tir_seq(ctx, 2, both);
        if (condition) s = gpuc_tir_if_(ctx, gpuc_lt(ctx, place(ctx, i, r), gpuc_int(ctx, 2)), s, NULL);
        s = gpuc_tir_let(ctx, vars[i], values[i], s);
    }
    return s;
}

static gpuc_stmt names(gpuc_ctx *ctx, int n, gpuc_expr r, const gpuc_tir_buffer *in,
                       const gpuc_tir_buffer *out)
{
    return nested(ctx, n, r, in, out, false, false);
}

static gpuc_stmt names_and_stores(gpuc_ctx *ctx, int n, gpuc_expr r, const gpuc_tir_buffer *in,
                                  const gpuc_tir_buffer *out)
{
    return nested(ctx, n, r, in, out, true, false);
}

static gpuc_stmt conditions(gpuc_ctx *ctx, int n, gpuc_expr r, const gpuc_tir_buffer *in,
                            const gpuc_tir_buffer *out)
{
    return nested(ctx, n, r, in, out, true, true);
}

/* One expression, each part of which uses the next twice. */
static gpuc_stmt deep(gpuc_ctx *ctx, int n, gpuc_expr r, const gpuc_tir_buffer *in,
                      const gpuc_tir_buffer *out)
{
    gpuc_expr x = element(ctx, in, 0, r);
    for (int i = 1; i < n; i++) x = gpuc_mul(ctx, gpuc_add(ctx, x, element(ctx, in, i, place(ctx, i, r))), x);
    return set(ctx, out, 0, r, x);
}

static const struct {
    body body;
    int max; /* statements nest 4000 deep, expressions 2000 */
} bodies[] = {
    {{"stores", stores}, 4000},         {{"stores of their own", own_stores}, 4000},
    {{"names", names}, 2000},           {{"names and stores", names_and_stores}, 1000},
    {{"conditions", conditions}, 1000}, {{"a deep expression", deep}, 800},
};

typedef struct written {
    const body *body;
    int n;
} written;

static gpuc_stmt loop_over_rows(gpuc_ctx *ctx, const gpuc_tir_buffer *const *in,
                                const gpuc_tir_buffer *const *out, void *arg)
{
    const written *w = arg;
    gpuc_expr r = gpuc_var(ctx, "r", GPUC_INDEX);
    return gpuc_tir_for_(ctx, r, gpuc_int(ctx, 0), gpuc_int(ctx, ROWS), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE,
                         w->body->make(ctx, w->n, r, in[0], out[0]));
}

static void write_out(gpuc_ctx *ctx, void *arg)
{
    const written *w = arg;
    const gpuc_expr dims[] = {gpuc_int(ctx, w->n + 1), gpuc_int(ctx, ROWS)}, *shape = dims;
    gpuc_tensor *args[] = {gpuc_te_placeholder(ctx, "A", 2, dims, GPUC_FLOAT32), NULL};
    gpuc_te_extern(ctx, "C", 1, args, 1, &(int){2}, &shape, &(gpuc_dtype){GPUC_DTYPE_FLOAT, 32, 1},
                   loop_over_rows, arg, &args[1]);
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &args[1]);
    gpuc_build_source(ctx, gpuc_target_parse(ctx, "c", NULL), gpuc_schedule_lower(s, "f", 2, args));
}

/* Memory, of which each step of a build takes some, grows with the statements, not with their square. */
static void bodies_grow_with_their_statements(gpuc_ctx *parent, void *arg)
{
    (void)parent;
    (void)arg;
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
        int64_t last = 0;
        for (int n = bodies[k].max / 4; n <= bodies[k].max; n *= 2) {
            int64_t bytes = 0;
            gpuc_ctx *ctx;
            written w = {&bodies[k].body, n};
            assert_null(gpuc_ctx_create(&(gpuc_allocator){.resize = count_bytes, .user = &bytes}, &ctx));
            gpuc_status status = gpuc_ctx_protect(ctx, write_out, &w);
            if (status) fail_msg("%s, %d: %s", w.body->name, n, gpuc_status_message(status));
            gpuc_ctx_destroy(ctx);
            if (last && bytes > 5 * last / 2)
                fail_msg("%s: %lld bytes of memory for %d statements, %lld for half of them", w.body->name,
                         (long long)bytes, n, (long long)last);
            last = bytes;
        }
    }
}

static gpuc_rexpr *doubled(gpuc_ctx *ctx, gpuc_rexpr *x, int times)
{
    for (int i = 0; i < times; i++) {
        gpuc_rexpr *both[] = {x, x};
        x = fx_op(ctx, "concatenate", "axis=0", 2, both);
    }
    return x;
}

/* As often as a vector fits. */
static void lengths_double(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1)), *y = doubled(ctx, x, 20);
    const gpuc_target *target = gpuc_target_parse(ctx, "vulkan", NULL);
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    char path[] = "/tmp/gpuc-growth-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    gpuc_build_package(ctx, fx_module(ctx, y, 1, &x), 1, &target, &options, path, NULL);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 20 * LINK_BYTES);
    remove(path);
}

static void build_beyond(gpuc_ctx *ctx, const char *name)
{
    static const char path[] = "/tmp/gpuc-growth-beyond";
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1)), *y = doubled(ctx, x, 40);
    const gpuc_target *target = gpuc_target_parse(ctx, name, NULL);
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_build_package(ctx, fx_module(ctx, y, 1, &x), 1, &target, &options, path, NULL);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size < 40 * LINK_BYTES);
    remove(path);
}

/* More often: what no device holds is built as quickly; it is refused when it is loaded. */
static void lengths_double_beyond_memory(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    build_beyond(ctx, "vulkan");
    build_beyond(ctx, "opencl/pocl");
}

enum { CHANNELS = 96, IMAGE = 24 };

static gpuc_rexpr *convolve(gpuc_ctx *ctx, gpuc_rexpr *x, const char *attrs, int ndim, const int64_t *weight)
{
    fx_rng rng = {1};
    gpuc_rexpr *args[] = {x, fx_random(ctx, fx_type(ctx, GPUC_FLOAT32, ndim, weight), &rng)};
    return fx_op(ctx, "nn.conv2d", gpuc_ctx_printf(ctx, "strides=[1, 1] dilation=[1, 1] %s", attrs), 2, args);
}

/* Between products, so that channels go last where the target likes that. */
static gpuc_rexpr *depthwise(gpuc_ctx *ctx, gpuc_rexpr **x, int64_t size)
{
    static const char dense[] = "padding=[0, 0, 0, 0] groups=1";
    int pad = (int)size / 2;
    const char *each =
        gpuc_ctx_printf(ctx, "padding=[%d, %d, %d, %d] groups=%d", pad, pad, pad, pad, CHANNELS);
    *x = fx_var(ctx, "x", FX_DIMS(1, CHANNELS, IMAGE, IMAGE));
    gpuc_rexpr *y = convolve(ctx, *x, dense, FX_DIMS(CHANNELS, CHANNELS, 1, 1));
    y = convolve(ctx, y, each, FX_DIMS(CHANNELS, 1, size, size));
    return convolve(ctx, y, dense, FX_DIMS(CHANNELS, CHANNELS, 1, 1));
}

static gpuc_rexpr *depthwise_3(gpuc_ctx *ctx, gpuc_rexpr **x)
{
    return depthwise(ctx, x, 3);
}

static gpuc_rexpr *depthwise_5(gpuc_ctx *ctx, gpuc_rexpr **x)
{
    return depthwise(ctx, x, 5);
}

static gpuc_rexpr *long_window(gpuc_ctx *ctx, gpuc_rexpr **x)
{
    *x = fx_var(ctx, "x", FX_DIMS(1, 2, 1, 1200));
    return convolve(ctx, *x, "padding=[0, 0, 0, 0] groups=1", FX_DIMS(8, 2, 1, 300));
}

typedef struct windows {
    gpuc_rexpr *(*make)(gpuc_ctx *ctx, gpuc_rexpr **x);
    const char *target, *file;
    int64_t max; /* bytes of code */
} windows;

static int64_t emitted_bytes(gpuc_ctx *ctx, const windows *w)
{
    char folder[] = "/tmp/gpuc-growth-XXXXXX";
    assert_non_null(mkdtemp(folder));
    gpuc_rexpr *x, *y = w->make(ctx, &x);
    const gpuc_target *target = gpuc_target_parse(ctx, w->target, NULL);
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    options.emit_dir = folder;
    const char *package = gpuc_ctx_printf(ctx, "%s/package", folder);
    gpuc_build_package(ctx, fx_module(ctx, y, 1, &x), 1, &target, &options, package, NULL);
    struct stat st;
    assert_int_equal(stat(gpuc_ctx_printf(ctx, "%s/%s", folder, w->file), &st), 0);
    const char *const made[] = {"package", "graph.json", "params", w->file};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        remove(gpuc_ctx_printf(ctx, "%s/%s", folder, made[i]));
    assert_int_equal(rmdir(folder), 0);
    return st.st_size;
}

/* A driver takes 0.5 s for each 100 lines that run over a window, while the program waits. */
static void windows_are_short(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const windows rows[] = {
        {depthwise_3, "opencl/pocl", "kernels0.cl", 20 << 10},
        {depthwise_5, "opencl/pocl", "kernels0.cl", 20 << 10},
        {long_window, "opencl/pocl", "kernels0.cl", 12 << 10},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t bytes = emitted_bytes(ctx, &rows[i]);
        if (bytes > rows[i].max)
            fail_msg("row %zu: %lld bytes of code, at most %lld", i, (long long)bytes,
                     (long long)rows[i].max);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {fx_test(packages_grow_with_the_chain),
                                       fx_test(packages_of_awkward_extents_are_small),
                                       fx_test(divisions_of_words_are_short),
                                       fx_test(bodies_grow_with_their_statements),
                                       fx_test(lengths_double),
                                       fx_test(lengths_double_beyond_memory),
                                       fx_test(windows_are_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
