/* SPDX-License-Identifier: Apache-2.0 */
/* Tests and prints sets of element types. */
#include <gpuc/dtypes.h>

#include "base/ctx.h"
#include "base/element.h"

_Static_assert((int)GPUC_DTYPE_COUNT == (int)GPUC_NUM_ELEMENTS, "a bit for each element type");

const gpuc_dtype gpuc_dtype_list[GPUC_DTYPE_COUNT] = {
#define GPUC_ELEMENT(name, of, width, ...) {.code = GPUC_DTYPE_##of, .bits = width, .lanes = 1},
#include "base/elements.def"
#undef GPUC_ELEMENT
};

bool gpuc_dtypes_have(gpuc_dtypes set, gpuc_dtype t)
{
    for (int i = 0; i < GPUC_DTYPE_COUNT; i++)
        if (set >> i & 1 && gpuc_dtype_equal(gpuc_dtype_list[i], t)) return true;
    return false;
}

const char *gpuc_dtypes_text(gpuc_ctx *ctx, gpuc_dtypes set)
{
    static const struct {
        gpuc_dtypes set;
        const char *name;
    } groups[] = {
        {GPUC_T_INTS, "integers"},
        {GPUC_T_SINTS, "signed integers"},
        {GPUC_T_UINTS, "unsigned integers"},
        {GPUC_T_FLOATS, "floats"},
        {GPUC_T_BOOL, "bools"},
    };
    const char *parts[GPUC_DTYPE_COUNT], *out = "";
    int n = 0;
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        if ((set & groups[g].set) != groups[g].set) continue;
        parts[n++] = groups[g].name;
        set &= ~groups[g].set;
    }
    for (int i = 0; i < GPUC_DTYPE_COUNT; i++) {
        char name[24];
        if (set >> i & 1) parts[n++] = gpuc_ctx_strdup(ctx, gpuc_dtype_name(gpuc_dtype_list[i], name));
    }
    for (int i = 0; i < n; i++)
        out = gpuc_ctx_printf(ctx, "%s%s%s", out, i == 0 ? "" : i == n - 1 ? " or " : ", ", parts[i]);
    return out;
}
