/* SPDX-License-Identifier: Apache-2.0 */
/* First everything is read, then verified in exec_verify.c: references point both ways. */
#include "abi/check.h"
#include "abi/exec_verify.h"

/* Smallest size of one item as written, which bounds the counts. */
enum {
    STRING_BYTES = 8,
    EXPR_BYTES = 4,
    SYMBOL_BYTES = STRING_BYTES + 12 + EXPR_BYTES,
    SLOT_BYTES = 12 + EXPR_BYTES,
    VALUE_BYTES = STRING_BYTES + 12 + EXPR_BYTES,
    WEIGHT_BYTES = STRING_BYTES + 20,
    TENSOR_REF_BYTES = 5 + 2 * EXPR_BYTES,
    STEP_BYTES = 24,
    NODE_BYTES = 2 * STRING_BYTES + 20,
    ASSERT_BYTES = EXPR_BYTES + STRING_BYTES
};

typedef struct exec_reader {
    gpuc_reader *r;
    gpuc_arena *arena;
    gpuc_exec *e;
} exec_reader;

/* Reads a count and allocates that many items. */
static gpuc_status read_array(exec_reader *x, size_t min_bytes, size_t item_size, uint32_t *out_count,
                              void *out_array)
{
    *out_count = gpuc_read_count(x->r, min_bytes);
    GPUC_TRY(gpuc_abi_reader_status(x->r));
    return gpuc_abi_array(x->arena, *out_count, item_size, out_array);
}

static gpuc_status read_u32s(exec_reader *x, uint32_t *out_count, const uint32_t **out_items)
{
    uint32_t *items;
    GPUC_TRY(read_array(x, 4, sizeof *items, out_count, &items));
    for (uint32_t i = 0; i < *out_count; i++) items[i] = gpuc_read_u32(x->r);
    *out_items = items;
    return NULL;
}

static gpuc_status read_expr(exec_reader *x, gpuc_xexpr *out)
{
    return gpuc_abi_xexpr_read(x->r, x->arena, x->e->num_symbols, out);
}

static gpuc_status read_symbols(exec_reader *x)
{
    gpuc_exec_symbol *symbols;
    GPUC_TRY(read_array(x, SYMBOL_BYTES, sizeof *symbols, &x->e->num_symbols, &symbols));
    x->e->symbols = symbols;
    for (uint32_t i = 0; i < x->e->num_symbols; i++) {
        GPUC_TRY(gpuc_abi_read_string(x->r, x->arena, &symbols[i].name));
        symbols[i].input = gpuc_read_u32(x->r);
        symbols[i].dim = gpuc_read_u32(x->r);
        symbols[i].value = gpuc_read_u32(x->r);
        GPUC_TRY(
            gpuc_error_prefix(gpuc_abi_xexpr_read(x->r, x->arena, i, &symbols[i].upper), "symbol %u", i));
    }
    return NULL;
}

static gpuc_status read_slots(exec_reader *x)
{
    gpuc_exec_slot *slots;
    GPUC_TRY(read_array(x, SLOT_BYTES, sizeof *slots, &x->e->num_slots, &slots));
    x->e->slots = slots;
    for (uint32_t i = 0; i < x->e->num_slots; i++) {
        slots[i].kind = (gpuc_slot_kind)gpuc_read_u32(x->r);
        slots[i].device = gpuc_read_u32(x->r);
        slots[i].index = gpuc_read_u32(x->r);
        GPUC_TRY(gpuc_error_prefix(read_expr(x, &slots[i].size), "slot %u", i));
    }
    return NULL;
}

static gpuc_status read_value(exec_reader *x, gpuc_exec_value *v)
{
    gpuc_xexpr *dims;
    GPUC_TRY(gpuc_abi_read_string(x->r, x->arena, &v->name));
    v->dtype = gpuc_abi_read_dtype(x->r);
    GPUC_TRY(read_array(x, EXPR_BYTES, sizeof *dims, &v->ndim, &dims));
    v->dims = dims;
    for (uint32_t d = 0; d < v->ndim; d++) GPUC_TRY(read_expr(x, &dims[d]));
    v->slot = gpuc_read_u32(x->r);
    return read_expr(x, &v->offset);
}

static gpuc_status read_values(exec_reader *x)
{
    gpuc_exec_value *values;
    GPUC_TRY(read_array(x, VALUE_BYTES, sizeof *values, &x->e->num_values, &values));
    x->e->values = values;
    for (uint32_t i = 0; i < x->e->num_values; i++)
        GPUC_TRY(gpuc_error_prefix(read_value(x, &values[i]), "value %u", i));
    return NULL;
}

static gpuc_status read_weights(exec_reader *x)
{
    gpuc_exec_weight *weights;
    GPUC_TRY(read_array(x, WEIGHT_BYTES, sizeof *weights, &x->e->num_weights, &weights));
    x->e->weights = weights;
    for (uint32_t i = 0; i < x->e->num_weights; i++) {
        GPUC_TRY(gpuc_abi_read_string(x->r, x->arena, &weights[i].name));
        weights[i].offset = gpuc_read_u64(x->r);
        weights[i].size = gpuc_read_u64(x->r);
        weights[i].value = gpuc_read_u32(x->r);
    }
    return NULL;
}

static gpuc_status read_step(exec_reader *x, gpuc_exec_step *s)
{
    gpuc_exec_tensor_ref *tensors;
    gpuc_xexpr *scalars;
    s->kind = (gpuc_step_kind)gpuc_read_u32(x->r);
    s->device = gpuc_read_u32(x->r);
    s->kernel = gpuc_read_u32(x->r);
    s->symbol = gpuc_read_u32(x->r);
    GPUC_TRY(read_array(x, TENSOR_REF_BYTES, sizeof *tensors, &s->num_tensors, &tensors));
    s->tensors = tensors;
    for (uint32_t t = 0; t < s->num_tensors; t++) {
        tensors[t].value = gpuc_read_u32(x->r);
        tensors[t].access = gpuc_read_u8(x->r);
        GPUC_TRY(read_expr(x, &tensors[t].offset));
        GPUC_TRY(read_expr(x, &tensors[t].size));
    }
    GPUC_TRY(read_array(x, EXPR_BYTES, sizeof *scalars, &s->num_scalars, &scalars));
    s->scalars = scalars;
    for (uint32_t i = 0; i < s->num_scalars; i++) GPUC_TRY(read_expr(x, &scalars[i]));
    return NULL;
}

static gpuc_status read_steps(exec_reader *x)
{
    gpuc_exec_step *steps;
    GPUC_TRY(read_array(x, STEP_BYTES, sizeof *steps, &x->e->num_steps, &steps));
    x->e->steps = steps;
    for (uint32_t i = 0; i < x->e->num_steps; i++)
        GPUC_TRY(gpuc_error_prefix(read_step(x, &steps[i]), "step %u", i));
    return NULL;
}

static gpuc_status read_node(exec_reader *x, gpuc_exec_node *n)
{
    GPUC_TRY(gpuc_abi_read_string(x->r, x->arena, &n->name));
    GPUC_TRY(gpuc_abi_read_string(x->r, x->arena, &n->source));
    n->device = gpuc_read_u32(x->r);
    n->first_step = gpuc_read_u32(x->r);
    n->num_steps = gpuc_read_u32(x->r);
    n->num_inputs = gpuc_read_u32(x->r);
    n->num_outputs = gpuc_read_u32(x->r);
    GPUC_TRY(gpuc_abi_reader_status(x->r));
    uint64_t count = (uint64_t)n->num_inputs + n->num_outputs;
    if (count > (x->r->size - x->r->pos) / 4)
        return gpuc_fail(GPUC_INVALID_DATA, "%llu values do not fit the section", (unsigned long long)count);
    uint32_t *values;
    GPUC_TRY(gpuc_abi_array(x->arena, (size_t)count, sizeof *values, &values));
    for (size_t i = 0; i < count; i++) values[i] = gpuc_read_u32(x->r);
    n->values = values;
    return NULL;
}

static gpuc_status read_nodes(exec_reader *x)
{
    gpuc_exec_node *nodes;
    GPUC_TRY(read_array(x, NODE_BYTES, sizeof *nodes, &x->e->num_nodes, &nodes));
    x->e->nodes = nodes;
    for (uint32_t i = 0; i < x->e->num_nodes; i++)
        GPUC_TRY(gpuc_error_prefix(read_node(x, &nodes[i]), "node %u", i));
    return NULL;
}

static gpuc_status read_asserts(exec_reader *x)
{
    gpuc_exec_assert *asserts;
    GPUC_TRY(read_array(x, ASSERT_BYTES, sizeof *asserts, &x->e->num_asserts, &asserts));
    x->e->asserts = asserts;
    for (uint32_t i = 0; i < x->e->num_asserts; i++) {
        GPUC_TRY(gpuc_error_prefix(read_expr(x, &asserts[i].cond), "assertion %u", i));
        GPUC_TRY(gpuc_abi_read_string(x->r, x->arena, &asserts[i].message));
    }
    return NULL;
}

gpuc_status gpuc_abi_exec_read(gpuc_reader *r, gpuc_arena *arena, const gpuc_kernel *kernels,
                               uint32_t num_kernels, uint64_t weights_size, gpuc_exec *out)
{
    *out = (gpuc_exec){0};
    gpuc_exec e = {0};
    exec_reader x = {.r = r, .arena = arena, .e = &e};
    GPUC_TRY(read_u32s(&x, &e.num_devices, &e.devices));
    GPUC_TRY(read_symbols(&x));
    GPUC_TRY(read_slots(&x));
    GPUC_TRY(read_values(&x));
    GPUC_TRY(read_u32s(&x, &e.num_inputs, &e.inputs));
    GPUC_TRY(read_u32s(&x, &e.num_outputs, &e.outputs));
    GPUC_TRY(read_weights(&x));
    GPUC_TRY(read_steps(&x));
    GPUC_TRY(read_nodes(&x));
    GPUC_TRY(read_asserts(&x));
    GPUC_TRY(gpuc_abi_reader_status(r));
    GPUC_TRY(gpuc_abi_exec_verify(&e, arena, kernels, num_kernels, weights_size));
    *out = e;
    return NULL;
}
