/* SPDX-License-Identifier: Apache-2.0 */
/* C functions that generated code calls with addresses of elements and their strides: in extern operations and in
 * intrinsics, wherever the elements lie, and of all types. */
#include "../codegen/run.h"

#include <stdio.h>
#include <string.h>

#include <gpuc/build.h>
#include <gpuc/schedule.h>

#include "base/element.h"

#define EXPORTED __attribute__((visibility("default")))

/* to[i, j] = from[i, j], of elements of so many bytes. */
EXPORTED int32_t test_copy(void *to, const void *from, int64_t bytes, int64_t rows, int64_t columns,
                           int64_t to_row, int64_t to_column, int64_t from_row, int64_t from_column);
int32_t test_copy(void *to, const void *from, int64_t bytes, int64_t rows, int64_t columns, int64_t to_row,
                  int64_t to_column, int64_t from_row, int64_t from_column)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            memcpy((char *)to + (i * to_row + j * to_column) * bytes,
                   (const char *)from + (i * from_row + j * from_column) * bytes, (size_t)bytes);
    return 0;
}

static gpuc_expr call_copy(gpuc_ctx *ctx, const char *name, gpuc_dtype t, const gpuc_expr *rest, gpuc_expr to,
                           gpuc_expr from)
{
    gpuc_expr args[9] = {to, from, gpuc_int(ctx, (int64_t)gpuc_dtype_bytes(t))};
    for (int i = 0; i < 6; i++) args[3 + i] = rest[i];
    return gpuc_tir_intrinsic(ctx, GPUC_INT32, "extern", name, NULL, 9, args);
}

/* ---- Extern operations ------------------------------------------------------------------------------ */

typedef struct copy {
    gpuc_dtype type;
    gpuc_expr rows, columns;
    bool compact; /* the body takes it that rows lie side by side */
    const char *function;
} copy;

static gpuc_expr stride(gpuc_ctx *ctx, const gpuc_tir_buffer *b, int dim)
{
    gpuc_expr d = gpuc_int(ctx, dim);
    return gpuc_tir_intrinsic(ctx, GPUC_INT64, "stride", NULL, b, 1, &d);
}

static gpuc_expr address(gpuc_ctx *ctx, const char *name, const gpuc_tir_buffer *b)
{
    const gpuc_expr first[] = {gpuc_int(ctx, 0), gpuc_int(ctx, 0)};
    return gpuc_tir_intrinsic(ctx, GPUC_INT64, name, NULL, b, 2, first);
}

static gpuc_stmt copy_body(gpuc_ctx *ctx, const gpuc_tir_buffer *const *in, const gpuc_tir_buffer *const *out,
                           void *arg)
{
    const copy *c = arg;
    gpuc_expr one = gpuc_int(ctx, 1);
    const gpuc_expr rest[] = {c->rows,
                              c->columns,
                              c->compact ? c->columns : stride(ctx, out[0], 0),
                              c->compact ? one : stride(ctx, out[0], 1),
                              c->compact ? c->columns : stride(ctx, in[0], 0),
                              c->compact ? one : stride(ctx, in[0], 1)};
    return gpuc_tir_eval(ctx, call_copy(ctx, c->function, c->type, rest, address(ctx, "address", out[0]),
                                        address(ctx, "const_address", in[0])));
}

static gpuc_tensor *copied(gpuc_ctx *ctx, const char *name, gpuc_tensor *t, copy *c)
{
    const gpuc_expr *shape = gpuc_te_shape(t);
    gpuc_tensor *out;
    int ndim = 2;
    c->type = gpuc_te_dtype(t);
    c->rows = shape[0];
    c->columns = shape[1];
    if (!c->function) c->function = "test_copy";
    gpuc_te_extern(ctx, name, 1, &t, 1, &ndim, &shape, &c->type, copy_body, c, &out);
    return out;
}

/* The same elements. */
static gpuc_tensor *again(gpuc_ctx *ctx, const char *name, gpuc_tensor *t)
{
    gpuc_iter *ij[] = {gpuc_te_axis(ctx, gpuc_te_shape(t)[0], "i"),
                       gpuc_te_axis(ctx, gpuc_te_shape(t)[1], "j")};
    const gpuc_expr at[] = {gpuc_iter_var(ij[0]), gpuc_iter_var(ij[1])};
    return gpuc_te_compute(ctx, name, 2, ij, gpuc_te_read(ctx, t, 2, at));
}

enum { ROWS = 5, COLUMNS = 7, MOST = 8 };

/* Builds a function of one input and one output; of open sizes the rows are an argument. */
static gpuc_module *build(gpuc_ctx *ctx, gpuc_schedule *s, gpuc_tensor *const *args)
{
    gpuc_tir_func *f = gpuc_schedule_lower(s, "f", 2, args);
    return gpuc_build_func(ctx, run_runtime(), run_device(), run_target(ctx), f);
}

static void run(gpuc_module *m, gpuc_dtype t, const void *in, int64_t in_size, bool open, void *out)
{
    gpuc_ndarray *arrays[2];
    gpuc_function *f;
    const int64_t dims[] = {ROWS, COLUMNS};
    run_ok(gpuc_module_get_function(m, "f", &f));
    run_ok(in_size ? gpuc_ndarray_create(run_runtime(), run_device(), t, 1, &in_size, &arrays[0])
                   : gpuc_ndarray_create(run_runtime(), run_device(), t, 2, dims, &arrays[0]));
    run_ok(gpuc_ndarray_create(run_runtime(), run_device(), t, 2, dims, &arrays[1]));
    run_ok(gpuc_ndarray_write(arrays[0], in, gpuc_ndarray_bytes(arrays[0])));
    const gpuc_value args[] = {gpuc_arg(arrays[0]), gpuc_arg(arrays[1]), gpuc_arg_int(ROWS)};
    run_ok(gpuc_function_call(f, args, open ? 3 : 2, NULL));
    run_ok(gpuc_ndarray_read(arrays[1], out, gpuc_ndarray_bytes(arrays[1])));
    for (int i = 0; i < 2; i++) gpuc_ndarray_release(arrays[i]);
    gpuc_function_release(f);
    gpuc_module_release(m);
}

/* Where what the function reads and writes lies: in arguments; rows that a call decides; between computes; with padded
 * rows; a part of an array, backwards; of intrinsics: transposed. */
enum { ARGUMENTS, OPEN, BETWEEN, PADDED, VIEW, PLACES, TRANSPOSED };

typedef struct task {
    gpuc_dtype type;
    int place;
    copy copy;
} task;

static gpuc_schedule *placed(gpuc_ctx *ctx, task *t, gpuc_tensor **args)
{
    gpuc_expr rows = t->place == OPEN ? gpuc_var(ctx, "n", GPUC_INT64) : gpuc_int(ctx, ROWS),
              columns = gpuc_int(ctx, COLUMNS), shape[] = {rows, columns};
    const gpuc_expr strides[] = {gpuc_int(ctx, 9), gpuc_int(ctx, -1)};
    args[0] = t->place == VIEW ? gpuc_te_placeholder_strided(ctx, "A", 2, shape, t->type, gpuc_int(ctx, 50),
                                                             strides, gpuc_int(ctx, 8))
                               : gpuc_te_placeholder(ctx, "A", 2, shape, t->type);
    bool between = t->place == BETWEEN || t->place == PADDED;
    gpuc_tensor *from = between ? again(ctx, "T", args[0]) : args[0],
                *made = copied(ctx, "E", from, &t->copy);
    args[1] = between ? again(ctx, "C", made) : made;
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &args[1]);
    if (t->place == PADDED) gpuc_stage_storage_align(gpuc_schedule_stage(s, from), 0, 4, 1);
    return s;
}

static void place_body(gpuc_ctx *ctx, void *arg)
{
    task *t = arg;
    gpuc_tensor *args[2];
    uint8_t in[50 * 8], out[ROWS * COLUMNS * 8];
    size_t bytes = gpuc_dtype_bytes(t->type);
    for (size_t i = 0; i < 50 * bytes; i++)
        in[i] =
            gpuc_is_bool(t->type) ? i % 3 == 0 : (uint8_t)(i * 37 % 120); /* no NaN, whose bits may change */
    memset(out, 0x77, sizeof out);
    gpuc_schedule *s = placed(ctx, t, args);
    run(build(ctx, s, args), t->type, in, t->place == VIEW ? 50 : 0, t->place == OPEN, out);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            int at = t->place == VIEW ? 8 + 9 * i - j : i * COLUMNS + j;
            if (memcmp(out + (size_t)(i * COLUMNS + j) * bytes, in + (size_t)at * bytes, bytes) != 0)
                fail_msg("element [%d, %d] of place %d, type %d.%d", i, j, t->place, t->type.code,
                         t->type.bits);
        }
}

static bool is_c(void)
{
    return run_device_type() == GPUC_DEVICE_CPU;
}

static void test_places(void **state)
{
    (void)state;
    for (int place = 0; place < PLACES && is_c(); place++) {
        task t = {.type = GPUC_FLOAT32, .place = place};
        run_in_ctx(place_body, &t);
    }
}

static void test_types(void **state)
{
    (void)state;
    for (int e = 0; e < GPUC_NUM_ELEMENTS && is_c(); e++) {
        task t = {.type = gpuc_elements[e].dtype, .place = ARGUMENTS};
        run_in_ctx(place_body, &t);
    }
}

static void refused_body(gpuc_ctx *ctx, void *arg)
{
    task *t = arg;
    gpuc_tensor *args[2];
    gpuc_schedule *s = placed(ctx, t, args);
    gpuc_module_release(build(ctx, s, args));
}

static void refuse(task t, const char *words)
{
    gpuc_ctx *ctx;
    run_ok(gpuc_ctx_create(NULL, &ctx));
    run_refused(gpuc_ctx_protect(ctx, refused_body, &t), words);
    gpuc_ctx_destroy(ctx);
}

static void test_refused(void **state)
{
    (void)state;
    if (!is_c()) {
        refuse((task){.type = GPUC_FLOAT32}, "cannot call test_copy");
        return;
    }
    for (int place = PADDED; place < PLACES; place++)
        refuse((task){.type = GPUC_FLOAT32, .place = place, .copy = {.compact = true}},
               "extern 'E': its body calls 'const_address' on");
    refuse((task){.type = GPUC_FLOAT32, .copy = {.function = "test_no_such_function"}},
           "test_no_such_function");
}

/* ---- Intrinsics ------------------------------------------------------------------------------------- */

static gpuc_stmt copy_part(gpuc_ctx *ctx, const gpuc_tensor_region *const *in,
                           const gpuc_tensor_region *const *out, void *arg)
{
    (void)arg;
    const gpuc_expr rest[] = {gpuc_int(ctx, 2),
                              gpuc_int(ctx, 3),
                              gpuc_tensor_region_stride(ctx, out[0], 0),
                              gpuc_tensor_region_stride(ctx, out[0], 1),
                              gpuc_tensor_region_stride(ctx, in[0], 0),
                              gpuc_tensor_region_stride(ctx, in[0], 1)};
    return gpuc_tir_eval(ctx, call_copy(ctx, "test_copy", GPUC_FLOAT32, rest,
                                        gpuc_tensor_region_address(ctx, out[0], true),
                                        gpuc_tensor_region_address(ctx, in[0], false)));
}

/* Tiles of 2 x 3 of T, which lies transposed or with padded rows, into a local part, into C; both have tails. */
static void intrin_body(gpuc_ctx *ctx, void *arg)
{
    int place = *(const int *)arg;
    const gpuc_expr shape[] = {gpuc_int(ctx, ROWS), gpuc_int(ctx, COLUMNS)},
                    tile_shape[] = {gpuc_int(ctx, 2), gpuc_int(ctx, 3)};
    gpuc_tensor *tile = gpuc_te_placeholder(ctx, "tile", 2, tile_shape, GPUC_FLOAT32);
    gpuc_tensor *a = gpuc_te_placeholder(ctx, "A", 2, shape, GPUC_FLOAT32), *t = again(ctx, "T", a),
                *part = again(ctx, "part", t), *args[] = {a, again(ctx, "C", part)};
    gpuc_schedule *s = gpuc_schedule_create(ctx, 1, &args[1]);
    const gpuc_tensor_intrin *intrin = gpuc_tensor_intrin_declare_parts(
        ctx, "copy", again(ctx, "same", tile), 1, &tile, &(gpuc_tensor_parts){.body = copy_part});
    gpuc_stage *stages[] = {gpuc_schedule_stage(s, args[1]), gpuc_schedule_stage(s, part)};
    gpuc_iter *io, *jo, *ii, *ji, *at = NULL;
    if (place == TRANSPOSED) gpuc_stage_transform_layout(gpuc_schedule_stage(s, t), "BA");
    if (place == PADDED) gpuc_stage_storage_align(gpuc_schedule_stage(s, t), 0, 4, 1);
    for (int i = 0; i < 2; i++) {
        if (at) gpuc_stage_compute_at(stages[1], stages[0], at);
        gpuc_stage_tile(stages[i], gpuc_stage_axis(stages[i], 0), gpuc_stage_axis(stages[i], 1), 2, 3, &io,
                        &jo, &ii, &ji);
        gpuc_stage_tensorize(stages[i], ii, intrin);
        at = jo;
    }
    gpuc_stage_set_scope(stages[1], "local");
    float in[ROWS * COLUMNS], out[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) in[i] = (float)i, out[i] = -1;
    run(build(ctx, s, args), GPUC_FLOAT32, in, 0, false, out);
    assert_memory_equal(in, out, sizeof in);
}

static void test_intrins(void **state)
{
    (void)state;
    static const int places[] = {BETWEEN, PADDED, TRANSPOSED};
    for (int i = 0; i < 3 && is_c(); i++) run_in_ctx(intrin_body, (void *)(uintptr_t)&places[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_intrins),
    };
    if (!run_begin(argc > 1 ? argv[1] : "c")) return 77;
    return run_end(cmocka_run_group_tests_name(run_target_text, tests, NULL, NULL));
}
