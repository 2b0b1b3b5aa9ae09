/* SPDX-License-Identifier: Apache-2.0 */
/* Many lowered functions on the device at once: their kernels become one program, so that compilers start
 * rarely. */
#ifndef GPUC_TESTS_CODEGEN_RANDOM_RUN_H
#define GPUC_TESTS_CODEGEN_RANDOM_RUN_H

#include "../schedule/compare.h"
#include "../schedule/random_schedule.h"
#include "run.h"

typedef struct random_item {
    gpuc_ctx *ctx; /* everything of the item */
    const expr_case *c;
    uint64_t seed;
    random_schedule r;
    random_counts counts;
    gpuc_tir_func *scheduled; /* its name is unique in the program */
    gpuc_tir_program *program;
    gpuc_kernel_code *code; /* of each kernel */
    data_set want;
    gpuc_status result; /* NULL: computes what is wanted */
    double ms;          /* that it ran, with what the driver compiles on first use */
} random_item;

/* Links, loads and runs; each item has a result then. If they cannot be built together, one by one. */
void random_run(random_item *const *items, int n);

#endif
