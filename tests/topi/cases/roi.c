/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_roi[] = {
    /* channels in vectors; data that is not copied for the few samples of it */
    {"vision.roi_align", "pooled_size=[3, 2] sampling_ratio=2", "T[2, 37, 7, 9] T[5, 4] int64[5]", -2, 11},
    {"vision.roi_align", "pooled_size=[2, 3] aligned=0 mode=\"max\"", "T[2, 64, 7, 9] T[5, 4] int64[5]", -3,
     12},
    {"vision.roi_align", "pooled_size=[2, 1] sampling_ratio=1", "T[2, 20, 12, 13] T[3, 4] int64[3]", -1, 9},
    {"vision.roi_align", "pooled_size=[2, 1] sampling_ratio=2 mode=\"max\"",
     "T[2, 20, 20, 23] T[3, 4] int64[3]", -1, 9},
    {"vision.roi_align", "pooled_size=[2, 3] sampling_ratio=2 spatial_scale=0.5",
     "T[2, 3, 7, 9] T[5, 4] int64[5]", 0, 16},
    {"vision.roi_align", "pooled_size=[3, 2]", "T[2, 3, 7, 9] T[5, 4] int64[5]", -2, 11},
    {"vision.roi_align", "pooled_size=[2, 2] aligned=0 mode=\"max\"", "T[2, 3, 7, 9] T[5, 4] int64[5]", 0, 9},
    {"vision.roi_align", "pooled_size=[1, 1] spatial_scale=20.0 aligned=0",
     "float32[1, 2, 3, 3] float32[4, 4] int32[4]", -2, 2},
    {"vision.roi_pool", "pooled_size=[2, 3] spatial_scale=0.5", "T[2, 3, 7, 9] T[5, 4] int64[5]", 0, 16},
    {"vision.roi_pool", "pooled_size=[3, 2]", "T[1, 2, 6, 5] T[4, 4] int32[4]", -3, 9},
    {"vision.roi_align", "data_layout=\"NHWC\" pooled_size=[3, 2] sampling_ratio=2",
     "T[2, 7, 9, 37] T[5, 4] int64[5]", -2, 11},
    {"vision.roi_align", "data_layout=\"NHWC\" pooled_size=[2, 3] aligned=0 mode=\"max\"",
     "float32[2, 7, 9, 6] float32[5, 4] int32[5]", -3, 12},
    {"vision.roi_align", "data_layout=\"NHWC\" pooled_size=[2, 1] sampling_ratio=1",
     "float32[2, 12, 13, 20] float32[3, 4] int64[3]", -1, 9},
    {"vision.roi_pool", "data_layout=\"NHWC\" pooled_size=[2, 3] spatial_scale=0.5",
     "T[2, 7, 9, 3] T[5, 4] int64[5]", 0, 16},
    {NULL},
};
