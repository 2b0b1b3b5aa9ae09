/* SPDX-License-Identifier: Apache-2.0 */
/* Prints attributes and literals. Attributes that have their default are left out, as in TVM. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/element.h"
#include "relay/infer.h"
#include "relay/print.h"

void gpuc_relay_print_number(gpuc_buf *out, double v, bool single)
{
    char text[40];
    if (isinf(v)) {
        gpuc_buf_str(out, v < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        double back = strtod(text, NULL);
        if (single ? (float)back == (float)v : back == v) break;
    }
    gpuc_buf_str(out, text);
}

bool gpuc_relay_print_scalar(gpuc_buf *out, gpuc_dtype t, const void *value)
{
    if (t.code == GPUC_DTYPE_BOOL) {
        gpuc_buf_str(out, *(const uint8_t *)value ? "True" : "False");
        return true;
    }
    if (t.code == GPUC_DTYPE_INT && t.bits >= 16) {
        gpuc_buf_printf(out, "%lld", (long long)gpuc_relay_read_integer(value, t));
        if (t.bits != 32) gpuc_buf_printf(out, "i%d", t.bits);
        return true;
    }
    if (t.code != GPUC_DTYPE_FLOAT || t.bits < 16 || isnan(gpuc_float_load(t, value))) return false;
    gpuc_relay_print_number(out, gpuc_float_load(t, value), t.bits <= 32);
    gpuc_buf_str(out, "f");
    if (t.bits != 32) gpuc_buf_printf(out, "%d", t.bits);
    return true;
}

static void print_string(gpuc_buf *out, const char *s)
{
    gpuc_buf_str(out, "\"");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            gpuc_buf_printf(out, "\\%c", c);
        else if (c == '\n')
            gpuc_buf_str(out, "\\n");
        else
            gpuc_buf_bytes(out, s, 1);
    }
    gpuc_buf_str(out, "\"");
}

static void print_value(gpuc_relay_printer *p, const gpuc_attr *a)
{
    char name[24];
    switch (a->kind) {
    case GPUC_ATTR_INT: gpuc_buf_printf(p->out, "%lld", (long long)a->i); break;
    case GPUC_ATTR_FLOAT:
        gpuc_relay_print_number(p->out, a->f, false);
        gpuc_buf_str(p->out, "f");
        break;
    case GPUC_ATTR_STRING: print_string(p->out, a->s); break;
    case GPUC_ATTR_DTYPE: print_string(p->out, a->dtype.bits ? gpuc_dtype_name(a->dtype, name) : ""); break;
    case GPUC_ATTR_INTS:
    case GPUC_ATTR_FLOATS:
        gpuc_buf_str(p->out, "[");
        for (int i = 0; i < a->n; i++) {
            if (i) gpuc_buf_str(p->out, ", ");
            if (a->kind == GPUC_ATTR_FLOATS) {
                gpuc_relay_print_number(p->out, a->floats[i], false);
                gpuc_buf_str(p->out, "f");
            } else {
                gpuc_expr size = gpuc_relay_print_size(p, gpuc_attr_size(p->ctx, a, i));
                gpuc_buf_str(p->out, gpuc_relay_is_any_dim(size) ? "?" : gpuc_expr_text(p->ctx, size));
            }
        }
        gpuc_buf_str(p->out, "]");
        break;
    case GPUC_ATTR_KIND_COUNT: break;
    }
}

/* Whether the attribute has the value that a call without it gets. Padding is always said, as TVM's calls say it. */
static bool is_default(const gpuc_attr_spec *spec, const gpuc_attr *a)
{
    if (spec->required || spec->kind != a->kind) return false;
    switch (a->kind) {
    case GPUC_ATTR_INT: return a->i == spec->i;
    case GPUC_ATTR_FLOAT: return !memcmp(&a->f, &spec->f, sizeof a->f);
    case GPUC_ATTR_STRING: return !strcmp(a->s, spec->s ? spec->s : "");
    case GPUC_ATTR_DTYPE: return gpuc_dtype_equal(a->dtype, spec->dtype);
    case GPUC_ATTR_FLOATS: return a->n == 0 && !spec->s;
    case GPUC_ATTR_INTS:
        if (spec->each == GPUC_EACH_GIVEN || a->n == 0) return a->n == 0;
        if (spec->each == GPUC_EACH_SIDE || a->sizes) return false;
        for (int i = 0; i < a->n; i++)
            if (a->ints[i] != spec->i) return false;
        return true;
    case GPUC_ATTR_KIND_COUNT: break;
    }
    return false;
}

static bool is_asked_always(const gpuc_op *op, const char *name)
{
    for (const gpuc_attr_spec *spec = op->attrs; spec && spec->name; spec++)
        if (spec->take && spec->always && spec->to && !strcmp(spec->to, name)) return true;
    return false;
}

static void print_one(gpuc_relay_printer *p, const gpuc_attr *a, bool *comma)
{
    gpuc_buf_printf(p->out, "%s%s=", *comma ? ", " : "", a->name);
    print_value(p, a);
    *comma = true;
}

void gpuc_relay_print_attrs(gpuc_relay_printer *p, const gpuc_op *op, const gpuc_attrs *attrs, bool comma)
{
    if (!attrs) return;
    for (int i = 0; !op && i < attrs->count; i++) print_one(p, &attrs->at[i], &comma);
    for (const gpuc_attr_spec *spec = op ? op->attrs : NULL; spec && spec->name; spec++) {
        const gpuc_attr *a = spec->take ? NULL : gpuc_attrs_find(attrs, spec->name);
        if (a && (!is_default(spec, a) || is_asked_always(op, spec->name))) print_one(p, a, &comma);
    }
}

void gpuc_relay_print_constants(gpuc_relay_printer *p)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    gpuc_buf_str(p->out, "\n#[constants]\n");
    for (size_t i = 0; i < p->constants->count; i++) {
        const gpuc_rconstant *c = p->constants->at[i];
        const uint8_t *bytes = c->data->bytes;
        gpuc_relay_rtype_print(p->ctx, p->out, c->base.type);
        gpuc_buf_str(p->out, " \"");
        for (size_t k = 0; k < c->data->size; k += 3) {
            size_t left = c->data->size - k;
            uint32_t three = (uint32_t)bytes[k] << 16 | (left > 1 ? (uint32_t)bytes[k + 1] << 8 : 0) |
                             (left > 2 ? bytes[k + 2] : 0);
            char four[4];
            for (int j = 0; j < 4; j++) four[j] = digits[three >> (18 - 6 * j) & 63];
            if (left < 3) four[3] = '=';
            if (left < 2) four[2] = '=';
            gpuc_buf_bytes(p->out, four, 4);
        }
        gpuc_buf_str(p->out, "\"\n");
    }
}
