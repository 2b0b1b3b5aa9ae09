/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an .npy file, for those that read the rest themselves. */
#ifndef GPUC_TENSOR_FILES_NPY_H
#define GPUC_TENSOR_FILES_NPY_H

#include <gpuc/tensor_files.h>

enum { GPUC_NPY_START = 12 };
/* How many bytes the header has, from the first ones of a file of that size. */
GPUC_NODISCARD gpuc_status gpuc_npy_head_size(const uint8_t start[GPUC_NPY_START], uint64_t size,
                                              const char *name, size_t *out);
/* What it says: *out without elements, which are the rest of the file, neither more nor less. */
GPUC_NODISCARD gpuc_status gpuc_npy_head(const uint8_t *head, size_t head_size, uint64_t size,
                                         const char *name, gpuc_host_tensor *out);

#endif
