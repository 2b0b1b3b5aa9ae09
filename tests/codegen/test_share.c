/* SPDX-License-Identifier: Apache-2.0 */
/* Which OpenCL kernels become one function, and with which arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "codegen_opencl/private.h"

typedef struct pair {
    gpuc_kernel_code kernels[2];
    gpuc_opencl_entry entries[2];
} pair;

static pair share(gpuc_ctx *ctx, const char *body_a, const char *body_b)
{
    const char *bodies[] = {body_a, body_b}, *names[] = {"first", "second"};
    pair p;
    memset(&p, 0, sizeof p);
    for (int i = 0; i < 2; i++) {
        const char *text = gpuc_ctx_printf(ctx,
                                           "__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"
                                           "void %s(__global float *restrict T, int T_offset)\n{\n%s}\n",
                                           names[i], bodies[i]);
        p.kernels[i] = (gpuc_kernel_code){.meta.name = names[i], .bytes = text, .size = strlen(text)};
        p.entries[i] = (gpuc_opencl_entry){.name = names[i], .text = text};
    }
    gpuc_opencl_share(ctx, 2, p.kernels, p.entries);
    return p;
}

static bool is_one(const pair *p)
{
    return p->entries[0].text && !p->entries[1].text && !strcmp(p->entries[1].name, "first");
}

static void numbers_become_arguments(void **state)
{
    (void)state;
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    pair p =
        share(ctx, "    for (int i = 0; i < 480; i++) {\n        T[i * 30 + 480 + 7] = 1.5e-05f;\n    }\n",
              "    for (int i = 0; i < 960; i++) {\n        T[i * 40 + 960 + 7] = 1.5e-05f;\n    }\n");
    assert_true(is_one(&p));
    assert_int_equal(p.entries[0].num_values, 2); /* 480 occurs twice, 7 is equal in both */
    assert_int_equal(p.entries[0].values[0], 480);
    assert_int_equal(p.entries[0].values[1], 30);
    assert_int_equal(p.entries[1].values[0], 960);
    assert_int_equal(p.entries[1].values[1], 40);
    assert_non_null(strstr(p.entries[0].text, "int T_offset, int number0, int number1)\n{"));
    assert_non_null(strstr(p.entries[0].text, "i < number0; i++"));
    assert_non_null(strstr(p.entries[0].text, "T[i * number1 + number0 + 7] = 1.5e-05f;"));
    gpuc_ctx_destroy(ctx);
}

static void equal_kernels_are_one(void **state)
{
    (void)state;
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    pair p = share(ctx, "    T[3] = 2.0f;\n", "    T[3] = 2.0f;\n");
    assert_true(is_one(&p));
    assert_int_equal(p.entries[1].num_values, 0);
    gpuc_ctx_destroy(ctx);
}

/* A variable may have any name. */
static void names_of_arguments_are_free(void **state)
{
    (void)state;
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    pair p = share(ctx, "    const int number0 = 5;\n    T[number0] = 2.0f;\n",
                   "    const int number0 = 6;\n    T[number0] = 2.0f;\n");
    assert_true(is_one(&p));
    assert_non_null(strstr(p.entries[0].text, "const int number0 = number_0;"));
    gpuc_ctx_destroy(ctx);
}

/* If a loop is unrolled, the private array that it indexes becomes registers; else its number of iterations
 * need not be known. */
static void loops_over_private_arrays_stay(void **state)
{
    (void)state;
    static const struct {
        const char *to;
        bool one;
    } rows[] = {{"T[k + 100]", true}, {"conv[0]", true}, {"conv[k]", false}, {"conv[i_1]", false}};
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *bodies[2];
        for (int n = 0; n < 2; n++)
            bodies[n] = gpuc_ctx_printf(ctx,
                                        "    float conv[8];\n"
                                        "    for (int k = 0; k < %d; k++) {\n        %s = T[k];\n    }\n",
                                        7 + n, rows[i].to);
        pair p = share(ctx, bodies[0], bodies[1]);
        if (is_one(&p) != rows[i].one) fail_msg("%s", rows[i].to);
    }
    gpuc_ctx_destroy(ctx);
}

/* What the compiler makes better code of if it knows it. */
static void these_stay(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
    } rows[] = {
        {"    float conv[8];\n", "    float conv[6];\n"},
        {"    conv[T[1] + 8] = 0.0f;\n", "    conv[T[1] + 6] = 0.0f;\n"},
        {"    for (int k = 0; k < 3; k++) {\n    }\n", "    for (int k = 0; k < 5; k++) {\n    }\n"},
        {"    for (int i = 0; i < 99; i++) {\n        T[i / 20] = 0.0f;\n    }\n",
         "    for (int i = 0; i < 99; i++) {\n        T[i / 30] = 0.0f;\n    }\n"},
        {"    T[0] = 1.0f;\n", "    T[0] = 2.0f;\n"},
        {"    T[0] = 1e5f;\n", "    T[0] = 1e6f;\n"},
        {"    T[0] = (float)10L;\n", "    T[0] = (float)20L;\n"},
        {"    T[0] = (float)2147483648;\n", "    T[0] = (float)2147483649;\n"},
        {"    const int a4 = 1;\n", "    const int a5 = 1;\n"},
    };
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pair p = share(ctx, rows[i].a, rows[i].b);
        if (!p.entries[0].text || !p.entries[1].text || p.entries[0].num_values)
            fail_msg("row %zu became one function", i);
    }
    gpuc_ctx_destroy(ctx);
}

/* Each launch sets all arguments. */
static void there_are_not_too_many(void **state)
{
    (void)state;
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    const char *a = "", *b = "";
    for (int i = 0; i < 60; i++) {
        a = gpuc_ctx_printf(ctx, "%s    T[%d] = 0.0f;\n", a, 100 + i);
        b = gpuc_ctx_printf(ctx, "%s    T[%d] = 0.0f;\n", b, 1000 + i * i);
    }
    pair p = share(ctx, a, b);
    assert_non_null(p.entries[1].text);
    assert_int_equal(p.entries[0].num_values, 0);
    gpuc_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_become_arguments),    cmocka_unit_test(equal_kernels_are_one),
        cmocka_unit_test(names_of_arguments_are_free), cmocka_unit_test(these_stay),
        cmocka_unit_test(there_are_not_too_many),      cmocka_unit_test(loops_over_private_arrays_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
