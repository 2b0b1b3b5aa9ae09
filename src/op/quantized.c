/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operators on quantised numbers. */
#include "op/quantized.h"

#include <stddef.h>
#include <string.h>

static const gpuc_op_quantized table[] = {
    {"qnn.abs", "abs", GPUC_QUANTIZED_MAP},
    {"qnn.erf", "erf", GPUC_QUANTIZED_MAP},
    {"qnn.exp", "exp", GPUC_QUANTIZED_MAP},
    {"qnn.log", "log", GPUC_QUANTIZED_MAP},
    {"qnn.sqrt", "sqrt", GPUC_QUANTIZED_MAP},
    {"qnn.rsqrt", "rsqrt", GPUC_QUANTIZED_MAP},
    {"qnn.sigmoid", "sigmoid", GPUC_QUANTIZED_MAP},
    {"qnn.tanh", "tanh", GPUC_QUANTIZED_MAP},
    {"qnn.hardswish", "nn.hard_swish", GPUC_QUANTIZED_MAP},
    {"qnn.leaky_relu", "nn.leaky_relu", GPUC_QUANTIZED_MAP},
    {"qnn.softmax", "nn.softmax", GPUC_QUANTIZED_MAP},
    {"qnn.avg_pool2d", "nn.avg_pool2d", GPUC_QUANTIZED_MAP},
    {"qnn.add", "add", GPUC_QUANTIZED_PAIR},
    {"qnn.subtract", "subtract", GPUC_QUANTIZED_PAIR},
    {"qnn.mul", "multiply", GPUC_QUANTIZED_PAIR},
    {"qnn.concatenate", "concatenate", GPUC_QUANTIZED_JOIN},
    {"qnn.conv2d", "nn.conv2d", GPUC_QUANTIZED_PRODUCT},
    {"qnn.conv2d_transpose", "nn.conv2d_transpose", GPUC_QUANTIZED_PRODUCT},
    {"qnn.dense", "nn.dense", GPUC_QUANTIZED_PRODUCT},
    {"qnn.batch_matmul", "nn.matmul", GPUC_QUANTIZED_PRODUCT},
};

const gpuc_op_quantized *gpuc_op_quantized_find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!strcmp(table[i].name, name)) return &table[i];
    return NULL;
}
