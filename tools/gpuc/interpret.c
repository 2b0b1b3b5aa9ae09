/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a function of a Relay program in the interpreter; values come from and go to JSON with .npy files. */
#include "interpret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gpuc/relay.h>

#include "compile.h"
#include "tensor.h"
#include "text.h"

typedef struct interpretation {
    const cli_interpret *o;
    gpuc_relay_interpreter *i;
    gpuc_relay_value **args; /* per parameter */
    gpuc_relay_value *result;
    int num_params, num_files; /* files that were written */
    char *path;                /* what names the newest of them */
    const char *folder;        /* that files of JSON texts are named from; its length */
    int folder_length;
} interpretation;

/* ---- Inputs ---- */

static bool ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), k = strlen(end);
    return n >= k && strcmp(path + n - k, end) == 0;
}

static gpuc_status load(void *user, const char *name, gpuc_host_tensor *out)
{
    const interpretation *r = user;
    char *path =
        *name == '/' ? cli_printf("%s", name) : cli_printf("%.*s%s", r->folder_length, r->folder, name);
    gpuc_status status = cli_tensor_load(path, out);
    free(path);
    return status;
}

static void free_text(void *text)
{
    cli_text_free(text);
}

static gpuc_relay_value *read_json(gpuc_ctx *ctx, interpretation *r, int param, const char *path)
{
    cli_text text = {0};
    gpuc_status status = cli_text_read(&text, path);
    if (status) cli_text_free(&text);
    GPUC_RAISE_IF(ctx, status);
    const char *slash = strrchr(path, '/');
    r->folder = path;
    r->folder_length = slash ? (int)(slash - path) + 1 : 0;
    gpuc_ctx_push_cleanup(ctx, free_text, &text);
    gpuc_relay_value *v = gpuc_relay_read_json(r->i, r->o->entry, param, cli_text_get(&text), path, load, r);
    gpuc_ctx_pop_cleanup(ctx, true);
    return v;
}

static gpuc_relay_value *read_tensor(gpuc_ctx *ctx, const interpretation *r, const char *path)
{
    gpuc_host_tensor t;
    GPUC_RAISE_IF(ctx, cli_tensor_load(path, &t));
    gpuc_ctx_push_cleanup(ctx, (void (*)(void *))gpuc_host_tensor_deinit, &t);
    gpuc_relay_value *v = gpuc_relay_make_tensor(r->i, t.dtype, t.ndim, t.dims, t.data);
    gpuc_ctx_pop_cleanup(ctx, true);
    return v;
}

static void read_input(gpuc_ctx *ctx, const gpuc_rmodule *m, interpretation *r, const char *input)
{
    const char *path = strchr(input, '=') + 1;
    size_t length = (size_t)(path - input) - 1;
    int k = 0;
    for (; k < r->num_params; k++) {
        const char *name = gpuc_rmodule_param_name(m, r->o->entry, k);
        if (strlen(name) == length && strncmp(name, input, length) == 0) break;
    }
    if (k == r->num_params)
        gpuc_raise(ctx, GPUC_NOT_FOUND, "@%s has no parameter '%.*s'", r->o->entry, (int)length, input);
    if (r->args[k]) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "'%.*s' is given twice", (int)length, input);
    r->args[k] = ends_in(path, ".json") ? read_json(ctx, r, k, path) : read_tensor(ctx, r, path);
}

static void read_inputs(gpuc_ctx *ctx, const gpuc_rmodule *m, interpretation *r)
{
    for (int i = 0; i < r->o->inputs->count; i++) read_input(ctx, m, r, r->o->inputs->at[i]);
    for (int k = 0; k < r->num_params; k++)
        if (!r->args[k])
            gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "the input '%s' is missing: give --input %s=FILE",
                       gpuc_rmodule_param_name(m, r->o->entry, k),
                       gpuc_rmodule_param_name(m, r->o->entry, k));
}

/* ---- The result ---- */

static gpuc_status store(void *user, const gpuc_relay_value *v, const char **path)
{
    interpretation *r = user;
    gpuc_host_tensor t = {.dtype = gpuc_relay_value_dtype(v),
                          .ndim = gpuc_relay_value_ndim(v),
                          .size = gpuc_relay_value_bytes(v),
                          .data = (void *)gpuc_relay_value_data(v)};
    for (int d = 0; d < t.ndim; d++) t.dims[d] = gpuc_relay_value_dims(v)[d];
    t.count = t.size / gpuc_dtype_bytes(t.dtype);
    free(r->path);
    r->path = cli_printf("output_%d.npy", r->num_files++);
    char *file = cli_printf("%s/%s", r->o->output, r->path);
    gpuc_status status = gpuc_npy_write(cli_pending, &t, file);
    free(file);
    *path = r->path;
    return status;
}

static void write_result(gpuc_ctx *ctx, interpretation *r)
{
    const char *folder = r->o->output;
    if (folder) GPUC_RAISE_IF(ctx, gpuc_dir_make(folder));
    const char *json = gpuc_relay_value_json(ctx, r->result, folder ? store : NULL, r);
    puts(json);
    if (!folder) return;
    char *path = cli_printf("%s/result.json", folder);
    gpuc_status status = gpuc_file_put(cli_pending, path, json, strlen(json));
    free(path);
    GPUC_RAISE_IF(ctx, status);
}

static void interpret(gpuc_ctx *ctx, void *arg)
{
    interpretation *r = arg;
    const cli_interpret *o = r->o;
    cli_text text = {0};
    gpuc_status status = cli_text_read(&text, o->program);
    if (status) cli_text_free(&text);
    GPUC_RAISE_IF(ctx, status);
    gpuc_ctx_push_cleanup(ctx, free_text, &text);
    gpuc_rmodule *m = gpuc_relay_parse(ctx, cli_text_get(&text), o->program, NULL);
    gpuc_ctx_pop_cleanup(ctx, true);
    gpuc_relay_interpreter_desc desc = GPUC_RELAY_INTERPRETER_DESC_INIT;
    desc.max_bytes = o->memory;
    r->i = gpuc_relay_interpreter_create(ctx, m, &desc);
    int n = gpuc_rmodule_num_params(m, o->entry);
    r->args = cli_alloc(sizeof(gpuc_relay_value *) * (size_t)(n + 1));
    r->num_params = n;
    read_inputs(ctx, m, r);
    r->result = gpuc_relay_interpret(r->i, o->entry, n, r->args);
    write_result(ctx, r);
}

gpuc_status cli_interpret_run(const cli_interpret *o)
{
    interpretation r = {.o = o};
    gpuc_ctx *ctx = NULL;
    cli_runtime runtime;
    gpuc_status status = cli_runtime_init(&runtime, &(cli_runtime_options){.no_devices = true});
    if (!status) status = cli_ctx_create(&runtime, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, interpret, &r);
    for (int k = 0; k < r.num_params; k++) gpuc_relay_value_release(r.args[k]);
    gpuc_relay_value_release(r.result);
    free(r.args);
    free(r.path);
    gpuc_ctx_destroy(ctx);
    cli_runtime_deinit(&runtime);
    return status;
}
