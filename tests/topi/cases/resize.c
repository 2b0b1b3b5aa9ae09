/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

/* Every way of rounding with every way of placing pixels. */
#define NEAREST(in, sizes, at, how)                                                                          \
    {"image.resize", sizes " method=\"nearest\" coordinate=\"" at "\" rounding=\"" how "\"", in},
#define FILTER(in, sizes, method, at, outside)                                                               \
    {"image.resize",                                                                                         \
     sizes " method=\"" method "\" coordinate=\"" at "\" cubic_a=-0.5 exclude_outside=" outside, in},
#define PLACED(in, sizes, at)                                                                                \
    NEAREST(in, sizes, at, "round_prefer_floor")                                                             \
    NEAREST(in, sizes, at, "round_prefer_ceil")                                                              \
    NEAREST(in, sizes, at, "floor")                                                                          \
    NEAREST(in, sizes, at, "ceil")                                                                           \
    NEAREST(in, sizes, at, "outward")                                                                        \
    FILTER(in, sizes, "linear", at, "0")                                                                     \
    FILTER(in, sizes, "linear", at, "1")                                                                     \
    FILTER(in, sizes, "cubic", at, "0")                                                                      \
    FILTER(in, sizes, "cubic", at, "1")
#define SHAPED(in, sizes)                                                                                    \
    PLACED(in, sizes, "half_pixel")                                                                          \
    PLACED(in, sizes, "asymmetric")                                                                          \
    PLACED(in, sizes, "align_corners")                                                                       \
    PLACED(in, sizes, "pytorch_half_pixel")                                                                  \
    PLACED(in, sizes, "tf_half_pixel_for_nn")                                                                \
    PLACED(in, sizes, "half_pixel_symmetric")

const op_case op_cases_resize[] = {
    SHAPED("float32[1, 2, 5, 7]", "sizes=[1, 2, 8, 4] scales=[1.0, 1.0, 1.609375, 0.59375]")
        SHAPED("float32[3, 4]", "sizes=[6, 12] scales=[2.0, 3.0]")
            SHAPED("float32[6]", "sizes=[1] scales=[0.25]") SHAPED("float32[1]", "sizes=[5] scales=[5.0]"){
                "image.resize", "sizes=[4, 6] scales=[2.0, 2.0] method=\"nearest\"", "uint8[2, 3]"},
    {"image.resize", "sizes=[5, 6] scales=[2.5, 2.0] method=\"linear\"", "float64[2, 3]"},
#define CROP "coordinate=\"tf_crop_and_resize\" extrapolation_value=3.5 "
    {"image.resize", CROP "sizes=[3, 4] scales=[1.0, 1.0] roi=[0.2, -0.3, 0.8, 1.4] method=\"linear\"",
     "float32[5, 6]"},
    {"image.resize", CROP "sizes=[1, 7] scales=[1.0, 1.0] roi=[0.25, 0.9, 0.75, 0.1] method=\"cubic\"",
     "float32[5, 6]"},
    {"image.resize",
     CROP "sizes=[2, 3, 5] scales=[1.0, 1.0, 1.0] roi=[0.0, 0.1, 0.2, 1.0, 0.6, 1.9] method=\"nearest\"",
     "float32[2, 5, 6]"},
    {"image.resize", "sizes=[1, 2, 4, 6, 3] scales=[1.0, 1.0, 2.0, 2.0, 1.5] method=\"nearest\"",
     "float32[1, 2, 2, 3, 2]"},
    {"image.resize", "sizes=[1, 2, 4, 6, 3] scales=[1.0, 1.0, 2.0, 2.0, 1.5] method=\"linear\"",
     "float32[1, 2, 2, 3, 2]"},
    {"image.resize", "sizes=[1, 5, 9] scales=[1.0, 1.6666666666666667, 2.25] method=\"nearest\"",
     "T[1, 3, 4]"},
    {"image.resize", "sizes=[2, 6, 4] scales=[1.0, 2.0, 0.5] method=\"linear\"", "T[2, 3, 8]"},
    {"image.resize", "sizes=[6, 8] scales=[2.0, 2.0] method=\"cubic\" cubic_a=-0.5 coordinate=\"asymmetric\"",
     "T[3, 4]", 0, 9},
    {"image.resize_antialiased", "sizes=[2, 3, 4] scales=[1.0, 0.3, 0.5] method=\"linear\"", "T[2, 10, 8]"},
    {"image.resize_antialiased", "sizes=[3, 4] scales=[0.33, 0.5] method=\"cubic\" exclude_outside=1",
     "float32[10, 8]"},
    {"image.resize_antialiased",
     "sizes=[2, 15] scales=[0.2, 1.875] method=\"cubic\" coordinate=\"align_corners\"", "float32[10, 8]"},
    {"image.resize_antialiased",
     CROP "sizes=[2, 3] scales=[0.2, 0.4] roi=[0.0, 0.2, 1.0, 1.3] method=\"linear\"", "float32[10, 8]"},
    {NULL},
};
