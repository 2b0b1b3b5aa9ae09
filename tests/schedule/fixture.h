/* SPDX-License-Identifier: Apache-2.0 */
/* Tests run in a context of their own, under its trap. */
#ifndef GPUC_TESTS_SCHEDULE_FIXTURE_H
#define GPUC_TESTS_SCHEDULE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exprs.h"

/* Runs body(ctx, arg) and fails the test with the message of what was raised. */
void run_ok(void (*body)(gpuc_ctx *ctx, void *arg), void *arg);
/* Runs it and fails the test unless an error is raised whose message contains each of the words (separated by
 * '|'). */
void run_error(const char *words, void (*body)(gpuc_ctx *ctx, void *arg), void *arg);
/* Runs part under a trap inside of a body, wanting an error; what is there after it must be as it was. */
void expect_error(gpuc_ctx *ctx, const char *words, void (*body)(gpuc_ctx *ctx, void *arg), void *arg);
/* Equal but for runs of spaces? Fails the test and prints both. */
void expect_text(const char *got, const char *want);

#endif
