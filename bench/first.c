/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc-first [--prepare] [--defer] PACKAGE DEVICE CACHE: what the first launch of a network waits for. Opens the
 * device, loads the package, and runs it, with what the driver compiled in the folder CACHE; bench/first.py --starts
 * starts it with empty caches, and again. Prints milliseconds of each stage, and of these the driver's: compiling
 * (vkCreateComputePipelines, clBuildProgram) and waiting for launches, the first of which compile as well. The rest is
 * what the runtime takes, and what drivers take to start; copies of weights are in it. Processor time is that of all
 * threads: what to compare on a machine that others use. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gpuc/devices.h>

#include "base/file.h"
#include "runtime_opencl/cl.h"
#include "runtime_opencl/testing.h"
#include "runtime_vulkan/functions.h"

static double clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* ---- Calls of drivers that are measured ---- */

/* Milliseconds, and those of processors in the meantime. */
typedef struct span {
    double wall, cpu;
} span;

static span in_driver, in_wait; /* compiling; waiting for the device */
static int parts;

static span time_now(void)
{
    return (span){clock_ms(CLOCK_MONOTONIC), clock_ms(CLOCK_PROCESS_CPUTIME_ID)};
}

static void add_since(span *sum, span start)
{
    span t = time_now();
    sum->wall += t.wall - start.wall;
    sum->cpu += t.cpu - start.cpu;
}

static PFN_vkGetInstanceProcAddr get_instance_proc;
static PFN_vkGetDeviceProcAddr get_device_proc;
static PFN_vkCreateComputePipelines create_pipelines;
static PFN_vkWaitForFences wait_for_fences;

static VKAPI_ATTR VkResult VKAPI_CALL timed_pipelines(VkDevice dev, VkPipelineCache cache, uint32_t count,
                                                      const VkComputePipelineCreateInfo *infos,
                                                      const VkAllocationCallbacks *callbacks, VkPipeline *out)
{
    span start = time_now();
    VkResult r = create_pipelines(dev, cache, count, infos, callbacks, out);
    add_since(&in_driver, start);
    parts += (int)count;
    return r;
}

static VKAPI_ATTR VkResult VKAPI_CALL timed_wait(VkDevice dev, uint32_t count, const VkFence *fences,
                                                 VkBool32 all, uint64_t timeout)
{
    span start = time_now();
    VkResult r = wait_for_fences(dev, count, fences, all, timeout);
    add_since(&in_wait, start);
    return r;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_proc(VkDevice dev, const char *name)
{
    PFN_vkVoidFunction f = get_device_proc(dev, name);
    if (strcmp(name, "vkCreateComputePipelines") == 0) {
        create_pipelines = (PFN_vkCreateComputePipelines)f;
        return (PFN_vkVoidFunction)timed_pipelines;
    }
    if (strcmp(name, "vkWaitForFences") == 0) {
        wait_for_fences = (PFN_vkWaitForFences)f;
        return (PFN_vkVoidFunction)timed_wait;
    }
    return f;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_proc(VkInstance instance, const char *name)
{
    PFN_vkVoidFunction f = get_instance_proc(instance, name);
    if (strcmp(name, "vkGetDeviceProcAddr") != 0) return f;
    get_device_proc = (PFN_vkGetDeviceProcAddr)f;
    return (PFN_vkVoidFunction)device_proc;
}

static __typeof__(clBuildProgram) *build_program;
static __typeof__(clFinish) *finish;
static __typeof__(clWaitForEvents) *wait_for_events;

static cl_int CL_API_CALL timed_build(cl_program program, cl_uint count, const cl_device_id *devices,
                                      const char *options, void(CL_CALLBACK *done)(cl_program, void *),
                                      void *user)
{
    span start = time_now();
    cl_int r = build_program(program, count, devices, options, done, user);
    add_since(&in_driver, start);
    parts++;
    return r;
}

static cl_int CL_API_CALL timed_finish(cl_command_queue queue)
{
    span start = time_now();
    cl_int r = finish(queue);
    add_since(&in_wait, start);
    return r;
}

static cl_int CL_API_CALL timed_events(cl_uint count, const cl_event *events)
{
    span start = time_now();
    cl_int r = wait_for_events(count, events);
    add_since(&in_wait, start);
    return r;
}

static void *find_opencl(void *library, const char *name)
{
    void *f = dlsym(library, name);
    if (strcmp(name, "clBuildProgram") == 0) {
        memcpy(&build_program, &f, sizeof f);
        return (void *)(uintptr_t)timed_build;
    }
    if (strcmp(name, "clFinish") == 0) {
        memcpy(&finish, &f, sizeof f);
        return (void *)(uintptr_t)timed_finish;
    }
    if (strcmp(name, "clWaitForEvents") == 0) {
        memcpy(&wait_for_events, &f, sizeof f);
        return (void *)(uintptr_t)timed_events;
    }
    return f;
}

static gpuc_status register_devices(gpuc_runtime *rt)
{
    void *vulkan = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_NODELETE);
    void *opencl = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_NODELETE);
    GPUC_TRY(gpuc_cpu_register(rt));
    if (vulkan) {
        *(void **)&get_instance_proc = dlsym(vulkan, "vkGetInstanceProcAddr");
        GPUC_TRY(gpuc_vulkan_register_with(rt, (void *)(uintptr_t)instance_proc));
    }
    return opencl ? gpuc_cl_register_with(rt, find_opencl, opencl) : NULL;
}

/* ---- A cache in a folder ---- */

static bool cache_load(void *user, const char *key, const void **bytes, size_t *size)
{
    static _Thread_local gpuc_mapping last;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", (const char *)user, key);
    gpuc_file_unmap(&last);
    gpuc_status s = gpuc_file_map(path, &last);
    gpuc_status_release(s);
    if (s) return false;
    *bytes = last.data;
    *size = last.size;
    return true;
}

static void cache_store(void *user, const char *key, const void *bytes, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", (const char *)user, key);
    FILE *f = fopen(path, "wb");
    if (!f) return;
    fwrite(bytes, 1, size, f);
    fclose(f);
}

/* ---- Stages ---- */

static span last, last_driver, last_wait;
static struct {
    span all, compiling, launches;
} sum;

static span minus(span a, span b)
{
    return (span){a.wall - b.wall, a.cpu - b.cpu};
}

static void add(span *to, span a)
{
    to->wall += a.wall;
    to->cpu += a.cpu;
}

static void print(const char *name, span all, span compiling, span launches)
{
    span left = minus(minus(all, compiling), launches);
    printf("%-8s %9.1f ms; compiling %9.1f, launches %9.1f, rest %7.1f, processor %7.1f\n", name, all.wall,
           compiling.wall, launches.wall, left.wall, left.cpu);
}

/* Ends a stage. Waits are for launches, or else for copies. */
static void stage(const char *name, bool launches)
{
    span all = {0};
    add_since(&all, last);
    span compiling = minus(in_driver, last_driver), wait = launches ? minus(in_wait, last_wait) : (span){0};
    print(name, all, compiling, wait);
    add(&sum.all, all);
    add(&sum.compiling, compiling);
    add(&sum.launches, wait);
    last_driver = in_driver;
    last_wait = in_wait;
    last = time_now();
}

static gpuc_status set_inputs(gpuc_runtime *rt, gpuc_model *m, gpuc_session *s)
{
    for (int i = 0; i < gpuc_model_num_inputs(m); i++) {
        gpuc_tensor_info info = gpuc_model_input(m, i);
        gpuc_ndarray *a;
        GPUC_TRY(gpuc_ndarray_create(rt, NULL, info.dtype, info.ndim, info.dims, &a));
        gpuc_status status = gpuc_session_set_input(s, i, a);
        gpuc_ndarray_release(a);
        GPUC_TRY(status);
    }
    return NULL;
}

typedef struct options {
    bool prepare, defer;
} options;

static gpuc_status measure(const options *o, char **args)
{
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    desc.cache_load = cache_load;
    desc.cache_store = cache_store;
    desc.cache_user = args[2];
    desc.num_threads = 1; /* so that times of drivers can be taken off */
    gpuc_model_desc model = GPUC_MODEL_DESC_INIT;
    model.path = args[0];
    model.allow_native_code = true;
    model.defer = o->defer;
    gpuc_runtime *rt;
    gpuc_model *m;
    gpuc_session *s;
    gpuc_device_type type;
    int index;
    last = time_now();
    GPUC_TRY(gpuc_runtime_create(&desc, &rt));
    GPUC_TRY(register_devices(rt));
    GPUC_TRY(gpuc_device_parse(rt, args[1], &type, &index));
    GPUC_TRY(gpuc_device_open(rt, type, index, &model.device));
    stage("device", false);
    GPUC_TRY(gpuc_model_load(rt, &model, &m));
    stage("load", false);
    if (o->prepare) GPUC_TRY(gpuc_model_prepare(m, NULL, NULL));
    stage("prepare", true);
    GPUC_TRY(gpuc_session_create(m, &s));
    GPUC_TRY(set_inputs(rt, m, s));
    stage("session", false);
    GPUC_TRY(gpuc_session_run(s));
    GPUC_TRY(gpuc_session_sync(s));
    stage("run", true);
    span second = {0}, start = time_now();
    GPUC_TRY(gpuc_session_run(s));
    GPUC_TRY(gpuc_session_sync(s));
    add_since(&second, start);
    if (type == GPUC_DEVICE_CPU) add(&sum.launches, second); /* kernels run in the call, where nobody waits */
    print("start", sum.all, sum.compiling, sum.launches);
    printf("%d parts were compiled; the second run took %.1f ms, processor %.1f\n", parts, second.wall,
           second.cpu);
    gpuc_session_release(s);
    gpuc_model_release(m);
    gpuc_runtime_release(rt);
    return NULL;
}

int main(int argc, char **argv)
{
    options o = {0};
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--prepare") == 0) o.prepare = true;
        if (strcmp(argv[i], "--defer") == 0) o.defer = true;
    }
    if (argc - i != 3) {
        fprintf(stderr, "usage: gpuc-first [--prepare] [--defer] PACKAGE DEVICE CACHE\n");
        return 2;
    }
    gpuc_status s = measure(&o, argv + i);
    if (!s) return 0;
    fprintf(stderr, "gpuc-first: %s\n", gpuc_status_message(s));
    gpuc_status_release(s);
    return 1;
}
