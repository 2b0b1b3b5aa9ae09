/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one test in a child process: builds the model, runs its data sets, compares the outputs. */
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "bind.h"
#include "compile.h"
#include "verify/verify.h"

static size_t result_bytes(int num_outputs)
{
    return sizeof(verify_result) + (size_t)num_outputs * sizeof(verify_worst);
}

verify_result *verify_result_create(int num_outputs)
{
    void *p =
        mmap(NULL, result_bytes(num_outputs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        cli_error("out of memory");
        exit(1);
    }
    verify_result *r = p;
    r->num_outputs = num_outputs;
    return r;
}

void verify_result_free(verify_result *r)
{
    munmap(r, result_bytes(r->num_outputs));
}

/* Reasons of several outputs and data sets stand side by side. */
static void add_reason(verify_result *r, const char *fmt, ...) GPUC_PRINTF(2, 3);
static void add_reason(verify_result *r, const char *fmt, ...)
{
    size_t n = strlen(r->reason);
    va_list args;
    if (n && n + 2 < sizeof r->reason) {
        memcpy(r->reason + n, "; ", 3);
        n += 2;
    }
    va_start(args, fmt);
    vsnprintf(r->reason + n, sizeof r->reason - n, fmt, args);
    va_end(args);
    for (char *c = r->reason + n; *c; c++)
        if (*c == '\n') *c = ' ';
}

static void fail(verify_result *r, gpuc_status status)
{
    add_reason(r, "%s", gpuc_status_message(status));
    gpuc_status_release(status);
}

static void set_stage(verify_result *r, const char *what, const char *detail)
{
    snprintf(r->stage, sizeof r->stage, "%s%s%s", what, *detail ? " " : "", detail);
}

/* ---- The device ---- */

typedef struct verify_device {
    cli_runtime runtime;
    gpuc_device *device, *filled_from; /* the second of -from_device */
} verify_device;

static gpuc_status open_for(const verify_options *o, const gpuc_target *t, verify_device *d)
{
    gpuc_device_type type = gpuc_target_device_type(t);
    if (!o->device) {
        if (d->filled_from) {
            d->device = d->filled_from;
            return NULL;
        }
        return gpuc_device_open(d->runtime.rt, type, 0, &d->device);
    }
    GPUC_TRY(cli_open_device(&d->runtime, o->device, &d->device));
    if (d->device->type == type) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT, "--device %s cannot run target '%s'; give a device of kind %s",
                     o->device, o->target, gpuc_device_type_name(d->runtime.rt, type));
}

static gpuc_status open_device(const verify_options *o, verify_device *d, verify_result *r)
{
    gpuc_ctx *ctx = NULL;
    const gpuc_target *target = NULL;
    cli_runtime_options ro = {
        .validation = o->validation, .staging = o->staging, .verbose = o->verbose, .threads = o->threads};
    GPUC_TRY(cli_runtime_init(&d->runtime, &ro));
    gpuc_status status = cli_ctx_create(&d->runtime, &ctx);
    if (!status) status = cli_target_device(&d->runtime, ctx, o->target, &d->filled_from);
    if (!status) status = cli_target_parse(ctx, o->target, d->filled_from, &target);
    if (!status) status = open_for(o, target, d);
    if (!status) {
        snprintf(r->target, sizeof r->target, "%s", gpuc_target_text(ctx, target));
        snprintf(r->device, sizeof r->device, "%s", cli_device_text(d->device, GPUC_ATTR_NAME));
        snprintf(r->driver, sizeof r->driver, "%s", cli_device_text(d->device, GPUC_ATTR_DRIVER));
    }
    gpuc_ctx_destroy(ctx);
    return status;
}

void verify_probe(const verify_options *o, verify_result *r)
{
    verify_device d = {0};
    gpuc_status status = open_device(o, &d, r);
    r->outcome = status ? VERIFY_FAILED : VERIFY_PASSED;
    if (status) fail(r, status);
    if (d.runtime.rt) cli_runtime_deinit(&d.runtime);
    r->finished = true;
}

/* ---- A data set ---- */

typedef struct test_run {
    const verify_options *o;
    const verify_test *test;
    const char *folder;
    verify_device *d;
    verify_result *r;
    gpuc_ctx *ctx;                 /* of what the model holds */
    const gpuc_onnx_value *inputs; /* without those that have a default */
    int num_inputs;
    bool only_views;           /* no node computes: each gives its operand another shape at most */
    bool transforms;           /* it has a Fourier transform, whose terms cancel */
    cli_tolerance *tolerances; /* NULL: the default ones */
    char *built_for;           /* shapes and bound values of the package at hand */
    char *package;
    gpuc_model *model;
    bool carried; /* false: the importer does not support something in the model */
} test_run;

static gpuc_status load_tensors(const verify_set *set, const char *kind, int count, gpuc_host_tensor *out)
{
    for (int i = 0; i < count; i++) {
        char *path = cli_printf("%s/%s_%d.pb", set->path, kind, i);
        gpuc_status status = cli_tensor_load(path, &out[i]);
        free(path);
        GPUC_TRY(status);
    }
    return NULL;
}

/* ONNX's files hold bfloat16 as the integers of its bits. */
static void read_as(gpuc_host_tensor *t, gpuc_dtype want)
{
    if (gpuc_dtype_equal(want, GPUC_BFLOAT16) && gpuc_dtype_equal(t->dtype, GPUC_UINT16)) t->dtype = want;
}

/* An input that decides a shape is given when building. */
enum { MAX_BOUND_ELEMENTS = 64 };

static bool is_bound(const test_run *t, int input, const gpuc_host_tensor *value)
{
    return !t->o->no_bind && t->inputs[input].decides_shape && value->count <= MAX_BOUND_ELEMENTS;
}

/* What a package is built for beyond the model: shapes of the inputs of which it does not even say the rank,
 * values of those that are bound. The text tells packages apart. */
typedef struct build_inputs {
    gpuc_shape_pin *pins;
    gpuc_onnx_bind *binds;
    int num_pins, num_binds;
    char *text;
} build_inputs;

static void init_build_inputs(const test_run *t, const gpuc_host_tensor *inputs, build_inputs *b)
{
    cli_text text = {0};
    size_t n = (size_t)t->num_inputs;
    *b = (build_inputs){.pins = cli_alloc(n * sizeof *b->pins), .binds = cli_alloc(n * sizeof *b->binds)};
    for (int i = 0; i < t->num_inputs; i++) {
        const gpuc_onnx_value *in = &t->inputs[i];
        const gpuc_host_tensor *v = &inputs[i];
        bool bound = is_bound(t, i, v);
        if (!bound && in->has_shape) continue;
        char *dims = cli_dims_text(v->ndim, v->dims, NULL);
        cli_text_printf(&text, "%s=[%s]", in->name, dims);
        free(dims);
        if (bound) {
            for (size_t k = 0; k < v->size; k++)
                cli_text_printf(&text, "%02x", ((const unsigned char *)v->data)[k]);
            b->binds[b->num_binds++] = cli_bind(in->name, v);
        } else {
            b->pins[b->num_pins++] = (gpuc_shape_pin){.name = in->name, .ndim = v->ndim, .dims = v->dims};
        }
    }
    b->text = cli_printf("%s", cli_text_get(&text));
    cli_text_free(&text);
}

static void free_build_inputs(build_inputs *b)
{
    free(b->pins);
    free(b->binds);
    free(b->text);
}

static void note_bound(verify_result *r, const build_inputs *b)
{
    size_t n = 0;
    for (int i = 0; i < b->num_binds && n < sizeof r->bound; i++)
        n += (size_t)snprintf(r->bound + n, sizeof r->bound - n, "%s%s", i ? "\n" : "", b->binds[i].name);
}

static gpuc_status compile(test_run *t, const build_inputs *b, const char *folder)
{
    gpuc_ctx *ctx = NULL;
    cli_compile c = {.model = t->test->model,
                     .constant_defaults = true, /* data sets do not number them */
                     .out = t->package,
                     .targets = &t->o->target,
                     .devices = &t->d->filled_from,
                     .num_targets = 1,
                     .pins = b->pins,
                     .num_pins = b->num_pins,
                     .binds = b->binds,
                     .num_binds = b->num_binds,
                     .tuning_logs = &t->o->tuning_logs};
    c.options = GPUC_BUILD_OPTIONS_INIT;
    c.options.opt_level = t->o->level;
    c.options.num_threads = t->o->threads;
    c.options.emit_dir = t->o->keep ? folder : NULL;
    c.options.model_name = t->test->name;
    double start = cli_now();
    gpuc_status status = gpuc_dir_make(folder);
    if (!status) status = cli_ctx_create(&t->d->runtime, &ctx);
    if (!status) status = cli_compile_run(ctx, &c);
    cli_compile_deinit(&c);
    gpuc_ctx_destroy(ctx);
    t->r->build_seconds += cli_now() - start;
    t->carried = c.imported || gpuc_status_code(status) != GPUC_UNSUPPORTED;
    if (status) return status;
    t->r->packages++;
    t->r->kernels += c.report.num_unique_kernels;
    return NULL;
}

static void drop_model(test_run *t)
{
    gpuc_model_release(t->model);
    if (t->package && !t->o->keep) remove(t->package);
    free(t->package);
    free(t->built_for);
    t->model = NULL;
    t->package = t->built_for = NULL;
}

static void count_nodes(test_run *t)
{
    int n = gpuc_model_num_nodes(t->model);
    t->r->nodes = n;
    t->r->nodes_elsewhere = 0;
    for (int i = 0; i < n; i++) t->r->nodes_elsewhere += gpuc_model_node(t->model, i).on_fallback;
}

static gpuc_status build_and_load(test_run *t, const verify_set *set, const build_inputs *b)
{
    char *folder =
        t->r->packages ? cli_printf("%s/shapes_%d", t->folder, t->r->packages) : cli_printf("%s", t->folder);
    t->package = cli_printf("%s/model.gpuc", folder);
    set_stage(t->r, "building for", set->name);
    gpuc_status status = compile(t, b, folder);
    free(folder);
    GPUC_TRY(status);
    set_stage(t->r, "loading the package for", set->name);
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = t->package;
    desc.device = t->d->device;
    desc.allow_native_code = true;
    double start = cli_now();
    status = gpuc_model_load(t->d->runtime.rt, &desc, &t->model);
    t->r->build_seconds += cli_now() - start;
    if (!status) count_nodes(t);
    return status;
}

/* The package for these inputs, compiled unless the last data set had the same shapes and bound values. */
static gpuc_status prepare_model(test_run *t, const verify_set *set, const gpuc_host_tensor *inputs)
{
    build_inputs b;
    init_build_inputs(t, inputs, &b);
    gpuc_status status = NULL;
    if (!t->model || strcmp(b.text, t->built_for) != 0) {
        drop_model(t);
        t->built_for = cli_printf("%s", b.text);
        note_bound(t->r, &b);
        status = build_and_load(t, set, &b);
    }
    free_build_inputs(&b);
    return status;
}

static void note_worst(verify_result *r, int output, const cli_difference *d)
{
    verify_worst *w = &r->worst[output];
    w->max_abs = fmax(w->max_abs, d->max_abs);
    w->max_rel = fmax(w->max_rel, d->max_rel);
    w->rel_l2 = fmax(w->rel_l2, d->rel_l2);
    w->set = true;
}

/* False if the output differs. */
static bool check_output(test_run *t, const verify_set *set, int i, const gpuc_host_tensor *got,
                         gpuc_host_tensor *want)
{
    cli_difference d;
    read_as(want, got->dtype);
    cli_tolerance tolerance = t->tolerances ? t->tolerances[i] : cli_default_tolerance(want->dtype);
    if (!t->tolerances && t->transforms) tolerance.atol = 1e-3;
    cli_compare(got, want, tolerance, &d);
    if (d.same_type && i < t->r->num_outputs) note_worst(t->r, i, &d);
    if (d.match) return true;
    char *text = cli_difference_text(&d, got, want, tolerance);
    add_reason(t->r, "%s: output %d '%s' %s", set->name, i, gpuc_model_output(t->model, i).name, text);
    free(text);
    return false;
}

/* Sets an input. Where only its type matters (CastLike's second operand), data sets may have other shapes
 * than the model states. */
static gpuc_status set_input(test_run *t, gpuc_session *s, int number, gpuc_host_tensor *in)
{
    gpuc_tensor_info want = gpuc_model_input(t->model, number);
    gpuc_host_tensor blank;
    read_as(in, want.dtype);
    bool fits = in->ndim == want.ndim;
    for (int d = 0; fits && d < in->ndim; d++) fits = want.dims[d] < 0 || want.dims[d] == in->dims[d];
    bool fixed = true;
    for (int d = 0; d < want.ndim; d++) fixed = fixed && want.dims[d] >= 0;
    if (fits || !fixed || gpuc_model_reads_input(t->model, number))
        return cli_session_set(t->d->runtime.rt, s, number, in);
    GPUC_TRY(gpuc_host_tensor_init(want.dtype, want.ndim, want.dims, want.name, &blank));
    gpuc_status status = cli_session_set(t->d->runtime.rt, s, number, &blank);
    gpuc_host_tensor_deinit(&blank);
    return status;
}

static gpuc_status run_session(test_run *t, const verify_set *set, gpuc_session *s, gpuc_host_tensor *inputs,
                               gpuc_host_tensor *want, bool *match)
{
    for (int i = 0, number = 0; i < set->num_inputs; i++) {
        if (is_bound(t, i, &inputs[i])) continue;
        GPUC_TRY(set_input(t, s, number++, &inputs[i]));
        t->r->inputs_bound++;
    }
    double start = cli_now();
    GPUC_TRY(gpuc_session_run(s));
    GPUC_TRY(gpuc_session_sync(s));
    t->r->run_seconds += cli_now() - start;
    for (int i = 0; i < set->num_outputs; i++) {
        gpuc_host_tensor got;
        GPUC_TRY(cli_session_get(s, i, &got));
        *match = check_output(t, set, i, &got, &want[i]) && *match;
        gpuc_host_tensor_deinit(&got);
    }
    return NULL;
}

static bool has_elements(const verify_set *set, const gpuc_host_tensor *want)
{
    size_t count = 0;
    for (int i = 0; i < set->num_outputs; i++) count += want[i].count;
    return count > 0;
}

static gpuc_status run_model(test_run *t, const verify_set *set, gpuc_host_tensor *inputs,
                             gpuc_host_tensor *want, bool *match)
{
    int num_inputs = gpuc_model_num_inputs(t->model), num_outputs = gpuc_model_num_outputs(t->model);
    int given = 0;
    for (int i = 0; i < set->num_inputs; i++) given += !is_bound(t, i, &inputs[i]);
    if (num_inputs != given)
        return gpuc_fail(GPUC_INTERNAL, "the package has %d inputs, the data set %d that are not bound",
                         num_inputs, given);
    if (num_outputs != set->num_outputs)
        return gpuc_fail(GPUC_INVALID_DATA, "the model has %d outputs, the data set %d files", num_outputs,
                         set->num_outputs);
    gpuc_session *session;
    set_stage(t->r, "running", set->name);
    GPUC_TRY(gpuc_session_create(t->model, &session));
    uint64_t before = t->d->device->launches;
    gpuc_status status = run_session(t, set, session, inputs, want, match);
    uint64_t launches = t->d->device->launches - before, elsewhere = 0;
    if (!status) elsewhere = gpuc_session_get_stats(session).launches_other;
    t->r->launches += launches;
    t->r->launches_elsewhere += elsewhere;
    gpuc_session_release(session);
    bool may_be_idle = num_inputs == 0 || t->only_views || !has_elements(set, want);
    if (status || launches + elsewhere || may_be_idle) return status;
    add_reason(t->r, "%s: no kernel ran on the device", set->name);
    *match = false;
    return NULL;
}

static gpuc_status read_and_run(test_run *t, const verify_set *set, gpuc_host_tensor *inputs,
                                gpuc_host_tensor *want, bool *match)
{
    set_stage(t->r, "reading", set->name);
    if (set->num_inputs != t->num_inputs)
        return gpuc_fail(GPUC_INVALID_DATA, "the model has %d inputs, the data set %d files", t->num_inputs,
                         set->num_inputs);
    GPUC_TRY(load_tensors(set, "input", set->num_inputs, inputs));
    GPUC_TRY(load_tensors(set, "output", set->num_outputs, want));
    GPUC_TRY(prepare_model(t, set, inputs));
    return run_model(t, set, inputs, want, match);
}

static bool run_set(test_run *t, const verify_set *set)
{
    gpuc_host_tensor *inputs = cli_alloc((size_t)(set->num_inputs + 1) * sizeof *inputs);
    gpuc_host_tensor *want = cli_alloc((size_t)set->num_outputs * sizeof *want);
    bool match = true;
    gpuc_status status = read_and_run(t, set, inputs, want, &match);
    if (status) {
        add_reason(t->r, "%s: %s", set->name, gpuc_status_message(status));
        gpuc_status_release(status);
        match = false;
    }
    for (int i = 0; i < set->num_inputs; i++) gpuc_host_tensor_deinit(&inputs[i]);
    for (int i = 0; i < set->num_outputs; i++) gpuc_host_tensor_deinit(&want[i]);
    free(inputs);
    free(want);
    return match;
}

/* ---- A test ---- */

/* Sequences, maps, strings: types that gpuc does not carry, and that the data files cannot be read as. */
static const gpuc_onnx_value *find_uncarried(const test_run *t)
{
    enum { STRING = 8 };
    for (int i = 0; i < t->num_inputs; i++)
        if (!t->inputs[i].is_tensor || t->inputs[i].elem_type == STRING) return &t->inputs[i];
    return NULL;
}

static void run_sets(test_run *t)
{
    verify_result *r = t->r;
    bool match = true;
    for (int k = 0; k < t->test->num_sets && t->carried; k++) match = run_set(t, &t->test->sets[k]) && match;
    drop_model(t);
    int messages = atomic_load(&t->d->runtime.validation_messages);
    if (messages)
        add_reason(r, "%d messages of the validation layer, the first: %s", messages,
                   t->d->runtime.first_message);
    r->outcome = !t->carried ? VERIFY_SKIPPED : match && !messages ? VERIFY_PASSED : VERIFY_FAILED;
}

static bool is_one_of(const gpuc_onnx_operator *o, const char *const *names)
{
    while (*names && strcmp(*names, o->name) != 0) names++;
    return *names && !*o->domain;
}

static gpuc_status describe_model(test_run *t)
{
    static const char *const views[] = {"Constant", "Flatten",   "Identity", "Reshape",
                                        "Squeeze",  "Unsqueeze", NULL};
    static const char *const transforms[] = {"DFT", "STFT", NULL};
    const gpuc_onnx_description *m;
    GPUC_TRY(cli_ctx_create(&t->d->runtime, &t->ctx));
    GPUC_TRY(cli_onnx_describe(t->ctx, t->test->model, &m));
    gpuc_onnx_value *inputs = cli_alloc((size_t)m->num_inputs * sizeof *inputs);
    t->inputs = inputs;
    for (int i = 0; i < m->num_inputs; i++)
        if (!m->inputs[i].has_default) inputs[t->num_inputs++] = m->inputs[i];
    t->only_views = true;
    for (int i = 0; i < m->num_operators; i++) {
        t->only_views = t->only_views && is_one_of(&m->operators[i], views);
        t->transforms = t->transforms || is_one_of(&m->operators[i], transforms);
    }
    return NULL;
}

static gpuc_status start_test(test_run *t)
{
    set_stage(t->r, "opening the device", "");
    GPUC_TRY(open_device(t->o, t->d, t->r));
    set_stage(t->r, "reading the model", "");
    GPUC_TRY(describe_model(t));
    return verify_read_tolerances(t->test->path, t->test->sets[0].num_outputs, &t->tolerances);
}

void verify_run(const verify_options *o, const verify_test *test, const char *folder, verify_result *r)
{
    verify_device d = {0};
    test_run t = {.o = o, .test = test, .folder = folder, .d = &d, .r = r, .carried = true};
    gpuc_status status = start_test(&t);
    const gpuc_onnx_value *uncarried = status ? NULL : find_uncarried(&t);
    if (status) {
        fail(r, status);
    } else if (uncarried) {
        add_reason(r, "input '%s' is no tensor of numbers", uncarried->name);
        r->outcome = VERIFY_SKIPPED;
    } else {
        run_sets(&t);
    }
    free(t.tolerances);
    free((void *)t.inputs);
    gpuc_ctx_destroy(t.ctx);
    set_stage(r, "closing the device", "");
    if (d.runtime.rt) cli_runtime_deinit(&d.runtime);
    set_stage(r, "ending", "");
    r->finished = true;
}
