/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_valid_counts[] = {
    {"vision.get_valid_counts", NULL, "T[2, 300, 6] T[]"},
    {"vision.get_valid_counts", "id_index=-1 score_index=0", "T[3, a, 5] T[]"},
    {"vision.get_valid_counts", "id_index=2 score_index=3", "T[1, 17, 6] T[]", .specials = true},
    {"vision.get_valid_counts", NULL, "T[2, 0, 6] T[]"},
    {"vision.get_valid_counts", NULL, "T[0, 4, 6] T[]"},
    {NULL},
};
