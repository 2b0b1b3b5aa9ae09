/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

#define HANN "terms=[0.5, 0.5, 0.0]"
#define BLACKMAN "terms=[0.42, 0.5, 0.08]"

const op_case op_cases_signal[] = {
    {"dft", "length=16 axis=1", "float32[2, 16, 2]", -1, 1, .tolerance = 1e-4},
    {"dft", "length=7 axis=0", "T[7, a, 1]", -1, 1, .tolerance = 1e-4},
    {"dft", "length=11 axis=-2 inverse=1", "float32[3, 11, 2]", -1, 1, .tolerance = 1e-4},
    {"dft", "length=10 axis=1 onesided=1", "float32[1, 10, 1]", -1, 1, .tolerance = 1e-4},
    {"dft", "length=9 axis=1 onesided=1", "float32[1, 5, 1]", -1, 1, .tolerance = 1e-4},
    {"dft", "length=4 axis=1", "float32[2, 7, 3, 2]", -1, 1, .tolerance = 1e-4},
    {"dft", "length=1 axis=0", "float32[1, 2]", -1, 1, .tolerance = 1e-4},
    {"dft", "length=3 axis=1", "float32[0, 3, 1]", -1, 1, .tolerance = 1e-4},
    {"stft", "length=8 step=3", "float32[2, 29, 1] float32[8]", -1, 1, .tolerance = 1e-4},
    {"stft", "length=5 step=5 onesided=0", "T[1, 20, 2]", -1, 1, .tolerance = 1e-4},
    {"stft", "length=6 step=2", "float32[1, 6, 1]", -1, 1, .tolerance = 1e-4},
    {"window", "size=10 dtype=T " HANN, "", 0, 0, .types = GPUC_T_FLOATS, .tolerance = 1e-4},
    {"window", "size=11 periodic=0 dtype=float32 " BLACKMAN, "", 0, 0, .tolerance = 1e-4},
    {"window", "size=1 periodic=0 dtype=float32 " HANN, "", 0, 0, .tolerance = 1e-4},
    {"window", "size=0 dtype=float32 " HANN, "", 0, 0},
    {"window", "size=7 dtype=T terms=[20.5, 0.0, 0.0]", "", 0, 0, .types = GPUC_T_INTS},
    {"mel_weight_matrix", "num_mel_bins=8 dft_length=64 dtype=float32", "int32[] float32[] float32[]", 400,
     2000, .tolerance = 1e-3},
    {"mel_weight_matrix", "num_mel_bins=5 dft_length=32 dtype=T", "T[] float32[] float32[]", 60, 100,
     .types = GPUC_T_INTS, .tolerance = 1e-3},
    {NULL},
};
