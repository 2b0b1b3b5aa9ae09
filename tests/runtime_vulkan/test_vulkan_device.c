/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>

#include "base/map.h"
#include "fixture.h"

static int64_t attr(vk_fixture *f, gpuc_device_attr a)
{
    gpuc_attr_value v = gpuc_device_get_attr(f->dev, a);
    assert_true(v.known);
    return v.i;
}

static void test_attributes(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    assert_int_equal(attr(&f, GPUC_ATTR_EXISTS), 1);
    assert_true(strlen(gpuc_device_get_attr(f.dev, GPUC_ATTR_NAME).s) > 0);
    assert_true(strlen(gpuc_device_get_attr(f.dev, GPUC_ATTR_DRIVER).s) > 0);
    assert_int_equal(gpuc_device_get_attr(f.dev, GPUC_ATTR_API_VERSION).s[0], '1');
    /* What the specification guarantees. */
    assert_true(attr(&f, GPUC_ATTR_MAX_THREADS_PER_BLOCK) >= 128);
    assert_true(attr(&f, GPUC_ATTR_MAX_BLOCK_X) >= 128);
    assert_true(attr(&f, GPUC_ATTR_MAX_BLOCK_Z) >= 64);
    assert_true(attr(&f, GPUC_ATTR_MAX_GRID_X) >= 65535);
    assert_true(attr(&f, GPUC_ATTR_MAX_SHARED_BYTES) >= 16384);
    assert_true(attr(&f, GPUC_ATTR_MAX_BUFFER_RANGE) >= 1 << 27);
    assert_true(attr(&f, GPUC_ATTR_MAX_STORAGE_BUFFERS) >= 4);
    assert_true(attr(&f, GPUC_ATTR_MAX_PUSH_BYTES) >= 128);
    assert_true(attr(&f, GPUC_ATTR_MAX_TEXELS) >= 65536);
    assert_true(attr(&f, GPUC_ATTR_MAX_ALLOC_BYTES) >= 1 << 30);
    assert_true(attr(&f, GPUC_ATTR_TOTAL_GLOBAL_BYTES) > 0);
    assert_true(attr(&f, GPUC_ATTR_WARP_SIZE) >= 1);
    int64_t align = attr(&f, GPUC_ATTR_BUFFER_ALIGN);
    assert_true(align > 0 && align <= 256 && (align & (align - 1)) == 0);
    if (attr(&f, GPUC_ATTR_FEATURES) & GPUC_FEATURE_SUBGROUP) assert_true(attr(&f, GPUC_ATTR_WARP_SIZE) > 1);
    gpuc_attr_value none;
    vk_ok(f.api->get_attr(f.dev, GPUC_ATTR_VECTOR_BITS, &none));
    assert_false(none.known);
    vk_close(&f);
}

static void test_staging_asked_for(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    f.desc.vulkan_staging = true;
    vk_open(&f);
    assert_int_equal(attr(&f, GPUC_ATTR_UNIFIED_MEMORY), 0);
    gpuc_buffer *b;
    int32_t values[] = {1, 2, 3, 4}, back[4] = {0};
    vk_ok(f.api->alloc_data_space(f.dev, sizeof values, 0, &b));
    assert_null(b->host);
    gpuc_copy_end device = {.buffer = b};
    vk_ok(f.api->copy_data_from_to(f.dev, (gpuc_copy_end){.host = values}, device, sizeof values, NULL));
    vk_ok(f.api->copy_data_from_to(f.dev, device, (gpuc_copy_end){.host = back}, sizeof back, NULL));
    assert_memory_equal(values, back, sizeof values);
    f.api->free_data_space(f.dev, b);
    vk_close(&f);
}

static void test_numbers(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    int count = gpuc_device_count(f.rt, GPUC_DEVICE_VULKAN);
    assert_true(count >= 1);
    gpuc_device *dev;
    vk_ok(gpuc_device_open(f.rt, GPUC_DEVICE_VULKAN, 0, &dev));
    assert_ptr_equal(dev, f.dev);
    vk_fails(gpuc_device_open(f.rt, GPUC_DEVICE_VULKAN, count, &dev), GPUC_NOT_FOUND, "vulkan");
    vk_fails(gpuc_device_open(f.rt, GPUC_DEVICE_VULKAN, -1, &dev), GPUC_NOT_FOUND, "vulkan");
    vk_close(&f);
}

static void test_too_large(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    int64_t max = attr(&f, GPUC_ATTR_MAX_ALLOC_BYTES);
    gpuc_buffer *b;
    vk_fails(f.api->alloc_data_space(f.dev, (size_t)max + 1, 0, &b), GPUC_OUT_OF_DEVICE_MEMORY,
             "bytes of device memory asked for: the largest allocation");
    assert_null(b);
    vk_fails(f.api->alloc_data_space(f.dev, SIZE_MAX, 0, &b), GPUC_OUT_OF_DEVICE_MEMORY,
             "the largest allocation");
    vk_fails(f.api->alloc_data_space(f.dev, 16, 48, &b), GPUC_INVALID_ARGUMENT, "no power of two");
    vk_close(&f);
}

static void test_registry(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    gpuc_function *fn = gpuc_registry_get(f.rt, "device_api.vulkan");
    assert_non_null(fn);
    gpuc_value v = {0};
    vk_ok(gpuc_function_call(fn, NULL, 0, &v));
    assert_ptr_equal(v.as.handle, f.api);
    vk_close(&f);
}

/* An application's own loader function. */
static void test_given_loader(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_ok(gpuc_runtime_create(&f.desc, &f.rt));
    vk_ok(gpuc_vulkan_register_with(f.rt, vk_system_loader()));
    vk_ok(gpuc_device_open(f.rt, GPUC_DEVICE_VULKAN, 0, &f.dev));
    f.api = f.dev->api;
    gpuc_buffer *b = vk_buffer(&f, 16);
    int32_t in = 7, out = 0;
    vk_write(&f, b, 4, &in, 4);
    vk_read(&f, b, 4, &out, 4);
    assert_int_equal(out, 7);
    f.api->free_data_space(f.dev, b);
    vk_close(&f);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL no_functions(VkInstance instance, const char *name)
{
    (void)instance;
    (void)name;
    return NULL;
}

static void test_empty_loader(void **state)
{
    (void)state;
    vk_fixture f;
    gpuc_device *dev;
    vk_init(&f);
    vk_ok(gpuc_runtime_create(&f.desc, &f.rt));
    vk_ok(gpuc_vulkan_register_with(f.rt, (void *)(uintptr_t)no_functions));
    assert_int_equal(gpuc_device_count(f.rt, GPUC_DEVICE_VULKAN), 0);
    vk_fails(gpuc_device_open(f.rt, GPUC_DEVICE_VULKAN, 0, &dev), GPUC_DEVICE_UNAVAILABLE,
             "vkCreateInstance");
    vk_close(&f);
}

/* ---- Priorities: a loader whose devices have them, which the driver does not get to see ---- */

typedef struct priority_mock {
    const char *extension; /* that the device has; NULL: none */
    bool refuse;           /* a priority among all */
    float among_own;
    VkQueueGlobalPriorityKHR among_all; /* 0: none was asked for */
    int notes;
} priority_mock;
static priority_mock mock;
static PFN_vkGetInstanceProcAddr mocked;
static VkInstance mocked_instance;

static VKAPI_ATTR VkResult VKAPI_CALL mock_extensions(VkPhysicalDevice d, const char *layer, uint32_t *count,
                                                      VkExtensionProperties *out)
{
    PFN_vkEnumerateDeviceExtensionProperties real = (PFN_vkEnumerateDeviceExtensionProperties)mocked(
        mocked_instance, "vkEnumerateDeviceExtensionProperties");
    VkResult r = real(d, layer, count, out);
    for (uint32_t i = 0; out && i < *count; i++) /* the driver's own are not tested */
        if (strstr(out[i].extensionName, "_global_priority")) strcpy(out[i].extensionName, "VK_KHR_none");
    if (r < 0 || layer || !mock.extension) return r;
    if (out) strcpy(out[*count].extensionName, mock.extension);
    ++*count;
    return r;
}

static VKAPI_ATTR VkResult VKAPI_CALL mock_create_device(VkPhysicalDevice d, const VkDeviceCreateInfo *info,
                                                         const VkAllocationCallbacks *callbacks,
                                                         VkDevice *out)
{
    PFN_vkCreateDevice real = (PFN_vkCreateDevice)mocked(mocked_instance, "vkCreateDevice");
    VkDeviceQueueCreateInfo queue = info->pQueueCreateInfos[0];
    const VkDeviceQueueGlobalPriorityCreateInfoKHR *global = queue.pNext;
    const char *extensions[64];
    VkDeviceCreateInfo plain = *info;
    assert_int_equal(info->queueCreateInfoCount, 1);
    plain.pQueueCreateInfos = &queue;
    plain.ppEnabledExtensionNames = extensions;
    plain.enabledExtensionCount = 0;
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (!mock.extension || strcmp(info->ppEnabledExtensionNames[i], mock.extension) != 0)
            extensions[plain.enabledExtensionCount++] = info->ppEnabledExtensionNames[i];
    assert_int_equal(info->enabledExtensionCount - plain.enabledExtensionCount,
                     mock.among_all || global ? 1 : 0);
    mock.among_own = queue.pQueuePriorities[0];
    queue.pNext = NULL;
    if (global) {
        assert_int_equal(global->sType, VK_STRUCTURE_TYPE_DEVICE_QUEUE_GLOBAL_PRIORITY_CREATE_INFO_KHR);
        mock.among_all = global->globalPriority;
        if (mock.refuse) return VK_ERROR_NOT_PERMITTED_KHR;
    }
    return real(d, &plain, callbacks, out);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL mock_proc(VkInstance instance, const char *name)
{
    if (instance) mocked_instance = instance;
    if (strcmp(name, "vkEnumerateDeviceExtensionProperties") == 0) return (PFN_vkVoidFunction)mock_extensions;
    if (strcmp(name, "vkCreateDevice") == 0) return (PFN_vkVoidFunction)mock_create_device;
    return mocked(instance, name);
}

static void count_note(void *user, gpuc_log_level level, const char *id, const char *message)
{
    (void)user;
    (void)level;
    (void)message;
    if (strcmp(id, "vulkan.priority") == 0) mock.notes++;
}

static void test_priorities(void **state)
{
    (void)state;
    static const struct {
        gpuc_queue_priority priority;
        const char *extension;
        bool refuse;
        float among_own;
        VkQueueGlobalPriorityKHR among_all;
        int notes;
    } rows[] = {
        {GPUC_QUEUE_PRIORITY_DEFAULT, "VK_KHR_global_priority", false, 0.5f, 0, 0},
        {GPUC_QUEUE_PRIORITY_LOW, "VK_KHR_global_priority", false, 0, VK_QUEUE_GLOBAL_PRIORITY_LOW_KHR, 0},
        {GPUC_QUEUE_PRIORITY_HIGH, "VK_EXT_global_priority", false, 1, VK_QUEUE_GLOBAL_PRIORITY_HIGH_KHR, 0},
        {GPUC_QUEUE_PRIORITY_HIGH, "VK_KHR_global_priority", true, 1, VK_QUEUE_GLOBAL_PRIORITY_HIGH_KHR, 1},
        {GPUC_QUEUE_PRIORITY_LOW, NULL, false, 0, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vk_fixture f;
        vk_init(&f);
        f.desc.queue_priority = rows[i].priority;
        f.desc.log = count_note;
        mock = (priority_mock){.extension = rows[i].extension, .refuse = rows[i].refuse};
        *(void **)&mocked = f.strict ? strict_begin(vk_system_loader(), &f.options) : vk_system_loader();
        vk_ok(gpuc_runtime_create(&f.desc, &f.rt));
        vk_ok(gpuc_vulkan_register_with(f.rt, (void *)(uintptr_t)mock_proc));
        vk_ok(gpuc_device_open(f.rt, GPUC_DEVICE_VULKAN, 0, &f.dev));
        assert_true(mock.among_own == rows[i].among_own);
        assert_int_equal(mock.among_all, rows[i].among_all);
        assert_int_equal(mock.notes, rows[i].notes);
        vk_close(&f);
    }
}

/* ---- Pipeline cache -------------------------------------------------------------------------- */

typedef struct store {
    char key[256];
    uint8_t *bytes;
    size_t size;
    int loads, stores, notes;
} store;

static bool cache_load(void *user, const char *key, const void **bytes, size_t *size)
{
    store *s = user;
    s->loads++;
    if (!s->bytes || strcmp(key, s->key) != 0) return false;
    *bytes = s->bytes;
    *size = s->size;
    return true;
}

static void cache_store(void *user, const char *key, const void *bytes, size_t size)
{
    store *s = user;
    s->stores++;
    snprintf(s->key, sizeof s->key, "%s", key);
    free(s->bytes);
    s->bytes = malloc(size);
    memcpy(s->bytes, bytes, size);
    s->size = size;
}

static void load_vadd(store *s)
{
    vk_fixture f;
    const gpuc_kernel *kernels[] = {&vk_vadd};
    vk_init(&f);
    f.desc.cache_load = cache_load;
    f.desc.cache_store = cache_store;
    f.desc.cache_user = s;
    vk_open(&f);
    f.api->module_release(f.dev, vk_module(&f, kernels, 1));
    f.api->store_cache(f.dev);
    vk_close(&f);
}

static void test_pipeline_cache(void **state)
{
    (void)state;
    store s = {0};
    load_vadd(&s);
    assert_int_equal(s.loads, 1);
    assert_int_equal(s.stores, 1);
    assert_true(s.size > 16);
    assert_memory_equal(s.key, "vulkan-pipelines-", 17);
    for (const char *c = s.key; *c; c++) assert_non_null(strchr("abcdefghijklmnopqrstuvwxyz0123456789-", *c));
    load_vadd(&s);
    assert_int_equal(s.loads, 2);
    assert_int_equal(s.stores, 1); /* nothing new */
    s.bytes[s.size - 1] ^= 1;      /* a damaged one is not handed to the driver */
    load_vadd(&s);
    assert_int_equal(s.stores, 2);
    free(s.bytes);
}

static void cache_log(void *user, gpuc_log_level level, const char *id, const char *message)
{
    (void)level;
    (void)message;
    if (strcmp(id, "vulkan.cache") == 0) ((store *)user)->notes++;
}

/* Opens a device with a cache of these bytes: it must be refused, and said so. */
static void refuse(store *s, const void *bytes, size_t size, const char *what)
{
    store damaged = {.bytes = malloc(size + 1), .size = size};
    vk_fixture f;
    snprintf(damaged.key, sizeof damaged.key, "%s", s->key);
    memcpy(damaged.bytes, bytes, size);
    vk_init(&f);
    f.desc.cache_load = cache_load;
    f.desc.cache_user = f.desc.log_user = &damaged;
    f.desc.log = cache_log;
    vk_open(&f);
    vk_close(&f);
    if (damaged.loads != 1 || damaged.notes != 1) fail_msg("%s: %d notes", what, damaged.notes);
    free(damaged.bytes);
}

/* Only bytes that this very driver gave, and that nothing happened to, reach it. */
static void test_damaged_caches(void **state)
{
    (void)state;
    enum { WRAP = 16, HEADER = 32, ROOM = 1 << 20 };
    static uint8_t bytes[ROOM];
    store s = {0};
    uint32_t random = 12345;
    load_vadd(&s);
    assert_true(s.size >= WRAP + HEADER && s.size < ROOM / 2);
    for (int i = 0; i < 24; i++) { /* flipped bits */
        memcpy(bytes, s.bytes, s.size);
        for (int k = 0; k <= i % 3; k++) {
            random = random * 1664525u + 1013904223u;
            size_t bit = (random >> 4) % (8 * s.size);
            bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        if (memcmp(bytes, s.bytes, s.size) != 0) refuse(&s, bytes, s.size, "flipped bits");
    }
    memcpy(bytes, s.bytes, s.size);
    for (size_t size = 0; size < s.size; size += size < 20 ? 5 : s.size / 5)
        refuse(&s, bytes, size, "cut off"); /* also empty */
    refuse(&s, bytes, s.size + 1, "longer");
    refuse(&s, bytes, ROOM, "huge");
    static const size_t fields[] = {0, 4, 8, 12, 16, 31}; /* size, version, vendor, device, UUID */
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        memcpy(bytes, s.bytes, s.size);
        if (fields[i] == 0)
            bytes[WRAP] = 4; /* smaller than a header */
        else
            bytes[WRAP + fields[i]] ^= 0x21;
        /* Of another driver, but whole: the checksum is right. */
        uint64_t sum = gpuc_hash_bytes(bytes + WRAP, s.size - WRAP, 0);
        memcpy(bytes + 8, &sum, sizeof sum);
        refuse(&s, bytes, s.size, "another header");
    }
    free(s.bytes);
}

/* ---- Bad modules ----------------------------------------------------------------------------- */

static void test_bad_modules(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    vk_open(&f);
    const gpuc_kernel *kernels[] = {&vk_vadd, &vk_affine};
    size_t size;
    gpuc_code_module *m;
    uint8_t *bytes = vk_blob(kernels, 2, &size);
    vk_fails(f.api->module_load(f.dev, "opencl_c", bytes, size, kernels, 2, &m), GPUC_UNSUPPORTED,
             "opencl_c");
    for (size_t cut = 0; cut < size; cut += cut < 64 ? 1 : 97)
        vk_fails(f.api->module_load(f.dev, "spirv", bytes, cut, kernels, 2, &m), GPUC_INVALID_DATA, "SPIR-V");
    const gpuc_kernel *missing[] = {&vk_shift};
    vk_fails(f.api->module_load(f.dev, "spirv", bytes, size, missing, 1, &m), GPUC_INVALID_DATA,
             "there is no code for kernel shift");
    bytes[4 + 12 + 4] ^= 0xff; /* the magic number of the first */
    vk_fails(f.api->module_load(f.dev, "spirv", bytes, size, kernels, 2, &m), GPUC_INVALID_DATA,
             "is not SPIR-V");
    free(bytes);

    gpuc_kernel greedy = vk_vadd;
    const gpuc_kernel *one[] = {&greedy};
    bytes = vk_blob(kernels, 1, &size);
    greedy.features = GPUC_FEATURE_COOPMAT;
    vk_fails(f.api->module_load(f.dev, "spirv", bytes, size, one, 1, &m), GPUC_DEVICE_UNAVAILABLE, "lacks");
    greedy.features = 0;
    greedy.shared_bytes = 1 << 30;
    vk_fails(f.api->module_load(f.dev, "spirv", bytes, size, one, 1, &m), GPUC_DEVICE_UNAVAILABLE,
             "1073741824 bytes of shared memory");
    greedy.shared_bytes = 0;
    greedy.local_size[0] = 1 << 20;
    vk_fails(f.api->module_load(f.dev, "spirv", bytes, size, one, 1, &m), GPUC_DEVICE_UNAVAILABLE,
             "work-group");
    free(bytes);

    gpuc_code_module *good = vk_module(&f, kernels, 2);
    uint32_t number;
    vk_ok(f.api->kernel_get(good, "affine", &number));
    assert_int_equal(number, 1);
    vk_fails(f.api->kernel_get(good, "none", &number), GPUC_NOT_FOUND, "none");
    f.api->module_release(f.dev, good);
    vk_close(&f);
}

/* Enough kernels for several threads. */
static void test_many_kernels(void **state)
{
    (void)state;
    vk_fixture f;
    vk_init(&f);
    f.desc.num_threads = 4;
    vk_open(&f);
    const gpuc_kernel *all[] = {&vk_vadd,  &vk_vadd_uniform, &vk_affine,
                                &vk_shift, &vk_texel_copy,   &vk_scalars};
    const gpuc_kernel *kernels[48];
    gpuc_kernel copies[48];
    for (int i = 0; i < 48; i++) {
        copies[i] = *all[i % 6];
        kernels[i] = &copies[i];
    }
    /* Names repeat: the first code of a name serves the first kernel of it, and so on. */
    gpuc_code_module *m = vk_module(&f, kernels, 48);
    f.api->module_release(f.dev, m);
    vk_close(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attributes),        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_too_large),         cmocka_unit_test(test_registry),
        cmocka_unit_test(test_given_loader),      cmocka_unit_test(test_empty_loader),
        cmocka_unit_test(test_pipeline_cache),    cmocka_unit_test(test_damaged_caches),
        cmocka_unit_test(test_bad_modules),       cmocka_unit_test(test_many_kernels),
        cmocka_unit_test(test_staging_asked_for), cmocka_unit_test(test_priorities),
    };
    return vk_run_tests(argc, argv, tests);
}
