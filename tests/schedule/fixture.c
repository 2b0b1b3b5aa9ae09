/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include <string.h>

void run_ok(void (*body)(gpuc_ctx *ctx, void *arg), void *arg)
{
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    gpuc_status status = gpuc_ctx_protect(ctx, body, arg);
    if (status) {
        print_error("%s\n  raised at %s:%d\n", gpuc_status_message(status), gpuc_status_file(status),
                    gpuc_status_line(status));
        gpuc_status_release(status);
        gpuc_ctx_destroy(ctx);
        fail();
    }
    gpuc_ctx_destroy(ctx);
}

static void check_words(gpuc_status status, const char *words)
{
    if (!status) fail_msg("no error was raised; expected: %s", words);
    const char *message = gpuc_status_message(status);
    char word[256];
    while (*words) {
        size_t n = strcspn(words, "|");
        assert_true(n < sizeof word);
        memcpy(word, words, n);
        word[n] = 0;
        if (!strstr(message, word)) fail_msg("'%s' is not in the message: %s", word, message);
        words += n + (words[n] == '|');
    }
    gpuc_status_release(status);
}

void run_error(const char *words, void (*body)(gpuc_ctx *ctx, void *arg), void *arg)
{
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    check_words(gpuc_ctx_protect(ctx, body, arg), words);
    gpuc_ctx_destroy(ctx);
}

void expect_error(gpuc_ctx *ctx, const char *words, void (*body)(gpuc_ctx *ctx, void *arg), void *arg)
{
    check_words(gpuc_ctx_protect(ctx, body, arg), words);
}

void expect_text(const char *got, const char *want)
{
    const char *p = got, *q = want;
    for (;; p++, q++) {
        p += strspn(p, " \n");
        q += strspn(q, " \n");
        if (*p != *q) fail_msg("the text is\n%s\nand differs from what is expected at\n%.80s", got, q);
        if (!*p) return;
    }
}
