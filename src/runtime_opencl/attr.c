/* SPDX-License-Identifier: Apache-2.0 */
/* Asks an OpenCL device for its attributes. */
#include "runtime_opencl/cl.h"

#include <stdio.h>
#include <string.h>

/* cl_ext_float_atomics */
#define DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT 0x4231
#define DEVICE_GLOBAL_FP_ATOMIC_ADD_EXT (1u << 1)
/* cl_nv_device_attribute_query */
#define DEVICE_COMPUTE_CAPABILITY_MAJOR_NV 0x4000
#define DEVICE_COMPUTE_CAPABILITY_MINOR_NV 0x4001
#define DEVICE_REGISTERS_PER_BLOCK_NV 0x4002

/* A query that fails leaves the value as it was: zero. */
static void get(gpuc_cl_device *dev, cl_device_info what, size_t size, void *out)
{
    unsigned char bytes[64];
    size_t got = 0;
    if (dev->fn->GetDeviceInfo(dev->id, what, sizeof bytes, bytes, &got) == CL_SUCCESS && got == size)
        memcpy(out, bytes, size);
}

static cl_uint get_uint(gpuc_cl_device *dev, cl_device_info what)
{
    cl_uint v = 0;
    get(dev, what, sizeof v, &v);
    return v;
}

static cl_ulong get_ulong(gpuc_cl_device *dev, cl_device_info what)
{
    cl_ulong v = 0;
    get(dev, what, sizeof v, &v);
    return v;
}

static size_t get_size(gpuc_cl_device *dev, cl_device_info what)
{
    size_t v = 0;
    get(dev, what, sizeof v, &v);
    return v;
}

static void copy_trimmed(char *out, size_t out_size, const char *text)
{
    while (*text == ' ') text++;
    snprintf(out, out_size, "%s", text);
    for (size_t n = strlen(out); n > 0 && out[n - 1] == ' '; n--) out[n - 1] = 0;
}

static void copy_text(gpuc_cl_device *dev, cl_device_info what, char *out, size_t out_size)
{
    char text[1024] = "";
    if (dev->fn->GetDeviceInfo(dev->id, what, sizeof text - 1, text, NULL) != CL_SUCCESS) text[0] = 0;
    copy_trimmed(out, out_size, text);
}

static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == 0 || p[n] == ' ')) return true;
    return false;
}

static uint32_t query_features(gpuc_cl_device *dev, const char *extensions, bool full_profile)
{
    uint32_t f = GPUC_FEATURE_INT8 | GPUC_FEATURE_INT16 | GPUC_FEATURE_STORAGE8 | GPUC_FEATURE_STORAGE16;
    if (get_uint(dev, CL_DEVICE_IMAGE_SUPPORT)) f |= GPUC_FEATURE_IMAGES | GPUC_FEATURE_IMAGE_ANY_FORMAT;
    if (full_profile || has_word(extensions, "cles_khr_int64")) f |= GPUC_FEATURE_INT64;
    if (has_word(extensions, "cl_khr_fp16")) f |= GPUC_FEATURE_FLOAT16;
    if (has_word(extensions, "cl_khr_fp64") || get_ulong(dev, CL_DEVICE_DOUBLE_FP_CONFIG) != 0)
        f |= GPUC_FEATURE_FLOAT64;
    if (has_word(extensions, "cl_khr_subgroups") || has_word(extensions, "cl_intel_subgroups"))
        f |= GPUC_FEATURE_SUBGROUP;
    if (has_word(extensions, "cl_khr_subgroup_shuffle") || has_word(extensions, "cl_intel_subgroups"))
        f |= GPUC_FEATURE_SUBGROUP_SHUFFLE;
    if (has_word(extensions, "cl_khr_integer_dot_product")) f |= GPUC_FEATURE_DOT_PRODUCT;
    if (has_word(extensions, "cl_ext_float_atomics") &&
        (get_ulong(dev, DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT) & DEVICE_GLOBAL_FP_ATOMIC_ADD_EXT))
        f |= GPUC_FEATURE_ATOMIC_FLOAT;
    return f;
}

static void query_platform(gpuc_cl_device *dev)
{
    char text[512] = "";
    if (dev->fn->GetPlatformInfo(dev->platform, CL_PLATFORM_NAME, sizeof text - 1, text, NULL) != CL_SUCCESS)
        text[0] = 0;
    copy_trimmed(dev->caps.platform, sizeof dev->caps.platform, text);
}

/* AMD's drivers name devices by their instruction set: "gfx1030", "gfx90a:sramecc+:xnack-". */
static bool is_gfx(const gpuc_cl_caps *c)
{
    return strncmp(c->name, "gfx", 3) == 0;
}

static void query_compute(gpuc_cl_device *dev)
{
    gpuc_cl_caps *c = &dev->caps;
    c->clock_mhz = get_uint(dev, CL_DEVICE_MAX_CLOCK_FREQUENCY);
    c->l2_bytes = get_ulong(dev, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    c->registers = get_uint(dev, DEVICE_REGISTERS_PER_BLOCK_NV);
    cl_uint major = get_uint(dev, DEVICE_COMPUTE_CAPABILITY_MAJOR_NV);
    if (major) {
        cl_uint minor = get_uint(dev, DEVICE_COMPUTE_CAPABILITY_MINOR_NV);
        snprintf(c->compute, sizeof c->compute, "%u.%u", major, minor);
    } else if (is_gfx(c)) {
        snprintf(c->compute, sizeof c->compute, "%.*s", (int)strcspn(c->name, ":"), c->name);
    }
}

gpuc_status gpuc_cl_caps_query(gpuc_cl_device *dev)
{
    gpuc_cl_caps *c = &dev->caps;
    char driver[96], profile[32];
    query_platform(dev);
    copy_text(dev, CL_DEVICE_NAME, c->name, sizeof c->name);
    copy_text(dev, CL_DEVICE_VERSION, c->version, sizeof c->version);
    copy_text(dev, CL_DRIVER_VERSION, driver, sizeof driver);
    copy_text(dev, CL_DEVICE_PROFILE, profile, sizeof profile);
    snprintf(c->driver, sizeof c->driver, "%s %s", c->platform, driver);

    int major = 0, minor = 0;
    if (sscanf(c->version, "OpenCL %d.%d", &major, &minor) != 2 || major < 1 || (major == 1 && minor < 2))
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "'%s' has '%s', but OpenCL 1.2 is needed", c->name,
                         c->version);
    if (!get_uint(dev, CL_DEVICE_AVAILABLE))
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "'%s' is not available (CL_DEVICE_AVAILABLE)", c->name);

    /* pocl compiles at the first launch, and keeps on disk what it compiled. Taking a binary compiles every
     * kernel once more, for any local size, which takes twice as long. */
    c->is_pocl = strcmp(c->platform, "Portable Computing Language") == 0;
    c->is_cpu = get_ulong(dev, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU;
    c->unified = get_uint(dev, CL_DEVICE_HOST_UNIFIED_MEMORY);
    c->has_compiler = get_uint(dev, CL_DEVICE_COMPILER_AVAILABLE);
    c->max_group = get_size(dev, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    for (int i = 0; i < 3; i++) c->max_items[i] = 1;
    get(dev, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof c->max_items, c->max_items);
    c->local_bytes = get_ulong(dev, CL_DEVICE_LOCAL_MEM_SIZE);
    c->global_bytes = get_ulong(dev, CL_DEVICE_GLOBAL_MEM_SIZE);
    c->max_alloc = get_ulong(dev, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    c->compute_units = get_uint(dev, CL_DEVICE_MAX_COMPUTE_UNITS);
    c->base_align = get_uint(dev, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
    c->vector_bits = 32 * get_uint(dev, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    query_compute(dev);
    c->max_params = get_size(dev, CL_DEVICE_MAX_PARAMETER_SIZE);
    c->max_texels = get_size(dev, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE);
    c->max_image[0] = get_size(dev, CL_DEVICE_IMAGE2D_MAX_WIDTH);
    c->max_image[1] = get_size(dev, CL_DEVICE_IMAGE2D_MAX_HEIGHT);

    size_t size = 0;
    GPUC_CL_TRY("clGetDeviceInfo", dev->fn->GetDeviceInfo(dev->id, CL_DEVICE_EXTENSIONS, 0, NULL, &size));
    char *extensions = gpuc_mem_alloc(dev->allocator, size + 1);
    if (!extensions)
        return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for the extensions of '%s'", c->name);
    cl_int error = dev->fn->GetDeviceInfo(dev->id, CL_DEVICE_EXTENSIONS, size, extensions, NULL);
    c->features = query_features(dev, extensions, strcmp(profile, "EMBEDDED_PROFILE") != 0);
    if (gpuc_runtime_get_desc(dev->base.runtime)->queue_priority) {
        c->priorities = major > 1 && dev->fn->CreateCommandQueueWithProperties &&
                        has_word(extensions, "cl_khr_priority_hints");
        if (!c->priorities)
            gpuc_runtime_log(dev->base.runtime, GPUC_LOG_INFO, "opencl.priority",
                             "'%s' has no queue_priority", c->name);
    }
    gpuc_mem_free(dev->allocator, extensions, size + 1);
    return error == CL_SUCCESS ? NULL : gpuc_cl_fail("clGetDeviceInfo", error);
}

static gpuc_attr_value number(uint64_t i)
{
    return (gpuc_attr_value){.known = i <= INT64_MAX, .i = (int64_t)i};
}

/* Unknown where it is 0. */
static gpuc_attr_value positive(uint64_t i)
{
    return i ? number(i) : (gpuc_attr_value){0};
}

static gpuc_attr_value text(const char *s)
{
    return (gpuc_attr_value){.known = true, .s = s};
}

/* Each tensor takes a pointer and an offset; the rest is left to scalars. */
#define PARAM_BYTES_FOR_SCALARS 128
#define PARAM_BYTES_OF_TENSOR 12

gpuc_status gpuc_cl_get_attr(gpuc_device *device, gpuc_device_attr attr, gpuc_attr_value *out)
{
    const gpuc_cl_caps *c = &((const gpuc_cl_device *)device)->caps;
    *out = (gpuc_attr_value){0};
    switch (attr) {
    case GPUC_ATTR_EXISTS: *out = number(1); break;
    case GPUC_ATTR_NAME: *out = text(c->name); break;
    case GPUC_ATTR_DRIVER: *out = text(c->driver); break;
    case GPUC_ATTR_IS_SOFTWARE: *out = number(c->is_cpu); break;
    case GPUC_ATTR_API_VERSION: *out = text(c->version); break;
    case GPUC_ATTR_MAX_THREADS_PER_BLOCK: *out = number(c->max_group); break;
    case GPUC_ATTR_MAX_BLOCK_X: *out = number(c->max_items[0]); break;
    case GPUC_ATTR_MAX_BLOCK_Y: *out = number(c->max_items[1]); break;
    case GPUC_ATTR_MAX_BLOCK_Z: *out = number(c->max_items[2]); break;
    case GPUC_ATTR_MAX_GRID_X:
    case GPUC_ATTR_MAX_GRID_Y:
    case GPUC_ATTR_MAX_GRID_Z: *out = number(INT32_MAX); break;
    case GPUC_ATTR_MAX_SHARED_BYTES: *out = number(c->local_bytes); break;
    case GPUC_ATTR_WARP_SIZE: *out = number(1); break;
    case GPUC_ATTR_MULTI_PROCESSOR_COUNT: *out = number(c->compute_units); break;
    case GPUC_ATTR_TOTAL_GLOBAL_BYTES: *out = number(c->global_bytes); break;
    case GPUC_ATTR_MAX_ALLOC_BYTES:
    case GPUC_ATTR_MAX_BUFFER_RANGE: *out = number(c->max_alloc); break;
    case GPUC_ATTR_MAX_STORAGE_BUFFERS:
        if (c->max_params > PARAM_BYTES_FOR_SCALARS)
            *out = number((c->max_params - PARAM_BYTES_FOR_SCALARS) / PARAM_BYTES_OF_TENSOR);
        break;
    case GPUC_ATTR_MAX_PUSH_BYTES: *out = number(c->max_params); break;
    case GPUC_ATTR_MAX_TEXELS: *out = number(c->max_texels); break;
    case GPUC_ATTR_MAX_IMAGE_WIDTH: *out = number(c->max_image[0]); break;
    case GPUC_ATTR_MAX_IMAGE_HEIGHT: *out = number(c->max_image[1]); break;
    case GPUC_ATTR_BUFFER_ALIGN: *out = number(c->base_align); break;
    case GPUC_ATTR_UNIFIED_MEMORY: *out = number(c->unified); break;
    case GPUC_ATTR_FEATURES: *out = number(c->features); break;
    /* The size is an attribute in the source (cl_intel_required_subgroup_size), which generated code does not
     * write. */
    case GPUC_ATTR_SUBGROUP_SIZE_CONTROL: *out = number(0); break;
    case GPUC_ATTR_VECTOR_BITS: *out = positive(c->vector_bits); break;
    case GPUC_ATTR_COMPUTE_VERSION: *out = text(*c->compute ? c->compute : c->version); break;
    case GPUC_ATTR_GCN_ARCH:
        if (is_gfx(c)) *out = text(c->compute);
        break;
    case GPUC_ATTR_MAX_CLOCK_RATE: *out = positive(UINT64_C(1000) * c->clock_mhz); break;
    case GPUC_ATTR_MAX_REGISTERS: *out = positive(c->registers); break;
    case GPUC_ATTR_L2_CACHE_BYTES: *out = positive(c->l2_bytes); break;
    case GPUC_ATTR_MAX_ITERATIONS:
        /* Mesa's rusticl on llvmpipe: as in Vulkan, no query tells. */
        if (strstr(c->name, "llvmpipe")) *out = number(65535);
        break;
    case GPUC_ATTR_MAX_THREAD_DIMENSIONS:
    case GPUC_ATTR_AVAILABLE_GLOBAL_BYTES:
    case GPUC_ATTR_INSTRUCTION_SETS:
    case GPUC_ATTR_COUNT: break;
    }
    return NULL;
}
