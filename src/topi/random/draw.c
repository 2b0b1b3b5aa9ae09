/* SPDX-License-Identifier: Apache-2.0 */
/* random.uniform, random.normal, random.multinomial: numbers of distributions, from the words of a key. Output 0 is the key
 * for what is drawn next. */
#include "topi/families.h"
#include "op/rows.h"
#include "topi/random/threefry.h"

#define PI 3.14159265358979323846

/* A number of [0, 1), of as many bits as the type's mantissa has. */
static gpuc_expr unit(gpuc_ctx *ctx, gpuc_dtype t, gpuc_expr word)
{
    int mantissa = t.bits == 64 ? 52 : 23;
    gpuc_expr high = gpuc_call2(ctx, "shr", word, gpuc_imm_int(ctx, GPUC_UINT64, 64 - mantissa));
    if (t.bits < 64) high = gpuc_cast(ctx, GPUC_INT32, high); /* which more processors have vectors for */
    return gpuc_mul(ctx, gpuc_cast(ctx, t, high), gpuc_imm(ctx, t, t.bits == 64 ? 0x1p-52 : 0x1p-23));
}

static void infer_numbers(gpuc_op_call *call)
{
    static const char *const names[2][2] = {{"low", "high"}, {"mean", "scale"}};
    gpuc_dtype t = gpuc_attrs_find(call->attrs, "out_dtype")->dtype;
    gpuc_expr dims[GPUC_OP_MAX_DIMS];
    int ndim = gpuc_topi_random_shape(call, dims), normal = call->op->name[7] == 'n';
    gpuc_topi_random_infer_key(call);
    if (!gpuc_dtype_equal(t, GPUC_FLOAT32) && !gpuc_dtype_equal(t, GPUC_FLOAT64))
        gpuc_topi_fail(call, "out_dtype must be float32 or float64");
    for (int i = 1; i < 3; i++)
        if (call->in[i].ndim || !gpuc_dtype_equal(call->in[i].dtype, t))
            gpuc_topi_fail(call, "input %d, %s, must be one number of the type out_dtype", i,
                           names[normal][i - 1]);
    gpuc_topi_set_out(call, 1, t, ndim, dims);
    gpuc_topi_par_count(call, &call->out[1], ndim);
    call->num_out = 2;
}

/* One number: a constant, or an input of the operation. */
typedef struct number {
    gpuc_expr value; /* NULL: the input */
    int input;
} number;

static number number_of(gpuc_tensor *t, gpuc_tensor **ins, int *num_in)
{
    const gpuc_te_op *op = t->op;
    bool known = op->kind == GPUC_TE_COMPUTE && op->num_reduce == 0 && op->num_inputs == 0;
    if (known) return (number){.value = op->bodies[t->value_index]};
    ins[*num_in] = t;
    return (number){.input = (*num_in)++};
}

static gpuc_expr get(gpuc_ctx *ctx, const gpuc_te_op *op, const number *n)
{
    return n->value ? n->value : gpuc_tir_load(ctx, op->input_buffers[n->input], 0, NULL);
}

static gpuc_expr in_range(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg, gpuc_expr word)
{
    const number *ends = arg;
    gpuc_expr low = get(ctx, op, &ends[0]), high = get(ctx, op, &ends[1]);
    gpuc_expr u = unit(ctx, low->dtype, word);
    return gpuc_add(ctx, gpuc_mul(ctx, u, gpuc_sub(ctx, high, low)), low);
}

static void uniform_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    const gpuc_tensor_type *out = &call->out[1];
    gpuc_tensor *used[3] = {ins[0]};
    number *ends = gpuc_new_array(call->ctx, number, 2);
    int n = 1;
    for (int i = 0; i < 2; i++) ends[i] = number_of(ins[1 + i], used, &n);
    gpuc_te_op *op = gpuc_topi_random_values(call, n, used, out->dtype, out->ndim, out->dims, in_range, ends);
    for (int i = 0; i < 2; i++) outs[i] = op->outputs[i];
}

static gpuc_expr unit_of_type(gpuc_ctx *ctx, const gpuc_te_op *op, const void *arg, gpuc_expr word)
{
    (void)arg;
    return unit(ctx, op->output_buffers[1]->dtype, word);
}

/* Box and Muller: A note on the generation of random normal deviates (1958). */
static void normal_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *out = &call->out[1];
    gpuc_dtype t = out->dtype;
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS + 1] = {gpuc_int(ctx, 2)}, at[GPUC_TOPI_MAX_DIMS + 1], u[2];
    if (out->ndim >= GPUC_TOPI_MAX_DIMS) gpuc_topi_fail(call, "out_shape has %d dimensions", out->ndim);
    for (int i = 0; i < out->ndim; i++) dims[i + 1] = out->dims[i];
    gpuc_te_op *op = gpuc_topi_random_values(call, 1, ins, t, out->ndim + 1, dims, unit_of_type, NULL);
    gpuc_iter **axes = gpuc_topi_axes(ctx, out, at + 1);
    for (int i = 0; i < 2; i++) {
        at[0] = gpuc_int(ctx, i);
        u[i] = gpuc_te_read(ctx, op->outputs[1], out->ndim + 1, at);
    }
    gpuc_expr logarithm = gpuc_call1(ctx, "log", gpuc_sub(ctx, gpuc_imm(ctx, t, 1), u[0]));
    gpuc_expr radius = gpuc_call1(ctx, "sqrt", gpuc_mul(ctx, gpuc_imm(ctx, t, -2), logarithm));
    gpuc_expr value =
        gpuc_mul(ctx, radius, gpuc_call1(ctx, "sin", gpuc_mul(ctx, gpuc_imm(ctx, t, 2 * PI), u[1])));
    value = gpuc_mul(ctx, value, gpuc_te_read(ctx, ins[2], 0, NULL));
    outs[0] = op->outputs[0];
    outs[1] = gpuc_topi_injective(call, 1, axes, gpuc_add(ctx, value, gpuc_te_read(ctx, ins[1], 0, NULL)));
}

static void infer_multinomial(gpuc_op_call *call)
{
    const gpuc_tensor_type *p = &call->in[1];
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    int64_t samples = gpuc_attrs_get_int(call->attrs, "num_samples", 1);
    gpuc_topi_random_infer_key(call);
    if (p->ndim < 1) gpuc_topi_fail(call, "input 1, the probabilities, has no dimensions");
    gpuc_topi_require(call, gpuc_ge(call->ctx, p->dims[p->ndim - 1], gpuc_topi_num(call, 1)),
                      "input 1, the probabilities, has rows without elements");
    if (samples < 0) gpuc_topi_fail(call, "num_samples=%lld is negative", (long long)samples);
    for (int i = 0; i < p->ndim - 1; i++) dims[i] = p->dims[i];
    dims[p->ndim - 1] = gpuc_topi_num(call, samples);
    gpuc_topi_set_out(call, 1, GPUC_INT32, p->ndim, dims);
    gpuc_topi_par_count(call, &call->out[1], p->ndim);
    gpuc_topi_par_countable(call, p->dims[p->ndim - 1]);
    call->num_out = 2;
}

/* Rows of probabilities, of which those below 0 are 0. */
typedef struct rows {
    gpuc_ctx *ctx;
    int ndim;
    gpuc_te_op *op;
    gpuc_tir_buffer *sum; /* of what was seen of a row */
} rows;

/* Adds the elements of the row at `index` up one by one, and does `then` after each. */
static gpuc_stmt add_up(const rows *r, const gpuc_expr *index, gpuc_stmt then)
{
    gpuc_ctx *ctx = r->ctx;
    const gpuc_tir_buffer *p = r->op->input_buffers[1];
    gpuc_expr at[GPUC_TOPI_MAX_DIMS], k = gpuc_var(ctx, "k", GPUC_INDEX);
    gpuc_expr zero = gpuc_imm(ctx, GPUC_FLOAT32, 0);
    for (int i = 0; i < r->ndim - 1; i++) at[i] = index[i];
    at[r->ndim - 1] = k;
    gpuc_expr value = gpuc_max(ctx, gpuc_cast(ctx, GPUC_FLOAT32, gpuc_tir_load(ctx, p, r->ndim, at)), zero);
    gpuc_stmt add = gpuc_topi_par_set(ctx, r->sum, gpuc_add(ctx, gpuc_topi_par_get(ctx, r->sum), value));
    return gpuc_tir_seq2(ctx, gpuc_topi_par_set(ctx, r->sum, zero),
                         gpuc_topi_par_serial(ctx, k, p->shape[r->ndim - 1], gpuc_tir_seq2(ctx, add, then)));
}

/* total[row] = the sum of the row */
static gpuc_stmt totals(const rows *r, const gpuc_tir_buffer *total)
{
    gpuc_ctx *ctx = r->ctx;
    gpuc_expr row = gpuc_var(ctx, "row", GPUC_INDEX), index[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_par_unravel(ctx, r->ndim - 1, r->op->input_buffers[1]->shape, row, index);
    gpuc_stmt body = gpuc_tir_seq2(ctx, add_up(r, index, NULL),
                                   gpuc_tir_store1(ctx, total, row, gpuc_topi_par_get(ctx, r->sum)));
    return gpuc_topi_par_loop(ctx, row, total->shape[0], gpuc_tir_alloc(ctx, r->sum, body));
}

/* The first place up to which the probabilities have a larger sum than u times that of all. */
static gpuc_stmt sample(const rows *r, const gpuc_expr *index, gpuc_expr total)
{
    gpuc_ctx *ctx = r->ctx;
    const gpuc_tir_buffer *words = r->op->input_buffers[0], *out = r->op->output_buffers[0];
    gpuc_expr n = r->op->input_buffers[1]->shape[r->ndim - 1];
    gpuc_tir_buffer *end = gpuc_topi_par_cell(ctx, "end", GPUC_FLOAT32),
                    *place = gpuc_topi_par_cell(ctx, "place", GPUC_INT32);
    gpuc_expr u = unit(ctx, GPUC_FLOAT32, gpuc_tir_load(ctx, words, r->ndim, index));
    gpuc_expr below = gpuc_le(ctx, gpuc_topi_par_get(ctx, r->sum), gpuc_topi_par_get(ctx, end));
    gpuc_expr next = gpuc_add(ctx, gpuc_topi_par_get(ctx, place), gpuc_cast(ctx, GPUC_INT32, below));
    gpuc_expr last = gpuc_topi_par_to_i32(ctx, gpuc_sub(ctx, n, gpuc_int(ctx, 1)));
    gpuc_stmt steps[] = {
        total ? NULL : add_up(r, index, NULL),
        gpuc_topi_par_set(ctx, end, gpuc_mul(ctx, u, total ? total : gpuc_topi_par_get(ctx, r->sum))),
        gpuc_topi_par_set(ctx, place, gpuc_topi_par_i32(ctx, 0)),
        add_up(r, index, gpuc_topi_par_set(ctx, place, next)),
        gpuc_tir_store(ctx, out, r->ndim, index, gpuc_min(ctx, gpuc_topi_par_get(ctx, place), last)),
    };
    gpuc_stmt body = gpuc_tir_seq(ctx, sizeof steps / sizeof *steps, steps);
    return gpuc_tir_alloc(ctx, r->sum, gpuc_tir_alloc(ctx, end, gpuc_tir_alloc(ctx, place, body)));
}

/* The samples of a row share its sum. */
static void multinomial_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const gpuc_tensor_type *out = &call->out[1];
    gpuc_te_op *drawn = gpuc_topi_random_words(call, ins[0], out->ndim, out->dims);
    gpuc_tensor *from[] = {drawn->outputs[1], ins[1]};
    rows r = {.ctx = ctx,
              .ndim = out->ndim,
              .op = gpuc_topi_par_extern(call, "multinomial", 2, from, 1, out),
              .sum = gpuc_topi_par_cell(ctx, "sum", GPUC_FLOAT32)};
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), samples = out->dims[out->ndim - 1], total = NULL;
    gpuc_expr index[GPUC_TOPI_MAX_DIMS], count = gpuc_topi_par_count(call, out, out->ndim);
    bool shared = gpuc_attrs_get_int(call->attrs, "num_samples", 1) > 1;
    gpuc_tir_buffer *sums = NULL;
    gpuc_topi_par_unravel(ctx, out->ndim, out->dims, i, index);
    if (shared) {
        sums =
            gpuc_topi_par_workspace(ctx, "sums", GPUC_FLOAT32, gpuc_topi_par_count(call, out, out->ndim - 1));
        total = gpuc_tir_load1(ctx, sums, gpuc_floordiv_(ctx, i, samples));
    }
    gpuc_stmt body = gpuc_topi_par_loop(ctx, i, count, sample(&r, index, total));
    if (shared) body = gpuc_tir_alloc(ctx, sums, gpuc_tir_seq2(ctx, totals(&r, sums), body));
    r.op->extern_body = body;
    outs[0] = drawn->outputs[0];
    outs[1] = r.op->outputs[0];
}

ATTRS(number_attrs, SIZES("out_shape"), DTYPE_OR("out_dtype", GPUC_FLOAT32))
ATTRS(multinomial_attrs, INT_UP_TO("num_samples", 1, INT32_MAX))

const gpuc_op gpuc_topi_ops_draw[] = {
    ALONE_BY(gpuc_topi_par_schedule, "random.uniform", 3, 3, number_attrs, infer_numbers, uniform_compute,
             "uniform", "", "", GPUC_T_UINT64, GPUC_T_FLOAT32 | GPUC_T_FLOAT64,
             GPUC_T_FLOAT32 | GPUC_T_FLOAT64),
    ALONE_BY(gpuc_topi_par_schedule, "random.normal", 3, 3, number_attrs, infer_numbers, normal_compute,
             "normal", "", "", GPUC_T_UINT64, GPUC_T_FLOAT32 | GPUC_T_FLOAT64,
             GPUC_T_FLOAT32 | GPUC_T_FLOAT64),
    ALONE_BY(gpuc_topi_par_schedule, "random.multinomial", 2, 2, multinomial_attrs, infer_multinomial,
             multinomial_compute, "multinomial", "", "", GPUC_T_UINT64, GPUC_T_FLOATS),
};
const size_t gpuc_topi_ops_draw_count = sizeof gpuc_topi_ops_draw / sizeof gpuc_topi_ops_draw[0];
