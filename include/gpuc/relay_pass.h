/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over Relay programs, by name: those of builds, and more (docs/relay.md; `gpuc opt --list` prints them). */
#ifndef GPUC_RELAY_PASS_H
#define GPUC_RELAY_PASS_H

#include <gpuc/relay_ir.h>
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

/* Pass i, by name; false after the last. */
GPUC_API bool gpuc_relay_pass_at(int i, gpuc_relay_pass_info *out);
/* The program after these passes, "fold_constant,NAME(option=1, other=float16)", in this order; "": it is as it was.
 * `optimize` and `optimize_for_target` among them are all that a build at -O3 runs. m stays as it is, target may be NULL.
 * Raises for a name that is no pass or no option of it, and where a pass needs a graph or a target and has none. */
GPUC_API gpuc_rmodule *gpuc_relay_run_passes(gpuc_ctx *ctx, const gpuc_rmodule *m, const gpuc_target *target,
                                             const char *passes);

/* What is called around each pass, also around those that `optimize` stands for; each function may be NULL. They may
 * raise: then no more passes run. */
typedef struct gpuc_relay_pass_watch {
    bool (*before)(void *arg, const gpuc_relay_pass_info *pass,
                   const gpuc_rmodule *m); /* false: the pass is left out */
    void (*after)(void *arg, const gpuc_relay_pass_info *pass,
                  const gpuc_rmodule *m); /* of a pass that ran: m is what it made */
    void *arg;                            /* for both */
} gpuc_relay_pass_watch;

/* The same with n watches, in this order. Those behind one that leaves a pass out are not asked about it. */
GPUC_API gpuc_rmodule *gpuc_relay_run_passes_watched(gpuc_ctx *ctx, const gpuc_rmodule *m,
                                                     const gpuc_target *target, const char *passes, int n,
                                                     const gpuc_relay_pass_watch *watches);

#ifdef __cplusplus
}
#endif
#endif
