/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of simplify_expr, by subject: each gets a call of its operator, and returns what stands for it; NULL: it does not
 * fit. */
#ifndef GPUC_RELAY_PASS_COMMON_RULES_H
#define GPUC_RELAY_PASS_COMMON_RULES_H

#include "relay_pass/common/util.h"

typedef struct gpuc_relay_pass_rule {
    const char *name;
    const char *op; /* NULL: any that is an alias */
    gpuc_rexpr *(*apply)(gpuc_ctx *ctx, gpuc_rexpr *e);
} gpuc_relay_pass_rule;

extern const gpuc_rule_table gpuc_relay_pass_rules_of_arithmetic, gpuc_relay_pass_rules_of_casts,
    gpuc_relay_pass_rules_of_shapes;

#endif
