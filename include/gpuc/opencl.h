/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc inside of an application that has OpenCL already: its context, device, queue, buffers and events. No header
 * of OpenCL is needed: the handles are OpenCL's own types, written out, and <CL/cl.h> may come before or after.
 * OpenCL 1.2 without extensions is enough. docs/embedding.md has the order of calls. */
#ifndef GPUC_OPENCL_H
#define GPUC_OPENCL_H

#include <gpuc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct _cl_context;
struct _cl_device_id;
struct _cl_command_queue;
struct _cl_mem;
struct _cl_event;

/* ---- The device --------------------------------------------------------------------------- */

/* Objects of the application. Start from GPUC_OPENCL_DEVICE_DESC_INIT. gpuc retains them while the device is
 * open. */
typedef struct gpuc_opencl_device_desc {
    uint32_t struct_size; /* set by GPUC_OPENCL_DEVICE_DESC_INIT */
    bool one_queue;       /* what gpuc_stream_create makes uses `queue`, too; else a queue of its own */
    struct _cl_context *context;  /* cl_context: of all that gpuc makes */
    struct _cl_device_id *device; /* cl_device_id: of the context */
    /* cl_command_queue: of context and device, for the default stream, where sessions run. An in-order queue puts
     * gpuc's work in order with what the application queues. On an out-of-order queue gpuc's commands wait for
     * each other by events, and for the application's by those that it is given. NULL: a queue of gpuc's own. */
    struct _cl_command_queue *queue;
    /* Finds the functions of the application's OpenCL by name ("clFinish"); NULL: the OpenCL that the process has, or
     * libOpenCL.so.1. */
    void *(*find)(void *user, const char *name);
    void *find_user; /* passed to find */
} gpuc_opencl_device_desc;
#define GPUC_OPENCL_DEVICE_DESC_INIT GPUC_SIZED(gpuc_opencl_device_desc)

/* Makes a device of the runtime out of the application's objects; gpuc_opencl_register comes first. It is closed by
 * gpuc_device_close, or with the runtime; its number is GPUC_ADOPTED_FIRST or above. INVALID_ARGUMENT for objects
 * that do not belong together; DEVICE_UNAVAILABLE if the device lacks OpenCL 1.2. Any thread. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_opencl_adopt(gpuc_runtime *rt, const gpuc_opencl_device_desc *desc,
                                                      gpuc_device **out);

/* ---- Memory ------------------------------------------------------------------------------- */

/* A part of a buffer, or of a sub-buffer. */
typedef struct gpuc_opencl_buffer {
    struct _cl_mem *mem; /* cl_mem */
    uint64_t offset;     /* bytes into it; a multiple of the size of an element */
    uint64_t size;       /* bytes from there on; 0: to its end */
} gpuc_opencl_buffer;

/* An array over the application's memory, without a copy: to be bound to sessions, passed to functions, read, written and
 * copied as any other. The cl_mem is retained as long as the array lives. INVALID_ARGUMENT for what is no buffer of the
 * device's context, and for a part that lies outside of it, or badly aligned. What its flags do not allow
 * (CL_MEM_READ_ONLY, CL_MEM_HOST_NO_ACCESS, ...) is INVALID_ARGUMENT where it is used so. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_opencl_wrap_buffer(gpuc_device *dev,
                                                            const gpuc_opencl_buffer *buffer,
                                                            gpuc_dtype dtype, int ndim, const int64_t *dims,
                                                            gpuc_ndarray **out);
/* An array over memory of the host, where the device shares it; it must stay until the array is released and the work
 * that uses it is done. The address is a multiple of GPUC_ATTR_BUFFER_ALIGN of the device. The host reads and writes it
 * between gpuc_opencl_map and gpuc_opencl_unmap only; the device sees what was there when the array was made.
 * UNSUPPORTED where the device has memory of its own (GPUC_ATTR_UNIFIED_MEMORY). */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_opencl_wrap_host(gpuc_device *dev, void *host, size_t size,
                                                          gpuc_dtype dtype, int ndim, const int64_t *dims,
                                                          gpuc_ndarray **out);
/* The memory of an array on an OpenCL device, gpuc's own or wrapped. Borrowed from the array: retain the cl_mem to keep
 * it longer. INVALID_ARGUMENT for arrays elsewhere. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_opencl_get_buffer(const gpuc_ndarray *a, gpuc_opencl_buffer *out);

/* Makes an array [height, width, channels] of an image2d of the device's context, to be bound as an input or output that
 * is an image: CL_RGBA and CL_BGRA of CL_UNORM_INT8 have 4 channels of uint8, CL_RGBA of CL_HALF_FLOAT and CL_FLOAT 4 of
 * float16 and float32, and CL_R of the three one. gpuc does not copy from it or to it. The cl_mem is retained as
 * long as the array lives. INVALID_ARGUMENT for what is no image2d of the context; UNSUPPORTED for another format,
 * and where the device has no images. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_opencl_wrap_image(gpuc_device *dev, struct _cl_mem *mem,
                                                           gpuc_ndarray **out);

/* Gives the elements to the host, after the work that the default stream has: *out is their address, for reading and
 * writing as far as the flags of the memory allow. Of a wrapped address it is that address. Until it is unmapped,
 * work that uses the array is INVALID_ARGUMENT. So is a second map. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_opencl_map(gpuc_ndarray *a, void **out);
/* Gives them back to the device: work that is queued from now on sees what the host wrote. Releasing the array does
 * so, too. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_opencl_unmap(gpuc_ndarray *a);

/* ---- Events ------------------------------------------------------------------------------- */

/* Work that is appended to the stream (NULL: the default one) from now on waits for the events (cl_event), which are of the
 * device's context and stay the application's. A queue that completes one of them must be flushed, as OpenCL asks.
 * INVALID_ARGUMENT for an event that has failed already; if one fails later, so does the work: DEVICE_LOST where it is
 * waited for, and what is queued after that runs again. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_opencl_wait(gpuc_device *dev, gpuc_stream *stream,
                                                     uint32_t num_events, struct _cl_event *const *events);
/* Flushes the stream (NULL: the default one), and gives an event (cl_event) that is complete when all it has is. The caller
 * releases it. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_opencl_signal(gpuc_device *dev, gpuc_stream *stream,
                                                       struct _cl_event **out);
/* gpuc_session_run between events: it starts after those of the list, and *out_done (NULL: not wanted; the caller releases
 * it) is complete when the outputs are there. It does not wait, but for a model that computes sizes which the host
 * must read, or that has operators on the CPU: that waits for the events, in the call. Sessions of one device
 * run in the order in which they were submitted. INVALID_ARGUMENT for a model on another device than OpenCL's. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_opencl_submit(gpuc_session *session, uint32_t num_wait,
                                                       struct _cl_event *const *wait,
                                                       struct _cl_event **out_done);

#ifdef __cplusplus
}
#endif
#endif
