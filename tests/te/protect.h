/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the body of a test in a context of its own, where it may raise. */
#ifndef GPUC_TESTS_TE_PROTECT_H
#define GPUC_TESTS_TE_PROTECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <gpuc/ctx.h>

typedef void test_body(gpuc_ctx *ctx);

static inline void call_body(gpuc_ctx *ctx, void *arg)
{
    (*(test_body **)arg)(ctx);
}

static inline void run_ok(test_body *body)
{
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, call_body, &body);
    if (status) fail_msg("%s", gpuc_status_message(status));
    gpuc_ctx_destroy(ctx);
}

#endif
