/* SPDX-License-Identifier: Apache-2.0 */
/* A model from inside: a program of a package with everything that sessions share. Nothing in it changes after
 * load, except the count of references and which of its kernels are made (loader/loader.h). */
#ifndef GPUC_EXECUTOR_MODEL_H
#define GPUC_EXECUTOR_MODEL_H

#include <stdatomic.h>

#include "abi/package.h"
#include "base/arena.h"
#include "base/file.h"
#include "loader/loader.h"
#include "runtime/services.h"

typedef struct gpuc_program_device {
    gpuc_loaded code;     /* and the device */
    gpuc_binding *chunks; /* weights: buffers of the model, or parts of the application's array */
    uint32_t num_chunks;
} gpuc_program_device;

struct gpuc_model {
    atomic_size_t refs;
    gpuc_runtime *rt;
    gpuc_allocator allocator;
    gpuc_arena arena;
    gpuc_mapping mapping; /* of the file; empty if the caller gave the bytes */
    gpuc_package package;
    const gpuc_program *program;
    const gpuc_exec *exec;
    gpuc_program_device *devices; /* exec->num_devices of them */
    gpuc_loaded **code;           /* of each */
    gpuc_binding *weights;        /* by slot; only those of weights are set */
    const char **step_nodes;      /* by step: name of its node, or "" */
    gpuc_ndarray **defaults;      /* by input, on its device; NULL: it has none */
    uint64_t weight_bytes;
    gpuc_ndarray *weight_memory; /* of the application, for the first device; NULL: none */
    const char *label;           /* what the model is called, for messages and debuggers */
    const char *fallback_reason;
    bool profiling;
    atomic_bool warm; /* a preparation has run it */
};

/* choose.c: sets program, exec, devices and fallback_reason. */
GPUC_NODISCARD gpuc_status gpuc_model_choose(gpuc_model *m, const gpuc_model_desc *desc);
/* weights.c */
GPUC_NODISCARD gpuc_status gpuc_model_load_weights(gpuc_model *m);
void gpuc_model_unload_weights(gpuc_model *m);
GPUC_NODISCARD gpuc_status gpuc_model_load_defaults(gpuc_model *m);
void gpuc_model_unload_defaults(gpuc_model *m);
/* Where an input lies. */
gpuc_device *gpuc_model_input_device(const gpuc_model *m, uint32_t i);
/* prepare.c: makes kernels: the richest, or only those that a run still lacks. */
GPUC_NODISCARD gpuc_status gpuc_model_make_kernels(gpuc_model *m, bool richest, gpuc_progress_fn progress,
                                                   void *user);
/* Grows when kernels were made that plans should be made anew with. */
unsigned gpuc_model_richer(const gpuc_model *m);
/* Name of a value in the slot, for messages. */
const char *gpuc_model_slot_name(const gpuc_exec *e, uint32_t slot);

#endif
