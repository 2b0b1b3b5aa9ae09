/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that queued writes read from, so that a write does not wait for the queue. */
#include "runtime_opencl/cl.h"

#define MAX_TOTAL ((size_t)64 << 20)
#define GRANULE ((size_t)64 << 10)

static void refresh(gpuc_cl_device *dev)
{
    for (gpuc_cl_staging_block *b = dev->staging.blocks; b; b = b->next) {
        cl_int state;
        if (!b->event || dev->fn->GetEventInfo(b->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
                                               &state, NULL) != CL_SUCCESS)
            continue;
        if (state > CL_COMPLETE) continue; /* negative: failed, and no longer reading either */
        dev->fn->ReleaseEvent(b->event);
        b->event = NULL;
    }
}

static bool is_free(const gpuc_cl_staging_block *b)
{
    return !b->taken && !b->event;
}

static void drop(gpuc_cl_device *dev, gpuc_cl_staging_block *b)
{
    dev->staging.total -= b->size;
    gpuc_mem_free(dev->allocator, b, sizeof *b + b->size);
}

static void drop_free(gpuc_cl_device *dev)
{
    for (gpuc_cl_staging_block **at = &dev->staging.blocks; *at;) {
        gpuc_cl_staging_block *b = *at;
        if (is_free(b)) {
            *at = b->next;
            drop(dev, b);
        } else {
            at = &b->next;
        }
    }
}

static gpuc_cl_staging_block *add(gpuc_cl_device *dev, size_t size)
{
    size = (size + GRANULE - 1) / GRANULE * GRANULE;
    if (dev->staging.total + size > MAX_TOTAL) drop_free(dev);
    if (dev->staging.total + size > MAX_TOTAL) return NULL;
    gpuc_cl_staging_block *b = gpuc_mem_resize(dev->allocator, NULL, 0, sizeof *b + size);
    if (!b) return NULL;
    b->next = dev->staging.blocks;
    b->size = size;
    b->event = NULL;
    dev->staging.blocks = b;
    dev->staging.total += size;
    return b;
}

gpuc_cl_staging_block *gpuc_cl_staging_take(gpuc_cl_device *dev, size_t size)
{
    if (size > MAX_TOTAL) return NULL;
    pthread_mutex_lock(&dev->staging.lock);
    refresh(dev);
    gpuc_cl_staging_block *best = NULL;
    for (gpuc_cl_staging_block *b = dev->staging.blocks; b; b = b->next)
        if (is_free(b) && b->size >= size && (!best || b->size < best->size)) best = b;
    if (!best) best = add(dev, size);
    if (best) best->taken = true;
    pthread_mutex_unlock(&dev->staging.lock);
    return best;
}

void gpuc_cl_staging_give(gpuc_cl_device *dev, gpuc_cl_staging_block *block, cl_event event)
{
    pthread_mutex_lock(&dev->staging.lock);
    block->event = event;
    block->taken = false;
    pthread_mutex_unlock(&dev->staging.lock);
}

/* To be called after the queues have been finished; where that failed, the events tell. */
void gpuc_cl_staging_deinit(gpuc_cl_device *dev)
{
    for (gpuc_cl_staging_block *b = dev->staging.blocks; b; b = b->next)
        if (b->event) {
            gpuc_cl_event_wait(dev, b->event);
            dev->fn->ReleaseEvent(b->event);
            b->event = NULL;
        }
    drop_free(dev);
}
