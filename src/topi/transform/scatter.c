/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that write or combine updates at given positions. The updates of a row are sorted by position;
 * each element of the result finds its updates by bisection and combines them in order. So equal positions
 * give the same result on every run, without atomics. Positions outside of the tensor are ignored. */
#include "topi/transform/scatter.h"

#include <string.h>

#include "target/target.h"
#include "topi/accumulate.h"

static const char *const reductions[] = {"none", "add", "mul", "min", "max"};

gpuc_scatter_kind gpuc_topi_scatter_kind_of(const gpuc_op_call *call)
{
    const char *name = gpuc_attrs_get_string(call->attrs, "reduction", "none");
    char type[24];
    for (int i = 0; i < GPUC_SCATTER_KIND_COUNT; i++) {
        if (strcmp(name, reductions[i])) continue;
        if (i != GPUC_SCATTER_NONE && gpuc_is_bool(call->in[0].dtype))
            gpuc_topi_fail(call, "reduction '%s' takes numbers, not %s", name,
                           gpuc_dtype_name(call->in[0].dtype, type));
        return (gpuc_scatter_kind)i;
    }
    gpuc_topi_fail(call, "reduction '%s' is not none, add, mul, min or max", name);
}

gpuc_expr gpuc_topi_scatter_join(const gpuc_scatter *s, gpuc_expr a, gpuc_expr b)
{
    switch (s->kind) {
    case GPUC_SCATTER_ADD: return gpuc_add(s->ctx, a, b);
    case GPUC_SCATTER_MUL: return gpuc_mul(s->ctx, a, b);
    case GPUC_SCATTER_MIN: return gpuc_min(s->ctx, a, b);
    case GPUC_SCATTER_MAX: return gpuc_max(s->ctx, a, b);
    case GPUC_SCATTER_NONE:
    case GPUC_SCATTER_KIND_COUNT: break;
    }
    return b;
}

/* ---- Which updates a slot has ---- */

static gpuc_stmt slot_less(const gpuc_order *o, gpuc_expr row, gpuc_expr a, gpuc_expr b,
                           const gpuc_tir_buffer *less)
{
    const gpuc_scatter *s = o->arg;
    gpuc_expr before = gpuc_lt(o->ctx, s->slot(s, row, a), s->slot(s, row, b));
    return gpuc_topi_par_set(o->ctx, less, gpuc_cast(o->ctx, GPUC_INT32, before));
}

static int64_t max_updates(const gpuc_scatter *s)
{
    int64_t max = gpuc_op_max_size(s->ctx, s->n);
    return max < INT32_MAX ? max : INT32_MAX;
}

/* Finds for each slot of each row (for reductions also the end of the row) where its updates begin in the
 * sorted order; for `none` its last update, or -1. */
static gpuc_stmt find_updates(const gpuc_scatter *s, const gpuc_tir_buffer *order, const gpuc_tir_buffer *out)
{
    gpuc_ctx *ctx = s->ctx;
    bool last = s->kind == GPUC_SCATTER_NONE;
    gpuc_expr at = gpuc_var(ctx, "e", GPUC_INDEX), per_row = gpuc_add(ctx, s->slots, gpuc_int(ctx, !last));
    gpuc_expr row = gpuc_floordiv_(ctx, at, per_row), n = s->n, zero = gpuc_topi_par_i32(ctx, 0);
    gpuc_expr slot = gpuc_topi_par_to_i32(ctx, gpuc_floormod_(ctx, at, per_row)),
              one = gpuc_topi_par_i32(ctx, 1);
    gpuc_expr base = gpuc_mul(ctx, row, n), mid = gpuc_var(ctx, "mid", GPUC_INT32);
    gpuc_tir_buffer *lo = gpuc_topi_par_cell(ctx, "lo", GPUC_INT32),
                    *hi = gpuc_topi_par_cell(ctx, "hi", GPUC_INT32);
    gpuc_expr here = gpuc_tir_load1(ctx, order, gpuc_add(ctx, base, gpuc_topi_par_index(ctx, mid)));
    gpuc_expr theirs = s->slot(s, row, gpuc_topi_par_index(ctx, here));
    gpuc_expr found = last ? gpuc_lt(ctx, slot, theirs) : gpuc_le(ctx, slot, theirs);
    gpuc_stmt search = gpuc_topi_par_search(ctx, zero, gpuc_topi_par_to_i32(ctx, n),
                                            gpuc_topi_par_steps(max_updates(s)), mid, lo, hi, NULL, found);
    gpuc_expr result = gpuc_topi_par_get(ctx, lo);
    gpuc_stmt put;
    if (last) {
        gpuc_expr u = gpuc_var(ctx, "u", GPUC_INT32), before = gpuc_sub(ctx, result, one);
        gpuc_expr prior = gpuc_tir_load1(ctx, order, gpuc_add(ctx, base, gpuc_topi_par_index(ctx, before)));
        gpuc_expr hit = gpuc_eq(ctx, s->slot(s, row, gpuc_topi_par_index(ctx, u)), slot);
        gpuc_expr none = gpuc_topi_par_i32(ctx, -1);
        put = gpuc_tir_let(ctx, u, prior, gpuc_tir_store1(ctx, out, at, gpuc_select(ctx, hit, u, none)));
        put = gpuc_tir_if_(ctx, gpuc_lt(ctx, zero, result), put, gpuc_tir_store1(ctx, out, at, none));
    } else {
        put = gpuc_tir_store1(ctx, out, at, result);
    }
    gpuc_stmt body = gpuc_tir_alloc(ctx, lo, gpuc_tir_alloc(ctx, hi, gpuc_tir_seq2(ctx, search, put)));
    return gpuc_topi_par_loop(ctx, at, gpuc_mul(ctx, s->rows, per_row), body);
}

static gpuc_stmt sorted_updates(const gpuc_scatter *s, const gpuc_tir_buffer *order)
{
    gpuc_order o = {
        .ctx = s->ctx, .rows = s->rows, .n = s->n, .keep = s->n, .less = slot_less, .arg = (void *)s};
    return gpuc_topi_order_emit(&o, order);
}

static gpuc_tir_buffer *order_space(const gpuc_scatter *s)
{
    return gpuc_topi_par_workspace(s->ctx, "order", GPUC_INT32, gpuc_mul(s->ctx, s->rows, s->n));
}

/* A copy for the bodies, which are made after the call. */
static gpuc_scatter *keep(const gpuc_scatter *s)
{
    gpuc_scatter *kept = gpuc_ctx_memdup(s->ctx, s, sizeof *s);
    kept->call = gpuc_topi_par_keep_call(s->call);
    return kept;
}

/* For CPUs; else NULL. */
static gpuc_stmt apply_in_order(const gpuc_scatter *s, const gpuc_target *target)
{
    const gpuc_target *cpu = gpuc_topi_par_cpu(target), *lanes = gpuc_topi_par_on_lanes(target);
    if (cpu) return gpuc_topi_scatter_in_order(s, cpu);
    return lanes ? gpuc_topi_scatter_on_lanes(s, lanes) : NULL;
}

/* ---- none: an element of the data, or the last update ---- */

/* out = -1: no update */
static gpuc_stmt begin_without_updates(const gpuc_scatter *s)
{
    gpuc_expr e = gpuc_var(s->ctx, "e", GPUC_INDEX), size = gpuc_mul(s->ctx, s->rows, s->slots);
    return gpuc_topi_par_loop(s->ctx, e, size,
                              gpuc_tir_store1(s->ctx, s->out, e, gpuc_topi_par_i32(s->ctx, -1)));
}

static gpuc_stmt replaced_body(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg,
                               const gpuc_target *target, gpuc_knobs *knobs)
{
    const gpuc_scatter *s = arg;
    gpuc_stmt in_order = apply_in_order(s, target);
    (void)op, (void)knobs;
    if (in_order) return gpuc_tir_seq2(ctx, begin_without_updates(s), in_order);
    gpuc_tir_buffer *order = order_space(s);
    return gpuc_tir_alloc(ctx, order,
                          gpuc_tir_seq2(ctx, sorted_updates(s, order), find_updates(s, order, s->out)));
}

static gpuc_tensor *replaced(gpuc_scatter *s, gpuc_tensor *const *ins)
{
    gpuc_ctx *ctx = s->ctx;
    const gpuc_op_call *call = s->call;
    gpuc_expr size = gpuc_mul(ctx, s->rows, s->slots);
    gpuc_tensor_type type = gpuc_topi_par_type(ctx, GPUC_INT32, 1, &size);
    gpuc_te_op *op = gpuc_topi_par_extern(call, "last_update", 1, &ins[s->indices], 1, &type);
    s->positions = op->input_buffers[0];
    s->out = op->output_buffers[0];
    gpuc_topi_par_set_body(ctx, op, replaced_body, keep(s));

    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], index[2 * GPUC_TOPI_MAX_DIMS], row, slot;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_expr inside = s->locate(s, vars, &row, &slot);
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, row, s->slots), slot);
    gpuc_expr u = gpuc_te_read(ctx, op->outputs[0], 1, &at), max = gpuc_sub(ctx, s->n, gpuc_int(ctx, 1));
    gpuc_expr clamped = gpuc_topi_par_clamp(ctx, gpuc_topi_par_index(ctx, u), gpuc_int(ctx, 0), max);
    int n = s->update_index(s, vars, row, clamped, index);
    gpuc_expr old = gpuc_te_read(ctx, ins[0], gpuc_te_ndim(ins[0]), vars);
    gpuc_expr value = gpuc_te_read(ctx, ins[s->updates], n, index);
    value = gpuc_if_then_else(ctx, gpuc_le(ctx, gpuc_topi_par_i32(ctx, 0), u), value, old);
    if (inside) value = gpuc_if_then_else(ctx, inside, value, old);
    return gpuc_topi_injective(call, 0, axes, value);
}

/* ---- The reductions ---- */

typedef struct combiner {
    const gpuc_scatter *s;
    const gpuc_tir_buffer *order, *updates, *sum;
    gpuc_expr row, first, end; /* of the updates of the element, in the order */
    const gpuc_expr *element;
} combiner;

/* Combines the updates of an element in order. The number of all updates bounds the iterations of the
 * loop. */
static gpuc_stmt combine_updates(const combiner *c)
{
    const gpuc_scatter *s = c->s;
    gpuc_ctx *ctx = s->ctx;
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INT32), u = gpuc_var(ctx, "u", GPUC_INT32);
    gpuc_expr place =
        gpuc_add(ctx, gpuc_mul(ctx, c->row, s->n), gpuc_topi_par_index(ctx, gpuc_add(ctx, c->first, i)));
    gpuc_expr index[2 * GPUC_TOPI_MAX_DIMS];
    int n = s->update_index(s, c->element, c->row, gpuc_topi_par_index(ctx, u), index);
    gpuc_expr value = gpuc_cast(ctx, c->sum->dtype, gpuc_tir_load(ctx, c->updates, n, index));
    gpuc_stmt add =
        gpuc_topi_par_set(ctx, c->sum, gpuc_topi_scatter_join(s, gpuc_topi_par_get(ctx, c->sum), value));
    add = gpuc_tir_let(ctx, u, gpuc_tir_load1(ctx, c->order, place), add);
    gpuc_expr count = gpuc_min(ctx, gpuc_sub(ctx, c->end, c->first), gpuc_cast(ctx, GPUC_INT32, s->n));
    return gpuc_tir_for_(ctx, i, gpuc_topi_par_i32(ctx, 0), count, GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, add);
}

static gpuc_stmt combine(const gpuc_scatter *s, const gpuc_tir_buffer *order, const gpuc_tir_buffer *begin,
                         const gpuc_tir_buffer *updates, const gpuc_tir_buffer *out)
{
    gpuc_ctx *ctx = s->ctx;
    const gpuc_tensor_type *t = &s->call->out[0];
    gpuc_expr e = gpuc_var(ctx, "e", GPUC_INDEX), size = gpuc_int(ctx, 1);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], row, slot, one = gpuc_int(ctx, 1);
    for (int k = 0; k < t->ndim; k++) size = gpuc_mul(ctx, size, t->dims[k]);
    gpuc_topi_par_unravel(ctx, t->ndim, t->dims, e, vars);
    gpuc_expr inside = s->locate(s, vars, &row, &slot);
    gpuc_expr at = gpuc_add(ctx, gpuc_mul(ctx, row, gpuc_add(ctx, s->slots, one)), slot);
    gpuc_tir_buffer *sum = gpuc_topi_par_cell(ctx, "sum", out->dtype);
    combiner c = {.s = s,
                  .order = order,
                  .updates = updates,
                  .sum = sum,
                  .row = row,
                  .first = gpuc_var(ctx, "first", GPUC_INT32),
                  .end = gpuc_var(ctx, "end", GPUC_INT32),
                  .element = vars};
    gpuc_stmt all[] = {gpuc_topi_par_set(ctx, sum, gpuc_tir_load1(ctx, out, e)), combine_updates(&c),
                       gpuc_tir_store1(ctx, out, e, gpuc_topi_par_get(ctx, sum))};
    gpuc_stmt body = gpuc_tir_alloc(ctx, sum, gpuc_tir_seq(ctx, 3, all));
    gpuc_expr from = gpuc_tir_load1(ctx, begin, at), to = gpuc_tir_load1(ctx, begin, gpuc_add(ctx, at, one));
    body = gpuc_tir_let(ctx, c.first, from, gpuc_tir_let(ctx, c.end, to, body));
    if (inside) body = gpuc_tir_if_(ctx, inside, body, NULL);
    return gpuc_topi_par_loop(ctx, e, size, body);
}

/* The type that sums are made in: no smaller than what an invocation owns in memory. */
static gpuc_dtype sum_type(gpuc_dtype t)
{
    if (gpuc_is_integer(t) && t.bits < 32) t.bits = 32;
    return gpuc_topi_accumulator(t);
}

/* out = the data, in vectors where lanes are threads */
static gpuc_stmt begin_with_data(const gpuc_scatter *s, const gpuc_target *target)
{
    gpuc_ctx *ctx = s->ctx;
    const gpuc_tensor_type *t = &s->call->out[0];
    gpuc_expr size = gpuc_int(ctx, 1), e = gpuc_var(ctx, "e", GPUC_INDEX), v = gpuc_var(ctx, "v", GPUC_INDEX);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], at = e;
    for (int k = 0; k < t->ndim; k++) size = gpuc_mul(ctx, size, t->dims[k]);
    int64_t n, lanes = gpuc_topi_par_on_lanes(target) ? gpuc_target_lanes(target, s->out->dtype) : 1;
    if (!gpuc_expr_is_int(size, &n) || n % lanes) lanes = 1;
    gpuc_expr width = gpuc_int(ctx, lanes);
    if (lanes > 1) at = gpuc_add(ctx, gpuc_mul(ctx, e, width), v);
    gpuc_topi_par_unravel(ctx, t->ndim, t->dims, at, vars);
    gpuc_expr old = gpuc_cast(ctx, s->out->dtype, gpuc_tir_load(ctx, s->old, t->ndim, vars));
    gpuc_stmt put = gpuc_tir_store1(ctx, s->out, at, old);
    if (lanes == 1) return gpuc_topi_par_loop(ctx, e, size, put);
    put = gpuc_tir_for_(ctx, v, gpuc_int(ctx, 0), width, GPUC_LOOP_VECTORIZED, GPUC_THREAD_NONE, put);
    return gpuc_topi_par_many_lanes(ctx, target, e, gpuc_int(ctx, n / lanes), put);
}

static gpuc_stmt reduced_body(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg, const gpuc_target *target,
                              gpuc_knobs *knobs)
{
    const gpuc_scatter *s = arg;
    gpuc_stmt body = begin_with_data(s, target), in_order;
    (void)op, (void)knobs;
    if (max_updates(s) == 0) return body;
    if ((in_order = apply_in_order(s, target))) return gpuc_tir_seq2(ctx, body, in_order);
    gpuc_tir_buffer *order = order_space(s),
                    *begin = gpuc_topi_par_workspace(
                        ctx, "begin", GPUC_INT32,
                        gpuc_mul(ctx, s->rows, gpuc_add(ctx, s->slots, gpuc_int(ctx, 1))));
    gpuc_stmt all[] = {body, sorted_updates(s, order), find_updates(s, order, begin),
                       combine(s, order, begin, s->values, s->out)};
    return gpuc_tir_alloc(ctx, order, gpuc_tir_alloc(ctx, begin, gpuc_tir_seq(ctx, 4, all)));
}

static gpuc_tensor *reduced(gpuc_scatter *s, gpuc_tensor *const *ins)
{
    gpuc_ctx *ctx = s->ctx;
    const gpuc_op_call *call = s->call;
    const gpuc_tensor_type *t = &call->out[0];
    gpuc_expr size = gpuc_int(ctx, 1), vars[GPUC_TOPI_MAX_DIMS];
    for (int k = 0; k < t->ndim; k++) size = gpuc_mul(ctx, size, t->dims[k]);
    gpuc_tensor_type type = gpuc_topi_par_type(ctx, sum_type(t->dtype), 1, &size);
    gpuc_tensor *args[] = {ins[0], ins[s->indices], ins[s->updates]};
    gpuc_te_op *op = gpuc_topi_par_extern(call, "combined", 3, args, 1, &type);
    s->out = op->output_buffers[0];
    s->old = op->input_buffers[0];
    s->positions = op->input_buffers[1];
    s->values = op->input_buffers[2];
    gpuc_topi_par_set_body(ctx, op, reduced_body, keep(s));
    gpuc_iter **axes = gpuc_topi_axes(ctx, t, vars);
    gpuc_expr at = gpuc_int(ctx, 0);
    for (int k = 0; k < t->ndim; k++) at = gpuc_add(ctx, gpuc_mul(ctx, at, t->dims[k]), vars[k]);
    return gpuc_topi_injective(call, 0, axes,
                               gpuc_cast(ctx, t->dtype, gpuc_te_read(ctx, op->outputs[0], 1, &at)));
}

gpuc_tensor *gpuc_topi_scatter_te(gpuc_scatter *s, gpuc_tensor *const *ins)
{
    if (s->kind != GPUC_SCATTER_NONE) return reduced(s, ins);
    if (max_updates(s) > 0 && gpuc_op_max_size(s->ctx, s->slots) > 0) return replaced(s, ins);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    gpuc_iter **axes = gpuc_topi_axes(s->ctx, &s->call->out[0], vars);
    return gpuc_topi_injective(s->call, 0, axes, gpuc_te_read(s->ctx, ins[0], gpuc_te_ndim(ins[0]), vars));
}
