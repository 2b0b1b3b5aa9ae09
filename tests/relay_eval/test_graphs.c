/* SPDX-License-Identifier: Apache-2.0 */
/* Random ONNX graphs give in the interpreter what they give operator by operator: test_relay_graphs [graphs [first seed]].
 * With fixed and with open extents, as they are and printed and parsed. */
#include <math.h>

#include "../graphs/random_graph.h"
#include "../onnx/load.h"
#include "../relay_pass/interp.h"

typedef struct job {
    const graph *g;
    bool open, text, valid;
} job;

static gpuc_rmodule *import(gpuc_ctx *ctx, const job *j)
{
    gpuc_buf file;
    graph_write(j->g, j->open, &file);
    return wr_load_open(ctx, &file);
}

static void compare(gpuc_ctx *ctx, size_t which, const gpuc_rexpr *want, const gpuc_relay_value *got)
{
    const gpuc_tensor_type *t = gpuc_relay_tensor_type(want);
    int64_t dims[GPUC_OP_MAX_DIMS];
    bool known = gpuc_relay_tensor_type_static(t, dims);
    bool same = known && gpuc_relay_value_get_kind(got) == GPUC_RELAY_TENSOR &&
                gpuc_dtype_equal(gpuc_relay_value_dtype(got), t->dtype) &&
                gpuc_relay_value_ndim(got) == t->ndim;
    for (int d = 0; same && d < t->ndim; d++) same = dims[d] == gpuc_relay_value_dims(got)[d];
    if (!same) gpuc_raise(ctx, GPUC_INTERNAL, "output %zu has another type", which);
    const gpuc_const_data *data = gpuc_as_rconstant(want)->data;
    if (data->size && memcmp(data->bytes, gpuc_relay_value_data(got), data->size)) {
        gpuc_rexpr *other = gpuc_relay_const_bytes(ctx, t->dtype, t->ndim, dims, gpuc_relay_value_data(got));
        for (int64_t i = 0; i < fx_count(want); i++) {
            double w = fx_element(ctx, want, i), x = fx_element(ctx, other, i);
            if (!(fabs(w - x) <= 1e-5 * (1 + fabs(w))) && !(isnan(w) && isnan(x)) && w != x)
                gpuc_raise(ctx, GPUC_INTERNAL, "element %lld of output %zu is %.9g, should be %.9g",
                           (long long)i, which, x, w);
        }
    }
}

static void run_job(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    gpuc_rmodule *m = import(ctx, j);
    gpuc_rexpr *fn = gpuc_rmodule_get(m, "main");
    const gpuc_rfunction *f = gpuc_as_rfunction(fn);
    /* extents of open graphs are those of the fixed one */
    gpuc_rmodule *fixed = import(ctx, &(job){.g = j->g});
    gpuc_rexpr *fixed_main = gpuc_rmodule_get(fixed, "main");
    gpuc_rexpr **args = interp_args(ctx, fixed_main, j->g->seed);
    gpuc_ptrs want = {0};
    interp_run(ctx, fixed, fixed_main, f->n, args, &want);
    if (m->reads.count) return; /* the host reads sizes there */
    j->valid = true;
    if (j->text) {
        const char *text = gpuc_relay_text(ctx, m, GPUC_RELAY_PRINT_CONSTANTS);
        m = gpuc_relay_parse(ctx, text, "text", NULL);
    }
    gpuc_relay_interpreter *i = gpuc_relay_interpreter_create(ctx, m, NULL);
    gpuc_relay_value **values = gpuc_new_array(ctx, gpuc_relay_value *, f->n + 1);
    for (int k = 0; k < f->n; k++) {
        int64_t dims[GPUC_OP_MAX_DIMS];
        const gpuc_tensor_type *t = gpuc_relay_tensor_type(args[k]);
        gpuc_relay_tensor_type_static(t, dims);
        values[k] =
            gpuc_relay_make_tensor(i, t->dtype, t->ndim, dims, gpuc_as_rconstant(args[k])->data->bytes);
    }
    gpuc_relay_value *got = gpuc_relay_interpret(i, "main", f->n, values);
    for (size_t o = 0; o < want.count; o++)
        compare(ctx, o, want.at[o], want.count > 1 ? gpuc_relay_value_field(got, (int)o) : got);
    for (int k = 0; k < f->n; k++) gpuc_relay_value_release(values[k]);
    gpuc_relay_value_release(got);
}

static bool try_job(job *j)
{
    gpuc_ctx *ctx;
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_ctx_protect(ctx, run_job, j);
    gpuc_ctx_destroy(ctx);
    if (!status) return true;
    bool wrong = j->valid;
    if (wrong)
        printf("seed %llu%s%s: %s\n", (unsigned long long)j->g->seed, j->open ? ", open" : "",
               j->text ? ", as text" : "", gpuc_status_message(status));
    gpuc_status_release(status);
    return !wrong;
}

int main(int argc, char **argv)
{
    int graphs = argc > 1 ? atoi(argv[1]) : 100, first = argc > 2 ? atoi(argv[2]) : 1, valid = 0,
        failures = 0;
    for (int s = first; s < first + graphs; s++) {
        graph g;
        graph_random((uint64_t)s, &g);
        for (int k = 0; k < 4; k++) {
            job j = {.g = &g, .open = k & 1, .text = k & 2};
            failures += !try_job(&j);
            valid += j.valid;
        }
    }
    printf("cases: %d (graphs that were run; %d failures)\n", valid, failures);
    return failures != 0 || !valid;
}
