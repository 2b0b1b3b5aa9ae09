/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the distinct slices along an axis. Slices are sorted, and one that differs from the slice before
 * it begins a group of equal slices. Groups are numbered in sorted order, or in the order of their first
 * slices. */
#include <string.h>

#include "topi/families.h"
#include "topi/parallel.h"
#include "op/rows.h"

static void infer_unique(gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    if (in->ndim == 0) gpuc_topi_fail(call, "the input has no dimensions");
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    gpuc_topi_par_countable(call, in->dims[axis]);
    call->out[0] = *in;
    for (int i = 1; i < 4; i++) gpuc_topi_set_out(call, i, GPUC_INT64, 1, &in->dims[axis]);
    gpuc_topi_set_out(call, 4, GPUC_INT64, 0, NULL);
    call->num_out = 5;
}

typedef struct unique {
    const gpuc_op_call *call;
    gpuc_ctx *ctx;
    gpuc_rows rows; /* of the input; the elements of slice i are element i of each row */
    gpuc_expr n;    /* slices */
    const gpuc_tir_buffer *in;
    gpuc_ptrs workspaces;
} unique;

static gpuc_tir_buffer *workspace(unique *u, const char *name)
{
    gpuc_tir_buffer *b = gpuc_topi_par_workspace(u->ctx, name, GPUC_INT32, u->n);
    gpuc_ptrs_push(u->ctx, &u->workspaces, b);
    return b;
}

static gpuc_expr element(const unique *u, gpuc_expr row, gpuc_expr slice)
{
    gpuc_expr index[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_rows_index(u->ctx, &u->rows, row, slice, index);
    return gpuc_tir_load(u->ctx, u->in, u->rows.ndim, index);
}

/* Lexicographic: the first elements that differ decide. less: 0 undecided, 1 less, 2 greater. */
static gpuc_stmt slice_less(const gpuc_order *o, gpuc_expr row, gpuc_expr a, gpuc_expr b,
                            const gpuc_tir_buffer *less)
{
    gpuc_ctx *ctx = o->ctx;
    const unique *u = o->arg;
    gpuc_expr e = gpuc_var(ctx, "r", GPUC_INDEX), x = element(u, e, a), y = element(u, e, b);
    gpuc_stmt greater = gpuc_tir_if_(ctx, gpuc_topi_order_below(ctx, y, x),
                                     gpuc_topi_par_set(ctx, less, gpuc_topi_par_i32(ctx, 2)), NULL);
    gpuc_stmt step = gpuc_tir_if_(ctx, gpuc_topi_order_below(ctx, x, y),
                                  gpuc_topi_par_set(ctx, less, gpuc_topi_par_i32(ctx, 1)), greater);
    gpuc_expr undecided = gpuc_eq(ctx, gpuc_topi_par_get(ctx, less), gpuc_topi_par_i32(ctx, 0));
    (void)row;
    return gpuc_tir_seq2(
        ctx, gpuc_topi_par_set(ctx, less, gpuc_topi_par_i32(ctx, 0)),
        gpuc_topi_par_serial(ctx, e, u->rows.count, gpuc_tir_if_(ctx, undecided, step, NULL)));
}

static gpuc_expr is_set(const gpuc_compact *c, gpuc_expr row, gpuc_expr i)
{
    (void)row;
    return gpuc_ne(c->ctx, gpuc_tir_load1(c->ctx, c->arg, i), gpuc_topi_par_i32(c->ctx, 0));
}

static gpuc_stmt compact(const unique *u, const gpuc_tir_buffer *flags, const gpuc_tir_buffer *at,
                         const gpuc_tir_buffer *count, const gpuc_tir_buffer *place)
{
    gpuc_compact c = {.ctx = u->ctx, .rows = gpuc_int(u->ctx, 1), .n = u->n, .flag = is_set, .arg = flags};
    return gpuc_topi_compact_emit(&c, at, count, place);
}

/* head[i]: does the i-th slice in order begin a group? */
static gpuc_stmt find_heads(const gpuc_order *o, const gpuc_tir_buffer *order, const gpuc_tir_buffer *head)
{
    gpuc_ctx *ctx = o->ctx;
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), one = gpuc_int(ctx, 1), first = gpuc_topi_par_i32(ctx, 1);
    gpuc_tir_buffer *less = gpuc_topi_par_cell(ctx, "less", GPUC_INT32);
    gpuc_expr before = gpuc_tir_load1(ctx, order, gpuc_sub(ctx, i, one)),
              here = gpuc_tir_load1(ctx, order, i);
    gpuc_expr a = gpuc_var(ctx, "a", GPUC_INT32), b = gpuc_var(ctx, "b", GPUC_INT32);
    gpuc_stmt compare =
        o->less(o, gpuc_int(ctx, 0), gpuc_topi_par_index(ctx, a), gpuc_topi_par_index(ctx, b), less);
    gpuc_expr differs = gpuc_eq(ctx, gpuc_topi_par_get(ctx, less), first);
    compare = gpuc_tir_seq2(ctx, compare, gpuc_tir_store1(ctx, head, i, gpuc_cast(ctx, GPUC_INT32, differs)));
    compare = gpuc_tir_let(ctx, a, before, gpuc_tir_let(ctx, b, here, compare));
    gpuc_stmt body =
        gpuc_tir_if_(ctx, gpuc_lt(ctx, gpuc_int(ctx, 0), i), compare, gpuc_tir_store1(ctx, head, i, first));
    return gpuc_topi_par_loop(ctx, i, o->n, gpuc_tir_alloc(ctx, less, body));
}

typedef struct groups {
    const gpuc_tir_buffer *first, *inverse, *counts, *count;
} groups;

/* Groups in the order of the slices. */
static gpuc_stmt number_groups(unique *u, const groups *out, const gpuc_tir_buffer *order,
                               const gpuc_tir_buffer *head)
{
    gpuc_ctx *ctx = u->ctx;
    gpuc_tir_buffer *start = workspace(u, "start"), *place = workspace(u, "place");
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), g = gpuc_var(ctx, "g", GPUC_INDEX),
              k = gpuc_var(ctx, "k", GPUC_INDEX);
    gpuc_expr one = gpuc_topi_par_i32(ctx, 1), next = gpuc_add(ctx, k, gpuc_int(ctx, 1));
    gpuc_expr more = gpuc_lt(ctx, gpuc_topi_par_to_i32(ctx, next), gpuc_topi_par_get(ctx, out->count));
    gpuc_expr end =
        gpuc_if_then_else(ctx, more, gpuc_tir_load1(ctx, start, next), gpuc_topi_par_to_i32(ctx, u->n));
    gpuc_expr begin = gpuc_tir_load1(ctx, start, g);
    gpuc_stmt all[] = {
        compact(u, head, start, out->count, place),
        gpuc_topi_par_each(ctx, i, u->n, NULL, out->inverse, gpuc_tir_load1(ctx, order, i),
                           gpuc_sub(ctx, gpuc_tir_load1(ctx, place, i), one)),
        gpuc_topi_par_each(ctx, g, u->n, out->count, out->first, g,
                           gpuc_tir_load1(ctx, order, gpuc_topi_par_index(ctx, begin))),
        gpuc_topi_par_each(ctx, k, u->n, out->count, out->counts, k,
                           gpuc_sub(ctx, end, gpuc_tir_load1(ctx, start, k))),
    };
    return gpuc_tir_seq(ctx, 4, all);
}

/* The same groups in the order of their first slices. */
static gpuc_stmt renumber_groups(unique *u, const groups *in, const groups *out, const gpuc_tir_buffer *order,
                                 const gpuc_tir_buffer *head)
{
    gpuc_ctx *ctx = u->ctx;
    gpuc_tir_buffer *is_first = workspace(u, "is_first"), *place = workspace(u, "first_place"),
                    *number = workspace(u, "number");
    gpuc_expr i[4], one = gpuc_topi_par_i32(ctx, 1);
    for (int k = 0; k < 4; k++) i[k] = gpuc_var(ctx, "i", GPUC_INDEX);
    gpuc_expr first = gpuc_topi_par_index(ctx, gpuc_tir_load1(ctx, in->first, i[1]));
    gpuc_expr group = gpuc_topi_par_index(ctx, gpuc_tir_load1(ctx, in->inverse, i[2]));
    gpuc_stmt all[] = {
        gpuc_topi_par_each(ctx, i[0], u->n, NULL, is_first, gpuc_tir_load1(ctx, order, i[0]),
                           gpuc_tir_load1(ctx, head, i[0])),
        compact(u, is_first, out->first, out->count, place),
        gpuc_topi_par_each(ctx, i[1], u->n, out->count, number, i[1],
                           gpuc_sub(ctx, gpuc_tir_load1(ctx, place, first), one)),
        gpuc_topi_par_each(ctx, i[2], u->n, NULL, out->inverse, i[2], gpuc_tir_load1(ctx, number, group)),
        gpuc_topi_par_each(ctx, i[3], u->n, out->count, out->counts, gpuc_tir_load1(ctx, number, i[3]),
                           gpuc_tir_load1(ctx, in->counts, i[3])),
    };
    return gpuc_tir_seq(ctx, 5, all);
}

/* Of slices of one element. */
static gpuc_expr element_key(const gpuc_order *o, gpuc_expr row, gpuc_expr slice)
{
    return gpuc_topi_order_key(o->ctx, element(o->arg, row, slice), false);
}

static gpuc_stmt find_groups(unique *u, const groups *out, bool sorted, const gpuc_target *target)
{
    gpuc_ctx *ctx = u->ctx;
    gpuc_tir_buffer *order = workspace(u, "order"), *head = workspace(u, "head");
    gpuc_order o = {
        .ctx = ctx, .rows = gpuc_int(ctx, 1), .n = u->n, .keep = u->n, .less = slice_less, .arg = u};
    if (target && gpuc_tir_is_const(u->rows.count, 1)) {
        o.key = element_key;
        o.value = u->call->in[0].dtype;
        o.target = target;
    }
    groups by_value = *out;
    if (!sorted) {
        by_value.first = workspace(u, "group_first");
        by_value.inverse = workspace(u, "group_of");
        by_value.counts = workspace(u, "group_size");
    }
    gpuc_stmt all[] = {
        gpuc_topi_order_emit(&o, order),
        find_heads(&o, order, head),
        number_groups(u, &by_value, order, head),
        sorted ? NULL : renumber_groups(u, &by_value, out, order, head),
    };
    gpuc_stmt body = gpuc_tir_seq(ctx, 4, all);
    for (size_t i = 0; i < u->workspaces.count; i++) body = gpuc_tir_alloc(ctx, u->workspaces.at[i], body);
    return body;
}

static unique unique_of(const gpuc_op_call *call)
{
    const gpuc_tensor_type *in = &call->in[0];
    unique u = {.call = call,
                .ctx = call->ctx,
                .rows = gpuc_topi_rows_of(call, in, gpuc_topi_axis(call, "axis", in->ndim))};
    u.n = u.rows.n;
    return u;
}

static gpuc_stmt unique_body(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg, const gpuc_target *target,
                             gpuc_knobs *knobs)
{
    const gpuc_op_call *call = arg;
    unique u = unique_of(call);
    (void)ctx;
    (void)knobs;
    u.in = op->input_buffers[0];
    groups out = {op->output_buffers[0], op->output_buffers[1], op->output_buffers[2], op->output_buffers[3]};
    return find_groups(&u, &out, gpuc_attrs_get_int(call->attrs, "sorted", 1), gpuc_topi_par_cpu(target));
}

/* value where output i is below the number of groups, else zero. */
static gpuc_tensor *result(const unique *u, int i, gpuc_te_op *op, gpuc_iter *const *axes, gpuc_expr at,
                           gpuc_expr value)
{
    gpuc_expr zero = gpuc_int(u->ctx, 0), count = gpuc_te_read(u->ctx, op->outputs[3], 1, &zero);
    gpuc_dtype t = u->call->out[i].dtype;
    value = gpuc_if_then_else(u->ctx, gpuc_lt(u->ctx, gpuc_topi_par_to_i32(u->ctx, at), count),
                              gpuc_cast(u->ctx, t, value), gpuc_imm(u->ctx, t, 0));
    return gpuc_topi_injective(u->call, i, axes, value);
}

static void unique_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *in = &call->in[0];
    int axis = gpuc_topi_axis(call, "axis", in->ndim);
    unique u = unique_of(call);
    gpuc_expr n = u.n, one = gpuc_int(ctx, 1);
    gpuc_tensor_type list = gpuc_topi_par_type(ctx, GPUC_INT32, 1, &n),
                     number = gpuc_topi_par_type(ctx, GPUC_INT32, 1, &one);
    gpuc_te_op *op =
        gpuc_topi_par_extern(call, "groups", 1, ins, 4, (gpuc_tensor_type[]){list, list, list, number});
    gpuc_topi_par_set_body(ctx, op, unique_body, gpuc_topi_par_keep_call(call));

    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], i[4];
    gpuc_iter **axes = gpuc_topi_axes(ctx, in, vars), **own[4];
    for (int k = 1; k < 4; k++) own[k] = gpuc_topi_axes(ctx, &call->out[k], &i[k]);
    gpuc_expr at = vars[axis], slice = gpuc_topi_par_index(ctx, gpuc_te_read(ctx, op->outputs[0], 1, &at));
    vars[axis] = gpuc_topi_par_clamp(ctx, slice, gpuc_int(ctx, 0), gpuc_sub(ctx, n, one));
    outs[0] = result(&u, 0, op, axes, at, gpuc_te_read(ctx, ins[0], in->ndim, vars));
    outs[1] = result(&u, 1, op, own[1], i[1], gpuc_te_read(ctx, op->outputs[0], 1, &i[1]));
    outs[2] = gpuc_topi_injective(call, 2, own[2],
                                  gpuc_cast(ctx, GPUC_INT64, gpuc_te_read(ctx, op->outputs[1], 1, &i[2])));
    outs[3] = result(&u, 3, op, own[3], i[3], gpuc_te_read(ctx, op->outputs[2], 1, &i[3]));
    outs[4] = gpuc_topi_par_number(call, 4, op->outputs[3]);
}

ATTRS(unique_attrs, INT("axis", 0), INT("sorted", 1),
      REFUSED("return_counts", INT, "the counts are always the last result"))

/* Results: the slices, the position of the first of each group, the group of each slice, the sizes of the
 * groups, and the number of groups, behind which all but the third are zero. */
const gpuc_op gpuc_topi_ops_unique[] = {
    ALONE_BY(gpuc_topi_par_schedule, "unique", 1, 1, unique_attrs, infer_unique, unique_compute, "unique", "",
             "Unique", GPUC_T_ANY),
};
const size_t gpuc_topi_ops_unique_count = sizeof gpuc_topi_ops_unique / sizeof gpuc_topi_ops_unique[0];
