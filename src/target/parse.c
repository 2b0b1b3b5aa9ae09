/* SPDX-License-Identifier: Apache-2.0 */
/* From text or JSON to a target. What was written stands over tags, devices and what follows from other attributes. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static int64_t parse_int(gpuc_ctx *ctx, const char *name, const char *text)
{
    char *end;
    errno = 0;
    const char *digits = text + (*text == '-' || *text == '+');
    bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'); /* 010 is ten */
    long long v = strtoll(text, &end, hexadecimal ? 16 : 10);
    if (end == text || *end || errno || is_space(*text))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' needs an integer, not '%s'", name,
                   text);
    return v;
}

static bool parse_bool(gpuc_ctx *ctx, const char *name, const char *text)
{
    static const char *const words[] = {"0", "1", "false", "true"};
    for (int i = 0; i < 4; i++)
        if (strcmp(text, words[i]) == 0) return i & 1;
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' needs a bool (0 or 1), not '%s'", name,
               text);
}

static gpuc_target_value parse_value(gpuc_ctx *ctx, const gpuc_target_attr_row *row, const char *text)
{
    switch (row->type) {
    case GPUC_TARGET_INT: return gpuc_target_int(parse_int(ctx, row->name, text));
    case GPUC_TARGET_BOOL: return gpuc_target_bool(parse_bool(ctx, row->name, text));
    case GPUC_TARGET_STRING: break;
    }
    return gpuc_target_string(text);
}

static bool is_from_device(const char *name)
{
    return strcmp(name, "from_device") == 0;
}

static void set_device(gpuc_target_draft *d, int64_t number)
{
    if (number < 0 || number > 1024)
        gpuc_raise(d->ctx, GPUC_INVALID_ARGUMENT, "there is no device number %" PRId64, number);
    d->wants_device = true;
    d->device_index = (int)number;
}

static int find(const gpuc_target_draft *d, const char *name)
{
    int attr = gpuc_target_find_attr(d->t.kind, name);
    if (attr < 0) gpuc_target_unknown_attr(d->ctx, d->t.kind, name);
    return attr;
}

static void set_word(gpuc_target_draft *d, const char *word, const char *whole)
{
    const char *name = word;
    if (*name != '-')
        gpuc_raise(d->ctx, GPUC_INVALID_ARGUMENT, "target '%s': '%s' is no attribute; write -name=value",
                   whole, word);
    while (*name == '-') name++;
    const char *equals = strchr(name, '='), *text = equals ? equals + 1 : NULL;
    if (equals) name = gpuc_ctx_printf(d->ctx, "%.*s", (int)(equals - name), name);
    if (is_from_device(name)) {
        set_device(d, text ? parse_int(d->ctx, name, text) : 1);
        return;
    }
    int attr = find(d, name);
    const gpuc_target_attr_row *row = &d->t.kind->attrs[attr];
    gpuc_target_value v = text ? parse_value(d->ctx, row, text) : gpuc_target_bool(true);
    gpuc_target_draft_put(d, attr, &v);
    d->given[attr] = true;
}

/* ---- Kind and tag ---- */

static GPUC_NORETURN void unknown_kind(gpuc_ctx *ctx, const char *name)
{
    size_t kinds = gpuc_target_kind_count(ctx), n = kinds + gpuc_target_tag_count(ctx);
    const char **names = gpuc_new_array(ctx, const char *, n);
    for (size_t i = 0; i < n; i++)
        names[i] = i < kinds ? gpuc_target_kind_at(ctx, i)->name : gpuc_target_tag_at(ctx, i - kinds)->name;
    const char *near = gpuc_suggest(name, names, n);
    if (near)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target '%s' is unknown; did you mean '%s'?", name, near);
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
               "target '%s' is unknown; there are vulkan, opencl and c, and tags such as vulkan/llvmpipe; "
               "`gpuc targets` lists them",
               name);
}

static void read_text(gpuc_ctx *ctx, gpuc_target_draft *d, const char *text);

/* A tag's attributes are as if they were a kind's. Registering has seen that tags end. */
static void begin(gpuc_ctx *ctx, gpuc_target_draft *d, const char *name)
{
    const gpuc_target_kind_row *kind = gpuc_target_kind_find(ctx, name);
    if (kind) {
        gpuc_target_draft_init(ctx, d, kind);
    } else {
        const gpuc_target_tag_row *tag = gpuc_target_tag_find(ctx, name);
        if (!tag) unknown_kind(ctx, name);
        read_text(ctx, d, tag->target);
        gpuc_target_draft_copy(ctx, d, gpuc_target_draft_finish(d, NULL));
        d->t.tag = gpuc_ctx_strdup(ctx, tag->name);
    }
    d->t.start = gpuc_target_draft_keep(d);
}

/* ---- The two forms ---- */

static void from_words(gpuc_ctx *ctx, gpuc_target_draft *d, const char *text)
{
    const char *at = text;
    const char *word = next_word(ctx, &at, text);
    if (!word) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the target is empty; write vulkan, opencl or c");
    begin(ctx, d, word);
    while ((word = next_word(ctx, &at, text))) set_word(d, word, text);
}

static void free_json(void *json)
{
    cJSON_Delete(json);
}

/* Nested targets, such as a host, stay JSON. */
static const char *json_item(gpuc_ctx *ctx, const cJSON *item)
{
    if (cJSON_IsString(item)) return item->valuestring;
    char *printed = cJSON_PrintUnformatted(item);
    if (!printed) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "reading a target: out of memory");
    gpuc_ctx_push_cleanup(ctx, cJSON_free, printed);
    const char *copy = gpuc_ctx_strdup(ctx, printed);
    gpuc_ctx_pop_cleanup(ctx, true);
    return copy;
}

static const char *json_list(gpuc_ctx *ctx, const gpuc_target_attr_row *row, const cJSON *array)
{
    const char *text = "";
    const cJSON *item;
    cJSON_ArrayForEach(item, array)
    {
        if (!cJSON_IsString(item) && !(row->kept && cJSON_IsObject(item)))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' needs a list of strings",
                       row->name);
        text = gpuc_ctx_printf(ctx, "%s%s%s", text, item == array->child ? "" : ",", json_item(ctx, item));
    }
    return text;
}

static bool json_int(const cJSON *item, int64_t *out)
{
    double v = item->valuedouble;
    if (!cJSON_IsNumber(item) || !(v >= -1e15 && v <= 1e15) || v != (double)(int64_t)v) return false;
    *out = (int64_t)v;
    return true;
}

static gpuc_target_value json_value(gpuc_ctx *ctx, const gpuc_target_attr_row *row, const cJSON *item)
{
    int64_t number;
    if (cJSON_IsString(item)) return parse_value(ctx, row, item->valuestring);
    if (cJSON_IsBool(item)) return gpuc_target_bool(cJSON_IsTrue(item));
    if (row->list && cJSON_IsArray(item)) return gpuc_target_string(json_list(ctx, row, item));
    if (row->type == GPUC_TARGET_STRING && row->kept && cJSON_IsObject(item))
        return gpuc_target_string(json_item(ctx, item));
    if (!json_int(item, &number))
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target attribute '%s' needs %s", row->name,
                   gpuc_target_type_name(row->type));
    bool is_bool = row->type == GPUC_TARGET_BOOL && (number == 0 || number == 1);
    return is_bool ? gpuc_target_bool(number) : gpuc_target_int(number);
}

static void set_item(gpuc_target_draft *d, const cJSON *item)
{
    if (is_from_device(item->string)) {
        int64_t number = 0;
        if (cJSON_IsString(item))
            number = parse_int(d->ctx, item->string, item->valuestring);
        else if (!json_int(item, &number))
            gpuc_raise(d->ctx, GPUC_INVALID_ARGUMENT, "target attribute 'from_device' needs an integer");
        set_device(d, number);
        return;
    }
    int attr = find(d, item->string);
    gpuc_target_value v = json_value(d->ctx, &d->t.kind->attrs[attr], item);
    gpuc_target_draft_put(d, attr, &v);
    d->given[attr] = true;
}

static void from_json(gpuc_ctx *ctx, gpuc_target_draft *d, const char *text)
{
    const char *end = NULL;
    if (strstr(text, "\\u0000")) /* strings of cJSON would end there */
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "target '%s' has \\u0000 in a string", text);
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
        if (item != kind) set_item(d, item);
    }
    gpuc_ctx_pop_cleanup(ctx, true);
}

static const char *skip_space(const char *text)
{
    while (is_space(*text)) text++;
    return text;
}

static void read_text(gpuc_ctx *ctx, gpuc_target_draft *d, const char *text)
{
    text = skip_space(text);
    if (*text == '{')
        from_json(ctx, d, text);
    else
        from_words(ctx, d, text);
}

const gpuc_target *gpuc_target_parse(gpuc_ctx *ctx, const char *text, gpuc_device *device)
{
    if (!text) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the target is missing; write vulkan, opencl or c");
    gpuc_target_draft d;
    read_text(ctx, &d, text);
    return gpuc_target_draft_finish(&d, device);
}

typedef struct wants {
    const char *text;
    bool device;
    gpuc_device_type type;
    int index;
} wants;

static void parse_only(gpuc_ctx *ctx, void *arg)
{
    wants *w = arg;
    gpuc_target_draft d;
    read_text(ctx, &d, w->text);
    *w = (wants){.device = d.wants_device, .type = d.t.kind->device_type, .index = d.device_index};
}

bool gpuc_target_wants_device(gpuc_ctx *ctx, const char *text, gpuc_device_type *type, int *index)
{
    wants w = {.text = text};
    gpuc_ctx *own;
    *type = (gpuc_device_type)0;
    *index = 0;
    gpuc_status s = text ? gpuc_ctx_create(NULL, &own) : NULL;
    if (s || !text) {
        gpuc_status_release(s);
        return false;
    }
    gpuc_ctx_set_runtime(own, ctx ? ctx->runtime : NULL);
    s = gpuc_ctx_protect(own, parse_only, &w);
    if (!s && w.device) {
        *type = w.type;
        *index = w.index;
    }
    gpuc_ctx_destroy(own);
    bool yes = !s && w.device;
    gpuc_status_release(s);
    return yes;
}
