/* SPDX-License-Identifier: Apache-2.0 */
/* Names of TVM and NNVM that stand for a row in a way of their own. */
#include "op/table.h"

#define POOL "max,avg"

const gpuc_op_alias gpuc_topi_op_aliases[] = {
    /* TVM's topi.nn.pool2d counts the padding, nn.avg_pool2d does not. */
    {"nn.pool1d,pool1d", "nn.%s_pool1d", "pool_type", POOL, NULL, NULL},
    {"nn.pool2d,pool2d", "nn.%s_pool2d", "pool_type", POOL, NULL, NULL},
    {"nn.pool3d,pool3d", "nn.%s_pool3d", "pool_type", POOL, NULL, NULL},
    {"nn.global_pool,global_pool", "nn.global_%s_pool%dd", "pool_type", POOL, NULL, NULL},
    {"nn.adaptive_pool,adaptive_pool", "nn.adaptive_%s_pool2d", "pool_type", POOL, NULL, NULL},
    {"nn.adaptive_pool1d,adaptive_pool1d", "nn.adaptive_%s_pool1d", "pool_type", POOL, NULL, NULL},
    {"nn.adaptive_pool3d,adaptive_pool3d", "nn.adaptive_%s_pool3d", "pool_type", POOL, NULL, NULL},
    {"nn.pool_grad,pool_grad", "nn.%s_pool_grad", "pool_type", POOL, NULL, NULL},
    {.names = "nn.max_pool2d_grad", .row = "nn.max_pool_grad"},
    {.names = "nn.avg_pool2d_grad", .row = "nn.avg_pool_grad"},
    {.names = "contrib_reverse_reshape", .row = "reshape", .defaults = "reverse=1"},
    /* That is exact. */
    {.names = "nn.fast_softmax", .row = "nn.softmax"},
    {"nn.mirror_pad", "nn.pad", .defaults = "mode=SYMMETRIC"},
    {"image.resize1d,image.resize2d,image.resize3d", "image.resize",
     .defaults = "method=linear rounding_method=round cubic_alpha=-0.5"},
    {"resize", "image.resize", .defaults = "method=linear align_corners=0"},
    {"nn.upsampling,upsampling", "image.resize",
     .defaults = "method=nearest align_corners=0 rounding_method=floor"},
    {"nn.upsampling3d,upsampling3d", "image.resize",
     .defaults = "method=nearest coordinate_transformation_mode=half_pixel rounding_method=round"},
    /* Weight and offsets change places. */
    {"nn.deformable_conv2d", "nn.deformable_conv", .inputs = "021"},
    {.names = "segment_sum", .row = "scatter_nd"},
    /* NNVM has other defaults than TVM for some names. */
    {"nnvm.concatenate", "concatenate", .defaults = "axis=1"},
    {"nnvm.split", "split", .defaults = "axis=1"},
    {.names = NULL},
};
