/* SPDX-License-Identifier: Apache-2.0 */
/* The simplest interpreter: one iteration after the other, one value at a time, by tir/value.h. */
#ifndef GPUC_TESTS_TIR_EVAL_REFERENCE_H
#define GPUC_TESTS_TIR_EVAL_REFERENCE_H

#include "tir/tir.h"
#include "tir/value.h"

enum { REF_MAX_VARS = 64, REF_MAX_BUFFERS = 32 };

typedef struct ref_run {
    gpuc_ctx *ctx;
    int num_vars, num_buffers;
    gpuc_expr vars[REF_MAX_VARS];
    gpuc_tir_value values[REF_MAX_VARS];
    const gpuc_tir_buffer *buffers[REF_MAX_BUFFERS];
    void *data[REF_MAX_BUFFERS];
    bool out_of_range;
} ref_run;

/* No threads, no calls, no vectors. */
void ref_function(gpuc_ctx *ctx, const gpuc_tir_func *f, const gpuc_tir_arg *args, const int64_t *scalars);
gpuc_tir_value ref_read(gpuc_dtype t, const void *data, int64_t at);
void ref_write(gpuc_dtype t, void *data, int64_t at, gpuc_tir_value v);
int64_t ref_elements(const gpuc_tir_buffer *b);

#endif
