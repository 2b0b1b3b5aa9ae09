/* SPDX-License-Identifier: Apache-2.0 */
/* An operator on random inputs, and the comparison with its reference. */
#ifndef GPUC_TESTS_TOPI_CASES_H
#define GPUC_TESTS_TOPI_CASES_H

#include "../relay/fixture.h"
#include "ref/ref.h"

typedef struct op_case {
    const char *op, *attrs;
    const char *in; /* "float32[2, 3] int64[]" */
    double lo, hi;  /* range of the numbers; 0, 0: -2 to 2 for floats, small integers */
} op_case;

/* Constants of the types that the case names; how many. */
int op_case_inputs(gpuc_ctx *ctx, const op_case *c, fx_rng *r, gpuc_rexpr **args);
ref_tensor op_case_ref(gpuc_ctx *ctx, const gpuc_rexpr *constant);
/* Fails the test, naming the case, where got differs from want. */
void op_case_compare(gpuc_ctx *ctx, const op_case *c, const gpuc_rexpr *got, const ref_tensor *want);

#endif
