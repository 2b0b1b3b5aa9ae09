/* SPDX-License-Identifier: Apache-2.0 */
/* Lists what a program requires of a device, among it the bytes that one binding must hold. */
#include "abi/window.h"
#include "base/size.h"
#include "compile/program.h"

enum { MIN_GRID = 65535 }; /* work-groups along an axis of any device */

static void need(gpuc_requirement *list, uint32_t *n, const char *name, int64_t value)
{
    if (value > 0) list[(*n)++] = (gpuc_requirement){.name = name, .at_least = value};
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- What one binding, one texel view and one image must hold ---- */

typedef struct binder {
    gpuc_ctx *ctx;
    const gpuc_program *p;
    int64_t min;                     /* bytes that a binding of every device of the target holds */
    int64_t range, texels, image[2]; /* image: height, width */
    const gpuc_exec_value *largest;  /* of the range; NULL: none */
    const gpuc_kernel *reader;
} binder;

/* Bytes of a value; 0 where extents depend on symbols: that is checked when it is bound. */
static int64_t bytes_of(const gpuc_exec_value *v)
{
    int64_t bytes = (int64_t)gpuc_dtype_bytes(v->dtype), dim;
    for (uint32_t d = 0; d < v->ndim; d++)
        if (!gpuc_abi_xexpr_is_const(v->dims[d], &dim) || !gpuc_i64_mul(bytes, dim, &bytes)) return 0;
    return bytes;
}

static gpuc_status count_part(void *user, const gpuc_groups *g)
{
    (void)user;
    (void)g;
    return NULL;
}

/* Whether the launch can be cut so that its tensors fit bindings of the min size; also true if that depends
 * on sizes known only at run time. */
static bool can_be_cut(const binder *b, const gpuc_exec_step *s, const gpuc_kernel *k)
{
    gpuc_ctx *ctx = b->ctx;
    gpuc_window_tensor *tensors = gpuc_new_array(ctx, gpuc_window_tensor, k->num_tensors);
    int64_t *scalars = gpuc_new_array(ctx, int64_t, k->num_scalars), groups;
    bool open = false;
    for (uint32_t i = 0; i < k->num_scalars; i++)
        open |= !gpuc_abi_xexpr_is_const(s->scalars[i], &scalars[i]);
    for (uint32_t t = 0; t < k->num_tensors; t++) {
        int64_t bytes = bytes_of(&b->p->exec.values[s->tensors[t].value]);
        tensors[t] = (gpuc_window_tensor){.slot = t, .size = (uint64_t)bytes};
        open |= bytes == 0;
        if (bytes > b->min && !k->tensors[t].windowed) return false;
    }
    if (open) return true;
    gpuc_launch_shape shape = {.kernel = k, .tensors = tensors, .scalars = scalars};
    for (int i = 0; i < 3; i++) {
        if (gpuc_abi_xexpr_eval(k->launch[i], scalars, k->num_scalars, &groups)) return false;
        shape.groups[i] = (uint32_t)groups;
        if (groups < 1 || groups > UINT32_MAX) return groups == 0;
    }
    gpuc_window_limits limits = {.range = (uint64_t)b->min};
    gpuc_status status = gpuc_abi_launch_cut(&shape, limits, &ctx->arena, count_part, NULL);
    bool ok = !status;
    gpuc_status_release(status);
    return ok;
}

/* Extents that depend on symbols are checked when it is bound. */
static void note_image(binder *b, const gpuc_exec_value *v)
{
    int64_t extent;
    for (int d = 0; d < 2; d++)
        if (gpuc_abi_xexpr_is_const(v->dims[d], &extent)) b->image[d] = larger(b->image[d], extent);
}

/* Values start at bindings of their own, rounded as slots are. */
static void note_step(binder *b, const gpuc_exec_step *s)
{
    const gpuc_kernel *k = &b->p->kernels[s->kernel];
    int cut = -1;
    for (uint32_t t = 0; t < k->num_tensors; t++) {
        const gpuc_kernel_tensor *tensor = &k->tensors[t];
        const gpuc_exec_value *v = &b->p->exec.values[s->tensors[t].value];
        int64_t bytes = bytes_of(v), rounded = (int64_t)gpuc_align_up((uint64_t)bytes, GPUC_SLOT_ROUND);
        if (tensor->texel) b->texels = larger(b->texels, rounded / (4 * (int64_t)gpuc_dtype_bytes(v->dtype)));
        if (tensor->image) note_image(b, v);
        if (tensor->image || (tensor->texel && tensor->access == GPUC_ACCESS_READ)) continue;
        if (bytes > b->min && tensor->windowed && cut < 0) cut = can_be_cut(b, s, k);
        if (bytes > b->min && tensor->windowed && cut == 1) bytes = b->min;
        if (bytes <= b->range) continue;
        b->range = bytes;
        b->largest = v;
        b->reader = k;
    }
}

static binder find_bindings(gpuc_graph *g, const gpuc_program *p)
{
    binder b = {.ctx = g->ctx, .p = p, .min = g->target->max_buffer_range};
    if (b.min > GPUC_MIN_BINDING) b.min = GPUC_MIN_BINDING;
    for (uint32_t i = 0; i < p->exec.num_steps; i++) {
        const gpuc_exec_step *s = &p->exec.steps[i];
        if (s->kind == GPUC_STEP_LAUNCH && s->device == 0) note_step(&b, s);
    }
    return b;
}

static void warn_of_bindings(gpuc_graph *g, const binder *b, const gpuc_build_options *options)
{
    int64_t limit = g->target->max_buffer_range;
    if (!options->warning || !limit || b->range <= limit) return;
    options->warning(
        options->warning_user,
        gpuc_ctx_printf(
            g->ctx,
            "tensor %s%sof %s has %lld bytes; one binding of target %s holds max_buffer_range=%lld: "
            "the program runs on devices that hold more",
            b->largest->name, *b->largest->name ? " " : "", b->reader->label, (long long)b->range,
            gpuc_target_text(g->ctx, g->target), (long long)limit));
}

static void warn_of_images(gpuc_graph *g, const binder *b, const gpuc_build_options *options)
{
    const struct {
        const char *attr;
        int64_t limit;
    } axes[] = {{"max_image_height", g->target->max_image_height},
                {"max_image_width", g->target->max_image_width}};
    for (int d = 0; options->warning && d < 2; d++)
        if (axes[d].limit && b->image[d] > axes[d].limit)
            options->warning(
                options->warning_user,
                gpuc_ctx_printf(
                    g->ctx,
                    "an image has %lld texels along an axis; images of target %s have %s=%lld: the program "
                    "runs on devices that have more",
                    (long long)b->image[d], gpuc_target_text(g->ctx, g->target), axes[d].attr,
                    (long long)axes[d].limit));
}

/* ---- The list ---- */

static void list_kernels(gpuc_requirement *list, uint32_t *count, const gpuc_target *t, const gpuc_program *p,
                         const bool *launched, const binder *bindings)
{
    int64_t threads = 0, x = 0, y = 0, z = 0, shared = 0, buffers = 0, push = 0, subgroup = 0, grid[3] = {0};
    uint32_t features = 0;
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        const gpuc_kernel *k = &p->kernels[i];
        for (int axis = 0; axis < 3; axis++) {
            int64_t groups; /* what depends on symbols is checked when it is launched */
            if (gpuc_abi_xexpr_is_const(k->launch[axis], &groups) && groups > MIN_GRID)
                grid[axis] = larger(grid[axis], groups);
        }
        if (!launched[i]) continue;
        threads = larger(threads, (int64_t)k->local_size[0] * k->local_size[1] * k->local_size[2]);
        x = larger(x, k->local_size[0]);
        y = larger(y, k->local_size[1]);
        z = larger(z, k->local_size[2]);
        shared = larger(shared, k->shared_bytes);
        buffers = larger(buffers, k->num_bindings);
        subgroup = larger(subgroup, k->subgroup_size);
        features |= k->features;
        if (!k->params_in_buffer) push = larger(push, gpuc_abi_kernel_param_layout(k, NULL));
    }
    need(list, count, "max_num_threads", threads);
    need(list, count, "max_threads_x", x);
    need(list, count, "max_threads_y", y);
    need(list, count, "max_threads_z", z);
    need(list, count, "max_grid_x", grid[0]);
    need(list, count, "max_grid_y", grid[1]);
    need(list, count, "max_grid_z", grid[2]);
    need(list, count, "max_shared_memory", shared);
    need(list, count, "max_storage_buffers", buffers);
    need(list, count, "max_buffer_range", bindings->range);
    need(list, count, "max_texels", bindings->texels);
    need(list, count, "max_image_height", bindings->image[0]);
    need(list, count, "max_image_width", bindings->image[1]);
    if (t->language->descriptors) need(list, count, "max_push_constants", push);
    need(list, count, "thread_warp_size", subgroup);
    for (int i = 0; i < GPUC_FEATURE_COUNT; i++)
        if (features >> i & 1) need(list, count, gpuc_feature_name((gpuc_feature)(1u << i)), 1);
}

static void set_list(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_linked *linked, const bool *launched,
                     const binder *bindings, gpuc_program *p)
{
    gpuc_requirement *list =
        gpuc_new_array(ctx, gpuc_requirement, 22 + GPUC_FEATURE_COUNT + linked->num_requirements);
    uint32_t count = 0;
    if (t->language->work_groups) list_kernels(list, &count, t, p, launched, bindings);
    for (int i = 0; i < linked->num_requirements; i++)
        need(list, &count, linked->requirements[i].name, linked->requirements[i].at_least);
    p->requirements = list;
    p->num_requirements = count;
}

void gpuc_compile_program_requirements(gpuc_graph *g, const gpuc_linked *linked,
                                       const gpuc_build_options *options, gpuc_program *p)
{
    bool *launched = gpuc_new_array(g->ctx, bool, p->num_kernels);
    for (size_t i = 0; i < g->steps.count; i++) {
        const gpuc_graph_step *s = g->steps.at[i];
        if (s->kernel && !s->device) launched[s->kernel_number] = true;
    }
    binder bindings = {0};
    if (g->target->language->work_groups) bindings = find_bindings(g, p);
    warn_of_bindings(g, &bindings, options);
    warn_of_images(g, &bindings, options);
    set_list(g->ctx, g->target, linked, launched, &bindings, p);
}

void gpuc_compile_library_requirements(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_linked *linked,
                                       gpuc_program *p)
{
    bool *launched = gpuc_new_array(ctx, bool, p->num_kernels);
    for (uint32_t i = 0; i < p->num_kernels; i++) launched[i] = true;
    set_list(ctx, target, linked, launched, &(binder){0}, p);
}
