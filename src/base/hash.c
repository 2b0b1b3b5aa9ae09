/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from map.c, so that the runtime links no context. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/map.h"

uint64_t gpuc_hash_bytes(const void *data, size_t size, uint64_t seed)
{
    return XXH64(data, size, seed);
}

_Static_assert(sizeof(XXH64_state_t) <= sizeof(gpuc_hasher), "gpuc_hasher holds XXH64's state");

void gpuc_hasher_init(gpuc_hasher *h)
{
    XXH64_reset((XXH64_state_t *)h->state, 0);
}

void gpuc_hasher_add(gpuc_hasher *h, const void *data, size_t size)
{
    if (size) XXH64_update((XXH64_state_t *)h->state, data, size);
}

uint64_t gpuc_hasher_get(const gpuc_hasher *h)
{
    return XXH64_digest((const XXH64_state_t *)h->state);
}

uint32_t gpuc_hash_mix(uint32_t hash, uint64_t value)
{
    uint64_t x = (value ^ ((uint64_t)hash << 32 | hash)) * 0x9e3779b97f4a7c15u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return (uint32_t)(x ^ x >> 32);
}
