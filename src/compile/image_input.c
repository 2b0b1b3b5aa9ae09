/* SPDX-License-Identifier: Apache-2.0 */
/* Images as inputs: operators in front of the graph make of the pixels what the network takes. */
#include <math.h>
#include <string.h>

#include "compile/image.h"
#include "relay_pass/common/util.h"
#include "tir/tir.h"

/* Of an image whose size is open: positions of resizing then fit 32 bits, for networks of up to 16 thousand rows and
 * columns. */
#define MAX_EXTENT 32768

typedef struct conversion {
    gpuc_ctx *ctx;
    gpuc_rmodule *module;
    const gpuc_image_input *spec;
    const char *what; /* "input image 'x'" */
    gpuc_dtype dtype; /* of the network */
    gpuc_image_place place;
    bool open;                             /* the image has the network's own, open size */
    int64_t network_width, network_height; /* else */
} conversion;

#define FAIL(c, ...) gpuc_raise((c)->ctx, GPUC_INVALID_ARGUMENT, __VA_ARGS__)

/* ---- What the description says ---- */

static void check_size(const conversion *c)
{
    const gpuc_image_input *s = c->spec;
    bool rect = s->crop == GPUC_IMAGE_CROP_RECT, sized = s->width || s->height;
    if ((unsigned)s->crop > GPUC_IMAGE_CROP_CENTER)
        FAIL(c, "%s: crop %d does not exist", c->what, (int)s->crop);
    if (sized && (s->width <= 0 || s->height <= 0 || s->width > INT32_MAX || s->height > INT32_MAX))
        FAIL(c, "%s: its size of %lld x %lld is impossible", c->what, (long long)s->width,
             (long long)s->height);
    if (c->open && (sized || s->crop != GPUC_IMAGE_CROP_NONE))
        FAIL(c,
             "%s: the network's own size is open, so the image has the size of the network; fix it with "
             "--shape to resize or crop",
             c->what);
    if (!rect) return;
    if (s->crop_x < 0 || s->crop_y < 0 || s->crop_width <= 0 || s->crop_height <= 0 ||
        s->crop_x > INT32_MAX || s->crop_y > INT32_MAX || s->crop_width > INT32_MAX ||
        s->crop_height > INT32_MAX)
        FAIL(c, "%s: the part %lldx%lld+%lld+%lld is impossible", c->what, (long long)s->crop_width,
             (long long)s->crop_height, (long long)s->crop_x, (long long)s->crop_y);
    if (sized && (s->crop_x + s->crop_width > s->width || s->crop_y + s->crop_height > s->height))
        FAIL(c, "%s: the part %lldx%lld+%lld+%lld does not lie inside of %lld x %lld pixels", c->what,
             (long long)s->crop_width, (long long)s->crop_height, (long long)s->crop_x, (long long)s->crop_y,
             (long long)s->width, (long long)s->height);
}

static void check(const conversion *c)
{
    const gpuc_image_input *s = c->spec;
    char dtype[24];
    bool small = c->dtype.code <= GPUC_DTYPE_UINT && c->dtype.bits <= 16;
    if (!gpuc_dtype_is_float(c->dtype) && !small)
        FAIL(c, "%s: the network's elements are %s; an image gives floats and integers of 8 or 16 bits",
             c->what, gpuc_dtype_name(c->dtype, dtype));
    if (!isfinite(s->range) || s->range <= 0)
        FAIL(c, "%s: range is %g, which is not above 0", c->what, s->range);
    gpuc_image_check_list(c->ctx, c->what, "mean", s->num_mean, s->mean, c->place.channels);
    gpuc_image_check_list(c->ctx, c->what, "scale", s->num_scale, s->scale, c->place.channels);
    check_size(c);
}

/* ---- Crop ---- */

static void require(const conversion *c, gpuc_expr cond, const char *text)
{
    gpuc_op_condition *condition = gpuc_new(c->ctx, gpuc_op_condition);
    *condition = (gpuc_op_condition){.cond = cond, .text = text};
    gpuc_ptrs_push(c->ctx, &c->module->conditions, condition);
}

/* Rows or columns of the image that are taken. */
typedef struct span {
    gpuc_expr begin, size;
} span;

static span rect(const conversion *c, gpuc_expr extent, int64_t begin, int64_t size)
{
    gpuc_ctx *ctx = c->ctx;
    const gpuc_image_input *s = c->spec;
    int64_t known;
    if (!gpuc_expr_is_int(extent, &known))
        require(c, gpuc_ge(ctx, extent, gpuc_int(ctx, begin + size)),
                gpuc_ctx_printf(ctx, "%s is smaller than the part of it that is taken, %lldx%lld+%lld+%lld",
                                c->what, (long long)s->crop_width, (long long)s->crop_height,
                                (long long)s->crop_x, (long long)s->crop_y));
    return (span){gpuc_int(ctx, begin), gpuc_int(ctx, size)};
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The middle of an extent, as large as the other one times p / q allows. */
static span middle(const conversion *c, gpuc_expr extent, gpuc_expr other, int64_t p, int64_t q)
{
    gpuc_ctx *ctx = c->ctx;
    int64_t by = common_divisor(p, q);
    gpuc_expr want = gpuc_floordiv_(ctx, gpuc_mul(ctx, other, gpuc_int(ctx, p / by)), gpuc_int(ctx, q / by));
    gpuc_expr size = gpuc_min(ctx, extent, gpuc_max(ctx, want, gpuc_int(ctx, 1)));
    return (span){gpuc_floordiv_(ctx, gpuc_sub(ctx, extent, size), gpuc_int(ctx, 2)), size};
}

static gpuc_expr bounded(const conversion *c, gpuc_expr extent, const char *name)
{
    gpuc_expr max = gpuc_int(c->ctx, MAX_EXTENT);
    int64_t known;
    if (c->open || gpuc_expr_is_int(extent, &known)) return extent;
    require(c, gpuc_le(c->ctx, extent, max),
            gpuc_ctx_printf(c->ctx, "%s: its %s is more than %d pixels", c->what, name, MAX_EXTENT));
    return gpuc_min(c->ctx, extent, max);
}

/* The part of the image, and of its channels those that count, in the network's order. */
static gpuc_rexpr *part(const conversion *c, gpuc_rexpr *image)
{
    gpuc_ctx *ctx = c->ctx;
    const gpuc_image_input *s = c->spec;
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(image);
    span rows = {gpuc_int(ctx, 0), t->dims[0]}, columns = {gpuc_int(ctx, 0), t->dims[1]};
    if (s->crop == GPUC_IMAGE_CROP_RECT) {
        rows = rect(c, t->dims[0], s->crop_y, s->crop_height);
        columns = rect(c, t->dims[1], s->crop_x, s->crop_width);
    } else {
        gpuc_expr height = bounded(c, t->dims[0], "height"), width = bounded(c, t->dims[1], "width");
        rows.size = height;
        columns.size = width;
        if (s->crop == GPUC_IMAGE_CROP_CENTER) {
            rows = middle(c, height, width, c->network_height, c->network_width);
            columns = middle(c, width, height, c->network_width, c->network_height);
        }
    }
    int have = gpuc_image_format_channels(s->format), count = have == 1 ? 1 : 3;
    bool turns = count == 3 && gpuc_image_is_bgr(s->format) != c->place.bgr;
    if (have == count && rows.size == t->dims[0] && columns.size == t->dims[1]) return image;
    const gpuc_expr begin[] = {rows.begin, columns.begin, gpuc_int(ctx, turns ? 2 : 0)};
    const gpuc_expr sizes[] = {rows.size, columns.size, gpuc_int(ctx, count)};
    const int64_t strides[] = {1, 1, turns ? -1 : 1};
    const gpuc_attrs *a = gpuc_attrs_sizes(ctx, NULL, "begin", 3, begin);
    a = gpuc_attrs_ints(ctx, gpuc_attrs_sizes(ctx, a, "sizes", 3, sizes), "strides", 3, strides);
    return gpuc_relay_op1(ctx, "strided_slice", a, image);
}

/* ---- Colours ---- */

/* Decodes by a table of 256 numbers: the same on every target. */
static gpuc_rexpr *decoded(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    float table[256];
    const int64_t n = 256;
    for (int i = 0; i < 256; i++) {
        double v = i / 255.0;
        table[i] = (float)(v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
    }
    gpuc_rexpr *values = gpuc_relay_const_bytes(ctx, GPUC_FLOAT32, 1, &n, table);
    return gpuc_relay_op2(ctx, "take", gpuc_attrs_string(ctx, NULL, "mode", "fast"), values,
                          gpuc_relay_pass_cast(ctx, x, GPUC_INT32));
}

static gpuc_rexpr *resized(const conversion *c, gpuc_rexpr *x)
{
    gpuc_ctx *ctx = c->ctx;
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(x);
    if (t->dims[0] == c->place.height && t->dims[1] == c->place.width) return x;
    const gpuc_expr sizes[] = {c->place.height, c->place.width, t->dims[2]};
    const double scales[] = {0, 0, 1};
    const gpuc_attrs *a = gpuc_attrs_sizes(ctx, NULL, "sizes", 3, sizes);
    a = gpuc_attrs_floats(ctx, a, "scales", 3, scales);
    a = gpuc_attrs_string(ctx, a, "method", c->spec->nearest ? "nearest" : "linear");
    a = gpuc_attrs_string(ctx, a, "coordinate", "half_pixel");
    a = gpuc_attrs_string(ctx, a, "rounding", "round_prefer_floor");
    return gpuc_relay_op1(ctx, "image.resize", a, x);
}

/* 0.299 red + 0.587 green + 0.114 blue; red comes first in what part() gives here. */
static gpuc_rexpr *grey(gpuc_ctx *ctx, gpuc_rexpr *x)
{
    static const double weights[] = {0.299, 0.587, 0.114}, zero[] = {0};
    gpuc_rexpr *sum = NULL;
    for (int i = 0; i < 3; i++) {
        gpuc_rexpr *v = gpuc_image_scaled(ctx, gpuc_image_channels(ctx, x, i, 1, 1), 1, &weights[i], zero);
        sum = sum ? gpuc_relay_op2(ctx, "add", NULL, sum, v) : v;
    }
    return sum;
}

/* (c * range - mean) * scale, as one product and one sum. */
static gpuc_rexpr *normalized(const conversion *c, gpuc_rexpr *x)
{
    const gpuc_image_input *s = c->spec;
    double factor[3], term[3], unit = s->range;
    bool bytes = gpuc_image_format_dtype(s->format).bits == 8;
    if (bytes && !gpuc_image_is_srgb(s->format)) unit /= 255;
    for (int i = 0; i < c->place.channels; i++) {
        double scale = gpuc_image_number(s->num_scale, s->scale, i, 1);
        factor[i] = unit * scale;
        term[i] = -gpuc_image_number(s->num_mean, s->mean, i, 0) * scale;
    }
    gpuc_image_check_scaled(c->ctx, c->what, c->place.channels, factor, term);
    return gpuc_image_scaled(c->ctx, x, c->place.channels, factor, term);
}

static gpuc_rexpr *as_network_type(const conversion *c, gpuc_rexpr *x)
{
    gpuc_ctx *ctx = c->ctx;
    if (gpuc_dtype_is_float(c->dtype)) return gpuc_relay_pass_cast(ctx, x, c->dtype);
    bool is_signed = c->dtype.code == GPUC_DTYPE_INT;
    double count = (double)((int64_t)1 << c->dtype.bits), min = is_signed ? -count / 2 : 0;
    const gpuc_attrs *a = gpuc_attrs_float(ctx, NULL, "a_min", min);
    x = gpuc_relay_op1(ctx, "round", NULL, x);
    x = gpuc_relay_op1(ctx, "clip", gpuc_attrs_float(ctx, a, "a_max", min + count - 1), x);
    return gpuc_relay_pass_cast(ctx, x, c->dtype);
}

static gpuc_rexpr *converted(const conversion *c, gpuc_rexpr *image, const gpuc_tensor_type *to)
{
    gpuc_ctx *ctx = c->ctx;
    static const int64_t channels_first[] = {2, 0, 1};
    gpuc_rexpr *x = part(c, image);
    x = gpuc_image_is_srgb(c->spec->format) ? decoded(ctx, x) : gpuc_relay_pass_cast(ctx, x, GPUC_FLOAT32);
    x = resized(c, x);
    bool colours = gpuc_image_format_channels(c->spec->format) > 1;
    if (colours && c->place.channels == 1) x = grey(ctx, x);
    if (!colours) x = gpuc_image_repeated(ctx, x, c->place.channels);
    x = as_network_type(c, normalized(c, x));
    if (!c->place.channels_last) x = gpuc_relay_pass_transpose(ctx, x, channels_first);
    return gpuc_relay_pass_reshape(ctx, x, to->ndim, to->dims);
}

/* ---- The module ---- */

static const gpuc_rtype *image_type(const conversion *c)
{
    gpuc_ctx *ctx = c->ctx;
    const gpuc_image_input *s = c->spec;
    gpuc_expr dims[] = {c->place.height, c->place.width,
                        gpuc_int(ctx, gpuc_image_format_channels(s->format))};
    if (s->width) {
        dims[0] = gpuc_int(ctx, s->height);
        dims[1] = gpuc_int(ctx, s->width);
    } else if (!c->open) {
        dims[0] = gpuc_var(ctx, gpuc_ctx_printf(ctx, "%s.height", s->name), GPUC_INDEX);
        dims[1] = gpuc_var(ctx, gpuc_ctx_printf(ctx, "%s.width", s->name), GPUC_INDEX);
    }
    return gpuc_relay_rtype_tensor(ctx, gpuc_image_format_dtype(s->format), 3, dims);
}

typedef struct replacement {
    gpuc_rexpr *old, *new;
} replacement;

static gpuc_rexpr *replace(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *rebuilt, void *arg)
{
    const replacement *r = arg;
    (void)ctx;
    return old == r->old ? r->new : rebuilt;
}

static int find_parameter(gpuc_ctx *ctx, const gpuc_rfunction *main, const char *what, const char *name)
{
    const char **names = gpuc_new_array(ctx, const char *, main->n + 1);
    for (int i = 0; i < main->n; i++) {
        names[i] = gpuc_as_rvar(main->params[i])->name;
        if (!strcmp(names[i], name)) return i;
    }
    const char *near = gpuc_suggest(name, names, (size_t)main->n);
    gpuc_raise(ctx, GPUC_NOT_FOUND, "%s: the network has no input of this name%s%s%s", what,
               near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static void replace_parameter(conversion *c, const gpuc_rfunction *main, int number, gpuc_rexpr *image,
                              gpuc_rexpr *value)
{
    gpuc_ctx *ctx = c->ctx;
    replacement r = {main->params[number], value};
    gpuc_rexpr **params = gpuc_new_array(ctx, gpuc_rexpr *, main->n);
    for (int i = 0; i < main->n; i++) params[i] = i == number ? image : main->params[i];
    gpuc_rexpr *body = gpuc_relay_rewrite(ctx, main->body, replace, &r);
    gpuc_strmap_set(&c->module->functions, "main",
                    gpuc_relay_function(ctx, main->n, params, body, main->attrs));
}

void gpuc_rmodule_image_input(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_image_input *image)
{
    if (!m || !image || image->struct_size < sizeof *image || !image->name)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                   "an image as an input: the module, the description or the name is NULL, or the "
                   "description did not "
                   "start from GPUC_IMAGE_INPUT_INIT");
    conversion c = {.ctx = ctx,
                    .module = m,
                    .spec = image,
                    .what = gpuc_ctx_printf(ctx, "input image '%s'", image->name)};
    const gpuc_rfunction *main = gpuc_as_rfunction(gpuc_rmodule_get(m, "main"));
    int number = find_parameter(ctx, main, c.what, image->name);
    gpuc_image_check_new(ctx, &m->input_images, c.what, image->name, image->format);
    if (gpuc_strmap_has(&m->defaults, image->name))
        FAIL(&c, "%s: the model has a default value for this input", c.what);
    c.place = gpuc_image_place_of(ctx, c.what, main->params[number]->type, image->layout, image->order);
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(main->params[number]);
    c.dtype = t->dtype;
    c.open = !gpuc_expr_is_int(c.place.height, &c.network_height) ||
             !gpuc_expr_is_int(c.place.width, &c.network_width);
    check(&c);
    if (!c.open && (c.network_height == 0 || c.network_width == 0))
        FAIL(&c, "%s: the network takes no pixels", c.what);
    uint32_t first_id = ctx->next_id;
    gpuc_rexpr *var = gpuc_relay_var(ctx, image->name, image_type(&c));
    gpuc_rexpr *value = converted(&c, var, t);
    gpuc_relay_mark_source(ctx, value, first_id, image->name);
    replace_parameter(&c, main, number, var, value);
    gpuc_image_set(&m->input_images, image->name, image->format);
}
