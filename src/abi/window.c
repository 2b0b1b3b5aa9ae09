/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a launch into ranges of work-groups whose tensors fit the device's bindings. */
#include "abi/window.h"

#include <string.h>

#include "abi/scope.h"
#include "base/size.h"

enum {
    /* Parts of one launch: more would take longer to submit than to compute. */
    MAX_PARTS = 4096
};

typedef struct cutter {
    const gpuc_launch_shape *l;
    gpuc_window_limits limits;
    int64_t *symbols;
    gpuc_window *windows; /* of each binding, with what the device's alignment adds */
    gpuc_status (*add)(void *user, const gpuc_groups *g);
    void *user;
    uint32_t parts;
} cutter;

static gpuc_status out_of_memory(void)
{
    return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory cutting a launch");
}

static gpuc_status make_symbols(const gpuc_launch_shape *l, gpuc_arena *arena, int64_t **out)
{
    uint32_t n = l->kernel->num_scalars;
    *out = gpuc_arena_alloc_array(arena, (size_t)n + GPUC_WINDOW_SYMBOLS, sizeof **out);
    if (!*out) return out_of_memory();
    if (n) memcpy(*out, l->scalars, n * sizeof **out);
    return NULL;
}

static int64_t eval(const gpuc_kernel *k, gpuc_xexpr e, const int64_t *symbols, int64_t otherwise)
{
    int64_t v = otherwise;
    gpuc_status_release(gpuc_abi_xexpr_eval(e, symbols, k->num_scalars + GPUC_WINDOW_SYMBOLS, &v));
    return v;
}

static uint64_t clamp(int64_t byte, uint64_t size)
{
    if (byte < 0) return 0;
    return (uint64_t)byte > size ? size : (uint64_t)byte;
}

static gpuc_window window_of(const gpuc_launch_shape *l, const gpuc_groups *g, uint32_t t, int64_t *symbols)
{
    const gpuc_kernel *k = l->kernel;
    const gpuc_kernel_tensor *tensor = &k->tensors[t];
    const gpuc_window_tensor *at = &l->tensors[t];
    gpuc_window all = {at->offset, at->offset + at->size};
    if (!tensor->windowed) return all;
    for (int i = 0; i < 3; i++) {
        symbols[k->num_scalars + i] = g->first[i];
        symbols[k->num_scalars + 3 + i] = (int64_t)g->first[i] + g->count[i] - 1;
    }
    uint64_t begin = clamp(eval(k, tensor->begin, symbols, 0), at->size),
             end = clamp(eval(k, tensor->end, symbols, INT64_MAX), at->size);
    if (end <= begin) return (gpuc_window){at->offset + begin, at->offset + begin};
    return (gpuc_window){at->offset + begin, at->offset + end};
}

gpuc_status gpuc_abi_window_of(const gpuc_launch_shape *l, const gpuc_groups *g, uint32_t t,
                               gpuc_arena *arena, gpuc_window *out)
{
    int64_t *symbols;
    GPUC_TRY(make_symbols(l, arena, &symbols));
    *out = window_of(l, g, t, symbols);
    return NULL;
}

static uint64_t beyond(uint64_t bytes, uint64_t limit)
{
    return limit && bytes > limit ? bytes - limit : 0;
}

/* Bytes that a tensor is beyond what its view holds. */
static uint64_t texels_beyond(const cutter *c, const gpuc_kernel_tensor *t, gpuc_window w)
{
    uint64_t texel = 4 * gpuc_dtype_bytes(t->dtype);
    uint64_t max = c->limits.texels > UINT64_MAX / texel ? 0 : c->limits.texels * texel;
    return t->texel ? beyond(w.end - w.begin, max) : 0;
}

static gpuc_window aligned(gpuc_window w)
{
    return (gpuc_window){w.begin / GPUC_SLOT_ALIGN * GPUC_SLOT_ALIGN, gpuc_align_up(w.end, GPUC_SLOT_ROUND)};
}

/* Bytes that the groups touch beyond what bindings hold; *worst is a tensor of the worst of them. */
static uint64_t excess(cutter *c, const gpuc_groups *g, uint32_t *worst)
{
    const gpuc_kernel *k = c->l->kernel;
    uint64_t sum = 0, max = 0;
    for (uint32_t b = 0; b < k->num_bindings; b++) c->windows[b] = (gpuc_window){UINT64_MAX, 0};
    for (uint32_t t = 0; t < k->num_tensors; t++) {
        const gpuc_kernel_tensor *tensor = &k->tensors[t];
        if (tensor->image) continue;
        gpuc_window w = aligned(window_of(c->l, g, t, c->symbols)), *all = &c->windows[tensor->binding];
        uint64_t more = texels_beyond(c, tensor, w);
        if (!tensor->texel || tensor->access != GPUC_ACCESS_READ) {
            if (w.begin < all->begin) all->begin = w.begin;
            if (w.end > all->end) all->end = w.end;
            more += beyond(all->end - all->begin, c->limits.range);
        }
        if (more > max) {
            max = more;
            *worst = t;
        }
        sum = sum > UINT64_MAX - more ? UINT64_MAX : sum + more;
    }
    return sum;
}

static void halve(const gpuc_groups *g, int axis, gpuc_groups *a, gpuc_groups *b)
{
    *a = *b = *g;
    a->count[axis] = g->count[axis] / 2;
    b->first[axis] = g->first[axis] + a->count[axis];
    b->count[axis] = g->count[axis] - a->count[axis];
}

/* The axis along which halving the launch lowers the excess most; of equal ones the longest. -1: there is one
 * group only. */
static int choose_axis(cutter *c, const gpuc_groups *g)
{
    int best = -1;
    uint64_t min = 0;
    for (int axis = 0; axis < 3; axis++) {
        gpuc_groups a, b;
        uint32_t worst;
        if (g->count[axis] < 2) continue;
        halve(g, axis, &a, &b);
        uint64_t x = excess(c, &a, &worst), y = excess(c, &b, &worst), e = x > y ? x : y;
        if (best >= 0 && (e > min || (e == min && g->count[axis] <= g->count[best]))) continue;
        best = axis;
        min = e;
    }
    return best;
}

static gpuc_status too_large(const cutter *c, uint32_t t)
{
    const gpuc_kernel_tensor *tensor = &c->l->kernel->tensors[t];
    unsigned long long bytes = c->l->tensors[t].size;
    if (c->parts >= MAX_PARTS)
        return gpuc_fail(GPUC_UNSUPPORTED, "tensor %u has %llu bytes, and takes more than %d launches", t,
                         bytes, MAX_PARTS);
    if (tensor->texel && tensor->access == GPUC_ACCESS_READ)
        return gpuc_fail(GPUC_UNSUPPORTED,
                         "tensor %u has %llu bytes, any of which a work-group may read; a view of the "
                         "device has %llu texels (max_texels)",
                         t, bytes, (unsigned long long)c->limits.texels);
    return gpuc_fail(GPUC_UNSUPPORTED,
                     "tensor %u has %llu bytes, any of which a work-group may access; one "
                     "binding of the device holds %llu (max_buffer_range)",
                     t, bytes, (unsigned long long)c->limits.range);
}

static gpuc_status cut(cutter *c, const gpuc_groups *g)
{
    uint32_t worst = 0;
    gpuc_groups a, b;
    if (!excess(c, g, &worst)) {
        c->parts++;
        return c->add(c->user, g);
    }
    int axis = choose_axis(c, g);
    if (axis < 0 || c->parts >= MAX_PARTS) return too_large(c, worst);
    halve(g, axis, &a, &b);
    GPUC_TRY(cut(c, &a));
    return cut(c, &b);
}

gpuc_status gpuc_abi_launch_cut(const gpuc_launch_shape *l, gpuc_window_limits limits, gpuc_arena *arena,
                                gpuc_status (*add)(void *user, const gpuc_groups *g), void *user)
{
    cutter c = {.l = l, .limits = limits, .add = add, .user = user};
    gpuc_groups all = {.count = {l->groups[0], l->groups[1], l->groups[2]}};
    c.windows = gpuc_arena_alloc_array(arena, l->kernel->num_bindings + (size_t)1, sizeof *c.windows);
    if (!c.windows) return out_of_memory();
    GPUC_TRY(make_symbols(l, arena, &c.symbols));
    return cut(&c, &all);
}
