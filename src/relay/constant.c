/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the users of constants' data, so that large constants are freed as soon as possible. */
#include <string.h>

#include "base/file.h"
#include "relay/infer.h"
#include "relay/relay.h"
#include "base/element.h"

static void drop(gpuc_const_data *data)
{
    if (data->base)
        gpuc_mem_free(data->allocator, data->base, data->base_size);
    else if (data->bytes)
        gpuc_file_forget(data->bytes, data->size);
    data->base = data->bytes = NULL;
}

static void drop_at_destroy(gpuc_ctx *ctx, void *data)
{
    (void)ctx;
    drop(data);
}

gpuc_const_data *gpuc_relay_const_data_create(gpuc_ctx *ctx, size_t size)
{
    enum { ALIGN = 64 };
    gpuc_const_data *d = gpuc_new(ctx, gpuc_const_data);
    d->allocator = ctx->allocator;
    d->refs = 1;
    d->size = size;
    d->base_size = size + ALIGN;
    gpuc_ctx_at_destroy(ctx, drop_at_destroy, d);
    d->base = gpuc_mem_alloc(d->allocator, d->base_size);
    if (!d->base) {
        d->base_size = 0;
        gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "out of memory for a constant of %zu bytes", size);
    }
    d->bytes = (void *)(((uintptr_t)d->base + ALIGN - 1) / ALIGN * ALIGN);
    return d;
}

gpuc_const_data *gpuc_relay_const_data_of_mapping(gpuc_ctx *ctx, const void *bytes, size_t size)
{
    gpuc_const_data *d = gpuc_new(ctx, gpuc_const_data);
    *d = (gpuc_const_data){.refs = 1, .size = size, .bytes = (void *)bytes};
    return d;
}

gpuc_const_data *gpuc_relay_const_data_retain(gpuc_const_data *data)
{
    data->refs++;
    return data;
}

void gpuc_relay_const_data_release(gpuc_const_data *data)
{
    if (data && --data->refs == 0) drop(data);
}

gpuc_rexpr *gpuc_relay_const_bytes(gpuc_ctx *ctx, gpuc_dtype dtype, int ndim, const int64_t *dims,
                                   const void *bytes)
{
    const gpuc_rtype *type = gpuc_relay_rtype_tensor_static(ctx, dtype, ndim, dims);
    if (gpuc_relay_tensor_type_bytes(ctx, &type->tensor))
        gpuc_relay_need(ctx, "a constant", "list of elements", bytes);
    gpuc_const_data *data =
        gpuc_relay_const_data_create(ctx, (size_t)gpuc_relay_tensor_type_bytes(ctx, &type->tensor));
    if (data->size) memcpy(data->bytes, bytes, data->size);
    return gpuc_relay_constant(ctx, type, data);
}

static void store_scalar(gpuc_ctx *ctx, gpuc_dtype t, double value, void *out)
{
    if (gpuc_is_float(t)) {
        gpuc_float_store(t, out, value);
        return;
    }
    int64_t i = 0;
    if (!gpuc_expr_is_int(gpuc_imm(ctx, t, value), &i))
        gpuc_raise(ctx, GPUC_INTERNAL, "a scalar constant of type code %d", t.code);
    memcpy(out, &i, gpuc_dtype_bytes(t)); /* little-endian: the low bytes */
}

gpuc_rexpr *gpuc_relay_const_scalar(gpuc_ctx *ctx, gpuc_dtype dtype, double value)
{
    const gpuc_rtype *type = gpuc_relay_rtype_tensor(ctx, dtype, 0, NULL);
    gpuc_const_data *data = gpuc_relay_const_data_create(ctx, gpuc_dtype_bytes(dtype));
    store_scalar(ctx, dtype, value, data->bytes);
    return gpuc_relay_constant(ctx, type, data);
}

gpuc_rexpr *gpuc_relay_const_ints(gpuc_ctx *ctx, int n, const int64_t *values)
{
    int64_t dim = n;
    return gpuc_relay_const_bytes(ctx, GPUC_INT64, 1, &dim, values);
}

gpuc_expr gpuc_relay_const_element(gpuc_ctx *ctx, const gpuc_rconstant *c, int64_t i)
{
    gpuc_dtype t = c->base.type->tensor.dtype;
    const char *at = (const char *)c->data->bytes + (size_t)i * gpuc_dtype_bytes(t);
    if (gpuc_is_float(t)) return gpuc_imm(ctx, t, gpuc_float_load(t, at));
    return gpuc_imm_int(ctx, t, gpuc_relay_read_integer(at, t));
}
