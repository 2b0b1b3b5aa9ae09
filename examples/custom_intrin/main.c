/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor intrinsic with loops inside: a product of blocks of 4 x 4 x 4, which a schedule puts in the place of the
 * innermost loops of C = A * B. On Vulkan and OpenCL its update is loop IR with accumulators of its own; on the CPU it calls
 * a C function of this program, with addresses and strides. The sizes are no multiples of 4: plain loops compute the tails.
 * Prints the loops, then runs them on each device that is there. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <gpuc/build.h>
#include <gpuc/devices.h>

enum { SIDE = 4, ROWS = 70, COLUMNS = 50, DEPTH = 43 };

/* ---- The intrinsic ---------------------------------------------------------------------------------- */

/* What generated C calls. c and a have rows of so many elements, b too. */
int32_t micro_kernel(float *c, int64_t c_row, const float *a, int64_t a_row, const float *b, int64_t b_row);
int32_t micro_kernel(float *c, int64_t c_row, const float *a, int64_t a_row, const float *b, int64_t b_row)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            for (int k = 0; k < SIDE; k++) c[i * c_row + j] += a[i * a_row + k] * b[k * b_row + j];
    return 0;
}

static gpuc_stmt loop(gpuc_ctx *ctx, gpuc_expr var, gpuc_stmt body)
{
    return gpuc_tir_for_(ctx, var, gpuc_int(ctx, 0), gpuc_int(ctx, SIDE), GPUC_LOOP_SERIAL, GPUC_THREAD_NONE,
                         body);
}

/* For each row of the block: its four sums as a vector in local storage, joined to, and stored. */
static gpuc_stmt update_by_loops(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                                 const gpuc_tensor_region *const *out, void *arg)
{
    (void)arg;
    gpuc_expr i = gpuc_var(ctx, "i", GPUC_INDEX), k = gpuc_var(ctx, "k", GPUC_INDEX), zero = gpuc_int(ctx, 0),
              side = gpuc_int(ctx, SIDE);
    const gpuc_expr row_of_c[] = {i, zero}, element_of_a[] = {i, k}, row_of_b[] = {k, zero};
    const gpuc_tir_buffer *sums = gpuc_tir_buffer_make(ctx, "sums", GPUC_FLOAT32, 1, &side, GPUC_SCOPE_LOCAL);
    gpuc_expr all = gpuc_tir_ramp(ctx, zero, gpuc_int(ctx, 1), SIDE),
              have = gpuc_tir_load(ctx, sums, 1, &all);
    gpuc_expr a = gpuc_tir_broadcast(ctx, gpuc_tensor_region_load_at(ctx, in[0], element_of_a), SIDE);
    gpuc_expr b = gpuc_tensor_region_load_vector(ctx, in[1], row_of_b, SIDE);
    const gpuc_stmt parts[] = {
        gpuc_tir_store(ctx, sums, 1, &all, gpuc_tensor_region_load_vector(ctx, out[0], row_of_c, SIDE)),
        loop(ctx, k, gpuc_tir_store(ctx, sums, 1, &all, gpuc_add(ctx, have, gpuc_mul(ctx, a, b)))),
        gpuc_tensor_region_store_at(ctx, out[0], row_of_c, have),
    };
    return loop(ctx, i, gpuc_tir_alloc(ctx, sums, gpuc_tir_seq(ctx, 3, parts)));
}

static gpuc_stmt update_by_call(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                                const gpuc_tensor_region *const *out, void *arg)
{
    (void)arg;
    const gpuc_expr args[] = {
        gpuc_tensor_region_address(ctx, out[0], true), gpuc_tensor_region_stride(ctx, out[0], 0),
        gpuc_tensor_region_address(ctx, in[0], false), gpuc_tensor_region_stride(ctx, in[0], 0),
        gpuc_tensor_region_address(ctx, in[1], false), gpuc_tensor_region_stride(ctx, in[1], 0),
    };
    return gpuc_tir_eval(ctx, gpuc_tir_intrinsic(ctx, GPUC_INT32, "extern", "micro_kernel", NULL, 6, args));
}

/* The sums of a product: of blocks, or of whole matrices. */
static gpuc_tensor *product(gpuc_ctx *ctx, const char *name, gpuc_tensor *a, gpuc_tensor *b)
{
    gpuc_iter *axes[] = {gpuc_te_axis(ctx, gpuc_te_shape(a)[0], "i"),
                         gpuc_te_axis(ctx, gpuc_te_shape(b)[1], "j")};
    gpuc_iter *k = gpuc_te_reduce_axis(ctx, gpuc_te_shape(b)[0], "k");
    const gpuc_expr at_a[] = {gpuc_iter_var(axes[0]), gpuc_iter_var(k)},
                    at_b[] = {gpuc_iter_var(k), gpuc_iter_var(axes[1])};
    gpuc_expr x = gpuc_mul(ctx, gpuc_te_read(ctx, a, 2, at_a), gpuc_te_read(ctx, b, 2, at_b));
    return gpuc_te_compute(ctx, name, 2, axes, gpuc_te_reduce(ctx, "sum", x, 1, &k));
}

static gpuc_tensor *matrix(gpuc_ctx *ctx, const char *name, int64_t rows, int64_t columns)
{
    const gpuc_expr shape[] = {gpuc_int(ctx, rows), gpuc_int(ctx, columns)};
    return gpuc_te_placeholder(ctx, name, 2, shape, GPUC_FLOAT32);
}

static gpuc_tensor_intrin *declare(gpuc_ctx *ctx, bool call)
{
    gpuc_tensor *blocks[] = {matrix(ctx, "a", SIDE, SIDE), matrix(ctx, "b", SIDE, SIDE)};
    const gpuc_tensor_parts parts = {.update = call ? update_by_call : update_by_loops};
    return gpuc_tensor_intrin_declare_parts(ctx, "micro_kernel", product(ctx, "c", blocks[0], blocks[1]), 2,
                                            blocks, &parts);
}

/* ---- The schedule ----------------------------------------------------------------------------------- */

typedef struct job {
    gpuc_runtime *rt;
    gpuc_device *device;
    const char *target;
    bool print;
    gpuc_module *module; /* out */
} job;

/* A thread for each block, with its sums in local storage. */
static gpuc_schedule *schedule(gpuc_ctx *ctx, const gpuc_target *target, gpuc_tensor *c)
{
    bool cpu = gpuc_target_device_type(target) == GPUC_DEVICE_CPU;
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &c);
    gpuc_stage *sums = gpuc_schedule_stage(s, gpuc_cache_write(s, c, "local")),
               *out = gpuc_schedule_stage(s, c);
    gpuc_iter *io, *jo, *ii, *ji, *ko, *ki, *group, *thread;
    gpuc_stage_tile(out, gpuc_stage_axis(out, 0), gpuc_stage_axis(out, 1), SIDE, SIDE, &io, &jo, &ii, &ji);
    if (cpu) {
        gpuc_stage_parallel(out, io);
        thread = jo;
    } else {
        gpuc_stage_bind(out, io, "blockIdx.y");
        gpuc_stage_split(out, jo, 8, &group, &thread);
        gpuc_stage_bind(out, group, "blockIdx.x");
        gpuc_stage_bind(out, thread, "threadIdx.x");
    }
    gpuc_stage_compute_at(sums, out, thread);
    gpuc_stage_tile(sums, gpuc_stage_axis(sums, 0), gpuc_stage_axis(sums, 1), SIDE, SIDE, &io, &jo, &ii, &ji);
    gpuc_stage_split(sums, gpuc_stage_reduce_axis(sums, 0), SIDE, &ko, &ki);
    gpuc_stage_reorder(sums, 6, (gpuc_iter *[]){io, jo, ko, ii, ji, ki});
    gpuc_stage_tensorize(sums, ii, declare(ctx, cpu));
    return s;
}

static void compile(gpuc_ctx *ctx, void *arg)
{
    job *j = arg;
    const gpuc_target *target = gpuc_target_parse(ctx, j->target, NULL);
    gpuc_tensor *a = matrix(ctx, "A", ROWS, DEPTH), *b = matrix(ctx, "B", DEPTH, COLUMNS),
                *c = product(ctx, "C", a, b);
    gpuc_schedule *s = schedule(ctx, target, c);
    if (j->print) printf("%s\n", gpuc_schedule_text(s));
    gpuc_tir_func *func = gpuc_schedule_lower(s, "multiply", 3, (gpuc_tensor *[]){a, b, c});
    j->module = gpuc_build_func(ctx, j->rt, j->device, target, func);
}

/* ---- Running ---------------------------------------------------------------------------------------- */

static gpuc_status call(gpuc_module *module, gpuc_ndarray *const arrays[3])
{
    gpuc_function *f;
    GPUC_TRY(gpuc_module_get_function(module, "multiply", &f));
    gpuc_status status = gpuc_call(f, gpuc_arg(arrays[0]), gpuc_arg(arrays[1]), gpuc_arg(arrays[2]));
    gpuc_function_release(f);
    return status;
}

static gpuc_status multiply(const job *j, int *out_wrong)
{
    static float a[ROWS][DEPTH], b[DEPTH][COLUMNS], c[ROWS][COLUMNS];
    static const int64_t dims[3][2] = {{ROWS, DEPTH}, {DEPTH, COLUMNS}, {ROWS, COLUMNS}};
    gpuc_ndarray *arrays[3] = {0};
    gpuc_status status = NULL;
    for (int i = 0; i < ROWS * DEPTH; i++) a[i / DEPTH][i % DEPTH] = (float)(i % 17 - 8);
    for (int i = 0; i < DEPTH * COLUMNS; i++) b[i / COLUMNS][i % COLUMNS] = (float)(i % 13 - 6);
    for (int i = 0; i < 3 && !status; i++)
        status = gpuc_ndarray_create(j->rt, j->device, GPUC_FLOAT32, 2, dims[i], &arrays[i]);
    if (!status) status = gpuc_ndarray_write(arrays[0], a, sizeof a);
    if (!status) status = gpuc_ndarray_write(arrays[1], b, sizeof b);
    if (!status) status = call(j->module, arrays);
    if (!status) status = gpuc_ndarray_read(arrays[2], c, sizeof c);
    for (int i = 0; i < 3; i++) gpuc_ndarray_release(arrays[i]);
    *out_wrong = 0;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++) {
            float sum = 0; /* of small integers: exact */
            for (int d = 0; d < DEPTH; d++) sum += a[i][d] * b[d][k];
            *out_wrong += c[i][k] != sum;
        }
    return status;
}

/* 1 if the device multiplied, 0 if there is no such device, -1 on an error. */
static int run_on(gpuc_ctx *ctx, job j, gpuc_device_type type)
{
    int wrong = 0, all = ROWS * COLUMNS;
    gpuc_status status = gpuc_device_open(j.rt, type, 0, &j.device);
    if (status) {
        printf("%-7s not here: %s\n", j.target, gpuc_status_message(status));
        gpuc_status_release(status);
        return 0;
    }
    status = gpuc_ctx_protect(ctx, compile, &j);
    if (!status) status = multiply(&j, &wrong);
    gpuc_module_release(j.module);
    if (status)
        printf("%-7s failed: %s\n", j.target, gpuc_status_message(status));
    else
        printf("%-7s %d of %d elements are right\n", j.target, all - wrong, all);
    int result = status || wrong ? -1 : 1;
    gpuc_status_release(status);
    return result;
}

int main(void)
{
    gpuc_ctx *ctx = NULL;
    gpuc_runtime *rt = NULL;
    gpuc_status status = gpuc_ctx_create(NULL, &ctx);
    if (!status) status = gpuc_runtime_create(&GPUC_RUNTIME_DESC_INIT, &rt);
    if (!status) status = gpuc_devices_register(rt);
    if (status) {
        fprintf(stderr, "%s\n", gpuc_status_message(status));
        return 1;
    }
    const int results[] = {
        run_on(ctx, (job){.rt = rt, .target = "vulkan", .print = true}, GPUC_DEVICE_VULKAN),
        run_on(ctx, (job){.rt = rt, .target = "opencl"}, GPUC_DEVICE_OPENCL),
        run_on(ctx, (job){.rt = rt, .target = "c"}, GPUC_DEVICE_CPU),
    };
    gpuc_runtime_release(rt);
    gpuc_ctx_destroy(ctx);
    for (int i = 0; i < 3; i++)
        if (results[i] < 0) return 1;
    return results[2] ? 0 : 1; /* the CPU is always there */
}
