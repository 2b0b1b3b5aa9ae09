/* SPDX-License-Identifier: Apache-2.0 */
#include "on_device.h"

#include <math.h>
#include <stdlib.h>

#include "../codegen/run.h"
#include "gpuc/build.h"

typedef struct device_call {
    gpuc_rexpr *call;
    gpuc_rexpr *open; /* the call that is compiled, where that is another: of variables with open sizes */
    bool plain;       /* by the schedule of rows without one */
    int n, num_out;
    gpuc_ndarray *arrays[16];
    gpuc_module *module;
    const gpuc_tir_func *func;
    gpuc_rexpr *results[8];
} device_call;

static const gpuc_tensor_type *out_type(const gpuc_rexpr *e, int i)
{
    return e->type->kind == GPUC_RTYPE_TUPLE ? &e->type->at[i]->tensor : &e->type->tensor;
}

static void compile(gpuc_ctx *ctx, device_call *d)
{
    gpuc_rexpr *compiled = d->open ? d->open : d->call;
    const gpuc_rcall *c = gpuc_as_rcall(compiled);
    gpuc_tensor_type *in = gpuc_new_array(ctx, gpuc_tensor_type, c->n),
                     *out = gpuc_new_array(ctx, gpuc_tensor_type, d->num_out);
    gpuc_tensor *args[16];
    for (int i = 0; i < c->n; i++) {
        in[i] = c->args[i]->type->tensor;
        args[i] = gpuc_te_placeholder(ctx, "x", in[i].ndim, in[i].dims, in[i].dtype);
    }
    for (int i = 0; i < d->num_out; i++) out[i] = *out_type(compiled, i);
    gpuc_op_call call = {.ctx = ctx,
                         .op = gpuc_relay_call_op(compiled),
                         .attrs = c->attrs,
                         .num_in = c->n,
                         .in = in,
                         .in_values = gpuc_new_array(ctx, const gpuc_expr *, c->n),
                         .num_out = d->num_out,
                         .out = out,
                         .out_values = gpuc_new_array(ctx, const gpuc_expr *, d->num_out)};
    call.op->compute(&call, args, args + c->n);
    const gpuc_target *target = run_target(ctx);
    gpuc_op_schedule_fn schedule = call.op->schedule && !d->plain ? call.op->schedule : gpuc_topi_schedule;
    gpuc_schedule *s = schedule(ctx, target, NULL, d->num_out, args + c->n);
    d->func = gpuc_schedule_lower(s, "row", c->n + d->num_out, args);
    d->module = gpuc_build_func(ctx, run_runtime(), run_device(), target, d->func);
}

static void make_array(gpuc_ctx *ctx, device_call *d, int i, const gpuc_tensor_type *t)
{
    int64_t dims[64];
    gpuc_relay_tensor_type_static(t, dims);
    GPUC_RAISE_IF(ctx,
                  gpuc_ndarray_create(run_runtime(), run_device(), t->dtype, t->ndim, dims, &d->arrays[i]));
}

/* The extent that a variable of the open call stands for. */
static int64_t size_of(const device_call *d, gpuc_expr var)
{
    const gpuc_rcall *open = gpuc_as_rcall(d->open), *given = gpuc_as_rcall(d->call);
    for (int i = 0; i < open->n; i++) {
        const gpuc_tensor_type *t = &open->args[i]->type->tensor;
        int64_t dims[64];
        gpuc_relay_tensor_type_static(&given->args[i]->type->tensor, dims);
        for (int k = 0; k < t->ndim; k++)
            if (t->dims[k] == var) return dims[k];
    }
    fail_msg("no input has the extent of a variable");
    return 0;
}

static void run_on_device(gpuc_ctx *ctx, device_call *d)
{
    const gpuc_rcall *c = gpuc_as_rcall(d->call);
    gpuc_value args[24];
    compile(ctx, d);
    for (int i = 0; i < c->n + d->num_out; i++) {
        const gpuc_tensor_type *t = i < c->n ? &c->args[i]->type->tensor : out_type(d->call, i - c->n);
        make_array(ctx, d, i, t);
        gpuc_const_data *data = i < c->n ? gpuc_as_rconstant(c->args[i])->data : NULL;
        if (data) GPUC_RAISE_IF(ctx, gpuc_ndarray_write(d->arrays[i], data->bytes, data->size));
        args[i] = (gpuc_value){.kind = GPUC_VALUE_NDARRAY, .as.ndarray = d->arrays[i]};
    }
    gpuc_function *f;
    GPUC_RAISE_IF(ctx, gpuc_module_get_function(d->module, "row", &f));
    int n = c->n + d->num_out;
    for (int i = 0; i < d->func->num_scalars; i++)
        args[n++] = (gpuc_value){.kind = GPUC_VALUE_INT, .as.i = size_of(d, d->func->scalars[i])};
    gpuc_status s = gpuc_function_call(f, args, n, NULL);
    gpuc_function_release(f);
    GPUC_RAISE_IF(ctx, s);
    for (int i = 0; i < d->num_out; i++) {
        const gpuc_tensor_type *t = out_type(d->call, i);
        gpuc_const_data *data =
            gpuc_relay_const_data_create(ctx, (size_t)gpuc_relay_tensor_type_bytes(ctx, t));
        GPUC_RAISE_IF(ctx, gpuc_ndarray_read(d->arrays[c->n + i], data->bytes, data->size));
        d->results[i] = gpuc_relay_constant(
            ctx, d->call->type->kind == GPUC_RTYPE_TUPLE ? d->call->type->at[i] : d->call->type, data);
    }
    for (int i = 0; i < c->n + d->num_out; i++) gpuc_ndarray_release(d->arrays[i]);
    gpuc_module_release(d->module);
}

void on_device_check_same(gpuc_ctx *ctx, gpuc_rexpr *call, gpuc_rexpr *open, const char *text)
{
    if (getenv("GPUC_TEST_VERBOSE")) print_message("  %s\n", text);
    int num_out = call->type->kind == GPUC_RTYPE_TUPLE ? call->type->n : 1;
    device_call by_row = {.call = call, .num_out = num_out, .open = open},
                plain = {.call = call, .num_out = num_out, .plain = true};
    run_on_device(ctx, &by_row);
    run_on_device(ctx, &plain);
    for (int i = 0; i < num_out; i++) {
        const gpuc_const_data *x = gpuc_as_rconstant(by_row.results[i])->data,
                              *y = gpuc_as_rconstant(plain.results[i])->data;
        for (size_t k = 0; k < x->size; k++)
            if (((const char *)x->bytes)[k] != ((const char *)y->bytes)[k])
                fail_msg("%s: output %d: byte %zu differs", text, i, k);
    }
}

/* Every 7th float is NaN where the range says so: lo is NaN. */
static void put_nans(const gpuc_rexpr *x)
{
    const gpuc_const_data *data = gpuc_as_rconstant(x)->data;
    float nan = NAN;
    for (size_t i = 3; i * 4 < data->size; i += 7) memcpy((char *)data->bytes + 4 * i, &nan, 4);
}

static void check(gpuc_ctx *ctx, void *arg)
{
    op_case c = *(const op_case *)arg;
    bool nans = isnan(c.hi);
    if (nans) c.hi = 3;
    fx_rng r = {(uint64_t)strlen(c.in) * 977 + strlen(c.op)};
    gpuc_rexpr *args[8];
    ref_call ref = {.op = c.op, .attrs = c.attrs ? c.attrs : "", .num_out = 1};
    ref.num_in = op_case_inputs(ctx, &c, GPUC_FLOAT32, &r, args);
    if (nans) put_nans(args[0]);
    for (int i = 0; i < ref.num_in; i++) ref.in[i] = op_case_ref(ctx, args[i]);
    ref_fn *fn = ref_find(c.op);
    if (!fn) fail_msg("there is no reference for %s", c.op);
    fn(&ref);
    device_call d = {.call = fx_op(ctx, c.op, c.attrs, ref.num_in, args), .num_out = ref.num_out};
    const char *text = gpuc_ctx_printf(ctx, "%s(%s, %s)", c.op, c.in, ref.attrs);
    run_on_device(ctx, &d);
    for (int i = 0; i < ref.num_out; i++) op_case_compare(ctx, &c, text, d.results[i], &ref.out[i], 1);
    for (int i = 0; i < ref.num_in; i++) free(ref.in[i].v);
    for (int i = 0; i < ref.num_out; i++) free(ref.out[i].v);
}

static int count_tensors(const char *in)
{
    int n = 1;
    for (; *in; in++) n += *in == '[';
    return n;
}

/* Why a target cannot run a kernel with these operands, each in a buffer of its own; NULL: it can. */
static const char *lacks(const gpuc_target *t, const char *in)
{
    if (strstr(in, "float64") && !t->float64) return "the target has no float64";
    return count_tensors(in) > t->max_storage_buffers ? "the target binds fewer buffers to a kernel" : NULL;
}

static void find_lacking(gpuc_ctx *ctx, void *arg)
{
    const char **text = arg;
    *text = lacks(run_target(ctx), *text);
}

void on_device_check_all(const op_case *cases, size_t n)
{
    int ran = 0;
    for (size_t i = 0; i < n; i++) {
        const char *lacking = cases[i].in;
        run_in_ctx(find_lacking, &lacking);
        print_message("  %s(%s, %s)%s%s\n", cases[i].op, cases[i].in, cases[i].attrs ? cases[i].attrs : "",
                      lacking ? ": skipped: " : "", lacking ? lacking : "");
        if (!lacking) run_in_ctx(check, (void *)&cases[i]);
        ran += !lacking;
    }
    print_message("cases: %d\n", ran);
}

/* ---- Cases at random ---- */

static void (*check_one)(gpuc_ctx *ctx, void *arg);
static int num_random;
static uint64_t first_seed = 1;

static void at_random(void **state)
{
    (void)state;
    for (int i = 0; i < num_random; i++) {
        uint64_t seed = first_seed + (uint64_t)i;
        on_device_case c = {.rng = {seed * 7919}, .seed = seed};
        run_in_ctx(check_one, &c);
    }
}

int on_device_main(int argc, char **argv, int num_cases, void (*one)(gpuc_ctx *ctx, void *arg))
{
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    check_one = one;
    num_random = argc > 2 ? atoi(argv[2]) : num_cases;
    if (argc > 3) first_seed = strtoull(argv[3], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(at_random)};
    return run_end(cmocka_run_group_tests(tests, NULL, NULL));
}
