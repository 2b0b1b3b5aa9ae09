/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of targets that are built in, as rows like those that a program registers. */
#include "abi/kernel.h"
#include "target/private.h"

#define GPUC_TARGET_KEPT(text, of, items, number, string, what)                                              \
    {.name = text,                                                                                           \
     .type = GPUC_TARGET_##of,                                                                               \
     .i = (number),                                                                                          \
     .s = string,                                                                                            \
     .about = what,                                                                                          \
     .list = items,                                                                                          \
     .kept = true},
#define GPUC_TARGET_TOLD(text, of, test, number, what)                                                       \
    {.name = text,                                                                                           \
     .type = GPUC_TARGET_##of,                                                                               \
     .i = (number),                                                                                          \
     .s = "",                                                                                                \
     .check = (test),                                                                                        \
     .about = what,                                                                                          \
     .kept = true},
#define ROW(text, of, test, what, value)                                                                     \
    {.name = text,                                                                                           \
     .type = GPUC_TARGET_##of,                                                                               \
     .i = (value),                                                                                           \
     .s = "",                                                                                                \
     .check = gpuc_target_check_##test,                                                                      \
     .about = what},

static const gpuc_target_attr_row vulkan_attrs[] = {
#define GPUC_TARGET_ATTR(field, type, check, req, about, vulkan, ...) ROW(#field, type, check, about, vulkan)
#include "target/attrs.def"
#undef GPUC_TARGET_ATTR
#define GPUC_TARGET_KEYS "vulkan,gpu"
#include "target/kept.def"
#undef GPUC_TARGET_KEYS
    {.name = NULL}};

static const gpuc_target_attr_row opencl_attrs[] = {
#define GPUC_TARGET_ATTR(field, type, check, req, about, vulkan, opencl, ...)                                \
    ROW(#field, type, check, about, opencl)
#include "target/attrs.def"
#undef GPUC_TARGET_ATTR
    ROW("native", BOOL, count,
        "the device is this machine's CPU, whose vectors, cores and caches are filled in", 0)
#define GPUC_TARGET_KEYS "opencl,gpu"
#include "target/kept.def"
#undef GPUC_TARGET_KEYS
        {.name = NULL}};

static const gpuc_target_attr_row c_attrs[] = {
#define GPUC_TARGET_ATTR(field, type, check, req, about, vulkan, opencl, c, ...)                             \
    ROW(#field, type, check, about, c)
#include "target/attrs.def"
#undef GPUC_TARGET_ATTR
    {.name = "mcpu",
     .type = GPUC_TARGET_STRING,
     .s = "",
     .check = gpuc_target_check_mcpu,
     .about =
         "the value of -march or -mcpu; native: what this machine has, and its vectors, cores and caches; "
         "a list of x86-64, x86-64-v2, x86-64-v3, x86-64-v4: a program for each, of which the richest "
         "that the machine has runs"},
    {.name = "cc",
     .type = GPUC_TARGET_STRING,
     .s = "cc",
     .check = gpuc_target_check_command,
     .about = "the command of the C compiler"},
    {.name = "cflags", .type = GPUC_TARGET_STRING, .s = "", .about = "more flags of the C compiler"},
    {.name = "weight_block",
     .type = GPUC_TARGET_INT,
     .s = "",
     .check = gpuc_target_check_block,
     .about = "float32 channels of a block of packed weights, so that programs for different vectors share "
              "them; 0: those of a vector"},
#define GPUC_TARGET_KEYS "cpu"
#define GPUC_TARGET_OWN_MCPU
#include "target/kept.def"
#undef GPUC_TARGET_OWN_MCPU
#undef GPUC_TARGET_KEYS
    {.name = NULL}};

const gpuc_target_attr_row gpuc_target_others_attrs[] = {
#define GPUC_TARGET_ATTR(field, type, check, req, about, vulkan, opencl, c, others)                          \
    ROW(#field, type, check, about, others)
#include "target/attrs.def"
#undef GPUC_TARGET_ATTR
#define GPUC_TARGET_KEYS ""
#include "target/kept.def"
#undef GPUC_TARGET_KEYS
    {.name = NULL}};

const gpuc_target_field gpuc_target_fields[GPUC_TARGET_ATTR_COUNT] = {
#define GPUC_TARGET_ATTR(field, type, check, req, ...)                                                       \
    [GPUC_TARGET_ATTR_##field] = {.offset = offsetof(gpuc_target, field), .required = (req)},
#include "target/attrs.def"
#undef GPUC_TARGET_ATTR
};

const gpuc_target_kind_row gpuc_target_builtin[GPUC_TARGET_KIND_COUNT] = {
    [GPUC_TARGET_VULKAN] = {.name = "vulkan",
                            .device = "vulkan",
                            .device_type = GPUC_DEVICE_VULKAN,
                            .keys = "vulkan,gpu",
                            .about = "any Vulkan 1.1 device: the limits that its specification guarantees",
                            .attrs = vulkan_attrs,
                            .language = {.work_groups = true,
                                         .descriptors = true,
                                         .matrices = true,
                                         .wraps = true,
                                         .vector_mod = true,
                                         .guarded_barriers = true,
                                         .three_lanes = true,
                                         .max_lanes = 4},
                            .from_device = gpuc_target_vulkan_from_device},
    [GPUC_TARGET_OPENCL] = {.name = "opencl",
                            .device = "opencl",
                            .device_type = GPUC_DEVICE_OPENCL,
                            .keys = "opencl,gpu",
                            .about = "any OpenCL 1.2 device: the limits that its specification guarantees",
                            .attrs = opencl_attrs,
                            .language = {.work_groups = true,
                                         .functions = true,
                                         .c99_math = true,
                                         .compares_nan = true,
                                         .states_iterations = true,
                                         .vector_parts = true,
                                         .three_lanes = true,
                                         .max_lanes = 16,
                                         .own_features = GPUC_FEATURE_INT8 | GPUC_FEATURE_INT16 |
                                                         GPUC_FEATURE_STORAGE8 | GPUC_FEATURE_STORAGE16 |
                                                         GPUC_FEATURE_ATOMIC_FLOAT |
                                                         GPUC_FEATURE_FLOAT_CONTROLS},
                            .canonicalise = gpuc_target_opencl_canonicalise,
                            .from_device = gpuc_target_opencl_from_device},
    [GPUC_TARGET_C] = {.name = "c",
                       .device = "cpu",
                       .device_type = GPUC_DEVICE_CPU,
                       .keys = "cpu",
                       .about =
                           "any CPU: portable C99 for the ABI's baseline; -mcpu=native uses this machine's "
                           "vectors",
                       .attrs = c_attrs,
                       .language = {.ahead = true,
                                    .functions = true,
                                    .c99_math = true,
                                    .vector_mod = true,
                                    .guarded_barriers = true,
                                    .machine_vectors = true,
                                    .half_casts = true,
                                    .vector_parts = true,
                                    .loops_in_parts = true,
                                    .max_lanes = 16,
                                    .own_features = UINT32_MAX},
                       .canonicalise = gpuc_target_c_canonicalise,
                       .from_device = gpuc_target_c_from_device},
};
