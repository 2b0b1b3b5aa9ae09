/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of hoist_common. */
#ifndef GPUC_LOWER_HOIST_COMMON_HOIST_H
#define GPUC_LOWER_HOIST_COMMON_HOIST_H

#include "lower/common/util.h"
#include "tir/intern.h"

typedef struct gpuc_hoister {
    gpuc_ctx *ctx;
    bool aliased;
    gpuc_map nonzero; /* names of what is never 0 */
    uint32_t nesting; /* of the body, and of the names around the current statement */
} gpuc_hoister;

typedef struct gpuc_hoist_name {
    gpuc_expr var, value;
    int part;
} gpuc_hoist_name;

/* What is to stand around a statement. */
typedef struct gpuc_hoist_names {
    gpuc_hoist_name *at;
    size_t num;
} gpuc_hoist_names;

typedef bool (*gpuc_hoist_expr_fn)(gpuc_expr e, void *arg);
/* Calls fn on some of a statement's expressions. */
typedef void (*gpuc_hoist_roots_fn)(void *arg, gpuc_stmt s, gpuc_hoist_expr_fn fn);

/* ---- survey.c ---- */

/* What is found in the parts of one statement. */
typedef struct gpuc_hoist_survey {
    gpuc_ctx *ctx;
    gpuc_map *nonzero;
    gpuc_map infos;   /* expr -> info */
    gpuc_map bound;   /* variables bound inside: no expression over them can leave */
    gpuc_map written; /* buffers that the run writes */
    bool loads;       /* expressions with loads may be named */
    bool any_written_param, aliased;
    bool by_edges;   /* the parts are the uses inside of one statement */
    bool only_loads; /* expressions without loads are named elsewhere */
    bool repeats;    /* the second part is the body of a loop */
    int part;
} gpuc_hoist_survey;

void gpuc_lower_hoist_start(gpuc_hoist_survey *v, gpuc_hoister *h);
/* For gpuc_tir_visit_stmt: notes what s binds. */
void gpuc_lower_hoist_bound(gpuc_stmt s, void *survey);
/* Counts e in the current part. */
bool gpuc_lower_hoist_count(gpuc_expr e, void *survey);
/* The candidates worth a name, those that others use first. roots: of all that was counted. */
void gpuc_lower_hoist_choose(gpuc_hoist_survey *v, gpuc_stmt s, gpuc_hoist_roots_fn roots, gpuc_ptrs *out);
/* Names the chosen ones; fills m's memo so that mapping a statement uses the names. */
gpuc_hoist_names gpuc_lower_hoist_bind(gpuc_hoist_survey *v, const gpuc_ptrs *list, gpuc_tir_mapper *m);

/* The expressions that stand directly in the statement or below it. */
void gpuc_lower_hoist_roots(void *arg, gpuc_stmt s, gpuc_hoist_expr_fn fn);
/* The variable that a loop or a name binds; NULL of others. */
gpuc_expr gpuc_lower_hoist_variable(gpuc_stmt s);
/* named: expressions that have names already; may be NULL. */
bool gpuc_lower_hoist_is_worth(gpuc_ctx *ctx, gpuc_expr e, const gpuc_map *named);
/* What an integer division divides by; NULL of others. */
gpuc_expr gpuc_lower_hoist_divisor(gpuc_expr e);
bool gpuc_lower_hoist_is_nonzero(const gpuc_hoister *h, gpuc_expr e);
/* Names nest. Those that would nest deeper than statements may are left out. */
void gpuc_lower_hoist_limit(const gpuc_hoister *h, size_t *num);
/* A name for an expression that has the form e with the names around it, which is part of its value. */
gpuc_hoist_name gpuc_lower_hoist_name(gpuc_hoister *h, gpuc_expr e, gpuc_expr value);
gpuc_stmt gpuc_lower_hoist_wrap(gpuc_ctx *ctx, const gpuc_hoist_names *names, gpuc_stmt s);

typedef struct gpuc_hoist_placed {
    gpuc_expr e;
    size_t at;
} gpuc_hoist_placed;
/* For qsort: by depth; expressions of one depth stay in the order of the text. */
int gpuc_lower_hoist_by_depth(const void *a, const void *b);

/* ---- hoist_common.c ---- */

gpuc_stmt gpuc_lower_hoist(gpuc_hoister *h, gpuc_stmt s);
/* The statement with the last part of a name, or the arms and bodies of others, done. */
gpuc_stmt gpuc_lower_hoist_below(gpuc_hoister *h, gpuc_stmt s);
/* Names for what the statement's own expressions use twice; gpuc_lower_hoist_map_own puts them there. */
gpuc_hoist_names gpuc_lower_hoist_uses(gpuc_hoister *h, gpuc_stmt s, gpuc_tir_mapper *m);
gpuc_stmt gpuc_lower_hoist_map_own(gpuc_tir_mapper *m, gpuc_stmt s);

/* ---- chain.c ---- */

/* The statement that s ends with, if s is a link of a chain; else NULL. */
gpuc_stmt gpuc_lower_hoist_last(gpuc_stmt s);
/* The chain that begins with s. uses: not those of a name that follows another, which were seen with it. */
gpuc_stmt gpuc_lower_hoist_chain(gpuc_hoister *h, gpuc_stmt s, bool uses);

#endif
