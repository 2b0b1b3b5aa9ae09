/* SPDX-License-Identifier: Apache-2.0 */
/* Products of floats, and convolutions, on GPUs. A group computes a tile of the output: some rows, lines and columns. What
 * it reads in some steps of the sum is staged in shared memory; each thread keeps the sums of some rows by a vector of
 * columns in registers (V. Volkov, J. Demmel, "Benchmarking GPUs to Tune Dense Linear Algebra", 2008). Where groups
 * would be few and sums are long, parts of each sum are other groups' work, and another kernel adds them. */
#include <string.h>

#include "arith/arith.h"
#include "autoschedule/rules.h"

enum { ROWS, LINES, COLUMNS, KINDS };

typedef struct operand {
    gpuc_tensor *tensor;
    int across, along; /* dimensions: where rows or columns are neighbours; of the staged steps */
    int64_t *
        spans; /* [dimension][loop]: how far a step of a loop (axes, then reduce axes) goes there; of a window: all */
} operand;

/* The tile of a group. */
typedef struct staged_tile {
    int64_t rows;           /* of a thread */
    int64_t threads[KINDS]; /* of a group, along each; columns: each has a vector */
    int64_t steps;          /* of the sum that are staged at a time */
    int64_t parts;          /* of the sum, which other groups make */
} staged_tile;

typedef struct staged_shape {
    int axis[KINDS];           /* of the sums; lines: -1: there are none */
    int64_t extent[KINDS];     /* of what reads the sums, whose own rows may be longer */
    int64_t others;            /* points of the other axes */
    bool known;                /* all extents are */
    int steps;                 /* the reduce axis that is staged in parts */
    int64_t num_steps, window; /* its extent, and the product of those of the others */
    int lanes;                 /* of a vector of columns */
    operand rows, columns;     /* with rows; with columns, and lines */
} staged_shape;

/* ---- The shape --------------------------------------------------------------------------------------- */

typedef struct find_spans {
    const gpuc_te_op *op;
    const staged_shape *s;
    operand *o;
    gpuc_analyzer *a;
    gpuc_ctx *ctx;
    bool ok;
} find_spans;

static int num_loops(const gpuc_te_op *op)
{
    return op->num_axes + op->num_reduce;
}

static gpuc_iter *loop_of(const gpuc_te_op *op, int i)
{
    return i < op->num_axes ? op->axes[i] : op->reduce[i - op->num_axes];
}

static bool is_window(const gpuc_te_op *op, const staged_shape *s, int loop)
{
    return loop >= op->num_axes && loop != op->num_axes + s->steps;
}

/* How far all steps of a loop of a window go, which need not be equal: strided windows have their phases apart. */
static bool whole_span(const find_spans *f, gpuc_expr index, const gpuc_iter *loop, int64_t *out)
{
    gpuc_map relax;
    gpuc_map_init(&relax, f->ctx);
    gpuc_interval all = {gpuc_int(f->ctx, 0), gpuc_sub(f->ctx, loop->extent, gpuc_int(f->ctx, 1))};
    gpuc_map_set(&relax, loop->var, &all);
    gpuc_interval range = gpuc_arith_eval_interval(f->a, index, &relax);
    return range.min && range.max &&
           gpuc_expr_is_int(gpuc_arith_simplify(f->a, gpuc_sub(f->ctx, range.max, range.min)), out);
}

static bool one_step(const find_spans *f, gpuc_expr index, const gpuc_iter *loop, int64_t *out)
{
    gpuc_expr coeff, rest;
    if (!gpuc_arith_linear(f->a, index, 1, &loop->var, &coeff, &rest) || !gpuc_expr_is_int(coeff, out))
        return false;
    if (*out < 0) *out = -*out;
    return true;
}

static bool note_spans(gpuc_expr e, void *arg)
{
    find_spans *f = arg;
    if (e->kind != GPUC_EXPR_READ || gpuc_as_read(e)->tensor != f->o->tensor) return true;
    const gpuc_tir_read_node *read = gpuc_as_read(e);
    for (int d = 0; d < read->n; d++) {
        for (int i = 0; i < num_loops(f->op) && f->ok; i++) {
            int64_t span = 0, *known = &f->o->spans[d * num_loops(f->op) + i];
            if (!gpuc_tir_uses_var(f->ctx, read->index[d], loop_of(f->op, i)->var)) continue;
            f->ok = (is_window(f->op, f->s, i) ? whole_span : one_step)(f, read->index[d], loop_of(f->op, i),
                                                                        &span);
            if (span > *known) *known = span;
        }
    }
    return f->ok;
}

/* How an operand runs along the loops; false: not by fixed steps. */
static bool find_steps(const gpuc_rules *r, const gpuc_te_op *op, const staged_shape *s, gpuc_tensor *t,
                       operand *o)
{
    *o = (operand){.tensor = t, .across = -1, .along = -1};
    o->spans = gpuc_new_array(r->ctx, int64_t, gpuc_te_ndim(t) * num_loops(op) + 1);
    find_spans f = {op, s, o, gpuc_arith_analyzer_create(r->ctx), r->ctx, true};
    gpuc_tir_visit(r->ctx, op->bodies[0], note_spans, &f);
    return f.ok;
}

/* The dimension in which it runs along a loop, and in no other; -1: there is none. */
static int dimension(const gpuc_te_op *op, const operand *o, int loop)
{
    int found = -1;
    for (int d = 0; d < gpuc_te_ndim(o->tensor); d++) {
        if (!o->spans[d * num_loops(op) + loop]) continue;
        if (found >= 0) return -1;
        found = d;
    }
    return found;
}

static bool depends(const gpuc_te_op *op, const operand *o, int loop)
{
    for (int d = 0; loop >= 0 && d < gpuc_te_ndim(o->tensor); d++)
        if (o->spans[d * num_loops(op) + loop]) return true;
    return false;
}

static bool find_operands(const gpuc_rules *r, const gpuc_te_op *op, staged_shape *s)
{
    int step = op->num_axes + s->steps;
    for (int i = 0; i < 2; i++) {
        operand o;
        gpuc_dtype type = gpuc_te_dtype(op->inputs[i]);
        if (gpuc_is_bool(type) || gpuc_is_float(type) != gpuc_is_float(gpuc_te_dtype(op->outputs[0])))
            return false;
        if (!find_steps(r, op, s, op->inputs[i], &o)) return false;
        bool rows = depends(op, &o, s->axis[ROWS]), columns = depends(op, &o, s->axis[COLUMNS]);
        if (rows == columns || (rows && depends(op, &o, s->axis[LINES]))) return false;
        o.across = dimension(op, &o, s->axis[rows ? ROWS : COLUMNS]);
        o.along = dimension(op, &o, step);
        if (o.across < 0 || o.along < 0 || o.across == o.along) return false;
        *(rows ? &s->rows : &s->columns) = o;
    }
    return s->rows.tensor && s->columns.tensor;
}

/* The reduce axis of a convolution that is staged in parts: channels, but of large windows the longest. */
static int staged_axis(const gpuc_rules *r, const gpuc_te_op *op)
{
    int longest = 0;
    if (gpuc_rules_product(op->num_reduce - 1, op->reduce + 1) <= r->constants->staged_steps) return 0;
    for (int i = 1; i < op->num_reduce; i++)
        if (gpuc_rules_extent(op->reduce[i]) > gpuc_rules_extent(op->reduce[longest])) longest = i;
    return longest;
}

static bool find_shape(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_te_op *out,
                       staged_shape *s)
{
    const gpuc_te_op *op = reduction->op;
    gpuc_rules_tag tag = gpuc_rules_tag_of(reduction);
    int n = op->num_axes;
    if ((tag != GPUC_TAG_CONV && tag != GPUC_TAG_MATMUL) || gpuc_rules_channels_last(reduction)) return false;
    if (n < 2 || op->num_inputs != 2 || op->num_outputs != 1 || !op->num_reduce) return false;
    bool conv = tag == GPUC_TAG_CONV;
    gpuc_dtype type = gpuc_te_dtype(reduction); /* products of small integers are dot products */
    if (!gpuc_is_float(type) && !(conv && gpuc_is_integer(type) && type.bits == 32)) return false;
    *s = (staged_shape){.axis = {conv ? 1 : n - 2, conv && n > 3 ? n - 2 : -1, n - 1},
                        .steps = op->num_reduce - 1,
                        .others = 1,
                        .window = 1,
                        .lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(reduction)),
                        .known = gpuc_rules_product(n, out->axes) > 0};
    if (conv && n < 3) return false;
    if (conv) s->steps = staged_axis(r, op);
    for (int k = 0; k < KINDS; k++)
        s->extent[k] = s->axis[k] < 0 ? 1 : gpuc_rules_likely_product(1, &out->axes[s->axis[k]]);
    for (int i = 0; i < n; i++)
        if (i != s->axis[ROWS] && i != s->axis[LINES] && i != s->axis[COLUMNS])
            s->others *= gpuc_rules_likely_product(1, &out->axes[i]);
    for (int i = 0; i < op->num_reduce; i++)
        if (i != s->steps) s->window *= gpuc_rules_extent(op->reduce[i]);
    s->num_steps = gpuc_rules_extent(op->reduce[s->steps]);
    bool any = s->extent[ROWS] > 0 && s->extent[LINES] > 0 && s->extent[COLUMNS] > 0 && s->others > 0;
    return any && s->num_steps > 0 && s->window > 0 && find_operands(r, op, s);
}

/* ---- The tile ---------------------------------------------------------------------------------------- */

static int64_t width(const staged_shape *s, const staged_tile *t, int kind)
{
    return t->threads[kind] * (kind == ROWS ? t->rows : kind == COLUMNS ? s->lanes : 1);
}

/* Elements of a dimension that a group reads in the staged steps. */
static int64_t span(const gpuc_te_op *op, const staged_shape *s, const staged_tile *t, const operand *o,
                    int d)
{
    int64_t elements = 1;
    for (int i = 0; i < num_loops(op); i++) {
        int64_t count = i == op->num_axes + s->steps ? t->steps : is_window(op, s, i) ? 2 : 1;
        for (int k = 0; k < KINDS; k++)
            if (i == s->axis[k]) count = width(s, t, k);
        elements += o->spans[d * num_loops(op) + i] * (count - 1);
    }
    return elements;
}

/* Elements that a group stages; rows that are written as columns are apart in shared memory. */
static int64_t num_staged(const gpuc_te_op *op, const staged_shape *s, const staged_tile *t, const operand *o,
                          int64_t apart)
{
    int64_t count = 1;
    for (int d = 0; d < gpuc_te_ndim(o->tensor); d++)
        count *= span(op, s, t, o, d) + (d == o->across ? apart : 0);
    return count;
}

static bool computes(const gpuc_target *t, gpuc_dtype type)
{
    if (gpuc_is_coded(type)) return false;
    if (gpuc_is_float(type)) return type.bits != 16 || t->float16;
    return type.bits == 8 ? t->int8 : type.bits == 16 ? t->int16 : true;
}

static int64_t shared_bytes(const gpuc_rules *r, const gpuc_te_op *op, const staged_shape *s,
                            const staged_tile *t)
{
    enum { ALIGN = 16 };
    int64_t bytes = 0, apart = 2 * r->constants->staged_apart;
    for (int i = 0; i < 2; i++) {
        const operand *o = i ? &s->columns : &s->rows;
        gpuc_dtype type = gpuc_te_dtype(o->tensor);
        bool turned = o->across != gpuc_te_ndim(o->tensor) - 1;
        if (!computes(r->target, type)) type = GPUC_FLOAT32; /* it is held as 32 bits */
        bytes += (int64_t)gpuc_dtype_bytes(type) * num_staged(op, s, t, o, turned ? apart : 0) + ALIGN - 1;
    }
    return bytes;
}

static int64_t all_threads(const staged_tile *t)
{
    return t->threads[ROWS] * t->threads[LINES] * t->threads[COLUMNS];
}

static bool fits(const gpuc_rules *r, const gpuc_te_op *op, const staged_shape *s, const staged_tile *t)
{
    const gpuc_target *g = r->target;
    return t->threads[COLUMNS] <= g->max_threads_x &&
           t->threads[LINES] * t->threads[ROWS] <= g->max_threads_y && all_threads(t) <= g->max_num_threads &&
           shared_bytes(r, op, s, t) <= g->max_shared_memory;
}

/* Cycles of a core for one step of the sums of a group: it adds, and copies to shared memory and from it, or waits for
 * memory. */
typedef struct staged_work {
    double groups, threads, busy, wait;
} staged_work;

static staged_work work_of(const gpuc_rules *r, const gpuc_te_op *op, const staged_shape *s,
                           const staged_tile *t)
{
    const gpuc_constants *c = r->constants;
    staged_work w = {.groups = (double)s->others, .threads = (double)all_threads(t)};
    double points = 1, steps = (double)(t->steps * s->window),
           copies = (double)(num_staged(op, s, t, &s->rows, 0) + num_staged(op, s, t, &s->columns, 0));
    for (int k = 0; k < KINDS; k++) {
        w.groups *= (double)((s->extent[k] + width(s, t, k) - 1) / width(s, t, k));
        points *= (double)width(s, t, k);
    }
    double loads = w.threads * (double)(t->rows + s->lanes) / (double)c->staged_loads;
    w.busy = points / (double)c->staged_sums + loads + copies / steps / (double)c->staged_copies;
    w.wait = c->staged_wait / steps + (double)(t->rows * s->lanes);
    return w;
}

/* Cycles of all that the kernels compute. */
static double cost(const gpuc_rules *r, const staged_shape *s, const staged_work *w, int64_t parts)
{
    const gpuc_constants *c = r->constants;
    double cores = (double)r->target->num_cores, at_a_time = (double)c->staged_threads / w->threads,
           outputs = (double)s->others * (double)s->extent[ROWS] * (double)s->extent[LINES] *
                     (double)s->extent[COLUMNS];
    if (cores < (double)c->staged_cores) cores = (double)c->staged_cores;
    double each = (double)((int64_t)((w->groups * (double)parts + cores - 1) / cores));
    if (at_a_time > each) at_a_time = each;
    if (at_a_time < 1) at_a_time = 1;
    double busy = each * w->busy, wait = each / at_a_time * w->wait,
           step = busy > wait ? busy + wait / 4 : wait + busy / 4,
           all = step * (double)(s->num_steps * s->window) / (double)parts;
    if (parts > 1) all += c->staged_kernel + 2 * outputs * (double)parts / cores / (double)c->staged_copies;
    return all;
}

static const int64_t powers[] = {1, 2, 4, 8, 16, 32, 64, 128};
enum { POWERS = sizeof powers / sizeof *powers };

static bool next_tile(const gpuc_rules *r, int i, staged_tile *t)
{
    int64_t *const fields[] = {&t->rows, &t->threads[ROWS], &t->threads[LINES], &t->threads[COLUMNS],
                               &t->steps};
    const int counts[] = {4, 6, 4, 6, 6};
    for (int k = 0; k < 5; k++, i /= counts[k - 1]) *fields[k] = powers[i % counts[k]];
    int64_t threads = all_threads(t);
    return i == 0 && threads >= r->constants->staged_min_threads &&
           threads <= r->constants->staged_max_threads;
}

/* More than there is to do. */
static bool is_large(const gpuc_rules *r, const staged_shape *s, const staged_tile *t)
{
    bool large =
        t->steps / 2 >= s->num_steps || (t->steps > 1 && t->steps * s->window > r->constants->staged_steps);
    for (int k = 0; k < KINDS; k++)
        large = large || (width(s, t, k) / 2 >= s->extent[k] && t->threads[k] > 1);
    return large;
}

/* Parts of equal length, which need no guards. */
static bool may_part(const gpuc_rules *r, const staged_shape *s, int64_t parts)
{
    return parts == 1 || (s->known && s->num_steps % parts == 0 &&
                          s->num_steps / parts * s->window >= r->constants->staged_part);
}

static bool choose(const gpuc_rules *r, const gpuc_te_op *op, const staged_shape *s, staged_tile *out)
{
    double best = 0;
    bool any = false;
    for (int i = 0; i < 4 * 6 * 4 * 6 * 6; i++) {
        staged_tile t;
        if (!next_tile(r, i, &t) || is_large(r, s, &t) || !fits(r, op, s, &t)) continue;
        staged_work w = work_of(r, op, s, &t);
        for (int k = 0; k < POWERS && may_part(r, s, powers[k]); k++) {
            double time = cost(r, s, &w, powers[k]);
            if (any && time >= best) continue;
            best = time;
            any = true;
            t.parts = powers[k];
            *out = t;
        }
    }
    return any;
}

static int64_t knob(const gpuc_rules *r, const char *name, int64_t own, int64_t max)
{
    return gpuc_rules_knob(r, name, own, max, POWERS, powers);
}

static void ask(const gpuc_rules *r, const gpuc_te_op *op, const staged_shape *s, staged_tile *t)
{
    int64_t max = r->target->max_num_threads;
    staged_tile own = *t;
    t->rows = knob(r, "rows", t->rows, 16);
    t->threads[ROWS] = knob(r, "group_rows", t->threads[ROWS], 32);
    t->threads[LINES] = knob(r, "group_lines", t->threads[LINES], s->axis[LINES] < 0 ? 1 : 16);
    t->threads[COLUMNS] = knob(r, "group_columns", t->threads[COLUMNS], 64 < max ? 64 : max);
    t->steps = knob(r, "staged_steps", t->steps, 64);
    if (!fits(r, op, s, t)) *t = own;
    int64_t parts = 1;
    while (parts < powers[POWERS - 1] && may_part(r, s, 2 * parts)) parts *= 2;
    t->parts = knob(r, "staged_parts", own.parts, parts);
}

/* ---- Stages ------------------------------------------------------------------------------------------ */

/* All threads of the group copy what it reads of an operand in some steps. */
static void copy_operand(const gpuc_rules *r, const staged_tile *t, const operand *o, gpuc_stage *st)
{
    int n = gpuc_stage_num_axes(st), lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(o->tensor));
    gpuc_iter *axes[GPUC_TOPI_MAX_DIMS], *vector = NULL, *all, *x, *y;
    int64_t length;
    for (int i = 0; i < n; i++) axes[i] = gpuc_stage_axis(st, i);
    gpuc_stage_round_up(st);
    if (o->across != n - 1) { /* rows or columns become neighbours */
        const char *layout = "";
        for (int i = 0; i < n; i++)
            if (i != o->across) layout = gpuc_ctx_printf(r->ctx, "%s%c", layout, 'A' + i);
        gpuc_stage_transform_layout(st, gpuc_ctx_printf(r->ctx, "%s%c", layout, 'A' + o->across));
        int last = o->across == n - 1 ? n - 2 : n - 1;
        gpuc_stage_storage_align(st, last, 2 * r->constants->staged_apart, r->constants->staged_apart);
    }
    bool vectors = lanes > 1 && o->across == n - 1 &&
                   gpuc_expr_is_int(gpuc_te_shape(o->tensor)[n - 1], &length) && length % lanes == 0;
    if (vectors) gpuc_stage_split(st, axes[n - 1], lanes, &axes[n - 1], &vector);
    all = gpuc_rules_fuse(st, n, axes);
    gpuc_stage_split(st, all, t->threads[COLUMNS], &all, &x);
    gpuc_stage_split(st, all, t->threads[LINES] * t->threads[ROWS], &all, &y);
    gpuc_stage_bind(st, x, "threadIdx.x");
    gpuc_stage_bind(st, y, "threadIdx.y");
    if (vector) gpuc_stage_vectorize(st, vector);
}

/* A thread's part of a step. */
static void load_operand(const operand *o, gpuc_stage *st, int lanes)
{
    gpuc_iter *across = gpuc_stage_axis(st, o->across), *vector;
    gpuc_stage_round_up(st);
    for (int i = 0; i < gpuc_stage_num_axes(st); i++)
        if (i != o->across) gpuc_stage_unroll(st, gpuc_stage_axis(st, i));
    gpuc_stage_split(st, across, lanes, &across, &vector);
    gpuc_stage_unroll(st, across);
    gpuc_iter *order[GPUC_TOPI_MAX_DIMS + 1];
    int m = 0;
    for (int i = 0; i < gpuc_stage_num_axes(st); i++)
        if (i != o->across) order[m++] = gpuc_stage_axis(st, i);
    order[m++] = across;
    order[m++] = vector;
    gpuc_stage_reorder(st, m, order);
    gpuc_stage_vectorize(st, vector);
}

static void stage_operand(const gpuc_rules *r, const staged_shape *s, const staged_tile *t, const operand *o,
                          gpuc_stage *sum, gpuc_iter *staged, gpuc_iter *step)
{
    gpuc_tensor *shared = gpuc_cache_read(r->s, o->tensor, "shared", 1, &sum);
    gpuc_stage *copy = gpuc_schedule_stage(r->s, shared);
    gpuc_stage_compute_at(copy, sum, staged);
    copy_operand(r, t, o, copy);
    const gpuc_te_op *op = gpuc_stage_tensor(sum, 0)->op;
    int axis = s->axis[o == &s->rows ? ROWS : COLUMNS];
    if (s->lanes < 2 || o->spans[o->across * num_loops(op) + axis] != 1 ||
        (o == &s->rows && t->rows % s->lanes))
        return;
    gpuc_stage *load = gpuc_schedule_stage(r->s, gpuc_cache_read(r->s, shared, "local", 1, &sum));
    gpuc_stage_compute_at(load, sum, step);
    load_operand(o, load, s->lanes);
}

/* Returns the loop in which a thread's part is summed. */
static gpuc_iter *spread_output(const staged_shape *s, staged_tile *t, gpuc_stage *st)
{
    int n = gpuc_stage_num_axes(st), m = 0, groups;
    gpuc_iter *order[GPUC_TOPI_MAX_DIMS + 9], *group[KINDS], *thread[KINDS], *rows = NULL, *vector = NULL;
    for (int i = 0; i < n; i++)
        if (i != s->axis[ROWS] && i != s->axis[LINES] && i != s->axis[COLUMNS])
            order[m++] = gpuc_stage_axis(st, i);
    for (int k = 0; k < KINDS; k++) {
        if (s->axis[k] < 0) continue;
        int64_t extent = s->known ? s->extent[k] : gpuc_rules_extent(gpuc_stage_axis(st, s->axis[k])),
                each = width(s, t, k) / t->threads[k];
        if (extent > 0 && width(s, t, k) > extent) t->threads[k] = (extent + each - 1) / each;
        if (k == COLUMNS && !gpuc_stage_get(st).is_output) /* whose readers may need parts of rows */
            gpuc_stage_align_bounds(st, s->axis[k], width(s, t, k));
        gpuc_stage_split(st, gpuc_stage_axis(st, s->axis[k]), width(s, t, k), &group[k], &thread[k]);
        if (k == ROWS) gpuc_stage_split(st, thread[k], t->rows, &thread[k], &rows);
        if (k == COLUMNS) gpuc_stage_split(st, thread[k], s->lanes, &thread[k], &vector);
        order[m++] = group[k];
    }
    groups = m;
    for (int k = 0; k < KINDS; k++)
        if (s->axis[k] >= 0) order[m++] = thread[k];
    order[m] = rows;
    order[m + 1] = vector;
    gpuc_stage_reorder(st, m + 2, order);
    gpuc_stage_bind(st, gpuc_rules_fuse(st, groups, order), "blockIdx.x");
    gpuc_stage_bind(st, gpuc_rules_fuse(st, m - 1 - groups, order + groups), "threadIdx.y");
    gpuc_stage_bind(st, thread[COLUMNS], "threadIdx.x");
    gpuc_stage_unroll(st, rows);
    if (s->lanes > 1) gpuc_stage_vectorize(st, vector);
    return thread[COLUMNS];
}

static bool find(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out, staged_shape *s,
                 staged_tile *t, bool *own)
{
    int64_t min = r->constants->staged_min;
    if (!gpuc_target_is_gpu(r->target)) return false;
    if (gpuc_te_ndim(reduction) != gpuc_te_ndim(out) || !find_shape(r, reduction, out->op, s)) return false;
    if (!choose(r, reduction->op, s, t)) return false;
    *own = t->parts > 1 || (s->extent[ROWS] >= min && s->extent[LINES] * s->extent[COLUMNS] >= min);
    return true;
}

bool gpuc_rules_is_staged(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out)
{
    staged_shape s;
    staged_tile t;
    bool own;
    return find(r, reduction, out, &s, &t, &own) && own;
}

static void compute(const gpuc_rules *r, const staged_shape *s, staged_tile *t, gpuc_tensor *reduction,
                    gpuc_tensor *out)
{
    if (reduction == out) reduction = gpuc_cache_write(r->s, out, "local");
    gpuc_stage *st = gpuc_schedule_stage(r->s, out), *sum = gpuc_schedule_stage(r->s, reduction);
    gpuc_stage_compute_at(sum, st, spread_output(s, t, st));
    gpuc_stage_set_scope(sum, "local");
    gpuc_stage_round_up(sum);

    gpuc_iter *order[GPUC_TOPI_MAX_DIMS + 3], *staged, *step, *vector;
    int m = 0, n = gpuc_stage_num_axes(sum), reduced = gpuc_stage_num_reduce(sum);
    gpuc_stage_split(sum, gpuc_stage_reduce_axis(sum, s->steps), t->steps, &staged, &step);
    order[m++] = staged;
    if (s->window > 1) order[m++] = step;
    for (int i = 0; i < reduced; i++)
        if (i != s->steps) order[m++] = gpuc_stage_reduce_axis(sum, i);
    if (s->window == 1) order[m++] = step;
    if (gpuc_rules_extent(order[m - 1]) > r->constants->staged_unrolled)
        gpuc_stage_split(sum, order[m - 1], r->constants->staged_unrolled, &order[m - 1], &order[m]), m++;
    gpuc_iter *last = order[m - 1];
    for (int i = 0; i < n - 1; i++) order[m++] = gpuc_stage_axis(sum, i);
    gpuc_stage_split(sum, gpuc_stage_axis(sum, n - 1), s->lanes, &order[m], &vector);
    order[++m] = vector;
    m++;
    gpuc_stage_reorder(sum, m, order);
    for (int i = m - 1 - n; i < m - 1; i++) gpuc_stage_unroll(sum, order[i]);
    gpuc_stage_unroll(sum, last);
    if (s->lanes > 1) gpuc_stage_vectorize(sum, vector);
    stage_operand(r, s, t, &s->rows, sum, staged, last);
    stage_operand(r, s, t, &s->columns, sum, staged, last);
}

/* Parts of the sums are one more axis of the output, the first. */
static gpuc_tensor *part_sums(const gpuc_rules *r, gpuc_tensor *reduction, const staged_tile *t,
                              staged_shape *s)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *part, *rest;
    gpuc_stage_split(st, gpuc_stage_reduce_axis(st, s->steps), s->num_steps / t->parts, &part, &rest);
    gpuc_tensor *parts = gpuc_rfactor(r->s, reduction, part);
    for (int k = 0; k < KINDS; k++)
        if (s->axis[k] >= 0) s->axis[k]++;
    s->steps = parts->op->num_reduce - 1;
    s->num_steps /= t->parts;
    s->others *= t->parts;
    s->rows.tensor = s->columns.tensor = NULL;
    GPUC_CHECK(find_operands(r, parts->op, s));
    return parts;
}

bool gpuc_rules_staged(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    static const int64_t choices[] = {0, 1};
    staged_shape s;
    staged_tile t;
    bool own;
    if (!find(r, reduction, out, &s, &t, &own) || !gpuc_rules_knob(r, "staged", own, 1, 2, choices))
        return false;
    ask(r, reduction->op, &s, &t);
    if (t.parts == 1) {
        compute(r, &s, &t, reduction, out);
        return true;
    }
    gpuc_tensor *parts = part_sums(r, reduction, &t, &s);
    compute(r, &s, &t, parts, parts);
    gpuc_rules_reduce(r, reduction, out);
    return true;
}
