/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation of operators on constants when building. */
#ifndef GPUC_RELAY_EVALUATE_H
#define GPUC_RELAY_EVALUATE_H

#include "relay/relay.h"

/* What evaluations may still use. Each evaluation lowers bytes and work by what it used. */
typedef struct gpuc_relay_budget {
    int64_t bytes;    /* of results; who frees a constant may add its bytes again */
    int64_t work;     /* evaluations of an element, those inside of reductions included */
    int64_t exceeded; /* set to the bytes that a result would have had, when they were too many */
} gpuc_relay_budget;
/* Work that takes the evaluator a minute or so. */
#define GPUC_RELAY_WORK ((int64_t)1 << 33)

/* The result of an operator's call whose arguments are constants, or whose values inference knows: a constant
 * (an alias shares its argument's data), or a tuple of them. NULL if that is not so, if the row has no
 * compute, or if the budget does not allow it. Raises what evaluation raises, with the source's name. */
gpuc_rexpr *gpuc_relay_evaluate_call(gpuc_ctx *ctx, gpuc_rexpr *call, gpuc_relay_budget *budget);

#endif
