/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors in host memory and the files that hold them: NumPy's .npy and .npz, and ONNX's TensorProto (.pb).
 *
 * Files may hold any bytes: whatever is wrong with them is an error that names the file (INVALID_DATA, or
 * UNSUPPORTED for what is valid but not supported: strings, records, encrypted archives), and what a file
 * states is checked before memory is allocated for it. Elements are compact, in C order and little-endian. bfloat16
 * is stored in .npy files as numpy stores it, as pairs of bytes ('V2'). */
#ifndef GPUC_TENSOR_FILES_H
#define GPUC_TENSOR_FILES_H

#include <gpuc/files.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPUC_HOST_TENSOR_DIMS 64 /* at most */

/* A tensor; zeros: there is none. Name and elements belong to it, from the C library's allocator. */
typedef struct gpuc_host_tensor {
    char *name;                          /* from a .pb; NULL if it has none */
    gpuc_dtype dtype;                    /* of an element */
    int ndim;                            /* 0: a scalar */
    int64_t dims[GPUC_HOST_TENSOR_DIMS]; /* ndim of them are the shape, the rest is 0 */
    size_t count, size;                  /* elements, bytes */
    void *data;                          /* not NULL, even without elements */
} gpuc_host_tensor;

/* Zeroed elements for a tensor of these dims. what names it in messages. On failure *out is zeros, as after
 * every function here. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_host_tensor_init(gpuc_dtype dtype, int ndim, const int64_t *dims,
                                                          const char *what, gpuc_host_tensor *out);
/* Frees name and elements, and sets the tensor to zeros. Zeros are fine. */
GPUC_API void gpuc_host_tensor_deinit(gpuc_host_tensor *t);

/* ---- .npy and .pb ---- */

/* Whether the name ends in .npy or .pb. */
GPUC_API bool gpuc_is_tensor_file(const char *name);
/* Reads a file of that kind, by the name's end; INVALID_ARGUMENT for another. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_tensor_file_load(const char *path, gpuc_host_tensor *out);
/* The same of bytes; messages start with the name. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_npy_parse(const void *bytes, size_t size, const char *name,
                                                   gpuc_host_tensor *out);
/* A TensorProto; one whose elements are in another file is UNSUPPORTED. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_pb_parse(const void *bytes, size_t size, const char *name,
                                                  gpuc_host_tensor *out);
/* Writes a .npy file, whole or not at all; pending may be NULL (gpuc/files.h). The tensor's name is not in it. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_npy_write(gpuc_pending *pending, const gpuc_host_tensor *t,
                                                   const char *path);
/* The same of a .pb file, which has the tensor's name, if there is one. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_pb_write(gpuc_pending *pending, const gpuc_host_tensor *t,
                                                  const char *path);

/* ---- .npz: archives of .npy members, stored or deflated, zip64 or not ---- */

/* How much of a deflated stream was unpacked. */
typedef enum gpuc_inflated {
    GPUC_INFLATED_BAD, /* the stream is damaged or cut off */
    GPUC_INFLATED_ALL, /* the stream ended with the last byte of its input and of its output */
    GPUC_INFLATED_PART /* the output is full, and more would come; or the stream ended before one of the two */
} gpuc_inflated;

/* What compressed archives need. The runtime links the C library alone, so the program brings it: zlib's
 * inflate and crc32, for example. Both functions may be called by several threads at once. */
typedef struct gpuc_npz_codec {
    /* Unpacks raw deflate (RFC 1951) until out is full; *made says how many of its bytes are set. */
    gpuc_inflated (*inflate)(const void *in, size_t in_size, void *out, size_t out_size, size_t *made);
    /* The CRC-32 of zip archives. */
    uint32_t (*crc32)(const void *bytes, size_t size);
} gpuc_npz_codec;

/* May be read by several threads at once. */
typedef struct gpuc_npz gpuc_npz;

/* Reads the directory only. The codec is borrowed until the archive is closed; without one (NULL) compressed
 * members are UNSUPPORTED when they are read, and no checksum is verified. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_npz_open(const char *path, const gpuc_npz_codec *codec,
                                                  gpuc_npz **out);
/* The same of bytes, which are borrowed until the archive is closed. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_npz_parse(const void *bytes, size_t size, const char *name,
                                                   const gpuc_npz_codec *codec, gpuc_npz **out);
GPUC_API void gpuc_npz_close(gpuc_npz *a); /* NULL is fine */
/* The number of members, of any kind, which are numbered from 0 in the directory's order. */
GPUC_API int gpuc_npz_count(const gpuc_npz *a);
/* NULL, and INVALID_ARGUMENT, for a number that is out of range. */
GPUC_API const char *gpuc_npz_file(const gpuc_npz *a, int i); /* "x.npz:a.npy" */
GPUC_API const char *gpuc_npz_name(const gpuc_npz *a, int i); /* "a" */
/* Type and shape of a member, without elements: count, size and data are 0. Only its header is unpacked. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_npz_type(const gpuc_npz *a, int i, gpuc_host_tensor *out);
/* All of it; its checksum is verified. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_npz_read(const gpuc_npz *a, int i, gpuc_host_tensor *out);

#ifdef __cplusplus
}
#endif
#endif
