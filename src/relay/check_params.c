/* SPDX-License-Identifier: Apache-2.0 */
/* Whether type parameters stay inside of the functions that have them. */
#include "relay/solve.h"

typedef struct frame {
    gpuc_rexpr *e;
    int next;
} frame;

static void add(gpuc_relay_solver *s, int n, const gpuc_rtype *const *params, int by)
{
    for (int i = 0; i < n; i++)
        gpuc_map_set(&s->inside, params[i],
                     (void *)((uintptr_t)gpuc_map_get(&s->inside, params[i]) + (uintptr_t)by));
}

/* A type parameter that nothing here has; NULL. */
static const gpuc_rtype *find_foreign(gpuc_relay_solver *s, const gpuc_rtype *t)
{
    const gpuc_rtype *foreign = NULL;
    if (!t->varies) return NULL;
    if (t->kind == GPUC_RTYPE_VAR) return gpuc_map_get(&s->inside, t) ? NULL : t;
    add(s, t->num_params, t->params, 1);
    for (int i = 0; i < t->n && !foreign; i++) foreign = find_foreign(s, t->at[i]);
    if (!foreign && t->ret) foreign = find_foreign(s, t->ret);
    add(s, t->num_params, t->params, -1);
    return foreign;
}

static void check(gpuc_relay_solver *s, gpuc_rexpr *e)
{
    const gpuc_rtype *foreign = e->type ? find_foreign(s, e->type) : NULL;
    if (!foreign) return;
    s->at = e;
    s->place = (gpuc_relay_span){0};
    gpuc_relay_type_fail(s, "the type is %s, but %s is a type parameter of another function",
                         gpuc_relay_type_text(s, e->type), foreign->name);
}

static void enter(gpuc_relay_solver *s, const gpuc_rexpr *e, int by)
{
    if (e->kind == GPUC_REXPR_FUNCTION)
        add(s, gpuc_as_rfunction(e)->num_type_params, gpuc_as_rfunction(e)->type_params, by);
}

void gpuc_relay_check_type_params(gpuc_relay_solver *s, gpuc_rexpr *function)
{
    size_t capacity = 0, depth = 0;
    gpuc_map seen;
    gpuc_map_init(&seen, s->ctx);
    frame *stack = gpuc_ctx_grow(s->ctx, NULL, 0, &capacity, sizeof *stack);
    stack[depth++] = (frame){function, 0};
    while (depth) {
        frame *top = &stack[depth - 1];
        if (top->next == 0) enter(s, top->e, 1);
        gpuc_rexpr *c = gpuc_relay_operand(top->e, top->next++);
        if (!c) {
            check(s, top->e);
            enter(s, top->e, -1);
            depth--;
        } else if (!gpuc_map_has(&seen, c)) {
            gpuc_map_set(&seen, c, c);
            stack = gpuc_ctx_grow(s->ctx, stack, depth, &capacity, sizeof *stack);
            stack[depth++] = (frame){c, 0};
        }
    }
}
