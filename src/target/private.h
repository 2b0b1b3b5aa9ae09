/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder. */
#ifndef GPUC_TARGET_PRIVATE_H
#define GPUC_TARGET_PRIVATE_H

#include "target/target.h"

typedef enum gpuc_target_attr_id {
#define GPUC_TARGET_INT(field, ...) GPUC_TARGET_ATTR_##field,
#include "target/attrs.def"
#undef GPUC_TARGET_INT
    GPUC_TARGET_ATTR_COUNT
} gpuc_target_attr_id;

typedef struct gpuc_target_attr_info {
    const char *name;
    size_t offset;
    int64_t by_kind[GPUC_TARGET_KIND_COUNT];
    bool required;
    const char *about;
} gpuc_target_attr_info;
extern const gpuc_target_attr_info gpuc_target_attrs[GPUC_TARGET_ATTR_COUNT];

typedef struct gpuc_target_kind_info {
    const char *name;
    gpuc_device_type device;
    gpuc_language language;
} gpuc_target_kind_info;
extern const gpuc_target_kind_info gpuc_target_kinds[GPUC_TARGET_KIND_COUNT];

typedef struct gpuc_target_preset {
    const char *name;  /* "vulkan/llvmpipe" */
    const char *attrs; /* as in the string form */
    const char *about;
    bool native; /* the device is this machine's CPU */
} gpuc_target_preset;
const gpuc_target_preset *gpuc_target_preset_find(const char *name); /* NULL: none */

/* A target being filled: which attributes were written, so that what is derived leaves them alone. */
typedef struct gpuc_target_draft {
    gpuc_target t;
    uint64_t given; /* bit per gpuc_target_attr_id */
    bool native;    /* filled from this machine's CPU */
    bool wants_device;
    int device_index;
} gpuc_target_draft;

static inline int64_t *gpuc_target_field(gpuc_target *t, int id)
{
    return (int64_t *)((char *)t + gpuc_target_attrs[id].offset);
}
static inline int64_t gpuc_target_value(const gpuc_target *t, int id)
{
    return *(const int64_t *)((const char *)t + gpuc_target_attrs[id].offset);
}
static inline void gpuc_target_derive(gpuc_target_draft *d, int id, int64_t value)
{
    if (!(d->given >> id & 1)) *gpuc_target_field(&d->t, id) = value;
}

/* What this machine's CPU has: vector_bits, vector_registers, simd_lanes, num_cores, last_level_cache. */
void gpuc_target_fill_native(gpuc_target_draft *d);
int64_t gpuc_target_host_cache(void); /* bytes of its last level; 0: not known */
/* What an open device says. Raises if it is of another kind. */
void gpuc_target_fill_device(gpuc_ctx *ctx, gpuc_target_draft *d, gpuc_device *device);

#endif
