/* SPDX-License-Identifier: Apache-2.0 */
/* Scans: steps that compute rows of states from rows before. */
#include "arith/arith.h"
#include "te/internal.h"

typedef struct scan {
    gpuc_ctx *ctx;
    const char *who; /* "scan 'S'" */
    int n;
    gpuc_tensor *const *init, *const *update, *const *state;
    gpuc_expr rows, first, steps, t; /* of the states, of init, the others; the number of a step */
    gpuc_analyzer *a;
    gpuc_ptrs inside;  /* gpuc_te_op computed in each step, producers first */
    gpuc_map of_step;  /* these ops, and those of the states */
    gpuc_ptrs inputs;  /* gpuc_tensor from outside */
    gpuc_map places;   /* tensor -> gpuc_te_place */
    gpuc_ptrs buffers; /* of what only a step needs */
} scan;

static void check_one(const scan *s, int k)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_tensor *all[] = {s->init[k], s->update[k], s->state[k]};
    static const char *const names[] = {"init", "update", "state"};
    for (int i = 0; i < 3; i++) {
        gpuc_te_need_tensor(ctx, all[i], gpuc_ctx_printf(ctx, "%s: %s %d", s->who, names[i], k));
        char a[24], b[24];
        if (all[i]->ndim < 1 || all[i]->ndim != s->state[k]->ndim)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                       "%s: %s %d has %d dimensions, the state %d; the first is that of steps", s->who,
                       names[i], k, all[i]->ndim, s->state[k]->ndim);
        if (!gpuc_dtype_equal(all[i]->dtype, s->state[k]->dtype))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: %s %d is of type %s, the state of %s", s->who,
                       names[i], k, gpuc_dtype_name(all[i]->dtype, a),
                       gpuc_dtype_name(s->state[k]->dtype, b));
        for (int d = 0; d < all[i]->ndim; d++) {
            gpuc_expr want = d > 0 ? s->state[k]->shape[d] : i == 0 ? s->first : i == 1 ? s->steps : s->rows;
            if (!gpuc_arith_prove_equal(s->a, all[i]->shape[d], want))
                gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                           "%s: %s %d has the extent %s in dimension %d; wanted is %s", s->who, names[i], k,
                           gpuc_expr_text(ctx, all[i]->shape[d]), d, gpuc_expr_text(ctx, want));
        }
    }
    if (s->state[k]->op->kind != GPUC_TE_PLACEHOLDER || s->state[k]->view)
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: state %d is no plain placeholder", s->who, k);
    for (int i = 0; i < k; i++)
        for (int w = 1; w < 3; w++) {
            gpuc_tensor *const *list = w == 1 ? s->update : s->state;
            if (list[i] == list[k])
                gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: '%s' is %s %d and %d", s->who, list[k]->name,
                           names[w], i, k);
        }
}

static void add_input(scan *s, gpuc_tensor *t)
{
    for (size_t i = 0; i < s->inputs.count; i++)
        if (s->inputs.at[i] == t) return;
    gpuc_ptrs_push(s->ctx, &s->inputs, t);
}

/* First rows are computed before any step. */
static void need_known_before(const scan *s)
{
    for (int k = 0; k < s->n; k++) {
        gpuc_ptrs ops = {0};
        gpuc_te_post_order(s->ctx, 1, &s->init[k], &ops);
        for (size_t i = 0; i < ops.count; i++)
            if (gpuc_map_has(&s->of_step, ops.at[i]))
                gpuc_raise(s->ctx, GPUC_INVALID_ARGUMENT,
                           "%s: init %d, '%s', is computed from the state '%s'", s->who, k, s->init[k]->name,
                           ((const gpuc_te_op *)ops.at[i])->name);
    }
}

/* Which operations run in each step, and what they read from outside. */
static void find_inside(scan *s)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_ptrs ops = {0};
    gpuc_te_post_order(ctx, s->n, s->update, &ops);
    for (int k = 0; k < s->n; k++) gpuc_map_set(&s->of_step, s->state[k]->op, s->state[k]->op);
    for (size_t i = 0; i < ops.count; i++) {
        gpuc_te_op *op = ops.at[i];
        bool depends = false;
        for (int k = 0; k < op->num_inputs; k++) depends |= gpuc_map_has(&s->of_step, op->inputs[k]->op);
        for (int k = 0; k < s->n; k++) depends |= s->update[k]->op == op;
        if (!depends) continue;
        if (op->kind != GPUC_TE_COMPUTE)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s: '%s' is part of a step, and no compute", s->who,
                       op->name);
        if (op->num_axes < 1 || !gpuc_arith_prove_equal(s->a, op->axes[0]->extent, s->steps))
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                       "%s: '%s' is part of a step, and its first axis is not that of the %s steps", s->who,
                       op->name, gpuc_expr_text(ctx, s->steps));
        gpuc_map_set(&s->of_step, op, op);
        gpuc_ptrs_push(ctx, &s->inside, op);
    }
    for (int k = 0; k < s->n; k++) add_input(s, s->init[k]);
    need_known_before(s);
    for (size_t i = 0; i < s->inside.count; i++) {
        const gpuc_te_op *op = s->inside.at[i];
        for (int k = 0; k < op->num_inputs; k++)
            if (!gpuc_map_has(&s->of_step, op->inputs[k]->op)) add_input(s, op->inputs[k]);
    }
}

/* ---- Rows that a step may read ---------------------------------------------------------------------- */

typedef struct row_check {
    const scan *s;
    const gpuc_te_op *op;
    gpuc_analyzer *a;
} row_check;

static bool check_row(gpuc_expr e, void *arg)
{
    const row_check *c = arg;
    const scan *s = c->s;
    if (e->kind != GPUC_EXPR_READ) return true;
    const gpuc_tir_read_node *r = gpuc_as_read(e);
    if (!gpuc_map_has(&s->of_step, r->tensor->op)) return true;
    gpuc_expr v = c->op->axes[0]->var, row = r->index[0], t = gpuc_add(s->ctx, v, s->first);
    bool is_state = r->tensor->op->kind == GPUC_TE_PLACEHOLDER;
    if (is_state ? gpuc_arith_prove(c->a, gpuc_lt(s->ctx, row, t)) : gpuc_arith_prove_equal(c->a, row, v))
        return true;
    gpuc_raise(s->ctx, GPUC_INVALID_ARGUMENT,
               "%s: '%s' reads '%s' at row %s where row %s of the states is computed; a step reads rows of "
               "states before "
               "it, and its own row, %s, of what else it computes",
               s->who, c->op->name, r->tensor->name, gpuc_expr_text(s->ctx, row), gpuc_expr_text(s->ctx, t),
               gpuc_expr_text(s->ctx, v));
}

static void check_rows(const scan *s)
{
    for (size_t i = 0; i < s->inside.count; i++) {
        row_check c = {.s = s, .op = s->inside.at[i], .a = s->a};
        for (int k = 0; k < c.op->num_outputs; k++) gpuc_tir_visit(s->ctx, c.op->bodies[k], check_row, &c);
    }
}

/* ---- The statement ------------------------------------------------------------------------------------ */

static gpuc_te_place *set_place(scan *s, const gpuc_tensor *t, const gpuc_tir_buffer *b)
{
    gpuc_te_place *p = gpuc_new(s->ctx, gpuc_te_place);
    p->buffer = b;
    gpuc_map_set(&s->places, t, p);
    return p;
}

static void make_places(scan *s, const gpuc_te_op *out)
{
    gpuc_ctx *ctx = s->ctx;
    for (int i = 0; i < out->num_inputs; i++) set_place(s, out->inputs[i], out->input_buffers[i]);
    for (int k = 0; k < s->n; k++) {
        set_place(s, s->state[k], out->output_buffers[k]);
        gpuc_expr *origin = gpuc_new_array(ctx, gpuc_expr, s->update[k]->ndim);
        for (int d = 0; d < s->update[k]->ndim; d++) origin[d] = gpuc_int(ctx, 0);
        origin[0] = gpuc_sub(ctx, origin[0], s->first);
        set_place(s, s->update[k], out->output_buffers[k])->origin = origin;
    }
    for (size_t i = 0; i < s->inside.count; i++) {
        const gpuc_te_op *op = s->inside.at[i];
        for (int k = 0; k < op->num_outputs; k++) {
            const gpuc_tensor *t = op->outputs[k];
            if (gpuc_map_has(&s->places, t)) continue;
            gpuc_expr *row = gpuc_ctx_memdup(ctx, t->shape, (size_t)t->ndim * sizeof *row);
            gpuc_expr *origin = gpuc_new_array(ctx, gpuc_expr, t->ndim);
            for (int d = 1; d < t->ndim; d++) origin[d] = gpuc_int(ctx, 0);
            row[0] = gpuc_int(ctx, 1);
            origin[0] = s->t;
            gpuc_tir_buffer *b =
                gpuc_tir_buffer_make(ctx, t->name, t->dtype, t->ndim, row, GPUC_SCOPE_GLOBAL);
            set_place(s, t, b)->origin = origin;
            gpuc_ptrs_push(ctx, &s->buffers, b);
        }
    }
}

static gpuc_stmt copy_init(const scan *s, int k, const gpuc_tir_buffer *to)
{
    gpuc_ctx *ctx = s->ctx;
    const gpuc_tensor *t = s->init[k];
    const gpuc_te_place *from = gpuc_map_get(&s->places, t);
    gpuc_expr *at = gpuc_new_array(ctx, gpuc_expr, t->ndim);
    for (int d = 0; d < t->ndim; d++) at[d] = gpuc_var(ctx, gpuc_ctx_printf(ctx, "i%d", d), GPUC_INDEX);
    gpuc_stmt body = gpuc_tir_store(ctx, to, t->ndim, at, gpuc_tir_load(ctx, from->buffer, t->ndim, at));
    for (int d = t->ndim - 1; d >= 0; d--)
        body = gpuc_tir_for_(ctx, at[d], gpuc_int(ctx, 0), t->shape[d], GPUC_LOOP_SERIAL, GPUC_THREAD_NONE,
                             body);
    return body;
}

static gpuc_stmt make_body(scan *s, const gpuc_te_op *out)
{
    gpuc_ctx *ctx = s->ctx;
    gpuc_stmt body = NULL, before = NULL;
    make_places(s, out);
    for (int k = 0; k < s->n; k++)
        before = gpuc_tir_seq2(ctx, before, copy_init(s, k, out->output_buffers[k]));
    for (size_t i = 0; i < s->inside.count; i++)
        body = gpuc_tir_seq2(ctx, body, gpuc_te_plain_rows(ctx, &s->places, s->inside.at[i], s->t));
    body = gpuc_tir_for_(ctx, s->t, gpuc_int(ctx, 0), s->steps, GPUC_LOOP_SERIAL, GPUC_THREAD_NONE, body);
    for (size_t i = s->buffers.count; i > 0 && body; i--)
        body = gpuc_tir_alloc(ctx, s->buffers.at[i - 1], body);
    return gpuc_tir_seq2(ctx, before, body);
}

void gpuc_te_scan(gpuc_ctx *ctx, const char *name, int num_states, gpuc_tensor *const *init,
                  gpuc_tensor *const *update, gpuc_tensor *const *state, gpuc_tensor **outs)
{
    scan s = {.ctx = ctx, .who = gpuc_ctx_printf(ctx, "scan '%s'", name ? name : ""), .n = num_states};
    if (num_states < 1) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s has no states", s.who);
    gpuc_te_need(ctx, init, s.who, "list of first rows");
    gpuc_te_need(ctx, update, s.who, "list of updates");
    gpuc_te_need(ctx, state, s.who, "list of states");
    gpuc_te_need(ctx, outs, s.who, "place for the outputs");
    s.init = init;
    s.update = update;
    s.state = state;
    gpuc_te_need_tensor(ctx, init[0], gpuc_ctx_printf(ctx, "%s: init 0", s.who));
    for (int k = 0; k < num_states; k++)
        gpuc_te_need_tensor(ctx, state[k], gpuc_ctx_printf(ctx, "%s: state %d", s.who, k));
    if (init[0]->ndim > 0) s.first = init[0]->shape[0];
    if (state[0]->ndim > 0) s.rows = state[0]->shape[0];
    if (s.first && s.rows) s.steps = gpuc_sub(ctx, s.rows, s.first);
    s.a = gpuc_arith_analyzer_create(ctx);
    for (int k = 0; k < num_states; k++) check_one(&s, k);
    s.t = gpuc_var(ctx, "t", GPUC_INDEX);
    gpuc_map_init(&s.of_step, ctx);
    gpuc_map_init(&s.places, ctx);
    find_inside(&s);
    check_rows(&s);
    int *ndims = gpuc_new_array(ctx, int, num_states);
    const gpuc_expr **shapes = gpuc_new_array(ctx, const gpuc_expr *, num_states);
    gpuc_dtype *dtypes = gpuc_new_array(ctx, gpuc_dtype, num_states);
    for (int k = 0; k < num_states; k++) {
        ndims[k] = state[k]->ndim;
        shapes[k] = state[k]->shape;
        dtypes[k] = state[k]->dtype;
    }
    gpuc_te_op *op = gpuc_te_extern_make(ctx, name, (int)s.inputs.count, (gpuc_tensor *const *)s.inputs.at,
                                         num_states, ndims, shapes, dtypes);
    op->extern_body = make_body(&s, op);
    for (int k = 0; k < num_states; k++) outs[k] = op->outputs[k];
}
