/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include "../codegen/device.h"

#include <unistd.h>

#include "../../tools/gpuc/sanitize.h"

static const char *target_text = "c", *attributes;
static gpuc_runtime *rt;
static gpuc_device *device;
static gpuc_model *model;
static gpuc_session *session;
static void *last;
static size_t last_bytes;

static gpuc_status open_device(void)
{
    static const struct {
        const char *target;
        gpuc_device_type type;
    } kinds[] = {{"c", GPUC_DEVICE_CPU}, {"opencl", GPUC_DEVICE_OPENCL}, {"vulkan", GPUC_DEVICE_VULKAN}};
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    GPUC_TRY(gpuc_runtime_create(&desc, &rt));
#ifdef GPUC_RUN_CPU
    GPUC_TRY(gpuc_cpu_register(rt));
#endif
#ifdef GPUC_RUN_OPENCL
    GPUC_TRY(gpuc_opencl_register(rt));
#endif
#ifdef GPUC_RUN_VULKAN
    GPUC_TRY(gpuc_vulkan_register(rt));
#endif
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strncmp(target_text, kinds[i].target, strlen(kinds[i].target)))
            return test_device_open(rt, kinds[i].type, target_text, &device);
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "no device runs '%s'", target_text);
}

bool run_available(int argc, char **argv)
{
    if (argc > 1) target_text = argv[1];
    gpuc_status status = open_device();
    if (!status) return true;
    printf("skipped: %s\n", gpuc_status_message(status));
    gpuc_status_release(status);
    return false;
}

static void drop(void)
{
    free(last);
    last = NULL;
    gpuc_session_release(session);
    session = NULL;
}

void run_end(void)
{
    drop();
    gpuc_model_release(model);
    model = NULL;
    cli_keep_drivers_loaded();
    gpuc_runtime_release(rt);
    rt = NULL;
}

typedef struct build_arg {
    gpuc_rmodule *m;
    const char *path;
} build_arg;

const char *run_target(void)
{
    return target_text;
}

gpuc_device *run_device(void)
{
    return device;
}

void run_target_attributes(const char *text)
{
    attributes = text;
}

gpuc_model *run_model(void)
{
    return model;
}

static void build_body(gpuc_ctx *ctx, void *arg)
{
    build_arg *a = arg;
    const char *text = attributes ? gpuc_ctx_printf(ctx, "%s %s", target_text, attributes) : target_text;
    const gpuc_target *target = gpuc_target_parse(ctx, text, device);
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    gpuc_build_package(ctx, a->m, 1, &target, &options, a->path, NULL);
}

gpuc_status run_build(gpuc_ctx *ctx, gpuc_rmodule *m)
{
    char path[] = "/tmp/gpuc-build-test-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) return gpuc_fail(GPUC_IO, "no temporary file");
    close(fd);
    drop();
    gpuc_model_release(model);
    model = NULL;
    build_arg arg = {m, path};
    gpuc_status status = gpuc_ctx_protect(ctx, build_body, &arg);
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = path;
    desc.device = device;
    desc.allow_native_code = true;
    if (!status) status = gpuc_model_load(rt, &desc, &model);
    remove(path);
    return status;
}

gpuc_status run_set_input(gpuc_session *s, int i, const run_array *a)
{
    gpuc_ndarray *host;
    size_t bytes = gpuc_dtype_bytes(a->dtype);
    for (int d = 0; d < a->ndim; d++) bytes *= (size_t)a->dims[d];
    GPUC_TRY(gpuc_ndarray_create(rt, NULL, a->dtype, a->ndim, a->dims, &host));
    gpuc_status status = gpuc_ndarray_write(host, a->bytes, bytes);
    if (!status) status = gpuc_session_set_input(s, i, host);
    gpuc_ndarray_release(host);
    return status;
}

static gpuc_status prepare_session(int n, const run_array *inputs)
{
    if (!session) GPUC_TRY(gpuc_session_create(model, &session));
    for (int i = 0; i < n; i++) GPUC_TRY(run_set_input(session, i, &inputs[i]));
    return NULL;
}

static gpuc_status count_slices(int n, const run_array *inputs, uint32_t budget_us, int *out)
{
    GPUC_TRY(prepare_session(n, inputs));
    *out = 0;
    for (gpuc_slice_progress p = {0}; !p.complete; ++*out)
        GPUC_TRY(gpuc_session_run_slice(session, budget_us, &p));
    return gpuc_session_sync(session);
}

gpuc_status run_slices(int n, const run_array *inputs, uint32_t budget_us)
{
    int slices;
    return count_slices(n, inputs, budget_us, &slices);
}

int run_same_in_pieces(int n, const run_array *inputs)
{
    int ndim, slices;
    const int64_t *dims;
    run_output(0, &ndim, &dims);
    void *whole = last;
    size_t bytes = last_bytes;
    last = NULL;
    gpuc_status status = count_slices(n, inputs, 0, &slices);
    if (status) fail_msg("in slices: %s", gpuc_status_message(status));
    assert_memory_equal(run_output(0, &ndim, &dims), whole, bytes);
    free(whole);
    return slices;
}

gpuc_status run_session(int n, const run_array *inputs)
{
    GPUC_TRY(prepare_session(n, inputs));
    GPUC_TRY(gpuc_session_run(session));
    return gpuc_session_sync(session);
}

const void *run_output(int i, int *ndim, const int64_t **dims)
{
    gpuc_ndarray *a;
    gpuc_status status = gpuc_session_get_output(session, i, &a);
    if (status) fail_msg("%s", gpuc_status_message(status));
    size_t bytes = gpuc_dtype_bytes(gpuc_ndarray_dtype(a));
    *ndim = gpuc_ndarray_ndim(a);
    *dims = gpuc_ndarray_dims(a);
    for (int d = 0; d < *ndim; d++) bytes *= (size_t)(*dims)[d];
    free(last);
    last = malloc(bytes + 1);
    last_bytes = bytes;
    status = gpuc_ndarray_read(a, last, bytes);
    if (status) fail_msg("%s", gpuc_status_message(status));
    return last;
}
