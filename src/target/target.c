/* SPDX-License-Identifier: Apache-2.0 */
/* Prints targets as text and JSON. */
#include "target/private.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"

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

static const char *name_of(const gpuc_target *t)
{
    return *t->tag ? t->tag : t->kind->name;
}

/* What one kind has stands in front of what all have. */
static void print_attrs(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_target *t,
                        void (*print)(gpuc_ctx *ctx, gpuc_buf *out, const char *name, gpuc_target_value v))
{
    const bool *printed = gpuc_target_printed(ctx, t);
    int n = gpuc_target_num_attrs(t->kind);
    for (int k = 0; k < n; k++) {
        int i = (k + GPUC_TARGET_ATTR_COUNT) % n;
        if (printed[i]) print(ctx, out, t->kind->attrs[i].name, gpuc_target_value_of(t, i));
    }
}

static void print_word_attr(gpuc_ctx *ctx, gpuc_buf *out, const char *name, gpuc_target_value v)
{
    (void)ctx;
    gpuc_buf_printf(out, " -%s=", name);
    if (v.type == GPUC_TARGET_STRING)
        print_word(out, v.s);
    else
        gpuc_buf_printf(out, "%" PRId64, v.i);
}

static void print_text(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_target *t)
{
    gpuc_buf_str(out, name_of(t));
    print_attrs(ctx, out, t, print_word_attr);
}

static void print_json_string(gpuc_ctx *ctx, gpuc_buf *out, const char *text)
{
    cJSON string = {.type = cJSON_String, .valuestring = (char *)text};
    char *printed = cJSON_PrintUnformatted(&string);
    if (!printed) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "printing a target as JSON: out of memory");
    gpuc_buf_str(out, printed);
    cJSON_free(printed);
}

/* Readers of JSON have doubles: what these do not hold is a string. */
static void print_json_attr(gpuc_ctx *ctx, gpuc_buf *out, const char *name, gpuc_target_value v)
{
    bool large = v.i < -INT64_C(1000000000000000) || v.i > INT64_C(1000000000000000);
    gpuc_buf_printf(out, ",\"%s\":", name);
    switch (v.type) {
    case GPUC_TARGET_INT: gpuc_buf_printf(out, large ? "\"%" PRId64 "\"" : "%" PRId64, v.i); break;
    case GPUC_TARGET_BOOL: gpuc_buf_str(out, v.i ? "true" : "false"); break;
    case GPUC_TARGET_STRING: print_json_string(ctx, out, v.s); break;
    }
}

static void print_json(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_target *t)
{
    gpuc_buf_printf(out, "{\"kind\":\"%s\"", name_of(t));
    print_attrs(ctx, out, t, print_json_attr);
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
    return t->kind->name;
}

const char *gpuc_target_tag(const gpuc_target *t)
{
    return t->tag;
}

gpuc_device_type gpuc_target_device_type(const gpuc_target *t)
{
    return t->kind->device_type;
}
