/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the loops, cells and index arithmetic of extern operations' bodies. */
#include "topi/parallel.h"

#include "target/constants.h"
#include "target/target.h"

gpuc_stmt gpuc_topi_par_loop(gpuc_ctx *ctx, gpuc_expr var, gpuc_expr extent, gpuc_stmt body)
{
    return gpuc_tir_for_(ctx, var, gpuc_int(ctx, 0), extent, GPUC_LOOP_PARALLEL, GPUC_THREAD_NONE, body);
}

int64_t gpuc_topi_par_cores(const gpuc_target *target)
{
    return target->num_cores > 0 ? target->num_cores : GPUC_COMMON_unknown_cores;
}

gpuc_stmt gpuc_topi_par_tasks(gpuc_ctx *ctx, const gpuc_target *target, gpuc_expr var, gpuc_expr extent,
                              gpuc_stmt body)
{
    if (!target->language->work_groups) return gpuc_topi_par_loop(ctx, var, extent, body);
    return gpuc_tir_for_(ctx, var, gpuc_int(ctx, 0), extent, GPUC_LOOP_THREAD, GPUC_BLOCK_X, body);
}

static gpuc_stmt lanes_of(gpuc_ctx *ctx, int64_t threads, gpuc_expr var, gpuc_expr extent, gpuc_stmt body)
{
    gpuc_expr width = gpuc_int(ctx, threads), zero = gpuc_int(ctx, 0);
    gpuc_expr group = gpuc_var(ctx, "group", GPUC_INDEX), thread = gpuc_var(ctx, "thread", GPUC_INDEX);
    body = gpuc_tir_let(ctx, var, gpuc_add(ctx, gpuc_mul(ctx, group, width), thread),
                        gpuc_tir_if_(ctx, gpuc_lt(ctx, var, extent), body, NULL));
    body = gpuc_tir_for_(ctx, thread, zero, width, GPUC_LOOP_THREAD, GPUC_THREAD_X, body);
    return gpuc_tir_for_(ctx, group, zero, gpuc_topi_par_ceildiv(ctx, extent, width), GPUC_LOOP_THREAD,
                         GPUC_BLOCK_X, body);
}

gpuc_stmt gpuc_topi_par_lanes(gpuc_ctx *ctx, const gpuc_target *target, gpuc_expr var, gpuc_expr extent,
                              gpuc_stmt body)
{
    return lanes_of(ctx, target->simd_lanes, var, extent, body);
}

gpuc_stmt gpuc_topi_par_many_lanes(gpuc_ctx *ctx, const gpuc_target *target, gpuc_expr var, gpuc_expr extent,
                                   gpuc_stmt body)
{
    return lanes_of(ctx, target->simd_lanes * GPUC_COMMON_lanes_subgroups, var, extent, body);
}

gpuc_stmt gpuc_topi_par_serial(gpuc_ctx *ctx, gpuc_expr var, gpuc_expr extent, gpuc_stmt body)
{
    return gpuc_tir_for_(ctx, var, gpuc_int(ctx, 0), extent, GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, body);
}

gpuc_tir_buffer *gpuc_topi_par_workspace(gpuc_ctx *ctx, const char *name, gpuc_dtype t, gpuc_expr size)
{
    return gpuc_tir_buffer_make(ctx, name, t, 1, &size, GPUC_SCOPE_GLOBAL);
}

gpuc_tir_buffer *gpuc_topi_par_cell(gpuc_ctx *ctx, const char *name, gpuc_dtype t)
{
    gpuc_expr one = gpuc_int(ctx, 1);
    return gpuc_tir_buffer_make(ctx, name, t, 1, &one, GPUC_SCOPE_LOCAL);
}

gpuc_expr gpuc_topi_par_get(gpuc_ctx *ctx, const gpuc_tir_buffer *cell)
{
    return gpuc_tir_load1(ctx, cell, gpuc_int(ctx, 0));
}

gpuc_stmt gpuc_topi_par_set(gpuc_ctx *ctx, const gpuc_tir_buffer *cell, gpuc_expr value)
{
    return gpuc_tir_store1(ctx, cell, gpuc_int(ctx, 0), value);
}

gpuc_expr gpuc_topi_par_i32(gpuc_ctx *ctx, int64_t value)
{
    return gpuc_imm_int(ctx, GPUC_INT32, value);
}

gpuc_expr gpuc_topi_par_to_i32(gpuc_ctx *ctx, gpuc_expr e)
{
    return gpuc_cast(ctx, GPUC_INT32, e);
}

gpuc_expr gpuc_topi_par_index(gpuc_ctx *ctx, gpuc_expr e)
{
    return gpuc_cast(ctx, GPUC_INDEX, e);
}

gpuc_expr gpuc_topi_par_clamp(gpuc_ctx *ctx, gpuc_expr e, gpuc_expr lo, gpuc_expr hi)
{
    return gpuc_max(ctx, lo, gpuc_min(ctx, e, hi));
}

gpuc_stmt gpuc_topi_par_each(gpuc_ctx *ctx, gpuc_expr i, gpuc_expr n, const gpuc_tir_buffer *count,
                             const gpuc_tir_buffer *to, gpuc_expr at, gpuc_expr value)
{
    gpuc_stmt put = gpuc_tir_store1(ctx, to, gpuc_topi_par_index(ctx, at), value);
    if (count)
        put = gpuc_tir_if_(ctx, gpuc_lt(ctx, gpuc_topi_par_to_i32(ctx, i), gpuc_topi_par_get(ctx, count)),
                           put, NULL);
    return gpuc_topi_par_loop(ctx, i, n, put);
}

void gpuc_topi_par_unravel(gpuc_ctx *ctx, int ndim, const gpuc_expr *dims, gpuc_expr linear, gpuc_expr *index)
{
    for (int k = ndim - 1; k >= 0; k--) {
        index[k] = k ? gpuc_floormod_(ctx, linear, dims[k]) : linear;
        if (k) linear = gpuc_floordiv_(ctx, linear, dims[k]);
    }
}

gpuc_expr gpuc_topi_par_countable(const gpuc_op_call *call, gpuc_expr n)
{
    if (!n)
        gpuc_raise(call->ctx, GPUC_UNSUPPORTED, "%s: the number of elements is not known: give it by --shape",
                   call->op->name);
    gpuc_topi_require(call, gpuc_lt(call->ctx, n, gpuc_int(call->ctx, INT32_MAX)),
                      "%s elements; at most %d are supported", gpuc_expr_text(call->ctx, n), INT32_MAX - 1);
    return n;
}

gpuc_expr gpuc_topi_par_count(const gpuc_op_call *call, const gpuc_tensor_type *t, int ndim)
{
    gpuc_expr n = gpuc_int(call->ctx, 1);
    for (int k = 0; k < ndim && n; k++) n = t->dims[k] ? gpuc_mul(call->ctx, n, t->dims[k]) : NULL;
    return gpuc_topi_par_countable(call, n);
}

gpuc_expr gpuc_topi_par_ceildiv(gpuc_ctx *ctx, gpuc_expr n, gpuc_expr by)
{
    return gpuc_floordiv_(ctx, gpuc_add(ctx, n, gpuc_sub(ctx, by, gpuc_int(ctx, 1))), by);
}

gpuc_tensor *gpuc_topi_par_number(const gpuc_op_call *call, int i, gpuc_tensor *count)
{
    gpuc_expr zero = gpuc_int(call->ctx, 0), value = gpuc_te_read(call->ctx, count, 1, &zero);
    return gpuc_topi_compute(call->ctx, "T_count", "injective", 0, NULL,
                             gpuc_cast(call->ctx, call->out[i].dtype, value));
}

gpuc_te_op *gpuc_topi_par_extern(const gpuc_op_call *call, const char *name, int num_in,
                                 gpuc_tensor *const *ins, int num_out, const gpuc_tensor_type *outs)
{
    enum { MAX = 8 };
    int ndims[MAX];
    const gpuc_expr *shapes[MAX];
    gpuc_dtype dtypes[MAX];
    GPUC_CHECK(num_out <= MAX);
    for (int i = 0; i < num_out; i++) {
        ndims[i] = outs[i].ndim;
        shapes[i] = outs[i].dims;
        dtypes[i] = outs[i].dtype;
    }
    return gpuc_te_extern_make(call->ctx, name, num_in, ins, num_out, ndims, shapes, dtypes);
}

gpuc_tensor_type gpuc_topi_par_type(gpuc_ctx *ctx, gpuc_dtype t, int ndim, const gpuc_expr *dims)
{
    gpuc_expr *copy = gpuc_new_array(ctx, gpuc_expr, ndim + 1);
    for (int k = 0; k < ndim; k++) copy[k] = dims[k];
    return (gpuc_tensor_type){.dtype = t, .ndim = ndim, .dims = copy};
}

/* ---- Bodies that depend on the target ---- */

typedef struct body_of {
    gpuc_topi_body body;
    const void *arg;
} body_of;

void gpuc_topi_par_set_body(gpuc_ctx *ctx, gpuc_te_op *op, gpuc_topi_body body, const void *arg)
{
    body_of *b = gpuc_new(ctx, body_of);
    *b = (body_of){body, arg};
    op->extern_of = b;
    op->extern_body = body(ctx, op, arg, NULL, NULL);
}

gpuc_schedule *gpuc_topi_par_schedule(gpuc_ctx *ctx, const gpuc_target *target, gpuc_knobs *knobs,
                                      int num_outputs, gpuc_tensor *const *outputs)
{
    gpuc_ptrs ops = {0};
    gpuc_te_post_order(ctx, num_outputs, outputs, &ops);
    for (size_t i = 0; i < ops.count; i++) {
        gpuc_te_op *op = ops.at[i];
        const body_of *b = op->kind == GPUC_TE_EXTERN ? op->extern_of : NULL;
        if (b) op->extern_body = b->body(ctx, op, b->arg, target, knobs);
    }
    return gpuc_topi_schedule(ctx, target, knobs, num_outputs, outputs);
}

const gpuc_target *gpuc_topi_par_cpu(const gpuc_target *target)
{
    return target && gpuc_target_is_cpu(target) ? target : NULL;
}

const gpuc_target *gpuc_topi_par_on_lanes(const gpuc_target *target)
{
    return target && gpuc_target_lanes_are_threads(target) ? target : NULL;
}

gpuc_op_call *gpuc_topi_par_keep_call(const gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_op_call *copy = gpuc_ctx_memdup(ctx, call, sizeof *call);
    copy->in = gpuc_ctx_memdup(ctx, call->in, sizeof *call->in * (size_t)call->num_in);
    copy->out = gpuc_ctx_memdup(ctx, call->out, sizeof *call->out * (size_t)call->num_out);
    return copy;
}

/* ---- Rows ---- */

gpuc_rows gpuc_topi_rows_of(const gpuc_op_call *call, const gpuc_tensor_type *t, int axis)
{
    gpuc_expr one = gpuc_int(call->ctx, 1);
    gpuc_rows r = {.ndim = t->ndim, .axis = axis, .dims = t->dims, .count = one, .n = one};
    if (t->ndim == 0) return r;
    r.n = gpuc_topi_par_countable(call, t->dims[axis]);
    for (int k = 0; k < t->ndim; k++)
        if (k != axis) r.count = gpuc_mul(call->ctx, r.count, t->dims[k]);
    return r;
}

void gpuc_topi_rows_index(gpuc_ctx *ctx, const gpuc_rows *r, gpuc_expr row, gpuc_expr i, gpuc_expr *index)
{
    int first = r->axis == 0 ? 1 : 0; /* the outermost needs no remainder */
    for (int k = r->ndim - 1; k >= 0; k--) {
        if (k == r->axis) {
            index[k] = gpuc_topi_par_index(ctx, i);
            continue;
        }
        index[k] = k == first ? row : gpuc_floormod_(ctx, row, r->dims[k]);
        if (k != first) row = gpuc_floordiv_(ctx, row, r->dims[k]);
    }
}

gpuc_expr gpuc_topi_rows_number(gpuc_ctx *ctx, const gpuc_rows *r, const gpuc_expr *index)
{
    gpuc_expr row = gpuc_int(ctx, 0);
    for (int k = 0; k < r->ndim; k++)
        if (k != r->axis) row = gpuc_add(ctx, gpuc_mul(ctx, row, r->dims[k]), index[k]);
    return row;
}

/* ---- Search ---- */

int gpuc_topi_par_steps(int64_t n)
{
    int steps = 0;
    for (; n > 0; n >>= 1) steps++;
    return steps;
}

gpuc_stmt gpuc_topi_par_search(gpuc_ctx *ctx, gpuc_expr from, gpuc_expr to, int steps, gpuc_expr mid,
                               const gpuc_tir_buffer *lo, const gpuc_tir_buffer *hi, gpuc_stmt before,
                               gpuc_expr found)
{
    gpuc_expr low = gpuc_topi_par_get(ctx, lo), high = gpuc_topi_par_get(ctx, hi),
              one = gpuc_topi_par_i32(ctx, 1);
    gpuc_expr middle = gpuc_add(ctx, low, gpuc_div(ctx, gpuc_sub(ctx, high, low), gpuc_topi_par_i32(ctx, 2)));
    gpuc_stmt step = gpuc_tir_if_(ctx, found, gpuc_topi_par_set(ctx, hi, mid),
                                  gpuc_topi_par_set(ctx, lo, gpuc_add(ctx, mid, one)));
    step = gpuc_tir_let(ctx, mid, middle, gpuc_tir_seq2(ctx, before, step));
    step = gpuc_tir_if_(ctx, gpuc_lt(ctx, low, high), step, NULL);
    gpuc_expr s = gpuc_var(ctx, "step", GPUC_INDEX);
    gpuc_stmt all[] = {gpuc_topi_par_set(ctx, lo, from), gpuc_topi_par_set(ctx, hi, to),
                       gpuc_topi_par_serial(ctx, s, gpuc_int(ctx, steps), step)};
    return gpuc_tir_seq(ctx, 3, all);
}
