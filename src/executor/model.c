/* SPDX-License-Identifier: Apache-2.0 */
/* Implements gpuc_model: reads a package, chooses a program, and describes inputs and outputs. */
#include "executor/model.h"

#include <string.h>

#include "base/require.h"

static gpuc_status name_steps(gpuc_model *m)
{
    const gpuc_exec *e = m->exec;
    m->step_nodes = gpuc_arena_alloc_array(&m->arena, e->num_steps, sizeof *m->step_nodes);
    if (!m->step_nodes) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory loading a model");
    for (uint32_t i = 0; i < e->num_steps; i++) m->step_nodes[i] = "";
    for (uint32_t n = 0; n < e->num_nodes; n++)
        for (uint32_t i = 0; i < e->nodes[n].num_steps; i++)
            m->step_nodes[e->nodes[n].first_step + i] = e->nodes[n].name;
    return NULL;
}

static gpuc_status read_package(gpuc_model *m, const gpuc_model_desc *desc)
{
    const void *bytes = desc->bytes;
    size_t size = desc->size;
    if (desc->path) {
        GPUC_TRY(gpuc_file_map(desc->path, &m->mapping));
        const char *slash = strrchr(desc->path, '/');
        m->label = gpuc_arena_strdup(&m->arena, slash ? slash + 1 : desc->path);
        if (!m->label) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory loading a model");
        bytes = m->mapping.data;
        size = m->mapping.size;
    } else if (!bytes) {
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "a model needs the path or the bytes of a package");
    }
    GPUC_TRY(gpuc_abi_package_read(bytes, size, desc->check_weights, &m->arena, &m->package, NULL, NULL));
    if (!m->package.is_library) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT,
                     "it is a library of functions, not a network; load it with gpuc_module_load_file");
}

/* Loads the kernels that the steps launch, on the devices that they run on. */
static gpuc_status load_code(gpuc_model *m, bool deferred)
{
    const gpuc_exec *e = m->exec;
    m->code = gpuc_arena_alloc_array(&m->arena, e->num_devices, sizeof *m->code);
    if (!m->code) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory loading a model");
    for (uint32_t d = 0; d < e->num_devices; d++) {
        bool *launched = gpuc_arena_alloc_array(&m->arena, m->program->num_kernels, sizeof *launched);
        if (!launched) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory loading a model");
        for (uint32_t i = 0; i < e->num_steps; i++)
            if (e->steps[i].kind == GPUC_STEP_LAUNCH && e->steps[i].device == d)
                launched[e->steps[i].kernel] = true;
        m->code[d] = &m->devices[d].code;
        GPUC_TRY(gpuc_loader_load(m->code[d], m->program, launched, deferred, &m->arena));
    }
    return NULL;
}

static gpuc_status load(gpuc_model *m, const gpuc_model_desc *desc)
{
    gpuc_status s = read_package(m, desc);
    if (!s) s = gpuc_model_choose(m, desc);
    if (!s) s = name_steps(m);
    if (!s && (s = load_code(m, desc->defer))) s = gpuc_error_prefix(s, "target '%s'", m->program->target);
    if (!s && !desc->defer) s = gpuc_model_make_kernels(m, true, NULL, NULL);
    if (!s && (s = gpuc_model_load_weights(m))) s = gpuc_error_prefix(s, "target '%s'", m->program->target);
    if (!s && (s = gpuc_model_load_defaults(m))) s = gpuc_error_prefix(s, "target '%s'", m->program->target);
    /* What gpuc_file_map says names the path already. */
    bool named = s && desc->path && strstr(gpuc_status_message(s), desc->path);
    return desc->path && !named ? gpuc_error_prefix(s, "'%s'", desc->path) : s;
}

gpuc_status gpuc_model_load(gpuc_runtime *rt, const gpuc_model_desc *desc, gpuc_model **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(rt);
    GPUC_REQUIRE(desc);
    gpuc_model_desc known = {0};
    memcpy(&known, desc, desc->struct_size < sizeof known ? desc->struct_size : sizeof known);
    gpuc_allocator a = gpuc_runtime_allocator(rt);
    gpuc_model *m = gpuc_mem_alloc(a, sizeof *m);
    if (!m) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory loading a model");
    atomic_init(&m->refs, 1);
    m->rt = rt;
    m->allocator = a;
    m->label = "network";
    m->fallback_reason = "";
    m->profiling = known.profiling;
    m->weight_memory = gpuc_ndarray_retain(known.weight_memory);
    gpuc_arena_init(&m->arena, a);
    gpuc_runtime_pin(rt);
    gpuc_status s = load(m, &known);
    if (s) {
        gpuc_model_release(m);
        return s;
    }
    *out = m;
    return NULL;
}

gpuc_model *gpuc_model_retain(gpuc_model *m)
{
    if (m) atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}

void gpuc_model_release(gpuc_model *m)
{
    if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
    gpuc_runtime *rt = m->rt;
    gpuc_model_unload_defaults(m);
    gpuc_model_unload_weights(m);
    for (uint32_t d = 0; m->exec && d < m->exec->num_devices; d++) gpuc_loader_unload(&m->devices[d].code);
    gpuc_arena_deinit(&m->arena);
    gpuc_file_unmap(&m->mapping);
    gpuc_mem_free(m->allocator, m, sizeof *m);
    gpuc_runtime_unpin(rt);
}

gpuc_device *gpuc_model_device(gpuc_model *m)
{
    return m->devices[0].code.dev;
}

bool gpuc_model_uses_fallback(const gpuc_model *m)
{
    return m->exec->num_devices > 1;
}

const char *gpuc_model_target(gpuc_model *m)
{
    return m->program->target;
}

const char *gpuc_model_fallback_reason(gpuc_model *m)
{
    return m->fallback_reason;
}

static gpuc_tensor_info info_of(const gpuc_signature_tensor *tensors, uint32_t count, int i)
{
    if (i < 0 || (uint32_t)i >= count) return (gpuc_tensor_info){0};
    return gpuc_abi_signature_info(&tensors[i]);
}

int gpuc_model_num_inputs(const gpuc_model *m)
{
    return (int)m->package.signature.num_inputs;
}

int gpuc_model_num_outputs(const gpuc_model *m)
{
    return (int)m->package.signature.num_outputs;
}

gpuc_tensor_info gpuc_model_input(const gpuc_model *m, int i)
{
    return info_of(m->package.signature.inputs, m->package.signature.num_inputs, i);
}

gpuc_tensor_info gpuc_model_output(const gpuc_model *m, int i)
{
    return info_of(m->package.signature.outputs, m->package.signature.num_outputs, i);
}

int gpuc_model_find_input(const gpuc_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->package.signature.num_inputs; i++)
        if (strcmp(m->package.signature.inputs[i].name, name) == 0) return (int)i;
    return -1;
}

bool gpuc_model_reads_input(const gpuc_model *m, int i)
{
    const gpuc_exec *e = m->exec;
    if (i < 0 || (uint32_t)i >= e->num_inputs) return false;
    uint32_t slot = e->values[e->inputs[i]].slot;
    for (uint32_t s = 0; s < e->num_steps; s++)
        for (uint32_t k = 0; k < e->steps[s].num_tensors; k++)
            if (e->values[e->steps[s].tensors[k].value].slot == slot) return true;
    return false;
}
