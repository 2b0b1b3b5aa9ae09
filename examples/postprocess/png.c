/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures as PNG files, by libpng. */
#include "postprocess.h"

#include <png.h>

void png_save(const char *path, const uint8_t *rgba, uint32_t width, uint32_t height)
{
    png_image out = {
        .version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = PNG_FORMAT_RGBA};
    if (!png_image_write_to_file(&out, path, 0, rgba, 0, NULL)) die("%s: %s", path, out.message);
}
