/* SPDX-License-Identifier: Apache-2.0 */
/* tir -> tir passes, in pipeline order (the table is in pipeline.c). A pass returns the function it
 * was given when nothing changed, and raises on an error of the user. */
#ifndef GPUC_LOWER_LOWER_H
#define GPUC_LOWER_LOWER_H

#include <gpuc/lower.h>

#include "arith/arith.h"
#include "target/target.h"

/* Where the parameters of one kernel come from: buffer i is number buffers[i] of the function, or, from
 * func->num_buffers on, workspace buffers[i] - func->num_buffers; scalar i is number scalars[i] of the
 * function. A kernel may see a parameter with another type than the function (the bytes are the same: uint32
 * words of int8, uint16 of bfloat16, ...; an int64 dimension as int32). */
typedef struct gpuc_tir_kernel_args {
    const int *buffers, *scalars;
} gpuc_tir_kernel_args;

/* The result of lowering one function: kernels in launch order, and what lives between them. */
typedef struct gpuc_tir_program {
    int num_kernels, num_workspaces;
    gpuc_tir_func *const *kernels;    /* stage TARGET */
    const gpuc_tir_kernel_args *args; /* of each kernel */
    gpuc_tir_buffer *const
        *workspaces;           /* global buffers that the function allocated; 1-D, size may be symbolic */
    const gpuc_tir_func *func; /* the function, flat: its parameters are the program's */
} gpuc_tir_program;

gpuc_tir_program *gpuc_lower(gpuc_ctx *ctx, const gpuc_tir_func *f, const gpuc_target *target);

typedef struct gpuc_pass_ctx {
    gpuc_ctx *ctx;
    const gpuc_target *target;
} gpuc_pass_ctx;

typedef gpuc_tir_func *(*gpuc_tir_pass_fn)(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Runs passes by name ("unroll,simplify,split_kernels"; "lower": the whole pipeline), validates after each,
 * and gives the functions that result. For tools and tests. Raises for a name that is no pass. */
void gpuc_lower_run(gpuc_pass_ctx *p, const gpuc_tir_func *f, const char *passes, gpuc_ptrs *out);

/* ---- The passes of a function --------------------------------------------------------------------- */

/* Cuts loops whose conditions matter only at their ends, so that the middle has none. */
gpuc_tir_func *gpuc_lower_loop_partition(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Ends loops where guards on sizes known only at run time leave nothing to do. */
gpuc_tir_func *gpuc_lower_clip_loops(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Buffers become one-dimensional, accesses one index; local and shared sizes must be constant. */
gpuc_tir_func *gpuc_lower_storage_flatten(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Virtual thread loops are expanded inside of their thread, interleaved where legal. */
gpuc_tir_func *gpuc_lower_vthread(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Doubles double_buffer storage, and loads the next iteration's part before the current one is used. */
gpuc_tir_func *gpuc_lower_double_buffer(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Vectorised loops become vector expressions; what cannot be is made scalar again, lane by lane. */
gpuc_tir_func *gpuc_lower_vectorize(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Replaces unrolled loops by copies of their body; also small loops under the pragma auto_unroll_max_step,
 * and those that index small local arrays. Under the pragma with 0, only loops that the schedule unrolls. */
gpuc_tir_func *gpuc_lower_unroll(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Simplifies all expressions under the ranges of loops and the conditions of ifs; dead branches go. */
gpuc_tir_func *gpuc_lower_simplify(gpuc_pass_ctx *p, gpuc_tir_func *f);
const gpuc_rule_table *const *gpuc_lower_simplify_rules(void); /* of statements, for gpuc_tir_rule_name */
/* Root loop nests become kernels; thread loops become launch dimensions; host-level allocations workspaces. */
gpuc_tir_program *gpuc_lower_split_kernels(gpuc_pass_ctx *p, gpuc_tir_func *f);

/* ---- The passes of a kernel ------------------------------------------------------------------------ */

/* Operations on cooperative matrices stay where the target has instructions for them; others become loops
 * over the elements that the threads along x share out. */
gpuc_tir_func *gpuc_lower_coopmat(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Counts the loop iterations of an invocation, where the target has max_iterations or is OpenCL. Loops of
 * kernels that may exceed max_iterations are unrolled. */
gpuc_tir_func *gpuc_lower_limit_iterations(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Storage of scope warp becomes local memory that shuffles read across a subgroup, or shared memory. */
gpuc_tir_func *gpuc_lower_warp_memory(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Cross-thread reductions become subgroup operations or trees in shared memory, as the target says. The
 * input: ATTR "allreduce" (text: the reduced tags, "threadIdx.x,threadIdx.y") around one store to local
 * memory per value of the reducer; each stores what its thread contributes, and all threads get the total. */
gpuc_tir_func *gpuc_lower_thread_allreduce(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Shared and local buffers with disjoint lifetimes use the same memory. */
gpuc_tir_func *gpuc_lower_storage_reuse(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Barriers where shared memory written by one thread is accessed by another. */
gpuc_tir_func *gpuc_lower_thread_sync(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* For CPUs: the threads of a group become loops, cut at barriers, over vectors where neighbours work side by
 * side. Where the target has no work-groups, groups become loops too; where it has, threads stay unless all
 * of it is vectors. */
gpuc_tir_func *gpuc_lower_serialize_threads(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Launches above the target's grid limits fold x into y and z. */
gpuc_tir_func *gpuc_lower_fold_launch(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Finds the range of each parameter that a work-group accesses, where the parameter may exceed a binding
 * (abi/window.h). */
gpuc_tir_func *gpuc_lower_windows(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Loads and stores of images become ones of whole texels. Raises for an image that a kernel reads and writes, or
 * writes in parts of texels. */
gpuc_tir_func *gpuc_lower_texture_flatten(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Types that the target lacks are replaced (float16 computed in float32, bfloat16 always, bool as bytes,
 * 8/16-bit storage in 32-bit words). */
gpuc_tir_func *gpuc_lower_legalize_dtypes(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Index arithmetic becomes int32 where bounds prove that it fits. */
gpuc_tir_func *gpuc_lower_narrow_index(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* 64-bit integers that are left, on a target without them, become pairs of 32-bit words. */
gpuc_tir_func *gpuc_lower_legalize_int64(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Operators without an instruction of the target become expressions: safe division, isnan by bits,
 * range-reduced sin and cos, erf, overflow-free tanh, pow of negative bases, ... */
gpuc_tir_func *gpuc_lower_intrinsics(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Shared subexpressions that are worth a name become lets: generators print expressions as trees. */
gpuc_tir_func *gpuc_lower_hoist_common(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Every vector gets a number of lanes that the language has, a power of two. Stores of wide vectors become
 * several; where a later piece could read what an earlier one wrote, values are computed first. */
gpuc_tir_func *gpuc_lower_cut_vectors(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* A local array of vectors of several sizes, all at constant places, becomes an array for each size. */
gpuc_tir_func *gpuc_lower_split_locals(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* Iterations that compute long rows of names run side by side, where vectors are the machine's. */
gpuc_tir_func *gpuc_lower_interleave(gpuc_pass_ctx *p, gpuc_tir_func *f);
/* For languages whose compilers put barriers into loops: conditions around loops beside barriers become ones
 * that threads decide. */
gpuc_tir_func *gpuc_lower_guard_loops(gpuc_pass_ctx *p, gpuc_tir_func *f);

#endif
