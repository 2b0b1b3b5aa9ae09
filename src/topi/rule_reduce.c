/* SPDX-License-Identifier: Apache-2.0 */
/* A reduction without reuse between its outputs: one task, work-item or invocation for some of them. */
#include "topi/rules.h"

void gpuc_rules_reduce(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    gpuc_stage *st = gpuc_schedule_stage(r->s, out);
    int n = gpuc_stage_num_axes(st);
    gpuc_iter *loops[64];
    for (int i = 0; i < n; i++) loops[i] = gpuc_stage_axis(st, i);
    gpuc_iter *loop = gpuc_rules_fuse(st, n, loops);
    if (!loop) return;
    gpuc_iter *at = gpuc_rules_spread(r, st, loop);
    if (reduction == out) return;
    gpuc_stage *inner = gpuc_schedule_stage(r->s, reduction);
    gpuc_stage_compute_at(inner, st, at);
    gpuc_stage_set_scope(inner, "local");
}
