/* SPDX-License-Identifier: Apache-2.0 */
/* Names element types and parses their names. */
#include <gpuc/base.h>

#include <stdio.h>
#include <string.h>

typedef struct dtype_row {
    const char *name;
    uint8_t code;
    uint8_t bits[4]; /* widths that exist; 0 ends */
} dtype_row;

/* "bool" and "handle" are written without their width. */
static const dtype_row rows[] = {
    {"int", GPUC_DTYPE_INT, {8, 16, 32, 64}},
    {"uint", GPUC_DTYPE_UINT, {8, 16, 32, 64}},
    {"float", GPUC_DTYPE_FLOAT, {16, 32, 64}},
    {"bfloat", GPUC_DTYPE_BFLOAT, {16}},
    {"bool", GPUC_DTYPE_BOOL, {8}},
    {"handle", GPUC_DTYPE_HANDLE, {64}},
};
#define NUM_ROWS (sizeof rows / sizeof rows[0])

static bool has_plain_name(const dtype_row *row, unsigned bits)
{
    return (row->code == GPUC_DTYPE_BOOL || row->code == GPUC_DTYPE_HANDLE) && bits == row->bits[0];
}

static const dtype_row *row_of(gpuc_dtype t)
{
    for (size_t i = 0; i < NUM_ROWS; i++)
        if (rows[i].code == t.code) return &rows[i];
    return NULL;
}

bool gpuc_dtype_exists(gpuc_dtype t)
{
    const dtype_row *row = row_of(t);
    return row && t.bits && t.lanes && memchr(row->bits, t.bits, sizeof row->bits);
}

char *gpuc_dtype_name(gpuc_dtype t, char out[24])
{
    const dtype_row *row = row_of(t);
    int n;
    if (!row)
        n = snprintf(out, 24, "code%u_%u", t.code, t.bits);
    else if (has_plain_name(row, t.bits))
        n = snprintf(out, 24, "%s", row->name);
    else
        n = snprintf(out, 24, "%s%u", row->name, t.bits);
    if (t.lanes != 1) snprintf(out + n, 24 - (size_t)n, "x%u", t.lanes);
    return out;
}

/* A decimal number without sign or leading zero, at most limit. Returns the text after it. */
static const char *parse_number(const char *p, unsigned limit, unsigned *out)
{
    if (*p < '1' || *p > '9') return NULL;
    unsigned v = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        v = v * 10 + (unsigned)(*p - '0');
        if (v > limit) return NULL;
    }
    *out = v;
    return p;
}

bool gpuc_dtype_parse(const char *name, gpuc_dtype *out)
{
    *out = (gpuc_dtype){0};
    for (size_t i = 0; i < NUM_ROWS; i++) {
        const dtype_row *row = &rows[i];
        size_t length = strlen(row->name);
        if (strncmp(name, row->name, length) != 0) continue;
        const char *p = name + length;
        unsigned bits = row->bits[0], lanes = 1;
        if (!has_plain_name(row, bits)) {
            p = parse_number(p, UINT8_MAX, &bits);
            if (!p || !memchr(row->bits, (int)bits, sizeof row->bits)) return false;
        }
        if (*p == 'x') {
            p = parse_number(p + 1, UINT16_MAX, &lanes);
            if (!p) return false;
        }
        if (*p != 0) continue;
        *out = (gpuc_dtype){.code = row->code, .bits = (uint8_t)bits, .lanes = (uint16_t)lanes};
        return true;
    }
    return false;
}
