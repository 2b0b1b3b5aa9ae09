/* SPDX-License-Identifier: Apache-2.0 */
/* Exchange of arrays with other libraries by DLPack, without copies. Needs <dlpack/dlpack.h>.
 *
 * On the CPU, data is an address. On Vulkan and OpenCL it is the gpuc_buffer *, so that such tensors
 * pass between users of gpuc in one process only. bool has type code 6, also where dlpack.h does
 * not name it. */
#ifndef GPUC_DLPACK_H
#define GPUC_DLPACK_H

#include <dlpack/dlpack.h>

#include <gpuc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the tensor: its deleter runs when the array is released. On failure the caller keeps it.
 * byte_offset is honoured; strides must be NULL or those of a compact row-major array. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ndarray_from_dlpack(gpuc_runtime *rt, DLManagedTensor *tensor,
                                                             gpuc_ndarray **out);
/* Retains the array until the deleter of the result is called. Strides are always given. On a device,
 * work that writes the array must have been waited for, or be ordered before its reader. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_ndarray_to_dlpack(gpuc_ndarray *a, DLManagedTensor **out);

#ifdef __cplusplus
}
#endif
#endif
