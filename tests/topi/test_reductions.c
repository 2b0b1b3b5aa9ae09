/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, and rows that need numbers of themselves, on the device of a target against their references:
 * lengths below, at and above what a vector, a subgroup, a group and a part hold, any axes, NaN. */
#include <math.h>

#include "../codegen/run.h"
#include "on_device.h"

static void rows(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"sum", "axis=[1]", "float32[3, 1]", 0, 1},
        {"sum", "axis=[1]", "float32[5, 3]", 0, 1},
        {"sum", "axis=[1]", "float32[70, 32]", 0, 1},
        {"sum", "axis=[1]", "float32[9, 33]", 0, 1},
        {"sum", "axis=[1]", "float32[7, 128]", 0, 1},
        {"sum", "axis=[1]", "float32[5, 1021]", 0, 1},
        {"sum", "axis=[1]", "float32[17, 4099]", 0, 1},
        {"sum", "axis=[-1] keepdims=1", "float16[3, 5, 1024]", 0, 1},
        {"sum", "axis=[2, 3]", "float32[2, 3, 7, 7]", 0, 1},
        {"sum", "axis=[2, 3, 4]", "int32[2, 2, 3, 5, 12]"},
        {"mean", "axis=[1]", "float32[5, 1021]", 0, 1},
        {"mean", "axis=[1, 3]", "float32[3, 4, 2, 40]", 0, 1},
        {"max", "axis=[1]", "float32[6, 4099]", -3, NAN},
        {"min", "axis=[1]", "int8[6, 1000]", -100, 100},
        {"prod", "axis=[1]", "float32[3, 300]", 0.98, 1.02},
        {"max", "axis=[0]", "int64[260]", -3, 3},
        {"sum", "axis=[1]", "float64[3, 700]", 0, 1},
        {"any", "axis=[1]", "bool[4, 100]"},
        {"argmax", "axis=[1]", "float32[5, 1021]", -3, NAN},
        {"argmin", "axis=[1] select_last_index=1", "int32[5, 256]", -3, 3},
        {"argmax", NULL, "float32[2, 3, 101]"},
    };
    CHECK_ALL(cases);
}

static void columns(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"sum", "axis=[0]", "float32[3, 4]", 0, 1},
        {"sum", "axis=[0]", "float32[1021, 1]", 0, 1},
        {"sum", "axis=[0]", "float32[4099, 3]", 0, 1},
        {"sum", "axis=[0]", "float32[700, 4]", 0, 1},
        {"sum", "axis=[0]", "float32[700, 32]", 0, 1},
        {"sum", "axis=[0]", "float32[33, 100]", 0, 1},
        {"sum", "axis=[0]", "float32[1000, 101]", 0, 1},
        {"sum", "axis=[0]", "float32[7, 4099]", 0, 1},
        {"sum", "axis=[0]", "float32[600, 1024]", 0, 1},
        {"sum", "axis=[0]", "float32[2050, 1000]", 0, 1},
        {"sum", "axis=[0]", "float32[301, 9001]", 0, 1},
        {"sum", "axis=[0, 2]", "float32[31, 2, 5, 1100]", 0, 1},
        {"mean", "axis=[0, 1]", "float16[9, 70, 36]", 0, 1},
        {"sum", "axis=[1, 3]", "float32[3, 4, 5, 6, 7]", 0, 1},
        {"max", "axis=[1]", "float32[4, 40, 66]", -3, NAN},
        {"argmin", "axis=[0]", "float32[300, 68]", -3, NAN},
        {"argmax", "axis=[1]", "int16[3, 65, 5]", -20, 20},
        {"min", "axis=[0]", "uint8[80, 64]", 0, 200},
    };
    CHECK_ALL(cases);
}

static void few_outputs(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"sum", NULL, "float32[1]", 0, 1},
        {"sum", NULL, "float32[200001]", 0, 1},
        {"sum", NULL, "float32[3, 7, 9000]", 0, 1},
        {"sum", "axis=[1]", "float32[2, 150000]", 0, 1},
        {"sum", "axis=[0]", "float32[60000, 3]", 0, 1, .tolerance = 1e-5},
        {"sum", "axis=[1]", "int32[2, 20000, 8]", -5, 5},
        {"max", NULL, "float32[600001]", -3, 3},
        {"argmax", NULL, "float32[600001]", -3, NAN},
        {"argmin", "axis=[0]", "int32[100000, 2]", -1000000, 1000000},
    };
    CHECK_ALL(cases);
}

static void products_with_a_vector(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"nn.matmul", NULL, "float32[1, 7] float32[7, 5]", -1, 1},
        {"nn.matmul", NULL, "float32[1, 1021] float32[1021, 1000]", 0, 1},
        {"nn.matmul", NULL, "float32[1, 2048] float32[2048, 1]", 0, 1},
        {"nn.matmul", NULL, "float32[700, 300] float32[300]", 0, 1},
        {"nn.matmul", NULL, "float32[3, 1, 64] float32[3, 64, 130]", 0, 1},
        {"nn.matmul", NULL, "float32[3, 1, 64] float32[64, 130]", 0, 1},
        {"nn.matmul", NULL, "float16[1, 100] float16[100, 70]", 0, 1},
        {"nn.matmul", NULL, "int8[1, 100] int8[100, 70]", -9, 9},
        {"nn.dense", NULL, "float32[1, 1021] float32[130, 1021]", 0, 1},
        {"nn.dense", NULL, "float32[130, 1021] float32[1, 1021]", 0, 1},
    };
    CHECK_ALL(cases);
}

static void normalized_rows(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"nn.softmax", NULL, "float32[5, 1]", -9, 9},
        {"nn.softmax", NULL, "float32[5, 10]", -9, 9},
        {"nn.softmax", NULL, "float32[3, 1021]", -9, 9},
        {"nn.softmax", NULL, "float32[9, 1024]", -9, 9},
        {"nn.softmax", NULL, "float32[1, 4099]", -9, 9},
        {"nn.softmax", NULL, "float16[2, 3, 2, 5, 128]", -9, 9},
        {"nn.softmax", NULL, "float64[3, 100]", -9, 9},
        {"nn.softmax", "axis=1", "float32[2, 65, 12]", -9, 9},
        {"nn.softmax", "axis=0", "float32[300, 3]", -9, 9},
        {"nn.log_softmax", NULL, "float32[7, 260]", -9, 9},
        {"nn.l2_normalize", "axis=[1]", "float32[5, 1021]", -2, 2},
        {"nn.l2_normalize", "axis=[2, 3]", "float32[2, 3, 9, 16]", -2, 2},
        {"nn.l2_normalize", "axis=[1]", "float32[2, 40, 50]", -2, 2},
        {"nn.l2_normalize", NULL, "float32[5000]", -2, 2},
    };
    CHECK_ALL(cases);
}

int main(int argc, char **argv)
{
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows), cmocka_unit_test(columns), cmocka_unit_test(few_outputs),
        cmocka_unit_test(products_with_a_vector), cmocka_unit_test(normalized_rows)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return run_end(failed);
}
