/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes in files made of little-endian words: packages. */
#include <string.h>

#include "mutate.h"

static void change_word(uint8_t *data, size_t size, size_t width, uint64_t *state)
{
    if (size < width) return;
    size_t at = mutate_below(state, size - width + 1);
    if (mutate_below(state, 4)) at = at / 4 * 4;
    uint64_t word = 0;
    memcpy(&word, data + at, width);
    word = mutate_number(state, word);
    memcpy(data + at, &word, width);
}

/* From one place to another, which it overwrites. */
static void copy_part(uint8_t *data, size_t size, uint64_t *state)
{
    size_t n = 1 + mutate_below(state, size < 64 ? size : 64);
    size_t from = mutate_below(state, size - n + 1), to = mutate_below(state, size - n + 1);
    memmove(data + to, data + from, n);
}

static size_t repeat_part(uint8_t *data, size_t size, size_t room, uint64_t *state)
{
    size_t max = room - size < size ? room - size : size;
    size_t n = mutate_below(state, max < 64 ? max : 64), at = mutate_below(state, size - n + 1);
    memmove(data + at + n, data + at, size - at);
    return size + n;
}

static size_t drop_part(uint8_t *data, size_t size, uint64_t *state)
{
    size_t n = mutate_below(state, size < 64 ? size : 64), at = mutate_below(state, size - n + 1);
    memmove(data + at, data + at + n, size - at - n);
    return size - n;
}

size_t mutate_once(uint8_t *data, size_t size, size_t room, uint64_t *state)
{
    switch (mutate_below(state, 24)) {
    case 0: data[mutate_below(state, size)] ^= (uint8_t)(1u << mutate_below(state, 8)); break;
    case 1: data[mutate_below(state, size)] = (uint8_t)mutate_random(state); break;
    case 2: change_word(data, size, 8, state); break;
    case 3: change_word(data, size, 2, state); break;
    case 4: copy_part(data, size, state); break;
    case 5: return repeat_part(data, size, room, state);
    case 6: return drop_part(data, size, state);
    case 7: return 1 + mutate_below(state, size);
    default: change_word(data, size, 4, state); break;
    }
    return size;
}
