/* SPDX-License-Identifier: Apache-2.0 */
/* What operators that quantise share. */
#ifndef GPUC_TOPI_NN_QUANTIZE_H
#define GPUC_TOPI_NN_QUANTIZE_H

#include "topi/util.h"

enum { GPUC_TOPI_QUANTIZED = GPUC_T_INT8 | GPUC_T_UINT8 | GPUC_T_INT16 | GPUC_T_UINT16 };

/* The type of the result: the zero point's, or out_dtype, which is int8 by default for a zero point of int32, as TVM
 * has them. Integers of at most 16 bits are exact as float32. */
gpuc_dtype gpuc_topi_quantized_type(const gpuc_op_call *call, int zero_point);
/* The type of what is computed with a scale, or data, of this type. */
gpuc_dtype gpuc_topi_quantize_work(gpuc_dtype t);

#endif
