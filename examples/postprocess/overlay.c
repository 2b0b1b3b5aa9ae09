/* SPDX-License-Identifier: Apache-2.0 */
/* Frame times in the corner of the picture: text, and a bar for each of the last frames. */
#include "postprocess.h"

#include <stdio.h>
#include <string.h>

#include "overlay_spv.h"

enum { COLUMNS = 16 };

typedef struct constants {
    float bars[OVERLAY_BARS]; /* from 0 to 1 */
    uint8_t text[2][COLUMNS];
    uint32_t scale;
} constants;
_Static_assert(sizeof(constants) <= PUSH_BYTES, "more than push constants hold");

void overlay_create(overlay *o, gpu *g, const image *on)
{
    const binding picture = {.image = on};
    *o = (overlay){.pass = compute_create(g, overlay_spv, sizeof overlay_spv, &picture, 1)};
}

void overlay_destroy(overlay *o, gpu *g)
{
    pass_destroy(g, &o->pass);
}

void overlay_add(overlay *o, double frame_ms, double network_ms)
{
    memmove(o->history, o->history + 1, sizeof o->history - sizeof *o->history);
    o->history[OVERLAY_BARS - 1] = (float)frame_ms;
    o->frame_ms = frame_ms;
    o->network_ms = network_ms;
}

/* A line of text as numbers into the font of the shader. */
static void line(uint8_t out[COLUMNS], const char *name, double ms)
{
    static const char font[] = "0123456789.AEFMNRST ";
    char text[64];
    snprintf(text, sizeof text, "%s %.1f MS%16s", name, ms, "");
    for (int i = 0; i < COLUMNS; i++) {
        const char *letter = strchr(font, text[i]);
        out[i] = (uint8_t)((letter ? letter : font + 19) - font);
    }
}

void overlay_draw(const overlay *o, VkCommandBuffer commands, const image *on)
{
    constants push = {.scale = 1 + on->height / 400};
    float longest = 1e-3f;
    for (int i = 0; i < OVERLAY_BARS; i++)
        if (o->history[i] > longest) longest = o->history[i];
    for (int i = 0; i < OVERLAY_BARS; i++) push.bars[i] = o->history[i] / longest;
    line(push.text[0], "FRAME", o->frame_ms);
    line(push.text[1], "NET", o->network_ms);
    compute_run(commands, &o->pass, &push, sizeof push, 68 * push.scale, 40 * push.scale);
}
