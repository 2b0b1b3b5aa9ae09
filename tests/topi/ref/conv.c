/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of up to three spatial axes, written as if there were three. */
#include <stdlib.h>
#include <string.h>

#include "ref.h"

typedef struct window {
    int rank;
    int64_t in[3], out[3], kernel[3], stride[3], before[3], dilation[3], groups;
} window;

static window read_window(const ref_call *c)
{
    window w = {.rank = c->in[0].ndim - 2, .groups = ref_int(c, "groups", 1)};
    int64_t strides[3], padding[6], dilation[3];
    ref_ints(c, "strides", strides);
    ref_ints(c, "padding", padding);
    ref_ints(c, "dilation", dilation);
    for (int i = 0; i < 3; i++) {
        int k = i - (3 - w.rank);
        w.in[i] = k < 0 ? 1 : c->in[0].dims[2 + k];
        w.kernel[i] = k < 0 ? 1 : c->in[1].dims[2 + k];
        w.stride[i] = k < 0 ? 1 : strides[k];
        w.dilation[i] = k < 0 ? 1 : dilation[k];
        w.before[i] = k < 0 ? 0 : padding[k];
        int64_t after = k < 0 ? 0 : padding[w.rank + k];
        w.out[i] = (w.in[i] + w.before[i] + after - (w.kernel[i] - 1) * w.dilation[i] - 1) / w.stride[i] + 1;
    }
    return w;
}

static int64_t linear(const int64_t *index, const int64_t *dims)
{
    return (index[0] * dims[1] + index[1]) * dims[2] + index[2];
}

static int64_t volume(const int64_t *dims)
{
    return dims[0] * dims[1] * dims[2];
}

static void unravel(int64_t p, const int64_t *dims, int64_t *index)
{
    index[2] = p % dims[2];
    index[1] = p / dims[2] % dims[1];
    index[0] = p / dims[2] / dims[1];
}

static void make_out(ref_call *c, const window *w, int64_t channels)
{
    int64_t dims[REF_DIMS] = {c->in[0].dims[0], channels};
    for (int i = 0; i < w->rank; i++) dims[2 + i] = w->out[3 - w->rank + i];
    ref_make(c, 0, ref_dtype(c, "out_dtype", c->in[0].dtype), w->rank + 2, dims);
}

static void conv(ref_call *c)
{
    window w = read_window(c);
    const ref_tensor *x = &c->in[0], *f = &c->in[1];
    int64_t outs = f->dims[0], ins = f->dims[1], channels = x->dims[1], y[3], k[3], at[3];
    make_out(c, &w, outs);
    for (int64_t n = 0; n < x->dims[0]; n++)
        for (int64_t o = 0; o < outs; o++)
            for (int64_t p = 0; p < volume(w.out); p++) {
                double sum = 0;
                unravel(p, w.out, y);
                for (int64_t i = 0; i < ins; i++)
                    for (int64_t q = 0; q < volume(w.kernel); q++) {
                        bool inside = true;
                        unravel(q, w.kernel, k);
                        for (int d = 0; d < 3; d++) {
                            at[d] = y[d] * w.stride[d] + k[d] * w.dilation[d] - w.before[d];
                            inside &= at[d] >= 0 && at[d] < w.in[d];
                        }
                        int64_t channel = o / (outs / w.groups) * ins + i;
                        if (inside)
                            sum += x->v[(n * channels + channel) * volume(w.in) + linear(at, w.in)] *
                                   f->v[(o * ins + i) * volume(w.kernel) + q];
                    }
                c->out[0].v[(n * outs + o) * volume(w.out) + p] = sum;
            }
}

/* The weight as [O, I, kernel], and the data as [N, C, space]. */
static void any_conv(ref_call *c)
{
    const char *layout = ref_string(c, "kernel_layout", "OIHW");
    bool sides = !strcmp(layout, "OHWIoi"), blocked = sides || !strcmp(layout, "OHWIo");
    ref_tensor given = c->in[1], w = given, joined = given;
    if (sides) { /* [O/b, kernel, I/s, b, s] to [O/b, kernel, I, b] */
        int64_t last = given.ndim - 1, swap[REF_DIMS];
        for (int i = 0; i <= last; i++) swap[i] = i;
        swap[last - 1] = last;
        swap[last] = last - 1;
        joined = ref_transpose(&given, swap);
        joined.dims[last - 2] *= joined.dims[last - 1];
        joined.dims[last - 1] = joined.dims[last];
        joined.ndim--;
    }
    int64_t perm[REF_DIMS], n = joined.ndim, channels = ref_int(c, "channels", 0);
    if (blocked) { /* [O/b, kernel, I, b] to [O/b, b, I, kernel] */
        perm[0] = 0;
        perm[1] = n - 1;
        perm[2] = n - 2;
        for (int i = 3; i < n; i++) perm[i] = i - 2;
        w = ref_transpose(&joined, perm);
        w.dims[0] *= w.dims[1];
        if (channels) w.dims[0] = channels;
        w.ndim--;
        memmove(w.dims + 1, w.dims + 2, sizeof *w.dims * (size_t)(w.ndim - 1));
    } else if (!strcmp(layout, "IHWO")) {
        perm[0] = n - 1;
        for (int i = 1; i < n; i++) perm[i] = i - 1;
        w = ref_transpose(&given, perm);
    }
    c->in[1] = w;
    ref_with_layout(c, conv);
    c->in[1] = given;
    if (w.v != given.v) free(w.v);
    if (joined.v != given.v) free(joined.v);
}

/* Every input element spreads over the output. */
static void spread(ref_call *c)
{
    window w = read_window(c);
    const ref_tensor *x = &c->in[0], *f = &c->in[1];
    int64_t extra[3], padding[6], per_group = f->dims[1], channels = x->dims[1], outs = per_group * w.groups;
    int64_t i[3], k[3], at[3];
    ref_ints(c, "output_padding", extra);
    ref_ints(c, "padding", padding);
    for (int d = 3 - w.rank; d < 3; d++) {
        int s = d - (3 - w.rank);
        w.out[d] = (w.in[d] - 1) * w.stride[d] + (w.kernel[d] - 1) * w.dilation[d] + 1 + extra[s] -
                   padding[s] - padding[w.rank + s];
    }
    make_out(c, &w, outs);
    for (int64_t n = 0; n < x->dims[0]; n++)
        for (int64_t ch = 0; ch < channels; ch++)
            for (int64_t p = 0; p < volume(w.in); p++)
                for (int64_t j = 0; j < per_group; j++)
                    for (int64_t q = 0; q < volume(w.kernel); q++) {
                        bool inside = true;
                        unravel(p, w.in, i);
                        unravel(q, w.kernel, k);
                        for (int d = 0; d < 3; d++) {
                            at[d] = i[d] * w.stride[d] + k[d] * w.dilation[d] - w.before[d];
                            inside &= at[d] >= 0 && at[d] < w.out[d];
                        }
                        int64_t o = ch / (channels / w.groups) * per_group + j;
                        if (inside)
                            c->out[0].v[(n * outs + o) * volume(w.out) + linear(at, w.out)] +=
                                x->v[(n * channels + ch) * volume(w.in) + p] *
                                f->v[(ch * per_group + j) * volume(w.kernel) + q];
                    }
}

static void conv_transpose(ref_call *c)
{
    ref_with_layout(c, spread);
}

const ref_row ref_rows_conv[] = {
    {"nn.conv1d", any_conv},
    {"nn.conv2d", any_conv},
    {"nn.conv3d", any_conv},
    {"nn.conv1d_transpose", conv_transpose},
    {"nn.conv2d_transpose", conv_transpose},
    {"nn.conv3d_transpose", conv_transpose},
    {NULL, NULL},
};
