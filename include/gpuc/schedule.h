/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules: how to compute. One stage per operation; primitives change loops, never the result
 * (rfactor and reordered reductions change rounding only). A primitive checks first and changes
 * afterwards: after an error the schedule is as it was. All functions raise, also for NULL arguments; only the
 * schedule, stage or group itself must not be NULL.
 *
 * Sources: Ragan-Kelley et al., Halide (PLDI 2013); Chen et al., TVM (OSDI 2018). */
#ifndef GPUC_SCHEDULE_H
#define GPUC_SCHEDULE_H

#include <gpuc/te.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuc_schedule gpuc_schedule;
typedef struct gpuc_stage gpuc_stage;

/* A schedule of everything that the outputs are computed from: each operation is a stage with one plain
 * loop per axis, the reduce axes inside. Outputs are computed tensors, each given once. */
GPUC_API gpuc_schedule *gpuc_schedule_create(gpuc_ctx *ctx, int num_outputs, gpuc_tensor *const *outputs);
/* The stage that computes t, or that a placeholder is. */
GPUC_API gpuc_stage *gpuc_schedule_stage(gpuc_schedule *s, gpuc_tensor *t);
/* The number of loops that the stage has now. */
GPUC_API int gpuc_stage_num_leaves(const gpuc_stage *st);
/* Loop i, from the outside. */
GPUC_API gpuc_iter *gpuc_stage_leaf(const gpuc_stage *st, int i);
/* The number of axes of the definition that are not reduced over. */
GPUC_API int gpuc_stage_num_axes(const gpuc_stage *st);
/* The number of reduce axes of the definition. */
GPUC_API int gpuc_stage_num_reduce(const gpuc_stage *st);
/* Axis i of the definition, whether it is still a loop or has been split or fused. */
GPUC_API gpuc_iter *gpuc_stage_axis(const gpuc_stage *st, int i);
/* Reduce axis i of the definition. */
GPUC_API gpuc_iter *gpuc_stage_reduce_axis(const gpuc_stage *st, int i);
/* Output number `output` of the operation that the stage computes now (cache_write and rfactor replace
 * operations). */
GPUC_API gpuc_tensor *gpuc_stage_tensor(const gpuc_stage *st, int output);

/* Makes two loops of one: the inner has factor iterations, the outer as many as cover the extent. Where
 * factor does not divide the extent, the tail is guarded. */
GPUC_API void gpuc_stage_split(gpuc_stage *st, gpuc_iter *iter, int64_t factor, gpuc_iter **outer,
                               gpuc_iter **inner);
/* The same by the number of iterations of the outer loop; the inner one has as many as cover the extent. */
GPUC_API void gpuc_stage_split_nparts(gpuc_stage *st, gpuc_iter *iter, int64_t nparts, gpuc_iter **outer,
                                      gpuc_iter **inner);
/* Makes one loop of two, of which inner is directly inside of outer. */
GPUC_API gpuc_iter *gpuc_stage_fuse(gpuc_stage *st, gpuc_iter *outer, gpuc_iter *inner);
/* Puts the named loops into this order, at the places that they hold together; other loops stay where they
 * are. */
GPUC_API void gpuc_stage_reorder(gpuc_stage *st, int n, gpuc_iter *const *order);
/* Splits x by xf and y by yf, and puts the four loops where the two stood, in the order xo, yo, xi, yi. */
GPUC_API void gpuc_stage_tile(gpuc_stage *st, gpuc_iter *x, gpuc_iter *y, int64_t xf, int64_t yf,
                              gpuc_iter **xo, gpuc_iter **yo, gpuc_iter **xi, gpuc_iter **yi);
/* Runs the iterations on a launch dimension: "blockIdx.x", "threadIdx.x", "vthread", ... A reduce loop may be
 * bound to a threadIdx: the threads then reduce together. A loop inside of an enclosing loop of the same
 * thread runs in that one's threads. */
GPUC_API void gpuc_stage_bind(gpuc_stage *st, gpuc_iter *iter, const char *thread);
/* Replaces the loop by copies of its body. A loop that would become more than 60000 operations stays a loop.
 * Drivers take long for much straight code: gpuc_build_func logs a warning where a kernel has more than 64
 * KiB. */
GPUC_API void gpuc_stage_unroll(gpuc_stage *st, gpuc_iter *iter);
/* Runs the iterations as lanes of vectors. The extent must be constant when the loop is lowered; what has
 * no vector form runs lane by lane. */
GPUC_API void gpuc_stage_vectorize(gpuc_stage *st, gpuc_iter *iter);
/* Runs the iterations on the threads of a CPU. Reduce loops cannot: use rfactor. */
GPUC_API void gpuc_stage_parallel(gpuc_stage *st, gpuc_iter *iter);
/* Attaches a note to the body of the loop. "auto_unroll_max_step": innermost loops of up to so many steps become
 * straight code; 0: only the loops that unroll names do. A key that no pass knows is an error. */
GPUC_API void gpuc_stage_pragma(gpuc_stage *st, gpuc_iter *iter, const char *key, int64_t value);
/* Computes, in the body of that loop of parent, the part that its readers need there (all of them must be
 * inside of the loop). The stage stays with the loop when it is split (the inner part) or fused. Unless
 * set_scope says otherwise the result is local inside of a thread loop, shared inside of a block
 * loop, else global. Shared storage holds what all threads of the group need: share the work out by bind. */
GPUC_API void gpuc_stage_compute_at(gpuc_stage *st, gpuc_stage *parent, gpuc_iter *iter);
/* Inlines the stage: it has no loops and no storage, and its readers compute the elements that they read. Not
 * for reductions, outputs and extern operations. */
GPUC_API void gpuc_stage_compute_inline(gpuc_stage *st);
/* Computes the stage as a whole before its readers: the default. Undoes compute_at and compute_inline. */
GPUC_API void gpuc_stage_compute_root(gpuc_stage *st);
/* Stores the result in "global", "global.texel", "shared", "warp" or "local" memory. Inputs and outputs of the
 * function are global, inputs perhaps read through texel buffers (global.texel), both perhaps images
 * (global.texture): the loop over all channels of one that is written is the innermost, vectorized or unrolled. */
GPUC_API void gpuc_stage_set_scope(gpuc_stage *st, const char *scope);
/* Makes lowering fail where the scope of the stage is not possible. Without it, storage of scope warp becomes
 * shared memory where threadIdx.x is not a subgroup of the target, lanes do not write parts of their own, or
 * elements of other lanes are read in divergent control flow; the label of the kernel says so. */
GPUC_API void gpuc_stage_require_scope(gpuc_stage *st);
/* Pads the storage so that the stride of that axis is k * factor + offset for some k. */
GPUC_API void gpuc_stage_storage_align(gpuc_stage *st, int axis, int64_t factor, int64_t offset);
/* Stores the elements in that order: a capital letter is an axis (A the first), and a factor with a small
 * letter is the inner part of a split axis. "BA32b" keeps a matrix [k, n] as [n / 32, k, 32], the last panel
 * filled up. storage_align then applies to the axis, or its outer part. The loops stay as they are: split and reorder
 * make them run in the order of the elements. */
GPUC_API void gpuc_stage_transform_layout(gpuc_stage *st, const char *layout);
/* Rounds the extent along an axis of the part that compute_at gives up to a multiple of factor, as far as the
 * tensor reaches, so that loops over it have whole vectors (align_bounds of Halide). */
GPUC_API void gpuc_stage_align_bounds(gpuc_stage *st, int axis, int64_t factor);
/* Drops the guards of the tail: where a part of the tensor, or a block of its layout, goes beyond the
 * tensor's end, the elements beyond it are computed as well, and never used. They are computed from the
 * elements beyond the end of what is read, if stages that are rounded up compute these in the loops around;
 * else from the last elements of it, if those are computed there. Where neither is proven the guards stay. */
GPUC_API void gpuc_stage_round_up(gpuc_stage *st);
/* inner is the inner loop of a split. Where the split has a tail, the last part is shifted back from the end,
 * so that it is whole and needs no guard; it computes some elements of the part before once more
 * (TailStrategy::ShiftInwards of Halide). Two iterations of a parallel loop, or two groups, may then store the same
 * value to an element. It has no effect for reductions, where the loops of the split are bound to threads of a group,
 * and where the extent is below the factor or known only at run time. */
GPUC_API void gpuc_stage_overlap(gpuc_stage *st, gpuc_iter *inner);
/* Doubles the storage of a stage that is computed in a loop, so that the part for the next iteration is
 * loaded while this one is used. */
GPUC_API void gpuc_stage_double_buffer(gpuc_stage *st);
/* Stores whole vectors of the result past the caches, where the target can, for results that are larger than
 * the caches or not read soon. It has an effect in global memory only. */
GPUC_API void gpuc_stage_non_temporal(gpuc_stage *st);

/* Launches threads around all loops of the stage, and of what is computed in them: threads[i] ("threadIdx.x",
 * "blockIdx.x", ...) of extents[i]. Loops in them that are bound to the same thread share it out; what no loop is bound
 * for is stored by the first thread where threads share the storage. A serial stage whose inputs are computed by threads
 * in its loops is one kernel then. out (may be NULL) gets the n thread loops, whose variables set_store_predicate may
 * use. Errors: virtual threads, a thread given twice, extents below 1. */
GPUC_API void gpuc_stage_env_threads(gpuc_stage *st, int n, const char *const *threads,
                                     const int64_t *extents, gpuc_iter **out);
/* Stores elements only where the condition holds: for threads that compute the same elements, of which one shall store
 * them. It is made of symbols and of the variables of loops and axes (gpuc_iter_var) of the stage, of its env_threads,
 * and of the loops that it is computed in; reduce axes are no part of it, nor are tensors. Where it uses the variable of
 * a thread it chooses the thread that stores to shared storage. This one may change the result: every element that is
 * read must be stored by some iteration, and nothing checks that. Errors: no bool; lowering names a variable that
 * is no loop around the store. */
GPUC_API void gpuc_stage_set_store_predicate(gpuc_stage *st, gpuc_expr predicate);
/* Asks the caches for the part of t that the body of the loop reads `offset` iterations later, a request per line of 64
 * bytes. t is read by the stage and lies in global memory; the loop is serial or unrolled. In C it is
 * __builtin_prefetch, in OpenCL C prefetch(); SPIR-V has nothing for it, so that other targets drop it. Errors: t is
 * not read there, or computed there, another kind of loop, a vectorized loop around it, an offset below 1. */
GPUC_API void gpuc_stage_prefetch(gpuc_stage *st, gpuc_tensor *t, gpuc_iter *iter, int64_t offset);
/* Keeps the storage of a stage through the iterations of the loop that it is computed in, as a ring: an iteration
 * computes only what the ones before have not. The part must move along one axis, by a fixed step that is shorter than
 * the part; the loop is serial or unrolled. Errors (of lowering): computed at root, another kind of loop, a part that
 * does not move so, and double_buffer together with it. */
GPUC_API void gpuc_stage_rolling_buffer(gpuc_stage *st);

/* Stages that are placed together. */
typedef struct gpuc_stage_group gpuc_stage_group;
/* A group of the stages on the ways from the inputs to the outputs: the outputs are in it, the inputs if
 * include_inputs says so; it stays the schedule's. Root of a stage in a group is where the group is computed; stages
 * that cache_write, rfactor or cache_read make for a group belong to it. Errors: no way leads from an input to an
 * output, a stage that is in a group already, an output or placeholder of the schedule in it is refused when the group is
 * moved. */
GPUC_API gpuc_stage_group *gpuc_schedule_create_group(gpuc_schedule *s, int num_outputs,
                                                      gpuc_tensor *const *outputs, int num_inputs,
                                                      gpuc_tensor *const *inputs, bool include_inputs);
/* compute_at for every stage of the group that is at root; those that are computed in one another stay so. */
GPUC_API void gpuc_stage_group_compute_at(gpuc_stage_group *g, gpuc_stage *parent, gpuc_iter *iter);
/* Undoes it: stages of the group that are at the group's place go to root. */
GPUC_API void gpuc_stage_group_compute_root(gpuc_stage_group *g);

/* ---- Intrinsics that a schedule may put in the place of loops ---- */
/* The part of a buffer that one run of the intrinsic reads or writes: where it begins and its strides are bound by the
 * schedule. Its elements are those of the pattern's tensor; only those that the pattern reads or computes may be
 * accessed. */
typedef struct gpuc_tensor_region gpuc_tensor_region;
/* The value of an element; with lanes > 1 a vector of consecutive elements along the last dimension. */
GPUC_API gpuc_expr gpuc_tensor_region_load(gpuc_ctx *ctx, const gpuc_tensor_region *r, const int64_t *index,
                                           int lanes);
/* The statement that stores a value at an element: a scalar, or a vector of elements along the last dimension. */
GPUC_API gpuc_stmt gpuc_tensor_region_store(gpuc_ctx *ctx, const gpuc_tensor_region *r, const int64_t *index,
                                            gpuc_expr value);
/* The value of an element at a computed index, for loops that the intrinsic makes itself. */
GPUC_API gpuc_expr gpuc_tensor_region_load_at(gpuc_ctx *ctx, const gpuc_tensor_region *r,
                                              const gpuc_expr *index);
/* A vector of elements along the last dimension, from such an index on. */
GPUC_API gpuc_expr gpuc_tensor_region_load_vector(gpuc_ctx *ctx, const gpuc_tensor_region *r,
                                                  const gpuc_expr *index, int lanes);
/* The statement that stores a scalar, or a vector along the last dimension, at such an index. */
GPUC_API gpuc_stmt gpuc_tensor_region_store_at(gpuc_ctx *ctx, const gpuc_tensor_region *r,
                                               const gpuc_expr *index, gpuc_expr value);
/* The distance in memory between neighbours along a dimension, in elements: an int64 of constants and symbols. */
GPUC_API gpuc_expr gpuc_tensor_region_stride(gpuc_ctx *ctx, const gpuc_tensor_region *r, int dim);
/* The address of the first element, for a call of a C function (gpuc_tir_intrinsic "extern"); written: the function
 * stores there. */
GPUC_API gpuc_expr gpuc_tensor_region_address(gpuc_ctx *ctx, const gpuc_tensor_region *r, bool written);
/* The scope of the storage that it lies in: "shared", "local", ... */
GPUC_API const char *gpuc_tensor_region_scope(const gpuc_tensor_region *r);
/* Makes the statement for one run: any loop IR over the regions, with loops, allocations, stores and calls of its own
 * (gpuc/ir.h). in: a region per input of the declaration, NULL for init and finalise; out: one per output of the
 * pattern. NULL does nothing, which only init and finalise may do. */
typedef gpuc_stmt (*gpuc_tensor_part)(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                                      const gpuc_tensor_region *const *out, void *arg);
/* What an intrinsic consists of. A pattern without a reduction has a body only. A reduction has a body, an update, or
 * both: the body is taken where the loops that it stands for have all of the reduction, and sets out. Else the update
 * joins what is new to out, between init and finalise, which each run once per part of the output. */
typedef struct gpuc_tensor_parts {
    gpuc_tensor_part body;   /* computes the pattern */
    gpuc_tensor_part init;   /* sets out before the first update; NULL: to the identity of the reducer */
    gpuc_tensor_part update; /* joins one part of the reduction to out */
    gpuc_tensor_part
        finalise; /* makes the pattern's values of what updates left in out; NULL: they left these */
    void *arg;    /* what the parts get */
} gpuc_tensor_parts;
typedef struct gpuc_tensor_intrin gpuc_tensor_intrin;
/* Declares that the parts compute `pattern`: a compute of 1 to 8 axes with constant extents, of any element types, which
 * reads placeholders at sums of multiples of its axes. The pattern may have several outputs (any of them is given) and any
 * reducer. inputs: the placeholders, in the order in which the parts get them. Errors: a pattern that is no such compute
 * (it uses an axis as a value, reads another tensor, two dimensions at one axis), parts that do not fit it. */
GPUC_API gpuc_tensor_intrin *gpuc_tensor_intrin_declare_parts(gpuc_ctx *ctx, const char *name,
                                                              gpuc_tensor *pattern, int num_inputs,
                                                              gpuc_tensor *const *inputs,
                                                              const gpuc_tensor_parts *parts);
/* Makes the statement for one run. For a reduction the statement updates out, which holds the sums so far. */
typedef gpuc_stmt (*gpuc_tensor_emit)(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                                      const gpuc_tensor_region *out, void *arg);
/* The same for a pattern of one output and one part: the body, or the update of a reduction. */
GPUC_API gpuc_tensor_intrin *gpuc_tensor_intrin_declare(gpuc_ctx *ctx, const char *name, gpuc_tensor *pattern,
                                                        int num_inputs, gpuc_tensor *const *inputs,
                                                        gpuc_tensor_emit emit, void *arg);
/* "dot_i8", "dot_u8i8", "dot_u8": sums of four products of bytes in int32; "dot_i16": of two products of 16
 * bits. Every target computes them, some in one instruction.
 * "coopmat_f16_f32", "coopmat_f16": 16 x 16 += 16 x 16 times 16 x 16, of float16, summed in float32 or
 * float16; both factors and the sums lie in storage of scope coopmat, which the threads along x hold
 * together, one block of 16 x 16 behind the other (gpuc_stage_transform_layout "AB16a16b"). "coopmat_load_f16"
 * copies such a block into it, "coopmat_store_f32" and "coopmat_store_f16" out of it; loops over the same
 * threads compute them where the target has no cooperative matrices, or the storage is not as they need it:
 * rows or columns side by side, at multiples of 16 bytes. NULL: there is no such intrinsic. */
GPUC_API gpuc_tensor_intrin *gpuc_tensor_intrin_find(gpuc_ctx *ctx, const char *name);
/* Replaces the loops from this leaf inwards by the intrinsic. They must be as many as its pattern has axes,
 * with the same extents and kinds in the same order. Where a split has a tail, its last part is computed by plain
 * loops, under a guard. Errors name what of the computation differs from the pattern, or the axis that does not fit;
 * lowering names the axis of a tail that no guard tells from whole parts, of a reduction's tail where the intrinsic has a
 * finalise part, or of a tail of cooperative matrices. */
GPUC_API void gpuc_stage_tensorize(gpuc_stage *st, gpuc_iter *iter, const gpuc_tensor_intrin *intrin);
/* Adds a stage that copies t to storage of that scope, and lets the readers read the copy. Returns its
 * tensor. */
GPUC_API gpuc_tensor *gpuc_cache_read(gpuc_schedule *s, gpuc_tensor *t, const char *scope, int num_readers,
                                      gpuc_stage *const *readers);
/* Adds a stage that holds the elements of t in the order in which the reader's axes read them, and lets
 * the reader read it: the window of a convolution becomes [outputs..., steps...] (reindex of TVM). The
 * reader reads t at one index only; where a condition keeps it from an index beyond the end of t, the
 * stage holds 0. */
GPUC_API gpuc_tensor *gpuc_reindex_read(gpuc_schedule *s, gpuc_tensor *t, const char *scope,
                                        gpuc_stage *reader);
/* Adds a stage that computes t in storage of that scope (it takes over the reduce axes); the stage of t then
 * copies from it. Returns its tensor. */
GPUC_API gpuc_tensor *gpuc_cache_write(gpuc_schedule *s, gpuc_tensor *t, const char *scope);
/* Factors a reduction of t at iter (a leaf made from reduce axes): the new tensor has iter as first
 * dimension, and t reduces over it; t's other loops stay as they are. */
GPUC_API gpuc_tensor *gpuc_rfactor(gpuc_schedule *s, gpuc_tensor *t, gpuc_iter *iter);

/* Lowers the schedule to loop IR, a function with one buffer parameter per argument (placeholders and
 * outputs, in the given order); a placeholder that nothing reads is one, too. Symbols of shapes become scalar
 * parameters. */
GPUC_API gpuc_tir_func *gpuc_schedule_lower(gpuc_schedule *s, const char *name, int num_args,
                                            gpuc_tensor *const *args);
/* The schedule as text for people: a line per stage and loop. */
GPUC_API const char *gpuc_schedule_text(gpuc_schedule *s);

/* ---- Looking at schedules ---- */

/* Where a stage is computed. */
typedef enum gpuc_attach {
    GPUC_ATTACH_ROOT,  /* as a whole, before what reads it */
    GPUC_ATTACH_AT,    /* in the body of a loop of another stage */
    GPUC_ATTACH_INLINE /* in the bodies of its consumers */
} gpuc_attach;

/* A stage; the loops are gpuc_stage_leaf, the operation is that of gpuc_stage_tensor. */
typedef struct gpuc_stage_info {
    const char *name;   /* of the operation */
    bool is_output;     /* of the schedule */
    gpuc_attach attach; /* where it is computed */
    gpuc_stage *parent; /* AT: of this stage */
    gpuc_iter *at;      /* AT: in this loop of it */
    bool has_scope;     /* its scope was set; else it follows from where it is computed */
    gpuc_scope scope;   /* if it was set */
} gpuc_stage_info;
/* A stage, which is not NULL. */
GPUC_API gpuc_stage_info gpuc_stage_get(const gpuc_stage *st);
/* The number of stages. */
GPUC_API int gpuc_schedule_num_stages(const gpuc_schedule *s);
/* Stage i, producers first; NULL where there is none. */
GPUC_API gpuc_stage *gpuc_schedule_stage_at(const gpuc_schedule *s, int i);
/* How loop i of the stage, from the outside, runs; a THREAD loop gives its tag. SERIAL where there is none. */
GPUC_API gpuc_loop_kind gpuc_stage_leaf_kind(const gpuc_stage *st, int i, gpuc_thread_tag *out_tag);

/* What a loop was made into, or of. */
typedef enum gpuc_relation_kind {
    GPUC_RELATION_SPLIT, /* whole = outer * extent(inner) + inner */
    GPUC_RELATION_FUSE   /* outer = whole // extent(inner), inner = whole % extent(inner) */
} gpuc_relation_kind;

/* A split or a fuse. */
typedef struct gpuc_relation {
    gpuc_relation_kind kind;          /* which */
    gpuc_iter *whole, *outer, *inner; /* the loops */
    int64_t factor, nparts;           /* of a split: one of them, the other is 0 */
    bool overlap;                     /* of a split: its tail may be shifted back from the end of the whole */
} gpuc_relation;
/* The number of splits and fuses of the stage. */
GPUC_API int gpuc_stage_num_relations(const gpuc_stage *st);
/* Number i of them, in the order in which they were made; zeros where there is none. */
GPUC_API gpuc_relation gpuc_stage_relation(const gpuc_stage *st, int i);

#ifdef __cplusplus
}
#endif
#endif
