/* SPDX-License-Identifier: Apache-2.0 */
/* Axes of resize, and the positions that their elements come from (resize_position.c). */
#ifndef GPUC_TOPI_IMAGE_RESIZE_H
#define GPUC_TOPI_IMAGE_RESIZE_H

#include "op/scale.h"
#include "topi/util.h"

bool gpuc_topi_resize_crops(const gpuc_op_call *call);
double gpuc_topi_resize_scale_of(const gpuc_op_call *call, int axis);
/* The type in which positions and sums are computed. */
gpuc_dtype gpuc_topi_resize_type(const gpuc_op_call *call);
gpuc_expr gpuc_topi_resize_real(const gpuc_op_call *call, double v);
gpuc_expr gpuc_topi_resize_as_real(const gpuc_op_call *call, gpuc_expr e);

/* How an axis is resized: by p / q. Products of extents and positions need 64 bits, which indices are not
 * sure to get where symbols are among them; unsigned numbers are. */
typedef struct gpuc_resize_scale {
    gpuc_expr in, out, p, q;
    gpuc_dtype t;
} gpuc_resize_scale;
gpuc_resize_scale gpuc_topi_resize_scaling(const gpuc_op_call *call, int axis);

/* Where an output position comes from, in input coordinates: numerator / denominator - lift, or a real
 * number. */
typedef struct gpuc_resize_position {
    gpuc_expr numerator, denominator, real;
    int64_t lift;
} gpuc_resize_position;
gpuc_resize_position gpuc_topi_resize_source(const gpuc_op_call *call, gpuc_expr y, int axis);
/* The element nearest to it, by the call's rounding; may be outside. */
gpuc_expr gpuc_topi_resize_nearest(const gpuc_op_call *call, gpuc_resize_position x, int axis);
/* The element at or before it, and how far behind that it is. */
void gpuc_topi_resize_split(const gpuc_op_call *call, gpuc_resize_position x, gpuc_expr *element,
                            gpuc_expr *part);

#endif
