/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes in text: words and marks are dropped, repeated, exchanged, or replaced by others of the same text. */
#include <ctype.h>
#include <string.h>

#include "mutate.h"

typedef struct piece {
    size_t at, size;
} piece;

static int is_word(uint8_t c)
{
    return isalnum(c) || c == '_';
}

/* A word with the space before it, or a mark, that begins near a random place. */
static piece draw(const uint8_t *data, size_t size, uint64_t *state)
{
    piece p = {mutate_below(state, size), 1};
    while (p.at > 0 && is_word(data[p.at]) && is_word(data[p.at - 1])) p.at--;
    while (p.at + p.size < size && is_word(data[p.at + p.size]) && is_word(data[p.at])) p.size++;
    return p;
}

/* Up to a few words and marks. */
static piece draw_long(const uint8_t *data, size_t size, uint64_t *state)
{
    piece p = draw(data, size, state), q = draw(data, size, state);
    if (q.at > p.at && q.at - p.at < 80) p.size = q.at - p.at + q.size;
    return p;
}

static size_t replace(uint8_t *data, size_t size, size_t room, piece to, const uint8_t *text, size_t n)
{
    if (size - to.size + n > room) return size;
    memmove(data + to.at + n, data + to.at + to.size, size - to.at - to.size);
    if (n) memcpy(data + to.at, text, n);
    size = size - to.size + n;
    return size ? size : 1;
}

static size_t copy_piece(uint8_t *data, size_t size, size_t room, piece from, piece to)
{
    uint8_t text[256];
    size_t n = from.size < sizeof text ? from.size : sizeof text;
    memcpy(text, data + from.at, n);
    return replace(data, size, room, to, text, n);
}

static size_t put_word(uint8_t *data, size_t size, size_t room, piece to, uint64_t *state)
{
    static const char *const words[] = {
        "%x",    "%0",         "_",
        "(",     ")",          "{",
        "}",     "[",          "]",
        ",",     ";",          "=>",
        "->",    "let %x = ",  "?",
        "-",     "+",          "*",
        "//",    "<",          "=",
        "True",  "int32",      "1f",
        "inff",  "9999999999", "/*",
        "*/",    "fn ",        "if",
        "\"",    "\\n",        "\xff",
        "1e400", "match ",     "@main",
        ".0",    ":",          "#[constants]",
        "\n",    "0",          "A",
        "2",
    };
    const char *word = words[mutate_below(state, sizeof words / sizeof *words)];
    return replace(data, size, room, to, (const uint8_t *)word, strlen(word));
}

size_t mutate_once(uint8_t *data, size_t size, size_t room, uint64_t *state)
{
    if (size == 0) return 0;
    piece p = draw(data, size, state);
    switch (mutate_below(state, 8)) {
    case 0: return put_word(data, size, room, p, state);
    case 1: return put_word(data, size, room, (piece){p.at, 0}, state);
    case 2: return copy_piece(data, size, room, draw_long(data, size, state), (piece){p.at, 0});
    case 3: return replace(data, size, room, draw_long(data, size, state), NULL, 0);
    case 4: data[p.at] ^= (uint8_t)(1u << mutate_below(state, 8)); return size;
    case 5: return copy_piece(data, size, room, draw_long(data, size, state), p);
    default: return copy_piece(data, size, room, draw(data, size, state), p);
    }
}
