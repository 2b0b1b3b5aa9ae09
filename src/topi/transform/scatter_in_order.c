/* SPDX-License-Identifier: Apache-2.0 */
/* Scatters on CPUs: each task, or lane, owns a part of the result, goes through all updates in their
 * order, and applies those that fall into its part. So equal positions give the same result as sorted
 * updates do, without sorting. */
#include "target/target.h"
#include "topi/transform/scatter.h"

typedef struct pass {
    const gpuc_scatter *s;
    gpuc_expr element[GPUC_TOPI_MAX_DIMS]; /* of the result; nothing along the slots */
    int cut;                               /* the dimension that tasks share; -1: none */
    gpuc_expr from, to;                    /* of that dimension, or of the slots */
    bool slots;                            /* tasks share the slots */
} pass;

/* Where the last update of a slot is noted. */
static gpuc_expr note_of(const pass *p, gpuc_expr slot)
{
    const gpuc_scatter *s = p->s;
    gpuc_expr row = gpuc_int(s->ctx, 0);
    if (!s->own_indices) return slot;
    for (int k = 0; k < s->call->out[0].ndim; k++)
        if (k < s->outer || k >= s->inner)
            row = gpuc_add(s->ctx, gpuc_mul(s->ctx, row, s->extents[k]), p->element[k]);
    return gpuc_add(s->ctx, gpuc_mul(s->ctx, row, s->slots), slot);
}

static gpuc_expr value_of(const pass *p, gpuc_expr i)
{
    const gpuc_scatter *s = p->s;
    gpuc_expr index[2 * GPUC_TOPI_MAX_DIMS];
    int n = s->update_index(s, p->element, gpuc_int(s->ctx, 0), i, index);
    return gpuc_cast(s->ctx, s->out->dtype, gpuc_tir_load(s->ctx, s->values, n, index));
}

/* Combines p->element, at the slot, with a value. */
static gpuc_stmt combine(const pass *p, gpuc_expr value, gpuc_expr slot)
{
    const gpuc_scatter *s = p->s;
    gpuc_ctx *ctx = s->ctx;
    const gpuc_expr *dims = s->call->out[0].dims;
    gpuc_expr at = gpuc_int(ctx, 0);
    for (int k = 0; k < s->outer; k++) at = gpuc_add(ctx, gpuc_mul(ctx, at, dims[k]), p->element[k]);
    at = gpuc_add(ctx, gpuc_mul(ctx, at, s->slots), slot);
    for (int k = s->inner; k < s->call->out[0].ndim; k++)
        at = gpuc_add(ctx, gpuc_mul(ctx, at, dims[k]), p->element[k]);
    value = gpuc_topi_scatter_join(s, gpuc_tir_load1(ctx, s->out, at), value);
    return gpuc_tir_store1(ctx, s->out, at, value);
}

/* Are there elements behind the slots to go through? Slices of scatter_nd that only replace are not. */
static bool goes_inside(const gpuc_scatter *s)
{
    return s->kind != GPUC_SCATTER_NONE || s->own_indices;
}

static gpuc_stmt loops_inside(const pass *p, gpuc_stmt body)
{
    const gpuc_scatter *s = p->s;
    for (int k = s->call->out[0].ndim - 1; k >= s->inner && goes_inside(s); k--) {
        gpuc_expr from = k == p->cut ? p->from : gpuc_int(s->ctx, 0),
                  count = k == p->cut ? gpuc_sub(s->ctx, p->to, p->from) : s->extents[k];
        body = gpuc_tir_for_(s->ctx, p->element[k], from, count, GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, body);
    }
    return body;
}

/* Applies update i to the part of its row. An index that is a whole slice's is read once. */
static gpuc_stmt apply(const pass *p, gpuc_expr i)
{
    const gpuc_scatter *s = p->s;
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr slot = gpuc_var(ctx, "slot", GPUC_INT32), place = gpuc_topi_par_index(ctx, slot);
    gpuc_expr low = p->slots ? gpuc_topi_par_to_i32(ctx, p->from) : gpuc_topi_par_i32(ctx, 0),
              mine = gpuc_le(ctx, low, slot);
    if (p->slots) mine = gpuc_and(ctx, mine, gpuc_lt(ctx, slot, gpuc_topi_par_to_i32(ctx, p->to)));
    gpuc_stmt put = s->kind == GPUC_SCATTER_NONE
                        ? gpuc_tir_store1(ctx, s->out, note_of(p, place), gpuc_topi_par_to_i32(ctx, i))
                        : combine(p, value_of(p, i), place);
    if (!s->own_indices) put = loops_inside(p, put);
    put = gpuc_tir_let(ctx, slot, s->slot_of(s, p->element, i), gpuc_tir_if_(ctx, mine, put, NULL));
    return s->own_indices ? loops_inside(p, put) : put;
}

/* The first dimension behind the slots that may have more than one element; -1: none. */
static int dimension_to_cut(const gpuc_scatter *s)
{
    int64_t known;
    for (int k = s->inner; k < s->call->out[0].ndim && goes_inside(s); k++)
        if (!gpuc_expr_is_int(s->extents[k], &known) || known > 1) return k;
    return -1;
}

gpuc_stmt gpuc_topi_scatter_in_order(const gpuc_scatter *s, const gpuc_target *target)
{
    gpuc_ctx *ctx = s->ctx;
    pass p = {.s = s, .cut = dimension_to_cut(s)};
    int ndim = s->call->out[0].ndim;
    int64_t cores = gpuc_topi_par_cores(target), parts = cores, known = 1;
    gpuc_expr outer = gpuc_int(ctx, 1), i = gpuc_var(ctx, "i", GPUC_INDEX),
              task = gpuc_var(ctx, "task", GPUC_INDEX);
    for (int k = 0; k < s->outer; k++) outer = gpuc_mul(ctx, outer, s->extents[k]);
    if (gpuc_expr_is_int(outer, &known) && known >= GPUC_COMMON_scatter_rows * cores) parts = 1;
    int64_t width = 0; /* of the dimension that is cut */
    if (p.cut >= 0 && !gpuc_expr_is_int(s->extents[p.cut], &width)) width = INT64_MAX;
    p.slots = parts > 1 && width < parts;
    if (p.slots || parts == 1) p.cut = -1;
    gpuc_expr whole = p.slots      ? s->slots
                      : p.cut >= 0 ? s->extents[p.cut]
                                   : NULL,
              split = gpuc_int(ctx, parts);
    gpuc_expr part = gpuc_floormod_(ctx, task, split), rest = gpuc_floordiv_(ctx, task, split);
    if (whole) {
        gpuc_expr size = gpuc_topi_par_ceildiv(ctx, whole, split);
        p.from = gpuc_mul(ctx, part, size);
        p.to = gpuc_min(ctx, whole, gpuc_add(ctx, p.from, size));
    }
    for (int k = 0; k < ndim; k++) p.element[k] = k < s->inner ? NULL : gpuc_var(ctx, "c", GPUC_INDEX);
    gpuc_topi_par_unravel(ctx, s->outer, s->extents, rest, p.element);
    gpuc_stmt body = gpuc_topi_par_serial(ctx, i, s->n, apply(&p, i));
    return gpuc_topi_par_tasks(ctx, target, task, gpuc_mul(ctx, outer, split), body);
}

/* ---- Lanes that are threads ---- */

enum { UPDATES = GPUC_COMMON_scatter_updates, BLOCK = GPUC_COMMON_scatter_block };

/* Applies updates from `first` on that are in front of `end`. All are read before: memory takes longer
 * than the rest. */
static gpuc_stmt apply_block(const pass *p, gpuc_expr first, gpuc_expr end)
{
    const gpuc_scatter *s = p->s;
    gpuc_ctx *ctx = s->ctx;
    bool replaces = s->kind == GPUC_SCATTER_NONE;
    gpuc_expr slot[BLOCK], value[BLOCK], update[BLOCK], slots[BLOCK];
    gpuc_stmt put[BLOCK], body;
    for (int k = 0; k < BLOCK; k++) {
        gpuc_expr i = gpuc_add(ctx, first, gpuc_int(ctx, k)), last = gpuc_sub(ctx, s->n, gpuc_int(ctx, 1));
        update[k] = gpuc_min(ctx, i, last);
        slots[k] = gpuc_select(ctx, gpuc_lt(ctx, i, end), s->slot_of(s, p->element, update[k]),
                               gpuc_topi_par_i32(ctx, -1));
        slot[k] = gpuc_var(ctx, "slot", GPUC_INT32);
        value[k] = gpuc_var(ctx, "value", s->out->dtype);
        gpuc_expr place = gpuc_topi_par_index(ctx, slot[k]);
        put[k] = replaces ? gpuc_tir_store1(ctx, s->out, note_of(p, place), gpuc_topi_par_to_i32(ctx, i))
                          : combine(p, value[k], place);
        put[k] = gpuc_tir_if_(ctx, gpuc_le(ctx, gpuc_topi_par_i32(ctx, 0), slot[k]), put[k], NULL);
    }
    body = gpuc_tir_seq(ctx, BLOCK, put);
    for (int k = BLOCK - 1; k >= 0; k--) {
        if (!replaces) body = gpuc_tir_let(ctx, value[k], value_of(p, update[k]), body);
        body = gpuc_tir_let(ctx, slot[k], slots[k], body);
    }
    return body;
}

/* Elements of a slice that are combined at a time: those of a lane. */
static int vector_of(const gpuc_scatter *s, const gpuc_target *target)
{
    int last = s->call->out[0].ndim - 1, lanes = gpuc_target_lanes(target, s->out->dtype);
    int64_t extent;
    bool slices = !s->own_indices && s->kind != GPUC_SCATTER_NONE && last >= s->inner;
    return slices && gpuc_expr_is_int(s->extents[last], &extent) && extent % lanes == 0 ? lanes : 1;
}

/* Kernel k of those that go through the updates one after the other. */
static gpuc_stmt apply_some(const gpuc_scatter *s, const gpuc_target *target, int64_t k)
{
    gpuc_ctx *ctx = s->ctx;
    pass p = {.s = s, .cut = -1};
    gpuc_expr size = gpuc_int(ctx, 1), block = gpuc_int(ctx, BLOCK), i = gpuc_var(ctx, "i", GPUC_INDEX),
              lane = gpuc_var(ctx, "lane", GPUC_INDEX), v = gpuc_var(ctx, "v", GPUC_INDEX), rest = lane,
              from = gpuc_int(ctx, k * UPDATES);
    int last = s->call->out[0].ndim - 1, width = vector_of(s, target);
    for (int d = last; d >= 0; d--) {
        bool slots = d >= s->outer && d < s->inner;
        if (slots || (d >= s->inner && !goes_inside(s))) continue;
        gpuc_expr extent = s->extents[d], lanes = gpuc_int(ctx, width);
        if (d == last && width > 1) extent = gpuc_floordiv_(ctx, extent, lanes);
        size = gpuc_mul(ctx, size, extent);
        p.element[d] = gpuc_floormod_(ctx, rest, extent);
        rest = gpuc_floordiv_(ctx, rest, extent);
        if (d == last && width > 1) p.element[d] = gpuc_add(ctx, gpuc_mul(ctx, p.element[d], lanes), v);
    }
    gpuc_expr left = gpuc_sub(ctx, s->n, from);
    gpuc_expr count = gpuc_topi_par_clamp(ctx, left, gpuc_int(ctx, 0), gpuc_int(ctx, UPDATES));
    gpuc_expr first = gpuc_add(ctx, from, gpuc_mul(ctx, i, block));
    gpuc_stmt body = apply_block(&p, first, gpuc_min(ctx, s->n, gpuc_add(ctx, from, gpuc_int(ctx, UPDATES))));
    if (width > 1)
        body = gpuc_tir_for_(ctx, v, gpuc_int(ctx, 0), gpuc_int(ctx, width), GPUC_LOOP_VECTORIZED,
                             GPUC_THREAD_NONE, body);
    return gpuc_topi_par_lanes(ctx, target, lane, size,
                               gpuc_topi_par_serial(ctx, i, gpuc_topi_par_ceildiv(ctx, count, block), body));
}

gpuc_stmt gpuc_topi_scatter_on_lanes(const gpuc_scatter *s, const gpuc_target *target)
{
    int64_t max = gpuc_op_max_size(s->ctx, s->n), kernels = max / UPDATES + (max % UPDATES != 0);
    gpuc_stmt body = NULL;
    if (kernels > GPUC_COMMON_scatter_kernels) return NULL;
    for (int64_t k = 0; k < kernels; k++) {
        gpuc_stmt some = apply_some(s, target, k);
        body = body ? gpuc_tir_seq2(s->ctx, body, some) : some;
    }
    return body;
}
