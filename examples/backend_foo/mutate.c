/* SPDX-License-Identifier: Apache-2.0 */
/* Mutates foo code at random, reads it, and runs what is accepted: nothing that bytes say may be more than an error. To be
 * compiled with -fsanitize=address,undefined.
 *
 *     foo_mutate FILE [CASES [SEED]]      of a .foo file, or of a package */
#include <stdio.h>
#include <string.h>

#include <gpuc/files.h>
#include <gpuc/package.h>

#include "foo.h"

enum { MAX_SCRATCH = 1 << 24, TENSOR_BYTES = 4096 };

static uint64_t state;

static uint32_t next(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)((state >> 33) % below);
}

/* Other bits, bytes, words, a part moved, or an end. */
static size_t mutate(uint8_t *bytes, size_t size)
{
    static const uint32_t words[] = {0,      1,      2,      0x7f,       0x80,       0xff,
                                     0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
    for (uint32_t n = 1 + next(4); n > 0 && size > 4; n--) {
        size_t at = next((uint32_t)size), from = next((uint32_t)size), left = size - (at < from ? from : at);
        uint32_t value = words[next(sizeof words / sizeof *words)];
        switch (next(6)) {
        case 0:
        case 1: bytes[at] ^= (uint8_t)(1u << next(8)); break;
        case 2: bytes[at] = (uint8_t)next(256); break;
        case 3: memcpy(bytes + at, &value, left < sizeof value ? left : sizeof value); break;
        case 4: memmove(bytes + at, bytes + from, next((uint32_t)left)); break;
        default:
            if (next(8) == 0) size = at;
        }
    }
    return size;
}

static gpuc_status run_all(const foo_program *p, int *runs)
{
    static uint64_t memory[8][TENSOR_BYTES / 8];
    foo_span tensors[16];
    int64_t scalars[16];
    for (int i = 0; i < 16; i++) {
        tensors[i] = (foo_span){(uint8_t *)memory[i % 8], next(2) ? TENSOR_BYTES : next(TENSOR_BYTES)};
        scalars[i] = next(200);
    }
    for (uint32_t i = 0; i < p->num_kernels; i++) {
        const foo_kernel *k = &p->kernels[i];
        size_t bytes = foo_kernel_scratch(k);
        if (bytes > MAX_SCRATCH || k->num_tensors > 16 || k->num_scalars > 16) continue;
        void *scratch = calloc(1, bytes);
        if (!scratch) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
        gpuc_status_release(foo_kernel_run(k, tensors, scalars, scratch, 200));
        free(scratch);
        ++*runs;
    }
    return NULL;
}

static gpuc_status mutate_code(const char *path, const void *code, size_t code_size, long cases)
{
    int accepted = 0, runs = 0;
    gpuc_status status = NULL;
    for (long i = 0; i < cases && !status; i++) {
        foo_program program;
        uint8_t *bytes = malloc(code_size); /* one of its own, so that reading beyond it is seen */
        if (!bytes) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
        memcpy(bytes, code, code_size);
        size_t size = i ? mutate(bytes, code_size) : code_size;
        gpuc_status refused = foo_program_read((gpuc_allocator){0}, bytes, size, &program);
        free(bytes);
        if (!refused) {
            status = run_all(&program, &runs);
            foo_program_free(&program);
            accepted++;
        }
        if (refused && !i) return refused;
        gpuc_status_release(refused);
    }
    printf("%ld cases of %s: %d accepted, %d kernels run\n", cases, path, accepted, runs);
    return status;
}

static gpuc_status mutate_package(const char *path, long cases)
{
    gpuc_package_view *package;
    GPUC_TRY(gpuc_package_view_load(NULL, path, false, &package));
    gpuc_status status = NULL;
    for (uint32_t i = 0; i < package->num_programs; i++)
        for (uint32_t m = 0; m < package->programs[i].num_modules && !status; m++) {
            const gpuc_package_module *code = &package->programs[i].modules[m];
            if (strcmp(code->type, FOO_MODULE_TYPE) == 0)
                status = mutate_code(path, code->data, code->bytes, cases);
        }
    gpuc_package_view_release(package);
    return status;
}

static gpuc_status mutate_file(const char *path, long cases)
{
    const char *dot = strrchr(path, '.');
    gpuc_mapping file;
    if (dot && strcmp(dot, ".foo") != 0) return mutate_package(path, cases);
    GPUC_TRY(gpuc_file_map(path, &file));
    gpuc_status status = mutate_code(path, file.data, file.size, cases);
    gpuc_file_unmap(&file);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2) return fprintf(stderr, "usage: foo_mutate FILE [CASES [SEED]]\n"), 2;
    state = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    gpuc_status status = mutate_file(argv[1], argc > 2 ? strtol(argv[2], NULL, 10) : 10000);
    if (status) fprintf(stderr, "%s\n", gpuc_status_message(status));
    int code = status != NULL;
    gpuc_status_release(status);
    return code;
}
