/* SPDX-License-Identifier: Apache-2.0 */
/* Parses descriptions of images: "x=rgba8,linear,mean=0.5:0.4:0.3,scale=2". */
#include <ctype.h>
#include <string.h>

#include "compile/image.h"
#include "tir/print.h"

typedef struct parser {
    gpuc_ctx *ctx;
    const char *what; /* "input image 'x'" */
    const char *key;  /* that is being read */
    void *spec;       /* gpuc_image_input or gpuc_image_output */
    uint32_t seen;    /* bits of keys, by the row of the table */
} parser;

/* A key of a description. */
typedef struct key_row {
    const char *name;
    const char *form;  /* of its value, for messages; NULL: it takes none */
    uint32_t excludes; /* bits of rows that may not be given besides */
    void (*read)(parser *p, const char *value);
} key_row;

#define FAIL(p, ...) gpuc_raise((p)->ctx, GPUC_INVALID_ARGUMENT, __VA_ARGS__)

GPUC_NORETURN static void wrong(const parser *p, const char *value, const char *want)
{
    FAIL(p, "%s: %s takes %s, not '%s'", p->what, p->key, want, value);
}

/* ---- Values ---- */

/* A decimal number at the start of the text, in any locale; returns what follows, NULL if there is none. */
static const char *read_number(gpuc_ctx *ctx, const char *text, double *out)
{
    bool negative = *text == '-';
    const char *begin = text + (*text == '-' || *text == '+'), *p = begin;
    int digits = 0;
    for (; isdigit((unsigned char)*p) || *p == '.'; p++) {
        if (*p == '.' && memchr(begin, '.', (size_t)(p - begin))) return NULL;
        digits += *p != '.';
    }
    if (!digits) return NULL;
    if (*p == 'e' || *p == 'E') {
        const char *e = p + 1 + (p[1] == '-' || p[1] == '+');
        if (!isdigit((unsigned char)*e)) return NULL;
        while (isdigit((unsigned char)*e)) e++;
        p = e;
    }
    double v = gpuc_tir_parse_float(ctx, begin, (size_t)(p - begin));
    *out = negative ? -v : v;
    return p;
}

static double one_number(parser *p, const char *value)
{
    double v = 0;
    const char *end = read_number(p->ctx, value, &v);
    if (!end || *end) wrong(p, value, "a number");
    return v;
}

/* "1:2:3" */
static int numbers(parser *p, const char *value, double out[3])
{
    const char *at = value;
    for (int n = 0; n < 3; n++) {
        at = read_number(p->ctx, at, &out[n]);
        if (!at || (*at && *at != ':')) wrong(p, value, "a number, or one for each channel: 0.5:0.4:0.3");
        if (!*at) return n + 1;
        at++;
    }
    wrong(p, value, "3 numbers at most");
}

/* A number of pixels at the start of the text; NULL if there is none. */
static const char *read_pixels(const char *text, int64_t *out)
{
    int64_t v = 0;
    const char *p = text;
    for (; isdigit((unsigned char)*p); p++) {
        v = v * 10 + (*p - '0');
        if (v > INT32_MAX) return NULL;
    }
    *out = v;
    return p == text ? NULL : p;
}

/* "640x480"; returns what follows, NULL if it is none. */
static const char *read_size(const char *text, int64_t *width, int64_t *height)
{
    const char *p = read_pixels(text, width);
    return p && *p == 'x' ? read_pixels(p + 1, height) : NULL;
}

/* The number of the name in a list; raises if it has none. */
static int one_of(parser *p, const char *value, int n, const char *const *names)
{
    const char *list = "";
    for (int i = 0; i < n; i++) {
        if (!strcmp(value, names[i])) return i;
        list = gpuc_ctx_printf(p->ctx, "%s%s%s", list, !i ? "" : i == n - 1 ? " or " : ", ", names[i]);
    }
    wrong(p, value, list);
}

static gpuc_image_order order_of(parser *p, const char *value)
{
    static const char *const names[] = {"rgb", "bgr", "gray"};
    static const gpuc_image_order orders[] = {GPUC_IMAGE_ORDER_RGB, GPUC_IMAGE_ORDER_BGR,
                                              GPUC_IMAGE_ORDER_GRAY};
    return orders[one_of(p, value, 3, names)];
}

static gpuc_image_layout layout_of(parser *p, const char *value)
{
    static const char *const names[] = {"nchw", "nhwc"};
    static const gpuc_image_layout layouts[] = {GPUC_IMAGE_LAYOUT_NCHW, GPUC_IMAGE_LAYOUT_NHWC};
    return layouts[one_of(p, value, 2, names)];
}

/* ---- Keys of inputs ---- */

static void in_linear(parser *p, const char *value)
{
    (void)value;
    ((gpuc_image_input *)p->spec)->nearest = false;
}

static void in_nearest(parser *p, const char *value)
{
    (void)value;
    ((gpuc_image_input *)p->spec)->nearest = true;
}

static void in_size(parser *p, const char *value)
{
    gpuc_image_input *s = p->spec;
    const char *end = read_size(value, &s->width, &s->height);
    if (!end || *end || !s->width || !s->height) wrong(p, value, "WIDTHxHEIGHT");
}

static void in_crop(parser *p, const char *value)
{
    gpuc_image_input *s = p->spec;
    s->crop = GPUC_IMAGE_CROP_CENTER;
    if (!strcmp(value, "center")) return;
    s->crop = GPUC_IMAGE_CROP_RECT;
    const char *end = read_size(value, &s->crop_width, &s->crop_height);
    end = end && *end == '+' ? read_pixels(end + 1, &s->crop_x) : NULL;
    end = end && *end == '+' ? read_pixels(end + 1, &s->crop_y) : NULL;
    if (!end || *end || !s->crop_width || !s->crop_height) wrong(p, value, "WIDTHxHEIGHT+X+Y or center");
}

static void in_range(parser *p, const char *value)
{
    ((gpuc_image_input *)p->spec)->range = one_number(p, value);
}

static void in_mean(parser *p, const char *value)
{
    gpuc_image_input *s = p->spec;
    s->num_mean = numbers(p, value, s->mean);
}

static void in_scale(parser *p, const char *value)
{
    gpuc_image_input *s = p->spec;
    s->num_scale = numbers(p, value, s->scale);
}

static void in_std(parser *p, const char *value)
{
    gpuc_image_input *s = p->spec;
    s->num_scale = numbers(p, value, s->scale);
    for (int i = 0; i < s->num_scale; i++) {
        if (s->scale[i] == 0) wrong(p, value, "numbers that are not 0");
        s->scale[i] = 1 / s->scale[i];
    }
}

static void in_order(parser *p, const char *value)
{
    ((gpuc_image_input *)p->spec)->order = order_of(p, value);
}

static void in_layout(parser *p, const char *value)
{
    ((gpuc_image_input *)p->spec)->layout = layout_of(p, value);
}

#define NUMBERS "NUMBER[:NUMBER:NUMBER]"
enum {
    IN_LINEAR,
    IN_NEAREST,
    IN_SIZE,
    IN_CROP,
    IN_RANGE,
    IN_MEAN,
    IN_SCALE,
    IN_STD,
    IN_ORDER,
    IN_LAYOUT,
    IN_COUNT
};
static const key_row input_keys[IN_COUNT] = {
    [IN_LINEAR] = {"linear", NULL, 1u << IN_NEAREST, in_linear},
    [IN_NEAREST] = {"nearest", NULL, 1u << IN_LINEAR, in_nearest},
    [IN_SIZE] = {"size", "WIDTHxHEIGHT", 0, in_size},
    [IN_CROP] = {"crop", "WIDTHxHEIGHT+X+Y or center", 0, in_crop},
    [IN_RANGE] = {"range", "NUMBER", 0, in_range},
    [IN_MEAN] = {"mean", NUMBERS, 0, in_mean},
    [IN_SCALE] = {"scale", NUMBERS, 1u << IN_STD, in_scale},
    [IN_STD] = {"std", NUMBERS, 1u << IN_SCALE, in_std},
    [IN_ORDER] = {"order", "rgb, bgr or gray", 0, in_order},
    [IN_LAYOUT] = {"layout", "nchw or nhwc", 0, in_layout},
};

/* ---- Keys of outputs ---- */

static void out_clamp(parser *p, const char *value)
{
    (void)value;
    ((gpuc_image_output *)p->spec)->clamp = true;
}

static void out_range(parser *p, const char *value)
{
    ((gpuc_image_output *)p->spec)->range = one_number(p, value);
}

static void out_scale(parser *p, const char *value)
{
    gpuc_image_output *s = p->spec;
    s->num_scale = numbers(p, value, s->scale);
}

static void out_offset(parser *p, const char *value)
{
    gpuc_image_output *s = p->spec;
    s->num_offset = numbers(p, value, s->offset);
}

static void out_alpha(parser *p, const char *value)
{
    ((gpuc_image_output *)p->spec)->alpha = one_number(p, value);
}

static void out_order(parser *p, const char *value)
{
    ((gpuc_image_output *)p->spec)->order = order_of(p, value);
}

static void out_layout(parser *p, const char *value)
{
    ((gpuc_image_output *)p->spec)->layout = layout_of(p, value);
}

static const key_row output_keys[] = {
    {"clamp", NULL, 0, out_clamp},
    {"range", "NUMBER", 0, out_range},
    {"scale", NUMBERS, 0, out_scale},
    {"offset", NUMBERS, 0, out_offset},
    {"alpha", "NUMBER", 0, out_alpha},
    {"order", "rgb, bgr or gray", 0, out_order},
    {"layout", "nchw or nhwc", 0, out_layout},
};

/* ---- Texts ---- */

enum { MAX_KEYS = 16 };

static const key_row *find_key(parser *p, const char *name, const key_row *rows, int n)
{
    const char *names[MAX_KEYS], *list = "";
    for (int i = 0; i < n; i++) {
        if (!strcmp(name, rows[i].name)) return &rows[i];
        names[i] = rows[i].name;
        list = gpuc_ctx_printf(p->ctx, "%s%s%s", list, i ? ", " : "", names[i]);
    }
    const char *near = gpuc_suggest(name, names, (size_t)n);
    if (near) FAIL(p, "%s: there is no key '%s'; did you mean '%s'?", p->what, name, near);
    FAIL(p, "%s: there is no key '%s'; the keys are %s", p->what, name, list);
}

static void read_item(parser *p, char *item, const key_row *rows, int n)
{
    char *value = strchr(item, '=');
    if (value) *value++ = 0;
    const key_row *row = find_key(p, item, rows, n);
    uint32_t bit = 1u << (row - rows);
    p->key = row->name;
    if (p->seen & bit) FAIL(p, "%s: %s is given twice", p->what, row->name);
    for (int i = 0; i < n; i++)
        if (row->excludes & p->seen & 1u << i)
            FAIL(p, "%s: %s and %s exclude each other", p->what, rows[i].name, row->name);
    if (!row->form && value) FAIL(p, "%s: %s takes no value", p->what, row->name);
    if (row->form && !(value && *value))
        FAIL(p, "%s: %s needs a value: %s=%s", p->what, row->name, row->name, row->form);
    p->seen |= bit;
    row->read(p, value);
}

static gpuc_image_format format_of(const char *text, size_t n)
{
    for (int f = GPUC_IMAGE_NONE + 1; f < GPUC_IMAGE_FORMAT_COUNT; f++) {
        const char *name = gpuc_image_format_name((gpuc_image_format)f);
        if (strlen(name) == n && !strncmp(name, text, n)) return (gpuc_image_format)f;
    }
    return GPUC_IMAGE_NONE;
}

GPUC_NORETURN static void no_format(gpuc_ctx *ctx, const char *side, const char *text)
{
    const char *names[GPUC_IMAGE_FORMAT_COUNT], *list = "", *eq = strchr(text, '=');
    for (int f = 1; f < GPUC_IMAGE_FORMAT_COUNT; f++) {
        names[f - 1] = gpuc_image_format_name((gpuc_image_format)f);
        list = gpuc_ctx_printf(ctx, "%s%s%s", list, f > 1 ? ", " : "", names[f - 1]);
    }
    if (!eq || eq == text)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "%s image '%s': it has no name; write NAME=FORMAT,KEY=VALUE,...", side, text);
    const char *word = gpuc_ctx_printf(ctx, "%.*s", (int)strcspn(eq + 1, ","), eq + 1);
    const char *near = gpuc_suggest(word, names, GPUC_IMAGE_FORMAT_COUNT - 1);
    if (near)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s image '%.*s': there is no format '%s'; did you mean '%s'?",
                   side, (int)(eq - text), text, word, near);
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s image '%.*s': there is no format '%s'; the formats are %s",
               side, (int)(eq - text), text, word, list);
}

/* Names may hold '=', too: what stands before the first "=FORMAT" is the name. */
static const char *split(gpuc_ctx *ctx, const char *side, const char *text, const char **name,
                         gpuc_image_format *format)
{
    if (!text) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s image: the text is NULL", side);
    for (const char *eq = strchr(text, '='); eq; eq = strchr(eq + 1, '=')) {
        size_t n = strcspn(eq + 1, ",");
        *format = format_of(eq + 1, n);
        if (*format == GPUC_IMAGE_NONE || eq == text) continue;
        *name = gpuc_ctx_printf(ctx, "%.*s", (int)(eq - text), text);
        return eq + 1 + n;
    }
    no_format(ctx, side, text);
}

static void read_items(parser *p, const char *text, const key_row *rows, int n)
{
    while (*text) { /* at a comma */
        size_t length = strcspn(++text, ",");
        char *item = gpuc_ctx_printf(p->ctx, "%.*s", (int)length, text);
        if (!*item) FAIL(p, "%s: a key is missing between two commas, or behind the last", p->what);
        read_item(p, item, rows, n);
        text += length;
    }
}

gpuc_image_input gpuc_image_input_parse(gpuc_ctx *ctx, const char *text)
{
    gpuc_image_input out = GPUC_IMAGE_INPUT_INIT;
    text = split(ctx, "input", text, &out.name, &out.format);
    parser p = {.ctx = ctx, .what = gpuc_ctx_printf(ctx, "input image '%s'", out.name), .spec = &out};
    read_items(&p, text, input_keys, IN_COUNT);
    return out;
}

gpuc_image_output gpuc_image_output_parse(gpuc_ctx *ctx, const char *text)
{
    gpuc_image_output out = GPUC_IMAGE_OUTPUT_INIT;
    text = split(ctx, "output", text, &out.name, &out.format);
    parser p = {.ctx = ctx, .what = gpuc_ctx_printf(ctx, "output image '%s'", out.name), .spec = &out};
    read_items(&p, text, output_keys, sizeof output_keys / sizeof output_keys[0]);
    return out;
}
