/* SPDX-License-Identifier: Apache-2.0 */
/* One queue, and the batch in front of it. Every submission gets the next serial number; a ticket is a serial,
 * and an object is idle when the serial of its last use is complete. Launches and copies of all streams gather
 * in one open batch, in the order of the calls, with barriers where they touch the same memory; the next
 * submission carries it. `queue.lock` guards the queue, the batch, the upload ring, the serials in buffers and
 * streams, and the garbage list; it is never held while waiting for a fence. Plans record into command pools of
 * their own, without the lock. */
#ifndef GPUC_RUNTIME_VULKAN_QUEUE_H
#define GPUC_RUNTIME_VULKAN_QUEUE_H

#include "runtime_vulkan/buffer.h"
#include "runtime_vulkan/hazard.h"

typedef struct gpuc_vk_stream {
    gpuc_stream base;
    uint64_t last; /* serial of what was appended last */
} gpuc_vk_stream;

typedef struct gpuc_vk_view {
    uint64_t buffer; /* id */
    VkDeviceSize offset, range;
    VkFormat format;
    VkBufferView handle;
    uint32_t refs;
} gpuc_vk_view;

typedef struct gpuc_vk_views {
    gpuc_vk_view *list;
    uint32_t count, capacity;
} gpuc_vk_views;
void gpuc_vk_views_destroy(gpuc_vk_device *dev, gpuc_vk_views *views);

enum { GPUC_VK_POOL_KINDS = 6 };
typedef struct gpuc_vk_pool {
    struct gpuc_vk_pool *next;
    VkDescriptorPool handle;
} gpuc_vk_pool;

/* Bytes on their way to the host's memory. */
typedef struct gpuc_vk_readback {
    struct gpuc_vk_readback *next; /* queued before */
    gpuc_vk_raw_buffer staging;
    void *host;
} gpuc_vk_readback;

/* What a batch needs until it is complete. */
typedef struct gpuc_vk_kept {
    VkCommandBuffer commands; /* NULL: there is no batch */
    gpuc_vk_views views;
    gpuc_vk_pool *pools; /* descriptors of kernels without push descriptors */
    gpuc_vk_readback *readbacks;
} gpuc_vk_kept;

typedef struct gpuc_vk_submission {
    struct gpuc_vk_submission *next;
    uint64_t serial;
    VkFence fence;
    uint32_t waiters;
    bool retired;
    gpuc_vk_kept batch; /* in front */
    uint64_t ring_end;  /* position up to which the upload ring is free once the submission is complete */
} gpuc_vk_submission;

typedef struct gpuc_vk_queue {
    pthread_mutex_t lock;
    VkQueue handle;
    uint64_t last_serial, completed;
    gpuc_vk_submission *first, *last; /* in flight, oldest first */
    gpuc_vk_submission *spare;
    gpuc_vk_buffer *garbage;
    bool lost;
    gpuc_status unread; /* bytes that did not come to the host, until somebody waits for their submission */
    uint64_t unread_serial;

    VkCommandPool pool;
    VkCommandBuffer *spare_batches;
    uint32_t num_spare, spare_capacity;

    /* What waits for the next submission; its serial is last_serial + 1. */
    gpuc_vk_kept batch;
    gpuc_vk_hazards hazards;
    VkPipeline pipeline; /* bound last */
    double cost;         /* estimated operations */
    uint32_t num_steps;
    /* Descriptors left in the newest pool: sets, storage buffers, texel views, uniform buffers, images that are
     * read, images that are written. */
    uint32_t room[GPUC_VK_POOL_KINDS];

    gpuc_vk_raw_buffer ring;       /* made at the first upload that needs it */
    uint64_t ring_head, ring_tail; /* never wrap; modulo its size gives the place */
} gpuc_vk_queue;

GPUC_NODISCARD gpuc_status gpuc_vk_queue_init(gpuc_vk_device *dev);
void gpuc_vk_queue_deinit(gpuc_vk_device *dev);
/* The functions named _locked are called with queue.lock held. */
/* Submits the batch if so many operations more are too much for it. */
GPUC_NODISCARD gpuc_status gpuc_vk_batch_limit_locked(gpuc_vk_device *dev, double operations);
GPUC_NODISCARD gpuc_status gpuc_vk_batch_begin_locked(gpuc_vk_device *dev);
/* Submits the batch, if there is one, then each command buffer by itself; one serial for all. */
GPUC_NODISCARD gpuc_status gpuc_vk_submit_locked(gpuc_vk_device *dev, const VkCommandBuffer *cbs,
                                                 uint32_t count, uint64_t *out_serial);
/* One vkQueueSubmit, of info or of a fence alone; what is submitted so has no serial. */
VkResult gpuc_vk_submit_info(const gpuc_vk_device *dev, const VkSubmitInfo *info, VkFence fence);
GPUC_NODISCARD gpuc_status gpuc_vk_flush_locked(gpuc_vk_device *dev);
/* Notes what is complete and recycles it; does not wait. */
GPUC_NODISCARD gpuc_status gpuc_vk_poll_locked(gpuc_vk_device *dev);
/* Submits the batch if the serial is that of the batch, then waits at most so many nanoseconds. */
GPUC_NODISCARD gpuc_status gpuc_vk_wait_for(gpuc_vk_device *dev, uint64_t serial, uint64_t timeout,
                                            bool *out_done);
GPUC_NODISCARD gpuc_status gpuc_vk_wait(gpuc_vk_device *dev, uint64_t serial); /* as long as it takes */
GPUC_NODISCARD gpuc_status gpuc_vk_wait_all(gpuc_vk_device *dev);

/* stream.c; NULL: the default stream */
gpuc_vk_stream *gpuc_vk_stream_of(gpuc_vk_device *dev, gpuc_stream *stream);
gpuc_status gpuc_vk_stream_create(gpuc_device *dev, gpuc_stream **out);
void gpuc_vk_stream_free(gpuc_device *dev, gpuc_stream *stream);
gpuc_status gpuc_vk_stream_sync(gpuc_device *dev, gpuc_stream *stream);
gpuc_status gpuc_vk_stream_flush(gpuc_device *dev, gpuc_stream *stream);
gpuc_status gpuc_vk_stream_signal(gpuc_device *dev, gpuc_stream *stream, uint64_t *out);
gpuc_status gpuc_vk_stream_wait(gpuc_device *dev, gpuc_stream *stream, uint64_t ticket);
gpuc_status gpuc_vk_ticket_wait(gpuc_device *dev, uint64_t ticket, int64_t timeout_ns, bool *out_done);

/* copy.c: room for bytes in the upload ring, which the next submission frees; waits for the device when it is
 * full, with the lock let go meanwhile. */
GPUC_NODISCARD gpuc_status gpuc_vk_ring_take_locked(gpuc_vk_device *dev, VkDeviceSize bytes,
                                                    VkDeviceSize *out);

#endif
