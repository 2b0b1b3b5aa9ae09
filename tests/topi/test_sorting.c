/* SPDX-License-Identifier: Apache-2.0 */
/* The operators that need more than one kernel, on the device of a target, against their references: sizes
 * below, at and above what a tile, a chunk and a work-group hold, equal elements, NaN. */
#include <math.h>

#include "../codegen/run.h"
#include "on_device.h"

static void sorts(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"sort", NULL, "float32[1]", 0, 0},
        {"sort", NULL, "float32[2]", 0, NAN},
        {"sort", NULL, "float32[3, 127]", 0, NAN},
        {"sort", "axis=0", "float32[128, 3]", 0, 0},
        {"sort", "axis=1 is_ascend=0", "float32[2, 129, 2]", 0, NAN},
        {"sort", NULL, "int64[5, 257]", -3, 3},
        {"sort", NULL, "uint8[1000]", 0, 9},
        {"sort", NULL, "float16[1021]", 0, 0},
        {"sort", NULL, "float32[0, 3]", 0, 0},
        {"argsort", "dtype=int32 axis=0", "int32[4096]", -20, 20},
        {"argsort", "dtype=int64 is_ascend=0", "int8[2, 3001]", -5, 5},
        {"argsort", "dtype=int32", "float64[300]", 0, 0},
        {"argsort", "dtype=int32", "bool[200]", 0, 0},
        {"topk", "dtype=int64 k=1", "float32[7, 1000]", 0, 0},
        {"topk", "dtype=int32 k=5 axis=0 largest=0", "float32[700, 3]", 0, NAN},
        {"topk", "dtype=int64 k=200", "int32[5, 1500]", -9, 9},
        {"topk", "dtype=int64 k=0", "float32[3, 4]", 0, 0},
        {"topk", "dtype=int64 k=128", "float16[128]", 0, 0},
        {"invert_permutation", NULL, "int32[5000]", 0, 9000},
        {"searchsorted", "right=1", "float32[70001] float32[301]", -900, 900, .sorted = true},
        {"searchsorted", "dtype=int64", "int32[30, 129] int32[30, 65]", -90, 90, .sorted = true},
    };
    CHECK_ALL(cases);
}

static void scans(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"cumsum", NULL, "float32[1]", 0, 0},
        {"cumsum", "axis=1", "float32[3, 128]", 0, 0},
        {"cumsum", "axis=0 exclusive=1", "int32[129, 2]", 0, 0},
        {"cumsum", "reverse=1", "float32[1000]", 0, 0},
        {"cumsum", "axis=-1 reverse=1 exclusive=1", "int64[2, 2, 257]", 0, 0},
        {"cumsum", NULL, "int32[40000]", 0, 0},
        {"cumsum", "axis=1", "float16[2, 300]", -0.1, 0.1},
        {"cumsum", NULL, "int8[500]", -1, 1},
        {"cumsum", NULL, "float32[0]", 0, 0},
        {"cumprod", "axis=1", "float32[2, 200]", 0.95, 1.05},
        {"cumprod", "exclusive=1", "int32[19]", 1, 2},
    };
    CHECK_ALL(cases);
}

static void finds(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"argwhere", NULL, "int32[1]", 0, 1},
        {"argwhere", NULL, "bool[40, 50]", 0, 0},
        {"argwhere", NULL, "float32[2, 64]", 0, NAN},
        {"argwhere", NULL, "int64[20001]", 0, 1},
        {"argwhere", NULL, "float32[0, 4]", 0, 0},
        {"compress", "axis=0", "float32[300, 3] bool[300]", 0, 0},
        {"compress", "axis=1", "int8[3, 129] bool[128]", 0, 0},
        {"compress", NULL, "float16[7] bool[0]", 0, 0},
        {"unique", NULL, "int32[1]", 0, 0},
        {"unique", NULL, "int64[1500]", -40, 40},
        {"unique", "sorted=0", "uint8[1000]", 0, 200},
        {"unique", NULL, "float32[300]", 0, NAN},
        {"unique", "axis=0", "int32[200, 3]", 0, 3},
        {"unique", "axis=1 sorted=0", "bool[5, 130]", 0, 0},
        {"unique", NULL, "float16[0]", 0, 0},
    };
    CHECK_ALL(cases);
}

static void gathers(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"take", "axis=1 mode=\"wrap\"", "float32[3, 50] int64[70]", -200, 200},
        {"gather", "axis=0", "int8[100, 3] int64[250, 3]", -120, 120},
        {"gather_nd", NULL, "float16[30, 20, 5] int32[40, 2]", -40, 40},
        {"gather_nd", "batch_dims=1", "float32[3, 40] int64[3, 70, 1]", -40, 39},
        {"adv_index", NULL, "float32[50, 40] int64[30, 1] int32[20]", -40, 39},
        {"one_hot", "depth=37 axis=0", "int32[50] uint8[] uint8[]", -40, 40},
    };
    CHECK_ALL(cases);
}

static void scatters(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"scatter_elements", "axis=0", "float32[1000] int64[300] float32[300]", -1200, 1200},
        {"scatter_elements", "axis=0", "float32[7] int32[3000] float32[3000]", -7, 6},
        {"scatter_elements", "axis=1 reduction=\"add\"", "float32[3, 40] int64[2, 500] float32[2, 500]", -40,
         39},
        {"scatter_elements", "reduction=\"mul\"", "int32[50, 3] int32[130, 3] int32[130, 3]", -2, 2},
        {"scatter_elements", "reduction=\"max\"", "int8[60] int64[400] int8[400]", -60, 60},
        {"scatter_elements", "reduction=\"min\"", "float16[60] int64[200] float16[200]", -70, 70},
        {"scatter_elements", "reduction=\"add\"", "int64[3] int64[2000] int64[2000]", -3, 2},
        {"scatter_nd", NULL, "float32[40, 50, 3] int64[70, 2] float32[70, 3]", -40, 45},
        {"scatter_nd", "reduction=\"add\"", "float32[10, 5] int32[700, 1] float32[700, 5]", -10, 9},
        {"scatter_nd", "reduction=\"max\"", "uint8[9, 4] int64[20, 10, 1] uint8[20, 10, 4]", 0, 9},
        {"sparse_to_dense", "output_shape=[30, 40]", "int32[300, 2] float32[300] float32[]", -2, 45},
        {"tensor_scatter", "axis=1", "float32[3, 60, 8] float32[3, 7, 8] int64[3]", -10, 70},
    };
    CHECK_ALL(cases);
}

/* Extents, indices and values at random, along each axis, with rows and slots that tasks share or own alone. */
static void scatters_at_random(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"scatter_elements", "axis=0", "float32[a, b] int64[n, b] float32[n, b]", -3, 3},
        {"scatter_elements", "axis=0 reduction=\"add\"", "int32[a, b] int64[n, b] int32[n, b]", -3, 3},
        {"scatter_elements", "axis=1 reduction=\"mul\"",
         "int64[a, b, c, d] int32[a, n, c, d] int64[a, n, c, d]", -3, 3},
        {"scatter_elements", "axis=2 reduction=\"max\"",
         "float32[40, 2, c] int64[30, 1, n] float32[30, 1, n]", -3, 3},
        {"scatter_elements", "axis=1 reduction=\"min\"", "uint8[1, b, 1] int64[1, n, 1] uint8[1, n, 1]", 0,
         9},
        {"scatter_elements", "axis=1", "bool[a, b, 7] int32[a, n, 5] bool[a, n, 5]", -3, 3},
        {"scatter_nd", "reduction=\"add\"", "float32[a, b, c, d] int64[n, 2] float32[n, c, d]", -3, 3},
        {"scatter_nd", "reduction=\"min\"", "int8[a, b] int64[n, m, 2] int8[n, m]", -3, 3},
        {"scatter_nd", NULL, "float32[a, b, c] int32[n, 1] float32[n, b, c]", -3, 3},
        {"scatter_nd", "reduction=\"mul\"", "float32[a, b] int64[n, 0] float32[n, a, b]", -1, 1},
        {"sparse_to_dense", "output_shape=[5, 3]", "int32[n, 2] float32[n] float32[]", -3, 6},
    };
    CHECK_ALL(cases);
}

static void suppresses(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"vision.all_class_non_max_suppression", NULL,
         "float32[2, 300, 4] float32[2, 3, 300] int64[] float32[] float32[]", 0, 20},
        {"vision.all_class_non_max_suppression", "max_output_size=7 center_point_box=1",
         "float32[1, 65, 4] float32[1, 1, 65] int64[] float32[] float32[]", 0, 9},
        {"vision.nms", "nms_threshold=0.3", "float32[2, 200, 6] int32[2]", 0, 190},
        {"vision.nms", "force_suppress=1 nms_topk=40", "float16[1, 64, 6] int64[1]", 0, 64},
        {"vision.multibox_transform_loc", "threshold=0.5",
         "float32[2, 4, 500] float32[2, 2000] float32[1, 500, 4]", 0, 1},
    };
    CHECK_ALL(cases);
}

int main(int argc, char **argv)
{
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(sorts),     cmocka_unit_test(scans),
                                       cmocka_unit_test(finds),     cmocka_unit_test(gathers),
                                       cmocka_unit_test(scatters),  cmocka_unit_test(scatters_at_random),
                                       cmocka_unit_test(suppresses)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return run_end(failed);
}
