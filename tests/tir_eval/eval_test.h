/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_TESTS_TIR_EVAL_TEST_H
#define GPUC_TESTS_TIR_EVAL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tir/tir.h"

/* Runs body with a fresh context; fails on what it raises. */
static inline void with_context(void (*body)(gpuc_ctx *ctx, void *arg), void *arg)
{
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, body, arg);
    if (status) print_error("%s\n", gpuc_status_message(status));
    assert_null(status);
    gpuc_ctx_destroy(ctx);
}

static inline gpuc_expr I(gpuc_ctx *c, int64_t v)
{
    return gpuc_int(c, v);
}

static inline gpuc_tir_buffer *buffer1(gpuc_ctx *c, const char *name, gpuc_dtype t, int64_t n,
                                       gpuc_scope scope)
{
    gpuc_expr shape = I(c, n);
    return gpuc_tir_buffer_make(c, name, t, 1, &shape, scope);
}

static inline gpuc_stmt loop(gpuc_ctx *c, gpuc_expr var, int64_t extent, gpuc_stmt body)
{
    return gpuc_tir_for_(c, var, I(c, 0), I(c, extent), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, body);
}

static inline gpuc_stmt threads(gpuc_ctx *c, gpuc_expr var, int64_t extent, gpuc_thread_tag tag,
                                gpuc_stmt body)
{
    return gpuc_tir_for_(c, var, I(c, 0), I(c, extent), GPUC_LOOP_THREAD, tag, body);
}

/* data of each buffer: of the size that its shape says */
static inline gpuc_status run_with(gpuc_ctx *c, gpuc_tir_func *f, gpuc_stmt body, int n,
                                   gpuc_tir_buffer *const *buffers, void *const *data, bool check)
{
    gpuc_tir_arg args[8];
    f->name = f->label = "f";
    f->num_buffers = n;
    f->buffers = buffers;
    f->body = body;
    for (int i = 0; i < n; i++) {
        int64_t elements = 1, size;
        for (int d = 0; d < buffers[i]->ndim; d++) {
            assert_true(gpuc_expr_is_int(buffers[i]->shape[d], &size));
            elements *= size;
        }
        args[i] = (gpuc_tir_arg){data[i], (size_t)elements * gpuc_dtype_bytes(buffers[i]->dtype)};
    }
    return gpuc_ev_run(c, f, args, NULL, check);
}

/* The message has both texts. */
static inline void expect_failure(gpuc_status s, const char *a, const char *b)
{
    assert_non_null(s);
    const char *text = gpuc_status_message(s);
    if (!strstr(text, a) || !strstr(text, b))
        fail_msg("the message is '%s', without '%s' and '%s'", text, a, b);
    gpuc_status_release(s);
}

#endif
