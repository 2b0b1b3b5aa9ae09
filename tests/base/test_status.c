/* SPDX-License-Identifier: Apache-2.0 */
#include "test_heap.h"

#include <stdio.h>

static void status_carries_code_message_and_place(void **state)
{
    (void)state;
    gpuc_status s = gpuc_fail(GPUC_NOT_FOUND, "no %s %d", "kernel", 7);
    assert_int_equal(gpuc_status_code(s), GPUC_NOT_FOUND);
    assert_string_equal(gpuc_status_message(s), "no kernel 7");
    assert_true(strstr(gpuc_status_file(s), "test_status.c") != NULL);
    assert_true(gpuc_status_line(s) > 0);
    s = gpuc_error_prefix(s, "model '%s'", "m");
    s = gpuc_error_prefix(s, "load");
    assert_string_equal(gpuc_status_message(s), "load: model 'm': no kernel 7");
    assert_int_equal(gpuc_status_code(s), GPUC_NOT_FOUND);
    gpuc_status_release(s);
}

static void null_status_is_success(void **state)
{
    (void)state;
    assert_int_equal(gpuc_status_code(NULL), GPUC_OK);
    assert_string_equal(gpuc_status_message(NULL), "");
    assert_string_equal(gpuc_status_file(NULL), "");
    assert_int_equal(gpuc_status_line(NULL), 0);
    assert_null(gpuc_error_prefix(NULL, "x"));
    gpuc_status_release(NULL);
}

static void failure_with_code_ok_is_still_a_failure(void **state)
{
    (void)state;
    gpuc_status s = gpuc_fail(GPUC_OK, "odd");
    assert_int_equal(gpuc_status_code(s), GPUC_INTERNAL);
    gpuc_status_release(s);
}

static void long_messages_are_kept(void **state)
{
    (void)state;
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    gpuc_status s = gpuc_error_prefix(gpuc_fail(GPUC_IO, "%s", text), "%s", text);
    assert_int_equal(strlen(gpuc_status_message(s)), 2 * (sizeof text - 1) + 2);
    gpuc_status_release(s);
}

static void every_code_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < GPUC_CODE_COUNT; i++) assert_non_null(gpuc_code_name((gpuc_code)i));
    assert_non_null(gpuc_code_name((gpuc_code)99));
}

static void dtype_names_parse_back(void **state)
{
    (void)state;
    static const char *const names[] = {"int8",    "int16",      "int32",     "int64",   "uint8",
                                        "uint16",  "uint32",     "uint64",    "float16", "float32",
                                        "float64", "bfloat16",   "bool",      "handle",  "float32x4",
                                        "boolx16", "int8x65535", "bfloat16x2"};
    char text[24];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        gpuc_dtype t;
        if (!gpuc_dtype_parse(names[i], &t)) fail_msg("%s", names[i]);
        assert_string_equal(gpuc_dtype_name(t, text), names[i]);
    }
    assert_true(gpuc_dtype_equal(GPUC_FLOAT32, (gpuc_dtype){2, 32, 1}));
    assert_string_equal(gpuc_dtype_name((gpuc_dtype){5, 255, 65535}, text), "code5_255x65535");
    assert_string_equal(gpuc_dtype_name((gpuc_dtype){4, 255, 65535}, text), "bfloat255x65535");
}

static void bad_dtype_names_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",         "int",         "int7",     "int128",    "float8",        "float",
        "double",   "bool8",       "float32x", "float32x0", "float32x65536", "float032",
        "float32 ", "float32x4x2", "Float32",  "boolean",   "uint",          "float32x-1"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        gpuc_dtype t;
        if (gpuc_dtype_parse(names[i], &t)) fail_msg("'%s' was taken", names[i]);
        assert_int_equal(t.bits, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_carries_code_message_and_place),
        cmocka_unit_test(null_status_is_success),
        cmocka_unit_test(failure_with_code_ok_is_still_a_failure),
        cmocka_unit_test(long_messages_are_kept),
        cmocka_unit_test(every_code_has_a_name),
        cmocka_unit_test(dtype_names_parse_back),
        cmocka_unit_test(bad_dtype_names_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
