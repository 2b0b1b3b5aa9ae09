/* SPDX-License-Identifier: Apache-2.0 */
/* Lists devices with their limits and features: gpuc devices. */
#include <stdio.h>
#include <unistd.h>

#include "cli.h"
#include "json.h"

enum { OPT_JSON = CLI_LONG };

static const cli_option options[] = {
    {"json", OPT_JSON, NULL, "print JSON"},
    {"verbose", 'v', NULL, "say more"},
};

static const gpuc_device_type kinds[] = {GPUC_DEVICE_VULKAN, GPUC_DEVICE_OPENCL, GPUC_DEVICE_CPU};

static const struct {
    gpuc_device_attr attr;
    const char *name, *label;
    bool bytes;
} limits[] = {
    {GPUC_ATTR_MAX_THREADS_PER_BLOCK, "max_threads_per_block", "threads of a work-group", false},
    {GPUC_ATTR_MAX_BLOCK_X, "max_block_x", "work-group size, x", false},
    {GPUC_ATTR_MAX_BLOCK_Y, "max_block_y", "work-group size, y", false},
    {GPUC_ATTR_MAX_BLOCK_Z, "max_block_z", "work-group size, z", false},
    {GPUC_ATTR_MAX_GRID_X, "max_grid_x", "work-groups, x", false},
    {GPUC_ATTR_MAX_GRID_Y, "max_grid_y", "work-groups, y", false},
    {GPUC_ATTR_MAX_GRID_Z, "max_grid_z", "work-groups, z", false},
    {GPUC_ATTR_MAX_SHARED_BYTES, "max_shared_bytes", "shared memory", true},
    {GPUC_ATTR_WARP_SIZE, "warp_size", "subgroup size", false},
    {GPUC_ATTR_SUBGROUP_SIZE_CONTROL, "subgroup_size_control", "subgroup size can be required", false},
    {GPUC_ATTR_MULTI_PROCESSOR_COUNT, "multi_processor_count", "compute units", false},
    {GPUC_ATTR_VECTOR_BITS, "vector_bits", "vector bits of a lane", false},
    {GPUC_ATTR_TOTAL_GLOBAL_BYTES, "total_global_bytes", "memory", true},
    {GPUC_ATTR_MAX_ALLOC_BYTES, "max_alloc_bytes", "largest allocation", true},
    {GPUC_ATTR_MAX_BUFFER_RANGE, "max_buffer_range", "largest binding", true},
    {GPUC_ATTR_MAX_STORAGE_BUFFERS, "max_storage_buffers", "buffers of a kernel", false},
    {GPUC_ATTR_MAX_PUSH_BYTES, "max_push_bytes", "parameters of a launch", true},
    {GPUC_ATTR_MAX_TEXELS, "max_texels", "texels of a view", false},
    {GPUC_ATTR_BUFFER_ALIGN, "buffer_align", "alignment of a binding", true},
    {GPUC_ATTR_UNIFIED_MEMORY, "unified_memory", "unified memory", false},
};

static void print_features(int64_t bits)
{
    printf("    %-30s", "features");
    for (int i = 0; i < GPUC_FEATURE_COUNT; i++)
        if (bits >> i & 1) printf(" %s", gpuc_feature_name((gpuc_feature)(1u << i)));
    printf("%s\n", bits ? "" : " none");
}

static void print_device(gpuc_device *dev)
{
    bool software = gpuc_device_get_attr(dev, GPUC_ATTR_IS_SOFTWARE).i != 0;
    printf("%s%s:%d%s  %s (%s)\n", cli_colour_on(STDOUT_FILENO, CLI_BOLD), gpuc_device_type_name(dev->type),
           dev->index, cli_colour_off(STDOUT_FILENO), cli_device_text(dev, GPUC_ATTR_NAME),
           software ? "software" : "hardware");
    printf("    %-30s %s\n", "driver", cli_device_text(dev, GPUC_ATTR_DRIVER));
    printf("    %-30s %s\n", "version", cli_device_text(dev, GPUC_ATTR_API_VERSION));
    for (size_t i = 0; i < CLI_COUNT(limits); i++) {
        char text[32];
        gpuc_attr_value v = gpuc_device_get_attr(dev, limits[i].attr);
        if (!v.known) continue;
        if (limits[i].bytes)
            printf("    %-30s %s\n", limits[i].label, cli_size_text((uint64_t)v.i, text));
        else
            printf("    %-30s %lld\n", limits[i].label, (long long)v.i);
    }
    gpuc_attr_value features = gpuc_device_get_attr(dev, GPUC_ATTR_FEATURES);
    if (features.known) print_features(features.i);
}

static void json_device(cli_json *j, gpuc_device *dev)
{
    cli_json_string(j, "name", cli_device_text(dev, GPUC_ATTR_NAME));
    cli_json_string(j, "driver", cli_device_text(dev, GPUC_ATTR_DRIVER));
    cli_json_string(j, "api_version", cli_device_text(dev, GPUC_ATTR_API_VERSION));
    cli_json_bool(j, "software", gpuc_device_get_attr(dev, GPUC_ATTR_IS_SOFTWARE).i != 0);
    cli_json_object(j, "limits");
    for (size_t i = 0; i < CLI_COUNT(limits); i++) {
        gpuc_attr_value v = gpuc_device_get_attr(dev, limits[i].attr);
        if (v.known) cli_json_int(j, limits[i].name, v.i);
    }
    cli_json_end_object(j);
    gpuc_attr_value features = gpuc_device_get_attr(dev, GPUC_ATTR_FEATURES);
    cli_json_array(j, "features");
    for (int i = 0; i < GPUC_FEATURE_COUNT; i++)
        if (features.i >> i & 1) cli_json_string(j, NULL, gpuc_feature_name((gpuc_feature)(1u << i)));
    cli_json_end_array(j);
}

/* A device that cannot be opened is listed with the reason. */
static void show(gpuc_runtime *rt, gpuc_device_type type, int index, cli_json *j)
{
    gpuc_device *dev;
    gpuc_status status = gpuc_device_open(rt, type, index, &dev);
    cli_json_object(j, NULL);
    cli_json_string(j, "kind", gpuc_device_type_name(type));
    cli_json_int(j, "index", index);
    cli_json_bool(j, "available", !status);
    if (status)
        cli_json_string(j, "reason", gpuc_status_message(status));
    else
        json_device(j, dev);
    cli_json_end_object(j);
    gpuc_status_release(status);
}

static void print(gpuc_runtime *rt, gpuc_device_type type, int index)
{
    gpuc_device *dev;
    gpuc_status status = gpuc_device_open(rt, type, index, &dev);
    if (status)
        printf("%s:%d  not available: %s\n", gpuc_device_type_name(type), index, gpuc_status_message(status));
    else
        print_device(dev);
    gpuc_status_release(status);
}

static int run(const cli_command *c, int argc, char **argv)
{
    cli_runtime_options ro = {0};
    bool json = false;
    const char *value;
    for (int key; (key = cli_next(c, argc, argv, &value)) != -1;) {
        if (key == OPT_JSON) json = true;
        if (key == 'v') ro.verbose = true;
    }
    cli_no_operands(c, argc, argv);
    cli_runtime r;
    gpuc_status status = cli_runtime_init(&r, &ro);
    if (status) return cli_report(status);
    cli_json j;
    cli_json_init(&j);
    cli_json_array(&j, NULL);
    for (size_t k = 0; k < CLI_COUNT(kinds); k++) {
        int count = gpuc_device_count(r.rt, kinds[k]);
        for (int i = 0; i < (count ? count : 1); i++) { /* of none, the first tells why */
            if (json)
                show(r.rt, kinds[k], i, &j);
            else
                print(r.rt, kinds[k], i);
        }
    }
    cli_json_end_array(&j);
    if (json) cli_json_print(&j, stdout);
    cli_json_deinit(&j);
    cli_runtime_deinit(&r);
    return 0;
}

const cli_command cli_devices_command = {
    .name = "devices",
    .operands = "[--json]",
    .about = "list the devices of this machine",
    .options = options,
    .num_options = CLI_COUNT(options),
    .run = run,
};
