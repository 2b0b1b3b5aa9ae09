/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_quantize[] = {
    {"qnn.quantize", NULL, "float32[3, 5] float32[] uint8[]", 0.1, 20},
    {"qnn.quantize", "axis=1", "float32[2, 3, 4] float32[3] int8[3]", 1, 9},
    {"qnn.quantize", "axis=-1 out_dtype=int16", "float16[7, 5] float32[5]", 0.1, 3},
    {"qnn.quantize", "axis=0 block_size=3", "float32[7, 2] float32[3, 2] uint16[3, 2]", 1, 9},
    {"qnn.quantize", "axis=0", "int32[4] float32[1]", 1, 300},
    {"qnn.quantize", NULL, "float32[0, 3] float32[] uint8[]", 1, 2},
    {"qnn.quantize", "out_dtype=int8", "float32[] float32[]", 0.01, 2},
    {"qnn.dequantize", NULL, "uint8[3, 5] float32[] uint8[]", 1, 9},
    {"qnn.dequantize", "axis=0", "int8[3, 4] float32[3] int8[3]", -9, 9},
    {"qnn.dequantize", "axis=0", "uint8[5, 2] float32[1] uint8[1]", 1, 9},
    {"qnn.dequantize", "axis=1", "int8[2, 3, 4] float32[3] int8[3]", -9, 9},
    {"qnn.dequantize", "axis=-2 block_size=2", "int16[5, 3] float16[3, 3]", -9, 9},
    {"qnn.dequantize", "axis=0 out_dtype=float16", "int32[5] float32[]", -9, 9},
    {"qnn.dequantize", NULL, "uint8[] float32[] uint8[]", 1, 9},
    {"qnn.requantize", NULL, "int32[2, 3, 4] float32[3, 1] int8[]", 1, 90},
    {"qnn.requantize", "out_dtype=int16", "int32[5] float32[]", -9, 9},
    {"qnn.quantize", NULL, "T[3, a] float32[] uint8[]", 0.1, 20},
    {"qnn.dequantize", NULL, "T[3, a] float32[] T[]", 1, 9},
    {"qnn.quantize", "out_dtype=int16", "T[3, a] float32[] int32[]", 0.1, 20},
    {"qnn.quantize", NULL, "T[3, a] float32[] int32[]", 0.1, 20},
    {"qnn.dequantize", NULL, "T[3, a] float32[a] int32[a]", 1, 9},
    {"qnn.requantize", "out_dtype=uint8", "T[3, a] float32[a] int32[]", 1, 90},
    {"qnn.requantize", NULL, "T[3, a] float32[a] int8[]", 1, 90},
    {NULL},
};
