/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel compiled from generated C gets from its host. Generated code declares the
 * same struct itself, so the layout is frozen: append only. */
#ifndef GPUC_ABI_CPU_ENV_H
#define GPUC_ABI_CPU_ENV_H

#include <stdint.h>

typedef struct gpuc_cpu_env gpuc_cpu_env;
struct gpuc_cpu_env {
    uint64_t struct_size;
    /* Calls body(arg, b, e) on disjoint ranges that cover [begin, end), on any threads, and
     * returns when all are done. */
    void (*parallel_for)(const gpuc_cpu_env *env, int64_t begin, int64_t end,
                         void (*body)(void *arg, int64_t begin, int64_t end), void *arg);
    void *host;
};

typedef int (*gpuc_cpu_kernel_fn)(const gpuc_cpu_env *env, void *const *tensors, const int64_t *scalars);

#endif
