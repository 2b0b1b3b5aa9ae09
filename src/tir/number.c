/* SPDX-License-Identifier: Apache-2.0 */
/* printf and strtod follow the locale in the decimal point only, so neither is given one to read, and what
 * printf puts there is skipped. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tir/print.h"
#include "tir/value.h"

typedef struct decimal {
    char digits[24];
    int count, exponent; /* d.ddd * 10^exponent */
} decimal;

static decimal to_decimal(double v, int count)
{
    char text[64];
    decimal d = {.count = 0};
    snprintf(text, sizeof text, "%.*e", count - 1, v);
    const char *p = text;
    for (; *p && *p != 'e'; p++)
        if (isdigit((unsigned char)*p)) d.digits[d.count++] = *p;
    d.exponent = *p ? atoi(p + 1) : 0;
    return d;
}

static double from_decimal(const decimal *d)
{
    char text[64];
    snprintf(text, sizeof text, "%.*se%d", d->count, d->digits, d->exponent - (d->count - 1));
    return strtod(text, NULL);
}

void gpuc_tir_print_float(gpuc_buf *out, gpuc_dtype t, double v)
{
    if (isnan(v) || isinf(v)) {
        gpuc_buf_str(out, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
        return;
    }
    if (signbit(v)) gpuc_buf_str(out, "-");
    v = fabs(v);
    decimal d = {.count = 0};
    for (int count = 1; count <= 17; count++) {
        d = to_decimal(v, count);
        if (gpuc_tir_round(t, from_decimal(&d)) == v) break;
    }
    if (d.exponent < -5 || d.exponent > 15) {
        gpuc_buf_printf(out, "%c.%se%d", d.digits[0], d.count > 1 ? d.digits + 1 : "0", d.exponent);
    } else if (d.exponent < 0) {
        gpuc_buf_printf(out, "0.%.*s%s", -d.exponent - 1, "00000", d.digits);
    } else {
        int whole = d.exponent + 1;
        gpuc_buf_printf(out, "%.*s", whole, d.digits);
        if (whole > d.count) gpuc_buf_printf(out, "%.*s", whole - d.count, "0000000000000000");
        gpuc_buf_printf(out, ".%s", d.count > whole ? d.digits + whole : "0");
    }
}

double gpuc_tir_parse_float(gpuc_ctx *ctx, const char *text, size_t length)
{
    char *digits = gpuc_new_array(ctx, char, length + 32);
    size_t n = 0, i = 0;
    long exponent = 0;
    bool after_point = false;
    for (; i < length && (isdigit((unsigned char)text[i]) || text[i] == '.'); i++) {
        if (text[i] == '.') {
            after_point = true;
        } else {
            digits[n++] = text[i];
            exponent -= after_point;
        }
    }
    if (i < length) {
        long written = strtol(text + i + 1, NULL, 10);
        if (written > 1000000) written = 1000000;
        if (written < -1000000) written = -1000000;
        exponent += written;
    }
    snprintf(digits + n, 32, "e%ld", exponent);
    return strtod(digits, NULL);
}

void gpuc_tir_print_string(gpuc_buf *out, const char *text)
{
    gpuc_buf_str(out, "\"");
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p == '"' || *p == '\\')
            gpuc_buf_printf(out, "\\%c", *p);
        else if (*p == '\n')
            gpuc_buf_str(out, "\\n");
        else if (*p < 32 || *p == 127)
            gpuc_buf_printf(out, "\\x%02x", *p);
        else
            gpuc_buf_bytes(out, p, 1);
    }
    gpuc_buf_str(out, "\"");
}
