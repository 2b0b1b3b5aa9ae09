/* SPDX-License-Identifier: Apache-2.0 */
/* Runs Relay functions operator by operator on constants, so that a module can be compared with what a pass
 * made of it. Every operator goes through its definition and the evaluator, or through the arithmetic that
 * stands for it. */
#ifndef GPUC_TESTS_RELAY_PASS_INTERP_H
#define GPUC_TESTS_RELAY_PASS_INTERP_H

#include "../relay/fixture.h"

/* fn is a FUNCTION; results (the fields of a tuple one by one) are pushed to outs as constants. Raises. */
void interp_run(gpuc_ctx *ctx, gpuc_rmodule *m, gpuc_rexpr *fn, int n, gpuc_rexpr *const *args,
                gpuc_ptrs *outs);
/* Random arguments for the parameters of fn. */
gpuc_rexpr **interp_args(gpuc_ctx *ctx, gpuc_rexpr *fn, uint64_t seed);
/* Both must agree in type, and elementwise within atol + rtol*|b|; NaNs agree. Fails the test, naming the
 * element. */
void interp_expect_close(gpuc_ctx *ctx, const gpuc_rexpr *a, const gpuc_rexpr *b, double rtol, double atol);
/* main of both modules gives the same results on random arguments. */
void interp_expect_equal(gpuc_ctx *ctx, gpuc_rmodule *a, gpuc_rmodule *b, uint64_t seed, double tolerance);

#endif
