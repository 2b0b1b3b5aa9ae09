/* SPDX-License-Identifier: Apache-2.0 */
/* Static memory planning: a scan over the steps that hands slots from the dead to the newborn. A
 * slot is as large as the largest storage that it serves; the best fit is the one that grows least. */
#include "build/graph.h"

static uint64_t growth(int64_t have, int64_t want)
{
    return want > have ? (uint64_t)(want - have) : 0;
}

static int choose(const int64_t *bytes, const uint32_t *devices, const bool *taken, int n, int64_t want,
                  uint32_t device)
{
    int best = -1;
    for (int i = 0; i < n; i++) {
        if (taken[i] || devices[i] != device) continue;
        if (best < 0) {
            best = i;
            continue;
        }
        uint64_t grow = growth(bytes[i], want), best_grow = growth(bytes[best], want);
        if (grow < best_grow || (grow == best_grow && bytes[i] < bytes[best])) best = i;
    }
    return best;
}

int gpuc_plan_memory(gpuc_ctx *ctx, gpuc_ptrs *storages, int num_steps, int64_t **out_bytes,
                     uint32_t **out_devices)
{
    int n = 0, most = (int)storages->count;
    int64_t *bytes = gpuc_new_array(ctx, int64_t, most);
    uint32_t *devices = gpuc_new_array(ctx, uint32_t, most);
    bool *taken = gpuc_new_array(ctx, bool, most);
    /* Lists of what is born and dies at each step, in order. */
    int *born = gpuc_new_array(ctx, int, num_steps + 1), *dies = gpuc_new_array(ctx, int, num_steps + 1);
    int *next_born = gpuc_new_array(ctx, int, most), *next_dies = gpuc_new_array(ctx, int, most);
    for (int i = 0; i <= num_steps; i++) born[i] = dies[i] = -1;
    for (int i = most - 1; i >= 0; i--) {
        const gpuc_storage *s = storages->at[i];
        if (s->kind != GPUC_SLOT_ARENA || s->first < 0) continue;
        next_born[i] = born[s->first];
        born[s->first] = i;
        next_dies[i] = dies[s->last];
        dies[s->last] = i;
    }
    for (int step = 0; step < num_steps; step++) {
        for (int i = born[step]; i >= 0; i = next_born[i]) {
            gpuc_storage *s = storages->at[i];
            int slot = choose(bytes, devices, taken, n, s->bytes, s->device);
            if (slot < 0) slot = n++;
            devices[slot] = s->device;
            taken[slot] = true;
            if (bytes[slot] < s->bytes) bytes[slot] = s->bytes;
            s->slot = (uint32_t)slot;
        }
        for (int i = dies[step]; i >= 0; i = next_dies[i])
            taken[((gpuc_storage *)storages->at[i])->slot] = false;
    }
    *out_bytes = bytes;
    *out_devices = devices;
    return n;
}
