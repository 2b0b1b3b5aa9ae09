/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an array, and arrays over memory that something else owns. */
#ifndef GPUC_RUNTIME_NDARRAY_H
#define GPUC_RUNTIME_NDARRAY_H

#include <stdatomic.h>

#include <gpuc/runtime.h>

struct gpuc_ndarray {
    gpuc_runtime *runtime;
    atomic_size_t refs;
    gpuc_device *device; /* NULL: the host */
    gpuc_buffer *buffer; /* on a device */
    uint8_t *host;       /* on the host: the first element */
    size_t offset;       /* on a device: bytes into the buffer */
    size_t bytes;
    void *memory; /* on the host, if owned: what the allocator gave */
    size_t memory_size;
    bool owns_buffer;
    const void *origin; /* of wrapped memory that several buffers may have parts of: which it is; else NULL */
    uint64_t origin_offset;          /* of the buffer, in bytes */
    void (*free_owner)(void *owner); /* of wrapped memory; may be NULL */
    void *owner;
    gpuc_dtype dtype;
    int ndim;
    int64_t dims[];
};

/* Bytes of an array of these dims. INVALID_ARGUMENT for a type or dims that no array can have. */
GPUC_NODISCARD gpuc_status gpuc_ndarray_measure(gpuc_dtype dtype, int ndim, const int64_t *dims, size_t *out);

/* Whether the two share bytes, on a device: of one buffer, of two that are mapped to the same addresses, or of two
 * of one origin. */
bool gpuc_ndarray_overlap(const gpuc_ndarray *a, const gpuc_ndarray *b);

/* gpuc_ndarray_create on a device, as an image [height, width, channels]. */
GPUC_NODISCARD gpuc_status gpuc_ndarray_create_image(gpuc_device *dev, gpuc_dtype dtype, int ndim,
                                                     const int64_t *dims, gpuc_ndarray **out);

/* Memory that is there already: a buffer and offset, or a host address with binding.buffer NULL. The
 * size of the binding must hold the array (0: not checked). free_owner(owner) runs with the last
 * release, not if this fails. */
GPUC_NODISCARD gpuc_status gpuc_ndarray_wrap(gpuc_runtime *rt, gpuc_binding binding, void *host,
                                             gpuc_dtype dtype, int ndim, const int64_t *dims,
                                             void (*free_owner)(void *owner), void *owner,
                                             gpuc_ndarray **out);

#endif
