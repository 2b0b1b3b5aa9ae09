/* SPDX-License-Identifier: Apache-2.0 */
/* What public functions check first. */
#ifndef GPUC_BASE_REQUIRE_H
#define GPUC_BASE_REQUIRE_H

#include <gpuc/base.h>

/* Returns an error from the calling function, which gives a status, if its argument is NULL. */
#define GPUC_REQUIRE(argument)                                                                               \
    do {                                                                                                     \
        if (!(argument)) return gpuc_fail(GPUC_INVALID_ARGUMENT, "%s: '%s' is NULL", __func__, #argument);   \
    } while (0)

#endif
