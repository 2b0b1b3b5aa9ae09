/* SPDX-License-Identifier: Apache-2.0 */
/* gpuc verify: ONNX backend tests. A test is a folder with model.onnx and test_data_set_K folders of
 * input_J.pb and output_J.pb. Each runs in a child process, which reports through shared memory, so
 * that what it found out before a crash is kept. */
#ifndef GPUC_CLI_VERIFY_H
#define GPUC_CLI_VERIFY_H

#include <stdio.h>

#include "cli.h"
#include "compare.h"
#include "json.h"

/* ---- Tests on disk (find.c) ---- */

typedef struct verify_set {
    char *path, *name;
    int num_inputs, num_outputs;
} verify_set;

typedef struct verify_test {
    char *path, *name; /* the folder, and its last part */
    char *model;       /* "<path>/model.onnx" */
    char *problem;     /* why it cannot be run, NULL: it can */
    verify_set *sets;
    int num_sets;
} verify_test;

typedef struct verify_tests {
    verify_test *at;
    int count;
} verify_tests;

/* Adds the tests at path: the folder itself, or those in it at any depth. A path without a test adds one
 * whose problem says so. */
void verify_find(const char *path, verify_tests *tests);
void verify_free(verify_tests *tests);

/* ---- Tolerances (tolerance.c) ---- */

/* The folder's tolerance.json, which must have one entry per output. *out NULL if there is no such
 * file; else from cli_alloc. */
GPUC_NODISCARD gpuc_status verify_read_tolerances(const char *folder, int num_outputs, cli_tolerance **out);

/* ---- One test (child.c) ---- */

typedef struct verify_options {
    const char *target, *device; /* device NULL: of the target's kind, number 0 or that of -from_device */
    double timeout;
    const char *keep, *junit;
    cli_strings tuning_logs;
    int level, threads;
    bool verbose, json, validation, staging, no_bind;
} verify_options;

typedef enum verify_outcome { VERIFY_FAILED, VERIFY_PASSED, VERIFY_SKIPPED } verify_outcome;

typedef struct verify_worst {
    bool set;
    double max_abs, max_rel, rel_l2; /* the largest over the data sets */
} verify_worst;

typedef struct verify_result {
    verify_outcome outcome;
    bool finished;   /* the child came to its end */
    char stage[128]; /* what the child was doing last */
    char reason[4096];
    char bound[1024]; /* inputs that were given when building, one a line */
    char device[256], driver[256], target[2048];
    int packages, kernels, nodes, nodes_elsewhere, inputs_bound;
    uint64_t launches;           /* on the device */
    uint64_t launches_elsewhere; /* on the CPU, of operators that the target cannot compute */
    double build_seconds, run_seconds;
    int num_outputs; /* room in worst */
    verify_worst worst[];
} verify_result;

/* Memory that a child shares with its parent. Ends the process if there is none. */
verify_result *verify_result_create(int num_outputs);
void verify_result_free(verify_result *r);

/* Finds the device and fills device, driver and target, or reason. In a child: drivers and forks do not mix. */
void verify_probe(const verify_options *o, verify_result *r);
/* Runs the test; packages and what is emitted go to the folder. */
void verify_run(const verify_options *o, const verify_test *t, const char *folder, verify_result *r);

/* ---- Reports (report.c) ---- */

void verify_report_test(const verify_options *o, const verify_test *t, const verify_result *r,
                        double seconds);

typedef struct verify_junit {
    cli_text cases;
    int tests, failures, skipped;
    double seconds;
} verify_junit;

void verify_junit_init(verify_junit *j);
void verify_junit_add(verify_junit *j, const verify_test *t, const verify_result *r, double seconds);
GPUC_NODISCARD gpuc_status verify_junit_write(verify_junit *j, const char *path); /* frees it, too */

#endif
