/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpuc/devices.h>

#include "executor/model.h"

#include "../../tools/gpuc/loader.h"
#include "device.h"
#include "../../tools/gpuc/sanitize.h"

const char *run_target_text;

static struct {
    gpuc_runtime *rt;
    gpuc_device *dev;
    gpuc_device_type type;
    int messages;
} run;

static void find_type(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    int number;
    if (gpuc_target_wants_device(ctx, run_target_text, &run.type, &number)) return;
    run.type = gpuc_target_device_type(gpuc_target_parse(ctx, run_target_text, NULL));
}

static void on_log(void *user, gpuc_log_level level, const char *id, const char *message)
{
    (void)user;
    (void)level;
    if (strcmp(id, "vulkan.validation") != 0) return;
    __atomic_fetch_add(&run.messages, 1, __ATOMIC_RELAXED);
    printf("%s: %s\n", id, message);
}

static bool is_wanted(const char *kind)
{
    const char *only = getenv("GPUC_TEST_DEVICE");
    size_t n = strlen(kind);
    if (!only || !*only) return true;
    for (const char *at = only; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, kind, n) == 0 && (at[n] == 0 || at[n] == ',')) return true;
    return false;
}

bool run_begin(const char *target)
{
    run_target_text = target;
    run_in_ctx(find_type, NULL);
    if (!is_wanted(gpuc_device_type_name(NULL, run.type))) {
        printf("skipped: GPUC_TEST_DEVICE is %s\n", getenv("GPUC_TEST_DEVICE"));
        return false;
    }
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    desc.vulkan_validation = true;
    desc.log = on_log;
    const char *preloaded = getenv("LD_PRELOAD");
    if (preloaded && strstr(preloaded, "oclgrind")) {
        desc.num_threads = 1;   /* it compiles one program at a time */
        unsetenv("LD_PRELOAD"); /* its LLVM and clang's do not live in one process: compilers go without it */
    }
    gpuc_status s = gpuc_runtime_create(&desc, &run.rt);
    if (!s) s = cli_devices_register(run.rt);
    if (!s) s = test_device_open(run.rt, run.type, target, &run.dev);
    cli_keep_drivers_loaded();
    if (!s) return true;
    printf("skipped: no device for %s: %s\n", target, gpuc_status_message(s));
    gpuc_status_release(s);
    gpuc_runtime_release(run.rt);
    return false;
}

int run_end(int failed)
{
    gpuc_runtime_release(run.rt);
    if (run.messages) printf("the validation layer has %d complaints\n", run.messages);
    return failed ? failed : run.messages > 0;
}

gpuc_device *run_device(void)
{
    return run.dev;
}

gpuc_runtime *run_runtime(void)
{
    return run.rt;
}

gpuc_device_type run_device_type(void)
{
    return run.type;
}

void run_ok(gpuc_status s)
{
    if (s) fail_msg("%s", gpuc_status_message(s));
}

void run_refused(gpuc_status s, const char *words)
{
    if (!s) fail_msg("no error where one with '%s' was expected", words);
    if (!strstr(gpuc_status_message(s), words)) fail_msg("'%s' is not in: %s", words, gpuc_status_message(s));
    gpuc_status_release(s);
}

void run_in_ctx(void (*body)(gpuc_ctx *ctx, void *arg), void *arg)
{
    gpuc_ctx *ctx;
    gpuc_status s = gpuc_ctx_create(NULL, &ctx);
    if (!s) s = gpuc_ctx_protect(ctx, body, arg);
    if (s) fail_msg("%s (%s:%d)", gpuc_status_message(s), gpuc_status_file(s), gpuc_status_line(s));
    gpuc_ctx_destroy(ctx);
}

bool run_supported(gpuc_ctx *ctx, void (*body)(gpuc_ctx *ctx, void *arg), void *arg)
{
    gpuc_status s = gpuc_ctx_protect(ctx, body, arg);
    if (!s) return true;
    if (gpuc_status_code(s) != GPUC_UNSUPPORTED) fail_msg("%s", gpuc_status_message(s));
    gpuc_status_release(s);
    return false;
}

const gpuc_target *run_target(gpuc_ctx *ctx)
{
    return gpuc_target_parse(ctx, run_target_text, run.dev);
}

/* ---- The validator of SPIR-V ---------------------------------------------------------------- */

#ifdef GPUC_SPIRV_VAL
static int run_validator(const char *path)
{
    char *arguments[] = {GPUC_SPIRV_VAL, "--target-env", "vulkan1.1", (char *)path, NULL};
    pid_t pid;
    int status = -1;
    /* A fork copies the tables of all pages, which takes longer than the check. */
    if (posix_spawn(&pid, GPUC_SPIRV_VAL, NULL, NULL, arguments, environ) == 0) waitpid(pid, &status, 0);
    return status;
}

static void validate(const char *name, const void *bytes, size_t size)
{
    char path[] = "/tmp/gpuc-spv-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), (ssize_t)size);
    close(fd);
    int status = run_validator(path);
    unlink(path);
    if (status != 0) fail_msg("spirv-val refuses kernel '%s'", name);
}
#else
static void validate(const char *name, const void *bytes, size_t size)
{
    (void)name;
    (void)bytes;
    (void)size;
}
#endif

void run_validate(const gpuc_model *model)
{
    const gpuc_program *p = model->program;
    for (uint32_t m = 0; m < p->num_modules; m++) {
        if (strcmp(p->modules[m].type_key, "spirv") != 0) continue;
        gpuc_reader r = {.data = p->modules[m].bytes, .size = p->modules[m].size};
        for (uint32_t left = gpuc_read_u32(&r); left; left--) {
            const char *name = gpuc_read_lstr(&r);
            size_t size = (size_t)gpuc_read_u32(&r) * sizeof(uint32_t);
            const void *words = gpuc_read_bytes(&r, size);
            assert_false(r.failed);
            validate(name, words, size);
        }
    }
}

/* A device without a feature does not get a kernel that declares its capability. */
static void check_capabilities(const gpuc_kernel *meta, const uint32_t *words, size_t size)
{
    static const struct {
        uint32_t capability, feature;
    } rows[] = {
        {9 /* Float16 */, GPUC_FEATURE_FLOAT16},
        {10 /* Float64 */, GPUC_FEATURE_FLOAT64},
        {11 /* Int64 */, GPUC_FEATURE_INT64},
        {22 /* Int16 */, GPUC_FEATURE_INT16},
        {39 /* Int8 */, GPUC_FEATURE_INT8},
        {4433 /* StorageBuffer16BitAccess */, GPUC_FEATURE_STORAGE16},
        {4448 /* StorageBuffer8BitAccess */, GPUC_FEATURE_STORAGE8},
    };
    enum { HEADER = 5, OP_CAPABILITY = 17 };
    const uint32_t *end = words + size / sizeof *words;
    for (words += HEADER; words < end; words += words[0] >> 16)
        for (size_t i = 0; i < sizeof rows / sizeof *rows && (words[0] & 0xffff) == OP_CAPABILITY; i++)
            if (words[1] == rows[i].capability && !(meta->features & rows[i].feature))
                fail_msg("%s: capability %u is declared, but it does not need %s", meta->name, words[1],
                         gpuc_feature_name((gpuc_feature)rows[i].feature));
}

gpuc_kernel_code run_emit(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *kernel)
{
    gpuc_kernel_code code;
    gpuc_pass_ctx p = {.ctx = ctx, .target = t};
    gpuc_codegen_emit(ctx, t, gpuc_lower_cut_vectors(&p, (gpuc_tir_func *)kernel), &code);
    if (t->kind == &gpuc_target_builtin[GPUC_TARGET_VULKAN] && !(code.meta.features & GPUC_FEATURE_COOPMAT)) {
        validate(code.meta.name, code.bytes, code.size);
        check_capabilities(&code.meta, (const uint32_t *)(const void *)code.bytes, code.size);
    }
    return code;
}

/* ---- Running --------------------------------------------------------------------------------- */

static void ok(gpuc_ctx *ctx, gpuc_status s)
{
    if (s) gpuc_ctx_raise_status(ctx, s);
}

static void upload(gpuc_ctx *ctx, gpuc_buffer *to, const run_buffer *from)
{
    gpuc_copy_end host = {.host = from->data}, device = {.buffer = to};
    ok(ctx, run.dev->api->copy_data_from_to(run.dev, host, device, from->size, NULL));
}

static void download(gpuc_ctx *ctx, gpuc_buffer *from, const run_buffer *to)
{
    gpuc_copy_end host = {.host = to->data}, device = {.buffer = from};
    ok(ctx, run.dev->api->copy_data_from_to(run.dev, device, host, to->size, NULL));
}

/* Memory for a parameter; an image, if the kernel takes one. */
static gpuc_buffer *alloc_param(gpuc_ctx *ctx, const gpuc_tir_buffer *b, size_t size)
{
    gpuc_buffer *out;
    int64_t height = 0, width = 0;
    int channels = gpuc_tir_image_channels(b);
    if (channels == 0) {
        ok(ctx, run.dev->api->alloc_data_space(run.dev, (size + 15) / 16 * 16, 256, &out));
        return out;
    }
    assert_true(gpuc_expr_is_int(b->image[0], &height) && gpuc_expr_is_int(b->image[1], &width));
    ok(ctx, run.dev->api->alloc_image(run.dev, b->dtype, height, width, channels, &out));
    return out;
}

static void launch(gpuc_ctx *ctx, gpuc_code_module *module, const gpuc_kernel *k, gpuc_buffer **buffers,
                   const run_buffer *data, const int64_t *scalars)
{
    gpuc_step_tensor *tensors = gpuc_new_array(ctx, gpuc_step_tensor, k->num_tensors);
    gpuc_binding *slots = gpuc_new_array(ctx, gpuc_binding, k->num_tensors);
    gpuc_step step = {.module = module,
                      .num_tensors = k->num_tensors,
                      .num_scalars = k->num_scalars,
                      .tensors = tensors,
                      .scalars = scalars};
    for (uint32_t i = 0; i < k->num_tensors; i++) {
        tensors[i] = (gpuc_step_tensor){.slot = i, .access = k->tensors[i].access, .size = data[i].size};
        slots[i] = (gpuc_binding){.buffer = buffers[i], .size = data[i].size};
    }
    ok(ctx, run.dev->api->kernel_get(module, k->name, &step.kernel));
    for (int i = 0; i < 3; i++) {
        int64_t groups;
        ok(ctx, gpuc_abi_xexpr_eval(k->launch[i], scalars, k->num_scalars, &groups));
        step.launch[i] = (uint32_t)groups;
    }
    gpuc_plan *plan;
    ok(ctx, run.dev->api->plan_create(run.dev, &step, 1, 0, &plan));
    gpuc_bindings bindings = {.slots = slots, .count = k->num_tensors};
    gpuc_status s = gpuc_error_prefix(run.dev->api->plan_run(plan, &bindings, NULL), "kernel %s", k->name);
    if (!s) s = run.dev->api->stream_sync(run.dev, NULL);
    run.dev->api->plan_destroy(plan);
    ok(ctx, s);
}

static void validate_modules(const gpuc_linked *l)
{
    for (int i = 0; i < l->num_files; i++) validate(l->file_names[i], l->files[i].bytes, l->files[i].size);
}

int run_linked(gpuc_ctx *ctx, int n, const gpuc_tir_func *const *kernels, int which, const run_buffer *data,
               const int64_t *scalars)
{
    const gpuc_target *t = run_target(ctx);
    gpuc_kernel_code *codes = gpuc_new_array(ctx, gpuc_kernel_code, n);
    const gpuc_kernel **metas = gpuc_new_array(ctx, const gpuc_kernel *, n);
    for (int i = 0; i < n; i++) {
        codes[i] = run_emit(ctx, t, kernels[i]);
        metas[i] = &codes[i].meta;
    }
    gpuc_linked linked;
    gpuc_codegen_get(ctx, t)->link(ctx, t, n, codes, &linked);
    assert_int_equal(linked.num_modules, 1);
    if (t->kind == &gpuc_target_builtin[GPUC_TARGET_VULKAN] && n > 1) validate_modules(&linked);
    const gpuc_kernel *meta = metas[which];
    gpuc_code_module *module;
    ok(ctx, run.dev->api->module_load(run.dev, linked.modules[0].type_key, linked.modules[0].bytes,
                                      linked.modules[0].size, metas, (uint32_t)n, &module));
    gpuc_buffer **buffers = gpuc_new_array(ctx, gpuc_buffer *, meta->num_tensors);
    for (uint32_t i = 0; i < meta->num_tensors; i++) {
        buffers[i] = alloc_param(ctx, kernels[which]->buffers[i], data[i].size);
        upload(ctx, buffers[i], &data[i]);
    }
    launch(ctx, module, meta, buffers, data, scalars);
    for (uint32_t i = 0; i < meta->num_tensors; i++) {
        download(ctx, buffers[i], &data[i]);
        run.dev->api->free_data_space(run.dev, buffers[i]);
    }
    run.dev->api->module_release(run.dev, module);
    return linked.num_files;
}

void run_kernel(gpuc_ctx *ctx, const gpuc_tir_func *kernel, const run_buffer *data, const int64_t *scalars)
{
    run_linked(ctx, 1, &kernel, 0, data, scalars);
}
