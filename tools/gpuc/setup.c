/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime of a tool: every device kind of the build, plug-ins, caches, messages. */
#include <stdio.h>
#include <string.h>

#include <gpuc/plugin.h>
#ifdef GPUC_CLI_COMPILER
#include <gpuc/build.h>
#endif

#include "cli.h"
#include "loader.h"
#include "sanitize.h"

static void on_log(void *user, gpuc_log_level level, const char *id, const char *message)
{
    cli_runtime *r = user;
    if (strcmp(id, "vulkan.validation") == 0 && level != GPUC_LOG_INFO) {
        if (atomic_fetch_add(&r->validation_messages, 1) == 0)
            snprintf(r->first_message, sizeof r->first_message, "%s", message);
    } else if (level == GPUC_LOG_INFO && !r->verbose) {
        return;
    }
    cli_note("%s%s: %s",
             level == GPUC_LOG_ERROR     ? "error: "
             : level == GPUC_LOG_WARNING ? "warning: "
                                         : "",
             id, message);
}

static cli_strings plugins;

void cli_plugin_add(const char *path)
{
    cli_strings_add(&plugins, path);
}

bool cli_has_plugins(void)
{
    return plugins.count > 0;
}

static gpuc_status load_plugins(gpuc_runtime *rt)
{
    gpuc_status status = NULL;
#ifdef GPUC_CLI_COMPILER
    if (plugins.count) status = gpuc_compiler_register(rt);
#endif
    for (int i = 0; i < plugins.count && !status; i++) status = gpuc_plugin_load(rt, plugins.at[i]);
    return status;
}

gpuc_status cli_runtime_init(cli_runtime *r, const cli_runtime_options *options)
{
    *r = (cli_runtime){.verbose = options->verbose};
    if (!options->no_devices) cli_cache_prepare();
    gpuc_runtime_desc desc = GPUC_RUNTIME_DESC_INIT;
    desc.log = on_log;
    desc.log_user = r;
    if (!options->no_cache) {
        desc.cache_load = cli_cache_load;
        desc.cache_store = cli_cache_store;
    }
    desc.num_threads = options->threads;
    desc.vulkan_validation = options->validation;
    desc.vulkan_staging = options->staging;
    GPUC_TRY(gpuc_runtime_create(&desc, &r->rt));
    gpuc_status status = options->no_devices ? NULL : cli_devices_register(r->rt);
    if (!status) status = load_plugins(r->rt);
    if (status) cli_runtime_deinit(r);
    return status;
}

void cli_runtime_deinit(cli_runtime *r)
{
    cli_keep_drivers_loaded();
    gpuc_runtime_release(r->rt);
    r->rt = NULL;
}

int cli_validation_result(cli_runtime *r, int code)
{
    int count = atomic_load(&r->validation_messages);
    if (count == 0) return code;
    cli_error("the Vulkan validation layer complained %d time%s", count, count == 1 ? "" : "s");
    return 1;
}

gpuc_status cli_open_device(cli_runtime *r, const char *text, gpuc_device **out)
{
    gpuc_device_type type;
    int index;
    *out = NULL;
    if (!text) return NULL;
    GPUC_TRY(gpuc_device_parse(r->rt, text, &type, &index));
    return gpuc_device_open(r->rt, type, index, out);
}

const char *cli_device_text(gpuc_device *dev, gpuc_device_attr attr)
{
    gpuc_attr_value v = gpuc_device_get_attr(dev, attr);
    return v.known && v.s ? v.s : "unknown";
}
