/* SPDX-License-Identifier: Apache-2.0 */
#include "bind.h"

#include <stdlib.h>
#include <string.h>

gpuc_onnx_bind cli_bind(const char *name, const cli_tensor *t)
{
    return (gpuc_onnx_bind){
        .name = name, .dtype = t->dtype, .ndim = t->ndim, .dims = t->dims, .data = t->data};
}

/* Names may hold '=', too: the longest that the model has counts. */
static const cli_onnx_input *split(const cli_onnx_model *m, const char *text, const char **file)
{
    const cli_onnx_input *found = NULL;
    for (const char *eq = strchr(text, '='); eq; eq = strchr(eq + 1, '=')) {
        char *name = cli_printf("%.*s", (int)(eq - text), text);
        const cli_onnx_input *in = cli_onnx_find_input(m, name);
        free(name);
        if (!in) continue;
        found = in;
        *file = eq + 1;
    }
    return found;
}

static gpuc_status load(const cli_onnx_model *m, const char *text, cli_binds *out)
{
    const char *file = NULL;
    const cli_onnx_input *in = split(m, text, &file);
    if (!in) {
        char *name = cli_printf("%.*s", (int)strcspn(text, "="), text);
        gpuc_status status = cli_onnx_unknown_name(m, "--bind", name, false);
        free(name);
        return status;
    }
    cli_tensor *t = &out->tensors[out->count];
    GPUC_TRY(cli_tensor_load(file, t));
    free(t->name);
    t->name = cli_printf("%s", in->name); /* the model's own goes with it */
    out->at[out->count++] = cli_bind(t->name, t);
    return NULL;
}

gpuc_status cli_binds_load(const cli_onnx_model *m, const cli_strings *texts, cli_binds *out)
{
    *out = (cli_binds){0};
    out->at = cli_alloc((size_t)texts->count * sizeof *out->at);
    out->tensors = cli_alloc((size_t)texts->count * sizeof *out->tensors);
    gpuc_status status = NULL;
    for (int i = 0; i < texts->count && !status; i++) status = load(m, texts->at[i], out);
    return status;
}

void cli_binds_free(cli_binds *binds)
{
    for (int i = 0; i < binds->count; i++) cli_tensor_free(&binds->tensors[i]);
    free(binds->tensors);
    free(binds->at);
    *binds = (cli_binds){0};
}
