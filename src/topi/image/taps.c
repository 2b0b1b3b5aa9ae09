/* SPDX-License-Identifier: Apache-2.0 */
/* The elements that a place reads are numbered within the data's space: the loops over channels then load one
 * index for each, and no coordinates. */
#include "topi/image/taps.h"

#include "target/constants.h"
#include "topi/parallel.h"

struct gpuc_taps_table {
    int rank, num_axes, count[GPUC_TAPS_AXES];
    gpuc_dtype type; /* of weights */
    gpuc_expr sizes[GPUC_TAPS_AXES];
    gpuc_tensor **element; /* of each combination of taps, the last axis the fastest */
    gpuc_tensor *weight[GPUC_TAPS_AXES][GPUC_TAPS_MAX];
    gpuc_tensor *inside; /* a bit for each axis and tap that is; NULL: all are */
};

void gpuc_topi_taps_check(const gpuc_op_call *call)
{
    gpuc_expr n = gpuc_int(call->ctx, 1);
    const gpuc_expr *sizes = call->in[0].dims + gpuc_topi_layout_of(call, call->in[0].ndim).space;
    for (int i = 0; i < call->in[0].ndim - 2 && n; i++)
        n = sizes[i] ? gpuc_mul(call->ctx, n, sizes[i]) : NULL;
    if (n) gpuc_topi_par_countable(call, n);
}

static int32_t bit(int axis, int tap)
{
    return 1 << (axis * GPUC_TAPS_MAX + tap);
}

static gpuc_expr int32(gpuc_ctx *ctx, int64_t v)
{
    return gpuc_imm_int(ctx, GPUC_INT32, v);
}

/* The bits of the taps that are inside; NULL: all of them always are. */
static gpuc_expr inside_bits(gpuc_ctx *ctx, int rank, const gpuc_taps *taps)
{
    gpuc_expr bits = int32(ctx, 0);
    bool any = false;
    for (int i = 0; i < rank; i++)
        for (int k = 0; k < taps[i].count; k++) {
            gpuc_expr one = int32(ctx, bit(i, k));
            any |= taps[i].inside[k] != NULL;
            if (taps[i].inside[k]) one = gpuc_select(ctx, taps[i].inside[k], one, int32(ctx, 0));
            bits = gpuc_add(ctx, bits, one);
        }
    return any ? bits : NULL;
}

/* Has tap k of axis i a weight of its own? */
static bool has_weight(const int *count, int i, int k)
{
    return count[i] > 2 || (count[i] == 2 && k == 1);
}

gpuc_taps_table *gpuc_topi_taps_tabulate(gpuc_ctx *ctx, int num_axes, gpuc_iter *const *axes, int rank,
                                         const gpuc_taps *taps, const gpuc_expr *sizes, gpuc_dtype type)
{
    gpuc_taps_table *t = gpuc_new(ctx, gpuc_taps_table);
    *t = (gpuc_taps_table){.rank = rank, .num_axes = num_axes, .type = type};
    int combinations = 1, n = 0;
    for (int i = 0; i < rank; i++) {
        combinations *= t->count[i] = taps[i].count;
        t->sizes[i] = sizes[i];
    }
    int max = combinations + rank * GPUC_TAPS_MAX + 1;
    gpuc_expr *bodies = gpuc_new_array(ctx, gpuc_expr, max);
    gpuc_tensor **outs = gpuc_new_array(ctx, gpuc_tensor *, max);
    for (; n < combinations; n++) {
        gpuc_expr at = int32(ctx, 0), step = int32(ctx, 1);
        for (int i = rank - 1, rest = n; i >= 0; rest /= taps[i--].count) {
            at = gpuc_add(ctx, gpuc_mul(ctx, taps[i].index[rest % taps[i].count], step), at);
            step = gpuc_mul(ctx, step, gpuc_cast(ctx, GPUC_INT32, sizes[i]));
        }
        bodies[n] = at;
    }
    for (int i = 0; i < rank; i++)
        for (int k = 0; k < taps[i].count; k++)
            if (has_weight(t->count, i, k)) bodies[n++] = taps[i].weight[k];
    gpuc_expr bits = inside_bits(ctx, rank, taps);
    if (bits) bodies[n++] = bits;
    gpuc_te_compute_n(ctx, "taps", num_axes, axes, n, bodies, outs);
    if (combinations <= GPUC_COMMON_taps_kept) gpuc_te_set_attr(ctx, outs[0], "tag", "shared_table");
    t->element = outs;
    n = combinations;
    for (int i = 0; i < rank; i++)
        for (int k = 0; k < taps[i].count; k++)
            if (has_weight(t->count, i, k)) t->weight[i][k] = outs[n++];
    if (bits) t->inside = outs[n];
    return t;
}

typedef struct sum {
    gpuc_ctx *ctx;
    const gpuc_taps_table *t;
    gpuc_tensor *data;
    gpuc_topi_layout at; /* of the data */
    gpuc_expr image, channel, bits;
    const gpuc_expr *place;
} sum;

static gpuc_expr from_table(const sum *s, gpuc_tensor *table)
{
    return gpuc_te_read(s->ctx, table, s->t->num_axes, s->place);
}

/* The element of a combination of taps. */
static gpuc_expr element(const sum *s, int combination, int32_t bits)
{
    gpuc_ctx *ctx = s->ctx;
    int rank = s->t->rank;
    gpuc_expr index[GPUC_TAPS_AXES + 2] = {s->image, s->channel};
    gpuc_expr number = gpuc_cast(ctx, GPUC_INDEX, from_table(s, s->t->element[combination]));
    for (int i = rank - 1; i >= 0; i--) {
        index[2 + i] = i ? gpuc_floormod_(ctx, number, s->t->sizes[i]) : number;
        if (i) number = gpuc_floordiv_(ctx, number, s->t->sizes[i]);
    }
    gpuc_topi_to_layout(s->at, rank + 2, index);
    gpuc_expr value = gpuc_cast(ctx, s->t->type, gpuc_te_read(ctx, s->data, rank + 2, index));
    if (!s->bits) return value;
    gpuc_expr all = int32(ctx, bits), inside = gpuc_eq(ctx, gpuc_call2(ctx, "bitand", s->bits, all), all);
    return gpuc_select(ctx, inside, value, gpuc_imm(ctx, s->t->type, 0));
}

/* The sum over the taps of axes [i, rank). */
static gpuc_expr sum_from(const sum *s, int i, int combination, int32_t bits)
{
    gpuc_ctx *ctx = s->ctx;
    const gpuc_taps_table *t = s->t;
    if (i == t->rank) return element(s, combination, bits);
    gpuc_expr all = NULL;
    for (int k = 0; k < t->count[i]; k++) {
        gpuc_expr v = sum_from(s, i + 1, combination * t->count[i] + k, bits | bit(i, k));
        if (has_weight(t->count, i, k))
            v = gpuc_mul(ctx, v, from_table(s, t->weight[i][k]));
        else if (t->count[i] == 2)
            v = gpuc_mul(ctx, v, gpuc_sub(ctx, gpuc_imm(ctx, s->t->type, 1), from_table(s, t->weight[i][1])));
        all = all ? gpuc_add(ctx, all, v) : v;
    }
    return all;
}

gpuc_expr gpuc_topi_taps_sum(gpuc_ctx *ctx, const gpuc_taps_table *table, gpuc_tensor *data,
                             gpuc_topi_layout at, gpuc_expr image, gpuc_expr channel, const gpuc_expr *place)
{
    sum s = {
        .ctx = ctx, .t = table, .data = data, .at = at, .image = image, .channel = channel, .place = place};
    if (table->inside) s.bits = from_table(&s, table->inside);
    return sum_from(&s, 0, 0, 0);
}
