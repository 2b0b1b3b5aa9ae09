/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "runtime_vulkan/khr.h"

#include "../../tools/gpuc/sanitize.h"
#include "../best_practices.h"

static bool strict_by_default;
static uint32_t layer_version; /* of the validation layer; 0: none */

static void on_log(void *user, gpuc_log_level level, const char *id, const char *message)
{
    vk_fixture *f = user;
    (void)level;
    if (strcmp(id, "vulkan.validation") != 0) return;
    if (best_practices_meant(layer_version, message, VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT)) return;
    f->messages++;
    if (strstr(message, "SYNC-HAZARD")) f->hazard_reported = true;
    if (!f->quiet) fprintf(stderr, "%s: %s\n", id, message);
}

static void *counting_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    vk_fixture *f = user;
    void *p = NULL;
    if (new_size)
        p = realloc(ptr, new_size);
    else
        free(ptr);
    if (p || !new_size)
        __atomic_fetch_add(&f->live_bytes, (int64_t)new_size - (int64_t)old_size, __ATOMIC_RELAXED);
    return p;
}

void vk_ok(gpuc_status status)
{
    if (!status) return;
    char text[1024];
    snprintf(text, sizeof text, "%s (%s:%d)", gpuc_status_message(status), gpuc_status_file(status),
             gpuc_status_line(status));
    gpuc_status_release(status);
    fail_msg("%s", text);
}

void vk_fails(gpuc_status status, gpuc_code code, const char *text)
{
    assert_non_null(status);
    char message[1024];
    snprintf(message, sizeof message, "%s", gpuc_status_message(status));
    gpuc_code got = gpuc_status_code(status);
    gpuc_status_release(status);
    if (got != code || !strstr(message, text))
        fail_msg("got %s: %s; wanted %s: ...%s...", gpuc_code_name(got), message, gpuc_code_name(code), text);
}

void vk_init(vk_fixture *f)
{
    *f = (vk_fixture){.strict = strict_by_default, .desc = GPUC_RUNTIME_DESC_INIT};
    f->options.timestamps = true;
    f->desc.allocator = (gpuc_allocator){counting_resize, f};
    f->desc.log = on_log;
    f->desc.log_user = f;
    f->desc.vulkan_validation = true;
}

void vk_open(vk_fixture *f)
{
    vk_ok(gpuc_runtime_create(&f->desc, &f->rt));
    vk_ok(f->strict ? gpuc_vulkan_register_with(f->rt, strict_begin(vk_system_loader(), &f->options))
                    : gpuc_vulkan_register(f->rt));
    vk_ok(gpuc_device_open(f->rt, GPUC_DEVICE_VULKAN, 0, &f->dev));
    f->api = f->dev->api;
}

void vk_close(vk_fixture *f)
{
    gpuc_runtime_release(f->rt);
    if (!f->quiet) assert_int_equal(f->messages, 0);
    assert_int_equal(f->live_bytes, 0);
    if (f->strict) {
        assert_int_equal(strict_violations(), 0);
        assert_int_equal(strict_heap_in_use(), 0);
    }
}

/* Validation layers before SDK 1.3.296 look for hazards between submissions, and for best practices, only if they are told
 * to; for later ones the same words would take back what the runtime asks of them. */
static void ask_for_more(void)
{
    PFN_vkGetInstanceProcAddr get_proc;
    *(void **)&get_proc = vk_system_loader();
    layer_version = get_proc ? best_practices_layer(get_proc) : 0;
    if (!layer_version || layer_version >= VK_MAKE_API_VERSION(0, 1, 3, 296)) return;
    setenv("VK_LAYER_ENABLES",
           best_practices_meant(layer_version, NULL, 0)
               ? "VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT:"
                 "VK_VALIDATION_FEATURE_ENABLE_BEST_PRACTICES_EXT"
               : "VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT",
           1);
}

bool vk_available(int argc, char **argv)
{
    strict_by_default = argc > 1 && strcmp(argv[1], "strict") == 0;
    ask_for_more();
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    gpuc_runtime *rt;
    gpuc_device *dev;
    desc.vulkan_validation = true;
    gpuc_status s = gpuc_runtime_create(&desc, &rt);
    if (!s) s = gpuc_vulkan_register(rt);
    if (!s) s = gpuc_device_open(rt, GPUC_DEVICE_VULKAN, 0, &dev);
    if (s) printf("skipped: %s\n", gpuc_status_message(s));
    cli_keep_drivers_loaded();
    bool available = !s;
    gpuc_status_release(s);
    gpuc_runtime_release(rt);
    return available;
}

void *vk_system_loader(void)
{
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
}

/* ---- Kernels --------------------------------------------------------------------------------- */

#define FLOAT_AT(b, acc)                                                                                     \
    {                                                                                                        \
        .dtype = {GPUC_DTYPE_FLOAT, 32, 1}, .access = (acc), .alignment = 4, .binding = (b)                  \
    }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* A step gives the work-groups itself, so the launch expressions stay empty. */
#define KERNEL(text, bindings, tensor_array, scalar_array)                                                   \
    .name = text, .label = text, .num_tensors = COUNT(tensor_array), .num_scalars = COUNT(scalar_array),     \
    .num_bindings = (bindings), .tensors = (tensor_array), .scalars = (scalar_array)
#define READ GPUC_ACCESS_READ
#define WRITE GPUC_ACCESS_WRITE

static const gpuc_dtype count_scalar[] = {{GPUC_DTYPE_INT, 32, 1}};
static const gpuc_dtype affine_scalars[] = {{GPUC_DTYPE_FLOAT, 32, 1}, {GPUC_DTYPE_INT, 32, 1}};
static const gpuc_dtype mixed_scalars[] = {
    {GPUC_DTYPE_INT, 32, 1}, {GPUC_DTYPE_INT, 64, 1}, {GPUC_DTYPE_FLOAT, 32, 1}, {GPUC_DTYPE_INT, 32, 1}};

static const gpuc_kernel_tensor vadd_tensors[] = {FLOAT_AT(0, READ), FLOAT_AT(1, READ), FLOAT_AT(2, WRITE)};
static const gpuc_kernel_tensor unary_tensors[] = {FLOAT_AT(0, READ), FLOAT_AT(1, WRITE)};
static const gpuc_kernel_tensor shift_tensors[] = {FLOAT_AT(0, READ), FLOAT_AT(0, WRITE)};
static const gpuc_kernel_tensor texel_tensors[] = {
    {{GPUC_DTYPE_FLOAT, 32, 1}, READ, .texel = true, .alignment = 16, .texel_binding = 2},
    FLOAT_AT(1, WRITE)};
static const gpuc_kernel_tensor scalars_tensors[] = {{{GPUC_DTYPE_INT, 32, 1}, WRITE, .alignment = 4}};

const gpuc_kernel vk_vadd = {KERNEL("vadd", 3, vadd_tensors, count_scalar), .local_size = {64, 1, 1},
                             .cost_bytes = -1, .cost_ops = -1};
const gpuc_kernel vk_vadd_uniform = {KERNEL("vadd_uniform", 3, vadd_tensors, count_scalar),
                                     .local_size = {64, 1, 1}, .params_in_buffer = true, .cost_bytes = -1,
                                     .cost_ops = -1};
const gpuc_kernel vk_affine = {KERNEL("affine", 2, unary_tensors, affine_scalars), .local_size = {64, 1, 1},
                               .cost_bytes = 8000, .cost_ops = 1000};
const gpuc_kernel vk_shift = {KERNEL("shift", 1, shift_tensors, count_scalar), .local_size = {64, 1, 1},
                              .cost_bytes = -1, .cost_ops = -1};
const gpuc_kernel vk_texel_copy = {KERNEL("texel_copy", 2, texel_tensors, count_scalar),
                                   .local_size = {64, 1, 1}, .cost_bytes = -1, .cost_ops = -1};
const gpuc_kernel vk_scalars = {KERNEL("scalars", 1, scalars_tensors, mixed_scalars), .local_size = {1, 1, 1},
                                .cost_bytes = -1, .cost_ops = -1};
gpuc_kernel vk_subgroup_sum = {KERNEL("subgroup_sum", 2, unary_tensors, count_scalar),
                               .local_size = {64, 1, 1}, .features = GPUC_FEATURE_SUBGROUP, .cost_bytes = -1,
                               .cost_ops = -1};

static uint32_t *read_words(const char *name, uint32_t *out_count)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.spv", GPUC_TEST_KERNELS, name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("cannot open %s", path);
    fseek(file, 0, SEEK_END);
    size_t bytes = (size_t)ftell(file);
    rewind(file);
    uint32_t *words = malloc(bytes);
    assert_int_equal(fread(words, 1, bytes, file), bytes);
    fclose(file);
    *out_count = (uint32_t)(bytes / 4);
    return words;
}

void *vk_blob(const gpuc_kernel *const *kernels, uint32_t count, size_t *out_size)
{
    gpuc_buf buf;
    gpuc_buf_init(&buf, (gpuc_allocator){0});
    gpuc_buf_u32(&buf, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t n;
        uint32_t *words = read_words(kernels[i]->name, &n);
        gpuc_buf_lstr(&buf, kernels[i]->name);
        gpuc_buf_u32(&buf, n);
        gpuc_buf_bytes(&buf, words, 4 * (size_t)n);
        free(words);
    }
    gpuc_buf_u32(&buf, 0);
    void *bytes = malloc(buf.size);
    memcpy(bytes, buf.data, buf.size);
    *out_size = buf.size;
    gpuc_buf_deinit(&buf);
    return bytes;
}

gpuc_code_module *vk_module(vk_fixture *f, const gpuc_kernel *const *kernels, uint32_t count)
{
    size_t size;
    void *bytes = vk_blob(kernels, count, &size);
    gpuc_code_module *m;
    gpuc_status s = f->api->module_load(f->dev, "spirv", bytes, size, kernels, count, &m);
    free(bytes);
    vk_ok(s);
    return m;
}

gpuc_buffer *vk_buffer(vk_fixture *f, size_t bytes)
{
    gpuc_buffer *b;
    vk_ok(f->api->alloc_data_space(f->dev, bytes, 0, &b));
    return b;
}

void vk_write(vk_fixture *f, gpuc_buffer *b, size_t offset, const void *bytes, size_t size)
{
    vk_ok(f->api->copy_data_from_to(f->dev, (gpuc_copy_end){.host = (void *)bytes},
                                    (gpuc_copy_end){.buffer = b, .offset = offset}, size, NULL));
}

void vk_read(vk_fixture *f, gpuc_buffer *b, size_t offset, void *bytes, size_t size)
{
    vk_ok(f->api->copy_data_from_to(f->dev, (gpuc_copy_end){.buffer = b, .offset = offset},
                                    (gpuc_copy_end){.host = bytes}, size, NULL));
}
