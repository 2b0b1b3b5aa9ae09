/* SPDX-License-Identifier: Apache-2.0 */
/* A small package with everything in it: two programs, a symbol, weights that they share, a
 * fallback device, a copy, an assertion. */
#ifndef GPUC_TESTS_ABI_SAMPLE_H
#define GPUC_TESTS_ABI_SAMPLE_H

#include "abi/package.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CODE(...)                                                                                            \
    {                                                                                                        \
        .code = (const gpuc_xinstr[]){__VA_ARGS__}, .count = LEN(((gpuc_xinstr[]){__VA_ARGS__}))             \
    }
#define K(v)                                                                                                 \
    {                                                                                                        \
        GPUC_XOP_CONST, (v)                                                                                  \
    }
#define S(n)                                                                                                 \
    {                                                                                                        \
        GPUC_XOP_DIM, (n)                                                                                    \
    }
#define X(op)                                                                                                \
    {                                                                                                        \
        GPUC_XOP_##op, 0                                                                                     \
    }
#define CONSTANT(v) CODE(K(v))

/* y = x + w, x and y of float32[n, 4, 1], w of float32[4]; z = copy of y on the host. x and z are images. */
static const gpuc_kernel_tensor sample_tensors[] = {
    {.dtype = {2, 32, 1}, .access = GPUC_ACCESS_READ, .alignment = 4, .binding = 0},
    {.dtype = {2, 32, 1},
     .access = GPUC_ACCESS_READ,
     .texel = true,
     .alignment = 16,
     .binding = 1,
     .texel_binding = 3},
    {.dtype = {2, 32, 1},
     .access = GPUC_ACCESS_WRITE,
     .alignment = 4,
     .binding = 2,
     .windowed = true,
     .begin = CODE(S(3), K(256), X(MUL)),
     .end = CODE(S(6), K(1), X(ADD), K(256), X(MUL))},
};
static const gpuc_dtype sample_scalars[] = {{0, 32, 1}, {2, 32, 1}, {0, 64, 1}};
static const gpuc_kernel sample_kernels[] = {{
    .name = "add_kernel0",
    .label = "add",
    .num_tensors = 3,
    .num_scalars = 3,
    .num_bindings = 3,
    .tensors = sample_tensors,
    .scalars = sample_scalars,
    .local_size = {64, 1, 1},
    .launch = {CODE(S(0), K(4), X(MUL), K(63), X(ADD), K(64), X(FLOORDIV)), CONSTANT(1), CONSTANT(1)},
    .features = GPUC_FEATURE_SUBGROUP | GPUC_FEATURE_INT64,
    .subgroup_size = 32,
    .shared_bytes = 1024,
    .params_in_buffer = true,
    .iterations = CODE(S(2), K(1), X(ADD)),
    .cost_bytes = 48,
    .cost_ops = -1,
    .module = 0,
}};

static const gpuc_xexpr sample_dims[] = {CODE(S(0)), CONSTANT(4), CONSTANT(1)};
static const gpuc_xexpr sample_weight_dims[] = {CONSTANT(4)};
static const gpuc_exec_slot sample_slots[] = {
    {.kind = GPUC_SLOT_INPUT, .device = 0, .index = 0, .size = CODE(S(0), K(16), X(MUL))},
    {.kind = GPUC_SLOT_WEIGHT, .device = 0, .index = 0, .size = CONSTANT(16)},
    {.kind = GPUC_SLOT_ARENA, .device = 0, .index = GPUC_NO_INDEX, .size = CODE(S(0), K(16), X(MUL))},
    {.kind = GPUC_SLOT_OUTPUT, .device = 1, .index = 0, .size = CODE(S(0), K(16), X(MUL))},
};
#define SAMPLE_VALUE(n, d, r, s)                                                                             \
    {                                                                                                        \
        .name = (n), .dtype = {2, 32, 1}, .ndim = (r), .dims = (d), .slot = (s)                              \
    }
static const gpuc_exec_value sample_values[] = {
    SAMPLE_VALUE("x", sample_dims, 3, 0),
    SAMPLE_VALUE("w", sample_weight_dims, 1, 1),
    SAMPLE_VALUE("y", sample_dims, 3, 2),
    SAMPLE_VALUE("z", sample_dims, 3, 3),
};
static const gpuc_exec_tensor_ref sample_launch_refs[] = {
    {.value = 0, .access = GPUC_ACCESS_READ},
    {.value = 1, .access = GPUC_ACCESS_READ, .size = CONSTANT(16)},
    {.value = 2, .access = GPUC_ACCESS_WRITE},
};
static const gpuc_exec_tensor_ref sample_copy_refs[] = {
    {.value = 2, .access = GPUC_ACCESS_READ},
    {.value = 3, .access = GPUC_ACCESS_WRITE},
};
static const gpuc_xexpr sample_scalar_values[] = {CODE(S(0)), CONSTANT(0x3f800000), CONSTANT(-1)};
static const gpuc_exec_step sample_steps[] = {
    {.kind = GPUC_STEP_LAUNCH,
     .device = 0,
     .kernel = 0,
     .num_tensors = 3,
     .num_scalars = 3,
     .tensors = sample_launch_refs,
     .scalars = sample_scalar_values},
    {.kind = GPUC_STEP_COPY,
     .device = 0,
     .kernel = GPUC_NO_INDEX,
     .num_tensors = 2,
     .tensors = sample_copy_refs},
};
static const uint32_t sample_devices_vulkan[] = {GPUC_DEVICE_VULKAN, GPUC_DEVICE_CPU};
static const uint32_t sample_devices_cpu[] = {GPUC_DEVICE_CPU, GPUC_DEVICE_CPU};
static const gpuc_exec_symbol sample_symbols[] = {
    {.name = "n", .input = 0, .dim = 0, .value = GPUC_NO_INDEX}};
static const uint32_t sample_node_values[] = {0, 1, 2};
static const gpuc_exec_node sample_nodes[] = {
    {.name = "add_0",
     .source = "Add_17",
     .device = 0,
     .num_steps = 1,
     .num_inputs = 2,
     .num_outputs = 1,
     .values = sample_node_values},
};
static const gpuc_exec_assert sample_asserts[] = {
    {.cond = CODE(S(0), K(1000), X(LE)), .message = "input x: dimension n must not exceed 1000"},
};
static const gpuc_exec_weight sample_weights[] = {{.name = "w", .offset = 256, .size = 16, .value = 1}};
static const uint32_t sample_inputs[] = {0}, sample_outputs[] = {3};
static const char sample_spirv[] = "\x03\x02\x23\x07 not really SPIR-V", sample_c[] = "int f(void);";
static const char sample_weight_bytes[512] = "weights, the same for both";
static const char sample_weight_copy[512] = "weights, the same for both";

static inline gpuc_exec sample_exec(const uint32_t *devices)
{
    return (gpuc_exec){.num_devices = 2,
                       .devices = devices,
                       .num_symbols = 1,
                       .symbols = sample_symbols,
                       .num_slots = LEN(sample_slots),
                       .slots = sample_slots,
                       .num_values = LEN(sample_values),
                       .values = sample_values,
                       .num_steps = LEN(sample_steps),
                       .steps = sample_steps,
                       .num_nodes = 1,
                       .nodes = sample_nodes,
                       .num_asserts = 1,
                       .asserts = sample_asserts,
                       .num_weights = 1,
                       .weights = sample_weights,
                       .num_inputs = 1,
                       .num_outputs = 1,
                       .inputs = sample_inputs,
                       .outputs = sample_outputs};
}

typedef struct sample {
    gpuc_package package;
    gpuc_program programs[2];
} sample;

static inline void sample_init(sample *s)
{
    static const gpuc_requirement needs[] = {{"max_num_threads", 128}, {"subgroup_size", 32}};
    static const gpuc_module_blob spirv[] = {{"spirv", sample_spirv, sizeof sample_spirv}};
    static const gpuc_module_blob c[] = {{"cpu_so", sample_c, sizeof sample_c}, {"cpu_so", NULL, 0}};
    static const int64_t dims[] = {-1, 4, 1};
    static const char *const dim_names[] = {"n", "", ""};
    static const gpuc_signature_tensor in[] = {{.name = "x",
                                                .dtype = {2, 32, 1},
                                                .ndim = 3,
                                                .dims = dims,
                                                .dim_names = dim_names,
                                                .image = GPUC_IMAGE_R32F}};
    static const gpuc_signature_tensor out[] = {{.name = "z",
                                                 .dtype = {2, 32, 1},
                                                 .ndim = 3,
                                                 .dims = dims,
                                                 .dim_names = dim_names,
                                                 .image = GPUC_IMAGE_R32F}};
    s->programs[0] = (gpuc_program){.target = "vulkan -max_num_threads=128",
                                    .device_type = GPUC_DEVICE_VULKAN,
                                    .num_requirements = 2,
                                    .requirements = needs,
                                    .num_kernels = 1,
                                    .kernels = sample_kernels,
                                    .num_modules = 1,
                                    .modules = spirv,
                                    .exec = sample_exec(sample_devices_vulkan),
                                    .weights = sample_weight_bytes,
                                    .weights_size = sizeof sample_weight_bytes};
    s->programs[1] = (gpuc_program){.target = "c",
                                    .device_type = GPUC_DEVICE_CPU,
                                    .num_kernels = 1,
                                    .kernels = sample_kernels,
                                    .num_modules = 2,
                                    .modules = c,
                                    .exec = sample_exec(sample_devices_cpu),
                                    .weights = sample_weight_copy,
                                    .weights_size = sizeof sample_weight_copy};
    s->package =
        (gpuc_package){.gpuc_version = "0.1.0",
                       .signature = {.num_inputs = 1, .num_outputs = 1, .inputs = in, .outputs = out},
                       .num_programs = 2,
                       .programs = s->programs,
                       .provenance = "model: sample\npasses: none\n"};
}

#endif
