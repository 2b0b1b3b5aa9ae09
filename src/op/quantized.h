/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on quantised numbers, x = (q - zero point) * scale: which operator on real numbers each stands for. Their
 * rows have no definition; a pass writes them as that operator (relay_pass/common/quantized.c). */
#ifndef GPUC_OP_QUANTIZED_H
#define GPUC_OP_QUANTIZED_H

typedef enum gpuc_op_quantized_form {
    GPUC_QUANTIZED_MAP,  /* x, its scale and zero point, the result's scale and zero point */
    GPUC_QUANTIZED_PAIR, /* a, b, scale and zero point of a, of b, of the result */
    GPUC_QUANTIZED_JOIN, /* tensors, as many scales, as many zero points, the result's scale and zero point */
    GPUC_QUANTIZED_PRODUCT, /* a, b, their zero points, their scales; the result is integers without zero point */
} gpuc_op_quantized_form;

typedef struct gpuc_op_quantized {
    const char *name, *of; /* rows */
    gpuc_op_quantized_form form;
} gpuc_op_quantized;

/* NULL: it is not one of them. */
const gpuc_op_quantized *gpuc_op_quantized_find(const char *name);

#endif
