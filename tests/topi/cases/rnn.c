/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

#define TANH "activations=\"tanh\" alpha=[0.0] beta=[0.0]"
#define GRU2 "activations=\"sigmoid,tanh\" alpha=[0.0, 0.0] beta=[0.0, 0.0]"
#define GRU4                                                                                                 \
    "activations=\"sigmoid,tanh,hardsigmoid,elu\" alpha=[0.0, 0.0, 0.3, 0.7] beta=[0.0, 0.0, 0.4, 0.0]"
#define LSTM3 "activations=\"sigmoid,tanh,tanh\" alpha=[0.0, 0.0, 0.0] beta=[0.0, 0.0, 0.0]"
#define LSTM6                                                                                                \
    "activations=\"sigmoid,tanh,tanh,hardsigmoid,softsign,tanh\" alpha=[0.0, 0.0, 0.0, 0.2, 0.0, 0.0] "      \
    "beta=[0.0, 0.0, 0.0, 0.5, 0.0, 0.0]"
#define ONE(f, a, b) "activations=\"" f "\" alpha=[" a "] beta=[" b "]"

const op_case op_cases_rnn[] = {
    {"nn.rnn", TANH, "T[a, 3, 5] T[1, 5, 5] T[1, 3, 5]", -0.5, 0.5, .tolerance = 1e-4},
    {"nn.rnn", TANH " reverse=1 clip=0.6", "float32[5, 2, 7] float32[1, 7, 7] float32[1, 1, 7] int32[2]", 0,
     4, .tolerance = 1e-4},
    {"nn.rnn", ONE("relu,leakyrelu", "0.0, 0.1", "0.0, 0.0"),
     "float32[4, 2, 6] float32[2, 3, 3] float32[2, 2, 3]", -0.5, 0.5, .tolerance = 1e-4},
    {"nn.rnn", ONE("affine", "0.5", "0.25"), "float32[3, 1, 2] float32[1, 2, 2] float32[1, 1, 2]", -0.5, 0.5,
     .tolerance = 1e-4},
    {"nn.rnn", ONE("thresholdedrelu", "0.1", "0.0"), "float32[3, 1, 2] float32[1, 2, 2] float32[1, 1, 2]",
     0.2, 0.5, .tolerance = 1e-4},
    {"nn.rnn", ONE("scaledtanh", "0.5", "1.5"), "float32[3, 1, 2] float32[1, 2, 2] float32[1, 1, 2]", -0.5,
     0.5, .tolerance = 1e-4},
    {"nn.rnn", ONE("softplus", "0.0", "0.0"), "float32[3, 1, 2] float32[1, 2, 2] float32[1, 1, 2]", -0.5, 0.5,
     .tolerance = 1e-4},
    {"nn.rnn", TANH, "float32[0, 2, 3] float32[1, 3, 3] float32[1, 2, 3]", 0, 0},
    {"nn.rnn", TANH, "float32[2, 0, 3] float32[1, 3, 3] float32[1, 0, 3]", 0, 0},
    {"nn.gru", GRU2, "T[4, a, 15] T[1, 5, 15] T[1, 1, 5] T[1, 5]", -0.5, 0.5, .tolerance = 1e-4},
    {"nn.gru", GRU2 " linear_before_reset=1 reverse=1",
     "float32[4, 2, 15] float32[1, 5, 15] float32[1, 2, 5] float32[1, 5] int64[2]", 0, 5, .tolerance = 1e-4},
    {"nn.gru", GRU4, "float32[3, 2, 18] float32[2, 3, 9] float32[2, 2, 3] float32[2, 3] int32[2]", 0, 4,
     .tolerance = 1e-4},
    {"nn.lstm", LSTM3, "T[a, 2, 12] T[1, 3, 12] T[1, 2, 3] T[1, 2, 3] T[1, 9]", -0.5, 0.5, .tolerance = 1e-4},
    {"nn.lstm", LSTM3 " input_forget=1 clip=0.8 reverse=1",
     "float32[4, 1, 12] float32[1, 3, 12] float32[1, 1, 3] float32[1, 1, 3] float32[1, 9]", -0.5, 0.5,
     .tolerance = 1e-4},
    {"nn.lstm", LSTM6,
     "float32[3, 3, 16] float32[2, 2, 8] float32[2, 1, 2] float32[2, 1, 2] float32[2, 6] int32[3]", 0, 4,
     .tolerance = 1e-4},
    {"nn.lstm", LSTM3,
     "float32[2, 1, 524] float32[1, 131, 524] float32[1, 1, 131] float32[1, 1, 131] float32[1, 393]", -0.1,
     0.1, .tolerance = 1e-4},
    {"nn.lstm", LSTM6,
     "float32[2, 1, 1048] float32[2, 131, 524] float32[2, 1, 131] float32[2, 1, 131] float32[2, 393]", -0.1,
     0.1, .tolerance = 1e-4},
    /* packed weights: whole blocks, a part of one, one that is larger than the layer */
    {"nn.rnn", TANH, "float32[3, 2, 11] float32[1, 3, 11, 1, 4] float32[1, 2, 11] int32[2]", -0.5, 4,
     .tolerance = 1e-4},
    {"nn.rnn", TANH, "float32[2, 1, 200] float32[1, 13, 200, 1, 16] float32[1, 1, 200]", -0.1, 0.1,
     .tolerance = 1e-4},
    {"nn.gru", GRU4, "float32[3, a, 42] float32[2, 2, 7, 3, 4] float32[2, a, 7] float32[2, 7]", -0.5, 0.5,
     .tolerance = 1e-4},
    {"nn.gru", GRU2, "float32[2, 1, 480] float32[1, 10, 160, 3, 16] float32[1, 1, 160] float32[1, 160]", -0.1,
     0.1, .tolerance = 1e-4},
    {"nn.gru", GRU2 " linear_before_reset=1",
     "float32[2, 1, 480] float32[1, 10, 160, 3, 16] float32[1, 1, 160] float32[1, 160]", -0.1, 0.1,
     .tolerance = 1e-4},
    {"nn.lstm", LSTM6,
     "float32[3, 3, 24] float32[2, 1, 3, 4, 8] float32[2, 1, 3] float32[2, 1, 3] float32[2, 9] int32[3]", 0,
     4, .tolerance = 1e-4},
    {"nn.lstm", LSTM3,
     "float32[2, 1, 524] float32[1, 17, 131, 4, 8] float32[1, 1, 131] float32[1, 1, 131] float32[1, 393]",
     -0.1, 0.1, .tolerance = 1e-4},
    /* so many units that the states of several sequences do not fit into shared memory */
    {"nn.rnn", TANH, "float32[1, 8, 1040] float32[1, 33, 1040, 1, 32] float32[1, 8, 1040]", -0.05, 0.05,
     .tolerance = 1e-4},
    /* several sequences at a time, and what is left */
    {"nn.rnn", ONE("tanh,relu", "0.0, 0.0", "0.0, 0.0"),
     "float32[3, 9, 12] float32[2, 2, 6, 1, 4] float32[2, 1, 6]", -0.5, 0.5, .tolerance = 1e-4},
    {"nn.gru", GRU2 " reverse=1",
     "float32[2, a, 54] float32[1, 3, 18, 3, 8] float32[1, a, 18] float32[1, 18]", -0.5, 0.5,
     .tolerance = 1e-4},
    {"nn.gru", GRU2 " linear_before_reset=1",
     "float32[2, 8, 54] float32[1, 3, 18, 3, 8] float32[1, 8, 18] float32[1, 18]", -0.5, 0.5,
     .tolerance = 1e-4},
    {"nn.lstm", LSTM6,
     "float32[3, 11, 80] float32[2, 1, 10, 4, 16] float32[2, 1, 10] float32[2, 11, 10] float32[2, 30]", -0.5,
     0.5, .tolerance = 1e-4},
    /* panels of a subgroup's lanes: whole ones; the last one half full, with a part of a vector or a lane's; less
     * than one; states beyond the last whole panel; lengths that differ; several sequences */
    {"nn.rnn", TANH, "float32[3, 1, 64] float32[1, 2, 64, 1, 32] float32[1, 1, 64]", -0.3, 0.3,
     .tolerance = 1e-4},
    {"nn.rnn", ONE("tanh,relu", "0.0, 0.0", "0.0, 0.0") " clip=0.7",
     "float32[3, 11, 92] float32[2, 2, 46, 1, 32] float32[2, 1, 46]", -0.2, 0.2, .tolerance = 1e-4},
    {"nn.gru", GRU2, "float32[3, 9, 240] float32[1, 3, 80, 3, 32] float32[1, 1, 80] float32[1, 80]", -0.2,
     0.2, .tolerance = 1e-4},
    {"nn.gru", GRU4 " linear_before_reset=1",
     "float32[3, a, 126] float32[2, 1, 21, 3, 32] float32[2, a, 21] float32[2, 21]", -0.3, 0.3,
     .tolerance = 1e-4},
    {"nn.gru", GRU2 " reverse=1",
     "float32[4, 2, 213] float32[1, 3, 71, 3, 32] float32[1, 2, 71] float32[1, 71] int32[2]", -0.2, 4,
     .tolerance = 1e-4},
    {"nn.lstm", LSTM6,
     "float32[2, 9, 432] float32[2, 2, 54, 4, 32] float32[2, 1, 54] float32[2, 9, 54] float32[2, 162]", -0.2,
     0.2, .tolerance = 1e-4},
    {"nn.lstm", LSTM3 " input_forget=1 clip=0.8 reverse=1",
     "float32[3, 2, 400] float32[1, 4, 100, 4, 32] float32[1, 1, 100] float32[1, 1, 100] float32[1, 300] "
     "int64[2]",
     -0.1, 3, .tolerance = 1e-4},
    /* more states than shared memory holds of several sequences */
    {"nn.rnn", TANH, "float32[1, 8, 1250] float32[1, 40, 1250, 1, 32] float32[1, 1, 1250]", -0.01, 0.01,
     .tolerance = 1e-4},
    {NULL},
};
