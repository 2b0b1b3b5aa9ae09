/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs with mistakes in them, for the driver of tests/base/mutate.c. */
#ifndef GPUC_TESTS_BASE_MUTATE_H
#define GPUC_TESTS_BASE_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* xorshift64* */
static inline uint64_t mutate_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline size_t mutate_below(uint64_t *state, size_t n)
{
    return n ? (size_t)((mutate_random(state) >> 16) % n) : 0;
}

/* A number that readers may have wrong: 0, ends of types, powers of two, or near old. */
uint64_t mutate_number(uint64_t *state, uint64_t old);

/* Makes one mistake in the size bytes of data, of which there may be room; gives the new size, which is at
 * least 1. One per format: of the words of a file (mutate_words.c), of the fields of a message
 * (onnx/mutate_fields.c). */
size_t mutate_once(uint8_t *data, size_t size, size_t room, uint64_t *state);

#endif
