/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_TOPI_FAMILIES_H
#define GPUC_TOPI_FAMILIES_H

#include "topi/table.h"

extern const gpuc_op gpuc_ops_elemwise[], gpuc_ops_shape[], gpuc_ops_reduce[], gpuc_ops_conv[],
    gpuc_ops_pool[], gpuc_ops_matmul[], gpuc_ops_normalize[], gpuc_ops_resize[];
extern const size_t gpuc_ops_elemwise_count, gpuc_ops_shape_count, gpuc_ops_reduce_count, gpuc_ops_conv_count,
    gpuc_ops_pool_count, gpuc_ops_matmul_count, gpuc_ops_normalize_count, gpuc_ops_resize_count;

#endif
