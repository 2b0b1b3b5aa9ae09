/* SPDX-License-Identifier: Apache-2.0 */
/* Names element types and parses their names. */
#include <stdio.h>
#include <string.h>

#include "base/element.h"

static const gpuc_dtype handle = {.code = GPUC_DTYPE_HANDLE, .bits = 64, .lanes = 1};

/* NULL: there is no such type. */
static const char *name_of(gpuc_dtype t)
{
    const gpuc_element *e = gpuc_element_of(t);
    return e ? e->name : gpuc_same_element(t, handle) ? "handle" : NULL;
}

bool gpuc_dtype_exists(gpuc_dtype t)
{
    return name_of(t) && t.lanes;
}

/* Of a type that does not exist, for messages: as others of its code, with its bits. */
static int name_unknown(gpuc_dtype t, char out[24])
{
    for (int i = 0; i < GPUC_NUM_ELEMENTS; i++) {
        const char *name = gpuc_elements[i].name;
        if (gpuc_elements[i].dtype.code == t.code)
            return snprintf(out, 24, "%.*s%u", (int)strcspn(name, "0123456789"), name, t.bits);
    }
    if (t.code == GPUC_DTYPE_HANDLE) return snprintf(out, 24, "handle%u", t.bits);
    return snprintf(out, 24, "code%u_%u", t.code, t.bits);
}

char *gpuc_dtype_name(gpuc_dtype t, char out[24])
{
    const char *name = name_of(t);
    int n = name ? snprintf(out, 24, "%s", name) : name_unknown(t, out);
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

/* The lanes that may follow a type's name. */
static bool parse_lanes(const char *p, gpuc_dtype t, gpuc_dtype *out)
{
    unsigned lanes = 1;
    if (*p == 'x') {
        p = parse_number(p + 1, UINT16_MAX, &lanes);
        if (!p) return false;
    }
    if (*p != 0) return false;
    t.lanes = (uint16_t)lanes;
    *out = t;
    return true;
}

bool gpuc_dtype_parse(const char *name, gpuc_dtype *out)
{
    *out = (gpuc_dtype){0};
    for (int i = 0; i < GPUC_NUM_ELEMENTS; i++) {
        size_t length = strlen(gpuc_elements[i].name);
        if (strncmp(name, gpuc_elements[i].name, length) == 0)
            return parse_lanes(name + length, gpuc_elements[i].dtype, out);
    }
    size_t length = strlen("handle");
    return strncmp(name, "handle", length) == 0 && parse_lanes(name + length, handle, out);
}
