/* SPDX-License-Identifier: Apache-2.0 */
/* A session from inside. What follows from the shapes of the inputs (sizes, offsets, plans) is a
 * gpuc_shape_state; the last few are kept, so that shapes which alternate are planned once. Memory belongs
 * to the session and serves all states: plans refer to slots, which are bound at each run. */
#ifndef GPUC_EXECUTOR_SESSION_H
#define GPUC_EXECUTOR_SESSION_H

#include "executor/chunks.h"
#include "executor/model.h"

#define GPUC_MAX_STATES 4
#define GPUC_MAX_RETIRED 32
#define GPUC_DEFAULT_IN_FLIGHT 3 /* as many frames as most applications have */

/* Bytes of a value or of a window into one, in its slot. */
typedef struct gpuc_extent {
    uint32_t slot;
    uint64_t offset, size;
} gpuc_extent;

/* Steps [first_step, first_step + num_steps) as one plan; or one copy between two devices. */
typedef struct gpuc_segment {
    uint32_t device, first_step, num_steps;
    gpuc_plan *plan;      /* NULL: a transfer */
    gpuc_extent from, to; /* of the transfer */
    double transfer_ns;   /* of the last run, with profiling */
} gpuc_segment;

/* Steps that are planned at once: all, or those up to the next reading of a symbol. Plans are kept as long
 * as the symbols are read with the same values. */
typedef struct gpuc_part {
    uint32_t first_step, end_step; /* the part ends with the reading of a symbol, or with the program */
    gpuc_arena arena;              /* of the segments */
    int64_t *symbols;              /* that it was planned with; NULL: not planned */
    unsigned richer;               /* gpuc_model_richer, then */
    uint32_t *kernels; /* by step of the part: the program's number of what runs; GPUC_NO_INDEX: none */
    gpuc_segment *segments;
    uint32_t num_segments;
    uint64_t launches_device, launches_other;
} gpuc_part;

typedef struct gpuc_state_output {
    int64_t *dims;
    gpuc_extent value;
    bool direct; /* the output array itself is the slot */
    bool late;   /* its extents follow from values that the program computes */
} gpuc_state_output;

/* What a step takes, for slices. */
typedef struct gpuc_step_cost {
    double ops; /* estimated operations */
    double ns;  /* as measured; 0: not yet */
} gpuc_step_cost;

typedef struct gpuc_shape_state {
    struct gpuc_shape_state *next; /* used less recently */
    gpuc_arena arena;
    int64_t *extents;    /* symbols at the start of a run: what is not an extent has its upper bound */
    int64_t *symbols;    /* as read so far */
    uint32_t num_known;  /* of the symbols: the extents, and those that were read */
    int64_t *slots;      /* bytes; 0 as long as that is not known */
    gpuc_extent *values; /* by value */
    gpuc_place *places;  /* by slot: those in the arena */
    bool *in_arena;      /* by slot */
    gpuc_chunks *chunks; /* by device */
    gpuc_state_output *outputs;
    gpuc_part *parts;
    uint32_t num_parts;
    gpuc_plan *outputs_plan; /* record.c: copies of outputs that lie elsewhere; NULL: not made, or none */
    uint32_t num_output_copies;
    uint64_t recording;    /* the last one with these plans; 0: none */
    gpuc_step_cost *costs; /* by step of the program; NULL: no slice was asked for */
    double *measured;      /* scratch, by step */
} gpuc_shape_state;

/* An inference that runs in slices (slice.c). */
typedef struct gpuc_slices {
    bool under_way;
    uint32_t step, unit; /* of the next segment, that come next */
    double fraction;     /* told last */
    double ops, ns;      /* of all steps that have been measured */
    double queued;       /* estimated time of what was queued, and is not known to be done */
    double spared; /* part of the budget that is left free, as slices have taken longer than estimated */
} gpuc_slices;

typedef struct gpuc_session_array {
    gpuc_ndarray *array;
    bool bound;         /* the application's own */
    bool computed;      /* an output that the last run has filled */
    uint64_t recording; /* the last one that reads the input; 0: none */
} gpuc_session_array;

/* Memory that a command buffer of the application may still use. */
typedef struct gpuc_old_chunk {
    struct gpuc_old_chunk *next;
    gpuc_buffer *buffer;
} gpuc_old_chunk;

typedef struct gpuc_session_memory {
    gpuc_buffer **chunks;
    uint32_t count;
    gpuc_old_chunk *old;
} gpuc_session_memory;

/* An array that was replaced. */
typedef struct gpuc_retired {
    gpuc_ndarray *array;
    uint64_t recording; /* the last one that may use it */
} gpuc_retired;

struct gpuc_session {
    gpuc_model *model;
    gpuc_allocator allocator;
    gpuc_arena arena;
    gpuc_session_array *inputs, *outputs;
    gpuc_session_memory *memory; /* by device */
    gpuc_ndarray *workspace;     /* of the application, in place of the first device's; NULL: none */
    gpuc_buffer **late;          /* by slot: memory of those whose size the program computes */
    gpuc_binding *bindings;      /* by slot, of the last run; behind them the output arrays */
    int64_t *symbols;            /* scratch */
    gpuc_shape_state *states;    /* most recently used first */
    uint32_t num_states;
    bool shapes_changed; /* since the first state was chosen */
    bool bound;          /* bindings are those of the first state, and nothing was set since */
    uint64_t version;    /* of bindings */
    bool has_run;
    bool stepped;                     /* plans end where a node does */
    uint32_t next_part, next_segment; /* what runs next */
    uint32_t next_node;               /* of a stepped inference; 0: none is under way */
    bool pending;                     /* queued work may still use the memory */
    uint64_t *tickets;                /* by device: of the work of the last run */
    bool marked;                      /* the tickets are for all that was queued */
    gpuc_retired *retired;            /* queued work, or command buffers of the application, may use them */
    uint32_t num_retired, retired_capacity;
    const int64_t *const *planned; /* by input: dims in place of the array's, while a shape is planned */
    uint32_t in_flight;            /* recordings that may be pending */
    uint64_t recording;            /* number of the last one; 0: none */
    uint32_t next_recorded;        /* operator that goes on with it; 0: none is under way */
    gpuc_slices slices;
    gpuc_device *recordable; /* the device whose command buffers take the program; NULL: not checked */
    gpuc_parallel parallel;  /* zeros: the loops run as the runtime says */
};

/* shapes.c: symbols from the inputs, checked against the program's dims and assertions. */
GPUC_NODISCARD gpuc_status gpuc_session_eval_symbols(gpuc_session *s);
/* Gives a symbol that was read its value. */
GPUC_NODISCARD gpuc_status gpuc_executor_state_set_symbol(const gpuc_session *s, gpuc_shape_state *state,
                                                          uint32_t symbol, int64_t value);
uint32_t gpuc_executor_num_extents(const gpuc_exec *e); /* symbols that are extents: they come first */
/* The size of slot i, once it is known. */
GPUC_NODISCARD gpuc_status gpuc_executor_state_eval_slot(const gpuc_session *s, gpuc_shape_state *state,
                                                         uint32_t i);
/* Fills values, places, chunks and outputs of a state whose symbols are set. */
GPUC_NODISCARD gpuc_status gpuc_executor_state_eval_sizes(const gpuc_session *s, gpuc_shape_state *state);
/* Computes one value from the symbols read so far. While it is not known, *out has 0 bytes and *out_known is
 * false. */
GPUC_NODISCARD gpuc_status gpuc_executor_state_eval_value(const gpuc_session *s,
                                                          const gpuc_shape_state *state, uint32_t value,
                                                          gpuc_extent *out, bool *out_known);
/* Computes values and outputs again, with the symbols read so far. */
GPUC_NODISCARD gpuc_status gpuc_executor_state_eval_values(const gpuc_session *s, gpuc_shape_state *state);

/* segments.c: where programs are cut, then the plans of one part for the symbols as they are. */
GPUC_NODISCARD gpuc_status gpuc_executor_state_make_parts(const gpuc_session *s, gpuc_shape_state *state);
GPUC_NODISCARD gpuc_status gpuc_executor_part_plan(const gpuc_session *s, gpuc_shape_state *state,
                                                   gpuc_part *part);
void gpuc_executor_state_destroy_parts(const gpuc_session *s, gpuc_shape_state *state);

/* bindings.c: memory for the current state, arrays for the outputs, all of it as bindings. */
GPUC_NODISCARD gpuc_status gpuc_session_bind_all(gpuc_session *s);
GPUC_NODISCARD gpuc_status gpuc_session_ensure_memory(gpuc_session *s);
/* Frees what the session has allocated on a device. */
GPUC_NODISCARD gpuc_status gpuc_session_drop_memory(gpuc_session *s, uint32_t device);
uint64_t gpuc_session_workspace_size(const gpuc_session *s); /* bytes, for the first state */
GPUC_NODISCARD gpuc_status gpuc_session_ensure_output(gpuc_session *s, uint32_t i);
/* Allocates the slots whose size became known with the symbol that was read last. */
GPUC_NODISCARD gpuc_status gpuc_session_bind_late(gpuc_session *s);
void gpuc_session_free_memory(gpuc_session *s);

/* images.c: an array for an input or output on its device; an image if kernels take one. */
GPUC_NODISCARD gpuc_status gpuc_session_create_array(gpuc_session *s, uint32_t value, const int64_t *dims,
                                                     gpuc_ndarray **out);

/* transfer.c: between the memory of two devices; waits for what is queued on the first. */
GPUC_NODISCARD gpuc_status gpuc_session_transfer(const gpuc_session *s, gpuc_segment *segment);
/* Reads the one int64 at x, after the queued work that computes it. */
GPUC_NODISCARD gpuc_status gpuc_session_read_number(const gpuc_session *s, const gpuc_extent *x,
                                                    int64_t *out);

/* session.c: checks inputs and outputs, chooses the state of their extents, and binds everything. */
GPUC_NODISCARD gpuc_status gpuc_session_prepare(gpuc_session *s);
/* Work is about to be queued. */
void gpuc_session_note_work(gpuc_session *s);
/* Whether a command buffer with this recording may still be pending. */
bool gpuc_session_is_in_flight(const gpuc_session *s, uint64_t recording);
/* session.c: an inference is begin, run_to, which runs the steps before `end`, finish. */
GPUC_NODISCARD gpuc_status gpuc_session_begin(gpuc_session *s);
GPUC_NODISCARD gpuc_status gpuc_session_run_to(gpuc_session *s, uint32_t end);
GPUC_NODISCARD gpuc_status gpuc_session_finish(gpuc_session *s);
/* session.c: what run_to does for each part and each of its segments. */
GPUC_NODISCARD gpuc_status gpuc_session_prepare_part(gpuc_session *s, gpuc_part *part);
GPUC_NODISCARD gpuc_status gpuc_session_run_segment(gpuc_session *s, gpuc_segment *segment);
/* Before a plan runs: who runs its parallel loops. */
void gpuc_session_set_loops(const gpuc_session *s, const gpuc_segment *segment);
GPUC_NODISCARD gpuc_status gpuc_session_end_part(gpuc_session *s, const gpuc_part *part);
/* Ends an inference that runs operator by operator, in slices, or in recordings. */
void gpuc_session_end_inference(gpuc_session *s);
/* Takes tickets for what the session has queued. */
GPUC_NODISCARD gpuc_status gpuc_session_mark(gpuc_session *s);
/* Waits if memory that is about to go may be in use. */
GPUC_NODISCARD gpuc_status gpuc_session_settle(gpuc_session *s);
/* Takes an array that the session no longer uses, and releases it once queued work is done with it. */
GPUC_NODISCARD gpuc_status gpuc_session_retire(gpuc_session *s, gpuc_ndarray *array);
/* Where *status says that memory of a device is out, and there are such arrays: waits, releases them and the status, and
 * returns true, to try once more. */
bool gpuc_session_reclaim(gpuc_session *s, gpuc_status *status);

#endif
