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

#endif
