/* SPDX-License-Identifier: Apache-2.0 */
/* Common to the tests of tir: a context per test, expected errors, random numbers. */
#ifndef GPUC_TESTS_TIR_TEST_H
#define GPUC_TESTS_TIR_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "tir/tir.h"

/* Runs body in a context of its own; an error fails the test. */
static inline void in_ctx(void (*body)(gpuc_ctx *ctx, void *arg))
{
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, body, NULL);
    if (status)
        fail_msg("%s (%s:%d)", gpuc_status_message(status), gpuc_status_file(status),
                 gpuc_status_line(status));
    gpuc_ctx_destroy(ctx);
}

/* A row of the table of tests: one that runs in a context of its own. */
#define ctx_test(fn)                                                                                         \
    {                                                                                                        \
        .name = #fn, .test_func = run_in_ctx, .initial_state = (void *)(fn)                                  \
    }
static inline void run_in_ctx(void **state)
{
    in_ctx((void (*)(gpuc_ctx *, void *)) * state);
}

/* body must raise this code with a message that contains part. */
static inline void expect_raise(gpuc_ctx *ctx, void (*body)(gpuc_ctx *ctx, void *arg), void *arg,
                                gpuc_code code, const char *part)
{
    gpuc_status status = gpuc_ctx_protect(ctx, body, arg);
    if (!status) fail_msg("no error, where '%s' was expected", part);
    if (gpuc_status_code(status) != code || !strstr(gpuc_status_message(status), part))
        fail_msg("expected '%s' (%s), got '%s' (%s)", part, gpuc_code_name(code), gpuc_status_message(status),
                 gpuc_code_name(gpuc_status_code(status)));
    gpuc_status_release(status);
}

static inline void assert_text(gpuc_ctx *ctx, gpuc_expr e, const char *text)
{
    assert_string_equal(gpuc_expr_text(ctx, e), text);
}

typedef struct rng {
    uint64_t state;
} rng;

static inline uint64_t rng_next(rng *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline int rng_below(rng *r, int n)
{
    return (int)(rng_next(r) % (uint64_t)n);
}

static inline gpuc_dtype all_types(int i)
{
    const gpuc_dtype types[] = {GPUC_INT8,    GPUC_INT16,    GPUC_INT32,  GPUC_INT64,   GPUC_UINT8,
                                GPUC_UINT16,  GPUC_UINT32,   GPUC_UINT64, GPUC_FLOAT16, GPUC_FLOAT32,
                                GPUC_FLOAT64, GPUC_BFLOAT16, GPUC_BOOL};
    return types[i];
}
#define NUM_TYPES 13

#endif
