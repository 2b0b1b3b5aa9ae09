/* SPDX-License-Identifier: Apache-2.0 */
/* Packages made by hand. A model lists its slots, values and steps; the rest is filled in here. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cts.h"

#define MAX_ITEMS 32
#define WEIGHTS 6
#define STRIDE 4096 /* of the first weights in the section; the others follow without a gap */

typedef struct maker {
    gpuc_arena arena;
    gpuc_device_type type; /* of device 0 */
    gpuc_exec exec;
    uint32_t devices[2];
    gpuc_exec_symbol symbols[1];
    gpuc_exec_slot slots[MAX_ITEMS];
    gpuc_exec_value values[MAX_ITEMS];
    gpuc_exec_step steps[MAX_ITEMS];
    gpuc_exec_node nodes[MAX_ITEMS];
    gpuc_exec_assert asserts[1];
    gpuc_exec_weight weights[WEIGHTS];
    uint32_t inputs[4], outputs[8];
    gpuc_kernel kernels[6];
    gpuc_module_blob modules[3];
    gpuc_signature_tensor signature[2][8];
    uint8_t weight[WEIGHTS * STRIDE];
} maker;

static void *keep(maker *m, const void *items, size_t bytes)
{
    void *copy = gpuc_arena_alloc(&m->arena, bytes);
    return memcpy(copy, items, bytes);
}

static gpuc_xexpr expr(maker *m, uint32_t count, const gpuc_xinstr *code)
{
    return (gpuc_xexpr){.code = keep(m, code, count * sizeof *code), .count = count};
}

static gpuc_xexpr number(maker *m, int64_t v)
{
    return expr(m, 1, (const gpuc_xinstr[]){{GPUC_XOP_CONST, v}});
}

/* n, or the symbol's extent if n < 0. */
static gpuc_xexpr extent(maker *m, int64_t n)
{
    return n >= 0 ? number(m, n) : expr(m, 1, (const gpuc_xinstr[]){{GPUC_XOP_DIM, 0}});
}

static gpuc_xexpr slot_bytes(maker *m, int64_t n)
{
    const gpuc_xinstr dim = n >= 0 ? (gpuc_xinstr){GPUC_XOP_CONST, n} : (gpuc_xinstr){GPUC_XOP_DIM, 0};
    return expr(m, 9,
                (const gpuc_xinstr[]){dim,
                                      {GPUC_XOP_CONST, 4},
                                      {GPUC_XOP_MUL, 0},
                                      {GPUC_XOP_CONST, 15},
                                      {GPUC_XOP_ADD, 0},
                                      {GPUC_XOP_CONST, 16},
                                      {GPUC_XOP_FLOORDIV, 0},
                                      {GPUC_XOP_CONST, 16},
                                      {GPUC_XOP_MUL, 0}});
}

static uint32_t add_slot(maker *m, gpuc_slot_kind kind, uint32_t device, uint32_t index, gpuc_xexpr size)
{
    m->slots[m->exec.num_slots] =
        (gpuc_exec_slot){.kind = kind, .device = device, .index = index, .size = size};
    return m->exec.num_slots++;
}

static uint32_t add_value_at(maker *m, const char *name, uint32_t slot, int64_t n, int64_t offset)
{
    gpuc_xexpr dim = extent(m, n);
    m->values[m->exec.num_values] = (gpuc_exec_value){.name = name,
                                                      .dtype = GPUC_FLOAT32,
                                                      .ndim = 1,
                                                      .dims = keep(m, &dim, sizeof dim),
                                                      .slot = slot,
                                                      .offset = number(m, offset)};
    return m->exec.num_values++;
}

static uint32_t add_value(maker *m, const char *name, gpuc_slot_kind kind, uint32_t device, uint32_t index,
                          int64_t n)
{
    return add_value_at(m, name, add_slot(m, kind, device, index, slot_bytes(m, n)), n, 0);
}

static void sign(maker *m, int side, uint32_t i, const char *name, int64_t n)
{
    const char *dim_name = n < 0 ? "n" : "";
    m->signature[side][i] = (gpuc_signature_tensor){.name = name,
                                                    .dtype = GPUC_FLOAT32,
                                                    .ndim = 1,
                                                    .dims = keep(m, &n, sizeof n),
                                                    .dim_names = keep(m, &dim_name, sizeof dim_name)};
}

static uint32_t add_input(maker *m, const char *name, int64_t n)
{
    uint32_t i = m->exec.num_inputs++;
    sign(m, 0, i, name, n);
    return m->inputs[i] = add_value(m, name, GPUC_SLOT_INPUT, 0, i, n);
}

static void name_output(maker *m, const char *name, uint32_t value, int64_t n)
{
    uint32_t i = m->exec.num_outputs++;
    sign(m, 1, i, name, n);
    m->outputs[i] = value;
}

static uint32_t add_output(maker *m, const char *name, int64_t n)
{
    uint32_t value = add_value(m, name, GPUC_SLOT_OUTPUT, 0, m->exec.num_outputs, n);
    name_output(m, name, value, n);
    return value;
}

static uint32_t add_weight(maker *m)
{
    uint32_t i = m->exec.num_weights++;
    uint64_t offset = i < 3 ? i * STRIDE : 2 * STRIDE + (i - 2) * CTS_N * 4;
    uint32_t value = add_value(m, "w", GPUC_SLOT_WEIGHT, 0, i, CTS_N);
    m->weights[i] = (gpuc_exec_weight){.name = "w", .offset = offset, .size = CTS_N * 4, .value = value};
    cts_weight_of((int)i, (float *)(m->weight + offset));
    return value;
}

static gpuc_exec_tensor_ref ref(uint32_t value, uint8_t access)
{
    return (gpuc_exec_tensor_ref){.value = value, .access = access};
}

static void add_step(maker *m, const char *node, gpuc_step_kind kind, uint32_t device, uint32_t kernel,
                     uint32_t num_tensors, const gpuc_exec_tensor_ref *tensors, uint32_t num_scalars,
                     const gpuc_xexpr *scalars)
{
    uint32_t i = m->exec.num_steps++;
    m->steps[i] =
        (gpuc_exec_step){.kind = kind,
                         .device = device,
                         .kernel = kernel,
                         .num_tensors = num_tensors,
                         .num_scalars = num_scalars,
                         .tensors = keep(m, tensors, num_tensors * sizeof *tensors),
                         .scalars = num_scalars ? keep(m, scalars, num_scalars * sizeof *scalars) : NULL};
    uint32_t values[4]; /* the last tensor is the output */
    for (uint32_t t = 0; t < num_tensors; t++) values[t] = tensors[t].value;
    m->nodes[m->exec.num_nodes++] = (gpuc_exec_node){.name = node,
                                                     .source = node,
                                                     .device = device,
                                                     .first_step = i,
                                                     .num_steps = 1,
                                                     .num_inputs = num_tensors - 1,
                                                     .num_outputs = 1,
                                                     .values = keep(m, values, num_tensors * sizeof *values)};
}

static void add_vadd(maker *m, uint32_t a, uint32_t b, uint32_t c, int64_t n)
{
    const gpuc_exec_tensor_ref tensors[] = {ref(a, GPUC_ACCESS_READ), ref(b, GPUC_ACCESS_READ),
                                            ref(c, GPUC_ACCESS_WRITE)};
    const gpuc_xexpr scalars[] = {extent(m, n)};
    add_step(m, "add_node", GPUC_STEP_LAUNCH, 0, CTS_VADD, 3, tensors, 1, scalars);
}

static void add_affine(maker *m, uint32_t device, uint32_t x, uint32_t y, float k, int64_t n)
{
    const gpuc_exec_tensor_ref tensors[] = {ref(x, GPUC_ACCESS_READ), ref(y, GPUC_ACCESS_WRITE)};
    const gpuc_xexpr scalars[] = {number(m, cts_float_scalar(k)), extent(m, n)};
    add_step(m, "affine_node", GPUC_STEP_LAUNCH, device, device == 0 ? CTS_AFFINE : 3, 2, tensors, 2,
             scalars);
}

static void add_copy(maker *m, uint32_t from, uint32_t to)
{
    const gpuc_exec_tensor_ref tensors[] = {ref(from, GPUC_ACCESS_READ), ref(to, GPUC_ACCESS_WRITE)};
    add_step(m, "copy_node", GPUC_STEP_COPY, 0, GPUC_NO_INDEX, 2, tensors, 0, NULL);
}

static void make_static(maker *m)
{
    uint32_t x = add_input(m, "x", CTS_N), w = add_weight(m);
    uint32_t t = add_value(m, "t", GPUC_SLOT_ARENA, 0, GPUC_NO_INDEX, CTS_N);
    uint32_t y = add_output(m, "y", CTS_N);
    add_vadd(m, x, w, t, CTS_N);
    add_affine(m, 0, t, y, 2.0f, CTS_N);
}

static void make_symbolic(maker *m)
{
    m->exec.num_symbols = 1;
    m->symbols[0] = (gpuc_exec_symbol){.name = "n", .input = 0, .dim = 0, .value = GPUC_NO_INDEX};
    uint32_t x = add_input(m, "x", -1), z = add_input(m, "z", -1);
    uint32_t t = add_value(m, "t", GPUC_SLOT_ARENA, 0, GPUC_NO_INDEX, -1);
    uint32_t y = add_output(m, "y", -1);
    add_vadd(m, x, z, t, -1);
    add_affine(m, 0, t, y, 0.5f, -1);
    m->exec.num_asserts = 1;
    m->asserts[0] = (gpuc_exec_assert){
        .cond =
            expr(m, 3, (const gpuc_xinstr[]){{GPUC_XOP_DIM, 0}, {GPUC_XOP_CONST, 100000}, {GPUC_XOP_LT, 0}}),
        .message = "'x' must be shorter than 100000"};
}

static void make_computed(maker *m)
{
    m->exec.num_symbols = 1;
    uint32_t x = add_input(m, "x", CTS_N), n = add_input(m, "n", 1);
    m->values[n].dtype = m->signature[0][1].dtype = GPUC_INT64;
    m->symbols[0] = (gpuc_exec_symbol){.name = "n", .value = n, .upper = number(m, GPUC_MAX_EXTENT)};
    uint32_t t = add_value(m, "t", GPUC_SLOT_ARENA, 0, GPUC_NO_INDEX, -1), y = add_output(m, "y", -1);
    const gpuc_exec_tensor_ref read = ref(n, GPUC_ACCESS_READ);
    add_step(m, "read_node", GPUC_STEP_READ, 0, GPUC_NO_INDEX, 1, &read, 0, NULL);
    add_affine(m, 0, x, t, 2.0f, -1);
    add_affine(m, 0, t, y, 0.5f, -1);
    m->exec.num_asserts = 1;
    m->asserts[0] = (gpuc_exec_assert){
        .cond =
            expr(m, 3, (const gpuc_xinstr[]){{GPUC_XOP_DIM, 0}, {GPUC_XOP_CONST, CTS_N}, {GPUC_XOP_LE, 0}}),
        .message = "'x' has 1000 elements"};
}

static void make_fallback(maker *m)
{
    uint32_t x = add_input(m, "x", CTS_N), w = add_weight(m);
    uint32_t t = add_value(m, "t", GPUC_SLOT_ARENA, 0, GPUC_NO_INDEX, CTS_N);
    uint32_t t_host = add_value(m, "t_host", GPUC_SLOT_ARENA, 1, GPUC_NO_INDEX, CTS_N);
    uint32_t u_host = add_value(m, "u_host", GPUC_SLOT_ARENA, 1, GPUC_NO_INDEX, CTS_N);
    uint32_t u = add_value(m, "u", GPUC_SLOT_ARENA, 0, GPUC_NO_INDEX, CTS_N);
    uint32_t y = add_output(m, "y", CTS_N);
    add_vadd(m, x, w, t, CTS_N);
    add_copy(m, t, t_host);
    add_affine(m, 1, t_host, u_host, 3.0f, CTS_N);
    add_copy(m, u_host, u);
    add_vadd(m, u, w, y, CTS_N);
}

static void make_shared(maker *m)
{
    uint32_t x = add_input(m, "x", CTS_N), w = add_weight(m);
    name_output(m, "same_x", x, CTS_N);
    name_output(m, "same_w", w, CTS_N);
    uint32_t sum = add_output(m, "sum", CTS_N);
    name_output(m, "sum_again", sum, CTS_N);
    uint32_t slot = add_slot(m, GPUC_SLOT_ARENA, 0, GPUC_NO_INDEX, number(m, 4096 + CTS_N * 4));
    uint32_t late = add_value_at(m, "late", slot, CTS_N, 4096);
    name_output(m, "late", late, CTS_N);
    add_vadd(m, x, w, sum, CTS_N);
    add_affine(m, 0, sum, late, 2.0f, CTS_N);
}

static void make_chain(maker *m)
{
    uint32_t sum = add_input(m, "x", CTS_N), weights[WEIGHTS];
    for (int i = 0; i < WEIGHTS; i++) weights[i] = add_weight(m);
    for (int i = 0; i < WEIGHTS; i++) {
        uint32_t next = i == WEIGHTS - 1 ? add_output(m, "y", CTS_N)
                                         : add_value(m, "t", GPUC_SLOT_ARENA, 0, GPUC_NO_INDEX, CTS_N);
        add_vadd(m, sum, weights[i], next, CTS_N);
        sum = next;
    }
}

static void make_windows(maker *m)
{
    uint32_t x = add_input(m, "x", CTS_N), y = add_output(m, "y", CTS_N);
    for (int i = 0; i < 4; i++) {
        gpuc_exec_tensor_ref tensors[] = {ref(x, GPUC_ACCESS_READ), ref(y, GPUC_ACCESS_WRITE)};
        for (int t = 0; t < 2; t++) {
            tensors[t].offset = number(m, i * CTS_N);
            tensors[t].size = number(m, CTS_N);
        }
        const gpuc_xexpr scalars[] = {number(m, cts_float_scalar(2)), number(m, CTS_N / 4)};
        add_step(m, "window", GPUC_STEP_LAUNCH, 0, CTS_AFFINE, 2, tensors, 2, scalars);
    }
}

static void add_kernels(maker *m, gpuc_program *p, bool fallback)
{
    for (int i = 0; i < 3; i++) {
        m->kernels[i] = *cts_kernel(m->type, i);
        m->kernels[i].module = 0;
    }
    p->num_kernels = 3;
    m->modules[0] = cts_blob(m->type);
    p->num_modules = 1;
    if (fallback) {
        m->kernels[3] = *cts_kernel(GPUC_DEVICE_CPU, CTS_AFFINE_HOST);
        m->kernels[3].module = 1;
        m->modules[1] = cts_blob(GPUC_DEVICE_CPU);
        p->num_kernels = 4;
        p->num_modules = 2;
    }
    p->kernels = m->kernels;
    p->modules = m->modules;
}

/* Steps name kernels by number: affine goes to the end, where its variant can follow. */
static void add_variant(maker *m, gpuc_program *p, const cts_package_options *options)
{
    gpuc_kernel affine = m->kernels[CTS_AFFINE], *variant = &m->kernels[3];
    m->kernels[CTS_AFFINE] = m->kernels[2];
    m->kernels[2] = affine;
    for (uint32_t i = 0; i < m->exec.num_steps; i++)
        if (m->steps[i].kernel == CTS_AFFINE) m->steps[i].kernel = 2;
    *variant = *cts_kernel(options->rich ? m->type : GPUC_DEVICE_CPU,
                           options->rich ? CTS_AFFINE_RICH : CTS_AFFINE_HOST);
    if (options->rich) {
        variant->module = p->num_modules;
        m->modules[p->num_modules++] = cts_blob(m->type);
    }
    variant->variant = true;
    variant->features = options->variant_features;
    variant->subgroup_size = options->variant_subgroup_size;
    if (options->variant_tensors) variant->num_tensors = variant->num_bindings = options->variant_tensors;
    p->num_kernels = 4;
}

static void make_program(maker *m, cts_model model, gpuc_device_type type, gpuc_program *p)
{
    gpuc_arena_init(&m->arena, (gpuc_allocator){0});
    m->type = type;
    m->devices[0] = (uint32_t)type;
    m->devices[1] = GPUC_DEVICE_CPU;
    m->exec.num_devices = model == CTS_FALLBACK ? 2 : 1;
    switch (model) {
    case CTS_STATIC: make_static(m); break;
    case CTS_SYMBOLIC: make_symbolic(m); break;
    case CTS_COMPUTED: make_computed(m); break;
    case CTS_FALLBACK: make_fallback(m); break;
    case CTS_SHARED: make_shared(m); break;
    case CTS_CHAIN: make_chain(m); break;
    case CTS_WINDOWS: make_windows(m); break;
    }
    m->exec.devices = m->devices;
    m->exec.symbols = m->symbols;
    m->exec.slots = m->slots;
    m->exec.values = m->values;
    m->exec.steps = m->steps;
    m->exec.nodes = m->nodes;
    m->exec.asserts = m->asserts;
    m->exec.weights = m->weights;
    m->exec.inputs = m->inputs;
    m->exec.outputs = m->outputs;
    p->device_type = (uint32_t)type;
    p->target = cts_target;
    add_kernels(m, p, model == CTS_FALLBACK);
    p->exec = m->exec;
    if (m->exec.num_weights) {
        p->weights = m->weight;
        p->weights_size = sizeof m->weight;
    }
}

static gpuc_device_type some_other_type(void)
{
    return cts_type == GPUC_DEVICE_VULKAN ? GPUC_DEVICE_OPENCL : GPUC_DEVICE_VULKAN;
}

static char path[] = "/tmp/gpuc-cts-package-XXXXXX";
static bool path_made;

void cts_forget_package(void)
{
    if (path_made) unlink(path);
}

const char *cts_package(cts_model model, const cts_package_options *options)
{
    static const cts_package_options none;
    if (!options) options = &none;
    if (!path_made && close(mkstemp(path)) != 0) fail_msg("no temporary file");
    path_made = true;

    gpuc_program programs[2] = {0};
    maker *makers = calloc(2, sizeof *makers);
    uint32_t count = 0;
    if (options->absent_first) {
        make_program(&makers[count], model, cts_type, &programs[count]);
        programs[count].device_type = (uint32_t)some_other_type();
        programs[count].target = "somewhere else";
        makers[count].devices[0] = programs[count].device_type;
        count++;
    }
    make_program(&makers[count], model, cts_type, &programs[count]);
    if (options->variant || options->rich) add_variant(&makers[count], &programs[count], options);
    programs[count].requirements = options->requirements;
    programs[count].num_requirements = options->num_requirements;
    maker *m = &makers[count++];

    const gpuc_package package = {.gpuc_version = "test",
                                  .signature = {.num_inputs = m->exec.num_inputs,
                                                .num_outputs = m->exec.num_outputs,
                                                .inputs = m->signature[0],
                                                .outputs = m->signature[1]},
                                  .num_programs = count,
                                  .programs = programs,
                                  .provenance = ""};
    cts_ok(gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &package, path));
    for (uint32_t i = 0; i < count; i++) gpuc_arena_deinit(&makers[i].arena);
    free(makers);
    return path;
}

void cts_weight(float out[CTS_N])
{
    cts_weight_of(0, out);
}

void cts_weight_of(int i, float out[CTS_N])
{
    cts_fill(out, CTS_N, 77 + (uint32_t)i);
}

gpuc_model *cts_load(cts *c, cts_model model, const cts_package_options *options)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = cts_package(model, options);
    desc.allow_native_code = true;
    desc.device = cts_model_device(c);
    gpuc_model *m;
    cts_ok(gpuc_model_load(c->rt, &desc, &m));
    return m;
}

gpuc_ndarray *cts_array(cts *c, gpuc_device *dev, const float *values, int64_t n)
{
    gpuc_ndarray *a;
    cts_ok(gpuc_ndarray_create(c->rt, dev, GPUC_FLOAT32, 1, &n, &a));
    if (values) cts_ok(gpuc_ndarray_write(a, values, (size_t)n * 4));
    return a;
}
