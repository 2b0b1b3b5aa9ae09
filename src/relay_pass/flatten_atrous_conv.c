/* SPDX-License-Identifier: Apache-2.0 */
/* space_to_batch_nd, a convolution of the phases, batch_to_space_nd: one convolution with dilation, which is how
 * frameworks without it write it. Phase r of x is x[i * b + r]; output i * b + r sums x[i * b + r + k * d * b]. */
#include <string.h>

#include "relay_pass/common/layout.h"
#include "relay_pass/common/util.h"

typedef struct atrous {
    const gpuc_rcall *out, *conv, *in; /* batch_to_space_nd of conv of space_to_batch_nd */
    int ndim, channel;
    int64_t dilation[GPUC_OP_MAX_DIMS], padding[2 * GPUC_OP_MAX_DIMS];
} atrous;

static int64_t entry(const gpuc_attr *a, int i, int64_t otherwise)
{
    return i >= 0 && i < a->n ? a->ints[i] : otherwise;
}

/* What a dimension of x is dilated and padded by. Dimension i of the tensor is entry i - 1 of the lists of blocks. */
static bool add_axis(atrous *a, int i, int k)
{
    const gpuc_attr *block = gpuc_attrs_find(a->in->attrs, "block_shape"),
                    *back = gpuc_attrs_find(a->out->attrs, "block_shape"),
                    *before = gpuc_attrs_find(a->in->attrs, "pad_before"),
                    *after = gpuc_attrs_find(a->in->attrs, "pad_after"),
                    *begin = gpuc_attrs_find(a->out->attrs, "crop_begin"),
                    *end = gpuc_attrs_find(a->out->attrs, "crop_end");
    int64_t b = entry(block, i - 1, 1), first = entry(before, i - 1, 0) - entry(begin, i - 1, 0),
            last = entry(after, i - 1, 0) - entry(end, i - 1, 0);
    int space = a->ndim - 2;
    if (b != entry(back, i - 1, 1)) return false;
    if (i == a->channel)
        return b == 1 && !entry(before, i - 1, 0) && !entry(after, i - 1, 0) && !first && !last;
    const gpuc_attrs *c = a->conv->attrs;
    const gpuc_attr *own = gpuc_attrs_find(c, "padding");
    if (gpuc_attrs_find(c, "strides")->ints[k] != 1) return false;
    a->dilation[k] = gpuc_attrs_find(c, "dilation")->ints[k] * b;
    a->padding[k] = own->ints[k] * b + first;
    a->padding[space + k] = own->ints[space + k] * b + last;
    return a->padding[k] >= 0 && a->padding[space + k] >= 0 && a->dilation[k] <= GPUC_OP_MAX_WINDOW &&
           a->padding[k] <= GPUC_OP_MAX_WINDOW && a->padding[space + k] <= GPUC_OP_MAX_WINDOW;
}

static bool find(gpuc_rexpr *e, const gpuc_map *uses, atrous *a)
{
    static const char *const lists[] = {"block_shape", "pad_before", "pad_after"};
    if (!gpuc_relay_is_op(e, "nn.batch_to_space_nd")) return false;
    a->out = gpuc_as_rcall(e);
    gpuc_rexpr *conv = a->out->args[0];
    if (!gpuc_relay_pass_is_conv(conv) || gpuc_relay_uses(uses, conv) > 1) return false;
    a->conv = gpuc_as_rcall(conv);
    if (!gpuc_relay_is_op(a->conv->args[0], "nn.space_to_batch_nd")) return false;
    a->in = gpuc_as_rcall(a->conv->args[0]);
    a->ndim = gpuc_relay_tensor_type(conv)->ndim;
    a->channel = gpuc_relay_pass_channel_of(a->conv);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (gpuc_attrs_find(a->in->attrs, lists[i])->sizes) return false;
    if (a->channel < 0 || gpuc_attrs_get_float(a->in->attrs, "pad_value", 0) != 0) return false;
    for (int i = 1, k = 0; i < a->ndim; k += i++ != a->channel)
        if (!add_axis(a, i, k)) return false;
    return true;
}

static gpuc_rexpr *flatten(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *arg)
{
    gpuc_map *uses = arg;
    atrous a = {0};
    gpuc_rexpr *out = e;
    if (find(e, uses, &a)) {
        int space = a.ndim - 2;
        const gpuc_attrs *attrs = gpuc_attrs_ints(ctx, a.conv->attrs, "dilation", space, a.dilation);
        attrs = gpuc_attrs_ints(ctx, attrs, "padding", 2 * space, a.padding);
        gpuc_rexpr **args = gpuc_ctx_memdup(ctx, a.conv->args, sizeof *args * (size_t)a.conv->n);
        args[0] = a.in->args[0];
        out = gpuc_relay_op(ctx, gpuc_relay_call_op(&a.conv->base)->name, attrs, a.conv->n, args);
        if (!gpuc_relay_rtype_equal(out->type, e->type)) out = e;
    }
    if (out != old) gpuc_map_set(uses, out, (void *)gpuc_relay_uses(uses, old));
    return out;
}

void gpuc_relay_pass_flatten_atrous_conv(gpuc_relay_pass_ctx *p)
{
    gpuc_map *functions = &p->module->functions.map, uses;
    gpuc_map_init(&uses, p->ctx);
    for (uint32_t i = 0; i < functions->count; i++)
        gpuc_relay_pass_add_uses(p->ctx, functions->entries[i].value, &uses);
    gpuc_relay_pass_rewrite_module(p, flatten, &uses);
}
