/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes that products of real numbers share with those of quantised ones (quantized.c). */
#ifndef GPUC_TOPI_NN_PRODUCTS_H
#define GPUC_TOPI_NN_PRODUCTS_H

#include "op/rows.h"

extern const gpuc_attr_spec gpuc_topi_conv_attrs[], gpuc_topi_conv_transpose_attrs[], gpuc_topi_dense_attrs[],
    gpuc_topi_matmul_attrs[];

#endif
