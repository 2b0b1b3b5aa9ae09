/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

cl_spy spy;
int64_t cl_live_bytes;
gpuc_cl_fns cl_real;
#define real cl_real
static void *library;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* True if this call is to fail. */
static bool hit(const char *name)
{
    if (spy.before) spy.before(name);
    pthread_mutex_lock(&lock);
    bool now = ++spy.calls == spy.fail_at || (spy.fail_name && strcmp(spy.fail_name, name) == 0);
    if (now) spy.failed = name;
    pthread_mutex_unlock(&lock);
    return now;
}

static cl_int fault(void)
{
    return spy.error ? spy.error : CL_OUT_OF_RESOURCES;
}

static void tally(int *counter, int by)
{
    __atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

#define FAIL(name)                                                                                           \
    if (hit(#name)) return fault()
#define FAIL_NULL(name)                                                                                      \
    if (hit(#name)) {                                                                                        \
        if (error) *error = fault();                                                                         \
        return NULL;                                                                                         \
    }

static void *created(void *object)
{
    if (object) tally(&spy.objects, 1);
    return object;
}

static cl_int released(cl_int result)
{
    tally(&spy.objects, -1);
    return result;
}

static cl_int fakeGetPlatformIDs(cl_uint n, cl_platform_id *out, cl_uint *count)
{
    FAIL(clGetPlatformIDs);
    if (spy.no_platforms) return -1001;
    return real.GetPlatformIDs(n, out, count);
}

static cl_int fakeGetDeviceInfo(cl_device_id d, cl_device_info what, size_t size, void *out, size_t *got)
{
    if (what == CL_DEVICE_VERSION && spy.version) {
        if (got) *got = strlen(spy.version) + 1;
        if (out) snprintf(out, size, "%s", spy.version);
        return CL_SUCCESS;
    }
    cl_int result = real.GetDeviceInfo(d, what, size, out, got);
    static const char hints[] = " cl_khr_priority_hints";
    if (what == CL_DEVICE_EXTENSIONS && spy.hints && result == CL_SUCCESS) {
        if (out) strncat(out, hints, size - strlen(out) - 1);
        if (got) *got += sizeof hints;
    }
    if (what == CL_DEVICE_HOST_UNIFIED_MEMORY && spy.discrete && out) *(cl_bool *)out = CL_FALSE;
    return result;
}

static cl_int retained(cl_int result)
{
    if (result == CL_SUCCESS) tally(&spy.objects, 1);
    return result;
}

static cl_int fakeRetainDevice(cl_device_id d)
{
    FAIL(clRetainDevice);
    return retained(real.RetainDevice(d));
}

static cl_int fakeReleaseDevice(cl_device_id d)
{
    return released(real.ReleaseDevice(d));
}

static cl_int fakeRetainContext(cl_context c)
{
    FAIL(clRetainContext);
    return retained(real.RetainContext(c));
}

static cl_int fakeGetContextInfo(cl_context c, cl_context_info what, size_t size, void *out, size_t *got)
{
    FAIL(clGetContextInfo);
    return real.GetContextInfo(c, what, size, out, got);
}

static cl_int fakeRetainCommandQueue(cl_command_queue q)
{
    FAIL(clRetainCommandQueue);
    return retained(real.RetainCommandQueue(q));
}

static cl_int fakeGetCommandQueueInfo(cl_command_queue q, cl_command_queue_info what, size_t size, void *out,
                                      size_t *got)
{
    FAIL(clGetCommandQueueInfo);
    return real.GetCommandQueueInfo(q, what, size, out, got);
}

static cl_int fakeRetainMemObject(cl_mem m)
{
    FAIL(clRetainMemObject);
    return retained(real.RetainMemObject(m));
}

static cl_int fakeGetMemObjectInfo(cl_mem m, cl_mem_info what, size_t size, void *out, size_t *got)
{
    FAIL(clGetMemObjectInfo);
    return real.GetMemObjectInfo(m, what, size, out, got);
}

static cl_context fakeCreateContext(const cl_context_properties *p, cl_uint n, const cl_device_id *d,
                                    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                                    void *user, cl_int *error)
{
    FAIL_NULL(clCreateContext);
    return created(real.CreateContext(p, n, d, notify, user, error));
}

static cl_int fakeReleaseContext(cl_context c)
{
    return released(real.ReleaseContext(c));
}

static cl_command_queue fakeCreateCommandQueue(cl_context c, cl_device_id d, cl_command_queue_properties p,
                                               cl_int *error)
{
    FAIL_NULL(clCreateCommandQueue);
    tally(&spy.queues, 1);
    return created(real.CreateCommandQueue(c, d, p, error));
}

/* What the driver does not know goes no further. */
static cl_command_queue fakeCreateCommandQueueWithProperties(cl_context c, cl_device_id d,
                                                             const cl_ulong *list, cl_int *error)
{
    cl_command_queue_properties p = 0;
    for (; *list; list += 2) {
        if (list[0] == CL_QUEUE_PROPERTIES) p = list[1];
        if (list[0] == 0x1096) tally(list[1] == 1 ? &spy.high : &spy.low, 1);
    }
    return fakeCreateCommandQueue(c, d, p, error);
}

static cl_int fakeReleaseCommandQueue(cl_command_queue q)
{
    return released(real.ReleaseCommandQueue(q));
}

static cl_int fakeFlush(cl_command_queue q)
{
    FAIL(clFlush);
    return real.Flush(q);
}

static cl_int fakeFinish(cl_command_queue q)
{
    FAIL(clFinish);
    return real.Finish(q);
}

static cl_mem fakeCreateBuffer(cl_context c, cl_mem_flags f, size_t size, void *host, cl_int *error)
{
    FAIL_NULL(clCreateBuffer);
    return created(real.CreateBuffer(c, f, size, host, error));
}

static cl_mem fakeCreateImage(cl_context c, cl_mem_flags f, const cl_image_format *format,
                              const cl_image_desc *shape, void *host, cl_int *error)
{
    FAIL_NULL(clCreateImage);
    return created(real.CreateImage(c, f, format, shape, host, error));
}

static cl_int fakeGetImageInfo(cl_mem m, cl_image_info what, size_t size, void *out, size_t *got)
{
    FAIL(clGetImageInfo);
    return real.GetImageInfo(m, what, size, out, got);
}

static cl_int fakeReleaseMemObject(cl_mem m)
{
    return released(real.ReleaseMemObject(m));
}

static cl_int event_of(cl_int result, const cl_event *event)
{
    if (result == CL_SUCCESS && event) tally(&spy.objects, 1);
    return result;
}

static void *fakeEnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, cl_map_flags flags,
                                  size_t at, size_t n, cl_uint waits, const cl_event *wait, cl_event *event,
                                  cl_int *error)
{
    FAIL_NULL(clEnqueueMapBuffer);
    void *p = real.EnqueueMapBuffer(q, m, blocking, flags, at, n, waits, wait, event, error);
    if (p && event) tally(&spy.objects, 1);
    return p;
}

static cl_int fakeEnqueueUnmapMemObject(cl_command_queue q, cl_mem m, void *p, cl_uint waits,
                                        const cl_event *wait, cl_event *event)
{
    FAIL(clEnqueueUnmapMemObject);
    return event_of(real.EnqueueUnmapMemObject(q, m, p, waits, wait, event), event);
}

static cl_int fakeEnqueueReadBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, size_t at, size_t n,
                                    void *p, cl_uint waits, const cl_event *wait, cl_event *event)
{
    FAIL(clEnqueueReadBuffer);
    return event_of(real.EnqueueReadBuffer(q, m, blocking, at, n, p, waits, wait, event), event);
}

static cl_int fakeEnqueueWriteBuffer(cl_command_queue q, cl_mem m, cl_bool blocking, size_t at, size_t n,
                                     const void *p, cl_uint waits, const cl_event *wait, cl_event *event)
{
    FAIL(clEnqueueWriteBuffer);
    tally(blocking ? &spy.blocking_writes : &spy.queued_writes, 1);
    return event_of(real.EnqueueWriteBuffer(q, m, blocking, at, n, p, waits, wait, event), event);
}

static cl_int fakeEnqueueCopyBuffer(cl_command_queue q, cl_mem a, cl_mem b, size_t from, size_t to, size_t n,
                                    cl_uint waits, const cl_event *wait, cl_event *event)
{
    FAIL(clEnqueueCopyBuffer);
    return event_of(real.EnqueueCopyBuffer(q, a, b, from, to, n, waits, wait, event), event);
}

static cl_int fakeEnqueueReadImage(cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *at,
                                   const size_t *extent, size_t row, size_t slice, void *p, cl_uint waits,
                                   const cl_event *wait, cl_event *event)
{
    FAIL(clEnqueueReadImage);
    return event_of(real.EnqueueReadImage(q, m, blocking, at, extent, row, slice, p, waits, wait, event),
                    event);
}

static cl_int fakeEnqueueWriteImage(cl_command_queue q, cl_mem m, cl_bool blocking, const size_t *at,
                                    const size_t *extent, size_t row, size_t slice, const void *p,
                                    cl_uint waits, const cl_event *wait, cl_event *event)
{
    FAIL(clEnqueueWriteImage);
    return event_of(real.EnqueueWriteImage(q, m, blocking, at, extent, row, slice, p, waits, wait, event),
                    event);
}

static cl_int fakeEnqueueCopyImage(cl_command_queue q, cl_mem a, cl_mem b, const size_t *from,
                                   const size_t *to, const size_t *extent, cl_uint waits,
                                   const cl_event *wait, cl_event *event)
{
    FAIL(clEnqueueCopyImage);
    return event_of(real.EnqueueCopyImage(q, a, b, from, to, extent, waits, wait, event), event);
}

static cl_int fakeEnqueueCopyImageToBuffer(cl_command_queue q, cl_mem a, cl_mem b, const size_t *from,
                                           const size_t *extent, size_t to, cl_uint waits,
                                           const cl_event *wait, cl_event *event)
{
    FAIL(clEnqueueCopyImageToBuffer);
    return event_of(real.EnqueueCopyImageToBuffer(q, a, b, from, extent, to, waits, wait, event), event);
}

static cl_int fakeEnqueueCopyBufferToImage(cl_command_queue q, cl_mem a, cl_mem b, size_t from,
                                           const size_t *to, const size_t *extent, cl_uint waits,
                                           const cl_event *wait, cl_event *event)
{
    FAIL(clEnqueueCopyBufferToImage);
    return event_of(real.EnqueueCopyBufferToImage(q, a, b, from, to, extent, waits, wait, event), event);
}

static cl_int fakeEnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
                                       const size_t *global, const size_t *local, cl_uint waits,
                                       const cl_event *wait, cl_event *event)
{
    FAIL(clEnqueueNDRangeKernel);
    return event_of(real.EnqueueNDRangeKernel(q, k, dims, offset, global, local, waits, wait, event), event);
}

static cl_int fakeEnqueueMarkerWithWaitList(cl_command_queue q, cl_uint waits, const cl_event *wait,
                                            cl_event *event)
{
    FAIL(clEnqueueMarkerWithWaitList);
    return event_of(real.EnqueueMarkerWithWaitList(q, waits, wait, event), event);
}

static cl_int fakeEnqueueBarrierWithWaitList(cl_command_queue q, cl_uint waits, const cl_event *wait,
                                             cl_event *event)
{
    FAIL(clEnqueueBarrierWithWaitList);
    return event_of(real.EnqueueBarrierWithWaitList(q, waits, wait, event), event);
}

static cl_program fakeCreateProgramWithSource(cl_context c, cl_uint n, const char **text, const size_t *sizes,
                                              cl_int *error)
{
    FAIL_NULL(clCreateProgramWithSource);
    tally(&spy.sources, 1);
    return created(real.CreateProgramWithSource(c, n, text, sizes, error));
}

static cl_program fakeCreateProgramWithBinary(cl_context c, cl_uint n, const cl_device_id *d,
                                              const size_t *sizes, const unsigned char **binaries,
                                              cl_int *status, cl_int *error)
{
    FAIL_NULL(clCreateProgramWithBinary);
    tally(&spy.binaries, 1);
    return created(real.CreateProgramWithBinary(c, n, d, sizes, binaries, status, error));
}

static cl_int fakeBuildProgram(cl_program p, cl_uint n, const cl_device_id *d, const char *options,
                               void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    FAIL(clBuildProgram);
    tally(&spy.builds, 1);
    return real.BuildProgram(p, n, d, options, notify, user);
}

static cl_int fakeReleaseProgram(cl_program p)
{
    return released(real.ReleaseProgram(p));
}

static cl_kernel fakeCreateKernel(cl_program p, const char *name, cl_int *error)
{
    FAIL_NULL(clCreateKernel);
    return created(real.CreateKernel(p, name, error));
}

static cl_int fakeReleaseKernel(cl_kernel k)
{
    return released(real.ReleaseKernel(k));
}

static cl_int fakeSetKernelArg(cl_kernel k, cl_uint i, size_t size, const void *value)
{
    FAIL(clSetKernelArg);
    tally(&spy.set_args, 1);
    return real.SetKernelArg(k, i, size, value);
}

static cl_int fakeGetKernelInfo(cl_kernel k, cl_kernel_info what, size_t size, void *out, size_t *got)
{
    FAIL(clGetKernelInfo);
    return real.GetKernelInfo(k, what, size, out, got);
}

static cl_int fakeGetKernelWorkGroupInfo(cl_kernel k, cl_device_id d, cl_kernel_work_group_info what,
                                         size_t size, void *out, size_t *got)
{
    FAIL(clGetKernelWorkGroupInfo);
    return real.GetKernelWorkGroupInfo(k, d, what, size, out, got);
}

static cl_event fakeCreateUserEvent(cl_context c, cl_int *error)
{
    FAIL_NULL(clCreateUserEvent);
    return created(real.CreateUserEvent(c, error));
}

static cl_int fakeRetainEvent(cl_event e)
{
    FAIL(clRetainEvent);
    return retained(real.RetainEvent(e));
}

static cl_int fakeGetEventInfo(cl_event e, cl_event_info what, size_t size, void *out, size_t *got)
{
    cl_int result = real.GetEventInfo(e, what, size, out, got);
    if (what == CL_EVENT_COMMAND_EXECUTION_STATUS && spy.event_state) *(cl_int *)out = spy.event_state;
    return result;
}

static cl_int fakeWaitForEvents(cl_uint count, const cl_event *events)
{
    FAIL(clWaitForEvents);
    return real.WaitForEvents(count, events);
}

static cl_int fakeReleaseEvent(cl_event e)
{
    return released(real.ReleaseEvent(e));
}

void *cl_find(void *user, const char *name)
{
    (void)user;
    static const struct {
        const char *name;
        void *function;
    } fakes[] = {
#define FAKE(f) {"cl" #f, (void *)fake##f}
        FAKE(GetPlatformIDs),
        FAKE(GetDeviceInfo),
        FAKE(RetainDevice),
        FAKE(ReleaseDevice),
        FAKE(CreateContext),
        FAKE(RetainContext),
        FAKE(GetContextInfo),
        FAKE(ReleaseContext),
        FAKE(CreateCommandQueue),
        FAKE(CreateCommandQueueWithProperties),
        FAKE(RetainCommandQueue),
        FAKE(ReleaseCommandQueue),
        FAKE(GetCommandQueueInfo),
        FAKE(Flush),
        FAKE(Finish),
        FAKE(CreateBuffer),
        FAKE(CreateImage),
        FAKE(GetImageInfo),
        FAKE(RetainMemObject),
        FAKE(ReleaseMemObject),
        FAKE(GetMemObjectInfo),
        FAKE(EnqueueMapBuffer),
        FAKE(EnqueueUnmapMemObject),
        FAKE(EnqueueReadBuffer),
        FAKE(EnqueueWriteBuffer),
        FAKE(EnqueueCopyBuffer),
        FAKE(EnqueueReadImage),
        FAKE(EnqueueWriteImage),
        FAKE(EnqueueCopyImage),
        FAKE(EnqueueCopyImageToBuffer),
        FAKE(EnqueueCopyBufferToImage),
        FAKE(EnqueueNDRangeKernel),
        FAKE(EnqueueMarkerWithWaitList),
        FAKE(EnqueueBarrierWithWaitList),
        FAKE(CreateProgramWithSource),
        FAKE(CreateProgramWithBinary),
        FAKE(BuildProgram),
        FAKE(ReleaseProgram),
        FAKE(CreateKernel),
        FAKE(ReleaseKernel),
        FAKE(SetKernelArg),
        FAKE(GetKernelInfo),
        FAKE(GetKernelWorkGroupInfo),
        FAKE(CreateUserEvent),
        FAKE(GetEventInfo),
        FAKE(RetainEvent),
        FAKE(ReleaseEvent),
        FAKE(WaitForEvents),
#undef FAKE
    };
    if (spy.missing && strcmp(spy.missing, name) == 0) return NULL;
    for (size_t i = 0; i < sizeof fakes / sizeof *fakes; i++)
        if (strcmp(fakes[i].name, name) == 0) return fakes[i].function;
    return dlsym(library, name);
}

static void *counting_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    void *p = NULL;
    (void)user;
    if (new_size)
        p = realloc(ptr, new_size);
    else
        free(ptr);
    if (p || !new_size)
        __atomic_fetch_add(&cl_live_bytes, (int64_t)new_size - (int64_t)old_size, __ATOMIC_RELAXED);
    return p;
}

bool cl_available(void)
{
    library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("skipped: %s\n", dlerror());
        return false;
    }
    bool all = true;
#define GPUC_CL_FN(f)                                                                                        \
    {                                                                                                        \
        void *p = dlsym(library, "cl" #f);                                                                   \
        memcpy(&real.f, &p, sizeof p);                                                                       \
        all = all && p;                                                                                      \
    }
#include "runtime_opencl/functions.def"
#undef GPUC_CL_FN
    gpuc_runtime_desc desc = cl_desc();
    gpuc_runtime *rt;
    gpuc_device *dev;
    gpuc_status s = all ? cl_try_open(&desc, &rt, &dev) : gpuc_fail(GPUC_NOT_FOUND, "the library is too old");
    if (s) printf("skipped: %s\n", gpuc_status_message(s));
    bool available = !s;
    gpuc_status_release(s);
    if (all) gpuc_runtime_release(rt);
    return available;
}

gpuc_runtime_desc cl_desc(void)
{
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    desc.allocator = (gpuc_allocator){.resize = counting_resize};
    return desc;
}

gpuc_status cl_try_open(gpuc_runtime_desc *desc, gpuc_runtime **rt, gpuc_device **dev)
{
    *dev = NULL;
    GPUC_TRY(gpuc_runtime_create(desc, rt));
    GPUC_TRY(gpuc_cl_register_with(*rt, cl_find, NULL));
    return gpuc_device_open(*rt, GPUC_DEVICE_OPENCL, 0, dev);
}

gpuc_device *cl_open(gpuc_runtime_desc *desc, gpuc_runtime **rt)
{
    gpuc_device *dev;
    spy = (cl_spy){0};
    cl_ok(cl_try_open(desc, rt, &dev));
    return dev;
}

void cl_close(gpuc_runtime *rt)
{
    gpuc_runtime_release(rt);
    assert_int_equal(spy.objects, 0);
    assert_int_equal(cl_live_bytes, 0);
}

void cl_ok(gpuc_status s)
{
    if (!s) return;
    print_error("%s (%s:%d)\n", gpuc_status_message(s), gpuc_status_file(s), gpuc_status_line(s));
    gpuc_status_release(s);
    fail();
}

void cl_fails(gpuc_status s, gpuc_code code, const char *text)
{
    if (gpuc_status_code(s) != code || !strstr(gpuc_status_message(s), text)) {
        print_error("%s: %s; wanted %s: ...%s...\n", gpuc_code_name(gpuc_status_code(s)),
                    gpuc_status_message(s), gpuc_code_name(code), text);
        gpuc_status_release(s);
        fail();
    }
    gpuc_status_release(s);
}

/* ---- One kernel ------------------------------------------------------------------------------ */

#define ONE                                                                                                  \
    {                                                                                                        \
        .code = (const gpuc_xinstr[]){{GPUC_XOP_CONST, 1}}, .count = 1                                       \
    }

static const gpuc_kernel_tensor scale_tensors[] = {
    {.dtype = {GPUC_DTYPE_FLOAT, 32, 1}, .access = GPUC_ACCESS_READ, .alignment = 4, .binding = 0},
    {.dtype = {GPUC_DTYPE_FLOAT, 32, 1}, .access = GPUC_ACCESS_WRITE, .alignment = 4, .binding = 1},
};
static const gpuc_dtype scale_scalars[] = {{GPUC_DTYPE_FLOAT, 32, 1}, {GPUC_DTYPE_INT, 32, 1}};
const gpuc_kernel cl_scale = {.name = "scale",
                              .label = "scale",
                              .num_tensors = 2,
                              .num_scalars = 2,
                              .num_bindings = 2,
                              .tensors = scale_tensors,
                              .scalars = scale_scalars,
                              .local_size = {16, 1, 1},
                              .launch = {ONE, ONE, ONE},
                              .cost_bytes = -1,
                              .cost_ops = -1};
const char cl_scale_source[] =
    "__kernel __attribute__((reqd_work_group_size(16, 1, 1)))\n"
    "void scale(__global const float *x, int ox, __global float *y, int oy, float k, int n)\n"
    "{ int i = (int)get_global_id(0); if (i < n) y[oy + i] = k * x[ox + i]; }\n";

void *cl_blob(const char *const *sources, const char *const *names, uint32_t count, size_t *out_size)
{
    gpuc_buf buf;
    gpuc_buf_init(&buf, (gpuc_allocator){0});
    gpuc_buf_u32(&buf, count);
    for (uint32_t i = 0; i < count; i++) {
        gpuc_buf_lstr(&buf, "-cl-std=CL1.2");
        gpuc_buf_lstr(&buf, sources[i]);
        gpuc_buf_u32(&buf, 1);
        for (int k = 0; k < 2; k++) gpuc_buf_lstr(&buf, names[i]); /* is a function of that name */
        gpuc_buf_u32(&buf, 0);
    }
    void *bytes = malloc(buf.size);
    memcpy(bytes, buf.data, buf.size);
    *out_size = buf.size;
    gpuc_buf_deinit(&buf);
    return bytes;
}

gpuc_code_module *cl_load_scale(gpuc_device *dev)
{
    const char *source = cl_scale_source, *name = "scale";
    const gpuc_kernel *kernel = &cl_scale;
    size_t size;
    void *blob = cl_blob(&source, &name, 1, &size);
    gpuc_code_module *m;
    gpuc_status s = dev->api->module_load(dev, "opencl_c", blob, size, &kernel, 1, &m);
    free(blob);
    cl_ok(s);
    return m;
}

gpuc_plan *cl_plan_scale(gpuc_device *dev, gpuc_code_module *m, uint32_t n, uint32_t flags)
{
    double k = 2;
    int64_t scalars[2] = {0, n};
    memcpy(&scalars[0], &k, sizeof k);
    const gpuc_step_tensor tensors[2] = {{.slot = 0, .access = GPUC_ACCESS_READ, .size = 4 * n},
                                         {.slot = 1, .access = GPUC_ACCESS_WRITE, .size = 4 * n}};
    const gpuc_step step = {.module = m,
                            .num_tensors = 2,
                            .num_scalars = 2,
                            .tensors = tensors,
                            .scalars = scalars,
                            .launch = {(n + 15) / 16, 1, 1}};
    gpuc_plan *plan;
    cl_ok(dev->api->plan_create(dev, &step, 1, flags, &plan));
    return plan;
}
