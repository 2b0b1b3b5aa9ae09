/* SPDX-License-Identifier: Apache-2.0 */
/* Deflate (RFC 1951) backwards, and zip's checksum. The runtime links the C library alone. */
#ifndef GPUC_TENSOR_FILES_INFLATE_H
#define GPUC_TENSOR_FILES_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gpuc_inflated {
    GPUC_INFLATED_BAD, /* damaged or cut off */
    GPUC_INFLATED_ALL, /* the stream ended with the last byte of both */
    GPUC_INFLATED_PART /* out is full, and more would come; or the stream ended before one of them */
} gpuc_inflated;

/* Unpacks until out is full. All of its bytes are set unless the stream is bad or *made is less. */
gpuc_inflated gpuc_inflate(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size, size_t *made);
uint32_t gpuc_crc32(const uint8_t *bytes, size_t size);

#endif
