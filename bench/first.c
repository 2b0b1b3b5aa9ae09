/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc-first [--prepare] [--defer] PACKAGE DEVICE CACHE: what the first launch of a network waits for. Opens the
 * device, loads the package, and runs it on one thread, with cached pipelines in the folder CACHE; bench/first.py
 * starts it with empty caches, and again. Prints milliseconds: of each stage, those of them that the driver compiles
 * or loads in (vkCreateComputePipelines, clBuildProgram), and of the first run and the second. */
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

static double now(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

/* ---- Calls of drivers that are measured ---- */

static double in_driver,
    in_wait; /* compiling; waiting for the device, which compiles at the first dispatch */
static int parts;

static PFN_vkGetInstanceProcAddr get_instance_proc;
static PFN_vkGetDeviceProcAddr get_device_proc;
static PFN_vkCreateComputePipelines create_pipelines;
static PFN_vkWaitForFences wait_for_fences;

static VKAPI_ATTR VkResult VKAPI_CALL timed_pipelines(VkDevice dev, VkPipelineCache cache, uint32_t count,
                                                      const VkComputePipelineCreateInfo *infos,
                                                      const VkAllocationCallbacks *callbacks, VkPipeline *out)
{
    double start = now();
    VkResult r = create_pipelines(dev, cache, count, infos, callbacks, out);
    in_driver += now() - start;
    parts += (int)count;
    return r;
}

static VKAPI_ATTR VkResult VKAPI_CALL timed_wait(VkDevice dev, uint32_t count, const VkFence *fences,
                                                 VkBool32 all, uint64_t timeout)
{
    double start = now();
    VkResult r = wait_for_fences(dev, count, fences, all, timeout);
    in_wait += now() - start;
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

static cl_int CL_API_CALL timed_build(cl_program program, cl_uint count, const cl_device_id *devices,
                                      const char *options, void(CL_CALLBACK *done)(cl_program, void *),
                                      void *user)
{
    double start = now();
    cl_int r = build_program(program, count, devices, options, done, user);
    in_driver += now() - start;
    parts++;
    return r;
}

static cl_int CL_API_CALL timed_finish(cl_command_queue queue)
{
    double start = now();
    cl_int r = finish(queue);
    in_wait += now() - start;
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

static double last_time, last_driver, last_wait, last_cpu, rest;

/* Counted: until the first launch, without what the driver did. */
static void stage(const char *name, bool counted)
{
    double t = now() - last_time, driver = in_driver - last_driver, wait = in_wait - last_wait;
    double cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - last_cpu;
    printf("%-8s %9.1f ms, %9.1f of processors; compiling %9.1f, dispatches %9.1f; rest %7.1f\n", name, t,
           cpu, driver, wait, t - driver - wait);
    last_cpu += cpu;
    if (counted) rest += t - driver - wait;
    last_driver = in_driver;
    last_wait = in_wait;
    last_time = now();
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
    last_time = now();
    GPUC_TRY(gpuc_runtime_create(&desc, &rt));
    GPUC_TRY(register_devices(rt));
    GPUC_TRY(gpuc_device_parse(rt, args[1], &type, &index));
    GPUC_TRY(gpuc_device_open(rt, type, index, &model.device));
    stage("device", true);
    GPUC_TRY(gpuc_model_load(rt, &model, &m));
    stage("load", true);
    if (o->prepare) GPUC_TRY(gpuc_model_prepare(m, NULL, NULL));
    stage("prepare", true);
    GPUC_TRY(gpuc_session_create(m, &s));
    GPUC_TRY(set_inputs(rt, m, s));
    stage("session", true);
    double first = now();
    GPUC_TRY(gpuc_session_run(s));
    if (type != GPUC_DEVICE_CPU) stage("queue", true); /* planned and recorded */
    GPUC_TRY(gpuc_session_sync(s));
    first = now() - first;
    stage("run", false);
    double second = now();
    GPUC_TRY(gpuc_session_run(s));
    GPUC_TRY(gpuc_session_sync(s));
    second = now() - second;
    stage("again", false);
    printf("%d parts; first run %.1f ms, second run %.1f ms; to the first launch, without the driver's "
           "compiling "
           "and dispatches: %.1f ms\n",
           parts, first, second, rest + (type == GPUC_DEVICE_CPU && first > second ? first - second : 0));
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
