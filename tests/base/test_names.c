/* SPDX-License-Identifier: Apache-2.0 */
/* Names that were renamed: old ones are translated, where they are the whole name and of the right kind. */
#include "test_heap.h"

#include "base/names.h"

static void old_names_have_new_ones(void **state)
{
    (void)state;
    assert_string_equal(gpuc_names_now("target", "max_rounds"), "max_iterations");
    assert_string_equal(gpuc_names_now("data_layout", "NCS"), "NCHW");
    assert_string_equal(gpuc_names_now("kernel_layout", "OKIo"), "OHWIo");
    assert_string_equal(gpuc_names_now("kernel_layout", "NCS"), "NCS");
    assert_string_equal(gpuc_names_now("target", "max_iterations"), "max_iterations");
    assert_string_equal(gpuc_names_first("data_layout", "NHWC"), "NSC");
    assert_string_equal(gpuc_names_first("layout", "NHWC"), "NHWC");
}

/* Several old names may become one, but no new name is an old one of its kind: translating twice changes nothing. */
static void new_names_stay(void **state)
{
    (void)state;
#define GPUC_OLD_NAME(of, old, now)                                                                          \
    assert_string_equal(gpuc_names_now(of, old), now);                                                       \
    assert_string_equal(gpuc_names_now(of, now), now);                                                       \
    assert_string_equal(gpuc_names_first(of, now), old);
#include "base/names.def"
#undef GPUC_OLD_NAME
}

static void expect_target(const char *text, const char *now)
{
    gpuc_buf out;
    gpuc_buf_init(&out, (gpuc_allocator){0});
    gpuc_names_target(&out, text);
    assert_string_equal(gpuc_buf_cstr(&out), now);
    gpuc_buf_deinit(&out);
}

static void texts_of_targets(void **state)
{
    (void)state;
    expect_target("", "");
    expect_target("vulkan", "vulkan");
    expect_target("vulkan/llvmpipe -max_rounds=30 -float16=1",
                  "vulkan/llvmpipe -max_iterations=30 -float16=1");
    expect_target("vulkan  -float16 -max_rounds", "vulkan  -float16 -max_iterations");
    expect_target("c -max_rounds_=3 -cc=max_rounds", "c -max_rounds_=3 -cc=max_rounds");
    expect_target("c - -= ---x=-max_rounds", "c - -= ---x=-max_rounds");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_names_have_new_ones),
        cmocka_unit_test(new_names_stay),
        cmocka_unit_test(texts_of_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
