#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# header.sh INCLUDE CC: gpuc/vulkan.h compiles alone, before and after vulkan.h, as C11 and C++17, with handles that are
# pointers and with handles that are numbers, and for 32 bits where the compiler can.
set -eu
include=$1 cc=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

use='gpuc_status use(gpuc_runtime *rt, gpuc_session *s, VkDevice d, VkQueue q, VkCommandBuffer c, VkBuffer b,
                       VkImageView v, VkImage i, VkFence f, VkSemaphore w, VkQueryPool p)
{
    gpuc_vulkan_device_desc desc = GPUC_VULKAN_DEVICE_DESC_INIT;
    gpuc_vulkan_buffer buffer = {b, 0, 16, 0, GPUC_VULKAN_SAME_FAMILY, NULL};
    static gpuc_vulkan_image image;
    static gpuc_vulkan_sync sync;
    static gpuc_vulkan_submit submit;
    gpuc_device *dev;
    gpuc_ndarray *a;
    image.view = v;
    image.image = i;
    sync.query_pool = p;
    submit.fence = f;
    desc.device = d;
    desc.queue = q;
    GPUC_TRY(gpuc_vulkan_adopt(rt, &desc, &dev));
    GPUC_TRY(gpuc_vulkan_wrap_buffer(dev, &buffer, GPUC_FLOAT32, 0, NULL, NULL, NULL, &a));
    GPUC_TRY(gpuc_vulkan_wrap_image(dev, &image, NULL, NULL, &a));
    GPUC_TRY(gpuc_session_record(s, c, &sync));
    gpuc_vulkan_destroy_semaphore(dev, w);
    return gpuc_session_submit(s, &submit);
}
extern int handle[sizeof(VkBuffer) == HANDLE ? 1 : -1];'
ours='#include <gpuc/vulkan.h>' theirs='#include <vulkan/vulkan.h>'
printf '%s\n%s\n' "$ours" "$use" >"$work/alone.c"
printf '%s\n%s\n%s\n' "$ours" "$theirs" "$use" >"$work/before.c"
printf '%s\n%s\n%s\n' "$theirs" "$ours" "$use" >"$work/after.c"

compile() { # flags
    for file in alone before after; do
        "$cc" -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only -I"$include" "$@" "$work/$file.c"
        if command -v c++ >/dev/null; then
            c++ -std=c++17 -pedantic -Wall -Wextra -Werror -fsyntax-only -I"$include" "$@" -x c++ "$work/$file.c"
        fi
    done
}
compile -DHANDLE='sizeof(void *)'
compile -DHANDLE=8 -DVK_USE_64_BIT_PTR_DEFINES=0
# Without a C library.
if echo 'int i;' | "$cc" -m32 -fsyntax-only -x c - 2>/dev/null; then compile -DHANDLE=8 -m32 -ffreestanding; fi
