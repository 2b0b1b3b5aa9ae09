/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules transpositions: an input is contiguous along another axis than the last one of the output. A
 * block of both axes is copied at a time, so that each cache line is accessed once. */
#include "arith/arith.h"
#include "autoschedule/rules.h"

enum {
    MAX_AXES = 64,
    MAX_READS = 32,
};

/* ---- How reads move with the axes of the output ------------------------------------------------------- */

/* One read of what lies in memory. stride[i]: elements from one index of axis i to the next; NULL: not the
 * same everywhere. */
typedef struct access {
    const gpuc_tensor *tensor;
    gpuc_te_op *reader; /* the output's operation, or one that is inlined into it */
    gpuc_expr last;     /* index in the tensor's last dimension */
    gpuc_expr stride[MAX_AXES];
} access;

typedef struct accesses {
    gpuc_ctx *ctx;
    gpuc_schedule *s;
    gpuc_analyzer *a;
    const gpuc_te_op *op;
    gpuc_te_op *reader;
    gpuc_ptrs list; /* access */
    bool too_many;
} accesses;

static bool visit_read(gpuc_expr e, void *arg)
{
    accesses *c = arg;
    gpuc_ctx *ctx = c->ctx;
    if (c->too_many || e->kind != GPUC_EXPR_READ) return !c->too_many;
    const gpuc_tir_read_node *read = gpuc_as_read(e);
    gpuc_te_op *in = read->tensor->op, *reader = c->reader;
    if (gpuc_stage_get(gpuc_schedule_stage(c->s, (gpuc_tensor *)read->tensor)).attach == GPUC_ATTACH_INLINE) {
        gpuc_expr *vars = gpuc_new_array(ctx, gpuc_expr, read->n);
        for (int i = 0; i < read->n; i++) vars[i] = in->axes[i]->var;
        c->reader = in;
        gpuc_tir_visit(
            ctx, gpuc_tir_substitute(ctx, in->bodies[read->tensor->value_index], read->n, vars, read->index),
            visit_read, c);
        c->reader = reader;
        return false; /* what the indices read is in the substituted body */
    }
    c->too_many = c->list.count == MAX_READS;
    access *at = gpuc_new(ctx, access);
    *at =
        (access){.tensor = read->tensor, .reader = reader, .last = read->n ? read->index[read->n - 1] : NULL};
    gpuc_expr offset = gpuc_int(ctx, 0), rest;
    for (int i = 0; i < read->n; i++)
        offset = gpuc_add(ctx, gpuc_mul(ctx, offset, read->tensor->shape[i]), read->index[i]);
    offset = gpuc_arith_simplify(c->a, offset);
    for (int i = 0; i < c->op->num_axes; i++)
        if (!gpuc_arith_linear(c->a, offset, 1, &c->op->axes[i]->var, &at->stride[i], &rest))
            at->stride[i] = NULL;
    gpuc_ptrs_push(ctx, &c->list, at);
    return true;
}

static bool find_accesses(accesses *c)
{
    for (int i = 0; i < c->op->num_axes; i++)
        gpuc_arith_analyzer_bind(c->a, c->op->axes[i]->var, gpuc_int(c->ctx, 0), c->op->axes[i]->extent);
    for (int i = 0; i < c->op->num_outputs; i++) gpuc_tir_visit(c->ctx, c->op->bodies[i], visit_read, c);
    return !c->too_many;
}

/* Whether axes i and i + 1 can be fused: the memory of consecutive rows is contiguous. */
static bool joins(accesses *c, int i)
{
    for (size_t k = 0; k < c->list.count; k++) {
        const access *at = c->list.at[k];
        gpuc_expr outer = at->stride[i], inner = at->stride[i + 1];
        if (!outer || !inner) return false;
        if (!gpuc_arith_prove_equal(c->a, outer, gpuc_mul(c->ctx, inner, c->op->axes[i + 1]->extent)))
            return false;
    }
    return true;
}

/* ---- The loops ----------------------------------------------------------------------------------------- */

/* Axes that were joined are one loop. */
typedef struct nest {
    int n, along; /* loops, and the number of the one that an input runs along */
    gpuc_iter *loops[MAX_AXES];
    const access *turned;
    bool whole_vectors; /* its rows are some, along one of the axes, and so are those of the output */
} nest;

static bool is_number(gpuc_expr e, int64_t value)
{
    int64_t n;
    return e && gpuc_expr_is_int(e, &n) && n == value;
}

/* Finds the transposed input, and the axis that it is contiguous along; the input with the max number of
 * elements decides. */
static const access *find_turned(const accesses *c, int last, int *along)
{
    const access *found = NULL;
    for (size_t k = 0; k < c->list.count && last > 0; k++) {
        const access *at = c->list.at[k];
        if (is_number(at->stride[last], 0) || is_number(at->stride[last], 1)) continue;
        for (int i = 0; i < last; i++) {
            if (!is_number(at->stride[i], 1) || is_number(c->op->axes[i]->extent, 1)) continue;
            if (found && found->tensor->ndim >= at->tensor->ndim) continue;
            found = at;
            *along = i;
        }
    }
    return found;
}

static accesses accesses_of(const gpuc_rules *r, const gpuc_stage *st)
{
    gpuc_te_op *op = gpuc_stage_tensor(st, 0)->op;
    return (accesses){
        .ctx = r->ctx, .s = r->s, .a = gpuc_arith_analyzer_create(r->ctx), .op = op, .reader = op};
}

bool gpuc_rules_has_phases(const gpuc_rules *r, const gpuc_stage *st)
{
    accesses c = accesses_of(r, st);
    int n = c.op->num_axes, along = -1, lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(c.op->outputs[0]));
    if (n < 2 || n > MAX_AXES || gpuc_rules_extent(c.op->axes[n - 2]) > lanes) return false;
    return find_accesses(&c) && find_turned(&c, n - 1, &along) && along == n - 2;
}

static bool make_nest(const gpuc_rules *r, gpuc_stage *st, nest *nest)
{
    accesses c = accesses_of(r, st);
    int n = c.op->num_axes, last = n - 1, along = 0;
    if (n < 2 || n > MAX_AXES || gpuc_stage_num_leaves(st) != n || !find_accesses(&c)) return false;
    while (last > 0 && is_number(c.op->axes[last]->extent, 1)) last--;
    if (!(nest->turned = find_turned(&c, last, &along))) return false;
    const gpuc_tensor *from = nest->turned->tensor;
    int64_t length = 0, lanes = gpuc_target_lanes(r->target, gpuc_te_dtype(from));
    gpuc_expr_is_int(from->shape[from->ndim - 1], &length);
    nest->whole_vectors = nest->turned->last == c.op->axes[along]->var && length > 0 && length % lanes == 0 &&
                          nest->turned->stride[last];
    for (int i = 0; i < n; i++) {
        gpuc_iter *axis = gpuc_stage_axis(st, i);
        if (i > last || (i > 0 && joins(&c, i - 1))) /* behind the last are those of one element */
            nest->loops[nest->n - 1] = gpuc_stage_fuse(st, nest->loops[nest->n - 1], axis);
        else
            nest->loops[nest->n++] = axis;
        if (i == along) nest->along = nest->n - 1;
    }
    /* Vectors of fused rows that are not aligned to rows would keep two whole rows in registers. */
    if (nest->loops[nest->n - 1] != gpuc_stage_axis(st, last) &&
        gpuc_rules_extent(c.op->axes[last]) % lanes != 0)
        nest->whole_vectors = false;
    return true;
}

/* Strips as wide as a line of the output run down its rows, which are those of one line of each input row
 * after the other. Output rows that are shorter than a vector are written a column at a time instead. */
static void cpu(const gpuc_rules *r, gpuc_stage *st, const nest *nest)
{
    const gpuc_constants *c = r->constants;
    gpuc_dtype t = gpuc_te_dtype(gpuc_stage_tensor(st, 0));
    int64_t line = c->cache_line / (int64_t)gpuc_dtype_bytes(t),
            lanes = line < c->vector_lanes ? line : c->vector_lanes;
    gpuc_iter *order[MAX_AXES + 8], *rows = nest->loops[nest->along], *columns = nest->loops[nest->n - 1],
                                    *strip, *strips, *vector;
    int64_t width = gpuc_rules_extent(columns), height = gpuc_rules_extent(rows);
    if (gpuc_target_lanes(r->target, t) == 1) lanes = 1;
    if (width > 0 && width < c->transpose_narrow && height >= lanes) {
        gpuc_iter *swap = columns;
        columns = rows;
        rows = swap;
        width = gpuc_rules_extent(columns);
        height = gpuc_rules_extent(rows);
    }
    while (width > 0 && lanes > width) lanes /= 2;
    if (width > 0 && width < line) line = lanes > 1 ? lanes : width;
    int64_t tasks = c->transpose_tasks + c->transpose_tasks_of_core * r->target->num_cores,
            task = c->transpose_task;
    while (task > c->transpose_min_lines * line &&
           gpuc_rules_likely_product(nest->n, nest->loops) / task < tasks)
        task /= 2;
    int64_t down = task / line < c->transpose_rows ? task / line : c->transpose_rows;
    if (height > 0 && height < down) down = height;
    int64_t across = task / (line * down);
    if (width > 0 && across > width / line) across = width / line;

    int n = 0;
    for (int i = 0; i < nest->n; i++)
        if (nest->loops[i] != rows && nest->loops[i] != columns) order[n++] = nest->loops[i];
    gpuc_stage_split(st, rows, down, &order[n], &rows);
    gpuc_stage_split(st, columns, line, &strip, &vector);
    gpuc_stage_split(st, strip, across > 1 ? across : 1, &order[n + 1], &strips);
    int outer = n += 2;
    order[n++] = strips;
    order[n++] = rows;
    if (line > lanes && lanes > 1) {
        gpuc_stage_split(st, vector, lanes, &order[n], &vector);
        gpuc_stage_unroll(st, order[n++]);
    }
    order[n++] = vector;
    gpuc_stage_reorder(st, n, order);
    if (lanes > 1) gpuc_stage_vectorize(st, vector);
    gpuc_rules_spread(r, st, gpuc_rules_fuse(st, outer, order));
}

/* Each invocation turns a square of vectors in its registers; a group makes a strip that is as wide as a line
 * of the output. */
static void gpu(const gpuc_rules *r, gpuc_stage *st, const nest *nest)
{
    gpuc_iter *order[MAX_AXES + 8], *rows = nest->loops[nest->along], *columns = nest->loops[nest->n - 1],
                                    *block, *thread, *vector;
    int64_t width = gpuc_rules_extent(columns), height = gpuc_rules_extent(rows);
    gpuc_dtype t = gpuc_te_dtype(gpuc_stage_tensor(st, 0));
    int64_t side = gpuc_target_lanes(r->target, t);
    int64_t across = width > 0 && width % side == 0 ? side : 1,
            down = height > 0 && height < side ? height : side;
    const gpuc_constants *c = r->constants;
    int64_t wide = c->cache_line / (int64_t)gpuc_dtype_bytes(t) / across, strip, group = c->transpose_threads;
    int64_t max = r->target->max_num_threads;
    if (r->target->max_threads_x < max) max = r->target->max_threads_x;
    if (group > max) group = max;
    if (wide > c->transpose_wide) wide = c->transpose_wide;
    if (wide > group) wide = group;
    strip = group / wide;
    if (height >= c->transpose_tall * strip * down && max >= c->transpose_longer * c->transpose_threads)
        strip *= c->transpose_longer;
    int n = 0;
    for (int i = 0; i < nest->n; i++)
        if (nest->loops[i] != rows && nest->loops[i] != columns) order[n++] = nest->loops[i];
    gpuc_stage_split(st, rows, down, &block, &rows);
    gpuc_stage_split(st, block, strip, &order[n], &order[n + 2]);
    gpuc_stage_split(st, columns, across, &block, &vector);
    gpuc_stage_split(st, block, wide, &order[n + 1], &order[n + 3]);
    order[n + 4] = rows;
    order[n + 5] = vector;
    gpuc_stage_reorder(st, n + 6, order);
    gpuc_stage_unroll(st, rows);
    if (across > 1) gpuc_stage_vectorize(st, vector);
    block = gpuc_rules_fuse(st, n + 2, order);
    thread = gpuc_stage_fuse(st, order[n + 2], order[n + 3]);
    gpuc_stage_bind(st, block, "blockIdx.x");
    gpuc_stage_bind(st, thread, "threadIdx.x");
    if (nest->whole_vectors && across > 1 && down == across)
        gpuc_rules_load_to_registers(r, gpuc_schedule_stage(r->s, nest->turned->reader->outputs[0]),
                                     (gpuc_tensor *)nest->turned->tensor, st, thread, (int)across);
}

bool gpuc_rules_transpose(const gpuc_rules *r, gpuc_stage *st)
{
    nest nest = {0};
    if (!make_nest(r, st, &nest)) return false;
    if (r->kind == GPUC_CLASS_GPU)
        gpu(r, st, &nest);
    else
        cpu(r, st, &nest);
    return true;
}
