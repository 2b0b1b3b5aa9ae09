/* SPDX-License-Identifier: Apache-2.0 */
/* Names device types and parses texts such as "vulkan:1". */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/require.h"
#include "runtime/impl.h"

static const struct {
    const char *name;
    gpuc_device_type type;
} names[] = {
    {"cpu", GPUC_DEVICE_CPU}, /* the first name of a type is the one shown */
    {"c", GPUC_DEVICE_CPU},
    {"opencl", GPUC_DEVICE_OPENCL},
    {"vulkan", GPUC_DEVICE_VULKAN},
};
#define NUM_NAMES (sizeof names / sizeof names[0])

static const char *built_in_name(gpuc_device_type type)
{
    for (size_t i = 0; i < NUM_NAMES; i++)
        if (names[i].type == type) return names[i].name;
    return NULL;
}

const char *gpuc_device_type_name(gpuc_runtime *rt, gpuc_device_type type)
{
    const char *name = built_in_name(type);
    const gpuc_driver_entry *e = rt && !name ? gpuc_runtime_find_driver(rt, type) : NULL;
    return e ? e->driver.name : name ? name : "unknown";
}

gpuc_device_type gpuc_device_type_named(const char *name)
{
    if (!name || !*name) return (gpuc_device_type)0;
    for (size_t i = 0; i < NUM_NAMES; i++)
        if (strcmp(names[i].name, name) == 0) return names[i].type;
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *p = name; *p; p++) hash = (hash ^ (uint8_t)*p) * 16777619u;
    return GPUC_DEVICE_USER_FIRST + (gpuc_device_type)(hash % (INT32_MAX - GPUC_DEVICE_USER_FIRST));
}

/* Text of the names that the runtime knows: cpu, opencl, vulkan and those of other drivers. */
static gpuc_status unknown_device(gpuc_runtime *rt, const char *text, const char *word)
{
    enum { MAX_KNOWN = 32, MAX_LIST = 256 };
    const char *known[MAX_KNOWN];
    size_t count = 0;
    char list[MAX_LIST] = "cpu, opencl, vulkan";
    for (; count < NUM_NAMES; count++) known[count] = names[count].name;
    const char *name;
    for (size_t i = 0; rt && count < MAX_KNOWN && (name = gpuc_driver_name(rt, i)); i++) {
        size_t used = strlen(list);
        if (built_in_name(gpuc_device_type_named(name))) continue;
        known[count++] = name;
        snprintf(list + used, sizeof list - used, ", %s", name);
    }
    const char *best = gpuc_suggest(word, known, count);
    return gpuc_fail(
        GPUC_INVALID_ARGUMENT,
        "unknown device '%s'%s%s%s; devices are %s, with a number as in vulkan:1 for others than the "
        "first",
        text, best ? "; did you mean '" : "", best ? best : "", best ? "'?" : "", list);
}

static bool is_known(gpuc_runtime *rt, gpuc_device_type type)
{
    return built_in_name(type) || (rt && gpuc_runtime_find_driver(rt, type));
}

gpuc_status gpuc_device_parse(gpuc_runtime *rt, const char *text, gpuc_device_type *type, int *index)
{
    GPUC_REQUIRE(type);
    GPUC_REQUIRE(index);
    *type = (gpuc_device_type)0;
    *index = 0;
    GPUC_REQUIRE(text);
    size_t length = strcspn(text, ":");
    char word[32];
    if (length >= sizeof word) return unknown_device(rt, text, "");
    memcpy(word, text, length);
    word[length] = 0;
    gpuc_device_type found = gpuc_device_type_named(word);
    if (!is_known(rt, found)) return unknown_device(rt, text, word);

    int number = 0;
    if (text[length] == ':') {
        const char *p = text + length + 1;
        if (!*p)
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "device '%s': there is no number after the colon", text);
        for (; *p; p++) {
            if (*p < '0' || *p > '9' || number > 9999)
                return gpuc_fail(GPUC_INVALID_ARGUMENT, "device '%s': '%s' is not a device number", text,
                                 text + length + 1);
            number = number * 10 + (*p - '0');
        }
    }
    *type = found;
    *index = number;
    return NULL;
}
