/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in that is linked with no library: it finds the names of gpuc in the program's. */
#include <gpuc/plugin.h>

static gpuc_status four(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args;
    (void)num_args;
    (void)self;
    *ret = gpuc_arg_int(4);
    return NULL;
}

GPUC_PLUGIN_EXPORT gpuc_status gpuc_plugin_init(gpuc_runtime *rt, uint32_t abi)
{
    GPUC_TRY(gpuc_plugin_check_abi(abi));
    return gpuc_registry_set_fn(rt, "bare.four", four, NULL, NULL, false);
}
