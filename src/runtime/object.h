/* SPDX-License-Identifier: Apache-2.0 */
/* Head of the counted objects that a GPUC_VALUE_OBJECT holds (tuples and closures of the VM, ...). */
#ifndef GPUC_RUNTIME_OBJECT_H
#define GPUC_RUNTIME_OBJECT_H

#include <stdatomic.h>

#include <gpuc/runtime.h>

typedef struct gpuc_object gpuc_object;

typedef struct gpuc_object_ops {
    const char *type_key; /* compared by address: one static table per type */
    void (*destroy)(gpuc_object *object);
} gpuc_object_ops;

struct gpuc_object {
    const gpuc_object_ops *ops;
    atomic_size_t refs;
};

void gpuc_object_init(gpuc_object *object, const gpuc_object_ops *ops); /* one reference */
gpuc_object *gpuc_object_retain(gpuc_object *object);                   /* NULL is fine */
void gpuc_object_release(gpuc_object *object);

#endif
