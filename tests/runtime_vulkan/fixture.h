/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime with one Vulkan device under the validation layer, and the kernels of kernels/. */
#ifndef GPUC_TESTS_VULKAN_FIXTURE_H
#define GPUC_TESTS_VULKAN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <gpuc/devices.h>

#include "abi/kernel.h"
#include "runtime_vulkan/testing.h"

#include "../strict/strict.h"

typedef struct vk_fixture {
    bool strict; /* open the strict device; vk_init takes it from the command line */
    strict_options options;
    gpuc_runtime_desc desc; /* set before vk_open; vk_init fills the defaults */
    gpuc_runtime *rt;
    gpuc_device *dev;
    const gpuc_device_api *api;
    int messages; /* of the layer; vk_close fails unless 0 */
    bool hazard_reported;
    bool quiet;         /* messages are expected: do not print them */
    int64_t live_bytes; /* of the counting allocator */
} vk_fixture;

/* For main: runs the tests, on the strict device if the first argument is "strict". Exit code 77,
 * with the reason printed, if there is no Vulkan device. */
#define vk_run_tests(argc, argv, tests)                                                                      \
    (vk_available((argc), (argv)) ? cmocka_run_group_tests((tests), NULL, NULL) : 77)
bool vk_available(int argc, char **argv);
/* Stops the test with the status's message unless it is OK. */
void vk_ok(gpuc_status status);
/* Stops the test unless the status has the code and its message contains the text. */
void vk_fails(gpuc_status status, gpuc_code code, const char *text);

void vk_init(vk_fixture *f);
void vk_open(vk_fixture *f);
/* Closes everything; checks that the layer said nothing and that no memory is left. */
void vk_close(vk_fixture *f);

extern const gpuc_kernel vk_vadd, vk_vadd_uniform, vk_affine, vk_shift, vk_texel_copy, vk_scalars;
extern gpuc_kernel vk_subgroup_sum; /* subgroup_size is set by the test */

/* Bytes of a module of kernels, read from the assembled files. Freed with free(). */
void *vk_blob(const gpuc_kernel *const *kernels, uint32_t count, size_t *out_size);
gpuc_code_module *vk_module(vk_fixture *f, const gpuc_kernel *const *kernels, uint32_t count);

gpuc_buffer *vk_buffer(vk_fixture *f, size_t bytes);
void vk_write(vk_fixture *f, gpuc_buffer *b, size_t offset, const void *bytes, size_t size);
void vk_read(vk_fixture *f, gpuc_buffer *b, size_t offset, void *bytes, size_t size);

/* vkGetInstanceProcAddr of the system's loader. */
void *vk_system_loader(void);

#endif
