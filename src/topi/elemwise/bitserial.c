/* SPDX-License-Identifier: Apache-2.0 */
/* Integers of a few bits, bit by bit: bit b of the elements along an axis is packed into words, the first element in the
 * highest bit, and products count the bits that two words share. A unipolar weight is 1 or -1 for each of its bits. */
#include <string.h>

#include "op/rows.h"
#include "topi/elemwise/bitpack.h"
#include "topi/families.h"

enum { MAX_BITS = 8 };

/* How a tensor is packed: dimension `axis` into words, with a new dimension for the bits of an element. */
typedef struct packing {
    int axis, bit_axis, bits; /* bit_axis: in the result */
    gpuc_dtype word;
} packing;

static int bits_of(const gpuc_op_call *call, const char *attr)
{
    int64_t bits = gpuc_attrs_get_int(call->attrs, attr, 1);
    if (bits < 1 || bits > MAX_BITS)
        gpuc_topi_fail(call, "%s=%lld is outside of 1 to %d", attr, (long long)bits, MAX_BITS);
    return (int)bits;
}

static gpuc_dtype word_of(const gpuc_op_call *call, const char *attr)
{
    gpuc_dtype t = gpuc_attrs_find(call->attrs, attr)->dtype;
    char name[24];
    if (t.code != GPUC_DTYPE_UINT || t.bits < 8)
        gpuc_topi_fail(call, "%s is %s; words are uint8, uint16, uint32 or uint64", attr,
                       gpuc_dtype_name(t, name));
    return t;
}

static gpuc_tensor_type packed_type(const gpuc_op_call *call, int i, const packing *p)
{
    const gpuc_tensor_type *in = &call->in[i];
    int64_t extent = gpuc_topi_static_dim(call, i, p->axis);
    gpuc_tensor_type out = {.dtype = p->word, .ndim = in->ndim + 1};
    gpuc_expr *dims = gpuc_new_array(call->ctx, gpuc_expr, out.ndim);
    if (extent % p->word.bits)
        gpuc_topi_fail(call, "dimension %d (%lld) of input %d does not divide by the %d bits of a word",
                       p->axis, (long long)extent, i, p->word.bits);
    for (int k = 0, from = 0; k < out.ndim; k++) {
        if (k == p->bit_axis) {
            dims[k] = gpuc_int(call->ctx, p->bits);
            continue;
        }
        dims[k] = from == p->axis ? gpuc_int(call->ctx, extent / p->word.bits) : in->dims[from];
        from++;
    }
    out.dims = dims;
    return out;
}

/* Input i, packed. */
static gpuc_tensor *packed(const gpuc_op_call *call, gpuc_tensor *in, int i, const packing *p)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_tensor_type type = packed_type(call, i, p);
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS + 1], x[GPUC_TOPI_MAX_DIMS], word = NULL;
    gpuc_iter **axes = gpuc_topi_axes(ctx, &type, vars);
    int width = p->word.bits, ndim = call->in[i].ndim;
    for (int k = 0; k < ndim; k++) x[k] = vars[k < p->bit_axis ? k : k + 1];
    gpuc_expr first = gpuc_mul(ctx, x[p->axis], gpuc_int(ctx, width)), one = gpuc_imm_int(ctx, p->word, 1),
              plane = gpuc_cast(ctx, p->word, vars[p->bit_axis]);
    for (int k = 0; k < width; k++) {
        x[p->axis] = gpuc_add(ctx, first, gpuc_int(ctx, k));
        gpuc_expr bit =
            gpuc_call2(ctx, "shr", gpuc_cast(ctx, p->word, gpuc_te_read(ctx, in, ndim, x)), plane);
        bit = gpuc_call2(ctx, "bitand", bit, one);
        bit = gpuc_call2(ctx, "shl", bit, gpuc_imm_int(ctx, p->word, width - 1 - k));
        word = word ? gpuc_call2(ctx, "bitor", word, bit) : bit;
    }
    return gpuc_topi_compute(ctx, "packed", "injective", type.ndim, axes, word);
}

/* ---- bitpack ---- */

static packing packing_of(const gpuc_op_call *call)
{
    int ndim = call->in[0].ndim;
    packing p = {.axis = gpuc_topi_axis(call, "pack_axis", ndim),
                 .bit_axis = gpuc_topi_axis(call, "bit_axis", ndim + 1),
                 .bits = bits_of(call, "bits"),
                 .word = word_of(call, "pack_type")};
    return p;
}

static void infer_bitpack(gpuc_op_call *call)
{
    packing p = packing_of(call);
    call->out[0] = packed_type(call, 0, &p);
}

static void bitpack_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    packing p = packing_of(call);
    outs[0] = packed(call, ins[0], 0, &p);
}

/* ---- Products ---- */

/* An operand: as it is written, or packed before (a weight). */
typedef struct operand {
    packing p;
    bool is_packed;
    gpuc_tensor_type type; /* packed */
} operand;

static operand operand_of(const gpuc_op_call *call, int i, int ndim, packing p)
{
    const gpuc_tensor_type *t = &call->in[i];
    operand o = {.p = p, .is_packed = i == 1 && t->ndim == ndim + 1};
    char name[24], word[24];
    if (!o.is_packed && t->ndim != ndim)
        gpuc_topi_fail(call, "input %d has %d dimensions, needs %d%s", i, t->ndim, ndim,
                       i == 1 ? ", or one more where it is packed" : "");
    if (!o.is_packed) {
        o.type = packed_type(call, i, &p);
        return o;
    }
    if (!gpuc_dtype_equal(t->dtype, p.word))
        gpuc_topi_fail(call, "input %d is packed into %s, pack_dtype is %s", i,
                       gpuc_dtype_name(t->dtype, name), gpuc_dtype_name(p.word, word));
    if (gpuc_topi_static_dim(call, i, p.bit_axis) != p.bits)
        gpuc_topi_fail(call, "dimension %d of input %d has %lld bits, weight_bits is %d", p.bit_axis, i,
                       (long long)gpuc_topi_static_dim(call, i, p.bit_axis), p.bits);
    o.type = *t;
    return o;
}

static gpuc_tensor *words_of(const gpuc_op_call *call, gpuc_tensor *const *ins, int i, const operand *o)
{
    return o->is_packed ? ins[i] : packed(call, ins[i], i, &o->p);
}

static gpuc_dtype sum_type(const gpuc_op_call *call)
{
    gpuc_dtype t = gpuc_attrs_find(call->attrs, "out_dtype")->dtype;
    char name[24];
    if (!gpuc_is_integer(t))
        gpuc_topi_fail(call, "out_dtype is %s; sums are integers", gpuc_dtype_name(t, name));
    return t;
}

static gpuc_expr count(gpuc_ctx *ctx, gpuc_expr word)
{
    gpuc_expr low = gpuc_topi_count_bits(ctx, gpuc_cast(ctx, GPUC_UINT32, word));
    if (gpuc_expr_dtype(word).bits < 64) return gpuc_cast(ctx, GPUC_INT32, low);
    gpuc_expr high = gpuc_call2(ctx, "shr", word, gpuc_imm_int(ctx, GPUC_UINT64, 32));
    high = gpuc_topi_count_bits(ctx, gpuc_cast(ctx, GPUC_UINT32, high));
    return gpuc_cast(ctx, GPUC_INT32, gpuc_add(ctx, low, high));
}

/* The product of a word of bit db of the data and one of bit wb of the weight, in the type of the sums. */
static gpuc_expr product(const gpuc_op_call *call, gpuc_expr data, gpuc_expr weight, gpuc_expr db,
                         gpuc_expr wb)
{
    gpuc_ctx *ctx = call->ctx;
    gpuc_dtype t = sum_type(call).bits > 32 ? sum_type(call) : GPUC_INT32;
    gpuc_expr both = count(ctx, gpuc_call2(ctx, "bitand", data, weight));
    if (gpuc_attrs_get_int(call->attrs, "unipolar", 1)) /* those that share minus those that do not */
        both = gpuc_sub(ctx, gpuc_mul(ctx, both, gpuc_imm_int(ctx, GPUC_INT32, 2)), count(ctx, data));
    return gpuc_call2(ctx, "shl", gpuc_cast(ctx, t, both), gpuc_cast(ctx, t, gpuc_add(ctx, db, wb)));
}

/* The sum over these axes, in the type of the result. */
static gpuc_tensor *summed(const gpuc_op_call *call, gpuc_iter **axes, gpuc_expr value, int n,
                           gpuc_iter **over)
{
    gpuc_ctx *ctx = call->ctx;
    int ndim = call->out[0].ndim;
    gpuc_tensor *sum =
        gpuc_topi_compute(ctx, "shared", "reduce", ndim, axes, gpuc_te_reduce(ctx, "sum", value, n, over));
    if (gpuc_dtype_equal(gpuc_te_dtype(sum), call->out[0].dtype)) return sum;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS];
    axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    return gpuc_topi_compute(ctx, "sums", "elemwise", ndim, axes,
                             gpuc_cast(ctx, call->out[0].dtype, gpuc_te_read(ctx, sum, ndim, vars)));
}

/* ---- bitserial_dense: data [..., K], weight [units, K] or packed [units, bits, K / word] ---- */

typedef struct dense {
    operand data, weight;
} dense;

static dense dense_of(const gpuc_op_call *call)
{
    int ndim = call->in[0].ndim;
    gpuc_dtype word = word_of(call, "pack_dtype");
    if (ndim < 1) gpuc_topi_fail(call, "input 0 is a scalar");
    packing d = {.axis = ndim - 1, .bit_axis = ndim - 1, .bits = bits_of(call, "data_bits"), .word = word},
            w = {.axis = 1, .bit_axis = 1, .bits = bits_of(call, "weight_bits"), .word = word};
    return (dense){operand_of(call, 0, ndim, d), operand_of(call, 1, 2, w)};
}

static void infer_dense(gpuc_op_call *call)
{
    dense d = dense_of(call);
    int ndim = call->in[0].ndim;
    gpuc_expr dims[GPUC_TOPI_MAX_DIMS];
    gpuc_topi_same_dim(call, d.data.type.dims[ndim], d.weight.type.dims[2],
                       "words of a row of data and weight");
    memcpy(dims, call->in[0].dims, sizeof *dims * (size_t)ndim);
    dims[ndim - 1] = call->in[1].dims[0];
    gpuc_topi_set_out(call, 0, sum_type(call), ndim, dims);
}

static void dense_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    dense d = dense_of(call);
    int ndim = call->in[0].ndim;
    gpuc_expr vars[GPUC_TOPI_MAX_DIMS], x[GPUC_TOPI_MAX_DIMS + 1];
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_iter *over[] = {gpuc_te_reduce_axis(ctx, d.data.type.dims[ndim], "k"),
                         gpuc_te_reduce_axis(ctx, gpuc_int(ctx, d.weight.p.bits), "wb"),
                         gpuc_te_reduce_axis(ctx, gpuc_int(ctx, d.data.p.bits), "db")};
    gpuc_expr k = gpuc_iter_var(over[0]), wb = gpuc_iter_var(over[1]), db = gpuc_iter_var(over[2]);
    memcpy(x, vars, sizeof *x * (size_t)ndim);
    x[ndim - 1] = db;
    x[ndim] = k;
    gpuc_expr w[] = {vars[ndim - 1], wb, k};
    gpuc_expr data = gpuc_te_read(ctx, words_of(call, ins, 0, &d.data), ndim + 1, x),
              weight = gpuc_te_read(ctx, words_of(call, ins, 1, &d.weight), 3, w);
    outs[0] = summed(call, axes, product(call, data, weight, db, wb), 3, over);
}

/* ---- bitserial_conv2d: data NCHW and weight OIHW, or NHWC and HWIO; packed weights have bits last ---- */

typedef struct conv {
    operand data, weight;
    gpuc_topi_layout at;
    int out_channel, in_channel, window; /* dimensions of the weight */
    const int64_t *strides;
    gpuc_expr padding[4];
} conv;

static conv conv_of(const gpuc_op_call *call)
{
    gpuc_dtype word = word_of(call, "pack_dtype");
    conv c = {.at = gpuc_topi_layout_of(call, 4), .strides = gpuc_topi_ints(call, "strides", 2)};
    bool last = c.at.space == 1;
    c.out_channel = last ? 3 : 0;
    c.in_channel = last ? 2 : 1;
    c.window = last ? 0 : 2;
    packing d = {.axis = c.at.channel, .bit_axis = 4, .bits = bits_of(call, "activation_bits"), .word = word},
            w = {.axis = c.in_channel, .bit_axis = 4, .bits = bits_of(call, "weight_bits"), .word = word};
    c.data = operand_of(call, 0, 4, d);
    c.weight = operand_of(call, 1, 4, w);
    gpuc_topi_sizes(call, "padding", 4, c.padding);
    for (int i = 0; i < 2; i++)
        if (c.strides[i] < 1) gpuc_topi_fail(call, "strides has %lld", (long long)c.strides[i]);
    return c;
}

static void infer_conv(gpuc_op_call *call)
{
    gpuc_ctx *ctx = call->ctx;
    conv c = conv_of(call);
    gpuc_expr dims[4], one = gpuc_int(ctx, 1), zero = gpuc_int(ctx, 0);
    gpuc_topi_same_dim(call, c.data.type.dims[c.at.channel], c.weight.type.dims[c.in_channel],
                       "words of the channels of data and weight");
    dims[0] = call->in[0].dims[0];
    dims[c.at.channel] = call->in[1].dims[c.out_channel];
    for (int i = 0; i < 2; i++) {
        gpuc_expr span =
            gpuc_add(ctx, call->in[0].dims[c.at.space + i], gpuc_add(ctx, c.padding[i], c.padding[2 + i]));
        span = gpuc_sub(ctx, span, call->in[1].dims[c.window + i]);
        gpuc_topi_require(call, gpuc_ge(ctx, span, zero),
                          "the kernel is larger than the padded input in dimension %d", c.at.space + i);
        dims[c.at.space + i] = gpuc_add(ctx, gpuc_floordiv_(ctx, span, gpuc_int(ctx, c.strides[i])), one);
    }
    gpuc_topi_set_out(call, 0, sum_type(call), 4, dims);
}

static void conv_compute(const gpuc_op_call *call, gpuc_tensor *const *ins, gpuc_tensor **outs)
{
    gpuc_ctx *ctx = call->ctx;
    conv c = conv_of(call);
    gpuc_expr vars[4], x[5], w[5], inside = NULL, zero = gpuc_int(ctx, 0);
    gpuc_iter **axes = gpuc_topi_axes(ctx, &call->out[0], vars);
    gpuc_iter *over[] = {gpuc_te_reduce_axis(ctx, c.data.type.dims[c.at.channel], "rc"),
                         gpuc_te_reduce_axis(ctx, c.weight.type.dims[c.window], "ry"),
                         gpuc_te_reduce_axis(ctx, c.weight.type.dims[c.window + 1], "rx"),
                         gpuc_te_reduce_axis(ctx, gpuc_int(ctx, c.weight.p.bits), "wb"),
                         gpuc_te_reduce_axis(ctx, gpuc_int(ctx, c.data.p.bits), "db")};
    x[0] = vars[0];
    x[c.at.channel] = w[c.in_channel] = gpuc_iter_var(over[0]);
    w[c.out_channel] = vars[c.at.channel];
    w[4] = gpuc_iter_var(over[3]);
    x[4] = gpuc_iter_var(over[4]);
    for (int i = 0; i < 2; i++) {
        w[c.window + i] = gpuc_iter_var(over[1 + i]);
        gpuc_expr at = gpuc_mul(ctx, vars[c.at.space + i], gpuc_int(ctx, c.strides[i]));
        x[c.at.space + i] = at = gpuc_sub(ctx, gpuc_add(ctx, at, w[c.window + i]), c.padding[i]);
        gpuc_expr ok =
            gpuc_and(ctx, gpuc_ge(ctx, at, zero), gpuc_lt(ctx, at, call->in[0].dims[c.at.space + i]));
        inside = inside ? gpuc_and(ctx, inside, ok) : ok;
    }
    gpuc_expr data = gpuc_te_read(ctx, words_of(call, ins, 0, &c.data), 5, x),
              weight = gpuc_te_read(ctx, words_of(call, ins, 1, &c.weight), 5, w);
    data = gpuc_if_then_else(ctx, inside, data, gpuc_imm_int(ctx, c.data.p.word, 0));
    outs[0] = summed(call, axes, product(call, data, weight, x[4], w[4]), 5, over);
}

/* ---- Other spellings: what they say of the weight must be so ---- */

static bool channels_last(const gpuc_op_written *w)
{
    return !strcmp(gpuc_attrs_get_string(w->attrs, "data_layout", "NCHW"), "NHWC");
}

static void take_units(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    gpuc_op_must_be(w, spec->name, value->i, 1, 0);
}

static void take_channels(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    gpuc_op_must_be(w, spec->name, value->i, 1, channels_last(w) ? 3 : 0);
}

static void take_kernel_size(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    int n;
    const int64_t *size = gpuc_op_ints_of(w, value, &n);
    if (n > 2) gpuc_op_written_fail(w, "%s has %d entries for 2 spatial dimensions", spec->name, n);
    for (int i = 0; i < 2 && n; i++)
        gpuc_op_must_be(w, spec->name, size[n > 1 ? i : 0], 1, (channels_last(w) ? 0 : 2) + i);
}

static void take_kernel_layout(gpuc_op_written *w, const gpuc_attr_spec *spec, const gpuc_attr *value)
{
    gpuc_op_take_only(
        w, &(gpuc_attr_spec){.name = spec->name, .to = channels_last(w) ? "HWIO,HWIOi" : "OIHW,OIHWi"},
        value);
}

ATTRS(bitpack, INT("bits", 1), INT("pack_axis", 1), INT("bit_axis", -1), DTYPE_OR("pack_type", GPUC_UINT32))
ATTRS(dense_attrs, INT("data_bits", 1), INT("weight_bits", 1), DTYPE_OR("pack_dtype", GPUC_UINT32),
      DTYPE_OR("out_dtype", GPUC_INT16), INT("unipolar", 1),
      SPELLED("units", INT, take_units, NULL, "must be those of the weight"))
ATTRS(conv_attrs, SPACE_INTS("strides", 1), SIDE_SIZES("padding"), INT("activation_bits", 1),
      INT("weight_bits", 1), DTYPE_OR("pack_dtype", GPUC_UINT32), DTYPE_OR("out_dtype", GPUC_INT16),
      INT("unipolar", 1), GPUC_TOPI_DATA_LAYOUT, DATA_LAYOUTS,
      SPELLED("kernel_layout", STRING, take_kernel_layout, NULL,
              "OIHW, or HWIO for NHWC; packed weights have bits last"),
      SPELLED("kernel_size", INTS, take_kernel_size, NULL, "must be that of the weight"),
      SPELLED("channels", INT, take_channels, NULL, "must be those of the weight"))

const gpuc_op gpuc_topi_ops_bitserial[] = {
    INJECTIVE("nn.bitpack", 1, 1, bitpack, infer_bitpack, bitpack_compute, "", "", "", GPUC_T_INTS),
    ANCHOR("nn.bitserial_dense", 2, 2, dense_attrs, infer_dense, dense_compute, "", "", "", GPUC_T_INTS,
           GPUC_T_INTS),
    ANCHOR("nn.bitserial_conv2d", 2, 2, conv_attrs, infer_conv, conv_compute, "", "", "", GPUC_T_INTS,
           GPUC_T_INTS),
};
const size_t gpuc_topi_ops_bitserial_count =
    sizeof gpuc_topi_ops_bitserial / sizeof gpuc_topi_ops_bitserial[0];
