/* SPDX-License-Identifier: Apache-2.0 */
/* Single operators on the device of a target, by their default schedules, against their references. */
#ifndef GPUC_TESTS_TOPI_ON_DEVICE_H
#define GPUC_TESTS_TOPI_ON_DEVICE_H

#include "cases.h"

/* Of a case whose hi is NaN every 7th float of the first input is one. What the target has no type for is left
 * out. */
void on_device_check_all(const op_case *cases, size_t n);
/* Runs a call of constants by the schedule of its row, and by that of rows without one: fails, saying text, where
 * bytes of the results differ. open: what is compiled for the first, NULL: the call. */
void on_device_check_same(gpuc_ctx *ctx, gpuc_rexpr *call, gpuc_rexpr *open, const char *text);

/* A case at random: the generator starts with the seed. */
typedef struct on_device_case {
    fx_rng rng;
    uint64_t seed;
} on_device_case;
/* The main of a test TARGET [CASES [SEED]]: calls one for cases of the seeds from 1, or SEED, on, each in a context of its
 * own. arg: the on_device_case. */
int on_device_main(int argc, char **argv, int num_cases, void (*one)(gpuc_ctx *ctx, void *arg));
#define CHECK_ALL(cases) on_device_check_all(cases, sizeof(cases) / sizeof(cases)[0])

#endif
