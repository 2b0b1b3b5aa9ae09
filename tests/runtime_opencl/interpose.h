/* SPDX-License-Identifier: Apache-2.0 */
/* The system's OpenCL with hands on every call: calls are counted, objects are counted, a chosen call
 * fails, and some answers are bent. */
#ifndef GPUC_TESTS_OPENCL_INTERPOSE_H
#define GPUC_TESTS_OPENCL_INTERPOSE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime_opencl/cl.h"
#include "runtime_opencl/testing.h"

typedef struct cl_spy {
    int calls;                        /* of functions that may fail */
    int fail_at;                      /* number of the call that fails; 0: none */
    const char *fail_name;            /* or every call of this one */
    cl_int error;                     /* with this; 0: CL_OUT_OF_RESOURCES */
    const char *failed;               /* the call that was made to fail */
    const char *missing;              /* a function that the library lacks */
    const char *version;              /* of the device, instead of its own */
    bool hints;                       /* the device has cl_khr_priority_hints */
    bool discrete;                    /* the device has memory of its own */
    cl_int event_state;               /* of every event, instead of its own; 0: its own */
    void (*before)(const char *name); /* of each call of a function that may fail */
    int no_platforms;
    int objects; /* created and not released */
    int sources, binaries, set_args, blocking_writes, queued_writes, queues, builds;
    int low, high; /* queues of these priorities */
} cl_spy;

extern cl_spy spy;
/* The functions without the spy: the application's. */
extern gpuc_cl_fns cl_real;
/* Finds those with the spy. */
void *cl_find(void *user, const char *name);

/* A heap that counts. */
extern int64_t cl_live_bytes;

/* false, with the reason printed, without a driver. */
bool cl_available(void);
/* Registered with the spy; cache callbacks and log come with the desc. */
gpuc_status cl_try_open(gpuc_runtime_desc *desc, gpuc_runtime **rt, gpuc_device **dev);
gpuc_device *cl_open(gpuc_runtime_desc *desc, gpuc_runtime **rt);
/* Releases the runtime, and checks that no object and no memory is left. */
void cl_close(gpuc_runtime *rt);
gpuc_runtime_desc cl_desc(void);

void cl_ok(gpuc_status status);
void cl_fails(gpuc_status status, gpuc_code code, const char *text);

/* y[oy + i] = k * x[ox + i] for i < n */
extern const gpuc_kernel cl_scale;
extern const char cl_scale_source[];
/* A module of count programs; freed with free(). */
void *cl_blob(const char *const *sources, const char *const *names, uint32_t count, size_t *out_size);
gpuc_code_module *cl_load_scale(gpuc_device *dev);
gpuc_plan *cl_plan_scale(gpuc_device *dev, gpuc_code_module *m, uint32_t n, uint32_t flags);

#endif
