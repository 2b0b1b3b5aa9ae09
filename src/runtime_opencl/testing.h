/* SPDX-License-Identifier: Apache-2.0 */
/* For tests; no part of the product calls it. */
#ifndef GPUC_CL_TESTING_H
#define GPUC_CL_TESTING_H

#include <gpuc/runtime.h>

/* Joins the device kind with functions found by name ("clFinish") instead of the system's loader. */
GPUC_NODISCARD gpuc_status gpuc_cl_register_with(gpuc_runtime *rt,
                                                 void *(*find)(void *user, const char *name), void *user);

#endif
