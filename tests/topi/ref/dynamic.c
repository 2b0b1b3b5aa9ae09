/* SPDX-License-Identifier: Apache-2.0 */
/* Operators whose extents are tensors, by the references of those that have them as attributes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ref.h"

typedef struct row {
    const char *op, *of, *attr;
    int input, num_inputs; /* of extents */
} row;

static const row rows[] = {
    {"dyn.reshape", "reshape", "newshape", 1, 1},
    {"dyn.tile", "tile", "reps", 1, 1},
    {"dyn.broadcast_to", "broadcast_to", "shape", 1, 1},
    {"dyn.squeeze", "squeeze", "axis", 1, 1},
    {"dyn.expand_dims", "expand_dims", NULL, 1, 1},
    {"dyn.zeros", "zeros", "shape", 0, 1},
    {"dyn.ones", "ones", "shape", 0, 1},
    {"dyn.full", "full", "shape", 1, 1},
    {"dyn.topk", "topk", "k", 1, 1},
    {"dyn.one_hot", "one_hot", "depth", 3, 1},
    {"dyn.nn.pad", "nn.pad", NULL, 1, 1},
    {"dyn.sparse_to_dense", "sparse_to_dense", "output_shape", 3, 1},
    {"dyn.image.resize2d", "image.resize", NULL, 1, 2},
    {"dyn.nn.upsampling", "image.resize", NULL, 1, 2},
    {"dyn.nn.upsampling3d", "image.resize", NULL, 1, 3},
};

static void add(char *text, const char *format, double v)
{
    sprintf(text + strlen(text), format, v);
}

static void add_pads(char *text, const ref_tensor *widths)
{
    for (int side = 0; side < 2; side++) {
        strcat(text, side ? "] pad_after=[" : " pad_before=[");
        for (int64_t i = side; i < widths->count; i += 2) add(text, i > 1 ? ", %.0f" : "%.0f", widths->v[i]);
    }
    strcat(text, "]");
}

static void add_new_axes(char *text, const ref_call *c, double axis)
{
    if (axis < 0) axis += c->in[0].ndim + 1;
    strcat(text, " axis=[");
    for (int64_t i = 0; i < ref_int(c, "num_newaxis", 1); i++)
        add(text, i ? ", %.0f" : "%.0f", axis + (double)i);
    strcat(text, "]");
}

/* Extents of the spatial dimensions, or the scales of one after the other. */
static double resized(const ref_call *c, const row *r, int i, bool last, bool scales)
{
    const ref_tensor *x = &c->in[0];
    int k = i - (last ? 1 : 2);
    if (k < 0 || k >= x->ndim - 2) return (double)x->dims[i];
    return scales ? round((double)x->dims[i] * c->in[r->input + k].v[0]) : c->in[r->input].v[k];
}

static void add_resize(char *text, const ref_call *c, const row *r)
{
    char layout[16], method[32];
    const ref_tensor *x = &c->in[0];
    strcpy(layout, ref_string(c, "layout", "NCHW"));
    bool scales = strncmp(c->op, "dyn.nn.", 7) == 0, last = layout[1] != 'C';
    strcpy(method, ref_string(c, "method", scales ? "nearest_neighbor" : "linear"));
    strcat(text, " scales=[");
    for (int i = 0; i < x->ndim; i++)
        add(text, i ? ", %.17g" : "%.17g", resized(c, r, i, last, scales) / (double)x->dims[i]);
    strcat(text, "] sizes=[");
    for (int i = 0; i < x->ndim; i++) add(text, i ? ", %.0f" : "%.0f", resized(c, r, i, last, scales));
    sprintf(text + strlen(text), "] method=\"%s\" coordinate=\"%s\" rounding=\"%s\" cubic_a=-0.5",
            strncmp(method, "nearest", 7) ? method : "nearest",
            r->num_inputs == 2 && scales ? "asymmetric" : "half_pixel",
            r->num_inputs == 2 && scales ? "floor" : "round_prefer_ceil");
}

static void dynamic(ref_call *c)
{
    const row *r = rows;
    char text[1024] = "";
    while (strcmp(r->op, c->op)) r++;
    const ref_tensor *extents = &c->in[r->input];
    if (r->attr) {
        bool one = !strcmp(r->of, "topk") || !strcmp(r->of, "one_hot");
        sprintf(text + strlen(text), one ? " %s=" : " %s=[", r->attr);
        for (int64_t i = 0; i < extents->count; i++) add(text, i ? ", %.0f" : "%.0f", extents->v[i]);
        if (!one) strcat(text, "]");
    } else if (!strcmp(r->of, "expand_dims")) {
        add_new_axes(text, c, extents->v[0]);
    } else if (!strcmp(r->of, "nn.pad")) {
        add_pads(text, extents);
        sprintf(text + strlen(text), " mode=\"%s\"", ref_string(c, "pad_mode", "constant"));
    } else {
        add_resize(text, c, r);
    }
    if (!strcmp(r->of, "topk")) add(text, " largest=%.0f", ref_int(c, "is_ascend", 0) ? 0 : 1);
    snprintf(text + strlen(text), sizeof text - strlen(text), " %s",
             c->attrs); /* the first of a name counts */
    ref_call inner = {.op = r->of, .attrs = text, .num_out = 1};
    for (int i = 0; i < c->num_in; i++)
        if (i < r->input || i >= r->input + r->num_inputs) inner.in[inner.num_in++] = c->in[i];
    ref_find(r->of)(&inner);
    c->num_out = inner.num_out;
    memcpy(c->out, inner.out, sizeof inner.out);
}

const ref_row ref_rows_dynamic[] = {
    {"dyn.reshape", dynamic},
    {"dyn.tile", dynamic},
    {"dyn.broadcast_to", dynamic},
    {"dyn.squeeze", dynamic},
    {"dyn.expand_dims", dynamic},
    {"dyn.zeros", dynamic},
    {"dyn.ones", dynamic},
    {"dyn.full", dynamic},
    {"dyn.topk", dynamic},
    {"dyn.one_hot", dynamic},
    {"dyn.nn.pad", dynamic},
    {"dyn.sparse_to_dense", dynamic},
    {"dyn.image.resize2d", dynamic},
    {"dyn.nn.upsampling", dynamic},
    {"dyn.nn.upsampling3d", dynamic},
    {NULL, NULL},
};
