/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL kernels as a function and the entry that calls it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "codegen_opencl/private.h"

static const char *outlined(gpuc_ctx *ctx, const char *text, const char *other, uint32_t threads)
{
    gpuc_kernel_code kernels[2];
    gpuc_opencl_entry entries[2] = {{.name = "f", .text = text}, {.name = other}};
    memset(kernels, 0, sizeof kernels);
    for (int i = 0; i < 3; i++) kernels[0].meta.local_size[i] = i ? 1 : threads;
    gpuc_opencl_outline(ctx, 2, kernels, entries);
    assert_null(entries[1].text);
    return entries[0].text;
}

#define KERNEL                                                                                               \
    "__kernel __attribute__((reqd_work_group_size(1, 1, 1)))\n"                                              \
    "void f(__global const float *restrict A, int A_offset,\n"                                               \
    "       __global float *restrict B, int B_offset, int number0)\n{\n"

static void entries_call_functions(void **state)
{
    (void)state;
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    const char *text = outlined(ctx,
                                KERNEL "    A += A_offset;\n"
                                       "    const int bx = get_group_id(0);\n"
                                       "    const long by = get_group_id(1);\n"
                                       "    B[bx * number0] = A[by];\n}\n",
                                "f_body", 1);
    assert_string_equal(
        text, "__attribute__((noinline)) static void f_body_("
              "__global const float *restrict A, int A_offset, __global float *restrict B, "
              "int B_offset, int number0, const int bx, const long by)\n{\n"
              "    A += A_offset;\n"
              "    B[bx * number0] = A[by];\n}\n\n" KERNEL
              "    f_body_(A, A_offset, B, B_offset, number0, get_group_id(0), get_group_id(1));\n}\n");
    gpuc_ctx_destroy(ctx);
}

static void work_items_of_a_group_stay(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "    const int tx = get_local_id(0);\n}\n",
        "    __local float S[8];\n}\n",
        "    barrier(CLK_LOCAL_MEM_FENCE);\n}\n",
        "    B[0] = sub_group_reduce_add(A[0]);\n}\n",
    };
    gpuc_ctx *ctx;
    assert_null(gpuc_ctx_create(NULL, &ctx));
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        const char *text = gpuc_ctx_printf(ctx, "%s%s", KERNEL, bodies[i]);
        assert_ptr_equal(outlined(ctx, text, "g", 1), text);
    }
    const char *text = KERNEL "    B[0] = A[0];\n}\n";
    assert_ptr_equal(outlined(ctx, text, "g", 8), text);
    gpuc_ctx_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_call_functions),
        cmocka_unit_test(work_items_of_a_group_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
