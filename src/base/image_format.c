/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of images. */
#include <gpuc/base.h>

typedef struct row {
    const char *name;
    gpuc_dtype dtype;
    int channels;
} row;

#define UINT8                                                                                                \
    {                                                                                                        \
        GPUC_DTYPE_UINT, 8, 1                                                                                \
    }
#define FLOAT(bits)                                                                                          \
    {                                                                                                        \
        GPUC_DTYPE_FLOAT, (bits), 1                                                                          \
    }

static const row rows[GPUC_IMAGE_FORMAT_COUNT] = {
    [GPUC_IMAGE_NONE] = {.name = ""},
    [GPUC_IMAGE_RGBA8] = {"rgba8", UINT8, 4},
    [GPUC_IMAGE_RGBA8_SRGB] = {"rgba8_srgb", UINT8, 4},
    [GPUC_IMAGE_BGRA8] = {"bgra8", UINT8, 4},
    [GPUC_IMAGE_BGRA8_SRGB] = {"bgra8_srgb", UINT8, 4},
    [GPUC_IMAGE_RGBA16F] = {"rgba16f", FLOAT(16), 4},
    [GPUC_IMAGE_R32F] = {"r32f", FLOAT(32), 1},
    [GPUC_IMAGE_R8] = {"r8", UINT8, 1},
};

static const row *row_of(gpuc_image_format format)
{
    return &rows[(unsigned)format < GPUC_IMAGE_FORMAT_COUNT ? format : GPUC_IMAGE_NONE];
}

const char *gpuc_image_format_name(gpuc_image_format format)
{
    return row_of(format)->name;
}

gpuc_dtype gpuc_image_format_dtype(gpuc_image_format format)
{
    return row_of(format)->dtype;
}

int gpuc_image_format_channels(gpuc_image_format format)
{
    return row_of(format)->channels;
}
