/* SPDX-License-Identifier: Apache-2.0 */
/* use FILE: loads the library that export.c wrote on each device that is here, and adds. Linked with the
 * runtime alone. */
#include <stdio.h>

#include <gpuc/devices.h>

enum { N = 1000 };

static gpuc_status add(gpuc_function *f, gpuc_ndarray *const arrays[3], const float *a, const float *b,
                       float *c)
{
    const size_t bytes = N * sizeof(float);
    GPUC_TRY(gpuc_ndarray_write(arrays[0], a, bytes));
    GPUC_TRY(gpuc_ndarray_write(arrays[1], b, bytes));
    GPUC_TRY(gpuc_call(f, gpuc_arg(arrays[0]), gpuc_arg(arrays[1]), gpuc_arg(arrays[2]), gpuc_arg_int(N)));
    return gpuc_ndarray_read(arrays[2], c, bytes);
}

/* The device decides which of the library's programs is loaded. */
static gpuc_status use(gpuc_runtime *rt, gpuc_device *device, const char *path, int *out_wrong)
{
    static float a[N], b[N], c[N];
    gpuc_module *lib = NULL;
    gpuc_function *f = NULL;
    gpuc_ndarray *arrays[3] = {0};
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = 0.5f * (float)(N - i);
    }
    gpuc_status status = gpuc_module_load_file(rt, path, device, GPUC_LOAD_NATIVE_CODE, &lib);
    if (!status) status = gpuc_module_get_function(lib, "vector_add", &f);
    for (int i = 0; i < 3 && !status; i++)
        status = gpuc_ndarray_create(rt, device, GPUC_FLOAT32, 1, (int64_t[]){N}, &arrays[i]);
    if (!status) status = add(f, arrays, a, b, c);
    for (int i = 0; i < N; i++) *out_wrong += c[i] != a[i] + b[i];
    for (int i = 0; i < 3; i++) gpuc_ndarray_release(arrays[i]);
    gpuc_function_release(f);
    gpuc_module_release(lib);
    return status;
}

int main(int argc, char **argv)
{
    static const gpuc_device_type types[] = {GPUC_DEVICE_VULKAN, GPUC_DEVICE_OPENCL, GPUC_DEVICE_CPU};
    gpuc_runtime *rt = NULL;
    int failed = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: use FILE\n");
        return 2;
    }
    gpuc_status status = gpuc_runtime_create(NULL, &rt);
    if (!status) status = gpuc_devices_register(rt);
    for (int i = 0; i < 3 && !status; i++) {
        gpuc_device *device;
        int wrong = 0;
        gpuc_status s = gpuc_device_open(rt, types[i], 0, &device);
        bool here = !s;
        if (here) s = use(rt, device, argv[1], &wrong);
        const char *result = s ? gpuc_status_message(s) : wrong ? "wrong" : "ok";
        printf("%-7s %s\n", gpuc_device_type_name(rt, types[i]), result);
        failed += here && (s || wrong);
        gpuc_status_release(s);
    }
    if (status) fprintf(stderr, "use: %s\n", gpuc_status_message(status));
    failed += status != NULL;
    gpuc_status_release(status);
    gpuc_runtime_release(rt);
    return failed != 0;
}
