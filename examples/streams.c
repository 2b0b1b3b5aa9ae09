/* SPDX-License-Identifier: Apache-2.0 */
/* streams FILE: runs functions of the library that export.c wrote on two streams of each device that is here.
 * Nothing waits before the last two calls. Linked with the runtime alone. */
#include <stdio.h>

#include <gpuc/devices.h>

enum { N = 1000 };

static void draw_something(void)
{
}

/* c = (a + a) + a */
static gpuc_status add(gpuc_stream *s1, gpuc_stream *s2, gpuc_function *kernel, gpuc_ndarray *const arrays[3],
                       float *host_a, float *host_c)
{
    gpuc_ndarray *a = arrays[0], *b = arrays[1], *c = arrays[2];
    const size_t bytes = N * sizeof(float);
    const gpuc_value n = {.kind = GPUC_VALUE_INT, .as.i = N};
    gpuc_ticket t, done;
    GPUC_TRY(gpuc_ndarray_write_on(s1, a, host_a, bytes)); /* host_a may be reused at once */
    GPUC_TRY(gpuc_launch(s1, kernel, (gpuc_ndarray *[]){a, a, b}, 3, &n, 1));
    GPUC_TRY(gpuc_stream_signal(s1, &t));
    GPUC_TRY(gpuc_stream_wait(s2, t));
    GPUC_TRY(gpuc_launch(s2, kernel, (gpuc_ndarray *[]){a, b, c}, 3, &n, 1));
    GPUC_TRY(gpuc_ndarray_read_on(s2, c, host_c, bytes)); /* into my memory, later */
    GPUC_TRY(gpuc_stream_signal(s2, &done));
    while (!gpuc_ticket_done(done)) draw_something();
    return gpuc_ticket_wait(done, GPUC_FOREVER);
}

static gpuc_status run(gpuc_runtime *rt, gpuc_device *device, const char *path, int *out_wrong)
{
    static float a[N], c[N];
    gpuc_module *lib = NULL;
    gpuc_function *f = NULL;
    gpuc_stream *s1 = NULL, *s2 = NULL;
    gpuc_ndarray *arrays[3] = {0};
    for (int i = 0; i < N; i++) a[i] = (float)i;
    gpuc_status status = gpuc_module_load_file(rt, path, device, GPUC_LOAD_NATIVE_CODE, &lib);
    if (!status) status = gpuc_module_get_function(lib, "vector_add", &f);
    for (int i = 0; i < 3 && !status; i++)
        status = gpuc_ndarray_create(rt, device, GPUC_FLOAT32, 1, (int64_t[]){N}, &arrays[i]);
    if (!status) status = gpuc_stream_create(device, &s1);
    if (!status) status = gpuc_stream_create(device, &s2);
    if (!status) status = add(s1, s2, f, arrays, a, c);
    for (int i = 0; i < N; i++) *out_wrong += c[i] != 3 * (float)i;
    for (int i = 0; i < 3; i++) gpuc_ndarray_release(arrays[i]);
    gpuc_stream_release(s1);
    gpuc_stream_release(s2);
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
        fprintf(stderr, "usage: streams FILE\n");
        return 2;
    }
    gpuc_status status = gpuc_runtime_create(NULL, &rt);
    if (!status) status = gpuc_devices_register(rt);
    for (int i = 0; i < 3 && !status; i++) {
        gpuc_device *device;
        int wrong = 0;
        gpuc_status s = gpuc_device_open(rt, types[i], 0, &device);
        bool here = !s;
        if (here) s = run(rt, device, argv[1], &wrong);
        const char *result = s ? gpuc_status_message(s) : wrong ? "wrong" : "ok";
        printf("%-7s %s\n", gpuc_device_type_name(rt, types[i]), result);
        failed += here && (s || wrong);
        gpuc_status_release(s);
    }
    if (status) fprintf(stderr, "streams: %s\n", gpuc_status_message(status));
    failed += status != NULL;
    gpuc_status_release(status);
    gpuc_runtime_release(rt);
    return failed != 0;
}
