/* SPDX-License-Identifier: Apache-2.0 */
/* Counts references of objects that are passed as values. */
#include "runtime/object.h"

void gpuc_object_init(gpuc_object *object, const gpuc_object_ops *ops)
{
    object->ops = ops;
    atomic_init(&object->refs, 1);
}

gpuc_object *gpuc_object_retain(gpuc_object *object)
{
    if (object) atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
    return object;
}

void gpuc_object_release(gpuc_object *object)
{
    if (object && atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) == 1)
        object->ops->destroy(object);
}
