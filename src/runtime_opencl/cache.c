/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of the binary cache: "gpuc-clb", u64 XXH64 of the binary behind the key, the binary. Drivers are not robust
 * against damaged binaries, and run those of another program: they see none whose checksum is wrong. */
#include "runtime_opencl/cl.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define MAGIC "gpuc-clb"
#define HEAD 16

static uint64_t hash_text(uint64_t seed, const char *text)
{
    return gpuc_hash_bytes(text, strlen(text) + 1, seed);
}

void gpuc_cl_cache_key(const gpuc_cl_device *dev, const gpuc_cl_program *p, char out[GPUC_CL_CACHE_KEY])
{
    uint64_t h[2];
    for (uint64_t i = 0; i < 2; i++) {
        h[i] = hash_text(i * UINT64_C(0x9e3779b97f4a7c15), p->source->text);
        h[i] = hash_text(h[i], p->options);
        h[i] = hash_text(h[i], dev->caps.name);
        h[i] = hash_text(h[i], dev->caps.version);
        h[i] = hash_text(h[i], dev->caps.driver);
    }
    snprintf(out, GPUC_CL_CACHE_KEY, "opencl-%016llx%016llx", (unsigned long long)h[0],
             (unsigned long long)h[1]);
}

static uint64_t sum_of(const char *key, const unsigned char *binary, size_t size)
{
    return gpuc_hash_bytes(binary, size, hash_text(0, key));
}

const unsigned char *gpuc_cl_cache_open(const char *key, const void *bytes, size_t size, size_t *out_size)
{
    *out_size = 0;
    if (size <= HEAD || memcmp(bytes, MAGIC, 8) != 0) return NULL;
    const unsigned char *binary = (const unsigned char *)bytes + HEAD;
    uint64_t sum;
    memcpy(&sum, (const char *)bytes + 8, sizeof sum);
    if (sum_of(key, binary, size - HEAD) != sum) return NULL;
    *out_size = size - HEAD;
    return binary;
}

/* Failures only mean that the next start is slow again. */
void gpuc_cl_cache_put(gpuc_cl_device *dev, const char *key, cl_program program)
{
    size_t size = 0;
    if (dev->fn->GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != CL_SUCCESS ||
        size == 0)
        return;
    unsigned char *bytes = gpuc_mem_alloc(dev->allocator, HEAD + size);
    if (!bytes) return;
    unsigned char *binary = bytes + HEAD;
    if (dev->fn->GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS) {
        uint64_t sum = sum_of(key, binary, size);
        memcpy(bytes, MAGIC, 8);
        memcpy(bytes + 8, &sum, sizeof sum);
        gpuc_runtime_cache_store(dev->base.runtime, key, bytes, HEAD + size);
    }
    gpuc_mem_free(dev->allocator, bytes, HEAD + size);
}
