/* SPDX-License-Identifier: Apache-2.0 */
/* The template as a plug-in:
 *
 *     gpuc tune --plugin ./stencil.so --template 'example.stencil(rows=768, columns=1024)' --target vulkan --log stencil.jsonl */
#include <gpuc/plugin.h>

#include "stencil.h"

GPUC_PLUGIN_EXPORT gpuc_status gpuc_plugin_init(gpuc_runtime *rt, uint32_t abi)
{
    GPUC_TRY(gpuc_plugin_check_abi(abi));
    return gpuc_tune_template_register(rt, &stencil_template);
}
