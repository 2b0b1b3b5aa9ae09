/* SPDX-License-Identifier: Apache-2.0 */
/* Operators by the names and attributes of TVM and NNVM, with the results that numpy computes (tests/names/values.py):
 * in the evaluator, and as kernels on the target of the command line. Each name of the lists of Relay, TOPI and
 * NNVM (tests/names/tvm.txt) that gpuc has must be called. */
#include <ctype.h>
#include <unistd.h>

#include <gpuc/build.h>

#include "../codegen/run.h"
#include "../relay_pass/interp.h"
#include "package.h"

enum { MAX_CALLS = 1024, MAX_TENSORS = 12 };

/* A row of the table under one of its names. */
typedef struct call {
    const char *name, *attrs;
    int num_in, num_out, first_input, first_output;
    const char *in[MAX_TENSORS], *out[MAX_TENSORS]; /* as they stand in the file */
    bool known[MAX_TENSORS];                        /* input i is known when building */
    bool only_type[MAX_TENSORS];                    /* of result i */
} call;

static call calls[MAX_CALLS];
static int num_calls;

/* ---- The table ---- */

static void add_call(const call *c, const char *names)
{
    char word[GPUC_OP_NAME];
    for (int at = 0, n = 0; sscanf(names + at, "%63s%n", word, &n) == 1; at += n) {
        assert_true(num_calls < MAX_CALLS);
        calls[num_calls] = *c;
        calls[num_calls++].name = strdup(word);
    }
}

/* Cuts the text of the file into lines, which the calls keep. */
static void read_calls(char *text)
{
    call c = {0};
    const char *names = NULL;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *rest = strchr(line, ' ') ? strchr(line, ' ') + 1 : line;
        if (!strncmp(line, "call ", 5)) {
            if (names) add_call(&c, names);
            c = (call){.attrs = ""};
            names = rest;
            char *bar = strstr(rest, " | ");
            if (!bar) continue;
            *bar = 0;
            c.attrs = bar + 3;
        } else if (!strncmp(line, "out ", 4) || !strncmp(line, "type ", 5)) {
            c.only_type[c.num_out] = *line == 't';
            c.out[c.num_out++] = rest;
        } else if (*line != '#') {
            c.known[c.num_in] = !strncmp(line, "const ", 6);
            c.in[c.num_in++] = rest;
        }
        assert_true(c.num_in < MAX_TENSORS && c.num_out < MAX_TENSORS);
    }
    if (names) add_call(&c, names);
}

/* "float32[2, 1] 0.5 nan"; without numbers where only the type matters. */
static gpuc_rexpr *tensor(gpuc_ctx *ctx, const char *text, bool only_type)
{
    char name[24] = "";
    gpuc_dtype t;
    int64_t dims[REF_DIMS];
    int ndim = 0, n = 0;
    sscanf(text, "%23[a-z0-9]%n", name, &n);
    if (!gpuc_dtype_parse(name, &t)) fail_msg("'%s' has no type", text);
    char *p = (char *)text + n + 1;
    for (; *p != ']'; p += strspn(p, ", ")) dims[ndim++] = strtoll(p, &p, 10);
    p++;
    const gpuc_rtype *type = gpuc_relay_rtype_tensor_static(ctx, t, ndim, dims);
    gpuc_const_data *data =
        gpuc_relay_const_data_create(ctx, (size_t)gpuc_relay_tensor_type_bytes(ctx, &type->tensor));
    size_t item = gpuc_dtype_bytes(t);
    for (size_t i = 0; i < data->size / item && !only_type; i++) {
        char *end = p;
        gpuc_rexpr *one = gpuc_relay_const_scalar(ctx, t, strtod(p, &end));
        if (end == p) fail_msg("'%s' has too few numbers", text);
        memcpy((char *)data->bytes + i * item, gpuc_as_rconstant(one)->data->bytes, item);
        p = end;
    }
    return gpuc_relay_constant(ctx, type, data);
}

/* ---- Calls ---- */

/* Inputs that the build need not know become parameters. */
static gpuc_rexpr *make_call(gpuc_ctx *ctx, call *c, gpuc_ptrs *params, gpuc_ptrs *args)
{
    gpuc_rexpr *in[MAX_TENSORS];
    c->first_input = (int)params->count;
    for (int i = 0; i < c->num_in; i++) {
        gpuc_rexpr *value = in[i] = tensor(ctx, c->in[i], false);
        if (c->known[i]) continue;
        in[i] = gpuc_relay_var(ctx, gpuc_ctx_printf(ctx, "x%d", (int)params->count), value->type);
        gpuc_ptrs_push(ctx, params, in[i]);
        gpuc_ptrs_push(ctx, args, value);
    }
    gpuc_op_name what = gpuc_op_lookup_name(ctx, c->name);
    if (!what.op && !what.alias) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "there is no such name");
    gpuc_rexpr *e = gpuc_relay_op(ctx, c->name, gpuc_op_parse_attrs(ctx, &what, c->attrs), c->num_in, in);
    gpuc_relay_infer_type(ctx, NULL, e);
    return e;
}

static void compare(gpuc_ctx *ctx, const call *c, int i, const gpuc_rexpr *got)
{
    if (c->only_type[i]) {
        const gpuc_rexpr *want = tensor(ctx, c->out[i], true);
        if (!gpuc_relay_rtype_equal(got->type, want->type))
            fail_msg("%s: result %d is not %s", c->name, i, c->out[i]);
        return;
    }
    const op_case loose = {.op = c->name, .tolerance = 1e-5};
    ref_tensor want = op_case_ref(ctx, tensor(ctx, c->out[i], false));
    const char *text =
        gpuc_ctx_printf(ctx, "%s(%s | %s), result %d", c->name, c->in[0] ? c->in[0] : "", c->attrs, i);
    op_case_compare(ctx, &loose, text, got, &want, 1);
    free(want.v);
}

static void evaluate(gpuc_ctx *ctx, void *arg)
{
    call *c = arg;
    gpuc_ptrs params = {0}, args = {0}, outs = {0};
    gpuc_rexpr *e = make_call(ctx, c, &params, &args);
    gpuc_rmodule *m = fx_module(ctx, e, (int)params.count, (gpuc_rexpr *const *)params.at);
    interp_run(ctx, m, gpuc_rmodule_get(m, "main"), (int)args.count, (gpuc_rexpr *const *)args.at, &outs);
    if ((int)outs.count < c->num_out) gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%d results", (int)outs.count);
    for (int i = 0; i < c->num_out; i++) compare(ctx, c, i, outs.at[i]);
}

static void in_the_evaluator(void **state)
{
    run_in_ctx(evaluate, *state);
}

/* ---- On the device: one package with all calls ---- */

static void on_the_device(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    const gpuc_target *target = run_target(ctx);
    gpuc_build_report report;
    gpuc_ptrs params = {0}, args = {0}, outs = {0};
    char path[] = "/tmp/gpuc-values-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    for (int i = 0; i < num_calls; i++) {
        gpuc_rexpr *e = make_call(ctx, &calls[i], &params, &args);
        bool tuple = e->type->kind == GPUC_RTYPE_TUPLE;
        calls[i].first_output = (int)outs.count;
        for (int k = 0; k < calls[i].num_out; k++)
            gpuc_ptrs_push(ctx, &outs, tuple ? gpuc_relay_get(ctx, e, k) : e);
    }
    gpuc_rexpr *body = gpuc_relay_tuple(ctx, (int)outs.count, (gpuc_rexpr *const *)outs.at);
    gpuc_relay_infer_type(ctx, NULL, body);
    gpuc_build_package(ctx, fx_module(ctx, body, (int)params.count, (gpuc_rexpr *const *)params.at), 1,
                       &target, &options, path, &report);
    gpuc_session *s = package_start(ctx, path);
    for (size_t i = 0; i < args.count; i++) package_set_input(ctx, s, (int)i, args.at[i]);
    GPUC_RAISE_IF(ctx, gpuc_session_run(s));
    GPUC_RAISE_IF(ctx, gpuc_session_sync(s));
    for (int i = 0; i < num_calls; i++)
        for (int k = 0; k < calls[i].num_out; k++)
            compare(ctx, &calls[i], k, package_output(ctx, s, calls[i].first_output + k));
    gpuc_session_release(s);
    unlink(path);
    print_message("cases: %d (%llu kernels launched)\n", num_calls,
                  (unsigned long long)run_device()->launches);
    assert_true(run_device()->launches >= 100);
}

static void run_on_the_device(void **state)
{
    (void)state;
    run_in_ctx(on_the_device, NULL);
}

/* ---- The lists ---- */

static bool is_called(const char *name)
{
    for (int i = 0; i < num_calls; i++)
        if (!strcmp(calls[i].name, name)) return true;
    return false;
}

static void each_listed_name(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    char *text = fx_read_file(GPUC_TVM_NAMES), section[32] = "", name[GPUC_OP_NAME];
    int missing = 0, listed = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (sscanf(line, "[%31[a-z]", section) == 1) continue;
        bool lists = !strcmp(section, "operators") || !strcmp(section, "topi") || !strcmp(section, "nnvm");
        if (!lists || sscanf(line, "%63[^ :]", name) != 1) continue;
        gpuc_op_name what = gpuc_op_lookup_name(ctx, name);
        if (!what.op && !what.alias) continue;
        listed++;
        if (is_called(name)) continue;
        print_message("%s: %s is not called\n", section, name);
        missing++;
    }
    free(text);
    assert_int_equal(missing, 0);
    assert_true(listed > 400);
}

int main(int argc, char **argv)
{
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    char *text = fx_read_file(GPUC_VALUES);
    read_calls(text);
    struct CMUnitTest tests[MAX_CALLS + 2] = {cmocka_unit_test(run_on_the_device), fx_test(each_listed_name)};
    for (int i = 0; i < num_calls; i++)
        tests[i + 2] = (struct CMUnitTest){
            .name = calls[i].name, .test_func = in_the_evaluator, .initial_state = &calls[i]};
    int failed = _cmocka_run_group_tests("values", tests, (size_t)num_calls + 2, NULL, NULL);
    for (int i = 0; i < num_calls; i++) free((char *)calls[i].name);
    free(text);
    return run_end(failed);
}
