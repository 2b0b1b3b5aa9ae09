/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the operator table, on every type that it takes, as kernels on the target of the command line:
 * one package per type with a call of each row in it. Prints a line per (name, type, target), and fails for a
 * row and type without one. With a type behind the target only that, all rows of which must be carried. */
#include <unistd.h>

#include <gpuc/build.h>

#include "../codegen/run.h"
#include "package.h"

enum { MAX = 1024 };

typedef struct row_call {
    const gpuc_op *op;
    op_trial trial;
    int first_input, first_output;
} row_call;

typedef struct batch {
    gpuc_dtype t;
    int type, n;
    row_call *calls;
    const char *path;
} batch;

static bool tried[512][GPUC_DTYPE_COUNT];
static const char *only_type;
static int carried;

/* One case of each row that takes the type; which one differs from type to type. */
static void choose(gpuc_ctx *ctx, batch *b)
{
    fx_rng r = {(uint64_t)b->type + 5};
    b->calls = gpuc_new_array(ctx, row_call, MAX);
    for (size_t i = 0; i < gpuc_op_count(); i++) {
        const gpuc_op *op = gpuc_op_at(i);
        const op_case *c, *of_op[128];
        int n = 0;
        for (size_t k = 0; (c = op_case_at(k)); k++)
            if (!strcmp(c->op, op->name) && n < 128 && op_case_takes(c, op, b->t)) of_op[n++] = c;
        if (n == 0) continue;
        row_call *call = &b->calls[b->n++];
        call->op = op;
        op_trial_make(ctx, of_op[(b->type * 7 + (int)i) % n], b->t, &r, &call->trial);
        assert_true(b->n < MAX);
    }
}

/* main takes the inputs of all calls and gives all their results. */
static gpuc_rmodule *make_module(gpuc_ctx *ctx, batch *b, int first, int n)
{
    gpuc_ptrs params = {0}, outs = {0};
    for (int i = first; i < first + n; i++) {
        row_call *call = &b->calls[i];
        const op_trial *t = &call->trial;
        gpuc_rexpr *args[8];
        call->first_input = (int)params.count;
        call->first_output = (int)outs.count;
        for (int k = 0; k < t->n; k++) {
            args[k] = t->args[k];
            if (t->c->constants) continue;
            args[k] = gpuc_relay_var(ctx, gpuc_ctx_printf(ctx, "%s_%d_%d", "x", i, k), t->args[k]->type);
            gpuc_ptrs_push(ctx, &params, args[k]);
        }
        gpuc_rexpr *result = fx_op(ctx, t->c->op, t->attrs, t->n, args);
        bool tuple = result->type->kind == GPUC_RTYPE_TUPLE;
        for (int k = 0; k < t->ref.num_out; k++)
            gpuc_ptrs_push(ctx, &outs, tuple ? gpuc_relay_get(ctx, result, k) : result);
    }
    gpuc_rexpr *body = gpuc_relay_tuple(ctx, (int)outs.count, (gpuc_rexpr *const *)outs.at);
    gpuc_relay_infer_type(ctx, NULL, body);
    return fx_module(ctx, body, (int)params.count, (gpuc_rexpr *const *)params.at);
}

static void run_package(gpuc_ctx *ctx, batch *b, int first, int n)
{
    gpuc_session *s = package_start(ctx, b->path);
    for (int i = first; i < first + n; i++) {
        const op_trial *t = &b->calls[i].trial;
        for (int k = 0; k < t->n && !t->c->constants; k++)
            package_set_input(ctx, s, b->calls[i].first_input + k, t->args[k]);
    }
    GPUC_RAISE_IF(ctx, gpuc_session_run(s));
    GPUC_RAISE_IF(ctx, gpuc_session_sync(s));
    for (int i = first; i < first + n; i++) {
        const op_trial *t = &b->calls[i].trial;
        for (int k = 0; k < t->ref.num_out; k++)
            op_trial_check(ctx, t, k, package_output(ctx, s, b->calls[i].first_output + k), 8);
    }
    gpuc_session_release(s);
}

typedef struct part {
    batch *b;
    int first, n;
} part;

static void build_part(gpuc_ctx *ctx, void *arg)
{
    part *p = arg;
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    const gpuc_target *target = run_target(ctx);
    gpuc_build_report report;
    gpuc_build_package(ctx, make_module(ctx, p->b, p->first, p->n), 1, &target, &options, p->b->path,
                       &report);
}

static void report(const batch *b, int first, int n, bool ran)
{
    char name[24];
    carried += ran ? n : 0;
    for (int i = first; i < first + n; i++) {
        print_message("%s %s %s: %s\n", b->calls[i].op->name, gpuc_dtype_name(b->t, name), run_target_text,
                      ran ? "ok" : "not carried");
        for (size_t k = 0; k < gpuc_op_count(); k++)
            if (gpuc_op_at(k) == b->calls[i].op) tried[k][b->type] = true;
    }
}

/* Where the whole cannot be built, each row is built alone. */
static void try_part(gpuc_ctx *ctx, batch *b, int first, int n)
{
    part p = {b, first, n};
    if (n == 0) return;
    if (run_supported(ctx, build_part, &p)) {
        run_package(ctx, b, first, n);
        report(b, first, n, true);
    } else if (n == 1) {
        if (only_type) fail_msg("%s is not carried", b->calls[first].op->name);
        report(b, first, n, false);
    } else {
        try_part(ctx, b, first, n / 2);
        try_part(ctx, b, first + n / 2, n - n / 2);
    }
}

/* ---- Rows that only extents need which the build does not know ---- */

enum { ROWS = 5, KEPT = 3, COLUMNS = 4 };
/* The slice also has a case of its own; sizes are of integers. */
static const char *const rows_of_symbols[] = {"strided_slice", "shape_of", "sizes"};

typedef struct symbols {
    gpuc_dtype t;
    int n;
    const char *path;
} symbols;

static void build_symbols(gpuc_ctx *ctx, void *arg)
{
    const symbols *a = arg;
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    const gpuc_target *target = run_target(ctx);
    gpuc_build_report report;
    gpuc_expr dims[] = {gpuc_var(ctx, "rows", GPUC_INDEX), gpuc_int(ctx, COLUMNS)};
    gpuc_rexpr *x = gpuc_relay_var(ctx, "x", gpuc_relay_rtype_tensor(ctx, a->t, 2, dims));
    gpuc_rexpr *count = gpuc_relay_var(ctx, "count", gpuc_relay_rtype_tensor(ctx, GPUC_INT64, 0, NULL));
    gpuc_rexpr *params[] = {x, count};
    gpuc_ptrs reads = {0};
    gpuc_expr kept = gpuc_relay_read_size(ctx, &reads, "kept", count, dims[0]);
    gpuc_rexpr *outs[] = {gpuc_relay_truncate(ctx, x, 0, kept), fx_op1(ctx, "shape_of", NULL, x), NULL};
    const gpuc_attrs *attrs = gpuc_attrs_sizes(ctx, NULL, "values", 2, dims);
    if (a->n > 2) outs[2] = gpuc_relay_op(ctx, "sizes", gpuc_attrs_dtype(ctx, attrs, "dtype", a->t), 0, NULL);
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    gpuc_rmodule_set_main(m, 2, params, a->n, outs, &reads);
    gpuc_relay_infer_type(ctx, m, gpuc_rmodule_get(m, "main"));
    gpuc_build_package(ctx, m, 1, &target, &options, a->path, &report);
}

static void run_symbols(gpuc_ctx *ctx, const symbols *a)
{
    static const int64_t kept = KEPT, dims[] = {ROWS, COLUMNS}, left[] = {KEPT, COLUMNS};
    fx_rng r = {(uint64_t)a->t.bits};
    gpuc_rexpr *x = fx_random(ctx, fx_type(ctx, a->t, 2, dims), &r);
    gpuc_session *s = package_start(ctx, a->path);
    package_set_input(ctx, s, 0, x);
    package_set_input(ctx, s, 1, gpuc_relay_const_bytes(ctx, GPUC_INT64, 0, NULL, &kept));
    GPUC_RAISE_IF(ctx, gpuc_session_run(s));
    GPUC_RAISE_IF(ctx, gpuc_session_sync(s));
    for (int k = 0; k < a->n; k++) {
        const op_case c = {.op = rows_of_symbols[k]};
        ref_tensor want = {.dtype = k == 1 ? GPUC_INT64 : a->t, .ndim = 1, .dims = {2}, .count = 2};
        double shape[] = {ROWS, COLUMNS};
        want.v = shape;
        if (k == 0) {
            want = op_case_ref(ctx, x);
            memcpy(want.dims, left, sizeof left);
            want.count = KEPT * COLUMNS;
        }
        op_case_compare(ctx, &c, c.op, package_output(ctx, s, k), &want, 0);
        if (k == 0) free(want.v);
    }
    gpuc_session_release(s);
}

static void try_symbols(gpuc_ctx *ctx, batch *b)
{
    symbols a = {b->t, GPUC_T_INTS >> b->type & 1 ? 3 : 2, b->path};
    build_symbols(ctx, &a);
    run_symbols(ctx, &a);
    b->calls = gpuc_new_array(ctx, row_call, a.n);
    for (int i = 0; i < a.n; i++) b->calls[i].op = gpuc_op_find(rows_of_symbols[i]);
    report(b, 1, a.n - 1, true);
}

/* ---- All rows ---- */

static void try_type(gpuc_ctx *ctx, void *arg)
{
    batch b = {.type = *(const int *)arg, .t = gpuc_dtype_list[*(const int *)arg]};
    char path[] = "/tmp/gpuc-rows-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    b.path = path;
    choose(ctx, &b);
    try_part(ctx, &b, 0, b.n);
    for (int i = 0; i < b.n; i++) op_trial_free(&b.calls[i].trial);
    try_symbols(ctx, &b);
    unlink(path);
}

static void each_row_on_each_type(void **state)
{
    (void)state;
    for (int i = 0; i < GPUC_DTYPE_COUNT; i++) {
        char type[24];
        if (!only_type || !strcmp(only_type, gpuc_dtype_name(gpuc_dtype_list[i], type)))
            run_in_ctx(try_type, &i);
    }
    for (size_t i = 0; i < gpuc_op_count() && !only_type; i++) {
        const gpuc_op *op = gpuc_op_at(i);
        char name[24];
        for (int k = 0; k < GPUC_DTYPE_COUNT; k++)
            if (gpuc_op_types(op, gpuc_op_main_input(op)) >> k & 1 && !tried[i][k])
                fail_msg("no test of %s of %s", op->name, gpuc_dtype_name(gpuc_dtype_list[k], name));
    }
    print_message("cases: %d (%llu kernels launched)\n", carried, (unsigned long long)run_device()->launches);
    assert_true(only_type || run_device()->launches >= 200);
}

int main(int argc, char **argv)
{
    only_type = argc > 2 ? argv[2] : NULL;
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_row_on_each_type)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return run_end(failed);
}
