/* SPDX-License-Identifier: Apache-2.0 */
/* Reads equations in Einstein's notation, and the axes of tensordot. */
#include "op/contraction.h"

#include <ctype.h>
#include <string.h>

static int letter(char c)
{
    return islower((unsigned char)c) ? c - 'a' : c - 'A' + 26;
}

/* One term of the equation. ellipsis: how many dimensions "..." stands for; -1: it gets those that the
 * letters leave of rank. Returns the text behind the term. */
static const char *parse_term(const gpuc_op_call *call, const char *p, int rank, int ellipsis,
                              gpuc_op_term *out, int *dots)
{
    int letters = 0;
    *dots = -1;
    *out = (gpuc_op_term){0};
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
                out->label[out->n++] = GPUC_OP_LETTERS + i;
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

static void note_extents(const gpuc_op_call *call, gpuc_op_contraction *c, int operand)
{
    const gpuc_tensor_type *t = &call->in[operand];
    const gpuc_op_term *in = &c->in[operand];
    if (in->n != t->ndim)
        gpuc_topi_fail(call, "operand %d has %d dimensions, the equation gives it %d", operand, t->ndim,
                       in->n);
    for (int k = 0; k < in->n; k++) {
        gpuc_expr *have = &c->extent[in->label[k]];
        *have = *have ? gpuc_topi_broadcast_dim(call, *have, t->dims[k]) : t->dims[k];
    }
}

/* The output of an equation without "->": the ellipsis, then the letters that occur once, in order. */
static void implied_output(gpuc_op_contraction *c, int dots)
{
    int count[GPUC_OP_LETTERS] = {0};
    for (int i = 0; i < c->operands; i++)
        for (int k = 0; k < c->in[i].n; k++)
            if (c->in[i].label[k] < GPUC_OP_LETTERS) count[c->in[i].label[k]]++;
    for (int i = dots - 1; i >= 0; i--) c->out.label[c->out.n++] = GPUC_OP_LETTERS + i;
    for (const char *p = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"; *p; p++)
        if (count[letter(*p)] == 1) c->out.label[c->out.n++] = letter(*p);
}

static gpuc_op_contraction *parse_equation(const gpuc_op_call *call)
{
    gpuc_op_contraction *c = gpuc_new(call->ctx, gpuc_op_contraction);
    const char *text = gpuc_attrs_get_string(call->attrs, "equation", ""), *p = text;
    int dots = 0, own;
    for (c->operands = 0;; p++) {
        if (c->operands == call->num_in || c->operands == GPUC_OP_MAX_FACTORS)
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
static gpuc_op_contraction *parse_axes(const gpuc_op_call *call)
{
    gpuc_op_contraction *c = gpuc_new(call->ctx, gpuc_op_contraction);
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
            if (next == GPUC_OP_LABELS || c->out.n == GPUC_TOPI_MAX_DIMS)
                gpuc_topi_fail(call, "the result has too many dimensions");
            c->out.label[c->out.n++] = c->in[i].label[k] = next++;
        }
    for (int i = 0; i < 2; i++) note_extents(call, c, i);
    return c;
}

const gpuc_op_contraction *gpuc_op_contraction_of(const gpuc_op_call *call)
{
    gpuc_op_contraction *c = strcmp(call->op->name, "tensordot") ? parse_equation(call) : parse_axes(call);
    int labels = 0;
    for (int i = 0; i < GPUC_OP_LABELS; i++) labels += c->extent[i] != NULL;
    if (labels > GPUC_TOPI_MAX_DIMS)
        gpuc_topi_fail(call, "names %d different dimensions; it takes up to %d", labels, GPUC_TOPI_MAX_DIMS);
    return c;
}
