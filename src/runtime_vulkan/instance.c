/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the Vulkan instance, and lists the devices that can compute. */
#include "runtime_vulkan/instance.h"

static gpuc_status create_instance(gpuc_vk *vk)
{
    const gpuc_runtime_desc *desc = gpuc_runtime_get_desc(vk->rt);
    uint32_t supported = VK_API_VERSION_1_0;
    if (vk->global.EnumerateInstanceVersion)
        GPUC_VK_TRY("vkEnumerateInstanceVersion", vk->global.EnumerateInstanceVersion(&supported));
    if (supported < VK_API_VERSION_1_1)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "the Vulkan loader is of version %u.%u; 1.1 is the minimum",
                         VK_API_VERSION_MAJOR(supported), VK_API_VERSION_MINOR(supported));
    vk->api_version = supported < VK_API_VERSION_1_3 ? supported : VK_API_VERSION_1_3;

    VkApplicationInfo app = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pEngineName = "gpuc",
        .apiVersion = vk->api_version,
    };
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
    gpuc_vk_validation validation;
    if (desc->vulkan_validation) GPUC_TRY(gpuc_vk_validation_enable(vk, &validation, &info));
    VkResult r = vk->global.CreateInstance(&info, NULL, &vk->instance);
    if (r == VK_ERROR_INCOMPATIBLE_DRIVER)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                         "vkCreateInstance: VK_ERROR_INCOMPATIBLE_DRIVER: no Vulkan driver is installed "
                         "(Debian package: mesa-vulkan-drivers)");
    GPUC_VK_TRY("vkCreateInstance", r);
    GPUC_TRY(gpuc_vk_load_instance(vk));
    if (desc->vulkan_validation) GPUC_TRY(gpuc_vk_validation_listen(vk, &validation));
    return NULL;
}

uint32_t gpuc_vk_families(const gpuc_vk *vk, VkPhysicalDevice physical, VkQueueFamilyProperties *out)
{
    uint32_t count = 0;
    vk->fn.GetPhysicalDeviceQueueFamilyProperties(physical, &count, NULL);
    if (count > GPUC_VK_MAX_FAMILIES) count = GPUC_VK_MAX_FAMILIES;
    vk->fn.GetPhysicalDeviceQueueFamilyProperties(physical, &count, out);
    return count;
}

uint32_t gpuc_vk_compute_family(const gpuc_vk *vk, VkPhysicalDevice physical)
{
    VkQueueFamilyProperties families[GPUC_VK_MAX_FAMILIES];
    uint32_t count = gpuc_vk_families(vk, physical, families), best = UINT32_MAX;
    /* A queue family without graphics does not disturb the frames of an application. */
    for (uint32_t i = 0; i < count; i++) {
        if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) || !families[i].queueCount) continue;
        if (best == UINT32_MAX || (!(families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT) &&
                                   (families[best].queueFlags & VK_QUEUE_GRAPHICS_BIT)))
            best = i;
    }
    return best;
}

uint32_t gpuc_vk_timestamp_bits(const gpuc_vk *vk, VkPhysicalDevice physical, uint32_t family)
{
    VkQueueFamilyProperties families[GPUC_VK_MAX_FAMILIES];
    return family < gpuc_vk_families(vk, physical, families) ? families[family].timestampValidBits : 0;
}

static gpuc_status find_devices(gpuc_vk *vk)
{
    uint32_t count = 0;
    GPUC_VK_TRY("vkEnumeratePhysicalDevices", vk->fn.EnumeratePhysicalDevices(vk->instance, &count, NULL));
    if (!count)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                         "no Vulkan driver found a device (Debian's software driver: mesa-vulkan-drivers)");
    vk->devices = gpuc_mem_alloc(vk->allocator, count * sizeof(VkPhysicalDevice));
    if (!vk->devices) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory listing Vulkan devices");
    uint32_t room = count;
    VkResult r = vk->fn.EnumeratePhysicalDevices(vk->instance, &count, vk->devices);
    for (uint32_t i = 0; r >= 0 && i < count; i++) {
        VkPhysicalDeviceProperties props;
        vk->fn.GetPhysicalDeviceProperties(vk->devices[i], &props);
        if (props.apiVersion < VK_API_VERSION_1_1) continue;
        if (gpuc_vk_compute_family(vk, vk->devices[i]) == UINT32_MAX) continue;
        vk->devices[vk->num_devices++] = vk->devices[i];
    }
    if (vk->num_devices) {
        VkPhysicalDevice *fit = gpuc_mem_resize(vk->allocator, vk->devices, room * sizeof(VkPhysicalDevice),
                                                vk->num_devices * sizeof(VkPhysicalDevice));
        if (!fit) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory listing Vulkan devices");
        vk->devices = fit;
    } else {
        gpuc_mem_free(vk->allocator, vk->devices, room * sizeof(VkPhysicalDevice));
        vk->devices = NULL;
    }
    GPUC_VK_TRY("vkEnumeratePhysicalDevices", r);
    if (!vk->num_devices)
        return gpuc_fail(GPUC_DEVICE_UNAVAILABLE,
                         "none of the %u Vulkan devices has Vulkan 1.1 and a queue for compute", count);
    return NULL;
}

void gpuc_vk_instance_drop(gpuc_vk *vk)
{
    gpuc_mem_free(vk->allocator, vk->devices, vk->num_devices * sizeof(VkPhysicalDevice));
    vk->devices = NULL;
    vk->num_devices = 0;
    if (vk->messenger && vk->fn.DestroyDebugUtilsMessengerEXT)
        vk->fn.DestroyDebugUtilsMessengerEXT(vk->instance, vk->messenger, NULL);
    vk->messenger = VK_NULL_HANDLE;
    if (vk->instance && vk->fn.DestroyInstance) vk->fn.DestroyInstance(vk->instance, NULL);
    vk->instance = VK_NULL_HANDLE;
    vk->debug_utils = false;
    vk->ready = false;
    gpuc_vk_unload(vk);
}

gpuc_status gpuc_vk_instance_ensure(gpuc_vk *vk)
{
    pthread_mutex_lock(&vk->lock);
    gpuc_status s = NULL;
    if (!vk->ready) {
        s = gpuc_vk_load_global(vk);
        if (!s) s = create_instance(vk);
        if (!s) s = find_devices(vk);
        if (s)
            gpuc_vk_instance_drop(vk);
        else
            vk->ready = true;
    }
    pthread_mutex_unlock(&vk->lock);
    return s;
}
