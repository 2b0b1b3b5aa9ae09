/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning: what `gpuc tune` found, for builds, and the search for those who measure in their own way
 * (docs/tuning.md). What is returned lives in the context; functions that return no status raise. */
#ifndef GPUC_TUNE_H
#define GPUC_TUNE_H

#include <gpuc/build.h>
#include <gpuc/op.h>

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
/* Opens a log to append to, or makes it; what a line that was cut off left there becomes a line. An error, and -1, for what
 * is no regular file, or cannot be read or written. The caller closes the descriptor. */
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
/* A package of what the task's function should give: of a template its tensors in plain loops, else the function with
 * its default schedule. */
GPUC_API gpuc_bytes gpuc_tune_build_reference(gpuc_ctx *ctx, const gpuc_tune_task *task,
                                              const gpuc_target *target);
/* A package of the task's function alone, whose inputs are its parameters; with a configuration, or NULL for
 * the default schedule. The task may be of another context, which nobody else uses meanwhile. Raises
 * INVALID_ARGUMENT if the configuration does not fit. The bytes are aligned as gpuc_model_desc wants them. */
GPUC_API gpuc_bytes gpuc_tune_build(gpuc_ctx *ctx, const gpuc_tune_task *task, const gpuc_target *target,
                                    const gpuc_config *config);

/* ---- What users write: templates ---- */
/* A template is a function of one's own, with a schedule that asks for knobs (gpuc/knobs.h), or with none: then the
 * default rules schedule it, as they do operators. It is tuned as functions of networks are: the same search, the same
 * log, trials in processes of their own, whose results are compared with what plain loops give on the CPU.
 *
 *     gpuc tune --plugin stencil.so --template 'stencil(n=1024)' --target vulkan --log stencil.jsonl
 *
 * Then gpuc_tune_func makes the function with the best configuration of the log. */

#define GPUC_TUNE_MAX_TENSORS 32 /* inputs of a template, and outputs */

/* One run of a template, in a context of its own for each configuration. */
typedef struct gpuc_tune_call {
    gpuc_ctx *ctx;             /* where it makes everything */
    const gpuc_target *target; /* that it schedules for; never NULL */
    const gpuc_attrs *params;  /* complete: defaults filled in */
    gpuc_knobs *knobs;         /* to ask for what the tuner may decide; may be NULL */
    void *user;                /* the template's */
    /* What the template sets: */
    int num_in, num_out;                     /* of in, at most GPUC_TUNE_MAX_TENSORS; of out, 1 at least */
    gpuc_tensor *in[GPUC_TUNE_MAX_TENSORS];  /* placeholders: the function's first arguments */
    gpuc_tensor *out[GPUC_TUNE_MAX_TENSORS]; /* computed tensors: its others */
    gpuc_schedule *schedule;                 /* of the outputs; NULL: the default rules schedule them */
} gpuc_tune_call;

/* A function that can be tuned. */
typedef struct gpuc_tune_template {
    const char *name; /* letters, digits, '_' and '.', first a letter or '_': of the function, and in logs */
    const gpuc_attr_spec
        *params; /* what --template gives it, such as sizes; ends with a NULL name; NULL: nothing */
    /* Defines the tensors and schedules them. Types and shapes depend on params alone, not on knobs. It may raise: a
     * configuration that it refuses is not tried. It may run on any thread and in any process. */
    void (*body)(gpuc_tune_call *call);
    void *user; /* must not change */
} gpuc_tune_template;

/* Adds a template for all contexts of a runtime (gpuc_ctx_set_runtime): how a plug-in brings one. It stands in the
 * registry as tune.template.<name>. The row is borrowed and must outlive the runtime. INVALID_ARGUMENT if it has no name
 * or no body, or if there is one of that name. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_tune_template_register(gpuc_runtime *rt,
                                                                const gpuc_tune_template *t);
/* The number of templates of the context's runtime. */
GPUC_API size_t gpuc_tune_template_count(gpuc_ctx *ctx);
/* Template i of them, by name; NULL where there is none. */
GPUC_API const gpuc_tune_template *gpuc_tune_template_at(gpuc_ctx *ctx, size_t i);
/* The template of that name. Raises NOT_FOUND where there is none, with the nearest name. */
GPUC_API const gpuc_tune_template *gpuc_tune_template_get(gpuc_ctx *ctx, const char *name);
/* Parameters of a template from text, "n=1024, dtype=float16", with defaults for those that it leaves out; NULL: for all.
 * Raises for unknown, missing and wrong ones. */
GPUC_API const gpuc_attrs *gpuc_tune_template_params(gpuc_ctx *ctx, const gpuc_tune_template *t,
                                                     const char *text);
/* What there is to tune in templates: n texts, each a name or "name(n=1024)" of a registered one; n = 0: all that are
 * registered, with their defaults. Raises if there are none, where one has sizes that are no numbers or asks for no knob,
 * and what the template itself raises. */
GPUC_API void gpuc_tune_extract_templates(gpuc_ctx *ctx, int n, const char *const *texts,
                                          const gpuc_target *target, gpuc_tune_tasks *out);
/* The same of one template, which needs no registration. params: of gpuc_tune_template_params; NULL: defaults. */
GPUC_API void gpuc_tune_extract_template(gpuc_ctx *ctx, const gpuc_tune_template *t, const gpuc_attrs *params,
                                         const gpuc_target *target, gpuc_tune_tasks *out);
/* The function of a template for gpuc_build_func and gpuc_library_add, with the best configuration of the logs (tuning;
 * NULL, or none for this template and target: with its own choices). Arguments are inputs, then outputs. A
 * configuration that does not fit any more is left out with a warning (warnings may be NULL). */
GPUC_API gpuc_tir_func *gpuc_tune_func(gpuc_ctx *ctx, const gpuc_tune_template *t, const gpuc_attrs *params,
                                       const gpuc_target *target, const gpuc_tuning *tuning,
                                       const gpuc_tune_warnings *warnings);

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
