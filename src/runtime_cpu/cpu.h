/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU device from inside. Buffers are host memory, code is a shared object, a plan is a list
 * that plan_run walks on the calling thread; everything is done when a call returns. */
#ifndef GPUC_RUNTIME_CPU_CPU_H
#define GPUC_RUNTIME_CPU_CPU_H

#include "abi/cpu_env.h"
#include "abi/kernel.h"
#include "runtime/driver.h"
#include "runtime_cpu/pool.h"

typedef struct gpuc_cpu_device {
    gpuc_device base;
    gpuc_allocator allocator;
    gpuc_cpu_env env;    /* what kernels get; its host is this device */
    gpuc_cpu_pool *pool; /* NULL if the application runs the loops */
    int num_threads;
    uint32_t features;
    int vector_bits;
    char name[96];
    char instruction_sets[640]; /* all of abi/cpu_isa.def fit */
} gpuc_cpu_device;

gpuc_status gpuc_cpu_device_open(gpuc_runtime *rt, gpuc_device **out);
extern const gpuc_device_api gpuc_cpu_api;

/* attr.c */
int gpuc_cpu_online_processors(void);
void gpuc_cpu_query(gpuc_cpu_device *dev);      /* fills name, features, vector_bits */
void gpuc_cpu_list_isa(char *out, size_t size); /* isa.c: " avx avx2 " */
gpuc_status gpuc_cpu_get_attr(gpuc_device *dev, gpuc_device_attr attr, gpuc_attr_value *out);

/* buffer.c */
gpuc_status gpuc_cpu_alloc(gpuc_device *dev, size_t bytes, size_t alignment, gpuc_buffer **out);
void gpuc_cpu_free(gpuc_device *dev, gpuc_buffer *buffer);
gpuc_status gpuc_cpu_copy(gpuc_device *dev, gpuc_copy_end from, gpuc_copy_end to, size_t bytes,
                          gpuc_stream *stream);

/* module.c */
typedef struct gpuc_cpu_kernel {
    const gpuc_kernel *meta;
    gpuc_cpu_kernel_fn fn;
} gpuc_cpu_kernel;

typedef struct gpuc_cpu_module {
    gpuc_cpu_device *dev;
    void *library;
    int fd; /* of the library's memory; -1 if it came from a file */
    uint32_t num_kernels;
    gpuc_cpu_kernel kernels[];
} gpuc_cpu_module;

gpuc_status gpuc_cpu_module_load(gpuc_device *dev, const char *type_key, const void *bytes, size_t size,
                                 const gpuc_kernel *const *kernels, uint32_t num_kernels,
                                 gpuc_code_module **out);
void gpuc_cpu_module_release(gpuc_device *dev, gpuc_code_module *module);
gpuc_status gpuc_cpu_kernel_get(gpuc_code_module *module, const char *name, uint32_t *out);

/* elf.c: whether bytes look like a shared object for this processor, before dlopen sees them. */
GPUC_NODISCARD gpuc_status gpuc_cpu_elf_check(const void *bytes, size_t size);

/* plan.c */
gpuc_status gpuc_cpu_plan_create(gpuc_device *dev, const gpuc_step *steps, uint32_t count, uint32_t flags,
                                 gpuc_plan **out);
gpuc_status gpuc_cpu_plan_run(gpuc_plan *plan, const gpuc_bindings *bindings, gpuc_stream *stream);
gpuc_status gpuc_cpu_plan_profile(gpuc_plan *plan, double *out_ns, uint32_t count);
void gpuc_cpu_plan_destroy(gpuc_plan *plan);

#endif
