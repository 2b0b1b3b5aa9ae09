/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the constants of default schedules for each class of targets. */
#include "target/constants.h"

#include <math.h>
#include <stddef.h>

#include "target/target.h"

enum { FITTED = true, NOT_MEASURED = false };
enum { ON_GPU, BY_LANES, ON_SIMD_CPU, IN_C, NUM_CLASSES };

static const gpuc_constants classes[NUM_CLASSES] = {
    [ON_GPU] =
        {
#define GPUC_CONSTANT(type, name, gpu, lanes, simd, c, how, unit, meaning) .name = (gpu),
#include "target/constants.def"
        },
    [BY_LANES] =
        {
#define GPUC_CONSTANT(type, name, gpu, lanes, simd, c, how, unit, meaning) .name = (lanes),
#include "target/constants.def"
        },
    [ON_SIMD_CPU] =
        {
#define GPUC_CONSTANT(type, name, gpu, lanes, simd, c, how, unit, meaning) .name = (simd),
#include "target/constants.def"
        },
    [IN_C] =
        {
#define GPUC_CONSTANT(type, name, gpu, lanes, simd, c, how, unit, meaning) .name = (c),
#include "target/constants.def"
        },
};

const gpuc_constant_info gpuc_target_constant_infos[GPUC_CONSTANT_COUNT] = {
#define GPUC_CONSTANT(type, id, gpu, lanes, simd, c, how, of, about)                                         \
    [GPUC_CONSTANT_##id] = {.name = #id, .unit = (of), .meaning = (about), .fitted = (how)},
#include "target/constants.def"
};

static const struct {
    size_t offset;
    bool real;
} fields[GPUC_CONSTANT_COUNT] = {
#define GPUC_CONSTANT(type, name, ...)                                                                       \
    [GPUC_CONSTANT_##name] = {offsetof(gpuc_constants, name), _Generic((type)0, double                       \
                                                                       : true, default                       \
                                                                       : false)},
#include "target/constants.def"
};

const gpuc_constants *gpuc_target_constants_of(const gpuc_target *t)
{
    if (gpuc_target_keeps_channels_last(t)) return &classes[BY_LANES];
    switch (gpuc_target_classify(t)) {
    case GPUC_CLASS_GPU: return &classes[ON_GPU];
    case GPUC_CLASS_SIMD_CPU: return &classes[ON_SIMD_CPU];
    case GPUC_CLASS_C: break;
    }
    return &classes[IN_C];
}

double gpuc_target_constant_get(const gpuc_constants *c, gpuc_constant_id id)
{
    const char *at = (const char *)c + fields[id].offset;
    return fields[id].real ? *(const double *)at : (double)*(const int64_t *)at;
}

void gpuc_target_constant_set(gpuc_constants *c, gpuc_constant_id id, double value)
{
    char *at = (char *)c + fields[id].offset;
    if (fields[id].real)
        *(double *)at = value;
    else
        *(int64_t *)at = llround(value);
}
