/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_search[] = {
    {"searchsorted", NULL, "T[9] T[a, 5]", 0, 6, .sorted = true},
    {"searchsorted", "right=1", "T[33] T[]", 0, 6, .sorted = true},
    {"searchsorted", "right=1 dtype=int64", "T[3, 7] T[3, 4]", 0, 6, .sorted = true},
    {"searchsorted", NULL, "T[2, 3, 130] T[2, 3, 1]", 0, 60, .sorted = true},
    {"searchsorted", NULL, "T[0] T[4]", 0, 6, .sorted = true},
    {"searchsorted", NULL, "T[5] T[0]", 0, 6, .sorted = true},
    {"searchsorted", "right=1", "T[1000] T[77]", 0, 100, .sorted = true},
    {NULL},
};
