/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the graph executable of a program as bytes; exec_read.c is the inverse. */
#include "abi/exec.h"

#include "abi/check.h"

static void write_u32s(gpuc_buf *buf, const uint32_t *items, uint32_t count)
{
    gpuc_buf_u32(buf, count);
    for (uint32_t i = 0; i < count; i++) gpuc_buf_u32(buf, items[i]);
}

static void write_value(gpuc_buf *buf, const gpuc_exec_value *v)
{
    gpuc_buf_lstr(buf, v->name);
    gpuc_abi_write_dtype(buf, v->dtype);
    gpuc_buf_u32(buf, v->ndim);
    for (uint32_t d = 0; d < v->ndim; d++) gpuc_abi_xexpr_write(buf, v->dims[d]);
    gpuc_buf_u32(buf, v->slot);
    gpuc_abi_xexpr_write(buf, v->offset);
}

static void write_step(gpuc_buf *buf, const gpuc_exec_step *s)
{
    gpuc_buf_u32(buf, s->kind);
    gpuc_buf_u32(buf, s->device);
    gpuc_buf_u32(buf, s->kernel);
    gpuc_buf_u32(buf, s->symbol);
    gpuc_buf_u32(buf, s->num_tensors);
    for (uint32_t t = 0; t < s->num_tensors; t++) {
        gpuc_buf_u32(buf, s->tensors[t].value);
        gpuc_buf_u8(buf, s->tensors[t].access);
        gpuc_abi_xexpr_write(buf, s->tensors[t].offset);
        gpuc_abi_xexpr_write(buf, s->tensors[t].size);
    }
    gpuc_buf_u32(buf, s->num_scalars);
    for (uint32_t i = 0; i < s->num_scalars; i++) gpuc_abi_xexpr_write(buf, s->scalars[i]);
}

static void write_node(gpuc_buf *buf, const gpuc_exec_node *n)
{
    gpuc_buf_lstr(buf, n->name);
    gpuc_buf_lstr(buf, n->source);
    gpuc_buf_u32(buf, n->device);
    gpuc_buf_u32(buf, n->first_step);
    gpuc_buf_u32(buf, n->num_steps);
    gpuc_buf_u32(buf, n->num_inputs);
    gpuc_buf_u32(buf, n->num_outputs);
    for (uint32_t i = 0; i < n->num_inputs + n->num_outputs; i++) gpuc_buf_u32(buf, n->values[i]);
}

void gpuc_abi_exec_write(gpuc_buf *buf, const gpuc_exec *e)
{
    write_u32s(buf, e->devices, e->num_devices);
    gpuc_buf_u32(buf, e->num_symbols);
    for (uint32_t i = 0; i < e->num_symbols; i++) {
        gpuc_buf_lstr(buf, e->symbols[i].name);
        gpuc_buf_u32(buf, e->symbols[i].input);
        gpuc_buf_u32(buf, e->symbols[i].dim);
        gpuc_buf_u32(buf, e->symbols[i].value);
        gpuc_abi_xexpr_write(buf, e->symbols[i].upper);
    }
    gpuc_buf_u32(buf, e->num_slots);
    for (uint32_t i = 0; i < e->num_slots; i++) {
        gpuc_buf_u32(buf, e->slots[i].kind);
        gpuc_buf_u32(buf, e->slots[i].device);
        gpuc_buf_u32(buf, e->slots[i].index);
        gpuc_abi_xexpr_write(buf, e->slots[i].size);
    }
    gpuc_buf_u32(buf, e->num_values);
    for (uint32_t i = 0; i < e->num_values; i++) write_value(buf, &e->values[i]);
    write_u32s(buf, e->inputs, e->num_inputs);
    write_u32s(buf, e->outputs, e->num_outputs);
    gpuc_buf_u32(buf, e->num_weights);
    for (uint32_t i = 0; i < e->num_weights; i++) {
        gpuc_buf_lstr(buf, e->weights[i].name);
        gpuc_buf_u64(buf, e->weights[i].offset);
        gpuc_buf_u64(buf, e->weights[i].size);
        gpuc_buf_u32(buf, e->weights[i].value);
    }
    gpuc_buf_u32(buf, e->num_steps);
    for (uint32_t i = 0; i < e->num_steps; i++) write_step(buf, &e->steps[i]);
    gpuc_buf_u32(buf, e->num_nodes);
    for (uint32_t i = 0; i < e->num_nodes; i++) write_node(buf, &e->nodes[i]);
    gpuc_buf_u32(buf, e->num_asserts);
    for (uint32_t i = 0; i < e->num_asserts; i++) {
        gpuc_abi_xexpr_write(buf, e->asserts[i].cond);
        gpuc_buf_lstr(buf, e->asserts[i].message);
    }
}
