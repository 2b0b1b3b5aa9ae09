/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the fused Relay program into nodes, values and storage, and those into steps of the executable. */
#include "compile/graph.h"

#include <ctype.h>
#include <string.h>

#include "abi/scope.h"
#include "base/size.h"
#include "compile/image.h"
#include "relay_pass/common/util.h"

typedef struct builder {
    gpuc_graph *g;
    gpuc_ctx *ctx;
    gpuc_map values;     /* relay expr -> uint32_t * (its tensors' values) */
    gpuc_strmap by_key;  /* workload -> gpuc_graph_function */
    gpuc_map by_data[2]; /* by device: constant data -> gpuc_storage */
    gpuc_map helped;     /* storage -> the one on the other device that has a copy of its value */
    gpuc_map images;     /* relay expr -> itself, of inputs and outputs that are images for kernels */
} builder;

static gpuc_storage *new_storage(builder *b, gpuc_slot_kind kind, uint32_t index, gpuc_expr bytes)
{
    gpuc_storage *s = gpuc_new(b->ctx, gpuc_storage);
    *s = (gpuc_storage){.kind = kind, .index = index, .bytes = bytes, .first = -1, .last = -1};
    gpuc_ptrs_push(b->ctx, &b->g->storages, s);
    return s;
}

static uint32_t new_value(builder *b, const char *name, const gpuc_rtype *type, gpuc_storage *storage)
{
    gpuc_graph_value *v = gpuc_new(b->ctx, gpuc_graph_value);
    *v = (gpuc_graph_value){.name = name, .type = type, .storage = storage};
    gpuc_ptrs_push(b->ctx, &b->g->values, v);
    return (uint32_t)b->g->values.count - 1;
}

static gpuc_graph_value *value_at(gpuc_graph *g, uint32_t i)
{
    return g->values.at[i];
}

static gpuc_expr padded_bytes(builder *b, const gpuc_rtype *t)
{
    gpuc_sizes *s = &b->g->sizes;
    return gpuc_compile_sizes_upper(s, gpuc_compile_sizes_padded(s, gpuc_compile_sizes_bytes(s, &t->tensor)));
}

static void set_value(builder *b, gpuc_rexpr *e, uint32_t value)
{
    gpuc_map_set(&b->values, e, gpuc_ctx_memdup(b->ctx, &value, sizeof value));
}

static gpuc_storage *add_weight(builder *b, gpuc_rexpr *e, uint32_t device)
{
    gpuc_graph *g = b->g;
    const gpuc_rconstant *c = gpuc_as_rconstant(e);
    gpuc_storage *known = gpuc_map_get(&b->by_data[device], c->data);
    if (known) return known;
    const gpuc_storage *other = gpuc_map_get(&b->by_data[!device], c->data);
    gpuc_graph_weight *w = gpuc_new(b->ctx, gpuc_graph_weight);
    w->name = *e->source ? e->source : gpuc_ctx_printf(b->ctx, "weight%zu", g->weights.count);
    w->constant = c;
    w->offset = gpuc_align_up(g->weight_bytes, GPUC_SLOT_ALIGN);
    if (other)
        w->offset = ((gpuc_graph_weight *)g->weights.at[other->index])->offset;
    else
        g->weight_bytes = w->offset + c->data->size;
    gpuc_storage *s = new_storage(b, GPUC_SLOT_WEIGHT, (uint32_t)g->weights.count, padded_bytes(b, e->type));
    s->device = device;
    w->value = new_value(b, w->name, e->type, s);
    gpuc_map_set(&b->by_data[device], c->data, s);
    gpuc_ptrs_push(b->ctx, &g->weights, w);
    return s;
}

static gpuc_graph_node *add_node(builder *b, const char *name, int num_inputs, int num_outputs)
{
    gpuc_graph_node *n = gpuc_new(b->ctx, gpuc_graph_node);
    *n = (gpuc_graph_node){.name = name,
                           .source = "",
                           .function = GPUC_NO_INDEX,
                           .num_inputs = num_inputs,
                           .num_outputs = num_outputs};
    n->values = gpuc_new_array(b->ctx, uint32_t, num_inputs + num_outputs);
    gpuc_ptrs_push(b->ctx, &b->g->nodes, n);
    return n;
}

static void add_copy(builder *b, uint32_t from, uint32_t to)
{
    gpuc_graph_node *n = add_node(b, "__copy", 1, 1);
    n->values[0] = from;
    n->values[1] = to;
}

static uint32_t get_weight(builder *b, gpuc_rexpr *e, uint32_t device)
{
    gpuc_storage *s = add_weight(b, e, device);
    const gpuc_graph_weight *w = b->g->weights.at[s->index];
    /* constants that share data may differ in shape */
    return w->constant == gpuc_as_rconstant(e) ? w->value : new_value(b, "", e->type, s);
}

/* The value of an expression, wherever it lies. */
static uint32_t get_any_value(builder *b, gpuc_rexpr *e)
{
    if (e->kind == GPUC_REXPR_CONSTANT) return get_weight(b, e, 0);
    const uint32_t *v = gpuc_map_get(&b->values, e);
    if (!v)
        gpuc_raise(b->ctx, GPUC_INTERNAL, "an expression of kind %d has no value in the graph", (int)e->kind);
    return v[0];
}

/* The value of an expression, where the device can reach it. */
static uint32_t get_value(builder *b, gpuc_rexpr *e, uint32_t device)
{
    if (e->kind == GPUC_REXPR_CONSTANT) return get_weight(b, e, device);
    uint32_t v = get_any_value(b, e);
    gpuc_storage *s = value_at(b->g, v)->storage;
    if (s->device == device) return v;
    gpuc_storage *there = gpuc_map_get(&b->helped, s);
    if (there) return new_value(b, "", e->type, there);
    there = new_storage(b, GPUC_SLOT_ARENA, 0, s->bytes);
    there->device = device;
    gpuc_map_set(&b->helped, s, there);
    uint32_t copy = new_value(b, "", e->type, there);
    add_copy(b, v, copy);
    return copy;
}

/* "conv2d_add_relu" of a primitive function: what its kernels are called. */
static const char *function_label(gpuc_ctx *ctx, const gpuc_rfunction *f)
{
    enum { MAX = 56 };
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(ctx, f->body, false, &order);
    char *label = gpuc_ctx_alloc(ctx, MAX + 32);
    size_t at = 0;
    for (size_t i = 0; i < order.count && at < MAX; i++) {
        const gpuc_op *op = gpuc_relay_call_op(order.at[i]);
        if (!op) continue;
        const char *name = strrchr(op->name, '.') ? strrchr(op->name, '.') + 1 : op->name;
        if (at) label[at++] = '_';
        for (; *name && at < MAX; name++) label[at++] = isalnum((unsigned char)*name) ? *name : '_';
    }
    return at ? label : "copy";
}

/* What tuning logs call a function: the hash of its text. */
static unsigned long long workload_of(gpuc_ctx *ctx, gpuc_buf *key, const gpuc_rfunction *f)
{
    gpuc_relay_print_key(ctx, key, (gpuc_rexpr *)f);
    return gpuc_hash_bytes(key->data, key->size, 0);
}

const char *gpuc_compile_workload(gpuc_ctx *ctx, const gpuc_rfunction *f)
{
    gpuc_buf key;
    gpuc_buf_init(&key, ctx->allocator);
    unsigned long long workload = workload_of(ctx, &key, f);
    gpuc_buf_deinit(&key);
    return gpuc_ctx_printf(ctx, "%016llx", workload);
}

static gpuc_graph_function *unique_function(builder *b, const gpuc_rfunction *f,
                                            const gpuc_relay_place *place, uint64_t images)
{
    gpuc_buf key;
    gpuc_buf_init(&key, b->ctx->allocator);
    unsigned long long workload = workload_of(b->ctx, &key, f);
    if (place)
        gpuc_buf_printf(&key, " at %d: %lld of %lld", place->axis, (long long)place->begin,
                        (long long)place->extent);
    if (images) gpuc_buf_printf(&key, " images %llx", (unsigned long long)images);
    const char *text = gpuc_ctx_strdup(b->ctx, gpuc_buf_cstr(&key));
    gpuc_buf_deinit(&key);
    gpuc_graph_function *known = gpuc_strmap_get(&b->by_key, text);
    if (known) return known;
    gpuc_graph_function *out = gpuc_new(b->ctx, gpuc_graph_function);
    out->f = f;
    out->workload = gpuc_ctx_printf(b->ctx, "%016llx", workload);
    out->placed = place != NULL;
    if (place) out->place = *place;
    out->images = images;
    out->device = gpuc_relay_pass_function_needs_fallback(b->ctx, b->g->target, f);
    b->g->uses_fallback |= out->device != 0;
    out->label = function_label(b->ctx, f);
    out->name = gpuc_ctx_printf(b->ctx, "%s_%zu", out->label, b->g->functions.count);
    gpuc_strmap_set(&b->by_key, text, out);
    gpuc_ptrs_push(b->ctx, &b->g->functions, out);
    return out;
}

/* Whether a slice keeps the first rows, a number of them that the program computes: it moves no bytes. */
static bool keeps_first_rows(const gpuc_rexpr *slice)
{
    const gpuc_rcall *c = gpuc_as_rcall(slice);
    const gpuc_tensor_type *in = gpuc_relay_tensor_type(c->args[0]), *out = gpuc_relay_tensor_type(slice);
    const gpuc_attr *begin = gpuc_attrs_find(c->attrs, "begin"),
                    *strides = gpuc_attrs_find(c->attrs, "strides");
    int axis = 0;
    while (axis < in->ndim && gpuc_tir_is_const(in->dims[axis], 1) && out->dims[axis] == in->dims[axis])
        axis++;
    if (axis == in->ndim || out->dims[axis]->kind != GPUC_EXPR_VAR) return false;
    for (int i = 0; i < in->ndim; i++)
        if (begin->ints[i] || strides->ints[i] != 1 || (i > axis && out->dims[i] != in->dims[i]))
            return false;
    return true;
}

/* A function that only gives its argument another shape. */
static bool may_be_alias(const gpuc_rfunction *f)
{
    const gpuc_op *op = gpuc_relay_call_op(f->body);
    if (!op || !gpuc_as_rcall(f->body)->n || gpuc_as_rcall(f->body)->args[0]->kind != GPUC_REXPR_VAR)
        return false;
    return op->alias || (gpuc_relay_is_op(f->body, "strided_slice") && keeps_first_rows(f->body));
}

/* It moves no bytes; nor does one that keeps its first rows. */
static bool is_alias(builder *b, const gpuc_rfunction *f, const gpuc_rcall *call)
{
    if (!call->n || !may_be_alias(f)) return false;
    return gpuc_relay_call_op(f->body)->alias ||
           (call->args[0]->kind != GPUC_REXPR_CONSTANT &&
            value_at(b->g, get_any_value(b, call->args[0]))->storage->kind == GPUC_SLOT_ARENA);
}

static uint32_t function_number(builder *b, const gpuc_graph_function *f)
{
    for (size_t i = 0; i < b->g->functions.count; i++)
        if (b->g->functions.at[i] == f) return (uint32_t)i;
    return GPUC_NO_INDEX;
}

/* The type of the tensor that a call stores into. */
static const gpuc_rtype *whole_type(gpuc_ctx *ctx, const gpuc_rtype *t, const gpuc_relay_place *place)
{
    gpuc_expr *dims = gpuc_ctx_memdup(ctx, t->tensor.dims, sizeof *dims * (size_t)t->tensor.ndim);
    dims[place->axis] = gpuc_imm_int(ctx, dims[place->axis]->dtype, place->extent);
    return gpuc_relay_rtype_tensor(ctx, t->tensor.dtype, t->tensor.ndim, dims);
}

/* A call that moves no bytes: its arguments are its result, one of another shape or several in their places. */
static void add_alias(builder *b, gpuc_graph_node *n, const gpuc_rcall *c, gpuc_rexpr *e)
{
    n->function = GPUC_NO_INDEX;
    for (int i = 0; i < c->n; i++) n->values[i] = get_any_value(b, c->args[i]);
    gpuc_storage *s = value_at(b->g, n->values[0])->storage;
    for (int i = 1; i < c->n; i++) value_at(b->g, n->values[i])->storage = s;
    n->device = s->device;
    n->values[c->n] = new_value(b, "", e->type, s);
}

/* ---- Images ---- */

/* Whether the call is of kernels of the target, with parameters of their own. */
static bool takes_images(builder *b, const gpuc_rcall *c)
{
    gpuc_relay_place place;
    return c->callee->kind == GPUC_REXPR_FUNCTION && !gpuc_relay_pass_is_joined(c) &&
           !gpuc_relay_pass_place_of(c, &place) && c->n < GPUC_IMAGE_OUTPUT &&
           !gpuc_relay_pass_function_needs_fallback(b->ctx, b->g->target, gpuc_as_rfunction(c->callee)) &&
           !may_be_alias(gpuc_as_rfunction(c->callee));
}

static bool can_be_image(gpuc_rexpr *e)
{
    const gpuc_rtype *t = e->type;
    return t->kind == GPUC_RTYPE_TENSOR &&
           !gpuc_tir_not_image(t->tensor.dtype, t->tensor.ndim, t->tensor.dims);
}

static void drop_image(builder *b, gpuc_rexpr *e)
{
    gpuc_map_set(&b->images, e, NULL);
}

/* Kernels have the components of a texel by name, and blue comes first by its place in memory. */
static bool is_image(const gpuc_strmap *images, const char *name)
{
    gpuc_image_format format = gpuc_image_of(images, name);
    return format != GPUC_IMAGE_NONE && !gpuc_image_is_bgr(format);
}

/* Whether kernels of the target can say what they write, or need not. */
static bool is_written(builder *b, const gpuc_tensor_type *t)
{
    int64_t channels;
    return b->g->target->image_any_format || t->dtype.bits == 32 ||
           (gpuc_expr_is_int(t->dims[2], &channels) && channels == 4);
}

/* Finds the inputs and outputs that all their kernels can take as images. */
static void find_images(builder *b, const gpuc_rmodule *m, const gpuc_rfunction *main_fn)
{
    gpuc_ctx *ctx = b->ctx;
    gpuc_rexpr *body = main_fn->body;
    bool tuple = body->kind == GPUC_REXPR_TUPLE;
    int n = tuple ? gpuc_as_rtuple(body)->n : 1;
    gpuc_ptrs order = {0};
    gpuc_map outputs;
    gpuc_map_init(&b->images, ctx);
    gpuc_map_init(&outputs, ctx);
    if (!b->g->target->images) return;
    for (int i = 0; i < main_fn->n; i++)
        if (is_image(&m->input_images, gpuc_as_rvar(main_fn->params[i])->name) &&
            can_be_image(main_fn->params[i]))
            gpuc_map_set(&b->images, main_fn->params[i], main_fn->params[i]);
    for (int i = 0; i < n; i++) {
        gpuc_rexpr *e = tuple ? gpuc_as_rtuple(body)->fields[i] : body;
        bool wanted = is_image(&m->output_images, gpuc_rmodule_output_name(m, i)) &&
                      e->kind == GPUC_REXPR_CALL && can_be_image(e) && is_written(b, &e->type->tensor) &&
                      takes_images(b, gpuc_as_rcall(e)) &&
                      !gpuc_compile_has_own_schedule(ctx, gpuc_as_rfunction(gpuc_as_rcall(e)->callee));
        gpuc_map_set(&b->images, e, wanted && !gpuc_map_has(&outputs, e) ? e : NULL);
        gpuc_map_set(&outputs, e, e);
    }
    gpuc_relay_post_order(ctx, body, false, &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i];
        if (e->kind != GPUC_REXPR_CALL) continue;
        const gpuc_rcall *c = gpuc_as_rcall(e);
        for (int k = 0; k < c->n; k++)
            if (!takes_images(b, c) || gpuc_map_has(&outputs, c->args[k])) drop_image(b, c->args[k]);
    }
}

static uint64_t images_of(builder *b, const gpuc_rcall *c, gpuc_rexpr *e)
{
    uint64_t bits = gpuc_map_get(&b->images, e) ? UINT64_C(1) << GPUC_IMAGE_OUTPUT : 0;
    for (int i = 0; i < c->n && i < GPUC_IMAGE_OUTPUT; i++)
        if (gpuc_map_get(&b->images, c->args[i])) bits |= UINT64_C(1) << i;
    return bits;
}

static void add_launches(builder *b, gpuc_graph_node *n, const gpuc_rcall *c, gpuc_rexpr *e)
{
    gpuc_relay_place place;
    bool placed = gpuc_relay_pass_place_of(c, &place), tuple = e->type->kind == GPUC_RTYPE_TUPLE;
    gpuc_graph_function *unique =
        unique_function(b, gpuc_as_rfunction(c->callee), placed ? &place : NULL, images_of(b, c, e));
    n->device = unique->device;
    for (int i = 0; i < c->n; i++) n->values[i] = get_value(b, c->args[i], n->device);
    n->function = function_number(b, unique);
    n->name = gpuc_ctx_printf(b->ctx, "%s#%zu", unique->name, b->g->nodes.count);
    for (int i = 0; i < n->num_outputs; i++) {
        const gpuc_rtype *t = tuple ? e->type->at[i] : e->type;
        if (placed) t = whole_type(b->ctx, t, &place);
        gpuc_storage *s = new_storage(b, GPUC_SLOT_ARENA, 0, padded_bytes(b, t));
        s->device = n->device;
        n->values[c->n + i] = new_value(b, "", t, s);
    }
}

static void add_call(builder *b, gpuc_rexpr *e)
{
    gpuc_ctx *ctx = b->ctx;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    if (c->callee->kind != GPUC_REXPR_FUNCTION)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "the graph executor runs calls of fused operators only");
    const gpuc_rfunction *f = gpuc_as_rfunction(c->callee);
    gpuc_graph_node *n = gpuc_new(ctx, gpuc_graph_node);
    n->source = e->source;
    n->num_inputs = c->n;
    n->num_outputs = e->type->kind == GPUC_RTYPE_TUPLE ? e->type->n : 1;
    n->values = gpuc_new_array(ctx, uint32_t, n->num_inputs + n->num_outputs);
    if (is_alias(b, f, c)) {
        n->name = "reshape";
        add_alias(b, n, c, e);
    } else if (gpuc_relay_pass_is_joined(c)) {
        n->name = gpuc_ctx_printf(ctx, "%s#%zu", function_label(ctx, f), b->g->nodes.count);
        add_alias(b, n, c, e);
    } else {
        add_launches(b, n, c, e);
    }
    gpuc_map_set(&b->values, e, n->values + c->n);
    gpuc_ptrs_push(ctx, &b->g->nodes, n);
}

/* An output lives where it was computed, unless that memory is an input's, a weight's or another output's. */
static void add_output(builder *b, const gpuc_rmodule *m, int i, gpuc_rexpr *e)
{
    gpuc_graph *g = b->g;
    uint32_t v = get_any_value(b, e);
    gpuc_storage *s = value_at(g, v)->storage;
    const char *name = gpuc_rmodule_output_name(m, i);
    if (s->kind == GPUC_SLOT_ARENA && s->device == 0) {
        s->kind = GPUC_SLOT_OUTPUT;
        s->index = (uint32_t)i;
        value_at(g, v)->name = name;
    } else {
        gpuc_storage *own = new_storage(b, GPUC_SLOT_OUTPUT, (uint32_t)i, padded_bytes(b, e->type));
        uint32_t copy = new_value(b, name, e->type, own);
        add_copy(b, v, copy);
        v = copy;
    }
    gpuc_ptrs_push(b->ctx, &g->outputs, g->values.at[v]);
}

/* Adds the calls below e that have no nodes yet. */
static void add_calls(builder *b, gpuc_rexpr *root)
{
    gpuc_ptrs order = {0};
    gpuc_relay_post_order(b->ctx, root, false, &order);
    for (size_t i = 0; i < order.count; i++) {
        gpuc_rexpr *e = order.at[i];
        if (gpuc_map_has(&b->values, e)) continue;
        if (e->kind == GPUC_REXPR_CALL)
            add_call(b, e);
        else if (e->kind == GPUC_REXPR_GET)
            gpuc_map_set(&b->values, e,
                         (uint32_t *)gpuc_map_get(&b->values, gpuc_as_rget(e)->tuple) +
                             gpuc_as_rget(e)->index);
    }
}

/* Adds the step that reads a size which the program computes, as early as possible: later nodes may have it
 * as an extent. */
static void add_read(builder *b, const gpuc_relay_read *r, gpuc_rexpr *number)
{
    add_calls(b, number);
    uint32_t value = get_any_value(b, number);
    gpuc_compile_sizes_add_value(&b->g->sizes, r->symbol, value, r->max);
    gpuc_graph_node *n = add_node(b, "__read", 1, 0);
    n->symbol = r->symbol;
    n->device = value_at(b->g, value)->storage->device;
    n->values[0] = value;
}

gpuc_graph *gpuc_compile_graph_create(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_target *target,
                                      const gpuc_target *fallback)
{
    gpuc_graph *g = gpuc_new(ctx, gpuc_graph);
    g->ctx = ctx;
    g->target = target;
    g->fallback = fallback;
    g->conditions = &m->conditions;
    gpuc_compile_sizes_init(ctx, &g->sizes);
    builder b = {.g = g, .ctx = ctx};
    gpuc_map_init(&b.values, ctx);
    gpuc_strmap_init(&b.by_key, ctx);
    for (int i = 0; i < 2; i++) gpuc_map_init(&b.by_data[i], ctx);
    gpuc_map_init(&b.helped, ctx);
    const gpuc_rfunction *main_fn = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"));
    gpuc_relay_pass_need_tensors(ctx, main_fn, "@main");
    for (int i = 0; i < main_fn->n; i++) {
        gpuc_rexpr *p = main_fn->params[i];
        for (int k = 0; k < p->type->tensor.ndim; k++)
            gpuc_compile_sizes_add_input(&g->sizes, p->type->tensor.dims[k], (uint32_t)i, (uint32_t)k);
        gpuc_storage *s = new_storage(&b, GPUC_SLOT_INPUT, (uint32_t)i, padded_bytes(&b, p->type));
        uint32_t v = new_value(&b, gpuc_as_rvar(p)->name, p->type, s);
        set_value(&b, p, v);
        gpuc_ptrs_push(ctx, &g->inputs, g->values.at[v]);
    }
    find_images(&b, m, main_fn);
    gpuc_rexpr *body = main_fn->body;
    int n = gpuc_rmodule_num_outputs(m);
    for (size_t i = 0; i < m->reads.count; i++)
        add_read(&b, m->reads.at[i], gpuc_as_rtuple(body)->fields[n + (int)i]);
    add_calls(&b, body);
    if (body->kind == GPUC_REXPR_TUPLE)
        for (int i = 0; i < n; i++) add_output(&b, m, i, gpuc_as_rtuple(body)->fields[i]);
    else if (body->type->kind == GPUC_RTYPE_TUPLE)
        for (int i = 0; i < body->type->n; i++) {
            gpuc_rexpr *field = gpuc_relay_get(ctx, body, i);
            add_calls(&b, field);
            add_output(&b, m, i, field);
        }
    else
        add_output(&b, m, 0, body);
    return g;
}

/* ---- Steps and lifetimes ---- */

static void touch(gpuc_storage *s, int step)
{
    if (s->first < 0) s->first = step;
    s->last = step;
}

static void add_step(gpuc_graph *g, gpuc_graph_step *step)
{
    int number = (int)g->steps.count;
    for (int t = 0; t < step->num_tensors; t++) touch(value_at(g, step->values[t])->storage, number);
    gpuc_ptrs_push(g->ctx, &g->steps, step);
}

/* Whether a kernel uses the workspace: passes may have removed its accesses. */
static bool uses_workspace(const gpuc_lowered *l, int workspace)
{
    uint32_t source = (uint32_t)(l->num_params + l->num_outputs + workspace);
    for (int k = 0; k < l->num_kernels; k++)
        for (uint32_t t = 0; t < l->kernels[k].code.meta.num_tensors; t++)
            if (l->kernels[k].tensors[t] == source) return true;
    return false;
}

static void plan_node(gpuc_graph *g, builder *b, gpuc_graph_node *n)
{
    gpuc_ctx *ctx = g->ctx;
    n->first_step = (int)g->steps.count;
    if (n->function == GPUC_NO_INDEX) {
        if (n->symbol || !strcmp(n->name, "__copy")) {
            gpuc_graph_step *step = gpuc_new(ctx, gpuc_graph_step);
            *step = (gpuc_graph_step){.kernel_number = GPUC_NO_INDEX,
                                      .symbol = n->symbol,
                                      .device = n->device,
                                      .num_tensors = n->num_inputs + n->num_outputs,
                                      .values = n->values};
            add_step(g, step);
        }
    } else {
        const gpuc_graph_function *f = g->functions.at[n->function];
        const gpuc_lowered *l = f->lowered;
        uint32_t *work = gpuc_new_array(ctx, uint32_t, l->num_workspaces);
        gpuc_expr *symbols = gpuc_new_array(ctx, gpuc_expr, l->num_symbols);
        for (int i = 0; i < l->num_symbols; i++)
            symbols[i] = gpuc_compile_sizes_named(&g->sizes, l->symbols[i]);
        for (int i = 0; i < l->num_workspaces; i++) {
            if (!uses_workspace(l, i)) continue;
            gpuc_expr bytes = gpuc_compile_sizes_padded(
                &g->sizes, gpuc_arith_from_xexpr(ctx, l->workspace_bytes[i], symbols));
            const gpuc_rtype *t = gpuc_relay_rtype_tensor(ctx, GPUC_UINT8, 1, &bytes);
            gpuc_storage *s = new_storage(b, GPUC_SLOT_ARENA, 0, gpuc_compile_sizes_upper(&g->sizes, bytes));
            s->device = n->device;
            work[i] = new_value(b, "workspace", t, s);
        }
        for (int k = 0; k < l->num_kernels; k++) {
            if (l->kernels[k].code.meta.variant) continue;
            gpuc_graph_step *step = gpuc_new(ctx, gpuc_graph_step);
            step->kernel = &l->kernels[k];
            step->device = n->device;
            step->kernel_number = f->first_kernel + (uint32_t)k;
            step->num_tensors = (int)step->kernel->code.meta.num_tensors;
            step->values = gpuc_new_array(ctx, uint32_t, step->num_tensors);
            for (int t = 0; t < step->num_tensors; t++) {
                uint32_t source = step->kernel->tensors[t];
                int args = l->num_params + l->num_outputs;
                step->values[t] = source < (uint32_t)args ? n->values[source] : work[source - (uint32_t)args];
            }
            add_step(g, step);
        }
    }
    n->num_steps = (int)g->steps.count - n->first_step;
}

void gpuc_compile_graph_plan(gpuc_graph *g)
{
    builder b = {.g = g, .ctx = g->ctx};
    for (size_t i = 0; i < g->functions.count; i++) {
        gpuc_graph_function *f = g->functions.at[i];
        f->first_kernel = g->num_kernels;
        g->num_kernels += (uint32_t)f->lowered->num_kernels;
    }
    for (size_t i = 0; i < g->nodes.count; i++) plan_node(g, &b, g->nodes.at[i]);
}
