/* SPDX-License-Identifier: Apache-2.0 */
/* Attention on the device of a target against its reference: lengths below, at and above what a vector and a
 * block of keys hold, every kind of bias, rows without a key, scores whose exponentials overflow. */
#include "../codegen/run.h"
#include "on_device.h"

#define SWAPPED "query_axes=[0, 2, 1, 3] key_axes=[0, 2, 3, 1] value_axes=[0, 2, 1, 3] out_axes=[0, 2, 1, 3]"

static void lengths(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"nn.attention", NULL, "float32[1, 1] float32[1, 1] float32[1, 1]"},
        {"nn.attention", NULL, "float32[7, 8] float32[64, 8] float32[64, 8]", .tolerance = 1e-5},
        {"nn.attention", "scale=0.125", "float32[2, 64, 64] float32[2, 128, 64] float32[2, 128, 64]",
         .tolerance = 1e-5},
        {"nn.attention", "scale=0.3", "float32[33, 9] float32[131, 9] float32[131, 17]", .tolerance = 1e-5},
        {"nn.attention", "scale=0.3", "float64[17, 3] float64[19, 3] float64[19, 5]", .tolerance = 1e-5},
        {"nn.attention", SWAPPED, "float32[2, 37, 3, 16] float32[2, 16, 3, 41] float32[2, 41, 3, 16]",
         .tolerance = 1e-5},
        {"nn.attention", NULL, "float32[1, 2, 3, 20, 4] float32[1, 2, 1, 70, 4] float32[1, 2, 1, 70, 4]",
         .tolerance = 1e-5},
        {"nn.attention", "scale=0.2", "float32[130, 65] float32[35, 65] float32[35, 6]", .tolerance = 1e-5},
        {"nn.attention", NULL, "float32[20, 4] float32[0, 4] float32[0, 3]"},
        {"nn.attention", NULL, "float32[0, 4] float32[6, 4] float32[6, 3]"},
        {"nn.attention", NULL, "float32[20, 0] float32[9, 0] float32[9, 3]", .tolerance = 1e-5},
    };
    CHECK_ALL(cases);
}

static void biases(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"nn.attention", "scale=0.125",
         "float32[2, 3, 50, 64] float32[2, 3, 70, 64] float32[2, 3, 70, 64] float32[2, 1, 1, 70]",
         .tolerance = 1e-5},
        {"nn.attention", "scale=0.3",
         "float16[2, 40, 24] float16[2, 50, 24] float16[2, 50, 24] float16[2, 40, 50]", .tolerance = 2e-3},
        {"nn.attention", "fill=-2.0", "float32[33, 12] float32[64, 12] float32[64, 36] bool[33, 64]",
         .tolerance = 1e-5},
        {"nn.attention", "empty_is_zero=1", "float32[70, 5] float32[2, 5] float32[2, 9] bool[70, 2]",
         .tolerance = 1e-5},
        {"nn.attention", NULL, "float32[70, 5] float32[2, 5] float32[2, 9] bool[70, 2]", .tolerance = 1e-5},
        {"nn.attention", NULL, "float32[40, 8] float32[77, 8] float32[77, 8]", -40, 40, .tolerance = 1e-4},
    };
    CHECK_ALL(cases);
}

int main(int argc, char **argv)
{
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(lengths), cmocka_unit_test(biases)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return run_end(failed);
}
