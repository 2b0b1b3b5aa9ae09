/* SPDX-License-Identifier: Apache-2.0 */
/* Common to the tests of the front end: a context per test, expected errors, short ways to build Relay. */
#ifndef GPUC_TESTS_RELAY_FIXTURE_H
#define GPUC_TESTS_RELAY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "relay/evaluate.h"
#include "tir/tir.h"

typedef void fx_body(gpuc_ctx *ctx, void *arg);

/* Rows of a table of tests, each run in a context of its own; an error raised fails the test. */
#define fx_test(fn)                                                                                          \
    {                                                                                                        \
        .name = #fn, .test_func = fx_run_test, .initial_state = (void *)(fn)                                 \
    }
void fx_run_test(void **state);
/* Runs body; it must raise this code with a message that contains each of the words (separated by '|'). */
void fx_expect(gpuc_ctx *ctx, gpuc_code code, const char *words, fx_body *body, void *arg);
void fx_check_status(gpuc_status status, gpuc_code code, const char *words); /* takes it */
/* Equal but for runs of spaces and newlines? Fails and prints both. */
void fx_expect_text(const char *got, const char *want);

/* The text of a file of less than 1 MiB; freed by free(). */
char *fx_read_file(const char *path);
/* A file of rows, each after "====\n", has the text `want` and would now be `got`: fails and prints the first row that
 * differs. With made it is not compared, but written there. */
void fx_check_file(const char *path, const char *want, const char *got, const char *made);

typedef struct fx_rng {
    uint64_t state;
} fx_rng;
uint64_t fx_next(fx_rng *r);
int fx_below(fx_rng *r, int n); /* 0 .. n-1 */
double fx_real(fx_rng *r);      /* -1 .. 1 */

/* FX_DIMS(2, 3): rank, then the dims, for the calls below. */
#define FX_DIMS(...)                                                                                         \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[])                                   \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define FX_SCALAR 0, NULL
const gpuc_rtype *fx_type(gpuc_ctx *ctx, gpuc_dtype t, int ndim, const int64_t *dims);
gpuc_rexpr *fx_var(gpuc_ctx *ctx, const char *name, int ndim, const int64_t *dims); /* float32 */
gpuc_rexpr *fx_floats(gpuc_ctx *ctx, int ndim, const int64_t *dims, const float *v);
gpuc_rexpr *fx_ints(gpuc_ctx *ctx, int n, const int64_t *v); /* int64, 1-D */
/* Numbers in [-1, 1], small integers, or bools, as a constant. */
gpuc_rexpr *fx_random(gpuc_ctx *ctx, const gpuc_rtype *type, fx_rng *r);
/* Attributes from text: strides=[1, 2] alpha=0.5 axis=-1 mode="edge" dtype=float16 scales=[1.0, 2.0] (a point
 * makes a float). NULL or "": none. */
const gpuc_attrs *fx_attrs(gpuc_ctx *ctx, const char *text);
gpuc_rexpr *fx_op(gpuc_ctx *ctx, const char *op, const char *attrs, int n, gpuc_rexpr *const *args);
gpuc_rexpr *fx_op1(gpuc_ctx *ctx, const char *op, const char *attrs, gpuc_rexpr *a);
gpuc_rexpr *fx_op2(gpuc_ctx *ctx, const char *op, gpuc_rexpr *a, gpuc_rexpr *b);
/* A module whose main has these parameters. */
gpuc_rmodule *fx_module(gpuc_ctx *ctx, gpuc_rexpr *body, int n, gpuc_rexpr *const *params);
const char *fx_text(gpuc_ctx *ctx, gpuc_rexpr *e);
const char *fx_module_text(gpuc_ctx *ctx, const gpuc_rmodule *m);
double fx_element(gpuc_ctx *ctx, const gpuc_rexpr *constant, int64_t i);
int64_t fx_count(const gpuc_rexpr *constant);

#endif
