/* SPDX-License-Identifier: Apache-2.0 */
/* Names device types and parses texts such as "vulkan:1". */
#include <string.h>

#include "base/file.h"
#include "base/require.h"
#include <gpuc/runtime.h>

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

const char *gpuc_device_type_name(gpuc_device_type type)
{
    for (size_t i = 0; i < NUM_NAMES; i++)
        if (names[i].type == type) return names[i].name;
    return "unknown";
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

static gpuc_status unknown_device(const char *text, const char *word)
{
    const char *known[NUM_NAMES];
    for (size_t i = 0; i < NUM_NAMES; i++) known[i] = names[i].name;
    const char *best = gpuc_suggest(word, known, NUM_NAMES);
    return gpuc_fail(GPUC_INVALID_ARGUMENT,
                     "unknown device '%s'%s%s%s; devices are cpu, opencl and vulkan, with a "
                     "number as in vulkan:1 for others than the first",
                     text, best ? "; did you mean '" : "", best ? best : "", best ? "'?" : "");
}

gpuc_status gpuc_device_parse(const char *text, gpuc_device_type *type, int *index)
{
    GPUC_REQUIRE(type);
    GPUC_REQUIRE(index);
    *type = (gpuc_device_type)0;
    *index = 0;
    GPUC_REQUIRE(text);
    size_t length = strcspn(text, ":");
    char word[32];
    if (length >= sizeof word) return unknown_device(text, "");
    memcpy(word, text, length);
    word[length] = 0;
    size_t i = 0;
    while (i < NUM_NAMES && strcmp(names[i].name, word) != 0) i++;
    if (i == NUM_NAMES) return unknown_device(text, word);

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
    *type = names[i].type;
    *index = number;
    return NULL;
}
