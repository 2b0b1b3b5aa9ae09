/* SPDX-License-Identifier: Apache-2.0 */
/* Declares intrinsics: checks the pattern and its parts, and finds how its tensors are read. */
#include <string.h>

#include "schedule/internal.h"

typedef struct declare {
    gpuc_ctx *ctx;
    gpuc_analyzer *analyzer;
    gpuc_tensor_intrin *intrin;
} declare;

#define FAIL(d, ...)                                                                                         \
    gpuc_raise((d)->ctx, GPUC_INVALID_ARGUMENT, "intrinsic '%s': %s", (d)->intrin->name,                     \
               gpuc_ctx_printf((d)->ctx, __VA_ARGS__))

/* ---- Reads ------------------------------------------------------------------------------------------ */

static gpuc_tensor_operand *input_of(const declare *d, const gpuc_tir_read_node *r)
{
    for (int i = 0; i < d->intrin->num_inputs; i++)
        if (d->intrin->inputs[i].tensor == r->tensor) return &d->intrin->inputs[i];
    FAIL(d, "its pattern reads '%s', which is none of its inputs", r->tensor->name);
}

/* An axis of one iteration is always 0, so that no dimension is read along it. */
static void take_read(const declare *d, gpuc_expr e)
{
    const gpuc_tir_read_node *r = gpuc_as_read(e);
    gpuc_tensor_operand *t = input_of(d, r);
    gpuc_tensor_intrin_read *read = gpuc_new(d->ctx, gpuc_tensor_intrin_read);
    int rank = gpuc_tensor_intrin_rank(d->intrin);
    gpuc_expr vars[GPUC_TENSOR_AXES], scale[GPUC_TENSOR_AXES], rest;
    read->read = e;
    for (int x = 0; x < rank; x++) vars[x] = gpuc_tensor_intrin_axis(d->intrin, x)->var;
    for (int k = 0; k < r->n; k++) {
        gpuc_expr at = gpuc_arith_simplify(d->analyzer, r->index[k]);
        bool plain = gpuc_arith_linear(d->analyzer, at, rank, vars, scale, &rest) &&
                     gpuc_expr_is_int(rest, &read->offset[k]);
        for (int x = 0; plain && x < rank; x++) {
            plain = gpuc_expr_is_int(scale[x], &read->scale[k][x]);
            if (gpuc_tir_is_const(gpuc_tensor_intrin_axis(d->intrin, x)->extent, 1)) read->scale[k][x] = 0;
        }
        if (!plain)
            FAIL(d, "its pattern reads '%s' at %s in dimension %d, which is no sum of multiples of its axes",
                 r->tensor->name, gpuc_tir_short_text(d->ctx, r->index[k]), k);
    }
    gpuc_ptrs_push(d->ctx, &t->reads, read);
}

static bool on_node(gpuc_expr e, void *arg)
{
    if (e->kind == GPUC_EXPR_READ) take_read(arg, e);
    return true;
}

/* Whether all other dimensions that this read has along the axis are known. */
static bool gives(const gpuc_tensor_intrin_read *read, int ndim, const bool *known, int dim, int axis)
{
    if (read->scale[dim][axis] == 0) return false;
    for (int k = 0; k < ndim; k++)
        if (k != dim && read->scale[k][axis] != 0 && !known[k]) return false;
    return true;
}

static bool find_step(const gpuc_tensor_operand *t, int rank, const bool *known, int dim,
                      gpuc_tensor_step *out)
{
    for (size_t i = 0; i < t->reads.count; i++)
        for (int x = 0; x < rank; x++) {
            const gpuc_tensor_intrin_read *read = t->reads.at[i];
            if (!gives(read, t->tensor->ndim, known, dim, x)) continue;
            *out = (gpuc_tensor_step){.dim = dim, .axis = x, .read = read};
            return true;
        }
    return false;
}

/* A dimension that is read at 0 only needs no step. */
static bool is_first_only(const gpuc_tensor_operand *t, int rank, int dim)
{
    for (size_t i = 0; i < t->reads.count; i++) {
        const gpuc_tensor_intrin_read *read = t->reads.at[i];
        if (read->offset[dim]) return false;
        for (int x = 0; x < rank; x++)
            if (read->scale[dim][x]) return false;
    }
    return true;
}

static void take_steps(const declare *d, gpuc_tensor_operand *t)
{
    bool known[GPUC_TENSOR_AXES] = {false}, more = true;
    int rank = gpuc_tensor_intrin_rank(d->intrin);
    while (more) {
        more = false;
        for (int k = 0; k < t->tensor->ndim; k++) {
            if (known[k] || !find_step(t, rank, known, k, &t->steps[t->num_steps])) continue;
            t->num_steps++;
            known[k] = more = true;
        }
    }
    for (int k = 0; k < t->tensor->ndim; k++)
        if (!known[k] && !is_first_only(t, rank, k))
            FAIL(d, "dimension %d of '%s' must be read at an axis of its own", k, t->tensor->name);
}

static void take_output(const declare *d)
{
    gpuc_tensor_operand *t = &d->intrin->output;
    gpuc_tensor_intrin_read *read = gpuc_new(d->ctx, gpuc_tensor_intrin_read);
    t->tensor = d->intrin->pattern->outputs[0];
    for (int k = 0; k < t->tensor->ndim; k++)
        read->scale[k][k] = !gpuc_tir_is_const(gpuc_tensor_intrin_axis(d->intrin, k)->extent, 1);
    gpuc_ptrs_push(d->ctx, &t->reads, read);
    take_steps(d, t);
}

/* ---- The pattern ------------------------------------------------------------------------------------ */

static gpuc_expr name_read(gpuc_tir_mapper *m, gpuc_expr e)
{
    return e->kind == GPUC_EXPR_READ ? gpuc_var(m->ctx, "read", e->dtype) : gpuc_tir_map_children(m, e);
}

static void check_value(const declare *d, gpuc_expr e)
{
    gpuc_tir_mapper m;
    if (!e) return;
    gpuc_tir_mapper_init(&m, d->ctx, name_read, NULL);
    gpuc_expr plain = gpuc_tir_map(&m, e);
    for (int x = 0; x < gpuc_tensor_intrin_rank(d->intrin); x++)
        if (gpuc_tir_uses_var(d->ctx, plain, gpuc_tensor_intrin_axis(d->intrin, x)->var))
            FAIL(d, "its pattern uses the axis '%s' as a value; give it as a tensor",
                 gpuc_schedule_iter_name(gpuc_tensor_intrin_axis(d->intrin, x)));
}

static void check_body(const declare *d, gpuc_expr body)
{
    if (body->kind != GPUC_EXPR_REDUCE) {
        check_value(d, body);
        return;
    }
    const gpuc_tir_reduce_node *r = gpuc_as_reduce(body);
    for (int i = 0; i < r->reducer->count; i++) check_value(d, r->source[i]);
    check_value(d, r->condition);
}

static void take_pattern(const declare *d)
{
    const gpuc_te_op *p = d->intrin->pattern;
    int64_t extent;
    if (p->kind != GPUC_TE_COMPUTE || gpuc_tensor_intrin_rank(d->intrin) < 1 ||
        gpuc_tensor_intrin_rank(d->intrin) > GPUC_TENSOR_AXES)
        FAIL(d, "its pattern must be a compute of 1 to %d axes", GPUC_TENSOR_AXES);
    for (int i = 0; i < gpuc_tensor_intrin_rank(d->intrin); i++)
        if (!gpuc_expr_is_int(gpuc_tensor_intrin_axis(d->intrin, i)->extent, &extent) || extent < 1)
            FAIL(d, "the extent of axis '%s' is not constant, or below 1",
                 gpuc_schedule_iter_name(gpuc_tensor_intrin_axis(d->intrin, i)));
    for (int i = 0; i < d->intrin->num_inputs; i++) {
        const gpuc_tensor *in = d->intrin->inputs[i].tensor;
        if (in->op->kind != GPUC_TE_PLACEHOLDER || in->view || in->ndim > GPUC_TENSOR_AXES)
            FAIL(d, "input %d is no plain placeholder of at most %d dimensions", i, GPUC_TENSOR_AXES);
        for (int k = 0; k < i; k++)
            if (d->intrin->inputs[k].tensor == in) FAIL(d, "inputs %d and %d are the same", k, i);
    }
    for (int i = 0; i < p->num_outputs; i++) {
        check_body(d, p->bodies[i]);
        if (i == 0 || p->bodies[i]->kind != GPUC_EXPR_REDUCE) /* parts of a reduction have the same values */
            gpuc_tir_visit(d->ctx, p->bodies[i], on_node, (void *)(uintptr_t)d);
    }
    for (int i = 0; i < d->intrin->num_inputs; i++) {
        gpuc_tensor_operand *t = &d->intrin->inputs[i];
        if (t->reads.count == 0) FAIL(d, "its pattern does not read '%s'", t->tensor->name);
        take_steps(d, t);
    }
    take_output(d);
}

static void check_parts(const declare *d)
{
    const gpuc_tensor_parts *p = &d->intrin->parts;
    bool reduces = gpuc_schedule_op_is_reduction(d->intrin->pattern);
    if (reduces ? !p->body && !p->update : !p->body)
        FAIL(d, "it has no body%s", reduces ? ", and no update" : "");
    if (!reduces && (p->init || p->update || p->finalise))
        FAIL(d, "its pattern is no reduction, so that there is nothing to %s",
             p->init     ? "initialise"
             : p->update ? "update"
                         : "finalise");
    if (!p->update && (p->init || p->finalise))
        FAIL(d, "a part that %s needs an update", p->init ? "initialises" : "finalises");
}

gpuc_tensor_intrin *gpuc_tensor_intrin_declare_parts(gpuc_ctx *ctx, const char *name, gpuc_tensor *pattern,
                                                     int num_inputs, gpuc_tensor *const *inputs,
                                                     const gpuc_tensor_parts *parts)
{
    if (!name || !parts || (num_inputs > 0 && !inputs))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "declaring an intrinsic: its %s is NULL",
                   !name    ? "name"
                   : !parts ? "list of parts"
                            : "list of inputs");
    if (num_inputs < 0) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "intrinsic '%s': %d inputs", name, num_inputs);
    gpuc_te_need_tensor(ctx, pattern, gpuc_ctx_printf(ctx, "the pattern of intrinsic '%s'", name));
    gpuc_tensor_intrin *t = gpuc_new(ctx, gpuc_tensor_intrin);
    *t = (gpuc_tensor_intrin){.name = gpuc_ctx_strdup(ctx, name),
                              .pattern = pattern->op,
                              .num_inputs = num_inputs,
                              .inputs = gpuc_new_array(ctx, gpuc_tensor_operand, num_inputs),
                              .parts = *parts};
    for (int i = 0; i < num_inputs; i++)
        t->inputs[i].tensor =
            gpuc_te_need_tensor(ctx, inputs[i], gpuc_ctx_printf(ctx, "input %d of intrinsic '%s'", i, name));
    const declare d = {.ctx = ctx, .analyzer = gpuc_arith_analyzer_create(ctx), .intrin = t};
    take_pattern(&d);
    check_parts(&d);
    return t;
}

/* ---- One part --------------------------------------------------------------------------------------- */

typedef struct one_part {
    gpuc_tensor_emit emit;
    void *arg;
} one_part;

static gpuc_stmt emit_one(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                          const gpuc_tensor_region *const *out, void *arg)
{
    const one_part *p = arg;
    return p->emit(ctx, in, out[0], p->arg);
}

gpuc_tensor_intrin *gpuc_tensor_intrin_declare(gpuc_ctx *ctx, const char *name, gpuc_tensor *pattern,
                                               int num_inputs, gpuc_tensor *const *inputs,
                                               gpuc_tensor_emit emit, void *arg)
{
    if (!name || !emit)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "declaring an intrinsic: its %s is NULL",
                   name ? "emit" : "name");
    gpuc_te_need_tensor(ctx, pattern, gpuc_ctx_printf(ctx, "the pattern of intrinsic '%s'", name));
    if (pattern->op->num_outputs != 1)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "intrinsic '%s': its pattern has %d outputs; gpuc_tensor_intrin_declare_parts takes it",
                   name, pattern->op->num_outputs);
    one_part *p = gpuc_new(ctx, one_part);
    *p = (one_part){emit, arg};
    bool reduces = gpuc_schedule_op_is_reduction(pattern->op);
    return gpuc_tensor_intrin_declare_parts(ctx, name, pattern, num_inputs, inputs,
                                            &(gpuc_tensor_parts){.body = reduces ? NULL : emit_one,
                                                                 .update = reduces ? emit_one : NULL,
                                                                 .arg = p});
}
