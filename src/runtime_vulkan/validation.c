/* SPDX-License-Identifier: Apache-2.0 */
/* The validation layer: how its synchronization checks are switched on, and where its messages go. */
#include <string.h>

#include "runtime_vulkan/instance.h"

#define LAYER "VK_LAYER_KHRONOS_validation"

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    gpuc_vk *vk = user;
    (void)types;
    gpuc_log_level level = severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT     ? GPUC_LOG_ERROR
                           : severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT ? GPUC_LOG_WARNING
                                                                                        : GPUC_LOG_INFO;
    gpuc_runtime_log(vk->rt, level, "vulkan.validation", "%s%s%s",
                     data->pMessageIdName ? data->pMessageIdName : "", data->pMessageIdName ? ": " : "",
                     data->pMessage ? data->pMessage : "");
    return VK_FALSE;
}

static gpuc_status find_layer(gpuc_vk *vk, uint32_t *out_version)
{
    uint32_t count = 0;
    *out_version = 0;
    GPUC_VK_TRY("vkEnumerateInstanceLayerProperties",
                vk->global.EnumerateInstanceLayerProperties(&count, NULL));
    size_t bytes = count * sizeof(VkLayerProperties);
    VkLayerProperties *layers = gpuc_mem_alloc(vk->allocator, bytes + 1);
    if (!layers) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory listing Vulkan layers");
    VkResult r = vk->global.EnumerateInstanceLayerProperties(&count, layers);
    bool found = false;
    for (uint32_t i = 0; r >= 0 && i < count && !found; i++) {
        found = strcmp(layers[i].layerName, LAYER) == 0;
        *out_version = layers[i].specVersion;
    }
    gpuc_mem_free(vk->allocator, layers, bytes + 1);
    GPUC_VK_TRY("vkEnumerateInstanceLayerProperties", r);
    if (!found)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                         "validation was asked for, but the layer " LAYER
                         " is not installed (Debian package: vulkan-validationlayers)");
    return NULL;
}

/* From this SDK on the layer ignores what shaders access, unless it is told to look. Older ones always look,
 * and take an unknown setting for a mistake. */
#define SINCE_SETTINGS VK_MAKE_API_VERSION(0, 1, 3, 296)

gpuc_status gpuc_vk_validation_enable(gpuc_vk *vk, gpuc_vk_validation *v, VkInstanceCreateInfo *info)
{
    static const char *const layers[] = {LAYER};
    static const VkBool32 yes = VK_TRUE;
    static const VkLayerSettingEXT settings[] = {
        {LAYER, "validate_sync", VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, &yes},
        {LAYER, "syncval_shader_accesses_heuristic", VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, &yes},
    };
    static const VkValidationFeatureEnableEXT features[] = {
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    uint32_t version;
    GPUC_TRY(find_layer(vk, &version));
    bool by_settings = version >= SINCE_SETTINGS;
    *v = (gpuc_vk_validation){
        .messenger =
            {
                .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
                .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                                   VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
                .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
                .pfnUserCallback = on_message,
                .pUserData = vk,
            },
        .features =
            {
                .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                .pNext = &v->messenger,
                .enabledValidationFeatureCount = sizeof features / sizeof *features,
                .pEnabledValidationFeatures = features,
            },
        .settings =
            {
                .sType = VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT,
                .pNext = &v->messenger,
                .settingCount = sizeof settings / sizeof *settings,
                .pSettings = settings,
            },
        .extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, by_settings
                                                              ? VK_EXT_LAYER_SETTINGS_EXTENSION_NAME
                                                              : VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME},
    };
    info->pNext = by_settings ? (const void *)&v->settings : &v->features;
    info->enabledLayerCount = 1;
    info->ppEnabledLayerNames = layers;
    info->enabledExtensionCount = 2;
    info->ppEnabledExtensionNames = v->extensions;
    vk->debug_utils = true;
    vk->layer_version = version;
    return NULL;
}

gpuc_status gpuc_vk_validation_listen(gpuc_vk *vk, const gpuc_vk_validation *v)
{
    if (vk->debug_utils && vk->fn.CreateDebugUtilsMessengerEXT)
        GPUC_VK_TRY("vkCreateDebugUtilsMessengerEXT",
                    vk->fn.CreateDebugUtilsMessengerEXT(vk->instance, &v->messenger, NULL, &vk->messenger));
    return NULL;
}
