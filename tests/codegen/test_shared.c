/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that differ in whole numbers only, on devices: alone in a module and beside each other they compute
 * the same, and on drivers that compile while the program waits they are one. */
#include <stdio.h>
#include <string.h>

#include "lower/lower.h"
#include "run.h"
#include "tir/tir.h"

enum { SIZE = 4096, WORDS = 128 };

/* Sums over a window: %s name, then groups, row, window, step. */
static const char windows[] = "func %s(A: int32[4096] global, C: int32[128] global) {\n"
                              "  for bx in 0..%d bind blockIdx.x {\n    for tx in 0..8 bind threadIdx.x {\n"
                              "      let at = (bx*8 + tx) / %d\n      C[bx*8 + tx] = 0\n"
                              "      for k in 0..%d {\n"
                              "        C[bx*8 + tx] = C[bx*8 + tx] + A[(at + k)*%d + tx] * 3\n      }\n"
                              "    }\n  }\n}\n";
/* Not one with those above: another number of the arithmetic. */
static const char others[] = "func %s(A: int32[4096] global, C: int32[128] global) {\n"
                             "  for bx in 0..%d bind blockIdx.x {\n    for tx in 0..8 bind threadIdx.x {\n"
                             "      C[bx*8 + tx] = A[bx*8 + tx + %d] / %d - min(A[%d], A[tx*%d])\n"
                             "    }\n  }\n}\n";

static const struct {
    const char *name, *text;
    int numbers[5];
} kernels[] = {
    {"first", windows, {16, 20, 40, 21}},  {"second", windows, {16, 30, 41, 13}},
    {"third", windows, {12, 25, 43, 62}},  {"short", windows, {16, 20, 3, 21}},
    {"fourth", others, {16, 5, 7, 11, 5}}, {"fifth", others, {16, 1000, 9, 11, 17}},
    {"equal", windows, {16, 20, 40, 21}},
};
enum { COUNT = sizeof kernels / sizeof *kernels };

static void fill(int32_t *a, int32_t *c)
{
    for (int i = 0; i < SIZE; i++) a[i] = i * 7919 % 10007 - 5000;
    for (int i = 0; i < WORDS; i++) c[i] = -1;
}

static void computes_the_same(gpuc_ctx *ctx, void *arg)
{
    const gpuc_tir_func *all[COUNT];
    int files = 0;
    for (int i = 0; i < COUNT; i++) {
        const int *n = kernels[i].numbers;
        char text[2048];
        snprintf(text, sizeof text, kernels[i].text, kernels[i].name, n[0], n[1], n[2], n[3], n[4]);
        gpuc_tir_program *p = gpuc_lower(ctx, gpuc_tir_parse(ctx, text, kernels[i].name), run_target(ctx));
        assert_int_equal(p->num_kernels, 1);
        all[i] = p->kernels[0];
    }
    for (int i = 0; i < COUNT; i++) {
        int32_t a[SIZE], alone[WORDS], c[WORDS];
        run_buffer one[] = {{a, sizeof a}, {alone, sizeof alone}}, beside[] = {{a, sizeof a}, {c, sizeof c}};
        fill(a, alone);
        run_kernel(ctx, all[i], one, NULL);
        fill(a, c);
        files = run_linked(ctx, COUNT, all, i, beside, NULL);
        if (memcmp(alone, c, sizeof c) != 0) fail_msg("kernel %s differs beside the others", kernels[i].name);
        assert_true(c[5] != -1);
    }
    *(int *)arg = files;
}

static void shared_kernels_compute_the_same(void **state)
{
    (void)state;
    int files = 0;
    run_in_ctx(computes_the_same, &files);
    if (strcmp(run_target_text, "vulkan") == 0) assert_int_equal(files, COUNT); /* a card's own numbers */
    /* Windows of equal numbers; those with a loop to unroll; the two others. Numbers that are other ones modulo 4 read other
     * elements of texels. */
    if (strcmp(run_target_text, "vulkan/llvmpipe") == 0) assert_int_equal(files, 5);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shared_kernels_compute_the_same)};
    if (!run_begin(argc > 1 ? argv[1] : "vulkan/llvmpipe")) return 77;
    return run_end(cmocka_run_group_tests(tests, NULL, NULL));
}
