/* SPDX-License-Identifier: Apache-2.0 */
/* CLBlast, if it is installed: both libraries are found when they are wanted. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>

#include "bench.h"

#define CL_FUNCTIONS(F)                                                                                      \
    F(clGetPlatformIDs)                                                                                      \
    F(clGetDeviceIDs)                                                                                        \
    F(clCreateContext)                                                                                       \
    F(clCreateCommandQueue) F(clCreateBuffer) F(clFinish) F(clReleaseMemObject) F(clReleaseCommandQueue)     \
        F(clReleaseContext)

typedef int (*sgemm_fn)(int layout, int trans_a, int trans_b, size_t m, size_t n, size_t k, float alpha,
                        cl_mem a, size_t a_offset, size_t lda, cl_mem b, size_t b_offset, size_t ldb,
                        float beta, cl_mem c, size_t c_offset, size_t ldc, cl_command_queue *queue,
                        cl_event *event);

typedef struct job {
    bench_gemm size;
    sgemm_fn sgemm;
#define F(name) __typeof__(name) *name;
    CL_FUNCTIONS(F)
#undef F
    cl_context context;
    cl_command_queue queue;
    cl_mem matrices[3];
} job;

static gpuc_status open_libraries(job *j)
{
    void *cl = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    void *blas = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!cl || !blas) return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "no CLBlast here");
#define F(name)                                                                                              \
    if (!(j->name = (__typeof__(name) *)dlsym(cl, #name)))                                                   \
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "libOpenCL.so.1 has no " #name);
    CL_FUNCTIONS(F)
#undef F
    j->sgemm = (sgemm_fn)dlsym(blas, "CLBlastSgemm");
    return j->sgemm ? NULL : gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "libclblast.so.1 has no CLBlastSgemm");
}

static gpuc_status open_device(job *j)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_uint count = 0;
    if (j->clGetPlatformIDs(1, &platform, &count) || !count ||
        j->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "no OpenCL device");
    j->context = j->clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
    if (j->context) j->queue = j->clCreateCommandQueue(j->context, device, 0, NULL);
    const size_t bytes[] = {sizeof(float) * (size_t)j->size.m * (size_t)j->size.k,
                            sizeof(float) * (size_t)j->size.k * (size_t)j->size.n,
                            sizeof(float) * (size_t)j->size.m * (size_t)j->size.n};
    for (int i = 0; i < 3 && j->queue; i++) {
        j->matrices[i] = j->clCreateBuffer(j->context, CL_MEM_READ_WRITE, bytes[i], NULL, NULL);
        if (!j->matrices[i]) return gpuc_fail(GPUC_OUT_OF_MEMORY, "no memory for the matrices");
    }
    return j->queue ? NULL : gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "no OpenCL queue");
}

static gpuc_status run(void *arg)
{
    enum { ROW_MAJOR = 101, NO_TRANS = 111 };
    job *j = arg;
    size_t m = (size_t)j->size.m, n = (size_t)j->size.n, k = (size_t)j->size.k;
    int code = j->sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1, j->matrices[0], 0, k, j->matrices[1], 0, n,
                        0, j->matrices[2], 0, n, &j->queue, NULL);
    if (code == 0) code = j->clFinish(j->queue);
    return code == 0 ? NULL : gpuc_fail(GPUC_INTERNAL, "CLBlast returned %d", code);
}

gpuc_status bench_clblast(const bench_plan *plan, bench_gemm size, bench_samples *out)
{
    job j = {.size = size};
    gpuc_status status = open_libraries(&j);
    if (!status) status = open_device(&j);
    if (!status) status = bench_measure(plan, run, &j, out);
    for (int i = 0; i < 3; i++)
        if (j.matrices[i]) j.clReleaseMemObject(j.matrices[i]);
    if (j.queue) j.clReleaseCommandQueue(j.queue);
    if (j.context) j.clReleaseContext(j.context);
    return status;
}
