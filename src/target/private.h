/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder. */
#ifndef GPUC_TARGET_PRIVATE_H
#define GPUC_TARGET_PRIVATE_H

#include "target/target.h"

typedef enum gpuc_target_attr_id {
#define GPUC_TARGET_ATTR(field, ...) GPUC_TARGET_ATTR_##field,
#include "target/attrs.def"
#undef GPUC_TARGET_ATTR
    GPUC_TARGET_ATTR_COUNT
} gpuc_target_attr_id;

/* The rows of a kind: those of attrs.def in this order, then its own, then those of kept.def. */
extern const gpuc_target_attr_row gpuc_target_others_attrs[]; /* of a registered kind, without its own */

/* Of an attribute of attrs.def. */
typedef struct gpuc_target_field {
    size_t offset; /* in gpuc_target */
    bool required;
} gpuc_target_field;
extern const gpuc_target_field gpuc_target_fields[GPUC_TARGET_ATTR_COUNT];

gpuc_status gpuc_target_check_count(const gpuc_target_value *v);
gpuc_status gpuc_target_check_positive(const gpuc_target_value *v);
gpuc_status gpuc_target_check_power_of_two(const gpuc_target_value *v);
gpuc_status gpuc_target_check_vector_bits(const gpuc_target_value *v);
gpuc_status gpuc_target_check_parameters(const gpuc_target_value *v);
gpuc_status gpuc_target_check_block(const gpuc_target_value *v);
gpuc_status gpuc_target_check_mcpu(const gpuc_target_value *v);
gpuc_status gpuc_target_check_vulkan(const gpuc_target_value *v);
gpuc_status gpuc_target_check_spirv(const gpuc_target_value *v);
gpuc_status gpuc_target_check_command(const gpuc_target_value *v);

/* ---- Attributes ---- */

int gpuc_target_num_attrs(const gpuc_target_kind_row *kind);
/* The number of the attribute that a name, or another name, means; -1: none. */
int gpuc_target_find_attr(const gpuc_target_kind_row *kind, const char *name);
/* What the kinds of all contexts take a name for: "max_num_threads" for max_threads_per_block; else the name. */
const char *gpuc_target_canonical_name(const char *name);
gpuc_target_value gpuc_target_value_of(const gpuc_target *t, int attr);
bool gpuc_target_same_value(const gpuc_target *a, const gpuc_target *b, int attr);
const char *gpuc_target_type_name(gpuc_target_type type); /* "an integer" */
/* Whether an attribute can have a value: the message begins with its name. */
gpuc_status gpuc_target_check(const gpuc_target_attr_row *row, const gpuc_target_value *v);
GPUC_NORETURN void gpuc_target_unknown_attr(gpuc_ctx *ctx, const gpuc_target_kind_row *kind,
                                            const char *name);

/* ---- Drafts ---- */

struct gpuc_target_draft {
    gpuc_ctx *ctx;
    gpuc_target t;             /* its others are those below */
    gpuc_target_value *others; /* of the kind's attributes behind those of attrs.def */
    bool *given;               /* per attribute: the text sets it */
    bool wants_device;
    int device_index;
};

/* The attributes of a kind, at their defaults. */
void gpuc_target_draft_init(gpuc_ctx *ctx, gpuc_target_draft *d, const gpuc_target_kind_row *kind);
/* A draft that goes on from values, of which none is given. */
void gpuc_target_draft_copy(gpuc_ctx *ctx, gpuc_target_draft *d, const gpuc_target *from);
/* Sets an attribute after a check of its type and value. Strings are copied. Raises. */
void gpuc_target_draft_put(gpuc_target_draft *d, int attr, const gpuc_target_value *v);
/* A copy of what was put so far, in which nothing follows from anything yet. */
const gpuc_target *gpuc_target_draft_keep(const gpuc_target_draft *d);
/* What follows from other attributes is filled in. Raises. */
const gpuc_target *gpuc_target_draft_finish(gpuc_target_draft *d, gpuc_device *device);
/* Of attrs.def, without a check, unless the text gives it. */
void gpuc_target_derive(gpuc_target_draft *d, gpuc_target_attr_id id, int64_t value);
/* Whether texts of t print the attribute, one bool for each: with them, t is made again from its start. */
bool *gpuc_target_printed(gpuc_ctx *ctx, const gpuc_target *t);

/* ---- Kinds that are built in ---- */

/* What this machine's CPU has: vector_bits, vector_registers, simd_lanes, num_cores, core_cache, last_level_cache. */
void gpuc_target_fill_native(gpuc_target_draft *d);
int64_t gpuc_target_host_cache(void); /* bytes of its last level; 0: not known */
gpuc_status gpuc_target_vulkan_from_device(gpuc_target_draft *d, gpuc_device *device);
gpuc_status gpuc_target_opencl_from_device(gpuc_target_draft *d, gpuc_device *device);
gpuc_status gpuc_target_c_from_device(gpuc_target_draft *d, gpuc_device *device);
gpuc_status gpuc_target_opencl_canonicalise(gpuc_target_draft *d);
gpuc_status gpuc_target_c_canonicalise(gpuc_target_draft *d);

#endif
