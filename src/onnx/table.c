/* SPDX-License-Identifier: Apache-2.0 */
/* Operators by name and by the opset from which a definition holds. Where two opsets differ only in where a
 * number comes from (attribute or input), one converter reads both. */
#include <string.h>

#include "base/file.h"
#include "onnx/onnx.h"

#define SIMPLE(onnx, relay)                                                                                  \
    {                                                                                                        \
        onnx, 1, gpuc_onnx_simple, relay                                                                     \
    }
static const gpuc_onnx_row rows[] = {
    SIMPLE("Abs", "abs"),
    SIMPLE("Acos", "acos"),
    SIMPLE("Acosh", "acosh"),
    SIMPLE("Add", "add"),
    SIMPLE("And", "logical_and"),
    SIMPLE("Asin", "asin"),
    SIMPLE("Asinh", "asinh"),
    SIMPLE("Atan", "atan"),
    SIMPLE("Atanh", "atanh"),
    SIMPLE("BitwiseAnd", "bitwise_and"),
    SIMPLE("BitwiseNot", "bitwise_not"),
    SIMPLE("BitwiseOr", "bitwise_or"),
    SIMPLE("BitwiseXor", "bitwise_xor"),
    SIMPLE("Ceil", "ceil"),
    SIMPLE("Cos", "cos"),
    SIMPLE("Cosh", "cosh"),
    SIMPLE("Div", "divide"),
    SIMPLE("Equal", "equal"),
    SIMPLE("Erf", "erf"),
    SIMPLE("Exp", "exp"),
    SIMPLE("Floor", "floor"),
    SIMPLE("Greater", "greater"),
    SIMPLE("GreaterOrEqual", "greater_equal"),
    SIMPLE("IsNaN", "isnan"),
    SIMPLE("Less", "less"),
    SIMPLE("LessOrEqual", "less_equal"),
    SIMPLE("Log", "log"),
    SIMPLE("Mul", "multiply"),
    SIMPLE("Neg", "negative"),
    SIMPLE("Not", "logical_not"),
    SIMPLE("Or", "logical_or"),
    SIMPLE("Reciprocal", "reciprocal"),
    SIMPLE("Relu", "nn.relu"),
    SIMPLE("Round", "round"),
    SIMPLE("Sigmoid", "sigmoid"),
    SIMPLE("Sign", "sign"),
    SIMPLE("Sin", "sin"),
    SIMPLE("Sinh", "sinh"),
    SIMPLE("Softplus", "nn.softplus"),
    SIMPLE("Softsign", "nn.softsign"),
    SIMPLE("Sqrt", "sqrt"),
    SIMPLE("Sub", "subtract"),
    SIMPLE("Tan", "tan"),
    SIMPLE("Tanh", "tanh"),
    SIMPLE("Where", "where"),
    SIMPLE("Xor", "logical_xor"),
    {"Max", 1, gpuc_onnx_variadic, "maximum"},
    {"Min", 1, gpuc_onnx_variadic, "minimum"},
    {"Sum", 1, gpuc_onnx_variadic, "add"},
    {"Mean", 1, gpuc_onnx_mean, NULL},
    {"Pow", 1, gpuc_onnx_pow, NULL},
    {"Mod", 10, gpuc_onnx_mod, NULL},
    {"Cast", 1, gpuc_onnx_cast, NULL},
    {"Clip", 1, gpuc_onnx_clip_6, NULL},
    {"Clip", 11, gpuc_onnx_clip_11, NULL},
    {"LeakyRelu", 1, gpuc_onnx_leaky_relu, NULL},
    {"Elu", 1, gpuc_onnx_elu, NULL},
    {"Selu", 1, gpuc_onnx_selu, NULL},
    {"HardSigmoid", 1, gpuc_onnx_hard_sigmoid, NULL},
    {"HardSwish", 14, gpuc_onnx_hard_swish, NULL},
    {"IsInf", 10, gpuc_onnx_is_inf, NULL},
    {"Gelu", 20, gpuc_onnx_gelu, NULL},
    {"Softmax", 1, gpuc_onnx_softmax_1, "nn.softmax"},
    {"Softmax", 13, gpuc_onnx_softmax_13, "nn.softmax"},
    {"LogSoftmax", 1, gpuc_onnx_softmax_1, "nn.log_softmax"},
    {"LogSoftmax", 13, gpuc_onnx_softmax_13, "nn.log_softmax"},
    {"Dropout", 1, gpuc_onnx_dropout, NULL},
    {"Identity", 1, gpuc_onnx_identity, NULL},
    {"Constant", 1, gpuc_onnx_constant, NULL},
    {"ConstantOfShape", 9, gpuc_onnx_constant_of_shape, NULL},
    {"Range", 11, gpuc_onnx_range, NULL},
    {"PRelu", 1, gpuc_onnx_prelu, NULL},
    {"BitShift", 11, gpuc_onnx_bit_shift, NULL},
    {"Reshape", 5, gpuc_onnx_reshape, NULL},
    {"Flatten", 1, gpuc_onnx_flatten, NULL},
    {"Transpose", 1, gpuc_onnx_transpose, NULL},
    {"Concat", 4, gpuc_onnx_concat, NULL},
    {"Slice", 1, gpuc_onnx_slice_1, NULL},
    {"Slice", 10, gpuc_onnx_slice_10, NULL},
    {"Split", 2, gpuc_onnx_split, NULL},
    {"Squeeze", 1, gpuc_onnx_squeeze, NULL},
    {"Unsqueeze", 1, gpuc_onnx_unsqueeze, NULL},
    {"Gather", 1, gpuc_onnx_gather, NULL},
    {"Expand", 8, gpuc_onnx_expand, NULL},
    {"Tile", 6, gpuc_onnx_tile, NULL},
    {"Shape", 1, gpuc_onnx_shape, NULL},
    {"Size", 1, gpuc_onnx_size, NULL},
    {"Pad", 2, gpuc_onnx_pad_2, NULL},
    {"Pad", 11, gpuc_onnx_pad_11, NULL},
    {"Resize", 10, gpuc_onnx_resize_10, NULL},
    {"Resize", 11, gpuc_onnx_resize_11, NULL},
    {"Upsample", 7, gpuc_onnx_upsample_7, NULL},
    {"Upsample", 9, gpuc_onnx_upsample_9, NULL},
    {"DepthToSpace", 1, gpuc_onnx_depth_to_space, NULL},
    {"SpaceToDepth", 1, gpuc_onnx_space_to_depth, NULL},
    {"ReduceSum", 1, gpuc_onnx_reduce, "sum"},
    {"ReduceMean", 1, gpuc_onnx_reduce, "mean"},
    {"ReduceMax", 1, gpuc_onnx_reduce, "max"},
    {"ReduceMin", 1, gpuc_onnx_reduce, "min"},
    {"ReduceProd", 1, gpuc_onnx_reduce, "prod"},
    {"ReduceL1", 1, gpuc_onnx_reduce, "l1"},
    {"ReduceL2", 1, gpuc_onnx_reduce, "l2"},
    {"ReduceSumSquare", 1, gpuc_onnx_reduce, "sum_square"},
    {"ReduceLogSum", 1, gpuc_onnx_reduce, "log_sum"},
    {"ReduceLogSumExp", 1, gpuc_onnx_reduce, "log_sum_exp"},
    {"Conv", 1, gpuc_onnx_conv, NULL},
    {"ConvTranspose", 1, gpuc_onnx_conv_transpose, NULL},
    {"MaxPool", 1, gpuc_onnx_pool, "nn.max_pool"},
    {"AveragePool", 1, gpuc_onnx_pool, "nn.avg_pool"},
    {"GlobalAveragePool", 1, gpuc_onnx_global_pool, "mean"},
    {"GlobalMaxPool", 1, gpuc_onnx_global_pool, "max"},
    {"Gemm", 1, gpuc_onnx_gemm, NULL},
    {"MatMul", 1, gpuc_onnx_matmul, NULL},
    {"BatchNormalization", 1, gpuc_onnx_batch_norm, NULL},
    {"InstanceNormalization", 1, gpuc_onnx_instance_norm, NULL},
    {"LayerNormalization", 17, gpuc_onnx_layer_norm, NULL},
    {"LRN", 1, gpuc_onnx_lrn, NULL},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

const gpuc_onnx_row *gpuc_onnx_find(const char *op_type, int64_t opset)
{
    const gpuc_onnx_row *best = NULL;
    for (size_t i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].op_type, op_type) && rows[i].from <= opset &&
            (!best || rows[i].from > best->from))
            best = &rows[i];
    return best;
}

const char *gpuc_onnx_nearest(const char *op_type)
{
    const char *names[ROWS];
    for (size_t i = 0; i < ROWS; i++) names[i] = rows[i].op_type;
    return gpuc_suggest(op_type, names, ROWS);
}
