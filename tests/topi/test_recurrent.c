/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers by their schedules, for several cores: steps that these share, sequences that go together. */
#include "../codegen/run.h"
#include "on_device.h"

static void cases_of_family(void **state)
{
    size_t n = 0;
    (void)state;
    while (op_cases_rnn[n].op) n++;
    on_device_check_all(op_cases_rnn, n);
}

int main(int argc, char **argv)
{
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases_of_family)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return run_end(failed);
}
