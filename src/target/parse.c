/* SPDX-License-Identifier: Apache-2.0 */
/* From text or JSON to a target. Both forms end in set_attr; what was written stands over presets, devices
 * and what follows from other attributes. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/names.h"
#include "target/private.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* ---- Words of the string form: separated by spaces, parts may be quoted ---- */

static const char *next_word(gpuc_ctx *ctx, const char **at, const char *whole)
{
    const char *p = *at;
    while (is_space(*p)) p++;
    if (!*p) {
        *at = p;
        return NULL;
    }
    char *word = gpuc_ctx_alloc(ctx, strlen(p) + 1);
    size_t n = 0;
    char quote = 0;
    for (; *p && (quote || !is_space(*p)); p++) {
        if (quote == *p) {
            quote = 0;
        } else if (!quote && (*p == '"' || *p == '\'')) {
            quote = *p;
        } else {
            if (*p == '\\' && quote == '"' && p[1]) p++;
            word[n++] = *p;
        }
    }
    if (quote)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target '%s': a quote (%c) is not closed", whole, quote);
    word[n] = 0;
    *at = p;
    return word;
}

/* ---- Attributes ---- */

static GPUC_NORETURN void unknown_attr(gpuc_ctx *ctx, const char *name)
{
    const char *names[GPUC_TARGET_ATTR_COUNT + 4];
    size_t n = 0;
    for (int i = 0; i < GPUC_TARGET_ATTR_COUNT; i++) names[n++] = gpuc_target_attrs[i].name;
    names[n++] = "cc";
    names[n++] = "mcpu";
    names[n++] = "cflags";
    names[n++] = "from_device";
    const char *near = gpuc_suggest(name, names, n);
    if (near)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' is unknown; did you mean '%s'?", name,
                   near);
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' is unknown; `gpuc targets` lists them",
               name);
}

static void check_range(gpuc_ctx *ctx, int id, int64_t value)
{
    const char *name = gpuc_target_attrs[id].name;
    if (value < 0 || value > INT64_C(1) << 40)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' cannot be %" PRId64, name, value);
    bool at_least_one = id <= GPUC_TARGET_ATTR_max_grid_z || id == GPUC_TARGET_ATTR_max_storage_buffers ||
                        id == GPUC_TARGET_ATTR_thread_warp_size || id == GPUC_TARGET_ATTR_num_cores ||
                        id == GPUC_TARGET_ATTR_vector_registers;
    if (at_least_one && value == 0)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' must be at least 1", name);
    bool power_of_two = id == GPUC_TARGET_ATTR_buffer_align || id == GPUC_TARGET_ATTR_thread_warp_size ||
                        (id == GPUC_TARGET_ATTR_vector_bits && value != 0);
    if (power_of_two && (value == 0 || (value & (value - 1)) != 0))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' must be a power of two, not %" PRId64,
                   name, value);
    if (id == GPUC_TARGET_ATTR_vector_bits && value != 0 && (value < 64 || value > 2048))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "target attribute 'vector_bits' must be 0 or in 64..2048, not %" PRId64, value);
    if (id == GPUC_TARGET_ATTR_max_push_constants && value < 16)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' must be at least 16", name);
}

static int64_t parse_int(gpuc_ctx *ctx, const char *name, const char *text)
{
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 0);
    if (end == text || *end || errno)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' needs an integer, not '%s'", name,
                   text);
    return v;
}

/* Exactly one of text and number is given: number when text is NULL. */
static void set_attr(gpuc_ctx *ctx, gpuc_target_draft *d, const char *name, const char *text, int64_t number,
                     bool by_user)
{
    name = gpuc_names_now("target", name);
    const char **string = strcmp(name, "cc") == 0       ? &d->t.cc
                          : strcmp(name, "mcpu") == 0   ? &d->t.mcpu
                          : strcmp(name, "cflags") == 0 ? &d->t.cflags
                                                        : NULL;
    if (string) {
        if (d->t.kind != GPUC_TARGET_C)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' belongs to kind 'c', not to '%s'",
                       name, gpuc_target_kind(&d->t));
        if (!text) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' needs a string", name);
        if (string == &d->t.cc && !*text)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute 'cc' needs a command, such as -cc=gcc");
        *string = gpuc_ctx_strdup(ctx, text);
        return;
    }
    if (strcmp(name, "from_device") == 0) {
        int64_t v = text ? parse_int(ctx, name, text) : number;
        if (v < 0 || v > 1024)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "there is no device number %" PRId64, v);
        d->wants_device = true;
        d->device_index = (int)v;
        return;
    }
    for (int i = 0; i < GPUC_TARGET_ATTR_COUNT; i++) {
        if (strcmp(gpuc_target_attrs[i].name, name) != 0) continue;
        int64_t v = text ? parse_int(ctx, name, text) : number;
        check_range(ctx, i, v);
        *gpuc_target_field(&d->t, i) = v;
        if (by_user) d->given |= UINT64_C(1) << i;
        return;
    }
    unknown_attr(ctx, name);
}

static void set_attr_word(gpuc_ctx *ctx, gpuc_target_draft *d, const char *word, const char *whole,
                          bool by_user)
{
    const char *name = word;
    if (*name != '-')
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target '%s': '%s' is no attribute; write -name=value", whole,
                   word);
    while (*name == '-') name++;
    const char *equals = strchr(name, '=');
    if (!equals) {
        set_attr(ctx, d, name, NULL, 1, by_user);
        return;
    }
    char *copy = gpuc_ctx_strdup(ctx, name);
    copy[equals - name] = 0;
    set_attr(ctx, d, copy, equals + 1, 0, by_user);
}

/* ---- Kind and preset ---- */

static GPUC_NORETURN void unknown_kind(gpuc_ctx *ctx, const char *name)
{
    const char *names[32];
    size_t n = 0;
    for (; n < gpuc_target_preset_count() && n < 32; n++) names[n] = gpuc_target_preset_name(n);
    const char *near = gpuc_suggest(name, names, n);
    if (near)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target '%s' is unknown; did you mean '%s'?", name, near);
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
               "target '%s' is unknown; there are vulkan, opencl and c, and presets such as vulkan/llvmpipe",
               name);
}

static int kind_of(const char *name, size_t length)
{
    for (int i = 0; i < GPUC_TARGET_KIND_COUNT; i++)
        if (strlen(gpuc_target_kinds[i].name) == length &&
            memcmp(gpuc_target_kinds[i].name, name, length) == 0)
            return i;
    return -1;
}

static void begin(gpuc_ctx *ctx, gpuc_target_draft *d, const char *name)
{
    const char *slash = strchr(name, '/');
    int kind = kind_of(name, slash ? (size_t)(slash - name) : strlen(name));
    const gpuc_target_preset *preset = gpuc_target_preset_find(name);
    if (kind < 0 || !preset) unknown_kind(ctx, name);
    d->t.kind = (gpuc_target_kind_id)kind;
    d->t.language = &gpuc_target_kinds[kind].language;
    d->t.preset = slash ? gpuc_ctx_strdup(ctx, slash + 1) : "";
    d->t.cc = "cc";
    d->t.mcpu = d->t.cflags = "";
    for (int i = 0; i < GPUC_TARGET_ATTR_COUNT; i++)
        *gpuc_target_field(&d->t, i) = gpuc_target_attrs[i].by_kind[kind];
    d->native = preset->native;
    const char *at = preset->attrs;
    for (const char *word; (word = next_word(ctx, &at, preset->attrs));)
        set_attr_word(ctx, d, word, preset->name, false);
}

static const gpuc_target *finish(gpuc_ctx *ctx, gpuc_target_draft *d, gpuc_device *device)
{
    if (d->wants_device) gpuc_target_fill_device(ctx, d, device);
    if (d->native || strcmp(d->t.mcpu, "native") == 0) gpuc_target_fill_native(d);
    if (d->given >> GPUC_TARGET_ATTR_max_num_threads & 1) {
        int64_t threads = d->t.max_num_threads;
        gpuc_target_derive(d, GPUC_TARGET_ATTR_max_threads_x, threads);
        gpuc_target_derive(d, GPUC_TARGET_ATTR_max_threads_y, threads);
        if (d->t.max_threads_z > threads) gpuc_target_derive(d, GPUC_TARGET_ATTR_max_threads_z, threads);
        if (d->t.thread_warp_size > threads) gpuc_target_derive(d, GPUC_TARGET_ATTR_thread_warp_size, 1);
    }
    gpuc_target *t = gpuc_new(ctx, gpuc_target);
    *t = d->t;
    t->constants = gpuc_target_constants_of(t);
    return t;
}

/* ---- The two forms ---- */

static void from_words(gpuc_ctx *ctx, gpuc_target_draft *d, const char *text)
{
    const char *at = text;
    const char *word = next_word(ctx, &at, text);
    if (!word) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the target is empty; write vulkan, opencl or c");
    begin(ctx, d, word);
    while ((word = next_word(ctx, &at, text))) set_attr_word(ctx, d, word, text, true);
}

static void free_json(void *json)
{
    cJSON_Delete(json);
}

static void from_json(gpuc_ctx *ctx, gpuc_target_draft *d, const char *text)
{
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithOpts(text, &end, true);
    if (!json)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target is not valid JSON at byte %d: '%s'",
                   end ? (int)(end - text) : 0, text);
    gpuc_ctx_push_cleanup(ctx, free_json, json);
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(json, "kind");
    if (!cJSON_IsString(kind))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target '%s' has no \"kind\"; write {\"kind\":\"vulkan\"}",
                   text);
    begin(ctx, d, kind->valuestring);
    const cJSON *item;
    cJSON_ArrayForEach(item, json)
    {
        if (item == kind) continue;
        if (cJSON_IsString(item)) {
            set_attr(ctx, d, item->string, item->valuestring, 0, true);
        } else if (cJSON_IsBool(item)) {
            set_attr(ctx, d, item->string, NULL, cJSON_IsTrue(item), true);
        } else if (cJSON_IsNumber(item) && item->valuedouble >= -1e15 && item->valuedouble <= 1e15 &&
                   item->valuedouble == (double)(int64_t)item->valuedouble) {
            set_attr(ctx, d, item->string, NULL, (int64_t)item->valuedouble, true);
        } else {
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' needs an integer or a string",
                       item->string);
        }
    }
    gpuc_ctx_pop_cleanup(ctx, true);
}

static const char *skip_space(const char *text)
{
    while (is_space(*text)) text++;
    return text;
}

const gpuc_target *gpuc_target_parse(gpuc_ctx *ctx, const char *text, gpuc_device *device)
{
    if (!text) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the target is missing; write vulkan, opencl or c");
    gpuc_target_draft d = {0};
    text = skip_space(text);
    if (*text == '{')
        from_json(ctx, &d, text);
    else
        from_words(ctx, &d, text);
    return finish(ctx, &d, device);
}

typedef struct wants {
    const char *text;
    gpuc_target_draft d;
} wants;

static void parse_only(gpuc_ctx *ctx, void *arg)
{
    wants *w = arg;
    if (*w->text == '{')
        from_json(ctx, &w->d, w->text);
    else
        from_words(ctx, &w->d, w->text);
}

bool gpuc_target_wants_device(const char *text, gpuc_device_type *type, int *index)
{
    *type = (gpuc_device_type)0;
    *index = 0;
    gpuc_ctx *ctx;
    gpuc_status s = text ? gpuc_ctx_create(NULL, &ctx) : NULL;
    if (s || !text) {
        gpuc_status_release(s);
        return false;
    }
    wants w = {.text = skip_space(text)};
    s = gpuc_ctx_protect(ctx, parse_only, &w);
    bool yes = !s && w.d.wants_device;
    if (yes) {
        *type = gpuc_target_device_type(&w.d.t);
        *index = w.d.device_index;
    }
    gpuc_status_release(s);
    gpuc_ctx_destroy(ctx);
    return yes;
}
