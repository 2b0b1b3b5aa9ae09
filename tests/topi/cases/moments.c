/* SPDX-License-Identifier: Apache-2.0 */
#include "../cases.h"

const op_case op_cases_moments[] = {
    {"variance", "axis=[1]", "T[a, 5, b]"},
    {"variance", "axis=[0, -1] keepdims=1", "T[3, a, 2]"},
    {"variance", NULL, "T[a, 9]"},
    {"variance", NULL, "T[]"},
    {"variance", "axis=[1] unbiased=1", "T[2, 301]"},
    {"variance", "axis=[1] exclude=1", "T[3, 4, 5]"},
    {"variance", "axis=[0, 2]", "T[3, a, 7] T[1, a, 1]"},
    {"variance", "axis=[1] keepdims=1 unbiased=1", "T[4, 6] T[4, 1]"},
    {"variance", "axis=[1]", "T[0, 6]"},
    {"std", "axis=[-1]", "T[a, 33]"},
    {"std", "axis=[0] keepdims=1 unbiased=1", "T[17, 2, a]"},
    {"std", NULL, "T[2, 3, 4]"},
    {"logsumexp", "axis=[1]", "T[a, 5, b]"},
    {"logsumexp", "axis=[0, -1] keepdims=1", "T[3, a, 2]"},
    {"logsumexp", NULL, "T[]"},
    {"logsumexp", "axis=[-1] exclude=1", "T[7, 2, 3]"},
    {"logsumexp", "axis=[1]", "T[2, 301]"},
    {"logsumexp", "axis=[1]", "T[3, 0]"},
    {NULL},
};
