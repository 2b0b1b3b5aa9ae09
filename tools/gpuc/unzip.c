/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks compressed .npz archives by zlib, where the program was built with it. */
#include "unzip.h"

#ifdef GPUC_CLI_ZLIB
#include <limits.h>
#include <string.h>
#include <zlib.h>

/* zlib counts in 32 bits. */
static uInt piece(size_t size)
{
    return size > UINT_MAX ? UINT_MAX : (uInt)size;
}

static gpuc_inflated unpack(const void *in, size_t in_size, void *out, size_t out_size, size_t *made)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in, .next_out = out};
    size_t in_left = in_size, out_left = out_size;
    int code = inflateInit2(&z, -MAX_WBITS);
    *made = 0;
    if (code != Z_OK) return GPUC_INFLATED_BAD;
    while (code == Z_OK) {
        uInt give = piece(in_left), room = piece(out_left);
        z.avail_in = give;
        z.avail_out = room;
        code = inflate(&z, Z_NO_FLUSH);
        in_left -= give - z.avail_in;
        out_left -= room - z.avail_out;
        if (out_left == 0 || (give == z.avail_in && room == z.avail_out)) break;
    }
    /* A stream may end after its last byte of output; then one more step is needed, which gives no bytes. */
    Bytef none;
    if (code == Z_OK && out_left == 0) {
        z.avail_in = piece(in_left);
        z.next_out = &none;
        z.avail_out = 1;
        uInt before = z.avail_in;
        code = inflate(&z, Z_NO_FLUSH);
        in_left -= before - z.avail_in;
        if (z.avail_out == 0) code = Z_OK; /* more would come */
    }
    inflateEnd(&z);
    *made = out_size - out_left;
    if (code == Z_STREAM_END) return in_left || out_left ? GPUC_INFLATED_PART : GPUC_INFLATED_ALL;
    return code == Z_OK && out_left == 0 ? GPUC_INFLATED_PART : GPUC_INFLATED_BAD;
}

static uint32_t checksum(const void *bytes, size_t size)
{
    const Bytef *at = bytes;
    uLong crc = crc32(0, NULL, 0);
    for (uInt n; size > 0; at += n, size -= n) {
        n = piece(size);
        crc = crc32(crc, at, n);
    }
    return (uint32_t)crc;
}

const gpuc_npz_codec *cli_npz_codec(void)
{
    static const gpuc_npz_codec codec = {.inflate = unpack, .crc32 = checksum};
    return &codec;
}
#else
const gpuc_npz_codec *cli_npz_codec(void)
{
    return NULL;
}
#endif
