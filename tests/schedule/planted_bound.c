/* SPDX-License-Identifier: Apache-2.0 */
/* Bound inference with a planted mistake: it takes the readers' loops to end one iteration early. The random
 * schedules must notice. */
#include "schedule/nest.h"

static void short_span(gpuc_ctx *ctx, gpuc_analyzer *a, const gpuc_stage *st, const gpuc_map *dom,
                       gpuc_map *span)
{
    gpuc_schedule_pass_up_span(ctx, a, st, dom, span);
    for (int i = 0; i < st->op->num_axes; i++) {
        gpuc_span *s = gpuc_map_get(span, st->op->axes[i]);
        if (s->min != s->max) s->max = gpuc_sub(ctx, s->max, gpuc_int(ctx, 1));
    }
}

#define gpuc_schedule_pass_up_span short_span
#include "schedule/infer_bound.c"
