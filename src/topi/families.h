/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUC_TOPI_FAMILIES_H
#define GPUC_TOPI_FAMILIES_H

#include "op/table.h"

#define GPUC_OP_FAMILY(name)                                                                                 \
    extern const gpuc_op gpuc_topi_ops_##name[];                                                             \
    extern const size_t gpuc_topi_ops_##name##_count;
#include "topi/families.def"
#undef GPUC_OP_FAMILY

#endif
