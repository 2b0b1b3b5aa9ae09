/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products over named dimensions: Einstein's notation, and tensordot as a case of it. */
#include <ctype.h>
#include <string.h>

#include "topi/accumulate.h"
#include "topi/families.h"
#include "op/rows.h"

/* Labels: letters, then the dimensions of an ellipsis, counted from the last. */
enum { LETTERS = 52, LABELS = LETTERS + GPUC_TOPI_MAX_DIMS, MAX_OPERANDS = 16 };

typedef struct term {
    int n;
    int label[GPUC_TOPI_MAX_DIMS]; /* of each dimension */
} term;

typedef struct contraction {
    int operands;
    term in[MAX_OPERANDS], out;
    gpuc_expr extent[LABELS]; /* NULL: not used */
} contraction;

static int letter(char c)
{
    return islower((unsigned char)c) ? c - 'a' : c - 'A' + 26;
}

/* One term of the equation. ellipsis: how many dimensions "..." stands for; -1: it gets those that the
 * letters leave of rank. Returns the text behind the term. */
static const char *parse_term(const gpuc_op_call *call, const char *p, int rank, int ellipsis, term *out,
                              int *dots)
{
    int letters = 0;
    *dots = -1;
    *out = (term){0};
    for (const char *q = p; *q && *q != ',' && strncmp(q, "->", 2); q++)
        letters += isalpha((unsigned char)*q) != 0;
    while (*p && *p != ',' && strncmp(p, "->", 2)) {
        if (isspace((unsigned char)*p)) {
            p++;
            continue;
        }
        if (!strncmp(p, "...", 3) && *dots < 0) {
            *dots = ellipsis >= 0 ? ellipsis : rank - letters;
            if (*dots < 0) gpuc_topi_fail(call, "an operand has %d dimensions for %d letters", rank, letters);
            for (int i = *dots - 1; i >= 0 && out->n < GPUC_TOPI_MAX_DIMS; i--)
                out->label[out->n++] = LETTERS + i;
            p += 3;
            continue;
        }
        if (!isalpha((unsigned char)*p) || out->n == GPUC_TOPI_MAX_DIMS)
            gpuc_topi_fail(call, "equation '%s' is wrong at '%s'",
                           gpuc_attrs_get_string(call->attrs, "equation", ""), p);
        out->label[out->n++] = letter(*p++);
    }
    return p;
}

static void note_extents(const gpuc_op_call *call, contraction *c, int operand)
{
    const gpuc_tensor_type *t = &call->in[operand];
    const term *in = &c->in[operand];
    if (in->n != t->ndim)
        gpuc_topi_fail(call, "operand %d has %d dimensions, the equation gives it %d", operand, t->ndim,
                       in->n);
    for (int k = 0; k < in->n; k++) {
        gpuc_expr *have = &c->extent[in->label[k]];
        *have = *have ? gpuc_topi_broadcast_dim(call, *have, t->dims[k]) : t->dims[k];
    }
}

/* The output of an equation without "->": the ellipsis, then the letters that occur once, in order. */
static void implied_output(contraction *c, int dots)
{
    int count[LETTERS] = {0};
    for (int i = 0; i < c->operands; i++)
        for (int k = 0; k < c->in[i].n; k++)
            if (c->in[i].label[k] < LETTERS) count[c->in[i].label[k]]++;
    for (int i = dots - 1; i >= 0; i--) c->out.label[c->out.n++] = LETTERS + i;
    for (const char *p = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"; *p; p++)
        if (count[letter(*p)] == 1) c->out.label[c->out.n++] = letter(*p);
}

static contraction *parse_equation(const gpuc_op_call *call)
{
    contraction *c = gpuc_new(call->ctx, contraction);
    const char *text = gpuc_attrs_get_string(call->attrs, "equation", ""), *p = text;
    int dots = 0, own;
    for (c->operands = 0;; p++) {
        if (c->operands == call->num_in || c->operands == MAX_OPERANDS)
            gpuc_topi_fail(call, "equation '%s' has more than %d operands", text, c->operands);
        p = parse_term(call, p, call->in[c->operands].ndim, -1, &c->in[c->operands], &own);
        if (own > dots) dots = own;
        note_extents(call, c, c->operands++);
        if (*p != ',') break;
    }
    if (c->operands != call->num_in)
        gpuc_topi_fail(call, "equation '%s' has %d operands, there are %d", text, c->operands, call->num_in);
    if (!*p) {
        implied_output(c, dots);
        return c;
    }
    p = parse_term(call, p + 2, 0, dots, &c->out, &own);
    if (*p) gpuc_topi_fail(call, "equation '%s' goes on after the output", text);
    for (int k = 0; k < c->out.n; k++) {
        if (!c->extent[c->out.label[k]])
            gpuc_topi_fail(call, "equation '%s': a letter of the output is in no operand", text);
        for (int i = 0; i < k; i++)
            if (c->out.label[i] == c->out.label[k])
                gpuc_topi_fail(call, "equation '%s': the output has a letter twice", text);
    }
    return c;
}

/* Reads which dimensions of the operands are summed together: lists of the same length, or the last and the
 * first `axes`. */
static contraction *parse_axes(const gpuc_op_call *call)
{
    contraction *c = gpuc_new(call->ctx, contraction);
    const gpuc_attr *list[] = {gpuc_attrs_find(call->attrs, "a_axes"),
                               gpuc_attrs_find(call->attrs, "b_axes")};
    int64_t count = gpuc_attrs_get_int(call->attrs, "axes", 2);
    int rank[] = {call->in[0].ndim, call->in[1].ndim}, next = 0;
    bool listed = list[0]->n || list[1]->n;
    if (listed) count = list[0]->n;
    if (list[0]->n != list[1]->n || count < 0 || count > rank[0] || count > rank[1])
        gpuc_topi_fail(call, "%lld axes of tensors of %d and %d dimensions", (long long)count, rank[0],
                       rank[1]);
    c->operands = 2;
    for (int i = 0; i < 2; i++) {
        c->in[i].n = rank[i];
        for (int k = 0; k < rank[i]; k++) c->in[i].label[k] = -1;
        for (int k = 0; k < count; k++) {
            int64_t at = listed ? list[i]->ints[k] : i == 0 ? rank[0] - count + k : k;
            if (at < 0) at += rank[i];
            if (at < 0 || at >= rank[i] || c->in[i].label[at] >= 0)
                gpuc_topi_fail(call, "%s does not name dimensions of input %d", i ? "b_axes" : "a_axes", i);
            c->in[i].label[at] = k;
        }
    }
    next = (int)count;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < rank[i]; k++) {
            if (c->in[i].label[k] >= 0) continue;
            if (next == LABELS || c->out.n == GPUC_TOPI_MAX_DIMS)
                gpuc_topi_fail(call, "the result has too many dimensions");
            c->out.label[c->out.n++] = c->in[i].label[k] = next++;
        }
    for (int i = 0; i < 2; i++) note_extents(call, c, i);
    return c;
}

static contraction *parse(const gpuc_op_call *call)
{
    return strcmp(call->op->name, "tensordot") ? parse_equation(call) : parse_axes(call);
}

static void infer_contraction(gpuc_op_call *call)
{
    char a[24], b[24];
    gpuc_dtype t = call->in[0].dtype;
    for (int i = 1; i < call->num_in; i++)
        if (!gpuc_dtype_equal(call->in[i].dtype, t))
            gpuc_topi_fail(call, "operand 0 is %s, operand %d %s; cast one of them", gpuc_dtype_name(t, a), i,
                           gpuc_dtype_name(call->in[i].dtype, b));
    const contraction *c = parse(call);
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    for (int k = 0; k < c->out.n; k++) dims[k] = c->extent[c->out.label[k]];
    gpuc_topi_set_out(call, 0, t, c->out.n, dims);
}

/* A dimension of one element is broadcast along its label. */
static gpuc_expr operand(const gpuc_op_call *call, const contraction *c, int i, gpuc_tensor *t,
                         const gpuc_expr *var)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_expr index[GPUC_TOPI_MAX_DIMS], one = gpuc_int(ctx, 1), zero = gpuc_int(ctx, 0);
    for (int k = 0; k < c->in[i].n; k++) {
        gpuc_expr d = call->in[i].dims[k], at = var[c->in[i].label[k]];
        index[k] = d == c->extent[c->in[i].label[k]] ? at : gpuc_select(ctx, gpuc_eq(ctx, d, one), zero, at);
    }
    return gpuc_topi_factor(call, gpuc_te_read(ctx, t, c->in[i].n, index));
}

/* Two operands whose last dimensions are that of the sum, or one of the last two of the result. */
static bool is_matrix_product(const contraction *c, gpuc_tensor *const *ins, int summed, int num_summed)
{
    if (c->operands != 2 || num_summed != 1 || c->out.n < 2 || ins[0] == ins[1]) return false;
    for (int i = 0; i < 2; i++) {
        const term *in = &c->in[i];
        bool has_sum = false;
        if (in->n == 0) return false;
        int last = in->label[in->n - 1];
        if (last != summed && last != c->out.label[c->out.n - 1] && last != c->out.label[c->out.n - 2])
            return false;
        for (int k = 0; k < in->n; k++) {
            has_sum |= in->label[k] == summed;
            for (int j = 0; j < k; j++)
                if (in->label[j] == in->label[k]) return false;
        }
        if (!has_sum) return false;
    }
    return true;
}

static void contraction_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    const contraction *c = parse(call);
    gpuc_expr var[LABELS] = {NULL}, own[GPUC_TOPI_MAX_DIMS], body = NULL;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], own), *over[LABELS];
    int num_over = 0, summed = -1;
    for (int k = 0; k < c->out.n; k++) var[c->out.label[k]] = own[k];
    for (int i = 0; i < LABELS; i++) {
        if (!c->extent[i] || var[i]) continue;
        over[num_over] = gpuc_te_reduce_axis(ctx, c->extent[i], "k");
        var[i] = gpuc_iter_var(over[num_over++]);
        summed = i;
    }
    for (int i = 0; i < c->operands; i++) {
        gpuc_expr factor = operand(call, c, i, ins[i], var);
        body = body ? gpuc_mul(ctx, body, factor) : factor;
    }
    if (num_over) body = gpuc_te_reduce(ctx, "sum", body, num_over, over);
    const char *tag = is_matrix_product(c, ins, summed, num_over) ? "matmul" : "";
    outs[0] = gpuc_topi_rounded(call, gpuc_topi_compute(ctx, "einsum", tag, c->out.n, axes, body));
}

ATTRS(einsum_attrs, {.name = "equation", .kind = GPUC_ATTR_STRING, .required = true})
ATTRS(tensordot_attrs, INTS("a_axes"), INTS("b_axes"), INT("axes", 2))

const gpuc_op gpuc_topi_ops_einsum[] = {
    {.name = "einsum",
     .min_in = 1,
     .max_in = MAX_OPERANDS,
     .types = {GPUC_T_NUMBERS, GPUC_T_LIKE},
     .attrs = einsum_attrs,
     .infer = infer_contraction,
     .compute = contraction_compute,
     .pattern = GPUC_FUSE_OUT_FUSABLE,
     .topi = "einsum",
     .nnvm = "",
     .onnx = "Einsum"},
    {.name = "tensordot",
     .min_in = 2,
     .max_in = 2,
     .types = {GPUC_T_NUMBERS, GPUC_T_LIKE},
     .attrs = tensordot_attrs,
     .infer = infer_contraction,
     .compute = contraction_compute,
     .pattern = GPUC_FUSE_OUT_FUSABLE,
     .topi = "tensordot",
     .nnvm = "",
     .onnx = ""},
};
const size_t gpuc_topi_ops_einsum_count = sizeof gpuc_topi_ops_einsum / sizeof gpuc_topi_ops_einsum[0];
