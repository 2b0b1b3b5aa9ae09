/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules as plain data, for code outside. */
#include "schedule/internal.h"

gpuc_stage_info gpuc_stage_get(const gpuc_stage *st)
{
    return (gpuc_stage_info){.name = st->name,
                             .is_output = st->is_output,
                             .attach = st->attach,
                             .parent = st->attach == GPUC_ATTACH_AT ? st->attach_stage : NULL,
                             .at = st->attach == GPUC_ATTACH_AT ? st->attach_iter : NULL,
                             .has_scope = st->has_scope,
                             .scope = st->scope};
}

int gpuc_schedule_num_stages(const gpuc_schedule *s)
{
    return (int)s->stages.count;
}

gpuc_stage *gpuc_schedule_stage_at(const gpuc_schedule *s, int i)
{
    return i >= 0 && (size_t)i < s->stages.count ? s->stages.at[i] : NULL;
}

gpuc_loop_kind gpuc_stage_leaf_kind(const gpuc_stage *st, int i, gpuc_thread_tag *out_tag)
{
    *out_tag = GPUC_THREAD_NONE;
    if (i < 0 || i >= st->num_leaves) return GPUC_LOOP_SERIAL;
    gpuc_loop_note note = gpuc_stage_note(st, st->leaves[i]);
    if (note.kind == GPUC_LOOP_THREAD) *out_tag = note.tag;
    return note.kind;
}

int gpuc_stage_num_relations(const gpuc_stage *st)
{
    return (int)st->relations.count;
}

gpuc_relation gpuc_stage_relation(const gpuc_stage *st, int i)
{
    if (i < 0 || (size_t)i >= st->relations.count) return (gpuc_relation){0};
    return *(const gpuc_relation *)st->relations.at[i];
}
