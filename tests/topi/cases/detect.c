/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_detect[] = {
    {"vision.yolo_reorg", "stride=2", "T[2, 8, 4, 6]"},
    {"vision.yolo_reorg", "stride=3", "T[1, 9, 3, 6]"},
    {"vision.yolo_reorg", "stride=1", "T[1, 2, 3, 5]"},
    {"vision.yolo_region", "num_classes=3 n=2", "T[2, 16, 3, 5]"},
    {"vision.yolo_region", "num_classes=3 n=2 background=1", "T[1, 16, 2, 3]"},
    {"vision.yolo_region", "num_classes=2 n=3 coords=5 softmax=0", "T[1, 24, 2, 3]"},
    {"vision.yolo_region", "num_classes=2 n=1 softmax=0 background=1", "T[1, 7, 2, 3]"},
    {"vision.multibox_prior", "sizes=[0.5, 0.25] ratios=[1.0, 2.0, 0.5]", "T[1, 3, 4, 5]"},
    {"vision.multibox_prior", "sizes=[1.5] ratios=[1.0] steps=[0.1, 0.3] offsets=[0.25, 0.75] clip=1",
     "T[2, 1, 3, 2]"},
    {NULL},
};
