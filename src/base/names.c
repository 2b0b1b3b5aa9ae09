/* SPDX-License-Identifier: Apache-2.0 */
/* Translates old names into present ones, and back. */
#include "base/names.h"

#include <string.h>

static const struct {
    const char *of, *old, *now;
} names[] = {
#define GPUC_OLD_NAME(of, old, now) {of, old, now},
#include "base/names.def"
};

static const struct {
    const char *name, *value;
} new_attrs[] = {
#define GPUC_NEW_ATTR(name, value) {name, value},
#include "base/names.def"
};

enum { COUNT = sizeof names / sizeof *names };

const char *gpuc_names_now(const char *of, const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(names[i].of, of) && !strcmp(names[i].old, name)) return names[i].now;
    return name;
}

const char *gpuc_names_first(const char *of, const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(names[i].of, of) && !strcmp(names[i].now, name)) return names[i].old;
    return name;
}

bool gpuc_names_is_new(const char *attr, const char *value)
{
    for (size_t i = 0; i < sizeof new_attrs / sizeof *new_attrs; i++)
        if (!strcmp(new_attrs[i].name, attr) && !strcmp(new_attrs[i].value, value)) return true;
    return false;
}

void gpuc_names_target(gpuc_buf *out, const char *text)
{
    char name[64];
    while (*text) {
        size_t n = strcspn(text, " ") + strspn(text + strcspn(text, " "), " "), length = strcspn(text, "= ");
        if (*text == '-' && length < sizeof name) {
            memcpy(name, text + 1, length - 1);
            name[length - 1] = 0;
            gpuc_buf_printf(out, "-%s", gpuc_names_now("target", name));
            text += length, n -= length;
        }
        gpuc_buf_bytes(out, text, n);
        text += n;
    }
}
