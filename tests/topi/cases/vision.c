/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

#define BOXES(b, c, n)                                                                                       \
    "float32[" #b ", " #n ", 4] float32[" #b ", " #c ", " #n "] int64[] float32[] float32[]"

const op_case op_cases_vision[] = {
    {"vision.all_class_non_max_suppression", NULL, BOXES(1, 1, 1), 0, 1},
    {"vision.all_class_non_max_suppression", NULL, BOXES(2, 3, 20), 0, 3},
    {"vision.all_class_non_max_suppression", "center_point_box=1 max_output_size=5", BOXES(2, 2, 70), 0.1, 4},
    {"vision.all_class_non_max_suppression", NULL, BOXES(1, 2, 0), 0, 1},
    {"vision.nms", NULL, "T[2, 9, 6] int32[2]", 0, 3},
    {"vision.nms", "force_suppress=1 nms_threshold=0.1", "T[a, 70, 6] int64[a]", 0, 80},
    {"vision.nms", "force_suppress=1 nms_threshold=0.1", "T[2, 9, 6] int32[2]", -2, 4},
    {"vision.nms", "nms_topk=3 nms_threshold=0.0", "T[3, 7, 6] int32[3]", -1, 5},
    {"vision.nms", NULL, "float32[2, 0, 6] int32[2]", 0, 3},
    {"vision.non_max_suppression", NULL, "T[2, 9, 6] int32[2] int32[2, 9] int32[] float32[]", 0, 4},
    {"vision.non_max_suppression", "return_indices=0", "T[2, 12, 6] int64[2] int32[2, 12] int32[] float32[]",
     -2, 3},
    {"vision.non_max_suppression", "return_indices=0 invalid_to_bottom=1 force_suppress=1",
     "T[a, 11, 7] int32[a] int32[a, 11] int32[] float32[]", -1, 4},
    {"vision.non_max_suppression", "id_index=-1 coord_start=0 score_index=4 top_k=40",
     "T[1, 70, 5] int32[1] int32[1, 70] int32[] float32[]", 0, 60},
    {"vision.non_max_suppression", NULL, "float32[2, 0, 6] int32[2] int32[2, 0] int32[] float32[]", 0, 3},
    {"vision.non_max_suppression", "top_k=3", "T[3, 5, 6] int32[3] int32[3, 5] int32[] float32[]", -4, 5},
    {"vision.multibox_transform_loc", NULL, "T[2, 3, 5] T[2, 20] T[1, 5, 4]", 0, 1},
    {"vision.multibox_transform_loc", "threshold=0.6 clip=0 variances=[0.2, 0.3, 0.1, 0.1]",
     "T[1, 2, 140] T[1, 560] T[1, 140, 4]", 0, 1},
    {"vision.multibox_transform_loc", "threshold=2.0", "T[3, 4, 2] T[3, 8] T[1, 2, 4]", 0, 1},
    {NULL},
};
