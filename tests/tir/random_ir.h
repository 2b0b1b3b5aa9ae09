/* SPDX-License-Identifier: Apache-2.0 */
/* Random functions that are valid at the nested stage, with every kind of node, for tests of whatever takes a
 * function. They are not meant to be run: indices go anywhere. */
#ifndef GPUC_TESTS_RANDOM_IR_H
#define GPUC_TESTS_RANDOM_IR_H

#include "tir_test.h"

gpuc_tir_func *random_func(gpuc_ctx *ctx, uint64_t seed);

#endif
