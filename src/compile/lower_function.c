/* SPDX-License-Identifier: Apache-2.0 */
/* Relay primitive function -> te -> schedule -> loop IR -> kernels. */
#include <string.h>

#include "abi/window.h"
#include "compile/build_code.h"
#include "compile/lowered.h"
#include "compile/strategy.h"
#include "compile/template.h"
#include "op/op.h"
#include "autoschedule/rules.h"

/* Drops arguments that the results do not read, such as an operand of which only the shape is used. map[i] is
 * the number that argument i had; the outputs follow. */
static int drop_unread(gpuc_ctx *ctx, int num_args, int num_outputs, gpuc_tensor **args, uint32_t *map)
{
    gpuc_ptrs ops = {0};
    gpuc_map read;
    int n = 0;
    gpuc_map_init(&read, ctx);
    gpuc_te_post_order(ctx, num_outputs, args + num_args, &ops);
    for (size_t i = 0; i < ops.count; i++) gpuc_map_set(&read, ops.at[i], ops.at[i]);
    for (int i = 0; i < num_args; i++) {
        if (!gpuc_map_get(&read, args[i]->op)) continue;
        map[n] = (uint32_t)i;
        args[n++] = args[i];
    }
    for (int i = 0; i < num_outputs; i++) args[n + i] = args[num_args + i];
    return n;
}

gpuc_xexpr gpuc_compile_workspace_bytes(gpuc_ctx *ctx, const gpuc_tir_func *f, const gpuc_tir_buffer *b,
                                        gpuc_expr when)
{
    int64_t known = (int64_t)gpuc_dtype_bytes(b->dtype), d;
    gpuc_expr bytes = gpuc_int(ctx, known);
    for (int i = 0; i < b->ndim; i++) {
        if (gpuc_expr_is_int(b->shape[i], &d) && __builtin_mul_overflow(known, d, &known))
            gpuc_raise(ctx, GPUC_UNSUPPORTED, "workspace %s does not fit 63 bits", b->name);
        bytes = gpuc_mul(ctx, bytes, b->shape[i]);
    }
    if (bytes->kind != GPUC_EXPR_INT) bytes = gpuc_max(ctx, bytes, gpuc_int(ctx, 0));
    if (when) bytes = gpuc_select(ctx, when, bytes, gpuc_int(ctx, 0));
    return gpuc_arith_to_xexpr(ctx, bytes, f->num_scalars, f->scalars);
}

static const gpuc_target *without_subgroups(gpuc_ctx *ctx, const gpuc_target *target)
{
    gpuc_target *t = gpuc_ctx_memdup(ctx, target, sizeof *t);
    t->thread_warp_size = 1;
    t->subgroup = t->subgroup_shuffle = t->coopmat = 0;
    return t;
}

/* A function lowered for devices without a limit on loop iterations, and for those with one; both are the
 * same where no kernel exceeds the limit. */
typedef struct lowering {
    const gpuc_target *target;
    const gpuc_tir_program *any, *limited;
} lowering;

static bool is_limited(const gpuc_tir_func *kernel)
{
    return kernel->iterations_as_scheduled != NULL;
}

static lowering lower_for(gpuc_ctx *ctx, const gpuc_tir_func *f, const gpuc_target *target)
{
    lowering l = {.target = target, .limited = gpuc_lower(ctx, f, target)};
    bool differ = false;
    for (int i = 0; i < l.limited->num_kernels; i++) differ |= is_limited(l.limited->kernels[i]);
    l.any = l.limited;
    if (!differ) return l;
    gpuc_target *endless = gpuc_ctx_memdup(ctx, target, sizeof *endless);
    endless->max_iterations = 0;
    l.any = gpuc_lower(ctx, f, endless);
    GPUC_CHECK(l.any->num_kernels == l.limited->num_kernels);
    return l;
}

static bool needs_subgroups(const lowering *l)
{
    bool found = false;
    for (int i = 0; i < l->any->num_kernels; i++) found |= l->any->kernels[i]->subgroup_size != 0;
    return found;
}

/* What the kernels of a function are bound to: its parameters read, then outputs and workspaces. */
typedef struct binding_map {
    int read, params;
    uint32_t *param;
    int outputs, before; /* workspaces of other versions of the function stand before its own */
} binding_map;

static uint32_t bound(const binding_map *m, int buffer)
{
    if (buffer < m->read) return m->param[buffer];
    return (uint32_t)(buffer - m->read + m->params + (buffer - m->read < m->outputs ? 0 : m->before));
}

/* The variables by which expressions that passes left in kernel i refer to its scalars, with room for `more`
 * at the end. */
static gpuc_expr *symbols_of(gpuc_ctx *ctx, const gpuc_tir_program *p, int i, int more)
{
    int n = p->kernels[i]->num_scalars;
    gpuc_expr *symbols = gpuc_new_array(ctx, gpuc_expr, n + more);
    for (int v = 0; v < n; v++) symbols[v] = p->func->scalars[p->args[i].scalars[v]];
    return symbols;
}

gpuc_xexpr gpuc_compile_kernel_iterations(gpuc_ctx *ctx, const gpuc_tir_program *p, int i,
                                          gpuc_expr iterations)
{
    if (!iterations) return (gpuc_xexpr){0};
    return gpuc_arith_to_xexpr(ctx, iterations, p->kernels[i]->num_scalars, symbols_of(ctx, p, i, 0));
}

typedef struct conversion {
    gpuc_expr e;
    int num_symbols;
    const gpuc_expr *symbols;
    gpuc_xexpr out;
} conversion;

static void convert(gpuc_ctx *ctx, void *arg)
{
    conversion *c = arg;
    c->out = gpuc_arith_to_xexpr(ctx, c->e, c->num_symbols, c->symbols);
}

/* Converts e to a size expression; false if that is not possible, or too long. */
static bool to_short_xexpr(gpuc_ctx *ctx, conversion *c, gpuc_expr e, gpuc_xexpr *out)
{
    enum { MAX_CODE = 256 }; /* it is evaluated for each step whenever shapes change */
    c->e = e;
    gpuc_status status = gpuc_ctx_protect(ctx, convert, c);
    bool ok = !status && c->out.count <= MAX_CODE;
    gpuc_status_release(status);
    *out = c->out;
    return ok;
}

void gpuc_compile_kernel_windows(gpuc_ctx *ctx, const gpuc_tir_program *p, int i, gpuc_kernel *k)
{
    const gpuc_tir_func *f = p->kernels[i];
    if (!f->windows) return;
    int n = (int)k->num_scalars; /* a launch condition may have more than the code */
    gpuc_expr *symbols = symbols_of(ctx, p, i, n - f->num_scalars + GPUC_WINDOW_SYMBOLS);
    for (int g = 0; g < GPUC_WINDOW_SYMBOLS; g++) symbols[n + g] = f->groups[g];
    conversion c = {.num_symbols = n + GPUC_WINDOW_SYMBOLS, .symbols = symbols};
    gpuc_kernel_tensor *tensors = gpuc_ctx_memdup(ctx, k->tensors, sizeof *tensors * k->num_tensors);
    for (uint32_t t = 0; t < k->num_tensors; t++) {
        const gpuc_tir_window *w = &f->windows[t];
        if (w->begin && to_short_xexpr(ctx, &c, w->begin, &tensors[t].begin) &&
            to_short_xexpr(ctx, &c, w->end, &tensors[t].end))
            tensors[t].windowed = true;
        else
            tensors[t].begin = tensors[t].end = (gpuc_xexpr){0};
    }
    k->tensors = tensors;
}

typedef struct emitter {
    gpuc_ctx *ctx;
    binding_map map;
    gpuc_expr when; /* where its kernels do something, over sizes; NULL: always */
    gpuc_lowered *out;
} emitter;

/* ---- Launch conditions ---- */

typedef struct scalars {
    gpuc_ctx *ctx;
    const gpuc_target *target;
    gpuc_tir_func *kernel;
    gpuc_ptrs symbols; /* gpuc_expr: which symbol each scalar of the kernel is */
} scalars;

/* Conditions are computed from the scalars of a kernel, which are those that its code uses. */
static bool add_scalar(gpuc_expr e, void *arg)
{
    scalars *s = arg;
    gpuc_tir_func *k = s->kernel;
    if (e->kind != GPUC_EXPR_VAR) return true;
    for (size_t i = 0; i < s->symbols.count; i++)
        if (s->symbols.at[i] == e) return true;
    gpuc_ptrs_push(s->ctx, &s->symbols, (void *)(uintptr_t)e);
    gpuc_expr *all = gpuc_new_array(s->ctx, gpuc_expr, k->num_scalars + 1);
    for (int i = 0; i < k->num_scalars; i++) all[i] = k->scalars[i];
    all[k->num_scalars++] = gpuc_var(s->ctx, gpuc_as_var(e)->name, s->target->int64 ? e->dtype : GPUC_INT32);
    k->scalars = all;
    return true;
}

static scalars scalars_of(const emitter *e, const lowering *l, const gpuc_tir_program *p, int i,
                          gpuc_tir_func *kernel)
{
    scalars s = {.ctx = e->ctx, .target = l->target, .kernel = kernel};
    for (int v = 0; v < kernel->num_scalars; v++)
        gpuc_ptrs_push(e->ctx, &s.symbols, (void *)(uintptr_t)p->func->scalars[p->args[i].scalars[v]]);
    if (e->when) gpuc_tir_visit(e->ctx, e->when, add_scalar, &s);
    return s;
}

/* when ? x : 0 */
static gpuc_xexpr xexpr_when(gpuc_ctx *ctx, gpuc_xexpr when, gpuc_xexpr x)
{
    if (!x.count) return x;
    gpuc_xinstr *code = gpuc_new_array(ctx, gpuc_xinstr, when.count + x.count + 2);
    memcpy(code, when.code, sizeof *code * when.count);
    memcpy(code + when.count, x.code, sizeof *code * x.count);
    code[when.count + x.count] = (gpuc_xinstr){.op = GPUC_XOP_CONST, .value = 0};
    code[when.count + x.count + 1] = (gpuc_xinstr){.op = GPUC_XOP_SELECT};
    return (gpuc_xexpr){.code = code, .count = when.count + x.count + 2};
}

static void launch_when(const emitter *e, const scalars *s, gpuc_kernel *k)
{
    if (!e->when) return;
    gpuc_xexpr when =
        gpuc_arith_to_xexpr(e->ctx, e->when, (int)s->symbols.count, (const gpuc_expr *)s->symbols.at);
    k->launch[0] = xexpr_when(e->ctx, when, k->launch[0]);
    k->iterations = xexpr_when(e->ctx, when, k->iterations);
}

/* ---- Kernels ---- */

/* Emits kernel i for devices that do not limit loop iterations, or (limited) for those that do. */
static void emit(const emitter *e, const lowering *l, int i, bool limited)
{
    gpuc_ctx *ctx = e->ctx;
    const gpuc_tir_program *p = limited ? l->limited : l->any;
    const gpuc_tir_func *counted = l->limited->kernels[i];
    gpuc_tir_func *k = gpuc_ctx_memdup(ctx, p->kernels[i], sizeof *k);
    gpuc_lowered_kernel *out = &e->out->kernels[e->out->num_kernels++];
    bool sized = k->subgroup_size != 0;
    if (sized) k->name = gpuc_ctx_printf(ctx, "%s_subgroup%u", k->name, k->subgroup_size);
    if (limited) k->name = gpuc_ctx_printf(ctx, "%s_limited", k->name);
    scalars s = scalars_of(e, l, p, i, k);
    gpuc_compile_emit(ctx, l->target, k, &out->code);
    out->code.meta.variant = sized || limited;
    out->code.meta.limited = limited;
    out->code.meta.iterations = gpuc_compile_kernel_iterations(
        ctx, l->limited, i,
        is_limited(counted) && !limited ? counted->iterations_as_scheduled : counted->iterations);
    gpuc_compile_kernel_windows(ctx, p, i, &out->code.meta);
    launch_when(e, &s, &out->code.meta);
    out->tensors = gpuc_new_array(ctx, uint32_t, k->num_buffers);
    for (int b = 0; b < k->num_buffers; b++) out->tensors[b] = bound(&e->map, p->args[i].buffers[b]);
    out->scalars = gpuc_new_array(ctx, const char *, k->num_scalars);
    for (int v = 0; v < k->num_scalars; v++) out->scalars[v] = gpuc_as_var((gpuc_expr)s.symbols.at[v])->name;
}

/* Kernel i, then its variants. */
static void emit_all(const emitter *e, const lowering *target, const lowering *plain, int i)
{
    bool sized = target->any->kernels[i]->subgroup_size != 0;
    const lowering *general = sized ? plain : target;
    emit(e, general, i, false);
    if (sized) emit(e, target, i, false);
    if (sized && is_limited(target->limited->kernels[i])) emit(e, target, i, true);
    if (is_limited(general->limited->kernels[i])) emit(e, general, i, true);
}

/* The schedule function: that of the operator's row, or of its other implementation, where it is the only operator, else
 * the default. */
static gpuc_op_schedule_fn schedule_of(const gpuc_rfunction *f, const gpuc_op_implementation *other)
{
    const gpuc_op *op = gpuc_relay_call_op(f->body);
    const gpuc_rcall *c = op ? gpuc_as_rcall(f->body) : NULL;
    for (int i = 0; op && i < c->n; i++)
        if (c->args[i]->kind == GPUC_REXPR_CALL) op = NULL;
    gpuc_op_schedule_fn own = other ? other->schedule : op ? op->schedule : NULL;
    return op && own ? own : gpuc_topi_schedule;
}

static void raise_no_schedule(gpuc_ctx *ctx, const gpuc_rfunction *f, const gpuc_op_implementation *by)
{
    gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
               "the schedule function of %s%s gave NULL: it must make a schedule, as "
               "gpuc_topi_schedule does",
               by ? "implementation " : "", by ? by->name : gpuc_relay_call_op(f->body)->name);
}

typedef struct scheduled {
    int num_outputs;
    gpuc_tensor **args;
    binding_map map;
    gpuc_schedule *s;
    const char *implementations; /* those that are not the rows' own; NULL: none */
} scheduled;

/* The same elements in an image. */
static gpuc_tensor *as_image(gpuc_ctx *ctx, gpuc_tensor *t)
{
    gpuc_iter *axes[3];
    gpuc_expr at[3];
    static const char *const names[3] = {"y", "x", "c"};
    for (int i = 0; i < 3; i++) {
        axes[i] = gpuc_te_axis(ctx, t->shape[i], names[i]);
        at[i] = gpuc_iter_var(axes[i]);
    }
    gpuc_tensor *out = gpuc_te_compute(ctx, "image", 3, axes, gpuc_te_read(ctx, t, 3, at));
    gpuc_te_set_attr(ctx, out, "image", "1");
    return out;
}

bool gpuc_compile_has_own_schedule(gpuc_ctx *ctx, const gpuc_rfunction *f)
{
    const gpuc_op *op = gpuc_relay_call_op(f->body);
    return schedule_of(f, NULL) != gpuc_topi_schedule || (op && gpuc_op_implementation_at(ctx, op->name, 0));
}

/* Inputs and outputs of a template are its own. */
static scheduled schedule_template(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_rfunction *f,
                                   gpuc_knobs *knobs)
{
    scheduled out = {.map = {.params = f->n, .param = gpuc_new_array(ctx, uint32_t, f->n)}};
    gpuc_tune_call c;
    gpuc_compile_template_run(ctx, f, target, knobs, &c);
    gpuc_knobs_check(knobs);
    out.args = gpuc_new_array(ctx, gpuc_tensor *, c.num_in + c.num_out);
    for (int i = 0; i < c.num_in; i++) out.args[i] = c.in[i];
    for (int i = 0; i < c.num_out; i++) out.args[c.num_in + i] = c.out[i];
    out.num_outputs = out.map.outputs = c.num_out;
    out.map.read = drop_unread(ctx, c.num_in, c.num_out, out.args, out.map.param);
    out.s = c.schedule;
    return out;
}

static scheduled schedule(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_rfunction *f, uint64_t images,
                          gpuc_knobs *knobs)
{
    if (gpuc_compile_template_of(f)) return schedule_template(ctx, target, f, knobs);
    scheduled out = {.map = {.params = f->n, .param = gpuc_new_array(ctx, uint32_t, f->n)}};
    gpuc_strategy strategy = {.target = target, .knobs = knobs};
    gpuc_relay_chooser chooser = gpuc_compile_chooser(&strategy);
    out.args = gpuc_relay_tensors(ctx, f, &chooser, &out.num_outputs);
    out.implementations = strategy.names;
    out.map.outputs = out.num_outputs;
    if (images >> GPUC_IMAGE_OUTPUT & 1) out.args[f->n] = as_image(ctx, out.args[f->n]);
    out.map.read = drop_unread(ctx, f->n, out.num_outputs, out.args, out.map.param);
    out.s = schedule_of(f, strategy.last)(ctx, target, knobs, out.num_outputs, out.args + out.map.read);
    if (!out.s) raise_no_schedule(ctx, f, strategy.last);
    gpuc_knobs_check(knobs);
    for (int i = 0; i < out.map.read; i++)
        if (images >> out.map.param[i] & 1)
            gpuc_stage_set_scope(gpuc_schedule_stage(out.s, out.args[i]), "global.texture");
    if (images >> GPUC_IMAGE_OUTPUT & 1)
        gpuc_stage_set_scope(gpuc_schedule_stage(out.s, out.args[out.map.read]), "global.texture");
    return out;
}

void gpuc_compile_schedule_function(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_rfunction *f,
                                    gpuc_knobs *knobs)
{
    schedule(ctx, target, f, 0, knobs);
}

/* One way to run a function: its schedule for sizes with which it is used. */
typedef struct version {
    gpuc_expr when; /* NULL: always */
    scheduled f;
    lowering whole, plain; /* the latter for devices without the subgroups that the former wants */
} version;

static void lower_version(gpuc_ctx *ctx, const gpuc_lower_task *task, const char *name, version *v)
{
    const gpuc_target *target = task->target;
    int read = v->f.map.read;
    gpuc_tir_func *func = gpuc_schedule_lower(v->f.s, name, read + v->f.num_outputs, v->f.args);
    func->label = v->f.implementations ? gpuc_ctx_printf(ctx, "%s [by %s]", task->label, v->f.implementations)
                                       : task->label;
    /* Threads of a default schedule may become loops where the target has fewer. */
    func->yields = !gpuc_compile_template_of(task->f);
    if (task->placed) func = gpuc_compile_place_output(ctx, func, read, &task->place);
    v->whole = v->plain = lower_for(ctx, func, target);
    if (needs_subgroups(&v->whole)) v->plain = lower_for(ctx, func, without_subgroups(ctx, target));
    const gpuc_tir_program *p = v->whole.any, *plain = v->plain.any;
    GPUC_CHECK(plain->num_kernels == p->num_kernels && plain->num_workspaces == p->num_workspaces);
}

static gpuc_expr all_are_one(gpuc_ctx *ctx, const gpuc_version *v)
{
    gpuc_expr out = NULL;
    for (int i = 0; i < v->n; i++) {
        gpuc_expr one = gpuc_eq(ctx, v->symbols[i], gpuc_imm_int(ctx, v->symbols[i]->dtype, 1));
        out = out ? gpuc_and(ctx, out, one) : one;
    }
    return out;
}

static gpuc_expr both(gpuc_ctx *ctx, gpuc_expr a, gpuc_expr b)
{
    return a && b ? gpuc_and(ctx, a, b) : a ? a : b;
}

/* Sizes for which a function has schedules of their own. */
static int list_versions(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_rfunction *f,
                         gpuc_version special[GPUC_TOPI_VERSIONS])
{
    gpuc_strategy strategy = {.target = target};
    gpuc_relay_chooser chooser = gpuc_compile_chooser(&strategy);
    int num_outputs;
    if (gpuc_compile_template_of(f)) return 0;
    gpuc_tensor **args = gpuc_relay_tensors(ctx, f, &chooser, &num_outputs);
    return gpuc_rules_versions(ctx, num_outputs, args + f->n, special);
}

/* The versions of a function, that for all other sizes first. */
static int lower_versions(gpuc_ctx *ctx, const gpuc_lower_task *task, gpuc_knobs *knobs, version *out)
{
    gpuc_version special[GPUC_TOPI_VERSIONS];
    int count = 1, n = list_versions(ctx, task->target, task->f, special);
    out[0] = (version){.f = schedule(ctx, task->target, task->f, task->images, knobs)};
    lower_version(ctx, task, task->name, &out[0]);
    for (int i = 0; i < n; i++) {
        gpuc_expr fits = all_are_one(ctx, &special[i]);
        gpuc_rfunction *f = gpuc_compile_pin_to_one(ctx, task->f, special[i].n, special[i].symbols);
        gpuc_knobs own = {.ctx = ctx};
        version *v = &out[count++];
        *v = (version){.when = both(ctx, out[0].when, fits),
                       .f = schedule(ctx, task->target, f, task->images, &own)};
        lower_version(ctx, task, gpuc_ctx_printf(ctx, "%s_one%d", task->name, i), v);
        out[0].when = both(ctx, out[0].when, gpuc_not(ctx, fits));
    }
    return count;
}

/* sizes has all symbols as its scalars. */
static void emit_version(gpuc_ctx *ctx, const version *v, const gpuc_tir_func *sizes, gpuc_lowered *out)
{
    const gpuc_tir_program *p = v->whole.any;
    emitter e = {.ctx = ctx, .map = v->f.map, .when = v->when, .out = out};
    e.map.before = out->num_workspaces;
    for (int i = 0; i < p->num_workspaces; i++)
        out->workspace_bytes[out->num_workspaces++] =
            gpuc_compile_workspace_bytes(ctx, sizes, p->workspaces[i], v->when);
    for (int i = 0; i < p->num_kernels; i++) emit_all(&e, &v->whole, &v->plain, i);
}

gpuc_lowered *gpuc_compile_lower_function(gpuc_ctx *ctx, const gpuc_lower_task *task)
{
    gpuc_knobs knobs = {.ctx = ctx, .config = task->config};
    version versions[1 + GPUC_TOPI_VERSIONS];
    int count = lower_versions(ctx, task, &knobs, versions), num_kernels = 0, num_workspaces = 0;
    for (int i = 0; i < count; i++) {
        num_kernels += versions[i].whole.any->num_kernels;
        num_workspaces += versions[i].whole.any->num_workspaces;
    }
    const gpuc_tir_func *func = versions[0].whole.any->func;
    gpuc_lowered *out = gpuc_new(ctx, gpuc_lowered);
    out->num_knobs = (int)knobs.asked.count;
    out->num_params = task->f->n;
    out->num_outputs = versions[0].f.num_outputs;
    out->kernels = gpuc_new_array(ctx, gpuc_lowered_kernel, 4 * num_kernels);
    out->num_symbols = func->num_scalars;
    out->symbols = gpuc_new_array(ctx, const char *, out->num_symbols);
    for (int i = 0; i < out->num_symbols; i++) out->symbols[i] = gpuc_as_var(func->scalars[i])->name;
    out->workspace_bytes = gpuc_new_array(ctx, gpuc_xexpr, num_workspaces);
    for (int i = 0; i < count; i++) emit_version(ctx, &versions[i], func, out);
    return out;
}

static gpuc_xexpr copy_xexpr(gpuc_ctx *ctx, gpuc_xexpr e)
{
    return (gpuc_xexpr){.code = gpuc_ctx_memdup(ctx, e.code, sizeof *e.code * e.count), .count = e.count};
}

gpuc_lowered *gpuc_compile_lowered_copy(gpuc_ctx *ctx, const gpuc_lowered *l)
{
    gpuc_lowered *out = gpuc_ctx_memdup(ctx, l, sizeof *l);
    out->symbols = gpuc_new_array(ctx, const char *, l->num_symbols);
    for (int i = 0; i < l->num_symbols; i++) out->symbols[i] = gpuc_ctx_strdup(ctx, l->symbols[i]);
    out->workspace_bytes = gpuc_new_array(ctx, gpuc_xexpr, l->num_workspaces);
    for (int i = 0; i < l->num_workspaces; i++)
        out->workspace_bytes[i] = copy_xexpr(ctx, l->workspace_bytes[i]);
    out->kernels = gpuc_ctx_memdup(ctx, l->kernels, sizeof *l->kernels * (size_t)l->num_kernels);
    for (int i = 0; i < l->num_kernels; i++) {
        gpuc_lowered_kernel *k = &out->kernels[i];
        gpuc_buf meta;
        gpuc_buf_init(&meta, ctx->allocator);
        gpuc_abi_kernel_write(&meta, &k->code.meta);
        gpuc_status status = gpuc_buf_status(&meta);
        gpuc_reader r = {.data = (const uint8_t *)meta.data, .size = meta.size};
        if (!status) status = gpuc_abi_kernel_read(&r, &ctx->arena, &k->code.meta);
        gpuc_buf_deinit(&meta);
        GPUC_RAISE_IF(ctx, status);
        char *bytes = gpuc_ctx_alloc(ctx, k->code.size + 1);
        memcpy(bytes, k->code.bytes, k->code.size);
        k->code.bytes = bytes;
        k->tensors = gpuc_ctx_memdup(ctx, k->tensors, sizeof(uint32_t) * k->code.meta.num_tensors);
        k->scalars = gpuc_ctx_memdup(ctx, k->scalars, sizeof(char *) * k->code.meta.num_scalars);
        for (uint32_t v = 0; v < k->code.meta.num_scalars; v++)
            k->scalars[v] = gpuc_ctx_strdup(ctx, k->scalars[v]);
    }
    return out;
}
