/* SPDX-License-Identifier: Apache-2.0 */
/* test_autoschedule_staged [CASES [SEED]]: products and convolutions of GPUs whose groups stage what they read. Kernels of a
 * target, by its own tile and by others, run in the evaluator, and give the bytes that the definition gives: numbers are
 * small integers, whose sums are exact. Shared memory and threads are within those of the target, and padding is
 * read through. */
#include "../relay/fixture.h"

#include "autoschedule/rules.h"
#include "lower/lower.h"
#include "tir/intern.h"

#include <gpuc/schedule.h>

#define TARGET                                                                                               \
    "vulkan -max_num_threads=%d -max_threads_x=%d -max_threads_y=%d -max_shared_memory=%d "                  \
    "-max_storage_buffers=8 -float64=1 -float16=%d -int8=%d -storage8=1 -storage16=1 -num_cores=%d "         \
    "-max_iterations=0"

static const struct {
    int threads, x, y, shared, halves, cores;
} targets[] = {{1024, 1024, 1024, 49152, 1, 132},
               {128, 128, 64, 16384, 0, 1},
               {256, 256, 4, 32768, 1, 16},
               {64, 8, 64, 4096, 0, 4},
               {32, 32, 32, 1024, 1, 16}};
enum { TARGETS = sizeof targets / sizeof *targets, DIMS = 6, MAX_ARGS = 8 };

typedef enum after { NOTHING, RELU, ADD, MAX_AND_CAST, RESHAPE, ITS_MAX, AFTER_COUNT } after;

typedef struct staged_case {
    const char *op, *attrs;
    gpuc_dtype type;
    int64_t in[2][DIMS]; /* extents up to a 0; negative: a size that only a run knows, one for each number */
    after after;
    int kernels; /* on the first target, if it is staged by default; 0: it is not */
} staged_case;

static int extents_of(const staged_case *c, int i)
{
    int n = 0;
    while (n < DIMS && c->in[i][n]) n++;
    return n;
}

static const char *text_of(gpuc_ctx *ctx, const staged_case *c)
{
    const char *text =
        gpuc_ctx_printf(ctx, "%s(%s) of %d bits, then %d:", c->op, c->attrs, c->type.bits, c->after);
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < extents_of(c, i); d++)
            text = gpuc_ctx_printf(ctx, "%s%s%lld", text, d ? "x" : " ", (long long)c->in[i][d]);
    return text;
}

/* ---- Functions ---- */

/* A function of a case, of tensors or of extents: args end with the output. */
typedef struct function {
    gpuc_ctx *ctx;
    int n;
    gpuc_tensor *args[MAX_ARGS];
    gpuc_tensor_type types[MAX_ARGS];
    int64_t sizes[8]; /* of variables */
    gpuc_expr vars[8];
    int num_vars;
    gpuc_map made; /* expression -> tensor */
} function;

static gpuc_expr extent(function *f, int64_t d)
{
    if (d > 0) return gpuc_int(f->ctx, d);
    for (int i = 0; i < f->num_vars; i++)
        if (f->sizes[i] == -d) return f->vars[i];
    f->sizes[f->num_vars] = -d;
    return f->vars[f->num_vars++] = gpuc_var(f->ctx, gpuc_ctx_printf(f->ctx, "n%d", (int)-d), GPUC_INDEX);
}

static gpuc_rexpr *input(function *f, gpuc_dtype type, int n, const gpuc_expr *dims)
{
    return gpuc_relay_var(f->ctx, gpuc_ctx_printf(f->ctx, "x%d", f->n++),
                          gpuc_relay_rtype_tensor(f->ctx, type, n, dims));
}

static gpuc_tensor *tensor_of(function *f, gpuc_rexpr *e)
{
    gpuc_ctx *ctx = f->ctx;
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    gpuc_tensor *before = gpuc_map_get(&f->made, e);
    if (before) return before;
    if (e->kind == GPUC_REXPR_VAR) {
        int i = 0;
        while (f->args[i]) i++;
        f->types[i] = *t;
        return f->args[i] =
                   gpuc_te_placeholder(ctx, gpuc_ctx_printf(ctx, "x%d", i), t->ndim, t->dims, t->dtype);
    }
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_tensor *in[4], *made;
    gpuc_tensor_type types[4], out = *t;
    const gpuc_expr *values = NULL;
    for (int i = 0; i < c->n; i++) {
        in[i] = tensor_of(f, c->args[i]);
        types[i] = *gpuc_relay_tensor_type(c->args[i]);
    }
    gpuc_op_call call = {.ctx = ctx,
                         .op = gpuc_relay_call_op(e),
                         .attrs = c->attrs,
                         .num_in = c->n,
                         .in = types,
                         .in_values = gpuc_new_array(ctx, const gpuc_expr *, c->n),
                         .num_out = 1,
                         .out = &out,
                         .out_values = &values};
    call.op->compute(&call, in, &made);
    gpuc_map_set(&f->made, e, made);
    return made;
}

static void make(gpuc_ctx *ctx, const staged_case *c, function *f)
{
    *f = (function){.ctx = ctx};
    gpuc_map_init(&f->made, ctx);
    gpuc_rexpr *in[2];
    for (int i = 0; i < 2; i++) {
        gpuc_expr dims[DIMS];
        for (int d = 0; d < extents_of(c, i); d++) dims[d] = extent(f, c->in[i][d]);
        in[i] = input(f, c->type, extents_of(c, i), dims);
    }
    gpuc_rexpr *e = fx_op(ctx, c->op, c->attrs, 2, in);
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(e);
    switch (c->after) {
    case RELU: e = fx_op1(ctx, "nn.relu", "", e); break;
    case ADD:
        e = fx_op1(ctx, "nn.relu", "", fx_op2(ctx, "add", input(f, t->dtype, t->ndim, t->dims), e));
        break;
    case MAX_AND_CAST:
        e = fx_op1(ctx, "cast", "dtype=float32",
                   fx_op2(ctx, "maximum", e, input(f, t->dtype, 1, t->dims + t->ndim - 1)));
        break;
    case RESHAPE: e = fx_op1(ctx, "transpose", "", e); break;
    case ITS_MAX: e = fx_op2(ctx, "subtract", e, fx_op1(ctx, "max", "axis=[0] keepdims=1", e)); break;
    case NOTHING:
    case AFTER_COUNT: break;
    }
    gpuc_tensor *out = tensor_of(f, e);
    f->types[f->n] = *gpuc_relay_tensor_type(e);
    f->args[f->n++] = out;
}

/* ---- Memory ---- */

static int64_t value_of(const function *f, gpuc_expr e)
{
    gpuc_expr sizes[8];
    int64_t n = 0;
    for (int i = 0; i < f->num_vars; i++) sizes[i] = gpuc_int(f->ctx, f->sizes[i]);
    assert_true(gpuc_expr_is_int(gpuc_tir_substitute(f->ctx, e, f->num_vars, f->vars, sizes), &n));
    return n;
}

static void put(gpuc_dtype t, void *at, size_t i, int v)
{
    static const uint16_t halves[] = {0, 0x3c00, 0x4000};
    float single = (float)v;
    double whole = v;
    uint16_t half = (uint16_t)(halves[v < 0 ? -v : v] | (v < 0 ? 0x8000 : 0));
    int8_t byte = (int8_t)v;
    if (gpuc_is_integer(t)) {
        memcpy((char *)at + i * gpuc_dtype_bytes(t), t.bits == 8 ? (void *)&byte : (void *)&v,
               gpuc_dtype_bytes(t));
        return;
    }
    if (t.bits == 64) memcpy((double *)at + i, &whole, 8);
    if (t.bits == 32) memcpy((float *)at + i, &single, 4);
    if (t.bits == 16) memcpy((uint16_t *)at + i, &half, 2);
}

static void allocate(const function *f, int last, fx_rng *r, gpuc_tir_arg *out)
{
    for (int i = 0; i <= last; i++) {
        size_t count = 1;
        for (int d = 0; d < f->types[i].ndim; d++) count *= (size_t)value_of(f, f->types[i].dims[d]);
        size_t bytes = count * gpuc_dtype_bytes(f->types[i].dtype);
        out[i] = (gpuc_tir_arg){gpuc_ctx_alloc(f->ctx, bytes + 16), bytes};
        for (size_t k = 0; k < count && i < last; k++)
            put(f->types[i].dtype, out[i].data, k, fx_below(r, 5) - 2);
    }
}

static const int64_t *scalars_of(const function *f, const gpuc_tir_func *of)
{
    int64_t *out = gpuc_new_array(f->ctx, int64_t, of->num_scalars + 1);
    for (int i = 0; i < of->num_scalars; i++) out[i] = value_of(f, of->scalars[i]);
    return out;
}

/* ---- Kernels ---- */

static void count_shared(gpuc_stmt s, void *arg)
{
    int64_t n = 0, *bytes = arg;
    if (s->kind != GPUC_STMT_ALLOC || gpuc_as_alloc(s)->buffer->scope != GPUC_SCOPE_SHARED) return;
    assert_true(gpuc_expr_is_int(gpuc_as_alloc(s)->buffer->shape[0], &n));
    *bytes += n * (int64_t)gpuc_dtype_bytes(gpuc_as_alloc(s)->buffer->dtype);
}

static int64_t shared_of(gpuc_ctx *ctx, const gpuc_tir_program *p)
{
    int64_t most = 0;
    for (int i = 0; i < p->num_kernels; i++) {
        int64_t bytes = 0;
        gpuc_tir_visit_stmt(ctx, p->kernels[i]->body, count_shared, NULL, &bytes);
        if (bytes > most) most = bytes;
    }
    return most;
}

static void check_threads(gpuc_ctx *ctx, const gpuc_tir_program *p, const gpuc_target *t)
{
    for (int i = 0; i < p->num_kernels; i++) {
        const gpuc_tir_func *k = p->kernels[i];
        int64_t all = 1, n;
        for (int j = 0; j < k->num_threads; j++) {
            gpuc_thread_tag tag = k->threads[j].tag;
            if (!gpuc_is_thread_tag(tag) || !gpuc_expr_is_int(k->threads[j].extent, &n)) continue;
            int64_t most =
                !strcmp(gpuc_thread_tag_name(tag), "threadIdx.x") ? t->max_threads_x : t->max_threads_y;
            if (n > most) gpuc_raise(ctx, GPUC_INTERNAL, "a group has %lld threads in a row", (long long)n);
            all *= n;
        }
        if (all > t->max_num_threads)
            gpuc_raise(ctx, GPUC_INTERNAL, "a group has %lld threads", (long long)all);
    }
}

static void run_kernels(const function *f, const gpuc_tir_program *p, const gpuc_tir_func *whole,
                        gpuc_tir_arg *given)
{
    gpuc_ctx *ctx = f->ctx;
    gpuc_tir_arg *all = gpuc_new_array(ctx, gpuc_tir_arg, f->n + p->num_workspaces);
    const int64_t *scalars = scalars_of(f, whole);
    memcpy(all, given, sizeof *all * (size_t)f->n);
    for (int i = 0; i < p->num_workspaces; i++) {
        size_t bytes =
            (size_t)value_of(f, p->workspaces[i]->shape[0]) * gpuc_dtype_bytes(p->workspaces[i]->dtype);
        bytes = (bytes + 15) / 16 * 16;
        all[f->n + i] = (gpuc_tir_arg){gpuc_ctx_alloc(ctx, bytes), bytes};
    }
    for (int i = 0; i < p->num_kernels; i++) {
        const gpuc_tir_func *k = p->kernels[i];
        gpuc_tir_arg *own = gpuc_new_array(ctx, gpuc_tir_arg, k->num_buffers + 1);
        int64_t *sizes = gpuc_new_array(ctx, int64_t, k->num_scalars + 1);
        gpuc_tir_validate(ctx, k, "lower");
        for (int b = 0; b < k->num_buffers; b++) {
            own[b] = all[p->args[i].buffers[b]];
            own[b].size = (own[b].size + 15) / 16 * 16; /* what is behind it may be read by whole vectors */
        }
        for (int b = 0; b < k->num_scalars; b++) sizes[b] = scalars[p->args[i].scalars[b]];
        GPUC_RAISE_IF(ctx,
                      gpuc_error_prefix(gpuc_ev_run(ctx, k, own, sizes, true), "%s", gpuc_tir_text(ctx, k)));
    }
}

/* ---- Checks ---- */

typedef struct job {
    gpuc_ctx *ctx;
    const staged_case *c;
    int target;
    fx_rng rng;
    bool at_random;     /* knobs */
    const char *chosen; /* what they got */
    int64_t shared;     /* bytes */
    int kernels;
} job;

static int64_t choose(void *user, const gpuc_asked *knob)
{
    job *j = user;
    int64_t value = !strcmp(knob->name, "staged") && fx_below(&j->rng, 8)
                        ? 1
                        : knob->candidates[fx_below(&j->rng, knob->n)];
    j->chosen = gpuc_ctx_printf(j->ctx, "%s %s=%lld", j->chosen, knob->name, (long long)value);
    return value;
}

static void compare(gpuc_ctx *ctx, job *j)
{
    const staged_case *c = j->c;
    const gpuc_target *t = gpuc_target_parse(
        ctx,
        gpuc_ctx_printf(ctx, TARGET, targets[j->target].threads, targets[j->target].x, targets[j->target].y,
                        targets[j->target].shared, targets[j->target].halves, targets[j->target].halves,
                        targets[j->target].cores),
        NULL);
    function plain, f;
    gpuc_tir_arg want[MAX_ARGS], got[MAX_ARGS];
    make(ctx, c, &plain);
    allocate(&plain, plain.n - 1, &j->rng, want);
    const gpuc_tir_func *definition = gpuc_te_lower_plain(ctx, "plain", plain.n, plain.args);
    GPUC_RAISE_IF(ctx, gpuc_ev_run(ctx, definition, want, scalars_of(&plain, definition), false));
    make(ctx, c, &f);
    memcpy(got, want, sizeof got);
    got[f.n - 1].data = gpuc_ctx_alloc(ctx, want[f.n - 1].size + 16);
    gpuc_knobs knobs = {.ctx = ctx, .choose = choose, .user = j};
    gpuc_schedule *s = gpuc_topi_schedule(ctx, t, j->at_random ? &knobs : NULL, 1, &f.args[f.n - 1]);
    const gpuc_tir_func *scheduled = gpuc_schedule_lower(s, "f", f.n, f.args);
    const gpuc_tir_program *p = gpuc_lower(ctx, scheduled, t);
    j->kernels = p->num_kernels;
    j->shared = shared_of(ctx, p);
    if (j->shared > t->max_shared_memory)
        gpuc_raise(ctx, GPUC_INTERNAL, "a group has %lld bytes of shared memory", (long long)j->shared);
    check_threads(ctx, p, t);
    run_kernels(&f, p, scheduled, got);
    if (memcmp(got[f.n - 1].data, want[f.n - 1].data, want[f.n - 1].size) != 0)
        gpuc_raise(ctx, GPUC_INTERNAL, "the result differs");
}

static void body(gpuc_ctx *ctx, void *arg)
{
    compare(ctx, arg);
}

/* Returns whether it passed. */
static bool check(job *j)
{
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    bool verbose = getenv("GPUC_TEST_VERBOSE");
    const uint64_t seed = j->rng.state;
    if (verbose)
        print_message("%s, target %d, state %llu\n", text_of(ctx, j->c), j->target, (unsigned long long)seed);
    j->ctx = ctx;
    j->chosen = "";
    gpuc_status status = gpuc_ctx_protect(ctx, body, j);
    if (status)
        print_message("%s, target %d, with%s: %s\n", text_of(ctx, j->c), j->target, j->chosen,
                      gpuc_status_message(status));
    gpuc_status_release(status);
    gpuc_ctx_destroy(ctx);
    return !status;
}

#define N(...)                                                                                               \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
static const staged_case cases[] = {
    /* products: rows and columns of whole tiles, of parts, of primes; transposed operands; batches */
    {"nn.matmul", "", GPUC_FLOAT32, {N(64, 32), N(32, 64)}, NOTHING, 1},
    {"nn.matmul", "", GPUC_FLOAT32, {N(61, 37), N(37, 67)}, RELU, 1},
    {"nn.matmul", "transpose_a=1", GPUC_FLOAT32, {N(33, 50), N(33, 44)}, NOTHING, 1},
    {"nn.matmul", "transpose_b=1", GPUC_FLOAT32, {N(50, 33), N(44, 33)}, NOTHING, 1},
    {"nn.matmul", "transpose_a=1 transpose_b=1", GPUC_FLOAT32, {N(3, 17, 23), N(31, 17)}, ADD, 1},
    {"nn.dense", "", GPUC_FLOAT32, {N(19, 300), N(21, 300)}, MAX_AND_CAST, 1},
    {"nn.matmul", "", GPUC_FLOAT64, {N(2, 40, 19), N(2, 19, 36)}, NOTHING, 1},
    {"nn.matmul", "", GPUC_FLOAT16, {N(40, 24), N(24, 40)}, RELU, 1},
    {"nn.matmul", "out_dtype=float32", GPUC_FLOAT16, {N(33, 40), N(40, 70)}, NOTHING, 1},
    {"nn.matmul", "", GPUC_FLOAT32, {N(48, 1), N(1, 48)}, NOTHING, 1},
    {"nn.matmul", "", GPUC_FLOAT32, {N(7, 64), N(64, 64)}, NOTHING, 0},
    {"nn.matmul", "", GPUC_FLOAT32, {N(64, 64), N(64, 7)}, RESHAPE, 0},
    {"nn.matmul", "", GPUC_FLOAT32, {N(1, 64), N(64, 64)}, NOTHING, 0},
    {"nn.matmul", "", GPUC_FLOAT32, {N(2, 1, 20, 12), N(3, 12, 24)}, NOTHING, 1},
    /* a reader in loops of its own, beside the output */
    {"nn.matmul", "", GPUC_FLOAT32, {N(61, 37), N(37, 67)}, ITS_MAX, 3},
    /* few rows or columns of long sums, in parts */
    {"nn.matmul", "", GPUC_FLOAT32, {N(4, 2048), N(2048, 96)}, RELU, 2},
    {"nn.matmul", "transpose_b=1", GPUC_FLOAT16, {N(16, 4096), N(9, 4096)}, ADD, 2},
    {"nn.matmul", "", GPUC_FLOAT32, {N(12, 2000), N(2000, 12)}, RESHAPE, 3},
    {"nn.conv2d",
     "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1]",
     GPUC_FLOAT32,
     {N(1, 256, 3, 3), N(8, 256, 3, 3)},
     ADD,
     2},
    /* sizes that only a run knows */
    {"nn.matmul", "", GPUC_FLOAT32, {N(-37, 32), N(32, 48)}, RELU, 1},
    {"nn.matmul", "", GPUC_FLOAT32, {N(48, 32), N(32, -45)}, NOTHING, 1},
    {"nn.dense", "", GPUC_FLOAT32, {N(-3, -5, 40), N(40, 40)}, NOTHING, 1},
    {"nn.conv2d",
     "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1]",
     GPUC_FLOAT32,
     {N(-2, 8, -11, -13), N(16, 8, 3, 3)},
     ADD,
     1},
    /* convolutions */
    {"nn.conv1d",
     "strides=[1] padding=[1, 2] dilation=[1]",
     GPUC_FLOAT32,
     {N(2, 9, 41), N(20, 9, 4)},
     NOTHING,
     1},
    {"nn.conv1d",
     "strides=[3] padding=[0, 0] dilation=[2]",
     GPUC_FLOAT32,
     {N(1, 5, 90), N(9, 5, 3)},
     RELU,
     1},
    {"nn.conv2d",
     "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1]",
     GPUC_FLOAT32,
     {N(1, 6, 10, 14), N(12, 6, 3, 3)},
     RELU,
     1},
    {"nn.conv2d",
     "strides=[2, 2] padding=[3, 3, 3, 3] dilation=[1, 1]",
     GPUC_FLOAT32,
     {N(1, 3, 24, 24), N(16, 3, 7, 7)},
     NOTHING,
     1},
    {"nn.conv2d",
     "strides=[2, 3] padding=[0, 1, 2, 0] dilation=[2, 1]",
     GPUC_FLOAT32,
     {N(2, 4, 19, 23), N(10, 4, 3, 2)},
     ADD,
     1},
    {"nn.conv2d",
     "strides=[1, 1] padding=[0, 0, 0, 0] dilation=[1, 1]",
     GPUC_FLOAT16,
     {N(1, 16, 7, 9), N(24, 16, 1, 1)},
     RELU,
     1},
    {"nn.conv2d",
     "strides=[2, 2] padding=[0, 0, 0, 0] dilation=[1, 1]",
     GPUC_FLOAT64,
     {N(1, 7, 15, 17), N(17, 7, 1, 1)},
     NOTHING,
     1},
    {"nn.conv2d",
     "strides=[4, 4] padding=[0, 0, 0, 0] dilation=[1, 1]",
     GPUC_FLOAT32,
     {N(1, 3, 21, 25), N(12, 3, 4, 4)},
     NOTHING,
     1},
    {"nn.conv2d",
     "strides=[1, 1] padding=[2, 2, 2, 2] dilation=[1, 1]",
     GPUC_FLOAT32,
     {N(1, 2, 3, 3), N(33, 2, 5, 5)},
     NOTHING,
     1},
    {"nn.conv2d",
     "strides=[1, 1] padding=[-1, 0, 0, -1] dilation=[1, 1]",
     GPUC_FLOAT32,
     {N(1, 4, 9, 12), N(11, 4, 2, 2)},
     NOTHING,
     1},
    {"nn.conv3d",
     "strides=[1, 2, 1] padding=[1, 0, 1, 0, 1, 1] dilation=[1, 1, 2]",
     GPUC_FLOAT32,
     {N(1, 3, 5, 8, 11), N(9, 3, 2, 3, 2)},
     RELU,
     1},
    /* a large window, staged line by line */
    {"nn.conv2d",
     "strides=[12, 12] padding=[0, 0, 0, 0] dilation=[1, 1]",
     GPUC_FLOAT32,
     {N(1, 2, 48, 48), N(16, 2, 12, 12)},
     NOTHING,
     1},
    /* readers of parts of rows, which are rounded up to 16 */
    {"nn.conv2d",
     "strides=[1, 1] padding=[0, 1, 0, 1] dilation=[1, 1]",
     GPUC_FLOAT64,
     {N(1, 4, 9, 10), N(9, 4, 1, 3)},
     RESHAPE,
     2},
    {"nn.conv2d",
     "strides=[1, 1] padding=[0, 1, 0, 1] dilation=[1, 1]",
     GPUC_FLOAT32,
     {N(1, 4, 9, 10), N(9, 4, 1, 3)},
     RESHAPE,
     2},
    /* integers */
    {"nn.conv2d",
     "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1] out_dtype=int32",
     GPUC_INT8,
     {N(1, 12, 12, 12), N(16, 12, 3, 3)},
     RELU,
     1},
    {"nn.conv2d",
     "strides=[2, 2] padding=[1, 1, 1, 1] dilation=[1, 1]",
     GPUC_INT32,
     {N(1, 5, 15, 17), N(12, 5, 3, 3)},
     NOTHING,
     1},
    {"nn.matmul", "out_dtype=int32", GPUC_INT8, {N(32, 32), N(32, 32)}, NOTHING, 0},
    {"nn.conv2d",
     "strides=[1, 1] padding=[1, 1, 1, 1] dilation=[1, 1] groups=2",
     GPUC_FLOAT32,
     {N(1, 8, 8, 9), N(16, 4, 3, 3)},
     NOTHING,
     0},
    {"nn.conv2d_transpose",
     "strides=[2, 2] padding=[1, 1, 1, 1] dilation=[1, 1] output_padding=[0, 0]",
     GPUC_FLOAT32,
     {N(1, 6, 7, 9), N(6, 12, 4, 4)},
     NOTHING,
     1},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Whether a function that pads has a kernel that copies: one that stages has none. */
static void by_default(void **state)
{
    (void)state;
    int failed = 0;
    for (int i = 0; i < CASES; i++) {
        for (int t = 0; t < TARGETS; t++) {
            job j = {.c = &cases[i], .target = t, .rng = {(uint64_t)i * 31 + 1}};
            failed += !check(&j);
            bool as_wanted = cases[i].kernels ? j.kernels == cases[i].kernels && j.shared > 0 : j.shared == 0;
            if (t > 0 || as_wanted) continue;
            print_message("case %d: %d kernels, %lld bytes of shared memory\n", i, j.kernels,
                          (long long)j.shared);
            failed++;
        }
    }
    print_message("cases: %d\n", CASES * TARGETS);
    assert_int_equal(failed, 0);
}

static int count = 30;
static uint64_t first = 1;

static const char *numbers(gpuc_ctx *ctx, fx_rng *r, int n, int lo, int count_of)
{
    const char *text = "[";
    for (int i = 0; i < n; i++)
        text = gpuc_ctx_printf(ctx, "%s%s%d", text, i ? ", " : "", lo + fx_below(r, count_of));
    return gpuc_ctx_printf(ctx, "%s]", text);
}

static int64_t some(fx_rng *r, int open)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 9, 13, 16, 24, 31, 48, 70};
    int64_t n = sizes[fx_below(r, 12)];
    return open && fx_below(r, 6) == 0 ? -n : n;
}

static staged_case product(fx_rng *r)
{
    int64_t m = some(r, 1), n = some(r, 1), k = fx_below(r, 4) ? some(r, 0) : 1 + fx_below(r, 400),
            batch = some(r, 1) % 4;
    int a = fx_below(r, 2), b = fx_below(r, 2), way = fx_below(r, 3);
    staged_case c = {.op = "nn.matmul"};
    static const char *const attrs[] = {"", "transpose_b=1", "transpose_a=1", "transpose_a=1 transpose_b=1"};
    c.attrs = attrs[2 * a + b];
    int i = 0, k0 = 0;
    if (way > 0 && batch) c.in[0][i++] = batch;
    if (way > 1 && batch) c.in[1][k0++] = batch;
    c.in[0][i] = a ? k : m, c.in[0][i + 1] = a ? m : k;
    c.in[1][k0] = b ? n : k, c.in[1][k0 + 1] = b ? k : n;
    return c;
}

static staged_case convolution(gpuc_ctx *ctx, fx_rng *r)
{
    int rank = 1 + fx_below(r, 3), most = rank == 1 ? 90 : rank == 2 ? 26 : 9, open = fx_below(r, 3) == 0;
    int groups = fx_below(r, 5) ? 1 : 2;
    int64_t in = fx_below(r, 3) ? 1 + fx_below(r, 9) : some(r, 0), out = some(r, 0);
    staged_case c = {.op = gpuc_ctx_printf(ctx, "nn.conv%dd", rank)};
    c.in[0][0] = open ? -2 : 1 + fx_below(r, 2);
    c.in[0][1] = in * groups;
    c.in[1][0] = out * groups;
    c.in[1][1] = in;
    for (int i = 0; i < rank; i++) {
        int kernel = 1 + fx_below(r, rank == 3 ? 3 : 7), stretched = 2 * kernel;
        c.in[1][2 + i] = kernel;
        c.in[0][2 + i] = stretched + fx_below(r, most);
        if (open && fx_below(r, 2)) c.in[0][2 + i] *= -1;
    }
    c.attrs = gpuc_ctx_printf(
        ctx, "strides=%s padding=%s dilation=%s groups=%d", numbers(ctx, r, rank, 1, fx_below(r, 2) ? 1 : 3),
        numbers(ctx, r, 2 * rank, 0, fx_below(r, 2) ? 1 : 4), numbers(ctx, r, rank, 1, 2), groups);
    return c;
}

/* Random sizes, by random configurations. */
static void at_random(void **state)
{
    (void)state;
    int failed = 0;
    for (int i = 0; i < count; i++) {
        gpuc_ctx *ctx;
        assert_null(gpuc_ctx_create(NULL, &ctx));
        fx_rng r = {(first + (uint64_t)i) * 7919};
        staged_case c = fx_below(&r, 3) ? convolution(ctx, &r) : product(&r);
        static const gpuc_dtype types[] = {GPUC_FLOAT32, GPUC_FLOAT32, GPUC_FLOAT32, GPUC_FLOAT64,
                                           GPUC_FLOAT16, GPUC_INT32,   GPUC_INT8};
        c.type = types[fx_below(&r, 7)];
        if (c.type.bits == 8) c.attrs = gpuc_ctx_printf(ctx, "%s out_dtype=int32", c.attrs);
        c.after = (after)fx_below(&r, AFTER_COUNT);
        for (int k = 0; k < 2; k++) {
            job j = {.c = &c, .target = fx_below(&r, TARGETS), .rng = {fx_next(&r)}, .at_random = k};
            if (check(&j)) continue;
            print_message("seed %llu\n", (unsigned long long)(first + (uint64_t)i));
            failed++;
        }
        gpuc_ctx_destroy(ctx);
    }
    print_message("cases: %d\n", 2 * count);
    assert_int_equal(failed, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) count = atoi(argv[1]);
    if (argc > 2) first = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_default), cmocka_unit_test(at_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
