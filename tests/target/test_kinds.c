/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds and tags that programs register, attributes of every type, and TVM's names. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gpuc/runtime.h>
#include <gpuc/target.h>

/* ---- A kind as a plug-in has it ---- */

static gpuc_status is_power_of_two(const gpuc_target_value *v)
{
    if (v->i > 0 && (v->i & (v->i - 1)) == 0) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "must be a power of two, not %lld", (long long)v->i);
}

static gpuc_status is_mode(const gpuc_target_value *v)
{
    static const char *const modes[] = {"plain", "fast", "FAST", "slow"};
    for (int i = 0; i < 4; i++)
        if (strcmp(v->s, modes[i]) == 0) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "there is no mode '%s'", v->s);
}

/* One spelling of the mode, and memory by the number of lanes. */
static gpuc_status foo_canonicalise(gpuc_target_draft *d)
{
    const gpuc_target *t = gpuc_target_draft_get(d);
    if (strcmp(gpuc_target_get_string(t, "mode"), "FAST") == 0)
        GPUC_TRY(gpuc_target_draft_set(d, "mode", gpuc_target_string("fast")));
    if (strcmp(gpuc_target_get_string(t, "mode"), "slow") == 0 && gpuc_target_get_bool(t, "turbo"))
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "turbo is not slow");
    return gpuc_target_draft_fill(d, "max_shared_memory_per_block",
                                  gpuc_target_int(256 * gpuc_target_get_int(t, "lanes")));
}

static gpuc_status foo_query(gpuc_target_draft *d, gpuc_device *device)
{
    gpuc_attr_value warp;
    GPUC_TRY(device->api->get_attr(device, GPUC_ATTR_WARP_SIZE, &warp));
    GPUC_TRY(gpuc_target_draft_fill(d, "turbo", gpuc_target_bool(true)));
    return gpuc_target_draft_fill(d, "lanes", gpuc_target_int(warp.i));
}

static const gpuc_target_attr_row foo_attrs[] = {
    {"lanes", GPUC_TARGET_INT, .i = 4, .check = is_power_of_two, .about = "of a vector"},
    {"turbo", GPUC_TARGET_BOOL, .about = "runs hot"},
    {"mode", GPUC_TARGET_STRING, .s = "plain", .check = is_mode},
    {"units", GPUC_TARGET_STRING, .list = true},
    {"seed", GPUC_TARGET_INT, .i = 0},
    {"max_num_threads", GPUC_TARGET_INT, .i = 64},
    {"float16", GPUC_TARGET_BOOL, .i = 1},
    {"mcpu", GPUC_TARGET_STRING, .s = "foo1"},
    {0}};
static const gpuc_target_alias foo_aliases[] = {
    {"simd", "lanes"}, {"width", "simd"}, {"threads", "max_threads_per_block"}, {0}};
static const gpuc_target_kind_row foo = {"foo",
                                         .device = "foo",
                                         .keys = "foo,gpu",
                                         .about = "a kind of a test",
                                         .attrs = foo_attrs,
                                         .aliases = foo_aliases,
                                         .language = {.work_groups = true, .max_lanes = 8},
                                         .canonicalise = foo_canonicalise,
                                         .from_device = foo_query};
static const gpuc_target_kind_row bare = {"bare", .device = "cpu"};

typedef struct fixture {
    gpuc_runtime *rt;
    gpuc_ctx *ctx;
} fixture;

static void ok(gpuc_status s)
{
    if (s) fail_msg("%s", gpuc_status_message(s));
}

static void refuse(gpuc_status s, const char *part)
{
    if (!s) fail_msg("nothing was refused; expected '%s'", part);
    assert_int_equal(gpuc_status_code(s), GPUC_INVALID_ARGUMENT);
    if (!strstr(gpuc_status_message(s), part)) fail_msg("'%s' lacks '%s'", gpuc_status_message(s), part);
    gpuc_status_release(s);
}

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    *state = f;
    ok(gpuc_runtime_create(NULL, &f->rt));
    ok(gpuc_ctx_create(NULL, &f->ctx));
    gpuc_ctx_set_runtime(f->ctx, f->rt);
    ok(gpuc_target_kind_register(f->rt, &foo));
    ok(gpuc_target_kind_register(f->rt, &bare));
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    gpuc_ctx_destroy(f->ctx);
    gpuc_runtime_release(f->rt);
    free(f);
    return 0;
}

typedef struct parsing {
    const char *text;
    gpuc_device *device;
    const gpuc_target *from; /* not NULL: with name=value, instead of the text */
    const char *name;
    gpuc_target_value value;
    const gpuc_target *t;
    const char *printed, *json;
} parsing;

static void parse_body(gpuc_ctx *ctx, void *arg)
{
    parsing *p = arg;
    p->t = p->from ? gpuc_target_with(ctx, p->from, p->name, p->value)
                   : gpuc_target_parse(ctx, p->text, p->device);
    p->printed = gpuc_target_text(ctx, p->t);
    p->json = gpuc_target_json(ctx, p->t);
}

static const gpuc_target *parse(fixture *f, const char *text)
{
    parsing p = {.text = text};
    gpuc_status s = gpuc_ctx_protect(f->ctx, parse_body, &p);
    if (s) fail_msg("%s: %s", text, gpuc_status_message(s));
    return p.t;
}

static const char *print(fixture *f, const char *text)
{
    return gpuc_target_text(f->ctx, parse(f, text));
}

static void expect_error(fixture *f, const char *text, const char *part)
{
    parsing p = {.text = text};
    refuse(gpuc_ctx_protect(f->ctx, parse_body, &p), part);
}

/* ---- A registered kind ---- */

static void a_kind_is_parsed_and_printed(void **state)
{
    fixture *f = *state;
    const gpuc_target *t = parse(f, "foo");
    assert_string_equal(gpuc_target_text(f->ctx, t), "foo");
    assert_string_equal(gpuc_target_json(f->ctx, t), "{\"kind\":\"foo\"}");
    assert_string_equal(gpuc_target_kind(t), "foo");
    assert_int_equal(gpuc_target_get_int(t, "lanes"), 4);
    assert_false(gpuc_target_get_bool(t, "turbo"));
    assert_string_equal(gpuc_target_get_string(t, "mode"), "plain");
    assert_string_equal(gpuc_target_get_string(t, "keys"), "foo,gpu");
    assert_string_equal(gpuc_target_get_string(t, "mcpu"), "foo1");
    assert_int_equal(gpuc_target_get_int(t, "max_num_threads"), 64);
    assert_int_equal(gpuc_target_get_int(t, "float16"), 1);
    assert_int_equal(gpuc_target_get_int(t, "max_shared_memory"), 1024);
    t = parse(f, "foo -lanes=8 -turbo -mode=FAST -units=a,b");
    assert_string_equal(gpuc_target_text(f->ctx, t),
                        "foo -lanes=8 -turbo=1 -mode=fast -units=a,b -max_shared_memory=2048");
    assert_string_equal(gpuc_target_json(f->ctx, t),
                        "{\"kind\":\"foo\",\"lanes\":8,\"turbo\":true,\"mode\":\"fast\","
                        "\"units\":\"a,b\",\"max_shared_memory\":2048}");
    assert_true(gpuc_target_equal(
        t,
        parse(f,
              "{\"units\":[\"a\",\"b\"],\"kind\":\"foo\",\"turbo\":1,\"width\":\"8\",\"mode\":\"fast\"}")));
    /* What follows is printed where the text overrides it. */
    assert_string_equal(print(f, "foo -lanes=8 -max_shared_memory=1024"),
                        "foo -lanes=8 -max_shared_memory=1024");
    assert_string_equal(
        print(f, "foo -width=16 -threads=32 -max_shared_memory=1024"),
        "foo -lanes=16 -max_num_threads=32 -max_threads_x=32 -max_threads_y=32 -max_threads_z=1 "
        "-max_shared_memory=1024");
    assert_string_equal(print(f, "bare -float16"), "bare -float16=1");
}

static void values_have_a_type(void **state)
{
    fixture *f = *state;
    gpuc_target_value v;
    const gpuc_target *t = parse(f, "foo -turbo=true -mode=slow -turbo=0");
    assert_true(gpuc_target_get(t, "simd", &v));
    assert_true(v.type == GPUC_TARGET_INT && v.i == 4);
    assert_true(gpuc_target_get(t, "turbo", &v));
    assert_true(v.type == GPUC_TARGET_BOOL && v.i == 0);
    assert_true(gpuc_target_get(t, "mode", &v));
    assert_true(v.type == GPUC_TARGET_STRING && strcmp(v.s, "slow") == 0);
    assert_true(gpuc_target_get(t, "supports_float16", &v));
    assert_true(v.type == GPUC_TARGET_BOOL && v.i == 1);
    assert_false(gpuc_target_get(t, "nothing", &v));
    assert_false(gpuc_target_get(t, NULL, &v));
    assert_int_equal(v.i, 0);
    assert_int_equal(gpuc_target_get_int(t, "mode"), 0);
    assert_string_equal(gpuc_target_get_string(t, "lanes"), "");
    assert_int_equal(gpuc_target_attr(t, "lanes"), 4);
}

static void attributes_are_set(void **state)
{
    fixture *f = *state;
    gpuc_ctx *ctx = f->ctx;
    const gpuc_target *t = parse(f, "foo");
    const gpuc_target *a = gpuc_target_with(ctx, t, "lanes", gpuc_target_int(16));
    assert_true(gpuc_target_equal(a, parse(f, "foo -lanes=16")));
    assert_int_equal(gpuc_target_get_int(a, "max_shared_memory"), 4096);
    a = gpuc_target_with(ctx, a, "turbo", gpuc_target_bool(true));
    a = gpuc_target_with(ctx, a, "mode", gpuc_target_string("FAST"));
    assert_true(gpuc_target_equal(a, parse(f, "foo -lanes=16 -turbo -mode=fast")));
    assert_false(gpuc_target_equal(a, t));
    assert_string_equal(gpuc_target_text(ctx, t), "foo");
    a = gpuc_target_with(ctx, parse(f, "vulkan/llvmpipe"), "max_threads_per_block", gpuc_target_int(32));
    assert_true(gpuc_target_equal(a, parse(f, "vulkan/llvmpipe -max_num_threads=32")));
    assert_string_equal(gpuc_target_tag(a), "vulkan/llvmpipe");
    assert_false(gpuc_target_equal(parse(f, "vulkan"), parse(f, "opencl")));

    const struct {
        const char *name;
        gpuc_target_value value;
        const char *part;
    } wrong[] = {{"lanes", gpuc_target_string("8"), "'lanes' needs an integer, not a string"},
                 {"lanes", gpuc_target_int(3), "'lanes': must be a power of two, not 3"},
                 {"turbo", gpuc_target_int(1), "'turbo' needs a bool"},
                 {"turbo", {.type = GPUC_TARGET_BOOL, .i = 7}, "'turbo' needs a bool (0 or 1), not 7"},
                 {"mode", gpuc_target_bool(true), "'mode' needs a string"},
                 {"mode", gpuc_target_string(NULL), "'mode': its string is NULL"},
                 {"mode", {0}, "without a type"},
                 {"max_num_threads", gpuc_target_int(0), "'max_num_threads': it must be at least 1"},
                 {"max_spirv_version", gpuc_target_int(0x10200),
                  "it must be at least 66304: kernels are for SPIR-V 1.3"},
                 {"vulkan_api_version", gpuc_target_int(1 << 22), "kernels are for Vulkan 1.1"},
                 {"lans", gpuc_target_int(8), "did you mean 'lanes'"},
                 {NULL, gpuc_target_int(8), "missing"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        parsing p = {.from = t, .name = wrong[i].name, .value = wrong[i].value};
        refuse(gpuc_ctx_protect(ctx, parse_body, &p), wrong[i].part);
    }
}

static void mistakes_are_named(void **state)
{
    fixture *f = *state;
    expect_error(f, "fooo", "did you mean 'foo'");
    expect_error(f, "foo -lanes=eight", "'lanes' needs an integer, not 'eight'");
    expect_error(f, "foo -lanes=08x", "'lanes' needs an integer, not '08x'");
    assert_true(gpuc_target_equal(parse(f, "foo -lanes=016"), parse(f, "foo -lanes=16")));
    expect_error(f, "foo -lanes", "'lanes' needs an integer, not a bool");
    expect_error(f, "foo -lanes=6", "'lanes': must be a power of two, not 6");
    expect_error(f, "foo -turbo=2", "'turbo' needs a bool (0 or 1), not '2'");
    expect_error(f, "foo -turbo=", "'turbo' needs a bool (0 or 1), not ''");
    expect_error(f, "foo -mode", "'mode' needs a string, not a bool");
    expect_error(f, "foo -mode=odd", "'mode': there is no mode 'odd'");
    expect_error(f, "foo -mode=slow -turbo", "target 'foo': turbo is not slow");
    expect_error(f, "foo -wdith=8", "did you mean 'width'");
    expect_error(f, "vulkan -lanes=8", "'lanes' belongs to kind 'foo', not to 'vulkan'");
    expect_error(f, "foo -supports_flaot16=1", "did you mean 'supports_float16'");
    expect_error(f, "{\"kind\":\"foo\",\"lanes\":true}", "'lanes' needs an integer, not a bool");
    expect_error(f, "{\"kind\":\"foo\",\"lanes\":1.5}", "'lanes' needs an integer");
    expect_error(f, "{\"kind\":\"foo\",\"lanes\":[4]}", "'lanes' needs an integer");
    expect_error(f, "{\"kind\":\"foo\",\"mode\":\"a\\u0000b\"}", "has \\u0000 in a string");
    expect_error(f, "{\"kind\":\"foo\",\"lanes\":null}", "'lanes' needs an integer");
    expect_error(f, "{\"kind\":\"foo\",\"lanes\":\"x\"}", "'lanes' needs an integer, not 'x'");
    expect_error(f, "{\"kind\":\"foo\",\"turbo\":2}", "'turbo' needs a bool");
    expect_error(f, "{\"kind\":\"foo\",\"turbo\":\"yes\"}", "'turbo' needs a bool");
    expect_error(f, "{\"kind\":\"foo\",\"mode\":1}", "'mode' needs a string, not an integer");
    expect_error(f, "{\"kind\":\"foo\",\"mode\":[\"fast\"]}", "'mode' needs a string");
    expect_error(f, "{\"kind\":\"foo\",\"units\":[1]}", "'units' needs a list of strings");
    expect_error(f, "{\"kind\":\"foo\",\"from_device\":true}", "'from_device' needs an integer");
    expect_error(f, "bare -from_device=0", "'bare' cannot be filled from a device");
    expect_error(f, "foo -from_device=0", "needs that device open");
}

/* ---- Where kinds are found ---- */

static void kinds_belong_to_a_runtime(void **state)
{
    fixture *f = *state, other = {0};
    ok(gpuc_runtime_create(NULL, &other.rt));
    ok(gpuc_ctx_create(NULL, &other.ctx));
    expect_error(&other, "foo", "'foo' is unknown");
    gpuc_ctx_set_runtime(other.ctx, other.rt);
    expect_error(&other, "foo", "'foo' is unknown");
    gpuc_target_kind_row mine = foo;
    mine.attrs = NULL;
    mine.aliases = NULL;
    mine.canonicalise = NULL;
    ok(gpuc_target_kind_register(other.rt, &mine));
    assert_false(gpuc_target_get(parse(&other, "foo"), "lanes", &(gpuc_target_value){0}));
    gpuc_device_type type;
    int index;
    assert_true(gpuc_target_wants_device(other.ctx, "foo -from_device=2", &type, &index));
    assert_int_equal(type, gpuc_device_type_named("foo"));
    assert_int_equal(index, 2);
    assert_false(gpuc_target_wants_device(NULL, "foo -from_device=2", &type, &index));
    gpuc_ctx_destroy(other.ctx);
    gpuc_runtime_release(other.rt);

    assert_int_equal(gpuc_target_kind_count(NULL), 3);
    assert_int_equal(gpuc_target_kind_count(f->ctx), 5);
    assert_string_equal(gpuc_target_kind_at(f->ctx, 0)->name, "vulkan");
    assert_string_equal(gpuc_target_kind_at(f->ctx, 3)->name, "bare");
    assert_string_equal(gpuc_target_kind_at(f->ctx, 4)->name, "foo");
    assert_null(gpuc_target_kind_at(f->ctx, 5));
    assert_null(gpuc_target_kind_at(NULL, 3));
    assert_null(gpuc_target_kind_find(f->ctx, NULL));
    assert_null(gpuc_target_kind_find(NULL, "foo"));
    const gpuc_target_kind_row *row = gpuc_target_kind_find(f->ctx, "foo");
    assert_string_equal(row->about, "a kind of a test");
    assert_int_equal(row->language.max_lanes, 8);
    assert_int_equal(gpuc_target_kind_find(f->ctx, "bare")->language.max_lanes, 1);
    assert_string_equal(gpuc_target_kind_find(f->ctx, "c")->device, "cpu");
    assert_non_null(gpuc_registry_get(f->rt, "target.kind.foo"));
}

static void every_kind_lists_its_attributes(void **state)
{
    fixture *f = *state;
    for (size_t k = 0; k < gpuc_target_kind_count(f->ctx); k++) {
        const gpuc_target_kind_row *kind = gpuc_target_kind_at(f->ctx, k);
        const gpuc_target *t = parse(f, kind->name);
        for (const gpuc_target_attr_row *a = kind->attrs; a->name; a++) {
            gpuc_target_value v;
            assert_non_null(a->about);
            assert_true(gpuc_target_get(t, a->name, &v));
            assert_int_equal(v.type, a->type);
            if (strcmp(a->name, "max_shared_memory") != 0) assert_int_equal(v.i, a->i);
            assert_string_equal(v.s, a->s);
            for (const gpuc_target_attr_row *b = a + 1; b->name; b++)
                assert_string_not_equal(a->name, b->name);
        }
    }
}

static void devices_have_names(void **state)
{
    fixture *f = *state;
    gpuc_device_type foos = gpuc_device_type_named("foo");
    assert_true(foos >= GPUC_DEVICE_USER_FIRST);
    assert_int_equal(foos, gpuc_device_type_named("foo"));
    assert_int_not_equal(foos, gpuc_device_type_named("fop"));
    assert_int_equal(gpuc_device_type_named("vulkan"), GPUC_DEVICE_VULKAN);
    assert_int_equal(gpuc_device_type_named("c"), GPUC_DEVICE_CPU);
    assert_int_equal(gpuc_device_type_named(""), 0);
    assert_int_equal(gpuc_device_type_named(NULL), 0);
    assert_int_equal(gpuc_target_device_type(parse(f, "foo")), foos);
    assert_int_equal(gpuc_target_device_type(parse(f, "bare")), GPUC_DEVICE_CPU);
}

static gpuc_status answer(gpuc_device *dev, gpuc_device_attr attr, gpuc_attr_value *out)
{
    (void)dev;
    if (attr != GPUC_ATTR_WARP_SIZE) return gpuc_fail(GPUC_DEVICE_LOST, "gone");
    *out = (gpuc_attr_value){.known = true, .i = 32};
    return NULL;
}

static gpuc_status bad_answer(gpuc_device *dev, gpuc_device_attr attr, gpuc_attr_value *out)
{
    (void)dev, (void)attr;
    *out = (gpuc_attr_value){.known = true, .i = 33};
    return NULL;
}

static void a_device_is_asked(void **state)
{
    fixture *f = *state;
    static const gpuc_device_api api = {.struct_size = sizeof api, .name = "foo", .get_attr = answer},
                                 bad = {.struct_size = sizeof api, .name = "foo", .get_attr = bad_answer};
    gpuc_device dev = {.api = &api, .runtime = f->rt, .type = gpuc_device_type_named("foo")};
    parsing p = {.text = "foo -from_device=0", .device = &dev};
    ok(gpuc_ctx_protect(f->ctx, parse_body, &p));
    assert_string_equal(p.printed, "foo -lanes=32 -turbo=1 -max_shared_memory=8192");
    assert_true(gpuc_target_equal(p.t, parse(f, p.printed)));
    /* What the text says stands. */
    p.text = "foo -lanes=8 -from_device=0 -turbo=0";
    ok(gpuc_ctx_protect(f->ctx, parse_body, &p));
    assert_string_equal(p.printed, "foo -lanes=8 -max_shared_memory=2048");
    dev.api = &bad;
    p.text = "foo -from_device=0";
    refuse(gpuc_ctx_protect(f->ctx, parse_body, &p), "'lanes': must be a power of two, not 33");
    dev.type = GPUC_DEVICE_VULKAN;
    refuse(gpuc_ctx_protect(f->ctx, parse_body, &p), "cannot be filled from a device of kind 'foo'");
}

/* ---- Round trips ---- */

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static gpuc_target_value any_value(const gpuc_target_attr_row *row, uint64_t *seed)
{
    static const char *const strings[] = {"",         "plain",   "fast",      "FAST", "slow",
                                          "native",   "a b",     "\"q\" 'r'", "\\",   "x=1,-y=\t",
                                          "\xc3\xa9", "{\"a\"}", "-x",        "\r\n"};
    static const int64_t ints[] = {0,         1,         2, 8, 16, 64, 100, 1024, 65536, INT64_C(1) << 40,
                                   INT64_MIN, INT64_MAX, -1};
    switch (row->type) {
    case GPUC_TARGET_INT: return gpuc_target_int(ints[draw(seed) % (sizeof ints / sizeof *ints)]);
    case GPUC_TARGET_BOOL: return gpuc_target_bool(draw(seed) % 2);
    case GPUC_TARGET_STRING: break;
    }
    return gpuc_target_string(strings[draw(seed) % (sizeof strings / sizeof *strings)]);
}

/* Sets attributes by chance, those that the kind refuses left out. */
static const gpuc_target *any_target(fixture *f, const char *name, uint64_t *seed, int *num_set)
{
    const gpuc_target *t = parse(f, name);
    const gpuc_target_attr_row *rows = gpuc_target_kind_find(f->ctx, gpuc_target_kind(t))->attrs;
    int n = 0;
    while (rows[n].name) n++;
    for (int k = (int)(draw(seed) % 12); k >= 0; k--) {
        /* Often those that others follow from. */
        const char *const leading[] = {"max_num_threads", "native",           "mcpu",
                                       "lanes",           "thread_warp_size", "mode"};
        const gpuc_target_attr_row *row = &rows[draw(seed) % (uint64_t)n];
        const char *lead = leading[draw(seed) % 6];
        for (int i = 0; i < n && draw(seed) % 2; i++)
            if (strcmp(rows[i].name, lead) == 0) row = &rows[i];
        parsing p = {.from = t, .name = row->name, .value = any_value(row, seed)};
        gpuc_status s = gpuc_ctx_protect(f->ctx, parse_body, &p);
        if (!s) {
            gpuc_target_value got;
            assert_true(gpuc_target_get(p.t, row->name, &got));
            assert_int_equal(got.i, p.value.i);
            if (strcmp(p.value.s, "FAST") != 0) assert_string_equal(got.s, p.value.s);
            t = p.t;
            ++*num_set;
        }
        gpuc_status_release(s);
    }
    return t;
}

static void texts_bring_targets_back(void **state)
{
    fixture *f = *state;
    static const char *const names[] = {"vulkan",         "opencl",        "c",           "foo",
                                        "bare",           "vulkan/mobile", "opencl/pocl", "vulkan/llvmpipe",
                                        "vulkan/desktop", "fast"};
    ok(gpuc_target_tag_register(
        f->rt, &(gpuc_target_tag_row){"fast", "foo -mode=fast -width=16 -max_num_threads=32", ""}));
    uint64_t seed = 17;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int set = 0;
        for (int round = 0; round < 300; round++) {
            const gpuc_target *t = any_target(f, names[i], &seed, &set);
            const char *text = gpuc_target_text(f->ctx, t), *json = gpuc_target_json(f->ctx, t);
            const gpuc_target *a = parse(f, text), *b = parse(f, json);
            if (!gpuc_target_equal(t, a)) fail_msg("%s became %s", text, gpuc_target_text(f->ctx, a));
            if (!gpuc_target_equal(t, b)) fail_msg("%s became %s", json, gpuc_target_text(f->ctx, b));
            assert_string_equal(gpuc_target_text(f->ctx, a), text);
            assert_string_equal(gpuc_target_json(f->ctx, b), json);
        }
        assert_true(set > 300);
    }
}

/* ---- TVM's names ---- */

static void tvm_names_are_understood(void **state)
{
    fixture *f = *state;
    /* A value that is no default, and the attribute it sets; NULL: one of this name, which is kept. */
    static const struct {
        const char *name, *value, *now;
    } names[] = {{"mattr", "+avx2,+fma", NULL},
                 {"mtriple", "x86_64-linux-gnu", NULL},
                 {"mfloat-abi", "hard", NULL},
                 {"mabi", "lp64d", NULL},
                 {"num-cores", "4", "num_cores"},
                 {"fast-math", "1", "fast_math"},
                 {"fast-math-nnan", "1", NULL},
                 {"fast-math-ninf", "1", NULL},
                 {"fast-math-nsz", "1", NULL},
                 {"fast-math-arcp", "1", NULL},
                 {"fast-math-contract", "1", NULL},
                 {"fast-math-reassoc", "1", NULL},
                 {"opt-level", "3", NULL},
                 {"cl-opt", "-unroll", NULL},
                 {"mcpu", "skylake", "mcpu"},
                 {"march", "skylake", "mcpu"},
                 {"workspace-byte-alignment", "16", NULL},
                 {"constants-byte-alignment", "16", NULL},
                 {"arch", "sm_80", NULL},
                 {"max_shared_memory_per_block", "49152", "max_shared_memory"},
                 {"max_threads_per_block", "512", "max_num_threads"},
                 {"thread_warp_size", "32", "thread_warp_size"},
                 {"registers_per_block", "65536", NULL},
                 {"max_num_threads", "512", "max_num_threads"},
                 {"texture_spatial_limit", "16384", NULL},
                 {"max_function_args", "31", "max_storage_buffers"},
                 {"supports_float16", "1", "float16"},
                 {"supports_float32", "0", "float32"},
                 {"supports_float64", "1", "float64"},
                 {"supports_int8", "1", "int8"},
                 {"supports_int16", "1", "int16"},
                 {"supports_int32", "0", "int32"},
                 {"supports_int64", "1", "int64"},
                 {"supports_8bit_buffer", "1", "storage8"},
                 {"supports_16bit_buffer", "1", "storage16"},
                 {"supports_storage_buffer_storage_class", "0", "storage_buffer_class"},
                 {"supports_push_descriptor", "1", NULL},
                 {"supports_dedicated_allocation", "1", NULL},
                 {"supports_integer_dot_product", "1", "dot_product"},
                 {"supports_cooperative_matrix", "1", "coopmat"},
                 {"supported_subgroup_operations", "7", NULL},
                 {"max_block_size_x", "96", "max_threads_x"},
                 {"max_block_size_y", "96", "max_threads_y"},
                 {"max_block_size_z", "96", "max_threads_z"},
                 {"max_push_constants_size", "256", "max_push_constants"},
                 {"max_uniform_buffer_range", "65536", NULL},
                 {"max_storage_buffer_range", "1073741824", "max_buffer_range"},
                 {"max_per_stage_descriptor_storage_buffer", "8", "max_storage_buffers"},
                 {"device_type", "discrete", NULL},
                 {"device_name", "GPU of a test", NULL},
                 {"driver_name", "a driver", NULL},
                 {"driver_version", "12", NULL},
                 {"vulkan_api_version", "4202496", NULL},
                 {"max_spirv_version", "67072", NULL},
                 {"llvm-options", "-a,-b", NULL},
                 {"vtcm-capacity", "262144", NULL},
                 {"devices", "c,vulkan", NULL},
                 {"keys", "mali,opencl,gpu", NULL},
                 {"tag", "a/phone", NULL},
                 {"host", "llvm", NULL},
                 {"device", "mali", NULL},
                 {"model", "g52", NULL},
                 {"libs", "cblas", NULL}};
    static const char *const kinds[] = {"vulkan", "opencl", "c", "foo", "bare"};
    for (size_t k = 0; k < 5; k++) {
        const gpuc_target *plain = parse(f, kinds[k]);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            char *text = NULL, *json = NULL;
            const char *now = names[i].now ? names[i].now : names[i].name;
            assert_true(asprintf(&text, "%s -%s='%s'", kinds[k], names[i].name, names[i].value) > 0);
            assert_true(asprintf(&json, "{\"kind\":\"%s\",\"%s\":\"%s\"}", kinds[k], names[i].name,
                                 names[i].value) > 0);
            const gpuc_target *t = parse(f, text);
            gpuc_target_value v;
            assert_true(gpuc_target_get(t, now, &v));
            if (v.type == GPUC_TARGET_STRING)
                assert_string_equal(v.s, names[i].value);
            else
                assert_int_equal(v.i, atoll(names[i].value));
            assert_true(gpuc_target_equal(t, parse(f, gpuc_target_text(f->ctx, t))));
            assert_true(gpuc_target_equal(t, parse(f, json)));
            if (!names[i].now) {
                assert_false(gpuc_target_equal(t, plain));
                assert_non_null(strstr(gpuc_target_text(f->ctx, t), now));
            }
            free(text);
            free(json);
        }
    }
    assert_string_equal(
        print(
            f,
            "{\"kind\":\"opencl\",\"tag\":\"\",\"keys\":[\"mali\",\"opencl\",\"gpu\"],\"device\":\"mali\","
            "\"max_threads_per_block\":256,\"host\":{\"kind\":\"llvm\",\"mtriple\":\"aarch64-linux-gnu\"}}"),
        "opencl -keys=mali,opencl,gpu "
        "-host=\"{\\\"kind\\\":\\\"llvm\\\",\\\"mtriple\\\":\\\"aarch64-linux-gnu\\\"}\" "
        "-device=mali");
}

/* ---- What is refused ---- */

static gpuc_status never(const gpuc_target_value *v)
{
    (void)v;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "never right");
}

static gpuc_status no_target(gpuc_target_draft *d)
{
    (void)d;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "no target at all");
}

static gpuc_status odd_names(gpuc_target_draft *d)
{
    return gpuc_target_draft_set(d, "nowhere", gpuc_target_int(1));
}

static void wrong_kinds_are_refused(void **state)
{
    fixture *f = *state;
#define ATTRS(...)                                                                                           \
    .attrs = (const gpuc_target_attr_row[])                                                                  \
    {                                                                                                        \
        __VA_ARGS__,                                                                                         \
        {                                                                                                    \
            .name = NULL                                                                                     \
        }                                                                                                    \
    }
#define ALIASES(...)                                                                                         \
    .aliases = (const gpuc_target_alias[])                                                                   \
    {                                                                                                        \
        __VA_ARGS__,                                                                                         \
        {                                                                                                    \
            NULL, NULL                                                                                       \
        }                                                                                                    \
    }
    const struct {
        gpuc_target_kind_row row;
        const char *part;
    } wrong[] = {
        {{.name = NULL, .device = "foo"}, "NULL"},
        {{.name = "", .device = "foo"}, "target kind ''"},
        {{.name = "a b", .device = "foo"}, "target kind 'a b'"},
        {{.name = "a/b", .device = "foo"}, "target kind 'a/b'"},
        {{.name = "a_name_of_more_than_forty_letters_in_a_row", .device = "foo"}, "at most 40"},
        {{.name = "k"}, "target kind 'k': it has no device"},
        {{.name = "k", .device = ""}, "it has no device"},
        {{.name = "foo", .device = "foo"}, "target kind 'foo': there is a kind of that name"},
        {{.name = "vulkan", .device = "foo"}, "target kind 'vulkan': there is a kind of that name"},
        {{.name = "fast", .device = "foo"}, "target kind 'fast': there is a tag of that name"},
        {{.name = "k", .device = "foo", .language = {.max_lanes = 3}}, "max_lanes is 3"},
        {{.name = "k", .device = "foo", .language = {.max_lanes = -1}}, "max_lanes is -1"},
        {{.name = "k", .device = "foo", ATTRS({.name = "a"})}, "target kind 'k': attribute 'a' has no type"},
        {{.name = "k", .device = "foo", ATTRS({.name = "a", .type = (gpuc_target_type)9})},
         "attribute 'a' has no type"},
        {{.name = "k", .device = "foo", ATTRS({.name = "", .type = GPUC_TARGET_INT})}, "cannot be named ''"},
        {{.name = "k", .device = "foo", ATTRS({.name = "-a", .type = GPUC_TARGET_INT})},
         "cannot be named '-a'"},
        {{.name = "k", .device = "foo", ATTRS({.name = "a=b", .type = GPUC_TARGET_INT})},
         "cannot be named 'a=b'"},
        {{.name = "k", .device = "foo", ATTRS({.name = "from_device", .type = GPUC_TARGET_INT})},
         "cannot be named 'from_device'"},
        {{.name = "k", .device = "foo", ATTRS({.name = "kind", .type = GPUC_TARGET_STRING})},
         "cannot be named 'kind'"},
        {{.name = "k",
          .device = "foo",
          ATTRS({.name = "a", .type = GPUC_TARGET_INT}, {.name = "a", .type = GPUC_TARGET_INT})},
         "'a' is there twice"},
        {{.name = "k", .device = "foo", ATTRS({.name = "supports_int8", .type = GPUC_TARGET_BOOL})},
         "'supports_int8' is another name of 'int8'"},
        {{.name = "k", .device = "foo", ATTRS({.name = "max_rounds", .type = GPUC_TARGET_INT})},
         "'max_rounds' is another name of 'max_iterations'"},
        {{.name = "k", .device = "foo", ATTRS({.name = "float16", .type = GPUC_TARGET_INT})},
         "'float16' is that of all kinds, and a bool"},
        {{.name = "k", .device = "foo", ATTRS({.name = "a", .type = GPUC_TARGET_INT, .list = true})},
         "'a' is a list and no string"},
        {{.name = "k",
          .device = "foo",
          ATTRS({.name = "a", .type = GPUC_TARGET_INT, .i = 3, .check = is_power_of_two})},
         "its default: target attribute 'a': must be a power of two, not 3"},
        {{.name = "k", .device = "foo", ATTRS({.name = "a", .type = GPUC_TARGET_STRING, .check = never})},
         "'a': never right"},
        {{.name = "k", .device = "foo", ATTRS({.name = "a", .type = GPUC_TARGET_BOOL, .i = 2})},
         "'a' needs a bool"},
        {{.name = "k", .device = "foo", ATTRS({.name = "max_num_threads", .type = GPUC_TARGET_INT, .i = 0})},
         "'max_num_threads': it must be at least 1"},
        {{.name = "k", .device = "foo", ALIASES({"a", NULL})}, "alias 'a' has no attribute"},
        {{.name = "k", .device = "foo", ALIASES({"", "int8"})},
         "alias '' has no attribute, or no possible name"},
        {{.name = "k", .device = "foo", ALIASES({"a", "b"})},
         "alias 'a' leads to 'b', which is no attribute"},
        {{.name = "k", .device = "foo", ALIASES({"a", "a"})}, "aliases 'a' and 'a' lead to each other"},
        {{.name = "k", .device = "foo", ALIASES({"a", "b"}, {"b", "c"}, {"c", "b"})}, "lead to each other"},
        {{.name = "k", .device = "foo", ALIASES({"a", "int8"}, {"a", "int16"})},
         "alias 'a' is the name of an attribute, or of another"},
        {{.name = "k", .device = "foo", ALIASES({"int8", "int16"})},
         "alias 'int8' is the name of an attribute"},
        {{.name = "k", .device = "foo", ALIASES({"supports_int8", "int16"})},
         "alias 'supports_int8' is the name of an attribute"},
        {{.name = "k", .device = "foo", .canonicalise = no_target}, "target kind 'k': no target at all"},
        {{.name = "k", .device = "foo", .canonicalise = odd_names},
         "target kind 'k': target attribute 'nowhere' is unknown"},
    };
    ok(gpuc_target_tag_register(f->rt, &(gpuc_target_tag_row){"fast", "foo -mode=fast", ""}));
    size_t kinds = gpuc_target_kind_count(f->ctx), names = gpuc_registry_count(f->rt);
    refuse(gpuc_target_kind_register(NULL, &foo), "'rt' is NULL");
    refuse(gpuc_target_kind_register(f->rt, NULL), "'kind' is NULL");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(gpuc_target_kind_register(f->rt, &wrong[i].row), wrong[i].part);
    assert_int_equal(gpuc_target_kind_count(f->ctx), kinds);
    assert_int_equal(gpuc_registry_count(f->rt), names);
}

static void drafts_refuse_null(gpuc_ctx *ctx, void *arg)
{
    (void)ctx;
    refuse(gpuc_target_draft_set(NULL, "a", gpuc_target_int(1)), "'d' is NULL");
    refuse(gpuc_target_draft_fill(arg, "a", gpuc_target_int(1)), "'d' is NULL");
}

static gpuc_status nameless(gpuc_target_draft *d)
{
    assert_false(gpuc_target_draft_given(d, NULL));
    assert_false(gpuc_target_draft_given(d, "nowhere"));
    refuse(gpuc_target_draft_set(d, NULL, gpuc_target_int(1)), "'name' is NULL");
    refuse(gpuc_target_draft_fill(d, NULL, gpuc_target_int(1)), "'name' is NULL");
    refuse(gpuc_target_draft_fill(d, "int8", gpuc_target_int(1)), "'int8' needs a bool");
    return NULL;
}

static void wrong_drafts_are_refused(void **state)
{
    fixture *f = *state;
    drafts_refuse_null(f->ctx, NULL);
    ok(gpuc_target_kind_register(
        f->rt, &(gpuc_target_kind_row){.name = "k", .device = "foo", .canonicalise = nameless}));
    assert_string_equal(print(f, "k -int8"), "k -int8=1");
}

/* ---- Tags ---- */

static void tags_are_names_of_targets(void **state)
{
    fixture *f = *state;
    char name[] = "my/phone", text[] = "vulkan/mobile -max_num_threads=64 -int8";
    ok(gpuc_target_tag_register(f->rt, &(gpuc_target_tag_row){name, text, "of a test"}));
    name[0] = text[0] = 'x'; /* it was copied */
    ok(gpuc_target_tag_register(f->rt,
                                &(gpuc_target_tag_row){"foo.best", "{\"kind\":\"foo\",\"lanes\":64}", NULL}));
    const gpuc_target *t = parse(f, "my/phone");
    assert_string_equal(gpuc_target_text(f->ctx, t), "my/phone");
    assert_string_equal(gpuc_target_json(f->ctx, t), "{\"kind\":\"my/phone\"}");
    assert_string_equal(gpuc_target_kind(t), "vulkan");
    assert_string_equal(gpuc_target_tag(t), "my/phone");
    assert_int_equal(gpuc_target_get_int(t, "max_threads_x"), 64);
    assert_int_equal(gpuc_target_get_int(t, "float16"), 1);
    const gpuc_target *same = parse(f, "vulkan/mobile -max_num_threads=64 -int8");
    for (const gpuc_target_attr_row *a = gpuc_target_kind_find(NULL, "vulkan")->attrs; a->name; a++)
        assert_int_equal(gpuc_target_get_int(t, a->name), gpuc_target_get_int(same, a->name));
    assert_false(gpuc_target_equal(t, same)); /* by name */
    assert_string_equal(print(f, "my/phone -int8=0 -num_cores=4"), "my/phone -int8=0");
    assert_string_equal(print(f, "foo.best -lanes=4"), "foo.best -lanes=4 -max_shared_memory=1024");
    assert_int_equal(gpuc_target_tag_count(f->ctx), gpuc_target_tag_count(NULL) + 2);
    assert_string_equal(gpuc_target_tag_at(f->ctx, gpuc_target_tag_count(NULL))->name, "foo.best");
    assert_string_equal(gpuc_target_tag_find(f->ctx, "my/phone")->about, "of a test");
    assert_string_equal(gpuc_target_tag_find(f->ctx, "foo.best")->about, "");
    assert_null(gpuc_target_tag_find(NULL, "my/phone"));
    assert_null(gpuc_target_tag_find(f->ctx, NULL));
    assert_null(gpuc_target_tag_at(f->ctx, 99));
    expect_error(f, "my/fone", "did you mean 'my/phone'");
}

static void wrong_tags_are_refused(void **state)
{
    fixture *f = *state;
    static const struct {
        gpuc_target_tag_row row;
        const char *part;
    } wrong[] = {
        {{NULL, "c", ""}, "NULL"},
        {{"t", NULL, ""}, "NULL"},
        {{"", "c", ""}, "target tag ''"},
        {{"a b", "c", ""}, "target tag 'a b'"},
        {{"{a", "c", ""}, "target tag '{a'"},
        {{"foo", "c", ""}, "target tag 'foo': there is a kind of that name"},
        {{"vulkan/mobile", "c", ""}, "target tag 'vulkan/mobile': there is a tag of that name"},
        {{"t", "", ""}, "target tag 't': the target is empty"},
        {{"t", "t -int8", ""}, "target tag 't': it is a name for itself"},
        {{"t", "{\"kind\":\"t\"}", ""}, "target tag 't': target 't' is unknown"},
        {{"t", "u", ""}, "target tag 't': target 'u' is unknown"},
        {{"t", "vulkan/mobil", ""}, "did you mean 'vulkan/mobile'"},
        {{"t", "foo -lanes=3", ""}, "target tag 't': target attribute 'lanes': must be a power of two"},
        {{"t", "foo -lnaes=4", ""}, "did you mean 'lanes'"},
        {{"t", "foo -mode=slow -turbo", ""}, "target tag 't': target 'foo': turbo is not slow"},
        {{"t", "vulkan -from_device=0", ""}, "target tag 't': -from_device is not for tags"}};
    size_t names = gpuc_registry_count(f->rt);
    refuse(gpuc_target_tag_register(NULL, &(gpuc_target_tag_row){"t", "c", ""}), "'rt' is NULL");
    refuse(gpuc_target_tag_register(f->rt, NULL), "'tag' is NULL");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(gpuc_target_tag_register(f->rt, &wrong[i].row), wrong[i].part);
    assert_int_equal(gpuc_registry_count(f->rt), names);
}

/* Names of the registry that hold something else are no kinds and no tags. */
static gpuc_status other_function(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args, (void)num_args, (void)self;
    *ret = (gpuc_value){.kind = GPUC_VALUE_INT, .as.i = 5};
    return NULL;
}

static void other_functions_are_no_kinds(void **state)
{
    fixture *f = *state;
    gpuc_function *fn;
    ok(gpuc_function_create(f->rt, other_function, NULL, NULL, NULL, &fn));
    ok(gpuc_registry_set(f->rt, "target.kind.other", fn, false));
    ok(gpuc_registry_set(f->rt, "target.tag.foo2", gpuc_registry_get(f->rt, "target.kind.foo"), false));
    expect_error(f, "other", "'other' is unknown");
    expect_error(f, "foo2", "did you mean 'foo'");
    assert_int_equal(gpuc_target_kind_count(f->ctx), 5);
    gpuc_function_release(fn);
    gpuc_value arg = {0};
    gpuc_status s = gpuc_function_call(gpuc_registry_get(f->rt, "target.kind.foo"), &arg, 1, NULL);
    refuse(s, "takes no arguments");
}

/* ---- Out of memory ---- */

typedef struct meter {
    int left;   /* allocations that succeed */
    size_t use; /* bytes */
} meter;

static void *metered(void *user, void *ptr, size_t old_size, size_t new_size)
{
    meter *m = user;
    if (new_size > old_size && m->left-- <= 0) return NULL;
    void *block = NULL;
    if (new_size == 0)
        free(ptr);
    else if (!(block = realloc(ptr, new_size)))
        return NULL;
    m->use += new_size - old_size;
    return block;
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    for (int n = 0, done = 0; !done; n++) {
        meter m = {.left = 1000};
        gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
        gpuc_runtime *rt;
        desc.allocator = (gpuc_allocator){.resize = metered, .user = &m};
        ok(gpuc_runtime_create(&desc, &rt));
        m.left = n;
        gpuc_status s = gpuc_target_kind_register(rt, &foo);
        if (!s) s = gpuc_target_tag_register(rt, &(gpuc_target_tag_row){"fast", "foo -lanes=8", ""});
        done = !s;
        if (s) assert_int_equal(gpuc_status_code(s), GPUC_OUT_OF_MEMORY);
        gpuc_status_release(s);
        m.left = 1000;
        gpuc_runtime_release(rt);
        assert_int_equal(m.use, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_kind_is_parsed_and_printed, setup, teardown),
        cmocka_unit_test_setup_teardown(values_have_a_type, setup, teardown),
        cmocka_unit_test_setup_teardown(attributes_are_set, setup, teardown),
        cmocka_unit_test_setup_teardown(mistakes_are_named, setup, teardown),
        cmocka_unit_test_setup_teardown(kinds_belong_to_a_runtime, setup, teardown),
        cmocka_unit_test_setup_teardown(every_kind_lists_its_attributes, setup, teardown),
        cmocka_unit_test_setup_teardown(devices_have_names, setup, teardown),
        cmocka_unit_test_setup_teardown(a_device_is_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(texts_bring_targets_back, setup, teardown),
        cmocka_unit_test_setup_teardown(tvm_names_are_understood, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_kinds_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_drafts_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(tags_are_names_of_targets, setup, teardown),
        cmocka_unit_test_setup_teardown(wrong_tags_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(other_functions_are_no_kinds, setup, teardown),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
