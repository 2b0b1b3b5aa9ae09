/* SPDX-License-Identifier: Apache-2.0 */
/* Colors for a network that makes a gray picture. */
#include "postprocess.h"

#include "colors_spv.h"

pass colors_create(gpu *g, const scene *from, const image *to)
{
    const binding bindings[] = {{.image = to}, {.image = &from->color, .sampler = from->sampler}};
    return compute_create(g, colors_spv, sizeof colors_spv, bindings, 2);
}

void colors_add(const pass *p, VkCommandBuffer commands, const image *to)
{
    compute_run(commands, p, NULL, 0, to->width, to->height);
    barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
}
