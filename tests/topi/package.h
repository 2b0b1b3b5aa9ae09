/* SPDX-License-Identifier: Apache-2.0 */
/* Packages on the device of a target. */
#ifndef GPUC_TESTS_TOPI_PACKAGE_H
#define GPUC_TESTS_TOPI_PACKAGE_H

#include <gpuc/runtime.h>

#include "cases.h"

/* A session of the package, whose kernels are validated; the caller releases it. */
gpuc_session *package_start(gpuc_ctx *ctx, const char *path);
void package_set_input(gpuc_ctx *ctx, gpuc_session *s, int number, const gpuc_rexpr *constant);
const gpuc_rexpr *package_output(gpuc_ctx *ctx, gpuc_session *s, int number);

/* A random call. open: a number for each dimension of an input that only a run knows, the same one where they are
 * equal; 0: the build knows it. */
typedef struct package_call {
    op_case c;
    char open[8][8];
    op_trial trial;
} package_call;
typedef void (*package_random_fn)(gpuc_ctx *ctx, fx_rng *r, package_call *out);
/* The main function of a test of random calls, several in a package, against their references. Arguments: target, how
 * many packages, the first seed. */
int package_main(int argc, char **argv, package_random_fn make);

#endif
