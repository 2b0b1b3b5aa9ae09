/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules for people to read. */
#include "base/buf.h"
#include "schedule/internal.h"

static void print_loop(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_stage *st, const gpuc_iter *iter)
{
    static const char *const kinds[GPUC_LOOP_KIND_COUNT] = {
        [GPUC_LOOP_SERIAL] = "",
        [GPUC_LOOP_PARALLEL] = " parallel",
        [GPUC_LOOP_VECTORIZED] = " vectorize",
        [GPUC_LOOP_UNROLLED] = " unroll",
        [GPUC_LOOP_THREAD] = " bind ",
    };
    gpuc_loop_note note = gpuc_stage_note(st, iter);
    gpuc_buf_printf(out, "  %s %s < %s%s%s", iter->kind == GPUC_ITER_REDUCE ? "reduce" : "for",
                    gpuc_schedule_iter_name(iter), gpuc_expr_text(ctx, iter->extent), kinds[note.kind],
                    note.kind == GPUC_LOOP_THREAD ? gpuc_thread_tag_name(note.tag) : "");
    if (note.intrin) gpuc_buf_printf(out, " tensorize %s", note.intrin->name);
    for (const gpuc_pragma *p = note.pragmas; p; p = p->next)
        gpuc_buf_printf(out, " pragma %s=%lld", p->key, (long long)p->value);
    for (const gpuc_prefetch *p = note.prefetches; p; p = p->next)
        gpuc_buf_printf(out, " prefetch %s+%lld", p->tensor->name, (long long)p->offset);
    gpuc_buf_str(out, "\n");
}

static void print_stage(gpuc_ctx *ctx, gpuc_buf *out, const gpuc_stage *st)
{
    gpuc_buf_printf(out, "%s:", st->name);
    if (st->op->kind == GPUC_TE_PLACEHOLDER) gpuc_buf_str(out, " placeholder");
    if (st->op->kind == GPUC_TE_EXTERN) gpuc_buf_str(out, " extern");
    if (st->is_output) gpuc_buf_str(out, " output");
    switch (st->attach) {
    case GPUC_ATTACH_ROOT: break;
    case GPUC_ATTACH_INLINE: gpuc_buf_str(out, " inline"); break;
    case GPUC_ATTACH_AT:
        gpuc_buf_printf(out, " at %s of %s", gpuc_schedule_iter_name(st->attach_iter),
                        st->attach_stage->name);
        break;
    }
    if (st->has_scope) gpuc_buf_printf(out, " in %s", gpuc_scope_name(st->scope));
    if (st->double_buffer) gpuc_buf_str(out, " double_buffer");
    if (st->non_temporal) gpuc_buf_str(out, " non_temporal");
    if (st->require_scope) gpuc_buf_str(out, " require_scope");
    if (st->round_up) gpuc_buf_str(out, " round_up");
    if (st->rolling) gpuc_buf_str(out, " rolling_buffer");
    if (st->group) gpuc_buf_printf(out, " group %s", st->group->name);
    if (st->predicate) gpuc_buf_printf(out, " predicate %s", gpuc_expr_text(ctx, st->predicate));
    for (int i = 0; st->align && i < st->op->outputs[0]->ndim; i++)
        if (st->align[i].factor)
            gpuc_buf_printf(out, " align %d=%lld+%lld", i, (long long)st->align[i].factor,
                            (long long)st->align[i].offset);
    if (st->layout) gpuc_buf_printf(out, " layout %s", gpuc_te_layout_text(ctx, st->layout));
    for (int i = 0; st->parts && i < st->op->outputs[0]->ndim; i++)
        if (st->parts[i]) gpuc_buf_printf(out, " parts %d=%lld", i, (long long)st->parts[i]);
    gpuc_buf_str(out, "\n");
    for (int i = 0; i < st->num_env; i++) print_loop(ctx, out, st, st->env[i]);
    for (int i = 0; i < st->num_leaves; i++) print_loop(ctx, out, st, st->leaves[i]);
}

static void free_buf(void *buf)
{
    gpuc_buf_deinit(buf);
}

const char *gpuc_schedule_text(gpuc_schedule *s)
{
    gpuc_buf out;
    gpuc_buf_init(&out, s->ctx->allocator);
    gpuc_ctx_push_cleanup(s->ctx, free_buf, &out);
    for (size_t i = 0; i < s->stages.count; i++) print_stage(s->ctx, &out, s->stages.at[i]);
    GPUC_RAISE_IF(s->ctx, gpuc_buf_status(&out));
    const char *text = gpuc_ctx_strdup(s->ctx, gpuc_buf_cstr(&out));
    gpuc_ctx_pop_cleanup(s->ctx, true);
    return text;
}
