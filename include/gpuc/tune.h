/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning: what `gpuc tune` found, for builds, and the search for those who measure in their own way
 * (docs/tuning.md). What is returned lives in the context; functions that return no status raise. */
#ifndef GPUC_TUNE_H
#define GPUC_TUNE_H

#include <gpuc/build.h>
#include <gpuc/knobs.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- For builds ---- */

/* The best configurations of the logs, for gpuc_build_options.tuning; it lives in the context. A line that is
 * not a record is left out with a warning that names file and line. Raises if a file cannot be read. */
GPUC_API gpuc_tuning *gpuc_tuning_load(gpuc_ctx *ctx, int num_logs, const char *const *paths,
                                       void (*warning)(void *user, const char *text), void *warning_user);

/* ---- Logs: a record a line, JSON ---- */

#define GPUC_TUNE_OK "ok" /* the status of a configuration that was measured */
enum {
    GPUC_TUNE_MAX_COSTS = 64,
    GPUC_TUNE_MOST_COSTS = GPUC_TUNE_MAX_COSTS /* old name */
};

/* What was measured of one configuration of one function. */
typedef struct gpuc_tune_record {
    const char *workload;      /* 16 hexadecimal digits */
    const char *task;          /* for readers */
    const char *target;        /* as gpuc_target_text prints it */
    const gpuc_config *config; /* that was measured; not NULL */
    int num_costs;             /* of costs, at most GPUC_TUNE_MAX_COSTS */
    const double *costs;       /* of a run each: seconds */
    const char *status;        /* GPUC_TUNE_OK, or what went wrong */
    const char *device, *driver,
        *version; /* names of device and driver, gpuc's version; "" where a line has none */
    int64_t time; /* seconds since 1970 */
} gpuc_tune_record;

/* Records of logs. */
typedef struct gpuc_tune_records {
    const gpuc_tune_record *const *at; /* in the order of the lines */
    size_t count;                      /* of at */
} gpuc_tune_records;

/* Who is told of what was left out. It is called on the thread of the function that it was passed to. */
typedef struct gpuc_tune_warnings {
    void (*fn)(void *user, const char *text); /* may be NULL */
    void *user;                               /* passed to fn */
} gpuc_tune_warnings;

/* The records of some files. Lines that are not records get a warning; so does a last line that was cut off.
 * Raises if a file cannot be read. */
GPUC_API gpuc_tune_records gpuc_tune_logs_read(gpuc_ctx *ctx, int num_logs, const char *const *paths,
                                               const gpuc_tune_warnings *warnings);
/* The median of the costs; infinite unless the status is GPUC_TUNE_OK. */
GPUC_API double gpuc_tune_seconds(const gpuc_tune_record *r);
/* The record as a line, with its end. */
GPUC_API const char *gpuc_tune_record_text(gpuc_ctx *ctx, const gpuc_tune_record *r);
/* Opens a log to append to, or makes it; what a line that was cut off left there becomes a line. The caller
 * closes the descriptor. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_tune_log_open(const char *path, int *out_fd);
/* Adds a line in one write, so that several processes may do so; path is for messages. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_tune_log_append(int fd, const char *path, const char *line);

/* ---- What there is to tune ---- */

/* A fused function of a program. */
typedef struct gpuc_tune_task {
    const struct gpuc_rfunction *f; /* the function, optimised and fused; it lives in the context */
    const char *workload;           /* the function's name in logs */
    const char *text;               /* "conv2d_add_relu(float32[1,64,56,56], ...)", for readers */
    int uses;                       /* operators that the program computes with it */
} gpuc_tune_task;

/* The functions of a program that can be tuned for a target. */
typedef struct gpuc_tune_tasks {
    const gpuc_target *target; /* borrowed from the caller of gpuc_tune_extract */
    const char *target_text;   /* as gpuc_target_text prints it, and as records have it */
    int num_open;              /* functions left out, since sizes in them are known at run time only */
    int n;                     /* of at */
    const gpuc_tune_task *at;  /* in the order in which the program needs them */
} gpuc_tune_tasks;

/* Optimises the module for the target, which uses it up, and lists the functions that have knobs and fixed
 * sizes. */
GPUC_API void gpuc_tune_extract(gpuc_ctx *ctx, gpuc_rmodule *module, const gpuc_target *target,
                                const gpuc_build_options *options, gpuc_tune_tasks *out);
/* A package of the task's function alone, whose inputs are its parameters; with a configuration, or NULL for
 * the default schedule. The task may be of another context, which nobody else uses meanwhile. Raises
 * INVALID_ARGUMENT if the configuration does not fit. The bytes are aligned as gpuc_model_desc wants them. */
GPUC_API gpuc_bytes gpuc_tune_build(gpuc_ctx *ctx, const gpuc_tune_task *task, const gpuc_target *target,
                                    const gpuc_config *config);

/* ---- The search: which configuration of which function is measured next. It measures nothing itself ---- */

typedef enum gpuc_tune_search {
    GPUC_TUNE_XGB, /* batches that simulated annealing finds on a cost model */
    GPUC_TUNE_SA,  /* simulated annealing on what is measured */
    GPUC_TUNE_RANDOM
} gpuc_tune_search;

/* A trial that the search wants. */
typedef struct gpuc_tune_ask {
    int task;                  /* the function: an index of gpuc_tune_tasks.at */
    const gpuc_config *config; /* to be measured; it lives in the context */
    double best;               /* of the task so far: seconds, or infinite */
} gpuc_tune_ask;

/* The result of one trial. */
typedef struct gpuc_tune_result {
    char status[16];                   /* GPUC_TUNE_OK, or "wrong", "timeout", "crash", "error" */
    int num_costs;                     /* of costs, at most GPUC_TUNE_MAX_COSTS */
    double costs[GPUC_TUNE_MAX_COSTS]; /* seconds */
    char message[512];                 /* of a failure */
} gpuc_tune_result;

/* How far a search is. */
typedef struct gpuc_tune_progress {
    int trials, failures;    /* of this run */
    int task;                /* the one at hand */
    double best;             /* its best, in seconds; infinite: none yet */
    double total, total_own; /* seconds of all operators: with the best configurations, with the first ones */
} gpuc_tune_progress;

/* How to search. All but measure may be zero. */
typedef struct gpuc_tune_options {
    gpuc_tune_search search; /* how configurations are found */
    int trials;              /* at most; 0: any number */
    double seconds;          /* the same; 0: any time */
    bool ignore_default;     /* begin with the simplest schedule, not with the default */
    bool confirm;            /* instead of searching: the first and the best of each task once more */
    uint64_t seed;           /* of the random numbers */
    int together;            /* trials that are asked for at a time, at most; 0: 1 */
    /* Measures and records n trials. */
    void (*measure)(void *user, int n, const gpuc_tune_ask *asks, gpuc_tune_result *results);
    void (*progress)(void *user, const gpuc_tune_progress *p); /* may be NULL */
    bool (*stop)(void *user);                                  /* may be NULL */
    void *user;                                                /* passed to the three */
    gpuc_tune_warnings warnings; /* about records that no longer fit, and about a missing cost model */
} gpuc_tune_options;

/* Runs the search to its end on this thread, which calls the callbacks. Configurations that records have for
 * the target are not measured again. */
GPUC_API void gpuc_tune_run(gpuc_ctx *ctx, const gpuc_tune_tasks *tasks, const gpuc_tune_records *records,
                            const gpuc_tune_options *options, gpuc_tune_progress *out);

#ifdef __cplusplus
}
#endif
#endif
