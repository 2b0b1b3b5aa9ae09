/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a package with the runtime library alone, on the first device that the package holds a program for,
 * or on the one that is named.
 *
 *     run_model MODEL.gpuc [vulkan | opencl | cpu] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <gpuc/devices.h>
#include <gpuc/runtime.h>

/* An application has its own data; here a slow wave in float32 inputs, zeros in others. */
static gpuc_status set_input(gpuc_runtime *rt, gpuc_session *session, int i, gpuc_tensor_info info)
{
    int64_t dims[32];
    if (info.ndim > 32)
        return gpuc_fail(GPUC_UNSUPPORTED, "input %s has %d dimensions", info.name, info.ndim);
    for (int d = 0; d < info.ndim; d++) dims[d] = info.dims[d] < 0 ? 1 : info.dims[d];
    gpuc_ndarray *array;
    GPUC_TRY(gpuc_ndarray_create(rt, NULL, info.dtype, info.ndim, dims, &array));
    if (gpuc_dtype_equal(info.dtype, GPUC_FLOAT32)) {
        float *x = gpuc_ndarray_host(array);
        size_t count = gpuc_ndarray_bytes(array) / sizeof *x;
        for (size_t k = 0; k < count; k++) x[k] = sinf((float)k * 0.01f);
    }
    gpuc_status status = gpuc_session_set_input(session, i, array);
    gpuc_ndarray_release(array);
    return status;
}

static gpuc_status print_output(gpuc_session *session, int i, gpuc_tensor_info info)
{
    gpuc_ndarray *on_device;
    char type[24];
    GPUC_TRY(gpuc_session_get_output(session, i, &on_device));
    printf("%s %s [", info.name, gpuc_dtype_name(info.dtype, type));
    for (int d = 0; d < gpuc_ndarray_ndim(on_device); d++)
        printf("%s%lld", d ? "," : "", (long long)gpuc_ndarray_dims(on_device)[d]);
    printf("]");
    size_t bytes = gpuc_ndarray_bytes(on_device), count = bytes / sizeof(float);
    gpuc_status status = NULL;
    if (gpuc_dtype_equal(info.dtype, GPUC_FLOAT32) && count > 0) {
        float *x = malloc(bytes);
        if (!x) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for output %s", info.name);
        status = gpuc_ndarray_read(on_device, x, bytes);
        float min = x[0], max = x[0];
        for (size_t k = 0; k < count; k++) {
            min = fminf(min, x[k]);
            max = fmaxf(max, x[k]);
        }
        if (!status) printf(" from %g to %g", (double)min, (double)max);
        free(x);
    }
    printf("\n");
    return status;
}

static gpuc_status run(gpuc_runtime *rt, const gpuc_model_desc *desc)
{
    gpuc_model *model;
    gpuc_session *session = NULL;
    GPUC_TRY(gpuc_model_load(rt, desc, &model));
    printf("%s on %s\n", gpuc_model_target(model),
           gpuc_device_get_attr(gpuc_model_device(model), GPUC_ATTR_NAME).s);
    if (*gpuc_model_fallback_reason(model)) printf("note: %s\n", gpuc_model_fallback_reason(model));
    gpuc_status status = gpuc_session_create(model, &session);
    for (int i = 0; i < gpuc_model_num_inputs(model) && !status; i++)
        status = set_input(rt, session, i, gpuc_model_input(model, i));
    if (!status) status = gpuc_session_run(session);
    if (!status) status = gpuc_session_sync(session);
    for (int i = 0; i < gpuc_model_num_outputs(model) && !status; i++)
        status = print_output(session, i, gpuc_model_output(model, i));
    gpuc_session_release(session);
    gpuc_model_release(model);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s MODEL.gpuc [vulkan | opencl | cpu]\n", argv[0]);
        return 2;
    }
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = argv[1];
    desc.allow_native_code = true; /* only for packages that come from a trusted place */

    gpuc_runtime *rt = NULL;
    gpuc_device_type type;
    int index;
    gpuc_status status = gpuc_runtime_create(&GPUC_RUNTIME_DESC_INIT, &rt);
    if (!status) status = gpuc_devices_register(rt);
    if (!status && argc == 3) {
        status = gpuc_device_parse(rt, argv[2], &type, &index);
        if (!status) status = gpuc_device_open(rt, type, index, &desc.device);
    }
    if (!status) status = run(rt, &desc);
    int code = status ? 1 : 0;
    if (status) fprintf(stderr, "%s\n", gpuc_status_message(status));
    gpuc_status_release(status);
    gpuc_runtime_release(rt);
    return code;
}
