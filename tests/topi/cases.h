/* SPDX-License-Identifier: Apache-2.0 */
/* What operators are tried on: one table per family in cases/, for the definitions in the evaluator and for
 * kernels on devices. */
#ifndef GPUC_TESTS_TOPI_CASES_H
#define GPUC_TESTS_TOPI_CASES_H

#include "../relay/fixture.h"
#include "ref/ref.h"

/* in lists the inputs: "float32[2, 3] int64[] int32[2]=3,-1", the last of these with its elements. The type T is each of those that the row takes (of types, if
 * that is given), in attrs, too; a small letter is a random extent, the same one wherever it stands. */
typedef struct op_case {
    const char *op, *attrs, *in;
    double lo, hi; /* range of the numbers; 0, 0: -2 to 2 for floats, small integers */
    gpuc_dtypes types;
    double tolerance; /* of floats, relative; 0: a few units in the last place */
    bool specials;    /* infinities, NaN, zeros and halves among the numbers */
    bool constants;   /* the inputs are known when building */
    bool sorted;      /* input 0 ascends along its last dimension */
} op_case;

/* Each ends with an op of NULL. */
#define REF_FAMILY(name) extern const op_case op_cases_##name[];
#include "ref/families.def"
#undef REF_FAMILY
const op_case *op_case_at(size_t i); /* of all families, NULL after the last */
/* May T be this type? A case without T is of the one type that its main input has. */
bool op_case_takes(const op_case *c, const gpuc_op *op, gpuc_dtype t);

/* Constants of the types that the case names, t for T; how many. */
int op_case_inputs(gpuc_ctx *ctx, const op_case *c, gpuc_dtype t, fx_rng *r, gpuc_rexpr **args);
ref_tensor op_case_ref(gpuc_ctx *ctx, const gpuc_rexpr *constant);
/* Fails the test, saying text, where got differs from want by more than slack times the tolerance. */
void op_case_compare(gpuc_ctx *ctx, const op_case *c, const char *text, const gpuc_rexpr *got,
                     const ref_tensor *want, double slack);

/* A case on one type: inputs and what the reference makes of them. */
typedef struct op_trial {
    const op_case *c;
    const char *attrs, *text; /* of the call; for messages */
    int n;
    gpuc_rexpr *args[8]; /* constants */
    ref_call ref;
} op_trial;
void op_trial_make(gpuc_ctx *ctx, const op_case *c, gpuc_dtype t, fx_rng *r, op_trial *out);
/* The same for given inputs. */
void op_trial_of(gpuc_ctx *ctx, const op_case *c, int n, gpuc_rexpr *const *args, op_trial *out);
void op_trial_free(op_trial *t);
/* Compares output i with what the reference made. */
void op_trial_check(gpuc_ctx *ctx, const op_trial *t, int i, const gpuc_rexpr *got, double slack);

#endif
