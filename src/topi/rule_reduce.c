/* SPDX-License-Identifier: Apache-2.0 */
#include "topi/rules.h"

void gpuc_rules_reduce(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    gpuc_iter *loop = gpuc_rules_fuse(st, 0, gpuc_stage_num_axes(st));
    if (loop) gpuc_rules_spread(r, st, loop, 1);
    if (reduction == out || !loop) return;
    gpuc_stage *inner = gpuc_schedule_stage(r->s, reduction);
    gpuc_stage_compute_at(inner, st, gpuc_stage_leaf(st, gpuc_stage_num_leaves(st) - 1));
    gpuc_stage_set_scope(inner, "local");
}
