/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the operator rows of all families in one table. */
#include "op/table.h"

#include "topi/families.h"

const gpuc_op_family gpuc_topi_op_families[] = {
#define GPUC_OP_FAMILY(name) {gpuc_topi_ops_##name, &gpuc_topi_ops_##name##_count},
#include "topi/families.def"
#undef GPUC_OP_FAMILY
    {NULL, NULL},
};
