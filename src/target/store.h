/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that programs add to a runtime: functions target.<what>.<name> of its registry, each of which gives an object
 * that holds the row. */
#ifndef GPUC_TARGET_STORE_H
#define GPUC_TARGET_STORE_H

#include "base/arena.h"
#include "base/ctx.h"
#include "runtime/object.h"

typedef struct gpuc_target_held {
    gpuc_object base; /* its table tells what the row is */
    gpuc_arena arena; /* of the row, and of all that it points to */
    const void *row;
} gpuc_target_held;

extern const gpuc_object_ops gpuc_target_held_kind, gpuc_target_held_tag;

/* An object without a row, or NULL when out of memory. The caller has one reference. */
gpuc_target_held *gpuc_target_held_create(gpuc_runtime *rt, const gpuc_object_ops *ops);
/* Enters it under a name, which is not taken. */
gpuc_status gpuc_target_held_enter(gpuc_runtime *rt, const char *name, gpuc_target_held *held);
/* Rows of a table that the context's runtime holds, by name and by number in the order of names; NULL: none. */
const void *gpuc_target_held_find(const gpuc_ctx *ctx, const gpuc_object_ops *ops, const char *name);
const void *gpuc_target_held_at(const gpuc_ctx *ctx, const gpuc_object_ops *ops, size_t i);
size_t gpuc_target_held_count(const gpuc_ctx *ctx, const gpuc_object_ops *ops);

/* Whether it consists of letters, digits and the other characters, and begins with a letter or a digit. */
bool gpuc_target_is_name(const char *name, const char *others, size_t max);
/* Copies a text; NULL becomes "". NULL when out of memory. */
const char *gpuc_target_held_text(gpuc_target_held *held, const char *text);
/* INVALID_ARGUMENT if a kind or a tag of the runtime has the name. */
gpuc_status gpuc_target_check_free(gpuc_runtime *rt, const char *what, const char *name);

/* Runs body on a context of its own that finds what the runtime has. */
gpuc_status gpuc_target_try(gpuc_runtime *rt, void (*body)(gpuc_ctx *ctx, void *arg), void *arg);

#endif
