/* SPDX-License-Identifier: Apache-2.0 */
/* einsum and tensordot become products of matrices. A label that two operands have and the rest needs is a dimension of
 * the batch; one that nothing else needs is summed; others are rows or columns. What only one operand has and nothing
 * needs is summed first, diagonals are taken by an einsum of one operand. More operands are multiplied two at a time. */
#include <string.h>

#include "op/contraction.h"
#include "relay_pass/common/util.h"
#include "target/constants.h"

/* A tensor whose dimensions have labels, each another one. */
typedef struct factor {
    gpuc_rexpr *x;
    gpuc_op_term of;
} factor;

typedef struct maker {
    gpuc_ctx *ctx;
    const gpuc_op_contraction *c;
    gpuc_dtype type;
    int n;
    factor in[GPUC_OP_MAX_FACTORS]; /* those that are left */
} maker;

/* What a label of two operands is in their product. */
typedef enum role { UNUSED, BATCH, SUMMED, OF_FIRST, OF_SECOND } role;

static int place_of(const gpuc_op_term *t, int label)
{
    for (int i = 0; i < t->n; i++)
        if (t->label[i] == label) return i;
    return -1;
}

static bool same_order(const gpuc_op_term *a, const gpuc_op_term *b)
{
    return a->n == b->n && !memcmp(a->label, b->label, sizeof a->label[0] * (size_t)a->n);
}

/* Whether the output or another operand than a and b has the label. */
static bool needed(const maker *m, int label, int a, int b)
{
    if (place_of(&m->c->out, label) >= 0) return true;
    for (int i = 0; i < m->n; i++)
        if (i != a && i != b && place_of(&m->in[i].of, label) >= 0) return true;
    return false;
}

/* The number of elements that the labels make; what a run decides counts once. */
static double size_of(const maker *m, const gpuc_op_term *t)
{
    double size = 1;
    int64_t n;
    for (int i = 0; i < t->n; i++)
        if (gpuc_expr_is_int(m->c->extent[t->label[i]], &n)) size *= (double)n;
    return size;
}

static gpuc_expr extent_of(const maker *m, const gpuc_op_term *t)
{
    gpuc_expr n = gpuc_int(m->ctx, 1);
    for (int i = 0; i < t->n; i++) n = gpuc_mul(m->ctx, n, m->c->extent[t->label[i]]);
    return n;
}

static void append(gpuc_op_term *to, const gpuc_op_term *t)
{
    for (int i = 0; i < t->n; i++) to->label[to->n++] = t->label[i];
}

static gpuc_op_term joined(const gpuc_op_term *a, const gpuc_op_term *b, const gpuc_op_term *c)
{
    gpuc_op_term all = *a;
    append(&all, b);
    append(&all, c);
    return all;
}

/* The labels of a role, in the order of t. */
static gpuc_op_term those(const gpuc_op_term *t, const role *roles, role r)
{
    gpuc_op_term out = {0};
    for (int i = 0; i < t->n; i++)
        if (roles[t->label[i]] == r) out.label[out.n++] = t->label[i];
    return out;
}

/* f in an order of its labels; those that it does not have are dimensions of 1. */
static gpuc_rexpr *ordered(const maker *m, const factor *f, const gpuc_op_term *order)
{
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    int64_t axes[GPUC_TOPI_MAX_DIMS];
    int n = 0;
    bool moved = false;
    for (int i = 0; i < order->n; i++) {
        int at = place_of(&f->of, order->label[i]);
        dims[i] = at < 0 ? gpuc_int(m->ctx, 1) : m->c->extent[order->label[i]];
        if (at < 0) continue;
        moved = moved || at != n;
        axes[n++] = at;
    }
    gpuc_rexpr *x = moved ? gpuc_relay_pass_transpose(m->ctx, f->x, axes) : f->x;
    return gpuc_relay_pass_reshape(m->ctx, x, order->n, dims);
}

/* ---- One operand ---- */

/* Extents of 1 have no label: they are those that broadcast, or change nothing. */
static factor squeezed(const maker *m, gpuc_rexpr *x, const gpuc_op_term *of)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    factor f = {.x = x};
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    int64_t n;
    for (int i = 0; i < t->ndim; i++) {
        if (gpuc_expr_is_int(t->dims[i], &n) && n == 1) continue;
        dims[f.of.n] = t->dims[i];
        f.of.label[f.of.n++] = of->label[i];
    }
    f.x = gpuc_relay_pass_reshape(m->ctx, x, f.of.n, dims);
    return f;
}

static bool has_twice(const gpuc_op_term *t)
{
    for (int i = 0; i < t->n; i++)
        if (place_of(t, t->label[i]) < i) return true;
    return false;
}

/* An einsum of n operands, whose terms stand before that of the result. */
static gpuc_rexpr *summed(const maker *m, int n, gpuc_rexpr *const *x, const gpuc_op_term *const *terms)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const char *text = "";
    for (int i = 0; i <= n; i++) {
        if (i) text = gpuc_ctx_printf(m->ctx, "%s%s", text, i == n ? "->" : ",");
        for (int k = 0; k < terms[i]->n; k++)
            text = gpuc_ctx_printf(m->ctx, "%s%c", text, letters[place_of(terms[0], terms[i]->label[k])]);
    }
    return gpuc_relay_op(m->ctx, "einsum", gpuc_attrs_string(m->ctx, NULL, "equation", text), n, x);
}

/* The sum over what is not kept, by an einsum where a label stands twice: a diagonal. */
static void reduce(const maker *m, factor *f, const gpuc_op_term *kept)
{
    int64_t axes[GPUC_TOPI_MAX_DIMS];
    const gpuc_op_term *terms[] = {&f->of, kept};
    int n = 0;
    if (has_twice(&f->of)) {
        f->x = summed(m, 1, &f->x, terms);
    } else if (kept->n < f->of.n) {
        for (int i = 0; i < f->of.n; i++)
            if (place_of(kept, f->of.label[i]) < 0) axes[n++] = i;
        f->x = gpuc_relay_op1(m->ctx, "sum", gpuc_attrs_ints(m->ctx, NULL, "axis", n, axes), f->x);
    }
    f->of = *kept;
}

/* The labels of operand i that something else needs, each once. */
static gpuc_op_term kept_of(const maker *m, int i)
{
    const gpuc_op_term *t = &m->in[i].of;
    gpuc_op_term kept = {0};
    for (int k = 0; k < t->n; k++)
        if (needed(m, t->label[k], i, i) && place_of(&kept, t->label[k]) < 0)
            kept.label[kept.n++] = t->label[k];
    return kept;
}

/* ---- Two operands ---- */

static void find_roles(const maker *m, int a, int b, role *roles)
{
    const gpuc_op_term *x = &m->in[a].of, *y = &m->in[b].of;
    memset(roles, 0, sizeof *roles * GPUC_OP_LABELS);
    for (int i = 0; i < x->n; i++) roles[x->label[i]] = OF_FIRST;
    for (int i = 0; i < y->n; i++) {
        int l = y->label[i];
        roles[l] = roles[l] == UNUSED ? OF_SECOND : needed(m, l, a, b) ? BATCH : SUMMED;
    }
}

/* How two operands become matrices: orders of the labels of theirs and of the product's. */
typedef struct layout {
    gpuc_op_term of[2], out; /* of[0] is on the left */
    gpuc_op_term batch, rows, sums, columns;
    bool
        spread; /* each label of the batch is a dimension, which an operand may not have; else they are one */
    bool turned[2]; /* columns before rows */
    double moved;   /* elements that have to be transposed */
} layout;

/* Whether the labels are known to make fewer than n elements. */
static bool fewer(const maker *m, const gpuc_op_term *t, int64_t n)
{
    int64_t extent;
    for (int i = 0; i < t->n; i++)
        if (!gpuc_expr_is_int(m->c->extent[t->label[i]], &extent)) return false;
    return size_of(m, t) < (double)n;
}

/* Sets of, turned, out and moved. A product of rows by rows is slow, unless there are few. */
static void count_moved(const maker *m, const factor *const *f, const gpuc_op_term *want, layout *l)
{
    for (int i = 0; i < 2; i++) {
        const gpuc_op_term *first = i ? &l->sums : &l->rows, *second = i ? &l->columns : &l->sums;
        gpuc_op_term own = {0};
        for (int k = 0; k < l->batch.n; k++)
            if (place_of(&f[i]->of, l->batch.label[k]) >= 0) own.label[own.n++] = l->batch.label[k];
        gpuc_op_term turned = joined(&own, second, first);
        l->of[i] = joined(&own, first, second);
        l->turned[i] =
            same_order(&turned, &f[i]->of) && (i == 0 || fewer(m, &l->rows, GPUC_COMMON_einsum_rows));
        if (l->turned[i]) l->of[i] = turned;
        if (!same_order(&l->of[i], &f[i]->of)) l->moved += size_of(m, &f[i]->of);
    }
    l->out = joined(&l->batch, &l->rows, &l->columns);
    if (!same_order(&l->out, want)) l->moved += size_of(m, want);
}

/* Labels in the order of `order`, sums in that of f[sums]. */
static layout consider(const maker *m, const factor *const *f, const role *roles, bool swapped,
                       const gpuc_op_term *const *order, int sums, const gpuc_op_term *want)
{
    layout l = {.batch = those(order[0], roles, BATCH),
                .rows = those(order[0], roles, swapped ? OF_SECOND : OF_FIRST),
                .columns = those(order[1], roles, swapped ? OF_FIRST : OF_SECOND),
                .sums = those(&f[sums]->of, roles, SUMMED)};
    count_moved(m, f, want, &l);
    return l;
}

/* The same where the result needs no transposition: its last labels are columns, those before them rows, and all
 * others a batch. False: the matrices would be small. */
static bool consider_spread(const maker *m, const factor *const *f, const role *roles, bool swapped, int sums,
                            const gpuc_op_term *want, layout *l)
{
    role row = swapped ? OF_SECOND : OF_FIRST, column = swapped ? OF_FIRST : OF_SECOND;
    int columns = want->n, rows;
    while (columns > 0 && roles[want->label[columns - 1]] == column) columns--;
    for (rows = columns; rows > 0 && roles[want->label[rows - 1]] == row;) rows--;
    *l = (layout){.sums = those(&f[sums]->of, roles, SUMMED), .spread = true};
    for (int i = 0; i < want->n; i++) {
        gpuc_op_term *to = i < rows ? &l->batch : i < columns ? &l->rows : &l->columns;
        to->label[to->n++] = want->label[i];
    }
    if (fewer(m, &l->rows, GPUC_COMMON_einsum_rows) || fewer(m, &l->columns, GPUC_COMMON_einsum_rows))
        return false;
    count_moved(m, f, want, l);
    return true;
}

/* The layout that moves the fewest elements. A vector stands on the left, as a row. */
static layout best_layout(const maker *m, const factor *a, const factor *b, const role *roles,
                          const gpuc_op_term *want, const factor **f)
{
    layout best = {.moved = -1}, l;
    bool rows = those(&a->of, roles, OF_FIRST).n, columns = those(&b->of, roles, OF_SECOND).n;
    for (int i = 0; i < 12; i++) {
        bool swapped = i & 1;
        const factor *now[] = {swapped ? b : a, swapped ? a : b};
        const gpuc_op_term *own[] = {&now[0]->of, &now[1]->of}, *wanted[] = {want, want};
        if (rows != columns && swapped != rows) continue;
        if (i < 8)
            l = consider(m, now, roles, swapped, i & 2 ? own : wanted, i & 4 ? 0 : 1, want);
        else if (!consider_spread(m, now, roles, swapped, i & 2 ? 0 : 1, want, &l))
            continue;
        if (best.moved >= 0 && l.moved >= best.moved) continue;
        best = l;
        memcpy(f, now, sizeof now);
    }
    return best;
}

/* Operand i as matrices. */
static gpuc_rexpr *matrices(const maker *m, const factor *f, const layout *l, int i)
{
    gpuc_expr sums = extent_of(m, &l->sums), others = extent_of(m, i ? &l->columns : &l->rows),
              shape[GPUC_TOPI_MAX_DIMS];
    bool sums_last = l->turned[i] == (i == 1);
    int n = 0;
    for (int k = 0; l->spread && k < l->batch.n; k++) {
        int label = l->batch.label[k];
        shape[n++] = place_of(&f->of, label) >= 0 ? m->c->extent[label] : gpuc_int(m->ctx, 1);
    }
    if (!l->spread && l->batch.n) shape[n++] = extent_of(m, &l->batch);
    shape[n++] = sums_last ? others : sums;
    shape[n++] = sums_last ? sums : others;
    return gpuc_relay_pass_reshape(m->ctx, ordered(m, f, &l->of[i]), n, shape);
}

static factor matrix_product(const maker *m, const factor *a, const factor *b, const role *roles,
                             const gpuc_op_term *want)
{
    const factor *f[2];
    layout l = best_layout(m, a, b, roles, want, f);
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    const gpuc_attrs *attrs = gpuc_attrs_int(m->ctx, NULL, "transpose_a", l.turned[0]);
    attrs = gpuc_attrs_int(m->ctx, attrs, "transpose_b", l.turned[1]);
    gpuc_rexpr *y =
        gpuc_relay_op2(m->ctx, "nn.matmul", attrs, matrices(m, f[0], &l, 0), matrices(m, f[1], &l, 1));
    for (int i = 0; i < l.out.n; i++) dims[i] = m->c->extent[l.out.label[i]];
    return (factor){gpuc_relay_pass_reshape(m->ctx, y, l.out.n, dims), l.out};
}

static factor outer_product(const maker *m, const factor *a, const factor *b, const gpuc_op_term *want)
{
    gpuc_rexpr *x = ordered(m, a, want), *y = ordered(m, b, want);
    return (factor){gpuc_relay_op2(m->ctx, "multiply", NULL, x, y), *want};
}

/* Of vectors: both have the same labels. */
static factor dot_product(const maker *m, const factor *a, const factor *b, const gpuc_op_term *want)
{
    const gpuc_op_term *terms[] = {&a->of, &b->of, want};
    gpuc_rexpr *x[] = {a->x, b->x};
    return (factor){summed(m, 2, x, terms), *want};
}

/* The labels of t in the order of the output. */
static gpuc_op_term in_order(const maker *m, const gpuc_op_term *t)
{
    const gpuc_op_term *out = &m->c->out;
    gpuc_op_term sorted = {0};
    for (int i = 0; i < out->n; i++)
        if (place_of(t, out->label[i]) >= 0) sorted.label[sorted.n++] = out->label[i];
    return sorted;
}

/* Puts the product in the place of operand a. */
static void multiply(maker *m, int a, int b)
{
    role roles[GPUC_OP_LABELS];
    find_roles(m, a, b, roles);
    const factor *x = &m->in[a], *y = &m->in[b];
    gpuc_op_term batch = those(&x->of, roles, BATCH), first = those(&x->of, roles, OF_FIRST),
                 second = those(&y->of, roles, OF_SECOND), want = joined(&batch, &first, &second);
    if (m->n == 2) want = in_order(m, &want);
    if (!those(&x->of, roles, SUMMED).n)
        m->in[a] = outer_product(m, x, y, &want);
    else if (first.n || second.n)
        m->in[a] = matrix_product(m, x, y, roles, &want);
    else
        m->in[a] = dot_product(m, x, y, &want);
    m->n--;
    memmove(m->in + b, m->in + b + 1, sizeof m->in[0] * (size_t)(m->n - b));
}

/* The pair whose product takes the fewest multiplications and makes the smallest result; without known extents the
 * first. */
static void next_pair(const maker *m, int *a, int *b)
{
    double min = -1;
    role roles[GPUC_OP_LABELS];
    for (int i = 0; i < m->n; i++)
        for (int k = i + 1; k < m->n; k++) {
            find_roles(m, i, k, roles);
            gpuc_op_term sums = those(&m->in[i].of, roles, SUMMED),
                         rest = those(&m->in[i].of, roles, OF_FIRST),
                         batch = those(&m->in[i].of, roles, BATCH),
                         out = joined(&batch, &rest, &(gpuc_op_term){0});
            rest = those(&m->in[k].of, roles, OF_SECOND);
            append(&out, &rest);
            double cost = size_of(m, &out) * (1 + size_of(m, &sums));
            if (min >= 0 && cost >= min) continue;
            min = cost;
            *a = i;
            *b = k;
        }
}

/* ---- Calls ---- */

/* Whether each dimension is known to be that of its label, or 1: others a run may broadcast. Products in between may
 * have all labels, each of which is a letter. */
static bool is_clear(const gpuc_op_contraction *c, const gpuc_op_call *call)
{
    int labels = 0;
    for (int i = 0; i < GPUC_OP_LABELS; i++) labels += c->extent[i] != NULL;
    if (labels > GPUC_OP_LETTERS) return false;
    for (int i = 0; i < c->operands; i++)
        for (int k = 0; k < c->in[i].n; k++) {
            if (c->in[i].n > GPUC_OP_LETTERS) return false;
            gpuc_expr d = call->in[i].dims[k];
            int64_t n;
            if (!d || (d != c->extent[c->in[i].label[k]] && !(gpuc_expr_is_int(d, &n) && n == 1)))
                return false;
        }
    return true;
}

/* Whether 16-bit floats would be rounded more than once. */
static bool rounds_between(const maker *m)
{
    if (!gpuc_is_float(m->type) || m->type.bits != 16 || m->n < 2) return false;
    for (int i = 0; i < 2; i++)
        if (kept_of(m, i).n < m->in[i].of.n) return true;
    return m->n > 2;
}

static gpuc_rexpr *lowered(gpuc_ctx *ctx, const gpuc_op_contraction *c, const gpuc_rcall *call,
                           const gpuc_tensor_type *out)
{
    maker m = {.ctx = ctx, .c = c, .type = out->dtype, .n = c->operands};
    for (int i = 0; i < m.n; i++) m.in[i] = squeezed(&m, call->args[i], &c->in[i]);
    if (rounds_between(&m))
        for (int i = 0; i < m.n; i++) m.in[i].x = gpuc_relay_pass_cast(ctx, m.in[i].x, GPUC_FLOAT32);
    for (int i = 0; i < m.n; i++) {
        gpuc_op_term kept = kept_of(&m, i);
        reduce(&m, &m.in[i], &kept);
    }
    for (int a = 0, b = 1; m.n > 1;) {
        next_pair(&m, &a, &b);
        multiply(&m, a, b);
    }
    gpuc_op_term order = in_order(&m, &m.in[0].of);
    gpuc_rexpr *y = gpuc_relay_pass_reshape(ctx, ordered(&m, &m.in[0], &order), out->ndim, out->dims);
    return gpuc_relay_pass_cast(ctx, y, out->dtype);
}

static gpuc_rexpr *rewrite(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    (void)arg;
    if (!gpuc_relay_is_op(e, "einsum") && !gpuc_relay_is_op(e, "tensordot")) return e;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_tensor_type in[GPUC_OP_MAX_FACTORS];
    for (int i = 0; i < c->n; i++) in[i] = *gpuc_relay_tensor_type(c->args[i]);
    gpuc_op_call call = {
        .ctx = ctx, .op = gpuc_relay_call_op(e), .attrs = c->attrs, .num_in = c->n, .in = in};
    const gpuc_op_contraction *k = gpuc_op_contraction_of(&call);
    return is_clear(k, &call) ? lowered(ctx, k, c, gpuc_relay_tensor_type(e)) : e;
}

void gpuc_relay_pass_einsum(gpuc_relay_pass_ctx *p)
{
    gpuc_relay_pass_rewrite_module(p, rewrite, NULL);
}
