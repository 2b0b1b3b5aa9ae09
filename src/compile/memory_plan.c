/* SPDX-License-Identifier: Apache-2.0 */
/* Plans memory: goes through the steps, frees the slot of each storage after its last use, and reuses it for
 * storage that begins later. A slot is as large as the largest storage that it serves; the best fit is the
 * slot that grows least. */
#include "compile/graph.h"

static uint64_t growth(int64_t have, int64_t want)
{
    return want > have ? (uint64_t)(want - have) : 0;
}

typedef struct slot {
    int64_t bytes;                /* to compare by: exact, but for sizes that depend on symbols */
    gpuc_expr size;               /* the largest of all that it serves */
    int sizes;                    /* how many different ones */
    uint32_t device, known_after; /* gpuc_compile_sizes_known_after its size */
    bool taken;
} slot;

enum { MAX_SIZES = 16 }; /* of one slot, which keeps the expression short */

static int choose(const slot *slots, int n, const gpuc_storage *s, uint32_t known_after, int64_t want)
{
    int best = -1;
    for (int i = 0; i < n; i++) {
        if (slots[i].taken || slots[i].device != s->device || slots[i].known_after != known_after) continue;
        if (slots[i].sizes == MAX_SIZES && slots[i].size != s->bytes) continue;
        if (best < 0) {
            best = i;
            continue;
        }
        uint64_t grow = growth(slots[i].bytes, want), best_grow = growth(slots[best].bytes, want);
        if (grow < best_grow || (grow == best_grow && slots[i].bytes < slots[best].bytes)) best = i;
    }
    return best;
}

static void serve(gpuc_sizes *sizes, slot *s, gpuc_expr size, int64_t bytes)
{
    s->taken = true;
    if (!s->size || gpuc_arith_prove(sizes->analyzer, gpuc_le(sizes->ctx, s->size, size))) {
        s->size = size;
        s->sizes = 1;
    } else if (!gpuc_arith_prove(sizes->analyzer, gpuc_le(sizes->ctx, size, s->size))) {
        s->size = gpuc_max(sizes->ctx, s->size, size);
        s->sizes++;
    }
    if (s->bytes < bytes) s->bytes = bytes;
}

int gpuc_compile_plan_memory(gpuc_sizes *sizes, gpuc_ptrs *storages, int num_steps, gpuc_expr **out_bytes,
                             uint32_t **out_devices)
{
    gpuc_ctx *ctx = sizes->ctx;
    int n = 0, max = (int)storages->count;
    slot *slots = gpuc_new_array(ctx, slot, max);
    /* Lists of the storages that begin and end at each step, in order. */
    int *born = gpuc_new_array(ctx, int, num_steps + 1), *dies = gpuc_new_array(ctx, int, num_steps + 1);
    int *next_born = gpuc_new_array(ctx, int, max), *next_dies = gpuc_new_array(ctx, int, max);
    for (int i = 0; i <= num_steps; i++) born[i] = dies[i] = -1;
    for (int i = max - 1; i >= 0; i--) {
        const gpuc_storage *s = storages->at[i];
        if (s->kind != GPUC_SLOT_ARENA) continue;
        /* What no step touches, such as what has no elements and is not an output, lies somewhere, too. */
        int first = s->first < 0 ? num_steps : s->first, last = s->first < 0 ? num_steps : s->last;
        next_born[i] = born[first];
        born[first] = i;
        next_dies[i] = dies[last];
        dies[last] = i;
    }
    for (int step = 0; step <= num_steps; step++) {
        for (int i = born[step]; i >= 0; i = next_born[i]) {
            gpuc_storage *s = storages->at[i];
            int64_t bytes = gpuc_compile_sizes_nominal(sizes, s->bytes);
            uint32_t known_after = gpuc_compile_sizes_known_after(sizes, s->bytes);
            int at = choose(slots, n, s, known_after, bytes);
            if (at < 0) at = n++;
            slots[at].device = s->device;
            slots[at].known_after = known_after;
            serve(sizes, &slots[at], s->bytes, bytes);
            s->slot = (uint32_t)at;
        }
        for (int i = dies[step]; i >= 0; i = next_dies[i])
            slots[((gpuc_storage *)storages->at[i])->slot].taken = false;
    }
    *out_bytes = gpuc_new_array(ctx, gpuc_expr, n);
    *out_devices = gpuc_new_array(ctx, uint32_t, n);
    for (int i = 0; i < n; i++) {
        (*out_bytes)[i] = slots[i].size;
        (*out_devices)[i] = slots[i].device;
    }
    return n;
}
