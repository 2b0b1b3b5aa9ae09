/* SPDX-License-Identifier: Apache-2.0 */
/* The type relation of a row as text: inference on fresh symbols. */
#include "op/op.h"

enum { MAX_INPUTS = 16, MAX_RANK = 6 };

/* What is tried: inputs of these ranks, and a value for each attribute that has no default. */
typedef struct attempt {
    const gpuc_op *op;
    int num_in, rank, others; /* of input 0, of all others */
    int64_t value;
    int known; /* sizes that are numbers: 0: none; 1: channels and windows; 2: all but those of input 0 */
    const char *text; /* out */
} attempt;

enum { CHANNELS = 8, WINDOW = 3 };

/* Some rows need to know channels and windows when building: then these are numbers. */
static gpuc_expr size_of(gpuc_ctx *ctx, const attempt *a, int i, int k)
{
    bool channel = k == 1, window = i > 0 && k > 1;
    if ((a->known && (channel || window)) || (a->known > 1 && i > 0))
        return gpuc_int(ctx, window ? WINDOW : CHANNELS);
    return gpuc_var(ctx, gpuc_ctx_printf(ctx, "%c%d", 'a' + i, k), GPUC_INT64);
}

static gpuc_dtype type_of(const gpuc_op *op, int i)
{
    static const gpuc_dtype usual[] = {
        {GPUC_DTYPE_FLOAT, 32, 1}, {GPUC_DTYPE_INT, 64, 1}, {GPUC_DTYPE_INT, 32, 1}};
    gpuc_dtypes set = gpuc_op_types(op, i);
    if (!set) return usual[0]; /* inference checks it */
    for (size_t k = 0; k < sizeof usual / sizeof *usual; k++)
        if (gpuc_dtypes_have(set, usual[k])) return usual[k];
    for (int k = 0; k < GPUC_DTYPE_COUNT; k++)
        if (set >> k & 1) return gpuc_dtype_list[k];
    return usual[0];
}

static const gpuc_attrs *attrs_of(gpuc_ctx *ctx, const attempt *a)
{
    const gpuc_attrs *out = NULL;
    for (const gpuc_attr_spec *s = a->op->attrs; s && s->name; s++) {
        if (s->take || !s->required) continue;
        if (s->kind == GPUC_ATTR_INT) out = gpuc_attrs_int(ctx, out, s->name, a->value);
        if (s->kind == GPUC_ATTR_INTS) out = gpuc_attrs_ints(ctx, out, s->name, 1, &a->value);
        if (s->kind == GPUC_ATTR_FLOAT) out = gpuc_attrs_float(ctx, out, s->name, (double)a->value);
        if (s->kind == GPUC_ATTR_DTYPE) out = gpuc_attrs_dtype(ctx, out, s->name, GPUC_FLOAT32);
    }
    return out;
}

static const char *type_text(gpuc_ctx *ctx, const gpuc_tensor_type *t)
{
    char name[24];
    const char *text = gpuc_dtype_name(t->dtype, name);
    for (int k = 0; k < t->ndim; k++)
        text = gpuc_ctx_printf(ctx, "%s%s%s", text, k ? ", " : "[",
                               t->dims[k] ? gpuc_expr_text(ctx, t->dims[k]) : "?");
    return gpuc_ctx_printf(ctx, "%s%s", text, t->ndim ? "]" : "");
}

static const char *types_text(gpuc_ctx *ctx, int n, const gpuc_tensor_type *types)
{
    const char *text = n == 1 ? "" : "(";
    for (int i = 0; i < n; i++)
        text = gpuc_ctx_printf(ctx, "%s%s%s", text, i ? ", " : "", type_text(ctx, &types[i]));
    return n == 1 ? text : gpuc_ctx_printf(ctx, "%s)", text);
}

static void infer(gpuc_ctx *ctx, void *arg)
{
    attempt *a = arg;
    gpuc_tensor_type in[MAX_INPUTS], out[GPUC_OP_MAX_OUT] = {0};
    const gpuc_expr *in_values[MAX_INPUTS] = {0}, *out_values[GPUC_OP_MAX_OUT] = {0};
    gpuc_ptrs conditions = {0};
    for (int i = 0; i < a->num_in; i++) {
        int ndim = i ? a->others : a->rank;
        gpuc_expr *dims = gpuc_new_array(ctx, gpuc_expr, ndim);
        for (int k = 0; k < ndim; k++) dims[k] = size_of(ctx, a, i, k);
        in[i] = (gpuc_tensor_type){.dtype = type_of(a->op, i), .ndim = ndim, .dims = dims};
    }
    gpuc_op_written w = {.ctx = ctx,
                         .op = a->op,
                         .name = a->op->name,
                         .given = attrs_of(ctx, a),
                         .num_in = a->num_in,
                         .in = in};
    gpuc_op_complete(&w);
    gpuc_op_call call = {.ctx = ctx,
                         .op = a->op,
                         .attrs = w.attrs,
                         .num_in = a->num_in,
                         .in = in,
                         .in_values = in_values,
                         .out = out,
                         .out_values = out_values,
                         .conditions = &conditions};
    gpuc_op_infer(&call);
    a->text = gpuc_ctx_printf(ctx, "%s -> %s", a->num_in ? types_text(ctx, a->num_in, in) : "()",
                              types_text(ctx, call.num_out, call.out));
    for (size_t i = 0; i < conditions.count; i++) {
        const gpuc_op_condition *c = conditions.at[i];
        a->text = gpuc_ctx_printf(ctx, "%s%s%s", a->text, i ? ", " : " where ", gpuc_expr_text(ctx, c->cond));
    }
}

/* The ranks that most operators have come first. */
static const int ranks[] = {2, 4, 3, 1, 5, 0, 6};
enum { RANKS = sizeof ranks / sizeof *ranks, VALUES = 3, KNOWN = 3 };

/* Attempt i, of which those with equal ranks come first. */
static void choose(attempt *a, int i)
{
    static const int64_t values[VALUES] = {1, 0, -1};
    int first = i / VALUES / RANKS % RANKS, other = i / VALUES % RANKS;
    a->value = values[i % VALUES];
    a->known = i / VALUES / RANKS / RANKS;
    a->rank = ranks[first];
    a->others = ranks[other == 0 ? first : other <= first ? other - 1 : other];
}

const char *gpuc_op_relation(gpuc_ctx *ctx, const gpuc_op *op)
{
    attempt a = {.op = op, .num_in = op->min_in < 2 && op->max_in < 0 ? 2 : op->min_in};
    if (a.num_in > MAX_INPUTS) return NULL;
    for (int i = 0; i < KNOWN * VALUES * RANKS * RANKS && !a.text; i++) {
        choose(&a, i);
        gpuc_status_release(gpuc_ctx_protect(ctx, infer, &a));
    }
    return a.text;
}
