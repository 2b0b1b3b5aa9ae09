/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the default schedules. */
#ifndef GPUC_AUTOSCHEDULE_RULES_H
#define GPUC_AUTOSCHEDULE_RULES_H

#include "te/te.h"
#include "target/target.h"
#include "autoschedule/knobs.h"
#include "op/op.h"

typedef struct gpuc_rules {
    gpuc_ctx *ctx;
    const gpuc_target *target;
    gpuc_knobs *knobs; /* NULL: the rules decide */
    gpuc_target_class kind;
    const gpuc_constants *constants; /* those of the target */
    gpuc_schedule *s;
} gpuc_rules;

/* What rules ask; the schedule is made by the caller. */
gpuc_rules gpuc_rules_of(gpuc_ctx *ctx, const gpuc_target *target, gpuc_knobs *knobs);
/* The value of a knob: one of the candidates up to most, or own where nothing else is configured. */
int64_t gpuc_rules_knob(const gpuc_rules *r, const char *name, int64_t own, int64_t max, int n,
                        const int64_t *candidates);
/* The same where candidates divide the extent. */
int64_t gpuc_rules_divisor_knob(const gpuc_rules *r, const char *name, int64_t own, int64_t max,
                                int64_t extent);
/* The extent, or 0 if it is symbolic. */
int64_t gpuc_rules_extent(const gpuc_iter *iter);
/* Of extents; 0 if one is symbolic or zero, or the number overflows. */
int64_t gpuc_rules_product(int n, gpuc_iter *const *iters);
/* The same with guesses for symbolic extents. */
int64_t gpuc_rules_likely_product(int n, gpuc_iter *const *iters);
/* Fuses n leaves that stand together; NULL for none. */
gpuc_iter *gpuc_rules_fuse(gpuc_stage *st, int n, gpuc_iter *const *loops);
/* Spreads a loop over blocks and threads, or cores. Returns the innermost loop that it became. */
gpuc_iter *gpuc_rules_spread(const gpuc_rules *r, gpuc_stage *st, gpuc_iter *loop);
/* What a compute says of itself (gpuc_topi_compute), where that decides its schedule. */
typedef enum gpuc_rules_tag {
    GPUC_TAG_NONE,
    GPUC_TAG_CONV,      /* data [N, C, space], a sum over channels and a window */
    GPUC_TAG_DEPTHWISE, /* the same without channels */
    GPUC_TAG_WINDOW,    /* a reduction over windows that is no sum of products */
    GPUC_TAG_MATMUL,
    GPUC_TAG_PAD,          /* a copy with a margin */
    GPUC_TAG_TABLE,        /* stays in memory: few elements that are read often */
    GPUC_TAG_SHARED_TABLE, /* the same on a CPU: its readers cost less on a GPU if they compute it themselves */
    GPUC_TAG_WINOGRAD_DATA,
    GPUC_TAG_WINOGRAD_PART,
    GPUC_TAG_WINOGRAD,
    GPUC_TAG_COUNT
} gpuc_rules_tag;
gpuc_rules_tag gpuc_rules_tag_of(const gpuc_tensor *t);
bool gpuc_rules_channels_last(const gpuc_tensor *t); /* the tag's "_nsc" form */
bool gpuc_rules_is_matmul(const gpuc_tensor *t);     /* rows by columns, in this order */

/* Computes what is needed of a stage in that loop of parent, as unrolled vectors in registers. */
void gpuc_rules_compute_in_registers(gpuc_stage *st, gpuc_stage *parent, gpuc_iter *at, int lanes);
/* Loads what the reader needs of an operand in that loop of parent into registers, once, as vectors: on a GPU
 * loads cost more than sums. */
gpuc_stage *gpuc_rules_load_to_registers(const gpuc_rules *r, gpuc_stage *reader, gpuc_tensor *operand,
                                         gpuc_stage *parent, gpuc_iter *at, int lanes);

/* Whether rows of t start at multiples of the vector width: a stage of this function is aligned by its
 * schedule, a parameter is compact. */
bool gpuc_rules_starts_rows_at_vectors(gpuc_tensor *t, int lanes);
/* Which dimension of an operand is that axis of the operation? -1: none. */
int gpuc_rules_dimension_of(const gpuc_rules *r, const gpuc_te_op *op, const gpuc_tensor *operand,
                            const gpuc_iter *axis);
/* Stores a copy of an operand in panels: for each step (or for some steps side by side) along one dimension,
 * `width` elements along another. Puts the other axes into order and returns their number. */
int gpuc_rules_panels(const gpuc_rules *r, gpuc_stage *copy, int across, int along, int64_t width,
                      int64_t steps, gpuc_iter **order);
/* Is an index this axis? Broadcasting writes 0 where the extent is 1. */
bool gpuc_rules_is_axis(gpuc_expr index, const gpuc_iter *axis);
/* How many of the last axes of an operation may be one loop without division in its indices: every tensor is
 * read there in step with the output, or not at all. */
int gpuc_rules_contiguous_axes(const gpuc_rules *r, const gpuc_te_op *op);

/* Whether gpuc_topi_schedule computes this output in one kernel, row by row, with the reductions of the rows
 * inside. */
bool gpuc_rules_makes_rows(gpuc_ctx *ctx, const gpuc_target *target, gpuc_tensor *out);

/* A second schedule of a function, for runs in which some sizes, known only at run time, are all 1. */
enum { GPUC_TOPI_VERSIONS = 3, GPUC_TOPI_VERSION_SYMBOLS = 4 };
typedef struct gpuc_version {
    int n;
    gpuc_expr symbols[GPUC_TOPI_VERSION_SYMBOLS];
} gpuc_version;
/* Fills out, which has space for GPUC_TOPI_VERSIONS, and returns their number. If several fit at run time,
 * the first is used. */
int gpuc_rules_versions(gpuc_ctx *ctx, int num_outputs, gpuc_tensor *const *outputs, gpuc_version *out);

/* Code of an operation's bodies as they are, in operators of the IR, those that become many counted as such. */
int64_t gpuc_rules_code_size(gpuc_ctx *ctx, int n, gpuc_tensor *const *outputs);
/* Whether the code of the function stays about as long as that of its operations when schedules inline them.
 * It does not where values that are read several times read others several times. */
bool gpuc_rules_stays_small(gpuc_ctx *ctx, int n, gpuc_tensor *const *outputs);

/* Does a schedule put its expression into its readers? */
bool gpuc_rules_is_inlined(gpuc_target_class kind, const gpuc_te_op *op);

/* A stage without reductions of its own, all producers inlined. */
void gpuc_rules_injective(const gpuc_rules *r, gpuc_stage *st);
/* The same for an output of the function, whose operation may be replaced. */
void gpuc_rules_injective_output(const gpuc_rules *r, gpuc_stage *st);
/* An output that is an image [height, width, channels], which kernels write in whole texels: the attribute "image" of
 * a tensor, whose operation has no reduction, asks for it. */
bool gpuc_rules_is_image(const gpuc_tensor *t);
void gpuc_rules_image(const gpuc_rules *r, gpuc_stage *st);
/* The same where rows of the output cross those of an input. Returns false, having changed nothing, if none
 * do. */
bool gpuc_rules_transpose(const gpuc_rules *r, gpuc_stage *st);
/* Whether an input runs along the last axis of the output but one, which is shorter than a vector: phases of windows that
 * are so many elements apart. */
bool gpuc_rules_has_phases(const gpuc_rules *r, const gpuc_stage *st);
/* The same for a copy whose rows start at multiples of the vector width, so that they are loaded as
 * vectors. */
void gpuc_rules_copy_rows(const gpuc_rules *r, gpuc_stage *st);
/* The intrinsic for a sum of products of small integers: *last, a reduce loop, is split, and *inside must
 * become the innermost loop that is tensorized. NULL, having changed nothing, where there is none. */
const gpuc_tensor_intrin *gpuc_rules_dot(const gpuc_rules *r, gpuc_stage *sum, gpuc_iter **last,
                                         gpuc_iter **inside);
/* A reduction; out is the function's output that reads it element by element, or the same tensor. */
void gpuc_rules_reduce(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out);
/* Threads of a GPU that reduce together, with vectors of so many lanes, and how many teams make a group.
 * threads == 1: the reduction is not for a team. */
typedef struct gpuc_team {
    int64_t threads, teams;
    int lanes;
} gpuc_team;

gpuc_team gpuc_rules_team(const gpuc_rules *r, const gpuc_tensor *reduction);
/* Gives each team a row of a loop; returns the loop over the teams of a group. */
gpuc_iter *gpuc_rules_spread_teams(gpuc_stage *st, gpuc_iter *rows, gpuc_team team);
/* The reduction within a row, whose result each thread gets. */
void gpuc_rules_share(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_team team);
/* A reduction, each output of which is a team's. */
void gpuc_rules_reduce_by_team(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out, gpuc_team team);
/* A reduction with outputs side by side, so many vectors of which are one thread's, where lanes are
 * threads. */
void gpuc_rules_columns_by_lanes(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out, int lanes,
                                 int64_t iterations);
/* On a CPU, a reduction that is computed in that loop of parent, or whose own loop it is: vectors of partial
 * results, which are reduced at the end. Changes nothing where values are few, or not side by side. */
void gpuc_rules_along_values(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_stage *parent, gpuc_iter *at);
/* An output whose rows need reductions of themselves: of how many leading axes they are rows, or 0 if it is
 * none. ops are those of the function, in order. r needs no schedule. */
int gpuc_rules_find_rows(const gpuc_rules *r, const gpuc_ptrs *ops, const gpuc_tensor *out);
/* Returns false, having changed nothing, if there are none. */
bool gpuc_rules_rows(const gpuc_rules *r, const gpuc_ptrs *ops, gpuc_tensor *out);
/* The same with a tile of accumulators in registers: convolution, matrix product. Returns false, having
 * changed nothing, for a shape that it is not for. */
bool gpuc_rules_tile(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out);
/* Whether its tiles make the padded copy of what they read, in registers. */
bool gpuc_rules_tile_pads(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out);
/* Whether its tiles need no copy with elements behind the end of rows, which the operation reads. */
bool gpuc_rules_tile_stays_inside(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out);

/* The same where subgroups multiply cooperative matrices. */
bool gpuc_rules_coopmat(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out);
bool gpuc_rules_is_coopmat(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out);

/* The same for products and convolutions on GPUs, whose groups stage what they read in shared memory. */
bool gpuc_rules_staged(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out);
/* Whether it does: then groups read through the padding of what they stage. */
bool gpuc_rules_is_staged(const gpuc_rules *r, const gpuc_tensor *reduction, const gpuc_tensor *out);

/* The same where lanes read each other's registers. */
bool gpuc_rules_warp_tile(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out);

/* The role of an operation in a Winograd convolution: the transformed data, which is in memory; the result;
 * or a step inside of the loops of those two. */
typedef enum gpuc_winograd_part {
    GPUC_WINOGRAD_NONE,
    GPUC_WINOGRAD_DATA,
    GPUC_WINOGRAD_INSIDE,
    GPUC_WINOGRAD_OUTPUT
} gpuc_winograd_part;
gpuc_winograd_part gpuc_rules_winograd_part(const gpuc_te_op *op);
void gpuc_rules_winograd_data(const gpuc_rules *r, gpuc_tensor *data);
/* out is the function's output that reads the result element by element, or the same tensor. */
void gpuc_rules_winograd_output(const gpuc_rules *r, gpuc_tensor *result, gpuc_tensor *out);

/* The same for convolutions that keep channels last (gpuc_target_keeps_channels_last), which read through
 * the padding of what they read. */
bool gpuc_rules_channels(const gpuc_rules *r, gpuc_tensor *reduction, gpuc_tensor *out);

/* Sizes of an attention; what is not known when building is 0. */
typedef struct gpuc_attention_sizes {
    int64_t batch, queries, keys, head, value;
    gpuc_dtype dtype;
    bool own_biases; /* each score has one of its own */
} gpuc_attention_sizes;
/* Does one kernel cost the target less than the products and the softmax by themselves? */
bool gpuc_rules_attends_at_once(const gpuc_target *target, const gpuc_attention_sizes *s);

#endif
