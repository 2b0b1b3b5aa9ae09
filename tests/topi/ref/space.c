/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "ref.h"

/* Fills one block after the other: channel d of the deep tensor is position (y, x) of a block, channel c. */
static void blocks(ref_call *c, bool to_depth)
{
    const ref_tensor *in = &c->in[0];
    int64_t b = ref_int(c, "block_size", 1), dims[4];
    bool nhwc = !strcmp(ref_string(c, "layout", "NCHW"), "NHWC");
    bool crd = !strcmp(ref_string(c, "mode", "DCR"), "CRD");
    int ch = nhwc ? 3 : 1, h = nhwc ? 1 : 2, w = nhwc ? 2 : 3;
    memcpy(dims, in->dims, sizeof dims);
    dims[ch] = to_depth ? dims[ch] * b * b : dims[ch] / (b * b);
    dims[h] = to_depth ? dims[h] / b : dims[h] * b;
    dims[w] = to_depth ? dims[w] / b : dims[w] * b;
    ref_tensor *out = ref_make(c, 0, in->dtype, 4, dims);
    const ref_tensor *deep = to_depth ? out : in, *wide = to_depth ? in : out;
    int64_t channels = wide->dims[ch], at[4];
    for (int64_t p = 0; p < wide->count; p++) {
        ref_index(wide, p, at);
        int64_t place = at[h] % b * b + at[w] % b;
        at[ch] = crd ? at[ch] * b * b + place : place * channels + at[ch];
        at[h] /= b;
        at[w] /= b;
        int64_t q = ref_at(deep, at);
        if (to_depth)
            out->v[q] = in->v[p];
        else
            out->v[p] = in->v[q];
    }
}

static void space_to_depth(ref_call *c)
{
    blocks(c, true);
}

static void depth_to_space(ref_call *c)
{
    blocks(c, false);
}

typedef struct layout {
    int n;
    char axis[REF_DIMS];
    int64_t factor[REF_DIMS], inner[128];
} layout;

static layout parse(const char *text)
{
    layout l = {0};
    for (int i = 0; i < 128; i++) l.inner[i] = 1;
    for (; *text; text++) {
        int64_t f = 0;
        for (; isdigit((unsigned char)*text); text++) f = f * 10 + (*text - '0');
        l.axis[l.n] = (char)toupper((unsigned char)*text);
        if (f) l.inner[(int)l.axis[l.n]] = f;
        l.factor[l.n++] = f;
    }
    return l;
}

static void layout_transform(ref_call *c)
{
    const ref_tensor *x = &c->in[0];
    layout from = parse(ref_string(c, "src_layout", "")), to = parse(ref_string(c, "dst_layout", ""));
    int64_t extent[128] = {0}, dims[REF_DIMS], at[128], index[REF_DIMS];
    for (int i = 0; i < from.n; i++)
        if (!from.factor[i]) extent[(int)from.axis[i]] = x->dims[i] * from.inner[(int)from.axis[i]];
    for (int i = 0; i < to.n; i++) {
        int64_t inner = to.inner[(int)to.axis[i]];
        dims[i] = to.factor[i] ? to.factor[i] : (extent[(int)to.axis[i]] + inner - 1) / inner;
    }
    ref_tensor *y = ref_make(c, 0, x->dtype, to.n, dims);
    for (int64_t p = 0; p < x->count; p++) {
        ref_index(x, p, index);
        memset(at, 0, sizeof at);
        for (int i = 0; i < from.n; i++) {
            int a = from.axis[i];
            at[a] += index[i] * (from.factor[i] ? 1 : from.inner[a]);
        }
        for (int i = 0; i < to.n; i++) {
            int a = to.axis[i];
            index[i] = to.factor[i] ? at[a] % to.factor[i] : at[a] / to.inner[a];
        }
        y->v[ref_at(y, index)] = x->v[p];
    }
}

const ref_row ref_rows_space[] = {
    {"nn.space_to_depth", space_to_depth},
    {"nn.depth_to_space", depth_to_space},
    {"layout_transform", layout_transform},
    {NULL, NULL},
};
