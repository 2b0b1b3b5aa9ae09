/* SPDX-License-Identifier: Apache-2.0 */
/* Parses layout texts such as "BA32b": the order of axes, of which some are split. */
#include <ctype.h>
#include <stdlib.h>

#include "te/te.h"

typedef struct reader {
    gpuc_ctx *ctx;
    const char *text;
    gpuc_te_layout *layout;
    int ndim;
} reader;

static GPUC_NORETURN void wrong(const reader *r, const char *what, char letter)
{
    gpuc_raise(r->ctx, GPUC_INVALID_ARGUMENT,
               "layout '%s': %s '%c'; wanted is each of the %d axes as a capital letter from A on, and for a "
               "split axis a factor before the small letter, as in BA32b",
               r->text, what, letter, r->ndim);
}

static gpuc_te_layout_dim *find(const reader *r, int axis, bool inner)
{
    for (int i = 0; i < r->layout->n; i++)
        if (r->layout->dims[i].axis == axis && r->layout->dims[i].inner == inner) return &r->layout->dims[i];
    return NULL;
}

const gpuc_te_layout *gpuc_te_layout_parse(gpuc_ctx *ctx, const char *text, int ndim)
{
    gpuc_te_layout *layout = gpuc_new(ctx, gpuc_te_layout);
    reader r = {.ctx = ctx, .text = text, .layout = layout, .ndim = ndim};
    layout->dims = gpuc_new_array(ctx, gpuc_te_layout_dim, 2 * ndim + 1);
    for (const char *c = text; *c; c++) {
        gpuc_te_layout_dim dim = {0};
        if (isdigit((unsigned char)*c)) {
            char *end;
            dim.factor = strtol(c, &end, 10);
            c = end;
            dim.inner = true;
        }
        dim.axis = *c - (dim.inner ? 'a' : 'A');
        if (dim.axis < 0 || dim.axis >= ndim) wrong(&r, "no axis", *c ? *c : '?');
        if (dim.inner && (dim.factor < 1 || dim.factor > 1 << 20)) wrong(&r, "a bad factor of", *c);
        if (find(&r, dim.axis, dim.inner)) wrong(&r, "twice", *c);
        layout->dims[layout->n++] = dim;
    }
    for (int i = 0; i < ndim; i++) {
        gpuc_te_layout_dim *outer = find(&r, i, false);
        const gpuc_te_layout_dim *inner = find(&r, i, true);
        if (!outer) wrong(&r, "no axis", (char)('A' + i));
        if (inner) outer->factor = inner->factor;
    }
    return layout;
}

const char *gpuc_te_layout_text(gpuc_ctx *ctx, const gpuc_te_layout *layout)
{
    const char *text = "";
    for (int i = 0; i < layout->n; i++) {
        const gpuc_te_layout_dim *d = &layout->dims[i];
        text = d->inner ? gpuc_ctx_printf(ctx, "%s%lld%c", text, (long long)d->factor, 'a' + d->axis)
                        : gpuc_ctx_printf(ctx, "%s%c", text, 'A' + d->axis);
    }
    return text;
}

void gpuc_te_layout_shape(gpuc_ctx *ctx, const gpuc_te_layout *layout, const gpuc_expr *shape, gpuc_expr *out)
{
    for (int i = 0; i < layout->n; i++) {
        const gpuc_te_layout_dim *d = &layout->dims[i];
        gpuc_expr extent = shape[d->axis], factor = gpuc_int(ctx, d->factor);
        if (d->inner)
            extent = factor;
        else if (d->factor)
            extent = gpuc_floordiv_(ctx, gpuc_add(ctx, extent, gpuc_int(ctx, d->factor - 1)), factor);
        out[i] = extent;
    }
}

void gpuc_te_layout_index(gpuc_ctx *ctx, const gpuc_te_layout *layout, const gpuc_expr *index, gpuc_expr *out)
{
    for (int i = 0; i < layout->n; i++) {
        const gpuc_te_layout_dim *d = &layout->dims[i];
        gpuc_expr at = index[d->axis], factor = gpuc_int(ctx, d->factor);
        if (d->inner)
            at = gpuc_floormod_(ctx, at, factor);
        else if (d->factor)
            at = gpuc_floordiv_(ctx, at, factor);
        out[i] = at;
    }
}
