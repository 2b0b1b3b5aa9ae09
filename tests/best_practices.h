/* SPDX-License-Identifier: Apache-2.0 */
/* Which messages of the validation layer are meant: examples/postprocess/best_practices.def. */
#ifndef GPUC_TESTS_BEST_PRACTICES_H
#define GPUC_TESTS_BEST_PRACTICES_H

#include <string.h>

#include <vulkan/vulkan.h>

/* Of the validation layer; 0: it is not installed. */
static inline uint32_t best_practices_layer(PFN_vkGetInstanceProcAddr get_proc)
{
    VkLayerProperties layers[64];
    uint32_t count = 64;
    PFN_vkEnumerateInstanceLayerProperties list =
        (PFN_vkEnumerateInstanceLayerProperties)get_proc(NULL, "vkEnumerateInstanceLayerProperties");
    if (!list || list(&count, layers) < 0) return 0;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(layers[i].layerName, "VK_LAYER_KHRONOS_validation") == 0) return layers[i].specVersion;
    return 0;
}

/* Whether the list has the message for this version of the layer; message starts with its id. NULL: has any. */
static inline bool best_practices_meant(uint32_t version, const char *message,
                                        VkDebugUtilsMessageTypeFlagsEXT types)
{
    static const struct {
        uint32_t version;
        const char *id;
        VkDebugUtilsMessageTypeFlagsEXT types;
    } rows[] = {
#define MEANT(version, id, types, reason) {version, id, types},
#include "../examples/postprocess/best_practices.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t n = strlen(rows[i].id);
        if (rows[i].version != version) continue;
        if (!message || (!strncmp(message, rows[i].id, n) && (!message[n] || message[n] == ':') &&
                         !(types & ~rows[i].types)))
            return true;
    }
    return false;
}

#endif
