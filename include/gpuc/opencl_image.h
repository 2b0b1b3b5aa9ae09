/* SPDX-License-Identifier: Apache-2.0 */
/* Images of an OpenCL application as inputs and outputs. No header of OpenCL is needed, and <CL/cl.h> may come before
 * or after. */
#ifndef GPUC_OPENCL_IMAGE_H
#define GPUC_OPENCL_IMAGE_H

#include <gpuc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct _cl_mem;

/* Makes an array [height, width, channels] of an image2d of the device's context, to be bound as an input or output that
 * is an image: CL_RGBA and CL_BGRA of CL_UNORM_INT8 have 4 channels of uint8, CL_RGBA of CL_HALF_FLOAT and CL_FLOAT 4 of
 * float16 and float32, and CL_R of the three one. gpuc does not copy from it or to it. The cl_mem is retained as
 * long as the array lives. INVALID_ARGUMENT for what is no image2d of the context; UNSUPPORTED for another format,
 * and where the device has no images. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_opencl_wrap_image(gpuc_device *dev, struct _cl_mem *mem,
                                                           gpuc_ndarray **out);

#ifdef __cplusplus
}
#endif
#endif
