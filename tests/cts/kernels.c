/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "cts.h"

#define GROUP 64
#define FLOAT_AT(b, acc)                                                                                     \
    {                                                                                                        \
        .dtype = {GPUC_DTYPE_FLOAT, 32, 1}, .access = (acc), .alignment = 4, .binding = (b)                  \
    }
#define GROUPS_OF(scalar)                                                                                    \
    {                                                                                                        \
        .code = (const gpuc_xinstr[]){{GPUC_XOP_DIM, (scalar)},                                              \
                                      {GPUC_XOP_CONST, GROUP - 1},                                           \
                                      {GPUC_XOP_ADD, 0},                                                     \
                                      {GPUC_XOP_CONST, GROUP},                                               \
                                      {GPUC_XOP_FLOORDIV, 0}},                                               \
        .count = 5                                                                                           \
    }
#define ONE                                                                                                  \
    {                                                                                                        \
        .code = (const gpuc_xinstr[]){{GPUC_XOP_CONST, 1}}, .count = 1                                       \
    }

static const gpuc_dtype vadd_scalars[] = {{GPUC_DTYPE_INT, 32, 1}};
static const gpuc_dtype affine_scalars[] = {{GPUC_DTYPE_FLOAT, 32, 1}, {GPUC_DTYPE_INT, 32, 1}};
static const gpuc_dtype mixed_scalars[] = {
    {GPUC_DTYPE_INT, 32, 1}, {GPUC_DTYPE_INT, 64, 1}, {GPUC_DTYPE_FLOAT, 32, 1}, {GPUC_DTYPE_INT, 32, 1}};
static const gpuc_kernel_tensor vadd_tensors[] = {
    FLOAT_AT(0, GPUC_ACCESS_READ), FLOAT_AT(1, GPUC_ACCESS_READ), FLOAT_AT(2, GPUC_ACCESS_WRITE)};
static const gpuc_kernel_tensor affine_tensors[] = {FLOAT_AT(0, GPUC_ACCESS_READ),
                                                    FLOAT_AT(1, GPUC_ACCESS_WRITE)};
static const gpuc_kernel_tensor scalars_tensors[] = {
    {.dtype = {GPUC_DTYPE_INT, 32, 1}, .access = GPUC_ACCESS_WRITE, .alignment = 4}};

#define VADD                                                                                                 \
    .name = "vadd", .label = "add", .num_tensors = 3, .num_scalars = 1, .num_bindings = 3,                   \
    .tensors = vadd_tensors, .scalars = vadd_scalars, .cost_bytes = -1, .cost_ops = -1
#define AFFINE AFFINE_AS("affine")
#define AFFINE_AS(n)                                                                                         \
    .name = n, .label = "affine", .num_tensors = 2, .num_scalars = 2, .num_bindings = 2,                     \
    .tensors = affine_tensors, .scalars = affine_scalars, .cost_bytes = -1, .cost_ops = -1
#define SCALARS                                                                                              \
    .name = "scalars", .label = "scalars", .num_tensors = 1, .num_scalars = 4, .num_bindings = 1,            \
    .tensors = scalars_tensors, .scalars = mixed_scalars, .cost_bytes = -1, .cost_ops = -1

static const gpuc_kernel gpu_kernels[] = {
    {VADD, .local_size = {GROUP, 1, 1}, .launch = {GROUPS_OF(0), ONE, ONE}},
    {AFFINE, .local_size = {GROUP, 1, 1}, .launch = {GROUPS_OF(1), ONE, ONE}},
    {SCALARS, .local_size = {1, 1, 1}, .launch = {ONE, ONE, ONE}},
    {AFFINE_AS("affine_rich"), .local_size = {GROUP, 1, 1}, .launch = {GROUPS_OF(1), ONE, ONE}},
};
enum { GPU_KERNELS = sizeof gpu_kernels / sizeof *gpu_kernels };
static const gpuc_kernel cpu_kernels[] = {
    {VADD, .local_size = {1, 1, 1}, .launch = {ONE, ONE, ONE}},
    {AFFINE, .local_size = {1, 1, 1}, .launch = {ONE, ONE, ONE}},
    {SCALARS, .local_size = {1, 1, 1}, .launch = {ONE, ONE, ONE}},
    {.name = "broken", .label = "broken", .local_size = {1, 1, 1}, .launch = {ONE, ONE, ONE}},
    {AFFINE_AS("affine_host"), .local_size = {1, 1, 1}, .launch = {ONE, ONE, ONE}},
    {AFFINE_AS("affine_rich"), .local_size = {1, 1, 1}, .launch = {ONE, ONE, ONE}},
};

/* Its iterations may run one by one. */
static const gpuc_kernel cpu_vadd = {VADD, .local_size = {1, 1, 1}, .launch = {GROUPS_OF(0), ONE, ONE}};

/* Those of the CPU and of devices that a program brings loop over all items. */
const gpuc_kernel *cts_kernel(gpuc_device_type type, int which)
{
    bool loops = type == GPUC_DEVICE_CPU || type >= GPUC_DEVICE_USER_FIRST;
    if (type == GPUC_DEVICE_CPU && which == CTS_VADD) return &cpu_vadd;
    if (loops) return &cpu_kernels[which];
    return which == CTS_AFFINE_RICH ? &gpu_kernels[GPU_KERNELS - 1] : &gpu_kernels[which];
}

typedef struct blob {
    void *bytes;
    size_t size;
} blob;
static blob blobs[8]; /* by type; the first is of a device that a program brings */

static blob *blob_of(gpuc_device_type type)
{
    return &blobs[type < GPUC_DEVICE_USER_FIRST ? type : 0];
}

static gpuc_status keep(gpuc_device_type type, const void *bytes, size_t size)
{
    blob *b = blob_of(type);
    b->bytes = malloc(size);
    if (!b->bytes) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    memcpy(b->bytes, bytes, size);
    b->size = size;
    return NULL;
}

static gpuc_status keep_file(gpuc_device_type type, const char *path)
{
    gpuc_mapping file;
    GPUC_TRY(gpuc_file_map(path, &file));
    gpuc_status s = keep(type, file.data, file.size);
    gpuc_file_unmap(&file);
    return s;
}

static gpuc_status prepare_cpu(void)
{
    char path[] = "/tmp/gpuc-cts-XXXXXX", command[1024];
    int fd = mkstemp(path);
    if (fd < 0) return gpuc_fail(GPUC_IO, "no temporary file");
    close(fd);
    snprintf(command, sizeof command, "cc -shared -fPIC -O1 -o %s %s/cpu.c", path, GPUC_CTS_KERNELS);
    gpuc_status s = system(command) == 0 ? keep_file(GPUC_DEVICE_CPU, path)
                                         : gpuc_fail(GPUC_NOT_FOUND, "no C compiler: '%s' failed", command);
    unlink(path);
    return s;
}

static gpuc_status prepare_opencl(void)
{
    gpuc_mapping file;
    gpuc_buf source, blob;
    GPUC_TRY(gpuc_file_map(GPUC_CTS_KERNELS "/opencl.cl", &file));
    gpuc_buf_init(&source, (gpuc_allocator){0});
    gpuc_buf_init(&blob, (gpuc_allocator){0});
    gpuc_buf_bytes(&source, file.data, file.size);
    gpuc_file_unmap(&file);
    gpuc_buf_u32(&blob, 1);
    gpuc_buf_lstr(&blob, "-cl-std=CL1.2");
    gpuc_buf_lstr(&blob, gpuc_buf_cstr(&source));
    gpuc_buf_u32(&blob, GPU_KERNELS);
    for (int i = 0; i < GPU_KERNELS; i++) {
        for (int k = 0; k < 2; k++)
            gpuc_buf_lstr(&blob, gpu_kernels[i].name); /* is a function of that name */
        gpuc_buf_u32(&blob, 0);
    }
    gpuc_status s = keep(GPUC_DEVICE_OPENCL, blob.data, blob.size);
    gpuc_buf_deinit(&source);
    gpuc_buf_deinit(&blob);
    return s;
}

static gpuc_status prepare_vulkan(void)
{
#ifdef GPUC_CTS_SPIRV
    gpuc_buf blob;
    gpuc_status s = NULL;
    gpuc_buf_init(&blob, (gpuc_allocator){0});
    gpuc_buf_u32(&blob, GPU_KERNELS);
    for (int i = 0; !s && i < GPU_KERNELS; i++) {
        char path[512];
        gpuc_mapping file;
        snprintf(path, sizeof path, "%s/%s.spv", GPUC_CTS_SPIRV, gpu_kernels[i].name);
        s = gpuc_file_map(path, &file);
        if (s) break;
        gpuc_buf_lstr(&blob, gpu_kernels[i].name);
        gpuc_buf_u32(&blob, (uint32_t)(file.size / 4));
        gpuc_buf_bytes(&blob, file.data, file.size);
        gpuc_file_unmap(&file);
    }
    gpuc_buf_u32(&blob, 0); /* none runs another's code */
    if (!s) s = keep(GPUC_DEVICE_VULKAN, blob.data, blob.size);
    gpuc_buf_deinit(&blob);
    return s;
#else
    return gpuc_fail(GPUC_NOT_FOUND, "spirv-as was missing when the suite was built");
#endif
}

static gpuc_status prepare_foo(gpuc_runtime *rt)
{
#ifdef GPUC_CTS_FOO
    gpuc_value code = {.kind = GPUC_VALUE_NULL};
    gpuc_status s = cts_foo_kernels(&code, rt);
    if (!s) s = keep(gpuc_device_type_named("foo"), code.as.bytes.data, code.as.bytes.size);
    gpuc_value_clear(rt, &code);
    return s;
#else
    (void)rt;
    return NULL;
#endif
}

gpuc_status cts_prepare_kernels(gpuc_device_type type, gpuc_runtime *rt)
{
    if (blob_of(type)->bytes) return NULL;
    switch (type) {
    case GPUC_DEVICE_CPU: return prepare_cpu();
    case GPUC_DEVICE_OPENCL: return prepare_opencl();
    case GPUC_DEVICE_VULKAN: return prepare_vulkan();
    }
    return prepare_foo(rt);
}

void cts_forget_kernels(void)
{
    for (size_t i = 0; i < sizeof blobs / sizeof *blobs; i++) free(blobs[i].bytes);
}

gpuc_module_blob cts_blob(gpuc_device_type type)
{
    const blob *b = blob_of(type);
    const char *type_key = type == cts_type ? cts_type_key : "cpu_so"; /* of the fallback device */
    return (gpuc_module_blob){.type_key = type_key, .bytes = b->bytes, .size = b->size};
}

gpuc_code_module *cts_module(cts *c)
{
    const gpuc_kernel *kernels[3];
    for (int i = 0; i < 3; i++) kernels[i] = cts_kernel(cts_type, i);
    gpuc_module_blob blob = cts_blob(cts_type);
    gpuc_code_module *m;
    cts_ok(c->api->module_load(c->dev, blob.type_key, blob.bytes, blob.size, kernels, 3, &m));
    return m;
}

uint32_t cts_kernel_number(cts *c, gpuc_code_module *m, const char *name)
{
    uint32_t number;
    cts_ok(c->api->kernel_get(m, name, &number));
    return number;
}

int64_t cts_float_scalar(float v)
{
    double d = v;
    int64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

void cts_launch(const gpuc_kernel *k, const int64_t *scalars, uint32_t out[3])
{
    for (int i = 0; i < 3; i++) {
        int64_t v;
        cts_ok(gpuc_abi_xexpr_eval(k->launch[i], scalars, k->num_scalars, &v));
        out[i] = (uint32_t)v;
    }
}
