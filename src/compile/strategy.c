/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses for each call of a function the implementation of its operator. */
#include "compile/strategy.h"
#include "op/op.h"

static bool is_taken(const gpuc_strategy *s, const gpuc_op_implementation *m)
{
    static const int64_t choices[] = {0, 1};
    char knob[GPUC_OP_USE_KNOB];
    return gpuc_knob(s->knobs, gpuc_op_use_knob(m, knob), m->priority > GPUC_OP_OWN_PRIORITY, 2, choices) !=
           0;
}

static const gpuc_op_implementation *choose(gpuc_ctx *ctx, void *user, const gpuc_op_call *call)
{
    gpuc_strategy *s = user;
    const gpuc_op_implementation *m;
    for (size_t i = 0; (m = gpuc_op_implementation_at(ctx, call->op->name, i)); i++) {
        if (m->targets && !gpuc_op_lists(m->targets, gpuc_target_kind(s->target))) continue;
        if ((m->applies && !m->applies(call, s->target)) || !is_taken(s, m)) continue;
        s->last = m;
        s->names = s->names ? gpuc_ctx_printf(ctx, "%s, %s", s->names, m->name) : m->name;
        return m;
    }
    return NULL;
}

gpuc_relay_chooser gpuc_compile_chooser(gpuc_strategy *s)
{
    return (gpuc_relay_chooser){.choose = choose, .user = s};
}
