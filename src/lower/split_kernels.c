/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a function into kernels: one for each statement of the sequence that the body is, inside of its
 * allocations (threads.c makes the kernel). Memory that is allocated around several kernels becomes a
 * workspace. */
#include "lower/split_kernels/split.h"

#include <string.h>

typedef struct splitter {
    gpuc_pass_ctx *p;
    gpuc_tir_func *f;
    gpuc_ptrs workspaces, kernels, roots;
} splitter;

static bool is_device_memory(const gpuc_tir_buffer *b)
{
    return gpuc_scope_is_global(b->scope);
}

static void note_launch_loop(gpuc_stmt s, void *arg)
{
    if (s->kind != GPUC_STMT_FOR) return;
    if (gpuc_is_thread_tag(gpuc_as_for(s)->tag)) *(uint32_t *)arg |= 1;
    if (gpuc_is_block_tag(gpuc_as_for(s)->tag)) *(uint32_t *)arg |= 2;
}

/* One kernel of one group has threads inside of the memory: they share it. */
static bool is_of_one_group(gpuc_ctx *ctx, gpuc_stmt s)
{
    uint32_t loops = 0; /* 1: of threads, 2: of groups */
    gpuc_tir_visit_stmt(ctx, s, note_launch_loop, NULL, &loops);
    return loops == 1;
}

static void peel(splitter *t, gpuc_stmt s)
{
    gpuc_ctx *ctx = t->p->ctx;
    if (!s) return;
    if (s->kind == GPUC_STMT_SEQ) {
        for (int i = 0; i < gpuc_as_seq(s)->n; i++) peel(t, gpuc_as_seq(s)->at[i]);
    } else if (s->kind == GPUC_STMT_ALLOC && is_device_memory(gpuc_as_alloc(s)->buffer)) {
        size_t root = t->roots.count, at = t->workspaces.count;
        const gpuc_tir_buffer *b = gpuc_as_alloc(s)->buffer;
        gpuc_ptrs_push(ctx, &t->workspaces, (void *)b);
        peel(t, gpuc_as_alloc(s)->body);
        if (t->roots.count != root + 1 || !is_of_one_group(ctx, t->roots.at[root])) return;
        t->roots.at[root] = (void *)gpuc_tir_alloc(ctx, b, t->roots.at[root]);
        t->workspaces.count--;
        for (size_t i = at; i < t->workspaces.count; i++) t->workspaces.at[i] = t->workspaces.at[i + 1];
    } else if (s->kind == GPUC_STMT_LET && !(gpuc_as_let(s)->value->flags & GPUC_TIR_HAS_LOAD)) {
        const gpuc_tir_let_node *n = gpuc_as_let(s);
        peel(t, gpuc_tir_substitute_stmt(ctx, n->body, 1, &n->var, &n->value));
    } else if (s->kind == GPUC_STMT_ATTR && strcmp(gpuc_as_attr(s)->key, "allreduce") != 0) {
        peel(t, gpuc_as_attr(s)->body);
    } else {
        gpuc_ptrs_push(ctx, &t->roots, s);
    }
}

/* ---- Parameters ------------------------------------------------------------------------------------- */

typedef struct usage {
    gpuc_map used;
} usage;

static void use_buffer(const gpuc_lower_access *access, void *arg)
{
    gpuc_map_set(&((usage *)arg)->used, access->buffer, (void *)access->buffer);
}

static bool use_var(gpuc_expr e, void *arg)
{
    if (e->kind == GPUC_EXPR_VAR) gpuc_map_set(&((usage *)arg)->used, e, (void *)e);
    return true;
}

static gpuc_tir_kernel_args choose_params(splitter *t, gpuc_tir_func *k)
{
    gpuc_ctx *ctx = t->p->ctx;
    usage u;
    gpuc_map_init(&u.used, ctx);
    gpuc_lower_accesses(ctx, k->body, use_buffer, &u);
    gpuc_tir_visit_stmt(ctx, k->body, NULL, use_var, &u);
    for (int i = 0; i < k->num_threads; i++) gpuc_tir_visit(ctx, k->threads[i].extent, use_var, &u);
    int num = t->f->num_buffers, all = num + (int)t->workspaces.count;
    gpuc_tir_buffer **buffers = gpuc_new_array(ctx, gpuc_tir_buffer *, all);
    gpuc_expr *scalars = gpuc_new_array(ctx, gpuc_expr, t->f->num_scalars);
    int *buffer_at = gpuc_new_array(ctx, int, all), *scalar_at = gpuc_new_array(ctx, int, t->f->num_scalars);
    for (int i = 0; i < all; i++) {
        gpuc_tir_buffer *b = i < num ? t->f->buffers[i] : t->workspaces.at[i - num];
        if (!gpuc_map_has(&u.used, b)) continue;
        buffer_at[k->num_buffers] = i;
        buffers[k->num_buffers++] = b;
        for (int d = 0; d < b->ndim; d++) gpuc_tir_visit(ctx, b->shape[d], use_var, &u);
    }
    for (int i = 0; i < t->f->num_scalars; i++) {
        if (!gpuc_map_has(&u.used, t->f->scalars[i])) continue;
        scalar_at[k->num_scalars] = i;
        scalars[k->num_scalars++] = t->f->scalars[i];
    }
    k->buffers = buffers;
    k->scalars = scalars;
    return (gpuc_tir_kernel_args){.buffers = buffer_at, .scalars = scalar_at};
}

/* ---- Launch dimensions -------------------------------------------------------------------------------- */

typedef struct free_search {
    const gpuc_tir_func *f;
    gpuc_expr found;
} free_search;

static bool find_free(gpuc_expr e, void *arg)
{
    free_search *s = arg;
    if (e->kind != GPUC_EXPR_VAR) return true;
    for (int i = 0; i < s->f->num_scalars; i++)
        if (s->f->scalars[i] == e) return true;
    s->found = e;
    return false;
}

static void check_threads(splitter *t, gpuc_tir_func *k)
{
    gpuc_ctx *ctx = t->p->ctx;
    for (int i = 0; i < k->num_threads; i++) {
        const gpuc_tir_thread *th = &k->threads[i];
        free_search s = {.f = t->f};
        gpuc_tir_visit(ctx, th->extent, find_free, &s);
        if (s.found || th->extent->flags & GPUC_TIR_HAS_LOAD)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                       "kernel '%s': the extent of %s is %s, which is not known before the launch; bind a "
                       "loop whose "
                       "extent depends on shapes only",
                       k->name, gpuc_thread_tag_name(th->tag), gpuc_expr_text(ctx, th->extent));
        if (gpuc_is_thread_tag(th->tag) && th->extent->kind != GPUC_EXPR_INT)
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT,
                       "kernel '%s': the extent of %s is %s, but work-group sizes are constants; split the "
                       "loop by a "
                       "constant factor and bind the inner one",
                       k->name, gpuc_thread_tag_name(th->tag), gpuc_expr_text(ctx, th->extent));
    }
}

gpuc_tir_program *gpuc_lower_split_kernels(gpuc_pass_ctx *p, gpuc_tir_func *f)
{
    gpuc_ctx *ctx = p->ctx;
    splitter t = {.p = p, .f = f};
    peel(&t, f->body);
    int n = (int)t.roots.count;
    gpuc_tir_func **kernels = gpuc_new_array(ctx, gpuc_tir_func *, n);
    gpuc_tir_kernel_args *args = gpuc_new_array(ctx, gpuc_tir_kernel_args, n);
    for (int i = 0; i < n; i++) {
        gpuc_tir_func *k = gpuc_new(ctx, gpuc_tir_func);
        *k = (gpuc_tir_func){
            .name = n == 1 ? f->name : gpuc_ctx_printf(ctx, "%s_k%d", f->name, i),
            .label = f->label,
            .stage = GPUC_TIR_STAGE_KERNEL,
            .aliased = f->aliased,
            .yields = f->yields,
        };
        gpuc_lower_split_threads(p, f, k, t.roots.at[i], &t.workspaces);
        check_threads(&t, k);
        args[i] = choose_params(&t, k);
        kernels[i] = k;
    }
    gpuc_tir_program *out = gpuc_new(ctx, gpuc_tir_program);
    *out = (gpuc_tir_program){
        .num_kernels = n,
        .num_workspaces = (int)t.workspaces.count,
        .kernels = kernels,
        .args = args,
        .workspaces = (gpuc_tir_buffer *const *)t.workspaces.at,
        .func = f,
    };
    return out;
}
