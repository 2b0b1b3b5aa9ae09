/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of the operator table on every type that it takes: inference and definition (through the
 * evaluator, with its checks) against the references in ref/. */
#include "../relay_pass/interp.h"
#include "cases.h"
#include "op/dynamic.h"

/* The definition, whatever inference knows of values. */
static gpuc_rexpr **run(gpuc_ctx *ctx, gpuc_rexpr *e, int num_out)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_op_call call = {
        .ctx = ctx, .op = gpuc_relay_call_op(e), .attrs = c->attrs, .num_in = c->n, .num_out = num_out};
    gpuc_tensor_type *in = gpuc_new_array(ctx, gpuc_tensor_type, c->n);
    gpuc_tensor **ins = gpuc_new_array(ctx, gpuc_tensor *, c->n),
                **outs = gpuc_new_array(ctx, gpuc_tensor *, num_out);
    gpuc_tensor **args = gpuc_new_array(ctx, gpuc_tensor *, c->n + num_out);
    gpuc_tir_arg *buffers = gpuc_new_array(ctx, gpuc_tir_arg, c->n + num_out);
    gpuc_rexpr **results = gpuc_new_array(ctx, gpuc_rexpr *, num_out);
    for (int i = 0; i < c->n; i++) {
        in[i] = c->args[i]->type->tensor;
        args[i] = ins[i] = gpuc_te_placeholder(ctx, "x", in[i].ndim, in[i].dims, in[i].dtype);
        const gpuc_const_data *data = gpuc_as_rconstant(c->args[i])->data;
        buffers[i] = (gpuc_tir_arg){data->bytes, data->size};
    }
    call.in = in;
    call.in_values = gpuc_new_array(ctx, const gpuc_expr *, c->n);
    call.out = gpuc_new_array(ctx, gpuc_tensor_type, num_out);
    call.out_values = gpuc_new_array(ctx, const gpuc_expr *, num_out);
    for (int i = 0; i < num_out; i++) {
        const gpuc_rtype *t = e->type->kind == GPUC_RTYPE_TUPLE ? e->type->at[i] : e->type;
        call.out[i] = t->tensor;
        gpuc_const_data *data =
            gpuc_relay_const_data_create(ctx, (size_t)gpuc_relay_tensor_type_bytes(ctx, &t->tensor));
        buffers[c->n + i] = (gpuc_tir_arg){data->bytes, data->size};
        results[i] = gpuc_relay_constant(ctx, t, data);
    }
    call.op->compute(&call, ins, outs);
    for (int i = 0; i < num_out; i++) args[c->n + i] = outs[i];
    const gpuc_tir_func *f = gpuc_te_lower_plain(ctx, "f", c->n + num_out, args);
    GPUC_RAISE_IF(ctx, gpuc_ev_run(ctx, f, buffers, NULL, true));
    return results;
}

/* A row without a definition, by the arithmetic that stands for it. */
static gpuc_rexpr **run_rewritten(gpuc_ctx *ctx, const op_trial *t)
{
    gpuc_rexpr *params[8];
    gpuc_ptrs outs = {0};
    for (int i = 0; i < t->n; i++) params[i] = gpuc_relay_var(ctx, "x", t->args[i]->type);
    gpuc_rmodule *m = fx_module(ctx, fx_op(ctx, t->c->op, t->attrs, t->n, params), t->n, params);
    interp_run(ctx, m, gpuc_rmodule_get(m, "main"), t->n, t->args, &outs);
    assert_int_equal(outs.count, t->ref.num_out);
    return (gpuc_rexpr **)outs.at;
}

static void check_trial(gpuc_ctx *ctx, const op_trial *t)
{
    gpuc_rexpr *call = fx_op(ctx, t->c->op, t->attrs, t->n, t->args), **results;
    bool defined = gpuc_relay_call_op(call)->compute != NULL;
    results = defined ? run(ctx, call, t->ref.num_out) : run_rewritten(ctx, t);
    for (int i = 0; i < t->ref.num_out; i++) op_trial_check(ctx, t, i, results[i], 1);
    if (!call->values) return; /* else what inference knows is what the definition gives */
    gpuc_relay_budget none = {0};
    gpuc_rexpr *known = gpuc_relay_evaluate_call(ctx, call, &none);
    if (!known) fail_msg("%s: known values are not known", t->text);
    op_trial_check(ctx, t, 0, known, 1);
}

typedef struct case_arg {
    const op_case *c;
    gpuc_dtype t;
} case_arg;

static void check_case(gpuc_ctx *ctx, void *arg)
{
    const case_arg *a = arg;
    op_trial trial;
    fx_rng r = {(uint64_t)strlen(a->c->in) * 977 + strlen(a->c->op) + a->t.bits};
    op_trial_make(ctx, a->c, a->t, &r, &trial);
    check_trial(ctx, &trial);
    op_trial_free(&trial);
}

static bool covered[512][GPUC_DTYPE_COUNT];

static void cover(const char *op, int type)
{
    for (size_t k = 0; k < gpuc_op_count(); k++)
        if (!strcmp(gpuc_op_at(k)->name, op)) covered[k][type] = true;
}

static void each_case_on_each_type(void **state)
{
    const op_case *c;
    int cases = 0;
    (void)state;
    for (size_t i = 0; (c = op_case_at(i)); i++) {
        const gpuc_op *op = gpuc_op_find(c->op);
        if (!op) fail_msg("there is no operator '%s'", c->op);
        for (int k = 0; k < GPUC_DTYPE_COUNT; k++) {
            if (!op_case_takes(c, op, gpuc_dtype_list[k])) continue;
            gpuc_ctx *ctx;
            case_arg arg = {c, gpuc_dtype_list[k]};
            assert_null(gpuc_ctx_create(NULL, &ctx));
            gpuc_status status = gpuc_ctx_protect(ctx, check_case, &arg);
            if (status)
                fail_msg("%s(%s, %s): %s", c->op, c->in, c->attrs ? c->attrs : "",
                         gpuc_status_message(status));
            gpuc_ctx_destroy(ctx);
            cover(c->op, k);
            cases++;
        }
    }
    print_message("cases: %d\n", cases);
}

/* ---- Sizes that only a run knows ---- */

static void infer_in(gpuc_ctx *ctx, void *call)
{
    (void)ctx;
    gpuc_op_infer(call);
}

/* Whether inference takes `size` as dimension k of input i; a NULL list takes no conditions. */
static bool takes_size(gpuc_ctx *ctx, const gpuc_rexpr *e, int i, int k, gpuc_expr size,
                       gpuc_ptrs *conditions, gpuc_tensor_type *out)
{
    const gpuc_rcall *c = gpuc_as_rcall(e);
    gpuc_tensor_type *in = gpuc_new_array(ctx, gpuc_tensor_type, c->n);
    for (int a = 0; a < c->n; a++) in[a] = c->args[a]->type->tensor;
    gpuc_expr *dims = gpuc_ctx_memdup(ctx, in[i].dims, sizeof *dims * (size_t)in[i].ndim);
    dims[k] = size;
    in[i].dims = dims;
    gpuc_op_call call = {
        .ctx = ctx, .op = gpuc_relay_call_op(e), .attrs = c->attrs, .num_in = c->n, .in = in};
    call.in_values = gpuc_new_array(ctx, const gpuc_expr *, c->n);
    call.out = out ? out : gpuc_new_array(ctx, gpuc_tensor_type, GPUC_OP_MAX_OUT);
    call.out_values = gpuc_new_array(ctx, const gpuc_expr *, GPUC_OP_MAX_OUT);
    call.conditions = conditions;
    gpuc_status status = gpuc_ctx_protect(ctx, infer_in, &call);
    bool taken = !status;
    gpuc_status_release(status);
    return taken;
}

static gpuc_expr substituted(gpuc_ctx *ctx, gpuc_expr e, gpuc_expr symbol, gpuc_expr number)
{
    return gpuc_tir_substitute(ctx, e, 1, &symbol, &number);
}

static bool hold(gpuc_ctx *ctx, const gpuc_ptrs *conditions, gpuc_expr symbol, gpuc_expr number)
{
    for (size_t i = 0; i < conditions->count; i++) {
        const gpuc_op_condition *c = conditions->at[i];
        int64_t is;
        if (!gpuc_expr_is_int(substituted(ctx, c->cond, symbol, number), &is) || !is) return false;
    }
    return true;
}

/* Whether the extents over a symbol are, with the number in its place, those that the number gives. */
static bool same_extents(gpuc_ctx *ctx, const gpuc_tensor_type *open, const gpuc_tensor_type *known,
                         gpuc_expr symbol, gpuc_expr number)
{
    if (open->ndim != known->ndim) return false;
    for (int k = 0; k < open->ndim; k++) {
        int64_t have, want;
        if (!open->dims[k] || !known->dims[k]) continue;
        gpuc_expr e = substituted(ctx, open->dims[k], symbol, number);
        if (gpuc_expr_is_int(e, &have) && gpuc_expr_is_int(known->dims[k], &want) && have != want)
            return false;
    }
    return true;
}

static int sizes_tried, sizes_wrong;

static void wrong_size(const char *text, int i, int k, int64_t v, const char *what)
{
    sizes_wrong++;
    print_message("%s: dimension %d of input %d as %lld: %s\n", text, k, i, (long long)v, what);
}

/* An open size must satisfy what inference wants of a number in its place, and gives the same extents. */
static void check_sizes(gpuc_ctx *ctx, void *arg)
{
    const case_arg *a = arg;
    op_trial t;
    fx_rng r = {7};
    op_trial_make(ctx, a->c, a->t, &r, &t);
    const gpuc_rexpr *e = fx_op(ctx, a->c->op, t.attrs, t.n, t.args);
    int num_out = e->type->kind == GPUC_RTYPE_TUPLE ? e->type->n : 1;
    for (int i = 0; i < gpuc_as_rcall(e)->n; i++) {
        const gpuc_tensor_type *in = gpuc_relay_tensor_type(gpuc_as_rcall(e)->args[i]);
        for (int k = 0; k < in->ndim; k++) {
            gpuc_ptrs conditions = {0};
            gpuc_expr symbol = gpuc_var(ctx, "n", GPUC_INDEX);
            gpuc_tensor_type open[GPUC_OP_MAX_OUT] = {0};
            int64_t is;
            assert_true(gpuc_expr_is_int(in->dims[k], &is));
            /* An extent that is not known: whatever comes of it, no crash. */
            takes_size(ctx, e, i, k, NULL, NULL, NULL);
            if (!takes_size(ctx, e, i, k, symbol, &conditions, open)) continue;
            const int64_t tries[] = {0, is > 0 ? is - 1 : 0, is, is + 1};
            for (int j = 0; j < 4; j++) {
                gpuc_expr number = gpuc_int(ctx, tries[j]);
                gpuc_tensor_type known[GPUC_OP_MAX_OUT] = {0};
                bool taken = takes_size(ctx, e, i, k, number, NULL, known),
                     holds = hold(ctx, &conditions, symbol, number);
                sizes_tried++;
                if (!taken && holds) wrong_size(t.text, i, k, tries[j], "is taken only where it is open");
                if (!taken || !holds) continue; /* what may broadcast as a number may not as an open size */
                for (int o = 0; o < num_out; o++)
                    if (!same_extents(ctx, &open[o], &known[o], symbol, number))
                        wrong_size(t.text, i, k, tries[j], "gives other extents where it is open");
            }
        }
    }
    op_trial_free(&t);
}

static void open_sizes_are_checked(void **state)
{
    const op_case *c;
    (void)state;
    for (size_t i = 0; (c = op_case_at(i)); i++) {
        const gpuc_op *op = gpuc_op_find(c->op);
        int k = 0;
        while (k < GPUC_DTYPE_COUNT && !op_case_takes(c, op, gpuc_dtype_list[k])) k++;
        if (k == GPUC_DTYPE_COUNT || gpuc_op_dynamic_find(c->op, NULL))
            continue; /* those are written as others */
        case_arg arg = {c, gpuc_dtype_list[k]};
        gpuc_ctx *ctx;
        assert_null(gpuc_ctx_create(NULL, &ctx));
        GPUC_RAISE_IF(ctx, gpuc_ctx_protect(ctx, check_sizes, &arg));
        gpuc_ctx_destroy(ctx);
    }
    print_message("cases: %d (sizes)\n", sizes_tried);
    assert_int_equal(sizes_wrong, 0);
}

/* Whose inputs decide the shape of the result. */
static void arange_of_numbers(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t v[][3] = {{0, 10, 1}, {3, 20, 4}, {5, -6, -3}, {2, 2, 1}, {7, 0, 1}};
    static const op_case c = {.op = "arange", .in = "three numbers"},
                         of_floats = {.op = "arange", .attrs = "length=[8]", .in = "three floats"};
    op_trial t;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        gpuc_rexpr *args[3];
        for (int k = 0; k < 3; k++)
            args[k] = gpuc_relay_const_scalar(ctx, i % 2 ? GPUC_INT64 : GPUC_INT32, (double)v[i][k]);
        op_trial_of(ctx, &c, 3, args, &t);
        check_trial(ctx, &t);
        op_trial_free(&t);
    }
    gpuc_rexpr *f[] = {gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 1),
                       gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 3),
                       gpuc_relay_const_scalar(ctx, GPUC_FLOAT32, 0.25)};
    op_trial_of(ctx, &of_floats, 3, f, &t);
    check_trial(ctx, &t);
    op_trial_free(&t);
    cover("arange", 0);
}

static void sizes_of_numbers(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const char *const values[] = {"[3, -5, 7]", "[4]"};
    op_trial t;
    char name[24];
    for (int k = 0; k < GPUC_DTYPE_COUNT; k++) {
        if (!(GPUC_T_INTS >> k & 1)) continue;
        for (int i = 0; i < 2; i++) {
            op_case c = {.op = "sizes", .in = "nothing"};
            c.attrs = gpuc_ctx_printf(ctx, "values=%s dtype=%s", values[i],
                                      gpuc_dtype_name(gpuc_dtype_list[k], name));
            op_trial_of(ctx, &c, 0, NULL, &t);
            check_trial(ctx, &t);
            op_trial_free(&t);
        }
        cover("sizes", k);
    }
}

/* Of Random123's known answers, less the key that is added after the last round there. */
static void words_of_the_zero_key(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const uint64_t want[] = {0x09218ebde6c85537u, 0x55941f5266d86105u, 0x4bd25e16282434dcu,
                                    0xee29ec846bd2e406u};
    const int64_t ten = 10;
    const gpuc_rtype *type = gpuc_relay_rtype_tensor_static(ctx, GPUC_UINT64, 1, &ten);
    gpuc_rexpr *key = gpuc_relay_constant(ctx, type, gpuc_relay_const_data_create(ctx, 80));
    memset(gpuc_as_rconstant(key)->data->bytes, 0, 80);
    gpuc_rexpr **results = run(ctx, fx_op(ctx, "random.threefry_generate", "out_shape=[4]", 1, &key), 2);
    assert_memory_equal(gpuc_as_rconstant(results[1])->data->bytes, want, sizeof want);
}

/* Beyond what doubles hold: powers of int64 are exact, and wrap. */
static void powers_of_integers(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    static const int64_t x[] = {3, -3, 7, 2, 2, -1, -1, 1, 5, 0, 3, 10},
                         n[] = {39, 39, 22, 62, 64, INT64_MAX, INT64_MIN, -5, -1, 0, 41, 18},
                         want[] = {4052555153018976267,
                                   -4052555153018976267,
                                   3909821048582988049,
                                   4611686018427387904,
                                   0,
                                   -1,
                                   1,
                                   1,
                                   0,
                                   1,
                                   -420491770248316829,
                                   1000000000000000000};
    enum { N = sizeof x / sizeof x[0] };
    gpuc_rexpr *args[] = {fx_ints(ctx, N, x), fx_ints(ctx, N, n)};
    gpuc_rexpr **y = run(ctx, fx_op(ctx, "power", NULL, 2, args), 1);
    for (int i = 0; i < N; i++) {
        int64_t got;
        gpuc_expr_is_int(gpuc_relay_const_element(ctx, gpuc_as_rconstant(y[0]), i), &got);
        if (got != want[i])
            fail_msg("%lld to the power of %lld is %lld", (long long)x[i], (long long)n[i], (long long)got);
    }
}

/* On every type that the row takes. */
static void every_row_is_covered(void **state)
{
    (void)state;
    for (size_t i = 0; i < gpuc_op_count(); i++) {
        const gpuc_op *op = gpuc_op_at(i);
        char name[24];
        for (int k = 0; op->compute && k < GPUC_DTYPE_COUNT; k++)
            if (gpuc_op_types(op, gpuc_op_main_input(op)) >> k & 1 && !covered[i][k])
                fail_msg("no test of %s of %s", op->name, gpuc_dtype_name(gpuc_dtype_list[k], name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_sizes_are_checked),
        cmocka_unit_test(each_case_on_each_type),
        fx_test(arange_of_numbers),
        fx_test(powers_of_integers),
        fx_test(words_of_the_zero_key),
        fx_test(sizes_of_numbers),
        cmocka_unit_test(every_row_is_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
