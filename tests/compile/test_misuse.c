/* SPDX-License-Identifier: Apache-2.0 */
/* Random calls of the public headers of tensor expressions and schedules, with arguments that nobody should
 * give: each does what it says or is refused, and leaves everything usable. test_misuse [COUNT [SEED]] */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gpuc/build.h>
#include <gpuc/topi.h>

enum { MAX = 48, STEPS = 40 };

static int programs = 60;
static uint64_t first_seed = 1;

typedef struct misuse {
    uint64_t rng, seed;
    gpuc_ctx *ctx;
    gpuc_tensor *tensors[MAX];
    gpuc_expr exprs[MAX];
    gpuc_iter *iters[MAX];
    int num_tensors, num_exprs, num_iters; /* of those that there are */
    gpuc_schedule *s;
    gpuc_stage *stages[MAX];
    int num_stages, noted;
    gpuc_tir_func *f;
    gpuc_stage_group *group;
    int refused, lowered, printed;
} misuse;

static uint64_t next(misuse *m)
{
    m->rng ^= m->rng << 13;
    m->rng ^= m->rng >> 7;
    m->rng ^= m->rng << 17;
    return m->rng >> 11;
}

static int below(misuse *m, int n)
{
    return (int)(next(m) % (uint64_t)n);
}

static bool seldom(misuse *m)
{
    return below(m, 40) == 0;
}

static void add_tensor(misuse *m, gpuc_tensor *t)
{
    m->tensors[m->num_tensors < MAX ? m->num_tensors++ : below(m, MAX)] = t;
}

static void add_expr(misuse *m, gpuc_expr e)
{
    m->exprs[m->num_exprs < MAX ? m->num_exprs++ : below(m, MAX)] = e;
}

static void add_iter(misuse *m, gpuc_iter *i)
{
    if (i) m->iters[m->num_iters < MAX ? m->num_iters++ : below(m, MAX)] = i;
}

/* ---- What a call is given ------------------------------------------------------------------------ */

static const gpuc_dtype types[] = {{GPUC_DTYPE_FLOAT, 32, 1},
                                   {GPUC_DTYPE_FLOAT, 32, 1},
                                   {GPUC_DTYPE_INT, 32, 1},
                                   {GPUC_DTYPE_INT, 8, 1},
                                   {GPUC_DTYPE_BOOL, 8, 1},
                                   {GPUC_DTYPE_FLOAT, 16, 1},
                                   {GPUC_DTYPE_FLOAT, 13, 1},
                                   {GPUC_DTYPE_INT, 32, 0},
                                   {GPUC_DTYPE_INT, 64, 4},
                                   {GPUC_DTYPE_HANDLE, 64, 1},
                                   {77, 32, 1}};

static gpuc_dtype some_type(misuse *m)
{
    return types[below(m, seldom(m) ? (int)(sizeof types / sizeof *types) : 3)];
}

static int64_t some_number(misuse *m)
{
    static const int64_t odd[] = {0, -1, 1, 64, 65536, INT32_MAX, INT64_C(1) << 40, INT64_MAX, INT64_MIN};
    return seldom(m) ? odd[below(m, 9)] : 1 + below(m, 9);
}

static const char *some_name(misuse *m)
{
    static const char *const names[] = {"a", "b", "i", "float", "", "for", "x y", NULL};
    return names[below(m, seldom(m) ? 8 : 3)];
}

static const char *some_word(misuse *m)
{
    static const char *const words[] = {
        "global",  "local",      "shared",      "warp",        "global.texture",
        "coopmat", "blockIdx.x", "threadIdx.x", "threadIdx.y", "vthread",
        "sum",     "max",        "AB",          "A4a",         "BA3b",
        "",        "nonsense",   NULL};
    return words[below(m, 18)];
}

static gpuc_expr some_expr(misuse *m)
{
    if (m->num_exprs == 0 || seldom(m)) return NULL;
    return m->exprs[below(m, m->num_exprs)];
}

static gpuc_tensor *some_tensor(misuse *m)
{
    if (m->num_tensors == 0 || seldom(m)) return NULL;
    return m->tensors[below(m, m->num_tensors)];
}

static gpuc_iter *some_iter(misuse *m)
{
    if (m->num_iters == 0 || seldom(m)) return NULL;
    return m->iters[below(m, m->num_iters)];
}

static gpuc_stage *some_stage(misuse *m)
{
    return m->stages[below(m, m->num_stages)];
}

/* A loop of the stage, mostly. */
static gpuc_iter *some_leaf(misuse *m, gpuc_stage *st)
{
    int n = gpuc_stage_num_leaves(st);
    return n == 0 || seldom(m) ? some_iter(m) : gpuc_stage_leaf(st, below(m, n));
}

static gpuc_expr some_extent(misuse *m)
{
    if (seldom(m)) return some_expr(m);
    return below(m, 4) && m->num_exprs > 0 ? m->exprs[0] : gpuc_int(m->ctx, some_number(m));
}

/* ---- Definitions --------------------------------------------------------------------------------- */

static void placeholder(gpuc_ctx *ctx, misuse *m)
{
    gpuc_expr dims[MAX];
    int ndim = seldom(m) ? below(m, MAX + 1) - 1 : below(m, 3);
    for (int i = 0; i < ndim; i++) dims[i] = some_extent(m);
    add_tensor(m, gpuc_te_placeholder(ctx, some_name(m), ndim, seldom(m) ? NULL : dims, some_type(m)));
}

static void new_axis(gpuc_ctx *ctx, misuse *m)
{
    gpuc_expr min = seldom(m) ? some_expr(m) : gpuc_int(ctx, below(m, 5) - 2);
    gpuc_iter *i = NULL;
    switch (below(m, 6)) {
    case 0: i = gpuc_te_axis_from(ctx, min, some_extent(m), some_name(m)); break;
    case 1: i = gpuc_te_reduce_axis_from(ctx, min, some_extent(m), some_name(m)); break;
    case 2: i = gpuc_te_reduce_axis(ctx, some_extent(m), some_name(m)); break;
    default: i = gpuc_te_axis(ctx, some_extent(m), some_name(m)); break;
    }
    add_iter(m, i);
    add_expr(m, gpuc_iter_var(i));
}

static void arithmetic(gpuc_ctx *ctx, misuse *m)
{
    static gpuc_expr (*const two[])(gpuc_ctx *, gpuc_expr, gpuc_expr) = {
        gpuc_add, gpuc_sub, gpuc_mul, gpuc_div, gpuc_mod, gpuc_floordiv_, gpuc_floormod_,
        gpuc_min, gpuc_max, gpuc_eq,  gpuc_lt,  gpuc_le,  gpuc_and,       gpuc_or};
    static const char *const named[] = {"exp", "floor", "pow", "isnan", "bitand", "", "nonsense", NULL};
    gpuc_expr a = some_expr(m), b = below(m, 3) ? gpuc_int(ctx, some_number(m)) : some_expr(m);
    switch (below(m, 6)) {
    case 0: add_expr(m, gpuc_cast(ctx, some_type(m), a)); break;
    case 1: add_expr(m, gpuc_select(ctx, gpuc_lt(ctx, a, b), a, some_expr(m))); break;
    case 2: add_expr(m, gpuc_if_then_else(ctx, gpuc_ge(ctx, a, b), some_expr(m), a)); break;
    case 3:
        add_expr(m, below(m, 2) ? gpuc_call1(ctx, named[below(m, 8)], a)
                                : gpuc_call2(ctx, named[below(m, 8)], a, b));
        break;
    default: add_expr(m, two[below(m, 14)](ctx, a, b)); break;
    }
}

static void read_tensor(gpuc_ctx *ctx, misuse *m)
{
    gpuc_tensor *t = some_tensor(m);
    gpuc_expr index[MAX];
    int n = seldom(m) ? below(m, 4) : gpuc_te_ndim(t);
    for (int i = 0; i < n; i++) {
        gpuc_iter *axis = some_iter(m);
        index[i] = below(m, 4) && axis ? gpuc_iter_var(axis) : some_expr(m);
    }
    add_expr(m, gpuc_te_read(ctx, t, n, seldom(m) ? NULL : index));
}

static void compute(gpuc_ctx *ctx, misuse *m)
{
    gpuc_iter *axes[4] = {0}, *over[2] = {some_iter(m), some_iter(m)};
    gpuc_tensor *outs[2] = {0};
    int ndim = below(m, 3), count = seldom(m) ? below(m, 3) : 1;
    for (int i = 0; i < ndim; i++) axes[i] = some_iter(m);
    gpuc_expr body = some_expr(m), bodies[2] = {body, some_expr(m)};
    if (below(m, 3) == 0) bodies[0] = gpuc_te_reduce(ctx, some_word(m), body, below(m, 2) + 1, over);
    if (seldom(m)) ndim = below(m, 4) - 1;
    gpuc_te_compute_n(ctx, some_name(m), ndim, axes, count, bodies, outs);
    for (int i = 0; i < count; i++) add_tensor(m, outs[i]);
}

static void view(gpuc_ctx *ctx, misuse *m)
{
    gpuc_expr dims[2], strides[2];
    for (int i = 0; i < 2; i++) {
        dims[i] = some_extent(m);
        strides[i] = seldom(m) ? some_expr(m) : gpuc_int(ctx, some_number(m));
    }
    gpuc_expr size = seldom(m) ? some_expr(m) : gpuc_int(ctx, below(m, 300));
    add_tensor(m,
               gpuc_te_placeholder_strided(ctx, some_name(m), below(m, 3), dims, some_type(m), size, strides,
                                           seldom(m) ? some_expr(m) : gpuc_int(ctx, below(m, 4))));
}

/* Operators by name and as functions. */
static void operate(gpuc_ctx *ctx, misuse *m)
{
    static const char *const names[] = {"abs",         "add",    "sum",      "nn.softmax",
                                        "transpose",   "einsum", "nn.dense", "cast",
                                        "concatenate", "abss",   "",         NULL};
    static const char *const attrs[] = {
        NULL,     "axis=[0]",         "axis=1, keepdims=1", "equation=\"ij,ij->j\"", "dtype=\"int8\"",
        "axis=[", "equation=\"ij->\""};
    gpuc_tensor *in[] = {some_tensor(m), some_tensor(m), some_tensor(m)};
    int64_t numbers[3][MAX];
    for (int i = 0; i < 3 * MAX; i++) numbers[i / MAX][i % MAX] = some_number(m);
    switch (below(m, 8)) {
    case 0:
        add_tensor(m,
                   gpuc_topi_multiply(ctx, in[0], gpuc_te_const(ctx, some_type(m), (double)numbers[0][0])));
        break;
    case 1:
        add_tensor(m, gpuc_topi_max(ctx, in[0], below(m, 3), seldom(m) ? NULL : numbers[0], below(m, 2)));
        break;
    case 2: add_tensor(m, gpuc_topi_strided_slice(ctx, in[0], numbers[0], numbers[1], numbers[2])); break;
    case 3:
        add_tensor(m, gpuc_topi_expand_dims(ctx, in[0], below(m, 4) - 2, seldom(m) ? numbers[0][0] : 1));
        break;
    case 4:
        add_tensor(m, gpuc_topi_broadcast_to(ctx, in[0], below(m, 3),
                                             (gpuc_expr[]){some_extent(m), some_extent(m)}));
        break;
    case 5: add_tensor(m, gpuc_topi_cast(ctx, in[0], some_type(m))); break;
    default:
        add_tensor(m,
                   gpuc_topi(ctx, names[below(m, seldom(m) ? 12 : 9)], in, below(m, 4), attrs[below(m, 7)]));
        break;
    }
}

static gpuc_stmt copy_first(gpuc_ctx *ctx, const gpuc_tir_buffer *const *in,
                            const gpuc_tir_buffer *const *out, void *arg)
{
    gpuc_expr zero[64];
    int n = gpuc_tir_buffer_get(out[0]).ndim;
    for (int i = 0; i < 64; i++) zero[i] = gpuc_int(ctx, 0);
    gpuc_expr value = *(const int *)arg ? gpuc_tir_load(ctx, in[0], gpuc_tir_buffer_get(in[0]).ndim, zero)
                                        : gpuc_int(ctx, 1);
    return gpuc_tir_store(ctx, out[0], n, zero, value);
}

static void whole(gpuc_ctx *ctx, misuse *m)
{
    gpuc_tensor *in[] = {some_tensor(m), some_tensor(m)}, *state[] = {some_tensor(m)}, *outs[2] = {0};
    gpuc_expr dims[] = {some_extent(m), some_extent(m)}, l = some_expr(m), r = some_expr(m);
    const gpuc_expr *shapes[] = {seldom(m) ? NULL : dims, dims};
    gpuc_dtype types[] = {some_type(m), some_type(m)};
    int ranks[] = {below(m, 3), below(m, 3)}, count = 1 + seldom(m), inputs = below(m, 3);
    gpuc_iter *over = some_iter(m);
    switch (below(m, 3)) {
    case 0:
        gpuc_te_extern(ctx, some_name(m), inputs, in, count, ranks, shapes, types,
                       seldom(m) ? NULL : copy_first, &inputs, outs);
        break;
    case 1: gpuc_te_scan(ctx, some_name(m), 1, in, in + 1, state, outs); break;
    case 2: {
        gpuc_expr a = gpuc_var(ctx, "a", GPUC_FLOAT32), b = gpuc_var(ctx, "b", GPUC_FLOAT32), part = NULL,
                  body = below(m, 2)   ? gpuc_max(ctx, a, b)
                         : below(m, 2) ? gpuc_add(ctx, a, b)
                                       : l,
                  zero = below(m, 4) ? gpuc_imm(ctx, GPUC_FLOAT32, below(m, 2) ? 0 : -1e30) : r;
        const gpuc_tir_reducer *own =
            gpuc_te_comm_reducer(ctx, some_name(m), 1, seldom(m) ? &l : &a, &b, &body, &zero);
        gpuc_te_reduce_n(ctx, own, &l, 1, &over, seldom(m) ? r : NULL, &part);
        outs[0] = gpuc_te_compute(ctx, "own", 0, NULL, part);
    }
    }
    add_tensor(m, outs[0]);
}

/* One that is right: without it most programs would end before their schedules. */
static void plain_compute(gpuc_ctx *ctx, misuse *m)
{
    gpuc_tensor *t = some_tensor(m);
    int ndim = gpuc_te_ndim(t);
    gpuc_iter *axes[MAX], *k = NULL;
    gpuc_expr index[MAX];
    bool reduces = ndim > 0 && below(m, 3) == 0;
    for (int i = 0; i < ndim; i++) {
        bool last = reduces && i == ndim - 1;
        axes[i] = last ? NULL : gpuc_te_axis(ctx, gpuc_te_shape(t)[i], "i");
        if (last) k = gpuc_te_reduce_axis(ctx, gpuc_te_shape(t)[i], "k");
        index[i] = gpuc_iter_var(last ? k : axes[i]);
    }
    gpuc_expr body = gpuc_te_read(ctx, t, ndim, index);
    body = reduces ? gpuc_te_reduce(ctx, "max", body, 1, &k) : gpuc_add(ctx, body, gpuc_int(ctx, 1));
    add_tensor(m, gpuc_te_compute(ctx, "t", ndim - reduces, axes, body));
}

/* ---- Schedules ----------------------------------------------------------------------------------- */

static void loops(gpuc_ctx *ctx, misuse *m)
{
    gpuc_stage *st = some_stage(m);
    gpuc_iter *i = some_leaf(m, st), *j = some_leaf(m, st), *out[4] = {0}, *both[] = {i, j, some_leaf(m, st)};
    (void)ctx;
    switch (below(m, 11)) {
    case 0:
    case 1: gpuc_stage_split(st, i, some_number(m), &out[0], seldom(m) ? NULL : &out[1]); break;
    case 2: gpuc_stage_split_nparts(st, i, some_number(m), &out[0], &out[1]); break;
    case 3: out[0] = gpuc_stage_fuse(st, i, j); break;
    case 4: gpuc_stage_reorder(st, below(m, 4), seldom(m) ? NULL : both); break;
    case 5:
        gpuc_stage_tile(st, i, j, some_number(m), some_number(m), &out[0], &out[1], &out[2], &out[3]);
        break;
    case 6: gpuc_stage_bind(st, i, some_word(m)); break;
    case 7: gpuc_stage_unroll(st, i); break;
    case 8: gpuc_stage_vectorize(st, i); break;
    case 9:
        gpuc_stage_pragma(st, i, seldom(m) ? some_name(m) : "auto_unroll_max_step", some_number(m));
        break;
    case 10: gpuc_stage_overlap(st, i); break;
    }
    for (int k = 0; k < 4; k++) add_iter(m, out[k]);
}

static void places(gpuc_ctx *ctx, misuse *m)
{
    gpuc_stage *st = some_stage(m), *to = seldom(m) ? NULL : some_stage(m);
    (void)ctx;
    switch (below(m, 11)) {
    case 0:
    case 1:
    case 2: gpuc_stage_compute_at(st, to, to ? some_leaf(m, to) : NULL); break;
    case 3: gpuc_stage_compute_inline(st); break;
    case 4: gpuc_stage_compute_root(st); break;
    case 5: gpuc_stage_set_scope(st, some_word(m)); break;
    case 6: gpuc_stage_storage_align(st, below(m, 3) - 1, some_number(m), some_number(m)); break;
    case 7: gpuc_stage_transform_layout(st, some_word(m)); break;
    case 8: gpuc_stage_align_bounds(st, below(m, 3) - 1, some_number(m)); break;
    case 9: gpuc_stage_require_scope(st); break;
    case 10: below(m, 2) ? gpuc_stage_double_buffer(st) : gpuc_stage_non_temporal(st); break;
    }
}

static void around(gpuc_ctx *ctx, misuse *m)
{
    gpuc_stage *st = some_stage(m), *to = some_stage(m);
    const char *threads[] = {some_word(m), some_word(m)};
    int64_t extents[] = {some_number(m), some_number(m)};
    gpuc_tensor *from = some_tensor(m), *last = some_tensor(m);
    gpuc_iter *out[2] = {0}, *leaf = some_leaf(m, st);
    switch (below(m, 6)) {
    case 0: gpuc_stage_env_threads(st, 1 + seldom(m), threads, seldom(m) ? NULL : extents, out); break;
    case 1:
        gpuc_stage_set_store_predicate(
            st, seldom(m) || !leaf ? some_expr(m)
                                   : gpuc_lt(ctx, gpuc_iter_var(leaf), gpuc_int(ctx, some_number(m))));
        break;
    case 2: gpuc_stage_prefetch(st, from, leaf, some_number(m)); break;
    case 3: gpuc_stage_rolling_buffer(st); break;
    case 4: m->group = gpuc_schedule_create_group(m->s, 1, &last, 1, &from, below(m, 2)); break;
    case 5:
        if (m->group && below(m, 3))
            gpuc_stage_group_compute_at(m->group, to, some_leaf(m, to));
        else if (m->group)
            gpuc_stage_group_compute_root(m->group);
        break;
    }
    for (int k = 0; k < 2; k++) add_iter(m, out[k]);
}

static void add_stage(misuse *m, gpuc_tensor *t)
{
    add_tensor(m, t);
    if (m->num_stages < MAX) m->stages[m->num_stages++] = gpuc_schedule_stage(m->s, t);
}

/* A part that does not know its regions. */
static gpuc_stmt some_part(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                           const gpuc_tensor_region *const *out, void *arg)
{
    misuse *m = arg;
    const gpuc_tensor_region *from = in && !seldom(m) ? in[0] : NULL, *to = seldom(m) ? NULL : out[0];
    const gpuc_expr index[8] = {gpuc_int(ctx, 0), gpuc_int(ctx, 0)};
    switch (below(m, 5)) {
    case 0: return gpuc_tensor_region_store_at(ctx, to, index, gpuc_tensor_region_load_at(ctx, to, index));
    case 1:
        return gpuc_tensor_region_store_at(
            ctx, to, index,
            gpuc_tensor_region_load_vector(ctx, from, seldom(m) ? NULL : index, below(m, 5) - 1));
    case 2: return gpuc_tir_eval(ctx, gpuc_tensor_region_stride(ctx, to, below(m, 5) - 1));
    case 3: return gpuc_tir_eval(ctx, gpuc_tensor_region_address(ctx, from, below(m, 2)));
    default: return NULL;
    }
}

static void tensorize(gpuc_ctx *ctx, misuse *m, gpuc_stage *st)
{
    gpuc_tensor *inputs[2] = {some_tensor(m), some_tensor(m)};
    const gpuc_tensor_parts parts = {.body = below(m, 3) ? some_part : NULL,
                                     .init = below(m, 2) ? NULL : some_part,
                                     .update = below(m, 2) ? some_part : NULL,
                                     .finalise = below(m, 3) ? NULL : some_part,
                                     .arg = m};
    gpuc_tensor *pattern = st && !seldom(m) ? gpuc_stage_tensor(st, 0) : some_tensor(m);
    gpuc_stage_tensorize(st, some_leaf(m, st),
                         gpuc_tensor_intrin_declare_parts(ctx, some_word(m), pattern, below(m, 4) - 1,
                                                          seldom(m) ? NULL : inputs,
                                                          seldom(m) ? NULL : &parts));
}

static void dataflow(gpuc_ctx *ctx, misuse *m)
{
    gpuc_stage *readers[2] = {some_stage(m), seldom(m) ? NULL : some_stage(m)};
    gpuc_tensor *t = some_tensor(m);
    switch (below(m, 6)) {
    case 0:
        add_stage(m, gpuc_cache_read(m->s, t, some_word(m), below(m, 3), seldom(m) ? NULL : readers));
        break;
    case 1: add_stage(m, gpuc_cache_write(m->s, t, some_word(m))); break;
    case 2: add_stage(m, gpuc_reindex_read(m->s, t, some_word(m), readers[1])); break;
    case 3: add_stage(m, gpuc_rfactor(m->s, t, some_leaf(m, readers[0]))); break;
    case 4:
        gpuc_stage_tensorize(readers[0], some_leaf(m, readers[0]), gpuc_tensor_intrin_find(ctx, "dot_i8"));
        break;
    case 5: tensorize(ctx, m, readers[0]); break;
    }
}

static void make_schedule(gpuc_ctx *ctx, misuse *m)
{
    gpuc_tensor *outputs[2] = {m->num_tensors ? m->tensors[m->num_tensors - 1] : NULL, some_tensor(m)};
    m->s = gpuc_schedule_create(ctx, seldom(m) ? below(m, 4) - 1 : 1, outputs);
    for (int i = 0; i < m->num_tensors; i++) {
        gpuc_stage *st = m->stages[m->num_stages] = gpuc_schedule_stage(m->s, m->tensors[i]);
        if (m->num_stages + 1 < MAX) m->num_stages++;
        for (int k = 0; k < gpuc_stage_num_leaves(st); k++) add_iter(m, gpuc_stage_leaf(st, k));
    }
}

/* Schedules of what the last tensor is made from: others raise at the first tensor that is not. */
static void keep_related(gpuc_ctx *ctx, misuse *m)
{
    gpuc_tensor *last = m->tensors[m->num_tensors - 1];
    (void)ctx;
    m->s = gpuc_schedule_create(ctx, 1, &last);
}

static void note_stage(gpuc_ctx *ctx, misuse *m)
{
    (void)ctx;
    gpuc_stage *st = gpuc_schedule_stage(m->s, m->tensors[m->noted]);
    if (m->num_stages < MAX) m->stages[m->num_stages++] = st;
}

static void lower(gpuc_ctx *ctx, misuse *m)
{
    gpuc_tensor *args[MAX] = {0};
    int n = 0;
    (void)ctx;
    for (int i = 0; i < m->num_stages && n < MAX; i++) {
        gpuc_tensor *t = gpuc_stage_tensor(m->stages[i], 0);
        bool wanted = gpuc_stage_num_axes(m->stages[i]) == 0 || i + 1 == m->num_stages || seldom(m);
        for (int k = 0; k < n; k++) wanted &= args[k] != t;
        if (wanted) args[n++] = t;
    }
    gpuc_schedule_text(m->s);
    m->f = gpuc_schedule_lower(m->s, "f", seldom(m) ? below(m, 4) - 1 : n, seldom(m) ? NULL : args);
    gpuc_tir_text(ctx, m->f);
}

static void print_code(gpuc_ctx *ctx, misuse *m)
{
    static const char *const targets[] = {"c",      "c -mcpu=native",  "opencl",         "opencl/pocl",
                                          "vulkan", "vulkan/llvmpipe", "vulkan/desktop", "nonsense"};
    const gpuc_target *t = gpuc_target_parse(ctx, targets[below(m, seldom(m) ? 8 : 7)], NULL);
    gpuc_build_source(ctx, seldom(m) ? NULL : t, m->f);
}

/* ---- Running them -------------------------------------------------------------------------------- */

typedef void step_fn(gpuc_ctx *ctx, misuse *m);
typedef struct step {
    step_fn *fn;
    misuse *m;
} step;

static void call_step(gpuc_ctx *ctx, void *arg)
{
    const step *s = arg;
    s->fn(ctx, s->m);
}

/* An error must be one of the caller's: what gpuc says of itself is a mistake of gpuc. */
static bool attempt(misuse *m, step_fn *fn)
{
    step s = {fn, m};
    gpuc_status status = gpuc_ctx_protect(m->ctx, call_step, &s);
    if (!status) return true;
    gpuc_code code = gpuc_status_code(status);
    if (code != GPUC_INVALID_ARGUMENT && code != GPUC_UNSUPPORTED && code != GPUC_INVALID_DATA)
        fail_msg("seed %llu: %s", (unsigned long long)m->seed, gpuc_status_message(status));
    m->refused++;
    gpuc_status_release(status);
    return false;
}

static void foreign(gpuc_ctx *ctx, misuse *m)
{
    gpuc_expr four = gpuc_int(ctx, 4);
    add_tensor(m, gpuc_te_placeholder(ctx, "F", 1, &four, GPUC_FLOAT32));
    add_expr(m, gpuc_var(ctx, "f", GPUC_INT64));
    add_iter(m, gpuc_te_axis(ctx, four, "f"));
}

static void symbols(gpuc_ctx *ctx, misuse *m)
{
    add_expr(m, gpuc_var(ctx, "n", GPUC_INT64));
    add_expr(m, gpuc_int(ctx, 8));
    add_expr(m, gpuc_var(ctx, "alpha", GPUC_FLOAT32));
    gpuc_expr dims[] = {gpuc_int(ctx, 1 + below(m, 20)), below(m, 2) ? m->exprs[0] : gpuc_int(ctx, 12)};
    add_tensor(m, gpuc_te_placeholder(ctx, "A", 2, dims, GPUC_FLOAT32));
}

static void run_program(misuse *m)
{
    static step_fn *const definitions[] = {placeholder, new_axis, new_axis,      arithmetic,    arithmetic,
                                           read_tensor, compute,  plain_compute, plain_compute, read_tensor,
                                           compute,     view,     operate,       operate,       whole};
    static step_fn *const primitives[] = {loops, loops, loops, places, places, dataflow, around, around};
    gpuc_ctx *own, *other;
    assert_null(gpuc_ctx_create(NULL, &own));
    assert_null(gpuc_ctx_create(NULL, &other));
    m->ctx = own;
    attempt(m, symbols);
    m->ctx = other;
    if (seldom(m)) attempt(m, foreign);
    m->ctx = own;
    for (int i = 0; i < STEPS; i++) attempt(m, definitions[below(m, 15)]);
    attempt(m, plain_compute);
    if (seldom(m)) attempt(m, make_schedule);
    m->num_stages = 0;
    if (attempt(m, keep_related))
        for (m->noted = 0; m->noted < m->num_tensors; m->noted++) attempt(m, note_stage);
    for (int i = 0; i < STEPS / 2 && m->num_stages > 0; i++) attempt(m, primitives[below(m, 8)]);
    m->lowered = m->num_stages > 0 && attempt(m, lower);
    m->printed = m->lowered && attempt(m, print_code);
    gpuc_ctx_destroy(own);
    gpuc_ctx_destroy(other);
}

static void test_misuse(void **state)
{
    int lowered = 0, printed = 0, refused = 0;
    (void)state;
    for (int i = 0; i < programs; i++) {
        misuse m = {.seed = first_seed + (uint64_t)i};
        m.rng = m.seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
        run_program(&m);
        lowered += m.lowered;
        printed += m.printed;
        refused += m.refused;
    }
    print_message("cases: %d (programs: %d lowered, %d printed; %d calls refused)\n", programs, lowered,
                  printed, refused);
    assert_true(refused > 0 && lowered * 10 >= programs && printed * 20 >= programs);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_misuse)};
    if (argc > 1) programs = atoi(argv[1]);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
