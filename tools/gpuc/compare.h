/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a result with its reference. Integers, bools, shapes and dtypes are compared exactly; NaN equals
 * NaN. */
#ifndef GPUC_CLI_COMPARE_H
#define GPUC_CLI_COMPARE_H

#include "tensor.h"

/* Floats match if |got - want| <= atol + rtol * |want| everywhere, or
 * norm2(got - want) / norm2(want - mean(want)) <= rel_l2. */
typedef struct cli_tolerance {
    double rtol, atol;
    double rel_l2; /* negative: there is no such rule */
} cli_tolerance;

/* 1e-3 and 1e-5; for 16-bit floats 1e-2 and 1e-3. */
cli_tolerance cli_default_tolerance(gpuc_dtype dtype);

typedef struct cli_difference {
    bool match, same_type;   /* same_type: dtype and dims agree; the rest is set only then */
    size_t wrong, count;     /* elements outside of rtol and atol, elements */
    size_t worst;            /* the element that is furthest outside, or has the largest error */
    double got, want;        /* there */
    double max_abs, max_rel; /* over the elements where both are finite */
    double rel_l2;           /* infinite if some element is not finite in only one of the two */
} cli_difference;

void cli_compare(const gpuc_host_tensor *got, const gpuc_host_tensor *want, cli_tolerance tolerance,
                 cli_difference *out);
/* A text that says what differs, where and by how much. From cli_alloc. */
char *cli_difference_text(const cli_difference *d, const gpuc_host_tensor *got, const gpuc_host_tensor *want,
                          cli_tolerance tolerance);

#endif
