/* SPDX-License-Identifier: Apache-2.0 */
#include "relay_pass/util.h"

/* An input or a constant, perhaps of another shape. */
static bool is_stored(const gpuc_rexpr *e)
{
    for (const gpuc_op *op; (op = gpuc_relay_call_op(e)) && op->alias;) e = gpuc_as_rcall(e)->args[0];
    return e->kind == GPUC_REXPR_VAR || e->kind == GPUC_REXPR_CONSTANT;
}

static gpuc_rexpr *computed(gpuc_ctx *ctx, gpuc_rexpr *e)
{
    if (!is_stored(e)) return e;
    return gpuc_relay_with_source(ctx, gpuc_relay_op1(ctx, "identity", NULL, e), e->source);
}

void gpuc_relay_copy_outputs(gpuc_relay_pass_ctx *p)
{
    gpuc_ctx *ctx = p->ctx;
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(p->module, "main"));
    gpuc_rexpr *body = f->body;
    if (body->kind == GPUC_REXPR_TUPLE) {
        const gpuc_rtuple *t = gpuc_as_rtuple(body);
        gpuc_rexpr **fields = gpuc_new_array(ctx, gpuc_rexpr *, t->n);
        bool same = true;
        for (int i = 0; i < t->n; i++) {
            fields[i] = computed(ctx, t->fields[i]);
            same = same && fields[i] == t->fields[i];
        }
        if (!same) body = gpuc_relay_tuple(ctx, t->n, fields);
    } else if (body->type->kind == GPUC_RTYPE_TENSOR) {
        body = computed(ctx, body);
    }
    if (body == f->body) return;
    gpuc_rexpr *out = gpuc_relay_function(ctx, f->n, f->params, body, f->attrs);
    gpuc_relay_infer_type(ctx, p->module, out);
    gpuc_strmap_set(&p->module->functions, "main", out);
}
