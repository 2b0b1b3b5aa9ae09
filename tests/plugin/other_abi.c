/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in that was compiled with the headers of another gpuc. */
#include <gpuc/base.h>
#undef GPUC_ABI_VERSION
#define GPUC_ABI_VERSION 4711
#include <gpuc/plugin.h>

GPUC_PLUGIN_EXPORT gpuc_status gpuc_plugin_init(gpuc_runtime *rt, uint32_t abi)
{
    (void)rt;
    return gpuc_plugin_check_abi(abi);
}
