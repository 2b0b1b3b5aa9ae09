/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses foo: a function built for it, saved, loaded and run on both devices, on two streams, and operators on
 * its arrays.
 *
 *     use_foo libfoo.so [FOLDER]      FOLDER gets add.gpuc-lib and add.foo; default . */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <gpuc/build.h>
#include <gpuc/codegen.h>
#include <gpuc/devices.h>
#include <gpuc/lower.h>
#include <gpuc/plugin.h>

enum { N = 1000 };

typedef struct program {
    gpuc_runtime *rt;
    gpuc_device *foo[2];
    const char *folder;
    char library[512], code[512];
} program;

static gpuc_status wrong(const char *what)
{
    return gpuc_fail(GPUC_INTERNAL, "wrong: %s", what);
}

/* ---- A function ---- */

/* C = A + B, 64 elements at a time, in vectors. */
static gpuc_tir_func *vector_add(gpuc_ctx *ctx)
{
    gpuc_expr n = gpuc_var(ctx, "n", GPUC_INDEX);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 1, &n, GPUC_FLOAT32);
    gpuc_tensor *b = gpuc_te_placeholder(ctx, "B", 1, &n, GPUC_FLOAT32);
    gpuc_iter *i = gpuc_te_axis(ctx, n, "i"), *block, *inner, *vector;
    gpuc_expr at = gpuc_iter_var(i);
    gpuc_tensor *c = gpuc_te_compute(
        ctx, "C", 1, &i, gpuc_add(ctx, gpuc_te_read(ctx, a, 1, &at), gpuc_te_read(ctx, b, 1, &at)));
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &c);
    gpuc_stage *stage = gpuc_schedule_stage(s, c);
    gpuc_stage_split(stage, gpuc_stage_axis(stage, 0), 64, &block, &inner);
    gpuc_stage_split(stage, inner, 16, &inner, &vector);
    gpuc_stage_bind(stage, block, "blockIdx.x"); /* foo has no groups: they are a loop of the kernel */
    gpuc_stage_vectorize(stage, vector);
    return gpuc_schedule_lower(s, "vector_add", 3, (gpuc_tensor *[]){a, b, c});
}

/* The function as a library, and its kernel as a file of foo's code. */
static void build(gpuc_ctx *ctx, void *arg)
{
    const program *p = arg;
    gpuc_ctx_set_runtime(ctx, p->rt);
    const gpuc_target *target = gpuc_target_parse(ctx, "foo -lanes=16", NULL);
    gpuc_library *library = gpuc_library_create(ctx);
    gpuc_library_add(library, target, vector_add(ctx));
    gpuc_library_save(library, p->library);
    const gpuc_tir_func *const *kernels;
    gpuc_ir_module *ir = gpuc_ir_module_create(ctx, target);
    gpuc_lower_passes(ctx, target, vector_add(ctx), "lower", &kernels);
    gpuc_ir_module_add(ir, kernels[0]);
    gpuc_module *m = gpuc_ir_module_build(ir, p->rt);
    gpuc_status status = gpuc_module_save_file(m, p->code);
    gpuc_module_release(m);
    GPUC_RAISE_IF(ctx, status);
}

static gpuc_status make_arrays(const program *p, gpuc_device *dev, const float *x, gpuc_ndarray **arrays)
{
    const int64_t n = N;
    for (int i = 0; i < 3; i++) {
        GPUC_TRY(gpuc_ndarray_create(p->rt, dev, GPUC_FLOAT32, 1, &n, &arrays[i]));
        if (i < 2) GPUC_TRY(gpuc_ndarray_write(arrays[i], x, N * sizeof *x));
    }
    return NULL;
}

/* Adds on one stream, doubles the sum on another that waits for a ticket of the first. */
static gpuc_status add_on_streams(gpuc_device *dev, gpuc_function *add, gpuc_ndarray *const *a, float *sum)
{
    gpuc_stream *s[2] = {NULL, NULL};
    gpuc_ticket ticket;
    gpuc_value n = gpuc_arg_int(N);
    gpuc_status status = gpuc_stream_create(dev, &s[0]);
    if (!status) status = gpuc_stream_create(dev, &s[1]);
    if (!status) status = gpuc_launch(s[0], add, (gpuc_ndarray *const[]){a[0], a[1], a[2]}, 3, &n, 1);
    if (!status) status = gpuc_stream_signal(s[0], &ticket);
    if (!status) status = gpuc_stream_wait(s[1], ticket);
    if (!status) status = gpuc_launch(s[1], add, (gpuc_ndarray *const[]){a[2], a[1], a[0]}, 3, &n, 1);
    if (!status) status = gpuc_ndarray_read_on(s[1], a[0], sum, N * sizeof *sum);
    if (!status) status = gpuc_stream_signal(s[1], &ticket);
    if (!status) status = gpuc_ticket_wait(ticket, GPUC_FOREVER);
    gpuc_stream_release(s[0]);
    gpuc_stream_release(s[1]);
    return status;
}

static gpuc_status use_function(const program *p, gpuc_device *dev, gpuc_module *library)
{
    float x[N], sum[N];
    gpuc_ndarray *arrays[3] = {NULL, NULL, NULL};
    gpuc_function *add = NULL;
    for (int i = 0; i < N; i++) x[i] = (float)(i % 17) - 8;
    gpuc_status status = gpuc_module_get_function(library, "vector_add", &add);
    if (!status) status = make_arrays(p, dev, x, arrays);
    if (!status)
        status =
            gpuc_call(add, gpuc_arg(arrays[0]), gpuc_arg(arrays[1]), gpuc_arg(arrays[2]), gpuc_arg_int(N));
    if (!status) status = gpuc_ndarray_read(arrays[2], sum, sizeof sum);
    for (int i = 0; !status && i < N; i++)
        if (sum[i] != 2 * x[i]) status = wrong("a sum");
    if (!status) status = add_on_streams(dev, add, arrays, sum);
    for (int i = 0; !status && i < N; i++)
        if (sum[i] != 3 * x[i]) status = wrong("a sum on streams");
    if (!status && gpuc_ndarray_host(arrays[0])) status = wrong("the host sees foo's memory");
    for (int i = 0; i < 3; i++) gpuc_ndarray_release(arrays[i]);
    gpuc_function_release(add);
    return status;
}

static gpuc_status use_library(const program *p)
{
    for (int d = 0; d < 2; d++) {
        gpuc_module *library;
        GPUC_TRY(gpuc_module_load_file(p->rt, p->library, p->foo[d], 0, &library));
        gpuc_status status = use_function(p, p->foo[d], library);
        gpuc_module_release(library);
        GPUC_TRY(status);
        printf("vector_add on foo:%d is right\n", d);
    }
    return NULL;
}

/* ---- Code as a module ---- */

static gpuc_status print_source(const program *p)
{
    gpuc_module *m;
    gpuc_value text = {.kind = GPUC_VALUE_NULL};
    GPUC_TRY(gpuc_module_load_file(p->rt, p->code, NULL, 0, &m));
    gpuc_status status = gpuc_module_get_source(m, "", NULL, &text);
    if (!status) printf("%s", text.as.string);
    if (!status && !strstr(text.as.string, "f32 x16 +")) status = wrong("the listing");
    gpuc_value_clear(p->rt, &text);
    gpuc_module_release(m);
    return status;
}

/* A byte less, or another one: an error, never more. */
static gpuc_status damage(const program *p)
{
    gpuc_mapping file;
    gpuc_module *m;
    int refused = 0, same = 0;
    GPUC_TRY(gpuc_file_map(p->code, &file));
    for (size_t i = 0; i < 2 * file.size; i++) {
        unsigned char bytes[4096];
        size_t size = i < file.size ? i : file.size, at = i - file.size;
        if (file.size > sizeof bytes) break;
        memcpy(bytes, file.data, size);
        if (i >= file.size) bytes[at] ^= (unsigned char)(1u << at % 8);
        gpuc_status status = gpuc_module_load_binary(p->rt, "foo_code", bytes, size, &m);
        if (status)
            refused++;
        else
            gpuc_module_release(m), same++;
        if (status && i < file.size && gpuc_status_code(status) != GPUC_INVALID_DATA) return status;
        gpuc_status_release(status);
    }
    gpuc_file_unmap(&file);
    printf("%d damaged modules are refused, %d are programs of their own\n", refused, same);
    return refused ? NULL : wrong("damage is not seen");
}

/* ---- Functions of the registry ---- */

static gpuc_status ask(const program *p, const char *function, const gpuc_value *args, int n, gpuc_value *out)
{
    gpuc_function *f = gpuc_registry_get(p->rt, function);
    return f ? gpuc_function_call(f, args, n, out)
             : gpuc_fail(GPUC_NOT_FOUND, "there is no function '%s'", function);
}

static gpuc_status counter(const program *p, const char *name, int64_t *out)
{
    gpuc_value text = gpuc_arg_string(name), number;
    GPUC_TRY(ask(p, "foo.counter", &text, 1, &number));
    *out = number.as.i;
    return NULL;
}

static gpuc_status check_counters(const program *p)
{
    int64_t in, out, launches, allocs, frees;
    GPUC_TRY(counter(p, "copies_in", &in));
    GPUC_TRY(counter(p, "copies_out", &out));
    GPUC_TRY(counter(p, "launches", &launches));
    GPUC_TRY(counter(p, "allocs", &allocs));
    GPUC_TRY(counter(p, "frees", &frees));
    printf("%d copies in, %d out, %d launches, %d buffers, %d of them freed\n", (int)in, (int)out,
           (int)launches, (int)allocs, (int)frees);
    return in >= 4 && out >= 4 && launches == 6 && allocs >= 6 && frees <= allocs ? NULL
                                                                                  : wrong("the counters");
}

static gpuc_status ask_device(const program *p)
{
    const gpuc_value args[2] = {{.kind = GPUC_VALUE_DEVICE, .as.device = p->foo[1]}, gpuc_arg_string("name")};
    gpuc_value name = {.kind = GPUC_VALUE_NULL};
    GPUC_TRY(ask(p, "device_api.foo.get_attr", args, 2, &name));
    bool good = name.kind == GPUC_VALUE_STRING && strcmp(name.as.string, "foo, the second") == 0;
    if (good) printf("foo:1 is \"%s\"\n", name.as.string);
    gpuc_value_clear(p->rt, &name);
    return good ? NULL : wrong("the name of foo:1");
}

/* topi.exp and topi.nn.softmax on arrays of foo, compiled for it at the first call. */
static gpuc_status use_operators(const program *p)
{
    const int64_t n = 8;
    float x[8], e[8], s[8], sum = 0;
    gpuc_ndarray *a = NULL, *b = NULL;
    for (int i = 0; i < 8; i++) x[i] = (float)i / 4, sum += expf(x[i]);
    gpuc_status status = gpuc_ndarray_create(p->rt, p->foo[0], GPUC_FLOAT32, 1, &n, &a);
    if (!status) status = gpuc_ndarray_create(p->rt, p->foo[0], GPUC_FLOAT32, 1, &n, &b);
    if (!status) status = gpuc_ndarray_write(a, x, sizeof x);
    gpuc_value args[] = {gpuc_arg(a), gpuc_arg(b)}, none = {.kind = GPUC_VALUE_NULL};
    if (!status) status = ask(p, "topi.exp", args, 2, &none);
    if (!status) status = gpuc_ndarray_read(b, e, sizeof e);
    if (!status) status = ask(p, "topi.nn.softmax", args, 2, &none);
    if (!status) status = gpuc_ndarray_read(b, s, sizeof s);
    for (int i = 0; !status && i < 8; i++)
        if (fabsf(e[i] - expf(x[i])) > 1e-5f || fabsf(s[i] - expf(x[i]) / sum) > 1e-6f)
            status = wrong("an operator");
    if (!status) printf("topi.exp and topi.nn.softmax on foo:0 are right\n");
    gpuc_ndarray_release(a);
    gpuc_ndarray_release(b);
    return status;
}

/* ---- All of it ---- */

static gpuc_status run(program *p, const char *plugin)
{
    GPUC_TRY(gpuc_devices_register(p->rt));
    GPUC_TRY(gpuc_compiler_register(p->rt));
    GPUC_TRY(gpuc_plugin_load(p->rt, plugin));
    for (int d = 0; d < 2; d++)
        GPUC_TRY(gpuc_device_open(p->rt, gpuc_device_type_named("foo"), d, &p->foo[d]));
    gpuc_ctx *ctx;
    GPUC_TRY(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, build, p);
    gpuc_ctx_destroy(ctx);
    GPUC_TRY(status);
    GPUC_TRY(print_source(p));
    GPUC_TRY(use_library(p));
    GPUC_TRY(check_counters(p));
    GPUC_TRY(ask_device(p));
    GPUC_TRY(use_operators(p));
    return damage(p);
}

int main(int argc, char **argv)
{
    program p = {.folder = argc > 2 ? argv[2] : "."};
    if (argc < 2) return fprintf(stderr, "usage: use_foo libfoo.so [FOLDER]\n"), 2;
    snprintf(p.library, sizeof p.library, "%s/add.gpuc-lib", p.folder);
    snprintf(p.code, sizeof p.code, "%s/add.foo", p.folder);
    gpuc_status status = gpuc_runtime_create(NULL, &p.rt);
    if (!status) status = run(&p, argv[1]);
    gpuc_runtime_release(p.rt);
    if (status) fprintf(stderr, "%s\n", gpuc_status_message(status));
    int code = status != NULL;
    gpuc_status_release(status);
    return code;
}
