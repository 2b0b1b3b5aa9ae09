/* SPDX-License-Identifier: Apache-2.0 */
/* The reference program runs first and keeps the outputs of its operators. Then the program under test runs,
 * operator by operator; each output is compared and replaced by that of the reference, so that every operator
 * starts from the same numbers and the first difference is its own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "compare.h"
#include "compare/nodes.h"
#include "inputs.h"

enum { OPT_WITH = CLI_LONG, OPT_THREADS, OPT_RTOL, OPT_ATOL, OPT_VALIDATION };

static const cli_option options[] = {
    {"device", 'd', "D", "the program to test: vulkan, opencl, cpu, or with a number vulkan:1; needed"},
    {"with", OPT_WITH, "D", "the program to compare with; default c"},
    CLI_INPUT_OPTIONS,
    {"output", 'o', "DIR", "where an operator that differs is written; default gpuc-compare"},
    {"rtol", OPT_RTOL, "X", "relative tolerance of floats; default 1e-3 (16-bit floats: 1e-2)"},
    {"atol", OPT_ATOL, "X",
     "absolute tolerance; default 1e-4 (16-bit floats: 1e-2) of an output's root mean square"},
    {"threads", OPT_THREADS, "N", "of the CPU device; default one per processor"},
    {"validation", OPT_VALIDATION, NULL,
     "Vulkan: turn the validation layer on; its messages make the exit code 1"},
    {"verbose", 'v', NULL, "a line for every operator"},
};

typedef struct compare_options {
    const char *package, *device, *with, *output;
    double rtol, atol; /* negative: the default */
    cli_input_options inputs;
    cli_runtime_options runtime;
} compare_options;

typedef struct side {
    gpuc_model *model;
    gpuc_session *session;
} side;

typedef struct comparison {
    const compare_options *o;
    gpuc_runtime *rt;
    side test, reference;
    int *match;              /* by operator of the program under test; -1 */
    gpuc_ndarray ***outputs; /* by operator of the reference: what it gave, if something matches it */
    int compared, left_out;
    bool differs;
} comparison;

/* ---- The two programs ---- */

static gpuc_status open_side(const comparison *c, cli_runtime *r, const char *device, side *out)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = c->o->package;
    desc.allow_native_code = true;
    GPUC_TRY(cli_open_device(r, device, &desc.device));
    GPUC_TRY(gpuc_model_load(c->rt, &desc, &out->model));
    return gpuc_session_create_stepped(out->model, &out->session);
}

static void close_side(side *s)
{
    gpuc_session_release(s->session);
    gpuc_model_release(s->model);
}

static gpuc_status set_inputs(comparison *c, const gpuc_host_tensor *inputs)
{
    for (int i = 0; i < gpuc_model_num_inputs(c->test.model); i++) {
        GPUC_TRY(cli_session_set(c->rt, c->test.session, i, &inputs[i]));
        GPUC_TRY(cli_session_set(c->rt, c->reference.session, i, &inputs[i]));
    }
    return NULL;
}

/* Runs all of the reference; *out has the outputs of the operators that one under test matches. */
static gpuc_status run_reference(comparison *c)
{
    gpuc_model *m = c->reference.model;
    int count = gpuc_model_num_nodes(m), num_test = gpuc_model_num_nodes(c->test.model);
    c->outputs = cli_alloc((size_t)count * sizeof *c->outputs);
    for (int i = 0; i < count; i++) {
        gpuc_node_info n = gpuc_model_node(m, i);
        GPUC_TRY(gpuc_error_prefix(gpuc_session_run_node(c->reference.session, i), "reference, %s", n.name));
        bool wanted = false;
        for (int k = 0; k < num_test; k++) wanted |= c->match[k] == i;
        if (!wanted) continue;
        c->outputs[i] = cli_alloc((size_t)n.num_outputs * sizeof **c->outputs);
        for (int k = 0; k < n.num_outputs; k++)
            GPUC_TRY(
                gpuc_session_read_value(c->reference.session, n.values[n.num_inputs + k], &c->outputs[i][k]));
    }
    return NULL;
}

/* ---- One output ---- */

static cli_tolerance tolerance_of(const comparison *c, const gpuc_host_tensor *want)
{
    bool narrow = gpuc_dtype_is_float(want->dtype) && want->dtype.bits <= 16;
    double sum = 0;
    for (size_t i = 0; i < want->count; i++) {
        double v = cli_tensor_get(want, i);
        if (isfinite(v)) sum += v * v;
    }
    double rms = want->count ? sqrt(sum / (double)want->count) : 0;
    return (cli_tolerance){.rtol = c->o->rtol >= 0 ? c->o->rtol
                                   : narrow        ? 1e-2
                                                   : 1e-3,
                           .atol = c->o->atol >= 0 ? c->o->atol : (narrow ? 1e-2 : 1e-4) * rms,
                           .rel_l2 = -1};
}

/* A tensor over the array's bytes; not to be freed. */
static gpuc_host_tensor view_of(gpuc_ndarray *a)
{
    gpuc_host_tensor t = {.dtype = gpuc_ndarray_dtype(a),
                          .ndim = gpuc_ndarray_ndim(a),
                          .size = gpuc_ndarray_bytes(a),
                          .data = gpuc_ndarray_host(a)};
    t.count = 1;
    for (int d = 0; d < t.ndim; d++) {
        t.dims[d] = gpuc_ndarray_dims(a)[d];
        t.count *= (size_t)t.dims[d];
    }
    return t;
}

typedef enum verdict { SAME, DIFFERENT, OTHER_TYPE } verdict;

/* *text says how it differs. */
static verdict compare_output(const comparison *c, int k, gpuc_ndarray *got, gpuc_ndarray *want, char **text)
{
    gpuc_host_tensor a = view_of(got), b = view_of(want);
    cli_tolerance tolerance = tolerance_of(c, &b);
    cli_difference d;
    cli_compare(&a, &b, tolerance, &d);
    if (!d.same_type) return OTHER_TYPE;
    if (d.match) return SAME;
    char *how = cli_difference_text(&d, &a, &b, tolerance);
    *text = cli_printf("output %d %s", k, how);
    free(how);
    return DIFFERENT;
}

/* ---- What is written of an operator that differs ---- */

static gpuc_status save_array(const comparison *c, const char *kind, int k, gpuc_ndarray *a)
{
    gpuc_host_tensor t = view_of(a);
    char *path = cli_printf("%s/%s_%d.npy", c->o->output, kind, k);
    gpuc_status status = gpuc_npy_write(cli_pending, &t, path);
    free(path);
    return status;
}

static gpuc_status save_value(const comparison *c, const char *kind, int k, uint32_t value)
{
    gpuc_ndarray *a;
    GPUC_TRY(gpuc_session_read_value(c->test.session, value, &a));
    gpuc_status status = save_array(c, kind, k, a);
    gpuc_ndarray_release(a);
    return status;
}

static gpuc_status save_part(const comparison *c, int part, int *num_inputs)
{
    gpuc_node_info n = gpuc_model_node(c->test.model, part);
    for (int k = 0; k < n.num_inputs; k++) GPUC_TRY(save_value(c, "input", (*num_inputs)++, n.values[k]));
    return compare_save_kernels(c->test.model, part, c->o->output);
}

/* What an earlier operator read may be gone: the program runs again, with the reference's numbers as before. */
static gpuc_status save_earlier_parts(const comparison *c, int node)
{
    int num_inputs = 0, part = compare_next_part(c->test.model, node, -1);
    for (int i = 0; part >= 0; i++) {
        GPUC_TRY(gpuc_session_run_node(c->test.session, i));
        if (i == part) {
            GPUC_TRY(save_part(c, part, &num_inputs));
            part = compare_next_part(c->test.model, node, part);
        } else if (c->match[i] >= 0) {
            gpuc_node_info n = gpuc_model_node(c->test.model, i);
            for (int k = 0; k < n.num_outputs; k++)
                GPUC_TRY(gpuc_session_write_value(c->test.session, n.values[n.num_inputs + k],
                                                  c->outputs[c->match[i]][k]));
        }
    }
    return NULL;
}

static gpuc_status save(const comparison *c, int node, const gpuc_node_info *n)
{
    GPUC_TRY(gpuc_dir_make(c->o->output));
    for (int k = 0; k < n->num_outputs; k++) {
        GPUC_TRY(save_value(c, "output", k, n->values[n->num_inputs + k]));
        GPUC_TRY(save_array(c, "expected", k, c->outputs[c->match[node]][k]));
    }
    if (compare_next_part(c->test.model, node, -1) == node) return save_part(c, node, &(int){0});
    return save_earlier_parts(c, node);
}

/* Operators without a match that the inputs of this one come from: the mistake may be theirs. */
static void print_suspects(const comparison *c, int node, bool *told)
{
    gpuc_node_info n = gpuc_model_node(c->test.model, node);
    for (int i = 0; i < node; i++) {
        gpuc_node_info p = gpuc_model_node(c->test.model, i);
        bool feeds = false;
        for (int k = 0; k < n.num_inputs; k++)
            for (int v = 0; v < p.num_outputs; v++) feeds |= n.values[k] == p.values[p.num_inputs + v];
        if (!feeds || c->match[i] >= 0 || told[i]) continue;
        told[i] = true;
        if (compare_is_operator(c->test.model, i))
            printf("or in %s (%s), which nothing was compared with\n", p.name, p.source);
        print_suspects(c, i, told);
    }
}

static gpuc_status report(comparison *c, int node, const gpuc_node_info *n, const char *text)
{
    bool *told = cli_alloc((size_t)gpuc_model_num_nodes(c->test.model) * sizeof *told);
    c->differs = true;
    printf("operator %s\nnodes    %s\n", n->name, n->source);
    for (int part = -1; (part = compare_next_part(c->test.model, node, part)) >= 0;) {
        char *kernels = compare_kernels_text(c->test.model, part);
        printf("kernels  %s\n", kernels);
        free(kernels);
    }
    print_suspects(c, node, told);
    fflush(stdout);
    gpuc_status status = save(c, node, n);
    if (!status)
        cli_error(
            "operator '%s' (%s) is the first that differs: %s; its kernels, inputs and outputs are in '%s'",
            n->name, n->source, text, c->o->output);
    free(told);
    return status;
}

/* ---- The run ---- */

static void leave_out(comparison *c, const gpuc_node_info *n, const char *why)
{
    c->left_out++;
    printf("not compared: %s (%s): %s\n", n->name, n->source, why);
}

static gpuc_status check_node(comparison *c, int node)
{
    gpuc_node_info n = gpuc_model_node(c->test.model, node);
    gpuc_ndarray **want = c->outputs[c->match[node]];
    bool compared = true;
    for (int k = 0; k < n.num_outputs && !c->differs; k++) {
        uint32_t value = n.values[n.num_inputs + k];
        gpuc_ndarray *got;
        char *text = NULL;
        GPUC_TRY(gpuc_session_read_value(c->test.session, value, &got));
        verdict v = compare_output(c, k, got, want[k], &text);
        gpuc_status status = v == DIFFERENT ? report(c, node, &n, text) : NULL;
        if (v == SAME) status = gpuc_session_write_value(c->test.session, value, want[k]);
        compared = compared && v != OTHER_TYPE;
        gpuc_ndarray_release(got);
        free(text);
        GPUC_TRY(status);
    }
    if (!compared) {
        leave_out(c, &n, "its output has another shape in the other program");
        c->match[node] = -1;
    } else if (!c->differs) {
        c->compared++;
        if (c->o->runtime.verbose) printf("same: %s (%s)\n", n.name, n.source);
    }
    return NULL;
}

static gpuc_status run_test(comparison *c, cli_progress *progress)
{
    int count = gpuc_model_num_nodes(c->test.model);
    for (int i = 0; i < count && !c->differs; i++) {
        gpuc_node_info n = gpuc_model_node(c->test.model, i);
        cli_progress_show(progress, "operator", i + 1, count);
        GPUC_TRY(gpuc_error_prefix(gpuc_session_run_node(c->test.session, i), "%s", n.name));
        if (c->match[i] >= 0)
            GPUC_TRY(check_node(c, i));
        else if (compare_is_operator(c->test.model, i))
            leave_out(c, &n, "the other program has no operator with the same output");
    }
    cli_progress_end(progress);
    if (c->differs) return NULL;
    printf("%d operators agree, %d could not be compared: target '%s' with target '%s'\n", c->compared,
           c->left_out, gpuc_model_target(c->test.model), gpuc_model_target(c->reference.model));
    if (c->compared || !c->left_out) return NULL;
    return gpuc_fail(GPUC_UNSUPPORTED, "the two programs have no operator in common; build them with -O 1");
}

static gpuc_status run_both(comparison *c, cli_runtime *r, cli_progress *progress)
{
    gpuc_host_tensor *inputs = NULL;
    GPUC_TRY(open_side(c, r, c->o->device, &c->test));
    GPUC_TRY(open_side(c, r, c->o->with, &c->reference));
    if (strcmp(gpuc_model_target(c->test.model), gpuc_model_target(c->reference.model)) == 0)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "--device %s and --with %s are the same program; name another with --with",
                         c->o->device, c->o->with);
    c->match = compare_match(c->test.model, c->reference.model);
    gpuc_status status = cli_inputs_gather(c->test.model, &c->o->inputs, &inputs);
    if (!status) status = set_inputs(c, inputs);
    cli_progress_show(progress, "the reference", 0, 0);
    if (!status) status = run_reference(c);
    if (!status) status = run_test(c, progress);
    cli_inputs_free(inputs, gpuc_model_num_inputs(c->test.model));
    return status;
}

static void free_outputs(comparison *c)
{
    for (int i = 0; c->outputs && i < gpuc_model_num_nodes(c->reference.model); i++) {
        int count = c->outputs[i] ? gpuc_model_node(c->reference.model, i).num_outputs : 0;
        for (int k = 0; k < count; k++) gpuc_ndarray_release(c->outputs[i][k]);
        free(c->outputs[i]);
    }
    free(c->outputs);
    free(c->match);
}

static double tolerance(const cli_command *c, const char *option, const char *text)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !(v >= 0))
        cli_usage(c, "%s needs a number that is not negative, not '%s'", option, text);
    return v;
}

static void parse(const cli_command *c, int argc, char **argv, compare_options *o)
{
    const char *value;
    for (int key; (key = cli_next(c, argc, argv, &value)) != -1;) {
        if (cli_inputs_option(c, key, value, &o->inputs)) continue;
        switch (key) {
        case 'd': o->device = value; break;
        case OPT_WITH: o->with = value; break;
        case 'o': o->output = value; break;
        case OPT_RTOL: o->rtol = tolerance(c, "--rtol", value); break;
        case OPT_ATOL: o->atol = tolerance(c, "--atol", value); break;
        case OPT_THREADS: o->runtime.threads = (int)cli_int(c, "--threads", value, 1, 4096); break;
        case OPT_VALIDATION: o->runtime.validation = true; break;
        case 'v': o->runtime.verbose = true; break;
        }
    }
    o->package = cli_only_operand(c, argc, argv, "package");
    if (!o->device) cli_usage(c, "--device names the program to test");
}

static int run(const cli_command *c, int argc, char **argv)
{
    compare_options o = {.with = "c", .output = "gpuc-compare", .rtol = -1, .atol = -1};
    parse(c, argc, argv, &o);
    cli_runtime r;
    gpuc_status status = cli_runtime_init(&r, &o.runtime);
    comparison x = {.o = &o, .rt = r.rt};
    cli_progress progress;
    cli_progress_start(&progress, "loading the package");
    if (!status) status = run_both(&x, &r, &progress);
    cli_progress_end(&progress);
    int code = cli_report(status) || x.differs;
    free_outputs(&x);
    close_side(&x.test);
    close_side(&x.reference);
    cli_runtime_deinit(&r);
    cli_strings_free(&o.inputs.files);
    cli_shapes_free(&o.inputs.shapes);
    return cli_validation_result(&r, code);
}

const cli_command cli_compare_command = {
    .name = "compare",
    .operands = "PKG --device D [--with c] [--input NAME=FILE]... [--inputs DIR|X.npz] [--random SEED] "
                "[--output DIR]",
    .about = "find the first operator that computes something else on a device",
    .details =
        "PKG holds a program for both (gpuc build M --target opencl --target c). Both run, and each "
        "operator\n"
        "starts from the reference's numbers. The first that differs is named, and DIR gets its kernels "
        "(*.spv,\n"
        "*.cl; *.so of the CPU), input_J.npy, output_J.npy and expected_J.npy. Programs may fuse "
        "differently: what\n"
        "has no counterpart is told and not compared. The exit code is 0 if what was compared agrees.\n",
    .options = options,
    .num_options = CLI_COUNT(options),
    .run = run,
};
