/* SPDX-License-Identifier: Apache-2.0 */
/* Makes images, wraps those of the application, and copies whole images. */
#include "base/require.h"
#include "runtime/ndarray.h"
#include "runtime_opencl/cl.h"

static const struct format_row {
    cl_channel_order order;
    cl_channel_type type;
    gpuc_dtype dtype;
    uint8_t channels;
} formats[] = {
    /* the first row of a type and number of channels is that of gpuc's own images */
    {CL_RGBA, CL_UNORM_INT8, {GPUC_DTYPE_UINT, 8, 1}, 4},
    {CL_BGRA, CL_UNORM_INT8, {GPUC_DTYPE_UINT, 8, 1}, 4},
    {CL_R, CL_UNORM_INT8, {GPUC_DTYPE_UINT, 8, 1}, 1},
    {CL_RGBA, CL_HALF_FLOAT, {GPUC_DTYPE_FLOAT, 16, 1}, 4},
    {CL_R, CL_HALF_FLOAT, {GPUC_DTYPE_FLOAT, 16, 1}, 1},
    {CL_RGBA, CL_FLOAT, {GPUC_DTYPE_FLOAT, 32, 1}, 4},
    {CL_R, CL_FLOAT, {GPUC_DTYPE_FLOAT, 32, 1}, 1},
};
#define NUM_FORMATS (sizeof formats / sizeof *formats)

gpuc_status gpuc_cl_image_check(const gpuc_kernel_tensor *t, const gpuc_cl_buffer *b, uint64_t offset)
{
    char type[24];
    if (!t->image && b->channels)
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "it is a buffer for this kernel, and an image is bound to it: bind an "
            "array of gpuc_ndarray_create, or, where the package has bgra8, build it with rgba8");
    if (!t->image) return NULL;
    if (!b->channels)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "it is an image for this kernel, and a buffer is bound to it: bind an "
                         "image (gpuc_opencl_wrap_image), or build with -images=0");
    if (t->image != b->channels || !gpuc_dtype_equal(t->dtype, b->dtype))
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "an image of %u channels of %s is needed, and one of %u channels of %u bits is bound", t->image,
            gpuc_dtype_name(t->dtype, type), b->channels, b->dtype.bits);
    return offset ? gpuc_fail(GPUC_INVALID_ARGUMENT, "a part of an image is bound; it is bound whole") : NULL;
}

static gpuc_status make(gpuc_cl_device *dev, cl_mem mem, const struct format_row *row, size_t height,
                        size_t width, gpuc_cl_buffer **out)
{
    GPUC_TRY(
        gpuc_cl_buffer_create(dev, mem, height * width * row->channels * gpuc_dtype_bytes(row->dtype), out));
    gpuc_cl_buffer *b = *out;
    b->base.is_image = true;
    b->width = width;
    b->height = height;
    b->channels = row->channels;
    b->dtype = row->dtype;
    return NULL;
}

static gpuc_status check_size(const gpuc_cl_device *dev, int64_t height, int64_t width)
{
    const size_t *most = dev->caps.max_image;
    if (!(dev->caps.features & GPUC_FEATURE_IMAGES))
        return gpuc_fail(GPUC_UNSUPPORTED, "'%s' has no images (CL_DEVICE_IMAGE_SUPPORT)", dev->caps.name);
    if (height > 0 && width > 0 && (uint64_t)width <= most[0] && (uint64_t)height <= most[1]) return NULL;
    return gpuc_fail(height > 0 && width > 0 ? GPUC_UNSUPPORTED : GPUC_INVALID_ARGUMENT,
                     "an image of %lld x %lld texels: '%s' has 1 x 1 to %zu x %zu", (long long)width,
                     (long long)height, dev->caps.name, most[0], most[1]);
}

gpuc_status gpuc_cl_image_create(gpuc_device *device, gpuc_dtype dtype, int64_t height, int64_t width,
                                 int channels, gpuc_buffer **out)
{
    gpuc_cl_device *dev = (gpuc_cl_device *)device;
    const struct format_row *row = NULL;
    gpuc_cl_buffer *b;
    *out = NULL;
    for (size_t i = 0; i < NUM_FORMATS && !row; i++)
        if (gpuc_dtype_equal(formats[i].dtype, dtype) && formats[i].channels == channels) row = &formats[i];
    if (!row)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "an image has 1 or 4 channels of uint8, float16 or float32");
    GPUC_TRY(check_size(dev, height, width));
    const cl_image_format format = {row->order, row->type};
    const cl_image_desc desc = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = (size_t)width, .image_height = (size_t)height};
    cl_int error = CL_SUCCESS;
    cl_mem mem = dev->fn->CreateImage(dev->context, CL_MEM_READ_WRITE, &format, &desc, NULL, &error);
    if (!mem)
        return gpuc_error_prefix(gpuc_cl_fail("clCreateImage", error), "an image of %lld x %lld texels",
                                 (long long)width, (long long)height);
    gpuc_status status = make(dev, mem, row, (size_t)height, (size_t)width, &b);
    if (status)
        dev->fn->ReleaseMemObject(mem);
    else
        *out = &b->base;
    return status;
}

/* ---- Copies ------------------------------------------------------------------------------------------ */

static gpuc_status check_whole(const gpuc_copy_end *end, size_t bytes)
{
    const gpuc_cl_buffer *b = (const gpuc_cl_buffer *)end->buffer;
    if (!b || !b->channels) return NULL;
    if (end->offset || bytes != b->base.size)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "a copy of %zu bytes at %zu of an image of %zu: it is copied whole", bytes,
                         end->offset, b->base.size);
    return b->foreign
               ? gpuc_fail(GPUC_UNSUPPORTED, "copies of an image of the application are the application's")
               : NULL;
}

/* The call that queues it; *what is its name. */
static cl_int enqueue(gpuc_cl_device *dev, cl_command_queue q, gpuc_copy_end from, gpuc_copy_end to,
                      cl_bool blocking, const gpuc_cl_turn *t, const char **what)
{
    gpuc_cl_buffer *a = (gpuc_cl_buffer *)from.buffer, *b = (gpuc_cl_buffer *)to.buffer;
    const gpuc_cl_buffer *image = a && a->channels ? a : b;
    const size_t origin[3] = {0, 0, 0}, region[3] = {image->width, image->height, 1};
    cl_uint n = t->num_waits;
    if (!a) {
        *what = "clEnqueueWriteImage";
        return dev->fn->EnqueueWriteImage(q, b->mem, blocking, origin, region, 0, 0,
                                          (const char *)from.host + from.offset, n, t->waits, t->place);
    }
    if (!b) {
        *what = "clEnqueueReadImage";
        return dev->fn->EnqueueReadImage(q, a->mem, blocking, origin, region, 0, 0,
                                         (char *)to.host + to.offset, n, t->waits, t->place);
    }
    if (a->channels && b->channels) {
        *what = "clEnqueueCopyImage";
        return dev->fn->EnqueueCopyImage(q, a->mem, b->mem, origin, origin, region, n, t->waits, t->place);
    }
    if (a->channels) {
        *what = "clEnqueueCopyImageToBuffer";
        return dev->fn->EnqueueCopyImageToBuffer(q, a->mem, b->mem, origin, region, to.offset, n, t->waits,
                                                 t->place);
    }
    *what = "clEnqueueCopyBufferToImage";
    return dev->fn->EnqueueCopyBufferToImage(q, a->mem, b->mem, from.offset, origin, region, n, t->waits,
                                             t->place);
}

gpuc_status gpuc_cl_image_copy(gpuc_cl_device *dev, gpuc_cl_queue *queue, gpuc_copy_end from,
                               gpuc_copy_end to, size_t bytes, bool wait, cl_event *out_event)
{
    const char *what;
    gpuc_cl_turn turn;
    bool waits = wait && (!from.buffer || !to.buffer);
    GPUC_TRY(check_whole(&from, bytes));
    GPUC_TRY(check_whole(&to, bytes));
    gpuc_cl_turn_begin(queue, out_event, &turn);
    cl_int error = enqueue(dev, queue->handle, from, to, waits ? turn.blocking : CL_FALSE, &turn, &what);
    error = waits ? gpuc_cl_turn_finish(dev, queue, &turn, error)
                  : gpuc_cl_turn_end(dev, queue, &turn, error, out_event);
    GPUC_CL_TRY(what, error);
    return NULL;
}

/* ---- Images of the application ----------------------------------------------------------------------- */

static gpuc_status ask(const gpuc_cl_device *dev, cl_mem mem, cl_image_info what, size_t size, void *out)
{
    GPUC_CL_TRY("clGetImageInfo", dev->fn->GetImageInfo(mem, what, size, out, NULL));
    return NULL;
}

static gpuc_status look_at(const gpuc_cl_device *dev, cl_mem mem, const struct format_row **row,
                           size_t size[2], gpuc_cl_mem_info *m)
{
    cl_image_format format = {0};
    *row = NULL;
    GPUC_TRY(gpuc_cl_mem_ask(dev, mem, m));
    if (m->type != CL_MEM_OBJECT_IMAGE2D)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "a memory object of type 0x%x, which is no image2d", m->type);
    if (m->context != dev->context)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "an image of another cl_context than the device's");
    GPUC_TRY(ask(dev, mem, CL_IMAGE_FORMAT, sizeof format, &format));
    GPUC_TRY(ask(dev, mem, CL_IMAGE_HEIGHT, sizeof size[0], &size[0]));
    GPUC_TRY(ask(dev, mem, CL_IMAGE_WIDTH, sizeof size[1], &size[1]));
    for (size_t i = 0; i < NUM_FORMATS && !*row; i++)
        if (formats[i].order == format.image_channel_order &&
            formats[i].type == format.image_channel_data_type)
            *row = &formats[i];
    if (*row) return NULL;
    return gpuc_fail(
        GPUC_UNSUPPORTED,
        "an image of channel order 0x%x and type 0x%x; kernels read and write CL_RGBA, CL_BGRA and CL_R "
        "of CL_UNORM_INT8, CL_RGBA and CL_R of CL_HALF_FLOAT and CL_FLOAT",
        format.image_channel_order, format.image_channel_data_type);
}

static void free_wrapped(void *owner)
{
    gpuc_buffer *b = owner;
    gpuc_cl_free(b->device, b);
}

gpuc_status gpuc_opencl_wrap_image(gpuc_device *device, struct _cl_mem *mem, gpuc_ndarray **out)
{
    GPUC_REQUIRE(out);
    *out = NULL;
    GPUC_REQUIRE(device);
    GPUC_REQUIRE(mem);
    gpuc_cl_device *dev;
    const struct format_row *row;
    size_t size[2];
    gpuc_cl_mem_info m;
    gpuc_cl_buffer *b;
    GPUC_TRY(gpuc_cl_device_of(device, "the image", &dev));
    if (!(dev->caps.features & GPUC_FEATURE_IMAGES)) return check_size(dev, 1, 1);
    GPUC_TRY(look_at(dev, mem, &row, size, &m));
    GPUC_CL_TRY("clRetainMemObject", dev->fn->RetainMemObject(mem));
    gpuc_status status = make(dev, mem, row, size[0], size[1], &b);
    if (status) {
        dev->fn->ReleaseMemObject(mem);
        return status;
    }
    b->foreign = true;
    atomic_store(&b->limits, gpuc_cl_limits_of(m.flags));
    int64_t dims[3] = {(int64_t)size[0], (int64_t)size[1], row->channels};
    gpuc_binding all = {.buffer = &b->base, .size = b->base.size};
    status = gpuc_ndarray_wrap(device->runtime, all, NULL, row->dtype, 3, dims, free_wrapped, &b->base, out);
    if (status) {
        gpuc_cl_free(device, &b->base);
        return status;
    }
    gpuc_cl_mem_origin(dev, mem, &m, *out);
    return NULL;
}
