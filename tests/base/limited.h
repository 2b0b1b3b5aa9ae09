/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz targets allocate by, so that an input cannot take all memory. */
#ifndef GPUC_TESTS_BASE_LIMITED_H
#define GPUC_TESTS_BASE_LIMITED_H

#include <stdlib.h>

typedef struct limited {
    size_t max, live; /* bytes */
} limited;

/* A resize of gpuc_allocator, whose user is a limited. */
static inline void *limited_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    limited *l = user;
    if (new_size > old_size && l->live + new_size - old_size > l->max) return NULL;
    l->live += new_size - old_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

#endif
