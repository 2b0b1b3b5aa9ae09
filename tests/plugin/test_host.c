/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are linked with another library than a plug-in: test_host PLUGIN WORDS, where WORDS are of the
 * error, or "loaded". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <gpuc/plugin.h>

static const char *plugin, *words;

static void test_load(void **unused)
{
    (void)unused;
    gpuc_runtime *rt;
    assert_null(gpuc_runtime_create(NULL, &rt));
    size_t before = gpuc_registry_count(rt);
    gpuc_status status = gpuc_plugin_load(rt, plugin);
    const char *message = status ? gpuc_status_message(status) : "loaded";
    if (!strstr(message, words)) fail_msg("'%s', expected '%s'", message, words);
    if (status) assert_non_null(strstr(message, "link the program with the shared library"));
    assert_int_equal(gpuc_registry_count(rt) > before, !status); /* what is refused has registered nothing */
    gpuc_status_release(status);
    gpuc_runtime_release(rt);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    plugin = argv[1];
    words = argv[2];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_load)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
