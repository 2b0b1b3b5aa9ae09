/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised operators: numbers are made real, the reference of the operator on real numbers is asked, and the result is
 * quantised, in float32. Products are of integers without their zero points. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ref.h"

/* Element p of a tensor whose parameter t is one, or a list along an axis. */
static double parameter(const ref_tensor *t, const ref_tensor *of, int64_t p, int axis)
{
    int64_t index[REF_DIMS];
    if (t->count == 1) return t->v[0];
    ref_index(of, p, index);
    return t->v[index[axis]];
}

/* Input x minus its zero point, times its scale; scale -1: none. */
static ref_tensor real(const ref_call *c, int x, int scale, int zero, int64_t axis)
{
    ref_tensor out = c->in[x];
    int at = (int)(axis < 0 ? axis + out.ndim : axis);
    out.v = malloc(((size_t)out.count + 1) * sizeof *out.v);
    for (int64_t p = 0; p < out.count; p++) {
        double d = c->in[x].v[p] - parameter(&c->in[zero], &out, p, at);
        out.v[p] = scale < 0 ? d : (double)((float)d * (float)parameter(&c->in[scale], &out, p, at));
    }
    if (scale >= 0) out.dtype = GPUC_FLOAT32;
    return out;
}

/* Output 0 is what the operator gives for these inputs, which are freed. */
static void apply(ref_call *c, const char *op, int n, const ref_tensor *in)
{
    ref_call inner = {.op = op, .attrs = c->attrs, .num_in = n, .num_out = 1};
    for (int i = 0; i < n; i++) inner.in[i] = in[i];
    ref_find(op)(&inner);
    for (int i = 0; i < n; i++) free(in[i].v);
    c->out[0] = inner.out[0];
}

static void quantize(ref_call *c)
{
    double scale = c->in[c->num_in - 2].v[0], zero = c->in[c->num_in - 1].v[0];
    ref_tensor *y = &c->out[0];
    y->dtype = c->in[0].dtype;
    for (int64_t p = 0; p < y->count; p++) {
        float x = (float)y->v[p] / (float)scale;
        y->v[p] = isnan(x) ? 0 : ref_saturated(y->dtype, nearbyint((double)x) + zero);
    }
}

static void map(ref_call *c)
{
    char name[64];
    const char *op = c->op + 4;
    ref_tensor x = real(c, 0, 1, 2, 0);
    snprintf(name, sizeof name, "nn.%s", strcmp(op, "hardswish") ? op : "hard_swish");
    apply(c, ref_find(name) ? name : op, 1, &x);
    quantize(c);
}

static void pair(ref_call *c)
{
    const char *op = c->op + 4;
    ref_tensor in[] = {real(c, 0, 2, 3, ref_int(c, "lhs_axis", -1)),
                       real(c, 1, 4, 5, ref_int(c, "rhs_axis", -1))};
    apply(c, strcmp(op, "mul") ? op : "multiply", 2, in);
    quantize(c);
}

static void join(ref_call *c)
{
    int n = (c->num_in - 2) / 3;
    ref_tensor in[8];
    for (int i = 0; i < n; i++) in[i] = real(c, i, n + i, 2 * n + i, 0);
    apply(c, "concatenate", n, in);
    quantize(c);
}

static void product(ref_call *c)
{
    char name[64];
    bool matmul = !strcmp(c->op, "qnn.batch_matmul");
    ref_tensor in[] = {real(c, 0, -1, 2, 0), real(c, 1, -1, 3, !strcmp(c->op, "qnn.conv2d_transpose"))};
    snprintf(name, sizeof name, "nn.%s", matmul ? "matmul" : c->op + 4);
    apply(c, name, 2, in);
    c->out[0].dtype = ref_dtype(c, "out_dtype", GPUC_INT32);
}

const ref_row ref_rows_quantized[] = {
    {"qnn.abs", map},
    {"qnn.erf", map},
    {"qnn.exp", map},
    {"qnn.log", map},
    {"qnn.sqrt", map},
    {"qnn.rsqrt", map},
    {"qnn.sigmoid", map},
    {"qnn.tanh", map},
    {"qnn.hardswish", map},
    {"qnn.leaky_relu", map},
    {"qnn.softmax", map},
    {"qnn.avg_pool2d", map},
    {"qnn.add", pair},
    {"qnn.subtract", pair},
    {"qnn.mul", pair},
    {"qnn.concatenate", join},
    {"qnn.conv2d", product},
    {"qnn.conv2d_transpose", product},
    {"qnn.dense", product},
    {"qnn.batch_matmul", product},
    {NULL, NULL},
};
