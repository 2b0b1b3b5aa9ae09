/* SPDX-License-Identifier: Apache-2.0 */
/* The plug-in: registers the kind, the devices, the type of modules and the generator of code. */
#include "foo.h"

GPUC_PLUGIN_EXPORT gpuc_status gpuc_plugin_init(gpuc_runtime *rt, uint32_t abi)
{
    GPUC_TRY(gpuc_plugin_check_abi(abi));
    GPUC_TRY(foo_kind_register(rt));
    GPUC_TRY(foo_driver_register(rt));
    GPUC_TRY(foo_module_register(rt));
    return foo_codegen_register(rt);
}
