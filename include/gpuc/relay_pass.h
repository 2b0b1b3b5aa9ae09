/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over Relay programs, by name: those of builds, and more (docs/relay.md; `gpuc opt --list` prints them). */
#ifndef GPUC_RELAY_PASS_H
#define GPUC_RELAY_PASS_H

#include <gpuc/relay_ir.h>
#include <gpuc/runtime.h>
#include <gpuc/target.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of a pass; all borrowed. */
typedef struct gpuc_relay_pass_info {
    const char *name;    /* by which it is run */
    int level;           /* builds that run it do so from this -O level on */
    bool needs_graph;    /* main has no let, if, match or function of its own, and calls operators only */
    bool needs_target;   /* it raises where none is given */
    const char *options; /* those that it takes, with their defaults, "dtype=float16"; "": none */
    const char *about;   /* what it does, in one sentence */
} gpuc_relay_pass_info;

/* Pass i of gpuc's own, by name; false after the last. */
GPUC_API bool gpuc_relay_pass_at(int i, gpuc_relay_pass_info *out);
/* The program after these passes, "fold_constant,NAME(option=1, other=float16)", in this order; "": it is as it was.
 * `optimize` and `optimize_for_target` among them are all that a build at -O3 runs. m stays as it is, target may be NULL.
 * Raises for a name that is no pass or no option of it, and where a pass needs a graph or a target and has none. Passes
 * of the context's runtime (gpuc_relay_pass_register) have names as those of gpuc have. */
GPUC_API gpuc_rmodule *gpuc_relay_run_passes(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_target *target,
                                             const char *passes);

/* ---- Passes of others -------------------------------------------------------------------------------- */

/* A pass that a program or a plug-in adds. */
typedef struct gpuc_relay_pass_desc {
    const char *name;    /* letters, digits and _; none that a pass of gpuc has */
    const char *options; /* those that it takes, with their defaults, "limit=3, mode=\"all\""; NULL: none */
    const char *about;   /* what it does, in one sentence */
    bool needs_graph, needs_target; /* as of gpuc_relay_pass_info: it is not run without */
    void *user;                     /* what run gets */
    /* The program after it: m itself, which it may change, or another, as gpuc_rmodule_mutate gives. options has all that
     * the pass takes, with their values; target may be NULL. Types are inferred, and the program is checked, after it.
     * Errors are raised. */
    gpuc_rmodule *(*run)(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_target *target, const gpuc_attrs *options,
                         void *user);
} gpuc_relay_pass_desc;

/* Adds a pass to a runtime, for contexts that have it (gpuc_ctx_set_runtime). It is in the registry as
 * relay.pass.<name>; desc and what it points to outlive the runtime. INVALID_ARGUMENT for a name that is none or is
 * taken, and options that are no list of them. As for the registry: not beside other threads that use the runtime. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_relay_pass_register(gpuc_runtime *rt,
                                                             const gpuc_relay_pass_desc *desc);
/* The next pass that was added; *at is 0 at first. false: there are no more. */
GPUC_API bool gpuc_relay_pass_next(gpuc_runtime *rt, size_t *at, gpuc_relay_pass_info *out);

/* ---- Looking on ---------------------------------------------------------------------------------------- */

/* What is called as passes run; each may be NULL. What raises ends the run; after is not called for a pass that raised.
 * A run is a build, or a call of gpuc_relay_run_passes; those that begin within another are a part of it. */
typedef struct gpuc_relay_pass_instrument {
    void *user; /* what each of them gets */
    /* false: the pass is left out. The others of the list after this one are not asked then. */
    bool (*should_run)(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_relay_pass_info *pass, void *user);
    /* The program as the pass gets it. */
    void (*before)(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_relay_pass_info *pass, void *user);
    /* The program after it, and how long it took. */
    void (*after)(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_relay_pass_info *pass, double milliseconds,
                  void *user);
    /* Before the first pass of a run. Where it raises, leave is called for those of the list before this one. */
    void (*enter)(gpuc_ctx *ctx, void *user);
    /* After the last, also where the run ends with an error, which it then ends with. Where it raises, those of the list
     * after this one are not called. */
    void (*leave)(gpuc_ctx *ctx, void *user);
} gpuc_relay_pass_instrument;

/* Sets what is called, in this order, for each pass over Relay that runs in the context, those of builds too. Copied; n
 * is 0: nothing, which is so too after an enter or a leave that raised. A pass that a pass runs as a part of it is not
 * told. Raises while passes run. */
GPUC_API void gpuc_relay_pass_set_instruments(gpuc_ctx *ctx, int n, const gpuc_relay_pass_instrument *list);

#ifdef __cplusplus
}
#endif
#endif
