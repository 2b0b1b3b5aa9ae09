/* SPDX-License-Identifier: Apache-2.0 */
/* Images as outputs: operators behind the graph make pixels of what the network gives. */
#include <math.h>
#include <string.h>

#include "compile/image.h"
#include "relay_pass/common/util.h"

typedef struct conversion {
    gpuc_ctx *ctx;
    const gpuc_image_output *spec;
    const char *what; /* "output image 'y'" */
    gpuc_image_place place;
    bool bytes;  /* the format is of 8 bits */
    double full; /* a full colour, as a number that is limited */
} conversion;

static void check(const conversion *c)
{
    const gpuc_image_output *s = c->spec;
    if (!isfinite(s->range) || s->range <= 0)
        gpuc_raise(c->ctx, GPUC_INVALID_ARGUMENT, "%s: range is %g, which is not above 0", c->what, s->range);
    if (!(s->alpha >= 0 && s->alpha <= 1))
        gpuc_raise(c->ctx, GPUC_INVALID_ARGUMENT, "%s: alpha is %g, which is not 0 to 1", c->what, s->alpha);
    gpuc_image_check_list(c->ctx, c->what, "scale", s->num_scale, s->scale, c->place.channels);
    gpuc_image_check_list(c->ctx, c->what, "offset", s->num_offset, s->offset, c->place.channels);
    if (gpuc_image_format_channels(s->format) == 1 && c->place.channels != 1)
        gpuc_raise(c->ctx, GPUC_INVALID_ARGUMENT,
                   "%s: the network gives %d channels, an image of format %s has 1; take rgba8 or rgba16f",
                   c->what, c->place.channels, gpuc_image_format_name(s->format));
}

static gpuc_rexpr *number(const conversion *c, double v)
{
    return gpuc_relay_const_scalar(c->ctx, GPUC_FLOAT32, v);
}

static gpuc_rexpr *choose(const conversion *c, gpuc_rexpr *cond, gpuc_rexpr *a, gpuc_rexpr *b)
{
    gpuc_rexpr *args[] = {cond, a, b};
    return gpuc_relay_op(c->ctx, "where", NULL, 3, args);
}

/* From 0 to a full colour; what is not a number is 0. */
static gpuc_rexpr *clamped(const conversion *c, gpuc_rexpr *x)
{
    gpuc_rexpr *positive = gpuc_relay_op2(c->ctx, "greater", NULL, x, number(c, 0));
    return gpuc_relay_op2(c->ctx, "minimum", NULL, choose(c, positive, x, number(c, 0)), number(c, c->full));
}

static gpuc_rexpr *encoded(const conversion *c, gpuc_rexpr *x)
{
    gpuc_ctx *ctx = c->ctx;
    gpuc_rexpr *dark = gpuc_relay_op2(ctx, "multiply", NULL, x, number(c, 12.92));
    gpuc_rexpr *power = gpuc_relay_op2(ctx, "power", NULL, x, number(c, 1 / 2.4));
    power = gpuc_relay_op2(ctx, "multiply", NULL, power, number(c, 1.055));
    gpuc_rexpr *light = gpuc_relay_op2(ctx, "subtract", NULL, power, number(c, 0.055));
    return choose(c, gpuc_relay_op2(ctx, "greater", NULL, x, number(c, 0.0031308)), light, dark);
}

/* [height, width, channels] in the format's order of colours. */
static gpuc_rexpr *rows(const conversion *c, gpuc_rexpr *y)
{
    gpuc_ctx *ctx = c->ctx;
    static const int64_t channels_last[] = {1, 2, 0};
    gpuc_expr channels = gpuc_int(ctx, c->place.channels);
    const gpuc_expr hwc[] = {c->place.height, c->place.width, channels},
                    chw[] = {channels, c->place.height, c->place.width};
    y = gpuc_relay_pass_reshape(ctx, y, 3, c->place.channels_last ? hwc : chw);
    return c->place.channels_last ? y : gpuc_relay_pass_transpose(ctx, y, channels_last);
}

static gpuc_rexpr *colours(const conversion *c, gpuc_rexpr *x)
{
    const gpuc_image_output *s = c->spec;
    double factor[3], term[3];
    for (int i = 0; i < c->place.channels; i++) {
        factor[i] = gpuc_image_number(s->num_scale, s->scale, i, 1) * (c->full / s->range);
        term[i] = gpuc_image_number(s->num_offset, s->offset, i, 0) * (c->full / s->range);
    }
    gpuc_image_check_scaled(c->ctx, c->what, c->place.channels, factor, term);
    x = gpuc_image_scaled(c->ctx, gpuc_relay_pass_cast(c->ctx, x, GPUC_FLOAT32), c->place.channels, factor,
                          term);
    if (c->place.channels == 3 && gpuc_image_is_bgr(s->format) != c->place.bgr)
        x = gpuc_image_channels(c->ctx, x, 2, 3, -1);
    return x;
}

static gpuc_rexpr *with_alpha(const conversion *c, gpuc_rexpr *x)
{
    gpuc_ctx *ctx = c->ctx;
    static const int64_t none[] = {0, 0, 0}, one[] = {0, 0, 1};
    double alpha = c->bytes ? rint(c->spec->alpha * 255) : c->spec->alpha;
    const gpuc_attrs *a = gpuc_attrs_ints(ctx, NULL, "pad_before", 3, none);
    a = gpuc_attrs_float(ctx, gpuc_attrs_ints(ctx, a, "pad_after", 3, one), "value", alpha);
    return gpuc_relay_op1(ctx, "nn.pad", a, c->place.channels == 1 ? gpuc_image_repeated(ctx, x, 3) : x);
}

static gpuc_rexpr *converted(const conversion *c, gpuc_rexpr *y)
{
    gpuc_ctx *ctx = c->ctx;
    gpuc_rexpr *x = colours(c, rows(c, y));
    if (c->bytes || c->spec->clamp) x = clamped(c, x);
    if (gpuc_image_is_srgb(c->spec->format))
        x = gpuc_relay_op2(ctx, "multiply", NULL, encoded(c, x), number(c, 255));
    if (c->bytes) x = gpuc_relay_op1(ctx, "round", NULL, x);
    x = gpuc_relay_pass_cast(ctx, x, gpuc_image_format_dtype(c->spec->format));
    return gpuc_image_format_channels(c->spec->format) == 1 ? x : with_alpha(c, x);
}

/* ---- The module ---- */

static int find_output(gpuc_ctx *ctx, const gpuc_rmodule *m, const char *what, const char *name)
{
    int n = gpuc_rmodule_num_outputs(m);
    const char **names = gpuc_new_array(ctx, const char *, n);
    for (int i = 0; i < n; i++) {
        names[i] = gpuc_rmodule_output_name(m, i);
        if (!strcmp(names[i], name)) return i;
    }
    const char *near = gpuc_suggest(name, names, (size_t)n);
    gpuc_raise(ctx, GPUC_NOT_FOUND, "%s: the network has no output of this name%s%s%s", what,
               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static void replace_output(gpuc_ctx *ctx, gpuc_rmodule *m, int number, gpuc_rexpr *value)
{
    const gpuc_rfunction *main = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"));
    gpuc_rexpr *body = value;
    if (main->body->type->kind == GPUC_RTYPE_TUPLE) {
        int n = main->body->type->n;
        gpuc_rexpr **fields = gpuc_new_array(ctx, gpuc_rexpr *, n);
        for (int i = 0; i < n; i++) fields[i] = i == number ? value : gpuc_relay_get(ctx, main->body, i);
        body = gpuc_relay_tuple(ctx, n, fields);
    }
    gpuc_strmap_set(&m->functions, "main",
                    gpuc_relay_function(ctx, main->n, main->params, body, main->attrs));
}

void gpuc_rmodule_image_output(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_image_output *image)
{
    if (!m || !image || image->struct_size < sizeof *image || !image->name)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "an image as an output: the module, the description or the name is NULL, or the "
                   "description did not "
                   "start from GPUC_IMAGE_OUTPUT_INIT");
    conversion c = {.ctx = ctx,
                    .spec = image,
                    .what = gpuc_ctx_printf(ctx, "output image '%s'", image->name),
                    .bytes = gpuc_image_format_dtype(image->format).bits == 8};
    if (!gpuc_as_rfunction(gpuc_rmodule_get(m, "main"))->body->type) gpuc_relay_infer_module(ctx, m);
    int number = find_output(ctx, m, c.what, image->name);
    gpuc_image_check_new(ctx, &m->output_images, c.what, image->name, image->format);
    gpuc_rexpr *body = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"))->body;
    gpuc_rexpr *y = body->type->kind == GPUC_RTYPE_TUPLE ? gpuc_relay_get(ctx, body, number) : body;
    c.place = gpuc_image_place_of(ctx, c.what, y->type, image->layout, image->order);
    check(&c);
    c.full = c.bytes && !gpuc_image_is_srgb(image->format) ? 255 : 1;
    uint32_t first_id = ctx->next_id;
    gpuc_rexpr *value = converted(&c, y);
    gpuc_relay_mark_source(ctx, value, first_id, image->name);
    replace_output(ctx, m, number, value);
    gpuc_image_set(&m->output_images, image->name, image->format);
}
