/* SPDX-License-Identifier: Apache-2.0 */
/* What converters of operators with windows share. */
#ifndef GPUC_ONNX_WINDOW_H
#define GPUC_ONNX_WINDOW_H

#include "onnx/onnx.h"

/* Everything from `min` to INT32_MAX, so that windows are computed without overflow. */
void gpuc_onnx_check_range(gpuc_onnx_node *n, int count, const int64_t *list, int64_t min, const char *what);
/* Padding of each side: given, or what auto_pad makes of kernel and stride. begin[rank], end[rank]. */
gpuc_expr *gpuc_onnx_padding(gpuc_onnx_node *n, int rank, const int64_t *reach, const int64_t *strides);
#define GPUC_ONNX_MAX_SPATIAL 3
/* The number of dimensions of the input's space; their extents are checked as far as they are known. */
int gpuc_onnx_spatial_rank(gpuc_onnx_node *n);
const gpuc_attrs *gpuc_onnx_window_attrs(gpuc_ctx *ctx, int rank, const int64_t *strides,
                                         const gpuc_expr *pads, const int64_t *dilations);
/* 2 * rank numbers of the attribute pads. */
gpuc_expr *gpuc_onnx_pads(gpuc_onnx_node *n, int rank, int64_t min);

#endif
