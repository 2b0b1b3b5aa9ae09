/* SPDX-License-Identifier: Apache-2.0 */
/* Default schedules. A fused function is a chain of stages: what only moves or maps elements is inlined; each
 * reduction is a loop nest of its own, or lives in registers inside of the output's loops when the output
 * reads it element by element. */
#include <string.h>

#include "autoschedule/rules.h"

static bool is_output(gpuc_te_op *op, int n, gpuc_tensor *const *outputs)
{
    for (int i = 0; i < n; i++)
        if (outputs[i]->op == op) return true;
    return false;
}

/* An extern operation reads from memory. */
static bool is_read_by_extern(const gpuc_te_op *op, const gpuc_ptrs *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        const gpuc_te_op *to = ops->at[i];
        for (int k = 0; k < to->num_inputs && to->kind == GPUC_TE_EXTERN; k++)
            if (to->inputs[k]->op == op) return true;
    }
    return false;
}

/* How an operation's element comes from that of another one, through any number of inlined stages. */
typedef enum derivation {
    NOT_AT_ALL,
    SOMEHOW,
    ELEMENTWISE /* it reads nothing but that at its own index */
} derivation;

typedef struct read_check {
    const gpuc_te_op *from, *reader;
    const gpuc_map *derived; /* op -> derivation, of the operations between them */
    bool found, same;
} read_check;

static derivation derivation_of(const gpuc_map *derived, const gpuc_te_op *op)
{
    return (derivation)(uintptr_t)gpuc_map_get(derived, op);
}

static bool check_read(gpuc_expr e, void *arg)
{
    read_check *c = arg;
    if (e->kind != GPUC_EXPR_READ) return true;
    const gpuc_tir_read_node *r = gpuc_as_read(e);
    const gpuc_te_op *in = r->tensor->op;
    derivation d = derivation_of(c->derived, in);
    if (d == NOT_AT_ALL) return true;
    bool apart = in != c->from &&
                 (in->kind != GPUC_TE_COMPUTE || in->num_reduce); /* it reads it in loops of its own */
    c->found = true;
    c->same &= !apart && d == ELEMENTWISE && r->n == c->reader->num_axes;
    for (int i = 0; c->same && i < r->n; i++) c->same = gpuc_rules_is_axis(r->index[i], c->reader->axes[i]);
    return true;
}

/* Does `to` read `from` only at its own index, through any number of inlined stages? */
static bool reads_elementwise(gpuc_ctx *ctx, gpuc_tensor *to, const gpuc_te_op *from)
{
    gpuc_ptrs ops = {0};
    gpuc_map derived;
    gpuc_map_init(&derived, ctx);
    gpuc_te_post_order(ctx, 1, &to, &ops);
    for (size_t i = 0; i < ops.count; i++) {
        const gpuc_te_op *op = ops.at[i];
        bool reaches = op == from;
        for (int k = 0; k < op->num_inputs; k++)
            reaches |= derivation_of(&derived, op->inputs[k]->op) != NOT_AT_ALL;
        if (!reaches) continue;
        read_check c = {.from = from, .reader = op, .derived = &derived, .found = op == from, .same = true};
        for (int k = 0; op != from && op->kind == GPUC_TE_COMPUTE && k < op->num_outputs; k++)
            gpuc_tir_visit(ctx, op->bodies[k], check_read, &c);
        gpuc_map_set(&derived, op, (void *)(uintptr_t)(c.found && c.same ? ELEMENTWISE : SOMEHOW));
    }
    return derivation_of(&derived, to->op) == ELEMENTWISE;
}

/* Whether it is a product of a matrix and a vector: each element of the matrix is used once, so a tile gains
 * nothing. */
static bool is_by_vector(const gpuc_rules *r, const gpuc_tensor *product)
{
    const gpuc_te_op *op = product->op;
    if (!gpuc_rules_is_matmul(product) || op->num_inputs != 2) return false;
    if (!gpuc_is_float(gpuc_te_dtype(product))) return false; /* dot products of integers are of tiles */
    for (int i = 0; i < 2; i++) {
        bool once = true;
        for (int k = 0; k < op->num_axes; k++)
            once &= gpuc_rules_extent(op->axes[k]) == 1 ||
                    gpuc_rules_dimension_of(r, op, op->inputs[i], op->axes[k]) >= 0;
        if (once) return true;
    }
    return false;
}

/* Is it computed in loops of its own, or in those of what reads it element by element? */
static bool has_loops(const gpuc_te_op *op)
{
    return op->num_reduce || gpuc_rules_winograd_part(op) == GPUC_WINOGRAD_OUTPUT;
}

static void reduce(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    if (gpuc_rules_winograd_part(reduction->op) == GPUC_WINOGRAD_OUTPUT) {
        gpuc_rules_winograd_output(r, reduction, out);
        return;
    }
    bool tiles = !is_by_vector(r, reduction);
    if (tiles && (gpuc_rules_coopmat(r, reduction, out) || gpuc_rules_channels(r, reduction, out) ||
                  gpuc_rules_warp_tile(r, reduction, out) || gpuc_rules_staged(r, reduction, out) ||
                  gpuc_rules_tile(r, reduction, out)))
        return;
    gpuc_rules_reduce(r, reduction, out);
}

/* Whether a padded copy is read only by convolutions that check the edges themselves. Where few sums read
 * each element, a copy costs more than the checks, which most tiles do not need. */
static bool is_read_through(const gpuc_rules *r, const gpuc_te_op *op, const gpuc_ptrs *ops)
{
    bool dense = gpuc_target_keeps_channels_last(r->target), cpu = r->kind != GPUC_CLASS_GPU,
         gpu = gpuc_target_is_gpu(r->target), all = true;
    for (size_t i = 0; i < ops->count && all; i++) {
        const gpuc_te_op *to = ops->at[i];
        gpuc_rules_tag tag = gpuc_rules_tag_of(to->outputs[0]);
        bool last = gpuc_rules_channels_last(to->outputs[0]);
        for (int k = 0; k < to->num_inputs; k++)
            if (to->inputs[k]->op == op)
                all &= ((dense || cpu) && last && tag == GPUC_TAG_DEPTHWISE) ||
                       (gpu && (tag == GPUC_TAG_DEPTHWISE || tag == GPUC_TAG_WINDOW)) ||
                       (dense && last && tag == GPUC_TAG_CONV) || gpuc_rules_winograd_part(to);
    }
    return all;
}

/* Whether the one reduction that reads a padded copy makes it in registers. */
static bool is_padded_by_reader(const gpuc_rules *r, const gpuc_te_op *op, const gpuc_ptrs *ops,
                                const gpuc_te_op *anchor, gpuc_tensor *const *outputs)
{
    const gpuc_te_op *reader = NULL;
    int readers = 0;
    for (size_t i = 0; i < ops->count; i++) {
        const gpuc_te_op *to = ops->at[i];
        for (int k = 0; k < to->num_inputs; k++) {
            if (to->inputs[k]->op != op) continue;
            reader = to;
            readers++;
        }
    }
    if (readers != 1 || reader->kind != GPUC_TE_COMPUTE || !reader->num_reduce) return false;
    gpuc_tensor *out = reader == anchor ? outputs[0] : reader->outputs[0];
    return gpuc_rules_tile_pads(r, reader->outputs[0], out);
}

static bool reads_inside(const gpuc_rules *r, const gpuc_te_op *to, const gpuc_tensor *out)
{
    if (to->kind != GPUC_TE_COMPUTE || !to->num_reduce) return false;
    if (gpuc_rules_tile_stays_inside(r, to->outputs[0], out)) return true;
    return !gpuc_rules_is_coopmat(r, to->outputs[0], out) && gpuc_rules_is_staged(r, to->outputs[0], out);
}

/* Whether all that read a padded copy find what they use in what was copied, or read through the padding. */
static bool needs_no_copy(const gpuc_rules *r, const gpuc_te_op *op, const gpuc_ptrs *ops,
                          const gpuc_te_op *anchor, gpuc_tensor *const *outputs)
{
    bool all = true;
    for (size_t i = 0; i < ops->count && all; i++) {
        const gpuc_te_op *to = ops->at[i];
        for (int k = 0; k < to->num_inputs; k++)
            if (to->inputs[k]->op == op)
                all &= reads_inside(r, to, to == anchor ? outputs[0] : to->outputs[0]);
    }
    return all;
}

static bool is_table(const gpuc_rules *r, const gpuc_te_op *op)
{
    gpuc_rules_tag tag = gpuc_rules_tag_of(op->outputs[0]);
    return (tag == GPUC_TAG_TABLE || tag == GPUC_TAG_SHARED_TABLE) && !gpuc_rules_is_inlined(r->kind, op);
}

/* The last reduction that may live inside of the output's loops. */
static gpuc_te_op *find_anchor(gpuc_ctx *ctx, const gpuc_ptrs *ops, int num_outputs,
                               gpuc_tensor *const *outputs)
{
    for (size_t i = ops->count; i-- > 0 && num_outputs == 1;) {
        gpuc_te_op *op = ops->at[i];
        if (has_loops(op) && reads_elementwise(ctx, outputs[0], op)) return op;
    }
    return NULL;
}

/* Stores outputs that are larger than the caches past them, unless the output is a reduction, which reads it
 * again. */
static void store_past_caches(const gpuc_rules *r, gpuc_tensor *out)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    const gpuc_te_op *op = gpuc_stage_tensor(st, 0)->op;
    int64_t max = r->target->last_level_cache / (int64_t)gpuc_dtype_bytes(gpuc_te_dtype(out));
    if (max > 0 && op->kind == GPUC_TE_COMPUTE && !op->num_reduce &&
        gpuc_rules_product(op->num_axes, op->axes) > max)
        gpuc_stage_non_temporal(st);
}

bool gpuc_rules_makes_rows(gpuc_ctx *ctx, const gpuc_target *target, gpuc_tensor *out)
{
    const gpuc_rules r = gpuc_rules_of(ctx, target, NULL);
    gpuc_ptrs ops = {0};
    gpuc_te_post_order(ctx, 1, &out, &ops);
    return !find_anchor(ctx, &ops, 1, &out) && gpuc_rules_find_rows(&r, &ops, out);
}

static void schedule_stages(const gpuc_rules *r, const gpuc_ptrs *ops, const gpuc_te_op *anchor,
                            int num_outputs, gpuc_tensor *const *outputs)
{
    for (size_t i = 0; i < ops->count; i++) {
        gpuc_te_op *op = ops->at[i];
        if (op->kind != GPUC_TE_COMPUTE || op == anchor) continue;
        gpuc_stage *st = gpuc_schedule_stage(r->s, op->outputs[0]);
        gpuc_winograd_part part = gpuc_rules_winograd_part(op);
        if (is_output(op, num_outputs, outputs) || part == GPUC_WINOGRAD_INSIDE) continue;
        if (part == GPUC_WINOGRAD_DATA)
            gpuc_rules_winograd_data(r, op->outputs[0]);
        else if (has_loops(op))
            reduce(r, op->outputs[0], op->outputs[0]);
        else if (gpuc_rules_tag_of(op->outputs[0]) == GPUC_TAG_PAD &&
                 is_padded_by_reader(r, op, ops, anchor, outputs))
            continue;
        else if (gpuc_rules_tag_of(op->outputs[0]) == GPUC_TAG_PAD && !is_read_through(r, op, ops) &&
                 !needs_no_copy(r, op, ops, anchor, outputs))
            gpuc_rules_copy_rows(r, st);
        else if (is_read_by_extern(op, ops) || is_table(r, op))
            gpuc_rules_injective(r, st);
        else
            gpuc_stage_compute_inline(st);
    }
    for (int i = 0; i < num_outputs; i++) {
        gpuc_te_op *op = outputs[i]->op;
        bool done = false; /* an operation with several outputs is one stage */
        for (int k = 0; k < i; k++) done |= outputs[k]->op == op;
        if (done || op->kind != GPUC_TE_COMPUTE) continue;
        if (gpuc_rules_is_image(outputs[i]))
            gpuc_rules_image(r, gpuc_schedule_stage(r->s, op->outputs[0]));
        else if (has_loops(op))
            reduce(r, op->outputs[0], op->outputs[0]);
        else if (anchor)
            reduce(r, anchor->outputs[0], op->outputs[0]);
        else
            gpuc_rules_injective_output(r, gpuc_schedule_stage(r->s, op->outputs[0]));
    }
}

/* Rules have room for the loops of an operator. */
static void need_few_loops(gpuc_ctx *ctx, const gpuc_ptrs *ops)
{
    for (size_t i = 0; i < ops->count; i++) {
        const gpuc_te_op *op = ops->at[i];
        if (op->num_axes + op->num_reduce > GPUC_TOPI_MAX_DIMS)
            gpuc_raise(ctx, GPUC_UNSUPPORTED,
                       "'%s' has %d axes and %d that it reduces over; default schedules are for up to %d "
                       "together: fuse "
                       "dimensions by reshape, or schedule it by hand",
                       op->name, op->num_axes, op->num_reduce, GPUC_TOPI_MAX_DIMS);
    }
}

gpuc_schedule *gpuc_topi_schedule(gpuc_ctx *ctx, const gpuc_target *target, gpuc_knobs *knobs,
                                  int num_outputs, gpuc_tensor *const *outputs)
{
    gpuc_rules r = gpuc_rules_of(ctx, target, knobs);
    r.s = gpuc_schedule_create(ctx, num_outputs, outputs);
    gpuc_ptrs ops = {0};
    gpuc_te_post_order(ctx, num_outputs, outputs, &ops);
    need_few_loops(ctx, &ops);
    bool image = num_outputs == 1 && gpuc_rules_is_image(outputs[0]);
    gpuc_te_op *anchor = image ? NULL : find_anchor(ctx, &ops, num_outputs, outputs);
    if (image || anchor || num_outputs > 1 || !gpuc_rules_rows(&r, &ops, outputs[0]))
        schedule_stages(&r, &ops, anchor, num_outputs, outputs);
    for (int i = 0; i < num_outputs; i++) store_past_caches(&r, outputs[i]);
    return r.s;
}
