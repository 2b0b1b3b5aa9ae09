/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite of devices: written once, run for the device named on the command line. */
#ifndef GPUC_TESTS_CTS_H
#define GPUC_TESTS_CTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <gpuc/devices.h>

#include "abi/package.h"

/* An allocator that counts bytes on all threads, checks sizes, and fails at a chosen call. */
typedef struct cts_heap {
    int64_t live;
    uint64_t calls, fail_at;
} cts_heap;

typedef struct cts {
    gpuc_runtime *rt;
    gpuc_device *dev;
    const gpuc_device_api *api;
    cts_heap heap;
} cts;

extern gpuc_device_type cts_type; /* of the device under test */
extern const char *cts_type_key;  /* of its modules */
extern const char *cts_target;
extern bool cts_simulated; /* by oclgrind, which is slow and runs one thing at a time */
extern bool cts_defaults;  /* streams and plans are gpuc's, as a device without its own gets them */

/* For gpuc_model_desc.device: the device where it was adopted, so that no model finds it by itself; else NULL. */
gpuc_device *cts_model_device(const cts *c);

/* Parses the command line and prepares the kernels; false, with the reason printed, if there is no
 * such device. */
bool cts_available(int argc, char **argv);
void cts_cleanup(void);

gpuc_allocator cts_allocator(cts_heap *heap);
gpuc_status cts_try_open(cts *c);
/* With another description, but for the allocator. */
gpuc_status cts_try_open_with(cts *c, gpuc_runtime_desc desc);
void cts_open(cts *c);
void cts_close(cts *c); /* checks that no memory is left */

#define cts_ok(status) cts_ok_at((status), __FILE__, __LINE__)
#define cts_fails(status, code, text) cts_fails_at((status), (code), (text), __FILE__, __LINE__)
/* False if a profile says that the device has no timestamps. */
bool cts_measured(gpuc_status status);
void cts_ok_at(gpuc_status status, const char *file, int line);
void cts_fails_at(gpuc_status status, gpuc_code code, const char *text, const char *file, int line);

/* ---- The device of examples/backend_foo (foo.c), where the suite is compiled with it ---- */

gpuc_status cts_foo_register(gpuc_runtime *rt);
/* Its code of vadd, affine and scalars, as a value that the caller clears. */
gpuc_status cts_foo_kernels(gpuc_value *out, gpuc_runtime *rt);

/* ---- Devices of the application's objects (adopt_opencl.c, adopt_vulkan.c) ---- */

/* On a context and an in-order queue, and on an out-of-order queue that all streams have. */
gpuc_status cts_adopt_opencl(gpuc_runtime *rt, gpuc_device **out);
gpuc_status cts_adopt_opencl_out_of_order(gpuc_runtime *rt, gpuc_device **out);
/* On the VkDevice of tests/embed/app.h, under the validation layer. It is closed last, and the layer must have said
 * nothing by then. */
gpuc_status cts_adopt_vulkan(gpuc_runtime *rt, gpuc_device **out);
void cts_close_application(void);

/* ---- Kernels (kernels.c) -------------------------------------------------------------------- */

/* vadd: c = a + b, scalar n. affine: y = k * x + 1, scalars k (float), n. scalars: writes its four
 * (int32, int64 in two words, float bits, int32). On the CPU also one that fails, and affine by another name. But on
 * devices that a program brings, affine_rich: y = k * x + 2. */
enum { CTS_VADD, CTS_AFFINE, CTS_SCALARS, CTS_BROKEN, CTS_AFFINE_HOST, CTS_AFFINE_RICH };
const gpuc_kernel *cts_kernel(gpuc_device_type type, int which);
/* Bytes of a module for a kind of device; stay valid. */
gpuc_module_blob cts_blob(gpuc_device_type type);
gpuc_status cts_prepare_kernels(gpuc_device_type type, gpuc_runtime *rt);
void cts_forget_kernels(void);

gpuc_code_module *cts_module(cts *c);
uint32_t cts_kernel_number(cts *c, gpuc_code_module *m, const char *name);
int64_t cts_float_scalar(float v);
/* Work-groups for n items of a kernel, as its metadata says. */
void cts_launch(const gpuc_kernel *k, const int64_t *scalars, uint32_t out[3]);

/* ---- Buffers -------------------------------------------------------------------------------- */

gpuc_buffer *cts_buffer(cts *c, size_t bytes);
void cts_free(cts *c, gpuc_buffer *b);
void cts_write(cts *c, gpuc_buffer *b, size_t offset, const void *bytes, size_t size);
void cts_read(cts *c, gpuc_buffer *b, size_t offset, void *bytes, size_t size);
void cts_sync(cts *c);
/* Work on `to` from now on waits for the work on `from`. */
void cts_join(cts *c, gpuc_stream *from, gpuc_stream *to);
/* Deterministic floats, small enough that sums are exact. */
void cts_fill(float *out, size_t n, uint32_t seed);

/* ---- Models (packages.c) -------------------------------------------------------------------- */

#define CTS_N 1000

typedef enum cts_model {
    CTS_STATIC,   /* x[N], weight w[N]: y = 2 (x + w) + 1 */
    CTS_SYMBOLIC, /* x[n], z[n], n < 100000: y = 0.5 (x + z) + 1 */
    CTS_COMPUTED, /* x[N], n: y = 0.5 (2 x + 1) + 1, the first n elements */
    CTS_FALLBACK, /* x[N], weight w[N]: y = (3 (x + w) + 1) + w; the middle on the fallback device */
    CTS_SHARED,   /* x[N], weight w[N]: outputs x, w, x + w, x + w again, 2 (x + w) + 1 in the arena */
    CTS_CHAIN,  /* x[N], weights w0[N] to w5[N]: y = x + w0 + w1 + ... + w5, each sum in a slot of its own */
    CTS_WINDOWS /* x[N]: y = 2 x + 1, in four windows of N / 4 */
} cts_model;

/* Knobs of a package. */
typedef struct cts_package_options {
    const gpuc_requirement *requirements;
    uint32_t num_requirements;
    bool variant; /* on the CPU: affine has a variant, affine_host, with these needs and arguments */
    uint32_t variant_features, variant_subgroup_size, variant_tensors;
    bool rich;         /* affine has the variant affine_rich, in a module of its own, with these features */
    bool absent_first; /* a program for a device that is not registered comes before */
} cts_package_options;

/* Writes the package for the device under test; the path stays valid until the next call. */
const char *cts_package(cts_model model, const cts_package_options *options);
void cts_forget_package(void);
void cts_weight(float out[CTS_N]);           /* w, or w0 */
void cts_weight_of(int i, float out[CTS_N]); /* wi */

/* A model loaded from a package, with native code allowed. */
gpuc_model *cts_load(cts *c, cts_model model, const cts_package_options *options);
gpuc_ndarray *cts_array(cts *c, gpuc_device *dev, const float *values, int64_t n);

/* The files of the suite. */
extern const struct CMUnitTest cts_memory_tests[], cts_plan_tests[], cts_stream_tests[], cts_session_tests[],
    cts_slice_tests[], cts_fault_tests[], cts_loop_tests[], cts_prepare_tests[], cts_hazard_tests[];
extern const size_t cts_num_memory_tests, cts_num_plan_tests, cts_num_stream_tests, cts_num_session_tests,
    cts_num_slice_tests, cts_num_fault_tests, cts_num_loop_tests, cts_num_prepare_tests, cts_num_hazard_tests;

#endif
