/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of bytes, the same on every machine: packages and caches hold them. */
#ifndef GPUC_BASE_HASH_H
#define GPUC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* XXH64 of bytes. */
uint64_t gpuc_hash_bytes(const void *data, size_t size, uint64_t seed);

/* The same of bytes that come in parts, with seed 0. */
typedef struct gpuc_hasher {
    uint64_t lanes[4];
    uint64_t size;          /* of what was added */
    unsigned char tail[32]; /* its last size % 32 bytes */
} gpuc_hasher;

void gpuc_hasher_init(gpuc_hasher *h);
void gpuc_hasher_add(gpuc_hasher *h, const void *data, size_t size);
uint64_t gpuc_hasher_get(const gpuc_hasher *h);

/* A hash of the compiler's tables with one more value in it. */
uint32_t gpuc_hash_mix(uint32_t hash, uint64_t value);

#endif
