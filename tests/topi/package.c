/* SPDX-License-Identifier: Apache-2.0 */
#include "package.h"

#include "../codegen/run.h"

void package_set_input(gpuc_ctx *ctx, gpuc_session *s, int number, const gpuc_rexpr *constant)
{
    const gpuc_tensor_type *type = gpuc_relay_tensor_type(constant);
    const gpuc_const_data *data = gpuc_as_rconstant(constant)->data;
    int64_t dims[64];
    gpuc_ndarray *a;
    gpuc_relay_tensor_type_static(type, dims);
    GPUC_RAISE_IF(ctx, gpuc_ndarray_create(run_runtime(), NULL, type->dtype, type->ndim, dims, &a));
    GPUC_RAISE_IF(ctx, gpuc_ndarray_write(a, data->bytes, data->size));
    gpuc_status status = gpuc_session_set_input(s, number, a);
    gpuc_ndarray_release(a);
    GPUC_RAISE_IF(ctx, status);
}

const gpuc_rexpr *package_output(gpuc_ctx *ctx, gpuc_session *s, int number)
{
    gpuc_ndarray *a;
    GPUC_RAISE_IF(ctx, gpuc_session_get_output(s, number, &a));
    void *bytes = gpuc_ctx_alloc(ctx, gpuc_ndarray_bytes(a) + 1);
    GPUC_RAISE_IF(ctx, gpuc_ndarray_read(a, bytes, gpuc_ndarray_bytes(a)));
    return gpuc_relay_const_bytes(ctx, gpuc_ndarray_dtype(a), gpuc_ndarray_ndim(a), gpuc_ndarray_dims(a),
                                  bytes);
}

gpuc_session *package_start(gpuc_ctx *ctx, const char *path)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    gpuc_model *model;
    gpuc_session *s;
    desc.path = path;
    desc.device = run_device();
    desc.allow_native_code = true;
    GPUC_RAISE_IF(ctx, gpuc_model_load(run_runtime(), &desc, &model));
    run_validate(model);
    gpuc_status status = gpuc_session_create(model, &s);
    gpuc_model_release(model);
    GPUC_RAISE_IF(ctx, status);
    return s;
}
