/* SPDX-License-Identifier: Apache-2.0 */
#include "topi/rules.h"

gpuc_iter *gpuc_rules_injective(const gpuc_rules *r, gpuc_stage *st)
{
    gpuc_iter *loop = gpuc_rules_fuse(st, 0, gpuc_stage_num_leaves(st));
    if (loop) gpuc_rules_spread(r, st, loop, 1);
    int n = gpuc_stage_num_leaves(st);
    return n ? gpuc_stage_leaf(st, n - 1) : NULL;
}
