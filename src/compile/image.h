/* SPDX-License-Identifier: Apache-2.0 */
/* What the conversions of images to inputs, and of outputs to images, share. */
#ifndef GPUC_COMPILE_IMAGE_H
#define GPUC_COMPILE_IMAGE_H

#include <gpuc/build.h>

#include "relay/relay.h"

/* The format that the map of a module has for a name; GPUC_IMAGE_NONE: it has none. */
gpuc_image_format gpuc_image_of(const gpuc_strmap *images, const char *name);
void gpuc_image_set(gpuc_strmap *images, const char *name, gpuc_image_format format);
/* Raises where the name has a format already, or this is none. what is for messages: "input image 'x'". */
void gpuc_image_check_new(gpuc_ctx *ctx, const gpuc_strmap *images, const char *what, const char *name,
                          gpuc_image_format format);

/* Whether the colours are encoded, and whether blue comes first. */
bool gpuc_image_is_srgb(gpuc_image_format format);
bool gpuc_image_is_bgr(gpuc_image_format format);

/* How a tensor of the network holds an image. */
typedef struct gpuc_image_place {
    bool channels_last, bgr;
    int channels;            /* 1 or 3 */
    gpuc_expr height, width; /* perhaps symbols */
} gpuc_image_place;
/* Raises INVALID_ARGUMENT where a value of this type (NULL: it is not known) holds none. what names it. */
gpuc_image_place gpuc_image_place_of(gpuc_ctx *ctx, const char *what, const gpuc_rtype *type,
                                     gpuc_image_layout layout, gpuc_image_order order);

/* x * factor + term; both are for all channels, or one for each of the last axis. */
gpuc_rexpr *gpuc_image_scaled(gpuc_ctx *ctx, gpuc_rexpr *x, int channels, const double *factor,
                              const double *term);
/* The value of channel i of a list of n numbers: 0 of them (otherwise), 1 for all, or one for each. */
double gpuc_image_number(int n, const double *list, int i, double otherwise);
/* Raises where a list has neither 0, 1 nor `channels` numbers, or one that is not finite. */
void gpuc_image_check_list(gpuc_ctx *ctx, const char *what, const char *key, int n, const double *list,
                           int channels);
/* Raises where a factor or a term, that a description comes to, is no float32. */
void gpuc_image_check_scaled(gpuc_ctx *ctx, const char *what, int channels, const double *factor,
                             const double *term);
/* Channels begin, begin + step, ... of the last axis. */
gpuc_rexpr *gpuc_image_channels(gpuc_ctx *ctx, gpuc_rexpr *x, int begin, int count, int step);
/* The last axis, of one element, as often as this. */
gpuc_rexpr *gpuc_image_repeated(gpuc_ctx *ctx, gpuc_rexpr *x, int count);

#endif
