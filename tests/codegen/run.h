/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels on real devices: emitted, linked, loaded, run, for any target. */
#ifndef GPUC_TESTS_CODEGEN_RUN_H
#define GPUC_TESTS_CODEGEN_RUN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <gpuc/runtime.h>

#include "codegen/codegen.h"

typedef struct run_buffer {
    void *data;
    size_t size;
} run_buffer;

/* The target under test and its device, from the command line: "vulkan/llvmpipe", "c -mcpu=native", ... */
extern const char *run_target_text;
/* False, with the reason printed, if there is no device for the target, or GPUC_TEST_DEVICE (cpu, opencl,
 * vulkan; several with commas) leaves it out. Vulkan runs under the validation layer. */
bool run_begin(const char *target);
/* The exit status of the test: failed, or 1 if the validation layer had something to say. */
int run_end(int failed);
gpuc_device_type run_device_type(void);
gpuc_device *run_device(void);
gpuc_runtime *run_runtime(void);

/* Fails the test with the message of a status. */
void run_ok(gpuc_status s);
/* Fails the test if there is no status, or words are not in its message. */
void run_refused(gpuc_status s, const char *words);

/* Runs body in a context of its own and fails the test with its message. */
void run_in_ctx(void (*body)(gpuc_ctx *ctx, void *arg), void *arg);
/* The same, but an error of this code is an answer: false. */
bool run_supported(gpuc_ctx *ctx, void (*body)(gpuc_ctx *ctx, void *arg), void *arg);

const gpuc_target *run_target(gpuc_ctx *ctx);
/* The SPIR-V of a loaded package goes through spirv-val. */
void run_validate(const gpuc_model *model);
/* Cuts vectors to what the language has, and emits; SPIR-V goes through spirv-val. */
gpuc_kernel_code run_emit(gpuc_ctx *ctx, const gpuc_target *t, const gpuc_tir_func *kernel);
/* Emits and runs one kernel (stage TARGET); buffers are read and written back in the order of its parameters. */
void run_kernel(gpuc_ctx *ctx, const gpuc_tir_func *kernel, const run_buffer *buffers,
                const int64_t *scalars);
/* The same with n kernels in one module, of which one is launched. Returns how many files the module has. */
int run_linked(gpuc_ctx *ctx, int n, const gpuc_tir_func *const *kernels, int which,
               const run_buffer *buffers, const int64_t *scalars);

#endif
