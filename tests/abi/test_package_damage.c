/* SPDX-License-Identifier: Apache-2.0 */
/* A package is hostile input: whatever its bytes are, reading gives an error that names a section, or
 * a package that can be walked. */
#include "../base/test_heap.h"

#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "package_bytes.h"
#include "sample.h"

static uint8_t *original;
static size_t original_size;

static int set_up(void **state)
{
    (void)state;
    char path[] = "/tmp/gpuc-test-damage-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) return -1;
    close(fd);
    sample s;
    gpuc_mapping m;
    sample_init(&s);
    expect_success(gpuc_abi_package_write(NULL, (gpuc_allocator){0}, &s.package, path));
    expect_success(gpuc_file_map(path, &m));
    original_size = m.size;
    original = malloc(m.size);
    memcpy(original, m.data, m.size);
    gpuc_file_unmap(&m);
    unlink(path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(original);
    return 0;
}

/* Memory of exactly this size, so that a sanitizer sees every read outside of it. */
static uint8_t *copy_bytes(size_t size)
{
    uint8_t *bytes = malloc(size ? size : 1);
    memcpy(bytes, original, size);
    return bytes;
}

static gpuc_status read_bytes(const uint8_t *bytes, size_t size, bool check_weights)
{
    test_heap heap = {0};
    gpuc_arena arena;
    gpuc_package p;
    gpuc_arena_init(&arena, test_heap_allocator(&heap));
    gpuc_status status = gpuc_abi_package_read(bytes, size, check_weights, &arena, &p, NULL, NULL);
    if (heap.live > 64 * size + (64 << 10)) fail_msg("%zu bytes of memory for %zu", heap.live, size);
    if (!status)
        walk_package(&p);
    else
        assert_null(p.programs);
    gpuc_arena_deinit(&arena);
    assert_int_equal(heap.live, 0);
    return status;
}

static void expect_bad(const uint8_t *bytes, size_t size, size_t where)
{
    gpuc_status status = read_bytes(bytes, size, true);
    if (!status) fail_msg("damage at byte %zu was not seen", where);
    gpuc_code code = gpuc_status_code(status);
    if ((code != GPUC_INVALID_DATA && code != GPUC_UNSUPPORTED) || !*gpuc_status_message(status))
        fail_msg("damage at byte %zu gave: %s", where, gpuc_status_message(status));
    gpuc_status_release(status);
}

static void every_flipped_byte_is_seen(void **state)
{
    (void)state;
    static const uint8_t flips[] = {0x01, 0x80, 0xff};
    uint8_t *bytes = copy_bytes(original_size);
    for (size_t i = 0; i < original_size; i++)
        for (size_t f = 0; f < sizeof flips; f++) {
            bytes[i] ^= flips[f];
            expect_bad(bytes, original_size, i);
            bytes[i] ^= flips[f];
        }
    expect_success(read_bytes(bytes, original_size, true));
    free(bytes);
}

static void damaged_weights_are_seen_when_asked(void **state)
{
    (void)state;
    uint8_t *bytes = copy_bytes(original_size);
    bytes[original_size - 1] ^= 1;
    expect_success(read_bytes(bytes, original_size, false));
    expect_failure(read_bytes(bytes, original_size, true), GPUC_INVALID_DATA, "weights 0: damaged");
    free(bytes);
}

static void every_truncation_is_seen(void **state)
{
    (void)state;
    for (size_t n = 0; n < original_size; n++) {
        uint8_t *bytes = copy_bytes(n);
        expect_bad(bytes, n, n);
        mend_checksums(bytes, n);
        gpuc_status_release(read_bytes(bytes, n, true));
        free(bytes);
    }
    uint8_t *longer = malloc(original_size + 1);
    memcpy(longer, original, original_size);
    longer[original_size] = 0;
    expect_bad(longer, original_size + 1, original_size);
    mend_checksums(longer, original_size + 1);
    expect_failure(read_bytes(longer, original_size + 1, true), GPUC_INVALID_DATA, "after the last section");
    free(longer);
}

static void damage_behind_right_checksums_does_no_harm(void **state)
{
    (void)state;
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    size_t end = original_size - sizeof sample_weight_bytes;
    while (end > 0 && original[end - 1] == 0) end--; /* the padding before the weights */
    uint8_t *bytes = copy_bytes(original_size);
    for (size_t i = 0; i < end; i++)
        for (size_t v = 0; v < sizeof values; v++) {
            if (bytes[i] == values[v]) continue;
            bytes[i] = values[v];
            mend_checksums(bytes, original_size);
            gpuc_status_release(read_bytes(bytes, original_size, true));
            memcpy(bytes, original, original_size);
        }
    free(bytes);
}

static uint64_t seed = 42;
static uint32_t rnd(uint32_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % n;
}

static void random_damage_does_no_harm(void **state)
{
    (void)state;
    uint8_t *bytes = copy_bytes(original_size);
    for (int round = 0; round < 20000; round++) {
        for (uint32_t n = 1 + rnd(4); n > 0; n--) {
            size_t at = rnd((uint32_t)(original_size - 512 - 8));
            uint32_t kind = rnd(4);
            if (kind == 0)
                put_le(bytes + at / 4 * 4, rnd(2) ? rnd(16) : UINT32_MAX - rnd(3), 4);
            else if (kind == 1)
                put_le(bytes + at, UINT64_C(1) << rnd(64), 8);
            else
                bytes[at] = (uint8_t)rnd(256);
        }
        mend_checksums(bytes, original_size);
        gpuc_status_release(read_bytes(bytes, original_size, true));
        memcpy(bytes, original, original_size);
    }
    free(bytes);
}

static uint8_t *row_of(uint8_t *bytes, uint32_t type)
{
    uint8_t *row = bytes + GPUC_PACKAGE_HEADER_BYTES;
    while (get_le(row, 4) != type) row += GPUC_PACKAGE_ROW_BYTES;
    return row;
}

static void errors_name_the_section(void **state)
{
    (void)state;
    uint8_t *bytes = copy_bytes(original_size), *row;
#define DAMAGE(change, code, part)                                                                           \
    do {                                                                                                     \
        memcpy(bytes, original, original_size);                                                              \
        change;                                                                                              \
        expect_failure(read_bytes(bytes, original_size, true), code, part);                                  \
    } while (0)
#define DAMAGE_BEHIND(change, code, part) DAMAGE((change, mend_checksums(bytes, original_size)), code, part)
    DAMAGE(bytes[0] = 'x', GPUC_INVALID_DATA, "not a gpuc package");
    DAMAGE(bytes[4] = '\n', GPUC_INVALID_DATA, "text mode");
    DAMAGE(bytes[8] = GPUC_PACKAGE_VERSION + 1, GPUC_UNSUPPORTED,
           "format version 6, this gpuc reads version 5");
    DAMAGE(bytes[16] ^= 1, GPUC_INVALID_DATA, "were written");
    DAMAGE(bytes[24] ^= 1, GPUC_INVALID_DATA, "section table: damaged");
    DAMAGE(bytes[get_le(row_of(bytes, GPUC_SECTION_SIGNATURE) + 16, 8)] ^= 1, GPUC_INVALID_DATA,
           "signature: damaged");
    DAMAGE(bytes[get_le(row_of(bytes, GPUC_SECTION_EXEC) + 16, 8)] ^= 1, GPUC_INVALID_DATA,
           "executable of program 0: damaged");
    DAMAGE_BEHIND(put_le(bytes + get_le(row_of(bytes, GPUC_SECTION_KERNELS) + 16, 8), UINT32_MAX, 4),
                  GPUC_INVALID_DATA, "kernels of program 0 (vulkan): it ends too early");
    row = row_of(bytes, GPUC_SECTION_MODULE);
    DAMAGE_BEHIND(put_le(row + 8, 7, 4), GPUC_INVALID_DATA,
                  "module 0 of program 7: the package has 2 programs");
    DAMAGE_BEHIND(put_le(row + 12, 3, 4), GPUC_INVALID_DATA,
                  "module 3 of program 0 (vulkan): the program has 1");
    DAMAGE_BEHIND(put_le(row, GPUC_SECTION_KERNELS, 4), GPUC_INVALID_DATA,
                  "kernels of program 0 (vulkan): there are two of it");
    DAMAGE_BEHIND(put_le(row, 99, 4), GPUC_UNSUPPORTED, "section of type 99 of program 0: it is required");
    DAMAGE_BEHIND((put_le(row, 99, 4), put_le(row + 4, 0, 4)), GPUC_INVALID_DATA,
                  "module 0 of program 0: it is missing");
    row = row_of(bytes, GPUC_SECTION_SIGNATURE);
    DAMAGE_BEHIND(put_le(row, GPUC_SECTION_PROVENANCE, 4), GPUC_INVALID_DATA,
                  "provenance: there are two of it");
    DAMAGE_BEHIND(put_le(row + 16, get_le(row + 16, 8) - 64, 8), GPUC_INVALID_DATA, "signature: its offset");
    DAMAGE_BEHIND(put_le(row + 24, UINT64_MAX, 8), GPUC_INVALID_DATA,
                  "signature: 18446744073709551615 bytes");
    row = row_of(bytes, GPUC_SECTION_PROVENANCE);
    DAMAGE_BEHIND(bytes[get_le(row + 16, 8) - 1] = 1, GPUC_INVALID_DATA, "provenance: the padding before it");
    free(bytes);
}

/* A count, a name of a word, a type, the rank, and 16 bytes for each of two dimensions with a name. */
enum { LAST_DIM = 4 + 8 + 4 + 4 + 2 * 16 };

static void wrong_images_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t section;
        int at; /* of the images: a count, then list, tensor and format of each; of the signature: 'x' */
        uint32_t value;
        gpuc_code code;
        const char *words;
    } rows[] = {
        {GPUC_SECTION_IMAGES, 0, 3, GPUC_INVALID_DATA, "images: it ends too early"},
        {GPUC_SECTION_IMAGES, 0, 1, GPUC_INVALID_DATA, "images: 12 bytes are left over"},
        {GPUC_SECTION_IMAGES, 4, 2, GPUC_INVALID_DATA, "image 0 is tensor 0 of list 2, which there is not"},
        {GPUC_SECTION_IMAGES, 8, 1, GPUC_INVALID_DATA, "image 0 is tensor 1 of list 0, which there is not"},
        {GPUC_SECTION_IMAGES, 20, UINT32_MAX, GPUC_INVALID_DATA, "image 1 is tensor 4294967295 of list 1"},
        {GPUC_SECTION_IMAGES, 16, 0, GPUC_INVALID_DATA, "'x' has two formats"},
        {GPUC_SECTION_IMAGES, 12, GPUC_IMAGE_NONE, GPUC_UNSUPPORTED, "'x' is an image of format 0"},
        {GPUC_SECTION_IMAGES, 12, GPUC_IMAGE_FORMAT_COUNT, GPUC_UNSUPPORTED, "use a newer one"},
        {GPUC_SECTION_IMAGES, 12, GPUC_IMAGE_R8, GPUC_INVALID_DATA,
         "'x' has not the type and the shape of an image of format r8"},
        {GPUC_SECTION_IMAGES, 24, GPUC_IMAGE_RGBA16F, GPUC_INVALID_DATA,
         "'z' has not the type and the shape of an image"},
        {GPUC_SECTION_SIGNATURE, LAST_DIM, 2, GPUC_INVALID_DATA,
         "'x' has not the type and the shape of an image"},
    };
    for (size_t i = 0; i < LEN(rows); i++) {
        uint8_t *bytes = copy_bytes(original_size);
        uint64_t offset = get_le(row_of(bytes, rows[i].section) + 16, 8);
        put_le(bytes + offset + rows[i].at, rows[i].value, 4);
        mend_checksums(bytes, original_size);
        expect_failure(read_bytes(bytes, original_size, true), rows[i].code, rows[i].words);
        free(bytes);
    }
}

/* A runtime that does not know the section runs the package on arrays. */
static void images_are_optional(void **state)
{
    (void)state;
    uint8_t *bytes = copy_bytes(original_size), *row = row_of(bytes, GPUC_SECTION_IMAGES);
    assert_int_equal(get_le(row + 4, 4) & GPUC_SECTION_REQUIRED, 0);
    put_le(row, 1000, 4);
    mend_checksums(bytes, original_size);
    expect_success(read_bytes(bytes, original_size, true));
    free(bytes);
}

static void unknown_optional_sections_are_skipped(void **state)
{
    (void)state;
    uint8_t *bytes = copy_bytes(original_size), *row = row_of(bytes, GPUC_SECTION_PROVENANCE);
    put_le(row, 1000, 4);
    mend_checksums(bytes, original_size);
    expect_success(read_bytes(bytes, original_size, true));
    free(bytes);
}

static void misaligned_bytes_are_refused(void **state)
{
    (void)state;
    uint8_t *bytes = malloc(original_size + 16);
    memcpy(bytes + 1, original, original_size);
    expect_failure(read_bytes(bytes + 1, original_size, true), GPUC_INVALID_ARGUMENT, "alignas");
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flipped_byte_is_seen),
        cmocka_unit_test(damaged_weights_are_seen_when_asked),
        cmocka_unit_test(every_truncation_is_seen),
        cmocka_unit_test(damage_behind_right_checksums_does_no_harm),
        cmocka_unit_test(random_damage_does_no_harm),
        cmocka_unit_test(errors_name_the_section),
        cmocka_unit_test(wrong_images_are_refused),
        cmocka_unit_test(images_are_optional),
        cmocka_unit_test(unknown_optional_sections_are_skipped),
        cmocka_unit_test(misaligned_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
