/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a package on inputs: gpuc run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "inputs.h"
#include "interpret.h"
#include "json.h"

enum {
    OPT_FORMAT = CLI_LONG,
    OPT_REPEAT,
    OPT_CHECK,
    OPT_THREADS,
    OPT_VALIDATION,
    OPT_STAGING,
    OPT_JSON,
    OPT_INTERPRET,
    OPT_ENTRY,
    OPT_MEMORY
};

static const cli_option options[] = {
    {"device", 'd', "D",
     "run there: vulkan, opencl, cpu, or with a number vulkan:1; default: the first program of the "
     "package whose device is here"},
    CLI_INPUT_OPTIONS,
    {"output", 'o', "DIR", "write output_J.npy, in the order of the model's outputs, and names.json"},
    {"format", OPT_FORMAT, "npy|pb", "of the files in the output folder; default npy"},
    {"repeat", OPT_REPEAT, "N", "run N times and print the times"},
    {"threads", OPT_THREADS, "N", "of the CPU device; default one per processor"},
    {"check", OPT_CHECK, NULL, "verify the checksum of the weights as well"},
    {"validation", OPT_VALIDATION, NULL,
     "Vulkan: turn the validation layer on; its messages make the exit code 1"},
    {"staging", OPT_STAGING, NULL,
     "Vulkan: copy as to a card with memory of its own, even where memory is unified"},
    {"json", OPT_JSON, NULL, "print the summary as JSON"},
    {"interpret", OPT_INTERPRET, NULL,
     "the file is a Relay program: walk it slowly, print the result as JSON; inputs are .json, .npy or .pb"},
    {"entry", OPT_ENTRY, "NAME", "with --interpret: the function to call; default main"},
    {"memory", OPT_MEMORY, "SIZE", "with --interpret: what values may take together; default 4G"},
    {"verbose", 'v', NULL, "say more"},
};

typedef struct run_options {
    const char *package, *device, *output, *format;
    cli_input_options inputs;
    int repeat;
    bool check, json, interpret;
    cli_runtime_options runtime;
    const char *entry;
    uint64_t memory;
} run_options;

static void print_fallback(gpuc_model *model)
{
    const char *reason = gpuc_model_fallback_reason(model);
    if (*reason)
        cli_note("running target '%s', since the programs before it cannot run: %s", gpuc_model_target(model),
                 reason);
}

static gpuc_status write_output(const run_options *o, int i, gpuc_host_tensor *t, const char *name)
{
    bool pb = strcmp(o->format, "pb") == 0;
    char *path = cli_printf("%s/output_%d.%s", o->output, i, o->format);
    if (pb) t->name = cli_printf("%s", name);
    gpuc_status status = pb ? gpuc_pb_write(cli_pending, t, path) : gpuc_npy_write(cli_pending, t, path);
    free(path);
    return status;
}

static gpuc_status write_names(const run_options *o, gpuc_model *model)
{
    cli_json j;
    cli_json_init(&j);
    cli_json_array(&j, NULL);
    for (int i = 0; i < gpuc_model_num_outputs(model); i++)
        cli_json_string(&j, NULL, gpuc_model_output(model, i).name);
    cli_json_end_array(&j);
    cli_text_add(&j.text, "\n");
    char *path = cli_printf("%s/names.json", o->output);
    gpuc_status status = gpuc_file_put(cli_pending, path, j.text.at, j.text.size);
    free(path);
    cli_json_deinit(&j);
    return status;
}

static gpuc_status time_runs(const run_options *o, gpuc_session *s, double *times, cli_progress *progress)
{
    for (int i = 0; i < o->repeat; i++) {
        if (o->repeat > 1) cli_progress_show(progress, "run", i + 1, o->repeat);
        double start = cli_now();
        GPUC_TRY(gpuc_session_run(s));
        GPUC_TRY(gpuc_session_sync(s));
        times[i] = cli_now() - start;
    }
    return NULL;
}

static void json_output(cli_json *j, int i, const char *name, const gpuc_host_tensor *t)
{
    char dtype[24], *summary = cli_tensor_summary(t);
    cli_json_object(j, NULL);
    cli_json_int(j, "index", i);
    cli_json_string(j, "name", name);
    cli_json_string(j, "dtype", gpuc_dtype_name(t->dtype, dtype));
    cli_json_dims(j, "shape", t->ndim, t->dims, NULL);
    cli_json_string(j, "summary", summary);
    cli_json_end_object(j);
    free(summary);
}

static void print_output(int i, const char *name, const gpuc_host_tensor *t)
{
    char *type = cli_tensor_type_text(t), *summary = cli_tensor_summary(t);
    printf("output %d '%s' %s: %s\n", i, name, type, summary);
    free(type);
    free(summary);
}

static gpuc_status show_outputs(const run_options *o, gpuc_model *model, gpuc_session *s, cli_json *j)
{
    cli_json_array(j, "outputs");
    for (int i = 0; i < gpuc_model_num_outputs(model); i++) {
        gpuc_host_tensor t;
        const char *name = gpuc_model_output(model, i).name;
        GPUC_TRY(gpuc_error_prefix(cli_session_get(s, i, &t), "output '%s'", name));
        if (o->json)
            json_output(j, i, name, &t);
        else
            print_output(i, name, &t);
        gpuc_status status = o->output ? write_output(o, i, &t, name) : NULL;
        gpuc_host_tensor_deinit(&t);
        GPUC_TRY(status);
    }
    cli_json_end_array(j);
    return o->output ? write_names(o, model) : NULL;
}

static void show_times(const run_options *o, double *times, cli_json *j)
{
    char median[32], min[32];
    double middle = cli_median(times, o->repeat), fastest = times[0];
    cli_json_object(j, "seconds");
    cli_json_int(j, "runs", o->repeat);
    cli_json_number(j, "median", middle);
    cli_json_number(j, "min", fastest);
    cli_json_end_object(j);
    if (o->repeat > 1 && !o->json)
        printf("%d runs: median %s, min %s\n", o->repeat, cli_time_text(middle, median),
               cli_time_text(fastest, min));
}

static gpuc_status run_session(const run_options *o, gpuc_runtime *rt, gpuc_model *model,
                               const gpuc_host_tensor *inputs, gpuc_session *s, cli_progress *progress)
{
    for (int i = 0; i < gpuc_model_num_inputs(model); i++) GPUC_TRY(cli_session_set(rt, s, i, &inputs[i]));
    double *times = cli_alloc((size_t)o->repeat * sizeof *times);
    cli_progress_show(progress, "running", 0, 0);
    gpuc_status status = time_runs(o, s, times, progress);
    cli_progress_end(progress);
    cli_json j;
    cli_json_init(&j);
    cli_json_object(&j, NULL);
    cli_json_string(&j, "device", cli_device_text(gpuc_model_device(model), GPUC_ATTR_NAME));
    cli_json_string(&j, "target", gpuc_model_target(model));
    cli_json_string(&j, "fallback", gpuc_model_fallback_reason(model));
    if (!status && o->output) status = gpuc_dir_make(o->output);
    if (!status) status = show_outputs(o, model, s, &j);
    if (!status) show_times(o, times, &j);
    cli_json_end_object(&j);
    if (!status && o->json) cli_json_print(&j, stdout);
    cli_json_deinit(&j);
    free(times);
    return status;
}

static gpuc_status run_model(const run_options *o, cli_runtime *r, cli_progress *progress)
{
    gpuc_device *dev;
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    gpuc_model *model;
    gpuc_session *session = NULL;
    gpuc_host_tensor *inputs = NULL;
    GPUC_TRY(cli_open_device(r, o->device, &dev));
    desc.path = o->package;
    desc.device = dev;
    desc.allow_native_code = true;
    desc.check_weights = o->check;
    GPUC_TRY(gpuc_model_load(r->rt, &desc, &model));
    cli_progress_clear(progress);
    print_fallback(model);
    if (r->verbose)
        cli_note("target '%s' on '%s' (%s)", gpuc_model_target(model),
                 cli_device_text(gpuc_model_device(model), GPUC_ATTR_NAME),
                 cli_device_text(gpuc_model_device(model), GPUC_ATTR_DRIVER));
    gpuc_status status = cli_inputs_gather(model, &o->inputs, &inputs);
    if (!status) status = gpuc_session_create(model, &session);
    if (!status) status = run_session(o, r->rt, model, inputs, session, progress);
    gpuc_session_release(session);
    cli_inputs_free(inputs, gpuc_model_num_inputs(model));
    gpuc_model_release(model);
    return status;
}

/* An option that is given and does nothing for a program; NULL: none. */
static const char *needs_package(const run_options *o)
{
    const struct {
        const char *name;
        bool given;
    } rows[] = {{"--device", o->device},
                {"--inputs", o->inputs.from},
                {"--random", o->inputs.random},
                {"--shape", o->inputs.shapes.count > 0},
                {"--format pb", strcmp(o->format, "npy") != 0},
                {"--repeat", o->repeat != 1},
                {"--threads", o->runtime.threads > 0},
                {"--check", o->check},
                {"--validation", o->runtime.validation},
                {"--staging", o->runtime.staging},
                {"--json", o->json}};
    for (size_t i = 0; i < CLI_COUNT(rows); i++)
        if (rows[i].given) return rows[i].name;
    return NULL;
}

static void parse(const cli_command *c, int argc, char **argv, run_options *o)
{
    const char *value;
    for (int key; (key = cli_next(c, argc, argv, &value)) != -1;) {
        if (cli_inputs_option(c, key, value, &o->inputs)) continue;
        switch (key) {
        case 'd': o->device = value; break;
        case 'o': o->output = value; break;
        case OPT_FORMAT:
            if (strcmp(value, "npy") != 0 && strcmp(value, "pb") != 0)
                cli_usage(c, "--format is npy or pb, not '%s'", value);
            o->format = value;
            break;
        case OPT_REPEAT: o->repeat = (int)cli_int(c, "--repeat", value, 1, 1000000); break;
        case OPT_THREADS: o->runtime.threads = (int)cli_int(c, "--threads", value, 1, 4096); break;
        case OPT_CHECK: o->check = true; break;
        case OPT_VALIDATION: o->runtime.validation = true; break;
        case OPT_STAGING: o->runtime.staging = true; break;
        case OPT_JSON: o->json = true; break;
        case OPT_INTERPRET: o->interpret = true; break;
        case OPT_ENTRY: o->entry = value; break;
        case OPT_MEMORY: o->memory = (uint64_t)cli_bytes(c, "--memory", value); break;
        case 'v': o->runtime.verbose = true; break;
        }
    }
    o->package = cli_only_operand(c, argc, argv, "package");
    const char *useless = o->interpret ? needs_package(o) : NULL;
    if (useless) cli_usage(c, "%s is for packages, and not for --interpret", useless);
    if (!o->interpret && (o->entry || o->memory)) cli_usage(c, "--entry and --memory need --interpret");
}

static int run_interpreter(const run_options *o)
{
#ifdef GPUC_CLI_COMPILER
    cli_interpret i = {.program = o->package,
                       .entry = o->entry ? o->entry : "main",
                       .inputs = &o->inputs.files,
                       .output = o->output,
                       .memory = o->memory};
    return cli_report(cli_interpret_run(&i));
#else
    (void)o;
    cli_error("--interpret needs the compiler, which this gpuc was built without (GPUC_COMPILER=OFF)");
    return 2;
#endif
}

static int run(const cli_command *c, int argc, char **argv)
{
    run_options o = {.format = "npy", .repeat = 1};
    parse(c, argc, argv, &o);
    if (o.interpret) {
        int result = run_interpreter(&o);
        cli_strings_free(&o.inputs.files);
        cli_shapes_free(&o.inputs.shapes);
        return result;
    }
    cli_runtime r;
    gpuc_status status = cli_runtime_init(&r, &o.runtime);
    cli_progress progress;
    cli_progress_start(&progress, "loading the package");
    if (!status) status = run_model(&o, &r, &progress);
    cli_progress_end(&progress);
    int code = cli_report(status);
    cli_runtime_deinit(&r);
    cli_strings_free(&o.inputs.files);
    cli_shapes_free(&o.inputs.shapes);
    return cli_validation_result(&r, code);
}

const cli_command cli_run_command = {
    .name = "run",
    .operands = "PKG [--device D] [--input NAME=FILE]... [--inputs DIR|X.npz] [--random SEED] [--output DIR]",
    .about = "run a package",
    .details =
        "Random inputs come from splitmix64, one step per element, input J starting at\n"
        "SEED + J * 0xd1342543de82ef95: floats uniform in [-1, 1), integers in 0..7, bools 0 or 1.\n"
        "names.json is the list of the outputs' names.\n"
        "With --interpret: JSON has a tuple as an array, data as {\"Constructor\": [fields]}, a list as\n"
        "{\"List\": [elements]}, a scalar as a number, a tensor as \"file.npy\" or arrays of numbers. DIR "
        "gets\n"
        "result.json and output_J.npy.\n",
    .options = options,
    .num_options = CLI_COUNT(options),
    .run = run,
};
