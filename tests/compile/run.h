/* SPDX-License-Identifier: Apache-2.0 */
/* Relay modules built for one target and run on its device. */
#ifndef GPUC_TESTS_BUILD_RUN_H
#define GPUC_TESTS_BUILD_RUN_H

#include "../relay/fixture.h"

#include <gpuc/build.h>
#include <gpuc/devices.h>

typedef struct run_array {
    gpuc_dtype dtype;
    int ndim;
    int64_t dims[8];
    const void *bytes;
} run_array;

/* The target is named on the command line; false, with the reason printed, if there is no device for it. */
bool run_available(int argc, char **argv);
const char *run_target(void);
gpuc_device *run_device(void);
/* The same target with these attributes added, until they are NULL. */
void run_target_attributes(const char *text);
/* Builds and loads. The model stays until the next call or run_end. */
gpuc_status run_build(gpuc_ctx *ctx, gpuc_rmodule *m);
gpuc_model *run_model(void);
/* Sets input i of a session. */
gpuc_status run_set_input(gpuc_session *s, int i, const run_array *a);
/* A session of the model; outputs are read with run_output. */
gpuc_status run_session(int n, const run_array *inputs);
/* The same in slices of so many microseconds. */
gpuc_status run_slices(int n, const run_array *inputs, uint32_t budget_us);
/* After a run: the same in slices of a piece each, which must give the same output 0. Returns how many. */
int run_same_in_pieces(int n, const run_array *inputs);
/* Extents of output i, and its bytes, which stay until the next call. */
const void *run_output(int i, int *ndim, const int64_t **dims);
void run_end(void);

#endif
