/* SPDX-License-Identifier: Apache-2.0 */
/* Launches cut so that bindings hold what each part touches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "abi/window.h"

#define CODE(...)                                                                                            \
    {                                                                                                        \
        .code = (const gpuc_xinstr[]){__VA_ARGS__},                                                          \
        .count = sizeof((gpuc_xinstr[]){__VA_ARGS__}) / sizeof(gpuc_xinstr)                                  \
    }

enum { ROW = 1024, BLOCK = 65536 };

/* Group (x, y) reads rows y * 4 to y * 4 + 3 of the first tensor, and block x of the second. */
#define DIM(n)                                                                                               \
    {                                                                                                        \
        GPUC_XOP_DIM, n                                                                                      \
    }
#define K(v)                                                                                                 \
    {                                                                                                        \
        GPUC_XOP_CONST, v                                                                                    \
    }
#define X(op)                                                                                                \
    {                                                                                                        \
        GPUC_XOP_##op, 0                                                                                     \
    }
static const gpuc_kernel_tensor tensors[] = {
    {.dtype = {2, 32, 1},
     .access = GPUC_ACCESS_READ,
     .alignment = 4,
     .binding = 0,
     .windowed = true,
     .begin = CODE(DIM(2), K(4 * ROW), X(MUL)),
     .end = CODE(DIM(5), K(1), X(ADD), K(4 * ROW), X(MUL))},
    {.dtype = {2, 32, 1},
     .access = GPUC_ACCESS_WRITE,
     .alignment = 4,
     .binding = 1,
     .windowed = true,
     .begin = CODE(DIM(1), K(BLOCK), X(MUL)),
     .end = CODE(DIM(4), K(1), X(ADD), K(BLOCK), X(MUL))},
};
static const gpuc_dtype scalars[] = {{0, 32, 1}};
static const gpuc_kernel kernel = {
    .num_tensors = 2, .num_scalars = 1, .num_bindings = 2, .tensors = tensors, .scalars = scalars};

typedef struct parts {
    const gpuc_launch_shape *l;
    gpuc_arena *arena;
    uint64_t limit, groups;
    int count;
} parts;

static gpuc_status check_part(void *user, const gpuc_groups *g)
{
    parts *p = user;
    for (uint32_t t = 0; t < 2; t++) {
        gpuc_window w;
        assert_null(gpuc_abi_window_of(p->l, g, t, p->arena, &w));
        assert_true(w.begin <= w.end && w.end - w.begin <= p->limit);
        assert_true(w.end <= p->l->tensors[t].offset + p->l->tensors[t].size);
    }
    p->groups += (uint64_t)g->count[0] * g->count[1] * g->count[2];
    p->count++;
    return NULL;
}

static gpuc_status cut(uint64_t limit, parts *p)
{
    static const gpuc_window_tensor at[] = {{0, 256, 100 * 4 * ROW}, {1, 0, 7 * (uint64_t)BLOCK}};
    static const int64_t values[] = {5};
    gpuc_arena arena;
    gpuc_arena_init(&arena, (gpuc_allocator){0});
    gpuc_launch_shape l = {.kernel = &kernel, .tensors = at, .scalars = values, .groups = {7, 100, 1}};
    *p = (parts){.l = &l, .arena = &arena, .limit = limit};
    gpuc_status status = gpuc_abi_launch_cut(&l, (gpuc_window_limits){.range = limit}, &arena, check_part, p);
    gpuc_arena_deinit(&arena);
    return status;
}

static void whole_launches_stay(void **state)
{
    parts p;
    (void)state;
    assert_null(cut(7 * (uint64_t)BLOCK, &p));
    assert_int_equal(p.count, 1);
}

static void both_axes_are_cut(void **state)
{
    parts p;
    (void)state;
    assert_null(cut(BLOCK + 4096, &p)); /* a block, and 16 or 17 groups of rows */
    assert_int_equal(p.groups, 700);
    assert_in_range(p.count, 42, 120);
}

static void one_group_is_too_much(void **state)
{
    parts p;
    (void)state;
    gpuc_status status = cut(BLOCK - 4096, &p);
    assert_non_null(status);
    assert_int_equal(gpuc_status_code(status), GPUC_UNSUPPORTED);
    assert_non_null(strstr(gpuc_status_message(status), "tensor 1 has 458752 bytes"));
    gpuc_status_release(status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_launches_stay),
        cmocka_unit_test(both_axes_are_cut),
        cmocka_unit_test(one_group_is_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
