/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry: the package reader, with checksums mended so that mutations reach behind them. */
#include "package_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + 1);
    if (!bytes) return 0;
    memcpy(bytes, data, size);
    mend_checksums(bytes, size);
    gpuc_arena arena;
    gpuc_package p;
    gpuc_arena_init(&arena, (gpuc_allocator){0});
    gpuc_status status = gpuc_abi_package_read(bytes, size, true, &arena, &p, NULL, NULL);
    if (!status) walk_package(&p);
    gpuc_status_release(status);
    gpuc_arena_deinit(&arena);
    free(bytes);
    return 0;
}
