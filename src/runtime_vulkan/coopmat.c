/* SPDX-License-Identifier: Apache-2.0 */
/* Does a device multiply the matrices that kernels use? */
#include "abi/coopmat.h"

#include "runtime_vulkan/caps.h"

static VkComponentTypeKHR component(gpuc_dtype t)
{
    return t.bits == 16 ? VK_COMPONENT_TYPE_FLOAT16_KHR : VK_COMPONENT_TYPE_FLOAT32_KHR;
}

static bool is_row(const VkCooperativeMatrixPropertiesKHR *p, const gpuc_coopmat_row *row)
{
    VkComponentTypeKHR factor = component(row->factor), sum = component(row->sum);
    return p->MSize == GPUC_COOPMAT_SIDE && p->NSize == GPUC_COOPMAT_SIDE && p->KSize == GPUC_COOPMAT_SIDE &&
           p->AType == factor && p->BType == factor && p->CType == sum && p->ResultType == sum &&
           !p->saturatingAccumulation && p->scope == VK_SCOPE_SUBGROUP_KHR;
}

static bool in_compute(const gpuc_vk *vk, VkPhysicalDevice physical)
{
    VkPhysicalDeviceCooperativeMatrixPropertiesKHR matrices = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
    VkPhysicalDeviceProperties2 props = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                         .pNext = &matrices};
    vk->fn.GetPhysicalDeviceProperties2(physical, &props);
    return (matrices.cooperativeMatrixSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
}

gpuc_status gpuc_vk_coopmat_query(const gpuc_vk *vk, VkPhysicalDevice physical,
                                  const gpuc_vk_features *features, uint32_t *bits)
{
    uint32_t count = 0, room;
    if (!features->coopmat.cooperativeMatrix || !features->memory_model.vulkanMemoryModel) return NULL;
    /* Where the model is on, kernels without matrices need it for their atomics, too. */
    if (!features->memory_model.vulkanMemoryModelDeviceScope) return NULL;
    if (!vk->fn.GetPhysicalDeviceCooperativeMatrixPropertiesKHR || !in_compute(vk, physical)) return NULL;
    GPUC_VK_TRY("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
                vk->fn.GetPhysicalDeviceCooperativeMatrixPropertiesKHR(physical, &count, NULL));
    if (count == 0) return NULL;
    room = count;
    VkCooperativeMatrixPropertiesKHR *list = gpuc_mem_alloc(vk->allocator, room * sizeof *list);
    if (!list) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory listing cooperative matrices");
    for (uint32_t i = 0; i < room; i++)
        list[i] =
            (VkCooperativeMatrixPropertiesKHR){.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
    VkResult r = vk->fn.GetPhysicalDeviceCooperativeMatrixPropertiesKHR(physical, &count, list);
    bool all = r >= 0;
    for (size_t row = 0; row < GPUC_COOPMAT_ROWS; row++) {
        bool found = false;
        for (uint32_t i = 0; i < count; i++) found = found || is_row(&list[i], &gpuc_coopmat_rows[row]);
        all = all && found;
    }
    if (all) *bits |= GPUC_FEATURE_COOPMAT;
    gpuc_mem_free(vk->allocator, list, room * sizeof *list);
    GPUC_VK_TRY("vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", r);
    return NULL;
}
