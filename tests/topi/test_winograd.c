/* SPDX-License-Identifier: Apache-2.0 */
/* Winograd convolutions by their schedules, on the device of a target against their reference: shapes that
 * tiles, vectors and subgroups do not divide. */
#include "../codegen/run.h"
#include "on_device.h"

static void cases_of_family(void **state)
{
    size_t n = 0;
    (void)state;
    while (op_cases_winograd[n].op) n++;
    on_device_check_all(op_cases_winograd, n);
}

static void many_channels(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"nn.conv_winograd", "tile=[4, 4] padding=[1, 1, 1, 1] data_layout=\"NHWC\" kernel_layout=\"HWOIo\"",
         "float32[1, 29, 27, 48] float32[6, 6, 2, 48, 32]", .tolerance = 1e-3},
        {"nn.conv_winograd",
         "tile=[2, 2] padding=[1, 1, 1, 1] data_layout=\"NHWC\" kernel_layout=\"HWOIo\" channels=88",
         "float32[3, 7, 7, 36] float32[4, 4, 3, 36, 32]", .tolerance = 1e-3},
        {"nn.conv_winograd", "tile=[4, 4] padding=[1, 1, 1, 1]",
         "float32[1, 33, 29, 17] float32[6, 6, 33, 35]", .tolerance = 1e-3},
        {"nn.conv_winograd", "tile=[4, 4] padding=[1, 1, 1, 1]",
         "float32[1, 33, 25, 21] float32[6, 6, 33, 35]", .tolerance = 1e-3},
    };
    CHECK_ALL(cases);
}

int main(int argc, char **argv)
{
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases_of_family), cmocka_unit_test(many_channels)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return run_end(failed);
}
