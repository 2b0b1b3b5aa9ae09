/* SPDX-License-Identifier: Apache-2.0 */
/* damage PKG OUT TARGET NUMBER: the package with one float of one program's code made 1 larger, wherever it
 * stands: a kernel that is wrong, and all else as it was. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/package.h"
#include "base/file.h"

static void must(gpuc_status status)
{
    if (!status) return;
    fprintf(stderr, "damage: %s\n", gpuc_status_message(status));
    exit(1);
}

static int replace(uint8_t *bytes, size_t size, const void *from, const void *to, size_t length)
{
    int count = 0;
    for (size_t i = 0; i + length <= size; i++) {
        if (memcmp(bytes + i, from, length) != 0) continue;
        memcpy(bytes + i, to, length);
        count++;
    }
    return count;
}

/* As a word of SPIR-V, and as OpenCL C writes it: "1.375f". */
static int damage_module(const gpuc_module_blob *blob, float number, gpuc_arena *arena, uint8_t **out)
{
    float wrong = number + 1;
    char from[32], to[32];
    *out = gpuc_arena_alloc(arena, blob->size + 1);
    memcpy(*out, blob->bytes, blob->size);
    snprintf(from, sizeof from, "%gf", (double)number);
    snprintf(to, sizeof to, "%gf", (double)wrong);
    if (strcmp(blob->type_key, "spirv") == 0) return replace(*out, blob->size, &number, &wrong, sizeof wrong);
    return strlen(from) == strlen(to) ? replace(*out, blob->size, from, to, strlen(to)) : 0;
}

int main(int argc, char **argv)
{
    gpuc_mapping map;
    gpuc_arena arena;
    gpuc_package package;
    int count = 0;
    if (argc != 5) return 2;
    gpuc_arena_init(&arena, (gpuc_allocator){0});
    must(gpuc_file_map(argv[1], &map));
    must(gpuc_abi_package_read(map.data, map.size, true, &arena, &package, NULL, NULL));
    for (uint32_t p = 0; p < package.num_programs; p++) {
        const gpuc_program *program = &package.programs[p];
        if (strcmp(program->target, argv[3]) != 0) continue;
        for (uint32_t m = 0; m < program->num_modules; m++) {
            gpuc_module_blob *blob = (gpuc_module_blob *)&program->modules[m];
            uint8_t *wrong;
            count += damage_module(blob, strtof(argv[4], NULL), &arena, &wrong);
            blob->bytes = wrong;
        }
    }
    if (!count) fprintf(stderr, "damage: no '%s' in the code for '%s'\n", argv[4], argv[3]);
    if (count) must(gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &package, argv[2]));
    gpuc_arena_deinit(&arena);
    gpuc_file_unmap(&map);
    return count ? 0 : 1;
}
