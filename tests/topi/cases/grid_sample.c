/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

#define SAMPLE(attrs, in)                                                                                    \
    {                                                                                                        \
        "image.grid_sample", attrs, in, -1.7, 1.7, .tolerance = 1e-3                                         \
    }
#define PADDINGS(attrs, in)                                                                                  \
    SAMPLE(attrs " padding_mode=\"zeros\"", in), SAMPLE(attrs " padding_mode=\"border\"", in),               \
        SAMPLE(attrs " padding_mode=\"reflection\"", in),                                                    \
        SAMPLE(attrs " padding_mode=\"zeros\" align_corners=0", in),                                         \
        SAMPLE(attrs " padding_mode=\"reflection\" align_corners=0", in)

const op_case op_cases_grid_sample[] = {
    PADDINGS("method=\"linear\"", "float32[2, 3, 4, 5] float32[2, 3, 6, 2]"),
    PADDINGS("method=\"cubic\"", "float32[1, 2, 5, 3] float32[1, 2, 4, 2]"),
    PADDINGS("method=\"nearest\"", "float32[1, 2, 5, 3] float32[1, 7, 3, 2]"),
    PADDINGS("method=\"linear\"", "float32[1, 2, 3, 4, 5] float32[1, 2, 3, 2, 3]"),
    PADDINGS("method=\"linear\"", "float32[1, 2, 1] float32[1, 7, 1]"),
    SAMPLE("method=\"cubic\"", "float32[1, 1, 3, 2, 3] float32[1, 2, 1, 2, 3]"),
    {"image.grid_sample", "method=\"linear\" normalized=0", "T[1, 2, 4, 5] float32[1, a, 3, 2]", -2, 6,
     .types = GPUC_T_FLOATS, .tolerance = 1e-2},
    {"image.grid_sample", "method=\"nearest\" normalized=0", "T[1, 2, 4, 5] float32[1, a, 3, 2]", 0, 3},
    SAMPLE("method=\"linear\"", "float32[0, 2, 3, 3] float32[0, 2, 2, 2]"),
    {NULL},
};
