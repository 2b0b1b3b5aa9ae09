/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_embed MODEL.gpuc: a network inside of an OpenCL application. Context, queue, buffers and events are the
 * application's, and so are the kernels before and after the network. gpuc runs the network in between, in the same
 * buffers; events put the three in order. The host copies nothing, and waits once, at the end.
 *
 * MODEL takes one picture and gives scores: `gpuc build mnist.onnx -t opencl -o mnist.gpuc`. The program draws a few
 * rings and strokes, and prints the highest score of each; to a network that reads digits they are zeros and ones. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>

#include <gpuc/devices.h>
#include <gpuc/opencl.h>

enum { FRAMES = 8, MAX_NDIM = 8 };

static const char *source =
    "__kernel void draw(__global float *picture, int width, int height, int frame)\n"
    "{\n"
    "    int i = (int)get_global_id(0);\n"
    "    float u = (i % width + 0.5f) / width - 0.5f, v = (i / width % height + 0.5f) / height - 0.5f;\n"
    "    float ring = fabs(sqrt(u * u * 1.4f + v * v) - 0.25f - 0.01f * frame);\n"
    "    float stroke = v * v > 0.12f ? 1 : fabs(u - 0.02f * frame + 0.06f);\n"
    "    picture[i] = (frame % 2 ? stroke : ring) < 0.05f ? 255.0f : 0.0f;\n"
    "}\n"
    "__kernel void judge(__global const float *scores, int count, __global int *answers, int frame)\n"
    "{\n"
    "    int best = 0;\n"
    "    for (int i = 1; i < count; i++)\n"
    "        if (scores[i] > scores[best]) best = i;\n"
    "    answers[frame] = best;\n"
    "}\n";

/* ---- What the application has without gpuc ---------------------------------------------------- */

typedef struct app {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue; /* out of order where the device can: only events order what is in it */
    cl_program program;
    cl_kernel draw, judge;
    cl_mem picture, scores, answers;
} app;

static void check(cl_int error, const char *call)
{
    if (error == CL_SUCCESS) return;
    fprintf(stderr, "%s: OpenCL error %d\n", call, (int)error);
    exit(1);
}

static void start(app *a)
{
    cl_platform_id platform;
    cl_int error;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &a->device, NULL), "clGetDeviceIDs");
    a->context = clCreateContext(NULL, 1, &a->device, NULL, NULL, &error);
    check(error, "clCreateContext");
    a->queue = clCreateCommandQueue(a->context, a->device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &error);
    if (!a->queue) a->queue = clCreateCommandQueue(a->context, a->device, 0, &error);
    check(error, "clCreateCommandQueue");
    a->program = clCreateProgramWithSource(a->context, 1, &source, NULL, &error);
    check(error, "clCreateProgramWithSource");
    check(clBuildProgram(a->program, 1, &a->device, "-cl-std=CL1.2", NULL, NULL), "clBuildProgram");
    a->draw = clCreateKernel(a->program, "draw", &error);
    check(error, "clCreateKernel");
    a->judge = clCreateKernel(a->program, "judge", &error);
    check(error, "clCreateKernel");
}

static void stop(app *a)
{
    cl_mem buffers[] = {a->picture, a->scores, a->answers};
    for (int i = 0; i < 3; i++)
        if (buffers[i]) clReleaseMemObject(buffers[i]);
    clReleaseKernel(a->judge);
    clReleaseKernel(a->draw);
    clReleaseProgram(a->program);
    clReleaseCommandQueue(a->queue);
    clReleaseContext(a->context);
}

static cl_mem make_buffer(const app *a, size_t size)
{
    cl_int error;
    cl_mem mem = clCreateBuffer(a->context, CL_MEM_READ_WRITE, size, NULL, &error);
    check(error, "clCreateBuffer");
    return mem;
}

static void set(cl_kernel kernel, cl_uint i, size_t size, const void *value)
{
    check(clSetKernelArg(kernel, i, size, value), "clSetKernelArg");
}

/* Queues a kernel behind an event (NULL: behind none); *done is that of its end. */
static void launch(const app *a, cl_kernel kernel, size_t size, const cl_event *after, cl_event *done)
{
    check(clEnqueueNDRangeKernel(a->queue, kernel, 1, NULL, &size, NULL, after != NULL, after, done),
          "clEnqueueNDRangeKernel");
    check(clFlush(a->queue), "clFlush"); /* as OpenCL asks of a queue whose events others wait for */
}

/* ---- The network -------------------------------------------------------------------------------- */

/* Makes a buffer for an input or output, and an array of it for gpuc. Dimensions that are open become 1. */
static gpuc_status make_tensor(const app *a, gpuc_device *device, gpuc_tensor_info info, int min_ndim,
                               cl_mem *buffer, gpuc_ndarray **array)
{
    int64_t dims[MAX_NDIM], count = 1;
    if (info.ndim < min_ndim || info.ndim > MAX_NDIM || !gpuc_dtype_equal(info.dtype, GPUC_FLOAT32))
        return gpuc_fail(GPUC_UNSUPPORTED, "the network must take one picture and give scores, as float32");
    for (int d = 0; d < info.ndim; d++) {
        dims[d] = info.dims[d] < 0 ? 1 : info.dims[d];
        count *= dims[d];
    }
    *buffer = make_buffer(a, (size_t)count * sizeof(float));
    gpuc_opencl_buffer part = {.mem = *buffer};
    return gpuc_opencl_wrap_buffer(device, &part, GPUC_FLOAT32, info.ndim, dims, array);
}

/* Binds the application's buffers to the session and to its own kernels. */
static gpuc_status bind(app *a, gpuc_model *model, gpuc_session *session, size_t *pixels)
{
    gpuc_device *device = gpuc_model_device(model);
    gpuc_ndarray *in = NULL, *out = NULL;
    gpuc_status status = make_tensor(a, device, gpuc_model_input(model, 0), 3, &a->picture, &in);
    if (!status) status = make_tensor(a, device, gpuc_model_output(model, 0), 1, &a->scores, &out);
    if (!status) status = gpuc_session_bind_input(session, 0, in);
    if (!status) status = gpuc_session_bind_output(session, 0, out);
    if (!status) {
        const int64_t *dims = gpuc_ndarray_dims(in);
        int ndim = gpuc_ndarray_ndim(in);
        cl_int width = (cl_int)dims[ndim - 1], height = (cl_int)dims[ndim - 2];
        cl_int count = (cl_int)(gpuc_ndarray_bytes(out) / sizeof(float));
        *pixels = gpuc_ndarray_bytes(in) / sizeof(float);
        a->answers = make_buffer(a, FRAMES * sizeof(cl_int));
        set(a->draw, 0, sizeof(cl_mem), &a->picture);
        set(a->draw, 1, sizeof width, &width);
        set(a->draw, 2, sizeof height, &height);
        set(a->judge, 0, sizeof(cl_mem), &a->scores);
        set(a->judge, 1, sizeof count, &count);
        set(a->judge, 2, sizeof(cl_mem), &a->answers);
    }
    gpuc_ndarray_release(in); /* the session keeps them */
    gpuc_ndarray_release(out);
    return status;
}

/* One picture: drawn, classified, judged. *judged is the event of the picture before, and then of this one: the buffers
 * are written again when all that used them is done. */
static gpuc_status frame(const app *a, gpuc_session *session, size_t pixels, cl_int number, cl_event *judged)
{
    cl_event drawn, classified;
    set(a->draw, 3, sizeof number, &number);
    set(a->judge, 3, sizeof number, &number);
    launch(a, a->draw, pixels, *judged ? judged : NULL, &drawn);
    gpuc_status status = gpuc_opencl_submit(session, 1, &drawn, &classified);
    clReleaseEvent(drawn);
    if (status) return status;
    if (*judged) clReleaseEvent(*judged);
    launch(a, a->judge, 1, &classified, judged);
    clReleaseEvent(classified);
    return NULL;
}

static gpuc_status play(app *a, gpuc_model *model, gpuc_session *session)
{
    cl_event judged = NULL;
    cl_int answers[FRAMES];
    size_t pixels = 0;
    gpuc_status status = bind(a, model, session, &pixels);
    for (int i = 0; i < FRAMES && !status; i++) status = frame(a, session, pixels, i, &judged);
    if (!status) {
        check(
            clEnqueueReadBuffer(a->queue, a->answers, CL_TRUE, 0, sizeof answers, answers, 1, &judged, NULL),
            "clEnqueueReadBuffer");
        for (int i = 0; i < FRAMES; i++) printf("picture %d: %d\n", i, (int)answers[i]);
    }
    if (judged) clReleaseEvent(judged);
    return status;
}

static gpuc_status run(app *a, gpuc_runtime *rt, const char *path)
{
    gpuc_opencl_device_desc desc = GPUC_OPENCL_DEVICE_DESC_INIT;
    gpuc_model_desc model_desc = GPUC_MODEL_DESC_INIT;
    gpuc_model *model = NULL;
    gpuc_session *session = NULL;
    desc.context = a->context;
    desc.device = a->device;
    desc.queue = a->queue;
    model_desc.path = path;
    gpuc_status status = gpuc_opencl_register(rt);
    if (!status) status = gpuc_opencl_adopt(rt, &desc, &model_desc.device);
    if (!status) status = gpuc_model_load(rt, &model_desc, &model);
    if (!status) status = gpuc_session_create(model, &session);
    if (!status) status = play(a, model, session);
    gpuc_session_release(session);
    gpuc_model_release(model);
    /* From here on gpuc uses nothing of the application. After an error the runtime closes the device. */
    return status ? status : gpuc_device_close(model_desc.device);
}

int main(int argc, char **argv)
{
    app a = {0};
    gpuc_runtime *rt = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: opencl_embed MODEL.gpuc\n");
        return 2;
    }
    start(&a);
    gpuc_status status = gpuc_runtime_create(NULL, &rt);
    if (!status) status = run(&a, rt, argv[1]);
    gpuc_runtime_release(rt);
    stop(&a);
    if (!status) return 0;
    fprintf(stderr, "%s\n", gpuc_status_message(status));
    gpuc_status_release(status);
    return 1;
}
