/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in: a tag for a board, and a packed function.
 *
 *     cc -shared -fPIC $(pkg-config --cflags --libs gpuc) plugin.c -o plugin.so
 *     gpuc targets --plugin plugin.so
 *     gpuc build model.onnx --target vulkan/my_board --plugin plugin.so */
#include <gpuc/plugin.h>
#include <gpuc/target.h>

/* my_board.version() -> string; self is the runtime. */
static gpuc_status version(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args;
    if (num_args) return gpuc_fail(GPUC_INVALID_ARGUMENT, "my_board.version takes no arguments");
    return gpuc_value_set_string(self, ret, "revision 2");
}

static const gpuc_target_tag_row board = {
    .name = "vulkan/my_board",
    .target = "vulkan -max_num_threads=512 -max_shared_memory_per_block=32768 -thread_warp_size=16",
    .about = "my board, revision 2",
};

GPUC_PLUGIN_EXPORT gpuc_status gpuc_plugin_init(gpuc_runtime *rt, uint32_t abi)
{
    GPUC_TRY(gpuc_plugin_check_abi(abi));
    GPUC_TRY(gpuc_target_tag_register(rt, &board));
    return gpuc_registry_set_fn(rt, "my_board.version", version, rt, NULL, false);
}
