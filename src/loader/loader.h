/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a program on a device: whether the device can run it, which kernels and variants are loaded, and
 * what a launch of one of them is. Networks and libraries both stand on it. */
#ifndef GPUC_LOADER_LOADER_H
#define GPUC_LOADER_LOADER_H

#include "abi/package.h"
#include "base/arena.h"
#include "runtime/services.h"

typedef struct gpuc_loaded {
    gpuc_device *dev;
    gpuc_code_module **modules; /* by the program's number; NULL where none of its kernels is launched here */
    int64_t max_iterations;     /* of the loops of an invocation; 0: no limit */
    uint32_t *chosen;           /* the kernel or variant to run, by the program's number */
    uint32_t *limited;          /* runs where that has too many iterations; GPUC_NO_INDEX: none */
    uint32_t *kernels;          /* kernel_get's number of a kernel that is one of these, by its own number */
} gpuc_loaded;

/* requirements.c: names what the devices lack, or for which processor the code is; devices[0] is the program's, another
 * one is its fallback device. */
GPUC_NODISCARD gpuc_status gpuc_loader_check_requirements(const gpuc_program *p, gpuc_device *const *devices,
                                                          uint32_t num_devices);
/* Native code runs unchecked: refused unless allowed. */
GPUC_NODISCARD gpuc_status gpuc_loader_check_native_code(const gpuc_program *p, bool allowed);

/* code.c: loads on l->dev the modules of the kernels that are launched there: launched[k] for kernel k, which
 * is no variant. All memory is of the arena. On failure what was loaded is for gpuc_loader_unload, which takes
 * zeros, too. */
GPUC_NODISCARD gpuc_status gpuc_loader_load(gpuc_loaded *l, const gpuc_program *p, const bool *launched,
                                            gpuc_arena *arena);
void gpuc_loader_unload(gpuc_loaded *l, const gpuc_program *p);

/* launch.c: module, kernel and work-groups of a step whose scalars are set, from the kernel's number in the
 * program. On a device that limits loop iterations it is the limited variant if the other exceeds the limit
 * with these scalars. */
GPUC_NODISCARD gpuc_status gpuc_loader_launch(const gpuc_loaded *l, const gpuc_program *p, uint32_t kernel,
                                              gpuc_step *step);

#endif
