/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_proposal[] = {
    {"vision.proposal",
     "scales=[1.0, 2.0] ratios=[0.5, 1.0, 2.0] feature_stride=4 rpn_min_size=0 iou_loss=1 "
     "rpn_post_nms_top_n=9",
     "float32[2, 12, 5, 7] float32[2, 24, 5, 7] float32[2, 3]", 20, 40, .tolerance = 1e-5},
    {"vision.proposal",
     "scales=[2.0] ratios=[1.0] feature_stride=8 threshold=0.3 rpn_min_size=1 iou_loss=1 "
     "rpn_pre_nms_top_n=11 rpn_post_nms_top_n=20",
     "float32[1, 2, 6, 5] float32[1, 4, 6, 5] float32[1, 3]", 1, 50, .tolerance = 1e-5},
    {"vision.proposal", "scales=[1.0] ratios=[1.0, 0.7] feature_stride=1 rpn_min_size=0 rpn_post_nms_top_n=5",
     "float32[2, 4, 3, 4] float32[2, 8, 3, 4] float32[2, 3]", 0, 5, .tolerance = 1e-5},
    {"vision.proposal", "rpn_post_nms_top_n=3", "float32[1, 24, 1, 2] float32[1, 48, 1, 2] float32[1, 3]", 0,
     9, .tolerance = 1e-5},
    {"vision.proposal", "rpn_post_nms_top_n=3", "float32[0, 24, 1, 2] float32[0, 48, 1, 2] float32[0, 3]"},
    {"vision.proposal", "rpn_post_nms_top_n=2", "float32[1, 24, 0, 2] float32[1, 48, 0, 2] float32[1, 3]"},
    {NULL},
};
