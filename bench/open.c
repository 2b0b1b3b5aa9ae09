/* SPDX-License-Identifier: Apache-2.0 */
/* What it costs to leave sizes open: operators of each class with one size, or all, left to the run, beside
 * the same built for the sizes that are run. Both are sampled by turns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_ops.h"
#include "relay/relay.h"

/* The first input has all open sizes: dimension -n is the n-th of them. */
typedef struct open_op {
    const char *kind, *sizes; /* class of operators; a letter for each open size */
    bench_op op;
    int64_t usual[BENCH_SIZES]; /* of the sizes that are not looked at */
    double work; /* of a run, times all sizes: multiply-adds, or elements moved with what that takes */
} open_op;

static const int64_t tried[] = {1, 19, 64, 500, 4096}, tried_quickly[] = {1, 19, 500};
enum { MAX_PAIRS = 4096, MAX_FLOATS = 1 << 26 };
static const double max_work = 2.2e9;

/* ---- Operators ---- */

static const gpuc_attrs *window(gpuc_ctx *ctx, const char *size, int rank, int64_t n, int64_t stride,
                                int64_t pad)
{
    const int64_t sizes[] = {n, n}, strides[] = {stride, stride}, pads[] = {pad, pad, pad, pad},
                  ones[] = {1, 1};
    const gpuc_attrs *a = size ? gpuc_attrs_ints(ctx, NULL, size, rank, sizes) : NULL;
    a = gpuc_attrs_ints(ctx, a, "strides", rank, strides);
    a = gpuc_attrs_ints(ctx, a, "padding", 2 * rank, pads);
    return gpuc_attrs_ints(ctx, a, "dilation", rank, ones);
}

static const gpuc_attrs *conv_1(gpuc_ctx *ctx)
{
    return window(ctx, NULL, 2, 0, 1, 0);
}

static const gpuc_attrs *conv_3(gpuc_ctx *ctx)
{
    return window(ctx, NULL, 2, 0, 1, 1);
}

static const gpuc_attrs *conv_3_2(gpuc_ctx *ctx)
{
    return window(ctx, NULL, 2, 0, 2, 1);
}

static const gpuc_attrs *conv_of_each(gpuc_ctx *ctx)
{
    return gpuc_attrs_int(ctx, conv_3(ctx), "groups", 32);
}

static const gpuc_attrs *conv_along(gpuc_ctx *ctx)
{
    return window(ctx, NULL, 1, 0, 1, 1);
}

static const gpuc_attrs *pool_3_2(gpuc_ctx *ctx)
{
    return window(ctx, "pool_size", 2, 3, 2, 1);
}

static const gpuc_attrs *pool_2_2(gpuc_ctx *ctx)
{
    return window(ctx, "pool_size", 2, 2, 2, 0);
}

static const gpuc_attrs *rows_of_b(gpuc_ctx *ctx)
{
    return gpuc_attrs_int(ctx, NULL, "transpose_b", 1);
}

static const gpuc_attrs *nchw(gpuc_ctx *ctx)
{
    return gpuc_attrs_ints(ctx, NULL, "axes", 4, (int64_t[]){0, 3, 1, 2});
}

static const gpuc_attrs *nhwc(gpuc_ctx *ctx)
{
    return gpuc_attrs_ints(ctx, NULL, "axes", 4, (int64_t[]){0, 2, 3, 1});
}

static const gpuc_attrs *last_first(gpuc_ctx *ctx)
{
    return gpuc_attrs_ints(ctx, NULL, "axes", 3, (int64_t[]){2, 0, 1});
}

static const gpuc_attrs *axis_1(gpuc_ctx *ctx)
{
    return gpuc_attrs_int(ctx, NULL, "axis", 1);
}

static const gpuc_attrs *last_axis(gpuc_ctx *ctx)
{
    return gpuc_attrs_int(ctx, NULL, "axis", -1);
}

static const gpuc_attrs *over_image(gpuc_ctx *ctx)
{
    return gpuc_attrs_ints(ctx, NULL, "axis", 2, (int64_t[]){2, 3});
}

static const gpuc_attrs *over_last(gpuc_ctx *ctx)
{
    return gpuc_attrs_ints(ctx, NULL, "axis", 1, (int64_t[]){-1});
}

static const gpuc_attrs *over_first(gpuc_ctx *ctx)
{
    return gpuc_attrs_ints(ctx, NULL, "axis", 1, (int64_t[]){0});
}

/* All but the first element along two axes. */
static gpuc_rexpr *slice(gpuc_ctx *ctx, gpuc_rexpr *const *ins)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(ins[0]);
    int64_t begin[BENCH_SIZES] = {0}, strides[BENCH_SIZES] = {1, 1, 1, 1};
    gpuc_expr sizes[BENCH_SIZES];
    for (int i = 0; i < t->ndim; i++) {
        begin[i] = i >= t->ndim - 2 && !gpuc_tir_is_const(t->dims[i], 1);
        sizes[i] = gpuc_sub(ctx, t->dims[i], gpuc_int(ctx, begin[i]));
        if (begin[i]) sizes[i] = gpuc_max(ctx, sizes[i], gpuc_int(ctx, 0)); /* as a model's Slice has it */
    }
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "begin", t->ndim, begin);
    a = gpuc_attrs_sizes(ctx, a, "sizes", t->ndim, sizes);
    return gpuc_relay_op1(ctx, "strided_slice", gpuc_attrs_ints(ctx, a, "strides", t->ndim, strides), ins[0]);
}

static gpuc_rexpr *enlarged(gpuc_ctx *ctx, gpuc_rexpr *x, const char *method)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    gpuc_expr sizes[BENCH_SIZES];
    for (int i = 0; i < t->ndim; i++) sizes[i] = gpuc_mul(ctx, t->dims[i], gpuc_int(ctx, i < 2 ? 1 : 2));
    const gpuc_attrs *a = gpuc_attrs_sizes(ctx, NULL, "sizes", t->ndim, sizes);
    a = gpuc_attrs_floats(ctx, a, "scales", 4, (double[]){1, 1, 2, 2});
    return gpuc_relay_op1(ctx, "image.resize", gpuc_attrs_string(ctx, a, "method", method), x);
}

static gpuc_rexpr *nearest(gpuc_ctx *ctx, gpuc_rexpr *const *ins)
{
    return enlarged(ctx, ins[0], "nearest");
}

static gpuc_rexpr *linear(gpuc_ctx *ctx, gpuc_rexpr *const *ins)
{
    return enlarged(ctx, ins[0], "linear");
}

#define N (-1)
#define H (-2)
#define W (-3)
#define CASE(group, letters, text, operator, at, num, each, ...)                                             \
    .kind = group, .sizes = letters, .work = each, .usual = {__VA_ARGS__},                                   \
    .op = {.title = text, .relay = operator, .attrs = at, .num_inputs = num
#define SPELT(group, letters, text, how, num, each, ...)                                                     \
    .kind = group, .sizes = letters, .work = each, .usual = {__VA_ARGS__},                                   \
    .op = {.title = text, .spell = how, .num_inputs = num
#define WITH(...)                                                                                            \
    .inputs = {__VA_ARGS__}                                                                                  \
    }
/* clang-format off */
static const open_op open_ops[] = {
    {CASE("matmul", "MKN", "[M,K] by [K,N]", "nn.matmul", NULL, 2, 1, 256, 256, 256),
        WITH(FLOATS(2, -1, -2), FLOATS(2, -2, -3))},
    {CASE("matmul", "MKN", "[M,K] by [N,K] transposed", "nn.matmul", rows_of_b, 2, 1, 256, 256, 256),
        WITH(FLOATS(2, -1, -2), FLOATS(2, -3, -2))},
    {CASE("matmul", "BT", "[B,T,256] by weights [256,256]", "nn.matmul", NULL, 2, 65536, 1, 256),
        .constants = 2, WITH(FLOATS(3, -1, -2, 256), FLOATS(2, 256, 256))},
    {CASE("matmul", "BT", "[B,8,T,64] by [B,8,T,64] transposed", "nn.matmul", rows_of_b, 2, 512 * 256, 1, 128),
        WITH(FLOATS(4, -1, 8, -2, 64), FLOATS(4, -1, 8, -2, 64))},
    {CASE("conv", "NHW", "3x3, [N,32,H,W] to 32", "nn.conv2d", conv_3, 2, 9216, 1, 64, 64),
        .constants = 2, WITH(FLOATS(4, N, 32, H, W), FLOATS(4, 32, 32, 3, 3))},
    {CASE("conv", "NHW", "1x1, [N,64,H,W] to 64", "nn.conv2d", conv_1, 2, 4096, 1, 64, 64),
        .constants = 2, WITH(FLOATS(4, N, 64, H, W), FLOATS(4, 64, 64, 1, 1))},
    {CASE("conv", "NHW", "3x3/2, [N,3,H,W] to 48", "nn.conv2d", conv_3_2, 2, 324, 1, 64, 64),
        .constants = 2, WITH(FLOATS(4, N, 3, H, W), FLOATS(4, 48, 3, 3, 3))},
    {CASE("conv", "NHW", "depthwise 3x3, [N,32,H,W]", "nn.conv2d", conv_of_each, 2, 1000, 1, 64, 64),
        .constants = 2, WITH(FLOATS(4, N, 32, H, W), FLOATS(4, 32, 1, 3, 3))},
    {CASE("conv", "NL", "3, [N,32,L] to 32", "nn.conv1d", conv_along, 2, 3072, 1, 500),
        .constants = 2, WITH(FLOATS(3, -1, 32, -2), FLOATS(3, 32, 32, 3))},
    {CASE("pool", "NHW", "max of 3x3/2, [N,32,H,W]", "nn.max_pool2d", pool_3_2, 1, 300, 1, 64, 64), WITH(FLOATS(4, N, 32, H, W))},
    {CASE("pool", "NHW", "mean of 2x2/2, [N,32,H,W]", "nn.avg_pool2d", pool_2_2, 1, 300, 1, 64, 64), WITH(FLOATS(4, N, 32, H, W))},
    {CASE("pool", "NHW", "mean of images, [N,32,H,W]", "mean", over_image, 1, 300, 1, 64, 64), WITH(FLOATS(4, N, 32, H, W))},
    {CASE("transpose", "NHW", "[N,H,W,16] to [N,16,H,W]", "transpose", nchw, 1, 160, 1, 64, 64), WITH(FLOATS(4, N, H, W, 16))},
    {CASE("transpose", "NHW", "[N,16,H,W] to [N,H,W,16]", "transpose", nhwc, 1, 160, 1, 64, 64), WITH(FLOATS(4, N, 16, H, W))},
    {CASE("transpose", "ABC", "[A,B,C] to [C,A,B]", "transpose", last_first, 1, 10, 64, 64, 64), WITH(FLOATS(3, -1, -2, -3))},
    {CASE("transpose", "AB", "[A,B] to [B,A]", "transpose", NULL, 1, 10, 500, 500), WITH(FLOATS(2, -1, -2))},
    {SPELT("slice", "NHW", "[N,16,H,W], first row and column off", slice, 1, 160, 1, 64, 64), WITH(FLOATS(4, N, 16, H, W))},
    {SPELT("slice", "ABC", "[A,B,C], first row and column off", slice, 1, 10, 64, 64, 64), WITH(FLOATS(3, -1, -2, -3))},
    {CASE("concat", "ABC", "two [A,B,C] along B", "concatenate", axis_1, 2, 20, 64, 64, 64),
        WITH(FLOATS(3, -1, -2, -3), FLOATS(3, -1, -2, -3))},
    {CASE("concat", "ABC", "two [A,B,C] along C", "concatenate", last_axis, 2, 20, 64, 64, 64),
        WITH(FLOATS(3, -1, -2, -3), FLOATS(3, -1, -2, -3))},
    {SPELT("resize", "NHW", "nearest by 2, [N,16,H,W]", nearest, 1, 640, 1, 64, 64), WITH(FLOATS(4, N, 16, H, W))},
    {SPELT("resize", "NHW", "linear by 2, [N,16,H,W]", linear, 1, 2000, 1, 64, 64), WITH(FLOATS(4, N, 16, H, W))},
    {CASE("softmax", "AB", "[A,B], rows", "nn.softmax", last_axis, 1, 40, 500, 500), WITH(FLOATS(2, -1, -2))},
    {CASE("softmax", "ABC", "[A,B,C] along B", "nn.softmax", axis_1, 1, 40, 64, 64, 64), WITH(FLOATS(3, -1, -2, -3))},
    {CASE("reduce", "AB", "sums of rows, [A,B]", "sum", over_last, 1, 20, 500, 500), WITH(FLOATS(2, -1, -2))},
    {CASE("reduce", "AB", "sums of columns, [A,B]", "sum", over_first, 1, 20, 500, 500), WITH(FLOATS(2, -1, -2))},
    {CASE("elementwise", "ABC", "[A,B,C] + [C]", "add", NULL, 2, 20, 64, 64, 64), WITH(FLOATS(3, -1, -2, -3), FLOATS(1, -3))},
    {CASE("elementwise", "ABC", "[A,B,C] * [A,1,C]", "multiply", NULL, 2, 20, 64, 64, 64),
        WITH(FLOATS(3, -1, -2, -3), FLOATS(3, -1, 1, -3))},
    {CASE("elementwise", "ABC", "exp of [A,B,C]", "exp", NULL, 1, 20, 64, 64, 64), WITH(FLOATS(3, -1, -2, -3))},
};
/* clang-format on */

/* ---- Pairs ---- */

typedef struct pair {
    const open_op *op;
    const char *target;
    char what[96]; /* the sizes that are run, open ones marked */
    double open, pinned, difference;
    const char *failure;
} pair;

typedef struct pairs {
    pair at[MAX_PAIRS];
    int count;
} pairs;

static double ratio(const pair *p)
{
    return p->pinned > 0 ? p->open / p->pinned : 0;
}

/* The shapes with numbers for the sizes that are not open, a bit each. */
static bench_op with_sizes(const open_op *o, const int64_t *sizes, unsigned open)
{
    bench_op out = o->op;
    for (int i = 0; i < out.num_inputs; i++)
        for (int k = 0; k < out.inputs[i].ndim; k++) {
            int64_t *d = &out.inputs[i].dims[k];
            if (*d < 0 && !(open >> (-*d - 1) & 1)) *d = sizes[-*d - 1];
        }
    return out;
}

static gpuc_status sample(bench_job *j, double *min)
{
    double from = bench_now();
    GPUC_TRY(bench_job_run(j));
    double t = bench_now() - from;
    if (*min == 0 || t < *min) *min = t;
    return NULL;
}

/* The min of samples that are taken by turns: what else the machine does hits both alike. */
static gpuc_status measure(bench_job *open, bench_job *pinned, const bench_plan *plan, pair *p)
{
    double start = bench_now(), budget = plan->budget / 10;
    for (int i = 0; i < 3 || (bench_now() - start < budget && i < 4 * BENCH_MAX_SAMPLES); i++) {
        GPUC_TRY(sample(open, &p->open));
        GPUC_TRY(sample(pinned, &p->pinned));
    }
    return NULL;
}

static gpuc_status compare(bench_job *open, bench_job *pinned, pair *p)
{
    gpuc_dtype type;
    int64_t count, same;
    void *a = NULL, *b = NULL;
    gpuc_status status = bench_job_output(open, &type, &count, &a);
    if (!status) status = bench_job_output(pinned, &type, &same, &b);
    if (!status && same != count) p->difference = INFINITY;
    for (int64_t i = 0; !status && same == count && i < count; i++) {
        double x = bench_element(type, a, i), y = bench_element(type, b, i), d = fabs(x - y) / (1 + fabs(y));
        if (!(d <= p->difference)) p->difference = d;
    }
    free(a);
    free(b);
    return status;
}

static void describe(const open_op *o, const int64_t *sizes, unsigned open, pair *p)
{
    size_t n = 0;
    for (int i = 0; o->sizes[i]; i++)
        n += (size_t)snprintf(p->what + n, sizeof p->what - n, "%s%c%s=%lld", i ? " " : "", o->sizes[i],
                              open >> i & 1 ? "?" : "", (long long)sizes[i]);
}

static void add(pairs *all, pair *p, gpuc_status status)
{
    if (status) p->failure = strdup(gpuc_status_message(status));
    gpuc_status_release(status);
    if (all->count < MAX_PAIRS) all->at[all->count++] = *p;
    fprintf(stderr, "%s, %s, %s, %s: %s %.3f / %.3f ms = %.2f\n", p->target, p->op->kind, p->op->op.title,
            p->what, p->failure ? p->failure : "", p->open * 1e3, p->pinned * 1e3, ratio(p));
}

static bool fits(const open_op *o, const int64_t *sizes)
{
    double work = o->work;
    for (int i = 0; o->sizes[i]; i++) work *= (double)sizes[i];
    bench_op op = with_sizes(o, sizes, 0);
    int64_t count = 0;
    for (int i = 0; i < op.num_inputs; i++) count += bench_count(&op.inputs[i]);
    return work <= max_work && count <= MAX_FLOATS;
}

/* One operator on one target: packages with one size open, and with all, each run with many sizes. */
typedef struct family {
    const open_op *o;
    const char *work;
    int n; /* sizes; package n has all of them open */
    bench_subject subject;
    bench_job jobs[BENCH_SIZES + 1];
    gpuc_status broken[BENCH_SIZES + 1]; /* why a package could not be built */
    bench_op ops[BENCH_SIZES + 1];
    bool quick; /* some sizes, along one axis at a time */
    pairs *all;
} family;

static void try_pair(family *f, int package, const int64_t *sizes, bench_job *pinned)
{
    unsigned open = package == f->n ? (1U << f->n) - 1 : 1U << package;
    pair p = {.op = f->o, .target = f->subject.target};
    bench_op run = with_sizes(f->o, sizes, 0);
    bench_job *j = &f->jobs[package];
    describe(f->o, sizes, open, &p);
    j->op = &run;
    gpuc_status status =
        f->broken[package] ? gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "%s", gpuc_status_message(f->broken[package]))
                           : bench_job_feed(j);
    if (!status) status = measure(j, pinned, &f->subject.plan, &p);
    if (!status) status = compare(j, pinned, &p);
    add(f->all, &p, status);
}

/* axis n: all have the size. */
static void try_size(family *f, int axis, int64_t size)
{
    int64_t sizes[BENCH_SIZES];
    for (int i = 0; i < f->n; i++) sizes[i] = i == axis || axis == f->n ? size : f->o->usual[i];
    if (!fits(f->o, sizes)) return;
    bench_subject s = f->subject;
    bench_op op = with_sizes(f->o, sizes, 0);
    bench_job pinned = {.op = &op, .s = &s};
    gpuc_status status = bench_job_build(&pinned, f->work);
    if (!status) status = bench_job_feed(&pinned);
    if (status) {
        pair p = {.op = f->o, .target = s.target};
        describe(f->o, sizes, 0, &p);
        add(f->all, &p, status);
    } else {
        if (axis < f->n) try_pair(f, axis, sizes, &pinned);
        if (f->n > 1) try_pair(f, f->n, sizes, &pinned);
    }
    bench_job_deinit(&pinned);
}

static void try_family(family *f)
{
    f->n = (int)strlen(f->o->sizes);
    for (int i = 0; i <= f->n; i++) {
        f->ops[i] = with_sizes(f->o, f->o->usual, i < f->n ? 1U << i : (1U << f->n) - 1);
        f->jobs[i] = (bench_job){.op = &f->ops[i], .s = &f->subject};
        f->broken[i] = bench_job_build(&f->jobs[i], f->work);
    }
    const int64_t *sizes = f->quick ? tried_quickly : tried;
    size_t count = f->quick ? BENCH_COUNT(tried_quickly) : BENCH_COUNT(tried);
    for (int axis = 0; axis <= f->n - f->quick; axis++)
        for (size_t k = 0; k < count; k++) try_size(f, axis, sizes[k]);
    for (int i = 0; i <= f->n; i++) {
        gpuc_status_release(f->broken[i]);
        bench_job_deinit(&f->jobs[i]);
    }
}

/* ---- Tables ---- */

/* By class, as operators stand in the table, then the worst first. */
static int by_class(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    if (strcmp(x->op->kind, y->op->kind)) return x->op < y->op ? -1 : 1;
    if (!x->failure != !y->failure) return x->failure ? -1 : 1;
    return (ratio(x) < ratio(y)) - (ratio(x) > ratio(y));
}

static void print_pair(const pair *p)
{
    printf("| %s | %s | %s | %s ", p->op->kind, p->op->op.title, p->what, p->target);
    if (p->failure)
        printf("| %s | | | |\n", p->failure);
    else
        printf("| %.3f ms | %.3f ms | %.2f | %.2g |\n", p->open * 1e3, p->pinned * 1e3, ratio(p),
               p->difference);
}

static void print_header(void)
{
    printf("| class | operator | sizes (?: open) | target | open | pinned | ratio | worst difference |\n"
           "|---|---|---|---|---|---|---|---|\n");
}

static void print_tables(pairs *all, int num_targets, const char *const *targets)
{
    qsort(all->at, (size_t)all->count, sizeof *all->at, by_class);
    print_header();
    for (int t = 0; t < num_targets; t++) {
        const char *kind = "";
        for (int i = 0; i < all->count; i++) {
            const pair *p = &all->at[i];
            if (strcmp(p->target, targets[t]) || !strcmp(p->op->kind, kind)) continue;
            kind = p->op->kind;
            print_pair(p);
        }
    }
    printf("\n");
    print_header();
    for (int i = 0; i < all->count; i++) print_pair(&all->at[i]);
}

gpuc_status bench_open_sizes(const bench_subject *like, const char *work, const char *word, bool quick,
                             int num_targets, const char *const *targets)
{
    pairs *all = calloc(1, sizeof *all);
    if (!all) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the pairs");
    bool found = false;
    for (size_t i = 0; i < BENCH_COUNT(open_ops); i++) {
        if (!strstr(open_ops[i].kind, word) && !strstr(open_ops[i].op.title, word)) continue;
        found = true;
        for (int t = 0; t < num_targets; t++) {
            family f = {.o = &open_ops[i], .work = work, .subject = *like, .quick = quick, .all = all};
            f.subject.target = targets[t];
            try_family(&f);
        }
    }
    if (found) print_tables(all, num_targets, targets);
    for (int i = 0; i < all->count; i++) free((char *)all->at[i].failure);
    free(all);
    return found ? NULL : bench_nothing_has(word);
}
