/* SPDX-License-Identifier: Apache-2.0 */
/* Prints targets as text and JSON, and reads their attributes by name. */
#include "target/private.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi/kernel.h"
#include "base/buf.h"
#include "base/names.h"

const gpuc_target_attr_info gpuc_target_attrs[GPUC_TARGET_ATTR_COUNT] = {
#define GPUC_TARGET_INT(field, req, text, ...)                                                               \
    [GPUC_TARGET_ATTR_##field] = {.name = #field,                                                            \
                                  .offset = offsetof(gpuc_target, field),                                    \
                                  .by_kind = {__VA_ARGS__},                                                  \
                                  .required = (req),                                                         \
                                  .about = (text)},
#include "target/attrs.def"
#undef GPUC_TARGET_INT
};
_Static_assert(GPUC_TARGET_ATTR_COUNT <= 64, "gpuc_target_draft.given has a bit per attribute");

static void print_word(gpuc_buf *out, const char *text)
{
    bool plain = *text != 0;
    for (const char *p = text; *p; p++)
        if (strchr(" \t\r\n\"'\\", *p)) plain = false;
    if (plain) {
        gpuc_buf_str(out, text);
        return;
    }
    gpuc_buf_str(out, "\"");
    for (const char *p = text; *p; p++) gpuc_buf_printf(out, "%s%c", strchr("\"\\", *p) ? "\\" : "", *p);
    gpuc_buf_str(out, "\"");
}

/* "vulkan", "vulkan/llvmpipe", and what it stands for: only what differs from that is printed. */
static const gpuc_target *base_of(gpuc_ctx *ctx, const gpuc_target *t, const char **name)
{
    *name = gpuc_target_kinds[t->kind].name;
    if (*t->preset) *name = gpuc_ctx_printf(ctx, "%s/%s", *name, t->preset);
    return gpuc_target_parse(ctx, *name, NULL);
}

/* Work-group sizes follow the number of threads unless they are written too. */
static bool is_printed(const gpuc_target *t, const gpuc_target *base, int attr)
{
    bool follows = attr == GPUC_TARGET_ATTR_max_threads_x || attr == GPUC_TARGET_ATTR_max_threads_y ||
                   attr == GPUC_TARGET_ATTR_max_threads_z;
    if (follows && t->max_num_threads != base->max_num_threads) return true;
    return gpuc_target_value(t, attr) != gpuc_target_value(base, attr);
}

static void print_text(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_target *t)
{
    const char *name;
    const gpuc_target *base = base_of(ctx, t, &name);
    gpuc_buf_str(out, name);
    const char *const names[] = {"mcpu", "cc", "cflags"};
    const char *const values[] = {t->mcpu, strcmp(t->cc, "cc") ? t->cc : "", t->cflags};
    for (int i = 0; i < 3; i++) {
        if (!*values[i]) continue;
        gpuc_buf_printf(out, " -%s=", names[i]);
        print_word(out, values[i]);
    }
    for (int i = 0; i < GPUC_TARGET_ATTR_COUNT; i++) {
        if (is_printed(t, base, i))
            gpuc_buf_printf(out, " -%s=%" PRId64, gpuc_target_attrs[i].name, gpuc_target_value(t, i));
    }
}

static void print_json_string(gpuc_ctx *ctx, gpuc_buf *out, const char *text)
{
    cJSON string = {.type = cJSON_String, .valuestring = (char *)text};
    char *printed = cJSON_PrintUnformatted(&string);
    if (!printed) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "printing a target as JSON: out of memory");
    gpuc_buf_str(out, printed);
    cJSON_free(printed);
}

static void print_json(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_target *t)
{
    const char *name;
    const gpuc_target *base = base_of(ctx, t, &name);
    gpuc_buf_printf(out, "{\"kind\":\"%s\"", name);
    const char *const names[] = {"mcpu", "cc", "cflags"};
    const char *const values[] = {t->mcpu, strcmp(t->cc, "cc") ? t->cc : "", t->cflags};
    for (int i = 0; i < 3; i++) {
        if (!*values[i]) continue;
        gpuc_buf_printf(out, ",\"%s\":", names[i]);
        print_json_string(ctx, out, values[i]);
    }
    for (int i = 0; i < GPUC_TARGET_ATTR_COUNT; i++) {
        if (is_printed(t, base, i))
            gpuc_buf_printf(out, ",\"%s\":%" PRId64, gpuc_target_attrs[i].name, gpuc_target_value(t, i));
    }
    gpuc_buf_str(out, "}");
}

static const char *print_in_ctx(gpuc_ctx *ctx, const gpuc_target *t,
                                void (*print)(gpuc_ctx *, gpuc_buf *, const gpuc_target *))
{
    gpuc_buf out;
    gpuc_buf_init(&out, ctx->allocator);
    print(ctx, &out, t);
    if (out.failed) {
        gpuc_buf_deinit(&out);
        gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "printing a target: out of memory");
    }
    char *text = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&out));
    gpuc_buf_deinit(&out);
    return text;
}

const char *gpuc_target_text(gpuc_ctx *ctx, const gpuc_target *t)
{
    return print_in_ctx(ctx, t, print_text);
}

const char *gpuc_target_json(gpuc_ctx *ctx, const gpuc_target *t)
{
    return print_in_ctx(ctx, t, print_json);
}

const char *gpuc_target_kind(const gpuc_target *t)
{
    return gpuc_target_kinds[t->kind].name;
}

gpuc_device_type gpuc_target_device_type(const gpuc_target *t)
{
    return gpuc_target_kinds[t->kind].device;
}

int64_t gpuc_target_attr(const gpuc_target *t, const char *name)
{
    for (int i = 0; i < GPUC_TARGET_ATTR_COUNT; i++)
        if (strcmp(gpuc_target_attrs[i].name, gpuc_names_now("target", name)) == 0)
            return gpuc_target_value(t, i);
    return 0;
}

static bool is_attr(int i)
{
    return i >= 0 && i < GPUC_TARGET_ATTR_COUNT;
}

static bool is_kind(int kind)
{
    return kind >= 0 && kind < GPUC_TARGET_KIND_COUNT;
}

int gpuc_target_num_kinds(void)
{
    return GPUC_TARGET_KIND_COUNT;
}

const char *gpuc_target_kind_name(int kind)
{
    return is_kind(kind) ? gpuc_target_kinds[kind].name : NULL;
}

int gpuc_target_num_attrs(void)
{
    return GPUC_TARGET_ATTR_COUNT;
}

const char *gpuc_target_attr_name(int i)
{
    return is_attr(i) ? gpuc_target_attrs[i].name : NULL;
}

const char *gpuc_target_attr_about(int i)
{
    return is_attr(i) ? gpuc_target_attrs[i].about : NULL;
}

int64_t gpuc_target_attr_default(int i, int kind)
{
    return is_attr(i) && is_kind(kind) ? gpuc_target_attrs[i].by_kind[kind] : 0;
}
