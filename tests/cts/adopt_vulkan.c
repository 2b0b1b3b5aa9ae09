/* SPDX-License-Identifier: Apache-2.0 */
#include "cts.h"

#include "../embed/app.h"

static app application;
static bool is_open;

gpuc_status cts_adopt_vulkan(gpuc_runtime *rt, gpuc_device **out)
{
    *out = NULL;
    if (!is_open && !app_available())
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "no Vulkan application can be made");
    if (!is_open) app_open(&application, (app_options){0});
    is_open = true;
    gpuc_vulkan_device_desc desc = app_desc(&application);
    return gpuc_vulkan_adopt(rt, &desc, out);
}

void cts_close_application(void)
{
    if (is_open) app_close(&application);
    is_open = false;
}
