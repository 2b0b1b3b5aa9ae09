/* SPDX-License-Identifier: Apache-2.0 */
/* Reads --bind and --shape: values of inputs, and sizes of inputs and dimensions. */
#include "bind.h"

#include <stdlib.h>
#include <string.h>

#include "compile.h"
#include "text.h"

typedef struct describe_arg {
    const char *path;
    const gpuc_onnx_description *out;
} describe_arg;

static void describe_body(gpuc_ctx *ctx, void *arg)
{
    describe_arg *a = arg;
    if (cli_is_relay(a->path))
        gpuc_raise(ctx, GPUC_UNSUPPORTED,
                   "%s: --shape and --bind are for ONNX models: write the sizes in the program", a->path);
    a->out = gpuc_onnx_describe(ctx, a->path);
}

gpuc_status cli_onnx_describe(gpuc_ctx *ctx, const char *path, const gpuc_onnx_description **out)
{
    describe_arg arg = {.path = path};
    gpuc_status status = gpuc_ctx_protect(ctx, describe_body, &arg);
    *out = arg.out;
    return status;
}

const gpuc_onnx_value *cli_onnx_find_input(const gpuc_onnx_description *m, const char *name)
{
    for (int i = 0; i < m->num_inputs; i++)
        if (strcmp(m->inputs[i].name, name) == 0) return &m->inputs[i];
    return NULL;
}

/* The error for a name that an option gives, with the inputs there are, and symbolic dimensions where they
 * would do. */
static gpuc_status unknown_name(const gpuc_onnx_description *m, const char *option, const char *name,
                                bool dims_too)
{
    const char **names = NULL;
    size_t count = 0;
    cli_text list = {0};
    for (int i = 0; i < m->num_inputs; i++) {
        char *dims = cli_dims_text(m->inputs[i].ndim, m->inputs[i].dims, m->inputs[i].dim_names);
        cli_text_printf(&list, "%s%s[%s]", i ? ", " : "", m->inputs[i].name, dims);
        free(dims);
        names = cli_grow(names, count, sizeof *names);
        names[count++] = m->inputs[i].name;
        for (int d = 0; dims_too && d < m->inputs[i].ndim; d++) {
            names = cli_grow(names, count, sizeof *names);
            names[count++] = m->inputs[i].dim_names[d];
        }
    }
    const char *near = gpuc_suggest(name, names, count);
    gpuc_status status =
        gpuc_fail(GPUC_INVALID_ARGUMENT, "%s names '%s', which is no input%s%s%s%s; the inputs are %s",
                  option, name, dims_too ? " and no symbolic dimension" : "", near ? "; did you mean '" : "",
                  near ? near : "", near ? "'?" : "", count ? cli_text_get(&list) : "none");
    cli_text_free(&list);
    free(names);
    return status;
}

gpuc_onnx_bind cli_bind(const char *name, const gpuc_host_tensor *t)
{
    return (gpuc_onnx_bind){
        .name = name, .dtype = t->dtype, .ndim = t->ndim, .dims = t->dims, .data = t->data};
}

/* Names may hold '=', too: the longest that the model has counts. */
static const gpuc_onnx_value *split(const gpuc_onnx_description *m, const char *text, const char **file)
{
    const gpuc_onnx_value *found = NULL;
    for (const char *eq = strchr(text, '='); eq; eq = strchr(eq + 1, '=')) {
        char *name = cli_printf("%.*s", (int)(eq - text), text);
        const gpuc_onnx_value *in = cli_onnx_find_input(m, name);
        free(name);
        if (!in) continue;
        found = in;
        *file = eq + 1;
    }
    return found;
}

static gpuc_status load(const gpuc_onnx_description *m, const char *text, cli_binds *out)
{
    const char *file = NULL;
    const gpuc_onnx_value *in = split(m, text, &file);
    if (!in) {
        char *name = cli_printf("%.*s", (int)strcspn(text, "="), text);
        gpuc_status status = unknown_name(m, "--bind", name, false);
        free(name);
        return status;
    }
    gpuc_host_tensor *t = &out->tensors[out->count];
    GPUC_TRY(cli_tensor_load(file, t));
    free(t->name);
    t->name = cli_printf("%s", in->name); /* the model's own goes with it */
    out->at[out->count++] = cli_bind(t->name, t);
    return NULL;
}

static gpuc_status load_binds(const gpuc_onnx_description *m, const cli_strings *texts, cli_binds *out)
{
    *out = (cli_binds){0};
    out->at = cli_alloc((size_t)texts->count * sizeof *out->at);
    out->tensors = cli_alloc((size_t)texts->count * sizeof *out->tensors);
    gpuc_status status = NULL;
    for (int i = 0; i < texts->count && !status; i++) status = load(m, texts->at[i], out);
    return status;
}

static void free_binds(cli_binds *binds)
{
    for (int i = 0; i < binds->count; i++) gpuc_host_tensor_deinit(&binds->tensors[i]);
    free(binds->tensors);
    free(binds->at);
    *binds = (cli_binds){0};
}

/* ---- Shapes: a name is that of an input or, with one number, of a symbolic dimension ---- */

static bool has_symbol(const gpuc_onnx_description *m, const char *name)
{
    for (int i = 0; i < m->num_inputs; i++)
        for (int d = 0; d < m->inputs[i].ndim; d++)
            if (m->inputs[i].dims[d] < 0 && strcmp(m->inputs[i].dim_names[d], name) == 0) return true;
    return false;
}

static gpuc_status make_pins(const gpuc_onnx_description *m, const cli_shapes *shapes, gpuc_shape_pin *pins)
{
    for (int i = 0; i < shapes->count; i++) {
        const cli_shape *s = &shapes->at[i];
        bool input = cli_onnx_find_input(m, s->name) != NULL, dim = !input && has_symbol(m, s->name);
        pins[i] = (gpuc_shape_pin){.name = s->name, .ndim = s->ndim, .dims = s->dims, .is_dim = dim};
        if (!input && !dim) return unknown_name(m, "--shape", s->name, true);
        if (dim && s->ndim != 1)
            return gpuc_fail(GPUC_INVALID_ARGUMENT,
                             "--shape %s: a symbolic dimension takes one number, not %d", s->name, s->ndim);
    }
    return NULL;
}

gpuc_status cli_fix_inputs(cli_runtime *r, const char *model, const cli_shapes *shapes,
                           const cli_strings *binds, cli_fixed *out)
{
    gpuc_ctx *ctx;
    const gpuc_onnx_description *m;
    *out =
        (cli_fixed){.pins = cli_alloc((size_t)shapes->count * sizeof *out->pins), .num_pins = shapes->count};
    if (shapes->count == 0 && binds->count == 0) return NULL;
    GPUC_TRY(cli_ctx_create(r, &ctx));
    gpuc_status status = cli_onnx_describe(ctx, model, &m);
    if (!status) status = make_pins(m, shapes, out->pins);
    if (!status) status = load_binds(m, binds, &out->binds);
    gpuc_ctx_destroy(ctx);
    return status;
}

void cli_fixed_free(cli_fixed *f)
{
    free(f->pins);
    free_binds(&f->binds);
    *f = (cli_fixed){0};
}
