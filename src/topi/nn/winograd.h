/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd's minimal filtering: m sums of r products each, with m + r - 1 multiplications. */
#ifndef GPUC_TOPI_NN_WINOGRAD_H
#define GPUC_TOPI_NN_WINOGRAD_H

#include "topi/util.h"

enum { GPUC_WINOGRAD_MAX = 8 }; /* points */

/* y = at ((g w) * (bt x)) is the convolution of x, as many elements as there are points, with a window w of
 * r. */
typedef struct gpuc_winograd {
    int tile, window, points; /* m, r, m + r - 1 */
    double bt[GPUC_WINOGRAD_MAX][GPUC_WINOGRAD_MAX], g[GPUC_WINOGRAD_MAX][GPUC_WINOGRAD_MAX],
        at[GPUC_WINOGRAD_MAX][GPUC_WINOGRAD_MAX];
} gpuc_winograd;

/* tile and window are 1 or more, and points at most GPUC_WINOGRAD_MAX. */
gpuc_winograd gpuc_topi_winograd_of(int tile, int window);

#endif
