/* SPDX-License-Identifier: Apache-2.0 */
/* One small launch, by gpuc and by the driver's own calls. */
#ifndef GPUC_BENCH_RUNTIME_LAUNCHES_H
#define GPUC_BENCH_RUNTIME_LAUNCHES_H

#include <gpuc/build.h>
#include <gpuc/devices.h>

#include "base/buf.h"
#include "library/library.h"

typedef struct launches {
    gpuc_device *dev;
    const gpuc_loaded_library *library;
    gpuc_function *function;
    gpuc_ndarray *arrays[3];
    gpuc_step step;
    gpuc_step_tensor tensors[3];
    int64_t scalars[1];
    gpuc_binding slots[3];
} launches;

/* Appends the launch so many times to something that open made, as the driver would have it. */
typedef struct bare {
    gpuc_status (*open)(launches *l, void **out);
    gpuc_status (*begin)(void *self); /* of a chain */
    gpuc_status (*append)(void *self, int count);
    gpuc_status (*submit)(void *self);
    gpuc_status (*again)(void *self); /* the chain that was submitted last; NULL: a chain runs once */
    gpuc_status (*wait)(void *self);  /* for what was submitted */
    void (*close)(void *self);
} bare;
extern const bare bare_vulkan, bare_opencl, bare_cpu;

/* A network with its session. Zeroed, it can be closed. */
typedef struct bench_network {
    gpuc_buf package;
    gpuc_model *model;
    gpuc_session *session;
} bench_network;
typedef gpuc_rmodule *bench_maker(gpuc_ctx *ctx, void *arg);
GPUC_NODISCARD gpuc_status bench_network_open(gpuc_device *dev, const char *target, bench_maker *make,
                                              void *arg, bench_network *out);
/* Runs it, and waits for it. */
GPUC_NODISCARD gpuc_status bench_network_run(bench_network *n, double *out_seconds);
void bench_network_close(bench_network *n);

/* orders.c: how long a short piece of work is waited for, alone, in front of a long one, and behind it. Chains of
 * launches, by the driver's own calls (but for the CPU) and by streams with tickets; then two sessions on two
 * threads. Prints them. */
GPUC_NODISCARD gpuc_status orders_of_chains(launches *l, const bare *b);
GPUC_NODISCARD gpuc_status orders_of_sessions(gpuc_runtime *rt, gpuc_device *dev);
/* record.c: a network in a command buffer of the application. */
GPUC_NODISCARD gpuc_status frames_of_network(launches *l, const bare *b);
/* image.c: a network that takes an image of a Vulkan device. */
GPUC_NODISCARD gpuc_status images_of_network(gpuc_device *dev);
/* transfers.c: between the host and arrays. */
GPUC_NODISCARD gpuc_status transfers_of_arrays(gpuc_runtime *rt, gpuc_device *dev);
double bench_now(void);                /* seconds */
double bench_median(double *t, int n); /* sorts them */

#endif
