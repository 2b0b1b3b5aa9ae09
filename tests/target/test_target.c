/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "target/private.h"

typedef struct parse_args {
    const char *text;
    gpuc_device *device;
    const gpuc_target *t;
} parse_args;

static void do_parse(gpuc_ctx *ctx, void *arg)
{
    parse_args *p = arg;
    p->t = gpuc_target_parse(ctx, p->text, p->device);
}

static const gpuc_target *parse_with(gpuc_ctx *ctx, const char *text, gpuc_device *device)
{
    parse_args p = {.text = text, .device = device};
    gpuc_status s = gpuc_ctx_protect(ctx, do_parse, &p);
    if (s) fail_msg("%s: %s", text, gpuc_status_message(s));
    return p.t;
}

static const gpuc_target *parse(gpuc_ctx *ctx, const char *text)
{
    return parse_with(ctx, text, NULL);
}

static void expect_error(gpuc_ctx *ctx, const char *text, const char *part)
{
    parse_args p = {.text = text};
    gpuc_status s = gpuc_ctx_protect(ctx, do_parse, &p);
    assert_non_null(s);
    assert_int_equal(gpuc_status_code(s), GPUC_INVALID_ARGUMENT);
    if (!strstr(gpuc_status_message(s), part))
        fail_msg("'%s' gave '%s', which lacks '%s'", text, gpuc_status_message(s), part);
    gpuc_status_release(s);
}

static int setup(void **state)
{
    gpuc_ctx *ctx;
    if (gpuc_ctx_create(NULL, &ctx)) return -1;
    *state = ctx;
    return 0;
}

static int teardown(void **state)
{
    gpuc_ctx_destroy(*state);
    return 0;
}

static void bare_kinds_print_as_themselves(void **state)
{
    gpuc_ctx *ctx = *state;
    assert_string_equal(gpuc_target_text(ctx, parse(ctx, "vulkan")), "vulkan");
    assert_string_equal(gpuc_target_text(ctx, parse(ctx, " opencl ")), "opencl");
    assert_string_equal(gpuc_target_text(ctx, parse(ctx, "c")), "c");
    assert_string_equal(gpuc_target_json(ctx, parse(ctx, "c")), "{\"kind\":\"c\"}");
    assert_int_equal(parse(ctx, "c")->vector_bits, 0);
    assert_int_equal(parse(ctx, "vulkan")->max_storage_buffers, 4);
    assert_int_equal(gpuc_target_device_type(parse(ctx, "c")), GPUC_DEVICE_CPU);
}

static void text_is_canonical(void **state)
{
    gpuc_ctx *ctx = *state;
    const char *a = gpuc_target_text(ctx, parse(ctx, "vulkan -float16=1 -int8"));
    const char *b = gpuc_target_text(ctx, parse(ctx, "{\"int8\":true,\"kind\":\"vulkan\",\"float16\":1}"));
    assert_string_equal(a, "vulkan -float16=1 -int8=1");
    assert_string_equal(a, b);
    assert_string_equal(gpuc_target_text(ctx, parse(ctx, "vulkan -float16=1 -float16=0")), "vulkan");
    assert_string_equal(gpuc_target_text(ctx, parse(ctx, "vulkan/llvmpipe -texel=0")),
                        "vulkan/llvmpipe -texel=0");
    const gpuc_target *narrow = parse(ctx, "vulkan -max_num_threads=256 -max_threads_x=128");
    assert_int_equal(gpuc_target_attr(parse(ctx, gpuc_target_text(ctx, narrow)), "max_threads_x"), 128);
}

static void every_tag_survives_both_forms(void **state)
{
    gpuc_ctx *ctx = *state;
    for (size_t i = 0; i < gpuc_target_tag_count(ctx); i++) {
        const gpuc_target *t = parse(ctx, gpuc_target_tag_at(ctx, i)->name);
        const char *text = gpuc_target_text(ctx, t);
        assert_string_equal(gpuc_target_text(ctx, parse(ctx, text)), text);
        assert_string_equal(gpuc_target_text(ctx, parse(ctx, gpuc_target_json(ctx, t))), text);
        assert_true(strlen(gpuc_target_tag_at(ctx, i)->about) > 10);
    }
}

static void overrides_follow_the_preset(void **state)
{
    gpuc_ctx *ctx = *state;
    const gpuc_target *t = parse(ctx, "vulkan/llvmpipe -texel=0");
    assert_int_equal(t->texel, 0);
    assert_int_equal(t->thread_warp_size, 8);
    assert_string_equal(gpuc_target_tag(t), "vulkan/llvmpipe");
    t = parse(ctx, "vulkan -max_num_threads=512");
    assert_int_equal(t->max_threads_x, 512);
    assert_int_equal(t->max_threads_z, 64);
    t = parse(ctx, "vulkan/llvmpipe -max_num_threads=32 -max_threads_y=8");
    assert_int_equal(t->max_threads_x, 32);
    assert_int_equal(t->max_threads_y, 8);
    assert_int_equal(t->max_threads_z, 32);
    assert_int_equal(parse(ctx, "vulkan/llvmpipe -max_threads_x=8")->thread_warp_size, 8);
    assert_int_equal(parse(ctx, "vulkan/llvmpipe -max_threads_x=4")->thread_warp_size, 1);
}

static void c_strings_are_quoted(void **state)
{
    gpuc_ctx *ctx = *state;
    const gpuc_target *t =
        parse(ctx, "c -cc=\"ccache gcc\" -cflags='-g \"x\" \\y' -mcpu=x86-64-v3 -vector_bits=256");
    assert_string_equal(gpuc_target_get_string(t, "cc"), "ccache gcc");
    assert_string_equal(gpuc_target_get_string(t, "cflags"), "-g \"x\" \\y");
    const char *text = gpuc_target_text(ctx, t);
    assert_string_equal(
        text, "c -mcpu=x86-64-v3 -cc=\"ccache gcc\" -cflags=\"-g \\\"x\\\" \\\\y\" -vector_bits=256");
    const gpuc_target *again = parse(ctx, text);
    assert_string_equal(gpuc_target_get_string(again, "cflags"), gpuc_target_get_string(t, "cflags"));
    again = parse(ctx, gpuc_target_text(ctx, parse(ctx, "c -cflags='\r'")));
    assert_string_equal(gpuc_target_get_string(again, "cflags"), "\r");
    assert_string_equal(gpuc_target_text(ctx, parse(ctx, gpuc_target_json(ctx, t))), text);
}

static void levels_have_vectors(void **state)
{
    gpuc_ctx *ctx = *state;
    assert_int_equal(parse(ctx, "c -mcpu=x86-64-v2")->vector_bits, 128);
    assert_int_equal(parse(ctx, "c -mcpu=x86-64-v3")->vector_bits, 256);
    assert_int_equal(parse(ctx, "c -mcpu=x86-64-v4")->vector_registers, 32);
    assert_int_equal(parse(ctx, "c -mcpu=x86-64-v4 -vector_bits=256")->vector_bits, 256);
    assert_int_equal(parse(ctx, "c -mcpu=skylake")->vector_bits, 0);
    assert_int_equal(parse(ctx, "c -cc=aarch64-linux-gnu-gcc -mcpu=cortex-a72")->vector_bits, 128);
    expect_error(ctx, "c -mcpu=x86-64-v2,skylake", "a list is of x86-64, x86-64-v2");
    expect_error(ctx, "c -mcpu=x86-64-v2,", "which '' is not");
    expect_error(ctx, "c -mcpu=x86-64-v2,x86-64-v3,x86-64-v2", "'x86-64-v2' stands in the list twice");
    expect_error(ctx, "c -weight_block=12", "power of two");
}

static void native_is_resolved(void **state)
{
    gpuc_ctx *ctx = *state;
    const gpuc_target *t = parse(ctx, "c -mcpu=native");
    assert_true(t->num_cores >= 1);
#ifdef __x86_64__
    assert_true(t->vector_bits >= 128);
#endif
    assert_int_equal(parse(ctx, "c -mcpu=native -vector_bits=64")->vector_bits, 64);
    const char *text = gpuc_target_text(ctx, t);
    assert_string_equal(gpuc_target_text(ctx, parse(ctx, text)), text);
}

static void mistakes_name_the_nearest(void **state)
{
    gpuc_ctx *ctx = *state;
    expect_error(ctx, "", "empty");
    expect_error(ctx, "vulcan", "did you mean 'vulkan'");
    expect_error(ctx, "vulkan/lvmpipe", "did you mean 'vulkan/llvmpipe'");
    expect_error(ctx, "cuda", "unknown");
    expect_error(ctx, "vulkan -flaot16=1", "did you mean 'float16'");
    expect_error(ctx, "vulkan -zzzzzzzzzz=1", "unknown");
    expect_error(ctx, "vulkan -float16=yes", "needs a bool");
    expect_error(ctx, "vulkan float16=1", "-name=value");
    expect_error(ctx, "vulkan -max_num_threads=0", "at least 1");
    expect_error(ctx, "vulkan -vector_bits=100", "power of two");
    expect_error(ctx, "vulkan -max_num_threads=-5", "cannot be -5");
    expect_error(ctx, "vulkan -cc=gcc", "belongs to kind 'c'");
    expect_error(ctx, "c -cc=\"gcc", "not closed");
    expect_error(ctx, "c -cc", "needs a string");
    expect_error(ctx, "{\"kind\":\"vulkan\"", "JSON");
    expect_error(ctx, "{\"float16\":1}", "kind");
    expect_error(ctx, "{\"kind\":\"vulkan\",\"float16\":1.5}", "needs a bool");
    expect_error(ctx, "{\"kind\":\"vulkan\",\"float16\":[]}", "needs a bool");
    expect_error(ctx, "vulkan -from_device=0", "open");
    assert_string_equal(gpuc_target_text(ctx, parse(ctx, "vulkan")), "vulkan");
}

static void wants_device_reads_the_index(void **state)
{
    (void)state;
    gpuc_device_type type;
    int index;
    assert_true(gpuc_target_wants_device(NULL, "opencl -from_device=3", &type, &index));
    assert_int_equal(type, GPUC_DEVICE_OPENCL);
    assert_int_equal(index, 3);
    assert_true(gpuc_target_wants_device(NULL, " {\"kind\":\"vulkan\",\"from_device\":1}", &type, &index));
    assert_int_equal(index, 1);
    assert_false(gpuc_target_wants_device(NULL, "opencl", &type, &index));
    assert_false(gpuc_target_wants_device(NULL, "nonsense -from_device=0", &type, &index));
}

static void features_are_bits(void **state)
{
    gpuc_ctx *ctx = *state;
    assert_int_equal(gpuc_target_features(parse(ctx, "vulkan -float16=1 -int8=1")),
                     GPUC_FEATURE_FLOAT16 | GPUC_FEATURE_INT8 | GPUC_FEATURE_IMAGES);
    assert_int_equal(gpuc_target_features(parse(ctx, "vulkan")), GPUC_FEATURE_IMAGES);
    assert_true(gpuc_target_features(parse(ctx, "vulkan/llvmpipe")) & GPUC_FEATURE_FLOAT_CONTROLS);
    assert_true(gpuc_target_features(parse(ctx, "vulkan/desktop")) & GPUC_FEATURE_FLOAT_CONTROLS);
}

/* ---- A device that answers from a table ---- */

typedef struct fake_device {
    gpuc_device base;
    int64_t values[GPUC_ATTR_COUNT];
} fake_device;

static gpuc_status fake_get_attr(gpuc_device *dev, gpuc_device_attr attr, gpuc_attr_value *out)
{
    *out = (gpuc_attr_value){.known = ((fake_device *)dev)->values[attr] >= 0,
                             .i = ((fake_device *)dev)->values[attr]};
    return NULL;
}

static void a_device_fills_its_target(void **state)
{
    gpuc_ctx *ctx = *state;
    static const gpuc_device_api api = {
        .struct_size = sizeof api, .name = "vulkan", .get_attr = fake_get_attr};
    fake_device dev = {.base = {.api = &api, .type = GPUC_DEVICE_VULKAN}};
    for (int i = 0; i < GPUC_ATTR_COUNT; i++) dev.values[i] = -1;
    dev.values[GPUC_ATTR_MAX_THREADS_PER_BLOCK] = 512;
    dev.values[GPUC_ATTR_MAX_SHARED_BYTES] = 1;
    dev.values[GPUC_ATTR_FEATURES] = GPUC_FEATURE_FLOAT16 | GPUC_FEATURE_SUBGROUP;
    dev.values[GPUC_ATTR_WARP_SIZE] = 32;
    const gpuc_target *t = parse_with(ctx, "vulkan -from_device=0", &dev.base);
    assert_int_equal(t->max_num_threads, 512);
    assert_int_equal(t->max_shared_memory, 16384);
    assert_int_equal(t->float16, 1);
    assert_int_equal(t->int8, 0);
    assert_int_equal(t->thread_warp_size, 1);
    assert_int_equal(t->simd_lanes, 0);
    dev.values[GPUC_ATTR_SUBGROUP_SIZE_CONTROL] = 1;
    t = parse_with(ctx, "vulkan -from_device=0 -float16=0", &dev.base);
    assert_int_equal(t->thread_warp_size, 32);
    assert_int_equal(t->float16, 0);
    assert_null(strstr(gpuc_target_text(ctx, t), "from_device"));
    parse_args p = {.text = "opencl -from_device=0", .device = &dev.base};
    gpuc_status s = gpuc_ctx_protect(ctx, do_parse, &p);
    assert_non_null(strstr(gpuc_status_message(s), "cannot be filled"));
    gpuc_status_release(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bare_kinds_print_as_themselves, setup, teardown),
        cmocka_unit_test_setup_teardown(text_is_canonical, setup, teardown),
        cmocka_unit_test_setup_teardown(every_tag_survives_both_forms, setup, teardown),
        cmocka_unit_test_setup_teardown(overrides_follow_the_preset, setup, teardown),
        cmocka_unit_test_setup_teardown(c_strings_are_quoted, setup, teardown),
        cmocka_unit_test_setup_teardown(levels_have_vectors, setup, teardown),
        cmocka_unit_test_setup_teardown(native_is_resolved, setup, teardown),
        cmocka_unit_test_setup_teardown(mistakes_name_the_nearest, setup, teardown),
        cmocka_unit_test_setup_teardown(wants_device_reads_the_index, setup, teardown),
        cmocka_unit_test_setup_teardown(features_are_bits, setup, teardown),
        cmocka_unit_test_setup_teardown(a_device_fills_its_target, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
