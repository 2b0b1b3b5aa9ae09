/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STENCIL_H
#define STENCIL_H

#include <gpuc/tune.h>

enum { STENCIL_SIZE = 5 };

/* Weighted sums of neighbours: in [rows + 4, columns + 4], weights [5, 5] -> out [rows, columns], float32. */
extern const gpuc_tune_template stencil_template;

#endif
