/* SPDX-License-Identifier: Apache-2.0 */
/* The planned graph in the form that packages store. */
#include <string.h>

#include "compile/graph.h"

static gpuc_xexpr constant(gpuc_ctx *ctx, int64_t v)
{
    gpuc_xinstr *code = gpuc_new(ctx, gpuc_xinstr);
    *code = (gpuc_xinstr){.op = GPUC_XOP_CONST, .value = v};
    return (gpuc_xexpr){.code = code, .count = 1};
}

static void make_slots(gpuc_graph *g, gpuc_exec *out)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_expr *arena;
    uint32_t *devices;
    int num_arena = gpuc_compile_plan_memory(&g->sizes, &g->storages, (int)g->steps.count, &arena, &devices),
        own = 0;
    for (size_t i = 0; i < g->storages.count; i++)
        own += ((gpuc_storage *)g->storages.at[i])->kind != GPUC_SLOT_ARENA;
    gpuc_exec_slot *slots = gpuc_new_array(ctx, gpuc_exec_slot, own + num_arena);
    uint32_t n = 0;
    for (size_t i = 0; i < g->storages.count; i++) {
        gpuc_storage *s = g->storages.at[i];
        if (s->kind == GPUC_SLOT_ARENA) {
            s->slot += (uint32_t)own;
            continue;
        }
        s->slot = n;
        slots[n++] = (gpuc_exec_slot){
            .kind = s->kind,
            .device = s->device,
            .index = s->index,
            .size = gpuc_compile_sizes_xexpr(&g->sizes, s->bytes),
        };
    }
    for (int i = 0; i < num_arena; i++) {
        slots[n++] = (gpuc_exec_slot){
            .kind = GPUC_SLOT_ARENA,
            .device = devices[i],
            .index = GPUC_NO_INDEX,
            .size = gpuc_compile_sizes_xexpr(&g->sizes, arena[i]),
        };
    }
    out->slots = slots;
    out->num_slots = n;
}

static void make_values(gpuc_graph *g, gpuc_exec *out)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_exec_value *values = gpuc_new_array(ctx, gpuc_exec_value, g->values.count);
    for (size_t i = 0; i < g->values.count; i++) {
        const gpuc_graph_value *v = g->values.at[i];
        const gpuc_tensor_type *t = &v->type->tensor;
        gpuc_xexpr *dims = gpuc_new_array(ctx, gpuc_xexpr, t->ndim);
        for (int k = 0; k < t->ndim; k++) dims[k] = gpuc_compile_sizes_xexpr(&g->sizes, t->dims[k]);
        values[i] = (gpuc_exec_value){
            .name = v->name,
            .dtype = t->dtype,
            .ndim = (uint32_t)t->ndim,
            .dims = dims,
            .slot = v->storage->slot,
            .offset = constant(ctx, 0),
        };
    }
    out->values = values;
    out->num_values = (uint32_t)g->values.count;
}

static gpuc_step_kind kind_of(const gpuc_graph_step *s)
{
    return s->kernel ? GPUC_STEP_LAUNCH : s->symbol ? GPUC_STEP_READ : GPUC_STEP_COPY;
}

static uint32_t symbol_number(const gpuc_graph *g, gpuc_expr var)
{
    for (uint32_t i = 0; i < g->sizes.vars.count; i++)
        if (g->sizes.vars.at[i] == var) return i;
    return GPUC_NO_INDEX;
}

static const gpuc_xexpr *make_scalars(gpuc_graph *g, const gpuc_lowered_kernel *k)
{
    if (!k) return NULL;
    gpuc_xexpr *scalars = gpuc_new_array(g->ctx, gpuc_xexpr, k->code.meta.num_scalars);
    for (uint32_t i = 0; i < k->code.meta.num_scalars; i++)
        scalars[i] = gpuc_compile_sizes_xexpr(&g->sizes, gpuc_compile_sizes_named(&g->sizes, k->scalars[i]));
    return scalars;
}

static void make_symbols(gpuc_graph *g, gpuc_exec *out)
{
    size_t n = g->sizes.symbols.count;
    gpuc_exec_symbol *symbols = gpuc_new_array(g->ctx, gpuc_exec_symbol, n);
    for (size_t i = 0; i < n; i++) {
        const gpuc_symbol *s = g->sizes.symbols.at[i];
        symbols[i] = (gpuc_exec_symbol){.name = gpuc_as_var(s->var)->name, .value = s->value};
        if (s->value == GPUC_NO_INDEX) {
            symbols[i].input = s->input;
            symbols[i].dim = s->dim;
        } else {
            symbols[i].upper =
                s->upper ? gpuc_compile_sizes_xexpr(&g->sizes, s->upper) : constant(g->ctx, GPUC_MAX_EXTENT);
        }
    }
    out->symbols = symbols;
    out->num_symbols = (uint32_t)n;
}

/* Whether all sizes of a condition are known in the program; conditions on sizes that no value has any more
 * are dropped. */
static bool is_known(gpuc_expr e, void *sizes)
{
    return e->kind != GPUC_EXPR_VAR || gpuc_compile_sizes_has(sizes, e);
}

static void add_assert(gpuc_graph *g, gpuc_exec *out, gpuc_exec_assert *asserts, gpuc_expr cond,
                       const char *message)
{
    int64_t known;
    if (!gpuc_tir_visit(g->ctx, cond, is_known, &g->sizes) || (gpuc_expr_is_int(cond, &known) && known))
        return;
    asserts[out->num_asserts++] =
        (gpuc_exec_assert){.cond = gpuc_compile_sizes_xexpr(&g->sizes, cond), .message = message};
}

static void make_asserts(gpuc_graph *g, gpuc_exec *out)
{
    gpuc_exec_assert *asserts = gpuc_new_array(g->ctx, gpuc_exec_assert, g->conditions->count);
    for (size_t i = 0; i < g->conditions->count; i++) {
        const gpuc_op_condition *c = g->conditions->at[i];
        add_assert(g, out, asserts, c->cond, c->text);
    }
    out->asserts = asserts;
}

static void make_steps(gpuc_graph *g, gpuc_exec *out)
{
    gpuc_ctx *ctx = g->ctx;
    gpuc_exec_step *steps = gpuc_new_array(ctx, gpuc_exec_step, g->steps.count);
    for (size_t i = 0; i < g->steps.count; i++) {
        const gpuc_graph_step *s = g->steps.at[i];
        gpuc_exec_tensor_ref *refs = gpuc_new_array(ctx, gpuc_exec_tensor_ref, s->num_tensors);
        for (int t = 0; t < s->num_tensors; t++) {
            uint8_t access = s->kernel ? s->kernel->code.meta.tensors[t].access
                                       : (uint8_t)(t ? GPUC_ACCESS_WRITE : GPUC_ACCESS_READ);
            refs[t] = (gpuc_exec_tensor_ref){
                .value = s->values[t],
                .access = access,
                .offset = constant(ctx, 0),
                .size = constant(ctx, 0),
            };
        }
        steps[i] = (gpuc_exec_step){
            .kind = kind_of(s),
            .device = s->device,
            .kernel = s->kernel_number,
            .symbol = symbol_number(g, s->symbol),
            .num_tensors = (uint32_t)s->num_tensors,
            .tensors = refs,
            .num_scalars = s->kernel ? s->kernel->code.meta.num_scalars : 0,
            .scalars = make_scalars(g, s->kernel),
        };
    }
    out->steps = steps;
    out->num_steps = (uint32_t)g->steps.count;
}

static void make_nodes(gpuc_graph *g, gpuc_exec *out)
{
    gpuc_exec_node *nodes = gpuc_new_array(g->ctx, gpuc_exec_node, g->nodes.count);
    for (size_t i = 0; i < g->nodes.count; i++) {
        const gpuc_graph_node *n = g->nodes.at[i];
        nodes[i] = (gpuc_exec_node){
            .name = n->name,
            .source = n->source,
            .device = n->device,
            .first_step = (uint32_t)n->first_step,
            .num_steps = (uint32_t)n->num_steps,
            .num_inputs = (uint32_t)n->num_inputs,
            .num_outputs = (uint32_t)n->num_outputs,
            .values = n->values,
        };
    }
    out->nodes = nodes;
    out->num_nodes = (uint32_t)g->nodes.count;
}

static uint32_t *numbers(gpuc_graph *g, const gpuc_ptrs *list)
{
    uint32_t *out = gpuc_new_array(g->ctx, uint32_t, list->count);
    for (size_t i = 0; i < list->count; i++)
        for (uint32_t v = 0; v < g->values.count; v++)
            if (g->values.at[v] == list->at[i]) out[i] = v;
    return out;
}

void gpuc_compile_graph_to_exec(gpuc_graph *g, gpuc_exec *out)
{
    memset(out, 0, sizeof *out);
    uint32_t *devices = gpuc_new_array(g->ctx, uint32_t, 2);
    out->num_devices = g->uses_fallback ? 2 : 1;
    for (uint32_t i = 0; i < out->num_devices; i++)
        devices[i] = gpuc_target_device_type(gpuc_graph_target(g, i));
    out->devices = devices;
    make_symbols(g, out);
    make_asserts(g, out);
    make_slots(g, out);
    make_values(g, out);
    make_steps(g, out);
    make_nodes(g, out);
    gpuc_exec_weight *weights = gpuc_new_array(g->ctx, gpuc_exec_weight, g->weights.count);
    for (size_t i = 0; i < g->weights.count; i++) {
        const gpuc_graph_weight *w = g->weights.at[i];
        weights[i] = (gpuc_exec_weight){
            .name = w->name,
            .offset = w->offset,
            .size = w->constant->data->size,
            .value = w->value,
        };
    }
    out->weights = weights;
    out->num_weights = (uint32_t)g->weights.count;
    out->inputs = numbers(g, &g->inputs);
    out->num_inputs = (uint32_t)g->inputs.count;
    out->outputs = numbers(g, &g->outputs);
    out->num_outputs = (uint32_t)g->outputs.count;
}
