/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator for tests: counts live bytes, checks that sizes come back right, fills new memory
 * with garbage, and fails at a chosen call. */
#ifndef GPUC_TESTS_TEST_HEAP_H
#define GPUC_TESTS_TEST_HEAP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/base.h>

typedef struct test_heap {
    size_t live;    /* bytes */
    size_t calls;   /* allocations and growths so far */
    size_t fail_at; /* number of the call that fails, from 1; 0: none */
} test_heap;

typedef struct test_block {
    alignas(max_align_t) size_t size;
} test_block;

static inline void *test_heap_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    test_heap *heap = user;
    test_block *old = ptr ? (test_block *)ptr - 1 : NULL;
    assert_true(old ? old->size == old_size : old_size == 0);
    assert_true(old || new_size > 0);
    if (new_size > 0 && ++heap->calls == heap->fail_at) return NULL;
    test_block *block = NULL;
    if (new_size > 0) {
        if (new_size > SIZE_MAX / 2) return NULL;
        block = malloc(sizeof *block + new_size);
        if (!block) return NULL;
        block->size = new_size;
        memset(block + 1, 0xa5, new_size);
        if (old) memcpy(block + 1, ptr, old_size < new_size ? old_size : new_size);
        heap->live += new_size;
    }
    heap->live -= old_size;
    free(old);
    return block ? block + 1 : NULL;
}

static inline gpuc_allocator test_heap_allocator(test_heap *heap)
{
    return (gpuc_allocator){.resize = test_heap_resize, .user = heap};
}

/* Checks the code and a part of the message, and releases the status. */
static inline void expect_failure(gpuc_status status, gpuc_code code, const char *part)
{
    if (!status) fail_msg("success instead of a failure with '%s'", part);
    if (gpuc_status_code(status) != code || !strstr(gpuc_status_message(status), part))
        fail_msg("%s: %s; expected %s: ...%s...", gpuc_code_name(gpuc_status_code(status)),
                 gpuc_status_message(status), gpuc_code_name(code), part);
    gpuc_status_release(status);
}

static inline void expect_success(gpuc_status status)
{
    if (status) fail_msg("%s", gpuc_status_message(status));
}

#endif
