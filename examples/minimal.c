/* SPDX-License-Identifier: Apache-2.0 */
/* minimal MODEL.gpuc: loads a network of floats on the first device that can run it, runs it, prints the results. */
#include <stdio.h>

#include <gpuc/devices.h>

static gpuc_status fill(gpuc_runtime *rt, gpuc_session *session, int i, gpuc_tensor_info in)
{
    gpuc_ndarray *array;
    int64_t dims[8];
    if (in.ndim > 8 || !gpuc_dtype_equal(in.dtype, GPUC_FLOAT32))
        return gpuc_fail(GPUC_UNSUPPORTED, "input %s is not float32, or has over 8 dimensions", in.name);
    for (int d = 0; d < in.ndim; d++) dims[d] = in.dims[d] < 0 ? 1 : in.dims[d]; /* -1: any size */
    GPUC_TRY(gpuc_ndarray_create(rt, NULL, in.dtype, in.ndim, dims, &array));
    float *x = gpuc_ndarray_host(array); /* your data goes here */
    for (size_t k = 0; k < gpuc_ndarray_bytes(array) / sizeof *x; k++) x[k] = (float)(k % 256) / 255;
    gpuc_status status = gpuc_session_set_input(session, i, array);
    gpuc_ndarray_release(array);
    return status;
}

static gpuc_status print(gpuc_runtime *rt, gpuc_session *session, int i, gpuc_tensor_info info)
{
    gpuc_ndarray *out, *host;
    GPUC_TRY(gpuc_session_get_output(session, i, &out));
    GPUC_TRY(gpuc_ndarray_create(rt, NULL, GPUC_FLOAT32, info.ndim, gpuc_ndarray_dims(out), &host));
    gpuc_status status = gpuc_ndarray_copy(out, host); /* waits; an error if the output is no float32 */
    const float *x = gpuc_ndarray_host(host);
    size_t count = status ? 0 : gpuc_ndarray_bytes(host) / sizeof *x;
    printf("%s, %zu numbers:", info.name, count);
    for (size_t k = 0; k < count && k < 10; k++) printf(" %g", (double)x[k]);
    printf("\n");
    gpuc_ndarray_release(host);
    return status;
}

int main(int argc, char **argv)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = argc > 1 ? argv[1] : "model.gpuc";
    desc.allow_native_code = true; /* code for the CPU runs unchecked: for packages that you trust */
    gpuc_runtime *rt = NULL;
    gpuc_model *m = NULL;
    gpuc_session *run = NULL;
    gpuc_status s = gpuc_runtime_create(NULL, &rt);
    if (!s) s = gpuc_devices_register(rt);
    if (!s) s = gpuc_model_load(rt, &desc, &m);
    if (!s) s = gpuc_session_create(m, &run);
    for (int i = 0; !s && i < gpuc_model_num_inputs(m); i++) s = fill(rt, run, i, gpuc_model_input(m, i));
    if (!s) s = gpuc_session_run(run);
    for (int i = 0; !s && i < gpuc_model_num_outputs(m); i++) s = print(rt, run, i, gpuc_model_output(m, i));
    if (s) fprintf(stderr, "%s\n", gpuc_status_message(s));
    int code = s ? 1 : 0;
    gpuc_status_release(s);
    gpuc_session_release(run);
    gpuc_model_release(m);
    gpuc_runtime_release(rt);
    return code;
}
