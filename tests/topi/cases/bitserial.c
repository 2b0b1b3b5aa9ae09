/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

#define PLAIN "strides=[1, 1] padding=[0, 0, 0, 0]"

const op_case op_cases_bitserial[] = {
    {"nn.bitpack", NULL, "T[3, 64, a]"},
    {"nn.bitpack", "bits=3 pack_axis=-1 bit_axis=0 pack_type=uint8", "T[2, 3, 16]"},
    {"nn.bitpack", "bits=8 pack_axis=0 bit_axis=1 pack_type=uint16", "T[32]"},
    {"nn.bitpack", "bits=2 pack_axis=2 bit_axis=2", "T[2, 1, 64]"},
    {"nn.bitpack", "pack_axis=0", "T[0, 5]"},
    {"nn.bitpack", NULL, "T[0, 32]"},
    {"nn.bitserial_dense", NULL, "T[3, 64] T[5, 64]"},
    {"nn.bitserial_dense", "data_bits=2 weight_bits=3 pack_dtype=uint8 out_dtype=int32 unipolar=0",
     "T[2, 3, 24] int32[4, 24]"},
    {"nn.bitserial_dense", "data_bits=3 weight_bits=2 pack_dtype=uint64 out_dtype=int64",
     "T[2, 64] int8[1, 64]"},
    {"nn.bitserial_dense", "data_bits=2 weight_bits=2 pack_dtype=uint16", "T[32] uint16[3, 2, 2]", 0, 60000,
     .types = GPUC_T_INT32},
    {"nn.bitserial_dense", NULL, "T[2, 0] T[3, 0]"},
    {"nn.bitserial_dense", NULL, "T[0, 32] T[3, 32]"},
    {"nn.bitserial_conv2d", PLAIN, "T[1, 32, 3, 4] T[2, 32, 2, 3]"},
    {"nn.bitserial_conv2d",
     "strides=[2, 1] padding=[1, 0, 0, 1] activation_bits=2 weight_bits=2 pack_dtype=uint8 out_dtype=int32",
     "T[2, 16, 4, 3] T[3, 16, 3, 2]"},
    {"nn.bitserial_conv2d",
     "strides=[1, 2] padding=[1, 1, 1, 1] activation_bits=3 unipolar=0 data_layout=\"NHWC\" "
     "pack_dtype=uint16",
     "T[1, 3, 5, 16] T[2, 3, 16, 4]"},
    {"nn.bitserial_conv2d", PLAIN " weight_bits=2 data_layout=\"NHWC\" pack_dtype=uint8",
     "T[1, 3, 3, 8] uint8[2, 2, 1, 3, 2]", 0, 255, .types = GPUC_T_INT32},
    {"nn.bitserial_conv2d", PLAIN " weight_bits=2 pack_dtype=uint8", "T[1, 16, 3, 3] uint8[4, 2, 2, 3, 2]", 0,
     255, .types = GPUC_T_INT32},
    {"nn.bitserial_conv2d", PLAIN, "T[0, 32, 3, 3] T[1, 32, 1, 1]"},
    {NULL},
};
