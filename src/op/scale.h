/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_OP_SCALE_H
#define GPUC_OP_SCALE_H

#include <stdint.h>

/* The ratio p / q that a float32 scale stands for. */
typedef struct gpuc_scale {
    int64_t p, q;
} gpuc_scale;
gpuc_scale gpuc_op_scale(double scale);

#endif
