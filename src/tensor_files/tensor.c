/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and frees tensors in host memory, and loads one from a file by the end of its name. */
#include <gpuc/tensor_files.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/size.h"

gpuc_status gpuc_host_tensor_init(gpuc_dtype dtype, int ndim, const int64_t *dims, const char *what,
                                  gpuc_host_tensor *out)
{
    *out = (gpuc_host_tensor){.dtype = dtype, .ndim = ndim, .count = 1};
    if (ndim > GPUC_HOST_TENSOR_DIMS)
        return gpuc_fail(GPUC_UNSUPPORTED, "%s: has %d dimensions, at most %d are supported", what, ndim,
                         GPUC_HOST_TENSOR_DIMS);
    bool zero = false, fits = true;
    for (int i = 0; i < ndim; i++) {
        if (dims[i] < 0)
            return gpuc_fail(GPUC_INVALID_DATA, "%s: dimension %d is %lld", what, i, (long long)dims[i]);
        out->dims[i] = dims[i];
        zero = zero || dims[i] == 0;
        fits = fits && gpuc_size_mul(out->count, (size_t)dims[i], &out->count);
    }
    if (zero) {
        out->count = 0;
        fits = true;
    }
    fits = fits && gpuc_size_mul(out->count, gpuc_dtype_bytes(dtype), &out->size);
    out->data = fits ? calloc(1, out->size ? out->size : 1) : NULL;
    if (out->data) return NULL;
    gpuc_buf shape;
    gpuc_buf_init(&shape, (gpuc_allocator){0});
    for (int i = 0; i < ndim; i++) gpuc_buf_printf(&shape, "%s%lld", i ? "," : "", (long long)dims[i]);
    *out = (gpuc_host_tensor){0};
    gpuc_status status = gpuc_fail(GPUC_OUT_OF_MEMORY, "%s: out of memory for a tensor of shape [%s]", what,
                                   gpuc_buf_cstr(&shape));
    gpuc_buf_deinit(&shape);
    return status;
}

void gpuc_host_tensor_deinit(gpuc_host_tensor *t)
{
    free(t->name);
    free(t->data);
    *t = (gpuc_host_tensor){0};
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

bool gpuc_is_tensor_file(const char *name)
{
    return ends_with(name, ".npy") || ends_with(name, ".pb");
}

gpuc_status gpuc_tensor_file_load(const char *path, gpuc_host_tensor *out)
{
    *out = (gpuc_host_tensor){0};
    if (!gpuc_is_tensor_file(path))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "'%s': is neither a .npy nor a .pb file (ONNX TensorProto)",
                         path);
    gpuc_mapping map;
    GPUC_TRY(gpuc_file_map(path, &map));
    gpuc_status status = ends_with(path, ".npy") ? gpuc_npy_parse(map.data, map.size, path, out)
                                                 : gpuc_pb_parse(map.data, map.size, path, out);
    gpuc_file_unmap(&map);
    return status;
}
