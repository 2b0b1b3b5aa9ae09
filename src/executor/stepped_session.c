/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that run one operator at a time, and their values in between. */
#include "base/require.h"
#include "executor/session.h"

int gpuc_model_num_nodes(const gpuc_model *model)
{
    return (int)model->exec->num_nodes;
}

gpuc_node_info gpuc_model_node(const gpuc_model *model, int i)
{
    if (i < 0 || (uint32_t)i >= model->exec->num_nodes) return (gpuc_node_info){0};
    const gpuc_exec_node *n = &model->exec->nodes[i];
    return (gpuc_node_info){.name = n->name,
                            .source = n->source,
                            .device = model->devices[n->device].code.dev,
                            .on_fallback = n->device != 0,
                            .num_steps = (int)n->num_steps,
                            .num_inputs = (int)n->num_inputs,
                            .num_outputs = (int)n->num_outputs,
                            .values = n->values};
}

gpuc_status gpuc_session_create_stepped(gpuc_model *model, gpuc_session **out)
{
    gpuc_session_desc desc = GPUC_SESSION_DESC_INIT;
    desc.stepped = true;
    return gpuc_session_create_with(model, &desc, out);
}

gpuc_status gpuc_session_run_node(gpuc_session *s, int node)
{
    GPUC_REQUIRE(s);
    const gpuc_exec *e = s->model->exec;
    uint32_t expected = s->next_node, number = (uint32_t)node;
    if (!s->stepped)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "the session does not stop between operators; gpuc_session_create_stepped makes one");
    if (number >= e->num_nodes)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "operator %d: the program has %u", node, e->num_nodes);
    if (number && !expected)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "operator %d: no inference is under way (an error, and setting an input or output, end "
            "it): begin with operator 0",
            node);
    if (number && number != expected)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "operator %d: the next one is %u, or 0 to begin again", node,
                         expected);
    s->next_node = 0; /* after an error, only from the beginning */
    if (number == 0) GPUC_TRY(gpuc_session_begin(s));
    bool last = number + 1 == e->num_nodes;
    uint32_t end = last ? e->num_steps : e->nodes[number].first_step + e->nodes[number].num_steps;
    GPUC_TRY(gpuc_session_run_to(s, end));
    if (last) GPUC_TRY(gpuc_session_finish(s));
    GPUC_TRY(gpuc_session_sync(s));
    s->next_node = number + 1;
    return NULL;
}

/* The device, slot and offset that hold a value. */
static gpuc_status locate(const gpuc_session *s, uint32_t value, gpuc_copy_end *out, uint64_t *out_size)
{
    if (!s->next_node)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "no operator has been run since an input or output was set, or an error: "
                         "gpuc_session_run_node does that");
    if (value >= s->model->exec->num_values)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "value %u: the program has %u", value,
                         s->model->exec->num_values);
    gpuc_extent x;
    bool known;
    GPUC_TRY(gpuc_executor_state_eval_value(s, s->states, value, &x, &known));
    if (!known)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "value %u: the operator that tells its size has not been run yet", value);
    const gpuc_binding *b = &s->bindings[x.slot];
    *out = (gpuc_copy_end){.buffer = b->buffer, .offset = b->offset + x.offset};
    *out_size = x.size;
    return NULL;
}

static gpuc_status create_array(const gpuc_session *s, uint32_t value, gpuc_ndarray **out)
{
    const gpuc_exec *e = s->model->exec;
    const gpuc_exec_value *v = &e->values[value];
    size_t bytes = (v->ndim + (size_t)1) * sizeof(int64_t);
    int64_t *dims = gpuc_mem_alloc(s->allocator, bytes);
    if (!dims) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the dims of a value");
    gpuc_status status = NULL;
    for (uint32_t d = 0; !status && d < v->ndim; d++)
        status = gpuc_abi_xexpr_eval(v->dims[d], s->states->symbols, e->num_symbols, &dims[d]);
    if (!status) status = gpuc_ndarray_create(s->model->rt, NULL, v->dtype, (int)v->ndim, dims, out);
    gpuc_mem_free(s->allocator, dims, bytes);
    return status;
}

gpuc_status gpuc_session_read_value(gpuc_session *s, uint32_t value, gpuc_ndarray **out)
{
    GPUC_REQUIRE(out);
    gpuc_copy_end from;
    uint64_t size = 0;
    *out = NULL;
    GPUC_REQUIRE(s);
    GPUC_TRY(locate(s, value, &from, &size));
    GPUC_TRY(create_array(s, value, out));
    if (!size) return NULL;
    gpuc_device *dev = from.buffer->device;
    gpuc_copy_end to = {.host = gpuc_ndarray_host(*out)};
    gpuc_status status = dev->api->copy_data_from_to(dev, from, to, size, NULL);
    if (status) {
        gpuc_ndarray_release(*out);
        *out = NULL;
    }
    return status;
}

gpuc_status gpuc_session_write_value(gpuc_session *s, uint32_t value, const gpuc_ndarray *from)
{
    GPUC_REQUIRE(s);
    gpuc_copy_end to;
    uint64_t size = 0;
    GPUC_TRY(locate(s, value, &to, &size));
    if (!from) return gpuc_fail(GPUC_INVALID_ARGUMENT, "value %u: no array given", value);
    gpuc_copy_end host = {.host = gpuc_ndarray_host(from)};
    const gpuc_exec *e = s->model->exec;
    gpuc_slot_kind kind = e->slots[e->values[value].slot].kind;
    if (kind == GPUC_SLOT_INPUT || kind == GPUC_SLOT_WEIGHT)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "value %u is no operator's: it is an input or a weight",
                         value);
    gpuc_dtype dtype = e->values[value].dtype;
    char want[24], have[24];
    if (!gpuc_dtype_equal(gpuc_ndarray_dtype(from), dtype))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "value %u is of %s, the array of %s", value,
                         gpuc_dtype_name(dtype, want), gpuc_dtype_name(gpuc_ndarray_dtype(from), have));
    if (gpuc_ndarray_bytes(from) != size || (size && !host.host))
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "value %u has %llu bytes; the array must have as many on the host", value,
                         (unsigned long long)size);
    if (!size) return NULL;
    gpuc_device *dev = to.buffer->device;
    return dev->api->copy_data_from_to(dev, host, to, size, NULL);
}
