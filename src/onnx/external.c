/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose bytes lie in files beside the model: mapped, and read in place. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "onnx/onnx.h"

static const char *field(const Onnx__TensorProto *t, const char *key)
{
    for (size_t i = 0; i < t->n_external_data; i++)
        if (t->external_data[i]->key && !strcmp(t->external_data[i]->key, key))
            return t->external_data[i]->value;
    return NULL;
}

static uint64_t number(gpuc_onnx *m, const Onnx__TensorProto *t, const char *name, const char *key,
                       uint64_t otherwise)
{
    const char *text = field(t, key);
    if (!text) return otherwise;
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || v > INT64_MAX)
        gpuc_raise(m->ctx, GPUC_INVALID_DATA, "tensor %s: external data has the %s '%s'", name, key, text);
    return v;
}

/* No absolute path, and no way out through a part "..". */
static bool stays_inside(const char *location)
{
    if (!location || !*location || *location == '/') return false;
    for (const char *part = location; *part; part += strcspn(part, "/"), part += *part == '/')
        if (strcspn(part, "/") == 2 && part[0] == '.' && part[1] == '.') return false;
    return true;
}

/* Nor through a link: what folder and file are called in truth. */
static bool lies_in(const char *path, const char *dir)
{
    char *file = realpath(path, NULL), *folder = realpath(dir, NULL);
    size_t n = folder ? strlen(folder) : 0;
    if (n && folder[n - 1] == '/') n--;
    bool inside = file && folder && !strncmp(file, folder, n) && file[n] == '/';
    free(file);
    free(folder);
    return inside;
}

static void unmap(gpuc_ctx *ctx, void *mapping)
{
    (void)ctx;
    gpuc_file_unmap(mapping);
}

static const gpuc_mapping *map_file(gpuc_onnx *m, const char *name, const char *location)
{
    gpuc_ctx *ctx = m->ctx;
    gpuc_mapping *known = gpuc_strmap_get(&m->files, location);
    if (known) return known;
    const char *path = gpuc_ctx_printf(ctx, "%s/%s", m->dir, location);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); /* a FIFO must not block */
    if (fd < 0)
        gpuc_raise(ctx, GPUC_IO, "tensor %s: cannot open external data %s: %s", name, path, strerror(errno));
    gpuc_mapping mapping = {0};
    gpuc_status status =
        lies_in(path, m->dir)
            ? gpuc_error_prefix(gpuc_file_map_open(fd, path, &mapping), "tensor %s: external data", name)
            : gpuc_fail(GPUC_INVALID_DATA, "tensor %s: external data '%s' is not in the model's folder", name,
                        location);
    close(fd);
    GPUC_RAISE_IF(ctx, status);
    known = gpuc_new(ctx, gpuc_mapping);
    gpuc_ctx_at_destroy(ctx, unmap, known);
    *known = mapping;
    gpuc_strmap_set(&m->files, location, known);
    return known;
}

gpuc_const_data *gpuc_onnx_external(gpuc_onnx *m, const Onnx__TensorProto *t, const char *name,
                                    gpuc_dtype dtype, size_t size)
{
    gpuc_ctx *ctx = m->ctx;
    const char *location = field(t, "location");
    uint64_t start = number(m, t, name, "offset", 0), length = number(m, t, name, "length", size);
    if (!stays_inside(location))
        gpuc_raise(ctx, GPUC_INVALID_DATA, "tensor %s: external data '%s' is not in the model's folder", name,
                   location ? location : "");
    if (length != size)
        gpuc_raise(ctx, GPUC_INVALID_DATA, "tensor %s: external data of %llu bytes, the shape needs %zu",
                   name, (unsigned long long)length, size);
    const gpuc_mapping *file = map_file(m, name, location);
    if (file->size < start || file->size - start < size)
        gpuc_raise(ctx, GPUC_INVALID_DATA, "tensor %s: external data %s has fewer than %llu + %zu bytes",
                   name, location, (unsigned long long)start, size);
    const uint8_t *bytes = file->data ? file->data + start : NULL;
    bool in_place = size && (uintptr_t)bytes % gpuc_dtype_bytes(dtype) == 0 && dtype.code != GPUC_DTYPE_BOOL;
    if (in_place) return gpuc_relay_const_data_of_mapping(ctx, bytes, size);
    gpuc_const_data *copy = gpuc_relay_const_data_create(ctx, size);
    if (size) memcpy(copy->bytes, bytes, size);
    return copy;
}
