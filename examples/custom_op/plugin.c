/* SPDX-License-Identifier: Apache-2.0 */
/* The operator as a plug-in, for `gpuc build add2.onnx --target vulkan --plugin ./add2.so`. */
#include <gpuc/plugin.h>

#include "add2.h"

GPUC_PLUGIN_EXPORT gpuc_status gpuc_plugin_init(gpuc_runtime *rt, uint32_t abi)
{
    GPUC_TRY(gpuc_plugin_check_abi(abi));
    GPUC_TRY(gpuc_op_register_in(rt, &add2_op));
    return gpuc_op_implement(rt, &add2_by_row);
}
