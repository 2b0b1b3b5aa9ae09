/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what the shell tests of the command line need: packages without kernels, tensors good and bad,
 * models. */
#include "make_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/package.h"
#include "base/file.h"
#include "cli.h"

static const char *folder;

void must(gpuc_status status)
{
    if (!status) return;
    fprintf(stderr, "make_files: %s\n", gpuc_status_message(status));
    exit(1);
}

const char *in_folder(const char *path)
{
    static char paths[4][512];
    static int next;
    char *out = paths[next++ % 4];
    snprintf(out, sizeof paths[0], "%s/%s", folder, path);
    char *slash = strrchr(out, '/');
    *slash = 0;
    must(gpuc_dir_make(out));
    *slash = '/';
    return out;
}

void put(const char *path, const void *bytes, size_t size)
{
    must(gpuc_file_put(NULL, in_folder(path), bytes, size));
}

void put_pb(const char *path, const gpuc_host_tensor *t)
{
    must(gpuc_pb_write(NULL, t, in_folder(path)));
}

gpuc_host_tensor ramp(int ndim, const int64_t *dims, double first)
{
    gpuc_host_tensor t;
    must(gpuc_host_tensor_init(GPUC_FLOAT32, ndim, dims, "ramp", &t));
    for (size_t i = 0; i < t.count; i++) ((float *)t.data)[i] = (float)(first + (double)i);
    return t;
}

/* ---- Packages: two inputs, which are the outputs as well; there are no kernels ---- */

static gpuc_xexpr number(gpuc_xinstr *at, int64_t v)
{
    *at = (gpuc_xinstr){GPUC_XOP_CONST, v};
    return (gpuc_xexpr){.code = at, .count = 1};
}

typedef struct identity {
    gpuc_xinstr code[8];
    gpuc_xexpr x_dims[2], y_dims[1];
    gpuc_exec_slot slots[2];
    gpuc_exec_value values[2];
    uint32_t in_out[2], devices[1];
    gpuc_program program;
} identity;

static void make_program(identity *m, gpuc_device_type type, const char *target)
{
    gpuc_xinstr *c = m->code;
    m->x_dims[0] = number(c++, 2);
    m->x_dims[1] = number(c++, 3);
    m->y_dims[0] = number(c++, 2);
    gpuc_xexpr zero = number(c++, 0);
    m->slots[0] = (gpuc_exec_slot){.kind = GPUC_SLOT_INPUT, .index = 0, .size = number(c++, 32)};
    m->slots[1] = (gpuc_exec_slot){.kind = GPUC_SLOT_INPUT, .index = 1, .size = number(c++, 16)};
    m->values[0] = (gpuc_exec_value){
        .name = "x", .dtype = GPUC_FLOAT32, .ndim = 2, .dims = m->x_dims, .slot = 0, .offset = zero};
    m->values[1] = (gpuc_exec_value){
        .name = "y/b", .dtype = GPUC_INT64, .ndim = 1, .dims = m->y_dims, .slot = 1, .offset = zero};
    m->in_out[1] = 1;
    m->devices[0] = type;
    m->program = (gpuc_program){
        .target = target,
        .device_type = type,
        .exec = {.num_devices = 1,
                 .devices = m->devices,
                 .num_slots = 2,
                 .slots = m->slots,
                 .num_values = 2,
                 .values = m->values,
                 .num_inputs = 2,
                 .inputs = m->in_out,
                 .num_outputs = 2,
                 .outputs = m->in_out},
    };
}

static void write_package(const char *path, uint32_t count, const gpuc_program *programs)
{
    static const int64_t x[] = {2, 3}, y[] = {2};
    static const char *const fixed[] = {"", ""};
    const gpuc_signature_tensor in[] = {
        {.name = "x", .dtype = GPUC_FLOAT32, .ndim = 2, .dims = x, .dim_names = fixed},
        {.name = "y/b", .dtype = GPUC_INT64, .ndim = 1, .dims = y, .dim_names = fixed},
    };
    const gpuc_signature_tensor out[] = {
        {.name = "first", .dtype = GPUC_FLOAT32, .ndim = 2, .dims = x, .dim_names = fixed},
        {.name = "second \"out\"", .dtype = GPUC_INT64, .ndim = 1, .dims = y, .dim_names = fixed},
    };
    gpuc_package p = {
        .gpuc_version = GPUC_VERSION,
        .signature = {.num_inputs = 2, .num_outputs = 2, .inputs = in, .outputs = out},
        .num_programs = count,
        .programs = programs,
        .provenance = "made by a test\n",
    };
    must(gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &p, in_folder(path)));
}

static void make_packages(void)
{
    static const gpuc_requirement too_much[] = {{"max_num_threads", INT64_C(1) << 40}};
    identity c = {0}, vulkan = {0}, huge = {0};
    make_program(&c, GPUC_DEVICE_CPU, "c");
    make_program(&vulkan, GPUC_DEVICE_VULKAN, "vulkan");
    make_program(&huge, GPUC_DEVICE_CPU, "c -max_num_threads=1099511627776");
    huge.program.requirements = too_much;
    huge.program.num_requirements = 1;
    write_package("id.gpuc", 1, &c.program);
    write_package("vulkan.gpuc", 1, &vulkan.program);
    write_package("two.gpuc", 2, (const gpuc_program[]){huge.program, c.program});
    write_package("huge.gpuc", 1, &huge.program);
}

/* ---- Tensors ---- */

static void put_npy_header(const char *path, const char *header, size_t elements)
{
    char bytes[512] = "\x93NUMPY\x01";
    size_t n = strlen(header);
    bytes[8] = (char)n;
    memcpy(bytes + 10, header, n);
    put(path, bytes, 10 + n + elements);
}

static void make_tensors(void)
{
    static const int64_t x_dims[] = {2, 3}, y_dims[] = {2}, other[] = {3, 2};
    gpuc_host_tensor x = ramp(2, x_dims, 0.5), wrong = ramp(2, other, 0), y;
    must(gpuc_host_tensor_init(GPUC_INT64, 1, y_dims, "y", &y));
    ((int64_t *)y.data)[0] = 7;
    ((int64_t *)y.data)[1] = -1;
    must(gpuc_npy_write(NULL, &x, in_folder("x.npy")));
    must(gpuc_npy_write(NULL, &y, in_folder("y.npy")));
    must(gpuc_npy_write(NULL, &wrong, in_folder("wrong.npy")));
    must(gpuc_npy_write(NULL, &x, in_folder("named/x.npy")));
    must(gpuc_npy_write(NULL, &y, in_folder("named/y_b.npy")));
    must(gpuc_npy_write(NULL, &x, in_folder("surplus/x.npy")));
    must(gpuc_npy_write(NULL, &y, in_folder("surplus/y_b.npy")));
    must(gpuc_npy_write(NULL, &y, in_folder("surplus/z.npy")));
    put_pb("set/input_0.pb", &x);
    put_pb("set/input_1.pb", &y);
    put_pb("set/output_0.pb", &x);
    put_npy_header("big.npy", "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
    put_npy_header("fortran.npy", "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", 24);
    put_npy_header("double.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n", 48);
    put_npy_header("short.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 20);
    put_npy_header("text.npy", "{'descr': '<U3', 'fortran_order': False, 'shape': (2,), }\n", 24);
    put("noise.npy", "not an array", 12);
    put("noise.pb", "\xff\xff\xff\xff", 4);
    gpuc_host_tensor_deinit(&x);
    gpuc_host_tensor_deinit(&y);
    gpuc_host_tensor_deinit(&wrong);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    make_packages();
    make_tensors();
    make_models();
    return 0;
}
