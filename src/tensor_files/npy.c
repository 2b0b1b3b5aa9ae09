/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy, versions 1 to 3: magic, version, length of the header, the header (a Python dict), the
 * elements. Types that numpy lacks are stored as it stores them, as raw bytes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/element.h"
#include "base/file.h"
#include "tensor_files/npy.h"

#define MAGIC "\x93NUMPY"

typedef struct npy_header {
    char descr[16];
    bool fortran, has_descr, has_order, has_shape;
    int ndim;
    int64_t dims[GPUC_HOST_TENSOR_DIMS];
} npy_header;

typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_spaces(cursor *c)
{
    while (c->at < c->end && isspace((unsigned char)*c->at)) c->at++;
}

static bool take(cursor *c, char what)
{
    skip_spaces(c);
    if (c->at == c->end || *c->at != what) return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word)
{
    size_t n = strlen(word);
    skip_spaces(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return false;
    c->at += n;
    return true;
}

static bool take_string(cursor *c, char *out, size_t room)
{
    skip_spaces(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
    char quote = *c->at++;
    size_t n = 0;
    while (c->at < c->end && *c->at != quote && n + 1 < room) out[n++] = *c->at++;
    out[n] = 0;
    return take(c, quote);
}

static bool take_dims(cursor *c, npy_header *h)
{
    if (!take(c, '(')) return false;
    while (!take(c, ')')) {
        int64_t v = 0;
        skip_spaces(c);
        if (c->at == c->end || !isdigit((unsigned char)*c->at) || h->ndim == GPUC_HOST_TENSOR_DIMS)
            return false;
        for (; c->at < c->end && isdigit((unsigned char)*c->at); c->at++)
            if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *c->at - '0', &v))
                return false;
        h->dims[h->ndim++] = v;
        if (c->at < c->end && *c->at == 'L') c->at++; /* written by Python 2 */
        if (take(c, ')')) return true;
        if (!take(c, ',')) return false;
    }
    return true;
}

static bool parse_header(cursor c, npy_header *h)
{
    if (!take(&c, '{')) return false;
    while (!take(&c, '}')) {
        char key[32];
        if (!take_string(&c, key, sizeof key) || !take(&c, ':')) return false;
        if (strcmp(key, "descr") == 0) {
            skip_spaces(&c);
            if (c.at < c.end && *c.at == '[') { /* fields of a record */
                strcpy(h->descr, "|V");
                return h->has_descr = h->has_order = h->has_shape = true;
            }
            if (!(h->has_descr = take_string(&c, h->descr, sizeof h->descr))) return false;
        } else if (strcmp(key, "fortran_order") == 0) {
            h->fortran = take_word(&c, "True");
            if (!(h->has_order = h->fortran || take_word(&c, "False"))) return false;
        } else if (strcmp(key, "shape") == 0) {
            if (!(h->has_shape = take_dims(&c, h))) return false;
        } else {
            return false;
        }
        take(&c, ',');
    }
    return h->has_descr && h->has_order && h->has_shape;
}

static gpuc_status find_dtype(const npy_header *h, const char *name, gpuc_dtype *out)
{
    char order = h->descr[0];
    bool has_order = order && strchr("<>|=", order);
    const char *kind = h->descr + has_order;
    for (int i = 0; i < GPUC_NUM_ELEMENTS; i++) {
        if (strcmp(kind, gpuc_elements[i].numpy) != 0) continue;
        *out = gpuc_elements[i].dtype;
        if (order != '>' || gpuc_dtype_bytes(*out) == 1) return NULL;
        return gpuc_fail(GPUC_INVALID_DATA,
                         "'%s': its elements are big-endian ('%s'); save it again with "
                         "a.astype(a.dtype.newbyteorder('<'))",
                         name, h->descr);
    }
    return gpuc_fail(GPUC_UNSUPPORTED,
                     "'%s': elements of type '%s' are not supported; convert with "
                     "a.astype(...)",
                     name, h->descr);
}

gpuc_status gpuc_npy_head_size(const uint8_t start[GPUC_NPY_START], uint64_t size, const char *name,
                               size_t *out)
{
    enum { MAX = 1 << 20 }; /* numpy refuses headers of more than 10000 bytes */
    if (memcmp(start, MAGIC, 6) != 0) return gpuc_fail(GPUC_INVALID_DATA, "'%s': is not a .npy file", name);
    if (start[6] < 1 || start[6] > 3)
        return gpuc_fail(GPUC_UNSUPPORTED,
                         "'%s': has version %d of the .npy format; versions 1 to 3 are known", name,
                         start[6]);
    size_t fixed = start[6] == 1 ? 10 : GPUC_NPY_START, length = start[8] | (size_t)start[9] << 8;
    if (fixed == GPUC_NPY_START) length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    *out = fixed + length;
    if (*out > MAX)
        return gpuc_fail(GPUC_INVALID_DATA, "'%s': its header is damaged: it has %zu bytes", name, length);
    if (*out < GPUC_NPY_START || *out > size)
        return gpuc_fail(GPUC_INVALID_DATA, "'%s': is cut off in its header", name);
    return NULL;
}

gpuc_status gpuc_npy_head(const uint8_t *head, size_t head_size, uint64_t size, const char *name,
                          gpuc_host_tensor *out)
{
    size_t fixed = head[6] == 1 ? 10 : GPUC_NPY_START;
    npy_header h = {0};
    if (!parse_header((cursor){(const char *)head + fixed, (const char *)head + head_size}, &h))
        return gpuc_fail(GPUC_INVALID_DATA,
                         "'%s': its header is damaged, or describes more than %d dimensions", name,
                         GPUC_HOST_TENSOR_DIMS);
    gpuc_dtype dtype;
    GPUC_TRY(find_dtype(&h, name, &dtype));
    if (h.fortran)
        return gpuc_fail(GPUC_INVALID_DATA,
                         "'%s': is in Fortran order; save it again with np.ascontiguousarray(a)", name);
    uint64_t have = size - head_size;
    size_t want = gpuc_dtype_bytes(dtype);
    for (int i = 0; i < h.ndim; i++)
        if (__builtin_mul_overflow(want, (size_t)h.dims[i], &want)) want = SIZE_MAX;
    if (have != want)
        return gpuc_fail(GPUC_INVALID_DATA,
                         "'%s': its shape needs %zu bytes of elements, the file has %llu: it is %s", name,
                         want, (unsigned long long)have, have < want ? "cut off" : "damaged");
    *out = (gpuc_host_tensor){.dtype = dtype, .ndim = h.ndim};
    memcpy(out->dims, h.dims, sizeof h.dims);
    return NULL;
}

gpuc_status gpuc_npy_parse(const void *bytes, size_t size, const char *name, gpuc_host_tensor *out)
{
    size_t head;
    gpuc_host_tensor t;
    *out = (gpuc_host_tensor){0};
    if (size < GPUC_NPY_START) return gpuc_fail(GPUC_INVALID_DATA, "'%s': is not a .npy file", name);
    GPUC_TRY(gpuc_npy_head_size(bytes, size, name, &head));
    GPUC_TRY(gpuc_npy_head(bytes, head, size, name, &t));
    GPUC_TRY(gpuc_host_tensor_init(t.dtype, t.ndim, t.dims, name, out));
    if (out->size) memcpy(out->data, (const uint8_t *)bytes + head, out->size);
    return NULL;
}

gpuc_status gpuc_npy_write(gpuc_pending *pending, const gpuc_host_tensor *t, const char *path)
{
    const char *descr = "";
    for (int i = 0; i < GPUC_NUM_ELEMENTS; i++)
        if (gpuc_dtype_equal(gpuc_elements[i].dtype, t->dtype)) descr = gpuc_elements[i].numpy;
    bool no_order = gpuc_dtype_bytes(t->dtype) == 1 || descr[0] == 'V';
    gpuc_buf buf, header;
    gpuc_buf_init(&buf, (gpuc_allocator){0});
    gpuc_buf_init(&header, (gpuc_allocator){0});
    gpuc_buf_printf(&header, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", no_order ? '|' : '<',
                    descr);
    for (int i = 0; i < t->ndim; i++)
        gpuc_buf_printf(&header, "%lld,%s", (long long)t->dims[i], i + 1 < t->ndim ? " " : "");
    gpuc_buf_str(&header, "), }");
    while ((10 + header.size + 1) % 64) gpuc_buf_str(&header, " "); /* elements start at a multiple of 64 */
    gpuc_buf_str(&header, "\n");
    gpuc_buf_bytes(&buf, MAGIC "\x01\x00", 8);
    gpuc_buf_u16(&buf, (uint16_t)header.size);
    gpuc_buf_bytes(&buf, header.data, header.size);
    gpuc_status status = gpuc_buf_status(&header);
    if (!status) status = gpuc_buf_status(&buf);
    gpuc_file_writer *w = NULL;
    if (!status) status = gpuc_file_create(pending, (gpuc_allocator){0}, path, &w);
    if (!status) status = gpuc_file_write(w, buf.data, buf.size);
    if (!status) status = gpuc_file_write(w, t->data, t->size);
    if (status)
        gpuc_file_abandon(w);
    else
        status = gpuc_file_commit(w);
    gpuc_buf_deinit(&buf);
    gpuc_buf_deinit(&header);
    return status;
}
