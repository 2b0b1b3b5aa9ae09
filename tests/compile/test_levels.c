/* SPDX-License-Identifier: Apache-2.0 */
/* One package with programs for several levels of instruction sets, on CPUs that have more and fewer of them. */
#include <math.h>
#include <unistd.h>

#include <gpuc/build.h>
#include <gpuc/devices.h>
#include <gpuc/package.h>

#include "../relay/fixture.h"
#include "compile/program.h"
#include "runtime_cpu/cpu.h"

#define LIST "c -mcpu=x86-64-v3,x86-64-v2,x86-64-v4"
#define PATH_BYTES 64

enum { CHANNELS = 24, SIDE = 10, OUTS = 5, IN = CHANNELS * SIDE * SIDE };

static void ok(gpuc_status status)
{
    if (status) fail_msg("%s", gpuc_status_message(status));
}

/* ---- A CPU that lacks an instruction set ---- */

static gpuc_device_api limited;
static const char *lacks; /* NULL: nothing */
static char sets[640];

static gpuc_status get_attr(gpuc_device *dev, gpuc_device_attr attr, gpuc_attr_value *out)
{
    GPUC_TRY(gpuc_cpu_api.get_attr(dev, attr, out));
    if (attr != GPUC_ATTR_INSTRUCTION_SETS || !lacks) return NULL;
    snprintf(sets, sizeof sets, "%s", out->s);
    char *at = strstr(sets, lacks);
    if (at) memset(at + 1, '-', strlen(lacks) - 2);
    out->s = sets;
    return NULL;
}

static gpuc_status count(gpuc_runtime *rt, void *self, int *out)
{
    (void)rt;
    (void)self;
    *out = 1;
    return NULL;
}

static gpuc_status open_device(gpuc_runtime *rt, void *self, int index, gpuc_device **out)
{
    (void)self;
    (void)index;
    return gpuc_cpu_device_open(rt, out);
}

static gpuc_runtime *create_runtime(void)
{
    static const gpuc_driver driver = {
        .struct_size = sizeof driver, .name = "cpu", .api = &limited, .count = count, .open = open_device};
    gpuc_runtime *rt;
    ok(gpuc_runtime_create(NULL, &rt));
    limited = gpuc_cpu_api;
    limited.get_attr = get_attr;
    ok(gpuc_driver_register(rt, &driver, NULL));
    return rt;
}

static bool host_has(const char *set)
{
    gpuc_runtime *rt = create_runtime();
    gpuc_device *dev;
    lacks = NULL;
    ok(gpuc_device_open(rt, GPUC_DEVICE_CPU, 0, &dev));
    bool has = strstr(gpuc_device_get_attr(dev, GPUC_ATTR_INSTRUCTION_SETS).s, set);
    gpuc_runtime_release(rt);
    return has;
}

/* ---- The package ---- */

static gpuc_rexpr *conv(gpuc_ctx *ctx, gpuc_rexpr *x, gpuc_rexpr *w, const char *strides, const char *pads,
                        int groups)
{
    gpuc_rexpr *args[] = {x, w};
    return fx_op(ctx, "nn.conv2d",
                 gpuc_ctx_printf(ctx, "%s dilation=[1, 1] padding=%s groups=%d", strides, pads, groups), 2,
                 args);
}

/* Convolutions whose weights are packed, one of them depthwise, one as Winograd's; then a product. */
static gpuc_rmodule *network(gpuc_ctx *ctx)
{
    fx_rng r = {.state = 5};
    gpuc_rexpr *x = fx_var(ctx, "x", FX_DIMS(1, CHANNELS, SIDE, SIDE)), *y = x;
    const gpuc_rtype *wide = fx_type(ctx, GPUC_FLOAT32, FX_DIMS(CHANNELS, CHANNELS, 3, 3)),
                     *depth = fx_type(ctx, GPUC_FLOAT32, FX_DIMS(CHANNELS, 1, 3, 3)),
                     *strided = fx_type(ctx, GPUC_FLOAT32, FX_DIMS(40, CHANNELS, 3, 3)),
                     *last = fx_type(ctx, GPUC_FLOAT32, FX_DIMS(640, OUTS));
    y = fx_op1(ctx, "nn.relu", NULL,
               conv(ctx, y, fx_random(ctx, wide, &r), "strides=[1, 1]", "[0, 0, 0, 0]", 1));
    y = fx_op1(ctx, "nn.relu", NULL,
               conv(ctx, y, fx_random(ctx, depth, &r), "strides=[1, 1]", "[1, 1, 1, 1]", CHANNELS));
    y = conv(ctx, y, fx_random(ctx, strided, &r), "strides=[2, 2]", "[1, 1, 1, 1]", 1);
    y = fx_op1(ctx, "reshape", "newshape=[1, 640]", y);
    y = fx_op2(ctx, "nn.matmul", y, fx_random(ctx, last, &r));
    return fx_module(ctx, y, 1, &x);
}

static void build(gpuc_ctx *ctx, void *path)
{
    const gpuc_target *target = gpuc_target_parse(ctx, LIST, NULL);
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    const gpuc_target *fallback = gpuc_build_fallback(ctx, 1, &target);
    assert_string_equal(gpuc_target_get_string(fallback, "mcpu"), "x86-64-v2");
    gpuc_build_package(ctx, network(ctx), 1, &target, &options, path, NULL);
}

/* Does the compiler know the levels? Not on other processors, nor if it is old. */
static bool compiles_levels(void)
{
#if defined(__x86_64__)
    return system("echo 'int x;' | cc -march=x86-64-v4 -x c -c - -o /dev/null 2>/dev/null") == 0;
#else
    return false;
#endif
}

static void make_package(char path[PATH_BYTES])
{
    gpuc_ctx *ctx;
    snprintf(path, PATH_BYTES, "/tmp/gpuc-levels-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    ok(gpuc_ctx_create(NULL, &ctx));
    ok(gpuc_ctx_protect(ctx, build, path));
    gpuc_ctx_destroy(ctx);
}

static gpuc_status load(gpuc_runtime *rt, const char *path, gpuc_model **out)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = path;
    desc.allow_native_code = true;
    return gpuc_model_load(rt, &desc, out);
}

static void run(gpuc_runtime *rt, gpuc_model *m, float out[OUTS])
{
    static float values[IN];
    gpuc_session *s;
    gpuc_ndarray *x, *y;
    fx_rng r = {.state = 9};
    for (int i = 0; i < IN; i++) values[i] = (float)fx_real(&r);
    ok(gpuc_ndarray_create(rt, NULL, GPUC_FLOAT32, 4, (int64_t[]){1, CHANNELS, SIDE, SIDE}, &x));
    ok(gpuc_ndarray_write(x, values, sizeof values));
    ok(gpuc_session_create(m, &s));
    ok(gpuc_session_set_input(s, 0, x));
    ok(gpuc_session_run(s));
    ok(gpuc_session_get_output(s, 0, &y));
    ok(gpuc_ndarray_read(y, out, OUTS * sizeof *out));
    gpuc_ndarray_release(x);
    gpuc_session_release(s);
}

static void programs_share_their_weights(const char *path)
{
    gpuc_package_view *v;
    int weights = 0;
    ok(gpuc_package_view_load(NULL, path, true, &v));
    assert_int_equal(v->num_programs, 3);
    for (uint32_t i = 0; i < v->num_sections; i++) weights += strcmp(v->sections[i].type, "weights") == 0;
    assert_int_equal(weights, 1);
    for (uint32_t i = 0; i < v->num_programs; i++) {
        assert_string_equal(v->programs[i].modules[0].machine, "x86-64");
        assert_false(v->programs[i].modules[0].foreign);
    }
    gpuc_package_view_release(v);
}

/* What a program takes that needs all of these, and no more. */
static const char *level_of_host(void)
{
    if (host_has(" avx512vl ") && host_has(" avx512bw ") && host_has(" avx512dq ") && host_has(" avx512cd "))
        return "x86-64-v4";
    return host_has(" avx2 ") && host_has(" fma ") && host_has(" movbe ") ? "x86-64-v3" : "x86-64-v2";
}

static void the_richest_level_that_the_cpu_has_runs(void **state)
{
    static const struct {
        const char *lacks, *level; /* level NULL: that of this machine */
    } rows[] = {{NULL, NULL},
                {" avx512vl ", "x86-64-v3"},
                {" movbe ", "x86-64-v2"},
                {" avx2 ", "x86-64-v2"},
                {" sse4_2 ", ""}};
    (void)state;
    char path[PATH_BYTES];
    float first[OUTS], out[OUTS];
    if (!compiles_levels()) skip();
    const char *host = level_of_host();
    make_package(path);
    programs_share_their_weights(path);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gpuc_runtime *rt = create_runtime();
        gpuc_model *m;
        const char *level = rows[i].level ? rows[i].level : host;
        if (*level && strcmp(level, host) > 0) level = host; /* it lacks more */
        lacks = rows[i].lacks;
        gpuc_status status = load(rt, path, &m);
        if (!*level) {
            fx_check_status(
                status, GPUC_DEVICE_UNAVAILABLE,
                "no program of the package can run here|x86-64-v4|x86-64-v3|x86-64-v2|compiled for the "
                "instruction set sse4_2, which");
        } else {
            char word[32];
            ok(status);
            snprintf(word, sizeof word, "-mcpu=%s ", level);
            if (!strstr(gpuc_model_target(m), word)) fail_msg("%s: %s", word, gpuc_model_target(m));
            run(rt, m, i ? out : first);
            for (int k = 0; i && k < OUTS; k++)
                if (fabsf(out[k] - first[k]) > 1e-4f * (1 + fabsf(first[k])))
                    fail_msg("%s: output %d is %g, not %g", level, k, (double)out[k], (double)first[k]);
            gpuc_model_release(m);
        }
        gpuc_runtime_release(rt);
    }
    lacks = NULL;
    unlink(path);
}

static void levels_of_targets(gpuc_ctx *ctx, void *arg)
{
    static const struct {
        const char *text;
        int count;
        const char *levels[4];
    } rows[] = {
        {"c", 1, {"c"}},
        {"c -mcpu=x86-64-v3", 1, {"c -mcpu=x86-64-v3 -vector_bits=256"}},
        {"vulkan", 1, {"vulkan"}},
        {"c -mcpu=x86-64,x86-64-v3",
         2,
         {"c -mcpu=x86-64-v3 -weight_block=8 -vector_bits=256",
          "c -mcpu=x86-64 -weight_block=8 -vector_bits=128"}},
        {"c -mcpu=x86-64-v2,x86-64-v4 -num_cores=4 -weight_block=8",
         2,
         {"c -mcpu=x86-64-v4 -weight_block=8 -vector_bits=512 -num_cores=4 -vector_registers=32",
          "c -mcpu=x86-64-v2 -weight_block=8 -vector_bits=128 -num_cores=4"}},
        {"c -mcpu=x86-64-v3,x86-64-v4 -vector_bits=256",
         2,
         {"c -mcpu=x86-64-v4 -weight_block=8 -vector_bits=256 -vector_registers=32",
          "c -mcpu=x86-64-v3 -weight_block=8 -vector_bits=256"}},
    };
    (void)arg;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const gpuc_target *t = gpuc_target_parse(ctx, rows[i].text, NULL);
        assert_int_equal(gpuc_target_num_levels(t), rows[i].count);
        for (int k = 0; k < rows[i].count; k++)
            assert_string_equal(gpuc_target_text(ctx, gpuc_target_level(ctx, t, k)), rows[i].levels[k]);
        const gpuc_target *again = gpuc_target_parse(ctx, gpuc_target_text(ctx, t), NULL);
        assert_true(gpuc_target_equal(again, t));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fx_test(levels_of_targets),
        cmocka_unit_test(the_richest_level_that_the_cpu_has_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
