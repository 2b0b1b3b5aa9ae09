/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a program on a device: whether the device can run it, which kernels and variants are made, and what a
 * launch of one of them is. Networks and libraries both stand on it.
 *
 * Reading code is one thing (gpuc_loader_load), making its kernels another (gpuc_loader_make): that takes seconds
 * where a driver compiles. What a driver compiles at once is a part: the kernels of one SPIR-V binary, of one
 * OpenCL program, of one shared object. Each part is a module of the device by itself, so that parts are made on
 * several threads, one after another in calls that were stopped, or by two callers at once. */
#ifndef GPUC_LOADER_LOADER_H
#define GPUC_LOADER_LOADER_H

#include <pthread.h>
#include <stdatomic.h>

#include "abi/package.h"
#include "base/arena.h"
#include "runtime/services.h"

typedef struct gpuc_code_part {
    const gpuc_module_blob *blob;       /* that holds it, of the program */
    const gpuc_kernel **kernels;        /* of the program, used here */
    uint32_t num_kernels;               /* at least 1 */
    _Atomic(gpuc_code_module *) module; /* NULL: not made */
    bool busy;                          /* a thread makes it; with the lock */
} gpuc_code_part;

typedef struct gpuc_loaded {
    gpuc_device *dev;
    const gpuc_program *program;
    gpuc_code_part *parts; /* NULL: not loaded */
    uint32_t num_parts;
    int64_t max_iterations; /* of the loops of an invocation; 0: no limit */
    bool deferred;          /* the kernels that others stand in for can be made as well */
    /* By the program's number of a kernel: */
    const bool *launched; /* steps launch it */
    uint32_t *chosen;     /* the kernel or variant to run */
    uint32_t *limited;    /* runs where that has too many iterations; GPUC_NO_INDEX: none */
    uint32_t *part_of;    /* GPUC_NO_INDEX: not used */
    uint32_t *numbers;    /* kernel_get's, once its part is made */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* busy became false */
    atomic_bool runnable;   /* all that a run needs is made */
    atomic_uint richer;     /* how often variants were added that plans made before do not have */
} gpuc_loaded;

/* requirements.c: names what the devices lack, or for which processor the code is; devices[0] is the program's, another
 * one is its fallback device. */
GPUC_NODISCARD gpuc_status gpuc_loader_check_requirements(const gpuc_program *p, gpuc_device *const *devices,
                                                          uint32_t num_devices);
/* Native code runs unchecked: refused unless allowed. */
GPUC_NODISCARD gpuc_status gpuc_loader_check_native_code(const gpuc_program *p, bool allowed);

/* code.c: chooses for l->dev among the kernels that are launched there, launched[k] for kernel k, which is no
 * variant, and makes none. deferred: until a variant is made, a run takes the kernel that it stands in for. The
 * program and launched are borrowed for as long as l is used; all memory is of the arena. On failure and at the end
 * l is for gpuc_loader_unload, which takes zeros, too. */
GPUC_NODISCARD gpuc_status gpuc_loader_load(gpuc_loaded *l, const gpuc_program *p, const bool *launched,
                                            bool deferred, gpuc_arena *arena);
void gpuc_loader_unload(gpuc_loaded *l);

/* What to make. */
typedef struct gpuc_making {
    gpuc_loaded *const *loaded; /* on which devices of the runtime */
    uint32_t num_loaded;
    bool richest;              /* what was chosen; else only what a run still lacks */
    gpuc_progress_fn progress; /* NULL: nobody asks */
    void *user;
} gpuc_making;
/* make.c: on the application's threads or on as many as it allows. Any number of callers at once; what one of them
 * makes the others wait for. CANCELLED if progress said so. What was made stays after a failure. */
GPUC_NODISCARD gpuc_status gpuc_loader_make(gpuc_runtime *rt, const gpuc_making *making);

/* launch.c: the kernel that runs in place of one as things are; it is made, if a run lacks nothing. */
uint32_t gpuc_loader_current(const gpuc_loaded *l, uint32_t kernel);
/* launch.c: module, kernel and work-groups of a step whose scalars are set, from the kernel's number in the
 * program. On a device that limits loop iterations it is the limited variant if the other exceeds the limit
 * with these scalars. *out_kernel is the program's number of what runs. */
GPUC_NODISCARD gpuc_status gpuc_loader_launch(const gpuc_loaded *l, uint32_t kernel, gpuc_step *step,
                                              uint32_t *out_kernel);
/* Whether the loop iterations of an invocation are within the limit of the device, whatever the scalars are. */
bool gpuc_loader_is_within(const gpuc_loaded *l, uint32_t kernel);

#endif
