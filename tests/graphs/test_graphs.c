/* SPDX-License-Identifier: Apache-2.0 */
/* Random ONNX graphs give the same numbers by their definitions, operator by operator, and
 * - as kernels for targets in the evaluator: test_graphs evaluator [graphs [first seed]]
 * - the same for targets with random limits, which are near the sizes of the graphs: test_graphs limits [...]
 * - built and run on a device, half of them in slices: test_graphs TARGET [graphs [first seed]]
 * with fixed and with open extents. A graph that fails is printed as small as dropping nodes makes it. */
#include "../compile/run.h"
#include "../onnx/load.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "../relay_pass/interp.h"
#include "../tir/rule_totals.h"
#include "../base/mutate.h"
#include "evaluate.h"
#include "random_graph.h"
#include "relay_pass/passes.h"

static const char *const targets[] = {
    "c",
    "c -vector_bits=512",
    "opencl",
    "opencl/pocl",
    "vulkan",
    "vulkan/llvmpipe",
    "vulkan/desktop",
    "vulkan/mobile",
    "vulkan -thread_warp_size=4 -num_cores=8 -max_shared_memory=16384",
    "opencl -max_num_threads=1",
};
enum { NUM_TARGETS = sizeof targets / sizeof *targets };

/* ---- Targets with random limits ---- */

static const char *const limited[] = {"vulkan", "vulkan/llvmpipe", "vulkan/desktop", "opencl", "opencl/pocl"};
enum { NUM_LIMITED = sizeof limited / sizeof *limited };

/* A number of the attribute is one of its values, or next to one. */
static const struct {
    const char *attribute;
    int values[8]; /* up to a 0 */
} limits[] = {
    {"max_num_threads", {1, 2, 8, 32, 64, 128, 1024}},
    {"max_threads_y", {1, 4, 64}},
    {"max_threads_z", {1, 2, 64}},
    {"max_grid_x", {2, 5, 64, 65535}},
    {"max_grid_y", {2, 5, 65535}},
    {"max_grid_z", {1, 2, 65535}},
    {"max_shared_memory", {1024, 16384, 32768, 65536}},
    {"max_storage_buffers", {4, 5, 8, 16}},
    {"max_push_constants", {64, 128, 256}},
    {"max_buffer_range", {64, 256, 1024, 4096, 65536}},
    {"max_texels", {16, 64, 1024, 65536}},
    {"max_iterations", {4, 16, 64, 1024}},
    {"thread_warp_size", {1, 4, 8, 32}},
};

static void random_limits(uint64_t seed, char *text, size_t size)
{
    uint64_t state = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < 4; i++) mutate_random(&state);
    size_t used = (size_t)snprintf(text, size, "%s", limited[mutate_below(&state, NUM_LIMITED)]);
    bool opencl = strncmp(text, "opencl", 6) == 0;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        int n = 0;
        while (n < 8 && limits[i].values[n]) n++;
        int value = limits[i].values[mutate_below(&state, (size_t)n)], near = (int)mutate_below(&state, 5);
        bool given = mutate_below(&state, 4) == 0;
        bool exact = strcmp(limits[i].attribute, "thread_warp_size") == 0; /* a power of two */
        if (!exact && near < 2 && value > 4) value += near ? 1 : -1;
        if (!given || (opencl && strcmp(limits[i].attribute, "max_iterations") == 0)) continue;
        used += (size_t)snprintf(text + used, size - used, " -%s=%d", limits[i].attribute, value);
        if (strcmp(limits[i].attribute, "max_num_threads") == 0)
            used += (size_t)snprintf(text + used, size - used, " -max_threads_x=%d", value);
    }
}

typedef struct job {
    const graph *g;
    bool open;
    const char *target; /* of the evaluator; NULL: the device */
    bool limits;        /* of the target are random: what does not fit them may be refused */
    bool valid;         /* out: it was imported with fixed extents, and its definition was run */
} job;

static gpuc_rmodule *import(gpuc_ctx *ctx, const graph *g, bool open)
{
    gpuc_buf file;
    graph_write(g, open, &file);
    return wr_load_open(ctx, &file);
}

/* ---- Comparison ---- */

static void compare(gpuc_ctx *ctx, int which, const gpuc_rexpr *want, const gpuc_rexpr *got)
{
    int64_t n = fx_count(want);
    double max = 1;
    if (!gpuc_relay_rtype_equal(want->type, got->type))
        gpuc_raise(ctx, GPUC_INTERNAL, "output %d has another type", which);
    for (int64_t i = 0; i < n; i++) max = fmax(max, fabs(fx_element(ctx, want, i)));
    double limit = gpuc_is_float(want->type->tensor.dtype) ? 1e-3 * max : 0;
    for (int64_t i = 0; i < n; i++) {
        double w = fx_element(ctx, want, i), x = fx_element(ctx, got, i);
        if (!(fabs(w - x) <= limit) && !(isnan(w) && isnan(x)) && w != x)
            gpuc_raise(ctx, GPUC_INTERNAL, "element %lld of output %d is %.9g, should be %.9g", (long long)i,
                       which, x, w);
    }
}

static gpuc_rexpr *device_output(gpuc_ctx *ctx, int i, const gpuc_rexpr *like)
{
    int ndim;
    const int64_t *dims;
    const void *bytes = run_output(i, &ndim, &dims);
    return gpuc_relay_const_bytes(ctx, like->type->tensor.dtype, ndim, dims, bytes);
}

/* Every second seed in slices. */
static void run_on_device(gpuc_ctx *ctx, gpuc_rmodule *m, uint64_t seed, int n, gpuc_rexpr *const *args,
                          const gpuc_ptrs *like, gpuc_ptrs *outs)
{
    run_array inputs[8];
    GPUC_RAISE_IF(ctx, run_build(ctx, m));
    for (int i = 0; i < n; i++) {
        const gpuc_tensor_type *t = &args[i]->type->tensor;
        inputs[i] =
            (run_array){.dtype = t->dtype, .ndim = t->ndim, .bytes = gpuc_as_rconstant(args[i])->data->bytes};
        gpuc_relay_tensor_type_static(t, inputs[i].dims);
    }
    static const uint32_t budgets[] = {0, 20, 300};
    GPUC_RAISE_IF(ctx, seed % 2 ? run_slices(n, inputs, budgets[seed % 3]) : run_session(n, inputs));
    for (size_t i = 0; i < like->count; i++)
        gpuc_ptrs_push(ctx, outs, device_output(ctx, (int)i, like->at[i]));
}

static void check(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    gpuc_ptrs want = {0}, got = {0};
    gpuc_rmodule *defined = import(ctx, j->g, false);
    gpuc_rexpr *fn = gpuc_rmodule_get(defined, "main"), **args = interp_args(ctx, fn, j->g->seed);
    int n = gpuc_as_rfunction(fn)->n;
    interp_run(ctx, defined, fn, n, args, &want);
    j->valid = true;
    gpuc_rmodule *m = import(ctx, j->g, j->open);
    if (j->target)
        evaluate_module(ctx, m, gpuc_target_parse(ctx, j->target, NULL), args, &got);
    else
        run_on_device(ctx, m, j->g->seed, n, args, &want, &got);
    GPUC_CHECK(want.count == got.count);
    for (size_t i = 0; i < want.count; i++) compare(ctx, (int)i, want.at[i], got.at[i]);
}

/* ---- Counting, and graphs that fail ---- */

typedef enum result { PASSED, REFUSED, FAILED } result;

/* Sizes that only the run knows may be too much to ask, if the message says how to give them; what has
 * numbers for all of them is not. */
static result try_graph(job *j, char *message, size_t size, rule_totals *rules)
{
    gpuc_ctx *ctx;
    if (gpuc_ctx_create(NULL, &ctx)) abort();
    rule_totals_watch(ctx);
    j->valid = false;
    gpuc_status status = gpuc_ctx_protect(ctx, check, j);
    gpuc_code code = gpuc_status_code(status);
    bool few = j->limits && j->valid && (code == GPUC_UNSUPPORTED || code == GPUC_INVALID_ARGUMENT);
    bool refused =
        few || (j->open && j->valid && (code == GPUC_UNSUPPORTED || code == GPUC_INVALID_ARGUMENT) &&
                strstr(gpuc_status_message(status), "--shape"));
    if (status) snprintf(message, size, "%s", gpuc_status_message(status));
    gpuc_status_release(status);
    rule_totals_add(rules, ctx);
    gpuc_ctx_destroy(ctx);
    return !status ? PASSED : refused ? REFUSED : FAILED;
}

static void shrink(const job *j, graph *g, char *message, size_t size)
{
    for (int i = g->num_nodes - 1; i >= 0 && g->num_nodes > 1; i--) {
        graph smaller = *g;
        job again = *j;
        again.g = &smaller;
        graph_drop(&smaller, i);
        char text[4096];
        rule_totals rules = {0}; /* of graphs that are tried again: not asked for */
        if (try_graph(&again, text, sizeof text, &rules) != FAILED) continue;
        *g = smaller;
        snprintf(message, size, "%s", text);
        if (i > g->num_nodes) i = g->num_nodes;
    }
}

static char doing[200]; /* for the handler of signals */

static void say_and_end(int number)
{
    static const char said[] = "\nFAILED by a signal; again: test_graphs ";
    ssize_t ignored = write(1, said, sizeof said - 1);
    ignored = write(1, doing, strlen(doing));
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

static void report(job *j, const char *which, char *message, size_t size)
{
    graph g = *j->g;
    unsigned long long seed = g.seed;
    printf("FAILED: test_graphs %s 1 %llu, %s%s%s: %s\n", which, seed, j->open ? "open" : "fixed",
           j->target ? " for " : "", j->target ? j->target : "", message);
    fflush(stdout);
    shrink(j, &g, message, size);
    printf("the smallest that fails: %s\n", message);
    graph_print(stdout, &g, j->open);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "evaluator";
    int graphs = argc > 2 ? atoi(argv[2]) : 100, counts[3] = {0};
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    bool limits_only = !strcmp(which, "limits"), evaluator = limits_only || !strcmp(which, "evaluator"),
         verbose = getenv("GPUC_TEST_VERBOSE") != NULL;
    static char message[1 << 16];
    static rule_totals rules;
    rule_totals_of(&rules, gpuc_relay_pass_simplify_rules());
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!evaluator && !run_available(argc, argv)) return 77;
    static const int ends[] = {SIGSEGV, SIGABRT, SIGFPE, SIGALRM, SIGBUS};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) signal(ends[i], say_and_end);
    for (int i = 0; i < 2 * graphs; i++) {
        graph g;
        uint64_t seed = first + (uint64_t)i / 2;
        graph_random(seed, &g);
        if (g.num_nodes == 0) continue;
        job j = {.g = &g,
                 .open = i % 2,
                 .limits = limits_only,
                 .target = evaluator ? targets[(seed + (uint64_t)i % 2) % NUM_TARGETS] : NULL};
        char with_limits[1024];
        if (limits_only) {
            random_limits(seed, with_limits, sizeof with_limits);
            j.target = with_limits;
        }
        snprintf(doing, sizeof doing, "%s 1 %llu (%s)\n", which, (unsigned long long)seed,
                 j.open ? "open" : "fixed");
        alarm(120);
        result r = try_graph(&j, message, sizeof message, &rules);
        counts[r]++;
        if (r == FAILED) report(&j, which, message, sizeof message);
        if (r == REFUSED && verbose)
            printf("refused %llu %s%s%s: %s\n", (unsigned long long)seed, j.open ? "open" : "fixed",
                   j.target ? " for " : "", j.target ? j.target : "", message);
    }
    alarm(0);
    rule_totals_print(&rules, "random graphs");
    printf("cases: %d (graphs on %s; %d more were refused, %d failed)\n", counts[PASSED], which,
           counts[REFUSED], counts[FAILED]);
    if (!evaluator) run_end();
    return counts[FAILED] > 0 || (graphs >= 50 && !limits_only && counts[REFUSED] * 5 > counts[PASSED]);
}
