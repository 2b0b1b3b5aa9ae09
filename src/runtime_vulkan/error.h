/* SPDX-License-Identifier: Apache-2.0 */
/* Results of Vulkan as statuses. */
#ifndef GPUC_RUNTIME_VULKAN_ERROR_H
#define GPUC_RUNTIME_VULKAN_ERROR_H

#include "runtime_vulkan/functions.h"
#include "runtime/services.h"

GPUC_NODISCARD gpuc_status gpuc_vk_error_at(VkResult r, const char *call, const char *file, int line);
/* expr is a VkResult; positive results (VK_INCOMPLETE, ...) pass. */
#define GPUC_VK_TRY(call, expr)                                                                              \
    do {                                                                                                     \
        VkResult try_result_ = (expr);                                                                       \
        if (try_result_ < 0) return gpuc_vk_error_at(try_result_, (call), __FILE__, __LINE__);               \
    } while (0)

#endif
