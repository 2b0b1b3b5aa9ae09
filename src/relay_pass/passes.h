/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over Relay modules. What each does stands in passes.def. */
#ifndef GPUC_RELAY_PASS_PASSES_H
#define GPUC_RELAY_PASS_PASSES_H

#include <gpuc/relay_pass.h>

#include "relay/evaluate.h"
#include "target/target.h"
#include "tir/rules.h"

#include <gpuc/relay_pass.h>

typedef struct gpuc_relay_pass_ctx {
    gpuc_ctx *ctx;
    gpuc_rmodule *module;
    const gpuc_target *target; /* NULL in the part that all targets share */
    const gpuc_attrs *options; /* of the pass that runs: all that it has, with their values */
    int opt_level;
    const char *const *disabled;
    int num_disabled;
    int64_t fold_limit;       /* bytes that constants computed by folding may take */
    gpuc_relay_budget budget; /* what is left of it, since the first folding */
    bool keep_constants;      /* another target still needs them: folding frees none */
} gpuc_relay_pass_ctx;

/* What fold_limit is unless somebody says more. */
#define GPUC_RELAY_FOLD_LIMIT ((int64_t)2 << 30)

/* What a pass needs. */
enum {
    GPUC_RELAY_PASS_MODULE = 0,
    GPUC_RELAY_PASS_GRAPH = 1,  /* main is a graph (gpuc_relay_pass_need_graph) */
    GPUC_RELAY_PASS_TARGET = 2, /* a target */
};

/* A row of passes.def. */
typedef struct gpuc_relay_pass {
    const char *name;
    void (*run)(gpuc_relay_pass_ctx *p);
    int level;           /* builds run it from this -O level on */
    unsigned needs;      /* the flags above */
    const char *options; /* those that it takes, with their defaults, as text of attributes */
    const char *about;
    const gpuc_relay_pass_desc *added; /* one that somebody added; NULL: gpuc's own */
} gpuc_relay_pass;

#define GPUC_RELAY_PASS(name, level, needs, options, about)                                                  \
    void gpuc_relay_pass_##name(gpuc_relay_pass_ctx *p);
#include "relay_pass/passes.def"

typedef enum gpuc_relay_pass_id {
#define GPUC_RELAY_PASS(name, level, needs, options, about) GPUC_RELAY_PASS_ID_##name,
#include "relay_pass/passes.def"
    GPUC_RELAY_PASS_ID_COUNT
} gpuc_relay_pass_id;

/* The table, in the order of the ids. */
extern const gpuc_relay_pass gpuc_relay_pass_table[GPUC_RELAY_PASS_ID_COUNT];
/* One of gpuc's own, or a part of a build. NULL: there is none of that name. */
const gpuc_relay_pass *gpuc_relay_pass_find(const char *name);
bool gpuc_relay_pass_is_part(const char *name);
/* Raises where no pass has that name, with the nearest one. */
const gpuc_relay_pass *gpuc_relay_pass_need(gpuc_ctx *ctx, const char *name);
void gpuc_relay_pass_tell(const gpuc_relay_pass *pass, gpuc_relay_pass_info *out);
/* A pass that was added to the context's runtime; NULL: there is none of that name. */
const gpuc_relay_pass *gpuc_relay_pass_find_added(gpuc_ctx *ctx, const char *name);
/* Runs such a pass, and infers types after it. */
void gpuc_relay_pass_run_added(gpuc_relay_pass_ctx *p, const gpuc_relay_pass_desc *desc);

/* Runs one with these options (NULL: the defaults), and checks the program after it where programs are checked
 * (gpuc_ctx_validates). Raises where it lacks what it needs, or has no such option. */
void gpuc_relay_pass_run(gpuc_relay_pass_ctx *p, const gpuc_relay_pass *pass, const gpuc_attrs *options);
/* Runs those of a text, "fold_constant,NAME(option=1, other=float16)", in this order, whatever the level. `optimize` and
 * `optimize_for_target` there are the parts of a build. */
void gpuc_relay_pass_run_text(gpuc_relay_pass_ctx *p, const char *passes);
/* The part of a build that no target changes: run once per model. */
void gpuc_relay_pass_optimize(gpuc_relay_pass_ctx *p);
/* The part that asks the target; after it main calls primitive functions only. */
void gpuc_relay_pass_optimize_for_target(gpuc_relay_pass_ctx *p);

/* ---- Those who look on (gpuc_relay_pass_set_instruments) ---- */

/* Calls the body, in which passes run, between entering and leaving them; one within another does neither. */
void gpuc_relay_pass_within(gpuc_ctx *ctx, void (*body)(gpuc_ctx *ctx, void *arg), void *arg);
bool gpuc_relay_pass_is_watched(gpuc_ctx *ctx);
/* Around one pass. */
bool gpuc_relay_pass_may_run(gpuc_relay_pass_ctx *p, const gpuc_relay_pass_info *info);
void gpuc_relay_pass_tell_before(gpuc_relay_pass_ctx *p, const gpuc_relay_pass_info *info);
void gpuc_relay_pass_tell_after(gpuc_relay_pass_ctx *p, const gpuc_relay_pass_info *info,
                                double milliseconds);

const gpuc_rule_table *const *gpuc_relay_pass_simplify_rules(void); /* for gpuc_tir_rule_name */

#endif
