/* SPDX-License-Identifier: Apache-2.0 */
/* Steps, what they are bound to, and the commands recorded for them: of plans, and of launches in the open
 * batch. */
#ifndef GPUC_RUNTIME_VULKAN_PLAN_H
#define GPUC_RUNTIME_VULKAN_PLAN_H

#include "runtime_vulkan/device.h"

typedef struct gpuc_vk_step {
    const gpuc_vk_kernel *kernel; /* NULL: a copy */
    const gpuc_step_tensor *tensors;
    const int64_t *scalars;
    const uint64_t *skipped; /* bytes of each tensor before its window; NULL: none */
    uint32_t num_tensors;
    uint32_t first[3], launch[3]; /* work-groups */
    bool empty;                   /* nothing to launch or to copy */
    const char *label;
} gpuc_vk_step;

typedef struct gpuc_vk_steps {
    gpuc_vk_device *dev;
    gpuc_arena *arena;  /* of the list and of what is made for it */
    gpuc_vk_step *list; /* of a launch that is cut, one for each part (windows.c) */
    uint32_t count, capacity;
} gpuc_vk_steps;

typedef struct gpuc_vk_slot {
    uint64_t id; /* of the buffer; 0 if no step uses the slot */
    uint64_t offset;
    VkBuffer handle;
    VkDeviceSize limit; /* size of the VkBuffer */
    VkBufferUsageFlags usage;
    const gpuc_vk_image *image; /* NULL: it is a VkBuffer */
} gpuc_vk_slot;

struct gpuc_vk_bound_step {
    uint32_t num_accesses;
    VkDescriptorBufferInfo *buffers; /* storage bindings, then the parameter block if it is one */
    VkBufferView *texels;            /* in the order of their bindings */
    VkDescriptorImageInfo *images;   /* the same */
    gpuc_vk_access *accesses;
    uint8_t *params;
    VkDescriptorSet set;
    VkBuffer copy_from, copy_to;
    const gpuc_vk_image *from_image, *to_image; /* one of them, if an image is copied whole */
    VkBufferCopy copy;
};

/* A plan with one set of bindings: everything resolved, and the command buffers. */
typedef struct gpuc_vk_bound {
    struct gpuc_vk_bound *next; /* most recently used first */
    gpuc_arena arena;
    gpuc_vk_slot *slots;
    uint64_t version; /* of the bindings that it was last found for; 0: they have none */
    gpuc_vk_bound_step *steps;
    uint32_t *views; /* numbers in plan->views, one reference each */
    uint32_t num_views;
    VkDescriptorPool descriptors;
    gpuc_vk_raw_buffer params;
    VkCommandBuffer *commands; /* one per cut; NULL until recorded */
    bool recorded;
    VkQueryPool queries;
    uint64_t serial; /* of the last run */
    bool external;   /* recorded into a command buffer of the application, last by this recording: */
    uint64_t recorded_at;
} gpuc_vk_bound;

/* Timestamps of a part of a plan: in front of it, and behind each of its steps. */
typedef struct gpuc_vk_timer {
    VkQueryPool pool;               /* made at its first use */
    uint64_t serial;                /* of the part; 0: nothing to read */
    uint32_t step, end;             /* that were given */
    double first_share, last_share; /* that the part had of its first and its last step */
} gpuc_vk_timer;
#define GPUC_VK_TIMERS 3 /* parts of a plan that are measured while in flight */

typedef struct gpuc_vk_plan {
    gpuc_vk_device *dev;
    gpuc_arena arena;
    gpuc_vk_steps steps;
    uint32_t *first_steps; /* of each step that was given, and behind the last one */
    uint32_t num_given, num_slots, num_cuts, num_launches;
    uint32_t *cuts;       /* end step of each command buffer */
    uint8_t *slot_access; /* union of the steps' */
    uint64_t *slot_end;   /* bytes of the slot that the steps touch */
    VkPipelineStageFlags stages;
    bool profiling;
    /* Descriptors to take from a pool. */
    uint32_t num_storage, num_texels, num_uniforms, num_sampled, num_written, num_sets;
    VkDeviceSize param_bytes; /* of the parameter blocks in buffers */
    VkCommandPool pool;
    gpuc_vk_views views;
    gpuc_vk_bound *bounds;
    gpuc_vk_bound *last_run;
    uint64_t recordings; /* number of the last recording into a command buffer of the application */
    uint32_t in_flight;  /* that may still run, up to that one; 0: all */
    gpuc_vk_slot *scratch;
    gpuc_vk_timer timers[GPUC_VK_TIMERS];
    uint64_t *ticks; /* scratch for timers; NULL: none was used */
} gpuc_vk_plan;

gpuc_status gpuc_vk_plan_create(gpuc_device *dev, const gpuc_step *steps, uint32_t count, uint32_t flags,
                                gpuc_plan **out);
gpuc_status gpuc_vk_plan_run(gpuc_plan *plan, const gpuc_bindings *bindings, gpuc_stream *stream);
gpuc_status gpuc_vk_plan_record(gpuc_plan *plan, const gpuc_bindings *bindings, uint32_t first,
                                uint32_t count, const gpuc_recording *recording);
gpuc_status gpuc_vk_plan_profile(gpuc_plan *plan, double *out_ns, uint32_t count);
void gpuc_vk_plan_destroy(gpuc_plan *plan);
/* All slots of the plan are in use up to the serial. */
void gpuc_vk_note_use_locked(const gpuc_vk_plan *plan, const gpuc_bindings *bindings, uint64_t serial);

/* part.c */
uint32_t gpuc_vk_plan_units(const gpuc_plan *plan, uint32_t step);
gpuc_status gpuc_vk_plan_run_part(gpuc_plan *plan, const gpuc_bindings *bindings, gpuc_plan_part *part,
                                  gpuc_stream *stream);
void gpuc_vk_timers_destroy(gpuc_vk_plan *plan);

/* submit.c */
gpuc_status gpuc_vk_submit_end(gpuc_device *dev, const gpuc_bindings *bindings,
                               const gpuc_vulkan_submit *submit, bool end);

/* launch.c: one step in the open batch. */
gpuc_status gpuc_vk_launch(gpuc_device *dev, gpuc_stream *stream, const gpuc_step *step,
                           const gpuc_bindings *bindings);

/* steps.c: adds a launch or copy, after checking it; several, if a tensor is larger than a binding. Tensors and
 * scalars are borrowed. */
GPUC_NODISCARD gpuc_status gpuc_vk_add_given(gpuc_vk_steps *steps, const gpuc_step *step);
/* An empty step at the end. */
GPUC_NODISCARD gpuc_status gpuc_vk_add_step(gpuc_vk_steps *steps, gpuc_vk_step **out);
/* How a step uses its tensor t: gpuc_access. */
uint8_t gpuc_vk_step_access(const gpuc_vk_step *step, uint32_t t);
/* Estimated operations. */
double gpuc_vk_step_cost(const gpuc_vk_step *step);
double gpuc_vk_copy_cost(uint64_t bytes);
/* windows.c: the steps of one launch. */
GPUC_NODISCARD gpuc_status gpuc_vk_add_launch(gpuc_vk_steps *steps, const gpuc_vk_step *step);

/* What the binding of a step takes from: a plan with one set of bindings, or the open batch. */
typedef struct gpuc_vk_binder {
    gpuc_vk_device *dev;
    gpuc_arena *arena; /* of what a bound step holds */
    const gpuc_vk_slot *slots;
    gpuc_vk_views *views;
    uint32_t *used_views; /* room for the numbers of those that are taken; NULL: not asked for */
    uint32_t num_used_views;
    VkDescriptorPool descriptors;
    gpuc_vk_raw_buffer *params;
    VkDeviceSize param_offset; /* where the next parameter block may lie in params */
} gpuc_vk_binder;

/* bind.c: what a slot is bound to; the tensor says which slot, and how far it is used. */
GPUC_NODISCARD gpuc_status gpuc_vk_resolve(const gpuc_vk_device *dev, const gpuc_bindings *bindings,
                                           const gpuc_step_tensor *tensor, gpuc_vk_slot *out);
GPUC_NODISCARD gpuc_status gpuc_vk_bind_step(gpuc_vk_binder *b, const gpuc_vk_step *step,
                                             gpuc_vk_bound_step *out);

/* Finds the bound of these bindings or makes one, evicting the least recently used. */
GPUC_NODISCARD gpuc_status gpuc_vk_bind(gpuc_vk_plan *plan, const gpuc_bindings *bindings,
                                        gpuc_vk_bound **out);
void gpuc_vk_bound_destroy(gpuc_vk_plan *plan, gpuc_vk_bound *b);

/* record.c */
GPUC_NODISCARD gpuc_status gpuc_vk_record(gpuc_vk_plan *plan, gpuc_vk_bound *b);
/* Fills s->set. */
void gpuc_vk_update_set(gpuc_vk_device *dev, const gpuc_vk_layout *l, const gpuc_vk_bound_step *s);
/* Nothing where labels or queries are NULL, or the instance has no debug-utils. */
void gpuc_vk_label_begin(const gpuc_vk_device *dev, VkCommandBuffer cb, const char *label);
void gpuc_vk_label_end(const gpuc_vk_device *dev, VkCommandBuffer cb, const char *label);
void gpuc_vk_timestamp(const gpuc_vk_device *dev, VkCommandBuffer cb, VkQueryPool queries, uint32_t number);
/* Where steps are recorded. */
typedef struct gpuc_vk_recorder {
    VkCommandBuffer commands;
    gpuc_vk_hazards *hazards;
    VkPipelineStageFlags stages; /* of all steps that may follow */
    VkPipeline *pipeline;        /* bound last */
    bool one_by_one;             /* a barrier before each step */
} gpuc_vk_recorder;
void gpuc_vk_record_step(const gpuc_vk_device *dev, const gpuc_vk_recorder *r, const gpuc_vk_step *step,
                         const gpuc_vk_bound_step *s);
/* In the batch, which is open. */
void gpuc_vk_batch_step_locked(gpuc_vk_device *dev, const gpuc_vk_step *step, const gpuc_vk_bound_step *s);
void gpuc_vk_record_steps(gpuc_vk_plan *plan, const gpuc_vk_bound *b, VkCommandBuffer cb, uint32_t first,
                          uint32_t end, VkQueryPool queries, gpuc_vk_hazards *hazards);

#endif
