/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in whose initialisation fails when it has registered a part. */
#include <stdlib.h>

#include <gpuc/devices.h>
#include <gpuc/driver.h>
#include <gpuc/plugin.h>

static gpuc_status one(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args;
    (void)num_args;
    (void)self;
    *ret = gpuc_arg_int(1);
    return NULL;
}

GPUC_PLUGIN_EXPORT gpuc_status gpuc_plugin_init(gpuc_runtime *rt, uint32_t abi)
{
    GPUC_TRY(gpuc_plugin_check_abi(abi));
    const char *other = getenv("GPUC_TEST_OTHER"); /* a plug-in that this one loads */
    if (other) GPUC_TRY(gpuc_plugin_load(rt, other));
    GPUC_TRY(gpuc_registry_set_fn(rt, "failing.one", one, NULL, NULL, false));
    if (gpuc_driver_count(rt) == 0) GPUC_TRY(gpuc_cpu_register(rt));
    if (gpuc_registry_get(rt, "good.add")) {
        GPUC_TRY(gpuc_registry_set_fn(rt, "good.add", one, NULL, NULL, true));
        gpuc_registry_remove(rt, "good.add");
    }
    return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "the card is not plugged in");
}
