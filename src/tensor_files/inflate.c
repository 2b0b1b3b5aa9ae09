/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor_files/inflate.h"

#include <string.h>

enum {
    MOST_BITS = 15, /* of a code */
    FAST_BITS = 10, /* codes that are so short are found in one step */
    NUM_LENGTHS = 288,
    NUM_DISTANCES = 30,
    END_OF_BLOCK = 256
};

typedef struct huffman {
    uint16_t fast[1 << FAST_BITS]; /* by the next bits: symbol, and bits << 9; 0: the code is longer */
    uint16_t count[MOST_BITS + 1];
    uint16_t symbols[NUM_LENGTHS]; /* in the order of their codes */
} huffman;

typedef struct stream {
    const uint8_t *in, *in_end;
    uint64_t bits; /* the next ones, from the lowest on */
    int num_bits;
    uint8_t *out, *start, *out_end;
    bool full, bad;
    huffman lengths, distances;
} stream;

static void refill(stream *s)
{
    for (; s->num_bits <= 56 && s->in < s->in_end; s->num_bits += 8)
        s->bits |= (uint64_t)*s->in++ << s->num_bits;
}

static void drop(stream *s, int n)
{
    s->bad |= n > s->num_bits;
    s->bits >>= n;
    s->num_bits -= n;
}

static uint32_t take(stream *s, int n)
{
    if (s->num_bits < n) refill(s);
    uint32_t v = (uint32_t)(s->bits & ((UINT64_C(1) << n) - 1));
    drop(s, n);
    return v;
}

static uint32_t reversed(uint32_t code, int n)
{
    uint32_t out = 0;
    for (int i = 0; i < n; i++) out |= (code >> i & 1) << (n - 1 - i);
    return out;
}

/* False if there are more codes than bits can tell apart, or fewer; but for none, or one of a single bit. */
static bool make_codes(huffman *h, const uint8_t *bits, int n)
{
    uint16_t at[MOST_BITS + 2] = {0};
    uint32_t code[MOST_BITS + 2] = {0};
    int left = 1;
    memset(h, 0, sizeof *h);
    for (int i = 0; i < n; i++) h->count[bits[i]]++;
    int used = n - h->count[0];
    h->count[0] = 0;
    for (int b = 1; b <= MOST_BITS; b++) {
        left = 2 * left - h->count[b];
        if (left < 0) return false;
        at[b + 1] = (uint16_t)(at[b] + h->count[b]);
        code[b + 1] = (code[b] + h->count[b]) << 1;
    }
    for (int i = 0; i < n; i++) {
        int b = bits[i];
        if (!b) continue;
        h->symbols[at[b]++] = (uint16_t)i;
        uint32_t c = reversed(code[b]++, b);
        for (uint32_t k = c; b <= FAST_BITS && k < 1 << FAST_BITS; k += 1u << b)
            h->fast[k] = (uint16_t)(i | b << 9);
    }
    return left == 0 || used == 0 || (used == 1 && h->count[1] == 1);
}

static int decode(stream *s, const huffman *h)
{
    if (s->num_bits < MOST_BITS) refill(s);
    uint16_t fast = h->fast[s->bits & ((1 << FAST_BITS) - 1)];
    if (fast) {
        drop(s, fast >> 9);
        return fast & 511;
    }
    int code = 0, first = 0, index = 0;
    for (int b = 1; b <= MOST_BITS; b++) {
        code |= (int)(s->bits >> (b - 1) & 1);
        if (code - first < h->count[b]) {
            drop(s, b);
            return h->symbols[index + code - first];
        }
        index += h->count[b];
        first = (first + h->count[b]) << 1;
        code <<= 1;
    }
    s->bad = true;
    return 0;
}

static void put_copy(stream *s, size_t distance, size_t length)
{
    if (distance > (size_t)(s->out - s->start)) {
        s->bad = true;
        return;
    }
    size_t room = (size_t)(s->out_end - s->out);
    s->full |= length > room;
    if (length > room) length = room;
    const uint8_t *from = s->out - distance;
    for (size_t i = 0; i < length; i++) s->out[i] = from[i]; /* the two may overlap */
    s->out += length;
}

static void put_coded(stream *s)
{
    static const uint16_t length_base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                           31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint8_t length_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                          2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t distance_base[NUM_DISTANCES] = {
        1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
        193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    while (!s->bad && !s->full) {
        int symbol = decode(s, &s->lengths);
        if (s->bad || symbol == END_OF_BLOCK) return;
        if (symbol < END_OF_BLOCK) {
            if (s->out == s->out_end)
                s->full = true;
            else
                *s->out++ = (uint8_t)symbol;
            continue;
        }
        int k = symbol - END_OF_BLOCK - 1;
        if ((size_t)k >= sizeof length_bits) {
            s->bad = true;
            return;
        }
        size_t length = length_base[k] + take(s, length_bits[k]);
        int d = decode(s, &s->distances);
        if (s->bad || d >= NUM_DISTANCES) {
            s->bad = true;
            return;
        }
        size_t distance = distance_base[d] + take(s, d < 4 ? 0 : d / 2 - 1);
        if (!s->bad) put_copy(s, distance, length);
    }
}

static void put_stored(stream *s)
{
    drop(s, s->num_bits & 7);
    uint32_t size = take(s, 16), check = take(s, 16);
    s->in -= s->num_bits / 8; /* whole bytes that were looked at */
    s->bits = 0;
    s->num_bits = 0;
    if (s->bad || size != (check ^ 0xffff) || size > (size_t)(s->in_end - s->in)) {
        s->bad = true;
        return;
    }
    size_t room = (size_t)(s->out_end - s->out);
    s->full = size > room;
    if (size > room) size = (uint32_t)room;
    if (size) memcpy(s->out, s->in, size);
    s->in += size;
    s->out += size;
}

static void fixed_codes(stream *s)
{
    uint8_t bits[NUM_LENGTHS];
    for (int i = 0; i < NUM_LENGTHS; i++) bits[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    make_codes(&s->lengths, bits, NUM_LENGTHS);
    memset(bits, 5, 32);
    make_codes(&s->distances, bits, 32); /* two of them mean nothing */
}

static void read_codes(stream *s)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t bits[NUM_LENGTHS + 32] = {0}, short_bits[sizeof order] = {0};
    int num_lengths = (int)take(s, 5) + 257, num_distances = (int)take(s, 5) + 1, n = (int)take(s, 4) + 4;
    for (int i = 0; i < n; i++) short_bits[order[i]] = (uint8_t)take(s, 3);
    s->bad |= num_lengths > 286 || num_distances > NUM_DISTANCES ||
              !make_codes(&s->lengths, short_bits, sizeof order);
    int total = num_lengths + num_distances, i = 0;
    while (!s->bad && i < total) {
        int symbol = decode(s, &s->lengths), times = 1;
        uint8_t value = (uint8_t)symbol;
        if (symbol >= 16) {
            s->bad |= symbol == 16 && i == 0;
            value = symbol == 16 && i ? bits[i - 1] : 0;
            times = symbol == 16   ? 3 + (int)take(s, 2)
                    : symbol == 17 ? 3 + (int)take(s, 3)
                                   : 11 + (int)take(s, 7);
        }
        s->bad |= times > total - i;
        for (; !s->bad && times > 0; times--) bits[i++] = value;
    }
    s->bad = s->bad || !bits[END_OF_BLOCK] || !make_codes(&s->lengths, bits, num_lengths) ||
             !make_codes(&s->distances, bits + num_lengths, num_distances);
}

gpuc_inflated gpuc_inflate(const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size, size_t *made)
{
    stream s = {.in = in, .in_end = in + in_size, .out = out, .start = out, .out_end = out + out_size};
    bool last = false;
    while (!last && !s.bad && !s.full) {
        last = take(&s, 1);
        switch (take(&s, 2)) {
        case 0: put_stored(&s); break;
        case 1:
            fixed_codes(&s);
            put_coded(&s);
            break;
        case 2:
            read_codes(&s);
            put_coded(&s);
            break;
        default: s.bad = true;
        }
    }
    *made = (size_t)(s.out - out);
    if (s.bad) return GPUC_INFLATED_BAD;
    bool all = !s.full && s.out == s.out_end && s.in == s.in_end && s.num_bits < 8;
    return all ? GPUC_INFLATED_ALL : GPUC_INFLATED_PART;
}

uint32_t gpuc_crc32(const uint8_t *bytes, size_t size)
{
    uint32_t table[256], crc = ~0u;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int k = 0; k < 8; k++) table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    for (size_t i = 0; i < size; i++) crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 255];
    return ~crc;
}
