/* SPDX-License-Identifier: Apache-2.0 */
/* Computes operators on images in the layouts that the option `layouts` asks for, "nn.conv2d=NHWC, nn.max_pool2d=NCHW"; a
 * second layout, "NHWC OIHW", is that of weights, of which there is one. What is behind them follows. The option `skip` has
 * numbers of calls that stay, in the order of the program. */
#include <string.h>

#include "op/takes.h"
#include "relay_pass/common/layout.h"

typedef struct converter {
    gpuc_ctx *ctx;
    gpuc_strmap wanted;    /* operator -> "NCHW" or "NHWC" */
    bool sinks[2];         /* some are computed with channels first, last */
    const gpuc_attr *skip; /* numbers of calls that stay, of those whose layouts are asked for */
    int64_t calls;         /* how many there were */
} converter;

/* Takes the next word of the text. */
static const char *word(converter *k, const char **at)
{
    *at += strspn(*at, " ");
    size_t n = strcspn(*at, " ,=");
    const char *out = gpuc_ctx_printf(k->ctx, "%.*s", (int)n, *at);
    *at += n;
    *at += strspn(*at, " ");
    return out;
}

/* Has a number for each dimension instead of a layout. */
static const char by_dimensions[] = "image.resize";

/* Whether the layout is an attribute of the row: other rows take the name of their only one. */
static bool has_layouts(const gpuc_op *op)
{
    if (!strcmp(op->name, by_dimensions)) return true;
    for (const gpuc_attr_spec *a = op->attrs; a && a->name; a++)
        if (!strcmp(a->name, "data_layout") && !a->take) return true;
    return false;
}

/* The layout in which the row has its weights; that of calls is another spelling of it. */
static const char *weights_of(const gpuc_op *op)
{
    for (const gpuc_attr_spec *a = op->attrs; a->name; a++)
        if (!strcmp(a->name, "kernel_layout") && a->take == gpuc_op_take_order) return a->to + 2;
    return "OIHW";
}

static void want(converter *k, const char *name, const char *layout, const char *weights)
{
    const gpuc_op *op = gpuc_op_lookup(k->ctx, name);
    if (!op) gpuc_raise(k->ctx, GPUC_INVALID_ARGUMENT, "convert_layout: there is no operator '%s'", name);
    if (!has_layouts(op))
        gpuc_raise(k->ctx, GPUC_INVALID_ARGUMENT, "convert_layout: %s has one layout only", name);
    if (strcmp(layout, "NCHW") && strcmp(layout, "NHWC") && strcmp(layout, "default"))
        gpuc_raise(k->ctx, GPUC_INVALID_ARGUMENT,
                   "convert_layout: the layout of %s is '%s'; known are NCHW, NHWC and default", name,
                   layout);
    if (*weights && strcmp(weights, weights_of(op)) && strcmp(weights, "default"))
        gpuc_raise(k->ctx, GPUC_INVALID_ARGUMENT,
                   "convert_layout: the layout of weights of %s is '%s'; known are %s and default", name,
                   weights, weights_of(op));
    if (!strcmp(layout, "default")) return;
    gpuc_strmap_set(&k->wanted, op->name, gpuc_ctx_strdup(k->ctx, layout));
    k->sinks[!strcmp(layout, "NHWC")] = true;
}

static void read_layouts(converter *k, const char *text)
{
    for (const char *at = text; *at;) {
        const char *name = word(k, &at);
        if (*at != '=')
            gpuc_raise(k->ctx, GPUC_INVALID_ARGUMENT,
                       "convert_layout: layouts are written as in \"nn.conv2d=NHWC, nn.max_pool2d=NHWC\", "
                       "not \"%s\"",
                       text);
        at++;
        const char *layout = word(k, &at), *weights = word(k, &at);
        if (*at && *at != ',')
            gpuc_raise(k->ctx, GPUC_INVALID_ARGUMENT, "convert_layout: a ',' is expected before \"%s\"", at);
        at += *at == ',';
        want(k, name, layout, weights);
    }
}

static bool is_skipped(const converter *k, int64_t number)
{
    for (int i = 0; k->skip && i < k->skip->n; i++)
        if (k->skip->ints[i] == number) return true;
    return false;
}

/* Whether an axis stays as it is. */
static bool stays(const gpuc_rcall *c, int axis)
{
    const gpuc_attr *sizes = gpuc_attrs_find(c->attrs, "sizes"),
                    *scales = gpuc_attrs_find(c->attrs, "scales");
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(c->args[0]);
    int64_t from, to = sizes->ints[axis];
    if (scales->n > axis && scales->floats[axis] != 1) return false;
    return gpuc_expr_is_int(t->dims[axis], &from) && from == to;
}

/* A resize has the layout whose channels it leaves. */
static gpuc_rexpr *resized(converter *k, gpuc_rexpr *e, bool last)
{
    gpuc_ctx *ctx = k->ctx;
    const gpuc_rcall *c = gpuc_as_rcall(e);
    int ndim = gpuc_relay_tensor_type(c->args[0])->ndim;
    if (ndim < 3 || ndim > GPUC_RELAY_PASS_IMAGE_RANK) return NULL;
    if (!stays(c, last ? 1 : ndim - 1) || stays(c, last ? ndim - 1 : 1)) return NULL;
    gpuc_rexpr **args = gpuc_ctx_memdup(ctx, c->args, sizeof *args * (size_t)c->n);
    args[0] = gpuc_relay_pass_outside(ctx, last, gpuc_relay_pass_into(ctx, last, args[0]));
    return gpuc_relay_pass_sink(ctx, last, gpuc_relay_op(ctx, by_dimensions, c->attrs, c->n, args));
}

/* Whether argument i has the layout, as argument 0 has it. */
static bool is_image(const char *op, int i)
{
    return i == 0 || (!strcmp(op, "nn.deformable_conv") && i > 1); /* offsets and mask */
}

/* The operator itself; NULL: it is as it should be. */
static gpuc_rexpr *converted(converter *k, gpuc_rexpr *e)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    const char *name = gpuc_relay_call_op(e)->name, *layout = gpuc_strmap_get(&k->wanted, name);
    const char *kernel = gpuc_attrs_get_string(c->attrs, "kernel_layout", "OIHW");
    if (layout && is_skipped(k, k->calls++)) return NULL;
    if (layout && !strcmp(name, by_dimensions)) return resized(k, e, !strcmp(layout, "NHWC"));
    if (!layout || !strcmp(layout, gpuc_attrs_get_string(c->attrs, "data_layout", ""))) return NULL;
    int ndim = gpuc_relay_tensor_type(c->args[0])->ndim;
    if (gpuc_relay_pass_channel_of(c) < 0 || ndim > GPUC_RELAY_PASS_IMAGE_RANK || strcmp(kernel, "OIHW"))
        return NULL;
    bool last = !strcmp(layout, "NHWC");
    gpuc_rexpr **args = gpuc_ctx_memdup(k->ctx, c->args, sizeof *args * (size_t)c->n);
    for (int i = 0; i < c->n; i++)
        if (is_image(name, i)) args[i] = gpuc_relay_pass_into(k->ctx, last, args[i]);
    const gpuc_attrs *attrs = gpuc_attrs_string(k->ctx, c->attrs, "data_layout", layout);
    return gpuc_relay_pass_outside(k->ctx, last, gpuc_relay_op(k->ctx, name, attrs, c->n, args));
}

static gpuc_rexpr *convert(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    (void)old;
    converter *k = arg;
    if (!gpuc_relay_call_op(e) || gpuc_as_rcall(e)->n == 0) return e;
    gpuc_rexpr *out = e->type->kind == GPUC_RTYPE_TENSOR ? converted(k, e) : NULL;
    bool stays = gpuc_strmap_has(&k->wanted, gpuc_relay_call_op(e)->name);
    for (int last = 0; last < 2 && !stays; last++)
        if (!out && k->sinks[last]) out = gpuc_relay_pass_sink(ctx, last, e);
    return out ? out : e;
}

void gpuc_relay_pass_convert_layout(gpuc_relay_pass_ctx *p)
{
    converter k = {.ctx = p->ctx};
    gpuc_strmap_init(&k.wanted, p->ctx);
    k.skip = gpuc_attrs_find(p->options, "skip");
    read_layouts(&k, gpuc_attrs_get_string(p->options, "layouts", ""));
    gpuc_relay_pass_rewrite_module(p, convert, &k);
    gpuc_relay_pass_tidy_transposes(p);
}
