/* SPDX-License-Identifier: Apache-2.0 */
/* Operators by name and by the opset from which a definition holds. Where two opsets differ only in where a
 * number comes from (attribute or input), one converter reads both. */
#include <string.h>

#include "base/file.h"
#include "onnx/onnx.h"

static const gpuc_onnx_row *const families[] = {
#define GPUC_ONNX_FAMILY(name) gpuc_onnx_rows_##name,
#include "onnx/families.def"
#undef GPUC_ONNX_FAMILY
};
enum { FAMILIES = sizeof families / sizeof families[0] };

const char *gpuc_onnx_domain(const char *domain)
{
    return !domain || !strcmp(domain, "ai.onnx") ? "" : domain;
}

const gpuc_onnx_row *gpuc_onnx_find(const char *op_type, int64_t opset)
{
    const gpuc_onnx_row *best = NULL;
    for (size_t i = 0; i < FAMILIES; i++)
        for (const gpuc_onnx_row *row = families[i]; row->op_type; row++)
            if (!strcmp(row->op_type, op_type) && row->from <= opset && (!best || row->from > best->from))
                best = row;
    return best;
}

const char *gpuc_onnx_nearest(gpuc_ctx *ctx, const char *op_type)
{
    size_t count = 0, capacity = 0;
    const char **names = NULL;
    for (size_t i = 0; i < FAMILIES; i++) {
        for (const gpuc_onnx_row *row = families[i]; row->op_type; row++) {
            names = gpuc_ctx_grow(ctx, names, count, &capacity, sizeof *names);
            names[count++] = row->op_type;
        }
    }
    return gpuc_suggest(op_type, names, count);
}
