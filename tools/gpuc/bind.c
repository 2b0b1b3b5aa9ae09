/* SPDX-License-Identifier: Apache-2.0 */
/* Reads --bind and --shape: values of inputs, and sizes of inputs and dimensions. */
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

/* ---- Shapes: a name is that of an input or, with one number, of a symbolic dimension ---- */

static bool has_symbol(const cli_onnx_model *m, const char *name)
{
    for (int i = 0; i < m->num_inputs; i++)
        for (int d = 0; d < m->inputs[i].ndim; d++)
            if (m->inputs[i].dims[d] < 0 && strcmp(m->inputs[i].dim_names[d], name) == 0) return true;
    return false;
}

static gpuc_status make_pins(const cli_onnx_model *m, const cli_shapes *shapes, gpuc_shape_pin *pins)
{
    for (int i = 0; i < shapes->count; i++) {
        const cli_shape *s = &shapes->at[i];
        bool input = cli_onnx_find_input(m, s->name) != NULL, dim = !input && has_symbol(m, s->name);
        pins[i] = (gpuc_shape_pin){.name = s->name, .ndim = s->ndim, .dims = s->dims, .is_dim = dim};
        if (!input && !dim) return cli_onnx_unknown_name(m, "--shape", s->name, true);
        if (dim && s->ndim != 1)
            return gpuc_fail(GPUC_INVALID_ARGUMENT,
                             "--shape %s: a symbolic dimension takes one number, not %d", s->name, s->ndim);
    }
    return NULL;
}

gpuc_status cli_fix_inputs(const char *model, const cli_shapes *shapes, const cli_strings *binds,
                           cli_fixed *out)
{
    cli_onnx_model m;
    *out =
        (cli_fixed){.pins = cli_alloc((size_t)shapes->count * sizeof *out->pins), .num_pins = shapes->count};
    if (shapes->count == 0 && binds->count == 0) return NULL;
    GPUC_TRY(cli_onnx_inspect(model, true, &m));
    gpuc_status status = make_pins(&m, shapes, out->pins);
    if (!status) status = cli_binds_load(&m, binds, &out->binds);
    cli_onnx_free(&m);
    return status;
}

void cli_fixed_free(cli_fixed *f)
{
    free(f->pins);
    cli_binds_free(&f->binds);
    *f = (cli_fixed){0};
}
