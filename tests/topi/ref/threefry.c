/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "random.h"

static void hash(const uint64_t *key, const uint64_t *counter, uint64_t add, uint64_t *x)
{
    static const int r[8][2] = {{14, 16}, {52, 57}, {23, 40}, {5, 37},
                                {25, 33}, {46, 12}, {58, 22}, {32, 32}};
    uint64_t k[5] = {key[0], key[1], key[2], key[3], 0};
    k[4] = k[0] ^ k[1] ^ k[2] ^ k[3] ^ 0x1bd11bdaa9fc1a22u;
    for (int i = 0; i < 4; i++) x[i] = counter[i] + add;
    for (int round = 0; round < 20; round++) {
        if (round % 4 == 0) {
            for (int i = 0; i < 4; i++) x[i] += k[(round / 4 + i) % 5];
            x[3] += (uint64_t)(round / 4);
        }
        for (int j = 0; j < 2; j++) {
            int by = r[round % 8][j];
            x[2 * j] += x[2 * j + 1];
            x[2 * j + 1] = x[2 * j] ^ (x[2 * j + 1] << by | x[2 * j + 1] >> (64 - by));
        }
        uint64_t one = x[1];
        x[1] = x[3];
        x[3] = one;
    }
}

static void key_of(const ref_call *c, uint64_t *key)
{
    for (int i = 0; i < 10; i++) key[i] = (uint64_t)(int64_t)c->in[0].v[i];
}

static void put_key(ref_call *c, int i, const uint64_t *key)
{
    int64_t ten = 10;
    ref_tensor *t = ref_make(c, i, GPUC_UINT64, 1, &ten);
    for (int k = 0; k < 10; k++) t->v[k] = (double)(int64_t)key[k]; /* as tests print words */
}

static void step(uint64_t *key)
{
    uint64_t odd = key[8] & 1;
    key[8] >>= 1;
    key[9] = key[9] >> 1 | odd << 63;
}

uint64_t *ref_random_words(ref_call *c, int64_t n)
{
    static const uint64_t ones[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    uint64_t key[10], fresh[4], *words = calloc((size_t)n + 4, sizeof *words);
    key_of(c, key);
    if (key[7] >= UINT64_MAX - (uint64_t)n) {
        if (key[8] == 0 && key[9] == 0) {
            hash(key, ones, 0, fresh);
            memset(key, 0, sizeof key);
            memcpy(key, fresh, sizeof fresh);
            key[8] = UINT64_C(1) << 63;
        } else {
            key[4] |= key[8];
            key[5] |= key[9];
            key[6] = key[7] = 0;
            step(key);
        }
    }
    for (int64_t i = 0; i < n; i += 4) hash(key, key + 4, (uint64_t)(i / 4), words + i);
    key[6] = 0;
    key[7] += (uint64_t)n;
    put_key(c, 0, key);
    return words;
}

static void generate(ref_call *c)
{
    int64_t dims[REF_DIMS], n = 1;
    int ndim = ref_ints(c, "out_shape", dims);
    for (int i = 0; i < ndim; i++) n *= dims[i];
    uint64_t *words = ref_random_words(c, n);
    ref_tensor *y = ref_make(c, 1, GPUC_UINT64, ndim, dims);
    for (int64_t i = 0; i < n; i++) y->v[i] = (double)(int64_t)words[i];
    free(words);
    c->num_out = 2;
}

static void split(ref_call *c)
{
    uint64_t left[10], right[10], fresh[4];
    key_of(c, left);
    if (left[8] == 0 && left[9] == 0) {
        hash(left, left + 4, 0, fresh);
        memset(left, 0, sizeof left);
        memcpy(left, fresh, sizeof fresh);
        memcpy(right, left, sizeof left);
        right[4] = UINT64_C(1) << 63;
        left[8] = right[8] = UINT64_C(1) << 62;
    } else {
        memcpy(right, left, sizeof left);
        right[4] |= left[8];
        right[5] |= left[9];
        step(left);
        step(right);
    }
    put_key(c, 0, left);
    put_key(c, 1, right);
    c->num_out = 2;
}

const ref_row ref_rows_threefry[] = {
    {"random.threefry_generate", generate}, {"random.threefry_split", split}, {NULL, NULL}};
