/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions whose outputs share their inputs: a tile of accumulators stays in registers while the reduction
 * runs (tile/). */
#include "autoschedule/tile/tile.h"

bool gpuc_rules_tile(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out)
{
    gpuc_tile_shape s;
    int n = gpuc_te_ndim(out);
    if (!gpuc_rules_tile_find_shape(r, reduction, out, &s)) return false;
    /* The output may be of a smaller type. Windows of neighbours overlap, so that vectors of a GPU's threads would be loaded
     * element by element, each as far from that of the next thread as a vector is long. */
    bool apart = s.depthwise && gpuc_target_is_gpu(r->target);
    int lanes = apart ? 1 : gpuc_target_lanes(r->target, gpuc_te_dtype(reduction));
    gpuc_tile t = gpuc_rules_tile_choose(r, &s, lanes);
    bool parts = gpuc_rules_tile_ends_in_part(r, &s, &t);
    if (reduction == out) reduction = gpuc_cache_write(r->s, out, "local");
    gpuc_stage *st = gpuc_schedule_stage(r->s, out), *sum = gpuc_schedule_stage(r->s, reduction);
    gpuc_iter *at = gpuc_rules_tile_output(r, st, sum, &s, &t, parts);
    gpuc_stage_compute_at(sum, st, at);
    gpuc_stage_set_scope(sum, "local");
    if (t.lanes > 1 && !parts) gpuc_stage_align_bounds(sum, n - 1, t.lanes);
    gpuc_rules_tile_reduction(r, sum, &s, &t, parts);
    return true;
}
