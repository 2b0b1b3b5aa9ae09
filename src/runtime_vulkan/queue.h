/* SPDX-License-Identifier: Apache-2.0 */
/* One queue. Every submission gets the next serial number; an object is idle when the serial of
 * its last use is complete. `queue.lock` guards the queue, the copy batch, the upload ring, the
 * serials in buffers and the garbage list; it is never held while waiting for a fence. Plans record
 * into command pools of their own, without the lock. */
#ifndef GPUC_RUNTIME_VULKAN_QUEUE_H
#define GPUC_RUNTIME_VULKAN_QUEUE_H

#include "runtime_vulkan/buffer.h"
#include "runtime_vulkan/hazard.h"

typedef struct gpuc_vk_submission {
    struct gpuc_vk_submission *next;
    uint64_t serial;
    VkFence fence;
    uint32_t waiters;
    bool retired;
    VkCommandBuffer batch; /* of the copies in front, or NULL */
    uint64_t ring_end;     /* position up to which the upload ring is free once the submission is complete */
} gpuc_vk_submission;

typedef struct gpuc_vk_queue {
    pthread_mutex_t lock;
    VkQueue handle;
    uint64_t last_serial, completed;
    gpuc_vk_submission *first, *last; /* in flight, oldest first */
    gpuc_vk_submission *spare;
    gpuc_vk_buffer *garbage;
    bool lost;

    /* Copies that wait for the next submission; their serial is last_serial + 1. */
    VkCommandPool pool;
    VkCommandBuffer batch;
    VkCommandBuffer *spare_batches;
    uint32_t num_spare, spare_capacity;
    gpuc_vk_hazards hazards;

    gpuc_vk_raw_buffer ring;       /* made at the first upload that needs it */
    uint64_t ring_head, ring_tail; /* never wrap; modulo its size gives the place */
} gpuc_vk_queue;

GPUC_NODISCARD gpuc_status gpuc_vk_queue_init(gpuc_vk_device *dev);
void gpuc_vk_queue_deinit(gpuc_vk_device *dev);
/* The functions named _locked are called with queue.lock held. */
GPUC_NODISCARD gpuc_status gpuc_vk_batch_begin_locked(gpuc_vk_device *dev, VkCommandBuffer *out);
/* Submits the batch, if there is one, then each command buffer by itself; one serial for all. */
GPUC_NODISCARD gpuc_status gpuc_vk_submit_locked(gpuc_vk_device *dev, const VkCommandBuffer *cbs,
                                                 uint32_t count, uint64_t *out_serial);
GPUC_NODISCARD gpuc_status gpuc_vk_flush_locked(gpuc_vk_device *dev);
/* Notes what is complete and recycles it; does not wait. */
GPUC_NODISCARD gpuc_status gpuc_vk_poll_locked(gpuc_vk_device *dev);
/* Submits the batch if the serial is that of the batch, then waits. */
GPUC_NODISCARD gpuc_status gpuc_vk_wait(gpuc_vk_device *dev, uint64_t serial);
GPUC_NODISCARD gpuc_status gpuc_vk_wait_all(gpuc_vk_device *dev);

#endif
