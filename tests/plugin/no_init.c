/* SPDX-License-Identifier: Apache-2.0 */
/* A shared library that is no plug-in. */
#include <gpuc/plugin.h>

GPUC_PLUGIN_EXPORT int no_init(void);
int no_init(void)
{
    return gpuc_status_line(NULL);
}
