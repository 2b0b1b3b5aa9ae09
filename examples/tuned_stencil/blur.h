/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BLUR_H
#define BLUR_H

#include <gpuc/tune.h>

/* Means of 3 x 3 neighbours: in [rows + 2, columns + 2] -> out [rows, columns], float32. */
extern const gpuc_tune_template blur_template;

#endif
