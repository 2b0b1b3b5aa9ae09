/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules written by hand compute what the definition does. */
#include "compare.h"
#include "fixture.h"

typedef struct sched {
    const expr_graph *g;
    gpuc_schedule *s;
} sched;

typedef struct schedule_case {
    const char *name, *expr;
    void (*apply)(sched *x);
} schedule_case;

static gpuc_stage *st(sched *x, const char *name)
{
    return gpuc_schedule_stage(x->s, expr_tensor(x->g, name));
}

static gpuc_iter *ax(gpuc_stage *stage, int i)
{
    return gpuc_stage_axis(stage, i);
}

static gpuc_iter *rx(gpuc_stage *stage, int i)
{
    return gpuc_stage_reduce_axis(stage, i);
}

static void order(gpuc_stage *stage, int n, gpuc_iter *const *iters)
{
    gpuc_stage_reorder(stage, n, iters);
}

static gpuc_stage *stage_of(sched *x, gpuc_tensor *t)
{
    return gpuc_schedule_stage(x->s, t);
}

/* Binds an axis as blocks and threads. */
static void bind_axis(gpuc_stage *s, gpuc_iter *i, int64_t threads, gpuc_iter **block, gpuc_iter **thread)
{
    gpuc_iter *o, *n;
    gpuc_stage_split(s, i, threads, &o, &n);
    gpuc_stage_bind(s, o, "blockIdx.x");
    gpuc_stage_bind(s, n, "threadIdx.x");
    if (block) *block = o;
    if (thread) *thread = n;
}

/* ---- One stage --------------------------------------------------------------------------------------- */

static void unscheduled(sched *x)
{
    (void)x;
}

static void threads_64(sched *x)
{
    gpuc_stage *c = st(x, "C");
    bind_axis(c, ax(c, 0), 64, NULL, NULL);
}

static void nested_splits(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *o, *i, *io, *ii, *oo, *oi;
    gpuc_stage_split(c, ax(c, 0), 10, &o, &i);
    gpuc_stage_split(c, i, 3, &io, &ii);
    gpuc_stage_split_nparts(c, o, 3, &oo, &oi);
    order(c, 4, ITERS(ii, oi, oo, io));
}

static void fused_and_split(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *f = gpuc_stage_fuse(c, ax(c, 0), ax(c, 1)), *o, *i;
    gpuc_stage_split(c, f, 32, &o, &i);
    gpuc_stage_bind(c, o, "blockIdx.x");
    gpuc_stage_bind(c, i, "threadIdx.x");
}

/* A fuse of an inner part that overruns: without a guard of its own elements would be visited twice. */
static void fused_overrun(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *o, *i, *f, *fo, *fi;
    gpuc_stage_split(c, ax(c, 0), 5, &o, &i);
    f = gpuc_stage_fuse(c, i, ax(c, 1));
    gpuc_stage_split(c, f, 7, &fo, &fi);
    gpuc_stage_reorder(c, 2, ITERS(fi, fo));
    gpuc_stage_unroll(c, fi);
}

static void vector_4(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *o, *i;
    gpuc_stage_split(c, ax(c, gpuc_stage_num_axes(c) - 1), 4, &o, &i);
    gpuc_stage_vectorize(c, i);
    gpuc_stage_parallel(c, gpuc_stage_leaf(c, 0));
}

static void reduce_outermost(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *ko, *ki, *jo, *ji;
    gpuc_stage_split(c, rx(c, 0), 4, &ko, &ki);
    gpuc_stage_split(c, ax(c, 1), 8, &jo, &ji);
    order(c, 5, ITERS(jo, ko, ax(c, 0), ki, ji));
    gpuc_stage_vectorize(c, ji);
    gpuc_stage_unroll(c, ki);
    gpuc_stage_pragma(c, ax(c, 0), "auto_unroll_max_step", 16);
}

static void all_reduce_axes_fused(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *f = gpuc_stage_fuse(c, rx(c, 0), rx(c, 1)), *o, *i;
    gpuc_stage_split(c, f, 6, &o, &i);
    order(c, 2, ITERS(i, o));
}

static void threads_reduce(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *o, *i;
    gpuc_stage_split(c, rx(c, 0), 16, &o, &i);
    if (gpuc_stage_num_axes(c) > 0) gpuc_stage_bind(c, ax(c, 0), "blockIdx.x");
    gpuc_stage_bind(c, i, "threadIdx.x");
}

static void threads_reduce_only(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *yo, *yi;
    gpuc_stage_split(c, ax(c, 0), 4, &yo, &yi);
    gpuc_stage_bind(c, yo, "blockIdx.x");
    gpuc_stage_bind(c, yi, "threadIdx.y");
    gpuc_stage_bind(c, rx(c, 0), "threadIdx.x");
}

static void threads_reduce_two(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *o, *i;
    gpuc_stage_bind(c, ax(c, 0), "blockIdx.x");
    gpuc_stage_bind(c, rx(c, 0), "threadIdx.y");
    gpuc_stage_split(c, rx(c, 1), 5, &o, &i);
    gpuc_stage_bind(c, i, "threadIdx.x");
}

static void vthreads(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *b, *r, *v, *t, *i;
    gpuc_stage_split(c, ax(c, 0), 8, &b, &r);
    gpuc_stage_split_nparts(c, r, 2, &v, &t);
    gpuc_stage_split(c, ax(c, 1), 4, NULL, &i);
    gpuc_stage_bind(c, b, "blockIdx.x");
    gpuc_stage_bind(c, v, "vthread");
    gpuc_stage_bind(c, t, "threadIdx.x");
}

/* ---- Several stages -------------------------------------------------------------------------------- */

static void inlined(sched *x)
{
    gpuc_stage_compute_inline(st(x, "T"));
    gpuc_stage *c = st(x, "C");
    bind_axis(c, ax(c, 0), 8, NULL, NULL);
}

static void at_inner(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *o, *i;
    gpuc_stage_split(c, ax(c, 0), 4, &o, &i);
    gpuc_stage_compute_at(st(x, "T"), c, o);
}

static void at_threads(sched *x)
{
    gpuc_stage *c = st(x, "C"), *t = st(x, "T");
    gpuc_iter *block;
    bind_axis(c, ax(c, 0), 8, &block, NULL);
    gpuc_stage_compute_at(t, c, block);
    gpuc_stage_bind(t, ax(t, 0), "threadIdx.x");
}

static void pad_inlined(sched *x)
{
    gpuc_stage_compute_inline(st(x, "pad"));
    gpuc_stage *c = st(x, "C");
    gpuc_iter *f = gpuc_stage_fuse(c, ax(c, 1), ax(c, 2));
    bind_axis(c, f, 16, NULL, NULL);
}

static void pad_at_row(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *yo, *yi;
    gpuc_stage_split(c, ax(c, 1), 3, &yo, &yi);
    gpuc_stage_compute_at(st(x, "pad"), c, yo);
    gpuc_stage_storage_align(st(x, "pad"), 1, 16, 4);
}

/* Axes in another order, two of them split by factors that do not divide. */
static void pad_in_layout(sched *x)
{
    pad_at_row(x);
    gpuc_stage_transform_layout(st(x, "pad"), "2bCA5cB");
}

static void pad_in_shared(sched *x)
{
    gpuc_stage *c = st(x, "C"), *p = st(x, "pad");
    gpuc_iter *yo, *yi, *xo, *xi, *f, *fo, *fi;
    gpuc_stage_tile(c, ax(c, 1), ax(c, 2), 4, 4, &yo, &xo, &yi, &xi);
    gpuc_stage_bind(c, ax(c, 0), "blockIdx.z");
    gpuc_stage_bind(c, yo, "blockIdx.y");
    gpuc_stage_bind(c, xo, "blockIdx.x");
    gpuc_stage_bind(c, yi, "threadIdx.y");
    gpuc_stage_bind(c, xi, "threadIdx.x");
    gpuc_stage_compute_at(p, c, xo);
    f = gpuc_stage_fuse(p, gpuc_stage_fuse(p, ax(p, 0), ax(p, 1)), ax(p, 2));
    gpuc_stage_split(p, f, 4, &fo, &fi);
    gpuc_stage_split(p, fo, 4, NULL, &fo);
    gpuc_stage_bind(p, fo, "threadIdx.y");
    gpuc_stage_bind(p, fi, "threadIdx.x");
}

static void write_cache(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_stage *l = stage_of(x, gpuc_cache_write(x->s, expr_tensor(x->g, "C"), "local"));
    gpuc_iter *io, *jo, *ii, *ji, *ko, *ki;
    gpuc_stage_tile(c, ax(c, 0), ax(c, 1), 4, 8, &io, &jo, &ii, &ji);
    gpuc_stage_compute_at(l, c, jo);
    gpuc_stage_split(l, rx(l, 0), 5, &ko, &ki);
    order(l, 4, ITERS(ko, ax(l, 0), ki, ax(l, 1)));
    gpuc_stage_vectorize(l, ax(l, 1));
    gpuc_stage_unroll(l, ki);
}

static void tiled_matmul(sched *x)
{
    gpuc_stage *c = st(x, "C"), *shared[2];
    gpuc_stage *l = stage_of(x, gpuc_cache_write(x->s, expr_tensor(x->g, "C"), "local"));
    const char *const inputs[2] = {"A", "B"};
    for (int i = 0; i < 2; i++)
        shared[i] = stage_of(x, gpuc_cache_read(x->s, expr_tensor(x->g, inputs[i]), "shared", 1, &l));
    gpuc_iter *by, *bx, *yi, *xi, *ty, *tx, *ko, *ki;
    gpuc_stage_tile(c, ax(c, 0), ax(c, 1), 8, 8, &by, &bx, &yi, &xi);
    gpuc_stage_split(c, yi, 2, &ty, &yi);
    gpuc_stage_split(c, xi, 2, &tx, &xi);
    order(c, 4, ITERS(ty, tx, yi, xi));
    gpuc_stage_bind(c, by, "blockIdx.y");
    gpuc_stage_bind(c, bx, "blockIdx.x");
    gpuc_stage_bind(c, ty, "threadIdx.y");
    gpuc_stage_bind(c, tx, "threadIdx.x");
    gpuc_stage_compute_at(l, c, tx);
    gpuc_stage_split(l, rx(l, 0), 4, &ko, &ki);
    order(l, 4, ITERS(ko, ki, ax(l, 0), ax(l, 1)));
    for (int i = 0; i < 2; i++) {
        gpuc_stage *s = shared[i];
        gpuc_iter *f = gpuc_stage_fuse(s, ax(s, 0), ax(s, 1)), *fy, *fx;
        gpuc_stage_compute_at(s, l, ko);
        gpuc_stage_split(s, f, 4, &f, &fx);
        gpuc_stage_split(s, f, 4, &f, &fy);
        gpuc_stage_bind(s, fy, "threadIdx.y");
        gpuc_stage_bind(s, fx, "threadIdx.x");
        gpuc_stage_double_buffer(s);
    }
}

/* Shared storage that the stage does not share out among the threads is written by one of them. */
static void shared_by_one_thread(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *thread;
    gpuc_stage *a = stage_of(x, gpuc_cache_read(x->s, expr_tensor(x->g, "A"), "shared", 1, &c));
    bind_axis(c, ax(c, 0), 8, NULL, &thread);
    gpuc_stage_compute_at(a, c, thread);
}

static void read_local(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *thread;
    gpuc_stage *a = stage_of(x, gpuc_cache_read(x->s, expr_tensor(x->g, "A"), "local", 1, &c));
    bind_axis(c, ax(c, 0), 4, NULL, &thread);
    gpuc_stage_compute_at(a, c, thread);
}

static void factored(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *o, *i;
    gpuc_stage_split(c, rx(c, 0), 4, &o, &i);
    gpuc_tensor *rf = gpuc_rfactor(x->s, expr_tensor(x->g, "C"), i);
    gpuc_stage_parallel(stage_of(x, rf), ax(stage_of(x, rf), 0));
}

static void factored_outer_at(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *o, *i;
    gpuc_stage_split(c, rx(c, 0), 6, &o, &i);
    gpuc_stage *rf = stage_of(x, gpuc_rfactor(x->s, expr_tensor(x->g, "C"), o));
    gpuc_stage_compute_at(rf, c, rx(c, 0));
    gpuc_stage_set_scope(rf, "local");
}

static void factored_fused(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *f = gpuc_stage_fuse(c, rx(c, 0), rx(c, 1)), *o, *i;
    gpuc_stage_split(c, f, 8, &o, &i);
    gpuc_stage *rf = stage_of(x, gpuc_rfactor(x->s, expr_tensor(x->g, "C"), i));
    gpuc_stage_bind(c, rx(c, 0), "threadIdx.x");
    if (gpuc_stage_num_axes(c) > 0) gpuc_stage_bind(c, ax(c, 0), "blockIdx.x");
    gpuc_stage_compute_at(rf, c, rx(c, 0));
}

static void factored_whole_axis(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_rfactor(x->s, expr_tensor(x->g, "C"), rx(c, 0));
}

static void softmax_in_block(sched *x)
{
    gpuc_stage *c = st(x, "C"), *e = st(x, "e"), *top = st(x, "top"), *s = st(x, "s");
    gpuc_iter *o, *i;
    gpuc_stage_split(c, ax(c, 1), 8, &o, &i);
    gpuc_stage_bind(c, ax(c, 0), "blockIdx.x");
    gpuc_stage_bind(c, i, "threadIdx.x");
    gpuc_stage *reductions[2] = {top, s};
    for (int k = 0; k < 2; k++) {
        gpuc_stage_compute_at(reductions[k], c, ax(c, 0));
        gpuc_stage_split(reductions[k], rx(reductions[k], 0), 8, &o, &i);
        gpuc_stage_bind(reductions[k], i, "threadIdx.x");
    }
    gpuc_stage_compute_at(e, c, ax(c, 0));
    gpuc_stage_split(e, ax(e, 1), 8, &o, &i);
    gpuc_stage_bind(e, i, "threadIdx.x");
}

static void softmax_inlined(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_stage_compute_inline(st(x, "e"));
    gpuc_stage_compute_at(st(x, "top"), c, ax(c, 0));
    gpuc_stage_compute_at(st(x, "s"), c, ax(c, 0));
    gpuc_stage_parallel(c, ax(c, 0));
}

static void normalize_rows(sched *x)
{
    gpuc_stage *c = st(x, "C"), *var = st(x, "var"), *mean = st(x, "mean");
    gpuc_stage_compute_at(mean, c, ax(c, 0));
    gpuc_stage_compute_at(var, c, ax(c, 0));
    gpuc_iter *o, *i;
    gpuc_stage_split(c, ax(c, 1), 4, &o, &i);
    gpuc_stage_vectorize(c, i);
}

static void chain_at(sched *x)
{
    gpuc_stage *d = st(x, "D"), *t = st(x, "T");
    gpuc_iter *o, *i;
    gpuc_stage_split(d, ax(d, 0), 3, &o, &i);
    gpuc_stage_compute_at(t, d, o);
    gpuc_stage_bind(d, o, "blockIdx.x");
    gpuc_stage_bind(d, i, "threadIdx.x");
    gpuc_stage_bind(t, ax(t, 0), "threadIdx.x");
}

static void deep_attach(sched *x)
{
    gpuc_stage *c = st(x, "C"), *t = st(x, "T");
    gpuc_stage *l = stage_of(x, gpuc_cache_write(x->s, expr_tensor(x->g, "C"), "global"));
    gpuc_stage *a = stage_of(x, gpuc_cache_read(x->s, expr_tensor(x->g, "A"), "global", 1, &t));
    gpuc_iter *o, *i;
    gpuc_stage_split(c, ax(c, 0), 7, &o, &i);
    gpuc_stage_compute_at(l, c, o);
    gpuc_stage_split(l, ax(l, 0), 3, &o, &i);
    gpuc_stage_compute_at(t, l, o);
    gpuc_stage_compute_at(a, t, ax(t, 0));
}

/* Threads that are more than the channels load the windows of a strided convolution for each other. */
static void windows_in_warps(sched *x)
{
    gpuc_stage *c = st(x, "C"), *l = stage_of(x, gpuc_cache_write(x->s, expr_tensor(x->g, "C"), "local"));
    gpuc_iter *o, *lane, *turn;
    gpuc_stage_split(c, ax(c, 0), 8, &o, &lane);
    order(c, 4, ITERS(o, ax(c, 1), ax(c, 2), lane));
    gpuc_stage_bind(c, ax(c, 1), "blockIdx.x");
    gpuc_stage_bind(c, lane, "threadIdx.x");
    gpuc_stage_compute_at(l, c, lane);
    gpuc_stage_compute_inline(st(x, "pad"));
    gpuc_stage *w = stage_of(x, gpuc_reindex_read(x->s, expr_tensor(x->g, "pad"), "warp", l));
    gpuc_stage_compute_at(w, l, rx(l, 0));
    gpuc_iter *all = gpuc_stage_fuse(w, ax(w, 3), ax(w, 4));
    gpuc_stage_split(w, all, 8, &turn, &lane);
    gpuc_stage_bind(w, lane, "threadIdx.x");
    order(l, 6, ITERS(rx(l, 0), ax(l, 0), ax(l, 1), ax(l, 2), rx(l, 1), rx(l, 2)));
}

/* The loop where a stage is computed is split and fused afterwards. */
static void attach_then_split(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_iter *o, *i;
    gpuc_stage_compute_at(st(x, "T"), c, ax(c, 0));
    gpuc_stage_split(c, ax(c, 0), 4, &o, &i);
    if (gpuc_stage_num_axes(c) > 1) gpuc_stage_fuse(c, i, ax(c, 1));
}

/* The copy is computed per part of 5 of C's 14 columns, T per row: the last part asks for T[7] of 7. */
static void rounded_copy_of_part(sched *x)
{
    gpuc_stage *c = st(x, "C"), *t = st(x, "T");
    gpuc_stage *copy = stage_of(x, gpuc_cache_read(x->s, expr_tensor(x->g, "T"), "global", 1, &c));
    gpuc_iter *o, *i;
    gpuc_stage_split_nparts(c, ax(c, 1), 3, &o, &i);
    gpuc_stage_compute_at(t, c, ax(c, 0));
    gpuc_stage_round_up(t);
    gpuc_stage_compute_at(copy, c, i);
    gpuc_stage_round_up(copy);
}

/* T is computed in the loops around, up to its end; the copy goes further. */
static void rounded_copy_of_guarded(sched *x)
{
    gpuc_stage *c = st(x, "C"), *t = st(x, "T");
    gpuc_stage *copy = stage_of(x, gpuc_cache_read(x->s, expr_tensor(x->g, "T"), "global", 1, &c));
    gpuc_iter *o, *i;
    gpuc_stage_split(c, ax(c, 1), 5, &o, &i);
    gpuc_stage_compute_at(t, c, o);
    gpuc_stage_compute_at(copy, c, o);
    gpuc_stage_round_up(copy);
}

/* T is computed in columns 2 to 6, its end; the last copy of 4 columns begins at column 6. */
static void rounded_copy_behind_part(sched *x)
{
    gpuc_stage *c = st(x, "C"), *t = st(x, "T");
    gpuc_stage *copy = stage_of(x, gpuc_cache_read(x->s, expr_tensor(x->g, "T"), "global", 1, &c));
    gpuc_iter *o, *i;
    gpuc_stage_split(c, ax(c, 1), 4, &o, &i);
    gpuc_stage_compute_at(t, c, ax(c, 0));
    gpuc_stage_round_up(t);
    gpuc_stage_compute_at(copy, c, o);
    gpuc_stage_round_up(copy);
}

/* A sum of no terms is the identity, whoever adds them. */
static void threads_reduce_nothing(sched *x)
{
    gpuc_stage *c = st(x, "C");
    gpuc_stage_bind(c, ax(c, 0), "blockIdx.x");
    gpuc_stage_bind(c, rx(c, 0), "threadIdx.x");
}

/* 8 threads store T, as many as the run says add it up: all of them take part in both. */
static void unequal_threads_of_symbols(sched *x)
{
    gpuc_stage *c = st(x, "C"), *t = st(x, "T");
    gpuc_iter *o, *i;
    gpuc_stage_bind(c, ax(c, 0), "blockIdx.x");
    gpuc_stage_bind(c, rx(c, 0), "threadIdx.x");
    gpuc_stage_compute_at(t, c, ax(c, 0));
    gpuc_stage_set_scope(t, "shared");
    gpuc_stage_split(t, ax(t, 1), 8, &o, &i);
    gpuc_stage_bind(t, i, "threadIdx.x");
}

/* How many threads make e differs from piece to piece of C; all of the group find the max of a row. */
static void threads_that_vary(sched *x)
{
    gpuc_stage *c = st(x, "C"), *e = st(x, "e"), *top = st(x, "top"), *s = st(x, "s");
    gpuc_iter *o, *i;
    gpuc_stage_split(c, ax(c, 1), 8, &o, &i);
    gpuc_stage_compute_at(s, c, o);
    gpuc_stage_compute_at(e, c, o);
    gpuc_stage_bind(e, ax(e, 1), "threadIdx.y");
    gpuc_stage_compute_at(top, e, ax(e, 1));
    gpuc_stage_set_scope(top, "shared");
    gpuc_stage_bind(top, rx(top, 0), "threadIdx.y");
}

/* What the rows of e need of top.global is bounded by 2^29 alone; it is no larger than top. */
static void part_without_a_bound(sched *x)
{
    gpuc_stage *own = stage_of(x, gpuc_cache_write(x->s, expr_tensor(x->g, "top"), "global"));
    gpuc_stage *c = st(x, "C"), *e = st(x, "e"), *top = st(x, "top");
    gpuc_iter *yo, *xo, *yi, *xi;
    gpuc_stage_tile(c, ax(c, 0), ax(c, 1), 4, 16, &yo, &xo, &yi, &xi);
    gpuc_stage_compute_at(st(x, "s"), c, xo);
    gpuc_stage_compute_at(e, c, xo);
    gpuc_stage_compute_at(top, e, gpuc_stage_fuse(e, ax(e, 0), ax(e, 1)));
    gpuc_stage_compute_at(own, c, yo);
    gpuc_stage_transform_layout(own, "16aA");
    gpuc_stage_round_up(own);
}

/* Which part of pad a piece of C needs is bounded by n times 2^28; it is no larger than pad. */
static void piece_without_a_bound(sched *x)
{
    gpuc_stage *c = st(x, "C"), *pad = st(x, "pad");
    gpuc_iter *o, *i, *oo, *oi, *io, *ii;
    gpuc_stage_split(c, rx(c, 1), 1, &o, &i);
    gpuc_stage *part = stage_of(x, gpuc_rfactor(x->s, expr_tensor(x->g, "C"), o));
    gpuc_stage_split_nparts(c, ax(c, 0), 8, &o, &i);
    gpuc_stage_split_nparts(c, i, 7, &io, &ii);
    i = gpuc_stage_fuse(c, io, ii);
    gpuc_stage_split(c, o, 4, &oo, &oi);
    gpuc_stage_split(c, i, 4, &io, &ii);
    gpuc_stage_bind(c, oo, "blockIdx.x");
    gpuc_stage_bind(c, oi, "threadIdx.x");
    gpuc_stage_bind(c, io, "blockIdx.y");
    gpuc_stage_bind(c, ii, "threadIdx.y");
    gpuc_stage_compute_at(part, c, rx(c, 0));
    gpuc_stage_compute_at(pad, c, oo);
    gpuc_stage_set_scope(pad, "shared");
}

/* A0 has no elements, so no last one either. */
static void rounded_copy_of_nothing(sched *x)
{
    gpuc_stage *t = st(x, "T");
    gpuc_stage *copy = stage_of(x, gpuc_cache_read(x->s, expr_tensor(x->g, "A0"), "global", 1, &t));
    gpuc_iter *o, *i;
    gpuc_stage_split(t, ax(t, 0), 4, &o, &i);
    gpuc_stage_compute_at(copy, t, o);
    gpuc_stage_round_up(copy);
}

/* Where a fused row is read nothing is known of its place in symbolic rows: T asks for what A ends before. */
static void rounded_part_of_symbols(sched *x)
{
    gpuc_stage *c = st(x, "C"), *t = st(x, "T");
    gpuc_stage *copy = stage_of(x, gpuc_cache_read(x->s, expr_tensor(x->g, "A"), "global", 1, &t));
    gpuc_iter *o, *i;
    gpuc_stage_split_nparts(c, gpuc_stage_fuse(c, ax(c, 0), ax(c, 1)), 32, &o, &i);
    gpuc_stage_compute_at(t, c, i);
    gpuc_stage_round_up(t);
    gpuc_stage_compute_at(copy, c, o);
}

/* The tile has all rows, which are no constant number, in registers. */
static void tile_of_all_rows(sched *x)
{
    gpuc_stage *sum = stage_of(x, gpuc_cache_write(x->s, expr_tensor(x->g, "C"), "local"));
    gpuc_stage *c = st(x, "C");
    gpuc_iter *o, *i;
    gpuc_stage_split(c, ax(c, 0), 32, &o, &i);
    gpuc_stage_bind(c, o, "blockIdx.x");
    gpuc_stage_compute_at(sum, c, o);
    gpuc_stage_split(sum, ax(sum, 0), 4, &o, &i);
    gpuc_stage_unroll(sum, o);
    gpuc_stage_unroll(sum, i);
}

static const schedule_case cases[] = {
    {"tile of all of a few rows", "matmul_of_few_rows", tile_of_all_rows},
    {"rounded up copy of nothing", "many_sizes", rounded_copy_of_nothing},
    {"rounded up part of symbolic rows", "bias_relu_symbolic", rounded_part_of_symbols},
    {"row sum of nothing that a symbol says over threads", "total_of_nothing", threads_reduce_nothing},
    {"rounded up copy of a part", "upsample", rounded_copy_of_part},
    {"rounded up copy of what is not", "upsample", rounded_copy_of_guarded},
    {"rounded up copy behind a part", "last_columns", rounded_copy_behind_part},
    {"row sum of nothing over threads", "sum_of_nothing", threads_reduce_nothing},
    {"row sum over unequal threads", "total_of_nothing", unequal_threads_of_symbols},
    {"row maximum over threads that vary", "softmax_symbolic", threads_that_vary},
    {"row maximum of a part without a bound", "softmax_symbolic", part_without_a_bound},
    {"piece of a convolution without a bound", "conv1d_symbolic", piece_without_a_bound},
    {"add unscheduled", "add_prime", unscheduled},
    {"add on 64 threads, guarded", "add_prime", threads_64},
    {"add on 64 threads, exact", "add_power", threads_64},
    {"add of n on 64 threads", "add_symbolic", threads_64},
    {"splits of splits", "add_prime", nested_splits},
    {"splits of splits of n", "add_symbolic", nested_splits},
    {"fuse and split", "transpose", fused_and_split},
    {"fuse past the end", "matmul_prime", fused_overrun},
    {"fuse past the end of conv", "conv2d_same", fused_overrun},
    {"vectors", "two_outputs", vector_4},
    {"vectors, guarded", "transpose", vector_4},
    {"reduce loop outside", "matmul_prime", reduce_outermost},
    {"reduce loop outside of n", "matmul_symbolic", reduce_outermost},
    {"two reduce axes fused", "sum_two_axes", all_reduce_axes_fused},
    {"two reduce axes fused to a scalar", "sum_all", all_reduce_axes_fused},
    {"row max over threads", "row_max", threads_reduce},
    {"row sum of n over threads", "sum_symbolic", threads_reduce},
    {"argmax over threads", "argmax", threads_reduce},
    {"total over threads", "sum_all", threads_reduce},
    {"condition over threads", "conditional_sum", threads_reduce},
    {"reduction over threads only", "matmul_prime", threads_reduce_only},
    {"reduction over threads of two axes", "sum_two_axes", threads_reduce_two},
    {"virtual threads", "matmul_power", vthreads},
    {"virtual threads, guarded", "matmul_prime", vthreads},
    {"inlined producer", "bias_relu", inlined},
    {"inlined stencil", "stencils", inlined},
    {"inlined under a gather", "gather", inlined},
    {"producer of a tile", "stencils", at_inner},
    {"producer under floor division", "upsample", at_inner},
    {"producer under a gather", "gather", at_inner},
    {"producer of rows", "bias_relu", at_inner},
    {"producer in shared storage", "stencils", at_threads},
    {"dense producer in shared storage", "dense_bias_relu", at_threads},
    {"conv, padding inlined", "conv2d_same", pad_inlined},
    {"strided conv, padding inlined", "conv2d_strided", pad_inlined},
    {"conv, padding per rows", "conv2d_same", pad_at_row},
    {"depthwise, padding per rows", "depthwise", pad_at_row},
    {"conv, padding in a layout", "conv2d_same", pad_in_layout},
    {"conv, padding in shared storage", "conv2d_same", pad_in_shared},
    {"strided conv, padding in shared storage", "conv2d_strided", pad_in_shared},
    {"conv, windows in warps", "conv2d_same", windows_in_warps},
    {"strided conv, windows in warps", "conv2d_strided", windows_in_warps},
    {"write cache", "matmul_prime", write_cache},
    {"write cache of n", "matmul_symbolic", write_cache},
    {"tiled matmul", "matmul_power", tiled_matmul},
    {"tiled matmul, guarded", "matmul_prime", tiled_matmul},
    {"shared storage by one thread", "matmul_prime", shared_by_one_thread},
    {"local copy of a row", "matmul_prime", read_local},
    {"partial sums", "matmul_prime", factored},
    {"partial sums of n", "sum_symbolic", factored},
    {"partial sums of two axes", "sum_two_axes", factored},
    {"partial argmax", "argmax", factored},
    {"partial sums in the loop", "row_max", factored_outer_at},
    {"partial sums over threads", "sum_two_axes", factored_fused},
    {"partial total over threads", "sum_all", factored_fused},
    {"whole axis factored", "matmul_prime", factored_whole_axis},
    {"condition factored", "conditional_sum", factored},
    {"softmax in one block", "softmax", softmax_in_block},
    {"softmax with the exponential twice", "softmax", softmax_inlined},
    {"normalised rows", "normalize", normalize_rows},
    {"product of products", "matmul_chain", chain_at},
    {"attached three deep", "stencils", deep_attach},
    {"attach, then split", "stencils", attach_then_split},
    {"attach, then split and fuse", "bias_relu", attach_then_split},
    {"any, inlined by nobody", "any_negative", at_inner},
    {"max pool fused", "max_pool", fused_overrun},
    {"dilated conv", "conv1d_dilated", fused_overrun},
    {"integers", "int_sum", factored},
    {"concatenation", "concat", fused_and_split},
};

static void run_schedule(gpuc_ctx *ctx, void *arg)
{
    const schedule_case *c = arg;
    expr_graph g;
    expr_build(expr_find(c->expr), ctx, &g);
    gpuc_tensor *const *outputs = &g.args[g.num_args - g.num_outputs];
    sched x = {.g = &g, .s = gpuc_schedule_create(ctx, g.num_outputs, outputs)};
    c->apply(&x);
    compare_with_definition(&g, x.s);
}

static void test_schedules(void **state)
{
    (void)state;
    int failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gpuc_ctx *ctx;
        assert_null(gpuc_ctx_create(NULL, &ctx));
        gpuc_status status = gpuc_ctx_protect(ctx, run_schedule, (void *)&cases[i]);
        if (status) {
            print_error("%s (%s): %s\n", cases[i].name, cases[i].expr, gpuc_status_message(status));
            failures++;
        }
        gpuc_status_release(status);
        gpuc_ctx_destroy(ctx);
    }
    assert_int_equal(failures, 0);
}

/* Every expression as it is, and with every intermediate inlined that can be. */
static void test_unscheduled(void **state)
{
    (void)state;
    for (int i = 0; i < num_expr_cases; i++) {
        schedule_case c = {.expr = expr_cases[i].name, .apply = unscheduled};
        run_ok(run_schedule, &c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unscheduled),
        cmocka_unit_test(test_schedules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
