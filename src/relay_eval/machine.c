/* SPDX-License-Identifier: Apache-2.0 */
/* Runs instructions. Calls push frames, not frames of C. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "relay_eval/eval.h"

void gpuc_relay_eval_fail(gpuc_relay_interpreter *i, gpuc_code code, const gpuc_rexpr *e, const char *fmt,
                          ...)
{
    char text[1000];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    bool named = !e->span.text && *e->source;
    const char *message = named ? gpuc_ctx_printf(i->ctx, "%s: %s", e->source, text) : text;
    const gpuc_rexpr *from = i->num_frames ? i->frames[i->num_frames - 1].from : NULL;
    if (from && from->span.text && from->span.text != e->span.text)
        message = gpuc_ctx_printf(i->ctx, "%s; called at %s:%u:%u", message, from->span.text->name,
                                  from->span.line, from->span.column);
    gpuc_raise(i->ctx, code, "%s", gpuc_relay_located(i->ctx, e->span, message));
}

void gpuc_relay_eval_no_memory(gpuc_relay_interpreter *i, const gpuc_rexpr *e)
{
    const gpuc_relay_eval_heap *h = i->heap;
    gpuc_relay_eval_fail(i, GPUC_OUT_OF_MEMORY, e,
                         "out of memory: the values take %zu bytes, %zu more are needed, at most %zu are "
                         "allowed%s",
                         h->used, h->refused, h->max, h->refused < h->used ? "; is a list without end?" : "");
}

/* ---- Registers and frames ---- */

static void *grow(gpuc_relay_interpreter *i, void *array, size_t count, size_t *capacity, size_t need,
                  size_t item, const gpuc_rexpr *e)
{
    if (count + need <= *capacity) return array;
    size_t larger = *capacity ? *capacity : 64;
    while (larger < count + need) larger *= 2;
    void *moved = gpuc_relay_eval_resize(i->heap, array, *capacity * item, larger * item);
    if (!moved) gpuc_relay_eval_no_memory(i, e);
    *capacity = larger;
    return moved;
}

static inline void set(gpuc_relay_value **slot, gpuc_relay_value *v)
{
    gpuc_relay_value *old = *slot;
    *slot = v;
    gpuc_relay_eval_release(old);
}

static void clear(gpuc_relay_interpreter *i, size_t from, size_t to)
{
    for (size_t r = from; r < to; r++) set(&i->regs[r], NULL);
}

/* After a run, and after an error in it. */
static void stop(void *arg)
{
    gpuc_relay_interpreter *i = arg;
    clear(i, 0, i->num_regs);
    i->num_regs = i->num_frames = i->num_backs = 0;
    i->calls = 0;
    i->running = false;
}

/* A frame above the others, whose registers are empty. */
static gpuc_relay_value **push_frame(gpuc_relay_interpreter *i, gpuc_relay_eval_code *code, int n,
                                     const gpuc_rexpr *e)
{
    if (!code->compiled) gpuc_relay_eval_compile(i, code);
    if (code->num_params != n)
        gpuc_relay_eval_fail(i, GPUC_INVALID_ARGUMENT, e, "%s takes %d arguments, not %d", code->name,
                             code->num_params, n);
    if (++i->calls > i->max_calls)
        gpuc_relay_eval_fail(
            i, GPUC_OUT_OF_MEMORY, e,
            "%llu calls are inside of each other, more than are allowed: does the recursion end?",
            (unsigned long long)i->max_calls);
    i->regs = grow(i, i->regs, i->num_regs, &i->max_regs, (size_t)code->num_regs, sizeof *i->regs, e);
    i->frames = grow(i, i->frames, i->num_frames, &i->max_frames, 1, sizeof *i->frames, e);
    const gpuc_rexpr *from = i->num_frames ? i->frames[i->num_frames - 1].from : NULL;
    if (e->span.text != code->e->span.text) from = e;
    i->frames[i->num_frames++] = (gpuc_relay_eval_frame){.code = code, .regs = i->num_regs, .from = from};
    gpuc_relay_value **regs = i->regs + i->num_regs;
    i->num_regs += (size_t)code->num_regs;
    return regs;
}

/* The newest frame takes the place of the one that called it. */
static void replace_caller(gpuc_relay_interpreter *i)
{
    gpuc_relay_eval_frame *new = &i->frames[i->num_frames - 1], *old = new - 1;
    size_t n = i->num_regs - new->regs;
    clear(i, old->regs, new->regs);
    memmove(i->regs + old->regs, i->regs + new->regs, n * sizeof *i->regs);
    memset(i->regs + old->regs + n, 0, (new->regs - old->regs) * sizeof *i->regs);
    i->num_regs = old->regs + n;
    old->code = new->code;
    old->from = new->from;
    old->pc = 0;
    old->tails++;
    i->num_frames--;
}

static void pop_frame(gpuc_relay_interpreter *i)
{
    const gpuc_relay_eval_frame *f = &i->frames[--i->num_frames];
    clear(i, f->regs, i->num_regs);
    i->num_regs = f->regs;
    i->calls -= 1 + (uint64_t)f->tails;
}

/* ---- Extents of arguments ---- */

static void check_extents(gpuc_relay_interpreter *i, const gpuc_relay_eval_code *code,
                          gpuc_relay_value *const *regs, const gpuc_rexpr *e)
{
    for (int k = 0; k < code->num_checked; k++) {
        const gpuc_relay_eval_param *p = &code->checked[k];
        const char *wrong = gpuc_relay_eval_wrong_extent(i, code, regs, k);
        if (wrong)
            gpuc_relay_eval_fail(i, GPUC_INVALID_ARGUMENT, e, "argument %d of %s: %s", p->index, code->name,
                                 wrong);
    }
}

/* ---- Calls ---- */

static void call(gpuc_relay_interpreter *i, gpuc_relay_eval_code *code, const gpuc_relay_eval_ins *ins,
                 int skip, gpuc_relay_value *closure)
{
    size_t caller = i->frames[i->num_frames - 1].regs;
    int n = ins->n - skip;
    gpuc_relay_value **regs = push_frame(i, code, n, ins->e);
    for (int k = 0; k < n; k++) regs[k] = gpuc_relay_eval_retain(i->regs[caller + (size_t)ins->at[skip + k]]);
    for (int k = 0; closure && k < closure->n; k++)
        regs[n + k] = gpuc_relay_eval_retain(closure->at.fields[k]);
    if (code->self >= 0) regs[code->self] = gpuc_relay_eval_retain(closure);
    if (code->num_checked) check_extents(i, code, regs, ins->e);
    if (ins->tail) replace_caller(i);
}

static gpuc_relay_value *with_fields(gpuc_relay_interpreter *i, gpuc_relay_value_kind kind,
                                     gpuc_relay_value *const *regs, const int *at, int n, const gpuc_rexpr *e)
{
    gpuc_relay_value *v = gpuc_relay_eval_fields(i->heap, kind, n);
    if (!v) gpuc_relay_eval_no_memory(i, e);
    for (int k = 0; k < n; k++) v->at.fields[k] = gpuc_relay_eval_retain(regs[at[k]]);
    return v;
}

static void apply(gpuc_relay_interpreter *i, const gpuc_relay_eval_ins *ins, gpuc_relay_value **regs)
{
    gpuc_relay_value *f = regs[ins->at[0]];
    if (f->kind != GPUC_RELAY_FUNCTION)
        gpuc_relay_eval_fail(i, GPUC_INTERNAL, ins->e, "what is called is no function");
    if (f->code) {
        call(i, (gpuc_relay_eval_code *)f->code, ins, 1, f);
        return;
    }
    gpuc_relay_value *v = with_fields(i, GPUC_RELAY_DATA, regs, ins->at + 1, ins->n - 1, ins->e);
    v->constructor = f->constructor;
    set(&regs[ins->d], v);
}

static bool fits(const gpuc_relay_eval_pattern *p, gpuc_relay_value *v, gpuc_relay_value **regs)
{
    if (p->constructor && v->constructor != p->constructor) return false;
    if (p->reg >= 0) set(&regs[p->reg], gpuc_relay_eval_retain(v));
    for (int k = 0; k < p->n; k++)
        if (!fits(&p->at[k], v->at.fields[k], regs)) return false;
    return true;
}

static uint32_t match(gpuc_relay_interpreter *i, const gpuc_relay_eval_ins *ins, gpuc_relay_value **regs)
{
    for (int k = 0; k < ins->n; k++)
        if (fits(&ins->patterns[k], regs[ins->at[0]], regs)) return (uint32_t)ins->targets[k];
    const gpuc_relay_value *v = regs[ins->at[0]];
    gpuc_relay_eval_fail(i, GPUC_INVALID_ARGUMENT, ins->e, "no clause fits the value%s%s",
                         v->kind == GPUC_RELAY_DATA ? ", made by " : "",
                         v->kind == GPUC_RELAY_DATA ? v->constructor->name : "");
}

static gpuc_relay_value *run_operator(gpuc_relay_interpreter *i, const gpuc_relay_eval_ins *ins,
                                      gpuc_relay_value **regs)
{
    gpuc_relay_value *few[8];
    gpuc_relay_value **args = few;
    if (ins->n > 8)
        args = i->args = grow(i, i->args, 0, &i->max_args, (size_t)ins->n, sizeof *i->args, ins->e);
    for (int k = 0; k < ins->n; k++) args[k] = regs[ins->at[k]];
    return gpuc_relay_eval_operator(i, ins->site, args);
}

/* What needs no other frame. */
static void step(gpuc_relay_interpreter *i, const gpuc_relay_eval_ins *ins, gpuc_relay_value **regs)
{
    gpuc_relay_value *v = NULL;
    switch (ins->kind) {
    case GPUC_RELAY_EVAL_CONST: v = gpuc_relay_eval_retain(ins->value); break;
    case GPUC_RELAY_EVAL_MOVE: v = gpuc_relay_eval_retain(regs[ins->at[0]]); break;
    case GPUC_RELAY_EVAL_CLOSURE:
        v = with_fields(i, GPUC_RELAY_FUNCTION, regs, ins->at, ins->n, ins->e);
        v->code = ins->code;
        break;
    case GPUC_RELAY_EVAL_TUPLE: v = with_fields(i, GPUC_RELAY_TUPLE, regs, ins->at, ins->n, ins->e); break;
    case GPUC_RELAY_EVAL_GET: v = gpuc_relay_eval_retain(regs[ins->at[0]]->at.fields[ins->index]); break;
    case GPUC_RELAY_EVAL_DATA:
        v = with_fields(i, GPUC_RELAY_DATA, regs, ins->at, ins->n, ins->e);
        v->constructor = ins->creates;
        break;
    case GPUC_RELAY_EVAL_OPERATOR: v = run_operator(i, ins, regs); break;
    case GPUC_RELAY_EVAL_CALL:
    case GPUC_RELAY_EVAL_APPLY:
    case GPUC_RELAY_EVAL_IF:
    case GPUC_RELAY_EVAL_MATCH:
    case GPUC_RELAY_EVAL_ENSURE:
    case GPUC_RELAY_EVAL_BACK:
    case GPUC_RELAY_EVAL_JUMP:
    case GPUC_RELAY_EVAL_RETURN: return;
    }
    set(&regs[ins->d], v);
}

/* Gives v to the frame below; true: there is none. */
static bool give_back(gpuc_relay_interpreter *i, gpuc_relay_value *v)
{
    pop_frame(i);
    if (!i->num_frames) return true;
    const gpuc_relay_eval_frame *f = &i->frames[i->num_frames - 1];
    set(&i->regs[f->regs + (size_t)f->code->ins[f->pc - 1].d], v);
    return false;
}

static gpuc_relay_value *run_frames(gpuc_relay_interpreter *i)
{
    for (;;) {
        gpuc_relay_eval_frame *f = &i->frames[i->num_frames - 1];
        gpuc_relay_value **regs = i->regs + f->regs;
        const gpuc_relay_eval_ins *ins = &f->code->ins[f->pc++];
        switch (ins->kind) {
        case GPUC_RELAY_EVAL_CALL: call(i, ins->code, ins, 0, NULL); break;
        case GPUC_RELAY_EVAL_APPLY: apply(i, ins, regs); break;
        case GPUC_RELAY_EVAL_IF:
            f->pc = (uint32_t)ins->targets[!*(const uint8_t *)gpuc_relay_eval_data(regs[ins->at[0]])];
            break;
        case GPUC_RELAY_EVAL_MATCH: f->pc = match(i, ins, regs); break;
        case GPUC_RELAY_EVAL_ENSURE:
            if (regs[ins->d]) break;
            i->backs = grow(i, i->backs, i->num_backs, &i->max_backs, 1, sizeof *i->backs, ins->e);
            i->backs[i->num_backs++] = f->pc;
            f->pc = (uint32_t)ins->to;
            break;
        case GPUC_RELAY_EVAL_BACK: f->pc = i->backs[--i->num_backs]; break;
        case GPUC_RELAY_EVAL_JUMP: f->pc = (uint32_t)ins->to; break;
        case GPUC_RELAY_EVAL_RETURN: {
            gpuc_relay_value *v = gpuc_relay_eval_retain(regs[ins->at[0]]);
            if (give_back(i, v)) return v;
            break;
        }
        case GPUC_RELAY_EVAL_CONST:
        case GPUC_RELAY_EVAL_MOVE:
        case GPUC_RELAY_EVAL_CLOSURE:
        case GPUC_RELAY_EVAL_TUPLE:
        case GPUC_RELAY_EVAL_GET:
        case GPUC_RELAY_EVAL_DATA:
        case GPUC_RELAY_EVAL_OPERATOR: step(i, ins, regs); break;
        }
    }
}

gpuc_relay_value *gpuc_relay_eval_run(gpuc_relay_interpreter *i, gpuc_relay_eval_code *code, int n,
                                      gpuc_relay_value *const *args)
{
    gpuc_ctx_push_cleanup(i->ctx, stop, i);
    gpuc_relay_value **regs = push_frame(i, code, n, code->e);
    for (int k = 0; k < n; k++) regs[k] = gpuc_relay_eval_retain(args[k]);
    if (code->num_checked) check_extents(i, code, regs, code->e);
    gpuc_relay_value *v = run_frames(i);
    gpuc_ctx_pop_cleanup(i->ctx, true);
    return v;
}
