/* SPDX-License-Identifier: Apache-2.0 */
/* A fused Relay function as a graph executable: nodes, steps, values, storage. */
#ifndef GPUC_COMPILE_GRAPH_H
#define GPUC_COMPILE_GRAPH_H

#include "abi/package.h"
#include "compile/lowered.h"
#include "compile/symbolic_sizes.h"
#include "compile/tuning.h"

/* Memory of one or more values (a reshape shares its input's). */
typedef struct gpuc_storage {
    gpuc_slot_kind kind;
    uint32_t device; /* 0: that of the program; 1: the fallback device */
    uint32_t index;  /* input, output or weight number */
    gpuc_expr bytes; /* over the symbols that inputs give; rounded up */
    int first, last; /* steps between which it holds a value; -1: not written or read */
    uint32_t slot;   /* set by the memory plan */
} gpuc_storage;

typedef struct gpuc_graph_value {
    const char *name;
    const gpuc_rtype *type;
    gpuc_storage *storage;
} gpuc_graph_value;

typedef struct gpuc_graph_step {
    const gpuc_lowered_kernel *kernel; /* NULL: a copy, or the reading of a symbol */
    gpuc_expr symbol;                  /* that is read; else NULL */
    uint32_t kernel_number, device;
    int num_tensors;
    uint32_t *values; /* per tensor */
} gpuc_graph_step;

typedef struct gpuc_graph_node {
    const char *name, *source;
    uint32_t function; /* number of the unique function; GPUC_NO_INDEX for a copy, a reshape or a reading */
    uint32_t device;
    gpuc_expr symbol; /* of a reading; else NULL */
    int first_step, num_steps, num_inputs, num_outputs;
    uint32_t *values;
} gpuc_graph_node;

typedef struct gpuc_graph_function {
    const gpuc_rfunction *f;
    const char *name, *label;
    const char *workload; /* what tuning logs call it: the hash of its text, in hexadecimal digits */
    bool placed;
    gpuc_relay_place place;
    uint64_t images;         /* gpuc_lower_task.images */
    const gpuc_tuned *tuned; /* its configuration and where that is from; NULL: it has none */
    gpuc_lowered *lowered;
    uint32_t first_kernel; /* its kernels' numbers in the program */
    uint32_t device;
} gpuc_graph_function;

typedef struct gpuc_graph_weight {
    const char *name;
    const gpuc_rconstant *constant;
    uint32_t value;
    uint64_t offset;
} gpuc_graph_weight;

typedef struct gpuc_graph {
    gpuc_ctx *ctx;
    const gpuc_target *target, *fallback;
    bool uses_fallback;
    gpuc_ptrs values, steps, nodes, functions, weights, storages;
    gpuc_ptrs inputs, outputs; /* gpuc_graph_value */
    uint32_t num_kernels;
    uint64_t weight_bytes;
    gpuc_sizes sizes;
    const gpuc_ptrs *conditions; /* gpuc_op_condition of the module */
} gpuc_graph;

/* What tuning logs call a function. */
const char *gpuc_compile_workload(gpuc_ctx *ctx, const gpuc_rfunction *f);
/* Makes the functions and nodes of main, not yet lowered. Functions that the target cannot compute are for
 * the fallback device, whose target can compute everything. */
gpuc_graph *gpuc_compile_graph_create(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_target *target,
                                      const gpuc_target *fallback);
static inline const gpuc_target *gpuc_graph_target(const gpuc_graph *g, uint32_t device)
{
    return device ? g->fallback : g->target;
}
/* Plans steps, lifetimes and slots, after the functions were lowered. */
void gpuc_compile_graph_plan(gpuc_graph *g);
/* Gives arena storages with disjoint lifetimes the same slot; returns the number of slots, sizes in *bytes,
 * devices in *devices. */
int gpuc_compile_plan_memory(gpuc_sizes *sizes, gpuc_ptrs *storages, int num_steps, gpuc_expr **bytes,
                             uint32_t **devices);
/* The executable, in the context's memory. */
void gpuc_compile_graph_to_exec(gpuc_graph *g, gpuc_exec *out);
/* TVM's graph JSON (nodes, arg_nodes, heads, node_row_ptr, attrs). */
char *gpuc_compile_graph_json(gpuc_graph *g);

#endif
