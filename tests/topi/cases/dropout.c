/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_dropout[] = {
    {"nn.dropout_mask", "shape=[5, 7] seed=3", "float32[]", 0, 1},
    {"nn.dropout_mask", "shape=[100]", "float32[]", 0, 1},
    {"nn.dropout_mask", "shape=[]", "float32[]", 0, 1},
    {"nn.dropout_mask", "shape=[3, 0]", "float32[]", 0, 1},
    {NULL},
};
