/* SPDX-License-Identifier: Apache-2.0 */
/* The pattern of a stage's innermost loops is its own definition, in which each axis is the sum of the loops that it was
 * split into; the others are 0. The parts run it element by element, into accumulators of their own. */
#include "random_intrin.h"

#include <string.h>

#include "schedule/internal.h"

enum { MAX_LOOPS = 8, MAX_READS = 16, MAX_OUTPUTS = 4 };

typedef struct source {
    const gpuc_tensor *from;
    gpuc_tensor *input;
    gpuc_expr min[GPUC_TENSOR_AXES]; /* of the indices */
} source;

typedef struct maker {
    gpuc_tir_mapper m;
    gpuc_ctx *ctx;
    const gpuc_te_op *op;
    unsigned kind;
    gpuc_analyzer *a;
    int n, num_data, num_sources;
    gpuc_iter *axes[MAX_LOOPS]; /* of the pattern */
    gpuc_expr with[MAX_LOOPS];  /* for each axis of the op, in terms of the pattern's */
    source sources[MAX_READS];
    const gpuc_te_op *pattern;
} maker;

/* ---- The pattern ------------------------------------------------------------------------------------ */

static GPUC_NORETURN void refuse(gpuc_ctx *ctx, const char *why)
{
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "no pattern: %s", why);
}

static gpuc_expr replaced(maker *m, gpuc_expr e)
{
    const gpuc_te_op *op = m->op;
    gpuc_expr vars[2 * GPUC_TENSOR_AXES];
    int n = op->num_axes + op->num_reduce;
    if (n > MAX_LOOPS) refuse(m->ctx, "too many axes");
    for (int i = 0; i < n; i++)
        vars[i] = i < op->num_axes ? op->axes[i]->var : op->reduce[i - op->num_axes]->var;
    return gpuc_tir_substitute(m->ctx, e, n, vars, m->with);
}

static void span_of(const maker *m, gpuc_expr e, gpuc_expr *min, gpuc_expr *max)
{
    gpuc_expr vars[MAX_LOOPS], scale[MAX_LOOPS], rest;
    gpuc_ctx *ctx = m->ctx;
    for (int i = 0; i < m->n; i++) vars[i] = m->axes[i]->var;
    if (!gpuc_arith_linear(m->a, gpuc_arith_simplify(m->a, e), m->n, vars, scale, &rest))
        refuse(ctx, "an index is not linear");
    *min = *max = rest;
    for (int i = 0; i < m->n; i++) {
        int64_t by;
        if (!gpuc_expr_is_int(scale[i], &by)) refuse(ctx, "a distance is not constant");
        gpuc_expr last = gpuc_mul(ctx, scale[i], gpuc_sub(ctx, m->axes[i]->extent, gpuc_int(ctx, 1)));
        gpuc_expr *end = by < 0 ? min : max;
        *end = gpuc_arith_simplify(m->a, gpuc_add(ctx, *end, last));
    }
}

static bool find_read(gpuc_expr e, void *arg)
{
    gpuc_ptrs *reads = arg;
    if (e->kind == GPUC_EXPR_READ) gpuc_ptrs_push((gpuc_ctx *)(uintptr_t)e->ctx, reads, (void *)(uintptr_t)e);
    return true;
}

/* An input for each tensor, just as large as the reads need. */
static void make_source(maker *m, const gpuc_tensor *t, const gpuc_ptrs *reads)
{
    gpuc_ctx *ctx = m->ctx;
    source *s = &m->sources[m->num_sources];
    gpuc_expr shape[GPUC_TENSOR_AXES];
    if (t->ndim > GPUC_TENSOR_AXES) refuse(ctx, "too many dimensions");
    for (int d = 0; d < t->ndim; d++) {
        gpuc_expr max = NULL;
        s->min[d] = NULL;
        for (size_t i = 0; i < reads->count; i++) {
            const gpuc_tir_read_node *r = gpuc_as_read(reads->at[i]);
            gpuc_expr from, to;
            if (r->tensor != t) continue;
            span_of(m, replaced(m, r->index[d]), &from, &to);
            s->min[d] = s->min[d] ? gpuc_min(ctx, s->min[d], from) : from;
            max = max ? gpuc_max(ctx, max, to) : to;
        }
        s->min[d] = gpuc_arith_simplify(m->a, s->min[d]);
        shape[d] = gpuc_arith_simplify(m->a, gpuc_add(ctx, gpuc_sub(ctx, max, s->min[d]), gpuc_int(ctx, 1)));
        int64_t extent;
        if (!gpuc_expr_is_int(shape[d], &extent))
            refuse(ctx, "places that it reads are not at known distances");
    }
    s->from = t;
    s->input = gpuc_te_placeholder(ctx, t->name, t->ndim, shape, t->dtype);
    m->num_sources++;
}

static gpuc_expr to_pattern(gpuc_tir_mapper *mapper, gpuc_expr e)
{
    maker *m = (maker *)mapper;
    if (e->kind != GPUC_EXPR_READ) return gpuc_tir_map_children(mapper, e);
    const gpuc_tir_read_node *r = gpuc_as_read(e);
    const source *s = m->sources;
    while (s->from != r->tensor) s++;
    gpuc_expr index[GPUC_TENSOR_AXES];
    for (int d = 0; d < r->n; d++)
        index[d] = gpuc_arith_simplify(m->a, gpuc_sub(m->ctx, replaced(m, r->index[d]), s->min[d]));
    return gpuc_te_read(m->ctx, s->input, r->n, index);
}

static gpuc_expr pattern_value(maker *m, gpuc_expr e)
{
    return e ? replaced(m, gpuc_tir_map(&m->m, e)) : NULL;
}

static gpuc_tensor *make_pattern(maker *m)
{
    gpuc_ctx *ctx = m->ctx;
    const gpuc_te_op *op = m->op;
    gpuc_expr bodies[MAX_OUTPUTS], values[MAX_OUTPUTS];
    gpuc_tensor *outs[MAX_OUTPUTS];
    gpuc_ptrs reads = {0};
    if (op->num_outputs > MAX_OUTPUTS) refuse(ctx, "too many outputs");
    for (int i = 0; i < op->num_outputs; i++) gpuc_tir_visit(ctx, op->bodies[i], find_read, &reads);
    for (int i = 0; i < op->num_inputs && i < MAX_READS; i++) make_source(m, op->inputs[i], &reads);
    gpuc_tir_mapper_init(&m->m, ctx, to_pattern, NULL);
    if (gpuc_schedule_op_is_reduction(op)) {
        const gpuc_tir_reduce_node *r = gpuc_as_reduce(op->bodies[0]);
        if (m->n == m->num_data) refuse(ctx, "nothing to reduce over");
        for (int i = 0; i < op->num_outputs; i++) values[i] = pattern_value(m, r->source[i]);
        gpuc_te_reduce_n(ctx, r->reducer, values, m->n - m->num_data, m->axes + m->num_data,
                         pattern_value(m, r->condition), bodies);
    } else {
        for (int i = 0; i < op->num_outputs; i++) bodies[i] = pattern_value(m, op->bodies[i]);
    }
    gpuc_te_compute_n(ctx, "pattern", m->num_data, m->axes, op->num_outputs, bodies, outs);
    return outs[0];
}

/* Axes of the pattern, those of the output first, and what the op's axes are in terms of them. */
static void make_axes(maker *m, const gpuc_stage *st, int at)
{
    gpuc_ctx *ctx = m->ctx;
    const gpuc_te_op *op = m->op;
    gpuc_map dom, value;
    gpuc_map_init(&dom, ctx);
    gpuc_map_init(&value, ctx);
    for (int i = 0; i < op->num_axes + op->num_reduce; i++) {
        gpuc_iter *axis = i < op->num_axes ? op->axes[i] : op->reduce[i - op->num_axes];
        gpuc_range *r = gpuc_new(ctx, gpuc_range);
        *r = (gpuc_range){axis->min, axis->extent};
        gpuc_map_set(&dom, axis, r);
    }
    gpuc_schedule_pass_down_domain(m->a, ctx, st, &dom);
    for (int i = 0; i < at; i++) gpuc_map_set(&value, st->leaves[i], (void *)(uintptr_t)gpuc_int(ctx, 0));
    for (int reduces = 0; reduces < 2; reduces++)
        for (int i = at; i < st->num_leaves; i++) {
            if ((st->leaves[i]->kind == GPUC_ITER_REDUCE) != reduces) continue;
            const char *name = gpuc_schedule_iter_name(st->leaves[i]);
            gpuc_expr extent = st->leaves[i]->extent;
            gpuc_iter *axis =
                reduces ? gpuc_te_reduce_axis(ctx, extent, name) : gpuc_te_axis(ctx, extent, name);
            gpuc_map_set(&value, st->leaves[i], (void *)(uintptr_t)axis->var);
            m->axes[m->n++] = axis;
            m->num_data += !reduces;
        }
    gpuc_schedule_pass_up_value(ctx, st, &dom, &value);
    for (int i = 0; i < op->num_axes + op->num_reduce && i < MAX_LOOPS; i++) {
        const gpuc_iter *axis = i < op->num_axes ? op->axes[i] : op->reduce[i - op->num_axes];
        m->with[i] = gpuc_arith_simplify(m->a, gpuc_map_get(&value, axis));
    }
}

/* ---- The parts -------------------------------------------------------------------------------------- */

typedef struct loader {
    gpuc_tir_mapper m;
    const maker *of;
    const gpuc_tensor_region *const *in;
} loader;

static gpuc_expr load_region(gpuc_tir_mapper *mapper, gpuc_expr e)
{
    const loader *l = (loader *)mapper;
    e = gpuc_tir_map_children(mapper, e);
    if (e->kind != GPUC_EXPR_READ) return e;
    int i = 0;
    while (l->of->sources[i].input != gpuc_as_read(e)->tensor) i++;
    return gpuc_tensor_region_load_at(mapper->ctx, l->in[i], gpuc_as_read(e)->index);
}

static gpuc_expr value_of(const maker *m, const gpuc_tensor_region *const *in, gpuc_expr e)
{
    loader l = {.of = m, .in = in};
    gpuc_tir_mapper_init(&l.m, m->ctx, load_region, NULL);
    return gpuc_tir_map(&l.m, e);
}

static const gpuc_iter *axis_at(const maker *m, int i)
{
    return i < m->num_data ? m->pattern->axes[i] : m->pattern->reduce[i - m->num_data];
}

/* The body in loops over axes first to before end of the pattern, whose variables are made anew. */
static gpuc_stmt in_loops(const maker *m, int first, int end, gpuc_stmt body)
{
    gpuc_expr vars[MAX_LOOPS], with[MAX_LOOPS];
    for (int i = first; i < end; i++) {
        vars[i] = axis_at(m, i)->var;
        with[i] = gpuc_var(m->ctx, gpuc_as_var(vars[i])->name, GPUC_INDEX);
    }
    body = gpuc_tir_substitute_stmt(m->ctx, body, end - first, vars + first, with + first);
    for (int i = end - 1; i >= first; i--)
        body = gpuc_tir_for_(m->ctx, with[i], gpuc_int(m->ctx, 0), axis_at(m, i)->extent, GPUC_LOOP_SERIAL,
                             GPUC_THREAD_NONE, body);
    return body;
}

static const gpuc_expr *element(const maker *m)
{
    gpuc_expr *index = gpuc_new_array(m->ctx, gpuc_expr, m->num_data + 1);
    for (int i = 0; i < m->num_data; i++) index[i] = m->pattern->axes[i]->var;
    return index;
}

static gpuc_expr negative(const maker *m, gpuc_expr e)
{
    if (!(m->kind & RANDOM_INTRIN_FINALISE)) return e;
    return gpuc_sub(m->ctx, gpuc_imm_int(m->ctx, e->dtype, 0), e);
}

static gpuc_stmt plain_body(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                            const gpuc_tensor_region *const *out, void *arg)
{
    const maker *m = arg;
    gpuc_stmt all = NULL;
    for (int i = 0; i < m->pattern->num_outputs; i++) {
        gpuc_expr value = value_of(m, in, m->pattern->bodies[i]);
        gpuc_stmt store = gpuc_tensor_region_store_at(ctx, out[i], element(m), value);
        all = gpuc_tir_seq2(ctx, all, in_loops(m, 0, m->num_data, store));
    }
    return all;
}

static const gpuc_tir_reduce_node *reduction(const maker *m)
{
    return gpuc_as_reduce(m->pattern->bodies[0]);
}

static gpuc_stmt init_part(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                           const gpuc_tensor_region *const *out, void *arg)
{
    const maker *m = arg;
    gpuc_stmt all = NULL;
    if (in) refuse(ctx, "init has inputs");
    for (int i = 0; i < m->pattern->num_outputs; i++) {
        gpuc_expr value = negative(m, reduction(m)->reducer->identity[i]);
        all = gpuc_tir_seq2(ctx, all, gpuc_tensor_region_store_at(ctx, out[i], element(m), value));
    }
    return in_loops(m, 0, m->num_data, all);
}

static gpuc_stmt finalise_part(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                               const gpuc_tensor_region *const *out, void *arg)
{
    const maker *m = arg;
    gpuc_stmt all = NULL;
    if (in) refuse(ctx, "finalise has inputs");
    for (int i = 0; i < m->pattern->num_outputs; i++) {
        gpuc_expr value = negative(m, gpuc_tensor_region_load_at(ctx, out[i], element(m)));
        all = gpuc_tir_seq2(ctx, all, gpuc_tensor_region_store_at(ctx, out[i], element(m), value));
    }
    return in_loops(m, 0, m->num_data, all);
}

/* A vector of the results at a time, if the last dimension is short. */
static gpuc_stmt store_results(const maker *m, const gpuc_tensor_region *out, const gpuc_tir_buffer *sums)
{
    gpuc_ctx *ctx = m->ctx;
    int last = m->num_data - 1;
    int64_t lanes = 1;
    if (last >= 0 && m->kind & RANDOM_INTRIN_VECTORS)
        gpuc_expr_is_int(m->pattern->axes[last]->extent, &lanes);
    const gpuc_expr *index = element(m);
    if (lanes < 2 || lanes > 4)
        return in_loops(m, 0, m->num_data,
                        gpuc_tensor_region_store_at(
                            ctx, out, index, negative(m, gpuc_tir_load(ctx, sums, sums->ndim, index))));
    gpuc_expr parts[4], at[MAX_LOOPS];
    memcpy(at, index, sizeof *at * (size_t)m->num_data);
    for (int k = 0; k < lanes; k++) {
        at[last] = gpuc_int(ctx, k);
        parts[k] = negative(m, gpuc_tir_load(ctx, sums, sums->ndim,
                                             gpuc_ctx_memdup(ctx, at, sizeof *at * (size_t)m->num_data)));
    }
    at[last] = gpuc_int(ctx, 0);
    gpuc_expr vector = gpuc_tir_vector(ctx, (int)lanes, parts);
    return in_loops(m, 0, last, gpuc_tensor_region_store_at(ctx, out, at, vector));
}

/* Accumulators begin with what is there, or with the identity. */
static gpuc_stmt accumulate(const maker *m, const gpuc_tensor_region *const *in,
                            const gpuc_tensor_region *const *out, bool anew)
{
    gpuc_ctx *ctx = m->ctx;
    const gpuc_tir_reduce_node *r = reduction(m);
    int count = r->reducer->count;
    const gpuc_tir_buffer *sums[MAX_OUTPUTS];
    gpuc_expr have[MAX_OUTPUTS] = {0}, more[MAX_OUTPUTS] = {0}, joined[MAX_OUTPUTS], names[MAX_OUTPUTS];
    gpuc_stmt before = NULL, loop = NULL, after = NULL;
    for (int i = 0; i < count; i++) {
        gpuc_dtype t = m->pattern->outputs[i]->dtype;
        sums[i] = gpuc_tir_buffer_make(ctx, "sums", t, m->num_data, m->pattern->outputs[i]->shape,
                                       GPUC_SCOPE_LOCAL);
        gpuc_expr first =
            anew ? r->reducer->identity[i] : negative(m, gpuc_tensor_region_load_at(ctx, out[i], element(m)));
        before = gpuc_tir_seq2(ctx, before, gpuc_tir_store(ctx, sums[i], m->num_data, element(m), first));
        have[i] = gpuc_tir_load(ctx, sums[i], m->num_data, element(m));
        more[i] = value_of(m, in, r->source[i]);
    }
    gpuc_te_combine(ctx, r->reducer, have, more, joined);
    for (int i = 0; i < count; i++) {
        names[i] = gpuc_var(ctx, "joined", joined[i]->dtype);
        loop = gpuc_tir_seq2(ctx, loop, gpuc_tir_store(ctx, sums[i], m->num_data, element(m), names[i]));
        after = gpuc_tir_seq2(ctx, after, store_results(m, out[i], sums[i]));
    }
    for (int i = count; i-- > 0;) loop = gpuc_tir_let(ctx, names[i], joined[i], loop);
    if (r->condition) loop = gpuc_tir_if_(ctx, value_of(m, in, r->condition), loop, NULL);
    loop = in_loops(m, m->num_data, m->n, in_loops(m, 0, m->num_data, loop));
    gpuc_stmt all = gpuc_tir_seq2(ctx, in_loops(m, 0, m->num_data, before), gpuc_tir_seq2(ctx, loop, after));
    for (int i = count; i-- > 0;) all = gpuc_tir_alloc(ctx, sums[i], all);
    return all;
}

static gpuc_stmt update_part(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                             const gpuc_tensor_region *const *out, void *arg)
{
    (void)ctx;
    return accumulate(arg, in, out, false);
}

static gpuc_stmt whole_body(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                            const gpuc_tensor_region *const *out, void *arg)
{
    maker plain = *(const maker *)arg;
    (void)ctx;
    plain.kind &= ~(unsigned)RANDOM_INTRIN_FINALISE;
    return accumulate(&plain, in, out, true);
}

const gpuc_tensor_intrin *random_intrin_make(gpuc_ctx *ctx, const gpuc_stage *st, int at, unsigned kind)
{
    maker *m = gpuc_new(ctx, maker);
    gpuc_tensor *inputs[MAX_READS];
    *m = (maker){.ctx = ctx, .op = st->op, .kind = kind, .a = gpuc_arith_analyzer_create(ctx)};
    if (st->op->kind != GPUC_TE_COMPUTE || st->num_leaves - at > MAX_LOOPS || st->op->num_inputs > MAX_READS)
        refuse(ctx, "too large");
    make_axes(m, st, at);
    gpuc_tensor *pattern = make_pattern(m);
    m->pattern = pattern->op;
    for (int i = 0; i < m->num_sources; i++) inputs[i] = m->sources[i].input;
    gpuc_tensor_parts parts = {.arg = m};
    if (gpuc_schedule_op_is_reduction(m->op)) {
        bool negates = kind & RANDOM_INTRIN_FINALISE;
        for (int i = 0; i < pattern->op->num_outputs; i++)
            negates &= !gpuc_is_bool(pattern->op->outputs[i]->dtype);
        if (!negates) m->kind &= ~(unsigned)RANDOM_INTRIN_FINALISE;
        parts.update = update_part;
        if (kind & RANDOM_INTRIN_BODY) parts.body = whole_body;
        if (kind & RANDOM_INTRIN_INIT || negates) parts.init = init_part;
        if (negates) parts.finalise = finalise_part;
    } else {
        parts.body = plain_body;
    }
    return gpuc_tensor_intrin_declare_parts(ctx, "own", pattern, m->num_sources, inputs, &parts);
}
