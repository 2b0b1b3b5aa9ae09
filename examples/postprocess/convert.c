/* SPDX-License-Identifier: Apache-2.0 */
/* Between pictures and tensors: two compute shaders around the network. reference.c does the same arithmetic. */
#include "postprocess.h"

#include "to_picture_spv.h"
#include "to_tensor_spv.h"

typedef struct constants {
    uint32_t in_width, in_height, out_width, out_height, luminance;
} constants;

static constants constants_of(const convert *c)
{
    return (constants){c->in_width, c->in_height, c->out_width, c->out_height, c->kind == SUPER_RESOLUTION};
}

void convert_create(convert *c, gpu *g, network_kind kind, const image *from, const network *n,
                    const image *to)
{
    const binding in[] = {{.image = from}, {.buffer = &n->input}};
    const binding out[] = {{.image = from}, {.buffer = &n->output}, {.image = to}};
    *c = (convert){.kind = kind,
                   .in_width = from->width,
                   .in_height = from->height,
                   .out_width = to->width,
                   .out_height = to->height};
    c->to_tensor = compute_create(g, to_tensor_spv, sizeof to_tensor_spv, in, 2);
    c->to_picture = compute_create(g, to_picture_spv, sizeof to_picture_spv, out, 3);
}

void convert_destroy(convert *c, gpu *g)
{
    pass_destroy(g, &c->to_tensor);
    pass_destroy(g, &c->to_picture);
}

void convert_to_tensor(const convert *c, VkCommandBuffer commands)
{
    constants push = constants_of(c);
    compute_run(commands, &c->to_tensor, &push, sizeof push, c->in_width, c->in_height);
}

void convert_to_picture(const convert *c, VkCommandBuffer commands)
{
    constants push = constants_of(c);
    compute_run(commands, &c->to_picture, &push, sizeof push, c->out_width, c->out_height);
    barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
            VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
}
