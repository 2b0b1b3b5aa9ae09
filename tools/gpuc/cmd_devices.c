/* SPDX-License-Identifier: Apache-2.0 */
/* Lists devices with their limits and features: gpuc devices. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gpuc/driver.h>

#include "cli.h"
#include "json.h"

enum { OPT_JSON = CLI_LONG };

static const cli_option options[] = {
    {"json", OPT_JSON, NULL, "print JSON"},
    {"verbose", 'v', NULL, "say more"},
};

/* Whether it is listed by its name; the others have lines of their own. */
static bool is_listed(gpuc_device_attr attr, const gpuc_attr_value *v)
{
    return v->known && attr != GPUC_ATTR_EXISTS && attr != GPUC_ATTR_NAME && attr != GPUC_ATTR_DRIVER &&
           attr != GPUC_ATTR_API_VERSION && attr != GPUC_ATTR_IS_SOFTWARE && attr != GPUC_ATTR_FEATURES;
}

static void print_limit(gpuc_device_attr attr, const gpuc_attr_value *v)
{
    char text[32];
    const char *name = gpuc_device_attr_name(attr);
    if (v->s)
        printf("    %-22s %s\n", name, v->s + strspn(v->s, " "));
    else if (strstr(name, "bytes"))
        printf("    %-22s %s\n", name, cli_size_text((uint64_t)v->i, text));
    else
        printf("    %-22s %lld\n", name, (long long)v->i);
}

static void print_features(int64_t bits)
{
    printf("    %-22s", "features");
    for (int i = 0; i < GPUC_FEATURE_COUNT; i++)
        if (bits >> i & 1) printf(" %s", gpuc_feature_name((gpuc_feature)(1u << i)));
    printf("%s\n", bits ? "" : " none");
}

static void print_device(gpuc_device *dev)
{
    bool software = gpuc_device_get_attr(dev, GPUC_ATTR_IS_SOFTWARE).i != 0;
    printf("%s%s:%d%s  %s (%s)\n", cli_colour_on(STDOUT_FILENO, CLI_BOLD), dev->api->name, dev->index,
           cli_colour_off(STDOUT_FILENO), cli_device_text(dev, GPUC_ATTR_NAME),
           software ? "software" : "hardware");
    printf("    %-22s %s\n", "driver", cli_device_text(dev, GPUC_ATTR_DRIVER));
    printf("    %-22s %s\n", "api_version", cli_device_text(dev, GPUC_ATTR_API_VERSION));
    for (int i = 0; i < GPUC_ATTR_COUNT; i++) {
        gpuc_attr_value v = gpuc_device_get_attr(dev, (gpuc_device_attr)i);
        if (is_listed((gpuc_device_attr)i, &v)) print_limit((gpuc_device_attr)i, &v);
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
    for (int i = 0; i < GPUC_ATTR_COUNT; i++) {
        gpuc_attr_value v = gpuc_device_get_attr(dev, (gpuc_device_attr)i);
        if (!is_listed((gpuc_device_attr)i, &v)) continue;
        if (v.s)
            cli_json_string(j, gpuc_device_attr_name((gpuc_device_attr)i), v.s + strspn(v.s, " "));
        else
            cli_json_int(j, gpuc_device_attr_name((gpuc_device_attr)i), v.i);
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
    cli_json_string(j, "kind", gpuc_device_type_name(rt, type));
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
        printf("%s:%d  not available: %s\n", gpuc_device_type_name(rt, type), index,
               gpuc_status_message(status));
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
    for (size_t k = 0; k < gpuc_driver_count(r.rt); k++) {
        gpuc_device_type type = gpuc_device_type_named(gpuc_driver_name(r.rt, k));
        int count = gpuc_device_count(r.rt, type);
        for (int i = 0; i < (count ? count : 1); i++) { /* of none, the first tells why */
            if (json)
                show(r.rt, type, i, &j);
            else
                print(r.rt, type, i);
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
