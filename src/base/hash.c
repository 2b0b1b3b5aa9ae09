/* SPDX-License-Identifier: Apache-2.0 */
/* XXH64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md) at once and in parts, and a mix of 32 bits. */
#include "base/hash.h"

#include <string.h>

#define PRIME1 UINT64_C(0x9e3779b185ebca87)
#define PRIME2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME3 UINT64_C(0x165667b19e3779f9)
#define PRIME4 UINT64_C(0x85ebca77c2b2ae63)
#define PRIME5 UINT64_C(0x27d4eb2f165667c5)
#define STRIPE 32 /* bytes: 8 of each lane */

static uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static uint64_t load64(const unsigned char *at)
{
    uint64_t x;
    memcpy(&x, at, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

static uint64_t load32(const unsigned char *at)
{
    uint32_t x;
    memcpy(&x, at, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap32(x);
#endif
    return x;
}

static uint64_t add_to_lane(uint64_t lane, uint64_t x)
{
    return rotate(lane + x * PRIME2, 31) * PRIME1;
}

static void init_lanes(uint64_t lanes[4], uint64_t seed)
{
    lanes[0] = seed + PRIME1 + PRIME2;
    lanes[1] = seed + PRIME2;
    lanes[2] = seed;
    lanes[3] = seed - PRIME1;
}

/* Adds all whole stripes; returns where the tail begins. */
static const unsigned char *add_stripes(uint64_t lanes[4], const unsigned char *at, size_t size)
{
    uint64_t a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];
    for (; size >= STRIPE; size -= STRIPE, at += STRIPE) {
        a = add_to_lane(a, load64(at));
        b = add_to_lane(b, load64(at + 8));
        c = add_to_lane(c, load64(at + 16));
        d = add_to_lane(d, load64(at + 24));
    }
    lanes[0] = a, lanes[1] = b, lanes[2] = c, lanes[3] = d;
    return at;
}

static uint64_t finish(const uint64_t lanes[4], uint64_t seed, uint64_t size, const unsigned char *tail)
{
    uint64_t h = seed + PRIME5;
    if (size >= STRIPE) {
        h = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) + rotate(lanes[3], 18);
        for (int i = 0; i < 4; i++) h = (h ^ add_to_lane(0, lanes[i])) * PRIME1 + PRIME4;
    }
    h += size;
    size_t left = (size_t)(size % STRIPE);
    for (; left >= 8; left -= 8, tail += 8)
        h = rotate(h ^ add_to_lane(0, load64(tail)), 27) * PRIME1 + PRIME4;
    if (left >= 4) {
        h = rotate(h ^ load32(tail) * PRIME1, 23) * PRIME2 + PRIME3;
        left -= 4, tail += 4;
    }
    for (; left > 0; left--, tail++) h = rotate(h ^ *tail * PRIME5, 11) * PRIME1;
    h = (h ^ h >> 33) * PRIME2;
    h = (h ^ h >> 29) * PRIME3;
    return h ^ h >> 32;
}

uint64_t gpuc_hash_bytes(const void *data, size_t size, uint64_t seed)
{
    uint64_t lanes[4];
    init_lanes(lanes, seed);
    const unsigned char *tail = size >= STRIPE ? add_stripes(lanes, data, size) : data;
    return finish(lanes, seed, size, tail);
}

void gpuc_hasher_init(gpuc_hasher *h)
{
    memset(h, 0, sizeof *h);
    init_lanes(h->lanes, 0);
}

void gpuc_hasher_add(gpuc_hasher *h, const void *data, size_t size)
{
    const unsigned char *at = data;
    size_t held = (size_t)(h->size % STRIPE);
    h->size += size;
    if (held && held + size >= STRIPE) {
        size_t taken = STRIPE - held;
        memcpy(h->tail + held, at, taken);
        add_stripes(h->lanes, h->tail, STRIPE);
        at += taken, size -= taken, held = 0;
    }
    if (size >= STRIPE) {
        at = add_stripes(h->lanes, at, size);
        size %= STRIPE;
    }
    if (size) memcpy(h->tail + held, at, size);
}

uint64_t gpuc_hasher_get(const gpuc_hasher *h)
{
    return finish(h->lanes, 0, h->size, h->tail);
}

uint32_t gpuc_hash_mix(uint32_t hash, uint64_t value)
{
    uint64_t x = (value ^ ((uint64_t)hash << 32 | hash)) * 0x9e3779b97f4a7c15u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return (uint32_t)(x ^ x >> 32);
}
