/* SPDX-License-Identifier: Apache-2.0 */
/* test_cts DEVICE [PART]: exit code 77 if there is no such device. The part "hazard" does what a checker must
 * report, and is not among those that run by themselves. */
#include <stdio.h>
#include <string.h>

#include "cts.h"

int main(int argc, char **argv)
{
    if (!cts_available(argc, argv)) return 77;
    const struct {
        const char *name;
        const struct CMUnitTest *tests;
        size_t count;
    } parts[] = {
        {"memory", cts_memory_tests, cts_num_memory_tests},
        {"plans", cts_plan_tests, cts_num_plan_tests},
        {"streams", cts_stream_tests, cts_num_stream_tests},
        {"sessions", cts_session_tests, cts_num_session_tests},
        {"slices", cts_slice_tests, cts_num_slice_tests},
        {"faults", cts_fault_tests, cts_num_fault_tests},
        {"loops", cts_loop_tests, cts_num_loop_tests},
        {"prepare", cts_prepare_tests, cts_num_prepare_tests},
        {"hazard", cts_hazard_tests, cts_num_hazard_tests},
    };
    int failed = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc < 3 ? parts[i].tests != cts_hazard_tests : strcmp(argv[2], parts[i].name) == 0)
            failed += _cmocka_run_group_tests(parts[i].name, parts[i].tests, parts[i].count, NULL, NULL);
    cts_cleanup();
    return failed ? 1 : 0;
}
